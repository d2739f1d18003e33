"""Links of a note as written: wikilinks, embeds, Markdown links, external URLs, links in properties.

One pass over the masked body finds all of them in file order. Brackets are matched with a stack, so the cost stays
linear however they are nested.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import unquote

from mindnetd.core.mask import Masked, Span, inside
from mindnetd.core.records import Block, Link, LinkKind

_TOKEN = re.compile(
    r"\\."
    r"|!?\[\[(?!\[)(?P<wiki>[^\[\]\n]*+(?:(?:\](?!\])|\[(?!\[))[^\[\]\n]*+)*+)\]\]"
    r"|!?\["
    r"|\]"
)
_DESTINATION = re.compile(
    r"\(\s*+(?:<(?P<angle>[^<>\n]*+)>|(?P<bare>(?![<])(?:[^\s()\\]|\\.|\((?:[^\s()\\]|\\.)*+\))++))"
    r"""(?:\s++(?:"[^"]{0,1000}+"|'[^']{0,1000}+'|\([^()]{0,1000}+\)))?\s*+\)"""
)
_EXTERNAL = re.compile(r"(?:[A-Za-z][A-Za-z0-9+.-]+:|//)")
# A wikilink may well have a colon in its name ("ADR: use X"), so only an address counts as one there.
ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+://|mailto:")
_ESCAPE = re.compile(r"\\([!-/:-@\[-`{-~])")
_ENTITY = re.compile(r"&(?:#\d{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});")
_WHOLE_LINK = re.compile(r"(!?)\[\[([^\[\]\n]+)\]\]")
_SHOWN = re.compile(r"!?\[\[([^\[\]\n]+)\]\]|!?\[([^\[\]\n]*)\]\([^()\n]*\)")

# Schema keys say something about the note itself; a link in one of them is a plain reference.
_OWN_KEYS = frozenset(
    (
        *("title", "id", "type", "status", "created", "modified", "updated", "lang", "visibility", "flags"),
        *("aliases", "alias", "tags", "tag", "cssclasses", "cssclass"),
    )
)
_SAME_RELATION = {"relates_to": "related_to"}


@dataclass(slots=True)
class Found:
    """Links with their offsets, in file order, and the spans in which a ``#`` is no tag."""

    links: list[tuple[int, Link]] = field(default_factory=list)
    targets: list[Span] = field(default_factory=list)


def body_links(body: str, masked: Masked, blocks: Sequence[Block], body_line: int) -> Found:
    """All links of a body; ``line`` is a file line, links inside ``%%`` are flagged."""
    found = Found()
    if "[" in masked.text:
        _Pass(body, masked, blocks, body_line, found).run()
        found.links.sort(key=lambda one: one[0])
        found.targets.sort()
    return found


def property_links(values: Mapping[str, Any], lines: Mapping[str, int]) -> tuple[Link, ...]:
    """Links that are the whole value of a property, with their key path, in file order."""
    return tuple(_property_links(values, "", lines))


def relation_of(key: str) -> str:
    """The relation that a property or field named `key` declares: ``Depends on`` is ``depends_on``."""
    relation = relation_name(key)
    return "references" if not relation or relation in _OWN_KEYS else relation


def relation_name(key: str) -> str:
    """`key` as relations are spelled: lower case, one ``_`` between words; ``relates_to`` is ``related_to``."""
    relation = re.sub(r"[\s_-]+", "_", key.strip().casefold()).strip("_")
    return _SAME_RELATION.get(relation, relation)


def split_target(inner: str) -> tuple[str, str | None, str | None]:
    """Target, heading and block id of a link's path part; the first ``#`` splits."""
    target, _, subpath = inner.partition("#")
    if "^" in subpath:
        heading, caret, block = subpath.rpartition("^")
        if caret and (not heading or heading.endswith("#")):
            return target, heading.strip("# ") or None, block.strip() or None
    return target, subpath.strip() or None, None


def shown_text(text: str) -> str:
    """A line of Markdown as a reader sees it: links as their display text, emphasis and code marks off."""
    if "[" in text:
        text = _SHOWN.sub(_display, text)
    return re.sub(r"\*\*|==|~~|`", "", text).strip()


def _display(link: re.Match[str]) -> str:
    if link.group(1) is None:
        return str(link.group(2))
    path, bar, display = link.group(1).partition("|")
    return display if bar and display else path.rstrip("\\")


def _property_links(value: Any, path: str, lines: Mapping[str, int]) -> Iterator[Link]:
    if isinstance(value, str):
        whole = _WHOLE_LINK.fullmatch(value.strip()) if "[[" in value else None
        link = whole and wikilink(whole.group(0), whole.group(2), "frontmatter", lines.get(path))
        if link and link.kind == "frontmatter":
            named = [part for part in path.split(".") if not part.isdigit()]
            relation = relation_of(named[-1] if named else path)
            yield replace(link, property=path, relation=relation)
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield from _property_links(item, f"{path}.{key}" if path else key, lines)
    elif isinstance(value, list):
        for number, item in enumerate(value):
            yield from _property_links(item, f"{path}.{number}", lines)


def wikilink(raw: str, inner: str, kind: LinkKind, line: int | None, in_comment: bool = False) -> Link | None:
    """The link that ``[[inner]]`` stands for, or None where there is nothing to link to."""
    path, bar, display = inner.partition("|")
    if not path:
        path, bar = inner, ""  # Obsidian looks for a file called "|x": nothing stands before the bar
    if bar:
        path = path.removesuffix("\\")
    path = path.strip()
    shown = display if bar else None
    if ADDRESS.match(path):
        return Link("url", raw, path, display=shown, line=line, in_comment=in_comment)
    target, heading, block = split_target(path)
    target = target.strip()
    if not (target or heading or block):
        return None
    return Link(kind, raw, target, heading, block, shown, line, in_comment=in_comment)


class _Pass:
    """The walk over the bracket tokens of one body."""

    def __init__(self, body: str, masked: Masked, blocks: Sequence[Block], body_line: int, found: Found) -> None:
        self._body = body
        self._masked = masked
        self._ends = iter([masked.starts[block.last] for block in blocks])
        self._end = 0
        self._line = body_line
        self._found = found
        self._open: list[int] = []
        self._no_link_before = -1

    def run(self) -> None:
        """Read all tokens; open brackets are forgotten at the end of their block."""
        for token in _TOKEN.finditer(self._masked.text):
            start = token.start()
            if start >= self._end:
                self._open.clear()
                while start >= self._end:
                    self._end = next(self._ends)
            text = token.group()
            if text == "]":
                self._close(token.end())
            elif text == "[" or text == "![":
                self._open.append(start)
            elif text[0] != "\\":
                self._wikilink(token)

    def _wikilink(self, token: re.Match[str]) -> None:
        start, end = token.span()
        raw = self._body[start:end]
        inner = raw[3:-2] if raw[0] == "!" else raw[2:-2]
        kind: LinkKind = "embed" if raw[0] == "!" else "wikilink"
        link = wikilink(raw, inner, kind, self._line_at(start), inside(self._masked.comments, start))
        if link is not None:
            self._found.links.append((start, link))
            self._found.targets.append((start, end))

    def _close(self, end: int) -> None:
        """A ``]``: with an opener and a destination behind it, a Markdown link."""
        if not self._open:
            return
        start = self._open.pop()
        text = self._masked.text
        if text[end : end + 1] != "(":
            return
        destination = _DESTINATION.match(text, end, self._end)
        is_image = text.startswith("!", start)
        if destination is None or (not is_image and start < self._no_link_before):
            return
        self._found.targets.append((end, destination.end()))
        if not is_image:
            self._no_link_before = start
        display = self._body[start + 1 + is_image : end - 1]
        raw = self._body[start : destination.end()]
        at = destination.span("angle") if destination.group("angle") is not None else destination.span("bare")
        link = self._markdown(start, raw, display, self._body[at[0] : at[1]], is_image)
        if link is not None:
            self._found.links.append((start, link))

    def _markdown(self, start: int, raw: str, display: str, written: str, is_image: bool) -> Link | None:
        address = _ESCAPE.sub(r"\1", written) if "\\" in written else written
        if "&" in address:
            address = _ENTITY.sub(lambda m: html.unescape(m.group()), address)
        in_comment = inside(self._masked.comments, start)
        line = self._line_at(start)
        if _EXTERNAL.match(address):
            # A picture on another server is decoration (badges), not a reference.
            external = not is_image and not address[:5].lower().startswith("data:")
            return Link("url", raw, address, display=display, line=line, in_comment=in_comment) if external else None
        target, heading, block = split_target(address)
        target, heading, block = (_decoded(target) or "").strip(), _decoded(heading), _decoded(block)
        if heading and heading.startswith("^"):
            block = heading[1:]
            heading = None
        if not (target or heading or block):
            return None
        kind: LinkKind = "embed" if is_image else "markdown"
        return Link(kind, raw, target, heading, block, display, line, in_comment=in_comment)

    def _line_at(self, offset: int) -> int:
        return self._line + self._masked.line_at(offset)


def _decoded(part: str | None) -> str | None:
    return unquote(part).replace("\0", "\ufffd") if part else None


def as_field_link(link: Link, key: str) -> Link:
    """The link as one that the inline field `key` declares."""
    return replace(link, kind="inline_field", property=key, relation=relation_of(key))
