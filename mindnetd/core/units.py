"""Units: the spans of a body that are not cut without need, measured. A block, or a part of one that is far too long.

A size is the tokens of the cleaned text, raised where the raw text is much longer, so that a group of units that fits
the model's window also fits into any chunk.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

from mindnetd.core.clean import plain_text, without_hidden
from mindnetd.core.cuts import ALWAYS, balanced, groups_of, local_cuts, mix
from mindnetd.core.records import ParsedNote
from mindnetd.core.sentences import sentence_spans
from mindnetd.core.tokens import CHARS_PER_TOKEN, TokenCounter

Span = tuple[int, int, str]
"""Start and end in the body, and the kind of block."""

_PROSE = ("paragraph", "quote", "item", "heading")
_WORD = re.compile(r"\s*\S+\s*")
_LINE = re.compile(r"[^\n]*\n|[^\n]+")
_LONGEST_LINK = 1000
"""An opened wikilink that is not closed within so many characters is none."""


class Unit(NamedTuple):
    """A span of the body. `text` is its cleaned text, one line, "" if nothing is visible; `tokens` are those of `text`.

    `raw` are the tokens of the span as written, `size` is what counts against a passage's limit. `part` is True for
    what continues the block of the unit before it, `torn` where a block was cut at other places than white space (the
    tokens of its parts do not add up).
    """

    start: int
    end: int
    kind: str
    text: str
    tokens: int
    raw: int
    size: int
    part: bool = False
    torn: bool = False


@dataclass(frozen=True, slots=True)
class Limits:
    """`window`: tokens of a passage with specials and prefix; `raw`: raw tokens that a passage covers."""

    window: int
    raw: int


class Measure:
    """Makes units of the spans of one note."""

    def __init__(self, note: ParsedNote, counter: TokenCounter, limits: Limits) -> None:
        self._body = note.body
        self._hidden = note.hidden
        self._hidden_ends = [end for _, end in note.hidden]
        self._counter = counter
        self.limits = limits

    def units(self, spans: Sequence[Span]) -> list[Unit]:
        """Return the units of `spans`; one call of the counter for all of them."""
        raw = [self._body[start:end] for start, end, _ in spans]
        texts = [plain_text(span[2], self._visible(text, span)) for text, span in zip(raw, spans, strict=True)]
        marked = [index for index, text in enumerate(texts) if text != raw[index].rstrip("\n")]
        counts = self._counter.count([*raw, *(texts[index] for index in marked)])
        clean = counts[: len(raw)]
        for index, count in zip(marked, counts[len(raw) :], strict=True):
            clean[index] = count
        return [
            Unit(*span, text, tokens, count, self.size(tokens, count, span[1] - span[0]))
            for span, text, tokens, count in zip(spans, texts, clean, counts[: len(raw)], strict=True)
        ]

    def _visible(self, text: str, span: Span) -> str:
        start, end, _ = span
        near = bisect_right(self._hidden_ends, start)
        if near == len(self._hidden) or self._hidden[near][0] >= end:
            return text
        return without_hidden(text, start, self._hidden)

    def size(self, clean: int, raw: int, chars: int) -> int:
        """What fits the window as cleaned text must not cover more than ``limits.raw`` tokens of raw text."""
        return max(clean, -(-max(raw, chars // CHARS_PER_TOKEN) * self.limits.window // self.limits.raw))

    def parts(self, unit: Unit, limit: int) -> list[Unit]:
        """Cut a unit at its sentences or lines, and what is still over `limit` at words, at last anywhere."""
        body = self._body[unit.start : unit.end]
        spans = _unlinked(body, sentence_spans(body)) if unit.kind in _PROSE else _line_spans(body)
        parts: list[Unit] = []
        for piece in self.units([(unit.start + low, unit.start + high, unit.kind) for low, high in spans]):
            parts.extend([piece] if piece.size <= limit else self._runs(piece, limit))
        torn = unit.torn or not all(self._body[piece.end - 1].isspace() for piece in parts[:-1])
        return [piece._replace(part=unit.part or index > 0, torn=torn) for index, piece in enumerate(parts)]

    def _runs(self, unit: Unit, limit: int) -> list[Unit]:
        """Cut a sentence without end at words, again by a local rule, into runs of about a quarter of `limit`."""
        words: list[Unit] = []
        spans = (match.span() for match in _WORD.finditer(self._body, unit.start, unit.end))
        for word in self.units([(low, high, unit.kind) for low, high in spans]):
            words.extend([word] if word.size <= limit // 4 else self._pieces(word, limit // 4))
        sizes = [word.size for word in words]
        spans_of_runs: list[Span] = []
        for first, last in groups_of(
            len(words), local_cuts(sizes, [mix(word.text) for word in words[:-1]], limit // 8)
        ):
            for low, high in groups_of(last - first, balanced(sizes[first:last], limit // 2)):
                spans_of_runs.append((words[first + low].start, words[first + high - 1].end, unit.kind))
        return self.units(spans_of_runs)

    def _pieces(self, unit: Unit, limit: int) -> list[Unit]:
        """Cut one endless word anywhere, until each piece is at most `limit`."""
        length = unit.end - unit.start
        if unit.size <= limit or length < 2:
            return [unit]
        step = max(1, min(length // 2, limit * 4))
        spans = [(at, min(at + step, unit.end), unit.kind) for at in range(unit.start, unit.end, step)]
        return [part for piece in self.units(spans) for part in self._pieces(piece, limit)]


def gap_ranks(units: Sequence[Unit], limit: int, radius: int) -> list[int]:
    """Return the rank of the gap after each unit but the last: how good a place for a cut it is."""
    return [_gap_rank(left, right, limit, radius) for left, right in pairwise(units)]


def _gap_rank(left: Unit, right: Unit, limit: int, radius: int) -> int:
    if left.size + right.size > limit:
        long, small = (left, right) if left.size > right.size else (right, left)
        # A block over the window is divided anyway: it takes a small neighbour in, so that both cost no extra passage.
        if not (long.size > limit and small.size < radius):
            return ALWAYS
        kind = 0
    elif right.part:
        kind = 1
    elif left.text.endswith(":") or (left.kind == right.kind == "item"):
        kind = 2
    else:
        kind = 3
    return (kind << 32) + mix(left.text)


def _unlinked(text: str, spans: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Join sentences that a wikilink runs through."""
    joined: list[tuple[int, int]] = []
    open_links = 0
    for start, end in spans:
        if joined and open_links > 0:
            joined[-1] = (joined[-1][0], end)
        else:
            joined.append((start, end))
            open_links = 0
        open_links += text.count("[[", start, end) - text.count("]]", start, end)
        if end - joined[-1][0] > _LONGEST_LINK:
            open_links = 0
    return joined


def _line_spans(text: str) -> list[tuple[int, int]]:
    """Lines with their line ends; blank lines belong to the line before them."""
    spans: list[tuple[int, int]] = []
    for match in _LINE.finditer(text):
        if spans and not match[0].strip():
            spans[-1] = (spans[-1][0], match.end())
        else:
            spans.append(match.span())
    return spans
