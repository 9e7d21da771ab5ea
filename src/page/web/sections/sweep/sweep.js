// Several sweeps side by side: how much the times of equal GEMM calls differ, by threads, channels and rank, on one
// scale for all sweeps; then the files. Headings are those of the document in the page's HTML, whose parts these
// sections take over: the table of sweeps, the PNG plots, the links to files.

import {announcer, plainTable, tableAlternative, tipContent} from '../../chart.js';
import {documentPart, element, svg} from '../../dom.js';
import {thousands, time} from '../../format.js';
import {bandwidthSection} from './bandwidth.js';
import {changesSection} from './changes.js';
import {hasDecisions, signedPercent} from './decision.js';
import {effectsSection} from './effects.js';
import {overlapSection} from './overlap.js';
import {drawBox, drawPoint, drawViolin, seriesShape, sweepPanels} from './panels.js';
import {tradeOffsSection} from './pareto.js';
import {recommendSection} from './recommend.js';
import {axisKind, boxOf, densityOf, GROUPS_MAX, groupSpread} from './spread.js';
import {interactionOf, keysOf, readSpread, sharedDomain} from './spread.js';
import {timelinesSection} from './timelines.js';

const AXIS_LETTERS = 16; // of a value below a chart; tables have all

const SWEEP_KINDS = {
  threads: {name: 'threads', title: 'Time difference by threads', keyLabel: (key) => thousands(key), values: null},
  channels: {name: 'channels', title: 'Time difference by channels', keyLabel: (key) => thousands(key), values: null},
  ranks: {name: 'rank', title: 'Time difference by rank', keyLabel: (key) => thousands(key), values: null},
};

function shortAxisValue(text) {
  const letters = [...text];
  return letters.length > AXIS_LETTERS ? `${letters.slice(0, AXIS_LETTERS - 1).join('')}…` : text;
}

// How a kind is shown; the axes other than threads and channels are those of the page's facts.
function sweepKind(page, kind) {
  if (SWEEP_KINDS[kind]) return SWEEP_KINDS[kind];
  const {name, values} = page.front.facts.axes.find((axis) => axisKind(axis.name) === kind);
  return {name, title: `Time difference by ${name}`, keyLabel: shortAxisValue, values};
}

function otherKinds(page) {
  return (page.front.facts.axes || []).map(({name}) => axisKind(name));
}

function sweepsHaveKind(page, kind) {
  return sweepsWithRows(page).some((sweep) => sweep[kind]);
}

// All kinds that a sweep has; the rank is no setting.
function settingKinds(page) {
  return [...otherKinds(page), 'threads', 'channels'].filter((kind) => sweepsHaveKind(page, kind));
}

function spreadsOf(page) {
  if (!page.spreads) page.spreads = page.sources.map((source) => ({label: source.label, sweep: readSpread(source)}));
  return page.spreads;
}

// Whether the page is one of `sweep html`, with a document in its HTML.
function hasSweepDocument(page) {
  return page.front.kind === 'sweep' && !hasDecisions(page);
}

function hasRows(page) {
  return spreadsOf(page).some(({sweep}) => sweep);
}

function sweepsWithRows(page) {
  return spreadsOf(page).map(({sweep}) => sweep).filter(Boolean);
}

function exactTime(ns) {
  return {text: time(ns), title: `${Number((ns / 1000).toPrecision(15))} µs`};
}

// ---- charts of groups ----

// Marks of one sweep, made once.
function spreadMarks(sweep, kind, shown) {
  const groups = groupSpread(sweep, kind);
  return shown.filter((key) => groups.has(key)).map((key) => {
    const times = groups.get(key);
    const box = boxOf(times);
    return {key, box, least: times[0], top: box.high, times};
  });
}

function describeGroup({name}) {
  return (sweep, {key, box, least}) => tipContent(`${sweep.label}: ${name} ${sweepKeyText(key)}`, [
    ['rows', thousands(box.count)], ['largest', time(box.largest)], ['third quartile', time(box.high)],
    ['median', time(box.median)], ['first quartile', time(box.low)], ['least', time(least)], ['mean', time(box.mean)],
    ['beyond the whiskers', thousands(box.outliers.length)]]);
}

// A key in full: numbers of threads, channels and ranks, or the value of another axis.
function sweepKeyText(key) {
  return typeof key === 'number' ? thousands(key) : key;
}

function spreadChart(page, kind, isViolin) {
  const sweeps = sweepsWithRows(page);
  const {title, keyLabel, name, values} = sweepKind(page, kind);
  const all = keysOf(sweeps, kind, values);
  const keys = all.slice(0, GROUPS_MAX);
  const marks = new Map(sweeps.map((sweep) => [sweep, spreadMarks(sweep, kind, keys)]));
  if (isViolin) for (const list of marks.values()) for (const mark of list) mark.density = densityOf(mark.times);
  return {title, keys, isNumeric: !values, keyLabel, omitted: all.length - keys.length, xTitle: name,
    yTitle: 'time difference',
    domain: sharedDomain(sweeps.map(({ns}) => ns)), marks: (sweep) => marks.get(sweep),
    draw: isViolin ? drawViolin : drawBox,
    describe: describeGroup(sweepKind(page, kind)), say: ({key, box}) => `${name} ${key}: median ${time(box.median)}`};
}

const GROUP_HEADS = ['sweep', 'rows ', 'mean ', 'median ', 'first quartile ', 'third quartile ', 'least ', 'largest '];

function spreadTable(page, charts) {
  const rows = charts.flatMap((chart) => sweepsWithRows(page).flatMap((sweep) =>
    chart.marks(sweep).map(({key, box, least}) => [
      sweep.label, `${chart.xTitle} ${sweepKeyText(key)}`, thousands(box.count), exactTime(box.mean),
      exactTime(box.median), exactTime(box.low), exactTime(box.high), exactTime(least), exactTime(box.largest)])));
  return {heads: ['sweep', 'group', ...GROUP_HEADS.slice(1)], rows, total: rows.length};
}

// ---- two axes together ----

function pointsOf(sweep, kinds, seriesKeys, keys) {
  return interactionOf(sweep, kinds, seriesKeys, keys).flatMap((one) => {
    const points = one.points.map(({key, ns, count}) => ({key, ns, count, top: ns, seriesKey: one.key,
      series: seriesKeys.indexOf(one.key)}));
    points.forEach((point, i) => point.next = points[i + 1] || null);
    return points;
  });
}

// "256 threads" or "mode fast"
function axisValueText({name, values}, key) {
  return values ? `${name} ${key}` : `${thousands(key)} ${name}`;
}

function interactionChart(page, kinds) {
  const sweeps = sweepsWithRows(page);
  const [first, second] = kinds.map((kind) => sweepKind(page, kind));
  const [allSeries, allKeys] = kinds.map((kind) => keysOf(sweeps, kind, sweepKind(page, kind).values));
  const [seriesKeys, keys] = [allSeries.slice(0, GROUPS_MAX), allKeys.slice(0, GROUPS_MAX)];
  const marks = new Map(sweeps.map((sweep) => [sweep, pointsOf(sweep, kinds, seriesKeys, keys)]));
  const text = ({seriesKey, key}) => `${axisValueText(first, seriesKey)}, ${axisValueText(second, key)}`;
  return {title: first.values ? `Mean time difference by ${second.name}, one line per ${first.name}` :
    `Mean time difference by ${second.name}, one line per number of ${first.name}`,
  first, second, seriesKeys, keys, keyLabel: second.keyLabel,
  omitted: allSeries.length - seriesKeys.length + allKeys.length - keys.length,
  xTitle: second.name, yTitle: 'mean time difference',
  domain: sharedDomain([...marks.values()].map((points) => points.map(({ns}) => ns))),
  marks: (sweep) => marks.get(sweep), draw: drawPoint,
  describe: (sweep, point) => tipContent(`${sweep.label}: ${text(point)}`,
    [['mean', time(point.ns)], ['rows', thousands(point.count)]]),
  say: (point) => `${text(point)}: mean ${time(point.ns)}`};
}

function interactionTable(page, charts) {
  const isOne = charts.length === 1;
  const rows = charts.flatMap((chart) => sweepsWithRows(page).flatMap((sweep) =>
    chart.marks(sweep).map(({seriesKey, key, ns, count}) => [sweep.label,
      isOne ? sweepKeyText(seriesKey) : axisValueText(chart.first, seriesKey),
      isOne ? sweepKeyText(key) : axisValueText(chart.second, key), thousands(count), exactTime(ns)])));
  const [first, second] = isOne ? [charts[0].first.name, charts[0].second.name] : ['setting', 'and'];
  return {heads: ['sweep', `${first} `, `${second} `, 'rows ', 'mean '], rows, total: rows.length};
}

function interactionLegend({first, seriesKeys}) {
  return element('ul', {class: 'legend sweep-legend'}, seriesKeys.map((key, i) => element('li', {},
    svg('svg', {width: 16, height: 16, 'aria-hidden': 'true'}, seriesShape(i, 8, 8)), axisValueText(first, key))));
}

// All pairs of axes.
function interactionCharts(page) {
  const kinds = settingKinds(page);
  return kinds.flatMap((first, i) => kinds.slice(i + 1).map((second) => interactionChart(page, [first, second])));
}

// ---- numbers next to the charts ----

const BESIDE_ROWS = 24;

function signedTimeText(ns) {
  return `${ns < 0 ? '−' : '+'}${time(Math.abs(ns))}`;
}

// A difference with its share; all digits in the tooltip.
function differenceCell(ns, base) {
  if (!Number.isFinite(ns - base)) return '–';
  const share = base > 0 ? `, ${signedPercent(100 * (ns / base - 1))}` : '';
  return {text: `${signedTimeText(ns - base)}${share}`, title: `${(ns - base) / 1000} µs`};
}

// One row per group, with the value of each sweep. Of one sweep, differences are to the least group; of several, to the
// first sweep. `groups` are {name, values: one per sweep}.
function besideTable(page, caption, heads, groups) {
  const sweeps = sweepsWithRows(page);
  const isOne = sweeps.length === 1;
  const least = groups.reduce((low, {values}) => (values[0] < low ? values[0] : low), Infinity);
  const names = sweeps.map(({label}) => label);
  const columns = isOne ? [`${heads.value} `, 'more than the least '] :
    names.flatMap((label, i) => (i ? [`${label} `, `${label} − ${names[0]} `] : [`${label} `]));
  const cells = ({values}) => (isOne ? [exactTime(values[0]), values[0] === least ? 'least' :
    differenceCell(values[0], least)] : values.flatMap((ns, i) => {
    const cell = Number.isFinite(ns) ? exactTime(ns) : '–';
    return i ? [cell, differenceCell(ns, values[0])] : [cell];
  }));
  const shown = groups.slice(0, BESIDE_ROWS);
  return element('div', {class: 'beside scroll'}, plainTable(caption, [...heads.names, ...columns],
    shown.map((group) => [...group.names, ...cells(group)])),
  element('p', {class: 'note'}, isOne ? '' : `${heads.value === 'median' ? 'Medians' : 'Means'} of each sweep. `,
    groups.length > shown.length && `The first ${shown.length} of ${thousands(groups.length)}.`));
}

function medianGroups(page, chart) {
  const sweeps = sweepsWithRows(page);
  const found = sweeps.map((sweep) => new Map(chart.marks(sweep).map((mark) => [mark.key, mark.box.median])));
  return chart.keys.map((key) => ({names: [sweepKeyText(key)], values: found.map((one) => one.get(key) ?? NaN)}));
}

function spreadBeside(page, chart) {
  return besideTable(page, `Medians: ${chart.title}`, {names: [`${chart.xTitle}${chart.isNumeric ? ' ' : ''}`],
    value: 'median'}, medianGroups(page, chart));
}

function interactionBeside(page, chart) {
  const sweeps = sweepsWithRows(page);
  const pairKey = ({seriesKey, key}) => JSON.stringify([seriesKey, key]);
  const found = sweeps.map((sweep) => new Map(chart.marks(sweep).map((mark) => [pairKey(mark), mark.ns])));
  const pairs = chart.seriesKeys.flatMap((seriesKey) => chart.keys.map((key) => ({seriesKey, key})))
    .filter((pair) => found.some((one) => one.has(pairKey(pair))));
  return besideTable(page, `Means: ${chart.title}`, {value: 'mean',
    names: [chart.first, chart.second].map(({name, values}) => `${name}${values ? '' : ' '}`)},
  pairs.map((pair) => ({names: [sweepKeyText(pair.seriesKey), sweepKeyText(pair.key)],
    values: found.map((one) => one.get(pairKey(pair)) ?? NaN)})));
}

// ---- sections ----

// The PNG plots of the sweeps: all that there is without rows, else at hand below the charts.
function plotImages(part, isOnly) {
  const table = documentPart(part);
  if (!table || (!isOnly && !table.querySelector('img'))) return null;
  if (isOnly) return [element('p', {class: 'note'}, 'Each plot has a scale of its own.'), table];
  return element('details', {class: 'alternative sweep-images'},
    element('summary', {}, 'The PNG plots, each with a scale of its own'), element('div', {}, table));
}

function buildCharts(page, body, part, charts, makeTable, {beside, legendOf = null}) {
  if (!hasRows(page)) {
    body.append(...[plotImages(part, true) || 'no data'].flat());
    return;
  }
  const voice = announcer();
  const omitted = charts.reduce((sum, chart) => sum + chart.omitted, 0);
  body.append(element('p', {class: 'note'},
    `${spreadsOf(page).length > 1 ? 'All panels have the same scale: a spread half as large looks half as large.' :
      'A point is one group of equal GEMM calls of one rank: the difference between its slowest and fastest call.'}` +
    `${omitted ? ` ${thousands(omitted)} further groups are not drawn.` : ''}`));
  for (const chart of charts) {
    if (charts.length > 1) body.append(element('h3', {}, chart.title));
    if (legendOf) body.append(legendOf(chart));
    body.append(element('div', {class: 'with-numbers'}, sweepPanels(chart, spreadsOf(page), voice),
      beside(page, chart)));
  }
  body.append(voice.node, tableAlternative(charts[0].title, makeTable).node, plotImages(part, false) || '');
}

// `kindsOf`: the kinds of a page. A sweep without rows is shown by its plots, which are those of threads and channels.
function spreadSection(part, title, short, kindsOf, isViolin) {
  const needs = (page) => page.front.kind === 'sweep' &&
    (hasRows(page) ? kindsOf(page).some((kind) => sweepsHaveKind(page, kind)) :
      part !== 'axes' && hasSweepDocument(page));
  return {id: `variance-${part}`, title, short, needs, build: (page, body) => {
    const kinds = kindsOf(page).filter((kind) => sweepsHaveKind(page, kind));
    const charts = hasRows(page) ? kinds.map((kind) => spreadChart(page, kind, isViolin)) : [];
    buildCharts(page, body, part, charts, () => spreadTable(page, charts), {beside: spreadBeside});
  }};
}

const sweepListSection = {
  id: 'sweeps',
  title: 'Sweep Information',
  short: 'Sweeps',
  needs: hasSweepDocument,
  build: (page, body) => body.append(...['introduction', 'sweeps'].map(documentPart).filter(Boolean)),
};

function interactionSection(id, title, needs) {
  const isThere = (page) => page.front.kind === 'sweep' && needs(page);
  return {id, title, short: 'Interaction', needs: isThere, build: (page, body) => {
    const charts = hasRows(page) ? interactionCharts(page) : [];
    buildCharts(page, body, 'interaction', charts, () => interactionTable(page, charts),
      {beside: interactionBeside, legendOf: interactionLegend});
  }};
}

function hasOtherAxes(page) {
  return hasRows(page) && otherKinds(page).length > 0;
}

// The last one: what is left of the document are its headings.
const sweepFilesSection = {
  id: 'sweep-files',
  title: 'Data Files Information',
  short: 'Files',
  needs: hasSweepDocument,
  build: (page, body) => {
    body.append(documentPart('files') || '');
    document.getElementById('document')?.remove();
  },
};

export const sweepSections = [
  changesSection, recommendSection, tradeOffsSection, effectsSection, overlapSection, bandwidthSection,
  timelinesSection,
  sweepListSection,
  spreadSection('threads', 'Variance by Thread Count', 'Threads', () => ['threads'], false),
  spreadSection('channels', 'Variance by Channel Count', 'Channels', () => ['channels'], false),
  spreadSection('axes', 'Variance by Other Axes', 'Axes', otherKinds, false),
  spreadSection('ranks', 'Variance by Rank', 'Ranks', () => ['ranks'], false),
  spreadSection('distribution', 'Variance Distribution (Violin Plots)', 'Distribution',
    (page) => [...otherKinds(page), 'threads', 'channels', 'ranks'], true),
  interactionSection('variance-interaction', 'Thread-Channel Interaction',
    (page) => !hasOtherAxes(page) && (hasRows(page) ? settingKinds(page).length > 1 : hasSweepDocument(page))),
  interactionSection('variance-axes-interaction', 'Interaction of Axes',
    (page) => hasOtherAxes(page) && settingKinds(page).length > 1),
  sweepFilesSection,
];
