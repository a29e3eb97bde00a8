"""What the process is set up for, and what the C library is asked for."""

from types import SimpleNamespace

import pytest
import torch

from seqattn.process import prepare_process, return_free_memory


@pytest.fixture
def allocator(monkeypatch):
    """Take down what the C library is asked for, and ask nothing of it."""
    asked = {}
    library = SimpleNamespace(
        mallopt=asked.__setitem__, malloc_trim=lambda rest: asked.setdefault("trimmed", rest)
    )
    monkeypatch.setattr("ctypes.CDLL", lambda name: library)
    return asked


@pytest.mark.skipif(not torch.set_flush_denormal(False), reason="not on this processor")
def test_a_process_is_set_up_for_the_work(allocator):
    tiny = torch.full((3,), 1e-40)
    assert (tiny * 1).any()
    prepare_process()
    assert not (tiny * 1).any()
    return_free_memory()
    most = 2**31 - 1  # for M_MMAP_THRESHOLD and M_TRIM_THRESHOLD of glibc
    assert allocator == {-3: most, -1: most, "trimmed": 0}


@pytest.mark.parametrize("error", [TypeError, OSError])
def test_a_system_without_glibc_is_left_as_it_is(allocator, monkeypatch, error):
    def missing(name):
        raise error

    monkeypatch.setattr("ctypes.CDLL", missing)
    prepare_process()
    monkeypatch.setattr("ctypes.CDLL", lambda name: SimpleNamespace())
    prepare_process()
    return_free_memory()
    assert not allocator
