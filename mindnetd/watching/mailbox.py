"""The bounded box between watchdog's threads and ours: putting never blocks and never fails, taking empties it."""

from __future__ import annotations

import threading
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Batch:
    """All that had come in. ``hints`` are (kind, vault path), the last hint of each path in the order of coming."""

    hints: dict[str, str]
    alarms: tuple[str, ...]
    closed: bool


class Mailbox:
    """Hints by path, at most `size` paths, and alarms. A full box loses hints and says so by the alarm ``full``."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._hints: dict[str, str] = {}
        self._alarms: dict[str, None] = {}
        self._closed = False
        self._ready = threading.Condition()

    def put(self, kind: str, path: str) -> None:
        """A hint about `path`. A newer one takes the place of an older one, at the end of the line."""
        with self._ready:
            if self._hints.pop(path, None) is None and len(self._hints) >= self._size:
                self._alarms["full"] = None
            else:
                self._hints[path] = kind
            self._ready.notify()

    def alarm(self, reason: str) -> None:
        """Something to act on that is no hint; the same reason twice is one alarm. Never lost."""
        with self._ready:
            self._alarms[reason] = None
            self._ready.notify()

    def take(self, timeout: float | None) -> Batch:
        """Wait for anything (None: as long as it takes), then take all of it."""
        with self._ready:
            self._ready.wait_for(lambda: self._hints or self._alarms or self._closed, timeout)
            batch = Batch(self._hints, tuple(self._alarms), self._closed)
            self._hints, self._alarms = {}, {}
            return batch

    def close(self) -> None:
        """From now on every taking returns at once."""
        with self._ready:
            self._closed = True
            self._ready.notify()
