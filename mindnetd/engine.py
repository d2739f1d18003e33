"""The indexing half of the daemon, put together: database, resident index, model, road, writer.

`mindnetd index` runs it alone; ``daemon.py`` adds the watcher, the schedule and the socket.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import logging
import time
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from mindnetd.config import Config
from mindnetd.core.derive import DeriveOptions, derive
from mindnetd.core.exclude import Classifier, Rules, compile_rules
from mindnetd.core.note import ReadOptions
from mindnetd.core.records import VISIBILITIES
from mindnetd.core.typetable import TypeTable
from mindnetd.errors import NotFound, StoreError
from mindnetd.events import Event, EventBus
from mindnetd.index import Indexer, IndexParts
from mindnetd.inference import memory
from mindnetd.inference.backends import choose_backend
from mindnetd.inference.embedder import EmbedderOptions
from mindnetd.inference.tokenizer import PinnedCounter
from mindnetd.lanes.entity_index import EntityIndex
from mindnetd.lanes.hot import HotDelta, HotIndex
from mindnetd.metrics import Metrics
from mindnetd.settings.types import types_of
from mindnetd.store import read, upkeep, write
from mindnetd.store.db import Database, move_aside, open_database
from mindnetd.store.records import Batch, ConfigRow, utc_now
from mindnetd.telemetry import event
from mindnetd.watching.vaultio import RootId
from mindnetd.writing.backlog import EmbedQueue, Vectors
from mindnetd.writing.bulk import Bulk
from mindnetd.writing.embedding import ModelHolder
from mindnetd.writing.entity_feed import load_graphs
from mindnetd.writing.known import load_hot_index
from mindnetd.writing.runs import Run, vault_revision
from mindnetd.writing.stages import Stages

log = logging.getLogger(__name__)

REBUILDABLE = ("damaged",)
"""Faults of the file after which it is moved aside and made anew from the vault."""
NOT_NOW = ("memory", "busy")
"""Faults of a compaction that pass by themselves."""
PURGE_AGAIN_S = 60.0
DEFAULT_DIM = 384
COMMITS_BETWEEN_CHECKS = 64
"""After so many commits the file is looked at for compaction, at the next quiet moment."""
SPARE = "spare"
"""Folder beside the database for backups and compaction: the only other place that DuckDB may write to."""


@dataclass(frozen=True)
class Counts:
    """What the resident index holds."""

    notes: int
    chunks: int
    ready: int
    """Passages with a vector."""
    pending: int


class Pace:
    """How fast vectors come: a running mean, so that the time left is told without jumping about."""

    def __init__(self) -> None:
        self._rate = 0.0
        self._at: float | None = None

    def note(self, made: int, now: float) -> None:
        """`made` vectors arrived at monotonic `now`; a pause of a minute starts anew."""
        if self._at is not None and 0 < now - self._at < 60:
            rate = made / (now - self._at)
            self._rate = rate if not self._rate else 0.8 * self._rate + 0.2 * rate
        self._at = now

    def eta_s(self, pending: int) -> float | None:
        """Seconds until `pending` vectors are there; None while that cannot be told."""
        return round(pending / self._rate, 1) if self._rate else None


class Engine:
    """Opens everything and keeps it together. Raises StoreError, VaultError, ConfigError."""

    def __init__(
        self,
        config: Config,
        metrics: Metrics,
        root_id: Callable[[], RootId | None] = lambda: None,
        model: ModelHolder | None = None,
    ) -> None:
        memory.limit_heaps()
        self.config = config
        self.metrics = metrics
        self.events = EventBus()
        self.moved_aside: Path | None = None
        self.root_id = root_id
        self.db = self._open_database()
        self.db.on_commit = metrics.committed
        self.hot = HotIndex()
        self.entities = EntityIndex()
        self.counter = PinnedCounter()
        self.queue = EmbedQueue(self._passage_texts)
        self.model = model or ModelHolder(self._embedder_options(), metrics)
        self.config_hash = config.digest()
        parts = IndexParts(
            vault=config.vault,
            db=self.db,
            hot=self.hot,
            queue=self.queue,
            counter=self.counter,
            events=self.events,
            metrics=metrics,
            root_id=root_id,
            model=lambda: self.model.embedder,
            entities=self.entities,
        )
        self.indexer = Indexer(parts, read_rules(config), derive_options(config, types_of(config)))
        self.stages = Stages(self.indexer, self.db, self._write)
        self.types_trouble: str | None = None
        """Why the types.yaml of now is not in force, with its line; None while it is."""
        self.pace = Pace()
        self._purge_at, self._fat = 0.0, False
        self._checked_at = self._swept_at = self.db.revision

    # ----------------------------------------------------------------------------------------------------------- start

    def load(self) -> None:
        """Open the model if it is on this machine, then load the resident index from the file."""
        self.model.try_open()
        self._load()
        self.stages.check()
        self.keep_config()

    def reload(self) -> None:
        """Load everything anew from the file: after a failed commit, or when a model has come."""
        self.queue.clear()
        self._load()

    def _load(self) -> None:
        embedder = self.model.embedder
        space = (embedder.fingerprint, embedder.dim) if embedder is not None else ("", DEFAULT_DIM)
        columns = read.load_hot(self.db, *space)
        load_hot_index(self.hot, columns)
        self.entities.load(load_graphs(self.db))
        self.indexer.known.load(self.db, columns.notes)
        del columns
        self.slim()
        if embedder is not None:
            self._enqueue_missing()

    def _enqueue_missing(self) -> None:
        """Passages that have no vector by this model wait again; their texts are made when their turn comes."""
        waiting = self.hot.waiting_by_note()
        newest = {note.key: note.mtime_ns for note in self.hot.snapshot().all_notes()} if waiting else {}
        for note, digests in waiting.items():
            self.queue.add(note, newest[note], dict.fromkeys(digests))

    def _passage_texts(self, note_key: int) -> Mapping[bytes, str]:
        """The passages of a stored note, made again from its bytes (of a stale one: from the body that is indexed)."""
        try:
            path, stale, raw = read.stored_note(self.db, note_key)
        except (NotFound, StoreError):  # gone meanwhile, or the file is being reopened: it is queued anew then
            return {}
        if stale:
            raw = self._indexed_bytes(note_key, path, raw)
        return derive(path, raw, self.indexer.options, self.counter).texts

    def _indexed_bytes(self, note_key: int, path: str, raw: bytes) -> bytes:
        """Frontmatter as it is now over the body that the chunks were made of."""
        body_line = derive(path, raw, self.indexer.options, self.counter).note.body_line
        head = raw.decode("utf-8-sig", "replace").splitlines(keepends=True)[: body_line - 1]
        return ("".join(head) + read.indexed_body(self.db, note_key)).encode("utf-8", "surrogatepass")

    def start_embedding(self, deliver: Callable[[Vectors], None]) -> None:
        """Work off the backlog with the model that is open."""
        embedder = self.model.embedder
        if embedder is not None:
            self._remember({"fingerprint": embedder.fingerprint, "backend": self.model.backend})
            self.model.start(self.queue, deliver)

    # ------------------------------------------------------------------------------------------------------------ runs

    def new_run(self, trigger: str) -> Run:
        """A run of this vault in this configuration."""
        repo, commit = (None, None) if trigger == "watch" else vault_revision(self.config.vault)
        return Run(trigger, self.config_hash, repo=repo, commit=commit)

    def end_run(self, run: Run) -> None:
        """The run's last figures go into the file."""
        if not run.stored:
            self._write(Batch(run=run.row()))
            run.stored = True
        self.metrics.run_seconds.observe(run.seconds)
        self.metrics.run_chunks.set(run.chunks)
        self.metrics.run_edges.set(run.edges)
        self.metrics.last_run.set_to_current_time()
        self.events.publish(Event("run.finished", run.summary()))

    def housekeep(self) -> None:
        """After bulk work: a smaller file, less memory."""
        gone = upkeep.bound_garbage(self.db, utc_now())
        if gone:  # the resident index must not hold what the file has lost
            self.hot.forget_vectors(bytes.fromhex(text_hash) for text_hash in gone)
        upkeep.compact_if_needed(self.db)
        self._checked_at = self.db.revision
        self.slim()

    def slim(self) -> None:
        """After work on the whole vault: what database and allocator kept of it goes back to the system."""
        self._fat = not self.db.slim()  # somebody reads: tried again
        memory.give_back()

    def chores(self) -> bool:
        """What is done when there is nothing else to do; True if something was done."""
        if self.indexer.excluded and time.monotonic() >= self._purge_at:
            return self._purge()
        if self.db.revision - self._checked_at > COMMITS_BETWEEN_CHECKS:
            self.housekeep()
            return True
        if self._fat:
            self.slim()
        return self._sweep()

    def _purge(self) -> bool:
        """What is excluded now leaves the file. Where there is no room for that now, it is tried again."""
        try:
            upkeep.purge(self.db, utc_now())
        except StoreError as error:
            if error.code not in NOT_NOW:
                raise
            event(log, "purge put off", logging.WARNING, code=error.code, reason=error.message)
            self._purge_at = time.monotonic() + PURGE_AGAIN_S
            return False
        self.indexer.excluded = False
        self.reload()
        return True

    def _sweep(self) -> bool:
        """Passages that wait for a vector though nothing is queued (their note changed while they were taken)."""
        idle = self.model.embedder is not None and self.model.error is None and not self.queue.pending()
        if not idle or self._swept_at == self.db.revision:
            return False
        self._swept_at = self.db.revision
        self._enqueue_missing()
        return bool(self.queue.pending())

    def recover(self, error: StoreError) -> None:
        """A commit failed: reopen the file, load everything anew. Raises StoreError while that is not possible."""
        if error.code in REBUILDABLE:
            with self.db.swapped(force=True):
                self._put_aside(error)
            self.stages.check()  # the new file says by what its rows will be made
            self.keep_config()
        else:
            self.db.reopen()
        self.reload()

    def close(self) -> None:
        """Stop embedding, close the file with its log moved in."""
        self.model.stop()
        self.events.close()
        try:
            upkeep.compact_if_needed(self.db)
        except StoreError as error:
            event(log, "not compacted", logging.WARNING, code=error.code, reason=error.message)
        self.db.close()

    def counts(self) -> Counts:
        """What is indexed now, all of it."""
        snapshot = self.hot.snapshot()
        scope = snapshot.scope(VISIBILITIES, ())
        notes = [note.key for note in snapshot.all_notes()]
        bare = int(np.isin(snapshot.doc_key[scope.docs], notes).sum())
        return Counts(len(notes), scope.count - bare, scope.ready, scope.pending)

    # ----------------------------------------------------------------------------------------------------------- parts

    def _open_database(self) -> Database:
        path = self.config.db
        try:
            return self._database(path)
        except StoreError as error:
            if error.code not in REBUILDABLE:
                raise
            self._put_aside(error)
            return self._database(path)

    def _put_aside(self, error: StoreError) -> None:
        """The vault is the truth: a file that lies is kept for whoever wants to look, and made anew."""
        path = self.config.db
        self.moved_aside = move_aside(path)
        event(
            log, "database moved aside", logging.ERROR, path=str(path), to=str(self.moved_aside), reason=error.message
        )

    def _database(self, path: Path) -> Database:
        resources = self.config.resources
        return open_database(
            path,
            memory_limit=resources.duckdb_memory_limit,
            threads=resources.duckdb_threads,
            allowed_dir=path.parent / SPARE,
        )

    def _embedder_options(self) -> EmbedderOptions:
        wanted, config = self.config.embedding, self.config
        options = EmbedderOptions(
            cache_dir=config.places.models,
            backend=wanted.backend,  # type: ignore[arg-type]  # checked by the configuration
            model=wanted.model,
            dim=wanted.dim,
            query_prefix=wanted.query_prefix,
            passage_prefix=wanted.passage_prefix,
            threads=wanted.threads,
            batch_tokens=wanted.batch_tokens,
            offline=config.offline,
            nice=config.resources.nice,
            ollama_host=config.llm.host,
            ollama_num_ctx=config.llm.num_ctx,
        )
        backend = choose_backend(options)
        if wanted.backend == "auto":  # chosen once a database, so that the vector space never changes by itself
            backend = read.load_meta(self.db).get("backend", backend)  # type: ignore[assignment]
        return dataclasses.replace(options, backend=backend)

    def keep_config(self) -> None:
        """Store a snapshot of the configuration that is in force now, note types included; runs point to it."""
        values = self.config.values() | {"types": self.indexer.options.types.as_json()}
        text = json.dumps(values, sort_keys=True)
        self.config_hash = hashlib.sha256(text.encode()).hexdigest()
        self._write(Batch(config=ConfigRow(self.config_hash, text)))

    def take_types(self, table: TypeTable) -> list[Bulk]:
        """`table` is in force from now; returns the work for what that changes. Writer thread."""
        return self.take_options(dataclasses.replace(self.indexer.options, types=table))

    def take_options(self, options: DeriveOptions) -> list[Bulk]:
        """`options` are in force from now, under a snapshot of the configuration; returns the work. Writer thread."""
        before, self.indexer.options = self.indexer.options, options
        self.keep_config()
        if dataclasses.replace(before, types=options.types) != options:
            return [self.stages.again(self.new_run("reload"))]
        return self.stages.retype(self.new_run)

    def unfinished(self) -> list[Bulk]:
        """What a start has to do before it compares the vault with the file."""
        if self.stages.redo:
            return [self.stages.again(self.new_run("upgrade"))]
        work = self.stages.retype(self.new_run)
        if self.db.doubt:  # commits are lost: what the file says of a note's stamp may be older than the note's rows
            paths = deque(self.indexer.known.read_paths())
            work.append(Bulk(self.new_run("doubt"), paths, done=self.db.settle_doubt))
        return work

    def _remember(self, entries: Mapping[str, str]) -> None:
        known = read.load_meta(self.db)
        if any(known.get(key) != value for key, value in entries.items()):
            self._write(Batch(meta=dict(entries)))

    def _write(self, batch: Batch) -> None:
        """A commit that changes no note: the resident index only takes over its revision."""
        write.commit(self.db, batch)
        self.hot.apply(HotDelta(self.db.revision))


def derive_options(config: Config, types: TypeTable) -> DeriveOptions:
    """What of the configuration and of `types.yaml` decides what a note becomes."""
    return DeriveOptions(
        prefix=config.id_prefix,
        read=ReadOptions(normalize=config.hash.normalize, hash_source=config.hash.source),  # type: ignore[arg-type]
        hash_mode=config.hash.compare,  # type: ignore[arg-type]
        default_profile=config.chunking.default_profile,
        overlap=config.chunking.overlap,
        default_visibility=config.privacy.default_visibility,  # type: ignore[arg-type]
        types=types,
    )


def read_rules(config: Config) -> Classifier:
    """What is left out: the configuration's globs and Obsidian's own exclusions."""
    filters: tuple[str, ...] = ()
    try:
        settings = json.loads((config.vault / ".obsidian/app.json").read_text(encoding="utf-8"))
        filters = tuple(str(item) for item in settings.get("userIgnoreFilters") or ())
    except (OSError, ValueError, AttributeError, TypeError):
        pass  # no settings, or in the middle of being written: the watcher says when they change
    return compile_rules(Rules(ignore=config.ignore, user_ignore_filters=filters))
