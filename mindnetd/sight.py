"""What one question may see: of the resident index and of the entity graph, by level, flags and filters.

Not for: choosing anything (``modes``).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mindnetd.core.filters import Filters
from mindnetd.core.query import QuerySpec
from mindnetd.lanes.entities import EntitySnapshot, EntityView
from mindnetd.lanes.snapshot import HotSnapshot, Scope

_KEPT = 8


@dataclass(frozen=True, slots=True)
class Sight:
    """``scope``: by level and flags; ``chunks`` and ``view``: by filters too. No ``view`` while there is no graph."""

    snapshot: HotSnapshot
    scope: Scope
    chunks: frozenset[int]
    view: EntityView | None


class Seen:
    """Makes sights; which notes and chunks pass is remembered for the last few revisions and filters. Any thread."""

    def __init__(self) -> None:
        self._kept: dict[tuple[int, int, Filters, frozenset[str]], tuple[list[int], frozenset[int]]] = {}

    def of(self, spec: QuerySpec, exclude_flags: Sequence[str], snapshot: HotSnapshot, graph: EntitySnapshot) -> Sight:
        """What `spec` may see of this revision."""
        hidden = [flag for flag in exclude_flags if flag not in spec.filters.include_flags]
        scope = snapshot.scope(spec.filters.visibility, hidden)
        if not graph.id:
            return Sight(snapshot, scope, frozenset(), None)
        key = (snapshot.revision, snapshot.vectors.generation, spec.filters, frozenset(hidden))
        found = self._kept.get(key)
        if found is None:
            docs = snapshot.narrowed(scope, spec.filters)
            slots = np.unique(snapshot.doc_note[docs]).tolist()
            notes = [note.key for slot in slots if (note := snapshot.notes[slot]) is not None]
            found = sorted(notes), frozenset(snapshot.doc_key[docs].tolist())
            if len(self._kept) >= _KEPT:
                self._kept.clear()
            self._kept[key] = found
        return Sight(snapshot, scope, found[1], graph.visible(found[0]))


def entity_of(view: EntityView, n: int) -> dict[str, Any]:
    """The entry of ``entities``."""
    return {
        "id": view.snapshot.id[n],
        "name": view.names[n],
        "type": view.type(n),
        "mentions": int(view.mention_counts[n]),
    }


def relation_of(view: EntityView, n: int) -> dict[str, Any]:
    """The entry of ``relationships``; its weight is the share that may be seen, as in `EntityView.neighbours`."""
    relations, count = view.snapshot.relations, int(view.relation_counts[n])
    src, dst = int(relations.src[n]), int(relations.dst[n])
    return {
        "id": relations.id[n],
        "source_id": view.snapshot.id[src],
        "source": view.names[src],
        "target_id": view.snapshot.id[dst],
        "target": view.names[dst],
        "type": relations.type[n],
        "weight": float(relations.weight[n]) * min(1.0, count / max(1, int(relations.count[n]))),
        "count": count,
    }
