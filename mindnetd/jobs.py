"""Jobs: what an admin call started, and how far it is.

A job is made by the part that will do the work (``JobBook.create``), which then holds its ``JobHandle`` and reports;
``GET /jobs/{id}`` only reads. Times are Unix seconds from the clock that the book was given.
"""

from __future__ import annotations

import threading
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from mindnetd.errors import NotFound

JobKind = Literal["reindex", "reconcile", "verify", "resolve", "backup", "communities"]
JobState = Literal["queued", "running", "done", "failed"]
KEPT = 200


@dataclass(frozen=True, slots=True)
class Job:
    """One job as it stands. ``done`` of ``total`` steps; ``result`` once ``state`` is done, ``error`` once failed."""

    id: str
    kind: str
    state: JobState
    done: int
    total: int
    created: float
    started: float | None = None
    finished: float | None = None
    result: Mapping[str, Any] = field(default_factory=dict)
    error: str | None = None

    @property
    def over(self) -> bool:
        """True when nothing will change any more."""
        return self.state in ("done", "failed")


class JobBook:
    """The jobs of one daemon, newest kept; every method may be called from any thread."""

    def __init__(self, clock: Callable[[], float], kept: int = KEPT) -> None:
        self._clock = clock
        self._kept = kept
        self._lock = threading.Lock()
        self._jobs: dict[str, Job] = {}

    def create(self, kind: str, total: int = 0) -> Job:
        """A new job in state queued. The oldest finished ones are forgotten past ``kept``."""
        job = Job(str(uuid.uuid4()), kind, "queued", 0, total, self._clock())
        with self._lock:
            self._jobs[job.id] = job
            over = [old.id for old in self._jobs.values() if old.over]
            for old_id in over[: max(0, len(self._jobs) - self._kept)]:
                del self._jobs[old_id]
        return job

    def progress(self, job_id: str, done: int, total: int | None = None) -> None:
        """Report progress; the first report makes the job running."""
        with self._lock:
            job = self._jobs.get(job_id)
            if job is None or job.over:
                return
            self._jobs[job_id] = replace(
                job,
                state="running",
                started=job.started if job.started is not None else self._clock(),
                done=done,
                total=job.total if total is None else total,
            )

    def finish(self, job_id: str, result: Mapping[str, Any] | None = None) -> None:
        """The job is done, with its result."""
        self._end(job_id, state="done", result=dict(result or {}))

    def fail(self, job_id: str, error: str) -> None:
        """The job ended without doing its work; ``error`` is one line."""
        self._end(job_id, state="failed", error=error)

    def _end(self, job_id: str, **changes: Any) -> None:
        with self._lock:
            job = self._jobs.get(job_id)
            if job is None or job.over:
                return
            now = self._clock()
            done = max(job.done, job.total) if changes["state"] == "done" else job.done
            started = job.started if job.started is not None else now
            self._jobs[job_id] = replace(job, started=started, finished=now, done=done, **changes)

    def get(self, job_id: str) -> Job:
        """The job as it stands; raises NotFound (``job_not_found``)."""
        with self._lock:
            job = self._jobs.get(job_id)
        if job is None:
            raise NotFound(f"no job {job_id}; jobs are forgotten at a restart", code="job_not_found")
        return job
