"""Markdown to the plain text that a model reads: links as their display text, marks, URLs and hidden spans left out.

Not for display and not for the lexical index: both keep the text as written. Every rule is local to its piece of
text, and white space is collapsed, so that re-wrapping a paragraph changes nothing.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from functools import lru_cache
from html import unescape

from mindnetd.core.identity import nfc

REMEMBERED_BLOCKS = 8192
REMEMBERED_LENGTH = 400

_ANY = re.compile(r"[\[\]<>*_`=~|^#\\&:$+-]|\d[.)]|www\.")
_WIKILINK = re.compile(r"(!?)\[\[((?:(?!\[\[|\]\]).)+)\]\]", re.DOTALL)
_IMAGE_SIZE = re.compile(r"\d+(?:x\d+)?")
_MARKDOWN = re.compile(
    r"!?\[((?:[^\[\]\\]|\\.)*)\]\((?:<[^<>\n]*>|[^\s()<>]*(?:\([^\s()]*\)[^\s()]*)*)(?:\s+(?:\"[^\"]*\"|'[^']*'))?\s*\)"
)
_DEFINITION = re.compile(r"^[ ]{0,3}\[[^\]\n]+\]:[ \t]*\S+[^\n]*$", re.MULTILINE)
_REFERENCE = re.compile(r"(?<!\[)\[([^\[\]\n]+)\]\[[^\[\]\n]*\]")
_FOOTNOTE = re.compile(r"\[\^[^\]\s]+\]:?")
_URL = re.compile(r"<?(?:\b(?:https?|ftp|file|obsidian|mailto):(?://)?|\bwww\.)[^\s<>\])]+>?", re.IGNORECASE)
_TAG = re.compile(r"</?[A-Za-z][^<>]*>")
_TAG_OR_COMMENT = re.compile(rf"<!--.*?-->|{_TAG.pattern}", re.DOTALL)
_BLOCK_ID = re.compile(r"(?:^|(?<=\s))\^[A-Za-z0-9-]+[ \t]*$", re.MULTILINE)
_LINE_START = re.compile(
    r"^[ \t]*(?:>[ \t]?)*(?:#{1,6}[ \t]+)?(?:\[![\w-]+\][+-]?[ \t]*)?"
    r"(?:(?:[-*+]|\d{1,9}[.)])[ \t]+(?:\[.\][ \t]+)?)*",
    re.MULTILINE,
)
_TABLE_RULE = re.compile(r"^[ \t]*\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t:|-]*)?$", re.MULTILINE)
_FENCE = re.compile(r"^[ \t>]*(?:`{3,}|~{3,}).*$", re.MULTILINE)
_PAIRED = re.compile(r"\*\*|~~|==|`+|\$\$|%%")
_EMPHASIS = re.compile(r"(?<![\w*_\\])[*_]+(?=[^\s*_])|(?<=[^\s*_\\])[*_]+(?![\w*_])")
_HASH_TAG = re.compile(r"(?<!\S)#+(?=[^\s#])")
_FIELD = re.compile(r"::(?=\s)")
_ESCAPE = re.compile(r"\\([\\`*_{}\[\]()#+.!|>~<=$-])")
_SPECIAL = re.compile(r"\[(PAD|UNK|CLS|SEP|MASK)\]")
_LISTED = ("item", "quote", "heading", "comment", "html")
_SURROGATE = re.compile("[\ud800-\udfff]")


def plain_text(kind: str, text: str) -> str:
    """Return what a reader would see of `text`, a piece of a block of `kind`, on one line; "" if nothing.

    Short blocks are remembered: templates repeat them all over a vault, and a saved note has most of its blocks from
    before.
    """
    return _remembered(kind, text) if len(text) <= REMEMBERED_LENGTH else _plain(kind, text)


def _plain(kind: str, text: str) -> str:
    if kind == "rule":
        return ""
    if kind == "code":
        text = _FENCE.sub(" ", text)
    elif kind == "math":
        text = text.replace("$$", " ")
    elif _ANY.search(text):
        text = _markup(kind, text)
    return neutral(nfc(" ".join(text.split())))


_remembered = lru_cache(maxsize=REMEMBERED_BLOCKS)(_plain)


def neutral(text: str) -> str:
    """Return `text` without what a tokenizer or an encoder trips over: literal special tokens, lone surrogates."""
    if "[" in text:
        text = _SPECIAL.sub(r"(\1)", text)
    return text if text.isascii() else _SURROGATE.sub("\ufffd", text)


def without_hidden(text: str, start: int, hidden: Sequence[tuple[int, int]]) -> str:
    """Return `text`, which stands at body offset `start`, without the `hidden` body spans (sorted)."""
    end = start + len(text)
    first = max(bisect_right(hidden, (start, start)) - 1, 0)
    kept: list[str] = []
    here = start
    for low, high in (hidden[number] for number in range(first, len(hidden))):  # a slice would copy the rest each time
        if low >= end:
            break
        if high <= here:
            continue
        if low > here:
            kept.append(text[here - start : low - start])
        kept.append("\n" if "\n" in text[max(low, here) - start : high - start] else " ")
        here = min(high, end)
    if here == start:
        return text
    kept.append(text[here - start :])
    return "".join(kept)


def _markup(kind: str, text: str) -> str:
    """Take the markup out. Each rule is tried only where its first character is: most blocks have little markup."""
    if kind in _LISTED:
        text = _LINE_START.sub("", text)
    if "[" in text:
        text = _links(text)
    if kind == "table":
        text = _TABLE_RULE.sub("", text).replace("\\|", " ").replace("|", " ")
    if ":" in text or "www." in text:
        text = _FIELD.sub(":", _URL.sub(" ", text))
    if "<" in text:
        text = _without_tags(text)
    if "^" in text:
        text = _BLOCK_ID.sub("", text)
    text = _PAIRED.sub("", text)
    if "*" in text or "_" in text:
        text = _EMPHASIS.sub("", text)
    if "#" in text:
        text = _HASH_TAG.sub("", text)
    if "\\" in text:
        text = _ESCAPE.sub(r"\1", text)
    return unescape(text) if "&" in text else text


def _without_tags(text: str) -> str:
    """Tags and comments become a space. What opens after the last ``-->`` is never closed: it is not looked for."""
    last = text.rfind("-->")
    if last < 0 or "<!--" not in text:
        return _TAG.sub(" ", text)
    return _TAG_OR_COMMENT.sub(" ", text[: last + 3]) + _TAG.sub(" ", text[last + 3 :])


def _links(text: str) -> str:
    if "[[" in text:
        text = _WIKILINK.sub(_wikilink, text)
    if "[^" in text:
        text = _FOOTNOTE.sub("", text)
    if "](" in text:
        text = _MARKDOWN.sub(_markdown, text)
        if "](" in text:  # an image inside a link's text is gone after the first pass
            text = _MARKDOWN.sub(_markdown, text)
    if "]:" in text:
        text = _DEFINITION.sub("", text)
    return _REFERENCE.sub(r"\1", text) if "][" in text else text


def _wikilink(match: re.Match[str]) -> str:
    target, bar, display = match[2].replace("\\|", "|").partition("|")
    if bar and display.strip() and not (match[1] and _IMAGE_SIZE.fullmatch(display.strip())):
        return display
    name, _, sub = target.partition("#")
    parts = [name, *(part for part in sub.split("#") if not part.startswith("^"))]
    return " ".join(part for part in parts if part)


def _markdown(match: re.Match[str]) -> str:
    text, _, size = match[1].rpartition("|")
    return text if match[0].startswith("!") and _IMAGE_SIZE.fullmatch(size) else match[1]
