// Which keys do what. Sections add theirs; `?` lists them all.
//
//   addKeys('Timeline', [{key: 'F', text: 'show the whole trace'}]);     only listed: the section listens itself
//   addKeys('Page', [{key: 't', text: 'change the theme', action: f}]);  works wherever no text is typed

import {clear, element} from './dom.js';

const keyGroups = new Map();
let keyDialog = null;

export function addKeys(group, keys) {
  keyGroups.set(group, [...(keyGroups.get(group) || []), ...keys]);
}

// Whether a key belongs to a field that text is typed into.
function isTyping(event) {
  const target = event.target;
  return target instanceof Element && target.closest('input, textarea, select, [contenteditable]') !== null;
}

function keyRows(keys) {
  return keys.map(({key, text}) => [
    element('dt', {}, key.split(' ').map((one, i) => [i ? ' ' : null, element('kbd', {}, one)])),
    element('dd', {}, text),
  ]);
}

export function showKeys() {
  if (!keyDialog) {
    keyDialog = element('dialog', {class: 'keys', 'aria-label': 'keys'});
    keyDialog.addEventListener('click', (event) => event.target === keyDialog && keyDialog.close());
    document.body.append(keyDialog);
  }
  const groups = [...keyGroups].map(([group, keys]) =>
    element('div', {}, element('h3', {}, group), element('dl', {class: 'facts'}, keyRows(keys))));
  clear(keyDialog).append(
    element('div', {class: 'row spread'}, element('h2', {}, 'Keys'),
      element('button', {type: 'button', class: 'button', autofocus: true, onclick: () => keyDialog.close()}, 'close')),
    element('div', {class: 'columns'}, groups));
  if (!keyDialog.open) keyDialog.showModal();
}

// Calls the actions; main.js starts it once.
export function listenToKeys() {
  addEventListener('keydown', (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented || isTyping(event)) return;
    if (keyDialog?.open) return;
    for (const keys of keyGroups.values()) {
      const found = keys.find((one) => one.action && one.key === event.key);
      if (!found) continue;
      event.preventDefault();
      found.action();
      return;
    }
  });
}
