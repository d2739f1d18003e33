"""``GET /neighbors``, ``/subgraph``, ``/path``, ``/orphans`` and the counts of ``/stats``.

What may be seen is decided in ``shown_graph``, how it is walked in ``core.graph``.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from mindnetd.core import graph
from mindnetd.core.records import NoteMeta
from mindnetd.core.shared_tags import TagTable
from mindnetd.errors import BadRequest
from mindnetd.serving.browse import CANVAS, Browser, paged
from mindnetd.serving.masked import MaskBook
from mindnetd.serving.missing import missing_key
from mindnetd.serving.refs import Notes
from mindnetd.serving.services import Services
from mindnetd.serving.shown_graph import (
    BACKLINK,
    UNRESOLVED,
    Direction,
    GraphParts,
    ShownGraph,
    edge_out,
    file_node,
    note_node,
)
from mindnetd.serving.view import View
from mindnetd.store import read, read_counts, read_ties
from mindnetd.store.records import StoredCanvas

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Walk:
    """What to walk: ``depth`` hops along ``direction``, only ``relations`` (all if empty), at most ``limit`` edges."""

    depth: int = 1
    direction: Direction = "both"
    relations: tuple[str, ...] = ()
    limit: int = 500
    decay: float = graph.DECAY
    """What a hop leaves of the score."""


class GraphBrowser:
    """Answers the graph calls; any thread."""

    def __init__(self, services: Services, browser: Browser) -> None:
        self._services = services
        self._browser = browser
        self._parts = GraphParts(services, browser.refs, MaskBook(services))
        self._tags_lock = threading.Lock()
        self._tags: tuple[Notes, TagTable] = ((), TagTable(()))

    def shown(self, view: View, *, with_tags: bool = False) -> ShownGraph:
        """The graph for one request, with or without the pairs of notes that share a rare tag."""
        return ShownGraph(self._parts, view, self._table() if with_tags else None)

    def _table(self) -> TagTable:
        """The notes by tag, made anew when a note has changed."""
        notes = self._browser.snapshot().notes
        with self._tags_lock:
            if self._tags[0] is not notes:
                self._tags = (notes, TagTable(notes))
            return self._tags[1]

    # ------------------------------------------------------------------------------------------------- around a note

    def neighbours(self, ref: str, walk: Walk, view: View) -> Json:
        """One hop in the asked direction, heaviest first. Raises NotFound, Conflict (``ambiguous``)."""
        found = self._browser.find(ref, view)
        shown = self.shown(view, with_tags=True)
        kept = tuple(relation for relation in walk.relations if relation not in (BACKLINK, UNRESOLVED))
        edges = shown.around([found.id], walk.direction, kept) if kept or not walk.relations else []
        if UNRESOLVED in walk.relations:
            edges += [edge for edge in shown.around([found.id], walk.direction) if edge.dst_kind == UNRESOLVED]
        if BACKLINK in walk.relations:
            edges += shown.backlinks(found.id, walk.direction)
        ties = {edge.id: shown.tie(edge) for edge in edges}
        order = sorted(
            ties.values(),
            key=lambda tie: (-abs(tie.weight), tie.relation, _name(shown, tie.other(found.id)), tie.id),
        )
        ball = graph.Ball({found.id: 0}, {}, shown.cut or len(order) > walk.limit)
        for tie in order[: walk.limit]:
            ball.ties[tie.id] = tie
            ball.hops.setdefault(tie.other(found.id), 1)
        return self._reply(found, ball, shown, walk)

    def around(self, ref: str, walk: Walk, view: View) -> Json:
        """The graph around a note or canvas: nearest first, then heaviest. Raises NotFound, Conflict (``ambiguous``).

        A URL or attachment is no way from one note to another: thousands may have it and nothing else in common.
        """
        found = self._browser.find(ref, view)
        shown = self.shown(view, with_tags=True)
        relations = tuple("references" if relation == BACKLINK else relation for relation in walk.relations)
        ball = graph.collect(
            found.id,
            shown.ties(relations),
            walk.depth,
            walk.limit,
            ends=lambda node: _kind(shown, node) in ("url", "attachment"),
            name=lambda node: _name(shown, node),
        )
        ball.truncated = ball.truncated or shown.cut
        return self._reply(found, ball, shown, walk)

    def _reply(self, found: NoteMeta | StoredCanvas, ball: graph.Ball, shown: ShownGraph, walk: Walk) -> Json:
        reached = graph.best_ways(found.id, ball.ties.values(), walk.depth, walk.decay)
        nodes = []
        for node, hops in ball.hops.items():
            reach = reached.get(node)
            told = _start(found) if node == found.id else shown.nodes[node]
            score = 1.0 if node == found.id else reach.score if reach else 0.0
            way = [tie.id for tie in reach.way] if reach else []
            nodes.append({**told, "hops": hops, "score": round(score, 6), "way": way})
        edges = [edge_out(shown.edges[tie]) for tie in ball.ties]
        return {"nodes": nodes, "edges": edges, "truncated": ball.truncated}

    # ------------------------------------------------------------------------------------------------------ two notes

    def path(self, ends: tuple[str, str], relations: Sequence[str], view: View) -> Json:
        """A shortest way between two notes over notes and canvases, with every edge. Raises NotFound, Conflict."""
        if not all(ends):
            raise BadRequest("path: give both `from` and `to`, each an id, path, title or alias")
        start, goal = (self._browser.find(ref, view) for ref in ends)
        shown = self.shown(view)
        way = graph.shortest_way(
            start.id,
            goal.id,
            shown.ties(relations),
            through=lambda node: _kind(shown, node) in ("note", "canvas"),
            name=lambda node: _name(shown, node),
        )
        nodes, at = [_start(start)], start.id
        for tie in way.ties or ():
            at = tie.other(at)
            nodes.append(shown.nodes[at])
        return {
            "found": way.ties is not None,
            "from": _start(start),
            "to": _start(goal),
            "hops": len(way.ties) if way.ties is not None else None,
            "nodes": nodes if way.ties is not None else [],
            "edges": [edge_out(shown.edges[tie.id]) for tie in way.ties or ()],
            "truncated": way.cut or shown.cut,
        }

    # ------------------------------------------------------------------------------------------------ the whole graph

    def orphans(self, view: View, limit: int, cursor: str | None) -> Json:
        """``GET /orphans``: shown notes without an edge from or to another shown note, by path."""
        snapshot = self._browser.snapshot()
        linked = read_ties.linked_notes(self._services.db, hidden_ids(snapshot.notes, view))
        shown = [meta for meta in self._browser.notes_by_path() if view.shows(meta)]
        there = {meta.id for meta in shown}
        for edge in self._parts.masks.of(snapshot, view).edges:  # some mean another note than the hidden one
            if edge.src_id != edge.dst_id and {edge.src_id, edge.dst_id} <= there:
                linked |= {edge.src_id, edge.dst_id}
        alone = [meta for meta in shown if meta.id not in linked]
        rows = [self._browser.line(meta) for meta in alone]
        return {**paged("orphans", rows, limit, cursor), "count": len(rows)}

    def stats(self, view: View) -> Json:
        """``GET /stats``: counts of what ``view`` shows."""
        services, snapshot = self._services, self._browser.snapshot()
        scope = snapshot.scope(sorted(view.levels), sorted(view.hiding))
        hidden = hidden_ids(snapshot.notes, view)
        masks = self._parts.masks.of(snapshot, view)
        counts = dict(read.edge_counts(services.db, hidden, sorted(masks.sources)).by_relation)
        for edge in masks.edges:
            counts[edge.relation, edge.source] = counts.get((edge.relation, edge.source), 0) + 1
        missing = {missing_key(name) for name in read_ties.missing_names(services.db, [*hidden, *masks.sources])}
        missing |= {missing_key(edge.dst_label) for edge in masks.edges if edge.dst_kind == UNRESOLVED}
        unseen = [meta.key for meta in snapshot.notes if meta is not None and not view.shows(meta)]
        stored = read_counts.vectors_stored(services.db, services.fingerprint, services.dim, unseen)
        made, reused = read.embeddings_total(services.db)
        edges: dict[str, dict[str, int]] = {}
        for (relation, source), count in sorted(counts.items()):
            edges.setdefault(relation, {"declared": 0, "rule": 0})[source] = count
        owners = [
            int(slot)
            for key, slot in zip(snapshot.doc_key[scope.docs], snapshot.doc_note[scope.docs], strict=True)
            if int(key) not in snapshot.slot_of  # a note without text is a document, but no chunk
        ]
        structural = {"belongs_to": len(owners), "next": len(owners) - len(set(owners))}
        backlinks = read.backlink_count(services.db, hidden, sorted(masks.sources))
        backlinks += sum(edge.relation == "references" and edge.dst_kind == "note" for edge in masks.edges)
        structural |= {"prev": structural["next"], BACKLINK: backlinks}
        for relation, count in structural.items():
            edges.setdefault(relation, {"declared": 0, "rule": 0})["structural"] = count
        return {
            "documents": sum(meta is not None and view.shows(meta) for meta in snapshot.notes),
            "chunks": len(owners),
            "passages": scope.ready + scope.pending,
            "unresolved": len(missing),
            "edges": edges,
            "shared_tags": self._table().count(view.shows, services.searcher.settings.shared_tag_notes),
            "embeddings": {"stored": stored, "made_total": made, "reused_total": reused},
            "llm": services.llm_calls(),
            "database_bytes": services.db.size_bytes(),
        }


def hidden_ids(notes: Notes, view: View) -> list[str]:
    """The ids of the notes that ``view`` does not show."""
    return [meta.id for meta in notes if meta is not None and not view.shows(meta)]


def _start(found: NoteMeta | StoredCanvas) -> Json:
    return note_node(found) if isinstance(found, NoteMeta) else file_node(found.id, found.path)


def _name(shown: ShownGraph, node: str) -> str:
    """What equal ways and neighbours are ordered by: notes first, by path."""
    told = shown.nodes.get(node)
    if told is None:
        return node
    return f"{int(told['kind'] != 'note')}{told['path'] or told['label']}"


def _kind(shown: ShownGraph, node: str) -> str:
    """The kind of a node, with canvases and attachments told apart."""
    told = shown.nodes[node]
    if told["kind"] != "file":
        return str(told["kind"])
    return "canvas" if told["path"].lower().endswith(CANVAS) else "attachment"
