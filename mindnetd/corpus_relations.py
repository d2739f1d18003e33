"""The relations between the entities of one audience: by occurring together, and as its notes declare them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from mindnetd.core.cooccur import pairs_of
from mindnetd.core.entity_records import Entity
from mindnetd.core.identity import fold, relationship_uuid
from mindnetd.core.naming import Directory, link_name
from mindnetd.manners import MANNERS
from mindnetd.store.read_entities import CorpusRows
from mindnetd.store.records import MentionRow, RelationRow


@dataclass(frozen=True, slots=True)
class Named:
    """The entities of an audience, who is called how, and the prefix of all ids."""

    entities: Sequence[Entity]
    directory: Directory
    prefix: str


def cooccurrences(named: Named, mentions: Sequence[tuple[int, MentionRow]]) -> Iterator[RelationRow]:
    """Pairs that share more chunks than chance would give them; `mentions` with the keys of their notes."""
    entities = named.entities
    numbers = {entity.id: number for number, entity in enumerate(entities)}
    places = {(row.chunk_key, row.chunk_id): note for note, row in mentions}
    where = {key: (chunk_id, key, note) for (key, chunk_id), note in places.items()}
    once = sorted({(numbers[row.entity_id], row.chunk_key) for _, row in mentions})
    columns = np.array(once, dtype=np.int64).reshape(-1, 2)
    pairs = pairs_of(columns[:, 0], columns[:, 1], len(entities), len(where))
    starts = np.searchsorted(pairs.support, np.arange(len(pairs.one) + 1)).tolist()
    chunks = pairs.chunk.tolist()
    both = zip(pairs.one.tolist(), pairs.other.tolist(), strict=True)
    for number, (one, other) in enumerate(MANNERS.gently(both)):
        src, dst = entities[one].id, entities[other].id
        yield RelationRow(
            id=relationship_uuid(named.prefix, "related_to", "heuristic", src, dst),
            source_id=src,
            target_id=dst,
            type="related_to",
            weight=float(pairs.weight[number]),
            count=int(pairs.count[number]),
            source="heuristic",
            support=tuple(where[key] for key in chunks[starts[number] : starts[number + 1]]),
        )


def declared(named: Named, corpus: CorpusRows) -> tuple[RelationRow, ...]:
    """Relations that notes declare by links and properties, and rules find, between the entities of both ends."""
    entities, directory, places = named.entities, named.directory, _Lines(corpus)
    found: dict[tuple[str, str, int, int], tuple[float, int, dict[tuple[str, int, int], None]]] = {}
    for edge in MANNERS.gently(corpus.edges):
        src = directory.by_note.get(edge.src_id)
        if edge.dst_kind == "note":
            dst = directory.by_note.get(edge.dst_id)
        else:
            dst = directory.by_key.get(fold(link_name(edge.dst_label)))
        if src is None or dst is None or src == dst:
            continue
        key = (edge.relation, edge.source, src, dst)
        weight, count, support = found.get(key, (0.0, 0, {}))
        support[places.at(edge.owner, edge.line)] = None
        found[key] = (max(weight, edge.weight), count + edge.occurrences, support)
    return tuple(
        RelationRow(
            id=relationship_uuid(named.prefix, relation, source, entities[src].id, entities[dst].id),
            source_id=entities[src].id,
            target_id=entities[dst].id,
            type=relation,
            weight=round(weight * (1 + math.log(max(count, 1))), 6),
            count=count,
            source=source,
            support=tuple(sorted(support)),
        )
        for (relation, source, src, dst), (weight, count, support) in sorted(found.items())
    )


class _Lines:
    """Which chunk of a note holds a line of its file."""

    def __init__(self, corpus: CorpusRows) -> None:
        self._chunks: dict[int, list[tuple[int, str, int]]] = {}
        for chunk in corpus.chunks:
            self._chunks.setdefault(chunk.note, []).append((chunk.start_line, chunk.id, chunk.key))
        self._ids = {note.key: note.id for note in corpus.notes}

    def at(self, note: int, line: int | None) -> tuple[str, int, int]:
        """(chunk id, chunk key, note key); the first chunk for what stands in no chunk, the note without any."""
        chunks = self._chunks.get(note)
        if not chunks:
            return (self._ids.get(note, ""), note, note)
        inside = [chunk for chunk in chunks if line is not None and chunk[0] <= line]
        _, chunk_id, key = inside[-1] if inside else chunks[0]
        return (chunk_id, key, note)
