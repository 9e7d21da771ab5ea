/* How long does each kernel take, and what limits it?
 *
 * ncu_kernels: kernel, grid, block, launches, total_us, mean_us, min_us, max_us, percent (of the total time
 * of all launches), sm_pct, memory_pct, dram_pct, achieved_occupancy_pct, theoretical_occupancy_pct,
 * waves_per_sm (means, weighted by the duration of the launches), dram_bytes (sum), dram_gb_per_s,
 * registers_per_thread, shared_memory_bytes (the largest).
 *
 * ncu_launches: id, process, device, stream, kernel, grid, block, duration_us and the same figures. */
#include "analysis/ncu/sheets.h"

#include "schema/columns.h"

#include <assert.h>

/* ---- figures of a launch ----
 *
 * Which metrics of ncu are duration, utilisation, occupancy and so on? `--page raw` names metrics by their
 * internal names, `--page details` by labels that changed between versions; units are scaled unless base
 * units were asked for. Where a launch has several of them, the first in the table counts. */

typedef enum ncu_figure {
    NCU_DURATION_US,
    NCU_SM_PCT,
    NCU_MEMORY_PCT,
    NCU_DRAM_PCT,
    NCU_DRAM_BYTES, /* counted, or the rate times the duration */
    NCU_OCCUPANCY_PCT,
    NCU_THEORETICAL_PCT,
    NCU_REGISTERS,
    NCU_SHARED_BYTES, /* static and dynamic shared memory per block */
    NCU_WAVES,
    NCU_FIGURES
} ncu_figure;

typedef enum unit_kind { UNIT_ANY, UNIT_PERCENT, UNIT_TIME, UNIT_BYTES, UNIT_RATE } unit_kind;

/* Parts of figures, after the figures themselves. */
enum { DRAM_READ = NCU_FIGURES, DRAM_WRITE, DRAM_RATE, SHARED_STATIC, SHARED_DYNAMIC, PARTS };

static const struct {
    int part;
    const char *metric;
    unit_kind unit;
} known[] = {
    {NCU_DURATION_US, "gpu__time_duration.sum", UNIT_TIME},
    {NCU_DURATION_US, "gpu__time_duration.avg", UNIT_TIME},
    {NCU_DURATION_US, "Duration", UNIT_TIME},
    {NCU_SM_PCT, "sm__throughput.avg.pct_of_peak_sustained_elapsed", UNIT_PERCENT},
    {NCU_SM_PCT, "Compute (SM) Throughput", UNIT_PERCENT},
    {NCU_SM_PCT, "Compute (SM) [%]", UNIT_PERCENT},
    {NCU_SM_PCT, "SOL SM", UNIT_PERCENT},
    {NCU_SM_PCT, "SM [%]", UNIT_PERCENT},
    {NCU_MEMORY_PCT, "gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed", UNIT_PERCENT},
    {NCU_MEMORY_PCT, "Memory Throughput", UNIT_PERCENT},
    {NCU_MEMORY_PCT, "Memory [%]", UNIT_PERCENT},
    {NCU_MEMORY_PCT, "SOL Memory", UNIT_PERCENT},
    {NCU_DRAM_PCT, "gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed", UNIT_PERCENT},
    {NCU_DRAM_PCT, "dram__throughput.avg.pct_of_peak_sustained_elapsed", UNIT_PERCENT},
    {NCU_DRAM_PCT, "DRAM Throughput", UNIT_PERCENT},
    {NCU_DRAM_BYTES, "dram__bytes.sum", UNIT_BYTES},
    {DRAM_READ, "dram__bytes_read.sum", UNIT_BYTES},
    {DRAM_READ, "dram__bytes_op_read.sum", UNIT_BYTES},
    {DRAM_WRITE, "dram__bytes_write.sum", UNIT_BYTES},
    {DRAM_WRITE, "dram__bytes_op_write.sum", UNIT_BYTES},
    {DRAM_RATE, "dram__bytes.sum.per_second", UNIT_RATE},
    {DRAM_RATE, "Memory Throughput", UNIT_RATE},
    {NCU_OCCUPANCY_PCT, "sm__warps_active.avg.pct_of_peak_sustained_active", UNIT_PERCENT},
    {NCU_OCCUPANCY_PCT, "Achieved Occupancy", UNIT_PERCENT},
    {NCU_THEORETICAL_PCT, "sm__maximum_warps_per_active_cycle_pct", UNIT_PERCENT},
    {NCU_THEORETICAL_PCT, "Theoretical Occupancy", UNIT_PERCENT},
    {NCU_REGISTERS, "launch__registers_per_thread", UNIT_ANY},
    {NCU_REGISTERS, "Registers Per Thread", UNIT_ANY},
    {NCU_SHARED_BYTES, "launch__shared_mem_per_block", UNIT_BYTES},
    {SHARED_STATIC, "launch__shared_mem_per_block_static", UNIT_BYTES},
    {SHARED_STATIC, "Static Shared Memory Per Block", UNIT_BYTES},
    {SHARED_DYNAMIC, "launch__shared_mem_per_block_dynamic", UNIT_BYTES},
    {SHARED_DYNAMIC, "Dynamic Shared Memory Per Block", UNIT_BYTES},
    {NCU_WAVES, "launch__waves_per_multiprocessor", UNIT_ANY},
    {NCU_WAVES, "Waves Per SM", UNIT_ANY},
};

static_assert(GT_LENGTH(known) <= 64, "rows are bits of a number");

static double time_scale(gt_str unit)
{
    static const struct {
        const char *name;
        double us;
    } units[] = {{"nsecond", 1e-3}, {"ns", 1e-3}, {"usecond", 1},  {"us", 1},
                 {"msecond", 1e3},  {"ms", 1e3},  {"second", 1e6}, {"s", 1e6}};
    for (size_t i = 0; i < GT_LENGTH(units); i++)
        if (gt_str_equals(unit, units[i].name)) return units[i].us;
    return NAN;
}

/* "Kbyte/block", "Gbyte/second": prefixes are powers of 1000. */
static double byte_scale(gt_str unit, bool per_second)
{
    double scale = 1;
    static const char prefixes[] = "KMGT";
    for (size_t i = 0; i < 4 && unit.len; i++)
        if (unit.bytes[0] == prefixes[i]) {
            scale = pow(1000, (double)i + 1);
            unit = (gt_str){unit.bytes + 1, unit.len - 1};
            break;
        }
    if (!gt_str_starts_with(unit, "byte")) return NAN;
    bool is_rate = gt_str_equals(unit, "byte/second") || gt_str_equals(unit, "byte/s");
    return is_rate == per_second ? scale : NAN;
}

/* What a number is multiplied with to be in our unit; NaN: a metric of the same name in another kind of unit.
 */
static double scale_of(gt_str unit, unit_kind kind)
{
    switch (kind) {
    case UNIT_PERCENT:
        return gt_str_equals(unit, "%") ? 1 : NAN;
    case UNIT_TIME:
        return time_scale(unit);
    case UNIT_BYTES:
        return byte_scale(unit, false);
    case UNIT_RATE:
        return byte_scale(unit, true);
    default:
        return 1;
    }
}

static void complete(double *parts)
{
    double read = parts[DRAM_READ], write = parts[DRAM_WRITE];
    if (isnan(parts[NCU_DRAM_BYTES])) parts[NCU_DRAM_BYTES] = read + write;
    if (isnan(parts[NCU_DRAM_BYTES])) parts[NCU_DRAM_BYTES] = parts[DRAM_RATE] * parts[NCU_DURATION_US] / 1e6;
    double shared = parts[SHARED_STATIC] + parts[SHARED_DYNAMIC];
    if (!isnan(shared)) parts[NCU_SHARED_BYTES] = shared; /* without what the driver adds */
}

/* NCU_FIGURES numbers per launch, NaN where the launch has no such metric. The metrics are known by the
 * names of `--page raw` and by the labels of `--page details`, in any unit of ncu. The caller frees it. */
static double *find_figures(const gt_ncu *trace)
{
    size_t names = gt_interner_count(trace->strings);
    uint64_t *rows = gt_alloc_zero(names + 1, sizeof *rows); /* per string: the rows of the table, as bits */
    for (size_t i = 0; i < GT_LENGTH(known); i++) {
        uint32_t id = gt_interner_find(trace->strings, known[i].metric, strlen(known[i].metric));
        if (id) rows[id] |= UINT64_C(1) << i;
    }
    double *figures = gt_alloc((trace->launch_count + 1) * NCU_FIGURES * sizeof *figures);
    size_t v = 0;
    for (size_t launch = 0; launch < trace->launch_count; launch++) {
        double parts[PARTS];
        size_t found[PARTS]; /* row of the table that a part comes from */
        for (size_t i = 0; i < PARTS; i++) parts[i] = NAN, found[i] = SIZE_MAX;
        for (; v < trace->value_count && trace->values[v].launch == launch; v++) {
            const gt_ncu_value *value = &trace->values[v];
            for (uint64_t bits = rows[value->metric]; bits; bits &= bits - 1) {
                size_t row = (size_t)__builtin_ctzll(bits);
                double scale = scale_of(gt_interner_get(trace->strings, value->unit), known[row].unit);
                if (isnan(scale) || isnan(value->number) || row >= found[known[row].part]) continue;
                parts[known[row].part] = value->number * scale;
                found[known[row].part] = row;
            }
        }
        complete(parts);
        memcpy(figures + launch * NCU_FIGURES, parts, NCU_FIGURES * sizeof *parts);
    }
    gt_free(rows);
    return figures;
}

/* ---- launches of the same kernel ---- */

/* Launches of the same kernel with the same grid and block. */
typedef struct kernel_groups {
    uint32_t *launches; /* indices, kernel by kernel */
    size_t *first;      /* per kernel, and one more: where its launches begin */
    size_t count;
} kernel_groups;

static int compare_ids(uint32_t a, uint32_t b)
{
    return a < b ? -1 : a > b;
}

static int by_kernel(const void *a, const void *b, void *context)
{
    const gt_ncu *trace = context;
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    const gt_ncu_launch *p = &trace->launches[x], *q = &trace->launches[y];
    int order = compare_ids(p->kernel, q->kernel);
    if (!order) order = compare_ids(p->grid, q->grid);
    if (!order) order = compare_ids(p->block, q->block);
    return order ? order : compare_ids(x, y);
}

static double figure(const double *figures, uint32_t launch, ncu_figure which)
{
    return figures[(size_t)launch * NCU_FIGURES + which];
}

typedef struct kernel_span {
    size_t first, end;
    double total_us;
    uint32_t launch; /* the first one */
} kernel_span;

static int by_time(const void *a, const void *b)
{
    const kernel_span *x = a, *y = b;
    if (x->total_us != y->total_us) return x->total_us > y->total_us ? -1 : 1;
    return compare_ids(x->launch, y->launch);
}

static kernel_groups find_kernels(const gt_ncu *trace, const double *figures)
{
    size_t count = trace->launch_count, spans = 0;
    uint32_t *order = gt_alloc((count + 1) * sizeof *order);
    kernel_span *span = gt_alloc_zero(count + 1, sizeof *span);
    for (size_t i = 0; i < count; i++) order[i] = (uint32_t)i;
    qsort_r(order, count, sizeof *order, by_kernel, (void *)trace);
    for (size_t i = 0; i < count; i++) {
        const gt_ncu_launch *now = &trace->launches[order[i]];
        const gt_ncu_launch *last = i ? &trace->launches[order[i - 1]] : NULL;
        if (!last || last->kernel != now->kernel || last->grid != now->grid || last->block != now->block)
            span[spans++] = (kernel_span){.first = i, .launch = order[i]};
        double us = figure(figures, order[i], NCU_DURATION_US);
        span[spans - 1].end = i + 1;
        if (!isnan(us)) span[spans - 1].total_us += us;
    }
    qsort(span, spans, sizeof *span, by_time);
    kernel_groups kernels = {.launches = gt_alloc((count + 1) * sizeof *kernels.launches),
                             .first = gt_alloc((spans + 1) * sizeof *kernels.first),
                             .count = spans};
    size_t at = 0;
    for (size_t k = 0; k < spans; k++) {
        kernels.first[k] = at;
        size_t n = span[k].end - span[k].first;
        memcpy(kernels.launches + at, order + span[k].first, n * sizeof *order);
        at += n;
    }
    kernels.first[spans] = at;
    gt_free_all(span, order);
    return kernels;
}

static void free_kernels(kernel_groups *kernels)
{
    gt_free_all(kernels->launches, kernels->first);
}

/* ---- ncu_kernels ---- */

/* The mean, weighted by the duration; NaN if no launch has both. */
static double weighted(const double *figures, const uint32_t *launches, size_t count, ncu_figure which)
{
    double sum = 0, weights = 0;
    for (size_t i = 0; i < count; i++) {
        double value = figure(figures, launches[i], which),
               us = figure(figures, launches[i], NCU_DURATION_US);
        if (isnan(value) || isnan(us)) continue;
        sum += value * us;
        weights += us;
    }
    if (weights > 0) return sum / weights;
    size_t n = 0;
    for (size_t i = 0; i < count; i++) {
        double value = figure(figures, launches[i], which);
        if (isnan(value)) continue;
        weights += value;
        n++;
    }
    return n ? weights / (double)n : NAN;
}

typedef struct ncu_span {
    double sum, min, max;
    size_t count;
} ncu_span;

static ncu_span span_of(const double *figures, const uint32_t *launches, size_t count, ncu_figure which)
{
    ncu_span span = {.min = INFINITY, .max = -INFINITY};
    for (size_t i = 0; i < count; i++) {
        double value = figure(figures, launches[i], which);
        if (isnan(value)) continue;
        span.sum += value;
        if (value < span.min) span.min = value;
        if (value > span.max) span.max = value;
        span.count++;
    }
    return span;
}

static void set(gt_table *table, size_t column, size_t row, double value)
{
    if (isfinite(value)) gt_table_set_float(table, column, row, value);
}

static void set_whole(gt_table *table, size_t column, size_t row, double value)
{
    if (isfinite(value) && fabs(value) < 9e15) gt_table_set_int(table, column, row, (int64_t)value);
}

enum { FIGURE_COLUMNS = 10 };
static const gt_column_head figure_heads[FIGURE_COLUMNS] = {
    {GT_COL_SM_PCT, GT_TYPE_FLOAT},
    {GT_COL_MEMORY_PCT, GT_TYPE_FLOAT},
    {GT_COL_DRAM_PCT, GT_TYPE_FLOAT},
    {GT_COL_ACHIEVED_OCCUPANCY_PCT, GT_TYPE_FLOAT},
    {GT_COL_THEORETICAL_OCCUPANCY_PCT, GT_TYPE_FLOAT},
    {GT_COL_WAVES_PER_SM, GT_TYPE_FLOAT},
    {GT_COL_DRAM_BYTES, GT_TYPE_FLOAT},
    {GT_COL_DRAM_GB_PER_S, GT_TYPE_FLOAT},
    {GT_COL_REGISTERS_PER_THREAD, GT_TYPE_INT},
    {GT_COL_SHARED_MEMORY_BYTES, GT_TYPE_INT},
};

/* Fills the columns of figure_heads from `column` on. */
static void set_figures(gt_table *table, size_t row, size_t column, const double *figures,
                        const uint32_t *launches, size_t count)
{
    static const ncu_figure means[] = {NCU_SM_PCT,        NCU_MEMORY_PCT,      NCU_DRAM_PCT,
                                       NCU_OCCUPANCY_PCT, NCU_THEORETICAL_PCT, NCU_WAVES};
    for (size_t i = 0; i < GT_LENGTH(means); i++)
        set(table, column + i, row, weighted(figures, launches, count, means[i]));
    ncu_span bytes = span_of(figures, launches, count, NCU_DRAM_BYTES);
    ncu_span time = span_of(figures, launches, count, NCU_DURATION_US);
    if (bytes.count) set(table, column + 6, row, bytes.sum);
    if (bytes.count && bytes.count == time.count && time.sum > 0)
        set(table, column + 7, row, bytes.sum / time.sum / 1e3);
    set_whole(table, column + 8, row, span_of(figures, launches, count, NCU_REGISTERS).max);
    set_whole(table, column + 9, row, span_of(figures, launches, count, NCU_SHARED_BYTES).max);
}

static gt_table *kernels_sheet(const gt_ncu *trace, const double *figures, const kernel_groups *kernels)
{
    static const gt_column_head heads[] = {
        {GT_COL_KERNEL, GT_TYPE_STRING}, {GT_COL_GRID, GT_TYPE_STRING},    {GT_COL_BLOCK, GT_TYPE_STRING},
        {GT_COL_LAUNCHES, GT_TYPE_INT},  {GT_COL_TOTAL_US, GT_TYPE_FLOAT}, {GT_COL_MEAN_US, GT_TYPE_FLOAT},
        {GT_COL_MIN_US, GT_TYPE_FLOAT},  {GT_COL_MAX_US, GT_TYPE_FLOAT},   {GT_COL_PERCENT, GT_TYPE_FLOAT}};
    gt_table *table = gt_table_new(GT_SHEET_NCU_KERNELS, trace->strings);
    gt_table_add_columns(table, heads, GT_LENGTH(heads));
    gt_table_add_columns(table, figure_heads, FIGURE_COLUMNS);
    double total = 0;
    for (size_t i = 0; i < trace->launch_count; i++) {
        double us = figure(figures, (uint32_t)i, NCU_DURATION_US);
        if (!isnan(us)) total += us;
    }
    for (size_t k = 0; k < kernels->count; k++) {
        const uint32_t *launches = kernels->launches + kernels->first[k];
        size_t count = kernels->first[k + 1] - kernels->first[k], row = gt_table_add_row(table);
        const gt_ncu_launch *launch = &trace->launches[launches[0]];
        ncu_span time = span_of(figures, launches, count, NCU_DURATION_US);
        gt_table_set_string(table, 0, row, launch->kernel);
        gt_table_set_string(table, 1, row, launch->grid);
        gt_table_set_string(table, 2, row, launch->block);
        gt_table_set_int(table, 3, row, (int64_t)count);
        if (time.count) {
            set(table, 4, row, time.sum);
            set(table, 5, row, time.sum / (double)time.count);
            set(table, 6, row, time.min);
            set(table, 7, row, time.max);
            if (total > 0) set(table, 8, row, 100 * time.sum / total);
        }
        set_figures(table, row, GT_LENGTH(heads), figures, launches, count);
    }
    return table;
}

static gt_table *launches_sheet(const gt_ncu *trace, const double *figures)
{
    static const gt_column_head heads[] = {
        {GT_COL_ID, GT_TYPE_INT},        {GT_COL_PROCESS, GT_TYPE_STRING},   {GT_COL_DEVICE, GT_TYPE_STRING},
        {GT_COL_STREAM, GT_TYPE_STRING}, {GT_COL_KERNEL, GT_TYPE_STRING},    {GT_COL_GRID, GT_TYPE_STRING},
        {GT_COL_BLOCK, GT_TYPE_STRING},  {GT_COL_DURATION_US, GT_TYPE_FLOAT}};
    gt_table *table = gt_table_new(GT_SHEET_NCU_LAUNCHES, trace->strings);
    gt_table_add_columns(table, heads, GT_LENGTH(heads));
    gt_table_add_columns(table, figure_heads, FIGURE_COLUMNS);
    for (size_t i = 0; i < trace->launch_count; i++) {
        const gt_ncu_launch *launch = &trace->launches[i];
        uint32_t index = (uint32_t)i, strings[] = {launch->process, launch->device, launch->stream,
                                                   launch->kernel,  launch->grid,   launch->block};
        size_t row = gt_table_add_row(table);
        if (launch->id >= 0) gt_table_set_int(table, 0, row, launch->id);
        for (size_t s = 0; s < GT_LENGTH(strings); s++)
            if (strings[s] != GT_STR_EMPTY) gt_table_set_string(table, 1 + s, row, strings[s]);
        set(table, 7, row, figure(figures, index, NCU_DURATION_US));
        set_figures(table, row, GT_LENGTH(heads), figures, &index, 1);
    }
    return table;
}

/* ---- all sheets ---- */

/* ---- ncu_details ----
 *
 * What was measured of each kernel? ncu_details: kernel, grid, block, section, metric, unit, launches (with
 * that metric), mean, min, max; text, if the values are not numbers: the value if all launches have the same,
 * else how many there are. Kernels in the order of ncu_kernels, metrics in the order of the file. */

/* A value with its place in the sheet. */
typedef struct placed_value {
    size_t value;
    uint32_t kernel;
    uint32_t metric; /* number of its section, metric and unit, in the order of the file */
} placed_value;

static int compare_numbers(uint64_t a, uint64_t b)
{
    return a < b ? -1 : a > b;
}

static int by_metric(const void *a, const void *b, void *context)
{
    const gt_ncu *trace = context;
    size_t i = ((const placed_value *)a)->value, j = ((const placed_value *)b)->value;
    const gt_ncu_value *x = &trace->values[i], *y = &trace->values[j];
    int order = compare_numbers(x->metric, y->metric);
    if (!order) order = compare_numbers(x->section, y->section);
    if (!order) order = compare_numbers(x->unit, y->unit);
    return order ? order : compare_numbers(i, j);
}

static int by_place(const void *a, const void *b)
{
    const placed_value *x = a, *y = b;
    int order = compare_numbers(x->kernel, y->kernel);
    if (!order) order = compare_numbers(x->metric, y->metric);
    return order ? order : compare_numbers(x->value, y->value);
}

static bool is_same_metric(const gt_ncu_value *x, const gt_ncu_value *y)
{
    return x->metric == y->metric && x->section == y->section && x->unit == y->unit;
}

/* Gives each value the number of its metric: the index of the first value with the same one, which orders
 * metrics as the file does. */
static void number_metrics(const gt_ncu *trace, placed_value *placed)
{
    qsort_r(placed, trace->value_count, sizeof *placed, by_metric, (void *)trace);
    size_t first = 0;
    for (size_t i = 0; i < trace->value_count; i++) {
        if (i && !is_same_metric(&trace->values[placed[i].value], &trace->values[placed[i - 1].value]))
            first = i;
        placed[i].metric = (uint32_t)placed[first].value;
    }
}

static void set_text(gt_table *table, size_t row, const gt_ncu *trace, const placed_value *values,
                     size_t count)
{
    uint32_t first = GT_STR_NONE;
    size_t others = 0;
    for (size_t i = 0; i < count; i++) {
        uint32_t text = trace->values[values[i].value].text;
        if (!text) continue;
        if (!first) first = text;
        others += text != first;
    }
    if (!first) return;
    char note[64];
    snprintf(note, sizeof note, "%zu launches differ", others);
    if (others)
        gt_table_set_cstr(table, 10, row, note);
    else
        gt_table_set_string(table, 10, row, first);
}

static void add_row(gt_table *table, const gt_ncu *trace, const placed_value *values, size_t count)
{
    const gt_ncu_value *value = &trace->values[values[0].value];
    const gt_ncu_launch *launch = &trace->launches[value->launch];
    size_t row = gt_table_add_row(table), numbers = 0;
    double sum = 0, min = INFINITY, max = -INFINITY;
    for (size_t i = 0; i < count; i++) {
        double number = trace->values[values[i].value].number;
        if (isnan(number)) continue;
        sum += number;
        if (number < min) min = number;
        if (number > max) max = number;
        numbers++;
    }
    gt_table_set_string(table, 0, row, launch->kernel);
    gt_table_set_string(table, 1, row, launch->grid);
    gt_table_set_string(table, 2, row, launch->block);
    if (value->section > GT_STR_EMPTY) gt_table_set_string(table, 3, row, value->section);
    gt_table_set_string(table, 4, row, value->metric);
    if (value->unit > GT_STR_EMPTY) gt_table_set_string(table, 5, row, value->unit);
    gt_table_set_int(table, 6, row, (int64_t)count);
    if (numbers) {
        gt_table_set_float(table, 7, row, sum / (double)numbers);
        gt_table_set_float(table, 8, row, min);
        gt_table_set_float(table, 9, row, max);
    }
    set_text(table, row, trace, values, count);
}

static gt_table *details_sheet(const gt_ncu *trace, const kernel_groups *kernels)
{
    static const gt_column_head heads[] = {
        {GT_COL_KERNEL, GT_TYPE_STRING},  {GT_COL_GRID, GT_TYPE_STRING},       {GT_COL_BLOCK, GT_TYPE_STRING},
        {GT_COL_SECTION, GT_TYPE_STRING}, {GT_COL_NCU_METRIC, GT_TYPE_STRING}, {GT_COL_UNIT, GT_TYPE_STRING},
        {GT_COL_LAUNCHES, GT_TYPE_INT},   {GT_COL_MEAN, GT_TYPE_FLOAT},        {GT_COL_MIN, GT_TYPE_FLOAT},
        {GT_COL_MAX, GT_TYPE_FLOAT},      {GT_COL_TEXT, GT_TYPE_STRING}};
    gt_table *table = gt_table_new(GT_SHEET_NCU_DETAILS, trace->strings);
    gt_table_add_columns(table, heads, GT_LENGTH(heads));
    uint32_t *kernel_of = gt_alloc((trace->launch_count + 1) * sizeof *kernel_of);
    for (size_t k = 0; k < kernels->count; k++)
        for (size_t i = kernels->first[k]; i < kernels->first[k + 1]; i++)
            kernel_of[kernels->launches[i]] = (uint32_t)k;
    placed_value *placed = gt_alloc((trace->value_count + 1) * sizeof *placed);
    for (size_t i = 0; i < trace->value_count; i++)
        placed[i] = (placed_value){.value = i, .kernel = kernel_of[trace->values[i].launch]};
    number_metrics(trace, placed);
    qsort(placed, trace->value_count, sizeof *placed, by_place);
    for (size_t i = 0, end; i < trace->value_count; i = end) {
        end = i + 1;
        while (end < trace->value_count && placed[end].kernel == placed[i].kernel &&
               placed[end].metric == placed[i].metric)
            end++;
        add_row(table, trace, placed + i, end - i);
    }
    gt_free_all(placed, kernel_of);
    return table;
}

/* ---- all sheets ---- */

void gt_ncu_tables(const gt_ncu *trace, gt_table_list *tables)
{
    if (!trace->launch_count) gt_warn("ncu profiled no kernels");
    double *figures = find_figures(trace);
    kernel_groups kernels = find_kernels(trace, figures);
    gt_table_list_add(tables, kernels_sheet(trace, figures, &kernels));
    gt_table_list_add(tables, launches_sheet(trace, figures));
    gt_table_list_add(tables, details_sheet(trace, &kernels));
    free_kernels(&kernels);
    gt_free(figures);
}
