"""Ids that two notes have: told when it is asked, of the notes that the request may see, so that nothing is stored.

Whether an id is used twice depends on other notes. Stored, it would have to be kept right with every save of any of
them, and would tell of hidden ones; the resident metadata answers it in a few milliseconds for 20,000 notes.
"""

from __future__ import annotations

from collections.abc import Iterable

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


def id_clashes(db: Database, snapshot: HotSnapshot, view: View, only: Iterable[int] | None) -> list[StoredDiagnostic]:
    """A diagnostic for each note that shares its frontmatter id with another that ``view`` shows.

    `only` are the keys of the notes that are asked about; None: all. Raises StoreError.
    """
    wanted = None if only is None else {_id(meta) for key in only if (meta := snapshot.note(key)) is not None} - {""}
    if wanted is not None and not wanted:
        return []
    by_id: dict[str, list[NoteMeta]] = {}
    for meta in snapshot.notes:
        if meta is not None and meta.note_id and (wanted is None or _id(meta) in wanted) and view.shows(meta):
            by_id.setdefault(_id(meta), []).append(meta)
    clashing = [meta for notes in by_id.values() if len(notes) > 1 for meta in notes]
    return [_told(db, meta) for meta in clashing if only is None or meta.key in only]


def trouble_shown(path: str, refs: RefIndex, snapshot: HotSnapshot, view: View) -> bool:
    """May the trouble of a file that is no note be told? Not if its path is that of a hidden note (in any spelling)."""
    same = refs.at_path(path, snapshot.notes)
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
