// Draws the roofline as SVG: axes, roofs, bubbles and the names of the largest ones.

import {bottomAxis, fitText, leftAxis} from '../../chart.js';
import {categoryColor} from '../../colors.js';
import {svg} from '../../dom.js';
import {significant} from '../../format.js';
import {logDomain, logScale, logTicks, freePlaces, powerLabel} from '../../scale.js';
import {precisionLabel, shapeLabel} from './points.js';

export const ROOFLINE_ACHIEVABLE = 0.8;
const NAMED_BUBBLES = 5;
const LABEL_HEIGHT = 16;
const measuring = {context: null};

// Scales and places for a width and height in pixels. `points` are shown (longest first), `roofs` may be null.
export function rooflinePlot(points, roofs, width, height) {
  const area = {left: 56, right: width - 24, top: 32, bottom: height - 40};
  const ridges = roofs ? roofs.roofs.map((roof) => roof.rate / roofs.memory) : [];
  const xDomain = logDomain([...points.map((point) => point.intensity), ...ridges.map((ridge) => ridge * 1.5)], 1.8);
  const rates = roofs ? roofs.roofs.map((roof) => roof.rate) : [];
  const yDomain = logDomain([...points.map((point) => point.rate), ...rates], 1.8);
  const x = logScale(xDomain, [area.left, area.right]);
  const y = logScale(yDomain, [area.bottom, area.top]);
  const largest = Math.max(14, Math.min(36, width / 36));
  const radius = (point) => Math.max(2.5, largest * Math.sqrt(point.ns / points[0].ns));
  return {area, x, y, xDomain, yDomain, radius};
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

export function rooflineRoofLines(plot, {memory, roofs}, withAchievable) {
  return svg('g', {'aria-hidden': 'true'}, roofs.map(({rate}) => [
    svg('path', {class: 'roof', d: roofPath(plot, memory, rate, 1)}),
    withAchievable && svg('path', {class: 'roof achievable', d: roofPath(plot, memory, rate, ROOFLINE_ACHIEVABLE)}),
  ]));
}

// Above the flat part of each roof, and along the slope. A roof just below another one has no room for its name.
export function rooflineRoofNames({area, x, y, xDomain, yDomain}, {memory, roofs}) {
  const names = roofs.map(({rate, names: precisions}, i) => {
    const isClose = i > 0 && y(rate) - y(roofs[i - 1].rate) < LABEL_HEIGHT;
    return !isClose && svg('text', {class: 'roof-name', x: area.right, y: y(rate) - 5, 'text-anchor': 'end'},
      `${precisions.map(precisionLabel).join(', ')}: ${significant(rate)} TFLOP/s`);
  });
  const at = Math.max(xDomain[0] * 1.2, yDomain[0] / memory * 1.2);
  const [left, top] = [x(at), y(at * memory)];
  const angle = Math.atan2(y(at * memory * 10) - top, x(at * 10) - left) * 180 / Math.PI;
  return svg('g', {'aria-hidden': 'true'}, names, svg('text', {class: 'roof-name', x: left, y: top - 6,
    transform: `rotate(${angle} ${left} ${top})`}, `memory: ${significant(memory)} TB/s`));
}

// Circles, the largest first, so that small ones are on top.
export function rooflineBubbles(plot, points, isOff) {
  return points.map((point, i) => svg('circle', {
    class: isOff(point) ? 'bubble off' : 'bubble', cx: plot.x(point.intensity), cy: plot.y(point.rate),
    r: plot.radius(point), fill: categoryColor(point.category), 'data-index': i,
  }));
}

// "mm 8944×1024, 1024×2816".
export function pointLabel(point) {
  return `${point.op.replace(/^aten::/, '')} ${shapeLabel(point.shapes)}`.trim();
}

function textWidth(text) {
  measuring.context ||= document.createElement('canvas').getContext('2d');
  measuring.context.font = `12px ${getComputedStyle(document.body).fontFamily}`;
  return {fit: fitText(measuring.context, text, 190), context: measuring.context};
}

// Names of the largest bubbles, beside, above or below them.
export function rooflineNames(plot, points) {
  const circles = points.slice(0, NAMED_BUBBLES).map((point) =>
    ({point, x: plot.x(point.intensity), y: plot.y(point.rate), r: plot.radius(point)}));
  const labels = circles.map(({point, x, y, r}) => {
    const {fit, context} = textWidth(pointLabel(point));
    const width = context.measureText(fit).width + 4;
    const [beside, diagonal] = [r + 4, r * 0.75 + 2];
    return {fit, width, height: LABEL_HEIGHT, places: [
      [x + beside, y - 8], [x - beside - width, y - 8], [x + diagonal, y + diagonal], [x - diagonal - width, y + diagonal],
      [x + diagonal, y - diagonal - LABEL_HEIGHT], [x - diagonal - width, y - diagonal - LABEL_HEIGHT],
      [x - width / 2, y + r + 2], [x - width / 2, y - r - 2 - LABEL_HEIGHT],
      [x + diagonal, y + diagonal + LABEL_HEIGHT], [x - diagonal - width, y + diagonal + LABEL_HEIGHT],
    ]};
  });
  const boxes = circles.map(({x, y, r}) => ({x: x - r * 0.7, y: y - r * 0.7, width: r * 1.4, height: r * 1.4}));
  return freePlaces(labels, {...plot.area, right: plot.area.right + 8}, boxes).map((place, i) => place &&
    svg('text', {class: 'bubble-name', x: place.x + 2, y: place.y + 12}, labels[i].fit));
}
