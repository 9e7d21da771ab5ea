// Steps: their parts, what is usual, bars of many. Expected values are computed by hand.

import assert from 'node:assert/strict';
import {test} from 'node:test';
import {commonPrefix, findOutliers, groupSteps, phaseStatistics, readSteps} from '../../src/page/web/sections/steps/bars.js';
import {stepLimit, stepStatistics} from '../../src/page/web/sections/steps/bars.js';
import {plainSource, plainTable} from './helpers.mjs';

const STEPS = plainTable('page_steps', {name: ['s1', 's2', null], start: [0, 100, 200], ns: [100, 90, 50], phase: [null, null, null],
  in_window: [true, true, false]});
const PARTS = plainTable('page_step_parts', {
  step: [0, 0, 0, 1, 1, 2, 2], part: ['data', 'GEMM', 'communication', 'GEMM', 'copy', 'attention', 'zero'],
  kind: ['idle', 'computation', 'exposed_communication', 'computation', 'exposed_copy', 'computation', 'computation'],
  ns: [40, 50, 10, 70, 20, 50, 0],
});
const step = (ns, phase = null, inWindow = true) => ({ns, phase, inWindow, parts: Float64Array.of(ns)});

test('parts are stacked: work, communication, copies, idle time', () => {
  const {steps, parts} = readSteps(plainSource([STEPS, PARTS]));
  assert.deepEqual(parts.map((part) => [part.part, part.ns]),
    [['GEMM', 120], ['attention', 50], ['communication', 10], ['copy', 20], ['data', 40]]);
  assert.deepEqual(steps.map((one) => Array.from(one.parts)), [[50, 0, 10, 0, 40], [70, 0, 0, 20, 0], [0, 50, 0, 0, 0]]);
  assert.deepEqual(steps.map((one) => [one.name, one.inWindow]), [['s1', true], ['s2', true], ['', false]]);
});

test('steps without parts', () => {
  const {steps, parts} = readSteps(plainSource([STEPS]));
  assert.deepEqual([steps.length, parts.length, steps[0].parts.length], [3, 0, 0]);
});

test('statistics: the limits are 3 scaled MADs, but at least 5 %', () => {
  // Median 100; deviations 0, 2, 4, 6, 100: MAD 4, scaled 5.9304, three times 17.7912.
  const wide = stepStatistics([100, 98, 104, 94, 200].map((ns) => step(ns)));
  assert.deepEqual([wide.count, wide.mean, wide.p50], [5, 119.2, 100]);
  assert.ok(Math.abs(wide.high - 117.7912) < 1e-9 && Math.abs(wide.low - 82.2088) < 1e-9);
  assert.ok(Math.abs(wide.p99 - (104 + 96 * 0.96)) < 1e-9);
  const narrow = stepStatistics([100, 100, 100, 103].map((ns) => step(ns)));
  assert.deepEqual([narrow.low, narrow.high], [95, 105]);
});

test('outliers are those of their phase, in the window', () => {
  const steps = [...[100, 101, 99, 100, 130].map((ns) => step(ns, 'prefill')), ...[10, 10, 10, 8, 10.2].map((ns) => step(ns, 'decode')),
    step(500, 'decode', false)];
  const phases = phaseStatistics(steps);
  assert.deepEqual([...phases.keys()], ['prefill', 'decode']);
  assert.equal(phases.get('decode').count, 5, 'the one outside the window does not count');
  assert.deepEqual(Array.from(findOutliers(steps, phases)), [0, 0, 0, 0, 1, 0, 0, 0, -1, 0, 0]);
});

test('two steps say nothing about what is usual', () => {
  const steps = [step(1), step(100)];
  assert.deepEqual(Array.from(findOutliers(steps, phaseStatistics(steps))), [0, 0]);
});

test('without a window all steps count', () => {
  const steps = [step(10, null, false), step(10, null, false), step(10, null, false), step(20, null, false)];
  assert.deepEqual(Array.from(findOutliers(steps, phaseStatistics(steps))), [0, 0, 0, 1]);
});

test('more steps than pixels become means', () => {
  const steps = [10, 20, 30, 40, 50].map((ns) => step(ns));
  const one = groupSteps(steps, new Int8Array(5), 5);
  assert.deepEqual([one.size, one.groups.length, one.groups[4].ns], [1, 5, 50]);
  const {groups, size} = groupSteps(steps, Int8Array.of(0, 1, 0, 0, 0), 3);
  assert.equal(size, 2);
  assert.deepEqual(groups.map(({first, last, ns, parts, outlier}) => [first, last, ns, parts[0], outlier]),
    [[0, 1, 15, 15, 1], [2, 3, 35, 35, -1], [4, 4, 50, 50, -1]]);
  assert.equal(groupSteps(steps, Int8Array.of(1, 1, 0, 0, 0), 1).groups[0].outlier, 1, 'the longest of several');
});

test('ten thousand steps fit into a window', () => {
  const steps = Array.from({length: 10000}, () => step(10));
  const {groups, size} = groupSteps(steps, new Int8Array(10000), 300);
  assert.deepEqual([size, groups.length, groups.at(-1).last], [34, 295, 9999]);
});

test('a few very long bars are cut off', () => {
  const bars = (...ns) => ns.map((one) => ({ns: one}));
  assert.deepEqual(stepLimit(bars(10, 11, 12, 10)), {limit: 12, isCut: false});
  const {limit, isCut} = stepLimit(bars(...Array(19).fill(10), 100));
  assert.deepEqual([limit, isCut], [15, true]);
  assert.deepEqual(stepLimit(bars(0, 0)), {limit: 0, isCut: false});
});

test('what names have in common', () => {
  assert.equal(commonPrefix(['ProfilerStep#12', 'ProfilerStep#13']), 'ProfilerStep#');
  assert.equal(commonPrefix(['ProfilerStep#119', 'ProfilerStep#112']), 'ProfilerStep#');
  assert.equal(commonPrefix(['step 1', 'step 1']), 'step ');
  assert.equal(commonPrefix(['execute_1(2)', 'execute_3(4)']), 'execute_');
  assert.equal(commonPrefix(['a', 'b']), '');
  assert.equal(commonPrefix(['one']), '');
  assert.equal(commonPrefix([]), '');
});
