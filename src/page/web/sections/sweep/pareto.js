// What a fast setting costs: step time against exposed communication, GEMM slowdown or bus bandwidth, and the settings
// that no other one beats in everything.

import {announcer, bottomAxis, followMarks, leftAxis, plainTable, tipContent, watchWidth} from '../../chart.js';
import {clear, element, svg} from '../../dom.js';
import {thousands} from '../../format.js';
import {freePlaces, linearScale} from '../../scale.js';
import {tooltip} from '../../tooltip.js';
import {decisionsOf, estimateDomain, factor, frontOf, hasDecisions, msTicks} from './decision.js';
import {plainTicks, quantity, signedPercent, stepTime} from './decision.js';
import {deltaCell} from './plot_table.js';

const PARETO_HEIGHT = 340;
const PARETO_MARGIN = {left: 76, top: 28, right: 16, bottom: 44};
const PARETO_LABELS = 12;
const PARETO_ROWS = 16;

const PARETO_FIGURES = {
  exposed: {name: 'exposed communication', isLess: true, show: stepTime, unit: 'ms', ticks: msTicks},
  slowdown: {name: 'GEMM slowdown', isLess: true, show: factor, unit: '', ticks: (domain, count) =>
    plainTicks(domain, count, '×')},
  bus: {name: 'bus bandwidth', isLess: false, show: (value) => quantity(value, 'GB/s'), unit: 'GB/s',
    ticks: (domain, count) => plainTicks(domain, count, ' GB/s')},
};

// Figures in which at least two settings differ: on one GPU, for example, all have no exposed communication.
function paretoFigures(page) {
  return Object.keys(PARETO_FIGURES).filter((key) => decisionsOf(page).some(({measured}) => {
    const values = measured.map((setting) => setting[key]).filter(Number.isFinite);
    return values.some((value) => Math.abs(value - values[0]) > 1e-9 * Math.abs(values[0]));
  }));
}

// The figure in which settings differ the most: the others would be a line of points.
function mostVaried(page, keys) {
  const spread = (key) => {
    const values = decisionsOf(page).flatMap(({measured}) => measured.map((setting) => setting[key]))
      .filter(Number.isFinite);
    const [low, high] = [Math.min(...values), Math.max(...values)];
    return high > 0 ? (high - low) / high : 0;
  };
  return keys.reduce((best, key) => (spread(key) > spread(best) ? key : best), keys[0]);
}

function hasTradeOffs(page) {
  return hasDecisions(page) && paretoFigures(page).length > 0;
}

class ParetoChart {
  constructor(page, decision, voice) {
    Object.assign(this, {page, decision, voice});
    this.svg = svg('svg', {height: PARETO_HEIGHT, tabindex: 0, role: 'img'});
    this.place = element('div', {class: 'chart pareto'}, this.svg);
    this.list = element('div', {class: 'scroll'});
    const isAlone = decisionsOf(page).length === 1;
    this.node = element('div', {class: 'pareto-pair'}, element('figure', {class: 'sweep-panel'}, !isAlone &&
      element('figcaption', {class: 'elide strong', title: decision.label}, decision.label), this.place), this.list);
    followMarks(this.svg, {count: () => this.points.length, show: (at) => this.focus(at)});
    watchWidth(this.place, () => this.draw());
  }

  show(key, domains) {
    this.figure = {key, ...PARETO_FIGURES[key]};
    this.domains = domains;
    this.points = this.decision.measured.filter((setting) => Number.isFinite(setting[key]));
    this.front = new Set(frontOf(this.points, key, this.figure.isLess));
    this.svg.setAttribute('aria-label', `${this.decision.label}: step time and ${this.figure.name} of ` +
      `${this.points.length} settings; arrow keys go from setting to setting`);
    clear(this.list).append(this.table());
    this.draw();
  }

  draw() {
    const width = this.place.clientWidth;
    if (!width || !this.figure) return;
    const area = {left: PARETO_MARGIN.left, top: PARETO_MARGIN.top, right: width - PARETO_MARGIN.right,
      bottom: PARETO_HEIGHT - PARETO_MARGIN.bottom};
    this.x = linearScale(this.domains[0], [area.left, area.right]);
    this.y = linearScale(this.domains[1], [area.bottom, area.top]);
    this.svg.setAttribute('width', width);
    clear(this.svg).append(leftAxis(this.y, this.figure.ticks(this.domains[1], 5), area, this.figure.name),
      bottomAxis(this.x, msTicks(this.domains[0], Math.max(2, Math.floor(width / 130))), area, 'step time'),
      this.frontLine() || '', ...this.points.map((setting) => this.mark(setting)), this.labels(area));
    this.drawn = this.svg.querySelectorAll('.pareto-mark');
  }

  // Along the settings that no other one beats in these two figures, in steps: what is beyond it is dominated.
  frontLine() {
    const front = [...this.front];
    if (front.length < 2) return null;
    const path = front.map((setting, i) => {
      const [x, y] = [this.x(setting.step.value), this.y(setting[this.figure.key])];
      return i ? `H${x.toFixed(1)}V${y.toFixed(1)}` : `M${x.toFixed(1)} ${y.toFixed(1)}`;
    });
    return svg('path', {class: 'front-line', d: path.join('')});
  }

  mark(setting) {
    const [x, y] = [this.x(setting.step.value), this.y(setting[this.figure.key])];
    const name = `pareto-mark${setting.isOnFront ? ' on-front' : ''}`;
    const shape = setting.isOnFront ? svg('path', {d: `M${x} ${y - 6}l6 6l-6 6l-6-6Z`}) :
      svg('circle', {cx: x, cy: y, r: 4.5});
    const node = svg('g', {class: name, dataset: {setting: setting.name}}, svg('circle', {class: 'hit', cx: x, cy: y,
      r: 9}), shape);
    tooltip.follow(node, () => this.describe(setting));
    return node;
  }

  // Names of the front's settings next to their marks, where there is room.
  labels(area) {
    const named = [...this.front].slice(0, PARETO_LABELS);
    const size = (text) => Math.min(text.length, 40) * 6.4 + 4;
    const boxes = this.points.map((setting) => ({x: this.x(setting.step.value) - 6,
      y: this.y(setting[this.figure.key]) - 6, width: 12, height: 12}));
    const wanted = named.map((setting) => {
      const [x, y, width] = [this.x(setting.step.value), this.y(setting[this.figure.key]), size(setting.text)];
      return {width, height: 14, places: [[x + 9, y - 7], [x - 9 - width, y - 7], [x - width / 2, y - 22],
        [x - width / 2, y + 9]]};
    });
    return svg('g', {class: 'mark-names', 'aria-hidden': 'true'}, freePlaces(wanted, area, boxes).map((place, i) =>
      place && svg('text', {x: place.x + 2, y: place.y + 11},
        named[i].text.length > 40 ? `${named[i].text.slice(0, 39)}…` : named[i].text)));
  }

  describe(setting) {
    return tipContent(setting.text, [['step time', stepTime(setting.step.value)],
      [this.figure.name, this.figure.show(setting[this.figure.key])],
      ...Object.entries(PARETO_FIGURES).filter(([key]) => key !== this.figure.key)
        .map(([key, {name, show}]) => [name, Number.isFinite(setting[key]) ? show(setting[key]) : null])],
    setting.isOnFront ? 'On the front of all four figures: no other setting is better in everything.' :
      'Another setting is at least as good in all four figures, and better in one.');
  }

  focus(at) {
    this.drawn.forEach((node, i) => node.classList.toggle('focused', i === at));
    if (at < 0) return;
    const setting = this.points[at];
    tooltip.showIn(this.svg, this.describe(setting), this.x(setting.step.value),
      this.y(setting[this.figure.key]));
    this.voice.say(`${setting.text}: ${stepTime(setting.step.value)}, ${this.figure.name} ` +
      this.figure.show(setting[this.figure.key]));
  }

  // The front of all figures, with what each of its settings gives up compared with the fastest one.
  table() {
    const front = this.decision.measured.filter(({isOnFront}) => isOnFront);
    const fastest = this.decision.measured[0];
    const keys = paretoFigures(this.page);
    const cell = (show, value, base, unit) => deltaCell(show(value), value === base || !base ? '' :
      signedPercent(100 * (value / base - 1)), value, unit);
    const rows = front.slice(0, PARETO_ROWS).map((setting) => [{text: setting.text, title: setting.name},
      cell(stepTime, setting.step.value, fastest.step.value, 'ms'),
      ...keys.map((key) => cell(PARETO_FIGURES[key].show, setting[key], fastest[key], PARETO_FIGURES[key].unit))]);
    const heads = ['on the front', 'step time ', ...keys.map((key) => `${PARETO_FIGURES[key].name} `)];
    return element('div', {}, plainTable('Settings on the Pareto front', heads, rows),
      front.length > rows.length && element('p', {class: 'note'},
        `The first ${rows.length} of ${thousands(front.length)}; the sheet recommendation has all.`));
  }
}

function buildTradeOffs(page, body) {
  const keys = paretoFigures(page);
  const voice = announcer();
  const charts = decisionsOf(page).map((decision) => new ParetoChart(page, decision, voice));
  const usual = mostVaried(page, keys);
  const chosen = () => keys.find((key) => key === page.state.get('tradeoffs.figure')) || usual;
  const buttons = keys.map((key) => element('button', {type: 'button', class: 'button',
    onclick: () => page.state.set({'tradeoffs.figure': key})}, PARETO_FIGURES[key].name));
  const update = () => {
    const key = chosen();
    buttons.forEach((button, i) => button.setAttribute('aria-pressed', String(keys[i] === key)));
    const all = decisionsOf(page).flatMap(({measured}) => measured);
    const domains = [estimateDomain(all.map(({step}) => ({value: step.value}))),
      estimateDomain(all.map((setting) => ({value: setting[key]})))];
    for (const chart of charts) chart.show(key, domains);
  };
  body.append(element('p', {class: 'note'}, 'Diamonds are settings on the Pareto front of all four figures: no other ' +
    'setting is at least as good in step time, exposed communication, GEMM slowdown and bus bandwidth, and better ' +
    'in one. The line is the front of the two figures shown. Small numbers are differences to the fastest setting; ' +
    'they are not tested for noise.'),
  keys.length > 1 && element('p', {class: 'toolbar'}, element('span', {}, 'Step time against'),
    element('span', {class: 'segmented'}, buttons)) || '', ...charts.map(({node}) => node), voice.node);
  page.state.on(['tradeoffs.figure'], update);
  update();
}

export const tradeOffsSection = {
  id: 'tradeoffs',
  title: 'What a fast setting costs',
  short: 'Trade-offs',
  needs: hasTradeOffs,
  build: buildTradeOffs,
};
