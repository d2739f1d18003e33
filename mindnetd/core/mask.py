"""Where Markdown is not read: code, math, HTML and comments of a body, found once for links, tags and fields alike.

The masked text has the length of the body. What is dead is blanked with NUL (the body itself never contains one), so
that no pattern for links or tags can match across it or take it for white space.
"""

from __future__ import annotations

import re
from array import array
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate

from mindnetd.core.markdown import scan_blocks
from mindnetd.core.records import Block

BLANK = "\0"
Span = tuple[int, int]

_TICKS = re.compile(r"`+")
_MATH = re.compile(r"(?<![\\$])\$(?:\$[^$]++\$\$|(?![\s$])[^$\n]*+(?<!\s)\$(?!\d))")
_QUOTE_MARK = re.compile(r"[ \t]*> ?")
_NESTED_DEAD = re.compile(r"```|~~~|\$\$|>(?: {5}| ?\t)|<")
_MAX_NESTING = 12


@dataclass(frozen=True, slots=True)
class Masked:
    """A body made ready for reading links, tags and fields.

    ``comments`` are the ``%%`` spans, ``silent`` the HTML comments: neither is shown to a reader of the note.
    ``starts`` holds the offset of each line, plus one past the end.
    """

    text: str
    comments: tuple[Span, ...]
    silent: tuple[Span, ...]
    starts: Sequence[int]

    def line_at(self, offset: int) -> int:
        """The body line index that holds `offset`."""
        return bisect_right(self.starts, offset) - 1


def line_starts(body: str) -> Sequence[int]:
    """The offset of each line of `body`, then the offset that a line after the last one would have."""
    return array("q", accumulate((len(line) + 1 for line in body.split("\n")), initial=0))


def inside(spans: Sequence[Span], offset: int) -> bool:
    """Whether `offset` lies in one of the sorted, disjoint `spans`."""
    at = bisect_right(spans, (offset, 1 << 62)) - 1
    return at >= 0 and offset < spans[at][1]


def merge_spans(spans: Iterable[Span]) -> tuple[Span, ...]:
    """Sorted, disjoint, non-empty spans that cover the same characters."""
    merged: list[Span] = []
    for start, end in sorted(spans):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        elif end > start:
            merged.append((start, end))
    return tuple(merged)


def blank(text: str, spans: Sequence[Span]) -> str:
    """`text` with the sorted, disjoint `spans` blanked; the length stays."""
    parts: list[str] = []
    at = 0
    for start, end in spans:
        parts += (text[at:start], BLANK * (end - start))
        at = end
    return "".join((*parts, text[at:])) if parts else text


def mask_body(body: str, blocks: Sequence[Block]) -> Masked:
    """Find what is dead, what is a comment and what is silent in a body."""
    starts = line_starts(body)
    finder = _Finder(body, starts)
    for block in blocks:
        finder.block(block)
    dead = merge_spans(finder.dead)
    return Masked(blank(body, dead), merge_spans(finder.comments), merge_spans(finder.silent), starts)


class _Finder:
    """Collects spans block by block."""

    def __init__(self, body: str, starts: Sequence[int]) -> None:
        self._body = body
        self._starts = starts
        self._inline = any(mark in body for mark in ("`", "$", "%%", "<!--"))
        self.dead: list[Span] = []
        self.comments: list[Span] = []
        self.silent: list[Span] = []

    def block(self, block: Block) -> None:
        """Take in one block."""
        start, end = self._starts[block.first], self._starts[block.last] - 1
        kind = block.kind
        if kind in ("code", "math", "html"):
            self.dead.append((start, self._closed_at("$$", start, end) if kind == "math" else end))
            if kind == "html" and "<!--" in self._body[start:end]:
                self.silent += _html_comments(self._body[start:end], start)
            return
        if kind == "comment":
            self.comments.append((start, self._closed_at("%%", start, end)))
        if kind in ("quote", "comment") and _NESTED_DEAD.search(self._body, start, end):
            self._nested(block)
        if not self._inline:
            return
        if kind == "table":
            for line in range(block.first, block.last):
                self._spans_in(self._starts[line], self._starts[line + 1] - 1, comment=False)
        else:
            self._spans_in(start, end, comment=kind == "comment")

    def _closed_at(self, mark: str, start: int, end: int) -> int:
        """Where a block between two marks is closed; text may follow on that line."""
        close = self._body.find(mark, self._body.find(mark, start, end) + 2, end)
        return close + 2 if close >= 0 else end

    def _nested(self, block: Block) -> None:
        """Code, math and HTML inside a quote or comment, by reading its lines as a body of their own."""
        body, starts = self._body, self._starts
        lines = [body[starts[i] : starts[i + 1] - 1] for i in range(block.first, block.last)]
        if block.kind == "comment":
            lines = [line.replace("%%", "  ") for line in lines]
        for first, last in _dead_lines(lines, block.kind == "quote", 0):
            self.dead.append((starts[block.first + first], starts[block.first + last] - 1))

    def _spans_in(self, start: int, end: int, *, comment: bool) -> None:
        """Code spans, math, HTML comments and ``%%`` inside one run of text."""
        text = self._body[start:end]
        found: list[Span] = []
        if "`" in text:
            found = _code_spans(text)
            text = blank(text, found)
        if "<!--" in text:
            silent = _html_comments(text, 0)
            self.silent += ((start + a, start + b) for a, b in silent)
            text = blank(text, silent)
            found += silent
        if "$" in text:
            math = [match.span() for match in _MATH.finditer(text)]
            text = blank(text, math)
            found += math
        if not comment and "%%" in text:
            self.comments += ((start + a, start + b) for a, b in _between(text, "%%", "%%"))
        self.dead += ((start + a, start + b) for a, b in found)


def _dead_lines(lines: list[str], quoted: bool, depth: int) -> list[tuple[int, int]]:
    """Line ranges of code, math and HTML in nested lines."""
    if quoted:
        lines = [_QUOTE_MARK.sub("", line, count=1) for line in lines]
    found: list[tuple[int, int]] = []
    for block in scan_blocks(lines):
        if block.kind in ("code", "math", "html"):
            found.append((block.first, block.last))
        elif block.kind == "quote" and depth < _MAX_NESTING:
            inner = _dead_lines(lines[block.first : block.last], True, depth + 1)
            found += ((block.first + first, block.first + last) for first, last in inner)
    return found


def _code_spans(text: str) -> list[Span]:
    """Runs of backticks pair with the next run of the same length; an escaped backtick opens nothing."""
    runs = [match.span() for match in _TICKS.finditer(text)]
    by_length: dict[int, list[int]] = {}
    for number in range(len(runs) - 1, -1, -1):
        by_length.setdefault(runs[number][1] - runs[number][0], []).append(number)
    spans: list[Span] = []
    number = 0
    while number < len(runs):
        start, end = runs[number]
        start += _is_escaped(text, start)
        closers = by_length.get(end - start, [])
        while closers and closers[-1] <= number:
            closers.pop()
        if end > start and closers:
            number = closers.pop()
            spans.append((start, runs[number][1]))
        number += 1
    return spans


def _is_escaped(text: str, at: int) -> bool:
    backslashes = at
    while backslashes and text[backslashes - 1] == "\\":
        backslashes -= 1
    return (at - backslashes) % 2 == 1


def _html_comments(text: str, offset: int) -> list[Span]:
    return [(offset + start, offset + end) for start, end in _between(text, "<!--", "-->")]


def _between(text: str, opener: str, closer: str) -> list[Span]:
    """Spans from each `opener` to the next `closer`, both included; an opener without a closer is text."""
    spans: list[Span] = []
    at = text.find(opener)
    while at >= 0:
        close = text.find(closer, at + len(opener))
        if close < 0:
            break
        end = close + len(closer)
        spans.append((at, end))
        at = text.find(opener, end)
    return spans
