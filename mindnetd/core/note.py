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
from mindnetd.core.decode import Source, body_lines, split_note
from mindnetd.core.frontmatter import parse_block
from mindnetd.core.markdown import scan_blocks
from mindnetd.core.mask import BLANK, Masked, Span, inside, mask_body
from mindnetd.core.records import Block, Diagnostic, Field, Heading, Link, ParsedNote
from mindnetd.core.salvage import Properties

_SETEXT_LINE = re.compile(r"[ \t]*(?:=+|-+)[ \t]*$")
_CLOSING_MARKS = re.compile(r"(?<=[ \t])#+[ \t]*$")
_BLOCK_ID = re.compile(r"(?:^|[ \t])\^([A-Za-z0-9-]+)[ \t]*$")
_SAMPLE = 4000
"""Characters that are looked at to tell the language; code and math are left out of them."""
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
    text, odd = _read_text(raw, source, options)
    structure = _structure(text, source.body_line, special.is_excalidraw(path, props.values))
    hashes = _hashes(raw, source, props, text.body, options)
    said = (*source.diagnostics, *(odd if "encoding" not in _codes(source.diagnostics) else ()), *props.diagnostics)
    return _assemble(_Parts(path, source.body_line, props, text, structure, hashes, said))


def property_line(raw: bytes, name: str) -> int | None:
    """The file line of the property `name` (compared without case) of a note; None where it has none."""
    block = split_note(raw).block
    lines = parse_block(block).lines if block is not None else {}
    return next((line for key, line in lines.items() if key.casefold() == name.casefold()), None)


@dataclass(frozen=True, slots=True)
class _Text:
    """The canonical body and its blocks."""

    body: str
    blocks: tuple[Block, ...]


@dataclass(frozen=True, slots=True)
class _Structure:
    """What the body's marks say."""

    links: tuple[Link, ...]
    tags: tuple[str, ...]
    fields: tuple[Field, ...]
    block_ids: tuple[str, ...]
    headings: tuple[Heading, ...]
    hidden: tuple[Span, ...]
    sample: str


@dataclass(frozen=True, slots=True)
class _Parts:
    """Everything a record is made of."""

    path: str
    body_line: int
    props: Properties
    text: _Text
    structure: _Structure
    hashes: identity.Hashes
    diagnostics: tuple[Diagnostic, ...]


def _read_text(raw: bytes, source: Source, options: ReadOptions) -> tuple[_Text, tuple[Diagnostic, ...]]:
    lines, odd = body_lines(raw, source)
    scanned = scan_blocks(lines)
    body = identity.canonical_body(lines, scanned, options.normalize)
    return _Text(body, _fit(scanned, body)), odd


def _structure(text: _Text, body_line: int, drawing: bool) -> _Structure:
    """Everything that links, tags, fields and headings tell. The masked body lives only in here."""
    body, blocks = text.body, text.blocks
    if drawing:
        masked, hidden = special.read_drawing(body)
    else:
        masked = mask_body(body, blocks)
        hidden = special.hidden_spans(body, masked, blocks)
    found = links.body_links(body, masked, blocks, body_line)
    inline = fields.inline_fields(body, masked, blocks, body_line)
    return _Structure(
        links=tuple(_with_fields(found.links, inline)),
        tags=tuple(tags.body_tags(masked, found.targets)),
        fields=tuple(field for _, field in inline),
        block_ids=tuple(_block_ids(masked, blocks)),
        headings=tuple(_headings(body, masked, blocks, body_line, hidden if drawing else ())),
        hidden=hidden,
        sample=masked.text[:_SAMPLE].replace(BLANK, " "),
    )


def _hashes(raw: bytes, source: Source, props: Properties, body: str, options: ReadOptions) -> identity.Hashes:
    if options.hash_source == "raw":
        return identity.hashes(raw[source.body_at :], source.block_bytes, options.normalize)
    return identity.hashes(body, props.values, options.normalize)


def _codes(diagnostics: Sequence[Diagnostic]) -> set[str]:
    return {one.code for one in diagnostics}


def _assemble(parts: _Parts) -> ParsedNote:
    values, structure = parts.props.values, parts.structure
    schema = properties.read_schema(parts.path, parts.props)
    return ParsedNote(
        path=parts.path,
        title=schema.title,
        h1=next((heading.text for heading in structure.headings if heading.level == 1), None),
        body=parts.text.body,
        body_line=parts.body_line,
        blocks=parts.text.blocks,
        headings=structure.headings,
        links=(*links.property_links(values, parts.props.lines), *structure.links),
        tags=tags.unique_tags((*tags.property_tags(values), *structure.tags)),
        aliases=tags.aliases(values),
        fields=structure.fields,
        block_ids=structure.block_ids,
        hidden=structure.hidden,
        frontmatter=values,
        diagnostics=(*parts.diagnostics, *schema.diagnostics),
        body_hash=parts.hashes.body,
        frontmatter_hash=parts.hashes.frontmatter,
        full_hash=parts.hashes.full,
        note_id=schema.note_id,
        type=schema.type,
        status=schema.status,
        visibility=schema.visibility,
        lang=schema.lang or lang.detect(structure.sample),
        created=schema.created,
        modified=schema.modified,
        flags=schema.flags,
        hash_mode=schema.hash_mode,
        chunk_profile=schema.chunk_profile,
        embedding_exclude=schema.embedding_exclude,
        retriever_weight=schema.overrides.retriever_weight,
        relevance=schema.overrides.relevance,
        time_weight_override=schema.overrides.time_weight_override,
        edge_hints=schema.edge_hints,
        property_lines=schema.lines,
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
        lines = body[start:end].rstrip().split("\n")
        lead = next(number for number, line in enumerate(lines) if line.strip())
        if len(lines) > lead + 1 and _SETEXT_LINE.match(lines[-1]):
            text = " ".join(line.strip() for line in lines[lead:-1])
        else:
            text = _CLOSING_MARKS.sub("", lines[lead]).lstrip(" \t").lstrip("#")
        yield Heading(block.level, links.shown_text(_BLOCK_ID.sub("", text)), body_line + block.first + lead)


def _block_ids(masked: Masked, blocks: Sequence[Block]) -> Iterator[str]:
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
