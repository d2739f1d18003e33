"""``GET /notes/{ref}/related``: notes near in meaning and in the graph, each with the reasons.

The score of a note is the sum of its reasons' terms: ``MEANING`` times the cosine of its best passage to the mean of
the asked note's passages (below ``FLOOR``: no reason), and ``LINKS`` times the strength of the best way of two hops
between them, relative to one plain reference.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from mindnetd.core import graph
from mindnetd.core.records import NoteMeta
from mindnetd.lanes import dense
from mindnetd.lanes.snapshot import HotSnapshot
from mindnetd.serving.browse import Browser
from mindnetd.serving.browse_graph import GraphBrowser
from mindnetd.serving.services import Services
from mindnetd.serving.shown_graph import edge_out
from mindnetd.serving.view import View
from mindnetd.store import read
from mindnetd.store.records import StoredCanvas

Json = dict[str, Any]
MEANING, LINKS = 0.6, 0.4
FLOOR = 0.3
"""Cosines below say nothing (unrelated texts of all-MiniLM-L6-v2 lie around 0 to 0.2)."""
HOPS, MOST_TIES = 2, 2000
NEAREST = 100
"""Notes near in meaning that are looked at."""


class RelatedBrowser:
    """Answers the call; any thread."""

    def __init__(self, services: Services, browser: Browser, graphs: GraphBrowser) -> None:
        self._services, self._browser, self._graphs = services, browser, graphs

    def related(self, ref: str, view: View, limit: int) -> Json:
        """The best ``limit`` notes. Raises NotFound, Conflict (``ambiguous``)."""
        found = self._browser.find(ref, view)
        warnings: list[str] = []
        near: dict[int, tuple[float, int]] = {}
        snapshot = self._browser.snapshot()
        if isinstance(found, NoteMeta):
            query = mean_vector(snapshot, found.key)
            if query is None:
                warnings.append("this note has no vectors yet: only links are looked at")
            else:
                near = near_notes(snapshot, query, found.key, view)
        reasons = self._linked(found, view)
        for key, (cosine, doc_key) in near.items():
            reasons.setdefault(key, []).insert(0, self._meaning(cosine, doc_key))
        scored = [
            (sum(reason["term"] for reason in given), meta, given)
            for key, given in reasons.items()
            if (meta := snapshot.note(key)) is not None and view.shows(meta)
        ]
        scored.sort(key=lambda row: (-row[0], row[1].path))
        best = scored[:limit]
        self._name_sections([reason for _, _, given in best for reason in given])
        return {
            "related": [
                {"note": self._browser.line(meta), "score": round(score, 6), "reasons": given}
                for score, meta, given in best
            ],
            "warnings": warnings,
        }

    def _linked(self, found: NoteMeta | StoredCanvas, view: View) -> dict[int, list[Json]]:
        shown = self._graphs.shown(view, with_tags=True)
        ball = graph.collect(
            found.id, shown.ties(), HOPS, MOST_TIES, ends=lambda node: shown.nodes[node]["kind"] != "note"
        )
        notes = self._browser.snapshot().notes
        reached = graph.best_ways(found.id, ball.ties.values(), HOPS)
        metas = self._browser.refs.by_id(set(reached), notes)
        reasons: dict[int, list[Json]] = {}
        for node, meta in metas.items():
            reach = reached[node]
            value = min(max(reach.score / graph.DECAY, -1.0), 1.0)
            reasons[meta.key] = [
                {
                    "kind": "links",
                    "value": round(value, 6),
                    "weight": LINKS,
                    "term": round(LINKS * value, 6),
                    "text": f"linked: {way_text(found.id, reach, shown.nodes)}",
                    "edges": [edge_out(shown.edges[tie.id]) for tie in reach.way],
                }
            ]
        return reasons

    @staticmethod
    def _meaning(cosine: float, doc_key: int) -> Json:
        return {
            "kind": "meaning",
            "value": round(cosine, 6),
            "weight": MEANING,
            "term": round(MEANING * cosine, 6),
            "text": "",
            "doc": doc_key,
        }

    def _name_sections(self, reasons: list[Json]) -> None:
        """Say where in the other note the near passage stands."""
        texts = read.texts(self._services.db, [reason["doc"] for reason in reasons if "doc" in reason])
        for reason in reasons:
            if "doc" not in reason:
                continue
            chunk = texts.get(reason.pop("doc"))
            place = " › ".join(chunk.section) if chunk is not None and chunk.section else ""
            reason["text"] = f"near in meaning ({reason['value']:.2f})" + (f", nearest in {place}" if place else "")
            reason["line"] = chunk.start_line if chunk is not None else None


def mean_vector(snapshot: HotSnapshot, key: int) -> NDArray[np.float32] | None:
    """The unit mean of a note's passage vectors, (dim,) float32; None while it has none."""
    docs = np.flatnonzero((snapshot.doc_note == snapshot.slot_of.get(key, -1)) & snapshot.alive)
    if not len(docs):
        return None
    ends = np.append(snapshot.passage_start, len(snapshot.passage_rows))
    rows = np.unique(np.concatenate([snapshot.passage_rows[ends[doc] : ends[doc + 1]] for doc in docs]))
    vectors = [snapshot.vectors.rows(int(row), int(row) + 1)[0] for row in rows if row >= 0]
    if not vectors:
        return None
    mean = np.mean(np.stack(vectors), axis=0, dtype=np.float64)
    norm = float(np.linalg.norm(mean))
    return np.asarray(mean / norm, dtype=np.float32) if norm > 0 else None


def near_notes(snapshot: HotSnapshot, query: NDArray[np.float32], but: int, view: View) -> dict[int, tuple[float, int]]:
    """Note key -> (cosine of its best passage, key of the document that has it) of the `NEAREST` shown notes."""
    scope = snapshot.scope(sorted(view.levels), sorted(view.hiding))
    scores = np.where(scope.docs, dense.cosines(snapshot, query), -np.inf)
    order = np.flatnonzero(scores >= FLOOR)
    order = order[np.lexsort((snapshot.doc_key[order], -scores[order]))]
    best: dict[int, tuple[float, int]] = {}
    for doc in order:
        meta = snapshot.notes[int(snapshot.doc_note[doc])]
        if meta is not None and meta.key != but and meta.key not in best:
            best[meta.key] = (float(scores[doc]), int(snapshot.doc_key[doc]))
            if len(best) == NEAREST:
                break
    return best


def way_text(start: str, reach: graph.Reach, nodes: dict[str, Json]) -> str:
    """A way in one line: ``-depends_on-> Pump <-references-``; ``start`` is its left end."""
    at, parts = start, []
    for place, tie in enumerate(reach.way):
        parts.append(f"<-{tie.relation}-" if tie.dst == at else f"-{tie.relation}->")
        at = tie.other(at)
        if place < len(reach.way) - 1:
            parts.append(str(nodes[at]["label"]))
    return " ".join(parts)
