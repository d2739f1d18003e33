"""Windows of chunks packed under a token budget, for a prompt: whole notes together, nothing twice, never over it.

Chunks are taken in the order of their rank as long as they fit, and told note by note in the order of the text. A
window overlaps its neighbours': where both were taken, the overlap is left out, so that no passage is there twice.
Tokens add up where pieces meet at white space (``core.tokens``), so sizes are counted once a piece.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from mindnetd.core.extract_answer import Source
from mindnetd.core.overlap import head_of
from mindnetd.core.tokens import TokenCounter

LEAST = 24
"""A source that must be cut is not worth fewer tokens."""


@dataclass(frozen=True, slots=True)
class Packed:
    """`text` counts `tokens` tokens; `sources` are numbered from 1 as in the text; `left_out` did not fit."""

    text: str
    tokens: int
    sources: tuple[Source, ...]
    left_out: int


@dataclass(slots=True)
class _Part:
    source: Source
    text: str
    """The chunk's own text; cut at a sentence end, or between words, if the whole did not fit."""
    whole: bool = True


def pack(sources: Sequence[Source], budget: int, counter: TokenCounter) -> Packed:
    """Pack `sources` (best first, a chunk at most once) into at most `budget` tokens. Deterministic."""
    parts: list[_Part] = []
    spent = 0
    for source in sources:
        head = _head(source, len(parts) + 1)
        if all(part.source.path != source.path for part in parts):
            head = f"{_title(source)}\n\n{head}"
        cost, body = counter.count([head, source.chunk.text])
        if spent + cost + body <= budget:
            parts.append(_Part(source, source.chunk.text))
            spent += cost + body
        elif budget - spent - cost >= LEAST and all(part.whole for part in parts):
            text = head_of(source.chunk.text, budget - spent - cost, counter).rstrip()
            if text:
                parts.append(_Part(source, text, whole=False))
                spent += cost + counter.count([text])[0]
    while True:
        ordered = _ordered(parts)
        text = _told(ordered, spent, budget, counter)
        tokens = counter.count([text])[0]
        if tokens <= budget:
            break
        parts.pop()  # sizes are those of pieces; a text that is torn inside a word can count more
        spent = budget
    return Packed(text, tokens, tuple(part.source for part in ordered), len(sources) - len(parts))


def _ordered(parts: Sequence[_Part]) -> list[_Part]:
    """By note in the order of its best chunk; within a note by place."""
    first: dict[str, int] = {}
    for n, part in enumerate(parts):
        first.setdefault(part.source.path, n)
    return sorted(parts, key=lambda part: (first[part.source.path], part.source.chunk.idx))


def _told(parts: Sequence[_Part], spent: int, budget: int, counter: TokenCounter) -> str:
    """The text. What is left of the budget goes to the overlaps, of the best sources first."""
    room = budget - spent
    left, right = [""] * len(parts), [""] * len(parts)
    for n in sorted(range(len(parts)), key=lambda n: parts[n].source.rank):
        chunk = parts[n].source.chunk
        before = _joined(parts, n - 1, n) or not chunk.overlap_left.strip()
        after = not parts[n].whole or _joined(parts, n, n + 1) or not chunk.overlap_right.strip()
        sizes = counter.count([chunk.overlap_left, chunk.overlap_right])
        if not before and sizes[0] <= room:
            left[n], room = chunk.overlap_left, room - sizes[0]
        if not after and sizes[1] <= room:
            right[n], room = chunk.overlap_right, room - sizes[1]
    pieces: list[str] = []
    for n, part in enumerate(parts):
        source = part.source
        if n == 0 or parts[n - 1].source.path != source.path:
            pieces.append(_title(source))
        pieces.append(f"{_head(source, n + 1)}\n{(left[n] + part.text + right[n]).strip()}")
    return "\n\n".join(pieces)


def _joined(parts: Sequence[_Part], one: int, other: int) -> bool:
    """Are two places in the order neighbours in their note?"""
    if one < 0 or other >= len(parts):
        return False
    first, second = parts[one].source, parts[other].source
    return first.path == second.path and first.chunk.idx + 1 == second.chunk.idx and parts[one].whole


def _title(source: Source) -> str:
    return f"# {' '.join(source.title.split())} ({source.path})"


def _head(source: Source, n: int) -> str:
    chunk = source.chunk
    section = " > ".join(" ".join(part.split()) for part in chunk.section if part != source.title)
    return f"[{n}] {f'{section}, ' if section else ''}lines {chunk.start_line}-{chunk.end_line}"
