"""The resident entity graphs: a snapshot for each audience, and whose graph a request gets (law 9).

The corpus-wide stage replaces everything (`EntityIndex.load`), a note's commit only that note's mentions, in the graphs
of those who may see it (`EntityIndex.follow`). Only the writer thread changes an `EntityIndex`; any thread reads.
"""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from mindnetd.core.audiences import Audiences
from mindnetd.lanes.entities import NO_MENTIONS, EntitySnapshot, Mentions, empty_snapshot


@dataclass(frozen=True)
class Graphs:
    """The graphs of one revision by the name of their audience, that of the default first."""

    audiences: Audiences = field(default_factory=Audiences)
    by_name: Mapping[str, EntitySnapshot] = field(default_factory=dict)
    revision: int = 0
    built_at: str | None = None

    @cached_property
    def _nothing(self) -> EntitySnapshot:
        return replace(empty_snapshot(self.revision), built_at=self.built_at)

    @property
    def main(self) -> EntitySnapshot:
        """The graph of who asks for nothing but the default; of the first there is where that sees no note."""
        return next(iter(self.by_name.values()), self._nothing)

    def of(self, levels: Collection[str]) -> EntitySnapshot:
        """The graph that was made from the notes of these levels and from no other; an empty one if there is none."""
        return self.by_name.get(self.audiences.of(levels) or "", self._nothing)

    def admitting(self, visibility: str, flags: Collection[str]) -> Iterator[tuple[str, EntitySnapshot]]:
        """The graphs of who may see a note of this level with these flags, by name."""
        return ((name, one) for name, one in self.by_name.items() if self.audiences.admit(name, visibility, flags))


class EntityIndex:
    """Holds the graphs of now."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._graphs = Graphs()
        self._touched: dict[int, int] = {}
        self._withdrawn = False

    @property
    def graphs(self) -> Graphs:
        """All as they are now."""
        return self._graphs

    def withdrawn(self) -> bool:
        """Whether a note that a graph was made from has been hidden since this was asked last: it must be made anew."""
        with self._lock:
            found, self._withdrawn = self._withdrawn, False
        return found

    @property
    def snapshot(self) -> EntitySnapshot:
        """The graph of the default audience: for figures, not for what somebody asks for (`of`)."""
        return self._graphs.main

    def of(self, levels: Collection[str]) -> EntitySnapshot:
        """The graph for who may see these levels of visibility."""
        return self._graphs.of(levels)

    def load(self, graphs: Graphs) -> None:
        """Everything anew."""
        with self._lock:
            self._graphs = graphs

    def touched_since(self, revision: int) -> set[int]:
        """Keys of the notes that were committed after `revision`. Writer thread only."""
        self._touched = {key: when for key, when in self._touched.items() if when > revision}
        return set(self._touched)

    def follow(
        self,
        revision: int,
        gone: Sequence[int],
        said: Mapping[str, Mapping[int, Mentions]],
        hidden: Collection[int] = (),
    ) -> None:
        """A commit: notes `gone` mention nothing any more; the others (by audience and note key) what `said` says.

        A note that `said` has for one audience is no longer seen by the others; `hidden` are those that are still there
        and that fewer may see.
        """
        keys = {key for mentions in said.values() for key in mentions} | set(hidden)
        self._touched.update(dict.fromkeys((*gone, *keys), revision))
        if not self._graphs.by_name:
            return  # nothing is known yet, so nothing has to be withheld
        with self._lock:
            fresh: dict[str, EntitySnapshot] = {}
            for name, graph in self._graphs.by_name.items():
                mine = said.get(name, {})
                outside = [key for key in (*gone, *sorted(keys)) if key not in mine and _tells_of(graph, key)]
                self._withdrawn |= not keys.isdisjoint(outside)
                fresh[name] = graph.followed(revision, {**dict.fromkeys(outside, NO_MENTIONS), **mine})
            self._graphs = replace(self._graphs, by_name=fresh, revision=revision)


def _tells_of(graph: EntitySnapshot, note_key: int) -> bool:
    """Whether a graph has something of a note."""
    return note_key in graph.changed or bool(np.any(graph.mentions.note == note_key))
