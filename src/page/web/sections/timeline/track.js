// Events of one line of the timeline, sorted by start, as typed arrays.
//
// In a track events follow each other: ends are sorted too, as far as the trace allows (see `reach`), so what a view
// shows is found by binary search. A stream mostly is one track; a thread has one per depth of nesting.

import {Pyramid} from './pyramid.js';

// The first index from 0 to `count` where values[index] > limit.
export function firstIndexAbove(values, count, limit) {
  let low = 0;
  let high = count;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (values[middle] > limit) high = middle;
    else low = middle + 1;
  }
  return low;
}

const LOOK_EVENTS = 64; // more than that are never few

export class Track {
  // start, end: Float64Array; kind: Uint8Array, what decides the colour, below `kinds`; row: Int32Array, the rows of
  // the events' table. weight: ns in which the event worked, or null: all of it (a bin works in a part of its time).
  constructor({start, end, kind, row, kinds, weight = null}) {
    Object.assign(this, {start, end, kind, row, kinds, weight, length: start.length});
    this.reach = reachOf(end);
    this.bins = null;
  }

  // Built when it is first drawn.
  get pyramid() {
    if (!this.bins) this.bins = new Pyramid(this);
    return this.bins;
  }

  // Indexes [from, to) of the events that are at least partly in [begin, end].
  within(begin, end) {
    const from = firstIndexAbove(this.reach, this.length, begin);
    const to = firstIndexAbove(this.start, this.length, end);
    return [Math.min(from, to), to];
  }

  // What of the track is in [begin, end]: 'empty', 'sparse' (hardly anything), 'covered' (one event that lasts nearly
  // all that time) or 'busy'.
  look(begin, end) {
    const [from, to] = this.within(begin, end);
    if (from === to) return 'empty';
    if (to - from > LOOK_EVENTS) return 'busy';
    let [sum, longest] = [0, 0];
    for (let i = from; i < to; i++) {
      const inside = Math.min(this.end[i], end) - Math.max(this.start[i], begin);
      sum += inside;
      longest = Math.max(longest, inside);
    }
    if (longest >= 0.98 * (end - begin)) return 'covered';
    return sum < 0.01 * (end - begin) ? 'sparse' : 'busy';
  }

  // The event at a time, give or take `slack` ns: the one that covers the time, else the longest near it; -1 if none.
  at(time, slack) {
    const [from, to] = this.within(time - slack, time + slack);
    let best = -1;
    for (let i = from; i < Math.min(to, from + 4096); i++) {
      if (this.end[i] < time - slack) continue;
      if (slack < this.end[i] - this.start[i] && this.start[i] <= time && time < this.end[i]) return i;
      if (best < 0 || this.end[i] - this.start[i] > this.end[best] - this.start[best]) best = i;
    }
    return best;
  }

  // The index of the event with this row, or -1.
  indexOf(row) {
    return this.row.indexOf(row);
  }

  // The events for which `keeps(row)` says so, as a track of its own.
  subset(keeps) {
    const chosen = new Int32Array(this.length);
    let count = 0;
    for (let i = 0; i < this.length; i++) {
      if (keeps(this.row[i])) chosen[count++] = i;
    }
    return this.pick(chosen.subarray(0, count));
  }

  pick(chosen) {
    const take = (values) => {
      const taken = new values.constructor(chosen.length);
      for (let i = 0; i < chosen.length; i++) taken[i] = values[chosen[i]];
      return taken;
    };
    return new Track({start: take(this.start), end: take(this.end), kind: take(this.kind), row: take(this.row),
      kinds: this.kinds, weight: this.weight && take(this.weight)});
  }
}

// The latest end of an event and those before it. The same array where ends are sorted.
function reachOf(end) {
  let i = 1;
  while (i < end.length && end[i] >= end[i - 1]) i++;
  if (i >= end.length) return end;
  const reach = end.slice();
  for (; i < reach.length; i++) reach[i] = Math.max(reach[i], reach[i - 1]);
  return reach;
}

const MOST_TRACKS = 8;

// Which of several parallel tracks each event of a stream belongs to, so that none covers another: {places, count}.
// Events whose times overlap slightly stay side by side: clocks of GPUs are not exact, and a kernel may start
// before the one before it has ended. More than MOST_TRACKS events at a time share the last track.
export function separateEvents(start, end) {
  const places = new Uint8Array(start.length);
  const lastStart = [];
  const lastEnd = [];
  for (let i = 0; i < start.length; i++) {
    let place = 0;
    while (place < lastEnd.length && place < MOST_TRACKS - 1) {
      const slack = Math.min(end[i] - start[i], lastEnd[place] - lastStart[place]) / 4;
      if (start[i] >= lastEnd[place] - slack && end[i] >= lastEnd[place]) break;
      place++;
    }
    places[i] = place;
    lastStart[place] = start[i];
    lastEnd[place] = end[i];
  }
  return {places, count: Math.max(1, lastEnd.length)};
}

// Tracks from events that are sorted by start: `places` says which track each event goes to.
export function splitTracks(events, places, count) {
  const whole = new Track(events);
  if (count === 1) return [whole];
  const sizes = new Int32Array(count);
  for (const place of places) sizes[place]++;
  const chosen = Array.from(sizes, (size) => new Int32Array(size));
  const used = new Int32Array(count);
  for (let i = 0; i < places.length; i++) chosen[places[i]][used[places[i]]++] = i;
  return chosen.map((indexes) => whole.pick(indexes));
}
