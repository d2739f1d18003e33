"""What goes into the corpus-wide stage, and the entities that come out of it: plain frozen data."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class CorpusNote:
    """A note as the corpus-wide stage sees it."""

    key: int
    id: str
    path: str
    title: str
    type: str | None
    lang: str


@dataclass(frozen=True, slots=True)
class CorpusSignal:
    """A signal with the keys of its note and of its chunk (of the note, where all of it says so)."""

    owner: int
    chunk: int
    kind: str
    name: str
    key: str
    weight: float
    count: int


@dataclass(frozen=True, slots=True)
class Entity:
    """An entity: ``names`` are its names with their keys, the canonical one first; ``source`` heuristic or llm."""

    id: str
    name: str
    key: str
    type: str
    name_type: str
    weight: float
    note: str | None
    names: tuple[tuple[str, str], ...]
    source: str = "heuristic"
    description: str | None = None
