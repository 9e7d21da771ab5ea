// What the first screen computes: tiles of a range, spark lines, the text of a range, files.

import assert from 'node:assert/strict';
import {test} from 'node:test';
import {fileName} from '../../src/page/web/output.js';
import {aloneText, gainBase, gainRange} from '../../src/page/web/sections/findings.js';
import {rangeText} from '../../src/page/web/sections/filter.js';
import {reportJson, tableCsv} from '../../src/page/web/sections/footer.js';
import {rangeTiles, sparkPath, thinSpark} from '../../src/page/web/sections/verdict.js';
import {plainSource, plainTable} from './helpers.mjs';

test('a spark line has one plateau per step, from zero', () => {
  assert.equal(sparkPath([1, 2], 200, 24), 'M0 12H100L100 0H200');
  assert.equal(sparkPath([4], 200, 24), 'M0 0H200');
  assert.equal(sparkPath([0, 0], 200, 24), 'M0 24H100L100 24H200');
  assert.equal(sparkPath([1, null, 1, NaN], 200, 24), 'M0 0H50M100 0H150');
  assert.equal(sparkPath([-5, 5], 100, 10), 'M0 10H50L50 0H100');
  assert.equal(sparkPath([], 200, 24), '');
});

test('many steps keep their largest values', () => {
  const values = Array.from({length: 100000}, (_, i) => (i === 77777 ? 9 : i % 3));
  const thin = thinSpark(values);
  assert.equal(thin.length, 240);
  assert.equal(thin.filter((value) => value === 9).length, 1);
  assert.equal(thin.indexOf(9), Math.floor(77777 * 240 / 100000));
  assert.deepEqual(thinSpark([1, null, 2]), [1, null, 2]);
});

test('tiles of a range', () => {
  const tiles = [
    {id: 'step', label: 'step time', value: 10, unit: 'ms', detail: 'mean', spark: [1, 2]},
    {id: 'busy', label: 'GPU busy', value: 50, unit: '%', detail: '', spark: [1, 2]},
    {id: 'communication', label: 'exposed communication', value: 1, unit: 'ms', detail: '', spark: []},
    {id: 'copies', label: 'copies', value: 1, unit: '%', detail: '', spark: []},
    {id: 'roofline', label: 'of the roofline', value: 61, unit: '%', detail: '', spark: []},
  ];
  const parts = [{part: 'GEMM', kind: 'computation', ns: 5e6}, {part: 'communication', kind: 'exposed_communication', ns: 1e6},
    {part: 'copy', kind: 'exposed_copy', ns: 5e5}, {part: 'data', kind: 'idle', ns: 1.5e6}];
  const shown = rangeTiles(tiles, {parts, length: 8e6, isEstimate: false});
  assert.deepEqual(shown.map(({value, unit}) => [value, unit]), [['8.00', 'ms'], [81.25, '%'], ['1.00', 'ms'], [6.25, '%'], [null, '%']]);
  assert.deepEqual(shown.map(({detail}) => detail), ['of the trace', '6.50 ms of the selection', '12.5 % of the selection',
    '500 µs of the selection', 'only for the whole trace']);
  assert.ok(shown.every(({spark}) => spark.length === 0));
  assert.equal(rangeTiles(tiles, {parts, length: 8e6, isEstimate: true})[3].detail, 'estimate from bins');
});

test('gains say what they are shares of', () => {
  const answers = {recorded_ms: 71, model_step_ms: 37.3, per: 'step'};
  assert.deepEqual(gainBase(answers, 'trace'), {meaning: "the step without the profiler's own cost",
    remark: "the 71.0 ms of the trace include the profiler's own cost"});
  assert.deepEqual(gainBase({...answers, model_step_ms: 70.9}, 'trace').remark, '', 'nearly the same time');
  assert.deepEqual(gainBase({...answers, model_step_ms: 71}, 'ranks'), {meaning: 'the mean step of all ranks as recorded',
    remark: 'mean of all ranks, as recorded'});
  assert.equal(gainBase({per: 'trace'}, 'trace').remark, '', 'nothing is known');
  const longer = {model_step_ms: 4.03, recorded_ms: 3.8, per: 'trace'};
  assert.equal(gainBase({...longer, replay_error_pct: 6.05}, 'trace').remark, 'the trace has 3.80 ms: the replay misses it by 6.05 %');
  assert.equal(gainBase({...longer, replay_error_pct: 0}, 'trace').remark,
    'the trace has 3.80 ms: the host could not keep that up for long');
});

test('gains are ranges where such gains were measured', () => {
  const gain = {gain_ms: 42.4, gain_pct: 57.1, gain_low_ms: 30.1, gain_high_ms: 63.6};
  assert.deepEqual(gainRange(gain), {text: '30.1 ms to 63.6 ms', share: '41–86 %'});
  assert.deepEqual(gainRange({...gain, gain_low_ms: null, gain_high_ms: null}), {text: 'up to 42.4 ms', share: '57.1 %'});
});

test('gains of ranks say what a repair brings alone', () => {
  assert.equal(aloneText({gain_ms: 2.95, gain_alone_ms: 0}), ' after the repairs before it, 0 ms alone');
  assert.equal(aloneText({gain_ms: 0.13, gain_alone_ms: 3}), ' after the repairs before it, 3.00 ms alone');
  assert.equal(aloneText({gain_ms: 2.95, gain_alone_ms: 2.94}), '', 'as much');
  assert.equal(aloneText({gain_ms: 2.95}), '', 'of one trace');
});

test('both ends of a range have one unit and enough digits', () => {
  const expected = [[[12.3e6, 45.6e6], '12.3–45.6 ms'], [[0, 5000], '0.00–5.00 µs'], [[1.5e9, 1.5001e9], '1.500000–1.500100 s'],
    [[100, 900], '100–900 ns'], [[0, 77.7e6], '0.0–77.7 ms'], [[1234.4e9, 2345.6e9], '1,234–2,346 s']];
  for (const [range, text] of expected) assert.equal(rangeText(range), text);
});

test('names of files', () => {
  assert.equal(fileName('runs/train step.json.gz', '.csv'), 'train_step.csv');
  assert.equal(fileName('C:\\traces\\a.json', '.json'), 'a.json');
  assert.equal(fileName('../../etc/passwd', '.csv'), 'passwd.csv');
  assert.equal(fileName('</script>\u202e', '.csv'), 'script.csv');
  assert.equal(fileName('x'.repeat(40000), '.csv').length, 84);
  assert.equal(fileName('...', '.csv'), 'gputally.csv');
});

test('the report as JSON has answers and sheets, not what the page draws', () => {
  const source = plainSource([
    plainTable('balance', {part: ['GEMM', null], ns: [29677996, NaN], pct: [0.1 + 0.2, 1e-300], list: [[1, null], null]}),
    plainTable('page_gpu', {start: [1]}),
    plainTable('empty', {part: []}),
  ]);
  assert.deepEqual(JSON.parse(reportJson({schema: 'gputally-findings/1', step_ms: 77.675026}, source)), {
    schema: 'gputally-findings/1', step_ms: 77.675026,
    sheets: {
      balance: {columns: ['part', 'ns', 'pct', 'list'],
        rows: [['GEMM', 29677996, 0.30000000000000004, [1, null]], [null, null, 1e-300, null]]},
      empty: {columns: ['part'], rows: []},
    },
  });
});

test('a table as CSV', () => {
  const table = plainTable('ops', {name: ['a,b', 'say "x"', 'two\nlines', null], ns: [1, 0.1, NaN, 3], shapes: [[1, 2], null, [], [3]]});
  assert.equal(tableCsv(table), 'name,ns,shapes\r\n"a,b",1,"[1,2]"\r\n"say ""x""",0.1,\r\n"two\nlines",,[]\r\n,3,[3]\r\n');
});
