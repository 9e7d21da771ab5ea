// What the page is made of, what it leaves out, and its data as files.

import {element} from '../dom.js';
import {shorten, thousands} from '../format.js';
import {addKeys, showKeys} from '../keys.js';
import {csvCell, fileName, saveFile} from '../output.js';

// Tables that exist only for the drawings of the page.
function isSheet(name) {
  return !name.startsWith('page_');
}

function tableRows(table) {
  const columns = table.columnNames.map((name) => table.column(name));
  return Array.from({length: table.rows}, (_, row) => (
    columns.map((column) => (Number.isNaN(column[row]) ? null : column[row] ?? null))));
}

// The report as docs/json.md describes it: the answers, then all sheets.
export function reportJson(answers, source) {
  const sheets = {};
  for (const [name, table] of source.tables) {
    if (isSheet(name)) sheets[name] = {columns: table.columnNames, rows: tableRows(table)};
  }
  return JSON.stringify({...answers, sheets}, null, 1);
}

export function tableCsv(table) {
  return [table.columnNames, ...tableRows(table)].map((row) => `${row.map(csvCell).join(',')}\r\n`).join('');
}

function saveControls(page) {
  const {front} = page;
  const json = page.sources.map((source) => element('button', {
    type: 'button', class: 'button', title: 'the same fields as --output_json',
    onclick: () => saveFile(fileName(page.sources.length > 1 ? source.label : front.title, '.report.json'),
      'application/json', [reportJson(front.answers, source)]),
  }, page.sources.length > 1 ? `save data of ${shorten(source.label, 40)} as JSON` : 'save data as JSON'));
  const tables = page.sources.flatMap((source) => [...source.tables.values()].map((table) => ({source, table})));
  const name = ({source, table}) => (page.sources.length > 1 ? `${source.label}: ${table.name}` : table.name);
  const choice = element('select', {class: 'button', 'aria-label': 'table to save'}, tables.map((one, i) => (
    element('option', {value: i}, `${name(one)} (${thousands(one.table.rows)} rows)`))));
  const save = element('button', {type: 'button', class: 'button', onclick: () => {
    const {table} = tables[Number(choice.value)];
    saveFile(fileName(front.title, `.${table.name}.csv`), 'text/csv', [tableCsv(table)]);
  }}, 'save table as CSV');
  return tables.length ? [json, choice, save] : [];
}

function buildFooter(page, body) {
  const {front} = page;
  const notes = [...(front.facts.notes || []), ...(front.notes || [])];
  const list = (title, lines) => lines.length > 0 && element('div', {class: 'notes'}, element('h3', {}, title),
    element('ul', {}, lines.map((line) => element('li', {class: 'note'}, line)))) || '';
  const controls = element('div', {class: 'toolbar screen-only'});
  const keys = element('button', {type: 'button', class: 'button', onclick: showKeys}, 'keys (?)');
  controls.append(keys);
  page.onTables(() => controls.prepend(...saveControls(page).flat()));
  body.append(
    list('Messages about the trace', front.messages || []),
    list('What this page leaves out', notes),
    controls,
    element('p', {class: 'note'}, [
      front.version && `gputally ${front.version}`, front.schema && `page ${front.schema}`,
      front.answers.schema && `data ${front.answers.schema}`,
    ].filter(Boolean).join(' · ')),
    element('p', {class: 'note'}, 'This file is complete: it loads nothing from the network. ' +
      'Numbers are rounded; point at one to see all of its digits.'));
  addKeys('Page', [{key: '?', text: 'show these keys', action: showKeys}]);
}

export const footerSection = {
  id: 'footer',
  title: 'About this page',
  short: 'About',
  first: true,
  build: buildFooter,
};
