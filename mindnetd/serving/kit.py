"""What the routes share: the services, the browsers, the worker pools, and how a reply is made."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any
from urllib.parse import unquote

from fastapi import Depends, Query, Request, Response
from starlette.convertors import PathConvertor, register_url_convertor

from mindnetd.deadline import Deadline
from mindnetd.serving.browse import Browser
from mindnetd.serving.browse_graph import GraphBrowser
from mindnetd.serving.browse_related import RelatedBrowser
from mindnetd.serving.redact import Redactor
from mindnetd.serving.refs import no_note
from mindnetd.serving.services import Services
from mindnetd.serving.view import View, view_of
from mindnetd.serving.wire import ErrorReply, encode
from mindnetd.serving.workers import Workers

JSON = "application/json"
QUICK_THREADS = 2
QUICK_LIMIT = 1024
ERRORS: dict[int | str, dict[str, Any]] = {
    code: {"model": ErrorReply, "description": what}
    for code, what in (
        (400, "a value that cannot be used"),
        (403, "above max_query_visibility"),
        (404, "not found"),
        (409, "busy or ambiguous"),
        (413, "body over 1 MiB"),
        (422, "not the schema"),
        (429, "too many requests wait"),
        (503, "starting, degraded or too late"),
    )
}


class _Ref(PathConvertor):
    """What stands for a note in a route, ``{ref:ref}``: anything, line breaks too, which a file's name may hold."""

    regex = "(?s:.*)"


register_url_convertor("ref", _Ref())

Levels = Annotated[list[str], Query(default_factory=list, description="levels to show; repeated, or with commas")]
Flags = Annotated[list[str], Query(default_factory=list, description="flags that no longer hide a note")]


@dataclass(frozen=True, slots=True)
class Page:
    """One page of a list: at most ``limit`` items from ``cursor`` (a ``next`` of ours) on."""

    limit: int
    cursor: str | None


@dataclass(frozen=True)
class Kit:
    """Made once by ``build_app``."""

    services: Services
    browser: Browser
    graph: GraphBrowser
    related: RelatedBrowser
    workers: Workers
    quick: Workers
    """For calls that must answer while everything else waits: status, metrics, jobs."""

    async def reply(self, request: Request, work: Callable[[], Any], status: int = 200) -> Response:
        """The JSON of what ``work`` returns, done by a worker under the deadline."""
        return await self.reply_until(request, lambda _: work(), status)

    async def reply_until(self, request: Request, work: Callable[[Deadline], Any], status: int = 200) -> Response:
        """The same for work that watches its deadline."""
        seconds = self.services.settings.query_deadline_s
        body = await self.workers.run(request, lambda deadline: encode(work(deadline)), seconds)
        return Response(body, status, None, JSON)

    async def quickly(self, request: Request, work: Callable[[], Any], status: int = 200) -> Response:
        """The same for a call that must be answered under load too."""
        seconds = self.services.settings.query_deadline_s
        body = await self.quick.run(request, lambda _: encode(work()), seconds)
        return Response(body, status, None, JSON)

    def redactor(self, view: View) -> Redactor:
        """What logs may tell ``view``; ask after the log was read, so that what has just been hidden is not told."""
        return Redactor(self.browser.snapshot().notes, view)

    def view(self, visibility: list[str], include_flags: list[str]) -> View:
        """The view that was asked for. Raises BadRequest, Denied."""
        settings = self.services.settings
        return view_of(
            listed(visibility),
            listed(include_flags),
            highest=settings.max_visibility,
            hidden_flags=settings.hidden_flags,
        )


async def seen(request: Request, visibility: Levels, include_flags: Flags) -> View:
    """What a GET may see. Raises BadRequest, Denied."""
    kit: Kit = request.app.state.kit
    return kit.view(visibility, include_flags)


async def page(limit: Annotated[int, Query(ge=1, le=500)] = 100, cursor: str | None = None) -> Page:
    """The page that a GET asks for."""
    return Page(limit, cursor)


Seen = Annotated[View, Depends(seen)]
Paged = Annotated[Page, Depends(page)]


def make_kit(services: Services) -> Kit:
    """The kit of one server."""
    browser = Browser(services)
    graph = GraphBrowser(services, browser)
    settings = services.settings
    return Kit(
        services=services,
        browser=browser,
        graph=graph,
        related=RelatedBrowser(services, browser, graph),
        workers=Workers(settings.running + settings.waiting),
        quick=Workers(QUICK_LIMIT, QUICK_THREADS),
    )


def listed(values: list[str]) -> list[str]:
    """Repeated parameters and comma lists, as one list."""
    return [part.strip() for value in values for part in value.split(",") if part.strip()]


def raw_tail(request: Request, prefix: str) -> str:
    """What follows ``prefix`` in the path as the client wrote it: ``%2F`` and ``/`` are still different."""
    raw: bytes = request.scope["raw_path"]
    return raw.decode("ascii", "replace").partition("?")[0].removeprefix(prefix)


def ref_of(request: Request, prefix: str, suffix: str = "") -> str:
    """The decoded reference in the path, between ``prefix`` and ``suffix``."""
    # bytes that are no UTF-8 become `\xNN`, as in the paths of notes
    return unquote(raw_tail(request, prefix).removesuffix(suffix), errors="backslashreplace")


def wanted_ref(request: Request, prefix: str, suffix: str = "") -> str:
    """The reference in the path. Raises NotFound for an empty one."""
    ref = ref_of(request, prefix, suffix)
    if not ref:
        raise no_note(ref)
    return ref
