"""Who links to which name: keeps link resolution incremental.

A link waits under the keys of its last path component (``core.resolve.name_keys``). A file that appears or goes can
only change the answer of links that share a key with it (``file_keys``), so a save costs as much as the links to the
names it touches, however large the vault is.

Frontmatter ids are names of a second kind. A wikilink that no file answers may mean one by its target, for which it
waits under its name key already, or by its display text; a plain text of a relation key means an id first. The last
two wait under ``#`` and the folded id, which is no key of a name that a link can ask for.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from mindnetd.core.records import Link, ResolvedLink
from mindnetd.core.resolve import IdIndex, NameIndex, file_keys, id_key, ids_meant, name_keys


class LinkBook:
    """The resident names of all vault files and the links that wait for them. Used by the writer thread only."""

    def __init__(self) -> None:
        self.names = NameIndex()
        self.ids = IdIndex()
        self._waiting: dict[str, set[int]] = {}
        self._keys_of: dict[int, frozenset[str]] = {}

    def set_links(self, source: int, keys: Iterable[str]) -> bool:
        """Replace what `source` (a note or canvas key) waits for by `keys`; says whether they are others."""
        new = frozenset(keys)
        old = self._keys_of.pop(source, frozenset())
        for key in old - new:
            waiting = self._waiting[key]
            waiting.discard(source)
            if not waiting:
                del self._waiting[key]
        for key in new - old:
            self._waiting.setdefault(key, set()).add(source)
        if new:
            self._keys_of[source] = new
        return new != old

    def forget(self, source: int) -> None:
        """Drop a source that is gone."""
        self.set_links(source, ())

    def add_file(self, path: str) -> set[int]:
        """A file appeared: returns the sources whose links it may change."""
        if path in self.names:
            return set()
        self.names.add(path)
        return self._touched(file_keys(path))

    def remove_file(self, path: str) -> set[int]:
        """A file went: returns the sources whose links it may change."""
        if path not in self.names:
            return set()
        self.names.remove(path)
        return self._touched(file_keys(path))

    def set_id(self, path: str, note_id: str | None) -> set[int]:
        """The note at `path` has this frontmatter id now (None: no id, or no note): returns whose links it may change.

        An id that is a file's name as well touches no wikilink: the file answers it (most vaults with ids have those).
        """
        keys: list[str] = []
        for key in self.ids.set(path, note_id):
            keys.append("#" + key)
            if not self.names.has_name(key):
                keys += name_keys(key)
        return self._touched(keys)

    def resolve(self, links: Sequence[Link], source_path: str) -> tuple[ResolvedLink, ...]:
        """The answers of `links` as they stand now; a link to the own note ("") resolves to `source_path`."""
        return tuple(self._answer(link, source_path) for link in links)

    def _answer(self, link: Link, source_path: str) -> ResolvedLink:
        if link.kind == "url":
            return ResolvedLink(link, None)
        if not link.target:
            return ResolvedLink(link, source_path)
        if link.kind == "plain" and (by_id := self.ids.find(link.target)) is not None:
            return ResolvedLink(link, None, by_id=by_id)
        path, ambiguous = self.names.resolve(link.target, source_path)
        return ResolvedLink(link, path, ambiguous, self.ids.meant(link) if path is None else None)

    def _touched(self, keys: Iterable[str]) -> set[int]:
        touched: set[int] = set()
        for key in keys:
            touched |= self._waiting.get(key, set())
        return touched


def waiting_keys(answers: Iterable[ResolvedLink]) -> frozenset[str]:
    """The keys under which the links of one source wait; for an id by display text only while no file answers."""
    return frozenset(key for answer in answers for key in _keys(answer))


def _keys(answer: ResolvedLink) -> Iterator[str]:
    link = answer.link
    if link.kind == "url" or not link.target:
        return
    yield from name_keys(link.target)
    if link.kind == "plain":
        yield "#" + id_key(link.target)
    elif answer.resolved is None:
        yield from ("#" + key for key in map(id_key, ids_meant(link)[1:]) if key)
