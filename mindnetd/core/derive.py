"""From the bytes of a note to everything that is stored of it. Pure: same bytes and options, same result (law 13)."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from mindnetd.core.analyze import analyze
from mindnetd.core.chunk import chunk_note
from mindnetd.core.dating import utc_text
from mindnetd.core.identity import note_uuid
from mindnetd.core.note import ReadOptions, read_note
from mindnetd.core.records import (
    Chunk,
    Chunked,
    HashMode,
    NoteMeta,
    ParsedNote,
    Passage,
    Signal,
    TermCounts,
    Visibility,
)
from mindnetd.core.signals import signals_of
from mindnetd.core.tokens import TokenCounter
from mindnetd.core.typecheck import check_note
from mindnetd.core.typetable import DEFAULT_TYPES, TypeTable

MOST_COMMON = 10_000
"""Characters of a note's title, aliases, tags, or of a chunk's headings, whose words are indexed with a chunk."""


@dataclass(frozen=True, slots=True)
class DeriveOptions:
    """What of the configuration decides what a note becomes. A change re-does every note, but for ``types``: of these
    only the notes that the change concerns (``writing/retype.py``)."""

    prefix: str = "mindnet"
    read: ReadOptions = field(default_factory=ReadOptions)
    hash_mode: HashMode = "body"
    default_profile: str = "medium"
    overlap: float | None = None
    default_visibility: Visibility = "internal"
    window: int = 256
    """Tokens that the embedding model takes at once, specials included."""
    types: TypeTable = DEFAULT_TYPES


@dataclass(frozen=True)
class Draft:
    """A note as its bytes make it."""

    path: str
    raw: bytes
    raw_hash: str
    note: ParsedNote
    chunked: Chunked
    hash_mode: HashMode
    words: tuple[tuple[Chunk | None, TermCounts], ...]
    """The documents of the lexical index: one a chunk, or one for the whole note (None) where its body is empty."""
    signals: tuple[Signal, ...] = ()
    """What of it may name an entity."""

    @cached_property
    def texts(self) -> dict[bytes, str]:
        """What has to have a vector: text hash (32 bytes) -> text of the passage."""
        return {bytes.fromhex(passage.text_hash): passage.text for passage in self.passages()}

    def passages(self) -> Iterator[Passage]:
        """The title passage, then those of the chunks in order."""
        if self.chunked.title_passage is not None:
            yield self.chunked.title_passage
        for chunk in self.chunked.chunks:
            yield from chunk.passages


def derive(path: str, raw: bytes, options: DeriveOptions, counter: TokenCounter) -> Draft:
    """Read and cut one note. Never raises for any bytes."""
    note = read_note(path, raw, options.read)
    if odd := check_note(note, options.types):
        note = replace(note, diagnostics=(*note.diagnostics, *odd))
    profile = options.types.profile_of(note, options.default_profile, options.overlap)
    chunked = chunk_note(note, profile, counter, options.window)
    return Draft(
        path=path,
        raw=raw,
        raw_hash=hashlib.sha256(raw).hexdigest(),
        note=note,
        chunked=chunked,
        hash_mode=options.types.hash_mode_of(note, options.hash_mode),
        words=tuple(_words(note, chunked.chunks)),
        signals=signals_of(note, chunked.chunks),
    )


def _words(note: ParsedNote, chunks: Sequence[Chunk]) -> Iterator[tuple[Chunk | None, TermCounts]]:
    names = {"title": note.title, "aliases": "\n".join(note.aliases), "tags": " ".join(f"#{tag}" for tag in note.tags)}
    common = analyze({field: _bounded(text) for field, text in names.items()}, note.lang)  # once, not for each chunk
    if not chunks:
        yield None, common
    for chunk in chunks:
        own = analyze({"headings": _bounded("\n".join(chunk.section)), "body": chunk.words}, note.lang)
        yield chunk, TermCounts({**common.counts, **own.counts}, {**common.lengths, **own.lengths})


def _bounded(text: str) -> str:
    """What of a name, of tags or of headings is indexed with every chunk, so that a note's words stay linear."""
    if len(text) <= MOST_COMMON:
        return text
    return text[:MOST_COMMON].rsplit(None, 1)[0]


def meta_of(draft: Draft, key: int, mtime_ns: int, options: DeriveOptions, *, stale: bool = False) -> NoteMeta:
    """What stays resident of the note."""
    note = draft.note
    return NoteMeta(
        key=key,
        id=note_uuid(options.prefix, note.path),
        note_id=note.note_id,
        path=note.path,
        title=note.title,
        h1=note.h1,
        aliases=note.aliases,
        tags=note.tags,
        type=note.type,
        status=note.status,
        visibility=visibility_of(note, options),
        flags=note.flags,
        lang=note.lang,
        created=note.created,
        modified=note.modified or utc_text(mtime_ns),
        mtime_ns=mtime_ns,
        raw_hash=draft.raw_hash,
        body_hash=note.body_hash,
        frontmatter_hash=note.frontmatter_hash,
        full_hash=note.full_hash,
        hash_mode=draft.hash_mode,
        stale=stale,
        frontmatter_json=json.dumps(note.frontmatter, ensure_ascii=False, default=str),
        retriever_weight=note.retriever_weight,
        relevance=note.relevance,
        time_weight_override=note.time_weight_override,
    )


def visibility_of(note: ParsedNote, options: DeriveOptions) -> Visibility:
    """Its own, else what its type or folder says, else the configured default."""
    return note.visibility or options.types.visibility_default(note.type, note.path, options.default_visibility)
