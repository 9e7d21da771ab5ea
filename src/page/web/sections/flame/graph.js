// GPU time as a flame graph that hangs from the top, from modules over ops down to kernels, and
// as bars by category.
//
// State: `flame.root` (the item at the top), `flame.order` (`time`: in time order), `flame.modules` (`apart`: each
// module of its own), and those of others: `range`, `category`, `finding`, `search`, `kernel`.

import {announcer, setUpCanvas, tableAlternative, tipContent, watchWidth} from '../../chart.js';
import {CATEGORIES, categoryColor} from '../../colors.js';
import {comparedSources} from '../../compared.js';
import {clear, element, onceAFrame} from '../../dom.js';
import {percent, shorten, thousands, time} from '../../format.js';
import {addKeys} from '../../keys.js';
import {tooltip} from '../../tooltip.js';
import {hasExact, roundRange} from '../../work.js';
import {drawFlame, FLAME_ROW, flameBoxName, FlameColors} from './draw.js';
import {flameBoxAt, flameNeighbour, layoutFlame} from './layout.js';
import {FLAME_ALL, flameStarts, FlameTree, matchFlame, workEvidence} from './tree.js';

const TABLE_ROWS = 200;
const CRUMBS = 6;

export class FlameGraph {
  constructor(page, body) {
    this.page = page;
    this.source = page.source(0);
    this.focused = -1;
    this.byChange = false;
    this.hasModules = comparedSources(page).some((source) => source.has('page_nodes') &&
      source.table('page_nodes').find('kind', 'module') >= 0);
    this.makeParts(body);
    this.listen();
    this.rebuild();
  }

  makeParts(body) {
    this.crumbs = element('nav', {class: 'crumbs', 'aria-label': 'path of the flame graph'});
    this.summary = element('p', {class: 'note flame-summary', role: 'status'});
    this.note = element('p', {class: 'note'});
    this.canvas = element('canvas', {tabindex: '0', role: 'application', 'aria-roledescription': 'flame graph'});
    this.box = element('div', {class: 'flame-box'}, this.canvas);
    this.announcer = announcer();
    this.bars = element('div', {class: 'category-bars'});
    this.alternative = tableAlternative('Where the time goes', () => this.tableRows());
    this.search = element('input', {type: 'search', class: 'filter-box', placeholder: 'search modules, ops, kernels',
      'aria-label': 'search the flame graph', maxlength: '500', spellcheck: 'false', autocomplete: 'off'});
    this.orders = this.choices('order', [['', 'by time', 'the longest first'],
      ['time', 'in time order', 'by first start on the GPU']]);
    this.together = element('button', {type: 'button', class: 'button', title: 'count Block_0, Block_1, ... as one',
      onclick: () => this.page.state.set({'flame.modules': this.isTogether() ? 'apart' : null})},
      'repeated modules together');
    this.toolbar = element('div', {class: 'toolbar'}, this.orders.node, this.together, this.search, this.summary);
    body.append(this.toolbar, this.crumbs, element('div', {class: 'chart'}, this.box), this.note,
      this.alternative.node, this.announcer.node, this.bars);
  }

  // Buttons of which one is chosen, for the state flame.NAME; the first one is the default.
  choices(name, items) {
    const buttons = items.map(([value, label, title]) => element('button', {type: 'button', class: 'button', title,
      dataset: {[name]: value}, onclick: () => this.page.state.set({[`flame.${name}`]: value || null})}, label));
    const show = () => {
      const chosen = this.choice(name, items);
      for (const button of buttons) button.setAttribute('aria-pressed', String(button.dataset[name] === chosen));
    };
    return {node: element('div', {class: 'segmented', role: 'group', 'aria-label': name}, buttons), show};
  }

  // What the state says, if it is one of the items.
  choice(name, items) {
    const value = this.page.state.get(`flame.${name}`);
    return items.some(([one]) => one === value) ? value : items[0][0];
  }

  listen() {
    const {state} = this.page;
    const draw = onceAFrame(() => this.draw());
    const rebuild = onceAFrame(() => this.rebuild());
    state.on(['range', 'flame.order', 'flame.modules', 'flame.width'], rebuild);
    state.on(['flame.root', 'category', 'finding', 'search', 'kernel', 'theme'], draw);
    this.search.addEventListener('input', () => state.set({search: this.search.value || null}));
    this.canvas.addEventListener('pointermove', (event) => this.point(event));
    this.canvas.addEventListener('pointerleave', () => tooltip.hide());
    this.canvas.addEventListener('click', (event) => this.choose(this.boxAt(event)));
    this.canvas.addEventListener('keydown', (event) => this.key(event));
    this.canvas.addEventListener('blur', () => this.focus(-1));
    addKeys('Flame graph', [
      {key: '← → ↑ ↓', text: 'go to a neighbour, the caller or the first part'},
      {key: 'Enter', text: 'zoom in'}, {key: 'Esc', text: 'zoom out'},
    ]);
    watchWidth(this.box, draw);
  }

  // The tree of the chosen range.
  rebuild() {
    const range = this.page.state.getRange('range');
    const isOrdered = this.page.state.get('flame.order') === 'time';
    const work = this.page.work();
    const isExact = hasExact(this.source, range || [0, this.source.fact('end')]);
    const starts = isOrdered ? flameStarts(this.source, work, range, isExact) : null;
    this.inTimeOrder = starts !== null;
    this.tree = new FlameTree(this.source, work, {firstStarts: starts && starts.starts,
      isTogether: this.isTogether() && !this.inTimeOrder});
    this.notes = this.rangeNotes(range, isOrdered, starts);
    this.draw();
  }

  isTogether() {
    return this.page.state.get('flame.modules') !== 'apart';
  }

  rangeNotes(range, isOrdered, starts) {
    const notes = [];
    if (!this.tree.hasOps) {
      notes.push('The trace does not say which ops launched its kernels: they are shown by category.');
    }
    const rounded = roundRange(this.source, range);
    if (range && rounded[0] !== range[0]) {
      notes.push(`The page has sums for this range in bins only: shown is ${time(rounded[0])} to ${time(rounded[1])}.`);
    }
    if (isOrdered && !starts) notes.push('The page has no events of this range, so that the order is by time.');
    if (starts && starts.precision) {
      notes.push(`The page does not have all events: starts are known to ${time(starts.precision)}.`);
    }
    return notes;
  }

  draw() {
    const {state} = this.page;
    const {tree} = this;
    const width = this.box.clientWidth;
    this.root = tree.itemOf(state.get('flame.root'));
    this.showControls();
    if (!width) return;
    const layout = layoutFlame(tree, this.root, this.inTimeOrder || this.byChange, 0.7 / width);
    this.boxes = layout.boxes;
    if (this.focused >= this.boxes.length) this.focused = -1;
    const match = this.findMatch();
    this.showSummary(match);
    this.note.textContent = [...this.notes, layout.isCut ? 'Deeper levels are not drawn: zoom in.' : ''].join(' ')
      .trim();
    this.canvas.hidden = !this.boxes.length;
    const context = setUpCanvas(this.canvas, width, layout.levels * FLAME_ROW);
    drawFlame(context, width, tree, this.boxes, {match, focused: this.focused, ...this.look()});
    this.alternative.refresh();
    this.drawBars(state.get('category'));
  }

  look() {
    return {colors: new FlameColors(), kernel: this.page.state.getNumber('kernel')};
  }

  // What is highlighted, or null.
  findMatch() {
    const {state} = this.page;
    const category = CATEGORIES.includes(state.get('category')) ? state.get('category') : null;
    const evidence = workEvidence(this.source, state.getNumber('finding'));
    const search = state.get('search');
    this.chosen = [search && `“${shorten(search, 40)}”`, category, evidence && `finding ${state.get('finding')}`];
    this.asked = search || category || evidence ? {search, category, evidence} : null;
    return this.asked && matchFlame(this.tree, this.asked);
  }

  showSummary(match) {
    const {tree} = this;
    const all = tree.ns[FLAME_ALL];
    if (!all) {
      this.summary.textContent = tree.withoutTime(Boolean(this.page.state.getRange('range')));
      return;
    }
    const text = this.summaryText(match);
    this.summary.textContent = text;
    this.canvas.setAttribute('aria-label',
      `Flame graph of ${tree.name(this.root).slice(0, 200)}: ${text}. Arrow keys move.`);
  }

  summaryText(match) {
    const {tree} = this;
    const all = tree.ns[FLAME_ALL];
    if (!match) return `${time(all)} of GPU time in ${thousands(tree.count[FLAME_ALL])} kernels, copies and memsets`;
    return `${this.chosen.filter(Boolean).join(', ')} matches ${percent(match.ns[FLAME_ALL], all)} of GPU time` +
      ` (${time(match.ns[FLAME_ALL])} of ${time(all)})`;
  }

  showControls() {
    const {state} = this.page;
    this.orders.show();
    this.together.setAttribute('aria-pressed', String(this.isTogether() && !this.inTimeOrder));
    this.together.disabled = this.inTimeOrder;
    this.together.hidden = !this.hasModules;
    if (this.search.value !== (state.get('search') || '')) this.search.value = state.get('search') || '';
    const path = this.tree.path(this.root);
    const shown = path.length > CRUMBS ? [path[0], null, ...path.slice(1 - CRUMBS)] : path;
    clear(this.crumbs).append(...shown.flatMap((item, i) => {
      const isLast = i === shown.length - 1;
      const part = item === null ? '…' : element('button', {type: 'button', class: 'button plain name',
        title: this.tree.name(item).slice(0, 2000), 'aria-current': isLast ? 'location' : null,
        onclick: () => this.zoom(item)}, shorten(this.tree.name(item), 40));
      return i ? [' › ', part] : [part];
    }));
    this.crumbs.hidden = path.length < 2;
  }

  // ---- pointing and choosing ----

  boxAt(event) {
    const place = this.canvas.getBoundingClientRect();
    const level = Math.floor((event.clientY - place.top) / FLAME_ROW);
    return flameBoxAt(this.boxes, level, (event.clientX - place.left) / place.width);
  }

  point(event) {
    const at = this.boxAt(event);
    this.canvas.classList.toggle('clickable', at >= 0);
    if (at >= 0) tooltip.show(this.describe(this.boxes[at]), event.clientX, event.clientY);
    else tooltip.hide();
  }

  describe(box) {
    const {tree} = this;
    const all = tree.ns[FLAME_ALL];
    const item = box.items.at(-1);
    if (item === undefined) {
      return tipContent(`${box.count} more`, [['time', time(box.ns)], ['share', `${percent(box.ns, all)} of GPU time`]],
        'too narrow to be drawn one by one');
    }
    const count = tree.count[item];
    return tipContent(box.items.map((one) => tree.name(one)).join(' › '), [
      ['kind', tree.kind(item) === 'kernel' ? tree.category(item) : kindText(tree.kind(item))],
      ['time', time(box.ns)],
      ['share', `${percent(box.ns, all)} of GPU time`],
      this.root !== FLAME_ALL && item !== this.root &&
        ['', `${percent(box.ns, tree.ns[this.root])} of ${shorten(tree.name(this.root), 40)}`],
      ['count', thousands(count)],
      ['mean', time(box.ns / count)],
    ]);
  }

  choose(at) {
    const item = this.boxes[at]?.items.at(-1);
    if (item === undefined) return;
    if (!this.tree.isLeaf(item)) this.zoom(item === this.root ? this.tree.parents[item] : item);
    else this.chooseKernel(this.tree.kernel(item));
  }

  chooseKernel(kernel) {
    this.page.state.set({kernel});
  }

  zoom(item) {
    tooltip.hide();
    this.focused = -1;
    this.page.state.set({'flame.root': this.tree.linkOf(Math.max(item, FLAME_ALL))});
  }

  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key.startsWith('Arrow')) this.focus(flameNeighbour(this.boxes, this.focused, event.key));
    else if (event.key === 'Home') this.focus(0);
    else if (event.key === 'Enter' && this.focused >= 0) this.choose(this.focused);
    else if (event.key === 'Escape' && this.root !== FLAME_ALL) this.zoom(this.tree.parents[this.root]);
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  focus(at) {
    if (at === this.focused) return;
    this.focused = at;
    this.draw();
    if (at < 0) {
      tooltip.hide();
      return;
    }
    const box = this.boxes[at];
    const top = box.level * FLAME_ROW;
    const hidden = Math.max(0, top + FLAME_ROW - this.box.scrollTop - this.box.clientHeight);
    this.box.scrollTop = Math.min(this.box.scrollTop + hidden, top);
    const place = this.canvas.getBoundingClientRect();
    const content = this.describe(box);
    tooltip.show(content, place.left + box.from * place.width, place.top + (box.level + 0.5) * FLAME_ROW);
    this.announcer.say(`${flameBoxName(this.tree, box)}, ${this.amount(box)}`);
  }

  amount(box) {
    return `${time(box.ns)}, ${percent(box.ns, this.tree.ns[FLAME_ALL])}`;
  }

  // ---- the same in other forms ----

  tableRows() {
    const {tree} = this;
    const named = this.boxes.filter((box) => box.items.length);
    const cell = (text, value) => ({text, title: `${value}`});
    return {
      heads: ['level ', 'name', 'kind', 'time ', 'share ', 'count '],
      rows: named.slice(0, TABLE_ROWS).map((box) => {
        const item = box.items.at(-1);
        return [String(box.level), {text: shorten(flameBoxName(tree, box), 120), title: tree.name(item).slice(0, 2000)},
          kindText(tree.kind(item)), cell(time(box.ns), `${thousands(box.ns)} ns`),
          percent(box.ns, tree.ns[FLAME_ALL]), thousands(tree.count[item])];
      }),
      total: named.length,
    };
  }

  drawBars(chosen) {
    const {tree, root} = this;
    const all = tree.ns[root];
    const ns = tree.categoryNs(root);
    const rows = CATEGORIES.map((name, i) => ({name, ns: ns[i]})).filter((row) => row.ns > 0)
      .sort((a, b) => b.ns - a.ns);
    const title = root === FLAME_ALL ? 'By category' : ['By category, of ', element('span', {class: 'name'},
      shorten(tree.name(root), 60))];
    clear(this.bars).append(element('h3', {}, title), ...rows.map(({name, ns: size}) =>
      element('button', {type: 'button', class: chosen && chosen !== name ? 'category-bar off' : 'category-bar',
        'aria-pressed': String(chosen === name), title: `${name}: ${thousands(size)} ns`,
        onclick: () => this.page.state.set({category: chosen === name ? null : name})},
      element('span', {}, name),
      element('span', {class: 'track'}, element('span', {class: 'fill',
        style: {width: `${100 * size / rows[0].ns}%`, background: categoryColor(name)}})),
      element('span', {class: 'number'}, percent(size, all)), element('span', {class: 'number muted'}, time(size)))));
  }
}

export function kindText(kind) {
  return {unlaunched: 'GPU work', all: 'GPU work', function: 'Python function', op: 'op'}[kind] || kind || 'other';
}
