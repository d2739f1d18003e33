"""What a save writes in a vault full of links, and whether it takes longer where there are more notes.

    python -m benchmarks.link_rows [--notes 5000] [--sizes 1000,5000,20000] [--saves 15]

A synthetic vault with five links a note, one in ten of them to a name that no file has. Rows are compared one by one,
by their place and content, before and after each save. Times are CPU time of this process, engine and DuckDB together,
without model and watcher: medians of several saves, all sizes in one run, each save followed by the next size's.
"""

from __future__ import annotations

import argparse
import dataclasses
import random
import statistics
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.harness import Report
from mindnetd.config import load_config
from mindnetd.daemon import make_writer
from mindnetd.engine import Engine
from mindnetd.jobs import JobBook
from mindnetd.metrics import Metrics

LINKS = 5
OWNED = {
    "notes": "key", "chunks": "note_key", "passages": "note_key", "lengths": "note_key", "postings": "l.note_key",
    "links": "owner", "link_names": "owner", "edges": "owner", "diagnostics": "owner", "files": None, "terms": None,
}  # fmt: skip
"""Every table that a note's rows are in -> the column that says whose a row is."""
WORDS = ("oven", "probe", "stone", "flour", "water", "rye", "crust", "steam", "rest", "fold", "heat", "curve", "valve")


class LinkedVault:
    """A vault of `count` notes and an engine over it, indexed; `save` brings one file in, as a settled save does."""

    def __init__(self, home: Path, count: int) -> None:
        self.vault, self.count = home / "vault", count
        self.vault.mkdir(parents=True)
        rng = random.Random(count)
        for number in range(count):
            self.write(f"n{number}", self.text(rng, [self.target(rng) for _ in range(LINKS)]))
        env = {"HOME": str(home), "XDG_CACHE_HOME": str(home / "cache"), "XDG_RUNTIME_DIR": str(home / "run")}
        config = load_config(None, env, {"vault": str(self.vault), "db": str(home / "state" / "n.duckdb")})
        self.engine = Engine(dataclasses.replace(config, offline=True), Metrics("bench"))
        self.engine.load()
        writer = make_writer(self.engine, JobBook(time.time))
        writer.doubt("bench")
        writer.run_until_settled(lambda: None)

    def target(self, rng: random.Random) -> str:
        """The name of a note, or of one of as many notes again as there are links to nowhere."""
        gone = rng.random() < 0.1
        return f"missing{rng.randrange(max(1, self.count // 10))}" if gone else f"n{rng.randrange(self.count)}"

    def text(self, rng: random.Random, targets: Iterable[str]) -> str:
        """A note with these links, one a paragraph."""
        paragraphs = [f"{' '.join(rng.choices(WORDS, k=40))} [[{target}]]." for target in targets]
        return "---\ntype: concept\n---\n# Note\n\n" + "\n\n".join(paragraphs) + "\n"

    def write(self, name: str, text: str) -> Path:
        """Write one note of the vault."""
        file = self.vault / f"{name}.md"
        file.write_text(text, encoding="utf-8")
        return file

    def save(self, *names: str) -> float:
        """Index these notes in one commit; returns the CPU seconds that it took."""
        run = self.engine.new_run("watch")
        started = time.process_time()
        self.engine.indexer.index([f"{name}.md" for name in names], run)
        return time.process_time() - started

    def key(self, name: str) -> int | None:
        """The internal key of a note."""
        return self.engine.indexer.known.key(f"{name}.md")

    def linking(self, name: str) -> set[int]:
        """The keys of notes with a link to this name, found or not; asked of the rows, not of the indexer."""
        sql = "SELECT DISTINCT owner FROM links WHERE lower(target) = ?"
        with self.engine.db.reader() as reader:
            return {owner for (owner,) in reader.rows(sql, [name.lower()])}

    def close(self) -> None:
        """End the engine."""
        self.engine.close()


Rows = dict[str, dict[tuple[int, int], int | None]]
"""Table -> (place, hash of the content) -> owner of each row."""


def rows_of(vault: LinkedVault) -> Rows:
    """Every row of the tables that notes have rows in."""
    found: Rows = {}
    with vault.engine.db.reader() as reader:
        for table, owner in OWNED.items():
            joined = f"{table} t LEFT JOIN lengths l USING (doc)" if table == "postings" else f"{table} t"
            rows = reader.rows(f"SELECT t.rowid, hash(t), {owner or 'NULL'} FROM {joined}")
            found[table] = {(place, content): whose for place, content, whose in rows}
    return found


@dataclass(frozen=True)
class Change:
    """Rows that a save has written and deleted, by table, and the keys of the notes whose rows they are."""

    written: Mapping[str, int]
    deleted: Mapping[str, int]
    owners: frozenset[int] = field(default=frozenset())


def change(before: Rows, after: Rows) -> Change:
    """What differs: an updated row is one deleted and one written."""
    new = {table: after[table].keys() - before[table].keys() for table in after}
    gone = {table: before[table].keys() - after[table].keys() for table in before}
    owners = {after[table][row] for table in new for row in new[table]}
    owners |= {before[table][row] for table in gone for row in gone[table]}
    counts = ({table: len(rows) for table, rows in one.items() if rows} for one in (new, gone))
    return Change(*counts, frozenset(owner for owner in owners if owner is not None))


Step = tuple[str, Callable[[], list[str]], Callable[[], set[int]]]
"""What is done, the names that were saved by doing it, and whose links it resolves or unresolves."""


def steps(vault: LinkedVault) -> list[Step]:
    """One save of each kind, to be done in this order."""
    rng = random.Random(5)
    missing = "missing7"

    def changed(name: str, *targets: str) -> list[str]:
        vault.write(name, vault.text(rng, targets))
        return [name]

    def gone(name: str) -> list[str]:
        (vault.vault / f"{name}.md").unlink()
        return [name]

    def renamed(old: str, new: str) -> list[str]:
        (vault.vault / f"{old}.md").rename(vault.vault / f"{new}.md")
        return [old, new]

    return [
        ("other words", lambda: changed("n1", "n2", "n3", "n4", "n5", "n6"), set),
        ("other links", lambda: changed("n1", "n7", "n8", missing), set),
        ("a new note that others wait for", lambda: changed(missing, "n1"), lambda: vault.linking(missing)),
        ("the same note deleted", lambda: gone(missing), lambda: vault.linking(missing)),
        ("a linked note renamed", lambda: renamed("n9", "n9b"), lambda: vault.linking("n9")),
        ("and renamed back", lambda: renamed("n9b", "n9"), lambda: vault.linking("n9")),
    ]


def measure(vault: LinkedVault, step: Step) -> tuple[Change, set[int], set[int]]:
    """Do one step: what it changed, the keys of the saved notes, and of those whose links it (un)resolves."""
    _, act, linkers = step
    touched = linkers()
    before = rows_of(vault)
    saved = act()
    own = {key for name in saved if (key := vault.key(name)) is not None}
    vault.save(*saved)
    own |= {key for name in saved if (key := vault.key(name)) is not None}
    return change(before, rows_of(vault)), own, touched - own


def row_counts(notes: int) -> None:
    """Print what each kind of save writes."""
    with tempfile.TemporaryDirectory(prefix="mindnet-rows-") as home:
        vault = LinkedVault(Path(home), notes)
        report = Report(f"Rows written by a save: {notes} notes, {notes * LINKS} links")
        for step in steps(vault):
            done, own, touched = measure(vault, step)
            strange = done.owners - own - touched
            told = ", ".join(f"{table} +{done.written.get(table, 0)}-{done.deleted.get(table, 0)}" for table in OWNED
                             if table in done.written or table in done.deleted)  # fmt: skip
            report.row(f"{step[0]}: rows of other notes", str(len(strange)), "0", f"{len(touched)} linkers")
            print(f"  {told}")
        vault.close()


def times(sizes: list[int], saves: int) -> None:
    """Print how long a save takes by the size of the vault."""
    with tempfile.TemporaryDirectory(prefix="mindnet-rows-") as home:
        vaults = [LinkedVault(Path(home, str(size)), size) for size in sizes]
        taken: dict[int, list[float]] = {size: [] for size in sizes}
        rng = random.Random(11)
        for number in range(saves + 3):
            for vault in vaults:
                vault.write(f"n{number}", vault.text(rng, [vault.target(rng) for _ in range(LINKS)]))
                spent = vault.save(f"n{number}")
                if number >= 3:  # the first ones fill caches
                    taken[vault.count].append(spent * 1000)
        report = Report(f"CPU time of a save, medians of {saves}")
        first = statistics.median(taken[sizes[0]])
        for size in sizes:
            middle = statistics.median(taken[size])
            report.row(f"{size} notes, {size * LINKS} links", f"{middle:.1f} ms", "", f"{middle / first:.2f} times")
        report.row("the largest against the smallest", f"{middle / first:.2f}", "<= 1.5")
        for vault in vaults:
            vault.close()


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--notes", type=int, default=5000)
    options.add_argument("--sizes", default="1000,5000,20000")
    options.add_argument("--saves", type=int, default=15)
    given = options.parse_args()
    row_counts(given.notes)
    times([int(size) for size in given.sizes.split(",")], given.saves)


if __name__ == "__main__":
    main()
