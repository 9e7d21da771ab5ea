// Where the time of the step goes, as one bar: GPU work by category, exposed communication and copies, idle time by
// cause. With a chosen range it is the bar of the range (balance.js). A click chooses a part for the sections below.

import {balanceOf} from '../balance.js';
import {inkOn, categoryColor, partCss} from '../colors.js';
import {clear, element, onceAFrame} from '../dom.js';
import {percent, thousands, time} from '../format.js';
import {legend} from '../legend.js';
import {causeMeaning, partKey, partLabel} from '../names.js';
import {tooltip} from '../tooltip.js';

// The parts of the front, or of the range, with the time to divide by: {parts, whole, divisor, per}.
function barContents(page) {
  const {facts, answers} = page.front;
  const range = page.state.getRange('range');
  const balance = range && page.hasTables && page.source(0) ? balanceOf(page.source(0), range) : null;
  if (balance) return {parts: balance.parts, whole: balance.length, divisor: 1, per: 'of the selection', ...balance};
  const parts = facts.bar.filter((part) => part.ns > 0);
  const steps = facts.per !== 'trace' && answers.window_steps > 0 ? answers.window_steps : 1;
  return {
    parts, whole: parts.reduce((sum, part) => sum + part.ns, 0), divisor: steps,
    per: (facts.per ?? answers.per) === 'trace' ? 'of the window' : 'of a step',
  };
}

function barTooltip({part, kind, ns}, contents) {
  const meaning = kind === 'idle' && causeMeaning(part);
  return [
    element('div', {class: 'strong'}, partLabel(part, kind)),
    element('div', {}, `${time(ns / contents.divisor)} · ${percent(ns, contents.whole)} ${contents.per}`),
    element('div', {class: 'muted'}, `${thousands(ns)} ns in all`),
    meaning && element('div', {class: 'muted'}, `the GPU was idle: ${meaning}`),
  ].filter(Boolean);
}

function choosePart(page, part, kind) {
  const key = partKey(part, kind);
  page.state.set({category: page.state.get('category') === key ? null : key});
}

function barSegment(page, part, contents) {
  const {part: name, kind, ns} = part;
  const text = `${time(ns / contents.divisor)} · ${percent(ns, contents.whole)}`;
  const isIdle = kind === 'idle';
  const node = element('button', {
    type: 'button', class: `segment ${isIdle ? 'idle' : ''}`, tabindex: -1, dataset: {key: partKey(name, kind)},
    'aria-label': `${partLabel(name, kind)}: ${text} ${contents.per}`,
    style: {
      flexGrow: String(ns / contents.whole), background: partCss(name, kind),
      color: isIdle ? null : inkOn(categoryColor(name)),
    },
    onclick: () => choosePart(page, name, kind),
  }, element('span', {class: 'segment-label'}, element('b', {}, partLabel(name, kind)), element('br'), text));
  tooltip.attach(node, () => barTooltip(part, contents));
  return node;
}

// One stop for the tab key; arrows go from part to part.
function moveByArrows(bar) {
  bar.addEventListener('keydown', (event) => {
    const segments = [...bar.children];
    const at = segments.indexOf(document.activeElement);
    const to = {ArrowLeft: at - 1, ArrowRight: at + 1, Home: 0, End: segments.length - 1}[event.key];
    if (at < 0 || to === undefined) return;
    event.preventDefault();
    const next = segments[Math.min(segments.length - 1, Math.max(0, to))];
    segments[at].tabIndex = -1;
    next.tabIndex = 0;
    next.focus();
  });
}

// Total of work and of idle time, above the ends of the bar.
function barTotals(contents) {
  const idle = contents.parts.reduce((total, part) => (part.kind === 'idle' ? total + part.ns : total), 0);
  return [['GPU busy', contents.whole - idle], ['idle', idle]]
    .map(([label, ns]) => element('span', {title: `${thousands(ns)} ns in all`},
      element('b', {}, label), ` ${time(ns / contents.divisor)} · ${percent(ns, contents.whole)}`));
}

// A label that does not fit into its part goes to the legend.
function placeLabels(page, bar, names, contents) {
  const hidden = [];
  [...bar.children].forEach((segment, i) => {
    const label = segment.firstChild;
    segment.classList.remove('bare');
    const fits = label.scrollWidth <= segment.clientWidth;
    segment.classList.toggle('bare', !fits);
    if (!fits) hidden.push(contents.parts[i]);
  });
  const items = hidden.map(({part, kind, ns}) => ({
    part, kind, label: partLabel(part, kind), css: partCss(part, kind),
    detail: `${time(ns / contents.divisor)} · ${percent(ns, contents.whole)}`,
    title: kind === 'idle' ? causeMeaning(part) : null, isChosen: page.state.get('category') === partKey(part, kind),
  }));
  clear(names).append(legend(items, (item) => choosePart(page, item.part, item.kind)));
}

function markChosen(page, bar) {
  const chosen = page.state.get('category');
  bar.classList.toggle('has-chosen', [...bar.children].some((segment) => segment.dataset.key === chosen));
  for (const segment of bar.children) segment.setAttribute('aria-pressed', String(segment.dataset.key === chosen));
}

function buildBar(page, body) {
  const totals = element('div', {class: 'bar-totals row spread'});
  const bar = element('div', {class: 'bar', role: 'group', 'aria-label': 'parts of the time'});
  const names = element('div', {class: 'bar-names'});
  const note = element('p', {class: 'note'});
  let contents = null;
  const place = () => {
    placeLabels(page, bar, names, contents);
    markChosen(page, bar);
  };
  const show = () => {
    contents = barContents(page);
    clear(totals).append(...barTotals(contents));
    clear(bar).append(...contents.parts.map((part) => barSegment(page, part, contents)));
    if (bar.firstChild) bar.firstChild.tabIndex = 0;
    note.textContent = contents.isEstimate ? 'Estimate: the page has bins instead of events here.' : '';
    note.hidden = !contents.isEstimate;
    place();
  };
  body.append(totals, bar, names, note);
  moveByArrows(bar);
  show();
  new ResizeObserver(onceAFrame(place)).observe(bar);
  page.state.on(['range'], onceAFrame(show));
  page.state.on(['theme'], show);
  page.state.on(['category'], place);
  page.onTables(show);
}

export const barSection = {
  id: 'bar',
  title: 'Time by category and cause',
  short: 'Time',
  first: true,
  needs: (page) => page.front.facts.bar?.some((part) => part.ns > 0) || false,
  build: buildBar,
};
