"""What happens by the clock: the watcher's check, the reconcile, garbage, log trim, backup.

APScheduler sleeps on the monotonic clock, which stands still while the machine is suspended. So a tick compares
both clocks; when the wall clock ran ahead, the machine slept, and the reconcile is asked for at once.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from apscheduler.events import (  # type: ignore[import-untyped]  # APScheduler 3 has no types
    EVENT_JOB_ERROR,
    EVENT_JOB_EXECUTED,
    EVENT_JOB_MAX_INSTANCES,
    EVENT_JOB_MISSED,
)
from apscheduler.schedulers.background import BackgroundScheduler  # type: ignore[import-untyped]
from apscheduler.triggers.cron import CronTrigger  # type: ignore[import-untyped]
from apscheduler.triggers.interval import IntervalTrigger  # type: ignore[import-untyped]

log = logging.getLogger(__name__)

TICK_S = 5.0
UNITS_S = {"m": 60.0, "h": 3600.0, "d": 86_400.0}
JUMP_S = 20.0
"""A difference between both clocks over one tick that only a suspend or a set clock explains."""


@dataclass(frozen=True)
class Task:
    """Something to do every `every_s` seconds. It must be short, or only ask another thread to act."""

    id: str
    every_s: float
    action: Callable[[], None]
    cron: str | None = None
    """Five cron fields in UTC, instead of the period."""


def task_of(name: str, schedule: str, action: Callable[[], None]) -> Task:
    """A task by a schedule of the configuration: ``every <n>m|h|d [if changed]`` or ``cron: <5 fields>``."""
    if schedule.startswith("cron:"):
        return Task(name, 0.0, action, schedule.removeprefix("cron:").strip())
    number, unit = schedule.split()[1][:-1], schedule.split()[1][-1]
    return Task(name, int(number) * UNITS_S[unit], action)


class ClockJump:
    """Tells a suspend from ordinary time passing: pure, both clocks are arguments (seconds)."""

    def __init__(self, wall: float, mono: float) -> None:
        self._wall, self._mono = wall, mono

    def check(self, wall: float, mono: float) -> bool:
        """True if the wall clock moved `JUMP_S` more or less than the monotonic one since the last call."""
        drift = (wall - self._wall) - (mono - self._mono)
        self._wall, self._mono = wall, mono
        return abs(drift) > JUMP_S


class Schedule:
    """Runs tasks on one background thread; remembers when each ran last."""

    def __init__(self, tasks: Sequence[Task], on_jump: Callable[[], None]) -> None:
        self._scheduler = BackgroundScheduler(timezone="UTC", daemon=True)
        self._last: dict[str, datetime] = {}
        self._on_jump = on_jump
        self._jump = ClockJump(time.time(), time.monotonic())
        for task in (Task("clock", TICK_S, self._tick), *tasks):
            self._scheduler.add_job(
                task.action,
                CronTrigger.from_crontab(task.cron, timezone="UTC")
                if task.cron
                else IntervalTrigger(seconds=task.every_s),
                id=task.id,
                replace_existing=True,
                coalesce=True,
                max_instances=1,
                misfire_grace_time=None,
            )
        self._scheduler.add_listener(
            self._heard, EVENT_JOB_EXECUTED | EVENT_JOB_ERROR | EVENT_JOB_MISSED | EVENT_JOB_MAX_INSTANCES
        )

    def start(self) -> None:
        """Begin; the first run of each task is one period from now."""
        self._jump = ClockJump(time.time(), time.monotonic())
        self._scheduler.start()

    def stop(self) -> None:
        """End without waiting for a task that runs."""
        if self._scheduler.running:
            self._scheduler.shutdown(wait=False)

    def jobs(self) -> list[dict[str, Any]]:
        """For ``GET /status``: id, next and last run (RFC 3339 UTC or None); the clock's own tick is not shown."""
        shown = [job for job in self._scheduler.get_jobs() if job.id != "clock"]
        return [{"id": j.id, "next": _stamp(j.next_run_time), "last": _stamp(self._last.get(j.id))} for j in shown]

    def _tick(self) -> None:
        if self._jump.check(time.time(), time.monotonic()):
            log.info("clock jumped", extra={"fields": {"reason": "suspend"}})
            self._on_jump()
            self._scheduler.wakeup()

    def _heard(self, event: Any) -> None:
        if event.code == EVENT_JOB_EXECUTED:
            self._last[event.job_id] = datetime.now(tz=event.scheduled_run_time.tzinfo)
        elif event.code == EVENT_JOB_ERROR:
            log.error("scheduled task failed", extra={"fields": {"job": event.job_id, "error": repr(event.exception)}})


def _stamp(moment: datetime | None) -> str | None:
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ") if moment else None
