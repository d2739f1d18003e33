"""``mindnetd compare A B``: are two vault folders the same, note by note? Reads only, and needs no daemon.

Bytes first: equal bytes under an equal path are an equal note. Only where they differ is it said in what: body,
frontmatter, the number of chunks, or nothing that counts (line ends, BOM, comments of the YAML).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

from mindnetd.core.derive import DeriveOptions, Draft, derive
from mindnetd.core.exclude import Classifier
from mindnetd.core.records import FileKind
from mindnetd.core.tokens import TokenCounter
from mindnetd.errors import BadRequest
from mindnetd.index import MAX_NOTE_BYTES
from mindnetd.watching.scan import ScanResult, scan
from mindnetd.watching.vaultio import ReadOutcome, read_stable

What = Literal["missing", "unreadable", "body", "frontmatter", "chunks", "bytes"]


@dataclass(frozen=True, slots=True)
class Difference:
    """One thing that differs: at which path, what it is on either side (None: it is not there)."""

    path: str
    what: What
    a: str | int | None
    b: str | int | None

    def line(self) -> str:
        """For a person: one line without control characters."""
        path = "".join(char if char.isprintable() else "\ufffd" for char in self.path)
        if self.what == "missing":
            return f"{path}: only in {'A' if self.b is None else 'B'}"
        if self.what == "unreadable":
            return f"{path}: cannot be read in {'A' if self.a is None else 'B'}"
        if self.what == "bytes":
            return f"{path}: bytes differ ({_short(self.a)}, {_short(self.b)}), body and frontmatter do not"
        return f"{path}: {self.what} differ{'' if self.what == 'chunks' else 's'}: {_short(self.a)}, {_short(self.b)}"


@dataclass(frozen=True, slots=True)
class Comparison:
    """What was compared (files of each side, and of both together) and everything that differs, by path."""

    a: int
    b: int
    together: int
    differences: tuple[Difference, ...]

    def json(self) -> str:
        """For a program."""
        found = [asdict(one) for one in self.differences]
        return json.dumps({"equal": not found, "files": {"a": self.a, "b": self.b}, "differences": found})


@dataclass(frozen=True)
class Rules:
    """How both folders are read: as one index would read them. ``others``: canvases and attachments too."""

    classifiers: Sequence[Classifier]
    """A file that any of them leaves out is left out on both sides."""
    options: DeriveOptions
    counter: TokenCounter
    others: bool = False


def compare(a: Path, b: Path, rules: Rules) -> Comparison:
    """Compare two folders. A link is read only where it ends inside its own folder, as the index does.

    Raises BadRequest for a folder that is not there, VaultError for one that cannot be read.
    """
    for folder in (a, b):
        if not folder.is_dir():
            raise BadRequest(f"{folder}: no such folder")
    one, other = _paths(a, rules), _paths(b, rules)
    differences = tuple(
        difference
        for path in sorted(one.keys() | other.keys())
        for difference in _compare(path, a if path in one else None, b if path in other else None, rules)
    )
    return Comparison(len(one), len(other), len(one.keys() | other.keys()), differences)


def _paths(folder: Path, rules: Rules) -> dict[str, FileKind]:
    found: ScanResult = scan(folder, rules.classifiers[0])
    if found.unreadable:
        raise BadRequest(f"{folder / found.unreadable[0]}: cannot be read; nothing was compared")
    kinds = ("note", "canvas", "file") if rules.others else ("note",)
    return {
        path: file.kind
        for path, file in found.files.items()
        if all(classifier.kind(path) in kinds for classifier in rules.classifiers)
    }


def _compare(path: str, a: Path | None, b: Path | None, rules: Rules) -> Iterator[Difference]:
    if a is None or b is None:
        yield Difference(path, "missing", None if a is None else "there", None if b is None else "there")
        return
    one, other = (read_stable(folder, path, max_bytes=MAX_NOTE_BYTES) for folder in (a, b))
    if not isinstance(one, ReadOutcome) or not isinstance(other, ReadOutcome):
        readable = (isinstance(one, ReadOutcome), isinstance(other, ReadOutcome))
        yield Difference(path, "unreadable", "there" if readable[0] else None, "there" if readable[1] else None)
    elif one.raw != other.raw:
        yield from _in_what(path, one.raw, other.raw, rules)


def _in_what(path: str, one: bytes, other: bytes, rules: Rules) -> Iterator[Difference]:
    found: list[Difference] = []
    if rules.classifiers[0].kind(path) == "note":
        a, b = (derive(path, raw, rules.options, rules.counter) for raw in (one, other))
        found = list(_parts(path, a, b))
    yield from found or [Difference(path, "bytes", _sha(one), _sha(other))]


def _parts(path: str, a: Draft, b: Draft) -> Iterator[Difference]:
    if a.note.body_hash != b.note.body_hash:
        yield Difference(path, "body", a.note.body_hash, b.note.body_hash)
    if a.note.frontmatter_hash != b.note.frontmatter_hash:
        yield Difference(path, "frontmatter", a.note.frontmatter_hash, b.note.frontmatter_hash)
    counts = len(a.chunked.chunks), len(b.chunked.chunks)
    if counts[0] != counts[1]:
        yield Difference(path, "chunks", *counts)


def _sha(raw: bytes) -> str:
    return hashlib.sha256(raw).hexdigest()


def _short(value: str | int | None) -> str:
    return str(value)[:12]
