// Draws lanes on a canvas. All of it is in device pixels, so that edges are sharp; `ratio` is device pixels per CSS
// pixel.
//
// Events of at least WIDE_PIXELS are rectangles. Narrower ones are summed per column of pixels (pyramid.js): a column
// is as high as the share of its time in which there was work, in the colour of the kind that has most of it.

import {inertText} from '../../chart.js';
import {CATEGORIES, CAUSES, categoryColor, causeColor, causePattern, inkOn, themeColor} from '../../colors.js';
import {HOST_KINDS} from './data.js';
import {PixelColumns} from './pyramid.js';

const WIDE_PIXELS = 2;
const LABEL_LEAST = 34; // CSS pixels that a text needs
const DIMMED_ALPHA = 0.2;
const LANE_FONT = '11px system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", "Liberation Sans", sans-serif';

// The colours of one theme.
export function timelineColors() {
  const variables = ['text', 'muted', 'paper', 'surface', 'line', 'line-strong', 'accent', 'accent-soft', 'warn'];
  const colors = Object.fromEntries(variables.map((name) => [name, themeColor(`--${name}`)]));
  const kinds = HOST_KINDS.map((kind) => themeColor(`--host-${kind}`));
  const inks = HOST_KINDS.map((kind) => themeColor(`--host-${kind}-text`));
  const work = CATEGORIES.map(categoryColor);
  return {...colors,
    work: {plain: work, inks: work.map(inkOn)},
    host: {plain: kinds, inks},
    idle: {plain: CAUSES.map(causeColor), inks: CAUSES.map(() => colors.text), isHatched: true},
  };
}

export function fillsOf(colors, lane) {
  return {stream: colors.work, thread: colors.host, idle: colors.idle}[lane.kind];
}

// Takes a track's walk: single wide events are kept, the rest goes to the columns.
class TrackSink {
  constructor() {
    this.columns = new PixelColumns();
    this.wide = [];
  }

  begin(track, begin, scale, width) {
    Object.assign(this, {track, first: begin, scale, width});
    this.columns.reset(width, track.kinds);
    this.wide.length = 0;
  }

  node(start, end, sums, at) {
    this.columns.addNode((start - this.first) * this.scale, (end - this.first) * this.scale, sums, at, this.scale);
  }

  events(from, to) {
    const {start, end, kind, weight} = this.track;
    for (let i = from; i < to; i++) {
      const left = (start[i] - this.first) * this.scale;
      const right = (end[i] - this.first) * this.scale;
      if (right < 0 || left > this.width) continue;
      if (right - left >= WIDE_PIXELS && !weight) this.wide.push(i);
      else this.columns.add(left, right, kind[i], weight ? Math.min(1, weight[i] / (end[i] - start[i])) : 1);
    }
  }
}

const trackSink = new TrackSink();

export class LanePainter {
  // view: [begin, end] in ns of the trace.
  constructor(context, {width, height, ratio, view, colors}) {
    Object.assign(this, {context, width, height, ratio, colors, begin: view[0], end: view[1]});
    this.scale = width / (view[1] - view[0]);
  }

  x(time) {
    return (time - this.begin) * this.scale;
  }

  font(style = '') {
    return `${style} ${LANE_FONT.replace('11px', `${11 * this.ratio}px`)}`.trim();
  }

  // One track. `top` and `height` are in device pixels; `label(index)` gives the text of an event, or is null.
  track(track, fills, top, height, label) {
    if (!track || !track.length) return;
    trackSink.begin(track, this.begin, this.scale, this.width);
    track.pyramid.walk(this.begin, this.end, 1 / this.scale, trackSink);
    this.narrow(fills, top, height);
    this.wide(track, fills, top, height);
    if (label) this.labels(track, fills, top, height, label);
  }

  // Columns by colour: changing the colour of a canvas is slow.
  narrow(fills, top, height) {
    const runs = new Map();
    trackSink.columns.runs(height, (column, count, kind, share) => {
      if (!runs.has(kind)) runs.set(kind, []);
      runs.get(kind).push(column, count, share);
    });
    for (const [kind, some] of runs) {
      this.context.fillStyle = fills.plain[kind];
      for (let i = 0; i < some.length; i += 3) {
        const high = Math.max(this.ratio, Math.round(some[i + 2] * height));
        this.context.fillRect(some[i], top + height - high, some[i + 1], high);
      }
    }
  }

  // Rectangles with a gap of a pixel to the next one.
  wide(track, fills, top, height) {
    const gap = Math.max(1, Math.round(this.ratio / 2));
    let kind = -1;
    for (const i of trackSink.wide) {
      const left = Math.round(Math.max(-2, this.x(track.start[i])));
      const right = Math.round(Math.min(this.width + 2, this.x(track.end[i])));
      if (track.kind[i] !== kind) {
        kind = track.kind[i];
        this.context.fillStyle = fills.isHatched ? causePattern(this.context, CAUSES[kind]) : fills.plain[kind];
      }
      this.context.fillRect(left, top, Math.max(1, right - left > 3 * gap ? right - left - gap : right - left), height);
    }
  }

  labels(track, fills, top, height, label) {
    const {context} = this;
    const pad = 3 * this.ratio;
    context.font = this.font();
    context.textBaseline = 'middle';
    context.textAlign = 'left';
    for (const i of trackSink.wide) {
      const left = Math.max(0, this.x(track.start[i]));
      const right = Math.min(this.width, this.x(track.end[i]));
      if (right - left < LABEL_LEAST * this.ratio) continue;
      const text = laneText(context, label(i), right - left - 2 * pad);
      if (!text) continue;
      if (fills.isHatched && !this.behind(text, left + pad, right - left, top, height)) continue;
      context.fillStyle = fills.inks[track.kind[i]];
      context.fillText(text, left + pad, top + height / 2 + 0.5 * this.ratio);
    }
  }

  // A plain ground for text on a hatch, if enough of the hatch remains to be seen.
  behind(text, left, room, top, height) {
    const width = this.context.measureText(text).width + 4 * this.ratio;
    if (width > 0.7 * room) return false;
    this.context.fillStyle = this.colors.paper;
    this.context.fillRect(left - 2 * this.ratio, top, width, height);
    return true;
  }

  // Draws what `draw` draws, hardly visible.
  dimmed(draw) {
    this.context.globalAlpha = DIMMED_ALPHA;
    draw();
    this.context.globalAlpha = 1;
  }

  // Draws only between two times.
  between(begin, end, top, height, draw) {
    const left = Math.max(0, Math.floor(this.x(begin)));
    const right = Math.min(this.width, Math.ceil(this.x(end)));
    if (right <= left) return;
    this.context.save();
    this.context.beginPath();
    this.context.rect(left, top, right - left, height);
    this.context.clip();
    draw();
    this.context.restore();
  }
}

const characterWidths = new Map(); // by font, then by character: measuring is slow

function widthOf(context, character) {
  let widths = characterWidths.get(context.font);
  if (!widths) characterWidths.set(context.font, widths = new Map());
  let width = widths.get(character);
  if (width === undefined) widths.set(character, width = context.measureText(character).width);
  return width;
}

// As much of the beginning of a name as fits, or nothing if that is too little: in a lane, names are told apart by
// their beginning. Names come from the trace and may be very long.
export function laneText(context, text, width) {
  const some = inertText(text.slice(0, Math.max(0, Math.floor(width / 2))));
  const dots = widthOf(context, '…');
  let [used, at, cut] = [0, 0, 0];
  for (const character of some) {
    used += widthOf(context, character);
    if (used > width) break;
    at += character.length;
    if (used + dots <= width) cut = at;
  }
  if (used <= width && at === text.length) return some;
  return cut < 2 ? '' : `${some.slice(0, cut)}…`;
}
