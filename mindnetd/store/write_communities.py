"""Communities into their tables: what is as it was stays as it is."""

from __future__ import annotations

from collections.abc import Sequence

import duckdb

from mindnetd.core.audiences import Audiences
from mindnetd.core.community_ids import CommunityRow
from mindnetd.store.bulk import Packed, insert
from mindnetd.store.db import Database, set_meta

_TABLES = {"communities": "id", "community_members": "community_id", "community_sources": "community_id"}


def replace_communities(
    con: duckdb.DuckDBPyConnection,
    rows: Sequence[CommunityRow],
    last: Sequence[CommunityRow],
    state: str,
    audiences: Audiences,
) -> int:
    """Make `rows` the communities, inside a transaction; `last` is what the tables hold. Returns the rows changed."""
    stored = {row.place: row for row in last}
    fresh = [row for row in rows if stored.get(row.place) != row]
    kept = {row.place for row in rows}
    gone = sorted(stored.keys() - kept | {row.place for row in fresh if row.place in stored})
    if gone:
        packed = Packed({"audience": [place[0] for place in gone], "id": [place[1] for place in gone]})
        places = f"(SELECT audience, id::UUID FROM ({packed.select}))"
        for table, column in _TABLES.items():
            con.execute(f"DELETE FROM {table} WHERE (audience, {column}) IN {places}", packed.values)
    _insert(con, fresh)
    set_meta(con, "communities_state", state)
    set_meta(con, "communities_audiences", audiences.as_json())
    return len(gone) + len(fresh)


def _insert(con: duckdb.DuckDBPyConnection, rows: Sequence[CommunityRow]) -> None:
    names = ("id", "label", "level", "parent", "title", "summary", "summary_source", "members_hash", "texts_hash")
    columns = {name: [getattr(row, name) for row in rows] for name in (*names, "size", "audience")}
    columns["updated"] = [row.updated.isoformat(" ") for row in rows]
    insert(con, "communities", columns)
    pairs = [(row.audience, row.id, member) for row in rows for member in row.members]
    members = ("audience", "community_id", "entity_id")
    insert(con, "community_members", {name: [pair[n] for pair in pairs] for n, name in enumerate(members)})
    told = [(row, n, one) for row in rows for n, one in enumerate(row.sources)]
    insert(
        con,
        "community_sources",
        {
            "audience": [row.audience for row, _, _ in told],
            "community_id": [row.id for row, _, _ in told],
            "ord": [n for _, n, _ in told],
            "chunk_id": [one.chunk_id for _, _, one in told],
            "chunk_key": [one.chunk_key for _, _, one in told],
            "sentence": [one.sentence for _, _, one in told],
        },
    )


def commit_communities(
    db: Database, rows: Sequence[CommunityRow], last: Sequence[CommunityRow], state: str, audiences: Audiences
) -> int:
    """`replace_communities` as a transaction of its own; writer thread only. Gives the revision; raises StoreError."""
    with db.transaction() as con:
        replace_communities(con, rows, last, state, audiences)
    return db.revision
