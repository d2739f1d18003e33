"""A watching process of its own, for tests that stop it or give it other limits and mounts.

``python watch_child.py plain|ours FOLDER CANARY`` prints one JSON list a line (``["event", ...]``, ``["dirty", ...]``,
``["doubt", ...]``, ``["status", {...}]``) and obeys lines on its input: ``tick SECONDS``, ``scan``, ``status``,
``run SHELL COMMAND``, and its end.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from dataclasses import asdict
from pathlib import Path

from watch_helper import SimpleRules
from watchdog.events import FileSystemEvent, FileSystemEventHandler
from watchdog.observers import Observer

from mindnetd.watch import Watcher, WatchOptions
from mindnetd.watching.observe import EVENTS
from mindnetd.watching.scan import scan

_printing = threading.Lock()


def say(*words: object) -> None:
    with _printing:
        sys.stdout.write(json.dumps(words) + "\n")
        sys.stdout.flush()


class Plain:
    """watchdog as its manual shows it."""

    def __init__(self, root: Path) -> None:
        class Handler(FileSystemEventHandler):
            def on_any_event(self, event: FileSystemEvent) -> None:
                say("event", type(event).__name__, os.path.relpath(os.fsdecode(event.src_path), root))

        self.observer = Observer()
        self.observer.schedule(Handler(), str(root), recursive=True, event_filter=EVENTS)
        self.observer.start()

    def obey(self, command: str, _argument: str) -> None:
        if command == "status":
            say("status", {"alive": self.observer.is_alive()})


class Ours:
    """Our watcher, and a scan when asked."""

    def __init__(self, root: Path, canary: Path) -> None:
        self.root = root
        self.watcher = Watcher(
            root,
            SimpleRules(),
            lambda kind, path: say("dirty", kind, path),
            lambda reason: say("doubt", reason),
            WatchOptions(canary_dir=canary),
        )
        self.watcher.start()

    def obey(self, command: str, argument: str) -> None:
        if command == "tick":
            self.watcher.tick(float(argument))
        elif command == "scan":
            found = scan(self.root, SimpleRules())
            self.watcher.scanned(found)
            say("scan", sorted(found.files))
        elif command == "status":
            say("status", asdict(self.watcher.status()))


def main() -> None:
    mode, root, canary = sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3])
    watcher = Plain(root) if mode == "plain" else Ours(root, canary)
    say("ready")
    for line in sys.stdin:
        command, _, argument = line.strip().partition(" ")
        if command == "run":
            subprocess.run(argument, shell=True, check=True)
        else:
            watcher.obey(command, argument)
        say("done", command)


if __name__ == "__main__":
    main()
