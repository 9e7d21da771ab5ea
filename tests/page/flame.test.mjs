// The tree of the flame graph and its layout. Expected times are computed by hand.
//
//   Net_0 ── Block_0 ── aten::mm ── gemm 40 (two shapes: 30 + 10), memset 2
//         └─ Block_1 ── aten::mm ── gemm 50
//         └─ aten::add ── add 8
//   (no launch)        ── gemm 5

import assert from 'node:assert/strict';
import {test} from 'node:test';
import {flameBoxAt, flameNeighbour, layoutFlame} from '../../src/page/web/sections/flame/layout.js';
import {flameStarts, FlameTree, matchFlame, workEvidence} from '../../src/page/web/sections/flame/tree.js';
import {plainSource, plainTable} from './helpers.mjs';

const NODES = plainTable('page_nodes', {
  parent: [NaN, 0, 1, 0, 3, 0], kind: ['module', 'module', 'op', 'module', 'op', 'op'],
  name: ['Net_0', 'Block_0', 'aten::mm', 'Block_1', 'aten::mm', 'aten::add'],
});
const KERNELS = plainTable('page_kernels', {
  name: ['void gemm<float>(int)', 'Memset (Device)', 'void add<4>()'], short: ['gemm', null, 'add'],
  category: ['GEMM', 'copy', 'elementwise'],
});
const CALLS = plainTable('page_calls', {node: [2, 2, 4, 5], op: ['aten::mm', 'aten::mm', 'aten::mm', 'aten::add']});
const WORK = {call: [0, 1, 0, 2, 3, NaN], kernel: [0, 0, 1, 0, 2, 0], count: [3, 1, 2, 5, 1, 1], ns: [30, 10, 2, 50, 8, 5]};
const GPU = plainTable('page_gpu', {start: [100, 10, 50, 60, 5, 70], ns: [30, 10, 2, 50, 8, 5], call: WORK.call, kernel: WORK.kernel});
const EVIDENCE = plainTable('page_evidence', {
  finding: [1, 1, 2, 3], call: [0, NaN, NaN, NaN], kernel: [0, NaN, 0, NaN], start: [NaN, 7, NaN, 9], ns: [30, 5, 5, 50],
});
const source = plainSource([NODES, KERNELS, CALLS, GPU, EVIDENCE], {end: 200});
const tree = new FlameTree(source, WORK, {firstStarts: null, isTogether: false});
const itemNamed = (name, at = 0) => Array.from({length: tree.size}, (_, item) => item).filter((item) => tree.name(item) === name)[at];

// [name, ns, [children]] of what is below an item.
function outline(of, item, inTimeOrder) {
  return [of.shortName(item), of.ns[item], of.children(item, inTimeOrder).map((child) => outline(of, child, inTimeOrder))];
}

test('times add up from kernels to the top', () => {
  assert.deepEqual(outline(tree, 0), ['All GPU work', 105, [
    ['Net_0', 100, [
      ['Block_1', 50, [['aten::mm', 50, [['gemm', 50, []]]]]],
      ['Block_0', 42, [['aten::mm', 42, [['gemm', 40, []], ['Memset (Device)', 2, []]]]]],
      ['aten::add', 8, [['add', 8, []]]],
    ]],
    ['(no launch recorded)', 5, [['gemm', 5, []]]],
  ]]);
  assert.equal(tree.count[0], 13);
  assert.equal(tree.count[itemNamed('Block_0')], 6);
});

test('repeated modules count as one', () => {
  const together = new FlameTree(source, WORK, {firstStarts: null, isTogether: true});
  assert.deepEqual(outline(together, 0)[2][0], ['Net_0', 100, [
    ['Block ×2', 92, [['aten::mm', 92, [['gemm', 90, []], ['Memset (Device)', 2, []]]]]],
    ['aten::add', 8, [['add', 8, []]]],
  ]]);
  assert.equal(together.itemOf('3'), together.itemOf('1'), 'a link to Block_1 leads to both');
});

test('the category of an item is the one with the most time below it', () => {
  assert.equal(tree.category(0), 'GEMM');
  assert.equal(tree.category(itemNamed('aten::add')), 'elementwise');
  assert.deepEqual(Array.from(tree.categoryNs(0)), [95, 0, 0, 0, 8, 0, 0, 0, 0, 2]);
});

test('in time order children are sorted by their first start', () => {
  const {starts, precision} = flameStarts(source, WORK, null, true);
  assert.deepEqual([Array.from(starts), precision], [[100, 10, 50, 60, 5, 70], 0]);
  const ordered = new FlameTree(source, WORK, {firstStarts: starts, isTogether: false});
  const names = (item) => ordered.children(item, true).map((child) => ordered.name(child));
  assert.deepEqual(names(ordered.itemOf('0')), ['aten::add', 'Block_0', 'Block_1']);
  assert.deepEqual(names(0), ['Net_0', '(no launch recorded)']);
});

test('starts come from the range only, and from bins where there are no events', () => {
  assert.deepEqual(Array.from(flameStarts(source, WORK, [55, 65], true).starts),
    [Infinity, Infinity, Infinity, 60, Infinity, Infinity]);
  const bins = plainTable('page_bin_sums', {bin: [3, 1], call: [2, 2], kernel: [0, 0]});
  const binned = plainSource([bins], {end: 200, sum_bins: 10});
  const found = flameStarts(binned, WORK, null, false);
  assert.deepEqual([found.starts[3], found.precision], [20, 20]);
  assert.equal(flameStarts(plainSource([]), WORK, null, false), null);
});

test('links name rows of page_nodes and survive what is not there', () => {
  assert.equal(tree.name(tree.itemOf('3')), 'Block_1');
  assert.equal(tree.linkOf(tree.itemOf('3')), '3');
  assert.equal(tree.linkOf(tree.itemOf('none')), 'none');
  for (const link of [null, '', '99', '-1', 'x', '1e3', '__proto__']) assert.equal(tree.itemOf(link), 0);
  assert.equal(tree.linkOf(0), null);
  assert.deepEqual(tree.path(itemNamed('aten::mm')).map((item) => tree.name(item)), ['All GPU work', 'Net_0', 'Block_0', 'aten::mm']);
});

test('a search sums the share of all paths that have the text', () => {
  const share = (search) => matchFlame(tree, {search}).ns[0];
  assert.equal(share('GEMM'), 95);
  assert.equal(share('block_0'), 42, 'everything below the module counts, also the memset');
  assert.equal(share('net_'), 100);
  assert.equal(share('nothing has this'), 0);
  const {named} = matchFlame(tree, {search: 'mm'});
  assert.deepEqual(Array.from(named.keys()).filter((item) => named[item]).map((item) => tree.shortName(item)),
    ['aten::mm', 'aten::mm', 'gemm', 'gemm', 'gemm']);
});

test('why there is no time', () => {
  const without = (work) => new FlameTree(source, work, {firstStarts: null, isTogether: false});
  assert.match(without({call: [0, 1], kernel: [0, 0], count: [3, 1], ns: [0, 0]}).withoutTime(false), /no duration/);
  const none = without({call: [], kernel: [], count: [], ns: []});
  assert.deepEqual([none.withoutTime(true), none.withoutTime(false)], ['No GPU work in this range.', 'No GPU work in this trace.']);
});

test('a search finds one of several modules that are shown together', () => {
  const together = new FlameTree(source, WORK, {firstStarts: null, isTogether: true});
  assert.equal(matchFlame(together, {search: 'block_0'}).ns[0], 42);
});

test('category and evidence choose as well, together with the search', () => {
  assert.equal(matchFlame(tree, {category: 'copy'}).ns[0], 2);
  assert.equal(matchFlame(tree, {category: 'GEMM', search: 'Block_0'}).ns[0], 40);
  assert.equal(matchFlame(tree, {evidence: workEvidence(source, 1)}).ns[0], 30, 'one of two shapes');
  assert.equal(matchFlame(tree, {evidence: workEvidence(source, 2)}).ns[0], 5, 'work without a call, not that of others');
  assert.equal(workEvidence(source, 3), null, 'only host time');
  assert.equal(workEvidence(source, 4), null);
  assert.equal(workEvidence(plainSource([]), 1), null);
});

test('without ops kernels are below their category', () => {
  const bare = new FlameTree(plainSource([KERNELS]), WORK, {firstStarts: null, isTogether: true});
  assert.deepEqual(outline(bare, 0), ['All GPU work', 105, [
    ['GEMM', 95, [['gemm', 95, []]]], ['elementwise', 8, [['add', 8, []]]], ['copy', 2, [['Memset (Device)', 2, []]]]]]);
  assert.equal(matchFlame(bare, {search: 'elementw'}).ns[0], 8);
});

test('parents that are not before their children do not end in a loop', () => {
  const nodes = plainTable('page_nodes', {parent: [1, 0, 7], kind: ['op', 'op', 'op'], name: ['a', 'b', 'c']});
  const calls = plainTable('page_calls', {node: [0, 1, 2, 9]});
  const broken = new FlameTree(plainSource([nodes, KERNELS, calls]), WORK, {firstStarts: null, isTogether: true});
  assert.equal(broken.ns[0], 105);
});

// ---- layout ----

const shapes = (boxes) => boxes.map((box) => [box.items.map((item) => tree.shortName(item)).join(' › '), box.level,
  Math.round(box.from * 105), Math.round(box.to * 105)]);

test('boxes are as wide as their time, below what launched them', () => {
  const {boxes, levels, isCut} = layoutFlame(tree, 0, false, 0);
  assert.deepEqual(shapes(boxes), [
    ['All GPU work', 0, 0, 105],
    ['Net_0', 1, 0, 100], ['(no launch recorded)', 1, 100, 105],
    ['Block_1', 2, 0, 50], ['Block_0', 2, 50, 92], ['aten::add', 2, 92, 100], ['gemm', 2, 100, 105],
    ['aten::mm', 3, 0, 50], ['aten::mm', 3, 50, 92], ['add', 3, 92, 100],
    ['gemm', 4, 0, 50], ['gemm', 4, 50, 90], ['Memset (Device)', 4, 90, 92],
  ]);
  assert.deepEqual([levels, isCut], [5, false]);
});

test('neighbours that are too narrow become one box', () => {
  const {boxes} = layoutFlame(tree, 0, false, 10 / 105);
  const narrow = boxes.filter((box) => !box.items.length);
  assert.deepEqual(narrow.map((box) => [box.level, box.count, box.ns]), [[1, 1, 5], [2, 1, 8], [4, 1, 2]]);
  const both = layoutFlame(tree, 0, false, 45 / 105).boxes.find((box) => box.level === 2 && !box.items.length);
  assert.deepEqual([both.count, both.ns, Math.round(both.from * 105), Math.round(both.to * 105)], [2, 50, 50, 100]);
});

test('a chain of modules becomes one box', () => {
  const nodes = plainTable('page_nodes', {parent: [NaN, 0, 1, 2], kind: ['function', 'module', 'module', 'op'],
    name: ['step', 'Net', 'Head', 'aten::mm']});
  const one = {call: [0], kernel: [0], count: [1], ns: [5]};
  const chained = new FlameTree(plainSource([nodes, KERNELS, plainTable('page_calls', {node: [3]})]), one,
    {firstStarts: null, isTogether: false});
  const {boxes} = layoutFlame(chained, 0, false, 0);
  assert.deepEqual(boxes.map((box) => box.items.map((item) => chained.shortName(item)).join(' › ')),
    ['All GPU work', 'step › Net › Head', 'aten::mm', 'gemm']);
});

test('a path of 100,000 ops is cut off', () => {
  const count = 100000;
  const nodes = plainTable('page_nodes', {parent: Array.from({length: count}, (_, i) => (i ? i - 1 : NaN)),
    kind: Array(count).fill('op'), name: Array(count).fill('op')});
  const deep = new FlameTree(plainSource([nodes, KERNELS, plainTable('page_calls', {node: [count - 1]})]),
    {call: [0], kernel: [0], count: [1], ns: [5]}, {firstStarts: null, isTogether: true});
  const {levels, isCut} = layoutFlame(deep, 0, false, 0);
  assert.deepEqual([levels, isCut], [120, true]);
});

test('no work, no boxes', () => {
  const empty = new FlameTree(source, {call: [], kernel: [], count: [], ns: []}, {firstStarts: null, isTogether: true});
  assert.deepEqual(layoutFlame(empty, 0, false, 0), {boxes: [], levels: 0, isCut: false});
});

test('boxes are found by place and by arrow keys', () => {
  const {boxes} = layoutFlame(tree, 0, false, 0);
  const nameAt = (at) => (at < 0 ? null : tree.shortName(boxes[at].items[0]));
  assert.equal(nameAt(flameBoxAt(boxes, 2, 60 / 105)), 'Block_0');
  assert.equal(nameAt(flameBoxAt(boxes, 4, 91 / 105)), 'Memset (Device)');
  assert.equal(flameBoxAt(boxes, 4, 95 / 105), -1);
  assert.equal(flameBoxAt(boxes, 9, 0.5), -1);
  const walk = (...keys) => nameAt(keys.reduce((at, key) => flameNeighbour(boxes, at, `Arrow${key}`), -1));
  assert.equal(walk('Down'), 'All GPU work');
  assert.equal(walk('Down', 'Down', 'Down', 'Right'), 'Block_0');
  assert.equal(walk('Down', 'Down', 'Down', 'Right', 'Up'), 'Net_0');
  assert.equal(walk('Down', 'Down', 'Down', 'Left'), 'Block_1', 'nothing is left of the first box');
  assert.equal(walk('Down', 'Up', 'Up'), 'All GPU work');
  assert.equal(flameNeighbour([], -1, 'ArrowDown'), -1);
});
