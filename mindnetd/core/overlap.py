"""What a chunk sees of its neighbours: whole sentences where they nearly fill the budget, else whole words."""

from __future__ import annotations

import re

from mindnetd.core.sentences import sentence_spans
from mindnetd.core.tokens import CHARS_PER_TOKEN, TokenCounter

SENTENCE_SHARE = 0.6
"""Whole sentences are preferred if they use this share of the budget."""

# A word; one character of the scripts without spaces; no more than a piece of an endless word.
_ATOM = re.compile("[\u2e80-\ud7af\uf900-\ufaff]|[^\\s\u2e80-\ud7af\uf900-\ufaff]{1,40}")


def tail_of(text: str, budget: int, counter: TokenCounter) -> str:
    """Return the end of `text`: at most `budget` tokens (> 0), but at least its last word; "" among blanks alone."""
    part = text[-budget * CHARS_PER_TOKEN :]
    spans, sizes = _atoms(part, counter)
    if not spans:
        return ""
    held, first = 0, len(spans)
    while first and (first == len(spans) or held + sizes[first - 1] <= budget):
        first -= 1
        held += sizes[first]
    for start, _ in sentence_spans(part):
        if start >= spans[first][0]:
            kept = sum(size for (at, _), size in zip(spans, sizes, strict=True) if at >= start)
            return part[start if kept >= SENTENCE_SHARE * budget else spans[first][0] :]
    return part[spans[first][0] :]


def head_of(text: str, budget: int, counter: TokenCounter) -> str:
    """Return the start of `text`: at most `budget` tokens (> 0), but at least its first word; "" among blanks alone."""
    part = text[: budget * CHARS_PER_TOKEN]
    spans, sizes = _atoms(part, counter)
    if not spans:
        return ""
    held, last = 0, 0
    while last < len(spans) and (last == 0 or held + sizes[last] <= budget):
        held += sizes[last]
        last += 1
    end = spans[last][0] if last < len(spans) else len(part)
    for _, stop in reversed(sentence_spans(part)):
        if stop <= end:
            kept = sum(size for (at, _), size in zip(spans, sizes, strict=True) if at < stop)
            return part[: stop if kept >= SENTENCE_SHARE * budget else end]
    return part[:end]


def _atoms(text: str, counter: TokenCounter) -> tuple[list[tuple[int, int]], list[int]]:
    spans = [match.span() for match in _ATOM.finditer(text)]
    return spans, counter.count([text[start:end] for start, end in spans])
