"""Questions about the graph as a whole, answered without its edges leaving the store."""

from __future__ import annotations

from collections.abc import Sequence

from mindnetd.store.bulk import word_list
from mindnetd.store.db import Database
from mindnetd.store.sqltext import statements


def linked_notes(db: Database, hidden_ids: Sequence[str] = ()) -> set[str]:
    """The ids of notes with an edge from or to another indexed note, neither in `hidden_ids`. Raises StoreError."""
    with db.reader() as reader:
        return {row[0] for row in reader.rows(statements("graph")["linked_notes"], [word_list(hidden_ids)])}


def missing_names(db: Database, hidden_ids: Sequence[str] = ()) -> list[str]:
    """The names that edges of notes not in `hidden_ids` ask for and no file has, as written. Raises StoreError."""
    with db.reader() as reader:
        return [row[0] for row in reader.rows(statements("graph")["missing_names"], [word_list(hidden_ids)])]


def owners_linking(db: Database, paths: Sequence[str]) -> list[int]:
    """The keys of notes and canvases with a link to one of the files at `paths`. Raises StoreError."""
    if not paths:
        return []
    with db.reader() as reader:
        return [row[0] for row in reader.rows(statements("graph")["owners_linking"], [list(paths)])]
