// Names of colours, next to or below a chart.

import {element} from './dom.js';

// A square in a colour or hatch (categoryColor, causeCss).
export function swatch(css) {
  return element('span', {class: 'swatch', style: {background: css}, 'aria-hidden': 'true'});
}

// Items are {label, css, detail, title, isOff}; `choose(item)` makes them buttons.
export function legend(items, choose) {
  return element('ul', {class: 'legend'}, items.map((item) => {
    const detail = item.detail && element('span', {class: 'muted'}, `\u00a0${item.detail}`);
    const parts = [swatch(item.css), item.label, detail];
    const state = {title: item.title, class: item.isOff ? 'off' : null};
    if (!choose) return element('li', state, parts);
    const isChosen = item.isChosen === undefined ? null : String(item.isChosen);
    return element('li', state,
      element('button', {type: 'button', 'aria-pressed': isChosen, onclick: () => choose(item)}, parts));
  }));
}
