"""The records that travel between the parts: plain frozen data, no I/O, no behaviour worth naming.

Coordinates. A note's *body* is its canonical body (``core.identity``): offsets are code points into it, ends are
exclusive. Lines are 1-based lines of the file on disk, inclusive; canonical form never adds or removes a line, so
``file line = body_line + (line index in the body)``. ``key`` is always an internal integer of the database: it grows,
is never reused, and is no part of the contract; ``id`` is a UUIDv5 string and is.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

LinkKind = Literal["wikilink", "embed", "markdown", "frontmatter", "inline_field", "canvas", "url", "plain"]
"""plain: a property such as ``depends_on`` names a note in plain text; no link for Obsidian, so no reply lists it."""
NodeKind = Literal["note", "chunk", "file", "url", "unresolved"]
HashMode = Literal["body", "frontmatter", "full"]
Visibility = Literal["public", "internal", "sensitive"]
VISIBILITIES: tuple[Visibility, ...] = ("public", "internal", "sensitive")
FLAGS: tuple[str, ...] = ("draft", "needs_review", "private_journal")


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One thing wrong with one note. ``code`` is stable (``docs/diagnostics.md``), ``line`` is a file line or None."""

    code: str
    message: str
    line: int | None = None


@dataclass(frozen=True, slots=True)
class Block:
    """A run of whole body lines that belong together.

    ``first``/``last`` are 0-based body line indices, ``last`` exclusive. Blank lines after a block belong to it, blank
    lines at the very start to the first block; so the blocks of a body tile all its lines, in order, without a gap.
    ``level`` is the heading level (1-6) for headings, else 0.
    """

    kind: Literal["heading", "paragraph", "item", "table", "code", "quote", "html", "math", "comment", "rule"]
    first: int
    last: int
    level: int = 0


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading: ``text`` is its plain text (no ``#``, links shown as their display), ``line`` a file line."""

    level: int
    text: str
    line: int


@dataclass(frozen=True, slots=True)
class Link:
    """A link as written, before resolution. ``target`` is the decoded path part ("" for a link to the own note)."""

    kind: LinkKind
    raw: str
    target: str
    heading: str | None = None
    block: str | None = None
    display: str | None = None
    line: int | None = None
    property: str | None = None
    in_comment: bool = False
    relation: str = "references"


@dataclass(frozen=True, slots=True)
class ResolvedLink:
    """A link with its answer: ``resolved`` is a vault path as spelled on disk, or None, as Obsidian says.

    ``by_id`` is the note that the link means by its frontmatter id, where no file has the name (plain text: id first).
    """

    link: Link
    resolved: str | None
    ambiguous: bool = False
    by_id: str | None = None

    @property
    def leads_to(self) -> str | None:
        """The vault path that the edge of this link leads to."""
        return self.resolved if self.by_id is None else self.by_id


@dataclass(frozen=True, slots=True)
class Field:
    """A Dataview inline field: canonical ``key`` (lower case, spaces to ``-``), ``name`` as written, ``value`` text."""

    key: str
    name: str
    value: str
    line: int


@dataclass(frozen=True, slots=True)
class ParsedNote:
    """Everything that the bytes of one note say, whatever else is in the vault.

    ``hidden`` are body spans that are kept in the text but out of the words and the vectors (comments, drawing data,
    Kanban settings, encoded blobs). ``frontmatter`` holds strings, None, lists and mappings: scalars as the user wrote
    them.
    """

    path: str
    title: str
    h1: str | None
    body: str
    body_line: int
    blocks: tuple[Block, ...]
    headings: tuple[Heading, ...]
    links: tuple[Link, ...]
    tags: tuple[str, ...]
    aliases: tuple[str, ...]
    fields: tuple[Field, ...]
    block_ids: tuple[str, ...]
    hidden: tuple[tuple[int, int], ...]
    frontmatter: Mapping[str, Any]
    diagnostics: tuple[Diagnostic, ...]
    body_hash: str
    frontmatter_hash: str
    full_hash: str
    note_id: str | None = None
    type: str | None = None
    status: str | None = None
    visibility: Visibility | None = None
    """None where the note does not say: the configured default holds."""
    lang: str = "und"
    """``lang`` of the frontmatter, else detected: a BCP 47 primary tag, ``und`` where nothing can be told."""
    created: str | None = None
    modified: str | None = None
    """RFC 3339 or ``YYYY-MM-DD`` text from the frontmatter or file name; None where only the mtime is known."""
    flags: tuple[str, ...] = ()
    hash_mode: HashMode | None = None
    chunk_profile: str | None = None
    embedding_exclude: bool = False
    retriever_weight: float | None = None
    """In [0, 1]: stands for that of the note's type; so do the next two for what the ranking would take."""
    relevance: float | None = None
    time_weight_override: float | None = None
    edge_hints: tuple[str, ...] = ()
    """Relations that the links of the note have besides, as ``edge_defaults`` of a type."""
    property_lines: Mapping[str, int] = field(default_factory=dict)
    """File line of each top-level property, by its name without case."""


@dataclass(frozen=True, slots=True)
class Profile:
    """A chunk profile: bounds in tokens of the pinned tokenizer, overlap as a share of the chunk (0-0.5).

    `upper` is hard. `soft_upper` (where not None) is what a chunk should not exceed without need.
    """

    name: str
    lower: int
    upper: int
    overlap: float
    soft_upper: int | None = None


@dataclass(frozen=True, slots=True)
class Passage:
    """The unit that is embedded: ``text`` is exactly what the model sees (heading path included), ``text_hash`` its
    SHA-256 hex."""

    idx: int
    start: int
    end: int
    text: str
    text_hash: str
    tokens: int


@dataclass(frozen=True, slots=True)
class Chunk:
    """A piece of the body. The ``text`` of all chunks of a note, joined in order, is its body.

    ``window`` is ``overlap_left + text + overlap_right``. ``words`` is the text for the lexical index: hidden spans
    left out.
    """

    idx: int
    profile: str
    section: tuple[str, ...]
    text: str
    words: str
    overlap_left: str
    overlap_right: str
    tokens: int
    start: int
    end: int
    start_line: int
    end_line: int
    content_hash: str
    passages: tuple[Passage, ...]

    @property
    def window(self) -> str:
        """The text with both overlaps."""
        return self.overlap_left + self.text + self.overlap_right


@dataclass(frozen=True, slots=True)
class Chunked:
    """What chunking makes of a note: its chunks, and the passage of its title, aliases and tags (None if excluded)."""

    chunks: tuple[Chunk, ...]
    title_passage: Passage | None


@dataclass(frozen=True, slots=True)
class Edge:
    """A directed edge. ``(relation, source, src_id, dst_id, scope)`` is its key; ``id`` is the UUIDv5 of that key."""

    id: str
    src_id: str
    dst_id: str
    src_kind: NodeKind
    dst_kind: NodeKind
    dst_label: str
    """Path, URL or the unresolved target text: what to show for the far end."""
    relation: str
    scope: Literal["note", "chunk"]
    source: Literal["declared", "rule", "ml", "structural"]
    weight: float
    occurrences: int
    evidence: str
    """The sentence that says so (at most 200 characters)."""
    line: int | None = None
    resolved_by: Literal["id"] | None = None
    """``id``: no file has the name that is asked for, but a note has it as its frontmatter id."""


@dataclass(frozen=True, slots=True)
class FileStat:
    """What a look at a file tells. Two equal looks mean: not changed since (``libraries.md`` 1.15)."""

    size: int
    mtime_ns: int
    ctime_ns: int
    inode: int


FileKind = Literal["note", "canvas", "file", "ignored", "conflict"]
"""note: indexed; canvas: read for its links; file: an attachment; ignored: excluded but a link target; conflict:
reported only."""


@dataclass(frozen=True, slots=True)
class VaultFile:
    """One file of the vault as the scan sees it: ``path`` is vault-relative, ``/``-separated, spelled as on disk
    (undecodable bytes as ``\\xNN``)."""

    path: str
    kind: FileKind
    stat: FileStat


@dataclass(frozen=True, slots=True)
class NoteMeta:
    """What the daemon keeps resident of each note, for filters, titles and references. No text."""

    key: int
    id: str
    note_id: str | None
    path: str
    title: str
    h1: str | None
    aliases: tuple[str, ...]
    tags: tuple[str, ...]
    type: str | None
    status: str | None
    visibility: Visibility
    flags: tuple[str, ...]
    lang: str
    created: str | None
    modified: str
    """RFC 3339 UTC; from the frontmatter, else the file's mtime."""
    mtime_ns: int
    raw_hash: str
    """SHA-256 hex of the bytes on disk."""
    body_hash: str
    frontmatter_hash: str
    full_hash: str
    hash_mode: HashMode
    stale: bool
    frontmatter_json: str
    retriever_weight: float | None = None
    """What the note itself says, in [0, 1]; None: its type's weight holds."""
    relevance: float | None = None
    time_weight_override: float | None = None


@dataclass(frozen=True, slots=True)
class TermCounts:
    """A document of the lexical index: ``field -> {term: count}``; fields as in ``core.analyze.FIELDS``."""

    counts: Mapping[str, Mapping[str, int]]
    lengths: Mapping[str, int] = field(default_factory=dict)


SignalKind = Literal["title", "alias", "heading", "code", "link", "url", "tag", "phrase", "codeword"]


@dataclass(frozen=True, slots=True)
class Signal:
    """A candidate. ``key`` is the folded ``name``; ``chunk_idx`` is -1 for what the whole note says.

    ``weight`` is that of one occurrence, ``count`` how many there are.
    """

    name: str
    key: str
    kind: SignalKind
    weight: float
    chunk_idx: int
    count: int = 1
