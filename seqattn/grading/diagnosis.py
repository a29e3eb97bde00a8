"""What is said of a mistake that the bank does not know.

Known mistakes bring hints of their own, from the bank. For the others: how a process ended, what an
exception means, which line is to blame; and what can be seen in wrong numbers, by
:func:`diagnose`. That takes one look after the other, and says what the first of them sees. Nothing
is guessed: each sentence says what was seen, on cases that differ in one thing, or between an
answer's numbers and the right ones (:mod:`seqattn.grading.relations`).
"""

import ast
import re
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from seqattn.grading.bank import Question, Stage
from seqattn.grading.cases import (
    DOUBLE,
    FIRST,
    OTHERS,
    Case,
    Got,
    named_inputs,
    numbers_in,
    part_names,
    right_numbers,
)
from seqattn.grading.compare import ABSOLUTE, Difference, close
from seqattn.grading.parsing import parse
from seqattn.grading.relations import (
    TO_A_NUMBER,
    Seen,
    by_sizes,
    located,
    nearly_right,
    over_cases,
    plainly_related,
    quantities,
    related,
    right_for_other_inputs,
)
from seqattn.grading.sandbox.host import JobResult, Limits

__all__ = ["advice", "diagnose", "ending_hint", "hint_for", "reordered", "result_line"]

_ENDINGS = {
    "timeout": "it computed longer than {s:g} seconds (of processor time): is there a loop that "
    "never ends, or one with far more rounds than it needs? (A tensor's entries are slow to read "
    "one by one; those of x.tolist() are not.)",
    "waited": "it waited longer than {i:g} seconds without computing, all its pauses together, and "
    "did so again: leave out what sleeps, or waits for somebody",
    "memory": "it needed more memory than an answer may use",
    "crashed": "the process died ({d})",
    # How much depends on the hidden cases.
    "output_limit": "it printed or returned too much",
}


def ending_hint(outcome: JobResult, limits: Limits) -> str:
    """Say how a process ended that did not come to its end."""
    return _ENDINGS[outcome.ending].format(s=limits.seconds, i=limits.idle, d=outcome.detail)


def hint_for(fault: Difference, stage: Stage) -> str:
    """Put a fault that is nobody's known mistake into a sentence."""
    kind, text = fault.kind, fault.text.rstrip(".")
    if kind == "value":
        return stage.hint
    if kind == "gradient" and "NaN" in text:
        back = "on the way back 0 times infinity or NaN is NaN, so fill what must not count"
        return f"{text}: {back} before you compute with it, not after."
    text = text if text.endswith("?") else f"{text}."
    return f"{text} {stage.hint}" if kind in ("nan", "gradient") else text


def advice(error: dict, q: Question) -> str:
    """Say what to do about an exception, where there is something to say."""
    kind, message = error["type"], error["message"]
    if kind == "NameError":
        return (
            "Imports, functions and plain constants of other cells are at hand; what another cell "
            "computed, or only your session knows, is not: compute it in the answer's own cell, "
            "then restart and run all."
        )
    if kind == "TypeError" and "argument" in message and q.entry in message:  # not torch's own
        return f"It is called as {q.signature}."
    if kind == "TypeError" and re.match(r"(arg)?sort\(\) (takes|.*stable=)", message):
        # With stable= PyTorch takes none by its place, and says so in riddles.
        return "Name its arguments: dim=-1, descending=True, stable=True."
    if kind in ("ModuleNotFoundError", "PermissionError", "OSError", "FileNotFoundError"):
        return "Answers are graded without files, network and other packages."
    if "CUDA" in message or "NVIDIA" in message:
        return "Answers are graded on a CPU: leave tensors on the device that they come with."
    if kind == "EOFError":
        return "Nobody is there to type: take what you need from the arguments."
    if kind == "SystemExit":
        return "An answer must not end the process: return instead."
    if kind == "RecursionError":
        return "Your function calls itself without end."
    if q.asks_for_a_test:
        return "So it ends with every program, right ones too: all you can do with one is call it."
    return ""


def reordered(code: str, q: Question) -> str:
    """Say so if an answer takes the right arguments in another order."""
    asked = re.match(rf"{q.entry}\(([\w, ]+)\)", q.signature)
    for node in parse(code).body:
        if asked and isinstance(node, ast.FunctionDef) and node.name == q.entry:
            names, wanted = [a.arg for a in node.args.args], asked[1].split(", ")
            if names != wanted and sorted(names) == sorted(wanted):
                return f"Your arguments are in another order: it is called as {q.signature}."
    return ""


_NAMED = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
# What the line that returns a result has to do with, whatever comes before it.
_OF_THE_RETURN = ("nothing", "type", "shape", "dtype")


def result_line(code: str, entry: str, kind: str) -> int:
    """Find the line of an answer that is to blame for a wrong result; 0 where it may be any.

    An answer of one statement is wrong there. In a longer one wrong values may come from any line,
    or from one that is missing: none is blamed for what another may have done.

    Parameters
    ----------
    code, entry : str
        The answer, and the name that it defines.
    kind : str
        What is wrong, as :class:`~seqattn.grading.compare.Difference` has it.
    """
    found = 0
    for node in parse(code).body:
        targets = getattr(node, "targets", [])
        if any(isinstance(t, ast.Name) and t.id == entry for t in targets):
            found = node.lineno
        elif isinstance(node, _NAMED) and node.name == entry:
            inside = node.body[1:] if ast.get_docstring(node) is not None else node.body
            returns = [n for n in ast.walk(node) if isinstance(n, ast.Return) and n.value]
            alone = inside == returns and len(returns) == 1
            blamed = alone or (kind in _OF_THE_RETURN and len(returns) == 1)
            found = returns[0].lineno if blamed else 0
    return found


# --- what can be seen in wrong numbers ------------------------------------------------------------


def diagnose(
    q: Question, cases: list[Case], results: Mapping[int, dict], faults: Mapping[int, Difference]
) -> str:
    """Say in a sentence what an answer does, or "" where nothing stands out.

    Parameters
    ----------
    q : Question
        The question.
    cases : list of Case
        All of them.
    results : mapping of int to dict
        What came back, by number of case.
    faults : mapping of int to Difference
        What is wrong, by number of case.
    """
    if faults and (text := _parameters(cases[min(faults)], results[min(faults)])):
        return text
    once = _once(cases, faults)
    faults = {n: found for n, found in faults.items() if n in once}
    if text := _texts(cases, results, faults):
        return text
    got = {n: numbers_in(results[n], cases[n]) for n in sorted(once) if n in results}
    looks = (
        *(_looks_at, _flags, _by_hand, _plainly_related, _pads),
        *(right_for_other_inputs, _related, _nearly, _where, _single_numbers, _located),
    )
    for look in looks:
        if text := look(q, cases, got, faults):
            return text
    return _sound(cases, faults)


def _once(cases: list[Case], faults: Mapping[int, Difference]) -> set[int]:
    """Choose one case, a wrong one if any, of those in which stages ask the same of one input.

    Counted once for each stage, one input would pass for several.
    """
    found: dict[tuple, int] = {}
    for n in sorted(range(len(cases)), key=lambda n: n not in faults):
        found.setdefault((id(cases[n].inputs), cases[n].stage.parts), n)
    return {*found.values()}


def _apart(
    q: Question, cases: list[Case], got: Got, faults: Mapping[int, Difference]
) -> list[tuple[str, Seen]]:
    """Set what came back beside what is right, wherever they differ in values alone.

    Each pair comes behind the name of the part of the result.
    """
    found = []
    for n in faults:
        given = named_inputs(q, cases[n])
        for a, b, name in zip(got.get(n, ()), right_numbers(cases[n]), part_names(cases[n])):
            if a.shape == b.shape and np.isfinite(a).all() and not close(a, b):
                found.append((name, Seen(a, b, given)))
    return found


def _by_part(look: Callable[[list[Seen]], str]) -> Callable[..., str]:
    """Look at all that is wrong, and then at each part of the results by itself."""

    def looking(q: Question, cases: list[Case], got: Got, faults: Mapping[int, Difference]) -> str:
        apart = _apart(q, cases, got, faults)
        if text := look([seen for _, seen in apart]):
            return text
        for part in dict.fromkeys(name for name, _ in apart if name):
            if text := look([seen for name, seen in apart if name == part]):
                return f"Looking at {part} alone: {text}"
        return ""

    return looking


_plainly_related, _related, _located = map(_by_part, (plainly_related, related, located))


# Of a variation of the batch: which sentence stays, and which ones change.
_SENTENCES = {OTHERS: (0, "first", "the others do"), FIRST: (1, "second", "the first one does")}


def _looks_at(q: Question, cases: list[Case], got: Got, faults: Mapping[int, Difference]) -> str:
    """Compare each variation with the case that was varied."""
    if text := _stays(cases, got, faults):
        return text
    for n, case in enumerate(cases):
        if case.base < 0 or n not in faults:
            continue
        parts = zip(
            got.get(case.base, ()),
            got.get(n, ()),
            right_numbers(cases[case.base]),
            right_numbers(case),
        )
        for one, other, right, moved in parts:
            if one.shape == other.shape and right.shape == moved.shape and case.kind in _SENTENCES:
                row, stays, change = _SENTENCES[case.kind]
                kept = right.ndim and len(right) > row and close(right[row], moved[row])
                if kept and one.ndim and len(one) > row and not close(one[row], other[row]):
                    return (
                        f"Your result for the {stays} sentence changes when {change}: each may "
                        "depend on its own sentence alone."
                    )
    return ""


# Of one change a result may hear nothing by chance.
_CHANGES = 2


def _stays(cases: list[Case], got: Got, faults: Mapping[int, Difference]) -> str:
    """Find what does not change with an argument, however that is changed."""
    stays: dict[tuple[str, str], list[bool]] = {}
    for n, case in enumerate(cases):
        if case.base < 0 or case.kind in _SENTENCES:
            continue
        base = case.base
        sides = got.get(base, ()), got.get(n, ()), right_numbers(cases[base]), right_numbers(case)
        for (one, other, right, moved), part in zip(zip(*sides), part_names(case)):
            if right.shape == moved.shape and not close(right, moved):
                same = one.shape == other.shape and close(one, other)
                stays.setdefault((case.kind, part), []).append(same and n in faults)
    for (kind, part), found in stays.items():
        if len(found) >= _CHANGES and all(found):
            name = kind.removeprefix("another ")
            yours = part.replace("the ", "Your ", 1) or "Your result"
            return f"{yours} stays the same when {name} changes, but the right one changes."
    return ""


def _parameters(case: Case, result: dict) -> str:
    """Set a module's parameters beside those that are asked for; name none but the latter."""
    value = result.get("result", {}).get("value")
    if not isinstance(case.expected, dict) or not isinstance(value, dict):
        return ""
    listed = [found.get("parameters") for found in (case.expected, value)]
    asked, theirs = [dict(_PARAMETER.findall(str(text or ""))) for text in listed]
    if asked == theirs:
        return ""
    if missing := [name for name in asked if name not in theirs]:
        return (
            f"No parameter is called {' or '.join(missing)}: in __init__, assign an nn.Parameter "
            f"to self.{missing[0]}. (A layer such as nn.Linear keeps its own under other names.)"
        )
    if other := [name for name in asked if theirs[name] != asked[name]]:
        return f"{other[0]} has another shape than the question asks for."
    return f"There are more parameters than {', '.join(asked)}."


_PARAMETER = re.compile(r"([\w.]+) (\([\d, ]*\))")


def _flags(q: Question, cases: list[Case], got: Got, faults: Mapping[int, Difference]) -> str:
    """Say in which direction flags are wrong, where it is one."""
    too_many = too_few = False
    for n in faults:
        right = cases[n].expected
        if not (isinstance(right, np.ndarray) and right.dtype == bool):
            return ""
        for flags in got.get(n, ()):
            if flags.shape == right.shape:
                too_many |= bool((flags.astype(bool) & ~right).any())
                too_few |= bool((~flags.astype(bool) & right).any())
    if too_many == too_few:
        return ""
    one, other = ("True", "False") if too_many else ("False", "True")
    return f"Yours is {one} at places that must be {other}, and nowhere the other way round."


def _by_hand(q: Question, cases: list[Case], got: Got, faults: Mapping[int, Difference]) -> str:
    """Look at numbers that were worked out by hand: there are few, and they are rounded."""
    if q.arguments or not faults or len(cases) > 1:
        return ""
    tolerance = cases[0].stage.tolerance

    def near(a: Any, b: Any) -> np.ndarray:
        return np.isclose(a, b, atol=tolerance[0], rtol=tolerance[1])

    right = right_numbers(cases[0])
    yours = got.get(0, ())
    if any(x.size != 1 for x in (*yours, *right)) or len(yours) != len(right):
        return ""
    a, b = (np.array([x.item() for x in side]) for side in (yours, right))
    if len(b) == 1:
        for text, change in TO_A_NUMBER.items():
            # What was rounded may have been doubled afterwards.
            if np.isclose(a[0], change(b[0]), atol=2 * tolerance[0], rtol=tolerance[1]):
                return f"Yours is {text} right one."
    if ((b >= 0) & (b <= 1)).all():
        if (a < 0).any():
            return "A number of yours is below 0; what is right lies between 0 and 1."
        if (a > 1).any():
            return "A number of yours is above 1; what is right lies between 0 and 1."
    if len(b) > 1 and near(b.sum(), 1) and not np.isclose(a.sum(), 1, atol=0.011):
        return f"Yours add up to {a.sum():.2f}; the right ones add up to 1."
    fine = near(a, b)
    if fine.any() and not fine.all():
        places = " and ".join(f"number {n}" for n, one in enumerate(fine, start=1) if not one)
        return f"Of your {len(b)} numbers the others are right: look at {places} again."
    return ""


# Of a row with more numbers none is told from its place.
_FEW = 4


def _single_numbers(
    q: Question, cases: list[Case], got: Got, faults: Mapping[int, Difference]
) -> str:
    """Set single numbers, or each of a few in a row, beside the right ones over all cases.

    No number is named: an answer might put one of a hidden case there.
    """
    columns: dict[tuple[str, int, int], list[tuple[float, float]]] = {}
    sizes_of: dict[str, list[dict[str, float]]] = {}
    for n, case in enumerate(cases):
        for a, b, name in zip(got.get(n, ()), right_numbers(case), part_names(case)):
            if a.size != b.size or not b.size or (b.ndim and b.size > _FEW):
                return ""
            sizes_of.setdefault(name, []).append(quantities(named_inputs(q, case)))
            for place, pair in enumerate(zip(a.flat, b.flat)):
                columns.setdefault((name, b.size, place), []).append(pair)
    sizes = {name: size for name, size, _ in columns}
    if len(faults) < 3 or len(columns) != sum(sizes.values()):
        return ""
    absolute, relative = cases[min(faults)].stage.tolerance
    off = []
    for (name, size, place), pairs in columns.items():
        yours, right = (np.array(x) for x in zip(*pairs))
        if np.allclose(yours, right, atol=absolute, rtol=relative):
            continue
        off.append((name, size, place))
        if text := by_sizes(yours, right, sizes_of[name]) or over_cases(yours, right):
            number = f"number {place + 1}" if size > 1 else ""
            which = " of ".join(filter(None, (number, name)))
            return f"Looking at {which} alone: {text}" if which else text
    for name, size, place in off:
        if sum(key[0] == name for key in off) == 1 < size:
            which = f" of {name}" if name else ""
            return f"Only number {place + 1}{which} is wrong: look at it again."
    return ""


def _pads(q: Question, cases: list[Case], got: Got, faults: Mapping[int, Difference]) -> str:
    """Look where a mask (batch, keys) lets nothing through, and what is right is 0."""
    for n in faults:
        hostile = cases[n].kind.startswith("pads that hold")
        mask = None if hostile else _mask_in(cases[n].inputs)
        if mask is None:
            continue
        for a, b in zip(got.get(n, ()), right_numbers(cases[n])):
            if a.shape != b.shape or b.ndim < 2 or (len(b), b.shape[-1]) != mask.shape:
                continue
            pads = np.broadcast_to(~mask.reshape(len(b), *[1] * (b.ndim - 2), -1), b.shape)
            if pads.any() and not b[pads].any() and (np.abs(a[pads]) > ABSOLUTE).any():
                return "Yours is not 0 at places where the mask is False; what is right is 0 there."
    return ""


def _mask_in(inputs: Any) -> np.ndarray | None:
    """Find the first mask (batch, keys) among inputs, whatever they are wrapped in."""
    if isinstance(inputs, np.ndarray):
        return inputs if inputs.dtype == bool and inputs.ndim == 2 else None
    if not isinstance(inputs, tuple | list):
        return None
    return next((m for m in map(_mask_in, inputs) if m is not None), None)


def _nearly(q: Question, cases: list[Case], got: Got, faults: Mapping[int, Difference]) -> str:
    if nearly_right([seen for _, seen in _apart(q, cases, got, faults)]):
        if not q.arguments:
            return "You are near: was something rounded on the way? Round the result alone."
        return (
            "Your result is nearly right, off by some per cent at most: is something rounded to "
            "less precision, or a small constant added?"
        )
    return ""


def _where(q: Question, cases: list[Case], got: Got, faults: Mapping[int, Difference]) -> str:
    """Name the kinds of cases that alone are wrong."""
    kinds = {cases[n].kind for n in faults}
    sound = {case.kind for case in cases} - kinds
    pads = sorted(k for k in kinds if k.startswith("pads that hold"))
    if pads and len(pads) == len(kinds):
        held = ", ".join(k.removeprefix("pads that hold ") for k in pads)
        return f"Your result is right until the padding holds {held}: it must not matter."
    if sound and len(kinds) <= 3 and "ordinary" not in kinds:
        return f"Your answer is right elsewhere and wrong here: {', '.join(sorted(kinds))}."
    return ""


def _sound(cases: list[Case], faults: Mapping[int, Difference]) -> str:
    """Name the kinds of cases that alone are right."""
    wrong = {cases[n].kind for n in faults}
    lost = {cases[n].stage.name for n in faults}
    # A stage that looks at something else finds it right where another finds the answer wrong.
    of_others = {c.stage.name for c in cases if c.stage.name not in lost and c.kind in wrong}
    tried = [case for case in cases if case.stage.name not in of_others]
    kinds = {case.kind for case in tried if case.base < 0 and case.kind != DOUBLE}
    kinds = {kind for kind in kinds if not kind.startswith("pads that hold")}
    sound = sorted(kinds - wrong)
    if sound and len(sound) <= 3 and len(sound) < len(kinds) / 2 and "ordinary" not in sound:
        return f"Your answer is right here alone: {', '.join(sound)}."
    return ""


# Longer lists of texts help nobody.
_LONGEST_LIST = 200


def _texts(cases: list[Case], results: Mapping[int, dict], faults: Mapping[int, Difference]) -> str:
    """Say which texts are wrong, where an answer is one, or has one among its entries."""
    said = []
    for n in faults:
        value, right = results.get(n, {}).get("result", {}).get("value"), cases[n].expected
        if not isinstance(right, dict):
            value, right = {"": value}, {"": right}
        if not isinstance(value, dict):
            return ""
        for name in set(cases[n].stage.parts or right) - {"parameters"}:
            ours, theirs = value.get(name), right.get(name)
            if isinstance(ours, str) and isinstance(theirs, str) and ours != theirs:
                said.append((ours, theirs))
    if len(said) < 2:
        return ""
    ours, theirs = (set(side) for side in zip(*said))
    known = {x for case in cases for x in _texts_of(case.expected)}
    if any(re.search(r"\d", x) for x in known):
        return ""  # of a case, perhaps
    if not ours <= known:
        listed = ", ".join(sorted(known))
        of_few = f"One of your texts is none of those that may be said: {listed}."
        return of_few if len(listed) <= _LONGEST_LIST else ""
    if len(ours) == len(theirs) == 1:
        return (
            f"You say {ours.pop()!r} where {theirs.pop()!r} is right, and elsewhere you are right."
        )
    if len(ours) == 1:
        return f"You say {ours.pop()!r} too often."
    if len(theirs) == 1:
        return f"You do not say {theirs.pop()!r} where it is right."
    return ""


def _texts_of(expected: Any) -> list[str]:
    named = expected if isinstance(expected, dict) else {"": expected}
    values = [x for name, x in named.items() if name != "parameters"]
    return [x for x in values if isinstance(x, str)]
