"""What the server sees of the daemon: the `Services` of ``serving/services.py`` over the engine and the writer."""

from __future__ import annotations

import json
import os
import time
import uuid
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mindnetd import __version__
from mindnetd.answer import Answerer, AnswerModel
from mindnetd.core.derive import DeriveOptions
from mindnetd.core.query import QuerySpec
from mindnetd.core.results import QueryResult
from mindnetd.engine import SPARE, Engine
from mindnetd.errors import BadRequest, Unavailable
from mindnetd.events import Event, EventBus
from mindnetd.inference.tokenizer import PinnedCounter
from mindnetd.jobs import Job, JobBook
from mindnetd.lanes.entity_index import EntityIndex
from mindnetd.lanes.hot import HotIndex
from mindnetd.metrics import Metrics
from mindnetd.modes import Modes
from mindnetd.search import Searcher
from mindnetd.serving.masked import MaskBook
from mindnetd.serving.services import ServerSettings
from mindnetd.store import upkeep
from mindnetd.store.db import Database
from mindnetd.store.records import QueryRow, utc_now
from mindnetd.verify import Verifier
from mindnetd.watch import WatcherStatus
from mindnetd.watching.vaultio import look
from mindnetd.writing.writer import Bulk, Writer

if TYPE_CHECKING:
    from mindnetd.corpus_runner import CorpusRunner
    from mindnetd.llm_side import LlmSide
    from mindnetd.store.llm import Pending

PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
MAX_UNWRITTEN = 1000
"""Logged questions that are kept for a writer that cannot write now."""


class Desk:
    """Implements `services.Services`; every method may be called from any thread."""

    def __init__(
        self,
        engine: Engine,
        writer: Writer,
        jobs: JobBook,
        searcher: Searcher,
        *,
        watcher: Callable[[], WatcherStatus],
        schedule: Callable[[], list[dict[str, Any]]],
    ) -> None:
        self._engine, self._writer, self._jobs, self._searcher = engine, writer, jobs, searcher
        self._watcher, self._schedule = watcher, schedule
        searcher.types, searcher.masks = lambda: self.derive_options.types, MaskBook(self).for_ranking
        self._modes = Modes(lambda: self._searcher, engine.hot.snapshot, engine.entities.of)
        self.llm: AnswerModel | None = None
        """What answers in its own words, where there is one; set by whoever makes it."""
        self.side: LlmSide | None = None
        """The same model's work on the vault, and what is told of it."""
        self._answerer = Answerer(engine.counter, lambda: self.llm)
        self._started = time.monotonic()
        self._settings = settings_of(engine)
        self.corpus: CorpusRunner | None = None
        """Makes the entity graph; set by whoever makes it."""
        self.stopping = False
        self._told = "starting"
        self._unwritten: dict[str, QueryRow] = {}

    # ---------------------------------------------------------------------------------------------------------- parts

    @property
    def vault_id(self) -> str:
        """The vault's id: that of the database, which is made once."""
        return self._engine.db.vault_id

    @property
    def id_prefix(self) -> str:
        """The prefix of all ids."""
        return self._engine.config.id_prefix

    @property
    def derive_options(self) -> DeriveOptions:
        """Those in force."""
        return self._engine.indexer.options

    @property
    def fingerprint(self) -> str:
        """The vector space that counts now; "" while there is no model."""
        embedder = self._engine.model.embedder
        return embedder.fingerprint if embedder else ""

    @property
    def dim(self) -> int:
        """Numbers in a vector; 0 while there is no model."""
        embedder = self._engine.model.embedder
        return embedder.dim if embedder else 0

    @property
    def revision(self) -> int:
        """The revision that answers are made from now."""
        return self._engine.hot.snapshot().revision

    @property
    def settings(self) -> ServerSettings:
        """The limits in force now."""
        return self._settings

    @property
    def searcher(self) -> Searcher:
        """Answers questions."""
        return self._searcher

    @property
    def modes(self) -> Modes:
        """Puts questions to the searcher."""
        return self._modes

    @property
    def answerer(self) -> Answerer:
        """Makes answers."""
        return self._answerer

    @property
    def counter(self) -> PinnedCounter:
        """The pinned tokenizer's."""
        return self._engine.counter

    @property
    def entities(self) -> EntityIndex:
        """The resident entity graph."""
        return self._engine.entities

    @property
    def hot(self) -> HotIndex:
        """The resident index."""
        return self._engine.hot

    @property
    def db(self) -> Database:
        """The store."""
        return self._engine.db

    @property
    def jobs(self) -> JobBook:
        """Jobs of admin calls."""
        return self._jobs

    @property
    def events(self) -> EventBus:
        """The bus behind ``GET /events``."""
        return self._engine.events

    @property
    def metrics(self) -> Metrics:
        """The numbers behind ``GET /metrics``."""
        return self._engine.metrics

    def refresh(self) -> None:
        """The configuration has changed: take over what concerns requests."""
        self._settings = settings_of(self._engine)

    # ---------------------------------------------------------------------------------------------------------- status

    def state(self) -> tuple[str, str | None]:
        """The state's name, and the reason where there is one."""
        watcher = self._watcher()
        if self.stopping:
            return "stopping", None
        trouble = self._writer.trouble or (watcher.reason if watcher.degraded else None)
        if trouble:
            return "degraded", trouble
        if not self._writer.reconciled:
            return "starting" if not self._writer.bulk_progress()[1] else "indexing", "first comparison with the vault"
        if not self._writer.settled:
            return "indexing", None
        return "ready", self._engine.model.error or self._engine.types_trouble

    def tell_state(self) -> None:
        """Publish the state where it differs from the one told last."""
        state, reason = self.state()
        if state != self._told:
            self._told = state
            self.events.publish(Event("state", {"state": state, "reason": reason}))

    def status(self) -> Mapping[str, Any]:
        """The body of ``GET /status``."""
        engine, watcher = self._engine, self._watcher()
        state, reason = self.state()
        counts = engine.counts()
        run = self._writer.last_run
        return {
            "state": state,
            "reason": reason,
            "version": __version__,
            "database": str(engine.config.db),
            "vault": {"id": self.vault_id, "path": str(engine.config.vault), "name": engine.config.name},
            "revision": self.revision,
            "notes": counts.notes,
            "chunks": counts.chunks,
            "passages": counts.ready + counts.pending,
            "queue": self._writer.queued(),
            "vectors": {"ready": counts.ready, "pending": counts.pending},
            "progress": self._progress(counts.ready, counts.pending),
            "watcher": {
                "kind": watcher.kind,
                "watches": watcher.watches,
                "overflows": watcher.overflows,
                "last_event": _time_text(watcher.last_event),
                "reason": watcher.reason,
                "restarts": watcher.restarts,
            },
            "last_run": run.summary() if run else None,
            "jobs": self._schedule(),
            "model": engine.model.describe(),
            "types": {"file": str(engine.config.types_file), "error": engine.types_trouble},
            "llm": self.side.status() if self.side is not None else None,
            "graph": self.corpus.status() if self.corpus is not None else None,
            "rss_bytes": rss_bytes(),
            "uptime_s": round(time.monotonic() - self._started, 3),
        }

    def llm_calls(self) -> Mapping[str, Mapping[str, int]]:
        """Calls of the language model by purpose, since this process began."""
        return self.side.calls.table() if self.side is not None else {}

    def llm_pending(self) -> Sequence[Pending]:
        """What waits for a reply of the language model."""
        return self.side.pending() if self.side is not None else ()

    def _progress(self, ready: int, pending: int) -> dict[str, Any]:
        done, total = self._writer.bulk_progress()
        if total:
            return {"stage": "notes", "done": done, "total": total, "eta_s": None}
        if pending:
            return {
                "stage": "vectors",
                "done": ready,
                "total": ready + pending,
                "eta_s": self._engine.pace.eta_s(pending),
            }
        return {"stage": None, "done": ready, "total": ready, "eta_s": 0.0}

    # ------------------------------------------------------------------------------------------------------------ work

    def log_query(self, spec: QuerySpec, result: QueryResult) -> None:
        """Keep the question and why its answers won, where the configuration says so."""
        if self._engine.config.privacy.query_log != "on":
            return
        trace = [
            {
                "rank": hit.rank,
                "path": hit.note.path,
                "score": hit.score,
                "lanes": {name: {"rank": rank, "score": score} for name, (rank, score) in hit.lanes.items()},
            }
            for hit in result.hits
        ]
        row = QueryRow(
            id=result.query_id or str(uuid.uuid4()),
            at=utc_now(),
            query=spec.text,
            filters_json=json.dumps(spec.filters, default=_plain),
            top_k=spec.top_k,
            took_ms=result.took_ms.get("total", 0.0),
            decision_trace_json=json.dumps(trace),
        )
        if len(self._unwritten) < MAX_UNWRITTEN:
            self._unwritten[row.id] = row
        self._writer.call(self._write_log)

    def _write_log(self) -> None:
        """On the writer thread: what was asked since the last time, in one transaction."""
        from mindnetd.store.write_logs import log_queries

        rows = list(self._unwritten.values())
        if rows:
            log_queries(self._engine.db, rows)
        for row in rows:
            del self._unwritten[row.id]

    def unwritten_queries(self) -> list[QueryRow]:
        """Logged questions that the writer has not stored yet, newest first."""
        return list(self._unwritten.values())[::-1]

    def backup(self) -> Path:
        """A consistent copy of the database in the spare folder; the caller removes it."""
        folder = self._engine.config.db.parent / SPARE
        target = folder / f"backup-{uuid.uuid4().hex}.duckdb"
        upkeep.backup(self._engine.db, target)
        return target

    def request_reindex(self, paths: Sequence[str], everything: bool) -> Job:
        """Derive these notes again, or all of them, whatever their hashes say."""
        known = self._engine.indexer.known.read_paths()
        wanted = set(known) if everything else set()
        for path in paths:
            below = {note for note in known if note == path or note.startswith(path.rstrip("/") + "/")}
            if not below and not self._is_file(path):
                raise BadRequest(f"{path}: no such note or folder in the vault")
            wanted |= below or {path}
        job = self._jobs.create("reindex", len(wanted))
        run = self._engine.new_run("reindex")
        self._writer.submit(Bulk(run, deque(sorted(wanted)), force=True, job=job.id))
        return job

    def _is_file(self, path: str) -> bool:
        """Whether the vault has such a file now, though it is not indexed yet."""
        engine = self._engine
        return engine.indexer.classifier.kind(path) is not None and look(engine.config.vault, path).stat is not None

    def request_reconcile(self) -> Job:
        """Compare the vault with the database now."""
        job = self._jobs.create("reconcile")
        self._writer.doubt("asked", job.id)
        return job

    def request_resolve(self) -> Job:
        """Resolve every link again."""
        paths = self._engine.indexer.known.read_paths()
        job = self._jobs.create("resolve", len(paths))
        run = self._engine.new_run("resolve")
        work = self._engine.indexer.resolve
        self._writer.submit(Bulk(run, deque(paths), job=job.id, work=work))
        return job

    def request_communities(self, cold: bool) -> Job:
        """Make the entity graph and its communities anew."""
        if self.corpus is None:
            raise Unavailable("there is nothing here that makes the entity graph", code="starting")
        job = self._jobs.create("communities")
        self.corpus.ask(job.id, force=True, cold=cold)
        return job

    def request_verify(self, hashes: bool) -> Job:
        """Re-hash the vault and compare everything."""
        job = self._jobs.create("verify")
        Verifier(self._engine, self._jobs, job.id, hashes).start()
        return job


def settings_of(engine: Engine) -> ServerSettings:
    """The server's limits as the configuration has them."""
    privacy = engine.config.privacy
    return ServerSettings(
        max_visibility=privacy.max_query_visibility,  # type: ignore[arg-type]  # checked by the configuration
        hidden_flags=privacy.exclude_flags,
    )


def rss_bytes() -> int:
    """Resident memory of this process."""
    return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) * PAGE_BYTES


def _time_text(seconds: float | None) -> str | None:
    return None if seconds is None else time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))


def _plain(value: Any) -> Any:
    return {name: getattr(value, name) for name in value.__dataclass_fields__}
