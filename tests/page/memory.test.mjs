// Copies by direction, and memory over time. Expected values are computed by hand.

import assert from 'node:assert/strict';
import {test} from 'node:test';
import {copyPoints, groupCopies, isPageable, readCopies} from '../../src/page/web/sections/memory/copies.js';
import {peakIn, readMemory, sampleAt, samplesIn, stepPoints} from '../../src/page/web/sections/memory/samples.js';
import {plainTable} from './helpers.mjs';

const COPIES = plainTable('page_copies', {
  direction: ['HtoD', 'HtoD', 'DtoH', 'HtoD', 'memset'], kind: ['pageable', 'pageable', 'pinned', 'pinned', null],
  bytes: [1000, 500, NaN, 100, 64], count: [10, 2, 5, 1, 1], ns: [2000, 500, 300, 0, 10],
});

test('bandwidth is bytes of all copies divided by their time', () => {
  const copies = readCopies(COPIES);
  assert.deepEqual(copies.map((copy) => copy.rate), [5, 2, NaN, NaN, 6.4]);
  assert.equal(copies[4].kind, '');
});

test('copies by direction and kind', () => {
  const groups = groupCopies(readCopies(COPIES));
  assert.deepEqual(groups.map((group) => [group.direction, group.kind, group.count, group.ns, group.bytes, group.rate]), [
    ['HtoD', 'pageable', 12, 2500, 11000, 4.4], ['DtoH', 'pinned', 5, 300, 0, NaN], ['memset', '', 1, 10, 64, 6.4],
    ['HtoD', 'pinned', 1, 0, 0, NaN],
  ]);
  assert.deepEqual(groups.map(isPageable), [true, false, false, false]);
});

test('only copies with size and time are points', () => {
  const {points, sizes, rates} = copyPoints(readCopies(COPIES));
  assert.deepEqual(points.map((point) => point.bytes), [1000, 500, 64]);
  assert.deepEqual([sizes, rates], [[32, 2000], [1, 12.8]]);
  assert.equal(copyPoints([]), null);
});

const MEMORY = plainTable('page_memory', {
  device: [1, 0, 0, 0, 1], start: [5, 0, 20, 10, NaN], allocated: [7, 1, 3, 9, 8], reserved: [9, 2, 10, 10, 9],
});

test('samples by device, in order of time', () => {
  const [first, second] = readMemory(MEMORY);
  assert.deepEqual([first.device, Array.from(first.start), Array.from(first.allocated)], [0, [0, 10, 20], [1, 9, 3]]);
  assert.deepEqual([second.device, Array.from(second.start)], [1, [5]]);
});

test('the sample that holds at a time', () => {
  const start = [0, 10, 10, 20];
  assert.deepEqual([-1, 0, 9, 10, 25].map((at) => sampleAt(start, at)), [-1, 0, 0, 2, 3]);
  assert.deepEqual(samplesIn(start, [5, 12]), [0, 3]);
  assert.deepEqual(samplesIn(start, [-9, -5]), [0, 0]);
  assert.deepEqual(peakIn([1, 9, NaN, 3], [0, 4]), {row: 1, value: 9});
  assert.deepEqual(peakIn([1, 9, NaN, 3], [2, 4]), {row: 3, value: 3});
  assert.equal(peakIn([NaN], [0, 1]), null);
});

test('a value holds until the next sample', () => {
  const same = (value) => value;
  assert.deepEqual(stepPoints([0, 10], [1, 5], [0, 2], [0, 20], same, same), [[0, 1], [10, 1], [10, 5], [20, 5]]);
  assert.deepEqual(stepPoints([0, 10], [1, 5], [0, 2], [4, 8], same, same).at(0), [4, 1], 'a range begins with what holds then');
});

test('samples on one pixel keep their smallest and largest value', () => {
  const points = stepPoints([0, 10.1, 10.2, 10.3, 10.4], [5, 1, 9, 2, 6], [0, 5], [0, 20], (x) => x, (y) => y);
  const column = points.filter(([x]) => x === 10).map(([, y]) => y);
  assert.ok(column.includes(1) && column.includes(9));
  assert.deepEqual(points.at(-1), [20, 6]);
});

test('unknown values are skipped', () => {
  assert.deepEqual(stepPoints([0, 1], [NaN, NaN], [0, 2], [0, 2], (x) => x, (y) => y), []);
});
