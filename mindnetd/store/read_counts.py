"""Counts of edges as one viewer may see them, and who links to a file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from mindnetd.store.db import Database
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


def backlinks(db: Database, path: str) -> tuple[Backlink, ...]:
    """The links that lead to a vault file, by path and line. Raises StoreError."""
    with db.reader() as reader:
        return tuple(Backlink(*row) for row in reader.rows(statements("read")["backlinks"], [path]))
