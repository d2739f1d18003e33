"""Signals and mentions of notes, and the entity graph as a whole, into their tables."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import duckdb

from mindnetd.core.identity import sha256_text
from mindnetd.store.bulk import insert, key_list
from mindnetd.store.records import GraphRows, MentionRow, NoteRows
from mindnetd.store.write_vectors import write_vectors


def delete_kept_signals(con: duckdb.DuckDBPyConnection, keys: Sequence[int]) -> None:
    """Of notes whose chunks stay: what the whole note says, and every mention, which is written anew."""
    kept = key_list(keys)
    con.execute(f"DELETE FROM note_signals WHERE owner IN ({kept}) AND chunk_key = owner AND kind <> 'link'")
    con.execute(f"DELETE FROM entity_mentions WHERE note_key IN ({kept})")
    con.execute(f"DELETE FROM entity_spellings WHERE note_key IN ({kept})")


def insert_signals(con: duckdb.DuckDBPyConnection, notes: Sequence[NoteRows]) -> None:
    """The signals of the notes, and their mentions of entities that are known."""
    if notes:  # even equal rows have lost what the stage made of them
        con.execute("DELETE FROM meta WHERE key = 'corpus_state'")
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
    for audience in dict.fromkeys(name for rows in notes for name in rows.mentions):
        said = [(rows.meta.key, row) for rows in notes for row in rows.mentions.get(audience, ())]
        insert_mentions(con, audience, said)


def insert_mentions(con: duckdb.DuckDBPyConnection, audience: str, found: Iterable[tuple[int, MentionRow]]) -> None:
    """Mentions with the keys of their notes: one row for an entity in a chunk, one for a spelling in a note."""
    whose = {"audience": audience}
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
        same=whose,
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
        same=whose,
    )


GRAPH_TABLES = (
    *("entities", "entity_aliases", "entity_mentions", "entity_spellings", "relationships", "relationship_mentions"),
)


def replace_graphs(con: duckdb.DuckDBPyConnection, graphs: Sequence[GraphRows]) -> None:
    """The graphs of all audiences in place of those that are stored, inside a transaction."""
    for table in GRAPH_TABLES:
        con.execute(f"DELETE FROM {table}")
    for graph in graphs:
        _insert_graph(con, graph)


def _insert_graph(con: duckdb.DuckDBPyConnection, graph: GraphRows) -> None:
    whose = {"audience": graph.audience}
    entities = [entity for entity, _ in graph.entities]
    insert(
        con,
        "entities",
        {
            **{name: [getattr(one, name) for one in entities] for name in ("id", "name", "key", "type", "name_type")},
            "weight": [entity.weight for entity in entities],
            "mention_count": [count for _, count in graph.entities],
            "note": [entity.note for entity in entities],
            "source": [entity.source for entity in entities],
            "description": [entity.description for entity in entities],
        },
        same=whose,
    )
    names = [(entity.id, text, key) for entity in entities for text, key in entity.names]
    insert(
        con,
        "entity_aliases",
        {
            "entity_id": [entity_id for entity_id, _, _ in names],
            "alias": [text for _, text, _ in names],
            "key": [key for _, _, key in names],
            "text_hash": [sha256_text(text) for _, text, _ in names],
        },
        same=whose,
    )
    insert_mentions(con, graph.audience, graph.mentions)
    relations = graph.relations
    fields = ("id", "source_id", "target_id", "type", "weight", "count", "source", "description")
    insert(con, "relationships", {name: [getattr(one, name) for one in relations] for name in fields}, same=whose)
    support = [(one.id, *place) for one in relations for place in one.support]
    columns = ("relationship_id", "chunk_id", "chunk_key", "note_key")
    found = {name: [row[i] for row in support] for i, name in enumerate(columns)}
    insert(con, "relationship_mentions", found, same=whose)
    if graph.name_vectors is not None:
        write_vectors(con, graph.name_vectors)
