// The timeline's arithmetic: views and ticks, tracks, level of detail, layout. Expected values are computed by hand, or
// by summing over single events.

import assert from 'node:assert/strict';
import {test} from 'node:test';
import {clampView, panView, tickStep, timeTicks, viewAround, zoomView} from '../../src/page/web/sections/timeline/axis.js';
import {firstFolds, groupLanes, layoutRows, placeOfEvent, laneRowAt, laneTrackAt} from '../../src/page/web/sections/timeline/layout.js';
import {laneText} from '../../src/page/web/sections/timeline/paint.js';
import {PixelColumns} from '../../src/page/web/sections/timeline/pyramid.js';
import {Track, firstIndexAbove, separateEvents, splitTracks} from '../../src/page/web/sections/timeline/track.js';

// A sequence of numbers from 0 to 1 that looks random and is always the same.
function randomSource(seed) {
  let state = seed;
  return () => {
    state = (state * 1103515245 + 12345) % 2147483648;
    return state / 2147483648;
  };
}

function trackOf(events, kinds = 3) {
  return new Track({start: Float64Array.from(events, (e) => e[0]), end: Float64Array.from(events, (e) => e[1]),
    kind: Uint8Array.from(events, (e) => e[2] || 0), row: Int32Array.from(events, (_, i) => i), kinds});
}

// ---- axis ----

test('a view stays inside the trace and does not come closer than 20 ns per 1000 pixels', () => {
  assert.deepEqual(clampView([-50, 50], [0, 1000], 1000), [0, 100]);
  assert.deepEqual(clampView([950, 1050], [0, 1000], 1000), [900, 1000]);
  assert.deepEqual(clampView([-10, 5000], [0, 1000], 1000), [0, 1000]);
  assert.deepEqual(clampView([500, 502], [0, 1000], 1000), [491, 511]);
  assert.deepEqual(clampView([500, 502], [0, 1000], 2000), [481, 521]);
  assert.deepEqual(clampView([NaN, 3], [0, 1000], 1000), [0, 1000]);
  assert.deepEqual(clampView([700, 700], [0, 1000], 1000), [700, 720]);
});

test('zooming keeps the time below the pointer in its place', () => {
  assert.deepEqual(zoomView([100, 200], 0.5, 125), [112.5, 162.5]);
  assert.equal((125 - 112.5) / 50, (125 - 100) / 100);
  assert.deepEqual(panView([100, 200], -0.25), [75, 175]);
  assert.deepEqual(viewAround([100, 200], 0.1), [90, 210]);
});

test('steps between ticks are 1, 2 or 5 times a power of ten', () => {
  assert.deepEqual([0.3, 1, 1.5, 3, 7, 12, 30, 60, 450, 6e8].map(tickStep), [1, 1, 2, 5, 10, 20, 50, 100, 500, 1e9]);
});

test('ticks have units from ns to s', () => {
  const labels = (view) => timeTicks(view, 600).ticks.map((tick) => tick.label);
  assert.deepEqual(labels([0, 500]), ['0 ns', '100 ns', '200 ns', '300 ns', '400 ns', '500 ns']);
  assert.deepEqual(labels([0, 3e6]), ['0 ms', '1 ms', '2 ms', '3 ms']);
  assert.deepEqual(labels([1e9, 1.4e9]), ['1.0 s', '1.1 s', '1.2 s', '1.3 s', '1.4 s']);
  assert.deepEqual(labels([2.5e3, 4e3]), ['2.5 µs', '3.0 µs', '3.5 µs', '4.0 µs']);
});

test('ticks far from the beginning count from a base', () => {
  const axis = timeTicks([77123400, 77123800], 440);
  assert.deepEqual(axis.base, {at: 77100000, label: '77.1 ms'});
  assert.deepEqual(axis.ticks.map((tick) => tick.label), ['+23.4 µs', '+23.5 µs', '+23.6 µs', '+23.7 µs', '+23.8 µs']);
  assert.equal(axis.ticks[1].at, 77123500);
});

test('ticks count from the origin, also before it', () => {
  const axis = timeTicks([900, 1200], 440, 1000);
  assert.deepEqual(axis.ticks.map((tick) => tick.label), ['-100 ns', '0 ns', '100 ns', '200 ns']);
  assert.deepEqual(axis.ticks.map((tick) => tick.at), [900, 1000, 1100, 1200]);
});

// ---- tracks ----

test('binary search finds the first larger value', () => {
  const values = Float64Array.of(1, 3, 3, 7);
  assert.deepEqual([0, 1, 3, 6, 7].map((limit) => firstIndexAbove(values, 4, limit)), [0, 1, 3, 3, 4]);
});

test('the events in a view are found, also below a long one', () => {
  const plain = trackOf([[0, 10], [20, 30], [40, 50]]);
  assert.deepEqual(plain.within(12, 35), [1, 2]);
  assert.deepEqual(plain.within(5, 45), [0, 3]);
  assert.deepEqual([plain.look(31, 39), plain.look(29, 39), plain.look(22, 28)], ['empty', 'busy', 'covered']);
  assert.equal(trackOf([[0, 1], [500, 503]]).look(0, 1000), 'sparse');
  const nested = trackOf([[0, 100], [10, 20], [30, 40]]);
  assert.deepEqual(nested.within(50, 60), [0, 3]);
  assert.equal(nested.at(50, 0), 0);
  assert.equal(nested.at(500, 1), -1);
});

test('near a time the longest event is hit, at a time the one that covers it', () => {
  const track = trackOf([[0, 2], [3, 9], [10, 11], [100, 200]]);
  assert.equal(track.at(10, 10), 1);
  assert.equal(track.at(150, 10), 3);
  assert.equal(track.at(60, 5), -1);
});

test('a subset keeps rows', () => {
  const some = trackOf([[0, 1], [2, 3], [4, 5]]).subset((row) => row !== 1);
  assert.deepEqual([...some.start], [0, 4]);
  assert.deepEqual([...some.row], [0, 2]);
  assert.equal(some.indexOf(2), 1);
  assert.equal(some.indexOf(1), -1);
});

test('events of a stream that overlap go to tracks of their own', () => {
  // The second starts while the first works; the third fits after the first; the fourth overlaps by a tenth only.
  const events = [[0, 100], [10, 60], [100, 200], [190, 300]];
  const {places, count} = separateEvents(Float64Array.from(events, (e) => e[0]), Float64Array.from(events, (e) => e[1]));
  assert.deepEqual([[...places], count], [[0, 1, 0, 0], 2]);
  const all = trackOf(events);
  const tracks = splitTracks({start: all.start, end: all.end, kind: all.kind, row: all.row, kinds: 3}, places, count);
  assert.deepEqual(tracks.map((track) => [...track.row]), [[0, 2, 3], [1]]);
});

test('any number of events at a time needs at most eight tracks', () => {
  const start = Float64Array.from({length: 50}, (_, i) => i);
  const {places, count} = separateEvents(start, start.map((at) => at + 1000));
  assert.equal(count, 8);
  assert.equal(Math.max(...places), 7);
});

// ---- level of detail ----

// Pixels of each kind per column, by a sum over all events.
function sumPerColumn(events, [begin, end], width, kinds) {
  const scale = width / (end - begin);
  const sums = Array.from({length: width}, () => new Array(kinds).fill(0));
  for (const [from, to, kind] of events) {
    for (let column = 0; column < width; column++) {
      const inside = Math.min((to - begin) * scale, column + 1) - Math.max((from - begin) * scale, column);
      if (inside > 0) sums[column][kind] += inside;
    }
  }
  return sums;
}

function columnsOf(track, [begin, end], width) {
  const columns = new PixelColumns();
  const scale = width / (end - begin);
  columns.reset(width, track.kinds);
  let calls = 0;
  track.pyramid.walk(begin, end, 1 / scale, {
    node: (from, to, sums, at) => {
      calls++;
      columns.addNode((from - begin) * scale, (to - begin) * scale, sums, at, scale);
    },
    events: (from, to) => {
      for (let i = from; i < to; i++) {
        calls++;
        columns.add((track.start[i] - begin) * scale, (track.end[i] - begin) * scale, track.kind[i]);
      }
    },
  });
  return {columns, calls};
}

function randomEvents(count, seed) {
  const random = randomSource(seed);
  const events = [];
  let at = 0;
  for (let i = 0; i < count; i++) {
    const length = random() < 0.01 ? 5000 : Math.floor(random() * 40);
    events.push([at, at + length, Math.floor(random() * 3)]);
    at += length + (random() < 0.02 ? 3000 : Math.floor(random() * 20));
  }
  return events;
}

test('columns have the sums of all events, whatever the zoom', () => {
  const events = randomEvents(3000, 7);
  const track = trackOf(events);
  const last = events.at(-1)[1];
  for (const view of [[0, last], [last * 0.3, last * 0.35], [last * 0.5, last * 0.501], [-last, last * 2]]) {
    const width = 200;
    const {columns} = columnsOf(track, view, width);
    const expected = sumPerColumn(events, view, width, 3);
    let worst = 0;
    let total = 0;
    let expectedTotal = 0;
    for (let column = 0; column < width; column++) {
      for (let kind = 0; kind < 3; kind++) {
        const sum = columns.sums[column * 3 + kind];
        total += sum;
        expectedTotal += expected[column][kind];
        worst = Math.max(worst, Math.abs(sum - expected[column][kind]));
      }
    }
    // A run of events on the border of two columns is divided evenly, so a column may be off by a part of a pixel.
    assert.ok(worst < 1, `${view}: ${worst}`);
    assert.ok(Math.abs(total - expectedTotal) < 0.02 * expectedTotal + 0.5, `${view}: ${total} instead of ${expectedTotal}`);
  }
});

test('a view costs about as much as it has pixels', () => {
  const events = randomEvents(300000, 11);
  const {calls} = columnsOf(trackOf(events), [0, events.at(-1)[1]], 1000);
  assert.ok(calls < 10000, String(calls));
});

test('runs join columns that look the same and take the kind with most time', () => {
  const columns = new PixelColumns();
  columns.reset(10, 3);
  columns.add(1, 4, 2);
  columns.add(4, 5, 0, 0.6);
  columns.add(4, 5, 1, 0.3);
  columns.add(7.25, 7.5, 1);
  columns.add(9, 9, 0); // of no length
  const runs = [];
  columns.runs(10, (...run) => runs.push(run));
  assert.deepEqual(runs, [[1, 3, 2, 1], [4, 1, 0, 0.9], [7, 1, 1, 0.3], [9, 1, 0, 0.1]]);
});

test('events of no length are seen at every zoom', () => {
  const track = trackOf(Array.from({length: 100}, (_, i) => [i * 10, i * 10, 1]));
  for (const view of [[0, 1000], [0, 100000], [495, 505]]) {
    const {columns} = columnsOf(track, view, 100);
    assert.ok(columns.low <= columns.high && columns.sums.some((sum) => sum > 0), String(view));
  }
});

// ---- layout ----

function lane(index, kind, group, more = {}) {
  return {index, kind, group, label: `${kind} ${index}`, isJudged: false, events: 10, launches: 0, busy: 10, bins: null,
    tracks: [trackOf([[0, 10]])], ...more};
}

const depth3 = [trackOf([[0, 100]]), trackOf([[0, 50]]), trackOf([[0, 20]])];
const LANES = [
  lane(0, 'stream', 'GPU 0', {isJudged: true}), lane(1, 'stream', 'GPU 0'), lane(2, 'stream', 'GPU 1'),
  lane(3, 'thread', 'python', {launches: 5, tracks: depth3}), lane(4, 'thread', 'python', {tracks: depth3}),
];
const idle = {index: -1, kind: 'idle', tracks: [trackOf([[10, 20]])], bins: null};
const never = () => 'busy';

function lines(groups, folds, look) {
  return layoutRows(groups, folds, look).rows.map((row) =>
    `${row.type} ${row.group ? row.group.label : row.lane.kind + row.lane.index} ${row.mode || ''}`.trim());
}

test('groups have their lanes below them, the judged device also its idle time', () => {
  const groups = groupLanes(LANES, idle);
  assert.deepEqual(lines(groups, new Set(), never), ['group GPU 0', 'lane stream0 full', 'lane stream1 full', 'lane idle-1 full',
    'group GPU 1', 'lane stream2 full', 'group python', 'lane thread3 full', 'lane thread4 full']);
});

test('rows follow each other without gaps', () => {
  const {rows, height} = layoutRows(groupLanes(LANES, idle), new Set(['l4']), never);
  rows.forEach((row, i) => assert.equal(row.top, i ? rows[i - 1].top + rows[i - 1].height : 0));
  assert.equal(height, rows.at(-1).top + rows.at(-1).height);
  for (const row of rows) {
    for (const {top, height: high} of row.tracks) assert.ok(top >= row.top && top + high <= row.top + row.height);
  }
});

test('a folded group is one row, and its idle time stays', () => {
  const groups = groupLanes(LANES, idle);
  assert.deepEqual(lines(groups, new Set(['g0', 'l4']), never), ['group GPU 0', 'folded GPU 0', 'lane idle-1 full',
    'group GPU 1', 'lane stream2 full', 'group python', 'lane thread3 full', 'lane thread4 mini']);
});

test('lanes shrink to what is in view', () => {
  const groups = groupLanes(LANES, idle);
  const {rows} = layoutRows(groups, new Set(), (track) => track.look(30, 40));
  assert.deepEqual(rows.filter((row) => row.mode === 'empty').map((row) => row.lane.index), [0, 1, 2]);
  assert.equal(rows.find((row) => row.lane === LANES[3]).tracks.length, 2); // nothing of the third depth
});

test('outer calls that last as long as the view are thin, and the innermost of them has its name', () => {
  const tracks = [[0, 100], [5, 5.5], [0, 100], [0, 100], [10, 20], [0, 100], [200, 300], [30, 40]].map((event) => trackOf([event]));
  const deep = lane(7, 'thread', 'python', {tracks});
  const row = layoutRows(groupLanes([deep], null), new Set(), (track) => track.look(0, 100)).rows[1];
  assert.deepEqual(row.tracks.map((one) => one.height), [4, 4, 4, 14, 14, 14, 1, 14]);
});

test('of very many lanes the lesser ones share a row', () => {
  const many = Array.from({length: 20}, (_, i) => lane(i, 'stream', 'GPU 0', {isJudged: true, busy: i % 3 ? 1 : 100 + i}));
  const groups = groupLanes(many, idle);
  assert.deepEqual([...firstFolds(groups)], ['g0r']);
  assert.deepEqual(groups[0].main.map((one) => one.index), [0, 1, 3, 6, 9, 12, 15, 18]);
  const {rows} = layoutRows(groups, new Set(['g0r']), never);
  assert.deepEqual(rows.map((row) => row.type), ['group', ...new Array(8).fill('lane'), 'rest', 'lane']);
  assert.equal(rows[9].tracks.length, 12);
  assert.equal(layoutRows(groups, new Set(), never).rows.length, 1 + 20 + 1 + 1);
  assert.equal(placeOfEvent(rows, {lane: many[2], track: trackOf([])}).top, rows[9].top);
});

test('threads that launch nothing are folded at first', () => {
  assert.deepEqual([...firstFolds(groupLanes(LANES, null))], ['l4']);
});

test('devices that are not judged are folded at first if there are many streams', () => {
  const many = Array.from({length: 10}, (_, i) => lane(i, 'stream', `GPU ${i >> 2}`, {isJudged: i >> 2 === 1}));
  assert.deepEqual([...firstFolds(groupLanes(many, null))], ['g0', 'g2']);
});

test('a height leads to its row and track, and an event to its place', () => {
  const {rows} = layoutRows(groupLanes(LANES, idle), new Set(), never);
  const row = rows.find((one) => one.lane === LANES[3]);
  assert.equal(laneRowAt(rows, row.top + 1), row);
  assert.equal(laneRowAt(rows, 1e6), null);
  assert.equal(laneTrackAt(row, row.tracks[1].top + 3).track, depth3[1]);
  assert.deepEqual(placeOfEvent(rows, {lane: LANES[3], track: depth3[1]}), {top: row.tracks[1].top, height: row.tracks[1].height});
  assert.equal(placeOfEvent(rows, {lane: lane(9, 'stream', 'x'), track: trackOf([])}), null);
});

test('texts are cut to their room', () => {
  const context = {measureText: (text) => ({width: 10 * [...text].length})}; // every character is 10 wide
  assert.equal(laneText(context, 'elementwise', 110), 'elementwise');
  assert.equal(laneText(context, 'elementwise', 59), 'elem…');
  assert.equal(laneText(context, 'elementwise', 25), '');
  assert.equal(laneText(context, 'ab\u{1f680}cd', 39), 'ab…'); // not half a character
  assert.equal(laneText(context, '\u202eabc', 90), '▯abc');
  assert.equal(laneText(context, 'x'.repeat(40000), 60), 'xxxxx…');
});
