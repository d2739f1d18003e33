"""The effective configuration as YAML that can be read back, each value with where it came from."""

from __future__ import annotations

import json
from typing import Any

from mindnetd.config import KEYS, Config, value_of

COLUMN = 60


def show(config: Config) -> str:
    """Every key in the order of the template: ``key: value  # origin``."""
    lines = [f"# instance {config.name}, file {config.file or 'none'}"]
    section = ""
    for key in KEYS:
        head, _, last = key.rpartition(".")
        if head and head != section:
            lines.append(f"{head}:")
        section = head
        text = f"{'  ' if head else ''}{last}: {_yaml(value_of(config, key))}"
        lines.append(f"{text:<{COLUMN}}  # {config.origin(key)}")
    return "\n".join(lines) + "\n"


def _yaml(value: Any) -> str:
    if isinstance(value, tuple):
        value = list(value)
    elif value is not None and not isinstance(value, int | float):
        text = str(value)
        safe = text and all(c.isalnum() or c in "/._-" for c in text)
        return text if safe else json.dumps(text, ensure_ascii=False)
    return json.dumps(value, ensure_ascii=False)
