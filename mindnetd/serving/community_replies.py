"""Communities as a view of the notes sees them: the list, and one with its members and what its summary is made of."""

from __future__ import annotations

from typing import Any

from mindnetd.core.identity import fold
from mindnetd.errors import NotFound
from mindnetd.lanes.entities import EntityView
from mindnetd.lanes.shown_communities import ShownCommunity, children_of, shown
from mindnetd.lanes.snapshot import HotSnapshot
from mindnetd.serving.browse import paged
from mindnetd.serving.entity_replies import EntityBrowser
from mindnetd.serving.view import View
from mindnetd.sight import entity_of
from mindnetd.store import read

Json = dict[str, Any]
NO_COMMUNITIES = "there are no communities yet: the corpus-wide stage has not run (`mindnet rebuild`, or its schedule)"


class CommunityBrowser(EntityBrowser):
    """Answers ``GET /communities`` and ``GET /communities/{id}``; any thread."""

    def communities(self, level: int | None, view: View, limit: int, cursor: str | None) -> Json:
        """Those of the asker's own graph, by level and size. Raises BadRequest."""
        graph, snapshot = self.seen(view)
        found = self._shown(graph, snapshot, view)
        listed = [one for one in found if level is None or one.made.level == level]
        page = paged("communities", listed, limit, cursor)
        return {
            "communities": [_line(one) for one in page["communities"]],
            "count": len(listed),
            "next": page["next"],
            "built_at": graph.snapshot.built_at,
            "stale": _stale(graph, found),
        }

    def counts(self, view: View) -> Json:
        """What of the entity graph may be seen, for ``GET /stats``."""
        graph, snapshot = self.seen(view)
        return {
            "entities": int(graph.seen.sum()),
            "relationships": int((graph.relation_counts > 0).sum()),
            "communities": len(self._shown(graph, snapshot, view)),
        }

    def community(self, ref: str, view: View) -> Json:
        """One by id or label. Raises NotFound (``community_not_found``)."""
        graph, snapshot = self.seen(view)
        found = self._shown(graph, snapshot, view)
        by_ref = {one.made.id: one for one in found} | {one.made.label: one for one in found}
        one = by_ref.get(fold(ref))
        if one is None:
            told = "" if found else f"; {NO_COMMUNITIES}"
            raise NotFound(f"no community has the id or label {ref!r}{told}", code="community_not_found")
        metas = self._metas(graph, list(one.members), snapshot)
        members = []
        for n in one.members:
            meta = metas.get(graph.is_note(n) or "")
            own = {"note": meta.id if meta else None, "path": meta.path if meta else None}
            members.append({**entity_of(graph, n), **own})
        parent = by_ref.get(one.made.parent or "")
        return {
            "community": _line(one),
            "members": members,
            "sources": self._sources(one, snapshot, view),
            "parent": _name(parent) if parent else None,
            "children": [_name(child) for child in children_of(found).get(one.made.id, [])],
            "built_at": graph.snapshot.built_at,
            "stale": _stale(graph, found),
        }

    def _shown(self, graph: EntityView, snapshot: HotSnapshot, view: View) -> list[ShownCommunity]:
        made = graph.communities()
        chunks = self._owners([key for one in made for key, _, _ in one.sources], snapshot, view)
        found = [shown(graph, one, chunks.keys()) for one in made]
        listed = [one for one in found if one is not None]
        return sorted(listed, key=lambda one: (one.made.level, -len(one.members), one.made.id))

    def _sources(self, one: ShownCommunity, snapshot: HotSnapshot, view: View) -> list[Json]:
        keys = [key for key, _, _ in one.sources]
        owners, texts = self._owners(keys, snapshot, view), read.texts(self._services.db, keys)
        told = []
        for key, chunk_id, sentence in one.sources:
            if key in owners and key in texts:
                meta, chunk = owners[key], texts[key]
                told.append(
                    {
                        "chunk": chunk_id,
                        "path": meta.path,
                        "title": meta.title,
                        "section": list(chunk.section),
                        "start_line": chunk.start_line,
                        "end_line": chunk.end_line,
                        "sentence": sentence,
                    }
                )
        return told


def _stale(graph: EntityView, found: list[ShownCommunity]) -> bool:
    """Whether a note that may be seen changed since they were made, or something that one of them told has gone."""
    seen = any(map(graph.allows, graph.snapshot.changed))
    return seen or any(not one.intact for one in found)


def _line(one: ShownCommunity) -> Json:
    return {
        "id": one.made.id,
        "label": one.made.label,
        "level": one.made.level,
        "title": one.title,
        "size": len(one.members),
        "summary": one.summary,
        "summary_source": one.summary_source,
        "updated": one.made.updated,
        "parent": one.made.parent,
    }


def _name(one: ShownCommunity) -> Json:
    made = one.made
    return {"id": made.id, "label": made.label, "level": made.level, "title": one.title, "size": len(one.members)}
