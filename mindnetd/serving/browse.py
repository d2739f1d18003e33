"""Reading what is in the index: notes, their links and problems. Everything shown passes a ``View`` first.

Metadata comes from the resident snapshot, texts and links from the database; the snapshot is taken after the database
was read, so that a note that has just been hidden is not shown by its older state.
"""

from __future__ import annotations

import base64
import binascii
import json
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any

from mindnetd.core.normal import normalize
from mindnetd.core.records import Diagnostic, NoteMeta, ResolvedLink
from mindnetd.errors import BadRequest
from mindnetd.lanes.snapshot import HotSnapshot
from mindnetd.serving.clashes import id_clashes, trouble_shown
from mindnetd.serving.missing import Masks, missing_notes
from mindnetd.serving.refs import Notes, RefIndex, file_name, fold, no_note
from mindnetd.serving.services import Services
from mindnetd.serving.view import View
from mindnetd.serving.waiting import llm_diagnostics
from mindnetd.store import read
from mindnetd.store.records import Backlink, NoteDetail, StoredCanvas, StoredChunk

Json = dict[str, Any]
CANVAS = ".canvas"
WORST_FIRST = (
    "encoding",
    "yaml_syntax",
    "canvas_invalid_json",
    "yaml_not_mapping",
    "fm_unterminated",
    "conflict_copy",
    "name_twin",
    "id_duplicate",
    "yaml_duplicate_key",
    "fm_not_at_start",
    "link_unresolved",
    "link_ambiguous",
)
"""Diagnostic codes that come before the others, in this order."""


@dataclass(frozen=True, slots=True)
class NoteQuery:
    """``GET /notes``: path prefix, type and tag (parents match children), one page."""

    prefix: str | None = None
    type: str | None = None
    tag: str | None = None
    limit: int = 100
    cursor: str | None = None


class Browser:
    """Answers the GET calls about notes; any thread."""

    def __init__(self, services: Services) -> None:
        self._services = services
        self.refs = RefIndex()
        self._sorted_lock = threading.Lock()
        self._sorted: tuple[Notes, list[NoteMeta]] = ((), [])

    # ------------------------------------------------------------------------------------------------------ finding

    def snapshot(self) -> HotSnapshot:
        """The newest resident state."""
        return self._services.hot.snapshot()

    def find(self, ref: str, view: View) -> NoteMeta | StoredCanvas:
        """The note or canvas that a reference means, as far as ``view`` shows it.

        Raises NotFound, Conflict (``ambiguous``).
        """
        notes = self.snapshot().notes
        found = self.refs.matches(ref, notes, view.shows)
        if not found and view.canvases:
            canvas = self._canvas(ref)
            if canvas is not None:
                return canvas
        return self.refs.one(ref, found)

    def _canvas(self, ref: str) -> StoredCanvas | None:
        wanted = fold(ref)
        canvases = read.load_canvases(self._services.db)
        by_path = [c for c in canvases if wanted in (c.id, fold(c.path))]
        found = by_path or [
            c for c in canvases if fold(file_name(c.path)).removesuffix(CANVAS) == wanted.removesuffix(CANVAS)
        ]
        return found[0] if len(found) == 1 else None

    def paths_of(self, refs: Sequence[str]) -> list[str]:
        """For admin calls, which act on all notes: each reference as the note's path, anything else as it is."""
        notes = self.snapshot().notes
        paths = []
        for ref in refs:
            found = self.refs.matches(ref, notes, lambda _: True)
            paths.append(self.refs.one(ref, found).path if found else ref)
        return paths

    # ------------------------------------------------------------------------------------------------------ the list

    def notes(self, query: NoteQuery, view: View) -> Json:
        """``GET /notes``. Raises BadRequest for a cursor that is none."""
        after = _cursor_path(query.cursor)
        prefix = normalize("NFC", query.prefix or "")
        page: list[NoteMeta] = []
        for meta in self.notes_by_path():
            if after is not None and meta.path <= after:
                continue
            if view.shows(meta) and _wanted(meta, query, prefix):
                page.append(meta)
                if len(page) > query.limit:
                    break
        more = len(page) > query.limit
        page = page[: query.limit]
        return {"notes": [_line(meta) for meta in page], "next": _path_cursor(page[-1].path) if more else None}

    def notes_by_path(self) -> list[NoteMeta]:
        """Every note, by path."""
        notes = self.snapshot().notes
        with self._sorted_lock:
            if self._sorted[0] is not notes:
                self._sorted = (notes, sorted((meta for meta in notes if meta is not None), key=attrgetter("path")))
            return self._sorted[1]

    def line(self, meta: NoteMeta) -> Json:
        """A note as a list shows it."""
        return _line(meta)

    # -------------------------------------------------------------------------------------------------------- a note

    def note(self, ref: str, view: View) -> Json:
        """``GET /notes/{ref}``."""
        found = self.find(ref, view)
        if isinstance(found, StoredCanvas):
            return self._canvas_detail(found, view)
        services = self._services
        detail = read.note_detail(services.db, found.key, services.fingerprint, services.dim)
        if not view.shows(detail.meta):
            raise no_note(ref)
        return self._detail(detail, view)

    def _detail(self, detail: NoteDetail, view: View) -> Json:
        snapshot = self.snapshot()
        masks = Masks(self._services, snapshot, view)
        problems = masks.diagnostics(detail.diagnostics, detail.links, detail.meta.path)
        backlinks = list(detail.backlinks)
        if more := masks.backlinks(detail.meta):
            backlinks = sorted([*backlinks, *more], key=lambda one: (one.path, one.line or 0))
        clashes = id_clashes(self._services.db, self.refs, snapshot, view, {detail.meta.key})
        problems = [*problems, *(one.diagnostic for one in clashes)]
        return {
            "note": _full(detail.meta),
            "links": _links(masks.links(detail.links, detail.meta.path)),
            "backlinks": self._backlinks(backlinks, snapshot, view),
            "chunks": [_chunk(chunk) for chunk in detail.chunks],
            "passages": detail.passages,
            "embedded": detail.embedded,
            "diagnostics": [_diagnostic(one) for one in problems],
        }

    def _canvas_detail(self, canvas: StoredCanvas, view: View) -> Json:
        links, diagnostics = read.canvas_links(self._services.db, canvas.key)
        snapshot = self.snapshot()
        masks = Masks(self._services, snapshot, view)
        backlinks = read.backlinks(self._services.db, canvas.path)
        return {
            "note": _canvas_note(canvas),
            "links": _links(masks.links(links, canvas.path)),
            "backlinks": self._backlinks(backlinks, snapshot, view),
            "chunks": [],
            "passages": 0,
            "embedded": 0,
            "diagnostics": [_diagnostic(one) for one in masks.diagnostics(diagnostics, links, canvas.path)],
        }

    def _backlinks(self, backlinks: Sequence[Backlink], snapshot: HotSnapshot, view: View) -> list[Json]:
        return [
            {"path": one.path, "line": one.line, "relation": one.relation}
            for one in backlinks
            if owner_shown(one.owner, one.path, snapshot, view)
        ]

    # --------------------------------------------------------------------------------------------------- other lists

    def unresolved(self, view: View, limit: int, cursor: str | None) -> Json:
        """``GET /unresolved``: targets without a file, most wanted first."""
        snapshot = self.snapshot()
        waiting = [
            one
            for one in Masks(self._services, snapshot, view).unresolved()
            if not one.link.link.in_comment and owner_shown(one.owner, one.path, snapshot, view)
        ]
        ordered = missing_notes(self._services.id_prefix, waiting)
        return paged("unresolved", ordered, limit, cursor)

    def diagnostics(self, view: View, ref: str | None, limit: int, cursor: str | None) -> Json:
        """``GET /diagnostics``, worst first; of one note where ``ref`` is given."""
        keys = None if ref is None else [self.find(ref, view).key]
        stored = read.diagnostics(self._services.db, keys)
        snapshot = self.snapshot()
        found = Masks(self._services, snapshot, view).all_diagnostics(stored, keys)
        found += llm_diagnostics(self._services.llm_pending(), snapshot, keys)
        found += id_clashes(self._services.db, self.refs, snapshot, view, keys)
        shown = [
            {"path": one.path, **_diagnostic(one.diagnostic)}
            for one in found
            if (
                owner_shown(one.owner, one.path, snapshot, view)
                if one.owner is not None
                else trouble_shown(one.path, self.refs, snapshot, view)
            )
        ]
        shown.sort(key=lambda item: (_rank(item["code"]), item["path"], item["line"] or 0))
        return paged("diagnostics", shown, limit, cursor)


def owner_shown(key: int, path: str, snapshot: HotSnapshot, view: View) -> bool:
    """May the note or canvas ``key`` be named? A note that the snapshot does not know yet may not."""
    meta = snapshot.note(key)
    return view.shows(meta) if meta is not None else view.canvases and path.lower().endswith(CANVAS)


def paged(name: str, items: Sequence[Any], limit: int, cursor: str | None) -> Json:
    """One page of a list that is made anew for each call; the cursor is the place to go on from."""
    start = offset_of(cursor)
    end = start + limit
    return {name: list(items[start:end]), "next": str(end) if end < len(items) else None}


def offset_of(cursor: str | None) -> int:
    """The place that a cursor of ``paged`` stands for. Raises BadRequest."""
    if cursor is None:
        return 0
    if not cursor.isascii() or not cursor.isdigit() or len(cursor) > 9:
        raise BadRequest(f"cursor: {cursor!r} is none of ours; take it from `next`")
    return int(cursor)


def _path_cursor(path: str) -> str:
    return base64.urlsafe_b64encode(path.encode("utf-8", "surrogatepass")).decode()


def _cursor_path(cursor: str | None) -> str | None:
    if cursor is None:
        return None
    try:
        return base64.b64decode(cursor.encode("ascii"), b"-_", validate=True).decode("utf-8", "surrogatepass")
    except (binascii.Error, UnicodeError) as error:
        raise BadRequest(f"cursor: {cursor!r} is none of ours; take it from `next`") from error


def _wanted(meta: NoteMeta, query: NoteQuery, prefix: str) -> bool:
    if prefix and not normalize("NFC", meta.path).startswith(prefix):
        return False
    if query.type is not None and fold(meta.type or "") != fold(query.type):
        return False
    if query.tag is None:
        return True
    tag = fold(query.tag.lstrip("#").rstrip("/"))
    return any(have == tag or have.startswith(tag + "/") for have in map(fold, meta.tags))


def _rank(code: str) -> int:
    return WORST_FIRST.index(code) if code in WORST_FIRST else len(WORST_FIRST)


def _line(meta: NoteMeta) -> Json:
    return {
        "id": meta.id,
        "note_id": meta.note_id,
        "path": meta.path,
        "title": meta.title,
        "type": meta.type,
        "status": meta.status,
        "modified": meta.modified,
    }


def _full(meta: NoteMeta) -> Json:
    return {
        **_line(meta),
        "h1": meta.h1,
        "aliases": meta.aliases,
        "tags": meta.tags,
        "visibility": meta.visibility,
        "lang": meta.lang,
        "created": meta.created,
        "frontmatter": json.loads(meta.frontmatter_json or "{}"),
        "hashes": {"body": meta.body_hash, "frontmatter": meta.frontmatter_hash, "full": meta.full_hash},
        "hash_mode": meta.hash_mode,
        "stale": meta.stale,
        "flags": meta.flags,
    }


def _canvas_note(canvas: StoredCanvas) -> Json:
    """A canvas in the shape of a note: what a canvas cannot have is null or empty."""
    nothing: Mapping[str, Any] = dict.fromkeys(
        ("note_id", "h1", "status", "created", "modified", "hashes", "hash_mode")
    )
    name = file_name(canvas.path)
    return {
        **nothing,
        "id": canvas.id,
        "path": canvas.path,
        "title": name[: -len(CANVAS)],
        "type": "canvas",
        "aliases": [],
        "tags": [],
        "visibility": "internal",
        "lang": "und",
        "frontmatter": {},
        "stale": False,
        "flags": [],
    }


def _links(links: Sequence[ResolvedLink]) -> list[Json]:
    return [_link(one) for one in links if one.link.kind not in ("url", "plain")]


def _link(one: ResolvedLink) -> Json:
    link = one.link
    return {
        "kind": link.kind,
        "raw": link.raw,
        "target": link.target,
        "heading": link.heading,
        "block": link.block,
        "display": link.display,
        "resolved": one.resolved,
        "ambiguous": one.ambiguous,
        "in_comment": link.in_comment,
        "property": link.property,
        "line": link.line,
        "relation": link.relation,
    }


def _chunk(chunk: StoredChunk) -> Json:
    text = chunk.text
    return {
        "id": text.id,
        "idx": text.idx,
        "section": text.section,
        "start_line": text.start_line,
        "end_line": text.end_line,
        "tokens": chunk.tokens,
        "text": text.text,
        "window": text.overlap_left + text.text + text.overlap_right,
        "profile": chunk.profile,
        "start": chunk.start,
        "end": chunk.end,
    }


def _diagnostic(one: Diagnostic) -> Json:
    return {"code": one.code, "message": one.message, "line": one.line}
