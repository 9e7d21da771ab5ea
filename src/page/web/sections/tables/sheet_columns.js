// The columns of a sheet: their kinds and units follow from their headings.

const TIME_UNIT = /(?:\(|_| )(ns|us|µs|μs|ms|s)\)?(?:_(?:sum|mean|median|std|min|max|first|count))?$/;

// Eight columns per sheet that say most; other sheets show their first eight.
const PREFERRED = {
  unified_perf_summary: ['name', 'Input Dims', 'op category', 'operation_count', 'Kernel Time (µs)_sum',
    'TFLOPS/s_mean', 'TB/s_mean', 'Pct Roofline_mean'],
  kernel_summary: ['Kernel name', 'Parent cpu_op', 'Parent op category', 'Kernel stream', 'Kernel duration (µs)_sum',
    'Kernel duration (µs)_count', 'Kernel duration (µs)_mean', 'Percent of kernels time (%)', 'name', 'Count',
    'Mean Kernel Time (µs)', 'Total Kernel Time (ms)', 'Category', 'Percentage (%)'],
  ops_unique_args: ['name', 'Input Dims', 'Input type', 'operation_count', 'total_direct_kernel_time_sum',
    'total_direct_kernel_time_mean', 'Percentage (%)', 'Cumulative Percentage (%)'],
  ops_summary: ['name', 'Categories', 'Count', 'total_direct_kernel_time_ms', 'total_subtree_kernel_time_ms',
    'Percentage (%)', 'Cumulative Percentage (%)'],
  memory_copies: ['direction', 'kind', 'Parent cpu_op', 'count', 'bytes', 'time ms', 'percent', 'Bandwidth (GB/s)'],
};

function kindOfSheet(table, name) {
  const {code} = table.directory.get(name);
  if (code === 'b') return 'bool';
  if (code === 'l') return 'list';
  if (table.isNumeric(name)) return 'number';
  if (/^(title|text|advice|evidence|how|meaning)$/i.test(name)) return 'prose';
  return /name|dims|shape|op$|kernel|site|contribution/i.test(name) ? 'name' : 'text';
}

// The state divides keys by commas.
function keyOfColumn(name) {
  return name.replace(/,/g, ';');
}

// Cells are decoded when they are first asked for.
export function sheetColumns(table) {
  return table.columnNames.map((name, i) => {
    const kind = kindOfSheet(table, name);
    const unit = kind === 'number' ? TIME_UNIT.exec(name)?.[1] : undefined;
    return {key: keyOfColumn(name), title: name, kind, unit: unit || undefined,
      isName: i === 0 || /^(kernel )?name$/i.test(name),
      get cells() {
        return table.column(name);
      }};
  });
}

export function usualColumns(table) {
  const wanted = (Object.hasOwn(PREFERRED, table.name) ? PREFERRED[table.name] : []).filter((name) => table.has(name));
  const others = table.columnNames.filter((name) => !wanted.includes(name));
  return [...wanted, ...others].slice(0, 8).map(keyOfColumn);
}
