// Draws the roofline as SVG: axes, roofs, bubbles and the names of the largest ones.

import {bottomAxis, fitText, leftAxis} from '../../chart.js';
import {CATEGORIES, categoryColor} from '../../colors.js';
import {svg} from '../../dom.js';
import {shorten, significant} from '../../format.js';
import {legend} from '../../legend.js';
import {logDomain, logScale, logTicks, freePlaces, powerLabel} from '../../scale.js';
import {precisionLabel, shapeLabel} from './points.js';

export const ROOFLINE_ACHIEVABLE = 0.8;
const NAMED_BUBBLES = 5;
const AXES_SHARE = 0.998;
const LABEL_HEIGHT = 16;
const ROOF_NAMES_WIDTH = 144;
const measuring = {context: null};

// The points that decide what the axes show: those with nearly all of the time. A few tiny ops that are slower by
// orders of magnitude would leave little room for the others; they are drawn at the edge.
function pointsOfAxes(points) {
  const total = points.reduce((sum, point) => sum + point.ns, 0);
  let sum = 0;
  const end = points.findIndex((point) => (sum += point.ns) >= AXES_SHARE * total);
  return points.slice(0, end + 1);
}

// Scales and places for a width and height in pixels. `points` are shown (longest first); `sets` of roofs may be empty.
export function rooflinePlot(points, sets, width, height) {
  const area = {left: 56, right: width - (sets.length ? ROOF_NAMES_WIDTH : 24), top: 32, bottom: height - 40};
  const main = pointsOfAxes(points);
  const rates = sets.flatMap(({roofs}) => roofs.map((roof) => roof.rate));
  const around = (values) => values.flatMap((value) => [value / 8, value * 1.5]);
    // some of the slope, some of the roof
  const ridges = sets.flatMap(({roofs, memory}) => roofs.map((roof) => roof.rate / memory));
  const xDomain = logDomain([...main.map((point) => point.intensity), ...around(ridges)], 1.8);
  const yDomain = logDomain([...main.map((point) => point.rate), ...around(rates)], 1.4);
  const x = logScale(xDomain, [area.left, area.right]);
  const y = logScale(yDomain, [area.bottom, area.top]);
  const largest = Math.max(14, Math.min(36, width / 36));
  const clamp = (value, [low, high]) => Math.min(Math.max(value, low), high);
  const place = (point) => ({x: x(clamp(point.intensity, xDomain)), y: y(clamp(point.rate, yDomain)),
    r: Math.max(2.5, largest * Math.sqrt(point.ns / points[0].ns))});
  return {area, x, y, xDomain, yDomain, place, outside: points.filter((point) =>
    point.intensity < xDomain[0] || point.intensity > xDomain[1] ||
    point.rate < yDomain[0] || point.rate > yDomain[1])};
}

export function rooflineAxes({area, x, y, xDomain, yDomain}) {
  const labelled = (values) => values.map((value) => ({value, label: powerLabel(value)}));
  return [
    bottomAxis(x, labelled(logTicks(...xDomain, (area.right - area.left) / 70)), area, 'flops per byte'),
    leftAxis(y, labelled(logTicks(...yDomain, (area.bottom - area.top) / 36)), area, 'TFLOP/s'),
  ];
}

// One roof: up the slope of the memory, then flat at the rate. `share` lowers it.
function roofPath({x, y, xDomain, yDomain}, memory, rate, share) {
  const left = Math.max(xDomain[0], yDomain[0] / (memory * share));
  const ridge = rate / memory;
  return `M${x(left)} ${y(left * memory * share)}L${x(ridge)} ${y(rate * share)}H${x(xDomain[1])}`;
}

export function rooflineRoofLines(plot, sets, withAchievable) {
  return svg('g', {'aria-hidden': 'true'}, sets.map(({memory, roofs}, i) => roofs.map(({rate}) => [
    svg('path', {class: sets.length > 1 && !i ? 'roof first' : 'roof', d: roofPath(plot, memory, rate, 1)}),
    withAchievable && svg('path', {class: 'roof achievable', d: roofPath(plot, memory, rate, ROOFLINE_ACHIEVABLE)}),
  ])));
}

// Right of each roof, where there are no bubbles, and along the slope. Names of roofs that are close move down.
export function rooflineRoofNames(plot, sets) {
  let free = 0;
  const all = sets.flatMap(({roofs, prefix}) => roofs.map((roof) => ({...roof, prefix: prefix || ''})))
    .sort((one, other) => other.rate - one.rate);
  const names = all.map(({rate, names: precisions, prefix}) => {
    const top = Math.max(plot.y(rate) + 4, free);
    free = top + LABEL_HEIGHT - 2;
    const label = `${prefix}${precisionLabel(...precisions)}`;
    const text = `${shorten(label, 15)} ${significant(rate)}`;
    return svg('text', {class: 'roof-name', x: plot.area.right + 6, y: top}, text,
      svg('title', {}, `${label}: ${rate} TFLOP/s`));
  });
  return svg('g', {}, names, sets.map((set) => slopeName(plot, set)));
}

function slopeName({x, y, xDomain, yDomain}, {memory, prefix}) {
  const at = Math.max(xDomain[0] * 1.2, yDomain[0] / memory * 1.2);
  const [left, top] = [x(at), y(at * memory)];
  const angle = Math.atan2(y(at * memory * 10) - top, x(at * 10) - left) * 180 / Math.PI;
  return svg('text', {class: 'roof-name slope', x: left, y: top - 6, transform: `rotate(${angle} ${left} ${top})`},
    `${prefix || ''}memory: ${significant(memory)} TB/s`);
}

// Circles, the largest first, so that small ones are on top.
export function rooflineBubbles(plot, points, isOff) {
  return points.map((point, i) => {
    const {x, y, r} = plot.place(point);
    return svg('circle', {class: isOff(point) ? 'bubble off' : 'bubble', cx: x, cy: y, r,
      fill: categoryColor(point.category), 'data-index': i});
  });
}

// "mm 8944×1024, 1024×2816".
export function pointLabel(point) {
  return `${point.op.replace(/^aten::/, '')} ${shapeLabel(point.shapes)}`.trim();
}

// The same within a width that fits next to a bubble: {text, width}.
function shortLabel(point) {
  measuring.context ||= document.createElement('canvas').getContext('2d');
  measuring.context.font = `12px ${getComputedStyle(document.body).fontFamily}`;
  const shapes = shapeLabel(point.shapes);
  const first = shapes.split(', ')[0];
  const text = [fitText(measuring.context, point.op.replace(/^aten::/, ''), 150),
    measuring.context.measureText(shapes).width <= 160 ? shapes :
      fitText(measuring.context, first, 160)].join(' ').trim();
  return {text, width: measuring.context.measureText(text).width + 4};
}

// Beside, above or below a bubble.
function placesAround({x, y, r}, width) {
  const [beside, diagonal] = [r + 4, r * 0.75 + 2];
  const tops = [-8, diagonal, -diagonal - LABEL_HEIGHT, diagonal + LABEL_HEIGHT, -diagonal - 2 * LABEL_HEIGHT];
  return [...tops.flatMap((top, i) => {
    const away = i ? diagonal : beside;
    return [[x + away, y + top], [x - away - width, y + top]];
  }), [x - width / 2, y + r + 2], [x - width / 2, y - r - 2 - LABEL_HEIGHT]];
}

// Names of the largest bubbles that are not off: where there is no other bubble if possible, never over another name.
export function rooflineNames(plot, points, isOff) {
  const boxOf = ({x, y, r}) => ({x: x - r * 0.75, y: y - r * 0.75, width: r * 1.5, height: r * 1.5});
  const boxes = points.slice(0, 100).map((point) => boxOf(plot.place(point)));
  const placed = [];
  return points.filter((point) => !isOff(point)).slice(0, NAMED_BUBBLES).map((point) => {
    const {text, width} = shortLabel(point);
    const label = {width, height: LABEL_HEIGHT, places: placesAround(plot.place(point), width)};
    const [found] = [...freePlaces([label], plot.area, [...boxes, ...placed]),
      ...freePlaces([label], plot.area, [...boxes.slice(0, NAMED_BUBBLES), ...placed])].filter(Boolean);
    if (!found) return null;
    placed.push(found);
    return svg('text', {class: 'bubble-name', x: found.x + 2, y: found.y + 12}, text);
  });
}

// The mark under the pointer, or -1.
export function markIndex(target) {
  return target.dataset && target.dataset.index !== undefined ? Number(target.dataset.index) : -1;
}

// "H200, peak rates", as the sheet overview says it.
export function ratesText(source) {
  const overview = source.table('overview');
  const row = overview && overview.has('text') ? overview.find('name', 'roofline') : -1;
  return (row >= 0 && overview.get('text', row)) || '';
}

// Rates that were measured need no line below them.
export function hasPeakRates(sources) {
  return !sources.some((source) => /achievable/.test(ratesText(source)));
}

// The categories that occur; a click chooses one.
export function rooflineLegend(state, points) {
  const chosen = state.get('category');
  const present = new Set(points.map(({category}) => category));
  return legend(CATEGORIES.filter((name) => present.has(name)).map((name) => ({
    label: name, css: categoryColor(name), isChosen: chosen === name,
    isOff: CATEGORIES.includes(chosen) && chosen !== name,
  })), ({label}) => state.set({category: chosen === label ? null : label}));
}
