// A table on the screen: sorted, filtered, with as many rows as there are. Only the rows in sight are elements.
//
// What it shows is a model:
//   {noun, columns, shown, sort, rows,                 see values.js for columns; `shown` are keys, `sort` '-ns'
//    idOf(row), rowOf(id),                             names of rows in the state
//    test(row), isMarked(row), current(),              what others chose: shown at all, marked, id of the chosen row
//    select(row), details(row), note()}                what a click does; an element; a sentence about the rows
// What the user does is in the state: ID.sort, ID.filter, ID.columns, ID.open.

import {clear, element, onceAFrame} from '../../dom.js';
import {thousands} from '../../format.js';
import {GridBody} from './body.js';
import {chooseColumns} from './chooser.js';
import {copyTools} from './copying.js';
import {parseExpression} from './expression.js';
import {kindOf, sortRows} from './values.js';

export class Grid {
  constructor(page, id, label, example, makeModel) {
    this.page = page;
    this.id = id;
    this.makeModel = makeModel;
    this.body = new GridBody(this, label);
    this.filterBox = element('input', {type: 'search', class: 'filter-box', placeholder: example,
      'aria-label': `filter ${label}`, spellcheck: 'false', autocomplete: 'off', oninput: () => this.setFilter(),
      title: 'words match the name; COLUMN:text, COLUMN>10us, COLUMN>=5 are conditions; -word: not'});
    this.error = element('p', {class: 'grid-error', role: 'alert', hidden: true});
    this.note = element('p', {class: 'note', role: 'status'});
    this.chooser = element('span');
    this.node = element('div', {class: 'grid-block', id: `${id}-table`},
      element('div', {class: 'toolbar'}, this.filterBox, this.chooser, copyTools(this), this.note),
      this.error, this.body.node);
    this.refresh = onceAFrame(() => this.update());
    const keys = ['sort', 'filter', 'columns', 'open'].map((key) => `${id}.${key}`);
    page.state.on([...keys, 'category', 'finding', 'kernel', 'call', 'search'], this.refresh);
    page.state.on(['range'], () => this.reload());
    document.addEventListener('pointerdown', (event) => this.closeChooser(event));
  }

  // Takes another model, as after a change of the range.
  reload() {
    this.model = null;
    this.refresh();
  }

  get(key) {
    return this.page.state.get(`${this.id}.${key}`);
  }

  set(changes) {
    const named = Object.entries(changes).map(([key, value]) => [`${this.id}.${key}`, value]);
    this.page.state.set(Object.fromEntries(named));
  }

  setFilter() {
    this.set({filter: this.filterBox.value.trim() === '' ? null : this.filterBox.value});
  }

  // The columns in sight. Keys that do not exist are dropped, as in a link to the page of another trace.
  shownColumns() {
    const keys = this.get('columns')?.split(',') || this.model.shown;
    const found = keys.map((key) => this.model.columns.find((column) => column.key === key)).filter(Boolean);
    return found.length ? found : this.model.columns.slice(0, 8);
  }

  // {column, isDescending}, of the state or the model's own.
  sorting() {
    for (const text of [this.get('sort'), this.model.sort]) {
      const column = text && this.model.columns.find(({key}) => key === text.replace(/^-/, ''));
      if (column) return {column, isDescending: text.startsWith('-')};
    }
    return null;
  }

  // A second click on a heading turns the order round. Numbers begin with the largest.
  sortBy(column) {
    const now = this.sorting();
    const isDescending = now?.column === column ? !now.isDescending : kindOf(column).isNumber;
    const text = `${isDescending ? '-' : ''}${column.key}`;
    this.set({sort: text === this.model.sort ? null : text});
  }

  // The rows in sight of the user, in order.
  findRows() {
    const {model} = this;
    const text = this.get('filter') || '';
    const {test, error} = parseExpression(text, model.columns);
    this.showError(error);
    if (this.filterBox.value.trim() !== text.trim()) this.filterBox.value = text;
    let rows = Array.from({length: model.rows}, (_, row) => row);
    if (model.test) rows = rows.filter(model.test);
    if (test && text) rows = rows.filter(test);
    const sorting = this.sorting();
    return sorting ? sortRows(rows, sorting.column, sorting.isDescending) : Uint32Array.from(rows);
  }

  // What a table without rows says.
  whyEmpty() {
    const {noun, rows, place} = this.model;
    if (!rows) return `No ${noun}${place || ''}.`;
    return this.get('filter') ? `No ${noun} with this filter.` : `No ${noun} of the chosen category or text.`;
  }

  showError(error) {
    this.error.hidden = !error;
    this.error.textContent = error ? `wrong filter: ${error}` : '';
    this.filterBox.setAttribute('aria-invalid', String(Boolean(error)));
  }

  update() {
    if (this.model) this.model.follow?.();
    else this.model = this.makeModel();
    const {model} = this;
    this.rows = this.findRows();
    this.body.show();
    const count = this.rows.length === model.rows ? thousands(model.rows) :
      `${thousands(this.rows.length)} of ${thousands(model.rows)}`;
    this.note.textContent = `${count} ${model.noun}${model.note ? `: ${model.note(this.rows)}` : ''}`;
    this.updateChooser();
  }

  updateChooser() {
    const focused = this.chooser.contains(document.activeElement) ? document.activeElement.dataset.key : null;
    clear(this.chooser).append(chooseColumns(this));
    if (focused) this.chooser.querySelector(`[data-key="${CSS.escape(focused)}"]`)?.focus();
  }

  // A click elsewhere closes the menu of columns.
  closeChooser(event) {
    const menu = this.chooser.firstElementChild;
    if (menu?.open && !menu.contains(event.target)) menu.open = false;
  }

  isOpen(row) {
    return this.get('open') !== null && this.get('open') === String(this.model.idOf(row));
  }

  toggle(row) {
    if (this.isOpen(row)) {
      this.set({open: null});
      return;
    }
    this.set({open: this.model.idOf(row)});
    this.model.select?.(row);
  }
}
