"""What pages claim: every number and every comparison stands on something, and is looked for."""

import math
from pathlib import Path

import nbformat
import numpy as np
import pytest
import torch

from tools import claims, notebooks

ROOT = claims.ROOT
PAGES = [
    ROOT / "chapters" / name for name in ("how_to_use.md", "grading_a_class.md", "notation.md")
]


def said_by(path):
    if path.suffix == ".md":
        return claims.page_passages(path.read_text(encoding="utf-8"))
    return claims.passages(notebooks.read_source(path))


@pytest.mark.parametrize("path", [*notebooks.sources(), *PAGES], ids=lambda path: path.stem)
def test_every_number_and_comparison_of_a_page_stands_on_something(path):
    missing = claims.uncovered(said_by(path), claims.read(claims.table(path)))
    where = claims.table(path).relative_to(ROOT)
    assert not missing, (
        f"{len(missing)} in {path.name}, its questions included; each takes its value from the "
        f"code or has a line in {where}:\n" + "\n".join(missing)
    )


@pytest.mark.parametrize("path", notebooks.sources(), ids=lambda path: path.stem)
def test_a_claim_asks_for_nothing_that_only_a_later_cell_makes(path):
    source = notebooks.read_source(path)
    assert claims.too_early(source, claims.read(claims.table(path))) == []


@pytest.mark.parametrize("path", sorted(claims.CLAIMS.glob("*.yml")), ids=lambda path: path.stem)
def test_a_table_belongs_to_a_page_and_names_tests_that_exist(path):
    assert any((ROOT / "chapters" / f"{path.stem}{end}").exists() for end in (".py", ".md"))
    for claim in claims.read(path):
        if claim.ground == "test":
            file, _, name = claim.what.partition("::")
            text = (ROOT / file).read_text(encoding="utf-8")
            assert f"def {name.partition('[')[0]}(" in text, f"{path.name}: no test {claim.what}"


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_what_a_page_without_code_claims_is_true(path):
    names = {"math": math, "np": np, "torch": torch, "ROOT": ROOT, "Path": Path}
    for claim in claims.read(claims.table(path)):
        if claim.ground == "holds":
            assert eval(claim.what, names), f"{claim.says!r}, but not: {claim.what}"


# --- the mechanism -------------------------------------------------------------------------------


def notebook(*texts):
    """Text cells, and code cells where a text begins with ">"."""
    new = nbformat.v4
    return new.new_notebook(
        cells=[
            new.new_code_cell(text[1:]) if text.startswith(">") else new.new_markdown_cell(text)
            for text in texts
        ]
    )


def marks(text, *claimed):
    lines = [claims.Claim(says, "given", "the example's") for says in claimed]
    return [m.partition(" in “")[0] for m in claims.uncovered(claims.page_passages(text), lines)]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("It takes 0.41 of all.", ["'0.41'"]),
        ("It costs 7 % more.", ["'7 %'"]),
        ("It reads 32,000 words in $n = 640$ steps.", ["'32,000'", "'640'"]),
        ("| cat | 2.72 |", ["'2.72'"]),
        ("Three words, 3 states, chapter 17, section 4.1, equation (13), float32.", []),
        ("Bahdanau et al. (2015) {cite:t}`b2015n17`, `x = 0.5`, [a](b_33.ipynb).", []),
        ("$$\na = 0.5\n$$ (eq-a)", []),
        ("$$\na = 0.5\n$$", ["'0.5'"]),
        ("```python\nx = 0.5\n```", []),
        ("It is {{ f'{x:.2f} 0.3' }} nats.", []),
        ("This one is much\nbetter than that.", ["'better than'"]),
        ("BLEU falls with length.", ["'falls with'"]),
        ("It never fails, and not by chance.", ["'never'", "'by chance'"]),
        ("It is missing from each of the three seeds.", ["'each of the three seeds'"]),
        ("In every seed it is ahead.", ["'every seed'", "'is ahead'"]),
        ("The ranges overlap: no difference seen.", ["'ranges overlap'", "'no difference seen'"]),
        ("A better way to ask.", []),
    ],
)
def test_what_needs_a_ground(text, found):
    assert sorted(marks(text)) == sorted(found)


def test_a_claim_covers_the_words_it_names_and_no_others():
    text = "It is 0.41 here\nand 0.52 there."
    assert marks(text, "It is 0.41 here and") == ["'0.52'"]
    assert marks(text, "0.41 here and 0.52") == []


def test_questions_answers_and_text_alternatives_count_as_prose():
    cells = notebook('>figure("Which of these words stands above 0.77 in the picture?", 0.5)')
    cells.cells[0].metadata["mystnb"] = {"image": {"alt": "It ends near 0.4."}}
    found = " ".join(claims.uncovered(claims.passages(cells), []))
    assert "0.77" in found
    assert "0.4'" in found
    assert "0.5'" not in found


@pytest.mark.parametrize(("says", "why"), [("0.42", "nowhere"), ("is", "2 times"), ("0.41", None)])
def test_a_claim_stands_on_its_page_once(says, why):
    said = claims.page_passages("It is 0.41, it is.")
    claim = claims.Claim(says, "given", "the example's")
    if why is None:
        assert claims.place(claim, said) == (0, 6, 10)
    else:
        with pytest.raises(ValueError, match=why):
            claims.place(claim, said)


@pytest.mark.parametrize(
    ("entry", "why"),
    [
        ("- says: a\n", "needs `says` and one of"),
        ("- says: a\n  holds: b\n  given: c\n", "needs `says` and one of"),
        ("- says: a\n  holds: b ==\n", "no expression"),
        ("- says: a\n  given: b\n  at: end\n", "`at` goes with `holds`"),
        ("- says: a\n  given: b\n  because: c\n", "because"),
        ("- says: a\n  given: ''\n", "is empty"),
        ("- says: '{{ x }}'\n  within: about 2\n", "a number above 0, not about 2"),
        ("- says: '{{ x }}'\n  within: 0\n", "a number above 0, not 0"),
        ("- says: 0.52\n  within: 2\n", "needs `says`"),
        ("- says: some 0.52\n  within: 2\n", "a piece that has a placeholder"),
    ],
)
def test_a_line_that_says_nothing_is_refused(tmp_path, entry, why):
    path = tmp_path / "42_test.yml"
    path.write_text(entry, encoding="utf-8")
    with pytest.raises(ValueError, match=why):
        claims.read(path)


SOURCE = """\
# %% [markdown]
# Nothing yet.
# %%
x = 0.5
x
# %% [markdown]
# It is {{ f"{x:.2f}" }}, twice that is {{ 2 * x
# }}, once more {{ f"{x:.2f}" }}.
# %%
x = 0.75
x
# %% [markdown]
# Now it is {{ f"{x:.2f}" }}.
"""


@pytest.mark.slow
def test_prose_takes_values_from_the_code_before_it(tmp_path):
    path = tmp_path / "42_test.py"
    path.write_text(SOURCE, encoding="utf-8")
    stored = notebooks.execute(notebooks.read_source(path))
    texts = [cell.source for cell in stored.cells if cell.cell_type == "markdown"]
    assert texts == [
        "Nothing yet.",
        "It is 0.50, twice that is 1.0, once more 0.50.",
        "Now it is 0.75.",
    ]
    code = [cell for cell in stored.cells if cell.cell_type == "code"]
    assert [cell.execution_count for cell in code] == [1, 2]
    assert [cell.outputs[0].execution_count for cell in code] == [1, 2]
    notebooks.write(stored, path.with_suffix(".ipynb"))
    assert notebooks.drift(path) is None

    # Words may change without a run; what is asked for may not.
    path.write_text(SOURCE.replace("Now it is", "Now it has become"), encoding="utf-8")
    renewed = notebooks.renew_prose(stored, notebooks.read_source(path))
    assert renewed.cells[-1].source == "Now it has become 0.75."
    path.write_text(
        SOURCE.replace("Now it is {{ f", "Now it is {{ 3 * x }}, {{ f"), encoding="utf-8"
    )
    assert "no value" in notebooks.drift(path)
    assert notebooks.renew_prose(stored, notebooks.read_source(path)) is None


def run(cells):
    names = {}
    for cell in cells:
        if cell.cell_type == "code":
            exec(cell.source, names)


def test_claims_and_values_are_judged_where_they_stand():
    plain = notebook(">x = [0.5, 0.6]", "It is 0.5, above chance.", ">x = [0.7]", "It is 0.7.")
    said = claims.passages(plain)
    plain.cells[1].metadata["seqattn"] = {"values": {"x[0]": "0.5"}}
    right = [
        claims.Claim("It is 0.5", "holds", "x[0] == 0.5"),
        claims.Claim("above chance", "holds", "above(x, [0.1, 0.3]) and math.pi > 3"),
        claims.Claim("It is 0.7", "holds", "[x[0] for _ in x] == [0.7]"),
    ]
    checked = claims.with_checks(plain, right, said)
    assert len(checked.cells) == 6
    run(checked.cells)
    for wrong in (
        claims.Claim("It is 0.5", "holds", "x[0] == 0.7"),
        claims.Claim("It is 0.5", "holds", "x[0] == 0.5", at_end=True),
    ):
        with pytest.raises(AssertionError, match=r"the page says 'It is 0\.5'"):
            run(claims.with_checks(plain, [wrong], said).cells)
    plain.cells[1].metadata["seqattn"]["values"] = {"x[0]": "0.51"}
    with pytest.raises(AssertionError, match=r"shows '0.51' for x\[0\]: now '0.5'"):
        run(claims.with_checks(plain, [], said).cells)


def test_a_value_comes_out_again_to_the_last_digit_unless_a_line_allows_it_more():
    source = notebook(">x, y = {x}, 0.7", "From {{ x }} to {{ y }} %.")
    said = claims.passages(source)

    def check(now, allowed):
        stored = notebook(f">x, y = '{now}', '0.7 %'", "From 1,014 to 0.7 %.")
        stored.cells[1].metadata["seqattn"] = {"values": {"x": "1,014", "y": "0.7 %"}}
        lines = [claims.Claim("From {{ x }}", "within", allowed)] if allowed else []
        run(claims.with_checks(stored, lines, said).cells)

    check("1,014", None)
    check("1,015", "1.5")
    check("1,012.5", "1.5")
    for now, allowed in (("1,015", None), ("1,016", "1.5"), ("1,012", "1.5")):
        with pytest.raises(AssertionError, match=rf"shows '1,014' for x: now '{now}'"):
            check(now, allowed)
    # A range is near another where both ends are.
    stored = notebook(">x, y = '0.94 to −0.98', '0.7 %'", "From 0.95 to −0.98 to 0.7 %.")
    stored.cells[1].metadata["seqattn"] = {"values": {"x": "0.95 to −0.98"}}
    run(claims.with_checks(stored, [claims.Claim("From {{ x }}", "within", "0.02")], said).cells)
    for ends in ("0.92 to −0.98", "0.95 to −0.95", "0.95"):
        stored.cells[0].source = f"x, y = '{ends}', '0.7 %'"
        with pytest.raises(AssertionError, match=rf"for x: now '{ends}'"):
            run(
                claims.with_checks(
                    stored, [claims.Claim("From {{ x }}", "within", "0.02")], said
                ).cells
            )
    # The other value of the sentence has no line.
    source.cells[1].metadata["seqattn"] = {"values": {"y": "0.6 %"}}
    source.cells[0].source = "x, y = '1', '0.7 %'"
    lines = [claims.Claim("From {{ x }}", "within", "9")]
    with pytest.raises(AssertionError, match=r"shows '0\.6 %' for y"):
        run(claims.with_checks(source, lines, said).cells)


def test_what_a_later_cell_makes_is_judged_at_the_end_alone():
    cells = notebook(">import math as m\nlow = 1", "It is 0.5.", ">def high(): ...\nloss = 0.5")
    lines = {
        "loss == 0.5 and low": ["'0.5' asks for loss, which a cell below it makes: add `at: end`"],
        "high() is None": ["'0.5' asks for high, which a cell below it makes: add `at: end`"],
        "low == m.floor(1.5)": [],
        "all(loss > 0 for loss in [low])": [],
    }
    for what, found in lines.items():
        assert claims.too_early(cells, [claims.Claim("0.5", "holds", what)]) == found
    assert claims.too_early(cells, [claims.Claim("0.5", "holds", "loss == 0.5", at_end=True)]) == []


def test_an_allowance_is_no_ground_for_the_words_beside_it():
    text = "It is {{ x }}, 0.41 more than that."
    line = claims.Claim(text, "within", "2")
    found = claims.uncovered(claims.page_passages(text), [line])
    assert [mark.partition(" in “")[0] for mark in found] == ["'0.41'", "'more than'"]
    with pytest.raises(ValueError, match="nowhere"):
        claims.uncovered(claims.page_passages("It is {{ y }}."), [line])
