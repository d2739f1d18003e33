"""Rows into tables in bulk, fast for one row and for thousands.

Measured (docs/decisions, store): a text column goes as one parameter, its values joined by a character that none of
them contains, and ``string_split`` takes it apart again: 300 rows of ten columns in 5 ms. The same rows as registered
numpy arrays take 76 ms, since DuckDB looks for pandas anew at each text column and makes an ENUM of it. Columns of
numbers alone go as registered arrays: 16,000 postings in 2 ms.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import Any

import duckdb
import numpy.typing as npt

Value = str | int | float | bool | bytes | None
Column = Sequence[Value]
"""The values of one column; all bytes, or none of them."""

_SLICE = 8 << 20
"""Characters and bytes that one statement takes."""

_HEX_BYTES = 4 << 20


def clean_text(text: str) -> str:
    """`text` with each lone surrogate, which DuckDB cannot carry, as U+FFFD."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def insert(
    con: duckdb.DuckDBPyConnection, table: str, columns: Mapping[str, Column], *, same: Mapping[str, str] | None = None
) -> None:
    """Insert equally long `columns` into `table` (names of ours, never user text). Raises duckdb.Error.

    `same` are columns that have one value in all rows, as words of ours.
    """
    names = ", ".join(f'"{name}"' for name in (*(same or ()), *columns))
    fixed = "".join(f"'{value}', " for value in (same or {}).values())
    for rows in _slices(list(columns.values())):
        packed = Packed({name: values[rows] for name, values in columns.items()})
        con.execute(f"INSERT INTO {table} ({names}) SELECT {fixed}* FROM ({packed.select})", packed.values)


def _slices(columns: Sequence[Column]) -> list[slice]:
    """Rows that go together: all of them, unless a huge note would be held in memory several times over."""
    count = len(columns[0])
    sized = [values for values in columns if count and not isinstance(values[0], int | float)]
    if sum(map(_length, sized)) <= _SLICE:
        return [slice(0, count)] if count else []
    found, start, size = [], 0, 0
    for row in range(count):
        size += sum(_size(values[row]) for values in sized)
        if size > _SLICE or row == count - 1:
            found.append(slice(start, row + 1))
            start, size = row + 1, 0
    return found


def _length(values: Column) -> int:
    """Characters or bytes of a column."""
    try:
        return sum(map(len, filter(None, values)))  # type: ignore[arg-type]
    except TypeError:  # numbers after a first None
        return sum(map(_size, values))


def _size(value: Value) -> int:
    return len(value) if isinstance(value, str | bytes) else 0


def insert_numbers(con: duckdb.DuckDBPyConnection, table: str, columns: Mapping[str, npt.NDArray[Any]]) -> None:
    """Insert equally long numeric arrays into `table`. Raises duckdb.Error."""
    names = ", ".join(f'"{name}"' for name in columns)
    con.register("incoming", dict(columns))
    try:
        con.execute(f"INSERT INTO {table} ({names}) SELECT {names} FROM incoming")
    finally:
        con.unregister("incoming")


class Packed:
    """Columns as parameters of one statement: ``select`` gives them as rows of VARCHAR and BLOB, with ``values``."""

    def __init__(self, columns: Mapping[str, Column]) -> None:
        texts = {name: _texts(values) for name, values in columns.items() if not isinstance(values[0], bytes)}
        separator, null = _marks([whole for _, whole in texts.values()])
        self.values: list[object] = [separator]
        inner, outer = [], []
        for name, values in columns.items():
            if name in texts:
                joined = self._value(_joined(texts[name][0], separator, null))
                inner.append(f'unnest(string_split({joined}, $1)) AS "{name}"')
            else:
                inner.append(f'{self._blobs(values)} AS "{name}"')
            has_null = name in texts and None in texts[name][0]
            outer.append(f'nullif("{name}", {self._value(null)}) AS "{name}"' if has_null else f'"{name}"')
        self.select = f"SELECT {', '.join(outer)} FROM (SELECT {', '.join(inner)})"

    def _value(self, value: object) -> str:
        self.values.append(value)
        return f"${len(self.values)}"

    def _blobs(self, values: Column) -> str:
        """Bytes as hexadecimal text, which is fast; huge ones in a list, which is slow but takes less memory."""
        blobs = [value for value in values if isinstance(value, bytes)]
        if sum(map(len, blobs)) <= _HEX_BYTES:
            return f"unhex(unnest(string_split({self._value(','.join(blob.hex() for blob in blobs))}, ',')))"
        return f"unnest({self._value(blobs)}::BLOB[])"


def _texts(values: Column) -> tuple[list[str | None], str]:
    """The values as text, and all of it in one piece."""
    texts = [value if value is None or isinstance(value, str) else str(value) for value in values]
    whole = "".join(filter(None, texts))
    try:
        whole.encode()
    except UnicodeEncodeError:
        return [None if text is None else clean_text(text) for text in texts], clean_text(whole)
    return texts, whole


def _joined(texts: list[str | None], separator: str, null: str) -> str:
    return separator.join(null if text is None else text for text in texts)


def _marks(columns: Sequence[str]) -> tuple[str, str]:
    """Two characters that no text contains: one stands between the values, the other for NULL."""
    codes = chain(range(0x1E, 0x20), range(1, 0xD800))
    free = (mark for mark in map(chr, codes) if not any(mark in whole for whole in columns))
    return next(free), next(free)


def key_list(keys: Iterable[int]) -> str:
    """Integer keys as the inside of ``IN (...)``: literals let DuckDB skip row groups; ``NULL`` where there is none."""
    return ",".join(str(int(key)) for key in keys) or "NULL"


def word_list(words: Iterable[str]) -> str:
    """Ids or hashes for ``unnest(string_split(?, ' '))``: a list as a parameter costs 0.2 ms for each element."""
    return " ".join(words)
