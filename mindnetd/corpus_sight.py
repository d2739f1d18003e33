"""What one audience may see of the corpus: its notes, and its links as if there were no others (law 9).

A link to a note that the audience may not see is one to a missing note, or to another note that its text means by an
id; the edges of such a note are derived anew from its bytes, as `serving.masked` does for a request.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from mindnetd.core.audiences import Audience
from mindnetd.core.derive import DeriveOptions
from mindnetd.core.edges import edges_of
from mindnetd.core.graph_masks import masked
from mindnetd.core.naming import link_answers
from mindnetd.core.records import Edge, NoteMeta, ResolvedLink
from mindnetd.core.resolve import IdIndex
from mindnetd.errors import NotFound
from mindnetd.store import read, read_ties
from mindnetd.store.db import Database
from mindnetd.store.read_entities import CorpusEdge, CorpusRows, LowerCounts, metas_of
from mindnetd.store.read_indexed import note_as_indexed


def seen_by(db: Database, corpus: CorpusRows, audience: Audience, derive: DeriveOptions) -> CorpusRows:
    """The corpus without every note that the audience may not see; the same where there is none. Raises StoreError."""
    mine = audience.notes
    hidden = {note.path for note in corpus.notes if note.key not in mine}
    if not hidden:
        return corpus
    ids = {note.id for note in corpus.notes if note.key in mine}
    tied = _Tied(db, mine, hidden, derive, {note.path: note.id for note in corpus.notes})
    answers = {place: note_id for place, note_id in corpus.answers.items() if place[0] in mine - tied.owners}
    edges = [edge for edge in corpus.edges if edge.owner in mine - tied.owners]
    return replace(
        corpus,
        sights=[note for note in corpus.sights if note.key in mine],
        notes=[note for note in corpus.notes if note.key in mine],
        chunks=[chunk for chunk in corpus.chunks if chunk.note in mine],
        signals=[signal for signal in corpus.signals if signal.owner in mine],
        answers={key: note_id for key, note_id in (answers | tied.answers).items() if not note_id or note_id in ids},
        edges=[*edges, *tied.edges],
    )


class _Tied:
    """The notes with a link to a hidden one: ``owners`` are their keys, the rest is what holds of them instead."""

    def __init__(
        self,
        db: Database,
        mine: frozenset[int],
        hidden: set[str],
        derive: DeriveOptions,
        ids: Mapping[str, str],
    ) -> None:
        self.owners = mine.intersection(read_ties.owners_linking(db, sorted(hidden)))
        self.answers: dict[tuple[int, str], str] = {}
        self.edges: list[CorpusEdge] = []
        if not self.owners:
            return
        metas = metas_of(db, mine)
        known = IdIndex()
        for meta in metas:
            known.set(meta.path, meta.note_id)
        stored = read.load_links(db, sorted(self.owners))
        for meta in metas:
            if meta.key in self.owners:
                links = masked(stored[meta.key], hidden, known)
                found = link_answers(links, ids.get)
                self.answers |= {(meta.key, target): note_id or "" for target, note_id in found.items()}
                self.edges += _edges(db, meta, links, derive)


def _edges(db: Database, meta: NoteMeta, links: Sequence[ResolvedLink], derive: DeriveOptions) -> Iterator[CorpusEdge]:
    try:
        note = note_as_indexed(db, meta, derive.read)
    except NotFound:  # it has gone since
        return
    for edge in edges_of(derive.prefix, note, links, derive.types):
        if edge.src_kind == "note" and edge.dst_kind in ("note", "unresolved") and edge.scope == "note":
            yield _corpus_edge(meta.key, edge)


def _corpus_edge(owner: int, edge: Edge) -> CorpusEdge:
    return CorpusEdge(
        owner=owner,
        src_id=edge.src_id,
        dst_id=edge.dst_id,
        dst_kind=edge.dst_kind,
        dst_label=edge.dst_label,
        relation=edge.relation,
        source=edge.source,
        weight=edge.weight,
        occurrences=edge.occurrences,
        line=edge.line,
    )


def lower_of(counts: LowerCounts, audience: Audience, hiding: frozenset[str]) -> dict[str, int]:
    """How often the notes that the audience may see write a word in lower case."""
    levels = frozenset().union(*audience.levels) if audience.levels else frozenset()
    found: dict[str, int] = {}
    for word, level, flags, count in counts:
        if level in levels and hiding.isdisjoint(flags):
            found[word] = found.get(word, 0) + count
    return found
