// A strip above the timeline: the work of the judged GPU over the whole trace, with a frame around what is shown. The
// frame can be dragged; a click moves it. What is highlighted is seen here too, also outside of the view.

import {element} from '../../dom.js';
import {LanePainter} from './paint.js';

const OVERVIEW_HEIGHT = 26;
const FRAME_LEAST = 6; // pixels

export class TimelineOverview {
  constructor(control, view) {
    Object.assign(this, {control, view, isStale: true});
    const group = view.groups.find((one) => one.isJudged) || view.groups.find((one) => one.kind === 'stream');
    this.lanes = group ? group.lanes : [];
    this.canvas = element('canvas', {'aria-hidden': 'true'});
    this.frame = element('div', {class: 'timeline-frame'});
    this.strip = element('div', {class: 'timeline-strip', title: 'the whole trace; drag the frame to move'},
        this.canvas, this.frame);
    this.node = element('div', {class: 'timeline-overview screen-only'}, this.strip);
    this.drag = null;
    this.strip.addEventListener('pointerdown', (event) => this.down(event));
    this.strip.addEventListener('pointermove', (event) => this.move(event));
    this.strip.addEventListener('pointerup', () => this.drag = null);
    this.strip.addEventListener('pointercancel', () => this.drag = null);
  }

  // As wide as the canvas of the view, and above it.
  resize() {
    const {stage, node} = this.view;
    const left = stage.getBoundingClientRect().left - node.getBoundingClientRect().left;
    this.strip.style.marginLeft = `${Math.round(left)}px`;
    this.strip.style.width = `${this.view.cssWidth}px`;
    this.isStale = true;
  }

  draw() {
    if (this.isStale) this.drawWork();
    const {view, whole} = this.control;
    const scale = this.view.cssWidth / (whole[1] - whole[0]);
    const width = Math.max(FRAME_LEAST, (view[1] - view[0]) * scale);
    const middle = ((view[0] + view[1]) / 2 - whole[0]) * scale;
    const left = Math.min(Math.max(0, middle - width / 2), this.view.cssWidth - width);
    Object.assign(this.frame.style, {width: `${width}px`, transform: `translateX(${left}px)`});
    this.frame.hidden = view[0] === whole[0] && view[1] === whole[1];
  }

  drawWork() {
    this.isStale = false;
    const {control, view, canvas} = this;
    const {ratio, width} = view.size;
    const height = Math.round(OVERVIEW_HEIGHT * ratio);
    Object.assign(canvas, {width, height});
    canvas.style.height = `${OVERVIEW_HEIGHT}px`;
    const painter = new LanePainter(canvas.getContext('2d'), {width, height, ratio, colors: control.colors,
      view: control.whole.map((at) => at + view.offset)});
    const pad = Math.round(3 * ratio);
    const paint = (track) => painter.track(track, control.colors.work, pad, height - 2 * pad, null);
    const tracks = this.lanes.flatMap((lane) => (lane.bins ? [lane.bins] : lane.tracks)
        .map((track) => ({track, part: view.matches.part(lane, track)})));
    for (const {track} of tracks.filter((one) => one.part !== one.track)) painter.dimmed(() => paint(track));
    for (const {part} of tracks) paint(part);
  }

  timeAt(event) {
    const box = this.strip.getBoundingClientRect();
    const {whole} = this.control;
    return whole[0] + (event.clientX - box.left) / box.width * (whole[1] - whole[0]);
  }

  down(event) {
    if (event.button !== 0) return;
    const {control} = this;
    const at = this.timeAt(event);
    const [begin, end] = control.view;
    const isInside = begin <= at && at <= end;
    this.strip.setPointerCapture(event.pointerId);
    this.drag = {from: isInside ? at - (begin + end) / 2 : 0};
    this.move(event);
  }

  move(event) {
    if (!this.drag) return;
    const [begin, end] = this.control.view;
    const middle = this.timeAt(event) - this.drag.from;
    this.control.setView([middle - (end - begin) / 2, middle + (end - begin) / 2]);
  }
}
