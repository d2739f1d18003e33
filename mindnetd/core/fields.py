"""Inline fields of Dataview: ``Key:: value`` on a line of its own, ``[key:: value]`` and ``(key:: value)`` anywhere."""

from __future__ import annotations

import re
from collections.abc import Sequence

from mindnetd.core.mask import Masked, Span
from mindnetd.core.records import Block, Field

_KEY = r"[*_~]{0,3}(?P<key>\w[\w /-]{0,99}?)[*_~]{0,3}[ \t]*::"
_LINE_FIELD = re.compile(rf"[ \t]*{_KEY}(?P<value>.*)")
_OPENER = re.compile(rf"(?<![\[(])[\[(][ \t]*{_KEY}")
_BRACKETS = re.compile(r"[\[\]()]")
_CLOSES = {"[": "]", "(": ")"}
_TEXT_KINDS = ("paragraph", "item", "quote", "table", "heading")


def inline_fields(body: str, masked: Masked, blocks: Sequence[Block], body_line: int) -> list[tuple[Span, Field]]:
    """Fields with the span of their value, in file order."""
    if "::" not in masked.text:
        return []
    found: list[tuple[Span, Field]] = []
    starts = masked.starts
    for block in blocks:
        if block.kind not in _TEXT_KINDS or masked.text.find("::", starts[block.first], starts[block.last]) < 0:
            continue
        for line in range(block.first, block.last):
            start, end = starts[line], starts[line + 1] - 1
            if masked.text.find("::", start, end) >= 0:
                spans = _in_line(masked.text, start, end, whole_line=block.kind == "paragraph")
                found += [_field(body, key, value, body_line + line) for key, value in spans]
    return found


def canonical_key(name: str) -> str:
    """``Depends On`` is ``depends-on``."""
    return "-".join(name.casefold().split())


def _in_line(text: str, start: int, end: int, *, whole_line: bool) -> list[tuple[Span, Span]]:
    """(key span, value span) of the fields in one line; a bracketed field rules out one of the whole line."""
    found: list[tuple[Span, Span]] = []
    at = start
    pairs: dict[int, int] | None = None
    while opener := _OPENER.search(text, at, end):
        pairs = _pairs(text, start, end) if pairs is None else pairs
        close = pairs.get(opener.start())
        if close is None:
            at = opener.start() + 1
        else:
            found.append((opener.span("key"), (opener.end(), close)))
            at = close + 1
    if not found and whole_line:
        match = _LINE_FIELD.match(text, start, end)
        if match is not None:
            found.append((match.span("key"), match.span("value")))
    return found


def _pairs(text: str, start: int, end: int) -> dict[int, int]:
    """Where each bracket of a line is closed; brackets of both kinds nest, a closer that fits nothing is text."""
    pairs: dict[int, int] = {}
    open_: list[int] = []
    for bracket in _BRACKETS.finditer(text, start, end):
        if bracket.group() in _CLOSES:
            open_.append(bracket.start())
        elif open_ and _CLOSES[text[open_[-1]]] == bracket.group():
            pairs[open_.pop()] = bracket.start()
    return pairs


def _field(body: str, key: Span, value: Span, line: int) -> tuple[Span, Field]:
    name = body[key[0] : key[1]].strip()
    return value, Field(canonical_key(name), name, body[value[0] : value[1]].strip(), line)
