// Several ranks: who waits for whom at which collective (heat map), how fast messages of each size move, and what a
// step consists of on each rank.
//
// State: `ranks.rank` is the marked rank.

import {announcer, bottomAxis, followMarks, leftAxis, setUpCanvas} from '../chart.js';
import {tableAlternative, tipContent, watchWidth} from '../chart.js';
import {categoryColor, isDark, mixColors, themeColor} from '../colors.js';
import {clear, element, onceAFrame, svg} from '../dom.js';
import {bytes, percent, significant, shorten, thousands, time} from '../format.js';
import {legend} from '../legend.js';
import {linearScale, logDomain, logScale, logTicks, powerLabel, TIME_UNITS, unitTicks} from '../scale.js';
import {tooltip} from '../tooltip.js';

// From almost the paper to what stands out most. Brightness only falls, or only rises, so that colour-blind people see
// the same order.
const LIGHT_HEAT = ['#f4f1ea', '#fcd5a5', '#f58a5c', '#c93a5b', '#6d1d72', '#1a0a3c'];
const DARK_HEAT = ['#23272e', '#5b2a6e', '#a8327d', '#ee5f5b', '#fdc074', '#fcfdbf'];
const HEAT_LEFT = 76;
const HEAT_SUM = 180;
const HEAT_TOP = 44;
const RANK_BAR = 14;
const RANK_LINKS = 64;

const collectives = (count) => `${thousands(count)} collective${count === 1 ? '' : 's'}`;

// A colour for a share from 0 to 1.
export function heatColor(share, dark) {
  const colors = dark ? DARK_HEAT : LIGHT_HEAT;
  const place = Math.max(0, Math.min(1, share)) * (colors.length - 1);
  const at = Math.min(Math.floor(place), colors.length - 2);
  return mixColors(colors[at + 1], colors[at], place - at);
}

// Ranks in order, collectives in order, and the waits between: NaN where a rank has no part.
export function readWaits(waits, steps) {
  const ranks = [...steps.column('rank')];
  const rowOf = new Map(ranks.map((rank, i) => [rank, i]));
  const [rank, collective, wait] = ['rank', 'collective', 'wait'].map((name) => waits.column(name));
  const numbers = [...new Set(collective)];
  const columnOf = new Map(numbers.map((number, i) => [number, i]));
  const cells = new Float64Array(ranks.length * numbers.length).fill(NaN);
  const rows = new Int32Array(ranks.length * numbers.length).fill(-1);
  const sums = new Float64Array(numbers.length);
  let most = 0;
  for (let i = 0; i < waits.rows; i++) {
    const cell = rowOf.get(rank[i]) * numbers.length + columnOf.get(collective[i]);
    cells[cell] = wait[i];
    rows[cell] = i;
    sums[columnOf.get(collective[i])] += wait[i];
    most = Math.max(most, wait[i]);
  }
  return {ranks, numbers, cells, rows, sums, most};
}

// The row of the rank that at least half of all waiting is for; -1 if no rank stands out.
export function stragglerOf(steps) {
  const blame = steps.column('blame_ns');
  const all = blame.reduce((sum, ns) => sum + ns, 0);
  const worst = blame.indexOf(Math.max(...blame));
  return all > 0 && blame[worst] >= all / 2 && blame.length > 1 ? worst : -1;
}

// The row of the rank that the headline names: of the first finding about all ranks, if that is about late ones. Of
// several, that which most waiting is for. -1: there is none.
export function culpritOf(answers, steps) {
  const ids = ['straggler', 'slow_node', 'slow_link', 'slow_host'];
  const found = (answers.findings || []).find(({id, hint}) => !hint && ids.includes(id));
  const first = ids.indexOf(found?.id) < 2 ? found : null;
  const [ranks, blame] = [[...steps.column('rank')], steps.column('blame_ns')];
  const isNamed = (rank) => first?.ranks === 'all' || (first?.ranks || '').split(', ').some((range) => {
    const [from, to = from] = range.split('-');
    return range !== '' && Number(from) <= rank && rank <= Number(to);
  });
  const rows = [...ranks.keys()].filter((row) => isNamed(ranks[row]));
  return rows.reduce((worst, row) => (worst < 0 || blame[row] > blame[worst] ? row : worst), -1);
}

// A link next to this page: never to another place. Two slashes at its beginning would name another machine.
export function pageLink(path) {
  return path ? path.replace(/^\/+/, '/').split('/').map(encodeURIComponent).join('/') : null;
}

// ---- the heat map ----

class HeatMap {
  constructor(page, body) {
    this.page = page;
    this.source = page.source(0);
    this.waits = this.source.table('page_rank_waits');
    this.steps = this.source.table('page_rank_steps');
    Object.assign(this, readWaits(this.waits, this.steps));
    this.worst = stragglerOf(this.steps);
    // Where whole traces were read, the findings say who is late, and whether it matters.
    const culprit = culpritOf(page.front.answers, this.steps);
    this.late = culprit >= 0 ? culprit : this.worst;
    this.isStraggler = this.late >= 0 && (culprit >= 0 || this.steps.get('late_ns', this.late) === null);
    this.lateWord = this.isStraggler ? 'the straggler' : 'waited for the most';
    this.canvas = element('canvas', {tabindex: '0', role: 'application', 'aria-roledescription': 'heat map',
      'aria-label': this.description()});
    this.scale = element('canvas', {class: 'heat-scale', 'aria-hidden': 'true'});
    this.box = element('div', {class: 'chart heat-map'}, this.canvas);
    this.announcer = announcer();
    body.append(this.words(), this.box, element('p', {class: 'row heat-legend small'}, 'waiting: 0', this.scale,
      time(this.most)), this.note(), tableAlternative('Ranks', () => this.tableRows()).node, this.announcer.node);
    this.listen();
  }

  description() {
    return `Waiting of ${thousands(this.ranks.length)} ranks at ${collectives(this.numbers.length)}. ` +
      `${this.lateText()} Arrow keys go from rank to rank, Enter opens the page of a rank.`;
  }

  lateText() {
    if (this.late < 0) return 'No rank is waited for more than all others together.';
    const all = this.steps.column('blame_ns').reduce((sum, ns) => sum + ns, 0);
    return `Rank ${this.ranks[this.late]} is ${this.lateWord}: ` +
      `${percent(this.steps.get('blame_ns', this.late), all)} of all waiting is for it; ` +
      `it comes last at ${thousands(this.steps.get('last', this.late))} of ` +
      `${collectives(this.source.fact('collectives'))}.${this.otherText(all)}`;
  }

  // Another rank may be waited for more: it comes last where the straggler is in time.
  otherText(all) {
    if (this.worst < 0 || this.worst === this.late) return '';
    return ` More of the waiting is for rank ${this.ranks[this.worst]}: ` +
      `${percent(this.steps.get('blame_ns', this.worst), all)}.`;
  }

  words() {
    const links = this.ranks.map((rank, i) => [rank, pageLink(this.steps.get('page', i))]).filter(([, link]) => link);
    const shown = links.slice(0, RANK_LINKS)
      .map(([rank, link], i) => [i > 0 && ' · ', element('a', {href: link}, String(rank))]);
    return element('div', {}, element('p', {class: this.isStraggler ? 'straggler' : null}, this.lateText()),
      links.length > 0 && element('p', {class: 'small rank-links'}, 'Pages of ranks: ', shown,
        links.length > RANK_LINKS && ' …'));
  }

  note() {
    const all = this.source.fact('collectives');
    const some = all > this.numbers.length ?
      `The ${collectives(this.numbers.length)} with the most waiting, of ` +
      `${thousands(all)}, in their order; sums at the right are those of all. ` : '';
    return element('p', {class: 'note'},
      `${some}A rank waits for as long as its kernel takes longer than the shortest one of ` +
      'the collective, so clocks of ranks need not agree. Above: the waiting of all ranks.');
  }

  listen() {
    const draw = onceAFrame(() => this.draw());
    this.page.state.on(['theme', 'ranks.rank'], draw);
    tooltip.follow(this.canvas, (event) => this.point(event));
    this.canvas.addEventListener('click', (event) => this.open(this.cellAt(event)?.row));
    followMarks(this.canvas, {count: () => this.ranks.length, show: (at) => this.focus(at),
      choose: (at) => this.open(at)});
    watchWidth(this.box, () => this.draw());
  }

  draw() {
    const width = this.box.clientWidth;
    if (!width) return;
    const count = this.ranks.length;
    this.high = Math.max(1, Math.min(24, Math.floor(720 / count)));
    const right = width - HEAT_SUM;
    this.wide = (right - HEAT_LEFT) / this.numbers.length;
    const context = setUpCanvas(this.canvas, width, HEAT_TOP + count * this.high + 22);
    this.drawColumns(context);
    this.drawCells(context);
    this.drawRows(context, right);
    this.drawScale();
    context.fillStyle = themeColor('--muted');
    context.textAlign = 'left';
    context.fillText('collectives in order →', HEAT_LEFT, HEAT_TOP + count * this.high + 16);
  }

  drawColumns(context) {
    const most = this.sums.reduce((a, b) => Math.max(a, b), 0);
    context.fillStyle = themeColor('--line-strong');
    this.sums.forEach((sum, i) => {
      const height = most ? sum / most * (HEAT_TOP - 8) : 0;
      const width = Math.max(0.5, this.wide - (this.wide > 4 ? 1 : 0));
      context.fillRect(HEAT_LEFT + i * this.wide, HEAT_TOP - 4 - height, width, height);
    });
  }

  drawCells(context) {
    const dark = isDark();
    const colors = Array.from({length: 65}, (_, i) => heatColor(i / 64, dark));
    const gap = this.high > 6 && this.wide > 4 ? 1 : 0;
    const shown = Math.min(this.numbers.length, Math.max(1, Math.floor(this.wide * this.numbers.length)));
    const wide = this.wide * this.numbers.length / shown;
    for (let row = 0; row < this.ranks.length; row++) {
      for (let i = 0; i < shown; i++) {
        const wait = this.longestWait(row, i, shown);
        if (Number.isNaN(wait)) continue;
        context.fillStyle = colors[this.most ? Math.round(64 * wait / this.most) : 0];
        context.fillRect(HEAT_LEFT + i * wide, HEAT_TOP + row * this.high,
          Math.max(1, wide - gap), Math.max(1, this.high - gap));
      }
    }
  }

  // Of the collectives that share a pixel, so that no long wait is lost.
  longestWait(row, i, shown) {
    const count = this.numbers.length;
    let longest = NaN;
    for (let column = Math.floor(i * count / shown); column < Math.floor((i + 1) * count / shown); column++) {
      const wait = this.cells[row * count + column];
      if (!(wait <= longest) && !Number.isNaN(wait)) longest = wait;
    }
    return longest;
  }

  drawRows(context, right) {
    const sums = this.steps.column('wait_ns');
    const most = sums.reduce((a, b) => Math.max(a, b), 0);
    const stride = Math.ceil(14 / this.high);
    const marked = this.page.state.getNumber('ranks.rank');
    context.font = `12px ${getComputedStyle(this.box).fontFamily}`;
    context.textBaseline = 'alphabetic';
    const [bad, line, accent, text] = ['--bad', '--line-strong', '--accent', '--text'].map(themeColor);
    this.ranks.forEach((rank, row) => {
      const top = HEAT_TOP + row * this.high;
      const isLate = row === this.late;
      context.fillStyle = isLate ? bad : line;
      context.fillRect(right + 8, top, most ? sums[row] / most * (HEAT_SUM - 80) : 0, Math.max(1, this.high - 1));
      if (row % stride && !isLate) return;
      context.fillStyle = isLate ? bad : rank === marked ? accent : text;
      context.textAlign = 'right';
      const bottom = top + this.high / 2 + 4;
      const isFree = !this.nearLate(row, stride);
      context.fillText(isLate ? `▶ rank ${rank}` : isFree ? `rank ${rank}` : '', HEAT_LEFT - 8, bottom);
      context.textAlign = 'left';
      if (isFree) {
        context.fillText(time(sums[row]), right + 14 + (most ? sums[row] / most * (HEAT_SUM - 80) : 0), bottom);
      }
    });
    context.fillStyle = themeColor('--muted');
    context.fillText('waits in all', right + 8, HEAT_TOP - 8);
  }

  // Whether a label would be drawn over that of the straggler.
  nearLate(row, stride) {
    return this.late >= 0 && row !== this.late && Math.abs(row - this.late) < stride;
  }

  drawScale() {
    const context = setUpCanvas(this.scale, 160, 12);
    for (let i = 0; i < 160; i++) {
      context.fillStyle = heatColor(i / 159, isDark());
      context.fillRect(i, 0, 1.5, 12);
    }
  }

  cellAt(event) {
    const place = this.canvas.getBoundingClientRect();
    const row = Math.floor((event.clientY - place.top - HEAT_TOP) / this.high);
    const column = Math.floor((event.clientX - place.left - HEAT_LEFT) / this.wide);
    return row >= 0 && row < this.ranks.length ?
      {row, column: column >= 0 && column < this.numbers.length ? column : -1} : null;
  }

  point(event) {
    const cell = this.cellAt(event);
    this.canvas.classList.toggle('clickable', Boolean(cell && this.steps.get('page', cell.row)));
    return cell && this.describe(cell);
  }

  describe({row, column}) {
    const waits = column >= 0 ? this.rows[row * this.numbers.length + column] : -1;
    const get = (name) => this.waits.get(name, waits);
    return tipContent(`rank ${this.ranks[row]}${row === this.late ? `, ${this.lateWord}` : ''}`, [
      ...(waits < 0 ? [] : [['collective', `${thousands(get('collective'))}, ${shorten(get('name') ?? 'unknown', 60)}`],
        ['waits', `${time(get('wait'))} (${thousands(get('wait'))} ns)`], ['kernel', time(get('ns'))]]),
      ['waits in all', time(this.steps.get('wait_ns', row))],
      ['comes last', `${thousands(this.steps.get('last', row))} times`],
      ['others wait for it', time(this.steps.get('blame_ns', row))],
    ], this.steps.get('page', row) ? 'A click opens the page of this rank.' : null);
  }

  open(row) {
    const link = row === undefined ? null : pageLink(this.steps.get('page', row));
    if (link) location.assign(link);
  }

  focus(at) {
    this.page.state.set({'ranks.rank': at < 0 ? null : this.ranks[at]});
    if (at < 0) return;
    tooltip.showIn(this.canvas, this.describe({row: at, column: -1}), HEAT_LEFT, HEAT_TOP + (at + 1) * this.high);
    this.announcer.say(`rank ${this.ranks[at]} waits ${time(this.steps.get('wait_ns', at))}, comes last ` +
      `${thousands(this.steps.get('last', at))} times`);
  }

  tableRows() {
    const cell = (name, row) => ({text: time(this.steps.get(name, row)),
      title: `${thousands(this.steps.get(name, row))} ns`});
    return {heads: ['rank ', 'waits in all ', 'comes last ', 'others wait for it '], total: this.ranks.length,
      rows: this.ranks.map((rank, row) => [String(rank), cell('wait_ns', row), thousands(this.steps.get('last', row)),
        cell('blame_ns', row)])};
  }
}

// ---- steps of ranks ----

// Key, label, and a variable of style.css or a category.
const RANK_STEP_PARTS = [['busy', 'computation', '--accent'], ['moves', 'moving data', 'communication'],
  ['waits', 'waiting for ranks', '--bad'], ['idle', 'idle', '--line-strong']];

// Parts of a step by rank, in ns. Time in which only collectives run is moving data, or waiting for other ranks.
export function rankParts(steps) {
  const get = (name, row) => steps.get(name, row) ?? 0;
  return Array.from({length: steps.rows}, (_, row) => ({rank: steps.get('rank', row), step: steps.get('step_ns', row),
    late: steps.get('late_ns', row), busy: get('busy_ns', row), idle: get('idle_ns', row),
    waits: get('exposed_wait_ns', row), moves: get('exposed_ns', row)})).filter(({step}) => step !== null);
}

class RankSteps {
  constructor(page, body) {
    this.ranks = rankParts(page.source(0).table('page_rank_steps'));
    if (!this.ranks.length) return;
    const label = `Step time of ${thousands(this.ranks.length)} ranks; the table has the numbers.`;
    this.picture = svg('svg', {role: 'img', 'aria-label': label});
    this.box = element('div', {class: 'chart rank-steps'}, this.picture);
    this.legend = element('div', {});
    body.append(element('h3', {}, 'Step time per rank'), this.box, this.legend,
      tableAlternative('Steps of ranks', () => this.tableRows()).node);
    page.state.on(['theme'], onceAFrame(() => this.draw()));
    watchWidth(this.box, () => this.draw());
  }

  colorOf([, , name]) {
    return name.startsWith('--') ? themeColor(name) : categoryColor(name);
  }

  draw() {
    const width = this.box.clientWidth;
    if (!width) return;
    const high = Math.max(2, Math.min(RANK_BAR + 6, Math.floor(900 / this.ranks.length)));
    const area = {left: 76, right: width - 90, top: 4, bottom: 4 + this.ranks.length * high};
    const most = this.ranks.reduce((a, {step}) => Math.max(a, step), 0);
    const x = linearScale([0, most || 1], [area.left, area.right]);
    this.picture.setAttribute('width', width);
    this.picture.setAttribute('height', area.bottom + 24);
    const stride = Math.ceil(14 / high);
    const colors = RANK_STEP_PARTS.map((part) => this.colorOf(part));
    const rows = this.ranks.map((rank, i) => {
      let at = 0;
      const top = area.top + i * high;
      const height = Math.max(1, high - (high > 4 ? 2 : 0));
      const isNamed = i % stride === 0;
      const y = top + high / 2 + 4;
      const node = svg('g', {class: 'rank-step', 'data-rank': rank.rank},
        svg('rect', {class: 'ground', x: 0, y: top, width, height: high}),
        isNamed && svg('text', {x: area.left - 8, y, 'text-anchor': 'end'}, `rank ${rank.rank}`),
        RANK_STEP_PARTS.map(([key], part) => {
          const left = x(at);
          at += rank[key];
          return svg('rect', {x: left, y: top, width: Math.max(0, x(at) - left), height, fill: colors[part]});
        }),
        isNamed && svg('text', {x: x(rank.step) + 8, y}, time(rank.step)));
      tooltip.attach(node, () => tipContent(`rank ${rank.rank}`, [
        ['step', time(rank.step)],
        ...RANK_STEP_PARTS.map(([key, label]) => [label, `${time(rank[key])}, ${percent(rank[key], rank.step)}`]),
        rank.late ? ['late by', time(rank.late)] : null]));
      return node;
    });
    clear(this.picture).append(bottomAxis(x, unitTicks(0, most, 6, TIME_UNITS), area, null), ...rows);
    clear(this.legend).append(legend(RANK_STEP_PARTS.map(([, label], part) => ({label, css: colors[part]}))));
  }

  tableRows() {
    const cell = (ns) => ({text: time(ns ?? NaN), title: `${thousands(ns ?? NaN)} ns`});
    return {heads: ['rank ', 'step ', ...RANK_STEP_PARTS.map((part) => `${part[1]} `), 'late '],
      total: this.ranks.length,
      rows: this.ranks.map((rank) => [String(rank.rank), cell(rank.step),
        ...RANK_STEP_PARTS.map(([key]) => cell(rank[key])), cell(rank.late)])};
  }
}

// ---- bus bandwidth ----

const BUS_MARKS = ['GEMM', 'copy', 'communication', 'reduction', 'attention', 'optimizer'];
const BUS_HEIGHT = 300;

// Points of the sheet nccl_implicit_sync: one per collective with a size and a speed.
export function busPoints(sheet) {
  if (!sheet?.has('Full msg size (MB)') || !sheet.has('bus bw (GB/s)')) return [];
  const [size, speed] = [sheet.column('Full msg size (MB)'), sheet.column('bus bw (GB/s)')];
  const points = [];
  for (let row = 0; row < sheet.rows; row++) {
    if (!(size[row] > 0 && speed[row] > 0)) continue;
    points.push({size: size[row] * 1048576, speed: speed[row],
      name: sheet.get('Collective name', row) ?? 'unknown', row});
  }
  return points;
}

class BusChart {
  constructor(page, body) {
    this.points = busPoints(page.source(0).table('nccl_implicit_sync'));
    if (!this.points.length) return;
    this.types = [...new Set(this.points.map(({name}) => name))].sort();
    const label = `Bus bandwidth of ${thousands(this.points.length)} collectives by size; ` +
      'the sheet nccl_implicit_sync has it.';
    this.canvas = element('canvas', {role: 'img', 'aria-label': label});
    this.axes = svg('svg', {class: 'underlay', 'aria-hidden': 'true'});
    this.box = element('div', {class: 'chart bus-chart'}, this.axes, this.canvas);
    this.legend = element('div', {});
    body.append(element('h3', {}, 'Bus bandwidth by message size'), this.box, this.legend);
    tooltip.follow(this.canvas, (event) => this.point(event));
    page.state.on(['theme'], onceAFrame(() => this.draw()));
    watchWidth(this.box, () => this.draw());
  }

  colorOf(name) {
    return categoryColor(BUS_MARKS[this.types.indexOf(name) % BUS_MARKS.length]);
  }

  draw() {
    const width = this.box.clientWidth;
    if (!width) return;
    const area = {left: 64, right: Math.min(width, 1000) - 8, top: 28, bottom: BUS_HEIGHT - 44};
    const [sizes, speeds] = ['size', 'speed'].map((key) => logDomain(this.points.map((point) => point[key]), 1.6));
    this.x = logScale(sizes, [area.left, area.right]);
    this.y = logScale(speeds, [area.bottom, area.top]);
    this.axes.setAttribute('width', width);
    this.axes.setAttribute('height', BUS_HEIGHT);
    clear(this.axes).append(
      bottomAxis(this.x, logTicks(...sizes, 8).map((value) => ({value, label: bytes(value)})), area, 'message size'),
      leftAxis(this.y, logTicks(...speeds, 8).map((value) => ({value, label: powerLabel(value)})),
        area, 'bus bandwidth, GB/s'));
    const context = setUpCanvas(this.canvas, width, BUS_HEIGHT);
    context.globalAlpha = 0.7;
    for (const point of this.points) {
      context.fillStyle = this.colorOf(point.name);
      context.beginPath();
      context.arc(this.x(point.size), this.y(point.speed), 4, 0, 7);
      context.fill();
    }
    clear(this.legend).append(legend(this.types.slice(0, 12)
      .map((name) => ({label: shorten(name, 40), css: this.colorOf(name)}))));
  }

  point(event) {
    const place = this.canvas.getBoundingClientRect();
    const [left, top] = [event.clientX - place.left, event.clientY - place.top];
    const distance = ({size, speed}) => Math.hypot(this.x(size) - left, this.y(speed) - top);
    const near = this.points.reduce((best, point) =>
      (best === null || distance(point) < distance(best) ? point : best), null);
    return near && distance(near) <= 12 && tipContent(near.name, [['size', bytes(near.size)],
      ['bus bandwidth', `${significant(near.speed)} GB/s`], ['row of the sheet', thousands(near.row)]]);
  }
}

function buildRanks(page, body) {
  new HeatMap(page, body);
  const pair = element('div', {class: 'columns rank-charts'}, element('div', {}), element('div', {}));
  body.append(pair);
  new RankSteps(page, pair.children[0]);
  new BusChart(page, pair.children[1]);
  for (const child of [...pair.children]) if (!child.children.length) child.remove();
}

export const ranksSection = {
  id: 'ranks',
  title: 'Waiting of ranks at collectives',
  short: 'Ranks',
  needs: (page) => page.source(0).has('page_rank_waits') && page.source(0).has('page_rank_steps'),
  build: buildRanks,
};
