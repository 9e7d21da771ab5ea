// The answer: one sentence, and five figures with their course over the steps. With a chosen range the figures are
// those of the range (balance.js).

import {balanceOf} from '../balance.js';
import {clear, element, onceAFrame, svg, withBold} from '../dom.js';
import {significant, thousands, time} from '../format.js';

const SPARK_COLUMNS = 240;

// At most SPARK_COLUMNS values: of more, the largest of each stretch, so that no slow step is lost.
export function thinSpark(values) {
  if (values.length <= SPARK_COLUMNS) return values;
  return Array.from({length: SPARK_COLUMNS}, (_, i) => {
    const from = Math.floor(i * values.length / SPARK_COLUMNS);
    const to = Math.floor((i + 1) * values.length / SPARK_COLUMNS);
    return values.slice(from, to).reduce((most, value) => (value > most || most === null ? value : most), null);
  });
}

// One plateau per step, from zero, so that a spread that is half as large looks half as large.
export function sparkPath(values, width, height) {
  const top = Math.max(0, ...values.filter(Number.isFinite));
  const x = (i) => Number((i * width / values.length).toFixed(2));
  const y = (value) => Number((height - (top > 0 ? Math.max(0, value) / top : 0) * height).toFixed(2));
  let path = '';
  let isOpen = false;
  values.forEach((value, i) => {
    if (!Number.isFinite(value)) {
      isOpen = false;
      return;
    }
    path += `${isOpen ? 'L' : 'M'}${x(i)} ${y(value)}H${x(i + 1)}`;
    isOpen = true;
  });
  return path;
}

function sparkLine(values, unit) {
  const finite = (values || []).filter(Number.isFinite);
  if (finite.length < 2) return element('div', {class: 'spark', 'aria-hidden': 'true'});
  const [low, high] = finite.reduce(([a, b], value) => [Math.min(a, value), Math.max(b, value)], [Infinity, -Infinity]);
  const text = `${thousands(values.length)} steps: ${significant(low)} to ${significant(high)} ${unit || ''}`.trimEnd();
  const view = {viewBox: '0 -1 200 26', preserveAspectRatio: 'none'};
  return svg('svg', {class: 'spark', role: 'img', 'aria-label': text, ...view}, svg('title', {}, text),
    svg('path', {d: sparkPath(thinSpark(values), 200, 24), 'vector-effect': 'non-scaling-stroke'}));
}

function tileNode(tile) {
  const isNumber = typeof tile.value === 'number';
  const value = isNumber ? tileNumber(tile) : tile.value ?? '–';
  const before = typeof tile.before === 'number' &&
    element('span', {class: 'tile-before', title: `${tile.before} ${tile.unit || ''}`},
      `${tileNumber({...tile, value: tile.before})} → `);
  return element('li', {class: 'tile', dataset: {tile: tile.id}},
    element('div', {class: 'tile-label'}, tile.label),
    element('div', {class: 'tile-value'}, before,
      element('span', {class: 'figure', title: isNumber ? `${tile.value} ${tile.unit || ''}`.trimEnd() : null}, value),
      value !== '–' && tile.unit && element('span', {class: 'unit'}, ` ${tile.unit}`)),
    sparkLine(tile.spark, tile.unit),
    element('div', {class: 'tile-detail muted small', title: tile.detail}, tile.detail));
}

// Percentages have one decimal, everything else three significant digits.
function tileNumber({value, unit}) {
  if (!Number.isFinite(value)) return '–';
  return unit === '%' ? value.toFixed(1) : significant(value);
}

// ---- the chosen range ----

// A time as the tile shows it: a share if the tile's unit is %, otherwise a time.
function timeTile(tile, ns, length, detail) {
  const share = 100 * ns / length;
  const [value, unit] = tile.unit === '%' ? [share, '%'] : time(ns).split(' ');
  return {...tile, value, unit, spark: [],
    detail: detail || (unit === '%' ? `${time(ns)} of the selection` : `${share.toFixed(1)} % of the selection`)};
}

// The tiles of a range. What a range has no figure for says so.
export function rangeTiles(tiles, {parts, length, isEstimate}) {
  const sum = (isWanted) => parts.reduce((total, part) => (isWanted(part) ? total + part.ns : total), 0);
  const about = isEstimate ? 'estimate from bins' : null;
  const make = {
    step: (tile) => timeTile({...tile, label: 'selected time', unit: 'ms'}, length, length, 'of the trace'),
    busy: (tile) => timeTile(tile, sum((part) => part.kind !== 'idle'), length),
    communication: (tile) => timeTile(tile, sum((part) => part.kind === 'exposed_communication'), length, about),
    copies: (tile) => timeTile(tile, sum((part) => part.kind === 'exposed_copy'), length, about),
  };
  return tiles.map((tile) => (Object.hasOwn(make, tile.id) ? make[tile.id](tile) :
    {...tile, value: null, spark: [], detail: 'only for the whole trace'}));
}

function buildVerdict(page, body) {
  const {sentence, tiles = []} = page.front.facts;
  if (sentence) body.append(element('h1', {class: 'sentence'}, withBold(sentence)));
  const list = element('ul', {class: 'tiles', 'aria-label': 'key figures'});
  const show = () => {
    const range = page.state.getRange('range');
    const isOne = page.front.kind !== 'compare';
    const balance = range && isOne && page.hasTables && page.source(0) ? balanceOf(page.source(0), range) : null;
    clear(list).append(...(balance ? rangeTiles(tiles, balance) : tiles).map(tileNode));
    list.classList.toggle('filtered', balance !== null);
  };
  show();
  if (tiles.length) body.append(list);
  page.state.on(['range'], onceAFrame(show));
  page.onTables(show);
}

export const verdictSection = {
  id: 'verdict',
  label: 'verdict',
  first: true,
  needs: (page) => Boolean(page.front.facts.sentence || page.front.facts.tiles?.length),
  build: buildVerdict,
};
