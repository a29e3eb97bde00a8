"""The command line: what it prints, what it leaves, how it refuses."""

import json
import os
import signal
import subprocess
import sys
from types import SimpleNamespace

import pytest
import torch
import typer
from typer.testing import CliRunner

from seqattn.training import commands, read_checkpoint, resumed_run, write_checkpoint
from seqattn.translator import Translator
from tests.training.corpus import numbers, write_table

# Other tests check the shapes of all that is called here; these are spared the time.
pytestmark = pytest.mark.usefixtures("unchecked")

SMALL = ["--set", "d_embed=7", "--set", "d_hidden=11", "--set", "batch_tokens=64", "--threads", "1"]


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Call ``seqattn`` in a folder of its own, where a table of numbers lies."""
    monkeypatch.chdir(tmp_path)
    write_table(tmp_path / "numbers.tsv", numbers(60))
    app = typer.Typer()
    commands.register(app)

    def call(*arguments, code=0, **options):
        found = CliRunner().invoke(app, [str(a) for a in arguments], **options)
        if found.exception is not None and not isinstance(found.exception, SystemExit):
            raise found.exception
        assert found.exit_code == code, found.output
        return SimpleNamespace(out=found.stdout.splitlines(), err=found.stderr.splitlines())

    yield call
    # A command has its process to itself; here the other tests live on.
    torch.set_flush_denormal(False)
    torch.set_num_threads(1)


@pytest.fixture
def trained(run):
    """Train for four updates on the numbers, into runs/numbers-de-en."""
    train = ["train", "--data", "numbers.tsv", "--pair", "de-en", "--subwords", "0"]
    return run(*train, "--steps", 4, *SMALL)


def test_training_ends_with_the_scores_on_the_test_pairs(trained, tmp_path):
    folder = tmp_path / "runs" / "numbers-de-en"
    assert sorted(p.name for p in folder.iterdir()) == [
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
    from seqattn import baselines
    from seqattn.data import CorpusConfig, read_split
    from seqattn.data import corpora as module

    small, read = CorpusConfig(pairs=400), read_split
    monkeypatch.setattr(module, "read_split", lambda corpus, split: read(small, split))
    shown = run("evaluate", "--run", "toy", "--ibm1").out
    expected = baselines.ibm1_error_rates(read(small, "train"), read(small, "test"))
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
    assert config["data"] == {"subwords": 0, "joint": False, "lowercase": True}
    options = ["compare", first, "runs/b", "--samples", 50, "--beam", 1, "--out", "both"]
    refused = run(*options, code=2).err
    assert refused == ["seqattn: b writes lower case alone; expected lowercase=True"]
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
    assert "from update 4" in "\n".join(run("train", "--resume", *name, "--steps", 6).out)
    assert read_checkpoint(folder / "last.safetensors").data["position"]["step"] == 6
    refused = run("train", "--resume", *name, "--set", "lr=1", code=2)
    assert refused.err == ["seqattn: --set does not go with --resume: a run keeps its settings"]
    anew = [*name, "--overwrite", "--steps", 1, "--quiet", "--subwords", 0, *SMALL]
    run("train", "--data", "misspelt.tsv", *anew, code=2)
    assert (folder / "best.safetensors").is_file()  # a typing error costs nothing
    run("train", "--data", "numbers.tsv", *anew)
    assert read_checkpoint(folder / "last.safetensors").data["position"]["step"] == 1


def test_a_signal_saves_and_says_how_to_go_on(run, tmp_path, monkeypatch):
    from seqattn.training.trainer import Trainer

    made = Trainer._update

    def interrupted(self, batch):
        made(self, batch)
        if self.position.step == 3:
            signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(Trainer, "_update", interrupted)
    train = ["train", "--data", "numbers.tsv", "--run", "a run", "--steps", 9, "--subwords", 0]
    found = run(*train, *SMALL, code=130)
    *_, last = found.out
    assert last.startswith("SIGINT: saved at update 3. Go on with: ")
    assert last.endswith("seqattn train --resume --run 'a run'")
    monkeypatch.setattr(Trainer, "_update", made)
    run("train", "--resume", "--run", "a run")
    assert read_checkpoint(tmp_path / "a run" / "last.safetensors").data["position"]["step"] == 9


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
    assert read_checkpoint(tmp_path / "a" / "last.safetensors").data["position"]["step"] == 9


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
        ("train --resume --preset luong", "--preset does not go with --resume"),
        ("compare numbers.tsv", "one run, numbers.tsv; expected two or more to compare"),
        ("evaluate --lowercase --tokenized --run numbers.tsv", "--lowercase and --tokenized"),
        ("translate eins --top-k 3", "--temperature, --top-k and --top-p are for --samples"),
        ("translate eins --samples 2 --n-best 2", "--samples and --n-best; expected one"),
        ("train --data multi30k", "SEQATTN_DATA is set, and there is no"),
        ("train --valid numbers.tsv", "--valid is for files of your own; toy has its own"),
        ("train --resume", "there is no run to take up in runs/toy-en-fr"),
        ("train --set d_hiden=5", "--set d_hiden=5: expected NAME=VALUE"),
        ("train --data numbers.tsv --subwords 9", "size is 9; expected at least 260"),
        ("train --data numbers.tsv --subwords 0 --joint", "joint=True with whole words"),
        ("train --data numbers.tsv --subwords 0 --set score=cosine", "score=cosine: expected"),
        ("train --minutes 0", "no budget"),
        ("train --steps -3", "steps is -3; expected above 0"),
        ("train --precision fp8", "--precision is 'fp8'; expected auto, fp32 or bf16"),
        ("train --device warp", "--device warp is not to be had here"),
        ("train --run numbers.tsv", "numbers.tsv is a file; expected a folder"),
        ("train --data latin.tsv", "is no utf-8; state the encoding of the file"),
        ("train --data short.de --data short.en", "has 2 lines and"),
    ],
)
def test_wrong_input_is_refused_on_one_line(run, tmp_path, monkeypatch, arguments, message):
    monkeypatch.setenv("SEQATTN_DATA", str(tmp_path))
    (tmp_path / "latin.tsv").write_bytes("groß\tbig\n".encode("latin-1"))
    (tmp_path / "short.de").write_text("eins\nzwei\n")
    (tmp_path / "short.en").write_text("one\n")
    found = run(*arguments.split(), code=2)
    assert not found.out or found.out[0].startswith("reading ")
    assert len(found.err) == 1
    assert found.err[0].startswith("seqattn: ")
    assert message in found.err[0]


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
        step = read_checkpoint(folder / "last.safetensors").data["position"]["step"]
        assert rest.endswith(
            f"{number.name}: saved at update {step}. "
            f"Go on with: seqattn train --resume --run {number.name}\n"
        )
        assert resumed_run(folder, steps=step + 2, quiet=True).run().reason == "done"


def test_the_doctor_lists_its_points_and_ends_with_1_where_one_is_wrong(trained, run, tmp_path):
    found = run("doctor", "--run", "toy")
    assert found.out[0].endswith(".safetensors")
    assert all(line.startswith("  ok  ") for line in found.out[1:]), found.out
    assert len(found.out) == 11
    translator = Translator.load("runs/numbers-de-en")
    weights = translator.model.state_dict()
    weights["encoder.embedding.weight"][3] = torch.nan
    path = tmp_path / "broken.safetensors"
    stored = read_checkpoint(tmp_path / "runs" / "numbers-de-en" / "best.safetensors").data
    write_checkpoint(path, {f"model.{name}": value for name, value in weights.items()}, stored)
    found = run("doctor", "--run", path, code=1)
    assert found.out[1].split()[:2] == ["WRONG", "all"]
