// One dot per rank with the range that belongs to it, nodes as bands behind them. The marked rank is the same in all
// sections (state `ranks.rank`); a click or Enter marks one.

import {announcer, bottomAxis, fitText, followMarks, leftAxis, setUpCanvas, watchWidth} from '../../chart.js';
import {themeColor} from '../../colors.js';
import {clear, element, onceAFrame, svg} from '../../dom.js';
import {thousands} from '../../format.js';
import {linearScale, linearTicks, TIME_UNITS, unitTicks} from '../../scale.js';
import {tooltip} from '../../tooltip.js';

const DOTS_HEIGHT = 240;
const DOTS_AREA = {left: 76, top: 30, bottom: DOTS_HEIGHT - 40};
const DOTS_REACH = 24; // pixels between pointer and dot

// The range of all dots with a little room. It is at least `least` wide, so that noise looks like noise.
export function dotsDomain(dots, least) {
  let [low, high] = [Infinity, -Infinity];
  for (const dot of dots) {
    for (const value of [dot.value, dot.low, dot.high]) {
      if (value < low) low = value;
      if (value > high) high = value;
    }
  }
  if (!(high >= low)) return [0, 1];
  const room = Math.max((high - low) * 0.06, (least - (high - low)) / 2, 0.5);
  return [low - room, high + room];
}

// Neighbours on one node: [{node, first, last}]; empty if the nodes are not known.
export function nodeStretches(dots) {
  const found = [];
  dots.forEach(({node}, i) => {
    if (found.length && found.at(-1).node === node) found.at(-1).last = i;
    else found.push({node, first: i, last: i});
  });
  return found.some(({node}) => node !== null) && found.length > 1 ? found : [];
}

// The place of the dot that is nearest to one of the others' places, or -1. Dots are [{x, y}] sorted by x.
export function nearestDot(places, x, y, reach) {
  let [best, bestDistance] = [-1, reach];
  places.forEach((place, i) => {
    if (Math.abs(place.x - x) > reach) return;
    const distance = Math.hypot(place.x - x, (place.y - y) / 4); // a range is high: to its left is as near as above it
    if (distance < bestDistance) [best, bestDistance] = [i, distance];
  });
  return best;
}

export class RankDots {
  // dots: [{rank, node, value, low, high}] in ns, in order of ranks; describe(dot): content of its tooltip;
  // say(dot): the same for screen readers; isLoud(dot): drawn in red.
  constructor(page, {dots, title, label, least, describe, say, isLoud}) {
    Object.assign(this, {page, dots, title, least, describe, say, isLoud});
    this.canvas = element('canvas', {tabindex: '0', role: 'application', 'aria-roledescription': 'chart',
      'aria-label': `${label} Arrow keys go from rank to rank, Enter marks one.`});
    this.axes = svg('svg', {class: 'underlay', 'aria-hidden': 'true'});
    this.mark = element('div', {class: 'focus-mark', hidden: true});
    this.box = element('div', {class: 'chart rank-dots'}, this.axes, this.canvas, this.mark);
    this.announcer = announcer();
    this.node = element('div', {}, this.box, this.announcer.node);
    this.listen();
  }

  listen() {
    this.page.state.on(['theme', 'ranks.rank'], onceAFrame(() => this.draw()));
    this.canvas.addEventListener('pointermove', (event) => this.point(event));
    this.canvas.addEventListener('pointerleave', () => this.leave());
    this.canvas.addEventListener('click', (event) => this.choose(this.at(event)));
    followMarks(this.canvas, {count: () => this.dots.length, show: (at) => this.focus(at),
      choose: (at) => this.choose(at)});
    watchWidth(this.box, () => this.draw());
  }

  choose(at) {
    if (!this.dots[at]) return;
    const {rank} = this.dots[at];
    this.page.state.set({'ranks.rank': this.page.state.getNumber('ranks.rank') === rank ? null : rank});
  }

  draw() {
    const width = this.box.clientWidth;
    if (!width) return;
    const area = {...DOTS_AREA, right: width - 12};
    const count = this.dots.length;
    const domain = dotsDomain(this.dots, this.least);
    this.x = linearScale([-0.5, count - 0.5], [area.left, area.right]);
    this.y = linearScale(domain, [area.bottom, area.top]);
    this.places = this.dots.map(({value}, i) => ({x: this.x(i), y: this.y(value)}));
    this.axes.setAttribute('width', width);
    this.axes.setAttribute('height', DOTS_HEIGHT);
    clear(this.axes).append(
      bottomAxis(this.x, this.rankTicks(width), {...area, top: area.bottom}, 'rank'),
      leftAxis(this.y, unitTicks(...domain, 5, TIME_UNITS), area, this.title));
    const context = setUpCanvas(this.canvas, width, DOTS_HEIGHT);
    context.font = `12px ${getComputedStyle(this.box).fontFamily}`;
    this.drawNodes(context, area);
    this.drawDots(context, area);
  }

  rankTicks(width) {
    return linearTicks(0, this.dots.length - 1, Math.max(2, width / 80)).filter(Number.isInteger)
      .map((value) => ({value, label: String(this.dots[value].rank)}));
  }

  drawNodes(context, area) {
    const [ground, text] = [themeColor('--text'), themeColor('--muted')];
    nodeStretches(this.dots).forEach(({node, first, last}, i) => {
      const [left, right] = [this.x(first - 0.5), this.x(last + 0.5)];
      context.fillStyle = ground;
      context.globalAlpha = i % 2 ? 0.05 : 0;
      context.fillRect(left, area.top - 14, right - left, area.bottom - area.top + 14);
      context.globalAlpha = 1;
      context.fillStyle = text;
      if (node !== null) context.fillText(fitText(context, node, right - left - 8), left + 4, area.top - 3);
    });
  }

  drawDots(context, area) {
    const marked = this.page.state.getNumber('ranks.rank');
    const [usual, loud, accent] = ['--muted', '--bad', '--accent'].map(themeColor);
    const each = (area.right - area.left) / this.dots.length;
    const radius = Math.max(1.5, Math.min(4.5, each * 0.35));
    this.dots.forEach((dot, i) => {
      const {x, y} = this.places[i];
      if (!Number.isFinite(y)) return;
      const isMarked = dot.rank === marked;
      context.fillStyle = isMarked ? accent : this.isLoud?.(dot) ? loud : usual;
      const [low, high] = [this.y(dot.low), this.y(dot.high)];
      if (Number.isFinite(low) && Number.isFinite(high)) {
        context.fillRect(x - 0.5, high, 1, low - high);
        const cap = Math.min(3, each * 0.3);
        if (cap >= 1) {
          context.fillRect(x - cap, high - 0.5, 2 * cap, 1);
          context.fillRect(x - cap, low - 0.5, 2 * cap, 1);
        }
      }
      context.beginPath();
      context.arc(x, y, isMarked ? Math.max(radius, 4) : radius, 0, 7);
      context.fill();
    });
  }

  at(event) {
    const place = this.canvas.getBoundingClientRect();
    return nearestDot(this.places, event.clientX - place.left, event.clientY - place.top, DOTS_REACH);
  }

  point(event) {
    const at = this.at(event);
    this.canvas.classList.toggle('clickable', at >= 0);
    if (at < 0) {
      this.leave();
      return;
    }
    this.showMark(at);
    tooltip.show(this.describe(this.dots[at]), event.clientX, event.clientY);
  }

  leave() {
    tooltip.hide();
    this.mark.hidden = true;
  }

  showMark(at) {
    const {x, y} = this.places[at];
    Object.assign(this.mark.style, {left: `${x - 8}px`, top: `${y - 8}px`, width: '16px', height: '16px'});
    this.mark.hidden = !Number.isFinite(y);
  }

  focus(at) {
    if (at < 0) {
      this.leave();
      return;
    }
    const place = this.canvas.getBoundingClientRect();
    this.showMark(at);
    const {x, y} = this.places[at];
    tooltip.show(this.describe(this.dots[at]), place.left + x, place.top + (y || 0) + 8);
    this.announcer.say(`rank ${thousands(this.dots[at].rank)}: ${this.say(this.dots[at])}`);
  }
}
