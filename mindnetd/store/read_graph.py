"""Edges and unresolved links. The caller filters by visibility and flags; the edge carries its visibility."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from mindnetd.core.records import Edge, Link, ResolvedLink
from mindnetd.store.bulk import key_list, word_list
from mindnetd.store.db import Database
from mindnetd.store.records import EdgeCounts, StoredEdge, UnresolvedLink
from mindnetd.store.sqltext import statements
from mindnetd.store.write_links import EDGE_FIELDS

Direction = Literal["in", "out", "both"]


def edges_around(
    db: Database,
    ids: Sequence[str],
    direction: Direction = "both",
    relations: Sequence[str] = (),
    limit: int = 10_000,
) -> tuple[StoredEdge, ...]:
    """Edges that leave (``out``) or reach (``in``) the nodes `ids`, of `relations` (all if empty); by source then id.

    Raises StoreError.
    """
    if not ids:
        return ()
    sides = {"out": "src_id IN (SELECT id FROM around)", "in": "dst_id IN (SELECT id FROM around)"}
    where = sides.get(direction) or f"({sides['out']} OR {sides['in']})"
    sql = statements("read")["edges_around"].format(where=where)
    with db.reader() as reader:
        rows = reader.rows(sql, [word_list(ids), list(relations), list(relations), limit])
    return tuple(StoredEdge(Edge(*row[2:]), row[0], row[1]) for row in rows)


def load_edges(db: Database, keys: Sequence[int]) -> dict[int, tuple[Edge, ...]]:
    """The edges that the notes or canvases `keys` (internal integers) declare, in no order. Raises StoreError."""
    if not keys:
        return {}
    with db.reader() as reader:
        columns = ", ".join(f"{name}::VARCHAR" if name.endswith("id") else name for name in EDGE_FIELDS)
        rows = reader.rows(f"SELECT owner, {columns} FROM edges WHERE owner IN ({key_list(keys)})")
    found: dict[int, list[Edge]] = {}
    for owner, *values in rows:
        found.setdefault(owner, []).append(Edge(**dict(zip(EDGE_FIELDS, values, strict=True))))
    return {owner: tuple(edges) for owner, edges in found.items()}


def edge_counts(db: Database, hidden_ids: Sequence[str] = (), without: Sequence[str] = ()) -> EdgeCounts:
    """Edges by relation and source, and distinct unresolved targets, without what touches a note of `hidden_ids`.

    The counts by relation are without edges from the nodes `without` as well.
    """
    with db.reader() as reader:
        rows = reader.rows(statements("read")["edge_counts"], [word_list(hidden_ids), word_list(without)])
        missing = reader.rows(statements("read")["unresolved_count"], [word_list(hidden_ids)])[0][0]
    return EdgeCounts({(relation, source): count for relation, source, count in rows}, missing)


def backlink_count(db: Database, hidden_ids: Sequence[str] = (), without: Sequence[str] = ()) -> int:
    """Pairs of which the second refers to the first, a note; no notes of `hidden_ids`, no references from `without`.

    Raises StoreError.
    """
    with db.reader() as reader:
        given = [word_list(hidden_ids), word_list(without)]
        return int(reader.rows(statements("read")["backlink_count"], given)[0][0])


def unresolved(db: Database) -> tuple[UnresolvedLink, ...]:
    """All links that lead nowhere, by path and place. External URLs are no such links."""
    with db.reader() as reader:
        rows = reader.rows(statements("read")["unresolved"])
    return tuple(UnresolvedLink(row[0], row[1], ResolvedLink(Link(*row[2:]), None)) for row in rows)
