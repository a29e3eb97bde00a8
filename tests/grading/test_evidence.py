"""Open experiments: the table is derived again from the file that the learner saved."""

import io
import zipfile
from pathlib import Path

import nbformat
import numpy as np
import pytest

from seqattn.grading import bank
from seqattn.grading import notebook as notebook_module
from seqattn.grading.answers import marker
from tests.grading import measured_bank
from tests.grading.conftest import verdict

Q = measured_bank.Q1


@pytest.fixture(autouse=True, scope="module")
def installed(tmp_path_factory):
    """Install the exercise with an experiment: none of the course's asks for a file."""
    root = tmp_path_factory.mktemp("package")
    (root / "banks").mkdir()
    cells = {"q1": {"cell_id": "90-q1", "source": f"{marker(Q)}\nvariances = None", "key": ""}}
    source = Path(measured_bank.__file__).read_text(encoding="utf-8")
    (root / "banks" / "90_measured.bank").write_bytes(bank.pack(source, cells, "r1"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bank, "files", lambda package: root)
        yield


def made(seed=3):
    """Draw evidence, and the table that belongs to it."""
    [arrays] = Q.draw(np.random.default_rng(seed), "measured")
    exact = {name: a.astype(np.float64) for name, a in arrays.items()}
    return arrays, {k: tuple(round(x, 2) for x in row) for k, row in Q.oracle(exact).items()}


def notebook(answer):
    cell = nbformat.v4.new_code_cell(f"{marker(Q)}\n{answer}\n", id="90-q1")
    return nbformat.writes(nbformat.v4.new_notebook(cells=[cell]))


@pytest.fixture
def hand_in(judge, tmp_path):
    def hand_in(table, arrays=None, raw=None):
        path = tmp_path / "mine.ipynb"
        answer = table if isinstance(table, str) else f"{Q.entry} = {table!r}"
        path.write_text(notebook(answer), encoding="utf-8")
        if arrays is not None:
            np.savez_compressed(tmp_path / Q.evidence, **arrays)
        if raw is not None:
            (tmp_path / Q.evidence).write_bytes(raw)
        return verdict(judge.grade(path), "q1")

    return hand_in


@pytest.mark.parametrize("spoil", ["link", "large"])
def test_a_file_that_is_not_read_is_not_called_missing(spoil, hand_in, tmp_path, monkeypatch):
    arrays, table = made()
    if spoil == "link":
        np.savez_compressed(tmp_path / "elsewhere.npz", **arrays)
        (tmp_path / Q.evidence).symlink_to(tmp_path / "elsewhere.npz")
        found = hand_in(table)
    else:
        monkeypatch.setattr(notebook_module, "MOST_BYTES", 2_000)
        found = hand_in(table, raw=bytes(3_000))
    assert found.points == 0
    assert {"link": "is a link", "large": "is larger than"}[spoil] in found.hint


def test_a_table_that_follows_from_its_file_gets_full_points(hand_in):
    arrays, table = made()
    found = hand_in(table, arrays)
    assert (found.verdict, found.points, found.hint) == ("pass", found.out_of, "")


def test_the_table_of_another_file_fails(hand_in):
    _, table = made(seed=4)
    found = hand_in(table, made(seed=3)[0])
    assert (found.verdict, found.points, found.mistake) == ("fail", 0, "")
    assert "From the" in found.hint


def test_without_its_file_a_table_is_worth_nothing(hand_in):
    found = hand_in(made()[1])
    assert (found.verdict, found.points) == ("missing", 0)
    assert "save it as the question says" in found.hint


def test_a_mistake_in_the_table_is_named(hand_in):
    arrays, _ = made()
    exact = Q.oracle(arrays)
    roots = {int(d): tuple(round(x**0.5, 2) for x in row) for d, row in exact.items()}
    assert hand_in(roots, arrays).mistake == "standard deviations"


def test_the_tolerance_is_the_one_that_is_stated(hand_in):
    arrays, table = made()
    for factor, expected in ((1.008, "pass"), (1.03, "fail")):
        moved = {d: (a * factor, b) for d, (a, b) in table.items()}
        assert hand_in(moved, arrays).verdict == expected


def test_a_row_that_is_left_out_is_named(hand_in):
    arrays, table = made()
    del table["64"]
    assert "has no entry 64" in hand_in(table, arrays).hint


def test_an_experiment_in_the_answer_cell_may_save(hand_in):
    arrays, table = made()
    code = f"np.savez('scaling.npz', x=np.ones(3))\nvariances = {table!r}"
    assert hand_in(code, arrays).verdict == "pass"


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
    arrays, table = made()
    found = hand_in(table, spoil(arrays))
    assert (found.verdict, found.points) == ("missing", 0)
    assert said in found.hint


def bomb():
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("queries_4.npy", np.lib.format.magic(1, 0) + b"\0" * (2 << 30 >> 1))
    return stream.getvalue()


@pytest.mark.parametrize(
    "raw", [b"", b"PK\x03\x04nonsense", b"x" * 1000, b"\x93NUMPY\x01\x00v\x00{"]
)
def test_a_file_that_is_none_hurts_nobody(raw, hand_in):
    found = hand_in(made()[1], raw=raw)
    assert (found.verdict, found.points) == ("missing", 0)


@pytest.mark.slow
def test_a_file_that_swells_hurts_nobody(hand_in):
    assert hand_in(made()[1], raw=bomb()).verdict == "missing"


def test_a_notebook_and_its_file_may_come_in_one_archive(judge, tmp_path):
    arrays, table = made()
    stream = io.BytesIO()
    np.savez_compressed(stream, **arrays)
    with zipfile.ZipFile(tmp_path / "mine.zip", "w") as archive:
        archive.writestr("work/90.ipynb", notebook(f"variances = {table}"))
        archive.writestr("work/scaling.npz", stream.getvalue())
    assert verdict(judge.grade(tmp_path / "mine.zip"), "q1").verdict == "pass"


def test_a_link_is_no_evidence(hand_in, tmp_path):
    (tmp_path / "elsewhere").mkdir()
    arrays, table = made()
    np.savez(tmp_path / "elsewhere" / "s.npz", **arrays)
    (tmp_path / "scaling.npz").symlink_to(tmp_path / "elsewhere" / "s.npz")
    assert hand_in(table).verdict == "missing"
