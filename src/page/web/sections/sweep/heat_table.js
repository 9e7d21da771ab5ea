// A heat map that is a table: every cell has its number, and its colour says the same. Blue is less, orange is more,
// which people who cannot tell red from green see as well as others; the middle is the page's own ground, so that the
// colour is about equally strong in the light and the dark theme.

import {inkOn, mixColors} from '../../colors.js';
import {element} from '../../dom.js';

const HEAT_GROUNDS = {light: '#fffefc', dark: '#14161a'};
const HEAT_ENDS = {light: ['#2f7fc1', '#d9730d'], dark: ['#3f8fd2', '#d97a1f']};

// The colour of a share from -1 (much less) to 1 (much more), for a theme.
export function effectColor(share, isNight) {
  const theme = isNight ? 'dark' : 'light';
  const size = Math.min(1, Math.abs(share));
  return mixColors(HEAT_ENDS[theme][share < 0 ? 0 : 1], HEAT_GROUNDS[theme], size * 0.92);
}

function heatCell({text, detail, title, share, isFirst}) {
  if (text === null || text === undefined) {
    return element('td', {class: 'heat missing-cell', title: title || 'not measured'}, '–');
  }
  const colors = [effectColor(share, false), effectColor(share, true)];
  return element('td', {class: `heat${isFirst ? ' heat-first' : ''}`, title, style: {
    background: `light-dark(${colors.join(', ')})`, color: `light-dark(${colors.map(inkOn).join(', ')})`}},
  text, detail && element('span', {class: 'heat-detail'}, detail));
}

// {corner, columns: [text], rows: [{head, title, cells: [{text, detail, title, share, isFirst}]}], caption}
export function heatTable({corner, columns, rows, caption}) {
  return element('div', {class: 'scroll heat-scroll'}, element('table', {class: 'heat-table'},
    element('caption', {class: 'visually-hidden'}, caption),
    element('thead', {}, element('tr', {}, element('td', {class: 'heat-corner muted'}, corner),
      columns.map((text) => element('th', {scope: 'col', class: 'name', title: text.title ?? text},
        text.text ?? text)))),
    element('tbody', {}, rows.map(({head, title, cells}) => element('tr', {},
      element('th', {scope: 'row', class: 'name', title: title || head}, head), cells.map(heatCell))))));
}

// What the colours mean: labels of both ends; `from` is -1, or 0 if nothing is below the middle.
export function heatLegend([low, high], from = -1) {
  const stops = Array.from({length: 11}, (_, i) => {
    const share = from + (1 - from) * i / 10;
    return `light-dark(${effectColor(share, false)}, ${effectColor(share, true)})`;
  });
  return element('p', {class: 'note heat-legend'}, element('span', {}, low), element('span', {class: 'heat-bar',
    'aria-hidden': 'true', style: {background: `linear-gradient(90deg, ${stops.join(', ')})`}}),
  element('span', {}, high));
}
