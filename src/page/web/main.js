// Draws the first screen at once, unpacks the data, then draws the rest.

import {element} from './dom.js';
import {unpackTables} from './pack.js';
import {Page} from './page.js';

// In the order in which they are shown.
const SECTIONS = [];

function addSection(page, main, section) {
  const body = element('div', {class: 'body'});
  const heading = section.title && element('h2', {}, element('a', {href: `#${section.id}`}, section.title));
  main.append(element('section', {id: section.id, 'aria-label': section.title || section.id}, heading, body));
  section.build(page, body);
}

async function start() {
  const page = new Page(JSON.parse(document.getElementById('front').textContent), location.hash);
  const main = document.getElementById('page');
  page.state.onchange = () => history.replaceState(null, '', page.state.hash() || location.pathname);
  addEventListener('hashchange', () => page.state.replace(location.hash));
  for (const section of SECTIONS.filter((one) => one.first)) addSection(page, main, section);
  await new Promise((resolve) => document.readyState === 'loading' ?
      document.addEventListener('DOMContentLoaded', resolve) : resolve());
  page.addTables(await unpackTables(document));
  for (const section of SECTIONS) {
    if (!section.first && section.needs(page)) addSection(page, main, section);
  }
  document.documentElement.dataset.ready = 'yes';
  if (page.state.anchor) document.getElementById(page.state.anchor)?.scrollIntoView();
}

start();
