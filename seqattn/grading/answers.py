"""Find the answers in what a learner handed in, whatever became of the notebook's cells."""

import ast
import copy
import hashlib
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache, lru_cache
from pathlib import Path
from typing import Literal, NamedTuple

from seqattn.grading.bank import Exercise, Question, exercises, load
from seqattn.grading.notebook import Cell, Submission, UnreadableError, read_submission
from seqattn.grading.parsing import parse

__all__ = [
    "Answer",
    "answers_of",
    "context_of",
    "copies_the_key",
    "digest_of",
    "exercise_of",
    "find_answer",
    "forget",
    "imports_the_key",
    "looks_like_a_chapter",
    "marker",
    "no_exercise",
]

# Much more than any answer needs; parsing takes long for code that was made to take long.
MOST_TEXT = 50_000
MARKER = re.compile(r"^[ \t]*#[ \t]*Question[ \t]+(q\d+)\b", re.IGNORECASE | re.MULTILINE)
# What IPython takes for its own: magics, shell lines, questions for help.
MAGIC = re.compile(r"[ \t]*(?:[\w ,]+=[ \t]*)?[%!]|[ \t]*\?|[ \t]*[%\w.*]+\?{1,2}[ \t]*$")
# So many are found one by one, each by parsing once more; what looks like one below goes with them.
MOST_MAGICS = 5
KEY = re.compile(r"\bseqattn\b")
CHAPTER = re.compile(r"^[# ]*What you now know\b", re.MULTILINE)
EXERCISE_LINK = re.compile(r"\]\(\.\./exercises/(\w+)\.ipynb\)")
MOST_CONTEXT = 50


@dataclass
class Answer:
    """What was found for a question.

    Attributes
    ----------
    code : str
        Cleaned of magics; empty if there is nothing.
    state : {"found", "not_attempted", "missing", "syntax_error"}
        What is not found has its state as its verdict.
    detail : str
        More on a state that is not ``found``.
    notes : list of str
        What the learner should know about how it was found.
    line : int
        Line of a syntax error, as the learner counts in their cell.
    offset : int
        Lines of helper cells that stand before the answer's own in ``code``.
    """

    code: str = ""
    state: Literal["found", "not_attempted", "missing", "syntax_error"] = "found"
    detail: str = ""
    notes: list[str] = field(default_factory=list)
    line: int = 0
    offset: int = 0


def marker(question: Question) -> str:
    """Give the line by which an answer is found even where all metadata is lost."""
    noun = "point" if question.points == 1 else "points"
    return f"# Question {question.id} ({question.points} {noun}). Keep this line and this cell."


def exercise_of(submission: Submission) -> str | None:
    """Name the exercise whose answer cells the notebook has most of, or None.

    A chapter of the book is none, although it defines a function or two that an exercise asks for.
    """
    best, most = None, 0
    for name in exercises():
        exercise = load(name)
        ids = {cell.id for cell in submission.cells if cell.id}
        found = sum(
            exercise.pristine[q.id].cell_id in ids
            or find_answer(submission, exercise, q).state != "missing"
            for q in exercise.questions
        )
        if found > most:
            best, most = name, found
    if best and 2 * most < len(load(best).questions) and looks_like_a_chapter(submission):
        return None
    return best


def looks_like_a_chapter(submission: Submission) -> bool:
    """Tell a chapter of the book from an exercise, whatever became of cell ids and metadata.

    Every chapter sums up what the reader now knows, under a heading that no exercise has. An answer
    in a marked cell makes it the work of a student all the same.
    """
    asked = {(q.id, q.entry) for name in exercises() for q in load(name).questions}
    traits = [_traits_of(cell.source) for cell in submission.cells if cell.kind == "code"]
    if any((id_, name) in asked for each in traits for id_ in each.marked for name in each.defined):
        return False
    # A notebook that became a script has its text in comments.
    return any(CHAPTER.search(cell.source) for cell in submission.cells)


def no_exercise(submission: Submission) -> str:
    """Say what a notebook is that is no exercise, and what would be right."""
    if not looks_like_a_chapter(submission):
        return "none of its cells belongs to an exercise of this course"
    links = [link for cell in submission.cells for link in EXERCISE_LINK.findall(cell.source)]
    known = next((name for name in links if name in exercises()), "")
    if not known:
        return "this is a chapter of the book, not an exercise: hand in a notebook of exercises/"
    return f"this is the chapter of {known}, not the exercise: hand in exercises/{known}.ipynb"


def find_answer(submission: Submission, exercise: Exercise, question: Question) -> Answer:
    """Find the answer to a question: by cell id, metadata, marker line, or the name it defines."""
    pristine = exercise.pristine[question.id]
    stub = _essence_of_stub(pristine.source)

    def belongs(cell: Cell) -> bool:
        if marked := _traits_of(cell.source).marked:
            return question.id in marked
        return question.id == cell.question or cell.id == pristine.cell_id

    candidates = [c for c in submission.cells if belongs(c)]
    defining = [c for c in submission.cells if question.entry in _traits_of(c.source).defined]
    found = [c for c in candidates if c in defining] or candidates
    attempts = [c for c in found if _essence(_clean(c.source)[0]) != stub and c.source.strip()]
    notes = []
    # An attempt that was switched off, as raw or as text, does not speak against live code.
    live = [c for c in attempts if c.kind == "code"]
    if not live:
        live = [c for c in defining if c.kind == "code" and _essence(_clean(c.source)[0]) != stub]
        if live and candidates:
            notes.append(f"{question.entry} was found outside its answer cell")
    if not (live or attempts):
        if found:
            return Answer(state="not_attempted")
        lost = f"there is neither the cell of {question.id} nor anything called {question.entry}"
        return Answer(state="missing", detail=f"{lost}: copy the cell from a fresh exercise")
    chosen = (live or attempts)[-1]
    if len(found) > 1:
        which = "one filled in" if chosen in attempts[-1:] else "code"
        notes.append(f"{len(found)} cells claim {question.id}; the last {which} is graded")
    if chosen.kind != "code":
        notes.append("the answer cell is not a code cell any more; its text was graded as code")
    if sum(len(c.source) for c in {id(c): c for c in [*candidates, chosen]}.values()) > MOST_TEXT:
        return Answer(
            state="syntax_error", detail=f"longer than {MOST_TEXT:,} characters: shorten it"
        )
    code, dropped = _clean(chosen.source)
    if dropped:
        notes.append(f"{dropped} magic or shell lines were left out")
    # An answer in two cells: what carries the marker and defines something else helps it.
    helpers = [c for c in candidates if c not in defining and c.kind == "code" and c is not chosen]
    before = "".join(f"{text}\n" for c in helpers if _defined(text := _clean(c.source)[0]))
    answer = Answer(before + code, notes=notes, offset=before.count("\n"))
    return _check_syntax(answer, question)


def _check_syntax(answer: Answer, question: Question) -> Answer:
    if error := _syntax_error(answer.code):
        answer.state, answer.detail = "syntax_error", error[0]
        answer.line = max(0, error[1] - answer.offset)
        return answer
    defined = _defined(answer.code)
    if question.entry not in defined:
        answer.state = "missing"
        named = [n for n in defined if not n.startswith("_")]
        instead = f"; the cell defines {', '.join(named[:5])}" if named else ""
        answer.detail = f"nothing is called {question.entry}{instead}"
    return answer


def why_no_python(message: str, line: str = "") -> str:
    """Explain what Python says of code that it does not take, and of the line that it names."""
    # An unterminated text may have been ended with such a mark; elsewhere the message has it.
    suspect = message + (line if message.startswith("unterminated") else "")
    if quote := next((c for c in "“”‘’„" if c in suspect), ""):
        return f"the quotation mark {quote} is not one of Python's: write ' or \""
    if "await" in message or "async" in message:
        return f"{message}: answers are plain functions, without await or async"
    ours = ".".join(map(str, sys.version_info[:2]))
    return f"{message} (graded with Python {ours})"


def answers_of(path: Path, name: str) -> dict[str, Answer]:
    """Find what a notebook that was graded answers, by question; nothing where that is unknown.

    Of no exercise nothing is, nor of a file that went away since.
    """
    if not name:
        return {}
    try:
        exercise, submission = load(name), read_submission(path)
    except (UnreadableError, OSError):
        return {}
    return {q.id: find_answer(submission, exercise, q) for q in exercise.questions}


def context_of(submission: Submission, exercise: Exercise, code: str) -> list[str]:
    """Collect what an answer takes for granted: imports and plain definitions of other cells.

    Only what defines a name that the answer uses, directly or through another definition, is taken,
    so that nothing else in a notebook can reach an answer. The last definition of a name counts.
    What other questions ask for is not taken: where it may be used, the reference is at hand.

    Parameters
    ----------
    submission : Submission
        The notebook.
    exercise : Exercise
        Which exercise it is.
    code : str
        The answer.

    Returns
    -------
    list of str
        Statements, in the notebook's order.
    """
    offered: dict[str, tuple[int, ast.stmt]] = {}
    position = 0
    for cell in submission.cells:
        if cell.kind != "code" or len(cell.source) > MOST_TEXT:
            continue
        for statement in _parsed(_clean(cell.source)[0]).body:
            position += 1
            statement = _without_annotation(statement)
            for name in _offers(statement):
                offered[name] = (position, statement)
    for question in exercise.questions:
        offered.pop(question.entry, None)
    wanted, taken = list(_used(_parsed(code)) - set(_defined(code))), {}
    # A scratch cell's `F = 16` is not what `F.softmax` means.
    modules = _used_as_modules(_parsed(code))
    while wanted:
        name = wanted.pop()
        if name not in offered:
            continue
        at, statement = offered[name]
        shadows = name in modules and not isinstance(statement, ast.Import | ast.ImportFrom)
        if at not in taken and not shadows:
            taken[at] = statement
            wanted += _used(statement)
            modules |= _used_as_modules(statement)
    kept = (_without(taken[at], modules) for at in sorted(taken))
    return [ast.unparse(statement) for statement in kept if statement][:MOST_CONTEXT]


def _used_as_modules(tree: ast.AST) -> set[str]:
    """Name what has attributes here."""
    bases = (n.value for n in ast.walk(tree) if isinstance(n, ast.Attribute))
    return {base.id for base in bases if isinstance(base, ast.Name)}


def _without(statement: ast.stmt, names: set[str]) -> ast.stmt | None:
    """Leave out of ``x = F = 16``, or ``x, F = 8, 16``, what must stay; None if nothing is left."""
    if not isinstance(statement, ast.Assign):
        return statement
    targets = [t for t in statement.targets if not (isinstance(t, ast.Name) and t.id in names)]
    targets = copy.deepcopy(targets)  # what was parsed is kept, and looked at again
    for name in _named_by(targets):
        if name.id in names:  # among others in a row, which need their places
            name.id = f"_{name.id}"
    return ast.Assign(targets, statement.value, lineno=1) if targets else None


def _without_annotation(statement: ast.stmt) -> ast.stmt:
    """Make ``x: T = 1`` an assignment like any other: ``T`` may be unknown where answers run."""
    if isinstance(statement, ast.AnnAssign) and statement.value:
        return ast.Assign([statement.target], statement.value, lineno=1)
    return statement


def _offers(statement: ast.stmt) -> list[str]:
    """Name what an import, a function, a class or a constant defines; other code offers nothing."""
    if isinstance(statement, ast.Import | ast.ImportFrom):
        if "seqattn" in ast.unparse(statement):
            return []  # it cannot be imported where answers are graded
        return [(a.asname or a.name).partition(".")[0] for a in statement.names]
    if isinstance(statement, ast.FunctionDef | ast.ClassDef):
        return [statement.name]
    if isinstance(statement, ast.Assign) and _is_plain(statement.value):
        return [name.id for name in _named_by(statement.targets)]
    return []


def _named_by(targets: list[ast.expr]) -> list[ast.Name]:
    """List the names that an assignment gives: ``x``, and those of ``x, y``, but not ``x[0]``."""
    found = []
    for target in targets:
        if isinstance(target, ast.Name):
            found.append(target)
        elif isinstance(target, ast.Tuple | ast.List):
            found += _named_by(target.elts)
        elif isinstance(target, ast.Starred):
            found += _named_by([target.value])
    return found


# What a constant may be made of.
PLAIN = (
    ast.Constant, ast.Name, ast.Attribute, ast.Call, ast.keyword, ast.Tuple, ast.List, ast.Dict,
    ast.Set, ast.UnaryOp, ast.BinOp, ast.unaryop, ast.operator, ast.expr_context,
)  # fmt: skip
# What a constant may be made with: float("-inf"), 1 / math.sqrt(d), torch.tensor([1.0, 2.0]).
MAKERS = {"float", "int", "bool", "complex", "tuple", "list", "dict", "set", "frozenset", "range"}
MADE_BY: dict[str, set[str] | None] = {
    "math": None,
    "torch": {"tensor", "arange", "zeros", "ones", "full", "eye", "finfo"},
    "np": {
        *("array", "arange", "linspace", "zeros", "ones", "full", "eye", "finfo", "sqrt"),
        *("exp", "exp2", "log", "log2", "log10", "float32", "float64", "int64"),
    },
}


def _is_plain(value: ast.expr) -> bool:
    """Tell a constant, or a lambda, from what another cell computed."""
    if isinstance(value, ast.Lambda):
        return True
    parts = list(ast.walk(value))
    calls = [part.func for part in parts if isinstance(part, ast.Call)]
    return all(isinstance(part, PLAIN) for part in parts) and all(map(_makes_a_constant, calls))


def _makes_a_constant(function: ast.expr) -> bool:
    if isinstance(function, ast.Name):
        return function.id in MAKERS
    if not (isinstance(function, ast.Attribute) and isinstance(function.value, ast.Name)):
        return False
    known = MADE_BY.get(function.value.id, set())
    return known is None or function.attr in known


def _used(tree: ast.AST) -> set[str]:
    return {n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)}


# --- answers that are not their author's own --------------------------------------------------


def digest_of(code: str) -> str:
    """Give a digest of code that only blanks and comments leave as it is; "" where it is none."""
    try:
        return hashlib.sha256(ast.dump(parse(code)).encode()).hexdigest()[:16]
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ""


def copies_the_key(exercise: Exercise, answers: Mapping[str, Answer]) -> bool:
    """Tell whether every answer is the solution's own, and there are enough of them to mean it."""
    found = [q for q in exercise.questions if answers[q.id].state == "found"]
    return len(found) >= 3 and all(
        exercise.pristine[q.id].key == digest_of(answers[q.id].code) for q in found
    )


def imports_the_key(code: str) -> int:
    """Find the line of an answer that imports the course's package, or 0."""
    # What is no ASCII may be another way to write a name.
    if code.isascii() and not KEY.search(code):
        return 0
    for node in ast.walk(parse(code)):
        if isinstance(node, ast.Import | ast.ImportFrom):
            names = [a.name for a in node.names] + [getattr(node, "module", None) or ""]
            if any(KEY.search(name) for name in names):
                return node.lineno
    return 0


def forget() -> None:
    """Let go of what was read: trees of a class' notebooks would fill the memory."""
    for remembered in (_traits_of, _clean, _tree, _essence, _defined, _syntax_error):
        remembered.cache_clear()


# --- code ------------------------------------------------------------------------------------


class CellTraits(NamedTuple):
    """What is seen in a cell whatever the question.

    Attributes
    ----------
    marked : set of str
        Questions whose marker lines it has.
    defined : tuple of str
        Names that it defines.
    """

    marked: frozenset[str]
    defined: tuple[str, ...]


# The same cells are looked at for every question of every exercise.
@lru_cache(4096)
def _traits_of(source: str) -> CellTraits:
    marked = frozenset(m.lower() for m in MARKER.findall(source))
    return CellTraits(marked, _defined(_clean(source)[0]))


@cache
def _essence_of_stub(source: str) -> str:
    return _essence(_clean(source)[0])


@lru_cache(4096)
def _clean(source: str) -> tuple[str, int]:
    """Drop magics and what editors leave behind; blank lines keep the line numbers.

    Python decides what is a magic: only a line at which it stops reading can be one.
    """
    text = source.lstrip("\ufeff").replace("\r\n", "\n").replace("\r", "\n").replace("\xa0", " ")
    if len(text) > MOST_TEXT or not any(mark in text for mark in "%!?"):
        return text, 0
    lines, dropped = text.split("\n"), 0
    for found in range(1, MOST_MAGICS + 2):
        try:
            parse("\n".join(lines))
        except SyntaxError as error:
            at = (error.lineno or 0) - 1
            if found > MOST_MAGICS or not (0 <= at < len(lines) and MAGIC.match(lines[at])):
                break
            like_it = range(at + 1, len(lines)) if found == MOST_MAGICS else ()
            for number in (at, *(n for n in like_it if lines[n][:1] in ("%", "!"))):
                lines[number] = ""
                dropped += 1
        except (ValueError, RecursionError, MemoryError):
            break
        else:
            break
    return "\n".join(lines), dropped


@lru_cache(4096)
def _tree(code: str) -> ast.Module | None:
    """Parse code; None where it is none, or is longer than any answer."""
    if len(code) <= MOST_TEXT:
        try:
            return parse(code)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            pass
    return None


def _parsed(code: str) -> ast.Module:
    return _tree(code) or ast.Module([], [])


@lru_cache(4096)
def _syntax_error(code: str) -> tuple[str, int] | None:
    """Say why Python does not take code, and in which line; None where it does."""
    if _tree(code):
        return None
    try:
        parse(code)
    except SyntaxError as error:
        return why_no_python(error.msg, error.text or ""), error.lineno or 0
    except (ValueError, RecursionError, MemoryError) as error:
        return str(error) or type(error).__name__, 0
    return None


@lru_cache(4096)
def _essence(code: str) -> str:
    """Reduce code to what matters, so that blanks and comments make no answer."""
    if len(code) > MOST_TEXT:
        return code
    if tree := _tree(code):
        try:
            return ast.dump(tree)
        except (RecursionError, MemoryError):
            pass
    return " ".join(re.sub(r"#.*", "", code).split())


@lru_cache(4096)
def _defined(code: str) -> tuple[str, ...]:
    if len(code) > MOST_TEXT:
        return ()
    if not (tree := _tree(code)):
        named = r"^(?:def|class)\s+(\w+)", r"^(\w+)\s*=[^=]"
        return tuple(name for one in named for name in re.findall(one, code, re.MULTILINE))
    names = []
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            names.append(node.name)
        elif isinstance(node, ast.Assign):
            names += [t.id for t in node.targets if isinstance(t, ast.Name)]
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.value:
            names.append(node.target.id)
    return tuple(names)
