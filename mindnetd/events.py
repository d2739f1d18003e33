"""Events for ``GET /events``: published from any thread, read by any number of connections.

A reader that does not keep up is cut off instead of slowing the writer or growing without bound. An event about a note
carries the note's visibility and flags beside it, so that a reader gets only what it may see (law 9).
"""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from mindnetd.core.records import Visibility

BACKLOG = 20_000


@dataclass(frozen=True, slots=True)
class Event:
    """``name`` as in ``api.md`` (``note.indexed``, ...); ``data`` is JSON. ``visibility`` None: about no note."""

    name: str
    data: Mapping[str, Any] = field(default_factory=dict)
    visibility: Visibility | None = None
    flags: tuple[str, ...] = ()


class Subscription:
    """One reader's bounded queue. ``next`` belongs to the event loop it was made on, ``offer`` to any thread."""

    def __init__(self, backlog: int) -> None:
        self._loop = asyncio.get_running_loop()
        self._lock = threading.Lock()
        self._waiting: deque[Event] = deque()
        self._backlog = backlog
        self._wake = asyncio.Event()
        self._closed = False

    def offer(self, event: Event | None) -> bool:
        """Add an event (None: the end). False when this reader is too slow or gone and must be dropped."""
        with self._lock:
            if event is None or len(self._waiting) >= self._backlog:
                self._closed = True
            else:
                self._waiting.append(event)
        try:
            self._loop.call_soon_threadsafe(self._wake.set)
        except RuntimeError:  # the reader's loop has ended, and the reader with it
            return False
        return not self._closed

    async def next(self) -> list[Event] | None:
        """Everything that waits, at least one event; None when the bus is closed or this reader was dropped."""
        while True:
            with self._lock:
                if self._waiting:
                    batch = list(self._waiting)
                    self._waiting.clear()
                    return batch
                if self._closed:
                    return None
                self._wake.clear()
            await self._wake.wait()


class EventBus:
    """Hands every published event to all who subscribed before."""

    def __init__(self, backlog: int = BACKLOG) -> None:
        self._backlog = backlog
        self._lock = threading.Lock()
        self._readers: list[Subscription] = []
        self._closed = False

    def publish(self, event: Event) -> None:
        """Hand out one event; never blocks, never raises. Any thread."""
        with self._lock:
            if self._readers:
                self._readers = [reader for reader in self._readers if reader.offer(event)]

    def subscribe(self) -> Subscription:
        """A new reader, on the running event loop."""
        reader = Subscription(self._backlog)
        with self._lock:
            if self._closed:
                reader.offer(None)
            else:
                self._readers.append(reader)
        return reader

    def unsubscribe(self, reader: Subscription) -> None:
        """The reader has gone."""
        with self._lock:
            self._readers = [other for other in self._readers if other is not reader]

    def close(self) -> None:
        """End every reader's stream; the daemon stops."""
        with self._lock:
            self._closed = True
            readers, self._readers = self._readers, []
        for reader in readers:
            reader.offer(None)

    @property
    def closed(self) -> bool:
        """True once the daemon stops."""
        with self._lock:
            return self._closed

    @property
    def readers(self) -> int:
        """How many read now."""
        with self._lock:
            return len(self._readers)
