// One timeline: the lanes of one source on a canvas, with their labels next to it. Several views can share one time
// scale (a comparison): they follow the same control, and `offset` turns its time into that of their trace.

import {clear, element, onceAFrame} from '../../dom.js';
import {percent, thousands, time} from '../../format.js';
import {busyTime, totalTime} from './data.js';
import {eventLabel, timelineStepName} from './describe.js';
import {firstFolds, groupLanes, laneKey, laneRowAt, laneTrackAt, layoutRows, restKey} from './layout.js';
import {AXIS_HEIGHT, TimelineScene, headHeight} from './scene.js';

const LEAST_VIEW_HEIGHT = 220;
const HIT_PIXELS = 2; // CSS pixels next to an event that still hit it

export class TimelineView {
  // options: {offset, origin, title, heightShare}. control: see control.js.
  constructor(control, data, options) {
    Object.assign(this, {control, data, offset: options.offset, origin: options.origin, share: options.heightShare});
    this.groups = groupLanes(data.lanes, data.idle);
    this.firstFolds = firstFolds(this.groups);
    this.scroll = 0;
    this.size = {width: 1, height: 1, ratio: 1};
    this.matches = null;
    this.hovered = null;
    this.build(options.title);
    this.layout();
    new ResizeObserver(onceAFrame(() => this.resize())).observe(this.stage);
  }

  build(title) {
    this.lower = element('canvas', {'aria-hidden': 'true'});
    this.upper = element('canvas', {class: 'timeline-upper', tabindex: 0, role: 'application',
      'aria-label': `timeline of ${title}`, 'aria-describedby': 'timeline-text timeline-hint'});
    this.labels = element('div', {class: 'timeline-rows'});
    this.spacer = element('div');
    this.scrollbar = element('div', {class: 'timeline-scroll', tabindex: -1}, this.spacer);
    this.scrollbar.addEventListener('scroll', () => this.scrollTo(this.scrollbar.scrollTop));
    this.stage = element('div', {class: 'timeline-stage'}, this.lower, this.upper);
    this.corner = element('div', {class: 'timeline-corner muted small elide', title}, title);
    this.node = element('div', {class: 'timeline-view'},
        element('div', {class: 'timeline-labels'}, this.corner, element('div', {class: 'timeline-clip'}, this.labels)),
        this.stage, this.scrollbar);
    this.corner.style.height = `${headHeight(this.data)}px`;
  }

  get view() {
    return this.control.view.map((at) => at + this.offset);
  }

  // ---- layout ----

  // Keys of what the user folded or unfolded, against what is folded at first.
  folds() {
    const folds = new Set(this.firstFolds);
    for (const key of this.control.toggled(this)) {
      if (folds.has(key)) folds.delete(key);
      else folds.add(key);
    }
    return folds;
  }

  layout() {
    const [begin, end] = this.view;
    const folds = this.folds();
    const full = layoutRows(this.groups, folds, (track) => track.look(0, this.data.end)).height;
    const {rows, height} = layoutRows(this.groups, folds, (track) => track.look(begin, end));
    this.rows = rows;
    this.rowsHeight = height;
    if (this.fullHeight !== full) {
      this.fullHeight = full;
      const room = Math.max(LEAST_VIEW_HEIGHT, innerHeight * 0.62 * this.share);
      this.node.style.height = `${Math.round(headHeight(this.data) + Math.min(full + 4, room))}px`;
    }
    this.showLabels();
    this.scrollTo(this.scroll);
  }

  showLabels() {
    const hadFocus = this.labels.contains(document.activeElement) ? document.activeElement.dataset.key : null;
    clear(this.labels).append(...this.rows.filter((row) => row.type !== 'folded').map((row) => this.label(row)));
    if (hadFocus) this.labels.querySelector(`[data-key="${hadFocus}"]`)?.focus({preventScroll: true});
  }

  label(row) {
    const {key, text, title, canFold, isOpen} = this.aboutRow(row);
    const style = {top: `${row.top}px`, height: `${row.height}px`};
    const name = `timeline-label ${row.type === 'group' ? 'is-group' : `is-${row.mode || row.type}`}`;
    if (!canFold) return element('div', {class: name, title, style}, element('span', {class: 'elide'}, text));
    const state = {'aria-expanded': String(isOpen), onclick: () => this.control.toggle(this, key)};
    return element('button', {type: 'button', class: name, title, style, dataset: {key}, ...state},
        element('span', {class: 'elide'}, text));
  }

  aboutRow(row) {
    const {type, group, lane, isFolded} = row;
    if (type === 'group') {
      const title = `${group.label}: ${thousands(group.events)} events`;
      return {key: group.key, text: group.label, title, canFold: true, isOpen: !isFolded};
    }
    if (type === 'rest') {
      const text = `${thousands(group.rest.length)} more ${group.kind}s`;
      const title = isFolded ? 'those with least to show, all in one row' : 'show them in one row';
      return {key: restKey(group), text, title, canFold: true, isOpen: !isFolded};
    }
    return {key: laneKey(lane), text: lane.kind === 'idle' ? 'idle, by cause' : lane.label, title: this.laneTitle(lane),
      canFold: lane.kind === 'thread' && lane.tracks.length > 1, isOpen: row.mode === 'full'};
  }

  laneTitle(lane) {
    if (lane.kind === 'idle') return 'when the judged GPU was idle, and why';
    const left = lane.shorter === null ? '' : `; those of at most ${time(lane.shorter)} are left out`;
    return `${lane.group}, ${lane.label}: ${thousands(lane.events)} events${left}`;
  }

  scrollTo(top) {
    const shown = this.size.height / this.size.ratio - headHeight(this.data);
    const most = Math.max(0, this.rowsHeight - shown);
    this.scroll = Math.min(Math.max(0, top), most);
    this.spacer.style.height = `${this.rowsHeight + headHeight(this.data)}px`;
    this.scrollbar.style.visibility = most < 1 ? 'hidden' : ''; // the canvas keeps its width
    if (Math.abs(this.scrollbar.scrollTop - this.scroll) > 1) this.scrollbar.scrollTop = this.scroll;
    this.labels.style.transform = `translateY(${-this.scroll}px)`;
    this.control.redraw();
  }

  scrollBy(pixels) {
    this.scrollTo(this.scroll + pixels);
  }

  // Scrolls so that a row is seen.
  reveal(event) {
    const row = this.rows.find((one) => one.lanes.includes(event.lane));
    if (!row) return;
    const place = row.tracks.find((one) => one.track === event.track) || row;
    const shown = this.size.height / this.size.ratio - headHeight(this.data);
    if (place.top < this.scroll) this.scrollTo(place.top - 8);
    else if (place.top + place.height > this.scroll + shown) this.scrollTo(place.top + place.height - shown + 8);
  }

  resize() {
    const ratio = devicePixelRatio || 1;
    const box = this.stage.getBoundingClientRect();
    const [width, height] = [Math.max(1, Math.round(box.width * ratio)), Math.max(1, Math.round(box.height * ratio))];
    if (width === this.size.width && height === this.size.height && ratio === this.size.ratio) return;
    this.size = {width, height, ratio};
    for (const canvas of [this.lower, this.upper]) Object.assign(canvas, {width, height});
    this.scrollTo(this.scroll);
    this.control.resized();
  }

  get cssWidth() {
    return this.size.width / this.size.ratio;
  }

  // ---- drawing ----

  model() {
    const {control} = this;
    const shift = (at) => at + this.offset;
    return {
      data: this.data, rows: this.rows, scroll: this.scroll, matches: this.matches, view: this.view,
      range: control.shownRange && control.shownRange.map(shift), origin: this.origin, colors: control.colors,
      label: (lane, row) => eventLabel(this.data, lane, row), stepName: (row) => timelineStepName(this.data, row),
      hovered: this.hovered, selected: control.selectedIn(this),
      cursor: control.cursor === null ? null : shift(control.cursor),
    };
  }

  drawLanes() {
    new TimelineScene(this.lower, this.size, this.model()).drawLanes();
  }

  drawMarks() {
    new TimelineScene(this.upper, this.size, this.model()).drawMarks();
  }

  // ---- what is where ----

  // The control's time at a place in the window.
  timeAt(clientX) {
    const [begin, end] = this.control.view;
    const box = this.stage.getBoundingClientRect();
    return begin + (clientX - box.left) / box.width * (end - begin);
  }

  nsPerPixel() {
    return (this.control.view[1] - this.control.view[0]) / this.cssWidth;
  }

  // What is drawn at a place in the window: {event, more}, {bin, lane}, {step} or null.
  hit(clientX, clientY) {
    const at = this.timeAt(clientX) + this.offset;
    const y = clientY - this.stage.getBoundingClientRect().top;
    const head = headHeight(this.data);
    if (y < head) return y >= AXIS_HEIGHT && this.data.steps ? this.hitStep(at) : null;
    const row = laneRowAt(this.rows, y - head + this.scroll);
    if (!row || row.type === 'group') return null;
    return this.hitEvent(row, at, y - head + this.scroll) || this.hitBin(row, at);
  }

  hitStep(at) {
    const index = this.data.steps.at(at, 0);
    return index < 0 ? null : {step: index};
  }

  hitEvent(row, at, y) {
    const slack = HIT_PIXELS * this.nsPerPixel();
    const places = row.lane ? [laneTrackAt(row, y)].filter(Boolean) : row.tracks;
    for (const {track} of places) {
      const index = track.at(at, slack);
      if (index < 0) continue;
      const lane = row.lane || row.lanes.find((one) => one.tracks.includes(track));
      const [from, to] = track.within(at - slack / HIT_PIXELS, at + slack / HIT_PIXELS);
      const isWide = track.end[index] - track.start[index] > 2 * slack;
      return {event: {lane, track, index}, more: isWide ? 0 : Math.max(0, to - from - 1)};
    }
    return null;
  }

  hitBin(row, at) {
    const {exact} = this.data;
    if (exact && exact[0] <= at && at <= exact[1]) return null;
    const lane = row.lane || row.lanes.find((one) => one.bins);
    const index = lane && lane.bins ? lane.bins.at(at, 0) : -1;
    return index < 0 ? null : {bin: index, lane};
  }

  // ---- in words ----

  // Lanes, events and the busy share.
  text() {
    const {data} = this;
    const streams = data.lanes.filter((lane) => lane.kind === 'stream');
    const threads = data.lanes.filter((lane) => lane.kind === 'thread');
    const count = (lanes) => thousands(lanes.reduce((sum, lane) => sum + lane.events, 0));
    const plural = (number, word) => `${thousands(number)} ${word}${number === 1 ? '' : 's'}`;
    const parts = [`${plural(streams.length, 'stream')} with ${count(streams)} GPU events`];
    if (threads.length) parts.push(`${plural(threads.length, 'host thread')} with ${count(threads)} events`);
    if (data.hasNamedSteps) parts.push(plural(data.steps.length, data.hasPhases ? 'server step' : 'step'));
    return `${parts.join(', ')} in ${time(data.end)}. ${this.busyText()}`;
  }

  // As findings count it: what is not idle is busy.
  busyText() {
    const {data} = this;
    const judged = this.groups.find((group) => group.isJudged || group.idle);
    if (!judged || (data.exact && !data.idle)) return '';
    const stretch = data.window || [0, data.end];
    const length = stretch[1] - stretch[0];
    const busy = data.idle && data.window ? length - totalTime(data.idle.tracks[0]) - data.idleLeftOut :
        busyTime(judged.lanes, stretch);
    return `${judged.label} is busy ${percent(busy, length)} of ${data.window ? 'the judged window' : 'the trace'}.`;
  }
}
