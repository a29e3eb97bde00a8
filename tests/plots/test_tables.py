"""Tables of results: the same numbers as HTML and as text."""

import re
from xml.etree import ElementTree

import pytest

from seqattn.plots import ResultTable, experiment_card

TABLE = ResultTable(
    ("model", "seeds", "BLEU", "remark"),
    [("fixed & old", 3, "15.5 ± 0.5", None), ("attention", 1200, "63.3 ± 3.2", "a < b")],
    "BLEU at 40 words",
    "three seeds",
)


def test_both_faces_hold_the_same_cells():
    root = ElementTree.fromstring(TABLE._repr_html_())
    assert root.find("caption").text == "BLEU at 40 words"
    assert root.find("tfoot/tr/td").attrib == {"colspan": "4"}
    cells = [[cell.text for cell in row] for row in root.findall("tbody/tr")]
    # On a narrow page a line does not break before a spread.
    assert cells[0][2] == "15.5 ±\u00a00.5"
    cells = [[text.replace("\u00a0", " ") for text in row] for row in cells]
    assert cells == [["fixed & old", "3", "15.5 ± 0.5", "–"],
                     ["attention", "1,200", "63.3 ± 3.2", "a < b"]]  # fmt: skip
    caption, _, *rows, note = repr(TABLE).splitlines()
    assert (caption, note) == ("BLEU at 40 words", "three seeds")
    assert [re.split(r" {2,}", row) for row in rows] == cells
    # Numbers end below each other, and so they do on the page.
    assert {row.index(" ± ") for row in rows} == {rows[0].index(" ± ")}
    assert [th.get("class") for th in root.findall("thead/tr/th")] == [
        None,
        *["sa-number"] * 2,
        None,
    ]
    assert all(th.get("scope") for th in root.iter("th"))


def test_numbers_are_as_long_as_one_reads_and_names_are_those_of_readers():
    table = ResultTable(("model", "bleu"), [("ibm1", 1.91170405094834), ("aer", 0.1 + 0.2),
                                            ("lr", 12345.678)], "Raw")  # fmt: skip
    root = ElementTree.fromstring(table._repr_html_())
    assert [th.text for th in root.findall("thead/tr/th")] == ["model", "BLEU"]
    assert [[cell.text for cell in row] for row in root.findall("tbody/tr")] == [
        ["IBM Model 1", "1.912"],
        ["AER", "0.3"],
        ["learning rate", "12,346"],
    ]


def test_a_range_is_a_number_and_a_number_below_zero_has_a_minus_sign():
    rows = [("shift -1", "0.90 to 0.91", "0.8 (0.7 to 0.9)", -2.67, "0.5, -0.1"),
            ("best-of-1", "-0.1 to 2", "–", 1e-5, "2026-11-26")]  # fmt: skip
    table = ResultTable(("way", "seeds", "area", "log p", "note"), rows, "Signs")
    root = ElementTree.fromstring(table._repr_html_())
    assert [[cell.text for cell in row] for row in root.findall("tbody/tr")] == [
        ["shift −1", "0.90 to\u00a00.91", "0.8 (0.7 to\u00a00.9)", "−2.67", "0.5, −0.1"],
        ["best-of-1", "−0.1 to\u00a02", "–", "1e-05", "2026-11-26"],
    ]
    heads = root.findall("thead/tr/th")
    assert [th.get("class") for th in heads] == [None, *["sa-number"] * 4]


def test_a_card_quotes_a_command_as_it_is_typed_and_breaks_no_option():
    card = experiment_card({"command": "seqattn train --seed -1 --epochs 4"})
    root = ElementTree.fromstring(card._repr_html_())
    [cell] = root.findall("tbody/tr/td")
    assert "".join(cell.itertext()) == "seqattn train --seed -1 --epochs 4"
    assert [part.text for part in cell] == ["--seed", "--epochs"]
    assert {part.get("class") for part in cell} == {"sa-held"}


def test_a_card_tells_what_is_nested_line_by_line():
    card = experiment_card({"pairs": 40000, "seconds": {"fixed": 492, "attention": 634},
                            "lr": [0.1, 0.2], "command": "python -m x"})  # fmt: skip
    assert list(card.rows) == [("repeat it with", "python -m x"), ("seconds, fixed", "492"),
                               ("seconds, attention", "634"), ("pairs", "40,000"),
                               ("learning rate", "0.1, 0.2")]  # fmt: skip
    assert 'class="sa-table sa-card"' in card._repr_html_()
    assert "<thead>" not in card._repr_html_()


def test_a_row_of_the_wrong_length_is_named():
    with pytest.raises(ValueError, match=r"the table 't' has 1 cells; expected one for each of 2"):
        ResultTable(("a", "b"), [("x",)], "t")
