// The scrolled part of a table: headings, and the rows in sight. One row may be open; its details follow it.

import {categoryColor} from '../../colors.js';
import {element, onceAFrame} from '../../dom.js';
import {shorten, thousands} from '../../format.js';
import {swatch} from '../../legend.js';
import {cellTitle, columnWidth, fullCell, isNothing, kindOf, NO_VALUE, shownCell} from './values.js';

const ROW_HEIGHT = 28;
const HEAD_HEIGHT = 33;
const VIEW_HEIGHT = 536; // of the longest table, as in tables.css
const SPARE_ROWS = 8;
const ROWS_MAX = 600000; // browsers do not draw higher elements
const PRINTED_ROWS = 40;
const PRINTED_NAME = 90;
const TITLE_LENGTH = 4000;

export class GridBody {
  constructor(grid, label) {
    this.grid = grid;
    this.columns = element('colgroup');
    this.head = element('tr');
    this.rows = element('tbody');
    this.table = element('table', {role: 'grid', 'aria-label': label, class: 'grid-table', tabindex: '0'},
      this.columns, element('thead', {}, this.head), this.rows);
    this.node = element('div', {class: 'grid'}, this.table);
    const space = () => element('tr', {class: 'space', 'aria-hidden': 'true'});
    [this.above, this.below] = [space(), space()];
    this.drawn = new Map();
    this.active = 0;
    this.detail = {id: null, node: null, height: 0};
    this.draw = onceAFrame(() => this.drawRows());
    this.node.addEventListener('scroll', this.draw, {passive: true});
    this.node.addEventListener('keydown', (event) => this.onKey(event));
    this.node.addEventListener('click', (event) => this.onClick(event));
    this.node.addEventListener('copy', (event) => this.onCopy(event));
    new ResizeObserver(onceAFrame(() => this.onResize())).observe(this.node);
    this.heightObserver = new ResizeObserver(onceAFrame(() => this.measureDetail()));
    addEventListener('beforeprint', () => this.print(true));
    addEventListener('afterprint', () => this.print(false));
  }

  // ---- headings ----

  show() {
    this.shown = this.grid.shownColumns();
    this.count = Math.min(this.grid.rows.length, ROWS_MAX);
    this.active = Math.min(this.active, Math.max(0, this.count - 1));
    this.showHead();
    this.rows.replaceChildren();
    this.drawn.clear();
    this.openDetail();
    this.measureColumns();
    this.drawRows();
    if (this.followCurrent()) this.drawRows();
  }

  showHead() {
    const sorting = this.grid.sorting();
    const hasFlexible = this.shown.some((column) => kindOf(column).isFlexible);
    const widths = this.shown.map(columnWidth);
    const total = widths.reduce((sum, width) => sum + width, 0);
    this.table.style.minWidth = `${total}px`;
    this.table.setAttribute('aria-rowcount', String(this.count + 1));
    this.columns.replaceChildren(...this.shown.map((column, i) => {
      const isFlexible = hasFlexible ? kindOf(column).isFlexible : column === this.shown[0];
      return element('col', {style: {width: isFlexible ? 'auto' : `${widths[i]}px`}});
    }));
    const focused = this.head.contains(document.activeElement) ? document.activeElement.dataset.key : null;
    this.head.replaceChildren(...this.shown.map((column) => this.headCell(column, sorting)));
    if (focused) this.head.querySelector(`button[data-key="${CSS.escape(focused)}"]`)?.focus();
  }

  headCell(column, sorting) {
    const isSorted = sorting?.column === column;
    const order = isSorted ? (sorting.isDescending ? 'descending' : 'ascending') : 'none';
    const sign = {ascending: '▲', descending: '▼', none: ''}[order];
    const arrow = element('span', {class: 'arrow', 'aria-hidden': 'true'}, sign);
    return element('th', {scope: 'col', 'aria-sort': order, class: kindOf(column).isNumber ? 'number' : null},
      element('button', {type: 'button', dataset: {key: column.key}, title: column.help || column.title,
        onclick: () => this.grid.sortBy(column)}, element('span', {class: 'elide'}, column.title), arrow));
  }

  // How many characters of a name fit: long names lose their middle.
  measureColumns() {
    const probe = element('span', {class: 'name grid-probe'}, '0'.repeat(100));
    this.node.append(probe);
    const width = probe.getBoundingClientRect().width / 100 || 7;
    probe.remove();
    this.fits = this.shown.map((_, i) => Math.max(8, Math.floor((this.head.cells[i].clientWidth - 28) / width)));
  }

  onResize() {
    if (!this.shown || !this.node.clientWidth) return;
    if (this.node.clientWidth !== this.lastWidth && !this.isPrinting) {
      this.lastWidth = this.node.clientWidth;
      this.measureColumns();
      this.drawn.clear();
    }
    this.drawRows();
  }

  // ---- rows in sight ----

  // Where a place of the list begins; the details lie below the open one.
  top(place) {
    return place * ROW_HEIGHT + (this.openPlace >= 0 && place > this.openPlace ? this.detail.height : 0);
  }

  placeAt(y) {
    if (this.openPlace < 0 || y < (this.openPlace + 1) * ROW_HEIGHT) return Math.floor(y / ROW_HEIGHT);
    return Math.max(this.openPlace, Math.floor((y - this.detail.height) / ROW_HEIGHT));
  }

  // The places to draw. They begin and end at multiples of SPARE_ROWS, so that most frames of scrolling draw nothing.
  inSight() {
    const height = this.isPrinting ? PRINTED_ROWS * ROW_HEIGHT : Math.max(this.node.clientHeight, VIEW_HEIGHT);
    const begin = this.isPrinting ? 0 : this.node.scrollTop;
    const first = Math.floor(this.placeAt(begin) / SPARE_ROWS) - 1;
    const last = Math.ceil(this.placeAt(begin + height) / SPARE_ROWS) + 1;
    return [Math.max(0, first * SPARE_ROWS), Math.min(this.count, last * SPARE_ROWS)];
  }

  drawRows() {
    if (!this.shown) return;
    const [first, last] = this.inSight();
    const key = [first, last, this.count, this.openPlace, this.detail.height, this.isPrinting].join();
    if (key !== this.drawnKey || !this.drawn.size) this.placeRows(first, last);
    this.drawnKey = key;
    this.markActive();
    this.measureDetail();
  }

  placeRows(first, last) {
    for (const place of this.drawn.keys()) if (place < first || place >= last) this.drawn.delete(place);
    this.above.style.height = `${this.top(first)}px`;
    this.below.style.height = `${this.isPrinting ? 0 : this.top(this.count) - this.top(last)}px`;
    const parts = [this.above];
    for (let place = first; place < last; place++) {
      if (!this.drawn.has(place)) this.drawn.set(place, this.rowNode(place));
      parts.push(this.drawn.get(place));
      if (place === this.openPlace) parts.push(this.detailRow());
    }
    parts.push(this.below);
    if (!this.count) parts.push(this.textRow(this.grid.whyEmpty()));
    if (this.isPrinting && last < this.count) {
      parts.push(this.textRow(`${thousands(this.count - last)} more in the page.`));
    }
    setChildren(this.rows, parts);
  }

  textRow(text) {
    return element('tr', {}, element('td', {colspan: this.shown.length, class: 'empty'}, text));
  }

  rowNode(place) {
    const {model} = this.grid;
    const row = this.grid.rows[place];
    const isOpen = place === this.openPlace;
    const classes = [isOpen && 'open', model.isMarked?.(row) && 'marked',
      model.current?.() === model.idOf(row) && 'current'].filter(Boolean).join(' ');
    return element('tr', {class: classes || null, id: `${this.grid.id}-row-${place}`, 'aria-rowindex': place + 2,
      'aria-expanded': String(isOpen), 'aria-selected': String(classes.includes('current')), dataset: {place}},
    this.shown.map((column, i) => this.cell(column, row, i)));
  }

  cell(column, row, i) {
    const title = cellTitle(column, row)?.slice(0, TITLE_LENGTH);
    const opener = i === 0 && element('span', {class: 'opener', 'aria-hidden': 'true'});
    if (kindOf(column).isNumber) {
      return element('td', {class: `number ${column.kind}${judgement(column, row)}`, title}, opener,
        column.kind === 'share' && shareBar(column, row), element('span', {}, shownCell(column, row)));
    }
    return element('td', {class: column.kind, title}, opener,
      column.kind === 'category' && swatch(categoryColor(column.cells[row])),
      column.kind === 'name' ? nameParts(column, row, this.fits[i]) :
        element('span', {class: 'elide'}, shortCell(column, row)));
  }

  // ---- the open row ----

  openDetail() {
    const {model} = this.grid;
    const id = this.grid.get('open');
    const row = id === null ? -1 : model.rowOf(id);
    this.openPlace = row < 0 ? -1 : this.grid.rows.indexOf(row);
    if (this.openPlace >= this.count) this.openPlace = -1;
    if (this.openPlace < 0) {
      this.detail = {id: null, node: null, height: 0};
      return;
    }
    if (this.detail.id === id && this.detail.model === model) return;
    const node = element('div', {class: 'details'}, model.details(row));
    this.heightObserver.disconnect();
    this.heightObserver.observe(node);
    this.detail = {id, model, node, height: this.detail.height};
    this.isNew = true;
  }

  detailRow() {
    const width = this.node.clientWidth;
    this.detail.node.style.maxWidth = width ? `${width - 2}px` : '';
    const cell = this.detail.node.parentNode || element('td', {}, this.detail.node);
    cell.setAttribute('colspan', String(this.shown.length));
    return cell.parentNode || element('tr', {class: 'detail-row'}, cell);
  }

  measureDetail() {
    const height = this.detail.node?.isConnected ? this.detail.node.parentNode.getBoundingClientRect().height : 0;
    if (!height) return;
    if (Math.abs(height - this.detail.height) >= 0.5) {
      this.detail.height = height;
      this.draw();
    }
    if (this.isNew) this.revealDetail();
  }

  // Scrolls no further than needed to see the details, and never so far that the row itself is hidden.
  revealDetail() {
    this.isNew = false;
    const room = this.node.clientHeight - HEAD_HEIGHT;
    const needed = this.top(this.openPlace) + ROW_HEIGHT + this.detail.height - room;
    const wanted = Math.min(this.top(this.openPlace), needed);
    if (wanted > this.node.scrollTop) this.node.scrollTop = wanted;
  }

  // The row that was chosen elsewhere, or opened by a link, comes into sight, but the page does not scroll. Whether it
  // did.
  followCurrent() {
    const {model} = this.grid;
    const wanted = [this.grid.get('open'), model.current?.(), model.firstMarked?.()].find((id) => !isNothing(id));
    const key = `${wanted}`;
    if (wanted === undefined || key === this.followed) return false;
    this.followed = key;
    const place = this.grid.rows.indexOf(model.rowOf(wanted));
    if (place >= 0) this.scrollTo(place);
    return place >= 0;
  }

  scrollTo(place) {
    const [top, room] = [this.top(place), this.node.clientHeight - 2 * ROW_HEIGHT];
    if (top < this.node.scrollTop) this.node.scrollTop = top;
    else if (top > this.node.scrollTop + room) this.node.scrollTop = top - Math.max(0, room - 4 * ROW_HEIGHT);
  }

  // ---- what a user does ----

  onClick(event) {
    const row = event.target.closest('tr[data-place]');
    if (!row || event.target.closest('a, button, input') || String(getSelection())) return;
    this.active = Number(row.dataset.place);
    this.followed = String(this.grid.model.idOf(this.grid.rows[this.active])); // it is in sight already
    this.grid.toggle(this.grid.rows[this.active]);
  }

  onKey(event) {
    if (event.target !== this.table || event.ctrlKey || event.metaKey || event.altKey) return;
    const page = Math.max(1, Math.floor(this.node.clientHeight / ROW_HEIGHT) - 2);
    const moves = {ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -Infinity, End: Infinity};
    if (event.key in moves) {
      this.active = Math.min(this.count - 1, Math.max(0, this.active + moves[event.key]));
      this.scrollTo(this.active);
      this.drawRows();
    } else if ((event.key === 'Enter' || event.key === ' ') && this.count) {
      this.grid.toggle(this.grid.rows[this.active]);
    } else if (event.key === 'Escape' && this.openPlace >= 0) {
      this.grid.set({open: null});
    } else {
      return;
    }
    event.preventDefault();
    event.stopPropagation();
  }

  markActive() {
    this.rows.querySelector('.active')?.classList.remove('active');
    const node = this.drawn.get(this.active);
    node?.classList.add('active');
    if (node) this.table.setAttribute('aria-activedescendant', node.id);
    else this.table.removeAttribute('aria-activedescendant');
  }

  // Selected cells are copied in full, not as they are shown.
  onCopy(event) {
    const selection = getSelection();
    const lines = [...this.rows.querySelectorAll('tr[data-place]')].map((node) => {
      const row = this.grid.rows[Number(node.dataset.place)];
      const selected = this.shown.filter((_, i) => selection.containsNode(node.cells[i], true));
      return selected.map((column) => fullCell(column, row));
    }).filter((cells) => cells.length);
    if (!lines.length || event.target.closest?.('.details')) return;
    event.clipboardData.setData('text/plain', lines.map((cells) => cells.join('\t')).join('\n'));
    event.preventDefault();
  }

  // Paper shows the first rows without scrolling, and more of their names, which wrap.
  print(isPrinting) {
    if (!this.shown) return;
    this.isPrinting = isPrinting;
    if (isPrinting) this.fits = this.shown.map(() => PRINTED_NAME);
    else this.measureColumns();
    this.drawn.clear();
    this.drawRows();
  }
}

// More time is worse. The sign says so without colours.
function judgement(column, row) {
  if (column.kind !== 'difference' || !column.cells[row]) return '';
  return column.cells[row] > 0 ? ' worse' : ' better';
}

// Like replaceChildren, but children that stay are not touched: laying them out again would cost most of a frame.
function setChildren(parent, parts) {
  const wanted = new Set(parts);
  for (const child of [...parent.children]) if (!wanted.has(child)) child.remove();
  let next = parent.firstChild;
  for (const part of parts) {
    if (part === next) next = next.nextSibling;
    else parent.insertBefore(part, next);
  }
}

function shortCell(column, row) {
  const text = shownCell(column, row);
  return text.length > 200 ? shorten(text, 200) : text;
}

// Compared with the largest share of the column.
function shareBar(column, row) {
  column.largest ??= column.cells.reduce((most, one) => (one > most ? one : most), 0);
  const width = `${Math.max(0, Math.min(100, 100 * column.cells[row] / column.largest)) || 0}%`;
  return element('span', {class: 'share-bar', 'aria-hidden': 'true'}, element('span', {style: {width}}));
}

// The short name without its middle if it is too long; if there is room, what the full name has after it.
function nameParts(column, row, fits) {
  if (isNothing(column.cells[row])) return NO_VALUE;
  const full = String(column.cells[row]);
  if (full === '') return element('span', {class: 'muted'}, '(empty)');
  const text = shownCell(column, row);
  const at = text === full ? -1 : full.indexOf(text);
  const rest = at >= 0 && fits - text.length > 8 ? full.slice(at + text.length, at + text.length + 400) : '';
  return element('span', {class: 'name'}, shorten(text, fits),
    rest && element('span', {class: 'muted'}, shorten(rest, fits - text.length)));
}

// For details: a name that wraps and scrolls.
export function wholeName(text) {
  return element('div', {class: 'name whole-name', tabindex: '0'}, text);
}
