// Kernels and ops as tables. Of two traces, both side by side.

import {allHave, isComparison} from '../../compared.js';
import {element} from '../../dom.js';
import {addKeys} from '../../keys.js';
import {kernelPairModel, opPairModel} from './compare_models.js';
import {Grid} from './grid.js';
import {kernelModel, opModel} from './models.js';

function addTable(page, body, id, title, example, model) {
  const grid = new Grid(page, id, title.toLowerCase(), example, () => model(page));
  const anchor = id === tablesSection.id ? null : id;
  body.append(element('div', {id: anchor, class: 'table-block'}, element('h3', {}, title), grid.node));
  grid.update();
}

function buildTables(page, body) {
  const models = isComparison(page) ? [kernelPairModel, opPairModel] : [kernelModel, opModel];
  const amount = isComparison(page) ? 'delta' : 'time';
  addTable(page, body, 'kernels', 'Kernels', `name:gemm ${amount}>10us -nccl`, models[0]);
  if (allHave(page, 'page_calls')) addTable(page, body, 'ops', 'Ops by shape', `op:addmm ${amount}>10us`, models[1]);
  addKeys('Tables', [{key: '↑ ↓', text: 'next row'}, {key: 'Enter', text: 'open or close a row'},
    {key: 'Esc', text: 'close the open row'}]);
}

export const tablesSection = {
  id: 'kernels',
  title: 'Kernels and ops',
  short: 'Kernels',
  needs: (page) => allHave(page, 'page_sums', 'page_kernels'),
  build: buildTables,
};
