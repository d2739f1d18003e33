"""Passages: the pieces of a note that are embedded. Cut first, by local rules, so that a small edit stays small.

A section's units are grouped where `local_cuts` says so; a group over the window is divided evenly. A passage never
crosses a heading, and carries its heading path in front of its text instead of the note's name, so that a move costs
nothing. What is cut here is only ever put together to chunks, never cut again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from mindnetd.core.clean import neutral
from mindnetd.core.cuts import NEVER, balanced, groups_of, local_cuts
from mindnetd.core.identity import nfc
from mindnetd.core.records import ParsedNote
from mindnetd.core.sections import Section, SectionReader
from mindnetd.core.tokens import TokenCounter
from mindnetd.core.units import Limits, Measure, Unit, gap_ranks

RADIUS = 48
"""No two cuts are closer than this many tokens (but around a block that fills a window): the least size of a passage
of a section that has so much text."""
RAW_PER_PASSAGE = 440
"""Tokens of raw text (markup, link targets and hidden spans too) that a passage covers at most: under each profile's
upper bound."""


class Piece(NamedTuple):
    """A span of the body and the passage it makes: `text` is what is embedded, "" where nothing is visible.

    `raw` are the tokens of the span as written; where it is `torn` (see `Unit`) they are an estimate. `level` is the
    level of the heading that the piece starts with (0: none), `inside` whether it continues a block.
    """

    start: int
    end: int
    path: tuple[str, ...]
    level: int
    text: str
    tokens: int
    raw: int
    torn: bool
    inside: bool


def cut_pieces(note: ParsedNote, counter: TokenCounter, window: int, upper: int) -> list[Piece]:
    """Cut the body of `note` into pieces that tile it.

    No passage is over `window` - 2 tokens; no piece covers more than `upper` tokens of the body.
    """
    measure = Measure(note, counter, Limits(window, min(RAW_PER_PASSAGE, upper)))
    pieces: list[Piece] = []
    for section in SectionReader(note, counter, measure).sections():
        pieces.extend(_cut(section, measure))
    return pieces


def title_text(note: ParsedNote, counter: TokenCounter, window: int) -> tuple[str, int]:
    """Return the passage of the note's title, aliases and tags, cut to the window, and its tokens."""
    lines = [note.title, ", ".join(note.aliases), " ".join(note.tags)]
    text = neutral(nfc("\n".join(" ".join(line.split()) for line in lines if line.strip())))
    tokens = counter.count((text,))[0]
    if tokens <= window - 2:
        return text, tokens
    words = text.split(" ")
    total = 0
    for index, size in enumerate(counter.count(words)):
        if total + size > window - 2:
            return " ".join(words[:index]), total
        total += size
    return text, total


def _cut(section: Section, measure: Measure) -> Iterator[Piece]:
    """Cut one section into pieces that tile it."""
    units, limit = section.units, section.limit
    if not units:
        yield _piece(section, (), 0)
        return
    sizes = [unit.size for unit in units]
    sizes[0] += section.lead_size
    if sum(sizes) < min(2 * RADIUS, limit):  # no gap is far enough from both ends
        yield _piece(section, units, 0)
        return
    ranks = gap_ranks(units, limit, RADIUS)
    for gap, after in enumerate(units[1:]):
        if not after.text and sizes[gap] + after.size <= limit:
            ranks[gap] = NEVER  # nothing to see: it goes with what is before it
    number = 0
    for first, last in groups_of(len(units), local_cuts(sizes, ranks, RADIUS)):
        lead = section.lead_size if first == 0 else 0
        for group in _fitting(units[first:last], lead, limit, measure):
            yield _piece(section, group, number)
            number += 1


def _fitting(units: Sequence[Unit], lead: int, limit: int, measure: Measure) -> Iterator[Sequence[Unit]]:
    """Divide a group over the limit evenly, blocks that are over it themselves at their sentences."""
    if lead + sum(unit.size for unit in units) <= limit:
        yield units
        return
    most = limit - lead
    parts = [part for unit in units for part in ([unit] if unit.size <= most else measure.parts(unit, most))]
    sizes = [part.size for part in parts]
    sizes[0] += lead
    for first, last in groups_of(len(parts), balanced(sizes, limit)):
        yield parts[first:last]


def _piece(section: Section, units: Sequence[Unit], number: int) -> Piece:
    """Make piece `number` of the section; the first one begins with the section's headings.

    Tokens add up: the parts of the text are joined by line ends.
    """
    head = number == 0
    lines = [unit.text for unit in units if unit.text]
    tokens = sum(unit.tokens for unit in units)
    raw = sum(unit.raw for unit in units)
    if head:
        lines = [*section.lead, *lines]
        tokens += section.lead_tokens
        raw += section.lead_raw
    shown = bool(lines) or (head and section.level > 0)
    if shown and section.prefix:
        lines = [section.prefix, *lines]
        tokens += section.prefix_tokens
    return Piece(
        start=section.start if head else units[0].start,
        end=units[-1].end if units else section.end,
        path=section.path,
        level=section.level if head else 0,
        text="\n".join(lines) if shown else "",
        tokens=tokens,
        raw=raw,
        torn=any(unit.torn for unit in units),
        inside=not head and units[0].part,
    )
