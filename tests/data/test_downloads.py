"""Downloads from a server of our own: checked, continued, never half there; and Multi30k on top."""

import gzip
import hashlib
import http.server
import re
import sys
import threading
from pathlib import Path
from types import SimpleNamespace

import pytest

from seqattn.data import CorpusError, DownloadError, downloads, multi30k, read_multi30k
from seqattn.data.downloads import CHUNK, cache_folder, fetch

CONTENT = bytes(range(256)) * 999
SHA256 = hashlib.sha256(CONTENT).hexdigest()


@pytest.fixture
def server(monkeypatch):
    """A server whose content, ranges and patience the tests set."""
    monkeypatch.setattr(downloads, "TIMEOUT", 600)  # it may be slow where the machine is busy
    state = SimpleNamespace(content=CONTENT, ranges=True, stop_after=None, asked=[], missing=False)

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            asked = self.headers.get("Range")
            state.asked.append(asked)
            start = int(re.fullmatch(r"bytes=(\d+)-", asked)[1]) if asked and state.ranges else 0
            if state.missing:
                return self.send_error(404)
            if start and start >= len(state.content):
                return self.send_error(416)
            body = state.content[start:]
            self.send_response(206 if start else 200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body[: state.stop_after])

        def log_message(self, *arguments):
            pass

    with http.server.HTTPServer(("127.0.0.1", 0), Handler) as found:
        thread = threading.Thread(target=found.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        state.url = f"http://127.0.0.1:{found.server_port}/x.gz"
        yield state
        found.shutdown()
        thread.join()


def test_a_file_is_fetched_once(server, tmp_path):
    path = tmp_path / "new" / "x.gz"
    assert fetch(server.url, path, SHA256) == path
    assert path.read_bytes() == CONTENT
    fetch(server.url, path, SHA256)
    assert server.asked == [None]
    assert [p.name for p in path.parent.iterdir()] == ["x.gz"]


def test_a_download_that_broke_off_is_continued(server, tmp_path):
    server.stop_after = 100_000
    with pytest.raises(DownloadError, match=r"could not download .*continues where it stopped"):
        fetch(server.url, tmp_path / "x.gz", SHA256)
    assert not (tmp_path / "x.gz").exists()
    server.stop_after = None
    fetch(server.url, tmp_path / "x.gz", SHA256)
    assert server.asked == [None, f"bytes={100_000 // CHUNK * CHUNK}-"]
    assert (tmp_path / "x.gz").read_bytes() == CONTENT


@pytest.mark.parametrize("ranges", [True, False])
@pytest.mark.parametrize("part", [b"something else", CONTENT, CONTENT + b"more"])
def test_whatever_is_left_of_an_earlier_try_the_file_is_right(server, tmp_path, part, ranges):
    server.ranges = ranges
    (tmp_path / "x.gz.part").write_bytes(part)
    fetch(server.url, tmp_path / "x.gz", SHA256)
    assert (tmp_path / "x.gz").read_bytes() == CONTENT


def test_an_altered_file_is_not_kept(server, tmp_path):
    server.content = CONTENT[:-1] + b"x"
    with pytest.raises(
        DownloadError, match=rf"has SHA-256 \w+; expected {SHA256}.*not kept.*; or so"
    ):
        fetch(server.url, tmp_path / "x.gz", SHA256, otherwise="; or so")
    assert list(tmp_path.iterdir()) == []


def test_a_damaged_copy_is_replaced(server, tmp_path):
    (tmp_path / "x.gz").write_bytes(b"damaged")
    assert fetch(server.url, tmp_path / "x.gz", SHA256).read_bytes() == CONTENT


def test_what_is_not_there_is_said(server, tmp_path):
    server.missing = True
    with pytest.raises(DownloadError, match=r"could not download .*Not Found"):
        fetch(server.url, tmp_path / "x.gz", SHA256)
    with pytest.raises(DownloadError, match="could not download"):
        fetch("http://127.0.0.1:9/x.gz", tmp_path / "x.gz", SHA256)


def test_the_cache_is_where_the_user_wants_it(monkeypatch, tmp_path):
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache_folder() == tmp_path / "seqattn"


@pytest.fixture
def small_multi30k(monkeypatch, tmp_path):
    """Two captions, under checksums of their own."""
    texts = {"val.de": "Ein Hund.\nZwei Hunde.\n", "val.en": "A dog.\nTwo dogs.\n"}
    packed = {name: gzip.compress(text.encode()) for name, text in texts.items()}
    sums = {name: hashlib.sha256(data).hexdigest() for name, data in packed.items()}
    monkeypatch.setattr(multi30k, "SHA256", sums)
    return packed


def write_copy(folder, packed):
    (folder / "multi30k").mkdir()
    for name, data in packed.items():
        (folder / "multi30k" / f"{name}.gz").write_bytes(data)


def test_a_local_copy_is_read(small_multi30k, tmp_path, monkeypatch):
    write_copy(tmp_path, small_multi30k)
    monkeypatch.setenv("SEQATTN_DATA", str(tmp_path))
    assert [tuple(p)[:2] for p in read_multi30k("valid", "en", "de")] == [
        ("A dog.", "Ein Hund."),
        ("Two dogs.", "Zwei Hunde."),
    ]


def test_multi30k_is_downloaded_to_the_cache_once(small_multi30k, server, tmp_path, monkeypatch):
    monkeypatch.delenv("SEQATTN_DATA", raising=False)
    monkeypatch.setattr(multi30k, "URL", server.url.rpartition("/")[0])
    monkeypatch.setattr(multi30k, "cache_folder", lambda: tmp_path)
    server.content = small_multi30k["val.en"]
    sums = dict.fromkeys(small_multi30k, hashlib.sha256(server.content).hexdigest())
    monkeypatch.setattr(multi30k, "SHA256", sums)
    for _ in range(2):
        assert read_multi30k("valid", "de", "en")[0].target == "A dog."
    assert len(server.asked) == 2
    assert (tmp_path / "multi30k" / "val.de.gz").is_file()


def test_without_the_network_the_message_says_how_to_do_it_by_hand(
    small_multi30k, tmp_path, monkeypatch
):
    monkeypatch.delenv("SEQATTN_DATA", raising=False)
    monkeypatch.setattr(multi30k, "URL", "http://127.0.0.1:9")
    monkeypatch.setattr(multi30k, "cache_folder", lambda: tmp_path)
    with pytest.raises(DownloadError) as caught:
        read_multi30k("valid", "de", "en")
    for said in (
        "could not download http://127.0.0.1:9/val.de.gz",
        "get val.de.gz from the folder data/task1/raw of https://github.com/multi30k/dataset",
        f"into {tmp_path / 'multi30k'}.",
        "train, val and test_2016_flickr, each in two languages",
    ):
        assert said in str(caught.value)
    # As it says: files put there are read, and checked.
    for name, data in small_multi30k.items():
        (tmp_path / "multi30k" / f"{name}.gz").write_bytes(data)
    assert read_multi30k("valid", "de", "en")[0].target == "A dog."
    altered = tmp_path / "multi30k" / "val.en.gz"
    altered.write_bytes(b"not what it should be")
    with pytest.raises(DownloadError) as caught:
        read_multi30k("valid", "de", "en")
    found = hashlib.sha256(b"not what it should be").hexdigest()
    expected = multi30k.SHA256["val.en"]
    assert f"{altered}, has SHA-256 {found}; expected {expected}" in str(caught.value)


def test_the_page_names_the_files_and_the_folder():
    page = Path(__file__).resolve().parents[2] / "chapters" / "how_to_use.md"
    text = page.read_text(encoding="utf-8")
    assert {"train", "val", "test_2016_flickr"} <= set(multi30k.SPLITS.values())
    for part in ("train", "val", "test_2016_flickr"):
        for language in ("de", "en"):
            assert f"`{part}.{language}.gz`" in text
    for said in (multi30k.REPOSITORY, multi30k.FOLDER, multi30k.VARIABLE, "corpora/multi30k"):
        assert said in text
    assert multi30k.URL.endswith(multi30k.FOLDER)


def test_missing_and_altered_copies_are_told_apart(small_multi30k, tmp_path, monkeypatch):
    monkeypatch.setenv("SEQATTN_DATA", str(tmp_path))
    with pytest.raises(
        CorpusError,
        match=r"SEQATTN_DATA is set, and there is no .*val\.de\.gz; .* get val\.de\.gz from",
    ):
        read_multi30k("valid")
    write_copy(tmp_path, {name: data + b"x" for name, data in small_multi30k.items()})
    with pytest.raises(DownloadError, match="altered or incomplete"):
        read_multi30k("valid")


def test_what_multi30k_does_not_have_is_said():
    with pytest.raises(CorpusError, match="no split 'dev'; expected one of train, valid, test"):
        read_multi30k("dev")
    with pytest.raises(CorpusError, match="no language 'it'"):
        read_multi30k("train", "it", "en")
