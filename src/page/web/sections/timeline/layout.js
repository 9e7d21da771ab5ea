// Where each lane stands: groups (devices, processes) with a heading, their lanes below it, in CSS pixels from the top.
//
// A lane is `full`, `mini` (folded: all its tracks in one low row) or `empty` (nothing in view: only a line). A full
// lane of a thread is as high as calls are nested in view. A folded group has one row for all of its lanes. Nothing
// here needs a document.

const GROUP_HEIGHT = 24;
const STREAM_HEIGHT = 22;
const IDLE_HEIGHT = 16;
const DEPTH_HEIGHT = 15;
const MINI_HEIGHT = 18;
const EMPTY_HEIGHT = 11;
const LANE_GAP = 3;
const SHOWN_THREADS = 2; // that are unfolded at first
const SHOWN_STREAMS = 8;

// Lanes by group, devices first; the idle time of the judged device is the last lane of its group.
export function groupLanes(lanes, idle) {
  const groups = new Map();
  for (const lane of lanes) {
    const key = `${lane.kind} ${lane.group}`;
    if (!groups.has(key)) groups.set(key, {key: `g${groups.size}`, label: lane.group, kind: lane.kind, lanes: []});
    groups.get(key).lanes.push(lane);
  }
  const all = [...groups.values()].sort((a, b) => (a.kind === 'thread') - (b.kind === 'thread'));
  for (const group of all) {
    group.isJudged = group.lanes.some((lane) => lane.isJudged);
    group.events = group.lanes.reduce((sum, lane) => sum + lane.events, 0);
  }
  const judged = all.find((group) => group.isJudged) || all.find((group) => group.kind === 'stream');
  if (judged && idle) judged.lanes.push(idle);
  return all;
}

export function laneKey(lane) {
  return `l${lane.index}`;
}

// What is folded at first: threads other than those that launch most, and, if there are many streams, devices that are
// not judged.
export function firstFolds(groups) {
  const threads = groups.filter((group) => group.kind === 'thread').flatMap((group) => group.lanes);
  const streams = groups.filter((group) => group.kind === 'stream').flatMap((group) => group.lanes);
  const busiest = [...threads].sort((a, b) => b.launches - a.launches || b.events - a.events || a.index - b.index);
  const folds = new Set(busiest.slice(SHOWN_THREADS).map(laneKey));
  if (busiest.length > 1 && busiest[1].launches === 0) folds.add(laneKey(busiest[1]));
  if (streams.length > SHOWN_STREAMS) {
    for (const group of groups) {
      if (group.kind === 'stream' && !group.isJudged) folds.add(group.key);
    }
  }
  return folds;
}

// Tracks one below the other, from `top`.
function stackTracks(tracks, top, trackHeight) {
  return tracks.map((track, i) => ({track, top: top + i * trackHeight, height: trackHeight - 1}));
}

function laneRow(lane, top, mode, isEmptyTrack) {
  const row = {type: 'lane', lane, top, mode, tracks: []};
  if (mode === 'empty') return {...row, height: EMPTY_HEIGHT};
  if (mode === 'mini') {
    const height = MINI_HEIGHT - LANE_GAP;
    const count = Math.max(1, lane.tracks.length);
    const each = lane.kind === 'stream' ? height : Math.max(2, Math.floor(height / count));
    const tracks = lane.tracks.map((track, i) =>
      ({track, top: top + (lane.kind === 'stream' ? 0 : Math.min(i * each, height - each)), height: each}));
    return {...row, height: MINI_HEIGHT, tracks};
  }
  const depth = lane.tracks.findLastIndex((track) => !isEmptyTrack(track)) + 1;
  const tracks = lane.kind === 'thread' ? lane.tracks.slice(0, depth) : lane.tracks;
  const single = {stream: STREAM_HEIGHT, thread: DEPTH_HEIGHT, idle: IDLE_HEIGHT}[lane.kind];
  const each = tracks.length > 1 ? DEPTH_HEIGHT : single;
  return {...row, height: Math.max(1, tracks.length) * each + LANE_GAP, tracks: stackTracks(tracks, top, each)};
}

// One row for all lanes of a folded group.
function foldedRow(group, top) {
  const height = MINI_HEIGHT - LANE_GAP;
  const lanes = group.lanes.filter((lane) => lane.kind !== 'idle');
  const tracks = lanes.flatMap((lane) => lane.tracks.slice(0, 1).map((track) => ({track, top, height})));
  return {type: 'folded', group, lanes, top, height: MINI_HEIGHT, tracks};
}

// All rows and their height together. `folds` has keys of groups and lanes; `isEmptyTrack(track)` says whether a track
// has nothing to show.
export function layoutRows(groups, folds, isEmptyTrack) {
  const rows = [];
  let top = 0;
  const add = (row) => {
    rows.push(row);
    top += row.height;
  };
  const isEmpty = (lane) =>
    lane.kind !== 'idle' && lane.tracks.every(isEmptyTrack) && (!lane.bins || isEmptyTrack(lane.bins));
  for (const group of groups) {
    const isFolded = folds.has(group.key);
    add({type: 'group', group, isFolded, top, height: GROUP_HEIGHT, tracks: []});
    if (isFolded) {
      add(foldedRow(group, top));
    }
    for (const lane of isFolded ? group.lanes.filter((one) => one.kind === 'idle') : group.lanes) {
      const mode = isEmpty(lane) ? 'empty' : folds.has(laneKey(lane)) ? 'mini' : 'full';
      add(laneRow(lane, top, mode, isEmptyTrack));
    }
  }
  return {rows, height: top};
}

// The row at a height, or null.
export function laneRowAt(rows, y) {
  return rows.find((row) => row.top <= y && y < row.top + row.height) || null;
}

// The track of a row at a height: {track, top, height}, or null.
export function laneTrackAt(row, y) {
  return row.tracks.find((one) => one.top <= y && y < one.top + one.height + 1) || null;
}

// Where an event is drawn: {top, height} of its track; the row of its group if that is folded; null if nowhere.
export function placeOfEvent(rows, {lane, track}) {
  for (const row of rows) {
    const found = row.tracks.find((one) => one.track === track);
    if (found) return {top: found.top, height: found.height};
    if ((row.lane === lane && row.mode === 'empty') || (row.type === 'folded' && row.lanes.includes(lane))) {
      return {top: row.top, height: row.height};
    }
  }
  return null;
}
