"""The edges between notes in RAM: for every node the edges that touch it, both ways, found by one look-up.

`EdgeTable` belongs to the writer and follows each commit by the edges of its notes alone: they are appended, the ones
that they replace are marked dead. Most edges are reached by a compressed row per node (CSR); those of the last commits
form a short tail that every look-up reads whole, merged into the rows now and then. Nodes are note ids, so that an edge
to a file that is no note yet leads to it when it becomes one. Structural edges are not here: they rank nothing.

Not for: what an edge is worth to a question (``core.rank``), walking (``lanes.walk``).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from mindnetd.core.records import Edge
from mindnetd.lanes.codes import Codes
from mindnetd.lanes.column import Column
from mindnetd.lanes.segments import BoolArray, FloatArray, IntArray

NOWHERE = -1
"""The slot of a node that is no note, or not any more."""
SOURCES = ("declared", "rule", "ml")
_LONG_TAIL = 512
"""Edges of a tail, or dead ones, that are left alone; beyond it an eighth of all."""


@dataclass(frozen=True, slots=True)
class EdgeRows:
    """Edges as columns, as the store hands them over at start."""

    src: Sequence[str]
    dst: Sequence[str]
    relation: Sequence[str]
    source: Sequence[str]
    weight: Sequence[float] | NDArray[np.floating]


NO_EDGES = EdgeRows((), (), (), (), ())


@dataclass(frozen=True, slots=True)
class Ties:
    """Edges seen from some nodes, in no order: ``near[i]`` is a place among the nodes asked for."""

    near: NDArray[np.int64]
    far: IntArray
    """Node at the other end."""
    edge: NDArray[np.int64]
    """Its place in the columns of the view."""


@dataclass(frozen=True, slots=True)
class EdgeView:
    """The edges of one revision; immutable. Columns are by edge, ``slots`` by node, ``nodes_of`` by note slot."""

    numbers: Mapping[str, int]
    """Note id -> node; nodes of later revisions may be in it."""
    slots: IntArray
    """Note slot of a node, `NOWHERE` for none."""
    nodes_of: IntArray
    marks: NDArray[np.int64]
    """By node: a checksum of its id, for an order among equals that does not depend on how the index came to be."""
    src: IntArray
    dst: IntArray
    relation: NDArray[np.int16]
    """Code in ``relations``."""
    source: NDArray[np.int16]
    """Code in ``sources``."""
    weight: FloatArray
    alive: BoolArray
    starts: IntArray
    """By node: its first entry in ``touching``; of nodes and edges that were there at the last merge."""
    touching: IntArray
    merged: int
    """So many edges are in ``touching``; the rest is the tail."""
    relations: Codes
    sources: Codes

    def around(self, nodes: IntArray) -> Ties:
        """The living edges that touch these nodes (each node once), in either direction."""
        rows = np.minimum(nodes, len(self.starts) - 2)  # newer nodes have no row: theirs is made empty
        first = self.starts[rows]
        sizes = np.where(nodes == rows, self.starts[rows + 1] - first, 0)
        ends = np.cumsum(sizes)
        places = np.repeat(first - (ends - sizes), sizes) + np.arange(int(ends[-1]) if len(ends) else 0)
        near, edge = np.repeat(np.arange(len(nodes)), sizes), self.touching[places].astype(np.int64)
        if self.merged < len(self.src):
            place_of = np.full(len(self.slots), -1, np.int64)
            place_of[nodes] = np.arange(len(nodes))
            for ends_of in (self.src, self.dst):
                there = place_of[ends_of[self.merged :]]
                found = np.flatnonzero(there >= 0)
                near, edge = np.concatenate((near, there[found])), np.concatenate((edge, found + self.merged))
        living = self.alive[edge]
        near, edge = near[living], edge[living]
        here = nodes[near]
        return Ties(near, np.where(self.src[edge] == here, self.dst[edge], self.src[edge]), edge)

    def leading_to_hidden(self, shown: BoolArray) -> IntArray:
        """The shown notes (slots, ascending) that declare an edge to a note that is there and not shown."""
        near, far = self.slots[self.src], self.slots[self.dst]
        both = np.flatnonzero(self.alive & (near >= 0) & (far >= 0))
        near, far = near[both], far[both]
        return np.unique(near[shown[near] & ~shown[far]])

    def with_others(self, sources: Iterable[str], edges: Sequence[Edge]) -> EdgeView:
        """The same with `edges` for all that the notes `sources` (ids) declare; ends that are no node are left out."""
        gone = np.zeros(len(self.slots), bool)
        gone[[self.numbers[one] for one in sources if one in self.numbers]] = True
        count, known = len(self.slots), self.numbers
        ends = [(known.get(edge.src_id, count), known.get(edge.dst_id, count), edge) for edge in edges]
        kept = [(src, dst, edge) for src, dst, edge in ends if max(src, dst) < count and src != dst]
        kept = [row for row in kept if row[2].relation in self.relations.ids and row[2].source in self.sources.ids]
        return EdgeView(
            numbers=self.numbers,
            slots=self.slots,
            nodes_of=self.nodes_of,
            marks=self.marks,
            src=np.append(self.src, np.array([src for src, _, _ in kept], np.int32)),
            dst=np.append(self.dst, np.array([dst for _, dst, _ in kept], np.int32)),
            relation=np.append(
                self.relation, np.array([self.relations.ids[edge.relation] for _, _, edge in kept], np.int16)
            ),
            source=np.append(self.source, np.array([self.sources.ids[edge.source] for _, _, edge in kept], np.int16)),
            weight=np.append(self.weight, np.array([edge.weight for _, _, edge in kept], np.float32)),
            alive=np.append(self.alive & ~gone[self.src], np.ones(len(kept), bool)),
            starts=self.starts,
            touching=self.touching,
            merged=self.merged,
            relations=self.relations,
            sources=self.sources,
        )

    def held(self) -> list[tuple[str, str, str, str, float]]:
        """(source note, far note, relation, source, weight) of every living edge, sorted: for comparing two views."""
        names = {number: name for name, number in dict(self.numbers).items()}
        return sorted(
            (
                names[int(self.src[edge])],
                names[int(self.dst[edge])],
                self.relations.texts[self.relation[edge]],
                self.sources.texts[self.source[edge]],
                float(self.weight[edge]),
            )
            for edge in np.flatnonzero(self.alive)
        )


class EdgeTable:
    """The edges of all notes. One writer."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        self._slots, self._nodes_of = Column(np.int32), np.zeros(0, np.int32)
        self._marks = Column(np.int64)
        self._relations, self._sources = Codes(), Codes(SOURCES)
        self._clear_edges()

    def _clear_edges(self) -> None:
        self._src, self._dst = Column(np.int32), Column(np.int32)
        self._relation, self._source = Column(np.int16), Column(np.int16)
        self._weight = Column(np.float32)
        self._alive = np.zeros(0, bool)
        self._starts, self._touching = np.zeros(2, np.int32), np.zeros(0, np.int32)
        self._merged = 0

    def load(self, rows: EdgeRows) -> None:
        """Replace all edges; the notes stay where they are."""
        self._clear_edges()
        self._append(rows)
        self._merge()

    def place(self, ids: Sequence[str], slots: Sequence[int], size: int) -> None:
        """The notes `ids` are at these slots now, of `size` slots in all."""
        nodes = self._nodes(ids)
        placed = self._slots.view.copy()  # snapshots keep theirs
        placed[nodes] = slots
        self._slots = Column(np.int32)
        self._slots.extend(placed)
        grown = np.full(size, NOWHERE, np.int32)
        grown[: len(self._nodes_of)] = self._nodes_of
        grown[list(slots)] = nodes
        self._nodes_of = grown

    def renumbered(self) -> EdgeTable:
        """The same edges over the nodes that they have; notes are nowhere until `place` says where."""
        fresh, rows = EdgeTable(), self.view().held()
        fresh.load(EdgeRows(*zip(*rows, strict=True)) if rows else NO_EDGES)
        return fresh

    def drop(self, ids: Iterable[str]) -> None:
        """Notes have gone, and what they declared."""
        gone = [self._numbers[one] for one in ids if one in self._numbers]
        if gone:
            self._kill(gone)
            placed = self._slots.view.copy()
            placed[gone] = NOWHERE
            self._slots = Column(np.int32)
            self._slots.extend(placed)

    def replace(self, owners: Sequence[tuple[str, Sequence[Edge]]]) -> None:
        """What these notes (ids) declare is now this; edges that do not join two notes are left out."""
        if not owners:
            return
        self._kill([self._numbers[owner] for owner, _ in owners if owner in self._numbers])
        rows = [edge for _, edges in owners for edge in edges if (edge.src_kind, edge.dst_kind) == ("note", "note")]
        if rows:
            self._append(
                EdgeRows(
                    [edge.src_id for edge in rows],
                    [edge.dst_id for edge in rows],
                    [edge.relation for edge in rows],
                    [edge.source for edge in rows],
                    [edge.weight for edge in rows],
                )
            )
        dead = len(self._alive) - int(self._alive.sum())
        if max(len(self._src) - self._merged, dead) > max(_LONG_TAIL, len(self._src) // 8):
            self._merge()

    def view(self) -> EdgeView:
        """As it is now."""
        return EdgeView(
            numbers=self._numbers,
            slots=self._slots.view,
            nodes_of=self._nodes_of,
            marks=self._marks.view,
            src=self._src.view,
            dst=self._dst.view,
            relation=self._relation.view,
            source=self._source.view,
            weight=self._weight.view,
            alive=self._alive,
            starts=self._starts,
            touching=self._touching,
            merged=self._merged,
            relations=self._relations,
            sources=self._sources,
        )

    # ---- parts

    def _nodes(self, ids: Sequence[str]) -> list[int]:
        known = len(self._slots)
        found = [self._numbers.setdefault(one, len(self._numbers)) for one in ids]
        if len(self._numbers) > known:
            self._slots.extend(np.full(len(self._numbers) - known, NOWHERE, np.int32))
            fresh = {number: one for number, one in zip(found, ids, strict=True) if number >= known}
            self._marks.extend([crc32(fresh[number].encode()) for number in sorted(fresh)])
        return found

    def _kill(self, owners: Sequence[int]) -> None:
        going = np.isin(self._src.view, np.array(owners, np.int32))
        if going.any():
            self._alive = self._alive & ~going

    def _append(self, rows: EdgeRows) -> None:
        src, dst = self._nodes(rows.src), self._nodes(rows.dst)
        keep = np.flatnonzero(np.array(src, np.int32) != np.array(dst, np.int32))  # a link to oneself leads nowhere
        self._src.extend(np.array(src, np.int32)[keep])
        self._dst.extend(np.array(dst, np.int32)[keep])
        self._relation.extend(np.array([self._relations.give(one) for one in rows.relation], np.int16)[keep])
        self._source.extend(np.array([self._sources.give(one) for one in rows.source], np.int16)[keep])
        self._weight.extend(np.asarray(rows.weight, np.float32)[keep])
        self._alive = np.concatenate((self._alive, np.ones(len(keep), bool)))

    def _merge(self) -> None:
        """Leave dead edges behind and give every node its row."""
        living = self._alive
        for name in ("_src", "_dst", "_relation", "_source", "_weight"):
            old = getattr(self, name).view
            fresh = Column(old.dtype)
            fresh.extend(old[living])
            setattr(self, name, fresh)
        count = len(self._src)
        self._alive, self._merged = np.ones(count, bool), count
        ends = np.concatenate((self._src.view, self._dst.view))
        order = np.argsort(ends, kind="stable")
        self._touching = (order % max(count, 1)).astype(np.int32)
        sizes = np.bincount(ends, minlength=max(len(self._slots), 1))
        self._starts = np.concatenate(([0], np.cumsum(sizes))).astype(np.int32)
