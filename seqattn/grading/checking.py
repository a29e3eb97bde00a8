"""What stands around a visible check in an exercise notebook.

The package begins with this module: it imports neither torch nor NumPy, for which the command line
would wait.
"""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

__all__ = ["STRICT", "checking", "same_precision", "tells_apart", "waits_for"]

# Set where checks are counted instead of read: a failing check fails then.
STRICT = "SEQATTN_STRICT_CHECKS"


@contextmanager
def checking(question: str) -> Iterator[None]:
    """Run a question's check, and say in a sentence how it ended.

    In JupyterLab or on Colab an answer that is missing or not right yet does not keep the cells
    below from running; pytest and ``seqattn check`` see the exception itself. Any other exception
    comes from the answer and is never held back.

    Parameters
    ----------
    question : str
        Its id, as ``"q1"``.
    """
    strict = STRICT in os.environ or "PYTEST_VERSION" in os.environ
    try:
        yield
    except NotImplementedError as error:
        if strict:
            raise
        print(f"{question} {waits_for(question, str(error)) or 'is not answered yet'}")
    except AssertionError as error:
        if strict:
            raise
        print(f"{question} is not right yet: {error}".removesuffix(": "))
    else:
        print(f"{question} looks right")


def waits_for(question: str, message: str) -> str:
    """Say what an answer calls that is not written; "" where it is the question's own answer.

    >>> waits_for("q7", "q5: weight_at")
    'calls weight_at, which is q5 and not answered yet'
    >>> waits_for("q7", 'Module [Net] is missing the required "forward" function')
    'calls a module that has no method with the name forward'
    """
    if message.startswith("Module [") and "is missing the required" in message:  # PyTorch's own
        return "calls a module that has no method with the name forward"
    other, _, name = message.partition(": ")
    if other == question or not (other[:1] == "q" and other[1:].isdigit()):
        return ""
    return f"calls {name}, which is {other} and not answered yet"


def same_precision(answer: Any, *inputs: Any) -> None:
    """Assert that an answer computes in the precision of its inputs, 32 bits and 64.

    A result of 64 bits may still have the digits of 32 alone, as ``torch.sqrt(torch.tensor(2))``
    has. Of that a line is printed: it costs points only where gradients earn some.

    Parameters
    ----------
    answer : callable
        A function of tensors, or a module.
    *inputs : object
        What it is called with; floating-point tensors come in either precision.

    Raises
    ------
    AssertionError
        If a result is of another dtype than the inputs.
    """
    # Graders send this source to a process without this package: it stands alone.
    for cast, wanted in (("float", "torch.float32"), ("double", "torch.float64")):
        if hasattr(answer, "parameters"):
            getattr(answer, cast)()
        given = [
            getattr(x, cast)() if hasattr(x, "is_floating_point") and x.is_floating_point() else x
            for x in inputs
        ]
        results = answer(*given)
        results = results if isinstance(results, tuple | list) else (results,)
        for one in results:
            found = str(getattr(one, "dtype", type(one).__name__))
            assert found == wanted, f"{wanted} came in, {found} came out: keep the precision"
    import torch

    usual = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)  # of numbers that the answer makes without a dtype
    try:
        exact = answer(*given)
    except RuntimeError:  # of an answer that mixes the two itself
        return
    finally:
        torch.set_default_dtype(usual)
    exact = exact if isinstance(exact, tuple | list) else (exact,)
    off = [(a - b).abs().nan_to_num().max().item() for a, b in zip(results, exact) if a.numel()]
    if any(1e-12 < one < 1e-4 for one in off):  # more is chance, as of a dropout
        print("Note: float64 came in, but a number on the way is a tensor of 32 bits: take")
        print("math.sqrt(d) for torch.sqrt(torch.tensor(d)), or give such tensors dtype=x.dtype.")


def tells_apart(test: Callable[[Any], Any], right: Any, broken: Any) -> None:
    """Assert that a test keeps silent on a right function and refuses a broken one.

    Parameters
    ----------
    test : callable
        What takes a function and asserts what must hold of it.
    right, broken : callable
        The functions; the name of the broken one says what is wrong with it.

    Raises
    ------
    AssertionError
        If it refuses the right one, keeps silent on the broken one, or returns anything.
    """
    # As above: it stands alone.
    try:
        returned = test(right)
    except AssertionError as error:
        raise AssertionError(f"your test refuses right code: {error}".removesuffix(": ")) from None
    assert returned is None, "a test returns nothing: write assert and what must hold"
    try:
        test(broken)
    except (Exception, SystemExit):
        return
    named = broken.__name__.replace("_", " ")
    raise AssertionError(f"your test keeps silent on broken code: {named}")
