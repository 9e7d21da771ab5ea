// The steps of two traces side by side on one axis, what they took, and which parts of them changed.
//
// State: `category`; a click sets `view`, so that the timelines show the step.

import {followMarks, leftAxis, setUpCanvas, sortedTable, tipContent, watchWidth} from '../../chart.js';
import {partCss} from '../../colors.js';
import {comparedSources, SIDES} from '../../compared.js';
import {clear, element, onceAFrame, svg} from '../../dom.js';
import {shorten, thousands, time} from '../../format.js';
import {swatch} from '../../legend.js';
import {partLabel} from '../../names.js';
import {linearScale, TIME_UNITS, unitTicks} from '../../scale.js';
import {tooltip} from '../../tooltip.js';
import {timeCells} from '../flame/difference.js';
import {commonPrefix, findOutliers, groupSteps, meanParts, phaseStatistics, readStepsOfAll, stepLimit} from './bars.js';
import {drawPhases, drawSteps, STEP_RULER} from './draw.js';
import {isPartOff, phaseName, stepElements, stepLabels, stepLegend, stepPartLines} from './parts.js';

const PAIR_HEIGHT = 300;
const PAIR_GAP = 48;
const SLIMMEST_BAR = 4;
const BROADEST_BAR = 72;
const STEP_ROWS = 200;

export class StepPairs {
  constructor(page, body) {
    this.page = page;
    this.sources = comparedSources(page);
    const {sides, parts} = readStepsOfAll(this.sources);
    this.parts = parts;
    this.sides = sides.map((steps) => {
      const phases = phaseStatistics(steps);
      return {steps, phases, outliers: findOutliers(steps, phases), means: meanParts(steps, parts.length),
        prefix: commonPrefix(steps.map((step) => step.name))};
    });
    this.phases = [...new Set(this.sides.flatMap(({phases}) => [...phases.keys()]))];
    this.hasPhases = this.phases.some((phase) => phase !== null);
    this.bars = [];
    this.makeParts(body);
    this.listen();
    this.showLegend();
  }

  makeParts(body) {
    Object.assign(this, stepElements(() => this.tableRows()));
    const times = sortedTable('Time of a step', () => this.timeRows());
    this.partTable = sortedTable('Parts of a step, mean', () => this.partRows());
    const table = (title, {node}) => element('div', {}, element('h3', {}, title), node);
    body.append(element('div', {class: 'columns steps-summary'}, table('Time of a step', times),
      table('Parts of a step, mean', this.partTable)),
    this.box, this.legend, this.note, this.alternative.node, this.announcer.node);
  }

  listen() {
    this.page.state.on(['category', 'theme'], onceAFrame(() => {
      this.showLegend();
      this.draw();
    }));
    this.page.state.on(['theme'], this.partTable.refresh);
    tooltip.follow(this.canvas, (event) => this.point(event));
    this.canvas.addEventListener('click', (event) => this.choose(this.barAt(event)));
    followMarks(this.canvas, {count: () => this.bars.length, show: (at) => this.focus(at),
      choose: (at) => this.choose(at), back: () => this.page.state.set({view: null})});
    watchWidth(this.box, () => this.draw());
  }

  // ---- tables ----

  timeRows() {
    const rows = this.phases.flatMap((phase) => {
      const [a, b] = this.sides.map(({phases}) => phases.get(phase));
      const label = (text) => (this.hasPhases ? `${phaseName(phase)}: ${text}` : text);
      const count = (one) => ({text: thousands(one?.count ?? 0), value: one?.count ?? 0});
      return [...['mean', 'p50', 'p99'].map((key) => [label(key), ...timeCells(a?.[key] ?? NaN, b?.[key] ?? NaN)]),
        [label('steps'), count(a), count(b), '', '']];
    });
    return {heads: ['', 'A ', 'B ', 'B − A ', 'change '], rows};
  }

  partRows() {
    const [a, b] = this.sides.map(({means}) => means);
    const rows = this.parts.map((part, i) => ({part, i})).filter(({i}) => a[i] > 0 || b[i] > 0)
      .sort((one, other) => Math.abs(b[other.i] - a[other.i]) - Math.abs(b[one.i] - a[one.i]))
      .map(({part, i}) => [{text: [swatch(partCss(part.part, part.kind)), partLabel(part.part, part.kind)],
        value: partLabel(part.part, part.kind)}, ...timeCells(a[i], b[i])]);
    return {heads: ['part', 'A ', 'B ', 'B − A ', 'change '], rows};
  }

  // Steps by their place in the trace.
  tableRows() {
    const [a, b] = this.sides.map(({steps}) => steps);
    const count = Math.max(a.length, b.length);
    return {
      isSortable: true,
      heads: ['number ', 'step of A', 'step of B', 'A ', 'B ', 'B − A ', 'change '],
      rows: Array.from({length: Math.min(count, STEP_ROWS)}, (_, i) => [{text: String(i + 1), value: i},
        shorten(a[i]?.name ?? '', 60), shorten(b[i]?.name ?? '', 60), ...timeCells(a[i]?.ns ?? NaN, b[i]?.ns ?? NaN)]),
      total: count,
    };
  }

  // ---- drawing ----

  draw() {
    const width = this.box.clientWidth;
    if (!width) return;
    const room = width - 64 - PAIR_GAP;
    const longest = Math.max(...this.sides.map(({steps}) => steps.length));
    const size = Math.ceil(longest / Math.max(1, Math.floor(room / 2 / SLIMMEST_BAR)));
    const groups = this.sides.map(({steps, outliers}) =>
      groupSteps(steps, outliers, Math.ceil(steps.length / size)).groups);
    const {limit, isCut} = stepLimit(groups.flat());
    const top = limit * (isCut ? 1 : 1.06);
    const barWidth = Math.min(BROADEST_BAR, room / (groups[0].length + groups[1].length));
    const area = {left: 64, right: width, top: 36 + (this.hasPhases ? STEP_RULER + 4 : 0) + (isCut ? 12 : 0),
      bottom: PAIR_HEIGHT - 40};
    this.y = linearScale([0, top], [area.bottom, area.top]);
    const context = setUpCanvas(this.canvas, width, PAIR_HEIGHT);
    let left = area.left;
    this.panels = groups.map((bars, side) => {
      const panel = {...area, left, right: left + bars.length * barWidth};
      this.drawPanel(context, width, bars, side, {area: panel, barWidth, top, limit: top});
      left = panel.right + PAIR_GAP;
      return panel;
    });
    this.bars = groups.flatMap((bars, side) => bars.map((group, i) => ({group, side,
      left: this.panels[side].left + i * barWidth})));
    Object.assign(this, {barWidth, size});
    this.drawAxes(width, top, groups);
    this.showNote(size, isCut);
    this.alternative.refresh();
  }

  drawPanel(context, width, bars, side, {area, barWidth, limit}) {
    const {steps, outliers, phases} = this.sides[side];
    const view = {area, barWidth, gap: barWidth > 6 ? Math.min(8, barWidth * 0.2) : 0, y: this.y, limit,
      parts: this.parts, outliers, top: 22, isPartOff: isPartOff(this.page.state, this.parts),
      isGroupOff: ({first, last}) => !steps.slice(first, last + 1).some((step) => step.inWindow)};
    drawSteps(context, this.canvas.width / width, bars, view);
    if (this.hasPhases) drawPhases(context, bars, steps, [...phases.keys()], view);
  }

  drawAxes(width, top, groups) {
    this.axes.setAttribute('width', width);
    this.axes.setAttribute('height', PAIR_HEIGHT);
    const end = this.panels[1].right;
    clear(this.axes).append(
      leftAxis(this.y, unitTicks(0, top, 5, TIME_UNITS), {...this.panels[0], right: end}, 'time per step'),
      ...this.panels.map((panel, side) => this.panelAxis(panel, side, groups[side])));
  }

  // Below a panel its steps and which trace it is; across it the median.
  panelAxis(panel, side, groups) {
    const {steps, prefix, phases} = this.sides[side];
    const title = `${SIDES[side]}: ${this.sources[side].label}${prefix ? `, ${prefix}` : ''}`;
    const usual = this.hasPhases ? null : phases.get(null);
    return svg('g', {class: 'axis'},
      ...stepLabels(groups, steps, prefix, panel, this.barWidth),
      usual && svg('line', {class: 'median', x1: panel.left - 8, x2: panel.right + 8, y1: this.y(usual.p50),
        y2: this.y(usual.p50)}),
      usual && side === 1 && svg('text', {x: panel.right + 12, y: this.y(usual.p50) + 4}, `p50 ${time(usual.p50)}`),
      svg('text', {class: 'title', x: panel.left, y: panel.bottom + 34},
        shorten(title, Math.max(12, Math.floor((panel.right - panel.left + PAIR_GAP) / 7.5)))));
  }

  showNote(size, isCut) {
    const notes = [];
    if (size > 1) notes.push(`Each bar is the mean of ${thousands(size)} steps.`);
    if (this.sources.some((source) => source.fact('steps_left_out'))) notes.push('Some steps are not on this page.');
    if (isCut) notes.push('Bars with a gap are cut off.');
    const isMarked = this.sides.some(({outliers}) => outliers.some(Boolean));
    if (isMarked) notes.push('▼ much longer, ▲ much shorter than usual.');
    notes.push('Pale steps are outside the window and not counted. A click shows a step in the timelines.');
    this.note.textContent = notes.join(' ');
    this.canvas.setAttribute('aria-label', `Time of the steps of both: ${this.sides.map(({steps}, side) =>
      `${SIDES[side]} has ${thousands(steps.length)}`).join(', ')}. Arrow keys go from bar to bar.`);
  }

  showLegend() {
    clear(this.legend).append(...stepLegend(this.page.state, this.parts, this.hasPhases ? this.phases : []));
  }

  // ---- pointing and choosing ----

  barAt(event) {
    const place = this.canvas.getBoundingClientRect();
    const [x, y] = [event.clientX - place.left, event.clientY - place.top];
    return y < this.panels[0].bottom + 20 ?
      this.bars.findIndex(({left}) => x >= left && x < left + this.barWidth) : -1;
  }

  point(event) {
    const at = this.barAt(event);
    this.canvas.classList.toggle('clickable', at >= 0);
    return at >= 0 && this.describe(this.bars[at]);
  }

  describe({group, side}) {
    const {steps} = this.sides[side];
    const isOne = group.first === group.last;
    const first = steps[group.first];
    const {lines, rest} = stepPartLines(this.parts, group);
    return tipContent(`${SIDES[side]}: ${shorten(first.name || 'step', 80)}` +
      `${isOne ? '' : ` to ${shorten(steps[group.last].name, 80)}`}`, [
      [isOne ? 'time' : 'mean', time(group.ns)],
      isOne && ['phase', first.phase],
      isOne && !first.inWindow && ['window', 'outside: not counted'],
      ...lines,
    ], rest);
  }

  // The view is in the time of A; the windows begin at the same place.
  choose(at) {
    const bar = this.bars[at];
    if (!bar) return;
    const {steps} = this.sides[bar.side];
    const shift = bar.side ? this.sources[1].fact('window_start') - this.sources[0].fact('window_start') : 0;
    const last = steps[bar.group.last];
    const view = [steps[bar.group.first].start - shift, last.start + last.ns - shift].map(Math.round).join('-');
    this.page.state.set({view: this.page.state.get('view') === view ? null : view});
  }

  focus(at) {
    this.focusMark.hidden = at < 0;
    if (at < 0) return;
    const {group, side, left} = this.bars[at];
    const {top, bottom} = this.panels[side];
    Object.assign(this.focusMark.style, {left: `${left - 2}px`, top: `${top - 4}px`, width: `${this.barWidth + 2}px`,
      height: `${bottom - top + 6}px`});
    tooltip.showIn(this.canvas, this.describe(this.bars[at]), left + this.barWidth / 2,
      Math.max(top, this.y(group.ns)));
    this.announcer.say(`${SIDES[side]}, ${this.sides[side].steps[group.first].name}: ${time(group.ns)}`);
  }
}
