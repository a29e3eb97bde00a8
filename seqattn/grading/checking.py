"""What stands around a visible check in an exercise notebook."""

import os
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["STRICT", "checking"]

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
    except NotImplementedError:
        if strict:
            raise
        print(f"{question} is not answered yet")
    except AssertionError as error:
        if strict:
            raise
        print(f"{question} is not right yet: {error}".removesuffix(": "))
    else:
        print(f"{question} looks right")
