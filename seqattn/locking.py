"""A folder that one process at a time may write into."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

__all__ = ["LOCK", "locked"]

# Stays there, empty; the system gives it up with the process that holds it.
LOCK = ".lock"


@contextmanager
def locked(folder: Path, busy: Exception) -> Iterator[None]:
    """Hold a folder, so that no other process that asks for it writes there meanwhile.

    Parameters
    ----------
    folder : Path
        It exists.
    busy : Exception
        What to raise where another process holds it.
    """
    lock = FileLock(folder / LOCK)
    try:
        lock.acquire(blocking=False)
    except Timeout:
        raise busy from None
    except (NotImplementedError, OSError):
        pass  # a file system that knows no locks, or a folder that writing will complain of
    try:
        yield
    finally:
        lock.release()
