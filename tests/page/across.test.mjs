// All ranks together: critical path, step times, communication matrix, clocks. Expected values are computed by hand.

import assert from 'node:assert/strict';
import {test} from 'node:test';
import {boundText, clockSentence, readClocks} from '../../src/page/web/sections/across/clocks.js';
import {cutNotes} from '../../src/page/web/sections/across/critical.js';
import {dotsDomain, nearestDot, nodeStretches} from '../../src/page/web/sections/across/dots.js';
import {insideNodes, largestPairs, matrixNodes, readMatrix} from '../../src/page/web/sections/across/matrix.js';
import {asSentence, longestSteps, overviewNumber, overviewText, pathKinds, perOf, rankStretches, readPathOps, readPathSteps, segmentAt} from
  '../../src/page/web/sections/across/path.js';
import {fineTime, readRankMeans, readStepSpread, slowestSteps, spreadSentence} from '../../src/page/web/sections/across/spread.js';
import {plainSource, plainTable} from './helpers.mjs';

const SEGMENTS = plainTable('critical_path_steps', {
  step: [5, 5, 5, 6, 6], rank: [3, 3, 0, 0, 2], kind: ['compute', 'idle', 'compute', 'communication', 'data'],
  op: ['mm', 'unknown', 'mm', 'allreduce', 'next'], from_ms: [0, 2, 3, 5, 7], to_ms: [2, 3, 5, 7, 8]});
const PATH = plainTable('critical_path', {rank: [3, 0, 0], node: ['a', 'a', null], kind: ['compute', 'compute', 'communication'],
  op: ['mm', 'mm', 'allreduce'], ms: [4, 2, 1], share_pct: [50, 25, 12.5], longer_ms: [3, -1, null]});
const SLACK = plainTable('slack', {rank: [0, 1, 2, 2, 3], node: ['a', 'a', 'b', 'b', 'a'], kind: ['compute', 'compute', 'host', 'compute', 'compute'],
  op: ['mm', 'mm', 'launch', 'mm', 'mm'], ms: [2, 3, 0.5, 4, 4], slack_ms: [0, 0.25, null, 0.125, 0]});

test('segments of the path by step', () => {
  const steps = readPathSteps(SEGMENTS);
  assert.deepEqual(steps.map(({number, from, to, segments}) => [number, from, to, segments.length]), [[5, 0, 5e6, 3], [6, 5e6, 8e6, 2]]);
  assert.deepEqual(steps[0].segments.map(({row, rank, key}) => [row, rank, key]), [[0, 3, '3 compute mm'], [1, 3, '3 idle unknown'], [2, 0, '0 compute mm']]);
  assert.deepEqual(rankStretches(steps[0].segments), [{rank: 3, from: 0, to: 3e6}, {rank: 0, from: 3e6, to: 5e6}]);
  const unmarked = readPathSteps(plainTable('s', {step: [NaN, NaN], rank: [0, 1], kind: ['host', 'host'], op: ['a', 'b'], from_ms: [0, NaN], to_ms: [1, 2]}));
  assert.deepEqual(unmarked.map(({number, segments}) => [number, segments.length]), [[null, 1]], 'a segment without a time is none');
});

test('the segment at a time', () => {
  const {segments} = readPathSteps(SEGMENTS)[1];
  const rowAt = (ns) => segmentAt(segments, ns)?.row ?? null;
  assert.deepEqual([4.9e6, 5e6, 6.9e6, 7e6, 8e6, 8.1e6].map(rowAt), [null, 3, 3, 4, 4, null]);
  assert.equal(segmentAt([], 5), null);
});

test('of many steps the longest ones are drawn, in order of time', () => {
  const steps = [3, 9, 1, 9, 5].map((length, number) => ({number, from: 0, to: length, segments: []}));
  assert.deepEqual(longestSteps(steps, 3).map(({number}) => number), [1, 3, 4]);
  assert.equal(longestSteps(steps, 5), steps);
});

test('time of the path by kind', () => {
  assert.deepEqual(pathKinds(PATH), [{kind: 'compute', ns: 6e6}, {kind: 'communication', ns: 1e6}]);
  const odd = plainTable('critical_path', {kind: ['new', 'idle'], ms: [1, NaN]});
  assert.deepEqual(pathKinds(odd), [{kind: 'new', ns: 1e6}], 'an unknown kind is kept, no time is none');
});

test('ops of the path come first, then those with the least slack', () => {
  const ops = readPathOps(PATH, SLACK);
  assert.deepEqual(ops.map(({rank, op, ns, slack}) => [rank, op, ns, slack]),
    [[3, 'mm', 4e6, 0], [0, 'mm', 2e6, 0], [0, 'allreduce', 1e6, NaN], [2, 'mm', 0, 0.125e6], [1, 'mm', 0, 0.25e6], [2, 'launch', 0, NaN]]);
  assert.deepEqual([ops[0].longer, ops[0].share, ops[0].chains, ops[2].node], [3e6, 0.5, 4e6, null]);
  assert.equal(readPathOps(PATH, null).length, 3);
});

test('texts and numbers of the overview', () => {
  const source = plainSource([plainTable('overview', {name: ['per', 'left'], value: [NaN, 7], text: ['step', null]})]);
  assert.deepEqual([overviewText(source, 'per'), overviewNumber(source, 'left'), overviewText(source, 'x'), overviewNumber(source, 'per')],
    ['step', 7, null, null]);
  assert.deepEqual([perOf(source), perOf(plainSource([]))], ['step', 'step']);
  assert.deepEqual([overviewText(plainSource([]), 'per'), asSentence('rank 3'), asSentence('done.'), asSentence('')], [null, 'Rank 3.', 'Done.', '']);
});

const STEPS = plainTable('rank_steps', {step: [5, 6, 7], ranks: [4, 4, 4], min_ms: [10, 11, NaN], median_ms: [12, 12, NaN], p95_ms: [12.5, 13, NaN],
  max_ms: [13, 15, NaN], slowest_rank: [2, 3, null], node: ['a', null, null]});

test('steps over ranks', () => {
  const steps = readStepSpread(STEPS);
  assert.deepEqual(steps.map(({step, low, high}) => [step, low, high]), [[5, 10e6, 13e6], [6, 11e6, 15e6]], 'a step without times is left out');
  assert.equal(spreadSentence(steps), 'A step takes 12.0 ms on the median rank. Within a step, ranks differ by up to 4.00 ms (33.3 %): ' +
    'in step 6, rank 3 is the slowest.');
  assert.equal(spreadSentence([{...steps[0], low: 12e6, high: 12e6}]), 'A step takes 12.0 ms on the median rank, and all others take the same time.');
  assert.deepEqual(slowestSteps(steps, 1).map(({step}) => step), [6]);
  const ranks = readRankMeans(plainTable('rank_step_times', {rank: [0, 1], node: [null, 'a'], steps: [1, 0], mean_ms: [2, NaN], sd_ms: [NaN, NaN],
    min_ms: [2, NaN], max_ms: [2, NaN], times_slowest: [1, 0]}));
  assert.deepEqual(ranks.map(({rank, value, low, high}) => [rank, value, low, high]), [[0, 2e6, 2e6, 2e6]]);
});

test('times show differences as small as those between ranks', () => {
  assert.equal(fineTime(29.109261e6, 0.0314e6), '29.109 ms');
  assert.equal(fineTime(29.109261e6, 5e6), '29.1 ms', 'never fewer digits than elsewhere');
  assert.equal(fineTime(2.5e9, 1), '2.500000 s', 'at most six');
  assert.equal(fineTime(NaN, 1), '–');
});

const MATRIX = plainTable('communication_matrix', {from: [0, 1, 2], name: ['rank 0', 'rank 1', 'rank 2'], to_0: [0, 4, 1], to_1: [2, 0, NaN], to_2: [1, 8, 0]});

test('the matrix of ranks', () => {
  const matrix = readMatrix(MATRIX);
  assert.deepEqual([...matrix.cells], [0, 2, 1, 4, 0, 8, 1, NaN, 0]);
  assert.deepEqual([[...matrix.sums], matrix.most, matrix.total], [[3, 12, 1], 8, 16]);
  const clocks = plainTable('clock_offsets', {rank: [0, 1, 2], node: ['a', 'a', 'b']});
  const nodes = matrixNodes(matrix.names, clocks);
  assert.deepEqual(nodes, ['a', 'a', 'b']);
  assert.equal(insideNodes(matrix, nodes), 6, '2 from rank 0 to 1, 4 back');
  assert.deepEqual(largestPairs(matrix, 2), {total: 5, pairs: [{from: 1, to: 2, value: 8}, {from: 1, to: 0, value: 4}]});
});

test('rows of the matrix are ranks, blocks of ranks or nodes', () => {
  const clocks = plainTable('clock_offsets', {rank: [0, 1], node: ['a', null]});
  assert.equal(matrixNodes(['rank 0', 'rank 1'], clocks), null, 'one node is not known');
  assert.equal(matrixNodes(['ranks 0-15', 'ranks 16-31'], clocks), null);
  assert.deepEqual(matrixNodes(['node7', 'node8'], clocks), [0, 1]);
  assert.equal(matrixNodes(['rank 0'], null), null);
});

const clockTable = (columns) => plainTable('clock_offsets', {node: columns.rank.map(() => null), drift_ppm: columns.rank.map(() => NaN),
  collectives_used: columns.rank.map(() => 9), hops: columns.rank.map(() => 1), note: columns.rank.map(() => null), ...columns});

test('clocks in one sentence', () => {
  const clocks = readClocks(clockTable({rank: [0, 1, 2, 3], reference_rank: [0, 0, 0, null], offset_us: [0, 377.6, -24.3, NaN],
    error_us: [1, 1.003, 1.003, NaN]}));
  assert.deepEqual(clocks.map(({rank, value, low}) => [rank, value, Math.round(low)]), [[0, 0, -1000], [1, 377600, 376597], [2, -24300, -25303]]);
  assert.equal(clockSentence(clocks, 4), 'The clocks of 3 ranks are up to 402 µs apart; every offset is known within 1.01 µs. ' +
    'Clocks that are unknown because their ranks share no collective with others: 1.');
  assert.equal(clockSentence(clocks.slice(0, 1).concat({...clocks[1], value: 900}), 2),
    'The clocks of 2 ranks differ by less than can be measured; every offset is known within 1.01 µs.');
  assert.equal(clockSentence([], 2), 'No clock of a rank could be compared with another.');
});

test('clocks of sets that share nothing are not compared, drift is said', () => {
  const clocks = readClocks(clockTable({rank: [0, 1, 2, 3], reference_rank: [0, 0, 2, 2], offset_us: [0, 10, 1e6, 1e6 + 30], error_us: [1, 2, 1, 2],
    drift_ppm: [NaN, NaN, NaN, -4.5]}));
  assert.equal(clockSentence(clocks, 4), 'The clocks of 4 ranks are up to 30.0 µs apart; every offset is known within 2.00 µs. ' +
    'The ranks are in 2 sets without a common collective, each with its own reference. Clocks that drift: 1, by up to 4.50 ppm.');
});

test('sheets that are cut are named where they are shown', () => {
  const note = (sheet) => `The sheet ${sheet} has 30,000 rows; the page has the 20,000 with the most time.`;
  const page = {front: {notes: [note('slack'), note('slack_more'), note('critical_path_steps')]}};
  assert.equal(cutNotes(page, 'critical_path', 'slack'), `${note('slack')} `);
  assert.equal(cutNotes({front: {}}, 'slack'), '');
});

test('bounds are rounded up', () => {
  assert.deepEqual([1003, 1000, 12341, 0].map(boundText), ['1.01 µs', '1.00 µs', '12.4 µs', '0 ns']);
});

test('dots: range, nodes, the nearest one', () => {
  assert.deepEqual(dotsDomain([{value: 100, low: 0, high: 200}, {value: 50, low: NaN, high: NaN}], 0), [-12, 212]);
  assert.deepEqual(dotsDomain([{value: 100, low: 100, high: 100}], 20), [90, 110]);
  assert.deepEqual(dotsDomain([], 20), [0, 1]);
  assert.deepEqual(nodeStretches([{node: 'a'}, {node: 'a'}, {node: 'b'}]), [{node: 'a', first: 0, last: 1}, {node: 'b', first: 2, last: 2}]);
  assert.deepEqual(nodeStretches([{node: null}, {node: null}]), []);
  assert.equal(nearestDot([{x: 0, y: 0}, {x: 10, y: 40}], 6, 30, 24), 1);
  assert.equal(nearestDot([{x: 0, y: 0}], 60, 0, 24), -1);
});
