"""Names that mean the same: complete-linkage clustering of their vectors, with pairs that must stay apart.

Two groups become one only if every name of the one is near every name of the other (complete linkage; Sorensen 1948),
so A~B and B~C never join A and C against their own similarity. Pairs are taken from the most similar down, ties by the
names' own order, and names come in sorted: the order in which a vault was read changes nothing. Pairs that must stay
apart (cannot-link; Wagstaff and others 2001): names with other numbers, opposites, two notes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

Vectors = NDArray[np.float32]

_BLOCK = 1024
"""Rows of the similarity matrix that are in memory at a time."""
_DIGITS = 5
"""Similarities are compared after rounding: the same text in another batch differs in the seventh place."""

_ENDING = 3
"""Letters that an inflection adds at most."""
_NUMBERS = re.compile(r"\d+|(?<![^\W\d_])[ivx]{1,4}(?![^\W\d_])")
_WORD = re.compile(r"[^\W_]+")
_OPPOSITES = (
    *("left right", "import export", "open close", "light dark", "add remove", "up down", "in out", "start end"),
    *("start stop", "before after", "public private", "internal external", "inline block", "min max", "first last"),
    *("enable disable", "show hide", "input output", "upload download", "read write", "new old", "online offline"),
    *("encrypt decrypt", "encryption decryption", "importing exporting", "importer exporter", "true false", "on off"),
    *("horizontal vertical", "row column", "rows columns", "north south", "east west", "desktop mobile"),
    *("links rechts", "hell dunkel", "oben unten", "öffnen schließen", "neu alt", "intern extern", "interne externe"),
    *("importieren exportieren", "verschlüsselung entschlüsselung", "horizontale vertikale", "frontend backend"),
    *("iphone ipad", "ios android", "windows macos", "windows linux", "linux macos", "ios macos", "ios ipados"),
    *("ipados macos", "day week", "week month", "day month", "month year", "tag woche", "woche monat", "monat jahr"),
    *("daily weekly", "weekly monthly", "daily monthly", "monthly yearly", "monday tuesday", "query result"),
)
_OPPOSED = frozenset(frozenset(pair.split()) for pair in _OPPOSITES)


def apart(one: str, other: str) -> bool:
    """Whether two folded names say themselves that they mean different things.

    Other numbers or versions (``v1.2`` and ``v1.3``), opposites (``left pane`` and ``right pane``), and words that are
    built on one another (``Docker`` and ``Dockerfile``), which a small model takes for the same.
    """
    if _NUMBERS.findall(one) != _NUMBERS.findall(other):
        return True
    first, second = set(_WORD.findall(one)), set(_WORD.findall(other))
    return any(_differ(a, b) for a in first - second for b in second - first)


def _differ(one: str, other: str) -> bool:
    """Opposites, or a word and a longer one that is built on it."""
    longer, shorter = (one, other) if len(one) > len(other) else (other, one)
    return frozenset((one, other)) in _OPPOSED or (
        longer.startswith(shorter) and len(shorter) > 2 and len(longer) - len(shorter) > _ENDING
    )


def merge_names(
    vectors: Vectors, threshold: float, must_differ: Callable[[int, int], bool] = lambda _a, _b: False
) -> list[list[int]]:
    """Group names 0..n-1, whose unit vectors are the rows of `vectors`, where all pairs of a group are near.

    Near is a cosine above `threshold`; `must_differ` is asked for near pairs only. Returns the groups of two and more,
    each sorted, in order of their first member. The rows must come in an order that depends on nothing but the names.
    """
    near: dict[tuple[int, int], float] = {}
    for one, other, cosine in _near_pairs(vectors, threshold):
        if not must_differ(one, other):
            near[(one, other)] = cosine
    group: dict[int, list[int]] = {}
    for one, other in sorted(near, key=lambda pair: (-near[pair], pair)):
        left, right = group.get(one, [one]), group.get(other, [other])
        if left is right or not all((min(a, b), max(a, b)) in near for a in left for b in right):
            continue
        joined = left + right
        for member in joined:
            group[member] = joined
    return sorted({id(members): sorted(members) for members in group.values()}.values())


def _near_pairs(vectors: Vectors, threshold: float) -> Iterator[tuple[int, int, float]]:
    """Pairs (i, j, cosine), i < j, above the threshold; the matrix is never whole in memory."""
    count = len(vectors)
    for start in range(0, count, _BLOCK):
        block = np.round(vectors[start : start + _BLOCK] @ vectors[start:].T, _DIGITS)
        rows, columns = np.nonzero(block > threshold)
        keep = columns > rows
        rows, columns = rows[keep], columns[keep]
        cosines = block[rows, columns].tolist()
        yield from zip((rows + start).tolist(), (columns + start).tolist(), cosines, strict=True)


def canonical(counts: Sequence[tuple[str, int]]) -> str:
    """The name of most mentions; ties go to the first in the alphabet."""
    return min(counts, key=lambda one: (-one[1], one[0]))[0]
