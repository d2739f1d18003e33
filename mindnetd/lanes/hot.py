"""The resident index: postings and vectors of all notes, kept in step with the database commit by commit.

`HotIndex` belongs to the writer thread; readers take a `HotSnapshot` and never wait. Arrays grow by appending behind
what snapshots see, the few that change in place (who is alive, which passage has which vector) are copied first.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mindnetd.core.analyze import FIELDS
from mindnetd.core.querytext import name_key
from mindnetd.core.rank import FIELD_WEIGHTS
from mindnetd.core.records import VISIBILITIES, NoteMeta
from mindnetd.lanes import segments as seg
from mindnetd.lanes.codes import Codes
from mindnetd.lanes.column import Column
from mindnetd.lanes.facts import no_facts
from mindnetd.lanes.feed import HotDelta, HotDoc, HotRows
from mindnetd.lanes.graph import EdgeTable
from mindnetd.lanes.snapshot import HotSnapshot
from mindnetd.lanes.vectors import VectorTable

__all__ = ["HotDelta", "HotDoc", "HotIndex", "HotRows", "names_of"]

HASH_BYTES = 32
NO_VECTOR = -1
"""Passage row: its text has no vector yet."""
NO_PASSAGE = -2
"""Passage row: the document has no passage at all (a place holder)."""
_COMPACT_DOCS = 2048
_COMPACT_ROWS = 1024


class HotIndex:
    """Owner of the resident index. `load` and `apply` belong to one writer thread, `snapshot` to anybody."""

    def __init__(self) -> None:
        self._clear()
        self._snapshot = self._publish(0)

    def _clear(self) -> None:
        self._weights = np.array([FIELD_WEIGHTS[name] for name in FIELDS])
        self._terms, self._langs, self._flags = Codes(), Codes(["und"]), Codes()
        self._slot_of: dict[int, int] = {}
        self._names: dict[str, tuple[int, ...]] = {}
        self._notes: list[NoteMeta | None] = []
        self._visibility = np.zeros(0, np.uint8)
        self._note_flags = np.zeros(0, np.int64)
        self._note_lang = np.zeros(0, np.int16)
        self._facts = no_facts()
        self._edges = EdgeTable()
        self._doc_key, self._doc_note = Column(np.int64), Column(np.int32)
        self._doc_length = Column(np.float32)
        self._passage_start, self._passage_hash = Column(np.int32), Column(np.uint8, HASH_BYTES)
        self._alive = np.zeros(0, bool)
        self._rows = np.zeros(0, np.int32)
        self._waiting: dict[bytes, list[int]] = {}
        self._segments: tuple[seg.Segment, ...] = ()
        self._vectors = VectorTable()

    # ---- readers

    def snapshot(self) -> HotSnapshot:
        """The newest revision. Any thread."""
        return self._snapshot

    # ---- the writer

    def load(self, rows: HotRows) -> None:
        """Become what the database holds. Raises ValueError for rows that point nowhere."""
        self._clear()
        self._set_notes(sorted(rows.notes, key=lambda note: note.key))
        order = np.argsort(rows.doc_key, kind="stable")
        keys = np.asarray(rows.doc_key, np.int64)[order]
        notes = [self._slot_of.get(int(key), -1) for key in rows.doc_note[order]]
        if -1 in notes:
            raise ValueError("a document whose note is missing")
        self._vectors.load(map(bytes, rows.vector_hash), rows.vectors)
        by_doc = np.argsort(_places(keys, rows.passage_doc), kind="stable")
        counts = np.bincount(_places(keys, rows.passage_doc), minlength=len(keys))
        lengths = rows.doc_lengths[order] @ self._weights if len(keys) else np.zeros(0)
        self._add_docs(keys, np.array(notes, np.int32), lengths, rows.passage_hash[by_doc], counts)
        self._terms = Codes(rows.terms)
        weights = self._weights[rows.posting_field] * rows.posting_tf
        self._segments = (
            (seg.build(rows.posting_term, _places(keys, rows.posting_doc), weights),) if len(weights) else ()
        )
        self._edges.load(rows.edges)
        self._snapshot = self._publish(rows.revision)

    def apply(self, delta: HotDelta) -> None:
        """Follow one commit. Raises ValueError, and changes nothing, for a delta that contradicts the index."""
        self._check(delta)
        if delta.vectors is not None:
            self._vectors.add(*delta.vectors)
            self._connect(delta.vectors[0])
        kept = frozenset(delta.kept_docs)
        replaced = [n.key for n in delta.notes if n.key in self._slot_of and n.key not in kept]
        self._drop_docs([*delta.removed_notes, *replaced])
        self._drop_notes(delta.removed_notes)
        self._set_notes(delta.notes)
        self._edges.replace(delta.edges)
        if delta.docs:
            self._append(delta.docs)
        self._compact_if_due()
        self._snapshot = self._publish(delta.revision)

    def missing(self, text_hashes: Iterable[bytes]) -> list[bytes]:
        """Those of the texts that have no vector, each once, order kept."""
        return [h for h in dict.fromkeys(text_hashes) if self._vectors.row(h) < 0]

    def waiting(self) -> list[bytes]:
        """All texts of passages without a vector, the newest documents first."""
        return list(dict.fromkeys(map(bytes, self._passage_hash.view[self._waiting_places()[::-1]])))

    def waiting_by_note(self) -> dict[int, list[bytes]]:
        """The same by the key of the note, each text of a note once."""
        positions = self._waiting_places()
        docs = np.searchsorted(self._passage_start.view, positions, side="right") - 1
        found: dict[int, dict[bytes, None]] = {}
        for slot, position in zip(self._doc_note.view[docs].tolist(), positions.tolist(), strict=True):
            found.setdefault(self._note_key(slot), {})[bytes(self._passage_hash.view[position])] = None
        return {key: list(hashes) for key, hashes in found.items()}

    def _waiting_places(self) -> NDArray[np.int64]:
        """Places of the passages of living documents that have no vector, the oldest documents first."""
        alive = np.repeat(self._alive, np.diff(np.append(self._passage_start.view, len(self._rows))))
        return np.flatnonzero((self._rows == NO_VECTOR) & alive)

    def forget_vectors(self, text_hashes: Iterable[bytes]) -> None:
        """Drop vectors (garbage collection, purge). Passages that still use one wait for it again."""
        gone = set(text_hashes)
        self._vectors.forget(gone)
        hashes = self._passage_hash.view
        positions = [i for i in np.flatnonzero(self._rows >= 0) if bytes(hashes[i]) in gone]
        self._rows = self._rows.copy()
        for position in positions:
            self._rows[position] = NO_VECTOR
            self._waiting.setdefault(bytes(hashes[position]), []).append(int(position))
        self._compact_if_due()
        self._snapshot = self._publish(self._snapshot.revision)

    def clear_vectors(self) -> None:
        """Drop all vectors: another model is coming, and its vectors are never compared with these."""
        self._vectors = VectorTable()
        self._rows = np.where(self._rows == NO_PASSAGE, NO_PASSAGE, NO_VECTOR).astype(np.int32)
        self._rewait()
        self._snapshot = self._publish(self._snapshot.revision)

    # ---- parts of apply

    def _check(self, delta: HotDelta) -> None:
        added = {note.key for note in delta.notes}
        for doc in delta.docs:
            if doc.note_key not in added:
                raise ValueError(f"document {doc.key}: its note {doc.note_key} is not in the delta")
            if doc.note_key in delta.kept_docs:
                raise ValueError(f"document {doc.key}: the documents of its note are kept")
        if len({doc.key for doc in delta.docs}) < len(delta.docs):
            raise ValueError("two documents of one key")
        if any(key not in self._slot_of for key in delta.kept_docs) or not set(delta.kept_docs) <= added:
            raise ValueError("kept documents of a note that is not replaced")

    def _append(self, docs: Sequence[HotDoc]) -> None:
        ordered = sorted(docs, key=lambda doc: doc.key)
        first = len(self._doc_key)
        lengths = [sum(FIELD_WEIGHTS[f] * n for f, n in doc.terms.lengths.items()) for doc in ordered]
        hashes = b"".join(h for doc in ordered for h in doc.passages)
        self._add_docs(
            np.array([doc.key for doc in ordered], np.int64),
            np.array([self._slot_of[doc.note_key] for doc in ordered], np.int32),
            np.array(lengths),
            np.frombuffer(hashes, np.uint8).reshape(-1, HASH_BYTES),
            np.array([len(doc.passages) for doc in ordered]),
        )
        terms: list[int] = []
        places: list[int] = []
        weights: list[float] = []
        for place, doc in enumerate(ordered, first):
            for name, counts in doc.terms.counts.items():
                terms.extend(map(self._terms.give, counts))
                places.extend([place] * len(counts))
                weights.extend(FIELD_WEIGHTS[name] * count for count in counts.values())
        if terms:
            added = seg.build(np.array(terms, np.int64), np.array(places, np.int64), np.array(weights))
            self._segments = seg.tidy((*self._segments, added), lambda: self._alive)

    def _add_docs(
        self,
        keys: NDArray[np.int64],
        notes: NDArray[np.int32],
        lengths: NDArray[np.floating[Any]],
        hashes: NDArray[np.uint8],
        counts: NDArray[np.integer[Any]],
    ) -> None:
        """Append documents with ``counts`` passages each; one without any gets a place holder."""
        first = len(self._rows)
        sizes = np.maximum(counts, 1)
        starts = np.concatenate(([0], np.cumsum(sizes)[:-1])) if len(keys) else np.zeros(0, np.int64)
        real = np.repeat(counts > 0, sizes)
        rows = np.full(len(real), NO_PASSAGE, np.int32)
        padded = np.zeros((len(real), HASH_BYTES), np.uint8)
        padded[real] = hashes
        for at, text_hash in zip(np.flatnonzero(real), map(bytes, hashes), strict=True):
            rows[at] = row = self._vectors.row(text_hash)
            if row < 0:
                self._waiting.setdefault(text_hash, []).append(first + int(at))
        self._doc_key.extend(keys)
        self._doc_note.extend(notes)
        self._doc_length.extend(lengths)
        self._passage_start.extend(starts + first)
        self._passage_hash.extend(padded)
        self._rows = np.concatenate((self._rows, rows))
        self._alive = np.concatenate((self._alive, np.ones(len(keys), bool)))

    def _connect(self, text_hashes: Iterable[bytes]) -> None:
        """Give waiting passages the rows of vectors that have just come."""
        pairs = [(at, self._vectors.row(h)) for h in text_hashes for at in self._waiting.pop(h, ())]
        if pairs:
            self._rows = self._rows.copy()
            positions, rows = zip(*pairs, strict=True)
            self._rows[list(positions)] = rows

    def _drop_docs(self, note_keys: Sequence[int]) -> None:
        slots = [self._slot_of[key] for key in note_keys if key in self._slot_of]
        if slots and len(self._alive):
            going = np.zeros(len(self._notes), bool)
            going[slots] = True
            self._alive = self._alive & ~going[self._doc_note.view]

    def _drop_notes(self, note_keys: Sequence[int]) -> None:
        if note_keys:
            gone = [note for key in note_keys if key in self._slot_of and (note := self._notes[self._slot_of[key]])]
            self._edges.drop(note.id for note in gone)
            self._notes = list(self._notes)
            for note in gone:
                self._notes[self._slot_of[note.key]] = None

    def _set_notes(self, notes: Sequence[NoteMeta]) -> None:
        if not notes:
            return
        self._notes = list(self._notes)
        slots = []
        for note in notes:
            slot = self._slot_of.setdefault(note.key, len(self._notes))
            if slot == len(self._notes):
                self._notes.append(None)
            self._notes[slot] = note
            slots.append(slot)
            for name in names_of(note):
                if slot not in self._names.get(name, ()):
                    self._names[name] = (*self._names.get(name, ()), slot)
        self._visibility = _grown(self._visibility, len(self._notes))
        self._note_flags = _grown(self._note_flags, len(self._notes))
        self._note_lang = _grown(self._note_lang, len(self._notes))
        self._visibility[slots] = [VISIBILITIES.index(note.visibility) for note in notes]
        self._note_flags[slots] = [sum(1 << self._flags.give(flag) for flag in set(note.flags)) for note in notes]
        self._note_lang[slots] = [self._langs.give(note.lang) for note in notes]
        self._facts = self._facts.with_notes(slots, notes, len(self._notes))
        self._edges.place([note.id for note in notes], slots, len(self._notes))

    def _rewait(self) -> None:
        self._waiting = {}
        for position in np.flatnonzero(self._rows == NO_VECTOR):
            self._waiting.setdefault(bytes(self._passage_hash.view[position]), []).append(int(position))

    # ---- housekeeping

    def _compact_if_due(self) -> None:
        dead = len(self._alive) - int(self._alive.sum())
        gone = len(self._notes) - sum(note is not None for note in self._notes)
        if max(dead, gone) > _COMPACT_DOCS and (dead * 2 > len(self._alive) or gone * 2 > len(self._notes)):
            self._compact()
        if self._vectors.wasted > max(_COMPACT_ROWS, len(self._vectors)):
            self._vectors.compact()
            rows = [self._vectors.row(bytes(h)) for h in self._passage_hash.view]
            self._rows = np.where(self._rows >= 0, np.array(rows, np.int32), self._rows)

    def _compact(self) -> None:
        """Leave the dead behind: new slots for notes and documents, in the same order. Old snapshots keep their own."""
        alive, notes = self._alive, [note for note in self._notes if note is not None]
        sizes = np.diff(np.append(self._passage_start.view, len(self._rows)))
        note_keys = [self._note_key(slot) for slot in self._doc_note.view[alive]]
        keys, lengths, counts = self._doc_key.view[alive], self._doc_length.view[alive], sizes[alive]
        seen = np.repeat(alive, sizes)
        hashes, rows = self._passage_hash.view[seen], self._rows[seen]
        renumber = (np.cumsum(alive) - 1).astype(np.int32)
        segments = (seg.merge(self._segments, alive, renumber),) if self._segments else ()
        terms, vectors, langs, flags = self._terms, self._vectors, self._langs, self._flags
        edges = self._edges.renumbered()
        self._clear()
        self._edges = edges
        self._terms, self._vectors, self._langs, self._flags, self._segments = terms, vectors, langs, flags, segments
        self._set_notes(notes)
        self._doc_key.extend(keys)
        self._doc_note.extend([self._slot_of[key] for key in note_keys])
        self._doc_length.extend(lengths)
        self._passage_start.extend(np.cumsum(counts) - counts)
        self._passage_hash.extend(hashes)
        self._rows, self._alive = rows, np.ones(len(keys), bool)
        self._rewait()

    def _note_key(self, slot: int) -> int:
        note = self._notes[slot]
        if note is None:
            raise ValueError(f"a living document of a note that is gone (slot {slot})")
        return note.key

    def _publish(self, revision: int) -> HotSnapshot:
        return HotSnapshot(
            revision=revision,
            notes=self._notes,
            note_visibility=self._visibility,
            note_flags=self._note_flags,
            note_lang=self._note_lang,
            facts=self._facts,
            edges=self._edges.view(),
            doc_key=self._doc_key.view,
            doc_note=self._doc_note.view,
            doc_length=self._doc_length.view,
            alive=self._alive,
            passage_start=self._passage_start.view,
            passage_rows=self._rows,
            segments=self._segments,
            vectors=self._vectors.view(),
            terms=self._terms,
            langs=self._langs,
            flags=self._flags,
            slot_of=self._slot_of,
            names=self._names,
        )


def names_of(note: NoteMeta) -> set[str]:
    """The names of a note in the title lane, as `name_key` forms: title, heading, aliases, file name, path, id."""
    stem = note.path.removesuffix(".md")
    names = [note.title, note.h1, *note.aliases, stem.rpartition("/")[2], note.path.rpartition("/")[2], note.path, stem]
    return {name_key(name) for name in (*names, note.note_id) if name} - {""}


def _grown(array: NDArray[Any], size: int) -> NDArray[Any]:
    """A copy with room for `size` entries."""
    out = np.zeros(size, array.dtype)
    out[: len(array)] = array
    return out


def _places(keys: NDArray[np.int64], wanted: NDArray[np.integer[Any]]) -> NDArray[np.int64]:
    """Places in the sorted `keys`. Raises ValueError for a key that is not there."""
    found = np.searchsorted(keys, wanted).astype(np.int64)
    if len(found) and (int(found.max()) >= len(keys) or not np.array_equal(keys[found], wanted)):
        raise ValueError("a posting or passage of a document that is missing")
    return found
