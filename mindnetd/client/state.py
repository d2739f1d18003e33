"""``mindnet status``, ``stats``, ``runs``, ``events``: what the daemon does."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from mindnetd.client.paint import Paint, bar, clean, table
from mindnetd.client.transport import query_string, quote

if TYPE_CHECKING:
    from mindnetd.client.main import Call

STATE_STYLES = {"ready": "green", "indexing": "blue", "starting": "blue", "degraded": "red", "stopping": "yellow"}
DAY_H = 24
PULSE = "watch"
"""The job that looks after the watcher every few seconds: no news."""
SHOWN_ELSEWHERE = ("event", "time", "path", "id", "ended")
UP_AND_CLEAR = "\x1b[{}F\x1b[J"


def run_status(call: Call) -> int:
    """The state; with --follow again each second until interrupted."""
    client, shown = call.client, list[str]()
    while True:
        body = client.get("/status")
        if call.json:
            call.raw(body)
        else:
            lines = list(show_status(json.loads(body), Paint(call.color)))
            if shown and sys.stdout.isatty():
                call.out(UP_AND_CLEAR.format(len(shown)) + "\n".join(lines))
            elif lines != shown:
                call.out("\n".join(([""] if shown else []) + lines))
            shown = lines
        if not call.args.follow:
            return 0
        sys.stdout.flush()
        time.sleep(1.0)


def show_status(status: Mapping[str, Any], paint: Paint) -> Iterable[str]:
    """The state for a person."""
    state, vault, vectors = status["state"], status["vault"], status["vectors"]
    types_error = (status.get("types") or {}).get("error")  # no such field from an older daemon that still runs
    told_below = (None, "", (status["model"] or {}).get("error"), types_error)
    reason = f": {clean(status['reason'])}" if status["reason"] not in told_below else ""
    yield f"{paint(state, STATE_STYLES.get(state, 'bold'))}{reason}  {paint(vault['path'], 'cyan')}"
    yield f"  index     {status['notes']} notes, {status['chunks']} chunks, revision {status['revision']}"
    total = vectors["ready"] + vectors["pending"]
    progress = status["progress"] or {"stage": None, "done": 0, "total": 0}  # none from an older daemon that still runs
    eta = f", about {_span(progress['eta_s'])} left" if progress.get("eta_s") else ""
    if progress["done"] < progress["total"] and progress["stage"] != "vectors":
        yield f"  reading   {bar(progress['done'], progress['total'])} {progress['done']} of {progress['total']}{eta}"
        eta = ""
    yield f"  vectors   {bar(vectors['ready'], total)} {vectors['ready']} of {total} passages{eta}"
    if status["queue"]:
        yield f"  queue     {status['queue']} paths"
    watcher = status["watcher"]
    yield f"  watcher   {watcher['kind']}, {watcher['watches']} folders, {watcher['overflows']} overflows"
    yield f"  model     {_model(status['model'])}"
    if types_error:
        yield f"  types     {clean(types_error)}; the types as they were are in force"
    yield f"  daemon    {status['version']}, up {_span(status['uptime_s'])}, {status['rss_bytes'] / 1e6:.0f} MB"
    now = datetime.now(UTC)
    jobs = [
        f"{job['id']} in {_span(_until(job['next'], now))}"
        for job in status["jobs"]
        if job["next"] and job["id"] != PULSE
    ]
    if jobs:
        yield f"  next      {', '.join(jobs)}"


def _model(model: Mapping[str, Any] | None) -> str:
    if not model:
        return "none: the words are searched, meaning is not; `mindnetd model pull` fetches one"
    name = clean(model["name"]).removeprefix(f"{model['backend']}:")
    state = "ready" if model["ready"] else "not ready"
    error = f": {clean(model['error'])}" if model.get("error") else ""
    return f"{name} ({clean(model['backend'])}), {state}{error}"


def _until(moment: str, now: datetime) -> float:
    return max((datetime.fromisoformat(moment) - now).total_seconds(), 0.0)


def _span(seconds: float) -> str:
    minutes = int(seconds) // 60
    hours = minutes // 60
    if hours >= DAY_H:
        return f"{hours // DAY_H} d {hours % DAY_H} h"
    return f"{hours} h {minutes % 60} min" if hours else f"{minutes} min" if minutes else f"{seconds:.0f} s"


def run_stats(call: Call) -> int:
    """Counts."""
    body = call.client.get("/stats", **call.seen)
    if call.json:
        call.raw(body)
        return 0
    stats = json.loads(body)
    rows = [[name, str(value)] for name, value in stats.items() if isinstance(value, int)]
    rows += [[f"embeddings {name}", str(value)] for name, value in stats["embeddings"].items()]
    for relation, sources in stats["edges"].items():
        rows.append([f"edges {relation}", ", ".join(f"{source} {count}" for source, count in sources.items() if count)])
    for line in table(rows):
        call.out(line)
    return 0


def run_runs(call: Call) -> int:
    """Import runs, newest first, or one of them."""
    one = call.args.run
    body = call.client.get(
        f"/runs/{quote(one)}" if one else "/runs", **({} if one else {"limit": call.args.limit}), **call.seen
    )
    reply = json.loads(body)
    if call.json:
        call.raw(body)
    elif one:
        for name, value in reply["run"].items():
            call.out(f"{name:<18} {clean(str(value))}")
    else:
        for line in table([_run_row(run) for run in reply["runs"]]):
            call.out(line)
    return 0 if one or reply["runs"] else 1


def _run_row(run: Mapping[str, Any]) -> list[str]:
    return [
        run["id"],
        run["started"],
        run["trigger"],
        f"{run['files_changed']} of {run['files_seen']} files changed",
        f"{run['embeddings_made']} embedded",
        f"{run['embeddings_reused']} reused",
        f"{run['files_failed']} failed" if run["files_failed"] else "",
    ]


def run_log(call: Call) -> int:
    """Logged questions, newest first."""
    body = call.client.get("/query-log", limit=call.args.limit, **call.seen)
    entries = json.loads(body)["query_log"]
    if call.json:
        call.raw(body)
    else:
        for line in table([[entry["at"], f"{entry['took_ms']:.0f} ms", entry["query"]] for entry in entries]):
            call.out(line)
    return 0 if entries else 1


def run_events(call: Call) -> int:
    """Events as they come, until the daemon stops."""
    pending = b""
    for part in call.client.stream("GET", "/events" + query_string(call.seen), wait=True):
        *lines, pending = (pending + part).split(b"\n")
        for line in lines:
            if line.strip():
                call.out(line.decode("utf-8", "replace") if call.json else event_line(json.loads(line)))
        sys.stdout.flush()
    return 0


def event_line(event: Mapping[str, Any]) -> str:
    """Local time, event, the note it is about, and the rest; `--json` has the ids."""
    path = [clean(str(event["path"]))] if "path" in event else []
    rest = [f"{k}={clean(str(v))}" for k, v in event.items() if k not in SHOWN_ELSEWHERE and v is not None]
    at = datetime.fromisoformat(event["time"]).astimezone().strftime("%H:%M:%S") if event.get("time") else ""
    return "  ".join([f"{at:<8}", f"{event['event']:<14}", *path, *rest]).rstrip()
