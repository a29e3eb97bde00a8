"""Questions written as text: what a line means, and what is said of one that means nothing."""

import ast
import re

import pytest

from seqattn.grading import questions
from seqattn.grading.bank import Stage

RIGHT = (
    "def pool(states, mask):\n"
    "    words = mask.sum(1)\n"
    "    if not words.all():\n"
    "        return states[:, 0]\n"
    "    return states.sum(1) / words[:, None]\n",
    "def pool(x, m):\n    return torch.einsum('bsd,bs->bd', x, m / m.sum(1, keepdim=True))\n",
)
SHEET = f"""q3: A mean
pool(states, mask)
read chapters/02_soft_addressing: By hand
the formula, 2 points: ordinary; one word, alone
    Add up, and
    divide.
what it says, and how, 1 point, 40 calls, within 1e-4 or 0.01: long
    Not so slow.
gradients, 1 point, backward: ordinary
    Something is detached.
RIGHT
{"".join(RIGHT)}WRONG
no division, keeps 1 | / words[:, None] ->
    You do not
    divide.
"""


def changed(row):
    [wrong] = questions.mistakes(f"{row}\n    A hint.\n", RIGHT)
    return wrong


def same(code, other):
    return ast.dump(ast.parse(code)) == ast.dump(ast.parse(other))


def test_a_sheet_is_a_question():
    q = questions.question(SHEET, draw=tuple, oracle=tuple, parts={"the formula": ("a",)})
    assert (q.id, q.title, q.entry, q.signature) == ("q3", "A mean", "pool", "pool(states, mask)")
    assert q.read == "chapters/02_soft_addressing: By hand"
    assert q.right == RIGHT
    assert q.stages == (
        Stage("the formula", 2, ("ordinary", "one word, alone"), "Add up, and divide.", ("a",)),
        Stage(
            "what it says, and how", 1, ("long",), "Not so slow.", calls=40, tolerance=(1e-4, 0.01)
        ),
        Stage("gradients", 1, ("ordinary",), "Something is detached.", gradients=True),
    )
    [wrong] = q.wrong
    assert (wrong.name, wrong.keeps, wrong.hint) == ("no division", 1, "You do not divide.")
    assert same(wrong.code, RIGHT[0].replace(" / words[:, None]", ""))


def test_a_number_by_hand_needs_no_inputs():
    sheet = re.sub(r"(?s)pool\(states.*?\nread", "half = number\nread", SHEET, count=1)
    sheet = re.sub(r"(?s)RIGHT\n.*", "RIGHT\nhalf = 0.5\nhalf = 1 / 2\nWRONG\n", sheet)
    q = questions.question(f"{sheet}a third | 0.5 -> 0.33\n    Two halves.\n", oracle=lambda: 0.5)
    assert q.draw(None, "ordinary") == ()
    assert "float(x)" in q.probe
    assert q.right == ("half = 0.5\n", "half = 1 / 2\n")
    assert q.wrong[0].code == "half = 0.33\n"


def test_an_answer_ends_where_it_defines_what_is_asked_for():
    one = "from fractions import Fraction\nhalf = Fraction(1, 2)\n"
    two = "def third(x):\n    return x / 3\nhalf = 1.5 * third(1)\n"
    assert questions.right_answers(one + two, "half") == (one, two)


def test_a_piece_is_replaced_where_it_stands():
    assert changed("x | mask.sum(1) -> mask.sum(0)").code == RIGHT[0].replace(
        "mask.sum(1)", "mask.sum(0)"
    )
    # The second answer is the first that has it.
    assert changed("x | bsd,bs->bd -> bsd,bs->b").code == RIGHT[1].replace("->bd", "->b")
    both = changed("x | mask.sum(1) -> mask.sum(0); .all() -> .any()").code
    assert both == RIGHT[0].replace("mask.sum(1)", "mask.sum(0)").replace(".all()", ".any()")


def test_what_is_put_in_may_have_lines_of_its_own():
    expected = RIGHT[0].replace(
        "        return states[:, 0]\n",
        "        for b in range(2):\n            states[b] = 0\n        return states[:, 0]\n",
    )
    row = "x\n    | return states[:, 0] -> for b in range(2):\n    |     states[b] = 0"
    assert changed(f"{row}\n    | return states[:, 0]").code == expected
    assert changed(f"{row}; states[b] = 1\n    | return states[:, 0]").code == expected.replace(
        "= 0\n", "= 0\n            states[b] = 1\n"
    )


def test_every_result_of_the_function_is_changed_and_none_of_one_inside_it():
    assert same(
        changed("x | R -> R / R.sum()").code,
        RIGHT[0]
        .replace("return states[:, 0]", "return states[:, 0] / states[:, 0].sum()")
        .replace(
            "return states.sum(1) / words[:, None]",
            "return states.sum(1) / words[:, None] / (states.sum(1) / words[:, None]).sum()",
        ),
    )
    inner = ("def pool(x):\n    def f(y):\n        return y\n    return f(x)\n",)
    [wrong] = questions.mistakes("x | R -> -R\n    A hint.\n", inner)
    assert same(wrong.code, inner[0].replace("return f(x)", "return -f(x)"))


def test_a_mistake_of_another_shape_is_written_out():
    body = changed("x | y = states * 2; return y")
    assert body.code == "def pool(states, mask):\n    y = states * 2\n    return y\n"
    whole = changed("x\n    | def pool(a, b):\n    |     return a")
    assert whole.code == "def pool(a, b):\n    return a\n"


def test_what_is_pythons_own_separates_nothing():
    typed = "def pool(a, b) -> Tensor:"
    assert changed(f"x\n    | {typed}\n    |     return a").code == f"{typed}\n    return a\n"
    assert changed(f"x | {typed} return a").code == f"{typed} return a\n"
    text = "y = '; '.join(['a -> b', \"it's -> that\"]); return y"
    code = (
        "def pool(states, mask):\n    y = '; '.join(['a -> b', \"it's -> that\"])\n    return y\n"
    )
    assert changed(f"x | {text}").code == code
    # A head that is changed into another is a change like any other.
    head = changed("x | def pool(states, mask): -> def pool(mask, states):")
    assert head.code == RIGHT[0].replace("(states, mask):", "(mask, states):", 1)
    raised = changed("x | return states[:, 0] -> raise ValueError('a; b -> c')")
    assert raised.code == RIGHT[0].replace("return states[:, 0]", "raise ValueError('a; b -> c')")


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ("x | nothing -> more", r"mistake 'x': 'nothing' occurs 0 times, expected once"),
        ("x | words -> mask", r"mistake 'x': 'words' occurs 3 times, expected once"),
        ("x | mask.sum(1) -> mask.sum(1", r"mistake 'x': '\(' was never closed"),
        ("x", r"mistake 'x' needs a change and a hint"),
        ("    | return 1", r"nothing stands above '\| return 1'"),
    ],
)
def test_a_change_that_does_not_fit_is_named(row, said):
    with pytest.raises(ValueError, match=said):
        changed(row)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("read chapters", "see chapters", "expected a title, a signature, read"),
        ("the formula, 2 points", "the formula", "expected NAME, N points: KINDS"),
        ("40 calls", "40 numbers", "q3, stage 'what it says, and how' has no option '40 numbers'"),
        ("40 calls", "40 cells", "q3, stage 'what it says, and how' has no option '40 cells'"),
        ("/ words[:, None] ->", "% words ->", "q3, mistake 'no division': '% words' occurs 0"),
        ("gradients, 1", "gradient, 1", "stages that there are not: gradients"),
    ],
)
def test_a_line_that_cannot_be_read_is_shown(old, new, said):
    with pytest.raises(ValueError, match=said):
        questions.question(
            SHEET.replace(old, new), draw=tuple, oracle=tuple, parts={"gradients": ("a",)}
        )
