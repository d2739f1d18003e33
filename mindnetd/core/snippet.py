"""The few lines of a chunk that show why it was found, with the words marked."""

from __future__ import annotations

import re
from dataclasses import dataclass

from mindnetd.core.analyze import spans

SNIPPET_CHARS = 240
_BREAK = re.compile(r"\s")
_HEADING = re.compile(r"\s*(?:#{1,6}[^\n]*\n\s*)*")


@dataclass(frozen=True, slots=True)
class Snippet:
    """A piece of a text as it stands there; ``highlights`` are [start, end) in code points of it, ascending."""

    text: str
    highlights: tuple[tuple[int, int], ...]


def make_snippet(text: str, wanted: frozenset[str], lang: str, width: int = SNIPPET_CHARS) -> Snippet:
    """The piece of `text` with the most of the `wanted` terms (of `core.analyze`), about `width` characters long."""
    marks = spans(text, wanted, lang) if wanted else []
    start, end = _window(text, marks, width)
    inside = [(a - start, b - start) for a, b in marks if a >= start and b <= end]
    return Snippet(text[start:end], tuple(inside))


def _window(text: str, marks: list[tuple[int, int]], width: int) -> tuple[int, int]:
    """[start, end) of the best piece: the most different words, then the most words, then the earliest."""
    heading = _HEADING.match(text)
    start = heading.end() if heading and heading.end() < len(text) else 0
    best = (0, 0)
    for i, (at, _) in enumerate(marks):
        inside = [text[a:b].casefold() for a, b in marks[i : i + 40] if b <= at + width]
        value = (len(set(inside)), len(inside))
        if value > best:
            best, start = value, max(0, at - width // 6)
    end = min(len(text), start + width)
    if len(text) <= width:
        return 0, len(text)
    return _word_start(text, start), _word_end(text, end)


def _word_start(text: str, at: int) -> int:
    """The next word's start, unless it is far (a script without spaces)."""
    if at == 0 or text[at - 1].isspace():
        return at
    gap = _BREAK.search(text, at, at + 24)
    return gap.end() if gap else at


def _word_end(text: str, at: int) -> int:
    if at >= len(text) or text[at].isspace():
        return at
    gap = _BREAK.search(text[max(0, at - 24) : at][::-1])
    return at - gap.end() if gap else at
