"""The sentence of a note that says so: what an edge shows as its evidence, so that nobody has to open the note."""

from __future__ import annotations

import re

from mindnetd.core.records import Block, Link, ParsedNote
from mindnetd.core.sentences import sentence_spans

LONGEST = 200
"""Characters of evidence; of a longer sentence the part around the link."""

LONGEST_LINE = 200_000
"""Characters of a line in which the place of a link is looked for; a longer one is no prose."""

_MARKS = " \t>#*+-|"
"""What stands before the text of a quote, heading, list item or table row."""

_MAY_END = re.compile("[.!?\\n\u2026\u061f\u0964\u0965\u3002\uff01\uff1f\uff0e]")
"""Without one of these a text is one sentence (`core.sentences`); most lines with a link in them have none."""


class Evidence:
    """Finds the sentence of each link of one note. Without a note (a canvas): the link as written."""

    def __init__(self, note: ParsedNote | None = None) -> None:
        self._note = note
        self._starts: list[int] | None = None
        self._last: tuple[tuple[int, int], _Text] | None = None

    def of(self, link: Link) -> str:
        """At most `LONGEST` characters on one line; a property is shown as ``key: value``."""
        if link.property is not None and link.kind != "inline_field":
            return f"{link.property}: {link.raw}"[:LONGEST]
        note = self._note
        if note is None or link.line is None:
            return link.raw[:LONGEST]
        place = link.line - note.body_line
        starts = self._line_starts(note)
        if not 0 <= place < len(starts):
            return link.raw[:LONGEST]
        end = starts[place + 1] if place + 1 < len(starts) else len(note.body)
        if end - starts[place] > LONGEST_LINE:
            return link.raw[:LONGEST]
        at = note.body.find(link.raw, starts[place], end)
        if at < 0:  # a link that the canonical form spells otherwise, or over two lines
            return _window(note.body[starts[place] : end], 0, 0)
        start = starts[place]
        block = _block_at(note.blocks, place)
        if block.kind == "paragraph" and block.last - block.first > 1:
            start, end = starts[block.first], starts[block.last] if block.last < len(starts) else len(note.body)
        return _sentence(self._text(note, start, end), at - start, len(link.raw))

    def _text(self, note: ParsedNote, start: int, end: int) -> _Text:
        """A paragraph is looked through once, however many links are in it."""
        if self._last is None or self._last[0] != (start, end):
            self._last = ((start, end), _Text(note.body[start:end].rstrip()))
        return self._last[1]

    def _line_starts(self, note: ParsedNote) -> list[int]:
        if self._starts is None:
            self._starts = [0]
            at = note.body.find("\n")
            while at >= 0:
                self._starts.append(at + 1)
                at = note.body.find("\n", at + 1)
        return self._starts


class _Text:
    """A text, and where in it the first and the last mark stand that may end a sentence."""

    def __init__(self, text: str) -> None:
        self.text = text
        marks = [match.start() for match in _MAY_END.finditer(text)]
        self.first, self.last = (marks[0], marks[-1]) if marks else (len(text), -1)


def _block_at(blocks: tuple[Block, ...], line: int) -> Block:
    low, high = 0, len(blocks) - 1
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if blocks[middle].first <= line else (low, middle - 1)
    return blocks[low]


def _sentence(whole: _Text, at: int, length: int) -> str:
    """The sentence of a text around the link at `at`; two where the link has a sentence end inside."""
    text = whole.text
    if whole.first >= at and whole.last < at + length:
        low = max(0, at - 2 * LONGEST)  # far more than is shown of it
        return _window(text[low : at + length + 2 * LONGEST], at - low, length)
    start = max(0, at - LONGEST)  # what is farther away than that cannot be part of what is shown
    text, at = text[start : at + length + LONGEST], at - start
    spans = [span for span in sentence_spans(text) if span[0] < at + length and at < span[1]]
    start, end = (spans[0][0], spans[-1][1]) if spans else (0, len(text))
    return _window(text[start:end], at - start, length)


def _window(text: str, at: int, length: int) -> str:
    """One line of at most `LONGEST` characters with the link in it."""
    lead = len(text) - len(text.lstrip(_MARKS))
    lead = min(lead, at)
    text, at = text[lead:].rstrip(), at - lead
    if len(text) > LONGEST:
        start = max(0, min(at - (LONGEST - min(length, LONGEST)) // 2, len(text) - LONGEST))
        text = text[start : start + LONGEST]
    return " ".join(text.split())
