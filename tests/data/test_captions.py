"""Five real captions: stored as they were translated, and chosen by their rule."""

import json
import sys

import pytest
import torch

from benchmarks import captions
from seqattn.data import TextPair, measured
from seqattn.translator import Translator
from tests.test_quality import write

STORED = measured("captions")


@pytest.mark.parametrize("one", STORED["captions"], ids=lambda one: f"line {one['line']}")
def test_what_is_stored_is_a_translation_with_its_map(one):
    weights = torch.tensor(one["weights"])
    assert weights.shape == (len(one["tokens"]), len(one["source_tokens"]))
    assert (weights >= 0).all()
    # Each weight is off by half a digit at most.
    off = len(one["source_tokens"]) * 0.5 * 10**-captions.DIGITS
    assert (weights.sum(1) - 1).abs().max() <= off + 1e-6
    for tokens, text in (("source_tokens", "source"), ("tokens", "text")):
        pieces = one[tokens]
        assert "".join(pieces).removesuffix("<eos>").replace("▁", " ").strip() == one[text]
        assert pieces[-1] == "<eos>"
    assert not one["trained on"]


def test_the_stored_captions_are_those_of_the_rule_and_the_card_names_their_source():
    pairs = [TextPair(one["source"], one["reference"]) for one in STORED["captions"]]
    assert [pair for _, pair in captions.choose(pairs)] == pairs
    lines = [one["line"] for one in STORED["captions"]]
    assert len(lines) == captions.HOW_MANY
    assert lines == sorted(set(lines))
    assert STORED["card"]["captions"] == captions.RULE
    assert STORED["card"]["source"] == captions.SOURCE
    assert "--data multi30k --pair de-en" in STORED["card"]["trained"]["command"]


def test_the_rule_takes_the_first_short_ones_that_end_in_half_a_verb():
    def pairs(*sources):
        return [TextPair(source, "a man") for source in sources]

    short, other = "Er macht die Tür auf.", "Er geht auf die Straße."
    long = "Er macht " + "sehr " * captions.LONGEST + "die Tür auf."
    assert [n for n, _ in captions.choose(pairs(other, short, long, "Er hört zu"))] == [2, 4]
    assert len(captions.choose(pairs(*[short] * 9))) == captions.HOW_MANY


def test_a_run_is_translated_and_stored(tmp_path, monkeypatch):
    toy = Translator.load("toy")
    run = write(tmp_path / "run")
    pairs = [TextPair("the cat sat on", "le chat"), TextPair("a dog an", "un chien")]
    monkeypatch.setattr(captions, "PREFIXES", ("on", "an"))
    monkeypatch.setattr(captions, "read_multi30k", lambda split, *_: pairs[split == "train" :])
    monkeypatch.setattr(captions.Translator, "load", lambda folder: toy)
    result = tmp_path / "captions.json"
    monkeypatch.setattr(sys, "argv", ["captions", str(run), "--result", str(result)])
    captions.main()
    found = json.loads(result.read_text(encoding="utf-8"))
    one, other = found["captions"]
    [told] = toy.translate([pairs[0].source], beam=1)
    assert (one["text"], one["tokens"], one["line"]) == (told.text, told.tokens, 1)
    assert torch.allclose(torch.tensor(one["weights"]), told.weights, atol=1e-4)
    assert (one["trained on"], other["trained on"]) == (False, True)
    assert found["card"]["trained"]["updates"] == 450


def test_a_run_of_another_direction_is_refused(tmp_path, monkeypatch):
    run = write(tmp_path / "run", pair=("en", "de"))
    monkeypatch.setattr(sys, "argv", ["captions", str(run), "--result", str(tmp_path / "x.json")])
    with pytest.raises(SystemExit, match="expected Multi30k, de-en"):
        captions.main()
    assert not (tmp_path / "x.json").exists()
