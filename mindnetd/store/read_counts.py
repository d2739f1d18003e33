"""Counts: edges as one viewer may see them, vectors; and who links to a file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from mindnetd.store.db import Database
from mindnetd.store.read_hot import existing_table
from mindnetd.store.records import Backlink
from mindnetd.store.sqltext import statements


@dataclass(frozen=True, slots=True)
class EdgeCounts:
    """Edges by ``(relation, source)``, and how many distinct targets are unresolved."""

    by_relation: dict[tuple[str, str], int]
    unresolved: int


def edge_counts(db: Database, hidden_ids: Sequence[str]) -> EdgeCounts:
    """Counts of the edges that touch none of the notes ``hidden_ids``. Raises StoreError."""
    with db.reader() as reader:
        rows = reader.rows(statements("read_counts")["edge_counts"], [list(hidden_ids)])
    return EdgeCounts(
        by_relation={(relation, source): edges for relation, source, edges, _ in rows if relation is not None},
        unresolved=next((targets for relation, _, _, targets in rows if relation is None), 0),
    )


def vectors_stored(db: Database, fingerprint: str, dim: int) -> int:
    """How many distinct texts have a vector of this model. Raises StoreError."""
    with db.reader() as reader:
        table = existing_table(reader, dim)
        if table is None:
            return 0
        return int(reader.rows(f"SELECT count(*) FROM {table} WHERE fingerprint = ?", [fingerprint])[0][0])


def backlinks(db: Database, path: str) -> tuple[Backlink, ...]:
    """The links that lead to a vault file, by path and line. Raises StoreError."""
    with db.reader() as reader:
        return tuple(Backlink(*row) for row in reader.rows(statements("read")["backlinks"], [path]))
