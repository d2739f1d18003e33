"""Numbered citations: which sources an answer names, in the order of their first mention, and whether they exist.

A model may number a source that it was not given. Such a number is taken out and counted: every citation of an answer
is a source that the answer was made from.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from mindnetd.core.extract_answer import Source

_MARK = re.compile(
    r"[ \t]?[\[【]\s*((?:source\s+|quelle\s+)?\d{1,3}(?:\s*[,;]\s*\d{1,3})*)\s*[\]】](?!\()", re.IGNORECASE
)
_NUMBER = re.compile(r"\d+")


class Checked(NamedTuple):
    """`text` cites only what exists; `cited` are source numbers as given (from 1), in the order of `text`."""

    text: str
    cited: tuple[int, ...]
    removed: int


def checked(text: str, count: int) -> Checked:
    """Take every ``[n]`` with n beyond `count` sources out of `text`; ``[1, 2]`` is written ``[1] [2]``."""
    cited: dict[int, None] = {}
    removed = 0

    def keep(mark: re.Match[str]) -> str:
        nonlocal removed
        numbers = [int(number) for number in _NUMBER.findall(mark[1])]
        good = [number for number in numbers if 1 <= number <= count]
        removed += len(numbers) - len(good)
        cited.update(dict.fromkeys(good))
        space = " " if good and mark.start() else ""
        return "".join(f"{space if n == 0 else ' '}[{number}]" for n, number in enumerate(good))

    return Checked(_MARK.sub(keep, text).strip(), tuple(cited), removed)


def renumbered(text: str, cited: Sequence[int], base: int = 0) -> tuple[str, Mapping[int, int]]:
    """Number the cited sources from `base` + 1 in the order of `cited`: the text, and the new number by the old."""
    new = {old: n for n, old in enumerate(cited, base + 1)}
    return re.sub(r"\[(\d{1,3})\](?!\()", lambda m: f"[{new.get(int(m[1]), int(m[1]))}]", text), new


def citation(n: int, source: Source, line: int | None = None) -> dict[str, Any]:
    """An entry of ``citations``; `line` is where the sentence itself stands, if that is known."""
    chunk = source.chunk
    return {
        "n": n,
        "chunk_id": chunk.id,
        "path": source.path,
        "title": source.title,
        "section": list(chunk.section),
        "start_line": chunk.start_line,
        "end_line": chunk.end_line,
        "line": chunk.start_line if line is None else line,
    }
