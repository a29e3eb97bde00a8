"""The models that come with the package: there, small, as good as recorded, in the wheel."""

import json
import subprocess
import sys
import zipfile
from dataclasses import asdict, replace

import pytest
import torch

from seqattn.data import CorpusConfig, Vocabularies, read_split
from seqattn.evaluation import evaluate
from seqattn.models import ModelConfig, build_model
from seqattn.training import CheckpointError, TrainingConfig, read_checkpoint
from seqattn.training.presets import read_preset
from seqattn.translator import Translator
from seqattn.translator.run_folder import SHIPPED, find_checkpoint
from tools import build, ship_model

RECORDS = {
    name: json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))
    for name, path in SHIPPED.items()
}
each = pytest.mark.parametrize("name", SHIPPED)
KNOWN = {
    "the cat sat on the mat": "le chat s'est assis sur le tapis",
    "the cat sat on the mat today": "le chat s'est assis sur le tapis aujourd'hui",
    "the white cat sleeps": "le chat blanc dort",
    "she gives it to him": "elle le lui donne",
    "the owl does not sleep": "le hibou ne dort pas",
}


@each
def test_it_translates_in_one_line(name):
    found = Translator.load(name).translate(list(KNOWN))
    assert {known.source: known.text for known in found} == KNOWN


def test_it_looks_at_the_word_that_it_translates():
    [found] = Translator.load("toy").translate(["the white cat sleeps"])
    looks = {
        token: found.source_tokens[row.argmax()]
        for token, row in zip(found.tokens, found.weights, strict=True)
    }
    assert looks == {"le": "the", "chat": "cat", "blanc": "white", "dort": "sleeps"} | {
        "<eos>": "<eos>"
    }


@each
def test_it_is_small_and_good_by_its_record(name):
    record = RECORDS[name]
    assert record["card"]["bytes"] == SHIPPED[name].stat().st_size < 4e6
    assert record["test"]["sentences"] == 1000
    assert record["test"]["bleu"] >= 95
    assert record["test"]["aer"] <= {"toy": 0.10, "toy-transformer": 0.15}[name]


@each
def test_it_is_the_preset_of_today_from_the_seed_of_the_tool(name):
    preset, settings = read_preset(name), RECORDS[name]["settings"]
    training = TrainingConfig.from_stored(settings["training"])
    seeded = replace(preset.training, seed=ship_model.SEED, bf16=training.bf16)
    assert training == seeded
    assert ModelConfig.from_stored(settings["model"]) == preset.model
    assert CorpusConfig.from_dict(settings["corpus"]) == CorpusConfig()


def test_a_run_of_that_name_goes_first(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert find_checkpoint("toy") == SHIPPED["toy"]
    (tmp_path / "toy").mkdir()
    with pytest.raises(CheckpointError, match="toy holds no run"):
        find_checkpoint("toy")
    (tmp_path / "toy" / "best.safetensors").touch()
    assert find_checkpoint("toy").resolve() == tmp_path / "toy" / "best.safetensors"


@pytest.mark.slow
def test_shipping_halves_the_weights_and_measures_what_it_wrote(tmp_path, monkeypatch):
    corpus = {**asdict(CorpusConfig()), "pairs": 800}
    pairs = read_split(CorpusConfig.from_dict(corpus), "train")
    vocabularies = Vocabularies.learn(pairs, ("en", "fr"))
    config = ModelConfig(d_embed=7, d_hidden=11)
    model = build_model(config, *map(len, vocabularies))
    data = {
        "model": asdict(config),
        "training": {"seed": 1, "bf16": False},
        "corpus": corpus,
        "data": {},
        "vocabularies": vocabularies.to_dict(),
        "position": {"seconds": 2.5},
        "threads": 1,
        "fingerprint": 3,
    }
    weights = {f"model.{name}": value for name, value in model.state_dict().items()}
    (tmp_path / "run").mkdir()
    run = tmp_path / "run" / "best.safetensors"
    ship_model.write_checkpoint(run, {**weights, "optimizer.x:step": torch.ones(1)}, data)
    place = tmp_path / "out.safetensors"
    record = ship_model.ship(tmp_path / "run", place)
    shipped = read_checkpoint(place)
    assert shipped.tensors.keys() == weights.keys()
    for name, tensor in shipped.tensors.items():
        assert torch.equal(tensor, weights[name].half())
    assert record == json.loads(place.with_suffix(".json").read_text(encoding="utf-8"))
    test = read_split(CorpusConfig.from_dict(corpus), "test")
    assert record["test"] == evaluate(Translator.load(place), test, details=True).to_dict()
    assert record["card"]["weights"] == sum(p.numel() for p in model.parameters())


@pytest.mark.slow
@each
def test_it_is_as_good_as_its_record_says(name):
    pairs, recorded = read_split(CorpusConfig(), "test"), RECORDS[name]["test"]
    assert pairs[0].source == "the cat sat on the mat"
    few = evaluate(Translator.load(name), pairs[:200])
    assert few.bleu >= 95
    assert few.aer <= recorded["aer"] + 0.02
    found = evaluate(Translator.load(name), pairs)
    assert found.bleu == pytest.approx(recorded["bleu"], abs=0.1)
    assert found.aer == pytest.approx(recorded["aer"], abs=0.001)


@pytest.mark.slow
def test_the_wheel_holds_it(tmp_path):
    with zipfile.ZipFile(build.build_wheel()) as wheel:
        wheel.extractall(tmp_path)
    code = (
        f"import sys; sys.path.insert(0, {str(tmp_path)!r})\n"
        "import seqattn; from seqattn.translator import Translator\n"
        "assert seqattn.__file__.startswith(sys.path[0]), seqattn.__file__\n"
        "for name in ('toy', 'toy-transformer'):\n"
        "    print(Translator.load(name).translate(['the cat sat on the mat'])[0].text)"
    )
    found = subprocess.run(
        [sys.executable, "-I", "-c", code],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert found.stdout == "le chat s'est assis sur le tapis\n" * 2, found.stderr
