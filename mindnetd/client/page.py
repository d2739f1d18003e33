"""The graph as one self-contained HTML page: a small force layout, no scripts or fonts from anywhere."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mindnetd.client.graph import Graph

HEAD = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>__TITLE__</title>
<meta http-equiv="Content-Security-Policy"
  content="default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'">
<style>
body { margin: 0; font: 14px system-ui, sans-serif; background: Canvas; color: CanvasText; color-scheme: light dark; }
svg { width: 100vw; height: 100vh; display: block; cursor: grab; }
line { stroke: GrayText; stroke-opacity: .5; }
circle { stroke: Canvas; stroke-width: 1.5; cursor: pointer; }
text { font-size: 12px; fill: CanvasText; pointer-events: none; }
.edge { font-size: 9px; fill: GrayText; }
</style></head><body><svg></svg>
<script type="application/json" id="graph">"""

SCRIPT = """</script><script>
const graph = JSON.parse(document.getElementById("graph").textContent);
const colors = {note: "#4c8bf5", file: "#8f8f8f", url: "#2e9e6b", unresolved: "#d9822b"};
const svg = document.querySelector("svg"), NS = svg.namespaceURI;
const put = (element, values) => { for (const k in values) element.setAttribute(k, values[k]); return element; };
const make = (tag, values) => svg.appendChild(put(document.createElementNS(NS, tag), values));
const spiral = (i, f) => f(i * 2.4) * 30 * Math.sqrt(i);
const nodes = graph.nodes.map((n, i) => ({...n, x: spiral(i, Math.cos), y: spiral(i, Math.sin), vx: 0, vy: 0}));
const byId = new Map(nodes.map(n => [n.id, n]));
const edges = graph.edges.map(e => ({...e, a: byId.get(e.src), b: byId.get(e.dst)}))
  .filter(e => e.a && e.b && e.a !== e.b);
for (const e of edges) { e.line = make("line", {}); e.text = make("text", {class: "edge", "text-anchor": "middle"});
  e.text.textContent = e.relation; }
for (const n of nodes) { n.dot = make("circle", {r: n === nodes[0] ? 9 : 6, fill: colors[n.kind] || "#888"});
  n.text = make("text", {dx: 10, dy: 4}); n.text.textContent = n.label;
  n.dot.append(Object.assign(document.createElementNS(NS, "title"), {textContent: n.path || n.label}));
  n.dot.onpointerdown = ev => { held = n; ev.stopPropagation(); }; }
let heat = 1, held = null, view = {x: 0, y: 0, k: 1}, pan = null;
function step() {
  for (const a of nodes) for (const b of nodes) { if (a === b) continue; const dx = a.x - b.x, dy = a.y - b.y;
    const d = Math.max(dx * dx + dy * dy, 25); a.vx += dx / d * 40; a.vy += dy / d * 40; }
  for (const e of edges) { const dx = e.b.x - e.a.x, dy = e.b.y - e.a.y;
    const d = Math.hypot(dx, dy) || 1, f = (d - 110) / d * .04;
    e.a.vx += dx * f; e.a.vy += dy * f; e.b.vx -= dx * f; e.b.vy -= dy * f; }
  for (const n of nodes) { n.vx -= n.x * .004; n.vy -= n.y * .004; n.vx *= .7; n.vy *= .7;
    if (n !== held) { n.x += n.vx * heat; n.y += n.vy * heat; } }
  heat = held ? Math.max(heat, .5) : heat * .992; draw(); if (heat > .01) requestAnimationFrame(step);
}
function draw() {
  const w = innerWidth / view.k, h = innerHeight / view.k;
  svg.setAttribute("viewBox", [view.x - w / 2, view.y - h / 2, w, h]);
  for (const e of edges) { put(e.line, {x1: e.a.x, y1: e.a.y, x2: e.b.x, y2: e.b.y});
    put(e.text, {x: (e.a.x + e.b.x) / 2, y: (e.a.y + e.b.y) / 2}); }
  for (const n of nodes) { put(n.dot, {cx: n.x, cy: n.y}); put(n.text, {x: n.x, y: n.y}); }
}
svg.onpointerdown = ev => { pan = ev; };
onpointermove = ev => { const dx = ev.movementX / view.k, dy = ev.movementY / view.k;
  if (held) { held.x += dx; held.y += dy; if (heat < .05) { heat = .5; step(); } }
  else if (pan) { view.x -= dx; view.y -= dy; draw(); } };
onpointerup = () => { held = pan = null; };
onwheel = ev => { view.k *= ev.deltaY < 0 ? 1.1 : 1 / 1.1; draw(); };
onresize = draw; step();
</script></body></html>"""


def page(graph: Graph) -> Iterator[str]:
    """The page's lines. Text of notes reaches it only as JSON data, so that no note can run a script."""
    data = json.dumps({"nodes": list(graph.nodes.values()), "edges": list(graph.edges)}, ensure_ascii=True)
    title = next(iter(graph.nodes.values()))["label"]
    safe = title.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    yield HEAD.replace("__TITLE__", safe) + data.replace("<", "\\u003c") + SCRIPT
