"""A chapter is no exercise, although it defines functions of the same names."""

import json

import pytest

from seqattn.grading.answers import exercise_of, no_exercise
from seqattn.grading.bank import exercises
from seqattn.grading.notebook import read_submission
from tests.grading.conftest import RIGHT, ROOT, filled, seqattn

CHAPTERS = sorted(path.stem for path in (ROOT / "chapters").glob("[0-9][0-9]_*.ipynb"))


def bare(notebook, marked=False):
    """Drop ids, metadata and tags, as editors do, and perhaps the marker lines, as learners do."""
    cells = [
        {
            "cell_type": cell["cell_type"],
            "metadata": {},
            "source": "\n".join(
                line
                for line in "".join(cell["source"]).split("\n")
                if marked or not line.startswith("# Question ")
            ),
        }
        for cell in notebook["cells"]
    ]
    return {"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 0}


@pytest.mark.parametrize("ending", [".ipynb", ".py"])
@pytest.mark.parametrize("name", CHAPTERS)
def test_a_chapter_is_no_exercise(name, ending):
    chapter = read_submission(ROOT / "chapters" / f"{name}{ending}")
    assert exercise_of(chapter) is None
    said = no_exercise(chapter)
    assert said.startswith("this is")
    if name in exercises():
        assert f"hand in exercises/{name}.ipynb" in said


def test_a_chapter_without_its_metadata_is_none_either(tmp_path):
    chapter = json.loads((ROOT / "chapters" / "03_additive.ipynb").read_text(encoding="utf-8"))
    (tmp_path / "nb.ipynb").write_text(json.dumps(bare(chapter)))
    assert exercise_of(read_submission(tmp_path / "nb.ipynb")) is None


def test_a_chapter_is_told_from_its_exercise_and_gets_no_points(grade):
    found = grade((ROOT / "chapters" / "03_additive.ipynb").read_bytes(), "03_additive.ipynb")
    assert found.problem == (
        "unmatched: this is the chapter of 03_additive, not the exercise: hand in "
        "exercises/03_additive.ipynb"
    )
    assert found.verdicts == []


def test_check_says_so_too(tmp_path):
    (tmp_path / "nb.ipynb").write_bytes((ROOT / "chapters" / "03_additive.ipynb").read_bytes())
    done = seqattn("check", tmp_path / "nb.ipynb")
    assert done.returncode == 2
    assert "hand in exercises/03_additive.ipynb" in done.stderr


@pytest.mark.parametrize("name", exercises())
def test_an_exercise_stays_one_whatever_is_lost(name, tmp_path):
    # Without marker lines answers are found by their names: those of the stub are none.
    for folder, marked in (("exercises", True), ("solutions", True), ("solutions", False)):
        notebook = json.loads((ROOT / folder / f"{name}.ipynb").read_text(encoding="utf-8"))
        (tmp_path / "renamed.ipynb").write_text(json.dumps(bare(notebook, marked)))
        assert exercise_of(read_submission(tmp_path / "renamed.ipynb")) == name


@pytest.mark.parametrize(
    "own",
    [
        "# Question q1: what I do not understand",
        "# Question q1: what I tried\nx = 3",
        "from seqattn.grading import checking",
        "import seqattn",
    ],
)
def test_a_chapter_with_a_cell_of_ones_own_is_a_chapter(own, tmp_path):
    chapter = json.loads((ROOT / "chapters" / "03_additive.ipynb").read_text(encoding="utf-8"))
    chapter["cells"].append({"cell_type": "code", "metadata": {}, "source": own, "outputs": []})
    (tmp_path / "nb.ipynb").write_text(json.dumps(chapter))
    submission = read_submission(tmp_path / "nb.ipynb")
    assert exercise_of(submission) is None
    assert "hand in exercises/03_additive.ipynb" in no_exercise(submission)


def test_a_chapter_as_a_script_or_as_markdown_is_a_chapter(tmp_path):
    chapter = json.loads((ROOT / "chapters" / "03_additive.ipynb").read_text(encoding="utf-8"))
    script, text = ["# coding: utf-8\n"], []
    for cell in chapter["cells"]:
        source = "".join(cell["source"])
        if cell["cell_type"] == "code":
            script.append(f"# In[ ]:\n\n{source}\n")
            text.append(f"```python\n{source}\n```\n")
        else:
            script.append("\n".join(f"# {line}" for line in source.split("\n")) + "\n")
            text.append(source + "\n")
    for name, parts in (("nb.py", script), ("nb.md", text)):
        (tmp_path / name).write_text("\n".join(parts), encoding="utf-8")
        submission = read_submission(tmp_path / name)
        assert exercise_of(submission) is None, name
        assert no_exercise(submission).startswith("this is"), name


def test_a_few_answers_in_a_fresh_notebook_are_an_exercise(tmp_path):
    library = "\n".join(f"import seqattn.{name}" for name in ("data", "plots", "metrics", "models"))
    few = [source for source in RIGHT.values()][:2]
    cells = [{"cell_type": "code", "metadata": {}, "source": source} for source in (library, *few)]
    (tmp_path / "mine.ipynb").write_text(json.dumps(bare(filled({})) | {"cells": cells}))
    assert exercise_of(read_submission(tmp_path / "mine.ipynb")) == "03_additive"


def test_answers_alone_stay_an_exercise_even_beside_imports_of_the_library(tmp_path):
    """Whoever answers in a notebook of their own, which uses the library, is graded."""
    library = (
        "from seqattn.data import TINY\nfrom seqattn.scores import additive\nimport seqattn.masks"
    )
    cells = [library, *RIGHT.values()]
    notebook = bare(filled({})) | {
        "cells": [{"cell_type": "code", "metadata": {}, "source": source} for source in cells]
    }
    (tmp_path / "mine.ipynb").write_text(json.dumps(notebook))
    assert exercise_of(read_submission(tmp_path / "mine.ipynb")) == "03_additive"
