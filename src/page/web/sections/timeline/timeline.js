// The section `timeline`: lanes of GPU and host over time. It decides how many views there are (one per trace), puts
// tools and notes around them, and joins them to the state by a control.
//
//   axis       what is shown, ticks            data, track     lanes and events as typed arrays
//   pyramid    level of detail                 matches         what is highlighted
//   layout     lanes to heights                paint, scene    drawing
//   view       one canvas with labels          control         what views share
//   input      pointer, wheel, touch, keys     describe, details   events as text
//   overview   the whole trace in a strip      perfetto        a stretch as a trace file

import {CATEGORIES, CAUSES, categoryColor, causeCss} from '../../colors.js';
import {clear, element} from '../../dom.js';
import {percent, shorten, thousands, time} from '../../format.js';
import {addKeys, showKeys} from '../../keys.js';
import {fileName, saveFile} from '../../output.js';
import {legend} from '../../legend.js';
import {causeLabel, causeMeaning, partKey} from '../../names.js';
import {TimelineControl} from './control.js';
import {HOST_KINDS, TimelineData} from './data.js';
import {HOST_WORDS} from './describe.js';
import {TimelineDetails} from './details.js';
import {TIMELINE_KEYS, TimelineInput, watchPageScroll} from './input.js';
import {TimelineOverview} from './overview.js';
import {traceParts} from './perfetto.js';
import {TimelineView} from './view.js';

const TIMELINE_HINT = 'Wheel: zoom. Shift + wheel or shift-drag: move. Drag: choose a range. Click: details. ' +
    'The wheel scrolls the page over the names of the lanes.';

// Sources with GPU events: both of a comparison, else the first.
function shownSources(page) {
  const wanted = page.front.kind === 'compare' ? [0, 1] : [0];
  return wanted.filter((at) => at < page.sources.length && page.source(at).has('page_lanes') &&
      (page.source(at).has('page_gpu') || page.source(at).has('page_bins')));
}

// Views on one time scale: windows start at the same place. Times are those of the first source.
function makeViews(page, control) {
  const datas = shownSources(page).map((at) => new TimelineData(page.source(at)));
  const starts = datas.map((data) => (data.window ? data.window[0] : 0));
  return datas.map((data, i) => {
    const view = new TimelineView(control, data, {
      offset: starts[i] - starts[0],
      origin: datas.length > 1 ? starts[i] : 0,
      title: data.label,
      heightShare: datas.length > 1 ? 0.6 : 1,
    });
    control.add(view);
    return view;
  });
}

// What the search found, in words.
function foundText(page, control) {
  const [view] = control.views;
  const {matches} = view;
  if (!['search', 'kernel', 'call'].some((key) => control.state.get(key))) return '';
  const sums = matches.sums(page.work(0));
  const where = control.state.getRange('range') ? ' in the range' : '';
  const share = percent(sums.ns, sums.of);
  const parts = [`${thousands(sums.count)} GPU events${where}: ${time(sums.ns)}, ${share} of GPU time`];
  if (matches.host) parts.push(`${thousands(matches.hostCount())} host events`);
  return parts.join('; ');
}

function timelineSearch(page, control) {
  const {state} = page;
  const box = element('input', {type: 'search', class: 'filter-box', placeholder: 'search kernels and ops  ( / )',
    title: 'Enter: next match; Shift + Enter: previous one',
    'aria-label': 'search kernels and ops', spellcheck: 'false', autocomplete: 'off'});
  const result = element('span', {class: 'small', role: 'status'});
  const show = () => {
    if (box.value !== (state.get('search') || '')) box.value = state.get('search') || '';
    result.textContent = foundText(page, control);
  };
  let pause = null;
  box.addEventListener('input', () => {
    clearTimeout(pause);
    pause = setTimeout(() => state.set({search: box.value || null}), 120);
  });
  box.addEventListener('keydown', (event) => {
    if (event.key === 'Enter') {
      clearTimeout(pause);
      state.set({search: box.value || null});
      control.stepMatch(event.shiftKey ? -1 : 1);
    } else if (event.key === 'Escape') {
      state.set({search: null});
      control.views[0].upper.focus({preventScroll: true});
    }
  });
  return {box, result, show};
}

// Saves the range, or what is shown, as a trace file, and says what to do with it.
function perfettoButton(control, view, isOnly, tell) {
  const save = () => {
    const range = (control.state.getRange('range') || control.view).map((at) => at + view.offset);
    const name = fileName(view.data.label, '.perfetto.json');
    saveFile(name, 'application/json', traceParts(view.data, range));
    tell(`Saved ${time(range[1] - range[0])} of the trace as ${name}. Open this file in ui.perfetto.dev by hand: ` +
        'the page itself uses no network.');
  };
  const title = 'save the range, or what is shown, as a file for ui.perfetto.dev';
  return element('button', {type: 'button', class: 'button', title, onclick: save, dataset: {action: 'perfetto'}},
      isOnly ? 'open in Perfetto' : `open ${view.data.label} in Perfetto`);
}

function zoomButtons(control) {
  const button = (label, title, action) =>
    element('button', {type: 'button', class: 'button', title, 'aria-label': title, onclick: action}, label);
  return element('span', {class: 'segmented'},
      button('−', 'zoom out (S)', () => control.zoom(1.6)), button('+', 'zoom in (W)', () => control.zoom(1 / 1.6)),
      button('fit', 'show the selected event, the range, or everything (F)', () => control.fit()),
      button('all', 'show the whole trace (0)', () => control.showWhole()));
}

// What the page leaves out.
export function timelineNotes(data) {
  const notes = [];
  if (data.exact) {
    notes.push(`Bins: the page has single kernels between ${time(data.exact[0])} and ${time(data.exact[1])}; ` +
        'elsewhere it shows how busy each lane is, and with what. Zoom in there to see kernels.');
  }
  const short = data.lanes.filter((lane) => lane.shorter !== null);
  if (short.length) {
    const longest = Math.max(...short.map((lane) => lane.shorter));
    notes.push(`Events of at most ${time(longest)} are left out on ${short.length} of ${data.lanes.length} lanes.`);
  }
  if (data.idleLeftOut > 0) notes.push(`Gaps of ${time(data.idleLeftOut)} together are too short to be shown.`);
  const streams = data.lanes.filter((lane) => lane.kind === 'stream');
  const judged = streams.find((lane) => lane.isJudged);
  if (judged && streams.some((lane) => lane.group !== judged.group)) {
    notes.push(`Findings and idle time are those of ${shorten(judged.group, 40)}, the busiest GPU; host threads are ` +
        'those of the processes that use it.');
  }
  return notes;
}

// What the colours mean: kinds of work and causes that the trace has. A click highlights one.
function timelineLegend(control) {
  const node = element('div', {class: 'timeline-legend'});
  const {state} = control;
  const item = (label, part, kind, css, title) => ({label, css, title, key: partKey(part, kind)});
  const show = () => {
    const datas = control.views.map((view) => view.data);
    const work = CATEGORIES.filter((_, i) => datas.some((data) => data.categories.includes(i)));
    const causes = CAUSES.filter((_, i) => datas.some((data) => data.idle && data.idle.tracks[0].kind.includes(i)));
    const items = [...work.map((name) => item(name, name, 'work', categoryColor(name))),
      ...causes.map((name) => item(`idle: ${causeLabel(name)}`, name, 'idle', causeCss(name), causeMeaning(name)))];
    for (const one of items) one.isChosen = state.get('category') === one.key;
    const host = HOST_KINDS.map((kind) => ({label: HOST_WORDS[kind], css: `var(--host-${kind})`}));
    clear(node).append(legend(items, ({key}) => state.set({category: state.get('category') === key ? null : key})),
        datas.some((data) => data.host) ? legend(host) : '');
  };
  show();
  state.on(['category', 'theme'], show);
  return node;
}

function viewText(control) {
  const [begin, end] = control.view;
  const range = control.shownRange;
  return `${time(end - begin)} shown${range ? `, range of ${time(range[1] - range[0])} chosen` : ''}`;
}

function buildTimeline(page, body) {
  const control = new TimelineControl(page.state);
  const views = makeViews(page, control);
  control.overview = new TimelineOverview(control, views[0]);
  const details = new TimelineDetails(control);
  const search = timelineSearch(page, control);
  const shown = element('span', {class: 'small muted timeline-shown'});
  const saved = element('p', {class: 'note timeline-saved', role: 'status'});
  const tell = (text) => saved.textContent = text;
  const showShown = () => shown.textContent = viewText(control);
  control.onselect = () => details.show();
  control.onview = showShown;
  control.onmatches = search.show;
  page.state.on(['range'], () => {
    showShown();
    search.show();
  });
  body.append(
      element('div', {class: 'toolbar'}, search.box, search.result, element('span', {class: 'timeline-space'}), shown,
          zoomButtons(control), views.map((view) => perfettoButton(control, view, views.length === 1, tell)),
          element('button', {type: 'button', class: 'button', onclick: showKeys, title: 'keys (?)'}, 'keys')),
      saved, control.overview.node, ...views.map((view) => view.node),
      element('p', {class: 'note', id: 'timeline-hint'}, TIMELINE_HINT), timelineLegend(control),
      details.node, details.live,
      element('p', {class: 'note', id: 'timeline-text'}, views.map((view) =>
        `${views.length > 1 ? `${view.data.label}: ` : ''}${view.text()}`).join(' ')),
      ...views.flatMap((view) => timelineNotes(view.data)).map((note) => element('p', {class: 'note'}, note)));
  for (const view of views) new TimelineInput(view, () => search.box.focus());
  watchPageScroll();
  addKeys('Timeline', TIMELINE_KEYS);
  for (const view of views) view.resize();
  control.overview.resize();
  control.start();
  showShown();
}

export const timelineSection = {
  id: 'timeline',
  title: 'Timeline',
  print: false,
  wide: true,
  print: false,
  needs: (page) => shownSources(page).length > 0,
  build: buildTimeline,
};
