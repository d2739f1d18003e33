"""The corpus-wide stage: every signal of the vault to entities, mentions and relations, in one go.

    read (one snapshot) > for each audience: its notes > count, choose
                        > embed names, once > merge, type > mentions > relations > replace (one commit)

Every audience (`core.audiences`) has a graph of its own that is made from the notes that it may see (law 9); in a vault
where nobody may see less than others there is one. `prepare` does all but the last on a worker thread and touches
nothing; `commit` is for the writer thread. Notes that were committed in between keep what they say now: their mentions
are made again from their stored signals.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from mindnetd.core.audiences import Audience, Audiences, divide, whose
from mindnetd.core.derive import DeriveOptions
from mindnetd.core.entities import Census, Slot, assemble, must_differ
from mindnetd.core.entity_records import CorpusSignal, Entity
from mindnetd.core.identity import entity_uuid, sha256_text
from mindnetd.core.merge import merge_names
from mindnetd.core.naming import Directory, link_name
from mindnetd.core.records import FLAGS, Signal, Visibility
from mindnetd.core.signals import SIGNALS_VERSION
from mindnetd.corpus_relations import Named, cooccurrences, declared
from mindnetd.corpus_sight import lower_of, seen_by
from mindnetd.inference.embedder import Embedder
from mindnetd.lanes.entity_index import EntityIndex
from mindnetd.manners import MANNERS
from mindnetd.store import read
from mindnetd.store.db import Database, set_meta
from mindnetd.store.read_entities import CorpusRows, NoteSignals, load_corpus, lower_counts, note_signals
from mindnetd.store.records import GraphRows, MentionRow, SignalRow, Vectors, utc_now
from mindnetd.store.write_entities import replace_graphs
from mindnetd.writing.entity_feed import load_graphs
from mindnetd.writing.mentions import Speaker, mentions_of

CORPUS_VERSION = 2
"""Raise it when equal signals give another graph: the stage runs again though nothing changed."""


@dataclass(frozen=True, slots=True)
class CorpusOptions:
    """What decides the graphs, beside the notes. ``hiding`` are the flags that hide a note from who does not ask for
    it, ``highest`` is the level above which nobody may ask."""

    prefix: str = "mindnet"
    threshold: float = 0.85
    hiding: tuple[str, ...] = FLAGS
    highest: Visibility = "internal"
    derive: DeriveOptions = field(default_factory=DeriveOptions)


class Refiner(Protocol):
    """What makes more of a graph than its notes' signals say: the stored replies of a language model."""

    def fingerprint(self) -> str:
        """Of all that `refine` uses."""

    def refine(self, rows: GraphRows, directory: Directory, ids: Sequence[str], notes: frozenset[int]) -> GraphRows:
        """The graph of an audience that may see `notes` (keys); `ids` are those of the directory's numbers."""


@dataclass(frozen=True)
class Made:
    """The graph of one audience, and who is called how in it: by entity number, of ``entity_ids``."""

    rows: GraphRows
    directory: Directory
    entity_ids: tuple[str, ...]


@dataclass(frozen=True)
class Prepared:
    """Graphs that wait to be written. ``signature`` names their inputs; ``rows`` None: they are the stored ones."""

    signature: str
    revision: int
    rows: tuple[Made, ...] | None
    audiences: Audiences = field(default_factory=Audiences)
    embedded: int = 0
    seconds: dict[str, float] = field(default_factory=dict)


def prepare(
    db: Database,
    options: CorpusOptions,
    embedder: Embedder | None,
    *,
    refiner: Refiner | None = None,
    force: bool = False,
    stop: Callable[[], bool] = lambda: False,
) -> Prepared:
    """Make the graphs of what is stored now. Any thread; raises StoreError, ModelError, EmbeddingStoppedError.

    Without `embedder` names are joined by their spelling alone. Unless `force` nothing is made where the inputs are
    those of the graphs that are stored.
    """
    with MANNERS.polite():
        return _prepare(db, options, embedder, _How(refiner, force, stop))


@dataclass(frozen=True, slots=True)
class _How:
    """As asked of `prepare`."""

    refiner: Refiner | None
    force: bool
    stop: Callable[[], bool]


def _prepare(db: Database, options: CorpusOptions, embedder: Embedder | None, how: _How) -> Prepared:
    clock, refiner = _Clock(), how.refiner
    corpus = load_corpus(db)
    signature = _signature(corpus.fingerprint, options, embedder, refiner)
    if not how.force and read.load_meta(db).get("corpus_state") == signature:
        return Prepared(signature, corpus.revision, None)
    audiences = divide(corpus.sights, options.hiding, options.highest)
    seen = [seen_by(db, corpus, one, options.derive) for one in audiences]
    clock.lap("read")
    lower = lower_counts(db, _words(corpus))
    hiding = frozenset(options.hiding)
    slots = [_candidates(mine, lower_of(lower, one, hiding)) for one, mine in zip(audiences, seen, strict=True)]
    clock.lap("choose")
    vectors, fresh = _name_vectors(db, [slot.name for some in slots for slot in some], embedder, how.stop)
    clock.lap("embed")
    made: list[Made] = []
    for audience, mine, some in zip(audiences, seen, slots, strict=True):
        one = _made(audience, mine, some, _Names(options, vectors, embedder is not None), clock)
        if refiner is not None:
            one = replace(one, rows=refiner.refine(one.rows, one.directory, one.entity_ids, audience.notes))
        made.append(replace(one, rows=replace(one.rows, name_vectors=None if made else fresh, signature=signature)))
    return Prepared(
        signature=signature,
        revision=corpus.revision,
        rows=tuple(made),
        audiences=whose(audiences, options.hiding, options.highest),
        embedded=len(fresh.hashes) if fresh else 0,
        seconds=clock.laps,
    )


@dataclass(frozen=True, slots=True)
class _Names:
    """How names become entities: ``vectors`` by the hash of the name, where there is a model."""

    options: CorpusOptions
    vectors: Mapping[str, NDArray[np.float32]]
    by_meaning: bool

    def groups(self, slots: Sequence[Slot]) -> list[list[int]]:
        """Candidates that are one entity."""
        if not self.by_meaning or not slots:
            return []
        matrix = np.stack([self.vectors[sha256_text(slot.name)] for slot in slots])
        return merge_names(matrix, self.options.threshold, must_differ(slots))


def _made(audience: Audience, corpus: CorpusRows, slots: Sequence[Slot], names: _Names, clock: _Clock) -> Made:
    options = names.options
    entities, directory = assemble(slots, names.groups(slots), lambda key: entity_uuid(options.prefix, key))
    clock.lap("merge")
    mentions = _mentions(corpus, entities, directory)
    clock.lap("mentions")
    named = Named(entities, directory, options.prefix)
    relations = (*cooccurrences(named, mentions), *declared(named, corpus))
    clock.lap("relations")
    rows = GraphRows(
        entities=_mentioned(entities, mentions),
        mentions=mentions,
        relations=relations,
        name_vectors=None,
        signature="",
        audience=audience.name,
    )
    return Made(rows, directory, tuple(entity.id for entity in entities))


def commit(db: Database, prepared: Prepared, index: EntityIndex) -> int:
    """Put the graphs in the place of the stored ones, in one transaction; returns the revision. Writer thread only.

    Notes that were committed since they were read say what they say now. Raises StoreError; nothing has changed then.
    """
    if prepared.rows is None:
        return db.revision
    late = sorted(index.touched_since(prepared.revision))
    graphs = [one.rows for one in prepared.rows]
    if late:
        now = {key: note_signals(db, key) for key in late}
        graphs = [_with_late(one, prepared.audiences, now) for one in prepared.rows]
    with db.transaction() as con:
        replace_graphs(con, graphs)
        set_meta(con, "corpus_state", "" if late else prepared.signature)  # what is late is not part of it yet
        set_meta(con, "corpus_audiences", prepared.audiences.as_json())
        set_meta(con, "corpus_built", utc_now().strftime("%Y-%m-%dT%H:%M:%SZ"))
    index.load(load_graphs(db))
    return db.revision


def _with_late(made: Made, audiences: Audiences, now: Mapping[int, NoteSignals | None]) -> GraphRows:
    """The graph with what these notes say now: nothing where they are gone, or not for this audience."""
    rows = made.rows
    kept = [pair for pair in rows.mentions if pair[0] not in now]
    for key, found in now.items():
        if found is not None and audiences.admit(rows.audience, found.visibility, found.flags):
            speaker = Speaker(key, found.id, found.chunks, found.answers)
            kept += [(key, row) for row in mentions_of(speaker, found.signals, made.directory, made.entity_ids)]
    relations = tuple(
        replace(one, support=tuple(place for place in one.support if place[2] not in now)) for one in rows.relations
    )
    return replace(rows, mentions=tuple(kept), relations=relations)


class _Clock:
    """Processor seconds by step."""

    def __init__(self) -> None:
        self._at = time.thread_time()
        self.laps: dict[str, float] = {}

    def lap(self, name: str) -> None:
        now = time.thread_time()
        self.laps[name] = round(self.laps.get(name, 0.0) + now - self._at, 3)
        self._at = now
        MANNERS.give_way()


def _signature(inputs: str, options: CorpusOptions, embedder: Embedder | None, refiner: Refiner | None) -> str:
    model = embedder.fingerprint if embedder is not None else ""
    parts = [inputs, options.prefix, str(options.threshold), model, str(SIGNALS_VERSION), str(CORPUS_VERSION)]
    parts += [",".join(sorted(options.hiding)), options.highest, refiner.fingerprint() if refiner is not None else ""]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


# ----------------------------------------------------------------------------------------------------------- candidates


class _Gently(Iterable[CorpusSignal]):
    """Signals that may be gone through again, each time with room for requests in between."""

    def __init__(self, signals: Sequence[CorpusSignal]) -> None:
        self._signals = signals

    def __iter__(self) -> Iterator[CorpusSignal]:
        return MANNERS.gently(self._signals)


def _words(corpus: CorpusRows) -> set[str]:
    """The words of which it is asked how often they stand in lower case."""
    return {
        word
        for signal in corpus.signals
        if signal.kind == "phrase" or (signal.kind in ("heading", "code", "url") and " " not in signal.key)
        for word in signal.key.split(" ")
        if word.isalpha()
    }


def _candidates(corpus: CorpusRows, lower: Mapping[str, int]) -> list[Slot]:
    census = Census(corpus.notes, corpus.answers, lower, len(corpus.chunks))
    stems: dict[int, str] = {note.key: link_name(note.path) for note in corpus.notes}
    aliases: dict[int, list[str]] = {}
    for signal in corpus.signals:
        if signal.kind == "alias":
            aliases.setdefault(signal.owner, []).append(signal.name)
    for note in sorted(corpus.notes, key=lambda one: one.path):
        census.also_called(note.id, (stems[note.key], *sorted(aliases.get(note.key, ()))))
    census.count(_Gently(corpus.signals))
    return census.choose()


def _name_vectors(
    db: Database, names: Sequence[str], embedder: Embedder | None, stop: Callable[[], bool]
) -> tuple[dict[str, NDArray[np.float32]], Vectors | None]:
    """A unit vector a name, by its hash, and those that had to be made: each text once, ever."""
    if embedder is None or not names:
        return {}, None
    texts = {sha256_text(name): name for name in names}
    known = read.load_vectors(db, list(texts), embedder.fingerprint, embedder.dim)
    found = dict(zip(known.hashes, known.matrix, strict=True))
    missing = sorted((text, digest) for digest, text in texts.items() if digest not in found)
    fresh = None
    if missing:
        made = embedder.embed([text for text, _ in missing], stop=stop)
        fresh = Vectors(embedder.fingerprint, tuple(digest for _, digest in missing), made)
        found |= dict(zip(fresh.hashes, made, strict=True))
    return found, fresh


# ------------------------------------------------------------------------------------------------------------- mentions


def _mentions(
    corpus: CorpusRows, entities: Sequence[Entity], directory: Directory
) -> tuple[tuple[int, MentionRow], ...]:
    """Every mention with the key of its note, by the same rule as a save."""
    ids = [entity.id for entity in entities]
    chunk_ids: dict[int, dict[int, str]] = {}
    for chunk in corpus.chunks:
        chunk_ids.setdefault(chunk.note, {})[chunk.key] = chunk.id
    signals: dict[int, list[CorpusSignal]] = {}
    for one in MANNERS.gently(corpus.signals):
        signals.setdefault(one.owner, []).append(one)
    answers: dict[int, dict[str, str | None]] = {}
    for (owner, target), note_id in corpus.answers.items():
        answers.setdefault(owner, {})[target] = note_id
    found: list[tuple[int, MentionRow]] = []
    for note in MANNERS.gently(corpus.notes, 16):
        speaker = Speaker(note.key, note.id, chunk_ids.get(note.key, {}), answers.get(note.key, {}))
        rows = mentions_of(speaker, list(map(_as_saved, signals.get(note.key, ()))), directory, ids)
        found += [(note.key, row) for row in rows]
    return tuple(found)


def _as_saved(one: CorpusSignal) -> SignalRow:
    """As a save has it; of one note at a time, since all of them would be as much memory as all else."""
    return SignalRow(one.chunk, Signal(one.name, one.key, one.kind, one.weight, -1, one.count))  # type: ignore[arg-type]


def _mentioned(
    entities: Sequence[Entity], mentions: Sequence[tuple[int, MentionRow]]
) -> tuple[tuple[Entity, int], ...]:
    """The entities with their counts; one that nothing mentions after all is none."""
    counts: dict[str, int] = {}
    for _, row in mentions:
        counts[row.entity_id] = counts.get(row.entity_id, 0) + row.count
    return tuple((entity, counts[entity.id]) for entity in entities if entity.id in counts)
