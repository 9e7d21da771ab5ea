// Where each lane stands: groups (devices, processes) with a heading, their lanes below it, in CSS pixels from the top.
// Nothing here needs a document.
//
// A lane is `full`, `mini` (folded: all its tracks in one low row) or `empty` (nothing in view: only a line). Inside a
// full lane of a thread, depths with little in view take hardly any room, and so do outer calls that last as long as
// the view. A folded group has one row for all of its lanes; so have the lesser lanes of a group that has very many.

const GROUP_HEIGHT = 24;
const STREAM_HEIGHT = 22;
const IDLE_HEIGHT = 16;
const DEPTH_HEIGHT = 15;
const THIN_DEPTH_HEIGHT = 5;
const EMPTY_DEPTH_HEIGHT = 2;
const MINI_HEIGHT = 18;
const EMPTY_HEIGHT = 11;
const LANE_GAP = 3;
const UNFOLDED_THREADS = 2; // at first
const UNFOLDED_STREAMS = 8;
const MAIN_LANES = 8; // of a group that has many

// Lanes by group, devices first: {key, label, kind, main, rest, idle}. `rest` has the lanes with least to show of a
// group that has many; `idle` is the idle time of the judged device.
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
    const isMany = group.lanes.length > MAIN_LANES + 2;
    const best = new Set([...group.lanes].sort(byImportance).slice(0, isMany ? MAIN_LANES : Infinity));
    group.main = group.lanes.filter((lane) => best.has(lane));
    group.rest = group.lanes.filter((lane) => !best.has(lane));
    group.idle = null;
  }
  const judged = all.find((group) => group.isJudged) || all.find((group) => group.kind === 'stream');
  if (judged) judged.idle = idle;
  return all;
}

function byImportance(a, b) {
  return b.launches - a.launches || b.busy - a.busy || b.events - a.events || a.index - b.index;
}

export function laneKey(lane) {
  return `l${lane.index}`;
}

export function restKey(group) {
  return `${group.key}r`;
}

// What is folded at first: threads other than those that launch most, lesser lanes, and, if there are many streams,
// devices that are not judged.
export function firstFolds(groups) {
  const lanesOf = (kind) => groups.filter((group) => group.kind === kind).flatMap((group) => group.lanes);
  const busiest = lanesOf('thread').sort(byImportance);
  const folds = new Set(busiest.slice(UNFOLDED_THREADS).map(laneKey));
  if (busiest.length > 1 && busiest[1].launches === 0) folds.add(laneKey(busiest[1]));
  const hasManyStreams = lanesOf('stream').length > UNFOLDED_STREAMS;
  for (const group of groups) {
    if (group.rest.length) folds.add(restKey(group));
    if (hasManyStreams && group.kind === 'stream' && !group.isJudged) folds.add(group.key);
  }
  return folds;
}

// Heights of the tracks of a full lane. The innermost of the calls that last as long as the view keeps its name.
function trackHeights(lane, look) {
  const single = {stream: STREAM_HEIGHT, thread: DEPTH_HEIGHT, idle: IDLE_HEIGHT}[lane.kind];
  if (lane.kind !== 'thread') return lane.tracks.map(() => (lane.tracks.length > 1 ? DEPTH_HEIGHT : single));
  const looks = lane.tracks.map(look);
  const covered = looks.findLastIndex((one, i) => one === 'covered' && !looks.slice(0, i).includes('busy'));
  return looks.map((one, i) => {
    if (one === 'empty') return EMPTY_DEPTH_HEIGHT;
    return one === 'sparse' || (one === 'covered' && i < covered) ? THIN_DEPTH_HEIGHT : DEPTH_HEIGHT;
  });
}

function fullRow(lane, top, look) {
  const heights = trackHeights(lane, look);
  const depth = heights.findLastIndex((height) => height > EMPTY_DEPTH_HEIGHT) + 1;
  let at = top;
  const tracks = lane.tracks.slice(0, depth).map((track, i) => {
    const place = {track, top: at, height: heights[i] - 1};
    at += heights[i];
    return place;
  });
  const height = Math.max(at - top, lane.kind === 'stream' ? STREAM_HEIGHT : DEPTH_HEIGHT) + LANE_GAP;
  return {type: 'lane', lane, lanes: [lane], top, mode: 'full', height, tracks};
}

function miniRow(lane, top) {
  const height = MINI_HEIGHT - LANE_GAP;
  const each = lane.kind === 'stream' ? height : Math.max(2, Math.floor(height / Math.max(1, lane.tracks.length)));
  const tracks = lane.tracks.map((track, i) =>
    ({track, top: top + (lane.kind === 'stream' ? 0 : Math.min(i * each, height - each)), height: each}));
  return {type: 'lane', lane, lanes: [lane], top, mode: 'mini', height: MINI_HEIGHT, tracks};
}

// One row for several lanes.
function joinedRow(type, group, lanes, top) {
  const height = MINI_HEIGHT - LANE_GAP;
  const tracks = lanes.flatMap((lane) => lane.tracks.slice(0, 1).map((track) => ({track, top, height})));
  return {type, group, lanes, top, height: MINI_HEIGHT, tracks};
}

// All rows and their height together. `folds` has keys of groups, lanes and rests. look(track) says what a track has in
// view: see Track.look.
export function layoutRows(groups, folds, look) {
  const rows = [];
  let top = 0;
  const add = (row) => {
    rows.push(row);
    top += row.height;
  };
  const isEmpty = (track) => look(track) === 'empty';
  const addLane = (lane) => {
    if (lane.kind !== 'idle' && lane.tracks.every(isEmpty) && (!lane.bins || isEmpty(lane.bins))) {
      add({type: 'lane', lane, lanes: [lane], top, mode: 'empty', height: EMPTY_HEIGHT, tracks: []});
    } else add(folds.has(laneKey(lane)) ? miniRow(lane, top) : fullRow(lane, top, look));
  };
  for (const group of groups) {
    const isFolded = folds.has(group.key);
    add({type: 'group', group, lanes: [], isFolded, top, height: GROUP_HEIGHT, tracks: []});
    if (isFolded) add(joinedRow('folded', group, group.lanes, top));
    else {
      group.main.forEach(addLane);
      if (group.rest.length) addRest(group, folds.has(restKey(group)), add, addLane, () => top);
    }
    if (group.idle) addLane(group.idle);
  }
  return {rows, height: top};
}

function addRest(group, isFolded, add, addLane, top) {
  add({...joinedRow('rest', group, isFolded ? group.rest : [], top()), isFolded});
  if (!isFolded) group.rest.forEach(addLane);
}

// The row at a height, or null.
export function laneRowAt(rows, y) {
  return rows.find((row) => row.top <= y && y < row.top + row.height) || null;
}

// The track of a row at a height: {track, top, height}, or null.
export function laneTrackAt(row, y) {
  return row.tracks.find((one) => one.top <= y && y < one.top + one.height + 1) || null;
}

// Where an event is drawn: {top, height} of its track, else of the row that stands for its lane; null if nowhere.
export function placeOfEvent(rows, {lane, track}) {
  for (const row of rows) {
    const found = row.tracks.find((one) => one.track === track);
    if (found) return {top: found.top, height: found.height};
    if (row.lanes.includes(lane)) {
      return {top: row.top, height: row.height};
    }
  }
  return null;
}
