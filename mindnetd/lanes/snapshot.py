"""What one query sees: the resident index as it was at one revision, immutable, shared by any number of threads."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from mindnetd.core.filters import Filters, compile_filters
from mindnetd.core.records import VISIBILITIES, NoteMeta
from mindnetd.lanes.codes import Codes
from mindnetd.lanes.facts import Facts
from mindnetd.lanes.graph import EdgeView
from mindnetd.lanes.segments import BoolArray, IntArray, Segment
from mindnetd.lanes.vectors import VectorView

_MASKS_KEPT = 32


@dataclass(frozen=True, slots=True)
class Scope:
    """The documents that exist for somebody: visibility and flags applied. Statistics are made of exactly these."""

    docs: BoolArray
    notes: BoolArray
    """The same by note slot."""
    count: int
    mean_length: float
    langs: tuple[str, ...]
    """Languages of these documents, commonest first."""
    ready: int
    """Passages with a vector."""
    pending: int
    """Passages without one yet."""


@dataclass(frozen=True, slots=True)
class HotSnapshot:
    """One revision. ``notes[slot]`` is None where a note is gone; arrays are by document slot unless named otherwise.

    A *document* is a chunk, or a note without text (then its key is the note's own).
    """

    revision: int
    notes: Sequence[NoteMeta | None]
    note_visibility: NDArray[np.uint8]
    note_flags: NDArray[np.int64]
    note_lang: NDArray[np.int16]
    facts: Facts
    """By note slot: what a note is by itself, for the ranking."""
    edges: EdgeView
    doc_key: NDArray[np.int64]
    doc_note: IntArray
    doc_length: NDArray[np.float32]
    alive: BoolArray
    passage_start: IntArray
    """First entry of a document in ``passage_rows``; every document has at least one."""
    passage_rows: IntArray
    """By passage: row of its vector, -1 while there is none, -2 for no passage at all."""
    segments: tuple[Segment, ...]
    vectors: VectorView
    terms: Codes
    langs: Codes
    flags: Codes
    slot_of: dict[int, int]
    names: dict[str, tuple[int, ...]]
    """`name_key` of titles, aliases, file names -> note slots that have or had it: the note itself decides."""
    _scopes: dict[tuple[frozenset[str], frozenset[str]], Scope] = field(default_factory=dict)
    kept_edges: dict[tuple[frozenset[str], frozenset[str]], EdgeView] = field(default_factory=dict)
    """``edges`` as somebody may see them, by levels and hiding flags; filled by whoever asks."""
    _masks: dict[Filters, BoolArray] = field(default_factory=dict)
    """Note slots that pass, by filters."""

    def note(self, key: int) -> NoteMeta | None:
        """The note of an internal key, as it is in this revision."""
        slot = self.slot_of.get(key, -1)
        return self.notes[slot] if 0 <= slot < len(self.notes) else None

    def all_notes(self) -> list[NoteMeta]:
        """Every note, in the order of keys."""
        return [note for note in self.notes if note is not None]

    def scope(self, visibility: Sequence[str], hidden_flags: Sequence[str]) -> Scope:
        """The documents of notes with one of these visibilities and none of these flags."""
        key = (frozenset(visibility), frozenset(hidden_flags))
        found = self._scopes.get(key)
        if found is None:
            found = self._scopes[key] = self._make_scope(*key)
        return found

    def _make_scope(self, visibility: frozenset[str], hidden_flags: frozenset[str]) -> Scope:
        codes = [code for code, name in enumerate(VISIBILITIES) if name in visibility]
        bits = sum(1 << self.flags.ids[flag] for flag in hidden_flags if flag in self.flags.ids)
        seen = np.isin(self.note_visibility, codes) & ((self.note_flags & bits) == 0)
        docs = self.alive & seen[self.doc_note]
        count = int(docs.sum())
        lengths = self.doc_length[docs].sum(dtype=np.float64)
        by_lang = np.bincount(self.note_lang[self.doc_note[docs]], minlength=1)
        order = sorted(np.flatnonzero(by_lang), key=lambda code: (-by_lang[code], self.langs.texts[code]))
        ready, pending = self._passages(docs)
        return Scope(
            docs=docs,
            notes=seen,
            count=count,
            mean_length=float(lengths) / count if count else 0.0,
            langs=tuple(self.langs.texts[code] for code in order),
            ready=ready,
            pending=pending,
        )

    def _passages(self, docs: BoolArray) -> tuple[int, int]:
        sizes = np.diff(np.append(self.passage_start, len(self.passage_rows)))
        seen = np.repeat(docs, sizes)
        rows = self.passage_rows[seen]
        return int((rows >= 0).sum()), int((rows == -1).sum())

    def narrowed(self, scope: Scope, filters: Filters) -> BoolArray:
        """The documents of `scope` that the other filters let through."""
        if not filters.narrows:
            return scope.docs
        found = self._masks.get(filters)
        if found is None:
            if len(self._masks) >= _MASKS_KEPT:
                self._masks.clear()
            found = self._masks[filters] = self._passing(compile_filters(filters))
        return scope.docs & found[self.doc_note]

    def _passing(self, test: Callable[[NoteMeta], bool]) -> BoolArray:
        return np.fromiter((note is not None and test(note) for note in self.notes), dtype=bool, count=len(self.notes))
