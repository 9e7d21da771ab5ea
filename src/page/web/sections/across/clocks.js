// By how much the clocks of ranks differ: the offset of each with what it can be wrong by.

import {tableAlternative, tipContent} from '../../chart.js';
import {element} from '../../dom.js';
import {significant, thousands, time} from '../../format.js';
import {cutNotes, ranksHave} from './critical.js';
import {RankDots} from './dots.js';

const CLOCK_ROWS_MAX = 2000;

// Ranks whose clock is known, in ns: [{rank, node, reference, value, error, low, high, drift, used, hops, note}].
export function readClocks(sheet) {
  const get = (name, row) => sheet.get(name, row);
  return Array.from({length: sheet.rows}, (_, row) => {
    const [value, error] = ['offset_us', 'error_us'].map((name) => sheet.column(name)[row] * 1e3);
    return {rank: get('rank', row), node: get('node', row), reference: get('reference_rank', row), value, error,
      low: value - error, high: value + error, drift: get('drift_ppm', row), used: get('collectives_used', row),
      hops: get('hops', row), note: get('note', row)};
  }).filter(({value}) => Number.isFinite(value));
}

// A bound with three digits, rounded up: it must not promise more than the sheet.
export function boundText(ns) {
  const digit = ns > 0 ? 10 ** (Math.floor(Math.log10(ns)) - 2) : 1;
  return time(Math.ceil(ns / digit - 1e-6) * digit);
}

// How far apart the clocks are, and how well that is known. Ranks of different references cannot be compared.
export function clockSentence(clocks, ranks) {
  const groups = new Map();
  for (const clock of clocks) {
    const group = groups.get(clock.reference) ?? {low: Infinity, high: -Infinity, error: 0, ranks: 0};
    groups.set(clock.reference, {low: Math.min(group.low, clock.value), high: Math.max(group.high, clock.value),
      error: Math.max(group.error, clock.error || 0), ranks: group.ranks + 1});
  }
  const all = [...groups.values()].filter((group) => group.ranks > 1);
  const unknown = ranks - clocks.length + [...groups.values()].filter((group) => group.ranks === 1).length;
  const drifting = clocks.filter(({drift}) => drift !== null);
  const most = drifting.reduce((size, {drift}) => Math.max(size, Math.abs(drift)), 0);
  const apart = all.reduce((size, {low, high}) => Math.max(size, high - low), 0);
  const error = all.reduce((size, group) => Math.max(size, group.error), 0);
  const size = apart > error ? `are up to ${time(apart)} apart` : 'differ by less than can be measured';
  return [
    all.length ? `The clocks of ${thousands(ranks - unknown)} ranks ${size}; ` +
      `every offset is known within ${boundText(error)}.` : 'No clock of a rank could be compared with another.',
    all.length > 1 && `The ranks are in ${thousands(all.length)} sets without a common collective, ` +
      'each with its own reference.',
    drifting.length > 0 && `Clocks that drift: ${thousands(drifting.length)}, by up to ${significant(most)} ppm.`,
    unknown > 0 && all.length > 0 &&
      `Clocks that are unknown because their ranks share no collective with others: ${thousands(unknown)}.`,
  ].filter(Boolean).join(' ');
}

const clockTime = (ns) => ({text: time(ns), title: `${ns / 1e3} µs`});

function clockTip(clock) {
  return tipContent(`rank ${clock.rank}${clock.node === null ? '' : `, ${clock.node}`}`, [
    ['offset', `${time(clock.value)} (${thousands(clock.value / 1e3)} µs)`], ['known within', boundText(clock.error)],
    ['compared with', clock.reference === clock.rank ? 'itself' : `rank ${clock.reference}`],
    ['drift', clock.drift !== null && `${significant(clock.drift)} ppm`],
    ['collectives', clock.used !== null && thousands(clock.used)]], clock.note);
}

function buildClocks(page, body) {
  const sheet = page.source(0).table('clock_offsets');
  const clocks = readClocks(sheet);
  body.append(element('p', {class: 'answer'}, clockSentence(clocks, sheet.rows)));
  if (!clocks.length) return;
  const chart = new RankDots(page, {dots: clocks, title: 'offset', least: 2e3,
    label: `Offsets of the clocks of ${thousands(clocks.length)} ranks.`, describe: clockTip,
    say: (clock) => `${time(clock.value)}, known within ${boundText(clock.error)}`});
  const table = tableAlternative('Offsets of clocks', () => ({total: clocks.length,
    heads: ['rank ', 'node', 'reference ', 'offset ', 'known within ', 'drift, ppm ', 'collectives used ', 'hops ',
      'note'],
    rows: clocks.slice(0, CLOCK_ROWS_MAX).map((clock) => [String(clock.rank), clock.node ?? '–',
      String(clock.reference), clockTime(clock.value), {...clockTime(clock.error), text: boundText(clock.error)},
      significant(clock.drift ?? NaN), thousands(clock.used ?? NaN), thousands(clock.hops ?? NaN),
      clock.note ?? ''])}));
  body.append(chart.node, table.node, element('p', {class: 'note'}, cutNotes(page, 'clock_offsets'),
    'What a clock shows more than that of the reference, from the ends of collectives, which all ranks leave ' +
    'together. The line through a dot is what the offset can be wrong by; often it is shorter than the dot.'));
}

export const clocksSection = {
  id: 'clocks',
  title: 'Clocks of ranks',
  short: 'Clocks',
  needs: (page) => ranksHave(page, 'clock_offsets'),
  build: buildClocks,
};
