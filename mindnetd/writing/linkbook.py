"""Who links to which name: keeps link resolution incremental.

A link waits under the keys of its last path component (``core.resolve.name_keys``). A file that appears or goes can
only change the answer of links that share a key with it (``file_keys``), so a save costs as much as the links to the
names it touches, however large the vault is.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from mindnetd.core.records import Link, ResolvedLink
from mindnetd.core.resolve import NameIndex, file_keys, name_keys


class LinkBook:
    """The resident names of all vault files and the links that wait for them. Used by the writer thread only."""

    def __init__(self) -> None:
        self.names = NameIndex()
        self._waiting: dict[str, set[int]] = {}
        self._keys_of: dict[int, frozenset[str]] = {}

    def set_links(self, source: int, keys: Iterable[str]) -> None:
        """Replace what `source` (a note or canvas key) waits for by `keys`."""
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

    def forget(self, source: int) -> None:
        """Drop a source that is gone."""
        self.set_links(source, ())

    def add_file(self, path: str) -> set[int]:
        """A file appeared: returns the sources whose links it may change."""
        if path in self.names:
            return set()
        self.names.add(path)
        return self._touched(path)

    def remove_file(self, path: str) -> set[int]:
        """A file went: returns the sources whose links it may change."""
        if path not in self.names:
            return set()
        self.names.remove(path)
        return self._touched(path)

    def resolve(self, links: Sequence[Link], source_path: str) -> tuple[ResolvedLink, ...]:
        """The answers of `links` as they stand now; a link to the own note ("") resolves to `source_path`."""
        out = []
        for link in links:
            if link.kind == "url":
                out.append(ResolvedLink(link, None))
            elif not link.target:
                out.append(ResolvedLink(link, source_path))
            else:
                path, ambiguous = self.names.resolve(link.target, source_path)
                out.append(ResolvedLink(link, path, ambiguous))
        return tuple(out)

    def _touched(self, path: str) -> set[int]:
        touched: set[int] = set()
        for key in file_keys(path):
            touched |= self._waiting.get(key, set())
        return touched


def waiting_keys(links: Iterable[Link]) -> frozenset[str]:
    """The keys under which the links of one source wait."""
    return frozenset(key for link in links if link.kind != "url" and link.target for key in name_keys(link.target))
