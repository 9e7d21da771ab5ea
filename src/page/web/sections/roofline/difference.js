// The roofline of two traces: a ring for an op and shape in A, a disc for the same in B, and a line between them. Ops
// keep their ratio of flops to bytes, so that what became faster moves up.
//
// State: `range`, `category` of others; a click filters the table of ops.

import {announcer, followMarks, tableAlternative, tipContent, watchWidth} from '../../chart.js';
import {CATEGORIES, categoryColor} from '../../colors.js';
import {changeOf, comparedPer, filterTerm, SIDES} from '../../compared.js';
import {clear, element, onceAFrame, svg} from '../../dom.js';
import {changeText, percent, shorten, signed, significant, thousands, time} from '../../format.js';
import {tooltip} from '../../tooltip.js';
import {timeCells} from '../flame/difference.js';
import {hasPeakRates, markIndex, pointLabel, ratesText, ROOFLINE_ACHIEVABLE, rooflineAxes} from './draw.js';
import {rooflineLegend, rooflineNames, rooflinePlot, rooflineRoofLines, rooflineRoofNames} from './draw.js';
import {pairDelta, pairPoints, rooflineSide, roofSets, roofSums} from './pairs.js';

const PAIRS = 200;
const TABLE_ROWS_OF_PAIRS = 200;
const SHORTEST_MOVE = 6;
const NAMED_CHANGE = 0.05; // of the largest change

export class RooflinePair {
  constructor(page, body) {
    this.page = page;
    this.sources = [0, 1].map((side) => page.source(side));
    this.focused = -1;
    this.makeParts(body);
    this.listen();
    this.refresh();
  }

  makeParts(body) {
    this.summary = element('p', {class: 'roofline-summary'});
    this.chart = svg('svg', {tabindex: '0', role: 'application', 'aria-roledescription': 'roofline chart'});
    this.box = element('div', {class: 'chart'}, this.chart);
    this.legend = element('div', {});
    this.note = element('p', {class: 'note'});
    this.alternative = tableAlternative('Roofline', () => this.tableRows());
    this.announcer = announcer();
    body.append(this.summary, this.box, this.legend, this.note, this.alternative.node, this.announcer.node);
  }

  listen() {
    this.page.state.on(['range', 'category', 'theme'], onceAFrame(() => this.refresh()));
    tooltip.follow(this.chart, (event) => {
      const mark = this.shown[markIndex(event.target)];
      return mark && this.describe(mark);
    });
    this.chart.addEventListener('click', (event) => this.choose(markIndex(event.target)));
    followMarks(this.chart, {count: () => this.shown.length, show: (at) => this.focus(at),
      choose: (at) => this.choose(at), back: () => this.page.state.set({'ops.filter': null})});
    watchWidth(this.box, () => this.draw());
  }

  // The points of the chosen range.
  read() {
    this.sides = [0, 1].map((side) => rooflineSide(this.page, side));
    this.sets = roofSets(this.sources, this.sides);
    this.pairs = pairPoints(this.sides);
    const size = ([a, b]) => Math.max(a ? a.ns : 0, b ? b.ns : 0);
    this.shown = [...this.pairs].sort((one, other) => size(other) - size(one)).slice(0, PAIRS);
  }

  refresh() {
    const range = this.page.state.get('range');
    if (!this.sides || range !== this.range) this.read();
    this.range = range;
    this.showTexts();
    this.draw();
    this.alternative.refresh();
  }

  isOff([a, b]) {
    const category = this.page.state.get('category');
    return CATEGORIES.includes(category) && (a || b).category !== category;
  }

  draw() {
    const width = this.box.clientWidth;
    const height = Math.round(Math.min(560, Math.max(320, width * 0.4)));
    if (!width) return;
    clear(this.chart);
    this.chart.setAttribute('width', width);
    this.chart.setAttribute('height', this.shown.length ? height : 0);
    if (!this.shown.length) return;
    const points = this.shown.flat().filter(Boolean).sort((one, other) => other.ns - one.ns);
    this.plot = rooflinePlot(points, this.sets, width, height);
    this.marks = this.shown.map((pair, i) => this.markOf(pair, i));
    const least = NAMED_CHANGE * Math.abs(pairDelta(this.pairs[0]));
    const changed = this.pairs.filter((pair) => Math.abs(pairDelta(pair)) > least).map(([a, b]) => b || a);
    const off = new Set(this.shown.filter((pair) => this.isOff(pair)).flat());
    this.chart.append(...rooflineAxes(this.plot),
      rooflineRoofLines(this.plot, this.sets, this.hasAchievable()), ...this.marks,
      rooflineRoofNames(this.plot, this.sets),
      ...rooflineNames(this.plot, changed.length ? changed : points, (point) => off.has(point)).filter(Boolean));
    this.markFocus();
  }

  markOf(pair, i) {
    const [a, b] = pair.map((point) => point && this.plot.place(point));
    const color = categoryColor((pair[0] || pair[1]).category);
    const isMoved = a && b && Math.hypot(a.x - b.x, a.y - b.y) >= SHORTEST_MOVE;
    return svg('g', {class: this.isOff(pair) ? 'bubble-pair off' : 'bubble-pair', 'data-index': i},
      b && svg('circle', {class: 'bubble', cx: b.x, cy: b.y, r: b.r, fill: color, 'data-index': i}),
      isMoved && svg('line', {class: 'move', x1: a.x, y1: a.y, x2: b.x, y2: b.y}),
      a && svg('circle', {class: 'bubble ring', cx: a.x, cy: a.y, r: a.r, style: {color}, 'data-index': i}));
  }

  showTexts() {
    const sums = this.sides.map(({points}) => roofSums(points));
    const share = (one) => element('b', {}, percent(one.roofNs, one.ns));
    clear(this.summary);
    if (sums.every(({ns}) => ns > 0)) {
      this.summary.append('Ops with a known roof reach ', share(sums[0]), ' of it in A and ', share(sums[1]),
        ' in B; they take ', element('b', {}, time(sums[0].ns)), ' and ', element('b', {}, time(sums[1].ns)),
        ` ${comparedPer(this.page)}.`);
    } else if (!this.pairs.length) {
      this.summary.append('No op with a performance model ran here.');
    }
    const both = this.pairs.filter(([a, b]) => a && b).length;
    const notes = [`A ring is an op and shape in A, a disc the same in B; what became faster moves up. Area by time. ` +
      `${thousands(both)} of ${thousands(this.pairs.length)} are in both; names are those that changed most.`];
    if (this.pairs.length > PAIRS) notes.push(`Shown are the ${PAIRS} longest.`);
    const rates = [...new Set(this.sources.map(ratesText).filter(Boolean))];
    if (this.sets.length && rates.length) notes.push(`Roofs: ${rates.join('; ')}.`);
    if (this.hasAchievable()) {
      notes.push(`Dashed: ${100 * ROOFLINE_ACHIEVABLE}\u00a0% of the roof, which well-tuned kernels reach.`);
    }
    this.note.textContent = notes.join(' ');
    this.chart.setAttribute('aria-label', `Roofline of both. ${this.summary.textContent} Arrow keys go from op to op.`);
    this.showLegend();
  }

  // Of two GPUs there would be too many lines.
  hasAchievable() {
    return this.sets.length === 1 && hasPeakRates(this.sources);
  }

  showLegend() {
    clear(this.legend).append(rooflineLegend(this.page.state, this.pairs.map(([a, b]) => a || b)));
  }

  // ---- pointing and choosing ----

  describe(pair) {
    const [a, b] = pair;
    const {op, shapes, category} = a || b;
    return tipContent(op, [
      ['shapes', shorten(shapes, 160)],
      ...pair.map((point, side) => [SIDES[side], sideFacts(point)]),
      a && b && ['B − A', `${signed(time, b.ns - a.ns)} (${changeText(changeOf(a.ns, b.ns))})`],
      a && b && ['rate', changeText(changeOf(a.rate, b.rate))],
      ['category', category],
    ], a && b ? null : `only in ${a ? 'A' : 'B'}`);
  }

  choose(at) {
    if (!this.shown[at]) return;
    const {op} = this.shown[at][0] || this.shown[at][1];
    const filter = filterTerm('op', op);
    this.page.state.set({'ops.filter': this.page.state.get('ops.filter') === filter ? null : filter});
  }

  focus(at) {
    this.focused = at;
    this.markFocus();
    if (at < 0) return;
    const point = this.shown[at][1] || this.shown[at][0];
    const {x, y} = this.plot.place(point);
    tooltip.showIn(this.chart, this.describe(this.shown[at]), x, y);
    this.announcer.say(`${pointLabel(point)}: ${signed(time, pairDelta(this.shown[at]))}`);
  }

  markFocus() {
    this.marks.forEach((mark, i) => mark.classList.toggle('focused', i === this.focused));
  }

  tableRows() {
    const number = (value, format = significant) => ({text: format(value), title: String(value), value});
    const rate = (point) => number(point ? point.rate : NaN);
    const share = (point) => number(point && point.roofNs > 0 ? 100 * point.roofNs / point.ns : NaN,
      (value) => (Number.isFinite(value) ? `${value.toFixed(1)} %` : '–'));
    return {
      isSortable: true,
      heads: ['op', 'shapes', 'A ', 'B ', 'B − A ', 'change ', 'A TFLOP/s ', 'B TFLOP/s ', 'change ', 'A of roof ',
        'B of roof '],
      rows: this.pairs.slice(0, TABLE_ROWS_OF_PAIRS).map(([a, b]) => {
        const {op, shapes} = a || b;
        return [shorten(op, 80), {text: shorten(shapes, 80), title: shapes.slice(0, 2000)},
          ...timeCells(a ? a.ns : 0, b ? b.ns : 0), rate(a), rate(b),
          number(a && b ? changeOf(a.rate, b.rate) : NaN, changeText), share(a), share(b)];
      }),
      total: this.pairs.length,
    };
  }
}

function sideFacts(point) {
  if (!point) return 'none';
  const roof = point.roofNs > 0 ? `, ${percent(point.roofNs, point.ns)} of the roof` : '';
  return `${time(point.ns)} in ${thousands(point.count)} calls, ${significant(point.rate)} TFLOP/s${roof}`;
}
