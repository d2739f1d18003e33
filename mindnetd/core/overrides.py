"""What a note says of its own place in the ranking: three numbers in its frontmatter, each in [0, 1]."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

NAMES = ("retriever_weight", "relevance", "time_weight_override")
_NUMBER = re.compile(r"[+-]?(?:\d{1,15}(?:[.,]\d{0,15})?|[.,]\d{1,15})")


@dataclass(frozen=True, slots=True)
class Overrides:
    """None: the note does not say, or not usably."""

    retriever_weight: float | None
    relevance: float | None
    time_weight_override: float | None


def overrides_of(frontmatter: Mapping[str, Any]) -> Overrides:
    """The overrides in parsed frontmatter; keys are compared without case, the first of several holds."""
    found: dict[str, Any] = {}
    for key, value in frontmatter.items():
        found.setdefault(key.casefold(), value)
    return Overrides(*(number_in(scalar(found.get(name)), 0, 1) for name in NAMES))


def scalar(value: Any) -> str | None:
    """A non-empty text with single spaces; a list of one text counts as that text; else None."""
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    return " ".join(value.split()) or None if isinstance(value, str) else None


def number_in(text: str | None, low: float, high: float) -> float | None:
    """The number that `text` writes, with a decimal point or comma, if it lies within the bounds."""
    if text is None or not _NUMBER.fullmatch(text):
        return None
    value = float(text.replace(",", "."))
    return value if low <= value <= high else None
