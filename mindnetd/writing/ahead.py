"""Deriving ahead: while the writer commits, a child process reads and derives the notes that come next.

Deriving is pure, so it does not matter where it is done; in bulk it is half of the work, and Python does one thing at a
time in a process. The writer still reads every note itself and takes a result only if it was made of the very same
bytes. It never waits for the child: while no result has arrived it derives another note itself, so both are busy until
the end. A child that is slow, dead or mistaken costs time and nothing else.
"""

from __future__ import annotations

import dataclasses
import gc
import logging
import os
import pickle
import struct
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from mindnetd.core.derive import DeriveOptions, Draft, derive
from mindnetd.inference.tokenizer import PinnedCounter
from mindnetd.telemetry import event
from mindnetd.watching.vaultio import ReadOutcome, read_stable

log = logging.getLogger(__name__)

FRAME = struct.Struct("<Q")
WORTH_IT = 400
"""Bulk work of fewer notes is done before a child would be ready."""
WINDOW = 384
"""Notes that may be asked for and not yet taken: what bounds the memory of results that wait."""
ASK_AT_ONCE = 32
PATIENCE_S = 30.0
"""How long the writer waits for the last results before it does the work itself (a huge note takes seconds)."""
NICER = 5
"""The child runs at a lower priority than the writer: a save must not wait for it."""


@dataclass(frozen=True)
class Result:
    """A note as the child derived it, without its bytes; ``draft`` None: it could not tell."""

    path: str
    draft: Draft | None

    def of(self, raw: bytes, raw_hash: str) -> Draft | None:
        """The draft, if it was made of exactly these bytes."""
        if self.draft is None or self.draft.raw_hash != raw_hash:
            return None
        return dataclasses.replace(self.draft, raw=raw)


class Ahead:
    """The parent's end: `ask` for notes, take each one that has come with `arrived`. Writer thread.

    A note that was asked for comes exactly once, with a result or without. Raises OSError if no process can be started.
    """

    def __init__(self, vault: Path, options: DeriveOptions, max_bytes: int) -> None:
        # in a session of its own: an interrupt at the terminal is for the parent, which ends the child
        self._child = subprocess.Popen(
            [sys.executable, "-m", "mindnetd.writing.ahead"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,
        )
        self._asked: dict[str, None] = {}
        self._results: deque[tuple[str, bytes]] = deque()
        self._arrived = threading.Condition()
        self._over = False
        self._send((vault, options, max_bytes))
        self._reader = threading.Thread(target=self._read, name="mindnetd-ahead", daemon=True)
        self._reader.start()

    def __len__(self) -> int:
        """How many notes were asked for and have not been taken."""
        return len(self._asked)

    @property
    def asked(self) -> list[str]:
        """Their paths."""
        return list(self._asked)

    @property
    def room(self) -> int:
        """How many more notes may be asked for now."""
        return 0 if self._over else WINDOW - len(self._asked)

    def ask(self, paths: Sequence[str]) -> None:
        """Derive these."""
        self._asked.update(dict.fromkeys(paths))
        self._send(list(paths))

    def arrived(self, patience_s: float = 0.0) -> Result | None:
        """The next note that was asked for; None if none has come within `patience_s`.

        Once the child is gone, those that never came are given back without a result.
        """
        with self._arrived:
            if patience_s:
                self._arrived.wait_for(lambda: self._results or self._over, patience_s)
            if self._results:
                path, data = self._results.popleft()
            elif self._over and self._asked:
                path, data = next(iter(self._asked)), b""
            else:
                return None
        del self._asked[path]
        return Result(path, pickle.loads(data) if data else None)

    def close(self) -> None:
        """End the child."""
        self._over = True
        self._child.kill()
        self._child.wait()
        self._reader.join()
        for pipe in (self._child.stdin, self._child.stdout):
            if pipe is not None:
                _close(pipe)

    def _send(self, message: object) -> None:
        assert self._child.stdin is not None
        try:
            _put(self._child.stdin, message)
        except OSError:
            self._end("cannot be asked")

    def _read(self) -> None:
        assert self._child.stdout is not None
        while (message := _get(self._child.stdout)) is not None:
            path, result = message
            with self._arrived:
                self._results.append((path, result))
                self._arrived.notify_all()
        self._end("has ended")

    def _end(self, why: str) -> None:
        if not self._over:
            event(log, "no deriving ahead", logging.WARNING, reason=f"the child {why}")
        with self._arrived:
            self._over = True
            self._arrived.notify_all()


def serve(source: IO[bytes], target: IO[bytes]) -> None:
    """The child's end: the first message is (vault, options, max bytes), each further one a list of paths."""
    first = _get(source)
    if first is None:
        return
    vault, options, max_bytes = first
    counter = PinnedCounter()
    while (paths := _get(source)) is not None:
        for path in paths:
            outcome = read_stable(vault, path, max_bytes=max_bytes)
            result = b""
            if isinstance(outcome, ReadOutcome):
                result = pickle.dumps(_derive(path, outcome.raw, options, counter), pickle.HIGHEST_PROTOCOL)
            _put(target, (path, result))


def _derive(path: str, raw: bytes, options: DeriveOptions, counter: PinnedCounter) -> Draft | None:
    """The draft without what its rows are not made of; None where deriving fails (the writer will see and say so)."""
    try:
        draft = derive(path, raw, options, counter)
    except Exception:  # noqa: BLE001 - the writer derives it again and reports what is wrong with it
        return None
    note = dataclasses.replace(draft.note, hidden=())  # blocks and headings: edges and their evidence are made of them
    return dataclasses.replace(draft, raw=b"", note=note)


def _put(pipe: IO[bytes], message: object) -> None:
    data = pickle.dumps(message, pickle.HIGHEST_PROTOCOL)
    pipe.write(FRAME.pack(len(data)) + data)
    pipe.flush()


def _get(pipe: IO[bytes]) -> Any:
    """The next message; None at the end, which a kill may put into the middle of a message."""
    head = pipe.read(FRAME.size)
    if len(head) < FRAME.size:
        return None
    size = FRAME.unpack(head)[0]
    data = pipe.read(size)
    return pickle.loads(data) if len(data) == size else None


def _close(pipe: IO[bytes]) -> None:
    try:
        pipe.close()
    except OSError:  # what was still to be sent has nobody to read it
        return


def main() -> None:
    """The child, from its start to its parent's end, which may come while an answer is being written."""
    gc.disable()  # drafts hold no cycles, and the process is short-lived
    os.nice(NICER)
    try:
        serve(sys.stdin.buffer, sys.stdout.buffer)
    except BrokenPipeError:
        os._exit(0)  # without flushing what nobody reads


if __name__ == "__main__":
    main()
