"""``GET /entities`` and ``GET /entities/{id}``."""

from __future__ import annotations

from typing import Annotated

from fastapi import Depends, FastAPI, Query, Request, Response

from mindnetd.serving.entity_replies import EntityBrowser
from mindnetd.serving.kit import ERRORS, Kit, Paged, Seen, ref_of
from mindnetd.serving.wire import Reply


class EntityLine(Reply):
    """An entity: ``mentions`` counts what may be seen; ``note`` is the id of the note that it is, ``path`` its path."""

    id: str
    name: str
    type: str
    mentions: int
    aliases: list[str]
    note: str | None
    path: str | None


class EntitiesReply(Reply):
    """``GET /entities``; ``count`` is that of the whole list, ``built_at`` when the graph was made."""

    entities: list[EntityLine]
    count: int
    next: str | None
    built_at: str | None


class EntityFull(EntityLine):
    """The entity itself."""

    description: str | None


class EntityMention(Reply):
    """A chunk that mentions it: its id, the note, the line that has the name, and that line's text."""

    chunk: str
    path: str
    title: str
    section: list[str]
    line: int
    text: str


class EntityRelation(Reply):
    """A relation of it: ``source`` and ``target`` are names; ``evidence`` are some of the places that say so."""

    id: str
    source_id: str
    source: str
    target_id: str
    target: str
    type: str
    weight: float
    count: int
    evidence: list[EntityMention]


class EntityReply(Reply):
    """``GET /entities/{id}``: mentions by path, relations heaviest first; ``next`` goes on with the mentions."""

    entity: EntityFull
    mentions: list[EntityMention]
    relationships: list[EntityRelation]
    next: str | None


async def named(
    q: Annotated[str | None, Query(max_length=200, description="a name, or a part of one")] = None,
    type: str | None = None,
) -> tuple[str | None, str | None]:
    """Name and type of ``GET /entities``."""
    return q, type


Named = Annotated[tuple[str | None, str | None], Depends(named)]


def add_entity_routes(app: FastAPI, kit: Kit) -> None:
    """Add the routes."""
    browser = EntityBrowser(kit.services, kit.browser)

    @app.get("/entities", response_model=EntitiesReply, responses=ERRORS)
    async def entities(request: Request, view: Seen, paged: Paged, asked: Named) -> Response:
        """Entities of the notes that may be seen, most mentioned first; with ``q`` those of such a name."""
        q, kind = asked
        return await kit.reply(request, lambda: browser.entities(q, kind, view, paged.limit, paged.cursor))

    @app.get("/entities/{id:path}", response_model=EntityReply, responses=ERRORS)
    async def entity(request: Request, id: str, view: Seen, paged: Paged) -> Response:
        """One entity, by id or by its name: where it is mentioned and what it is related to."""
        wanted = ref_of(request, "/entities/")
        return await kit.reply(request, lambda: browser.entity(wanted, view, paged.limit, paged.cursor))
