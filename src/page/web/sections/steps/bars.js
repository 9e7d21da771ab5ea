// What the chart of steps shows: bars of parts, outliers, phases. Nothing here needs a document.

import {CATEGORIES} from '../../colors.js';
import {quantile} from '../../scale.js';

const MAD_SCALE = 1.4826;   // makes the MAD of normally distributed values their standard deviation
const OUTLIER_MADS = 3;
const OUTLIER_SHARE = 0.05;

// The steps of a source: {name, start, ns, phase, inWindow, parts: ns per part}, and the parts that occur, in the order
// in which they are stacked: work, then communication and copies, then idle time; the largest of each first.
export function readSteps(source) {
  const table = source.table('page_steps');
  const parts = readParts(source.table('page_step_parts'), table.rows);
  const steps = Array.from({length: table.rows}, (_, row) => ({
    name: table.get('name', row) ?? '', start: table.get('start', row), ns: table.get('ns', row) ?? 0,
    phase: table.has('phase') ? table.get('phase', row) : null,
    inWindow: table.has('in_window') ? table.get('in_window', row) !== false : true,
    parts: parts.rows[row],
  }));
  return {steps, parts: parts.list};
}

function readParts(table, stepCount) {
  const places = new Map();
  const list = [];
  for (let row = 0; table && row < table.rows; row++) {
    const [part, kind] = [table.get('part', row) ?? '', table.get('kind', row) ?? ''];
    const key = `${kind}\n${part}`;
    if (!places.has(key)) {
      places.set(key, list.length);
      list.push({part, kind, ns: 0});
    }
    list[places.get(key)].ns += table.get('ns', row) ?? 0;
  }
  const sorted = list.filter((part) => part.ns > 0).sort((a, b) => partRank(a) - partRank(b) || b.ns - a.ns);
  const position = new Map(sorted.map((part, i) => [`${part.kind}\n${part.part}`, i]));
  const rows = Array.from({length: stepCount}, () => new Float64Array(sorted.length));
  for (let row = 0; table && row < table.rows; row++) {
    const at = position.get(`${table.get('kind', row) ?? ''}\n${table.get('part', row) ?? ''}`);
    const step = rows[table.get('step', row)];
    if (step && at !== undefined) step[at] += table.get('ns', row) ?? 0;
  }
  return {list: sorted, rows};
}

// The same of several sources, with one list of parts for all, so that their bars are stacked in one order.
export function readStepsOfAll(sources) {
  const all = sources.map(readSteps);
  const joined = new Map();
  for (const {parts} of all) {
    for (const {part, kind, ns} of parts) {
      const key = `${kind}\n${part}`;
      joined.set(key, {part, kind, ns: ns + (joined.get(key)?.ns || 0)});
    }
  }
  const list = [...joined.values()].sort((a, b) => partRank(a) - partRank(b) || b.ns - a.ns);
  for (const {steps, parts} of all) {
    const places = list.map(({part, kind}) => parts.findIndex((one) => one.part === part && one.kind === kind));
    for (const step of steps) step.parts = Float64Array.from(places, (at) => (at < 0 ? 0 : step.parts[at]));
  }
  return {sides: all.map(({steps}) => steps), parts: list};
}

// Means of the parts over the steps in the window, or over all if none are in it.
export function meanParts(steps, count) {
  const inWindow = steps.filter((step) => step.inWindow);
  const counted = inWindow.length ? inWindow : steps;
  return Array.from({length: count}, (_, part) =>
    counted.reduce((sum, step) => sum + step.parts[part], 0) / counted.length);
}

function partRank({part, kind}) {
  if (kind === 'idle') return 3;
  if (kind === 'exposed_communication' || part === 'communication') return 1;
  if (kind === 'exposed_copy' || part === 'copy') return 2;
  return CATEGORIES.includes(part) ? 0 : 4;
}

// Of the steps of one phase: count, mean, p50, p99, and what is usual: median ± 3 scaled MADs, but at least 5 %.
export function stepStatistics(steps) {
  const sorted = Float64Array.from(steps, (step) => step.ns).sort();
  const median = quantile(sorted, 0.5);
  const mad = quantile(sorted.map((ns) => Math.abs(ns - median)).sort(), 0.5);
  const room = Math.max(OUTLIER_MADS * MAD_SCALE * mad, OUTLIER_SHARE * median);
  const sum = sorted.reduce((total, ns) => total + ns, 0);
  return {count: sorted.length, mean: sum / sorted.length, p50: median, p99: quantile(sorted, 0.99),
    low: median - room, high: median + room};
}

// Statistics per phase (key null: steps without one), of the steps in the window; of all if none are in it.
export function phaseStatistics(steps) {
  const phases = new Map();
  const hasWindow = steps.some((step) => step.inWindow);
  for (const step of steps) {
    if (hasWindow && !step.inWindow) continue;
    if (!phases.has(step.phase)) phases.set(step.phase, []);
    phases.get(step.phase).push(step);
  }
  return new Map([...phases].map(([phase, members]) => [phase, stepStatistics(members)]));
}

// Whether each step is far from the usual time of its phase: -1 shorter, 1 longer, 0 usual. Two steps say nothing about
// what is usual, and steps outside the window may be cut off by the end of the trace.
export function findOutliers(steps, phases) {
  const hasWindow = steps.some((step) => step.inWindow);
  return Int8Array.from(steps, (step) => {
    const usual = phases.get(step.phase);
    if (!usual || usual.count < 3 || (hasWindow && !step.inWindow)) return 0;
    return step.ns > usual.high ? 1 : step.ns < usual.low ? -1 : 0;
  });
}

// Bars of equal numbers of steps, at most `most`: {first, last, ns, parts} with means, and outlier: the longest step
// that is not usual, or -1. Where there is room, a bar is one step.
export function groupSteps(steps, outliers, most) {
  const size = Math.max(1, Math.ceil(steps.length / Math.max(1, most)));
  const groups = [];
  for (let first = 0; first < steps.length; first += size) {
    const last = Math.min(first + size, steps.length) - 1;
    const parts = new Float64Array(steps[first].parts.length);
    let [ns, outlier] = [0, -1];
    for (let i = first; i <= last; i++) {
      ns += steps[i].ns;
      for (let part = 0; part < parts.length; part++) parts[part] += steps[i].parts[part];
      if (outliers[i] && (outlier < 0 || steps[i].ns > steps[outlier].ns)) outlier = i;
    }
    const count = last - first + 1;
    groups.push({first, last, ns: ns / count, parts: parts.map((part) => part / count), outlier});
  }
  return {groups, size};
}

// The end of the axis: above all bars, unless a few would make the others too small to be read. Those are cut off.
export function stepLimit(groups) {
  const sorted = Float64Array.from(groups, (group) => group.ns).sort();
  const usual = quantile(sorted, 0.9);
  const largest = sorted.at(-1);
  return largest > 2.5 * usual && usual > 0 ? {limit: 1.5 * usual, isCut: true} : {limit: largest, isCut: false};
}

// What all names begin with, up to a number or sign: ProfilerStep#12, ProfilerStep#13 give ProfilerStep#.
export function commonPrefix(names) {
  if (names.length < 2) return '';
  let length = names[0].length;
  for (const name of names) {
    let same = 0;
    while (same < length && same < name.length && name[same] === names[0][same]) same++;
    length = same;
  }
  return names[0].slice(0, length).replace(/[^\W_]+$/, (word) => (/^\d+$/.test(word) || /\d$/.test(word) ? '' : word));
}
