"""Time to quality: who learns what, when a training ends, and what is read from its curve."""

import io
import json
import sys
from dataclasses import replace
from pathlib import Path

import matplotlib
import pytest

from benchmarks import reach, reach_tables
from benchmarks.learner import learn_and_show
from benchmarks.study import Study
from seqattn.data import TextPair, Vocabularies, measured
from seqattn.training import read_preset

ROOT = Path(reach.__file__).resolve().parents[1]
# Stands in for JoeyNMT: learns nothing, and writes the references of some, then of all sentences.
STAND_IN = """
import json, sys
sys.path.insert(0, {folder!r})
from learner import learn_and_show
task = json.load(open(sys.argv[-1]))
right = [target for _, target in task["examples"][task["known"]:]]
shown = iter([[[5, 2]] * len(right), right[:4] + [[5, 2]] * (len(right) - 4), right])
learn_and_show(task, lambda rows, lr: len(rows), lambda: next(shown), "a stand-in")
"""
WORDS = ["a", "man", "on", "the", "bench", "reads", "his", "old", "paper", "in", "this", "park"]
SMALL = reach.Limits(tokens=64, every=8, epochs=3, minutes=1.0, threads=1, widths=(8, 12))


@pytest.fixture(autouse=True)
def own_style():
    """What is drawn sets the style, which is not to hold for other tests."""
    with matplotlib.rc_context():
        yield


def stand_in():
    code = STAND_IN.format(folder=str(ROOT / "benchmarks"))
    return [sys.executable, "-S", "-c", code]


@pytest.fixture(scope="module")
def material():
    def pairs(lengths):
        return [TextPair(" ".join(WORDS[:n][::-1]), " ".join(WORDS[:n])) for n in lengths]

    known = pairs([5, 6, 7, 8, 9, 10, 11, 12] * 2)
    return reach.Material(known, pairs(range(5, 13)), Vocabularies.learn(known, ("de", "en")))


@pytest.fixture
def measurement(tmp_path):
    return reach.Measurement(Study("reach", tmp_path / "work", tmp_path / "reach.json"), SMALL)


def cell(contestant, *points, seed=0, end="reached", machine="this", about="PyTorch 2", **settings):
    """A cell whose points are (seconds of training, of validating, BLEU)."""
    keys = "training", "validating", "bleu"
    return {
        "contestant": contestant,
        "seed": seed,
        "settings": settings,
        "end": end,
        "about": about,
        "machine": machine,
        "boot": machine,
        "date": "2026-01-01",
        "points": [
            {"updates": i, "tokens": 1000 * i, **dict(zip(keys, point, strict=True))}
            for i, point in enumerate(points, start=1)
        ],
    }


# --- what is learned -----------------------------------------------------------------------------


def test_contestants_of_equal_batches_get_the_same_in_the_same_order(material):
    tasks = {
        key: reach.make_task(material, contestant, 3, SMALL)
        for key, contestant in reach.CONTESTANTS.items()
    }
    ours, joey, own = (tasks[key] for key in ("ours-fp32", "joeynmt", "joeynmt-own"))
    for name in ("schedule", "sizes", "examples", "1", "every"):
        assert ours[name] == joey[name] == tasks["ours-bf16"][name]
    shape = [[lr / max(task["lr"]) for lr in task["lr"]] for task in (ours, joey)]
    assert shape[0] == pytest.approx(shape[1])
    assert set(own["lr"]) == {reach.CONTESTANTS["joeynmt-own"].peak}
    assert ours["schedule"] != reach.make_task(
        material, reach.CONTESTANTS["ours-fp32"], 4, SMALL
    )["schedule"]  # fmt: skip


def test_nobody_learns_from_what_is_translated(material):
    known = len(material.known)
    for contestant in reach.CONTESTANTS.values():
        task = reach.make_task(material, contestant, 0, SMALL)
        learned = [row for rows in task["schedule"] for row in rows]
        assert sorted(learned) == sorted(3 * list(range(known)))
        shown = [row for rows in task["1"] for row in rows]
        assert sorted(shown) == list(range(known, known + len(material.unseen)))


def test_joeynmts_own_rate_is_not_lowered_before_its_training_ends():
    own = reach.CONTESTANTS["joeynmt-own"]
    assert own.sentences is not None
    assert 9 * 2000 * own.sentences > reach.Limits().epochs * 29_000


@pytest.mark.parametrize("bf16", [False, True])
def test_one_of_ours_shows_what_it_can_until_it_is_told_to_stop(
    material, monkeypatch, capsys, bf16
):
    task = json.loads(json.dumps(reach.make_task(
        material, replace(reach.CONTESTANTS["ours-fp32"], peak=0.02, warmup=5), 0,
        SMALL._replace(epochs=60, every=900),
    )))  # fmt: skip
    monkeypatch.setattr("sys.stdin", io.StringIO("on\non\nstop\n"))
    reach.learn(task, bf16)
    ready, *lines = capsys.readouterr().out.splitlines()
    assert ready.startswith("ready: PyTorch")
    shown = [json.loads(line) for line in lines]
    assert len(shown) == 3
    assert [point["tokens"] // 900 for point in shown] == [1, 2, 3]
    for name in ("updates", "training", "validating"):
        assert shown[0][name] < shown[1][name] < shown[2][name]
    assert material.judge(shown[-1]["answers"]) > material.judge(shown[0]["answers"])


def test_the_end_of_the_batches_is_shown_as_well(monkeypatch, capsys):
    monkeypatch.setattr("sys.stdin", io.StringIO("on\non\n"))
    task = {"schedule": [[0], [1], [2]], "lr": [1.0, 2.0, 3.0], "every": 4}
    rates = []
    learn_and_show(task, lambda rows, lr: rates.append(lr) or 2, lambda: [[5]], "me")
    shown = [json.loads(line) for line in capsys.readouterr().out.splitlines()[1:]]
    assert [(point["updates"], point["tokens"]) for point in shown] == [(2, 4), (3, 6)]
    assert rates == task["lr"]


# --- when it ends, and what is kept --------------------------------------------------------------


def test_a_training_ends_with_the_goal_and_is_not_repeated(material, measurement, capsys):
    joey = reach.CONTESTANTS["joeynmt"]
    found = measurement.run("joeynmt", joey, 0, stand_in(), material)
    assert found["end"] == "reached"
    assert found["about"] == "a stand-in"
    scores = [point["bleu"] for point in found["points"]]
    assert scores == sorted(scores)
    assert scores[-2] < reach.MARKS[-1] <= scores[-1] == 100
    assert measurement.run("joeynmt", joey, 0, ["no such program"], material) == found
    assert [path.name for path in measurement.study.work.iterdir()] == ["joeynmt-0.json"]


@pytest.mark.parametrize(
    ("goal", "minutes", "end"), [(101, 1.0, "epochs are over"), (101, 0.0, "time is over")]
)
def test_a_training_without_the_goal_says_what_ended_it(tmp_path, material, goal, minutes, end):
    limits = SMALL._replace(every=16, epochs=2, minutes=minutes)
    task = tmp_path / "task.json"
    task.write_text(json.dumps(reach.make_task(material, reach.CONTESTANTS["joeynmt"], 0, limits)))
    states = []
    found = reach.follow(
        [*stand_in(), str(task)], material.judge, limits, lambda now: states.append(now["end"]),
        goal=goal,
    )  # fmt: skip
    assert found["end"] == end
    assert len(found["points"]) == len(states) == (1 if minutes == 0 else 2)


def test_what_is_cut_short_leaves_its_points_and_begins_anew(material, measurement):
    joey = reach.CONTESTANTS["joeynmt"]
    broken = stand_in()
    broken[-1] = broken[-1].replace("right[:4] + [[5, 2]] * (len(right) - 4)", "None")
    with pytest.raises(TypeError):
        measurement.run("joeynmt", joey, 0, broken, material)
    (cut,) = measurement.collect(reach.CONTESTANTS)
    assert (cut["end"], len(cut["points"])) == ("cut", 1)
    measurement.run("joeynmt", joey, 0, stand_in(), material)
    (found,) = measurement.collect(reach.CONTESTANTS)
    assert (found["end"], len(found["points"])) == ("reached", 3)


def test_who_fails_is_named(material, measurement):
    joey = reach.CONTESTANTS["joeynmt"]
    with pytest.raises(SystemExit, match="did not start"):
        measurement.run("joeynmt", joey, 0, [sys.executable, "-S", "-c", ""], material)
    code = stand_in()
    code[-1] = (
        code[-1].replace("right])", "])").replace("next(shown)", "next(shown, 0) or sys.exit(7)")
    )
    with pytest.raises(SystemExit, match="ended with 7"):
        measurement.run("joeynmt", joey, 0, code, material)
    assert not list(measurement.study.work.glob("*.json"))


def test_what_is_stored_stays_and_what_was_cut_does_not_replace_it(measurement):
    settings = {key: measurement.settings(c) for key, c in reach.CONTESTANTS.items()}
    whole = cell("joeynmt", (1.0, 0.1, 31.0), seed=1, **settings["joeynmt"])
    other = cell("ours-fp32", (1.0, 0.1, 31.0), seed=0, **settings["ours-fp32"])
    measurement.study.write({"cells": [whole, other]})
    measurement.study.work.mkdir()
    cut = cell("joeynmt", (2.0, 0.2, 9.0), seed=1, end="cut", **settings["joeynmt"])
    measurement.cut("joeynmt", 1).write_text(json.dumps(cut))
    anew = cell("ours-fp32", (3.0, 0.1, 32.0), seed=0, **settings["ours-fp32"])
    (measurement.study.work / "ours-fp32-0.json").write_text(json.dumps(anew))
    assert measurement.collect(reach.CONTESTANTS) == [anew, whole]


def test_of_two_that_did_not_end_by_themselves_the_one_that_came_further_is_kept(measurement):
    joey = measurement.settings(reach.CONTESTANTS["joeynmt"])
    far = cell("joeynmt", (1.0, 0.1, 5.0), (2.0, 0.2, 9.0), end="cut", **joey)
    near = cell("joeynmt", (1.5, 0.1, 5.0), end="cut", **joey)
    short = cell("joeynmt", (1.5, 0.1, 5.0), end="time is over", **joey)
    measurement.study.write({"cells": [far]})
    measurement.study.work.mkdir()
    for other, kept in ((near, far), (short, far)):
        measurement.cut("joeynmt", 0).write_text(json.dumps(other))
        assert measurement.collect(reach.CONTESTANTS) == [kept]
    measurement.study.write({"cells": [near]})
    measurement.cut("joeynmt", 0).write_text(json.dumps(far))
    assert measurement.collect(reach.CONTESTANTS) == [far]


def test_a_training_that_begins_anew_leaves_what_had_come_further(material, measurement):
    joey = reach.CONTESTANTS["joeynmt"]
    far = cell("joeynmt", (9.0, 0.1, 5.0), end="cut", **measurement.settings(joey))
    far["points"][0]["tokens"] = 10**6
    measurement.study.work.mkdir()
    measurement.cut("joeynmt", 0).write_text(json.dumps(far))
    broken = stand_in()
    broken[-1] = broken[-1].replace("right[:4] + [[5, 2]] * (len(right) - 4)", "None")
    with pytest.raises(TypeError):
        measurement.run("joeynmt", joey, 0, broken, material)
    assert measurement.collect(reach.CONTESTANTS) == [far]


def test_what_was_measured_in_another_way_is_refused(measurement):
    settings = measurement.settings(reach.CONTESTANTS["joeynmt"])
    measurement.study.write({"cells": [cell("joeynmt", **{**settings, "peak": 9.0})]})
    with pytest.raises(SystemExit, match=r"measured with \{'peak': 9\.0\}"):
        measurement.collect(reach.CONTESTANTS)


# --- reading curves ------------------------------------------------------------------------------

CURVE = cell(
    "ours-fp32", (10.0, 1.0, 12.0), (20.0, 2.0, 24.0), (30.0, 3.0, 22.0), (40.0, 4.0, 26.0)
)


def test_what_a_mark_takes_is_counted_to_the_first_validation_that_has_it():
    assert [reach_tables.spent(CURVE, mark) for mark in (12, 20, 25, 30)] == [
        11.0,
        22.0,
        44.0,
        None,
    ]
    assert reach_tables.spent(CURVE, 20, reach_tables.TRAINING) == 20.0
    assert reach_tables.spent(CURVE, 20, reach_tables.thousands) == 2


def test_bleu_by_a_time_is_the_last_that_was_seen():
    assert [reach_tables.bleu_by(CURVE, s) for s in (10, 11, 32, 33, 44, 45)] == [
        None, 12.0, 24.0, 22.0, 26.0, None,
    ]  # fmt: skip


def test_a_mean_tells_its_range_and_of_how_many_seeds_it_is():
    told = [reach_tables.told_mean(values, 900.0).replace("\u00a0", " ") for values in (
        [500.0], [500.0, 700.0], [500.0, None, 600.0], [None, None],
    )]  # fmt: skip
    assert told == ["500", "600 (500 to 700)", "550 (500 to 600), 2 of 3 seeds", "not in 900"]


def test_who_did_not_get_there_took_at_least_so_many_times_as_long():
    slow = cell("joeynmt", (50.0, 5.0, 12.0), (110.0, 22.0, 21.0), end="time is over")
    ratios = [reach_tables.told_ratio(CURVE, slow, mark) for mark in (20, 25, 30)]
    assert ratios == ["6.00", "above\u00a03.00", "–"]
    assert reach_tables.told_ratio(CURVE, slow, 20, reach_tables.TRAINING) == "5.50"
    assert reach_tables.told_ratio(CURVE, slow, 20, reach_tables.thousands) == "1.00"
    assert reach_tables.told_ratio(slow, CURVE, 25) == "below\u00a00.33"
    assert reach_tables.told_ratio(slow, CURVE, 25, reach_tables.per_token) == "0.18"


def test_the_page_compares_within_a_seed_and_a_machine_and_says_who_ended_early():
    cells = [
        CURVE,
        cell("ours-fp32", (30.0, 3.0, 31.0), seed=1),
        cell("ours-fp32", (30.0, 3.0, 31.0), seed=2),
        cell("joeynmt", (100.0, 10.0, 21.0), (120.0, 12.0, 25.0), end="cut"),
        cell("joeynmt", (150.0, 15.0, 31.0), seed=1),
        cell("joeynmt", (150.0, 15.0, 31.0), seed=2, machine="another"),
        cell("ours-bf16", (30.0, 3.0, 31.0), about="PyTorch 1"),
    ]
    text = "\n".join(reach_tables.page_lines(cells, reach.CONTESTANTS)).replace("\u00a0", " ")
    row = "| 3 | 29 (22 to 33) | 37 (33 to 44) | 33 (33 to 33), 2 of 3 seeds |"
    assert f"| ours, fp32, machine 1 {row}" in text
    assert "| JoeyNMT, machine 1 | 2 |" in text
    assert "| JoeyNMT, machine 2 | 1 | 165 | 165 | 165 |" in text, "two machines have a mean"
    assert "| ours, fp32, machine 1 | JoeyNMT | 0, 1 | 5.00, 5.00 | 3.00, 5.00 | –, 5.00 |" in text
    time, tokens, pace = "3.00, 5.00", "0.50, 1.00", "6.00, 5.00"
    assert f"| ours, fp32, machine 1 | JoeyNMT | 4.00 | {time} | {tokens} | {pace} |" in text
    assert "| ours, bf16, machine 1 | JoeyNMT |" not in text, "two PyTorches are compared"
    assert "- JoeyNMT, seed 0: cut short after 132 s, best BLEU 25.00" in text
    assert "- ours, fp32, seed 0: reached" not in text
    assert "ours, fp32 (seeds 0, 1, 2), JoeyNMT (seeds 0, 1): machine 1, this" in text
    assert "JoeyNMT (seed 2): machine 2, another" in text


def test_the_figure_has_each_training_once_and_names_each_contestant_once():
    cells = [
        CURVE,
        cell("ours-fp32", (30.0, 3.0, 31.0), seed=1),
        cell("joeynmt", (120.0, 12.0, 26.0), seed=1, machine="another"),
    ]
    figure = reach_tables.draw_curves(cells, reach.CONTESTANTS, 25)
    here, there = (
        [line for line in panel.lines if line.get_label() != "_mark"] for panel in figure.axes
    )
    assert [line.get_label() for line in here] == ["ours, fp32", "_1"]
    assert here[0].get_xdata().tolist() == [seconds / 60 for seconds in (11, 22, 33, 44)]
    assert here[0].get_ydata().tolist() == [12, 24, 22, 26]
    assert [(line.get_label(), line.get_color()) for line in there] == [
        ("JoeyNMT", reach_tables.COLOURS["joeynmt"])
    ]
    assert set(reach_tables.COLOURS) == set(reach.CONTESTANTS)


def test_the_books_page_says_what_its_file_says():
    stored = measured("reach")
    tried = {name: contestant for name, (_, contestant) in reach.TRIALS.items()}
    lines = reach_tables.page_lines(stored["cells"], reach.CONTESTANTS, stored["trials"], tried)
    block = reach.PAGE.read_text(encoding="utf-8").partition("<!-- begin reach -->\n")[2]
    picture = f"![{reach.ALT}]({reach.PAGE.stem}.svg)"
    assert block.partition("\n<!-- end reach -->")[0].splitlines() == [picture, "", *lines]
    drawn = reach.PAGE.with_suffix(".svg").read_text(encoding="utf-8")
    for contestant in reach.CONTESTANTS.values():
        assert f"{contestant.name}</text>" in drawn


def test_machines_are_numbered_only_where_there_are_several():
    text = "\n".join(reach_tables.page_lines([CURVE], reach.CONTESTANTS))
    assert "| ours, fp32 | 1 |" in text
    assert "machine 1" not in text


def test_trials_differ_from_what_was_chosen_in_one_thing_and_show_their_curves():
    for key, trial in reach.TRIALS.values():
        mine, chosen = (reach.asdict(c) for c in (trial, reach.CONTESTANTS[key]))
        assert sum(mine[name] != chosen[name] for name in mine) <= 1
    tried = {name: contestant for name, (_, contestant) in reach.TRIALS.items()}
    cells = [
        cell("joeynmt-a-tenth-of-the-spread", (1.0, 0.1, 2.0), (2.0, 0.2, 5.25), seed=100),
        cell("ours-bf16-twice-the-peak", (1.0, 0.1, 3.0), (2.0, 0.2, 7.0), (3.0, 0.3, 9.0)),
    ]
    text = "\n".join(reach_tables.trial_lines(cells, tried))
    assert "| JoeyNMT | 0.002 | 0.1 | 5.2 |" in text
    assert "| ours, bf16 | 0.004 | 0.1 | 7.0 |" in text
    assert "from seed 100" in text
    assert reach_tables.trial_lines([], tried) == []


def test_a_trial_ends_with_its_tokens(tmp_path, material, measurement):
    trials = measurement.of_trials()
    trials.limits = trials.limits._replace(most=16)
    joey = reach.CONTESTANTS["joeynmt"]
    found = trials.run("joeynmt-chosen", joey, 100, stand_in(), material)
    assert found["end"] == "tokens are over"
    assert trials.study.work.name == "trials"
    assert measurement.collect(reach.CONTESTANTS) == []
    assert trials.collect({"joeynmt-chosen": joey}) == [found]


def test_the_page_would_say_how_to_measure_what_has_not_been():
    (line,) = reach_tables.page_lines([], reach.CONTESTANTS)
    assert line.startswith("Not measured yet")
    assert reach_tables.HOW in line


def test_the_book_gets_what_the_work_folder_holds(tmp_path, monkeypatch, capsys):
    page, work, result = tmp_path / "page.md", tmp_path / "work", tmp_path / "reach.json"
    page.write_text("before\n<!-- begin reach -->\n<!-- end reach -->\nafter\n")
    monkeypatch.setattr(reach, "PAGE", page)
    monkeypatch.setattr("sys.argv", [
        "reach", "--book", "--work", str(work), "--result", str(result)
    ])  # fmt: skip
    with pytest.raises(SystemExit, match="nothing has been measured"):
        reach.main()
    work.mkdir()
    settings = reach.Measurement(Study("reach", work, result), reach.Limits()).settings(
        reach.CONTESTANTS["ours-bf16"]
    )
    (work / "ours-bf16-0.json").write_text(
        json.dumps(cell("ours-bf16", (60.0, 3.0, 31.0), **settings))
    )
    reach.main()
    text = page.read_text(encoding="utf-8")
    assert "| ours, bf16 | 1 | 60 | 60 | 60 | 17 |" in text
    assert "](page.svg)\n" in text
    assert "ours, bf16</text>" in (tmp_path / "page.svg").read_text(encoding="utf-8")
    assert json.loads(result.read_text())["cells"][0]["points"][0]["bleu"] == 31.0


def test_joeynmt_is_asked_for_by_its_python(capsys):
    with pytest.raises(SystemExit):
        reach.read_arguments(["--only", "joeynmt"])
    assert "needs --joeynmt PYTHON" in capsys.readouterr().err


def test_what_the_page_says_of_the_goals_holds():
    page = reach.PAGE.read_text(encoding="utf-8")
    said = " ".join(page.split())
    assert "In 32 bits the goal is not met." in said
    assert "Nor is it met in bfloat16." in said
    assert "two of three seeds meet it on machine 1, and the one on machine 2 does not." in said
    found = {(cell["contestant"], cell["seed"]): cell for cell in measured("reach")["cells"]}
    assert "machine 2 it is less, as the tokens/s of our own rows show" in page
    gained = [
        reach_tables.pace(found["ours-bf16", seed]["points"][-1])
        / reach_tables.pace(found["ours-fp32", seed]["points"][-1])
        for seed in range(6)
    ]
    assert min(gained[:3]) > max(gained[3:]) + 0.3 > 1.3
    assert "no BLEU of its trainings had reached 6" in said
    assert [key for key in found if key[0] == "joeynmt-own"] == [
        ("joeynmt-own", seed) for seed in (3, 4, 5)
    ]
    machine = {found[key, seed]["boot"] for key in ("ours-fp32", "ours-bf16", "joeynmt-own")
               for seed in (3, 4, 5)}  # fmt: skip
    assert len(machine) == 1
    for own in (found["joeynmt-own", seed] for seed in (3, 4, 5)):
        assert own["end"] == "time is over"
        assert max(point["bleu"] for point in own["points"]) < 6
        assert own["points"][-1]["updates"] < 2000
    told_ratio, goals = reach_tables.told_ratio, reach_tables.GOALS
    with_validations = []
    for theirs in (cell for (key, _), cell in found.items() if key == "joeynmt"):
        plain = found["ours-fp32", theirs["seed"]]
        assert float(told_ratio(plain, theirs, 25)) < goals["ours-fp32", "joeynmt"]
        assert 1.8 < float(told_ratio(plain, theirs, 25, reach_tables.thousands)) < 2.4
        cost = float(told_ratio(plain, theirs, 25, reach_tables.per_token))
        assert 0.9 < cost < 1.2
        assert (cost > 1) == (theirs["seed"] < 6), "a little more on machines 1 and 2, less on 3"
        assert float(told_ratio(plain, theirs, 25, reach_tables.TRAINING)) > 2
        half, goal = found.get(("ours-bf16", theirs["seed"])), goals["ours-bf16", "joeynmt"]
        if half is not None:
            assert float(told_ratio(half, theirs, 25, reach_tables.TRAINING)) < goal
            with_validations.append(float(told_ratio(half, theirs, 25)) >= goal)
            assert float(told_ratio(half, theirs, 25, reach_tables.TRAINING)) > 3
    assert "more than twice as long as ours in 32 bits, with each of five seeds" in said
    assert "more than three times as long as ours in bfloat16, with each of four." in said
    assert "a little more on machines 1 and 2, a little less on machine 3" in said
    assert (sum(key == "joeynmt" for key, _ in found), len(with_validations)) == (5, 4)
    assert sorted(with_validations[:3]) == [False, True, True]
    assert with_validations[3:] == [False]


def test_what_the_page_says_of_the_curves_holds():
    page = " ".join(reach.PAGE.read_text(encoding="utf-8").split())
    curves: dict[str, list[list]] = {}
    for found in measured("reach")["cells"]:
        curves.setdefault(found["contestant"], []).append(found["points"])

    def waited(points):
        """Count the validations from the first with BLEU 25 to the first of those that stay."""
        there = [point["bleu"] >= 25 for point in points]
        return len(there) - there[::-1].index(False) - there.index(True)

    assert "had BLEU 25 stayed there only from four validations later" in page
    assert max(map(waited, curves["ours-fp32"] + curves["ours-bf16"])) == 4
    assert "were stopped by hand, at BLEU 25 or up to seven minutes later" in page
    assert "and ours on machine 3 at BLEU 25." in page
    ours = next(
        c for c in measured("reach")["cells"] if (c["contestant"], c["seed"]) == ("ours-fp32", 6)
    )
    assert ours["end"] == "cut"
    assert [point["bleu"] >= 25 for point in ours["points"]][-2:] == [False, True]
    assert (
        "had its half hour, and on machine 3 it had 86 minutes, in one training each; neither"
        in page
    )
    theirs = [cell for cell in measured("reach")["cells"] if cell["contestant"] == "joeynmt"]
    assert [cell["end"] for cell in theirs] == ["cut"] * 3 + ["time is over"] * 2
    boots = [cell["boot"] for cell in theirs]
    assert boots == [boots[0]] * 3 + [boots[3], boots[4]]
    assert len(set(boots)) == 3
    best = max(point["bleu"] for point in theirs[4]["points"])
    last = reach_tables.clock(theirs[4]["points"][-1])
    assert f"the longest, of {last / 60:.0f} minutes, came to {best:.1f}" in page
    assert max(point["bleu"] for cell in theirs for point in cell["points"]) == best < 30
    assert f"on machine 3 it had {last / 60:.0f} minutes" in page
    for cell in theirs[:3]:
        there = next(point for point in cell["points"] if point["bleu"] >= 25)
        late = reach_tables.clock(cell["points"][-1]) - reach_tables.clock(there)
        assert late <= 7 * 60
    assert "the measured seeds differ by nearly three points" in page
    early = [points[1]["bleu"] for points in curves["joeynmt"]]
    assert 2.5 < max(early) - min(early) < 3
    assert "its validations take longer" in page
    took = {
        key: [points[-1]["validating"] / len(points) for points in of] for key, of in curves.items()
    }
    assert min(took["joeynmt"]) > max(took["ours-fp32"] + took["ours-bf16"])
    assert "in each program the settings used here end highest" in page
    assert "there the measured seeds differ by about five points" in page
    for program in ("joeynmt", "ours-bf16"):
        there = [points[4]["bleu"] for points in curves[program]]
        assert 4.8 < max(there) - min(there) < 5.2
    last = {
        trial["contestant"]: trial["points"][4]["bleu"] for trial in measured("reach")["trials"]
    }
    assert set(last) == set(reach.TRIALS)
    for program in ("joeynmt", "ours-bf16"):
        tried = {name: bleu for name, bleu in last.items() if name.startswith(program)}
        assert max(tried, key=tried.__getitem__) == f"{program}-chosen"
    settings = reach.CONTESTANTS["joeynmt"].own["start"]
    assert "(1.0; ours have 0.1)" in page
    assert settings["embed_init_weight"] == 1.0
    preset, ours = read_preset("luong").training, reach.CONTESTANTS["ours-fp32"]
    assert "are those of our presets" in page
    assert (preset.lr, preset.warmup) == (ours.peak, ours.warmup)
