"""SIGKILL anywhere: before or after a commit, never between (demand 10)."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).with_name("store_crash.py")


def kill(folder: Path, kills: int, seed: int) -> None:
    """Run the crash loop and expect no violation and some progress."""
    done = subprocess.run(
        [sys.executable, SCRIPT, folder, str(kills), str(seed)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    report = json.loads(done.stdout)
    assert report["faults"] == []
    assert report["revision"] >= kills // 4


def test_fifty_kills_lose_nothing_that_was_told(tmp_path: Path) -> None:
    """Short form: commits, checkpoints and compactions, killed 50 times."""
    kill(tmp_path, 50, 7)


@pytest.mark.nightly
@pytest.mark.timeout(1200)
def test_two_hundred_kills_lose_nothing_that_was_told(tmp_path: Path) -> None:
    """Long form."""
    kill(tmp_path, 200, 11)
