"""``retrieval.yaml``: the weights of the search. What the file leaves out keeps the default of ``core.rank``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from mindnetd.config import Config
from mindnetd.core.links import relation_name
from mindnetd.core.query import MAX_HOPS
from mindnetd.core.rank import RELATION_WEIGHTS, RetrievalSettings
from mindnetd.errors import ConfigError
from mindnetd.settings import read
from mindnetd.settings.read import Problem

SECTIONS = ("retrieval", "time_decay")
NAMED = {"time_decay.lambda": "decay"}
"""Keys whose setting has another name."""
WEIGHTS = ("alpha", "beta", "gamma", "delta", "epsilon", "zeta")
CASTS: Mapping[str, read.Cast] = {
    "version": read.whole(1, 1),
    **{f"retrieval.{name}": read.number(0, 10) for name in WEIGHTS},
    "retrieval.fusion": read.choice("weighted", "rrf"),
    "retrieval.k_l": read.whole(1, 100_000),
    "retrieval.k_v": read.whole(1, 100_000),
    "retrieval.rrf_k": read.whole(1, 100_000),
    "retrieval.title_weight": read.number(0, 100),
    "retrieval.diversity": read.number(0, 1),
    "retrieval.dense_languages": read.words(),
    "retrieval.foreign_dense_share": read.number(0, 1),
    "retrieval.top_k": read.whole(1, 1000),
    "retrieval.hops": read.whole(0, MAX_HOPS),
    "retrieval.shared_tag_notes": read.whole(0, 1000),
    "time_decay.lambda": read.number(0, 100),
    "relation_weights": read.weights(-10, 10),
}


def retrieval_of(config: Config) -> RetrievalSettings:
    """The weights of the search: the file's where there is one, else the defaults. Raises ConfigError."""
    required = config.origin("retrieval_file") != "default"
    values = load_retrieval(config.retrieval_file, required=required, home=config.places.home)
    return retrieval_settings(values, config.privacy.exclude_flags)


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
    if not problems and values.get("retrieval.alpha") == values.get("retrieval.beta") == 0:
        problems.append(
            Problem(found["retrieval.alpha"].where, "alpha and beta are both 0; nothing would rank the hits")
        )
    if problems:
        raise ConfigError(str(problems[0]), detail={"problems": [str(p) for p in problems]})
    return values


def retrieval_settings(values: Mapping[str, Any], exclude_flags: Sequence[str]) -> RetrievalSettings:
    """The settings of the search: the file's values over the defaults; of relations it may name a few."""
    own = {NAMED.get(key, key.removeprefix("retrieval.")): value for key, value in values.items() if key != "version"}
    if "relation_weights" in own:
        given = {relation_name(name): weight for name, weight in own["relation_weights"].items()}
        own["relation_weights"] = {**RELATION_WEIGHTS, **given}
    return RetrievalSettings(**own | {"exclude_flags": tuple(exclude_flags)})
