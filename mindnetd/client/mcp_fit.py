"""Results of ``mindnet mcp`` made small enough for an agent: the structured result and its text, each under a cap."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from mindnetd.client.mcp_calls import ELLIPSIS, Json, Shape, Size

MOST_BYTES = 24_000
"""Of the structured result as JSON, and of the text: some 6,000 tokens of English, less than agents cut off at."""
SIZES = tuple(Size(chars, items) for chars, items in ((700, 100), (450, 60), (280, 40), (160, 25), (90, 12), (60, 5)))
KEPT = ("id", "path", "src", "dst", "note_id", "source_id", "target_id", "chunk_id", "code")
"""Strings that name something: useless when cut."""
LONGEST_NAME = 1000
LONG_TEXTS = {"text": 10, "message": 3, "summary": 3}
"""Keys whose strings may be so many times as long as others."""


class Fitted(NamedTuple):
    """A result that fits."""

    structured: Json
    text: str


def fitted(shape: Shape, write: Callable[[Json], str]) -> Fitted:
    """The largest size of ``shape`` whose JSON and text (by ``write``) both keep under the cap."""
    for size in SIZES:
        structured = pruned(shape(size), size)
        text = write(structured)
        if size_of(structured) <= MOST_BYTES and len(text.encode()) <= MOST_BYTES:
            return Fitted(structured, text)
    return Fitted(*_least(structured))


def _least(structured: Json) -> tuple[Json, str]:
    """Where nothing fits (a note with a thousand properties): as many keys as fit, and that some are missing."""
    kept: Json = {"truncated": True}
    for key, value in structured.items():
        smaller: Any = [] if isinstance(value, list) else {} if isinstance(value, dict) else value
        for one in (value, smaller):
            if size_of({**kept, key: one}) <= MOST_BYTES - 200:
                kept[key] = one
                break
    text = "The result is too large for a tool; only a part of it follows.\n" + json.dumps(kept, ensure_ascii=False)
    return kept, text.encode()[:MOST_BYTES].decode("utf-8", "ignore")


def size_of(value: Any) -> int:
    """Bytes of the JSON."""
    return len(json.dumps(value, ensure_ascii=False).encode())


def pruned(value: Any, size: Size, key: str = "") -> Any:
    """``value`` with long strings and lists cut; what was cut of a list is not counted here but by its tool."""
    if isinstance(value, str):
        return cut(value, LONGEST_NAME if key in KEPT else size.chars * LONG_TEXTS.get(key, 1) + 2)
    if isinstance(value, dict):
        return {cut(str(name), LONGEST_NAME): pruned(item, size, name) for name, item in list(value.items())[:200]}
    if isinstance(value, list):
        return [pruned(item, size, key) for item in value[: size.items]]
    return value


def cut(text: str, chars: int) -> str:
    """At most ``chars`` characters; half a surrogate pair, which no UTF-8 can carry, becomes a question mark."""
    text = text if len(text) <= chars else text[: max(chars - 1, 0)].rstrip() + ELLIPSIS
    return text.encode("utf-8", "replace").decode()


def lines_of(texts: Iterator[str]) -> str:
    """The lines as one text, without control characters: a note must not steer whatever shows this."""
    return "\n".join("".join(c if c.isprintable() or c in "\n\t" else " " for c in text) for text in texts)
