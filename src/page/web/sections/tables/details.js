// What a row shows when it is open: full name, durations, who launched it, and the rows of the sheets about it.

import {element} from '../../dom.js';
import {shorten, thousands, time} from '../../format.js';
import {copyButton} from '../../output.js';
import {wholeName} from './body.js';
import {modulePath} from './groups.js';
import {histogramOf} from './histogram.js';
import {RooflineCells} from './roofline_cells.js';
import {sheetColumns} from './sheet_columns.js';
import {fullCell, kindOf, shownCell} from './values.js';

const LISTED_ROWS = 12;
const SHEET_ROWS = 4;

export function detailBlock(title, ...content) {
  return element('div', {class: 'detail-block'}, element('h4', {}, title), content);
}

function nameBlock(title, text) {
  return detailBlock(title, wholeName(text), copyButton('Copy name', () => text, {class: 'button'}));
}

function listCell(text) {
  return element('td', {class: 'name', title: text?.slice(0, 4000)}, text ? shorten(text, 120) : '–');
}

// A list of rows with time: [[cells...], count, ns], the largest first.
function timeList(title, heads, rows, counted = 'Count') {
  if (!rows.length) return null;
  const sorted = rows.sort((a, b) => b.ns - a.ns);
  const rest = sorted.slice(LISTED_ROWS);
  const numbers = (count, ns) => [element('td', {class: 'number'}, thousands(count)),
    element('td', {class: 'number', title: `${ns} ns`}, time(ns))];
  return detailBlock(title, element('table', {class: 'plain'},
    element('thead', {}, element('tr', {}, heads.map((head) => element('th', {scope: 'col'}, head)),
      element('th', {scope: 'col', class: 'number'}, counted), element('th', {scope: 'col', class: 'number'}, 'Time'))),
    element('tbody', {}, sorted.slice(0, LISTED_ROWS).map(({cells, count, ns}) => element('tr', {},
      cells.map(listCell), numbers(count, ns))),
    rest.length > 0 && element('tr', {},
      element('td', {colspan: heads.length, class: 'muted'}, `${thousands(rest.length)} others`),
      numbers(rest.reduce((sum, row) => sum + row.count, 0), rest.reduce((sum, row) => sum + row.ns, 0))))));
}

// All columns of some rows of a sheet, one below the other.
function sheetBlock(source, sheet, rows) {
  const table = source.table(sheet);
  if (!table || !rows.length) return null;
  const columns = sheetColumns(table);
  const shown = rows.slice(0, SHEET_ROWS);
  const more = rows.length > shown.length ? `; ${thousands(rows.length - shown.length)} more rows in the sheet` : '';
  const numbered = shown.length > 1 && shown.map((row) =>
    element('th', {scope: 'col', class: 'number'}, `row ${thousands(row + 1)}`));
  const cell = (column, row) => element('td', {class: kindOf(column).isNumber ? 'number' : 'name',
    title: fullCell(column, row).slice(0, 4000)}, shorten(shownCell(column, row), 400));
  return detailBlock(`Sheet ${sheet}${more}`, element('table', {class: 'plain sheet-rows'},
    numbered && element('thead', {}, element('tr', {}, element('th', {scope: 'col'}, 'Column'), numbered)),
    element('tbody', {}, columns.map((column) => element('tr', {}, element('th', {scope: 'row'}, column.title),
      shown.map((row) => cell(column, row)))))));
}

// The sums of the work that belongs to a row, by a key. `counts` are numbers of the work.
function listWork(work, has, keyOf, counts = work.count) {
  const found = new Map();
  for (let i = 0; i < work.ns.length; i++) {
    if (!has(work.call[i], work.kernel[i])) continue;
    const {key, cells} = keyOf(work.call[i], work.kernel[i]);
    if (!found.has(key)) found.set(key, {cells, count: 0, ns: 0});
    found.get(key).count += counts[i];
    found.get(key).ns += work.ns[i];
  }
  return [...found.values()];
}

function rowsWith(table, name, value) {
  if (!table?.has(name)) return [];
  const cells = table.column(name);
  return Array.from({length: table.rows}, (_, row) => row).filter((row) => cells[row] === value);
}

// Sheets with rows per kernel, and the column with its name: of PyTorch, rocprofv3 and JAX.
const KERNEL_SHEETS = [
  ['kernel_summary', 'Kernel name'], ['kernel_summary', 'name'], ['kernel_launchers_summary', 'name'],
];

export function kernelDetails(page, group) {
  const source = page.source(0);
  const [kernels, calls] = ['page_kernels', 'page_calls'].map((name) => source.table(name));
  const name = kernels.get('name', group.id) ?? '';
  const durations = ['histogram', 'min_ns', 'max_ns'].map((column) => kernels.get(column, group.id));
  const has = (call, kernel) => kernel === group.id && !Number.isNaN(call);
  const launchers = calls ? listWork(page.work(0), has, (call) => {
    const cells = [calls.get('op', call), calls.get('shapes', call), calls.get('python', call)];
    return {key: cells.join('\u0000'), cells};
  }) : [];
  const sheets = KERNEL_SHEETS.map(([sheet, column]) => [sheet, rowsWith(source.table(sheet), column, name)]);
  return [
    nameBlock('Kernel', name),
    detailBlock('Durations', histogramOf(...durations)),
    timeList('Launched by', ['Op', 'Shapes', 'Python'], launchers),
    sheets.map(([sheet, rows]) => sheetBlock(source, sheet, rows)),
  ];
}

export function opDetails(page, group, ids) {
  const source = page.source(0);
  const [calls, kernels] = [source.table('page_calls'), source.table('page_kernels')];
  const has = (call) => !Number.isNaN(call) && ids[call] === group.id;
  const launched = listWork(page.work(0), has, (call, kernel) => ({key: kernel, cells: [kernels.get('name', kernel)]}));
  const places = listWork(page.work(0), has, (call) => {
    const cells = [modulePath(source, call), calls.get('python', call), calls.get('runtime', call)];
    return {key: cells.join('\u0000'), cells};
  }, page.work(0).calls);
  const title = [calls.get('op', group.id), calls.get('shapes', group.id)].filter(Boolean).join(' ');
  return [
    nameBlock('Op and shapes', title),
    timeList('Kernels', ['Kernel'], launched),
    timeList('Called from', ['Module', 'Python', 'Launched by'], places, 'Calls'),
    sheetBlock(source, 'unified_perf_summary', new RooflineCells(source).match(group.id)),
  ];
}
