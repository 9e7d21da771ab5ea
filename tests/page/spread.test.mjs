// Sweeps: boxes, densities, means and the shared scale. The rows are those of two small sweeps; the expected numbers are
// matplotlib's and SciPy's.

import assert from 'node:assert/strict';
import {test} from 'node:test';
import {boxOf, densityOf, groupSpread, interactionOf, keysOf, readSpread, sharedDomain} from '../../src/page/web/sections/sweep/spread.js';
import {plainSource, plainTable} from './helpers.mjs';

const ROWS = [
  [512, 42, 1, 43], [512, 42, 0, 42], [512, 28, 1, 29], [512, 28, 0, 28], [256, 42, 1, 26.25], [512, 42, 1, 26.25], [256, 42, 0, 25.75],
  [512, 42, 0, 25.75], [256, 28, 1, 24.25], [512, 28, 1, 24.25], [256, 28, 0, 23.75], [512, 28, 0, 23.75], [256, 42, 1, 22], [256, 42, 0, 21],
  [256, 28, 1, 15], [256, 28, 0, 14],
];

function sweepOf(rows) {
  const column = (at) => rows.map((row) => row[at]);
  return readSpread(plainSource([plainTable('page_variance', {threads: column(0), channel: column(1), rank: column(2), time_diff_us: column(3)})]));
}

const SWEEP = sweepOf(ROWS);
const inUs = (ns) => ns / 1000;

function boxInUs(kind, key) {
  const box = boxOf(groupSpread(SWEEP, kind).get(key));
  return [[box.low, box.median, box.high, box.whiskerLow, box.whiskerHigh].map(inUs), box.outliers.map(inUs)];
}

test('boxes have the quartiles, whiskers and outliers of matplotlib', () => {
  assert.deepEqual(boxInUs('threads', 256), [[19.5, 22.875, 24.625, 14, 26.25], []]);
  assert.deepEqual(boxInUs('threads', 512), [[25.375, 27.125, 32.25, 23.75, 42], [43]]);
  assert.deepEqual(boxInUs('channels', 28), [[21.5625, 24, 25.1875, 21.5625, 29], [14, 15]]);
  assert.deepEqual(boxInUs('channels', 42), [[24.8125, 26, 30.1875, 21, 30.1875], [42, 43]]);
  assert.deepEqual(boxInUs('ranks', 0), [[23.0625, 24.75, 26.3125, 21, 28], [14, 42]]);
  const box = boxOf(groupSpread(SWEEP, 'threads').get(512));
  assert.deepEqual([box.count, box.mean, box.largest], [8, 30250, 43000]);
});

test('densities are those of SciPy', () => {
  const density = densityOf(groupSpread(SWEEP, 'threads').get(256));
  const close = (value, expected) => assert.ok(Math.abs(value * 1000 - expected) < 1e-12, `${value * 1000} is not ${expected}`);
  close(density[0][1], 0.03353786846201143);
  close(density[50][1], 0.05588865939988276);
  close(density[99][1], 0.06702307389712217);
  const highest = Math.max(...density.map(([, value]) => value));
  close(highest, 0.08205241375770095);
  assert.equal(density.findIndex(([, value]) => value === highest), 80);
  assert.deepEqual([density[0][0], density[99][0]], [14000, 26250]);
});

test('a density needs two different values', () => {
  assert.deepEqual(densityOf([5]), []);
  assert.deepEqual(densityOf([5, 5, 5]), []);
});

test('the density of very many values is that of their quantiles', () => {
  // Uniform from 0 to 1,000: the density is 1 / 1,000 in the middle.
  const density = densityOf(Array.from({length: 50001}, (_, i) => i / 50));
  assert.ok(Math.abs(density[50][1] - 0.001) < 2e-5, String(density[50][1]));
});

test('means of threads and channels', () => {
  const means = interactionOf(SWEEP).map(({key, points}) => [key, points.map(({key: channels, ns, count}) => [channels, inUs(ns), count])]);
  assert.deepEqual(means, [[256, [[28, 19.25, 4], [42, 23.75, 4]]], [512, [[28, 26.25, 4], [42, 34.25, 4]]]]);
});

test('keys are those of all sweeps, ascending', () => {
  assert.deepEqual(keysOf([SWEEP, sweepOf([[64, 28, 9, 1], [1024, 28, -1, 1]])], 'threads'), [64, 256, 512, 1024]);
  assert.deepEqual(keysOf([SWEEP, sweepOf([[64, 28, 9, 1], [1024, 28, -1, 1]])], 'ranks'), [-1, 0, 1, 9]);
});

test('one domain for all sweeps, with the zero', () => {
  assert.deepEqual(sharedDomain([[14000, 43000], [7000, 21500]]), [0, 50000]);
  assert.deepEqual(sharedDomain([[14000, 43000], [86000]]), [0, 100000]);
  assert.deepEqual(sharedDomain([[-43000, 10]]), [-50000, 10]);
  assert.deepEqual(sharedDomain([[0, 0], []]), [0, 1]);
});

test('a source without rows has no spread', () => {
  assert.equal(readSpread(plainSource([])), null);
  assert.equal(readSpread(plainSource([plainTable('page_variance', {threads: [], channel: [], rank: [], time_diff_us: []})])), null);
});

test('other axes are words in the order of the grid, and a sweep may lack threads and channels', () => {
  const sweep = readSpread(plainSource([plainTable('page_variance',
    {'axis mode': ['slow', 'fast', 'slow', 'fast'], 'axis size': ['8', '16', '16', '16'], rank: [0, 0, 1, 1], time_diff_us: [1, 2, 3, 6]})]));
  assert.deepEqual(keysOf([sweep], 'axis mode', ['slow', 'none', 'fast']), ['slow', 'fast']);
  assert.deepEqual(keysOf([sweep], 'threads'), []);
  assert.deepEqual(groupSpread(sweep, 'axis mode').get('fast'), [2000, 6000]);
  assert.equal(groupSpread(sweep, 'threads').size, 0);
  assert.deepEqual(interactionOf(sweep), []);
  assert.deepEqual(interactionOf(sweep, ['axis mode', 'axis size'], ['slow', 'fast'], ['8', '16']), [
    {key: 'slow', points: [{key: '8', ns: 1000, count: 1}, {key: '16', ns: 3000, count: 1}]},
    {key: 'fast', points: [{key: '16', ns: 4000, count: 2}]}]);
});
