// Size and bandwidth of copies: a mark per size, direction and kind; area by time, shape by direction. In a comparison
// points have a side: marks of A are hollow.

import {announcer, bottomAxis, followMarks, leftAxis, tipContent, watchWidth} from '../../chart.js';
import {SIDES} from '../../compared.js';
import {clear, element, svg} from '../../dom.js';
import {bytes, significant, thousands, time} from '../../format.js';
import {linearScale, logScale, logTicks, powerLabel} from '../../scale.js';
import {tooltip} from '../../tooltip.js';
import {directionText, isPageable} from './copies.js';

const SCATTER_HEIGHT = 280;
const SCATTER_MARKS = 500;

// Paths around 0 of area 1.
const DIRECTION_SHAPES = {
  HtoD: 'M-0.877 -0.506H0.877L0 1.013Z', DtoH: 'M-0.877 0.506H0.877L0 -1.013Z',
  memset: 'M-0.5 -0.5H0.5V0.5H-0.5Z', PtoP: 'M0 -0.707L0.707 0L0 0.707L-0.707 0Z',
};
const OTHER_SHAPE = 'M0.564 0A0.564 0.564 0 1 1 -0.564 0A0.564 0.564 0 1 1 0.564 0Z';

function shapeOf(direction) {
  return Object.hasOwn(DIRECTION_SHAPES, direction) ? DIRECTION_SHAPES[direction] : OTHER_SHAPE;
}

export class CopyScatter {
  constructor(page, body, {points, sizes, rates}) {
    this.points = points.slice(0, SCATTER_MARKS);
    Object.assign(this, {sizes, rates});
    this.chart = svg('svg', {tabindex: '0', role: 'application', 'aria-roledescription': 'scatter chart',
      'aria-label': 'Size and bandwidth of copies. Arrow keys go from mark to mark, the longest first.'});
    this.box = element('div', {class: 'chart'}, this.chart);
    this.announcer = announcer();
    body.append(this.box, this.shapes(), this.announcer.node);
    tooltip.follow(this.chart, ({target}) => {
      const point = this.points[target.dataset.index];
      return point && this.describe(point);
    });
    followMarks(this.chart, {count: () => this.points.length, show: (at) => this.focus(at)});
    watchWidth(this.box, () => this.draw());
  }

  // Names of the shapes; colours are in the table next to it.
  shapes() {
    const directions = [...new Set(this.points.map((point) => point.direction))];
    const items = directions.map((direction) => element('li', {}, svg('svg', {class: 'shape', viewBox: '-1 -1 2 2',
      width: 14, height: 14, 'aria-hidden': 'true'}, svg('path', {class: 'copy-mark', d: shapeOf(direction)})),
    directionText(direction)));
    const hasSides = this.points.some(({side}) => side !== undefined);
    return element('ul', {class: 'legend'}, items, this.points.some(isPageable) && element('li', {},
      element('span', {class: 'swatch pageable', 'aria-hidden': 'true'}), 'pageable'),
    hasSides && element('li', {}, 'hollow: A, filled: B'));
  }

  draw() {
    const width = this.box.clientWidth;
    if (!width) return;
    const area = {left: 48, right: width - 12, top: 28, bottom: SCATTER_HEIGHT - 40};
    this.x = logScale(this.sizes, [area.left, area.right]);
    this.y = logScale(this.rates, [area.bottom, area.top]);
    const size = linearScale([0, this.points[0].ns], [0, 26 * 26]);
    const sizeTicks = logTicks(...this.sizes, (area.right - area.left) / 64)
      .map((value) => ({value, label: tickBytes(value)}));
    const rateTicks = logTicks(...this.rates, 7).map((value) => ({value, label: powerLabel(value)}));
    this.marks = this.points.map((point, i) => svg('path', {
      class: ['copy-mark', isPageable(point) && 'pageable', point.side === 0 && 'hollow'].filter(Boolean).join(' '),
      d: shapeOf(point.direction), 'data-index': i, 'vector-effect': 'non-scaling-stroke',
      transform: `translate(${this.x(point.bytes)} ${this.y(point.rate)}) ` +
        `scale(${Math.max(6, Math.sqrt(size(point.ns)))})`}));
    this.chart.setAttribute('width', width);
    this.chart.setAttribute('height', SCATTER_HEIGHT);
    clear(this.chart).append(bottomAxis(this.x, sizeTicks, area, 'size of one copy'),
      leftAxis(this.y, rateTicks, area, 'GB/s'), ...this.marks);
  }

  describe(point) {
    return tipContent(`${sideName(point)}${directionText(point.direction)}`, [
      ['memory', isPageable(point) ? 'pageable: slower, and the host waits' : point.kind],
      ['size', `${bytes(point.bytes)} (${thousands(point.bytes)} bytes)`],
      ['copies', thousands(point.count)],
      ['time', time(point.ns)],
      ['mean', time(point.ns / point.count)],
      ['bandwidth', `${significant(point.rate)} GB/s`],
    ]);
  }

  focus(at) {
    this.marks.forEach((mark, i) => mark.classList.toggle('focused', i === at));
    if (at < 0) return;
    const point = this.points[at];
    tooltip.showIn(this.chart, this.describe(point), this.x(point.bytes), this.y(point.rate));
    this.announcer.say(`${sideName(point)}${directionText(point.direction)}, ${point.kind}, ${bytes(point.bytes)}: ` +
      `${significant(point.rate)} GB/s`);
  }
}

function sideName({side}) {
  return side === undefined ? '' : `${SIDES[side]}: `;
}

// 1 kB, 100 MB, 0.5 B: ticks need few digits.
function tickBytes(value) {
  return bytes(value).replace(/(\.\d*?)0+ /, '$1 ').replace('. ', ' ');
}
