"""What goes into the store and what comes out of it: plain frozen data over the records of ``core``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import numpy as np
import numpy.typing as npt

from mindnetd.core.entity_records import Entity
from mindnetd.core.records import (
    Chunk,
    Diagnostic,
    Edge,
    NoteMeta,
    Passage,
    ResolvedLink,
    Signal,
    TermCounts,
    VaultFile,
)
from mindnetd.core.results import ChunkText


def utc_now() -> datetime:
    """The time now as the store keeps times: UTC, without a zone."""
    return datetime.now(UTC).replace(tzinfo=None)


# ------------------------------------------------------------------------------------------------ into the store


@dataclass(frozen=True, slots=True)
class ChunkRow:
    """A chunk with its fresh key and its id."""

    key: int
    id: str
    chunk: Chunk


@dataclass(frozen=True, slots=True)
class DocRow:
    """A document of the lexical index: ``key`` is a chunk's, or the note's own for a note with an empty body."""

    key: int
    terms: TermCounts


@dataclass(frozen=True, slots=True)
class SignalRow:
    """A candidate of a note, with the key of its chunk (of the note, where the whole note says it)."""

    chunk_key: int
    signal: Signal


@dataclass(frozen=True, slots=True)
class MentionRow:
    """An entity in a chunk (in the note itself where it has none), ``count`` times, spelled ``name`` there."""

    entity_id: str
    chunk_id: str
    chunk_key: int
    count: int
    name: str
    key: str


@dataclass(frozen=True, slots=True)
class NoteRows:
    """All rows of one note. They replace whatever the store has under ``meta.key``.

    ``link_names`` are the names its links wait under (``core.resolve.name_keys``). ``run_id`` None keeps the run that
    the stored note has. With ``keep_chunks`` (hash mode ``frontmatter``, body newer than its chunks) chunks and their
    passages stay as stored and ``chunks`` must be empty; the title passage is replaced, and so are the documents whose
    keys stand in ``docs``.
    """

    meta: NoteMeta
    raw: bytes
    chunks: tuple[ChunkRow, ...]
    title_passage: Passage | None
    docs: tuple[DocRow, ...]
    links: tuple[ResolvedLink, ...]
    link_names: tuple[str, ...]
    edges: tuple[Edge, ...]
    diagnostics: tuple[Diagnostic, ...]
    run_id: str | None
    keep_chunks: bool = False
    retriever_weight: float | None = None
    time_weight_override: float | None = None
    signals: tuple[SignalRow, ...] = ()
    mentions: Mapping[str, tuple[MentionRow, ...]] = field(default_factory=dict)
    """By the name of the audience in whose graph they are; of every audience that may see the note."""
    """Entities that are known already; with ``keep_chunks`` those of the stored body are among them."""


@dataclass(frozen=True, slots=True)
class RelationRow:
    """A relation of two entities; ``support`` are the (chunk id, chunk key, note key) that say so, sorted."""

    id: str
    source_id: str
    target_id: str
    type: str
    weight: float
    count: int
    source: str
    support: tuple[tuple[str, int, int], ...]
    description: str | None = None


@dataclass(frozen=True, slots=True)
class GraphRows:
    """The entity graph of one audience. Entities come with their mentions counted."""

    entities: tuple[tuple[Entity, int], ...]
    mentions: tuple[tuple[int, MentionRow], ...]
    relations: tuple[RelationRow, ...]
    name_vectors: Vectors | None
    """Those of names that were embedded for it, and for no audience before it."""
    signature: str
    audience: str = ""


@dataclass(frozen=True, slots=True)
class CanvasRows:
    """A canvas: links and edges, no text. Not a note."""

    key: int
    id: str
    path: str
    raw_hash: str
    links: tuple[ResolvedLink, ...]
    link_names: tuple[str, ...]
    edges: tuple[Edge, ...]
    diagnostics: tuple[Diagnostic, ...]
    run_id: str


@dataclass(frozen=True, slots=True)
class RelinkRows:
    """New answers for the links of a note or canvas whose bytes did not change.

    Links, edges and names are replaced (names only where they are given); of the diagnostics only those whose code
    begins with ``link_``.
    """

    key: int
    path: str
    id: str
    links: tuple[ResolvedLink, ...]
    edges: tuple[Edge, ...]
    link_diagnostics: tuple[Diagnostic, ...]
    run_id: str
    link_names: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class CheckRows:
    """A stored note held against other note types: replaces its diagnostics of these codes, and nothing else."""

    key: int
    path: str
    codes: tuple[str, ...]
    diagnostics: tuple[Diagnostic, ...]


@dataclass(frozen=True, slots=True)
class PathDiagnostics:
    """Diagnostics of a file that is no note and no canvas (conflict copy, unreadable): replaces the path's."""

    path: str
    diagnostics: tuple[Diagnostic, ...]


@dataclass(frozen=True, slots=True)
class Vectors:
    """Vectors of one model: ``hashes`` are SHA-256 hex texts, ``matrix`` float32 ``(len(hashes), dim)``, unit rows."""

    fingerprint: str
    hashes: tuple[str, ...]
    matrix: npt.NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class RunRow:
    """An import run as far as it has come; written again it replaces itself. Times are UTC without a zone."""

    id: str
    trigger: str
    started: datetime
    config_hash: str
    ended: datetime | None = None
    vault_repo: str | None = None
    vault_commit: str | None = None
    files_seen: int = 0
    files_changed: int = 0
    files_failed: int = 0
    chunks: int = 0
    edges: int = 0
    embeddings_made: int = 0
    embeddings_reused: int = 0
    errors: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ConfigRow:
    """A configuration snapshot; kept once per hash."""

    config_hash: str
    config_json: str


@dataclass(frozen=True, slots=True)
class QueryRow:
    """A line of the optional query log."""

    id: str
    at: datetime
    query: str
    filters_json: str
    top_k: int
    took_ms: float
    decision_trace_json: str | None = None


@dataclass(frozen=True, slots=True)
class Batch:
    """Everything that becomes true together: one transaction, one revision.

    ``removed`` are keys of notes and canvases. Removal goes first, so a key may be removed and written in one batch.
    ``meta`` are further entries of the table ``meta`` (stage versions, back end).
    """

    files_upsert: tuple[VaultFile, ...] = ()
    files_removed: tuple[str, ...] = ()
    notes: tuple[NoteRows, ...] = ()
    canvases: tuple[CanvasRows, ...] = ()
    removed: tuple[int, ...] = ()
    relinked: tuple[RelinkRows, ...] = ()
    rechecked: tuple[CheckRows, ...] = ()
    path_diagnostics: tuple[PathDiagnostics, ...] = ()
    vectors: Vectors | None = None
    run: RunRow | None = None
    config: ConfigRow | None = None
    meta: Mapping[str, str] = field(default_factory=dict)
    at: datetime = field(default_factory=utc_now)


# --------------------------------------------------------------------------------------------- out of the store


@dataclass(frozen=True, slots=True)
class HotColumns:
    """What the hot index is made of, as arrays, in one revision.

    ``terms[t]`` is the text of term id ``t`` (``""`` where an id is not in use). Postings are ordered by document.
    Documents are ordered by key; ``doc_lengths`` is int32 ``(docs, 5)`` in the order of ``FIELDS``. A passage belongs
    to the chunk or note with key ``passage_owner`` (title passages: the note's key, with ``passage_is_title``).
    ``vector_hash`` row i (32 bytes) is the text whose vector is ``matrix`` row i: only vectors of the asked fingerprint
    that some passage needs.
    """

    revision: int
    notes: tuple[NoteMeta, ...]
    terms: list[str]
    posting_doc: npt.NDArray[np.int32]
    posting_term: npt.NDArray[np.int32]
    posting_field: npt.NDArray[np.uint8]
    posting_tf: npt.NDArray[np.uint16]
    doc_key: npt.NDArray[np.int32]
    doc_note: npt.NDArray[np.int32]
    doc_lengths: npt.NDArray[np.int32]
    passage_owner: npt.NDArray[np.int32]
    passage_note: npt.NDArray[np.int32]
    passage_is_title: npt.NDArray[np.bool_]
    passage_hash: npt.NDArray[np.uint8]
    vector_hash: npt.NDArray[np.uint8]
    matrix: npt.NDArray[np.float32]
    edges: Mapping[str, npt.NDArray[Any]]
    """Edges between two notes, by column: src, dst (ids), relation, source, weight."""


@dataclass(frozen=True, slots=True)
class StoredCanvas:
    """A canvas as stored."""

    key: int
    id: str
    path: str
    raw_hash: str


@dataclass(frozen=True, slots=True)
class StoredChunk:
    """A chunk of a note's detail, without its passages."""

    text: ChunkText
    tokens: int
    profile: str
    start: int
    end: int
    content_hash: str
    passages: tuple[str, ...]
    """The text hashes (hex) of its passages, in order."""


@dataclass(frozen=True, slots=True)
class Backlink:
    """A link to a note, from another file: ``path`` and ``owner`` say from where."""

    owner: int
    path: str
    line: int | None
    relation: str


@dataclass(frozen=True, slots=True)
class NoteDetail:
    """One note with everything about it, in one revision."""

    meta: NoteMeta
    links: tuple[ResolvedLink, ...]
    backlinks: tuple[Backlink, ...]
    chunks: tuple[StoredChunk, ...]
    passages: int
    embedded: int
    diagnostics: tuple[Diagnostic, ...]
    run_id: str


@dataclass(frozen=True, slots=True)
class StoredDiagnostic:
    """A diagnostic with its file; ``owner`` is the key of the note or canvas, if it is one."""

    path: str
    owner: int | None
    diagnostic: Diagnostic


@dataclass(frozen=True, slots=True)
class StoredEdge:
    """An edge with what the filter needs: the more hidden of its ends."""

    edge: Edge
    owner: int
    visibility: str


@dataclass(frozen=True, slots=True)
class EdgeCounts:
    """Edges by ``(relation, source)``, and how many distinct targets are not there."""

    by_relation: Mapping[tuple[str, str], int]
    unresolved: int


@dataclass(frozen=True, slots=True)
class UnresolvedLink:
    """A link whose target is not there."""

    owner: int
    path: str
    link: ResolvedLink
