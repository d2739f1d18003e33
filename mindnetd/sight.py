"""What one question may see: of the resident index and of the entity graph, by level, flags and filters.

Not for: choosing anything (``modes``).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from mindnetd.core.filters import Filters
from mindnetd.core.query import QuerySpec
from mindnetd.core.reports import Report, Reports
from mindnetd.lanes.entities import Community, EntitySnapshot, EntityView
from mindnetd.lanes.snapshot import HotSnapshot, Scope

_KEPT = 8


@dataclass(frozen=True)
class Sight:
    """``scope``: by level and flags; ``chunks`` and ``view``: by filters too. No ``view`` while there is no graph."""

    snapshot: HotSnapshot
    scope: Scope
    filters: Filters
    chunks: frozenset[int] = frozenset()
    view: EntityView | None = None

    @cached_property
    def reports(self) -> Reports:
        """The communities as this sight has them: each as made, or only what of it may be seen and is still there."""
        if self.view is None:
            return Reports(())
        whole, made = not self.filters.narrows, self.view.communities()
        return Reports([report for one in made if (report := _report(self, self.view, one, whole=whole))])


class Seen:
    """Makes sights; the last few are remembered, since most questions may see the same. Any thread."""

    def __init__(self) -> None:
        self._kept: dict[tuple[Filters, frozenset[str]], tuple[HotSnapshot, EntitySnapshot, Sight]] = {}

    def of(self, spec: QuerySpec, exclude_flags: Sequence[str], snapshot: HotSnapshot, graph: EntitySnapshot) -> Sight:
        """What `spec` may see of this revision."""
        hidden = [flag for flag in exclude_flags if flag not in spec.filters.include_flags]
        key = (spec.filters, frozenset(hidden))
        kept = self._kept.get(key)
        if kept is not None and kept[0] is snapshot and kept[1] is graph:
            return kept[2]
        sight = self._made(spec.filters, hidden, snapshot, graph)
        if len(self._kept) >= _KEPT:
            self._kept.clear()  # also what holds snapshots of former revisions in memory
        self._kept[key] = snapshot, graph, sight
        return sight

    def _made(self, filters: Filters, hidden: Sequence[str], snapshot: HotSnapshot, graph: EntitySnapshot) -> Sight:
        scope = snapshot.scope(filters.visibility, hidden)
        if not graph.id:
            return Sight(snapshot, scope, filters)
        docs = snapshot.narrowed(scope, filters)
        slots = np.unique(snapshot.doc_note[docs]).tolist()
        notes = [note.key for slot in slots if (note := snapshot.notes[slot]) is not None]
        chunks = frozenset(snapshot.doc_key[docs].tolist())
        return Sight(snapshot, scope, filters, chunks, graph.visible(notes))


def _report(sight: Sight, view: EntityView, one: Community, *, whole: bool) -> Report | None:
    """As made, if everything that it was made from may be seen and is still there; else only what may and is."""
    members = frozenset(n for n in one.members if view.seen[n])
    sentences = tuple((key, sentence) for key, _, sentence in one.sources if key in sight.chunks)
    if not members or not sentences:
        return None
    intact = whole and len(sentences) == len(one.sources) and len(members) == len(one.members)
    title = one.title if intact else _named_by(view, members)
    summary = one.summary if intact else " ".join(sentence for _, sentence in sentences)
    how = one.summary_source if intact else "extractive"
    return Report(one.id, one.label, one.level, title, summary, how, one.updated, members, sentences)


def _named_by(view: EntityView, members: frozenset[int]) -> str:
    """A title of the members that are mentioned most."""
    mentions, names = view.mention_counts, view.names
    return ", ".join(names[n] for n in sorted(members, key=lambda n: (-int(mentions[n]), names[n]))[:3])


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
