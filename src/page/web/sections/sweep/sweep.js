// Several sweeps side by side: how much the times of equal GEMM calls differ, by threads, channels and rank, on one
// scale for all sweeps; then the files. Headings are those of the document in the page's HTML, whose parts these
// sections take over: the table of sweeps, the PNG plots, the links to files.

import {announcer, tableAlternative, tipContent} from '../../chart.js';
import {documentPart, element, svg} from '../../dom.js';
import {thousands, time} from '../../format.js';
import {drawBox, drawPoint, drawViolin, seriesShape, sweepPanels} from './panels.js';
import {boxOf, densityOf, GROUPS_MAX, groupSpread, interactionOf, keysOf, readSpread, sharedDomain} from './spread.js';

const SWEEP_KINDS = {
  threads: {name: 'threads', title: 'Time difference by threads', keyLabel: (key) => thousands(key)},
  channels: {name: 'channels', title: 'Time difference by channels', keyLabel: (key) => thousands(key)},
  ranks: {name: 'rank', title: 'Time difference by rank', keyLabel: (key) => thousands(key)},
};

function spreadsOf(page) {
  if (!page.spreads) page.spreads = page.sources.map((source) => ({label: source.label, sweep: readSpread(source)}));
  return page.spreads;
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

function describeGroup(kind) {
  return (sweep, {key, box, least}) => tipContent(`${sweep.label}: ${SWEEP_KINDS[kind].name} ${thousands(key)}`, [
    ['rows', thousands(box.count)], ['largest', time(box.largest)], ['third quartile', time(box.high)],
    ['median', time(box.median)], ['first quartile', time(box.low)], ['least', time(least)], ['mean', time(box.mean)],
    ['beyond the whiskers', thousands(box.outliers.length)]]);
}

function spreadChart(page, kind, isViolin) {
  const sweeps = sweepsWithRows(page);
  const {title, keyLabel, name} = SWEEP_KINDS[kind];
  const all = keysOf(sweeps, kind);
  const keys = all.slice(0, GROUPS_MAX);
  const marks = new Map(sweeps.map((sweep) => [sweep, spreadMarks(sweep, kind, keys)]));
  if (isViolin) for (const list of marks.values()) for (const mark of list) mark.density = densityOf(mark.times);
  return {title, keys, keyLabel, omitted: all.length - keys.length, xTitle: name, yTitle: 'time difference',
    domain: sharedDomain(sweeps.map(({ns}) => ns)), marks: (sweep) => marks.get(sweep),
    draw: isViolin ? drawViolin : drawBox,
    describe: describeGroup(kind), say: ({key, box}) => `${name} ${key}: median ${time(box.median)}`};
}

const GROUP_HEADS = ['sweep', 'rows ', 'mean ', 'median ', 'first quartile ', 'third quartile ', 'least ', 'largest '];

function spreadTable(page, charts) {
  const rows = charts.flatMap((chart) => sweepsWithRows(page).flatMap((sweep) =>
    chart.marks(sweep).map(({key, box, least}) => [
      sweep.label, `${chart.xTitle} ${thousands(key)}`, thousands(box.count), exactTime(box.mean),
      exactTime(box.median), exactTime(box.low), exactTime(box.high), exactTime(least), exactTime(box.largest)])));
  return {heads: ['sweep', 'group', ...GROUP_HEADS.slice(1)], rows, total: rows.length};
}

// ---- threads and channels together ----

function pointsOf(sweep, threads) {
  return interactionOf(sweep).flatMap((one) => {
    const points = one.points.map(({channels, ns, count}) => ({key: channels, ns, count, top: ns, threads: one.threads,
      series: threads.indexOf(one.threads)}));
    points.forEach((point, i) => point.next = points[i + 1]);
    return points;
  });
}

function interactionChart(page) {
  const sweeps = sweepsWithRows(page);
  const allThreads = keysOf(sweeps, 'threads');
  const allChannels = keysOf(sweeps, 'channels');
  const [threads, keys] = [allThreads.slice(0, GROUPS_MAX), allChannels.slice(0, GROUPS_MAX)];
  const isShown = (point) => point && point.series >= 0 && keys.includes(point.key);
  const marks = new Map(sweeps.map((sweep) => [sweep, pointsOf(sweep, threads).filter(isShown)
    .map((point) => ({...point, next: isShown(point.next) ? point.next : null}))]));
  return {title: 'Mean time difference by channels, one line per number of threads', threads, keys,
    keyLabel: (key) => thousands(key), omitted: allThreads.length - threads.length + allChannels.length - keys.length,
    xTitle: 'channels', yTitle: 'mean time difference',
    domain: sharedDomain([...marks.values()].map((points) => points.map(({ns}) => ns))),
    marks: (sweep) => marks.get(sweep), draw: drawPoint,
    describe: (sweep, point) => tipContent(
      `${sweep.label}: ${thousands(point.threads)} threads, ${thousands(point.key)} channels`,
      [['mean', time(point.ns)], ['rows', thousands(point.count)]]),
    say: (point) => `${point.threads} threads, ${point.key} channels: mean ${time(point.ns)}`};
}

function interactionTable(page, chart) {
  const rows = sweepsWithRows(page).flatMap((sweep) => chart.marks(sweep).map(({threads, key, ns, count}) => [
    sweep.label, thousands(threads), thousands(key), thousands(count), exactTime(ns)]));
  return {heads: ['sweep', 'threads ', 'channels ', 'rows ', 'mean '], rows, total: rows.length};
}

function threadsLegend(threads) {
  return element('ul', {class: 'legend sweep-legend'}, threads.map((count, i) => element('li', {},
    svg('svg', {width: 16, height: 16, 'aria-hidden': 'true'}, seriesShape(i, 8, 8)), `${thousands(count)} threads`)));
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

function buildCharts(page, body, part, charts, makeTable, above = null) {
  if (!hasRows(page)) {
    body.append(...[plotImages(part, true) || 'no data'].flat());
    return;
  }
  const voice = announcer();
  const omitted = charts.reduce((sum, chart) => sum + chart.omitted, 0);
  body.append(element('p', {class: 'note'},
    'All panels have the same scale: a spread half as large looks half as large.' +
    `${omitted ? ` ${thousands(omitted)} further groups are not drawn.` : ''}`));
  if (above) body.append(above);
  for (const chart of charts) {
    if (charts.length > 1) body.append(element('h3', {}, chart.title));
    body.append(sweepPanels(chart, spreadsOf(page), voice));
  }
  body.append(voice.node, tableAlternative(charts[0].title, makeTable).node, plotImages(part, false) || '');
}

function spreadSection(part, title, short, kinds, isViolin) {
  return {id: `variance-${part}`, title, short, needs: (page) => page.front.kind === 'sweep', build: (page, body) => {
    const charts = hasRows(page) ? kinds.map((kind) => spreadChart(page, kind, isViolin)) : [];
    buildCharts(page, body, part, charts, () => spreadTable(page, charts));
  }};
}

const sweepListSection = {
  id: 'sweeps',
  title: 'Sweep Information',
  short: 'Sweeps',
  needs: (page) => page.front.kind === 'sweep',
  build: (page, body) => body.append(...['introduction', 'sweeps'].map(documentPart).filter(Boolean)),
};

const interactionSection = {
  id: 'variance-interaction',
  title: 'Thread-Channel Interaction',
  short: 'Interaction',
  needs: (page) => page.front.kind === 'sweep',
  build: (page, body) => {
    const chart = hasRows(page) ? interactionChart(page) : null;
    buildCharts(page, body, 'interaction', chart ? [chart] : [], () => interactionTable(page, chart),
      chart && threadsLegend(chart.threads));
  },
};

// The last one: what is left of the document are its headings.
const sweepFilesSection = {
  id: 'sweep-files',
  title: 'Data Files Information',
  short: 'Files',
  needs: (page) => page.front.kind === 'sweep',
  build: (page, body) => {
    body.append(documentPart('files') || '');
    document.getElementById('document')?.remove();
  },
};

export const sweepSections = [
  sweepListSection,
  spreadSection('threads', 'Variance by Thread Count', 'Threads', ['threads'], false),
  spreadSection('channels', 'Variance by Channel Count', 'Channels', ['channels'], false),
  spreadSection('ranks', 'Variance by Rank', 'Ranks', ['ranks'], false),
  spreadSection('distribution', 'Variance Distribution (Violin Plots)', 'Distribution',
    ['threads', 'channels', 'ranks'], true),
  interactionSection,
  sweepFilesSection,
];
