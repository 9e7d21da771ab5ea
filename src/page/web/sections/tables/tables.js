// Kernels and ops as tables. Of two traces, both beside each other.

import {element} from '../../dom.js';
import {addKeys} from '../../keys.js';
import {kernelPairModel, opPairModel} from './compare_models.js';
import {Grid} from './grid.js';
import {kernelModel, opModel} from './models.js';

const isCompare = (page) => page.front.kind === 'compare' && page.sources.length > 1;

// Whether both sides, or the only one, have a table.
function allHave(page, name) {
  return page.sources.slice(0, isCompare(page) ? 2 : 1).every((source) => source.has(name));
}

function addTable(page, body, id, title, example, model) {
  const grid = new Grid(page, id, title.toLowerCase(), example, () => model(page));
  const anchor = id === tablesSection.id ? null : id;
  body.append(element('div', {id: anchor, class: 'table-block'}, element('h3', {}, title), grid.node));
  grid.update();
}

function buildTables(page, body) {
  const models = isCompare(page) ? [kernelPairModel, opPairModel] : [kernelModel, opModel];
  const amount = isCompare(page) ? 'delta' : 'time';
  addTable(page, body, 'kernels', 'Kernels', `name:gemm ${amount}>10us -nccl`, models[0]);
  if (allHave(page, 'page_calls')) addTable(page, body, 'ops', 'Ops by shape', `op:addmm ${amount}>10us`, models[1]);
  addKeys('Tables', [{key: '↑ ↓', text: 'next row'}, {key: 'Enter', text: 'open or close a row'},
    {key: 'Esc', text: 'close the open row'}]);
}

export const tablesSection = {
  id: 'kernels',
  title: 'Kernels and ops',
  short: 'Kernels',
  needs: (page) => allHave(page, 'page_sums') && allHave(page, 'page_kernels'),
  build: buildTables,
};
