// Light or dark: what the user chose (state `theme`), otherwise what the system says.

import {element} from './dom.js';

const THEMES = [null, 'light', 'dark'];

// Must come before all other listeners of the theme, which draw in its colours.
export function followTheme(state) {
  const apply = () => {
    const theme = state.get('theme');
    if (theme === 'light' || theme === 'dark') document.documentElement.dataset.theme = theme;
    else delete document.documentElement.dataset.theme;
  };
  apply();
  state.on(['theme'], apply);
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => state.tell(new Set(['theme'])));
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
