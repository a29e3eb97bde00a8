"""Files of the user's own: read exactly, or refused with the place and the cure."""

import gzip
import logging
from io import BytesIO

import pytest

from seqattn.data import (
    CorpusConfig,
    CorpusError,
    TextPair,
    corpora,
    hold_out,
    read_pairs,
    read_split,
    tokenize,
)
from seqattn.data.pairs import read_lines, read_table, stream_lines


def files(folder, german, english, encoding="utf-8"):
    paths = folder / "x.de", folder / "x.en"
    for path, text in zip(paths, (german, english)):
        path.write_bytes(text.encode(encoding))
    return paths


def test_line_i_goes_with_line_i(tmp_path):
    pairs = read_pairs(*files(tmp_path, "Ein Hund.\r\n Größe\u2028zwei \n", "A dog.\nsize two"))
    assert pairs == [TextPair("Ein Hund.", "A dog."), TextPair("Größe\u2028zwei", "size two")]


def test_packed_files_and_byte_order_marks_are_read(tmp_path):
    path = tmp_path / "x.tsv.gz"
    path.write_bytes(gzip.compress("\ufeffeins\tone\tnoted\nzwei\ttwo\n".encode()))
    assert read_table(path) == [TextPair("eins", "one"), TextPair("zwei", "two")]
    assert read_table(path, columns=(1, 0))[0] == TextPair("one", "eins")


def test_unequal_line_counts_are_refused(tmp_path):
    with pytest.raises(CorpusError, match=r"x\.de has 2 lines and .*x\.en has 1; expected as many"):
        read_pairs(*files(tmp_path, "a\nb\n", "a\n"))


def test_a_wrong_encoding_is_refused_with_its_line(tmp_path):
    paths = files(tmp_path, "Hund\nGröße\n", "dog\nsize\n", encoding="latin-1")
    with pytest.raises(CorpusError, match=r"x\.de, line 2: byte 0xf6 is no utf-8; state its"):
        read_pairs(*paths)
    assert read_pairs(*paths, encoding="latin-1")[1].source == "Größe"
    with pytest.raises(CorpusError, match="unknown encoding: utf-9; expected one such as"):
        read_pairs(*paths, encoding="utf-9")
    with pytest.raises(CorpusError, match=r"line 1: byte 0xff .*--encoding utf-16"):
        read_pairs(*files(tmp_path, "Hund", "dog", encoding="utf-16"))


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_a_stream_is_read_as_a_file_is(tmp_path, encoding):
    text = "Größe\u2028eins\r\n\nzwei \n" * 2_000  # several pieces
    path, _ = files(tmp_path, text, "", encoding=encoding)
    decoded = encoding.removesuffix("-sig")
    lines = list(stream_lines(BytesIO(path.read_bytes()), decoded, name="input"))
    assert lines == read_lines(path, decoded)
    assert lines[:3] == ["Größe\u2028eins", "", "zwei "]


def test_a_stream_that_is_wrongly_encoded_is_refused_with_its_line():
    for before in (1, 5_000):
        stream = BytesIO("größer\n".encode() * before + b"gr\xf6\xdfe\n")
        with pytest.raises(CorpusError, match=f"input, line {before + 1}: byte 0xf6 is no utf-8"):
            list(stream_lines(stream, name="input"))
    with pytest.raises(CorpusError, match=r"input, line 1: byte 0xff .*--encoding utf-16"):
        list(stream_lines(BytesIO("a\nb".encode("utf-16")), name="input"))
    with pytest.raises(CorpusError, match="unknown encoding: utf-9"):
        list(stream_lines(BytesIO(b"a"), "utf-9", name="input"))


def test_blank_lines_are_left_out_and_told_or_refused(tmp_path, caplog):
    paths = files(tmp_path, "a\n\nc\nd\n", "A\nB\n \nD\n")
    with caplog.at_level(logging.WARNING):
        assert [pair.source for pair in read_pairs(*paths)] == ["a", "d"]
    assert "left out 2 of 4 pairs with a blank side, the first at line 2" in caplog.text
    with pytest.raises(CorpusError, match=r"line 2: a side of the pair is blank \(2 such in all\)"):
        read_pairs(*paths, empty="raise")


def test_tables_with_too_few_columns_are_refused_with_their_line(tmp_path):
    (tmp_path / "x.tsv").write_text("a\tb\n\nno tab\n")
    with pytest.raises(
        CorpusError, match=r"line 3: 1 column\(s\); expected at least 2, .* another --data"
    ):
        read_table(tmp_path / "x.tsv")


@pytest.mark.parametrize(
    ("content", "message"), [(b"", "no sentence pair in 0"), (None, "no file")]
)
def test_missing_and_empty_files_are_refused(tmp_path, content, message):
    if content is not None:
        (tmp_path / "x").write_bytes(content)
    with pytest.raises(CorpusError, match=message):
        read_table(tmp_path / "x")


def test_broken_packing_is_refused(tmp_path):
    for content in (b"no gzip", gzip.compress(b"a\tb\n" * 99)[:-9]):
        (tmp_path / "x.gz").write_bytes(content)
        with pytest.raises(CorpusError, match="is no gzip file, or not a whole one"):
            read_lines(tmp_path / "x.gz")


def test_what_is_held_out_is_never_trained_on():
    pairs = [TextPair(f"satz {i // 2}", f"sentence {i}") for i in range(60)]
    train, valid, test = hold_out(pairs, 7, 10)
    assert len(train) + len(valid) + len(test) == 60
    assert 6 <= len(valid) <= 7
    assert len(test) == 10
    sources = [{pair.source for pair in part} for part in (train, valid, test)]
    assert sources[0].isdisjoint(sources[1] | sources[2])
    assert sources[1].isdisjoint(sources[2])
    assert hold_out(pairs, 7, 10) == (train, valid, test)
    assert hold_out(pairs, 7, 10, seed=1) != (train, valid, test)
    with pytest.raises(CorpusError, match="60 pairs; expected more than the 60"):
        hold_out(pairs, 60)
    for size, message in ((0.1, "is 0.1; expected a whole number"), (-1, "is -1; expected at")):
        with pytest.raises(ValueError, match=f"the size of a held-out part {message}"):
            hold_out(pairs, size)


def table(folder, name, n, start=0):
    path = folder / f"{name}.tsv"
    path.write_text("".join(f"satz {i}\tsentence {i}\n" for i in range(start, start + n)))
    return (str(path),)


def test_splits_that_have_no_file_are_held_out(tmp_path):
    corpus = CorpusConfig("files", "de", "en", train=table(tmp_path, "train", 50))
    parts = {split: read_split(corpus, split) for split in ("train", "valid", "test")}
    assert [len(part) for part in parts.values()] == [40, 5, 5]
    assert len({pair.source for part in parts.values() for pair in part}) == 50
    assert len(read_split(corpus, "all")) == 50
    named = CorpusConfig(
        "files", "de", "en", train=corpus.train, test=table(tmp_path, "test", 3, 100)
    )
    assert [len(read_split(named, split)) for split in parts] == [45, 5, 3]


def test_two_files_may_be_named_by_their_common_beginning(tmp_path):
    files(tmp_path, "eins\nzwei\n", "one\ntwo\n")
    corpus = CorpusConfig("files", "en", "de", train=(str(tmp_path / "x"),))
    assert read_split(corpus, "all")[0] == TextPair("one", "eins")


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"name": "wmt"}, "no corpus 'wmt'"),
        ({"source": "de"}, "toy corpus is English and French"),
        ({"name": "files"}, "no training files"),
    ],
)
def test_corpora_that_do_not_exist_are_refused(values, message):
    with pytest.raises(CorpusError, match=message):
        CorpusConfig(**values)


def test_splits_that_do_not_exist_are_refused(tmp_path):
    corpus = CorpusConfig("files", "de", "en", train=table(tmp_path, "train", 9))
    with pytest.raises(CorpusError, match="expected train, valid, test or all"):
        read_split(corpus, "dev")
    with pytest.raises(CorpusError, match="9 pairs are too few to hold some out"):
        read_split(corpus, "train")
    path = tmp_path / "twice.tsv"
    path.write_text("".join(f"{n}\t{n} {i}\n" for n in range(6) for i in "ab"), encoding="utf-8")
    twice = CorpusConfig("files", "de", "en", train=(str(path),))
    with pytest.raises(
        CorpusError, match="nothing is left for test: 12 pairs have only 6 different"
    ):
        read_split(twice, "train")
    missing = CorpusConfig("files", "de", "en", train=(str(tmp_path / "y"),))
    with pytest.raises(CorpusError, match=r"there is no file .*y, nor .*y\.de and .*y\.en"):
        read_split(missing, "train")


@pytest.mark.slow
def test_the_toy_corpus_turns_round(drawn, monkeypatch):
    monkeypatch.setattr(corpora, "splits", lambda *sizes, seed: drawn.splits)
    there = read_split(CorpusConfig(pairs=2_001), "test")[0]
    back = read_split(CorpusConfig(pairs=2_001, source="fr", target="en"), "test")[0]
    assert there[:2] == ("the cat sat on the mat", "le chat s'est assis sur le tapis")
    assert back[:2] == (there[1], there[0])
    assert back.links == {(j, i) for i, j in there.links}


@pytest.mark.slow
def test_the_toy_corpus_has_a_test_by_length(drawn, monkeypatch):
    monkeypatch.setattr(corpora, "splits", lambda *sizes, seed: drawn.splits)
    monkeypatch.setattr(corpora, "EACH", 3)
    there = read_split(CorpusConfig(pairs=2_002), "long")
    back = read_split(CorpusConfig(pairs=2_002, source="fr", target="en"), "long")
    lengths = [len(tokenize(pair.source, "en")) for pair in there]
    assert lengths == [n for n in range(3, 31, 3) for _ in range(3)]
    assert [pair[:2] for pair in back] == [(target, source) for source, target, _ in there]
    known = {pair.source_text for split in drawn.splits[:2] for pair in split}
    assert not {" ".join(tokenize(pair.source, "en")) for pair in there} & known
    other = read_split(CorpusConfig(pairs=2_002, seed=1), "long")
    assert not {pair.source for pair in there[9:]} & {pair.source for pair in other[9:]}
    for pair in there:
        assert {i for i, _ in pair.links} == set(range(len(tokenize(pair.source, "en"))))
    with pytest.raises(CorpusError, match="no split 'long'"):
        read_split(CorpusConfig("multi30k", "de", "en"), "long")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"pairs": 10.5}, "pairs is 10.5; expected a whole number of at least 1"),
        ({"pairs": "9"}, "pairs is '9'; expected a whole number"),
        ({"pairs": True}, "pairs is True"),
        ({"pairs": 0}, "pairs is 0; expected a whole number of at least 1"),
        ({"lowercase": "no"}, "lowercase is 'no'; expected True or False"),
        ({"seed": 1.5}, "seed is 1.5; expected a whole number"),
        ({"encoding": None}, "encoding is None; expected the name of an encoding"),
        ({"name": "files", "train": "data.tsv"}, "train is 'data.tsv'; expected a tuple of one or"),
        (
            {"name": "multi30k", "seed": 1},
            "seed=1 has no effect with 'multi30k'; it is for 'toy' and 'files'",
        ),
        ({"valid": ("x.tsv",)}, r"valid=\('x.tsv',\) has no effect with 'toy'; it is for 'files'"),
        ({"encoding": "latin-1"}, "encoding='latin-1' has no effect with 'toy'"),
        (
            {"name": "multi30k", "pairs": 10},
            "pairs=10 has no effect with 'multi30k'; it is for 'toy'",
        ),
    ],
)
def test_an_option_of_a_corpus_is_checked_by_its_name(options, message, unchecked):
    with pytest.raises(CorpusError, match=message):
        CorpusConfig(**options)


def test_a_stored_corpus_comes_back_without_what_had_no_effect():
    stored = {"name": "multi30k", "source": "de", "target": "en", "pairs": 10}
    assert CorpusConfig.from_dict(stored) == CorpusConfig("multi30k", "de", "en")
