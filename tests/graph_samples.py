"""Made-up graphs for the page and the other forms: seeded, with the same words each time."""

from __future__ import annotations

import random
from typing import Any

from mindnetd.client.graph import Graph

TYPES = ("concept", "project", "task", "person", "meeting", "decision", None)
FIRST = ("Garden", "Valve", "Harbour", "Lantern", "Meridian", "Copper", "Winter", "Orchard", "Signal", "Paper", "Tidal",
         "Northern", "Quiet", "Second", "Glass", "Amber", "River", "Night", "Iron", "Cedar")  # fmt: skip
SECOND = ("timing", "notes", "plan", "ledger", "survey", "workshop", "archive", "review", "pump", "atlas", "meeting",
          "protocol", "sketch", "index", "register", "method", "lesson", "journal", "map", "question")  # fmt: skip
RELATIONS = ("references",) * 10 + ("related_to", "depends_on", "supports", "contradicts", "derived_from")
EVIDENCE = ("See [[{}]] for the rest.", "As in [[{}]], which came first.", "From [[{}]] it follows that work goes on.")
ODD = (
    'Say "hello" [twice] {and} <b>bold</b> | pipe', "</script><script>alert(1)</script>", "-- > %% end; #quot; &amp;",
    "line\nbreak\ttab", "שלום עולם", "مرحبا ⟶ world", "日本語 👩‍👩‍👧 emoji 🎉", "back\\slash\\",
    "`code` $math$ ~tilde~", "end", "subgraph", " ", "'quoted'", "a" * 300, "<!--", "]]>", "\u2028\u2029",
)  # fmt: skip


def sample(count: int, *, seed: int = 7, odd: bool = False) -> Graph:
    """A connected graph of ``count`` nodes in communities, hubs and leaves, about two edges a node."""
    rng = random.Random(seed + count)
    names = [f"{a} {b}" for a in FIRST for b in SECOND]
    rng.shuffle(names)
    nodes: dict[str, dict[str, Any]] = {}
    edges: list[dict[str, Any]] = []
    hubs = max(count // 45, 1)
    places: list[int] = []
    for i in range(count):
        kind = "note" if i < hubs or rng.random() < 0.86 else rng.choice(("unresolved", "file", "url"))
        label = names[i % len(names)] + (f" {i // len(names) + 1}" if i >= len(names) else "")
        if odd and i:
            label = ODD[(i - 1) % len(ODD)]
        path = f"{rng.choice(('10_areas', '20_topics', '30_projects'))}/{label}.md" if kind == "note" else None
        if kind == "file":
            label, path = f"{label}.png", f"files/{label}.png"
        if kind == "url":
            label = f"https://example.org/{i}"
        kind_type = rng.choice(TYPES) if kind == "note" else None
        nodes[f"n{i}"] = {"id": f"n{i}", "kind": kind, "label": label, "path": path, "type": kind_type}
        if i:
            parent = (i - 1) // 6 if i < hubs else rng.choice((i % hubs, i % hubs, rng.choice(places)))
            nodes[f"n{i}"]["hops"] = min(nodes[f"n{parent}"]["hops"] + 1, 4)
            _edge(edges, rng, f"n{parent}", f"n{i}", nodes)
        else:
            nodes["n0"]["hops"] = 0
        if kind == "note":
            places.append(i)
    for _ in range(count):
        a, b = rng.choice(places), rng.choice(places)
        if a % hubs == b % hubs and a != b:
            _edge(edges, rng, f"n{a}", f"n{b}", nodes)
    for node in nodes.values():
        node |= {"score": round(0.5 ** node["hops"], 4), "way": []}
    return Graph(nodes, edges, False)


def _edge(edges: list[dict[str, Any]], rng: random.Random, src: str, dst: str, nodes: dict[str, Any]) -> None:
    relation = rng.choice(RELATIONS)
    label = nodes[dst]["label"]
    edges.append({
        "id": f"e{len(edges)}", "src": src, "dst": dst, "relation": relation, "weight": 1.0,
        "source": "rule" if relation == "related_to" else "declared", "line": rng.randint(1, 90), "occurrences": 1,
        "evidence": rng.choice(EVIDENCE).format(label),
    })  # fmt: skip
