"""Vectors into the file: written in bulk from one float32 matrix, each text and fingerprint once."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import duckdb
import numpy as np
import numpy.typing as npt

from mindnetd.errors import StoreError
from mindnetd.store.bulk import Packed
from mindnetd.store.records import Vectors
from mindnetd.store.sqltext import statements

BASE_DIM = 384


def table_of(dim: int) -> str:
    """The table for vectors of `dim` numbers."""
    return "embeddings" if dim == BASE_DIM else f"embeddings_{int(dim)}"


TABLES = "SELECT table_name FROM duckdb_tables()"


def vector_tables(tables: Iterable[tuple[Any, ...]]) -> list[tuple[str, int]]:
    """The tables of vectors among `tables` (rows of TABLES), with their dimensions."""
    names = [row[0] for row in tables if row[0].startswith("embeddings")]
    return sorted((name, int(name.partition("_")[2] or BASE_DIM)) for name in names)


def write_vectors(con: duckdb.DuckDBPyConnection, vectors: Vectors) -> None:
    """Insert what is not there yet. Raises StoreError ``bad_vector`` for a shape, non-finite or zero row."""
    count = len(vectors.hashes)
    matrix = np.ascontiguousarray(vectors.matrix, dtype=np.float32)
    if matrix.ndim != 2 or matrix.shape[0] != count or len(set(vectors.hashes)) != count:
        raise StoreError(f"vectors of shape {matrix.shape} for {count} texts", code="bad_vector")
    if not count:
        return
    norms = np.linalg.norm(matrix, axis=1)
    if not np.isfinite(norms).all() or (norms == 0).any():
        raise StoreError("a vector is zero or not finite: the model is broken", code="bad_vector")
    names = {"table": table_of(matrix.shape[1]), "dim": matrix.shape[1]}
    con.execute(statements("write")["create_vectors"].format(**names))
    packed = Packed({"i": range(count), "text_hash": vectors.hashes, "fingerprint": [vectors.fingerprint] * count})
    con.register("numbers", _numbers(matrix))
    try:
        sql = statements("write")["insert_vectors"].format(select=packed.select, **names)
        con.execute(sql, packed.values)
    finally:
        con.unregister("numbers")


def _numbers(matrix: npt.NDArray[np.float32]) -> dict[str, npt.NDArray[Any]]:
    """The matrix as rows (i, j, x): ``list(x ORDER BY j)`` puts them together without a Python list."""
    count, dim = matrix.shape
    return {
        "i": np.repeat(np.arange(count, dtype=np.int32), dim),
        "j": np.tile(np.arange(dim, dtype=np.int16), count),
        "x": matrix.ravel(),
    }
