// Scales, ticks and labels of charts. Expected values are computed by hand.

import assert from 'node:assert/strict';
import {test} from 'node:test';
import {BYTE_UNITS, freePlaces, linearScale, linearTicks, logDomain, logScale, logTicks} from '../../src/page/web/scale.js';
import {niceMaximum, niceStep, powerLabel, quantile, TIME_UNITS, unitTicks} from '../../src/page/web/scale.js';

test('scales map to pixels and back', () => {
  const x = linearScale([10, 20], [100, 300]);
  assert.equal(x(15), 200);
  assert.equal(x.invert(300), 20);
  const y = logScale([1, 1000], [300, 0]);
  assert.ok(Math.abs(y(10) - 200) < 1e-9);
  assert.ok(Math.abs(y.invert(100) - 100) < 1e-9);
});

test('a domain of no length is in the middle', () => {
  assert.equal(linearScale([5, 5], [0, 100])(5), 50);
  assert.equal(linearScale([0, 10], [7, 7]).invert(7), 0);
});

test('steps are 1, 2 or 5 times a power of ten', () => {
  assert.deepEqual([0.3, 1, 1.1, 2.5, 6, 70].map(niceStep), [0.5, 1, 2, 5, 10, 100]);
  assert.equal(niceStep(0), 1);
  assert.equal(niceStep(NaN), 1);
});

test('linear ticks', () => {
  assert.deepEqual(linearTicks(0, 10, 5), [0, 2, 4, 6, 8, 10]);
  assert.deepEqual(linearTicks(3, 11, 4), [4, 6, 8, 10]);
  assert.deepEqual(linearTicks(-5, 5, 2), [-5, 0, 5]);
  assert.ok(!Object.is(linearTicks(0, 10, 5)[0], -0));
  for (const [low, high] of [[1, 1], [2, 1], [NaN, 1], [0, Infinity]]) assert.deepEqual(linearTicks(low, high, 5), []);
});

test('the maximum of an axis is a tick', () => {
  assert.equal(niceMaximum(93, 5), 100);
  assert.equal(niceMaximum(100, 5), 100);
  assert.equal(niceMaximum(0, 5), 1);
  assert.equal(niceMaximum(NaN, 5), 1);
});

test('logarithmic ticks', () => {
  assert.deepEqual(logTicks(0.5, 2000, 6), [1, 10, 100, 1000]);
  assert.deepEqual(logTicks(3, 40, 8), [5, 10, 20]);
  assert.deepEqual(logTicks(1e-6, 1e6, 5), [1e-6, 1e-3, 1, 1e3, 1e6]);
  assert.deepEqual(logTicks(0, 10, 5), []);
});

test('a logarithmic domain ignores what has no logarithm', () => {
  assert.deepEqual(logDomain([0, NaN, -3, 10, 40, Infinity], 2), [5, 80]);
  assert.equal(logDomain([0, -1], 2), null);
});

test('labels of logarithmic ticks', () => {
  assert.deepEqual([0.001, 1, 5, 20000, 1e7, 2e-5].map(powerLabel), ['0.001', '1', '5', '20,000', '10⁷', '2·10⁻⁵']);
});

test('ticks of one axis have one unit and only the digits they need', () => {
  const labels = (...args) => unitTicks(...args).map(({label}) => label);
  assert.deepEqual(labels(0, 1e7, 5, TIME_UNITS), ['0 ms', '2 ms', '4 ms', '6 ms', '8 ms', '10 ms']);
  assert.deepEqual(labels(1.0e9, 1.2e9, 4, TIME_UNITS), ['1.00 s', '1.05 s', '1.10 s', '1.15 s', '1.20 s']);
  assert.deepEqual(labels(0, 3e9, 3, BYTE_UNITS), ['0 GB', '1 GB', '2 GB', '3 GB']);
  assert.deepEqual(labels(0, 0.5, 1, TIME_UNITS), ['0.0 ns', '0.5 ns']);
});

test('labels find free places or none', () => {
  const area = {left: 0, top: 0, right: 100, bottom: 100};
  const label = (...places) => ({width: 40, height: 10, places});
  const found = freePlaces([label([0, 0]), label([10, 5], [10, 20]), label([90, 0], [0, 0]), label([5, 52])], area,
    [{x: 0, y: 50, width: 10, height: 10}]);
  assert.deepEqual(found.map((box) => box && [box.x, box.y]), [[0, 0], [10, 20], null, null]);
});

test('quantiles lie between neighbours', () => {
  assert.equal(quantile([1, 2, 3, 4], 0.5), 2.5);
  assert.equal(quantile([1, 2, 3, 4, 5], 0.25), 2);
  assert.equal(quantile([7], 0.99), 7);
  assert.ok(Number.isNaN(quantile([], 0.5)));
});
