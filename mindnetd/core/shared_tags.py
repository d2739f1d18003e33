"""Notes that share a rare tag: ``related_to`` by rule, found when somebody asks and stored nowhere.

Rarity counts notes, and nobody may learn from a count that there are notes which they may not see (law 9), so it is
taken over the notes that the asker sees. It would not be a row of one note either: a third note with the tag changes
what the tag says of the other two, and a save may only touch rows of its own.

A tag on `n` notes passes 1/n to each pair of them; a pair gets the sum over its tags, at most 1. That is the resource
allocation index (Zhou, Lü, Zhang: Predicting missing links via local information, 2009) over the graph of notes and
tags.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from mindnetd.core.identity import nfc
from mindnetd.core.records import NoteMeta


@dataclass(frozen=True, slots=True)
class SharedTags:
    """Two notes, by path, and the rare tags of both, as the first spells them. ``weight`` is in (0, 1]."""

    first: NoteMeta
    second: NoteMeta
    tags: tuple[str, ...]
    weight: float


class TagTable:
    """The notes of one snapshot by tag. Immutable once built; any thread."""

    def __init__(self, notes: Iterable[NoteMeta | None]) -> None:
        self._notes: dict[str, list[NoteMeta]] = {}
        for note in notes:
            if note is not None:
                for tag in tag_keys(note):
                    self._notes.setdefault(tag, []).append(note)

    def of(self, note: NoteMeta, shows: Callable[[NoteMeta], bool], most: int) -> tuple[SharedTags, ...]:
        """Every other note that shares a rare tag with `note`, strongest first, then by path.

        Only notes that `shows` exist here; a tag is rare while 2 to `most` of them have it.
        """
        found: dict[str, tuple[NoteMeta, dict[str, float]]] = {}
        for key, tag in tag_keys(note).items():
            notes = self._rare(key, shows, most)
            for other in notes:
                if other.id != note.id:
                    found.setdefault(other.id, (other, {}))[1][tag] = 1 / len(notes)
        pairs = [_pair(note, other, tags) for other, tags in found.values()]
        return tuple(sorted(pairs, key=lambda pair: (-pair.weight, pair.first.path, pair.second.path)))

    def count(self, shows: Callable[[NoteMeta], bool], most: int) -> int:
        """How many pairs of notes that `shows` share a rare tag."""
        pairs: set[tuple[int, int]] = set()
        for key in self._notes:
            keys = sorted(note.key for note in self._rare(key, shows, most))
            pairs.update((one, other) for place, one in enumerate(keys) for other in keys[place + 1 :])
        return len(pairs)

    def _rare(self, key: str, shows: Callable[[NoteMeta], bool], most: int) -> Sequence[NoteMeta]:
        """The shown notes with a tag; none if it is not rare among them."""
        notes: list[NoteMeta] = []
        for note in self._notes.get(key, ()):
            if shows(note):
                notes.append(note)
                if len(notes) > most:
                    return ()
        return notes if len(notes) > 1 else ()


def tag_keys(note: NoteMeta) -> dict[str, str]:
    """The tags of a note as they are compared (NFC, without case), each with the note's spelling."""
    return {nfc(tag).casefold(): tag for tag in reversed(note.tags)}


def _pair(one: NoteMeta, other: NoteMeta, tags: dict[str, float]) -> SharedTags:
    first, second = (one, other) if one.path < other.path else (other, one)
    return SharedTags(first, second, tuple(sorted(tags)), min(1.0, sum(tags.values())))
