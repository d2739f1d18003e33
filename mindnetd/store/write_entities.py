"""Signals and mentions of notes, and the entity graph as a whole, into their tables."""

from __future__ import annotations

from collections.abc import Sequence

import duckdb

from mindnetd.store.bulk import insert, key_list
from mindnetd.store.records import MentionRow, NoteRows


def delete_kept_signals(con: duckdb.DuckDBPyConnection, keys: Sequence[int]) -> None:
    """Of notes whose chunks stay: what the whole note says, and every mention, which is written anew."""
    kept = key_list(keys)
    con.execute(f"DELETE FROM note_signals WHERE owner IN ({kept}) AND chunk_key = owner AND kind <> 'link'")
    con.execute(f"DELETE FROM entity_mentions WHERE note_key IN ({kept})")
    con.execute(f"DELETE FROM entity_spellings WHERE note_key IN ({kept})")


def insert_signals(con: duckdb.DuckDBPyConnection, notes: Sequence[NoteRows]) -> None:
    """The signals of the notes, and their mentions of entities that are known."""
    found = [(rows.meta.key, row) for rows in notes for row in rows.signals]
    signals = [row.signal for _, row in found]
    insert(
        con,
        "note_signals",
        {
            "owner": [owner for owner, _ in found],
            "chunk_key": [row.chunk_key for _, row in found],
            "kind": [signal.kind for signal in signals],
            "name": [signal.name for signal in signals],
            "key": [signal.key for signal in signals],
            "weight": [signal.weight for signal in signals],
            "count": [signal.count for signal in signals],
        },
    )
    insert_mentions(con, [(rows.meta.key, row) for rows in notes for row in rows.mentions])


def insert_mentions(con: duckdb.DuckDBPyConnection, found: Sequence[tuple[int, MentionRow]]) -> None:
    """Mentions with the keys of their notes: one row for an entity in a chunk, one for a spelling in a note."""
    mentions: dict[tuple[str, str, int, int], int] = {}
    spellings: dict[tuple[str, int, str, str], int] = {}
    for note_key, row in found:
        place = (row.entity_id, row.chunk_id, row.chunk_key, note_key)
        mentions[place] = mentions.get(place, 0) + row.count
        spelling = (row.entity_id, note_key, row.name, row.key)
        spellings[spelling] = spellings.get(spelling, 0) + row.count
    insert(
        con,
        "entity_mentions",
        {
            "entity_id": [place[0] for place in mentions],
            "chunk_id": [place[1] for place in mentions],
            "chunk_key": [place[2] for place in mentions],
            "note_key": [place[3] for place in mentions],
            "count": list(mentions.values()),
        },
    )
    insert(
        con,
        "entity_spellings",
        {
            "entity_id": [spelling[0] for spelling in spellings],
            "note_key": [spelling[1] for spelling in spellings],
            "name": [spelling[2] for spelling in spellings],
            "key": [spelling[3] for spelling in spellings],
            "count": list(spellings.values()),
        },
    )
