"""Communities into their tables: what is as it was stays as it is."""

from __future__ import annotations

from collections.abc import Sequence

import duckdb

from mindnetd.core.community_ids import CommunityRow
from mindnetd.store.bulk import Packed, insert
from mindnetd.store.db import Database, set_meta

_TABLES = {"communities": "id", "community_members": "community_id", "community_sources": "community_id"}


def replace_communities(
    con: duckdb.DuckDBPyConnection, rows: Sequence[CommunityRow], last: Sequence[CommunityRow], state: str
) -> int:
    """Make `rows` the communities, inside a transaction; `last` is what the tables hold. Returns the rows changed."""
    stored = {row.id: row for row in last}
    fresh = [row for row in rows if stored.get(row.id) != row]
    kept = {row.id for row in rows}
    gone = sorted({row.id for row in last if row.id not in kept} | {row.id for row in fresh if row.id in stored})
    if gone:
        packed = Packed({"id": gone})
        for table, column in _TABLES.items():
            con.execute(
                f"DELETE FROM {table} WHERE {column} IN (SELECT id::UUID FROM ({packed.select}))", packed.values
            )
    _insert(con, fresh)
    set_meta(con, "communities_state", state)
    return len(gone) + len(fresh)


def _insert(con: duckdb.DuckDBPyConnection, rows: Sequence[CommunityRow]) -> None:
    names = ("id", "label", "level", "parent", "title", "summary", "summary_source", "members_hash", "texts_hash")
    columns = {name: [getattr(row, name) for row in rows] for name in (*names, "size", "visibility")}
    columns["updated"] = [row.updated.isoformat(" ") for row in rows]
    insert(con, "communities", columns)
    pairs = [(row.id, member) for row in rows for member in row.members]
    insert(con, "community_members", {"community_id": [a for a, _ in pairs], "entity_id": [b for _, b in pairs]})
    told = [(row.id, n, one) for row in rows for n, one in enumerate(row.sources)]
    insert(
        con,
        "community_sources",
        {
            "community_id": [community for community, _, _ in told],
            "ord": [n for _, n, _ in told],
            "chunk_id": [one.chunk_id for _, _, one in told],
            "chunk_key": [one.chunk_key for _, _, one in told],
            "sentence": [one.sentence for _, _, one in told],
        },
    )


def commit_communities(db: Database, rows: Sequence[CommunityRow], last: Sequence[CommunityRow], state: str) -> int:
    """`replace_communities` as a transaction of its own; writer thread only. Gives the revision; raises StoreError."""
    with db.transaction() as con:
        replace_communities(con, rows, last, state)
    return db.revision
