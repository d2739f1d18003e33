"""``GET /notes/{ref}/suggestions`` and what it replies."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import FastAPI, Query, Request, Response

from mindnetd.serving.kit import ERRORS, Kit, Seen, raw_tail, wanted_ref
from mindnetd.serving.suggestions import SuggestBrowser
from mindnetd.serving.wire import Reply
from mindnetd.serving.wire_replies import NoteLine

Most = Annotated[int, Query(ge=1, le=500, description="links and tags at most, each")]


class SuggestedLink(Reply):
    """A link that may be missing. ``note`` is the other note; ``text``, ``line`` and ``evidence`` say where.

    mention: this note names it; mentioned_by: it names this note (the line is its own); near: `text` and `evidence` are
    the closest passages of this note and of the other; unresolved: `text` is the link that leads nowhere.
    ``candidates`` are the paths of all notes with that name, where there are several.
    """

    kind: Literal["mention", "mentioned_by", "near", "unresolved"]
    note: NoteLine
    text: str
    line: int | None
    evidence: str
    confidence: float
    reason: str
    candidates: list[str]


class Ground(Reply):
    """Who has the value, or the line of the text that names it."""

    why: str
    path: str | None = None
    line: int | None = None


class SuggestedTag(Reply):
    """A tag that the note lacks."""

    tag: str
    confidence: float
    evidence: list[Ground]


class SuggestedValue(Reply):
    """A type or status for a note that has none."""

    value: str
    confidence: float
    evidence: list[Ground]


class SuggestionsReply(Reply):
    """``GET /notes/{ref}/suggestions``, surest first."""

    links: list[SuggestedLink]
    tags: list[SuggestedTag]
    type: SuggestedValue | None
    status: SuggestedValue | None
    warnings: list[str]


def add_suggest_routes(app: FastAPI, kit: Kit) -> None:
    """Add the route; before that of notes, whose reference takes any path."""
    browser = SuggestBrowser(kit.services, kit.browser, kit.graph)

    @app.get("/notes/{ref:ref}/suggestions", response_model=SuggestionsReply, responses=ERRORS)
    async def suggestions(request: Request, ref: str, view: Seen, limit: Most = 20) -> Response:
        """Links, tags, type and status that the note may lack, with confidence and evidence."""
        if not raw_tail(request, "/notes/").endswith("/suggestions"):  # an encoded slash: `a%2Fsuggestions` is a note
            wanted = wanted_ref(request, "/notes/")
            return await kit.reply(request, lambda: kit.browser.note(wanted, view))
        wanted = wanted_ref(request, "/notes/", "/suggestions")
        return await kit.reply(request, lambda: browser.suggestions(wanted, view, limit))
