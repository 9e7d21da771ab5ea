// The menu that chooses columns.

import {element} from '../../dom.js';

function setColumn(grid, column, isShown) {
  const shown = grid.shownColumns();
  const next = isShown ? [...shown, column] : shown.filter((one) => one !== column);
  if (!next.length) return;
  const order = grid.model.columns;
  const usual = grid.model.shown.join();
  next.sort((a, b) => order.indexOf(a) - order.indexOf(b));
  const keys = next.map(({key}) => key);
  const sameSet = [...keys].sort().join() === grid.model.shown.slice().sort().join();
  grid.set({columns: sameSet || keys.join() === usual ? null : keys.join(',')});
}

// A list of check boxes that opens below its button. It is made again with the table, so it remembers being open.
export function chooseColumns(grid) {
  const shown = new Set(grid.shownColumns());
  const boxes = grid.model.columns.map((column) => element('label', {title: column.help || null},
    element('input', {type: 'checkbox', checked: shown.has(column), dataset: {key: column.key},
      onchange: (event) => setColumn(grid, column, event.target.checked)}), ' ',
    element('span', {class: 'elide'}, column.title)));
  const menu = element('details', {
    class: 'chooser', open: grid.isChoosing || null,
    ontoggle: () => grid.isChoosing = menu.open,
    onkeydown: (event) => {
      if (event.key !== 'Escape') return;
      menu.open = false;
      menu.querySelector('summary').focus();
    },
  },
  element('summary', {class: 'button'}, `Columns: ${shown.size} of ${grid.model.columns.length}`),
  element('div', {class: 'chooser-menu'}, boxes,
    element('button', {type: 'button', class: 'button', onclick: () => grid.set({columns: null})}, 'the usual ones')));
  return menu;
}
