// Light or dark: what the user chose (state `theme`), otherwise what the system says.

import {element} from './dom.js';

const THEMES = [null, 'light', 'dark'];

// Must come before all other listeners of the theme, which draw in its colours. Paper is always light.
export function followTheme(state) {
  let isPrinting = false;
  const apply = () => {
    const theme = isPrinting ? 'light' : state.get('theme');
    if (theme === 'light' || theme === 'dark') document.documentElement.dataset.theme = theme;
    else delete document.documentElement.dataset.theme;
  };
  const print = (isNow) => {
    isPrinting = isNow;
    state.tell(new Set(['theme']));
  };
  apply();
  state.on(['theme'], apply);
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => state.tell(new Set(['theme'])));
  addEventListener('beforeprint', () => print(true));
  addEventListener('afterprint', () => print(false));
}

export function nextTheme(state) {
  state.set({theme: THEMES[(THEMES.indexOf(state.get('theme')) + 1) % THEMES.length]});
}

export function themeButton(state) {
  const button = element('button', {type: 'button', class: 'button plain', onclick: () => nextTheme(state)});
  const show = () => {
    const theme = state.get('theme') || 'system';
    button.textContent = `theme: ${theme}`;
    button.title = 'light, dark, or as the system (t)';
  };
  show();
  state.on(['theme'], show);
  return button;
}
