"""How lanes become one score. Pure arithmetic: what is explained is what is added.

`S = sum of the terms` in the order of the explanation; every later ranking rule is one more term, not a new road.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import NDArray

FIELD_WEIGHTS: Mapping[str, float] = {"title": 2.0, "aliases": 1.0, "headings": 0.5, "tags": 1.0, "body": 1.0}
"""Weights of the BM25 fields. Sums of quarters are exact in floating point: no score depends on the order of adding."""

K1, B = 1.2, 0.75

RELATION_WEIGHTS: Mapping[str, float] = {
    "references": 1.0,
    "related_to": 0.6,
    "depends_on": 1.2,
    "belongs_to": 0.8,
    "derived_from": 1.1,
    "inspired_by": 0.8,
    "supports": 1.0,
    "contradicts": -0.9,
    "prev": 0.0,
    "next": 0.0,
    "backlink": 0.0,
}
"""What going along a relation is worth (design section 6)."""
DAY_S = 86_400.0


@dataclass(frozen=True, slots=True)
class RetrievalSettings:
    """``retrieval.yaml`` as far as it is used by now. Swapped whole, never changed."""

    alpha: float = 0.53
    beta: float = 0.17
    gamma: float = 0.2
    """Weight of the graph term."""
    delta: float = 0.02
    """Weight of the time term."""
    epsilon: float = 0.02
    """Weight of the type term."""
    zeta: float = 0.05
    """Weight of a note's own ``relevance``."""
    decay: float = 0.0025
    """``lambda``: how fast notes fade, by day."""
    hops: int = 1
    """Hops of the graph term of a question that does not say how many."""
    relation_weights: Mapping[str, float] = field(default_factory=lambda: RELATION_WEIGHTS)
    fusion: Literal["weighted", "rrf"] = "weighted"
    k_l: int = 100
    k_v: int = 100
    top_k: int = 10
    """Results of a question that does not say how many."""
    rrf_k: int = 60
    title_weight: float = 2.0
    diversity: float = 0.1
    exclude_flags: tuple[str, ...] = ("draft", "needs_review", "private_journal")
    dense_languages: tuple[str, ...] = ("en",)
    """Languages the embedding model was made for; elsewhere the words lead. Empty: all."""
    foreign_dense_share: float = 0.5
    """Share of alpha + beta that the vectors keep for questions in other languages."""
    shared_tag_notes: int = 8
    """A tag on so many notes at most relates them to each other (`core.shared_tags`); below 2: none does."""


NOTHING: Mapping[str, object] = {}


@dataclass(frozen=True, slots=True)
class Term:
    """One term of a score: ``value`` in [0, 1] (diversity: [-1, 0], graph: [-1, 1]) times ``weight``."""

    value: float
    weight: float
    extra: Mapping[str, object] = field(default_factory=lambda: NOTHING)
    """What else is known of it: the edges that were walked, the age in days."""

    @property
    def term(self) -> float:
        """What is added to the score."""
        return self.value * self.weight


def total(terms: Mapping[str, Term]) -> float:
    """The score: the terms added in their order, from the left."""
    score = 0.0
    for term in terms.values():
        score += term.term
    return score


Columns = dict[str, tuple[NDArray[np.float64], float]]
"""name -> (values by candidate, weight), in the order of adding."""


def add_up(columns: Columns, count: int) -> NDArray[np.float64]:
    """The scores of `count` candidates: the same additions in the same order as `total`."""
    scores = np.zeros(count)
    for values, weight in columns.values():
        scores = scores + values * weight
    return scores


def ages(at: NDArray[np.float64], now: float) -> NDArray[np.float64]:
    """Whole days since `at`, 0 for what lies ahead: within a day nothing changes its place by the clock alone."""
    return np.maximum(np.floor((now - at) / DAY_S), 0.0)


def fading(days: NDArray[np.float64], decay: float, fixed: NDArray[np.float64]) -> NDArray[np.float64]:
    """The time term: ``exp(-decay * days)``, or what the note says itself (``fixed``, NaN where it does not)."""
    return np.where(np.isnan(fixed), np.exp(-decay * days), fixed)


def dense_share(settings: RetrievalSettings, lang: str) -> float:
    """How much of alpha + beta the vectors get for a question in this language."""
    if not settings.dense_languages or lang in (*settings.dense_languages, "und"):
        return settings.alpha / (settings.alpha + settings.beta)
    return settings.foreign_dense_share


def fuse(
    settings: RetrievalSettings, lang: str, cosines: NDArray[np.float64] | None, words: NDArray[np.float64] | None
) -> Columns:
    """The terms of the lanes. `cosines` and `words` are exact, by candidate; None: the lane does not take part.

    weighted: ``sim = (cos + 1) / (best cos + 1)``; ``kw = BM25 / best BM25``; a lane that is alone has the weight of
    both, so that the other terms weigh as they always do. rrf: one term. Where a document has no
    vector (yet), its words stand in for its meaning, ``sim = kw``: while vectors stream in, or where
    ``embedding_exclude`` forbids them, a note must not lose half of its score for what nobody has measured.
    """
    if settings.fusion == "rrf":
        return {"rrf": (_rrf(settings, cosines, words), settings.alpha + settings.beta)}
    share = dense_share(settings, lang) if cosines is not None and words is not None else float(words is None)
    columns: Columns = {}
    kw = None if words is None else _of_best(words)
    if cosines is not None:
        known = np.isfinite(cosines)
        sim = _of_best(np.where(known, cosines + 1.0, 0.0))
        if kw is not None:
            sim = np.where(known, sim, kw)
        columns["sim"] = (sim, (settings.alpha + settings.beta) * share)
    if kw is not None:
        columns["kw"] = (kw, (settings.alpha + settings.beta) * (1.0 - share))
    return columns


def _of_best(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """Scores as shares of the best one; all 0 where that is 0."""
    best = float(scores.max(initial=0.0))
    return scores / best if best > 0 else scores


def _rrf(
    settings: RetrievalSettings, cosines: NDArray[np.float64] | None, words: NDArray[np.float64] | None
) -> NDArray[np.float64]:
    """Reciprocal ranks, scaled so that the first of every lane has 1. What a lane does not know adds nothing."""
    lanes = [lane for lane in (cosines, words) if lane is not None]
    out = np.zeros(len(lanes[0]) if lanes else 0)
    for lane, floor in ((cosines, -np.inf), (words, 0.0)):
        if lane is not None:
            ranks = 1 + np.searchsorted(np.sort(-lane), -lane, side="left")
            out = out + np.where(lane > floor, 1.0 / (settings.rrf_k + ranks), 0.0)
    return out * (settings.rrf_k + 1) / max(len(lanes), 1)


def spread(notes: NDArray[np.int32], order: Sequence[int]) -> NDArray[np.float64]:
    """The diversity term: 0 for the best candidate of a note, then -1/2, -2/3, ... (`order`: best first)."""
    note_of = notes.tolist()
    values = [0.0] * len(note_of)
    seen: dict[int, int] = {}
    for place in order:  # some hundred candidates: plain Python is done before numpy has begun
        before = seen.get(note_of[place], 0)
        seen[note_of[place]] = before + 1
        if before:
            values[place] = -before / (before + 1.0)
    return np.array(values)
