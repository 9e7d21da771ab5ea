// Of one trace: copies by direction, kind, size and bandwidth; memory of each device over time.
//
// State: `range` and `view` of others choose the time of the second part.

import {tableAlternative} from '../../chart.js';
import {element} from '../../dom.js';
import {bytes, percent, significant, thousands, time} from '../../format.js';
import {copyPoints, directionText, groupCopies, isPageable, readCopies} from './copies.js';
import {MemoryLines} from './lines.js';
import {CopyScatter} from './scatter.js';

const COPY_ROWS = 100;

export function pageableMark() {
  return element('span', {class: 'chip pageable',
    title: 'Pageable memory is copied to a buffer of the driver first; pinned ' +
      'memory is faster and does not block the host.'}, 'pageable');
}

export function rateText(rate) {
  return Number.isFinite(rate) ? `${significant(rate)} GB/s` : '–';
}

// One row per direction and kind, with a bar of its time.
function groupTable(groups) {
  const longest = groups[0].ns;
  const number = (text, full) => element('td', {class: 'number', title: full}, text);
  const rows = groups.map((group) => element('tr', {},
    element('td', {}, directionText(group.direction)),
    element('td', {}, isPageable(group) ? pageableMark() : group.kind),
    number(thousands(group.count)),
    number(group.bytes ? bytes(group.bytes) : '–', `${thousands(group.bytes)} bytes`),
    number(time(group.ns), `${thousands(group.ns)} ns`),
    element('td', {class: 'bar-cell'}, element('span', {class: isPageable(group) ? 'copy-bar pageable' : 'copy-bar',
      style: {width: `${100 * group.ns / longest}%`}})),
    number(rateText(group.rate), String(group.rate))));
  const heads = ['direction', 'memory', 'copies', 'bytes', 'time', '', 'bandwidth'];
  return element('table', {class: 'plain copies'},
    element('caption', {class: 'visually-hidden'}, 'Copies by direction'),
    element('thead', {}, element('tr', {}, heads.map((head, i) =>
      element('th', {scope: 'col', class: [2, 3, 4, 6].includes(i) ? 'number' : null}, head)))),
    element('tbody', {}, rows));
}

function copyTable(copies) {
  return {
    heads: ['direction', 'memory', 'size ', 'copies ', 'time ', 'bandwidth '],
    rows: copies.slice(0, COPY_ROWS).map((copy) => [directionText(copy.direction), copy.kind,
      {text: bytes(copy.bytes), title: `${thousands(copy.bytes)} bytes`}, thousands(copy.count),
      {text: time(copy.ns), title: `${thousands(copy.ns)} ns`}, {text: rateText(copy.rate), title: String(copy.rate)}]),
    total: copies.length,
  };
}

function pageableNote(groups) {
  const pageable = groups.filter(isPageable).reduce((sum, group) => sum + group.ns, 0);
  const all = groups.reduce((sum, group) => sum + group.ns, 0);
  if (!pageable) return null;
  return element('p', {}, element('b', {}, percent(pageable, all)), ' of the time of copies is spent on ',
    element('b', {}, 'pageable'), ' memory, which the driver has to copy a second time.');
}

function buildCopies(page, body) {
  const source = page.source(0);
  if (!source.has('page_copies')) {
    body.append(element('h3', {}, 'Copies'),
      element('p', {class: 'empty'}, 'There are no copies or memsets in this trace.'));
    return;
  }
  const copies = readCopies(source.table('page_copies'));
  const groups = groupCopies(copies);
  const points = copyPoints(copies);
  const left = element('div', {}, pageableNote(groups), groupTable(groups),
    tableAlternative('Copies by size', () => copyTable(copies)).node);
  const right = element('div', {});
  body.append(element('h3', {}, 'Copies of the whole trace'),
    element('div', {class: 'columns copies-columns'}, left, right));
  if (points) new CopyScatter(page, right, points);
  else right.append(element('p', {class: 'empty'}, 'The trace does not say how many bytes were copied.'));
}

function buildMemory(page, body) {
  body.append(element('h3', {}, 'Memory of the device over time'));
  if (page.source(0).has('page_memory')) {
    new MemoryLines(page, body);
    return;
  }
  const how = page.front.framework === 'PyTorch' ? ': profile with profile_memory=True' : '';
  body.append(element('p', {class: 'empty'}, `The trace does not record how much memory is allocated${how}.`));
}

export function buildMemoryAndCopies(page, body) {
  buildCopies(page, body);
  buildMemory(page, body);
}
