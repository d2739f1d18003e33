"""Edges of notes that link to hidden notes, as an index without the hidden notes would hold them (law 9).

Which rule gives an edge, how often and in which sentence it stands depends on all links of its note, so the edges of
such a note are derived anew from its bytes, with the links to hidden notes leading nowhere. They are kept by what they
are made of: a second question derives nothing.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mindnetd.core.edges import edges_of, edges_of_links
from mindnetd.core.graph_masks import masked
from mindnetd.core.records import Edge, NoteMeta, ResolvedLink
from mindnetd.errors import NotFound
from mindnetd.lanes.snapshot import HotSnapshot
from mindnetd.serving.services import Services
from mindnetd.serving.shown_ids import shown_ids
from mindnetd.serving.view import View
from mindnetd.store import read, read_ties
from mindnetd.store.read_indexed import note_as_indexed

if TYPE_CHECKING:
    from mindnetd.core.derive import DeriveOptions

_MOST_KEPT = 4096
"""Notes whose edges are kept."""


@dataclass(frozen=True, slots=True)
class Masked:
    """The shown notes and canvases (ids) whose stored edges do not hold for a view, and the edges that hold instead."""

    sources: frozenset[str]
    edges: tuple[Edge, ...]


class MaskBook:
    """Makes them for requests; any thread."""

    def __init__(self, services: Services) -> None:
        self._services = services
        self._lock = threading.Lock()
        self._kept: dict[Any, tuple[Edge, ...]] = {}
        self._kept_by: DeriveOptions | None = None

    def of(self, snapshot: HotSnapshot, view: View) -> Masked:
        """What changes for this view; nothing where nothing is hidden. Raises StoreError."""
        hidden = {meta.path for meta in snapshot.notes if meta is not None and not view.shows(meta)}
        if not hidden:
            return Masked(frozenset(), ())
        db = self._services.db
        owners = read_ties.owners_linking(db, sorted(hidden))
        sources: set[str] = set()
        edges: list[Edge] = []
        ids = shown_ids(snapshot, view)
        canvases = {one.key: one for one in read.load_canvases(db)} if view.canvases and owners else {}
        for key, stored in (read.load_links(db, owners) if owners else {}).items():
            links = masked(stored, hidden, ids)
            meta, canvas = snapshot.note(key), canvases.get(key)
            if meta is not None and view.shows(meta):
                sources.add(meta.id)
                edges += self._of_note(meta, links)
            elif canvas is not None:
                sources.add(canvas.id)
                edges += edges_of_links(self._services.id_prefix, canvas.path, links)
        return Masked(frozenset(sources), tuple(edges))

    def for_ranking(
        self, snapshot: HotSnapshot, keys: Sequence[int], levels: frozenset[str], hiding: frozenset[str]
    ) -> tuple[frozenset[str], tuple[Edge, ...]]:
        """Of the notes `keys`, which are shown and declare edges to hidden ones, those that mean a shown note by its id
        instead: the others declare what is stored, less what leads to the hidden. Raises StoreError."""
        view = View(levels, hiding)
        hidden = {meta.path for meta in snapshot.notes if meta is not None and not view.shows(meta)}
        ids = shown_ids(snapshot, view)
        sources: set[str] = set()
        edges: list[Edge] = []
        for key, stored in read.load_links(self._services.db, sorted(keys)).items():
            links, meta = masked(stored, hidden, ids), snapshot.note(key)
            if meta is not None and any(now is not was and now.by_id for was, now in zip(stored, links, strict=True)):
                sources.add(meta.id)
                edges += self._of_note(meta, links)
        return frozenset(sources), tuple(edges)

    def _of_note(self, meta: NoteMeta, links: Sequence[ResolvedLink]) -> tuple[Edge, ...]:
        options = self._services.derive_options
        made_of = (meta.key, meta.raw_hash, meta.stale, tuple(links))
        with self._lock:
            if self._kept_by is not options:  # other note types
                self._kept.clear()
                self._kept_by = options
            found = self._kept.get(made_of)
        if found is None:
            try:
                note = note_as_indexed(self._services.db, meta, options.read)
            except NotFound:  # it has gone since
                return ()
            found = edges_of(options.prefix, note, links, options.types)
            with self._lock:
                if self._kept_by is options:
                    if len(self._kept) >= _MOST_KEPT:
                        self._kept.clear()
                    self._kept[made_of] = found
        return found
