"""A note as its stored rows see it, read anew from its stored bytes."""

from __future__ import annotations

import hashlib

from mindnetd.core.decode import split_note
from mindnetd.core.note import ReadOptions, read_note
from mindnetd.core.records import NoteMeta, ParsedNote
from mindnetd.store.db import Database
from mindnetd.store.read_notes import indexed_body, read_raw


def note_as_indexed(db: Database, known: NoteMeta, options: ReadOptions, raw: bytes | None = None) -> ParsedNote:
    """The note that links and edges are stored of; a stale one with its older body. `raw`: newer bytes than stored.

    Raises StoreError, and NotFound where the note is gone.
    """
    found = read_raw(db, known.key) if raw is None else raw
    if known.stale or (raw is not None and known.raw_hash != hashlib.sha256(raw).hexdigest()):
        found = found[: split_note(found).body_at] + indexed_body(db, known.key).encode("utf-8", "replace")
    return read_note(known.path, found, options)
