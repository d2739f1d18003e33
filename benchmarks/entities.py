"""What the corpus-wide stage makes of a vault: its figures, the first entities, and relations of these.

    python -m benchmarks.entities VAULT [--top 40] [--relations 20] [--weights DIR]

Indexes a copy of nothing: the vault is only read, the database is in a temporary folder. The list is for reading: which
of the names are noise is judged by a person (docs/entities.md has the last verdict).
"""

from __future__ import annotations

import argparse
import resource
import tempfile
import time
from pathlib import Path

from mindnetd.config import load_config
from mindnetd.corpus import CorpusOptions, commit, prepare
from mindnetd.daemon import index_once
from mindnetd.engine import Engine
from mindnetd.lanes.entities import EntityView
from mindnetd.metrics import Metrics


def main() -> None:
    """Index, run the stage anew, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("vault", type=Path)
    parser.add_argument("--top", type=int, default=40)
    parser.add_argument("--relations", type=int, default=20)
    parser.add_argument("--db", type=Path, help="keep the database here, and use the one that is there")
    parser.add_argument("--words", action="store_true", help="without vectors: names are not merged")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="mindnet-entities-") as home:
        run(args, Path(home))


def run(args: argparse.Namespace, home: Path) -> None:
    """One vault."""
    db = args.db or home / "notes.duckdb"
    env = {"HOME": str(Path.home()), "XDG_RUNTIME_DIR": str(home)}
    config = load_config(None, env, {"vault": str(args.vault), "db": str(db)})
    if not db.exists():
        started = time.process_time()
        index_once(config, lambda *_: None)
        print(f"first index: {time.process_time() - started:.1f} s CPU")
    engine = Engine(config, Metrics("bench"))
    engine.load()
    try:
        embedder = None if args.words else engine.model.embedder
        before, started = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.process_time()
        prepared = prepare(engine.db, CorpusOptions(threshold=config.graph.dedup_threshold), embedder, force=True)
        took = time.process_time() - started
        revision = commit(engine.db, prepared, engine.entities)
        wrote = time.process_time() - started - took
        grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
        view = engine.entities.snapshot.visible(note.key for note in engine.hot.snapshot().all_notes())
        print(
            f"stage: {took:.2f} s CPU (thread seconds by step: {prepared.seconds}), {prepared.embedded} names embedded"
        )
        print(f"commit and load: {wrote:.2f} s CPU, revision {revision}; peak memory grew by {grown:.0f} MB")
        show(view, args.top, args.relations)
    finally:
        engine.close()


def show(view: EntityView, top: int, relations: int) -> None:
    """The tables."""
    graph = view.snapshot
    merged = dict(graph.aliases.items())
    print(f"{len(graph.id)} entities, {len(merged)} names, {len(graph.relations.id)} relations")
    for number in view.entities[:top].tolist():
        kind = "note" if graph.note[number] else "-"
        aliases = ", ".join(view.aliases(number)[:4])
        print(
            f"{view.mention_counts[number]:6} {view.names[number]:40.40} {view.type(number):12} {kind:5} {aliases:.60}"
        )
    print("-- by weight (rare and said in the right places)")
    best = sorted(range(len(graph.id)), key=lambda n: (-graph.weight[n], graph.name[n]))[:top]
    print("; ".join(f"{graph.name[n]} [{graph.type[n]}]" for n in best))
    print("-- that are no notes")
    others = [n for n in view.entities.tolist() if graph.note[n] is None][:top]
    print("; ".join(f"{graph.name[n]} [{graph.type[n]}] {view.mention_counts[n]}" for n in others))
    links = graph.relations
    for source in sorted(set(links.source)):
        mine = [n for n in range(len(links.id)) if links.source[n] == source]
        print(f"-- relations: {source}, {len(mine)}")
        for n in sorted(mine, key=lambda n: (-links.weight[n], links.id[n]))[:relations]:
            one, other = graph.name[links.src[n]], graph.name[links.dst[n]]
            print(f"{links.weight[n]:7.2f} {links.count[n]:5}  {one}  --{links.type[n]}-->  {other}")


if __name__ == "__main__":
    main()
