"""What a page claims: each number and each comparison in prose is measured, tested, cited or given.

Two means. Prose may take a value from the code before it: ``{{ f"{loss:.2f}" }}`` in a text cell is
replaced by the value of the expression when the notebook is executed. Everything else stands in a
table beside the page, ``chapters/claims/NN_name.yml``: a list of lines, each with ``says``, a piece
of the page's prose, and one of

``holds``
    an expression that must be true in the notebook's own kernel, where the sentence stands (with
    ``at: end``, behind the last cell);
``test``
    the test that proves it, ``tests/…/test_file.py::test_name``;
``source``
    the paper, with section or equation, that found it;
``given``
    why it needs no proof: a choice that the author makes, or a definition;
``within``
    nothing of its own, but how far the values of the placeholders in this piece may be from those
    of another run. A value must come out to the last digit again, unless a line allows it more: one
    that comes from a training is another on another processor.

:func:`uncovered` finds the numbers and comparisons that have neither. The notebooks' stage runs
:func:`check_cells` in the kernel of each notebook.
"""

import ast
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import nbformat
import yaml
from nbformat import NotebookNode

from tools import questions

ROOT = Path(__file__).resolve().parents[1]
CLAIMS = ROOT / "chapters" / "claims"
GROUNDS = ("holds", "test", "source", "given", "within")

PLACEHOLDER = re.compile(r"\{\{\s+(.+?)\s+\}\}", re.DOTALL)
# What Python prints before a negative number is a hyphen; prose has a minus sign.
_HYPHEN = re.compile(r"(?<![\w.])-(?=\.?\d)")
NUMBER = re.compile(r"(?<![\w.])\d[\d,]*(?:\.\d+)?(?:\s?%)?")
# A number behind one of these names a place, not a quantity; a page's title begins with its number.
PLACE = re.compile(
    r"(?:^\#\s|chapters?|sections?|equations?|eqs?\.?|figures?|tables?|exercises?|version|Python|float|"
    r"bfloat|int|pages?|§|algorithm|part|[–-])\s?\(?$",
    re.IGNORECASE,
)
COMPARISON = re.compile(
    r"""\b(?:
    (?:more|less|fewer|higher|lower|larger|smaller|bigger|better|worse|faster|slower|longer|shorter
       |closer|stronger|weaker|easier|harder|cheaper|sharper|flatter)\s+(?:\w+\s+)?than
    |(?:falls?|rises?|grows?|shrinks?|drops?|increases?|decreases?|improves?)
       \s+(?:with|as|from|by|to|when)
    |always|never|by\schance|significan\w+|on\saverage|outperforms?|beats
    |(?:no|as)\s(?:better|worse|good)|best|worst|most\sof\sthe|almost\s(?:all|none|always|never|every)
    |twice|half\sof|times\sas|\w+fold|percent
    |(?:(?:each|every|no|none|both|all|any)\s(?:of\s)?(?:the\s)?(?:\w+\s)?|lowest\s|highest\s)seeds?
    |(?:each|all|none|both)\sof\s(?:the\s)?three|(?:is|are|was|were|comes?|stays?)\s(?:\w+\s)?ahead
    |ranges?\s(?:do\snot\s|which\s)?(?:overlap|touch)|ranges\sapart|no\sdifference\s(?:is\s|was\s)?seen
    )\b""",
    re.IGNORECASE | re.VERBOSE,
)
# Not prose, or not a claim: masked, so that positions stay.
MASKED = (
    re.compile(r"^(`{3,}|~{3,}).*?^\1\s*$", re.DOTALL | re.MULTILINE),
    re.compile(r"\$\$.*?\$\$\s*\(eq-[\w-]+\)", re.DOTALL),  # a formula with a test of its own
    PLACEHOLDER,
    re.compile(r"\{[a-z:]+\}`[^`]*`"),  # a role, such as a citation
    re.compile(r"`[^`\n]*`"),
    re.compile(r"\]\([^)]*\)"),
    re.compile(r"<[^>]+>"),
)


@dataclass(frozen=True)
class Claim:
    """One line of a page's table.

    Parameters
    ----------
    says : str
        A piece of the page's prose, white space folded.
    ground : str
        What it stands on: one of :data:`GROUNDS`.
    what : str
        The expression, test, source, reason or number.
    at_end : bool
        Whether an expression is judged behind the last cell.
    """

    says: str
    ground: str
    what: str
    at_end: bool = False


@dataclass(frozen=True)
class Passage:
    """A text of a page and the cell it stands in; ``text`` has its white space folded."""

    cell: int
    text: str
    masked: str


def _fold(text: str) -> str:
    return re.sub(r"\s+", " ", text).strip()


def _passage(cell: int, text: str, *, prose: bool = True) -> Passage:
    masked = text
    if prose:
        for pattern in MASKED:
            masked = pattern.sub(lambda found: re.sub(r"\S", "\0", found[0]), masked)
    # Both are folded at the same places: a mask replaces no white space.
    return Passage(cell, _fold(text), _fold(masked))


def read(path: Path) -> list[Claim]:
    """Read a page's table; a page without a file claims nothing.

    Raises
    ------
    ValueError
        If a line has not exactly one ground, an unknown key, or an expression that is none; the
        message names file and line.
    """
    if not path.exists():
        return []
    claims = []
    for entry in yaml.safe_load(path.read_text(encoding="utf-8")) or []:
        where = f"{path.name}: {entry.get('says', entry)!r}"
        grounds = [key for key in GROUNDS if key in entry]
        if len(grounds) != 1 or not isinstance(entry.get("says"), str):
            raise ValueError(f"{where} needs `says` and one of {', '.join(GROUNDS)}")
        if extra := set(entry) - {"says", "at", grounds[0]}:
            raise ValueError(f"{where} has {', '.join(sorted(extra))}: only `at: end` may be added")
        if entry.get("at", "end") != "end" or ("at" in entry and grounds[0] != "holds"):
            raise ValueError(f"{where}: `at` goes with `holds`, and `end` is its one value")
        what = str(entry[grounds[0]]).strip()
        if grounds[0] == "holds":
            try:
                compile(what, str(path), "eval")
            except SyntaxError as error:
                raise ValueError(f"{where}: `holds` is no expression: {error.msg}") from error
        if not what:
            raise ValueError(f"{where}: `{grounds[0]}` is empty")
        if grounds[0] == "within":
            if not (re.fullmatch(r"\d+(\.\d+)?", what) and float(what) > 0):
                raise ValueError(f"{where}: `within` is a number above 0, not {what}")
            if not expressions(entry["says"]):
                raise ValueError(f"{where}: `within` goes with a piece that has a placeholder")
        claims.append(Claim(_fold(entry["says"]), grounds[0], what, "at" in entry))
    return claims


def table(page: Path) -> Path:
    """Say where the table of a page stands."""
    return CLAIMS / f"{page.stem}.yml"


def passages(notebook: NotebookNode) -> list[Passage]:
    """Collect what a notebook says: text cells, text alternatives, sentences in its code.

    Wrong options of questions claim nothing; what is said of them does.
    """
    found = []
    for number, cell in enumerate(notebook.cells):
        if cell.cell_type == "markdown":
            found.append(_passage(number, questions.expanded(cell.source, wrong=False)))
        elif cell.cell_type == "code":
            alternative = cell.metadata.get("mystnb", {}).get("image", {}).get("alt")
            said = [alternative] if alternative else []
            said += [text for text in _sentences(cell.source) if text not in said]
            found += [_passage(number, text, prose=False) for text in said]
    return found


def _sentences(code: str) -> Iterator[str]:
    """Yield the texts of six words or more in a cell: questions and answers of live figures."""
    try:
        tree = ast.parse(code)
    except SyntaxError:  # a cell with a magic
        return
    for node in ast.walk(tree):
        text = node.value if isinstance(node, ast.Constant) else None
        if isinstance(text, str) and len(text.split()) >= 6:
            yield text


def page_passages(text: str) -> list[Passage]:
    """Take a page without code as one passage."""
    return [_passage(0, text)]


def place(claim: Claim, said: list[Passage]) -> tuple[int, int, int]:
    """Find a claim on its page.

    Returns
    -------
    tuple of int
        Number of the passage, and the first and the last position in it.

    Raises
    ------
    ValueError
        If the page does not say it, or says it more than once.
    """
    found = [
        (number, match.start(), match.end())
        for number, passage in enumerate(said)
        for match in re.finditer(re.escape(claim.says), passage.text)
    ]
    if len(found) != 1:
        many = f"{len(found)} times: add words" if found else "nowhere: was the sentence changed?"
        raise ValueError(f"the page says {claim.says!r} {many}")
    return found[0]


def _marks(passage: Passage) -> Iterator[re.Match[str]]:
    """Find the numbers and comparisons of a passage; small counts, years and places are none."""
    for match in NUMBER.finditer(passage.masked):
        written = match[0].replace(" ", "").rstrip(",")
        if PLACE.search(passage.masked[: match.start()]):
            continue
        if written.isdigit() and (int(written) <= 12 or 1900 <= int(written) <= 2030):
            continue
        yield match
    yield from COMPARISON.finditer(passage.masked)


def uncovered(said: list[Passage], claims: list[Claim]) -> list[str]:
    """Name the numbers and comparisons that no claim covers, each with the words around it."""
    places = [place(claim, said) for claim in claims]
    # How exactly a value has to come out again is no ground for the words beside it.
    places = [at for at, claim in zip(places, claims, strict=True) if claim.ground != "within"]
    missing = []
    for number, passage in enumerate(said):
        spans = [(first, last) for where, first, last in places if where == number]
        for match in _marks(passage):
            first, last = match.span()
            if not any(a <= first and last <= b for a, b in spans):
                around = passage.text[max(0, first - 40) : last + 40]
                missing.append(f"{match[0]!r} in “…{around}…”")
    return missing


def too_early(notebook: NotebookNode, claims: list[Claim]) -> list[str]:
    """Name the claims that ask, where they stand, for what only a cell below them makes."""
    made = [_made(cell.source) if cell.cell_type == "code" else set() for cell in notebook.cells]
    said, found = passages(notebook), []
    for claim in claims:
        if claim.ground != "holds" or claim.at_end:
            continue
        here = said[place(claim, said)[0]].cell + 1
        asked = {n.id for n in ast.walk(ast.parse(claim.what)) if isinstance(n, ast.Name)}
        later = asked & set().union(*made[here:]) - set().union(*made[:here], _made(claim.what))
        if later:
            names = ", ".join(sorted(later))
            found.append(
                f"{claim.says!r} asks for {names}, which a cell below it makes: add `at: end`"
            )
    return found


def _made(code: str) -> set[str]:
    """Collect the names that a piece of code gives to something."""
    try:
        tree = ast.parse(code)
    except SyntaxError:  # a cell with a magic
        return set()
    names = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.alias):
            names.add((node.asname or node.name).partition(".")[0])
        elif isinstance(node, ast.arg):
            names.add(node.arg)
    return names


# --- values that prose takes from the code before it --------------------------------------------

_TAKE = "\n".join(
    (
        "import json as _json",
        "print(_json.dumps([str(eval(_text)) for _text in {expressions!r}]))",
        "del _json",
    )
)


def expressions(text: str) -> list[str]:
    """List the expressions of a text's placeholders, in order, white space folded."""
    return [_fold(found) for found in PLACEHOLDER.findall(text)]


def with_takers(notebook: NotebookNode) -> NotebookNode:
    """Put a cell that evaluates them behind each text that has placeholders."""
    cells = []
    for cell in notebook.cells:
        cells.append(cell)
        if cell.cell_type == "markdown" and (asked := expressions(cell.source)):
            code = _TAKE.format(expressions=asked)
            cells.append(nbformat.v4.new_code_cell(code, metadata={"takes": cell.id}))
    return NotebookNode(notebook, cells=cells)


def settle(notebook: NotebookNode) -> NotebookNode:
    """Take the cells of :func:`with_takers` out again and write their values into the texts.

    What code shows is numbered anew, as if those cells had never been there.
    """
    values: dict[str, list[str]] = {}
    kept, count = [], 0
    for cell in notebook.cells:
        if cell.cell_type == "code" and "takes" in cell.metadata:
            printed = "".join(out.text for out in cell.outputs if out.output_type == "stream")
            values[cell.metadata.takes] = json.loads(printed)
            continue
        if cell.cell_type == "code" and cell.execution_count is not None:
            count += 1
            cell.execution_count = count
            for output in cell.outputs:
                if output.output_type == "execute_result":
                    output.execution_count = count
        kept.append(cell)
    filled = NotebookNode(notebook, cells=kept)
    for cell in filled.cells:
        if cell.id in values:
            fill(cell, dict(zip(expressions(cell.source), values[cell.id], strict=True)))
    return filled


def fill(cell: NotebookNode, values: dict[str, str]) -> None:
    """Write values into a text; they are remembered in the cell's metadata, by expression."""
    told = {asked: _HYPHEN.sub("−", value) for asked, value in values.items()}
    cell.source = PLACEHOLDER.sub(lambda found: told[_fold(found[1])], cell.source)
    cell.metadata.seqattn = NotebookNode(cell.metadata.get("seqattn", {}), values=values)


def take_over(fresh: NotebookNode, stored: NotebookNode) -> bool:
    """Fill a source's placeholders with the values of the stored notebook.

    Returns
    -------
    bool
        False if a text asks for something that was never evaluated.
    """
    code, known = 0, {}
    # A value is that of its place: the same expression may be worth something else further down.
    for cell in stored.cells:
        code += cell.cell_type == "code"
        for expression, value in cell.metadata.get("seqattn", {}).get("values", {}).items():
            known[code, expression] = value
    code = 0
    for cell in fresh.cells:
        code += cell.cell_type == "code"
        if cell.cell_type == "markdown" and (asked := expressions(cell.source)):
            if any((code, expression) not in known for expression in asked):
                return False
            fill(cell, {expression: known[code, expression] for expression in asked})
    return True


# --- the checks that run in the notebook's own kernel -------------------------------------------

_CHECK = """\
def _check():
    import math, re, statistics
    import numpy, torch
    names = {{"math": math, "statistics": statistics, "np": numpy, "torch": torch}}
    # Ranges over seeds: does the lowest of one lie above the highest of the other?
    names["above"] = lambda these, those: min(these) > max(those)
    names["overlap"] = lambda a, b: min(a) <= max(b) and min(b) <= max(a)
    names |= globals()
    wrong = []
    for says, expression in {holds!r}:
        if not eval(expression, names):
            wrong.append(f"the page says {{says!r}}, but not: {{expression}}")
    def near(text, other, within):  # one number, or a range: both of its ends
        plain = (t.replace(",", "").replace("−", "-") for t in (text, other))
        these, those = ([float(x) for x in re.findall("-?[0-9.]+", t)] for t in plain)
        apart = [abs(a - b) for a, b in zip(these, those)]
        return len(these) == len(those) > 0 and max(apart) <= within + 1e-9
    for expression, stored, within in {values!r}:
        now = str(eval(expression, names))
        # The page's values are rounded: a distance of exactly `within` is allowed in any case.
        if now != stored and not (within and near(now, stored, within)):
            wrong.append(f"the page shows {{stored!r}} for {{expression}}: now {{now!r}}")
    assert not wrong, "\\n".join(wrong)
_check()
del _check"""


def with_checks(notebook: NotebookNode, claims: list[Claim], said: list[Passage]) -> NotebookNode:
    """Give a copy of a stored notebook in which each claim and each value is checked in its place.

    Parameters
    ----------
    notebook : NotebookNode
        The executed notebook.
    claims : list of Claim
        The page's table.
    said : list of Passage
        What its *source* says: there a placeholder stands as it was written.

    Raises
    ------
    ValueError
        If a claim is not on the page.
    """
    holds: dict[int, list[tuple[str, str]]] = {}
    allowed: dict[tuple[int, str], float] = {}
    for claim in (claim for claim in claims if claim.ground in ("holds", "within")):
        cell = len(notebook.cells) - 1 if claim.at_end else said[place(claim, said)[0]].cell
        if claim.ground == "holds":
            holds.setdefault(cell, []).append((claim.says, claim.what))
        else:
            allowed |= {(cell, asked): float(claim.what) for asked in expressions(claim.says)}
    cells = []
    for number, cell in enumerate(notebook.cells):
        cells.append(cell)
        values = [
            (expression, stored, allowed.get((number, expression)))
            for expression, stored in cell.metadata.get("seqattn", {}).get("values", {}).items()
        ]
        if values or number in holds:
            code = _CHECK.format(holds=holds.get(number, []), values=values)
            cells.append(nbformat.v4.new_code_cell(code))
    return NotebookNode(notebook, cells=cells)
