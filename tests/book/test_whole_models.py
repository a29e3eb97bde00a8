"""Two whole models on one page: short, complete, and made of nothing but PyTorch."""

import ast

import pytest
import torch

from tools import notebooks

PAGE = notebooks.CHAPTERS / "whole_models.py"


def lines(cell):
    return [line for line in cell.splitlines() if line.strip()]


@pytest.fixture(scope="module")
def models():
    """The cells of code from the imports to the last line of the second model."""
    cells = notebooks.read_source(PAGE).cells
    end = next(i for i, c in enumerate(cells) if "## They compute what" in c.source)
    install = next(i for i, c in enumerate(cells) if "install" in c.metadata.get("tags", []))
    return [cell.source for cell in cells[install + 1 : end] if cell.cell_type == "code"]


def test_cells_are_short(models):
    rest = models[1:]  # behind the imports
    assert max(len(lines(cell)) for cell in models) <= 15
    recurrent = next(i for i, cell in enumerate(rest) if "class RecurrentEncoder" in cell)
    # "a little over a hundred lines", and "fifty-odd lines more"
    assert 100 < sum(len(lines(cell)) for cell in rest[:recurrent]) < 125
    assert 50 < sum(len(lines(cell)) for cell in rest[recurrent:]) < 60


def test_copied_into_a_file_they_need_pytorch_alone(models):
    code = "\n\n".join(models)
    imported = {
        name.split(".")[0]
        for node in ast.walk(ast.parse(code))
        if isinstance(node, (ast.Import, ast.ImportFrom))
        for name in ([node.module] if isinstance(node, ast.ImportFrom) else
                     [alias.name for alias in node.names])
    }  # fmt: skip
    assert imported == {"math", "torch"}
    names = {}
    exec(code, names)
    source = torch.tensor([[5, 7, 3, 2], [6, 2, 0, 0]])
    inputs = torch.tensor([[1, 4, 5], [1, 8, 0]])
    for kind in ("Transformer", "RecurrentTranslator"):
        model = names[kind](11, 13)
        assert model(source, inputs).shape == (2, 3, 13)
        # A sentence alone gets what it gets beside a longer one.
        model.eval()
        alone = model(source[1:, :2], inputs[1:, :2])
        torch.testing.assert_close(model(source, inputs)[1:, :2], alone)
        found = names["translate"](model, source, longest=5)
        assert found.shape[0] == 2
        assert found.shape[1] <= 5


def test_the_loop_lowers_the_loss_of_either(models):
    names = {}
    exec("\n\n".join(models), names)
    source = torch.tensor([[5, 7, 3, 2], [6, 2, 0, 0]])
    inputs, targets = torch.tensor([[1, 4, 5], [1, 8, 0]]), torch.tensor([[4, 5, 2], [8, 2, 0]])
    for kind in ("Transformer", "RecurrentTranslator"):
        torch.manual_seed(0)
        model = names[kind](11, 13, dropout=0.0)
        optimizer = torch.optim.Adam(model.parameters(), lr=0.007)
        losses = []
        for _ in range(30):
            logits = model(source, inputs).flatten(0, 1)
            loss = names["F"].cross_entropy(logits, targets.flatten(), ignore_index=0)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        assert losses[-1] < 0.1 < losses[0]
        assert names["translate"](model, source).tolist() == targets.tolist()
