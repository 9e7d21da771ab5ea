// What this report is about, on one line, and whether the trace can be trusted. Details open below the line.

import {clear, element, svg} from '../dom.js';
import {significant, thousands} from '../format.js';
import {copyButton} from '../output.js';

// Level of trust: class, word, and a shape that does not need colour.
const TRUST_LEVELS = {
  ok: {rank: 3, shape: 'circle', mark: 'M5 8.2l2.2 2.2L11.2 6', word: 'ok'},
  note: {rank: 2, shape: 'circle', mark: 'M8 7.4v4M8 4.4v1', word: 'note'},
  warn: {rank: 1, shape: 'triangle', mark: 'M8 6v4M8 11.6v1', word: 'care'},
  fail: {rank: 0, shape: 'octagon', mark: 'M5.6 5.6l4.8 4.8M10.4 5.6l-4.8 4.8', word: 'fails'},
};
const TRUST_SHAPES = {
  circle: 'M8 1a7 7 0 1 1 0 14a7 7 0 1 1 0-14z',
  triangle: 'M8 1.2L15.4 14.6H0.6z',
  octagon: 'M5 1h6l4 4v6l-4 4H5l-4-4V5z',
};
const VERDICT_LEVELS = {good: 'ok', 'usable with care': 'warn', 'do not trust': 'fail'};

function trustShape(level) {
  const {shape, mark} = TRUST_LEVELS[level];
  return svg('svg', {class: 'trust-shape', viewBox: '0 0 16 16', width: 16, height: 16, 'aria-hidden': 'true'},
    svg('path', {d: TRUST_SHAPES[shape], class: 'ground'}), svg('path', {d: mark, class: 'mark'}));
}

function headerFacts(front) {
  const {answers, facts} = front;
  const steps = facts.steps ?? answers.steps;
  return [
    facts.gpu,
    front.kind === 'trace' && answers.device_count > 1 && 'figures of the busiest GPU',
    front.framework,
    Number.isFinite(steps) && steps > 0 ? `${thousands(steps)} ${steps === 1 ? 'step' : 'steps'}` :
      facts.step_note ?? (answers.per === 'trace' && 'no steps'),
    facts.date,
  ].filter(Boolean);
}

function trustThreshold({warn = null, fail = null} = {}) {
  const parts = [];
  if (warn !== null) parts.push(`care above ${thousands(warn)}`);
  if (fail !== null) parts.push(`fails above ${thousands(fail)}`);
  return parts.join(', ') || 'no threshold';
}

// Those that are not in order come first.
function trustTable(checks) {
  const sorted = checks.filter(({level}) => Object.hasOwn(TRUST_LEVELS, level));
  sorted.sort((a, b) => TRUST_LEVELS[a.level].rank - TRUST_LEVELS[b.level].rank);
  const rows = sorted.map((check) => element('tr', {class: `trust-${check.level}`},
    element('td', {class: 'trust-level'}, trustShape(check.level), TRUST_LEVELS[check.level].word),
    element('td', {}, check.text),
    element('td', {class: 'number', title: String(check.value)}, significant(check.value ?? NaN)),
    element('td', {class: 'muted'}, trustThreshold(check.threshold || {})),
    element('td', {class: 'muted'}, check.id)));
  return element('table', {class: 'plain'},
    element('thead', {}, element('tr', {}, ['', 'check', 'value', 'threshold', ''].map(
      (head) => element('th', {class: head === 'value' ? 'number' : null, scope: 'col'}, head)))),
    element('tbody', {}, rows));
}

function trustPanel({verdict, checks = []}) {
  const bad = checks.filter(({level}) => level === 'warn' || level === 'fail').length;
  const sentences = {
    ok: 'The numbers of this page can be used as they are.',
    warn: 'The numbers of this page can be used, with the limits below in mind.',
    fail: 'Do not use the numbers of this page: the trace does not show what happened.',
  };
  const count = `${checks.length - bad} of ${checks.length} checks are in order.`;
  return [element('p', {}, `${sentences[VERDICT_LEVELS[verdict]] || ''} ${count}`), trustTable(checks)];
}

function commandPanel(front) {
  const version = front.version && `gputally ${front.version}`;
  const rows = [['file', front.title], ['command', front.command], ['version', version]];
  const list = element('dl', {class: 'facts'}, rows.filter(([, value]) => value).map(
    ([label, value]) => [element('dt', {}, label), element('dd', {class: 'name'}, value)]));
  return front.command ? [list, copyButton('copy the command', () => front.command)] : list;
}

// Buttons that open one panel at a time below the line.
function disclosures(page, panel, entries) {
  const show = () => {
    const open = page.state.get('header.open');
    const entry = entries.find((one) => one.id === open);
    for (const {id, button} of entries) button.setAttribute('aria-expanded', String(id === open));
    panel.hidden = !entry;
    clear(panel);
    if (entry) panel.append(...[entry.content()].flat());
  };
  for (const {id, button} of entries) {
    button.setAttribute('aria-controls', 'header-panel');
    button.addEventListener('click', () => (
      page.state.set({'header.open': page.state.get('header.open') === id ? null : id})));
  }
  page.state.on(['header.open'], show);
  show();
}

function trustButton(trust) {
  const level = VERDICT_LEVELS[trust.verdict] || 'warn';
  const title = 'whether the trace can be trusted, and why';
  return element('button', {type: 'button', class: `badge trust-${level}`, title},
    trustShape(level), `trust: ${trust.verdict}`);
}

// Why nothing below can be trusted, such as lost data: for everyone to see, not only in the panel.
function distrustStrip({verdict, checks = []}) {
  if (VERDICT_LEVELS[verdict] !== 'fail') return null;
  const reasons = checks.filter(({level}) => level === 'fail').map(({text}) => text);
  return element('p', {class: 'distrust trust-fail', role: 'status'}, trustShape('fail'),
    element('span', {}, element('b', {}, 'Do not trust this report.'), ' ', reasons.join(' ')));
}

function buildHeader(page, body) {
  const {front} = page;
  const trust = front.answers.trust;
  const panel = element('div', {id: 'header-panel', class: 'card'});
  const strip = trust && distrustStrip(trust);
  const more = element('button', {type: 'button', class: 'button plain screen-only'}, 'details');
  const entries = [{id: 'details', button: more, content: () => commandPanel(front)}];
  const facts = headerFacts(front).map((fact) => element('span', {class: 'fact'}, fact));
  const line = element('div', {class: 'masthead'},
    element('span', {class: 'file elide', title: front.title}, front.title),
    element('span', {class: 'about elide'}, facts), more);
  if (trust?.verdict) {
    const badge = trustButton(trust);
    entries.push({id: 'trust', button: badge, content: () => trustPanel(trust)});
    line.append(badge);
  }
  body.append(line, panel);
  if (strip) body.append(strip);
  disclosures(page, panel, entries);
}

export const headerSection = {
  id: 'header',
  label: 'report',
  first: true,
  build: buildHeader,
};
