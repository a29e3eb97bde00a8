"""What every test stands on: shape-checked signatures, fixed seeds, one thread, one book."""

import sys
from functools import partial
from pathlib import Path

import jaxtyping
import numpy as np
import pytest
import torch
from filelock import FileLock
from hypothesis import HealthCheck, settings

# From here on every function checks its arguments and results against its annotations, shapes of
# tensors included, save in the grammar, which has no tensors and is called a million times. The
# numeric tower lets an int stand for a float, as in plain Python.
PACKAGE = Path(__file__).resolve().parents[1] / "seqattn"
jaxtyping.install_import_hook(
    [
        ".".join(("seqattn", *part.relative_to(PACKAGE).with_suffix("").parts))
        for folder in (PACKAGE, PACKAGE / "data")
        for part in folder.iterdir()
        if part.name not in ("data", "grammar") and not part.name.startswith("__")
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
    max_examples=50,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("seqattn")

# Small tensors are faster on one thread, and workers share the cores.
torch.set_num_threads(1)


@pytest.fixture(autouse=True)
def _seeds():
    torch.manual_seed(0)
    np.random.seed(0)


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


@pytest.fixture
def float64():
    """Make float64 the default dtype."""
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(before)


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
