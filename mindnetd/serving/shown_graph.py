"""The graph as one request may see it: the only place where the serving side reads edges.

A hidden note is in no node, edge, label or count, and no way leads through it. A link to one is shown as a link to a
name that no note has, so that the reply is that of an index without the note.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from mindnetd.core.graph import Around, Tie, weight_of
from mindnetd.core.identity import edge_uuid
from mindnetd.core.records import Edge, NoteMeta
from mindnetd.core.shared_tags import SharedTags, TagTable
from mindnetd.serving.masked import MaskBook, Masked
from mindnetd.serving.refs import Notes, RefIndex
from mindnetd.serving.services import Services
from mindnetd.serving.view import View
from mindnetd.store import read
from mindnetd.store.records import StoredCanvas, StoredEdge

Direction = Literal["in", "out", "both"]
Json = dict[str, Any]
MOST_EDGES = 50_000
"""Edges read for one step of a walk."""
BACKLINK = "backlink"
RELATED = "related_to"
UNRESOLVED = "unresolved"
"""What to ask for to see the edges to names that no file has, whatever their relation."""


@dataclass(frozen=True, slots=True)
class GraphParts:
    """What every request about the graph works with."""

    services: Services
    refs: RefIndex
    masks: MaskBook


class ShownGraph:
    """Edges and nodes as ``view`` shows them; one object a request, any thread.

    What was read stays: ``edges`` and ``nodes`` by id. ``cut`` is set when a step had more edges than are read.
    """

    def __init__(self, parts: GraphParts, view: View, tags: TagTable | None = None) -> None:
        self._services, self._refs, self._book = parts.services, parts.refs, parts.masks
        self._view, self._tags = view, tags
        self._canvases: dict[str, StoredCanvas] | None = None
        self._masks: Masked | None = None
        self.edges: dict[str, Edge] = {}
        self.nodes: dict[str, Json] = {}
        self.cut = False

    def around(self, ids: Sequence[str], direction: Direction = "both", relations: Sequence[str] = ()) -> list[Edge]:
        """The edges that leave or reach these nodes, with a table of tags those of shared tags too. Raises StoreError.

        A shared tag has no direction: who asks for one asks for what is written.
        """
        stored = read.edges_around(self._services.db, ids, direction, relations, MOST_EDGES + 1)
        self.cut = self.cut or len(stored) > MOST_EDGES
        notes = self._services.hot.snapshot().notes  # after the read: what has just been hidden is not shown
        ends = self._refs.by_id({end for one in stored for end in (one.edge.src_id, one.edge.dst_id)}, notes)
        masks = self._masked()
        found = {
            one.edge.id: one.edge
            for one in stored[:MOST_EDGES]
            if one.edge.src_id not in masks.sources and shown_edge(one, ends, self._view)
        }
        wanted = set(ids)
        for edge in masks.edges:
            sides = {"out": (edge.src_id,), "in": (edge.dst_id,)}.get(direction, (edge.src_id, edge.dst_id))
            if wanted.intersection(sides) and (not relations or edge.relation in relations):
                found[edge.id] = edge
        if self._tags is not None and direction == "both" and (not relations or RELATED in relations):
            told = {frozenset((edge.src_id, edge.dst_id)) for edge in found.values() if edge.relation == RELATED}
            for pair in self._sharing(wanted, notes):
                if frozenset((pair.first.id, pair.second.id)) not in told:
                    ends |= {pair.first.id: pair.first, pair.second.id: pair.second}
                    edge = shared_edge(pair)
                    found[edge.id] = edge
        missing = {edge.dst_id for edge in masks.edges if edge.id in found} - ends.keys()
        self._keep(found.values(), ends | self._refs.by_id(missing, notes) if missing else ends, notes)
        return list(found.values())

    def _sharing(self, ids: set[str], notes: Notes) -> Iterable[SharedTags]:
        """The pairs of shown notes, one of them of `ids`, that share a rare tag."""
        if self._tags is None:
            return ()
        asked = self._refs.by_id(ids, notes).values()
        shows, most = self._view.shows, self._services.searcher.settings.shared_tag_notes
        return [pair for note in asked if shows(note) for pair in self._tags.of(note, shows, most)]

    def backlinks(self, node: str, direction: Direction) -> list[Edge]:
        """References of and to a node, reversed."""
        flipped: Direction = {"in": "out", "out": "in"}.get(direction, "both")  # type: ignore[assignment]
        found = [reversed_edge(edge) for edge in self.around([node], flipped, ("references",))]
        for edge in found:
            self.edges[edge.id] = edge
        return found

    def ties(self, relations: Sequence[str] = ()) -> Around:
        """The same for the walks of `core.graph`, in both directions."""

        def around(ids: Sequence[str]) -> Iterable[Tie]:
            return [self.tie(edge) for edge in self.around(ids, "both", relations)]

        return around

    def tie(self, edge: Edge) -> Tie:
        """An edge that was read, for a walk: what its relation is worth and its note's type adds, times its weight."""
        worth = weight_of(edge.relation, self._services.searcher.settings.relation_weights)
        type_name = self.nodes.get(edge.src_id, {}).get("type")
        worth += self._services.derive_options.types.edge_weight_offset(type_name, edge.relation)
        return Tie(edge.id, edge.src_id, edge.dst_id, edge.relation, worth * edge.weight)

    def _masked(self) -> Masked:
        """The edges that hold for this view instead of those that are stored."""
        if self._masks is None:
            self._masks = self._book.of(self._services.hot.snapshot(), self._view)
        return self._masks

    # ------------------------------------------------------------------------------------------------------- nodes

    def _keep(self, edges: Iterable[Edge], ends: dict[str, NoteMeta], notes: Notes) -> None:
        edges = list(edges)
        new = {edge.src_id for edge in edges} - ends.keys()
        known = {**ends, **self._refs.by_id(new, notes)} if new else ends
        for edge in edges:
            self.edges[edge.id] = edge
            if edge.src_id not in self.nodes:
                self.nodes[edge.src_id] = self._source(edge, known)
            if edge.dst_id not in self.nodes:
                self.nodes[edge.dst_id] = _target(edge, known)

    def _source(self, edge: Edge, ends: dict[str, NoteMeta]) -> Json:
        meta = ends.get(edge.src_id)
        if meta is not None:
            return note_node(meta)
        canvas = self._all_canvases().get(edge.src_id) if edge.src_kind == "file" else None
        if canvas is not None:
            return file_node(canvas.id, canvas.path)
        return {"id": edge.src_id, "kind": edge.src_kind, "label": edge.src_id, "path": None, "type": None}

    def _all_canvases(self) -> dict[str, StoredCanvas]:
        if self._canvases is None:
            self._canvases = {canvas.id: canvas for canvas in read.load_canvases(self._services.db)}
        return self._canvases


def shown_edge(one: StoredEdge, ends: dict[str, NoteMeta], view: View) -> bool:
    """Are both ends of an edge shown?"""
    if one.edge.src_kind == "file" and not view.canvases:
        return False
    metas = (ends.get(one.edge.src_id), ends.get(one.edge.dst_id))
    # the stored visibility covers an end that the snapshot does not know yet
    return one.visibility in view.levels and all(meta is None or view.shows(meta) for meta in metas)


def reversed_edge(edge: Edge) -> Edge:
    """A reference seen from its target."""
    return Edge(
        id=edge_uuid(BACKLINK, "structural", edge.dst_id, edge.src_id, edge.scope),
        src_id=edge.dst_id,
        dst_id=edge.src_id,
        src_kind=edge.dst_kind,
        dst_kind=edge.src_kind,
        dst_label=edge.src_id,
        relation=BACKLINK,
        scope=edge.scope,
        source="structural",
        weight=edge.weight,
        occurrences=edge.occurrences,
        evidence=edge.evidence,
        line=edge.line,
    )


def shared_edge(pair: SharedTags) -> Edge:
    """Two notes with rare tags in common as an edge by rule; the tags are its evidence."""
    first, second = pair.first, pair.second
    return Edge(
        id=edge_uuid(RELATED, "rule", first.id, second.id, "note"),
        src_id=first.id,
        dst_id=second.id,
        src_kind="note",
        dst_kind="note",
        dst_label=second.path,
        relation=RELATED,
        scope="note",
        source="rule",
        weight=pair.weight,
        occurrences=len(pair.tags),
        evidence=" ".join(f"#{tag}" for tag in pair.tags)[:200],
    )


def note_node(meta: NoteMeta) -> Json:
    """A note as a node."""
    return {"id": meta.id, "kind": "note", "label": meta.title, "path": meta.path, "type": meta.type}


def file_node(node_id: str, path: str) -> Json:
    """An attachment, a canvas or an excluded note as a node."""
    return {"id": node_id, "kind": "file", "label": path.rpartition("/")[2], "path": path, "type": None}


def edge_out(edge: Edge) -> Json:
    """An edge as the API shows it."""
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
        "by": edge.resolved_by,
    }


def _target(edge: Edge, ends: dict[str, NoteMeta]) -> Json:
    meta = ends.get(edge.dst_id)
    if meta is not None:
        return note_node(meta)
    if edge.dst_kind in ("note", "file"):  # a note without metadata is one that is excluded from the index: a file
        return file_node(edge.dst_id, edge.dst_label)
    return {"id": edge.dst_id, "kind": edge.dst_kind, "label": edge.dst_label, "path": None, "type": None}
