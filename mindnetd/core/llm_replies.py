"""What a language model's reply says, once it is checked against the schema and against the text. Pure.

A reply that is no JSON of the schema is an error with a code, never "nothing found". What it says beyond the text is
dropped and counted: names that do not stand there, relations whose ends are not among the entities, loops.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mindnetd.core.identity import fold
from mindnetd.core.prompts import DESCRIPTION, EXAMPLE_NAMES, NAME, RELATION, TYPES
from mindnetd.core.stopwords import STOP_WORDS


class ReplyError(Exception):
    """A reply that cannot be used; ``code`` is ``llm_junk``."""

    code = "llm_junk"


@dataclass(frozen=True, slots=True)
class Named:
    """An entity that a reply names; ``key`` is its folded name."""

    name: str
    key: str
    type: str
    description: str


@dataclass(frozen=True, slots=True)
class Related:
    """A relation between two keys; ``type`` in the form of relation names."""

    source: str
    target: str
    type: str


@dataclass(frozen=True, slots=True)
class Extract:
    """What a reply says of a text. ``dropped``: names, relations that were not kept."""

    entities: tuple[Named, ...]
    relations: tuple[Related, ...]
    dropped: int


def types_of(reply: str, count: int) -> tuple[str, ...]:
    """The type of each of `count` numbered names. Raises ReplyError where one is missing or unknown."""
    found = _object(reply)
    types = tuple(str(found.get(str(number))) for number in range(1, count + 1))
    if any(one not in TYPES for one in types):
        raise ReplyError("a type is missing or unknown")
    return types


def extract_of(reply: str, text: str, known: Sequence[str] = ()) -> Extract:
    """The entities and relations of a reply about `text`. Relations may end at names of `known` too.

    Raises ReplyError; a reply whose every name is made up is one that found nothing, not an error.
    """
    found = _object(reply)
    listed, related = _items(found, "entities"), _items(found, "relations", needed=False)
    here = _Text(text)
    entities: dict[str, Named] = {}
    dropped = 0
    for one in listed:
        name, kind, said = (_string(one, key) for key in ("name", "type", "description"))
        name = " ".join(name.split())[:NAME]
        key = fold(name)
        if kind not in TYPES or key in entities or not here.says(name):
            dropped += 1
        else:
            entities[key] = Named(name, key, kind, " ".join(said.split())[:DESCRIPTION])
    ends = entities.keys() | {fold(name) for name in known}
    relations: dict[Related, None] = {}
    for one in related:
        source, target, kind = (_string(one, key) for key in ("source", "target", "relation"))
        relation = Related(fold(source), fold(target), relation_name(kind))
        if relation.source == relation.target or not relation.type or not {relation.source, relation.target} <= ends:
            dropped += 1
        else:
            relations[relation] = None
    return Extract(tuple(entities.values()), tuple(relations), dropped)


def check_summary(reply: str, title: str, sentences: Sequence[str]) -> None:
    """Raises ReplyError where a summary has no word in common with what it sums up: it is about something else.

    Texts that have no such words (scripts without spaces) pass.
    """
    of_text = _words_of(" ".join((title, *sentences)))
    if of_text and not of_text & _words_of(reply):
        raise ReplyError("the summary has no word of its sentences")


def _words_of(text: str) -> set[str]:
    common = STOP_WORDS["en"] | STOP_WORDS["de"]
    words = "".join(char if char.isalnum() else " " for char in fold(text)).split()
    return {word for word in words if len(word) > 3 and word not in common}


def relation_name(text: str) -> str:
    """As relations are called elsewhere: ``is part of`` is ``is_part_of``; "" where nothing is left."""
    words = "".join(char if char.isalnum() else " " for char in text[:RELATION].casefold()).split()
    return "_".join(words)


class _Text:
    """Whether a name stands in a text, apart from case and white space. Names of the prompt's example never do."""

    def __init__(self, text: str) -> None:
        self._text = fold(text)
        self._example = {fold(name) for name in EXAMPLE_NAMES}

    def says(self, name: str) -> bool:
        key = fold(name)
        if not any(char.isalpha() for char in key) or (key in self._example and key not in self._text):
            return False
        start = self._text.find(key)
        while start >= 0:
            end = start + len(key)
            before, after = self._text[start - 1 : start], self._text[end : end + 1]
            if not (before.isalnum() and key[0].isalnum()) and not (after.isalnum() and key[-1].isalnum()):
                return True
            start = self._text.find(key, start + 1)
        return False


def occurrences(text: str, key: str) -> int:
    """How often a folded name stands in a text, at least once."""
    return max(1, fold(text).count(key))


def _object(reply: str) -> Mapping[str, Any]:
    try:
        found = json.loads(reply)
    except (ValueError, RecursionError) as error:
        raise ReplyError("the reply is no JSON") from error
    if not isinstance(found, dict):
        raise ReplyError("the reply is no JSON object")
    return found


def _items(found: Mapping[str, Any], name: str, *, needed: bool = True) -> list[Mapping[str, Any]]:
    items = found.get(name)
    if items is None and not needed:
        return []
    if not isinstance(items, list) or not all(isinstance(one, dict) for one in items):
        raise ReplyError(f"the reply has no list {name}")
    return items


def _string(one: Mapping[str, Any], name: str) -> str:
    value = one.get(name)
    if not isinstance(value, str):
        raise ReplyError(f"an item of the reply has no {name}")
    return value
