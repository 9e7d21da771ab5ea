// Shared by the tests of modules: tables without a pack, and what Python prints.

import {execFileSync} from 'node:child_process';
import {fileURLToPath} from 'node:url';

export const ROOT = fileURLToPath(new URL('../..', import.meta.url));
export const WEB = fileURLToPath(new URL('../../src/page/web', import.meta.url));

export function python(...args) {
  return execFileSync(process.env.PYTHON || 'python3', args, {cwd: ROOT, maxBuffer: 1 << 28}).toString();
}

// plainTable('page_sums', {call: [0, NaN], op: ['mm', null]}): the interface of Table in table.js.
export function plainTable(name, columns) {
  const columnNames = Object.keys(columns);
  const texts = [...new Set(Object.values(columns).flatMap((cells) => [...cells]))];
  const isNumber = (value) => value === null || typeof value === 'number';
  return {
    name,
    columnNames,
    rows: columnNames.length ? columns[columnNames[0]].length : 0,
    has: (column) => column in columns,
    isNumeric: (column) => columns[column].every(isNumber),
    column: (column) => columns[column],
    codes: (column) => Int32Array.from(columns[column], (text) => (text === null ? -1 : texts.indexOf(text))),
    text: (code) => (code < 0 ? null : texts[code]),
    get: (column, row) => (Number.isNaN(columns[column][row]) ? null : columns[column][row]),
    find: (column, value) => columns[column].indexOf(value),
  };
}

// The interface of Source in page.js.
export function plainSource(tables, facts = {}) {
  const all = new Map(tables.map((table) => [table.name, table]));
  return {
    label: 'train.json.gz',
    tables: all,
    has: (name) => all.has(name) && all.get(name).rows > 0,
    table: (name) => all.get(name) || null,
    fact: (name) => (name in facts ? facts[name] : null),
  };
}
