"""Notes that a property names in plain text: ``depends_on: emb-403``, ``assigned_to: Bench Team``.

Only under keys that mean a relation wherever they stand, since anywhere else a text is a text. It is tried as a
frontmatter id first, then as a wikilink would be. For Obsidian it is no link.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from mindnetd.core.links import ADDRESS, relation_name, split_target
from mindnetd.core.records import Link

RELATIONS = frozenset((
    "references", "depends_on", "assigned_to", "related_to", "derived_from", "inspired_by", "supports", "contradicts",
    "mentions", "belongs_to",
))  # fmt: skip
"""The relations of the design that people declare."""

_NO_NAMES = frozenset(("true", "false", "yes", "no", "none", "null", "n/a", "tbd", "-", "--", "?"))
_LONGEST = 250
"""Characters of the longest file name; what is longer is prose."""


def named_notes(values: Mapping[str, Any], lines: Mapping[str, int]) -> tuple[Link, ...]:
    """The plain texts of relation keys, as links of kind ``plain`` (an address: ``url``), in file order.

    `values` is parsed frontmatter, `lines` the file line of each top-level key without case.
    """
    return tuple(_named_notes(values, lines))


def _named_notes(values: Mapping[str, Any], lines: Mapping[str, int]) -> Iterator[Link]:
    for key, value in values.items():
        relation = relation_name(key)
        if relation not in RELATIONS:
            continue
        line = lines.get(key.casefold())
        for place, text in enumerate(value) if isinstance(value, list) else ((None, value),):
            name = " ".join(text.split()) if isinstance(text, str) else ""
            if not _is_name(name):
                continue
            where = key if place is None else f"{key}.{place}"
            if ADDRESS.match(name):
                yield Link("url", name, name, line=line, property=where, relation=relation)
                continue
            target, heading, block = split_target(name)
            if target.strip():
                yield Link("plain", name, target.strip(), heading, block, None, line, where, relation=relation)


def _is_name(text: str) -> bool:
    return 0 < len(text) <= _LONGEST and "[[" not in text and "{{" not in text and text.casefold() not in _NO_NAMES
