"""Names that no note has, and links to hidden notes, which must look like them: lists and diagnostics alike.

An index without the hidden notes would list such a link as unresolved and complain about it; so does every reply here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from mindnetd.core.graph_masks import link_diagnostics, masked
from mindnetd.core.identity import unresolved_uuid
from mindnetd.core.records import Diagnostic, NoteMeta, ResolvedLink
from mindnetd.core.resolve import NameIndex, file_keys, name_keys, plain
from mindnetd.lanes.snapshot import HotSnapshot
from mindnetd.serving.refs import fold, without_md
from mindnetd.serving.services import Services
from mindnetd.serving.shown_ids import shown_ids
from mindnetd.serving.view import View
from mindnetd.store import read, read_ties
from mindnetd.store.records import Backlink, StoredDiagnostic, UnresolvedLink

Json = dict[str, Any]
ABOUT_LINKS = ("link_unresolved", "link_ambiguous")


def missing_key(target: str) -> str:
    """Targets with one key are one missing note for Obsidian: without case, ``.md`` and composition."""
    return without_md(fold(plain(target)))


class Masks:
    """How links look to one view: made for one request."""

    def __init__(self, services: Services, snapshot: HotSnapshot, view: View) -> None:
        self._services, self._snapshot, self._view = services, snapshot, view
        hidden = [meta.path for meta in snapshot.notes if meta is not None and not view.shows(meta)]
        self.hidden = frozenset(hidden)
        self._hidden_keys = {key for path in hidden for key in file_keys(path)}

    def links(self, links: Sequence[ResolvedLink], source: str) -> tuple[ResolvedLink, ...]:
        """The links of the file at ``source`` as they would be without the hidden notes."""
        if not self.hidden:
            return tuple(links)
        return tuple(
            self._clear(one, source) for one in masked(links, self.hidden, shown_ids(self._snapshot, self._view))
        )

    def _clear(self, one: ResolvedLink, source: str) -> ResolvedLink:
        """A name that only a hidden note shares is not ambiguous."""
        keys = set(name_keys(one.link.target)) if one.ambiguous else set()
        if not keys & self._hidden_keys:
            return one
        files = (path for path in read.load_files(self._services.db) if path not in self.hidden)
        names = NameIndex(path for path in files if keys & set(file_keys(path)))
        return ResolvedLink(one.link, one.resolved, names.resolve(one.link.target, source)[1])

    def touched(self) -> dict[int, tuple[ResolvedLink, ...]]:
        """The stored links of every note and canvas that links to a hidden note, by key. Raises StoreError."""
        db = self._services.db
        owners = read_ties.owners_linking(db, sorted(self.hidden))
        return read.load_links(db, owners) if owners else {}

    def diagnostics(self, found: Sequence[Diagnostic], links: Sequence[ResolvedLink], path: str) -> list[Diagnostic]:
        """The diagnostics of one file, those about links as they would be without the hidden notes."""
        shown = self.links(links, path)
        if shown == tuple(links):
            return list(found)
        return [one for one in found if one.code not in ABOUT_LINKS] + list(link_diagnostics(shown))

    def all_diagnostics(self, found: Sequence[StoredDiagnostic], only: Sequence[int] | None) -> list[StoredDiagnostic]:
        """The same for a list over many files; ``only`` are the keys it is about, None: all."""
        touched = {key: links for key, links in self._ambiguous_too(found).items() if only is None or key in only}
        if not touched:
            return list(found)
        kept = [one for one in found if one.owner not in touched or one.diagnostic.code not in ABOUT_LINKS]
        paths = self.paths(touched)
        return kept + [
            StoredDiagnostic(paths[key], key, diagnostic)
            for key, links in touched.items()
            if key in paths
            for diagnostic in link_diagnostics(self.links(links, paths[key]))
        ]

    def _ambiguous_too(self, found: Sequence[StoredDiagnostic]) -> dict[int, tuple[ResolvedLink, ...]]:
        touched = self.touched()
        if not self.hidden:
            return touched
        more = {one.owner for one in found if one.owner is not None and one.diagnostic.code == "link_ambiguous"}
        more -= touched.keys()
        return touched | (read.load_links(self._services.db, sorted(more)) if more else {})

    def paths(self, keys: Iterable[int]) -> dict[int, str]:
        """The paths of notes and canvases by key."""
        keys = set(keys)
        found = {key: meta.path for key in keys if (meta := self._snapshot.note(key)) is not None}
        if keys - found.keys():
            found |= {one.key: one.path for one in read.load_canvases(self._services.db) if one.key in keys}
        return found

    def backlinks(self, meta: NoteMeta) -> list[Backlink]:
        """The links that mean this note by its id because the note that they mean is hidden. Raises StoreError."""
        if not self.hidden or meta.note_id is None:
            return []
        touched, ids = self.touched(), shown_ids(self._snapshot, self._view)
        paths = self.paths(touched)
        return [
            Backlink(key, paths[key], one.link.line, one.link.relation)
            for key, links in touched.items()
            for one, seen in zip(links, masked(links, self.hidden, ids), strict=True)
            if seen is not one and seen.leads_to == meta.path and key in paths
        ]

    def unresolved(self) -> list[UnresolvedLink]:
        """Links that lead nowhere, and those to hidden notes as such, by path and place. Raises StoreError."""
        waiting = list(read.unresolved(self._services.db))
        touched = self.touched()
        paths, ids = self.paths(touched), shown_ids(self._snapshot, self._view)
        for key, links in touched.items():
            waiting += [
                UnresolvedLink(key, paths[key], ResolvedLink(one.link, None))
                for one, seen in zip(links, masked(links, self.hidden, ids), strict=True)
                if one.leads_to in self.hidden and seen.leads_to is None and key in paths
            ]
        return sorted(waiting, key=lambda one: (one.path, one.link.link.line or 0))


def missing_notes(prefix: str, waiting: Iterable[UnresolvedLink]) -> list[Json]:
    """Links to missing notes by what they ask for, most wanted first; names that one new note would answer are one."""
    items: dict[str, Json] = {}
    spelled: dict[str, Counter[str]] = {}
    for one in waiting:
        link = one.link.link
        key = missing_key(link.target)
        item = items.setdefault(key, {"id": "", "target": "", "count": 0, "sources": [], "spellings": []})
        spelled.setdefault(key, Counter())[link.target] += 1
        item["count"] += 1
        item["sources"].append({"path": one.path, "line": link.line, "relation": link.relation})
    for key, item in items.items():
        item["spellings"] = sorted(spelled[key], key=lambda name: (-spelled[key][name], name))
        item["target"] = item["spellings"][0]
        item["id"] = unresolved_uuid(prefix, item["target"])
    return sorted(items.values(), key=lambda item: (-item["count"], item["target"]))
