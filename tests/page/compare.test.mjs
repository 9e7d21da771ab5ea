// Comparisons: the rows of the waterfall, where its axis begins, and what choosing a contribution filters; how rows,
// call paths, points, steps, copies and sheets of two traces are paired. Expected values are computed by hand.

import assert from 'node:assert/strict';
import {test} from 'node:test';
import {sortCells} from '../../src/page/web/chart.js';
import {changeOf, pairRows} from '../../src/page/web/compared.js';
import {changeText, signed, time} from '../../src/page/web/format.js';
import {followedBy, waterfallRows, waterfallStart} from '../../src/page/web/sections/compare.js';
import {changeShare} from '../../src/page/web/sections/flame/draw.js';
import {DifferenceTree, mergeWork} from '../../src/page/web/sections/flame/pairs.js';
import {matchFlame} from '../../src/page/web/sections/flame/tree.js';
import {pairCopies, readWindowCopies} from '../../src/page/web/sections/memory/copies.js';
import {pairDelta, pairPoints, roofSets, roofSums} from '../../src/page/web/sections/roofline/pairs.js';
import {meanParts, readStepsOfAll} from '../../src/page/web/sections/steps/bars.js';
import {sheetPairModel} from '../../src/page/web/sections/tables/sheet_pairs.js';
import {plainSource, plainTable} from './helpers.mjs';

const MS = 1e6;
const NOTHING = {category: null, 'kernels.filter': null, 'ops.filter': null};

test('a difference has a sign', () => {
  assert.equal(signed(time, 1.5 * MS), '+1.50 ms');
  assert.equal(signed(time, -1.5 * MS), '−1.50 ms');
  assert.equal(signed(time, 0), '0 ns');
  assert.equal(signed(time, NaN), '–');
  assert.deepEqual([20.24, -100, 0.04, -0.04, 1e5, NaN].map(changeText),
    ['+20.2 %', '−100.0 %', '0.0 %', '0.0 %', '×1,001', '–']);
  assert.deepEqual([changeOf(4, 5), changeOf(4, 0), changeOf(0, 5)], [25, -100, NaN]);
});

test('contributions lead from one step time to the other', () => {
  const contributions = [{order: 1, contribution: 'gemm is slower', kind: 'slower', delta_ms: 4},
    {order: 2, contribution: 'fewer copies', kind: 'copies', delta_ms: -1}];
  const rows = waterfallRows({a_ms: 10, b_ms: 13, contributions}, ['before', 'after']);
  assert.deepEqual(rows.map(({label, kind, from, to, ns, order}) => [label, kind, from / MS, to / MS, ns / MS, order]),
    [['before', 'step', 0, 10, 10, 0], ['gemm is slower', 'slower', 10, 14, 4, 1], ['fewer copies', 'copies', 14, 13, -1, 2],
      ['after', 'step', 0, 13, 13, 3]]);
  assert.equal(rows[1].one, contributions[0]);
});

test('the axis begins at 0 unless differences would be too small to see', () => {
  const rows = (a, b, ...deltas) => waterfallRows({a_ms: a, b_ms: b,
    contributions: deltas.map((delta_ms, i) => ({order: i + 1, contribution: '', kind: 'slower', delta_ms}))}, ['', '']);
  assert.equal(waterfallStart(rows(10, 20, 10)), 0, '10 of 20 is more than 30 %');
  assert.equal(waterfallStart(rows(10, 14, 4)), 8 * MS, 'a quarter of 4 below 10, in steps of 2');
  assert.equal(waterfallStart(rows(100, 104, 4)), 98 * MS);
  assert.equal(waterfallStart(rows(0, 0)), 0);
});

test('a contribution filters what it is about', () => {
  const names = {page_kernels: {name: ['gemm']}, page_calls: {op: ['aten::mm']}};
  const has = (table, column, name) => (names[table][column] || []).includes(name);
  assert.deepEqual(followedBy({kind: 'idle', what: 'data_loading'}, has), {...NOTHING, category: 'idle:data_loading'});
  assert.deepEqual(followedBy({kind: 'communication'}, has), {...NOTHING, category: 'communication'});
  assert.deepEqual(followedBy({kind: 'copies'}, has), {...NOTHING, category: 'copy'});
  assert.deepEqual(followedBy({kind: 'computation', what: 'GEMM'}, has), {...NOTHING, category: 'GEMM'});
  assert.deepEqual(followedBy({kind: 'computation', what: 'no category'}, has), NOTHING);
  assert.deepEqual(followedBy({kind: 'other'}, has), NOTHING);
  assert.deepEqual(followedBy({kind: 'slower', what: 'gemm', delta_ms: 1}, has), {...NOTHING, 'kernels.filter': 'name="gemm"'});
  // An op shows the kernel of the slower side.
  const op = {kind: 'slower', what: 'aten::mm', a_detail: 'old kernel', b_detail: 'new kernel'};
  const both = (kernel) => ({category: null, 'ops.filter': 'op="aten::mm"', 'kernels.filter': `name="${kernel}"`});
  assert.deepEqual(followedBy({...op, delta_ms: 1}, has), both('new kernel'));
  assert.deepEqual(followedBy({...op, delta_ms: -1}, has), both('old kernel'));
});

test('a name with quotes is found by its longest piece', () => {
  const found = followedBy({kind: 'new', what: 'f<"a">(long piece)', delta_ms: 1}, (table) => table === 'page_kernels');
  assert.equal(found['kernels.filter'], 'name:">(long piece)"');
});

// ---- pairs ----

test('rows are paired by the first key that fits, in order', () => {
  const texts = [['x', 'y', 'y', 'z', 'only a'], ['y', 'z2', 'x', 'y', 'y']];
  const rows = texts.map((side) => side.map((_, row) => row));
  const exact = (side, row) => texts[side][row];
  const loose = (side, row) => (texts[side][row].startsWith('z') ? 'z' : null);
  assert.deepEqual(pairRows(rows, [exact]), [[0, 2], [1, 0], [2, 3], [3, -1], [4, -1], [-1, 1], [-1, 4]]);
  assert.deepEqual(pairRows(rows, [exact, loose]), [[0, 2], [1, 0], [2, 3], [3, 1], [4, -1], [-1, 4]]);
  assert.deepEqual(pairRows([[], []], [exact]), []);
});

test('cells of small tables are sorted by value, those without one last', () => {
  const rows = [['b', {text: '2', value: 2}], ['a', {text: '–', value: NaN}], ['c', {text: '10', value: 10}]];
  const names = (order) => sortCells(rows, order).map(([name]) => name).join('');
  assert.equal(names({column: 1, isDescending: true}), 'cba');
  assert.equal(names({column: 1, isDescending: false}), 'bca');
  assert.equal(names({column: 0, isDescending: false}), 'abc');
});

// A: Net_0 ── train.py(10): f ── aten::mm ── gemm 100      B, per step of two: the same at line 12, where aten::mm has
//          └─ aten::add ── add 40                          gemm2 60 instead; aten::cat ── cat 30 is new, aten::add as long
const PATHS = [
  plainSource([plainTable('page_nodes', {parent: [NaN, 0, 1, 0], kind: ['module', 'function', 'op', 'op'],
    name: ['Net_0', 'train.py(10): f', 'aten::mm', 'aten::add']}), plainTable('page_calls', {node: [2, 3]}),
  plainTable('page_kernels', {name: ['gemm', 'add'], short: [null, null], category: ['GEMM', 'elementwise']})]),
  plainSource([plainTable('page_nodes', {parent: [NaN, 0, 0, 1, 0], kind: ['module', 'op', 'function', 'op', 'op'],
    name: ['Net_0', 'aten::cat', 'train.py(12): f', 'aten::x', 'aten::add']}),
  plainTable('page_calls', {node: [1, 2, 4, NaN]}),
  plainTable('page_kernels', {name: ['cat', 'gemm2', 'add'], short: [null, null, null], category: ['other', 'GEMM', null]})]),
];
const WORKS = [{call: [0, 1], kernel: [0, 1], count: [1, 1], ns: [100, 40]},
  {call: [0, 1, 2, 3], kernel: [0, 1, 2, 2], count: [2, 4, 2, 2], ns: [60, 120, 80, 10]}];

function changes(tree, item = 0) {
  return [tree.name(item), ...tree.sides.map((ns) => ns[item]), tree.children(item, true).map((child) => changes(tree, child))];
}

test('call paths of both become one tree', () => {
  const merged = mergeWork(PATHS, WORKS, [1, 2]);
  const tree = new DifferenceTree(merged, {isTogether: false, width: 'both'});
  assert.deepEqual(changes(tree), ['All GPU work', 140, 135, [
    ['Net_0', 140, 130, [
      ['train.py(10): f', 100, 60, [['aten::mm', 100, 0, [['gemm', 100, 0, []]]], ['gemm2', 0, 60, []]]],
      ['aten::cat', 0, 30, [['cat', 0, 30, []]]],
      ['aten::add', 40, 40, [['add', 40, 40, []]]]]],
    ['(no launch recorded)', 0, 5, [['add', 0, 5, []]]]]]);
  assert.deepEqual([tree.ns[0], tree.counts[0][0], tree.counts[1][0]], [137.5, 2, 5]);
  assert.deepEqual(tree.children(0, false).map((item) => tree.ns[item]), [135, 2.5]);
  assert.deepEqual(tree.categorySides('GEMM').map((ns) => ns[0]), [100, 60]);
  const found = matchFlame(tree, {search: 'GEMM', category: null, evidence: null}, tree.sideNs[1]);
  assert.equal(found.ns[0], 60, 'of B');
});

test('the width of one side hides what only the other has', () => {
  const tree = new DifferenceTree(mergeWork(PATHS, WORKS, [1, 2]), {isTogether: true, width: 'a'});
  assert.equal(tree.ns[0], 140);
  assert.deepEqual(tree.children(tree.children(0, true)[0], false).map((item) => tree.name(item)), ['train.py(10): f', 'aten::add']);
});

test('without call paths in one of them, categories are compared', () => {
  const sources = [PATHS[0], plainSource([PATHS[1].table('page_kernels')])];
  const tree = new DifferenceTree(mergeWork(sources, WORKS, null), {isTogether: false, width: 'both'});
  assert.equal(tree.hasOps, false);
  assert.deepEqual(changes(tree)[3].map(([name, a, b]) => [name, a, b]),
    [['other', 0, 60], ['elementwise', 40, 90], ['GEMM', 100, 120]], 'add has no category in B: that of A counts');
});

test('the colour of a change grows with its share', () => {
  assert.deepEqual([changeShare(100, 100.5), changeShare(100, 0), changeShare(0, 5)], [0, 1, 1]);
  assert.ok(changeShare(100, 110) < changeShare(100, 200) && changeShare(110, 100) === changeShare(100, 110));
});

test('points of the roofline are paired by op, shape and precision', () => {
  const point = (op, shapes, spec, ns, roofNs = NaN) => ({op, shapes, spec, ns, roofNs});
  const sides = [{points: [point('mm', '((2, 3))', 'bf16', 10, 5), point('mm', '((2, 3))', 'fp32', 20), point('cat', '', '', 1)]},
    {points: [point('mm', '((2,3))', 'fp32', 50, 60), point('mm', '((2,3))', 'bf16', 11), point('mm', '((4,4))', 'bf16', 7)]}];
  const pairs = pairPoints(sides);
  assert.deepEqual(pairs.map((pair) => [pair.map((one) => one && one.ns), pairDelta(pair)]),
    [[[20, 50], 30], [[null, 7], 7], [[10, 11], 1], [[1, null], -1]]);
  assert.deepEqual(roofSums(sides[0].points), {ns: 10, roofNs: 5});
  assert.deepEqual(roofSums(sides[1].points), {ns: 50, roofNs: 50}, 'no more than all of it');
});

test('two GPUs have roofs of their own', () => {
  const peaks = (rate) => plainSource([plainTable('page_peaks', {precision: ['memory', 'matrix_bf16'], rate: [4, rate]})]);
  const sides = (...rates) => rates.map((rate) => ({points: [], roofs: {memory: 4, roofs: [{rate, names: ['matrix_bf16']}]}}));
  assert.deepEqual(roofSets([peaks(900), peaks(900)], sides(900, 900)).map(({prefix}) => prefix), [undefined]);
  assert.deepEqual(roofSets([peaks(900), peaks(300)], sides(900, 300)).map(({prefix}) => prefix), ['A: ', 'B: ']);
  assert.deepEqual(roofSets([plainSource([]), plainSource([])], [{points: [], roofs: null}, {points: [], roofs: null}]), []);
});

test('the bars of both are stacked in one order', () => {
  const source = (parts, ns) => plainSource([
    plainTable('page_steps', {name: ['1', '2'], start: [0, 50], ns: [50, 50], phase: [null, null], in_window: [true, false]}),
    plainTable('page_step_parts', {step: [0, 0], part: parts, kind: ['computation', 'computation'], ns})]);
  const {sides, parts} = readStepsOfAll([source(['GEMM', 'attention'], [30, 20]), source(['copy', 'attention'], [10, 40])]);
  assert.deepEqual(parts.map(({part, ns}) => [part, ns]), [['attention', 60], ['GEMM', 30], ['copy', 10]]);
  assert.deepEqual(sides.map((steps) => Array.from(steps[0].parts)), [[20, 30, 0], [40, 0, 10]]);
  assert.deepEqual(meanParts(sides[0], 3), [20, 30, 0], 'only the step in the window');
});

test('copies are paired by direction and kind, per step', () => {
  const copy = (direction, kind, count, ns) => ({direction, kind, bytes: 100, count, ns, rate: 100 * count / ns});
  const pairs = pairCopies([[copy('HtoD', 'pinned', 2, 10)], [copy('HtoD', 'pinned', 4, 40), copy('DtoH', 'pageable', 2, 80)]],
    [1, 2]);
  assert.deepEqual(pairs.map((pair) => pair.map((group) => group && [group.direction, group.count, group.ns, group.bytes, group.rate])),
    [[null, ['DtoH', 1, 40, 100, 2.5]], [['HtoD', 2, 10, 200, 20], ['HtoD', 2, 20, 200, 10]]]);
});

test('of the copies of a trace, those in its window count, at the rate of all', () => {
  const table = plainTable('page_copies', {direction: ['HtoD', 'memset'], kind: ['pinned', 'device'], bytes: [100, 8], count: [5, 2],
    ns: [50, 8], window_count: [4, 0], window_ns: [36, 0]});
  const copies = readWindowCopies(table);
  const [[a, b]] = pairCopies([copies, copies], [2, 4]);
  assert.deepEqual([a, b].map((group) => [group.direction, group.count, group.ns, group.bytes, group.rate]),
    [['HtoD', 2, 18, 200, 10], ['HtoD', 1, 9, 100, 10]]);
});

// ---- sheets ----

// A table whose columns have the codes of a pack.
function sheet(name, columns) {
  const table = plainTable(name, columns);
  table.directory = new Map(Object.keys(columns).map((column) => [column, {code: table.isNumeric(column) ? 'f' : 't'}]));
  return table;
}

function pairModel(a, b) {
  const page = {source: (side) => ({label: 'AB'[side]})};
  return sheetPairModel(page, [a, b], () => null);
}

function shownRows(model) {
  return Array.from({length: model.rows}, (_, row) => model.shown.map((key) => model.columns.find((one) => one.key === key).cells[row]));
}

test('sheets have A, B, difference and change of each number', () => {
  const a = sheet('s', {name: ['mm', 'add', 'gone'], device: [0, 0, 0], 'time ms': [10, 4, 1], mean_ms: [5, 4, 1], title: ['x', 'x', 'x']});
  const b = sheet('s', {name: ['add', 'new', 'mm'], device: [0, 0, 0], 'time ms': [4, 2, 15], mean_ms: [2, 2, 5], title: ['x', 'y', 'z']});
  const model = pairModel(a, b);
  assert.deepEqual(model.shown,
    ['name', 'device', 'title', 'time ms a', 'time ms b', 'time ms delta', 'time ms change', 'mean_ms delta', 'in']);
  assert.deepEqual(shownRows(model), [
    ['mm', '0', 'x → z', 10, 15, 5, 50, 0, 'both'], ['add', '0', 'x', 4, 4, 0, 0, -2, 'both'],
    ['gone', '0', 'x', 1, NaN, -1, NaN, NaN, 'only A'], ['new', '0', 'y', NaN, 2, 2, NaN, NaN, 'only B']]);
  const cells = (key) => [...model.columns.find((one) => one.key === key).cells];
  assert.deepEqual(cells('mean_ms delta'), [0, -2, NaN, NaN], 'a mean of nothing is not 0');
  assert.equal(model.sort, '-time ms delta');
  assert.deepEqual(model.columns.find(({key}) => key === 'time ms b').title, 'B: time ms');
});

test('rows of one name are paired in order, and sheets without names too', () => {
  const a = sheet('s', {name: ['mm', 'mm'], 'Input Dims': ['(1)', '(2)'], count: [1, 2]});
  const b = sheet('s', {name: ['mm', 'mm'], 'Input Dims': ['(2)', '(3)'], count: [5, 6]});
  assert.deepEqual(shownRows(pairModel(a, b)).map((row) => row.slice(1, 5)), [['(1) → (3)', 1, 6, 5], ['(2)', 2, 5, 3]]);
  const numbers = pairModel(sheet('s', {value: [1, 2]}), sheet('s', {value: [3]}));
  assert.deepEqual(shownRows(numbers), [[1, 3, 2, 200, 'both'], [2, NaN, NaN, NaN, 'only A']]);
});
