"""What a counter of tokens must do, and what a text weighs when it is cut.

The implementation with the pinned tokenizer is ``inference.tokenizer.PinnedCounter``. WordPiece cuts at white space
before anything else, so the tokens of a text are those of its words added up: a piece cut at white space can be
counted by itself.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Protocol

LONG_WORD = 100
"""WordPiece gives up on a word longer than this and makes one ``[UNK]`` of it, however long it is."""
CHARS_PER_TOKEN = 16
"""What such a word weighs when text is cut: its one token says nothing about its size."""

_LONG = re.compile(rf"(?<!\S)\S{{{LONG_WORD + 1},}}")


class TokenCounter(Protocol):
    """Counts tokens without the special ones."""

    def count(self, texts: Sequence[str]) -> list[int]:
        """Return the number of tokens of each text, in order."""
        ...


def weight(text: str, tokens: int) -> int:
    """Return what `text` of so many `tokens` weighs: never less than its over-long words deserve by their length."""
    if len(text) <= LONG_WORD:
        return tokens
    return max(tokens, sum(len(word) // CHARS_PER_TOKEN for word in _LONG.findall(text)))
