"""``GET /communities`` and ``GET /communities/{id}``."""

from __future__ import annotations

from typing import Annotated

from fastapi import FastAPI, Query, Request, Response

from mindnetd.serving.community_replies import CommunityBrowser
from mindnetd.serving.kit import ERRORS, Kit, Paged, Seen, ref_of
from mindnetd.serving.wire import Reply


class CommunityLine(Reply):
    """A community: ``size`` counts the members that may be seen, ``parent`` is the id of the one it is a part of."""

    id: str
    label: str
    level: int
    title: str
    size: int
    summary: str
    summary_source: str
    updated: str
    parent: str | None


class CommunitiesReply(Reply):
    """``GET /communities``, by level and size. ``stale``: notes have changed since they were made."""

    communities: list[CommunityLine]
    count: int
    next: str | None
    built_at: str | None
    stale: bool


class CommunityMember(Reply):
    """A member; ``note`` and ``path`` are those of the note that it is."""

    id: str
    name: str
    type: str
    mentions: int
    note: str | None
    path: str | None


class CommunitySource(Reply):
    """A sentence that the summary is made of, and the chunk that says it."""

    chunk: str
    path: str
    title: str
    section: list[str]
    start_line: int
    end_line: int
    sentence: str


class CommunityName(Reply):
    """Another community in short."""

    id: str
    label: str
    level: int
    title: str
    size: int


class CommunityReply(Reply):
    """``GET /communities/{id}``: members most mentioned first."""

    community: CommunityLine
    members: list[CommunityMember]
    sources: list[CommunitySource]
    parent: CommunityName | None
    children: list[CommunityName]
    built_at: str | None
    stale: bool


Level = Annotated[int | None, Query(ge=0, description="0 is the coarsest; all levels if none is given")]


def add_community_routes(app: FastAPI, kit: Kit) -> None:
    """Add the routes."""
    browser = CommunityBrowser(kit.services, kit.browser)

    @app.get("/communities", response_model=CommunitiesReply, responses=ERRORS)
    async def communities(request: Request, view: Seen, paged: Paged, level: Level = None) -> Response:
        """What the notes that may be seen are about, in groups of entities that belong together."""
        return await kit.reply(request, lambda: browser.communities(level, view, paged.limit, paged.cursor))

    @app.get("/communities/{id:path}", response_model=CommunityReply, responses=ERRORS)
    async def community(request: Request, id: str, view: Seen) -> Response:
        """One community, by id or label: members, what its summary is made of, the one above, its parts."""
        wanted = ref_of(request, "/communities/")
        return await kit.reply(request, lambda: browser.community(wanted, view))
