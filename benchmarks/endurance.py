"""Does anything grow that should not? Memory over many questions and edits, the file over many rewrites.

    python -m benchmarks.endurance [--queries 10000] [--edits 1000] [--rewrites 100]

On a copy of the demo vault, with short settle times, so that 1,000 edits take minutes.
"""

from __future__ import annotations

import argparse
import random
import shutil
import statistics
import tempfile
from pathlib import Path

from benchmarks.harness import Connection, Daemon, Report, wait_for

DEMO = Path(__file__).parent.parent / "demo"
SAMPLES = 20


def ask_many(connection: Connection, daemon: Daemon, count: int) -> list[float]:
    """Resident memory (MB) at `SAMPLES` moments of `count` distinct questions."""
    words = sorted({word for path in daemon.vault.rglob("*.md") for word in path.read_text().split() if word.isalpha()})
    rng, seen = random.Random(1), []
    for number in range(count):
        text = " ".join(rng.choices(words, k=5))
        connection.call("POST", "/query", {"text": f"{text} {number}"})
        if number % max(1, count // SAMPLES) == 0:
            seen.append(daemon.memory_mb())
    return seen


def settle(connection: Connection, notes: int) -> None:
    """Wait until everything is indexed and has its vectors."""

    def quiet() -> bool:
        status = connection.call("GET", "/status")
        return bool(status["state"] == "ready" and not status["vectors"]["pending"] and status["notes"] >= notes)

    wait_for(quiet, 600, "a quiet daemon")


def edit_many(connection: Connection, daemon: Daemon, count: int) -> list[float]:
    """Resident memory (MB) at `SAMPLES` moments of `count` edits, each of its own words."""
    notes = sorted(daemon.vault.rglob("*.md"))
    rng, seen = random.Random(2), []
    for number in range(count):
        path = rng.choice(notes)
        text = path.read_text().rsplit("\n\nEdit ", 1)[0]
        path.write_text(f"{text}\n\nEdit {number} {rng.random()}\n")
        if number % max(1, count // SAMPLES) == 0:
            settle(connection, len(notes) - 5)
            seen.append(daemon.memory_mb())
    settle(connection, len(notes) - 5)
    return seen


def rewrite(connection: Connection, daemon: Daemon, times: int) -> None:
    """Write every note anew, `times` times, with other words each time."""
    originals = {path: path.read_text() for path in daemon.vault.rglob("*.md")}
    for number in range(times):
        for path, text in originals.items():
            path.write_text(f"{text}\n\nRewrite {number} of {path.stem} {random.Random(number).random()}\n")
        settle(connection, len(originals) - 5)


def file_bytes(daemon: Daemon) -> int:
    """Size of the database and what is left of its log."""
    return sum(
        path.stat().st_size for path in (daemon.db, daemon.db.with_name(f"{daemon.db.name}.wal")) if path.exists()
    )


def slope(samples: list[float]) -> float:
    """MB from the first to the last third, by their medians."""
    third = max(1, len(samples) // 3)
    return statistics.median(samples[-third:]) - statistics.median(samples[:third])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--queries", type=int, default=10_000)
    parser.add_argument("--edits", type=int, default=1000)
    parser.add_argument("--rewrites", type=int, default=100)
    args = parser.parse_args()
    report = Report("endurance: demo vault")
    with tempfile.TemporaryDirectory() as folder:
        vault = Path(folder, "vault")
        shutil.copytree(DEMO, vault)
        (Path(folder) / "state").mkdir()
        quick = ("--set", "watch.settle_ms=20", "--set", "watch.max_wait_ms=200")
        with Daemon(vault, Path(folder, "state"), *quick) as daemon:
            daemon.wait_ready(vectors=True)
            connection = daemon.connection()
            asked = ask_many(connection, daemon, args.queries)
            report.row(
                f"memory over {args.queries:,} questions", f"{slope(asked):+.1f} MB", "about 0", f"{asked[0]:.0f} MB"
            )
            edited = edit_many(connection, daemon, args.edits)
            report.row(
                f"memory over {args.edits:,} edits", f"{slope(edited):+.1f} MB", "about 0", f"{edited[0]:.0f} MB"
            )
            rewrite(connection, daemon, args.rewrites)
            connection.close()
            daemon.stop()
        grown = file_bytes(daemon)
        (Path(folder) / "fresh").mkdir()
        with Daemon(vault, Path(folder, "fresh")) as fresh:
            fresh.wait_ready(vectors=True)
            fresh.stop()
        size = file_bytes(fresh)
        report.row(
            f"file after {args.rewrites} rewrites of the vault",
            f"{grown / size:.2f} x fresh",
            "2 x",
            f"{size / 1e6:.1f} MB",
        )
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
