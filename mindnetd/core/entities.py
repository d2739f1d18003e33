"""From the signals of a whole vault to its entities: counting, choosing, merging. Pure; equal signals, equal entities.

Top to bottom: `Census` counts what names what (notes are entities, and links, headings and phrases that bear their name
count for them), `Census.choose` keeps the candidates that are worth it (rare by IDF, said in the right places, within a
limit that grows with the corpus), `assemble` joins names whose vectors say the same.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from mindnetd.core.entity_records import CorpusNote, CorpusSignal, Entity
from mindnetd.core.entity_types import type_of_name, type_of_note
from mindnetd.core.identity import fold
from mindnetd.core.merge import apart, canonical
from mindnetd.core.naming import Directory, link_name
from mindnetd.core.signals import NOUNS_CAPITALISED, OPENS, WEIGHTS
from mindnetd.core.stopnames import is_attachment, is_date, is_instruction, names_nothing

_SHAPED = re.compile(r".*[A-Z\d_.:/()$@#+-].*")
_LONG = 4
"""Words of a heading or link text that is a name rather than a sentence."""

_TEMPLATE, _MOSTLY = 6, 0.7
"""So many headings of one name, and so large a share of its mentions, are the sections of a template."""
_LARGE, _EVERYWHERE = 1000, 0.1
"""In a corpus of more chunks, what is in so large a share of them is a part of a template."""


@dataclass(slots=True)
class Slot:
    """Everything that one name was said to be: the material of one candidate."""

    key: str
    note: CorpusNote | None = None
    kinds: dict[str, int] = field(default_factory=dict)
    chunks: set[int] = field(default_factory=set)
    notes: set[int] = field(default_factory=set)
    spelled: dict[str, int] = field(default_factory=dict)
    names: set[str] = field(default_factory=set)
    """Further keys: aliases and file name of its note."""
    common: int = 0
    """Mentions in notes of a language that capitalises every noun."""
    score: float = 0.0

    @property
    def count(self) -> int:
        """Mentions."""
        return sum(self.kinds.values())

    @property
    def name(self) -> str:
        """A note's title, else the spelling of most mentions."""
        return self.note.title if self.note is not None else canonical(list(self.spelled.items()))

    def add(self, signal: CorpusSignal, name: str) -> None:
        """One more signal that says it, as `name`."""
        self.kinds[signal.kind] = self.kinds.get(signal.kind, 0) + signal.count
        self.chunks.add(signal.chunk)
        self.notes.add(signal.owner)
        self.spelled[name] = self.spelled.get(name, 0) + signal.count


def candidate_limit(chunks: int) -> int:
    """How many entities that are no notes a corpus may have: many for its size while it is small, then ever fewer."""
    return round(40 * math.sqrt(max(chunks, 25)))


class Census:
    """Counts signals by what they name. `answers` is (note key, link target) -> note id, or "" for another file.

    `lower` is how often a word stands in lower case somewhere in the corpus.
    """

    def __init__(
        self,
        notes: Sequence[CorpusNote],
        answers: Mapping[tuple[int, str], str],
        lower: Mapping[str, int],
        chunks: int,
    ) -> None:
        self._answers, self._lower, self._total = answers, lower, max(chunks, 1)
        self._capital: dict[str, int] = {}
        self._notes = {note.key: note for note in notes}
        self.slots: dict[str, Slot] = {}
        self._of_note: dict[str, Slot] = {}
        self._by_key: dict[str, Slot] = {}
        for note in sorted(notes, key=lambda one: (one.path.count("/"), len(one.path), one.path)):
            title = fold(note.title) or fold(note.path)
            key = title if title not in self._by_key else f"{title} ({fold(note.path)})"
            if key in self._by_key:  # Case.md and case.md, both of that title
                key = f"{title} ({note.id})"
            slot = Slot(key, note)
            self._of_note[note.id] = slot
            self._by_key.setdefault(title, slot)
            self._by_key.setdefault(key, slot)

    def also_called(self, note_id: str, names: Iterable[str]) -> None:
        """Aliases and file name of a note; a title goes before them. Call it for the notes in the order of paths."""
        slot = self._of_note[note_id]
        for name in names:
            key = fold(name)
            if key and self._by_key.setdefault(key, slot) is slot:
                slot.names.add(key)

    def count(self, signals: Iterable[CorpusSignal]) -> None:
        """Take in all signals, in any order; once. They are gone through twice."""
        for signal in signals:
            if signal.kind == "phrase":
                words = signal.key.split(" ")
                for word in words[1:] if signal.weight == OPENS else words:
                    self._capital[word] = self._capital.get(word, 0) + signal.count
        for signal in signals:
            note = self._notes.get(signal.owner)
            if note is None:
                continue
            if signal.kind in ("title", "alias"):
                self._of_note[note.id].add(signal, signal.name)
            elif signal.kind == "link":
                self._link(signal)
            else:
                name = self._phrase(signal, note.lang) if signal.kind == "phrase" else signal.name
                if name:
                    slot = self._slot(signal.key if name is signal.name else fold(name))
                    slot.add(signal, name)
                    if note.lang in NOUNS_CAPITALISED and signal.kind != "codeword":
                        slot.common += signal.count

    def _slot(self, key: str) -> Slot:
        slot = self._by_key.get(key) or self.slots.get(key)
        if slot is None:
            slot = self.slots[key] = Slot(key)
        return slot

    def _link(self, signal: CorpusSignal) -> None:
        answer = self._answers.get((signal.owner, signal.name))
        name = link_name(signal.name)
        if answer is None:
            if name and not is_attachment(name):
                self._slot(fold(name)).add(signal, name)
        elif answer in self._of_note:
            self._of_note[answer].add(signal, name)

    def _phrase(self, signal: CorpusSignal, lang: str) -> str:
        """The part of a phrase whose capitals mean something, or "".

        The first word of a sentence, and every word of a language that capitalises nouns, may have its capital from
        there: it counts only if the corpus hardly ever writes it in lower case.
        """
        words = signal.name.split(" ")
        nouns = lang in NOUNS_CAPITALISED
        if nouns or signal.weight == OPENS:
            while words and self._common(fold(words[0])):
                words.pop(0)
        if not words:
            return ""
        if len(words) == 1:
            return "" if nouns or self._common(fold(words[0])) else words[0]
        return signal.name if len(words) == len(signal.name.split(" ")) else " ".join(words)

    def _common(self, word: str) -> bool:
        """Whether a folded word is a common one: not much rarer in lower case than with a capital in mid-sentence."""
        return 2 * self._lower.get(word, 0) > self._capital.get(word, 0)

    # -------------------------------------------------------------------------------------------------------- choosing

    def choose(self) -> list[Slot]:
        """The candidates that are entities: every note, every missing note that is linked, and the best of the rest.

        In the order of their keys.
        """
        rest = []
        for slot in (*self._of_note.values(), *self.slots.values()):
            slot.score = self._score(slot)
            if slot.note is None and self._worthy(slot):
                rest.append(slot)
        rest.sort(key=lambda slot: ("link" not in slot.kinds, -slot.score, slot.key))
        linked = sum("link" in slot.kinds for slot in rest)
        kept = rest[: max(linked, candidate_limit(self._total))]
        return sorted((*(slot for slot in self._of_note.values()), *kept), key=lambda slot: slot.key)

    def _score(self, slot: Slot) -> float:
        """IDF = ln(N/df) over chunks, times what was said where, each kind with diminishing returns."""
        idf = math.log(max(self._total / max(len(slot.chunks), 1), 1.0))
        said = sum(WEIGHTS[kind] * math.log1p(slot.kinds[kind]) for kind in sorted(slot.kinds))
        return round(idf * said, 6)

    def _worthy(self, slot: Slot) -> bool:
        """Whether a name that is no note's is an entity at all."""
        kinds, key = slot.kinds, slot.key
        if "link" in kinds:
            return not (is_date(key) or is_attachment(key))
        if names_nothing(key) or not any(char.isalpha() for char in key):
            return False
        name, words = slot.name, key.count(" ") + 1
        if is_instruction(name) or self._boilerplate(slot):
            return False
        if words == 1 and key.isalpha() and not _SHAPED.fullmatch(name[1:]) and not self._proper(slot):
            return False
        strong = len(kinds.keys() - {"phrase"}) > 1 or ("phrase" in kinds and len(kinds) > 1)
        spread = len(slot.notes) > 1
        if kinds.keys() == {"code"}:
            return bool(_SHAPED.fullmatch(name)) and (spread or slot.count > 1) and words == 1
        if kinds.keys() == {"heading"}:
            return words <= _LONG and (spread or (words <= 2 and self._total < 200)) and self._looks_named(name)
        if kinds.keys() == {"url"}:
            return words <= _LONG and name[0].isupper() and (spread or slot.count > 1)
        if kinds.keys() == {"tag"}:
            return spread
        return strong or spread or slot.count > 2

    def _boilerplate(self, slot: Slot) -> bool:
        """Whether a template says it rather than a person: nearly always the heading of a section, or everywhere."""
        sections = slot.kinds.get("heading", 0)
        if sections >= _TEMPLATE and sections >= _MOSTLY * slot.count:
            return True
        return self._total > _LARGE and len(slot.chunks) > _EVERYWHERE * self._total

    def _proper(self, slot: Slot) -> bool:
        """Whether a plain word is more than a common noun: hardly ever in lower case, or a tag; where every noun has a
        capital, the heading of several notes."""
        if "tag" in slot.kinds:
            return True
        if self._lower.get(slot.key) and self._common(slot.key):
            return False
        return slot.common < slot.count or slot.kinds.get("heading", 0) > 2

    def _looks_named(self, name: str) -> bool:
        """A heading of several words is a name if a word past the first has a capital or is no common word."""
        words = name.split()
        return len(words) == 1 or any(word[:1].isupper() for word in words[1:])


def must_differ(slots: Sequence[Slot]) -> Callable[[int, int], bool]:
    """Whether two candidates must stay apart: both are notes, or their names say so."""

    def differ(one: int, other: int) -> bool:
        first, second = slots[one], slots[other]
        if first.note is not None and second.note is not None:
            return True
        return apart(first.key, second.key)

    return differ


def assemble(
    slots: Sequence[Slot], groups: Sequence[Sequence[int]], entity_id: Callable[[str], str]
) -> tuple[list[Entity], Directory]:
    """Entities of candidates, `groups` of which are one each; and who is called how, by entity number."""
    grouped = {member for group in groups for member in group}
    all_groups = [*groups, *([number] for number in range(len(slots)) if number not in grouped)]
    made = sorted(
        ((_entity([slots[n] for n in group], entity_id), [slots[n] for n in group]) for group in all_groups),
        key=lambda pair: (pair[0].key, pair[0].id),
    )
    by_key: dict[str, int] = {}
    by_note: dict[str, int] = {}
    for number, (_, members) in enumerate(made):
        for slot in members:
            by_key[slot.key] = number
            if slot.note is not None:
                by_note[slot.note.id] = number
    for number, (_, members) in enumerate(made):
        for slot in members:
            titles = [fold(slot.note.title)] if slot.note is not None and slot.key == fold(slot.note.title) else []
            for key in (*titles, *sorted(slot.names)):
                by_key.setdefault(key, number)
    return [entity for entity, _ in made], Directory(by_key, by_note)


def _entity(members: Sequence[Slot], entity_id: Callable[[str], str]) -> Entity:
    notes = [slot for slot in members if slot.note is not None]
    head = notes[0] if notes else min(members, key=lambda slot: (-slot.count, slot.name, slot.key))
    kinds = {kind for slot in members for kind in slot.kinds}
    name = head.name
    name_type = type_of_name(name, kinds - {"title", "alias"})
    note = head.note
    own = type_of_note(note.type, note.path, name, kinds) if note is not None else name_type
    names = {head.key: name}
    for slot in sorted(members, key=lambda one: one.key):
        names.setdefault(slot.key, slot.name)
        names |= {key: key for key in sorted(slot.names) if key not in names}
        for spelling in sorted(slot.spelled, key=lambda text: (-slot.spelled[text], text)):
            if fold(spelling) in slot.names and names.get(fold(spelling)) == fold(spelling):
                names[fold(spelling)] = spelling
    return Entity(
        id=entity_id(head.key),
        name=name,
        key=head.key,
        type=own,
        name_type=name_type,
        weight=round(sum(slot.score for slot in members), 6),
        note=note.id if note is not None else None,
        names=tuple((text, key) for key, text in names.items()),
    )
