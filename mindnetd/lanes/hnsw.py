"""``vector_index: hnsw``: candidates of the dense lane from DuckDB's VSS index instead of the whole matrix.

The index is derived: it lives in a database of its own in memory, is never persisted (it loses rows after a crash) and
may lag behind: rows that it does not hold yet are scored exactly, so no answer depends on how far it is. It only
proposes rows; every score that is shown is computed by `lanes.dense`. VSS filters after its limit, so a question whose
filters leave less than half of the documents goes over the exact matrix.
"""

from __future__ import annotations

import importlib.util
import threading
from collections.abc import Callable
from pathlib import Path

import duckdb
import numpy as np
from numpy.typing import NDArray

from mindnetd.errors import ConfigError
from mindnetd.lanes import dense
from mindnetd.lanes.segments import BoolArray
from mindnetd.lanes.snapshot import HotSnapshot
from mindnetd.lanes.vectors import Matrix, VectorView

EF_SEARCH = 600
"""Nodes that a search looks at: recall of the first 50 at least 0.95 (a test holds it)."""
MIN_SHARE = 0.5
"""With less than this share of the documents let through, the matrix is searched instead."""
_BATCH = 2000


class HnswLane:
    """An approximate index over the rows of a `VectorTable`. `follow` from one thread, `cosines` from any."""

    def __init__(self, extension: Path | None = None) -> None:
        self._extension = extension or extension_file()
        self._built: _Built | None = None
        self._thread: threading.Thread | None = None
        self._closed = threading.Event()

    @property
    def rows(self) -> int:
        """How many rows the index holds."""
        built = self._built
        return built.rows if built else 0

    def follow(self, view: VectorView, stop: Callable[[], bool] = lambda: False) -> None:
        """Take the rows of `view` in that are not yet there; from the start if rows were renumbered. May take long."""
        built = self._built
        if view.dim and (built is None or built.generation != view.generation or built.rows > view.count):
            built = _Built(self._extension, view)
        while built is not None and built.rows < view.count and not stop():
            built.extend(view, min(view.count, built.rows + _BATCH))
        self._built = built

    def keep_up(self, view: VectorView) -> None:
        """`follow` in a thread of its own, unless one is at it already. Returns at once; call it every few seconds."""
        if (self._thread is None or not self._thread.is_alive()) and self._behind(view):
            self._thread = threading.Thread(
                target=self.follow, args=(view, self._closed.is_set), name="hnsw", daemon=True
            )
            self._thread.start()

    def _behind(self, view: VectorView) -> bool:
        built = self._built
        return view.count > 0 and (built is None or built.generation != view.generation or built.rows < view.count)

    def close(self) -> None:
        """Stop following; waits for the batch that is under way."""
        self._closed.set()
        if self._thread is not None:
            self._thread.join()

    def cosines(self, snapshot: HotSnapshot, query: Matrix, docs: BoolArray, count: int) -> NDArray[np.float32]:
        """As `dense.cosines`, but -inf also for documents that are surely not among the best `count` of `docs`."""
        built, view = self._built, snapshot.vectors
        share = float(docs.sum()) / max(len(docs), 1)
        if built is None or built.generation != view.generation or share < MIN_SHARE:
            return dense.cosines(snapshot, query)
        # several passages of one document, and rows of documents that are filtered out or gone, take places
        wanted = min(int(count * 4 / share), EF_SEARCH)
        rows = [row for row in built.nearest(query, wanted) if row < view.count]
        rows.extend(range(built.rows, view.count))
        scores = np.full(view.count + 2, -np.inf, np.float32)
        near = np.array(sorted(set(rows)), np.int32)
        scores[near] = view.exact(near, query)
        return np.maximum.reduceat(scores[snapshot.passage_rows], snapshot.passage_start)


class _Built:
    """One database in memory with the rows ``[0, rows)`` of one numbering."""

    def __init__(self, extension: Path, view: VectorView) -> None:
        self.generation, self.rows, self._dim = view.generation, 0, view.dim
        self._database = duckdb.connect(":memory:", config={"autoinstall_known_extensions": False, "threads": 1})
        self._database.execute(f"LOAD '{str(extension).replace(chr(39), chr(39) * 2)}'")
        self._database.execute(f"SET hnsw_ef_search = {EF_SEARCH}")
        self._database.execute(f"CREATE TABLE vectors (row INTEGER, vector FLOAT[{self._dim}])")
        self._database.execute("CREATE INDEX nearest ON vectors USING HNSW (vector) WITH (metric = 'cosine')")
        self._local = threading.local()

    def extend(self, view: VectorView, end: int) -> None:
        """Insert the rows up to `end`."""
        start = self.rows
        matrix = view.rows(start, end)
        columns = {"row": np.arange(start, end, dtype=np.int32)}
        columns.update({f"c{j}": np.ascontiguousarray(matrix[:, j]) for j in range(self._dim)})
        cursor = self._database.cursor()
        cursor.register("fresh", columns)
        parts = ", ".join(f"c{j}" for j in range(self._dim))
        cursor.execute(f"INSERT INTO vectors SELECT row, array_value({parts}) FROM fresh")
        cursor.close()
        self.rows = end

    def nearest(self, query: Matrix, count: int) -> list[int]:
        """The rows of about the `count` nearest vectors."""
        cursor = getattr(self._local, "cursor", None)
        if cursor is None:
            cursor = self._local.cursor = self._database.cursor()
        text = "[" + ",".join(map(repr, query.tolist())) + "]"  # a bound list costs 20 ms
        distance = f"array_cosine_distance(vector, '{text}'::FLOAT[{self._dim}])"
        found = cursor.execute(f"SELECT row FROM vectors ORDER BY {distance} LIMIT {count}").fetchnumpy()["row"]
        return [int(row) for row in found]


def extension_file() -> Path:
    """The VSS extension inside the installed package. Raises ConfigError, with what to install, where it is not."""
    spec = importlib.util.find_spec("duckdb_extension_vss")
    folders = list(spec.submodule_search_locations or ()) if spec else []
    for folder in folders:
        for file in Path(folder).glob(f"extensions/v{duckdb.__version__}/vss.duckdb_extension"):
            return file
    raise ConfigError(
        f"vector_index: hnsw needs duckdb-extension-vss=={duckdb.__version__}: install mindnetd[hnsw], or use exact"
    )
