"""Errors without the data of hidden cases: what their messages may say to a learner."""

import ast
import re

__all__ = ["redact"]

# Sizes are no secret, and PyTorch's messages name a few; many numbers in a row are data.
MOST_NUMBERS = 8
QUOTED = re.compile(r"(?<!\w)(['\"])(.*?)\1(?!\w)")
FLOAT = re.compile(r"-?\d+\.\d*(e[-+]?\d+)?|-?\d+e[-+]?\d+", re.IGNORECASE)


def redact(error: dict, code: str) -> dict:
    r"""Take out of an error whatever may have come from a hidden case and not from the answer.

    What an answer raises by itself may say anything, so that its message counts only as far as it
    stands in the answer's code. What Python and libraries raise keeps its words and its sizes;
    quoted texts that are not in the code, fractions and long rows of numbers become "…".

    Parameters
    ----------
    error : dict
        ``type``, ``message`` and ``line``, the line of the answer's code.
    code : str
        The answer.

    Returns
    -------
    dict
        The same with another ``message``.

    Examples
    --------
    >>> error = {"type": "KeyError", "message": "'0.25 0.75'", "line": 2}
    >>> redact(error, "def f(x):\n    return {}[str(x)]\n")["message"]
    '…'
    """
    message = error["message"]
    if error["type"] in ("SyntaxError", "ForbiddenError"):
        return error  # written by this package
    if _raises(code, error["line"]) and message not in code:
        return {**error, "message": ""}
    message = QUOTED.sub(lambda m: m[0] if m[2] in code else "…", message)
    message = FLOAT.sub("…", message)
    if len(re.findall(r"\d+", message)) > MOST_NUMBERS:
        message = re.sub(r"\d+", "…", message)
    return {**error, "message": message}


def _raises(code: str, line: int) -> bool:
    """Say whether a line of the answer raises by itself."""
    try:
        nodes = list(ast.walk(ast.parse(code)))
    except (SyntaxError, RecursionError, MemoryError, ValueError):
        return True  # nothing is known of it
    return any(
        isinstance(node, ast.Raise | ast.Assert) and node.lineno <= line <= (node.end_lineno or 0)
        for node in nodes
    )
