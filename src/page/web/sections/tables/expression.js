// Filters that are typed: words and conditions, all of which must hold.
//
//   gemm            the name contains it; upper and lower case are the same
//   -nccl           not
//   name:"a b"      a column contains a text; = and != compare all of it
//   dur>10 dur<=2ms count>=5 share>1%    numbers, with units; times without one are microseconds
//
// Columns are named by key, alias or heading, without blanks and signs ("kerneltime" for "Kernel Time (µs)"), and may
// be shortened as long as only one fits.

import {isNothing, kindOf} from './values.js';

const CONDITION = /^(?:"([^"]+)"|([\p{L}_][\p{L}\p{N}_./%]*))(:(?!:)|>=|<=|!=|=|>|<)(.*)$/su;
const NUMBER_TERM = /^([+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?)\s*(\D*)$/i;
const COMPARISONS = {
  '>': (a, b) => a > b, '>=': (a, b) => a >= b, '<': (a, b) => a < b, '<=': (a, b) => a <= b,
  '=': (a, b) => a === b, ':': (a, b) => a === b, '!=': (a, b) => a !== b,
};

class WrongExpression extends Error {}

// Terms are divided by blanks outside of quotes.
function splitTerms(text) {
  const terms = text.match(/(?:"[^"]*"|[^\s"])+/g) || [];
  if ((text.match(/"/g) || []).length % 2) throw new WrongExpression('a quote (") is not closed');
  return terms;
}

function plainWord(text) {
  return text.toLowerCase().replace(/[^\p{L}\p{N}]/gu, '');
}

function namesOf(column) {
  return [column.key, ...(column.aliases || []), column.title].map(plainWord);
}

function findColumn(name, columns) {
  const wanted = plainWord(name);
  const exact = columns.find((column) => namesOf(column).includes(wanted));
  if (exact) return exact;
  const near = columns.filter((column) => wanted && namesOf(column).some((one) => one.startsWith(wanted)));
  if (near.length === 1) return near[0];
  const keys = (list) => list.slice(0, 12).map((column) => column.aliases?.[0] || column.key).join(', ');
  if (near.length) throw new WrongExpression(`"${name}" may be several columns: ${keys(near)}`);
  throw new WrongExpression(`no column "${name}"; there are ${keys(columns)}. A name with : or < needs quotes: "a<b"`);
}

function readNumber(text, column) {
  const kind = kindOf(column);
  const match = NUMBER_TERM.exec(text.trim());
  if (!match) throw new WrongExpression(`"${text}" is not a number (column ${column.title})`);
  const [, digits, unit] = match;
  if (!unit) return Number(digits) * kind.usual;
  if (column.unit) return Number(digits) * ratioOf(unit, column);
  const size = Object.hasOwn(kind.sizes, unit) ? kind.sizes[unit] : null;
  if (size === null) {
    throw new WrongExpression(`unknown unit "${unit}"; ${column.title} has ${Object.keys(kind.sizes).join(', ')}`);
  }
  return Number(digits) * size;
}

// A unit of time compared with the one that the heading names.
function ratioOf(unit, column) {
  const {sizes} = kindOf({kind: 'time'});
  if (!Object.hasOwn(sizes, unit)) {
    throw new WrongExpression(`unknown unit "${unit}"; ${column.title} is in ${column.unit}`);
  }
  return sizes[unit] / sizes[column.unit];
}

function unquote(text) {
  return text.replace(/"/g, '');
}

function lowerCell(column, row) {
  const value = column.cells[row];
  if (isNothing(value)) return '';
  const short = column.shorts && !isNothing(column.shorts[row]) ? `${column.shorts[row]}\n` : '';
  return `${short}${Array.isArray(value) ? value.join(', ') : value}`.toLowerCase();
}

function textCondition(column, sign, text) {
  const wanted = unquote(text).toLowerCase();
  if (sign === ':') return (row) => lowerCell(column, row).includes(wanted);
  const isEqual = (row) => !isNothing(column.cells[row]) && lowerCell(column, row).split('\n').includes(wanted);
  if (sign === '=') return isEqual;
  if (sign === '!=') return (row) => !isEqual(row);
  throw new WrongExpression(`${column.title} is text: use : or =, not ${sign}`);
}

function makeCondition(term, columns) {
  const match = CONDITION.exec(term);
  if (!match) {
    const wanted = unquote(term).toLowerCase();
    const searched = columns.filter((column) => column.isName);
    const among = searched.length ? searched : columns.filter((column) => !kindOf(column).isNumber);
    return (row) => among.some((column) => lowerCell(column, row).includes(wanted));
  }
  const [, quoted, bare, sign, value] = match;
  const column = findColumn(quoted || bare, columns);
  if (value === '') throw new WrongExpression(`${quoted || bare}${sign} needs a value`);
  if (!kindOf(column).isNumber) return textCondition(column, sign, value);
  const number = readNumber(unquote(value), column);
  const compare = COMPARISONS[sign];
  return (row) => !isNothing(column.cells[row]) && compare(column.cells[row], number);
}

// {test, error}: test(row) says whether a row is shown; with an error it is null.
export function parseExpression(text, columns) {
  try {
    const conditions = splitTerms(text).filter((term) => term !== '-').map((term) => {
      const isNot = term.startsWith('-');
      const condition = makeCondition(isNot ? term.slice(1) : term, columns);
      return isNot ? (row) => !condition(row) : condition;
    });
    return {test: (row) => conditions.every((condition) => condition(row)), error: null};
  } catch (error) {
    if (error instanceof WrongExpression) return {test: null, error: error.message};
    throw error;
  }
}
