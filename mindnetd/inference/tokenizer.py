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
# The library lets no other thread of the process run while it encodes, two seconds a megabyte. No chunk is as long.
_LONG = 1 << 15


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


class _Sizes(dict[str, int]):
    """Word to number of tokens; a word that is missing is counted. A full dictionary stays as it is."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        super().__init__()
        self._tokenizer = tokenizer

    def __missing__(self, word: str) -> int:
        """Count `word`, and keep it if it is short: the first words of a vault are its frequent ones.

        The tokenizer also cuts at every ASCII punctuation character and makes one token of each, so a URL or a path,
        rarely seen twice, is counted by its parts, which are.
        """
        if len(word) > _LONG:
            if word.isascii() and word.isalnum():
                return 1  # [UNK], as any word of more than 100 letters
            return sum(self[word[at : at + _LONG]] for at in range(0, len(word), _LONG))
        if len(word) > 1 and word.isascii() and word.isprintable() and not word.isalnum():
            count = sum(map(self.__getitem__, _PART.findall(word)))
        else:
            count = len(self._tokenizer.encode(word, add_special_tokens=False).ids)
        if len(word) <= _CACHED_LENGTH and len(self) < _CACHED_WORDS:
            self[word] = count
        return count


class PinnedCounter:
    """Counts tokens (without [CLS] and [SEP]) with the pinned tokenizer; ``core.tokens.TokenCounter``.

    The tokenizer splits at white space before anything else, so the count of a text is the sum of the counts of its
    words, and words repeat: a dictionary of words is more than ten times as fast as encoding every text. Safe for
    several threads: the dictionary only ever maps a word to its one count.
    """

    def __init__(self) -> None:
        self._tokenizer = load_tokenizer()
        self._size_of = _Sizes(self._tokenizer).__getitem__

    def count(self, texts: Sequence[str]) -> list[int]:
        """Return the number of tokens of each of `texts`, in order.

        A word longer than any chunk is counted in pieces, which may have a few tokens more: it has to be cut anyway.
        """
        size_of = self._size_of
        return [sum(map(size_of, (text.translate(_DROPPED) if _ODD.search(text) else text).split())) for text in texts]

    def spans(self, text: str) -> list[tuple[int, int]]:
        """Return the code-point span of each token of `text`, in order (for cuts inside a long block)."""
        spans: list[tuple[int, int]] = []
        base = 0
        for piece in _PIECE.findall(text):
            offsets = self._tokenizer.encode(piece, add_special_tokens=False).offsets
            spans.extend((base + start, base + end) for start, end in offsets)
            base += len(piece)
        return spans
