// Level of detail for a track: sums over 8, 32, 128, ... neighbouring events, so that a view costs about as much as it
// has pixels, however many events it shows.
//
// A node is a run of events: when the first starts, when the last ends, and the ns of each kind in between. Nodes hold
// equally many events, not equal times: the pyramid is as deep where the trace is dense. `walk` goes down only where a
// node is wider than a pixel, and what it finds is summed per column of pixels (PixelColumns).

const EVENTS_PER_LEAF = 8;
const NODES_PER_PARENT = 4;
const LEAST_NS = 1e-3; // what an event of no length counts, so that it is seen
const LEAST_PIXELS = 1e-6;

export class Pyramid {
  constructor(track) {
    this.track = track;
    this.kinds = track.kinds;
    this.levels = [];
    for (let level = this.makeLeaves(); ; level = this.makeParents(level)) {
      this.levels.push(level);
      if (level.count <= NODES_PER_PARENT) break;
    }
  }

  newLevel(count) {
    return {count, start: new Float64Array(count), end: new Float64Array(count),
      sums: new Float32Array(count * this.kinds)};
  }

  makeLeaves() {
    const {start, end, kind, weight, length} = this.track;
    const level = this.newLevel(Math.ceil(length / EVENTS_PER_LEAF));
    for (let node = 0; node < level.count; node++) {
      const first = node * EVENTS_PER_LEAF;
      const last = Math.min(first + EVENTS_PER_LEAF, length);
      let latest = -Infinity;
      for (let i = first; i < last; i++) {
        level.sums[node * this.kinds + kind[i]] += Math.max(weight ? weight[i] : end[i] - start[i], LEAST_NS);
        if (end[i] > latest) latest = end[i];
      }
      level.start[node] = start[first];
      level.end[node] = latest;
    }
    return level;
  }

  makeParents(below) {
    const level = this.newLevel(Math.ceil(below.count / NODES_PER_PARENT));
    for (let node = 0; node < level.count; node++) {
      const first = node * NODES_PER_PARENT;
      const last = Math.min(first + NODES_PER_PARENT, below.count);
      let latest = -Infinity;
      for (let child = first; child < last; child++) {
        if (below.end[child] > latest) latest = below.end[child];
        for (let k = 0; k < this.kinds; k++) {
          level.sums[node * this.kinds + k] += below.sums[child * this.kinds + k];
        }
      }
      level.start[node] = below.start[first];
      level.end[node] = latest;
    }
    return level;
  }

  // Shows [begin, end] to `sink`: sink.node(start, end, sums, at) for runs of events that are at most `grain` ns long
  // (sums[at + kind] is their ns), and sink.events(from, to) for indexes of single events.
  walk(begin, end, grain, sink) {
    const top = this.levels.length - 1;
    for (let node = 0; node < this.levels[top].count; node++) this.visit(top, node, begin, end, grain, sink);
  }

  visit(depth, node, begin, end, grain, sink) {
    const level = this.levels[depth];
    if (level.end[node] < begin || level.start[node] > end) return;
    if (level.end[node] - level.start[node] <= grain) {
      sink.node(level.start[node], level.end[node], level.sums, node * this.kinds);
      return;
    }
    if (depth === 0) {
      const first = node * EVENTS_PER_LEAF;
      sink.events(first, Math.min(first + EVENTS_PER_LEAF, this.track.length));
      return;
    }
    const first = node * NODES_PER_PARENT;
    const last = Math.min(first + NODES_PER_PARENT, this.levels[depth - 1].count);
    for (let child = first; child < last; child++) this.visit(depth - 1, child, begin, end, grain, sink);
  }
}

// Sums per column of pixels and kind, in pixels: a column that works all the time has a sum of 1.
export class PixelColumns {
  constructor() {
    this.sums = new Float32Array(0);
  }

  // Empties the columns.
  reset(width, kinds) {
    if (this.sums.length < width * kinds) this.sums = new Float32Array(width * kinds);
    else if (this.low <= this.high) this.sums.fill(0, this.low * this.kinds, (this.high + 1) * this.kinds);
    this.width = width;
    this.kinds = kinds;
    this.low = width;
    this.high = -1;
  }

  addAt(column, kind, amount) {
    if (column < 0 || column >= this.width) return;
    this.sums[column * this.kinds + kind] += amount;
    if (column < this.low) this.low = column;
    if (column > this.high) this.high = column;
  }

  // Work of one kind that covers the pixels [from, to); `share`: the part of that time in which it worked.
  add(from, to, kind, share = 1) {
    const first = Math.max(0, Math.floor(from));
    const last = Math.min(this.width - 1, Math.floor(to));
    if (first === last) {
      this.addAt(first, kind, Math.max(LEAST_PIXELS, (Math.min(to, this.width) - Math.max(from, 0)) * share));
      return;
    }
    for (let column = first; column <= last; column++) {
      const covered = Math.min(to, column + 1) - Math.max(from, column);
      if (covered > 0) this.addAt(column, kind, covered * share);
    }
  }

  // A node of a pyramid that covers [from, to) pixels, about one pixel; `scale` is pixels per ns.
  addNode(from, to, sums, at, scale) {
    const column = Math.floor(from);
    const inFirst = to - from > 1e-9 ? Math.min(1, (column + 1 - from) / (to - from)) : 1;
    for (let kind = 0; kind < this.kinds; kind++) {
      const amount = sums[at + kind] * scale;
      if (!(amount > 0)) continue;
      this.addAt(column, kind, amount * inFirst);
      if (inFirst < 1) this.addAt(column + 1, kind, amount * (1 - inFirst));
    }
  }

  // Runs of columns that look the same, left to right: draw(column, count, kind, share), where kind has the largest sum
  // and share is that of all kinds together, in steps of 1/`steps`, at least 1/`steps` where there is anything.
  runs(steps, draw) {
    let from = 0;
    let kind = -1;
    let level = 0;
    for (let column = this.low; column <= this.high + 1; column++) {
      const total = column <= this.high ? this.total(column) : 0;
      const nextKind = total > 0 ? this.dominant(column) : -1;
      const nextLevel = total > 0 ? Math.min(steps, Math.max(1, Math.round(total * steps))) : 0;
      if (nextKind === kind && nextLevel === level) continue;
      if (kind >= 0) draw(from, column - from, kind, level / steps);
      from = column;
      kind = nextKind;
      level = nextLevel;
    }
  }

  total(column) {
    let total = 0;
    for (let at = column * this.kinds; at < (column + 1) * this.kinds; at++) total += this.sums[at];
    return total;
  }

  dominant(column) {
    const first = column * this.kinds;
    let best = 0;
    for (let kind = 1; kind < this.kinds; kind++) {
      if (this.sums[first + kind] > this.sums[first + best]) best = kind;
    }
    return best;
  }
}
