"""Quoted phrases: the postings say which documents hold the words, the texts say which hold them in order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mindnetd.core.querytext import QueryText, flat, has_phrase
from mindnetd.core.results import ChunkText, TextSource
from mindnetd.deadline import Deadline
from mindnetd.lanes import lexical
from mindnetd.lanes.segments import BoolArray
from mindnetd.lanes.snapshot import HotSnapshot, Scope

VERIFY_LIMIT = 2000
"""How many texts are read for one question."""
ENOUGH = 400
"""So many documents with the phrase are enough to rank; only for a question of more results more are looked for."""
_BATCH = 200


@dataclass(frozen=True, slots=True)
class Reading:
    """Where phrases are looked for: one revision, one scope, and the texts."""

    snapshot: HotSnapshot
    scope: Scope
    source: TextSource
    deadline: Deadline

    def verified(self, docs: BoolArray, parsed: QueryText) -> tuple[BoolArray, bool]:
        """The documents among `docs` with every phrase and no unwanted phrase, and whether all candidates were read."""
        complete = True
        if parsed.phrases:
            for phrase in parsed.phrases:
                docs = docs & self._holding(phrase)
            docs, complete = self._read(docs, parsed.phrases, ENOUGH)
        for phrase in parsed.not_phrases:
            guilty, seen_all = self._read(docs & self._holding(phrase), (phrase,), VERIFY_LIMIT)
            docs, complete = docs & ~guilty, complete and seen_all
        return docs, complete

    def _slots(self, phrase: Sequence[str]) -> list[lexical.Slot]:
        return [slot for token in phrase for slot in lexical.slots_of(token, self.scope.langs, keep_stops=True)]

    def _holding(self, phrase: Sequence[str]) -> BoolArray:
        return lexical.holding(self.snapshot, self.scope, self._slots(phrase))

    def _read(self, docs: BoolArray, wanted: Sequence[tuple[str, ...]], enough: int) -> tuple[BoolArray, bool]:
        """The documents whose text holds every phrase; the likeliest are read first."""
        keys = self.snapshot.doc_key
        scores = lexical.bm25(self.snapshot, self.scope, [slot for phrase in wanted for slot in self._slots(phrase)])
        places = np.flatnonzero(docs)
        order = places[np.lexsort((keys[places], -scores[places]))]
        found = np.zeros(len(docs), bool)
        for start in range(0, min(len(order), VERIFY_LIMIT), _BATCH):
            self.deadline.check()
            batch = order[start : start + _BATCH]
            texts = self.source.texts([int(keys[place]) for place in batch])
            for place in batch:
                text = self._text(int(place), texts.get(int(keys[place])))
                found[place] = all(has_phrase(text, phrase) for phrase in wanted)
            if found.sum() >= enough:
                return found, start + _BATCH >= len(order)
        return found, len(order) <= VERIFY_LIMIT

    def _text(self, place: int, chunk: ChunkText | None) -> str:
        """What a phrase may stand in: the window, the headings over it, the note's names and tags."""
        note = self.snapshot.notes[self.snapshot.doc_note[place]]
        parts = [] if chunk is None else [chunk.overlap_left + chunk.text + chunk.overlap_right, *chunk.section]
        if note is not None:
            parts += [note.title, *note.aliases, *note.tags]
        return " | ".join(map(flat, parts))
