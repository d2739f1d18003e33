"""``mindnetd model pull|list|verify|use``: the weights in the cache, and which of them an instance takes."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from pathlib import Path

from mindnetd.config import Config
from mindnetd.errors import ConfigError
from mindnetd.inference import models
from mindnetd.inference.embedder import BACKENDS
from mindnetd.settings.edit import set_value
from mindnetd.settings.places import places

Say = Callable[[str], None]
MEGABYTE = 1_000_000


def run_model(action: str, name: str | None, source: str | None, env: Mapping[str, str], say: Say) -> int:
    """Run one action. 1 if ``verify`` finds something wrong; ModelError says what to do."""
    cache = places(env).models
    if action == "list":
        return _list(cache, say)
    name = name or models.DEFAULT
    if action == "verify":
        return _verify(name, cache, say)
    fetch_model(name, cache, say, source=source)
    return 0


def fetch_model(name: str, cache: Path, say: Say, *, source: str | None = None) -> None:
    """Fetch a model with a bar on a terminal and a line a stage elsewhere; says nothing new if it is there already."""
    if sys.stdout.isatty():
        from mindnetd.terminal import IndexDisplay

        with IndexDisplay() as display:
            model = models.pull(
                name,
                cache,
                source=source,
                progress=lambda what, done, total: display.progress(what, done // MEGABYTE, (total or 0) // MEGABYTE),
            )
    else:
        stages: list[str] = []

        def line(what: str, _done: int, _total: int | None) -> None:
            if what not in stages:
                stages.append(what)
                say(f"model {name}: {what}")

        model = models.pull(name, cache, source=source, progress=line)
    say(f"model {name} is in {model.folder}")


def use_model(config: Config, name: str, say: Say) -> int:
    """Write a back end or a model into the instance's configuration; a running daemon takes it over by a reload."""
    if config.file is None:
        raise ConfigError("no configuration to write it into: `mindnetd init DIR` first, or --set embedding.model=NAME")
    key = "backend" if name in BACKENDS else "model"
    if key == "model" and config.embedding.backend != "ollama":
        fetch_model(name, config.places.models, say)
    set_value(config.file, "embedding", key, name)
    say(f"{config.file}: embedding.{key} is {name}; vectors of another model are made anew while the words serve")
    say(f"a running daemon takes it over by a reload: systemctl --user reload mindnetd@{config.name}")
    return 0


def _list(cache: Path, say: Say) -> int:
    for model in models.list_models(cache):
        state = f"{model.size_bytes / MEGABYTE:.0f} MB" if model.cached else "not fetched"
        pinned = "pinned" if model.pinned else "not pinned"
        say(f"{model.name}  {state}, {pinned}, from {model.source}{''.join(f'; {p}' for p in model.problems)}")
    return 0


def _verify(name: str, cache: Path, say: Say) -> int:
    problems = models.verify(name, cache)
    for problem in problems:
        sys.stderr.write(f"model {name}: {problem}; `mindnetd model pull {name}` fetches it anew\n")
    if not problems:
        say(f"model {name}: every file has its hash")
    return 1 if problems else 0
