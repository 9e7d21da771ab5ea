// The bar at the top: where the sections are, the theme, the keys.

import {element} from './dom.js';
import {addKeys, showKeys} from './keys.js';
import {nextTheme, themeButton} from './theme.js';

// Scrolls to a section and gives it the focus, so that the tab key continues there.
export function goToSection(id, isSmooth = false) {
  const section = id && document.getElementById(id);
  if (!section) return;
  const isCalm = !isSmooth || matchMedia('(prefers-reduced-motion: reduce)').matches;
  section.scrollIntoView({behavior: isCalm ? 'instant' : 'smooth'});
  section.setAttribute('tabindex', '-1');
  section.focus({preventScroll: true});
}

function keysButton() {
  const properties = {type: 'button', class: 'button plain', title: 'keys', 'aria-label': 'keys', onclick: showKeys};
  return element('button', properties, '?');
}

export class Navigation {
  constructor(page, sections) {
    this.sections = sections;
    this.links = element('ul', {class: 'nav-links'});
    this.node = element('nav', {id: 'navigation', 'aria-label': 'sections'},
      element('div', {class: 'nav-inside'},
        element('a', {href: '#header', class: 'brand'}, 'gputally'), this.links,
        element('div', {class: 'nav-tools'}, themeButton(page.state), keysButton())));
    this.visible = new Map();
    this.observer = new IntersectionObserver((entries) => this.mark(entries), {rootMargin: '-80px 0px -40% 0px'});
    addKeys('Page', [{key: 't', text: 'light, dark, or as the system', action: () => nextTheme(page.state)}]);
  }

  // Lists the sections that exist by now.
  update() {
    const found = this.sections.filter(({id, title}) => title && document.getElementById(id));
    this.observer.disconnect();
    this.visible.clear();
    this.links.replaceChildren(...found.map(({id, title, short}) => {
      this.observer.observe(document.getElementById(id));
      return element('li', {}, element('a', {href: `#${id}`}, short || title));
    }));
  }

  // The section that is read now: the first one of those in sight.
  mark(entries) {
    for (const {target, isIntersecting} of entries) this.visible.set(target.id, isIntersecting);
    const current = this.sections.find(({id}) => this.visible.get(id));
    for (const link of this.links.querySelectorAll('a')) {
      if (current && link.hash === `#${current.id}`) link.setAttribute('aria-current', 'true');
      else link.removeAttribute('aria-current');
    }
  }
}
