// Which axes matter: their shares of the variation, the mean step time per value of each, and per pair of values of two
// axes as a heat map.

import {tipContent} from '../../chart.js';
import {clear, element, svg} from '../../dom.js';
import {thousands} from '../../format.js';
import {decisionsOf, estimateDomain, exactCell, hasDecisions, msTicks, plainTicks, probability} from './decision.js';
import {quantity, readEffects, readMeans, signedPercent, stepInterval, stepTime, SURE_BELOW} from './decision.js';
import {heatLegend, heatTable} from './heat_table.js';
import {PLOT_HEIGHT, plotTable} from './plot_table.js';

const HEAT_CELLS = 4096; // of a pair of axes; larger ones have no table
const NAMED_FROM_PERCENT = 0.1;
const AXIS_LETTERS_SHOWN = 40;

function shortValue(text) {
  const letters = [...text];
  return letters.length > AXIS_LETTERS_SHOWN ? `${letters.slice(0, AXIS_LETTERS_SHOWN - 1).join('')}…` : text;
}

function meansOf(decision) {
  if (!decision.means) decision.means = readMeans(decision);
  return decision.means;
}

function hasEffects(page) {
  return hasDecisions(page) && decisionsOf(page).some((decision) => meansOf(decision).length > 0);
}

// ---- shares of the variation ----

function drawShare({share, isSure}, x) {
  if (!Number.isFinite(share)) return null;
  const from = x(0);
  return svg('rect', {class: `share${isSure ? ' sure' : ''}`, x: `${from}%`, width: `${Math.max(0, x(share) - from)}%`,
    y: 4, height: PLOT_HEIGHT - 8});
}

function sharesTable(decision, domain) {
  const effects = readEffects(decision);
  if (!effects.length) return null;
  const rows = effects.map(({term, share, freedom, f, p, against}) => ({
    cells: [{text: shortValue(term), title: term, isHead: true, class: 'setting'},
      exactCell(quantity(share, '%'), share, '%'),
      exactCell(quantity(f), f), thousands(freedom), exactCell(probability(p), p),
      {text: !Number.isFinite(p) ? '' : p < SURE_BELOW ? 'more than noise' : 'may be noise', title: against &&
        `compared with ${against}`}],
    mark: {share: Math.max(0, share), isSure: p < SURE_BELOW}, data: {term}}));
  return plotTable({caption: `Effects of the axes in ${decision.label}`, rows, domain,
    ticks: plainTicks(domain, 4, ' %'), draw: drawShare, plotTitle: 'share of the variation',
    heads: ['axis or pair', 'share ', 'F ', 'degrees of freedom ', 'p ', '']});
}

// ---- one axis ----

function mainRows(decision, axis) {
  const means = meansOf(decision).filter((one) => one.other === null && one.axis === axis.number);
  const least = means.reduce((low, {step}) => Math.min(low, step.value), Infinity);
  return means.map(({place, settings, step}) => ({
    cells: [{text: shortValue(axis.values[place]), title: axis.values[place], isHead: true, class: 'setting'},
      exactCell(stepTime(step.value), step.value, 'ms'),
      {text: stepInterval(step), title: `${step.low} to ${step.high} ms`},
      exactCell(step.value === least ? 'least' : signedPercent(100 * (step.value / least - 1)),
        100 * (step.value / least - 1), '%'), thousands(settings)],
    mark: {estimate: step, kind: step.value === least ? 'best' : 'slower'}, data: {value: axis.values[place]},
    tip: () => tipContent(`${axis.name}=${axis.values[place]}`, [['mean step time', stepTime(step.value)],
      ['95 % interval', stepInterval(step)], ['settings', thousands(settings)]])}));
}

function mainEffects(decision, domain) {
  const tables = decision.varying.map((axis) => {
    const rows = mainRows(decision, axis);
    return rows.length > 0 && element('div', {class: 'main-effect', dataset: {axis: axis.name}},
      element('h3', {class: 'elide', title: axis.name}, shortValue(axis.name)),
      plotTable({caption: `Mean step time by ${axis.name}`, rows, domain, ticks: msTicks(domain, 5), most: 16,
        heads: [`${shortValue(axis.name)}${axis.numeric ? ' ' : ''}`, 'mean ', '95 % interval ', 'more ', 'settings '],
        plotTitle: 'mean step time'}));
  });
  return element('div', {class: 'columns main-effects'}, tables);
}

// ---- two axes ----

// The pairs of axes that have cells in any sweep: [first, second] by name, because sweeps may have different axes.
function axisPairs(page) {
  const pairs = new Map();
  for (const {varying} of decisionsOf(page)) {
    varying.forEach((first, i) => varying.slice(i + 1).forEach((second) => {
      pairs.set(JSON.stringify([first.name, second.name]), [first.name, second.name]);
    }));
  }
  return [...pairs.values()];
}

// The cells of a pair in one sweep, by 'value 1' and 'value 2'; null if the sweep does not have both axes.
function cellsOfPair(decision, [first, second]) {
  const axes = [first, second].map((name) => decision.varying.find((axis) => axis.name === name));
  if (!axes[0] || !axes[1]) return null;
  const cells = new Map();
  for (const one of meansOf(decision)) {
    if (one.axis !== axes[0].number || one.other !== axes[1].number) continue;
    cells.set(JSON.stringify([axes[0].values[one.place], axes[1].values[one.otherPlace]]), one);
  }
  return {axes, cells, decision};
}

// Values of an axis in all sweeps, in the order of the first one that has them.
function sharedValues(grids, at) {
  return [...new Set(grids.flatMap(({axes}) => axes[at].values))];
}

// The geometric mean of the step times of the first sweep: what colours are about.
function referenceStep({measured}) {
  if (!measured.length) return NaN;
  return Math.exp(measured.reduce((sum, {step}) => sum + Math.log(step.value), 0) / measured.length);
}

function pairTable(grid, grids, reference, most) {
  const [first, second] = grid.axes;
  const [rows, columns] = [sharedValues(grids, 0), sharedValues(grids, 1)];
  const isLater = grid !== grids[0];
  const least = [...grid.cells.values()].reduce((low, {step}) => Math.min(low, step.value), Infinity);
  const cell = (value, other) => {
    const key = JSON.stringify([value, other]);
    const one = grid.cells.get(key);
    const before = isLater ? grids[0].cells.get(key) : null;
    if (!one) return {text: null, title: `${first.name}=${value} ${second.name}=${other}: not measured`};
    const relative = 100 * (one.step.value / (before ? before.step.value : reference) - 1);
    return {text: stepTime(one.step.value), detail: isLater && !before ? 'new' : signedPercent(relative),
      share: Math.log(one.step.value / reference) / most, isFirst: one.step.value === least,
      title: `${first.name}=${value} ${second.name}=${other}: ${one.step.value} ms, 95 % interval ` +
        `${stepInterval(one.step)}, mean of ${thousands(one.settings)} ${one.settings === 1 ? 'setting' : 'settings'}`};
  };
  return element('figure', {class: 'heat-figure', dataset: {sweep: grid.decision.label}},
    grids.length > 1 && element('figcaption', {class: 'elide strong', title: grid.decision.label}, grid.decision.label),
    heatTable({corner: `${shortValue(first.name)} ↓ ${shortValue(second.name)} →`,
      caption: `Mean step time by ${first.name} and ${second.name}`,
      columns: columns.map((text) => ({text: shortValue(text), title: text})),
      rows: rows.map((value) => ({head: shortValue(value), title: value,
        cells: columns.map((other) => cell(value, other))}))}));
}

function pairNote(grids, decision, pair) {
  const others = decision.varying.filter(({name}) => !pair.includes(name)).map(({name}) => name);
  const counts = new Set(grids.flatMap(({cells}) => [...cells.values()].map(({settings}) => settings)));
  const each = counts.size === 1 ? thousands([...counts][0]) : `${thousands(Math.min(...counts))} to ` +
    `${thousands(Math.max(...counts))}`;
  return element('p', {class: 'note'}, others.length ?
    `Each cell is the mean over ${others.map(shortValue).join(', ')}: geometric mean of ${each} settings. ` :
    'Each cell is one setting. ',
  'The second number is the difference to the mean of all settings',
  grids.length > 1 && ` of ${grids[0].decision.label}; in the other sweeps, that to the same cell of ` +
    grids[0].decision.label, '. The outlined cell is the fastest.',
  grids.length > 1 && ' All maps have the same colour scale.');
}

function drawPair(page, body, pair) {
  const grids = decisionsOf(page).map((decision) => cellsOfPair(decision, pair)).filter(Boolean);
  clear(body);
  const size = sharedValues(grids, 0).length * sharedValues(grids, 1).length;
  if (size > HEAT_CELLS || !grids.some(({cells}) => cells.size)) {
    body.append(element('p', {class: 'empty'}, `${thousands(size)} pairs of values are too many for a map.`));
    return;
  }
  const reference = referenceStep(grids[0].decision);
  const most = grids.reduce((high, {cells}) => [...cells.values()].reduce((top, {step}) =>
    Math.max(top, Math.abs(Math.log(step.value / reference))), high), 1e-6);
  const end = (sign) => signedPercent(100 * (Math.exp(sign * most) - 1));
  body.append(element('div', {class: 'heat-figures'}, grids.map((grid) =>
    pairTable(grid, grids, reference, most))),
  heatLegend([`${end(-1)}, faster`, `${end(1)}, slower`]), pairNote(grids, grids[0].decision, pair));
}

function heatMaps(page, body) {
  const pairs = axisPairs(page);
  if (!pairs.length) {
    body.append(element('p', {class: 'note'}, 'Only one axis has several values, so there is no interaction to show.'));
    return;
  }
  const names = pairs.map((pair) => pair.map(shortValue).join(' and '));
  const map = element('div', {class: 'heat-map'});
  const chosen = () => {
    const at = page.state.getNumber('effects.pair');
    return Number.isInteger(at) && pairs[at] ? at : 0;
  };
  const select = element('select', {class: 'button', 'aria-label': 'pair of axes',
    onchange: (event) => page.state.set({'effects.pair': event.target.value})},
  names.map((name, i) => element('option', {value: i}, name)));
  const update = () => {
    select.value = String(chosen());
    drawPair(page, map, pairs[chosen()]);
  };
  body.append(element('h3', {}, 'Two axes together'),
    pairs.length > 1 ? element('p', {class: 'toolbar'}, element('label', {}, 'Axes ', select)) :
      element('p', {class: 'note'}, names[0]), map);
  page.state.on(['effects.pair'], update);
  update();
}

// ---- the section ----

// One sentence: what matters, what may be noise. With many repeats, effects are more than noise that no one would
// notice.
function effectsSentence(decision) {
  const effects = readEffects(decision).filter(({p}) => Number.isFinite(p));
  if (!effects.length) return 'There is no noise to compare the effects with: no p-values.';
  const sure = effects.filter(({p}) => p < SURE_BELOW).sort((a, b) => b.share - a.share);
  if (!sure.length) return 'No axis has an effect that is more than noise.';
  const part = ({term, share}) => `${shortValue(term)} (${quantity(share)} %)`;
  const named = sure.filter(({share}, i) => i === 0 || share >= NAMED_FROM_PERCENT);
  const others = (count, what) => (count ? `; ${thousands(count)} ${what}` : '');
  const [tiny, rest] = [sure.length - named.length, effects.length - sure.length];
  return `Shares of the variation that are more than noise: ${named.map(part).join(', ')}` +
    others(tiny, `more below ${NAMED_FROM_PERCENT} %`) +
    `${others(rest, `${rest === 1 ? 'effect' : 'effects'} may be noise`)}.`;
}

function buildEffects(page, body) {
  const decisions = decisionsOf(page);
  const shareDomain = [0, Math.max(10, ...decisions.flatMap((one) => readEffects(one).map(({share}) => share || 0)))];
  const stepDomain = estimateDomain(decisions.flatMap((one) => meansOf(one)
    .filter(({other}) => other === null).map(({step}) => step)));
  for (const decision of decisions) {
    const shares = sharesTable(decision, shareDomain);
    body.append(element('div', {class: 'effects-of'},
      decisions.length > 1 && element('h3', {class: 'elide sweep-name', title: decision.label}, decision.label),
      element('p', {}, effectsSentence(decision)),
      decision.facts.balanced ? '' : element('p', {class: 'note'}, 'The sweep is unbalanced: settings are missing or ' +
        'have different numbers of measurements. Shares are what an axis explains beyond all others; they need not ' +
        'add up to 100 %.'),
      shares || element('p', {class: 'note'}, 'Too few settings for an analysis of variance.'),
      mainEffects(decision, stepDomain)));
  }
  body.append(element('p', {class: 'note'}, 'Means are geometric means over all settings with the value; their 95 % ' +
    'intervals follow from the noise of the measurements. "More" is the difference to the value with the least mean. ' +
    `${decisions.length > 1 ? 'All sweeps have the same scales.' : 'All axes have the same scale.'}`));
  heatMaps(page, body);
}

export const effectsSection = {
  id: 'effects',
  title: 'Which axes matter',
  short: 'Effects',
  needs: hasEffects,
  build: buildEffects,
};
