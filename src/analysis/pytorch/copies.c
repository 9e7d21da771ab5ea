/* Sheet memory_copies: the copies between host and device memory, by direction, kind of memory, op and
 * device.
 *
 *     direction           HtoD, DtoH, DtoD, PtoP, ...; unknown if the name does not say
 *     kind                pageable, pinned, host (not known which), device, ... (trace/copy_names.h)
 *     Parent cpu_op       the nearest cpu_op above the launch, else the launching call; empty if no launch is
 *                         known
 *     Outermost cpu_op    the outermost cpu_op above that one that is no step, or the same op: aten::to
 *                         for the copy_ below it
 *     device              and rank and pid where needed (devices.h)
 *     count               copies
 *     bytes known         copies whose size the trace has
 *     bytes               the sum of these sizes; empty if there are none
 *     time ms             the sum of the durations of all copies
 *     percent             time / time of all copies * 100
 *     Bandwidth (GB/s)    bytes / durations of the copies whose size is known, in 10^9 bytes per second
 *
 * Copies are events of category gpu_memcpy, and kernels that are copies by their name (ROCm). Memsets are
 * not. Sorted by time, longest first; equal times in order of first appearance. */
#include "analysis/pytorch/sheets.h"

#include "trace/copy_names.h"
#include "trace/pytorch/event_rows.h"

enum { DIRECTION, KIND, PARENT, OUTERMOST, DEVICE_INDEX, BYTES, TIME_US, TIME_OF_KNOWN_US };

static const gt_column_head record_columns[] = {
    {GT_COL_DIRECTION, GT_TYPE_STRING},
    {GT_COL_KIND, GT_TYPE_STRING},
    {GT_COL_PARENT_CPU_OP, GT_TYPE_STRING},
    {GT_COL_OUTERMOST_CPU_OP, GT_TYPE_STRING},
    {GT_COL_DEVICE, GT_TYPE_INT},
    {GT_COL_BYTES, GT_TYPE_INT},
    {GT_COL_DUR, GT_TYPE_FLOAT},
    {GT_COL_KNOWN_DUR, GT_TYPE_FLOAT},
};

/* What the names say, each read once. */
typedef struct copy_cache {
    uint8_t *is_copy; /* by string id, of kernels: 0 not looked up yet, 1 no, 2 yes */
    uint32_t *directions, *kinds;
} copy_cache;

static bool is_copy(const gt_linked_view *trace, copy_cache *known, uint32_t row)
{
    if (trace->kind[row] == GT_KIND_MEMCPY) return true;
    if (trace->kind[row] != GT_KIND_KERNEL) return false;
    uint8_t *found = &known->is_copy[trace->name[row]];
    if (!*found) *found = gt_is_copy_kernel(gt_event_name(&trace->events, row)) ? 2 : 1;
    return *found == 2;
}

static void read_name(const gt_linked_view *trace, copy_cache *known, uint32_t row)
{
    uint32_t name = trace->name[row];
    if (known->directions[name]) return;
    gt_copy_name read = gt_copy_name_read(gt_event_name(&trace->events, row));
    known->directions[name] = gt_interner_add_cstr(trace->strings, read.direction);
    known->kinds[name] = gt_interner_add_cstr(trace->strings, read.kind);
}

static uint32_t parent_of(const gt_linked_view *trace, uint32_t row)
{
    uint32_t op = gt_pytorch_cpu_op_above(trace, row);
    if (op == GT_NO_EVENT) op = trace->parent[row];
    return op == GT_NO_EVENT ? GT_STR_NONE : trace->name[op];
}

/* The next op above an op; a step that is recorded as an op is none. */
static uint32_t op_above(const gt_linked_view *trace, uint32_t op)
{
    uint32_t above = gt_pytorch_cpu_op_above(trace, op);
    bool is_step = above != GT_NO_EVENT && gt_is_profiler_step(gt_event_name(&trace->events, above));
    return is_step ? GT_NO_EVENT : above;
}

/* The outermost op above an op. Remembers the result for all ops on the way, so that many copies below one
 * deep call take no longer. */
static uint32_t outermost_of(const gt_linked_view *trace, gt_map *outermost, uint32_t op)
{
    uint32_t top = op, above, known;
    while ((known = gt_map_get(outermost, top, 0)) == GT_MAP_NONE &&
           (above = op_above(trace, top)) != GT_NO_EVENT)
        top = above;
    if (known != GT_MAP_NONE) top = known;
    for (uint32_t at = op; at != GT_NO_EVENT; at = op_above(trace, at)) {
        uint32_t *found = gt_map_put(outermost, at, 0);
        if (*found != GT_MAP_NONE) break;
        *found = top;
    }
    return top;
}

/* The rows of all copies, ascending. */
static uint32_t *find_copies(const gt_linked_view *trace, copy_cache *known, size_t *count)
{
    size_t candidates;
    uint32_t *rows = gt_rows_of_kinds(trace->kind, trace->recorded,
                                      1u << GT_KIND_MEMCPY | 1u << GT_KIND_KERNEL, &candidates);
    *count = 0;
    for (size_t i = 0; i < candidates; i++)
        if (is_copy(trace, known, rows[i])) rows[(*count)++] = rows[i];
    return rows;
}

/* One row per copy. The column device has the device's index. */
static gt_table *list_copies(const gt_linked_view *trace, const gt_devices *devices)
{
    size_t names = gt_interner_count(trace->strings);
    copy_cache known = {.is_copy = gt_alloc_zero(names, 1),
                        .directions = gt_alloc_zero(names, sizeof *known.directions),
                        .kinds = gt_alloc_zero(names, sizeof *known.kinds)};
    gt_map outermost = {0};
    gt_table *copies = gt_table_new(GT_SHEET_COPIES, trace->strings);
    gt_table_add_columns(copies, record_columns, GT_LENGTH(record_columns));
    size_t count;
    uint32_t *rows = find_copies(trace, &known, &count);
    int64_t *bytes = gt_alloc(count * sizeof *bytes);
    gt_store_ints_at(trace->store, GT_EVENT_BYTES, rows, count, bytes);
    for (size_t i = 0; i < count; i++) {
        uint32_t row = rows[i];
        read_name(trace, &known, row);
        size_t copy = gt_table_add_row(copies);
        gt_table_set_string(copies, DIRECTION, copy, known.directions[trace->name[row]]);
        gt_table_set_string(copies, KIND, copy, known.kinds[trace->name[row]]);
        gt_table_set_string(copies, PARENT, copy, parent_of(trace, row));
        uint32_t op = gt_pytorch_cpu_op_above(trace, row);
        if (op != GT_NO_EVENT)
            gt_table_set_string(copies, OUTERMOST, copy, trace->name[outermost_of(trace, &outermost, op)]);
        gt_table_set_int(copies, DEVICE_INDEX, copy, gt_device_of(devices, row));
        gt_table_set_float(copies, TIME_US, copy, trace->dur_us[row]);
        gt_table_set_float(copies, TIME_OF_KNOWN_US, copy, bytes[i] >= 0 ? trace->dur_us[row] : 0);
        if (bytes[i] >= 0) gt_table_set_int(copies, BYTES, copy, bytes[i]);
    }
    gt_free_all(rows, bytes);
    gt_map_free(&outermost);
    gt_free_all(known.is_copy, known.directions, known.kinds);
    return copies;
}

/* Replaces the sums of durations by time ms, percent and bandwidth. */
static void add_rates(gt_table *sheet)
{
    double all_us = 0;
    const double *times_us = gt_table_column(sheet, GT_COL_DUR)->floats;
    for (size_t row = 0; row < sheet->row_count; row++) all_us += times_us[row];
    size_t time = gt_table_add_column(sheet, GT_COL_TIME_MS, GT_TYPE_FLOAT),
           percent = gt_table_add_column(sheet, GT_COL_PERCENT, GT_TYPE_FLOAT),
           bandwidth = gt_table_add_column(sheet, GT_COL_BANDWIDTH_GB_PER_S, GT_TYPE_FLOAT),
           bytes = gt_table_find(sheet, GT_COL_BYTES);
    const gt_column *counted = gt_table_column(sheet, GT_COL_BYTES_KNOWN);
    times_us = gt_table_column(sheet, GT_COL_DUR)->floats;
    const double *known_us = gt_table_column(sheet, GT_COL_KNOWN_DUR)->floats;
    for (size_t row = 0; row < sheet->row_count; row++) {
        gt_table_set_float(sheet, time, row, times_us[row] / 1e3);
        gt_table_set_float(sheet, percent, row, all_us > 0 ? times_us[row] / all_us * 100 : NAN);
        double sum = gt_column_number(&sheet->columns[bytes], row);
        if (counted->ints[row] && known_us[row] > 0)
            gt_table_set_float(sheet, bandwidth, row, sum / known_us[row] / 1e3);
        if (!counted->ints[row]) gt_table_set_null(sheet, bytes, row);
    }
}

/* Replaces the devices' indices. */
static void show_devices(gt_table *sheet, const gt_devices *devices)
{
    size_t column = gt_table_find(sheet, GT_COL_DEVICE);
    int64_t *indices = gt_alloc(sheet->row_count * sizeof *indices);
    for (size_t row = 0; row < sheet->row_count; row++) indices[row] = sheet->columns[column].ints[row];
    gt_devices_add_columns(devices, sheet, column + 1);
    for (size_t row = 0; row < sheet->row_count; row++)
        gt_devices_fill(devices, (size_t)indices[row], sheet, row, row + 1);
    gt_free(indices);
}

gt_table *gt_pytorch_memory_copies(const gt_linked_view *trace, const gt_devices *devices)
{
    static const gt_col keys[] = {GT_COL_DIRECTION, GT_COL_KIND, GT_COL_PARENT_CPU_OP,
                                  GT_COL_OUTERMOST_CPU_OP, GT_COL_DEVICE};
    static const gt_aggregate sums[] = {
        {GT_NO_COL, GT_GROUP_SIZE, GT_COL_COUNT},
        {GT_COL_BYTES, GT_GROUP_COUNT, GT_COL_BYTES_KNOWN},
        {GT_COL_BYTES, GT_GROUP_SUM, GT_COL_BYTES},
        {GT_COL_DUR, GT_GROUP_SUM, GT_COL_DUR},
        {GT_COL_KNOWN_DUR, GT_GROUP_SUM, GT_COL_KNOWN_DUR},
    };
    gt_table *copies = list_copies(trace, devices);
    gt_table *sheet = gt_table_group(copies, keys, GT_LENGTH(keys), sums, GT_LENGTH(sums),
                                     (gt_group_options){.keep_nulls = true});
    gt_table_free(copies);
    gt_table_rename(sheet, GT_SHEET_MEMORY_COPIES);
    gt_table_sort(sheet, &(gt_sort_key){GT_COL_DUR, true}, 1);
    add_rates(sheet);
    gt_table_drop_column(sheet, gt_table_find(sheet, GT_COL_DUR));
    gt_table_drop_column(sheet, gt_table_find(sheet, GT_COL_KNOWN_DUR));
    show_devices(sheet, devices);
    return sheet;
}
