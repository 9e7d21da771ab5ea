// Two trees of call paths as one, for the flame graph of what changed. Nothing here needs a document.
//
// Nodes belong together if their parents do and they have the same name; Python functions also if only their lines
// differ, because the program may have changed. Kernels belong together by name. So a kernel that was replaced is two
// leaves of one op, and the change of the op is that of both.

import {pairRows} from '../../compared.js';
import {FlameTree} from './tree.js';

function tableOf(columns) {
  const names = Object.keys(columns);
  return {rows: columns[names[0]].length, column: (name) => columns[name]};
}

// train.py(12): step gives train.py(): step.
function withoutLine(name) {
  return name.replace(/\(\d+\)/, '()');
}

// The rows of page_nodes below each row; those without a parent are below -1.
function childrenOf(nodes) {
  const parents = nodes.column('parent');
  const children = new Map();
  for (let row = 0; row < nodes.rows; row++) {
    const parent = parents[row] >= 0 && parents[row] < row ? parents[row] : -1;
    if (!children.has(parent)) children.set(parent, []);
    children.get(parent).push(row);
  }
  return children;
}

// One table of the nodes of both, parents first, and the row in it of each row of A and of B.
function mergeNodes(tables) {
  const [kinds, names] = ['kind', 'name'].map((name) => tables.map((table) => table.column(name)));
  const children = tables.map(childrenOf);
  const merged = {parent: [], kind: [], name: []};
  const rowsOf = tables.map((table) => new Int32Array(table.rows));
  const exact = (side, row) => `${kinds[side][row]}\n${names[side][row]}`;
  const loose = (side, row) => (kinds[side][row] === 'function' ? withoutLine(names[side][row] ?? '') : null);
  const below = (pair) => children.map((lists, side) => (pair[side] === null ? [] : lists.get(pair[side]) || []));
  const waiting = [{parent: NaN, pair: [-1, -1]}];
  for (let at = 0; at < waiting.length; at++) {
    const {parent, pair} = waiting[at];
    for (const [a, b] of pairRows(below(pair), [exact, loose])) {
      const [side, row] = a >= 0 ? [0, a] : [1, b];
      const number = merged.parent.push(parent) - 1;
      merged.kind.push(kinds[side][row]);
      merged.name.push(names[side][row]);
      if (a >= 0) rowsOf[0][a] = number;
      if (b >= 0) rowsOf[1][b] = number;
      waiting.push({parent: number, pair: [a >= 0 ? a : null, b >= 0 ? b : null]});
    }
  }
  return {table: tableOf(merged), rowsOf};
}

function mergeKernels(tables) {
  const merged = {name: [], short: [], category: []};
  const places = new Map();
  const rowsOf = tables.map((table) => Int32Array.from(table.column('name'), (name, row) => {
    if (!places.has(name)) {
      places.set(name, merged.name.length);
      for (const column of ['name', 'short', 'category']) merged[column].push(table.column(column)[row]);
    }
    return places.get(name);
  }));
  return {table: tableOf(merged), rowsOf};
}

// Work of both as that of one source: {source, work}, where work also has the side of each row. Times and counts are
// divided by `steps`, if there are any.
export function mergeWork(sources, works, steps) {
  const hasOps = sources.every((source) => source.has('page_nodes') && source.has('page_calls'));
  const kernels = mergeKernels(sources.map((source) => source.table('page_kernels')));
  const nodes = hasOps ? mergeNodes(sources.map((source) => source.table('page_nodes'))) : null;
  const calls = {node: []};
  const work = {call: [], kernel: [], count: [], ns: [], side: []};
  works.forEach((one, side) => {
    const first = calls.node.length;
    const nodeOfCall = hasOps ? sources[side].table('page_calls').column('node') : [];
    for (const node of nodeOfCall) calls.node.push(node >= 0 ? nodes.rowsOf[side][node] : NaN);
    for (let row = 0; row < one.ns.length; row++) {
      work.call.push(hasOps ? first + one.call[row] : NaN);
      work.kernel.push(kernels.rowsOf[side][one.kernel[row]]);
      work.count.push(one.count[row] / (steps ? steps[side] : 1));
      work.ns.push(one.ns[row] / (steps ? steps[side] : 1));
      work.side.push(side);
    }
  });
  const paths = hasOps ? {page_nodes: nodes.table, page_calls: tableOf(calls)} : {};
  const tables = {page_kernels: kernels.table, ...paths};
  return {source: {has: (name) => name in tables, table: (name) => tables[name] || null}, work};
}

// Which share of the width of a box comes from A and from B.
const FLAME_WIDTHS = {both: [0.5, 0.5], a: [1, 0], b: [0, 1]};

// The tree of both. `ns` is what the width of a box shows: the mean of both, or one side. `sides` has the times of
// A and of B by item, `counts` the numbers of events.
export class DifferenceTree extends FlameTree {
  constructor({source, work}, {isTogether, width}) {
    const shares = FLAME_WIDTHS[width];
    super(source, {...work, ns: work.ns.map((ns, row) => ns * shares[work.side[row]])},
      {firstStarts: null, isTogether});
    const columns = [0, 1].map((side) => (values) => values.map((value, row) => (work.side[row] === side ? value : 0)));
    this.sideNs = columns.map((ofSide) => ofSide(work.ns));
    this.sides = this.sideNs.map((values) => this.sumsOf(values));
    this.counts = columns.map((ofSide) => this.sumsOf(ofSide(work.count)));
    this.ofCategories = new Map();
  }

  // Numbers of rows of work, by item.
  sumsOf(values) {
    const sums = new Float64Array(this.size);
    for (let row = 0; row < values.length; row++) sums[this.itemOfWork[row]] += values[row];
    for (let item = this.size - 1; item > 0; item--) sums[this.parents[item]] += sums[item];
    return sums;
  }

  // Time of a category below an item, of A and of B.
  categorySides(category) {
    if (!this.ofCategories.has(category)) {
      const categories = this.kernels.column('category');
      this.ofCategories.set(category, this.sideNs.map((values) => this.sumsOf(values.map((ns, row) =>
        ((categories[this.work.kernel[row]] ?? 'other') === category ? ns : 0)))));
    }
    return this.ofCategories.get(category);
  }

  delta(item) {
    return this.sides[1][item] - this.sides[0][item];
  }

  // By how much they changed, the largest first, or by their width.
  children(item, byChange) {
    const children = super.children(item, false);
    return byChange ? children.sort((a, b) => Math.abs(this.delta(b)) - Math.abs(this.delta(a))) : children;
  }
}
