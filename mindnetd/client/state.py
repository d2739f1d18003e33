"""``mindnet status``, ``stats``, ``runs``, ``events``: what the daemon does."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from mindnetd.client.paint import Paint, bar, clean, table
from mindnetd.client.transport import query_string, quote

if TYPE_CHECKING:
    from mindnetd.client.main import Call

STATE_STYLES = {"ready": "green", "indexing": "blue", "starting": "blue", "degraded": "red", "stopping": "yellow"}


def run_status(call: Call) -> int:
    """The state; with --follow again each second until interrupted."""
    client = call.client
    while True:
        body = client.get("/status")
        if call.json:
            call.raw(body)
        else:
            for line in show_status(json.loads(body), Paint(call.color)):
                call.out(line)
        if not call.args.follow:
            return 0
        sys.stdout.flush()
        time.sleep(1.0)


def show_status(status: Mapping[str, Any], paint: Paint) -> Iterable[str]:
    """The state for a person."""
    state, vault, vectors = status["state"], status["vault"], status["vectors"]
    reason = f": {clean(status['reason'])}" if status["reason"] else ""
    yield f"{paint(state, STATE_STYLES.get(state, 'bold'))}{reason}  {paint(vault['path'], 'cyan')}"
    yield f"  index     {status['notes']} notes, {status['chunks']} chunks, revision {status['revision']}"
    total = vectors["ready"] + vectors["pending"]
    yield f"  vectors   {bar(vectors['ready'], total)} {vectors['ready']} of {total}"
    progress = status["progress"]
    if progress["done"] < progress["total"]:
        eta = f", about {progress['eta_s']:.0f} s left" if progress.get("eta_s") is not None else ""
        yield f"  progress  {bar(progress['done'], progress['total'])} {progress['done']} of {progress['total']}{eta}"
    if status["queue"]:
        yield f"  queue     {status['queue']} paths"
    watcher = status["watcher"]
    yield f"  watcher   {watcher['kind']}, {watcher['watches']} folders, {watcher['overflows']} overflows"
    yield f"  model     {_brief(status['model'])}"
    yield f"  daemon    {status['version']}, up {_span(status['uptime_s'])}, {status['rss_bytes'] / 1e6:.0f} MB"
    for job in status["jobs"]:
        yield f"  job       {job['id']}: next {job['next'] or 'never'}, last {job['last'] or 'never'}"


def _brief(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name} {clean(str(part))}" for name, part in value.items() if part not in (None, ""))
    return clean(str(value)) if value else "none"


def _span(seconds: float) -> str:
    minutes = int(seconds) // 60
    hours = minutes // 60
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
    body = call.client.get(f"/runs/{quote(one)}") if one else call.client.get("/runs", limit=call.args.limit)
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
    body = call.client.get("/query-log", limit=call.args.limit)
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
                call.out(line.decode("utf-8", "replace") if call.json else _event_line(json.loads(line)))
        sys.stdout.flush()
    return 0


def _event_line(event: dict[str, Any]) -> str:
    rest = "  ".join(f"{name}={clean(str(value))}" for name, value in event.items() if name not in ("event", "time"))
    return f"{event.get('time', '')}  {event['event']:<14} {rest}".rstrip()
