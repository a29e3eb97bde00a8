"""Questions of the chapters: predictions before a cell, and checks at a chapter's end.

They are data: ``chapters/questions/NN_name.yml`` has two tables, ``predict`` and ``self-check``,
with an entry for each question, in the order of the page. A text cell shows one by the directive
``{predict} its-name`` or ``{self-check} its-name``, fenced with backticks and without a body. The
cell whose output waits for the answer has the tags ``hide-output`` and ``hide-until-its-name``.
:mod:`tools.questions_ext` shows them in the book, :mod:`tools.plain` in notebooks;
``_assets/learner.js`` takes the reader's answers, ``_assets/answers.js`` keeps them.

.. code-block:: yaml

    predict:
      overflow:
        kind: one                 # one, several, number, order, curve
        asks: What does $e^{1000}$ give?
        options:
          - says: infinity
            right: true           # not for kind: order, whose options stand in the right order
            because: It is larger than the largest number of the type.
          - says: an error
            because: Floating point has a value for this.

``number`` has options that say a number and adds, to the question, ``otherwise:`` (what is said of
any other number) and ``within:`` (a distance) or ``factor:``. ``curve`` adds ``curve:`` to each
option, a list of heights, and to the question ``x`` and ``y`` (the axes' names, the places, the
range) and, where wished, ``given``: a curve that is shown from the start. The right curve's
``because`` has its heights in words, where the page's table of claims can check them.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parents[1]
FOLDER = Path("chapters", "questions")
USES = ("predict", "self-check")
KINDS = ("one", "several", "number", "order", "curve")
DIRECTIVE = re.compile(r"^```\{(predict|self-check)\} +(\S+)[ \t]*\n```[ \t]*$", re.MULTILINE)
# A cell with this tag and the name of a question keeps its output folded until the reader answered.
UNTIL = "hide-until-"


class QuestionError(ValueError):
    """A table of questions holds something that cannot be asked; says file, question and field."""


@dataclass(frozen=True)
class Option:
    """Something a reader may answer, and what is said of it.

    Parameters
    ----------
    says, because : str
        Markdown of one paragraph each.
    right : bool
        Whether it belongs to the answer.
    curve : tuple of float
        Its heights, for curves.
    """

    says: str
    because: str
    right: bool = False
    curve: tuple[float, ...] = ()

    @property
    def number(self) -> float:
        """Its value, if it says a number."""
        return float(self.says.replace(",", "").replace("−", "-"))


@dataclass(frozen=True)
class Axis:
    """An axis that a curve is drawn over: ``ticks`` are places across, or lowest and highest."""

    label: str
    ticks: tuple[float, ...]


@dataclass(frozen=True)
class Given:
    """A curve that is shown from the start, with its name."""

    label: str
    curve: tuple[float, ...]


@dataclass(frozen=True)
class Question:
    """One question with all that may be answered.

    Parameters
    ----------
    page, name, use, kind : str
        Where it stands ("01_bottleneck"), its name, and one of :data:`USES` and :data:`KINDS`.
    number : int
        Its place among those of its use on the page, from 1.
    asks : str
        Markdown.
    options : tuple of Option
        In the order shown; for ``order``, the right one.
    within, factor : float, optional
        How far from a number an answer may be, as distance or as ratio.
    unit, otherwise : str
        What stands behind the number; what is said of a number that no option has.
    x, y : Axis, optional
        What a curve is drawn over.
    given : Given, optional
        A curve that is shown from the start.
    """

    page: str
    name: str
    use: str
    kind: str
    number: int
    asks: str
    options: tuple[Option, ...]
    within: float | None = None
    factor: float | None = None
    unit: str = ""
    otherwise: str = ""
    x: Axis | None = None
    y: Axis | None = None
    given: Given | None = None

    @property
    def head(self) -> str:
        """What stands over it."""
        return "Predict" if self.use == "predict" else f"Question {self.number}"

    @property
    def shown(self) -> list[Option]:
        """Options that the reader sees before the answer: none for a number, mixed for an order."""
        if self.kind == "number":
            return []
        if self.kind == "order":
            return sorted(self.options, key=lambda option: option.says)
        return list(self.options)

    def named(self, option: Option) -> str:
        """Name an option in an answer: by its letter, its place in the order, or its number."""
        at = self.options.index(option)
        if self.kind == "number":
            return f"{option.says}:"
        return f"({'abcdefgh'[at]})" if self.kind != "order" else f"{option.says}:"

    def markdown(self, *, wrong: bool = True) -> str:
        """Write it as plain Markdown with a folded answer.

        Parameters
        ----------
        wrong : bool
            Whether to show wrong options; without them it holds what the page itself claims.
        """
        lines = [f"**{self.head}.** {self.asks}", ""]
        for option in self.shown:
            if self.kind == "order":
                lines.append(f"- {option.says}")
            elif wrong or option.right:
                lines.append(f"- {self.named(option)} {option.says}")
        lines += ["", "<details><summary>Answer</summary>", ""]
        lines += [*self.answer(wrong=wrong), "", "</details>"]
        return re.sub(r"\n{3,}", "\n\n", "\n".join(lines))

    def answer(self, *, wrong: bool = True) -> list[str]:
        """Write the answer: what is right first, then what is wrong with the rest.

        Parameters
        ----------
        wrong : bool
            Whether to name the rest, or only to say what is wrong.
        """
        if self.kind == "order":
            return [f"{n}. {self.named(o)} {o.because}" for n, o in enumerate(self.options, 1)]
        first = [o for o in self.options if o.right]
        rest = [o for o in self.options if not o.right]
        lines = [f"- **{self.named(option)}** {option.because}" for option in first]
        lines += [f"- {self.named(o)} {o.because}" if wrong else f"- {o.because}" for o in rest]
        return [*lines, f"- Any other number: {self.otherwise}"] if self.otherwise else lines


def expanded(text: str, *, wrong: bool = True, root: Path = ROOT) -> str:
    """Put questions, as plain Markdown, in the place of the directives of a text cell.

    Parameters
    ----------
    text : str
        Markdown.
    wrong : bool
        As in :meth:`Question.markdown`.
    root : Path
        Folder of the project.

    Raises
    ------
    QuestionError
        If a directive names a question that no table has.
    """
    return DIRECTIVE.sub(lambda m: find(m[1], m[2], root).markdown(wrong=wrong), text)


def find(use: str, name: str, root: Path = ROOT) -> Question:
    """Look up the question that a directive names.

    Raises
    ------
    QuestionError
        If no table has it, or has it for the other use.
    """
    found = every(root).get(name)
    if found is None:
        raise QuestionError(f"no table of {FOLDER} has a question {name!r}")
    if found.use != use:
        raise QuestionError(f"{name} is a question for {{{found.use}}}, not for {{{use}}}")
    return found


def every(root: Path = ROOT) -> dict[str, Question]:
    """Read the tables of all chapters; questions by name, in reading order.

    Raises
    ------
    QuestionError
        If a table is faulty, or two questions have one name.
    """
    found: dict[str, Question] = {}
    for path in sorted((root / FOLDER).glob("*.yml")):
        for question in read(path):
            if question.name in found:
                other = found[question.name].page
                raise QuestionError(f"{path.name}: {question.name}: {other}.yml has one so named")
            found[question.name] = question
    return found


def read(path: Path) -> tuple[Question, ...]:
    """Read the table of one chapter.

    Raises
    ------
    QuestionError
        If it is faulty.
    """
    return _read(path, path.stat().st_mtime_ns)


@cache
def _read(path: Path, _changed: int) -> tuple[Question, ...]:
    try:
        table = yaml.safe_load(path.read_text(encoding="utf-8"))
    except yaml.YAMLError as error:
        raise QuestionError(f"{path.name} is no YAML: {error}") from error
    if not isinstance(table, dict) or not table or not set(table) <= set(USES):
        raise QuestionError(f"{path.name} has the tables {' and '.join(USES)}, and no others")
    found = []
    for use, entries in table.items():
        for number, (name, entry) in enumerate((entries or {}).items(), 1):
            found.append(_question(_Fields(f"{path.name}: {name}", entry), path.stem, use, number))
    return tuple(found)


class _Fields:
    """The fields of one entry, taken one by one; what is left over is an error."""

    def __init__(self, where: str, entry: Any) -> None:
        self.where = where
        if not isinstance(entry, dict):
            raise QuestionError(f"{where} is {entry!r}; expected fields")
        self.left = dict(entry)

    def fail(self, field: str, message: str) -> QuestionError:
        return QuestionError(f"{self.where}: `{field}` {message}")

    def text(self, field: str, *, wanted: bool = True, lines: bool = False) -> str:
        """Take Markdown; of one paragraph, unless it may have several."""
        value = self.left.pop(field, None if wanted else "")
        if not isinstance(value, str) or (wanted and not value.strip()):
            raise self.fail(field, f"is {value!r}; expected a text (in quotes, if it is a number)")
        if "{{" in value:
            raise self.fail(field, "has a placeholder; only text cells take values from code")
        if not lines and "\n\n" in value.strip():
            raise self.fail(field, "has several paragraphs; expected one")
        return value.strip()

    def number(self, field: str, *, wanted: bool = True) -> float | None:
        value = self.left.pop(field, None)
        if value is None and not wanted:
            return None
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise self.fail(field, f"is {value!r}; expected a number")
        return float(value)

    def numbers(self, field: str) -> tuple[float, ...]:
        values = self.left.pop(field, None)
        if not isinstance(values, list) or not all(
            isinstance(v, int | float) and not isinstance(v, bool) for v in values
        ):
            raise self.fail(field, f"is {values!r}; expected a list of numbers")
        return tuple(map(float, values))

    def within(self, field: str) -> "_Fields":
        return _Fields(f"{self.where}: {field}", self.left.pop(field, None))

    def done(self) -> None:
        if self.left:
            raise self.fail(next(iter(self.left)), "is unknown here")


def _question(fields: _Fields, page: str, use: str, number: int) -> Question:
    name = fields.where.partition(": ")[2]
    if not re.fullmatch(r"[a-z][a-z0-9-]*", name):
        raise QuestionError(f"{fields.where}: a name has small letters, digits and hyphens")
    kind = fields.text("kind")
    if kind not in KINDS:
        raise fields.fail("kind", f"is {kind!r}; expected one of {', '.join(KINDS)}")
    asks = fields.text("asks", lines=True)
    entries = fields.left.pop("options", None)
    if not isinstance(entries, list) or not 2 <= len(entries) <= 8:
        raise fields.fail("options", "is no list of two to eight")
    options = tuple(
        _option(_Fields(f"{fields.where}: option {n}", entry), kind)
        for n, entry in enumerate(entries, 1)
    )
    more: dict[str, Any] = {}
    if kind == "number":
        more["within"], more["factor"] = (
            fields.number(field, wanted=False) for field in ("within", "factor")
        )
        more["unit"] = fields.text("unit", wanted=False)
        more["otherwise"] = fields.text("otherwise")
    if kind == "curve":
        for axis, take in (("x", "at"), ("y", "range")):
            own = fields.within(axis)
            more[axis] = Axis(own.text("label"), own.numbers(take))
            own.done()
        if "given" in fields.left:
            own = fields.within("given")
            more["given"] = Given(own.text("label"), own.numbers("curve"))
            own.done()
    fields.done()
    question = Question(page, name, use, kind, number, asks, options, **more)
    CHECKS[kind](question, fields.fail)
    return question


def _option(fields: _Fields, kind: str) -> Option:
    right = fields.left.pop("right", False) if kind != "order" else False
    if not isinstance(right, bool):
        raise fields.fail("right", f"is {right!r}; expected true")
    says = fields.text("says")
    if kind == "number" and not re.fullmatch(r"[-−]?\d[\d,]*(\.\d+)?", says):
        raise fields.fail("says", f"is {says!r}; expected a number, such as 1,500 or 0.03")
    curve = fields.numbers("curve") if kind == "curve" else ()
    option = Option(says, fields.text("because"), right, curve)
    fields.done()
    return option


Fail = Callable[[str, str], QuestionError]


def _one_right(question: Question, fail: Fail) -> None:
    right = sum(option.right for option in question.options)
    if right != 1:
        raise fail("options", f"has {right} right ones; expected exactly one")
    if len({option.says for option in question.options}) < len(question.options):
        raise fail("options", "has two that say the same")


def _several(question: Question, fail: Fail) -> None:
    right = sum(option.right for option in question.options)
    if not 0 < right < len(question.options):
        raise fail("options", f"has {right} right ones; expected some and not all")


def _number(question: Question, fail: Fail) -> None:
    _one_right(question, fail)
    if (question.within is None) == (question.factor is None):
        raise fail("within", "or `factor`: expected one of the two")
    if question.within is not None and question.within < 0:
        raise fail("within", f"is {question.within}; expected 0 or more")
    if question.factor is not None and question.factor < 1:
        raise fail("factor", f"is {question.factor}; expected 1 or more")
    if question.factor is not None and any(o.number <= 0 for o in question.options):
        raise fail("factor", "goes with numbers above 0")
    spans = sorted(span(question, option) for option in question.options)
    if any(high >= low for (_, high), (low, _) in pairwise(spans)):
        raise fail("options", "has two numbers that one answer could mean")


def span(question: Question, option: Option) -> tuple[float, float]:
    """Give the lowest and the highest number that mean an option."""
    if question.factor is not None:
        return option.number / question.factor, option.number * question.factor
    return option.number - (question.within or 0), option.number + (question.within or 0)


def _order(question: Question, fail: Fail) -> None:
    if len(question.options) < 3:
        raise fail("options", "has two; an order has three or more")
    if question.shown == list(question.options):
        raise fail("options", "stand in the alphabet's order, which is the one shown: reword one")


def _curve(question: Question, fail: Fail) -> None:
    _one_right(question, fail)
    assert question.x is not None
    assert question.y is not None
    if len(question.y.ticks) != 2 or not question.y.ticks[0] < question.y.ticks[1]:
        raise fail("y", "has a `range` of a lowest and a highest number")
    shown = [(option.says, option.curve) for option in question.options]
    shown += [(question.given.label, question.given.curve)] if question.given else []
    for name, curve in shown:
        if len(curve) != len(question.x.ticks):
            raise fail("options", f"{name!r} has not a height at each place of `x`")
        if not question.y.ticks[0] <= min(curve) <= max(curve) <= question.y.ticks[1]:
            raise fail("options", f"{name!r} leaves the range of `y`")
    for option in question.options:
        heights = ", ".join(f"{height:g}" for height in option.curve)
        if option.right and heights not in option.because:
            raise fail("options", f"{option.says!r} does not have {heights!r} in its `because`")


CHECKS: dict[str, Callable[[Question, Fail], None]] = {
    "one": _one_right,
    "several": _several,
    "number": _number,
    "order": _order,
    "curve": _curve,
}
