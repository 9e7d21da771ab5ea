// Allocated and reserved memory over time: one chart per device, with its peak.

import {announcer, bottomAxis, followMarks, leftAxis, tipContent, watchWidth} from '../../chart.js';
import {clear, element, onceAFrame, svg} from '../../dom.js';
import {bytes, thousands, time} from '../../format.js';
import {BYTE_UNITS, linearScale, niceMaximum, TIME_UNITS, unitTicks} from '../../scale.js';
import {tooltip} from '../../tooltip.js';
import {peakIn, readMemory, sampleAt, samplesIn, stepPoints} from './samples.js';

const LINE_HEIGHT = 184;
const DEVICES = 8;
const KEY_STOPS = 100;

// A chart of memory over time; what is drawn on it and said about a time is that of a class below.
export class MemoryChart {
  constructor(body, title) {
    this.chart = svg('svg', {tabindex: '0', role: 'application', 'aria-roledescription': 'line chart'});
    this.box = element('div', {class: 'chart'}, this.chart);
    this.announcer = announcer();
    if (title) body.append(element('p', {class: 'small strong'}, title));
    body.append(this.box, this.announcer.node);
    this.chart.addEventListener('pointermove', (event) => {
      this.show(this.x.invert(event.clientX - this.chart.getBoundingClientRect().left), event.clientY);
    });
    this.chart.addEventListener('pointerleave', () => this.show(null));
    followMarks(this.chart, {count: () => KEY_STOPS + 1, show: (at) => {
      const place = this.chart.getBoundingClientRect();
      this.show(at < 0 ? null : this.range[0] + (this.range[1] - this.range[0]) * at / KEY_STOPS, place.top + 60, true);
    }});
  }

  // Scales and axes for at most `highest` bytes; marks(area) are drawn between them and the cursor.
  drawFrame(range, highest, marks) {
    const width = this.box.clientWidth;
    const area = {left: 64, right: width - 24, top: 12, bottom: LINE_HEIGHT - 28};
    const top = niceMaximum(highest * 1.1, 4);
    this.range = range;
    this.x = linearScale(range, [area.left, area.right]);
    this.y = linearScale([0, top], [area.bottom, area.top]);
    this.cursor = svg('line', {class: 'cursor', y1: area.top, y2: area.bottom, visibility: 'hidden'});
    this.chart.setAttribute('width', width);
    this.chart.setAttribute('height', LINE_HEIGHT);
    clear(this.chart).append(
      bottomAxis(this.x, unitTicks(...range, (area.right - area.left) / 110, TIME_UNITS), area),
      leftAxis(this.y, unitTicks(0, top, 4, BYTE_UNITS), area), ...marks(area), this.cursor);
  }

  // Moves the cursor to a time, or hides it. Returns whether it is shown.
  moveCursor(at, isShown) {
    this.cursor.setAttribute('visibility', isShown ? 'visible' : 'hidden');
    if (!isShown) tooltip.hide();
    else for (const end of ['x1', 'x2']) this.cursor.setAttribute(end, this.x(at));
    return isShown;
  }
}

// One device.
class DeviceChart extends MemoryChart {
  constructor(samples, body, title) {
    super(body, title);
    this.samples = samples;
  }

  draw(range) {
    if (!this.box.clientWidth) return;
    const {start, allocated, reserved} = this.samples;
    const rows = samplesIn(start, range);
    const peaks = [peakIn(allocated, rows), peakIn(reserved, rows)];
    this.chart.setAttribute('aria-label', this.describePeaks(peaks));
    this.drawFrame(range, Math.max(peaks[0]?.value || 0, peaks[1]?.value || 0), (area) => {
      const used = stepPoints(start, allocated, rows, range, this.x, this.y);
      const held = stepPoints(start, reserved, rows, range, this.x, this.y);
      return [svg('path', {class: 'memory-fill', d: linePath(used, area.bottom)}),
        svg('path', {class: 'memory-line reserved', d: linePath(held)}),
        svg('path', {class: 'memory-line', d: linePath(used)}), ...this.peakMark(peaks[0], area)];
    });
  }

  peakMark(peak, area) {
    if (!peak) return [];
    const x = this.x(Math.max(this.samples.start[peak.row], this.range[0]));
    const y = this.y(peak.value);
    const isRight = x > (area.left + area.right) / 2;
    return [svg('circle', {class: 'peak', cx: x, cy: y, r: 4}),
      svg('text', {class: 'peak-name', x: x + (isRight ? -8 : 8), y: Math.max(y - 8, 12),
        'text-anchor': isRight ? 'end' : 'start'},
        `peak ${bytes(peak.value)}`, svg('title', {}, `${thousands(peak.value)} bytes`))];
  }

  describePeaks([used, held]) {
    return `Memory of device ${this.samples.device}: at most ${bytes(used?.value)} allocated and ` +
      `${bytes(held?.value)} reserved. Arrow keys move in time.`;
  }

  // The values at a time; null: none.
  show(at, clientY, isKey) {
    const row = at === null || at < this.range[0] || at > this.range[1] ? -1 : sampleAt(this.samples.start, at);
    if (!this.moveCursor(at, row >= 0)) return;
    const {allocated, reserved, start} = this.samples;
    tooltip.show(tipContent(`at ${time(at)}`, [['allocated', bytes(allocated[row])], ['reserved', bytes(reserved[row])],
      ['since', time(start[row])]]), this.chart.getBoundingClientRect().left + this.x(at), clientY);
    if (isKey) this.announcer.say(`${time(at)}: ${bytes(allocated[row])} allocated, ${bytes(reserved[row])} reserved`);
  }
}

// Corners as a path; with `bottom`, the area down to it.
export function linePath(points, bottom) {
  if (!points.length) return '';
  const line = `M${points.map(([x, y]) => `${x} ${y.toFixed(1)}`).join('L')}`;
  return bottom === undefined ? line : `${line}V${bottom}H${points[0][0]}Z`;
}

export class MemoryLines {
  constructor(page, body) {
    this.page = page;
    this.end = page.source(0).fact('end');
    const devices = readMemory(page.source(0).table('page_memory'));
    const peak = (samples) => samples.allocated.reduce((most, one) => (one > most ? one : most), 0);
    const shown = devices.length <= DEVICES ? devices :
      [...devices].sort((a, b) => peak(b) - peak(a)).slice(0, DEVICES).sort((a, b) => a.device - b.device);
    body.append(element('ul', {class: 'legend'},
      element('li', {}, element('span', {class: 'swatch allocated', 'aria-hidden': 'true'}), 'allocated by tensors'),
      element('li', {}, element('span', {class: 'swatch reserved', 'aria-hidden': 'true'}),
        'reserved by the allocator')));
    this.charts = shown.map(
      (samples) => new DeviceChart(samples, body, devices.length > 1 ? `GPU ${samples.device}` : null));
    if (shown.length < devices.length) {
      body.append(element('p', {class: 'note'},
        `Shown are the ${DEVICES} devices with the highest peaks of ${devices.length}.`));
    }
    const draw = onceAFrame(() => this.draw());
    page.state.on(['range', 'view', 'theme'], draw);
    watchWidth(this.charts[0].box, draw);
  }

  // The chosen range, or what the timeline shows, or all.
  draw() {
    const {state} = this.page;
    const range = state.getRange('range') || state.getRange('view') || [0, this.end];
    for (const chart of this.charts) chart.draw(range);
  }
}
