"""The few lines of a chunk that show why it was found, with the words marked."""

from __future__ import annotations

import re
from dataclasses import dataclass

from mindnetd.core.analyze import Marker

SNIPPET_CHARS = 240
_BREAK = re.compile(r"\s")
_HEADING = re.compile(r"\s*(?:#{1,6}[^\n]*\n\s*)*")
_WORDS_AT_MOST = 40
"""More words in one piece make it no better."""


@dataclass(frozen=True, slots=True)
class Snippet:
    """A piece of a text as it stands there; ``highlights`` are [start, end) in code points of it, ascending."""

    text: str
    highlights: tuple[tuple[int, int], ...]


def make_snippet(text: str, marker: Marker, width: int = SNIPPET_CHARS) -> Snippet:
    """The piece of `text` with the most of the words that `marker` looks for, about `width` characters long."""
    marks = marker.spans(text)
    start, end = _window(text, marks, width)
    inside = [(a - start, b - start) for a, b in marks if a >= start and b <= end]
    return Snippet(text[start:end], tuple(inside))


def _window(text: str, marks: list[tuple[int, int]], width: int) -> tuple[int, int]:
    """[start, end) of the best piece: the most different words, then the most words, then the earliest."""
    if len(text) <= width:
        return 0, len(text)
    best = _best_mark(text, marks, width)
    if best is not None:
        start = max(0, best - width // 6)
    else:
        heading = _HEADING.match(text)
        start = heading.end() if heading and heading.end() < len(text) else 0
    end = min(len(text), start + width)
    return _word_start(text, start), _word_end(text, end)


def _best_mark(text: str, marks: list[tuple[int, int]], width: int) -> int | None:
    """Where the first of the best run of marks stands. One walk over all of them: a run only ever moves on."""
    words = [text[a:b].casefold() for a, b in marks]
    best, found = (0, 0), None
    inside: dict[str, int] = {}
    last = 0
    for first, (at, _) in enumerate(marks):
        while last < len(marks) and last < first + _WORDS_AT_MOST and marks[last][1] <= at + width:
            inside[words[last]] = inside.get(words[last], 0) + 1
            last += 1
        value = (len(inside), last - first)
        if value > best:
            best, found = value, at
        if last == first:  # wider than the piece itself
            last += 1
        elif inside[words[first]] > 1:
            inside[words[first]] -= 1
        else:
            del inside[words[first]]
    return found


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
