// What leaves the page: text to the clipboard, files to the disk.

import {element} from './dom.js';

// Browsers do not give the clipboard to every page that comes from a file. Then a selection is copied.
function copySelection(text) {
  const area = element('textarea', {class: 'visually-hidden', readonly: true, 'aria-hidden': 'true'});
  const focused = document.activeElement;
  area.value = text;
  (focused?.closest('dialog') || document.body).append(area);
  area.select();
  let isDone = false;
  try {
    isDone = document.execCommand('copy');
  } catch {
    isDone = false;
  }
  area.remove();
  focused?.focus({preventScroll: true});
  return isDone;
}

// Whether the text is on the clipboard now, in a promise. Call it while a click or key is handled.
async function copyText(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return copySelection(text);
  }
}

// A button that copies what the function returns, and says so.
export function copyButton(label, makeText, properties) {
  const button = element('button', {type: 'button', class: 'button', ...properties}, label);
  button.addEventListener('click', async () => {
    const isDone = await copyText(makeText());
    button.textContent = isDone ? 'copied' : 'copying is not allowed here';
    setTimeout(() => button.textContent = label, 1500);
  });
  return button;
}

// Saves a file, made of strings or bytes, as a download.
export function saveFile(name, type, parts) {
  const url = URL.createObjectURL(new Blob(parts, {type}));
  const link = element('a', {href: url, download: name});
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(url), 60000);
}

// A name that every file system takes: `train step.json.gz` and `.csv` give `train_step.csv`.
export function fileName(title, ending) {
  const base = title.split(/[\\/]/).pop().replace(/\.(json|gz|zst|csv|db|pb|xplane|trace)\b/gi, '');
  const safe = base.replace(/[^\w.-]+/g, '_').replace(/^[._]+|[._]+$/g, '').slice(0, 80);
  return `${safe || 'gputally'}${ending}`;
}

// Text that a spreadsheet would compute, as `gputally report` sees it (gt_is_formula).
function looksLikeFormula(text) {
  return /^'*[=+\-@\t\r\n][^]/.test(text) && !/^'*[+-](\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(text);
}

// A cell of a CSV file: no value is empty, lists are JSON, and no text is a formula.
export function csvCell(value) {
  if (value === null || value === undefined) return '';
  if (typeof value === 'number') return String(value);
  const text = typeof value === 'object' ? JSON.stringify(value) : String(value);
  const safe = looksLikeFormula(text) ? `'${text}` : text;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
