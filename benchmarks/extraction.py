"""What each mode of extraction asks a real language model about a few notes: the table of `mindnetd index`.

    python -m benchmarks.extraction NOTE... --host URL [--model NAME] [--num-ctx N] [--modes MODE...]

Every mode begins with a database of its own and is run twice. Exit code 1 where the calls are not as the rule says: for
N notes, C chunks and E names of entities ceil(E / 50) for types in mode heuristic, N in hybrid, 2 C in llm (a chunk
whose first reply was no good is not asked the second question), and one for each community summary; retries come
apart. The second run must ask nothing that has a usable reply.
"""

from __future__ import annotations

import argparse
import math
import shutil
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

from mindnetd.config import Config, load_config
from mindnetd.daemon import index_once
from mindnetd.progress import IndexSummary
from mindnetd.store.db import open_database
from mindnetd.store.llm import pending

MODES = ("heuristic", "hybrid", "llm")
DETAILS = """\
SELECT (SELECT count(DISTINCT name) FROM entities), (SELECT count(*) FROM llm_cache WHERE purpose = 'summary'),
       (SELECT count(*) FROM llm_pending WHERE purpose = 'summary'), (SELECT count(*) FROM llm_cache),
       (SELECT count(*) FROM llm_pending WHERE purpose = 'extract'),
       (SELECT count(*) FROM relationships WHERE source = 'llm'), (SELECT count(*) FROM entities WHERE source = 'llm')
"""
Details = tuple[int, int, int, int, int, int, int]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("notes", nargs="+", type=Path, metavar="NOTE")
    parser.add_argument("--host", required=True, help="where Ollama listens")
    parser.add_argument("--model", default="smollm2:135m")
    parser.add_argument("--num-ctx", type=int, default=4096)
    parser.add_argument("--timeout", type=float, default=600.0, help="seconds that a call may take")
    parser.add_argument("--modes", nargs="+", choices=MODES, default=MODES)
    parser.add_argument("--model-cache", help="folder with the embedding model")
    args = parser.parse_args()
    tables: dict[str, dict[str, str]] = {}
    wrong: list[str] = []
    with tempfile.TemporaryDirectory() as folder:
        vault = Path(folder) / "vault"
        vault.mkdir()
        for note in args.notes:
            shutil.copy(note, vault)
        for mode in args.modes:
            config = configured(args, Path(folder), vault, mode)
            first = index_once(config, lambda *_: None)
            details = looked_up(config)
            again = index_once(config, lambda *_: None)
            wrong += [f"{mode}: {one}" for one in broken(mode, first, again, details)]
            tables[mode] = dict(first.rows()) | {"Second run": dict(again.rows())["LLM calls"]}
            tables[mode] |= {"Relationships by the LLM": f"{details[5]}", "Entities told by the LLM": f"{details[6]}"}
            print_tables(tables)
            print("\n".join(f"{mode}: waits: {one}" for one in waiting(config)), flush=True)
    print("\n".join(wrong), file=sys.stderr)
    return 1 if wrong else 0


def configured(args: argparse.Namespace, folder: Path, vault: Path, mode: str) -> Config:
    """The defaults, but for the model and the mode."""
    env = {"HOME": str(folder), "XDG_RUNTIME_DIR": str(folder)}
    env["XDG_CACHE_HOME"] = args.model_cache or str(Path.home() / ".cache")
    given = {"vault": str(vault), "db": str(folder / mode / "index.duckdb"), "graph.extraction_mode": mode}
    given |= {"llm.host": args.host, "llm.model": args.model, "llm.num_ctx": str(args.num_ctx)}
    given |= {"llm.timeout_s": str(args.timeout), "llm.enabled": "on"}
    return load_config(None, env, given)


def looked_up(config: Config) -> Details:
    """Names of entities, summaries by the model, summaries pending, replies, questions of extraction pending, ..."""
    db = open_database(config.db, memory_limit="192MB", threads=1, allowed_dir=config.db.parent / "spare")
    try:
        with db.reader() as reader:
            found: Details = reader.rows(DETAILS)[0]  # type: ignore[assignment]  # seven counts
            return found
    finally:
        db.close()


def waiting(config: Config) -> list[str]:
    """What has no usable reply, and why."""
    db = open_database(config.db, memory_limit="192MB", threads=1, allowed_dir=config.db.parent / "spare")
    try:
        return [f"{one.purpose}: {one.error}" for one in pending(db)]
    finally:
        db.close()


def broken(mode: str, first: IndexSummary, again: IndexSummary, details: Details) -> list[str]:
    """Where the calls are not as the rule says."""
    names, summaries, unsummed, _, unread, _, _ = details
    calls = {name: row["calls"] for name, row in first.llm_calls.items()}
    wanted = {
        "heuristic": {"entity_types": math.ceil(names / 50)},
        "hybrid": {"extract": first.documents},
        "llm": {"extract": first.chunks, "gleaning": first.chunks - unread},
    }[mode] | {"summary": summaries + unsummed}
    found = [
        f"{purpose}: {calls[purpose]} calls, not {count}"
        for purpose, count in wanted.items()
        if calls[purpose] != count
    ]
    found += [f"{purpose}: {calls[purpose]} calls" for purpose in calls if calls[purpose] and purpose not in wanted]
    asked_again = sum(row["calls"] + row["retries"] for row in again.llm_calls.values())
    return found + ([f"{asked_again} calls in the second run"] if asked_again else [])


def print_tables(tables: Mapping[str, Mapping[str, str]]) -> None:
    """One table, the modes beside each other."""
    labels = list(dict.fromkeys(label for table in tables.values() for label in table))
    print(f"\n| | {' | '.join(tables)} |\n|---|{'---:|' * len(tables)}")
    for label in labels:
        print(f"| {label.strip()} | {' | '.join(table.get(label, '0') for table in tables.values())} |", flush=True)


if __name__ == "__main__":
    sys.exit(main())
