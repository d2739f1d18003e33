"""What every test may use."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

import hypothesis
import pytest

REPO = Path(__file__).resolve().parent.parent
pytest_plugins = ["model_fixture"]

# a busy machine is no failure: what is too slow is found by the limit per test
hypothesis.settings.register_profile("mindnetd", deadline=None)
hypothesis.settings.load_profile("mindnetd")


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of shared test data; a test that needs it skips where it is missing."""
    folder = Path(os.environ.get("MINDNET_SHARED", REPO.parent / "shared"))
    if not (folder / "vaults").is_dir():
        pytest.skip("the shared test data is not beside this checkout (set MINDNET_SHARED)")
    return folder


def wait_until(condition: Callable[[], bool], deadline_s: float = 20.0, what: str = "the condition") -> None:
    """Poll `condition` until it holds; fail with `what` past the deadline."""
    end = time.monotonic() + deadline_s
    pause = __import__("threading").Event()
    while not condition():
        if time.monotonic() > end:
            pytest.fail(f"{what} did not hold within {deadline_s:g} s")
        pause.wait(0.01)


@pytest.fixture
def until() -> Callable[..., None]:
    """`until(condition, deadline_s, what)`: waiting with a deadline."""
    return wait_until
