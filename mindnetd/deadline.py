"""How long a request may still take, and whether anybody waits for its answer.

One ``Deadline`` goes with a request from the socket to the last loop of the search. Long work calls ``check`` between
its steps.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from mindnetd.errors import Unavailable
from mindnetd.manners import MANNERS


class Deadline:
    """``seconds`` from now; may be cancelled from any thread."""

    def __init__(self, seconds: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._end = clock() + seconds
        self._seconds = seconds
        self._cancelled = False
        self._stops: list[Callable[[], None]] = []
        self._lock = threading.Lock()

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
        """Nobody waits: ``check`` raises from now on, and what is `stoppable` is stopped."""
        with self._lock:
            self._cancelled = True
            for stop in self._stops:
                stop()

    @contextmanager
    def stoppable(self, stop: Callable[[], None]) -> Iterator[None]:
        """While the body runs, `cancel` calls `stop`, on its own thread; afterwards never."""
        with self._lock:
            self._stops.append(stop)
        try:
            yield
        finally:
            with self._lock:
                self._stops.remove(stop)


_of_thread = threading.local()


@contextmanager
def working_under(deadline: Deadline) -> Iterator[None]:
    """This thread works for a request while the body runs: `stopped_with_request` knows its deadline."""
    _of_thread.deadline = deadline
    try:
        with MANNERS.in_work():
            yield
    finally:
        _of_thread.deadline = None


@contextmanager
def stopped_with_request(stop: Callable[[], None]) -> Iterator[Callable[[], None]]:
    """While the body runs, `stop` is called when the request that this thread works for is given up; if it does.

    Gives the check that raises Unavailable when it was: for the body to call before what `stop` could stop.
    """
    deadline: Deadline | None = getattr(_of_thread, "deadline", None)
    if deadline is None:
        yield lambda: None
    else:
        with deadline.stoppable(stop):
            yield deadline.check
