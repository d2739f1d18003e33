"""Killed anywhere: a loop of commits, checkpoints and compactions in a child that is killed at a random moment.

Run by ``test_store_crash.py`` in a process of its own, since it forks: ``store_crash.py FOLDER KILLS SEED``. Prints one
JSON line: how many kills, the last revision, and every violation that was seen.
"""

from __future__ import annotations

import json
import os
import random
import select
import signal
import sys
from pathlib import Path

from store_make import DIM, FINGERPRINT, batch_of, note, open_store

from mindnetd.store.db import Database
from mindnetd.store.integrity import integrity
from mindnetd.store.read_hot import load_hot
from mindnetd.store.read_notes import texts
from mindnetd.store.records import Batch
from mindnetd.store.upkeep import compact
from mindnetd.store.write import commit

PATHS = 5


def one_commit(db: Database) -> None:
    """Revision r rewrites note r % 5 with r in each of its texts, and removes the note before it at each seventh."""
    number = db.revision + 1
    keys = {row.path: row.key for row in load_hot(db, FINGERPRINT, DIM).notes}
    path, before = f"{number % PATHS}.md", f"{(number - 1) % PATHS}.md"
    rows = note(db, path, [f"revision {number} part {part}" for part in range(3)], key=keys.get(path))
    batch = batch_of(rows, embed=True)
    if number % 7 == 0 and before in keys:
        batch = Batch(batch.files_upsert, (before,), batch.notes, removed=(keys[before],), vectors=batch.vectors)
    commit(db, batch)


def expected(revision: int) -> dict[str, int]:
    """path -> the revision that wrote it last, after `revision` commits."""
    state: dict[str, int] = {}
    for number in range(1, revision + 1):
        state[f"{number % PATHS}.md"] = number
        if number % 7 == 0:
            state.pop(f"{(number - 1) % PATHS}.md", None)
    return state


def work(folder: Path, acks: int) -> None:
    """The child: commits for ever, telling each revision once it is done."""
    db = open_store(folder)
    os.write(acks, f"{db.revision}\n".encode())
    while True:
        one_commit(db)
        os.write(acks, f"{db.revision}\n".encode())
        if db.revision % 4 == 0:
            db.checkpoint()
        if db.revision % 9 == 0:
            compact(db)


def run_and_kill(folder: Path, delay: float) -> int:
    """Start a child, kill it `delay` seconds after its first word; the last revision it told."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(read)
        try:
            work(folder, write)
        finally:
            os._exit(1)
    os.close(write)
    select.select([read], [], [], 60)
    signal.sigtimedwait([], delay)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    with os.fdopen(read) as pipe:
        return max(map(int, pipe.read().split()), default=0)


def check(folder: Path, acked: int) -> tuple[int, list[str]]:
    """Open what is left: no acknowledged commit lost, none half done."""
    db = open_store(folder)
    hot = load_hot(db, FINGERPRINT, DIM)
    faults = integrity(db)
    if db.doubt:
        faults.append("doubt without a lost log")
    if not acked <= db.revision <= acked + 1:
        faults.append(f"told {acked}, found {db.revision}")
    found = {row.path: 0 for row in hot.notes}
    path_of = {row.key: row.path for row in hot.notes}
    for (key, text), doc_note in zip(
        sorted(texts(db, hot.doc_key.tolist()).items()), hot.doc_note.tolist(), strict=True
    ):
        revision = int(text.text.split()[1])
        path = path_of[doc_note]
        if found[path] not in {0, revision}:
            faults.append(f"{path} holds texts of two revisions (chunk {key})")
        found[path] = revision
    if found != expected(db.revision):
        faults.append(f"revision {db.revision}: {found} is not {expected(db.revision)}")
    if len(hot.vector_hash) != len({row.tobytes() for row in hot.passage_hash}):
        faults.append("a vector is missing")
    revision = db.revision
    db.close()
    return revision, faults


def main() -> None:
    """See the module."""
    folder, kills, chance = Path(sys.argv[1]), int(sys.argv[2]), random.Random(int(sys.argv[3]))
    revision, faults = 0, []
    for _ in range(kills):
        acked = run_and_kill(folder, chance.random() * 0.3)
        revision, seen = check(folder, acked)
        faults += seen
    sys.stdout.write(json.dumps({"kills": kills, "revision": revision, "faults": faults[:20]}) + "\n")


if __name__ == "__main__":
    main()
