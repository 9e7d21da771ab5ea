// Numbers for people.

import assert from 'node:assert/strict';
import {test} from 'node:test';
import {bytes, percent, shorten, significant, thousands, time} from '../../src/page/web/format.js';

test('three significant digits', () => {
  const expected = [[0, '0'], [1, '1.00'], [12.345, '12.3'], [123.45, '123'], [999.4, '999'], [999.6, '1,000'], [1234567, '1,234,567'],
    [0.012345, '0.0123'], [-12.345, '-12.3'], [9.999, '10.0'], [99.96, '100'], [NaN, '–'], [Infinity, '–'], [null, '–']];
  for (const [value, text] of expected) assert.equal(significant(value === null ? NaN : value), text, String(value));
});

test('thousands', () => {
  assert.deepEqual([thousands(0), thousands(999), thousands(1234567), thousands(-1234.5678), thousands(NaN)],
      ['0', '999', '1,234,567', '-1,234.568', '–']);
});

test('times', () => {
  const expected = [[0, '0 ns'], [999, '999 ns'], [1000, '1.00 µs'], [12345, '12.3 µs'], [999499, '999 µs'], [999600, '1.00 ms'],
    [77675026, '77.7 ms'], [2.5e9, '2.50 s'], [-1500, '-1.50 µs'], [NaN, '–']];
  for (const [value, text] of expected) assert.equal(time(value), text, String(value));
});

test('percentages have one decimal', () => {
  assert.deepEqual([percent(1, 3), percent(0, 5), percent(1, 0), percent(NaN, 1)], ['33.3 %', '0.0 %', '–', '–']);
});

test('bytes', () => {
  assert.deepEqual([bytes(0), bytes(999), bytes(1500), bytes(25165824), bytes(2e15), bytes(NaN)],
      ['0 B', '999 B', '1.50 kB', '25.2 MB', '2,000 TB', '–']);
});

test('long names lose their middle', () => {
  assert.equal(shorten('abcdefghij', 10), 'abcdefghij');
  assert.equal(shorten('abcdefghijk', 6), 'abc…jk');
  assert.equal(shorten('x'.repeat(40000), 60).length, 60);
});
