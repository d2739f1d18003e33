"""Whose turn it is to call the language model: a server without a limit of its own would queue all calls and run them
into their time limits. Not for: whether there is one (``inference.llm``)."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from mindnetd.inference.llm_call import POLL_S, LlmError

SLOT_S = 5.0
"""So long somebody who asks a question waits for a turn; work in the background waits until it is stopped."""
QUIET_S = 2.0
"""So long after an answer's call the background keeps away: an answer over communities is several calls."""


class Turns:
    """At most so many calls at once; whoever asks a question goes before work in the background."""

    def __init__(self, most: int) -> None:
        self._free, self._asking = most, 0
        self._quiet_until = float("-inf")
        self._changed = threading.Condition()

    @property
    def wanted(self) -> bool:
        """Whether a question waits for a turn, and background work that has one should give it up."""
        return bool(self._asking) and not self._free

    @contextmanager
    def turn(self, asked: bool, stop: Callable[[], bool]) -> Iterator[None]:
        """Entering waits for a turn; raises LlmError where `stop` says so, or, `asked`, after `SLOT_S`."""
        with self._changed:
            self._asking += asked
            try:
                self._wait(asked, stop)
            finally:
                self._asking -= asked
            self._free -= 1
        try:
            yield
        finally:
            with self._changed:
                self._free += 1
                if asked:
                    self._quiet_until = time.monotonic() + QUIET_S
                self._changed.notify_all()

    def _wait(self, asked: bool, stop: Callable[[], bool]) -> None:
        until = time.monotonic() + SLOT_S
        while not self._free or (not asked and (self._asking or time.monotonic() < self._quiet_until)):
            if stop():
                raise LlmError("the call to the LLM was given up", "llm_stopped", called=False)
            if asked and time.monotonic() > until:
                raise LlmError("the LLM is busy", "llm_busy", called=False)
            self._changed.wait(POLL_S)
