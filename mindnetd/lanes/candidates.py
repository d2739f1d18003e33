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
from mindnetd.lanes import dense, title
from mindnetd.lanes.dense import Near
from mindnetd.lanes.lexical import Slot
from mindnetd.lanes.segments import BoolArray
from mindnetd.lanes.snapshot import HotSnapshot, Scope
from mindnetd.lanes.vectors import Matrix

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


def rank(asked: Asked, lanes: Lanes) -> list[Place]:
    """The ``top_k`` best documents. Every candidate of any lane gets its exact score in all of them."""
    at = _candidates(asked, lanes)
    if not len(at):
        return []
    cosines = dense.exact(asked.snapshot, at, asked.vector, lanes.rows) if asked.vector is not None else None
    lang = question_lang(asked.parsed.words, asked.scope.langs)
    columns = rules.fuse(asked.settings, lang, cosines, None if lanes.words is None else lanes.words[at])
    if "title" in asked.spec.lanes:
        values = _title_values(lanes.named, at, rules.add_up(columns, len(at)))
        columns["title"] = (values, asked.settings.title_weight)
    order = best_first(asked.snapshot, at, rules.add_up(columns, len(at)))
    columns["diversity"] = (rules.spread(asked.snapshot.doc_note[at], order), asked.settings.diversity)
    order = best_first(asked.snapshot, at, rules.add_up(columns, len(at)))[: asked.spec.top_k]
    found: list[Place] = []
    for i in order:
        terms = {name: Term(float(values[i]), weight) for name, (values, weight) in columns.items()}
        note = int(asked.snapshot.doc_note[at[i]])
        key = int(asked.snapshot.doc_key[at[i]])
        meta = asked.snapshot.notes[note]
        standing = _standing(lanes, int(at[i]), None if cosines is None else float(cosines[i]))
        if terms.get("title", Term(0.0, 0.0)).value > 0:
            standing["title"] = (1, 1.0)
        found.append(Place(key, note, meta is not None and meta.key == key, rules.total(terms), terms, standing))
    return found


def _candidates(asked: Asked, lanes: Lanes) -> NDArray[np.int32]:
    """Document slots (ascending): the best of each lane and everything that is asked for by name."""
    chosen = np.zeros(len(asked.snapshot.doc_key), bool)
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
