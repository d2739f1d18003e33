"""What is written of a note, a canvas, or links that mean another file now: step 4 of the road (``index.py``)."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence

from mindnetd.core.canvas import read_canvas
from mindnetd.core.derive import DeriveOptions, Draft, meta_of
from mindnetd.core.edges import edges_of, edges_of_links
from mindnetd.core.graph_masks import link_diagnostics
from mindnetd.core.identity import chunk_uuid, file_uuid
from mindnetd.core.named import named_notes
from mindnetd.core.naming import link_answers
from mindnetd.core.records import Edge, NoteMeta, ParsedNote, ResolvedLink
from mindnetd.lanes.entity_index import EntityIndex
from mindnetd.lanes.hot import HotDelta, HotDoc
from mindnetd.store import read
from mindnetd.store.db import Database
from mindnetd.store.read_entities import stored_signals
from mindnetd.store.read_indexed import note_as_indexed
from mindnetd.store.records import (
    Batch,
    CanvasRows,
    ChunkRow,
    DocRow,
    MentionRow,
    NoteRows,
    RelinkRows,
    SignalRow,
    Vectors,
)
from mindnetd.writing.known import Known
from mindnetd.writing.linkbook import waiting_keys
from mindnetd.writing.mentions import Speaker, mentions_of
from mindnetd.writing.runs import Run

OF_NOTE = ("title", "alias", "tag")
"""Signals that the whole note gives: they follow its metadata even where its body waits."""


class RowMaker:
    """Gives keys, answers links, and puts the rows together. Writer thread only."""

    def __init__(self, known: Known, db: Database, options: DeriveOptions, entities: EntityIndex | None = None) -> None:
        self._known, self._db = known, db
        self._entities = entities or EntityIndex()
        self.options = options

    def note(self, draft: Draft, mtime_ns: int, run: Run, force: bool) -> NoteRows:
        """A note's links answered and its rows made."""
        known = self._known.notes.get(draft.path)
        if known is not None and not force and self._stays_stale(known, draft):
            return self._stale(known, draft, mtime_ns)
        key = known.key if known else self._db.allocate_keys(1)[0]
        meta = meta_of(draft, key, mtime_ns, self.options)
        changed = known is None or force or _differs(known, meta)
        note = draft.note
        links = self._known.book.resolve((*note.links, *named_notes(note.frontmatter, note.property_lines)), draft.path)
        names = waiting_keys(links)
        self._known.book.set_links(key, names)
        chunk_keys = self._db.allocate_keys(len(draft.chunked.chunks))
        chunks = tuple(
            ChunkRow(chunk_key, chunk_uuid(self.options.prefix, draft.path, chunk.idx), chunk)
            for chunk_key, chunk in zip(chunk_keys, draft.chunked.chunks, strict=True)
        )
        edges = self._edges(note, links)
        signals = tuple(
            SignalRow(chunk_keys[one.chunk_idx] if one.chunk_idx >= 0 else key, one) for one in draft.signals
        )
        run.changed += changed
        run.chunks += len(chunks)
        run.edges += len(edges)
        return NoteRows(
            meta=meta,
            raw=draft.raw,
            chunks=chunks,
            title_passage=draft.chunked.title_passage,
            docs=tuple(
                DocRow(chunk_keys[chunk.idx] if chunk is not None else key, terms) for chunk, terms in draft.words
            ),
            links=links,
            link_names=tuple(sorted(names)),
            edges=edges,
            diagnostics=(*note.diagnostics, *link_diagnostics(links)),
            run_id=run.id if changed else None,
            retriever_weight=note.retriever_weight,
            time_weight_override=note.time_weight_override,
            signals=signals,
            mentions=self._mentions(meta, signals, links, {row.key: row.id for row in chunks}),
        )

    def _stays_stale(self, known: NoteMeta, draft: Draft) -> bool:
        """Hash mode ``frontmatter``: a body edit waits until the metadata changes, or the old body comes back."""
        if draft.hash_mode != "frontmatter" or known.frontmatter_hash != draft.note.frontmatter_hash:
            return False
        if not known.stale:
            return known.body_hash != draft.note.body_hash
        return read.indexed_body(self._db, known.key) != draft.note.body

    def _stale(self, known: NoteMeta, draft: Draft, mtime_ns: int) -> NoteRows:
        """The newest bytes, for export and hashes; words, vectors and links stay those of the body as it was."""
        before = read.load_links(self._db, [known.key]).get(known.key, ())
        links = self._known.book.resolve([answer.link for answer in before], known.path)
        names = waiting_keys(links)
        self._known.book.set_links(known.key, names)
        meta = meta_of(draft, known.key, mtime_ns, self.options, stale=True)
        own = tuple(SignalRow(known.key, one) for one in draft.signals if one.kind in OF_NOTE)
        stored, chunk_ids = stored_signals(self._db, known.key)
        return NoteRows(
            meta=meta,
            raw=draft.raw,
            chunks=(),
            title_passage=draft.chunked.title_passage,
            docs=(),
            links=links,
            link_names=tuple(sorted(names)),
            edges=self._edges(note_as_indexed(self._db, known, self.options.read, draft.raw), links),
            diagnostics=(*draft.note.diagnostics, *link_diagnostics(links)),
            run_id=None,
            keep_chunks=True,
            signals=own,
            mentions=self._mentions(meta, (*own, *stored), links, chunk_ids),
        )

    def _mentions(
        self, meta: NoteMeta, signals: Sequence[SignalRow], links: Sequence[ResolvedLink], chunk_ids: Mapping[int, str]
    ) -> dict[str, tuple[MentionRow, ...]]:
        """The entities that are known already and that a note names, for each audience that may see the note.

        `chunk_ids` by key, in their order.
        """
        speaker = Speaker(meta.key, meta.id, chunk_ids, link_answers(links, self._note_id))
        graphs = self._entities.graphs.admitting(meta.visibility, meta.flags)
        return {name: mentions_of(speaker, signals, graph.directory, graph.id) for name, graph in graphs}

    def _note_id(self, path: str) -> str | None:
        known = self._known.notes.get(path)
        return known.id if known is not None else None

    def canvas(self, path: str, raw: bytes, run: Run) -> CanvasRows:
        """A canvas has links and edges, no text."""
        known = self._known.canvases.get(path)
        key = known.key if known else self._db.allocate_keys(1)[0]
        found, diagnostics = read_canvas(path, raw)
        links = self._known.book.resolve(found, path)
        names = waiting_keys(links)
        self._known.book.set_links(key, names)
        own_id = file_uuid(self.options.prefix, path)
        run.changed += 1
        return CanvasRows(
            key=key,
            id=own_id,
            path=path,
            raw_hash=hashlib.sha256(raw).hexdigest(),
            links=links,
            link_names=tuple(sorted(names)),
            edges=edges_of_links(self.options.prefix, path, links),
            diagnostics=(*diagnostics, *link_diagnostics(links)),
            run_id=run.id,
        )

    def relinked(self, key: int, path: str, links: tuple[ResolvedLink, ...], run: Run) -> RelinkRows:
        """New answers, or the same by other note types, for links whose note or canvas did not change."""
        names = waiting_keys(links)
        renamed = tuple(sorted(names)) if self._known.book.set_links(key, names) else None
        canvas = self._known.canvases.get(path)
        if canvas is not None:
            own_id, edges = canvas.id, edges_of_links(self.options.prefix, path, links)
        else:
            known = self._known.notes[path]
            own_id, edges = known.id, self._edges(note_as_indexed(self._db, known, self.options.read), links)
        return RelinkRows(key, path, own_id, links, edges, link_diagnostics(links), run.id, renamed)

    def _edges(self, note: ParsedNote, links: Sequence[ResolvedLink]) -> tuple[Edge, ...]:
        return edges_of(self.options.prefix, note, links, self.options.types)


def hot_delta(batch: Batch, revision: int, gone: Sequence[int], remembered: Vectors | None) -> HotDelta:
    """A commit for the resident index; `gone` are the keys of notes among what was removed."""
    vectors = None
    if remembered is not None and remembered.hashes:
        vectors = ([bytes.fromhex(text_hash) for text_hash in remembered.hashes], remembered.matrix)
    return HotDelta(
        revision=revision,
        removed_notes=tuple(gone),
        notes=tuple(rows.meta for rows in batch.notes),
        docs=tuple(doc for rows in batch.notes for doc in hot_docs(rows)),
        kept_docs=tuple(rows.meta.key for rows in batch.notes if rows.keep_chunks),
        vectors=vectors,
        edges=(
            *((rows.meta.id, rows.edges) for rows in batch.notes),
            *((rows.id, rows.edges) for rows in batch.relinked),
        ),
    )


def hot_docs(rows: NoteRows) -> list[HotDoc]:
    """The documents of a note for the resident index; the title passage goes to the first."""
    passages: dict[int, list[bytes]] = {row.key: [] for row in rows.docs}
    for row in rows.chunks:
        passages[row.key] = [bytes.fromhex(passage.text_hash) for passage in row.chunk.passages]
    if rows.docs and rows.title_passage is not None:
        passages[rows.docs[0].key].insert(0, bytes.fromhex(rows.title_passage.text_hash))
    return [HotDoc(row.key, rows.meta.key, row.terms, tuple(passages[row.key])) for row in rows.docs]


def _differs(known: NoteMeta, meta: NoteMeta) -> bool:
    """Whether the note counts as changed by its hash mode (the new one, as the note says it now)."""
    name = f"{meta.hash_mode}_hash"
    return known.stale or bool(getattr(known, name) != getattr(meta, name))
