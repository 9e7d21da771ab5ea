// What all views of the timeline share: the time that is shown, the brushed range, the selected event, what is
// highlighted. It reads the page's state, writes what the user does to it, and has everything drawn once per frame.
//
// Times here are those of source 0. A moving view is written to the state when it comes to rest: browsers slow down
// pages that change their address very often.

import {onceAFrame} from '../../dom.js';
import {clampView, panView, viewAround, zoomView} from './axis.js';
import {neighbourEvent} from './data.js';
import {TimelineMatches} from './matches.js';
import {timelineColors} from './paint.js';

const VIEW_REST_MS = 220;

export class TimelineControl {
  constructor(state) {
    this.state = state;
    this.views = [];
    this.view = [0, 1];
    this.whole = [0, 1];
    this.cursor = null;
    this.brush = null; // the range while it is dragged
    this.colors = timelineColors();
    this.isStale = {lanes: true, marks: true};
    this.draw = onceAFrame(() => this.drawNow());
    this.rest = null;
    this.written = null; // the view as it was last written to the state
    this.hasNewView = false;
    this.selected = null; // {view, event}
    this.overview = null;
    this.onselect = () => {};
    this.onview = () => {};
    this.onmatches = () => {};
  }

  // Views are added once, before `start`.
  add(view) {
    this.views.push(view);
    const [begin, end] = [-view.offset, view.data.end - view.offset];
    const isFirst = this.views.length === 1;
    this.whole = isFirst ? [begin, end] : [Math.min(this.whole[0], begin), Math.max(this.whole[1], end)];
    this.view = this.whole;
  }

  start() {
    const {state} = this;
    state.on(['view'], () => this.readView());
    state.on(['search', 'category', 'kernel', 'call', 'finding'], () => this.readMatches());
    state.on(['finding'], () => this.fitFinding());
    state.on(['timeline.folds'], () => this.layout());
    state.on(['timeline.event'], () => this.readSelection());
    state.on(['range'], () => this.redrawMarks());
    state.on(['theme'], () => this.recolor());
    this.readMatches();
    if (state.getRange('view')) this.readView();
    else if (state.getNumber('finding') !== null) this.fitFinding();
    this.readSelection();
    this.layout();
  }

  // ---- drawing ----

  redraw() {
    this.isStale.lanes = true;
    this.redrawMarks();
  }

  redrawMarks() {
    this.isStale.marks = true;
    this.draw();
  }

  drawNow() {
    const {lanes, marks} = this.isStale;
    this.isStale = {lanes: false, marks: false};
    for (const view of this.views) {
      if (lanes) view.drawLanes();
      if (marks) view.drawMarks();
    }
    if (lanes) this.overview?.draw();
  }

  redrawAll() {
    if (this.overview) this.overview.isStale = true;
    this.redraw();
  }

  recolor() {
    this.colors = timelineColors();
    this.redrawAll();
  }

  layout() {
    for (const view of this.views) view.layout();
    this.redraw();
  }

  // ---- the view ----

  get pixels() {
    return this.views[0].cssWidth;
  }

  resized() {
    this.setView(this.view);
    this.overview?.resize();
    this.redraw();
  }

  setView(view) {
    const next = clampView(view, this.whole, this.pixels);
    if (next[0] === this.view[0] && next[1] === this.view[1]) return;
    this.view = next;
    this.redraw();
    this.onview();
    clearTimeout(this.rest);
    this.rest = setTimeout(() => this.comeToRest(), VIEW_REST_MS);
  }

  // Lanes shrink and grow only now: they must not jump while the user moves.
  comeToRest() {
    const [begin, end] = this.view;
    const isWhole = begin === this.whole[0] && end === this.whole[1];
    const digits = end - begin < 10000 ? 3 : 0;
    this.written = isWhole ? null : `${begin.toFixed(digits)}-${end.toFixed(digits)}`;
    this.state.set({view: this.written});
    this.layout();
  }

  readView() {
    if (this.state.get('view') !== null && this.state.get('view') === this.written) return;
    this.setView(this.state.getRange('view') || this.whole);
    // A link may have a view and a finding: then the finding does not move the view.
    this.hasNewView = this.state.get('view') !== null;
    queueMicrotask(() => this.hasNewView = false);
  }

  zoom(factor, center = (this.view[0] + this.view[1]) / 2) {
    this.setView(zoomView(this.view, factor, center));
  }

  pan(share) {
    this.setView(panView(this.view, share));
  }

  showWhole() {
    this.setView(this.whole);
  }

  // Shows the selected event, else the range, else everything.
  fit() {
    const selected = this.selected && this.stretchOf(this.selected);
    const stretch = selected || this.state.getRange('range');
    this.setView(stretch ? viewAround(stretch, selected ? 2 : 0.04) : this.whole);
  }

  // The call that launched the selected event, or null.
  launch() {
    return this.selected ? this.selected.view.data.launchOf(this.selected.event) : null;
  }

  // Shows the selected event together with its launch.
  showLaunch() {
    const {selected} = this;
    const launch = this.launch();
    if (!launch) return;
    const [begin, end] = this.stretchOf({view: selected.view, event: launch});
    const [start, stop] = this.stretchOf(selected);
    this.setView(viewAround([Math.min(begin, start), Math.max(end, stop)], 0.1));
  }

  // Shows the first evidence of the chosen finding: a stretch of time with as much before and after it, or the step in
  // which work of the finding is.
  fitFinding() {
    const [view] = this.views;
    const {evidence} = view.matches;
    if (!evidence || this.hasNewView) return;
    const [stretch] = evidence.stretches;
    const step = evidence.pairs.length ? view.matches.firstStep() : null;
    if (stretch || step) this.setView(stretch ? viewAround(stretch, 1) : viewAround(step, 0.02));
  }

  // Selects the next or previous event that is highlighted; without a selection the first one in view.
  stepMatch(by) {
    const view = this.selected ? this.selected.view : this.views[0];
    if (!view.matches.isActive) return;
    const from = this.selected ? this.selected.event.track.start[this.selected.event.index] : view.view[0] - 0.5;
    const next = view.matches.next(from, by);
    if (!next) return;
    this.select(view, next);
    this.keepInView();
  }

  // ---- the range ----

  get shownRange() {
    return this.brush || this.state.getRange('range');
  }

  setRange(range) {
    this.brush = null;
    if (!range) this.state.set({range: null});
    else {
      const [begin, end] = [Math.max(this.whole[0], Math.min(...range)), Math.min(this.whole[1], Math.max(...range))];
      const first = Math.max(0, Math.floor(begin));
      this.state.set({range: `${first}-${Math.max(first + 1, Math.ceil(end))}`});
    }
    this.redrawMarks();
  }

  // ---- the selection ----

  stretchOf({view, event}) {
    return [event.track.start[event.index] - view.offset, event.track.end[event.index] - view.offset];
  }

  selectedIn(view) {
    return this.selected && this.selected.view === view ? this.selected.event : null;
  }

  select(view, event) {
    const at = this.views.indexOf(view);
    this.state.set({'timeline.event': event ? `${view.data.nameOf(event)}${at ? `@${at}` : ''}` : null});
  }

  readSelection() {
    const [name, at] = (this.state.get('timeline.event') || '').split('@');
    const view = this.views[Number(at || 0)];
    const event = view ? view.data.find(name) : null;
    this.selected = event ? {view, event} : null;
    if (event) view.reveal(event);
    this.onselect();
    this.redrawMarks();
  }

  // The event before or after the selected one; without a selection the first in view of the judged GPU.
  step(by) {
    if (!this.selected) {
      this.selectFirst();
      return;
    }
    const {view, event} = this.selected;
    const next = neighbourEvent(event, by);
    if (!next) return;
    this.select(view, next);
    this.keepInView();
  }

  selectFirst() {
    const [view] = this.views;
    const isBest = (lane) => lane.isJudged && lane.kind === 'stream';
    const lanes = [...view.data.lanes].sort((a, b) => isBest(b) - isBest(a));
    const [begin, end] = view.view;
    for (const lane of lanes) {
      for (const track of lane.tracks) {
        const [from, to] = track.within(begin, end);
        if (to > from) return this.select(view, {lane, track, index: from});
      }
    }
    return undefined;
  }

  // To the event of the track above or below that is nearest in time.
  stepAcross(by) {
    if (!this.selected) {
      this.selectFirst();
      return;
    }
    const {view, event} = this.selected;
    const places = view.rows.flatMap((row) => row.tracks.map(({track}) =>
      ({track, lane: row.lane || row.lanes.find((lane) => lane.tracks.includes(track))})));
    const middle = (event.track.start[event.index] + event.track.end[event.index]) / 2;
    const at = places.findIndex((place) => place.track === event.track);
    for (let i = at + by; at >= 0 && i >= 0 && i < places.length; i += by) {
      const {lane, track} = places[i];
      if (!track.length) continue;
      const [from] = track.within(middle, middle);
      this.select(view, {lane, track, index: Math.min(from, track.length - 1)});
      this.keepInView();
      return;
    }
  }

  keepInView() {
    if (!this.selected) return;
    const [begin, end] = this.stretchOf(this.selected);
    const span = this.view[1] - this.view[0];
    if (end < this.view[0] || begin > this.view[1]) {
      const middle = (begin + Math.min(end, begin + span)) / 2;
      this.setView([middle - span / 2, middle + span / 2]);
    }
  }

  // ---- the rest ----

  readMatches() {
    for (const view of this.views) view.matches = new TimelineMatches(view.data, this.state, this.views[0].data);
    this.onmatches();
    this.redrawAll();
  }

  toggled(view) {
    const at = this.views.indexOf(view);
    const prefix = at > 0 ? `${at}.` : '';
    return (this.state.get('timeline.folds') || '').split(',').filter((key) => key.startsWith(prefix))
        .map((key) => key.slice(prefix.length));
  }

  toggle(view, key) {
    const at = this.views.indexOf(view);
    const name = `${at > 0 ? `${at}.` : ''}${key}`;
    const keys = (this.state.get('timeline.folds') || '').split(',').filter(Boolean);
    const rest = keys.filter((one) => one !== name);
    if (rest.length === keys.length) rest.push(name);
    this.state.set({'timeline.folds': rest.join(',') || null});
  }

  // One thing at a time: selection, range, then what is highlighted.
  clear() {
    const {state} = this;
    if (state.get('timeline.event') !== null) state.set({'timeline.event': null});
    else if (state.get('range') !== null) state.set({range: null});
    else state.set({search: null, category: null, kernel: null, call: null, finding: null});
  }
}
