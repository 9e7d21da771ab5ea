// The waterfall of a comparison: its rows, where its axis begins, and what choosing a contribution filters. Expected
// values are computed by hand.

import assert from 'node:assert/strict';
import {test} from 'node:test';
import {followedBy, signedTime, waterfallRows, waterfallStart} from '../../src/page/web/sections/compare.js';

const MS = 1e6;
const NOTHING = {category: null, 'kernels.filter': null, 'ops.filter': null};

test('a difference has a sign', () => {
  assert.equal(signedTime(1.5 * MS), '+1.50 ms');
  assert.equal(signedTime(-1.5 * MS), '−1.50 ms');
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
