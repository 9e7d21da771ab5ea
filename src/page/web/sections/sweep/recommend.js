// Which setting to use, how sure that is, how to set it, and all settings by their step time. Of several sweeps, one
// below the other on one scale.

import {element, withBold} from '../../dom.js';
import {shorten, thousands} from '../../format.js';
import {copyButton} from '../../output.js';
import {tipContent} from '../../chart.js';
import {decisionsOf, estimateDomain, exactCell, factor, hasDecisions, msTicks, percentInterval} from './decision.js';
import {probability, quantity, signedPercent, sinceColumn, standingOf, STANDING_WORDS} from './decision.js';
import {stepInterval, stepTime} from './decision.js';
import {plotTable} from './plot_table.js';

const AXIS_COLUMNS = 4; // of more axes, one column has all values

const SPREAD_WORDS = {repeats: 'repeats', steps: 'steps of one run', ranks: 'ranks of one run', none: 'measurement'};

// Columns that say which setting a row is: one per axis, or one for all.
export function settingHeads({varying}) {
  if (varying.length > AXIS_COLUMNS || !varying.length) return ['setting'];
  return varying.map(({name, numeric}) => `${shorten(name, 24)}${numeric ? ' ' : ''}`);
}

export function settingCells({varying}, setting) {
  const cell = (text, title) => ({text, title, class: 'setting', isHead: true});
  if (varying.length > AXIS_COLUMNS || !varying.length) return [cell(setting.text, setting.name)];
  return varying.map(({number}) => cell(setting.values[number] ?? '–', setting.name));
}

function standingMark(standing) {
  return element('span', {class: `standing ${standing}`}, STANDING_WORDS[standing]);
}

function settingTip(decision, setting) {
  return () => tipContent(setting.text, [
    ['step time', stepTime(setting.step.value)], ['95 % interval', stepInterval(setting.step)],
    ['made of', Number.isFinite(setting.measurements) ?
      `${thousands(setting.measurements)} ${SPREAD_WORDS[decision.facts.spread]}` : null],
    ['slower than the fastest', setting.row ? signedPercent(setting.difference.value) : null],
    ['p, this comparison alone', setting.row ? probability(setting.single) : null],
    ['p, corrected', setting.row ? probability(setting.p) : null],
    ['compared with the baseline', signedPercent(setting.toBaseline.value)],
    ['exposed communication', stepTime(setting.exposed)], ['GEMMs', stepTime(setting.gemm)],
    ['GEMM slowdown', factor(setting.slowdown)], ['bus bandwidth', quantity(setting.bus, 'GB/s')],
    ['outcome', setting.status]]);
}

// What is shown in addition to the step time; columns that no setting has a number for are left out.
function figureColumns({facts, settings}) {
  const all = [
    {head: 'exposed comm. ', key: 'exposed', unit: 'ms', show: stepTime},
    {head: 'GEMM slowdown ', key: 'slowdown', unit: '', show: factor},
    {head: 'bus ', key: 'bus', unit: 'GB/s', show: (value) => quantity(value, 'GB/s')},
  ].filter(({key}) => settings.some((setting) => Number.isFinite(setting[key])));
  const columns = all.map(({head, key, unit, show}) => ({head,
    cell: (setting) => exactCell(show(setting[key]), setting[key], unit)}));
  if (facts.baseline_given) {
    columns.unshift({head: 'to baseline ', cell: ({toBaseline}) => ({
      ...exactCell(signedPercent(toBaseline.value), toBaseline.value, '%'),
      title: `95 % interval ${percentInterval(toBaseline)}`})});
  }
  if (settings.some(({status}) => status)) columns.push({head: 'outcome', cell: ({status}) => status ?? ''});
  return columns;
}

function rankingTable(page, decision, domain) {
  const {settings, facts} = decision;
  const figures = figureColumns(decision);
  const since = sinceColumn(page, decision, ({step}) => step.value);
  const first = settingHeads(decision);
  const difference = ({difference: {value}, row}) => (row && Number.isFinite(value) ?
    {...exactCell(signedPercent(value), value, '%')} : '–');
  const rows = settings.map((setting) => {
    const standing = standingOf(decision, setting);
    const isBaseline = setting.row === facts.baseline && facts.measured > 1;
    return {
      cells: [{text: thousands(setting.row + 1)}, ...settingCells(decision, setting),
        exactCell(stepTime(setting.step.value), setting.step.value, 'ms'),
        {text: stepInterval(setting.step), title: `${setting.step.low} to ${setting.step.high} ms`},
        ...since.cells(setting, setting.step.value),
        difference(setting), {text: setting.row ? percentInterval(setting.difference) : '–'},
        exactCell(setting.row ? probability(setting.p) : '–', setting.p),
        {text: [standingMark(standing), ' ', isBaseline && element('span', {class: 'standing baseline'},
          facts.baseline_given ? 'baseline' : 'median')]},
        ...figures.map(({cell}) => cell(setting))],
      mark: {estimate: setting.step, kind: standing}, class: standing, data: {setting: setting.name},
      tip: settingTip(decision, setting), isPinned: isBaseline};
  });
  return plotTable({caption: `Settings of ${decision.label} by step time`, rows, domain, ticks: msTicks(domain, 5),
    heads: ['rank ', ...first, 'step time ', '95 % interval ', ...since.heads, 'slower ', '95 % interval ', 'p ', '',
      ...figures.map(({head}) => head)],
    plotAt: 1 + first.length, plotTitle: 'step time', reference: settings[0]?.step.value});
}

function environmentCard({facts}) {
  if (!facts.environment) return null;
  const isBest = facts.candidates === 1 && facts.measured > 1;
  return element('div', {class: 'card environment'},
    element('div', {class: 'row spread'},
      element('h3', {}, isBest ? 'How to set it' : 'How to set the fastest'),
      copyButton('copy the lines', () => `${facts.environment}\n`)),
    element('pre', {class: 'name'}, facts.environment));
}

// The names of settings that cannot be told apart, where there are several.
function candidatesNote(decision) {
  const {facts, settings} = decision;
  if (facts.candidates < 2 || facts.measured < 2) return null;
  const names = settings.filter((setting) => standingOf(decision, setting) === 'candidate').map(({text}) => text);
  const most = 12;
  return element('p', {}, 'These settings cannot be told apart: ',
    names.slice(0, most).map((name, i) => [i > 0 && ', ', element('span', {class: 'name'}, name)]),
    names.length > most && ` and ${thousands(names.length - most)} more`,
    '. The differences between them may be noise; more repeats may tell them apart.');
}

function constantAxes({axes, varying}) {
  const constant = axes.filter((_, number) => !varying.some((axis) => axis.number === number))
    .filter(({values}) => values.length);
  if (!constant.length) return '';
  return `All settings have ${constant.map(({name, values}) =>
    `${shorten(name, 32)}=${shorten(values[0], 32)}`).join(' ')}. `;
}

function rankingNote(decision) {
  const {facts, settings} = decision;
  const unmeasured = facts.settings - facts.measured;
  const failed = settings.filter(({status}) => status && status !== 'SUCCESS').length;
  const spread = {repeats: 'Intervals are made of repeated runs. ',
    steps: 'Intervals are made of the steps of one run, and are too narrow for future runs. ',
    ranks: 'Intervals are made of the ranks of one run, and are too narrow for future runs. ',
    none: 'With one measurement per setting there are no intervals. '}[facts.spread];
  return element('p', {class: 'note'}, constantAxes(decision), spread,
    facts.measured > 1 && 'p is corrected for the number of settings and for the selection of the fastest. ',
    unmeasured > 0 && `${thousands(unmeasured)} ${unmeasured === 1 ? 'setting was' : 'settings were'} not measured. `,
    failed > 0 && `${thousands(failed)} with runs that did not end well are included. `);
}

function recommendation(page, decision, domain) {
  const {facts} = decision;
  const isAlone = decisionsOf(page).length === 1;
  const sentences = element('div', {class: 'advice'},
    !isAlone && element('p', {class: 'large'}, withBold(facts.verdict)),
    facts.worth && element('p', {}, withBold(facts.worth)),
    candidatesNote(decision),
    facts.limits && facts.limits.split('\n').map((line) => element('p', {class: 'limit'}, line)));
  return element('div', {class: 'decision'}, !isAlone && element('h3', {class: 'elide', title: decision.label},
    decision.label), element('div', {class: 'columns answer'}, sentences,
    environmentCard(decision)), rankingTable(page, decision, domain), rankingNote(decision));
}

// One domain for the step times of all sweeps of the page.
function sharedStepDomain(page) {
  return estimateDomain(decisionsOf(page).flatMap(({settings}) => settings.map(({step}) => step)));
}

export const recommendSection = {
  id: 'recommendation',
  title: 'Which setting to use',
  short: 'Recommendation',
  needs: hasDecisions,
  build: (page, body) => body.append(...decisionsOf(page).map((decision) =>
    recommendation(page, decision, sharedStepDomain(page)))),
};
