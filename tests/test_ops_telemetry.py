"""Logs: one line a record, fields beside a constant message, never long text."""

from __future__ import annotations

import io
import json
import logging
import os
import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest

from mindnetd.telemetry import MAX_VALUE, bind, event, setup_logging


@pytest.fixture(autouse=True)
def _restore() -> Iterator[None]:
    """The process's logging is as it was after each test."""
    root = logging.getLogger()
    handlers, level = list(root.handlers), root.level
    yield
    root.handlers[:], root.level = handlers, level
    logging.captureWarnings(False)


def lines(stream: io.StringIO) -> list[dict[str, object]]:
    return [json.loads(line) for line in stream.getvalue().splitlines()]


def test_json_record() -> None:
    """A record is one JSON object: head, then fields from the call, from ``extra`` and from what is bound."""
    stream = io.StringIO()
    setup_logging("json", {}, stream=stream)
    log = logging.getLogger("mindnetd.test")
    with bind(run_id="r1"), bind(path="a\nb.md"):
        event(log, "note indexed", ms=1.23456789, ok=True, none=None)
    log.warning("plain", extra={"count": 3})
    first, second = lines(stream)
    assert first["message"] == "note indexed"
    assert (first["run_id"], first["path"], first["ms"], first["ok"]) == ("r1", "a\nb.md", 1.234568, True)
    assert (first["level"], first["logger"]) == ("info", "mindnetd.test")
    assert (second["count"], "run_id" in second) == (3, False)


def test_long_values_are_cut_and_traces_hold_no_values() -> None:
    """A field that could be a note's text is cut; an error gives type, short text and places only."""
    stream = io.StringIO()
    setup_logging("json", {}, stream=stream)
    log = logging.getLogger("mindnetd.test")
    event(log, "x", text="secret " * 1000)
    try:
        raise ValueError("y" * 1000)
    except ValueError:
        log.exception("failed")
    first, second = lines(stream)
    assert len(str(first["text"])) == len(str(second["error_text"])) == MAX_VALUE + 1
    assert second["error"] == "ValueError"
    assert str(second["trace"]).startswith("['test_ops_telemetry.py:")


def test_text_record() -> None:
    """Text is one line: time, level, message, key=value; values with spaces or breaks are quoted."""
    stream = io.StringIO()
    setup_logging("text", {}, stream=stream)
    event(logging.getLogger("mindnetd.test"), "two\nlines", path="a b\nc.md", n=1)
    assert stream.getvalue().splitlines()[0].endswith(' info    two lines path="a b\\nc.md" n=1')


def test_journal_priorities(tmp_path: Path) -> None:
    """Text that goes to the journal carries its priority instead of a time."""
    with (tmp_path / "journal").open("w+") as stream:
        stat = os.fstat(stream.fileno())
        setup_logging("text", {"JOURNAL_STREAM": f"{stat.st_dev}:{stat.st_ino}"}, stream=stream)
        logging.getLogger("mindnetd.test").error("bad")
        stream.flush()
        assert (tmp_path / "journal").read_text() == "<3>mindnetd.test: bad\n"


def test_levels_and_warnings() -> None:
    """Chatty libraries are held back; Python's warnings become records."""
    stream = io.StringIO()
    setup_logging("json", {}, level="debug", stream=stream)
    logging.getLogger("apscheduler.x").info("quiet")
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.warn("careful", UserWarning, stacklevel=1)
    assert [("careful" in str(line["message"])) for line in lines(stream)] == [True]
