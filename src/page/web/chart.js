// What charts share in the document: canvases, axes, tooltips, keys that go from mark to mark, and a table that says
// the same as the picture. scale.js has the part that needs no document.

import {clear, element, onceAFrame, svg} from './dom.js';
import {thousands} from './format.js';
import {tooltip} from './tooltip.js';

// ---- drawing ----

const CANVAS_LIMIT = 16000;

// Gives a canvas its size in CSS pixels and returns its context, cleared, in these pixels.
export function setUpCanvas(canvas, width, height) {
  const scale = Math.min(devicePixelRatio || 1, CANVAS_LIMIT / Math.max(width, height, 1));
  const [wide, high] = [Math.max(1, Math.round(width * scale)), Math.max(1, Math.round(height * scale))];
  if (canvas.width !== wide || canvas.height !== high) {
    canvas.width = wide;
    canvas.height = high;
    canvas.style.width = `${width}px`;
    canvas.style.height = `${height}px`;
  }
  const context = canvas.getContext('2d');
  context.setTransform(1, 0, 0, 1, 0, 0);
  context.clearRect(0, 0, wide, high);
  context.setTransform(scale, 0, 0, scale, 0, 0);
  return context;
}

// Calls a function when the width of an element changes (also when it becomes visible), at most once a frame.
export function watchWidth(node, draw) {
  let last = -1;
  const soon = onceAFrame(draw);
  new ResizeObserver(() => {
    if (node.clientWidth === last) return;
    last = node.clientWidth;
    soon();
  }).observe(node);
}

// A canvas has no isolation of writing directions: marks that change it would turn the text around them. They and
// control characters are drawn as a box.
export function inertText(text) {
  return text.replace(/[\u0000-\u001f\u007f-\u009f\u200e\u200f\u2028-\u202e\u2066-\u2069]/g, '▯');
}

const textWidths = new Map();

// The text, or as much of its beginning and end as fits; empty if that is nothing worth reading.
export function fitText(context, text, width) {
  const narrow = measuredWidth(context, 'i');
  let room = Math.min(text.length, Math.floor(width / narrow));
  if (width < 3 * narrow) return '';
  let shown = inertText(elideText(text, room));
  for (let size = context.measureText(shown).width; size > width; size = context.measureText(shown).width) {
    room = Math.min(room - 1, Math.floor(room * width / size));
    if (room < 4) return '';
    shown = inertText(elideText(text, room));
  }
  return shown;
}

function measuredWidth(context, text) {
  const key = `${context.font} ${text}`;
  if (!textWidths.has(key)) textWidths.set(key, context.measureText(text).width);
  return textWidths.get(key);
}

// As shorten() of format.js, but never between the two halves of a character.
function elideText(text, length) {
  if (text.length <= length) return text;
  const head = Math.ceil((length - 1) * 0.6);
  const tail = length - 1 - head;
  const cut = (at) => (text.charCodeAt(at) >> 10 === 0x37 ? at + 1 : at);
  return `${text.slice(0, cut(head))}…${tail > 0 ? text.slice(cut(text.length - tail)) : ''}`;
}

// ---- axes, as SVG ----

// Lines and labels of an axis at the bottom. Ticks are {value, label}; `area` is {left, top, right, bottom}.
export function bottomAxis(scale, ticks, area, title) {
  return svg('g', {class: 'axis', 'aria-hidden': 'true'},
    ticks.map(({value, label}) => {
      const x = Math.round(scale(value)) + 0.5;
      return [
        svg('line', {class: 'grid', x1: x, x2: x, y1: area.top, y2: area.bottom}),
        label && svg('text', {x, y: area.bottom + 16, 'text-anchor': 'middle'}, label),
      ];
    }),
    svg('line', {x1: area.left, x2: area.right, y1: area.bottom + 0.5, y2: area.bottom + 0.5}),
    title && svg('text', {class: 'title', x: area.right, y: area.bottom + 34, 'text-anchor': 'end'}, title));
}

// The same at the left; its title is above the axis, so that it can be read without tilting the head.
export function leftAxis(scale, ticks, area, title) {
  return svg('g', {class: 'axis', 'aria-hidden': 'true'},
    ticks.map(({value, label}) => {
      const y = Math.round(scale(value)) + 0.5;
      return [
        svg('line', {class: 'grid', x1: area.left, x2: area.right, y1: y, y2: y}),
        label && svg('text', {x: area.left - 8, y: y + 4, 'text-anchor': 'end'}, label),
      ];
    }),
    title && svg('text', {class: 'title', x: 0, y: 12}, title));
}

// ---- what a mark is about ----

// Content of a tooltip: a name, then rows of [label, value]. Rows that are null or without a value are left out.
export function tipContent(name, rows, note) {
  return [
    element('div', {class: 'tip-name name'}, name.length > 400 ? `${name.slice(0, 280)}…${name.slice(-100)}` : name),
    element('dl', {class: 'facts'}, rows
      .filter((row) => row && row[1] !== null && row[1] !== undefined && row[1] !== '')
      .map(([label, value]) => [element('dt', {}, label), element('dd', {}, value)])),
    note && element('div', {class: 'muted'}, note),
  ].filter(Boolean);
}

// Says to screen readers what has the focus.
export function announcer() {
  const node = element('div', {class: 'visually-hidden', 'aria-live': 'polite'});
  return {node, say: (text) => node.textContent = text.slice(0, 600)};
}

// Arrow keys go from mark to mark of a chart that has the focus, Enter chooses, Escape leaves.
//   count(): how many;  show(index): -1 for none (the tooltip is hidden);  choose(index);
//   back(): Escape without a mark
export function followMarks(node, {count, show, choose, back}) {
  let at = -1;
  const go = (next) => {
    at = next;
    if (at < 0) tooltip.hide();
    show(at);
  };
  node.addEventListener('keydown', (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const last = count() - 1;
    const next = {
      ArrowRight: Math.min(at + 1, last), ArrowDown: Math.min(at + 1, last), ArrowLeft: Math.max(at - 1, 0),
      ArrowUp: Math.max(at - 1, 0), Home: 0, End: last,
    }[event.key];
    if (next !== undefined && last >= 0) go(next);
    else if (event.key === 'Enter' && at >= 0 && at <= last && choose) choose(at);
    else if (event.key === 'Escape' && at >= 0) go(-1);
    else if (event.key === 'Escape' && back) back();
    else return;
    event.preventDefault();
    event.stopPropagation();
  });
  node.addEventListener('blur', () => at >= 0 && go(-1));
}

// ---- the same as a table ----

// A table of text. Heads that end in a space stand above numbers. Cells are strings, or {text, title, value}. With
// `order`, {column, isDescending} or empty, headings are buttons that change it and call `order.changed`; rows are then
// in order of the values of a column, and those without one come last.
export function plainTable(caption, heads, rows, order = null) {
  const numeric = heads.map((head) => head.endsWith(' '));
  const cell = (value, i) => element('td', {class: numeric[i] ? 'number' : 'name', title: value?.title},
    value?.text ?? value);
  const head = (text, i) => (order ? sortHead(text, i, numeric[i], order) :
    element('th', {scope: 'col', class: numeric[i] ? 'number' : null}, text.trim()));
  const sorted = order && order.column !== undefined ? sortCells(rows, order) : rows;
  return element('table', {class: 'plain'}, caption && element('caption', {class: 'visually-hidden'}, caption),
    element('thead', {}, element('tr', {}, heads.map(head))),
    element('tbody', {}, sorted.map((row) => element('tr', {}, row.map(cell)))));
}

function sortHead(text, column, isNumber, order) {
  const isSorted = order.column === column;
  const direction = isSorted ? (order.isDescending ? 'descending' : 'ascending') : 'none';
  return element('th', {scope: 'col', class: isNumber ? 'number' : null, 'aria-sort': direction},
    element('button', {type: 'button', class: 'sort-head', onclick: () => {
      Object.assign(order, {column, isDescending: isSorted ? !order.isDescending : isNumber});
      order.changed();
    }}, text.trim(), element('span', {class: 'arrow', 'aria-hidden': 'true'},
      isSorted ? (order.isDescending ? ' ▼' : ' ▲') : '')));
}

// Keys stay on the heading that was chosen, which the refreshed table has anew.
function sortOrder(node, refresh) {
  const order = {changed: () => {
    refresh();
    node.querySelectorAll('.sort-head')[order.column]?.focus();
  }};
  return order;
}

export function sortCells(rows, {column, isDescending}) {
  const valueOf = (row) => row[column]?.value ?? (row[column]?.text ?? row[column]);
  const isEmpty = (value) => value === undefined || value === null || value === '' || Number.isNaN(value);
  const sign = isDescending ? -1 : 1;
  return [...rows].sort((one, other) => {
    const [a, b] = [valueOf(one), valueOf(other)];
    if (isEmpty(a) || isEmpty(b)) return isEmpty(a) - isEmpty(b);
    return a < b ? -sign : a > b ? sign : 0;
  });
}

// "as a table" below a chart, filled when it is opened. `make` returns {heads, rows, total, isSortable}: rows may be
// the first ones only. Call refresh() after the chart has changed.
export function tableAlternative(caption, make) {
  const body = element('div', {class: 'scroll'});
  const node = element('details', {class: 'alternative screen-only'}, element('summary', {}, 'As a table'), body);
  const refresh = () => {
    if (!node.open) return;
    const {heads, rows, total, isSortable} = make();
    clear(body).append(plainTable(caption, heads, rows, isSortable ? order : null));
    if (total > rows.length) {
      body.append(element('p', {class: 'note'}, `The first ${thousands(rows.length)} of ${thousands(total)}.`));
    }
  };
  const order = sortOrder(node, refresh);
  node.addEventListener('toggle', refresh);
  return {node, refresh};
}

// A table whose headings sort it. `make` returns {heads, rows}; refresh() asks for them again.
export function sortedTable(caption, make) {
  const node = element('div', {class: 'sorted-table'});
  const refresh = () => {
    const {heads, rows} = make();
    clear(node).append(plainTable(caption, heads, rows, order));
  };
  const order = sortOrder(node, refresh);
  refresh();
  return {node, refresh};
}
