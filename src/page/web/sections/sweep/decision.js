// What the tables of a sweep say about its settings: values, intervals and words. Nothing here needs a document.
//
// Times are ms here, as in the sheets; an estimate is {value, low, high} with NaN where something is unknown.

import {shorten, significant, thousands} from '../../format.js';
import {linearTicks} from '../../scale.js';

export const SURE_BELOW = 0.05;
const NAME_LETTERS = 32; // of an axis or a value in a sentence; tables have them in full

// ---- reading ----

// Columns of a table as functions of the row; a column that is not there has no numbers.
function reader(table) {
  const cells = new Map();
  const column = (name) => {
    if (!cells.has(name)) cells.set(name, table?.has(name) ? table.column(name) : []);
    return cells.get(name);
  };
  const number = (name, row) => column(name)[row] ?? NaN;
  const estimate = (row, value, low, high) => ({value: number(value, row), low: number(low, row),
    high: number(high, row)});
  return {number, estimate, text: (name, row) => column(name)[row] ?? null};
}

// Axes with at least two values, by their number: the others do not distinguish settings.
function varyingAxes(axes) {
  return axes.map((axis, number) => ({...axis, number})).filter(({values}) => values.length > 1);
}

function settingOf(read, own, axes, row) {
  const values = axes.map(({name}) => own.text(`axis ${name}`, row));
  return {row, name: read.text('setting', row), values,
    measurements: read.number('measurements', row), status: read.text('status', row),
    step: read.estimate(row, 'step_ms', 'step_low_ms', 'step_high_ms'),
    difference: read.estimate(row, 'difference_pct', 'difference_low_pct', 'difference_high_pct'),
    p: read.number('p_value', row), single: read.number('p_single', row),
    isToldApart: read.text('told_apart', row) === true, isOnFront: read.text('pareto_front', row) === true,
    exposed: read.number('exposed_comm_ms', row), gemm: read.number('gemm_ms', row),
    slowdown: read.number('gemm_slowdown', row), cost: read.number('gemm_slowdown_ms', row),
    bus: read.number('bus_gb_s', row),
    toBaseline: own.estimate(row, 'baseline_pct', 'baseline_low_pct', 'baseline_high_pct'),
    baselineP: own.number('baseline_p', row)};
}

// "threads=256 channels=28": what distinguishes a setting from the others. Long values are cut.
function settingText(axes, values, name) {
  const parts = axes.filter(({number}) => values[number] !== null)
    .map((axis) => `${shorten(axis.name, NAME_LETTERS)}=${shorten(values[axis.number], NAME_LETTERS)}`);
  return parts.length ? parts.join(' ') : shorten(name ?? '', NAME_LETTERS);
}

// The decision about one sweep: {label, facts, axes, varying, settings (by rank), baseline}.
function readDecision(source, facts) {
  const table = source.table('recommendation');
  const [read, own] = [reader(table), reader(source.table('page_settings'))];
  const varying = varyingAxes(facts.axes);
  const settings = Array.from({length: table?.rows ?? 0}, (_, row) => settingOf(read, own, facts.axes, row));
  for (const setting of settings) setting.text = settingText(varying, setting.values, setting.name);
  return {label: source.label, source, facts, axes: facts.axes, varying, settings,
    measured: settings.filter(({step}) => Number.isFinite(step.value)), baseline: settings[facts.baseline] || null};
}

export function decisionsOf(page) {
  if (!page.decisions) {
    const facts = page.front.facts.decisions || [];
    page.decisions = facts.map((one, i) => readDecision(page.source(i), one));
  }
  return page.decisions;
}

export function hasDecisions(page) {
  return page.front.kind === 'sweep' && (page.front.facts.decisions || []).length > 0;
}

// Means of the step time: {axis, place, other, otherPlace, settings, step}; other is null of means of one axis.
export function readMeans({source}) {
  const table = source.table('page_effect_means');
  const read = reader(table);
  const whole = (name, row) => (Number.isNaN(read.number(name, row)) ? null : read.number(name, row));
  return Array.from({length: table?.rows ?? 0}, (_, row) => ({axis: whole('axis_1', row), place: whole('value_1', row),
    other: whole('axis_2', row), otherPlace: whole('value_2', row), settings: read.number('settings', row),
    step: read.estimate(row, 'step_ms', 'step_low_ms', 'step_high_ms')}));
}

// Rows of the analysis of variance.
export function readEffects({source}) {
  const table = source.table('effects');
  const read = reader(table);
  return Array.from({length: table?.rows ?? 0}, (_, row) => ({term: read.text('term', row) ?? '',
    share: read.number('share_pct', row), freedom: read.number('degrees_of_freedom', row),
    f: read.number('f_value', row), p: read.number('p_value', row), against: read.text('compared_with', row)}));
}

// GEMMs during collectives: {gemms: [{kernel, op, shape}], rows: [{setting, gemm, slowdown, ...}]}.
export function readOverlap({source}) {
  const [gemms, table] = ['page_gemms', 'page_overlap'].map((name) => source.table(name));
  const [about, read] = [reader(gemms), reader(table)];
  return {
    gemms: Array.from({length: gemms?.rows ?? 0}, (_, row) => ({kernel: about.text('kernel_name', row) ?? '',
      op: about.text('op', row) ?? '', shape: about.text('shape', row) ?? ''})),
    rows: Array.from({length: table?.rows ?? 0}, (_, row) => ({setting: read.number('setting', row),
      gemm: read.number('gemm', row), slowdown: read.estimate(row, 'slowdown', 'slowdown_low', 'slowdown_high'),
      without: read.number('us_without', row), during: read.number('us_with', row), cost: read.number('cost_ms', row),
      calls: ['calls_without', 'calls_with', 'calls_partial'].map((name) => read.number(name, row))})),
  };
}

// Bandwidths: [{setting, collective, bytes, bus, latency, count}].
export function readBandwidths({source}) {
  const table = source.table('page_bandwidth');
  const read = reader(table);
  return Array.from({length: table?.rows ?? 0}, (_, row) => ({setting: read.number('setting', row),
    collective: read.text('collective', row) ?? 'unknown', bytes: read.number('message_mb', row) * 1048576,
    bus: read.estimate(row, 'bus_gb_s', 'bus_low_gb_s', 'bus_high_gb_s'), latency: read.number('latency_us', row),
    count: read.number('count', row)}));
}

// A sum of rounded numbers may differ a little from zero.
function atLeast(value, least) {
  return value > least ? value : 0;
}

// Mean timelines: [{setting, computation, communication, copies, idle, total}] in ms.
export function readTimelines({source}) {
  const table = source.table('page_timelines');
  const read = reader(table);
  return Array.from({length: table?.rows ?? 0}, (_, row) => {
    const [computation, communication, busy, idle, total] = ['computation_time_ms', 'exposed_comm_time_ms',
      'busy_time_ms', 'idle_time_ms', 'total_time_ms'].map((name) => read.number(name, row));
    return {setting: read.number('setting', row), computation, communication, idle, total,
      copies: atLeast(busy - computation - communication, total * 1e-9)};
  });
}

// Changes since the first sweep: [{measure, setting, before, old, now, change, p, single, verdict}].
export function readChanges({source}) {
  const table = source.table('page_changes');
  const read = reader(table);
  return Array.from({length: table?.rows ?? 0}, (_, row) => ({measure: read.text('measure', row),
    setting: read.number('setting', row), before: read.number('before', row), old: read.number('old', row),
    now: read.number('new', row), p: read.number('p_value', row), single: read.number('p_single', row),
    verdict: read.text('verdict', row),
    change: read.estimate(row, 'change_pct', 'change_low_pct', 'change_high_pct')}));
}

// ---- the first sweep ----

// The setting with the same name in the first sweep of the page; null in the first sweep itself, or if it lacks it.
function settingBefore(page, decision, setting) {
  const [first] = decisionsOf(page);
  if (decision === first) return null;
  if (!first.byName) first.byName = new Map(first.settings.map((one) => [one.name, one]));
  return first.byName.get(setting.name) || null;
}

// A column of pages of several sweeps: how a number differs from that of the first sweep. In the first sweep it has no
// numbers, but keeps the tables aligned. `valueOf(setting)` is the number there.
export function sinceColumn(page, decision, valueOf) {
  const [first, second] = decisionsOf(page);
  if (!second) return {heads: [], cells: () => []};
  return {heads: [`since ${shorten(first.label, 24)} `], cells: (setting, value) => {
    const before = settingBefore(page, decision, setting);
    const change = before ? 100 * (value / valueOf(before) - 1) : NaN;
    return [exactCell(signedPercent(change), change, '%')];
  }};
}

// ---- judgements ----

// What is known of a setting compared with the fastest: best, candidate, slower or unmeasured.
export function standingOf({facts}, setting) {
  if (!Number.isFinite(setting.step.value)) return 'unmeasured';
  if (setting.isToldApart) return 'slower';
  if (setting.row === 0 && facts.candidates === 1 && facts.measured > 1) return 'best';
  return facts.measured > 1 ? 'candidate' : 'only';
}

export const STANDING_WORDS = {
  best: 'best', candidate: 'not told apart', slower: 'slower', unmeasured: 'not measured', only: 'only one',
};

// The settings that no other one beats in both figures; `better` says whether a is better than b in the second one.
// Settings are by the first figure, which is the step time.
export function frontOf(settings, figure, isLess) {
  const front = [];
  for (const setting of settings) {
    const value = setting[figure];
    if (!Number.isFinite(value) || !Number.isFinite(setting.step.value)) continue;
    const last = front.at(-1);
    if (!last || (isLess ? value < last[figure] : value > last[figure])) front.push(setting);
  }
  return front;
}

// ---- domains ----

// From the least to the largest end of the estimates, with room at both ends. At least a fifth of a percent wide.
export function estimateDomain(estimates, extra = []) {
  let [low, high] = [Infinity, -Infinity];
  for (const one of [...estimates.flatMap(({value, low: from, high: to}) => [value, from, to]), ...extra]) {
    if (!Number.isFinite(one)) continue;
    low = Math.min(low, one);
    high = Math.max(high, one);
  }
  if (!(high >= low)) return [0, 1];
  const room = Math.max((high - low) * 0.04, Math.abs(high) * 0.001, 1e-12);
  return [low - room, high + room];
}

// About `count` round values, but at least two: one tick says nothing about a scale.
function enoughTicks(low, high, count) {
  const ticks = linearTicks(low, high, count);
  return ticks.length > 1 || count > 50 ? ticks : enoughTicks(low, high, count + 1);
}

// Ticks of a domain in ms with labels in one unit: [{value, label}].
export function msTicks([low, high], count) {
  const [size, unit] = msUnit(Math.max(Math.abs(low), Math.abs(high)));
  const ticks = enoughTicks(low / size, high / size, count);
  const digits = tickDigits(ticks);
  return ticks.map((value) => ({value: value * size, label: `${value.toFixed(digits)} ${unit}`}));
}

// As many decimals as the ticks need.
function tickDigits(ticks) {
  const isExact = (digits) => ticks.every((tick) =>
    Math.abs(Number(tick.toFixed(digits)) - tick) <= 1e-9 * Math.abs(tick));
  return [0, 1, 2, 3, 4, 5].find(isExact) ?? 6;
}

// Ticks of percentages, factors, and so on.
export function plainTicks([low, high], count, suffix = '') {
  const ticks = enoughTicks(low, high, count);
  const digits = tickDigits(ticks);
  return ticks.map((value) => ({value, label: `${value.toFixed(digits).replace('-', '−')}${suffix}`}));
}

// ---- numbers as displayed ----

function msUnit(ms) {
  if (ms >= 999.5) return [1000, 's'];
  if (ms >= 0.9995) return [1, 'ms'];
  return ms >= 0.0009995 ? [1e-3, 'µs'] : [1e-6, 'ns'];
}

// Four digits: settings often differ in the third or fourth.
export function stepTime(ms) {
  if (!Number.isFinite(ms)) return '–';
  const [size, unit] = msUnit(Math.abs(ms));
  const value = ms / size;
  if (Math.abs(ms) < 1e-9) return '0 ms';
  const digits = Math.max(0, Math.min(3, 3 - Math.floor(Math.log10(Math.abs(value)))));
  return `${Math.abs(value) >= 1000 ? thousands(Math.round(value)) : value.toFixed(digits)} ${unit}`;
}

export function stepInterval({low, high}) {
  if (!Number.isFinite(low) || !Number.isFinite(high)) return '–';
  const [from, to] = [stepTime(low), stepTime(high)].map((text) => text.split(' '));
  return from[1] === to[1] ? `${from[0]} to ${to[0]}` : `${from.join(' ')} to ${to.join(' ')}`;
}

// "+3.6 %" with a real minus.
export function signedPercent(value) {
  if (!Number.isFinite(value)) return '–';
  const size = Math.abs(value);
  if (size < 0.005) return '0.0 %';
  const digits = size >= 99.95 ? 0 : size >= 0.095 ? 1 : 2;
  return `${value < 0 ? '−' : '+'}${digits ? size.toFixed(digits) : thousands(Math.round(size))} %`;
}

export function percentInterval({low, high}) {
  if (!Number.isFinite(low) || !Number.isFinite(high)) return '–';
  return `${signedPercent(low).slice(0, -2)} to ${signedPercent(high)}`;
}

export function factor(value) {
  return Number.isFinite(value) ? `${value.toFixed(value >= 9.995 ? 1 : 3)}×` : '–';
}

export function probability(p) {
  if (!Number.isFinite(p)) return '–';
  if (p < 0.0001) return '< 0.0001';
  return p >= 0.0995 ? p.toFixed(2) : String(Number(p.toPrecision(2)));
}

export function quantity(value, unit = '') {
  return Number.isFinite(value) ? `${significant(value)}${unit && ` ${unit}`}` : '–';
}

// A cell with all digits in its tooltip.
export function exactCell(text, value, unit = '') {
  return {text, title: Number.isFinite(value) ? `${value}${unit && ` ${unit}`}` : null};
}
