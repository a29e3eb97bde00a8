"""Python text to its tree, one at a time.

CPython 3.11 keeps how deep it is in a tree in one place for all threads (issue 106905 of
python/cpython is of its kind; 3.12 and 3.13 have not shown it). The collector may run while a tree
is built, and a finalizer that it calls may hand over to another thread. Where that one builds a
tree of its own, the first ends in ``SystemError: AST constructor recursion depth mismatch``. A
class is graded by several threads, so the grader's own process builds its trees here.
"""

import ast
import threading

__all__ = ["parse", "parse_expression"]

# A thread may come back here from a finalizer while it is in here.
_one_at_a_time = threading.RLock()


def parse(code: str) -> ast.Module:
    """Do what :func:`ast.parse` does, but never in two threads at once."""
    with _one_at_a_time:
        return ast.parse(code)


def parse_expression(code: str) -> ast.Expression:
    """Parse a single expression, as :func:`parse` does with statements."""
    with _one_at_a_time:
        return ast.parse(code, mode="eval")
