"""Which note a reference means: id, note_id, path, file name, title or alias, in that order.

The index is built at the first look-up and then follows each snapshot by what changed, so a look-up costs the vault's
size only in identity comparisons.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from itertools import zip_longest
from typing import Any

from mindnetd.core.normal import normalize
from mindnetd.core.records import NoteMeta
from mindnetd.errors import Conflict, NotFound

MANY = 20
"""Candidates that an error names at most."""


def fold(text: str) -> str:
    """How references are compared: NFC, without case."""
    if text.isascii():
        return text.lower()
    return normalize("NFC", normalize("NFC", text).casefold())


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


Notes = Sequence[NoteMeta | None]
"""Notes by slot, as a snapshot has them; never changed once published."""


def names_of(meta: NoteMeta | None) -> set[str]:
    """Every spelling of every tier."""
    return {name for names in tiers(meta) for name in names} if meta else set()


class RefIndex:
    """All notes by everything they answer to; any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._notes: Notes = ()
        self._slots: dict[str, int | tuple[int, ...]] = {}

    def one(self, ref: str, found: list[NoteMeta]) -> NoteMeta:
        """The only one of ``found`` (from ``matches``). Raises NotFound; Conflict (``ambiguous``) with candidates."""
        if not found:
            raise no_note(ref)
        if len(found) > 1:
            raise ambiguous(ref, found)
        return found[0]

    def matches(self, ref: str, notes: Notes, shows: Callable[[NoteMeta], bool]) -> list[NoteMeta]:
        """All notes of the best tier in which any note matches, sorted by path."""
        wanted = fold(ref)
        candidates = self._look_up(wanted, notes)
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

    def by_path(self, path: str, notes: Notes) -> NoteMeta | None:
        """The note at this path, spelled as on disk; None where there is none."""
        return next((meta for meta in self._look_up(fold(path), notes) if meta.path == path), None)

    def called(self, name: str, notes: Notes) -> list[NoteMeta]:
        """Every note that answers to this in any tier, compared without case and composition."""
        return self._look_up(fold(name), notes)

    def by_id(self, ids: set[str], notes: Notes) -> dict[str, NoteMeta]:
        """The notes with these ids (UUIDs as they are in the metadata); unknown ones are left out."""
        found: dict[str, NoteMeta] = {}
        for wanted in ids:
            for meta in self._look_up(wanted, notes):
                if meta.id == wanted:
                    found[wanted] = meta
        return found

    def _look_up(self, wanted: str, notes: Notes) -> list[NoteMeta]:
        with self._lock:
            if notes is not self._notes:
                self._follow(notes)
            slots = self._slots.get(wanted, ())
        found = (notes[slot] for slot in ((slots,) if isinstance(slots, int) else slots))
        return [meta for meta in found if meta is not None]

    def _follow(self, notes: Notes) -> None:
        for slot, (old, new) in enumerate(zip_longest(self._notes, notes)):
            if old is not new:
                for name in names_of(old):
                    self._drop(name, slot)
                for name in names_of(new):
                    self._add(name, slot)
        self._notes = notes

    def _add(self, name: str, slot: int) -> None:
        held = self._slots.get(name)
        if held is None:
            self._slots[name] = slot  # nearly all names belong to one note: no tuple for those
        else:
            self._slots[name] = (*((held,) if isinstance(held, int) else held), slot)

    def _drop(self, name: str, slot: int) -> None:
        held = self._slots.pop(name)
        left = tuple(other for other in held if other != slot) if isinstance(held, tuple) else ()
        if left:
            self._slots[name] = left[0] if len(left) == 1 else left


def no_note(ref: str) -> NotFound:
    """The error of a reference that no note answers to, or none that may be seen."""
    return NotFound(f"no note answers to {ref!r}; a reference is an id, path, file name, title or alias")


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
