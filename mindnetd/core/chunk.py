"""Chunks: runs of whole passages under a profile. The joined texts of a note's chunks are its body.

Cuts far apart are found by local rules first (headings beat everything else); between two of them the cheapest way to
stay within the profile's bounds is chosen, and a heading is the cheapest place. So an edit moves no boundary beyond
the next such cut, and moving a chunk's boundary embeds nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from mindnetd.core.clean import without_hidden
from mindnetd.core.cuts import groups_of, local_cuts, mix
from mindnetd.core.identity import sha256_text
from mindnetd.core.overlap import head_of, tail_of
from mindnetd.core.passages import Piece, cut_pieces, title_text
from mindnetd.core.records import Chunk, Chunked, ParsedNote, Passage, Profile
from mindnetd.core.tokens import CHARS_PER_TOKEN, TokenCounter

ANCHOR_RADIUS = 3
"""Certain cuts between chunks are at least this many lower bounds apart, so that what lies between them can be divided
within the bounds."""
COST_BLOCK = 0.35
"""What a cut that is not at a heading costs, in the currency of `_size_cost`: one chunk at two thirds of the lower
bound."""
COST_INSIDE = 0.7
"""What a cut inside a block costs."""
COST_OUTSIDE = 0.15
"""What a chunk outside its bounds costs at least."""
COST_LEVEL = 0.01
"""What each level of the heading at a cut costs: the higher heading wins among equals."""
TORN_SLACK = 8
"""A word that was cut in two can have so many more tokens than its halves."""
MIN_OVERLAP = 16
"""Even a small chunk sees this many tokens of its neighbours (where the profile has an overlap at all)."""


def chunk_note(note: ParsedNote, profile: Profile, counter: TokenCounter, window: int = 256) -> Chunked:
    """Cut `note` into chunks of `profile` and passages of at most `window` tokens with specials.

    The texts of the chunks, joined, are ``note.body`` (a body of nothing but white space has no chunks). A note with
    ``embedding_exclude`` has chunks, but no passage at all. Depends on nothing but its arguments.
    """
    body = note.body
    pieces = cut_pieces(note, counter, window, profile.upper) if body.strip() else []
    groups = list(_chunks(pieces, profile))
    texts = [body[group[0].start : group[-1].end] for group in groups]
    tokens = [_tokens(group, text, counter) for group, text in zip(groups, texts, strict=True)]
    lines = _LineNumbers(note)
    chunks: list[Chunk] = []
    for idx, (group, text) in enumerate(zip(groups, texts, strict=True)):
        start, end = group[0].start, group[-1].end
        budget = max(MIN_OVERLAP, round(profile.overlap * tokens[idx])) if profile.overlap > 0 else 0
        chunks.append(
            Chunk(
                idx=idx,
                profile=profile.name,
                section=group[0].path,
                text=text,
                words=without_hidden(text, start, note.hidden),
                overlap_left=tail_of(texts[idx - 1], budget, counter) if idx and budget else "",
                overlap_right=head_of(texts[idx + 1], budget, counter) if idx + 1 < len(texts) and budget else "",
                tokens=tokens[idx],
                start=start,
                end=end,
                start_line=lines.of(start),
                end_line=lines.of(end - 1),
                content_hash=sha256_text(text),
                passages=() if note.embedding_exclude else _passages(group),
            )
        )
    return Chunked(tuple(chunks), None if note.embedding_exclude else _title_passage(note, counter, window))


class _LineNumbers:
    """Body offsets, asked in ascending order, to file lines."""

    def __init__(self, note: ParsedNote) -> None:
        self._body = note.body
        self._at = 0
        self._line = note.body_line

    def of(self, offset: int) -> int:
        """Return the file line of the character at `offset`."""
        self._line += self._body.count("\n", self._at, offset)
        self._at = offset
        return self._line


def _tokens(group: Sequence[Piece], text: str, counter: TokenCounter) -> int:
    """Tokens of a chunk: those of its pieces, unless one of them was cut where tokens do not add up."""
    return counter.count((text,))[0] if any(piece.torn for piece in group) else sum(piece.raw for piece in group)


def _passages(group: Sequence[Piece]) -> tuple[Passage, ...]:
    visible = [piece for piece in group if piece.text]
    return tuple(
        Passage(idx, piece.start, piece.end, piece.text, sha256_text(piece.text), piece.tokens)
        for idx, piece in enumerate(visible)
    )


def _title_passage(note: ParsedNote, counter: TokenCounter, window: int) -> Passage | None:
    text, tokens = title_text(note, counter, window)
    return Passage(-1, 0, 0, text, sha256_text(text), tokens) if text else None


# --- grouping ---------------------------------------------------------------------------------------------------------


def _chunks(pieces: Sequence[Piece], profile: Profile) -> Iterator[Sequence[Piece]]:
    """Group pieces into chunks: certain cuts first, then the cheapest division between them."""
    if not pieces:
        return
    sizes = [_size(piece) for piece in pieces]
    ranks = [((7 - piece.level if piece.level else 0) << 32) + mix(piece.text) for piece in pieces[1:]]
    if sum(sizes) <= (profile.soft_upper or profile.upper):
        yield pieces
        return
    for first, last in groups_of(len(pieces), local_cuts(sizes, ranks, ANCHOR_RADIUS * profile.lower)):
        yield from _divide(pieces[first:last], sizes[first:last], profile)


def _size(piece: Piece) -> int:
    return max(piece.raw, (piece.end - piece.start) // CHARS_PER_TOKEN) + (TORN_SLACK if piece.torn else 0)


def _divide(pieces: Sequence[Piece], sizes: Sequence[int], profile: Profile) -> list[Sequence[Piece]]:
    """Divide a run of pieces at the least cost (dynamic programming over the ends of chunks)."""
    count = len(pieces)
    best = [0.0, *([float("inf")] * count)]
    came = [0] * (count + 1)
    for end in range(1, count + 1):
        cut = _cut_cost(pieces[end]) if end < count else 0.0
        size, first = 0, end - 1
        while first >= 0:
            size += sizes[first]
            if size > profile.upper and first < end - 1:
                break
            cost = best[first] + _size_cost(size, profile) + cut
            if cost < best[end]:
                best[end], came[end] = cost, first
            first -= 1
    groups: list[Sequence[Piece]] = []
    end = count
    while end:
        groups.append(pieces[came[end] : end])
        end = came[end]
    return groups[::-1]


def _cut_cost(after: Piece) -> float:
    if after.level:
        return COST_LEVEL * after.level
    return COST_INSIDE if after.inside else COST_BLOCK


def _size_cost(size: int, profile: Profile) -> float:
    if size < profile.lower:
        return COST_OUTSIDE + 2 * ((profile.lower - size) / profile.lower) ** 2
    soft = profile.soft_upper or profile.upper
    return COST_OUTSIDE + 2 * (size - soft) / profile.upper if size > soft else 0.0
