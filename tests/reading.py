"""Short words for the tests of reading: one note from text, its links, its codes."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

from mindnetd.core.note import ReadOptions, read_note
from mindnetd.core.records import ParsedNote
from mindnetd.core.resolve import NameIndex


def note(text: str, path: str = "Note.md", options: ReadOptions | None = None) -> ParsedNote:
    """The note with this text."""
    return read_note(path, text.encode("utf-8", "surrogatepass"), options or ReadOptions())


def targets(text: str) -> list[str]:
    """The targets of all links of a note, external ones too."""
    return [link.target for link in note(text).links]


def codes(text: str) -> list[str]:
    """The codes of a note's diagnostics."""
    return [one.code for one in note(text).diagnostics]


def resolve(target: str, source: str, *files: str) -> str | None:
    """Where `target` leads from `source` among `files`."""
    return NameIndex(files).resolve(target, source)[0]


def check_shape(read: ParsedNote) -> None:
    """What holds for every note: blocks tile the lines, hidden spans are sorted and inside, lines are lines."""
    count = read.body.count("\n") + 1 if read.body else 0
    at = 0
    for block in read.blocks:
        assert block.first == at < block.last
        at = block.last
    assert at == count
    end = 0
    for start, stop in read.hidden:
        assert end <= start < stop <= len(read.body)
        end = stop
    last = read.body_line + count
    assert all(link.line is None or 1 <= link.line < max(last, 2) for link in read.links)
    assert all(one.line is None or one.line >= 1 for one in read.diagnostics)


@cache
def documented_codes() -> frozenset[str]:
    """The codes of the table in ``docs/diagnostics.md``."""
    page = Path(__file__).resolve().parent.parent / "docs" / "diagnostics.md"
    return frozenset(re.findall(r"^\| `(\w+)` \|", page.read_text(), re.MULTILINE))
