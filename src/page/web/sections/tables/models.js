// The tables of kernels and of ops: GPU work of the chosen range, with what the sheets know about it.

import {percent, time} from '../../format.js';
import {readPartKey} from '../../names.js';
import {categoryOf} from '../../work.js';
import {kernelDetails, opDetails} from './details.js';
import {groupByKernel, groupByOp, modulePath, opIds} from './groups.js';
import {RooflineCells} from './roofline_cells.js';

// All GPU time of the trace or range, also what belongs to no row.
function totalNs(work) {
  return work.ns.reduce((sum, ns) => sum + ns, 0);
}

// `count` is the number that the table counts by, {name of a group's number, title, help}.
function timeColumns(groups, total, count) {
  const cells = (get) => Float64Array.from(groups, get);
  return [
    {key: 'ns', aliases: ['time', 'total'], title: 'Time', kind: 'time',
      help: 'sum of the durations on the GPU', cells: cells((g) => g.ns)},
    {key: 'share', aliases: ['pct'], title: 'Share', kind: 'share',
      help: 'of all GPU time of the trace or of the chosen range', cells: cells((g) => g.ns / total)},
    {key: 'count', aliases: ['n', 'calls'], title: count.title, kind: 'count', help: count.help,
      cells: cells((g) => g[count.name])},
    {key: 'mean', aliases: ['dur', 'duration'], title: 'Mean', kind: 'time',
      help: `time divided by ${count.title.toLowerCase()}`,
      cells: cells((g) => (g[count.name] ? g.ns / g[count.name] : NaN))},
  ];
}

export const EVENT_COUNT = {name: 'count', title: 'Count', help: 'kernels, copies and memsets on the GPU'};
export const CALL_COUNT = {name: 'opCalls', title: 'Calls',
  help: 'calls of the op; in a chosen range, those whose first GPU work is in it'};

// What the other sections have chosen, as conditions on rows. hits(call, kernel) is the row that evidence is about.
export function followed(page, model, ways) {
  model.follow = () => followState(page, model, ways); // again after the state has changed
  model.follow();
}

function followState(page, model, {categoryOf, textOf, hits}) {
  const chosen = page.state.get('category');
  const category = chosen && readPartKey(chosen).kind === 'category' ? chosen : null;
  const search = (page.state.get('search') || '').toLowerCase();
  const marked = markedRows(page, model, hits);
  model.test = category || search ? (row) => (!category || categoryOf(row) === category) &&
    (!search || textOf(row).toLowerCase().includes(search)) : null;
  model.isMarked = (row) => marked.has(row);
  model.firstMarked = () => (marked.size ? model.idOf(Math.min(...marked)) : null);
}

function markedRows(page, model, hits) {
  const finding = page.state.getNumber('finding');
  const evidence = page.source(0).table('page_evidence');
  const found = new Set();
  if (finding === null || !evidence) return found;
  const [findings, calls, kernels] = ['finding', 'call', 'kernel'].map((name) => evidence.column(name));
  for (let i = 0; i < evidence.rows; i++) {
    if (findings[i] !== finding || (Number.isNaN(calls[i]) && Number.isNaN(kernels[i]))) continue;
    const row = hits(calls[i], kernels[i]);
    if (row >= 0) found.add(row);
  }
  return found;
}

// The time of the rows that are shown.
function timeNote(page, groups, total, rows) {
  const sum = rows.reduce((ns, row) => ns + groups[row].ns, 0);
  const part = sum < total ? ` (${percent(sum, total)} of all GPU time)` : '';
  const range = page.state.getRange('range') ?
    ' Time, count and mean are those of the chosen range, where events at its ends count in part; min, max ' +
      'and roofline are those of the trace.' : '';
  return `${time(sum)}${part}.${range}`;
}

// Where an empty table has no rows.
function placeOf(page) {
  return page.state.getRange('range') ? ' in the chosen range' : ' in this trace';
}

// Rows by the ids of their groups.
function rowFinder(groups) {
  const rows = new Map(groups.map((group, row) => [String(group.id), row]));
  return (id) => rows.get(String(id)) ?? -1;
}

export function kernelModel(page) {
  const source = page.source(0);
  const kernels = source.table('page_kernels');
  const calls = source.has('page_calls') ? source.table('page_calls') : null;
  const work = page.work(0) || {ns: []};
  const groups = groupByKernel(work);
  const total = totalNs(work);
  const cell = (name) => groups.map((group) => kernels.column(name)[group.id]);
  const ofCall = (name) => groups.map((group) => {
    const call = group.calls.key();
    return calls && !Number.isNaN(call) ? calls.get(name, call) : null;
  });
  const [name, category] = [cell('name'), cell('category')];
  const model = {
    noun: 'kernels, copies and memsets', rows: groups.length, sort: '-ns',
    shown: ['name', 'category', 'ns', 'share', 'count', 'mean', 'min', 'max'],
    columns: [
      {key: 'name', aliases: ['kernel'], title: 'Kernel', kind: 'name', isName: true, cells: name,
        shorts: cell('short'), help: 'short name; the full one is in the tooltip, in copies and in the details'},
      {key: 'category', aliases: ['cat'], title: 'Category', kind: 'category', cells: category},
      ...timeColumns(groups, total, EVENT_COUNT),
      {key: 'min', title: 'Min', kind: 'time', cells: cell('min_ns'), help: 'shortest one of the trace'},
      {key: 'max', title: 'Max', kind: 'time', cells: cell('max_ns'), help: 'longest one of the trace'},
      ...(calls ? [
        {key: 'op', title: 'Op', kind: 'text', cells: ofCall('op'), help: 'the op that launched most of its time'},
        {key: 'shapes', title: 'Shapes', kind: 'text', cells: ofCall('shapes'), help: 'input shapes of that op'},
        {key: 'python', title: 'Python', kind: 'text', cells: ofCall('python'),
          help: 'where in the program, of that op'},
      ] : []),
    ],
    idOf: (row) => groups[row].id, rowOf: rowFinder(groups),
    current: () => page.state.getNumber('kernel'),
    select: (row) => page.state.set({kernel: groups[row].id}),
    details: (row) => kernelDetails(page, groups[row]), place: placeOf(page),
    note: (rows) => timeNote(page, groups, total, rows),
  };
  followed(page, model, {categoryOf: (row) => category[row], textOf: (row) => name[row] ?? '',
    hits: (call, kernel) => (Number.isNaN(kernel) ? -1 : model.rowOf(kernel))});
  return model;
}

function opColumns(source, groups, total) {
  const [calls, kernels] = [source.table('page_calls'), source.table('page_kernels')];
  const ofCall = (name) => groups.map((group) => calls.get(name, group.calls.key()));
  const ofKernel = (name) => groups.map((group) => kernels.get(name, group.kernels.key()));
  const [sum, share, count, mean] = timeColumns(groups, total, CALL_COUNT);
  return [
    {key: 'op', aliases: ['name'], title: 'Op', kind: 'name', isName: true,
      cells: groups.map((group) => calls.get('op', group.id))},
    {key: 'shapes', aliases: ['dims'], title: 'Shapes', kind: 'name', help: 'input shapes',
      cells: groups.map((group) => calls.get('shapes', group.id))},
    {key: 'category', aliases: ['cat'], title: 'Category', kind: 'category', help: 'of the kernel with the most time',
      cells: groups.map((group) => categoryOf(source, group.calls.key(), group.kernels.key()))},
    sum, share, count, mean,
    {key: 'kernels', title: 'Kernels', kind: 'count', help: EVENT_COUNT.help,
      cells: Float64Array.from(groups, (group) => group.count)},
    ...new RooflineCells(source).columns(groups),
    {key: 'kernel', title: 'Kernel', kind: 'text', cells: ofKernel('name'), shorts: ofKernel('short'),
      help: 'the one with the most time'},
    {key: 'module', title: 'Module', kind: 'text', help: 'of the calls with the most time',
      cells: groups.map((group) => modulePath(source, group.calls.key()))},
    {key: 'python', title: 'Python', kind: 'text', cells: ofCall('python'),
      help: 'where in the program, of the calls with the most time'},
    {key: 'runtime', title: 'Launched by', kind: 'text', cells: ofCall('runtime')},
  ];
}

export function opModel(page) {
  const source = page.source(0);
  const ids = opIds(source.table('page_calls'));
  const work = page.work(0) || {ns: []};
  const groups = groupByOp(work, ids);
  const total = totalNs(work);
  const columns = opColumns(source, groups, total);
  const cellsOf = (key) => columns.find((column) => column.key === key).cells;
  const hasRoofline = columns.some(({key}) => key === 'roofline');
  const chosen = () => {
    const call = page.state.getNumber('call');
    return call === null ? null : ids[call] ?? null;
  };
  const model = {
    noun: 'ops with their shapes', rows: groups.length, sort: '-ns', columns,
    shown: ['op', 'shapes', 'category', 'ns', 'share', 'count',
      ...(hasRoofline ? ['tflops', 'roofline'] : ['mean', 'kernel'])],
    idOf: (row) => groups[row].id, rowOf: rowFinder(groups), current: chosen,
    select: (row) => page.state.set({call: groups[row].calls.key()}),
    details: (row) => opDetails(page, groups[row], ids), place: placeOf(page),
    note: (rows) => timeNote(page, groups, total, rows),
  };
  followed(page, model, {categoryOf: (row) => cellsOf('category')[row], textOf: (row) => cellsOf('op')[row] ?? '',
    hits: (call) => (Number.isNaN(call) ? -1 : model.rowOf(ids[call]))});
  return model;
}
