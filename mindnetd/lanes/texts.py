"""The texts of chunks, compressed in RAM: an answer goes to the database for none of them, where they all fit.

A chunk's key names one text for as long as the resident index follows the database by commits. After the index was
loaded anew (a file opened anew may give a key out twice) nothing is taken from before.
"""

from __future__ import annotations

import marshal
import sys
import threading
import zlib
from collections import OrderedDict
from collections.abc import Iterable, Sequence

from mindnetd.core.results import ChunkText, TextSource
from mindnetd.lanes.snapshot import HotSnapshot

KEPT_BYTES = 16 << 20
"""As much as 15,000 chunks of 2 KB take; a vault with more of them keeps those that were asked for last."""
_ENTRY_BYTES = 200
"""About what the table takes for an entry beside the packed text."""
_BATCH = 256
_FASTEST = 1
"""zlib's level: half the size in a third of the time of the usual one."""


class RecentTexts:
    """Texts from `source`, as many as `limit` bytes hold. Any thread."""

    def __init__(self, source: TextSource, limit: int = KEPT_BYTES) -> None:
        self._source, self._limit = source, limit
        self._kept: OrderedDict[int, bytes] = OrderedDict()
        self._size = self._load = 0
        self._filled = (0, 0)
        self._lock = threading.Lock()

    def texts(self, snapshot: HotSnapshot, keys: Sequence[int]) -> dict[int, ChunkText]:
        """The texts of chunks of a snapshot; a chunk that is gone is missing, unless its text is still at hand."""
        load = snapshot.vectors.generation
        packed: dict[int, bytes] = {}
        with self._lock:
            if self._of(load):
                for key in keys:
                    if key in self._kept:
                        self._kept.move_to_end(key)
                        packed[key] = self._kept[key]
        found = {key: _unpack(text) for key, text in packed.items()}
        wanted = [key for key in keys if key not in found]
        if wanted:
            fresh = self._source.texts(wanted)
            self._keep(load, fresh.values())
            found.update(fresh)
        return found

    def fill(self, snapshot: HotSnapshot) -> None:
        """Fetch what a snapshot has and is not here, while there is room; forget what it has not. In the background."""
        load, revision = snapshot.vectors.generation, snapshot.revision
        if self._filled == (load, revision):
            return
        there = {int(key) for key in snapshot.doc_key[snapshot.alive]}
        with self._lock:
            if not self._of(load):
                return
            for key in self._kept.keys() - there:
                self._size -= _size_of(self._kept.pop(key))
            wanted = sorted(there - self._kept.keys() - snapshot.slot_of.keys())  # a note's own key has no text
        for start in range(0, len(wanted), _BATCH):
            if self._size > self._limit * 0.9:
                break
            self._keep(load, self._source.texts(wanted[start : start + _BATCH]).values(), ahead=True)
        self._filled = (load, revision)

    def _of(self, load: int) -> bool:
        """Whether the table is of this load of the index (they are numbered upwards); a newer one empties it."""
        if load > self._load:
            self._kept.clear()
            self._size, self._load = 0, load
        return load == self._load

    def _keep(self, load: int, fresh: Iterable[ChunkText], *, ahead: bool = False) -> None:
        packed = {text.key: _pack(text) for text in fresh}
        with self._lock:
            if not self._of(load):
                return
            for key, text in packed.items():
                if key not in self._kept:
                    self._kept[key] = text
                    self._size += _size_of(text)
                    if ahead:  # what nobody has asked for is the first to go
                        self._kept.move_to_end(key, last=False)
            while self._size > self._limit:
                self._size -= _size_of(self._kept.popitem(last=False)[1])


def _size_of(packed: bytes) -> int:
    return _ENTRY_BYTES + sys.getsizeof(packed)


def _pack(text: ChunkText) -> bytes:
    values = (text.key, text.id, text.idx, text.section, text.start_line, text.end_line)
    return zlib.compress(marshal.dumps((*values, text.text, text.overlap_left, text.overlap_right)), _FASTEST)


def _unpack(packed: bytes) -> ChunkText:
    return ChunkText(*marshal.loads(zlib.decompress(packed)))
