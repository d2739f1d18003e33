"""``mindnet neighbors``, ``expand``, ``subgraph``: the links around a note."""

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


def run_neighbors(call: Call) -> int:
    """The edges of a note."""
    target = f"/neighbors/{quote(call.args.note)}"
    body = call.client.get(target, kind=call.args.kind, direction=call.args.direction, **call.seen)
    if call.json:
        call.raw(body)
        return 0
    graph, paint = read_graph(body), Paint(call.color)
    root = next(iter(graph.nodes))
    call.out(paint(label(graph.nodes[root]), "bold"))
    for line in _edge_lines(graph, root, paint):
        call.out(line)
    _note_truncation(call, graph)
    return 0 if graph.edges else 1


def _edge_lines(graph: Graph, root: str, paint: Paint) -> Iterator[str]:
    rows = []
    for edge in graph.edges:
        out = edge["src"] == root
        other = graph.nodes[edge["dst"] if out else edge["src"]]
        words = evidence(edge["evidence"], label(graph.nodes[edge["dst"]]))
        rows.append(("→" if out else "←", edge["relation"], label(other) + _kind(other), words))
    relations, labels = (max((len(row[n]) for row in rows), default=0) for n in (1, 2))
    for arrow, relation, name, words in rows:
        line = f"  {arrow} {paint(relation, 'blue')}{' ' * (relations - len(relation))}  {name:<{labels}}"
        yield f"{line}  {paint(words, 'dim')}".rstrip()


def evidence(text: str | None, target: str) -> str:
    """The words around a link to ``target``: whole words, and the link among them."""
    words = clean(text or "")
    at = max(words.find(f"[[{target}"), 0)
    if at > EVIDENCE // 3:
        words = ELLIPSIS + words[words.find(" ", at - EVIDENCE // 3) + 1 :]
    elif len(text or "") >= SENT and not words[:1].isupper() and " " in words:
        words = ELLIPSIS + words.partition(" ")[2]
    return cut(words, EVIDENCE)


def run_expand(call: Call) -> int:
    """The notes around a note, as a tree."""
    return _subgraph(call, call.args.hops, "tree")


def run_subgraph(call: Call) -> int:
    """The graph around a note, in one of five forms."""
    return _subgraph(call, call.args.depth, call.args.format or "tree")


def _subgraph(call: Call, depth: int | None, form: str) -> int:
    given = {"depth": depth, "relation": call.args.relation, "limit": call.args.limit, **call.seen}
    body = call.client.get(f"/subgraph/{quote(call.args.note)}", **given)
    graph = read_graph(body)
    if call.json or form == "json":
        call.raw(body)
    elif form == "tree":
        for line in tree(graph, Paint(call.color)):
            call.out(line)
        _note_truncation(call, graph)
    else:
        for line in {"mermaid": mermaid, "dot": dot, "html": page}[form](graph):
            call.out(line)
    return 0 if graph.edges else 1


def _note_truncation(call: Call, graph: Graph) -> None:
    if graph.truncated:
        call.out("(more was cut off; ask with a higher --limit or a smaller depth)")


def label(node: Mapping[str, Any]) -> str:
    """A node's name on one line."""
    return clean(node["label"])


def _kind(node: Mapping[str, Any]) -> str:
    return "" if node["kind"] == "note" else f" ({node['kind']})"


def tree(graph: Graph, paint: Paint) -> Iterator[str]:
    """Breadth first from the first node, each node once, under the node it was reached from."""
    root = next(iter(graph.nodes))
    around: dict[str, list[tuple[str, str]]] = {}
    for edge in graph.edges:
        around.setdefault(edge["src"], []).append((f"→ {edge['relation']}", edge["dst"]))
        around.setdefault(edge["dst"], []).append((f"← {edge['relation']}", edge["src"]))
    children: dict[str, list[tuple[str, str]]] = {}
    seen, queue = {root}, [root]
    for at in queue:
        for relation, other in around.get(at, ()):
            if other not in seen:
                seen.add(other)
                queue.append(other)
                children.setdefault(at, []).append((relation, other))
    yield paint(label(graph.nodes[root]), "bold")
    yield from _branches(graph, children, root, "", paint)


def _branches(
    graph: Graph, children: Mapping[str, list[tuple[str, str]]], at: str, indent: str, paint: Paint
) -> Iterator[str]:
    mine = children.get(at, [])
    for number, (relation, child) in enumerate(mine):
        last = number == len(mine) - 1
        node = graph.nodes[child]
        yield f"{indent}{'└─' if last else '├─'} {paint(relation, 'blue')} {label(node)}{_kind(node)}"
        yield from _branches(graph, children, child, indent + ("   " if last else "│  "), paint)


def _numbers(graph: Graph) -> dict[str, str]:
    return {node_id: f"n{number}" for number, node_id in enumerate(graph.nodes)}


def mermaid(graph: Graph) -> Iterator[str]:
    """A Mermaid flowchart."""
    names = _numbers(graph)
    yield "flowchart LR"
    for node_id, node in graph.nodes.items():
        text = label(node).replace("&", "&amp;").replace('"', "#quot;").replace("<", "&lt;").replace(">", "&gt;")
        yield f'  {names[node_id]}["{text}"]'
    for edge in graph.edges:
        relation = "".join(c for c in edge["relation"] if c.isalnum() or c in "_- ")
        yield f"  {names[edge['src']]} -->|{relation}| {names[edge['dst']]}"


def dot(graph: Graph) -> Iterator[str]:
    """A Graphviz digraph."""
    names = _numbers(graph)
    yield "digraph mindnet {"
    yield "  rankdir=LR; node [shape=box];"
    for node_id, node in graph.nodes.items():
        yield f"  {names[node_id]} [label={_dot_text(label(node))}];"
    for edge in graph.edges:
        yield f"  {names[edge['src']]} -> {names[edge['dst']]} [label={_dot_text(edge['relation'])}];"
    yield "}"


def _dot_text(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def page(graph: Graph) -> Iterator[str]:
    """One HTML page that needs nothing else; its template is loaded only when it is asked for."""
    lines: Iterator[str] = import_module("mindnetd.client.page").page(graph)
    return lines
