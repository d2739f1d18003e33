"""The texts of the last answers, kept in RAM: asking again, or asking on, does not go to the database again.

A chunk's key names one text for as long as the resident index follows the database by commits. After the index was
loaded anew (a file opened anew may give a key out twice) nothing is taken from before.
"""

from __future__ import annotations

import sys
import threading
from collections import OrderedDict
from collections.abc import Iterable, Sequence

from mindnetd.core.results import ChunkText, TextSource
from mindnetd.lanes.snapshot import HotSnapshot

KEPT_BYTES = 6 << 20
_RECORD_BYTES = 600
"""About what a record takes without its three long texts."""


class RecentTexts:
    """Texts from `source`, the newest `limit` bytes of them from memory. Any thread."""

    def __init__(self, source: TextSource, limit: int = KEPT_BYTES) -> None:
        self._source, self._limit = source, limit
        self._kept: OrderedDict[tuple[int, int], ChunkText] = OrderedDict()
        self._size = 0
        self._lock = threading.Lock()

    def texts(self, snapshot: HotSnapshot, keys: Sequence[int]) -> dict[int, ChunkText]:
        """The texts of chunks of a snapshot; a chunk that is gone is missing, unless its text is still at hand."""
        load = snapshot.vectors.generation  # another number after every load
        found: dict[int, ChunkText] = {}
        with self._lock:
            for key in keys:
                known = self._kept.get((load, key))
                if known is not None:
                    self._kept.move_to_end((load, key))
                    found[key] = known
        wanted = [key for key in keys if key not in found]
        if wanted:
            fresh = self._source.texts(wanted)
            self._keep(load, fresh.values())
            found.update(fresh)
        return found

    def _keep(self, load: int, fresh: Iterable[ChunkText]) -> None:
        with self._lock:
            for text in fresh:
                if (load, text.key) not in self._kept:
                    self._kept[load, text.key] = text
                    self._size += _bytes_of(text)
            while self._size > self._limit:
                self._size -= _bytes_of(self._kept.popitem(last=False)[1])


def _bytes_of(text: ChunkText) -> int:
    return _RECORD_BYTES + sum(map(sys.getsizeof, (text.text, text.overlap_left, text.overlap_right)))
