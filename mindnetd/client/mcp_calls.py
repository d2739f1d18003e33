"""What each tool of ``mindnet mcp`` asks the daemon, and what of the reply it hands on.

One function a tool: ``(ask, arguments) -> shape``, where ``shape(size)`` is the result with texts of at most
``size.chars`` characters and lists of at most ``size.items``; ``mcp_fit`` finds the size that fits. Ranking, filters
and visibility are the daemon's: nothing here chooses, orders or hides, so that every door gives one answer.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from mindnetd.client.ask import spot
from mindnetd.client.transport import Client, quote

Json = dict[str, Any]
NOTE_KEYS = ("id", "note_id", "path", "title", "type", "status", "tags", "visibility", "modified")
FULL_KEYS = ("id", "note_id", "path", "title", "aliases", "tags", "type", "status", "visibility", "lang", "created",
             "modified", "frontmatter", "flags")  # fmt: skip
NODE_KEYS = ("id", "kind", "label", "path", "type")
EDGE_KEYS = ("src", "dst", "relation", "weight", "source", "evidence", "line")
AROUND: dict[str, tuple[tuple[str, ...], int]] = {
    "entities": (("id", "name", "type", "mentions"), 10),
    "relationships": (("source", "type", "target", "weight", "count"), 8),
    "communities": (("id", "level", "title", "size", "summary", "summary_source"), 3),
    "follow_ups": (("text",), 5),
}
"""What a question's results come with, and how much of it is handed on: the results are what was asked for."""
ELLIPSIS = "…"
EVIDENCE = 140
"""Characters of the sentence that a link stands in."""
LEAD = 0.25
"""The share of an excerpt that stands before the place that fits."""


class Size(NamedTuple):
    """How much a result may hold: characters of a text, items of a list."""

    chars: int
    items: int


Shape = Callable[[Size], Json]


class Asking:
    """The daemon as a tool asks it; ``seen`` are the visibility parameters that hold."""

    def __init__(self, client: Client, seen: Mapping[str, Any]) -> None:
        self._client = client
        self.seen = dict(seen)

    def get(self, target: str, **values: Any) -> Json:
        """The JSON of a GET under the visibility that holds. Raises UnreachableError, RefusedError."""
        reply: Json = json.loads(self._client.get(target, **values, **self.seen))
        return reply

    def state(self) -> Json:
        """``GET /status``, which takes no visibility."""
        reply: Json = json.loads(self._client.get("/status"))
        return reply

    def query(self, body: Mapping[str, Any]) -> Json:
        """``POST /query``."""
        filters = {**body.get("filters", {}), **{name: value for name, value in self.seen.items() if value}}
        reply: Json = json.loads(self._client.post("/query", {**body, "filters": filters}))
        return reply


def picked(values: Mapping[str, Any], names: tuple[str, ...]) -> Json:
    """Those of ``names`` that are there and say something."""
    return {name: values[name] for name in names if values.get(name) not in (None, [], {}, "")}


# --------------------------------------------------------------------------------------------------------------- query


def mindnet_query(ask: Asking, given: Json) -> Shape:
    """``POST /query``: the ranking of the daemon, each chunk cut to the place that fits."""
    body = {"top_k": 8, "explain": False, **given}
    wants_terms = body["explain"]
    reply = ask.query(body)

    def shape(size: Size) -> Json:
        hits = reply["results"][: size.items]
        result = {
            **picked(reply, ("query_id", "mode", "mode_reason", "revision", "warnings")),
            "results": [_hit(hit, size, explain=wants_terms) for hit in hits],
            **picked(reply, ("answer",)),
        }
        for name, (keys, most) in AROUND.items():
            if reply.get(name):
                result[name] = [picked(one, keys) for one in reply[name][:most]]
        if reply["vectors"]["pending"]:
            result["vectors"] = reply["vectors"]
        if len(hits) < len(reply["results"]):
            result["left_out"] = len(reply["results"]) - len(hits)
        return result

    return shape


def _hit(hit: Mapping[str, Any], size: Size, *, explain: bool) -> Json:
    chunk = hit["chunk"]
    shown = {"rank": hit["rank"], "score": hit["score"], "note": picked(hit["note"], NOTE_KEYS), "chunk": None}
    if chunk is not None:
        line, section = spot(chunk)
        text, cut = excerpt(chunk["text"], chunk["snippet"], size.chars)
        shown["chunk"] = {
            **picked(chunk, ("id", "start_line", "end_line")),
            "idx": chunk["idx"],
            "line": line,
            "section": section,
            "text": text,
            "cut": cut,
        }
    if explain:
        shown["explain"] = hit.get("explain")
    return shown


def excerpt(text: str, snippet: str, chars: int) -> tuple[str, bool]:
    """At most ``chars`` of ``text`` around ``snippet``, at word ends, and whether anything was cut off."""
    text = text.strip("\n")
    if len(text) <= chars:
        return text, False
    at = max(text.find(snippet), 0) if snippet else 0
    start = max(0, min(at - int(chars * LEAD), len(text) - chars))
    end = start + chars
    if start and (space := _space(text, start, start + chars // 8)) is not None:
        start = space + 1
    if end < len(text) and (space := _space(text, end, end - chars // 8)) is not None:
        end = space
    before, after = ELLIPSIS if start else "", ELLIPSIS if end < len(text) else ""
    return before + text[start:end].strip() + after, True


def _space(text: str, at: int, until: int) -> int | None:
    step = 1 if until > at else -1
    return next((n for n in range(at, until, step) if text[n].isspace()), None)  # some scripts write no spaces


# ---------------------------------------------------------------------------------------------------------------- note


def mindnet_note(ask: Asking, given: Json) -> Shape:
    """``GET /notes/{ref}``: properties and links, and the text from a line on, in whole lines where they fit."""
    reply = ask.get(f"/notes/{quote(given['ref'])}")
    chunks = reply["chunks"]
    lines = "".join(chunk["text"] for chunk in chunks).split("\n") if chunks else []
    first = chunks[0]["start_line"] if chunks else 1
    begin = min(max(given.get("start_line", 1) - first, 0), len(lines))
    links = list(
        {(one["relation"], one["resolved"] or one["target"]): one for one in reversed(reply["links"])}.values()
    )
    links = [picked(one, ("target", "resolved", "relation", "line", "ambiguous")) for one in reversed(links)]

    def shape(size: Size) -> Json:
        end, length = begin, 0
        while end < len(lines) and length + len(lines[end]) < max(size.chars * 10, 1):
            length += len(lines[end]) + 1
            end += 1
        text = "\n".join(lines[begin:end])
        if end == begin and begin < len(lines):  # one line that is too long for a result
            text, end = lines[begin][: size.chars * 10] + ELLIPSIS, begin + 1
        more = end < len(lines) and any(line.strip() for line in lines[end:])
        return {
            "note": picked(reply["note"], FULL_KEYS),
            "start_line": first + begin,
            "end_line": first + max(end, begin + 1) - 1,
            "next_start_line": first + end if more else None,
            "text": text,
            "links": links,
            "backlinks": reply["backlinks"],
            "diagnostics": reply["diagnostics"],
        }

    return shape


# --------------------------------------------------------------------------------------------------- graph and related


def mindnet_subgraph(ask: Asking, given: Json) -> Shape:
    """``GET /subgraph/{ref}``: edges in the daemon's order, and the nodes at their ends."""
    relation = given.get("relation")
    reply = ask.get(
        f"/subgraph/{quote(given['ref'])}", depth=given.get("depth"), relation=relation, limit=given.get("limit", 60)
    )

    def shape(size: Size) -> Json:
        edges = reply["edges"][: size.items]
        ends = {end for edge in edges for end in (edge["src"], edge["dst"])}
        shown = [node for n, node in enumerate(reply["nodes"]) if not n or node["id"] in ends]
        return {
            "nodes": [
                {**picked(node, ("id", "kind", "label", "path", "type")), "hops": node["hops"]} for node in shown
            ],
            "edges": [_edge(edge) for edge in edges],
            "truncated": reply["truncated"] or len(edges) < len(reply["edges"]),
        }

    return shape


def _edge(edge: Mapping[str, Any]) -> Json:
    shown = picked(edge, EDGE_KEYS)
    if "evidence" in shown:
        words = " ".join(shown["evidence"].split())
        shown["evidence"] = words if len(words) <= EVIDENCE else words[:EVIDENCE] + ELLIPSIS
    return shown


def mindnet_related(ask: Asking, given: Json) -> Shape:
    """``GET /notes/{ref}/related``."""
    reply = ask.get(f"/notes/{quote(given['ref'])}/related", limit=given.get("limit", 8))

    def shape(size: Size) -> Json:
        related = [
            {
                "score": one["score"],
                "note": picked(one["note"], NOTE_KEYS),
                "reasons": [picked(reason, ("kind", "text", "line", "value")) for reason in one["reasons"]],
            }
            for one in reply["related"][: size.items]
        ]
        return {"related": related, **picked(reply, ("warnings",))}

    return shape


# ----------------------------------------------------------------------------------------------- communities and state


def mindnet_communities(ask: Asking, given: Json) -> Shape:
    """``GET /communities`` or ``GET /communities/{id}``."""
    if "id" in given:
        one = ask.get(f"/communities/{quote(given['id'])}")
        return lambda size: {**one, "members": one["members"][: min(size.items, 40)]}
    reply = ask.get("/communities", level=given.get("level"), limit=given.get("limit", 15))

    def shape(size: Size) -> Json:
        return {**reply, "communities": reply["communities"][: size.items]}

    return shape


def mindnet_status(ask: Asking, _: Json) -> Shape:
    """``GET /status`` for the state, ``GET /stats`` for counts of what may be seen."""
    status = ask.state()
    stats = ask.get("/stats")
    shown = {
        **picked(status, ("state", "reason", "version", "revision", "queue")),
        "vault": picked(status["vault"], ("name", "path")),
        "counts": {name: value for name, value in stats.items() if type(value) is int and name != "database_bytes"},
        "vectors_pending": status["vectors"]["pending"],
        "model": status["model"],
        "llm": status["llm"],
    }
    if (status.get("types") or {}).get("error"):
        shown["types"] = status["types"]
    if status["state"] in ("indexing", "starting"):
        shown["progress"] = status["progress"]
    return lambda _: shown


CALLS: dict[str, Callable[[Asking, Json], Shape]] = {
    call.__name__: call
    for call in (
        mindnet_query,
        mindnet_note,
        mindnet_subgraph,
        mindnet_related,
        mindnet_communities,
        mindnet_status,
    )
}
