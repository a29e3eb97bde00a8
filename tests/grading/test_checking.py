"""A visible check says in a sentence how it ended, and fails where checks are counted."""

import nbclient
import nbformat
import pytest
import torch

from seqattn.grading import checking, same_precision
from seqattn.grading.bank import exercises, load
from seqattn.grading.checking import STRICT
from tests.grading.conftest import ROOT


@pytest.fixture
def reading(monkeypatch):
    """As in a notebook that somebody reads: neither pytest nor a count of checks around it."""
    monkeypatch.delenv("PYTEST_VERSION", raising=False)
    monkeypatch.delenv(STRICT, raising=False)


def fail(error):
    with checking("q1"):
        raise error


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (NotImplementedError("q1: f"), "q1 is not answered yet\n"),
        (NotImplementedError("write a number: x = ..."), "q1 is not answered yet\n"),
        (NotImplementedError("q2: f"), "q1 calls f, which is q2 and not answered yet\n"),
        (
            NotImplementedError('Module [Net] is missing the required "forward" function'),
            "q1 calls a module that has no method with the name forward\n",
        ),
        (AssertionError("rows must sum to 1"), "q1 is not right yet: rows must sum to 1\n"),
        (AssertionError(), "q1 is not right yet\n"),
    ],
)
def test_a_reader_gets_a_sentence(error, said, reading, capsys):
    fail(error)
    assert capsys.readouterr().out == said


@pytest.mark.parametrize("error", [NotImplementedError, AssertionError])
@pytest.mark.parametrize("name", [STRICT, "PYTEST_VERSION"])
def test_where_checks_are_counted_the_exception_comes_through(name, error, reading, monkeypatch):
    monkeypatch.setenv(name, "1")
    with pytest.raises(error):
        fail(error("x"))


def test_an_error_in_the_answer_is_never_held_back(reading):
    with pytest.raises(TypeError):
        fail(TypeError("unsupported operand"))


def test_a_right_answer_is_told(reading, capsys):
    with checking("q1"):
        pass
    assert capsys.readouterr().out == "q1 looks right\n"


@pytest.mark.parametrize(
    ("root", "noted"),
    [
        (lambda d: torch.sqrt(torch.tensor(d)), True),
        (lambda d: torch.tensor(d) ** 0.5, True),
        (lambda d: d**0.5, False),
        (lambda d: torch.tensor(d, dtype=torch.float64).sqrt(), False),
    ],
)
@pytest.mark.parametrize("pack", [lambda x: x, lambda x: (x, x)])
def test_a_number_of_32_bits_on_the_way_is_noted_and_no_more(root, noted, pack, capsys):
    same_precision(lambda x: pack(x / root(x.shape[-1])), torch.ones(1, 3))
    assert ("32 bits" in capsys.readouterr().out) == noted
    assert torch.get_default_dtype() == torch.float32


def test_chance_and_a_mixture_of_precisions_are_not_noted(capsys):
    same_precision(torch.nn.functional.dropout, torch.ones(1, 8))
    same_precision(
        lambda x: x + torch.cat([torch.zeros(1), x[:1, 0].float()]).to(x), torch.ones(1, 2)
    )
    assert not capsys.readouterr().out


@pytest.mark.slow
@pytest.mark.sampled(8)
@pytest.mark.parametrize("name", exercises())
def test_a_fresh_exercise_runs_to_its_end_and_says_what_is_open(name, reading, tmp_path):
    notebook = nbformat.read(ROOT / "exercises" / f"{name}.ipynb", as_version=4)
    nbclient.NotebookClient(notebook, resources={"metadata": {"path": str(tmp_path)}}).execute()
    printed = "".join(
        output.get("text", "")
        for cell in notebook.cells
        if cell.cell_type == "code"
        for output in cell.outputs
    )
    for question in load(name).questions:
        assert f"{question.id} is not answered yet" in printed
