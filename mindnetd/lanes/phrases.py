"""Quoted phrases: the postings say which documents hold the words, the texts say which hold them in order."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from mindnetd.core.querytext import QueryText, flat, has_phrase
from mindnetd.lanes import lexical
from mindnetd.lanes.segments import BoolArray
from mindnetd.lanes.snapshot import HotSnapshot, Scope
from mindnetd.results import ChunkText, TextSource

VERIFY_LIMIT = 2000
"""How many texts are read for one question."""
ENOUGH = 400
"""So many documents with the phrase are enough to rank; only for a question of more results more are looked for."""
_BATCH = 200


def verified(
    snapshot: HotSnapshot, scope: Scope, docs: BoolArray, parsed: QueryText, source: TextSource
) -> tuple[BoolArray, bool]:
    """The documents among `docs` with every phrase and no unwanted phrase, and whether all candidates were read."""
    complete = True
    if parsed.phrases:
        for phrase in parsed.phrases:
            docs = docs & lexical.holding(snapshot, scope, _slots(phrase, scope))
        holding, seen_all = _reading(snapshot, scope, docs, parsed.phrases, source, ENOUGH)
        docs, complete = holding, seen_all
    for phrase in parsed.not_phrases:
        suspects = docs & lexical.holding(snapshot, scope, _slots(phrase, scope))
        guilty, seen_all = _reading(snapshot, scope, suspects, (phrase,), source, VERIFY_LIMIT)
        docs, complete = docs & ~guilty, complete and seen_all
    return docs, complete


def _slots(phrase: Sequence[str], scope: Scope) -> list[lexical.Slot]:
    return [slot for token in phrase for slot in lexical.slots_of(token, scope.langs, keep_stops=True)]


def _reading(
    snapshot: HotSnapshot,
    scope: Scope,
    docs: BoolArray,
    wanted: Sequence[tuple[str, ...]],
    source: TextSource,
    enough: int,
) -> tuple[BoolArray, bool]:
    """The documents whose text holds every phrase; the likeliest are read first."""
    words = [slot for phrase in wanted for slot in _slots(phrase, scope)]
    scores = lexical.bm25(snapshot, scope, words)
    places = np.flatnonzero(docs)
    order = places[np.lexsort((snapshot.doc_key[places], -scores[places]))]
    found = np.zeros(len(docs), bool)
    for start in range(0, min(len(order), VERIFY_LIMIT), _BATCH):
        batch = order[start : start + _BATCH]
        texts = source.texts([int(snapshot.doc_key[place]) for place in batch])
        for place in batch:
            found[place] = any(
                all(has_phrase(text, phrase) for phrase in wanted) for text in _texts(snapshot, int(place), texts)
            )
        if found.sum() >= enough:
            return found, start + _BATCH >= len(order)
    return found, len(order) <= VERIFY_LIMIT


def _texts(snapshot: HotSnapshot, place: int, texts: Mapping[int, ChunkText]) -> Iterator[str]:
    """What a phrase may stand in: the window, or the names and headings over it."""
    chunk = texts.get(int(snapshot.doc_key[place]))
    note = snapshot.notes[snapshot.doc_note[place]]
    names = (note.title, *note.aliases, *note.tags) if note is not None else ()
    headings = chunk.section if chunk is not None else ()
    body = chunk.overlap_left + chunk.text + chunk.overlap_right if chunk is not None else ""
    # one text: a question with two phrases may have one in the title and one in the body; the bar keeps them apart
    yield " | ".join(flat(part) for part in (body, *headings, *names))
