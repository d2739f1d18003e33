"""Block structure of a note's body: which lines belong together, and as what.

CommonMark's rules with Obsidian's additions (``%%`` comments, ``$$`` math), flattened: a list item, a quote, a table or
a fence is one block of whole lines; a fence inside a list item is a block of its own, a fence inside a quote belongs
to the quote (``core.links`` looks into it). An opener of ``%%`` or ``$$`` without a closer is plain text, so that
half a comment being typed never hides the rest of a note.

One pass; the cost is linear in the lines whatever they say.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal

from mindnetd.core.htmlblock import html_block_end
from mindnetd.core.records import Block

Kind = Literal["heading", "paragraph", "item", "table", "code", "quote", "html", "math", "comment", "rule"]
_Found = tuple[Kind, int, int]
"""kind, end line (exclusive), heading level."""

# Only a line that starts with one of these can be anything but plain text.
_SPECIAL = frozenset("#`~>-*+=_|:$%<0123456789")
_ATX = re.compile(r"(#{1,6})(?:[ \t]|$)")
_FENCE = re.compile(r"(`{3,})[^`]*$|(~{3,})")
_ITEM = re.compile(r"([-*+]|\d{1,9}[.)])([ \t]+|$)")
_SETEXT = re.compile(r"(=+|-+)[ \t]*$")
_FOOTNOTE = re.compile(r"\[\^[^\]\s]+\]:")


def scan_blocks(lines: Sequence[str]) -> tuple[Block, ...]:
    """Cut body lines (without line ends) into blocks that tile all of them; no lines, no blocks."""
    return _Scanner(lines).run()


def indent_of(line: str) -> int:
    """Columns of leading white space, tabs to multiples of four."""
    if not line or line[0] not in " \t":
        return 0
    lead = line[: len(line) - len(line.lstrip(" \t"))]
    return len(lead.expandtabs(4))


def is_fence(text: str) -> re.Match[str] | None:
    """The opener of a code fence at the start of `text` (leading white space already off), or None."""
    return _FENCE.match(text)


class _Scanner:
    """State of one pass: the blocks so far and the content columns of the list items that are open."""

    def __init__(self, lines: Sequence[str]) -> None:
        self._lines = lines
        self._n = len(lines)
        self._columns: list[int] = []
        self._last: dict[str, int] = {}

    def run(self) -> tuple[Block, ...]:
        """All blocks, in order."""
        blocks: list[Block] = []
        start, i = 0, self._skip_blank(0)
        while i < self._n:
            kind, end, level = self._block(i)
            i = self._skip_blank(end)
            blocks.append(Block(kind, start, i, level))
            start = i
        if not blocks and self._n:
            blocks.append(Block("paragraph", 0, self._n))
        return tuple(blocks)

    def _skip_blank(self, i: int) -> int:
        lines = self._lines
        while i < self._n and (not lines[i] or lines[i].isspace()):
            i += 1
        return i

    def _block(self, i: int) -> _Found:
        """The block that starts at the non-blank line `i`."""
        line = self._lines[i]
        text = line.lstrip(" \t")
        indent = indent_of(line)
        columns = self._columns
        while columns and indent < columns[-1]:
            columns.pop()
        base = columns[-1] if columns else 0
        if indent - base >= 4:
            return self._indented_code(i, base)
        if text[0] in _SPECIAL:
            found = self._special(i, text, base)
            if found is not None:
                return found
        if text[0] == "[" and _FOOTNOTE.match(text):
            columns.append(indent + 4)  # indented lines after it are its text, not code
        return self._paragraph(i)

    def _special(self, i: int, text: str, base: int) -> _Found | None:
        """The block at line `i` if its first character makes it one, None if it is a paragraph after all."""
        first = text[0]
        if first == "#":
            atx = _ATX.match(text)
            return ("heading", i + 1, len(atx.group(1))) if atx else None
        if first in "`~":
            return self._fence(i, text, base)
        if first == ">":
            return self._quote(i)
        if first in "$%":
            return self._delimited(i, text, first * 2)
        if first == "<":
            end = html_block_end(self._lines, i, interrupting=False)
            return ("html", end, 0) if end else None
        if _is_rule(text):
            return "rule", i + 1, 0
        return self._item(i, text)

    def _item(self, i: int, text: str) -> _Found | None:
        """A list item with the lines that continue its first paragraph."""
        marker = _ITEM.match(text)
        if marker is None:
            return None
        space = len(marker.group(2).expandtabs(4))
        column = indent_of(self._lines[i]) + len(marker.group(1)) + (space if 1 <= space <= 4 else 1)
        self._columns.append(column)
        rest = text[marker.end() :]
        if rest and rest[0] in "`~$":
            inner = self._fence(i, rest, column) if rest[0] != "$" else self._delimited(i, rest, "$$")
            if inner is not None:
                return inner
        j = i + 1
        while j < self._n and not self._ends_text(j, in_item=True):
            j += 1
        return "item", j, 0

    def _ends_text(self, j: int, *, in_item: bool) -> bool:
        """Whether line `j` is blank or starts a block that may interrupt running text."""
        line = self._lines[j]
        text = line.lstrip(" \t")
        if not text or text.isspace():
            return True
        first = text[0]
        if first not in _SPECIAL:
            return False
        if not in_item and indent_of(line) >= 4 + (self._columns[-1] if self._columns else 0):
            return False
        if first == "#":
            return _ATX.match(text) is not None
        if first in "`~":
            return _FENCE.match(text) is not None
        if first in "$%":
            return self._delimited(j, text, first * 2) is not None
        if first == "<":
            return html_block_end(self._lines, j, interrupting=True) is not None
        return first == ">" or _is_rule(text) or _starts_item(text, in_item)

    def _paragraph(self, i: int) -> _Found:
        """Running text; it may turn out to be a setext heading or the head row of a table."""
        lines = self._lines
        j = i + 1
        while j < self._n:
            text = lines[j].lstrip(" \t")
            if text and text[0] in "=-|:":
                underline = _SETEXT.match(text)
                if underline and indent_of(lines[j]) < 4 + (self._columns[-1] if self._columns else 0):
                    return "heading", j + 1, 1 if text[0] == "=" else 2
                if "|" in lines[j - 1] and _is_delimiter_row(text):
                    return self._table(j + 1) if j - 1 == i else ("paragraph", j - 1, 0)
            if self._ends_text(j, in_item=False):
                break
            j += 1
        return "paragraph", j, 0

    def _table(self, j: int) -> _Found:
        """The rows of a table whose first row after the delimiter is line `j`."""
        while j < self._n and not self._ends_text(j, in_item=False):
            j += 1
        return "table", j, 0

    def _fence(self, i: int, text: str, base: int) -> _Found | None:
        """A fenced code block; it runs to the end of the note, or of its list item, where the closer is missing."""
        opener = _FENCE.match(text)
        if opener is None:
            return None
        fence = opener.group(1) or opener.group(2)
        char, length = fence[0], len(fence)
        for j in range(i + 1, self._n):
            line = self._lines[j]
            text = line.strip(" \t")
            if not text:
                continue
            if base and indent_of(line) < base:
                return "code", j, 0
            if text[0] == char and len(text) >= length and text == char * len(text):
                return "code", j + 1, 0
        return "code", self._n, 0

    def _indented_code(self, i: int, base: int) -> _Found:
        """Lines indented by four columns or more; blank lines between them belong to it."""
        j = end = i + 1
        while j < self._n:
            line = self._lines[j]
            if line and not line.isspace():
                if indent_of(line) < base + 4:
                    break
                end = j + 1
            j += 1
        return "code", end, 0

    def _quote(self, i: int) -> _Found:
        """A quote or callout; plain text right after it continues its last paragraph."""
        j = i + 1
        lazy = _takes_lazy_text(self._lines[i])
        while j < self._n:
            line = self._lines[j]
            if line.lstrip(" \t")[:1] == ">":
                lazy = _takes_lazy_text(line)
            elif not lazy or self._ends_text(j, in_item=False):
                break
            j += 1
        return "quote", j, 0

    def _delimited(self, i: int, text: str, mark: str) -> _Found | None:
        """A block between two ``%%`` or ``$$`` marks; None where text follows the closer, or none comes."""
        if not text.startswith(mark):
            return None
        kind: Kind = "comment" if mark == "%%" else "math"
        close = text.find(mark, 2)
        if close >= 0:
            return None if text[close + 2 :].strip() else (kind, i + 1, 0)
        if self._last_with(mark) <= i:
            return None
        for j in range(i + 1, self._n):
            if mark in self._lines[j]:
                return kind, j + 1, 0
        return None

    def _last_with(self, mark: str) -> int:
        """The last line that contains `mark` (-1: none): asked often, looked up once."""
        if mark not in self._last:
            self._last[mark] = next((j for j in range(self._n - 1, -1, -1) if mark in self._lines[j]), -1)
        return self._last[mark]


def _is_rule(text: str) -> bool:
    """A thematic break: three or more ``-``, ``*`` or ``_`` and nothing else but spaces."""
    first = text[0]
    if first not in "-*_" or text[1:2] not in (first, " ", "\t"):
        return False
    marks = text.replace(" ", "").replace("\t", "")
    return len(marks) >= 3 and marks == first * len(marks)


def _starts_item(text: str, in_item: bool) -> bool:
    """Whether a list item that may interrupt text starts here; outside lists a number must be 1, the item not empty."""
    marker = _ITEM.match(text)
    if marker is None:
        return False
    return in_item or (marker.end() < len(text) and (text[0] in "-*+" or marker.group(1)[:-1] == "1"))


def _is_delimiter_row(text: str) -> bool:
    """The second row of a table: only dashes, colons, pipes and spaces, a dash and a pipe among them."""
    return "-" in text and "|" in text and not text.strip(" \t|:-")


def _takes_lazy_text(line: str) -> bool:
    """Whether plain text on the next line would continue this quote line's paragraph."""
    inner = line.lstrip(" \t>")
    return bool(inner) and not (_ATX.match(inner) or _FENCE.match(inner))
