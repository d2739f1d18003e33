"""How long a request may still take, and whether anybody waits for its answer.

One ``Deadline`` goes with a request from the socket to the last loop of the search. Long work calls ``check`` between
its steps; work that blocks in the database registers an interrupt with ``on_cancel``.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from mindnetd.errors import Unavailable


class Deadline:
    """``seconds`` from now; may be cancelled from any thread."""

    def __init__(self, seconds: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._end = clock() + seconds
        self._seconds = seconds
        self._lock = threading.Lock()
        self._cancelled = False
        self._interrupts: list[Callable[[], None]] = []

    @property
    def remaining(self) -> float:
        """Seconds left; 0 when over or cancelled."""
        return 0.0 if self._cancelled else max(0.0, self._end - self._clock())

    @property
    def over(self) -> bool:
        """True when nobody waits any more."""
        return self.remaining <= 0.0

    def check(self) -> None:
        """Raise Unavailable (``cancelled`` or ``timeout``) when the time is over."""
        if self._cancelled:
            raise Unavailable("the client went away", code="cancelled")
        if self.over:
            raise self.late()

    def late(self) -> Unavailable:
        """The error of an answer that did not come in time."""
        return Unavailable(f"no answer within {self._seconds:g} s; ask again or narrow the question", code="timeout")

    def cancel(self) -> None:
        """Nobody waits: ``check`` raises from now on, and registered interrupts are called once."""
        with self._lock:
            if self._cancelled:
                return
            self._cancelled = True
            interrupts, self._interrupts = self._interrupts, []
            for interrupt in interrupts:  # under the lock: `on_cancel` ends only when no interrupt can still hit
                interrupt()

    @contextmanager
    def on_cancel(self, interrupt: Callable[[], None]) -> Iterator[None]:
        """While the block runs, ``cancel`` also calls ``interrupt`` (which must not block)."""
        self.check()
        with self._lock:
            self._interrupts.append(interrupt)
        try:
            yield
        finally:
            with self._lock:
                if interrupt in self._interrupts:
                    self._interrupts.remove(interrupt)
