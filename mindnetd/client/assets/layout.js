// Where the nodes lie: springs along the links, repulsion between all (Barnes and Hut 1986, a quadtree), a weak pull
// to the middle (windows are wider than high), cooled down over a fixed number of steps. No clock and no chance: one graph has one first layout.
const STEPS = 320, THETA2 = 0.81, CHARGE = 240, DAMPING = 0.58, PULL_X = 0.019, PULL_Y = 0.042, NONE = -1;

function seeded(seed) { // mulberry32
  return () => {
    seed = (seed + 0x6d2b79f5) | 0;
    let t = Math.imul(seed ^ (seed >>> 15), 1 | seed);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}

class Layout {
  // hops: distance of each node from the first; edges: pairs of node numbers
  constructor(hops, edges) {
    const n = this.n = hops.length;
    this.edges = edges.filter(e => e.s !== e.t);
    this.degree = new Float64Array(n);
    for (const e of this.edges) { this.degree[e.s]++; this.degree[e.t]++; }
    for (const name of ["x", "y", "vx", "vy"]) this[name] = new Float64Array(n);
    this.held = new Uint8Array(n);
    this.heat = 1;
    this.steps = 0;
    const chance = seeded(n * 7919 + this.edges.length);
    const spread = 26 * Math.sqrt(n);
    for (let i = 0; i < n; i++) {
      const ring = hops[i] === 0 ? 0 : (hops[i] - 0.5 + chance()) * spread / 3, turn = i * 2.399963 + chance();
      this.x[i] = ring * Math.cos(turn);
      this.y[i] = ring * Math.sin(turn);
    }
    this.room = 0;
  }

  get settled() { return this.steps >= STEPS && this.heat < 0.002; }

  warm(heat) { this.heat = Math.max(this.heat, heat); }

  step() {
    const { x, y, vx, vy, n, held } = this, heat = this.heat;
    this.springs(heat);
    this.repel(heat);
    for (let i = 0; i < n; i++) {
      vx[i] = (vx[i] - x[i] * PULL_X * heat) * DAMPING;
      vy[i] = (vy[i] - y[i] * PULL_Y * heat) * DAMPING;
      if (held[i]) { vx[i] = vy[i] = 0; } else { x[i] += vx[i]; y[i] += vy[i]; }
    }
    this.steps++;
    this.heat *= Math.pow(0.0015, 1 / STEPS);
  }

  springs(heat) {
    const { x, y, vx, vy, degree } = this;
    for (const { s, t } of this.edges) {
      const dx = x[t] + vx[t] - x[s] - vx[s], dy = y[t] + vy[t] - y[s] - vy[s];
      const d = Math.sqrt(dx * dx + dy * dy) || 1e-6, rest = 46 + 3 * Math.sqrt(Math.min(degree[s], degree[t]));
      const pull = (d - rest) / d * heat / Math.min(degree[s], degree[t]);
      const share = degree[s] / (degree[s] + degree[t]);
      vx[t] -= dx * pull * share; vy[t] -= dy * pull * share;
      vx[s] += dx * pull * (1 - share); vy[s] += dy * pull * (1 - share);
    }
  }

  // The quadtree, in arrays: child[4 * cell + quarter] is a cell, or -2 - node, or NONE.
  plant() {
    const { x, y, n } = this, need = 4 * n + 64;
    if (this.room < need) {
      this.room = need;
      this.child = new Int32Array(4 * need);
      for (const name of ["mass", "cx", "cy"]) this[name] = new Float64Array(need);
    }
    let left = Infinity, top = Infinity, right = -Infinity, bottom = -Infinity;
    for (let i = 0; i < n; i++) {
      left = Math.min(left, x[i]); right = Math.max(right, x[i]);
      top = Math.min(top, y[i]); bottom = Math.max(bottom, y[i]);
    }
    this.side = Math.max(right - left, bottom - top, 1) * 1.01;
    this.left = left; this.top = top; this.cells = 0;
    this.cell();
    for (let i = 0; i < n; i++) this.insert(i);
  }

  cell() {
    const c = this.cells++;
    this.child.fill(NONE, 4 * c, 4 * c + 4);
    this.mass[c] = this.cx[c] = this.cy[c] = 0;
    return c;
  }

  insert(i) {
    const { x, y, child, mass, cx, cy } = this;
    let c = 0, left = this.left, top = this.top, half = this.side / 2;
    for (let depth = 0; ; depth++) {
      mass[c]++; cx[c] += x[i]; cy[c] += y[i];
      const east = x[i] >= left + half ? 1 : 0, south = y[i] >= top + half ? 1 : 0, place = 4 * c + east + 2 * south;
      const there = child[place];
      if (there === NONE) { child[place] = -2 - i; return; }
      if (depth > 40 || this.cells >= this.room - 1) return; // on one spot: counted, not told apart
      left += east * half; top += south * half; half /= 2;
      if (there >= 0) { c = there; continue; }
      const other = -2 - there, next = this.cell(); // two in a quarter: the first goes a cell deeper
      child[place] = next;
      mass[next] = 1; cx[next] = x[other]; cy[next] = y[other];
      child[4 * next + (x[other] >= left + half ? 1 : 0) + (y[other] >= top + half ? 2 : 0)] = there;
      c = next;
    }
  }

  repel(heat) {
    this.plant();
    const { x, y, vx, vy, n, child, mass, cx, cy } = this, force = CHARGE * heat;
    const cells = new Int32Array(256), sides = new Float64Array(256);
    for (let i = 0; i < n; i++) {
      const px = x[i], py = y[i];
      let ax = 0, ay = 0, top = 1;
      cells[0] = 0; sides[0] = this.side;
      while (top > 0) {
        const c = cells[--top], side = sides[top];
        let m = mass[c], dx = px - cx[c] / m, dy = py - cy[c] / m, d2 = dx * dx + dy * dy;
        if (side * side < THETA2 * d2) {
          const f = m / Math.max(d2, 40);
          ax += dx * f; ay += dy * f;
          continue;
        }
        for (let q = 0; q < 4; q++) {
          const there = child[4 * c + q];
          if (there >= 0) { cells[top] = there; sides[top++] = side / 2; continue; }
          const j = -2 - there;
          if (there === NONE || j === i) continue;
          dx = px - x[j]; dy = py - y[j]; d2 = dx * dx + dy * dy;
          if (d2 < 1e-9) { dx = (i < j ? 1 : -1) * 0.1; d2 = 0.01; }
          const f = 1 / Math.max(d2, 40);
          ax += dx * f; ay += dy * f;
        }
      }
      vx[i] += ax * force; vy[i] += ay * force;
    }
  }
}
