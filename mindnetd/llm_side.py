"""The optional language model beside the rest: one thread that asks it about the vault, and what is told of that.

    the graph is made > ask (this thread) > replies > the graph is made again with them > ask: nothing is left

Nobody waits for it. A tick looks whether the model has come (back) or something that waits may be tried again.
"""

from __future__ import annotations

import logging
import threading
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from mindnetd.errors import MindnetError
from mindnetd.inference.llm import PURPOSES, Llm, LlmOptions
from mindnetd.llm_extract import Extraction, Round, Write
from mindnetd.llm_questions import ExtractOptions
from mindnetd.telemetry import event

if TYPE_CHECKING:
    from mindnetd.engine import Engine
    from mindnetd.store.llm import Pending

log = logging.getLogger(__name__)

TICK_S = 5.0
"""As often as the other clocks of the daemon, so that an idle one wakes no more for it."""
CALLS, RETRIES = ("ok", "failed"), ("retry_ok", "retry_failed")


class Calls:
    """How often the model was asked for what, since this process began; any thread."""

    def __init__(self, engine: Engine) -> None:
        self._metric = engine.metrics.llm_calls
        self._counts: Counter[tuple[str, str]] = Counter()
        self._lock = threading.Lock()

    def __call__(self, purpose: str, outcome: str) -> None:
        """One more."""
        with self._lock:
            self._counts[purpose, outcome] += 1
        self._metric.labels(purpose=purpose, outcome=outcome).inc()

    def table(self) -> dict[str, dict[str, int]]:
        """By purpose: calls (each question once), retries of the same question, calls that were given up before their
        end, and replies that were there already."""
        with self._lock:
            counts = dict(self._counts)
        table = {}
        for purpose in PURPOSES:
            mine = {outcome: count for (name, outcome), count in counts.items() if name == purpose}
            table[purpose] = {
                "calls": sum(mine.get(outcome, 0) for outcome in CALLS),
                "retries": sum(mine.get(outcome, 0) for outcome in RETRIES),
                "failed": mine.get("failed", 0) + mine.get("retry_failed", 0),
                "stopped": mine.get("stopped", 0),
                "reused": mine.get("cached", 0),
            }
        return table


class LlmSide:
    """Owns model and thread. `write` runs a function on the writer thread."""

    def __init__(self, engine: Engine, write: Write) -> None:
        self._engine = engine
        self.calls = Calls(engine)
        self.llm = Llm(LlmOptions(**asdict(engine.config.llm)), self.calls)
        self.extraction = Extraction(engine.db, self.llm, engine.counter, lambda: options_of(engine), write)
        self._graph: Callable[[], None] = lambda: None
        self._wake = threading.Condition()
        self._wanted = self._stopping = False
        self._thread: threading.Thread | None = None
        self._asked_of: str | None = None
        self.last: Round | None = None
        """The round that ended last."""
        self.running = False

    def follow(self, graph: Callable[[], None]) -> None:
        """`graph` has the entity graph made again soon; told after replies have come."""
        self._graph = graph

    # ---------------------------------------------------------------------------------------------------------- thread

    def ask(self) -> None:
        """Ask soon what has no reply yet."""
        if self.llm.options.enabled == "off":
            return
        with self._wake:
            self._wanted = True
            if self._thread is None and not self._stopping:
                self._thread = threading.Thread(target=self._run, name="mindnetd-llm", daemon=True)
                self._thread.start()
            self._wake.notify_all()

    def tick(self) -> None:
        """Every few seconds, and short: has the model come, or may something be tried again?"""
        if self.llm.available() and (self._asked_of != self.llm.digest or self.extraction.due()):
            self.ask()

    def stop(self, timeout_s: float = 5.0) -> None:
        """End; a call under way is given up."""
        with self._wake:
            self._stopping = True
            self._wake.notify_all()
        self.llm.close()
        if self._thread is not None:
            self._thread.join(timeout_s)

    def _run(self) -> None:
        while True:
            with self._wake:
                self._wake.wait_for(lambda: self._wanted or self._stopping)
                if self._stopping:
                    return
                self._wanted = False
            self.running = True
            try:
                self._once()
            except MindnetError as error:
                event(log, "LLM round not finished", logging.WARNING, reason=error.message)
            except Exception:
                log.exception("LLM round failed")
            finally:
                self.running = False

    def _once(self) -> None:
        digest = self.llm.digest if self.llm.available() else None
        self.last = done = self.extraction.run(lambda: self._stopping)
        self._asked_of = digest or self._asked_of
        if done.replies or done.failed:
            event(log, "LLM asked", replies=done.replies, failed=done.failed, waiting=len(done.waits), error=done.error)
        if done.replies and not self._stopping:
            self._graph()

    # ------------------------------------------------------------------------------------------------------------ told

    def status(self) -> dict[str, Any]:
        """For ``status.llm``."""
        return {
            **self.llm.state(),
            "mode": self._engine.config.graph.extraction_mode,
            "running": self.running,
            "pending": self.extraction.state(),
            "calls": self.calls.table(),
            "dropped": self.extraction.dropped,
        }

    def pending(self) -> Sequence[Pending]:
        """What waits for a reply."""
        return self.extraction.pending()


def options_of(engine: Engine) -> ExtractOptions:
    """What the configuration of now says."""
    config = engine.config
    return ExtractOptions(
        mode=config.graph.extraction_mode,
        prefix=config.id_prefix,
        hiding=tuple(config.privacy.exclude_flags),
        highest=config.privacy.max_query_visibility,
    )
