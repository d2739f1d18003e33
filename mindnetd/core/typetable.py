"""Note types: what `types.yaml` says of each, as one immutable table. A note is derived from its bytes and this table.

`DEFAULT_TYPES` is the shipped `config/types.yaml`, value by value (a test compares the two). The values of concept,
task, experience and project are the source's; those of the other eight are ours (`docs/types.md` says why).
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from mindnetd.core.exclude import Classifier, Rules, compile_rules
from mindnetd.core.identity import nfc
from mindnetd.core.notetypes import FIXED_OVERLAP, PROFILES
from mindnetd.core.records import VISIBILITIES, HashMode, ParsedNote, Profile, Visibility

REQUIRED = ("title", "id", "type", "status", "created")
"""What a typed note should say (design, section 9), where its type asks for nothing else."""
NEUTRAL_WEIGHT = 0.5
"""The retriever weight of a note without a known type."""

_MARKS_AROUND = re.compile(r"^[\W_]+|[\W_]+$")


@dataclass(frozen=True, slots=True)
class NoteType:
    """What one type says of its notes. The defaults are those of a note without a known type."""

    chunk_profile: str | None = None
    """A name of `PROFILES`; None: the configured default."""
    edge_defaults: tuple[str, ...] = ()
    """Relations that each plain link of such a note has besides, as rule edges."""
    retriever_weight: float = NEUTRAL_WEIGHT
    """In [0, 1]: the type term of the score."""
    required: tuple[str, ...] = REQUIRED
    allowed: tuple[str, ...] | None = None
    """The only further properties that such a note should have; None: any."""
    hash_mode: HashMode | None = None
    edge_weight_offsets: Mapping[str, float] = field(default_factory=dict)
    """Relation -> what is added to its weight where the ranking walks an edge of such a note. Nothing stored."""


@dataclass(frozen=True, slots=True)
class TypeTable:
    """`types.yaml`, checked. Names of types and words of status are lower case; asked for in any case.

    `section_rules` maps a heading as `heading_key` makes it to a relation. `visibility_defaults` maps a type's name, or
    a folder glob (with a ``/``), to the visibility of notes that do not say theirs.
    """

    types: Mapping[str, NoteType]
    status: tuple[str, ...]
    section_rules: Mapping[str, str]
    visibility_defaults: Mapping[str, Visibility] = field(default_factory=dict)

    def knows(self, name: str | None) -> bool:
        """Whether there is such a type."""
        return _key(name) in self.types

    def of(self, name: str | None) -> NoteType:
        """What the type says; of an unknown type, or none, the neutral answer."""
        return self.types.get(_key(name), NO_TYPE)

    def weight_of(self, name: str | None) -> float:
        """The retriever weight of a type, in [0, 1]; 0.5 for none that is known."""
        return self.of(name).retriever_weight

    def edge_defaults(self, name: str | None) -> tuple[str, ...]:
        """The relations that a plain link in a note of this type has by rule."""
        return self.of(name).edge_defaults

    def edge_weight_offset(self, name: str | None, relation: str) -> float:
        """What the type of the note that declares an edge adds to the weight of its relation; mostly 0."""
        return self.of(name).edge_weight_offsets.get(relation, 0.0)

    def required(self, name: str | None) -> tuple[str, ...]:
        """The properties that a note of this type should have."""
        return self.of(name).required

    def section_relation(self, heading: str) -> str | None:
        """The relation of links under a heading with this plain text ("See also:"), or None."""
        return self.section_rules.get(heading_key(heading))

    def profile_of(self, note: ParsedNote, default: str = "medium", overlap: float | None = None) -> Profile:
        """Return the chunk profile of `note`: its own ``chunk_profile``, else its type's, else `default`.

        An unknown name counts as absent. `overlap` (``chunking.overlap``) replaces the profile's, but for `classic`.
        Raises KeyError if `default` is no profile: the configuration is checked before it comes here.
        """
        wanted = ((note.chunk_profile or "").strip().lower(), self.of(note.type).chunk_profile, default)
        profile = PROFILES[next((name for name in wanted if name in PROFILES), default)]
        if overlap is None or profile.name in FIXED_OVERLAP:
            return profile
        return dataclasses.replace(profile, overlap=overlap)

    def hash_mode_of(self, note: ParsedNote, configured: HashMode = "body") -> HashMode:
        """Return which hash makes `note` a changed one: its own ``hash_mode``, else its type's, else the configured."""
        return note.hash_mode or self.of(note.type).hash_mode or configured

    def visibility_default(self, name: str | None, path: str, configured: Visibility = "internal") -> Visibility:
        """The visibility of a note that does not say its own.

        The most hidden of the rules that fit its type or its path; `configured` (``privacy.default_visibility``) where
        none does: an omission must not widen who reads a note.
        """
        fitting = [
            level
            for rule, level in self.visibility_defaults.items()
            if (_globs(rule).excludes(path) if "/" in rule else rule == _key(name))
        ]
        return max(fitting, key=VISIBILITIES.index, default=configured)

    def as_json(self) -> dict[str, Any]:
        """The table as JSON can hold it, for snapshots; `from_json` reads it back."""
        return {
            "types": {name: _plain(kind) for name, kind in sorted(self.types.items())},
            "status": list(self.status),
            "section_rules": dict(sorted(self.section_rules.items())),
            "visibility_defaults": dict(sorted(self.visibility_defaults.items())),
        }


def from_json(data: Mapping[str, Any]) -> TypeTable:
    """The table of `TypeTable.as_json`. Raises KeyError, TypeError or AttributeError for anything else."""
    return TypeTable(
        types={name: _kind(values) for name, values in data["types"].items()},
        status=tuple(data["status"]),
        section_rules=dict(data["section_rules"]),
        visibility_defaults=dict(data["visibility_defaults"]),
    )


def _kind(values: Mapping[str, Any]) -> NoteType:
    given: dict[str, Any] = {key: tuple(value) if isinstance(value, list) else value for key, value in values.items()}
    return NoteType(**given)


def heading_key(heading: str) -> str:
    """A heading as `section_rules` compares it: NFC, no case, single spaces, no marks around it ("🔗 See also:")."""
    return _MARKS_AROUND.sub("", " ".join(nfc(heading).casefold().split()))


def _key(name: str | None) -> str:
    return " ".join((name or "").lower().split())


def _plain(kind: NoteType) -> dict[str, Any]:
    values = {item.name: getattr(kind, item.name) for item in dataclasses.fields(NoteType)}
    return {key: list(value) if isinstance(value, tuple) else value for key, value in values.items()}


@lru_cache(maxsize=256)
def _globs(pattern: str) -> Classifier:
    return compile_rules(Rules(ignore=(pattern,)))


NO_TYPE = NoteType()

DEFAULT_TYPES = TypeTable(
    types={
        "concept": NoteType("medium", ("references", "related_to"), 0.33),
        "task": NoteType("short", ("depends_on", "belongs_to"), 0.80),
        "experience": NoteType("medium", ("derived_from", "inspired_by"), 0.90),
        "project": NoteType("long", ("references", "depends_on"), 0.95),
        # ours
        "thought": NoteType("short", ("related_to", "inspired_by"), 0.40),
        "journal": NoteType("short", ("related_to",), 0.35, required=("type",)),
        "person": NoteType("short", ("related_to",), 0.50, required=("title", "id", "type", "status")),
        "meeting": NoteType("medium", ("references", "related_to"), 0.55),
        "milestone": NoteType("short", ("depends_on", "belongs_to"), 0.75),
        "decision": NoteType("medium", ("references", "derived_from"), 0.85),
        "resource": NoteType("long", ("references", "related_to"), 0.45),
        "recommendation": NoteType("medium", ("derived_from", "supports"), 0.65),
    },
    status=(
        *("draft", "active", "done", "archived"),
        # ours
        *("open", "in-progress", "waiting", "paused", "cancelled"),
        *("proposed", "accepted", "rejected", "superseded"),
        *("seedling", "budding", "evergreen"),
    ),
    section_rules={
        **dict.fromkeys(("see also", "related", "related notes", "related topics", "related to"), "related_to"),
        **dict.fromkeys(("siehe auch", "bezug", "bezüge", "verwandt", "verwandtes"), "related_to"),
        **dict.fromkeys(("verwandte notizen", "verwandte themen"), "related_to"),
    },
)
"""The table without any `types.yaml`."""
