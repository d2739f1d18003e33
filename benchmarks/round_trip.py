"""The way back out and in again: is anything lost?

    python -m benchmarks.round_trip VAULT [--keep DIR]

The real daemon on VAULT (read only, without a model), `mindnet export`, the daemon on what was exported, and an export
of that. Exit 1 on any difference in

- the notes: bytes and times of the vault, the first export and the second;
- the databases: notes, chunks, passages and words of the original and of the bare export;
- once the files that are no notes are put back beside the exported notes: every table, and the manifests.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from benchmarks.harness import Daemon
from mindnetd.client.main import main as mindnet
from mindnetd.export import MANIFEST
from mindnetd.store.db import open_database
from mindnetd.store.dump import Dump, differences, dump
from mindnetd.store.read_hot import load_files
from mindnetd.watching.vaultio import disk_name

OF_NOTES = ("notes", "chunks", "passages", "postings", "lengths", "embeddings")
"""Tables that say nothing of other files."""
OF_DATABASE = ("vault", "revision")
"""What in a manifest belongs to the database it came from, and not to the notes."""


@dataclass(frozen=True)
class Indexed:
    """A vault that was indexed and exported: its logical dump, and where the export is."""

    dump: Dump
    export: Path
    others: tuple[str, ...]
    """Files of the vault that are no notes."""


Index = Callable[[Path, Path], Indexed]
"""(vault, folder to work in) -> what came of it."""


def index_and_export(vault: Path, folder: Path) -> Indexed:
    """By the real daemon and the real client."""
    folder.mkdir(parents=True)
    os.environ["MINDNET_MODEL_CACHE"] = str(folder / "models")
    export = folder / "export"
    with Daemon(vault, folder, "--offline") as daemon:
        daemon.wait_ready()
        code = mindnet(["--socket", str(daemon.socket), "export", str(export)])
    if code:
        raise SystemExit(code)
    return read_back(daemon.db, export)


def read_back(path: Path, export: Path) -> Indexed:
    """What a closed database says."""
    db = open_database(path, memory_limit="512MB", threads=2, allowed_dir=path.parent / "spare")
    try:
        others = tuple(sorted(file.path for file in load_files(db).values() if file.kind != "note"))
        return Indexed(dump(db), export, others)
    finally:
        db.close()


def round_trip(vault: Path, folder: Path, index: Index, say: Callable[[str], None] = print) -> list[str]:
    """Everything that differs, as lines; empty where nothing is lost."""
    first = index(vault, folder / "1")
    second = index(first.export, folder / "2")
    found = list(_files(first.export, vault, "vault")) + list(_files(first.export, second.export, "second export"))
    notes = len(first.dump["notes"])
    say(f"{notes} notes: bytes and times of the vault, its export, and the export of that")
    found += differences(_only(first.dump, OF_NOTES), _only(second.dump, OF_NOTES))
    rows = sum(len(first.dump[name]) for name in OF_NOTES)
    say(f"{rows} rows of {', '.join(OF_NOTES)}: the original and the index of its export")
    whole = folder / "whole"
    shutil.copytree(first.export, whole)
    _put_back(vault, whole, first.others)
    third = index(whole, folder / "3")
    found += differences(first.dump, third.dump)
    say(f"{sum(map(len, first.dump.values()))} rows of all tables, with {len(first.others)} other files put back")
    found += _manifests(first.export, third.export)
    say(f"{_manifest(first.export)['counts']} of both manifests")
    return found


def _only(found: Dump, names: tuple[str, ...]) -> Dump:
    return {name: found[name] for name in names}


def _files(export: Path, other: Path, name: str) -> Iterator[str]:
    """Where a file of the export is not as in another folder, to the byte and to the nanosecond."""
    for at, _, files in os.walk(os.fsencode(export)):
        for file in files:
            mine = Path(os.fsdecode(at), os.fsdecode(file))
            path = mine.relative_to(export)
            if path.name == MANIFEST:
                continue
            theirs = other / path
            if not theirs.is_file() or theirs.read_bytes() != mine.read_bytes():
                yield f"{path}: not as in the {name}"
            elif theirs.stat().st_mtime_ns != mine.stat().st_mtime_ns:
                yield f"{path}: another time than in the {name}"


def _put_back(vault: Path, target: Path, others: tuple[str, ...]) -> None:
    """The files that an export leaves out, so that links to them lead somewhere; and what Obsidian excludes."""
    for path in (*others, ".obsidian/app.json"):
        name = path if os.path.lexists(vault / path) else disk_name(path)
        if (vault / name).is_file():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(vault / name, target / name)


def _manifest(export: Path) -> dict[str, object]:
    found: dict[str, object] = json.loads((export / MANIFEST).read_text(encoding="utf-8"))
    return {key: value for key, value in found.items() if key not in OF_DATABASE}


def _manifests(one: Path, other: Path) -> list[str]:
    left, right = _manifest(one), _manifest(other)
    return [f"manifests differ in {key!r}" for key in left.keys() | right.keys() if left.get(key) != right.get(key)]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("vault", type=Path)
    parser.add_argument("--keep", type=Path, metavar="DIR", help="work in this new folder and leave it")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as spare:
        found = round_trip(args.vault, args.keep or Path(spare), index_and_export)
    for line in found:
        print(line, file=sys.stderr)
    print("nothing is lost" if not found else f"{len(found)} differences")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
