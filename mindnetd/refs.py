"""Which note a reference means: id, note_id, path, file name, title or alias, in that order.

The index is built at the first look-up and then follows each snapshot by what changed, so a look-up costs the vault's
size only in identity comparisons.
"""

from __future__ import annotations

import threading
import unicodedata
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from mindnetd.core.records import NoteMeta
from mindnetd.errors import Conflict, NotFound

MANY = 20
"""Candidates that an error names at most."""


def fold(text: str) -> str:
    """How references are compared: NFC, without case."""
    if text.isascii():
        return text.lower()
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", text).casefold())


def file_name(path: str) -> str:
    """The last part of a vault path."""
    return path.rpartition("/")[2]


def without_md(name: str) -> str:
    """A path or name without the ending ``.md`` (in any case)."""
    return name[:-3] if name[-3:].lower() == ".md" else name


def tiers(meta: NoteMeta) -> Iterator[tuple[str, ...]]:
    """What a note answers to, best first: one tuple of folded spellings a tier."""
    name = fold(file_name(meta.path))
    path = fold(meta.path)
    yield (fold(meta.id),)
    yield (fold(meta.note_id),) if meta.note_id else ()
    yield (path, without_md(path)) if "/" in path else (path,)
    yield (name, without_md(name))
    yield (fold(meta.title),)
    yield tuple(fold(alias) for alias in meta.aliases)


class RefIndex:
    """All notes by everything they answer to; any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._notes: Mapping[int, NoteMeta] = {}
        self._seen: dict[int, NoteMeta] = {}
        self._keys: dict[str, int | tuple[int, ...]] = {}

    def find(self, ref: str, notes: Mapping[int, NoteMeta], shows: Callable[[NoteMeta], bool]) -> NoteMeta:
        """The one note of ``notes`` (by key) that ``ref`` means, among those that ``shows`` lets through.

        Raises NotFound, or Conflict (``ambiguous``) with the candidates in its detail.
        """
        found = self.matches(ref, notes, shows)
        if not found:
            raise NotFound(f"no note answers to {ref!r}; a reference is an id, path, file name, title or alias")
        if len(found) > 1:
            raise ambiguous(ref, found)
        return found[0]

    def matches(self, ref: str, notes: Mapping[int, NoteMeta], shows: Callable[[NoteMeta], bool]) -> list[NoteMeta]:
        """All notes of the best tier in which any note matches, sorted by path."""
        wanted = fold(ref)
        candidates = [notes[key] for key in self._look_up(wanted, notes)]
        best: list[NoteMeta] = []
        best_tier = 99
        for meta in candidates:
            if not shows(meta):
                continue
            tier = next((n for n, names in enumerate(tiers(meta)) if wanted in names), 99)
            if tier < best_tier:
                best, best_tier = [meta], tier
            elif tier == best_tier:
                best.append(meta)
        exact = [meta for meta in best if meta.path == ref]  # two paths that differ in case or composition only
        return exact or sorted(best, key=lambda meta: meta.path)

    def by_id(self, ids: set[str], notes: Mapping[int, NoteMeta]) -> dict[str, NoteMeta]:
        """The notes with these ids (UUIDs as they are in the metadata); unknown ones are left out."""
        found: dict[str, NoteMeta] = {}
        for wanted in ids:
            for key in self._look_up(wanted, notes):
                if notes[key].id == wanted:
                    found[wanted] = notes[key]
        return found

    def _look_up(self, wanted: str, notes: Mapping[int, NoteMeta]) -> tuple[int, ...]:
        with self._lock:
            if notes is not self._notes:
                self._follow(notes)
            keys = self._keys.get(wanted, ())
        return (keys,) if isinstance(keys, int) else keys

    def _follow(self, notes: Mapping[int, NoteMeta]) -> None:
        changed = [meta for key, meta in notes.items() if self._seen.get(key) is not meta]
        gone = [meta for key, meta in self._seen.items() if key not in notes]
        for meta in gone + [self._seen[meta.key] for meta in changed if meta.key in self._seen]:
            for name in {name for names in tiers(meta) for name in names}:
                self._drop(name, meta.key)
        for meta in gone:
            del self._seen[meta.key]
        for meta in changed:
            self._seen[meta.key] = meta
            for name in {name for names in tiers(meta) for name in names}:
                self._add(name, meta.key)
        self._notes = notes

    def _add(self, name: str, key: int) -> None:
        held = self._keys.get(name)
        if held is None:
            self._keys[name] = key  # nearly all names belong to one note: no tuple for those
        else:
            self._keys[name] = (*((held,) if isinstance(held, int) else held), key)

    def _drop(self, name: str, key: int) -> None:
        held = self._keys.pop(name)
        left = tuple(other for other in held if other != key) if isinstance(held, tuple) else ()
        if left:
            self._keys[name] = left[0] if len(left) == 1 else left


def ambiguous(ref: str, found: list[NoteMeta]) -> Conflict:
    """The error of a reference that several notes answer to."""
    candidates: list[dict[str, Any]] = [
        {"id": meta.id, "note_id": meta.note_id, "path": meta.path, "title": meta.title} for meta in found[:MANY]
    ]
    more = f" and {len(found) - 3} more" if len(found) > 3 else ""
    paths = ", ".join(meta.path for meta in found[:3])
    return Conflict(
        f"{ref!r} means {len(found)} notes: {paths}{more}; use a path or an id",
        code="ambiguous",
        detail={"candidates": candidates, "count": len(found)},
    )
