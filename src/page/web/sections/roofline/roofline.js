// The roofline of one trace: how fast each op ran, compared with what the GPU can do at the op's ratio of flops to
// bytes.
//
// State: `range`, `category`, `finding` of others; a click sets `call`.

import {announcer, followMarks, tableAlternative, tipContent, watchWidth} from '../../chart.js';
import {CATEGORIES} from '../../colors.js';
import {comparedSources, isComparison} from '../../compared.js';
import {clear, element, onceAFrame, svg} from '../../dom.js';
import {percent, shorten, significant, thousands, time} from '../../format.js';
import {tooltip} from '../../tooltip.js';
import {workEvidence} from '../flame/tree.js';
import {RooflinePair} from './difference.js';
import {hasPeakRates, markIndex, pointLabel, ratesText, ROOFLINE_ACHIEVABLE, rooflineAxes} from './draw.js';
import {rooflineBubbles, rooflineLegend, rooflineNames, rooflinePlot, rooflineRoofLines} from './draw.js';
import {rooflineRoofNames} from './draw.js';
import {addRoofs, evidenceOps, opTimes, pointsInRange, precisionLabel, rooflinePoints} from './points.js';
import {rooflineRoofs, rooflineSheets, withoutPoints} from './points.js';

const BUBBLES = 400;
const TABLE_ROWS_OF_OPS = 100;

class Roofline {
  constructor(page, body) {
    this.page = page;
    this.source = page.source(0);
    this.all = rooflinePoints(rooflineSheets(this.source));
    this.shown = [];
    this.focused = -1;
    if (!this.all.points.length) {
      body.append(element('p', {class: 'empty'}, withoutPoints(this.all)));
      return;
    }
    this.roofs = rooflineRoofs(this.source, this.all.points);
    addRoofs(this.all.points, this.roofs);
    this.makeParts(body);
    this.listen();
    this.refresh();
  }

  makeParts(body) {
    this.summary = element('p', {class: 'roofline-summary'});
    this.chart = svg('svg', {tabindex: '0', role: 'application', 'aria-roledescription': 'roofline chart'});
    this.box = element('div', {class: 'chart'}, this.chart);
    this.legend = element('div', {});
    this.note = element('span', {});
    this.outside = element('span', {});
    this.alternative = tableAlternative('Roofline', () => this.tableRows());
    this.announcer = announcer();
    body.append(this.summary, this.box, this.legend, element('p', {class: 'note'}, this.note, ' ', this.outside),
      this.alternative.node, this.announcer.node);
  }

  listen() {
    const refresh = onceAFrame(() => this.refresh());
    this.page.state.on(['range', 'category', 'finding', 'call', 'theme'], refresh);
    tooltip.follow(this.chart, (event) => {
      const mark = this.shown[markIndex(event.target)];
      return mark && this.describe(mark);
    });
    this.chart.addEventListener('click', (event) => this.choose(markIndex(event.target)));
    followMarks(this.chart, {count: () => this.shown.length, show: (at) => this.focus(at),
      choose: (at) => this.choose(at)});
    watchWidth(this.box, () => this.draw());
  }

  // What is shown: after a change of the range or of what is chosen.
  refresh() {
    const {state} = this.page;
    this.times ||= opTimes(this.source, this.source.has('page_sums') ? this.wholeWork() : null);
    const range = state.getRange('range');
    const inRange = range ? opTimes(this.source, this.page.work()) : null;
    const {shown, unplaced} = pointsInRange(this.all.points, this.times, inRange);
    this.inRange = shown;
    this.shown = shown.slice(0, BUBBLES);
    const evidence = workEvidence(this.source, state.getNumber('finding'));
    this.evidence = evidence ? evidenceOps(this.source, this.wholeWork(), evidence) : null;
    this.showTexts(unplaced);
    this.draw();
    this.alternative.refresh();
  }

  wholeWork() {
    const sums = this.source.table('page_sums');
    return {call: sums.column('call'), kernel: sums.column('kernel'), ns: sums.column('ns'),
      events: sums.column('count')};
  }

  isOff(point) {
    const category = this.page.state.get('category');
    if (CATEGORIES.includes(category) && point.category !== category) return true;
    return this.evidence !== null && !this.evidence.has(point.key);
  }

  draw() {
    const width = this.box.clientWidth;
    const height = Math.round(Math.min(560, Math.max(320, width * 0.4)));
    if (!width) return;
    clear(this.chart);
    this.chart.setAttribute('width', width);
    this.chart.setAttribute('height', this.shown.length ? height : 0);
    if (!this.shown.length) return;
    const sets = this.roofs ? [this.roofs] : [];
    const plot = rooflinePlot(this.shown, sets, width, height);
    this.plot = plot;
    this.showOutside(plot.outside);
    this.bubbles = rooflineBubbles(plot, this.shown, (point) => this.isOff(point));
    this.chart.append(...rooflineAxes(plot));
    this.chart.append(rooflineRoofLines(plot, sets, this.hasPeakRates()), ...this.bubbles,
      rooflineRoofNames(plot, sets));
    this.chart.append(...rooflineNames(plot, this.shown, (point) => this.isOff(point)).filter(Boolean));
    this.markFocus();
  }

  showOutside(outside) {
    const share = percent(outside.reduce((sum, point) => sum + point.ns, 0),
      this.inRange.reduce((sum, point) => sum + point.ns, 0));
    this.outside.textContent = outside.length ?
      `${thousands(outside.length)} at the edge ${outside.length === 1 ? 'lies' : 'lie'} ` +
      `outside the axes (${share} of the time).` : '';
  }

  hasPeakRates() {
    return hasPeakRates([this.source]);
  }

  showTexts(unplaced) {
    const {points, rows, ns} = this.all;
    const sums = {ns: 0, roof: 0, judged: 0};
    for (const point of this.inRange) {
      sums.ns += point.ns;
      if (!(point.roofNs > 0)) continue;
      sums.judged += point.ns;
      sums.roof += Math.min(point.roofNs, point.ns);
    }
    const parts = sums.judged > 0 ? ['Ops with a known roof take ', element('b', {}, time(sums.judged)),
      '; at the roof they would take ', element('b', {}, time(sums.roof)),
      ` (${percent(sums.roof, sums.judged)}).`] : [];
    if (!this.inRange.length) parts.push('No op with a performance model ran in this range.');
    clear(this.summary).append(...parts);
    const known = points.reduce((sum, point) => sum + point.ns, 0);
    const notes = ['One bubble per op and shape, area by time: ' +
      `${thousands(points.length)} of ${thousands(rows)} rows have a performance model, ` +
      `${percent(known, ns)} of their time.`];
    if (this.inRange.length > BUBBLES) {
      notes.push(`Shown are the ${BUBBLES} longest of ${thousands(this.inRange.length)}.`);
    }
    if (unplaced) {
      notes.push(`${thousands(unplaced)} have no times of their own on this page and are left out of the range.`);
    }
    notes.push(this.roofNote());
    this.note.textContent = notes.join(' ');
    this.chart.setAttribute('aria-label', `Roofline. ${this.summary.textContent} Arrow keys go from bubble to bubble.`);
    this.showLegend();
  }

  roofNote() {
    if (this.roofs) {
      const rates = ratesText(this.source);
      const dashed = this.hasPeakRates() ? ` Dashed: ${100 * ROOFLINE_ACHIEVABLE}\u00a0% of the roof,` +
        ' which well-tuned kernels reach.' : '';
      return `${rates ? `Roofs: ${rates}.` : ''}${dashed}`;
    }
    const {device} = this.page.front.answers || {};
    const gpu = device && device !== 'unknown' ? `The rates of “${shorten(device, 60)}” are not known` :
      'The trace does not name its GPU';
    return `${gpu}, so there are no roofs: give --gpu_arch_platform NAME or --gpu_arch_json_path FILE.`;
  }

  showLegend() {
    clear(this.legend).append(rooflineLegend(this.page.state, this.inRange));
  }

  // ---- pointing and choosing ----

  describe(point) {
    const kernels = this.source.table('page_kernels');
    const kernel = point.kernel === null ? null :
      kernels.get('short', point.kernel) || kernels.get('name', point.kernel);
    const gap = point.ns - point.roofNs;
    return tipContent(point.op, [
      ['shapes', shorten(point.shapes, 160)],
      ['kernel', kernel && shorten(kernel, 120)],
      ['time', `${time(point.ns)} in ${thousands(Math.round(point.count))} calls`],
      ['at the roof', point.roofNs > 0 ? time(point.roofNs) : 'unknown'],
      point.roofNs > 0 && ['gap', `${significant(Math.max(gap, 0) / 1e6)} ms, ` +
        `at ${percent(point.roofNs, point.ns)} of the roof`],
      ['rate', `${significant(point.rate)} TFLOP/s at ${significant(point.intensity)} flops per byte`],
      ['roof', [point.spec && precisionLabel(point.spec), point.bound && `bound by ${point.bound}`]
        .filter(Boolean).join(', ')],
      ['category', point.category],
    ]);
  }

  choose(at) {
    const point = this.shown[at];
    if (!point || point.call === null) return;
    const isChosen = this.page.state.getNumber('call') === point.call;
    this.page.state.set({call: isChosen ? null : point.call});
  }

  focus(at) {
    this.focused = at;
    this.markFocus();
    if (at < 0) return;
    const point = this.shown[at];
    const {x, y} = this.plot.place(point);
    tooltip.showIn(this.chart, this.describe(point), x, y);
    this.announcer.say(`${pointLabel(point)}: ${time(point.ns)}, ${percent(point.roofNs, point.ns)} of the roof`);
  }

  markFocus() {
    const call = this.page.state.getNumber('call');
    this.bubbles.forEach((bubble, i) => {
      bubble.classList.toggle('focused', i === this.focused);
      bubble.classList.toggle('chosen', call !== null && this.shown[i].call === call);
    });
  }

  tableRows() {
    return {
      heads: ['op', 'shapes', 'calls ', 'time ', 'flops per byte ', 'TFLOP/s ', 'share of roof ', 'gap '],
      rows: this.inRange.slice(0, TABLE_ROWS_OF_OPS).map((point) => [
        shorten(point.op, 80), {text: shorten(point.shapes, 80), title: point.shapes.slice(0, 2000)},
        thousands(Math.round(point.count)), {text: time(point.ns), title: `${thousands(point.ns)} ns`},
        {text: significant(point.intensity), title: String(point.intensity)},
        {text: significant(point.rate), title: String(point.rate)}, percent(point.roofNs, point.ns),
        point.roofNs > 0 ? time(Math.max(0, point.ns - point.roofNs)) : '–',
      ]),
      total: this.inRange.length,
    };
  }
}

export const rooflineSection = {
  id: 'roofline',
  title: 'Roofline',
  print: false,
  needs: (page) => comparedSources(page).every((source) => rooflineSheets(source).length > 0),
  build: (page, body) => (isComparison(page) ? new RooflinePair(page, body) : new Roofline(page, body)),
};
