// Rows as text for other programs: CSV and Markdown, with all digits.

import {csvCell} from '../../output.js';
import {fullCell, fullTitle, isNothing, kindOf} from './values.js';

export function toCsv(columns, rows) {
  const lines = [columns.map((column) => csvCell(fullTitle(column))).join(',')];
  for (const row of rows) lines.push(columns.map((column) => csvCell(fullCell(column, row))).join(','));
  return `${lines.join('\n')}\n`;
}

// Signs that Markdown or HTML would interpret are escaped; a cell is one line.
function markdownCell(text) {
  return text.replace(/[\r\n\t]+/g, ' ').replace(/[\\`*_[\]<>|~&#]/g, '\\$&');
}

export function toMarkdown(columns, rows) {
  const line = (cells) => `| ${cells.join(' | ')} |`;
  const lines = [line(columns.map((column) => markdownCell(fullTitle(column)))),
    line(columns.map((column) => (kindOf(column).isNumber ? '---:' : ':---')))];
  for (const row of rows) {
    lines.push(line(columns.map((column) => {
      const text = fullCell(column, row);
      return isNothing(column.cells[row]) || kindOf(column).isNumber ? text : markdownCell(text);
    })));
  }
  return `${lines.join('\n')}\n`;
}
