"""``GET /neighbors/{ref}`` and ``GET /subgraph/{ref}``: links walked in both directions, hidden ends left out.

An edge is shown only when both its ends are: a hidden note is in no node, no edge and no count, and no path leads
through it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from mindnetd.core.records import Edge, NoteMeta
from mindnetd.serving.browse import Browser
from mindnetd.serving.refs import Notes
from mindnetd.serving.services import Services
from mindnetd.serving.view import View
from mindnetd.store import read, read_counts
from mindnetd.store.records import StoredCanvas, StoredEdge

Direction = Literal["in", "out", "both"]
Json = dict[str, Any]
MOST_EDGES = 5000
"""Edges read for one step of a walk."""


@dataclass(frozen=True, slots=True)
class Walk:
    """What to walk: ``depth`` steps along ``direction``, only ``relations`` (all if empty), at most ``limit`` edges."""

    depth: int = 1
    direction: Direction = "both"
    relations: tuple[str, ...] = ()
    limit: int = 500


@dataclass(slots=True)
class _Found:
    """The graph while it grows; the first node is the one that was asked for."""

    nodes: dict[str, Json]
    edges: dict[str, Json] = field(default_factory=dict)
    truncated: bool = False


class GraphBrowser:
    """Answers the graph calls; any thread."""

    def __init__(self, services: Services, browser: Browser) -> None:
        self._services = services
        self._browser = browser

    def around(self, ref: str, walk: Walk, view: View) -> Json:
        """The graph around a note or canvas. Raises NotFound, Conflict (``ambiguous``)."""
        found = self._browser.find(ref, view)
        graph = _Found({found.id: _start(found)})
        frontier = [found.id]
        for _ in range(walk.depth):
            if not frontier or graph.truncated:
                break
            frontier = self._step(frontier, walk, view, graph)
        return {"nodes": list(graph.nodes.values()), "edges": list(graph.edges.values()), "truncated": graph.truncated}

    def _step(self, frontier: Sequence[str], walk: Walk, view: View, graph: _Found) -> list[str]:
        """Add the edges of the frontier; returns the new nodes to go on from."""
        stored = read.edges_around(self._services.db, frontier, walk.direction, walk.relations, MOST_EDGES + 1)
        graph.truncated = len(stored) > MOST_EDGES
        notes = self._browser.snapshot().notes
        ends = self._browser.refs.by_id({end for one in stored for end in (one.edge.src_id, one.edge.dst_id)}, notes)
        canvases = self._canvases(stored)
        new: list[str] = []
        for one in stored[:MOST_EDGES]:
            edge = one.edge
            if edge.id in graph.edges or not _shown(one, ends, view):
                continue
            if len(graph.edges) >= walk.limit:
                graph.truncated = True
                break
            graph.edges[edge.id] = _edge(edge)
            for node in (_source(edge, ends, canvases), _target(edge, ends)):
                if node["id"] not in graph.nodes:
                    graph.nodes[node["id"]] = node
                    if node["kind"] != "url":  # thousands of notes may cite it and have nothing else in common
                        new.append(node["id"])
        return new

    def _canvases(self, edges: Iterable[StoredEdge]) -> dict[str, StoredCanvas]:
        if all(one.edge.src_kind == "note" for one in edges):
            return {}
        return {canvas.id: canvas for canvas in read.load_canvases(self._services.db)}

    def stats(self, view: View) -> Json:
        """``GET /stats``: counts of what ``view`` shows."""
        services, snapshot = self._services, self._browser.snapshot()
        scope = snapshot.scope(sorted(view.levels), sorted(view.hiding))
        counts = read.edge_counts(services.db, hidden_ids(snapshot.notes, view))
        stored = read_counts.vectors_stored(services.db, services.fingerprint, services.dim)
        made, reused = read.embeddings_total(services.db)
        edges: dict[str, dict[str, int]] = {}
        for (relation, source), count in sorted(counts.by_relation.items()):
            edges.setdefault(relation, {"declared": 0, "rule": 0})[source] = count
        shown_keys = snapshot.doc_key[scope.docs]
        return {
            "documents": sum(meta is not None and view.shows(meta) for meta in snapshot.notes),
            "chunks": sum(int(key) not in snapshot.slot_of for key in shown_keys),
            "passages": scope.ready + scope.pending,
            "entities": 0,
            "relationships": 0,
            "communities": 0,
            "unresolved": counts.unresolved,
            "edges": edges,
            "embeddings": {"stored": stored, "made_total": made, "reused_total": reused},
            "database_bytes": services.db.size_bytes(),
        }


def hidden_ids(notes: Notes, view: View) -> list[str]:
    """The ids of the notes that ``view`` does not show."""
    return [meta.id for meta in notes if meta is not None and not view.shows(meta)]


def _shown(one: StoredEdge, ends: dict[str, NoteMeta], view: View) -> bool:
    if one.edge.src_kind == "file" and not view.canvases:
        return False
    metas = (ends.get(one.edge.src_id), ends.get(one.edge.dst_id))
    # the stored visibility covers an end that the snapshot does not know yet
    return one.visibility in view.levels and all(meta is None or view.shows(meta) for meta in metas)


def _start(found: NoteMeta | StoredCanvas) -> Json:
    return _note(found) if isinstance(found, NoteMeta) else _file(found.id, found.path)


def _note(meta: NoteMeta) -> Json:
    return {"id": meta.id, "kind": "note", "label": meta.title, "path": meta.path}


def _file(node_id: str, path: str) -> Json:
    return {"id": node_id, "kind": "file", "label": path.rpartition("/")[2], "path": path}


def _source(edge: Edge, ends: dict[str, NoteMeta], canvases: dict[str, StoredCanvas]) -> Json:
    meta = ends.get(edge.src_id)
    if meta is not None:
        return _note(meta)
    canvas = canvases.get(edge.src_id)
    if canvas is not None:
        return _file(canvas.id, canvas.path)
    return {"id": edge.src_id, "kind": edge.src_kind, "label": edge.src_id, "path": None}


def _target(edge: Edge, ends: dict[str, NoteMeta]) -> Json:
    meta = ends.get(edge.dst_id)
    if meta is not None:
        return _note(meta)
    if edge.dst_kind in ("note", "file"):  # a note without metadata is one that is excluded from the index: a file
        return _file(edge.dst_id, edge.dst_label)
    return {"id": edge.dst_id, "kind": edge.dst_kind, "label": edge.dst_label, "path": None}


def _edge(edge: Edge) -> Json:
    return {
        "id": edge.id,
        "src": edge.src_id,
        "dst": edge.dst_id,
        "relation": edge.relation,
        "weight": edge.weight,
        "source": edge.source,
        "evidence": edge.evidence,
        "line": edge.line,
        "occurrences": edge.occurrences,
    }
