"""Passages: the pieces of a note that are embedded. Cut first, by local rules, so that a small edit stays small.

A section's units are grouped where `local_cuts` says so; a group over the window is divided evenly. A passage never
crosses a heading, and carries its heading path in front of its text instead of the note's name, so that a move costs
nothing. What is cut here is only ever put together to chunks, never cut again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from mindnetd.core.clean import neutral
from mindnetd.core.cuts import NEVER, balanced, groups_of, local_cuts
from mindnetd.core.identity import nfc
from mindnetd.core.records import ParsedNote
from mindnetd.core.tokens import TokenCounter
from mindnetd.core.units import RAW_PER_PASSAGE, Limits, Section, Unit, UnitReader, gap_ranks

RADIUS = 48
"""No two cuts are closer than this many tokens (but around a block that fills a window): the least size of a passage
of a section that has so much text."""


@dataclass(frozen=True, slots=True)
class Piece:
    """A span of the body and the passage it makes: `text` is what is embedded, "" where nothing is visible.

    `level` is the level of the heading that the piece starts with (0: none), `inside` whether it continues a block.
    """

    start: int
    end: int
    path: tuple[str, ...]
    level: int
    text: str
    tokens: int
    inside: bool


def cut_pieces(note: ParsedNote, counter: TokenCounter, window: int, upper: int) -> list[Piece]:
    """Cut the body of `note` into pieces that tile it.

    No passage is over `window` - 2 tokens; no piece covers more than `upper` tokens of the body.
    """
    reader = UnitReader(note, counter, Limits(window, min(RAW_PER_PASSAGE, upper)))
    pieces: list[Piece] = []
    for section in reader.sections():
        pieces.extend(_Cutter(reader, counter, section).pieces())
    return pieces


def title_text(note: ParsedNote, counter: TokenCounter, window: int) -> tuple[str, int]:
    """Return the passage of the note's title, aliases and tags, cut to the window, and its tokens."""
    lines = [note.title, ", ".join(note.aliases), " ".join(note.tags)]
    words = neutral(nfc("\n".join(" ".join(line.split()) for line in lines if line.strip()))).split(" ")
    sizes = counter.count(words)
    total = 0
    for index, size in enumerate(sizes):
        if total + size > window - 2:
            return " ".join(words[:index]), total
        total += size
    return " ".join(words), total


class _Cutter:
    """Cuts one section."""

    def __init__(self, reader: UnitReader, counter: TokenCounter, section: Section) -> None:
        self._reader = reader
        self._counter = counter
        self._section = section

    def pieces(self) -> Iterator[Piece]:
        """Yield the section's pieces in order; they tile it."""
        section = self._section
        if not section.units:
            yield self._piece((), 0)
            return
        units = section.units
        sizes = [unit.size for unit in units]
        sizes[0] += section.lead_size
        ranks = gap_ranks(units, section.limit, RADIUS)
        for gap, after in enumerate(units[1:]):
            if not after.text and sizes[gap] + after.size <= section.limit:
                ranks[gap] = NEVER  # nothing to see: it goes with what is before it
        number = 0
        for first, last in groups_of(len(units), local_cuts(sizes, ranks, RADIUS)):
            for group in self._fitting(units[first:last], section.lead_size if first == 0 else 0):
                yield self._piece(group, number)
                number += 1

    def _fitting(self, units: Sequence[Unit], lead: int) -> Iterator[Sequence[Unit]]:
        """Divide a group over the limit evenly, blocks that are over it themselves at their sentences."""
        limit = self._section.limit
        if lead + sum(unit.size for unit in units) <= limit:
            yield units
            return
        parts = [part for unit in units for part in self._divided(unit, limit - lead)]
        sizes = [part.size for part in parts]
        sizes[0] += lead
        for first, last in groups_of(len(parts), balanced(sizes, limit)):
            yield parts[first:last]

    def _divided(self, unit: Unit, limit: int) -> Sequence[Unit]:
        return [unit] if unit.size <= limit else self._reader.parts(unit, limit)

    def _piece(self, units: Sequence[Unit], number: int) -> Piece:
        """Make piece `number` of the section; the first one begins with the section's headings."""
        section = self._section
        lines = [unit.text for unit in units if unit.text]
        head = number == 0 and section.level > 0
        if head:
            lines = [*section.lead, *lines]
        text = "\n".join([section.prefix, *lines] if section.prefix and (lines or head) else lines)
        return Piece(
            start=section.start if number == 0 else units[0].start,
            end=units[-1].end if units else section.end,
            path=section.path,
            level=section.level if number == 0 else 0,
            text=text,
            tokens=self._counter.count((text,))[0],
            inside=number > 0 and units[0].part,
        )
