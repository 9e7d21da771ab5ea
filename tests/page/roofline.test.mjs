// The points and roofs of the roofline. Expected values are computed by hand.

import assert from 'node:assert/strict';
import {test} from 'node:test';
import {addRoofs, evidenceOps, opTimes, pointsInRange, precisionLabel} from '../../src/page/web/sections/roofline/points.js';
import {rooflinePoints, rooflineRoofs, rooflineSheets, shapeLabel, withoutPoints} from '../../src/page/web/sections/roofline/points.js';
import {plainSource, plainTable} from './helpers.mjs';

const SHEET = plainTable('unified_perf_summary', {
  'name': ['aten::mm', 'aten::mm', 'aten::add', 'aten::cat'],
  'op category': ['GEMM', 'GEMM', 'elementwise', 'other'],
  'Input Dims': ['((8, 4), (4, 2))', '((8, 8), (8, 2))', '((8,), (8,))', '((8,),)'],
  'operation_count': [4, 2, 10, 3],
  'FLOPS/Byte': [100, 200, 0.25, NaN],
  'TFLOPS/s_mean': [300, 400, 0.5, NaN],
  'Kernel Time (µs)_sum': [40, 90, 10, 60],
  'Roofline Time (µs)_first': [5, 30, NaN, NaN],
  'Compute Spec': ['matrix_bf16', 'matrix_bf16', 'vector_fp32', null],
  'Roofline Bound': ['COMPUTE_BOUND', 'MEMORY_BOUND', null, null],
});
const CALLS = plainTable('page_calls', {
  op: ['aten::mm', 'aten::mm', 'aten::add'], shapes: ['((8,4),(4,2))', '((8, 8), (8, 2))', '((8,), (8,))'],
});
const KERNELS = plainTable('page_kernels', {name: ['gemm', 'splitK', 'add'], category: ['GEMM', 'reduction', 'elementwise']});
const WORK = {call: [0, 0, 1, 2, NaN], kernel: [0, 1, 0, 2, 2], count: [1, 1, 1, 1, 1], ns: [30000, 10000, 90000, 10000, 7]};
const source = plainSource([SHEET, CALLS, KERNELS]);

test('ops with flops and time become points, the longest first', () => {
  const {points, rows, ns} = rooflinePoints(rooflineSheets(source));
  assert.deepEqual([rows, ns, points.length], [4, 200000, 3]);
  const [first, second, third] = points;
  assert.deepEqual(first, {op: 'aten::mm', shapes: '((8, 8), (8, 2))', count: 2, intensity: 200, rate: 400, ns: 90000, roofNs: 60000,
    flop: NaN, spec: 'matrix_bf16', bound: 'memory bandwidth', category: 'GEMM'});
  assert.deepEqual([second.ns, second.roofNs, second.bound], [40000, 20000, 'compute']);
  assert.ok(Number.isNaN(third.roofNs) && third.category === 'elementwise');
});

test('infinite, negative and missing values are no points', () => {
  const sheet = plainTable('unified_perf_summary', {'name': ['a', 'b', 'c', 'd'], 'FLOPS/Byte': [Infinity, -1, 1, 1],
    'TFLOPS/s_mean': [1, 1, NaN, 1], 'Kernel Time (µs)_sum': [1, 1, 1, 0]});
  assert.deepEqual(rooflinePoints([sheet]).points, []);
});

test('why there are no points', () => {
  const why = (columns) => withoutPoints(rooflinePoints([plainTable('unified_perf_summary', {name: ['a', 'b'], ...columns})]));
  const time = {'Kernel Time (µs)_sum': [1, 0]};
  const shapes = {'Input Dims': ['((8,),)', null]};
  assert.match(why({...shapes, 'FLOPS/Byte': [1, 1], 'TFLOPS/s_mean': [NaN, NaN], 'Kernel Time (µs)_sum': [0, 0]}), /no duration/);
  assert.match(why(time), /no input shapes/);
  assert.match(why({...time, 'Input Dims': [null, null]}), /no input shapes/);
  assert.match(why({...time, ...shapes}), /No op of this trace has a performance model/);
});

test('JAX reports have sheets per kind of op', () => {
  const gemm = plainTable('op_gemm', {'name': ['Cijk'], 'Input Dims_first': ['((4096, 6144), (2048, 6144))'], 'FLOPS/Byte_first': [1117],
    'TFLOPS/s_mean': [881], 'Kernel Time (µs)_sum': [584], 'name_count': [5], 'Input type_first': ["('bf16', 'bf16')"]});
  const jax = plainSource([gemm, plainTable('op_other', {name: ['x']}), plainTable('overview', {name: ['x']})]);
  const sheets = rooflineSheets(jax);
  assert.deepEqual(sheets.map((sheet) => sheet.name), ['op_gemm']);
  const [point] = rooflinePoints(sheets).points;
  assert.deepEqual([point.category, point.count, point.ns, point.spec], ['GEMM', 5, 584000, 'matrix_bf16']);
  assert.deepEqual(rooflineSheets(plainSource([])), []);
});

test('times of ops by shape, however the shape is written', () => {
  const times = opTimes(source, WORK);
  const first = times.get('aten::mm\n((8,4),(4,2))');
  assert.deepEqual([first.ns, first.kernel, first.call, first.category], [40000, 0, 0, 'GEMM']);
  assert.equal(times.get('aten::add\n((8,),(8,))').ns, 10000);
  assert.equal(opTimes(plainSource([]), WORK).size, 0);
});

test('a range scales the times of what ran in it', () => {
  const {points} = rooflinePoints(rooflineSheets(source));
  const all = opTimes(source, WORK);
  assert.deepEqual(pointsInRange(points, all, null).shown.map((point) => point.ns), [90000, 40000, 10000]);
  const some = opTimes(source, {call: [0], kernel: [0], ns: [10000]});
  const {shown, unplaced} = pointsInRange(points, all, some);
  assert.equal(unplaced, 0);
  assert.deepEqual(shown.map((point) => [point.shapes, point.ns, point.roofNs, point.count, point.kernel, point.call]),
    [['((8, 4), (4, 2))', 10000, 5000, 1, 0, 0]]);
});

test('the rate in a range is that of the calls in it', () => {
  const {points} = rooflinePoints(rooflineSheets(source));
  const all = opTimes(source, {...WORK, events: [3, 3, 4, 1, 1]});
  // One of four calls, in 45 of 90 us: half of the rate of 400, and a quarter of the time at the roof.
  const {shown} = pointsInRange(points, all, opTimes(source, {call: [1], kernel: [0], ns: [45000], events: [1]}));
  assert.deepEqual(shown.map((point) => [point.ns, point.rate, point.roofNs, point.count]), [[45000, 200, 15000, 0.5]]);
});

test('ops without calls on the page are left out of a range, and counted', () => {
  const {points} = rooflinePoints(rooflineSheets(source));
  assert.deepEqual(pointsInRange(points, new Map(), new Map()), {shown: [], unplaced: 3});
  assert.equal(pointsInRange(points, new Map(), null).shown.length, 3);
});

test('rows that are kernels, as in JAX, are found by the name of the kernel', () => {
  const point = {op: 'splitK', shapes: '((4, 4),)', ns: 1000, roofNs: 500, count: 4};
  const some = opTimes(source, {call: [0], kernel: [1], ns: [2500]});
  const {shown, unplaced} = pointsInRange([point], opTimes(source, WORK), some);
  assert.deepEqual([shown[0].ns, shown[0].roofNs, shown[0].call, shown[0].category, unplaced], [250, 125, 0, 'reduction', 0]);
});

test('the evidence of a finding names ops', () => {
  const keys = evidenceOps(source, WORK, {has: (call) => call === 1});
  assert.deepEqual([...keys], ['kernel\ngemm', 'aten::mm\n((8,8),(8,2))']);
  assert.equal(evidenceOps(source, WORK, null).size, 0);
});

test('roofs are those of the precisions in use; equal rates share one', () => {
  const peaks = plainTable('page_peaks', {precision: ['matrix_fp8', 'matrix_bf16', 'matrix_fp16', 'vector_fp32', 'memory'],
    rate: [1979, 989, 989, 67, 4.8]});
  const gpu = plainSource([peaks]);
  const use = (...specs) => rooflineRoofs(gpu, specs.map((spec) => ({spec})));
  assert.deepEqual(use('matrix_bf16', 'matrix_fp16', 'vector_fp32', ''), {memory: 4.8,
    roofs: [{rate: 989, names: ['matrix_bf16', 'matrix_fp16']}, {rate: 67, names: ['vector_fp32']}]});
  assert.equal(use('unknown').roofs.length, 3, 'all, if none is known to be in use');
});

test('points without roofline columns get their roof from the rates', () => {
  const roofs = {memory: 5, roofs: [{rate: 1000, names: ['matrix_bf16']}]};
  const point = (intensity, spec, roofNs) => ({intensity, spec, roofNs, ns: 100, rate: 250, bound: ''});
  const points = [point(400, 'matrix_bf16', NaN), point(100, 'matrix_bf16', NaN), point(400, '', NaN), point(400, 'matrix_bf16', 7)];
  addRoofs(points, roofs);
  // At the roof: 1000 TFLOP/s instead of 250; on the slope 100 * 5 = 500.
  assert.deepEqual(points.map((one) => [one.roofNs, one.bound]), [[25, 'compute'], [50, 'memory bandwidth'], [NaN, ''], [7, '']]);
  addRoofs(points, null);
});

test('without rates there are no roofs', () => {
  assert.equal(rooflineRoofs(plainSource([]), []), null);
  assert.equal(rooflineRoofs(plainSource([plainTable('page_peaks', {precision: ['matrix_bf16'], rate: [989]})]), []), null);
});

test('shapes and precisions as people say them', () => {
  assert.equal(shapeLabel('((768,), (8944, 1024), (1024, 2816), (), ())'), '8944×1024, 1024×2816');
  assert.equal(shapeLabel('[[8], [4, 2]]'), '4×2');
  assert.equal(shapeLabel('((5,),)'), '5');
  assert.equal(shapeLabel('(((2, 3), (2, 3)), ())'), '2×3, 2×3');
  assert.equal(shapeLabel('<script>'), '');
  assert.equal(precisionLabel('matrix_bf16'), 'bf16 matrix');
  assert.equal(precisionLabel('bf16'), 'bf16');
  assert.equal(precisionLabel('matrix_fp16', 'matrix_bf16', 'vector_fp32'), 'fp16, bf16 matrix, fp32 vector');
});
