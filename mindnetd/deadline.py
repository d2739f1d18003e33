"""How long a request may still take, and whether anybody waits for its answer.

One ``Deadline`` goes with a request from the socket to the last loop of the search. Long work calls ``check`` between
its steps.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from mindnetd.errors import Unavailable


class Deadline:
    """``seconds`` from now; may be cancelled from any thread."""

    def __init__(self, seconds: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._end = clock() + seconds
        self._seconds = seconds
        self._cancelled = False

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
        """Nobody waits: ``check`` raises from now on."""
        self._cancelled = True
