/* ---- pc_sampling_hotspots ----
 *
 * Samples of the program counter, grouped by kernel, instruction and source line; most samples first, then in
 * order of the kernel, the instruction and the line.
 *
 *     kernel            the kernel of the sampled dispatch; unknown_kernel if that was not traced
 *     instruction       empty if rocprofv3 could not decode it: code of the driver, or that changes itself
 *     source_line       of programs with debug symbols
 *     samples, Percentage (%), Cumulative Percentage (%) of all samples
 *     stalled_samples   samples in which the wave did not issue the instruction; this and the next column
 *                       only of stochastic sampling
 *     stall_reasons     why, most frequent first: "WAITCNT 75.0 %, BARRIER_WAIT 25.0 %" of the stalled
 *                       samples */
#include "analysis/rocprof/sheets.h"

#include "schema/columns.h"

typedef struct hotspot {
    uint32_t kernel, instruction, comment; /* string ids */
    int64_t samples, stalled;
    bool is_stochastic; /* some sample says whether the instruction was issued */
} hotspot;

typedef struct stall {
    size_t hotspot;
    uint32_t reason; /* string id */
    int64_t count;
} stall;

typedef struct hotspots {
    gt_interner *strings;
    hotspot *items;
    size_t count, capacity;
    bool is_stochastic; /* any of them is */
    stall *stalls;
    size_t stall_count, stall_capacity;
    gt_map codes;        /* (instruction, comment) to a number */
    gt_map places;       /* (kernel, that number) to an index in items */
    gt_map stall_places; /* (index in items, reason) to an index in stalls */
} hotspots;

/* ---- the kernel of each dispatch ---- */

/* (process, dispatch id) to the string id of the kernel's name. */
static gt_map kernels_of_dispatches(gt_rocprof *run)
{
    gt_map kernels = {0};
    size_t count = gt_store_count(run->dispatches);
    bool has_process = gt_dispatch_width(run->wanted) > GT_DISPATCH_PROCESS;
    uint32_t *names = gt_rocprof_dispatch_names(run);
    int64_t *ids = gt_store_ints(run->dispatches, GT_DISPATCH_ID);
    int64_t *processes = has_process ? gt_store_ints(run->dispatches, GT_DISPATCH_PROCESS) : NULL;
    for (size_t i = 0; i < count; i++)
        *gt_map_put(&kernels, processes ? (uint64_t)processes[i] : 0, (uint64_t)ids[i]) = names[i];
    gt_free_all(names, ids, processes);
    return kernels;
}

/* ---- grouping ---- */

static hotspot *find_hotspot(hotspots *h, uint32_t kernel, uint32_t instruction, uint32_t comment)
{
    uint32_t *code = gt_map_put(&h->codes, instruction, comment);
    if (*code == GT_MAP_NONE) *code = (uint32_t)h->codes.count;
    uint32_t *place = gt_map_put(&h->places, kernel, *code);
    if (*place == GT_MAP_NONE) {
        *place = (uint32_t)h->count;
        hotspot next = {.kernel = kernel, .instruction = instruction, .comment = comment};
        GT_PUSH(h->items, h->count, h->capacity, next);
    }
    return &h->items[*place];
}

static void add_stall(hotspots *h, size_t index, uint32_t reason)
{
    uint32_t *place = gt_map_put(&h->stall_places, index, reason);
    if (*place == GT_MAP_NONE) {
        *place = (uint32_t)h->stall_count;
        stall next = {.hotspot = index, .reason = reason};
        GT_PUSH(h->stalls, h->stall_count, h->stall_capacity, next);
    }
    h->stalls[*place].count++;
}

static void add_samples(hotspots *h, gt_rocprof *run)
{
    size_t count = gt_store_count(run->samples);
    gt_map kernels = kernels_of_dispatches(run);
    uint32_t unknown = gt_interner_add_cstr(run->strings, "unknown_kernel");
    int64_t *processes = gt_store_ints(run->samples, GT_SAMPLE_PROCESS);
    int64_t *dispatches = gt_store_ints(run->samples, GT_SAMPLE_DISPATCH);
    int64_t *issued = gt_store_ints(run->samples, GT_SAMPLE_ISSUED);
    uint32_t *instructions = gt_store_string_ids(run->samples, GT_SAMPLE_INSTRUCTION);
    uint32_t *comments = gt_store_string_ids(run->samples, GT_SAMPLE_COMMENT);
    uint32_t *reasons = gt_store_string_ids(run->samples, GT_SAMPLE_REASON);
    for (size_t i = 0; i < count; i++) {
        uint32_t kernel = kernels.count
                              ? gt_map_get(&kernels, (uint64_t)processes[i], (uint64_t)dispatches[i])
                              : GT_MAP_NONE;
        hotspot *at = find_hotspot(h, kernel == GT_MAP_NONE ? unknown : kernel, instructions[i], comments[i]);
        at->samples++;
        at->is_stochastic = at->is_stochastic || issued[i] >= 0;
        h->is_stochastic = h->is_stochastic || issued[i] >= 0;
        if (issued[i] != 0) continue;
        at->stalled++;
        add_stall(h, (size_t)(at - h->items), reasons[i]);
    }
    gt_free_all(processes, dispatches, issued, instructions, comments, reasons);
    gt_map_free(&kernels);
}

/* ---- the sheet ---- */

/* The part of "ROCPROFILER_PC_SAMPLING_INSTRUCTION_NOT_ISSUED_REASON_WAITCNT" that differs. */
static gt_str short_reason(gt_str reason)
{
    static const char mark[] = "_REASON_";
    const char *at = memmem(reason.bytes, reason.len, mark, strlen(mark));
    if (!reason.len) return (gt_str){"unknown", 7};
    if (!at) return reason;
    at += strlen(mark);
    return (gt_str){at, (size_t)(reason.bytes + reason.len - at)};
}

static _Thread_local const gt_interner *sorted_strings;

static int by_count(const void *a, const void *b)
{
    const stall *x = a, *y = b;
    if (x->hotspot != y->hotspot) return x->hotspot < y->hotspot ? -1 : 1;
    if (x->count != y->count) return x->count > y->count ? -1 : 1;
    return gt_str_compare(gt_interner_get(sorted_strings, x->reason),
                          gt_interner_get(sorted_strings, y->reason));
}

static void set_reasons(const hotspots *h, gt_table *sheet, size_t column, size_t row, size_t *next)
{
    gt_buffer text = {0};
    for (; *next < h->stall_count && h->stalls[*next].hotspot == row; ++*next) {
        const stall *s = &h->stalls[*next];
        gt_str reason = short_reason(gt_interner_get(h->strings, s->reason));
        gt_buffer_add_format(&text, "%s%.*s %.1f %%", text.len ? ", " : "", (int)reason.len, reason.bytes,
                             (double)s->count / (double)h->items[row].stalled * 100.0);
    }
    if (text.len) gt_table_set_cstr(sheet, column, row, gt_buffer_str(&text).bytes);
    gt_buffer_free(&text);
}

enum { KERNEL, INSTRUCTION, SOURCE, SAMPLES, SHARE, CUMULATIVE, STALLED, REASONS };

/* Rows in the order of the items. */
static void fill(const hotspots *h, gt_table *sheet, int64_t all)
{
    size_t next = 0;
    gt_table_add_rows(sheet, h->count);
    for (size_t row = 0; row < h->count; row++) {
        const hotspot *at = &h->items[row];
        gt_table_set_string(sheet, KERNEL, row, at->kernel);
        if (at->instruction) gt_table_set_string(sheet, INSTRUCTION, row, at->instruction);
        if (at->comment) gt_table_set_string(sheet, SOURCE, row, at->comment);
        gt_table_set_int(sheet, SAMPLES, row, at->samples);
        gt_table_set_float(sheet, SHARE, row, (double)at->samples / (double)all * 100.0);
        if (!at->is_stochastic) continue;
        gt_table_set_int(sheet, STALLED, row, at->stalled);
        set_reasons(h, sheet, REASONS, row, &next);
    }
}

gt_table *gt_rocprof_hotspots(gt_rocprof *run)
{
    size_t count = run->samples ? gt_store_count(run->samples) : 0;
    if (!count) return NULL;
    hotspots h = {.strings = run->strings};
    add_samples(&h, run);
    sorted_strings = run->strings;
    if (h.stall_count) qsort(h.stalls, h.stall_count, sizeof *h.stalls, by_count);
    gt_table *sheet = gt_table_new(GT_SHEET_PC_SAMPLING_HOTSPOTS, run->strings);
    gt_table_add_column(sheet, GT_COL_KERNEL, GT_TYPE_STRING);
    gt_table_add_column(sheet, GT_COL_INSTRUCTION, GT_TYPE_STRING);
    gt_table_add_column(sheet, GT_COL_SOURCE_LINE, GT_TYPE_STRING);
    gt_table_add_column(sheet, GT_COL_SAMPLES, GT_TYPE_INT);
    gt_table_add_column(sheet, GT_COL_PERCENTAGE_PCT, GT_TYPE_FLOAT);
    gt_table_add_column(sheet, GT_COL_CUMULATIVE_PERCENTAGE_PCT, GT_TYPE_FLOAT);
    if (h.is_stochastic) {
        gt_table_add_column(sheet, GT_COL_STALLED_SAMPLES, GT_TYPE_INT);
        gt_table_add_column(sheet, GT_COL_STALL_REASONS, GT_TYPE_STRING);
    }
    fill(&h, sheet, (int64_t)count);
    const gt_sort_key order[] = {{GT_COL_SAMPLES, true},
                                 {GT_COL_KERNEL, false},
                                 {GT_COL_INSTRUCTION, false},
                                 {GT_COL_SOURCE_LINE, false}};
    gt_table_sort(sheet, order, GT_LENGTH(order));
    int64_t sum = 0;
    for (size_t row = 0; row < sheet->row_count; row++) {
        sum += sheet->columns[SAMPLES].ints[row];
        gt_table_set_float(sheet, CUMULATIVE, row, (double)sum / (double)count * 100.0);
    }
    gt_free_all(h.items, h.stalls);
    gt_map_free(&h.codes);
    gt_map_free(&h.places);
    gt_map_free(&h.stall_places);
    return sheet;
}
