"""The running daemon: first index, questions, saves, restart, idle.   python -m benchmarks.live VAULT [--idle SECONDS]

Works on a copy of the vault, since saves are part of it. Without VAULT: the demo vault.
"""

from __future__ import annotations

import argparse
import itertools
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from functools import partial
from pathlib import Path

from benchmarks.harness import (
    PASSES,
    Connection,
    Daemon,
    Report,
    best_of,
    empty_python_ms,
    empty_route,
    median_each_ms,
    median_ms,
    percentile,
    wait_for,
)

SETTLE_MS = 200
QUESTIONS = 200
SAVES = 40
QUESTION_FRAMES = ("how does {} work", "{}", "what is {} for", "difference between {} and others", "set up {}")


def questions(connection: Connection, count: int, seed: int = 1) -> list[str]:
    """`count` different mixed questions made from titles, reproducible for one vault."""
    titles, cursor = set[str](), ""
    while cursor is not None:
        page = connection.call("GET", f"/notes?limit=500{cursor and f'&cursor={cursor}'}")
        titles |= {note["title"] for note in page["notes"]}
        cursor = page["next"]
    framed = [[frame.format(title) for title in sorted(titles)] for frame in QUESTION_FRAMES]
    rng = random.Random(seed)
    for of_frame in framed:
        rng.shuffle(of_frame)
    mixed = list(dict.fromkeys(itertools.chain.from_iterable(zip(*framed, strict=True))))
    return [mixed[n] if n < len(mixed) else f"{mixed[n % len(mixed)]} {n}" for n in range(count)]


def ask(connection: Connection, text: str, **more: object) -> list[dict[str, object]]:
    """The results of one question."""
    results: list[dict[str, object]] = connection.call("POST", "/query", {"text": text, **more})["results"]
    return results


def bare_embedding_ms(lists: list[list[str]]) -> float:
    """The median time of embedding a question alone, in this process with the same model; the best of the lists."""
    import os

    from mindnetd.inference.backends import open_embedder
    from mindnetd.inference.embedder import EmbedderOptions
    from mindnetd.settings.places import places

    embedder = open_embedder(EmbedderOptions(cache_dir=places(os.environ).models))
    try:
        return min(median_each_ms(embedder.embed_query, texts) for texts in lists)
    finally:
        embedder.close()


def measure_questions(daemon: Daemon, report: Report) -> None:
    """Three passes over questions that nobody has asked this daemon before: nothing about them is remembered."""
    connection = daemon.connection()
    asked = questions(connection, PASSES * QUESTIONS)
    lists = [asked[start : start + QUESTIONS] for start in range(0, len(asked), QUESTIONS)]
    embedding = bare_embedding_ms(lists)
    with empty_route() as path:
        empty = Connection(path)
        floor = median_ms(lambda: empty.call("GET", "/"), 200)
        empty.close()
    before = daemon.cpu_s()
    passes = [median_each_ms(lambda text: connection.raw("POST", "/query", {"text": text}), texts) for texts in lists]
    cpu = (daemon.cpu_s() - before) / len(asked) * 1000
    report.row(
        f"query over the socket, median of {QUESTIONS} new ones, best of {PASSES}", f"{min(passes):.1f} ms",
        f"{embedding + 5:.1f} ms", f"embed {embedding:.1f}, route {floor:.1f} ms",
    )  # fmt: skip
    report.row("  the passes; CPU of the daemon a question", f"{_listed(passes)} ms", "", f"{cpu:.1f} ms")
    connection.close()


def _listed(values: list[float]) -> str:
    return " ".join(f"{value:.1f}" for value in values)


def measure_client(daemon: Daemon, report: Report) -> None:
    """The time of `mindnet query` from the shell, beyond a Python that does nothing."""
    command = [sys.executable, "-m", "mindnetd.client.main", "--socket", str(daemon.socket), "query", "garden"]

    def once() -> None:
        subprocess.run(command, stdout=subprocess.DEVNULL, check=False)

    once()
    connection = daemon.connection()
    answer = median_ms(lambda: connection.raw("POST", "/query", {"text": "garden"}), 20)
    connection.close()
    nothing = empty_python_ms()
    value = best_of(lambda: median_ms(once, 10))
    report.row(
        "mindnet query beyond an empty Python, best of 3", f"{value - nothing:.0f} ms", "60 ms",
        f"python {nothing:.0f}, answer {answer:.0f} ms",
    )  # fmt: skip


def measure_saves(daemon: Daemon, report: Report, label: str, *, vectors: bool = True, saves: int = SAVES) -> None:
    """Save notes with a word that is nowhere else, and ask for it until it is found (and until it has its vectors)."""
    connection = daemon.connection()
    words_ms, vectors_ms = [], []
    for number in range(saves):
        word = f"zq{time.time_ns():x}"
        path = daemon.vault / f"bench-{number % 5}.md"
        start = time.perf_counter()
        path.write_text(f"---\ntitle: Bench {number % 5}\n---\n# Notes\n\nA line about {word} and a garden.\n")
        wait_for(partial(found, connection, word), 60, "a save")
        words_ms.append((time.perf_counter() - start) * 1000)
        if vectors:
            wait_for(partial(embedded, connection, path.name), 600, "its vectors")
            vectors_ms.append((time.perf_counter() - start) * 1000)
    state = daemon.status()["state"]
    row_of_saves(report, f"by words, {label}", words_ms, f"{SETTLE_MS + 100} ms", f"{SETTLE_MS + 300} ms")
    if vectors:
        row_of_saves(report, f"with vectors, {label}", vectors_ms, f"{SETTLE_MS + 300} ms", "")
    elif state != "indexing":
        report.row("(the bulk index had ended by then: take a larger vault)", state)
    connection.close()


def found(connection: Connection, word: str) -> bool:
    return bool(ask(connection, word, lanes=["lexical"]))


def embedded(connection: Connection, name: str) -> bool:
    note = connection.call("GET", f"/notes/{name}")
    return bool(note["embedded"] == note["passages"])


def row_of_saves(report: Report, label: str, values: list[float], middle: str, high: str) -> None:
    report.row(f"save to findable {label}: median of {len(values)}", f"{statistics.median(values):.0f} ms", middle)
    report.row(f"save to findable {label}: 95th percentile", f"{percentile(values, 0.95):.0f} ms", high)


def measure_restart(daemon: Daemon, report: Report) -> None:
    daemon.stop()
    started = time.perf_counter()
    daemon.start()
    daemon.wait_ready()
    report.row("restart, nothing changed: until ready", f"{time.perf_counter() - started:.2f} s")
    report.row("restart, nothing changed: CPU of the whole start", f"{daemon.cpu_s():.2f} s", "imports, model + 1 s")


def measure_idle(daemon: Daemon, report: Report, seconds: float) -> None:
    before = daemon.cpu_s()
    time.sleep(seconds)
    share = (daemon.cpu_s() - before) / seconds * 100
    report.row(f"idle for {seconds:g} s: share of a core", f"{share:.2f} %", "0.5 %")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("vault", type=Path, nargs="?", default=Path(__file__).parent.parent / "demo")
    parser.add_argument("--idle", type=float, default=30)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        vault = Path(folder, "vault")
        shutil.copytree(args.vault, vault, ignore=shutil.ignore_patterns(".git"))
        (Path(folder) / "state").mkdir()
        report = Report(f"live: {args.vault.name}")
        with Daemon(vault, Path(folder, "state"), "--set", f"watch.settle_ms={SETTLE_MS}") as daemon:
            report.row("first index: every note findable by words", f"{daemon.wait_ready():.1f} s")
            report.row("first index: every vector", f"{daemon.wait_ready(36_000, vectors=True):.1f} s more")
            report.row(
                "memory after it: resident, peak", f"{daemon.memory_mb():.0f}, {daemon.memory_mb('VmHWM'):.0f} MB"
            )
            measure_questions(daemon, report)
            measure_client(daemon, report)
            measure_saves(daemon, report, "idle")
            measure_restart(daemon, report)
            measure_idle(daemon, report, args.idle)
        (Path(folder) / "busy").mkdir()
        with Daemon(vault, Path(folder, "busy"), "--set", f"watch.settle_ms={SETTLE_MS}") as daemon:
            measure_saves(daemon, report, "during a bulk index", vectors=False, saves=SAVES // 2)
    return 0


if __name__ == "__main__":
    sys.exit(main())
