"""The wire format: every request body and every reply of the socket API, as the OpenAPI document shows them.

Requests are validated by these models (an unknown field is an error: a misspelt filter must not widen an answer).
Replies are only described by them: handlers build plain dictionaries and ``encode`` writes them, since validating what
we made ourselves costs more than the query; ``tests/test_server_schema.py`` holds each reply against this document.
Version 1: fields may be added freely, renaming or removing one is a new version.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field
from pydantic_core import to_json

from mindnetd.core.records import Visibility

Mode = Literal["auto", "local", "global", "drift"]
Lane = Literal["lexical", "dense", "title"]
Flag = Literal["draft", "needs_review", "private_journal"]
Direction = Literal["in", "out", "both"]


def encode(value: Any) -> bytes:
    """JSON, UTF-8. Takes dataclasses, tuples and mappings; NaN and infinity become null."""
    return to_json(value, inf_nan_mode="null")


class Strict(BaseModel):
    """A request body: no unknown fields, no silent conversions."""

    model_config = ConfigDict(extra="forbid", strict=True, populate_by_name=True)


class DateRange(Strict):
    """Both ends inclusive; ``YYYY-MM-DD`` (the whole day) or RFC 3339. None is open."""

    from_: str | None = Field(default=None, alias="from")
    to: str | None = None


class FiltersIn(Strict):
    """What may be in the answer. Empty means no restriction, but for visibility and flags."""

    visibility: list[Visibility] | None = Field(default=None, min_length=1)
    include_flags: list[Flag] = []
    types: list[str] = []
    tags: list[str] = []
    status: list[str] = []
    paths: list[str] = []
    lang: str | None = None
    created: DateRange | None = None
    modified: DateRange | None = None
    frontmatter: dict[str, Any] = {}


class QueryRequest(Strict):
    """``POST /query``."""

    text: str = Field(min_length=1)
    mode: Mode = "auto"
    top_k: int = Field(default=10, ge=1, le=1000)
    graph_hops: int = Field(default=1, ge=0, le=4)
    explain: bool = True
    answer: bool = False
    stream: bool = False
    prefix: bool = False
    lanes: list[Lane] | None = Field(default=None, min_length=1)
    filters: FiltersIn = FiltersIn()


class ReindexRequest(Strict):
    """``POST /admin/reindex``: the notes of ``paths`` (files or folders), or all of them again."""

    paths: list[str] = []
    all: bool = False


class VerifyRequest(Strict):
    """``POST /admin/verify``; with ``hashes`` the job's result lists the three hashes of every note."""

    hashes: bool = False


class EmptyRequest(Strict):
    """A call without arguments."""


class Reply(BaseModel):
    """A reply; fields may be added by a later version."""

    model_config = ConfigDict(extra="allow")


class ErrorBody(Reply):
    """``code`` is stable, ``message`` one line for a person, ``detail`` what a program may need."""

    code: str
    message: str
    detail: dict[str, Any]


class ErrorReply(Reply):
    """Every error looks like this."""

    error: ErrorBody


class Term(Reply):
    """One part of a score: ``value`` times ``weight`` is ``term``; the terms of a result sum to its score."""

    value: float
    weight: float
    term: float


class LaneScore(Reply):
    """Where one lane had this result, and its raw score there."""

    rank: int | None
    score: float | None


class QueryNote(Reply):
    """The note of a result."""

    id: str
    note_id: str | None
    path: str
    title: str
    type: str | None
    status: str | None
    tags: list[str]
    visibility: Visibility
    modified: str


class QueryChunk(Reply):
    """The part of the note that matched; ``highlights`` are ``[start, end)`` in code points of ``snippet``."""

    id: str
    idx: int
    section: list[str]
    start_line: int
    end_line: int
    text: str
    window: str
    snippet: str
    highlights: list[Annotated[list[int], Field(min_length=2, max_length=2)]]


class QueryHit(Reply):
    """One result. ``chunk`` is null for a note without text."""

    rank: int
    score: float
    note: QueryNote
    chunk: QueryChunk | None
    explain: dict[str, Any] | None = None


class VectorCounts(Reply):
    """How many passages have their vector, how many wait for it."""

    ready: int
    pending: int


class QueryReply(Reply):
    """``POST /query``."""

    query_id: str
    mode: Literal["local", "global", "drift"]
    mode_reason: str
    revision: int
    took_ms: dict[str, float]
    vectors: VectorCounts
    warnings: list[str]
    results: list[QueryHit]
    entities: list[dict[str, Any]]
    relationships: list[dict[str, Any]]
    communities: list[dict[str, Any]]
    answer: dict[str, Any] | None


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


class Node(Reply):
    """An end of an edge."""

    id: str
    kind: Literal["note", "chunk", "entity", "file", "url", "unresolved"]
    label: str
    path: str | None


class EdgeOut(Reply):
    """A directed edge."""

    id: str
    src: str
    dst: str
    relation: str
    weight: float
    source: str
    evidence: str


class GraphReply(Reply):
    """``GET /neighbors/{ref}`` and ``GET /subgraph/{ref}``; ``truncated`` when the limit cut something off."""

    nodes: list[Node]
    edges: list[EdgeOut]
    truncated: bool


class UnresolvedItem(Reply):
    """A link target that no file answers to, and the notes that wait for it."""

    id: str
    target: str
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
    vault: dict[str, Any]
    revision: int
    notes: int
    chunks: int
    passages: int
    queue: int
    vectors: VectorCounts
    progress: dict[str, Any] | None
    watcher: dict[str, Any]
    last_run: dict[str, Any] | None
    jobs: list[dict[str, Any]]
    model: Any
    llm: Any
    rss_bytes: int
    uptime_s: float


class StatsReply(Reply):
    """``GET /stats``: counts of what the request may see; ``edges`` is relation, then source."""

    documents: int
    chunks: int
    passages: int
    entities: int
    relationships: int
    communities: int
    unresolved: int
    edges: dict[str, dict[str, int]]
    embeddings: dict[str, int]
    database_bytes: int
