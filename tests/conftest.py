"""What every test stands on: shape-checked signatures, fixed seeds, one thread, one book.

A commit runs a sample of what can be sampled: fewer examples of hypothesis, the signatures checked
in every fourth test, and of some long tables every third or so row, the same ones at each run of
that commit. With ``SEQATTN_TESTS=thorough``, as once a week, everything is tried.
"""

import os
import sys
from collections import defaultdict
from functools import partial
from pathlib import Path
from zlib import crc32

import jaxtyping
import numpy as np
import pytest
import torch
from _pytest.doctest import DoctestModule
from filelock import FileLock
from hypothesis import HealthCheck, settings

from tools import sample

THOROUGH = os.environ.get("SEQATTN_TESTS") == "thorough"

# From here on every function checks its arguments and results against its annotations, shapes of
# tensors included. What handles no tensors has mypy alone: the grammar, which is called a million
# times, and the grader, the commands and the live figures, whose checks take seconds to make. The
# numeric tower lets an int stand for a float, as in plain Python.
NO_TENSORS = {"cli", "commands", "data", "grading", "grammar", "widgets"}
PACKAGE = Path(__file__).resolve().parents[1] / "seqattn"
jaxtyping.install_import_hook(
    [
        ".".join(("seqattn", *part.relative_to(PACKAGE).with_suffix("").parts))
        for folder in (PACKAGE, PACKAGE / "data")
        for part in folder.iterdir()
        if part.stem not in NO_TENSORS and not part.name.startswith("__")
    ],
    "beartype.beartype(conf=beartype.BeartypeConf(is_pep484_tower=True))",
)

# The same examples at each run: a failure can be repeated, and a green run stays green. No clock
# decides: neither that of an example, nor that of drawing it.
settings.register_profile(
    "seqattn",
    derandomize=True,
    database=None,
    deadline=None,
    max_examples=100 if THOROUGH else 15,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("seqattn")

# Small tensors are faster on one thread, and workers share the cores.
torch.set_num_threads(1)


def pytest_collection_modifyitems(config, items):
    """Leave out what a commit is spared, and give all workers something to do at once."""
    if not THOROUGH:
        _spare(config, items)
    # One worker builds the book, which takes a minute; the others begin with what needs none.
    first, others, reading = [], [], []
    for item in items:
        asks = "book" in getattr(item, "fixturenames", ())
        (others if not asks else reading if first else first).append(item)
    items[:] = first + others + reading


def _spare(config, items):
    """Leave out what ``pytest.mark.sampled(n)`` spares a commit: all but each nth row of a table.

    Each test of a module begins at another row, so that together they meet every row, and the next
    commit begins elsewhere. What is marked ``weekly`` is left out whole.
    """
    turn = sample.turn()
    tables = defaultdict(list)
    for item in items:
        mark = item.get_closest_marker("sampled")
        if mark and hasattr(item, "callspec"):
            tables[item.nodeid.partition("[")[0], mark.args[0]].append(item)
    spared = {item for item in items if item.get_closest_marker("weekly")}
    for (name, n), rows in tables.items():
        first = (crc32(name.encode()) + turn) % min(n, len(rows))
        spared.update(set(rows) - set(rows[first::n]))
    config.hook.pytest_deselected(items=list(spared))
    items[:] = [item for item in items if item not in spared]


@pytest.hookimpl(wrapper=True)
def pytest_collect_file():
    """Look for no examples in the docstrings of tests: that would import each test module twice."""
    found = yield
    return [one for one in found if not isinstance(one, DoctestModule)]


@pytest.fixture(autouse=True)
def _sampled_checks(request):
    """Check the signatures in every fourth test: checks take more time than all the rest."""
    asked = "checked" in request.fixturenames
    if not THOROUGH and not asked and crc32(request.node.nodeid.encode()) % 4:
        request.getfixturevalue("unchecked")


@pytest.fixture(autouse=True)
def _seeds():
    torch.manual_seed(0)
    np.random.seed(0)


@pytest.fixture(autouse=True)
def _process_as_found():
    """Undo what a command or a benchmark set for its process: here the other tests live on.

    With two threads each, two workers on two cores wait for each other most of the time.
    """
    torch.set_flush_denormal(False)
    torch.set_num_threads(1)
    yield
    torch.set_flush_denormal(False)
    torch.set_num_threads(1)


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")


@pytest.fixture(scope="session")
def book(tmp_path_factory, worker_id):
    """Folder of the built book, built once a run, whichever worker asks first."""
    from tools import build

    # Workers have a folder each, side by side in that of the run.
    run = tmp_path_factory.getbasetemp()
    run = run if worker_id == "master" else run.parent
    built = run / "book-is-built"
    with FileLock(run / "book.lock"):
        if not built.exists():
            build.build_wheel()
            build.build_pages()
            built.touch()
    return build.ROOT / "_build" / "html"


@pytest.fixture(params=["cpu", *(["cuda"] if torch.cuda.is_available() else [])])
def device(request):
    """Where to compute: on the CPU, and once more on the GPU where there is one.

    A test that takes it bears the mark ``device``.
    """
    return torch.device(request.param)


@pytest.fixture
def float64():
    """Make float64 the default dtype."""
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(before)


@pytest.fixture
def checked():
    """Keep the shape checks on, whatever a commit samples."""


@pytest.fixture
def unchecked():
    """Switch the shape checks off: what a user meets, for tests of our own error messages."""
    jaxtyping.config.update("jaxtyping_disable", True)
    yield
    jaxtyping.config.update("jaxtyping_disable", False)


@pytest.fixture
def compile_whole(unchecked):
    """Compile without a graph break, or fail; without the shape checks, which cannot be traced."""
    torch.compiler.reset()  # it gives up on the wrapper that all checked functions share
    return partial(torch.compile, fullgraph=True, backend="eager")
