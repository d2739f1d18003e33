"""A note held against `types.yaml`: what is missing, what is unknown. A hint to its author, never a refusal.

Only notes that take part are asked: those with a ``type`` or an ``id`` in their properties. A plain note of Obsidian
owes nobody a property (`docs/decisions/0010-note-types.md`).
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence

from mindnetd.core.records import Diagnostic, ParsedNote
from mindnetd.core.typetable import REQUIRED, TypeTable

CODES = ("type_unknown", "status_unknown", "field_missing", "field_unknown")
"""Every code that `check_note` gives."""
UNREADABLE = frozenset(("yaml_syntax", "yaml_limit", "yaml_not_mapping", "fm_unterminated"))
"""Codes of a property block that was read in part: what is missing from it cannot be told."""

SCHEMA_KEYS = frozenset((
    *REQUIRED, "modified", "updated", "area", "project", "tags", "depends_on", "assigned_to", "embedding_exclude",
    "hash_mode", "priority", "effort_min", "due", "aliases", "lang", "source", "sources", "visibility", "relevance",
    "time_weight_override", "retriever_weight", "chunk_profile", "edge_hints", "flags", "draft", "needs_review",
    "private_journal", "cssclasses",
))  # fmt: skip
"""Properties that every type allows."""


def check_note(note: ParsedNote, table: TypeTable) -> tuple[Diagnostic, ...]:
    """What `note` says otherwise than its type wants, each with the line: in the order of the checks."""
    if not (note.type or note.note_id):
        return ()
    found = [*_unknown(note, table)]
    if not any(one.code in UNREADABLE for one in note.diagnostics):
        found += [*_missing(note, table), *_not_allowed(note, table)]
    return tuple(found)


def _unknown(note: ParsedNote, table: TypeTable) -> Iterator[Diagnostic]:
    lines = note.property_lines
    if note.type is not None and not table.knows(note.type):
        hint = _nearest(note.type, tuple(table.types))
        yield Diagnostic("type_unknown", f"`type: {note.type[:40]}` is not in types.yaml{hint}", lines.get("type"))
    word = " ".join((note.status or "").lower().split())
    if word and word not in table.status:
        hint = _nearest(word, table.status)
        message = f"`status: {(note.status or '')[:40]}` is not in types.yaml{hint}"
        yield Diagnostic("status_unknown", message, lines.get("status"))


def _missing(note: ParsedNote, table: TypeTable) -> Iterator[Diagnostic]:
    """The required properties that are not there, or empty. A date in the file's name stands for ``created``."""
    given = {key.casefold() for key, value in note.frontmatter.items() if value not in (None, "", [])}
    if note.created is not None:
        given.add("created")
    line = note.property_lines.get("type", note.property_lines.get("id"))
    who = f"a note of type {note.type[:40]}" if note.type else "a note with an id"
    for name in table.required(note.type):
        if name not in given:
            yield Diagnostic("field_missing", f"`{name}` is missing: {who} should have one", line)


def _not_allowed(note: ParsedNote, table: TypeTable) -> Iterator[Diagnostic]:
    kind = table.of(note.type)
    if kind.allowed is None:
        return
    allowed = SCHEMA_KEYS.union(kind.allowed, kind.required)
    for key in note.frontmatter:
        if key.casefold() not in allowed:
            message = f"`{key[:40]}` is no property of type {note.type}{_nearest(key.casefold(), tuple(kind.allowed))}"
            yield Diagnostic("field_unknown", message, note.property_lines.get(key.casefold()))


def _nearest(word: str, valid: Sequence[str]) -> str:
    close = difflib.get_close_matches(word.lower(), valid, n=1, cutoff=0.6)
    return f"; did you mean {close[0]}?" if close else ""
