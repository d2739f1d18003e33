"""Bytes to text, and where the frontmatter ends: the first two steps of reading a note."""

from __future__ import annotations

import re
from dataclasses import dataclass

from mindnetd.core.records import Diagnostic

_BOM = b"\xef\xbb\xbf"
_OPEN = re.compile(rb"---[ \t]*(?:\r\n|\n|\r)")
# The opener's own line end is searched too, so that "---\n---" is an empty block.
_CLOSE = re.compile(rb"(?:\r\n|\n|\r)---[ \t]*(?:\r\n|\n|\r|\Z)")
_LATE = re.compile(rb"\s++---[ \t]*[\r\n]+[^\s:#][^:\r\n]*:[ \t\r\n]")


@dataclass(frozen=True, slots=True)
class Source:
    """Where the parts of a note are.

    ``block`` is the decoded text between the fences, None where there is no frontmatter. The body starts at byte
    ``body_at``; ``body_line`` is the file line of its first line.
    """

    block: str | None
    block_bytes: bytes
    body_at: int
    body_line: int
    diagnostics: tuple[Diagnostic, ...]


def split_note(raw: bytes) -> Source:
    """Find where frontmatter ends and the body starts. Takes any bytes; what is odd about them is a diagnostic."""
    found: list[Diagnostic] = []
    if raw.startswith(_BOM):
        found.append(Diagnostic("bom", "the file starts with a byte order mark; it is skipped", 1))
    start = len(_BOM) if raw.startswith(_BOM) else 0
    opener = _OPEN.match(raw, start)
    if opener is None:
        if (
            raw[start : start + 1].isspace()
            and (late := _LATE.match(raw, start))
            and _CLOSE.search(raw, late.end() - 1)
        ):
            found.append(_late_block(raw, start))
        return Source(None, b"", start, 1, tuple(found))
    closer = _CLOSE.search(raw, opener.end() - 1)
    if closer is None:
        message = "the block that opens with --- is never closed; the whole file is read as body"
        return Source(None, b"", start, 1, (*found, Diagnostic("fm_unterminated", message, 1)))
    block_bytes, body_at = raw[opener.end() : max(closer.start(), opener.end())], closer.end()
    block = _decode(block_bytes, 2, found)
    return Source(block, block_bytes, body_at, _count_lines(raw[:body_at]) + 1, tuple(found))


def body_lines(raw: bytes, source: Source) -> tuple[list[str], tuple[Diagnostic, ...]]:
    """The decoded lines of the body, with what was odd about its bytes. The text as a whole is not kept."""
    found: list[Diagnostic] = []
    return split_lines(_decode(raw[source.body_at :], source.body_line, found)), tuple(found)


def decode(raw: bytes) -> tuple[str, tuple[Diagnostic, ...]]:
    """The text of a file that has no frontmatter (a canvas), with what was odd about its bytes."""
    found: list[Diagnostic] = []
    return _decode(raw.removeprefix(_BOM), 1, found), tuple(found)


def split_lines(text: str) -> list[str]:
    """Lines without their ends; LF, CRLF and CR all end a line, nothing else does. Never empty."""
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    return text.split("\n")


def _count_lines(raw: bytes) -> int:
    """Lines in `raw`; one without a line end counts."""
    lines = split_lines(raw.decode("latin-1"))
    return len(lines) - (not lines[-1])


def _decode(raw: bytes, first_line: int, found: list[Diagnostic]) -> str:
    """UTF-8 with replacement, NULs off; one diagnostic for the first byte that is none."""
    try:
        text = raw.decode()
    except UnicodeDecodeError as error:
        line = first_line + len(split_lines(raw[: error.start].decode("latin-1"))) - 1
        message = f"not UTF-8: byte 0x{raw[error.start]:02x} and what else cannot be read is shown as U+FFFD"
        found.append(Diagnostic("encoding", message, line))
        text = raw.decode(errors="replace")
    return text.replace("\0", "") if "\0" in text else text


def _late_block(raw: bytes, start: int) -> Diagnostic:
    line = 1 + raw[start : raw.index(b"---", start)].count(b"\n")
    return Diagnostic("fm_not_at_start", "properties must start on the first line; this block is read as body", line)
