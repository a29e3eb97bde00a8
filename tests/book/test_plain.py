"""Plain notebooks: no MyST is left, numbers are the book's, code is the chapter's."""

import re
from urllib.parse import unquote

import nbformat
import pytest

from tools import address, course_map, plain
from tools.plain import Book, PlainError, Text

BOOK = Book()
PAGE = "chapters/03_additive"
TEXT = Text(BOOK, PAGE)


@pytest.fixture(autouse=True)
def _no_address(monkeypatch):
    monkeypatch.setattr(address, "book", lambda: "")


@pytest.fixture(scope="module", params=BOOK.notebooks)
def pair(request):
    """Return a page, its stored notebook, and the plain one."""
    stored = nbformat.read(BOOK.root / f"{request.param}.ipynb", as_version=4)
    return request.param, stored, plain.plain(request.param, BOOK)


def test_code_is_the_same_with_outputs_and_ids(pair):
    _, stored, made = pair
    before, after = (
        [(c.id, c.source, c.outputs, c.execution_count) for c in nb.cells if c.cell_type == "code"]
        for nb in (stored, made)
    )
    assert after == before
    assert {cell.id for cell in stored.cells} <= {cell.id for cell in made.cells}


def test_what_the_grader_and_nbval_read_stays_and_hidden_code_is_hidden(pair):
    _, stored, made = pair
    now = {cell.id: cell.metadata for cell in made.cells}
    for cell in stored.cells:
        tags = cell.metadata.get("tags", [])
        assert now[cell.id].get("seqattn") == cell.metadata.get("seqattn")
        assert now[cell.id].get("tags", []) == [t for t in tags if t.startswith("nbval-")]
        hidden = cell.cell_type == "code" and bool(plain.HIDDEN.intersection(tags))
        assert now[cell.id].get("jupyter", {}).get("source_hidden", False) == hidden
        assert (now[cell.id].get("cellView") == "form") == hidden
        folded = now[cell.id].get("jupyter", {}).get("outputs_hidden", False)
        assert folded == ("hide-output" in tags)
    assert made.metadata.get("seqattn") == stored.metadata.get("seqattn")
    assert "jupytext" not in made.metadata


def test_it_is_a_valid_notebook_without_anything_of_mysts(pair):
    page, _, made = pair
    nbformat.validate(made)
    for cell in made.cells:
        if cell.cell_type == "markdown":
            # A second conversion finds nothing to convert, but links, which stay.
            assert Text(BOOK, page).convert(cell.source) == cell.source


def test_every_link_leads_to_a_notebook(pair):
    page, _, made = pair
    for cell in made.cells:
        if cell.cell_type == "markdown":
            for link in re.findall(r"\]\(([^)\s]+)\)", cell.source):
                assert link.startswith(("https:", "mailto:")) or (
                    plain.normpath(f"{plain.dirname(page)}/{unquote(link)}").removesuffix(".ipynb")
                    in BOOK.notebooks
                ), link


def test_each_picture_has_its_words_behind_it(pair):
    _, stored, made = pair
    told = [c.metadata.get("mystnb", {}) for c in stored.cells]
    alts = [cell["image"]["alt"] for cell in told if "image" in cell]
    folded = [c.source for c in made.cells if c.id.endswith("-alt")]
    assert len(alts) == len(folded)
    assert all(alt in text for alt, text in zip(alts, folded))


def test_formulas_are_numbered_within_their_chapter():
    numbers = course_map.formula_numbers()
    assert numbers["eq-additive-score"] == "3.1"  # the first of chapter 3
    threes = [number for number in numbers.values() if number.startswith("3.")]
    assert threes == [f"3.{n}" for n in range(1, len(threes) + 1)]
    assert numbers["eq-softmax"].startswith("2.")
    assert numbers["eq-multi-head"].startswith("R.")
    assert len(set(numbers.values())) == len(numbers)


@pytest.mark.book
def test_the_pages_show_the_numbers_of_the_notebooks(book):
    for page in BOOK.notebooks:
        text = (book / f"{page}.html").read_text(encoding="utf-8")
        tags = re.findall(
            r"\\tag\{([\d.R]+)\}",
            "\n".join(c.source for c in plain.plain(page, BOOK).cells if c.cell_type == "markdown"),
        )
        assert re.findall(r'class="eqno">\(([^)]*)\)', text) == tags
        numbers = {BOOK.formulas[label][1] for label in BOOK.formulas}
        assert set(re.findall(r'href="[^"]*#equation-[^"]*">\(([^)]*)\)', text)) <= numbers
    map_page = (book / "chapters" / "map.html").read_text(encoding="utf-8")
    assert '#equation-eq-additive-score">(3.1)<' in map_page


def test_authors_and_year_tell_each_source_from_every_other():
    assert len(set(BOOK.sources.values())) == len(BOOK.sources) > 100


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("in {eq}`eq-additive-score`, then", "in (ADD), then"),
        ("score ({eq}`eq-additive-score`)", "score (ADD)"),
        (
            "as {eq}`eq-softmax`",
            "as (SOFT) in [2. Soft addressing: queries, keys, values](02_soft_addressing.ipynb)",
        ),
        ("by {eq}`eq-multi-head`", "by (HEAD) in *Mechanisms, each with its formula*"),
        ("{cite:t}`bahdanau2015` say", "Bahdanau et al. (2015) say"),
        ("({cite:t}`cho2014rnn`)", "(Cho et al. (2014a))"),
        ("so {cite:p}`cho2014properties,xu2015`", "so (Cho et al., 2014b; Xu et al., 2015)"),
        ("a {class}`~seqattn.attention.Memory`", "a `Memory`"),
        ("see [the runs](training_runs.md)", "see *the runs*"),
        ("see [it](02_soft_addressing.ipynb#by-hand)", "see [it](02_soft_addressing.ipynb)"),
        ("the {context}`context` $\\context{c_t}$", "the context ${c_t}$"),
        ("$$ \\weights{a} $$ (eq-aer)", "$$ {a} \\tag{AER} $$"),
        ("`$\\query{q}$`", "`$\\query{q}$`"),
        ("$$ a \\\\ b $$ (eq-aer)", "$$ a \\\\ b \\tag{AER} $$"),
        ("$$\na\n$$ (eq-aer)", "$$\na\n\\tag{AER}\n$$"),
        ("  $$\n  a\n  $$ (eq-aer)", "  $$\n  a\n  \\tag{AER}\n  $$"),
        ("`{eq}` and ``{eq}`eq-aer` ``", "`{eq}` and ``{eq}`eq-aer` ``"),
        ("```python\n{eq}`x` ::: $$\n```", "```python\n{eq}`x` ::: $$\n```"),
        (":::{grid-item}\n**A**\n\nb\nc\n:::", "- **A**: b c"),
        (":::{tip}\nSee {eq}`eq-aer`.\n:::", "> **Tip**\n>\n> See (AER)."),
        (
            ":::{note}\n$$\na\n$$ (eq-aer)\n:::",
            "> **Note**\n>\n> $$ a \\tag{AER} $$",
        ),
    ],
)
def test_each_rule(text, shown):
    for word, label in (("ADD", "additive-score"), ("AER", "aer"), ("SOFT", "softmax"),
                        ("HEAD", "multi-head")):  # fmt: skip
        shown = shown.replace(word, BOOK.formulas[f"eq-{label}"][1])
    assert TEXT.convert(text) == shown


@pytest.mark.parametrize(
    "text",
    [
        "{numref}`figure`",
        ":::{tab-set}\nx\n:::",
        "```{figure} a.png\n```",
        ":::{note}\nnever closed",
        "(a-target)=",
        "a note[^1]",
        "term\n: what it means",
        "> $$\n> a\n> $$ (eq-aer)",
        "> $$\n> a\n> $$",
        "$$ never closed",
        "{{ substitution }}",
        "![A picture](../_assets/map.png)",
        "[code](../seqattn/regularizers.py)",
        "[gone](99_gone.ipynb)",
    ],
)
def test_what_has_no_rule_stops_the_conversion(text):
    with pytest.raises(PlainError, match=PAGE):
        TEXT.convert(text)


def test_a_published_notebook_installs_the_published_wheel():
    made = plain.plain("exercises/03_additive", BOOK, "https://a.example/seqattn.whl")
    assert 'WHEEL = "https://a.example/seqattn.whl"' in made.cells[1].source
    # pip leaves a PyTorch alone that is there, as Colab's: the wheel asks for no exact version.
    requirements = (BOOK.root / "pyproject.toml").read_text(encoding="utf-8")
    assert re.search(r'dependencies = \["torch>=', requirements)
