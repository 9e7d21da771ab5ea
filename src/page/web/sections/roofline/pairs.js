// The points of two rooflines side by side. Nothing here needs a document.

import {comparedSteps, comparedWork, pairRows, SIDES} from '../../compared.js';
import {workOf} from '../../work.js';
import {addRoofs, opTimes, pointsInRange, rooflinePoints, rooflineRoofs, rooflineSheets} from './points.js';

// One side: {points, roofs}, with times per step of the window if both traces have steps, else of the range or of the
// whole trace. Points that the page has no times for count only in the whole trace. Rates are work by time, so that
// they change as the times do; the mean of the sheet is that of the rates of single calls.
export function rooflineSide(page, side) {
  const source = page.source(side);
  const all = rooflinePoints(rooflineSheets(source));
  const roofs = rooflineRoofs(source, all.points);
  for (const point of all.points) {
    if (point.flop > 0) point.rate = point.flop / point.ns / 1e3;
  }
  addRoofs(all.points, roofs);
  const steps = comparedSteps(page);
  const isPart = steps !== null || page.state.getRange('range') !== null;
  const whole = opTimes(source, workOf(source, null));
  const {shown} = pointsInRange(all.points, whole, isPart ? opTimes(source, comparedWork(page, side)) : null);
  const scale = steps ? 1 / steps[side] : 1;
  for (const point of shown) {
    for (const key of ['ns', 'roofNs', 'count']) point[key] *= scale;
  }
  return {points: shown, roofs};
}

// Pairs [a, b] of points of one op and shape, where one may be null. The largest difference of times first.
export function pairPoints(sides) {
  const pointOf = (side, row) => sides[side].points[row];
  const rows = sides.map(({points}) => points.map((_, row) => row));
  const shape = ({op, shapes}) => `${op}\n${shapes.replace(/\s+/g, '')}`;
  const keys = [(side, row) => `${shape(pointOf(side, row))}\n${pointOf(side, row).spec}`,
    (side, row) => shape(pointOf(side, row))];
  const pairs = pairRows(rows, keys).map((pair) => pair.map((row, side) => (row < 0 ? null : pointOf(side, row))));
  return pairs.sort((one, other) => Math.abs(pairDelta(other)) - Math.abs(pairDelta(one)));
}

export function pairDelta([a, b]) {
  return (b ? b.ns : 0) - (a ? a.ns : 0);
}

// What roofs the picture has: one set for both sides if they ran on the same kind of GPU, else one for each, named.
export function roofSets(sources, sides) {
  const peaks = sources.map((source) => {
    const table = source.table('page_peaks');
    return table && JSON.stringify(['precision', 'rate'].map((name) => [...table.column(name)]));
  });
  if (peaks[0] === peaks[1]) {
    const roofs = rooflineRoofs(sources[0], sides.flatMap(({points}) => points));
    return roofs ? [roofs] : [];
  }
  return sides.map(({roofs}, side) => roofs && {...roofs, prefix: `${SIDES[side]}: `}).filter(Boolean);
}

// What ops with a known roof take, and would take at the roof.
export function roofSums(points) {
  const judged = points.filter((point) => point.roofNs > 0);
  const sum = (values) => values.reduce((total, one) => total + one, 0);
  return {ns: sum(judged.map(({ns}) => ns)), roofNs: sum(judged.map(({ns, roofNs}) => Math.min(ns, roofNs)))};
}
