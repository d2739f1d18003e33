"""The frontmatter ids of the notes that a view shows: by them a link may mean another note than a hidden one."""

from __future__ import annotations

import threading

from mindnetd.core.resolve import IdIndex
from mindnetd.lanes.snapshot import HotSnapshot
from mindnetd.serving.refs import Notes
from mindnetd.serving.view import View

_lock = threading.Lock()
_last: tuple[Notes, View | None, IdIndex] = ((), None, IdIndex())


def shown_ids(snapshot: HotSnapshot, view: View) -> IdIndex:
    """The ids of the shown notes; the newest answer is kept, since one view asks for most. Not to be changed."""
    global _last
    with _lock:
        notes, known, ids = _last
        if notes is not snapshot.notes or known != view:
            ids = IdIndex()
            for meta in snapshot.notes:
                if meta is not None and meta.note_id and view.shows(meta):
                    ids.set(meta.path, meta.note_id)
            _last = (snapshot.notes, view, ids)
        return ids
