"""What a counter of tokens must do.

The implementation with the pinned tokenizer is ``inference.tokenizer.PinnedCounter``. WordPiece cuts at white space
before anything else, so the tokens of a text are those of its words added up: a piece cut at white space can be
counted by itself, and counts of pieces can be added.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

CHARS_PER_TOKEN = 16
"""No text counts as less than a token per so many characters when it is cut: WordPiece makes one ``[UNK]`` of a word
over 100 letters, however long it is."""


class TokenCounter(Protocol):
    """Counts tokens without the special ones."""

    def count(self, texts: Sequence[str]) -> list[int]:
        """Return the number of tokens of each text, in order."""
        ...
