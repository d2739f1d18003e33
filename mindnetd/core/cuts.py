"""Cutting a row of pieces into groups by rules that only look around the corner.

The heart of law 3. A gap between two pieces is a cut if its rank is the highest among all gaps less than `radius`
away. So two cuts are never closer than `radius`, and changing one piece can only change cuts within `radius` of it:
at most one on its left and one on its right, hence at most three groups are new, whatever the rest of the row is.
A rule that counts from the start instead (close at N tokens) would shift every group behind the change.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence

NEVER = -1
"""Rank of a gap that must not be cut."""
ALWAYS = 1 << 40
"""Rank of a gap that is cut whatever is near."""


def mix(text: str) -> int:
    """Return a 32-bit number that depends on every character of `text` and looks random for texts that look alike."""
    value = zlib.crc32(text.encode("utf-8", "replace"))
    value = (value ^ (value >> 15)) * 0x2C1B3C6D & 0xFFFFFFFF
    value = (value ^ (value >> 12)) * 0x297A2D39 & 0xFFFFFFFF
    return value ^ (value >> 15)


def local_cuts(sizes: Sequence[int], ranks: Sequence[int], radius: int) -> list[int]:
    """Return the sorted indices i such that the row is cut after piece i (never after the last one).

    `sizes` are the pieces' sizes, `ranks[i]` the rank of the gap after piece i. The ends of the row count as cuts: no
    other cut but an `ALWAYS` comes closer than `radius` to them.
    """
    last = len(sizes) - 1
    ends: list[int] = []
    here = 0
    for size in sizes:
        here += size
        ends.append(here)
    usable = _usable(ends, ranks, radius)
    return [gap for gap in range(last) if usable[gap] == ALWAYS or _is_peak(gap, ends, usable, radius)]


def _usable(ends: Sequence[int], ranks: Sequence[int], radius: int) -> list[int]:
    """Ranks, where a gap too near to a certain cut (an end, an `ALWAYS`) is out of the contest."""
    total, last = ends[-1], len(ends) - 1
    usable = list(ranks[:last])
    certain = [0, *(ends[gap] for gap in range(last) if ranks[gap] == ALWAYS), total]
    before, after = 0, 1
    for gap in range(last):
        if usable[gap] == ALWAYS:
            before, after = after, after + 1
            continue
        if ends[gap] - certain[before] < radius or certain[after] - ends[gap] < radius:
            usable[gap] = NEVER
    return usable


def _is_peak(gap: int, ends: Sequence[int], ranks: Sequence[int], radius: int) -> bool:
    """Whether no gap within `radius` beats this one; of equals the leftmost wins."""
    rank, here = ranks[gap], ends[gap]
    if rank < 0:
        return False
    left = gap - 1
    while left >= 0 and here - ends[left] < radius:
        if ranks[left] >= rank:
            return False
        left -= 1
    right = gap + 1
    while right < len(ranks) and ends[right] - here < radius:
        if ranks[right] > rank:
            return False
        right += 1
    return True


def balanced(sizes: Sequence[int], limit: int) -> list[int]:
    """Cut a row into as few groups of at most `limit` as will do, about equally large; indices as in `local_cuts`.

    A piece over `limit` stays a group of its own.
    """
    total = sum(sizes)
    groups = max(1, -(-total // limit))
    cuts: list[int] = []
    held, gone = 0, 0
    for index, size in enumerate(sizes):
        target = (total - gone) / max(1, groups - len(cuts))
        if held and (held + size > limit or held + size / 2 > target):
            cuts.append(index - 1)
            gone += held
            held = 0
        held += size
    return cuts


def groups_of(count: int, cuts: Sequence[int]) -> list[tuple[int, int]]:
    """Turn cut indices into spans (first, last exclusive) over `count` pieces."""
    firsts = [0, *(cut + 1 for cut in cuts)]
    return list(zip(firsts, [*firsts[1:], count], strict=True))
