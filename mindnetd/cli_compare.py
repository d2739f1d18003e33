"""``mindnetd compare``: reads the configuration of the first folder, else of the second, compares, and prints."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from pathlib import Path

from mindnetd.compare import Rules, compare
from mindnetd.config import find_config, load_config
from mindnetd.engine import derive_options, read_rules
from mindnetd.errors import ConfigError
from mindnetd.inference.tokenizer import PinnedCounter
from mindnetd.settings.types import types_of


def run_compare(
    a: str, b: str, env: Mapping[str, str], say: Callable[[str], None], *, others: bool, as_json: bool
) -> int:
    """A line per difference; 1 where there is one. Raises BadRequest, ConfigError, VaultError."""
    one, other = Path(a), Path(b)
    config = load_config(_config_of(a, env) or _config_of(b, env), env, {"vault": a})
    rules = Rules(
        classifiers=[read_rules(dataclasses.replace(config, vault=folder)) for folder in (one, other)],
        options=derive_options(config, types_of(config)),
        counter=PinnedCounter(),
        others=others,
    )
    found = compare(one, other, rules)
    if as_json:
        say(found.json())
        return 1 if found.differences else 0
    for difference in found.differences:
        say(difference.line())
    what = ("file" if others else "note") + ("" if found.together == 1 else "s")
    if found.differences:
        paths = len({difference.path for difference in found.differences})
        say(f"{paths} of {found.together} {what} differ")
        return 1
    say(f"{found.a} {what}: the same")
    return 0


def _config_of(folder: str, env: Mapping[str, str]) -> Path | None:
    """The configuration file of this vault, if it has one."""
    try:
        return find_config(env, file=None, name=None, vault=folder)
    except ConfigError:  # one of its name, for another folder: a copy is often called like its original
        return None
