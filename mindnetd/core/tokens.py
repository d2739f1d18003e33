"""Counting tokens the way the pinned model does, fast enough to count everything.

WordPiece cuts at white space before anything else, so the tokens of a text are the tokens of its words, added up.
Words repeat (Zipf), hence each distinct word meets the real tokenizer once and a dictionary does the rest: a vault of
15 MB is counted in well under a second after the first few thousand notes.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Protocol

MAX_CACHED_WORDS = 200_000
LONG_WORD = 100
"""WordPiece gives up on a word longer than this and makes one ``[UNK]`` of it, however long it is."""
LONG_WORD_CHARS_PER_TOKEN = 16
"""What such a word weighs when text is cut: its one token says nothing about its size."""

_ODD_SPACE = re.compile("[\x0b\x0c\x1c-\x1f\x85]")
"""White space to ``str.split``, but control characters (dropped, not a border of words) to the tokenizer."""
_SPACE = re.compile("[ \t\r\n]+")


class TokenCounter(Protocol):
    """Counts tokens without the special ones; ``inference.tokenizer`` has the one with the pinned tokenizer."""

    def count(self, texts: Sequence[str]) -> list[int]:
        """Return the number of tokens of each text, in order."""
        ...


class WordCounter:
    """A `TokenCounter` over another one, with a dictionary of words. Equal results, for one thread."""

    def __init__(self, base: TokenCounter) -> None:
        self._base = base
        self._known: dict[str, int] = {}

    def count(self, texts: Sequence[str]) -> list[int]:
        """Return the number of tokens of each text, in order."""
        split = [split_words(text) for text in texts]
        self._learn(split)
        known = self._known
        return [sum([known[word] for word in words]) for words in split]

    def one(self, text: str) -> int:
        """Return the number of tokens of one text."""
        return self.count((text,))[0]

    def weigh(self, texts: Sequence[str]) -> list[int]:
        """Return the weight of each text: its tokens, but a word over `LONG_WORD` counts by its length."""
        split = [split_words(text) for text in texts]
        self._learn(split)
        known = self._known
        return [sum([known[word] if len(word) <= LONG_WORD else self._long(word) for word in words]) for words in split]

    def _long(self, word: str) -> int:
        return max(self._known[word], len(word) // LONG_WORD_CHARS_PER_TOKEN)

    def _learn(self, texts: Sequence[Sequence[str]]) -> None:
        """Ask the base counter about every word that is not known yet, in one call."""
        if len(self._known) > MAX_CACHED_WORDS:
            self._known.clear()
        known = self._known
        fresh = list(dict.fromkeys(word for words in texts for word in words if word not in known))
        if fresh:
            known.update(zip(fresh, self._base.count(fresh), strict=True))


def split_words(text: str) -> list[str]:
    """Cut `text` at the white space that the tokenizer cuts at, too."""
    if _ODD_SPACE.search(text):
        return [word for word in _SPACE.split(text) if word]
    return text.split()


def word_counter(counter: TokenCounter) -> WordCounter:
    """Return `counter` itself if it already remembers words, else one over it."""
    return counter if isinstance(counter, WordCounter) else WordCounter(counter)
