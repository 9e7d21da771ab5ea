// The buttons that copy a table.

import {element} from '../../dom.js';
import {copyButton} from '../../output.js';
import {toCsv, toMarkdown} from './export.js';

export function copyTools(grid) {
  const all = element('input', {type: 'checkbox'});
  const make = (write) => () => write(all.checked ? grid.model.columns : grid.shownColumns(), grid.rows);
  return element('span', {class: 'row'},
    copyButton('Copy CSV', make(toCsv), {title: 'the rows below, with all digits'}),
    copyButton('Copy Markdown', make(toMarkdown), {title: 'the rows below, with all digits'}),
    element('label', {class: 'small', title: 'copy the columns that are not shown, too'}, all, ' all columns'));
}
