"""Questions whose answer is a test: it keeps silent on right programs and refuses broken ones.

A bank lists programs as it lists answers: right ones, then what is changed in them, with what to
say of a test that does not notice::

    RIGHT
    # fills with the smallest number
    def double(x):
        return x + x
    WRONG
    not doubled | x + x -> x
        returns its input

Above each right program stands a comment: what it does in its own way. A broken program's name is
the kind of case in which it is drawn, each time beside right ones and twice; :data:`RIGHT_CODE` is
the kind in which all right ones are. Neither name nor type nor source tells them apart, nor does
their order, and what runs the test is not told either: it sends back what the test said of each.
"""

import ast
from collections.abc import Iterable, Mapping
from typing import Any, Literal

import numpy as np

from seqattn.grading.compare import exception_name
from seqattn.grading.questions import mistakes, right_answers
from seqattn.grading.syntax import parse

__all__ = ["RIGHT_CODE", "a_test"]

RIGHT_CODE = "right code"

# Of a test: what it says of programs, each of them made anew. Of these it gets a built-in callable,
# which has a name, and nothing else that tells one from another.
_PROBE = """
import functools
import random

def probe(test, programs, seeds):
    verdicts, raised, errors = [], [], []
    for text, seed in zip(programs, seeds):
        torch.set_default_dtype(torch.float32)
        torch.set_grad_enabled(True)
        torch.default_generator.manual_seed(seed)
        np.random.seed(seed)
        random.seed(seed)
        space = {{"__name__": "__main__", "torch": torch, "F": F, "nn": nn, "math": math}}
        exec(compile(text, "<program>", "exec"), space)
        program = functools.lru_cache(maxsize=0)(space[{program}])
        del program.__wrapped__
        error = None
        try:
            verdict = "passes" if test(program) is None else "returns"
        except (Exception, SystemExit) as caught:
            verdict, error = "refuses", None if isinstance(caught, AssertionError) else caught
        verdicts.append(verdict)
        raised.append(type(error).__name__ if error else "")
        errors.append(error)
    # Where it fails whatever it is given, the mistake is in the test itself.
    if all(errors):
        raise errors[0]
    return {{"verdicts": tuple(verdicts), "raised": tuple(raised)}}
"""

Said = Literal["passes", "refuses", "returns"]
# What a test said of each program, by the program's text.
Heard = Mapping[str, list[tuple[Said, str]]]


def a_test(program: str, programs: str) -> dict[str, Any]:
    """Give what belongs to a question that asks for a test: cases, probe, oracle and hints.

    Every stage should have the kind :data:`RIGHT_CODE`, so that a test that refuses right code
    earns nothing. Each kind is drawn once: a test may try each program on many inputs.

    Parameters
    ----------
    program : str
        What the programs are called.
    programs : str
        Right and broken ones, as above.

    Raises
    ------
    ValueError
        If a right program has no comment, or a change does not fit.
    """
    first, _, second = programs.partition("\nWRONG\n")
    codes = right_answers(first.removeprefix("RIGHT\n"), program)
    for code in codes:
        if not code.startswith("# "):
            raise ValueError(f"no comment says what is special about\n{code}")
    broken = mistakes(second, tuple(code.partition("\n")[2] for code in codes))
    right = {_bare(code): code.partition("\n")[0].removeprefix("# ") for code in codes}
    texts = {wrong.name: _bare(wrong.code) for wrong in broken}
    says = {texts[wrong.name]: wrong.hint.rstrip(".") for wrong in broken}

    def draw(rng: np.random.Generator, kind: str) -> tuple[tuple[str, ...], tuple[int, ...]]:
        if kind == RIGHT_CODE:
            drawn = [*right]
        elif kind in texts:
            # Twice: a test that hangs on chance, or on what came before, differs with itself.
            drawn = [texts[kind], texts[kind], [*right][rng.integers(len(right))]]
        else:
            raise ValueError(f"no broken program is called {kind!r}; there are {[*texts]}")
        seeds = rng.integers(2**31, size=len(drawn))
        return tuple(drawn[n] for n in rng.permutation(len(drawn))), tuple(map(int, seeds))

    def oracle(drawn: tuple[str, ...], seeds: tuple[int, ...]) -> dict[str, Any]:
        return {"verdicts": tuple("passes" if text in right else "refuses" for text in drawn)}

    def explain(results: Iterable[tuple[tuple, Any]]) -> str:
        return _explain(_heard(results), right, says)

    return {
        "draw": draw,
        "oracle": oracle,
        "probe": _PROBE.format(program=repr(program)),
        "explain": explain,
        # Not even a program's text: it is what is to be found out.
        "shown": lambda drawn, seeds: {},
    }


def _bare(code: str) -> str:
    """Write a program without comments, all in the same style."""
    return ast.unparse(parse(code)) + "\n"


def _heard(results: Iterable[tuple[tuple, Any]]) -> Heard:
    """Sort what came back by program; nothing that came back is believed."""
    heard: dict[str, list[tuple[Said, str]]] = {}
    for (drawn, _), value in results:
        entries: dict[str, Any] = value if isinstance(value, dict) else {}
        verdicts, raised = entries.get("verdicts", ()), entries.get("raised", ())
        if all(isinstance(x, tuple | list) and len(x) == len(drawn) for x in (verdicts, raised)):
            for text, verdict, error in zip(drawn, verdicts, raised):
                heard.setdefault(text, []).append((verdict, str(error)))
    return heard


def _explain(heard: Heard, right: Mapping[str, str], says: Mapping[str, str]) -> str:
    """Say what a test does, in the words of the bank."""
    verdicts = {text: {verdict for verdict, _ in found} for text, found in heard.items()}
    if any("returns" in found for found in verdicts.values()):
        return (
            "Your test returns something. A test returns nothing: it says what must hold with "
            "assert, which raises an AssertionError where it does not hold."
        )
    refused = [text for text in right if "refuses" in verdicts.get(text, ())]
    unseen = [text for text in says if "passes" in verdicts.get(text, ())]
    if len(refused) == len(right) and not unseen:
        return f"Your test refuses every program it is given, right ones too{_raised(heard)}."
    if any(len(found) > 1 for found in verdicts.values()):
        return (
            "Your test refuses a program one time and lets the same program pass another time: it "
            "hangs on random numbers, or on what it was given before. Choose the numbers yourself, "
            "or set a seed in the test."
        )
    if refused:
        stops = _raised({text: heard[text] for text in refused})
        if len(refused) == len(right):
            return f"Your test refuses right code, however it is written{stops}: what must hold?"
        count = f"{len(refused)} of {len(right)} right programs"
        return f"Your test refuses {count}{stops}. One of them {right[refused[0]]}."
    if not unseen:
        return ""
    count = f"Your test keeps silent on {len(unseen)} of {len(says)} broken programs."
    if len(unseen) == len(says):
        return f"{count} Is there an assert in it that can fail?"
    return f"{count} One of them {says[unseen[0]]}."


def _raised(heard: Heard) -> str:
    """Name an exception that is no AssertionError, where one came of each program."""
    raised = [{name for _, name in found if name} for found in heard.values()]
    if not raised or not all(raised):
        return ""
    name = exception_name(min(raised[0]))
    return f", where it stops with {name}, which is no AssertionError"
