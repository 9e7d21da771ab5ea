// What the timeline shows of one source: lanes with their tracks (track.js), idle time, steps, and the texts of events.
//
// An event is named by a text, as it stands in the state: `g12` is row 12 of page_gpu, `h12` row 12 of page_host, `i12`
// row 12 of page_idle.

import {CATEGORIES, CAUSES} from '../../colors.js';
import {Track, firstIndexAbove, separateEvents, splitTracks} from './track.js';

export const HOST_KINDS = ['op', 'call', 'python', 'annotation'];
const DEEPEST = 63;

// Rows of a table by the number in a column, each in order of time: an array of Int32Array. Rows without a time or with
// a number that is none of 0 ... count - 1 are left out. Plain loops: there may be a million rows.
function rowsByLane(lane, start, count) {
  const sizes = new Int32Array(count + 1); // the last one: not used
  const places = new Int32Array(lane.length);
  for (let row = 0; row < lane.length; row++) {
    const at = lane[row];
    places[row] = at >= 0 && at < count && at === Math.floor(at) && Number.isFinite(start[row]) ? at : count;
    sizes[places[row]]++;
  }
  const rows = Array.from(sizes, (size) => new Int32Array(size));
  const used = new Int32Array(count + 1);
  for (let row = 0; row < lane.length; row++) rows[places[row]][used[places[row]]++] = row;
  rows.pop();
  for (const some of rows) {
    if (!isInOrder(some, start)) some.sort((a, b) => start[a] - start[b] || a - b);
  }
  return rows;
}

function isInOrder(rows, start) {
  for (let i = 1; i < rows.length; i++) {
    if (start[rows[i]] < start[rows[i - 1]]) return false;
  }
  return true;
}

// The fields of a Track from rows of a table; kindOf gives the kind of a row.
function eventsOf(rows, start, ns, kindOf, kinds) {
  const events = {start: new Float64Array(rows.length), end: new Float64Array(rows.length),
    kind: new Uint8Array(rows.length), row: rows, kinds};
  for (let i = 0; i < rows.length; i++) {
    const row = rows[i];
    events.start[i] = start[row];
    events.end[i] = start[row] + (ns[row] > 0 ? ns[row] : 0);
    events.kind[i] = kindOf(row);
  }
  return events;
}

// The kind of each row of a column of strings, as an index into `names`; `other` for the rest.
function kindColumn(table, name, names, other) {
  const known = []; // by code + 1
  const codes = table.codes(name);
  const kinds = new Uint8Array(table.rows);
  for (let row = 0; row < table.rows; row++) {
    const code = codes[row] + 1;
    if (known[code] === undefined) {
      const at = names.indexOf(table.text(codes[row]));
      known[code] = at < 0 ? other : at;
    }
    kinds[row] = known[code];
  }
  return kinds;
}

export class TimelineData {
  constructor(source) {
    this.source = source;
    this.label = source.label;
    this.gpu = source.table('page_gpu');
    this.host = source.table('page_host');
    this.kernels = source.table('page_kernels');
    this.calls = source.table('page_calls');
    this.nodes = source.table('page_nodes');
    this.lanes = this.readLanes(source.table('page_lanes'));
    this.categories = this.kernels ?
        kindColumn(this.kernels, 'category', CATEGORIES, CATEGORIES.indexOf('other')) : new Uint8Array(0);
    this.addGpu();
    this.addBins(source.table('page_bins'));
    this.addHost();
    this.idle = this.readIdle(source.table('page_idle'));
    this.idleLeftOut = source.fact('idle_left_out') || 0; // ns of gaps that are too short for the page
    this.steps = this.readSteps(source.table('page_steps'));
    // Without steps in the trace there is one row without a name: the window.
    const hasAny = (column) => this.steps !== null &&
      source.table('page_steps').column(column).some((cell) => cell !== null);
    this.hasNamedSteps = hasAny('name');
    this.hasPhases = hasAny('phase'); // steps of a server
    this.end = Math.max(1, source.fact('end') || 0, this.lastEnd());
    this.window = this.readWindow();
    this.exact = source.fact('exact_start') === null ? null : [source.fact('exact_start'), source.fact('exact_end')];
    for (const lane of this.lanes) {
      lane.busy = (lane.bins ? [lane.bins] : lane.tracks).reduce((sum, track) => sum + totalTime(track), 0);
    }
    this.lanes = this.lanes.filter((lane) => lane.tracks.length || lane.bins);
  }

  readLanes(table) {
    return Array.from({length: table ? table.rows : 0}, (_, row) => ({
      index: row,
      kind: table.get('kind', row) === 'stream' ? 'stream' : 'thread',
      group: table.get('group', row) || '',
      label: table.get('label', row) || '',
      device: table.get('device', row),
      isJudged: table.get('judged', row) === true,
      events: table.get('events', row) || 0,
      shorter: table.get('shorter', row),
      tracks: [],
      bins: null,
      launches: 0,
      busy: 0, // ns of its events together
    }));
  }

  addGpu() {
    if (!this.gpu) return;
    const [lane, start, ns, kernel, launchLane] =
        ['lane', 'start', 'ns', 'kernel', 'launch_lane'].map((name) => this.gpu.column(name));
    const other = CATEGORIES.indexOf('other');
    const kindOf = (row) => (kernel[row] >= 0 ? this.categories[kernel[row]] : other);
    rowsByLane(lane, start, this.lanes.length).forEach((rows, index) => {
      if (!rows.length) return;
      const events = eventsOf(rows, start, ns, kindOf, CATEGORIES.length);
      const {places, count} = separateEvents(events.start, events.end);
      this.lanes[index].tracks = splitTracks(events, places, count);
    });
    for (let row = 0; row < this.gpu.rows; row++) {
      if (this.lanes[launchLane[row]]) this.lanes[launchLane[row]].launches++;
    }
  }

  addBins(table) {
    const bins = this.source.fact('bins');
    if (!table || !(bins > 0)) return;
    const width = (this.source.fact('end') || 0) / bins;
    const [lane, busy] = [table.column('lane'), table.column('busy')];
    const start = table.column('bin').map((bin) => bin * width);
    const lengths = new Float64Array(table.rows).fill(width);
    const kinds = kindColumn(table, 'category', CATEGORIES, CATEGORIES.indexOf('other'));
    rowsByLane(lane, start, this.lanes.length).forEach((rows, index) => {
      if (!rows.length) return;
      const events = eventsOf(rows, start, lengths, (row) => kinds[row], CATEGORIES.length);
      this.lanes[index].bins = new Track({...events, weight: Float64Array.from(rows, (row) => busy[row] || 0)});
    });
  }

  addHost() {
    if (!this.host) return;
    const [lane, start, ns, depth] = ['lane', 'start', 'ns', 'depth'].map((name) => this.host.column(name));
    const kinds = kindColumn(this.host, 'kind', HOST_KINDS, 0);
    this.hostKinds = kinds;
    this.hostNames = this.host.codes('name');
    rowsByLane(lane, start, this.lanes.length).forEach((rows, index) => {
      if (!rows.length) return;
      const places = new Uint8Array(rows.length);
      let deepest = 0;
      for (let i = 0; i < rows.length; i++) {
        places[i] = Math.min(DEEPEST, Math.max(0, depth[rows[i]] || 0));
        if (places[i] > deepest) deepest = places[i];
      }
      const events = eventsOf(rows, start, ns, (row) => kinds[row], HOST_KINDS.length);
      this.lanes[index].tracks = splitTracks(events, places, deepest + 1);
    });
  }

  readIdle(table) {
    if (!table || !table.rows) return null;
    const kinds = kindColumn(table, 'cause', CAUSES, CAUSES.indexOf('unknown'));
    const [rows] = rowsByLane(new Float64Array(table.rows), table.column('start'), 1);
    const track =
        new Track(eventsOf(rows, table.column('start'), table.column('ns'), (row) => kinds[row], CAUSES.length));
    return {index: -1, kind: 'idle', group: '', label: 'idle', tracks: [track], bins: null, table};
  }

  readSteps(table) {
    if (!table || !table.rows) return null;
    const [rows] = rowsByLane(new Float64Array(table.rows), table.column('start'), 1);
    return new Track(eventsOf(rows, table.column('start'), table.column('ns'), () => 0, 1));
  }

  readWindow() {
    const [begin, end] = [this.source.fact('window_start'), this.source.fact('window_end')];
    return begin !== null && end > begin ? [begin, end] : null;
  }

  lastEnd() {
    let last = 0;
    for (const lane of this.lanes) {
      for (const track of lane.tracks) last = Math.max(last, track.length ? track.reach[track.length - 1] : 0);
    }
    return last;
  }

  // The event with this name as {lane, track, index}, or null.
  find(name) {
    const match = /^([ghi])(\d+)$/.exec(name || '');
    if (!match) return null;
    const row = Number(match[2]);
    const table = {g: this.gpu, h: this.host}[match[1]];
    const lane = match[1] === 'i' ? this.idle : this.laneOf(table, row);
    for (const track of lane ? lane.tracks : []) {
      const index = track.indexOf(row);
      if (index >= 0) return {lane, track, index};
    }
    return null;
  }

  laneOf(table, row) {
    return table && this.lanes.find((lane) => lane.index === table.column('lane')[row]);
  }

  nameOf({lane, track, index}) {
    return `${{stream: 'g', thread: 'h', idle: 'i'}[lane.kind]}${track.row[index]}`;
  }

  // The host call that launched GPU work: {lane, track, index}, or null.
  launchOf({lane, track, index}) {
    if (lane.kind !== 'stream') return null;
    const row = track.row[index];
    const start = this.gpu.get('launch', row);
    const host = this.lanes.find((one) => one.index === this.gpu.get('launch_lane', row));
    if (start === null || !host) return null;
    let found = null;
    for (const one of host.tracks) {
      const at = firstIndexAbove(one.start, one.length, start - 0.5);
      if (at === one.length || one.start[at] !== start) continue;
      if (!found || HOST_KINDS[one.kind[at]] === 'call') found = {lane: host, track: one, index: at};
    }
    return found;
  }
}

// The event before or after another on the same lane, also where the lane has several tracks; null at its ends.
export function neighbourEvent({lane, track, index}, by) {
  if (lane.kind !== 'stream') {
    const next = index + by;
    return next >= 0 && next < track.length ? {lane, track, index: next} : null;
  }
  const row = track.row[index] + by;
  for (const one of lane.tracks) {
    const at = one.indexOf(row);
    if (at >= 0) return {lane, track: one, index: at};
  }
  return null;
}

// How much of [begin, end] a device's streams work, in ns: the union of their events.
export function busyTime(lanes, [begin, end]) {
  const tracks = lanes.flatMap((lane) => lane.tracks);
  const places = tracks.map((track) => track.within(begin, end)[0]);
  let busy = 0;
  let reached = begin;
  for (;;) {
    let next = -1;
    for (let t = 0; t < tracks.length; t++) {
      if (places[t] >= tracks[t].length || tracks[t].start[places[t]] >= end) continue;
      if (next < 0 || tracks[t].start[places[t]] < tracks[next].start[places[next]]) next = t;
    }
    if (next < 0) return busy;
    const from = Math.max(reached, tracks[next].start[places[next]]);
    const to = Math.min(end, tracks[next].end[places[next]]);
    if (to > from) busy += to - from;
    reached = Math.max(reached, to);
    places[next]++;
  }
}

// The durations of a track's events together; of bins, what they worked.
export function totalTime(track) {
  let sum = 0;
  for (let i = 0; i < track.length; i++) sum += track.weight ? track.weight[i] : track.end[i] - track.start[i];
  return sum;
}
