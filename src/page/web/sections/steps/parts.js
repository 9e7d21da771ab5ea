// What the chart of one trace's steps and that of two traces share: elements, legend, labels and tooltips.

import {announcer, tableAlternative} from '../../chart.js';
import {partCss} from '../../colors.js';
import {element, svg} from '../../dom.js';
import {percent, shorten, time} from '../../format.js';
import {legend, swatch} from '../../legend.js';
import {partKey, partLabel} from '../../names.js';
import {phaseColor} from './draw.js';

const TOOLTIP_PARTS = 8;

export function phaseName(phase) {
  return phase ?? 'no phase';
}

// `rows` makes the table that says the same as the bars.
export function stepElements(rows) {
  const canvas = element('canvas', {tabindex: '0', role: 'application', 'aria-roledescription': 'bar chart'});
  const axes = svg('svg', {class: 'underlay', 'aria-hidden': 'true'});
  const focusMark = element('div', {class: 'focus-mark', hidden: true});
  return {canvas, axes, focusMark, box: element('div', {class: 'chart steps-chart'}, axes, canvas, focusMark),
    legend: element('div', {}), note: element('p', {class: 'note'}), alternative: tableAlternative('Steps', rows),
    announcer: announcer()};
}

// Of the parts of a bar, and of the line above the bars if there are phases.
export function stepLegend(state, parts, phases) {
  const chosen = state.get('category');
  const keys = parts.map(({part, kind}) => partKey(part, kind));
  const items = parts.map(({part, kind}, i) => ({label: partLabel(part, kind), css: partCss(part, kind),
    key: keys[i], isChosen: chosen === keys[i], isOff: keys.includes(chosen) && chosen !== keys[i]}));
  return [legend(items, ({key}) => state.set({category: chosen === key ? null : key})),
    phases.length && element('p', {class: 'legend'}, 'Line above the bars: ', phases.map((phase) =>
      element('span', {}, swatch(phaseColor(phase)), phaseName(phase))))].filter(Boolean);
}

// Whether a part is pale, because another one is chosen.
export function isPartOff(state, parts) {
  const category = state.get('category');
  const keys = parts.map(({part, kind}) => partKey(part, kind));
  const isKnown = category !== null && keys.includes(category);
  return (part) => isKnown && keys[part] !== category;
}

// The line below bars and as many of their names as fit.
export function stepLabels(groups, steps, prefix, area, barWidth) {
  const labels = groups.map(({first}) => shorten(steps[first].name.slice(prefix.length) || String(first), 16));
  const longest = labels.reduce((most, label) => Math.max(most, label.length), 1);
  const stride = Math.ceil((longest * 7.5 + 12) / barWidth);
  return [svg('line', {x1: area.left, x2: area.right, y1: area.bottom + 0.5, y2: area.bottom + 0.5}),
    labels.map((label, i) => i % stride === 0 &&
      svg('text', {x: area.left + (i + 0.42) * barWidth, y: area.bottom + 16, 'text-anchor': 'middle'}, label))];
}

// The longest parts of a bar as lines of its tooltip, and what is said of the others.
export function stepPartLines(parts, group) {
  const longest = parts.map((part, i) => ({...part, ns: group.parts[i]})).filter((part) => part.ns > 0)
    .sort((one, other) => other.ns - one.ns);
  const lines = longest.slice(0, TOOLTIP_PARTS).map((part) => [
    [swatch(partCss(part.part, part.kind)), partLabel(part.part, part.kind)],
    `${time(part.ns)}, ${percent(part.ns, group.ns)}`]);
  return {lines, rest: longest.length > TOOLTIP_PARTS ? `and ${longest.length - TOOLTIP_PARTS} smaller parts` : null};
}
