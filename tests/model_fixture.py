"""The real model for tests: a pytest plugin, named in ``conftest.py``.

The model is no optional part: where it cannot be had the tests fail and say why.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from mindnetd.errors import ModelError
from mindnetd.inference import models


@pytest.fixture(scope="session")
def model_cache() -> Path:
    """The model cache with all-MiniLM-L6-v2 in it: ``$MINDNET_MODEL_CACHE``, else the user's; fetched if missing."""
    user = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "mindnetd" / "models"
    cache = Path(os.environ.get("MINDNET_MODEL_CACHE") or user)
    try:
        models.pull(models.DEFAULT, cache)
    except ModelError as error:
        pytest.fail(f"the tests need the model: {error.message}")
    return cache
