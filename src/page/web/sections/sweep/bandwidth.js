// Bus bandwidth against message size, one line per setting. Few settings have colours: the fastest ones and the
// baseline, or those that the user chooses; all others are thin lines.

import {announcer, bottomAxis, followMarks, leftAxis, plainTable, tipContent, watchWidth} from '../../chart.js';
import {clear, element, svg} from '../../dom.js';
import {bytes, shorten, significant, thousands} from '../../format.js';
import {logDomain, logScale, logTicks, powerLabel} from '../../scale.js';
import {tooltip} from '../../tooltip.js';
import {decisionsOf, estimateDomain, exactCell, hasDecisions, plainTicks} from './decision.js';
import {quantity, readBandwidths, signedPercent, sinceColumn} from './decision.js';
import {seriesShape} from './panels.js';
import {deltaCell, plotTable} from './plot_table.js';
import {settingCells, settingHeads} from './recommend.js';

const BANDWIDTH_HEIGHT = 360;
const BANDWIDTH_SERIES = 6; // colours
const BANDWIDTH_SIZES = 40; // rows of the table

function bandwidthsOf(decision) {
  if (!decision.bandwidths) {
    decision.bandwidths = readBandwidths(decision).filter(({bytes: size, bus}) => size > 0 && bus.value > 0);
  }
  return decision.bandwidths;
}

function hasBandwidths(page) {
  return hasDecisions(page) && decisionsOf(page).some((decision) => bandwidthsOf(decision).length > 0);
}

// Collectives by how many bytes they move: the one that matters most comes first.
function collectivesOf(rows) {
  const moved = new Map();
  for (const {collective, bytes: size, count} of rows) {
    moved.set(collective, (moved.get(collective) || 0) + size * (count || 1));
  }
  return [...moved].sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1)).map(([name]) => name);
}

// The settings that have colours: those of the front rank, and the baseline.
function colouredSettings({settings, baseline}, rows) {
  const there = new Set(rows.map(({setting}) => setting));
  const ranked = settings.filter(({row}) => there.has(row));
  const few = ranked.slice(0, BANDWIDTH_SERIES);
  if (baseline && ranked.includes(baseline) && !few.includes(baseline)) few[BANDWIDTH_SERIES - 1] = baseline;
  return few;
}

class BandwidthPanel {
  constructor(page, decision, voice) {
    Object.assign(this, {page, decision, voice, points: []});
    this.svg = svg('svg', {height: BANDWIDTH_HEIGHT, tabindex: 0, role: 'img'});
    this.place = element('div', {class: 'chart bandwidth'}, this.svg);
    this.key = element('ul', {class: 'legend sweep-legend'});
    this.list = element('div', {class: 'scroll'});
    const isAlone = decisionsOf(page).length === 1;
    this.node = element('div', {class: 'bandwidth-pair'}, element('figure', {class: 'sweep-panel'}, !isAlone &&
      element('figcaption', {class: 'elide strong', title: decision.label}, decision.label), this.place, this.key),
    this.list);
    followMarks(this.svg, {count: () => this.points.length, show: (at) => this.focus(at)});
    tooltip.follow(this.svg, (event) => this.hover(event));
    watchWidth(this.place, () => this.draw());
  }

  show(collective, domains) {
    const {decision} = this;
    const rows = bandwidthsOf(decision).filter((one) => one.collective === collective);
    this.domains = domains;
    this.collective = collective;
    this.coloured = colouredSettings(decision, rows);
    const places = new Map(this.coloured.map(({row}, i) => [row, i]));
    this.lines = new Map();
    for (const one of rows) {
      if (!this.lines.has(one.setting)) this.lines.set(one.setting, []);
      this.lines.get(one.setting).push({...one, series: places.has(one.setting) ? places.get(one.setting) : -1});
    }
    for (const line of this.lines.values()) line.sort((a, b) => a.bytes - b.bytes);
    this.points = this.coloured.flatMap(({row}) => this.lines.get(row) || []);
    this.all = [...this.lines.values()].flat();
    this.svg.setAttribute('aria-label', `${decision.label}: bus bandwidth of ${collective} by message size, ` +
      `${this.lines.size} settings; arrow keys go from point to point`);
    this.showKey();
    clear(this.list).append(this.table());
    this.draw();
  }

  showKey() {
    const grey = this.lines.size - this.coloured.length;
    clear(this.key).append(...this.coloured.map((setting, i) => element('li', {title: setting.name},
      svg('svg', {width: 16, height: 16, 'aria-hidden': 'true'}, seriesShape(i, 8, 8)), setting.text)));
    if (grey > 0) this.key.append(element('li', {class: 'muted'}, `${thousands(grey)} slower settings as thin lines`));
  }

  draw() {
    const width = this.place.clientWidth;
    if (!width || !this.domains) return;
    const area = {left: 64, top: 28, right: width - 12, bottom: BANDWIDTH_HEIGHT - 44};
    const [sizes, speeds] = this.domains;
    this.x = logScale(sizes, [area.left, area.right]);
    this.y = logScale(speeds, [area.bottom, area.top]);
    this.svg.setAttribute('width', width);
    const lines = [...this.lines.values()];
    clear(this.svg).append(
      bottomAxis(this.x, logTicks(...sizes, 8).map((value) => ({value, label: bytes(value)})), area, 'message size'),
      leftAxis(this.y, logTicks(...speeds, 8).map((value) => ({value, label: powerLabel(value)})), area,
        'bus bandwidth, GB/s'),
      ...lines.filter((line) => line[0].series < 0).map((line) => this.lineNode(line)),
      ...lines.filter((line) => line[0].series >= 0).map((line) => this.lineNode(line)),
      svg('g', {}, this.points.map((point) => this.mark(point))));
    this.drawn = this.svg.querySelectorAll('.sweep-mark');
  }

  lineNode(line) {
    const path = line.map(({bytes: size, bus}, i) => `${i ? 'L' : 'M'}${this.x(size).toFixed(1)} ` +
      this.y(bus.value).toFixed(1)).join('');
    const {series, setting} = line[0];
    const name = series < 0 ? 'other-line' : `series-line series-${series}`;
    return svg('path', {class: `bandwidth-line ${name}`, d: line.length > 1 ? path : `${path}h0.01`,
      dataset: {setting: this.decision.settings[setting]?.name}});
  }

  mark(point) {
    const [x, y] = [this.x(point.bytes), this.y(point.bus.value)];
    const {low, high} = point.bus;
    return svg('g', {class: 'sweep-mark', dataset: {setting: this.decision.settings[point.setting]?.name}},
      low > 0 && high > low && svg('line', {class: `series-line series-${point.series}`, x1: x, x2: x,
        y1: this.y(Math.max(low, this.domains[1][0])), y2: this.y(Math.min(high, this.domains[1][1]))}),
      seriesShape(point.series, x, y));
  }

  describe(point) {
    const fastest = this.sameSize(0, point);
    return tipContent(this.decision.settings[point.setting]?.text ?? '', [['collective', point.collective],
      ['message size', bytes(point.bytes)], ['bus bandwidth', `${significant(point.bus.value)} GB/s`],
      ['95 % interval', Number.isFinite(point.bus.low) ? `${significant(point.bus.low)} to ` +
        `${significant(point.bus.high)} GB/s` : null],
      ['compared with the fastest', fastest && fastest !== point ?
        signedPercent(100 * (point.bus.value / fastest.bus.value - 1)) : null],
      ['latency', quantity(point.latency, 'µs')], ['calls', thousands(point.count)]]);
  }

  sameSize(setting, {bytes: size}) {
    return (this.lines.get(setting) || []).find((one) => one.bytes === size) || null;
  }

  hover(event) {
    if (!this.x) return null;
    const box = this.svg.getBoundingClientRect();
    const [left, top] = [event.clientX - box.left, event.clientY - box.top];
    const distance = (one) => Math.hypot(this.x(one.bytes) - left, this.y(one.bus.value) - top);
    const near = this.all.reduce((best, one) => (best === null || distance(one) < distance(best) ? one : best), null);
    return near && distance(near) < 14 && this.describe(near);
  }

  focus(at) {
    this.drawn.forEach((node, i) => node.classList.toggle('focused', i === at));
    if (at < 0) return;
    const point = this.points[at];
    tooltip.showIn(this.svg, this.describe(point), this.x(point.bytes), this.y(point.bus.value));
    this.voice.say(`${this.decision.settings[point.setting]?.text}, ${bytes(point.bytes)}: ` +
      `${significant(point.bus.value)} GB/s`);
  }

  // Only the values of the axes: the legend has their names.
  shortName({text, values}) {
    const parts = this.decision.varying.map(({number}) => shorten(values[number] ?? '–', 16));
    return parts.length ? parts.join(' ') : text;
  }

  // Sizes by settings with colours; differences are to the first one.
  table() {
    const sizes = [...new Set(this.points.map(({bytes: size}) => size))].sort((a, b) => a - b);
    const cell = (setting, size, i) => {
      const one = this.sameSize(setting.row, {bytes: size});
      const base = this.sameSize(this.coloured[0].row, {bytes: size});
      if (!one) return '–';
      return deltaCell(significant(one.bus.value), i && base ?
        signedPercent(100 * (one.bus.value / base.bus.value - 1)) : '', one.bus.value, 'GB/s');
    };
    const rows = sizes.slice(0, BANDWIDTH_SIZES).map((size) => [{text: bytes(size), title: `${size} bytes`},
      ...this.coloured.map((setting, i) => cell(setting, size, i))]);
    return element('div', {}, plainTable(`Bus bandwidth of ${this.collective}`, ['message size ',
      ...this.coloured.map((setting) => `${this.shortName(setting)} `)], rows), element('p', {class: 'note'},
      `Median bus bandwidth in GB/s${this.coloured.length > 1 ? '; small numbers are the difference to ' +
        `${this.coloured[0].text}` : ''}. ` +
      `${sizes.length > rows.length ? `The first ${rows.length} of ${thousands(sizes.length)} sizes. ` : ''}`));
  }
}

// Messages of one size have no line: one row per setting instead.
function oneSizeTable(page, decision, collective, domain) {
  const {settings} = decision;
  const rows = bandwidthsOf(decision).filter((one) => one.collective === collective)
    .sort((a, b) => a.setting - b.setting);
  const heads = settingHeads(decision);
  const base = rows[0]?.bus.value;
  const before = new Map(bandwidthsOf(decisionsOf(page)[0]).filter((one) => one.collective === collective)
    .map((one) => [one.setting, one.bus.value]));
  const since = sinceColumn(page, decision, ({row}) => before.get(row) ?? NaN);
  return element('div', {}, decisionsOf(page).length > 1 &&
    element('h3', {class: 'elide sweep-name', title: decision.label}, decision.label),
  plotTable({caption: `Bus bandwidth of ${collective}`, domain, ticks: plainTicks(domain, 4, ' GB/s'), most: 16,
    heads: [...heads, 'bus bandwidth ', '95 % interval ', ...since.heads, 'more than the fastest ', 'latency ',
      'calls '],
    plotAt: heads.length, plotTitle: 'bus bandwidth, median', rows: rows.map((one, i) => ({
      cells: [...settingCells(decision, settings[one.setting]),
        exactCell(quantity(one.bus.value, 'GB/s'), one.bus.value, 'GB/s'),
        {text: Number.isFinite(one.bus.low) ? `${significant(one.bus.low)} to ${significant(one.bus.high)}` : '–'},
        ...since.cells(settings[one.setting], one.bus.value),
        i ? exactCell(signedPercent(100 * (one.bus.value / base - 1)), 100 * (one.bus.value / base - 1), '%') : '–',
        exactCell(quantity(one.latency, 'µs'), one.latency, 'µs'), thousands(one.count)],
      mark: {estimate: one.bus, kind: i ? 'slower' : 'best'}, data: {setting: settings[one.setting].name}}))}));
}

function showOneSize(page, node, decisions, collective, rows) {
  const domain = estimateDomain(rows.map(({bus}) => bus));
  clear(node).append(element('p', {class: 'note'}, `All messages of ${collective} have ${bytes(rows[0].bytes)}.`),
    ...decisions.map((decision) => oneSizeTable(page, decision, collective, domain)));
}

function buildBandwidth(page, body) {
  const decisions = decisionsOf(page).filter((decision) => bandwidthsOf(decision).length);
  const names = collectivesOf(decisions.flatMap(bandwidthsOf));
  const voice = announcer();
  const panels = decisions.map((decision) => new BandwidthPanel(page, decision, voice));
  const chosen = () => (names.includes(page.state.get('bandwidth.collective')) ?
    page.state.get('bandwidth.collective') : names[0]);
  const select = element('select', {class: 'button', 'aria-label': 'collective',
    onchange: (event) => page.state.set({'bandwidth.collective': event.target.value})},
  names.map((name) => element('option', {value: name}, name)));
  const single = element('div', {});
  const lines = element('div', {}, panels.map(({node}) => node), panels.length > 1 &&
    element('p', {class: 'note'}, 'All panels have the same scales.'));
  const update = () => {
    select.value = chosen();
    const rows = decisions.flatMap(bandwidthsOf).filter(({collective}) => collective === chosen());
    const isOneSize = new Set(rows.map(({bytes: size}) => size)).size === 1;
    lines.hidden = isOneSize;
    single.hidden = !isOneSize;
    if (isOneSize) {
      showOneSize(page, single, decisions, chosen(), rows);
      return;
    }
    const domains = [logDomain(rows.map(({bytes: size}) => size), 1.3),
      logDomain(rows.flatMap(({bus}) => [bus.value]), 1.3)];
    for (const panel of panels) panel.show(chosen(), domains);
  };
  body.append(element('p', {class: 'toolbar'}, element('label', {}, 'Collective ', select)),
    single, lines, voice.node);
  page.state.on(['bandwidth.collective'], update);
  update();
}

export const bandwidthSection = {
  id: 'bandwidth',
  title: 'Bandwidth by message size',
  short: 'Bandwidth',
  needs: hasBandwidths,
  build: buildBandwidth,
};
