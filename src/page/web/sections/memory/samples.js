// Memory over time. Nothing here needs a document.

// The samples of each device, by device: {device, start, allocated, reserved} with arrays in order of time.
export function readMemory(table) {
  const devices = new Map();
  const [device, start, allocated, reserved] =
    ['device', 'start', 'allocated', 'reserved'].map((name) => table.column(name));
  for (let row = 0; row < table.rows; row++) {
    if (Number.isNaN(start[row])) continue;
    if (!devices.has(device[row])) devices.set(device[row], {device: device[row], rows: []});
    devices.get(device[row]).rows.push(row);
  }
  return [...devices.values()].sort((a, b) => a.device - b.device).map(({device: number, rows}) => {
    rows.sort((a, b) => start[a] - start[b]);
    const pick = (column) => Float64Array.from(rows, (row) => column[row]);
    return {device: number, start: pick(start), allocated: pick(allocated), reserved: pick(reserved)};
  });
}

// The last sample at or before a time, or -1.
export function sampleAt(start, at) {
  let [low, high] = [0, start.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (start[middle] <= at) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

// The samples that a range shows: from the one that holds at its begin to the last one in it: [first, after the last].
export function samplesIn(start, [begin, end]) {
  return [Math.max(0, sampleAt(start, begin)), sampleAt(start, end) + 1];
}

// The largest value in the range: {row, value}; null if there is none.
export function peakIn(values, [first, last]) {
  let row = -1;
  for (let i = first; i < last; i++) {
    if (values[i] >= 0 && (row < 0 || values[i] > values[row])) row = i;
  }
  return row < 0 ? null : {row, value: values[row]};
}

// A path of steps: a value holds until the next sample. Where several samples fall on one pixel, it goes over their
// smallest and largest value. Unknown values (NaN) are skipped. Returns the points [x, y] of the path's corners.
export function stepPoints(start, values, [first, last], [begin, end], x, y) {
  const points = [];
  let [column, low, high, current] = [null, 0, 0, NaN];
  const flush = () => {
    if (column === null) return;
    const order = points.length && Math.abs(points.at(-1)[1] - y(high)) < Math.abs(points.at(-1)[1] - y(low)) ?
      [high, low, current] : [low, high, current];
    if (points.length) points.push([column, points.at(-1)[1]]);
    for (const value of order) {
      if (!points.length || points.at(-1)[1] !== y(value) || points.at(-1)[0] !== column) {
        points.push([column, y(value)]);
      }
    }
  };
  for (let i = first; i < last; i++) {
    if (Number.isNaN(values[i])) continue;
    const place = Math.round(x(Math.min(Math.max(start[i], begin), end)));
    if (place !== column) {
      flush();
      [column, low, high] = [place, values[i], values[i]];
    }
    current = values[i];
    low = Math.min(low, current);
    high = Math.max(high, current);
  }
  flush();
  if (points.length) points.push([Math.round(x(end)), points.at(-1)[1]]);
  return points;
}
