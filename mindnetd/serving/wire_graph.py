"""The replies about the graph; see ``wire``."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from mindnetd.serving.wire import Reply
from mindnetd.serving.wire_replies import NoteLine


class Node(Reply):
    """An end of an edge; ``type`` is the note's."""

    id: str
    kind: Literal["note", "chunk", "entity", "file", "url", "unresolved"]
    label: str
    path: str | None
    type: str | None


class ReachedNode(Node):
    """A node of a walk: ``hops`` from the asked note, and the best way to it (edge ids) with its score."""

    hops: int
    score: float
    way: list[str]


class EdgeOut(Reply):
    """A directed edge; ``evidence`` and ``line`` say where it is written, ``occurrences`` how often.

    ``by`` is ``id`` where no file has the name that is asked for, but a note has it as its frontmatter id.
    """

    id: str
    src: str
    dst: str
    relation: str
    weight: float
    source: str
    evidence: str
    line: int | None
    occurrences: int
    by: Literal["id"] | None


class GraphReply(Reply):
    """``GET /neighbors/{ref}`` and ``GET /subgraph/{ref}``; ``truncated`` when a limit cut something off."""

    nodes: list[ReachedNode]
    edges: list[EdgeOut]
    truncated: bool


class PathReply(Reply):
    """``GET /path``: the nodes of the way in order and the edges between them; ``truncated`` when the search gave up.

    Where nothing was found ``hops`` is null and the lists are empty.
    """

    found: bool
    from_: Node = Field(alias="from")
    to: Node
    hops: int | None
    nodes: list[Node]
    edges: list[EdgeOut]
    truncated: bool


class OrphansReply(Reply):
    """``GET /orphans``, by path; ``count`` is that of the whole list."""

    orphans: list[NoteLine]
    count: int
    next: str | None


class Reason(Reply):
    """Why a note is related: ``term`` is value times weight, ``text`` says it in words."""

    kind: Literal["meaning", "links"]
    value: float
    weight: float
    term: float
    text: str
    line: int | None = None
    edges: list[EdgeOut] = Field(default_factory=list)


class RelatedNote(Reply):
    """A related note; ``score`` is the sum of its reasons' terms."""

    note: NoteLine
    score: float
    reasons: list[Reason]


class RelatedReply(Reply):
    """``GET /notes/{ref}/related``, best first."""

    related: list[RelatedNote]
    warnings: list[str]
