// The page: data in, pointer and keys, the panel. Text of notes goes into the page as text only, never as HTML.
const $ = id => document.getElementById(id);
const still = matchMedia("(prefers-reduced-motion: reduce)").matches;
const KINDS = {file: "file", url: "web page", unresolved: "missing note", chunk: "passage", entity: "entity"};

function read() {
  const graph = JSON.parse($("data").textContent);
  const notes = graph.nodes.filter(node => !KINDS[node.kind]), folder = node => (node.path || "").split("/").slice(0, -1)[0];
  const byFolder = notes.every(node => !node.type) && new Set(notes.map(folder)).size > 1; // a vault without types has folders
  const typeOf = node => KINDS[node.kind] || node.type || (byFolder && folder(node) ? folder(node) + "/" : "note");
  graph.nodes.forEach(node => {
    node.label = String(node.label).replace(/\s+/g, " ").trim() || node.path || "?";
    const letters = Array.from(node.label);
    node.short = letters.length > 34 ? letters.slice(0, 33).join("") + "\u2026" : node.label;
    node.group = typeOf(node); node.degree = 0; node.hidden = false;
  });
  const pairs = new Map();
  for (const e of graph.edges) {
    e.hidden = false;
    if (e.s !== e.t) { graph.nodes[e.s].degree++; graph.nodes[e.t].degree++; }
    const key = Math.min(e.s, e.t) + " " + Math.max(e.s, e.t);
    pairs.set(key, [...(pairs.get(key) || []), e]);
  }
  for (const same of pairs.values()) same.forEach((e, k) => {
    const side = (k % 2 ? -1 : 1) * Math.ceil(k / 2) + (same.length % 2 ? 0 : 0.5);
    e.bend = same.length < 2 ? 0 : side * (e.s < e.t ? 1 : -1);
  });
  return graph;
}

const graph = read();
const layout = new Layout(graph.nodes.map(n => n.hops), graph.edges);
const canvas = $("canvas"), painter = new Painter(canvas, graph, layout);
const state = {zoom: 1, x: 0, y: 0, focus: null, center: null, chosen: null, over: null, found: null};
let theme = matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light", themeIsAsked = false;
let moved = false, flight = null, dirty = true, asked = false;

// ------------------------------------------------------------------------------------------------------- the loop
function frame(now) {
  asked = false;
  if (!layout.settled) {
    const until = performance.now() + (still ? 40 : 11);
    do layout.step(); while (!layout.settled && performance.now() < until);
    grid = null;
    if (!moved && !flight) Object.assign(state, overview());
    dirty = true;
  }
  if (flight) fly(now);
  if (dirty) { dirty = false; painter.draw(state, theme); }
  document.documentElement.dataset.state = layout.settled ? "settled" : "moving";
  if (!layout.settled || flight) ask();
}
function ask() { if (!asked) { asked = true; requestAnimationFrame(frame); } }
function redraw() { dirty = true; ask(); }

function overview() {
  let left = Infinity, top = Infinity, right = -Infinity, bottom = -Infinity;
  graph.nodes.forEach((node, i) => {
    if (node.hidden) return;
    left = Math.min(left, layout.x[i]); right = Math.max(right, layout.x[i]);
    top = Math.min(top, layout.y[i]); bottom = Math.max(bottom, layout.y[i]);
  });
  if (left > right) return {zoom: 1, x: 0, y: 0};
  const wide = painter.width > 900, over = wide ? 34 : 150, under = $("legend").offsetHeight + 50; // room for the cards
  const fit = (near, far) => {
    const zoom = Math.max(0.02, Math.min((painter.width - near - far) / (right - left + 1), (painter.height - over - under) / (bottom - top + 1), 1.9));
    return {zoom, x: (left + right) / 2 + (far - near) / 2 / zoom, y: (top + bottom) / 2 + (under - over) / 2 / zoom};
  };
  const whole = wide ? fit(110, 130) : fit(30, 30), card = document.querySelector("header").getBoundingClientRect();
  const behind = i => (layout.x[i] - whole.x) * whole.zoom + painter.width / 2 < card.right + 12 && (layout.y[i] - whole.y) * whole.zoom + painter.height / 2 < card.bottom + 12;
  return wide && graph.nodes.some((node, i) => !node.hidden && behind(i)) ? fit(card.right + 40, 110) : whole;
}
function flyTo(goal) {
  moved = true;
  if (still) { Object.assign(state, goal); return redraw(); }
  flight = {from: {zoom: state.zoom, x: state.x, y: state.y}, goal, start: null};
  ask();
}
function fly(now) {
  flight.start ??= now;
  const t = Math.min((now - flight.start) / 480, 1), ease = 1 - Math.pow(1 - t, 3), { from, goal } = flight;
  state.zoom = from.zoom * Math.pow(goal.zoom / from.zoom, ease);
  state.x = from.x + (goal.x - from.x) * ease;
  state.y = from.y + (goal.y - from.y) * ease;
  dirty = true;
  if (t === 1) flight = null;
}
function zoomBy(factor, px = painter.width / 2, py = painter.height / 2) {
  const zoom = Math.min(Math.max(state.zoom * factor, 0.02), 8), x = px - painter.width / 2, y = py - painter.height / 2;
  state.x += x / state.zoom - x / zoom; state.y += y / state.zoom - y / zoom;
  state.zoom = zoom; moved = true; flight = null;
  redraw();
}

// ------------------------------------------------------------------------------------------ which node is there
const SQUARE = 60;
let grid = null;
function nodeAt(px, py) {
  if (!grid) {
    grid = new Map();
    graph.nodes.forEach((node, i) => {
      const key = Math.floor(layout.x[i] / SQUARE) + " " + Math.floor(layout.y[i] / SQUARE);
      if (grid.has(key)) grid.get(key).push(i); else grid.set(key, [i]);
    });
  }
  const x = (px - painter.width / 2) / state.zoom + state.x, y = (py - painter.height / 2) / state.zoom + state.y;
  const reach = 26 / state.zoom, across = Math.ceil(reach / SQUARE);
  let best = null, least = Infinity;
  const look = i => {
    const d = Math.hypot(layout.x[i] - x, layout.y[i] - y) * state.zoom - painter.radius(i, state.zoom);
    if (!graph.nodes[i].hidden && d < 5 && d < least) { least = d; best = i; }
  };
  if (across > 12) graph.nodes.forEach((_, i) => look(i));
  else for (let a = -across; a <= across; a++) for (let b = -across; b <= across; b++)
    for (const i of grid.get(Math.floor(x / SQUARE) + a + " " + (Math.floor(y / SQUARE) + b)) || []) look(i);
  return best;
}

// ------------------------------------------------------------------------------------------------------- focus
function edgesOf(i) { return graph.edges.filter(e => !e.hidden && (e.s === i || e.t === i)); }
function focusOn() {
  const i = state.center = state.over ?? state.chosen;
  state.focus = i === null ? null : new Set([i, ...edgesOf(i).flatMap(e => [e.s, e.t])]);
  redraw();
}
function hover(i, px, py) {
  if (i !== state.over) {
    state.over = i;
    canvas.classList.toggle("over", i !== null);
    focusOn();
    const tip = $("tip");
    tip.hidden = i === null;
    if (i !== null) {
      const node = graph.nodes[i];
      tip.replaceChildren(made("b", node.label), made("span", node.path && node.path !== node.label ? node.path : "", "path"),
        made("span", `${node.group} \u00b7 ${links(node.degree)}`, "soft"));
    }
  }
  if (i !== null) {
    const tip = $("tip");
    tip.style.left = Math.min(px + 14, painter.width - tip.offsetWidth - 8) + "px";
    tip.style.top = (py + 18 + tip.offsetHeight > painter.height ? py - tip.offsetHeight - 12 : py + 18) + "px";
  }
}
function choose(i, { go = false } = {}) {
  state.chosen = i;
  state.over = null;
  $("tip").hidden = true;
  document.body.classList.toggle("reading", i !== null);
  showPanel(i);
  focusOn();
  if (!go || i === null) return;
  const zoom = Math.max(state.zoom, 1.1), panel = $("panel"), wide = painter.width > 720; // into the middle of what the panel leaves free
  flyTo({zoom, x: layout.x[i] + (wide ? panel.offsetWidth / 2 / zoom : 0), y: layout.y[i] + (wide ? 0 : panel.offsetHeight / 2 / zoom)});
}
function links(n) { return n === 1 ? "1 link" : `${n} links`; }
function made(tag, text, name) {
  const element = document.createElement(tag);
  if (text) { element.textContent = text; element.dir = "auto"; }
  if (name) element.className = name;
  return element;
}

function showPanel(i) {
  const panel = $("panel");
  panel.hidden = i === null;
  if (i === null) return panel.replaceChildren();
  const node = graph.nodes[i], head = made("div", "", "head"), list = made("div", "", "list"), close = made("button", "\u00d7", "close");
  close.setAttribute("aria-label", "Close");
  close.onclick = () => choose(null);
  const facts = [node.group, links(node.degree)];
  if (node.hops > 0) facts.push(node.hops === 1 ? "1 hop" : `${node.hops} hops`);
  if (node.hops > 0 && node.score) facts.push(`score ${node.score.toFixed(2)}`);
  head.append(made("h2", node.label), made("span", node.path || "", "path"), made("span", facts.join(" \u00b7 "), "soft"), close);
  const all = edgesOf(i), out = all.filter(e => e.s === i), into = all.filter(e => e.t === i && e.s !== i);
  for (const [title, edges, far] of [["links to", out, "t"], ["linked from", into, "s"]]) {
    if (!edges.length) continue;
    list.append(made("h3", `${title} ${edges.length}`));
    edges.sort((a, b) => (a.line ?? 0) - (b.line ?? 0));
    for (const e of edges) list.append(edgeRow(e, e[far]));
  }
  panel.replaceChildren(head, list);
}
function edgeRow(e, far) {
  const row = made("button", "", "edge"), relation = made("span", "", "relation");
  const more = [e.relation, e.source === "declared" ? "" : `by ${e.source}`, e.occurrences > 1 ? `${e.occurrences}\u00d7` : "", e.line ? `line ${e.line}` : ""];
  relation.textContent = " " + more.filter(Boolean).join(" \u00b7 ");
  row.append(made("b", graph.nodes[far].label), relation);
  if (e.evidence) row.append(made("q", e.evidence));
  row.onclick = () => choose(far, {go: true});
  return row;
}

// ------------------------------------------------------------------------------------------------------ pointers
const pointers = new Map();
let grabbed = null, travelled = 0, pinch = null;
canvas.onpointerdown = event => {
  if (event.button > 0) return;
  canvas.setPointerCapture(event.pointerId);
  pointers.set(event.pointerId, [event.clientX, event.clientY]);
  if (pointers.size === 1) { grabbed = nodeAt(event.clientX, event.clientY); travelled = 0; } else { release(); pinch = gap(); travelled = 99; }
};
canvas.onpointermove = event => {
  const last = pointers.get(event.pointerId), { clientX: px, clientY: py } = event;
  if (!last) return event.pointerType === "mouse" && hover(nodeAt(px, py), px, py);
  pointers.set(event.pointerId, [px, py]);
  const dx = px - last[0], dy = py - last[1];
  travelled += Math.abs(dx) + Math.abs(dy);
  if (travelled < 4) return;
  canvas.classList.add("moving");
  $("tip").hidden = true;
  flight = null;
  if (pointers.size === 2) {
    const now = gap();
    if (pinch) { state.x -= (now.x - pinch.x) / state.zoom; state.y -= (now.y - pinch.y) / state.zoom; zoomBy(now.d / pinch.d, now.x, now.y); }
    pinch = now;
  } else if (grabbed !== null) {
    layout.held[grabbed] = 1;
    layout.x[grabbed] += dx / state.zoom; layout.y[grabbed] += dy / state.zoom;
    layout.warm(0.22); moved = true;
  } else { state.x -= dx / state.zoom; state.y -= dy / state.zoom; moved = true; }
  redraw();
};
canvas.onpointerup = canvas.onpointercancel = event => {
  if (!pointers.delete(event.pointerId)) return;
  if (travelled < 4 && event.type === "pointerup") choose(grabbed);
  release();
};
canvas.onpointerleave = () => hover(null, 0, 0);
canvas.ondblclick = event => {
  const i = nodeAt(event.clientX, event.clientY);
  if (i !== null) choose(i, {go: true}); else zoomBy(1.8, event.clientX, event.clientY);
};
canvas.onwheel = event => {
  event.preventDefault();
  const unit = event.deltaMode === 1 ? 16 : event.deltaMode === 2 ? 400 : 1;
  zoomBy(Math.exp(-Math.max(-240, Math.min(240, event.deltaY * unit)) * (event.ctrlKey ? 0.01 : 0.0018)), event.clientX, event.clientY);
};
function release() {
  if (grabbed !== null) layout.held[grabbed] = 0;
  grabbed = pinch = null;
  canvas.classList.remove("moving");
}
function gap() {
  const [[ax, ay], [bx, by]] = [...pointers.values()];
  return {d: Math.hypot(ax - bx, ay - by) || 1, x: (ax + bx) / 2, y: (ay + by) / 2};
}

// ------------------------------------------------------------------------------------------------------- search
const box = $("search"), hits = $("hits");
let hitList = [], at = 0;
const plain = text => text.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase();
for (const node of graph.nodes) node.words = plain(`${node.label} ${node.path || ""}`);
box.oninput = () => {
  const words = plain(box.value).split(/\s+/).filter(Boolean);
  const rank = i => { const title = plain(graph.nodes[i].label); return title === words.join(" ") ? 0 : title.startsWith(words[0]) ? 1 : title.includes(words[0]) ? 2 : 3; };
  hitList = words.length ? graph.nodes.map((_, i) => i).filter(i => !graph.nodes[i].hidden && words.every(word => graph.nodes[i].words.includes(word))) : [];
  hitList.sort((a, b) => rank(a) - rank(b) || graph.nodes[b].degree - graph.nodes[a].degree || a - b);
  state.found = words.length ? new Set(hitList) : null;
  at = 0;
  showHits(words.length > 0);
  redraw();
};
function showHits(open) {
  hits.hidden = !open;
  box.setAttribute("aria-expanded", String(open));
  hits.replaceChildren(...(hitList.length ? hitList.slice(0, 30).map((i, place) => {
    const node = graph.nodes[i], item = made("li", node.label);
    item.setAttribute("role", "option");
    item.id = "hit" + place;
    item.setAttribute("aria-selected", String(place === at));
    item.append(made("small", node.path && node.path !== node.label ? node.path : node.group));
    item.onclick = () => pick(place);
    return item;
  }) : open ? [made("li", "nothing here is called so", "soft")] : []));
  if (open && hitList.length) box.setAttribute("aria-activedescendant", "hit" + at); else box.removeAttribute("aria-activedescendant");
  hits.children[at]?.scrollIntoView({block: "nearest"});
}
function pick(place) {
  if (hitList[place] === undefined) return;
  at = place;
  showHits(false);
  choose(hitList[place], {go: true});
}
function clearSearch() { box.value = ""; state.found = null; hitList = []; showHits(false); redraw(); }
box.onkeydown = event => {
  const step = {ArrowDown: 1, ArrowUp: -1}[event.key];
  if (step && hitList.length) { at = (at + step + Math.min(hitList.length, 30)) % Math.min(hitList.length, 30); showHits(true); event.preventDefault(); }
  if (event.key === "Enter") { pick(at); canvas.focus(); }
  if (event.key === "Escape") { clearSearch(); canvas.focus(); }
  event.stopPropagation();
};

// --------------------------------------------------------------------------------------------- legend, keys, theme
function swatch(group) {
  const node = graph.nodes.find(n => n.group === group), svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  painter.theme = THEMES[theme];
  const color = painter.color(node);
  const shape = document.createElementNS(svg.namespaceURI, node.kind === "file" ? "rect" : node.kind === "url" ? "path" : "circle");
  const how = node.kind === "file" ? {x: 1.5, y: 1.5, width: 9, height: 9} : node.kind === "url" ? {d: "M6 0L12 6L6 12L0 6Z"} : {cx: 6, cy: 6, r: 4.8};
  for (const [name, value] of Object.entries({...how, ...(node.kind === "unresolved" ? {fill: "none", stroke: color, "stroke-width": 1.8} : {fill: color})})) shape.setAttribute(name, value);
  svg.setAttribute("viewBox", "0 0 12 12");
  svg.append(shape);
  return svg;
}
function line(relation) {
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg"), path = document.createElementNS(svg.namespaceURI, "path");
  const ruled = graph.edges.some(e => e.relation === relation && e.source === "rule"), colors = THEMES[theme];
  for (const [name, value] of Object.entries({d: "M0 6H12", "stroke-width": 1.8, stroke: relation === "contradicts" ? colors.against : colors.link, "stroke-dasharray": ruled ? "3 2" : ""})) path.setAttribute(name, value);
  svg.setAttribute("viewBox", "0 0 12 12");
  svg.append(path);
  return svg;
}
const off = {group: new Set(), relation: new Set()};
function showLegend() {
  const count = (items, name) => [...items.reduce((m, one) => m.set(one[name], (m.get(one[name]) || 0) + 1), new Map())].sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1));
  const button = (name, what, n, picture) => {
    const it = made("button", "");
    it.setAttribute("aria-pressed", String(!off[what].has(name)));
    it.title = off[what].has(name) ? "show" : "hide";
    it.append(...(picture ? [picture] : []), made("span", name), made("small", String(n)));
    it.onclick = () => { if (!off[what].delete(name)) off[what].add(name); filter(); };
    return it;
  };
  const groups = count(graph.nodes, "group"), relations = count(graph.edges, "relation");
  const types = made("div"), kinds = made("div");
  types.append(...groups.slice(0, 14).map(([name, n]) => button(name, "group", n, swatch(name))));
  if (relations.length > 1) kinds.append(...relations.slice(0, 10).map(([name, n]) => button(name, "relation", n, line(name))));
  $("legend").replaceChildren(types, kinds);
}
function filter() {
  graph.nodes.forEach((node, i) => { node.hidden = i > 0 && off.group.has(node.group); });
  graph.edges.forEach(e => { e.hidden = off.relation.has(e.relation) || graph.nodes[e.s].hidden || graph.nodes[e.t].hidden; });
  if (state.chosen !== null && graph.nodes[state.chosen].hidden) choose(null); else showPanel(state.chosen);
  if (box.value) box.oninput();
  showLegend();
  focusOn();
}
function setTheme(name) { theme = name; document.documentElement.dataset.theme = name; showLegend(); redraw(); }
matchMedia("(prefers-color-scheme: dark)").onchange = event => { if (!themeIsAsked) setTheme(event.matches ? "dark" : "light"); };
const toggleTheme = () => { themeIsAsked = true; setTheme(theme === "dark" ? "light" : "dark"); };
const toggleKeys = () => { $("keys").hidden = !$("keys").hidden; $("help").setAttribute("aria-expanded", String(!$("keys").hidden)); };
$("theme").onclick = toggleTheme;
$("help").onclick = toggleKeys;
$("closer").onclick = () => zoomBy(1.4);
$("farther").onclick = () => zoomBy(1 / 1.4);
$("fit").onclick = () => flyTo(overview());
const KEYS = {"/": () => { box.focus(); box.select(); }, "+": () => zoomBy(1.25), "=": () => zoomBy(1.25), "-": () => zoomBy(0.8), "0": () => flyTo(overview()), "?": toggleKeys, t: toggleTheme};
const MOVES = {ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1]};
onkeydown = event => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
  if (key === "Escape") { if (!$("keys").hidden) toggleKeys(); else if (state.chosen !== null) choose(null); else clearSearch(); }
  else if (MOVES[key]) { state.x += MOVES[key][0] * 60 / state.zoom; state.y += MOVES[key][1] * 60 / state.zoom; moved = true; redraw(); }
  else if (KEYS[key]) KEYS[key](); else return;
  event.preventDefault();
};
onresize = () => { painter.resize(); if (!moved) Object.assign(state, overview()); redraw(); };

const groups = [...new Set(graph.nodes.filter(n => !KINDS[n.kind]).map(n => n.group))];
const size = name => graph.nodes.filter(n => n.group === name).length;
groups.sort((a, b) => size(b) - size(a) || (a < b ? -1 : 1));
for (const node of graph.nodes) node.slot = Math.max(groups.indexOf(node.group), 0);
$("title").textContent = graph.nodes[0].label;
$("counts").textContent = `${graph.nodes.length} nodes, ${links(graph.edges.length)}` + (graph.truncated ? "; more was cut off" : "");
canvas.setAttribute("aria-label", `Graph around ${graph.nodes[0].label}: ${$("counts").textContent}. Search with the slash key; a chosen note lists its links.`);
globalThis.mindnet = {graph, layout, state, painter, nodeAt, choose};
setTheme(theme);
ask();
