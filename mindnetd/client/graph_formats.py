"""A graph in the forms of other tools: a tree for a terminal, Mermaid, Graphviz. Every title is data, never syntax."""

from __future__ import annotations

from collections.abc import Iterator

from mindnetd.client.graph import Graph, kind_note, label
from mindnetd.client.paint import Paint, clean

STYLES = {"note": "bold", "unresolved": "yellow", "file": "dim", "url": "cyan", "chunk": "dim", "entity": "green"}
MERMAID_ODD = frozenset('"#&<>`\\%{}[]()|;')
"""What Mermaid could read as its own: written by number (``#34;``), which it turns back into the character."""
MERMAID_SHAPES = {"note": ('["', '"]'), "file": ('[/"', '"/]'), "url": ('(["', '"])'), "unresolved": ('{{"', '"}}')}
DOT_SHAPES = {
    "note": "shape=box",
    "file": "shape=note",
    "url": "shape=ellipse",
    "unresolved": 'shape=box, style="rounded,dashed"',
}


def tree(graph: Graph, paint: Paint) -> Iterator[str]:
    """Breadth first from the first node, each node once, under the node it was reached from."""
    root = next(iter(graph.nodes))
    around: dict[str, list[tuple[str, str]]] = {}
    for edge in graph.edges:
        around.setdefault(edge["src"], []).append((f"→ {clean(edge['relation'])}", edge["dst"]))
        around.setdefault(edge["dst"], []).append((f"← {clean(edge['relation'])}", edge["src"]))
    children: dict[str, list[tuple[str, str]]] = {}
    seen, queue = {root}, [root]
    for at in queue:
        for relation, other in around.get(at, ()):
            if other not in seen and other in graph.nodes:
                seen.add(other)
                queue.append(other)
                children.setdefault(at, []).append((relation, other))
    yield paint(label(graph.nodes[root]), "bold")
    stack = [
        (child, relation, "", place == 0) for place, (relation, child) in enumerate(reversed(children.get(root, [])))
    ]
    while stack:
        at, relation, indent, last = stack.pop()
        node = graph.nodes[at]
        color = "red" if relation.endswith("contradicts") else "blue"
        told = paint(label(node), STYLES.get(node["kind"], "bold")) + paint(kind_note(node), "dim")
        yield f"{paint(indent + ('└─' if last else '├─'), 'dim')} {paint(relation, color)} {told}"
        below = indent + ("   " if last else "│  ")
        stack += [
            (child, word, below, place == 0) for place, (word, child) in enumerate(reversed(children.get(at, [])))
        ]


def numbers(graph: Graph) -> dict[str, str]:
    """Names for the nodes that no title can disturb."""
    return {node_id: f"n{number}" for number, node_id in enumerate(graph.nodes)}


def mermaid(graph: Graph) -> Iterator[str]:
    """A Mermaid flowchart."""
    names = numbers(graph)
    yield "flowchart LR"
    for node_id, node in graph.nodes.items():
        left, right = MERMAID_SHAPES.get(node["kind"], MERMAID_SHAPES["note"])
        yield f"  {names[node_id]}{left}{mermaid_text(label(node))}{right}"
    for edge in graph.edges:
        arrow = "-.->" if edge["source"] == "rule" else "-->"
        yield f'  {names[edge["src"]]} {arrow}|"{mermaid_text(clean(edge["relation"]))}"| {names[edge["dst"]]}'
    yield f"  style {names[next(iter(graph.nodes))]} stroke-width:3px"


def mermaid_text(text: str) -> str:
    """A text between quotes."""
    return "".join(f"#{ord(c)};" if c in MERMAID_ODD else c for c in text)


def dot(graph: Graph) -> Iterator[str]:
    """A Graphviz digraph."""
    names = numbers(graph)
    yield "digraph mindnet {"
    yield '  graph [rankdir=LR, charset="UTF-8"]; node [shape=box, fontname="sans-serif"]; edge [fontsize=10];'
    for number, (node_id, node) in enumerate(graph.nodes.items()):
        bold = ", penwidth=2" if number == 0 else ""
        shape = DOT_SHAPES.get(node["kind"], "shape=box")
        tip = dot_text(clean(node["path"] or node["label"]))
        yield f"  {names[node_id]} [label={dot_text(label(node))}, tooltip={tip}, {shape}{bold}];"
    for edge in graph.edges:
        style = ", style=dashed" if edge["source"] == "rule" else ""
        color = ', color="#c0392b"' if edge["relation"] == "contradicts" else ""
        told = dot_text(clean(edge["relation"]))
        yield f"  {names[edge['src']]} -> {names[edge['dst']]} [label={told}{style}{color}];"
    yield "}"


def dot_text(text: str) -> str:
    """A quoted string; a backslash stays one."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
