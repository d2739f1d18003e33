"""How many vectors are stored."""

from __future__ import annotations

from mindnetd.store.db import Database
from mindnetd.store.read_hot import existing_table


def vectors_stored(db: Database, fingerprint: str, dim: int) -> int:
    """How many distinct texts have a vector of this model. Raises StoreError."""
    with db.reader() as reader:
        table = existing_table(reader, dim)
        if table is None:
            return 0
        return int(reader.rows(f"SELECT count(*) FROM {table} WHERE fingerprint = ?", [fingerprint])[0][0])
