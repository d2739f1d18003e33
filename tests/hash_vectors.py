"""Makes ``golden/hash_vectors.json``: ``python tests/hash_vectors.py``. The cases are here, the answers there."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

from mindnetd.core.note import ReadOptions, read_note

FILE = Path(__file__).parent / "golden" / "hash_vectors.json"

CASES: dict[str, bytes] = {
    "empty": b"",
    "plain": b"# Title\n\nText.\n",
    "the same with CRLF, trailing blanks and blank lines at the end": b"# Title   \r\n\r\nText.\t \r\n\r\n \r\n",
    "the same with an untidy heading": b"#   Title   ###\n\nText.",
    "the same behind a BOM": b"\xef\xbb\xbf# Title\n\nText.\n",
    "another line break is another body": b"# Title\n\n\nText.\n",
    "NFC": "\u00dcbung\n".encode(),
    "NFD": "U\u0308bung\n".encode(),
    "code keeps trailing blanks and its marks": b"```\na  \n## not a heading ##\n```\n",
    "the same without the blanks": b"```\na\n## not a heading ##\n```\n",
    "frontmatter": b"---\ntitle: A\ntags: [x, y]\nnested:\n  b: 2\n  a: 1\n---\nBody\n",
    "the same with other order, quotes and a comment": (
        b'---\nnested: {a: 1, b: 2}\n# c\ntags:\n  - x\n  - "y"\ntitle: "A"\n---\nBody\n'
    ),
    "list order counts": b"---\ntitle: A\ntags: [y, x]\nnested: {a: 1, b: 2}\n---\nBody\n",
    "scalars stay text": b"---\nd: 2024-05-01\nb: yes\nn: 0123\ne:\n---\n",
    "no frontmatter and an empty block are the same": b"---\n---\nBody\n",
    "no frontmatter": b"Body\n",
    "not UTF-8": b"caf\xe9\n",
}


def vectors() -> list[dict[str, Any]]:
    """Every case with its canonical body and its hashes under each setting."""
    return [_vector(name, data) for name, data in CASES.items()]


def _vector(name: str, data: bytes) -> dict[str, Any]:
    note = read_note("note.md", data)
    hashes: dict[str, dict[str, str]] = {}
    for source in ("parsed", "raw"):
        for normalize in ("canonical", "none"):
            got = read_note("note.md", data, ReadOptions(normalize=normalize, hash_source=source))  # type: ignore[arg-type]
            hashes[f"{source}/{normalize}"] = {
                "body": got.body_hash, "frontmatter": got.frontmatter_hash, "full": got.full_hash,
            }  # fmt: skip
    return {
        "name": name,
        "file_base64": base64.b64encode(data).decode(),
        "canonical_body": note.body,
        "hashes": hashes,
    }


if __name__ == "__main__":
    FILE.parent.mkdir(exist_ok=True)
    FILE.write_text(json.dumps(vectors(), indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
