"""Edges by rule: what a note's plain links mean besides ``references``, because of where they stand.

Three rules, none of which repeats what is declared: the heading above the link (``section_rules``: *See also*, *Siehe
auch*), the note's own ``edge_hints``, and the ``edge_defaults`` of its type. A plain link is one of the body that no
key and no inline field gives a relation.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping

from mindnetd.core.records import Link, NodeKind, ParsedNote
from mindnetd.core.typetable import TypeTable

SECTION_WEIGHT = 0.8
HINT_WEIGHT = 0.6
TYPE_WEIGHT = 0.4
"""How sure each rule is, against 1.0 for what a person declared: a heading is about these links, hints are about all
links of one note, a type is about all notes of it (``docs/edges.md``)."""

_PLAIN_KINDS = ("wikilink", "markdown", "embed")
_ATTACHMENTS = frozenset((
    "avif", "bmp", "gif", "jpeg", "jpg", "png", "svg", "webp", "flac", "m4a", "mp3", "ogg", "wav", "webm", "3gp",
    "mkv", "mov", "mp4", "ogv", "pdf", "canvas", "base",
))  # fmt: skip
"""What Obsidian opens besides notes: a name that ends so will never be one."""


class RuleBook:
    """The rules of one note: which relations each of its links has besides, with the weight of each."""

    def __init__(self, note: ParsedNote, table: TypeTable) -> None:
        self._always = dict.fromkeys(table.edge_defaults(note.type), TYPE_WEIGHT)
        self._always |= dict.fromkeys(note.edge_hints, HINT_WEIGHT)
        self._lines: list[int] = []
        self._relations: list[str | None] = []
        if table.section_rules:
            self._read_headings(note, table)

    def of(self, link: Link, far: NodeKind) -> Mapping[str, float]:
        """Relation -> weight of the rule edges of a link whose far end is of that kind; empty for most links."""
        if link.relation != "references" or link.kind not in _PLAIN_KINDS or not _may_be_note(link, far):
            return {}
        place = bisect_right(self._lines, link.line or 0) - 1
        relation = self._relations[place] if place >= 0 else None
        return self._always if relation is None else {**self._always, relation: SECTION_WEIGHT}

    def _read_headings(self, note: ParsedNote, table: TypeTable) -> None:
        """What each section means: as its heading says, else as the section says that it is a part of."""
        above: list[tuple[int, str | None]] = []
        for heading in note.headings:
            while above and above[-1][0] >= heading.level:
                above.pop()
            relation = table.section_relation(heading.text) or (above[-1][1] if above else None)
            above.append((heading.level, relation))
            self._lines.append(heading.line)
            self._relations.append(relation)


def _may_be_note(link: Link, far: NodeKind) -> bool:
    if far == "unresolved":
        return link.target.rpartition(".")[2].casefold() not in _ATTACHMENTS
    return far == "note"
