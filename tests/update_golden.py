"""The golden chunks: what they are made of, and the only way to change them.

``python tests/update_golden.py --reason "why the cuts change"`` rewrites ``golden/chunks_*.json`` with the reason in
them. Texts are kept as hashes: the files say what was cut where, not what was written.
"""

from __future__ import annotations

import argparse
import json
import os
import random
from pathlib import Path
from typing import Any

from chunking_samples import bullets, counter, long_note, paragraph

from mindnetd.core.chunk import chunk_note
from mindnetd.core.identity import sha256_text
from mindnetd.core.note import read_note
from mindnetd.core.notetypes import PROFILES
from mindnetd.core.records import ParsedNote
from mindnetd.core.typetable import DEFAULT_TYPES

GOLDEN = Path(__file__).parent / "golden"
SHARED = Path(os.environ.get("MINDNET_SHARED", Path(__file__).resolve().parent.parent.parent / "shared"))
SETS = ("basic", "basic_classic", "own", "own_classic")


def notes_of(name: str, shared: Path) -> dict[str, bytes]:
    """The notes of a golden set: the shared vault, or texts made here from a seed."""
    if name.startswith("basic"):
        root = shared / "vaults" / "basic"
        return {
            path.relative_to(root).as_posix(): path.read_bytes()
            for path in sorted(root.rglob("*.md"))
            if not any(part.startswith(".") for part in path.relative_to(root).parts)
        }
    return {path: text.encode() for path, text in _own_texts().items()}


def _own_texts() -> dict[str, str]:
    rng = random.Random(2032)
    code = "```c\n" + "\n".join(f"int zone_{n} = read_zone({n});  /* line {n} */" for n in range(120)) + "\n```"
    table = "| stone | minutes |\n|---|---|\n" + "\n".join(f"| [[Stone {n}]] | {n * 7 % 60} |" for n in range(90))
    return {
        "sections.md": "---\ntype: concept\n---\n" + "\n\n".join(long_note(rng, 5000, headings=5, lists=0.2)),
        "plain.md": "---\ntype: task\n---\n\n" + "\n\n".join(long_note(rng, 3000)),
        "project.md": "---\ntype: project\n---\n# Project\n\n" + "\n\n".join(long_note(rng, 6000, headings=9)),
        "blocks.md": "\n\n".join(
            ("# Blocks", code, "## Table", table, "## List", bullets(rng), "> " + paragraph(rng, 900))
        ),
        "one paragraph.md": paragraph(rng, 4000),
    }


def golden(name: str, shared: Path) -> dict[str, list[dict[str, Any]]]:
    """Every chunk of every note of a set."""
    return {path: _chunks(read_note(path, data), name) for path, data in notes_of(name, shared).items()}


def _chunks(note: ParsedNote, name: str) -> list[dict[str, Any]]:
    profile = PROFILES["classic"] if name.endswith("classic") else DEFAULT_TYPES.profile_of(note)
    return [
        {
            "profile": chunk.profile,
            "section": list(chunk.section),
            "offsets": [chunk.start, chunk.end],
            "lines": [chunk.start_line, chunk.end_line],
            "tokens": chunk.tokens,
            "overlap": [len(chunk.overlap_left), len(chunk.overlap_right)],
            "text_hash": sha256_text(chunk.text)[:16],
            "passages": [[one.start, one.end, one.tokens, one.text_hash[:16]] for one in chunk.passages],
        }
        for chunk in chunk_note(note, profile, counter()).chunks
    ]


def load(name: str) -> dict[str, Any]:
    """The golden file of a set."""
    found: dict[str, Any] = json.loads((GOLDEN / f"chunks_{name}.json").read_text(encoding="utf-8"))
    return found


def main() -> None:
    """Rewrite every golden file whose chunks changed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--reason", required=True, help="why the cuts change; goes into the files")
    reason = parser.parse_args().reason.strip()
    if not reason:
        parser.error("a reason is needed")
    for name in SETS:
        notes = golden(name, SHARED)
        if (GOLDEN / f"chunks_{name}.json").exists() and load(name)["notes"] == notes:
            continue
        _write(name, {"reason": reason, "chunks": sum(map(len, notes.values())), "notes": notes})


def _write(name: str, found: dict[str, Any]) -> None:
    """One line a chunk, so that a changed cut is a changed line."""
    notes = [
        f" {json.dumps(path, ensure_ascii=False)}: [\n"
        + ",\n".join(f"  {json.dumps(chunk, ensure_ascii=False)}" for chunk in chunks)
        + "\n ]"
        for path, chunks in found["notes"].items()
    ]
    head = f'"reason": {json.dumps(found["reason"], ensure_ascii=False)},\n"chunks": {found["chunks"]},\n"notes": {{\n'
    text = "{\n" + head + ",\n".join(notes) + "\n}}\n"
    (GOLDEN / f"chunks_{name}.json").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
