"""Thousands of pairs, drawn once."""

import os
import pickle
import subprocess
import sys
from types import SimpleNamespace

import pytest
from filelock import FileLock

DRAW = """
import pickle, sys
from seqattn.data import generate, splits
drawn = dict(
    ordinary=generate(4_000, seed=11),
    long=generate(100, seed=12, min_len=13, max_len=100),
    other=generate(2_000, seed=13, max_len=8) + generate(1_000, seed=14, min_len=8, max_len=20),
    splits=splits(train=2_000, valid=97, test=101, seed=2),
    medium=splits(train=2_000, valid=3, test=3, min_len=7, max_len=9),
)
pickle.dump(drawn, sys.stdout.buffer)
"""


@pytest.fixture(scope="session")
def drawn(tmp_path_factory, worker_id) -> SimpleNamespace:
    """Pairs of the toy corpus, as another process draws them, with another hash seed.

    There the functions run at their own speed: the type checks of the tests, which look at each of
    the dozens of calls behind a pair, would make the corpus ten times slower. Drawn once a run,
    whichever worker asks first.
    """
    run = tmp_path_factory.getbasetemp()
    run = run if worker_id == "master" else run.parent
    pairs = run / "drawn.pickle"
    with FileLock(run / "drawn.lock"):
        if not pairs.exists():
            result = subprocess.run(
                [sys.executable, "-c", DRAW],
                env={**os.environ, "PYTHONHASHSEED": "7"},
                capture_output=True,
                check=True,
            )
            pairs.write_bytes(result.stdout)
    return SimpleNamespace(**pickle.loads(pairs.read_bytes()))
