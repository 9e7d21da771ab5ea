// A stretch of the timeline as a trace file in Chrome's JSON format, which ui.perfetto.dev and gputally read.
//
// Times are µs since the beginning of the trace. Events have the categories and fields that PyTorch's profiler gives
// them: a kernel and the call that launched it share a correlation id and are the ends of a flow. Idle time and steps
// are tracks of their own. Nothing here needs a document.

import {CAUSES} from '../../colors.js';
import {HOST_KINDS} from './data.js';

const HOST_CATEGORIES = {op: 'cpu_op', call: 'cuda_runtime', python: 'python_function', annotation: 'user_annotation'};
const HOST_PID = 1000000; // numbers of processes: devices first, then hosts, then what gputally adds
const EXTRA_PID = 2000000;
const EVENTS_PER_PART = 2000; // events per string

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

function laneMetadata(places) {
  const events = [];
  const pids = new Set();
  const add = (name, pid, tid, args) => events.push({ph: 'M', name, pid, tid, ts: 0, args});
  for (const [lane, {pid, tid}] of places) {
    if (!pids.has(pid)) {
      pids.add(pid);
      add('process_name', pid, 0, {name: lane.group});
      add('process_sort_index', pid, 0, {sort_index: pids.size});
    }
    add('thread_name', pid, tid, {name: lane.label});
    add('thread_sort_index', pid, tid, {sort_index: lane.index});
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

function workEvent(data, place, {track, index}, correlation) {
  const row = track.row[index];
  const [kernel, call] = [data.gpu.get('kernel', row), data.gpu.get('call', row)];
  const name = (kernel === null ? null : data.kernels.get('name', kernel)) || 'unknown';
  const args = {device: place.pid, stream: place.tid, correlation};
  for (const column of ['op', 'shapes', 'python']) {
    const value = call === null || !data.calls ? null : data.calls.get(column, call);
    if (value !== null) args[column] = value;
  }
  return completeEvent(name, workCategory(name), place, track, index, args);
}

// GPU work with the flow from its launch. All that a call launches has the correlation of the call. So has the first
// flow, as in files of the profiler; a graph's other kernels have flows with numbers of their own.
function* workAndFlow(data, event, places, launches) {
  const {lane, track, index} = event;
  const launch = data.launchOf(event);
  const own = ownNumber(data, track.row[index]);
  const call = launch ? launch.track.row[launch.index] : -1;
  yield workEvent(data, places.get(lane), event, launch ? call + 1 : own);
  if (!launch) return;
  const flow = {cat: 'ac2g', name: 'ac2g', id: launches.has(call) ? own : call + 1};
  launches.set(call, launch);
  yield {ph: 's', ...flow, ...places.get(launch.lane), ts: microseconds(launch.track.start[launch.index])};
  yield {ph: 'f', bp: 'e', ...flow, ...places.get(lane), ts: microseconds(track.start[index])};
}

function hostEvent(data, place, {track, index}, launches) {
  const row = track.row[index];
  const name = data.host.text(data.hostNames[row]) || 'unknown';
  return completeEvent(name, HOST_CATEGORIES[HOST_KINDS[track.kind[index]]], place, track, index,
      launches.has(row) ? {correlation: row + 1} : {});
}

// The events of a range one after the other. A call before the range that launched work of it is among them: a flow
// needs both ends.
export function* traceEvents(data, range) {
  const places = processesOf(data.lanes);
  const launches = new Map();
  yield* laneMetadata(places);
  for (const lane of data.lanes.filter((one) => one.kind === 'stream')) {
    for (const event of eventsIn(lane, range)) yield* workAndFlow(data, event, places, launches);
  }
  const written = new Set();
  for (const lane of data.lanes.filter((one) => one.kind === 'thread')) {
    for (const event of eventsIn(lane, range)) {
      written.add(event.track.row[event.index]);
      yield hostEvent(data, places.get(lane), event, launches);
    }
  }
  for (const [row, launch] of launches) {
    if (!written.has(row)) yield hostEvent(data, places.get(launch.lane), launch, launches);
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

// The file as parts of one string: a range may have more text than a string can hold.
export function traceParts(data, range) {
  const head = {schemaVersion: 1, displayTimeUnit: 'ns', traceName: data.label};
  const parts = [`${JSON.stringify(head).slice(0, -1)},"traceEvents":[\n`];
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
  parts.push('\n]}\n');
  return parts;
}
