"""What stays in the body but out of the words: comments, drawing data, query blocks, encoded blobs."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from mindnetd.core.mask import Masked, Span, blank, line_starts, merge_spans
from mindnetd.core.records import Block

# Queries of plugins: code that says where notes are, not what they say. Prose blocks such as ad-note stay words.
_QUERY_BLOCK = re.compile(
    r"[\s>]*(?:[-*+][ \t]+|\d+[.)][ \t]+)?[`~]{3,}[ \t]*(?:dataview|dataviewjs|tasks|query|base)\b"
)
_BLOB = re.compile(r"(?<![A-Za-z0-9+/=_-])[A-Za-z0-9+/=_-]{256,}+")
_DATA_URI = re.compile(r"(?<![A-Za-z])data:[\w.+-]{1,60}/[\w.+-]{1,60}(?:;[\w=.-]{1,60})*+,[A-Za-z0-9+/=%_-]*+")
_BLOB_LENGTH = 256
_SECTION = re.compile(r"#{1,2} (Text Elements|Embedded [Ff]iles|Element Links|Drawing)[ \t]*$|%%[ \t]*$")
_ELEMENT_ID = re.compile(r"[ \t]\^[A-Za-z0-9_-]+[ \t]*$", re.MULTILINE)


def is_excalidraw(path: str, frontmatter: Mapping[str, Any]) -> bool:
    """Whether the note is a drawing of the Excalidraw plugin."""
    return path.casefold().endswith(".excalidraw.md") or "excalidraw-plugin" in frontmatter


def hidden_spans(body: str, masked: Masked, blocks: Sequence[Block]) -> tuple[Span, ...]:
    """Sorted, disjoint spans of an ordinary note that are no words."""
    spans = [*masked.comments, *masked.silent, *_blobs(body)]
    for block in blocks:
        start = masked.starts[block.first]
        if block.kind == "code" and _QUERY_BLOCK.match(body, start):
            spans.append((start, masked.starts[block.last] - 1))
    return merge_spans(spans)


def _blobs(body: str) -> Iterator[Span]:
    """Data URIs and unbroken runs of letters and digits that no word is long enough for."""
    if "data:" in body:
        yield from (match.span() for match in _DATA_URI.finditer(body))
    if _has_long_run(body):
        yield from (match.span() for match in _BLOB.finditer(body))


def _has_long_run(body: str) -> bool:
    """Whether any run without white space is long enough for a blob: cheaper than the pattern, and rarely true.

    Looked at in overlapping slices, so that the words of a huge note never all exist at once.
    """
    step = 1 << 16
    slices = (body[at : at + step + _BLOB_LENGTH] for at in range(0, len(body), step))
    return any(max(map(len, part.split()), default=0) >= _BLOB_LENGTH for part in slices)


def read_drawing(body: str) -> tuple[Masked, tuple[Span, ...]]:
    """The masked body and the hidden spans of a drawing.

    Only the text elements are words; links count there and among the embedded files, whatever ``%%`` stands around.
    """
    starts = line_starts(body)
    words: list[Span] = []
    linked: list[Span] = []
    section, begin = "", 0
    for line, text in enumerate(body.split("\n")):
        mark = _SECTION.match(text)
        if mark is not None:
            _take(section, (begin, starts[line]), words, linked)
            section, begin = mark.group(1) or "", min(starts[line + 1], len(body))
    _take(section, (begin, len(body)), words, linked)
    hidden = list(_gaps(words, len(body)))
    for start, end in words:
        hidden += (match.span() for match in _ELEMENT_ID.finditer(body, start, end))
    dead = merge_spans(_gaps(merge_spans(linked), len(body)))
    return Masked(blank(body, dead), (), (), starts), merge_spans(hidden)


def _take(section: str, span: Span, words: list[Span], linked: list[Span]) -> None:
    if section == "Text Elements":
        words.append(span)
    if section in ("Text Elements", "Embedded Files", "Embedded files", "Element Links"):
        linked.append(span)


def _gaps(spans: Sequence[Span], length: int) -> Iterator[Span]:
    """What lies between sorted, disjoint spans, from 0 to `length`."""
    at = 0
    for start, end in spans:
        yield at, start
        at = end
    yield at, length
