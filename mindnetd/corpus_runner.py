"""When the corpus-wide stage runs: on the schedule if something changed, once a vault is read first, and when asked.

One thread of its own does the work; only the commit is done by the writer thread, between two saves. What follows the
graph (communities) is a step behind it: a function that is told whether to begin cold and what to ask whether to stop.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any

from mindnetd.corpus import CorpusOptions, Prepared, Refiner, commit, prepare
from mindnetd.errors import MindnetError, ModelError
from mindnetd.events import Event
from mindnetd.jobs import JobBook
from mindnetd.lanes.hot import HotDelta
from mindnetd.schedule import Task, task_of
from mindnetd.telemetry import event

if TYPE_CHECKING:
    from mindnetd.engine import Engine

log = logging.getLogger(__name__)

FIRST_LOOK_S = 5.0
"""How often it is looked whether a vault that has no graph yet is read."""

Write = Callable[[Callable[[], int]], int]
"""Runs a function on the writer thread and returns what it returns."""
Step = Callable[[Write, bool, Callable[[], bool]], dict[str, Any]]
"""``step(write, cold, stop)`` makes what follows from the graph and returns figures for the job's result."""


def build_graph(
    engine: Engine, write: Write, *, force: bool, stop: Callable[[], bool], refiner: Refiner | None = None
) -> Prepared:
    """Make the graph and store it. `write` runs a function on the writer thread and returns what it returns.

    Raises StoreError, and EmbeddingStoppedError where `stop` turned true.
    """
    embedder = engine.model.embedder
    prepared = prepare(engine.db, options_of(engine), embedder, refiner=refiner, force=force, stop=stop)
    if prepared.rows is not None:
        engine.metrics.other_embeddings.inc(prepared.embedded)

        def store() -> int:
            revision = commit(engine.db, prepared, engine.entities)
            engine.hot.apply(HotDelta(revision))
            return revision

        write(store)
    return prepared


def options_of(engine: Engine) -> CorpusOptions:
    """What the configuration and the note types say of the graphs."""
    config = engine.config
    return CorpusOptions(
        prefix=config.id_prefix,
        threshold=config.graph.dedup_threshold,
        hiding=tuple(config.privacy.exclude_flags),
        highest=config.privacy.max_query_visibility,  # type: ignore[arg-type]  # as the configuration allows it
        derive=engine.indexer.options,
    )


class CorpusRunner:
    """Owns the thread. `ask` from any thread; `stop` before the writer ends."""

    def __init__(
        self,
        engine: Engine,
        call: Callable[[Callable[[], None]], None],
        jobs: JobBook,
        settled: Callable[[], bool],
        steps: tuple[Step, ...] = (),
    ) -> None:
        self._engine, self._call, self._jobs, self._settled = engine, call, jobs, settled
        self._steps = steps
        self._wake = threading.Condition()
        self._wanted = False
        self._force = self._cold = False
        self._waiting: list[str] = []
        self._stopping = False
        self._audiences: tuple[frozenset[str], str] | None = None
        self._thread: threading.Thread | None = None
        self.refiner: Refiner | None = None
        """What makes more of a graph than the notes' signals say; set by whoever makes it."""
        self.made: Callable[[], None] = lambda: None
        """Told after each run that ended well."""
        self.last: dict[str, Any] | None = None
        """The run that ended last: when, seconds, whether anything had changed, figures or its error."""
        self.running = False

    def tasks(self) -> tuple[Task, ...]:
        """What the schedule has to call: `graph.rebuild` of the configuration, and the look for a first graph."""
        schedule = self._engine.config.graph.rebuild
        if schedule == "off":
            return ()
        return (task_of("graph", schedule, self.ask), Task("graph-first", FIRST_LOOK_S, self._first))

    def ask(self, job: str | None = None, *, force: bool = False, cold: bool = False) -> None:
        """Run soon; `force`: though nothing changed. `cold`: communities forget the last run. `job` ends with it."""
        with self._wake:
            self._wanted = True
            self._force, self._cold = self._force or force, self._cold or cold
            if job is not None:
                self._waiting.append(job)
            if self._thread is None and not self._stopping:
                self._thread = threading.Thread(target=self._run, name="mindnetd-graph", daemon=True)
                self._thread.start()
            self._wake.notify_all()

    def stop(self, timeout_s: float = 5.0) -> None:
        """End; what is being made is given up."""
        with self._wake:
            self._stopping = True
            self._wake.notify_all()
        if self._thread is not None:
            self._thread.join(timeout_s)

    def status(self) -> dict[str, Any]:
        """For ``GET /status``: whether it runs, and the last run."""
        return {"running": self.running, "last": self.last}

    def _first(self) -> None:
        """A vault that has been read but has no graph yet gets one, once its vectors are there or will not come.

        So does one whose graph knows a note that has been hidden since, or was made for other askers than now.
        """
        engine = self._engine
        if engine.entities.withdrawn() or self._other_audiences():
            self.ask()  # what was chosen by a note that is hidden now must not stay for long
            return
        if self.last is not None or self.running or engine.entities.snapshot.built_at is not None:
            return
        if self._settled() and not engine.queue.pending() and engine.hot.snapshot().all_notes():
            self.ask()

    def _other_audiences(self) -> bool:
        """Whether the configuration lets others ask than when the graphs were made; once for each."""
        graphs, options = self._engine.entities.graphs, options_of(self._engine)
        wanted = (frozenset(options.hiding), options.highest)
        if graphs.built_at is None or wanted in (self._audiences, (graphs.audiences.hiding, graphs.audiences.highest)):
            return False
        self._audiences = wanted
        return True

    def _run(self) -> None:
        while True:
            with self._wake:
                self._wake.wait_for(lambda: self._wanted or self._stopping)
                jobs, self._waiting = self._waiting, []
                force, cold = self._force, self._cold
                self._wanted = self._force = self._cold = False
            if self._stopping:
                for job in jobs:
                    self._jobs.fail(job, "the daemon stopped")
                return
            self.running = True
            try:
                self._once(jobs, force, cold)
            finally:
                self.running = False

    def _once(self, jobs: list[str], force: bool, cold: bool) -> None:
        started = time.monotonic()
        for job in jobs:
            self._jobs.progress(job, 0, 1 + len(self._steps))
        result: dict[str, Any] = {}
        error: str | None = None
        try:
            result = self._graph(force)
            for done, step in enumerate(self._steps, 1):
                for job in jobs:
                    self._jobs.progress(job, done)
                result |= step(self.on_writer, cold, lambda: self._stopping)
        except (MindnetError, ModelError) as failure:
            error = failure.message
        except Exception as failure:
            error = f"mindnetd made a mistake with the entity graph ({failure!r}); please report it"
            log.exception("graph failed")
        took = round(time.monotonic() - started, 3)
        snapshot = self._engine.entities.snapshot
        result |= {"entities": len(snapshot.id), "relationships": len(snapshot.relations.id)}
        self.last = {"built_at": snapshot.built_at, "seconds": took, "error": error, **result}
        if error is not None:
            event(log, "graph not made", logging.WARNING, reason=error)
        else:
            event(log, "graph made", seconds=took, **result)
            if jobs and not result.get("communities_changed"):  # who asked is told, though it gave the same ones
                self._engine.events.publish(Event("communities.rebuilt", {"revision": self._engine.db.revision}))
        for job in jobs:
            if error is not None:
                self._jobs.fail(job, error)
            else:
                self._jobs.finish(job, {**result, "seconds": took})
        if result.get("changed") or result.get("communities_changed"):
            self._call(self._engine.slim)
        if error is None:
            self.made()

    def _graph(self, force: bool) -> dict[str, Any]:
        """Make it; figures for the job's result. Nothing else of what was made is kept."""
        prepared = build_graph(
            self._engine, self.on_writer, force=force, stop=lambda: self._stopping, refiner=self.refiner
        )
        return {"changed": prepared.rows is not None, "embedded": prepared.embedded}

    def on_writer(self, function: Callable[[], int]) -> int:
        """Run it on the writer thread, and wait for it."""
        future: Future[int] = Future()

        def work() -> None:
            try:
                future.set_result(function())
            except BaseException as error:
                future.set_exception(error)
                raise

        self._call(work)
        while not self._stopping:
            try:
                return future.result(timeout=0.5)
            except TimeoutError:
                if future.done():
                    raise
        raise MindnetError("the daemon stopped")
