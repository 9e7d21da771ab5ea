// How much ranks, or nodes, send to each other: a heat map of the sheet communication_matrix.
//
// State: `matrix.pair` is the chosen cell, SENDER-RECEIVER by their places.

import {announcer, fitText, plainTable, setUpCanvas, tableAlternative, tipContent, watchWidth} from '../../chart.js';
import {isDark, themeColor} from '../../colors.js';
import {element, onceAFrame} from '../../dom.js';
import {percent, shorten, significant, thousands} from '../../format.js';
import {tooltip} from '../../tooltip.js';
import {heatColor} from '../ranks.js';
import {ranksHave} from './critical.js';
import {overviewNumber, perOf} from './path.js';

const MATRIX_LEFT = 104;
const MATRIX_TOP = 24;
const MATRIX_SIDE = 560;
const MATRIX_CELL = 36;
const MATRIX_PAIRS = 1000;
const RANKS_ROW = /^ranks \d+-\d+$|^rank \d+$/; // otherwise it is a node
const mb = (value) => `${significant(value)} MB`;

// {names, cells (row after row), most, sums}: cells are NaN where the sheet has nothing.
export function readMatrix(sheet) {
  const names = Array.from(sheet.column('name'), (name, row) => name ?? String(sheet.get('from', row)));
  const count = names.length;
  const cells = new Float64Array(count * count).fill(NaN);
  for (let to = 0; to < count; to++) {
    if (!sheet.has(`to_${to}`)) continue;
    sheet.column(`to_${to}`).forEach((value, from) => cells[from * count + to] = value >= 0 ? value : NaN);
  }
  const sums = Float64Array.from(names, (_, from) => {
    let sum = 0;
    for (let to = 0; to < count; to++) sum += cells[from * count + to] || 0;
    return sum;
  });
  return {names, cells, sums, most: cells.reduce((most, value) => (value > most ? value : most), 0),
    total: sums.reduce((sum, value) => sum + value, 0)};
}

// Where the rows are ranks, the node of each, or null; where they are nodes, the row itself; null if not known.
export function matrixNodes(names, clocks) {
  if (names.every((name) => RANKS_ROW.test(name))) {
    if (!clocks || names.some((name) => name.startsWith('ranks'))) return null;
    const nodeOf = new Map(Array.from(clocks.column('rank'), (rank, row) => [`rank ${rank}`, clocks.get('node', row)]));
    const nodes = names.map((name) => nodeOf.get(name) ?? null);
    return nodes.includes(null) ? null : nodes;
  }
  return names.map((_, i) => i);
}

// What stays inside a node.
export function insideNodes({cells}, nodes) {
  let sum = 0;
  nodes.forEach((from, row) => nodes.forEach((to, column) => {
    if (from === to) sum += cells[row * nodes.length + column] || 0;
  }));
  return sum;
}

// The pairs with the most data, at most `most`: [{from, to, value}].
export function largestPairs({names, cells}, most) {
  const places = [...cells.keys()].filter((i) => cells[i] > 0).sort((a, b) => cells[b] - cells[a] || a - b);
  return {total: places.length, pairs: places.slice(0, most).map((i) => ({from: Math.floor(i / names.length),
    to: i % names.length, value: cells[i]}))};
}

class MatrixMap {
  constructor(page, matrix, nodes) {
    Object.assign(this, {page, ...matrix, nodes, count: matrix.names.length, cursor: -1});
    this.canvas = element('canvas', {tabindex: '0', role: 'application', 'aria-roledescription': 'heat map',
      'aria-label': `Data from ${thousands(this.count)} senders to as many receivers, up to ${mb(this.most)} ` +
        `per ${this.per}. Arrow keys go from cell to cell, Enter chooses one.`});
    this.mark = element('div', {class: 'focus-mark', hidden: true});
    this.scale = element('canvas', {'aria-hidden': 'true'});
    this.box = element('div', {class: 'chart matrix-map'}, this.canvas, this.mark);
    this.announcer = announcer();
    this.node = element('div', {}, this.box, element('p', {class: 'row heat-legend small'}, '0', this.scale,
      `${mb(this.most)} per ${this.per}`), this.announcer.node);
    page.state.on(['theme', 'matrix.pair'], onceAFrame(() => this.draw()));
    this.canvas.addEventListener('pointermove', (event) => this.point(event));
    this.canvas.addEventListener('pointerleave', () => this.leave());
    this.canvas.addEventListener('click', (event) => this.choose(this.at(event)));
    this.canvas.addEventListener('keydown', (event) => this.onKey(event));
    this.canvas.addEventListener('blur', () => this.leave());
    watchWidth(this.box, () => this.draw());
  }

  draw() {
    const width = this.box.clientWidth;
    if (!width) return;
    const side = Math.min(MATRIX_SIDE, width - MATRIX_LEFT - 8);
    this.size = Math.max(1, Math.min(MATRIX_CELL, Math.floor(side / this.count)));
    const whole = this.size * this.count;
    const context = setUpCanvas(this.canvas, MATRIX_LEFT + whole + 8, MATRIX_TOP + whole + 8);
    const dark = isDark();
    const colors = Array.from({length: 65}, (_, i) => heatColor(i / 64, dark));
    const gap = this.size > 6 ? 1 : 0;
    this.cells.forEach((value, i) => {
      if (Number.isNaN(value)) return;
      context.fillStyle = colors[this.most ? Math.round(64 * value / this.most) : 0];
      const [left, top] = [this.left(i % this.count), this.top(Math.floor(i / this.count))];
      context.fillRect(left, top, this.size - gap, this.size - gap);
    });
    this.drawNames(context);
    this.drawNodes(context, whole);
    this.drawChosen(context);
    const scale = setUpCanvas(this.scale, 160, 12);
    for (let i = 0; i < 160; i++) {
      scale.fillStyle = heatColor(i / 159, dark);
      scale.fillRect(i, 0, 1.5, 12);
    }
  }

  left(column) {
    return MATRIX_LEFT + column * this.size;
  }

  top(row) {
    return MATRIX_TOP + row * this.size;
  }

  // Receivers have room for a number only: the sheet counts them from 0.
  drawNames(context) {
    context.font = `12px ${getComputedStyle(this.box).fontFamily}`;
    context.fillStyle = themeColor('--text');
    context.textBaseline = 'middle';
    const rows = Math.ceil(14 / this.size);
    const columns = Math.ceil((10 + 7 * String(this.count).length) / this.size);
    this.names.forEach((name, i) => {
      context.textAlign = 'right';
      if (i % rows === 0) {
        context.fillText(fitText(context, name, MATRIX_LEFT - 16), MATRIX_LEFT - 6, this.top(i) + this.size / 2);
      }
      context.textAlign = 'center';
      if (i % columns === 0) context.fillText(String(i), this.left(i) + this.size / 2, MATRIX_TOP - 10);
    });
    context.textAlign = 'right';
    context.fillStyle = themeColor('--muted');
    context.fillText('from ↓ to →', MATRIX_LEFT - 14, MATRIX_TOP - 10);
  }

  // Wider gaps between ranks of different nodes: a line would not be seen on all colours.
  drawNodes(context, whole) {
    if (!this.nodes || new Set(this.nodes).size === this.count) return;
    context.fillStyle = themeColor('--paper');
    this.nodes.forEach((node, i) => {
      if (!i || node === this.nodes[i - 1]) return;
      context.fillRect(this.left(i) - 3, MATRIX_TOP, 4, whole);
      context.fillRect(MATRIX_LEFT, this.top(i) - 3, whole, 4);
    });
  }

  drawChosen(context) {
    const at = this.chosen();
    if (at < 0) return;
    context.strokeStyle = themeColor('--accent');
    context.lineWidth = 3;
    const [left, top] = [this.left(at % this.count), this.top(Math.floor(at / this.count))];
    context.strokeRect(left - 1, top - 1, this.size + 1, this.size + 1);
  }

  chosen() {
    const match = /^(\d+)-(\d+)$/.exec(this.page.state.get('matrix.pair') || '');
    const [from, to] = match ? [Number(match[1]), Number(match[2])] : [-1, -1];
    return match && from < this.count && to < this.count ? from * this.count + to : -1;
  }

  at(event) {
    const place = this.canvas.getBoundingClientRect();
    const column = Math.floor((event.clientX - place.left - MATRIX_LEFT) / this.size);
    const row = Math.floor((event.clientY - place.top - MATRIX_TOP) / this.size);
    const isInside = row >= 0 && row < this.count && column >= 0 && column < this.count;
    return isInside ? row * this.count + column : -1;
  }

  point(event) {
    const at = this.at(event);
    this.canvas.classList.toggle('clickable', at >= 0);
    if (at < 0) {
      this.leave();
      return;
    }
    this.showMark(at);
    tooltip.show(this.describe(at), event.clientX, event.clientY);
  }

  leave() {
    this.cursor = -1;
    tooltip.hide();
    this.mark.hidden = true;
  }

  showMark(at) {
    Object.assign(this.mark.style, {left: `${this.left(at % this.count) - 2}px`,
      top: `${this.top(Math.floor(at / this.count)) - 2}px`, width: `${this.size + 3}px`,
      height: `${this.size + 3}px`});
    this.mark.hidden = false;
  }

  describe(at) {
    const [from, to] = [Math.floor(at / this.count), at % this.count];
    const value = this.cells[at];
    return tipContent(`${this.names[from]} → ${this.names[to]}`, [
      [`per ${this.per}`, Number.isNaN(value) ? 'not known' : `${mb(value)} (${thousands(value)})`],
      ['of all it sends', percent(value, this.sums[from])], ['it sends in all', mb(this.sums[from])]]);
  }

  choose(at) {
    if (at < 0) return;
    const key = `${Math.floor(at / this.count)}-${at % this.count}`;
    this.page.state.set({'matrix.pair': this.page.state.get('matrix.pair') === key ? null : key});
  }

  // A map has two directions, so that its keys are not those of followMarks.
  onKey(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const step = {ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0]}[event.key];
    if (step) this.move(step);
    else if (event.key === 'Enter' && this.cursor >= 0) this.choose(this.cursor);
    else if (event.key === 'Escape' && this.cursor >= 0) this.leave();
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  move([down, right]) {
    const within = (value) => Math.max(0, Math.min(this.count - 1, value));
    const [row, column] = this.cursor < 0 ? [0, 0] :
      [within(Math.floor(this.cursor / this.count) + down), within(this.cursor % this.count + right)];
    this.cursor = row * this.count + column;
    this.showMark(this.cursor);
    const place = this.canvas.getBoundingClientRect();
    tooltip.show(this.describe(this.cursor), place.left + this.left(column), place.top + this.top(row) + this.size);
    this.announcer.say(`${this.names[row]} to ${this.names[column]}: ${mb(this.cells[this.cursor])}`);
  }
}

function matrixNumbers(matrix, nodes) {
  const order = [...matrix.sums.keys()].sort((a, b) => matrix.sums[b] - matrix.sums[a] || a - b);
  const pair = largestPairs(matrix, 1).pairs[0];
  const inside = nodes && new Set(nodes).size > 1 ? insideNodes(matrix, nodes) : NaN;
  const row = (label, value) => [label, {text: mb(value), title: `${value} MB`}, percent(value, matrix.total)];
  const name = (i) => shorten(matrix.names[i], 40);
  const heads = ['', `per ${matrix.per} `, 'share '];
  return element('div', {class: 'beside matrix-numbers'}, plainTable('Numbers of the matrix', heads, [
    row('all data', matrix.total),
    ...(Number.isFinite(inside) ? [row('inside nodes', inside), row('between nodes', matrix.total - inside)] : []),
    row(`largest pair: ${name(pair.from)} → ${name(pair.to)}`, pair.value),
    row(`sends the most: ${name(order[0])}`, matrix.sums[order[0]]),
    row(`sends the least: ${name(order.at(-1))}`, matrix.sums[order.at(-1)])]));
}

function matrixSentence(matrix, nodes) {
  const rows = matrix.names.every((name) => RANKS_ROW.test(name)) ? 'Ranks' : 'Nodes';
  const inside = nodes && new Set(nodes).size > 1 ? insideNodes(matrix, nodes) : NaN;
  return `${rows} send ${mb(matrix.total)} per ${matrix.per} in all${Number.isFinite(inside) ?
    `, ${percent(matrix.total - inside, matrix.total)} of it between nodes` : ''}.`;
}

function buildMatrix(page, body) {
  const source = page.source(0);
  const matrix = {...readMatrix(source.table('communication_matrix')), per: perOf(source)};
  const uncounted = overviewNumber(source, 'matrix_uncounted');
  const missing = uncounted > 0 &&
    `Kernels that are not counted, because they do not say how much they send to whom: ${thousands(uncounted)}. `;
  if (!matrix.total) {
    body.append(element('p', {class: 'empty'}, missing || 'The collectives of this run move no data.'));
    return;
  }
  const nodes = matrixNodes(matrix.names, source.table('clock_offsets'));
  const map = new MatrixMap(page, matrix, nodes);
  const table = tableAlternative('Data from sender to receiver', () => {
    const {total, pairs} = largestPairs(matrix, MATRIX_PAIRS);
    return {heads: ['from', 'to', `MB per ${matrix.per} `, 'share '], total,
      rows: pairs.map(({from, to, value}) => [matrix.names[from], matrix.names[to],
        {text: significant(value), title: String(value)}, percent(value, matrix.total)])};
  });
  body.append(element('p', {class: 'answer'}, matrixSentence(matrix, nodes)),
    element('div', {class: 'with-numbers matrix-pair'}, map.node, matrixNumbers(matrix, nodes)), table.node,
    element('p', {class: 'note'}, missing, 'What has to be moved, spread evenly over each group where the trace does ' +
      'not say more; not which way the library sends it. A MB has 1024² bytes, as in the sheet ' +
      'communication_matrix. Receivers are numbered in the order of the senders.'));
}

export const matrixSection = {
  id: 'matrix',
  title: 'Communication matrix',
  short: 'Matrix',
  needs: (page) => ranksHave(page, 'communication_matrix'),
  build: buildMatrix,
};
