// What sections of a comparison share: A is source 0, the baseline, and B is source 1. Nothing here needs a document.

import {workOf} from './work.js';

export const SIDES = ['A', 'B'];

export function isComparison(page) {
  return page.front.kind === 'compare' && page.sources.length > 1;
}

// The sources that a section is about: both of a comparison, else the first.
export function comparedSources(page) {
  return page.sources.slice(0, isComparison(page) ? 2 : 1);
}

export function allHave(page, ...names) {
  const sources = comparedSources(page);
  return sources.length > 0 && sources.every((source) => names.every((name) => source.has(name)));
}

// The steps of each trace that are in its window; null if one has none.
export function windowSteps(page) {
  const steps = [0, 1].map((i) => {
    const table = page.source(i).table('page_steps');
    return table ? table.column('in_window').filter((isIn, row) => isIn && table.get('name', row) !== null).length : 0;
  });
  return steps[0] && steps[1] ? steps : null;
}

// Times are per step of the window if both traces have some, as in the waterfall; else, and in a range, they are sums:
// null.
export function comparedSteps(page) {
  return page.state.getRange('range') ? null : windowSteps(page);
}

// The work of a side that is compared: that of the window if times are per step.
export function comparedWork(page, i) {
  const source = page.source(i);
  const window = [source.fact('window_start'), source.fact('window_end')];
  const work = comparedSteps(page) && window[0] < window[1] ? workOf(source, window) : page.work(i);
  return work || {call: [], kernel: [], count: [], calls: [], ns: []};
}

// "per step" or what else the times of a comparison are.
export function comparedPer(page) {
  if (comparedSteps(page)) return 'per step';
  return page.state.getRange('range') ? 'in the chosen range' : 'in the whole trace';
}

// Rows of A and B that belong together, as [a, b] with -1 for none: first those of A in their order, then those that
// only B has. `rows` has the rows of both, `keys` are tried one after the other: key(side, row) is a string, or null
// for a row that it says nothing about. Of several rows with one key, the first belongs to the first.
export function pairRows(rows, keys) {
  const partner = new Map();
  let left = rows;
  for (const key of keys) {
    const waiting = new Map();
    for (const row of left[1]) {
      const value = key(1, row);
      if (value === null) continue;
      if (!waiting.has(value)) waiting.set(value, []);
      waiting.get(value).push(row);
    }
    for (const queue of waiting.values()) queue.reverse();
    const taken = new Set();
    for (const row of left[0]) {
      const found = waiting.get(key(0, row))?.pop();
      if (found === undefined) continue;
      partner.set(row, found);
      taken.add(found);
    }
    left = [left[0].filter((row) => !partner.has(row)), left[1].filter((row) => !taken.has(row))];
  }
  return [...rows[0].map((row) => [row, partner.get(row) ?? -1]), ...left[1].map((row) => [-1, row])];
}

// How much B differs from A, in percent of A; NaN if A has nothing.
export function changeOf(a, b) {
  return a > 0 && Number.isFinite(b) ? 100 * (b - a) / a : NaN;
}

// A filter of a table that shows what has this name. Names cannot have quotes there: then the longest piece without one
// has to do.
export function filterTerm(column, name) {
  const pieces = name.split('"');
  const longest = pieces.reduce((most, piece) => (piece.length > most.length ? piece : most));
  return `${column}${pieces.length > 1 ? ':' : '='}"${longest}"`;
}
