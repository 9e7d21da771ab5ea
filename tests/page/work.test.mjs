// GPU work in a range. Expected sums are computed by hand.

import assert from 'node:assert/strict';
import {test} from 'node:test';
import {Page} from '../../src/page/web/page.js';
import {categoryOf, hasExact, roundRange, workOf} from '../../src/page/web/work.js';
import {plainSource, plainTable} from './helpers.mjs';

const SUMS = plainTable('page_sums', {call: [0, NaN, 1], kernel: [0, 0, 1], count: [2, 1, 1], calls: [1, 0, 1], ns: [30, 5, 40],
  category: ['optimizer', 'elementwise', 'GEMM']});
// Four events: 10-20 and 30-50 of call 0, one op with two kernels, 60-65 without a call, 70-110 of call 1.
const GPU = plainTable('page_gpu', {
  start: [10, 30, 60, 70], ns: [10, 20, 5, 40], call: [0, 0, NaN, 1], kernel: [0, 0, 0, 1],
  begins: [true, false, false, true],
});
const all = plainSource([SUMS, GPU], {end: 200});

function rowsOf(work) {
  return Array.from(work.call, (call, i) => [call, work.kernel[i], work.count[i], work.calls[i], work.ns[i]]);
}

test('without a range: the sums of the trace', () => {
  assert.deepEqual(rowsOf(workOf(all, null)), [[0, 0, 2, 1, 30], [NaN, 0, 1, 0, 5], [1, 1, 1, 1, 40]]);
});

test('the second kernel of an op is no call of it', () => {
  assert.deepEqual(rowsOf(workOf(all, [25, 80])), [[0, 0, 1, 0, 20], [NaN, 0, 1, 0, 5], [1, 1, 1, 1, 10]]);
});

test('work has the category of its call and kernel, or else that of the kernel', () => {
  const source = plainSource([SUMS, plainTable('page_kernels', {category: ['elementwise', 'GEMM']})]);
  assert.deepEqual([[0, 0], [NaN, 0], [1, 1], [1, 0], [5, 1]].map(([call, kernel]) => categoryOf(source, call, kernel)),
    ['optimizer', 'elementwise', 'GEMM', 'elementwise', 'GEMM']);
});

test('a source without GPU work', () => {
  assert.equal(workOf(plainSource([]), null), null);
});

test('events that reach into the range count with their part', () => {
  assert.deepEqual(rowsOf(workOf(all, [15, 80])), [[0, 0, 2, 1, 25], [NaN, 0, 1, 0, 5], [1, 1, 1, 1, 10]]);
  assert.deepEqual(workOf(all, [15, 80]).events, [1.5, 1, 0.25]);
  assert.deepEqual(workOf(all, null).events, [2, 1, 1]);
});

test('a range without events', () => {
  assert.deepEqual(rowsOf(workOf(all, [20, 30])), []);
});

// Ten bins of 20 ns; exact events from 0 to 60.
const BIN_SUMS = plainTable('page_bin_sums', {bin: [0, 1, 3, 3], call: [0, 0, NaN, 1], kernel: [0, 0, 0, 1], count: [1, 1, 1, 1],
  calls: [1, 0, 0, 1], ns: [10, 20, 5, 40]});
const binned = plainSource([SUMS, GPU, BIN_SUMS], {end: 200, sum_bins: 10, exact_start: 0, exact_end: 60});

test('exact events are used where the page has them', () => {
  assert.ok(hasExact(binned, [10, 60]) && !hasExact(binned, [10, 61]));
  assert.deepEqual(rowsOf(workOf(binned, [15, 60])), [[0, 0, 2, 1, 25]]);
});

test('other ranges are rounded to whole bins', () => {
  assert.deepEqual(roundRange(binned, [35, 75]), [20, 80]);
  assert.deepEqual(roundRange(binned, [15, 60]), [15, 60]);
  assert.equal(roundRange(binned, null), null);
  assert.deepEqual(rowsOf(workOf(binned, [35, 75])), [[0, 0, 1, 0, 20], [NaN, 0, 1, 0, 5], [1, 1, 1, 1, 40]]);
});

test('sections that ask for the same range share its sums', () => {
  const page = new Page({sources: ['train.json.gz']}, '#range=15-80');
  page.addTables([SUMS, GPU].map((table) => ({source: 0, table})));
  const inRange = page.work();
  assert.deepEqual(rowsOf(inRange), [[0, 0, 2, 1, 25], [NaN, 0, 1, 0, 5], [1, 1, 1, 1, 10]]);
  assert.equal(page.work(), inRange);
  page.state.set({range: null});
  assert.deepEqual(rowsOf(page.work()), [[0, 0, 2, 1, 30], [NaN, 0, 1, 0, 5], [1, 1, 1, 1, 40]]);
});
