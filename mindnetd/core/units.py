"""A note's body as sections of small pieces: what passages and chunks are put together from.

A section runs from its heading to the next one. A unit is a block of the section, or a part of a block that is far
too long. Sizes are tokens of the cleaned text, raised where the raw text is much longer, so that a group of units that
fits the model's window also fits into any chunk.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from mindnetd.core.clean import neutral, plain_text, without_hidden
from mindnetd.core.cuts import ALWAYS, groups_of, local_cuts, mix
from mindnetd.core.identity import nfc
from mindnetd.core.records import Block, ParsedNote
from mindnetd.core.sentences import sentence_spans
from mindnetd.core.tokens import TokenCounter, weigh

PREFIX_TOKENS = 40
"""The heading path in front of a passage is cut (its outer headings first) to this many tokens."""
RAW_PER_PASSAGE = 440
"""Tokens of raw text (markup, link targets and hidden spans too) that a passage covers at most: under each profile's
upper bound."""
PIECES_PER_BLOCK = 3
"""A block of more than this many windows is cut by local rules, line by line or sentence by sentence."""

_PROSE = ("paragraph", "quote", "item", "heading")
_WORD = re.compile(r"\s*\S+\s*")
_LINE = re.compile(r"[^\n]*\n|[^\n]+")


@dataclass(frozen=True, slots=True)
class Unit:
    """A span of the body that is not cut without need. `text` is its cleaned text, one line, "" if nothing is visible.

    `part` is True for what continues the block of the unit before it.
    """

    start: int
    end: int
    kind: str
    text: str
    size: int
    part: bool = False


@dataclass(frozen=True, slots=True)
class Section:
    """What stands under one heading.

    `path` is the heading path, `prefix` what of it goes in front of each passage. `lead` is the text of the headings
    that begin here and are not in `prefix`, `lead_size` the size of those headings; `start` is where the first of them
    begins, `level` its level (0: none). `limit` is what the sizes of a passage's units may add up to.
    """

    path: tuple[str, ...]
    prefix: str
    lead: tuple[str, ...]
    lead_size: int
    start: int
    end: int
    level: int
    limit: int
    units: tuple[Unit, ...]


@dataclass(frozen=True, slots=True)
class _Open:
    """A heading whose section has not been given out yet."""

    level: int
    text: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Limits:
    """`window`: tokens of a passage with specials and prefix; `raw`: raw tokens that a passage covers."""

    window: int
    raw: int


class UnitReader:
    """Reads the sections of one note."""

    def __init__(self, note: ParsedNote, counter: TokenCounter, limits: Limits) -> None:
        self._note = note
        self._counter = counter
        self._limits = limits
        self._lines = _line_starts(note.body)
        self._headings = {heading.line - note.body_line: heading.text for heading in note.headings}

    def sections(self) -> Iterator[Section]:
        """Yield the sections in order; their units, with the headings before them, tile the body.

        A heading without text of its own is kept for the first section below it; where none follows, it is a section
        without units.
        """
        path: list[_Open] = []
        waiting: list[_Open] = []
        blocks: list[Block] = []
        for block in self._note.blocks:
            if self._span(block)[0] >= len(self._note.body):
                break
            if block.kind != "heading":
                blocks.append(block)
                continue
            if blocks or (waiting and waiting[-1].level >= block.level):
                yield self._section(path, waiting, blocks)
                waiting, blocks = [], []
            opened = _Open(block.level, self._heading_text(block), *self._span(block))
            path = [*(step for step in path if step.level < block.level), opened]
            waiting.append(opened)
        if blocks or waiting:
            yield self._section(path, waiting, blocks)

    def _section(self, path: Sequence[_Open], headings: Sequence[_Open], blocks: Sequence[Block]) -> Section:
        names = tuple(step.text for step in path)
        prefix, shown = self._prefix([text for text in names if text])
        limit = self._limits.window - 2 - (self._counter.count((prefix,))[0] if prefix else 0)
        start = headings[0].start if headings else self._span(blocks[0])[0]
        first = self._span(blocks[0])[0] if blocks else headings[-1].end
        lead = tuple(heading.text for heading in headings if heading.text and heading.text not in shown)
        size = self._sizes(["\n".join(lead)], [self._note.body[start:first]])[0] if headings else 0
        spans = [(*self._span(block), block.kind) for block in blocks]
        if size > limit // 2:  # headings as long as paragraphs are paragraphs
            spans.insert(0, (start, first, "heading"))
            lead, size = (), 0
        level = headings[0].level if headings else 0
        end = spans[-1][1] if spans else headings[-1].end
        return Section(names, prefix, lead, size, start, end, level, limit, tuple(self._units(spans, limit)))

    def _prefix(self, names: Sequence[str]) -> tuple[str, frozenset[str]]:
        """Join headings, innermost kept, within the budget; also return those that are in it whole."""
        budget = min(PREFIX_TOKENS, self._limits.window // 6)
        kept: list[str] = []
        for name, tokens in zip(
            reversed(names), self._counter.count([f"{name} >" for name in names])[::-1], strict=True
        ):
            if tokens > budget:
                break
            kept.append(name)
            budget -= tokens
        return " > ".join(reversed(kept)), frozenset(kept)

    def _heading_text(self, block: Block) -> str:
        line = next((line for line in range(block.first, block.last) if line in self._headings), None)
        if line is not None:
            return neutral(nfc(" ".join(self._headings[line].split())))
        start, end = self._span(block)
        return plain_text("heading", self._note.body[start:end].strip().strip("#=-"))

    def _span(self, block: Block) -> tuple[int, int]:
        lines, size = self._lines, len(self._note.body)
        first = lines[block.first] if block.first < len(lines) else size
        return first, lines[block.last] if block.last < len(lines) else size

    # --- units ----------------------------------------------------------------------------------------------------

    def _units(self, spans: Sequence[tuple[int, int, str]], limit: int) -> Iterator[Unit]:
        for unit in self._measured(spans):
            if unit.size > PIECES_PER_BLOCK * limit:
                yield from self.parts(unit, limit)
            else:
                yield unit

    def _measured(self, spans: Sequence[tuple[int, int, str]]) -> list[Unit]:
        """Make units of body spans (start, end, kind)."""
        body, hidden = self._note.body, self._note.hidden
        raw = [body[start:end] for start, end, _ in spans]
        texts = [
            plain_text(kind, without_hidden(text, start, hidden) if hidden else text)
            for text, (start, _, kind) in zip(raw, spans, strict=True)
        ]
        sizes = self._sizes(texts, raw)
        return [Unit(*span, text, size) for span, text, size in zip(spans, texts, sizes, strict=True)]

    def _sizes(self, texts: Sequence[str], raw: Sequence[str]) -> list[int]:
        """What fits the window as cleaned text must not cover more than ``limits.raw`` tokens of raw text."""
        window, cap = self._limits.window, self._limits.raw
        weights = zip(weigh(self._counter, texts), weigh(self._counter, raw), strict=True)
        return [max(clean, -(-weight * window // cap)) for clean, weight in weights]

    def parts(self, unit: Unit, limit: int) -> list[Unit]:
        """Cut a unit at its sentences or lines, and what is still over `limit` at words, at last anywhere."""
        body = self._note.body[unit.start : unit.end]
        spans = _unlinked(body, sentence_spans(body)) if unit.kind in _PROSE else _line_spans(body)
        whole: list[Unit] = []
        for piece in self._measured([(unit.start + a, unit.start + b, unit.kind) for a, b in spans]):
            whole.extend([piece] if piece.size <= limit else self._words(piece, limit))
        return [replace(piece, part=unit.part or index > 0) for index, piece in enumerate(whole)]

    def _words(self, unit: Unit, limit: int) -> list[Unit]:
        """Cut a sentence without end at words, again by a local rule, into runs of about a quarter of `limit`."""
        body = self._note.body
        spans = [match.span() for match in _WORD.finditer(body, unit.start, unit.end)]
        words: list[Unit] = []
        for word in self._measured([(a, b, unit.kind) for a, b in spans]):
            words.extend([word] if word.size <= limit // 4 else self._halves(word, limit))
        sizes = [word.size for word in words]
        cuts = local_cuts(sizes, [mix(word.text) for word in words[:-1]], limit // 8)
        joined = [(words[a].start, words[b - 1].end, unit.kind) for a, b in groups_of(len(words), cuts)]
        runs: list[Unit] = []
        for run in self._measured(joined):
            runs.extend([run] if run.size <= limit else self._halves(run, limit))
        return runs

    def _halves(self, unit: Unit, limit: int) -> list[Unit]:
        """Cut anywhere: one word (or a run that local cuts missed) that is too long."""
        length = unit.end - unit.start
        if unit.size <= limit or length < 2:
            return [unit]
        step = max(1, min(length // 2, limit * 4))
        ends = range(unit.start, unit.end, step)
        spans = [(at, min(at + step, unit.end), unit.kind) for at in ends]
        return [half for piece in self._measured(spans) for half in self._halves(piece, limit)]


def gap_ranks(units: Sequence[Unit], limit: int, radius: int) -> list[int]:
    """Return the rank of the gap after each unit: how good a place for a cut it is."""
    return [_gap_rank(left, right, limit, radius) for left, right in pairwise(units)]


def _gap_rank(left: Unit, right: Unit, limit: int, radius: int) -> int:
    if left.size + right.size > limit:
        long = left if left.size > right.size else right
        small = right if long is left else left
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
    for start, end in spans:
        if joined and text.count("[[", *joined[-1]) > text.count("]]", *joined[-1]):
            joined[-1] = (joined[-1][0], end)
        else:
            joined.append((start, end))
    return joined


def _line_starts(body: str) -> list[int]:
    starts = [0]
    at = body.find("\n")
    while at >= 0:
        starts.append(at + 1)
        at = body.find("\n", at + 1)
    return starts


def _line_spans(text: str) -> list[tuple[int, int]]:
    """Lines with their line ends; blank lines belong to the line before them."""
    spans: list[tuple[int, int]] = []
    for match in _LINE.finditer(text):
        if spans and not match[0].strip():
            spans[-1] = (spans[-1][0], match.end())
        else:
            spans.append(match.span())
    return spans
