"""Exercises: made from one source, checked in the open, graded in a sandbox.

- :mod:`seqattn.grading.authoring` makes notebooks and grader banks from ``solutions/NN_name.py``.
- :mod:`seqattn.grading.reading` and :mod:`seqattn.grading.submission` find the answers in what was
  handed in, whatever became of its cells.
- :mod:`seqattn.grading.sandbox` computes with them in a process that can do nothing else.
- :mod:`seqattn.grading.judge` compares with an independent oracle and names known mistakes.
- :mod:`seqattn.grading.report` says so to a reader, and to a program.
- :mod:`seqattn.grading.classroom` does it for a class.

Nothing here imports torch: only the sandboxed process does.
"""

from seqattn.grading.checking import checking, same_precision

__all__ = ["checking", "same_precision"]
