"""``mindnet neighbors``, ``expand``, ``subgraph``, ``path``, ``related``: what a note is linked with, and how."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

from mindnetd.client.paint import ELLIPSIS, Paint, clean, cut
from mindnetd.client.transport import quote

if TYPE_CHECKING:
    from mindnetd.client.main import Call

EVIDENCE = 80
PAGE_EDGES = 3000
"""Edges of a page unless a limit is given: it is looked at, not read."""
WIDEST = 40
"""Columns that names are given at most; a longer one is whole, and shifts its line."""
KIND_WORDS = {"unresolved": "missing"}
SENT = 200
"""Evidence of this length was cut by the daemon, and may begin with half a word."""


class Graph(NamedTuple):
    """A reply: nodes by id (the asked one first), and edges."""

    nodes: dict[str, Mapping[str, Any]]
    edges: Sequence[Mapping[str, Any]]
    truncated: bool


def read_graph(body: bytes) -> Graph:
    """The graph of a reply."""
    reply = json.loads(body)
    return Graph({node["id"]: node for node in reply["nodes"]}, reply["edges"], reply["truncated"])


def label(node: Mapping[str, Any]) -> str:
    """A node's name on one line."""
    return clean(node["label"]) or clean(node["path"] or "") or "?"


def kind_note(node: Mapping[str, Any]) -> str:
    """What stands behind the name of a node that is no note."""
    kind = node["kind"]
    return "" if kind == "note" else f" ({KIND_WORDS.get(kind, kind)})"


def run_neighbors(call: Call) -> int:
    """The edges of a note."""
    given = {"kind": call.args.kind, "direction": call.args.direction, "limit": call.args.limit, **call.seen}
    body = call.client.get(f"/neighbors/{quote(call.args.note)}", **given)
    return _show(call, body, call.args.format or "list", neighbor_lines)


def run_expand(call: Call) -> int:
    """The nodes around a note, best first, each with the best way to it."""
    given = {"depth": call.args.hops, "decay": call.args.decay}
    return _show(call, _subgraph(call, given), call.args.format or "list", ranked_lines)


def run_subgraph(call: Call) -> int:
    """The graph around a note, in one of five forms."""
    return _show(call, _subgraph(call, {"depth": call.args.depth}), call.args.format or "tree", ranked_lines)


def _subgraph(call: Call, given: Mapping[str, Any]) -> bytes:
    limit = call.args.limit or (PAGE_EDGES if call.args.format == "html" and not call.json else None)
    more = {"relation": call.args.relation, "limit": limit, **call.seen}
    return call.client.get(f"/subgraph/{quote(call.args.note)}", **given, **more)


def _show(call: Call, body: bytes, form: str, listed: Any) -> int:
    """The graph in the asked form; 1 where the note has no edges."""
    graph = read_graph(body)
    if call.json or form == "json":
        call.raw(body)
        return 0 if graph.edges else 1
    if form == "list":
        lines: Iterator[str] = listed(graph, Paint(call.color))
    elif form == "html":
        lines = import_module("mindnetd.client.page").page(graph)  # its parts are read only when a page is made
    else:
        forms = import_module("mindnetd.client.graph_formats")
        lines = forms.tree(graph, Paint(call.color)) if form == "tree" else getattr(forms, form)(graph)
    for line in lines:
        call.out(line)
    if graph.truncated and form in ("list", "tree"):
        call.out("(more was cut off; ask with a higher --limit or fewer hops)")
    return 0 if graph.edges else 1


def neighbor_lines(graph: Graph, paint: Paint) -> Iterator[str]:
    """One edge a line: direction, relation, the other end, the words."""
    root = next(iter(graph.nodes))
    yield paint(label(graph.nodes[root]), "bold")
    rows = []
    for edge in graph.edges:
        out = edge["src"] == root
        other = graph.nodes[edge["dst"] if out else edge["src"]]
        words = evidence(edge["evidence"], label(graph.nodes[edge["dst"]]))
        rows.append(("→" if out else "←", clean(edge["relation"]), label(other) + kind_note(other), words))
    relations, labels = (min(max((len(row[n]) for row in rows), default=0), WIDEST) for n in (1, 2))
    for arrow, relation, name, words in rows:
        line = f"  {arrow} {paint(relation, 'blue')}{' ' * (relations - len(relation))}  {name:<{labels}}"
        yield f"{line}  {paint(words, 'dim')}".rstrip()


def ranked_lines(graph: Graph, paint: Paint) -> Iterator[str]:
    """One node a line: its score, its name, the best way to it."""
    root = next(iter(graph.nodes))
    edges = {edge["id"]: edge for edge in graph.edges}
    yield paint(label(graph.nodes[root]), "bold")
    nodes = [node for node in graph.nodes.values() if node["id"] != root and node["way"]]
    nodes.sort(key=lambda node: (-node["score"], node["kind"] != "note", node["path"] or node["label"]))
    names = [label(node) + kind_note(node) for node in nodes]
    widest = min(max(map(len, names), default=0), WIDEST)
    for node, name in zip(nodes, names, strict=True):
        way = way_words(root, [edges[one] for one in node["way"]], graph.nodes)
        score = f"{node['score']:6.3f}"
        yield f"{paint(score, 'red' if node['score'] < 0 else 'green')}  {name:<{widest}}  {paint(way, 'dim')}"


def way_words(start: str, edges: Sequence[Mapping[str, Any]], nodes: Mapping[str, Mapping[str, Any]]) -> str:
    """``→ references → Pump ← depends_on``: the relations of a way and the nodes between, its ends left out."""
    at, words = start, []
    for place, edge in enumerate(edges):
        out = edge["src"] == at
        at = edge["dst"] if out else edge["src"]
        words.append(f"{'→' if out else '←'} {clean(edge['relation'])}")
        if place < len(edges) - 1:
            words.append(f"{'→' if out else '←'} {label(nodes[at])}")
    return " ".join(words)


def run_path(call: Call) -> int:
    """A shortest way between two notes; 1 where there is none."""
    given = {"from": call.args.note, "to": call.args.other, "relation": call.args.relation, **call.seen}
    body = call.client.get("/path", **given)
    reply = json.loads(body)
    if call.json:
        call.raw(body)
    elif reply["found"]:
        for line in path_lines(reply, Paint(call.color)):
            call.out(line)
    else:
        why = "the search gave up: they are far apart" if reply["truncated"] else "nothing links them"
        call.out(f"no way from {label(reply['from'])} to {label(reply['to'])}: {why}")
    return 0 if reply["found"] else 1


def path_lines(reply: Mapping[str, Any], paint: Paint) -> Iterator[str]:
    """Node, edge with its words, node, ..."""
    nodes = reply["nodes"]
    yield f"{paint(label(nodes[0]), 'bold')}  {paint(clean(nodes[0]['path'] or ''), 'cyan')}"
    for near, edge, far in zip(nodes, reply["edges"], nodes[1:], strict=False):
        out = edge["src"] == near["id"]
        source, target = (near, far) if out else (far, near)
        place = clean(source["path"] or "") + (f":{edge['line']}" if edge["line"] else "")
        words = evidence(edge["evidence"], label(target))
        yield f"  {'↓' if out else '↑'} {paint(clean(edge['relation']), 'blue')}  {paint(f'{words}  ({place})', 'dim')}"
        yield f"{paint(label(far), 'bold')}  {paint(clean(far['path'] or ''), 'cyan')}"


def run_related(call: Call) -> int:
    """Notes near in meaning and in the graph, with the reasons."""
    body = call.client.get(f"/notes/{quote(call.args.note)}/related", limit=call.args.limit, **call.seen)
    reply, paint = json.loads(body), Paint(call.color)
    if call.json:
        call.raw(body)
        return 0 if reply["related"] else 1
    for one in reply["related"]:
        score = paint(f"{one['score']:.2f}", "green")
        call.out(f"{score}  {paint(clean(one['note']['title']), 'bold')}  {paint(clean(one['note']['path']), 'cyan')}")
        for reason in one["reasons"]:
            call.out(f"      {paint(clean(reason['text']), 'dim')}")
    for warning in reply["warnings"]:
        call.out(paint(f"({clean(warning)})", "yellow"))
    return 0 if reply["related"] else 1


def evidence(text: str | None, target: str) -> str:
    """The words around a link to ``target``: whole words, and the link among them."""
    words = clean(text or "")
    at = max(words.find(f"[[{target}"), 0)
    if at > EVIDENCE // 3:
        words = ELLIPSIS + words[words.find(" ", at - EVIDENCE // 3) + 1 :]
    elif len(text or "") >= SENT and not words[:1].isupper() and " " in words:
        words = ELLIPSIS + words.partition(" ")[2]
    return cut(words, EVIDENCE)
