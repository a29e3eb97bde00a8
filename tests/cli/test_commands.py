"""The command line: what it prints, what it leaves, how it refuses."""

import errno
import json
import logging
import os
import re
import signal
import subprocess
import sys
from importlib import import_module
from io import StringIO
from types import SimpleNamespace

import pytest
import torch
import typer
from typer.testing import CliRunner

from seqattn.cli import app as cli
from seqattn.training import read_checkpoint, resumed_run, write_checkpoint
from seqattn.translator import Translator
from tests.training import test_copying as copying
from tests.training.corpus import numbers, write_table

# Other tests check the shapes of all that is called here; these are spared the time.
pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("unchecked")]

SMALL = ["--set", "d_embed=7", "--set", "d_hidden=11", "--set", "batch_tokens=64", "--threads", "1"]


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Call ``seqattn`` in a folder of its own, where a table of numbers lies."""
    monkeypatch.chdir(tmp_path)
    write_table(tmp_path / "numbers.tsv", numbers(60))
    app = typer.Typer()
    cli.register(app)

    def call(*arguments, code=0, **options):
        found = CliRunner().invoke(app, [str(a) for a in arguments], **options)
        if found.exception is not None and not isinstance(found.exception, SystemExit):
            raise found.exception
        assert found.exit_code == code, found.output
        return SimpleNamespace(out=found.stdout.splitlines(), err=found.stderr.splitlines())

    return call


@pytest.fixture
def trained(run):
    """Train for four updates on the numbers, into runs/numbers-de-en."""
    train = ["train", "--data", "numbers.tsv", "--pair", "de-en", "--subwords", "0"]
    return run(*train, "--steps", 4, *SMALL)


def test_training_ends_with_the_scores_on_the_test_pairs(trained, tmp_path):
    folder = tmp_path / "runs" / "numbers-de-en"
    assert sorted(p.name for p in folder.iterdir()) == [
        ".lock",
        "best.safetensors",
        "config.json",
        "curves.png",
        "kept",
        "last.safetensors",
        "metrics.jsonl",
        "test.json",
    ]
    scores = json.loads((folder / "test.json").read_text())
    assert f"  BLEU         {scores['bleu']:6.2f}    {scores['signature']}" in trained.out
    assert f"  exact match  {100 * scores['exact']:6.2f} %" in trained.out
    assert not trained.err


def test_a_model_that_copies_is_trained_used_and_judged(run, tmp_path):
    pairs = copying.sentences(60, seed=0)
    write_table(tmp_path / "names.tsv", pairs)
    train = ["train", "--data", "names.tsv", "--pair", "en-fr", "--preset", "pointer"]
    run(*train, "--run", "names", "--steps", 4, *SMALL)
    config = json.loads((tmp_path / "names" / "config.json").read_text())
    assert (config["model"]["copy"], config["data"]["min_count"]) == (True, 3)
    told = run("translate", "--run", "names", "--map", "map.json", "bababa sees dododo")
    assert not told.err  # no word is lost on it
    assert json.loads((tmp_path / "map.json").read_text())["source_tokens"] == [
        "bababa", "sees", "dododo", "<eos>",
    ]  # fmt: skip
    assert "  BLEU" in "".join(run("evaluate", "--run", "names").out)
    run(*train, "--run", "others", "--seed", 2, "--steps", 4, *SMALL)
    compared = run("compare", "names", "others", "--beam", 2, "--samples", 9)
    assert "p against the first" in compared.out[0]
    assert "  ok     unknown words can be copied" in "\n".join(run("doctor", "--run", "names").out)
    run("train", "--resume", "--run", "names", "--steps", 6)
    assert read_checkpoint(tmp_path / "names" / "last.safetensors").header["position"]["step"] == 6


def test_what_was_trained_translates(trained, run, tmp_path):
    write = tmp_path / "in.txt"
    write.write_text("eins zwei\n\nvier\n", encoding="utf-8")
    [one] = run("translate", "eins zwei").out
    by_file = run("translate", "--file", write).out
    by_input = run("translate", input="eins zwei\n\nvier\n").out
    assert by_file == by_input
    assert by_file[:2] == [one, ""]
    assert run("translate", "eins zwei", "vier").out == [by_file[0], by_file[2]]
    expected = Translator.load("runs/numbers-de-en").translate(["vier"], beam=2)[0].text
    assert run("translate", "vier", "--beam", 2).out == [expected]


def test_maps_are_drawn_and_written(trained, run, tmp_path):
    run("translate", "eins zwei", "--map", "a.png")
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")
    run("translate", "eins zwei", "", "vier", "--map", "b.json")
    assert sorted(p.name for p in tmp_path.glob("b*")) == ["b-1.json", "b-3.json"]
    found = json.loads((tmp_path / "b-1.json").read_text())
    printed = run("translate", "eins zwei", "", "vier", "--json").out
    assert json.loads(printed[0]) == found
    assert found["source_tokens"] == ["eins", "zwei", "<eos>"]
    assert len(found["weights"]) == len(found["tokens"])
    assert all(sum(row) == pytest.approx(1, abs=1e-4) for row in found["weights"])


def test_unknown_words_are_named(trained, run):
    found = run("translate", "eins elf zwölf", "vier")
    assert found.err == ["seqattn: sentence 1: this model does not know 'elf', 'zwölf'"]


def test_without_a_run_the_model_of_the_package_translates(run, tmp_path):
    found = run("translate", "the cat sat on the mat")
    assert found.out == ["le chat s'est assis sur le tapis"]
    assert found.err == [
        "seqattn: there is no run in runs/: this is the model that comes with seqattn, toy"
    ]
    named = run("translate", "the cat sat on the mat", "--run", "toy")
    assert (named.out, named.err) == (found.out, [])


def test_ibm1_stands_beside_the_attention(run, monkeypatch):
    from seqattn.data import CorpusConfig, read_split
    from seqattn.data import corpora as module
    from seqattn.evaluation import ibm1_error_rates

    small, read = CorpusConfig(pairs=400), read_split
    monkeypatch.setattr(module, "read_split", lambda corpus, split: read(small, split))
    shown = run("evaluate", "--run", "toy", "--ibm1").out
    expected = ibm1_error_rates(read(small, "train"), read(small, "test"))
    best = min(expected, key=expected.get)
    [attention] = [i for i, line in enumerate(shown) if line.startswith("  AER ")]
    assert shown[attention + 1] == (
        f"  IBM Model 1  {100 * expected[best]:6.2f} %  by {best}, the best of its readings "
        f"({100 * expected['target']:.2f} % as it comes)"
    )
    found = json.loads("\n".join(run("evaluate", "--run", "toy", "--ibm1", "--json").out))
    assert found["ibm1"] == expected
    rows = f"({100 * found['aer_rows']:.2f} % by rows alone)"
    assert shown[attention].split()[:2] == ["AER", f"{100 * found['aer']:.2f}"]
    assert shown[attention].endswith(rows)


def test_evaluation_repeats_the_scores_of_the_training(trained, run, tmp_path):
    expected = json.loads((tmp_path / "runs" / "numbers-de-en" / "test.json").read_text())
    found = json.loads("\n".join(run("evaluate", "--json").out))
    assert found == expected
    text = run("evaluate", "--split", "valid", "--beam", 2, "--lowercase").out
    assert "valid, 6 sentences, beam of 2" in text[0]
    assert "case:lc" in text[1]
    text = run("evaluate", "--split", "valid", "--beam", 2, "--length-penalty", 1.5).out
    assert "valid, 6 sentences, beam of 2, length penalty 1.5" in text[0]
    which = ("evaluate", "--split", "valid", "--beam", 2)
    found = json.loads("\n".join(run(*which, "--json").out))
    told = (
        f"  length       {100 * found['length_ratio']:6.2f} %  of the references' tokens, as BLEU"
    )
    assert run(*which).out[2].startswith(told)
    # Greedy search has no length penalty to act on it.
    assert "  length " not in "".join(run("evaluate", "--split", "valid").out)
    write_table(tmp_path / "more.tsv", numbers(3, seed=9))
    assert "more.tsv, 3 sentences, greedy search" in run("evaluate", "--data", "more.tsv").out[0]


def test_several_translations_come_with_number_and_score(trained, run):
    best = run("translate", "eins zwei", "vier").out
    lines = [line.split("\t") for line in run("translate", "eins zwei", "vier", "--n-best", 3).out]
    assert [line[0] for line in lines] == ["1"] * 3 + ["2"] * 3
    assert [lines[0][2], lines[3][2]] == best
    drawn = [run("translate", "vier", "--samples", 4, "--seed", s).out for s in (1, 1, 2)]
    assert drawn[0] == drawn[1] != drawn[2]
    assert len(drawn[0]) == 4
    cold = run("translate", "vier", "--samples", 1, "--temperature", 1e-6).out
    assert cold == run("translate", "vier", "--beam", 1).out
    found = run("translate", "vier", "--n-best", 2, "--json").out
    scores = [json.loads(line)["score"] for line in found]
    assert len(scores) == 2
    assert scores[0] == pytest.approx(float(lines[3][1]), abs=1e-3)


def test_penalties_order_the_translations(trained, run):
    # Short ones rank high without a penalty of length, and wide ones with one of coverage.
    translator, orders = Translator.load("runs/numbers-de-en"), []
    for penalties in ({"length_penalty": 0.0}, {"length_penalty": 2.0, "coverage_penalty": 9.0}):
        options = [str(a) for name, by in penalties.items() for a in (_option(name), by)]
        found = run("translate", "eins zwei drei", "--n-best", 5, *options).out
        orders.append([line.split("\t")[2] for line in found])
        [expected] = translator.n_best(["eins zwei drei"], n=5, beam=5, **penalties)
        assert orders[-1] == [one.text for one in expected]
    assert orders[0] != orders[1]


def _option(name):
    return "--" + name.replace("_", "-")


def test_runs_are_compared(trained, run, tmp_path):
    first = tmp_path / "runs" / "numbers-de-en"
    other = ["train", "--data", "numbers.tsv", "--pair", "de-en", "--run", "runs/b", *SMALL]
    run(*other, "--preset", "luong", "--subwords", 0, "--steps", 4, "--lowercase", "--quiet")
    config = json.loads((tmp_path / "runs" / "b" / "config.json").read_text())
    assert config["model"]["architecture"] == "luong"
    assert config["data"] == {"subwords": 0, "joint": False, "min_count": 1, "lowercase": True}
    options = ["compare", first, "runs/b", "--samples", 50, "--beam", 1, "--out", "both"]
    refused = run(*options, code=2).err
    assert refused == ["seqattn: b writes lower case alone; expected lowercase=True (--lowercase)"]
    shown = run(*options, "--lowercase").out
    assert shown[0] == "test, 6 sentences, greedy search; p against the first"
    assert [line.split()[0] for line in shown[2:4]] == ["numbers-de-en", "b"]
    assert shown[4:6] == [
        "BLEU by the length of the source",
        "words     sentences  numbers-de-en       b",
    ]
    found = json.loads((tmp_path / "both" / "comparison.json").read_text())
    assert [system["name"] for system in found["systems"]] == ["numbers-de-en", "b"]
    assert (tmp_path / "both" / "comparison.png").read_bytes().startswith(b"\x89PNG")
    scores = json.loads((first / "test.json").read_text())
    assert found["systems"][0]["bleu"] == pytest.approx(scores["bleu"])


def test_a_config_file_and_what_the_command_line_says_over_it(run, tmp_path):
    (tmp_path / "mine.toml").write_text(
        "[data]\nsubwords = 0\n[model]\nd_embed = 7\nd_hidden = 13\n"
        "[training]\nsteps = 50\nbatch_tokens = 64\n"
    )
    train = ["train", "--data", "numbers.tsv", "--pair", "de-en", "--config", "mine.toml"]
    run(*train, "--steps", 2, "--set", "d_hidden=11", "--threads", 1, "--run", "a", "--quiet")
    config = json.loads((tmp_path / "a" / "config.json").read_text())
    assert (config["model"]["d_embed"], config["model"]["d_hidden"]) == (7, 11)
    assert (config["training"]["steps"], config["training"]["batch_tokens"]) == (2, 64)
    again = ["train", "--data", "numbers.tsv", "--pair", "de-en", "--config", "a/config.json"]
    run(*again, "--threads", 1, "--run", "b", "--quiet")
    one, two = (read_checkpoint(tmp_path / name / "last.safetensors") for name in "ab")
    assert all(torch.equal(one.weights[name], two.weights[name]) for name in one.weights)


def test_a_run_is_resumed_with_a_larger_budget_and_never_overwritten(trained, run, tmp_path):
    folder = tmp_path / "runs" / "numbers-de-en"
    name = ["--run", "runs/numbers-de-en"]
    refused = run("train", "--data", "numbers.tsv", *name, code=2)
    assert "holds a run already" in refused.err[0]
    resumed = "\n".join(run("train", "--resume", *name, "--steps", 6).out)
    assert "from update 4" in resumed
    assert "cpu, threads: 1, " in resumed  # as many as before
    assert read_checkpoint(folder / "last.safetensors").header["position"]["step"] == 6
    refused = run("train", "--resume", *name, "--set", "lr=1", code=2)
    assert refused.err == ["seqattn: --set does not go with --resume: a run keeps its settings"]
    anew = [*name, "--overwrite", "--steps", 1, "--quiet", "--subwords", 0, *SMALL]
    run("train", "--data", "misspelt.tsv", *anew, code=2)
    assert (folder / "best.safetensors").is_file()  # a typing error costs nothing
    run("train", "--data", "numbers.tsv", *anew)
    assert read_checkpoint(folder / "last.safetensors").header["position"]["step"] == 1


def test_a_process_is_set_up_once_and_before_there_is_a_model(run, monkeypatch):
    done = []
    for module, name in (
        ("seqattn.process", "prepare_process"),
        ("seqattn.training.start", "build_model"),
        ("seqattn.training.start", "load_model"),
    ):
        original = getattr(import_module(module), name)

        def noted(*arguments, name=name, original=original, **options):
            done.append(name)
            return original(*arguments, **options)

        monkeypatch.setattr(f"{module}.{name}", noted)
    train = ["train", "--data", "numbers.tsv", "--run", "a", "--subwords", 0, "--steps", 1]
    run(*train, *SMALL, "--quiet")
    assert done == ["prepare_process", "build_model"]
    run("train", "--resume", "--run", "a", "--steps", 2, "--quiet")
    assert done[2:] == ["prepare_process", "load_model"]


@pytest.mark.parametrize(
    ("asked", "before", "processes", "device", "found"),
    [
        (2, 5, 1, "cpu", [2]),
        (None, 5, 1, "cpu", [5]),
        (None, 5, 2, "cpu", [5]),
        (None, None, 2, "cpu", [3]),
        (None, None, 9, "cpu", [1]),
        (None, None, 1, "cpu", [4]),
        (2, None, 1, "cuda", []),
    ],
)
def test_threads_are_those_asked_for_or_those_before_or_a_share_or_the_fastest(
    monkeypatch, asked, before, processes, device, found
):
    from seqattn.cli.train_options import set_threads

    used = []
    monkeypatch.setattr("torch.set_num_threads", used.append)
    monkeypatch.setattr("seqattn.process.available_cores", lambda: 6)
    monkeypatch.setattr("seqattn.training.runtime.fastest_threads", lambda *_, **__: 4)
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    trainer = SimpleNamespace(
        device=torch.device(device), threads_before=before, model=None, batches=None,
        processes=SimpleNamespace(count=processes), config=SimpleNamespace(bf16=False),
    )  # fmt: skip
    set_threads(trainer, asked)
    assert used == found
    monkeypatch.setenv("OMP_NUM_THREADS", "3")  # read by PyTorch itself as it is imported
    set_threads(trainer, None)
    assert used == found + ([before] if before and device == "cpu" else [])


def test_a_signal_saves_and_says_how_to_go_on(run, tmp_path, monkeypatch):
    from seqattn.training.trainer import Trainer

    advance = Trainer._advance

    def interrupted(self, *update):
        advance(self, *update)
        if self.state.step == 3:
            signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(Trainer, "_advance", interrupted)
    train = ["train", "--data", "numbers.tsv", "--run", "a run", "--steps", 9, "--subwords", 0]
    found = run(*train, *SMALL, code=130)
    *_, last = found.out
    assert last.startswith("SIGINT: saved at update 3. Go on with: ")
    assert last.endswith("seqattn train --resume --run 'a run'")
    monkeypatch.setattr(Trainer, "_advance", advance)
    run("train", "--resume", "--run", "a run")
    assert read_checkpoint(tmp_path / "a run" / "last.safetensors").header["position"]["step"] == 9


@pytest.mark.skipif(os.name != "posix", reason="sets a limit that POSIX knows")
def test_a_disk_that_is_full_stops_the_run_on_one_line_and_keeps_the_last_checkpoint(run, tmp_path):
    import resource

    train = ["train", "--data", "numbers.tsv", "--subwords", 0, "--run", "a", "--steps"]
    run(*train, 4, *SMALL, "--quiet")
    kept = (tmp_path / "a" / "last.safetensors").read_bytes()
    code = "import sys, resource as r; from seqattn.cli import main; "
    code += f"r.setrlimit(r.RLIMIT_FSIZE, ({len(kept) - 1}, {resource.RLIM_INFINITY})); main()"
    found = subprocess.run(
        [sys.executable, "-c", code, "train", "--resume", "--run", "a", "--steps", "9"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert found.returncode == 1
    assert found.stderr.count("\n") == 1
    assert "seqattn: could not write a/last.safetensors: File too large" in found.stderr
    assert "the one that was there is intact" in found.stderr
    assert (tmp_path / "a" / "last.safetensors").read_bytes() == kept
    run("train", "--resume", "--run", "a", "--steps", 9, "--quiet")
    assert read_checkpoint(tmp_path / "a" / "last.safetensors").header["position"]["step"] == 9


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("compare toy", "one run, toy; expected two or more to compare"),
        (
            "evaluate --ibm1 --run toy --data numbers.tsv",
            "--ibm1 needs gold links: a run on the toy corpus",
        ),
        ("translate eins --run other", "other does not exist; expected a folder that"),
        ("evaluate --run numbers.tsv", "numbers.tsv is no checkpoint of seqattn"),
        ("translate eins --map x.gif", "--map x.gif: expected a name in .png"),
        ("translate eins --file numbers.tsv", "sentences and --file; expected one of the two"),
        ("train --data other.tsv", "there is no file"),
        ("train --data a.de --data a.en --data b", "3 files"),
        (
            "train --data toy --pair de-en",
            "the toy corpus is English and French; got 'de' and 'en'",
        ),
        ("train --data multi30k --pair de-it", "Multi30k has en, de and fr"),
        ("train --data multi30k --pair deen", "--pair is 'deen'; expected two languages"),
        ("train --preset bahdanou", "no preset 'bahdanou'; expected one of bahdanau, "),
        ("train --preset luong --config x.toml", "--preset and --config; expected one"),
        ("train --config x.toml", "there is no file x.toml"),
        ("train --resume --preset luong", "no run to take up in runs/toy-en-fr-luong; expected"),
        ("train --resume --run a --preset luong", "--preset does not go with --resume"),
        ("train --seed 2 --set seed=3", "--set seed=3 and --seed; expected one of the two"),
        ("train --precision fp32 --set bf16=true", "--set bf16=true and --precision; expected one"),
        ("train --steps 5 --set steps=6", "--set steps=6 and --steps; expected one of the two"),
        ("compare numbers.tsv", "one run, numbers.tsv; expected two or more to compare"),
        ("evaluate --lowercase --tokenized --run numbers.tsv", "--lowercase and --tokenized"),
        ("translate eins --top-k 3", "--temperature, --top-k and --top-p are for --samples"),
        ("translate eins --samples 2 --beam 3", "--coverage-penalty are not for --samples"),
        (
            "translate eins --samples 2 --length-penalty 1",
            "--length-penalty and --coverage-penalty",
        ),
        ("translate eins --beam 1 --coverage-penalty 1", "need a --beam of 2 or more"),
        ("evaluate --run toy --length-penalty 1", "needs a --beam of 2 or more"),
        ("translate eins --samples 2 --n-best 2", "--samples and --n-best; expected one"),
        ("train --data multi30k", "SEQATTN_DATA is set, and there is no"),
        ("train --valid numbers.tsv", "--valid is for files of your own; toy has its own"),
        ("train --resume", "there is no run to take up in runs/toy-en-fr"),
        ("train --set d_hiden=5", "d_hiden=5: expected NAME=VALUE; did you mean d_hidden=...? "),
        ("train --data numbers.tsv --subwords 9", "size is 9; expected at least 260"),
        ("train --data numbers.tsv --subwords 300 --min-count 2", "--min-count is for whole words"),
        ("train --resume --min-count 2", "--min-count does not go with --resume"),
        (
            "train --data numbers.tsv --preset toy --set copy=true",
            "share one (joint=True, or --j",
        ),
        (
            "train --set coverage_penalty=0.1",
            "coverage_penalty is called doubly_stochastic_penalt",
        ),
        (
            "train --data numbers.tsv --preset toy --set architecture=fixed",
            "doubly_stochastic_penalty is 0.2, and the model has a",
        ),
        ("train --set rank=3", "rank=3 has no effect with score='additive'; it is for score='red"),
        ("train --data numbers.tsv --subwords 0 --set score=cosine", "score=cosine: expected"),
        ("train --minutes 0", "minutes is 0.0; expected a number above 0"),
        ("train --steps -3", "steps is -3; expected a whole number of at least 1"),
        ("train --precision fp8", "--precision is 'fp8'; expected auto, fp32 or bf16"),
        ("train --device warp", "--device warp is not to be had here"),
        ("train --run numbers.tsv", "numbers.tsv is a file; expected a folder"),
        ("train --data toy --encoding latin-1", "--encoding latin-1 is for files of your own; toy"),
        (
            "evaluate --run toy --encoding latin-1",
            "--encoding latin-1 is for files named with --da",
        ),
        ("train --data latin.tsv", "is no utf-8; state its encoding, as in --encoding latin-1"),
        ("translate --run toy --file latin.tsv", "is no utf-8; state its encoding, as in --enc"),
        ("translate --run toy --file latin.tsv --encoding utf-9", "unknown encoding: utf-9"),
        (
            "train --data short.de",
            "line 1: 1 column(s); expected at least 2, separated by tabs, or",
        ),
        ("train --data short.de --data folder", "folder is a folder; expected a file"),
        ("train --data folder", "folder is a folder; expected a table with tabs, or two"),
        ("train --resume --run a --data numbers.tsv", "--data does not go with --resume"),
        ("train --resume --run a --pair de-en", "--pair does not go with --resume"),
        ("train --config list.json", "list.json holds [1]; expected tables"),
        ("evaluate --run toy --split foo", "'foo'; expected train, valid, test or long"),
        (
            "evaluate --run toy --split test_2017_flickr",
            "expected train, valid, test or long (test_2017_flickr is of Multi30k)",
        ),
        ("train --data short.de --data short.en", "has 2 lines and"),
    ],
)
def test_wrong_input_is_refused_on_one_line(run, tmp_path, monkeypatch, arguments, message):
    monkeypatch.setenv("SEQATTN_DATA", str(tmp_path))
    (tmp_path / "latin.tsv").write_bytes("groß\tbig\n".encode("latin-1"))
    (tmp_path / "short.de").write_text("eins\nzwei\n")
    (tmp_path / "short.en").write_text("one\n")
    (tmp_path / "list.json").write_text("[1]")
    (tmp_path / "folder").mkdir()
    found = run(*arguments.split(), code=2)
    assert not found.out or found.out[0].startswith("reading ")
    assert len(found.err) == 1
    assert found.err[0].startswith("seqattn: ")
    assert message in found.err[0]


@pytest.mark.parametrize(
    "command",
    [
        "train --run",
        "train --resume --run",
        "translate eins --run",
        "evaluate --run",
        "doctor --run",
    ],
)
def test_an_empty_name_is_no_run(run, command):
    found = run(*command.split(), "", code=2)
    assert found.err == ["seqattn: --run is empty; expected the folder of a run"]


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB."), None),
        (RuntimeError("[enforce fail] DefaultCPUAllocator: can't allocate memory: you tri"), None),
        (MemoryError(), None),
        (RuntimeError("shapes differ"), "shapes differ"),
    ],
)
def test_where_memory_runs_out_there_is_advice(run, monkeypatch, error, message):
    from seqattn.training.trainer import Trainer

    def fails(self):
        raise error

    monkeypatch.setattr(Trainer, "run", fails)
    train = ["train", "--data", "numbers.tsv", "--subwords", 0, "--steps", 2, *SMALL]
    if message is not None:  # a fault of ours keeps its traceback
        with pytest.raises(RuntimeError, match=message):
            run(*train)
        return
    assert run(*train, code=1).err == [
        "seqattn: out of memory; try a smaller --set batch_tokens=... or --set d_hidden=..."
    ]


class FullDisk(StringIO):
    def flush(self):
        raise OSError(errno.ENOSPC, "No space left on device")


@pytest.mark.parametrize("command", ["evaluate --json --run", "compare b --samples 2", "doctor"])
def test_output_that_cannot_be_written_is_told_on_one_line(trained, tmp_path, monkeypatch, command):
    folder = tmp_path / "runs" / "numbers-de-en"
    (tmp_path / "b").symlink_to(folder)
    named = [] if command == "doctor" else [str(folder)]
    monkeypatch.setattr(sys, "argv", ["seqattn", *command.split(), *named])
    monkeypatch.setattr(sys, "stdout", FullDisk())
    monkeypatch.setattr(sys, "stderr", told := StringIO())
    with pytest.raises(SystemExit) as ended:
        cli.main()
    sys.stdout.close()
    assert ended.value.code == 1
    assert told.getvalue() == "seqattn: standard output: No space left on device\n"


def test_a_map_that_cannot_be_written_is_named(run):
    found = run("translate", "the cat", "--run", "toy", "--map", "no/such/x.png", code=1)
    assert found.err == ["seqattn: could not write no/such/x.png: No such file or directory"]


def test_a_picture_for_each_of_many_sentences_is_refused(run, tmp_path):
    lines = "the cat\n\n" * 101
    found = run("translate", "--run", "toy", "--map", "x.png", input=lines, code=2)
    assert not found.out
    assert "a picture for each of more than 100 sentences" in found.err[0]
    assert not list(tmp_path.glob("x*"))


def test_ctrl_c_ends_without_a_traceback(monkeypatch):
    def interrupted():
        raise KeyboardInterrupt

    monkeypatch.setattr(cli, "_run", interrupted)
    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert ended.value.code == 130


def test_standard_input_is_read_as_files_are(trained, run, tmp_path):
    text = "fünf zwei\r\n\neins"
    (tmp_path / "x.txt").write_bytes(text.encode("latin-1"))
    expected = run("translate", "fünf zwei", "", "eins").out
    for encoding in ("utf-8", "utf-8-sig", "latin-1", "utf-16"):
        options = [] if encoding == "utf-8-sig" else ["--encoding", encoding]
        found = run("translate", *options, input=text.encode(encoding))
        assert (found.out, found.err) == (expected, [])
    assert run("translate", "--file", "x.txt", "--encoding", "latin-1").out == expected
    found = run("translate", input=b"eins\nf\xfcnf", code=2)
    assert found.err == [
        "seqattn: standard input, line 2: byte 0xfc is no utf-8; state its encoding, as in "
        "--encoding latin-1"
    ]
    assert "--encoding utf-16" in run("translate", input=text.encode("utf-16"), code=2).err[0]


def test_sentences_that_were_trained_on_are_not_called_unseen(run, tmp_path):
    write_table(tmp_path / "few.tsv", numbers(60)[:5])
    train = ["train", "--data", "numbers.tsv", "--test", "few.tsv", "--subwords", 0, "--steps", 1]
    found = run(*train, "--quiet", "--run", "a", *SMALL)
    [known] = re.findall(r"test, 5 sentences \((\d) of 5 were trained on\), greedy", found.out[0])
    told = f"seqattn: a/best.safetensors was trained on {known} of these 5 sentences"
    assert run("evaluate", "--run", "a").err == [told]
    told = "seqattn: a/best.safetensors was trained on these sentences"
    assert run("evaluate", "--run", "a", "--split", "train").err == [told]


def test_what_a_reader_leaves_out_is_told_once(run, tmp_path):
    with (tmp_path / "numbers.tsv").open("a") as file:
        file.write("acht\t \n")
    reader, told = logging.getLogger("seqattn.data.pairs"), []
    handler = logging.Handler()
    handler.emit = told.append
    reader.addHandler(handler)
    train = ["train", "--data", "numbers.tsv", "--subwords", 0, "--steps", 1, "--quiet", *SMALL]
    try:
        run(*train)
    finally:
        reader.removeHandler(handler)
    assert len(told) == 1
    assert not reader.filters


def test_a_finished_run_has_nothing_left_to_do(trained, run, tmp_path):
    folder = tmp_path / "runs" / "numbers-de-en"
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    for options in ([], ["--steps", 3], ["--epochs", 0.5]):
        [found] = run("train", "--resume", "--run", folder, *options).out
        assert "is used up at update 4: nothing is left to do" in found
        assert "--steps 8" in found
    assert before == {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_run_without_a_checkpoint_is_begun_anew(trained, run, tmp_path):
    stopped = tmp_path / "runs" / "stopped"
    stopped.mkdir()
    (stopped / "config.json").write_text('{"model": {}, "training": {}}')
    for options in ([], ["--resume"]):
        found = run("train", "--run", stopped, *options, code=2)
        assert "stopped before its first checkpoint" in found.err[0]
        assert "--overwrite" in found.err[0]
    assert run("doctor").out[0] == "runs/numbers-de-en/best.safetensors"


def test_where_an_error_came_from_is_told_to_those_who_ask(run, monkeypatch):
    assert len(run("train", "--minutes", 0, code=2).err) == 1
    monkeypatch.setenv("SEQATTN_TRACEBACK", "1")
    first, *rest, last = run("train", "--minutes", 0, code=2).err
    assert first.startswith("Traceback")
    assert any("config.py" in line for line in rest)
    assert last.startswith("seqattn: minutes is 0.0; expected")


def test_a_run_that_diverges_fails_on_one_line(run, monkeypatch):
    monkeypatch.setattr(
        torch.nn.utils, "clip_grad_norm_", lambda parameters, clip: torch.tensor(torch.inf)
    )
    found = run("train", "--data", "numbers.tsv", "--subwords", 0, "--steps", 2, *SMALL, code=1)
    assert "update 1: the loss is" in found.err[0]


@pytest.mark.slow
def test_other_processes_save_when_they_are_told_to_stop(tmp_path):
    write_table(tmp_path / "numbers.tsv", numbers(60))
    options = ["--data", "numbers.tsv", "--subwords", "0", *SMALL, "--set", "validate_every=2"]
    train = [sys.executable, "-c", "from seqattn.cli import main; main()", "train", *options]
    at_work = {
        number: subprocess.Popen(
            [*train, "--run", number.name, "--steps", "100000"],
            cwd=tmp_path,
            env={**os.environ, "OMP_NUM_THREADS": "1"},
            stdout=subprocess.PIPE,
            text=True,
        )
        for number in (signal.SIGINT, signal.SIGTERM)
    }
    for number, process in at_work.items():
        with process:
            for line in process.stdout:
                if " BLEU " in line:  # the first validation: it is at work
                    process.send_signal(number)
                    break
            rest = process.stdout.read()
        assert process.returncode == 128 + number
        folder = tmp_path / number.name
        step = read_checkpoint(folder / "last.safetensors").header["position"]["step"]
        assert rest.endswith(
            f"{number.name}: saved at update {step}. "
            f"Go on with: seqattn train --resume --run {number.name}\n"
        )
        assert resumed_run(folder, steps=step + 2, quiet=True).run().reason == "done"


def test_the_doctor_lists_its_points_and_ends_with_1_where_one_is_wrong(trained, run, tmp_path):
    found = run("doctor", "--run", "toy")
    assert found.out[0].endswith(".safetensors")
    assert all(line.startswith("  ok  ") for line in found.out[1:]), found.out
    assert len(found.out) == 16
    translator = Translator.load("runs/numbers-de-en")
    weights = translator.model.state_dict()
    weights["encoder.embedding.weight"][3] = torch.nan
    path = tmp_path / "broken.safetensors"
    stored = read_checkpoint(tmp_path / "runs" / "numbers-de-en" / "best.safetensors").header
    write_checkpoint(path, {f"model.{name}": value for name, value in weights.items()}, stored)
    found = run("doctor", "--run", path, code=1)
    assert found.out[1].split()[:2] == ["WRONG", "all"]
