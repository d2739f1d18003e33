"""A disk that can be filled, made read-only and grown."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


@contextmanager
def small_disk_at(folder: Path) -> Iterator[Path]:
    """A file system of 24 MB at `folder`, which is made; skips where it cannot be mounted."""
    folder.mkdir()
    made = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=24m", "tmpfs", folder], capture_output=True, check=False)
    if made.returncode:
        pytest.skip("a small file system needs the right to mount")
    yield folder
    subprocess.run(["umount", "-l", folder], check=True)
