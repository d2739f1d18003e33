"""The language model's replies and what waits for one, in the store. No part of a revision: no answer depends on them
before the corpus-wide stage has taken them in."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

import duckdb

from mindnetd.store.bulk import insert, key_list, word_list
from mindnetd.store.db import Database
from mindnetd.store.records import utc_now
from mindnetd.store.sqltext import statements

CORPUS = -1
"""In place of a note's key: what waits concerns no single note."""
_UNUSED = timedelta(days=1)
_PENDING = ("key", "purpose", "note_key", "tries", "error")


@dataclass(frozen=True, slots=True)
class Document:
    """A note with text: chunks as (key, id, text) in their order, candidates the best first."""

    key: int
    title: str
    visibility: str
    flags: tuple[str, ...]
    chunks: tuple[tuple[int, str, str], ...]
    candidates: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Pending:
    """A question without a reply. ``note_key`` may be `CORPUS`; ``next_try`` is UTC; ``error`` begins with its code."""

    key: str
    purpose: str
    note_key: int
    tries: int
    next_try: datetime
    error: str


@dataclass(frozen=True, slots=True)
class Summed:
    """What the summary of a community is made of: its title, its sentences, and the keys of their notes."""

    title: str
    sentences: tuple[str, ...]
    notes: tuple[int, ...]


def documents(db: Database) -> list[Document]:
    """Every note that has text, by path. Raises StoreError."""
    sql = statements("llm")
    with db.reader() as reader:
        rows = reader.rows(sql["documents"])
        signals = reader.rows(sql["candidates"])
    candidates: dict[int, list[str]] = {}
    for owner, _, name, _ in signals:
        candidates.setdefault(owner, []).append(name)
    chunks: dict[int, list[tuple[int, str, str]]] = {}
    heads: dict[int, tuple[str, str, tuple[str, ...]]] = {}
    for note, title, visibility, flags, key, chunk_id, text in rows:
        heads[note] = (title, visibility, tuple(json.loads(flags)))
        chunks.setdefault(note, []).append((key, chunk_id, text))
    return [
        Document(note, *heads[note], tuple(mine), (heads[note][0], *candidates.get(note, ())))
        for note, mine in chunks.items()
    ]


def entity_names(db: Database) -> dict[str, list[tuple[str, tuple[int, ...]]]]:
    """By audience the names of its entities with the keys of the notes that mention them. Raises StoreError.

    The audience that sees the fewest notes comes first, so that what it is told is asked about its own names alone.
    """
    named: dict[str, list[tuple[str, tuple[int, ...]]]] = {}
    with db.reader() as reader:
        for audience, name, notes in reader.rows(statements("llm")["entity_names"]):
            named.setdefault(audience, []).append((name, tuple(notes)))
    sizes = {audience: len({note for _, notes in mine for note in notes}) for audience, mine in named.items()}
    return {audience: named[audience] for audience in sorted(named, key=lambda one: (sizes[one], one))}


def summed(db: Database) -> list[Summed]:
    """Every community that has sentences. Raises StoreError."""
    with db.reader() as reader:
        rows = reader.rows(statements("llm")["summed"])
    return [Summed(title, tuple(sentences), tuple(sorted(set(notes)))) for _, _, title, sentences, notes in rows]


def replies(db: Database, keys: Iterable[str]) -> dict[str, str]:
    """The stored replies among `keys`. Raises StoreError."""
    with db.reader() as reader:
        return dict(reader.rows(statements("llm")["replies"], [word_list(keys)]))


def reply_keys(db: Database) -> set[str]:
    """The keys of all stored replies. Raises StoreError."""
    with db.reader() as reader:
        return {key for (key,) in reader.rows(statements("llm")["keys"])}


def fingerprint(db: Database, *, summaries: bool) -> str:
    """Changes when a reply comes or goes: one with a summary, or one of the others. Raises StoreError."""
    with db.reader() as reader:
        return repr(reader.rows(statements("llm")["fingerprint"], [summaries]))


def pending(db: Database) -> list[Pending]:
    """All that waits. Raises StoreError."""
    with db.reader() as reader:
        return [Pending(*row) for row in reader.rows(statements("llm")["pending"])]


def put(db: Database, found: Sequence[tuple[str, str, Sequence[int]]], purpose: str, model: str) -> None:
    """Keep replies: (key, reply, keys of its notes). Writer thread; raises StoreError.

    Not what a note was told of that has gone meanwhile: a call takes long, and a purge leaves nothing behind. Of a
    reply that is made of many notes and tells nothing of any (a type) those that are there are its sources.
    """
    with db.unrevised() as con:
        here = _alive(con, {note for _, _, notes in found for note in notes})
        told = [(key, reply, [note for note in notes if note in here], len(notes)) for key, reply, notes in found]
        found = [one[:3] for one in told if len(one[2]) == one[3] or (one[2] and purpose == "entity_types")]
        if not found:
            return
        con.execute(f"DELETE FROM llm_cache WHERE key IN ({', '.join(['?'] * len(found))})", [one[0] for one in found])
        insert(
            con,
            "llm_cache",
            {
                "key": [key for key, _, _ in found],
                "purpose": [purpose] * len(found),
                "model": [model] * len(found),
                "reply": [reply for _, reply, _ in found],
                "created": [utc_now().isoformat(sep=" ")] * len(found),
            },
        )
        sources = [(key, note) for key, _, notes in found for note in notes]
        insert(con, "llm_sources", {"key": [one[0] for one in sources], "note_key": [one[1] for one in sources]})


def keep_sources(db: Database, sources: Mapping[str, Iterable[int]], now: datetime) -> None:
    """These are all sources that replies have now; a reply that has none goes, one that is younger than a day waits:
    an edit may be undone, and what it was made for be made again. Writer thread; raises StoreError."""
    sql = statements("llm")
    with db.unrevised() as con:
        con.execute("DELETE FROM llm_sources")
        here = _alive(con, {note for notes in sources.values() for note in notes})
        rows = sorted({(key, note) for key, notes in sources.items() for note in notes if note in here})
        insert(con, "llm_sources", {"key": [one[0] for one in rows], "note_key": [one[1] for one in rows]})
        con.execute(sql["sweep"], [now - _UNUSED])


def _alive(con: duckdb.DuckDBPyConnection, notes: Iterable[int]) -> set[int]:
    """Those that are there now."""
    sql = statements("llm")["alive"].format(keys=key_list(sorted(notes)))
    return {key for (key,) in con.execute(sql).fetchall()}


def keep_pending(db: Database, waits: Sequence[Pending]) -> None:
    """These, and nothing else, wait. Writer thread; raises StoreError."""
    with db.unrevised() as con:
        con.execute("DELETE FROM llm_pending")
        columns = {name: [getattr(one, name) for one in waits] for name in _PENDING}
        times = [one.next_try.isoformat(sep=" ") for one in waits]
        insert(con, "llm_pending", {**columns, "next_try": times})


def forget_notes(con: duckdb.DuckDBPyConnection, keys: Sequence[int]) -> None:
    """Notes are gone, and with them what they were the last source of, and each summary that they had a part in; inside
    the transaction of a commit."""
    gone = key_list(keys)
    con.execute(statements("llm")["sweep_now"].format(gone=gone))
    con.execute(f"DELETE FROM llm_sources WHERE note_key IN ({gone})")
    con.execute(f"DELETE FROM llm_pending WHERE note_key IN ({gone})")
