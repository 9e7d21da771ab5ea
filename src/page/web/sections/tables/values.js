// Cells of tables by kind: how they are shown, written in full, and compared.
//
// A column is {key, title, kind, help, cells, shorts, unit}: `cells` has a value per row (NaN or null: none), `shorts`
// what is shown instead of long names, `unit` the unit of a plain number if its heading names one.

import {bytes, significant, thousands, time} from '../../format.js';

export const NO_VALUE = '–';
const DIGIT_WIDTH = 8;
const CELL_PADDING = 24;
const TIME_SIZES = {ns: 1, us: 1e3, µs: 1e3, μs: 1e3, ms: 1e6, s: 1e9};
const COUNT_SIZES = {k: 1e3, M: 1e6, G: 1e9};
const BYTE_SIZES = {B: 1, kB: 1e3, MB: 1e6, GB: 1e9, TB: 1e12};

// Numbers that no cell has room for are shown as 1.00e+300.
function wholeOrShort(value) {
  if (Math.abs(value) >= 1e16) return value.toExponential(2);
  return Number.isInteger(value) ? thousands(value) : significant(value);
}

function percentText(value) {
  return `${value.toFixed(1)} %`;
}

function signedText(text, value) {
  return value > 0 ? `+${text}` : text;
}

// `unit` is what copies name in the heading; `sizes` are the units that filters understand, `usual` is the size of a
// number without one.
const CELL_KINDS = {
  name: {isNumber: false, show: String, width: 200, isFlexible: true},
  prose: {isNumber: false, show: String, width: 200, isFlexible: true},
  text: {isNumber: false, show: String, width: 144},
  category: {isNumber: false, show: String, width: 136},
  bool: {isNumber: false, show: String, width: 88},
  list: {isNumber: false, show: (value) => value.join(', '), width: 144},
  time: {isNumber: true, show: time, unit: 'ns', sizes: TIME_SIZES, usual: 1e3, width: 84},
  difference: {isNumber: true, show: (ns) => signedText(time(ns), ns), unit: 'ns', sizes: TIME_SIZES, usual: 1e3,
    width: 104},
  count: {isNumber: true, show: wholeOrShort, sizes: COUNT_SIZES, usual: 1, width: 76},
  share: {isNumber: true, show: (value) => percentText(100 * value), sizes: {'%': 0.01}, usual: 0.01, width: 132},
  percent: {isNumber: true, show: percentText, unit: '%', sizes: {'%': 1}, usual: 1, width: 96},
  change: {isNumber: true, show: (value) => signedText(percentText(value), value), unit: '%', sizes: {'%': 1}, usual: 1,
    width: 96},
  bytes: {isNumber: true, show: bytes, unit: 'B', sizes: BYTE_SIZES, usual: 1, width: 96},
  number: {isNumber: true, show: wholeOrShort, sizes: COUNT_SIZES, usual: 1, width: 96},
  amount: {isNumber: true, show: (value) => signedText(wholeOrShort(value), value), sizes: COUNT_SIZES, usual: 1,
    width: 96},
};

export function kindOf(column) {
  return CELL_KINDS[column.kind];
}

// Pixels: enough for every number, which would mean something else if it lost its end. Whole numbers are the longest
// texts, so that the largest and the smallest one decide.
export function columnWidth(column) {
  const {width, isNumber, show} = kindOf(column);
  if (!isNumber) return width;
  let least = 0;
  let most = 0;
  for (const value of column.cells) {
    if (value > most && value < 1e16) most = value;
    else if (value < least && value > -1e16) least = value;
  }
  const longest = Math.max(show(Math.trunc(least)).length, show(Math.trunc(most)).length);
  return Math.max(width, longest * DIGIT_WIDTH + CELL_PADDING);
}

export function isNothing(value) {
  return value === null || value === undefined || Number.isNaN(value);
}

// The cell as displayed.
export function shownCell(column, row) {
  const value = column.cells[row];
  if (isNothing(value)) return NO_VALUE;
  return kindOf(column).show(column.shorts && !isNothing(column.shorts[row]) ? column.shorts[row] : value);
}

// The same with all digits, for copies and tooltips. Shares become percentages.
export function fullCell(column, row) {
  const value = column.cells[row];
  if (isNothing(value)) return '';
  if (column.kind === 'share') return String(100 * value);
  return Array.isArray(value) ? JSON.stringify(value) : String(value);
}

// The heading of a copy, with the unit of its numbers.
export function fullTitle(column) {
  const unit = column.kind === 'share' ? '%' : kindOf(column).unit;
  return unit ? `${column.title} (${unit})` : column.title;
}

// What the pointer sees over a cell.
export function cellTitle(column, row) {
  const value = column.cells[row];
  if (isNothing(value)) return null;
  const unit = column.kind === 'share' ? ' %' : kindOf(column).unit && ` ${kindOf(column).unit}`;
  return `${fullCell(column, row)}${unit || ''}`;
}

// What a column is sorted by: numbers, or texts in lower case.
function sortKeys(column, rows, isDescending) {
  const {cells} = column;
  if (!kindOf(column).isNumber) {
    const keys = new Array(cells.length);
    for (const row of rows) keys[row] = String(column.shorts?.[row] ?? cells[row]).toLowerCase();
    return keys;
  }
  return column.byAmount && isDescending ? Float64Array.from(cells, Math.abs) : cells;
}

// The rows in order of a column; rows without a value come last, equal ones keep their order.
export function sortRows(rows, column, isDescending) {
  const {cells} = column;
  const sign = isDescending ? -1 : 1;
  const has = Uint32Array.from(rows.filter((row) => !isNothing(cells[row])));
  const without = rows.filter((row) => isNothing(cells[row]));
  const keys = sortKeys(column, has, isDescending);
  has.sort((a, b) => {
    if (keys[a] === keys[b]) return a - b;
    return keys[a] < keys[b] ? -sign : sign;
  });
  const sorted = new Uint32Array(rows.length);
  sorted.set(has);
  sorted.set(without, has.length);
  return sorted;
}
