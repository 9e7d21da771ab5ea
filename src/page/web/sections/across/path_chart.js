// The critical path over time: one bar per step, its segments coloured by kind, and above them the ranks that it is on.
// A click or Enter chooses an op; its other segments stay bright.

import {announcer, bottomAxis, fitText, followMarks, setUpCanvas, tipContent, watchWidth} from '../../chart.js';
import {categoryColor, causeCss, causePattern, inkOn, mixColors, setLargestCause, themeColor} from '../../colors.js';
import {clear, element, onceAFrame, svg} from '../../dom.js';
import {percent, thousands, time} from '../../format.js';
import {linearScale, TIME_UNITS, unitTicks} from '../../scale.js';
import {tooltip} from '../../tooltip.js';
import {rankStretches, segmentAt} from './path.js';

const PATH_LEFT = 76;
const PATH_RIGHT = 84;
const PATH_ROW = 48;
const PATH_RANKS = 16; // height of the line of ranks
const PATH_BAR = 22;
const PATH_MARK = 1; // pixels: keys skip what cannot be seen
const PATH_CAUSES = {host: 'launch', data: 'data', idle: 'outside'};

// Of host and data, the larger one has the accent, as the largest cause of idle time has on other pages.
export function stressLargestKind(kinds) {
  const waiting = kinds.filter(({kind}) => kind === 'host' || kind === 'data').sort((a, b) => b.ns - a.ns);
  if (waiting.length) setLargestCause(PATH_CAUSES[waiting[0].kind]);
}

const isPlainKind = (kind) => !Object.hasOwn(PATH_CAUSES, kind);

function plainColor(kind) {
  if (kind === 'compute') return themeColor('--accent');
  return categoryColor(kind === 'communication' ? 'communication' : 'other');
}

// The colour of a kind, for an element. Time in which the GPU waits for the host is hatched, as on all pages.
export function pathCss(kind) {
  if (kind === 'compute') return 'var(--accent)';
  return isPlainKind(kind) ? plainColor(kind) : causeCss(PATH_CAUSES[kind]);
}

export class PathChart {
  // `ops` are those of readPathOps; the state `path.op` is the place of the chosen one. `choose(segment)` is called
  // for a click.
  constructor(page, {steps, ops, per, choose}) {
    Object.assign(this, {page, steps, ops, per, choose});
    this.opOf = new Map(ops.map((op, i) => [op.key, i]));
    const count = steps.reduce((sum, {segments}) => sum + segments.length, 0);
    this.canvas = element('canvas', {tabindex: '0', role: 'application', 'aria-roledescription': 'chart',
      'aria-label': `The critical path as ${thousands(count)} segments in ${thousands(steps.length)} bars. ` +
        'Arrow keys go from segment to segment, Enter chooses an op.'});
    this.axis = svg('svg', {class: 'underlay', 'aria-hidden': 'true'});
    this.mark = element('div', {class: 'focus-mark', hidden: true});
    this.box = element('div', {class: 'chart path-chart'}, this.axis, this.canvas, this.mark);
    this.announcer = announcer();
    this.node = element('div', {}, this.box, this.announcer.node);
    this.listen();
  }

  listen() {
    const draw = onceAFrame(() => this.draw());
    this.page.state.on(['theme', 'path.op'], draw);
    this.canvas.addEventListener('pointermove', (event) => this.point(event));
    this.canvas.addEventListener('pointerleave', () => this.leave());
    this.canvas.addEventListener('click', (event) => {
      const found = this.at(event);
      if (found) this.choose(found.segment);
    });
    followMarks(this.canvas, {count: () => this.marks.length, show: (at) => this.focus(at),
      choose: (at) => this.choose(this.marks[at].segment)});
    watchWidth(this.box, () => this.draw());
  }

  draw() {
    const width = this.box.clientWidth;
    if (!width) return;
    const height = this.steps.length * PATH_ROW;
    const longest = this.steps.reduce((most, {from, to}) => Math.max(most, to - from), 0);
    const area = {left: PATH_LEFT, right: width - PATH_RIGHT, top: 0, bottom: height};
    this.x = linearScale([0, longest || 1], [area.left, area.right]);
    this.axis.setAttribute('width', width);
    this.axis.setAttribute('height', height + 24);
    clear(this.axis).append(bottomAxis(this.x, unitTicks(0, longest, 8, TIME_UNITS), area, null));
    const context = setUpCanvas(this.canvas, width, height + 24);
    context.font = `12px ${getComputedStyle(this.box).fontFamily}`;
    this.marks = [];
    this.colors = {text: themeColor('--text'), muted: themeColor('--muted'), paper: themeColor('--paper'),
      line: themeColor('--line'), raised: themeColor('--surface'), strong: themeColor('--line-strong')};
    this.fills = new Map();
    this.steps.forEach((step, i) => this.drawStep(context, step, i * PATH_ROW));
  }

  drawStep(context, step, top) {
    context.textBaseline = 'middle';
    context.textAlign = 'right';
    context.fillStyle = this.colors.text;
    const middle = top + PATH_RANKS + PATH_BAR / 2 + 2;
    context.fillText(step.number === null ? this.per : `${this.per} ${step.number}`, PATH_LEFT - 8, middle);
    context.textAlign = 'left';
    context.fillText(time(step.to - step.from), this.x(step.to - step.from) + 8, middle);
    this.drawRanks(context, step, top + 2);
    this.drawSegments(context, step, top + PATH_RANKS + 2);
  }

  drawRanks(context, step, top) {
    rankStretches(step.segments).forEach(({rank, from, to}, i) => {
      const [left, right] = [this.x(from - step.from), this.x(to - step.from)];
      context.fillStyle = i % 2 ? this.colors.line : this.colors.raised;
      context.fillRect(left, top, right - left, PATH_RANKS - 1);
      context.fillStyle = this.colors.strong;
      context.fillRect(left, top, Math.min(1, right - left), PATH_RANKS - 1);
      context.fillStyle = this.colors.text;
      const names = [`rank ${rank}`, String(rank)];
      const label = names.find((text) => context.measureText(text).width <= right - left - 6);
      if (label) context.fillText(label, left + 4, top + PATH_RANKS / 2);
    });
  }

  fillOf(context, kind) {
    if (!this.fills.has(kind)) {
      const scale = Math.max(1, Math.round(context.getTransform().a));
      this.fills.set(kind, isPlainKind(kind) ? plainColor(kind) : causePattern(context, PATH_CAUSES[kind], scale));
    }
    return this.fills.get(kind);
  }

  // In device pixels, so that the edges are sharp and neighbours have no gap.
  drawSegments(context, step, top) {
    const chosen = this.ops[this.page.state.getNumber('path.op')]?.key;
    const scale = context.getTransform().a;
    const places = step.segments.map((segment) => {
      const [left, right] = [segment.from, segment.to].map((ns) => Math.round(this.x(ns - step.from) * scale));
      return {segment, left, right, isOff: chosen !== undefined && segment.key !== chosen};
    });
    const fills = places.map(({segment}) => this.fillOf(context, segment.kind));
    context.save();
    context.setTransform(1, 0, 0, 1, 0, 0);
    places.forEach(({left, right, isOff}, i) => {
      if (right <= left) return;
      const fill = (color, x, width) => {
        context.fillStyle = color;
        context.fillRect(x, Math.round(top * scale), width, Math.round(PATH_BAR * scale));
      };
      if (isOff) fill(this.colors.paper, left, right - left);
      context.globalAlpha = isOff ? 0.25 : 1;
      fill(fills[i], left, right - left);
      context.globalAlpha = 1;
      if (right - left > 3 * scale) fill(this.colors.paper, right - 1, 1);
    });
    context.restore();
    for (const {segment, left, right, isOff} of places) {
      const place = {left: left / scale, right: right / scale, top};
      if (right - left >= PATH_MARK * scale) this.marks.push({segment, step, ...place});
      this.label(context, segment, {...place, isOff});
    }
  }

  label(context, segment, {left, right, top, isOff}) {
    if (right - left < 30) return;
    const op = this.ops[this.opOf.get(segment.key)]?.op ?? segment.kind;
    const plain = isPlainKind(segment.kind);
    const label = fitText(context, op, (right - left - 10) * (plain ? 1 : 0.7)); // some of the hatch stays visible
    if (!label) return;
    if (!plain) {
      context.fillStyle = this.colors.paper;
      context.fillRect(left + 3, top + 3, context.measureText(label).width + 4, PATH_BAR - 6);
    }
    const color = plain && this.fills.get(segment.kind);
    context.fillStyle = plain ? inkOn(isOff ? mixColors(color, this.colors.paper, 0.25) : color) : this.colors.text;
    context.fillText(label, left + 5, top + PATH_BAR / 2);
  }

  at(event) {
    const place = this.canvas.getBoundingClientRect();
    const row = Math.floor((event.clientY - place.top) / PATH_ROW);
    const step = this.steps[row];
    if (!step) return null;
    const segment = segmentAt(step.segments, step.from + this.x.invert(event.clientX - place.left));
    return segment && {step, segment, top: row * PATH_ROW + PATH_RANKS + 2,
      left: this.x(segment.from - step.from), right: this.x(segment.to - step.from)};
  }

  point(event) {
    const found = this.at(event);
    this.canvas.classList.toggle('clickable', Boolean(found));
    if (!found) {
      this.leave();
      return;
    }
    this.showMark(found);
    tooltip.show(this.describe(found), event.clientX, event.clientY);
  }

  leave() {
    tooltip.hide();
    this.mark.hidden = true;
  }

  showMark({left, right, top}) {
    Object.assign(this.mark.style, {left: `${left - 1}px`, top: `${top - 1}px`,
      width: `${Math.max(3, right - left + 2)}px`, height: `${PATH_BAR + 2}px`});
    this.mark.hidden = false;
  }

  describe({step, segment}) {
    const op = this.ops[this.opOf.get(segment.key)];
    const length = segment.to - segment.from;
    return tipContent(op?.op ?? segment.kind, [
      ['rank', op?.node ? `${segment.rank}, ${op.node}` : String(segment.rank)], ['kind', segment.kind],
      ['in this bar', `${time(length)}, ${percent(length, step.to - step.from)}`],
      ['from', `${time(segment.from - step.from)} to ${time(segment.to - step.from)}`],
      op && [`per ${this.per}`, `${time(op.ns)}, ${percent(op.share, 1)} of the path`],
      op && Number.isFinite(op.longer) && ['longer than usual', time(op.longer)],
      op && Number.isFinite(op.slack) && ['slack', time(op.slack)]],
    segment.kind === 'communication' ? 'The rank is the one that came last.' : null);
  }

  focus(at) {
    if (at < 0 || !this.marks[at]) {
      this.leave();
      return;
    }
    const found = this.marks[at];
    const place = this.canvas.getBoundingClientRect();
    this.showMark(found);
    tooltip.show(this.describe(found), place.left + found.left, place.top + found.top + PATH_BAR);
    const op = this.ops[this.opOf.get(found.segment.key)];
    this.announcer.say(`rank ${found.segment.rank}, ${found.segment.kind}, ${op?.op ?? ''}: ` +
      time(found.segment.to - found.segment.from));
  }
}
