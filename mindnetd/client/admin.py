"""``mindnet reindex``, ``reconcile``, ``resolve``, ``rebuild``, ``verify``, ``backup``: calls that start work."""

from __future__ import annotations

import json
import os
import sys
import time
from typing import TYPE_CHECKING, Any

from mindnetd.client.main import WrongUseError
from mindnetd.client.paint import bar, clean, table
from mindnetd.client.target import outside

if TYPE_CHECKING:
    from mindnetd.client.main import Call

PAUSES_S = (0.02, 0.05, 0.1, 0.2, 0.5)
"""Between two looks at a job; the last one repeats."""


def run_reindex(call: Call) -> int:
    """Read one note, or all, again."""
    if bool(call.args.note) == bool(call.args.all):
        raise WrongUseError("reindex: give a NOTE or --all, one of them")
    paths = [call.args.note] if call.args.note else []  # the daemon finds the note, hidden ones too
    return _start(call, "/admin/reindex", {"paths": paths, "all": bool(call.args.all)})


def run_reconcile(call: Call) -> int:
    """Compare the vault with the index."""
    return _start(call, "/admin/reconcile", {})


def run_resolve(call: Call) -> int:
    """Resolve all links again."""
    return _start(call, "/admin/resolve", {})


def run_rebuild(call: Call) -> int:
    """Make entities and communities anew."""
    return _start(call, "/admin/communities", {"cold": bool(call.args.cold)})


def _start(call: Call, target: str, body: dict[str, Any]) -> int:
    reply = call.client.post(target, body)
    job = json.loads(reply)
    if call.args.wait:
        job, reply = wait_for(call, job)
    if call.json:
        call.raw(reply)
    else:
        call.out(f"{job['kind']} {job['state']}: job {job['id']}")
    return _code(job)


def wait_for(call: Call, job: dict[str, Any]) -> tuple[dict[str, Any], bytes]:
    """The job once it is over, and the reply that said so; shows progress on a terminal."""
    live = sys.stderr.isatty() and not call.json
    client, looks = call.client, 0
    while True:
        reply = client.get(f"/jobs/{job['id']}")
        job = json.loads(reply)
        if live:
            done, total = job["progress"]["done"], job["progress"]["total"]
            sys.stderr.write(f"\r\x1b[K{job['kind']} {bar(done, total)} {done} of {total}")
            sys.stderr.flush()
        if job["state"] in ("done", "failed"):
            if live:
                sys.stderr.write("\r\x1b[K")
            return job, reply
        time.sleep(PAUSES_S[min(looks, len(PAUSES_S) - 1)])
        looks += 1


def _code(job: dict[str, Any]) -> int:
    if job["state"] == "failed":
        sys.stderr.write(f"mindnet: {job['kind']} failed: {job['error']}\n")
        return 1
    return 0


def run_verify(call: Call) -> int:
    """Check everything; 1 and a list on any difference."""
    job, reply = wait_for(call, json.loads(call.client.post("/admin/verify", {"hashes": call.args.hashes})))
    result = job["result"]
    if call.json:
        call.raw(reply)
    elif job["state"] == "done":
        for row in table([[h["path"], h["body"], h["frontmatter"], h["full"]] for h in result.get("hashes", ())]):
            call.out(row)
        for difference in result["differences"]:
            call.out(clean(difference if isinstance(difference, str) else json.dumps(difference, ensure_ascii=False)))
        call.out("everything agrees" if result["ok"] else f"{len(result['differences'])} differences")
    return _code(job) or (0 if result["ok"] else 1)


def run_backup(call: Call) -> int:
    """Write a consistent copy of the database; never into the vault, never over a file."""
    target = os.path.abspath(call.args.file)
    outside(os.path.dirname(target), json.loads(call.client.get("/status"))["vault"]["path"])
    if os.path.lexists(target):
        raise WrongUseError(f"{target} exists already; choose another name")
    part = f"{target}.part{os.getpid()}"
    try:
        size = _save(call, part)
        os.rename(part, target)
    except OSError as error:
        raise WrongUseError(f"cannot write {target}: {error.strerror}") from error
    finally:
        if os.path.lexists(part):
            os.unlink(part)
    call.out(json.dumps({"file": target, "bytes": size}) if call.json else f"{target}: {size / 1e6:.1f} MB")
    return 0


def _save(call: Call, part: str) -> int:
    size = 0
    with os.fdopen(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        for piece in call.client.stream("GET", "/backup", wait=True):
            size += file.write(piece)
        file.flush()
        os.fsync(file.fileno())
    return size
