"""Which entity a signal means, once entities are known. One rule, for a save and for the whole corpus alike."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from mindnetd.core.identity import fold
from mindnetd.core.records import ResolvedLink, Signal

Meant = tuple[int, str, str]
"""Entity number, name, key."""

_EXTENSION = re.compile(r"\.(?:md|canvas)$", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Directory:
    """Who is called how: ``by_key`` folded names and aliases, ``by_note`` note ids; both lead to entity numbers."""

    by_key: Mapping[str, int]
    by_note: Mapping[str, int]

    def __bool__(self) -> bool:
        return bool(self.by_key or self.by_note)


def link_name(target: str) -> str:
    """The name of what a link that finds no file asks for: its last part, without the extension of a note."""
    return _EXTENSION.sub("", target.rstrip("/").rpartition("/")[2]).strip()


def link_answers(links: Iterable[ResolvedLink], note_id: Callable[[str], str | None]) -> dict[str, str | None]:
    """Link target as written -> id of the note it means, or "" where it means a file that is no note.

    Targets that nothing answers to are left out. `note_id` gives the id of a note's path, None for other files.
    """
    return {one.link.target: note_id(path) or "" for one in links if (path := one.leads_to) is not None}


def meant(signal: Signal, own: str, answers: Mapping[str, str | None], directory: Directory) -> Meant | None:
    """The entity that a signal of note `own` names and how it is spelled there, or None.

    A title or alias names its own note, a link its target (`answers` as of `link_answers`); a link to a note that the
    directory does not know is one to a missing note. A phrase that is nobody's name is tried without its first words,
    which may be capitalised because a sentence begins there.
    """
    name, key = signal.name, signal.key
    if signal.kind in ("title", "alias"):
        found = directory.by_note.get(own)
    elif signal.kind == "link":
        answer = answers.get(name)
        name = link_name(name)
        key = fold(name)
        known = answer is not None and (answer == "" or answer in directory.by_note)
        found = directory.by_note.get(answer or "") if known else directory.by_key.get(key)
    else:
        found = directory.by_key.get(key)
        while found is None and signal.kind == "phrase" and " " in key:
            name, key = name.partition(" ")[2], key.partition(" ")[2]
            found = directory.by_key.get(key)
    return None if found is None else (found, name, key)
