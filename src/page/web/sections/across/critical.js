// What decided how long the run took: the critical path across all ranks in one sentence, over time, by kind, and as a
// table with the slack of every op.
//
// State: `path.op` is the chosen op (its row in the table), `path.sort` and so on are those of the table.

import {plainTable} from '../../chart.js';
import {clear, element, onceAFrame} from '../../dom.js';
import {percent, thousands, time} from '../../format.js';
import {swatch} from '../../legend.js';
import {Grid} from '../tables/grid.js';
import {asSentence, longestSteps, overviewNumber, overviewText, pathKinds, perOf} from './path.js';
import {readPathOps, readPathSteps} from './path.js';
import {pathCss, PathChart, stressLargestKind} from './path_chart.js';

const PATH_MEANINGS = {
  compute: 'kernels and copies', communication: 'transfers of collectives, without waiting',
  host: 'the GPU had nothing to do because the host was not ready', data: 'the data loader',
  idle: 'gaps on the GPU, and time of which nothing is known',
};

// Whether this is a page of all ranks with rows in a sheet.
export function ranksHave(page, name) {
  return page.front.kind === 'ranks' && page.source(0).has(name);
}

// What the page says about sheets that are too long for it, with a space at the end.
export function cutNotes(page, ...sheets) {
  return (page.front.notes || []).filter((note) => sheets.some((name) => note.startsWith(`The sheet ${name} has `)))
    .map((note) => `${note} `).join('');
}

function kindNumbers(page, kinds) {
  const whole = kinds.reduce((sum, {ns}) => sum + ns, 0);
  const box = element('div', {class: 'beside path-kinds'});
  const heads = ['kind', `per ${perOf(page.source(0))} `, 'share '];
  const fill = () => clear(box).append(plainTable('Critical path by kind', heads, kinds.map(
    ({kind, ns}) => [{text: [swatch(pathCss(kind)), kind], title: PATH_MEANINGS[kind]},
      {text: time(ns), title: `${ns / 1e6} ms`}, percent(ns, whole)])));
  fill();
  page.state.on(['theme'], onceAFrame(fill));
  return box;
}

// How long an op is on the path in each step.
function opDetail(op, steps) {
  const timeIn = (segments) => segments.reduce((sum, one) => (one.key === op.key ? sum + one.to - one.from : sum), 0);
  const times = steps.map(({number, segments}) => ({number, ns: timeIn(segments)})).filter(({ns}) => ns > 0);
  const most = times.slice(0, 24);
  const stepText = ({number, ns}) => `${number === null ? '' : `step ${number}: `}${time(ns)}`;
  return element('div', {class: 'detail-block'}, element('dl', {class: 'facts'}, [
    ['op', element('span', {class: 'name'}, op.op ?? '–')], ['rank', String(op.rank)], ['node', op.node ?? '–'],
    ['kind', `${op.kind}: ${PATH_MEANINGS[op.kind] ?? ''}`],
    ['on the path', times.length ? most.map(stepText).join(', ') + (times.length > most.length ? ' …' : '') :
      'in no step that is shown'],
    ['slack', Number.isFinite(op.slack) ? `${op.slack / 1e6} ms: it could be longer by this before the run is longer` :
      'not known, or no collective waits for it'],
  ].map(([label, value]) => [element('dt', {}, label), element('dd', {}, value)])));
}

function pathModel(page, ops, steps) {
  const per = perOf(page.source(0));
  const cells = (name) => ops.map((op) => op[name]);
  const numbers = (name) => Float64Array.from(ops, (op) => op[name] ?? NaN);
  const onPathOnly = (name) => Float64Array.from(ops, (op) => (op.ns > 0 ? op[name] : NaN));
  const onPath = ops.filter(({ns}) => ns > 0).length;
  return {
    noun: 'ops of ranks', rows: ops.length, sort: null,
    shown: ['rank', 'op', 'kind', 'ns', 'share', 'slack', 'longer', 'node'],
    columns: [
      {key: 'rank', title: 'Rank', kind: 'count', cells: numbers('rank'),
        help: 'of a collective: the rank that came last'},
      {key: 'op', aliases: ['name'], title: 'Op', kind: 'name', isName: true, cells: cells('op')},
      {key: 'kind', title: 'Kind', kind: 'text', cells: cells('kind')},
      {key: 'node', title: 'Node', kind: 'text', cells: cells('node')},
      {key: 'ns', aliases: ['time', 'path'], title: `Per ${per}`, kind: 'time', help: 'on the critical path',
        cells: onPathOnly('ns')},
      {key: 'share', aliases: ['pct'], title: 'Share', kind: 'share', help: 'of the critical path',
        cells: onPathOnly('share')},
      {key: 'longer', title: 'Longer', kind: 'time', cells: numbers('longer'),
        help: `than on the usual rank, per ${per}`},
      {key: 'slack', title: 'Slack', kind: 'time', cells: numbers('slack'),
        help: `by how much it could be longer per ${per} before the run is longer`},
      {key: 'chains', title: 'In all chains', kind: 'time', cells: numbers('chains'),
        help: `its time in all chains that a collective waits for, per ${per}`},
    ],
    idOf: (row) => row, rowOf: (id) => (ops[Number(id)] ? Number(id) : -1),
    current: () => page.state.getNumber('path.op'),
    select: (row) => page.state.set({'path.op': row}),
    details: (row) => opDetail(ops[row], steps),
    note: () => `${thousands(onPath)} on the path, then all others, those with the least slack first.`,
  };
}

function pathNote(page, steps, shown) {
  const left = overviewNumber(page.source(0), 'critical_path_left_out');
  return element('p', {class: 'note'}, shown.length < steps.length &&
    `The ${thousands(shown.length)} longest of ${thousands(steps.length)} steps. `,
  left > 0 && `The path has ${thousands(left)} more segments at its end, which no bar shows; the table has all. `,
  cutNotes(page, 'critical_path', 'slack'), 'Ops of one name between two collectives are one segment. ',
  'The line above a bar names the ranks that the path is on.');
}

function buildPath(page, body) {
  const source = page.source(0);
  const path = source.table('critical_path');
  const ops = readPathOps(path, source.table('slack'));
  const steps = source.has('critical_path_steps') ? readPathSteps(source.table('critical_path_steps')) : [];
  const shown = longestSteps(steps);
  const opOf = new Map(ops.map((op, i) => [op.key, i]));
  const choose = ({key}) => {
    const row = opOf.get(key) ?? null;
    page.state.set({'path.op': page.state.getNumber('path.op') === row ? null : row});
  };
  const said = overviewText(source, 'critical_path');
  if (said) body.append(element('p', {class: 'answer'}, asSentence(said)));
  const kinds = pathKinds(path);
  stressLargestKind(kinds);
  const numbers = kindNumbers(page, kinds);
  if (shown.length) {
    const chart = new PathChart(page, {steps: shown, ops, per: perOf(page.source(0)), choose});
    body.append(element('div', {class: 'with-numbers'}, chart.node, numbers), pathNote(page, steps, shown));
  } else {
    body.append(numbers);
  }
  const grid = new Grid(page, 'path', 'critical path and slack', 'op:mm rank=3 slack<1ms',
    () => pathModel(page, ops, steps));
  page.state.on(['path.op'], grid.refresh);
  body.append(element('h3', {class: 'path-ops'}, 'Ops, and their slack'), grid.node);
  grid.update();
}

export const pathSection = {
  id: 'path',
  title: 'Critical path',
  needs: (page) => ranksHave(page, 'critical_path'),
  build: buildPath,
};
