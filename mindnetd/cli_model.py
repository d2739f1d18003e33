"""``mindnetd model pull|list|verify``: the weights in the cache."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from pathlib import Path

from mindnetd.inference import models
from mindnetd.places import places

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
