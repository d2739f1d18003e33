"""Requests go first: work that nobody waits for asks here between its steps.

Python runs one thread at a time, so a thread that computes makes every other one slow; what nobody waits for can stand
still while a request is answered (docs/communities.md has the figures).
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TypeVar

T = TypeVar("T")


class Manners:
    """`in_work` by requests, `give_way` by the rest; any thread."""

    QUIET_S = 0.005
    """So long no request may have come: one is often followed by the next."""
    MOST_S = 0.1
    """So long is waited at most, so that work goes on under any load."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._state = threading.Condition()
        self._running = 0
        self._last = -self.QUIET_S

    @contextmanager
    def in_work(self) -> Iterator[None]:
        """A request is answered while the body runs."""
        with self._state:
            self._running += 1
        try:
            yield
        finally:
            with self._state:
                self._running -= 1
                self._last = self._clock()
                self._state.notify_all()

    def give_way(self) -> None:
        """Wait while requests are in work or have just been; not for long."""
        if not self._running and self._clock() - self._last >= self.QUIET_S:
            return
        end = self._clock() + self.MOST_S
        with self._state:
            while (now := self._clock()) < end:
                quiet = self._last + self.QUIET_S - now
                if not self._running and quiet <= 0:
                    return
                self._state.wait(end - now if self._running else min(quiet, end - now))

    def gently(self, many: Iterable[T], slice_: int = 256) -> Iterator[T]:
        """The same, with a `give_way` after every `slice_` of them."""
        for number, one in enumerate(many, 1):
            yield one
            if number % slice_ == 0:
                self.give_way()

    @contextmanager
    def polite(self) -> Iterator[None]:
        """While the body runs, a thread that wants to compute gets its turn ten times sooner than usual."""
        usual = sys.getswitchinterval()
        sys.setswitchinterval(usual / 10)
        try:
            yield
        finally:
            sys.setswitchinterval(usual)


MANNERS = Manners()
"""Those of this process."""
