"""Chunk profiles: how long the chunks of a note are. Which one a note has, its type says (``core.typetable``)."""

from __future__ import annotations

from mindnetd.core.records import Profile

PROFILES: dict[str, Profile] = {
    "short": Profile("short", 300, 500, 0.12),
    "medium": Profile("medium", 700, 1000, 0.12),
    "long": Profile("long", 1200, 1600, 0.12),
    "classic": Profile("classic", 350, 600, 0.35, soft_upper=500),
}
"""Bounds in tokens. `classic` is the first version's rule: 350 to 500, at most 600, overlap 0.35."""

FIXED_OVERLAP = ("classic",)
"""Profiles whose overlap is part of their rule, so ``chunking.overlap`` does not change it."""
