// Roofline figures of ops: rows of the sheet unified_perf_summary with the same op and shapes.

const ROOFLINE_SHEET = 'unified_perf_summary';

// key, heading, column of the sheet, kind, help. Means are weighted by time if several rows of the sheet match.
const FIGURES = [
  ['tflops', 'TFLOP/s', 'TFLOPS/s_mean', 'number', 'achieved, of the op\'s kernels'],
  ['tbs', 'TB/s', 'TB/s_mean', 'number', 'achieved, by the bytes that the op needs at least'],
  ['roofline', 'Of roofline', 'Pct Roofline_mean', 'percent',
    'the time that the GPU needs at best, as a share of the kernel time'],
  ['intensity', 'FLOP/byte', 'FLOPS/Byte', 'number', 'arithmetic intensity'],
];

export class RooflineCells {
  constructor(source) {
    this.source = source;
    this.sheet = source.table(ROOFLINE_SHEET);
    this.rows = new Map();
    if (!this.sheet?.has('name') || !this.sheet.has('Input Dims')) return;
    const [names, dims] = [this.sheet.column('name'), this.sheet.column('Input Dims')];
    for (let row = 0; row < this.sheet.rows; row++) {
      const key = `${names[row]}\u0000${dims[row] ?? ''}`;
      if (!this.rows.has(key)) this.rows.set(key, []);
      this.rows.get(key).push(row);
    }
  }

  // Rows of the sheet for a row of page_calls.
  match(call) {
    const calls = this.source.table('page_calls');
    return this.rows.get(`${calls.get('op', call)}\u0000${calls.get('shapes', call) ?? ''}`) || [];
  }

  weighted(name, rows) {
    const weights = this.sheet.has('Kernel Time (µs)_sum') ? this.sheet.column('Kernel Time (µs)_sum') : null;
    const values = this.sheet.column(name);
    let [sum, weight] = [0, 0];
    for (const row of rows) {
      const one = rows.length > 1 && weights ? weights[row] : 1;
      if (Number.isNaN(values[row]) || !(one > 0)) continue;
      sum += one * values[row];
      weight += one;
    }
    return weight ? sum / weight : NaN;
  }

  // Columns for groups of ops; none without the sheet.
  columns(groups) {
    const matches = groups.map((group) => this.match(group.id));
    if (!matches.some((rows) => rows.length)) return [];
    const figures = FIGURES.filter(([, , name]) => this.sheet.has(name) && this.sheet.isNumeric(name));
    const columns = figures.map(([key, title, name, kind, help]) => (
      {key, title, kind, help, cells: Float64Array.from(matches, (rows) => this.weighted(name, rows))}));
    const texts = [['bound', 'Bound', 'Roofline Bound'], ['spec', 'Precision', 'Compute Spec']]
      .filter(([, , name]) => this.sheet.has(name));
    return [...columns, ...texts.map(([key, title, name]) => (
      {key, title, kind: 'text', cells: matches.map((rows) => (rows.length ? this.sheet.get(name, rows[0]) : null))}))];
  }
}
