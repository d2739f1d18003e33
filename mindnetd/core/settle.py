"""When a file that may have changed is quiet enough to be read. Pure: time comes in, answers go out.

A path is *marked* by an event or a scan, becomes *due* after a quiet time, and is then *looked* at; the look says
``ready`` (read it now, it is forgotten here) or ``wait`` (it comes up again). The rules, in the order they are tried:

1. Dirty for ``unstable_max_s``: ready, whatever it looks like. One stuck writer must not hide a note for ever.
2. Absent: ready at once where a move said so, else if it is still absent ``ABSENT_QUIET_S`` later (git deletes and
   creates, vim moves the note away and writes it anew).
3. Open for writing: wait. The close is an event of its own; without events we look again, less and less often.
4. Found by a scan, or empty, or created where nobody can tell about writers: two equal looks, a quiet time apart.
5. Else ready: the close, the rename or the lease said that the save is whole.

Marks push the due time out by the quiet time each, but not past ``max_wait_ms`` after the first one.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from typing import Literal

from mindnetd.core.records import FileStat

MarkKind = Literal["closed", "created", "moved", "deleted", "scan"]
Verdict = Literal["ready", "wait"]
ABSENT_QUIET_S = 0.3
"""How long an absence must hold beyond the quiet time before it is a deletion."""
SHORTEST_PAUSE_S = 0.05
"""The least that passes between two looks at the same file, whatever the quiet time: looking must not spin."""
LONGEST_PAUSE_S = 1.0
"""The most that passes between two looks at a file that is still open for writing."""


@dataclass(frozen=True, slots=True)
class SettleOptions:
    """Quiet time, the longest wait of a file that is saved again and again, and of one slow write."""

    settle_ms: int = 200
    max_wait_ms: int = 2000
    unstable_max_s: float = 15.0


@dataclass(slots=True)
class _Entry:
    kind: MarkKind
    dirty_since: float
    """First mark: what rule 1 counts from."""
    first: float
    """Start of the present run of saves: what ``max_wait_ms`` counts from."""
    due: float
    seen: FileStat | None = None
    absent_until: float | None = None
    held: bool = False
    pause: float = 0.0


class Settler:
    """The dirty paths of a vault, each with the time of its next look. For one thread."""

    def __init__(self, options: SettleOptions | None = None) -> None:
        self._entries: dict[str, _Entry] = {}
        self._heap: list[tuple[float, str]] = []
        self.configure(options or SettleOptions())

    def configure(self, options: SettleOptions) -> None:
        """Take new times; what is already due stays due."""
        self._quiet = options.settle_ms / 1000
        self._pause = max(self._quiet, SHORTEST_PAUSE_S)
        self._max_wait = max(options.max_wait_ms / 1000, self._quiet)
        self._unstable_max = max(options.unstable_max_s, self._quiet)

    def __len__(self) -> int:
        return len(self._entries)

    def __contains__(self, path: object) -> bool:
        return path in self._entries

    def mark(self, path: str, kind: MarkKind, now: float, stat: FileStat | None = None) -> None:
        """`path` may have changed, as `kind` of hint says. `stat`: what a scan saw, which counts as a first look."""
        entry = self._entries.get(path)
        if entry is None:
            entry = self._entries[path] = _Entry(kind, now, now, now + self._quiet, stat)
        elif kind == "scan":
            return  # already known to be dirty, and a scan is no sign of a new save
        else:
            if entry.held:
                # The long write that we waited for is over: what follows is judged as a new run of saves.
                entry.held, entry.first = False, now
            entry.kind, entry.pause = kind, 0.0
            entry.due = min(now + self._quiet, max(entry.first + self._max_wait, now))
        heapq.heappush(self._heap, (entry.due, path))

    def due(self, now: float, limit: int | None = None) -> list[str]:
        """The paths to look at now, longest due first, deletions last; each comes again until it was looked at."""
        found: list[tuple[float, str]] = []
        while self._heap and self._heap[0][0] <= now and (limit is None or len(found) < limit):
            item = heapq.heappop(self._heap)
            if self._current(item) and (not found or found[-1] != item):
                found.append(item)
        for item in found:
            heapq.heappush(self._heap, item)
        return sorted((path for _, path in found), key=lambda path: self._entries[path].kind == "deleted")

    def next_due(self) -> float | None:
        """When the next path becomes due; None if nothing is dirty."""
        while self._heap and not self._current(self._heap[0]):
            heapq.heappop(self._heap)
        return self._heap[0][0] if self._heap else None

    def look(self, path: str, stat: FileStat | None, open_for_write: bool | None, now: float) -> Verdict:
        """Judge a look at `path` (`stat` None: absent; `open_for_write` None: unknown). A path not marked is ready."""
        entry = self._entries.get(path)
        if entry is None:
            return "ready"
        pause = self._judge(entry, stat, open_for_write, now)
        last = entry.dirty_since + self._unstable_max
        if pause is None or now >= last:
            del self._entries[path]
            return "ready"
        entry.due = min(now + pause, last)
        heapq.heappush(self._heap, (entry.due, path))
        return "wait"

    def drop(self, path: str) -> None:
        """Forget `path`: nothing can be told about it now, a later scan will find it again."""
        self._entries.pop(path, None)

    def clear(self) -> None:
        """Forget all (the vault is gone; a scan follows when it is back)."""
        self._entries.clear()
        self._heap.clear()

    def _current(self, item: tuple[float, str]) -> bool:
        entry = self._entries.get(item[1])
        return entry is not None and entry.due == item[0]

    def _judge(self, entry: _Entry, stat: FileStat | None, open_for_write: bool | None, now: float) -> float | None:
        """How long to wait before the next look; None: not at all."""
        if stat is None:
            return self._absent(entry, now)
        entry.absent_until = None
        same, entry.seen = entry.seen == stat, stat
        if open_for_write:
            entry.held = True
            entry.pause = min(max(self._pause, entry.pause * 1.5), LONGEST_PAUSE_S)
            return entry.pause
        unsure = entry.kind == "scan" or stat.size == 0 or (entry.kind == "created" and open_for_write is None)
        if stat.size == 0 and open_for_write is None:
            # Nobody can say whether a writer has just emptied it, so the emptiness has to last.
            same = same and now - entry.first >= self._max_wait
        if not unsure or same:
            return None
        # Saved again and again: past the cap it is read as it is (the reader still refuses a file that moves under
        # it). Not so an empty one: it is the first half of a save more often than a note without text.
        if stat.size and now - entry.first >= self._max_wait:
            return None
        return self._pause

    def _absent(self, entry: _Entry, now: float) -> float | None:
        entry.seen = None
        if entry.kind == "moved":
            return None
        if entry.absent_until is None:
            entry.absent_until = now + ABSENT_QUIET_S
        return entry.absent_until - now if now < entry.absent_until else None
