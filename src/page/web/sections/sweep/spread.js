// What the charts of sweeps show: time differences by threads, channels and rank as boxes and densities, and one scale
// for all sweeps, so that a spread half as large looks half as large. Nothing here needs a document.
//
// Times are ns. Boxes and densities are those of the PNG plots of `sweep plot`.

import {niceMaximum, quantile} from '../../scale.js';

const WHISKER_REACH = 1.5; // times the distance of the quartiles
const DENSITY_POINTS = 100;
const DENSITY_VALUES = 2000; // of more, these quantiles
export const GROUPS_MAX = 128;

// The kind of an axis other than threads and channels: keys of sweeps must not collide with these.
export function axisKind(name) {
  return `axis ${name}`;
}

// The rows of a source: {label, threads, channels, ranks, 'axis NAME', ns}, of threads, channels and further axes those
// that the sweep has; null without data.
export function readSpread(source) {
  const table = source.table('page_variance');
  if (!table || !table.rows) return null;
  const sweep = {label: source.label, ns: Float64Array.from(table.column('time_diff_us'), (us) => us * 1000)};
  for (const [kind, name] of [['threads', 'threads'], ['channels', 'channel'], ['ranks', 'rank']]) {
    if (table.has(name)) sweep[kind] = table.column(name);
  }
  for (const name of table.columnNames) if (name.startsWith('axis ')) sweep[name] = table.column(name);
  return sweep;
}

// All keys of one kind that any sweep has: numbers ascending, words in the order of `known`.
export function keysOf(sweeps, kind, known = null) {
  const keys = new Set();
  for (const sweep of sweeps) for (const key of sweep[kind] || []) keys.add(key);
  return known ? known.filter((key) => keys.has(key)) : [...keys].sort((a, b) => a - b);
}

// Sorted times per key.
export function groupSpread(sweep, kind) {
  const groups = new Map();
  if (!sweep[kind]) return groups;
  sweep.ns.forEach((ns, row) => {
    const key = sweep[kind][row];
    if (!groups.has(key)) groups.set(key, []);
    groups.get(key).push(ns);
  });
  for (const times of groups.values()) times.sort((a, b) => a - b);
  return groups;
}

function mean(times) {
  return times.reduce((sum, ns) => sum + ns, 0) / times.length;
}

// Quartiles, whiskers to the last value within their reach, and the values beyond them.
export function boxOf(sorted) {
  const [low, median, high] = [0.25, 0.5, 0.75].map((share) => quantile(sorted, share));
  const reach = WHISKER_REACH * (high - low);
  const inside = sorted.filter((ns) => ns >= low - reach && ns <= high + reach);
  return {count: sorted.length, mean: mean(sorted), median, low, high, largest: sorted.at(-1),
    whiskerLow: inside.length ? Math.min(inside[0], low) : low,
    whiskerHigh: inside.length ? Math.max(inside.at(-1), high) : high,
    outliers: sorted.filter((ns) => ns < low - reach || ns > high + reach)};
}

// How dense the times are at DENSITY_POINTS places from the least to the largest: [[ns, density]]. Sums of normal
// distributions, as wide as Scott's rule says; empty without a spread.
export function densityOf(sorted) {
  const count = sorted.length;
  const [least, most] = [sorted[0], sorted[count - 1]];
  const middle = mean(sorted);
  const deviation = Math.sqrt(sorted.reduce((sum, ns) => sum + (ns - middle) ** 2, 0) / (count - 1));
  const width = count ** -0.2 * deviation;
  if (!(most > least) || !(width > 0)) return [];
  const few = count <= DENSITY_VALUES ? sorted :
    Array.from({length: DENSITY_VALUES}, (_, i) => quantile(sorted, (i + 0.5) / DENSITY_VALUES));
  return Array.from({length: DENSITY_POINTS}, (_, i) => {
    const at = least + (most - least) * i / (DENSITY_POINTS - 1);
    const sum = few.reduce((total, ns) => total + Math.exp(-(((at - ns) / width) ** 2) / 2), 0);
    return [at, sum / (Math.sqrt(2 * Math.PI) * width * few.length)];
  });
}

// The mean time of each pair of values of two kinds, in the order of their keys: [{key, points: [{key, ns, count}]}].
export function interactionOf(sweep, [kind, otherKind] = ['threads', 'channels'],
  keys = keysOf([sweep], kind), otherKeys = keysOf([sweep], otherKind)) {
  if (!sweep[kind] || !sweep[otherKind]) return [];
  const sums = new Map(keys.map((key) => [key, new Map()]));
  sweep.ns.forEach((ns, row) => {
    const pairs = sums.get(sweep[kind][row]);
    if (!pairs) return;
    const sum = pairs.get(sweep[otherKind][row]) || {total: 0, count: 0};
    pairs.set(sweep[otherKind][row], {total: sum.total + ns, count: sum.count + 1});
  });
  return keys.filter((key) => sums.get(key).size).map((key) => ({key,
    points: otherKeys.filter((other) => sums.get(key).has(other)).map((other) => {
      const {total, count} = sums.get(key).get(other);
      return {key: other, ns: total / count, count};
    })}));
}

// One domain for the times of all sweeps. It has the zero, or heights could not be compared.
export function sharedDomain(listsOfTimes) {
  let [least, most] = [0, 0];
  for (const times of listsOfTimes) {
    for (const ns of times) {
      if (ns < least) least = ns;
      if (ns > most) most = ns;
    }
  }
  if (least === 0 && most === 0) return [0, 1];
  return [least < 0 ? -niceMaximum(-least, 6) : 0, most > 0 ? niceMaximum(most, 6) : 0];
}
