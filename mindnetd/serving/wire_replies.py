"""The replies about notes, links and state; see ``wire``."""

from __future__ import annotations

from typing import Any, Literal

from mindnetd.core.records import Visibility
from mindnetd.serving.wire import Reply, VectorCounts


class NoteLine(Reply):
    """A note in a list."""

    id: str
    note_id: str | None
    path: str
    title: str
    type: str | None
    status: str | None
    modified: str


class NotesReply(Reply):
    """``GET /notes``; ``next`` is the cursor of the next page, null on the last."""

    notes: list[NoteLine]
    next: str | None


class Hashes(Reply):
    """SHA-256 in hex, of the canonical forms."""

    body: str
    frontmatter: str
    full: str


class NoteFull(Reply):
    """The note itself. A ``.canvas`` has no hashes and no frontmatter."""

    id: str
    note_id: str | None
    path: str
    title: str
    h1: str | None
    aliases: list[str]
    tags: list[str]
    type: str | None
    status: str | None
    visibility: Visibility
    lang: str
    created: str | None
    modified: str | None
    frontmatter: dict[str, Any]
    hashes: Hashes | None
    hash_mode: str | None
    stale: bool
    flags: list[str]


class LinkOut(Reply):
    """A link as written and where it goes; ``resolved`` is null when nothing visible answers to it."""

    kind: Literal["wikilink", "embed", "markdown", "frontmatter", "inline_field", "canvas"]
    raw: str
    target: str
    heading: str | None
    block: str | None
    resolved: str | None
    ambiguous: bool
    in_comment: bool
    property: str | None
    line: int | None
    relation: str


class Backlink(Reply):
    """A line elsewhere that links here."""

    path: str
    line: int | None
    relation: str


class ChunkOut(Reply):
    """A chunk of a note; the texts in order, joined, are its body."""

    id: str
    idx: int
    section: list[str]
    start_line: int
    end_line: int
    tokens: int
    text: str
    window: str


class DiagnosticOut(Reply):
    """One thing wrong with a note."""

    code: str
    message: str
    line: int | None


class NoteReply(Reply):
    """``GET /notes/{ref}``."""

    note: NoteFull
    links: list[LinkOut]
    backlinks: list[Backlink]
    chunks: list[ChunkOut]
    passages: int
    embedded: int
    diagnostics: list[DiagnosticOut]


class UnresolvedItem(Reply):
    """A link target that no file answers to, and the notes that wait for it; ``spellings`` are all its names."""

    id: str
    target: str
    spellings: list[str]
    count: int
    sources: list[Backlink]


class UnresolvedReply(Reply):
    """``GET /unresolved``, most wanted first."""

    unresolved: list[UnresolvedItem]
    next: str | None


class NoteDiagnostic(DiagnosticOut):
    """A diagnostic with the file it is about."""

    path: str


class DiagnosticsReply(Reply):
    """``GET /diagnostics``, worst first."""

    diagnostics: list[NoteDiagnostic]
    next: str | None


class RunsReply(Reply):
    """``GET /runs``, newest first."""

    runs: list[dict[str, Any]]
    next: str | None


class RunReply(Reply):
    """``GET /runs/{id}``."""

    run: dict[str, Any]


class QueryLogReply(Reply):
    """``GET /query-log``, newest first."""

    query_log: list[dict[str, Any]]
    next: str | None


class JobReply(Reply):
    """A job: ``state`` is queued, running, done or failed; times are RFC 3339."""

    id: str
    kind: str
    state: Literal["queued", "running", "done", "failed"]
    progress: dict[str, int]
    created: str
    started: str | None
    finished: str | None
    result: dict[str, Any]
    error: str | None


class StatusReply(Reply):
    """``GET /status``."""

    state: Literal["starting", "indexing", "ready", "degraded", "stopping"]
    reason: str | None
    version: str
    database: str
    vault: dict[str, Any]
    revision: int
    notes: int
    chunks: int
    passages: int
    queue: int
    vectors: VectorCounts
    progress: dict[str, Any]
    watcher: dict[str, Any]
    last_run: dict[str, Any] | None
    jobs: list[dict[str, Any]]
    model: Any
    types: dict[str, Any]
    llm: Any
    rss_bytes: int
    uptime_s: float


class StatsReply(Reply):
    """``GET /stats``: counts of what the request may see; ``edges`` is relation, then source.

    ``shared_tags`` are pairs of notes that share a rare tag: found when asked for, so not among the edges.
    """

    documents: int
    chunks: int
    passages: int
    entities: int
    relationships: int
    communities: int
    unresolved: int
    edges: dict[str, dict[str, int]]
    shared_tags: int
    embeddings: dict[str, int]
    llm: dict[str, dict[str, int]]
    database_bytes: int
