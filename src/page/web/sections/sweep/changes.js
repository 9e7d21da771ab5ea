// What changed from the first sweep of the page to each other one: one measure of all settings, the conditions of
// --fail_if, and what the sweeps ran on.

import {plainTable, tipContent} from '../../chart.js';
import {clear, element} from '../../dom.js';
import {thousands} from '../../format.js';
import {decisionsOf, estimateDomain, exactCell, factor, hasDecisions, percentInterval} from './decision.js';
import {plainTicks, probability, readChanges, signedPercent, stepTime} from './decision.js';
import {plotTable} from './plot_table.js';
import {settingCells, settingHeads} from './recommend.js';

const CHANGE_WORDS = {worse: 'worse', better: 'better', 'not told apart': 'may be noise', unknown: 'noise is unknown'};
const CHANGE_MEASURES = {
  step_ms: {name: 'step time', show: stepTime, unit: 'ms'},
  exposed_comm_ms: {name: 'exposed communication', show: stepTime, unit: 'ms'},
  gemm_ms: {name: 'GEMM time', show: stepTime, unit: 'ms'},
  gemm_slowdown: {name: 'GEMM slowdown', show: factor, unit: ''},
};
const NAMES_SHOWN = 8;

function changesOf(decision) {
  if (!decision.changes) decision.changes = readChanges(decision);
  return decision.changes;
}

// ---- conditions ----

function sweepGate({outcome, problem, conditions}) {
  const isGood = outcome === 'passed';
  return element('div', {class: 'gate'},
    element('span', {class: `badge ${isGood ? 'trust-ok' : 'trust-fail'}`, role: 'status'}, isGood ? '✓ ' : '✕ ',
      `gate: ${outcome}`),
    element('ul', {}, conditions.map((text) => element('li', {class: 'muted'}, element('code', {}, text)))),
    problem && element('p', {class: 'limit'}, problem));
}

// ---- changes of one measure ----

// Settings that only one of two sweeps has, or has measured.
function missingNote(first, decision) {
  const steps = changesOf(decision).filter(({measure}) => measure === 'step_ms');
  const list = (one, rows) => one.settings.filter(({row}) => !rows.has(row)).map(({text}) => text);
  const gone = list(first, new Set(steps.map(({before}) => before)));
  const added = list(decision, new Set(steps.map(({setting}) => setting)));
  const say = (names, label) => names.length > 0 && `Measured only in ${label}: ` +
    `${names.slice(0, NAMES_SHOWN).join(', ')}` +
    `${names.length > NAMES_SHOWN ? ` and ${thousands(names.length - NAMES_SHOWN)} more` : ''}. `;
  return [say(gone, first.label), say(added, decision.label)].filter(Boolean);
}

function changeRow(first, decision, one, {show, unit}) {
  const setting = decision.settings[one.setting];
  const kind = one.verdict === 'not told apart' ? 'undecided' : one.verdict;
  return {
    cells: [...settingCells(decision, setting), exactCell(show(one.old), one.old, unit),
      exactCell(show(one.now), one.now, unit), exactCell(signedPercent(one.change.value), one.change.value, '%'),
      {text: percentInterval(one.change), title: `${one.change.low} to ${one.change.high} %`},
      exactCell(probability(one.p), one.p),
      {text: element('span', {class: `standing ${kind}`}, CHANGE_WORDS[one.verdict] ?? one.verdict)}],
    mark: {estimate: one.change, kind}, data: {setting: setting.name},
    tip: () => tipContent(setting.text, [[first.label, show(one.old)], [decision.label, show(one.now)],
      ['change', signedPercent(one.change.value)], ['95 % interval', percentInterval(one.change)],
      ['p, this comparison alone', probability(one.single)], ['p, corrected', probability(one.p)]])};
}

function changeTable(first, decision, measure, domain) {
  const about = CHANGE_MEASURES[measure];
  const heads = settingHeads(decision);
  const rows = changesOf(decision).filter((one) => one.measure === measure)
    .map((one) => changeRow(first, decision, one, about));
  if (!rows.length) return element('p', {class: 'empty'}, 'No setting has this in both sweeps.');
  return plotTable({caption: `Changes of the ${about.name} from ${first.label} to ${decision.label}`, rows, domain,
    ticks: plainTicks(domain, 6, ' %'), heads: [...heads, `${first.label} `, `${decision.label} `, 'change ',
      '95 % interval ', 'p ', ''],
    plotAt: heads.length, plotTitle: `change of the ${about.name}`, reference: 0});
}

// ---- machines ----

// What is known to differ between what the sweeps ran on.
function machines({source}, first) {
  const table = source.table('sweep_machines');
  if (!table?.rows) return null;
  const rows = Array.from({length: table.rows}, (_, row) => ['fact', 'old', 'new'].map((name) =>
    table.get(name, row) ?? '–'));
  const differs = rows.filter((_, row) => table.get('differs', row) === true);
  return element('details', {class: 'alternative', open: differs.length > 0}, element('summary', {}, differs.length ?
    `What the sweeps ran on differs in ${thousands(differs.length)} of ${thousands(rows.length)} facts` :
    `What the sweeps ran on: no difference in ${thousands(rows.length)} facts that are known`),
  element('div', {class: 'scroll'}, plainTable('What the sweeps ran on', ['fact', first.label, source.label],
    differs.length ? differs : rows)));
}

// ---- the section ----

function changeDomain(later, measure) {
  return estimateDomain(later.flatMap((decision) => changesOf(decision).filter((one) => one.measure === measure)
    .map(({change}) => change)), [0]);
}

function buildChanges(page, body) {
  const [first, ...later] = decisionsOf(page);
  const measures = Object.keys(CHANGE_MEASURES).filter((measure) => later.some((decision) =>
    changesOf(decision).some((one) => one.measure === measure)));
  const tables = element('div', {});
  const chosen = () => measures.find((measure) => measure === page.state.get('changes.measure')) || measures[0];
  const buttons = measures.map((measure) => element('button', {type: 'button', class: 'button',
    onclick: () => page.state.set({'changes.measure': measure})}, CHANGE_MEASURES[measure].name));
  const update = () => {
    buttons.forEach((button, i) => button.setAttribute('aria-pressed', String(measures[i] === chosen())));
    const domain = changeDomain(later, chosen());
    clear(tables).append(...later.map((decision) => element('div', {class: 'change-of'},
      element('h3', {class: 'elide'}, `${first.label} → ${decision.label}`),
      changeTable(first, decision, chosen(), domain),
      element('p', {class: 'note'}, missingNote(first, decision)))));
  };
  if (page.front.facts.gate) body.append(sweepGate(page.front.facts.gate));
  if (!measures.length) {
    body.append(element('p', {class: 'empty'}, 'The sweeps have no measured setting in common: nothing to compare.'));
  } else {
    body.append(element('p', {class: 'note'}, 'More is worse. Intervals are those of each comparison alone; p is ' +
      'corrected for all comparisons of the measure. Changes of bandwidths are in the sheet sweep_changes.'),
    element('p', {class: 'toolbar'}, element('span', {class: 'segmented'}, buttons)), tables);
    page.state.on(['changes.measure'], update);
    update();
  }
  body.append(...later.map((decision) => machines(decision, first)).filter(Boolean));
}

export const changesSection = {
  id: 'changes',
  title: 'What changed',
  short: 'Changes',
  needs: (page) => hasDecisions(page) && decisionsOf(page).length > 1,
  build: buildChanges,
};
