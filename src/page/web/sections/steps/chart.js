// Where the time of each step of a trace went, as stacked bars, outliers marked; for servers also by phase.
//
// State: `range` (a click sets it to the step), `category`.

import {followMarks, leftAxis, plainTable, setUpCanvas, tipContent, watchWidth} from '../../chart.js';
import {clear, element, onceAFrame, svg} from '../../dom.js';
import {percent, shorten, thousands, time} from '../../format.js';
import {partLabel} from '../../names.js';
import {linearScale, TIME_UNITS, unitTicks} from '../../scale.js';
import {tooltip} from '../../tooltip.js';
import {commonPrefix, findOutliers, groupSteps, phaseStatistics, readSteps, stepLimit} from './bars.js';
import {drawPhases, drawSteps, STEP_RULER} from './draw.js';
import {isPartOff, phaseName, stepElements, stepLabels, stepLegend, stepPartLines} from './parts.js';

const STEP_HEIGHT = 300;
const NARROWEST_BAR = 4;
const WIDEST_BAR = 96;
const TABLE_STEPS = 200;

export class StepBars {
  constructor(page, body) {
    this.page = page;
    this.source = page.source(0);
    Object.assign(this, readSteps(this.source));
    this.phases = phaseStatistics(this.steps);
    this.outliers = findOutliers(this.steps, this.phases);
    this.hasPhases = this.steps.some((step) => step.phase !== null);
    this.prefix = commonPrefix(this.steps.map((step) => step.name));
    this.makeParts(body);
    this.listen();
    this.showLegend();
  }

  makeParts(body) {
    Object.assign(this, stepElements(() => this.tableRows()));
    if (this.steps.length === 1) this.box.hidden = this.legend.hidden = this.note.hidden = true;
    body.append(this.summary(), this.box, this.legend, this.note, this.alternative.node, this.announcer.node);
  }

  // One line, or a small table if there are phases.
  summary() {
    const marked = this.outliers.reduce((count, outlier) => count + (outlier ? 1 : 0), 0);
    const isJudged = [...this.phases.values()].some((phase) => phase.count > 2);
    const outliers = marked ? `${thousands(marked)} ${marked === 1 ? 'is' : 'are'} marked as unusual.` :
      isJudged ? 'None is unusual.' : '';
    const outside = this.steps.filter((step) => !step.inWindow).length;
    const notIn = outside && outside < this.steps.length ?
      `${thousands(outside)} outside the window ${outside === 1 ? 'is' : 'are'} not counted.` : '';
    const remarks = [outliers, notIn].filter(Boolean).join(' ');
    if (this.hasPhases) {
      return element('div', {class: 'steps-summary'}, plainTable('Steps by phase',
        ['phase', 'steps ', 'mean ', 'p50 ', 'p99 '], [...this.phases].map(([phase, one]) => [
          {text: phaseName(phase)}, thousands(one.count), ...[one.mean, one.p50, one.p99].map((ns) => (
            {text: time(ns), title: `${thousands(ns)} ns`}))])),
      element('p', {}, remarks));
    }
    const [one] = this.phases.values();
    const value = (ns) => element('b', {title: `${thousands(ns)} ns`}, time(ns));
    return element('p', {class: 'steps-summary'}, element('b', {}, thousands(one.count)),
      one.count === 1 ? ' step: mean ' : ' steps: mean ', value(one.mean), ', p50 ', value(one.p50),
      ', p99 ', value(one.p99), `. ${remarks}`);
  }

  listen() {
    const draw = onceAFrame(() => this.draw());
    this.page.state.on(['range', 'category', 'theme'], () => {
      this.showLegend();
      draw();
    });
    tooltip.follow(this.canvas, (event) => this.point(event));
    this.canvas.addEventListener('click', (event) => this.choose(this.groupAt(event)));
    followMarks(this.canvas, {count: () => this.groups.length, show: (at) => this.focus(at),
      choose: (at) => this.choose(at), back: () => this.page.state.set({range: null})});
    watchWidth(this.box, () => this.draw());
  }

  draw() {
    const width = this.box.clientWidth;
    if (!width) return;
    const area = {left: 64, right: width, top: 36, bottom: STEP_HEIGHT - 40};
    const room = area.right - area.left;
    const {groups, size} = groupSteps(this.steps, this.outliers, Math.floor(room / NARROWEST_BAR));
    const {limit, isCut} = stepLimit(groups);
    area.top += (this.hasPhases ? STEP_RULER + 4 : 0) + (isCut ? 12 : 0);
    const top = limit * (isCut ? 1 : 1.06);
    Object.assign(this, {groups, size, area, barWidth: Math.min(WIDEST_BAR, room / groups.length)});
    area.right = Math.min(area.right, area.left + groups.length * this.barWidth + 8);
    this.y = linearScale([0, top], [area.bottom, area.top]);
    const context = setUpCanvas(this.canvas, width, STEP_HEIGHT);
    const view = {area, barWidth: this.barWidth,
      gap: this.barWidth > 6 ? Math.min(8, this.barWidth * 0.2) : 0, y: this.y,
      limit: top, parts: this.parts, outliers: this.outliers, top: 22, ...this.dimming()};
    drawSteps(context, this.canvas.width / width, groups, view);
    if (this.hasPhases) drawPhases(context, groups, this.steps, [...this.phases.keys()], view);
    this.drawAxes(width, top);
    this.showNote(isCut);
    this.alternative.refresh();
  }

  // What is not chosen is pale.
  dimming() {
    const range = this.page.state.getRange('range');
    return {
      isPartOff: isPartOff(this.page.state, this.parts),
      isGroupOff: ({first, last}) => (range ? !this.overlaps(range, first, last) :
        !this.steps.slice(first, last + 1).some((step) => step.inWindow)),
    };
  }

  overlaps([begin, end], first, last) {
    return this.steps[first].start < end && this.steps[last].start + this.steps[last].ns > begin;
  }

  drawAxes(width, top) {
    const {area, barWidth} = this;
    this.axes.setAttribute('width', width);
    this.axes.setAttribute('height', STEP_HEIGHT);
    const ticks = unitTicks(0, top, 5, TIME_UNITS);
    clear(this.axes).append(leftAxis(this.y, ticks, area, 'time per step'), svg('g', {class: 'axis'},
      ...stepLabels(this.groups, this.steps, this.prefix, area, barWidth),
      svg('text', {class: 'title', x: area.left, y: area.bottom + 34}, shorten(this.prefix || 'step', 60))));
  }

  showNote(isCut) {
    const notes = [];
    if (this.size > 1) {
      notes.push(`${thousands(this.steps.length)} steps: each bar is the mean of ${thousands(this.size)}, ` +
        'and a mark says that one of them is unusual.');
    }
    const left = this.source.fact('steps_left_out');
    if (left) notes.push(`${thousands(left)} more steps are not on this page.`);
    if (isCut) notes.push('Bars with a gap are cut off.');
    if (this.outliers.some((outlier) => outlier)) {
      notes.push('▼ much longer, ▲ much shorter: farther than 3 scaled MADs, and than 5 %, from the median' +
        `${this.hasPhases ? ' of the phase' : ''}.`);
    }
    notes.push('A click shows only that step in the other sections.');
    this.note.textContent = notes.join(' ');
    this.canvas.setAttribute('aria-label',
      `Time of ${thousands(this.steps.length)} steps. Arrow keys go from bar to bar, ` +
      'Enter chooses its range.');
  }

  showLegend() {
    const phases = this.hasPhases ? [...this.phases.keys()] : [];
    clear(this.legend).append(...stepLegend(this.page.state, this.parts, phases));
  }

  // ---- pointing and choosing ----

  groupAt(event) {
    const place = this.canvas.getBoundingClientRect();
    const at = Math.floor((event.clientX - place.left - this.area.left) / this.barWidth);
    return at >= 0 && at < this.groups.length && event.clientY - place.top < this.area.bottom + 20 ? at : -1;
  }

  point(event) {
    const at = this.groupAt(event);
    this.canvas.classList.toggle('clickable', at >= 0);
    return at >= 0 && this.describe(this.groups[at]);
  }

  describe(group) {
    const step = this.steps[group.first];
    const isOne = group.first === group.last;
    const usual = this.phases.get(step.phase);
    const {lines, rest} = stepPartLines(this.parts, group);
    const name = isOne ? step.name || 'step' : `${step.name} to ${this.steps[group.last].name}`;
    const unusual = group.outlier >= 0 && (isOne ? this.outlierText(group.outlier) :
      `${this.steps[group.outlier].name}: ${time(this.steps[group.outlier].ns)}, ${this.outlierText(group.outlier)}`);
    return tipContent(shorten(name, 160), [
      [isOne ? 'time' : 'mean', time(group.ns)],
      usual && isOne && usual.count > 2 && ['', `${group.ns < usual.p50 ? '−' : '+'}` +
        `${percent(Math.abs(group.ns - usual.p50), usual.p50)} compared with the median`],
      unusual && ['unusual', unusual],
      step.phase && isOne && ['phase', step.phase],
      isOne && !step.inWindow && ['window', 'outside: findings are not about this step'],
      ...lines,
    ], rest);
  }

  outlierText(step) {
    return this.outliers[step] > 0 ? 'much longer than the median' : 'much shorter than the median';
  }

  choose(at) {
    const group = this.groups[at];
    if (!group) return;
    const last = this.steps[group.last];
    const range = `${this.steps[group.first].start}-${last.start + last.ns}`;
    this.page.state.set({range: this.page.state.get('range') === range ? null : range});
  }

  focus(at) {
    this.focusMark.hidden = at < 0;
    if (at < 0) return;
    const {area, barWidth} = this;
    Object.assign(this.focusMark.style, {left: `${area.left + at * barWidth - 2}px`, top: `${area.top - 4}px`,
      width: `${barWidth + 2}px`, height: `${area.bottom - area.top + 6}px`});
    const group = this.groups[at];
    tooltip.showIn(this.canvas, this.describe(group), area.left + (at + 0.5) * barWidth,
      Math.max(area.top, this.y(group.ns)));
    this.announcer.say(`${this.steps[group.first].name}: ${time(group.ns)}` +
      `${group.outlier >= 0 ? `, ${this.outlierText(group.outlier)}` : ''}`);
  }

  tableRows() {
    const heads = ['step', ...(this.hasPhases ? ['phase'] : []), 'time ', 'unusual',
      ...this.parts.map(({part, kind}) => `${partLabel(part, kind)} `)];
    const cell = (ns) => ({text: ns ? time(ns) : '–', title: `${thousands(ns)} ns`});
    return {
      heads,
      rows: this.steps.slice(0, TABLE_STEPS).map((step, i) => [shorten(step.name, 60),
        ...(this.hasPhases ? [phaseName(step.phase)] : []), cell(step.ns), this.outliers[i] ? this.outlierText(i) : '',
        ...Array.from(step.parts, cell)]),
      total: this.steps.length,
    };
  }
}
