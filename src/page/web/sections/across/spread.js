// How long steps take over ranks: the range of each step with its slowest rank, and the mean and range of each rank.

import {tableAlternative, tipContent} from '../../chart.js';
import {element, svg} from '../../dom.js';
import {percent, shorten, thousands, time} from '../../format.js';
import {quantile, TIME_UNITS, unitTicks} from '../../scale.js';
import {PLOT_HEIGHT, plotTable} from '../sweep/plot_table.js';
import {cutNotes, ranksHave} from './critical.js';
import {dotsDomain, RankDots} from './dots.js';

const SPREAD_STEPS = 1000;
const SPREAD_PINNED = 3;
const SPREAD_LEAST = 0.02; // of the median: the axis is at least this wide
const RANK_ROWS_MAX = 2000;
const SPREAD_COLUMNS = {low: 'min_ms', median: 'median_ms', p95: 'p95_ms', high: 'max_ms'};

// Steps of the sheet rank_steps in ns: [{step, ranks, low, median, p95, high, slowest, node}].
export function readStepSpread(sheet) {
  return Array.from({length: sheet.rows}, (_, row) => ({
    step: sheet.get('step', row), ranks: sheet.get('ranks', row), slowest: sheet.get('slowest_rank', row),
    node: sheet.get('node', row),
    ...Object.fromEntries(Object.entries(SPREAD_COLUMNS).map(([key, name]) => [key, sheet.column(name)[row] * 1e6])),
  })).filter(({low, high}) => high >= low);
}

// Of very many steps those with the longest times, in their order.
export function slowestSteps(steps, most = SPREAD_STEPS) {
  if (steps.length <= most) return steps;
  const order = steps.map((_, i) => i).sort((a, b) => steps[b].high - steps[a].high || a - b);
  return order.slice(0, most).sort((a, b) => a - b).map((i) => steps[i]);
}

// Ranks of the sheet rank_step_times in ns, in order.
export function readRankMeans(sheet) {
  const ns = (name, row) => sheet.column(name)[row] * 1e6;
  return Array.from({length: sheet.rows}, (_, row) => ({
    rank: sheet.get('rank', row), node: sheet.get('node', row), steps: sheet.get('steps', row),
    value: ns('mean_ms', row), sd: ns('sd_ms', row), low: ns('min_ms', row), high: ns('max_ms', row),
    slowest: sheet.get('times_slowest', row)})).filter(({value}) => Number.isFinite(value));
}

// How long steps are, and by how much ranks differ in one.
export function spreadSentence(steps) {
  const median = quantile(steps.map((step) => step.median).sort((a, b) => a - b), 0.5);
  const widest = steps.reduce((most, step) => (step.high - step.low > most.high - most.low ? step : most));
  const spread = widest.high - widest.low;
  if (!(spread > 0)) return `A step takes ${time(median)} on the median rank, and all others take the same time.`;
  return `A step takes ${time(median)} on the median rank. Within a step, ranks differ by up to ${time(spread)} ` +
    `(${percent(spread, widest.median)}): in step ${widest.step}, rank ${widest.slowest} is the slowest.`;
}

function drawRange({low, median, p95, high}, x) {
  const middle = PLOT_HEIGHT / 2;
  const at = (value) => `${x(value).toFixed(3)}%`;
  const end = (value) => svg('line', {class: 'whisker', x1: at(value), x2: at(value), y1: middle - 4, y2: middle + 4});
  return svg('g', {class: 'estimate step-range'},
    svg('line', {class: 'whisker', x1: at(low), x2: at(high), y1: middle, y2: middle}), end(low), end(high),
    Number.isFinite(p95) && Number.isFinite(median) && svg('rect', {class: 'upper', x: at(median), y: middle - 3,
      height: 6, width: `${Math.max(0, x(p95) - x(median)).toFixed(3)}%`}),
    Number.isFinite(median) && svg('circle', {class: 'dot', cx: at(median), cy: middle, r: 4.5}));
}

// A time with so many digits that differences of this size can be seen.
export function fineTime(ns, difference) {
  const [size, unit] = TIME_UNITS.findLast((one) => Math.abs(ns) >= one[0]) || TIME_UNITS[0];
  const usual = 2 - Math.floor(Math.log10(Math.max(1, Math.abs(ns) / size)));
  const wanted = difference > 0 ? 1 - Math.floor(Math.log10(difference / size)) : usual;
  return Number.isFinite(ns) ? `${(ns / size).toFixed(Math.max(0, usual, Math.min(wanted, 6)))} ${unit}` : '–';
}

const exact = (ns, difference) => ({text: difference > 0 ? fineTime(ns, difference) : time(ns),
  title: Number.isFinite(ns) ? `${ns / 1e6} ms` : null});
const withNode = (rank, node) => (node === null ? String(rank) : `${rank}, ${shorten(node, 40)}`);

// One row per step. The slowest ones are also shown if they are not among the first.
function stepRows(steps) {
  const slow = new Set([...steps].sort((a, b) => b.high - a.high).slice(0, SPREAD_PINNED));
  return steps.map((step) => {
    const spread = step.high - step.low;
    const shown = (ns) => fineTime(ns, spread);
    return {mark: step, isPinned: slow.has(step), data: {step: step.step},
      cells: [{text: `step ${step.step}`, isHead: true},
        ...[step.low, step.median, step.p95, step.high].map((ns) => exact(ns, spread)), exact(spread),
        withNode(step.slowest, step.node)],
      tip: () => tipContent(`step ${step.step}`, [['ranks', thousands(step.ranks)], ['fastest', shown(step.low)],
        ['median', shown(step.median)], ['95 % of ranks', `up to ${shown(step.p95)}`], ['slowest', shown(step.high)],
        ['slowest rank', withNode(step.slowest, step.node)]])};
  });
}

function stepSpread(steps) {
  const median = quantile(steps.map((step) => step.median).sort((a, b) => a - b), 0.5);
  const domain = dotsDomain(steps.map(({low, median: value, high}) => ({low, value, high})), median * SPREAD_LEAST);
  const shown = slowestSteps(steps);
  return [element('h3', {}, 'Over ranks, per step'),
    plotTable({caption: 'Step time over ranks', rows: stepRows(shown), domain, draw: drawRange, plotTitle: 'step time',
      heads: ['', 'min ', 'median ', 'p95 ', 'max ', 'spread ', 'slowest rank'],
      ticks: unitTicks(...domain, 5, TIME_UNITS)}),
    element('p', {class: 'note'}, shown.length < steps.length &&
      `The ${thousands(shown.length)} steps with the longest times, of ${thousands(steps.length)}. `,
    'The line goes from the fastest to the slowest rank, the dot is the median, the bar ends where 95 % of ranks ' +
    'are done.')];
}

function rankTip(dot) {
  return tipContent(`rank ${dot.rank}${dot.node === null ? '' : `, ${dot.node}`}`, [['steps', thousands(dot.steps)],
    ['mean', time(dot.value)], ['standard deviation', Number.isFinite(dot.sd) && time(dot.sd)],
    ['fastest step', time(dot.low)], ['slowest step', time(dot.high)],
    ['slowest rank', `in ${thousands(dot.slowest)} of its steps`]]);
}

function rankSpread(page, dots) {
  const means = dots.map(({value}) => value).sort((a, b) => a - b);
  const apart = means.at(-1) - means[0];
  const most = dots.reduce((slow, dot) => (dot.value > slow.value ? dot : slow));
  const chart = new RankDots(page, {dots, title: 'step time', least: quantile(means, 0.5) * SPREAD_LEAST,
    label: `Mean step time of ${thousands(dots.length)} ranks, from ${time(means[0])} to ${time(means.at(-1))}.`,
    describe: rankTip, say: (dot) => `mean ${time(dot.value)}, from ${time(dot.low)} to ${time(dot.high)}`});
  const table = tableAlternative('Step time per rank', () => ({total: dots.length,
    heads: ['rank ', 'node', 'steps ', 'mean ', 'standard deviation ', 'min ', 'max ', 'times slowest '],
    rows: dots.slice(0, RANK_ROWS_MAX).map((dot) => [String(dot.rank), dot.node ?? '–', thousands(dot.steps),
      exact(dot.value, apart), exact(dot.sd), exact(dot.low, apart), exact(dot.high, apart),
      thousands(dot.slowest)])}));
  const cut = cutNotes(page, 'rank_steps', 'rank_step_times');
  return [element('h3', {class: 'rank-means'}, 'Per rank'), element('p', {class: 'note'}, cut,
    `Mean and range over the steps of each rank. The longest mean is that of rank ${most.rank}: ${time(most.value)}, ` +
    `${percent(most.value - quantile(means, 0.5), quantile(means, 0.5))} more than the median of ranks. Ranks leave ` +
    'collectives together, so a rank that makes all others wait does not stand out here.'), chart.node, table.node];
}

function buildSpread(page, body) {
  const steps = readStepSpread(page.source(0).table('rank_steps'));
  const times = page.source(0).has('rank_step_times') ? readRankMeans(page.source(0).table('rank_step_times')) : [];
  if (!steps.length) {
    body.append(element('p', {class: 'empty'}, 'No step has a time on any rank.'));
    return;
  }
  body.append(element('p', {class: 'answer'}, spreadSentence(steps)), ...stepSpread(steps));
  if (times.length) body.append(...rankSpread(page, times));
}

export const stepSpreadSection = {
  id: 'rank-spread',
  title: 'Step time over ranks',
  short: 'Step times',
  needs: (page) => ranksHave(page, 'rank_steps'),
  build: buildSpread,
};
