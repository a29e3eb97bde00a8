"""Ctrl-C, SIGTERM and a closed terminal: finish the update, save, and go."""

import signal
import threading
from types import FrameType
from typing import Any

__all__ = ["Interrupts"]


class Interrupts:
    """Notes a request to stop, for a loop that looks at it between two updates.

    A second request is no longer noted but obeyed at once. Outside the main thread, where Python
    lets nobody listen to signals, it notes nothing.

    Parameters
    ----------
    patient : bool
        Whether a second request, too, is only noted. A launcher of several processes sends one to
        each of them when one was interrupted, and kills after half a minute whom it did not reach.

    Attributes
    ----------
    received : int, or None
        Number of the signal.

    Examples
    --------
    >>> with Interrupts() as interrupts:
    ...     signal.raise_signal(signal.SIGTERM)
    ...     interrupts.received == signal.SIGTERM
    True
    """

    def __init__(self, *, patient: bool = False) -> None:
        self.patient = patient
        self.received: int | None = None
        self._before: dict[int, Any] = {}

    def __enter__(self) -> "Interrupts":
        if threading.current_thread() is threading.main_thread():
            numbers = [signal.SIGINT, signal.SIGTERM]
            hangup = getattr(signal, "SIGHUP", None)  # which is not on every system
            if hangup is not None and signal.getsignal(hangup) != signal.SIG_IGN:  # by nohup
                numbers.append(hangup)
            for number in numbers:
                self._before[number] = signal.signal(number, self._note)
        return self

    def __exit__(self, *error: object) -> None:
        self._restore()

    def _note(self, number: int, frame: FrameType | None) -> None:
        self.received = number
        if not self.patient:
            self._restore()

    def _restore(self) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)
        self._before = {}
