"""What a person typed, taken apart: words, "quoted phrases", -negations, and the plain text for the vectors.

Not for: terms (``core.analyze``) or matching (``lanes``). Nothing here can fail: any text is some question.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from mindnetd.core.analyze import question_lang, tokens
from mindnetd.core.normal import normalize
from mindnetd.core.stopwords import STOP_WORDS

MAX_CHARS = 8000
"""Nobody asks more: the rest of a pasted document is left out."""

_PART = re.compile(
    r'(?P<neg>(?<!\S)-(?=[\w"“„#]))?(?:"(?P<phrase>[^"]+)"|“(?P<curly>[^”]+)”|„(?P<low>[^“”"]+)[“”"]|(?P<word>[^\s"“„]+))'
)
_EDGE = re.compile(r"""^["'“”„«»‘’\s]+|["'“”„«»‘’\s?!.,;:？！。]+$""")
_SPACE = re.compile(r"\s+")


@dataclass(frozen=True, slots=True)
class QueryText:
    """A parsed question. All tokens are as `core.analyze.tokens` gives them.

    ``phrases`` must stand in the text word by word, ``not_words`` and ``not_phrases`` must not. ``words`` holds the
    tokens of phrases too. ``plain`` is what is embedded: the text without operators and negations.

    Quotes are an operator among keywords and a quotation in a sentence: *Who wrote "The Raven" and when?* asks for the
    poem, not for texts with those words in that order.
    """

    plain: str
    words: tuple[str, ...]
    phrases: tuple[tuple[str, ...], ...]
    not_words: tuple[str, ...]
    not_phrases: tuple[tuple[str, ...], ...]


def parse_query(text: str) -> QueryText:
    """Take `text` (its first MAX_CHARS) apart. A lone ``-`` or an unclosed quote is plain text."""
    plain: list[str] = []
    words: list[str] = []
    phrases: list[tuple[str, ...]] = []
    outside: list[str] = []
    not_words: list[str] = []
    not_phrases: list[tuple[str, ...]] = []
    for part in _PART.finditer(text[:MAX_CHARS]):
        quoted = part["phrase"] or part["curly"] or part["low"]
        found = tuple(tokens(quoted or part["word"]))
        if part["neg"] and found:
            if quoted and len(found) > 1:
                not_phrases.append(found)
            else:
                not_words.extend(found)
            continue
        plain.append(quoted or part["word"])
        words.extend(found)
        if quoted and found:
            phrases.append(found)
        else:
            outside.extend(found)
    if _is_sentence(text, outside):
        phrases = []
    return QueryText(
        " ".join(plain),
        tuple(dict.fromkeys(words)),
        tuple(phrases),
        tuple(dict.fromkeys(not_words)),
        tuple(not_phrases),
    )


def _is_sentence(text: str, outside: list[str]) -> bool:
    """Do the words outside the quotes make a sentence: with a question mark, or three and grammar among them?"""
    if outside and text.rstrip().endswith(("?", "？")):
        return True
    grammar = STOP_WORDS[question_lang(outside, list(STOP_WORDS))]
    return len(outside) >= 3 and any(word in grammar for word in outside)


def name_key(text: str) -> str:
    """The form in which names are compared: NFKC, no case, single spaces, no quotes around, no sentence marks after it.

    >>> name_key(' “Valve  Timing”? ')
    'valve timing'
    """
    folded = normalize("NFKC", normalize("NFKC", text).casefold())
    spaced = _SPACE.sub(" ", folded).strip()
    return _EDGE.sub("", spaced) or spaced


def flat(text: str) -> str:
    """`text` as its tokens between single spaces, with one at both ends: phrases are looked for in this.

    Phrases and texts must agree where joiners differ (``real time`` and ``real-time`` are one phrase).
    """
    return f" {' '.join(part for token in tokens(text) for part in _split(token))} "


def has_phrase(flat_text: str, phrase: tuple[str, ...]) -> bool:
    """Does the phrase (tokens) stand in the text made by `flat`? At word ends, but where a script writes no spaces."""
    wanted = " ".join(part for token in phrase for part in _split(token))
    if _UNSPACED.search(wanted):
        return wanted in flat_text
    return f" {wanted} " in flat_text


_UNSPACED = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u30ff\u3400-\u4dbf\u4e00-\u9fff\U00020000-\U000323af]"
)
_INNER = re.compile(r"[-./'’@&‐‑_]+")


def _split(token: str) -> list[str]:
    return [part for part in _INNER.split(token) if part]
