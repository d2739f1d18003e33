"""The title lane: a question that is a note's name asks for that note."""

from __future__ import annotations

import numpy as np

from mindnetd.core.querytext import name_key
from mindnetd.lanes.hot import names_of
from mindnetd.lanes.segments import BoolArray
from mindnetd.lanes.snapshot import HotSnapshot


def named(snapshot: HotSnapshot, text: str, docs: BoolArray) -> list[tuple[int, list[int]]]:
    """Notes among `docs` whose title, alias, file name, path or id is `text`: (note slot, document slots), by path."""
    key = name_key(text.strip().removeprefix("[[").removesuffix("]]"))
    found = []
    for slot in snapshot.names.get(key, ()):
        note = snapshot.notes[slot] if slot < len(snapshot.notes) else None
        if note is not None and key in names_of(note):
            here = np.flatnonzero((snapshot.doc_note == slot) & docs)
            if len(here):
                found.append((note.path, slot, [int(place) for place in here]))
    return [(slot, here) for _, slot, here in sorted(found)]
