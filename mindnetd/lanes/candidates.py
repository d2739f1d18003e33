"""From lanes to one order: the best of every lane, scored exactly in all lanes, fused, explained."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mindnetd.core import rank as rules
from mindnetd.core.analyze import question_lang
from mindnetd.core.query import QuerySpec
from mindnetd.core.querytext import QueryText
from mindnetd.core.rank import RetrievalSettings, Term
from mindnetd.core.typetable import TypeTable
from mindnetd.lanes import dense, title
from mindnetd.lanes.dense import Near
from mindnetd.lanes.graph import EdgeView
from mindnetd.lanes.graph_term import Found, graph_values, joining, reached, walk_from, walked_edges
from mindnetd.lanes.lexical import Slot
from mindnetd.lanes.segments import BoolArray
from mindnetd.lanes.snapshot import HotSnapshot, Scope
from mindnetd.lanes.vectors import Matrix
from mindnetd.lanes.walk import Ground, Walk

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Asked:
    """A question put to one revision. ``vector`` is None where the dense lane does not take part."""

    snapshot: HotSnapshot
    spec: QuerySpec
    parsed: QueryText
    vector: Matrix | None
    settings: RetrievalSettings
    scope: Scope
    slots: tuple[Slot, ...]
    docs: BoolArray
    """The documents that may take part: those of the scope that all filters let through."""
    edges: EdgeView
    """As the asker may see them."""
    types: TypeTable
    now: float
    """When it is asked: seconds since 1970."""

    @property
    def hops(self) -> int:
        """How far the graph term walks."""
        return self.settings.hops if self.spec.graph_hops is None else self.spec.graph_hops

    @property
    def ground(self) -> Ground:
        """What it walks on."""
        return Ground(self.edges, self.scope.notes, self.snapshot.facts, self.types, self.settings.relation_weights)


@dataclass(frozen=True, slots=True)
class Place:
    """A document in the final order. ``bare``: it is a note without text."""

    key: int
    note: int
    bare: bool
    score: float
    terms: Mapping[str, Term]
    lanes: Mapping[str, tuple[int, float]]


@dataclass(frozen=True, slots=True)
class Lanes:
    """What the lanes say of every document slot that the filters let through. None: the lane does not take part."""

    words: Floats | None
    """BM25; 0 where nothing matches."""
    near: NDArray[np.float32] | None
    """Cosines; -inf without a vector."""
    rows: NDArray[np.float32] | None
    """The same by vector row, where the lane knows all of them."""
    named: Sequence[tuple[int, list[int]]]
    """Notes asked for by name, with their documents."""


def look(asked: Asked, docs: BoolArray, words: Floats | None, near: Near | None) -> Lanes:
    """The lanes of a question, narrowed to `docs`."""
    return Lanes(
        words=None if words is None else np.where(docs, words, 0.0),
        near=None if near is None else np.where(docs, near.docs, np.float32(-np.inf)),
        rows=None if near is None else near.rows,
        named=title.named(asked.snapshot, asked.spec.text, docs) if "title" in asked.spec.lanes else (),
    )


@dataclass(frozen=True, slots=True)
class Ranked:
    """All candidates, scored. ``at`` are their document slots (ascending); the rest is by candidate."""

    asked: Asked
    lanes: Lanes
    at: NDArray[np.int32]
    cosines: Floats | None
    columns: rules.Columns
    scores: Floats
    order: list[int]
    """Best first."""
    walk: Walk | None
    held: NDArray[np.bool_]
    """What the graph gives was cut: it would have lifted the note past the one that gave it."""
    days: Floats

    def place(self, i: int) -> Place:
        """One candidate with its explanation."""
        snapshot, slot = self.asked.snapshot, int(self.at[i])
        note, key = int(snapshot.doc_note[slot]), int(snapshot.doc_key[slot])
        terms = {}
        for name, (values, weight) in self.columns.items():
            extra: Mapping[str, object] = rules.NOTHING
            if name == "time":
                extra = {"age_days": int(self.days[i])}
            elif name == "graph":
                extra = self._walked(i, note)
            terms[name] = Term(float(values[i]), weight, extra)
        meta = snapshot.notes[note]
        standing = _standing(self.lanes, slot, None if self.cosines is None else float(self.cosines[i]))
        if terms.get("title", Term(0.0, 0.0)).value > 0:
            standing["title"] = (1, 1.0)
        return Place(key, note, meta is not None and meta.key == key, rules.total(terms), terms, standing)

    def _walked(self, i: int, note: int) -> Mapping[str, object]:
        """What is told of the graph term beside its value."""
        asked = self.asked
        if self.walk is None or not self.columns["graph"][0][i] or not asked.spec.explain:
            return {"edges": []}
        return {"edges": walked_edges(self.walk, asked.snapshot, note), "held": bool(self.held[i])}


def rank(asked: Asked, lanes: Lanes) -> list[Place]:
    """The ``top_k`` best documents. Every candidate of any lane gets its exact score in all of them."""
    ranked = score(asked, lanes)
    return [ranked.place(i) for i in ranked.order[: asked.spec.top_k]]


def score(asked: Asked, lanes: Lanes, also: Sequence[int] = ()) -> Ranked:
    """All candidates in order; the document slots `also` are among them whatever the lanes say."""
    snapshot, settings, facts = asked.snapshot, asked.settings, asked.snapshot.facts
    at = _candidates(asked, lanes, also)
    cosines = _cosines(asked, lanes, at)
    lang = question_lang(asked.parsed.words, asked.scope.langs)
    walked = None
    if asked.hops and settings.gamma and len(at):
        base = rules.add_up(rules.fuse(settings, lang, cosines, _words(lanes, at)), len(at))
        notes = snapshot.doc_note[at]
        named = np.isin(notes, [slot for slot, _ in lanes.named])
        found = Found(notes, base, best_first(snapshot, at, base), named)
        walked = walk_from(asked.ground, found, asked.hops)
        joined = _joined(asked, lanes, found, walked)
        if len(joined) and cosines is not None and asked.vector is not None:
            more = dense.exact(snapshot, joined, asked.vector, lanes.rows)
            at, cosines = np.concatenate((at, joined)), np.concatenate((cosines, more))
            in_order = np.argsort(at)
            at, cosines = at[in_order], cosines[in_order]
    columns = rules.fuse(settings, lang, cosines, _words(lanes, at))
    notes, base = snapshot.doc_note[at], rules.add_up(columns, len(at))
    days = rules.ages(facts.at[notes], asked.now)
    given, held = graph_values(walked, notes, at, base, settings.gamma)
    columns["graph"] = (given, settings.gamma)
    columns["time"] = (rules.fading(days, settings.decay, facts.fixed_time[notes]), settings.delta)
    columns["type"] = (facts.type_weights(notes, asked.types), settings.epsilon)
    columns["overrides"] = (np.nan_to_num(facts.relevance[notes]), settings.zeta)
    if "title" in asked.spec.lanes:
        columns["title"] = (_title_values(lanes.named, at, base), settings.title_weight)
    order_so_far = best_first(snapshot, at, rules.add_up(columns, len(at)))
    columns["diversity"] = (rules.spread(notes, order_so_far), settings.diversity)
    scores = rules.add_up(columns, len(at))
    return Ranked(asked, lanes, at, cosines, columns, scores, best_first(snapshot, at, scores), walked, held, days)


def _words(lanes: Lanes, at: NDArray[np.int32]) -> Floats | None:
    return None if lanes.words is None else lanes.words[at]


def _cosines(asked: Asked, lanes: Lanes, at: NDArray[np.int32]) -> Floats | None:
    return None if asked.vector is None else dense.exact(asked.snapshot, at, asked.vector, lanes.rows)


def _joined(asked: Asked, lanes: Lanes, found: Found, walked: Walk) -> NDArray[np.int32]:
    """What the walk brings in among the results: neighbours that no lane found and that score enough with the graph.

    Nothing where the words answer alone: who asks for words gets notes that have them.
    """
    if lanes.near is None:
        return np.zeros(0, np.int32)
    snapshot, settings = asked.snapshot, asked.settings
    at = reached(snapshot, walked, asked.docs, found.notes)
    at = at[np.isfinite(lanes.near[at])]
    share = rules.dense_share(settings, question_lang(asked.parsed.words, asked.scope.langs))
    guess = share * (lanes.near[at].astype(np.float64) + 1.0) / max(float(lanes.near.max(initial=-1.0)) + 1.0, 1e-9)
    if lanes.words is not None:
        guess = guess + (1.0 - share) * lanes.words[at] / max(float(lanes.words.max(initial=0.0)), 1e-9)
    given = walked.values[asked.edges.nodes_of[snapshot.doc_note[at]]]
    top_k = asked.spec.top_k
    least = float(found.base[found.order[top_k - 1]]) if len(found.order) >= top_k else 0.0
    scores = guess * (settings.alpha + settings.beta) + given * settings.gamma
    return joining(snapshot, walked, at, scores, least)


def _candidates(asked: Asked, lanes: Lanes, also: Sequence[int]) -> NDArray[np.int32]:
    """Document slots (ascending): the best of each lane, everything that is asked for by name, and `also`."""
    chosen = np.zeros(len(asked.snapshot.doc_key), bool)
    chosen[list(also)] = True
    for _, places in lanes.named:
        chosen[places] = True
    if lanes.words is not None:
        chosen[_best(lanes.words, max(asked.settings.k_l, asked.spec.top_k), 0.0)] = True
    if lanes.near is not None:
        chosen[_best(lanes.near, max(asked.settings.k_v, asked.spec.top_k), -np.inf)] = True
    return np.flatnonzero(chosen).astype(np.int32)


def _best(scores: NDArray[Any], count: int, floor: float) -> NDArray[np.int64]:
    """Slots of the `count` best scores above `floor`, and of all that equal the last of them."""
    above = np.flatnonzero(scores > floor)
    if len(above) > count:
        kept = scores[above]
        above = above[kept >= np.partition(kept, len(kept) - count)[len(kept) - count]]
    return above


def _title_values(named: Sequence[tuple[int, list[int]]], at: NDArray[np.int32], base: Floats) -> Floats:
    """1 for the best document of every note that is asked for by name, else 0."""
    values = np.zeros(len(at))
    for _, places in named:
        here = np.searchsorted(at, places)
        values[here[np.argmax(base[here])]] = 1.0
    return values


def best_first(snapshot: HotSnapshot, at: NDArray[np.int32], scores: Floats) -> list[int]:
    """Best first; equal scores by path and key, so that the order does not depend on how the index came to be."""

    def sort_key(i: int) -> tuple[str, int]:
        note = snapshot.notes[snapshot.doc_note[at[i]]]
        return note.path if note is not None else "", int(snapshot.doc_key[at[i]])

    by_score = np.argsort(-scores)
    ranked = scores[by_score]
    order: list[int] = by_score.tolist()
    same = np.flatnonzero(ranked[1:] == ranked[:-1])  # few: what has other scores needs no look at its note
    for run in np.split(same, np.flatnonzero(np.diff(same) > 1) + 1) if len(same) else ():
        first, end = int(run[0]), int(run[-1]) + 2
        order[first:end] = sorted(order[first:end], key=sort_key)
    return order


def _standing(lanes: Lanes, slot: int, cosine: float | None) -> dict[str, tuple[int, float]]:
    """lane -> (rank, exact score) of one document, where it matches at all."""
    found: dict[str, tuple[int, float]] = {}
    if lanes.words is not None and lanes.words[slot] > 0:
        found["lexical"] = (int(np.count_nonzero(lanes.words > lanes.words[slot])) + 1, float(lanes.words[slot]))
    if lanes.near is not None and cosine is not None and np.isfinite(cosine):
        found["dense"] = (int(np.count_nonzero(lanes.near > lanes.near[slot])) + 1, cosine)
    return found
