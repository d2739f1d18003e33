"""Logs: a constant message plus fields, one record a line, as JSON or as text, on stderr. Never text of a note.

Where systemd's journal takes stderr and systemd-python is installed, records go there with their fields. Ids of a run
or a request are bound once with `bind` and stand in every record of that thread or task.
"""

from __future__ import annotations

import contextlib
import contextvars
import json
import logging
import os
import sys
import time
from collections.abc import Iterator, Mapping
from typing import Any, Literal, TextIO

LogFormat = Literal["json", "text"]
MAX_VALUE = 300
"""Longer values are cut: a field is a path, a code, a figure; whatever is longer may be a note's text."""

_STANDARD = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "fields", "taskName", "color_message"}
_bound: contextvars.ContextVar[Mapping[str, Any]] = contextvars.ContextVar("mindnetd_log_fields")
_SYSLOG = {logging.DEBUG: 7, logging.INFO: 6, logging.WARNING: 4, logging.ERROR: 3, logging.CRITICAL: 2}


@contextlib.contextmanager
def bind(**fields: Any) -> Iterator[None]:
    """Add fields to every record of this thread or task until the block ends."""
    token = _bound.set({**_bound.get({}), **fields})
    try:
        yield
    finally:
        _bound.reset(token)


def event(logger: logging.Logger, message: str, level: int = logging.INFO, /, **fields: Any) -> None:
    """Log a constant ``message`` with fields: ``event(log, "note indexed", path=path, ms=12.5)``."""
    logger.log(level, message, extra={"fields": fields}, stacklevel=2)


def fields_of(record: logging.LogRecord) -> dict[str, Any]:
    """The fields of a record: bound ones, ``extra`` ones, and the error's type and text; values made safe to print."""
    found: dict[str, Any] = dict(_bound.get({}))
    found |= {key: value for key, value in vars(record).items() if key not in _STANDARD}
    found |= getattr(record, "fields", {})
    if record.exc_info and record.exc_info[1] is not None:
        error = record.exc_info[1]
        found |= {"error": type(error).__name__, "error_text": str(error), "trace": _trace(record)}
    return {key: _safe(value, len_limit=None if key == "trace" else MAX_VALUE) for key, value in found.items()}


def _trace(record: logging.LogRecord) -> list[str]:
    """File, line and function of each frame, outermost first: no source text, no values."""
    frames = []
    frame = record.exc_info[2] if record.exc_info else None
    while frame is not None:
        code = frame.tb_frame.f_code
        frames.append(f"{os.path.basename(code.co_filename)}:{frame.tb_lineno} {code.co_name}")  # noqa: PTH119
        frame = frame.tb_next
    return frames[-12:]


def _safe(value: Any, len_limit: int | None) -> Any:
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, float):
        return round(value, 6) if value == value and abs(value) != float("inf") else None
    if isinstance(value, list | tuple) and len_limit is None:
        return [str(item) for item in value]
    text = str(value)
    return text if len_limit is None or len(text) <= len_limit else text[:len_limit] + "…"


def _stamp(created: float) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(created)) + f".{int(created % 1 * 1000):03d}Z"


class JsonFormatter(logging.Formatter):
    """One JSON object a line: time, level, logger, message, then the fields."""

    def format(self, record: logging.LogRecord) -> str:
        """The record as one line of JSON."""
        head = {
            "time": _stamp(record.created),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        return json.dumps({**fields_of(record), **head}, ensure_ascii=False, default=str)


class TextFormatter(logging.Formatter):
    """``time level message key=value ...``; with ``priority`` the journal's ``<6>`` before it."""

    def __init__(self, priority: bool = False) -> None:
        super().__init__()
        self._priority = priority

    def format(self, record: logging.LogRecord) -> str:
        """The record as one line of text."""
        fields = "".join(f" {key}={_quoted(value)}" for key, value in fields_of(record).items())
        message = record.getMessage().replace("\n", " ")
        if self._priority:
            return f"<{_SYSLOG.get(record.levelno, 6)}>{record.name}: {message}{fields}"
        return f"{_stamp(record.created)} {record.levelname.lower():<7} {message}{fields}"


def _quoted(value: Any) -> str:
    text = str(value)
    return json.dumps(text, ensure_ascii=False) if not text or any(c in text for c in ' "=\n\r\t') else text


def _is_journal(stream: TextIO, env: Mapping[str, str]) -> bool:
    """True if ``stream`` is the one that systemd reads into the journal."""
    try:
        stat = os.fstat(stream.fileno())
    except (OSError, ValueError):
        return False
    return env.get("JOURNAL_STREAM", "") == f"{stat.st_dev}:{stat.st_ino}"


def _journal_handler() -> logging.Handler | None:
    try:
        from systemd import journal  # type: ignore[import-not-found,unused-ignore]
    except ImportError:
        return None

    class Handler(journal.JournalHandler):  # type: ignore[misc,unused-ignore]
        """The journal's own handler, with our fields as MINDNET_*."""

        def emit(self, record: logging.LogRecord) -> None:
            """Send the record; fields as strings."""
            fields = {f"MINDNET_{k.upper()}": str(v) for k, v in fields_of(record).items()}
            journal.send(
                record.getMessage(), PRIORITY=_SYSLOG.get(record.levelno, 6), SYSLOG_IDENTIFIER="mindnetd", **fields
            )

    return Handler()


def setup_logging(
    log_format: LogFormat | None,
    env: Mapping[str, str],
    *,
    level: int | str = logging.INFO,
    stream: TextIO | None = None,
) -> None:
    """Send every logger of the process to stderr (or ``stream``). Format None: text on a terminal, the journal's own
    fields where it listens, else JSON. Calling it again replaces the handler."""
    out = stream or sys.stderr
    journal = _is_journal(out, env)
    handler = _journal_handler() if journal and log_format is None else None
    if handler is None:
        handler = logging.StreamHandler(out)
        as_text = log_format == "text" or (log_format is None and out.isatty())
        handler.setFormatter(TextFormatter(priority=journal) if as_text else JsonFormatter())
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level.upper() if isinstance(level, str) else level)
    logging.captureWarnings(True)
    for name in ("uvicorn", "uvicorn.error", "uvicorn.access"):  # they would print a second time in their own way
        logging.getLogger(name).handlers.clear()
        logging.getLogger(name).propagate = name != "uvicorn.access"  # requests are counted in metrics, not logged
    for name in ("apscheduler", "watchdog", "httpx", "httpcore"):
        logging.getLogger(name).setLevel(max(root.level, logging.WARNING))
