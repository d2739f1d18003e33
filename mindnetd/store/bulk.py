"""Rows into tables in bulk: columns of Python values become registered numpy arrays.

Measured (docs/decisions, store): a text as an element of an object array costs 0.1 ms to register, in a U array a
hundredth of that, but a U array takes 4 bytes times the longest text for each row. So texts go as U arrays in groups
of rows of similar length, and a row with a really long text goes as a parameter.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import duckdb
import numpy as np
import numpy.typing as npt

Column = Sequence[str | None] | npt.NDArray[Any]
"""Texts (None is NULL), or a numeric or bool array (in a column named in `nullable` a negative number is NULL)."""

_NULL = "\x01"
_CELLS = 4_000_000
"""Characters in one U array, padding included: 16 MB."""


def clean_text(text: str) -> str:
    """`text` without what DuckDB or numpy cannot carry: lone surrogates (as U+FFFD) and NUL characters."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").replace("\0", "")


def _clean(values: Sequence[str | None]) -> list[str | None]:
    joined = "".join(value for value in values if value)
    try:
        joined.encode()
        if "\0" not in joined:
            return list(values)
    except UnicodeEncodeError:
        pass
    return [None if value is None else clean_text(value) for value in values]


def insert(
    con: duckdb.DuckDBPyConnection, table: str, columns: Mapping[str, Column], nullable: Sequence[str] = ()
) -> None:
    """Insert equally long `columns` into `table` (names of ours, never user text). Raises duckdb.Error."""
    texts = {name: _clean(values) for name, values in columns.items() if not isinstance(values, np.ndarray)}
    numbers = {name: values for name, values in columns.items() if isinstance(values, np.ndarray)}
    count = len(next(iter(columns.values())))
    statement = _statement(table, columns, texts, nullable)
    for rows in _groups(list(texts.values()), count):
        arrays: dict[str, npt.NDArray[Any]] = {name: values[rows] for name, values in numbers.items()}
        for name, values in texts.items():
            arrays[name] = np.array([_NULL if (text := values[row]) is None else text for row in rows], dtype=np.str_)
        con.register("incoming", arrays)
        try:
            con.execute(statement)
        finally:
            con.unregister("incoming")


def _statement(table: str, columns: Mapping[str, Column], texts: Mapping[str, Any], nullable: Sequence[str]) -> str:
    def expression(name: str) -> str:
        if name in texts:
            return f'nullif("{name}"::VARCHAR, chr(1))'  # a U array arrives as an ENUM, whose cast to JSON differs
        return f'CASE WHEN "{name}" < 0 THEN NULL ELSE "{name}" END' if name in nullable else f'"{name}"'

    names = ", ".join(f'"{name}"' for name in columns)
    return f"INSERT INTO {table} ({names}) SELECT {', '.join(map(expression, columns))} FROM incoming"


def _groups(texts: Sequence[Sequence[str | None]], count: int) -> list[npt.NDArray[np.int64]]:
    """Row numbers in groups whose U arrays stay within bounds; usually one group, in order."""
    if count == 0:
        return []
    width = np.zeros(count, dtype=np.int64)
    for values in texts:
        np.maximum(width, [len(value) if value else 1 for value in values], out=width)
    if int(width.max(initial=0)) * count <= _CELLS:
        return [np.arange(count)]
    order = np.argsort(width, kind="stable")
    groups, start = [], 0
    for at in range(1, count + 1):
        if at == count or (at + 1 - start) * int(width[order[at]]) > _CELLS:
            groups.append(order[start:at])
            start = at
    return groups


def key_list(keys: Sequence[int]) -> str:
    """Integer keys as the inside of ``IN (...)``: literals let DuckDB skip row groups; ``NULL`` where there is none."""
    return ",".join(str(int(key)) for key in keys) or "NULL"
