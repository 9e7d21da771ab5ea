// Filters, order and copies of tables.

import assert from 'node:assert/strict';
import {test} from 'node:test';
import {parseExpression} from '../../src/page/web/sections/tables/expression.js';
import {toCsv, toMarkdown} from '../../src/page/web/sections/tables/export.js';
import {columnWidth, fullTitle, shownCell, sortRows} from '../../src/page/web/sections/tables/values.js';

const COLUMNS = [
  {key: 'name', title: 'Kernel', kind: 'name', isName: true, cells: ['void gemm<4>()', 'ncclAllReduce', 'at::native::add', 'a|b "c" µ'],
    shorts: ['gemm', null, 'add', null]},
  {key: 'op', title: 'Op', kind: 'text', cells: ['aten::addmm', 'c10d::allreduce_', 'aten::add', null]},
  {key: 'mean', aliases: ['dur'], title: 'Mean', kind: 'time', cells: [12500, 340000, 900, NaN]},
  {key: 'count', title: 'Count', kind: 'count', cells: [5, 40, 3, 2500]},
  {key: 'share', title: 'Share', kind: 'share', cells: [0.5, 0.4, 0.1, 0]},
  {key: 'sum', title: 'Kernel Time (µs)_sum', kind: 'number', unit: 'µs', cells: [1.5, 2000, 3, 4]},
  {key: 'flag', title: 'Flag', kind: 'bool', cells: [true, false, null, true]},
];

function found(text) {
  const {test: matches, error} = parseExpression(text, COLUMNS);
  return error || [0, 1, 2, 3].filter(matches);
}

test('columns of numbers have room for every number', () => {
  const width = (cells, kind = 'number') => columnWidth({kind, cells});
  assert.equal(width([1, 2.5, NaN, null]), 96);
  assert.equal(width([1, 1234567890123456]), 21 * 8 + 24, '1,234,567,890,123,456');
  assert.equal(width([5, -1234567890123]), 18 * 8 + 24, '-1,234,567,890,123');
  assert.equal(width([1234567890.5]), 13 * 8 + 24, '1,234,567,891 may be shown as 1,234,567,890');
  assert.equal(width([1e300, Infinity]), 96);
  assert.equal(width(['x'.repeat(1000)], 'text'), 144);
  assert.equal(shownCell({kind: 'number', cells: [1e300]}, 0), '1.00e+300');
  assert.equal(shownCell({kind: 'number', cells: [1234567890123456]}, 0), '1,234,567,890,123,456');
});

test('words match the name, short or full', () => {
  assert.deepEqual(found('gemm'), [0]);
  assert.deepEqual(found('"GEMM<4>"'), [0]);
  assert.deepEqual(found('nccl'), [1]);
  assert.deepEqual(found('addmm'), []);
  assert.deepEqual(found('at::native'), [2]);
  assert.deepEqual(found('-nccl'), [0, 2, 3]);
  assert.deepEqual(found(''), [0, 1, 2, 3]);
  assert.deepEqual(found('  - '), [0, 1, 2, 3]);
});

test('conditions on texts', () => {
  assert.deepEqual(found('op:ADDMM'), [0]);
  assert.deepEqual(found('op:aten -name:gemm'), [2]);
  assert.deepEqual(found('op=aten::add'), [2]);
  assert.deepEqual(found('op!=aten::add'), [0, 1, 3]);
  assert.deepEqual(found('kernel=gemm'), [0], 'the short name is a whole name');
  assert.deepEqual(found('flag:true'), [0, 3]);
  assert.deepEqual(found('name:"gemm<4>"'), [0]);
});

test('conditions on numbers, with units', () => {
  assert.deepEqual(found('dur>10'), [0, 1], 'microseconds');
  assert.deepEqual(found('dur>0.3ms'), [1]);
  assert.deepEqual(found('dur<1us'), [2]);
  assert.deepEqual(found('dur<=900ns'), [2]);
  assert.deepEqual(found('mean>=12.5µs mean<1s'), [0, 1]);
  assert.deepEqual(found('count>=5'), [0, 1, 3]);
  assert.deepEqual(found('count>2k'), [3]);
  assert.deepEqual(found('count=3'), [2]);
  assert.deepEqual(found('count!=3'), [0, 1, 3]);
  assert.deepEqual(found('share>=10%'), [0, 1, 2]);
  assert.deepEqual(found('share>40'), [0]);
  assert.deepEqual(found('-dur>10'), [2, 3], 'a missing value is not larger');
});

test('all conditions hold at once', () => {
  assert.deepEqual(found('name:gemm dur>10 count>=5 op:addmm -nccl'), [0]);
  assert.deepEqual(found('dur>10 count>=5 -gemm'), [1]);
});

test('headings name columns too, and their units are understood', () => {
  assert.deepEqual(found('kerneltime>2'), [1, 2, 3]);
  assert.deepEqual(found('"Kernel Time (µs)_sum">2'), [1, 2, 3]);
  assert.deepEqual(found('sum>=2ms'), [1]);
});

test('a wrong expression says what is wrong', () => {
  assert.match(found('vectorized<4'), /no column "vectorized"; there are name, op, dur, .* needs quotes/);
  assert.match(found('dur>'), /dur> needs a value/);
  assert.match(found('dur>abc'), /"abc" is not a number \(column Mean\)/);
  assert.match(found('dur>5MB'), /unknown unit "MB"; Mean has ns, us, /);
  assert.match(found('sum>5MB'), /unknown unit "MB"; Kernel Time \(µs\)_sum is in µs/);
  assert.match(found('op>5'), /Op is text: use : or =, not >/);
  assert.match(found('name:"abc'), /not closed/);
  assert.match(found('kern:x'), /"kern" may be several columns: name, sum/);
});

test('names of objects are no columns', () => {
  assert.match(found('constructor:x'), /no column/);
  assert.match(found('dur>5constructor'), /unknown unit/);
});

test('rows in order; without a value last', () => {
  const rows = [0, 1, 2, 3];
  assert.deepEqual([...sortRows(rows, COLUMNS[2], true)], [1, 0, 2, 3]);
  assert.deepEqual([...sortRows(rows, COLUMNS[2], false)], [2, 0, 1, 3]);
  assert.deepEqual([...sortRows(rows, COLUMNS[0], false)], [2, 3, 0, 1], 'by what is shown');
  assert.deepEqual([...sortRows(rows, COLUMNS[1], true)], [1, 0, 2, 3]);
  const equal = {key: 'x', kind: 'count', cells: [1, 1, 1, 2]};
  assert.deepEqual([...sortRows(rows, equal, true)], [3, 0, 1, 2], 'equal rows keep their order');
  const amounts = {key: 'd', kind: 'difference', byAmount: true, cells: [5, -50, 20, 0]};
  assert.deepEqual([...sortRows(rows, amounts, true)], [1, 2, 0, 3]);
});

test('cells for people', () => {
  assert.deepEqual(COLUMNS.map((column) => shownCell(column, 0)), ['gemm', 'aten::addmm', '12.5 µs', '5', '50.0 %', '1.50', 'true']);
  assert.deepEqual([shownCell(COLUMNS[1], 3), shownCell(COLUMNS[2], 3), shownCell(COLUMNS[6], 2)], ['–', '–', '–']);
  assert.equal(shownCell({kind: 'difference', cells: [1500]}, 0), '+1.50 µs');
});

test('CSV has full names and all digits', () => {
  const digits = {key: 'x', title: 'X', kind: 'number', cells: [1 / 3, -0.5, 1e21, NaN]};
  assert.equal(toCsv([COLUMNS[0], COLUMNS[2], COLUMNS[4], digits], [3, 0]),
      'Kernel,Mean (ns),Share (%),X\n"a|b ""c"" µ",,0,\nvoid gemm<4>(),12500,50,0.3333333333333333\n');
  assert.equal(toCsv([digits], [1, 2]), 'X\n-0.5\n1e+21\n');
});

// The same texts as gputally marks in CSV files: see gt_is_formula in src/base/number.h.
test('CSV cells are not formulas', () => {
  const cells = ['=1+1', '+1', '-2.5e3', '-', '+a', '@x', '-1+2', '--1', '\tx', '1+1', "'=1"];
  const lines = toCsv([{key: 'x', title: 'x', kind: 'text', cells}], cells.keys()).split('\n').slice(1, -1);
  assert.deepEqual(lines, ["'=1+1", '+1', '-2.5e3', '-', "'+a", "'@x", "'-1+2", "'--1", "'\tx", '1+1', "''=1"]);
});

test('Markdown escapes what it would interpret', () => {
  const text = {key: 'x', title: 'a|b', kind: 'text', cells: ['<b>*x*_y_|`z`\n[l](h)', null]};
  assert.equal(toMarkdown([text, COLUMNS[3]], [0, 1]),
      '| a\\|b | Count |\n| :--- | ---: |\n| \\<b\\>\\*x\\*\\_y\\_\\|\\`z\\` \\[l\\](h) | 5 |\n|  | 40 |\n');
});

test('headings of copies have units', () => {
  assert.deepEqual(COLUMNS.map(fullTitle), ['Kernel', 'Op', 'Mean (ns)', 'Count', 'Share (%)', 'Kernel Time (µs)_sum', 'Flag']);
});
