"""The prose of a note: its body with everything blanked in which a name is no mention, place for place."""

from __future__ import annotations

import re

from mindnetd.core.mask import blank, mask_body, merge_spans
from mindnetd.core.records import ParsedNote
from mindnetd.core.sentences import sentence_spans

LONGEST = 200
_NOT_PROSE = re.compile(
    r"!?\[\[[^\]\n]*\]\]"  # links, with their display text
    r"|!?\[(?:[^\[\]\n]|\[[^\[\]\n]*\])*\](?:\([^()\n]*(?:\([^()\n]*\)[^()\n]*)*\)|\[[^\]\n]*\])"
    r"|^[ ]{0,3}\[[^\]\n]+\]:.*$"
    r"|<?\b(?:https?|ftp|file|obsidian|mailto):[^\s>]*>?|\bwww\.[^\s>]+"
    r"|\b[\w.+-]+@[\w-]+\.[\w.-]+"
    r"|</?[A-Za-z][^<>]*>"
    r"|(?<!\S)#[^\s#]+"  # tags
    r"|(?:^|(?<=\s))\^[A-Za-z0-9-]+[ \t]*$",
    re.MULTILINE,
)
_MARKS = " \t>#*+-|"


def prose(note: ParsedNote) -> str:
    """The body of a note with headings, code, math, comments, links, URLs, tags, hidden spans as NUL; equally long."""
    masked = mask_body(note.body, note.blocks)
    spans = [*note.hidden, *masked.comments, *masked.silent]
    starts = masked.starts
    spans += [(starts[block.first], starts[block.last]) for block in note.blocks if block.kind == "heading"]
    spans += [match.span() for match in _NOT_PROSE.finditer(masked.text)]
    return blank(masked.text, merge_spans(spans))


def sentence_at(body: str, start: int, end: int) -> str:
    """The sentence around a place of a body, on one line, at most `LONGEST` characters and the place among them."""
    low = body.rfind("\n\n", 0, start) + 2 if "\n\n" in body[:start] else 0
    high = body.find("\n\n", end)
    low, high = max(low, start - 1000), min(high if high >= 0 else len(body), end + 1000)
    for first, last in sentence_spans(body[low:high]):
        if low + first <= start < low + last:
            low, high = low + first, max(low + last, end)
            break
    if high - low > LONGEST:
        low = max(low, start - LONGEST // 2)
        high = min(high, max(low + LONGEST, end))
    return " ".join(body[low:high].split()).lstrip(_MARKS)[:LONGEST]


def line_of(note: ParsedNote, offset: int) -> int:
    """The file line of a place of the body."""
    return note.body_line + note.body.count("\n", 0, offset)
