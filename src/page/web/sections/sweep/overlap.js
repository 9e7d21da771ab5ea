// How much longer GEMMs take while a collective runs, per setting and shape: a map of all, and one GEMM with its
// intervals.

import {tipContent} from '../../chart.js';
import {clear, element} from '../../dom.js';
import {shorten, thousands} from '../../format.js';
import {decisionsOf, estimateDomain, exactCell, factor, hasDecisions, plainTicks, quantity} from './decision.js';
import {readOverlap, signedPercent, sinceColumn, stepTime} from './decision.js';
import {heatLegend, heatTable} from './heat_table.js';
import {plotTable} from './plot_table.js';
import {settingCells, settingHeads} from './recommend.js';

const OVERLAP_COLUMNS = 6;
const OVERLAP_ROWS = 40;

function overlapOf(decision) {
  if (!decision.overlap) decision.overlap = readOverlap(decision);
  return decision.overlap;
}

function hasOverlap(page) {
  return hasDecisions(page) && decisionsOf(page).some((decision) => overlapOf(decision).rows.length > 0);
}

// GEMMs of all sweeps, equal ones once, in the order of their costs.
function sharedGemms(page) {
  const gemms = new Map();
  for (const decision of decisionsOf(page)) {
    for (const gemm of overlapOf(decision).gemms) gemms.set(JSON.stringify(gemm), gemm);
  }
  return [...gemms.values()];
}

function gemmLabel({kernel, op, shape}) {
  return [op, shape, kernel].filter(Boolean).join(' ');
}

// The rows of one GEMM by setting.
function rowsOfGemm(decision, gemm) {
  const {gemms, rows} = overlapOf(decision);
  const at = gemms.findIndex((one) => JSON.stringify(one) === JSON.stringify(gemm));
  return new Map(rows.filter((row) => row.gemm === at).map((row) => [row.setting, row]));
}

// ---- all GEMMs ----

function slowdownMap(page, decision, gemms, most) {
  const columns = gemms.slice(0, OVERLAP_COLUMNS);
  const byGemm = columns.map((gemm) => rowsOfGemm(decision, gemm));
  const cell = (value, title) => (Number.isFinite(value) ? {text: factor(value), title,
    share: (value - 1) / most} : {text: null, title: 'no call of it both with and without a collective'});
  const settings = decision.measured.slice(0, OVERLAP_ROWS);
  const rows = settings.map((setting) => ({head: setting.text, title: setting.name, cells: [
    cell(setting.slowdown, `all GEMMs: ${setting.slowdown}`),
    ...byGemm.map((one, i) => cell(one.get(setting.row)?.slowdown.value, `${gemmLabel(columns[i])}: ` +
      `${one.get(setting.row)?.slowdown.value}`))]}));
  return element('figure', {class: 'heat-figure', dataset: {sweep: decision.label}},
    decisionsOf(page).length > 1 &&
      element('figcaption', {class: 'elide strong', title: decision.label}, decision.label),
    heatTable({corner: 'setting', caption: `GEMM slowdown of ${decision.label}`, rows, columns: [
      {text: 'all GEMMs', title: 'all GEMMs together, by what they cost'},
      ...columns.map((gemm) => ({text: shorten(gemm.shape || gemm.kernel, 34), title: gemmLabel(gemm)}))]}),
    decision.measured.length > settings.length && element('p', {class: 'note'},
      `The ${settings.length} fastest of ${thousands(decision.measured.length)} settings.`));
}

// ---- one GEMM ----

function slowdownRows(decision, gemm, since) {
  const rows = rowsOfGemm(decision, gemm);
  const fastest = rows.get(decision.measured[0]?.row);
  return decision.settings.filter(({row}) => rows.has(row)).map((setting) => {
    const one = rows.get(setting.row);
    const base = fastest?.slowdown.value;
    const {low, high} = one.slowdown;
    const interval = Number.isFinite(low) ? `${factor(low)} to ${factor(high)}` : '–';
    return {
      cells: [...settingCells(decision, setting), exactCell(factor(one.slowdown.value), one.slowdown.value),
        {text: interval, title: `${low} to ${high}`}, ...since.cells(setting, one.slowdown.value),
        setting.row === decision.measured[0]?.row ? '–' : exactCell(
          signedPercent(100 * (one.slowdown.value / base - 1)), 100 * (one.slowdown.value / base - 1), '%'),
        exactCell(quantity(one.without, 'µs'), one.without, 'µs'),
        exactCell(quantity(one.during, 'µs'), one.during, 'µs'),
        exactCell(stepTime(one.cost), one.cost, 'ms'), `${thousands(one.calls[1])} / ${thousands(one.calls[0])}`],
      mark: {estimate: one.slowdown, kind: setting.row === 0 ? 'best' : 'slower'}, data: {setting: setting.name},
      tip: () => tipContent(setting.text, [['with a collective', quantity(one.during, 'µs')],
        ['without', quantity(one.without, 'µs')], ['slowdown', factor(one.slowdown.value)],
        ['95 % interval', interval],
        ['costs per step', stepTime(one.cost)], ['calls with', thousands(one.calls[1])],
        ['calls without', thousands(one.calls[0])], ['calls with a collective for a part', thousands(one.calls[2])]])};
  });
}

function slowdownTable(page, decision, gemm, domain) {
  const before = rowsOfGemm(decisionsOf(page)[0], gemm);
  const since = sinceColumn(page, decision, ({row}) => before.get(row)?.slowdown.value ?? NaN);
  const rows = slowdownRows(decision, gemm, since);
  const first = settingHeads(decision);
  return element('div', {}, decisionsOf(page).length > 1 &&
    element('h3', {class: 'elide sweep-name', title: decision.label}, decision.label),
  rows.length ? plotTable({caption: `Slowdown of ${gemmLabel(gemm)}`, rows, domain, ticks: plainTicks(domain, 5, '×'),
    heads: [...first, 'slowdown ', '95 % interval ', ...since.heads, 'more than the fastest ', 'without ', 'during ',
      'cost per step ', 'calls with / without '],
    plotAt: first.length, plotTitle: 'duration with a collective / without', reference: 1, most: 16}) :
    element('p', {class: 'empty'}, 'This GEMM did not run during a collective.'));
}

function buildOverlap(page, body) {
  const decisions = decisionsOf(page).filter((decision) => overlapOf(decision).rows.length);
  const gemms = sharedGemms(page);
  const values = [...decisions.flatMap((decision) => [...overlapOf(decision).rows.map(({slowdown}) => slowdown.value),
    ...decision.measured.map(({slowdown}) => slowdown)])].filter(Number.isFinite);
  const most = values.reduce((high, value) => Math.max(high, Math.abs(value - 1)), 0.01);
  const isBelow = values.some((value) => value < 0.995);
  const detail = element('div', {class: 'overlap-detail'});
  const chosen = () => {
    const at = page.state.getNumber('overlap.gemm');
    return Number.isInteger(at) && gemms[at] ? at : 0;
  };
  const select = element('select', {class: 'button gemm-chooser', 'aria-label': 'GEMM',
    onchange: (event) => page.state.set({'overlap.gemm': event.target.value})},
  gemms.map((gemm, i) => element('option', {value: i, title: gemmLabel(gemm)}, shorten(gemmLabel(gemm), 120))));
  const update = () => {
    select.value = String(chosen());
    const gemm = gemms[chosen()];
    const domain = estimateDomain(decisions.flatMap((decision) => [...rowsOfGemm(decision, gemm).values()]
      .map(({slowdown}) => slowdown)), [1]);
    clear(detail).append(...decisions.map((decision) => slowdownTable(page, decision, gemm, domain)));
  };
  body.append(element('p', {class: 'note'}, 'Medians of calls of the same kernel, op and shape with a collective on ' +
    'the same GPU for at least half of the call, divided by those without one. GEMMs are in the order of what ' +
    'collectives cost them.'),
  element('div', {class: 'heat-figures'}, decisions.map((decision) => slowdownMap(page, decision, gemms, most))),
  heatLegend([isBelow ? factor(1 - most) : '1×', factor(1 + most)], isBelow ? -1 : 0),
  element('p', {class: 'toolbar'}, element('label', {}, 'One GEMM: ', select)), detail);
  page.state.on(['overlap.gemm'], update);
  update();
}

export const overlapSection = {
  id: 'overlap',
  title: 'What collectives cost GEMMs',
  short: 'Overlap',
  needs: hasOverlap,
  build: buildOverlap,
};
