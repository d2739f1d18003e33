"""Chunk profiles, and what a note's type says about it before ``types.yaml`` (the knowledge model) exists.

The first four types and their profiles are the source's; those marked *ours* are chosen by us.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from mindnetd.core.records import HashMode, ParsedNote, Profile

PROFILES: dict[str, Profile] = {
    "short": Profile("short", 300, 500, 0.12),
    "medium": Profile("medium", 700, 1000, 0.12),
    "long": Profile("long", 1200, 1600, 0.12),
    "classic": Profile("classic", 350, 600, 0.35, soft_upper=500),
}
"""Bounds in tokens. `classic` is the first version's rule: 350 to 500, at most 600, overlap 0.35."""

FIXED_OVERLAP = ("classic",)
"""Profiles whose overlap is part of their rule, so ``chunking.overlap`` does not change it."""


@dataclass(frozen=True, slots=True)
class NoteType:
    """What a type says: its chunk profile, and its hash mode where it has one."""

    profile: str
    hash_mode: HashMode | None = None


TYPES: dict[str, NoteType] = {
    "concept": NoteType("medium"),
    "task": NoteType("short"),
    "experience": NoteType("medium"),
    "project": NoteType("long"),
    # ours
    "thought": NoteType("short"),
    "journal": NoteType("short"),
    "person": NoteType("short"),
    "meeting": NoteType("medium"),
    "milestone": NoteType("short"),
    "decision": NoteType("medium"),
    "resource": NoteType("long"),
    "recommendation": NoteType("medium"),
}


def choose_profile(note: ParsedNote, default: str = "medium", overlap: float | None = None) -> Profile:
    """Return the profile of `note`: its own ``chunk_profile``, else its type's, else `default`.

    An unknown name counts as absent. `overlap` (``chunking.overlap``) replaces the profile's, but for `classic`.
    Raises KeyError if `default` is no profile: the configuration is checked before it comes here.
    """
    by_type = TYPES.get((note.type or "").strip().lower())
    wanted = ((note.chunk_profile or "").strip().lower(), by_type.profile if by_type else "", default)
    profile = PROFILES[next((name for name in wanted if name in PROFILES), default)]
    if overlap is None or profile.name in FIXED_OVERLAP:
        return profile
    return replace(profile, overlap=overlap)


def choose_hash_mode(note: ParsedNote, configured: HashMode = "body") -> HashMode:
    """Return which hash makes `note` a changed one: its own ``hash_mode``, else its type's, else the configured."""
    if note.hash_mode is not None:
        return note.hash_mode
    by_type = TYPES.get((note.type or "").strip().lower())
    return by_type.hash_mode if by_type and by_type.hash_mode else configured
