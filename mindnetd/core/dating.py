"""How old a note is: by what it says itself, before what its file says."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta

from mindnetd.core.filters import instant
from mindnetd.core.records import NoteMeta


def dated_at(note: NoteMeta) -> float:
    """Seconds since 1970 of ``modified`` or ``updated``, else of ``created``, else of the file's mtime.

    A date without a time is its first moment, one without a zone is in UTC.
    """
    own = note.modified
    if note.created and own == utc_text(note.mtime_ns) and not _says_modified(note):
        own = note.created
    at = instant(own)
    return note.mtime_ns / 1e9 if at is None else at


def _says_modified(note: NoteMeta) -> bool:
    """Does the frontmatter itself give the date that is the mtime too (an editor that stamps what it saves)?"""
    folded = note.frontmatter_json.casefold()
    if "modified" not in folded and "updated" not in folded:
        return False
    said = {str(key).casefold(): value for key, value in json.loads(note.frontmatter_json).items()}
    given = [said.get(name) for name in ("modified", "updated")]
    return any(instant(value) is not None for value in given if isinstance(value, str))


def utc_text(time_ns: int) -> str:
    """A file time (ns since the epoch) as RFC 3339 UTC with seconds; out-of-range times are clamped."""
    seconds = min(max(time_ns // 1_000_000_000, -62_135_596_800), 253_402_300_799)
    return (datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=seconds)).strftime("%Y-%m-%dT%H:%M:%SZ")
