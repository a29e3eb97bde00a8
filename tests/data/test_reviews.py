"""Sentences of film reviews: read from a local copy or the cache, checked, cut into splits."""

import hashlib

import pytest

from seqattn.data import CorpusError, DownloadError, read_reviews, reviews

TEXTS = {
    "rt-polarity.neg": "dull .\nan  empty\tfilm . \ntwice ?\n\n",
    "rt-polarity.pos": "caf\u00e9 society \u2014 a joy .\ntwice ?\nlines\u0085in one\n",
}


@pytest.fixture
def copy(monkeypatch, tmp_path):
    """Six lines under checksums of their own, of which two are equal."""
    packed = {name: text.encode("cp1252", "replace") for name, text in TEXTS.items()}
    packed["rt-polarity.pos"] = packed["rt-polarity.pos"].replace(b"?in", b"\x85in")
    monkeypatch.setattr(
        reviews, "SHA256", {name: hashlib.sha256(data).hexdigest() for name, data in packed.items()}
    )
    monkeypatch.setattr(reviews, "HELD_OUT", 1)
    monkeypatch.setenv("SEQATTN_DATA", str(tmp_path))
    (tmp_path / "rt-polarity").mkdir()
    for name, data in packed.items():
        (tmp_path / "rt-polarity" / name).write_bytes(data)
    return tmp_path


def everything(seed=0):
    return {split: read_reviews(split, seed=seed) for split in ("train", "valid", "test")}


def test_each_sentence_stands_in_one_split_with_its_label(copy):
    found = everything()
    assert {split: len(part) for split, part in found.items()} == {
        "train": 3,
        "valid": 1,
        "test": 1,
    }
    labels = {one.text: one.positive for part in found.values() for one in part}
    # Spaces are tidied; a mark that is no line's end in this encoding ends none; twice counts once.
    assert labels == {
        "dull .": False,
        "an empty film .": False,
        "twice ?": False,
        "caf\u00e9 society \u2014 a joy .": True,
        "lines\u2026in one": True,
    }


def test_the_order_follows_from_the_seed(copy):
    assert everything() == everything()
    assert any(everything(seed) != everything() for seed in range(1, 5))


def test_an_unknown_split_is_refused(copy):
    with pytest.raises(ValueError, match="split is 'dev'; expected 'train', 'valid' or 'test'"):
        read_reviews("dev")


def test_a_copy_that_is_altered_or_missing_is_refused(copy):
    (copy / "rt-polarity" / "rt-polarity.pos").write_bytes(b"another text")
    with pytest.raises(DownloadError, match="altered or incomplete"):
        read_reviews("train")
    (copy / "rt-polarity" / "rt-polarity.pos").unlink()
    with pytest.raises(CorpusError, match="a folder rt-polarity in it, with files such as"):
        read_reviews("train")


def test_without_network_and_copy_the_message_says_how_to_do_it_by_hand(copy, monkeypatch):
    monkeypatch.delenv("SEQATTN_DATA")
    monkeypatch.setattr(reviews, "URL", "http://127.0.0.1:9")
    monkeypatch.setattr(reviews, "cache_folder", lambda: copy / "cache")
    with pytest.raises(DownloadError, match=r"by hand: get rt-polarity\.neg from rt-polaritydata"):
        read_reviews("train")
    # As it says: files put there are read.
    (copy / "cache" / "rt-polarity").mkdir(parents=True, exist_ok=True)
    for file in (copy / "rt-polarity").iterdir():
        file.rename(copy / "cache" / "rt-polarity" / file.name)
    assert len(read_reviews("train")) == 3


def test_invented_sentences_differ_and_say_what_their_label_says():
    drawn = reviews.invented_reviews(2_000, seed=3)
    assert len({one.text for one in drawn}) == 2_000
    assert drawn[:50] == reviews.invented_reviews(50, seed=3)
    negated = 0
    for text, positive in drawn:
        words = set(text.split())
        turned = bool(words & {"not", "never"})
        (adjective,) = words & {*reviews.GOOD, *reviews.BAD}
        assert positive == ((adjective in reviews.GOOD) != turned)
        negated += turned
    assert 0.2 < negated / 2_000 < 0.35


@pytest.mark.parametrize("count", [0, 10_001])
def test_a_number_of_invented_sentences_out_of_its_limits_is_refused(count):
    with pytest.raises(ValueError, match=f"count is {count}; expected 1 to 10,000"):
        reviews.invented_reviews(count)
