"""The road of a note's bytes to a record: decode, split, parse, scan, canonical form, then what the text says.

Read `read_note` top to bottom. It knows nothing of the rest of the vault, never raises, and gives the same record for
the same path, bytes and options.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from mindnetd.core import fields, identity, lang, links, properties, special, tags
from mindnetd.core.decode import Source, split_lines, split_note
from mindnetd.core.frontmatter import parse_block
from mindnetd.core.markdown import scan_blocks
from mindnetd.core.mask import Masked, Span, inside, mask_body
from mindnetd.core.records import Block, Field, Heading, Link, ParsedNote
from mindnetd.core.salvage import Properties

_SETEXT_LINE = re.compile(r"[ \t]*(?:=+|-+)[ \t]*$")
_BLOCK_ID = re.compile(r"(?:^|[ \t])\^([A-Za-z0-9-]+)[ \t]*$")
_ID_KINDS = ("paragraph", "item", "quote", "table", "heading")


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """What the configuration decides about reading: canonical form, and what the hashes are made from."""

    normalize: Literal["canonical", "none"] = "canonical"
    hash_source: Literal["parsed", "raw"] = "parsed"


def read_note(path: str, raw: bytes, options: ReadOptions = ReadOptions()) -> ParsedNote:
    """Read one note. Takes any bytes; whatever is wrong with them is among the diagnostics."""
    source = split_note(raw)
    props = Properties() if source.block is None else parse_block(source.block)
    lines = split_lines(source.body)
    scanned = scan_blocks(lines)
    body = identity.canonical_body(lines, scanned, options.normalize)
    blocks = _fit(scanned, body)
    drawing = special.is_excalidraw(path, props.values)
    if drawing:
        masked, hidden = special.read_drawing(body)
    else:
        masked = mask_body(body, blocks)
        hidden = special.hidden_spans(body, masked, blocks)
    headings = tuple(_headings(body, masked, blocks, source.body_line, hidden if drawing else ()))
    return _assemble(path, source, props, options, _Text(body, blocks, masked, hidden, headings))


@dataclass(frozen=True, slots=True)
class _Text:
    """The body and what its structure is."""

    body: str
    blocks: tuple[Block, ...]
    masked: Masked
    hidden: tuple[Span, ...]
    headings: tuple[Heading, ...]


def _assemble(path: str, source: Source, props: Properties, options: ReadOptions, text: _Text) -> ParsedNote:
    found = links.body_links(text.body, text.masked, text.blocks, source.body_line)
    inline = fields.inline_fields(text.body, text.masked, text.blocks, source.body_line)
    schema = properties.read_schema(path, props)
    raw_parts = options.hash_source == "raw"
    hashes = identity.hashes(
        source.body_bytes if raw_parts else text.body,
        source.block_bytes if raw_parts else props.values,
        options.normalize,
    )
    all_tags = tags.unique_tags((*tags.property_tags(props.values), *tags.body_tags(text.masked, found.targets)))
    return ParsedNote(
        path=path,
        title=schema.title,
        h1=next((heading.text for heading in text.headings if heading.level == 1), None),
        body=text.body,
        body_line=source.body_line,
        blocks=text.blocks,
        headings=text.headings,
        links=(*links.property_links(props.values, props.lines), *_with_fields(found.links, inline)),
        tags=all_tags,
        aliases=tags.aliases(props.values),
        fields=tuple(field for _, field in inline),
        block_ids=tuple(_block_ids(text.body, text.masked, text.blocks)),
        hidden=text.hidden,
        frontmatter=props.values,
        diagnostics=(*source.diagnostics, *props.diagnostics, *schema.diagnostics),
        body_hash=hashes.body,
        frontmatter_hash=hashes.frontmatter,
        full_hash=hashes.full,
        note_id=schema.note_id,
        type=schema.type,
        status=schema.status,
        visibility=schema.visibility,
        lang=schema.lang or lang.detect(_sample(text)),
        created=schema.created,
        modified=schema.modified,
        flags=schema.flags,
        hash_mode=schema.hash_mode,
        chunk_profile=schema.chunk_profile,
        embedding_exclude=schema.embedding_exclude,
    )


def _fit(blocks: tuple[Block, ...], body: str) -> tuple[Block, ...]:
    """The same blocks over the body's lines: canonical form drops blank lines at the very end."""
    count = body.count("\n") + 1 if body else 0
    if not count:
        return ()
    last = blocks[-1]
    if last.last == count:
        return blocks
    return (*blocks[:-1], Block(last.kind, last.first, count, last.level))


def _headings(
    body: str, masked: Masked, blocks: Sequence[Block], body_line: int, hidden: Sequence[Span]
) -> Iterator[Heading]:
    """Headings as a reader sees them; those in `hidden` spans are none."""
    for block in blocks:
        if block.kind != "heading":
            continue
        start, end = masked.starts[block.first], masked.starts[block.last] - 1
        if hidden and inside(hidden, start):
            continue
        lines = [line for line in body[start:end].split("\n") if line.strip()]
        first = lines[0].lstrip(" \t")
        if len(lines) > 1 and _SETEXT_LINE.match(lines[-1]):
            text = " ".join(line.strip() for line in lines[:-1])
        else:
            text = re.sub(r"[ \t]+#+[ \t]*$", "", first).lstrip("#")
        yield Heading(block.level, links.shown_text(_BLOCK_ID.sub("", text)), body_line + block.first)


def _block_ids(body: str, masked: Masked, blocks: Sequence[Block]) -> Iterator[str]:
    """The ``^id`` at the end of each block."""
    if "^" not in masked.text:
        return
    for block in blocks:
        if block.kind in _ID_KINDS:
            text = masked.text[masked.starts[block.first] : masked.starts[block.last] - 1].rstrip()
            found = _BLOCK_ID.search(text, text.rfind("\n") + 1) if "^" in text else None
            if found is not None:
                yield found.group(1)


def _with_fields(found: list[tuple[int, Link]], inline: list[tuple[Span, Field]]) -> Iterator[Link]:
    """The links in file order; one inside an inline field is declared by that field."""
    spans = [span for span, _ in inline]
    for offset, link in found:
        at = bisect_right(spans, (offset, 1 << 62)) - 1
        if at >= 0 and offset < spans[at][1] and link.kind not in ("url", "embed"):
            yield links.as_field_link(link, inline[at][1].key)
        else:
            yield link


def _sample(text: _Text) -> str:
    """The first words of a note, code and comments left out, for telling its language."""
    return text.masked.text[:4000].replace("\0", " ")
