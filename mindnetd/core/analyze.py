"""From text to the terms of the lexical index: one road for notes and for questions, so that they always agree.

Not for: parsing of Markdown (``core.markdown``), query syntax (``core.querytext``), scoring (``lanes.lexical``).

A *token* is what stands between white space and punctuation in NFKC, without case: ``größe``, ``snake_case``,
``1.0.21``, ``real-time``, ``c++``, ``a/b``, ``東京都``. A token has one or more *slots*, each with one or more
alternative terms: ``real-time`` has the slots ``realtime``, ``real``, ``time``; ``größe`` has one slot that both the
folded (``grosse``) and the written-out spelling (``groesse``) fill; scripts without spaces have a slot per pair of
neighbouring characters. A note is indexed under every alternative of every slot. Stop words are indexed too (a
question made of nothing else still has an answer) but count in no length and are left out of questions.
"""

from __future__ import annotations

import itertools
import re
import threading
import unicodedata
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import Stemmer  # type: ignore[import-not-found]  # a C extension without stubs

from mindnetd.core.normal import normalize
from mindnetd.core.records import TermCounts
from mindnetd.core.stopwords import STOP_WORDS

ANALYZER_VERSION = 2
"""Raise it when the same text gives other terms: the postings are then made anew at start."""

FIELDS: tuple[str, ...] = ("title", "aliases", "headings", "tags", "body")
MAX_TERM = 64
"""Longer terms are cut: nobody asks for the tail of a base64 string."""

_CACHE_LIMIT = 30_000

_STEMMERS = {
    "ar": "arabic", "ca": "catalan", "cs": "czech", "da": "danish", "de": "german", "el": "greek", "en": "english",
    "es": "spanish", "et": "estonian", "eu": "basque", "fi": "finnish", "fr": "french", "ga": "irish", "hi": "hindi",
    "hu": "hungarian", "hy": "armenian", "id": "indonesian", "it": "italian", "lt": "lithuanian", "nb": "norwegian",
    "ne": "nepali", "nl": "dutch", "nn": "norwegian", "no": "norwegian", "pl": "polish", "pt": "portuguese",
    "ro": "romanian", "ru": "russian", "sr": "serbian", "sv": "swedish", "ta": "tamil", "tr": "turkish",
}  # fmt: skip

_SCRIPT_LANGS: tuple[tuple[int, int, str, frozenset[str]], ...] = (
    (0x0370, 0x03FF, "el", frozenset({"el"})),
    (0x0400, 0x052F, "ru", frozenset({"ru", "sr"})),
    (0x0530, 0x058F, "hy", frozenset({"hy"})),
    (0x0600, 0x06FF, "ar", frozenset({"ar"})),
    (0x0900, 0x097F, "hi", frozenset({"hi", "ne"})),
    (0x0B80, 0x0BFF, "ta", frozenset({"ta"})),
)
"""(first, last, default language, languages) of the scripts other than Latin that have a stemmer."""
_NOT_LATIN = frozenset().union(*(langs for _, _, _, langs in _SCRIPT_LANGS))


def _marks() -> str:
    """The combining marks that ``\\w`` leaves out, without which Devanagari or Thai words fall apart."""
    ranges = ((0x0300, 0x1E00), (0x20D0, 0x2100), (0x302A, 0x309B), (0xA66F, 0xABFF), (0xFE00, 0xFE30))
    return "".join(
        chr(code) for low, high in ranges for code in range(low, high) if unicodedata.category(chr(code))[0] == "M"
    )


_CHAR = rf"[\w{_marks()}]"
_TOKEN = re.compile(rf"{_CHAR}+(?:[-./'’@&‐‑]{_CHAR}+)*(?:\+\+|#(?!\w))?")
_ASCII_TOKEN = re.compile(r"\w+(?:[-./'@&]\w+)*(?:\+\+|#(?!\w))?", re.ASCII)
_WORD_CHAR = re.compile(_CHAR)
_NOT_ASCII = re.compile(r"[^\x00-\x7f]")
_JOINER = re.compile(r"[-./'’@&‐‑_]+")
_INVISIBLE = re.compile("[\u00ad\u200b-\u200f\u2060\ufeff]")
_PAIRED = re.compile(
    # Han with its iteration marks, kana, bopomofo, Hangul; then the scripts of South-East Asia, marks included
    "([\u3005-\u3007\u3021-\u3029\u3040-\u30ff\u3105-\u312f\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff"
    "\U00020000-\U000323af]+)|([\u0e00-\u0e7f\u0e80-\u0eff\u1000-\u109f\u1780-\u17ff]+)"
)
_HAN = re.compile("[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U000323af]")
_CLUSTER = re.compile(rf"\w[{_marks()}]*")
_WRITTEN_OUT = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "ø": "oe", "å": "aa"})
_FOLD_MORE = str.maketrans(
    {"ø": "o", "æ": "ae", "œ": "oe", "đ": "d", "ð": "d", "ł": "l", "þ": "th", "ı": "i", "ё": "е"}
)


class Slots(NamedTuple):
    """What a token stands for: ``slots`` of alternative terms, ``extra`` terms for notes only, ``length``, ``stop``."""

    slots: tuple[tuple[str, ...], ...]
    extra: tuple[str, ...]
    length: int
    stop: bool


_PREFIXED = frozenset({"et", "ga", "id", "nl", "tr"})
"""Languages whose stemmer also changes how a word begins: ``gehad`` is *had* in Dutch, ``open`` is *oop*."""

_cache: dict[str, dict[str, Slots]] = {}
_stem_lock = threading.Lock()  # a Stemmer object must not be shared by two threads at once
_stemmers: dict[str, Callable[[str], str]] = {}


def tokens(text: str) -> list[str]:
    """The tokens of `text` in order, in NFKC and without case."""
    if text.isascii():
        return _ASCII_TOKEN.findall(text.lower())
    folded = normalize("NFKC", normalize("NFKC", text).casefold())
    return _TOKEN.findall(_INVISIBLE.sub("", folded))


def slots(token: str, lang: str) -> Slots:
    """What `token` (from `tokens`) stands for in a text of language `lang`."""
    cache = _cache.setdefault(lang, {})
    found = cache.get(token)
    if found is None:
        if len(cache) >= _CACHE_LIMIT:
            cache.clear()
        found = cache[token] = _slots(token, lang)
    return found


def analyze(fields: Mapping[str, str], lang: str) -> TermCounts:
    """Terms and lengths of a document, field by field; fields without a token are left out.

    `fields` maps names of FIELDS to text, `lang` is the document's language tag (``und`` where unknown).
    """
    counts: dict[str, Mapping[str, int]] = {}
    lengths: dict[str, int] = {}
    for name, text in fields.items():
        terms: dict[str, int] = {}
        length = 0
        for token, count in Counter(tokens(text)).items():
            entry = slots(token, lang)
            length += entry.length * count
            for slot in entry.slots:
                for term in slot:
                    terms[term] = terms.get(term, 0) + count
            for term in entry.extra:
                terms[term] = terms.get(term, 0) + count
        if terms:
            counts[name] = terms
            lengths[name] = length
    return TermCounts(counts, lengths)


def question_lang(words: Sequence[str], langs: Sequence[str]) -> str:
    """The language of a question over notes in `langs` (commonest first), by its stop words; the first where none is.

    A language without notes has to be plainly it: *die hard* over English notes is not German for its one article.
    """
    counts = {lang: sum(word in STOP_WORDS.get(lang, ()) for word in words) for lang in (*langs, *STOP_WORDS)}
    known = max(langs, key=lambda lang: counts[lang], default="und")
    other = max(STOP_WORDS, key=lambda lang: counts[lang])
    return other if counts[other] >= 2 and counts[other] > counts.get(known, 0) else known


class Marker:
    """Finds the words with one of the `wanted` terms in texts of one language, each different word looked at once.

    For the chunks of one answer: their words repeat. Not for several threads.
    """

    def __init__(self, wanted: frozenset[str], lang: str) -> None:
        self._wanted, self._lang = wanted, lang
        self._heads = None if lang in _PREFIXED else _heads(wanted, lang)
        self._seen: set[str] = set()
        self._marked: dict[str, tuple[list[str], bool]] = {}

    def spans(self, text: str) -> list[tuple[int, int]]:
        """Where the wanted words stand in `text`: [start, end), ascending, not overlapping.

        In scripts without spaces the wanted pairs themselves are marked, not the whole run.
        """
        if not self._wanted:
            return []
        if self._heads is None:
            words = set((_ASCII_TOKEN if text.isascii() else _TOKEN).findall(text))
        else:
            words = _starting(text, self._heads)
        for word in words - self._seen:
            if self._is_wanted(word):
                self._marked[word] = self._needles(word)
        self._seen |= words
        found: list[tuple[int, int]] = []
        for word in words & self._marked.keys():
            needles, inside = self._marked[word]
            for needle in needles:
                found += _places(text, needle, inside)
        return _merged(found)

    def _is_wanted(self, word: str) -> bool:
        if not word.isascii():
            return any(self._holds(slots(token, self._lang)) for token in tokens(word))
        if not word.isalnum():
            return self._holds(slots(word.lower(), self._lang))  # a token of ASCII alone is one token by itself too
        return _stem(word.lower(), self._lang)[:MAX_TERM] in self._wanted  # what `slots` says, without keeping it

    def _holds(self, entry: Slots) -> bool:
        wanted = self._wanted
        for terms in entry.slots:
            for term in terms:
                if term in wanted:
                    return True
        return False

    def _needles(self, word: str) -> tuple[list[str], bool]:
        """What to mark for a word, and whether it counts inside of others too."""
        if word.isascii() or _PAIRED.search(word) is None:
            return [word], False
        return [term for term in self._wanted if term in word and _PAIRED.search(term)] or [word], True


def _heads(wanted: frozenset[str], lang: str) -> frozenset[str]:
    """How a token of ASCII, or a part of one, begins that has one of the terms: up to three characters, no capitals.

    As the term does: stemmers that take off no prefixes leave three letters of a term of four or more, two of a shorter
    one. Otherwise begin ``dying`` (*die*), short words (``ts`` is *t* in French), ``Aepfel`` (*apfel*) in German,
    ``essay`` (*esay*) in Finnish, and what is joined, as ``e-mail`` (*email*).
    """
    heads: set[str] = set()
    for term in wanted:
        first, second, third = term[:1], term[1:2], term[2:3] if len(term) > 3 else ""
        if not second:
            heads.add(first)
            continue
        heads |= {first + second + third, first + "-", first + "'"}
        if third:
            heads |= {first + second + "-", first + second + "'"}
        if second == "i":
            heads.add(first + "y")
        if lang == "de":
            heads |= {first + "e", first + second + "e"}
        elif lang == "fi":
            heads |= {first + first + second, first + second + second}
    return frozenset(head for head in heads if len(head) == 1 or head[0] not in heads)


def _starting(text: str, heads: frozenset[str]) -> set[str]:
    """The tokens with a part that has one of the `heads`, and those that are not ASCII.

    To search for a few pairs of letters is faster than to cut out every token.
    """
    places: list[int] = []
    pattern, plain = _ASCII_TOKEN, text
    if not text.isascii():
        pattern, plain = _TOKEN, text.encode("ascii", "replace").decode("ascii")  # the same places
        places += [char.start() for char in _NOT_ASCII.finditer(text)]
    lower = plain.lower()
    for head in heads:
        at = lower.find(head)
        while at >= 0:
            if not lower[at - 1 : at].isalnum():
                places.append(at)
            at = lower.find(head, at + 1)
    found: set[str] = set()
    end = 0
    for at in sorted(places):
        if at < end:
            continue
        start = max(end, text.rfind(" ", end, at) + 1, text.rfind("\n", end, at) + 1)  # no token reaches over these
        for token in pattern.finditer(text, start):
            if token.end() > at:
                found.add(token.group())
                end = token.end()
                break
    return found


def _places(text: str, needle: str, inside: bool) -> list[tuple[int, int]]:
    """Every place of `needle`; unless `inside`, only where it stands as a word of its own."""
    found: list[tuple[int, int]] = []
    size, plain = len(needle), text.isascii()
    at = text.find(needle)
    while at >= 0:
        end = at + size
        before, after = text[at - 1 : at], text[end : end + 1]
        if inside or not (_in_word(before, plain) or _in_word(after, plain)):
            found.append((at, end))
        at = text.find(needle, at + 1)
    return found


def _in_word(char: str, plain: bool) -> bool:
    """Does this character (none: no) belong to a word?"""
    if plain:
        return char.isalnum() or char == "_"
    return _WORD_CHAR.match(char) is not None


def _merged(found: list[tuple[int, int]]) -> list[tuple[int, int]]:
    out: list[tuple[int, int]] = []
    for start, end in sorted(found):
        if out and start < out[-1][1]:
            out[-1] = (out[-1][0], max(end, out[-1][1]))
        else:
            out.append((start, end))
    return out


def _slots(token: str, lang: str) -> Slots:
    suffix = "++" if token.endswith("++") else "#" if token.endswith("#") else ""
    stem = token.removesuffix(suffix).strip("_") if suffix else token.strip("_")
    parts = [part for part in _JOINER.split(stem) if part]
    if len(parts) == 1 and not suffix:
        return _word(parts[0], lang)
    found = [_word(part, lang) for part in parts if len(parts) == 1 or not _is_clitic(part, stem)]
    wholes = _wholes(parts, stem, suffix, lang)
    return Slots(
        slots=tuple(dict.fromkeys((*wholes, *(slot for word in found for slot in word.slots)))),
        extra=tuple(dict.fromkeys(term for word in found for term in word.extra)),
        length=sum(word.length for word in found),
        stop=not wholes and all(word.stop for word in found),
    )


def _is_clitic(part: str, stem: str) -> bool:
    """The ``s`` of ``Bob's``, the ``l`` of ``l'eau``: one letter beside an apostrophe."""
    return len(part) == 1 and part.isalpha() and ("'" in stem or "’" in stem)


def _wholes(parts: list[str], stem: str, suffix: str, lang: str) -> tuple[tuple[str, ...], ...]:
    """The slots of a joined token as a whole: ``realtime``, ``1.0.21``, ``a/b/c`` and ``a/b``, ``c++``."""
    if suffix:
        return (((stem + suffix)[:MAX_TERM],),)
    joiners = set(_JOINER.findall(stem))
    if joiners <= {"'", "’"}:
        return () if parts[1:] == ["s"] or not parts[1:] else _word("".join(parts), lang).slots
    if joiners <= {"-", "‐", "‑"}:
        return _word("".join(parts)[:MAX_TERM], lang).slots
    if joiners == {"/"}:
        return tuple(("/".join(parts[:n])[:MAX_TERM],) for n in range(len(parts[:6]), 1, -1))
    return ((stem[:MAX_TERM],),)


def _word(word: str, lang: str) -> Slots:
    """A token without joiners: one slot, or pairs where its script writes no spaces."""
    if word.isascii():
        is_stop = word in STOP_WORDS.get(lang, STOP_WORDS["en"])
        return Slots(((_stem(word, lang)[:MAX_TERM],),), (), 0 if is_stop else 1, is_stop)
    if _PAIRED.search(word):
        return _scripts(word, lang)
    is_stop = word in STOP_WORDS.get(lang, STOP_WORDS["en"])
    # as written, without marks, written out: stemmers know only some of these, readers type any of them
    spellings = dict.fromkeys((word, _fold(word), _fold(word.translate(_WRITTEN_OUT))))
    alternatives = dict.fromkeys(_fold(_stem(spelling, lang))[:MAX_TERM] for spelling in spellings)
    return Slots((tuple(alternatives),), (), 0 if is_stop else 1, is_stop)


def _scripts(word: str, lang: str) -> Slots:
    """A word with runs of scripts that write no spaces: pairs of characters there, the rest as words."""
    found: list[tuple[str, ...]] = []
    extra: list[str] = []
    at = 0
    for run in _PAIRED.finditer(word):
        if word[at : run.start()]:
            found.extend(_word(word[at : run.start()], lang).slots)
        units = _CLUSTER.findall(run.group()) or [run.group()]
        found.extend((a + b,) for a, b in itertools.pairwise(units))
        if len(units) == 1:
            found.append((units[0],))
        else:
            extra.extend(_HAN.findall(run.group()))  # so that a single character can be asked for
        at = run.end()
    if word[at:]:
        found.extend(_word(word[at:], lang).slots)
    return Slots(tuple(found), tuple(dict.fromkeys(extra)), len(found), False)


def _stem(word: str, lang: str) -> str:
    if not word.isalpha() and word.isascii():
        return word
    first = ord(word[0])
    language = lang if lang in _STEMMERS and lang not in _NOT_LATIN else "en"
    for low, high, default, langs in _SCRIPT_LANGS:
        if low <= first <= high:
            language = lang if lang in langs else default
            break
    with _stem_lock:
        stemmer = _stemmers.get(language)
        if stemmer is None:
            stemmer = _stemmers[language] = Stemmer.Stemmer(_STEMMERS[language]).stemWord
        return stemmer(word) or word


def _fold(term: str) -> str:
    """Latin, Greek and Hebrew or Arabic letters without their marks; other scripts keep theirs."""
    out: list[str] = []
    for char in normalize("NFC", term):
        code = ord(char)
        if code < 0x400 or 0x1E00 <= code <= 0x1FFF:
            out.extend(c for c in normalize("NFD", char) if not unicodedata.combining(c))
        elif not (0x0591 <= code <= 0x05C7 or 0x064B <= code <= 0x065F):
            out.append(char)
    return ("".join(out) or term).translate(_FOLD_MORE)
