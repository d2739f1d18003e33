"""What the graph says of the candidates: where the walk begins, which notes it brings in, what each is given."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mindnetd.lanes.segments import BoolArray, IntArray
from mindnetd.lanes.snapshot import HotSnapshot
from mindnetd.lanes.walk import Ground, Walk, walk

Floats = NDArray[np.float64]
STARTS = 10
"""Notes that the walk begins from: the best of the lanes."""
SHARPNESS = 4
"""A start is as strong as its share of the best score, to this power: shares are all near 1."""
LIFT = 0.9
"""Of the way to the note that gives it something a note is lifted so much at most."""
JOINING = 20
"""Notes that no lane found and the walk brings in, at most."""


@dataclass(frozen=True, slots=True)
class Found:
    """The candidates as the lanes alone see them. ``order``: places, best first."""

    notes: IntArray
    """Note slots."""
    base: Floats
    order: list[int]
    named: BoolArray
    """Asked for by name."""


def walk_from(ground: Ground, found: Found, hops: int) -> Walk:
    """Walk from the notes that were asked for by name, then from the best."""
    slots: dict[int, float] = {int(note): 1.0 for note in found.notes[found.named][:STARTS]}
    best = float(found.base.max(initial=0.0))
    for i in found.order:
        if len(slots) >= STARTS or found.base[i] <= 0:
            break
        slots.setdefault(int(found.notes[i]), float(found.base[i] / best) ** SHARPNESS)
    return walk(ground, list(slots), list(slots.values()), hops)


def reached(snapshot: HotSnapshot, walked: Walk, docs: BoolArray, known: IntArray) -> NDArray[np.int64]:
    """The documents among `docs` of the notes that the walk gives something; notes `known` (slots) left out."""
    edges = walked.ground.edges
    value = walked.values[edges.nodes_of] > 0
    value[known] = False
    return np.flatnonzero(value[snapshot.doc_note] & docs)


def joining(
    snapshot: HotSnapshot, walked: Walk, at: NDArray[np.int64], scores: Floats, least: float
) -> NDArray[np.int32]:
    """Of documents (slots) that the walk reached the best one of each note, the likeliest `JOINING` of them.

    ``scores`` are about what the lanes and the graph give; who stays below ``least`` is left where he is.
    """
    enough = np.flatnonzero(scores >= least)
    if not len(enough):
        return np.zeros(0, np.int32)
    at, scores, edges = at[enough], scores[enough], walked.ground.edges
    first = best_of_note(snapshot.doc_note[at], at, scores)
    order = np.lexsort((edges.marks[edges.nodes_of[snapshot.doc_note[at[first]]]], -scores[first]))
    return at[first[order[:JOINING]]].astype(np.int32)


def best_of_note(notes: IntArray, at: IntArray | NDArray[np.int64], scores: Floats) -> NDArray[np.int64]:
    """Places of the best document of every note; of equals the first slot (`at`)."""
    order = np.lexsort((at, -scores, notes))
    return order[np.concatenate(([True], np.diff(notes[order]) != 0))]


def graph_values(
    walked: Walk | None, notes: IntArray, at: IntArray, base: Floats, gamma: float
) -> tuple[Floats, BoolArray]:
    """What the walk gives to each candidate's note, for the best of its documents: a neighbour comes in once. And
    where it was held back: nobody is lifted past the note that gave him what he has, but by `LIFT` of the way to it.

    Without that the best answer of a question gives its neighbour more than it gets itself, and comes second.
    """
    values, held = np.zeros(len(at)), np.zeros(len(at), bool)
    if walked is None or not len(at):
        return values, held
    first = best_of_note(notes, at, base)
    nodes = walked.ground.edges.nodes_of[notes[first]]
    own, given = base[first], walked.values[nodes]
    lanes = np.full(len(walked.values) + 1, -np.inf)  # by node; the last is that of nobody (-1)
    lanes[nodes] = own
    giver = walked.giver[nodes]
    of_giver = lanes[giver]
    most = LIFT * (of_giver + gamma * np.maximum(walked.values[giver], 0.0) - own) / gamma
    behind = (of_giver > own) & (given > most)
    values[first], held[first] = np.where(behind, most, given), behind
    return values, held


def walked_edges(walked: Walk, snapshot: HotSnapshot, note: int) -> list[dict[str, object]]:
    """The edges that the value of a note (slot) comes from, in the order of the walk, as the API shows them.

    ``weight`` is what going along the edge is worth; ``from`` is the end that was left, ``sharing`` how many ties it
    has; the first edge of a way says how strong its start was.
    """
    edges = walked.ground.edges
    shown: list[dict[str, object]] = []
    for tread in walked.way(int(edges.nodes_of[note])):
        ends = [snapshot.notes[edges.slots[side[tread.edge]]] for side in (edges.src, edges.dst)]
        start = snapshot.notes[edges.slots[tread.near]]
        if start is None or ends[0] is None or ends[1] is None:
            continue
        shown.append({
            "src": ends[0].id,
            "relation": edges.relations.texts[edges.relation[tread.edge]],
            "dst": ends[1].id,
            "weight": round(tread.worth, 6),
            "source": edges.sources.texts[edges.source[tread.edge]],
            "src_path": ends[0].path,
            "dst_path": ends[1].path,
            "from": start.path,
            "sharing": tread.sharing,
            "strength": round(walked.strength[tread.near], 6) if tread.near in walked.strength else None,
        })  # fmt: skip
    return shown
