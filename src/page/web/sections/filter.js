// What is chosen at the moment, as chips that clear it. They stay in sight: everything below shows only this.

import {clear, element} from '../dom.js';
import {significant, thousands} from '../format.js';
import {partLabel, readPartKey} from '../names.js';
import {roundRange} from '../work.js';

const UNITS = [[1e9, 's'], [1e6, 'ms'], [1e3, 'µs'], [1, 'ns']];

// Both ends in one unit, with as many decimals as tell them apart: "12.3–45.6 ms".
export function rangeText([begin, end]) {
  const [size, unit] = UNITS.find(([one]) => end >= one) || UNITS[3];
  const decimals = Math.min(6, Math.max(0, Math.ceil(-Math.log10((end - begin) / size)) + 2));
  const text = (ns) => (ns / size).toLocaleString('en-US', {minimumFractionDigits: size === 1 ? 0 : decimals,
    maximumFractionDigits: size === 1 ? 0 : decimals});
  return `${text(begin)}–${text(end)} ${unit}`;
}

function rangeChip(page) {
  const range = page.state.getRange('range');
  if (!range) return null;
  const whole = page.hasTables && page.source(0)?.has('page_facts') ? roundRange(page.source(0), range) : range;
  const title = `${thousands(range[0])} to ${thousands(range[1])} ns after the first event`;
  const isRounded = whole[0] !== range[0] || whole[1] !== range[1];
  return {keys: ['range'], text: `${rangeText(range)} of the trace`, title,
    detail: isRounded ? `sums: ${rangeText(whole)}` : `${significant((range[1] - range[0]) / 1e6)} ms`};
}

function categoryChip(page) {
  const key = page.state.get('category');
  if (!key) return null;
  const {part, kind} = readPartKey(key);
  return {keys: ['category'], text: partLabel(part, kind), title: 'the chosen part of the time'};
}

function findingChip(page) {
  const rank = page.state.getNumber('finding');
  const finding = rank !== null && page.front.answers.findings?.find((one) => one.rank === rank);
  return finding ? {keys: ['finding'], text: `finding ${rank}: ${finding.title}`, title: finding.title} : null;
}

function chipNode(page, {keys, text, title, detail}) {
  const clearKeys = () => page.state.set(Object.fromEntries(keys.map((key) => [key, null])));
  return element('span', {class: 'chip', title},
    element('span', {class: 'elide'}, text), detail && element('span', {class: 'muted'}, `(${detail})`),
    element('button', {type: 'button', class: 'close', 'aria-label': `clear ${text}`, onclick: clearKeys}, '×'));
}

function buildFilter(page, body) {
  const show = () => {
    const chips = [rangeChip, categoryChip, findingChip].map((make) => make(page)).filter(Boolean);
    body.parentNode.hidden = chips.length === 0;
    clear(body);
    if (!chips.length) return;
    body.append(element('span', {class: 'muted small'}, 'shown:'), ...chips.map((chip) => chipNode(page, chip)));
    if (chips.length > 1) {
      const keys = chips.flatMap((chip) => chip.keys);
      body.append(element('button', {type: 'button', class: 'button plain',
        onclick: () => page.state.set(Object.fromEntries(keys.map((key) => [key, null])))}, 'clear all'));
    }
  };
  body.classList.add('row');
  body.setAttribute('role', 'status');
  show();
  page.state.on(['range', 'category', 'finding'], show);
  page.onTables(show);
}

export const filterSection = {
  id: 'filter',
  label: 'what is chosen',
  first: true,
  build: buildFilter,
};
