// Draws a whole timeline: ground, ticks, lanes; and, on a second canvas that changes more often, what was chosen.

import {LanePainter, fillsOf, laneText} from './paint.js';
import {timeTicks} from './axis.js';
import {placeOfEvent} from './layout.js';

export const AXIS_HEIGHT = 22;
const STEPS_HEIGHT = 18;
const STEP_LEAST = 4; // CSS pixels: narrower steps are not drawn one by one

// What the scene is drawn from:
//   data, rows, scroll (CSS pixels), matches, view, range, origin (the time called 0), colors, label(lane, row)
//   hovered, selected: {lane, track, index} or null; cursor: a time or null
export class TimelineScene {
  constructor(canvas, size, model) {
    const {width, height, ratio} = size;
    this.context = canvas.getContext('2d');
    this.model = model;
    this.ratio = ratio;
    this.painter = new LanePainter(this.context, {width, height, ratio, view: model.view, colors: model.colors});
    this.width = width;
    this.height = height;
    this.head = this.pixels(headHeight(model.data));
    this.context.clearRect(0, 0, width, height);
  }

  pixels(css) {
    return Math.round(css * this.ratio);
  }

  // A row's height in the canvas.
  y(top) {
    return this.head + this.pixels(top - this.model.scroll);
  }

  fill(color, left, top, width, height) {
    this.context.fillStyle = color;
    this.context.fillRect(left, top, width, height);
  }

  // ---- the lower canvas ----

  drawLanes() {
    const {model} = this;
    const axis = timeTicks(model.view, this.width / this.ratio, model.origin);
    this.ground(axis);
    this.context.save();
    this.context.beginPath();
    this.context.rect(0, this.head, this.width, this.height - this.head);
    this.context.clip();
    for (const row of model.rows) {
      const top = this.y(row.top);
      const height = this.pixels(row.height);
      if (top > this.height || top + height < this.head) continue;
      this.row(row, top, height);
    }
    this.context.restore();
    this.ruler(axis);
  }

  ground(axis) {
    const {colors, data, view} = this.model;
    const outside = data.window ? [[view[0], data.window[0]], [data.window[1], view[1]]] : [];
    this.fill(colors.paper, 0, 0, this.width, this.height);
    for (const [begin, end] of outside) {
      const left = Math.max(0, this.painter.x(begin));
      const right = Math.min(this.width, this.painter.x(end));
      if (right > left) this.fill(colors.surface, left, this.head, right - left, this.height - this.head);
    }
    for (const tick of axis.ticks) {
      this.fill(colors.line, Math.round(this.painter.x(tick.at)), this.head, Math.max(1, Math.floor(this.ratio)),
          this.height - this.head);
    }
  }

  row(row, top, height) {
    const {colors, matches} = this.model;
    if (row.type === 'group') {
      this.fill(colors.surface, 0, top, this.width, height);
      this.fill(colors.line, 0, top, this.width, Math.max(1, Math.floor(this.ratio)));
      return;
    }
    for (const lane of row.lanes) this.bins(lane, top, height - this.pixels(4));
    for (const {track, top: trackTop, height: trackHeight} of row.tracks) {
      const lane = row.lane || row.lanes.find((one) => one.tracks.includes(track));
      const place = [fillsOf(colors, lane), this.y(trackTop), this.pixels(trackHeight)];
      const label = row.mode === 'full' && trackHeight > 10 ?
          (part) => (index) => this.model.label(lane, part.row[index]) : () => null;
      const part = matches.part(lane, track);
      if (part === track) {
        this.painter.track(track, ...place, label(track));
        continue;
      }
      this.painter.dimmed(() => this.painter.track(track, ...place, null));
      if (part) this.painter.track(part, ...place, label(part));
    }
  }

  // Bins, where the page has no single events.
  bins(lane, top, height) {
    const {colors, data, matches, view} = this.model;
    if (!lane.bins) return;
    const drawAll = () => this.painter.track(lane.bins, colors.work, top, height, null);
    const draw = matches.part(lane, lane.bins) ? drawAll : () => this.painter.dimmed(drawAll);
    const stretches = data.exact ? [[view[0], data.exact[0]], [data.exact[1], view[1]]] : [view];
    for (const [begin, end] of stretches) this.painter.between(begin, end, top, height, draw);
  }

  ruler(axis) {
    const {context, painter} = this;
    const {colors, data} = this.model;
    const line = Math.max(1, Math.floor(this.ratio));
    this.fill(colors.paper, 0, 0, this.width, this.head);
    if (data.steps) this.steps(this.pixels(AXIS_HEIGHT));
    context.font = painter.font();
    context.textBaseline = 'middle';
    context.textAlign = 'left';
    const middle = this.pixels(AXIS_HEIGHT / 2);
    let free = 0;
    if (axis.base) {
      context.fillStyle = colors.text;
      context.fillText(axis.base.label, this.pixels(4), middle);
      free = context.measureText(axis.base.label).width + this.pixels(14);
    }
    for (const tick of axis.ticks) {
      const x = Math.round(painter.x(tick.at));
      this.fill(colors['line-strong'], x, this.pixels(AXIS_HEIGHT - 6), line, this.pixels(6));
      if (x < free - this.pixels(4)) continue;
      context.fillStyle = colors.muted;
      context.fillText(tick.label, x + this.pixels(4), middle);
    }
    this.fill(colors['line-strong'], 0, this.head - line, this.width, line);
    this.windowMark();
  }

  // A line along the ruler over the window that findings judge.
  windowMark() {
    const {colors, data} = this.model;
    if (!data.window) return;
    const left = Math.max(0, Math.round(this.painter.x(data.window[0])));
    const right = Math.min(this.width, Math.round(this.painter.x(data.window[1])));
    if (right <= left) return;
    this.fill(colors.accent, left, this.head - this.pixels(2), right - left, this.pixels(2));
  }

  steps(top) {
    const {context, painter} = this;
    const {colors, data, view, stepName} = this.model;
    const height = this.pixels(STEPS_HEIGHT);
    const [from, to] = data.steps.within(view[0], view[1]);
    context.font = painter.font();
    context.textBaseline = 'middle';
    const isDense = (to - from) * STEP_LEAST * this.ratio > this.width;
    for (let i = isDense ? to : from; i < to; i++) {
      const left = Math.round(painter.x(data.steps.start[i]));
      const right = Math.round(painter.x(data.steps.end[i]));
      this.fill(i % 2 ? colors['accent-soft'] : colors.surface, left, top, Math.max(1, right - left), height);
      this.fill(colors['line-strong'], left, top, Math.max(1, Math.floor(this.ratio)), height);
      const begin = Math.max(0, left) + this.pixels(4);
      const text = laneText(context, stepName(data.steps.row[i]), Math.min(right, this.width) - begin);
      context.fillStyle = colors.text;
      if (text) context.fillText(text, begin, top + height / 2);
    }
    if (!isDense) return;
    this.fill(colors['accent-soft'], painter.x(data.steps.start[from]), top,
        painter.x(data.steps.reach[to - 1]) - painter.x(data.steps.start[from]), height);
    context.fillStyle = colors.text;
    context.fillText(`${(to - from).toLocaleString('en-US')} steps`, this.pixels(4), top + height / 2);
  }

  // ---- the upper canvas ----

  drawMarks() {
    const {cursor, colors, hovered, selected} = this.model;
    this.evidence();
    this.brush();
    if (cursor !== null) this.fill(colors['line-strong'], Math.round(this.painter.x(cursor)), 0, 1, this.height);
    this.context.save();
    this.context.beginPath();
    this.context.rect(0, this.head, this.width, this.height - this.head);
    this.context.clip();
    if (hovered) this.outline(hovered, colors.text, 1);
    if (selected) {
      this.arrow(selected);
      this.outline(selected, colors.text, 2);
    }
    this.context.restore();
  }

  evidence() {
    const {colors, matches} = this.model;
    if (!matches.evidence) return;
    this.context.fillStyle = colors.warn;
    let last = -1;
    for (const [begin, end] of matches.evidence.stretches) {
      const left = Math.max(last, Math.floor(this.painter.x(begin)));
      const right = Math.ceil(this.painter.x(end));
      if (right <= left || right < 0 || left > this.width) continue;
      this.context.globalAlpha = 0.16;
      this.context.fillRect(left, this.head, right - left, this.height);
      this.context.globalAlpha = 1;
      this.context.fillRect(left, this.head - this.pixels(4), right - left, this.pixels(4));
      last = right;
    }
  }

  // What is outside of the chosen range is veiled.
  brush() {
    const {colors, range} = this.model;
    if (!range) return;
    const [left, right] = range.map((time) => Math.round(this.painter.x(time)));
    this.context.globalAlpha = 0.6;
    if (left > 0) this.fill(colors.surface, 0, this.head, Math.min(left, this.width), this.height);
    if (right < this.width) this.fill(colors.surface, Math.max(0, right), this.head, this.width, this.height);
    this.context.globalAlpha = 0.25;
    this.fill(colors.accent, left, 0, right - left, this.pixels(AXIS_HEIGHT));
    this.context.globalAlpha = 1;
    for (const x of [left, right]) {
      this.fill(colors.accent, x - this.pixels(1), 0, this.pixels(2), this.height);
      this.fill(colors.accent, x - this.pixels(3), this.pixels(4), this.pixels(6), this.pixels(AXIS_HEIGHT - 8));
    }
  }

  // Where an event is on the canvas, at least a few pixels wide; null if it is not drawn.
  box(event) {
    const place = placeOfEvent(this.model.rows, event);
    if (!place) return null;
    const left = Math.max(-10, this.painter.x(event.track.start[event.index]));
    const right = Math.min(this.width + 10, this.painter.x(event.track.end[event.index]));
    const width = Math.max(this.pixels(2), right - left);
    return {left, top: this.y(place.top), width, height: this.pixels(place.height)};
  }

  outline(event, color, thickness) {
    const box = this.box(event);
    if (!box) return;
    const line = this.pixels(thickness);
    this.context.lineWidth = line;
    this.context.strokeStyle = color;
    this.context.strokeRect(box.left - line / 2, box.top - line / 2, box.width + line, box.height + line);
  }

  // From the call that launched the event.
  arrow(event) {
    const {data, colors} = this.model;
    const launch = data.launchOf(event);
    const from = launch && this.box(launch);
    const to = this.box(event);
    if (!from || !to) return;
    const [x0, y0] = [this.painter.x(launch.track.start[launch.index]), from.top];
    const [x1, y1] = [this.painter.x(event.track.start[event.index]), to.top + to.height];
    const bend = Math.max(this.pixels(16), Math.abs(y1 - y0) / 2) * Math.sign(y1 - y0 || -1);
    const {context} = this;
    this.outline(launch, colors.accent, 2);
    context.strokeStyle = colors.accent;
    context.fillStyle = colors.accent;
    context.lineWidth = this.pixels(2);
    context.beginPath();
    context.moveTo(x0, y0);
    context.bezierCurveTo(x0, y0 + bend, x1, y1 - bend, x1, y1);
    context.stroke();
    const tip = this.pixels(5) * Math.sign(y1 - y0 || -1);
    context.beginPath();
    context.moveTo(x1, y1);
    context.lineTo(x1 - tip, y1 - 1.6 * tip);
    context.lineTo(x1 + tip, y1 - 1.6 * tip);
    context.fill();
  }
}

export function headHeight(data) {
  return AXIS_HEIGHT + (data.steps ? STEPS_HEIGHT : 0) + 3;
}
