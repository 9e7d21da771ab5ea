// Where did the time of a range go? The same parts as the step's bar: categories of GPU work, exposed communication and
// copies, idle time by cause. They add up to the range.
//
// Every nanosecond counts once. Where several events run, one that computes goes before one that communicates, and that
// before copies; of two of the same class, the one that started first. So what is left for communication and copies is
// their exposed time:
//
//   stream 1     AAAAAAAAAA       BBBBBB          A 10, B 5
//   stream 2          CCCCCCCCCCCCC               C 8
//   all-reduce     NNNNNNNNNNNNNNNNNNNNNNNNN      N 4
//
// Where the page has bins instead of events, busy time is divided in proportion to the times of all events: an
// estimate.

import {categoryOf, hasExact, roundRange, workOf} from './work.js';

const KINDS = ['computation', 'exposed_communication', 'exposed_copy'];
const allPieces = new WeakMap();
let lastBalance = {};

function classOf(category) {
  return category === 'communication' ? 1 : category === 'copy' ? 2 : 0;
}

// Events of the judged device by class, as rows of page_gpu in order of start.
function rowsByClass(source) {
  const gpu = source.table('page_gpu');
  const judged = source.table('page_lanes').column('judged');
  const [lane, start, call, kernel] = ['lane', 'start', 'call', 'kernel'].map((name) => gpu.column(name));
  const classes = [[], [], []];
  for (let row = 0; row < gpu.rows; row++) {
    if (judged[lane[row]] !== false) classes[classOf(categoryOf(source, call[row], kernel[row]))].push(row);
  }
  for (const rows of classes) rows.sort((a, b) => start[a] - start[b] || a - b);
  return classes;
}

// Calls `add(from, to)` for what a span has outside of `covered`: disjoint spans in order, as [from, to, from, to,
// ...]. `at` is the first covered span that may matter; returns it for the next span, which begins later.
function addUncovered(from, to, covered, at, add) {
  while (at < covered.length && covered[at + 1] <= from) at += 2;
  for (let i = at; i < covered.length && covered[i] < to; i += 2) {
    if (covered[i] > from) add(from, covered[i]);
    from = Math.max(from, covered[i + 1]);
  }
  if (from < to) add(from, to);
  return at;
}

// The union of two lists of disjoint spans in order.
function union(one, other) {
  const merged = [];
  for (let i = 0, j = 0; i < one.length || j < other.length;) {
    const isFirst = j >= other.length || (i < one.length && one[i] <= other[j]);
    const [from, to] = isFirst ? [one[i], one[i + 1]] : [other[j], other[j + 1]];
    if (isFirst) i += 2;
    else j += 2;
    if (merged.length && from <= merged[merged.length - 1]) {
      merged[merged.length - 1] = Math.max(merged[merged.length - 1], to);
    } else {
      merged.push(from, to);
    }
  }
  return merged;
}

// All pieces of time that count for an event, in order for each class: {class: {from, to, category}}.
function piecesOf(source) {
  if (allPieces.has(source)) return allPieces.get(source);
  const gpu = source.table('page_gpu');
  const [start, ns, call, kernel] = ['start', 'ns', 'call', 'kernel'].map((name) => gpu.column(name));
  let covered = [];
  const pieces = rowsByClass(source).map((rows) => {
    const found = {from: [], to: [], category: []};
    const own = [];
    let latest = -Infinity;
    let at = 0;
    for (const row of rows) {
      const begin = Math.max(start[row], latest);
      const end = start[row] + ns[row];
      if (!(begin < end)) continue;
      latest = end;
      if (own.length && own[own.length - 1] === begin) own[own.length - 1] = end;
      else own.push(begin, end);
      at = addUncovered(begin, end, covered, at, (from, to) => {
        found.from.push(from);
        found.to.push(to);
        found.category.push(categoryOf(source, call[row], kernel[row]));
      });
    }
    covered = union(covered, own);
    return found;
  });
  allPieces.set(source, pieces);
  return pieces;
}

// The first index whose value is greater than the limit; values grow.
function firstAbove(values, limit) {
  let [low, high] = [0, values.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (values[middle] > limit) high = middle;
    else low = middle + 1;
  }
  return low;
}

function exactParts(source, [begin, end]) {
  return piecesOf(source).flatMap(({from, to, category}, i) => {
    const sums = new Map();
    for (let at = firstAbove(to, begin); at < from.length && from[at] < end; at++) {
      const ns = Math.min(to[at], end) - Math.max(from[at], begin);
      sums.set(category[at], (sums.get(category[at]) || 0) + ns);
    }
    return [...sums].map(([part, ns]) => ({part, kind: KINDS[i], ns}));
  });
}

// Idle time by cause, and how much of the range is outside the window, where idle time has no cause.
function idleParts(source, [begin, end]) {
  const sums = new Map();
  const idle = source.table('page_idle');
  for (let row = 0; idle && row < idle.rows; row++) {
    const start = idle.get('start', row);
    const ns = Math.min(start + idle.get('ns', row), end) - Math.max(start, begin);
    if (!(ns > 0)) continue;
    const cause = idle.get('cause', row) ?? 'unknown';
    sums.set(cause, (sums.get(cause) || 0) + ns);
  }
  return [...sums].map(([part, ns]) => ({part, kind: 'idle', ns}));
}

function binnedParts(source, range, busyNs) {
  const work = workOf(source, range);
  const sums = new Map();
  let total = 0;
  for (let i = 0; i < work.ns.length; i++) {
    const category = categoryOf(source, work.call[i], work.kernel[i]);
    sums.set(category, (sums.get(category) || 0) + work.ns[i]);
    total += work.ns[i];
  }
  return [...sums].map(([part, ns]) => ({part, kind: KINDS[classOf(part)], ns: busyNs * ns / total}));
}

function total(parts) {
  return parts.reduce((sum, part) => sum + part.ns, 0);
}

// Bins are of the whole trace: outside the window the page does not know when the device was busy.
function windowLength(source, [begin, end]) {
  const from = source.fact('window_start') ?? begin;
  const to = source.fact('window_end') ?? end;
  return Math.max(0, Math.min(end, to) - Math.max(begin, from));
}

// {parts: [{part, kind, ns}], length, isEstimate}; null if the source has no GPU events. Largest parts of a kind first.
// Tiles and bar ask for the same range: the last answer is kept.
export function balanceOf(source, chosen) {
  if (lastBalance.source !== source || lastBalance.begin !== chosen[0] || lastBalance.end !== chosen[1]) {
    lastBalance = {source, begin: chosen[0], end: chosen[1], balance: findBalance(source, chosen)};
  }
  return lastBalance.balance;
}

function findBalance(source, chosen) {
  if (!source.has('page_gpu') || !source.has('page_kernels') || !source.has('page_lanes')) return null;
  const range = roundRange(source, chosen);
  const length = range[1] - range[0];
  const isEstimate = !hasExact(source, range);
  const idle = idleParts(source, range);
  const work = isEstimate ?
    binnedParts(source, range, Math.max(0, windowLength(source, range) - total(idle))) :
    exactParts(source, range);
  const rest = length - total(work) - total(idle);
  if (rest > 0.5) idle.push({part: 'outside', kind: 'idle', ns: rest});
  const order = [...KINDS, 'idle'];
  const parts = [...work, ...idle].filter((part) => part.ns > 0);
  parts.sort((a, b) => order.indexOf(a.kind) - order.indexOf(b.kind) || b.ns - a.ns);
  return {parts, length, isEstimate};
}
