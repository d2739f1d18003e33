"""The mentions of one note: its signals against the entities that are known. The same for a save and for the corpus."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from mindnetd.core.identity import fold
from mindnetd.core.naming import Directory, link_name, meant
from mindnetd.lanes.entities import EntityIndex, Mentions, Spelling
from mindnetd.store.records import Batch, MentionRow, SignalRow


def mentions_of(
    own: str,
    first: tuple[int, str],
    signals: Iterable[SignalRow],
    chunk_ids: Mapping[int, str],
    answers: Mapping[str, str | None],
    directory: Directory,
    entity_ids: Sequence[str],
) -> tuple[MentionRow, ...]:
    """What the note with id `own` mentions. `first` is the (key, id) of its first chunk, or its own without any.

    What the whole note says (title, aliases, tags, properties) is said in its first chunk. `answers` as of
    ``core.naming.link_answers``.
    """
    found = []
    for row in signals:
        number = meant(row.signal, own, answers, directory)
        if number is not None:
            chunk_id = chunk_ids.get(row.chunk_key)
            key, chunk_id = (row.chunk_key, chunk_id) if chunk_id is not None else first
            signal = row.signal
            found.append(MentionRow(entity_ids[number], chunk_id, key, signal.count, *_spelled(signal.kind, row)))
    return tuple(found)


def _spelled(kind: str, row: SignalRow) -> tuple[str, str]:
    name, key = row.signal.name, row.signal.key
    if kind != "link":
        return name, key
    return link_name(name), fold(link_name(name))


def follow(entities: EntityIndex, revision: int, batch: Batch) -> None:
    """The resident graph follows a commit."""
    numbers = entities.snapshot.numbers
    fresh = {rows.meta.key: as_columns(rows.meta.key, rows.mentions, numbers) for rows in batch.notes}
    entities.follow(revision, batch.removed, fresh)


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
