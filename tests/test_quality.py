"""Finished runs, collected: nothing is typed by hand, and nothing is averaged that may not be."""

import json
import re
import statistics
import sys
from dataclasses import asdict, replace
from types import SimpleNamespace

import pytest

from benchmarks import quality, quality_tables
from seqattn.data import TextPair, measured
from seqattn.data.pairs import lower_case
from seqattn.training import read_preset

CARD = {"command": "python -m benchmarks.quality", "date": "2026-01-01"}
MARKS = "<!-- begin training runs -->\n", "<!-- end training runs -->"
SIGNATURE = "nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:2.6.0"


def score(bleu, **more):
    plain = {"bleu": bleu, "chrf": bleu + 20, "signature": SIGNATURE, "sentences": 1000}
    return {**plain, "exact": 0.1, "perplexity": 5.0, "aer": None, **more}


def train(step, loss, speed):
    return {"kind": "train", "step": step, "epoch": 0, "loss": loss, "lr": 1e-3, "norm": 1.0,
            "tokens_per_second": speed, "seconds": step / 2}  # fmt: skip


def valid(step, bleu):
    scores = {"bleu": bleu, "chrf": 50.0, "perplexity": 100 / bleu}
    return {"kind": "valid", "step": step, "epoch": step // 300, "seconds": step / 2 + 1, **scores}


def write(folder, name="luong", seed=1, bleu=30.0, pair=("de", "en"), tests=None, **training):
    """Write a run folder as training leaves it, but for its checkpoints."""
    preset = read_preset(name)
    folder.mkdir(parents=True)
    config = {
        "model": asdict(preset.model),
        "training": asdict(replace(preset.training, seed=seed, bf16=True, **training)),
        "corpus": {"name": "multi30k", "source": pair[0], "target": pair[1], "lowercase": False,
                   "train": [], "valid": [], "test": [], "encoding": "utf-8"},
        "data": {"subwords": preset.subwords, "joint": preset.joint, "lowercase": False},
    }  # fmt: skip
    log = [train(100, 6.0, 900), valid(150, 10.0), train(200, 4.0, 1100), valid(300, bleu + 1)]
    log += [train(300, 3.0, 1300), valid(450, bleu)]
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
    lines = "".join(json.dumps(record) + "\n" for record in log)
    (folder / "metrics.jsonl").write_text(lines, encoding="utf-8")
    for file, found in {"test": score(bleu), **(tests or {})}.items():
        (folder / f"{file}.json").write_text(json.dumps(found), encoding="utf-8")
    return folder


def test_a_run_is_read_from_its_files(tmp_path):
    run = quality.read_run(write(tmp_path / "a", seed=7))
    assert (run["preset"], run["direction"], run["seed"]) == ("luong", "de-en", 7)
    assert (run["updates"], run["best_update"], run["averaged"]) == (450, 300, None)
    assert (run["tokens_per_second"], run["minutes"]) == (1100, round(226 / 60, 1))
    assert run["tests"] == {
        "greedy": {"beam": 1, "bleu": 30.0, "chrf": 50.0, "signature": SIGNATURE, "sentences": 1000}
    }
    assert [point["update"] for point in run["log"]] == [150, 300, 450]
    assert [point["loss"] for point in run["log"]] == [6.0, 3.0, 3.0]
    assert run["parameters"] is None


def test_a_report_of_the_last_update_does_not_hide_the_epoch_that_it_ends(tmp_path):
    folder = write(tmp_path / "a")
    log = (folder / "metrics.jsonl").read_text(encoding="utf-8").splitlines()
    last = json.loads(log[-1])
    assert last["epoch"] == 1
    before = json.dumps(train(last["step"], 2.5, 1300))  # its epoch, 0, is not yet counted
    (folder / "metrics.jsonl").write_text("\n".join([*log[:-1], before, log[-1]]) + "\n")
    run = quality.read_run(folder)
    assert (run["updates"], run["epochs"]) == (450, 1)


def test_a_stored_run_counts_as_many_epochs_as_its_budget():
    for run in json.loads(quality.RESULT.read_text(encoding="utf-8"))["runs"]:
        asked = re.search(r" --epochs (\d+)", run["command"])
        epochs = int(asked[1]) if asked else read_preset(run["preset"]).training.epochs
        assert run["epochs"] == epochs


def test_other_tests_of_a_run_are_found_by_their_names(tmp_path):
    tests = {"test-beam5": score(31.0, beam=5), "test-beam5-tokenized": score(33.0)}
    tests["test-greedy-2018"] = score(20.0, length_ratio=0.98765)
    tests["tests"] = score(1.0)  # no test: neither test.json nor test-NAME.json
    folder = write(tmp_path / "a", tests=tests)
    found = quality.read_run(folder)["tests"]
    assert {name: (test["bleu"], test["beam"]) for name, test in found.items()} == {
        "greedy": (30.0, 1),
        "greedy-2018": (20.0, 1),
        "beam5": (31.0, 5),
        "beam5-tokenized": (33.0, 5),
    }
    assert found["greedy-2018"]["length_ratio"] == 0.9877
    assert "length_ratio" not in found["beam5"]
    (folder / "test-my beam.json").write_text(json.dumps(score(1.0)), encoding="utf-8")
    with pytest.raises(SystemExit, match=r"named 'my beam', .* expected greedy or beam5"):
        quality.read_run(folder)


@pytest.mark.parametrize("name", ["bahdanau", "coverage", "local-p", "luong", "transformer-tiny"])
def test_the_preset_is_recognised_and_its_command_is_short(tmp_path, name):
    run = quality.read_run(write(tmp_path / "a", name, seed=3))
    assert run["preset"] == name
    assert run["command"] == (
        f"seqattn train --data multi30k --pair de-en --preset {name} --seed 3 --precision bf16"
    )


def test_the_command_says_what_differs_from_the_preset(tmp_path):
    folder = write(tmp_path / "a", lr=1e-3, epochs=None, minutes=20.0, validate_every=None)
    assert quality.read_run(folder)["command"] == (
        "seqattn train --data multi30k --pair de-en --preset luong --seed 1 --minutes 20 "
        "--precision bf16 --set lr=0.001"
    )


def test_seeds_are_averaged_by_preset_and_direction(tmp_path):
    values = {1: 30.0, 2: 31.0, 3: 33.5}
    runs = [quality.read_run(write(tmp_path / f"{s}", seed=s, bleu=b)) for s, b in values.items()]
    runs.append(quality.read_run(write(tmp_path / "fr", pair=("en", "de"), bleu=20.0)))
    runs.append(quality.read_run(write(tmp_path / "b", "bahdanau", bleu=29.0)))
    groups = {(g["preset"], g["direction"]): g for g in quality.aggregate(runs)}
    assert sorted(groups) == [("bahdanau", "de-en"), ("luong", "de-en"), ("luong", "en-de")]
    three = groups["luong", "de-en"]
    bleu = three["tests"]["greedy"]["bleu"]
    assert three["seeds"] == [1, 2, 3]
    assert bleu["values"] == list(values.values())
    assert bleu["mean"] == pytest.approx(statistics.mean(values.values()))
    assert bleu["spread"] == pytest.approx(statistics.stdev(values.values()), abs=0.005)
    assert groups["bahdanau", "de-en"]["tests"]["greedy"]["bleu"]["spread"] is None


def test_scores_that_were_computed_in_different_ways_are_not_averaged(tmp_path):
    lower = score(30.0, signature=SIGNATURE.replace("mixed", "lc"))
    runs = [quality.read_run(write(tmp_path / "a", seed=1))]
    runs.append(quality.read_run(write(tmp_path / "b", seed=2, tests={"test": lower})))
    with pytest.raises(SystemExit, match="signature differs between seeds"):
        quality.aggregate(runs)


def test_both_scores_of_a_translation_stand_in_one_row(tmp_path):
    more = {"test-beam5": score(31.0, beam=5), "test-beam5-tokenized": score(33.0, beam=5)}
    groups = quality.aggregate([quality.read_run(write(tmp_path / "a", tests=more))])
    lines = quality_tables.summary_table(groups)
    assert "| luong | de-en | 1 | 2016 | beam of 5 | 31.00 | 33.00 | 51.00 |" in lines
    assert len(lines) == 2 + 2  # with that of the greedy search


def test_a_test_that_one_seed_lacks_counts_the_seeds_that_have_it(tmp_path):
    more = {"test-beam5": score(31.0, beam=5)}
    runs = [quality.read_run(write(tmp_path / "a", seed=1, tests=more))]
    runs.append(quality.read_run(write(tmp_path / "b", seed=2)))
    groups = quality.aggregate(runs)
    assert {name: test["seeds"] for name, test in groups[0]["tests"].items()} == {
        "beam5": [1],
        "greedy": [1, 2],
    }
    runs = [run | {"machine": None} for run in runs]
    lines = "\n".join(quality_tables.page_lines({"runs": runs, "groups": groups, "card": CARD}))
    assert "| luong | de-en | 1 | 2016 | beam of 5 | 31.00 | – | 51.00 |" in lines
    assert "| 2016, beam of 5 | 31.00 / – / 51.00 | – |" in lines
    assert "| 2016, greedy | 30.00 / – / 50.00 | 30.00 / – / 50.00 |" in lines


def test_each_test_set_is_translated_plain_and_tokenized(tmp_path, monkeypatch):
    read = []

    class Found:
        bleu = 30.0

        def to_dict(self):
            return score(30.0)

    penalties = []

    def evaluate(translator, pairs, *, beam, length_penalty, details, lowercase, language=None):
        assert (beam, lowercase) == (5, False)
        penalties.append(length_penalty)
        return Found()

    monkeypatch.setattr(quality, "read_split", lambda corpus, split: read.append(split))
    monkeypatch.setattr(quality, "evaluate", evaluate)
    translator = SimpleNamespace(lowercase=False)
    monkeypatch.setattr(quality.Translator, "load", lambda folder, device: translator)
    folder = write(tmp_path / "a")
    quality.translate_tests(folder, "cpu")
    assert read == ["test", "test_2017_flickr", "test_2017_mscoco"]
    assert sorted(quality.read_run(folder)["tests"]) == [
        "beam5",
        "beam5-2017-flickr",
        "beam5-2017-mscoco",
        "beam5-tokenized",
        "beam5-tokenized-2017-flickr",
        "beam5-tokenized-2017-mscoco",
        "greedy",
    ]
    quality.translate_tests(folder, "cpu", 2.0)
    assert penalties == [None] * 6 + [2.0] * 6
    tests = quality.read_run(folder)["tests"]
    assert tests["beam5-alpha2-tokenized-2017-flickr"]["beam"] == 5
    assert len(tests) == 13


def test_the_length_penalty_with_the_best_mean_validation_is_chosen(tmp_path, monkeypatch):
    best = {"a": 0.3, "b": 1.0}  # each folder's own best; the mean's is between them

    def load(folder, device):
        def translate(sources, *, beam, length_penalty):
            assert (sources, beam) == (["x y"], 5)
            return [SimpleNamespace(text=f"{folder.name} {length_penalty}")]

        return SimpleNamespace(lowercase=True, translate=translate)

    def bleu_scorer(*, lowercase):
        assert lowercase

        def score(texts, references):
            name, alpha = texts[0].split()
            bleu = 30 - abs(float(alpha) - best[name]) ** 2
            return SimpleNamespace(score=bleu, length_ratio=0.5)

        return score

    read = []
    monkeypatch.setattr(quality.Translator, "load", load)
    monkeypatch.setattr(quality, "bleu_scorer", bleu_scorer)
    monkeypatch.setattr(
        quality, "read_split", lambda _, split: read.append(split) or [TextPair("x y", "x y z w")]
    )
    folders = [write(tmp_path / name, seed=seed) for seed, name in enumerate(best, 1)]
    assert quality.choose_penalty(folders, "cpu") == 0.6
    assert read == ["valid", "valid"]
    runs = [quality.read_run(folder) for folder in folders]
    assert runs[0]["penalties"][1] == {"alpha": 0.3, "bleu": 30.0, "length_ratio": 0.5}
    table = quality_tables.penalty_table(runs)
    assert table[4:7] == [
        "| 0 | 29.45 ±\u00a00.64 | 50.0% |",
        "| 0.3 | 29.76 ±\u00a00.35 | 50.0% |",
        "| 0.6 (chosen) | 29.88 ±\u00a00.05 | 50.0% |",
    ]
    assert quality_tables.penalty_table([{}]) == []
    folders.append(write(tmp_path / "c", pair=("en", "de")))
    with pytest.raises(SystemExit, match="of several presets or directions; expected runs of one"):
        quality.choose_penalty(folders, "cpu")


def test_bleu_is_parted_into_length_and_precision():
    assert quality_tables.bleu_parts({"bleu": 40.0, "length_ratio": 1.2}) == (1.0, 40.0)
    brevity, precision = quality_tables.bleu_parts({"bleu": 40.0, "length_ratio": 0.8})
    assert brevity == pytest.approx(0.7788, abs=1e-4)
    assert brevity * precision == 40.0

    def run(shift):
        def scored(bleu, ratio):
            return {"bleu": bleu + shift, "length_ratio": ratio}

        tests = {"beam5": scored(30, 1.0), "beam5-alpha2": scored(28, 1.1)}
        tests |= {"beam5-2017-flickr": scored(20, 0.8), "beam5-alpha2-2017-flickr": {"bleu": 21}}
        rows = [{"alpha": alpha} | scored(40, ratio) for alpha, ratio in ((0.6, 0.8), (2.0, 1.0))]
        return {"tests": tests, "penalties": rows}

    lines = quality_tables.parts_table([run(0), run(1)], 2.0)
    # A test whose length is not known has no row; nor has one that no run has.
    assert [line.replace("\u00a0", "") for line in lines[4:-1]] == [
        "| validation | 0.6 | 80.0 ±0.0 | 77.9 ±0.0 | 52.00 ±0.91 | 40.50 ±0.71 |",
        "| validation | 2 | 100.0 ±0.0 | 100.0 ±0.0 | 40.50 ±0.71 | 40.50 ±0.71 |",
        "| 2016 | 0.6 | 100.0 ±0.0 | 100.0 ±0.0 | 30.50 ±0.71 | 30.50 ±0.71 |",
        "| 2016 | 2 | 110.0 ±0.0 | 100.0 ±0.0 | 28.50 ±0.71 | 28.50 ±0.71 |",
        "| 2017 flickr | 0.6 | 80.0 ±0.0 | 77.9 ±0.0 | 26.32 ±0.91 | 20.50 ±0.71 |",
    ]
    assert quality_tables.parts_table([{"tests": {}}], 2.0) == []
    # Where validation chose the usual one, there is one row.
    assert len(quality_tables.parts_table([run(0)], 0.6)[4:-1]) == 3
    # Empty translations have no parts.
    assert quality_tables.bleu_parts({"bleu": 0.0, "length_ratio": 0.001}) == (0.0, 0.0)
    assert quality_tables.of_split({"tests": {}}, "valid", 2.0) is None


def test_only_the_same_length_penalties_are_averaged(tmp_path):
    def rows(*alphas):
        return [{"alpha": alpha, "bleu": 30 + alpha, "length_ratio": 1.0} for alpha in alphas]

    assert quality_tables.best_penalty([rows(0.6, 1.0), rows(1.0, 0.6)]) == 1.0
    with pytest.raises(SystemExit, match=r"different length penalties, \[0.6, 1.0, 2.0\] in"):
        quality_tables.best_penalty([rows(0.6, 1.0), rows(0.6, 2.0)])
    folder = write(tmp_path / "a")
    old = [{"alpha": 0.6, "bleu": 30.0, "length": 0.9}]
    (folder / "penalties.json").write_text(json.dumps(old), encoding="utf-8")
    with pytest.raises(SystemExit, match=r"lacks alpha, bleu or length_ratio; .* run it again"):
        quality.read_run(folder)


def test_translating_needs_runs(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["quality", "--length-penalty"])
    with pytest.raises(SystemExit):
        quality.main()
    assert "expected a RUN or more" in capsys.readouterr().err


def test_a_goal_is_held_against_each_length_penalty():
    def scored(mean):
        return {"bleu": {"mean": mean, "spread": 0.1}}

    tests = {"beam5-alpha2-tokenized": 41.3, "beam5-tokenized": 41.2, "greedy": 50.0}
    tests |= {"beam5-alpha2-tokenized-2017-flickr": 50.0, "beam5-alpha2": 50.0, "beam5": 50.0}
    group = {"preset": "transformer-tiny", "direction": "en-de", "lowercase": True}
    group["tests"] = {name: scored(mean) for name, mean in tests.items()}
    lines = quality_tables.goal_table([group])[4:-1]
    assert [line.split("|")[3].strip() for line in lines] == [
        "2016, beam of 5, tokenized",
        "2016, beam of 5, α = 2, tokenized",
    ]
    assert [line.split("|")[-2].strip() for line in lines] == ["missed by 0.10", "met"]


def test_the_same_run_twice_is_refused(tmp_path):
    runs = [quality.read_run(write(tmp_path / name)) for name in "ab"]
    with pytest.raises(SystemExit, match="have the same preset, direction, case and seed"):
        quality.merge([], runs)


def test_a_run_joins_the_others_or_takes_the_place_of_its_like(tmp_path):
    old = [quality.read_run(write(tmp_path / f"{s}", seed=s, bleu=30.0 + s)) for s in (1, 3)]
    new = [quality.read_run(write(tmp_path / f"new{s}", seed=s, bleu=40.0 + s)) for s in (2, 3)]
    merged = quality.merge(old, new)
    assert [run["seed"] for run in merged] == [1, 2, 3]
    assert [run["tests"]["greedy"]["bleu"] for run in merged] == [31.0, 42.0, 43.0]


def test_seeds_of_different_settings_are_not_averaged(tmp_path):
    runs = [quality.read_run(write(tmp_path / "a", seed=1))]
    runs.append(quality.read_run(write(tmp_path / "b", seed=2, lr=1e-3)))
    with pytest.raises(SystemExit, match=r"settings differ(.|\n)*--seed 2.*--set lr=0\.001"):
        quality.aggregate(runs)
    runs[1]["command"] = runs[0]["command"].replace("bf16", "fp32").replace("seed 1", "seed 2")
    assert quality.aggregate(runs)[0]["seeds"] == [1, 2]


def test_what_is_no_finished_run_is_refused(tmp_path):
    with pytest.raises(SystemExit, match=r"lacks config\.json, metrics\.jsonl, test\.json"):
        quality.read_run(tmp_path)


def test_the_page_has_a_table_of_seeds_the_log_and_the_command(tmp_path, monkeypatch, capsys):
    page, result = tmp_path / "page.md", tmp_path / "result.json"
    page.write_text(f"Before.\n\n{MARKS[0]}old\n{MARKS[1]}\n\nAfter.\n", encoding="utf-8")
    monkeypatch.setattr(quality, "PAGE", page)
    monkeypatch.setattr(quality, "RESULT", result)
    monkeypatch.setattr(quality, "ROOT", tmp_path)
    folders = [str(write(tmp_path / f"r{s}", seed=s, bleu=29.0 + s)) for s in (1, 2, 3)]
    call = ["quality", *folders, "--book", "--machine", "one H100"]
    monkeypatch.setattr("sys.argv", call)
    result.write_text('{"runs": []}', encoding="utf-8")
    quality.main()
    text = page.read_text(encoding="utf-8")
    assert text.startswith("Before.\n")
    assert text.endswith("After.\n")
    assert "old" not in text
    row = "| luong | de-en | 3 | 2016 | greedy | 31.00 ±\u00a01.00 | – | 51.00 ±\u00a01.00 |"
    assert row in text
    assert "| seed | 1 | 2 | 3 |" in text
    assert "| minutes | 3.8 | 3.8 | 3.8 |" in text
    assert "| 2016, greedy | 30.00 / – / 50.00 | 31.00 / – / 51.00 | 32.00 / – / 52.00 |" in text
    assert "| validation BLEU, greedy | 10.0 | 31.0 | 30.0 |" in text
    assert "--preset luong --seed 1 --precision bf16" in text
    assert f"`{SIGNATURE}`" in text
    assert "Trained on one H100. The commands:" in text
    stored = json.loads(result.read_text(encoding="utf-8"))
    assert len(stored["runs"]) == 3
    assert stored["groups"] == quality.aggregate(stored["runs"])
    assert "make execute" in capsys.readouterr().out
    quality.main()
    assert page.read_text(encoding="utf-8") == text
    fourth = str(write(tmp_path / "r4", seed=4))
    monkeypatch.setattr("sys.argv", ["quality", fourth, "--book", "--machine", "a laptop"])
    quality.main()
    text = page.read_text(encoding="utf-8")
    assert "| luong | de-en | 4 | 2016 | greedy |" in text
    assert "seeds 1, 2, 3 on one H100; seed 4 on a laptop" in text
    row = {"direction": "de-en", "lowercase": False, "split": "test", "sentences": 1000,
           "one_word_away": 13, "bleu": 8.1, "tokenized": 7.9}  # fmt: skip
    monkeypatch.setattr(quality, "copy_all", lambda groups: [row] * len(groups))
    monkeypatch.setattr("sys.argv", ["quality", "--copyist", "--book"])
    quality.main()
    monkeypatch.setattr("sys.argv", ["quality", fourth, "--book", "--anew"])
    quality.main()
    assert "| de-en | 2016 | 1,000 | 13 | 8.1 | 7.9 |" in page.read_text(encoding="utf-8")
    assert json.loads(result.read_text(encoding="utf-8"))["copyist"]["rows"] == [row]
    assert "| luong | de-en | 1 | 2016 | greedy |" in page.read_text(encoding="utf-8")


def test_a_trial_is_shown_by_its_validations_beside_the_presets(tmp_path, monkeypatch):
    page, result = tmp_path / "page.md", tmp_path / "result.json"
    page.write_text(f"{MARKS[0]}old\n{MARKS[1]}\n", encoding="utf-8")
    result.write_text('{"runs": []}', encoding="utf-8")
    for name, path in (("PAGE", page), ("RESULT", result), ("ROOT", tmp_path)):
        monkeypatch.setattr(quality, name, path)
    seeds = [str(write(tmp_path / f"r{s}", seed=s, bleu=29.0 + s)) for s in (1, 2)]
    trial = str(write(tmp_path / "trial", smoothing=0.2, bleu=33.0))
    for call in ([*seeds], [trial, "--tried"], [trial, "--tried"], []):
        monkeypatch.setattr("sys.argv", ["quality", *call, "--book"])
        quality.main()
    text = page.read_text(encoding="utf-8")
    assert (
        "| those of the tables | 1, 2 | 450 | 1 | bf16 | 31.0 to\u00a032.0 | 3.23 to\u00a03.33 |"
        in text
    )
    assert text.count("| smoothing 0.2 | 1 | 450 | 1 | bf16 | 34.0 | 3.03 |") == 1
    assert "--seed 1 --precision bf16 --set smoothing=0.2" in text
    assert "| luong | de-en | 2 | 2016 | greedy |" in text
    [stored] = json.loads(result.read_text(encoding="utf-8"))["tried"]
    assert stored["settings"] == {"smoothing": 0.2}
    # The page has no test of a trial beside its validations.
    assert [*stored["tests"]] == ["greedy"]
    assert "33.00" not in text


def test_a_trial_that_says_what_it_tried_is_shown_with_its_averages(tmp_path):
    folder = write(tmp_path / "a", seed=2, bleu=31.0)
    (folder / "test.json").unlink()  # a trial is not tested
    averages = [{"chosen": "last", "updates": [300, 450], "bleu": 33.04, "perplexity": 3.015}]
    told = {"settings": {"dropout of pieces": 0.1}, "command": "python -m benchmarks.trials"}
    (folder / "trial.json").write_text(json.dumps({**told, "averages": averages}))
    trial = quality.read_trial(folder)
    assert (trial["settings"], trial["command"]) == tuple(told.values())
    usual = quality.read_run(write(tmp_path / "usual", seed=2))
    lines = quality_tables.trial_table([usual], [trial])
    assert "| dropout of pieces 0.1 | 2 | 450 | 1 | fp32 | 32.0 | 3.23 |" in lines
    assert "| dropout of pieces 0.1 | 2 | last | 33.0 | 3.02 |" in lines
    assert told["command"] in lines


def test_without_the_book_a_trial_is_held_beside_its_runs_and_printed(
    tmp_path, monkeypatch, capsys
):
    result = tmp_path / "result.json"
    usual = quality.read_run(write(tmp_path / "usual"))
    result.write_text(json.dumps({"runs": [{**usual, "epochs": 4, "machine": None}]}))
    monkeypatch.setattr(quality, "RESULT", result)
    longer = str(write(tmp_path / "longer", epochs=3.0))
    monkeypatch.setattr("sys.argv", ["quality", longer, "--tried"])
    quality.main()
    assert "| epochs 1 | 1 | 450 | 1 | bf16 | 31.0 | 3.33 |" in capsys.readouterr().out


def test_a_run_that_is_collected_again_keeps_its_machine(tmp_path, monkeypatch):
    result = tmp_path / "result.json"
    folder = write(tmp_path / "a")
    run = quality.read_run(folder)
    result.write_text(json.dumps({"runs": [{**run, "machine": "a laptop"}]}))
    page = tmp_path / "page.md"
    page.write_text(f"{MARKS[0]}old\n{MARKS[1]}\n", encoding="utf-8")
    for name, path in (("PAGE", page), ("RESULT", result), ("ROOT", tmp_path)):
        monkeypatch.setattr(quality, name, path)
    monkeypatch.setattr("sys.argv", ["quality", str(folder), "--book"])
    quality.main()
    [again] = json.loads(result.read_text(encoding="utf-8"))["runs"]
    assert again["machine"] == "a laptop"


def test_a_trial_of_nothing_new_is_refused(tmp_path):
    usual = quality.read_run(write(tmp_path / "usual", seed=2))
    for runs in ([], [usual]):
        with pytest.raises(SystemExit, match="expected another setting than a preset's"):
            quality.read_trial(write(tmp_path / f"a{len(runs)}"), runs)


def test_a_trial_may_be_longer_or_have_another_size(tmp_path):
    usual = quality.read_run(write(tmp_path / "usual"))
    longer = quality.read_trial(write(tmp_path / "longer", epochs=3.0), [{**usual, "epochs": 4}])
    assert longer["settings"] == {"epochs": usual["epochs"]}
    assert " --epochs 3 " in longer["command"]

    folder = write(tmp_path / "wider", name="transformer-tiny")
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    config["model"] |= {"d_feedforward": 512, "dropout": 0.2}
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
    wider = quality.read_trial(folder)
    assert wider["preset"] == "transformer-tiny"
    assert wider["settings"] == {"dropout": 0.2, "d_feedforward": 512}
    assert "--set dropout=0.2 --set d_feedforward=512" in wider["command"]
    # A finished run of that size is none of the preset.
    assert quality.read_run(folder)["preset"] == "transformer, of other sizes"


def test_what_copying_gives_stands_beside(monkeypatch):
    sets = {
        "train": [
            TextPair("Ein Hund .", "A dog runs over the grass ."),
            TextPair("Eine Frau singt laut .", "A woman"),
        ],
        "test": [TextPair("Ein Mann .", "A DOG runs over the grass .")],
    }

    def read_split(corpus, split):
        assert corpus.languages == ("de", "en")
        pairs = sets.get(split, sets["test"])
        return [lower_case(pair) for pair in pairs] if corpus.lowercase else pairs

    languages = []
    scorer = quality.bleu_scorer
    monkeypatch.setattr(quality, "read_split", read_split)
    monkeypatch.setattr(
        quality, "bleu_scorer", lambda **how: languages.append(how["language"]) or scorer(**how)
    )
    groups = [{"direction": "de-en", "lowercase": folded} for folded in (False, True, True)]
    copied = quality.copy_all(groups)
    assert [(one["lowercase"], one["split"]) for one in copied] == [
        (folded, split) for folded in (False, True) for split in ("test", *quality.MORE_TESTS)
    ]
    cased, folded = copied[0], copied[3]
    assert (cased["sentences"], cased["one_word_away"]) == (1, 1)
    assert cased["bleu"] < folded["bleu"] == folded["tokenized"] == cased["tokenized"]
    assert set(languages) == {None, "en"}
    record = {"card": CARD, "rows": copied}
    lines = "\n".join(quality_tables.copyist_table(record, groups))
    assert f"| de-en, lower case | 2016 | 1 | 1 | {folded['bleu']:.1f} |" in lines
    assert f"Scored on {CARD['date']} by" in lines
    assert quality_tables.copyist_table(record, [{"direction": "en-de", "lowercase": True}]) == []
    assert quality_tables.copyist_table(None, groups) == []


def test_the_books_page_is_what_the_books_json_says():
    record = json.loads(quality.RESULT.read_text(encoding="utf-8"))
    text = quality.PAGE.read_text(encoding="utf-8")
    block = text.partition(MARKS[0])[2].partition(MARKS[1])[0]
    assert block.strip() == "\n".join(quality_tables.page_lines(record)).strip()


def test_the_readme_quotes_the_runs_of_the_file():
    groups = json.loads(quality.RESULT.read_text(encoding="utf-8"))["groups"]
    reached = {
        group["preset"]: group["tests"]["beam5"]
        for group in groups
        if group["direction"] == "de-en" and not group["lowercase"]
    }
    readme = (quality.ROOT / "README.md").read_text(encoding="utf-8")
    told = []
    for preset in ("bahdanau", "transformer-tiny"):
        mean = f"{reached[preset]['bleu']['mean']:.2f}"
        assert f" {mean}" in readme
        told.append(mean)
    seeds = [len(reached[preset]["seeds"]) for preset in ("bahdanau", "transformer-tiny")]
    assert seeds == [4, 3]
    assert "{} is the mean of four seeds, {} of three ".format(*told) in " ".join(readme.split())
    assert "such trainings took from under one hour to almost four." in " ".join(readme.split())
    hours = [
        run["minutes"] / 60
        for run in json.loads(quality.RESULT.read_text(encoding="utf-8"))["runs"]
        if run["direction"] == "de-en" and "CPU" in run["machine"]
    ]
    assert 0.7 < min(hours) < 1 < 3.5 < max(hours) < 4
    [gpu] = measured("gpu")["parts"]["quality"]["rows"]
    assert f"took {gpu['run']['minutes']} minutes" in readme
    assert f"came to {gpu['run']['tests']['beam5']['bleu']:.2f} " in readme


TO_GERMAN = "transformer-tiny", "en-de", True  # of which the page tells the most


def the_page():
    return " ".join(quality.PAGE.read_text(encoding="utf-8").split())


def best(run):
    return max(point["bleu"] for point in run["log"])


def of_kind(name, kind=TO_GERMAN):
    record = json.loads(quality.RESULT.read_text(encoding="utf-8"))
    return [one for one in record[name] if quality.kind_of(one) == kind]


def test_the_page_says_which_goals_are_met():
    page = the_page()
    off = {}
    for *kind, test, goal in quality_tables.GOALS:
        [group] = of_kind("groups", tuple(kind))
        bleu = group["tests"][test]["bleu"]
        off[tuple(kind)] = (goal - bleu["mean"]) / bleu["spread"] * len(bleu["values"]) ** 0.5
    [met] = [kind for kind, gap in off.items() if gap <= 0]
    assert met == ("transformer-tiny", "de-en", False)
    assert "With α = 0.6, `transformer-tiny` de-en met its goal, and the other three missed" in page
    close = [abs(gap) for kind, gap in off.items() if kind != TO_GERMAN]
    told = "gaps of `bahdanau` and `bahdanau-tied`, are "
    assert f"{told}{min(close):.1f} to {max(close):.1f} times the ± of the mean" in page
    assert off[TO_GERMAN] > 3
    [group] = of_kind("groups")
    [*_, goal] = next(row for row in quality_tables.GOALS if row[:3] == TO_GERMAN)
    gap = goal - group["tests"]["beam5-tokenized"]["bleu"]["mean"]
    assert f"For `transformer-tiny` en-de the gap is {gap:.2f}, more than three times that" in page


def test_the_page_names_the_training_that_is_not_in_the_mean():
    [gpu] = measured("gpu")["parts"]["quality"]["rows"]
    more = gpu["run"]["tests"]["beam5"]["bleu"]
    assert (gpu["run"]["preset"], gpu["run"]["seed"]) == ("transformer-tiny", 1)
    [group] = of_kind("groups", ("transformer-tiny", gpu["run"]["direction"], False))
    mean = statistics.mean([more, *group["tests"]["beam5"]["bleu"]["values"]])
    assert f"Its {more:.2f} is not in the mean; with it the mean would be {mean:.2f}." in the_page()


def test_the_page_says_which_length_penalty_was_chosen():
    page = the_page()
    [group] = of_kind("groups")
    runs = of_kind("runs")
    assert len(runs) == 3
    assert {len(test["seeds"]) for test in group["tests"].values()} == {3}
    tried = quality_tables.by_penalty([run["penalties"] for run in runs])
    assert len(tried) == 7
    assert "So seven values were tried on validation, with each of the three trainings" in page

    def mean(alpha, what):
        return statistics.mean(row[what] for row in tried[alpha])

    chosen = quality_tables.best_penalty([run["penalties"] for run in runs])
    assert f"The mean over the seeds is highest at α = {chosen:g}." in page
    pairs = zip(tried[chosen], tried[0.6], strict=True)
    one, two, three = (f"{after['bleu'] - before['bleu']:.2f}" for after, before in pairs)
    assert f"it is above that of 0.6 by {one}, {two} and {three} in the three seeds" in page
    second = mean(chosen, "bleu") - mean(1.5, "bleu")
    assert second == min(mean(chosen, "bleu") - mean(a, "bleu") for a in tried if a != chosen)
    assert f"and above that of 1.5 by {second:.2f} in the mean" in page
    assert f"are {mean(0.6, 'length_ratio'):.1%} as long as the references" in page
    [larger] = [alpha for alpha in tried if alpha > chosen]
    assert mean(larger, "length_ratio") > 1
    assert f"At {larger:g}, the only larger value tried, BLEU is lower and the trans" in page
    tests = {name: test["bleu"] for name, test in group["tests"].items()}
    for name, before in (("", ""), ("-tokenized", "*BLEU, tokenized* ")):
        usual, tuned = tests[f"beam5{name}"], tests[f"beam5-alpha{chosen:g}{name}"]
        assert f"{before}from {usual['mean']:.2f} to {tuned['mean']:.2f}" in page
    fell = quality.spread(
        run["tests"]["beam5-tokenized"]["bleu"]
        - run["tests"][f"beam5-alpha{chosen:g}-tokenized"]["bleu"]
        for run in runs
    )
    [goal] = [goal for *kind, _, goal in quality_tables.GOALS if tuple(kind) == TO_GERMAN]
    told = f"by {fell['mean']:.2f} ± {fell['spread']:.2f} seed by seed, to "
    assert f"{told}{goal - tuned['mean']:.2f} below the goal" in page
    both = [
        (group["tests"][name], group["tests"][name.replace(f"-alpha{chosen:g}", "")])
        for name in tests
        if "alpha" in name
    ]
    assert len(both) == 6
    for harmed, before in both:
        pairs = zip(harmed["bleu"]["values"], before["bleu"]["values"], strict=True)
        assert all(after < first for after, first in pairs)
        pairs = zip(harmed["chrf"]["values"], before["chrf"]["values"], strict=True)
        assert all(after > first for after, first in pairs)
    assert "With 2, BLEU is lower for each seed and on each set" in page
    assert "more than what is too much, is higher for each seed and on each set" in page
    ours = statistics.mean(run["tests"]["beam5-tokenized"]["length_ratio"] for run in runs)
    assert f"ours, with α = 0.6, have {ours:.1%}, in tokens of that kind." in page


def test_the_page_says_what_the_chosen_length_penalty_did_to_the_parts_of_bleu():
    page = the_page()
    runs = of_kind("runs")
    chosen = quality_tables.best_penalty([run["penalties"] for run in runs])
    rows = [line.split("|")[1:-1] for line in quality_tables.parts_table(runs, chosen)[4:-1]]
    splits = "test", *quality.MORE_TESTS
    sets = ["validation", *map(quality_tables.name_set, splits)]
    assert [row[0].strip() for row in rows] == [name for name in sets for _ in range(2)]
    gap, added, rose, fell, lost = [], [], [], [], []
    for split in ("valid", *splits):
        usual, longer = (
            [quality_tables.of_split(run, split, alpha) for run in runs] for alpha in (0.6, chosen)
        )
        before, after = (
            [statistics.mean(part) for part in zip(*map(quality_tables.bleu_parts, same))]
            for same in (usual, longer)
        )
        lengths = [statistics.mean(one["length_ratio"] for one in same) for same in (usual, longer)]
        gap.append(1 - lengths[0])
        pairs = list(zip(usual, longer, strict=True))
        added.append([two["length_ratio"] / one["length_ratio"] - 1 for one, two in pairs])
        parts = [[quality_tables.bleu_parts(one)[1] for one in pair] for pair in pairs]
        lost.append([1 - high / low for low, high in parts])
        rose.append(after[0] / before[0] - 1)
        fell.append(1 - after[1] / before[1])
    told = f"On validation, by the means, the factor rose by {rose[0]:.1%}, and the precision fell "
    assert f"{told}by only {fell[0]:.1%}." in page
    assert max(gap[1:]) < gap[0]
    told = (
        f"the factor could rise by only {min(rose[1:]):.1%} to {max(rose[1:]):.1%}; length beyond"
    )
    assert told in page
    tests = [one for some in added[1:] for one in some]
    told = f"added more length, seed by seed {min(tests):.1%} to {max(tests):.1%} in place of "
    assert f"{told}{min(added[0]):.1%} to {max(added[0]):.1%}." in page
    assert min(tests) > max(added[0])
    told = f"also cost more precision, {min(fell[1:]):.1%} to {max(fell[1:]):.1%}, but a seed"
    assert told in page
    assert min(fell[1:]) > fell[0]
    assert min(lost[1]) < max(lost[0])
    assert min(lost[2] + lost[3]) > max(lost[0])


def test_the_page_says_what_came_of_the_trials():
    page = the_page()
    trials = of_kind("tried")
    usual, (smoothing, pieces, rdrop, dropout) = trials[:3], trials[3:]
    assert [run["settings"] for run in usual] == [{"epochs": 40}] * 3
    assert {run["seed"] for run in usual} == {1, 2, 3}
    for run in usual:
        assert "--precision bf16" in run["command"]
    theirs, last = [*map(best, usual)], [run["log"][-1]["perplexity"] for run in usual]
    assert "with three seeds that had 40 of the preset's 60 epochs, in bfloat16" in page

    assert (smoothing["settings"], smoothing["seed"]) == ({"smoothing": 0.2}, 1)
    assert read_preset(smoothing["preset"]).training.smoothing == 0.1
    assert {run["updates"] for run in usual} == {smoothing["updates"], pieces["updates"]}
    assert 0 < min(theirs) - best(smoothing) < 0.5
    assert smoothing["log"][-1]["perplexity"] > max(last)
    told = "its best validation is a little below those of all three seeds with 0.1. Its perp"
    assert told in page

    assert (pieces["settings"], pieces["seed"]) == ({"dropout of pieces": 0.1}, 1)
    assert pieces["epochs"] < min(run["epochs"] for run in usual)
    assert 3 < min(theirs) - best(pieces) < 4
    assert pieces["log"][-1]["perplexity"] > max(last)
    assert "its best validation is more than three points of BLEU below those of all three" in page
    by_bleu, by_perplexity, _ = pieces["averages"]
    assert by_bleu["updates"] == by_perplexity["updates"]
    assert "were also those with the lowest perplexity" in page

    assert (rdrop["settings"], rdrop["seed"]) == ({"R-Drop": 5.0}, 1)
    assert {run["epochs"] for run in usual} == {40}
    assert rdrop["epochs"] == 30
    assert "it trained for 30 epochs instead of 40" in page
    below = [one - best(rdrop) for one in theirs]
    told = (
        f"best validation is about {min(below):.0f} to {max(below):.1f} points of BLEU below those"
    )
    assert told in page
    assert rdrop["log"][-1]["perplexity"] > max(last)
    assert len({tuple(one["updates"]) for one in rdrop["averages"]}) == 1
    assert "(With R-Drop these ten were also the last. " in page
    # Trials of benchmarks/trials.py take the preset's precision.
    assert not read_preset(rdrop["preset"]).training.bf16
    assert "--precision fp32" in smoothing["command"]
    assert "What was tried computed in 32 bits" in page

    assert (dropout["settings"], dropout["seed"]) == ({"dropout": 0.2}, 1)
    assert read_preset(dropout["preset"]).model.dropout == 0.3
    assert dropout["epochs"] == 40
    assert min(theirs) < best(dropout) < max(theirs)
    told = f"its best validation, {best(dropout):.1f}, is within the range of the three seeds with"
    assert told in page
    end = dropout["log"][-1]["perplexity"]
    assert end > max(last)
    told = f"perplexity, {end:.2f}, is above all three, {min(last):.2f} to {max(last):.2f}."
    assert told in page

    longer = of_kind("runs")
    assert min(run["minutes"] for run in longer) > 120
    assert {(run["epochs"], "--precision fp32" in run["command"]) for run in longer} == {(60, True)}
    assert read_preset(longer[0]["preset"]).training.epochs == 60
    assert "**A longer training**: 60 epochs in place of 40, with three seeds." in page
    ours = [*map(best, longer)]
    assert min(ours) > max(theirs)
    told = f"validation BLEU are apart, {min(ours):.1f} to {max(ours):.1f} against "
    assert f"{told}{min(theirs):.1f} to {max(theirs):.1f}" in page
    lower = [run["log"][-1]["perplexity"] for run in longer]
    assert max(lower) < min(last)
    assert f"{min(lower):.2f} to {max(lower):.2f}, is below all three with 40 epochs" in page
    ours, theirs = (
        [run["tests"]["beam5-tokenized"]["bleu"] for run in every] for every in (longer, usual)
    )
    told = f"60 epochs have {min(ours):.2f} to {max(ours):.2f}, and 40 have {min(theirs):.2f} to "
    assert told + f"{max(theirs):.2f}" in page
    name = "beam5-tokenized-2017-flickr"
    ours = [run["tests"][name]["bleu"] for run in longer]
    theirs = [run["tests"][name]["bleu"] for run in usual if name in run["tests"]]
    low, high = sorted(theirs)
    assert high < min(ours)
    told = f"({min(ours):.2f} to {max(ours):.2f}, and {low:.2f} and {high:.2f})"
    assert f"On 2017 flickr they do not {told}" in page
    name = "beam5-2017-mscoco"
    ours = [run["tests"][name]["bleu"] for run in longer]
    low, high = sorted(run["tests"][name]["bleu"] for run in usual if name in run["tests"])
    assert min(ours) < high
    told = f"({min(ours):.2f} to {max(ours):.2f}, and {low:.2f} and {high:.2f} of two seeds)"
    assert f"On 2017 mscoco they overlap, too {told}" in page
