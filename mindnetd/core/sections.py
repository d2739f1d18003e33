"""A body as sections: what stands from one heading to the next, as units, under the path of its headings."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from mindnetd.core.clean import neutral
from mindnetd.core.identity import nfc
from mindnetd.core.records import ParsedNote
from mindnetd.core.tokens import TokenCounter
from mindnetd.core.units import Measure, Span, Unit

PREFIX_TOKENS = 40
"""The heading path in front of a passage is cut (its outer headings first) to this many tokens."""
PIECES_PER_BLOCK = 3
"""A block of more than this many windows is cut by local rules, line by line or sentence by sentence."""


@dataclass(frozen=True, slots=True)
class Section:
    """What stands under one heading.

    `path` is the heading path, `prefix` what of it goes in front of each passage. `lead` is the text of the headings
    that begin here and are not in `prefix`, `lead_raw` and `lead_size` what all of those
    headings count as; `start` is where the first of them
    begins, `level` its level (0: none). `limit` is what the sizes of a passage's units may add up to. Token counts are
    those of their text.
    """

    path: tuple[str, ...]
    prefix: str
    prefix_tokens: int
    lead: tuple[str, ...]
    lead_tokens: int
    lead_raw: int
    lead_size: int
    start: int
    end: int
    level: int
    limit: int
    units: tuple[Unit, ...]


@dataclass(frozen=True, slots=True)
class _Heading:
    """An opened heading: its level, its text (with tokens) and its place."""

    level: int
    unit: Unit


class SectionReader:
    """Reads the sections of one note."""

    def __init__(self, note: ParsedNote, counter: TokenCounter, measure: Measure) -> None:
        self._note = note
        self._counter = counter
        self._measure = measure

    def sections(self) -> Iterator[Section]:
        """Yield the sections in order; their units, with the headings before them, tile the body.

        A heading without text of its own is kept for the first section below it; where none follows, it is a section
        without units.
        """
        path: list[_Heading] = []
        waiting: list[_Heading] = []
        units: list[Unit] = []
        for level, unit in self._blocks():
            if not level:
                units.append(unit)
                continue
            if units or (waiting and waiting[-1].level >= level):
                yield self._section(path, waiting, units)
                waiting, units = [], []
            heading = _Heading(level, unit)
            path = [*(step for step in path if step.level < level), heading]
            waiting.append(heading)
        if units or waiting:
            yield self._section(path, waiting, units)

    def _blocks(self) -> list[tuple[int, Unit]]:
        """Return each block that is left in the body with its heading level (0: no heading, or one without text)."""
        size = len(self._note.body)
        lines = [*_line_starts(self._note.body), size]
        last = len(lines) - 1
        blocks = [block for block in self._note.blocks if lines[min(block.first, last)] < size]
        spans: list[Span] = [
            (lines[min(block.first, last)], lines[min(block.last, last)], block.kind) for block in blocks
        ]
        units = self._measure.units(spans)
        names = {heading.line - self._note.body_line: heading.text for heading in self._note.headings}
        for index, block in enumerate(blocks):
            if block.kind == "heading":
                line = next((line for line in range(block.first, block.last) if line in names), None)
                units[index] = self._named(units[index], names[line] if line is not None else units[index].text)
        return [(block.level if unit.text else 0, unit) for block, unit in zip(blocks, units, strict=True)]

    def _named(self, unit: Unit, name: str) -> Unit:
        text = neutral(nfc(" ".join(name.split())))
        return unit if text == unit.text else unit._replace(text=text, tokens=self._counter.count((text,))[0])

    def _section(self, path: Sequence[_Heading], headings: Sequence[_Heading], units: Sequence[Unit]) -> Section:
        kept, prefix_tokens = self._prefix(path)
        prefix = " > ".join(step.unit.text for step in kept)
        limit = self._measure.limits.window - 2 - prefix_tokens
        lead = [heading.unit for heading in headings if heading not in kept]
        lead_tokens = sum(unit.tokens for unit in lead)
        lead_raw = sum(heading.unit.raw for heading in headings)
        start = headings[0].unit.start if headings else units[0].start
        lead_chars = headings[-1].unit.end - start if headings else 0
        lead_size = self._measure.size(lead_tokens, lead_raw, lead_chars)
        end = units[-1].end if units else headings[-1].unit.end
        if lead_size > limit // 2:  # headings as long as paragraphs are paragraphs
            units = [*(heading.unit for heading in headings), *units]
            lead, lead_tokens, lead_raw, lead_size = [], 0, 0, 0
        return Section(
            path=tuple(step.unit.text for step in path),
            prefix=prefix,
            prefix_tokens=prefix_tokens,
            lead=tuple(unit.text for unit in lead),
            lead_tokens=lead_tokens,
            lead_raw=lead_raw,
            lead_size=lead_size,
            start=start,
            end=end,
            level=headings[0].level if headings else 0,
            limit=limit,
            units=tuple(self._divided(units, limit)),
        )

    def _prefix(self, path: Sequence[_Heading]) -> tuple[list[_Heading], int]:
        """Choose the headings that go in front of a passage, the inner ones first, and count their tokens."""
        budget = min(PREFIX_TOKENS, self._measure.limits.window // 6)
        kept: list[_Heading] = []
        total = 0
        for step in reversed(path):
            tokens = step.unit.tokens + (1 if kept else 0)  # the ">" between two
            if total + tokens > budget:
                break
            kept.insert(0, step)
            total += tokens
        return kept, total

    def _divided(self, units: Sequence[Unit], limit: int) -> Iterator[Unit]:
        for unit in units:
            if unit.size > PIECES_PER_BLOCK * limit:
                yield from self._measure.parts(unit, limit)
            else:
                yield unit


def _line_starts(body: str) -> list[int]:
    starts = [0]
    at = body.find("\n")
    while at >= 0:
        starts.append(at + 1)
        at = body.find("\n", at + 1)
    return starts
