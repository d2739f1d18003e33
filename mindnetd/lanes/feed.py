"""What the resident index is fed with: everything at start, then one delta a commit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mindnetd.core.records import Edge, NoteMeta, TermCounts
from mindnetd.lanes.graph import NO_EDGES, EdgeRows
from mindnetd.lanes.vectors import Matrix


@dataclass(frozen=True, slots=True)
class HotDoc:
    """A document to index: a chunk, or a note with an empty body under the note's own key.

    No two living documents share a key, so keys of chunks and notes come from one sequence. ``passages`` are SHA-256
    digests (32 bytes) of what is embedded for it, in order; the title passage belongs to the note's first document.
    """

    key: int
    note_key: int
    terms: TermCounts
    passages: tuple[bytes, ...]


@dataclass(frozen=True, slots=True)
class HotDelta:
    """One commit. Of ``notes`` (added or replaced) the old documents go, except of those in ``kept_docs``."""

    revision: int
    removed_notes: tuple[int, ...] = ()
    notes: tuple[NoteMeta, ...] = ()
    docs: tuple[HotDoc, ...] = ()
    kept_docs: tuple[int, ...] = ()
    vectors: tuple[Sequence[bytes], Matrix] | None = None
    edges: tuple[tuple[str, Sequence[Edge]], ...] = ()
    """(note id, everything it declares now), of every note whose edges the commit wrote."""


@dataclass(frozen=True, slots=True)
class HotRows:
    """Everything as the store hands it over at start. Rows may come in any order (sorted ones load faster)."""

    revision: int
    notes: Sequence[NoteMeta]
    terms: Sequence[str]
    posting_term: NDArray[np.integer]
    """Index into ``terms``."""
    posting_doc: NDArray[np.integer]
    """Document key."""
    posting_field: NDArray[np.integer]
    """Index into `core.analyze.FIELDS`."""
    posting_tf: NDArray[np.integer]
    doc_key: NDArray[np.integer]
    doc_note: NDArray[np.integer]
    """Note key."""
    doc_lengths: NDArray[np.integer]
    """(documents, fields)."""
    passage_doc: NDArray[np.integer]
    """Document key; the passages of a document in their order."""
    passage_hash: NDArray[np.uint8]
    """(passages, 32)."""
    vector_hash: NDArray[np.uint8]
    """(vectors, 32), distinct."""
    vectors: Matrix
    """(vectors, dim) float32, unit rows."""
    edges: EdgeRows = NO_EDGES
