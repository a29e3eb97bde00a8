"""A bank with an open experiment: the learner saves the draws, the table follows from them."""

import numpy as np

from seqattn.grading.bank import Exercise
from seqattn.grading.drawing import normal
from seqattn.grading.probes import table_probe
from seqattn.grading.questions import question

DIMENSIONS = (4, 16, 64, 256)


def variances(arrays):
    table = {}
    for d in DIMENSIONS:
        scores = (arrays[f"queries_{d}"] * arrays[f"keys_{d}"]).sum(1)
        table[str(d)] = (float(scores.var()), float((scores / d**0.5).var()))
    return table


def inspect_draws(arrays):
    for d in DIMENSIONS:
        for name in (f"queries_{d}", f"keys_{d}"):
            x = arrays.get(name)
            if x is None:
                return f"it holds no array called {name}"
            if x.ndim != 2 or x.shape[1] != d or len(x) < 1000:
                return f"{name} has shape {x.shape}; expected at least 1000 rows of {d} numbers"
            if len(x) > 20_000:
                return f"{name} has {len(x)} rows: 20000 are enough"
            if not (abs(x.mean()) < 0.1 and 0.9 < x.std() < 1.1):
                return f"the numbers in {name} should have mean 0 and variance 1"
            if len(np.unique(x, axis=0)) < len(x):
                return f"rows of {name} occur more than once: draw each afresh"
        if len(arrays[f"queries_{d}"]) != len(arrays[f"keys_{d}"]):
            return f"queries_{d} and keys_{d} must have as many rows as each other"
        if np.allclose(arrays[f"queries_{d}"], arrays[f"keys_{d}"]):
            return f"queries_{d} and keys_{d} are the same numbers: draw them independently"
    return ""


def draw_draws(rng, kind):
    names = [(f"{name}_{d}", d) for d in DIMENSIONS for name in ("queries", "keys")]
    return ({name: normal(rng, 1500, d) for name, d in names},)


Q1 = question(
    """q1: Measured: why scale?
variances = {4: (unscaled, scaled), 16: ..., 64: ..., 256: ...}
read chapters/02_soft_addressing: How spread out?
the table, 2 points, within 0.011 or 0.01: measured
    From the draws in your file other variances come out than those in your table: one score for
    each pair of rows, then the variance over the pairs.
RIGHT
def variances(evidence):
    table = {}
    for d in (4, 16, 64, 256):
        q, k = evidence[f'queries_{d}'], evidence[f'keys_{d}']
        scores = (q * k).sum(1)
        table[d] = (scores.var(), (scores / d ** 0.5).var())
    return table
WRONG
standard deviations | (scores.var(), -> (scores.std(),; d ** 0.5).var() -> d ** 0.5).std()
    These are standard deviations, the square roots of what is asked for: variances.
""",
    draw=draw_draws,
    oracle=variances,
    evidence="scaling.npz",
    inspect=inspect_draws,
    probe=table_probe,
)

EXERCISE = Exercise("90_measured", "An experiment", (Q1,))
