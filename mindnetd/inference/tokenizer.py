"""Text to tokens: the pinned MiniLM tokenizer that ships with the program, and a fast counter over it.

The file carries truncation to 128 and padding to 128 (``libraries.md`` 4.1): both are switched off here. Literal
``[SEP]`` or ``[MASK]`` in a note stays text (``encode_special_tokens``), so a note cannot inject a special token.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Sequence
from importlib.resources import files

from mindnetd.errors import ModelError

# The library reads the variable at every call (``libraries.md`` 4.3). Its own threads would ignore our low priority
# and run beside queries; a set value is left alone.
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")

from tokenizers import Tokenizer  # after the variable is set

PINNED_SHA256 = "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037"
"""SHA-256 of the shipped ``tokenizer.json``."""

_CACHED_WORDS = 1 << 17
_CACHED_LENGTH = 48
# Python splits at these, while the tokenizer drops them and joins what stood around them.
_DROPPED = str.maketrans(dict.fromkeys("\x0b\x0c\x1c\x1d\x1e\x1f\x85"))
_ODD = re.compile("[\x0b\x0c\x1c-\x1f\x85]")
_PART = re.compile(r"[A-Za-z0-9]+|[^A-Za-z0-9]")
# Long texts are encoded in pieces that end before white space, to bound the memory of one call.
_PIECE = re.compile(r"(?s:.){1,8192}(?=[ \n]|\Z)|(?s:.){1,8192}")


def open_tokenizer(data: bytes, origin: str) -> Tokenizer:
    """Load a ``tokenizer.json``: no truncation, no padding, special tokens in a text stay text.

    Raises ModelError naming `origin` where the bytes are no tokenizer.
    """
    try:
        tokenizer = Tokenizer.from_buffer(data)
    except Exception as error:  # the library raises bare Exception
        raise ModelError(f"{origin} is not a usable tokenizer: {error}", code="bad_tokenizer") from error
    tokenizer.no_truncation()
    tokenizer.no_padding()
    tokenizer.encode_special_tokens = True
    return tokenizer


def load_tokenizer() -> Tokenizer:
    """Load the pinned tokenizer from the package; raises ModelError if the file is not the pinned one."""
    data = (files("mindnetd.inference") / "data" / "tokenizer.json").read_bytes()
    if hashlib.sha256(data).hexdigest() != PINNED_SHA256:
        raise ModelError("the tokenizer inside mindnetd was changed: install mindnetd again", code="bad_tokenizer")
    return open_tokenizer(data, "the tokenizer inside mindnetd")


class PinnedCounter:
    """Counts tokens (without [CLS] and [SEP]) with the pinned tokenizer; ``core.tokens.TokenCounter``.

    The tokenizer splits at white space before anything else, so the count of a text is the sum of the counts of its
    words, and words repeat: a dictionary of words is about ten times as fast as encoding every text. Safe for several
    threads: the cache only ever maps a word to its one count.
    """

    def __init__(self) -> None:
        self._tokenizer = load_tokenizer()
        self._words: dict[str, int] = {}

    def count(self, texts: Sequence[str]) -> list[int]:
        """Return the number of tokens of each of `texts`, in order."""
        split = [(text.translate(_DROPPED) if _ODD.search(text) else text).split() for text in texts]
        known = self._words
        extra = self._learn({word for words in split for word in words if word not in known})
        if not extra:
            return [sum(map(known.__getitem__, words)) for words in split]
        return [sum([extra[word] if word in extra else known[word] for word in words]) for words in split]

    def spans(self, text: str) -> list[tuple[int, int]]:
        """Return the code-point span of each token of `text`, in order (for cuts inside a long block)."""
        spans: list[tuple[int, int]] = []
        base = 0
        for piece in _PIECE.findall(text):
            offsets = self._tokenizer.encode(piece, add_special_tokens=False).offsets
            spans.extend((base + start, base + end) for start, end in offsets)
            base += len(piece)
        return spans

    def _learn(self, new: set[str]) -> dict[str, int]:
        """Count unseen words; keep the short ones for later, and return all of them for this call.

        The tokenizer also cuts at every ASCII punctuation character and makes one token of each, so a URL or a path,
        rarely seen twice, is counted by its parts, which are.
        """
        known = self._words
        parts = {word: _PART.findall(word) for word in new if word.isascii() and word.isprintable()}
        counts = self._count_whole({part for found in parts.values() for part in found if part not in known})
        counts.update(self._count_whole(new.difference(parts)))
        for word, found in parts.items():
            counts[word] = sum([counts[part] if part in counts else known[part] for part in found])
        if len(known) < _CACHED_WORDS:
            # A full cache stays as it is: the first words of a vault are its frequent ones.
            known.update((word, n) for word, n in counts.items() if len(word) <= _CACHED_LENGTH)
        return counts

    def _count_whole(self, words: set[str]) -> dict[str, int]:
        """Count words with the tokenizer, one by one."""
        ordered = list(words)
        return dict(zip(ordered, map(len, self._encode(ordered)), strict=True))

    def _encode(self, words: list[str]) -> list[list[int]]:
        return [encoding.ids for encoding in self._tokenizer.encode_batch_fast(words, add_special_tokens=False)]
