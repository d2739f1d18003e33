"""``mindnet doctor``: what may keep the daemon from its work, each with the fix. It changes nothing."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from mindnetd.client.locate import UnclearError, find_socket
from mindnetd.client.paint import Paint, clean
from mindnetd.client.transport import Client, RefusedError, UnreachableError

if TYPE_CHECKING:
    from mindnetd.client.main import Call

STYLES = {"ok": "green", "warning": "yellow", "failed": "red"}
INOTIFY_LIMIT = "/proc/sys/fs/inotify/max_user_watches"
NEARLY = 0.9
"""The share of the user's watches from which on it is said that they run out."""
LEAST_FREE = 512 << 20
"""Bytes: a checkpoint and a backup of a mid-sized vault."""


class Finding(NamedTuple):
    """One thing that was looked at. ``state`` is ok, warning or failed; ``fix`` says what to do."""

    check: str
    state: str
    message: str
    fix: str = ""


def run_doctor(call: Call) -> int:
    """Every check; 1 where one failed (a warning is no failure)."""
    findings = list(examine(call))
    if call.json:
        call.out(json.dumps({"checks": [one._asdict() for one in findings]}, ensure_ascii=False))
    else:
        paint = Paint(call.color)
        for one in findings:
            call.out(f"{paint(f'{one.state:<8}', STYLES[one.state])} {one.check:<12} {clean(one.message)}")
            if one.fix:
                call.out(f"{'':<21} {paint('fix: ' + clean(one.fix), 'bold')}")
    return 1 if any(one.state == "failed" for one in findings) else 0


def examine(call: Call) -> Iterator[Finding]:
    """The checks, in the order in which one thing depends on another."""
    try:
        path = find_socket(call.args.socket, call.args.vault, call.env)
        status = json.loads(Client(path, 10).get("/status"))
        stats = json.loads(Client(path, 30).get("/stats"))
    except UnclearError as error:
        yield Finding("socket", "failed", str(error), "choose one with --vault NAME")
        return
    except UnreachableError as error:
        yield Finding("socket", "failed", str(error), "`mindnetd run --vault DIR`, or `mindnetd service status`")
        return
    except RefusedError as error:
        yield Finding("socket", "failed", f"the daemon refuses: {error.message}", "wait until it has started")
        return
    yield from socket_findings(path)
    yield from status_findings(status, _own_version())
    yield from watch_findings(status["watcher"], _inotify_limit())
    yield from place_findings(status, stats["database_bytes"])


def _own_version() -> str:
    from mindnetd import __version__

    return __version__


def _inotify_limit() -> int | None:
    try:
        with open(INOTIFY_LIMIT, encoding="ascii") as file:
            return int(file.read())
    except (OSError, ValueError):
        return None


def socket_findings(path: str) -> Iterator[Finding]:
    """Who may talk to the daemon: its user alone."""
    open_to_others = [
        f"{place} has mode {stat.S_IMODE(mode):04o}"
        for place, mode in (
            (path, os.stat(path).st_mode),
            (os.path.dirname(path), os.stat(os.path.dirname(path)).st_mode),
        )
        if stat.S_IMODE(mode) & 0o077
    ]
    if len(open_to_others) == 2:  # one closed door is enough
        fix = f"chmod 700 {os.path.dirname(path)}; chmod 600 {path}"
        yield Finding("socket", "warning", f"others may reach it: {' and '.join(open_to_others)}", fix)
    else:
        yield Finding("socket", "ok", f"{path} answers, for this user alone")


def status_findings(status: Mapping[str, Any], version: str) -> Iterator[Finding]:
    """Version, state, types, model, vectors, graph, LLM."""
    if status["version"] == version:
        yield Finding("version", "ok", f"daemon and client are {version}")
    else:
        told = f"the daemon is {status['version']}, this client {version}"
        yield Finding("version", "warning", told, "restart the daemon: `systemctl --user restart mindnetd@NAME`")
    state, reason = status["state"], status["reason"] or ""
    told = f"{state}{': ' + reason if reason else ''}, {status['notes']} notes, revision {status['revision']}"
    if state == "degraded":
        yield Finding("state", "failed", told, "mend what the reason names; it heals by itself then")
    else:
        fix = "`mindnet status --follow` shows its progress" if state != "ready" else ""
        yield Finding("state", "ok" if state == "ready" else "warning", told, fix)
    types = status.get("types") or {}
    if types.get("error"):
        yield Finding("types", "failed", str(types["error"]), f"mend {types.get('file')}; the old types are in force")
    yield _model(status["model"], status["vectors"])
    last = (status.get("graph") or {}).get("last") or {}
    if last.get("error"):
        yield Finding("graph", "failed", f"the entity graph was not made: {last['error']}", "`mindnet rebuild --wait`")
    yield _llm(status.get("llm"))


def _model(model: Mapping[str, Any] | None, vectors: Mapping[str, int]) -> Finding:
    if not model or not model["ready"]:
        error = f": {model['error']}" if model and model.get("error") else ""
        return Finding(
            "model", "failed", f"no model is ready, so only words are searched{error}", "`mindnetd model pull`"
        )
    if vectors["pending"]:
        told = f"{model['name']} is ready; {vectors['pending']} passages wait for their vector"
        return Finding("model", "warning", told, "wait; `mindnet status --follow` shows how long")
    return Finding("model", "ok", f"{model['name']} is ready, {vectors['ready']} passages have their vector")


def _llm(llm: Mapping[str, Any] | None) -> Finding:
    if not llm or llm.get("enabled") == "off":
        return Finding("llm", "ok", "none is used: answers are sentences of the notes")
    if llm.get("available"):
        return Finding("llm", "ok", f"{llm.get('model')} answers on {llm.get('host')}")
    error = llm.get("error")
    why = error.get("message") if isinstance(error, Mapping) else error
    told = f"{llm.get('model')} does not answer on {llm.get('host')}{': ' + str(why) if why else ''}"
    fix = f"`ollama serve`, `ollama pull {llm.get('model')}`; or set llm.enabled: off"
    return Finding(
        "llm", "warning" if llm.get("enabled") == "on" else "ok", told, fix if llm.get("enabled") == "on" else ""
    )


def watch_findings(watcher: Mapping[str, Any], limit: int | None) -> Iterator[Finding]:
    """How changes of the vault are seen, and whether the kernel's limit is near."""
    told = f"{watcher['kind']}, {watcher['watches']} folders watched, {watcher['overflows']} overflows"
    more = f"sudo sysctl fs.inotify.max_user_watches={max(524288, 2 * (limit or 0))} (and in /etc/sysctl.d to keep it)"
    if watcher["kind"] == "scan":
        yield Finding(
            "watcher", "warning", f"{told}: {watcher.get('reason') or 'no inotify'}", _scan_fix(watcher, more)
        )
    elif watcher["overflows"]:
        queue = "sudo sysctl fs.inotify.max_queued_events=65536"
        yield Finding("watcher", "warning", f"{told}; nothing is lost, each cost a scan", queue)
    else:
        yield Finding("watcher", "ok", told)
    if limit is not None:
        near = watcher["watches"] > limit * NEARLY
        share = f"{watcher['watches']} of {limit} watches of this user are the daemon's"
        yield Finding("inotify", "warning" if near else "ok", share, more if near else "")


def _scan_fix(watcher: Mapping[str, Any], more: str) -> str:
    reason = str(watcher.get("reason") or "").lower()
    if "watch" in reason or "limit" in reason or "inotify" in reason:
        return more
    return "none is needed: changes are found by scans, a few seconds later"


def place_findings(status: Mapping[str, Any], size: int) -> Iterator[Finding]:
    """Vault and database: may they be read and written, is there room."""
    vault = status["vault"]["path"]
    if os.access(vault, os.R_OK | os.X_OK):
        yield Finding("vault", "ok", f"{vault} can be read")
    else:
        yield Finding("vault", "failed", f"{vault} cannot be read", f"mount it, or `chmod u+rx {vault}`")
    database = status.get("database")
    if not database:  # an older daemon does not say where
        return
    folder = os.path.dirname(database)
    try:
        mode, room = stat.S_IMODE(os.stat(database).st_mode), os.statvfs(folder)
    except OSError as error:
        yield Finding("database", "failed", f"{database}: {error.strerror}", "restart the daemon: it makes a new one")
        return
    if mode & 0o077:
        yield Finding(
            "database",
            "warning",
            f"{database} has mode {mode:04o}: others may read your notes",
            f"chmod 600 {database}",
        )
    else:
        yield Finding("database", "ok", f"{database}, {size / 1e6:.1f} MB; `mindnet verify` compares it with the vault")
    free = room.f_bavail * room.f_frsize
    if free < max(LEAST_FREE, 2 * size):
        yield Finding(
            "disk",
            "warning",
            f"{free / 1e6:.0f} MB are free in {folder}",
            "make room, or move `db` in the configuration",
        )
    else:
        yield Finding("disk", "ok", f"{free / 1e9:.1f} GB are free in {folder}")
