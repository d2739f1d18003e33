"""The mentions of one note: its signals against the entities that are known. The same for a save and for the corpus."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from mindnetd.core.naming import Directory, meant
from mindnetd.lanes.entities import Mentions, Spelling
from mindnetd.lanes.entity_index import EntityIndex
from mindnetd.store.records import Batch, MentionRow, SignalRow


@dataclass(frozen=True, slots=True)
class Speaker:
    """A note that says something: its key and id, its chunks (key -> id, in order), what its links mean.

    ``answers`` as of ``core.naming.link_answers``.
    """

    key: int
    id: str
    chunks: Mapping[int, str]
    answers: Mapping[str, str | None]


def mentions_of(
    note: Speaker, signals: Iterable[SignalRow], directory: Directory, entity_ids: Sequence[str]
) -> tuple[MentionRow, ...]:
    """What `note` mentions. `entity_ids` are those of the directory's numbers.

    What the whole note says (title, aliases, tags, properties) is said in its first chunk, in itself without any.
    """
    first = next(iter(note.chunks.items()), (note.key, note.id))
    found = []
    for row in signals:
        hit = meant(row.signal, note.id, note.answers, directory)
        if hit is not None:
            chunk_id = note.chunks.get(row.chunk_key)
            key, chunk_id = (row.chunk_key, chunk_id) if chunk_id is not None else first
            found.append(MentionRow(entity_ids[hit[0]], chunk_id, key, row.signal.count, hit[1], hit[2]))
    return tuple(found)


def follow(entities: EntityIndex, revision: int, batch: Batch) -> None:
    """The resident graphs follow a commit: each in what the notes say that its audience may see now."""
    said = {
        name: {
            rows.meta.key: as_columns(rows.meta.key, rows.mentions[name], graph.numbers)
            for rows in batch.notes
            if name in rows.mentions
        }
        for name, graph in entities.graphs.by_name.items()
    }
    entities.follow(revision, batch.removed, said, [rows.meta.key for rows in batch.notes])


def as_columns(note_key: int, rows: Sequence[MentionRow], numbers: Mapping[str, int]) -> Mentions:
    """Mentions of one note for the resident graph; of entities that it does not know there are none."""
    counts: dict[tuple[int, int], int] = {}
    ids: dict[int, str] = {}
    spelled: dict[tuple[int, str, str], int] = {}
    for row in rows:
        number = numbers.get(row.entity_id)
        if number is None:
            continue
        place = (number, row.chunk_key)
        counts[place] = counts.get(place, 0) + row.count
        ids[row.chunk_key] = row.chunk_id
        name = (number, row.name, row.key)
        spelled[name] = spelled.get(name, 0) + row.count
    places = sorted(counts)
    return Mentions(
        entity=np.array([entity for entity, _ in places], dtype=np.int64),
        chunk=np.array([chunk for _, chunk in places], dtype=np.int64),
        note=np.full(len(places), note_key, dtype=np.int64),
        count=np.array([counts[place] for place in places], dtype=np.int64),
        chunk_id=tuple(ids[chunk] for _, chunk in places),
        spellings=tuple(
            Spelling(number, note_key, name, key, count) for (number, name, key), count in sorted(spelled.items())
        ),
    )
