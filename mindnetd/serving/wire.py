"""The wire format: every request body and every reply of the socket API, as the OpenAPI document shows them.

Requests are validated by these models (an unknown field is an error: a misspelt filter must not widen an answer).
Replies (those about notes and state are in ``wire_replies``) are only described by them: handlers build plain
dictionaries and ``encode`` writes them, since validating what we made ourselves costs more than the query;
``tests/test_server_schema.py`` holds each reply against this document.
Version 1: fields may be added freely, renaming or removing one is a new version.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field
from pydantic_core import to_json

from mindnetd.core.query import LANES, MAX_HOPS, MAX_TOP_K, Lane
from mindnetd.core.records import Visibility

Mode = Literal["auto", "local", "global", "drift"]
ALL_LANES: dict[str, Any] = {"default": list(LANES)}
Flag = Literal["draft", "needs_review", "private_journal"]
Direction = Literal["in", "out", "both"]


def encode(value: Any) -> bytes:
    """JSON, UTF-8. Takes dataclasses, tuples and mappings; NaN and infinity become null."""
    return to_json(value, inf_nan_mode="null")


def _all_lanes() -> list[Lane]:
    return list(LANES)


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
    top_k: int | None = Field(default=None, ge=1, le=MAX_TOP_K, description="left out: that of retrieval.yaml, else 10")
    graph_hops: int | None = Field(default=None, ge=0, le=MAX_HOPS, description="left out: as retrieval.yaml, else 1")
    explain: bool = True
    answer: bool = False
    stream: bool = False
    prefix: bool = False
    lanes: list[Lane] | None = Field(default_factory=_all_lanes, min_length=1, json_schema_extra=ALL_LANES)
    filters: FiltersIn = Field(default_factory=FiltersIn)


class ReindexRequest(Strict):
    """``POST /admin/reindex``: the notes of ``paths`` (files or folders), or all of them again."""

    paths: list[str] = []
    all: bool = False


class VerifyRequest(Strict):
    """``POST /admin/verify``; with ``hashes`` the job's result lists the three hashes of every note."""

    hashes: bool = False


class CommunitiesRequest(Strict):
    """``POST /admin/communities``; ``cold``: as if there had been no communities before."""

    cold: bool = False


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


class Citation(Reply):
    """What an answer is based on: ``[n]`` in its text. ``line`` is where the cited sentence stands, where known."""

    n: int
    chunk_id: str
    path: str
    title: str
    section: list[str]
    start_line: int
    end_line: int
    line: int


class AnswerReply(Reply):
    """The answer; every citation is a source that it was made from, others were taken out and counted."""

    text: str
    source: Literal["llm", "extractive"]
    model: str | None
    citations: list[Citation]
    llm_calls: int
    citations_removed: int


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
    follow_ups: list[dict[str, Any]]
    answer: AnswerReply | None
