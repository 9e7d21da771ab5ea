// A stretch of the timeline as a trace file in Chrome's JSON format, which ui.perfetto.dev and gputally read.
//
// Times are µs since the beginning of the trace. Events have the categories and fields that PyTorch's profiler gives
// them: a kernel and the call that launched it share a correlation id and are the ends of a flow. Idle time and steps
// are tracks of their own. Nothing here needs a document.
//
// What Perfetto requires in addition to valid JSON:
//  - Events of a thread nest or are apart. It drops one that begins in another and ends after it, as kernels of one
//    stream do that start before the last one has ended. Such events are on threads next to their own.
//  - An end of a flow belongs to the event that is open at its time. So flows come after all events: of two lines with
//    one time, the first in the file counts first.

import {CAUSES} from '../../colors.js';
import {HOST_KINDS} from './data.js';

const HOST_CATEGORIES = {op: 'cpu_op', call: 'cuda_runtime', python: 'python_function', annotation: 'user_annotation'};
const HOST_PID = 1000000; // numbers of processes: devices first, then hosts, then what gputally adds
const EXTRA_PID = 2000000;
const EVENTS_PER_PART = 2000; // events per string
const BESIDE = 10000000; // between the numbers of a thread and of those next to it

function microseconds(ns) {
  return Math.round(ns) / 1000;
}

function workCategory(name) {
  if (/^memcpy/i.test(name)) return 'gpu_memcpy';
  return /^memset/i.test(name) ? 'gpu_memset' : 'kernel';
}

// Processes and threads of lanes: Map from lane to {pid, tid}.
function processesOf(lanes) {
  const places = new Map();
  const groups = new Map();
  for (const lane of lanes) {
    const key = `${lane.kind} ${lane.group}`;
    if (!groups.has(key)) {
      const isDevice = lane.kind === 'stream';
      groups.set(key, isDevice && lane.device !== null ? lane.device : (isDevice ? 0 : HOST_PID) + groups.size);
    }
    places.set(lane, {pid: groups.get(key), tid: laneNumber(lane)});
  }
  return places;
}

// "stream 7" is thread 7; lanes without a number get one that is free.
function laneNumber(lane) {
  const match = /\d+/.exec(lane.label);
  return match && Number.isSafeInteger(Number(match[0])) ? Number(match[0]) : HOST_PID + lane.index;
}

// How many threads each lane needs, and which of them an event is on (0: the lane's own).
class Threads {
  constructor() {
    this.beside = new Map();
    this.counts = new Map();
  }

  // All events of a lane: each goes to the first thread where it fits.
  add(lane, events) {
    const ordered = [...events].sort((a, b) => startOf(a) - startOf(b) || endOf(b) - endOf(a));
    const open = [[]];
    for (const event of ordered) {
      let at = 0;
      while (!fits(open[at] ||= [], event)) at++;
      open[at].push(endOf(event));
      if (at) this.beside.set(eventKey(event), at);
    }
    this.counts.set(lane, open.length);
  }

  of(event) {
    return this.beside.get(eventKey(event)) || 0;
  }
}

function startOf({track, index}) {
  return Math.round(track.start[index]);
}

function endOf({track, index}) {
  return Math.round(track.end[index]);
}

function eventKey({lane, track, index}) {
  return `${lane.kind[0]}${track.row[index]}`;
}

// Whether the event is inside the innermost one that is still open, or after all. Closes those that have ended.
function fits(ends, event) {
  while (ends.length && ends.at(-1) <= startOf(event)) ends.pop();
  return !ends.length || endOf(event) <= ends.at(-1);
}

function laneMetadata(places, threads) {
  const events = [];
  const pids = new Set();
  const add = (name, pid, tid, args) => events.push({ph: 'M', name, pid, tid, ts: 0, args});
  for (const [lane, {pid, tid}] of places) {
    if (!pids.has(pid)) {
      pids.add(pid);
      add('process_name', pid, 0, {name: lane.group});
      add('process_sort_index', pid, 0, {sort_index: pids.size});
    }
    for (let beside = 0; beside < (threads.counts.get(lane) || 1); beside++) {
      const number = tid + beside * BESIDE;
      add('thread_name', pid, number, {name: beside ? `${lane.label}, overlapping` : lane.label});
      add('thread_sort_index', pid, number, {sort_index: lane.index});
    }
  }
  for (const [tid, name] of [[1, 'steps'], [2, 'idle, by cause']]) add('thread_name', EXTRA_PID, tid, {name});
  add('process_name', EXTRA_PID, 0, {name: 'gputally'});
  return events;
}

// The events of a lane that are at least partly in the range.
function* eventsIn(lane, [begin, end]) {
  for (const track of lane.tracks) {
    const [from, to] = track.within(begin, end);
    for (let index = from; index < to; index++) {
      if (track.end[index] >= begin) yield {lane, track, index};
    }
  }
}

function completeEvent(name, cat, place, track, index, args) {
  const ts = microseconds(track.start[index]);
  return {ph: 'X', cat, name, ...place, ts, dur: microseconds(track.end[index] - track.start[index]), args};
}

// Numbers of GPU work that differ from those of calls, which are row + 1.
function ownNumber(data, row) {
  return (data.host ? data.host.rows : 0) + row + 1;
}

function workEvent(data, lane, place, {track, index}, correlation) {
  const row = track.row[index];
  const [kernel, call] = [data.gpu.get('kernel', row), data.gpu.get('call', row)];
  const name = (kernel === null ? null : data.kernels.get('name', kernel)) || 'unknown';
  const args = {device: lane.pid, stream: lane.tid, correlation};
  for (const column of ['op', 'shapes', 'python']) {
    const value = call === null || !data.calls ? null : data.calls.get(column, call);
    if (value !== null) args[column] = value;
  }
  return completeEvent(name, workCategory(name), place, track, index, args);
}

// Both ends of the flow to GPU work. All that a call launches has the correlation of the call. So has the first flow,
// as in files of the profiler; a graph's other kernels have flows with numbers of their own.
function* flowEvents({event, launch}, id, placeOf) {
  const flow = {cat: 'ac2g', name: 'ac2g', id};
  yield {ph: 's', ...flow, ...placeOf(launch), ts: microseconds(launch.track.start[launch.index])};
  yield {ph: 'f', bp: 'e', ...flow, ...placeOf(event), ts: microseconds(event.track.start[event.index])};
}

function hostEvent(data, place, {track, index}, isLaunch) {
  const row = track.row[index];
  const name = data.host.text(data.hostNames[row]) || 'unknown';
  return completeEvent(name, HOST_CATEGORIES[HOST_KINDS[track.kind[index]]], place, track, index,
      isLaunch ? {correlation: row + 1} : {});
}

// What a range has: GPU work with its launches, and all events by lane. A call before the range that launched work of
// it is among them: a flow needs both ends.
function findEvents(data, range) {
  const lists = new Map(data.lanes.map((lane) => [lane, [...eventsIn(lane, range)]]));
  const listsOf = (kind) => [...lists].filter(([lane]) => lane.kind === kind).map(([, events]) => events);
  const work = listsOf('stream').flat().map((event) => ({event, launch: data.launchOf(event)}));
  const written = new Set(listsOf('thread').flat().map(eventKey));
  const calls = new Set();
  for (const {launch} of work) {
    if (!launch) continue;
    calls.add(launch.track.row[launch.index]);
    if (written.has(eventKey(launch))) continue;
    written.add(eventKey(launch));
    lists.get(launch.lane).push(launch);
  }
  return {work, host: listsOf('thread').flat(), lists, calls};
}

// The events of a range one after the other.
export function* traceEvents(data, range) {
  const lanes = processesOf(data.lanes);
  const {work, host, lists, calls} = findEvents(data, range);
  const threads = new Threads();
  for (const [lane, events] of lists) threads.add(lane, events);
  const placeOf = (event) => {
    const {pid, tid} = lanes.get(event.lane);
    return {pid, tid: tid + threads.of(event) * BESIDE};
  };
  yield* laneMetadata(lanes, threads);
  for (const {event, launch} of work) {
    const correlation = launch ? launch.track.row[launch.index] + 1 : ownNumber(data, event.track.row[event.index]);
    yield workEvent(data, lanes.get(event.lane), placeOf(event), event, correlation);
  }
  for (const event of host) {
    yield hostEvent(data, placeOf(event), event, calls.has(event.track.row[event.index]));
  }
  const known = new Set();
  for (const one of work.filter(({launch}) => launch)) {
    const call = one.launch.track.row[one.launch.index];
    yield* flowEvents(one, known.has(call) ? ownNumber(data, one.event.track.row[one.event.index]) : call + 1, placeOf);
    known.add(call);
  }
  yield* extraTracks(data, range);
}

function* extraTracks(data, range) {
  const [begin, end] = range;
  const steps = data.source.table('page_steps');
  if (data.steps) {
    const [from, to] = data.steps.within(begin, end);
    for (let i = from; i < to; i++) {
      const name = steps.get('name', data.steps.row[i]) || 'step';
      yield completeEvent(name, 'step', {pid: EXTRA_PID, tid: 1}, data.steps, i, {});
    }
  }
  if (!data.idle) return;
  const [track] = data.idle.tracks;
  const [from, to] = track.within(begin, end);
  for (let i = from; i < to; i++) {
    const site = data.idle.table.get('site', track.row[i]);
    const name = `idle: ${CAUSES[track.kind[i]]}`;
    yield completeEvent(name, 'idle', {pid: EXTRA_PID, tid: 2}, track, i, site ? {site} : {});
  }
}

// The file as parts of one string: a range may have more text than a string can hold. Events come first, and there is
// no displayTimeUnit: older versions of Perfetto find no events after other keys, and take it for the unit of all
// times.
export function traceParts(data, range) {
  const parts = ['{"traceEvents":[\n'];
  let some = [];
  let isFirst = true;
  const flush = () => {
    if (some.length) parts.push(`${isFirst ? '' : ',\n'}${some.join(',\n')}`);
    isFirst = isFirst && !some.length;
    some = [];
  };
  for (const event of traceEvents(data, range)) {
    some.push(JSON.stringify(event));
    if (some.length >= EVENTS_PER_PART) flush();
  }
  flush();
  parts.push(`\n],${JSON.stringify({schemaVersion: 1, traceName: data.label}).slice(1)}\n`);
  return parts;
}
