"""The road of a note, top to bottom: from dirty paths to one committed revision.

    read > derive > names > links and rows > commit > publish

All of it runs on the writer thread (``writing/writer.py``), or alone in ``mindnetd index``. `Indexer.index` is the
road; each step is a method below it, in the order of the data. Vectors come later, by `Indexer.store_vectors`.
"""

from __future__ import annotations

import dataclasses
import hashlib
import logging
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from mindnetd.core.dating import utc_text
from mindnetd.core.derive import DeriveOptions, derive
from mindnetd.core.records import Diagnostic, FileKind, FileStat, NoteMeta, VaultFile
from mindnetd.core.tokens import TokenCounter
from mindnetd.events import Event, EventBus
from mindnetd.inference.embedder import Embedder
from mindnetd.lanes.entity_index import EntityIndex
from mindnetd.lanes.hot import HotDelta, HotIndex
from mindnetd.metrics import Metrics
from mindnetd.store import read, write
from mindnetd.store.db import Database
from mindnetd.store.records import Batch, CanvasRows, NoteRows, PathDiagnostics, RelinkRows
from mindnetd.store.records import Vectors as VectorRows
from mindnetd.telemetry import event
from mindnetd.watching.scan import Classifier
from mindnetd.watching.vaultio import Gone, ReadOutcome, RootId, Unreadable, Unstable, look, read_stable, root_is_empty
from mindnetd.writing.ahead import Ahead, Result
from mindnetd.writing.backlog import Awaited, EmbedQueue, Vectors
from mindnetd.writing.known import Known
from mindnetd.writing.mentions import follow
from mindnetd.writing.plan import Plan
from mindnetd.writing.rows import RowMaker, hot_delta
from mindnetd.writing.runs import Run
from mindnetd.writing.twins import left_out, why_left_out

log = logging.getLogger(__name__)

MAX_NOTE_BYTES = 256 * 1024 * 1024

NEVER_READ = FileStat(0, 0, 0, 0)
"""The stamp of a file that could not be read yet: no scan takes it for unchanged."""


@dataclass(frozen=True)
class IndexParts:
    """What the road leads through; made by the composition root. ``model()`` None: no model yet."""

    vault: Path
    db: Database
    hot: HotIndex
    queue: EmbedQueue
    counter: TokenCounter
    events: EventBus
    metrics: Metrics
    root_id: Callable[[], RootId | None]
    model: Callable[[], Embedder | None]
    entities: EntityIndex = dataclasses.field(default_factory=EntityIndex)


class Indexer:
    """Turns paths into commits. One instance, one thread."""

    def __init__(self, parts: IndexParts, classifier: Classifier, options: DeriveOptions) -> None:
        self._parts = parts
        self.classifier = classifier
        self.known = Known()
        self._rows = RowMaker(self.known, parts.db, options, parts.entities)
        self.may_derive_ahead = True
        """Whether a child may derive a part of bulk work; False once none could be started."""
        self.excluded = False
        """Something that was indexed is excluded now: its text must leave the file (`store.upkeep.purge`)."""
        self._awaited = Awaited()

    @property
    def options(self) -> DeriveOptions:
        """What decides what a note becomes; set it on the writer thread, then index every note with `force`."""
        return self._rows.options

    @options.setter
    def options(self, options: DeriveOptions) -> None:
        self._rows.options = options

    # ------------------------------------------------------------------------------------------------------- the road

    def index(self, paths: Sequence[str], run: Run, *, force: bool = False) -> list[str]:
        """Bring these paths up to date in one transaction; returns those to be looked at again.

        These were changing while they were read, or are other names of a file that has changed.
        `force` re-does notes whose bytes are as stored. Raises StoreError if the commit fails: then nothing happened.
        """
        plan, before = Plan(run, force), self.known.stamps(paths)
        self.prepare(plan, paths)
        return [*self.finish(plan), *self.known.other_names(before)]

    def prepare(self, plan: Plan, paths: Iterable[str]) -> None:
        """The first half of the road: read and derive. Changes nothing, so a plan may grow bit by bit."""
        for path in paths:
            self._read(path, plan)

    def derive_ahead(self) -> Ahead | None:
        """Start a child that derives a part of bulk work; None where no process can be started."""
        try:
            return Ahead(self._parts.vault, self.options, MAX_NOTE_BYTES)
        except OSError as error:
            event(log, "no deriving ahead", logging.WARNING, reason=str(error))
            self.may_derive_ahead = False
            return None

    def prepare_derived(self, plan: Plan, result: Result) -> None:
        """`prepare` for one note that a child may have derived already."""
        self._read(result.path, plan, result)

    def finish(self, plan: Plan) -> list[str]:
        """The second half: names, links, rows, one commit, publish."""
        self._hold_back(plan)
        for file in left_out(plan, self.known, self.classifier):
            self._plain_file(file, plan)
        plan.heal(self.known.troubled)
        self._name(plan)
        notes = tuple(self._rows.note(draft, file.stat.mtime_ns, plan.run, plan.force) for draft, file in plan.drafts)
        canvases = tuple(self._rows.canvas(path, raw, plan.run) for path, raw, _ in plan.canvases)
        relinked = self._relink(plan, {rows.meta.key for rows in notes} | {rows.key for rows in canvases})
        self._commit(plan, notes, canvases, relinked)
        return plan.unstable

    def register(self, files: Iterable[VaultFile], run: Run) -> None:
        """Learn the names of files before any of them is read, so that links between new notes resolve at once.

        Files that are never read (attachments, excluded notes, conflict copies) are done with this.
        """
        plan = Plan(run)
        for file in files:
            if file.kind in ("note", "canvas"):
                plan.touched |= self.known.book.add_file(file.path)
            else:
                self._plain_file(file, plan)
        plan.touched |= self.known.take_doubtful()
        self._name(plan)
        self._commit(plan, (), (), self._relink(plan, set()))

    def resolve(self, paths: Sequence[str], run: Run) -> None:
        """Answer the links of these notes and canvases again; what is as it was stays untouched."""
        plan = Plan(run)
        plan.touched = {key for path in paths if (key := self.known.key(path)) is not None}
        self._commit(plan, (), (), self._relink(plan, set()))

    def pending(self, files: Iterable[VaultFile]) -> list[VaultFile]:
        """Those of `files` that have to be read."""
        return [file for file in files if file.kind in ("note", "canvas")]

    # ---------------------------------------------------------------------------------------------- 1, 2: read, derive

    def _read(self, path: str, plan: Plan, ahead: Result | None = None) -> None:
        """The bytes of one path, and what they say."""
        kind = self.classifier.kind(path)
        if kind is None:
            self.excluded = self.excluded or self.known.key(path) is not None
            plan.gone.append(path)
            return
        plan.run.seen += 1
        if kind not in ("note", "canvas"):
            self._look_at(path, kind, plan)
            return
        outcome = read_stable(self._parts.vault, path, max_bytes=MAX_NOTE_BYTES, root_id=self._parts.root_id())
        if isinstance(outcome, Gone):
            plan.gone.append(path)
        elif isinstance(outcome, Unstable):
            plan.unstable.append(path)
        elif isinstance(outcome, Unreadable):
            self._unreadable(VaultFile(path, kind, NEVER_READ), outcome, plan)
        elif kind == "note":
            self._read_note(path, outcome, plan, ahead)
        else:
            self._read_canvas(path, outcome, plan)

    def _look_at(self, path: str, kind: FileKind, plan: Plan) -> None:
        """A file whose bytes do not matter: is it there?"""
        seen = look(self._parts.vault, path, root_id=self._parts.root_id())
        if seen.stat is not None:
            self._plain_file(VaultFile(path, kind, seen.stat), plan)
        elif seen.error is None:
            plan.gone.append(path)

    def _read_note(self, path: str, outcome: ReadOutcome, plan: Plan, ahead: Result | None) -> None:
        known, file = self.known.notes.get(path), VaultFile(path, "note", outcome.stat)
        raw_hash = hashlib.sha256(outcome.raw).hexdigest()
        if known is not None and not plan.force and known.raw_hash == raw_hash:
            dated_by_mtime = known.modified == utc_text(known.mtime_ns)
            if known.mtime_ns == outcome.stat.mtime_ns or not dated_by_mtime:
                plan.files.append(file)
                return
        draft = ahead.of(outcome.raw, raw_hash) if ahead is not None else None
        if draft is not None:
            plan.drafts.append((draft, file))
            return
        try:
            draft = derive(path, outcome.raw, self.options, self._parts.counter)
        except Exception as error:  # noqa: BLE001 - a mistake of ours must cost this note only, and must be seen (law 12)
            event(log, "note cannot be derived", logging.ERROR, path=path, error=repr(error))
            plan.run.error(f"{path}: {error!r}")
            message = f"mindnetd made a mistake with this note ({type(error).__name__}); please report it"
            plan.troubles.append(PathDiagnostics(path, (Diagnostic("internal", message),)))
            plan.files.append(file)
            return
        plan.drafts.append((draft, file))

    def _read_canvas(self, path: str, outcome: ReadOutcome, plan: Plan) -> None:
        known, file = self.known.canvases.get(path), VaultFile(path, "canvas", outcome.stat)
        if known is not None and not plan.force and known.raw_hash == hashlib.sha256(outcome.raw).hexdigest():
            plan.files.append(file)
        else:
            plan.canvases.append((path, outcome.raw, file))

    def _plain_file(self, file: VaultFile, plan: Plan) -> None:
        """An attachment, an excluded note, a conflict copy: a name that links may mean, and no more."""
        plan.files.append(file)
        key = self.known.key(file.path)
        if key is not None:
            self.excluded = True
            plan.removed.add(key)
        if file.kind == "conflict":
            plan.troubles.append(PathDiagnostics(file.path, (why_left_out(file.path, self.classifier),)))

    def _unreadable(self, file: VaultFile, why: Unreadable, plan: Plan) -> None:
        """Keep what is known of the file, and say so. A lost vault is not the file's trouble."""
        plan.run.error(why.message)
        path = file.path
        if why.code != "vault":
            if path not in self.known.files:  # it is there: links may mean it
                plan.files.append(file)
            message = f"{why.message}; what was indexed before is still served"
            plan.troubles.append(PathDiagnostics(path, (Diagnostic("unreadable", message),)))

    def _hold_back(self, plan: Plan) -> None:
        """A root that is empty now is a vault that is not there, whatever single paths seem to say (the scan tells)."""
        if plan.gone and len(self.known.files) > 1 and self._root_lost():
            plan.run.error(f"vault {self._parts.vault}: empty now; nothing is deleted")
            plan.gone.clear()

    def _root_lost(self) -> bool:
        try:
            return root_is_empty(self._parts.vault)
        except OSError:
            return True

    # -------------------------------------------------------------------------------------------------------- 3: names

    def _name(self, plan: Plan) -> None:
        """Which names the vault has now, and whose links that touches."""
        book = self.known.book
        for path in plan.gone:
            plan.touched |= book.remove_file(path)
            if (key := self.known.key(path)) is not None:
                plan.removed.add(key)
            elif path in self.known.files:
                plan.troubles.append(PathDiagnostics(path, ()))
        plan.run.changed += len(plan.removed)
        seen = (*(file for _, file in plan.drafts), *(file for _, _, file in plan.canvases), *plan.files)
        for file in seen:
            plan.touched |= book.add_file(file.path)
        for draft, _ in plan.drafts:
            plan.touched |= book.set_id(draft.path, draft.note.note_id)
        for key in plan.removed:
            plan.touched |= book.set_id(self.known.path(key), None)
            book.forget(key)

    # ----------------------------------------------------------------------------------------------- 4: links and rows
    # The rows of the notes and canvases themselves are made in ``writing/rows.py``.

    def _relink(self, plan: Plan, own: set[int]) -> tuple[RelinkRows, ...]:
        """The others: sources whose links mean another file now, though their bytes are as before."""
        keys = sorted(plan.touched - own - plan.removed)
        stored = read.load_links(self._parts.db, keys) if keys else {}
        out = []
        for key in keys:
            path, before = self.known.path(key), stored.get(key, ())
            now = self.known.book.resolve([answer.link for answer in before], path)
            if now != before:
                out.append(self._rows.relinked(key, path, now, plan.run))
        return tuple(out)

    # ------------------------------------------------------------------------------------------------------- 5: commit

    def _commit(
        self,
        plan: Plan,
        notes: tuple[NoteRows, ...],
        canvases: tuple[CanvasRows, ...],
        relinked: tuple[RelinkRows, ...],
    ) -> None:
        """One transaction, unless there is nothing to say."""
        files = (*(file for _, file in plan.drafts), *(file for _, _, file in plan.canvases), *plan.files)
        batch = Batch(
            files_upsert=tuple(file for file in files if self.known.files.get(file.path) != file),
            files_removed=tuple(path for path in plan.gone if path in self.known.files),
            notes=notes,
            canvases=canvases,
            removed=tuple(sorted(plan.removed)),
            relinked=relinked,
            path_diagnostics=tuple(plan.troubles),
        )
        if batch == Batch(at=batch.at):
            return
        texts = {rows.meta.key: draft.texts for rows, (draft, _) in zip(notes, plan.drafts, strict=True)}
        missing, remembered = self._look_up(texts, plan.run)
        self._write(batch, plan.run)
        self._publish(batch, remembered)
        self._enqueue(batch, texts, missing)

    def _write(self, batch: Batch, run: Run | None) -> None:
        if run is not None:
            batch = dataclasses.replace(batch, run=run.row())
        write.commit(self._parts.db, batch)
        if run is not None:
            run.stored = run.ended is not None

    def _look_up(self, texts: dict[int, dict[bytes, str]], run: Run) -> tuple[set[bytes], VectorRows | None]:
        """Which passages have no vector, and the vectors that only the file remembers (of a text that came back)."""
        wanted = {digest for passages in texts.values() for digest in passages}
        missing = set(self._parts.hot.missing(wanted))
        model = self._parts.model()
        remembered = None
        if missing and model is not None:
            asked = [digest.hex() for digest in missing]
            remembered = read.load_vectors(self._parts.db, asked, model.fingerprint, model.dim)
        if remembered is not None:
            missing -= {bytes.fromhex(text_hash) for text_hash in remembered.hashes}
        reused = len(wanted) - len(missing)
        run.reused += reused
        self._parts.metrics.embeddings_reused.inc(reused)
        return missing, remembered

    # ------------------------------------------------------------------------------------------------------ 6: publish

    def _publish(self, batch: Batch, remembered: VectorRows | None) -> None:
        """The resident index and all who listen follow the commit."""
        gone = [self.known.notes[path] for path in map(self.known.path, batch.removed) if path in self.known.notes]
        self._parts.hot.apply(hot_delta(batch, self._parts.db.revision, [note.key for note in gone], remembered))
        follow(self._parts.entities, self._parts.db.revision, batch)
        self.known.follow(batch)
        self._parts.metrics.notes_indexed.inc(len(batch.notes))
        for note in gone:
            self._tell("note.removed", note)
        for rows in batch.notes:
            self._tell("note.indexed", rows.meta)

    def _enqueue(self, batch: Batch, texts: dict[int, dict[bytes, str]], missing: set[bytes]) -> None:
        for key in batch.removed:
            self._parts.queue.discard(key)
            self._awaited.forget(key)
        for rows in batch.notes:
            if rows.keep_chunks:
                continue
            wanted = {digest: text for digest, text in texts[rows.meta.key].items() if digest in missing}
            self._parts.queue.add(rows.meta.key, rows.meta.mtime_ns, wanted)
            self._awaited.expect(rows.meta.key, wanted)
            if not wanted:
                self._tell("note.embedded", rows.meta)

    def _tell(self, name: str, note: NoteMeta) -> None:
        data = {"id": note.id, "path": note.path, "revision": self._parts.db.revision}
        self._parts.events.publish(Event(name, data, note.visibility, note.flags))

    # --------------------------------------------------------------------------------------------------------- vectors

    def store_vectors(self, vectors: Vectors, run: Run | None) -> None:
        """Phase two: vectors that have been made, in a commit of their own. Another model's are dropped."""
        model = self._parts.model()
        if model is None or vectors.fingerprint != model.fingerprint:
            return
        made = len(vectors.hashes)
        if run is not None:
            run.made += made
        rows = VectorRows(vectors.fingerprint, tuple(digest.hex() for digest in vectors.hashes), vectors.matrix)
        self._write(Batch(vectors=rows), run)
        self._parts.hot.apply(HotDelta(revision=self._parts.db.revision, vectors=(vectors.hashes, vectors.matrix)))
        self._parts.queue.done(set(vectors.hashes))
        self._parts.metrics.embeddings_made.inc(made)
        for key in self._awaited.arrived(vectors.hashes):
            self._tell("note.embedded", self.known.notes[self.known.path(key)])
