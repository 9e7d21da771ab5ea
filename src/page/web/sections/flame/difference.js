// What changed between two traces, as one flame graph: call paths of both, where the width of a box is the mean of its
// times in A and B (or one of them), and its colour says how B differs. What changed most is at the left.
//
// State, in addition to that of the flame graph: `flame.order` (`size`: by width), `flame.width` (`a`, `b`).

import {tipContent} from '../../chart.js';
import {CATEGORIES, categoryColor, mixColors, themeColor} from '../../colors.js';
import {changeOf, comparedPer, comparedSteps, comparedWork, filterTerm, SIDES} from '../../compared.js';
import {clear, element} from '../../dom.js';
import {changeText, shorten, signed, thousands, time} from '../../format.js';
import {legend} from '../../legend.js';
import {ChangeColors, changeShare, flameBoxName} from './draw.js';
import {FlameGraph, kindText} from './graph.js';
import {DifferenceTree, mergeWork} from './pairs.js';
import {FLAME_ALL, matchFlame} from './tree.js';

const CHANGE_ROWS = 200;
const CHANGE_ORDERS = [['', 'by change', 'what changed most first'], ['size', 'by time', 'the widest first']];
const CHANGE_WIDTHS = [['', 'width: A and B', 'the mean of both, so that what vanished is there too'],
  ['a', 'A', 'times of A; what only B has is not there'], ['b', 'B', 'times of B; what only A has is not there']];

export class DifferenceFlame extends FlameGraph {
  makeParts(body) {
    super.makeParts(body);
    const orders = this.choices('order', CHANGE_ORDERS);
    this.widths = this.choices('width', CHANGE_WIDTHS);
    this.orders.node.replaceWith(orders.node);
    this.orders = orders;
    orders.node.after(this.widths.node);
    this.legend = element('div', {});
    this.note.before(this.legend);
  }

  rebuild() {
    const {page} = this;
    const merged = mergeWork([0, 1].map((i) => page.source(i)), [0, 1].map((i) => comparedWork(page, i)),
      comparedSteps(page));
    this.inTimeOrder = false;
    this.byChange = this.choice('order', CHANGE_ORDERS) === '';
    this.tree = new DifferenceTree(merged, {isTogether: this.isTogether(),
      width: this.choice('width', CHANGE_WIDTHS) || 'both'});
    this.notes = ['A box in full colour is new or vanished, a pale one changed little.'];
    if (!this.tree.hasOps) {
      this.notes.push('A trace does not say which ops launched its kernels: they are shown by category.');
    }
    this.draw();
  }

  look() {
    return {colors: new ChangeColors(), kernel: null,
      amountOf: (box) => (this.isSame(box) ? null : signed(time, this.tree.delta(box.items.at(-1))))};
  }

  isSame(box) {
    const item = box.items.at(-1);
    return item === undefined || !changeShare(...this.tree.sides.map((ns) => ns[item]));
  }

  showControls() {
    super.showControls();
    this.widths.show();
    const [paper, adds, saves, neutral] = ['--paper', '--adds', '--saves', '--muted'].map(themeColor);
    clear(this.legend).append(legend([
      {label: 'B takes longer', css: mixColors(adds, paper, 0.8)},
      {label: 'B takes less time', css: mixColors(saves, paper, 0.8)},
      {label: 'about the same', css: mixColors(neutral, paper, 0.13)}]));
  }

  // "38.1 → 45.9 ms per step of GPU time: +7.79 ms (+20.4 %)"
  summaryText() {
    const sides = this.asked ? this.tree.sideNs.map((ns) => matchFlame(this.tree, this.asked, ns).ns[FLAME_ALL]) :
      this.tree.sides.map((ns) => ns[FLAME_ALL]);
    const what = this.asked ? `${this.chosen.filter(Boolean).join(', ')}: ` : '';
    return `${what}${pairText(...sides)} of GPU time ${comparedPer(this.page)}`;
  }

  describe(box) {
    const {tree} = this;
    const item = box.items.at(-1);
    if (item === undefined) return super.describe(box);
    const [a, b] = tree.sides.map((ns) => ns[item]);
    return tipContent(box.items.map((one) => tree.name(one)).join(' › '), [
      ['kind', tree.kind(item) === 'kernel' ? tree.category(item) : kindText(tree.kind(item))],
      ...SIDES.map((name, side) => [name, sideText(tree.sides[side][item], tree.counts[side][item])]),
      ['B − A', a === b ? 'no change' : `${signed(time, b - a)}${a > 0 ? ` (${changeText(changeOf(a, b))})` : ''}`],
    ], a > 0 ? (b > 0 ? null : 'only in A') : 'only in B');
  }

  // Kernels of two traces have no common row: their name filters the table below.
  chooseKernel(kernel) {
    const name = this.tree.kernels.column('name')[kernel];
    if (name) this.page.state.set({'kernels.filter': filterTerm('name', name)});
  }

  amount(box) {
    const item = box.items.at(-1);
    return item === undefined ? time(box.ns) : pairText(...this.tree.sides.map((ns) => ns[item]));
  }

  tableRows() {
    const {tree} = this;
    const named = this.boxes.filter((box) => box.items.length)
      .sort((one, other) => Math.abs(tree.delta(other.items.at(-1))) - Math.abs(tree.delta(one.items.at(-1))));
    return {
      isSortable: true,
      heads: ['name', 'kind', 'level ', 'A ', 'B ', 'B − A ', 'change ', 'A count ', 'B count '],
      rows: named.slice(0, CHANGE_ROWS).map((box) => {
        const item = box.items.at(-1);
        return [{text: shorten(flameBoxName(tree, box), 120), title: tree.name(item).slice(0, 2000)},
          kindText(tree.kind(item)), {text: String(box.level), value: box.level},
          ...timeCells(...tree.sides.map((ns) => ns[item])),
          ...tree.counts.map((counts) => ({text: thousands(counts[item]), value: counts[item]}))];
      }),
      total: named.length,
    };
  }

  // Of each category A above B, on one scale.
  drawBars(chosen) {
    const {tree, root} = this;
    const rows = CATEGORIES.map((name) => ({name, ns: tree.categorySides(name).map((ns) => ns[root])}))
      .filter(({ns}) => ns[0] > 0 || ns[1] > 0)
      .sort((one, other) => Math.abs(other.ns[1] - other.ns[0]) - Math.abs(one.ns[1] - one.ns[0]) ||
        other.ns[0] - one.ns[0]);
    const longest = Math.max(...rows.flatMap(({ns}) => ns));
    const title = root === FLAME_ALL ? 'By category' : ['By category, of ', element('span', {class: 'name'},
      shorten(tree.name(root), 60))];
    const head = element('div', {class: 'category-bar two heads', 'aria-hidden': 'true'}, element('span'),
      element('span', {}, `${comparedPer(this.page)}; of each, A above B`),
      ['A', 'B', 'B − A', 'change'].map((text) => element('span', {class: 'number'}, text)));
    clear(this.bars).append(element('h3', {}, title), head,
      ...rows.map((row) => this.categoryBar(row, longest, chosen)));
  }

  categoryBar({name, ns}, longest, chosen) {
    const fill = (size, side) => element('span', {class: `fill side-${SIDES[side].toLowerCase()}`,
      style: {width: `${100 * size / longest}%`, background: categoryColor(name)}});
    return element('button', {type: 'button', 'aria-pressed': String(chosen === name),
      class: chosen && chosen !== name ? 'category-bar two off' : 'category-bar two',
      title: `${name}: ${ns.map((one) => `${thousands(one)} ns`).join(' → ')}`,
      onclick: () => this.page.state.set({category: chosen === name ? null : name})},
    element('span', {}, name), element('span', {class: 'track'}, ns.map(fill)),
    element('span', {class: 'number muted'}, time(ns[0])), element('span', {class: 'number'}, time(ns[1])),
    element('span', {class: 'number'}, signed(time, ns[1] - ns[0])),
    element('span', {class: 'number muted'}, changeText(changeOf(...ns))));
  }
}

function sideText(ns, count) {
  return ns > 0 || count > 0 ? `${time(ns)} in ${thousands(count)}, mean ${time(ns / count)}` : 'none';
}

function pairText(a, b) {
  const change = Number.isFinite(changeOf(a, b)) ? ` (${changeText(changeOf(a, b))})` : '';
  return `${time(a)} → ${time(b)}${a === b ? '' : `, ${signed(time, b - a)}${change}`}`;
}

// Cells of A, B, the difference and the change, of times in ns.
export function timeCells(a, b) {
  const cell = (ns) => ({text: time(ns), title: `${thousands(ns)} ns`, value: ns});
  return [cell(a), cell(b), {text: signed(time, b - a), title: `${thousands(b - a)} ns`, value: b - a},
    {text: changeText(changeOf(a, b)), title: `${changeOf(a, b)} %`, value: changeOf(a, b)}];
}
