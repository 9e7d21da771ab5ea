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

import {hasExact, roundRange, workOf} from './work.js';

const KINDS = ['computation', 'exposed_communication', 'exposed_copy'];

function classOf(category) {
  return category === 'communication' ? 1 : category === 'copy' ? 2 : 0;
}

// The events of the judged device that reach into the range, cut to it, by class and in order of start.
function eventsByClass(source, [begin, end], categories) {
  const gpu = source.table('page_gpu');
  const judged = source.table('page_lanes').column('judged');
  const [lane, start, ns, kernel] = ['lane', 'start', 'ns', 'kernel'].map((name) => gpu.column(name));
  const classes = [[], [], []];
  for (let row = 0; row < gpu.rows; row++) {
    const from = Math.max(start[row], begin);
    const to = Math.min(start[row] + ns[row], end);
    if (!(from < to) || judged[lane[row]] === false) continue;
    const category = categories[kernel[row]] ?? 'other';
    classes[classOf(category)].push({from, to, category});
  }
  for (const events of classes) events.sort((a, b) => a.from - b.from);
  return classes;
}

// How much of a span is not in `covered`, spans that are disjoint and in order. `next.at` is the first that may matter.
function uncovered(from, to, covered, next) {
  let ns = to - from;
  while (next.at < covered.length && covered[next.at].to <= from) next.at++;
  for (let i = next.at; i < covered.length && covered[i].from < to; i++) {
    ns -= Math.min(covered[i].to, to) - Math.max(covered[i].from, from);
  }
  return ns;
}

// The union of spans that are in order of their begin.
function union(spans) {
  const merged = [];
  for (const {from, to} of spans) {
    const last = merged[merged.length - 1];
    if (last && from <= last.to) last.to = Math.max(last.to, to);
    else merged.push({from, to});
  }
  return merged;
}

// Time by kind and category of one class, without what is covered already.
function serveClass(events, kind, covered, sums) {
  const next = {at: 0};
  let latest = -Infinity;
  for (const {from, to, category} of events) {
    const begin = Math.max(from, latest);
    if (begin >= to) continue;
    latest = to;
    const key = `${kind} ${category}`;
    const part = sums.get(key) || {part: category, kind, ns: 0};
    part.ns += uncovered(begin, to, covered, next);
    sums.set(key, part);
  }
}

function exactParts(source, range, categories) {
  const sums = new Map();
  let covered = [];
  eventsByClass(source, range, categories).forEach((events, i) => {
    serveClass(events, KINDS[i], covered, sums);
    covered = union([...covered, ...events].sort((a, b) => a.from - b.from));
  });
  return [...sums.values()];
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

function binnedParts(source, range, categories, busyNs) {
  const work = workOf(source, range);
  const sums = new Map();
  let total = 0;
  for (let i = 0; i < work.ns.length; i++) {
    const category = categories[work.kernel[i]] ?? 'other';
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
export function balanceOf(source, chosen) {
  if (!source.has('page_gpu') || !source.has('page_kernels') || !source.has('page_lanes')) return null;
  const range = roundRange(source, chosen);
  const length = range[1] - range[0];
  const isEstimate = !hasExact(source, range);
  const categories = source.table('page_kernels').column('category');
  const idle = idleParts(source, range);
  const work = isEstimate ?
    binnedParts(source, range, categories, Math.max(0, windowLength(source, range) - total(idle))) :
    exactParts(source, range, categories);
  const rest = length - total(work) - total(idle);
  if (rest > 0.5) idle.push({part: 'outside', kind: 'idle', ns: rest});
  const order = [...KINDS, 'idle'];
  const parts = [...work, ...idle].filter((part) => part.ns > 0);
  parts.sort((a, b) => order.indexOf(a.kind) - order.indexOf(b.kind) || b.ns - a.ns);
  return {parts, length, isEstimate};
}
