// Tables of packs that tests/page/pack.py wrote.

import assert from 'node:assert/strict';
import {test} from 'node:test';
import {readPack} from '../../src/page/web/pack.js';
import {python} from './helpers.mjs';

const cases = JSON.parse(python('tests/page/pack_cases.py'));

function read(text) {
  const bytes = Buffer.from(text, 'base64');
  return readPack(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length));
}

function cells(table, name) {
  return Array.from({length: table.rows}, (_, row) => table.get(name, row));
}

const [numbers, texts, empty, bare] = read(cases.known);

test('tables have sources, names, rows and columns', () => {
  assert.deepEqual([numbers, texts, empty, bare].map(({source, table}) => [source, table.name, table.rows]),
      [[0, 'numbers', 12], [1, 'texts', 8], [1, 'empty', 0], [1, 'no columns', 0]]);
  assert.deepEqual(numbers.table.columnNames, ['int', 'far', 'huge', 'growing', 'large', 'float', 'bool']);
  assert.ok(numbers.table.has('int') && !numbers.table.has('text'));
});

test('integers', () => {
  assert.deepEqual(cells(numbers.table, 'int'),
      [0, -1, 1, null, 63, 64, -64, -65, 4503599627370495, -4503599627370496, 2147483648, 4294967296]);
  assert.ok(numbers.table.column('int') instanceof Float64Array && Number.isNaN(numbers.table.column('int')[3]));
});

test('integers far from each other, and those that only doubles hold', () => {
  assert.deepEqual(cells(numbers.table, 'far').slice(0, 3), [-4503599627370496, 4503599627370495, -4503599627370496]);
  assert.deepEqual(cells(numbers.table, 'huge').slice(0, 4), [9007199254740992, -4611686018427387904, null, 5]);
});

test('growing integers', () => {
  assert.equal(numbers.table.directory.get('growing').code, 'd');
  assert.deepEqual(cells(numbers.table, 'growing').slice(0, 5),
      [1000000000000000, 1000000000001000, 1000000000002000, null, 1000000000004000]);
});

test('integers that no double can hold are strings', () => {
  const large = cells(numbers.table, 'large');
  assert.deepEqual([large[0], large[1], large[2], large[3], large[11]],
      ['9007199254740993', '-9223372036854775808', '7', null, '9223372036854775807']);
  assert.ok(!numbers.table.isNumeric('large') && numbers.table.isNumeric('int') && numbers.table.isNumeric('float'));
});

test('floats', () => {
  assert.deepEqual(cells(numbers.table, 'float'),
      [0.1, -2.5, null, 5e-324, Number.MAX_VALUE, Infinity, -Infinity, 0, 1e16, 3, 1 / 3, -1e-7]);
});

test('booleans', () => {
  assert.deepEqual(cells(numbers.table, 'bool').slice(0, 4), [true, false, null, true]);
});

test('strings, also those that are not UTF-8', () => {
  assert.deepEqual(cells(texts.table, 'text'),
      ['', 'a', null, 'a', 'µs 漢字 🚀', '</script>', '\ufffd\ufffd!', 'x'.repeat(40000)]);
});

test('strings as indexes', () => {
  const codes = texts.table.codes('text');
  assert.equal(codes[1], codes[3]);
  assert.equal(codes[2], -1);
  assert.deepEqual([texts.table.text(codes[4]), texts.table.text(-1)], ['µs 漢字 🚀', null]);
});

test('lists', () => {
  assert.deepEqual(cells(texts.table, 'ints'), [[], null, [1], [2, null, -3], [1000000000000], [], null, [0]]);
  assert.deepEqual(cells(texts.table, 'strings'), [['b'], [], null, ['', null], ['a', 'a'], [], [], []]);
});

test('tables without rows', () => {
  assert.deepEqual([cells(empty.table, 'int'), cells(empty.table, 'list')], [[], []]);
});

test('find gives the first row with a value', () => {
  assert.deepEqual([texts.table.find('text', 'a'), texts.table.find('text', 'b'), numbers.table.find('int', 64)], [1, -1, 5]);
});

test('5,000 random rows', () => {
  const [{table}] = read(cases.random);
  for (const [name, values] of Object.entries(cases.values)) assert.deepEqual(cells(table, name), values, name);
});
