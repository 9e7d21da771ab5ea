// Draws the first screen at once, unpacks the data, then draws the rest.

import {largestCauseOf, setLargestCause} from './colors.js';
import {element} from './dom.js';
import {listenToKeys} from './keys.js';
import {goToSection, Navigation} from './navigation.js';
import {unpackTables} from './pack.js';
import {Page} from './page.js';
import {clocksSection} from './sections/across/clocks.js';
import {pathSection} from './sections/across/critical.js';
import {matrixSection} from './sections/across/matrix.js';
import {stepSpreadSection} from './sections/across/spread.js';
import {barSection} from './sections/bar.js';
import {batchSections} from './sections/batch/batch.js';
import {compareSection} from './sections/compare.js';
import {devicesSection} from './sections/devices.js';
import {filterSection} from './sections/filter.js';
import {findingsSection} from './sections/findings.js';
import {flameSection} from './sections/flame/flame.js';
import {footerSection} from './sections/footer.js';
import {headerSection} from './sections/header.js';
import {memorySection} from './sections/memory/memory.js';
import {ranksSection} from './sections/ranks.js';
import {rooflineSection} from './sections/roofline/roofline.js';
import {stepsSection} from './sections/steps/steps.js';
import {sweepSections} from './sections/sweep/sweep.js';
import {timelineSection} from './sections/timeline/timeline.js';
import {sheetsSection} from './sections/tables/sheets.js';
import {tablesSection} from './sections/tables/tables.js';
import {verdictSection} from './sections/verdict.js';
import {followTheme} from './theme.js';

// In the order in which they are shown.
const SECTIONS = [
  headerSection, filterSection, verdictSection, compareSection, findingsSection, barSection, devicesSection,
  pathSection, ranksSection, stepSpreadSection, matrixSection, clocksSection, timelineSection,
  flameSection, rooflineSection, tablesSection, stepsSection, memorySection,
  ...batchSections, ...sweepSections, sheetsSection, footerSection,
];

function isWanted(page, section) {
  return !section.needs || section.needs(page);
}

// A section that fails says so and leaves the others alone.
function addSection(page, main, section) {
  const body = element('div', {class: 'body'});
  const heading = section.title && element('h2', {}, element('a', {href: `#${section.id}`}, section.title));
  const classes = [section.wide && 'wide', section.print === false && 'screen-only'].filter(Boolean).join(' ');
  const name = section.title || section.label || section.id;
  const node = element('section', {id: section.id, 'aria-label': name, class: classes || null}, heading, body);
  const after = SECTIONS.slice(SECTIONS.indexOf(section) + 1).map(({id}) => document.getElementById(id)).find(Boolean);
  main.insertBefore(node, after || null);
  try {
    section.build(page, body);
  } catch (error) {
    console.error(error);
    body.replaceChildren(element('p', {class: 'empty'}, `This section could not be drawn (${error.message}).`));
  }
}

function addSections(page, main, isFirst) {
  for (const section of SECTIONS) {
    if (Boolean(section.first) === isFirst && isWanted(page, section)) addSection(page, main, section);
  }
}

// Links inside the page keep what the user chose: #steps becomes #steps&range=0-5000.
function followLinks(page) {
  document.addEventListener('click', (event) => {
    const link = event.target instanceof Element && event.target.closest('a[href^="#"]');
    if (!link || event.ctrlKey || event.metaKey || event.shiftKey || event.button !== 0) return;
    event.preventDefault();
    page.state.anchor = link.hash.slice(1);
    writeHash(page, 'pushState');
    goToSection(page.state.anchor, true);
  });
}

// A page that may not change its address still works.
function writeHash(page, method) {
  try {
    history[method](null, '', page.state.hash() || `${location.pathname}${location.search}`);
  } catch {
    // nothing to do
  }
}

function connectState(page) {
  page.state.onchange = () => writeHash(page, 'replaceState');
  addEventListener('hashchange', () => {
    page.state.replace(location.hash);
    goToSection(page.state.anchor);
  });
  followLinks(page);
  followTheme(page.state);
  listenToKeys();
}

function canUnpack() {
  try {
    return Boolean(new DecompressionStream('deflate-raw'));
  } catch {
    return false;
  }
}

function failure(error) {
  if (!canUnpack()) {
    return 'This browser cannot unpack the data of the page; use Chromium or Firefox of the last two years.';
  }
  return `The data of this page cannot be read: the file is damaged or not complete (${error.message}). ` +
    'Copy it again, or write the report again.';
}

function showFailure(main, error) {
  console.error(error);
  document.getElementById('starting')?.remove();
  main.prepend(element('p', {class: 'failure', role: 'alert'}, failure(error)));
}

function documentIsComplete() {
  return new Promise((resolve) => document.readyState === 'loading' ?
    document.addEventListener('DOMContentLoaded', resolve) : resolve());
}

async function start() {
  const main = document.getElementById('page');
  try {
    const page = new Page(JSON.parse(document.getElementById('front').textContent), location.hash);
    const navigation = new Navigation(page, SECTIONS);
    connectState(page);
    setLargestCause(largestCauseOf(page.front));
    document.getElementById('starting')?.remove();
    main.before(element('a', {class: 'skip', href: '#verdict'}, 'skip to the verdict'), navigation.node);
    addSections(page, main, true);
    navigation.update();
    await documentIsComplete();
    if (!canUnpack()) throw new Error('no DecompressionStream for deflate-raw');
    if (!document.getElementById('end')) throw new Error('it ends early');
    page.addTables(await unpackTables(document));
    addSections(page, main, false);
    navigation.update();
    goToSection(page.state.anchor);
    document.documentElement.dataset.ready = 'yes';
  } catch (error) {
    showFailure(main, error);
    document.documentElement.dataset.ready = 'failed';
  }
}

start();
