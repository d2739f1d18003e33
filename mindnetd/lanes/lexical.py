"""The lexical lane: BM25 over the resident postings, with statistics of exactly the documents that may be seen."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mindnetd.core.analyze import question_lang, slots
from mindnetd.core.rank import K1, B
from mindnetd.lanes.segments import BoolArray, IntArray
from mindnetd.lanes.snapshot import HotSnapshot, Scope

PREFIX_TERMS = 200
"""How many terms a prefix may stand for."""


@dataclass(frozen=True, slots=True)
class Slot:
    """One thing asked for: any of the terms, each in documents of some languages (None: of every language)."""

    terms: tuple[tuple[str, frozenset[str] | None], ...]


def slots_of(token: str, langs: Sequence[str], *, keep_stops: bool) -> list[Slot]:
    """What a token of a question asks for, over documents of these languages, each analysed in its own way."""
    by_lang = {lang: slots(token, lang) for lang in langs}
    wanted = {lang: entry for lang, entry in by_lang.items() if keep_stops or not entry.stop}
    if not wanted:
        return []
    found = []
    for alternatives in zip(*(entry.slots for entry in wanted.values()), strict=False):
        of_term: dict[str, set[str]] = {}
        for lang, terms in zip(wanted, alternatives, strict=True):
            for term in terms:
                of_term.setdefault(term, set()).add(lang)
        found.append(
            Slot(
                tuple((term, None if len(of) == len(langs) else frozenset(of)) for term, of in sorted(of_term.items()))
            )
        )
    return found


def question_slots(words: Sequence[str], langs: Sequence[str], snapshot: HotSnapshot, *, prefix: bool) -> list[Slot]:
    """The slots of all words of a question; stop words (of the note's language or the question's) only alone."""
    asked_in = question_lang(words, langs)
    content = [word for word in words if not slots(word, asked_in).stop]
    found = [slot for word in content for slot in slots_of(word, langs, keep_stops=False)]
    if prefix and words:
        found = [slot for word in content if word != words[-1] for slot in slots_of(word, langs, keep_stops=False)]
        found.append(_prefix_slot(words[-1], langs, snapshot))
    if not found:
        found = [slot for word in words for slot in slots_of(word, langs, keep_stops=True)]
    return list(dict.fromkeys(found))


def terms_in(asked: Sequence[Slot], lang: str) -> frozenset[str]:
    """All terms that are asked for in documents of a language."""
    return frozenset(term for slot in asked for term, langs in slot.terms if langs is None or lang in langs)


def _prefix_slot(word: str, langs: Sequence[str], snapshot: HotSnapshot) -> Slot:
    """The last word as the start of a word: every term that begins with it, and what it stands for as a whole."""
    whole = [term for slot in slots_of(word, langs, keep_stops=True) for term in slot.terms]
    folded = {terms[0] for terms in slots(word, "und").slots if len(terms) == 1} | {word}
    starts = min(folded, key=len) if len(folded) > 1 and word.startswith(min(folded, key=len)) else word
    begun = [t for t in snapshot.terms.starting_with(starts, PREFIX_TERMS) if t.startswith(word) or word.startswith(t)]
    known = {term for term, _ in whole}
    return Slot((*whole, *((term, None) for term in begun if term not in known)))


def postings(snapshot: HotSnapshot, slot: Slot, docs: BoolArray) -> tuple[IntArray, NDArray[np.float64]]:
    """The documents among `docs` that fill a slot (ascending), with their weights (the best of the alternatives)."""
    places: list[IntArray] = []
    weights: list[NDArray[np.float32]] = []
    for term, langs in slot.terms:
        code = snapshot.terms.ids.get(term)
        for row in () if code is None else (segment.find(code) for segment in snapshot.segments):
            if row is None:
                continue
            keep = docs[row[0]]
            if langs is not None:
                codes = [snapshot.langs.ids[lang] for lang in langs]
                keep &= np.isin(snapshot.note_lang[snapshot.doc_note[row[0]]], codes)
            places.append(row[0][keep])
            weights.append(row[1][keep])
    if not places:
        return np.zeros(0, np.int32), np.zeros(0)
    at, weight = np.concatenate(places), np.concatenate(weights).astype(np.float64)
    if len(at) and len(places) > 1 and len(slot.terms) > 1:
        order = np.lexsort((-weight, at))
        at, weight = at[order], weight[order]
        first = np.concatenate(([True], at[1:] != at[:-1]))
        at, weight = at[first], weight[first]
    return at, weight


def bm25(snapshot: HotSnapshot, scope: Scope, asked: Sequence[Slot]) -> NDArray[np.float64]:
    """BM25 of every document slot (0 where nothing matches or the scope does not reach), summed slot by slot."""
    scores = np.zeros(len(snapshot.doc_key))
    mean = scope.mean_length or 1.0
    for slot in asked:
        at, weight = postings(snapshot, slot, scope.docs)
        if not len(at):
            continue
        idf = math.log(1.0 + (scope.count - len(at) + 0.5) / (len(at) + 0.5))
        norm = K1 * (1.0 - B + B * snapshot.doc_length[at].astype(np.float64) / mean)
        scores[at] += idf * weight * (K1 + 1.0) / (weight + norm)
    return scores


def holding(snapshot: HotSnapshot, scope: Scope, asked: Sequence[Slot]) -> BoolArray:
    """The documents of the scope that fill every one of the slots."""
    found = scope.docs
    for slot in asked:
        here = np.zeros(len(found), bool)
        here[postings(snapshot, slot, scope.docs)[0]] = True
        found = found & here
    return found
