// A table in which one column is a plot: every row has its mark on one scale, and its numbers next to it. Places are
// percentages of the column's width, so nothing is drawn again when the width changes.
//
//   plotTable({caption, heads, rows, domain, ticks, plotAt, plotTitle, draw, reference, most})
//
// heads are like those of chart.js (a space at the end: numbers); plotAt says before which of them the plot is. A row
// is {cells, mark, class, tip, isPinned}; `draw(mark, x)` returns SVG. Of many rows, the first ones and those that are
// pinned are shown; the others on request.

import {clear, element, svg} from '../../dom.js';
import {thousands} from '../../format.js';
import {tooltip} from '../../tooltip.js';

const PLOT_ROWS = 24;
const PLOT_MARGIN = 3; // percent at both ends, so that whole marks are in the column
export const PLOT_HEIGHT = 22;

function percentScale([low, high]) {
  const span = high - low || 1;
  return (value) => PLOT_MARGIN + (100 - 2 * PLOT_MARGIN) * (value - low) / span;
}

const inPercent = (place) => `${place.toFixed(3)}%`;

// A dot with its interval.
function drawEstimate({estimate, kind}, x) {
  const {value, low, high} = estimate;
  if (!Number.isFinite(value)) return null;
  const middle = PLOT_HEIGHT / 2;
  const hasInterval = Number.isFinite(low) && Number.isFinite(high);
  const whisker = (at) => svg('line', {class: 'whisker', x1: inPercent(x(at)), x2: inPercent(x(at)), y1: middle - 4,
    y2: middle + 4});
  return svg('g', {class: `estimate ${kind || ''}`},
    hasInterval && svg('line', {class: 'whisker', x1: inPercent(x(low)), x2: inPercent(x(high)), y1: middle,
      y2: middle}),
    hasInterval && [whisker(low), whisker(high)],
    svg('circle', {class: 'dot', cx: inPercent(x(value)), cy: middle, r: 4.5}));
}

// A cell of a table: a number, and below it a difference in small type.
export function deltaCell(text, delta, value, unit = '') {
  return {text: [text, delta && element('span', {class: 'delta'}, delta)],
    title: Number.isFinite(value) ? `${value}${unit && ` ${unit}`}` : null};
}

// Parts one after another: [{size, css}].
export function drawParts({parts}, x) {
  let at = 0;
  return parts.map(({size, css, name}) => {
    const [left, right] = [x(at), x(at + size)];
    at += size;
    return svg('rect', {class: 'part', x: inPercent(left), width: inPercent(Math.max(0, right - left)), y: 3,
      height: PLOT_HEIGHT - 6, style: {fill: css}, dataset: {part: name}});
  });
}

function plotCell({mark, tip}, {x, ticks, draw, reference}) {
  const grid = ticks.map(({value}) => svg('line', {class: 'grid', x1: inPercent(x(value)), x2: inPercent(x(value)),
    y1: 0, y2: PLOT_HEIGHT}));
  const line = Number.isFinite(reference) && svg('line', {class: 'reference', x1: inPercent(x(reference)),
    x2: inPercent(x(reference)), y1: 0, y2: PLOT_HEIGHT});
  const cell = element('td', {class: 'plot-cell'}, svg('svg', {width: '100%', height: PLOT_HEIGHT,
    'aria-hidden': 'true'}, grid, line, mark && draw(mark, x)));
  if (tip) tooltip.attach(cell, tip);
  return cell;
}

// Labels of ticks have little room: their unit stands in the title.
function plotHead({x, ticks, plotTitle}) {
  const unit = ticks[0]?.label.split(' ')[1];
  return element('th', {scope: 'col', class: 'plot-head'},
    element('span', {class: 'plot-title'}, unit ? `${plotTitle}, ${unit}` : plotTitle),
    svg('svg', {width: '100%', height: 16, 'aria-hidden': 'true'}, ticks.map(({value, label}) =>
      svg('text', {x: inPercent(x(value)), y: 12, 'text-anchor': 'middle'}, label.split(' ')[0]))));
}

function plotRow(row, options) {
  const {heads, plotAt} = options;
  const cells = row.cells.map((value, i) => element(value?.isHead ? 'th' : 'td', {
    class: [heads[i].endsWith(' ') ? 'number' : value?.isHead ? 'name' : '', value?.class].filter(Boolean).join(' ') ||
      null, title: value?.title,
    scope: value?.isHead ? 'row' : null}, value?.text ?? value));
  cells.splice(plotAt, 0, plotCell(row, options));
  return element('tr', {class: row.class || null, dataset: row.data}, cells);
}

// The first rows; those that are pinned stand after a gap.
function shownRows(rows, most) {
  if (rows.length <= most + 2) return {first: rows, later: [], hidden: 0};
  const later = rows.slice(most).filter(({isPinned}) => isPinned);
  return {first: rows.slice(0, most), later, hidden: rows.length - most - later.length};
}

export function plotTable(given) {
  const options = {draw: drawEstimate, plotAt: 1, most: PLOT_ROWS, ...given, x: percentScale(given.domain)};
  const {heads, rows, plotAt, caption} = options;
  const body = element('tbody', {});
  const more = element('button', {type: 'button', class: 'button plain'});
  let isWhole = false;
  const fill = () => {
    const {first, later, hidden} = isWhole ? {first: rows, later: [], hidden: 0} : shownRows(rows, options.most);
    clear(body).append(...first.map((row) => plotRow(row, options)));
    if (hidden > 0) {
      body.append(element('tr', {class: 'gap'}, element('td', {colspan: heads.length + 1},
        `${thousands(hidden)} more`)), ...later.map((row) => plotRow(row, options)));
    }
    more.hidden = rows.length <= options.most + 2;
    more.textContent = isWhole ? `show the first ${thousands(options.most)}` : `show all ${thousands(rows.length)}`;
  };
  more.addEventListener('click', () => {
    isWhole = !isWhole;
    fill();
  });
  const columns = heads.map((head) => element('th', {scope: 'col', class: head.endsWith(' ') ? 'number' : null},
    head.trim()));
  columns.splice(plotAt, 0, plotHead(options));
  fill();
  return element('div', {class: 'plot-table'}, element('div', {class: 'scroll'},
    element('table', {class: 'plain'}, element('caption', {class: 'visually-hidden'}, caption),
      element('thead', {}, element('tr', {}, columns)), body)), more);
}
