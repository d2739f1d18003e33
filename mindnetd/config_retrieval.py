"""``retrieval.yaml``: the weights of the search. What the file leaves out keeps the default of ``core.rank``."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mindnetd import config_read as read
from mindnetd.config_read import Problem
from mindnetd.errors import ConfigError

SECTIONS = ("retrieval", "time_decay")
WEIGHTS = ("alpha", "beta", "gamma", "delta", "epsilon", "zeta")
CASTS: Mapping[str, read.Cast] = {
    "version": read.whole(1, 1),
    **{f"retrieval.{name}": read.number(0, 10) for name in WEIGHTS},
    "retrieval.fusion": read.choice("weighted", "rrf"),
    "retrieval.k_l": read.whole(1, 100_000),
    "retrieval.k_v": read.whole(1, 100_000),
    "retrieval.top_k": read.whole(1, 1000),
    "retrieval.hops": read.whole(0, 4),
    "time_decay.lambda": read.number(0, 100),
    "relation_weights": read.weights(-10, 10),
}


def load_retrieval(file: Path, *, required: bool, home: Path) -> dict[str, Any]:
    """Dotted key -> value for each key that the file gives; empty where there is no file and none is ``required``.

    Raises ConfigError with file and line; its detail lists every problem.
    """
    if not file.is_file() and not required:
        return {}
    tree, problems = read.read_tree(file)
    found, more = read.flatten(tree, file, SECTIONS, home) if tree is not None else ({}, [])
    problems += more
    values: dict[str, Any] = {}
    for key, given in found.items():
        if key not in CASTS:
            problems.append(read.unknown(given.where, key, list(CASTS)))
            continue
        try:
            values[key] = CASTS[key](given)
        except ValueError as error:
            problems.append(Problem(given.where, f"{key} {error}"))
    if problems:
        raise ConfigError(str(problems[0]), detail={"problems": [str(p) for p in problems]})
    return values
