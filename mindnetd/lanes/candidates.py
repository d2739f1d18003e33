"""From lanes to one order: the best of every lane, scored exactly in all lanes, fused, explained."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mindnetd.core import rank as rules
from mindnetd.core.analyze import question_lang
from mindnetd.core.querytext import QueryText
from mindnetd.core.rank import RetrievalSettings, Term
from mindnetd.lanes import dense, title
from mindnetd.lanes.lexical import Slot
from mindnetd.lanes.segments import BoolArray
from mindnetd.lanes.snapshot import HotSnapshot, Scope
from mindnetd.lanes.vectors import Matrix
from mindnetd.spec import QuerySpec

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


def rank(asked: Asked, docs: BoolArray, words: Floats, near: NDArray[np.float32] | None) -> list[Place]:
    """The ``top_k`` best of `docs`. `words` is BM25 by document slot, `near` the cosines (None: no dense lane)."""
    spec, snapshot = asked.spec, asked.snapshot
    named = title.named(snapshot, spec.text, docs) if "title" in spec.lanes else []
    words = np.where(docs, words, 0.0) if "lexical" in spec.lanes else np.zeros(len(docs))
    near = np.where(docs, near, -np.inf) if near is not None else None
    chosen = set(_best(words, max(asked.settings.k_l, spec.top_k), 0.0))
    if near is not None:
        chosen |= set(_best(near, max(asked.settings.k_v, spec.top_k), -np.inf))
    chosen |= {place for _, places in named for place in places}
    at = np.array(sorted(chosen), np.int32)
    if not len(at):
        return []
    cosines = dense.exact(snapshot, at, asked.vector) if asked.vector is not None else None
    columns = _columns(asked, words, cosines, at)
    base = rules.add_up(columns, len(at))
    if named:
        columns["title"] = (_title_column(named, at, base), asked.settings.title_weight)
    else:
        columns["title"] = (np.zeros(len(at)), asked.settings.title_weight)
    base = rules.add_up(columns, len(at))
    order = _order(snapshot, at, base)
    columns["diversity"] = (rules.spread(snapshot.doc_note[at], order), asked.settings.diversity)
    scores = rules.add_up(columns, len(at))
    order = _order(snapshot, at, scores)[: spec.top_k]
    return [_place(asked, columns, int(i), at, words, near, cosines) for i in order]


def _best(scores: NDArray[np.floating], count: int, floor: float) -> list[int]:
    """Slots of the `count` best scores above `floor`, and of all that equal the last of them."""
    above = np.flatnonzero(scores > floor)
    if len(above) > count:
        kept = scores[above]
        above = above[kept >= np.partition(kept, len(kept) - count)[len(kept) - count]]
    return [int(place) for place in above]


def _columns(asked: Asked, words: Floats, cosines: Floats | None, at: NDArray[np.int32]) -> rules.Columns:
    """The terms that the lanes give, by candidate."""
    settings = asked.settings
    kw = words[at] if "lexical" in asked.spec.lanes else None
    lang = question_lang(asked.parsed.words, asked.scope.langs)
    return rules.fuse(settings, lang, cosines, kw)


def _title_column(named: Sequence[tuple[int, list[int]]], at: NDArray[np.int32], base: Floats) -> Floats:
    """1 for the best document of every note that is asked for by name."""
    values = np.zeros(len(at))
    for _, places in named:
        here = np.searchsorted(at, places)
        values[here[np.argmax(base[here])]] = 1.0
    return values


def _order(snapshot: HotSnapshot, at: NDArray[np.int32], scores: Floats) -> list[int]:
    """Best first; equal scores by path and key, so that the order does not depend on how the index came to be."""

    def sort_key(i: int) -> tuple[float, str, int]:
        note = snapshot.notes[snapshot.doc_note[at[i]]]
        return -float(scores[i]), note.path if note is not None else "", int(snapshot.doc_key[at[i]])

    return sorted(range(len(at)), key=sort_key)


def _place(
    asked: Asked,
    columns: rules.Columns,
    i: int,
    at: NDArray[np.int32],
    words: Floats,
    near: NDArray[np.float32] | None,
    cosines: Floats | None,
) -> Place:
    slot = int(at[i])
    note = int(asked.snapshot.doc_note[slot])
    terms = {name: Term(float(values[i]), weight) for name, (values, weight) in columns.items()}
    lanes: dict[str, tuple[int, float]] = {}
    if words[slot] > 0:
        lanes["lexical"] = (int((words > words[slot]).sum()) + 1, float(words[slot]))
    if near is not None and cosines is not None and np.isfinite(cosines[i]):
        lanes["dense"] = (int((near > near[slot]).sum()) + 1, float(cosines[i]))
    if terms["title"].value > 0:
        lanes["title"] = (1, terms["title"].value)
    key = int(asked.snapshot.doc_key[slot])
    meta = asked.snapshot.notes[note]
    bare = meta is not None and meta.key == key
    return Place(key, note, bare, rules.total(terms), terms, lanes)
