// The page of ranks: who waits for whom, parts of steps, bus bandwidth. Expected values are computed by hand.

import assert from 'node:assert/strict';
import {test} from 'node:test';
import {busPoints, culpritOf, heatColor, pageLink, rankParts, readWaits, stragglerOf} from
  '../../src/page/web/sections/ranks.js';
import {plainTable} from './helpers.mjs';

const steps = (columns) => plainTable('page_rank_steps', columns);

test('waits as a matrix of ranks and collectives', () => {
  const waits = plainTable('page_rank_waits', {rank: [0, 2, 0, 2], collective: [7, 7, 9, 9], wait: [0, 30, 5, 0]});
  const {ranks, numbers, cells, rows, sums, most} = readWaits(waits, steps({rank: [0, 1, 2]}));
  assert.deepEqual([ranks, numbers, most], [[0, 1, 2], [7, 9], 30]);
  assert.deepEqual([...cells], [0, 5, NaN, NaN, 30, 0], 'rank 1 has no part in them');
  assert.deepEqual([...rows], [0, 2, -1, -1, 1, 3]);
  assert.deepEqual([...sums], [30, 5]);
});

test('a rank stands out if half of all waiting is for it', () => {
  assert.equal(stragglerOf(steps({blame_ns: [10, 50, 40]})), 1);
  assert.equal(stragglerOf(steps({blame_ns: [10, 49, 41]})), -1);
  assert.equal(stragglerOf(steps({blame_ns: [0, 0]})), -1, 'nobody waits');
  assert.equal(stragglerOf(steps({blame_ns: [10]})), -1, 'one rank waits for nobody');
});

test('the straggler is the one that the headline names', () => {
  const table = steps({rank: [0, 1, 5, 11], blame_ns: [0, 3, 36, 64]});
  const row = (...findings) => culpritOf({findings}, table);
  assert.equal(row({id: 'straggler', ranks: '5'}, {id: 'straggler', ranks: '11'}), 2);
  assert.equal(row({id: 'data_stall', ranks: 'all'}, {id: 'slow_node', ranks: '0-1, 5'}), 2, 'the worst of a node');
  assert.equal(row({id: 'straggler', ranks: '5', hint: true}), -1, 'a hint names nobody');
  assert.equal(row({id: 'slow_link', ranks: 'all'}, {id: 'straggler', ranks: '5'}), -1, 'the headline names a link');
  assert.equal(culpritOf({}, table), -1);
});

test('links stay beside the page', () => {
  assert.equal(pageLink('rank 0/page#1.html'), 'rank%200/page%231.html');
  assert.equal(pageLink('javascript:alert(1)'), 'javascript%3Aalert(1)');
  assert.equal(pageLink('//host/page.html'), '/host/page.html', 'two slashes would name another machine');
  assert.equal(pageLink(null), null);
});

test('parts of the steps of ranks', () => {
  const table = steps({rank: [0, 1], step_ns: [100, null], late_ns: [3, null], busy_ns: [60, null], idle_ns: [10, null],
    exposed_wait_ns: [20, null], exposed_ns: [null, null]});
  assert.deepEqual(rankParts(table), [{rank: 0, step: 100, late: 3, busy: 60, idle: 10, waits: 20, moves: 0}],
    'a rank whose trace was not read has no step');
});

test('bus bandwidth needs a size and a speed', () => {
  const sheet = plainTable('nccl_implicit_sync', {'Full msg size (MB)': [2, 0, 1, NaN], 'bus bw (GB/s)': [10, 5, NaN, 3],
    'Collective name': ['allreduce', 'a', 'b', 'c']});
  assert.deepEqual(busPoints(sheet), [{size: 2097152, speed: 10, name: 'allreduce', row: 0}]);
  assert.deepEqual(busPoints(plainTable('nccl_implicit_sync', {'Collective name': ['a']})), []);
  assert.deepEqual(busPoints(undefined), []);
});

test('heat goes one way from light to dark, or from dark to light', () => {
  const brightness = (color) => color.match(/\w\w/g).slice(0, 3).reduce((sum, part, i) =>
    sum + [0.2126, 0.7152, 0.0722][i] * parseInt(part, 16), 0);
  for (const dark of [false, true]) {
    const values = Array.from({length: 21}, (_, i) => brightness(heatColor(i / 20, dark)));
    const isSorted = values.every((value, i) => i === 0 || (dark ? value > values[i - 1] : value < values[i - 1]));
    assert.ok(isSorted, String(values));
  }
  assert.equal(heatColor(-1, false), heatColor(0, false));
  assert.equal(heatColor(2, true), heatColor(1, true));
});
