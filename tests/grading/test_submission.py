"""Answers are found whatever became of the notebook, and a file that is none is told so."""

import copy
import json

import pytest

from seqattn.grading.answers import find_answer
from seqattn.grading.notebook import read_submission
from tests.grading.conftest import (
    EXERCISE,
    NO_TANH,
    POINTS,
    RIGHT,
    STUB,
    answer_cell,
    filled,
    question_of,
    text,
    verdict,
    verdicts,
)

ALL_PASS = dict.fromkeys(POINTS, "pass")


def test_the_untouched_stub_scores_nothing_without_blame(grade):
    found = grade(STUB)
    assert verdicts(found) == dict.fromkeys(POINTS, "not_attempted")
    assert (found.points, found.out_of) == (0, EXERCISE.points)
    assert {v.hint for v in found.verdicts} == {""}


def test_the_solution_scores_full(grade):
    assert grade(filled(RIGHT)).points == EXERCISE.points


def test_one_answer_scores_alone(grade):
    found = grade(filled({"q1": RIGHT["q1"]}))
    assert found.points == POINTS["q1"]
    assert verdict(found, "q2").verdict == "not_attempted"


def without_metadata(notebook):
    for cell in notebook["cells"]:
        cell["metadata"] = {}


def without_ids(notebook):
    for cell in notebook["cells"]:
        cell.pop("id")
    notebook["nbformat_minor"] = 0


def without_checks(notebook):
    notebook["cells"] = [c for c in notebook["cells"] if "with checking" not in text(c)]


def with_forged_checks(notebook):
    for cell in notebook["cells"]:
        if "with checking" in text(cell):
            cell["source"] = "print('PASS')"
            cell["metadata"]["tags"] = ["raises-exception", "nbval-skip"]


def reversed_order(notebook):
    notebook["cells"].reverse()


def answers_as_markdown(notebook):
    for cell in notebook["cells"]:
        if question_of(cell):
            cell["cell_type"] = "markdown"


def copied_stubs_last(notebook):
    stubs = [copy.deepcopy(answer_cell(STUB, q)) for q in POINTS]
    notebook["cells"] += stubs


def windows_line_ends(notebook):
    for cell in notebook["cells"]:
        cell["source"] = "\ufeff" + text(cell).replace("\n", "\r\n").replace(" = ", "\xa0=\xa0")


def magics(notebook):
    for cell in notebook["cells"]:
        if question_of(cell):
            marker, rest = text(cell).split("\n", 1)
            cell["source"] = f"%%time\n{marker}\n%matplotlib inline\n!pip install x\n{rest}"


def without_markers(notebook):
    for cell in notebook["cells"]:
        if question_of(cell):
            cell["source"] = text(cell).split("\n", 1)[1]


def only_names_left(notebook):
    without_markers(notebook)
    without_metadata(notebook)
    without_ids(notebook)


def with_extra_cells(notebook):
    extra = {"cell_type": "code", "metadata": {}, "outputs": [], "execution_count": None}
    notebook["cells"].insert(2, {**extra, "id": "x", "source": "while True: pass"})
    notebook["cells"].insert(4, {**extra, "id": "y", "source": "import this, that\n1 / 0"})


def edited_points(notebook):
    for cell in notebook["cells"]:
        cell["metadata"].setdefault("seqattn", {})["points"] = 100


def strange_kernel(notebook):
    notebook["metadata"]["kernelspec"] = {"name": "ir", "language": "R"}


@pytest.mark.parametrize(
    "spoil",
    [
        without_metadata,
        without_ids,
        without_checks,
        with_forged_checks,
        reversed_order,
        answers_as_markdown,
        copied_stubs_last,
        windows_line_ends,
        magics,
        without_markers,
        only_names_left,
        with_extra_cells,
        edited_points,
        strange_kernel,
    ],
    ids=lambda f: f.__name__,
)
def test_right_answers_are_found_in_any_disorder(spoil, grade):
    notebook = filled(RIGHT)
    spoil(notebook)
    found = grade(notebook)
    assert verdicts(found) == ALL_PASS
    assert (found.points, found.out_of) == (EXERCISE.points, EXERCISE.points)


@pytest.mark.slow
@pytest.mark.parametrize("spoil", [with_forged_checks, without_checks, edited_points])
def test_wrong_answers_stay_wrong_under_forgery(spoil, grade):
    notebook = filled({q.id: q.wrong[0].code for q in EXERCISE.questions})
    spoil(notebook)
    assert grade(notebook).points == sum(q.wrong[0].keeps for q in EXERCISE.questions)


def test_the_last_attempt_counts_and_says_so(grade):
    notebook = filled(RIGHT | {"q1": NO_TANH.code})
    notebook["cells"].append(copy.deepcopy(answer_cell(filled(RIGHT), "q1")))
    found = verdict(grade(notebook), "q1")
    assert found.verdict == "pass"
    assert "2 cells claim q1" in found.notes[0]


def test_an_answer_split_over_two_cells_is_put_together(grade):
    notebook = filled(RIGHT)
    cell = answer_cell(notebook, "q2")
    marker, code = text(cell).split("\n", 1)
    second = copy.deepcopy(cell)
    cell["source"] = f"{marker}\ndef shares(x):\n    return torch.softmax(x, dim=-1)\n"
    second["source"] = f"{marker}\n{code}".replace(
        "torch.softmax(filled, dim=-1)", "shares(filled)"
    )
    assert "shares(filled)" in second["source"]
    notebook["cells"].insert(notebook["cells"].index(cell) + 1, second)
    assert verdict(grade(notebook), "q2").verdict == "pass"


def test_a_deleted_answer_cell_is_missing_and_costs_nothing_else(grade):
    notebook = filled(RIGHT)
    notebook["cells"].remove(answer_cell(notebook, "q3"))
    found = grade(notebook)
    assert verdicts(found) == ALL_PASS | {"q3": "missing"}
    assert "copy the cell from a fresh exercise" in verdict(found, "q3").hint


def test_a_renamed_function_is_missing_by_name(grade):
    renamed = RIGHT["q2"].replace("masked_softmax", "my_softmax")
    found = verdict(grade(filled(RIGHT | {"q2": renamed})), "q2")
    assert (found.verdict, found.points) == ("missing", 0)
    assert found.hint == "nothing is called masked_softmax; the cell defines my_softmax"


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("def additive_score(q, K, Wq, Wk, v)\n    return q", "expected ':'"),
        ("def additive_score(q, K, Wq, Wk, v):\n    return q[“a”]", "quotation mark “"),
        ("def additive_score(q, K, Wq, Wk, v):\n" + "(" * 300, ""),
    ],
)
def test_syntax_errors_have_a_line_and_cost_one_question(code, said, grade):
    found = grade(filled(RIGHT | {"q1": code}))
    assert verdicts(found) == ALL_PASS | {"q1": "syntax_error"}
    assert said in verdict(found, "q1").hint
    assert verdict(found, "q1").line > 1


@pytest.mark.parametrize("kind", ["raw", "markdown"])
def test_an_old_attempt_that_was_switched_off_below_the_answer_does_not_count(kind, grade):
    notebook = filled(RIGHT)
    cell = answer_cell(notebook, "q1")
    old = copy.deepcopy(cell) | {"cell_type": kind, "id": "old"}
    old["source"] = "".join(cell["source"]).replace("return", "raise")
    for name in ("outputs", "execution_count"):
        old.pop(name, None)
    notebook["cells"].append(old)
    assert verdicts(grade(notebook)) == ALL_PASS


@pytest.mark.parametrize("kind", ["raw", "markdown"])
def test_an_answer_cell_that_was_switched_off_gives_way_to_code_without_a_marker(kind, grade):
    notebook = filled(RIGHT)
    cell = answer_cell(notebook, "q1")
    right = "".join(line for line in "".join(cell["source"]).splitlines(True) if line[0] != "#")
    cell |= {"cell_type": kind, "source": "".join(cell["source"]).replace("return", "raise")}
    notebook["cells"].append(code_cell(right))
    found = grade(notebook)
    assert verdicts(found) == ALL_PASS


def code_cell(source):
    return {"cell_type": "code", "id": "scratch", "metadata": {}, "outputs": [],
            "execution_count": None, "source": source}  # fmt: skip


@pytest.mark.parametrize(
    "scratch",
    [
        "F = 16\ntorch = 2\nmath = nn = 3",
        "def F(x):\n    return x\n\n\ndef torch(x):\n    return x",
        "width = F = torch = 16",
    ],
)
def test_a_scratch_cell_does_not_take_the_names_that_every_answer_has(scratch, grade):
    notebook = filled(RIGHT | {"q1": RIGHT["q1"] + "\n\nif False:\n    print(width)\n"})
    notebook["cells"].append(code_cell(scratch))
    assert verdicts(grade(notebook)) == ALL_PASS


def test_a_constant_of_ones_own_may_have_the_name_of_a_module_that_the_answer_does_not_use(grade):
    notebook = filled(RIGHT | {"q1": RIGHT["q1"].replace("return ", "return F * ", 1)})
    notebook["cells"].append(code_cell("F = 1"))
    assert verdicts(grade(notebook)) == ALL_PASS


@pytest.mark.parametrize(
    "helper",
    [
        "scale = float('1')",
        "half = 1 / 2\nscale = 2 * half",
        "import math\nscale = math.sqrt(1.0)",
        "scale = torch.tensor(1.0)",
        "scale = -(-1)",
        "scale: float = math.sqrt(1.0)",
        "scale: Unknown = 1.0",
        "scale, width = 1, 16",
        "width, (scale, F), *more = 8, (1, 16), 2, 3",
        "import numpy as np\nscale = 1 / np.log2(2)",
    ],
)
def test_plain_constants_of_other_cells_are_at_hand(helper, grade):
    notebook = filled(RIGHT | {"q1": RIGHT["q1"].replace("return ", "return scale * ", 1)})
    notebook["cells"].append(code_cell(helper))
    assert verdicts(grade(notebook)) == ALL_PASS


def test_a_lambda_of_another_cell_is_a_function(grade):
    notebook = filled(RIGHT | {"q1": RIGHT["q1"].replace("return ", "return same(1) * ", 1)})
    notebook["cells"].append(code_cell("same = lambda x: x"))
    assert verdicts(grade(notebook)) == ALL_PASS


@pytest.mark.parametrize("helper", ["scale = torch.rand(1)", "scale = model(1)", "scale = x.sum()"])
def test_what_another_cell_computed_is_not(helper, grade):
    notebook = filled(RIGHT | {"q1": RIGHT["q1"].replace("return ", "return scale * ", 1)})
    notebook["cells"].append(code_cell(helper))
    mine = verdict(grade(notebook), "q1")
    assert mine.points == 0
    assert "compute it in the answer's own cell" in mine.hint


def test_an_answer_that_is_too_long_is_told_so(tmp_path):
    path = tmp_path / "long.ipynb"
    path.write_text(json.dumps(filled({"q1": RIGHT["q1"] + "#" + 50_000 * "x"})))
    found = find_answer(read_submission(path), EXERCISE, EXERCISE.question("q1"))
    assert found.detail == "longer than 50,000 characters: shorten it"


OUTPUTS = {"cells": [{"cell_type": "code", "source": "x" * (21 << 20)}]}


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "empty"),
        (b"   \n", "empty"),
        (b"<!doctype html><html>Log in", "a web page"),
        (json.dumps(STUB).encode()[:1000], "not JSON"),
        (b"[1, 2]", "no list of cells"),
        (b"[" * 200_000, "nested too deeply"),
        (json.dumps(STUB).encode("utf-16"), "not UTF-8"),
        (b'{"worksheets": [], "nbformat": 3}', "format 3"),
        (json.dumps(OUTPUTS).encode(), "larger than"),
        (json.dumps({"cells": [{}] * 100_000}).encode(), "100000 cells"),
        (b'{"cells": 3}', "no list of cells"),
    ],
)
def test_what_is_no_notebook_is_unreadable_with_a_reason(content, said, grade):
    found = grade(content)
    assert found.problem.startswith("unreadable: ")
    assert said in found.problem


def test_a_link_is_not_followed(judge, tmp_path):
    (tmp_path / "link.ipynb").symlink_to("/etc/passwd")
    assert judge.grade(tmp_path / "link.ipynb").problem == "unreadable: not a plain file"


def test_a_notebook_of_something_else_is_unmatched(grade):
    cell = {"cell_type": "code", "id": "a", "metadata": {}, "source": "1 + 1", "outputs": []}
    assert grade({"cells": [cell, "nonsense", {}]}).problem.startswith("unmatched: ")


def test_nonsense_inside_cells_does_no_harm(grade):
    notebook = filled(RIGHT)
    notebook["cells"] += [
        {"cell_type": "code", "source": [1, None], "metadata": []},
        {"cell_type": 7, "source": {"a": 1}, "metadata": {"seqattn": "q1"}},
        {"source": "# Question q1 and q99", "metadata": {"seqattn": {"question": ["q1"]}}},
    ]
    assert grade(notebook).points == EXERCISE.points


# --- the rest of the bank's cases A ---------------------------------------------------------------


def test_t_014_cells_of_one_id_are_told_apart_by_their_marker(grade):
    notebook = filled(RIGHT)
    for cell in notebook["cells"]:
        cell["id"] = "same"
    assert verdicts(grade(notebook)) == ALL_PASS


def with_cell(notebook, source, at=2):
    cell = {"cell_type": "code", "metadata": {}, "source": source}
    notebook["cells"].insert(at, cell | {"outputs": [], "execution_count": 1})
    return notebook


def answered(question, code, *cells):
    notebook = filled({question: code})
    for source in cells:
        with_cell(notebook, source)
    return notebook


BY_PROJECT = (
    "def additive_score(query, keys, W_q, W_k, v):\n"
    "    asked = project(query, W_q).unflatten(0, (len(keys), -1))\n"
    "    return (torch.tanh(asked[:, :, None] + project(keys, W_k)[:, None]) @ v).flatten(0, 1)\n"
)


@pytest.mark.parametrize(
    "cell",
    [
        "def project(x, W):\n    return x @ W.T",
        "from torch.nn.functional import (\n    linear as project,\n)",
        "SIDE = -1\ndef turn(W):\n    return W.transpose(SIDE, 0)\n"
        "def project(x, W):\n    return x @ turn(W)",
    ],
    ids=["function", "import in parentheses", "what a helper uses"],
)
def test_t_015_definitions_of_another_cell_are_at_hand(cell, grade):
    assert verdict(grade(answered("q1", BY_PROJECT, cell)), "q1").verdict == "pass"


def test_t_015_what_only_ran_is_not_at_hand_and_the_hint_says_so(grade):
    found = verdict(grade(answered("q1", BY_PROJECT, "project = make_it(3)")), "q1")
    assert found.verdict == "error"
    assert "NameError: name 'project'" in found.hint
    assert "what another cell computed" in found.hint
    assert found.line == 3


def test_what_another_cell_does_reaches_only_who_uses_it(grade):
    # One line that would end every question's process, were it executed for each.
    hostile = "import os; os._exit(0)\nimport torch; torch.tanh = None\nTANH = 1\n"
    notebook = with_cell(filled(RIGHT), hostile)
    assert verdicts(grade(notebook)) == ALL_PASS
    trap = "def project(x, W, end=__import__('os')._exit(0)):\n    return x @ W.T"
    with_cell(notebook, trap)
    answer_cell(notebook, "q1")["source"] = BY_PROJECT
    found = verdicts(grade(notebook))
    assert found.pop("q1") == "crashed"
    assert set(found.values()) == {"pass"}


def behind(code):
    return lambda text: f"{text}\n{code}"


@pytest.mark.parametrize(
    "change",
    [
        lambda text: (
            text.replace("\n    return", "\n    # why?\n    return", 1) + "  # is this right?"
        ),
        lambda text: "import matplotlib_is_not_here\nprint(nothing)\nassert False\n" + text,
        behind("print(additive_score(TINY.query, TINY.keys))"),
        behind("answer = additive_score(1)\nfor i in range(3):\n    print(answer)"),
        behind("while True:\n    pass"),
        behind("exit()"),
        behind("7 ** 7 ** 7 ** 7"),
        lambda text: "from __future__ import annotations\ndef unused(x: Nothing): ...\n" + text,
        lambda text: "many = (7\n  % 3)\nword = '''\n%time\n!ls\n'''\n" + text,
        lambda text: "files = !ls\n%%time\nadditive_score?\n" + text,
    ],
)
def test_what_stands_around_a_right_answer_does_it_no_harm(change, grade):
    notebook = filled(RIGHT)
    for cell in notebook["cells"]:
        if question_of(cell):
            marker, code = text(cell).split("\n", 1)
            cell["source"] = f"{marker}\n{change(code)}"
    assert verdicts(grade(notebook)) == ALL_PASS


def test_a_name_whose_definition_failed_is_blamed_on_the_definition(grade):
    code = "from seqattn_plus import project\n" + BY_PROJECT
    found = verdict(grade(filled({"q1": code})), "q1")
    assert "ModuleNotFoundError" in found.hint
    assert found.line == 2


def test_t_021_and_t_022_stored_outputs_and_kernels_play_no_part(grade):
    notebook = filled(RIGHT)
    notebook["metadata"].pop("kernelspec")
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            cell["execution_count"] = None
            cell["outputs"] = [
                {"output_type": "error", "ename": "E", "evalue": "", "traceback": []}
            ]
    assert verdicts(grade(notebook)) == ALL_PASS


def test_t_025_an_older_release_is_graded_and_named(grade):
    notebook = filled(RIGHT)
    notebook["metadata"]["seqattn"]["release"] = "0123456789ab"
    found = grade(notebook)
    assert found.points == EXERCISE.points
    assert "0123456789ab" in found.notes[0]


def test_t_026_another_exercise_is_unmatched_and_named(judge, tmp_path):
    path = tmp_path / "mine.ipynb"
    path.write_text(json.dumps(filled(RIGHT)), encoding="utf-8")
    found = judge.grade(path, "02_softmax")
    assert found.problem == "unmatched: it looks like 03_additive, not 02_softmax"


def test_t_027_the_solution_itself_is_flagged_for_the_instructor_alone(judge):
    from seqattn.grading.feedback import as_html
    from tests.grading.conftest import ROOT

    found = judge.grade(ROOT / "solutions" / "03_additive.ipynb")
    assert found.points == EXERCISE.points
    assert found.flags == ["identical to the solution notebook, names and all"]
    assert "identical" not in as_html(found)


def as_percent(notebook):
    return "\n\n".join(
        ("# %%\n" + text(c)) if c["cell_type"] == "code" else "# %% [markdown]\n# prose"
        for c in notebook["cells"]
    )


def as_myst(notebook):
    return "---\njupytext: {}\n---\n\n" + "\n\n".join(
        "```{code-cell} ipython3\n" + text(c) + "\n```"
        for c in notebook["cells"]
        if c["cell_type"] == "code"
    )


def as_myst_with_options(notebook):
    """Write it as Jupytext does where cells have metadata."""
    fence, options = "```{code-cell} ipython3\n", ":tags: [hide-input,\n  b]\n:id: a-1\n\n"
    first, _, rest = as_myst(notebook).partition(fence)
    yaml = "--- \ntags: [hide-input]\nslideshow:\n  slide_type: skip\n---\n"
    return first + fence + yaml + rest.replace(fence, fence + options)


def as_fenced(notebook):
    return as_myst(notebook).replace("```{code-cell} ipython3", "```python")


def as_script(notebook):
    """Write it as nbconvert does."""
    code = [text(c) for c in notebook["cells"] if c["cell_type"] == "code"]
    return "#!/usr/bin/env python\n" + "".join(f"# In[ ]:\n\n\n{c}\n\n\n" for c in code)


@pytest.mark.parametrize(
    ("name", "form"),
    [
        ("mine.py", as_percent),
        ("mine.md", as_myst),
        ("mine.md", as_myst_with_options),
        ("mine.md", as_fenced),
        ("mine.py", as_script),
        ("mine.ipynb.txt", json.dumps),
        ("mine (2).ipynb", json.dumps),
        ("mine.ipynb.json", json.dumps),
    ],
)
def test_t_029_other_forms_of_a_notebook_are_read(name, form, grade):
    found = grade(form(filled(RIGHT)).encode(), name=name)
    assert verdicts(found) == ALL_PASS


def test_t_029_what_is_no_notebook_hears_what_is_accepted(grade):
    assert "expected .ipynb" in grade(b"Dear teacher, here is my work.", name="a.docx").problem
    assert "expected .ipynb" in grade(bytes(range(128, 256)), name="a.pdf").problem


def test_a_cell_of_tabs_is_read(grade):
    answer = RIGHT["q2"].replace("    ", "\t")
    assert verdict(grade(filled({"q2": answer})), "q2").verdict == "pass"
