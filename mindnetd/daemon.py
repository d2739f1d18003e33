"""The composition root: builds every part, runs them until told to stop, and takes them apart again.

Nobody else constructs parts. `run` is the daemon, `index_once` one full index without it.
"""

from __future__ import annotations

import asyncio
import gc
import logging
import os
import signal
import time
from collections.abc import Callable
from functools import partial

from mindnetd import __version__
from mindnetd.community_step import rebuild
from mindnetd.config import Config, differences
from mindnetd.core.rank import RetrievalSettings
from mindnetd.core.settle import SettleOptions
from mindnetd.core.typetable import TypeTable
from mindnetd.corpus_runner import CorpusRunner
from mindnetd.engine import Engine, derive_options, read_rules
from mindnetd.errors import MindnetError
from mindnetd.index_all import index_all
from mindnetd.jobs import JobBook
from mindnetd.lanes.hnsw import HnswLane
from mindnetd.llm_side import TICK_S as LLM_TICK_S
from mindnetd.llm_side import LlmSide
from mindnetd.metrics import Metrics
from mindnetd.progress import IndexSummary, Progress
from mindnetd.reload import ANEW, BY_HAND, Followed, among, begin_anew
from mindnetd.schedule import Schedule, Task
from mindnetd.sdnotify import Notifier
from mindnetd.search import Searcher
from mindnetd.server import build_app, serve
from mindnetd.serving.desk import Desk
from mindnetd.serving.unix_socket import BoundSocket, bind_socket
from mindnetd.settings.retrieval import retrieval_of
from mindnetd.settings.types import types_of
from mindnetd.store import read
from mindnetd.telemetry import event
from mindnetd.watch import Watcher, WatchOptions
from mindnetd.writing.upkeep import Upkeep
from mindnetd.writing.writer import Bulk, Writer, WriterParts

log = logging.getLogger(__name__)

TICK_S = 5.0
STALL_S = 120.0
"""A writer that has not come round for so long is taken for hung; a huge note may take a good part of it."""
STOP_S = 8.0
"""How long the writer may take to finish what it has in hand when the daemon stops."""
INTERRUPTED = 130
"""Exit code after Ctrl-C, drained or not; to be stopped by SIGTERM is what a daemon is for: 0."""
COLLECT_AFTER = (20_000, 20, 50)
"""For Python's collector of cycles, which at its defaults takes an eighth of a first index and finds hardly a cycle."""


def run(config: Config, reread: Callable[[], Config]) -> int:
    """The daemon in the foreground; returns the exit code: 0 after SIGTERM, 130 after SIGINT. Raises MindnetError."""
    gc.set_threshold(*COLLECT_AFTER)
    daemon = Daemon(config, reread)
    code = asyncio.run(daemon.run())
    if daemon.anew:
        begin_anew()
    return code


class Daemon:
    """One vault, from start to stop."""

    def __init__(self, config: Config, reread: Callable[[], Config]) -> None:
        self._config, self._reread = config, reread
        self._notifier = Notifier.from_env(os.environ)
        self._end: Callable[[], None] = lambda: None
        self._code = 0
        self.anew = False
        """It ended for a reload, and is to begin once more with the configuration as it is now."""

    async def run(self) -> int:
        """Socket, database, hot index, watcher, READY; then the reconcile. The index as it was serves at once."""
        signal.signal(signal.SIGIO, signal.SIG_IGN)  # sent when another process breaks a lease of ours (`vaultio`)
        self._notifier.status("opening the database")
        bound = bind_socket(self._config.socket)
        try:
            self._build()
        except BaseException:
            bound.close()
            raise
        await self._serve(bound)
        if self.writer.died:
            raise MindnetError(self.writer.died)
        return self._code

    # ----------------------------------------------------------------------------------------------------------- build

    def _build(self) -> None:
        config = self._config
        self.engine = Engine(config, Metrics(__version__), lambda: self.watcher.root_id)
        self.engine.load()
        self.jobs = JobBook(time.time)
        self.watcher = Watcher(
            config.vault,
            self.engine.indexer.classifier,
            on_dirty=self._on_dirty,
            on_doubt=self._on_doubt,
            options=watch_options(config),
        )
        self.writer = make_writer(self.engine, self.jobs, self.watcher.scanned, settle_options(config))
        hnsw = self._hnsw = HnswLane() if config.vector_index == "hnsw" else None
        self.searcher = Searcher(
            self.engine.hot, read.StoreTexts(self.engine.db), self.engine.model.embed_query, retrieval_of(config), hnsw
        )
        self._follow()
        self.upkeep = Upkeep(self.engine, self.writer)
        self.side = LlmSide(self.engine, lambda store: self.corpus.on_writer(store))
        steps = (partial(rebuild, self.engine, summaries=self.side.extraction),)
        self.corpus = CorpusRunner(self.engine, self.writer.call, self.jobs, lambda: self.writer.settled, steps)
        self.corpus.refiner, self.corpus.made = self.side.extraction, self.side.ask
        self.side.follow(self.corpus.ask)
        minutes = config.watch.reconcile_minutes
        self.schedule = Schedule(
            (
                Task("watch", TICK_S, self._tick),
                Task("texts", TICK_S, self._fill_texts),
                *([Task("hnsw", TICK_S, lambda: hnsw.keep_up(self.engine.hot.snapshot().vectors))] if hnsw else []),
                Task("reconcile", minutes * 60, lambda: self.writer.doubt("schedule")),
                *self.upkeep.tasks(),
                *self.corpus.tasks(),
                *([Task("llm", LLM_TICK_S, self.side.tick)] if config.llm.enabled != "off" else []),
            ),
            on_jump=lambda: self.writer.doubt("resume"),
        )
        parts = (self.engine, self.writer, self.jobs, self.searcher)
        self.desk = Desk(*parts, watcher=self.watcher.status, schedule=self.schedule.jobs)
        self.desk.corpus, self.desk.side, self.desk.llm = self.corpus, self.side, self.side.llm
        self.writer.on_state(self.desk.tell_state)
        self.engine.metrics.follow(queue_depth=self.writer.queued, revision=lambda: self.engine.hot.snapshot().revision)

    def _tick(self) -> None:
        """Every few seconds: is the watcher alive, has a file beside the configuration been saved?"""
        self.watcher.tick(time.monotonic())
        for file in self._followed:
            file.look()

    def _follow(self) -> None:
        config = self._config
        self._followed = (
            Followed(config.retrieval_file, lambda: setattr(self.searcher, "settings", retrieval_of(config))),
            Followed(config.types_file, lambda: self._take_types(self._read_types(config))),
        )

    def _read_types(self, config: Config) -> TypeTable:
        """The note types of the file; where they cannot be used, `status` says why, and those in force stay."""
        try:
            table = types_of(config)
        except MindnetError as error:
            self.engine.types_trouble = error.message
            raise
        self.engine.types_trouble = None
        return table

    def _take_types(self, table: TypeTable) -> None:
        self.writer.call(lambda: self._redo(self.engine.take_types(table)))

    def _redo(self, work: list[Bulk]) -> None:
        """On the writer thread: notes become other rows now."""
        self.writer.start_over()
        for bulk in work:
            self.writer.submit(bulk)

    def _fill_texts(self) -> None:
        """Not while much is being written: a bulk index needs the processor, and what it writes may change again."""
        if self.writer.settled:
            self.searcher.fill_texts()

    def _on_dirty(self, kind: str, path: str) -> None:
        self.engine.metrics.events.labels(kind=kind).inc()
        self.writer.mark(kind, path)  # type: ignore[arg-type]  # the watcher's kinds are the settler's

    def _on_doubt(self, reason: str) -> None:
        if reason == "overflow":
            self.engine.metrics.watch_overflows.inc()
        if reason == "rules":
            self.writer.call(self._apply_rules)
        self.writer.doubt(reason)

    def _apply_rules(self) -> None:
        """On the writer thread: what is left out has changed."""
        self.engine.indexer.classifier = read_rules(self.engine.config)
        self.watcher.set_classifier(self.engine.indexer.classifier)
        self.writer.start_over()

    # ------------------------------------------------------------------------------------------------------------ life

    async def _serve(self, bound: BoundSocket) -> None:
        loop = asyncio.get_running_loop()
        stop = asyncio.Event()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._stop_asked, stop, number)
        loop.add_signal_handler(signal.SIGHUP, lambda: loop.run_in_executor(None, self.reload))

        self._end = lambda: loop.call_soon_threadsafe(stop.set)  # type: ignore[assignment]
        self.writer.on_death(self._end)
        beat = loop.create_task(self._beat())
        try:
            await serve(build_app(self.desk), bound, ready=self._start, stop=stop)
        finally:
            beat.cancel()
            await loop.run_in_executor(None, self._shut_down)

    def _start(self) -> None:
        """The socket answers: tell systemd, then look at the vault."""
        event(log, "listening", socket=str(self._config.socket), revision=self.engine.db.revision)
        self._notifier.ready("serving the index as it was; comparing it with the vault")
        self.watcher.start()
        begin(self.engine, self.writer, "start")
        self.writer.start()
        self.schedule.start()
        self.writer.call(self._begin_embedding)

    def _begin_embedding(self) -> None:
        """On the writer thread: work off what has no vector; without a model fetch that first, in the background."""
        if self.engine.model.embedder is not None:
            self.engine.start_embedding(self.writer.deliver)
        elif not self._config.offline:
            self.engine.model.fetch_in_background(lambda: self.writer.call(self._model_came))
        else:
            event(log, "no model", logging.WARNING, reason=self.engine.model.error)

    def _model_came(self) -> None:
        self.engine.reload()
        self.engine.start_embedding(self.writer.deliver)

    def _stop_asked(self, stop: asyncio.Event, number: signal.Signals) -> None:
        if self.anew:
            self.anew = False  # it drains already, and now it ends with that
        elif stop.is_set():  # a second signal: no draining
            os._exit(INTERRUPTED)
        self._code = INTERRUPTED if number == signal.SIGINT else 0
        self.desk.stopping = True
        self.desk.tell_state()
        self._notifier.stopping()
        stop.set()

    def _shut_down(self) -> None:
        self.schedule.stop()
        self.watcher.stop()
        self.side.stop()
        self.corpus.stop()
        self.engine.model.stop()
        if self._hnsw is not None:
            self._hnsw.close()
        if self.writer.stop(STOP_S):
            self.engine.close()
        else:
            event(
                log, "writer did not end in time", logging.WARNING
            )  # its transaction is rolled back by the next start
        event(log, "stopped")

    async def _beat(self) -> None:
        """Tell systemd how it goes; ping its watchdog only while loop and writer are really alive."""
        period = min(self._notifier.watchdog_s / 3 if self._notifier.watchdog_s else TICK_S, TICK_S)
        while True:
            await asyncio.sleep(period)
            if self._notifier.address is None:
                continue
            self._notifier.status(self._status_line())
            if time.monotonic() - self.writer.beat < STALL_S and self.writer.is_alive():
                self._notifier.watchdog()

    def _status_line(self) -> str:
        status = self.desk.status()
        vectors = status["vectors"]
        line = f"{status['state']}: {status['notes']} notes, {vectors['ready']} vectors"
        if vectors["pending"]:
            line += f", {vectors['pending']} to come"
        return line + (f" ({status['reason']})" if status["reason"] else "")

    # ---------------------------------------------------------------------------------------------------------- reload

    def reload(self) -> None:
        """SIGHUP: take over what can be taken over; a configuration that cannot be used changes nothing."""
        self._notifier.reloading()
        try:
            fresh = self._reread()
            retrieval, types = retrieval_of(fresh), self._read_types(fresh)
        except MindnetError as error:
            event(log, "configuration not taken over", logging.ERROR, reason=error.message)
        else:
            self._take_over(fresh, retrieval, types)
        if not self.anew:  # else the new beginning says so
            self._notifier.ready(self._status_line())

    def _take_over(self, fresh: Config, retrieval: RetrievalSettings, types: TypeTable) -> None:
        changed = differences(self._config, fresh)
        if by_hand := among(changed, BY_HAND):
            event(log, "needs a restart", logging.WARNING, keys=", ".join(by_hand))
        if anew := among(changed, ANEW):
            event(log, "beginning anew", keys=", ".join(anew))
            self.anew = self.desk.stopping = True
            self._end()
            return
        self._config = self.engine.config = fresh
        self.searcher.settings = retrieval
        self.desk.refresh()
        self._follow()
        self.writer.call(lambda: self._take_over_on_writer(fresh, types))
        event(log, "configuration taken over", keys=", ".join(changed))

    def _take_over_on_writer(self, fresh: Config, types: TypeTable) -> None:
        self.writer.configure(settle_options(fresh))
        work = self.engine.take_options(derive_options(fresh, types))
        self._apply_rules()
        self._redo(work)
        self.writer.doubt("reload")


def begin(engine: Engine, writer: Writer, trigger: str) -> None:
    """Compare the vault with the file; before that, read again what the file alone cannot vouch for."""
    for bulk in engine.unfinished():
        writer.submit(bulk)
    writer.doubt(trigger)


def make_writer(
    engine: Engine, jobs: JobBook, scanned: Callable[..., None] = lambda _: None, settle: SettleOptions | None = None
) -> Writer:
    """The writer over an engine."""
    return Writer(
        WriterParts(
            vault=engine.config.vault,
            indexer=engine.indexer,
            jobs=jobs,
            new_run=engine.new_run,
            scanned=scanned,
            root_id=engine.root_id,
            recover=engine.recover,
            run_ended=engine.end_run,
            housekeep=engine.housekeep,
            chores=engine.chores,
            hold_vectors=lambda on: engine.queue.hold(time.time_ns() if on else None),
            vectors_stored=lambda made: engine.pace.note(made, time.monotonic()),
            settle=settle or SettleOptions(),
        )
    )


def watch_options(config: Config) -> WatchOptions:
    """How the vault is watched, from the configuration."""
    return WatchOptions(
        scan_s=config.watch.scan_s,
        reconcile_minutes=config.watch.reconcile_minutes,
        polling=config.watch.polling,  # type: ignore[arg-type]  # one of its three values
        canary_dir=config.db.parent / "canary",
    )


def settle_options(config: Config) -> SettleOptions:
    """When a save is read, from the configuration."""
    return SettleOptions(config.watch.settle_ms, config.watch.max_wait_ms, config.watch.unstable_max_s)


def index_once(config: Config, progress: Progress) -> IndexSummary:
    """One full index of ``config.vault`` on the caller's thread. Raises StoreError, VaultError, ConfigError.

    Refuses (``locked``) while a daemon holds the file. Without a model the words are indexed and the vectors missing.
    """
    started = time.monotonic()
    gc.set_threshold(*COLLECT_AFTER)
    engine = Engine(config, Metrics(__version__))
    try:
        engine.load()
        if engine.model.embedder is None and not config.offline:
            progress("model", 0, 0)
            if engine.model.fetch_now():
                engine.reload()
        writer = make_writer(engine, JobBook(time.time))
        engine.start_embedding(writer.deliver)
        begin(engine, writer, "index")
        return index_all(engine, writer, progress, started)
    finally:
        engine.close()
