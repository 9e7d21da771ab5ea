// What is highlighted: the events that the state's search, category, kernel, call and finding all have in common.
// Everything else is drawn dimmed.

import {CAUSES} from '../../colors.js';
import {firstIndexAbove} from './track.js';

// Rows of a table whose texts in one of these columns have the search text in them: a Uint8Array.
function textMatches(table, columns, text) {
  const found = new Uint8Array(table ? table.rows : 0);
  const wanted = text.toLowerCase();
  for (const name of columns) {
    if (!table || !table.has(name)) continue;
    const codes = table.codes(name);
    const known = new Map();
    for (let row = 0; row < table.rows; row++) {
      const code = codes[row];
      if (found[row] || code < 0) continue;
      if (!known.has(code)) known.set(code, table.text(code).toLowerCase().includes(wanted));
      if (known.get(code)) found[row] = 1;
    }
  }
  return found;
}

// The evidence of a finding: {stretches: [[start, end]], pairs: [{call, kernel}]}, null in a pair for any.
export function evidenceOf(source, finding) {
  const table = source.table('page_evidence');
  const evidence = {stretches: [], pairs: []};
  for (let row = 0; table && row < table.rows; row++) {
    if (table.get('finding', row) !== finding) continue;
    const [start, ns] = [table.get('start', row), table.get('ns', row)];
    const [call, kernel] = [table.get('call', row), table.get('kernel', row)];
    if (start !== null) evidence.stretches.push([start, start + Math.max(0, ns || 0)]);
    else if (call !== null || kernel !== null) evidence.pairs.push({call, kernel});
  }
  evidence.stretches.sort((a, b) => a[0] - b[0]);
  return evidence;
}

// A test of (call, kernel) against pairs.
function pairTest(pairs) {
  const [calls, kernels, both] = [new Set(), new Set(), new Set()];
  for (const {call, kernel} of pairs) {
    if (call === null) kernels.add(kernel);
    else if (kernel === null) calls.add(call);
    else both.add(`${call} ${kernel}`);
  }
  return (call, kernel) => kernels.has(kernel) || calls.has(call) || (both.size > 0 && both.has(`${call} ${kernel}`));
}

// Rows of one source's table that mean the same as a row of another source's: those with equal texts in `columns`.
function sameRows(table, columns, otherTable, row) {
  if (table === otherTable) return [row];
  const wanted = columns.map((name) => otherTable.get(name, row));
  return Array.from({length: table.rows}, (_, i) => i)
      .filter((i) => columns.every((name, c) => table.get(name, i) === wanted[c]));
}

export class TimelineMatches {
  // Rows in the state are those of source 0; other sources show what has the same names.
  constructor(data, state, firstData) {
    this.data = data;
    this.evidence = null;
    this.tests = []; // of (call, kernel)
    this.host = null; // Uint8Array by row of page_host, or null: all
    this.cause = null; // the one cause that is not dimmed
    this.dimsIdle = false;
    this.addSearch(state.get('search'));
    this.addCategory(state.get('category'));
    this.addRow(state.getNumber('kernel'), 'kernel', data.kernels, firstData.kernels, ['name']);
    this.addRow(state.getNumber('call'), 'call', data.calls, firstData.calls, ['op', 'shapes']);
    if (data === firstData) this.addFinding(state.getNumber('finding'));
    this.cache = new WeakMap();
  }

  get isActive() {
    return this.tests.length > 0 || this.dimsIdle;
  }

  addSearch(text) {
    if (!text) return;
    const {data} = this;
    const kernels = textMatches(data.kernels, ['name', 'short'], text);
    const calls = textMatches(data.calls, ['op', 'python'], text);
    this.tests.push((call, kernel) => kernels[kernel] === 1 || calls[call] === 1);
    if (data.host) this.host = textMatches(data.host, ['name'], text);
    this.dimsIdle = true;
  }

  addCategory(category) {
    if (!category) return;
    this.dimsIdle = true;
    if (category.startsWith('idle:')) {
      this.cause = category.slice('idle:'.length);
      this.tests.push(() => false);
      return;
    }
    const {kernels} = this.data;
    const chosen = Uint8Array.from({length: kernels ? kernels.rows : 0}, (_, row) =>
      (kernels.get('category', row) === category ? 1 : 0));
    this.tests.push((call, kernel) => chosen[kernel] === 1);
  }

  addRow(row, name, table, firstTable, columns) {
    if (row === null || !table || !firstTable || row < 0 || row >= firstTable.rows) return;
    const rows = new Set(sameRows(table, columns, firstTable, row));
    this.tests.push(name === 'kernel' ? (call, kernel) => rows.has(kernel) : (call) => rows.has(call));
    this.dimsIdle = true;
  }

  addFinding(finding) {
    if (finding === null) return;
    this.evidence = evidenceOf(this.data.source, finding);
    if (this.evidence.pairs.length) this.tests.push(pairTest(this.evidence.pairs));
  }

  hasWork(call, kernel) {
    return this.tests.every((test) => test(call, kernel));
  }

  // The highlighted part of a lane's track; the track itself if nothing of it is dimmed.
  part(lane, track) {
    if (!this.isActive) return track;
    if (!this.cache.has(track)) this.cache.set(track, this.makePart(lane, track));
    return this.cache.get(track);
  }

  makePart(lane, track) {
    if (lane.kind === 'thread') return this.host ? track.subset((row) => this.host[row] === 1) : track;
    if (lane.kind === 'idle') {
      if (!this.dimsIdle) return track;
      const kind = CAUSES.indexOf(this.cause);
      const chosen = Int32Array.from(track.kind.keys()).filter((i) => track.kind[i] === kind);
      return track.pick(chosen);
    }
    if (track.weight) return null;
    const [call, kernel] = [this.data.gpu.column('call'), this.data.gpu.column('kernel')];
    return this.tests.length ? track.subset((row) => this.hasWork(call[row], kernel[row])) : track;
  }

  // How much is highlighted of `work` (the sums of work.js): {count, ns, of}, where `of` is the ns of everything.
  sums(work) {
    const sums = {count: 0, ns: 0, of: 0};
    for (let i = 0; work && i < work.kernel.length; i++) {
      sums.of += work.ns[i];
      if (!this.hasWork(work.call[i], work.kernel[i])) continue;
      sums.count += work.count[i];
      sums.ns += work.ns[i];
    }
    return sums;
  }

  // Events of the host that the search found.
  hostCount() {
    return this.host ? this.host.reduce((sum, one) => sum + one, 0) : 0;
  }

  // The highlighted event that starts next after a time, or last before it (by: -1), as {lane, track, index}: GPU work,
  // or host events if no work is highlighted. null: there is none.
  next(time, by) {
    const parts = this.litParts('stream');
    let best = null;
    for (const one of parts.length ? parts : this.litParts('thread')) best = nearest(best, nextIn(one, time, by), by);
    return best && {lane: best.lane, track: best.track, index: best.track.indexOf(best.row)};
  }

  // Tracks of which something is highlighted, with that part. Only a search highlights host events.
  litParts(kind) {
    return this.data.lanes.filter((lane) => lane.kind === kind && (kind === 'stream' || this.host))
        .flatMap((lane) => lane.tracks.map((track) => ({lane, track, part: this.part(lane, track)})))
        .filter(({part}) => part && part.length > 0);
  }

  // The first step in the window with highlighted work, or the window, or null.
  firstStep() {
    const {steps, window} = this.data;
    const first = this.next(window ? window[0] - 0.5 : -1, 1);
    if (!first) return null;
    const start = first.track.start[first.index];
    const at = steps ? firstIndexAbove(steps.start, steps.length, start) - 1 : -1;
    return at >= 0 && start < steps.end[at] ? [steps.start[at], steps.end[at]] : window;
  }
}

// The event of a highlighted part that starts next after a time or last before it.
function nextIn({lane, track, part}, time, by) {
  const next = firstIndexAbove(part.start, part.length, by > 0 ? time : time - 0.5);
  const at = by > 0 ? next : next - 1;
  return at >= 0 && at < part.length ? {lane, track, row: part.row[at], start: part.start[at]} : null;
}

function nearest(one, other, by) {
  if (!one || !other) return one || other;
  return (other.start - one.start) * by < 0 ? other : one;
}
