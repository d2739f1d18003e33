"""Random operations on the store against a plain dictionary: the dump is always that of a fresh database (law 1)."""

from __future__ import annotations

import tempfile
from pathlib import Path

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule
from store_make import DIM, FINGERPRINT, batch_of, note, open_store

from mindnetd.store.db import Database
from mindnetd.store.dump import differences, dump
from mindnetd.store.integrity import integrity
from mindnetd.store.read_hot import load_hot
from mindnetd.store.records import Batch, NoteRows, utc_now
from mindnetd.store.upkeep import collect_garbage, compact
from mindnetd.store.write import commit

PATHS = st.sampled_from([f"{name}.md" for name in "abcd"])
WORDS = st.lists(st.text(min_size=1, max_size=12), max_size=3)
LEVELS = st.sampled_from(["public", "internal", "sensitive"])

Content = tuple[tuple[str, ...], tuple[str, ...], str]


def rows_of(db: Database, path: str, content: Content, present: set[str], key: int | None) -> NoteRows:
    """The rows of a note; a link to a path that is not present is unresolved."""
    texts, targets, visibility = content
    links = tuple(target if target in present else f"?{target}" for target in targets)
    return note(db, path, list(texts), links=links, visibility=visibility, key=key)


class StoreMachine(RuleBasedStateMachine):
    """A store, and what it should hold."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.db = open_store(Path(self.folder.name))
        self.vault: dict[str, Content] = {}
        self.keys: dict[str, int] = {}

    def rewrite(self, changed: dict[str, Content], gone: tuple[str, ...] = ()) -> None:
        """One batch: the change, and whatever links to a path that came or went."""
        before = set(self.vault)
        self.vault = {path: content for path, content in (self.vault | changed).items() if path not in gone}
        moved = before ^ set(self.vault)
        again = {path for path, (_, targets, _) in self.vault.items() if moved & set(targets)} | set(changed)
        present = set(self.vault)
        rows = [
            rows_of(self.db, path, self.vault[path], present, self.keys.get(path)) for path in sorted(again & present)
        ]
        batch = batch_of(*rows, embed=bool(rows))
        removed = tuple(self.keys.pop(path) for path in gone if path in self.keys)
        commit(self.db, Batch(batch.files_upsert, gone, batch.notes, removed=removed, vectors=batch.vectors))
        self.keys |= {row.meta.path: row.meta.key for row in rows}

    @rule(path=PATHS, texts=WORDS, linked=st.sets(PATHS), level=LEVELS)
    def write(self, path: str, texts: list[str], linked: set[str], level: str) -> None:
        """A note is made or changed."""
        self.rewrite({path: (tuple(texts), tuple(sorted(linked)), level)})

    @rule(path=PATHS)
    def remove(self, path: str) -> None:
        """A note goes, if it is there."""
        self.rewrite({}, (path,))

    @rule(path=PATHS, to=PATHS)
    def move(self, path: str, to: str) -> None:
        """A note is renamed over whatever is there."""
        if path in self.vault and path != to:
            self.rewrite({to: self.vault[path]}, (path,))

    @rule()
    def restart(self) -> None:
        """The daemon stops and starts."""
        self.db.close()
        self.db = open_store(Path(self.folder.name))

    @rule()
    def tidy(self) -> None:
        """Garbage goes and the file is compacted."""
        collect_garbage(self.db, utc_now(), 0)
        compact(self.db)

    @invariant()
    def tables_agree(self) -> None:
        """No rule between tables is broken, and every passage has its vector."""
        assert integrity(self.db) == []
        hot = load_hot(self.db, FINGERPRINT, DIM)
        assert {row.tobytes() for row in hot.passage_hash} == {row.tobytes() for row in hot.vector_hash}

    def teardown(self) -> None:
        """At the end: the dump of a database made at once."""
        fresh = open_store(Path(self.folder.name), "fresh.duckdb")
        rows = [rows_of(fresh, path, content, set(self.vault), None) for path, content in self.vault.items()]
        commit(fresh, batch_of(*rows, embed=bool(rows)))
        assert differences(dump(fresh), dump(self.db)) == []
        fresh.close()
        self.db.close()
        self.folder.cleanup()


TestStoreMachine = StoreMachine.TestCase
TestStoreMachine.settings = settings(
    max_examples=8, stateful_step_count=8, deadline=None, suppress_health_check=list(HealthCheck)
)
