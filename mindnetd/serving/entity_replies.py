"""Entities as a view of the notes sees them: the list, and one with its mentions and relations (law 9).

Everything is asked of an `EntityView` of the allowed notes, so names, counts, types and relations are those that an
index without the hidden notes' mentions would give. Not for: communities, questions (``modes``).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from mindnetd.core.identity import fold
from mindnetd.core.records import NoteMeta
from mindnetd.core.results import ChunkText
from mindnetd.errors import Conflict, NotFound
from mindnetd.lanes.entities import EntityView
from mindnetd.lanes.snapshot import HotSnapshot
from mindnetd.serving.browse import Browser, offset_of, paged
from mindnetd.serving.services import Services
from mindnetd.serving.view import View
from mindnetd.sight import entity_of, relation_of
from mindnetd.store import read

Json = dict[str, Any]
LINE = 200
"""Characters of a mention's line that are shown."""
EVIDENCE = 3
"""Places that are named for a relation."""
MANY = 20
"""Candidates that an error names at most."""
NO_GRAPH = "there are no entities yet: the corpus-wide stage has not run (`mindnetd index`, or its schedule)"


class EntityBrowser:
    """Answers ``GET /entities`` and ``GET /entities/{id}``; any thread."""

    def __init__(self, services: Services, browser: Browser) -> None:
        self._services, self._browser = services, browser

    def seen(self, view: View) -> tuple[EntityView, HotSnapshot]:
        """The graph for a request, and the notes; these are the newer, so that what was just hidden is not shown."""
        graph = self._services.entities.of(view.levels)
        snapshot = self._browser.snapshot()
        allowed = [meta.key for meta in snapshot.notes if meta is not None and view.shows(meta)]
        return graph.visible(allowed), snapshot

    # ------------------------------------------------------------------------------------------------------ the list

    def entities(self, q: str | None, type_: str | None, view: View, limit: int, cursor: str | None) -> Json:
        """Those that a name like `q` means, best first; without `q` the most mentioned. Raises BadRequest."""
        graph, snapshot = self.seen(view)
        offset_of(cursor)
        found = list(_like(graph, fold(q))) if q and q.strip() else graph.entities.tolist()
        if type_:
            found = [n for n in found if fold(graph.type(n)) == fold(type_)]
        page = paged("entities", found, limit, cursor)
        metas = self._metas(graph, page["entities"], snapshot)
        return {
            "entities": [_line(graph, n, metas) for n in page["entities"]],
            "count": len(found),
            "next": page["next"],
            "built_at": graph.snapshot.built_at,
        }

    # ----------------------------------------------------------------------------------------------------------- one

    def entity(self, ref: str, view: View, limit: int, cursor: str | None) -> Json:
        """One, by id or by a name that is only its own. Raises NotFound, Conflict (``ambiguous``), BadRequest."""
        graph, snapshot = self.seen(view)
        number = _one(graph, ref)
        owners = self._owners(graph.chunks(number).tolist(), snapshot, view)
        page = paged("mentions", sorted(owners, key=lambda key: (owners[key].path, key)), limit, cursor)
        near = graph.neighbours(number)
        support = [graph.relation_chunks(one.relation).tolist()[:EVIDENCE] for one in near]
        owners |= self._owners([key for keys in support for key in keys], snapshot, view)
        texts = read.texts(self._services.db, [*page["mentions"], *(key for keys in support for key in keys)])
        names = [fold(name) for name in (graph.names[number], *graph.aliases(number))]
        mentions = [mention_of(texts[key], owners[key], names) for key in page["mentions"] if key in texts]
        relationships = []
        for one, keys in zip(near, support, strict=True):
            ends = [fold(graph.names[one.entity])]
            told = [mention_of(texts[key], owners[key], ends) for key in keys if key in texts and key in owners]
            relationships.append({**relation_of(graph, one.relation), "evidence": told})
        return {
            "entity": {
                **_line(graph, number, self._metas(graph, [number], snapshot)),
                "description": graph.description(number),
            },
            "mentions": sorted(mentions, key=lambda item: (item["path"], item["line"], item["chunk"])),
            "relationships": relationships,
            "next": page["next"],
        }

    def _owners(self, keys: list[int], snapshot: HotSnapshot, view: View) -> dict[int, NoteMeta]:
        """Chunk key -> its note, of chunks that are still there and whose note may be seen."""
        docs = np.flatnonzero(np.isin(snapshot.doc_key, np.array(keys, dtype=np.int64)) & snapshot.alive)
        found = {}
        for doc in docs.tolist():
            meta = snapshot.notes[int(snapshot.doc_note[doc])]
            if meta is not None and view.shows(meta):
                found[int(snapshot.doc_key[doc])] = meta
        return found

    def _metas(self, graph: EntityView, numbers: list[int], snapshot: HotSnapshot) -> dict[str, NoteMeta]:
        ids = {note for n in numbers if (note := graph.is_note(n)) is not None}
        return self._browser.refs.by_id(ids, snapshot.notes)


def _line(graph: EntityView, number: int, metas: dict[str, NoteMeta]) -> Json:
    """An entity in a list; ``note`` is the id of the note that it is, ``path`` that note's."""
    meta = metas.get(graph.is_note(number) or "")
    return {
        **entity_of(graph, number),
        "aliases": list(graph.aliases(number)),
        "note": meta.id if meta else None,
        "path": meta.path if meta else None,
    }


def mention_of(chunk: ChunkText, meta: NoteMeta, names: list[str]) -> Json:
    """Where a chunk says one of `names` (folded): the line and its text, else those that the chunk begins with."""
    lines = chunk.text.split("\n")
    at = next((n for n, line in enumerate(lines) if any(name and name in fold(line) for name in names)), None)
    if at is None:
        at = next((n for n, line in enumerate(lines) if line.strip()), 0)
    return {
        "chunk": chunk.id,
        "path": meta.path,
        "title": meta.title,
        "section": list(chunk.section),
        "line": chunk.start_line + at,
        "text": " ".join(lines[at].split())[:LINE],
    }


def _names(graph: EntityView, number: int) -> tuple[str, ...]:
    return (graph.names[number], *graph.aliases(number))


def _like(graph: EntityView, wanted: str) -> Iterator[int]:
    """Visible entities with a shown name that holds `wanted` (folded): whole names, then beginnings, then the rest."""
    best: dict[int, int] = {}
    for key, numbers in graph.snapshot.aliases.items():
        if wanted in key:
            for n in numbers:
                if graph.seen[n] and any(fold(name) == key for name in _names(graph, n)):
                    best[n] = min(best.get(n, 9), _nearness(key, wanted))
    yield from sorted(best, key=lambda n: (best[n], -int(graph.mention_counts[n]), graph.names[n], n))


def _nearness(key: str, wanted: str) -> int:
    return 0 if key == wanted else 1 if key.startswith(wanted) else 2 if f" {wanted}" in key else 3


def _one(graph: EntityView, ref: str) -> int:
    number = graph.snapshot.numbers.get(ref.strip().lower())
    if number is not None and graph.seen[number]:
        return number
    wanted = fold(ref)
    found = (
        [n for n in _like(graph, wanted) if any(fold(name) == wanted for name in _names(graph, n))] if wanted else []
    )
    if not found:
        told = "" if graph.seen.any() else f"; {NO_GRAPH}"
        raise NotFound(f"no entity has the id or name {ref!r}{told}", code="entity_not_found")
    if len(found) > 1:
        candidates = [{**entity_of(graph, n), "title": graph.names[n], "path": graph.type(n)} for n in found[:MANY]]
        raise Conflict(
            f"{ref!r} means {len(found)} entities; use an id",
            code="ambiguous",
            detail={"candidates": candidates, "count": len(found)},
        )
    return found[0]
