"""Ids that two notes have: told when it is asked, of the notes that the request may see, so that nothing is stored.

Whether an id is used twice depends on other notes. Stored, it would have to be kept right with every save of any of
them, and would tell of hidden ones; the resident metadata answers it: 11 ms of CPU for a list over 20,000 notes, and
next to nothing for one note.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from mindnetd.core.identity import nfc
from mindnetd.core.note import property_line
from mindnetd.core.records import Diagnostic, NoteMeta
from mindnetd.errors import NotFound
from mindnetd.lanes.snapshot import HotSnapshot
from mindnetd.serving.refs import RefIndex, fold
from mindnetd.serving.view import View
from mindnetd.store import read
from mindnetd.store.db import Database
from mindnetd.store.records import StoredDiagnostic

CODE = "id_duplicate"


def id_clashes(
    db: Database, refs: RefIndex, snapshot: HotSnapshot, view: View, only: Collection[int] | None
) -> list[StoredDiagnostic]:
    """A diagnostic for each note that shares its frontmatter id with another that ``view`` shows.

    `only` are the keys of the notes that are asked about; None: all. Raises StoreError.
    """
    notes: Iterable[NoteMeta | None] = snapshot.notes
    if only is not None:
        ids = {_id(meta) for key in only if (meta := snapshot.note(key)) is not None} - {""}
        notes = [meta for name in ids for meta in refs.called(name, snapshot.notes) if _id(meta) == name]
    by_id: dict[str, list[NoteMeta]] = {}
    for meta in notes:
        if meta is not None and meta.note_id and view.shows(meta):
            by_id.setdefault(_id(meta), []).append(meta)
    clashing = [meta for same in by_id.values() if len(same) > 1 for meta in same]
    return [_told(db, meta) for meta in clashing if only is None or meta.key in only]


def trouble_shown(path: str, refs: RefIndex, snapshot: HotSnapshot, view: View) -> bool:
    """May the trouble of a file that is no note be told? Not if its path is that of a hidden note (in any spelling)."""
    same = refs.called(path, snapshot.notes)
    return all(view.shows(meta) for meta in same if nfc(meta.path) == nfc(path))


def _id(meta: NoteMeta) -> str:
    return fold(meta.note_id or "")


def _told(db: Database, meta: NoteMeta) -> StoredDiagnostic:
    try:
        line = property_line(read.read_raw(db, meta.key), "id")
    except NotFound:  # gone meanwhile
        line = None
    message = f"another note has the id {meta.note_id!r} too: an id is for one note"
    return StoredDiagnostic(meta.path, meta.key, Diagnostic(CODE, message, line))
