"""A training that stops now and then to be judged: one loop, and one clock, for every contestant.

JoeyNMT's contestant stands in an environment of its own, without seqattn. So nothing is imported
here but what Python brings along.
"""

import json
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

__all__ = ["learn_and_show"]


def learn_and_show(
    task: Mapping[str, Any],
    train: Callable[[Sequence[int], float], int],
    translate: Callable[[], list[list[int]]],
    about: str,
) -> None:
    """Train on a task's batches; after every so many tokens translate, and ask whether to go on.

    Parameters
    ----------
    task : mapping
        ``schedule``, the rows of each batch; ``lr``, the learning rate of each; ``every``, the
        target tokens from one judgement to the next.
    train : callable
        ``(rows, lr) -> tokens``: make an update with these rows, and count its target tokens.
    translate : callable
        Give the ids of every sentence that is to be translated.
    about : str
        What this program is, and which PyTorch it runs on.
    """
    print(f"ready: {about}", flush=True)
    tokens, due, seconds = 0, task["every"], {"training": 0.0, "validating": 0.0}
    last = len(task["schedule"])
    for updates, (rows, lr) in enumerate(zip(task["schedule"], task["lr"], strict=True), start=1):
        began = time.perf_counter()
        tokens += train(rows, lr)
        seconds["training"] += time.perf_counter() - began
        if tokens < due and updates < last:
            continue
        while due <= tokens:
            due += task["every"]
        began = time.perf_counter()
        answers = translate()
        seconds["validating"] += time.perf_counter() - began
        shown = {"updates": updates, "tokens": tokens, **seconds, "answers": answers}
        print(json.dumps(shown), flush=True)
        # While the answers are judged no clock runs: that costs the same for all.
        if sys.stdin.readline().strip() != "on":
            return
