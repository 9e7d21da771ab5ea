// The tree of the flame graph: all GPU work, by the path of modules, functions and ops that launched it, down to
// kernels.
//
// Items are numbered, parents before their children:
//
//   0                    all GPU work
//   1                    work without a recorded launch
//   2 ... 2 + rows - 1   the rows of page_nodes
//   then                 leaves: one per node and kernel
//
// A node has the same number whatever the range, so that a link to it (`flame.root`) keeps its meaning. If repeated
// modules are shown together (Block_0, Block_1, ... as Block), all of them count for the first. Traces that know
// nothing about ops (rocprofv3) have the categories instead of nodes.

import {CATEGORIES} from '../../colors.js';
import {workKey} from '../../work.js';

export const FLAME_ALL = 0;
const FLAME_UNLAUNCHED = 1;
const FLAME_NODES = 2;

// nn.Modules are numbered by class: Block_0, Block_1.
function moduleClass(name) {
  return name.replace(/_\d+$/, '');
}

const CATEGORY_COLUMNS = {
  parent: CATEGORIES.map(() => NaN), kind: CATEGORIES.map(() => 'category'), name: CATEGORIES,
};
const CATEGORY_NODES = {rows: CATEGORIES.length, column: (name) => CATEGORY_COLUMNS[name]};

// Work of one source (work.js). Work of a call without a node, or without a call, has no recorded launch.
// `firstStarts` has a time for each row of work, or is null. `isTogether`: repeated modules count as one.
export class FlameTree {
  constructor(source, work, {firstStarts, isTogether}) {
    this.hasOps = source.has('page_nodes') && source.has('page_calls');
    this.nodes = this.hasOps ? source.table('page_nodes') : CATEGORY_NODES;
    this.kernels = source.table('page_kernels');
    this.work = work;
    this.nodeCount = this.nodes.rows;
    this.firstLeaf = FLAME_NODES + this.nodeCount;
    this.rowParents = this.findRowParents();
    this.findHomes(isTogether);
    this.findNodes(source.table('page_calls'));
    this.addLeaves();
    this.size = this.firstLeaf + this.leafKernels.length;
    this.parents = this.findParents();
    this.addUp(firstStarts);
    this.linkChildren();
  }

  // The parent of each row of page_nodes; -1: none.
  findRowParents() {
    const parents = this.nodes.column('parent');
    return Int32Array.from({length: this.nodeCount},
      (_, row) => (parents[row] >= 0 && parents[row] < row ? parents[row] : -1));
  }

  // The row that each row of page_nodes counts for, and how many modules count for a row.
  findHomes(isTogether) {
    this.homes = new Int32Array(this.nodeCount);
    this.repeats = new Int32Array(this.nodeCount);
    const known = new Map();
    for (let row = 0; row < this.nodeCount; row++) {
      this.homes[row] = row;
      if (isTogether) {
        const [kind, name] = [this.nodes.column('kind')[row], this.nodes.column('name')[row] ?? ''];
        const parent = this.rowParents[row];
        const key = `${parent < 0 ? -1 : this.homes[parent]} ${kind} ${kind === 'module' ? moduleClass(name) : name}`;
        if (known.has(key)) this.homes[row] = known.get(key);
        else known.set(key, row);
      }
      this.repeats[this.homes[row]]++;
    }
  }

  // The row of page_nodes (or category) of each row of work; -1: none.
  findNodes(calls) {
    const {call, kernel} = this.work;
    const nodeOfCall = this.hasOps ? calls.column('node') : null;
    const categories = this.kernels.column('category');
    this.nodeOfWork = Int32Array.from({length: call.length}, (_, row) => {
      if (!this.hasOps) return Math.max(0, CATEGORIES.indexOf(categories[kernel[row]] ?? 'other'));
      const node = nodeOfCall[call[row]];
      return node >= 0 && node < this.nodeCount ? node : -1;
    });
  }

  // Rows of the same node and kernel become one leaf: their calls differ in shapes or lines.
  addLeaves() {
    const {kernel} = this.work;
    const places = new Map();
    this.leafNodes = [];
    this.leafKernels = [];
    this.itemOfWork = new Int32Array(kernel.length);
    for (let row = 0; row < kernel.length; row++) {
      const parent = this.itemOfNode(this.nodeOfWork[row]);
      const key = parent * 4294967296 + kernel[row];
      let leaf = places.get(key);
      if (leaf === undefined) {
        leaf = this.leafNodes.length;
        places.set(key, leaf);
        this.leafNodes.push(parent);
        this.leafKernels.push(kernel[row]);
      }
      this.itemOfWork[row] = this.firstLeaf + leaf;
    }
  }

  itemOfNode(row) {
    return row < 0 ? FLAME_UNLAUNCHED : FLAME_NODES + this.homes[row];
  }

  findParents() {
    const parents = new Int32Array(this.size);
    parents[FLAME_ALL] = -1;
    for (let row = 0; row < this.nodeCount; row++) {
      const parent = this.rowParents[row];
      parents[FLAME_NODES + row] = parent < 0 ? FLAME_ALL : this.itemOfNode(parent);
    }
    parents.set(this.leafNodes, this.firstLeaf);
    return parents;
  }

  // Time, number of events, first start and time per category: of leaves, then of what is above them.
  addUp(firstStarts) {
    const width = CATEGORIES.length;
    this.ns = new Float64Array(this.size);
    this.count = new Float64Array(this.size);
    this.first = new Float64Array(this.size).fill(Infinity);
    this.byCategory = new Float64Array(this.size * width);
    const categories = this.kernels.column('category').map((name) => CATEGORIES.indexOf(name));
    const other = CATEGORIES.indexOf('other');
    for (let row = 0; row < this.itemOfWork.length; row++) {
      const item = this.itemOfWork[row];
      const category = categories[this.work.kernel[row]];
      this.ns[item] += this.work.ns[row];
      this.count[item] += this.work.count[row];
      this.byCategory[item * width + (category >= 0 ? category : other)] += this.work.ns[row];
      if (firstStarts) this.first[item] = Math.min(this.first[item], firstStarts[row]);
    }
    for (let item = this.size - 1; item > 0; item--) {
      const parent = this.parents[item];
      this.ns[parent] += this.ns[item];
      this.count[parent] += this.count[item];
      this.first[parent] = Math.min(this.first[parent], this.first[item]);
      for (let i = 0; i < width; i++) this.byCategory[parent * width + i] += this.byCategory[item * width + i];
    }
  }

  // Why no item has time.
  withoutTime(isRange) {
    if (this.count[FLAME_ALL]) return 'Kernels, copies and memsets have no duration in this trace.';
    return `No GPU work in this ${isRange ? 'range' : 'trace'}.`;
  }

  // The children with time of an item: childList from childStarts[item] up to childStarts[item + 1].
  linkChildren() {
    this.childStarts = new Int32Array(this.size + 2);
    for (let item = 1; item < this.size; item++) {
      if (this.ns[item] > 0) this.childStarts[this.parents[item] + 2]++;
    }
    for (let item = 2; item < this.childStarts.length; item++) this.childStarts[item] += this.childStarts[item - 1];
    this.childList = new Int32Array(this.childStarts[this.size + 1]);
    for (let item = 1; item < this.size; item++) {
      if (this.ns[item] > 0) this.childList[this.childStarts[this.parents[item] + 1]++] = item;
    }
  }

  isLeaf(item) {
    return item >= this.firstLeaf;
  }

  // By time, the longest first, or by the first start.
  children(item, inTimeOrder) {
    const {first, ns} = this;
    return Array.from(this.childList.subarray(this.childStarts[item], this.childStarts[item + 1]))
      .sort((a, b) => (inTimeOrder && first[a] !== first[b] ? first[a] - first[b] : ns[b] - ns[a] || a - b));
  }

  // "module", "function", "annotation", "op", "category", "kernel", "all" or "unlaunched".
  kind(item) {
    if (this.isLeaf(item)) return 'kernel';
    if (item < FLAME_NODES) return item === FLAME_ALL ? 'all' : 'unlaunched';
    return this.nodes.column('kind')[item - FLAME_NODES];
  }

  name(item) {
    if (item === FLAME_ALL) return 'All GPU work';
    if (item === FLAME_UNLAUNCHED) return '(no launch recorded)';
    if (!this.isLeaf(item)) return this.nodeName(item - FLAME_NODES);
    return this.kernels.column('name')[this.kernel(item)] ?? '(unnamed)';
  }

  nodeName(row) {
    const name = this.nodes.column('name')[row] ?? '(unnamed)';
    return this.repeats[row] > 1 && this.kind(FLAME_NODES + row) === 'module' ?
      `${moduleClass(name)} ×${this.repeats[row]}` : name;
  }

  // What a box shows: kernels without template arguments and parameters.
  shortName(item) {
    return (this.isLeaf(item) && this.kernels.column('short')[this.kernel(item)]) || this.name(item);
  }

  // Row of page_kernels, or -1.
  kernel(item) {
    return this.isLeaf(item) ? this.leafKernels[item - this.firstLeaf] : -1;
  }

  // Time of each of CATEGORIES.
  categoryNs(item) {
    return this.byCategory.subarray(item * CATEGORIES.length, (item + 1) * CATEGORIES.length);
  }

  // The category with the most time.
  category(item) {
    const ns = this.categoryNs(item);
    return CATEGORIES[ns.indexOf(ns.reduce((largest, one) => Math.max(largest, one), 0))];
  }

  // From the top to the item.
  path(item) {
    const path = [];
    for (let at = item; at >= 0; at = this.parents[at]) path.push(at);
    return path.reverse();
  }

  // The item that a link names; the top if there is no such item, or if it has no time in this range.
  itemOf(link) {
    const row = /^\d+$/.test(link || '') ? Number(link) : -1;
    const item = link === 'none' ? FLAME_UNLAUNCHED :
      row >= 0 && row < this.nodeCount ? this.itemOfNode(row) : FLAME_ALL;
    return this.ns[item] > 0 ? item : FLAME_ALL;
  }

  linkOf(item) {
    if (item === FLAME_ALL) return null;
    return item === FLAME_UNLAUNCHED ? 'none' : String(item - FLAME_NODES);
  }
}

// Which rows of page_nodes are below one whose name has the text. Marks the items of those that have it themselves.
function nodesWithText(tree, text, named) {
  const inside = new Uint8Array(tree.nodeCount);
  const names = tree.nodes.column('name');
  for (let row = 0; row < tree.nodeCount; row++) {
    const hasText = (names[row] ?? '').toLowerCase().includes(text);
    if (hasText) named[tree.itemOfNode(row)] = 1;
    inside[row] = hasText || (tree.rowParents[row] >= 0 && inside[tree.rowParents[row]]) ? 1 : 0;
  }
  return inside;
}

// Which work is chosen: by a text in one of the names on its path, by a category, and by the evidence of a finding.
// Gives the chosen time of each item, and which items have the text in their own name. `times` are those of rows of
// work that count.
export function matchFlame(tree, {search, category, evidence}, times = tree.work.ns) {
  const text = (search || '').toLowerCase();
  const named = new Uint8Array(tree.size);
  const inside = text ? nodesWithText(tree, text, named) : null;
  const hits = text ? tree.kernels.column('name').map((name) => (name ?? '').toLowerCase().includes(text)) : null;
  const ns = new Float64Array(tree.size);
  const {call, kernel} = tree.work;
  const categories = tree.kernels.column('category');
  for (let row = 0; row < tree.itemOfWork.length; row++) {
    const [item, node] = [tree.itemOfWork[row], tree.nodeOfWork[row]];
    if (text && hits[kernel[row]]) named[item] = 1;
    if (text && !hits[kernel[row]] && !(node >= 0 && inside[node])) continue;
    if (category && categories[kernel[row]] !== category) continue;
    if (evidence && !evidence.has(call[row], kernel[row])) continue;
    ns[item] += times[row];
  }
  for (let item = tree.size - 1; item > 0; item--) ns[tree.parents[item]] += ns[item];
  return {ns, named};
}

// The first start of each row of work in the range: from events if the page has all of them, otherwise from bins.
// Gives {starts, precision}: how far they may be off in ns; null if the page has neither.
export function flameStarts(source, work, range, isExact) {
  const table = source.table(isExact ? 'page_gpu' : 'page_bin_sums');
  if (!table || !table.rows) return null;
  const width = isExact ? 0 : source.fact('end') / source.fact('sum_bins');
  const places = new Map();
  for (let row = 0; row < work.call.length; row++) places.set(workKey(work.call[row], work.kernel[row]), row);
  const starts = new Float64Array(work.call.length).fill(Infinity);
  const [call, kernel] = [table.column('call'), table.column('kernel')];
  const place = table.column(isExact ? 'start' : 'bin');
  const length = isExact ? table.column('ns') : null;
  for (let row = 0; row < table.rows; row++) {
    const start = isExact ? place[row] : place[row] * width;
    const end = start + (isExact ? length[row] : width);
    if (range && !(start < range[1] && end > range[0])) continue;
    const at = places.get(workKey(call[row], kernel[row]));
    if (at !== undefined && start < starts[at]) starts[at] = start;
  }
  return {starts, precision: width};
}

// The GPU work of a finding's evidence, as {has(call, kernel)}; null if it names none.
export function workEvidence(source, finding) {
  const table = source.table('page_evidence');
  if (!table || finding === null) return null;
  const [rank, call, kernel] = ['finding', 'call', 'kernel'].map((name) => table.column(name));
  const pairs = new Set();
  for (let row = 0; row < table.rows; row++) {
    if (rank[row] === finding && kernel[row] >= 0) pairs.add(workKey(call[row], kernel[row]));
  }
  return pairs.size ? {has: (one, other) => pairs.has(workKey(one, other))} : null;
}
