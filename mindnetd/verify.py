"""``POST /admin/verify``: is everything that is served what the vault says now?

Three comparisons: the vault's bytes, derived anew, against the stored rows; the tables against each other; the resident
index against the file. A note that is saved meanwhile is looked at again, so a busy vault is no difference.
"""

from __future__ import annotations

import hashlib
import threading
from typing import TYPE_CHECKING, Any

from mindnetd.core.derive import derive
from mindnetd.core.records import NoteMeta
from mindnetd.errors import MindnetError
from mindnetd.index import MAX_NOTE_BYTES
from mindnetd.jobs import JobBook
from mindnetd.lanes.compare import contents
from mindnetd.lanes.hot import HotIndex
from mindnetd.store import read
from mindnetd.store.integrity import integrity
from mindnetd.watching.scan import scan
from mindnetd.watching.vaultio import ReadOutcome, read_stable
from mindnetd.writing.known import load_hot_index

if TYPE_CHECKING:
    from mindnetd.engine import Engine

MOST_DIFFERENCES = 1000


class Verifier(threading.Thread):
    """One verification on a thread of its own; reports to a job. It only reads."""

    def __init__(self, engine: Engine, jobs: JobBook, job: str, hashes: bool) -> None:
        super().__init__(name="mindnetd-verify", daemon=True)
        self._engine, self._jobs, self._job, self._hashes = engine, jobs, job, hashes
        self._differences: list[str] = []
        self._listed: list[dict[str, Any]] = []

    def run(self) -> None:
        """All comparisons; the job ends with ``ok``, ``notes``, ``differences`` and, if asked for, ``hashes``."""
        try:
            self._vault_against_rows()
            self._differences += integrity(self._engine.db)
            self._resident_against_file()
        except MindnetError as error:
            self._jobs.fail(self._job, error.message)
            return
        result: dict[str, Any] = {
            "ok": not self._differences,
            "notes": len(self._engine.indexer.known.notes),
            "differences": self._differences[:MOST_DIFFERENCES],
        }
        if self._hashes:
            result["hashes"] = self._listed
        self._jobs.finish(self._job, result)

    def _vault_against_rows(self) -> None:
        engine = self._engine
        found = scan(engine.config.vault, engine.indexer.classifier)
        paths = sorted(path for path, file in found.files.items() if file.kind == "note")
        for place, path in enumerate(paths):
            self._jobs.progress(self._job, place, len(paths))
            self._note(path)
        for path, file in sorted(found.files.items()):
            if file.kind == "canvas":
                self._canvas(path)
        for path in sorted(set(dict(engine.indexer.known.notes)) - set(paths)):
            if isinstance(self._read(path), ReadOutcome) or path in engine.indexer.known.notes:
                self._differences.append(f"{path}: indexed, but not in the vault")

    def _note(self, path: str) -> None:
        """A difference counts if it is there twice with the same bytes: in between the note may be on its way in."""
        for _ in range(2):
            outcome, meta = self._read(path), self._engine.indexer.known.notes.get(path)
            if not isinstance(outcome, ReadOutcome):
                return
            if meta is not None and meta.raw_hash == hashlib.sha256(outcome.raw).hexdigest():
                self._derived(outcome.raw, meta)
                return
        self._differences.append(f"{path}: {'not indexed' if meta is None else 'the stored bytes are older'}")

    def _canvas(self, path: str) -> None:
        for _ in range(2):
            outcome, known = self._read(path), self._engine.indexer.known.canvases.get(path)
            if not isinstance(outcome, ReadOutcome):
                return
            if known is not None and known.raw_hash == hashlib.sha256(outcome.raw).hexdigest():
                return
        self._differences.append(f"{path}: the canvas as it is now is not indexed")

    def _derived(self, raw: bytes, meta: NoteMeta) -> None:
        draft = derive(meta.path, raw, self._engine.indexer.options, self._engine.counter)
        note = draft.note
        if self._hashes:
            self._listed.append(
                {
                    "path": meta.path,
                    "body": note.body_hash,
                    "frontmatter": note.frontmatter_hash,
                    "full": note.full_hash,
                }
            )
        stored = (meta.body_hash, meta.frontmatter_hash, meta.full_hash)
        if stored != (note.body_hash, note.frontmatter_hash, note.full_hash):
            self._differences.append(f"{meta.path}: stored hashes differ from the note's")
        if meta.stale:
            return
        hashes = sorted(passage.text_hash for passage in draft.passages())
        kept = sorted(text_hash for _, _, text_hash in read.passage_hashes(self._engine.db, [meta.key])[meta.key])
        body = read.indexed_body(self._engine.db, meta.key)
        if (hashes != kept or body != note.body) and self._engine.indexer.known.notes.get(meta.path) is meta:
            self._differences.append(f"{meta.path}: stored chunks differ from the note's")

    def _resident_against_file(self) -> None:
        """Load a second resident index from the file and compare; again if a commit came in between."""
        embedder = self._engine.model.embedder
        for _ in range(5):
            fingerprint, dim = (embedder.fingerprint, embedder.dim) if embedder else ("", 384)
            columns = read.load_hot(self._engine.db, fingerprint, dim)
            snapshot = self._engine.hot.snapshot()
            if snapshot.revision != columns.revision:
                continue
            fresh = HotIndex()
            load_hot_index(fresh, columns)
            self._differences += differences(snapshot, fresh.snapshot())
            return

    def _read(self, path: str) -> object:
        return read_stable(self._engine.config.vault, path, max_bytes=MAX_NOTE_BYTES)


def differences(one: Any, other: Any) -> list[str]:
    """How two snapshots of the resident index differ, in words; empty if they hold the same."""
    found = []
    mine = {note.key: note for note in one.notes if note is not None}
    theirs = {note.key: note for note in other.notes if note is not None}
    if mine != theirs:
        found.append("the resident notes differ from the file's")
    held, stored = contents(one), contents(other)
    if held != stored:
        wrong = sorted(key for key in held.keys() | stored.keys() if held.get(key) != stored.get(key))
        found.append(f"{len(wrong)} resident documents differ from the file's, the first has key {wrong[0]}")
    if one.edges.held() != other.edges.held():
        found.append("the resident edges differ from the file's")
    return found
