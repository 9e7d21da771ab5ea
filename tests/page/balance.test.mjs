// Where the time of a range went, with times added up by hand.

import assert from 'node:assert/strict';
import {test} from 'node:test';
import {balanceOf} from '../../src/page/web/balance.js';
import {readDevices} from '../../src/page/web/sections/devices.js';
import {plainSource, plainTable} from './helpers.mjs';

// The example of balance.js, from 0 to 30: stream 1 has A 0-10 and B 17-23, stream 2 C 5-18, all-reduce N 2-27; a copy
// on stream 1 from 25 to 29. Another device is busy all the time and does not count.
function example(facts = {}) {
  const events = [[0, 0, 10, 0], [0, 17, 6, 1], [0, 25, 4, 3], [1, 5, 13, 1], [1, 2, 25, 2], [2, 0, 30, 0]];
  const column = (at) => events.map((event) => event[at]);
  return plainSource([
    plainTable('page_lanes', {judged: [true, true, false]}),
    plainTable('page_kernels', {category: ['GEMM', 'attention', 'communication', 'copy']}),
    plainTable('page_gpu', {lane: column(0), start: column(1), ns: column(2), kernel: column(3), call: column(1).map(() => NaN)}),
    plainTable('page_idle', {start: [29], ns: [1], cause: ['data'], site: [null]}),
    plainTable('page_sums', {call: [NaN], kernel: [0], count: [1], calls: [0], ns: [10], category: ['GEMM']}),
    plainTable('page_bin_sums', {bin: [0, 1, 1], call: [NaN, NaN, NaN], kernel: [0, 0, 2], count: [1, 1, 1], calls: [0, 0, 0], ns: [30, 10, 30]}),
  ], {end: 30, window_start: 0, window_end: 30, sum_bins: 2, ...facts});
}

test('every nanosecond counts once; communication and copies are what nothing hides', () => {
  assert.deepEqual(balanceOf(example(), [0, 30]), {
    parts: [
      {part: 'attention', kind: 'computation', ns: 13},          // C 10-18, B 18-23
      {part: 'GEMM', kind: 'computation', ns: 10},               // A
      {part: 'communication', kind: 'exposed_communication', ns: 4}, // 23-27
      {part: 'copy', kind: 'exposed_copy', ns: 2},               // 27-29
      {part: 'data', kind: 'idle', ns: 1},
    ],
    length: 30, isEstimate: false,
  });
});

test('a kernel counts as what its call does with it', () => {
  const source = plainSource([
    plainTable('page_lanes', {judged: [true]}),
    plainTable('page_kernels', {category: ['elementwise']}),
    plainTable('page_gpu', {lane: [0, 0], start: [0, 10], ns: [10, 5], kernel: [0, 0], call: [0, 1]}),
    plainTable('page_sums', {call: [0, 1], kernel: [0, 0], count: [1, 1], calls: [1, 1], ns: [10, 5], category: ['elementwise', 'optimizer']}),
  ]);
  assert.deepEqual(balanceOf(source, [0, 15]).parts.map(({part, ns}) => [part, ns]), [['elementwise', 10], ['optimizer', 5]]);
});

test('events are cut at the ends of the range', () => {
  const {parts, length} = balanceOf(example(), [8, 24.5]);
  assert.equal(length, 16.5);
  assert.deepEqual(parts, [
    {part: 'attention', kind: 'computation', ns: 13},
    {part: 'GEMM', kind: 'computation', ns: 2},
    {part: 'communication', kind: 'exposed_communication', ns: 1.5},
  ]);
});

test('idle time outside the window has no cause', () => {
  const {parts} = balanceOf(example(), [28, 40]);
  assert.deepEqual(parts, [
    {part: 'copy', kind: 'exposed_copy', ns: 1},
    {part: 'outside', kind: 'idle', ns: 10},
    {part: 'data', kind: 'idle', ns: 1},
  ]);
});

test('bins give an estimate: busy time in proportion', () => {
  // Exact only from 0 to 2; the second bin is 15-30: 1 ns idle, 14 ns busy, 1/4 of it GEMM.
  const balance = balanceOf(example({exact_start: 0, exact_end: 2}), [20, 29]);
  assert.deepEqual(balance, {
    parts: [
      {part: 'GEMM', kind: 'computation', ns: 3.5},
      {part: 'communication', kind: 'exposed_communication', ns: 10.5},
      {part: 'data', kind: 'idle', ns: 1},
    ],
    length: 15, isEstimate: true,
  });
});

test('a source without GPU events has no balance', () => {
  assert.equal(balanceOf(plainSource([]), [0, 1]), null);
});

test('100,000 overlapping events take no more than linear time', () => {
  const count = 100000;
  const numbers = Array.from({length: count}, (_, i) => i);
  const source = plainSource([
    plainTable('page_lanes', {judged: [true]}),
    plainTable('page_kernels', {category: ['GEMM', 'communication']}),
    plainTable('page_sums', {call: [NaN], kernel: [0], count: [count], calls: [0], ns: [count], category: ['GEMM']}),
    plainTable('page_gpu', {lane: numbers.map(() => 0), start: numbers, ns: numbers.map(() => count), kernel: numbers.map((i) => i % 2),
      call: numbers.map(() => NaN)}),
  ]);
  const {parts} = balanceOf(source, [0, 2 * count]);
  assert.deepEqual(parts.map(({part, ns}) => [part, ns]), [['GEMM', 2 * count - 2], ['communication', 1], ['outside', 1]]);
});

test('the parts of each GPU add up to the time of the trace', () => {
  const sheet = (columns) => plainTable('gpu_timeline_by_device', columns);
  const lanes = plainTable('page_lanes', {device: [0, 1], judged: [false, true]});
  const pytorch = sheet({device: [0, 0, 0, 0, 0, 1, 1, 1, 1, 1],
    type: ['computation_time', 'exposed_comm_time', 'exposed_memcpy_time', 'idle_time', 'total_time', 'computation_time', 'exposed_comm_time',
      'exposed_memcpy_time', 'idle_time', 'total_time'], 'time ms': [5, 1, 1, 3, 10, 8, 0, 0, 1, 9], percent: Array(10).fill(1)});
  const MS = 1e6;
  assert.deepEqual(readDevices(plainSource([pytorch, lanes])).map(({name, ns, total, isJudged}) => [name, ns.map((one) => one / MS), total / MS, isJudged]),
    [['GPU 0', [5, 1, 1, 3], 10, false], ['GPU 1', [8, 0, 0, 2], 10, true]]);
  // GPU 1 begins after the end of GPU 0.
  const together = plainTable('gpu_timeline', {type: ['busy_time', 'total_time'], 'time ms': [15, 20], percent: [75, 100]});
  assert.deepEqual(readDevices(plainSource([pytorch, lanes, together])).map(({ns, total}) => [ns.map((one) => one / MS), total / MS]),
    [[[5, 1, 1, 13], 20], [[8, 0, 0, 12], 20]]);
  // rocprofv3: copies are what of the busy time no kernel hides; GPUs of two hosts have one number.
  const rocprof = sheet({device: [4, 4, 4, 4, 4, 4], hostname: ['a', 'a', 'a', 'b', 'b', 'b'],
    type: ['total_time', 'kernel', 'busy_time', 'total_time', 'kernel', 'busy_time'], 'time ms': [10, 6, 8, 10, 9, 9], percent: Array(6).fill(1)});
  assert.deepEqual(readDevices(plainSource([rocprof])).map(({name, ns, isJudged}) => [name, ns.map((one) => one / MS), isJudged]),
    [['GPU 4, a', [6, 0, 2, 2], false], ['GPU 4, b', [9, 0, 0, 1], false]]);
});
