// Memory and copies of two traces: copies by direction and kind with their differences, sizes and bandwidths of both in
// one chart, and the memory of each device over time, both windows beginning at the same place.
//
// State: `range` and `view` of others choose the time of the last part.

import {plainTable, sortedTable, tipContent, watchWidth} from '../../chart.js';
import {changeOf, SIDES, windowSteps} from '../../compared.js';
import {element, onceAFrame, svg} from '../../dom.js';
import {bytes, changeText, signed, significant, thousands, time} from '../../format.js';
import {tooltip} from '../../tooltip.js';
import {timeCells} from '../flame/difference.js';
import {copyPoints, directionText, isPageable, pairCopies, readCopies, readWindowCopies} from './copies.js';
import {linePath, MemoryChart} from './lines.js';
import {peakIn, readMemory, sampleAt, samplesIn, stepPoints} from './samples.js';
import {CopyScatter} from './scatter.js';
import {pageableMark, rateText} from './single.js';

const PAIR_DEVICES = 8;

// ---- copies ----

function sideBars(pair, longest) {
  const bar = (group) => element('span', {class: group && isPageable(group) ? 'copy-bar pageable' : 'copy-bar',
    style: {width: `${100 * (group ? group.ns : 0) / longest}%`}});
  return element('span', {class: 'copy-bars'}, pair.map(bar));
}

function copyRows(pairs) {
  const longest = Math.max(...pairs.flat().map((group) => (group ? group.ns : 0)));
  const value = (group, key) => (group ? group[key] : 0);
  const cells = (pair, key, format) => pair.map((group) => ({text: group ? format(group[key]) : '–',
    title: group ? String(group[key]) : null, value: value(group, key)}));
  return {
    heads: ['direction', 'memory', 'A copies ', 'B copies ', 'A bytes ', 'B bytes ', 'A time ', 'B time ', 'B − A ',
      'change ', 'A above B', 'A bandwidth ', 'B bandwidth '],
    rows: pairs.map((pair) => {
      const {direction, kind} = pair[0] || pair[1];
      return [directionText(direction), isPageable({kind}) ? {text: pageableMark(), value: kind} : kind,
        ...cells(pair, 'count', significant), ...cells(pair, 'bytes', (size) => (size ? bytes(size) : '–')),
        ...timeCells(value(pair[0], 'ns'), value(pair[1], 'ns')),
        {text: sideBars(pair, longest), value: value(pair[1], 'ns')}, ...cells(pair, 'rate', rateText)];
    }),
  };
}

function buildCopyPairs(page, body) {
  const tables = [0, 1].map((side) => page.source(side).table('page_copies'));
  if (!tables.some((table) => table && table.rows)) return;
  const steps = windowSteps(page);
  const copies = tables.map((table) => (table ? readCopies(table) : []));
  const pairs = pairCopies(steps ? tables.map((table) => (table ? readWindowCopies(table) : [])) : copies, steps);
  const title = steps ? `Copies per step (${thousands(steps[0])} and ${thousands(steps[1])} steps of the windows)` :
    'Copies of the whole traces';
  const points = copyPoints(copies.flatMap((list, side) => list.map((copy) => ({...copy, side}))));
  const table = sortedTable('Copies by direction', () => copyRows(pairs)).node;
  table.classList.add('copy-pairs');
  body.append(element('h3', {}, title), table);
  if (points) new CopyScatter(page, body, points);
}

// ---- memory over time ----

// The samples of both sides of a device, in the time of A.
function readPairs(page) {
  const shift = page.source(1).fact('window_start') - page.source(0).fact('window_start') || 0;
  const sides = [0, 1].map((side) => {
    const table = page.source(side).table('page_memory');
    const devices = table && table.rows ? readMemory(table) : [];
    return new Map(devices.map((samples) => [samples.device,
      side ? {...samples, start: samples.start.map((at) => at - shift)} : samples]));
  });
  const numbers = [...new Set(sides.flatMap((side) => [...side.keys()]))].sort((a, b) => a - b);
  return {shift, devices: numbers.map((device) => ({device, sides: sides.map((side) => side.get(device) || null)}))};
}

function peakOf(samples, key) {
  return samples ? peakIn(samples[key], [0, samples.start.length])?.value ?? NaN : NaN;
}

class MemoryPairChart extends MemoryChart {
  constructor({device, sides}, body, title) {
    super(body, title);
    Object.assign(this, {device, sides});
    this.chart.setAttribute('aria-label', `Memory of device ${device} in both traces. Arrow keys move in time.`);
  }

  draw(range) {
    if (!this.box.clientWidth) return;
    const rows = this.sides.map((samples) => samples && samplesIn(samples.start, range));
    const highest = Math.max(...this.sides.flatMap((samples, side) => (samples ?
      ['allocated', 'reserved'].map((key) => peakIn(samples[key], rows[side])?.value || 0) : [0])));
    const line = (samples, side, key) => svg('path', {
      class: ['memory-line', side ? '' : 'side-a', key === 'reserved' ? 'dashed' : ''].filter(Boolean).join(' '),
      d: linePath(stepPoints(samples.start, samples[key], rows[side], range, this.x, this.y))});
    this.drawFrame(range, highest, () => this.sides.flatMap((samples, side) => (samples ?
      ['reserved', 'allocated'].map((key) => line(samples, side, key)) : [])));
  }

  // The values of both at a time; null: none.
  show(at, clientY, isKey) {
    const isOutside = at === null || at < this.range[0] || at > this.range[1];
    const rows = this.sides.map((samples) => (isOutside || !samples ? -1 : sampleAt(samples.start, at)));
    if (!this.moveCursor(at, rows.some((row) => row >= 0))) return;
    const values = ['allocated', 'reserved'].flatMap((key) => this.sides.map((samples, side) =>
      [`${SIDES[side]} ${key}`, rows[side] < 0 ? null : bytes(samples[key][rows[side]])]));
    tooltip.show(tipContent(`at ${time(at)}`, values), this.chart.getBoundingClientRect().left + this.x(at), clientY);
    if (isKey) this.announcer.say(values.map((pair) => pair.join(' ')).join(', '));
  }
}

// Peaks of both as a table: what most people look for.
function peakTable(devices) {
  const size = (value) => ({text: bytes(value), title: `${thousands(value)} bytes`, value});
  return plainTable('Peaks', ['device', 'memory', 'A peak ', 'B peak ', 'B − A ', 'change '], devices.flatMap(
    ({device, sides}) => ['allocated', 'reserved'].map((key) => {
      const [a, b] = sides.map((samples) => peakOf(samples, key));
      return [`GPU ${device}`, key, size(a), size(b), {text: signed(bytes, b - a), title: `${thousands(b - a)} bytes`},
        changeText(changeOf(a, b))];
    })));
}

class MemoryPairs {
  constructor(page, body) {
    this.page = page;
    const {shift, devices} = readPairs(page);
    const highest = ({sides}) => Math.max(...sides.map((samples) => peakOf(samples, 'allocated') || 0));
    const shown = [...devices].sort((one, other) => highest(other) - highest(one)).slice(0, PAIR_DEVICES)
      .sort((one, other) => one.device - other.device);
    this.range = [Math.min(0, -shift), Math.max(page.source(0).fact('end'), page.source(1).fact('end') - shift)];
    const sample = (name, text) => element('li', {},
      element('span', {class: `swatch ${name}`, 'aria-hidden': 'true'}), text);
    body.append(peakTable(shown), element('ul', {class: 'legend'}, sample('side-a', `A: ${page.source(0).label}`),
      sample('side-b', `B: ${page.source(1).label}`), element('li', {}, 'dashed: reserved by the allocator')));
    const title = ({device}) => (devices.length > 1 ? `GPU ${device}` : null);
    this.charts = shown.map((pair) => new MemoryPairChart(pair, body, title(pair)));
    if (shown.length < devices.length) {
      body.append(element('p', {class: 'note'},
        `Shown are the ${PAIR_DEVICES} devices with the highest peaks of ${devices.length}.`));
    }
    const draw = onceAFrame(() => this.draw());
    page.state.on(['range', 'view', 'theme'], draw);
    watchWidth(this.charts[0].box, draw);
  }

  draw() {
    const {state} = this.page;
    for (const chart of this.charts) chart.draw(state.getRange('range') || state.getRange('view') || this.range);
  }
}

export function buildMemoryPairs(page, body) {
  buildCopyPairs(page, body);
  if (![0, 1].some((side) => page.source(side).has('page_memory'))) return;
  body.append(element('h3', {}, 'Memory of the device over time'));
  new MemoryPairs(page, body);
}
