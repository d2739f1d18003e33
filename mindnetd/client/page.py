"""The graph as one self-contained HTML page: its parts lie in ``assets`` and are read only when a page is made.

Text of notes reaches the page only as JSON data, and the page puts it into the document only as text; its policy lets
no script or style run but the two that are in it (by their hashes) and loads nothing from anywhere.
"""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Iterator
from hashlib import sha256
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mindnetd.client.graph import Graph

SCRIPTS = ("layout.js", "draw.js", "page.js")
EDGE_FIELDS = ("relation", "source", "evidence", "line", "occurrences")


def page(graph: Graph) -> Iterator[str]:
    """The page, as one piece."""
    script = '(() => {\n"use strict";\n' + "".join(map(asset, SCRIPTS)) + "})();\n"
    style = asset("graph.css")
    title = next(iter(graph.nodes.values()))["label"]
    values = {
        "SCRIPT_HASH": _hash(script),
        "STYLE_HASH": _hash(style),
        "TITLE": _text(f"{title} - mindnet"),
        "STYLE": style,
        "DATA": _data(graph),
        "SCRIPT": script,
    }
    head, *parts = asset("graph.html").split("{{")  # cut first: what is put in is not looked through again
    yield head + "".join(values[name] + rest for name, _, rest in (part.partition("}}") for part in parts))


def asset(name: str) -> str:
    """The text of a file of ``assets``."""
    folder = __file__.rpartition("/")[0]
    with open(f"{folder}/assets/{name}", encoding="utf-8", newline="") as file:  # pathlib costs 10 ms
        return file.read()


def _data(graph: Graph) -> str:
    number = {node_id: place for place, node_id in enumerate(graph.nodes)}
    nodes = [
        {
            "label": node["label"],
            "path": node["path"],
            "kind": node["kind"],
            "type": node.get("type"),
            "hops": node.get("hops", 1 if place else 0),
            "score": node.get("score"),
        }
        for place, node in enumerate(graph.nodes.values())
    ]
    edges: list[dict[str, Any]] = [
        {"s": number[edge["src"]], "t": number[edge["dst"]], **{name: edge.get(name) for name in EDGE_FIELDS}}
        for edge in graph.edges
        if edge["src"] in number and edge["dst"] in number
    ]
    told = {"nodes": nodes, "edges": edges, "truncated": graph.truncated}
    # ASCII, and no "<": neither </script> nor <!-- can come of it, whatever a note is called
    return json.dumps(told, ensure_ascii=True, separators=(",", ":")).replace("<", "\\u003c").replace(">", "\\u003e")


def _hash(text: str) -> str:
    return "sha256-" + b64encode(sha256(text.encode()).digest()).decode()


def _text(text: str) -> str:
    flat = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    safe = flat.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    # ASCII, as the whole page: a terminal of another encoding must not change a byte of it, or the hashes fail
    return safe.encode("ascii", "xmlcharrefreplace").decode()
