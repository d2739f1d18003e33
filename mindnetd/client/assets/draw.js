// What is seen: links, nodes, then labels as far as there is room. Colours say the type, shapes the kind.
const THEMES = {
  light: {
    ground: "#faf9f6", ink: "#23252b", soft: "#5b5f69", link: "#767b88", against: "#c0392b", mark: "#2451b3",
    fixed: {file: "#767b88", url: "#0f766e", unresolved: "#a15c07", chunk: "#8a8578", entity: "#8a4fbe"},
    types: ["#2f6fd0", "#c2410c", "#15803d", "#9333ea", "#be185d", "#0e7490", "#a16207", "#4f46e5", "#65730b", "#b4323c", "#475569", "#7c4a21"],
  },
  dark: {
    ground: "#14161c", ink: "#eceae4", soft: "#a9aebb", link: "#8d94a5", against: "#ff7b6b", mark: "#8db4ff",
    fixed: {file: "#9aa1b2", url: "#4fd1b5", unresolved: "#f0b357", chunk: "#b5af9f", entity: "#cfa3f5"},
    types: ["#74a8ff", "#ff9d66", "#63d08a", "#c79bff", "#ff86b5", "#5fd0e6", "#ecc155", "#a5a4ff", "#c3d160", "#ff8d92", "#a8b5c9", "#d9a878"],
  },
};
const FONT = 'system-ui, "Segoe UI", "Noto Sans", sans-serif';
const CELL = 7; // pixels of the grid in which labels find room

class Painter {
  constructor(canvas, graph, layout) {
    this.canvas = canvas;
    this.pen = canvas.getContext("2d", {alpha: false});
    this.graph = graph;
    this.layout = layout;
    this.widths = new Map();
    this.order = graph.nodes.map((_, i) => i).sort((a, b) =>
      (graph.nodes[a].hops === 0 ? -1 : 0) - (graph.nodes[b].hops === 0 ? -1 : 0) || graph.nodes[b].degree - graph.nodes[a].degree || a - b);
    this.resize();
  }

  resize() {
    this.ratio = Math.min(devicePixelRatio || 1, 2);
    this.width = innerWidth; this.height = innerHeight;
    this.canvas.width = Math.round(this.width * this.ratio);
    this.canvas.height = Math.round(this.height * this.ratio);
    this.columns = Math.ceil(this.width / CELL) + 1;
    this.taken = new Uint8Array(this.columns * (Math.ceil(this.height / CELL) + 1));
  }

  radius(i, zoom) {
    const node = this.graph.nodes[i];
    return Math.max(node.degree > 1 ? 2.1 : 1.7, (node.hops === 0 ? 8 : 3.6 + 1.15 * Math.sqrt(node.degree)) * Math.min(Math.pow(zoom, 0.65), 2.2));
  }

  color(node) { return this.theme.fixed[node.kind] || this.theme.types[node.slot % this.theme.types.length]; }

  // state: {zoom, x, y (the middle, in the layout's units), focus (null or node numbers), chosen, over, found}
  draw(state, theme) {
    this.theme = THEMES[theme];
    const { pen, ratio, width, height, layout } = this, zoom = state.zoom;
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    pen.fillStyle = this.theme.ground;
    pen.fillRect(0, 0, width, height);
    const dx = width / 2 - state.x * zoom, dy = height / 2 - state.y * zoom;
    this.sx = i => layout.x[i] * zoom + dx;
    this.sy = i => layout.y[i] * zoom + dy;
    this.zoom = zoom;
    this.taken.fill(0);
    this.links(state);
    this.nodes(state);
    this.labels(state);
    if (zoom > 1.35 || (state.focus && zoom > 0.7)) this.relations(state);
  }

  links(state) {
    const { pen, graph, theme } = this, calm = Math.max(0.26, Math.min(0.62, 11 / Math.sqrt(graph.edges.length + 1)));
    const groups = [[], [], [], []]; // plain, against, by rule, in focus
    for (const e of graph.edges) {
      if (e.hidden || !this.crosses(e)) continue;
      const focus = state.focus && (e.s === state.center || e.t === state.center);
      groups[focus ? 3 : e.relation === "contradicts" ? 1 : e.source === "rule" || e.source === "ml" ? 2 : 0].push(e);
    }
    const dim = state.focus || state.found ? 0.3 : 1;
    this.stroke(groups[0], theme.link, calm * dim, 1, []);
    this.stroke(groups[1], theme.against, Math.max(calm, Math.min(0.25 + this.zoom * 0.4, 0.75)) * dim, 1.3, []);
    this.stroke(groups[2], theme.link, calm * dim, 1, [4, 4]);
    this.stroke(groups[3], theme.mark, 0.85, 1.5, []);
    if (this.zoom > 0.8 || state.focus) {
      pen.globalAlpha = Math.min(1, calm * 1.6) * dim;
      this.arrows(this.zoom > 0.8 ? [...groups[0], ...groups[2]] : [], theme.link);
      this.arrows(this.zoom > 0.8 ? groups[1] : [], theme.against);
      pen.globalAlpha = 1;
      this.arrows(groups[3], theme.mark);
    }
    pen.globalAlpha = 1;
  }

  crosses(e) {
    const ax = this.sx(e.s), ay = this.sy(e.s), bx = this.sx(e.t), by = this.sy(e.t);
    return !(Math.max(ax, bx) < -40 || Math.min(ax, bx) > this.width + 40 || Math.max(ay, by) < -40 || Math.min(ay, by) > this.height + 40);
  }

  stroke(edges, color, alpha, size, dash) {
    if (!edges.length) return;
    const { pen } = this;
    pen.globalAlpha = alpha; pen.strokeStyle = color; pen.lineWidth = size; pen.setLineDash(dash);
    pen.beginPath();
    for (const e of edges) {
      const ax = this.sx(e.s), ay = this.sy(e.s);
      if (e.s === e.t) {
        const r = this.radius(e.s, this.zoom);
        pen.moveTo(ax + r, ay - r); pen.arc(ax, ay - r, r, 0, 2 * Math.PI);
        continue;
      }
      const bx = this.sx(e.t), by = this.sy(e.t);
      pen.moveTo(ax, ay);
      if (e.bend) { const [mx, my] = this.middle(e, 2); pen.quadraticCurveTo(mx, my, bx, by); } else pen.lineTo(bx, by);
    }
    pen.stroke();
    pen.setLineDash([]);
  }

  // The middle of a link: of its chord moved aside where several links join the same two nodes.
  middle(e, part = 1) {
    const ax = this.sx(e.s), ay = this.sy(e.s), bx = this.sx(e.t), by = this.sy(e.t), off = e.bend * 9 * part * Math.min(this.zoom, 2);
    const d = Math.hypot(bx - ax, by - ay) || 1;
    return [(ax + bx) / 2 - (by - ay) / d * off, (ay + by) / 2 + (bx - ax) / d * off];
  }

  arrows(edges, color) {
    const { pen } = this, size = Math.min(4 + this.zoom * 2, 9);
    pen.fillStyle = color;
    pen.beginPath();
    for (const e of edges) {
      if (e.s === e.t) continue;
      let ax = this.sx(e.s), ay = this.sy(e.s);
      const bx = this.sx(e.t), by = this.sy(e.t);
      if (e.bend) [ax, ay] = this.middle(e, 2);
      const d = Math.hypot(bx - ax, by - ay), r = this.radius(e.t, this.zoom) + 1.5;
      if (d < r + size + 4) continue;
      const ux = (bx - ax) / d, uy = (by - ay) / d, x = bx - ux * r, y = by - uy * r;
      pen.moveTo(x, y);
      pen.lineTo(x - ux * size - uy * size * 0.42, y - uy * size + ux * size * 0.42);
      pen.lineTo(x - ux * size + uy * size * 0.42, y - uy * size - ux * size * 0.42);
    }
    pen.fill();
  }

  nodes(state) {
    const groups = new Map();
    const { pen, graph } = this;
    graph.nodes.forEach((node, i) => {
      if (node.hidden) return;
      const x = this.sx(i), y = this.sy(i);
      if (x < -30 || y < -30 || x > this.width + 30 || y > this.height + 30) return;
      const lit = state.focus ? state.focus.has(i) : !state.found || state.found.has(i);
      const key = (lit ? "1" : "0") + (node.kind === "unresolved" ? "h" : "s") + this.color(node);
      if (!groups.has(key)) groups.set(key, []);
      groups.get(key).push(i);
    });
    for (const [key, members] of [...groups].sort(([a], [b]) => (a < b ? -1 : 1))) {
      const color = key.slice(2);
      pen.globalAlpha = key[0] === "1" ? 1 : 0.2;
      pen.beginPath();
      for (const i of members) this.shape(i, 1.4);
      pen.fillStyle = this.theme.ground; // a rim that parts a node from links and from its neighbours
      pen.fill();
      pen.beginPath();
      for (const i of members) this.shape(i, key[1] === "h" ? -0.6 : 0);
      if (key[1] === "h") { pen.strokeStyle = color; pen.lineWidth = 1.7; pen.stroke(); } else { pen.fillStyle = color; pen.fill(); }
    }
    pen.globalAlpha = 1;
    this.ring(0, this.theme.ink, 3, 1.4);
    if (state.found && !state.focus) for (const i of state.found) this.ring(i, this.theme.mark, 2.5, 2);
    if (state.over !== null && state.over !== state.chosen) this.ring(state.over, this.theme.mark, 3, 1.6);
    if (state.chosen !== null) this.ring(state.chosen, this.theme.mark, 3.5, 2.6);
  }

  shape(i, more) {
    const { pen } = this, x = this.sx(i), y = this.sy(i), r = this.radius(i, this.zoom) + more, kind = this.graph.nodes[i].kind;
    if (kind === "file") pen.rect(x - r * 0.86, y - r * 0.86, r * 1.72, r * 1.72);
    else if (kind === "url") { pen.moveTo(x, y - r * 1.2); pen.lineTo(x + r * 1.2, y); pen.lineTo(x, y + r * 1.2); pen.lineTo(x - r * 1.2, y); pen.closePath(); }
    else { pen.moveTo(x + r, y); pen.arc(x, y, r, 0, 2 * Math.PI); }
  }

  ring(i, color, gap, size) {
    if (this.graph.nodes[i].hidden) return;
    this.pen.strokeStyle = color; this.pen.lineWidth = size;
    this.pen.beginPath();
    this.pen.arc(this.sx(i), this.sy(i), this.radius(i, this.zoom) + gap, 0, 2 * Math.PI);
    this.pen.stroke();
  }

  // Takes the room if nothing else has it, or in any case.
  room(left, top, width, height, anyway = false) {
    const a = Math.max(0, Math.floor(left / CELL)), b = Math.min(this.columns - 1, Math.floor((left + width) / CELL));
    const c = Math.max(0, Math.floor(top / CELL)), d = Math.min(this.taken.length / this.columns - 1, Math.floor((top + height) / CELL));
    if (a > b || c > d) return false;
    if (!anyway) for (let row = c; row <= d; row++) for (let col = a; col <= b; col++) if (this.taken[row * this.columns + col]) return false;
    for (let row = c; row <= d; row++) this.taken.fill(1, row * this.columns + a, row * this.columns + b + 1);
    return true;
  }

  measure(text, font) {
    const key = font + text;
    if (!this.widths.has(key)) { this.pen.font = font; this.widths.set(key, this.pen.measureText(text).width); }
    return this.widths.get(key);
  }

  labels(state) {
    const { pen, graph } = this, most = this.zoom < 0.5 ? 70 : 240;
    const first = [state.chosen, state.over].filter(i => i !== null);
    const lit = state.focus ? [...state.focus] : state.found ? [...state.found] : [];
    const rest = state.focus || state.found ? [] : this.order;
    pen.textAlign = "center"; pen.textBaseline = "top"; pen.lineJoin = "round";
    let written = 0, kept = false;
    for (const i of new Set([...first, ...lit, ...rest])) {
      const node = graph.nodes[i], x = this.sx(i), y = this.sy(i), r = this.radius(i, this.zoom);
      if (node.hidden || x < -60 || y < -20 || x > this.width + 60 || y > this.height + 10) continue;
      const strong = node.hops === 0 || first.includes(i), size = strong ? 13.5 : Math.min(11 + Math.sqrt(node.degree) * 0.35, 13.5);
      if (!kept && !strong && node.degree < 8) { this.keepFree(state); kept = true; } // a hub's name may lie over its leaves
      const font = `${strong ? 650 : 450} ${size}px ${FONT}`, wide = this.measure(node.short, font);
      const place = this.beside(x, y, r, wide, size, strong);
      if (!place) continue;
      pen.font = font;
      pen.strokeStyle = this.theme.ground; pen.lineWidth = 3.5; pen.globalAlpha = 0.9;
      pen.strokeText(node.short, ...place);
      pen.globalAlpha = 1;
      pen.fillStyle = strong || lit.includes(i) || node.degree > 2 ? this.theme.ink : this.theme.soft;
      pen.fillText(node.short, ...place);
      if (++written >= most) break;
    }
  }

  // Nodes that can be told apart are not written over.
  keepFree(state) {
    if (this.zoom < 0.45) return;
    for (const i of this.order) {
      const node = this.graph.nodes[i], r = this.radius(i, this.zoom) * 0.6;
      if (!node.hidden && (!state.focus || state.focus.has(i))) this.room(this.sx(i) - r, this.sy(i) - r, 2 * r, 2 * r);
    }
  }

  // Where a label has room: below its node, else above, right or left of it; one that must be seen: below all the same.
  beside(x, y, r, wide, size, must) {
    const half = wide / 2;
    for (const [px, py] of [[x, y + r + 3], [x, y - r - size - 3], [x + r + 5 + half, y - size / 2], [x - r - 5 - half, y - size / 2]])
      if (this.room(px - half - 2, py, wide + 4, size + 1)) return [px, py];
    return must && this.room(x - half - 2, y + r + 3, wide + 4, size + 1, true) ? [x, y + r + 3] : null;
  }

  relations(state) {
    const { pen } = this, font = `10.5px ${FONT}`;
    pen.textAlign = "center"; pen.textBaseline = "middle"; pen.lineJoin = "round";
    let written = 0;
    for (const e of this.graph.edges) {
      if (e.hidden || e.s === e.t || !this.crosses(e)) continue;
      if (state.focus && e.s !== state.center && e.t !== state.center) continue;
      const length = Math.hypot(this.sx(e.t) - this.sx(e.s), this.sy(e.t) - this.sy(e.s)), wide = this.measure(e.relation, font);
      const focus = state.focus !== null, common = e.relation === "references" || e.source === "rule";
      if (length < wide + (focus ? 24 : 44) || (common && !focus && this.zoom < 2.2)) continue; // those are told when asked for
      const [x, y] = this.middle(e);
      if (!this.room(x - wide / 2 - 2, y - 7, wide + 4, 14)) continue;
      pen.font = font;
      pen.strokeStyle = this.theme.ground; pen.lineWidth = 4;
      pen.strokeText(e.relation, x, y);
      pen.fillStyle = e.relation === "contradicts" ? this.theme.against : this.theme.soft;
      pen.fillText(e.relation, x, y);
      if (++written >= 160) break;
    }
  }
}
