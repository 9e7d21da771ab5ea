// Where the time of the GPU goes in each setting: the mean timelines that `sweep timeline` found, as bars on one scale.

import {tipContent} from '../../chart.js';
import {categoryColor, themeColor} from '../../colors.js';
import {clear, element} from '../../dom.js';
import {percent} from '../../format.js';
import {legend} from '../../legend.js';
import {decisionsOf, exactCell, hasDecisions, msTicks, readTimelines} from './decision.js';
import {signedPercent, sinceColumn, stepTime} from './decision.js';
import {drawParts, plotTable} from './plot_table.js';
import {settingCells, settingHeads} from './recommend.js';

const ALL_TIMELINE_PARTS = [['computation', 'computation', 'GEMM'], ['communication', 'exposed communication',
  'communication'], ['copies', 'exposed copies', 'copy'], ['idle', 'idle', '--line-strong']];

function timelineColor([, , name]) {
  return name.startsWith('--') ? themeColor(name) : categoryColor(name);
}

function timelinesOf(decision) {
  if (!decision.timelines) decision.timelines = readTimelines(decision);
  return decision.timelines;
}

function hasTimelines(page) {
  return hasDecisions(page) && decisionsOf(page).some((decision) => timelinesOf(decision).length > 0);
}

// Parts that any setting has.
function timelineParts(page) {
  const lines = decisionsOf(page).flatMap(timelinesOf);
  return ALL_TIMELINE_PARTS.filter(([key]) => lines.some((line) => line[key] > 0));
}

function timelineTable(page, decision, most) {
  const parts = timelineParts(page);
  const lines = timelinesOf(decision);
  const first = settingHeads(decision);
  const base = lines[0];
  const before = new Map(timelinesOf(decisionsOf(page)[0]).map((line) => [line.setting, line.total]));
  const since = sinceColumn(page, decision, ({row}) => before.get(row) ?? NaN);
  const rows = lines.map((line) => {
    const setting = decision.settings[line.setting];
    return {
      cells: [...settingCells(decision, setting), exactCell(stepTime(line.total), line.total, 'ms'),
        ...since.cells(setting, line.total), line === base ? '–' :
          exactCell(signedPercent(100 * (line.total / base.total - 1)), 100 * (line.total / base.total - 1), '%'),
        ...parts.map(([key]) => exactCell(stepTime(line[key]), line[key], 'ms'))],
      mark: {parts: parts.map((part) => ({size: Math.max(0, line[part[0]]) || 0, css: timelineColor(part),
        name: part[0]}))},
      data: {setting: setting.name},
      tip: () => tipContent(setting.text, [['total', stepTime(line.total)], ...parts.map(([key, name]) =>
        [name, `${stepTime(line[key])}, ${percent(line[key], line.total)}`])])};
  });
  const domain = [0, most];
  return element('div', {}, decisionsOf(page).length > 1 &&
    element('h3', {class: 'elide sweep-name', title: decision.label}, decision.label),
  plotTable({caption: `GPU timelines of ${decision.label}`, rows, domain, ticks: msTicks(domain, 4), draw: drawParts,
    heads: [...first, 'total ', ...since.heads, 'more than the fastest ', ...parts.map(([, name]) => `${name} `)],
    plotAt: first.length, plotTitle: 'mean time per rank'}));
}

function buildTimelines(page, body) {
  const decisions = decisionsOf(page).filter((decision) => timelinesOf(decision).length);
  const most = decisions.flatMap(timelinesOf).reduce((high, {total}) => Math.max(high, total), 1e-6);
  const tables = element('div', {});
  const draw = () => clear(tables).append(legend(timelineParts(page).map((part) => ({label: part[1],
    css: timelineColor(part)}))), ...decisions.map((decision) => timelineTable(page, decision, most)));
  draw();
  page.state.on(['theme'], draw);
  body.append(element('p', {class: 'note'}, 'Whole traces, means over ranks and repeats, from ' +
    'gpu_timeline_all_configs_mean.xlsx. Settings are in the order of their step times.'), tables);
}

export const timelinesSection = {
  id: 'timelines',
  title: 'Where the time of the GPU goes',
  short: 'Timelines',
  needs: hasTimelines,
  build: buildTimelines,
};
