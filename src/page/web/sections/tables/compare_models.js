// Kernels and ops of two traces side by side: A is the baseline, B the other. The largest differences come first.

import {changeOf, comparedPer, comparedSteps, comparedWork} from '../../compared.js';
import {thousands} from '../../format.js';
import {wholeName} from './body.js';
import {detailBlock} from './details.js';
import {groupByKernel, groupByOp, opIds} from './groups.js';
import {histogramOf} from './histogram.js';
import {CALL_COUNT, EVENT_COUNT, followed} from './models.js';

function pairUp(sides) {
  const pairs = new Map();
  sides.forEach(({groups, keyOf}, side) => {
    for (const group of groups) {
      const key = keyOf(group);
      if (!pairs.has(key)) pairs.set(key, [null, null]);
      pairs.get(key)[side] = group;
    }
  });
  return [...pairs.values()];
}

function pairColumns(page, pairs, count) {
  const steps = comparedSteps(page);
  const value = (pair, side, name) => (pair[side] ? pair[side][name] / (steps ? steps[side] : 1) : 0);
  const cells = (get) => Float64Array.from(pairs, get);
  const delta = (pair, name = 'ns') => value(pair, 1, name) - value(pair, 0, name);
  const per = comparedPer(page);
  return [
    {key: 'a', title: 'A', kind: 'time', help: `time of A ${per}`, cells: cells((pair) => value(pair, 0, 'ns'))},
    {key: 'b', title: 'B', kind: 'time', help: `time of B ${per}`, cells: cells((pair) => value(pair, 1, 'ns'))},
    {key: 'delta', title: 'B − A', kind: 'difference', byAmount: true, help: `what B takes more ${per}`,
      cells: cells((pair) => delta(pair))},
    {key: 'change', title: 'Change', kind: 'change', help: 'difference in percent of A',
      cells: cells((pair) => (pair[1] ? changeOf(value(pair, 0, 'ns'), value(pair, 1, 'ns')) : NaN))},
    {key: 'a_count', title: `A ${count.title.toLowerCase()}`, kind: 'count', help: `of A ${per}: ${count.help}`,
      cells: cells((pair) => value(pair, 0, count.name))},
    {key: 'b_count', title: `B ${count.title.toLowerCase()}`, kind: 'count', help: `of B ${per}: ${count.help}`,
      cells: cells((pair) => value(pair, 1, count.name))},
    {key: 'count_delta', title: `B − A ${count.title.toLowerCase()}`, kind: 'amount', byAmount: true,
      help: `how many more B has ${per}`, cells: cells((pair) => delta(pair, count.name))},
  ];
}

function pairModel(page, pairs, noun, columns, shown, details) {
  const idOf = (row) => pairs[row].map((group) => group?.id ?? '').join('.');
  const rows = new Map(pairs.map((_, row) => [idOf(row), row]));
  const steps = comparedSteps(page);
  const labels = page.front.sources;
  const divided = steps ? `, per step: ${thousands(steps[0])} and ${thousands(steps[1])} steps are counted` : '';
  return {noun, columns, shown, details, sort: '-delta', rows: pairs.length, idOf,
    rowOf: (id) => rows.get(String(id)) ?? -1,
    note: () => `A is ${labels[0]}, B is ${labels[1]}${divided}.`};
}

// Either side's cell of a table, the baseline's first.
function pairCells(page, pairs, name, column, rowOf = (group) => group.id) {
  return pairs.map((pair) => {
    const side = pair[0] ? 0 : 1;
    return page.source(side).table(name).get(column, rowOf(pair[side]));
  });
}

export function kernelPairModel(page) {
  const sides = [0, 1].map((i) => ({groups: groupByKernel(comparedWork(page, i)),
    keyOf: (group) => page.source(i).table('page_kernels').get('name', group.id)}));
  const pairs = pairUp(sides);
  const cells = (column) => pairCells(page, pairs, 'page_kernels', column);
  const [name, short, category] = ['name', 'short', 'category'].map(cells);
  const columns = [
    {key: 'name', aliases: ['kernel'], title: 'Kernel', kind: 'name', isName: true, cells: name, shorts: short},
    {key: 'category', aliases: ['cat'], title: 'Category', kind: 'category', cells: category},
    ...pairColumns(page, pairs, EVENT_COUNT),
  ];
  const model = pairModel(page, pairs, 'kernels, copies and memsets', columns,
    columns.map(({key}) => key).filter((key) => key !== 'count_delta'), (row) => [
    detailBlock('Kernel', wholeName(name[row] ?? '')),
    pairs[row].map((group, side) => group && pairHistogram(page, group, side)),
  ]);
  followed(page, model, {categoryOf: (row) => category[row], textOf: (row) => name[row] ?? '', hits: () => -1});
  return model;
}

function pairHistogram(page, group, side) {
  const kernels = page.source(side).table('page_kernels');
  const [counts, shortest, longest] = ['histogram', 'min_ns', 'max_ns'].map((column) => kernels.get(column, group.id));
  return detailBlock(`Durations in ${'AB'[side]}`, histogramOf(counts, shortest, longest));
}

export function opPairModel(page) {
  const sides = [0, 1].map((i) => {
    const calls = page.source(i).table('page_calls');
    return {groups: groupByOp(comparedWork(page, i), opIds(calls)),
      keyOf: (group) => `${calls.get('op', group.id)}\u0000${calls.get('shapes', group.id) ?? ''}`};
  });
  const pairs = pairUp(sides);
  const [op, shapes] = ['op', 'shapes'].map((column) => pairCells(page, pairs, 'page_calls', column));
  const category = pairCells(page, pairs, 'page_kernels', 'category', (group) => group.kernels.key());
  const columns = [
    {key: 'op', aliases: ['name'], title: 'Op', kind: 'name', isName: true, cells: op},
    {key: 'shapes', aliases: ['dims'], title: 'Shapes', kind: 'name', cells: shapes},
    {key: 'category', aliases: ['cat'], title: 'Category', kind: 'category', cells: category},
    ...pairColumns(page, pairs, CALL_COUNT),
  ];
  const shown = ['op', 'shapes', 'a', 'b', 'delta', 'change', 'a_count', 'b_count'];
  const model = pairModel(page, pairs, 'ops with their shapes', columns, shown, (row) => [
    detailBlock('Op and shapes', wholeName([op[row], shapes[row]].filter(Boolean).join(' '))),
    pairs[row].map((group, side) => group && pairKernels(page, group, side)),
  ]);
  followed(page, model, {categoryOf: (row) => category[row], textOf: (row) => op[row] ?? '', hits: () => -1});
  return model;
}

function pairKernels(page, group, side) {
  const kernels = page.source(side).table('page_kernels');
  return detailBlock(`Kernels in ${'AB'[side]}`,
    group.kernels.sorted().slice(0, 8).map(([kernel]) => wholeName(kernels.get('name', kernel) ?? '')));
}
