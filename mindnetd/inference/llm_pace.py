"""How fast the language model reads, and so how much of the notes an answer may put to it.

Without a graphics card even a small model reads some hundred tokens a second or fewer: a prompt of 3,000 tokens would
use up the time of whoever asks before the first word comes. Not for: how long an answer may take (``answer``).
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

FIRST_RATE = 100.0
"""Tokens a second, while nothing is known."""
READ_S = 10.0
"""So long it may read before the first word of an answer."""
LEAST = 300
"""Fewer tokens than that are no basis for an answer, and too few to measure by."""
HOPELESS_S = 300.0
"""So long one that did not even read `LEAST` in time is not asked for answers."""


class Pace:
    """Tokens a second, by the calls so far; any thread."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._rate = FIRST_RATE
        self._hopeless_until = float("-inf")

    def read(self, tokens: int, seconds: float) -> None:
        """It read so many tokens in that time; the last such call counts, since the machine may be busier now."""
        if tokens >= LEAST and seconds > 0:
            with self._lock:
                self._rate, self._hopeless_until = tokens / seconds, float("-inf")

    def unread(self, tokens: int, seconds: float) -> None:
        """It did not read so many tokens in that time: it is slower than that."""
        with self._lock:
            self._rate = min(self._rate, tokens / max(seconds, 0.001))
            if self._rate * READ_S < LEAST / 2:
                self._hopeless_until = self._clock() + HOPELESS_S

    def tokens(self, parts: int = 1) -> int:
        """What it may be given in each of so many calls that somebody waits for; 0: nothing, it is too slow."""
        with self._lock:
            if self._clock() < self._hopeless_until:
                return 0
            return int(max(LEAST, min(self._rate * READ_S / parts, 1e6)))
