// GPU work by call and kernel: of the whole trace, or of the chosen range.

const COLUMNS = ['call', 'kernel', 'count', 'calls', 'ns'];
const allCategories = new WeakMap();

// Sums of one source, as arrays of the same length: call and kernel (rows; call may be NaN), count, calls (of ops, each
// where its first GPU work is), ns. `events` are counts, too, but of an event that reaches into the range only that
// part counts.
export function workOf(source, range) {
  if (!source.has('page_sums')) return null;
  if (!range) return wholeWork(source.table('page_sums'));
  if (hasExact(source, range)) return exactWork(source.table('page_gpu'), range);
  return binnedWork(source, range);
}

// Whether the page has every GPU event of the range.
export function hasExact(source, range) {
  const begin = source.fact('exact_start');
  return begin === null || (begin <= range[0] && range[1] <= source.fact('exact_end'));
}

// The range that sums can be given for: bins are whole where there are no exact events.
export function roundRange(source, range) {
  if (!range || hasExact(source, range)) return range;
  const width = source.fact('end') / source.fact('sum_bins');
  return [Math.floor(range[0] / width) * width, Math.ceil(range[1] / width) * width];
}

function wholeWork(sums) {
  const [call, kernel, count, calls, ns] = COLUMNS.map((name) => sums.column(name));
  return {call, kernel, count, calls, ns, events: count};
}

// A number of its own for each pair.
export function workKey(call, kernel) {
  return (Number.isNaN(call) ? 0 : call + 1) * 4294967296 + kernel;
}

// The category of the work of a call and kernel.
export function categoryOf(source, call, kernel) {
  if (!allCategories.has(source)) {
    const sums = source.table('page_sums');
    const names = sums.column('category');
    const [calls, kernels] = ['call', 'kernel'].map((name) => sums.column(name));
    allCategories.set(source, new Map(names.map((name, row) => [workKey(calls[row], kernels[row]), name])));
  }
  const known = allCategories.get(source).get(workKey(call, kernel));
  return known ?? source.table('page_kernels').get('category', kernel) ?? 'other';
}

class Adder {
  constructor() {
    this.places = new Map();
    this.call = [];
    this.kernel = [];
    this.count = [];
    this.calls = [];
    this.ns = [];
  }

  // Returns the place of the sum.
  add(call, kernel, count, calls, ns) {
    const key = workKey(call, kernel);
    let place = this.places.get(key);
    if (place === undefined) {
      place = this.call.length;
      this.places.set(key, place);
      this.call.push(call);
      this.kernel.push(kernel);
      this.count.push(0);
      this.calls.push(0);
      this.ns.push(0);
    }
    this.count[place] += count;
    this.calls[place] += calls;
    this.ns[place] += ns;
    return place;
  }
}

// Events that reach into the range count with the part that is in it.
function exactWork(gpu, [begin, end]) {
  const [start, ns, call, kernel, begins] = ['start', 'ns', 'call', 'kernel', 'begins'].map((name) => gpu.column(name));
  const sums = new Adder();
  const events = [];
  for (let row = 0; row < gpu.rows; row++) {
    const inside = Math.min(start[row] + ns[row], end) - Math.max(start[row], begin);
    if (inside <= 0) continue;
    const place = sums.add(call[row], kernel[row], 1, begins[row] ? 1 : 0, inside);
    events[place] = (events[place] || 0) + inside / ns[row];
  }
  return Object.assign(sums, {events});
}

function binnedWork(source, range) {
  const [begin, end] = roundRange(source, range);
  const width = source.fact('end') / source.fact('sum_bins');
  const table = source.table('page_bin_sums');
  const [bin, call, kernel, count, calls, ns] = ['bin', ...COLUMNS].map((name) => table.column(name));
  const sums = new Adder();
  for (let row = 0; row < table.rows; row++) {
    const middle = (bin[row] + 0.5) * width;
    if (begin <= middle && middle < end) {
      sums.add(call[row], kernel[row], count[row], calls[row], ns[row]);
    }
  }
  return Object.assign(sums, {events: sums.count}); // an op is whole in the bin where it begins
}
