// Sweeps: numbers for people, ticks, domains, Pareto fronts, and what the tables of a decision say.

import assert from 'node:assert/strict';
import {test} from 'node:test';
import {estimateDomain, frontOf, msTicks, percentInterval, plainTicks, probability, readMeans, signedPercent, standingOf, stepInterval,
  stepTime} from '../../src/page/web/sections/sweep/decision.js';
import {effectColor} from '../../src/page/web/sections/sweep/heat_table.js';
import {contrast, inkOn} from '../../src/page/web/colors.js';
import {plainSource, plainTable} from './helpers.mjs';

test('step times have four digits, because settings differ in the third', () => {
  assert.deepEqual([6.4304, 12.345678, 999.96, 1234, 0.16604, 0.0000123].map(stepTime),
    ['6.430 ms', '12.35 ms', '1.000 s', '1.234 s', '166.0 µs', '12.30 ns']);
  assert.deepEqual([0, NaN, Infinity].map(stepTime), ['0 ms', '–', '–']);
  assert.equal(stepInterval({low: 6.365, high: 6.4961}), '6.365 to 6.496');
  assert.equal(stepInterval({low: 0.9, high: 1.1}), '900.0 µs to 1.100 ms');
  assert.equal(stepInterval({low: NaN, high: 1}), '–');
});

test('percentages have a sign, and no more digits than they need', () => {
  assert.deepEqual([3.64, -12.34, 0.0612, -0.001, 0, 150, 1234.5, NaN].map(signedPercent),
    ['+3.6 %', '−12.3 %', '+0.06 %', '0.0 %', '0.0 %', '+150 %', '+1,235 %', '–']);
  assert.equal(percentInterval({low: -0.5, high: 2}), '−0.5 to +2.0 %');
  assert.deepEqual([0.00001, 0.0123, 0.5, 1, NaN].map(probability), ['< 0.0001', '0.012', '0.50', '1.00', '–']);
});

test('there are at least two ticks, with as many digits as they need', () => {
  assert.deepEqual(msTicks([3.01, 3.07], 1).map(({label}) => label), ['3.02 ms', '3.04 ms', '3.06 ms']);
  assert.deepEqual(msTicks([0, 0.4], 4).map(({label}) => label), ['0 µs', '100 µs', '200 µs', '300 µs', '400 µs']);
  assert.deepEqual(plainTicks([-1, 1.2], 4, ' %').map(({label}) => label), ['−1 %', '0 %', '1 %']);
});

test('domains contain all intervals', () => {
  const [low, high] = estimateDomain([{value: 5, low: 4, high: 6}, {value: 9, low: NaN, high: NaN}], [0]);
  assert.ok(low < 0 && low > -1 && high > 9 && high < 10);
  assert.deepEqual(estimateDomain([{value: NaN, low: NaN, high: NaN}]), [0, 1]);
  const [from, to] = estimateDomain([{value: 5, low: 5, high: 5}]);
  assert.ok(from < 5 && to > 5);
});

const settings = [[5, 1.4], [5.2, 1.2], [5.3, 1.3], [5.4, 1.1], [5.5, NaN]].map(([step, slowdown], row) => ({row, step: {value: step}, slowdown}));

test('the front has the settings that no other one beats in both figures', () => {
  assert.deepEqual(frontOf(settings, 'slowdown', true).map(({row}) => row), [0, 1, 3]);
  assert.deepEqual(frontOf(settings, 'slowdown', false).map(({row}) => row), [0]);
  assert.deepEqual(frontOf([], 'slowdown', true), []);
});

test('standings', () => {
  const one = (row, step, isToldApart) => ({row, step: {value: step}, isToldApart});
  assert.equal(standingOf({facts: {candidates: 1, measured: 3}}, one(0, 5, false)), 'best');
  assert.equal(standingOf({facts: {candidates: 2, measured: 3}}, one(0, 5, false)), 'candidate');
  assert.equal(standingOf({facts: {candidates: 2, measured: 3}}, one(2, 6, true)), 'slower');
  assert.equal(standingOf({facts: {candidates: 1, measured: 1}}, one(0, 5, false)), 'only');
  assert.equal(standingOf({facts: {candidates: 1, measured: 1}}, one(1, NaN, false)), 'unmeasured');
});

test('means of one axis have no second one', () => {
  const source = plainSource([plainTable('page_effect_means', {axis_1: [0, 0], value_1: [0, 1], axis_2: [NaN, 1], value_2: [NaN, 2], settings: [3, 1],
    step_ms: [5, 6], step_low_ms: [4, NaN], step_high_ms: [6, NaN]})]);
  const [first, second] = readMeans({source});
  assert.deepEqual([first.other, first.otherPlace, second.other, second.otherPlace], [null, null, 1, 2]);
  assert.deepEqual(first.step, {value: 5, low: 4, high: 6});
});

test('colours of heat maps: more is stronger, both ends differ in brightness and hue, and text can be read', () => {
  for (const isNight of [false, true]) {
    const ground = effectColor(0, isNight);
    for (const sign of [-1, 1]) {
      const distances = [0.25, 0.5, 0.75, 1].map((share) => contrast(effectColor(sign * share, isNight), ground));
      assert.deepEqual(distances, [...distances].sort((a, b) => a - b));
      assert.ok(distances.at(-1) > 1.8, `${distances}`);
    }
    for (let share = -1; share <= 1; share += 0.05) {
      const color = effectColor(share, isNight);
      assert.ok(contrast(color, inkOn(color)) >= 4.5, `${share} ${color}`);
    }
    assert.equal(effectColor(7, isNight), effectColor(1, isNight));
  }
});
