"""Communities after an edit: what stays, what the rebuild costs beside bare Leiden, and what queries feel of it.

    python -m benchmarks.communities VAULT [--vectors] [--titles]

Works on a copy of the vault in a temporary folder. Without ``--vectors`` names are joined by their spelling alone,
which is all that communities need. CPU seconds are of the thread that does the work; "write" is the writer's.
"""

from __future__ import annotations

import argparse
import gc
import os
import shutil
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import graspologic_native
import numpy as np

from mindnetd.communities import Material, allowed_notes, build, state_of
from mindnetd.community_step import options_of, rebuild
from mindnetd.config import load_config
from mindnetd.core.query import QuerySpec
from mindnetd.core.rank import RetrievalSettings
from mindnetd.corpus_runner import build_graph
from mindnetd.daemon import COLLECT_AFTER, make_writer
from mindnetd.deadline import Deadline, working_under
from mindnetd.engine import Engine
from mindnetd.jobs import JobBook
from mindnetd.lanes.level_graph import LevelGraph
from mindnetd.leiden import ITERATIONS, SEED, edge_list
from mindnetd.metrics import Metrics
from mindnetd.search import Searcher
from mindnetd.store import read
from mindnetd.store.read_communities import load_inputs
from mindnetd.store.records import utc_now
from mindnetd.store.write_communities import commit_communities
from mindnetd.writing.writer import Writer

QUERIES = 1000


def main() -> None:
    """One vault: index, edit, rebuild, ask."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("vault", type=Path)
    parser.add_argument("--vectors", action="store_true", help="with the model, if it is on this machine")
    parser.add_argument("--titles", action="store_true", help="print every title")
    args = parser.parse_args()
    gc.set_threshold(*COLLECT_AFTER)  # as the daemon does
    with tempfile.TemporaryDirectory(prefix="mindnet-communities-") as home:
        run(args, Path(home))


def run(args: argparse.Namespace, home: Path) -> None:
    """In `home`."""
    vault = home / "vault"
    shutil.copytree(args.vault, vault, symlinks=True)
    cache = {} if args.vectors else {"XDG_CACHE_HOME": str(home / "cache")}
    env = {"HOME": str(Path.home()) if args.vectors else str(home), "XDG_RUNTIME_DIR": str(home), **cache}
    engine = Engine(load_config(None, env, {"vault": str(vault), "db": str(home / "x" / "notes.duckdb")}), Metrics("x"))
    try:
        engine.load()
        writer = make_writer(engine, JobBook(time.time))
        engine.start_embedding(writer.deliver)
        settle(engine, writer)
        graph(engine)
        first = rebuild(engine, lambda store: store())
        snapshot = engine.entities.snapshot
        print(f"{engine.counts().notes} notes, {len(snapshot.id)} entities, {len(snapshot.relations.id)} relations")
        print(f"first: {first['communities']} communities, CPU {first['communities_seconds']}")
        if args.titles:
            for one in snapshot_titles(engine):
                print(" ", one)
        for number in range(3):
            edit(engine, writer, vault, number)
        queries(engine, "a rebuild", lambda: rebuild(engine, lambda store: store(), cold=True))
        queries(engine, "the corpus-wide stage", lambda: graph(engine))
    finally:
        engine.close()


def settle(engine: Engine, writer: Writer) -> None:
    """Everything read, every vector there."""
    writer.doubt("bench")
    writer.run_until_settled(lambda: None)
    while engine.model.embedder is not None and engine.queue.pending():
        writer.wait_for_message(1.0)
        writer.run_until_settled(lambda: None)


def graph(engine: Engine) -> float:
    """The corpus-wide stage; CPU seconds."""
    started = time.thread_time()
    build_graph(engine, lambda store: store(), force=True, stop=lambda: False)
    return time.thread_time() - started


def snapshot_titles(engine: Engine) -> list[str]:
    """Label, size and title of all."""
    return [f"{one.label} ({one.size}) {one.title}" for one in engine.entities.snapshot.communities]


def edit(engine: Engine, writer: Writer, vault: Path, number: int) -> None:
    """A sentence more in one note of middling size; then the rebuild, and bare Leiden on the same graph."""
    notes = sorted(vault.rglob("*.md"), key=lambda path: (path.stat().st_size, str(path)))
    note = notes[len(notes) // 2 + number * 7]
    with note.open("a", encoding="utf-8") as file:
        file.write(f"\n\nThe lantern of number {number} stands beside the river.\n")
    settle(engine, writer)
    extraction = graph(engine)
    inputs = load_inputs(engine.db)
    options = options_of(engine)
    material = Material(
        engine.entities.graphs,
        inputs,
        lambda keys: read.texts(engine.db, keys),
        state_of(inputs, str(number), options),
        options,
        utc_now(),
    )
    made = build(material)
    started = time.thread_time()
    commit_communities(engine.db, made.rows, made.last, made.state, made.audiences)
    wrote = time.thread_time() - started
    bare = [bare_leiden(material) for _ in range(3)]
    whole = made.seconds["all"] + wrote
    touched = touched_by(engine, inputs, note, vault)
    last = {row.id: row for row in made.last}
    kept = [row for row in made.rows if row.id in last and row.summary == last[row.id].summary]
    same = sum(row.id in last and row.members == last[row.id].members for row in made.rows)
    print(
        f"edit of {note.name}: {len(made.rows)} communities, {made.kept_ids} keep their id, {same} all members, "
        f"{made.kept_summaries} their summary unmade ({len(kept)} the same text); {touched} have a member in the note"
    )
    print(f"  CPU {made.seconds}, write {wrote:.3f}; extraction {extraction:.2f}")
    print(f"  rebuild {whole:.3f} s, bare Leiden {min(bare):.3f} s: {whole / min(bare):.2f} times")
    engine.reload()


def bare_leiden(material: Material) -> float:
    """CPU seconds of the one call on the graphs of all audiences (the usual vault has one)."""
    return sum(_bare(material, name) for name in material.graphs.by_name)


def _bare(material: Material, name: str) -> float:
    keys = allowed_notes(material.inputs, material.graphs.audiences, name)
    edges = edge_list(LevelGraph(material.graphs.by_name[name], keys).weighted)
    started = time.thread_time()
    graspologic_native.hierarchical_leiden(
        edges, iterations=ITERATIONS, max_cluster_size=material.options.max_cluster_size, seed=SEED
    )
    return time.thread_time() - started


def touched_by(engine: Engine, inputs: Any, note: Path, vault: Path) -> int:
    """Communities of now with a member that the note mentions."""
    snapshot = engine.entities.snapshot
    path = str(note.relative_to(vault))
    key = next(meta.key for meta in engine.hot.snapshot().all_notes() if meta.path == path)
    inside = set(snapshot.mentions.entity[snapshot.mentions.note == key].tolist())
    ids = {snapshot.id[number] for number in inside}
    return sum(not ids.isdisjoint(row.members) for row in inputs.last)


def queries(engine: Engine, name: str, work: Callable[[], object]) -> None:
    """p95 of questions by words without a pause between them: idle, and while `work` is done again and again."""
    searcher = Searcher(engine.hot, read.StoreTexts(engine.db), engine.model.embed_query, RetrievalSettings())
    names = [engine.entities.snapshot.name[n] for n in range(0, len(engine.entities.snapshot.id), 7)][:60]

    def ask() -> float:
        took = []
        for number in range(QUERIES):
            began = time.perf_counter()
            deadline = Deadline(30)
            with working_under(deadline):  # as the server does
                searcher.query(QuerySpec(text=names[number % len(names)]), deadline)
            took.append(time.perf_counter() - began)
        return float(np.percentile(took, 95))

    ask()
    for _ in range(3):
        idle = ask()
        over = threading.Event()
        rounds: list[int] = []

        def again(over: threading.Event = over, rounds: list[int] = rounds) -> None:
            while not over.is_set():
                work()
                rounds.append(1)

        worker = threading.Thread(target=again)
        worker.start()
        busy = ask()
        over.set()
        worker.join()
        load = os.getloadavg()[0]
        print(
            f"query p95: idle {idle * 1e3:.1f} ms, during {name} {busy * 1e3:.1f} ms: {busy / idle:.2f} times "
            f"({len(rounds)} done; load {load:.1f} on {os.cpu_count()} processors)"
        )


if __name__ == "__main__":
    main()
