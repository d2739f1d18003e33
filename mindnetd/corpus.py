"""The corpus-wide stage: every signal of the vault to entities, mentions and relations, in one go.

    read (one snapshot) > count, choose > embed names > merge, type > mentions > relations > replace (one commit)

`prepare` does all but the last on a worker thread and touches nothing; `commit` is for the writer thread. Notes that
were committed in between keep what they say now: their mentions are made again from their stored signals.
"""

from __future__ import annotations

import hashlib
import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from mindnetd.core.cooccur import pairs_of
from mindnetd.core.entities import Census, Slot, assemble, must_differ
from mindnetd.core.entity_records import Entity
from mindnetd.core.identity import entity_uuid, fold, relationship_uuid, sha256_text
from mindnetd.core.merge import merge_names
from mindnetd.core.naming import Directory, link_name
from mindnetd.core.records import Signal
from mindnetd.core.signals import SIGNALS_VERSION
from mindnetd.inference.embedder import Embedder
from mindnetd.lanes.entities import EntityIndex
from mindnetd.store import read
from mindnetd.store.db import Database, set_meta
from mindnetd.store.read_entities import CorpusRows, load_corpus, lower_counts, note_signals
from mindnetd.store.records import GraphRows, MentionRow, RelationRow, SignalRow, Vectors, utc_now
from mindnetd.store.write_entities import replace_graph
from mindnetd.writing.entity_feed import load_graph
from mindnetd.writing.mentions import Speaker, mentions_of

CORPUS_VERSION = 1
"""Raise it when equal signals give another graph: the stage runs again though nothing changed."""


@dataclass(frozen=True, slots=True)
class CorpusOptions:
    """What decides the graph, beside the notes."""

    prefix: str = "mindnet"
    threshold: float = 0.85


@dataclass(frozen=True)
class Prepared:
    """A graph that waits to be written. ``signature`` names its inputs; ``rows`` None: it is the stored one."""

    signature: str
    revision: int
    rows: GraphRows | None
    directory: Directory = field(default_factory=lambda: Directory({}, {}))
    """By entity number, of ``entity_ids``."""
    entity_ids: tuple[str, ...] = ()
    embedded: int = 0
    seconds: dict[str, float] = field(default_factory=dict)


def prepare(
    db: Database,
    options: CorpusOptions,
    embedder: Embedder | None,
    *,
    force: bool = False,
    stop: Callable[[], bool] = lambda: False,
) -> Prepared:
    """Make the graph of what is stored now. Any thread; raises StoreError, ModelError, EmbeddingStoppedError.

    Without `embedder` names are joined by their spelling alone. Unless `force` nothing is made where the inputs are
    those of the graph that is stored.
    """
    clock = _Clock()
    corpus = load_corpus(db)
    signature = _signature(corpus.fingerprint, options, embedder)
    if not force and read.load_meta(db).get("corpus_state") == signature:
        return Prepared(signature, corpus.revision, None)
    clock.lap("read")
    slots = _candidates(db, corpus)
    clock.lap("choose")
    vectors, fresh = _name_vectors(db, slots, embedder, stop)
    clock.lap("embed")
    groups = merge_names(vectors, options.threshold, must_differ(slots)) if embedder is not None else []
    entities, directory = assemble(slots, groups, lambda key: entity_uuid(options.prefix, key))
    clock.lap("merge")
    mentions = _mentions(corpus, entities, directory)
    clock.lap("mentions")
    relations = (*_cooccurrences(corpus, entities, mentions, options), *_links(corpus, entities, directory, options))
    clock.lap("relations")
    rows = GraphRows(
        entities=_mentioned(entities, mentions),
        mentions=mentions,
        relations=relations,
        name_vectors=fresh,
        signature=signature,
    )
    return Prepared(
        signature=signature,
        revision=corpus.revision,
        rows=rows,
        directory=directory,
        entity_ids=tuple(entity.id for entity in entities),
        embedded=len(fresh.hashes) if fresh else 0,
        seconds=clock.laps,
    )


def commit(db: Database, prepared: Prepared, index: EntityIndex) -> int:
    """Put the graph in the place of the stored one, in one transaction; returns the revision. Writer thread only.

    Notes that were committed since it was read say what they say now. Raises StoreError; nothing has changed then.
    """
    rows = prepared.rows
    if rows is None:
        return db.revision
    late = index.touched_since(prepared.revision)
    if late:
        rows = _without(rows, late, [pair for key in sorted(late) for pair in _mentions_now(db, key, prepared)])
    with db.transaction() as con:
        replace_graph(con, rows)
        set_meta(con, "corpus_state", "" if late else prepared.signature)  # what is late is not part of it yet
        set_meta(con, "corpus_built", utc_now().strftime("%Y-%m-%dT%H:%M:%SZ"))
    index.load(load_graph(db))
    return db.revision


def _without(rows: GraphRows, late: set[int], instead: Sequence[tuple[int, MentionRow]]) -> GraphRows:
    kept = tuple(pair for pair in rows.mentions if pair[0] not in late)
    relations = tuple(
        replace(one, support=tuple(place for place in one.support if place[2] not in late)) for one in rows.relations
    )
    return replace(rows, mentions=(*kept, *instead), relations=relations)


def _mentions_now(db: Database, note_key: int, prepared: Prepared) -> list[tuple[int, MentionRow]]:
    """What a note says now, by its stored signals; nothing where it is gone."""
    found = note_signals(db, note_key)
    if found is None:
        return []
    speaker = Speaker(note_key, found.id, found.chunks, found.answers)
    rows = mentions_of(speaker, found.signals, prepared.directory, prepared.entity_ids)
    return [(note_key, row) for row in rows]


class _Clock:
    """Processor seconds by step."""

    def __init__(self) -> None:
        self._at = time.thread_time()
        self.laps: dict[str, float] = {}

    def lap(self, name: str) -> None:
        now = time.thread_time()
        self.laps[name] = round(now - self._at, 3)
        self._at = now


def _signature(inputs: str, options: CorpusOptions, embedder: Embedder | None) -> str:
    model = embedder.fingerprint if embedder is not None else ""
    parts = [inputs, options.prefix, str(options.threshold), model, str(SIGNALS_VERSION), str(CORPUS_VERSION)]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


# ----------------------------------------------------------------------------------------------------------- candidates


def _candidates(db: Database, corpus: CorpusRows) -> list[Slot]:
    words = {
        word
        for signal in corpus.signals
        if signal.kind == "phrase" or (signal.kind in ("heading", "code", "url") and " " not in signal.key)
        for word in signal.key.split(" ")
        if word.isalpha()
    }
    census = Census(corpus.notes, corpus.answers, lower_counts(db, words), len(corpus.chunks))
    stems: dict[int, str] = {note.key: link_name(note.path) for note in corpus.notes}
    aliases: dict[int, list[str]] = {}
    for signal in corpus.signals:
        if signal.kind == "alias":
            aliases.setdefault(signal.owner, []).append(signal.name)
    for note in sorted(corpus.notes, key=lambda one: one.path):
        census.also_called(note.id, (stems[note.key], *sorted(aliases.get(note.key, ()))))
    census.count(corpus.signals)
    return census.choose()


def _name_vectors(
    db: Database, slots: Sequence[Slot], embedder: Embedder | None, stop: Callable[[], bool]
) -> tuple[NDArray[np.float32], Vectors | None]:
    """A unit vector a candidate, and those that had to be made: each text once, ever."""
    if embedder is None or not slots:
        return np.zeros((0, 1), dtype=np.float32), None
    texts = {sha256_text(slot.name): slot.name for slot in slots}
    known = read.load_vectors(db, list(texts), embedder.fingerprint, embedder.dim)
    found = dict(zip(known.hashes, known.matrix, strict=True))
    missing = sorted((text, digest) for digest, text in texts.items() if digest not in found)
    fresh = None
    if missing:
        made = embedder.embed([text for text, _ in missing], stop=stop)
        fresh = Vectors(embedder.fingerprint, tuple(digest for _, digest in missing), made)
        found |= dict(zip(fresh.hashes, made, strict=True))
    return np.stack([found[sha256_text(slot.name)] for slot in slots]), fresh


# ------------------------------------------------------------------------------------------------------------- mentions


def _mentions(
    corpus: CorpusRows, entities: Sequence[Entity], directory: Directory
) -> tuple[tuple[int, MentionRow], ...]:
    """Every mention with the key of its note, by the same rule as a save."""
    ids = [entity.id for entity in entities]
    chunk_ids: dict[int, dict[int, str]] = {}
    for chunk in corpus.chunks:
        chunk_ids.setdefault(chunk.note, {})[chunk.key] = chunk.id
    signals: dict[int, list[SignalRow]] = {}
    for one in corpus.signals:
        signal = Signal(one.name, one.key, one.kind, one.weight, -1, one.count)  # type: ignore[arg-type]  # as stored
        signals.setdefault(one.owner, []).append(SignalRow(one.chunk, signal))
    answers: dict[int, dict[str, str | None]] = {}
    for (owner, target), note_id in corpus.answers.items():
        answers.setdefault(owner, {})[target] = note_id
    found: list[tuple[int, MentionRow]] = []
    for note in corpus.notes:
        speaker = Speaker(note.key, note.id, chunk_ids.get(note.key, {}), answers.get(note.key, {}))
        rows = mentions_of(speaker, signals.get(note.key, ()), directory, ids)
        found += [(note.key, row) for row in rows]
    return tuple(found)


def _mentioned(
    entities: Sequence[Entity], mentions: Sequence[tuple[int, MentionRow]]
) -> tuple[tuple[Entity, int], ...]:
    """The entities with their counts; one that nothing mentions after all is none."""
    counts: dict[str, int] = {}
    for _, row in mentions:
        counts[row.entity_id] = counts.get(row.entity_id, 0) + row.count
    return tuple((entity, counts[entity.id]) for entity in entities if entity.id in counts)


# ------------------------------------------------------------------------------------------------------------ relations


def _cooccurrences(
    corpus: CorpusRows,
    entities: Sequence[Entity],
    mentions: Sequence[tuple[int, MentionRow]],
    options: CorpusOptions,
) -> Iterator[RelationRow]:
    numbers = {entity.id: number for number, entity in enumerate(entities)}
    places = {(row.chunk_key, row.chunk_id): note for note, row in mentions}
    where = {key: (chunk_id, key, note) for (key, chunk_id), note in places.items()}
    once = sorted({(numbers[row.entity_id], row.chunk_key) for _, row in mentions})
    columns = np.array(once, dtype=np.int64).reshape(-1, 2)
    pairs = pairs_of(columns[:, 0], columns[:, 1], len(entities), len(where))
    starts = np.searchsorted(pairs.support, np.arange(len(pairs.one) + 1)).tolist()
    chunks = pairs.chunk.tolist()
    for number, (one, other) in enumerate(zip(pairs.one.tolist(), pairs.other.tolist(), strict=True)):
        src, dst = entities[one].id, entities[other].id
        yield RelationRow(
            id=relationship_uuid(options.prefix, "related_to", "heuristic", src, dst),
            source_id=src,
            target_id=dst,
            type="related_to",
            weight=float(pairs.weight[number]),
            count=int(pairs.count[number]),
            source="heuristic",
            support=tuple(where[key] for key in chunks[starts[number] : starts[number + 1]]),
        )


def _links(
    corpus: CorpusRows, entities: Sequence[Entity], directory: Directory, options: CorpusOptions
) -> tuple[RelationRow, ...]:
    """Relations that notes declare by links and properties, and rules find, between the entities of both ends."""
    places = _Lines(corpus)
    found: dict[tuple[str, str, int, int], tuple[float, int, dict[tuple[str, int, int], None]]] = {}
    for edge in corpus.edges:
        src = directory.by_note.get(edge.src_id)
        if edge.dst_kind == "note":
            dst = directory.by_note.get(edge.dst_id)
        else:
            dst = directory.by_key.get(fold(link_name(edge.dst_label)))
        if src is None or dst is None or src == dst:
            continue
        key = (edge.relation, edge.source, src, dst)
        weight, count, support = found.get(key, (0.0, 0, {}))
        support[places.at(edge.owner, edge.line)] = None
        found[key] = (max(weight, edge.weight), count + edge.occurrences, support)
    return tuple(
        RelationRow(
            id=relationship_uuid(options.prefix, relation, source, entities[src].id, entities[dst].id),
            source_id=entities[src].id,
            target_id=entities[dst].id,
            type=relation,
            weight=round(weight * (1 + math.log(max(count, 1))), 6),
            count=count,
            source=source,
            support=tuple(sorted(support)),
        )
        for (relation, source, src, dst), (weight, count, support) in sorted(found.items())
    )


class _Lines:
    """Which chunk of a note holds a line of its file."""

    def __init__(self, corpus: CorpusRows) -> None:
        self._chunks: dict[int, list[tuple[int, str, int]]] = {}
        for chunk in corpus.chunks:
            self._chunks.setdefault(chunk.note, []).append((chunk.start_line, chunk.id, chunk.key))
        self._ids = {note.key: note.id for note in corpus.notes}

    def at(self, note: int, line: int | None) -> tuple[str, int, int]:
        """(chunk id, chunk key, note key); the first chunk for what stands in no chunk, the note without any."""
        chunks = self._chunks.get(note)
        if not chunks:
            return (self._ids.get(note, ""), note, note)
        inside = [chunk for chunk in chunks if line is not None and chunk[0] <= line]
        _, chunk_id, key = inside[-1] if inside else chunks[0]
        return (chunk_id, key, note)
