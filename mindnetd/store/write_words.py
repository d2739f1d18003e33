"""Postings, lengths and terms: the lexical index in the same transaction as its chunks.

Term ids are the file's own. The writer keeps no dictionary: it asks the table for the terms of a batch by their 64-bit
hash (2 ms at 150,000 terms), which costs less than a resident dictionary of all terms.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import duckdb
import numpy as np
import numpy.typing as npt

from mindnetd.core.analyze import FIELDS
from mindnetd.store.bulk import Packed, insert_numbers, key_list
from mindnetd.store.db import Database
from mindnetd.store.records import NoteRows
from mindnetd.store.sqltext import statements

_MAX_TF = 65_535


def delete_words(con: duckdb.DuckDBPyConnection, notes: Sequence[int], docs: Sequence[int]) -> None:
    """Delete the documents of `notes` and the single documents `docs` (keys)."""
    gone = list(docs)
    if notes:
        found = con.execute(f"SELECT doc FROM lengths WHERE note_key IN ({key_list(notes)})").fetchall()
        gone += [doc for (doc,) in found]
    if gone:
        con.execute(f"DELETE FROM postings WHERE doc IN ({key_list(gone)})")
        con.execute(f"DELETE FROM lengths WHERE doc IN ({key_list(gone)})")


def write_words(db: Database, con: duckdb.DuckDBPyConnection, notes: Sequence[NoteRows]) -> None:
    """Insert the documents of `notes`; terms that are new get the next ids."""
    terms: dict[str, int] = {}
    doc: list[int] = []
    term: list[int] = []
    field: list[int] = []
    count: list[int] = []
    for place, name in enumerate(FIELDS):
        for row in (row for rows in notes for row in rows.docs):
            counts = row.terms.counts.get(name)
            if counts:
                term += [terms.setdefault(text, len(terms)) for text in counts]
                count += counts.values()
                doc += [row.key] * len(counts)
                field += [place] * len(counts)
    _insert_lengths(con, notes)
    if not terms:
        return
    ids = _term_ids(db, con, list(terms))
    order = np.argsort(np.array(doc, dtype=np.int32), kind="stable")
    columns: dict[str, npt.NDArray[Any]] = {
        "doc": np.array(doc, dtype=np.int32)[order],
        "term": ids[np.array(term, dtype=np.int64)][order],
        "field": np.array(field, dtype=np.uint8)[order],
        "tf": np.minimum(np.array(count, dtype=np.int64), _MAX_TF).astype(np.uint16)[order],
    }
    insert_numbers(con, "postings", columns)


def _insert_lengths(con: duckdb.DuckDBPyConnection, notes: Sequence[NoteRows]) -> None:
    docs = [(rows.meta.key, row) for rows in notes for row in rows.docs]
    if docs:
        columns: dict[str, list[int]] = {"doc": [row.key for _, row in docs], "note_key": [key for key, _ in docs]}
        columns |= {name: [row.terms.lengths.get(name, 0) for _, row in docs] for name in FIELDS}
        insert_numbers(con, "lengths", {name: np.array(values, dtype=np.int32) for name, values in columns.items()})


def _term_ids(db: Database, con: duckdb.DuckDBPyConnection, terms: Sequence[str]) -> npt.NDArray[np.int32]:
    """The ids of distinct `terms`, int32 in their order; unknown ones are inserted."""
    packed = Packed({"term": terms})
    found = con.execute(statements("write")["known_terms"].format(select=packed.select), packed.values).fetchnumpy()
    ids = np.full(len(terms), -1, dtype=np.int32)
    ids[found["j"]] = found["id"]
    new = np.flatnonzero(ids < 0).tolist()
    if new:
        fresh = db.allocate_terms(len(new))
        ids[new] = np.arange(fresh.start, fresh.stop, dtype=np.int32)
        packed = Packed({"id": list(fresh), "term": [terms[place] for place in new]})
        con.execute(statements("write")["insert_terms"].format(select=packed.select), packed.values)
    return ids
