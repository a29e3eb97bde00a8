"""Open experiments: the table is derived again from the file that the learner saved."""

import io
import json
import zipfile

import numpy as np
import pytest

from seqattn.grading.bank import load
from tests.grading.conftest import ROOT, question_of, text, verdict

NAMES = {"04_luong": "q9", "08_reading_maps": "q7"}


def made(exercise, seed=3):
    """Draw evidence, and the table that belongs to it."""
    q = load(exercise).question(NAMES[exercise])
    [arrays] = q.draw(np.random.default_rng(seed), "measured")
    exact = {name: a.astype(np.float64) for name, a in arrays.items()}
    return arrays, {k: tuple(round(x, 2) for x in row) for k, row in q.oracle(exact).items()}


def notebook(exercise, answer):
    stub = json.loads((ROOT / "exercises" / f"{exercise}.ipynb").read_text(encoding="utf-8"))
    for cell in stub["cells"]:
        if question_of(cell) == NAMES[exercise]:
            cell["source"] = text(cell).split("\n", 1)[0] + f"\n{answer}\n"
    return stub


@pytest.fixture
def hand_in(judge, tmp_path):
    def hand_in(exercise, table, arrays=None, raw=None):
        q = load(exercise).question(NAMES[exercise])
        path = tmp_path / "mine.ipynb"
        answer = table if isinstance(table, str) else f"{q.entry} = {table!r}"
        path.write_text(json.dumps(notebook(exercise, answer)), encoding="utf-8")
        if arrays is not None:
            np.savez_compressed(tmp_path / q.evidence, **arrays)
        if raw is not None:
            (tmp_path / q.evidence).write_bytes(raw)
        return verdict(judge.grade(path), NAMES[exercise])

    return hand_in


@pytest.mark.parametrize("exercise", NAMES)
def test_a_table_that_follows_from_its_file_gets_full_points(exercise, hand_in):
    arrays, table = made(exercise)
    found = hand_in(exercise, table, arrays)
    assert (found.verdict, found.points) == ("pass", found.out_of)


@pytest.mark.parametrize("exercise", NAMES)
def test_the_table_of_another_file_fails(exercise, hand_in):
    _, table = made(exercise, seed=4)
    found = hand_in(exercise, table, made(exercise, seed=3)[0])
    assert (found.verdict, found.points, found.mistake) == ("fail", 0, "")
    assert "From the" in found.hint


@pytest.mark.parametrize("exercise", NAMES)
def test_without_its_file_a_table_is_worth_nothing(exercise, hand_in):
    found = hand_in(exercise, made(exercise)[1])
    assert (found.verdict, found.points) == ("missing", 0)
    assert "save it as the question says" in found.hint


def test_a_mistake_in_the_table_is_named(hand_in):
    arrays, _ = made("04_luong")
    exact = load("04_luong").question("q9").oracle(arrays)
    roots = {int(d): tuple(round(x**0.5, 2) for x in row) for d, row in exact.items()}
    assert hand_in("04_luong", roots, arrays).mistake == "standard deviations"


def test_the_tolerance_is_the_one_that_is_stated(hand_in):
    arrays, table = made("04_luong")
    for factor, expected in ((1.008, "pass"), (1.03, "fail")):
        moved = {d: (a * factor, b) for d, (a, b) in table.items()}
        assert hand_in("04_luong", moved, arrays).verdict == expected


def test_a_row_that_is_left_out_is_named(hand_in):
    arrays, table = made("04_luong")
    del table["64"]
    assert "has no entry 64" in hand_in("04_luong", table, arrays).hint


def test_an_experiment_in_the_answer_cell_may_save(hand_in):
    arrays, table = made("04_luong")
    code = f"np.savez('scaling.npz', x=np.ones(3))\nvariances = {table!r}"
    assert hand_in("04_luong", code, arrays).verdict == "pass"


BAD = {
    "no arrays": (lambda a: {}, "holds no array called queries_4"),
    "few draws": (lambda a: a | {"queries_4": a["queries_4"][:99]}, "at least 1000 rows"),
    "another size": (lambda a: a | {"keys_16": a["keys_4"]}, "expected at least 1000 rows of 16"),
    "not standard": (lambda a: a | {"keys_4": 3 * a["keys_4"]}, "mean 0 and variance 1"),
    "copied rows": (lambda a: a | {"keys_4": np.repeat(a["keys_4"][:750], 2, 0)}, "more than once"),
    "same twice": (lambda a: a | {"keys_4": a["queries_4"]}, "the same numbers"),
    "infinite": (lambda a: a | {"keys_4": a["keys_4"] / 0}, "NaN or infinity"),
    "objects": (lambda a: {"queries_4": np.array([{}, []], object)}, "no file of plain arrays"),
}


@pytest.mark.parametrize("case", BAD)
@pytest.mark.filterwarnings("ignore:divide by zero")
def test_what_is_no_evidence_is_said_so(case, hand_in):
    spoil, said = BAD[case]
    arrays, table = made("04_luong")
    found = hand_in("04_luong", table, spoil(arrays))
    assert (found.verdict, found.points) == ("missing", 0)
    assert said in found.hint


MAPS = {
    "unmasked": (lambda a: a | {"weights": a["weights"] + 0.01}, "do not sum to 1"),
    "negative": (lambda a: a | {"weights": a["weights"] - 0.5}, "negative"),
    "copied": (lambda a: a | {"weights": a["weights"][[0, *range(62)]]}, "do not|same map"),
    "few": (lambda a: {k: v[22:] for k, v in a.items()}, "fewer than 20"),
    "flat": (lambda a: a | {"weights": a["weights"][0]}, "should be"),
    "long": (lambda a: a | {"source_length": a["source_length"] + 500}, "larger than the arrays"),
}


@pytest.mark.parametrize("case", MAPS)
def test_maps_that_cannot_be_are_refused(case, hand_in):
    import re

    spoil, said = MAPS[case]
    arrays, table = made("08_reading_maps")
    found = hand_in("08_reading_maps", table, spoil(arrays))
    assert (found.verdict, found.points) == ("missing", 0)
    assert re.search(said, found.hint)


def bomb():
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("queries_4.npy", np.lib.format.magic(1, 0) + b"\0" * (2 << 30 >> 1))
    return stream.getvalue()


@pytest.mark.parametrize(
    "raw", [b"", b"PK\x03\x04nonsense", b"x" * 1000, b"\x93NUMPY\x01\x00v\x00{"]
)
def test_a_file_that_is_none_hurts_nobody(raw, hand_in):
    found = hand_in("04_luong", made("04_luong")[1], raw=raw)
    assert (found.verdict, found.points) == ("missing", 0)


@pytest.mark.slow
def test_a_file_that_swells_hurts_nobody(hand_in):
    assert hand_in("04_luong", made("04_luong")[1], raw=bomb()).verdict == "missing"


def test_a_notebook_and_its_file_may_come_in_one_archive(judge, tmp_path):
    arrays, table = made("04_luong")
    stream = io.BytesIO()
    np.savez_compressed(stream, **arrays)
    with zipfile.ZipFile(tmp_path / "mine.zip", "w") as archive:
        archive.writestr("work/04.ipynb", json.dumps(notebook("04_luong", f"variances = {table}")))
        archive.writestr("work/scaling.npz", stream.getvalue())
    assert verdict(judge.grade(tmp_path / "mine.zip"), "q9").verdict == "pass"


def test_a_link_is_no_evidence(hand_in, tmp_path):
    (tmp_path / "elsewhere").mkdir()
    arrays, table = made("04_luong")
    np.savez(tmp_path / "elsewhere" / "s.npz", **arrays)
    (tmp_path / "scaling.npz").symlink_to(tmp_path / "elsewhere" / "s.npz")
    assert hand_in("04_luong", table).verdict == "missing"
