"""The capstone's notebooks in full mode: on real text, which has long sentences and no gold links.

Full mode takes hours of a CPU. Here its flag, and all that hangs on it, meet a small corpus of
files and small budgets instead.
"""

import re

import nbclient
import pytest

from seqattn.data import CorpusConfig, read_split, toy_by_length
from tools import notebooks

MULTI30K = 'CorpusConfig("multi30k", "de", "en")'
# What is made smaller, by name of the notebook; each of these texts must be in it.
SMALLER = {
    "18_build": {
        "CONFIG, TRAINING = preset.model, replace(preset.training, average=8)": (
            "CONFIG = replace(preset.model, d_embed=32, d_hidden=48, dropout=0.0)\n"
            "    TRAINING = replace(preset.training, lr=0.01, steps=250, epochs=None, "
            "validate_every=125)"
        ),
    },
    "19_judge": {},
    "20_study": {
        "seeds=(1, 2, 3) if FULL else (1,)": "seeds=(1,)",
        "steps=1_000, batch_tokens=4_096": "steps=1, batch_tokens=64",
        "validate_every=1_000": "validate_every=1",
    },
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with a corpus of files: a table of pairs for each part of it."""
    path, toy = tmp_path_factory.mktemp("full"), CorpusConfig(pairs=2_000)
    long = [pair for pair in toy_by_length(toy.pairs) if len(pair.source.split()) > 14]
    pairs = {
        "train": [*read_split(toy, "train"), *long[90:]],
        "valid": [*read_split(toy, "valid")[:80], *long[:60]],
        "test": [*read_split(toy, "test")[:60], *long[60:90]],
    }
    for name, of in pairs.items():
        lines = "\n".join(f"{pair.source}\t{pair.target}" for pair in of)
        (path / f"{name}.tsv").write_text(lines + "\n", encoding="utf-8")
    return path


@pytest.mark.weekly  # two minutes of one core
@pytest.mark.parametrize("name", SMALLER)  # in this order: the second judges what the first leaves
def test_a_notebook_runs_in_full_mode(folder, name):
    notebook = notebooks.read_source(notebooks.CHAPTERS / f"{name}.py")
    files = ", ".join(f'{part}=("{part}.tsv",)' for part in ("train", "valid", "test"))
    changes = {
        "\nFULL = False\n": "\nFULL = True\n",
        MULTI30K: f'CorpusConfig("files", "de", "en", {files})',
        **SMALLER[name],
    }
    text = "".join(f"\n{cell.source}\n" for cell in notebook.cells)
    assert {old: text.count(old) for old in changes} == dict.fromkeys(changes, 1)
    for cell in notebook.cells:
        for old, new in changes.items():
            cell.source = f"\n{cell.source}\n".replace(old, new).strip("\n")
    nbclient.NotebookClient(
        notebook, timeout=600, kernel_name="python3", resources={"metadata": {"path": str(folder)}}
    ).execute()
    printed = "".join(
        output.get("text", "") for cell in notebook.cells for output in cell.get("outputs", [])
    )
    if name == "20_study":
        assert len(re.findall(r", seed 1: BLEU \d", printed)) == 5
