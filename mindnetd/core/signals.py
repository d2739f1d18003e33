"""What one note says that may name an entity: its candidates, before anything of the rest of the vault is known.

Headings, inline code, links, texts of external links, tags, title and aliases, and phrases that look like names. Pure
and cheap, since every save pays for it: one regular expression over each block of prose. What of it is an entity is
decided over the whole corpus (``mindnetd/corpus.py``), and so is what a capital means: here a capitalised word alone
counts only where the language does not write every noun so.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence

from mindnetd.core.clean import without_hidden
from mindnetd.core.identity import fold
from mindnetd.core.mask import line_starts
from mindnetd.core.normal import normalize
from mindnetd.core.records import Chunk, ParsedNote, Signal, SignalKind
from mindnetd.core.stopwords import STOP_WORDS

SIGNALS_VERSION = 1
"""Raise it when the same note gives other signals: every note is derived again at the next start."""

WEIGHTS: dict[str, float] = {
    "title": 2.0,
    "alias": 1.5,
    "heading": 2.0,
    "code": 1.5,
    "link": 1.5,
    "url": 1.0,
    "tag": 1.0,
    "phrase": 1.0,
    "codeword": 1.0,
}
OPENS = 0.5
"""Weight of a phrase that opens a sentence: its first word may have its capital from there."""

LONGEST = 60
"""Characters of a name; what is longer is a sentence."""
MOST_WORDS = 6

# a word with a capital, in Latin, Greek and Cyrillic script; hyphens and apostrophes belong to it
_CAP = r"[A-Z\u00c0-\u00d6\u00d8-\u00de\u0391-\u03a9\u0410-\u042f][\w\u2019'+#-]*+"
_PHRASE = re.compile(
    rf"(?<![\w@#/.\\-])(?:(?P<caps>{_CAP}(?:\.(?:js|ts|py|rs|io|md|net)\b)?"
    rf"(?: (?:(?:of|van|de|del|di|da|la) )?{_CAP}){{0,4}}"
    r"(?: \d{1,4}(?:\.\d+)*(?!\w|\.\d))?)"
    r"|(?P<code>[a-z]+\d*[A-Z]\w+|[a-zA-Z]\w*_\w+))"
)
_MARKUP = re.compile(
    r"(`{1,64})[^`]*+\1|!?\[\[[^\]\n]{0,500}+\]\]|\]\([^)\n]{0,500}+\)|<[^<>\n]*+>|%%[^%]*+%%|\$[^$\n]++\$|https?://\S+|"
    r"(?<![a-z])[a-z]++@\S+"
)
_HAS_MARKUP = re.compile(r"[`<$%]|\]\]|\]\(|://|@")
_CODE = re.compile(r"(?<!`)(`{1,2})(?!`)\s*+([^`\n]++)\s*+\1(?!`)")
_LIST_MARK = re.compile(r"\s*(?:[-*+]|\d{1,9}[.)]|[a-z]\)|#{1,6}|>|\[.\])\s*$")
_LONGEST_MARK = 200
_BEFORE = " \t*_\"'(\u201c\u201e\u00ab\u00bb\u2018[~=^"
_ENDS = frozenset(".!?:;\n\0|\u2026\u2013\u2014>")
_POSSESSIVE = re.compile(r"['\u2019]s?$")
_IDENTIFIER = re.compile(r"[^\W\d][\w.+#/:@-]*[\w+#]|[^\W\d]")
_PROSE = frozenset(("paragraph", "item", "quote", "table"))
NOUNS_CAPITALISED = frozenset(("de", "lb", "und"))
"""Languages that write every noun with a capital, and notes whose language nobody can tell."""
_SMALL = STOP_WORDS["en"] | STOP_WORDS["de"] | frozenset(
    ("sie", "ihr", "ihre", "ihrem", "ihren", "ihnen", "ihrer", "ihres", "alle", "jedes", "dear", "please", "see")
)  # fmt: skip


def signals_of(note: ParsedNote, chunks: Sequence[Chunk]) -> tuple[Signal, ...]:
    """The candidates of `note`, whose chunks are `chunks`; in a fixed order."""
    counts: dict[tuple[int, SignalKind, str, float], int] = {}
    places = _Places(chunks)
    found = (*_of_note(note), *_headings(note, places), *_links(note, places), *_prose(note, places))
    for idx, kind, name, weight in found:
        if len(name) <= LONGEST or kind in ("title", "alias", "link"):
            entry = (idx, kind, _printable(name), weight)
            counts[entry] = counts.get(entry, 0) + 1
    return tuple(
        Signal(name, key, kind, weight, idx, count)
        for (idx, kind, name, weight), count in sorted(counts.items())
        if (key := fold(name))
    )


_Found = tuple[int, SignalKind, str, float]


class _Places:
    """From lines of the file and offsets of the body to chunks."""

    def __init__(self, chunks: Sequence[Chunk]) -> None:
        self._starts = [chunk.start for chunk in chunks]
        self._lines = [chunk.start_line for chunk in chunks]

    def at(self, offset: int) -> int:
        """The chunk that holds a body offset; -1 without any."""
        return max(bisect_right(self._starts, offset) - 1, 0) if self._starts else -1

    def of_line(self, line: int | None, body_line: int) -> int:
        """The chunk that holds a file line; -1 for the frontmatter."""
        if line is None or line < body_line or not self._lines:
            return -1
        return max(bisect_right(self._lines, line) - 1, 0)


def _of_note(note: ParsedNote) -> Iterator[_Found]:
    yield -1, "title", note.title, WEIGHTS["title"]
    for alias in note.aliases:
        yield -1, "alias", alias, WEIGHTS["alias"]
    for tag in note.tags:
        yield -1, "tag", tag, WEIGHTS["tag"]


def _headings(note: ParsedNote, places: _Places) -> Iterator[_Found]:
    for heading in note.headings:
        name = heading.text.strip(" \t*_:.?!")
        if heading.level <= 3 and name and len(name.split()) <= MOST_WORDS:
            yield places.of_line(heading.line, note.body_line), "heading", name, WEIGHTS["heading"]


def _links(note: ParsedNote, places: _Places) -> Iterator[_Found]:
    for link in note.links:
        if link.in_comment:
            continue
        idx = places.of_line(link.line, note.body_line)
        if link.kind != "url":
            if link.target:
                yield idx, "link", link.target, WEIGHTS["link"]
        elif link.display and len(link.display.split()) <= MOST_WORDS and "://" not in link.display:
            yield idx, "url", link.display.strip(" \t*_`"), WEIGHTS["url"]


def _prose(note: ParsedNote, places: _Places) -> Iterator[_Found]:
    """Inline code, phrases and code words of the blocks of prose."""
    body, starts = note.body, line_starts(note.body)
    nouns = note.lang in NOUNS_CAPITALISED
    for block in note.blocks:
        if block.kind not in _PROSE:
            continue
        start = starts[block.first]
        text = body[start : starts[block.last] - 1]
        if note.hidden:
            text = without_hidden(text, start, note.hidden)
        idx = places.at(start)
        if "`" in text:
            for match in _CODE.finditer(text):
                if _IDENTIFIER.fullmatch(code := match[2].rstrip()):
                    yield idx, "code", code, WEIGHTS["code"]
        if _HAS_MARKUP.search(text):
            text = _MARKUP.sub("\0", text)
        for match in _PHRASE.finditer(text):
            if match.lastgroup == "code":
                yield idx, "codeword", match[0], WEIGHTS["codeword"]
            else:
                yield from _phrase(match[0], _opens(text, match.start()), nouns, idx)


def _opens(text: str, at: int) -> bool:
    """Whether a sentence, a line, a list item or a table cell begins at `at`."""
    while at and text[at - 1] in _BEFORE:
        at -= 1
    if not at or text[at - 1] in _ENDS:
        return True
    line = text.rfind("\n", max(at - _LONGEST_MARK, 0), at) + 1  # a mark is short: a long line is not searched
    return (line > 0 or at < _LONGEST_MARK) and _LIST_MARK.match(text, line, at) is not None


def _phrase(text: str, opens: bool, nouns: bool, idx: int) -> Iterator[_Found]:
    words = text.split(" ")
    words[-1] = _POSSESSIVE.sub("", words[-1])
    while words and words[0].casefold() in _SMALL:
        words.pop(0)
        opens = False
    if not words:
        return
    if len(words) > 1:
        yield idx, "phrase", " ".join(words), OPENS if opens else WEIGHTS["phrase"]
        return
    word = words[0].strip("-'\u2019")
    coded = _code_like(word)
    if coded:
        yield idx, "codeword", coded, WEIGHTS["codeword"]
    elif not opens and not nouns and len(word) > 2:
        yield idx, "phrase", word, WEIGHTS["phrase"]


def _code_like(word: str) -> str:
    """The part of `word` that is an acronym, has a capital inside, or a number at its end; "" if there is none."""
    if word.isalpha() and (word[1:].islower() or len(word) == 1):
        return ""
    parts = word.split("-")
    kept = 0
    for part in parts:
        inner = part[1:]
        if not (inner != inner.lower() or (kept and part.isdigit()) or "+" in inner or "#" in inner):
            break
        kept += 1
    name = "-".join(parts[:kept])
    return name if len(name) > 1 else ""


def _printable(name: str) -> str:
    """On one line, without lone surrogates, which neither the store nor an id can carry."""
    text = " ".join(name.split())
    return text if text.isascii() else normalize("NFC", text.encode("utf-8", "replace").decode("utf-8"))
