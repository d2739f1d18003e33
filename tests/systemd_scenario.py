"""Runs beside a real user manager (``user-systemd.sh``) and plays the life of the installed unit; prints each step.

    systemd_scenario.py FOLDER     FOLDER: for the two vaults; everything else lies in this user's own folders

Not a test by itself: test_service_systemd.py starts it and reads its lines.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from mindnetd.client.transport import Client, UnreachableError

RUNTIME = Path(os.environ["XDG_RUNTIME_DIR"], "mindnetd")


def step(name: str, seconds: float) -> None:
    print(f"ok {name} {seconds:.2f}", flush=True)


def run(*words: str, check: bool = True) -> str:
    done = subprocess.run(words, capture_output=True, text=True, timeout=120, check=False)
    if check and done.returncode != 0:
        raise SystemExit(f"{' '.join(words)}: {done.returncode}: {done.stdout}{done.stderr}\n{journal()}")
    return done.stdout


def journal() -> str:
    words = ["journalctl", "--no-pager", "-o", "cat", "-n", "40"]
    return subprocess.run(words, capture_output=True, text=True, check=False).stdout


def service(*words: str) -> str:
    return run(sys.executable, "-m", "mindnetd.cli", "service", *words)


def show(name: str, field: str) -> str:
    return run("systemctl", "--user", "show", "--value", "-p", field, f"mindnetd@{name}.service").strip()


def status(name: str) -> dict[str, Any] | None:
    try:
        body: dict[str, Any] = json.loads(Client(str(RUNTIME / f"{name}.sock"), 10).get("/status"))
    except UnreachableError:
        return None
    return body


def until(what: str, seconds: float, condition: Callable[[], object]) -> float:
    start, pause = time.monotonic(), threading.Event()
    while not condition():
        if time.monotonic() - start > seconds:
            raise SystemExit(f"not within {seconds:g} s: {what}\n{journal()}")
        pause.wait(0.05)
    return time.monotonic() - start


def ready(name: str) -> bool:
    found = status(name)
    return found is not None and found["state"] == "ready"


def install(name: str, folder: Path) -> None:
    """READY comes only after the socket answers; the index may still be on its way."""
    start = time.monotonic()
    service("install", "--name", name, "--vault", str(folder / name))
    if status(name) is None or show(name, "ActiveState") != "active":
        raise SystemExit(f"{name}: systemd says started, but the socket does not answer\n{journal()}")
    step(f"install-{name}", time.monotonic() - start)
    step(f"indexed-{name}", until("all notes", 60, lambda: ready(name)))
    until("a status line", 20, lambda: "43" in show(name, "StatusText"))
    step("status " + show(name, "StatusText").replace(" ", "_"), 0)


def reload(name: str) -> None:
    """A reload takes over a changed key and keeps the process; one with an error keeps the old values."""
    pid, config = show(name, "MainPID"), Path.home() / f".config/mindnetd/{name}.yaml"
    start = time.monotonic()
    with config.open("a") as out:
        out.write("privacy: {max_query_visibility: public}\n")
    run("systemctl", "--user", "reload", f"mindnetd@{name}.service")
    until("active again", 20, lambda: show(name, "ActiveState") == "active")
    until("the new value", 20, lambda: denied(name))
    if show(name, "MainPID") != pid:
        raise SystemExit("a reload started another process")
    step("reload", time.monotonic() - start)
    text = config.read_text()
    config.write_text(text + "nonsense: 1\n")
    run("systemctl", "--user", "reload", f"mindnetd@{name}.service", check=False)
    until("active again", 20, lambda: show(name, "ActiveState") == "active")
    if not ready(name) or show(name, "MainPID") != pid or not denied(name):
        raise SystemExit("a broken configuration harmed the running daemon")
    config.write_text(text)
    step("reload-broken", 0)


def denied(name: str) -> bool:
    from mindnetd.client.transport import RefusedError

    try:
        Client(str(RUNTIME / f"{name}.sock"), 10).get("/notes", visibility="internal")
    except RefusedError as error:
        return error.code == "visibility_denied"
    return False


def hang(name: str) -> None:
    """A stopped process is killed by the watchdog and a new one answers."""
    drop_in = Path.home() / f".config/systemd/user/mindnetd@{name}.service.d/90-test.conf"
    drop_in.write_text("[Service]\nWatchdogSec=3\n")
    run("systemctl", "--user", "daemon-reload")
    run("systemctl", "--user", "restart", f"mindnetd@{name}.service")
    pid = int(show(name, "MainPID"))
    threading.Event().wait(7)  # pings: alive longer than two watchdog times
    if int(show(name, "MainPID")) != pid:
        raise SystemExit(f"killed although it was alive\n{journal()}")
    os.kill(pid, signal.SIGSTOP)
    took = until("another process", 30, lambda: show(name, "MainPID") not in ("0", str(pid)))
    until("ready", 60, lambda: show(name, "ActiveState") == "active" and ready(name))
    if show(name, "NRestarts") == "0":
        raise SystemExit("it was not systemd that restarted it")
    step("watchdog", took)


def stop(name: str, other: str) -> None:
    """One instance's stop is quick, ends well, and leaves the other's socket."""
    start = time.monotonic()
    run("systemctl", "--user", "stop", f"mindnetd@{name}.service")
    took = time.monotonic() - start
    if show(name, "Result") != "success" or took > 10:
        raise SystemExit(f"stop: {show(name, 'Result')} after {took:.1f} s\n{journal()}")
    if (RUNTIME / f"{name}.sock").exists() or not ready(other):
        raise SystemExit("the socket stayed, or the other instance lost its own")
    step("stop", took)


def sandbox(name: str) -> None:
    """From inside the unit's own view the vault and the home folder cannot be written, the state folder can."""
    pid = show(name, "MainPID")
    mounts = Path(f"/proc/{pid}/mountinfo").read_text().splitlines()
    options = {line.split()[4].replace("\\040", " "): line.split()[5] for line in mounts}
    writable = {path for path, flags in options.items() if flags.startswith("rw") and path.startswith(str(Path.home()))}
    if options["/"].startswith("rw") or not any("state/mindnetd" in path for path in writable):
        raise SystemExit(f"not the view that was meant: / is {options['/']}, writable are {writable}")
    step("sandbox", 0)


def main() -> None:
    folder = Path(sys.argv[1])
    demo = Path(__file__).resolve().parent.parent / "demo"
    for name in ("one", "two"):
        shutil.copytree(demo, folder / name)
        install(name, folder)
    sandbox("one")
    reload("one")
    hang("two")
    stop("two", "one")
    service("uninstall", "--name", "two")
    service("uninstall", "--name", "one")
    print("done", flush=True)


if __name__ == "__main__":
    main()
