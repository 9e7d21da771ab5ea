// A folder of ranks: what each GPU did with its time, and which groups of ops took it. Bars of one chart have one
// scale.

import {plainTable, tableAlternative, tipContent} from '../../chart.js';
import {categoryColor, causeCss} from '../../colors.js';
import {element, onceAFrame} from '../../dom.js';
import {percent, thousands, time} from '../../format.js';
import {legend} from '../../legend.js';
import {tooltip} from '../../tooltip.js';

const BATCH_RANKS_MAX = 512;

// Rows of gpu_timelines that add up to total_time.
export const BATCH_PARTS = [
  {type: 'computation_time', label: 'computation', css: () => 'var(--accent)'},
  {type: 'exposed_comm_time', label: 'exposed communication', css: () => categoryColor('communication')},
  {type: 'exposed_memcpy_time', label: 'exposed copies', css: () => categoryColor('copy')},
  {type: 'idle_time', label: 'idle', css: () => causeCss('outside')},
];

// Groups of grouped_breakdown that have a colour of their own.
const GROUP_CATEGORIES = {Attention: 'attention', GEMM: 'GEMM', Conv: 'convolution', Norm: 'normalisation',
  Elemwise: 'elementwise', Comms: 'communication', Memcpy: 'copy'};

// ---- what the charts show ----

// One entry per rank in the order of the columns: {rank, ns: [of BATCH_PARTS], total}. Ranks without GPU events are
// absent.
function readRankTimes(table) {
  const rowOf = (type) => table.find('type', type);
  const ns = (column, type) => (rowOf(type) < 0 ? NaN : table.column(column)[rowOf(type)] * 1e6);
  const prefix = 'time_ms_';
  return table.columnNames.filter((name) => name.startsWith(prefix) && /^-?\d+$/.test(name.slice(prefix.length)))
    .map((name) => ({rank: name.slice(prefix.length), ns: BATCH_PARTS.map(({type}) => ns(name, type) || 0),
      total: ns(name, 'total_time')}))
    .filter(({total}) => total > 0);
}

// Groups with time, longest first: [{group, ns}].
function readGroupTimes(table) {
  const seconds = table.column('Time (s)');
  return Array.from(table.column('Group'), (group, row) => ({group, ns: seconds[row] * 1e9}))
    .filter(({group, ns}) => group !== 'Total' && ns > 0).sort((a, b) => b.ns - a.ns);
}

// ---- bars ----

export function exactMs(ns) {
  return {text: time(ns), title: `${Number((ns / 1e6).toPrecision(15))} ms`};
}

// A line of a chart: a name, a bar of segments on the scale of `most`, and its time. Segments are {label, css, ns}.
export function batchLine({name, segments, total, text, most, tip}) {
  const bar = element('div', {class: 'batch-bar', style: {width: `${100 * total / most}%`}},
    segments.filter(({ns}) => ns > 0).map(({label, css, ns}) => element('span', {class: 'batch-segment',
      dataset: {part: label}, style: {flexGrow: String(ns / total), background: css}})));
  const node = element('li', {class: 'batch-line', tabindex: 0, 'aria-label': text},
    element('span', {class: 'elide', title: name}, name),
    element('span', {class: 'batch-track'}, bar),
    element('span', {class: 'number', title: exactMs(total).title}, time(total)));
  tooltip.attach(node, tip);
  return node;
}

function batchRankLine({rank, ns, total}, most) {
  const parts = BATCH_PARTS.map(({label}, i) => [label, `${time(ns[i])} · ${percent(ns[i], total)}`]);
  return batchLine({name: `rank ${rank}`, total, most,
    segments: BATCH_PARTS.map(({label, css}, i) => ({label, css: css(), ns: ns[i]})),
    text: `rank ${rank}: ${time(total)}; ${parts.map((part) => part.join(' ')).join(', ')}`,
    tip: () => tipContent(`rank ${rank}`, [...parts, ['total', time(total)]])});
}

function batchGroupLine({group, ns}, most, sum) {
  const css = categoryColor(GROUP_CATEGORIES[group] || 'other');
  return batchLine({name: group, total: ns, most, segments: [{label: group, css, ns}],
    text: `${group}: ${time(ns)}, ${percent(ns, sum)}`,
    tip: () => tipContent(group, [['mean of all ranks', time(ns)], ['share', percent(ns, sum)]])});
}

// Draws again in the other theme's colours.
export function drawLines(page, list, draw) {
  const update = () => list.replaceChildren(...draw());
  update();
  page.state.on(['theme'], onceAFrame(update));
}

// ---- sections ----

function buildBatchRanks(page, body) {
  const ranks = readRankTimes(page.source(0).table('gpu_timelines'));
  const shown = ranks.slice(0, BATCH_RANKS_MAX);
  const most = Math.max(...ranks.map(({total}) => total));
  const list = element('ul', {class: 'batch-lines', 'aria-label': 'time per rank'});
  const names = element('div', {});
  drawLines(page, list, () => {
    names.replaceChildren(legend(BATCH_PARTS.map(({label, css}) => ({label, css: css()}))));
    return shown.map((rank) => batchRankLine(rank, most));
  });
  const table = tableAlternative('Time per rank', () => ({
    heads: ['rank', ...BATCH_PARTS.map(({label}) => `${label} `), 'total '],
    rows: ranks.map(({rank, ns, total}) => [rank, ...ns.map(exactMs), exactMs(total)]), total: ranks.length}));
  body.append(names, list, table.node);
  if (shown.length < ranks.length) {
    body.append(element('p', {class: 'note'},
      `The first ${thousands(shown.length)} of ${thousands(ranks.length)} ranks.`));
  }
}

function buildGroupTimes(page, body) {
  const groups = readGroupTimes(page.source(0).table('grouped_breakdown'));
  const sum = groups.reduce((total, {ns}) => total + ns, 0);
  const list = element('ul', {class: 'batch-lines', 'aria-label': 'time by group of ops'});
  drawLines(page, list, () => groups.map((group) => batchGroupLine(group, groups[0].ns, sum)));
  body.append(element('p', {class: 'note'},
    'GPU time of kernels by the op that launched them, the mean of all ranks. Communication and copies ' +
    'may have run at the same time as computation.'), list,
  element('div', {class: 'visually-hidden'}, plainTable('Time by group of ops', ['group', 'time ', 'share '],
    groups.map(({group, ns}) => [group, exactMs(ns), percent(ns, sum)]))));
}

function hasSheet(page, name) {
  return page.front.kind === 'batch' && page.source(0).has(name);
}

export const batchSections = [
  {id: 'rank-times', title: 'Time per rank', short: 'Ranks',
    needs: (page) => hasSheet(page, 'gpu_timelines') && readRankTimes(page.source(0).table('gpu_timelines')).length > 0,
    build: buildBatchRanks},
  {id: 'group-times', title: 'Where the time goes', short: 'Groups',
    needs: (page) => hasSheet(page, 'grouped_breakdown') &&
      readGroupTimes(page.source(0).table('grouped_breakdown')).length > 0,
    build: buildGroupTimes},
];
