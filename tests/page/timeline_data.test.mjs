// The timeline's data from tables, what is highlighted, texts of events, and the trace file. A small trace by hand: one
// GPU with two streams, a thread that launches, a thread that launches nothing.

import assert from 'node:assert/strict';
import {test} from 'node:test';
import {State} from '../../src/page/web/state.js';
import {busyTime, neighbourEvent, TimelineData, totalTime} from '../../src/page/web/sections/timeline/data.js';
import {describeEvent, eventAnnouncement, eventLabel, eventPath, timelineStepName} from '../../src/page/web/sections/timeline/describe.js';
import {eventText} from '../../src/page/web/sections/timeline/details.js';
import {evidenceOf, TimelineMatches} from '../../src/page/web/sections/timeline/matches.js';
import {traceEvents, traceParts} from '../../src/page/web/sections/timeline/perfetto.js';
import {timelineNotes} from '../../src/page/web/sections/timeline/timeline.js';
import {plainSource, plainTable} from './helpers.mjs';

const NONE = NaN;
const float = (...values) => Float64Array.from(values);

function tables() {
  return [
    plainTable('page_lanes', {
      kind: ['stream', 'stream', 'thread', 'thread'], group: ['GPU 0', 'GPU 0', 'python (12)', 'python (12)'],
      label: ['stream 7', 'stream 20', 'thread 12 (main)', 'thread 13'], device: float(0, 0, NONE, NONE),
      judged: [true, true, false, false], events: float(3, 1, 4, 1), kept: float(3, 1, 4, 1), shorter: float(NONE, NONE, NONE, 500),
    }),
    plainTable('page_gpu', {
      lane: float(0, 0, 0, 1), start: float(1000, 1500, 3000, 1200), ns: float(400, 600, 1000, 2000),
      kernel: float(0, 1, 0, 2), call: float(0, 1, 0, NONE), launch: float(600, 800, 2500, NONE), launch_lane: float(2, 2, 2, NONE),
    }),
    plainTable('page_kernels', {
      name: ['void gemm<float, 128>(float*)', 'void add<float>()', 'ncclAllReduce'], short: ['gemm', 'add', 'ncclAllReduce'],
      category: ['GEMM', 'elementwise', 'communication'],
    }),
    plainTable('page_calls', {
      node: float(2, 1), op: ['aten::mm', 'aten::add'], shapes: ['((8,8),(8,8))', null], python: ['train.py(3): step', null],
      runtime: ['cudaLaunchKernel', 'cudaLaunchKernel'],
    }),
    plainTable('page_nodes', {parent: float(NONE, 0, 1), kind: ['module', 'module', 'op'], name: ['GPT', 'Block_0', 'aten::mm']}),
    plainTable('page_host', {
      lane: float(2, 2, 2, 2, 3), start: float(500, 600, 800, 2500, 100), ns: float(500, 50, 50, 100, 300), depth: float(0, 1, 1, 0, 0),
      name: ['aten::mm', 'cudaLaunchKernel', 'cudaLaunchKernel', 'cudaGraphLaunch', 'wait'], kind: ['op', 'call', 'call', 'call', 'python'],
    }),
    plainTable('page_idle', {start: float(0, 4000), ns: float(1000, 500), cause: ['data', 'new cause'], site: ['loader.py(1)', null]}),
    plainTable('page_steps', {name: ['step#1'], start: float(1000), ns: float(3000), phase: ['decode'], in_window: [true]}),
    plainTable('page_evidence', {finding: float(1, 2, 2), call: float(NONE, 0, NONE), kernel: float(NONE, 0, 2),
      start: float(4000, NONE, NONE), ns: float(500, NONE, NONE)}),
  ];
}

const FACTS = {end: 5000, window_start: 0, window_end: 4500};
const read = (facts = FACTS, some = tables()) => new TimelineData(plainSource(some, facts));
const data = read();

test('lanes have their events in tracks', () => {
  assert.deepEqual(data.lanes.map((lane) => lane.tracks.map((track) => [...track.row])), [[[0, 1, 2]], [[3]], [[0, 3], [1, 2]], [[4]]]);
  assert.deepEqual([...data.lanes[0].tracks[0].end], [1400, 2100, 4000]);
  assert.deepEqual(data.lanes.map((lane) => lane.launches), [0, 0, 3, 0]);
  assert.deepEqual([data.end, data.window, data.exact], [5000, [0, 4500], null]);
});

test('rows without a time, with a length below zero or with a lane that does not exist do no harm', () => {
  const some = tables();
  some[1].column('start')[0] = NaN;
  some[1].column('ns')[1] = -5;
  some[1].column('lane')[3] = 99;
  const odd = read(FACTS, some);
  assert.deepEqual([...odd.lanes[0].tracks[0].row], [1, 2]);
  assert.equal(odd.lanes[0].tracks[0].end[0], 1500);
  assert.deepEqual(odd.lanes.map((lane) => lane.index), [0, 2, 3]); // lane 1 has nothing left
});

test('rows that are not in order are sorted', () => {
  const some = tables();
  some[1].column('start').set([3000, 1500, 1000]);
  some[1].column('ns').set([400, 600, 400]);
  const unsorted = read(FACTS, some);
  const track = unsorted.lanes[0].tracks[0];
  assert.deepEqual([[...track.start], [...track.row]], [[1000, 1500, 3000], [2, 1, 0]]);
  assert.equal(unsorted.find('g2').index, 0);
});

test('an event is found by its name, and has neighbours on its lane', () => {
  const event = data.find('g1');
  assert.deepEqual([event.lane.index, event.index, data.nameOf(event)], [0, 1, 'g1']);
  assert.equal(data.nameOf(neighbourEvent(event, 1)), 'g2');
  assert.equal(neighbourEvent(data.find('g2'), 1), null); // row 3 is on another lane
  assert.equal(data.nameOf(neighbourEvent(data.find('h1'), 1)), 'h2');
  assert.deepEqual(['', 'g99', 'x1', 'h-1', null].map((name) => data.find(name)), [null, null, null, null, null]);
});

test('a launch is the call that starts at its time', () => {
  assert.equal(data.nameOf(data.launchOf(data.find('g0'))), 'h1');
  assert.equal(data.nameOf(data.launchOf(data.find('g2'))), 'h3');
  assert.equal(data.launchOf(data.find('g3')), null);
  assert.equal(data.launchOf(data.find('h0')), null);
});

test('busy time is the union of the streams', () => {
  // 1000-1400 and 1200-3200 and 1500-2100 and 3000-4000
  assert.equal(busyTime(data.lanes.slice(0, 2), [0, 5000]), 3000);
  assert.equal(busyTime(data.lanes.slice(0, 2), [1300, 3500]), 2200);
  assert.equal(totalTime(data.idle.tracks[0]), 1500);
});

test('where the page has bins, they become a track with weights', () => {
  const bins = plainTable('page_bins', {lane: float(0, 0, 1), bin: float(0, 3, 1), busy: float(600, 1000, 10),
    category: ['GEMM', 'copy', 'GEMM']});
  const binned = read({...FACTS, bins: 5, exact_start: 1000, exact_end: 2000}, [...tables(), bins]);
  const track = binned.lanes[0].bins;
  assert.deepEqual([[...track.start], [...track.end], [...track.weight], [...track.kind]],
      [[0, 3000], [1000, 4000], [600, 1000], [0, 9]]);
  assert.deepEqual(binned.exact, [1000, 2000]);
  assert.match(timelineNotes(binned)[0], /^Bins: the page has single kernels between 1\.00 µs and 2\.00 µs/);
});

test('notes say what is left out', () => {
  assert.deepEqual(timelineNotes(data), ['Events of at most 500 ns are left out on 1 of 4 lanes.']);
  assert.equal(timelineNotes(read({...FACTS, idle_left_out: 2500})).at(-1), 'Gaps of 2.50 µs together are too short to be shown.');
});

test('of several GPUs, a note names the one that is judged', () => {
  const some = tables();
  some[0].column('group')[1] = 'GPU 1';
  some[0].column('judged')[1] = false;
  assert.equal(timelineNotes(read(FACTS, some)).at(-1),
    'Findings and idle time are those of GPU 0, the busiest GPU; host threads are those of the processes that use it.');
});

// ---- highlights ----

const matchesOf = (hash) => new TimelineMatches(data, new State(hash), data);
const rows = (matches) => data.lanes.slice(0, 2).flatMap((lane) => lane.tracks.flatMap((track) => [...matches.part(lane, track).row]));

test('without a choice nothing is dimmed', () => {
  const matches = matchesOf('');
  assert.equal(matches.isActive, false);
  assert.equal(matches.part(data.lanes[0], data.lanes[0].tracks[0]), data.lanes[0].tracks[0]);
});

test('a search finds kernels by name and ops, and host events', () => {
  assert.deepEqual(rows(matchesOf('#search=GEMM')), [0, 2]);
  assert.deepEqual(rows(matchesOf('#search=aten::add')), [1]);
  const matches = matchesOf('#search=aten');
  assert.deepEqual(rows(matches), [0, 1, 2]);
  assert.equal(matches.hostCount(), 1);
  assert.deepEqual([...matches.part(data.lanes[2], data.lanes[2].tracks[0]).row], [0]);
  assert.deepEqual(rows(matchesOf('#search=.*')), []); // text, not a pattern
});

test('sums of a search', () => {
  const work = {call: float(0, 1, NONE), kernel: float(0, 1, 2), count: float(2, 1, 1), ns: float(1400, 600, 2000)};
  assert.deepEqual(matchesOf('#search=gemm').sums(work), {count: 2, ns: 1400, of: 4000});
  assert.deepEqual(matchesOf('#search=gemm').sums(null), {count: 0, ns: 0, of: 0});
});

test('a category dims the others, a cause dims all work', () => {
  assert.deepEqual(rows(matchesOf('#category=communication')), [3]);
  assert.equal(matchesOf('#category=GEMM').part(data.idle, data.idle.tracks[0]).length, 0);
  assert.deepEqual(rows(matchesOf('#category=idle:data')), []);
  assert.deepEqual([...matchesOf('#category=idle:data').part(data.idle, data.idle.tracks[0]).row], [0]);
});

test('kernel and call have to agree with each other', () => {
  assert.deepEqual(rows(matchesOf('#kernel=0')), [0, 2]);
  assert.deepEqual(rows(matchesOf('#call=1')), [1]);
  assert.deepEqual(rows(matchesOf('#kernel=0&call=1')), []);
  assert.deepEqual(rows(matchesOf('#kernel=77')), [0, 1, 2, 3]); // no such row
});

test('a finding has stretches of time or work', () => {
  assert.deepEqual(evidenceOf(data.source, 1), {stretches: [[4000, 4500]], pairs: []});
  assert.deepEqual(rows(matchesOf('#finding=1')), [0, 1, 2, 3]);
  assert.deepEqual(rows(matchesOf('#finding=2')), [0, 2, 3]);
  assert.deepEqual(matchesOf('#finding=2').firstStep(), [1000, 4000]);
  assert.equal(matchesOf('#search=nothing').firstStep(), null);
});

test('highlighted events follow each other in time, on all streams', () => {
  const names = (matches, time, by) => {
    const found = [];
    for (let next = matches.next(time, by); next && found.length < 9; next = matches.next(next.track.start[next.index], by)) {
      found.push(data.nameOf(next));
    }
    return found;
  };
  assert.deepEqual(names(matchesOf('#search=c'), -1, 1), ['g3']); // ncclAllReduce; g0 to g2 have no c
  assert.deepEqual(names(matchesOf('#search=a'), -1, 1), ['g0', 'g3', 'g1', 'g2']);
  assert.deepEqual(names(matchesOf('#search=a'), 1500, -1), ['g3', 'g0']);
  assert.deepEqual(names(matchesOf('#search=cudaLaunch'), -1, 1), ['h1', 'h2']); // no kernel has it
});

test('another source shows what has the same names', () => {
  const some = tables();
  some[2].column('name').reverse();
  const other = read(FACTS, some);
  const matches = new TimelineMatches(other, new State('#kernel=0'), data);
  assert.deepEqual([...matches.part(other.lanes[1], other.lanes[1].tracks[0]).row], [3]); // its kernel 2 has the name
});

// ---- texts ----

test('an event as text', () => {
  const about = describeEvent(data, data.find('g0'));
  const facts = Object.fromEntries(about.facts.map(({label, text}) => [label, text]));
  assert.deepEqual([about.title, about.full, about.kernel, about.call], ['gemm', 'void gemm<float, 128>(float*)', 0, 0]);
  assert.deepEqual(facts, {duration: '400 ns', start: '1.00 µs', step: 'step#1 (decode)', category: 'GEMM', op: 'aten::mm',
    shapes: '((8,8),(8,8))', Python: 'train.py(3): step', 'launched by': 'cudaLaunchKernel', 'launch to start': '400 ns',
    stream: 'GPU 0, stream 7'});
  assert.match(eventText(about), /duration: 400 ns \(400 ns\)[^]*called from:\n {2}module GPT\n {2}module Block_0\n {2}op aten::mm$/);
});

test('what is not known is left out', () => {
  const labels = describeEvent(data, data.find('g3')).facts.map(({label}) => label);
  assert.deepEqual(labels, ['duration', 'start', 'step', 'category', 'stream']);
  assert.deepEqual(describeEvent(data, data.find('h4')).facts.map(({label, text}) => [label, text]),
      [['duration', '300 ns'], ['start', '100 ns'], ['kind', 'Python function'], ['thread', 'python (12), thread 13']]);
  assert.equal(describeEvent(data, data.find('i0')).title, 'idle: data loading');
  assert.equal(eventLabel(data, data.idle, 1), 'new cause');
});

test('a trace without steps has a window instead', () => {
  const some = tables();
  some[7] = plainTable('page_steps', {name: [null], start: float(1000), ns: float(3000), phase: [null], in_window: [true]});
  const plain = read(FACTS, some);
  assert.equal(timelineStepName(plain, 0), 'all of the window');
  assert.ok(!describeEvent(plain, plain.find('g0')).facts.some(({label}) => label === 'step'));
});

test('announcements are short', () => {
  assert.equal(eventAnnouncement(data, data.find('g1')), 'add, duration 600 ns, start 1.50 µs, op aten::add, stream GPU 0, stream 7');
});

test('a path that leads back to itself ends', () => {
  const some = tables();
  some[4].column('parent').set([2, 0, 1]);
  assert.deepEqual(eventPath(read(FACTS, some), 0).map(({name}) => name), ['GPT', 'Block_0', 'aten::mm']);
});

// ---- trace file ----

test('a range as a trace: work in it, its launches, idle time and steps', () => {
  const events = [...traceEvents(data, [1450, 2200])];
  const complete = events.filter((event) => event.ph === 'X').map(({cat, name, pid, tid, ts, dur}) => [cat, name, pid, tid, ts, dur]);
  assert.deepEqual(complete, [
    ['kernel', 'void add<float>()', 0, 7, 1.5, 0.6], ['kernel', 'ncclAllReduce', 0, 20, 1.2, 2],
    ['cuda_runtime', 'cudaLaunchKernel', 1000001, 12, 0.8, 0.05], // before the range, but it launched
    ['step', 'step#1', 2000000, 1, 1, 3],
  ]);
  const flows = events.filter((event) => event.ph === 's' || event.ph === 'f').map(({ph, id, pid, tid, ts}) => [ph, id, pid, tid, ts]);
  assert.deepEqual(flows, [['s', 3, 1000001, 12, 0.8], ['f', 3, 0, 7, 1.5]]);
  const correlations = events.filter((event) => event.args?.correlation).map(({name, args}) => [name, args.correlation]);
  assert.deepEqual(correlations, [['void add<float>()', 3], ['ncclAllReduce', 9], ['cudaLaunchKernel', 3]]);
});

test('kernels of one graph launch share the correlation and have a flow each', () => {
  const some = tables();
  some[1].column('launch').set([600, 600, 600]);
  const events = [...traceEvents(read(FACTS, some), [0, 5000])];
  const work = events.filter((event) => event.cat === 'kernel' && event.tid === 7);
  assert.deepEqual(work.map(({args}) => args.correlation), [2, 2, 2]);
  assert.deepEqual(events.filter((event) => event.ph === 's').map(({id, ts}) => [id, ts]), [[2, 0.6], [7, 0.6], [8, 0.6]]);
  assert.deepEqual(events.filter((event) => event.ph === 'f').map(({id, ts}) => [id, ts]), [[2, 1], [7, 1.5], [8, 3]]);
});

// Perfetto (v20 and later) was asked: it drops events that overlap, gives a flow to what is open at its time in the order of
// the file, and its older versions read no events after other keys and take displayTimeUnit for the unit of times.
test('events of a thread nest, also where kernels of a stream or calls of a thread overlap', () => {
  const some = tables();
  some[1].column('start').set([1000, 1300, 1350]); // up to 1400, 1900 and 2350
  some[5].column('start').set([500, 600, 980]); // the last one ends after the first
  some[1].column('launch').set([600, 980, 980]);
  const events = [...traceEvents(read(FACTS, some), [0, 5000])];
  const work = events.filter((event) => event.cat === 'kernel' && event.args.stream === 7);
  assert.deepEqual(work.map(({tid, ts}) => [tid, ts]), [[7, 1], [10000007, 1.3], [20000007, 1.35]]);
  const calls = events.filter((event) => event.ph === 'X' && event.pid === 1000001 && event.ts < 2);
  assert.deepEqual(calls.map(({tid, ts}) => [tid, ts]).sort((a, b) => a[1] - b[1]),
    [[13, 0.1], [12, 0.5], [12, 0.6], [10000012, 0.98]]);
  const names = events.filter((event) => event.name === 'thread_name').map(({tid, args}) => `${tid} ${args.name}`);
  assert.ok(names.includes('10000007 stream 7, overlapping') && names.includes('10000012 thread 12 (main), overlapping'), String(names));
  const flows = events.filter((event) => event.ph === 's').map(({tid, ts}) => [tid, ts]);
  assert.deepEqual(flows, [[12, 0.6], [10000012, 0.98], [10000012, 0.98]], 'flows follow their calls');
  const tracks = new Map();
  for (const {ph, pid, tid, ts, dur} of events) {
    if (ph === 'X') tracks.set(`${pid} ${tid}`, [...(tracks.get(`${pid} ${tid}`) || []), [ts, ts + dur]]);
  }
  for (const spans of tracks.values()) {
    for (const [a, b] of spans) assert.ok(!spans.some(([c, d]) => a < c - 1e-6 && c < b - 1e-6 && b < d - 1e-6), `${a} to ${b}`);
  }
});

test('flows come after the events that they belong to', () => {
  const kinds = [...traceEvents(data, [0, 5000])].filter(({cat}) => cat !== 'idle' && cat !== 'step').map(({ph}) => ph);
  assert.ok(kinds.lastIndexOf('X') < kinds.indexOf('s'), kinds.join(''));
});

test('the parts of a trace file are one JSON object', () => {
  assert.match(traceParts(data, [0, 5000]).join(''), /^\{"traceEvents":/);
  const trace = JSON.parse(traceParts(data, [0, 5000]).join(''));
  assert.deepEqual(Object.keys(trace), ['traceEvents', 'schemaVersion', 'traceName']);
  const names = (name) => trace.traceEvents.filter((event) => event.name === name).map((event) => event.args.name);
  assert.deepEqual(names('process_name'), ['GPU 0', 'python (12)', 'gputally']);
  assert.deepEqual(names('thread_name'), ['stream 7', 'stream 20', 'thread 12 (main)', 'thread 13', 'steps', 'idle, by cause']);
  assert.equal(trace.traceEvents.filter((event) => event.ph === 'X').length, 4 + 5 + 1 + 2);
  assert.deepEqual(trace.traceEvents.filter((event) => event.cat === 'idle').map(({name, args}) => [name, args.site]),
      [['idle: data', 'loader.py(1)'], ['idle: unknown', undefined]]);
  assert.equal(JSON.parse(traceParts(data, [4900, 4950]).join('')).traceEvents.filter((event) => event.ph === 'X').length, 0);
});
