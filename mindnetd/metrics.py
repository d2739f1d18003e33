"""The numbers that ``GET /metrics`` shows. Names are contract (``api.md``); every one is there at zero.

One ``Metrics`` belongs to one daemon, with a registry of its own: nothing is global, and a test makes its own. Parts
that measure something get the object from the composition root and count on its attributes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import prometheus_client
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

EVENT_KINDS = ("closed", "created", "moved", "deleted", "scan")
LLM_PURPOSES = ("entity_types", "extract", "gleaning", "summary", "map", "reduce", "answer")
LLM_OUTCOMES = ("ok", "cached", "failed", "stopped", "retry_ok", "retry_failed")
FAST_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
RUN_SECONDS = (0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 10.0, 30.0, 60.0, 300.0, 900.0, 3600.0)
CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


class Metrics:
    """Counters, gauges and histograms of one daemon; all methods of the fields may be called from any thread."""

    def __init__(self, version: str, routes: Iterable[str] = ()) -> None:
        prometheus_client.disable_created_metrics()  # type: ignore[no-untyped-call]  # the `_created` series are names that no contract lists
        registry = self.registry = CollectorRegistry()
        self.embeddings_made = Counter(
            "mindnet_embeddings_made_total", "Passages of notes embedded since this process began.", registry=registry
        )
        self.other_embeddings = Counter(
            "mindnet_other_embeddings_total", "Questions and entity names embedded.", registry=registry
        )
        self.embeddings_reused = Counter(
            "mindnet_embeddings_reused_total", "Passages whose vector was already stored.", registry=registry
        )
        self.notes_indexed = Counter("mindnet_notes_indexed_total", "Notes read and committed.", registry=registry)
        self.commits = Counter("mindnet_commits_total", "Transactions committed.", registry=registry)
        self.events = Counter("mindnet_events_total", "File events by kind.", ["kind"], registry=registry)
        self.watch_overflows = Counter(
            "mindnet_watch_overflows_total", "Times when file events were lost.", registry=registry
        )
        self.queue_depth = Gauge("mindnet_queue_depth", "Paths that wait to be read.", registry=registry)
        self.request_seconds = Histogram(
            "mindnet_request_seconds", "Requests by route.", ["route"], buckets=FAST_SECONDS, registry=registry
        )
        self.commit_seconds = Histogram(
            "mindnet_commit_seconds", "Time of a commit.", buckets=FAST_SECONDS, registry=registry
        )
        self.run_seconds = Histogram(
            "mindnet_run_seconds", "Time of an import run.", buckets=RUN_SECONDS, registry=registry
        )
        self.run_chunks = Gauge("mindnet_run_chunks", "Chunks written by the last run.", registry=registry)
        self.run_edges = Gauge("mindnet_run_edges", "Edges written by the last run.", registry=registry)
        self.llm_calls = Counter(
            "mindnet_llm_calls_total", "Calls to the language model.", ["purpose", "outcome"], registry=registry
        )
        self.revision = Gauge("mindnet_revision", "Revision of the database.", registry=registry)
        self.last_run = Gauge(
            "mindnet_last_run_timestamp_seconds", "When the last run ended (Unix time, 0 before).", registry=registry
        )
        build = Gauge("mindnet_build_info", "1, with the version.", ["version"], registry=registry)
        build.labels(version=version).set(1)
        self._start_at_zero(routes)

    def _start_at_zero(self, routes: Iterable[str]) -> None:
        for kind in EVENT_KINDS:
            self.events.labels(kind=kind)
        for purpose in LLM_PURPOSES:
            for outcome in LLM_OUTCOMES:
                self.llm_calls.labels(purpose=purpose, outcome=outcome)
        self.add_routes(routes)

    def add_routes(self, routes: Iterable[str]) -> None:
        """Make the request histogram of each route template present at zero."""
        for route in routes:
            self.request_seconds.labels(route=route)

    def committed(self, seconds: float) -> None:
        """A transaction was committed: of notes, of vectors, of the entity graph."""
        self.commits.inc()
        self.commit_seconds.observe(seconds)

    def follow(self, *, queue_depth: Callable[[], float], revision: Callable[[], float]) -> None:
        """Read the two gauges that are somebody's state at the time of each scrape."""
        self.queue_depth.set_function(queue_depth)
        self.revision.set_function(revision)

    def render(self) -> bytes:
        """All numbers in Prometheus' text format (``CONTENT_TYPE``)."""
        return prometheus_client.generate_latest(self.registry)
