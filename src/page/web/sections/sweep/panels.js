// One panel per sweep, side by side. All panels of a row have the same size and the same scales.
//
// A chart is {domain, keys, marks(sweep), draw(panel, sweep), describe(mark)}; its panels differ only in the sweep.

import {bottomAxis, followMarks, leftAxis, watchWidth} from '../../chart.js';
import {clear, element, svg} from '../../dom.js';
import {linearScale, TIME_UNITS, unitTicks} from '../../scale.js';
import {tooltip} from '../../tooltip.js';

const PANEL_HEIGHT = 300;
const MARGIN = {left: 60, top: 26, right: 8, bottom: 40};
const LABEL_WIDTH = 44;

// Where the keys are: in the middle of bands of equal width.
function bandScale(keys, area) {
  const width = (area.right - area.left) / Math.max(1, keys.length);
  const places = new Map(keys.map((key, i) => [key, area.left + (i + 0.5) * width]));
  const scale = (key) => places.get(key);
  return {scale, width};
}

// Labels of as many keys as have room.
function keyTicks(keys, width, label) {
  const stride = Math.max(1, Math.ceil(LABEL_WIDTH / width));
  return keys.map((key, i) => ({value: key, label: i % stride === 0 ? label(key) : ''}))
    .filter(({label: text}) => text);
}

class SweepPanel {
  constructor(chart, sweep, announcer, isAlone) {
    Object.assign(this, {chart, sweep, announcer});
    this.svg = svg('svg', {height: PANEL_HEIGHT, tabindex: 0, role: 'img',
      'aria-label': `${chart.title} of ${sweep.label}; arrow keys go from mark to mark`});
    this.place = element('div', {class: 'chart sweep-chart'}, this.svg);
    this.node = element('figure', {class: 'sweep-panel'}, !isAlone &&
      element('figcaption', {class: 'elide strong', title: sweep.label}, sweep.label), this.place);
    this.marks = chart.marks(sweep);
    followMarks(this.svg, {count: () => this.marks.length, show: (at) => this.focus(at)});
    watchWidth(this.place, () => this.draw());
  }

  draw() {
    const width = this.place.clientWidth;
    if (!width) return;
    const {chart} = this;
    const area = this.area = {left: MARGIN.left, top: MARGIN.top,
      right: width - MARGIN.right, bottom: PANEL_HEIGHT - MARGIN.bottom};
    const {scale, width: band} = bandScale(chart.keys, area);
    Object.assign(this, {band, x: scale, y: linearScale(chart.domain, [area.bottom, area.top])});
    this.svg.setAttribute('width', width);
    clear(this.svg).append(leftAxis(this.y, unitTicks(...chart.domain, 6, TIME_UNITS), area, chart.yTitle),
      bottomAxis(this.x, keyTicks(chart.keys, band, chart.keyLabel), area, chart.xTitle),
      ...this.marks.map((mark) => this.drawMark(mark)));
    this.drawn = this.svg.querySelectorAll('.sweep-mark');
  }

  // A mark reacts in the whole height of its band, so that thin ones are easy to hit.
  drawMark(mark) {
    const node = svg('g', {class: 'sweep-mark', dataset: {key: mark.key}}, this.chart.draw(this, mark));
    tooltip.follow(node, () => this.chart.describe(this.sweep, mark));
    return node;
  }

  focus(at) {
    this.drawn.forEach((node, i) => node.classList.toggle('focused', i === at));
    if (at < 0) return;
    const mark = this.marks[at];
    tooltip.showIn(this.svg, this.chart.describe(this.sweep, mark), this.x(mark.key), this.y(mark.top));
    this.announcer.say(`${this.sweep.label}, ${this.chart.say(mark)}`);
  }
}

// The panels of a chart; sweeps without rows have a sentence instead.
export function sweepPanels(chart, sources, announcer) {
  return element('div', {class: 'sweep-panels'}, sources.map(({label, sweep}) => (sweep ?
    new SweepPanel(chart, sweep, announcer, sources.length === 1).node :
    element('figure', {class: 'sweep-panel'}, element('figcaption', {class: 'elide strong', title: label}, label),
      element('p', {class: 'empty'},
        'No rows: tracelens_analysis/top5_gemm_kernels_time_variance.csv is missing or empty. ' +
        'gputally sweep top writes it.')))));
}

// ---- marks ----

function line(x1, y1, x2, y2, name) {
  return svg('line', {x1, y1, x2, y2, class: name});
}

function hitArea({area, band}, x) {
  return svg('rect', {class: 'hit', x: x - band / 2, y: area.top, width: band, height: area.bottom - area.top});
}

// Values at the same pixel are one circle.
function outlierCircles({y}, x, outliers) {
  return [...new Set(outliers.map((ns) => Math.round(y(ns))))]
    .map((at) => svg('circle', {class: 'outlier', cx: x, cy: at, r: 3}));
}

export function drawBox(panel, {key, box}) {
  const {x: place, y, band} = panel;
  const x = place(key);
  const half = Math.max(1, Math.min(28, band * 0.3));
  return [hitArea(panel, x),
    line(x, y(box.whiskerLow), x, y(box.low), 'whisker'), line(x, y(box.high), x, y(box.whiskerHigh), 'whisker'),
    line(x - half / 2, y(box.whiskerLow), x + half / 2, y(box.whiskerLow), 'whisker'),
    line(x - half / 2, y(box.whiskerHigh), x + half / 2, y(box.whiskerHigh), 'whisker'),
    svg('rect', {class: 'quartiles', x: x - half, y: y(box.high), width: 2 * half,
      height: Math.max(1, y(box.low) - y(box.high))}),
    line(x - half, y(box.median), x + half, y(box.median), 'median'),
    outlierCircles(panel, x, box.outliers)];
}

// Every violin is as wide as its band allows: widths say where its values are dense, not how many there are.
export function drawViolin(panel, {key, box, density, least}) {
  const {x: place, y, band} = panel;
  const x = place(key);
  const half = Math.max(1, Math.min(48, band * 0.42));
  const highest = density.reduce((most, [, value]) => Math.max(most, value), 0);
  const side = (sign) => density.map(([ns, value]) =>
    `${(x + sign * half * value / highest).toFixed(2)} ${y(ns).toFixed(2)}`);
  return [hitArea(panel, x),
    density.length ? svg('path', {class: 'violin', d: `M${side(-1).join('L')}L${side(1).reverse().join('L')}Z`}) :
      line(x - half, y(box.median), x + half, y(box.median), 'whisker'),
    line(x, y(least), x, y(box.largest), 'whisker'),
    line(x - half / 2, y(box.median), x + half / 2, y(box.median), 'median')];
}

const SERIES_COLORS = 6;
const SERIES_SHAPES = [
  (x, y) => `M${x - 5} ${y}a5 5 0 1 0 10 0a5 5 0 1 0-10 0Z`,
  (x, y) => `M${x - 4.5} ${y - 4.5}h9v9h-9Z`,
  (x, y) => `M${x} ${y - 6}l5.5 10h-11Z`,
  (x, y) => `M${x} ${y - 6}l6 6l-6 6l-6-6Z`,
];

function seriesClass(index) {
  return `series-${index % SERIES_COLORS}`;
}

export function seriesShape(index, x, y) {
  return svg('path', {class: `series-mark ${seriesClass(index)}`,
    d: SERIES_SHAPES[index % SERIES_SHAPES.length](x, y)});
}

// A point of a line, with the way to the next one.
export function drawPoint({x, y}, {key, ns, series, next}) {
  return [next && line(x(key), y(ns), x(next.key), y(next.ns), `series-line ${seriesClass(series)}`),
    seriesShape(series, x(key), y(ns))];
}
