"""Do the tables agree with each other? There are no foreign keys (libraries.md 2.22), so ``verify`` asks here."""

from __future__ import annotations

from mindnetd.store.db import Database
from mindnetd.store.sqltext import statements

_SHOWN = 5


def integrity(db: Database) -> list[str]:
    """One line for each rule of ``sql/integrity.sql`` that is broken, with the first rows; empty if all is well.

    Raises StoreError.
    """
    lines = []
    with db.reader() as reader:
        for rule, sql in statements("integrity").items():
            rows = reader.rows(sql)
            if rows:
                shown = ", ".join(" ".join(map(str, row)) for row in rows[:_SHOWN])
                lines.append(f"{rule.replace('_', ' ')}: {len(rows)} ({shown})")
    return lines
