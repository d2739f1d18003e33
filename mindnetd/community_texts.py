"""What the title and the summary of a community are made of: members as readers know them, and chunks about them."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from mindnetd.core.leiden_graph import Ints, induced
from mindnetd.core.results import ChunkText
from mindnetd.core.summaries import Member, Passage, ranked
from mindnetd.lanes.level_graph import LevelGraph
from mindnetd.store.read_communities import ChunkColumns, CommunityInputs

LOOKED_AT = 120
"""Members that may name a community."""
CENTRAL = 12
"""Members whose chunks are looked at."""
PASSAGES = 24
OF_ONE_NOTE = 3


class AboutIt:
    """What the title and the summary of one community are made of; ``order`` are its members, the best names first."""

    def __init__(self, shown: LevelGraph, positions: Ints, inputs: CommunityInputs, lang: Mapping[int, str]) -> None:
        self._shown, self._inputs, self._lang = shown, inputs, lang
        self.members = self._members(positions)
        self.order = ranked(self.members)
        self.chunks = self._chosen()

    def _members(self, positions: Ints) -> list[Member]:
        """The members that hold it together most; the others name no community and are in no summary."""
        shown = self._shown
        inside = induced(shown.weighted, positions)
        ends, weight = np.concatenate([inside.src, inside.dst]), np.tile(inside.weight, 2)
        strength = np.zeros(shown.weighted.size)
        strength[inside.node] = np.bincount(ends, weight, inside.size)
        worth = strength[positions] * np.sqrt(strength[positions] / np.maximum(shown.strength[positions], 1e-9))
        best = positions[np.lexsort((positions, -np.round(worth, 9)))[:LOOKED_AT]]
        self._numbers: list[int] = shown.weighted.node[best].tolist()
        return [
            Member(
                name=shown.view.names[number],
                aliases=shown.view.aliases(number)[:4],
                central=float(strength[position]),
                share=float(strength[position] / shown.strength[position]) if shown.strength[position] else 0.0,
                own=shown.view.is_note(number) is not None,
                type=shown.view.type(number),
            )
            for position, number in zip(best.tolist(), self._numbers, strict=True)
        ]

    def _chosen(self) -> dict[int, int]:
        """Keys of the chunks that say most of the central members -> the member whose note it begins, or -1."""
        shown, chunks = self._shown, self._inputs.chunks
        worth: dict[int, float] = {}
        about: dict[int, int] = {}
        for number in self.order[:CENTRAL]:
            mine = shown.of(self._numbers[number])
            central = self.members[number].central
            for key, count in zip(shown.chunk[mine].tolist(), shown.count[mine].tolist(), strict=True):
                worth[key] = worth.get(key, 0.0) + central * min(count, 3)
            first = self._first_chunk(self._numbers[number])
            if first is not None:
                worth[first] = worth.get(first, 0.0) + 3 * central
                about[first] = number
        found: dict[int, int] = {}
        of_note: dict[int, int] = {}
        for key, note in _best_first(chunks, worth):
            if of_note.get(note, 0) < OF_ONE_NOTE:
                of_note[note] = of_note.get(note, 0) + 1
                found[key] = about.get(key, -1)
            if len(found) == PASSAGES:
                break
        return found

    def _first_chunk(self, entity: int) -> int | None:
        """The first chunk of the note that an entity is, if that note may be seen."""
        if self._shown.view.is_note(entity) is None:
            return None
        note = int(self._shown.view.snapshot.note_key[entity])
        return self._inputs.first_chunk.get(note)

    def passages(self, texts: Mapping[int, ChunkText]) -> list[Passage]:
        """The chosen chunks that are still there, in their order."""
        found = []
        for key, about in self.chunks.items():
            text = texts.get(key)
            if text is not None:
                note = int(self._inputs.chunks.note[np.searchsorted(self._inputs.chunks.key, key)])
                found.append(Passage(text.id, key, note, self._lang.get(note, ""), text.text, about))
        return found


def _best_first(chunks: ChunkColumns, worth: Mapping[int, float]) -> list[tuple[int, int]]:
    """(key, note) of the chunks that are worth most; ties by what they say, whatever keys they have in this file."""
    key = np.fromiter(worth, dtype=np.int64, count=len(worth))
    value = np.round(np.fromiter(worth.values(), dtype=np.float64, count=len(worth)), 6)
    at = np.searchsorted(chunks.key, key)
    there = at < len(chunks.key)  # else a note without text
    there[there] = chunks.key[at[there]] == key[there]
    key, value, at = key[there], value[there], at[there]
    order = np.lexsort((key, chunks.mark[at], -value))
    return list(zip(key[order].tolist(), chunks.note[at[order]].tolist(), strict=True))
