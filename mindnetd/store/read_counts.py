"""How many vectors are stored."""

from __future__ import annotations

from collections.abc import Sequence

from mindnetd.store.bulk import key_list
from mindnetd.store.db import Database
from mindnetd.store.read_hot import existing_table


def vectors_stored(db: Database, fingerprint: str, dim: int, hidden: Sequence[int] = ()) -> int:
    """How many distinct texts of notes have a vector of this model, those of notes `hidden` (keys) aside.

    Raises StoreError.
    """
    with db.reader() as reader:
        table = existing_table(reader, dim)
        if table is None:
            return 0
        shown = f"SELECT DISTINCT text_hash FROM passages WHERE note_key NOT IN ({key_list(hidden) if hidden else -1})"
        sql = f"SELECT count(*) FROM {table} WHERE fingerprint = ? AND text_hash IN ({shown})"
        return int(reader.rows(sql, [fingerprint])[0][0])
