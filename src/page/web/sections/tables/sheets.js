// Any sheet of the workbook as a table: who gets the page has all numbers.

import {clear, element} from '../../dom.js';
import {thousands} from '../../format.js';
import {wholeName} from './body.js';
import {Grid} from './grid.js';
import {sheetColumns, usualColumns} from './sheet_columns.js';
import {fullCell, isNothing} from './values.js';

// Tables of schema/page.h are the page's own; what they hold is drawn elsewhere.
function isWorkbookSheet(name) {
  return !name.startsWith('page_');
}

function sheetsOf(page) {
  return page.sources.flatMap((source, number) => {
    const tables = [...source.tables.values()].filter((table) => isWorkbookSheet(table.name));
    const prefix = page.sources.length > 1 ? `${number}.` : '';
    return tables.map((table) => ({key: `${prefix}${table.name}`, number, table}));
  });
}

function sheetDetails(columns, row) {
  return element('div', {class: 'detail-block'}, element('dl', {class: 'facts'}, columns.map((column) => [
    element('dt', {}, column.title),
    element('dd', {}, isNothing(column.cells[row]) ? '–' : longText(fullCell(column, row)))])));
}

function longText(text) {
  return text.length > 300 ? wholeName(text) : element('span', {class: 'name'}, text);
}

function sheetModel(page, table) {
  const columns = sheetColumns(table);
  return {noun: table.rows === 1 ? 'row' : 'rows', columns, shown: usualColumns(table), sort: null, rows: table.rows,
    idOf: (row) => row, rowOf: (id) => (Number(id) < table.rows ? Number(id) : -1),
    details: (row) => sheetDetails(columns, row)};
}

function sheetChooser(page, sheets, choose) {
  const option = ({key, table}) => element('option', {value: key}, `${table.name} (${thousands(table.rows)})`);
  const group = (source, number) => element('optgroup', {label: source.label},
    sheets.filter((sheet) => sheet.number === number).map(option));
  return element('select', {class: 'button', 'aria-label': 'sheet', onchange: (event) => choose(event.target.value)},
    page.sources.length > 1 ? page.sources.map(group) : sheets.map(option));
}

function buildSheets(page, body) {
  const sheets = sheetsOf(page);
  // Of a comparison, its own sheets come last and are those that people look for.
  const usual = (page.front.kind === 'compare' ?
    sheets.filter(({number}) => number === page.sources.length - 1) : sheets)
    .find(({table}) => table.rows) || sheets.find(({table}) => table.rows) || sheets[0];
  const chosen = () => sheets.find(({key}) => key === page.state.get('sheets.sheet')) || usual;
  const grid = new Grid(page, 'sheets', 'sheet', 'word column:text column>10', () => sheetModel(page, chosen().table));
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
