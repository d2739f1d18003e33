"""When the entity graph stands: its communities, made beside everything else and stored in one transaction."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Protocol

from mindnetd.communities import Communities, CommunityOptions, Material, build, state_of
from mindnetd.core.community_ids import CommunityRow
from mindnetd.errors import MindnetError
from mindnetd.events import Event
from mindnetd.lanes.entities import Community, EntitySnapshot
from mindnetd.lanes.entity_index import Graphs
from mindnetd.lanes.hot import HotDelta
from mindnetd.store import read
from mindnetd.store.read_communities import CommunityInputs, load_inputs
from mindnetd.store.records import utc_now
from mindnetd.store.write_communities import commit_communities

if TYPE_CHECKING:
    from mindnetd.engine import Engine

Write = Callable[[Callable[[], int]], int]
"""Runs a function on the writer thread and returns what it returns."""


class Summaries(Protocol):
    """The stored summaries of a language model."""

    def summaries_fingerprint(self) -> str:
        """Of all of them; "" where there is no model."""

    def summary(self, title: str, names: Sequence[str], sentences: Sequence[str]) -> str | None:
        """That of a community with this title and these sentences."""


def rebuild(
    engine: Engine,
    write: Write,
    cold: bool = False,
    stop: Callable[[], bool] = lambda: False,
    *,
    summaries: Summaries | None = None,
) -> dict[str, Any]:
    """Make the communities of the graph that is stored, where they are not of today. Any thread but the writer.

    `summaries` are those in the words of a model; where new ones have come, the communities take them in.
    Returns figures for the job. Raises StoreError, and MindnetError where `stop` turned true.
    """
    inputs = load_inputs(engine.db)
    options = options_of(engine)
    graphs = engine.entities.graphs
    told = summaries.summaries_fingerprint() if summaries is not None else ""
    state = state_of(inputs, read.load_meta(engine.db).get("corpus_state", "") + told, options)
    if state == inputs.state and not cold:
        return figures(None, inputs)

    def check(_done: int, _total: int) -> None:
        if stop():
            raise MindnetError("the daemon stopped")

    made = build(
        Material(
            graphs,
            inputs,
            lambda keys: read.texts(engine.db, keys),
            state,
            options,
            utc_now(),
            cold=cold,
            check=check,
            summarise=summaries.summary if summaries is not None and told else None,
        )
    )
    write(lambda: _store(engine, made))
    engine.events.publish(Event("communities.rebuilt", {"revision": engine.db.revision}))
    return figures(made, inputs)


def options_of(engine: Engine) -> CommunityOptions:
    """From the configuration."""
    return CommunityOptions(engine.config.id_prefix, engine.config.graph.max_cluster_size)


def figures(made: Communities | None, inputs: CommunityInputs) -> dict[str, Any]:
    """What a rebuild did, for the job and ``status``; `made` is None where nothing had changed."""
    if made is None:
        count = len(inputs.last)
        return {"communities": count, "communities_changed": False, "kept_ids": count, "summaries_remade": 0}
    return {
        "communities": len(made.rows),
        "communities_changed": True,
        "kept_ids": made.kept_ids,
        "summaries_remade": made.remade,
        "communities_seconds": made.seconds,
    }


def _store(engine: Engine, made: Communities) -> int:
    """On the writer thread: swap them in."""
    revision = commit_communities(engine.db, made.rows, made.last, made.state, made.audiences)
    engine.entities.load(with_communities(engine.entities.graphs, revision, made.rows))
    engine.hot.apply(HotDelta(revision))
    return revision


def with_communities(graphs: Graphs, revision: int, rows: Sequence[CommunityRow]) -> Graphs:
    """The graphs with other communities; what notes have said since they were made stays."""
    fresh = {
        name: replace(
            graph,
            revision=revision,
            communities=_communities(graph, [r for r in rows if r.audience == name]),
            _views={},
        )
        for name, graph in graphs.by_name.items()
    }
    return replace(graphs, by_name=fresh, revision=revision)


def _communities(graph: EntitySnapshot, rows: Sequence[CommunityRow]) -> tuple[Community, ...]:
    numbers = graph.numbers
    return tuple(
        Community(
            id=row.id,
            label=row.label,
            level=row.level,
            parent=row.parent,
            title=row.title,
            summary=row.summary,
            summary_source=row.summary_source,
            size=row.size,
            updated=row.updated.strftime("%Y-%m-%dT%H:%M:%SZ"),
            members=tuple(sorted(numbers[member] for member in row.members if member in numbers)),
            sources=tuple((one.chunk_key, one.chunk_id, one.sentence) for one in row.sources),
        )
        for row in sorted(rows, key=lambda row: (row.level, row.label, row.id))
    )
