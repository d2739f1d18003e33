"""Running ``mindnet`` in tests: in this process for speed, as a process where that is what is tested."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from mindnetd.client.main import main


@dataclass(frozen=True)
class Ran:
    """Exit code and output of a command."""

    code: int
    out: str
    err: str


class Mindnet:
    """``mindnet`` against one socket."""

    def __init__(self, socket: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self._socket = socket
        self._capsys = capsys

    def __call__(self, *words: str) -> Ran:
        """Run a command in this process."""
        self._capsys.readouterr()
        try:
            code = main(["--socket", str(self._socket), *words])
        except SystemExit as error:  # argparse
            code = int(error.code or 0)
        done = self._capsys.readouterr()
        return Ran(code, done.out, done.err)


def run_process(
    *words: str, env: Mapping[str, str] | None = None, **options: object
) -> subprocess.CompletedProcess[str]:
    """Run a command as a process with only the environment given (and what Python needs)."""
    needed = {name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ}
    return subprocess.run(  # type: ignore[call-overload,no-any-return]
        [sys.executable, "-m", "mindnetd.client.main", *words],
        env={**needed, **(env or {})}, capture_output=True, text=True, timeout=60, check=False, **options,
    )  # fmt: skip
