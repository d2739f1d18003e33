"""Names of notes, found in a text and by likeness: what suggestions of links are made of.

A text is read once, word by word; a table says which names begin with a word. So the cost is that of the text, however
many notes there are. The longest name wins, as in dictionary-based annotation (Mihalcea, Csomai 2007, *Wikify!*).
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise, zip_longest

from mindnetd.core.normal import normalize
from mindnetd.core.records import NoteMeta

MOST_WORDS = 12
"""Longer titles are sentences: nobody repeats one by accident."""
SHORTEST = 3
"""Letters and digits that a name has at least; two are found everywhere."""
_WORD = re.compile(r"[^\W_]+")
_BETWEEN = re.compile(r"[ \t]*(?:\n[ \t]*|[-_/'’.,:&+‐‑–][ \t]*)?")
_ENDINGS = ("en", "es", "s", "e", "n")
_LEAST_STEM = 5
_UMLAUTS = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "ß": "ss", "æ": "ae", "ø": "oe", "å": "aa"})

Shows = Callable[[NoteMeta], bool]
Notes = Sequence[NoteMeta | None]


def fold(text: str) -> str:
    """NFC without case."""
    return text.lower() if text.isascii() else normalize("NFC", text.casefold())


def stem(word: str) -> str:
    """A folded word without one German or English ending, if five letters are left: *them* is no *themes*."""
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= _LEAST_STEM and word.isalpha():
            return word[: -len(ending)]
    return word


def plain_form(name: str) -> str:
    """A name for comparing by likeness: umlauts written out, accents off, words with one space between them."""
    text = fold(name).translate(_UMLAUTS)
    if not text.isascii():
        text = "".join(c for c in normalize("NFKD", text) if not unicodedata.combining(c))
    return " ".join(_WORD.findall(text))


def words_of(name: str) -> str:
    """The words of a name, without signs and emoji."""
    return " ".join(_WORD.findall(name))


def names_of(meta: NoteMeta) -> Iterator[str]:
    """Title, file name, aliases and frontmatter id of a note, each once."""
    file = meta.path.rpartition("/")[2]
    own_id = (meta.note_id,) if meta.note_id else ()
    yield from dict.fromkeys((meta.title, re.sub(r"(?i)\.md$", "", file), *meta.aliases, *own_id))


@dataclass(frozen=True, slots=True)
class Mention:
    """A name of notes in a text: span, the notes that have it (by path), and whether letters are as in the name."""

    start: int
    end: int
    name: str
    notes: tuple[NoteMeta, ...]
    exact: bool
    """The very words, not an inflected form."""
    same_case: bool


class NameTable:
    """All names of all notes, by first word and by trigram; follows the notes by what changed. One thread at a time."""

    def __init__(self) -> None:
        self._notes: Notes = ()
        self._named: dict[tuple[str, ...], dict[int, None]] = {}
        self._longest: dict[str, Counter[int]] = {}
        self._grams: dict[str, dict[str, None]] = {}
        self._forms: dict[str, dict[int, None]] = {}

    def follow(self, notes: Notes) -> None:
        """Bring the table to `notes` (by slot)."""
        if notes is self._notes:
            return
        for slot, (old, new) in enumerate(zip_longest(self._notes, notes)):
            if old is new:
                continue
            before = {} if old is None else dict.fromkeys(names_of(old))
            after = {} if new is None else dict.fromkeys(names_of(new))
            if before.keys() != after.keys():
                for name in before:
                    self._drop(name, slot)
                for name in after:
                    self._add(name, slot)
        self._notes = notes

    def _add(self, name: str, slot: int) -> None:
        key = _key(name)
        if key:
            if key not in self._named:
                self._longest.setdefault(key[0], Counter())[len(key)] += 1
            self._named.setdefault(key, {})[slot] = None
        form = plain_form(name)
        if form not in self._forms:
            for gram in trigrams(form):
                self._grams.setdefault(gram, {})[form] = None
        self._forms.setdefault(form, {})[slot] = None

    def _drop(self, name: str, slot: int) -> None:
        key = _key(name)
        if key in self._named and self._named[key].pop(slot, 0) is None and not self._named[key]:
            del self._named[key]
            self._longest[key[0]][len(key)] -= 1
            self._longest[key[0]] += Counter()
        form = plain_form(name)
        if form in self._forms and self._forms[form].pop(slot, 0) is None and not self._forms[form]:
            del self._forms[form]
            for gram in trigrams(form):
                self._grams[gram].pop(form, None)

    def mentions(self, text: str, shows: Shows) -> list[Mention]:
        """Names of shown notes in `text`, longest first where they overlap, in order. NUL in a text parts words."""
        spans = [(match.start(), match.end()) for match in _WORD.finditer(text)]
        stems = [stem(fold(text[start:end])) for start, end in spans]
        found: list[Mention] = []
        at = 0
        while at < len(spans):
            mention, words = self._at(text, spans, stems, at, shows)
            if mention is not None:
                found.append(mention)
            at += words
        return found

    def _at(
        self, text: str, spans: Sequence[tuple[int, int]], stems: Sequence[str], at: int, shows: Shows
    ) -> tuple[Mention | None, int]:
        for words in sorted(self._longest.get(stems[at], ()), reverse=True):
            if at + words > len(spans) or not _joined(text, spans[at : at + words]):
                continue
            slots = self._named.get(tuple(stems[at : at + words]))
            notes = [meta for slot in slots or () if (meta := self._notes[slot]) is not None and shows(meta)]
            if notes:
                return _mention(text, (spans[at][0], spans[at + words - 1][1]), notes), words
        return None, 1

    def like(self, wanted: str, shows: Shows, most: int) -> list[tuple[float, str, list[NoteMeta]]]:
        """Names of shown notes like `wanted`: (likeness in [0, 1], form, notes), best first, at most `most`."""
        form = plain_form(wanted)
        shared = Counter(other for gram in trigrams(form) for other in self._grams.get(gram, ()))
        rows = []
        for other, count in shared.items():
            if count / max(len(trigrams(form)), len(trigrams(other))) < 0.25 and not _token_part(form, other):
                continue
            notes = [meta for slot in self._forms[other] if (meta := self._notes[slot]) is not None and shows(meta)]
            if notes and (value := likeness(form, other)) >= LIKE_ENOUGH:
                rows.append((value, other, sorted(notes, key=lambda meta: meta.path)))
        return sorted(rows, key=lambda row: (-row[0], row[1]))[:most]


LIKE_ENOUGH = 0.72


def trigrams(form: str) -> set[str]:
    """The trigrams of a form with its ends marked."""
    padded = f" {form} "
    return {padded[i : i + 3] for i in range(len(padded) - 2)}


def likeness(a: str, b: str) -> float:
    """How alike two forms are, in [0, 1]: by edits (Damerau 1964, optimal string alignment) or by shared words."""
    if a == b:
        return 1.0
    longest = max(len(a), len(b))
    edits = edit_distance(a, b, max(1, int(longest * (1 - LIKE_ENOUGH))))
    first, second = set(a.split()), set(b.split())
    shared = 2 * len(first & second) / (len(first) + len(second)) if len(first | second) > 1 else 0.0
    return max(1 - edits / longest if longest > 3 else 0.0, 0.95 * shared)


def edit_distance(a: str, b: str, most: int) -> int:
    """Insertions, deletions, substitutions and swaps of neighbours between two texts; the longer length past `most`."""
    longest = max(len(a), len(b))
    if abs(len(a) - len(b)) > most:
        return longest
    before: list[int] = []
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        older, before, row = before, row, [i]
        for j, y in enumerate(b, 1):
            best = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (x != y))
            if i > 1 and j > 1 and x == b[j - 2] and a[i - 2] == y:
                best = min(best, older[j - 2] + 1)
            row.append(best)
        if min(row) > most:
            return longest
    return row[-1] if row[-1] <= most else longest


def anywhere(names: Sequence[str]) -> re.Pattern[str] | None:
    """Finds the words of any of the names side by side, in any form of theirs: more than `NameTable` would."""
    keys = [key for name in names if (key := _key(name))]
    parts = ["[\\W_]{1,4}".join(re.escape(word) + r"[^\W_]{0,2}" for word in key) for key in dict.fromkeys(keys)]
    return re.compile(rf"(?<![^\W_])(?:{'|'.join(parts)})(?![^\W_])", re.IGNORECASE) if parts else None


def _token_part(a: str, b: str) -> bool:
    first, second = set(a.split()), set(b.split())
    return 2 * len(first & second) >= LIKE_ENOUGH * (len(first) + len(second))


def _key(name: str) -> tuple[str, ...]:
    words = _WORD.findall(fold(name))
    if not 0 < len(words) <= MOST_WORDS or sum(map(len, words)) < SHORTEST or "".join(words).isdigit():
        return ()
    return tuple(map(stem, words))


def _joined(text: str, spans: Sequence[tuple[int, int]]) -> bool:
    pairs = pairwise(spans)
    return all(_BETWEEN.fullmatch(text, end, start) for (_, end), (start, _) in pairs)


def _mention(text: str, span: tuple[int, int], notes: list[NoteMeta]) -> Mention:
    """A note that has the very words comes before one that only inflects to them."""
    words = _WORD.findall(text, *span)
    folded = [fold(word) for word in words]
    stems = tuple(map(stem, folded))
    named = [(name, meta) for meta in notes for name in names_of(meta) if _key(name) == stems]
    exact = [(name, meta) for name, meta in named if [fold(word) for word in _WORD.findall(name)] == folded]
    named = exact or named
    name = max((name for name, _ in named), key=lambda one: (_same_case(one, words), one))
    having = {meta.path: meta for _, meta in named}
    holders = tuple(having[path] for path in sorted(having))
    same = _same_case(name, words) and (len(words) > 1 or _marked_out(text, span[0], words[0]))
    return Mention(*span, name, holders, bool(exact), same)


def _marked_out(text: str, start: int, word: str) -> bool:
    """Whether letters show that a word is a name: a capital that no beginning of a sentence, line or list asks for."""
    if not any(letter.isupper() for letter in word[1:]) and word[:1].isupper():
        before = text[max(start - 12, 0) : start].rstrip(" \t*_\"'([")
        return bool(before) and before[-1] not in ".!?:\n\0-+>|#"
    return any(letter.isupper() for letter in word)


def _same_case(name: str, words: Sequence[str]) -> bool:
    return all(a[:1].isupper() == b[:1].isupper() for a, b in zip(_WORD.findall(name), words, strict=True))
