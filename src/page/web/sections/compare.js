// Why two traces differ: the step time of A, what each contribution adds or saves, the step time of B, as a waterfall;
// and whether the conditions of --fail_if are met.
//
// State: `compare.row` is the chosen contribution (its order). Choosing one also sets what other sections follow:
// `category`, or the filters of the tables.

import {announcer, bottomAxis, followMarks, tableAlternative, tipContent, watchWidth} from '../chart.js';
import {CATEGORIES} from '../colors.js';
import {filterTerm} from '../compared.js';
import {clear, element, onceAFrame, svg} from '../dom.js';
import {percent, shorten, signed, significant, thousands, time} from '../format.js';
import {causeLabel, causeMeaning} from '../names.js';
import {linearScale, niceStep, TIME_UNITS, unitTicks} from '../scale.js';
import {tooltip} from '../tooltip.js';

const WATERFALL_ROW = 26;
const WATERFALL_BAR = 16;
const GATE_ROWS = 8;
const FOLLOWED = ['category', 'kernels.filter', 'ops.filter'];
const KIND_MEANINGS = {
  new: 'calls that only B has',
  vanished: 'calls that only A has',
  more_calls: 'change in the number of calls × mean time',
  fewer_calls: 'change in the number of calls × mean time',
  slower: 'change in the mean time × number of calls',
  faster: 'change in the mean time × number of calls',
  overlap: 'kernels ran side by side with others for more or less time',
  communication: 'time in which no other kernel ran',
  copies: 'time in which no kernel ran',
  computation: 'kernels of a category',
  other: 'small contributions together',
};

// Rows of the picture: {label, kind, from, to, ns} in ns. The first and the last are the step times.
export function waterfallRows({a_ms: a, b_ms: b, contributions}, names) {
  const ns = (ms) => Math.round(ms * 1e6);
  const rows = [{label: names[0], kind: 'step', from: 0, to: ns(a), ns: ns(a), order: 0}];
  let at = ns(a);
  for (const one of contributions) {
    rows.push({label: one.contribution, kind: one.kind, from: at, to: at + ns(one.delta_ms), ns: ns(one.delta_ms),
      order: one.order, one});
    at += ns(one.delta_ms);
  }
  rows.push({label: names[1], kind: 'step', from: 0, to: ns(b), ns: ns(b), order: contributions.length + 1});
  return rows;
}

// Where the axis begins: at 0, or, if the differences would be too small to see, at a round value below all of them.
export function waterfallStart(rows) {
  const ends = rows.flatMap(({kind, from, to}) => (kind === 'step' ? [to] : [from, to]));
  const [low, high] = [Math.min(...ends), Math.max(...ends)];
  const spread = high - low;
  if (low <= 0 || spread > 0.3 * high) return 0;
  const step = niceStep(Math.max(spread, high / 1000) / 2);
  return Math.max(0, Math.floor((low - spread / 4) / step) * step);
}

// What choosing a contribution sets for the other sections. `hasName(table, column, name)` asks the tables.
export function followedBy({kind, what, delta_ms: delta, a_detail: before, b_detail: after}, hasName) {
  const none = Object.fromEntries(FOLLOWED.map((key) => [key, null]));
  if (kind === 'idle') return {...none, category: `idle:${what}`};
  if (kind === 'communication') return {...none, category: 'communication'};
  if (kind === 'copies') return {...none, category: 'copy'};
  if (kind === 'computation') return {...none, category: CATEGORIES.includes(what) ? what : null};
  if (kind === 'other') return none;
  const kernel = hasName('page_kernels', 'name', what) ? what : (delta > 0 ? after || before : before || after);
  return {...none, 'ops.filter': hasName('page_calls', 'op', what) ? filterTerm('op', what) : null,
    'kernels.filter': kernel ? filterTerm('name', kernel) : null};
}

// ---- the conditions ----

function gateReason(row) {
  const change = `${row.diff < 0 ? '−' : '+'}${significant(Math.abs(row.diff))}`;
  const share = Number.isFinite(row.pct) ? `, ${row.pct < 0 ? '−' : '+'}${Math.abs(row.pct).toFixed(1)} %` : '';
  const title = `${row.baseline} → ${row.variant}, ${row.diff}`;
  return element('span', {title}, `${shorten(row.row ?? '', 80)}: ${significant(row.baseline)} → ` +
    `${significant(row.variant)} (${change}${share})`);
}

function gateNode(page) {
  const gates = page.front.facts.gates || [];
  if (!gates.length) return null;
  const rows = page.front.answers.fail_if || [];
  const failed = gates.filter(({met}) => met > 0);
  const verdict = failed.length ? 'gate: failed' : 'gate: passed';
  const reason = ({condition, met}) => element('li', {class: met ? 'gate-met' : 'muted'},
    element('code', {}, shorten(condition, 120)), met ? ' is met: ' : ' is not met',
    met > 0 && rows.filter((row) => row.condition === condition).slice(0, GATE_ROWS)
      .map((row, i) => [i > 0 && '; ', gateReason(row)]),
    met > GATE_ROWS && ` and ${thousands(met - GATE_ROWS)} more`);
  return element('div', {class: 'gate'},
    element('span', {class: `badge ${failed.length ? 'trust-fail' : 'trust-ok'}`, role: 'status'},
      failed.length ? '✕ ' : '✓ ', verdict),
    element('ul', {}, [...failed, ...gates.filter(({met}) => !met)].map(reason)));
}

// ---- the waterfall ----

class Waterfall {
  constructor(page, body) {
    this.page = page;
    this.names = [page.front.answers.baseline?.name ?? 'A', page.front.answers.reports?.[0]?.name ?? 'B'];
    this.rows = waterfallRows(page.front.answers.waterfalls[0], this.names);
    this.per = page.front.facts.tiles.find((tile) => tile.id === 'step')?.label ?? 'time';
    this.picture = svg('svg', {tabindex: '0', role: 'application', 'aria-roledescription': 'waterfall chart',
      'aria-label': this.description()});
    this.box = element('div', {class: 'chart waterfall'}, this.picture);
    this.chosen = element('p', {class: 'row waterfall-chosen', role: 'status'});
    this.note = element('p', {class: 'note'});
    this.announcer = announcer();
    this.pointed = -1;
    body.append(this.box, this.chosen, this.note,
      tableAlternative('Contributions', () => this.tableRows()).node, this.announcer.node);
    this.listen();
    this.showChosen();
  }

  description() {
    const [first, last] = [this.rows[0], this.rows.at(-1)];
    return `${this.per} of ${this.names[0]}: ${time(first.ns)}, of ${this.names[1]}: ${time(last.ns)}, with ` +
      `${this.rows.length - 2} contributions. Arrow keys go from one to the next, Enter filters the tables below.`;
  }

  listen() {
    const draw = onceAFrame(() => this.draw());
    this.page.state.on(['compare.row', 'theme'], () => {
      this.showChosen();
      draw();
    });
    followMarks(this.picture, {count: () => this.rows.length, show: (at) => this.focus(at),
      choose: (at) => this.choose(at), back: () => this.release()});
    watchWidth(this.box, () => this.draw());
  }

  // ---- drawing ----

  draw() {
    const width = this.box.clientWidth;
    if (!width) return;
    const longest = this.rows.reduce((most, row) => Math.max(most, this.labelOf(row).length), 0);
    const labels = Math.min(420, Math.round(width * 0.34), longest * 7 + 24);
    const area = {left: labels, right: width - 150, top: 4, bottom: 4 + this.rows.length * WATERFALL_ROW};
    const start = waterfallStart(this.rows);
    const end = Math.max(...this.rows.map(({from, to}) => Math.max(from, to)));
    const x = linearScale([start, end > start ? end : start + 1], [area.left, area.right]);
    this.picture.setAttribute('width', width);
    this.picture.setAttribute('height', area.bottom + 40);
    const ticks = unitTicks(start, end, Math.max(2, Math.floor((area.right - area.left) / 90)), TIME_UNITS);
    clear(this.picture).append(bottomAxis(x, ticks, area, null),
      ...this.rows.map((row, i) => this.rowNode(row, i, {x, start, area, width})));
    const cut = start > 0 ? `The axis begins at ${time(start)}: the outer bars are cut off. ` : '';
    this.note.textContent = `${cut}Contributions add up to the difference of the outer bars. ` +
      'A click shows what one is about in the tables below.';
  }

  rowNode(row, i, {x, start, area, width}) {
    const top = area.top + i * WATERFALL_ROW;
    const isStep = row.kind === 'step';
    const from = isStep ? area.left : Math.min(x(row.from), x(row.to));
    const to = isStep ? Math.max(x(row.to), area.left) : Math.max(x(row.from), x(row.to));
    const middle = top + WATERFALL_ROW / 2;
    const kind = isStep ? 'step' : row.ns < 0 ? 'saves' : row.ns > 0 ? 'adds' : 'nothing';
    const isOn = this.page.state.get('compare.row') === String(row.order) && !isStep;
    const next = this.rows[i + 1];
    const node = svg('g', {class: `waterfall-row ${kind}${isOn ? ' chosen' : ''}`, 'data-order': row.order},
      svg('rect', {class: 'ground', x: 0, y: top, width, height: WATERFALL_ROW}),
      svg('text', {x: area.left - 12, y: middle + 4, 'text-anchor': 'end'},
        shorten(this.labelOf(row), Math.floor(area.left / 7))),
      svg('rect', {class: 'fall', x: from, y: middle - WATERFALL_BAR / 2, width: Math.max(1.5, to - from),
        height: WATERFALL_BAR}),
      isStep && start > 0 && svg('path', {class: 'cut',
        d: `M${from + 10} ${middle - 11}l-4 22M${from + 16} ${middle - 11}l-4 22`}),
      next && svg('line', {class: 'joint', x1: x(row.to), x2: x(row.to), y1: middle + WATERFALL_BAR / 2,
        y2: middle + WATERFALL_ROW - WATERFALL_BAR / 2}),
      svg('text', {class: 'amount', x: to + 8, y: middle + 4}, isStep ? time(row.ns) : signed(time, row.ns)));
    tooltip.follow(node, () => this.describe(row));
    node.addEventListener('click', () => this.choose(i));
    return node;
  }

  labelOf(row) {
    if (row.kind === 'step') return `${this.per} of ${row.label}`;
    return row.kind === 'idle' ? `idle: ${causeLabel(row.one.what)}` : row.label;
  }

  describe(row) {
    const whole = this.rows[0].ns;
    const inFull = ['in full', `${thousands(row.ns)} ns`];
    if (row.kind === 'step') return tipContent(this.labelOf(row), [['time', time(row.ns)], inFull]);
    const {one} = row;
    const [a, b] = this.names.map((name) => shorten(name, 40));
    const calls = (count) => (Number.isFinite(count) ? `, ${significant(count)} calls` : '');
    const meaning = row.kind === 'idle' ? causeMeaning(one.what) : KIND_MEANINGS[row.kind];
    return tipContent(this.labelOf(row), [
      [row.ns < 0 ? 'saves' : 'adds', `${time(Math.abs(row.ns))}, ${percent(Math.abs(row.ns), whole)} of ${a}`],
      inFull,
      [a, Number.isFinite(one.a_ms) ? time(one.a_ms * 1e6) + calls(one.a_calls) : null],
      [b, Number.isFinite(one.b_ms) ? time(one.b_ms * 1e6) + calls(one.b_calls) : null],
      [`in ${a}`, one.a_detail && shorten(one.a_detail, 240)],
      [`in ${b}`, one.b_detail && one.b_detail !== one.a_detail ? shorten(one.b_detail, 240) : null],
    ], meaning || null);
  }

  focus(at) {
    const nodes = [...this.picture.querySelectorAll('.waterfall-row')];
    nodes.forEach((node, i) => node.classList.toggle('focused', i === at));
    if (at < 0) return;
    const row = this.rows[at];
    const place = nodes[at].querySelector('.fall').getBoundingClientRect();
    tooltip.show(this.describe(row), place.left, place.bottom);
    this.announcer.say(`${this.labelOf(row)}: ${row.kind === 'step' ? time(row.ns) : signed(time, row.ns)}`);
  }

  // ---- choosing ----

  choose(at) {
    const row = this.rows[at];
    if (!row || row.kind === 'step') return;
    if (this.page.state.get('compare.row') === String(row.order)) this.release();
    else this.page.state.set({'compare.row': row.order, ...followedBy(row.one, (...asked) => this.hasName(...asked))});
  }

  release() {
    this.page.state.set({'compare.row': null, ...Object.fromEntries(FOLLOWED.map((key) => [key, null]))});
  }

  hasName(table, column, name) {
    return [0, 1].map((i) => this.page.source(i)).some((source) => source.has(table) &&
      source.table(table).find(column, name) >= 0);
  }

  showChosen() {
    const chosen = this.page.state.get('compare.row');
    const row = this.rows.find(({order, kind}) => kind !== 'step' && String(order) === chosen);
    clear(this.chosen).hidden = !row;
    if (!row) return;
    const close = element('button', {type: 'button', class: 'close', 'aria-label': 'show everything again',
      onclick: () => this.release()}, '×');
    this.chosen.append(element('span', {class: 'muted small'}, 'tables below follow:'),
      element('span', {class: 'chip'}, element('span', {class: 'elide'}, shorten(this.labelOf(row), 120)), close));
  }

  tableRows() {
    const cell = (ms) => ({text: Number.isFinite(ms) ? time(ms * 1e6) : '–', title: `${ms} ms`, value: ms});
    const stepCells = (row) => [row.order ? '' : cell(row.ns / 1e6), row.order ? cell(row.ns / 1e6) : ''];
    return {
      isSortable: true,
      heads: ['contribution', 'adds ', 'A ', 'B '],
      rows: this.rows.map((row) => (row.one ?
        [row.label, {text: signed(time, row.ns), title: `${thousands(row.ns)} ns`, value: row.ns},
          cell(row.one.a_ms), cell(row.one.b_ms)] :
        [this.labelOf(row), '', ...stepCells(row)])),
      total: this.rows.length,
    };
  }
}

function buildCompare(page, body) {
  const gate = gateNode(page);
  if (gate) body.append(gate);
  const reason = page.front.facts.why_no_waterfall || 'it was not asked for';
  const nothing = `There is no waterfall: ${reason}.`;
  if (page.front.answers.waterfalls?.length) new Waterfall(page, body);
  else body.append(element('p', {class: 'empty'}, nothing));
}

export const compareSection = {
  id: 'compare',
  title: 'Why they differ',
  short: 'Waterfall',
  first: true,
  needs: (page) => page.front.kind === 'compare',
  build: buildCompare,
};
