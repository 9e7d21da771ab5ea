// A sheet that both traces have, with rows and columns side by side: of each number A, B, the difference and the
// change in percent.
//
// Rows are paired as far as their texts agree: first those with the same texts and numbers of device, stream and the
// like, then those with the same names and shapes, then those with the same first text. Without texts, the first row
// belongs to the first.

import {pairRows, SIDES} from '../../compared.js';
import {sheetColumns, usualColumns} from './sheet_columns.js';
import {isNothing} from './values.js';

const IDENTITY = /^(?:\w+ )?(?:device|gpu|rank|stream|queue|[pt]id|thread|process|index|order|step)(?:[ _]?id)?$/i;
const NAME_LIKE = /name|dims|shape|type|op$|kernel|direction|kind|category|part|cause/i;
const NOT_A_SUM = /mean|median|std|min|max|avg|first|percent|%|pct|rate|\/s\b|\bper\b/i;
const TIME = /time|duration|(?:\(|_| )(?:ns|us|µs|μs|ms|s)\)?(?:_sum)?$/i;
const AMOUNT = /bytes|count/i;

function isKeyColumn(column) {
  return column.kind !== 'number' || IDENTITY.test(column.title);
}

// Columns of both sheets by name, those of A first: {title, kind, unit, isName, sides: a column or null of each}.
function pairedColumns(tables) {
  const all = new Map();
  tables.forEach((table, side) => {
    for (const column of sheetColumns(table)) {
      if (!all.has(column.key)) all.set(column.key, {...describeColumn(column), sides: [null, null]});
      all.get(column.key).sides[side] = column;
    }
  });
  return [...all.values()];
}

// Without its cells, which would be decoded.
function describeColumn({key, title, kind, unit, isName}) {
  return {key, title, kind, unit, isName};
}

function textOf(column, row) {
  const value = column?.cells[row];
  return isNothing(value) ? '' : String(value);
}

// Pairs of rows [a, b], -1 for none.
function pairSheetRows(tables, columns) {
  const keyed = columns.filter(isKeyColumn);
  const named = keyed.filter(({title, kind}) => kind !== 'prose' && NAME_LIKE.test(title));
  const first = keyed.find(({kind}) => kind !== 'number');
  const keyOf = (list) => (side, row) => list.map(({sides}) => textOf(sides[side], row)).join('\u0000');
  const keys = [keyOf(keyed), ...(named.length ? [keyOf(named)] : []), ...(first ? [keyOf([first])] : [])];
  return pairRows(tables.map((table) => Array.from({length: table.rows}, (_, row) => row)), keys);
}

// Cells that are made when they are first asked for.
function lazyCells(column, make) {
  let cells = null;
  return Object.defineProperty(column, 'cells', {enumerable: true, get: () => (cells ??= make())});
}

// A text that differs is shown as A → B.
function textColumn({key, title, kind, isName, sides}, pairs) {
  return lazyCells({key, title, kind: kind === 'number' || kind === 'bool' || kind === 'list' ? 'text' : kind, isName},
    () => pairs.map((pair) => {
      const texts = pair.map((row, side) => (row < 0 ? null : textOf(sides[side], row)));
      if (texts[0] === null || texts[1] === null || texts[0] === texts[1]) return texts[0] ?? texts[1];
      return `${texts[0] || '–'} → ${texts[1] || '–'}`;
    }));
}

// A sum of a row that is not there is 0, so that what is new or vanished has a difference.
function numberColumns({key, title, unit, sides}, pairs) {
  const isSum = (TIME.test(title) || AMOUNT.test(title)) && !NOT_A_SUM.test(title);
  const delta = (pair) => {
    const [a, b] = pair.map((row, side) => (row < 0 && isSum ? 0 : value(pair, side)));
    return b - a;
  };
  const value = (pair, side) => (pair[side] < 0 || !sides[side] ? NaN : Number(sides[side].cells[pair[side]] ?? NaN));
  const cells = (get) => () => Float64Array.from(pairs, get);
  const column = (end, heading, kind, get, more) =>
    lazyCells({key: `${key} ${end}`, title: `${heading}: ${title}`, kind, unit, ...more}, cells(get));
  return [
    ...SIDES.map((name, side) => column(name.toLowerCase(), name, 'number', (pair) => value(pair, side))),
    column('delta', 'B − A', 'amount', delta, {byAmount: true}),
    column('change', 'Change', 'change', (pair) => {
      const [a, b] = [value(pair, 0), value(pair, 1)];
      return a ? 100 * (b - a) / Math.abs(a) : NaN;
    }, {unit: undefined}),
  ];
}

// The columns in sight: up to three texts that tell rows apart, and the first measure with all of its four.
function shownKeys(columns, wanted) {
  const order = (list) => [...list].sort((one, other) => rank(one) - rank(other));
  const rank = ({key}) => (wanted.includes(key) ? wanted.indexOf(key) : wanted.length);
  const texts = order(columns.filter(isKeyColumn)).slice(0, 3);
  const numbers = order(columns.filter((column) => !isKeyColumn(column)));
  const sums = numbers.filter(({title}) => !NOT_A_SUM.test(title));
  const main = [TIME, AMOUNT].map((kind) => sums.find(({title}) => kind.test(title))).find(Boolean) || numbers[0];
  const second = numbers.find((column) => column !== main && (wanted.includes(column.key)));
  const all = ({key}, ends) => ends.map((end) => `${key} ${end}`);
  return {main, keys: [...texts.map(({key}) => key), ...(main ? all(main, ['a', 'b', 'delta', 'change']) : []),
    ...(second ? all(second, ['delta']) : [])]};
}

export function sheetPairModel(page, tables, details) {
  const paired = pairedColumns(tables);
  const pairs = pairSheetRows(tables, paired);
  const {main, keys} = shownKeys(paired, usualColumns(tables[0]));
  const alone = pairs.some((pair) => pair.includes(-1));
  const columns = paired.flatMap((column) => (isKeyColumn(column) ? [textColumn(column, pairs)] :
    numberColumns(column, pairs)));
  columns.push(lazyCells({key: 'in', title: 'In', kind: 'text', help: 'which trace has the row'},
    () => pairs.map(([a, b]) => (a < 0 ? 'only B' : b < 0 ? 'only A' : 'both'))));
  const shown = [...keys, ...(alone ? ['in'] : [])];
  const both = pairs.filter((pair) => !pair.includes(-1)).length;
  return {noun: pairs.length === 1 ? 'row' : 'rows', columns, shown, rows: pairs.length,
    sort: main ? `-${main.key} delta` : null,
    idOf: (row) => row, rowOf: (id) => (Number(id) < pairs.length ? Number(id) : -1),
    details: (row) => details(columns, row),
    note: () => `A is ${page.source(0).label}, B is ${page.source(1).label}; ` +
      `${both === pairs.length ? 'all' : both} are in both. Numbers are those of the sheets, not per step.`};
}
