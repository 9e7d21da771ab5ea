// The points of the roofline: ops of one shape, with their intensity and rate, from the sheets of the report.
//
// PyTorch reports have them in unified_perf_summary, JAX reports in op_gemm, op_conv and other sheets named op_*.
// A range shows the ops that ran in it, each with its share of the time.

// A sheet's columns: the first of these names that it has.
const ROOFLINE_COLUMNS = {
  name: ['name'], shapes: ['Input Dims', 'Input Dims_first'], count: ['operation_count', 'name_count'],
  intensity: ['FLOPS/Byte', 'FLOPS/Byte_first'], rate: ['TFLOPS/s_mean'], us: ['Kernel Time (µs)_sum'],
  roofUs: ['Roofline Time (µs)_first', 'Roofline Time (µs)'], spec: ['Compute Spec', 'Compute Spec_first'],
  bound: ['Roofline Bound', 'Roofline Bound_first'], category: ['op category'],
  type: ['Input type', 'Input type_first'], gflop: ['GFLOPS', 'GFLOPS_first'],
};

// Where the page does not know the kernels of an op (opTimes), its category in the sheet decides.
const SHEET_CATEGORIES = [
  [/gemm/i, 'GEMM'], [/sdpa|attention|attn/i, 'attention'], [/conv/i, 'convolution'], [/norm/i, 'normalisation'],
  [/elementwise/i, 'elementwise'], [/reduce/i, 'reduction'], [/multi_tensor/i, 'optimizer'],
];

export function rooflineSheets(source) {
  if (source.has('unified_perf_summary')) return [source.table('unified_perf_summary')];
  return [...source.tables.values()].filter((table) => /^op_\w+$/.test(table.name) && table.rows > 0 &&
    ROOFLINE_COLUMNS.intensity.some((name) => table.has(name)));
}

// Gives {points, rows, ns, shaped}: all points, longest first, how many rows the sheets have and their time, and how
// many of them have shapes. A point has op, shapes, count, intensity (flop/byte), rate (TFLOP/s), ns, roofNs (of all
// calls together; NaN: unknown), flop (of all calls together; NaN: unknown), spec, bound and category.
export function rooflinePoints(sheets) {
  const points = [];
  let [rows, ns, shaped] = [0, 0, 0];
  for (const sheet of sheets) {
    const columns = {};
    for (const [key, names] of Object.entries(ROOFLINE_COLUMNS)) {
      const name = names.find((one) => sheet.has(one));
      columns[key] = name === undefined ? null : sheet.column(name);
    }
    for (let row = 0; row < sheet.rows; row++) {
      const point = pointOf(sheet, columns, row);
      rows++;
      shaped += point.shapes ? 1 : 0;
      ns += point.ns > 0 ? point.ns : 0;
      if (point.intensity > 0 && point.rate > 0 && point.ns > 0 && Number.isFinite(point.intensity * point.rate)) {
        points.push(point);
      }
    }
  }
  points.sort((a, b) => b.ns - a.ns);
  return {points, rows, ns, shaped};
}

// Why there are no points.
export function withoutPoints({ns, shaped}) {
  if (!ns) return 'The kernels of ops have no duration in this trace, so that there are no rates.';
  if (!shaped) return 'The trace has no input shapes: profile with record_shapes=True.';
  return 'No op of this trace has a performance model that fits its arguments.';
}

function pointOf(sheet, columns, row) {
  const number = (key) => (columns[key] ? Number(columns[key][row] ?? NaN) : NaN);
  const text = (key) => String(columns[key]?.[row] ?? '');
  const category = text('category') || sheet.name;
  const spec = text('spec') || (sheet.name.startsWith('op_') ? specOfType(text('type')) : '');
  return {
    op: text('name'), shapes: text('shapes'), count: number('count'), intensity: number('intensity'),
    rate: number('rate'), ns: number('us') * 1000, roofNs: number('roofUs') * 1000 * number('count'),
    flop: number('gflop') * 1e9 * number('count'), spec,
    bound: {COMPUTE_BOUND: 'compute', MEMORY_BOUND: 'memory bandwidth'}[text('bound')] || '',
    category: SHEET_CATEGORIES.find(([pattern]) => pattern.test(category))?.[1] || 'other',
  };
}

// The sheets of JAX have no compute spec; their ops are matrix products.
function specOfType(type) {
  const match = /^\('(b?f)(\d+)/.exec(type);
  return match ? `matrix_${match[1] === 'bf' ? 'bf' : 'fp'}${match[2]}` : '';
}

// Shapes are written with and without blanks.
function opKey(op, shapes) {
  return `${op}\n${shapes.replace(/\s+/g, '')}`;
}

// The rows of JAX's sheets are kernels.
function kernelKey(name) {
  return `kernel\n${name}`;
}

// GPU time by op and shapes, and by kernel: {ns, events, category, kernel (row), call (row or null)}; the last three
// are those with the most time. Of events that are cut by a range, only a part counts; NaN: how many is not known.
export function opTimes(source, work) {
  const times = new Map();
  if (!work || !source.has('page_kernels')) return times;
  const calls = source.table('page_calls');
  const [op, shapes] = calls ? [calls.column('op'), calls.column('shapes')] : [[], []];
  const [names, categories] = ['name', 'category'].map((name) => source.table('page_kernels').column(name));
  const keys = new Map();
  const add = (key, row, call) => {
    let entry = times.get(key);
    if (!entry) times.set(key, entry = {ns: 0, events: 0, largest: 0});
    entry.ns += work.ns[row];
    entry.events += work.events ? work.events[row] : NaN;
    if (work.ns[row] <= entry.largest) return;
    Object.assign(entry, {largest: work.ns[row], kernel: work.kernel[row], call,
      category: categories[work.kernel[row]]});
  };
  for (let row = 0; row < work.call.length; row++) {
    const call = work.call[row];
    const isKnown = !Number.isNaN(call) && calls !== null;
    add(kernelKey(names[work.kernel[row]]), row, isKnown ? call : null);
    if (!isKnown) continue;
    if (!keys.has(call)) keys.set(call, opKey(op[call] ?? '', shapes[call] ?? ''));
    add(keys.get(call), row, call);
  }
  return times;
}

// The points of a range: their times scaled by the share of their op's time that is in it, their calls and their work
// by the share of its events, so that the rate is that of these calls. Gives each point its category, kernel and call,
// too. `all` and `some` are opTimes of the trace and of the range (null: the whole trace).
// `unplaced` counts points whose times the page does not know.
export function pointsInRange(points, all, some) {
  const shown = [];
  let unplaced = 0;
  for (const point of points) {
    const key = all.has(opKey(point.op, point.shapes)) ? opKey(point.op, point.shapes) : kernelKey(point.op);
    const whole = all.get(key);
    const part = some && some.get(key);
    if (some && !whole) unplaced++;
    if (some && !(whole && part)) continue;
    const share = part ? part.ns / whole.ns : 1;
    const calls = part && part.events > 0 && whole.events > 0 ? part.events / whole.events : share;
    shown.push({...point, ns: point.ns * share, roofNs: point.roofNs * calls, count: point.count * calls,
      rate: share > 0 ? point.rate * calls / share : point.rate, key,
      category: whole?.category || point.category, kernel: whole?.kernel ?? null, call: whole?.call ?? null});
  }
  return {shown: shown.sort((a, b) => b.ns - a.ns), unplaced};
}

// The ops and shapes that a finding's evidence is about, as keys of points.
export function evidenceOps(source, work, evidence) {
  const keys = new Set();
  const calls = source.table('page_calls');
  for (let row = 0; evidence && row < work.call.length; row++) {
    const [call, kernel] = [work.call[row], work.kernel[row]];
    if (!evidence.has(call, kernel)) continue;
    keys.add(kernelKey(source.table('page_kernels').get('name', kernel)));
    if (calls && !Number.isNaN(call)) keys.add(opKey(calls.get('op', call) ?? '', calls.get('shapes', call) ?? ''));
  }
  return keys;
}

// ((768,), (8944, 1024), (1024, 2816)) gives 8944×1024, 1024×2816: the first two with more than one dimension.
export function shapeLabel(shapes) {
  const parts = [...shapes.slice(0, 2000).matchAll(/[([](\d[\d, ]*)[)\]]/g)]
    .map((match) => match[1].split(/[, ]+/).filter(Boolean));
  const wide = parts.filter((part) => part.length > 1);
  return (wide.length ? wide : parts).slice(0, 2).map((part) => part.join('×')).join(', ');
}

// ---- roofs ----

// The GPU's roofs that these points need: {memory (TB/s), roofs: [{names, rate}]}, highest first; null without rates.
// Precisions with one rate share a roof.
export function rooflineRoofs(source, points) {
  const table = source.table('page_peaks');
  if (!table || !table.rows) return null;
  const peaks = new Map();
  for (let row = 0; row < table.rows; row++) {
    if (table.get('rate', row) > 0) peaks.set(table.get('precision', row), table.get('rate', row));
  }
  const memory = peaks.get('memory');
  peaks.delete('memory');
  if (!memory || !peaks.size) return null;
  const used = new Set(points.map((point) => peakOfSpec(peaks, point.spec)).filter(Boolean));
  const byRate = new Map();
  for (const [name, rate] of peaks) {
    if (!used.size || used.has(name)) byRate.set(rate, [...(byRate.get(rate) || []), name]);
  }
  return {memory, roofs: [...byRate].map(([rate, names]) => ({rate, names})).sort((a, b) => b.rate - a.rate)};
}

// The name in page_peaks of a compute spec: itself, or its precision.
function peakOfSpec(peaks, spec) {
  return [spec, spec.replace(/^(matrix|vector)_/, '')].find((name) => peaks.has(name)) || null;
}

// Points whose sheet has no roofline columns get theirs from the GPU's rates.
export function addRoofs(points, roofs) {
  for (const point of points) {
    const roof = !(point.roofNs > 0) && roofs && roofs.roofs.find(({names}) => names.includes(point.spec));
    if (!roof) continue;
    const slope = point.intensity * roofs.memory;
    point.roofNs = point.ns * point.rate / Math.min(roof.rate, slope);
    point.bound = slope < roof.rate ? 'memory bandwidth' : 'compute';
  }
}

// matrix_fp16, matrix_bf16 as people say it: fp16, bf16 matrix.
export function precisionLabel(...names) {
  const units = new Map();
  for (const name of names) {
    const [, unit, precision] = /^(matrix|vector)_(\w+)$/.exec(name) || [null, '', name];
    units.set(unit, [...(units.get(unit) || []), precision]);
  }
  return [...units].map(([unit, precisions]) => `${precisions.join(', ')} ${unit}`.trim()).join(', ');
}
