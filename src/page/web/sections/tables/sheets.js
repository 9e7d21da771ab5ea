// Any sheet of the workbook as a table: who gets the page has all numbers. In a comparison, sheets that both traces
// have also stand side by side, with differences.

import {isComparison} from '../../compared.js';
import {clear, element} from '../../dom.js';
import {thousands} from '../../format.js';
import {wholeName} from './body.js';
import {Grid} from './grid.js';
import {sheetColumns, usualColumns} from './sheet_columns.js';
import {sheetPairModel} from './sheet_pairs.js';
import {fullCell, isNothing} from './values.js';

// Tables of schema/page.h are the page's own; what they hold is drawn elsewhere.
function isWorkbookSheet(name) {
  return !name.startsWith('page_');
}

// {key, group: its heading in the list, name, rows, tables: one, or those of A and B}
function sheetsOf(page) {
  return page.sources.flatMap((source, number) => {
    const tables = [...source.tables.values()].filter((table) => isWorkbookSheet(table.name));
    const prefix = page.sources.length > 1 ? `${number}.` : '';
    return tables.map((table) => ({key: `${prefix}${table.name}`, group: source.label, name: table.name,
      rows: table.rows, tables: [table]}));
  });
}

// Those of the comparison first, then those of both with differences, then those of A and of B.
function sheetsOfComparison(page) {
  const [a, b] = [page.source(0), page.source(1)];
  const both = [...a.tables.keys()].filter((name) => isWorkbookSheet(name) && a.has(name) && b.has(name));
  const own = (sheet) => Number(sheet.key.split('.')[0]) > 1;
  const all = sheetsOf(page);
  return [...all.filter(own), ...both.map((name) => {
    const tables = [a.table(name), b.table(name)];
    return {key: `both.${name}`, group: 'A and B, with differences', name,
      rows: Math.max(...tables.map(({rows}) => rows)), tables};
  }), ...all.filter((sheet) => !own(sheet))];
}

function sheetDetails(columns, row) {
  return element('div', {class: 'detail-block'}, element('dl', {class: 'facts'}, columns.map((column) => [
    element('dt', {}, column.title),
    element('dd', {}, isNothing(column.cells[row]) ? '–' : longText(fullCell(column, row)))])));
}

function longText(text) {
  return text.length > 300 ? wholeName(text) : element('span', {class: 'name'}, text);
}

function sheetModel(page, {tables}) {
  if (tables.length > 1) return sheetPairModel(page, tables, sheetDetails);
  const [table] = tables;
  const columns = sheetColumns(table);
  return {noun: table.rows === 1 ? 'row' : 'rows', columns, shown: usualColumns(table), sort: null, rows: table.rows,
    idOf: (row) => row, rowOf: (id) => (Number(id) < table.rows ? Number(id) : -1),
    details: (row) => sheetDetails(columns, row)};
}

function sheetChooser(page, sheets, choose) {
  const option = ({key, name, rows}) => element('option', {value: key}, `${name} (${thousands(rows)})`);
  const groups = [...new Set(sheets.map(({group}) => group))];
  return element('select', {class: 'button', 'aria-label': 'sheet', onchange: (event) => choose(event.target.value)},
    page.sources.length > 1 ? groups.map((group) => element('optgroup', {label: group},
      sheets.filter((sheet) => sheet.group === group).map(option))) : sheets.map(option));
}

function buildSheets(page, body) {
  const sheets = isComparison(page) ? sheetsOfComparison(page) : sheetsOf(page);
  const usual = sheets.find(({rows}) => rows) || sheets[0];
  const chosen = () => sheets.find(({key}) => key === page.state.get('sheets.sheet')) || usual;
  const grid = new Grid(page, 'sheets', 'sheet', 'word column:text column>10', () => sheetModel(page, chosen()));
  const forget = {'sheets.sort': null, 'sheets.filter': null, 'sheets.columns': null, 'sheets.open': null};
  const select = sheetChooser(page, sheets, (key) => page.state.set({'sheets.sheet': key, ...forget}));
  const update = () => {
    select.value = chosen().key;
    grid.reload();
  };
  clear(body).append(element('p', {class: 'toolbar'}, element('label', {}, 'Sheet ', select)), grid.node);
  page.state.on(['sheets.sheet'], update);
  select.value = chosen().key;
  grid.update();
}

export const sheetsSection = {
  id: 'sheets',
  title: 'All sheets',
  short: 'Sheets',
  print: false,
  needs: (page) => sheetsOf(page).length > 0,
  build: buildSheets,
};
