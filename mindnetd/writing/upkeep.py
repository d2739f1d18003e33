"""What keeps the file healthy by the clock: garbage, log trim, backups. All of it runs on the writer thread."""

from __future__ import annotations

import logging
import time
from datetime import timedelta

from mindnetd.engine import SPARE, Engine
from mindnetd.errors import StoreError
from mindnetd.schedule import Task, task_of
from mindnetd.store import upkeep
from mindnetd.store.records import utc_now
from mindnetd.store.write_logs import trim_logs
from mindnetd.telemetry import event
from mindnetd.writing.writer import Writer

log = logging.getLogger(__name__)

DAY_S = 86_400.0


class Upkeep:
    """The tasks of ``maintenance`` in the configuration."""

    def __init__(self, engine: Engine, writer: Writer) -> None:
        self._engine, self._writer = engine, writer

    def tasks(self) -> tuple[Task, ...]:
        """Garbage and logs once a day; backups as configured."""
        tasks = [Task("garbage", DAY_S, lambda: self._writer.call(self._clean))]
        schedule = self._engine.config.maintenance.backup
        if schedule != "off":
            tasks.append(task_of("backup", schedule, lambda: self._writer.call(self._back_up)))
        return tuple(tasks)

    def _clean(self) -> None:
        maintenance = self._engine.config.maintenance
        gone = upkeep.collect_garbage(self._engine.db, utc_now(), maintenance.gc_days)
        if gone:
            self._engine.reload()  # the resident index must not hold vectors that the file has lost
        trim_logs(self._engine.db, utc_now() - timedelta(days=maintenance.log_days))
        self._engine.housekeep()
        event(log, "garbage collected", vectors=gone)

    def _back_up(self) -> None:
        """A copy beside the database; the newest ``keep`` stay."""
        folder = self._engine.config.db.parent / SPARE
        target = folder / f"{self._engine.config.name}-{time.strftime('%Y%m%dT%H%M%SZ', time.gmtime())}.duckdb"
        try:
            upkeep.backup(self._engine.db, target)
        except StoreError as error:
            event(log, "backup failed", logging.ERROR, reason=error.message)
            return
        copies = sorted(folder.glob(f"{self._engine.config.name}-*Z.duckdb"))
        for old in copies[: -self._engine.config.maintenance.keep]:
            old.unlink(missing_ok=True)
        event(log, "backup written", path=str(target))
