"""The entity graph as the readers of some notes have it, with the weights that what they see alone gives."""

from __future__ import annotations

import numpy as np

from mindnetd.core.cooccur import LEAST, SIGNIFICANT, log_likelihood, npmi
from mindnetd.core.leiden_graph import Floats, Ints, weighted_graph
from mindnetd.lanes.entities import Bools, EntitySnapshot, EntityView, Mentions, Relations


class LevelGraph:
    """The entity graph as the readers of some notes have it: mentions, weighted relations, names."""

    def __init__(self, graph: EntitySnapshot, keys: Ints) -> None:
        self.view = EntityView(graph, keys)
        self.entity, self.chunk, self.count = self._mentions(graph, keys)
        self._start = np.searchsorted(self.entity, np.arange(len(graph.id) + 1))
        whole = len(self.entity) == len(graph.mentions.entity) and not graph.changed
        self.weighted = weighted_graph(
            graph.id, graph.relations.src, graph.relations.dst, self._weights(graph.relations, whole=whole)
        )
        one, other, size = self.weighted.src, self.weighted.dst, self.weighted.size
        ends, weight = np.concatenate([one, other]), np.tile(self.weighted.weight, 2)
        self.strength = np.bincount(ends, weight, size).astype(np.float64)
        """The sum of the weights of each node, by position."""

    @staticmethod
    def _mentions(graph: EntitySnapshot, keys: Ints) -> tuple[Ints, Ints, Ints]:
        """Columns entity, chunk, count of the mentions in these notes, by entity and chunk."""
        changed = np.fromiter(graph.changed, dtype=np.int64)
        parts = [_kept(graph.mentions, np.isin(graph.mentions.note, keys) & ~np.isin(graph.mentions.note, changed))]
        parts += [_kept(part, np.isin(part.note, keys)) for _, part in sorted(graph.changed.items())]
        entity, chunk, count = (np.concatenate([part[n] for part in parts]) for n in range(3))
        order = np.lexsort((chunk, entity))
        return entity[order], chunk[order], count[order]

    def of(self, number: int) -> slice:
        """Where the mentions of an entity are."""
        return slice(int(self._start[number]), int(self._start[number + 1]))

    def _weights(self, relations: Relations, *, whole: bool) -> Floats:
        """Each relation as strong as what may be seen of it says; 0 where it must not be known."""
        counts = self.view.relation_counts
        weight: Floats = relations.weight.copy()
        if not whole:
            weight *= np.minimum(1.0, counts / np.maximum(relations.count, 1))
            together = np.fromiter((one == "heuristic" for one in relations.source), dtype=bool)
            weight[together] = self._together(relations, counts)[together]
        weight[counts == 0] = 0.0
        return weight

    def _together(self, relations: Relations, counts: Ints) -> Floats:
        """Weights of co-occurrence as these chunks alone give them: a hidden one shifts nothing."""
        chunks = np.diff(self._start)
        some = np.maximum(counts, 1)
        one, other = np.maximum(chunks[relations.src], some), np.maximum(chunks[relations.dst], some)
        total = len(np.unique(self.chunk))
        weight = npmi(some, one, other, total) * (1 + np.log(some))
        kept = (counts >= LEAST) & (log_likelihood(some, one, other, total) >= SIGNIFICANT)
        kept &= counts > one * other / max(total, 1)
        return np.asarray(np.where(kept, np.round(weight, 6), 0.0))


def _kept(part: Mentions, keep: Bools) -> tuple[Ints, Ints, Ints]:
    return part.entity[keep], part.chunk[keep], part.count[keep]
