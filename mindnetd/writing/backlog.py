"""Passages that have no vector yet, newest notes first, and the thread that embeds them.

The queue holds one entry a note. Texts are kept up to a budget of memory; past it an entry keeps only its hashes, and
its texts are made again from the stored bytes when its turn comes (chunking is deterministic, so they are the same).
"""

from __future__ import annotations

import heapq
import itertools
import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mindnetd.errors import ModelError
from mindnetd.inference.embedder import Embedder, EmbeddingStoppedError, TextsFailedError

TEXT_BUDGET = 32 * 1024 * 1024
"""Characters of passage text that may wait in memory."""

LONGEST_PAUSE_S = 300.0
MACRO_BATCH = 96
"""Passages a step: about 1-2 s of two cores, so that a fresh save waits no longer than that for its turn."""


@dataclass(slots=True)
class _Entry:
    note_key: int
    missing: dict[bytes, str | None]
    """text hash -> text, or None where the text is made again when needed."""
    alive: bool = True


class EmbedQueue:
    """Thread-safe; the writer adds and discards, the embedding thread takes."""

    def __init__(self, texts_of: Callable[[int], Mapping[bytes, str]]) -> None:
        self._texts_of = texts_of
        self._heap: list[tuple[int, int, int, _Entry]] = []
        self._added = itertools.count()  # a note queued again must not be compared by its entry
        self._entries: dict[int, _Entry] = {}
        self._in_flight: set[bytes] = set()
        self._chars = 0
        self._retries = 0
        self._held_before: int | None = None
        self._changed = threading.Condition()

    def add(self, note_key: int, newest: int, missing: Mapping[bytes, str | None]) -> None:
        """Queue the passages of a note; `newest` orders notes (larger goes first), an older entry of it is replaced."""
        with self._changed:
            self._drop(note_key)
            if not missing:
                return
            texts = dict(missing)
            size = sum(len(text) for text in texts.values() if text is not None)
            if self._chars + size > TEXT_BUDGET:
                texts, size = dict.fromkeys(texts), 0
            self._chars += size
            entry = self._entries[note_key] = _Entry(note_key, texts)
            heapq.heappush(self._heap, (-newest, note_key, next(self._added), entry))
            self._changed.notify_all()

    def discard(self, note_key: int) -> None:
        """The note is gone or was rewritten: forget what it waited for."""
        with self._changed:
            self._drop(note_key)

    def clear(self) -> None:
        """Forget everything (another model takes over)."""
        with self._changed:
            for note_key in list(self._entries):
                self._drop(note_key)
            self._in_flight.clear()

    def hold(self, before: int | None) -> None:
        """Give out nothing that is older than `before` (as `newest` of `add`); None: everything again.

        While bulk work makes a vault searchable by its words, embedding would only take its cores away.
        """
        with self._changed:
            self._held_before = before
            self._changed.notify_all()

    def pending(self) -> int:
        """Passages that wait, those being embedded included."""
        with self._changed:
            return sum(len(entry.missing) for entry in self._entries.values()) + len(self._in_flight)

    def take(self, most: int, stop: threading.Event) -> dict[bytes, str]:
        """Up to `most` passages as hash -> text, newest notes first; blocks until there are some or `stop` is set."""
        while not stop.is_set():
            with self._changed:
                picked = self._pick(most)
                if not picked:
                    self._changed.wait(timeout=5.0)
                    continue
                self._in_flight |= picked.keys()
            texts = self._complete(picked)
            if texts:
                return texts
        return {}

    def done(self, hashes: set[bytes]) -> None:
        """These have their vectors (or failed for good)."""
        with self._changed:
            self._in_flight -= hashes

    def put_back(self, texts: Mapping[bytes, str]) -> None:
        """These were taken but have no vector yet: they come again, after everything newer."""
        with self._changed:
            self._retries -= 1
        self.done(set(texts))
        self.add(self._retries, 0, texts)

    def wake(self) -> None:
        """Let a waiting `take` look at its stop flag."""
        with self._changed:
            self._changed.notify_all()

    def _pick(self, most: int) -> dict[bytes, tuple[int, str | None]]:
        picked: dict[bytes, tuple[int, str | None]] = {}
        while self._heap and len(picked) < most:
            newest, *_, entry = self._heap[0]
            if self._held_before is not None and -newest < self._held_before:
                break
            if not entry.alive or not entry.missing:
                heapq.heappop(self._heap)
                if entry.alive:
                    del self._entries[entry.note_key]
                    entry.alive = False
                continue
            digest, text = entry.missing.popitem()
            self._chars -= len(text) if text is not None else 0
            if digest not in self._in_flight:
                picked[digest] = (entry.note_key, text)
        return picked

    def _complete(self, picked: Mapping[bytes, tuple[int, str | None]]) -> dict[bytes, str]:
        """Fill in the texts that were not kept; a passage whose note has changed meanwhile is dropped."""
        texts: dict[bytes, str] = {}
        remade: dict[int, Mapping[bytes, str]] = {}
        for digest, (note_key, text) in picked.items():
            if text is None:
                if note_key not in remade:
                    remade[note_key] = self._texts_of(note_key)
                text = remade[note_key].get(digest)
            if text is not None:
                texts[digest] = text
        self.done(set(picked) - set(texts))
        return texts

    def _drop(self, note_key: int) -> None:
        entry = self._entries.pop(note_key, None)
        if entry is not None:
            entry.alive = False
            self._chars -= sum(len(text) for text in entry.missing.values() if text is not None)
            entry.missing = {}


class Awaited:
    """Which notes still lack which vectors, so that `note.embedded` is told once a note has them all. One thread."""

    def __init__(self) -> None:
        self._notes: dict[bytes, set[int]] = {}
        self._left: dict[int, set[bytes]] = {}

    def expect(self, note_key: int, hashes: Iterable[bytes]) -> None:
        """The note lacks exactly these from now on."""
        self.forget(note_key)
        left = set(hashes)
        for digest in left:
            self._notes.setdefault(digest, set()).add(note_key)
        if left:
            self._left[note_key] = left

    def forget(self, note_key: int) -> None:
        """The note is gone."""
        for digest in self._left.pop(note_key, set()):
            self._notes[digest].discard(note_key)
            if not self._notes[digest]:
                del self._notes[digest]

    def arrived(self, hashes: Iterable[bytes]) -> list[int]:
        """These have come: the keys of the notes that lack nothing any more."""
        complete = []
        for digest in hashes:
            for note_key in self._notes.pop(digest, set()):
                self._left[note_key].discard(digest)
                if not self._left[note_key]:
                    del self._left[note_key]
                    complete.append(note_key)
        return complete


@dataclass(frozen=True)
class Vectors:
    """What one step of embedding gives: `hashes[i]` has the unit vector `matrix[i]` (n, dim) of `fingerprint`."""

    fingerprint: str
    hashes: list[bytes]
    matrix: NDArray[np.float32]


class EmbedThread(threading.Thread):
    """Takes passages, embeds them, hands the vectors to the writer. Owns no state that outlives it."""

    def __init__(
        self,
        queue: EmbedQueue,
        embedder: Embedder,
        deliver: Callable[[Vectors], None],
        failed: Callable[[ModelError], None],
    ) -> None:
        super().__init__(name="mindnetd-embed", daemon=True)
        self._queue, self._embedder, self._deliver, self._failed = queue, embedder, deliver, failed
        self._stopping = threading.Event()

    def run(self) -> None:
        """Until stopped. What fails is reported and waits for the next try, after a pause that grows."""
        pause = 1.0
        while not self._stopping.is_set():
            texts = self._queue.take(MACRO_BATCH, self._stopping)
            if texts and self._embed(texts):
                pause = 1.0
            elif texts:
                self._queue.put_back(texts)
                self._stopping.wait(pause)
                pause = min(pause * 2, LONGEST_PAUSE_S)

    def _embed(self, texts: Mapping[bytes, str]) -> bool:
        """One step; False if its passages have to wait."""
        hashes = list(texts)
        try:
            matrix = self._embedder.embed([texts[digest] for digest in hashes], stop=self._stopping.is_set)
        except EmbeddingStoppedError:
            return False
        except TextsFailedError as error:
            self._failed(error)
            self._queue.done({hashes[place] for place in error.failed})  # the back end refuses them: not again
            good = [place for place in range(len(hashes)) if place not in error.failed]
            hashes, matrix = [hashes[place] for place in good], error.vectors[good]
        except ModelError as error:
            self._failed(error)
            return False
        if hashes:
            self._deliver(Vectors(self._embedder.fingerprint, hashes, matrix))
        return True

    def stop(self, timeout_s: float = 10.0) -> None:
        """Ask it to end and wait for it, at most `timeout_s`."""
        self._stopping.set()
        self._queue.wake()
        self.join(timeout_s)
