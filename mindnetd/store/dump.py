"""The logical dump: what the database says, whatever the order of edits, keys, runs and restarts (law 1).

Two databases that were built from equal vaults give equal dumps once quiet. Left out: keys, runs, configurations, the
query log, times of ours, stamps of files, and vectors that no passage needs.
"""

from __future__ import annotations

import hashlib
from typing import Any

from mindnetd.core.analyze import FIELDS
from mindnetd.store.db import Database, Reader
from mindnetd.store.sqltext import statements
from mindnetd.store.write_vectors import TABLES, vector_tables

Dump = dict[str, list[tuple[Any, ...]]]


def dump(db: Database) -> Dump:
    """Everything that must converge, table by table, each sorted. Raises StoreError."""
    with db.reader() as reader:
        found = {name: reader.rows(sql) for name, sql in statements("dump").items()}
        found["embeddings"] = _embeddings(reader)
    found["notes"] = [(*row[:-1], hashlib.sha256(row[-1]).hexdigest()) for row in found["notes"]]
    found["postings"] = [(*row[:2], FIELDS[row[2]], *row[3:]) for row in found["postings"]]
    return {name: sorted(rows, key=repr) for name, rows in found.items()}


def _embeddings(reader: Reader) -> list[tuple[Any, ...]]:
    """Which texts have a vector by which model, of the texts that are passages."""
    sql = "SELECT DISTINCT text_hash, fingerprint FROM {table} WHERE text_hash IN (SELECT text_hash FROM passages)"
    found = []
    for table, dim in vector_tables(reader.rows(TABLES)):
        found += [(dim, *row) for row in reader.rows(sql.format(table=table))]
    return found


def differences(one: Dump, other: Dump, limit: int = 20) -> list[str]:
    """What two dumps do not share, as lines; empty if they are equal."""
    lines = []
    for name in sorted(one.keys() | other.keys()):
        left, right = one.get(name, []), other.get(name, [])
        if left != right:
            lines += [f"{name}: only in the first: {row}" for row in left if row not in right][:limit]
            lines += [f"{name}: only in the second: {row}" for row in right if row not in left][:limit]
            lines.append(f"{name}: {len(left)} and {len(right)} rows")
    return lines
