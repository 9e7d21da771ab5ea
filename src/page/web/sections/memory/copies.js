// Copies and memsets: by direction and kind, and by size and bandwidth. Nothing here needs a document.

import {pairRows} from '../../compared.js';
import {logDomain} from '../../scale.js';

// Rows of page_copies: {direction, kind, bytes (of one; NaN: unknown), count, ns, rate (GB/s; NaN: unknown)}, in the
// order of the table.
export function readCopies(table) {
  return Array.from({length: table.rows}, (_, row) => {
    const [bytes, count, ns] = ['bytes', 'count', 'ns'].map((name) => table.get(name, row) ?? NaN);
    return {direction: table.get('direction', row) ?? 'unknown', kind: table.get('kind', row) ?? '', bytes, count, ns,
      rate: ns > 0 ? bytes * count / ns : NaN};
  });
}

// The same by direction and kind, the longest first. Bytes and rate are those of copies whose size is known; sizeNs is
// their time.
export function groupCopies(copies) {
  const groups = new Map();
  for (const copy of copies) {
    const key = `${copy.direction}\n${copy.kind}`;
    if (!groups.has(key)) {
      groups.set(key, {direction: copy.direction, kind: copy.kind, count: 0, ns: 0, bytes: 0, sizeNs: 0});
    }
    const group = groups.get(key);
    group.count += copy.count || 0;
    group.ns += copy.ns || 0;
    if (!Number.isFinite(copy.rate)) continue;
    group.bytes += copy.bytes * copy.count;
    group.sizeNs += copy.wholeNs ?? copy.ns;
  }
  for (const group of groups.values()) group.rate = group.sizeNs > 0 ? group.bytes / group.sizeNs : NaN;
  return [...groups.values()].sort((a, b) => b.ns - a.ns);
}

// The copies of the window of a trace, as rows of readCopies. Their rate stays that of the whole trace, because a copy
// may be cut by the window: wholeNs is the time at this rate.
export function readWindowCopies(table) {
  const counts = ['window_count', 'window_ns'].map((name) => table.column(name));
  return readCopies(table).map((copy, row) => ({...copy, count: counts[0][row], ns: counts[1][row],
    wholeNs: copy.ns * counts[0][row] / copy.count})).filter(({count}) => count > 0);
}

// Groups of two traces by direction and kind, as [a, b] with null for none. Counts, bytes and times are divided by the
// numbers of steps. The largest difference of times first.
export function pairCopies(sides, steps) {
  const groups = sides.map((copies, side) => groupCopies(copies).map((group) => {
    const scale = steps ? 1 / steps[side] : 1;
    return {...group, count: group.count * scale, ns: group.ns * scale, bytes: group.bytes * scale};
  }));
  const key = (side, row) => `${groups[side][row].direction}\n${groups[side][row].kind}`;
  const delta = ([a, b]) => Math.abs((b ? b.ns : 0) - (a ? a.ns : 0));
  return pairRows(groups.map((list) => list.map((_, row) => row)), [key])
    .map((pair) => pair.map((row, side) => (row < 0 ? null : groups[side][row])))
    .sort((one, other) => delta(other) - delta(one));
}

export function isPageable({kind}) {
  return /pageable/i.test(kind);
}

// "HtoD" as people say it.
export function directionText(direction) {
  return {HtoD: 'host to device', DtoH: 'device to host', DtoD: 'on the device', PtoP: 'between devices',
    HtoH: 'host to host', memset: 'memset'}[direction] || direction;
}

// What the chart of sizes and bandwidths shows: copies with both, and its domains; null if there are none.
export function copyPoints(copies) {
  const points = copies.filter((copy) => copy.bytes > 0 && copy.rate > 0 && Number.isFinite(copy.rate));
  if (!points.length) return null;
  return {points: points.sort((a, b) => b.ns - a.ns), sizes: logDomain(points.map((point) => point.bytes), 2),
    rates: logDomain(points.map((point) => point.rate), 2)};
}
