"""Suggested links against links that were taken away.

    python -m benchmarks.suggest VAULT [--links 200] [--seed 1] [--samples 40] [--offline] [--keep DIR]

In a copy of VAULT a random sample of its resolved wikilinks (one a note, and every link of that note to that target)
becomes its display text; the real daemon indexes the copy, and each note is asked for suggestions. Recall at k: the
share of the targets that are among the first k links suggested. Then ``--samples`` random suggestions of untouched
notes are printed, to be read and judged; CPU time a call is that of the daemon's process.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import shutil
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

from benchmarks.harness import Connection, Daemon

_LINK = re.compile(r"(?<!!)\[\[([^\[\]|#\n]+)(?:#[^\[\]|\n]*)?(?:\|([^\[\]\n]+))?\]\]")
DEPTHS = (1, 5, 10, 20)


@dataclass(frozen=True)
class Taken:
    """A link that was taken away: the note it stood in, what it led to, and whether that is a name of the target."""

    path: str
    target: str
    named: bool


def take(vault: Path, count: int, rng: random.Random) -> list[Taken]:
    """Replace links of `count` notes of the copy at `vault` by what they show."""
    files = sorted(p for p in vault.rglob("*.md") if not any(x.startswith(".") for x in p.relative_to(vault).parts))
    by_name: dict[str, list[Path]] = {}
    for file in files:
        by_name.setdefault(file.stem.lower(), []).append(file)
    rng.shuffle(files)
    taken: list[Taken] = []
    for file in files:
        if len(taken) == count:
            break
        text = file.read_text("utf-8", "surrogateescape")
        head = text.find("\n---", 3) if text.startswith("---") else 0
        found = [m for m in _LINK.finditer(text, max(head, 0)) if _target(m, by_name) not in (None, file)]
        if not found:
            continue
        target = _target(rng.choice(found), by_name)
        assert target is not None
        gone = [m for m in _LINK.finditer(text) if _target(m, by_name) == target]
        shown = [_shown(m) for m in gone]
        for m in reversed(gone):
            text = text[: m.start()] + _shown(m) + text[m.end() :]
        file.write_text(text, "utf-8", "surrogateescape")
        named = any(s.lower() == target.stem.lower() for s in shown)
        taken.append(Taken(file.relative_to(vault).as_posix(), target.relative_to(vault).as_posix(), named))
    return taken


def _target(match: re.Match[str], by_name: dict[str, list[Path]]) -> Path | None:
    files = by_name.get(match[1].strip().rpartition("/")[2].lower().removesuffix(".md"), [])
    return files[0] if len(files) == 1 else None


def _shown(match: re.Match[str]) -> str:
    return (match[2] or match[1].strip().rpartition("/")[2]).rstrip("\\")


def ask(connection: Connection, path: str, limit: int = 20) -> Any:
    """The suggestions for a note."""
    return connection.call("GET", f"/notes/{quote(path, safe='')}/suggestions?limit={limit}")


def report(daemon: Daemon, taken: list[Taken], samples: int, rng: random.Random) -> None:
    """Print recall, CPU time a call, and the suggestions to judge."""
    connection = daemon.connection()
    ask(connection, taken[0].path)  # the table of names is made at the first call
    before = daemon.cpu_s()
    ranks: list[tuple[Taken, int]] = []
    for one in taken:
        links = [link for link in ask(connection, one.path)["links"] if link["kind"] in ("mention", "near")]
        paths = [link["note"]["path"] for link in links]
        ranks.append((one, paths.index(one.target) + 1 if one.target in paths else 0))
    spent = (daemon.cpu_s() - before) / len(taken) * 1000
    for label, rows in (("all", ranks), ("shown by its name", [row for row in ranks if row[0].named])):
        recalls = "\t".join(f"R@{k} {sum(0 < rank <= k for _, rank in rows) / max(len(rows), 1):.3f}" for k in DEPTHS)
        print(f"{label}\t{len(rows)} links\t{recalls}")
    print(f"CPU a call\t{spent:.1f} ms")
    touched = {one.path for one in taken}
    notes: list[str] = []
    cursor = ""
    while True:
        page = connection.call("GET", f"/notes?limit=500{cursor}")
        notes += [note["path"] for note in page["notes"] if note["path"] not in touched]
        if page["next"] is None:
            break
        cursor = f"&cursor={quote(page['next'], safe='')}"
    rng.shuffle(notes)
    shown = 0
    for path in notes:
        links = ask(connection, path)["links"][:5]
        if links and shown < samples:
            one = rng.choice(links)
            shown += 1
            print(f"{shown}\t{one['confidence']:.2f}\t{one['kind']}\t{path}\t-> {one['note']['path']}")
            print(f"\t\t{one['text'][:60]!r}: {one['reason']}")
            print(f"\t\t{one['evidence'][:150]}")
        if shown == samples:
            break


def main() -> int:
    """Measure one vault."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("vault", type=Path)
    parser.add_argument("--links", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--samples", type=int, default=40)
    parser.add_argument("--offline", action="store_true", help="without a model: no near notes")
    parser.add_argument("--keep", type=Path, help="a folder for the copy and the database, used again if it is there")
    args = parser.parse_args()
    folder = args.keep or Path(tempfile.mkdtemp())
    folder.mkdir(parents=True, exist_ok=True)
    copy, rng = folder / "vault", random.Random(args.seed)
    if copy.exists():
        shutil.rmtree(copy)
    shutil.copytree(args.vault, copy, ignore=shutil.ignore_patterns(".git"))
    taken = take(copy, args.links, rng)
    if args.offline:
        os.environ["MINDNET_MODEL_CACHE"] = str(folder / "models")  # not even the one that is here
    with Daemon(copy, folder, *(["--offline"] if args.offline else [])) as daemon:
        daemon.wait_ready(vectors=not args.offline)
        report(daemon, taken, args.samples, rng)
    if args.keep is None:
        shutil.rmtree(folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
