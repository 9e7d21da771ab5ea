/* A call and its kernels share a correlation id. Of each pair:
 *
 *     A  the call's duration
 *     Q  from the call's end to the kernel's beginning, at least 0
 *     K  the kernel's duration
 *     T  A + Q + K
 *
 * By process, thread, GPU, call and kernel: mean, median, least, greatest and standard deviation (over n) of
 * each, in nanoseconds and exact to the last digit. Count is calls, QCount those with a kernel. */
#include "analysis/pftrace/api.h"

#include "analysis/pftrace/events.h"
#include "analysis/pftrace/exact.h"
#include "base/length.h"
#include "base/map.h"
#include "base/memory.h"
#include "schema/columns.h"
#include "schema/sheets.h"
#include "table/operations.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* Calls that launch something; so do all whose names have "launch" before "kernel", in any case. */
static const char *const launches[] = {
    "hipModuleLaunchKernel",
    "hipLaunchKernelGGL",
    "hipLaunchKernel",
    "hipExtLaunchKernelGGL",
    "hipModuleLaunchCooperativeKernel",
    "hipExtModuleLaunchKernel",
    "hipMemset",
    "hipMemcpyHtoDAsync",
    "hipMemcpyDtoHAsync",
    "hipMemsetD32Async",
};

/* ---- what an event is ---- */

static size_t find(gt_str text, const char *part, size_t from)
{
    size_t len = strlen(part);
    for (size_t at = from; at + len <= text.len; at++)
        if (strncasecmp(text.bytes + at, part, len) == 0) return at;
    return SIZE_MAX;
}

static bool names_a_launch(gt_str name)
{
    for (size_t i = 0; i < GT_LENGTH(launches); i++)
        if (gt_str_equals(name, launches[i])) return true;
    size_t launch = find(name, "launch", 0);
    return launch != SIZE_MAX && find(name, "kernel", launch + 6) != SIZE_MAX;
}

static bool names_a_kernel(gt_str name)
{
    return (name.len >= 3 && strncasecmp(name.bytes + name.len - 3, ".kd", 3) == 0) ||
           gt_str_contains_nocase(name, ".kd ");
}

static bool is_work(gt_str category)
{
    return gt_str_contains_nocase(category, "kernel") || gt_str_contains_nocase(category, "gpu_activity") ||
           gt_str_contains_nocase(category, "memory_copy");
}

/* What is known of a text; asked once a text. */
enum {
    KNOWN = 1 << 0,
    KERNEL_NAME = 1 << 1,
    REGISTER_NAME = 1 << 2,
    LAUNCH_NAME = 1 << 3,
    WORK_CATEGORY = 1 << 4,
    HIP_CATEGORY = 1 << 5,
    CUDA_CATEGORY = 1 << 6,
    EXCLUDED = 1 << 7,
};

typedef struct finder {
    const gt_chrome *trace;
    const gt_pftrace_api_options *options;
    uint8_t *known; /* by text */
    gt_pftrace_call_times times;
    gt_pftrace_agents agents;
    int64_t *correlations, *are_calls, *pids, *tids, *devices;
    uint32_t *categories, *names, *kernel_names;
    gt_map last_call;    /* correlation id to the last call */
    gt_map first_kernel; /* correlation id to the first kernel ... */
    uint32_t *next;      /* ... and from each to the next; by event */
    gt_table *pairs;
    gt_python_match match; /* of the excluded names */
    gt_error *error;
    bool failed;
} finder;

static bool is_excluded(finder *f, gt_str name)
{
    if (!f->options->exclude || f->failed) return false;
    f->failed = !gt_python_regex_search(f->options->exclude, name, &f->match, f->error);
    return f->match.found;
}

static uint8_t ask(finder *f, uint32_t text)
{
    uint8_t *known = &f->known[text];
    if (*known) return *known;
    gt_str t = gt_interner_get(f->trace->strings, text);
    bool is_hip = gt_str_equals(t, "hip_api");
    *known =
        (uint8_t)(KNOWN | (names_a_kernel(t) ? KERNEL_NAME : 0) |
                  (gt_str_contains_nocase(t, "register") ? REGISTER_NAME : 0) |
                  (names_a_launch(t) ? LAUNCH_NAME : 0) | (is_work(t) ? WORK_CATEGORY : 0) |
                  (is_hip ? HIP_CATEGORY : 0) |
                  (gt_str_equals_nocase(t, "cuda_api") || gt_str_equals_nocase(t, "cupti") ? CUDA_CATEGORY
                                                                                           : 0) |
                  (is_excluded(f, t) ? EXCLUDED : 0));
    return *known;
}

static uint32_t kernel_name(const finder *f, size_t i)
{
    uint32_t name = f->kernel_names[i] == GT_STR_NONE ? f->names[i] : f->kernel_names[i];
    return name == GT_STR_NONE ? GT_STR_EMPTY : name;
}

static bool is_kernel(finder *f, size_t i)
{
    if (ask(f, f->names[i]) & KERNEL_NAME) return true;
    return ask(f, f->categories[i]) & WORK_CATEGORY && f->times.dur_ns[i] > 0 &&
           !(ask(f, f->names[i]) & REGISTER_NAME);
}

static bool is_hip_call(finder *f, size_t i)
{
    return f->are_calls[i] == 1 && ask(f, f->categories[i]) & HIP_CATEGORY;
}

/* ---- calls and kernels by correlation id ---- */

static int64_t begin_or_0(const finder *f, uint32_t i)
{
    return f->times.begin_ns[i] == GT_CHROME_NONE ? 0 : f->times.begin_ns[i];
}

/* All kernels of a call are chained; where only one counts it is the one that begins first. */
static void add_kernel(finder *f, uint32_t i)
{
    uint32_t *first = gt_map_put(&f->first_kernel, (uint64_t)f->correlations[i], 0);
    if (*first != GT_MAP_NONE && f->options->all_kernels)
        f->next[i] = *first;
    else if (*first != GT_MAP_NONE && begin_or_0(f, *first) <= begin_or_0(f, i))
        return;
    *first = i;
}

static void sort_events(finder *f)
{
    for (uint32_t i = 0; i < f->trace->count; i++) {
        f->next[i] = GT_MAP_NONE;
        if (f->correlations[i] == GT_CHROME_NONE) continue;
        if (is_kernel(f, i)) {
            if (!(f->options->exclude && ask(f, kernel_name(f, i)) & EXCLUDED)) add_kernel(f, i);
        } else if (is_hip_call(f, i) || ask(f, f->categories[i]) & CUDA_CATEGORY) {
            *gt_map_put(&f->last_call, (uint64_t)f->correlations[i], 0) = i;
        }
    }
}

/* ---- pairs ---- */

enum { PID, TID, DEVICE, API, KERNEL, HAS_KERNEL, TOTAL, CALL, QUEUE, WORK, COLUMNS };
static const gt_column_head columns[COLUMNS] = {
    [PID] = {GT_COL_PID_TITLE, GT_TYPE_INT},
    [TID] = {GT_COL_TID_TITLE, GT_TYPE_INT},
    [DEVICE] = {GT_COL_DEVID, GT_TYPE_INT},
    [API] = {GT_COL_API_NAME, GT_TYPE_STRING},
    [KERNEL] = {GT_COL_KERNEL_NAME_TITLE, GT_TYPE_STRING},
    [HAS_KERNEL] = {GT_COL_HAS_KERNEL, GT_TYPE_INT},
    [TOTAL] = {GT_COL_T, GT_TYPE_INT},
    [CALL] = {GT_COL_A, GT_TYPE_INT},
    [QUEUE] = {GT_COL_Q, GT_TYPE_INT},
    [WORK] = {GT_COL_K, GT_TYPE_INT},
};

static size_t add_pair(const finder *f, size_t call, int64_t device, uint32_t kernel)
{
    gt_table *pairs = f->pairs;
    size_t row = gt_table_add_row(pairs);
    uint32_t name = f->names[call] == GT_STR_NONE ? GT_STR_EMPTY : f->names[call];
    gt_table_set_int(pairs, PID, row, f->pids[call] == GT_CHROME_NONE ? 0 : f->pids[call]);
    gt_table_set_int(pairs, TID, row, f->tids[call] == GT_CHROME_NONE ? 0 : f->tids[call]);
    gt_table_set_int(pairs, DEVICE, row, device);
    gt_table_set_string(pairs, API, row, name);
    gt_table_set_string(pairs, KERNEL, row, kernel);
    gt_table_set_int(pairs, HAS_KERNEL, row, 0);
    gt_table_set_int(pairs, CALL, row, f->times.dur_ns[call]);
    gt_table_set_int(pairs, QUEUE, row, 0);
    gt_table_set_int(pairs, WORK, row, 0);
    return row;
}

static int64_t device_of(const finder *f, size_t i)
{
    if (f->devices[i] != GT_CHROME_NONE) return f->devices[i];
    return f->agents.of_event[i] == GT_NO_AGENT ? 0 : (int64_t)f->agents.of_event[i];
}

static void pair_with(const finder *f, size_t call, size_t kernel)
{
    int64_t queue_ns, total_ns;
    if (f->times.dur_ns[kernel] == GT_CHROME_NONE) return;
    if (__builtin_sub_overflow(f->times.begin_ns[kernel], f->times.end_ns[call], &queue_ns) || queue_ns < 0)
        queue_ns = 0;
    if (__builtin_add_overflow(f->times.dur_ns[call], queue_ns, &total_ns) ||
        __builtin_add_overflow(total_ns, f->times.dur_ns[kernel], &total_ns))
        return; /* centuries */
    size_t row = add_pair(f, call, device_of(f, kernel), kernel_name(f, kernel));
    gt_table_set_int(f->pairs, HAS_KERNEL, row, 1);
    gt_table_set_int(f->pairs, TOTAL, row, total_ns);
    gt_table_set_int(f->pairs, QUEUE, row, queue_ns);
    gt_table_set_int(f->pairs, WORK, row, f->times.dur_ns[kernel]);
}

static void pair_calls(finder *f)
{
    for (uint32_t i = 0; i < f->trace->count; i++) {
        if (f->correlations[i] == GT_CHROME_NONE || f->times.dur_ns[i] == GT_CHROME_NONE ||
            gt_map_get(&f->last_call, (uint64_t)f->correlations[i], 0) != i)
            continue;
        bool is_launch = is_hip_call(f, i) && ask(f, f->names[i]) & LAUNCH_NAME;
        if (!is_launch && !f->options->other_calls) continue;
        uint32_t kernel = gt_map_get(&f->first_kernel, (uint64_t)f->correlations[i], 0);
        if (kernel == GT_MAP_NONE && f->options->other_calls) add_pair(f, i, 0, GT_STR_EMPTY);
        for (; kernel != GT_MAP_NONE; kernel = f->next[kernel]) pair_with(f, i, kernel);
    }
}

/* ---- the sheet ---- */

static const struct {
    const char *letter;
    int column;
} measures[] = {{"T", TOTAL}, {"A", CALL}, {"Q", QUEUE}, {"K", WORK}};

static const char *const statistics[] = {"Avg", "Med", "Min", "Max", "StdDev"};

static void add_measure(gt_table *table, const gt_groups *groups, const gt_column *values, const char *letter)
{
    size_t to[GT_LENGTH(statistics)];
    for (size_t i = 0; i < GT_LENGTH(statistics); i++) {
        char name[32];
        snprintf(name, sizeof name, "%s%s_ns", letter, statistics[i]);
        to[i] =
            gt_table_add_zeroed(table, gt_col_named(name), i == 2 || i == 3 ? GT_TYPE_INT : GT_TYPE_FLOAT);
    }
    size_t *ends = gt_alloc_zero(groups->count + 1, sizeof *ends);
    int64_t *sorted = gt_alloc(groups->row_count * sizeof *sorted);
    for (size_t row = 0; row < groups->row_count; row++)
        if (!gt_column_is_null(values, row)) ends[groups->of_row[row] + 1]++;
    for (size_t g = 0; g < groups->count; g++) ends[g + 1] += ends[g];
    for (size_t row = 0; row < groups->row_count; row++)
        if (!gt_column_is_null(values, row)) sorted[ends[groups->of_row[row]]++] = values->ints[row];
    for (size_t g = 0; g < groups->count; g++) {
        size_t begin = g ? ends[g - 1] : 0;
        gt_exact_statistics s = gt_exact_measure(sorted + begin, ends[g] - begin);
        table->columns[to[0]].floats[g] = s.mean;
        table->columns[to[1]].floats[g] = s.median;
        table->columns[to[2]].ints[g] = s.min;
        table->columns[to[3]].ints[g] = s.max;
        table->columns[to[4]].floats[g] = s.std;
    }
    gt_free(ends);
    gt_free(sorted);
}

static gt_table *summarize(const gt_table *pairs)
{
    static const gt_col keys[] = {GT_COL_PID_TITLE, GT_COL_TID_TITLE, GT_COL_DEVID, GT_COL_API_NAME,
                                  GT_COL_KERNEL_NAME_TITLE};
    static const gt_aggregate counts[] = {{GT_NO_COL, GT_GROUP_SIZE, GT_COL_COUNT_TITLE},
                                          {GT_COL_HAS_KERNEL, GT_GROUP_SUM, GT_COL_QCOUNT}};
    gt_group_options options = {.sorted = true, .keep_nulls = true};
    gt_table *table = gt_table_group(pairs, keys, GT_LENGTH(keys), counts, GT_LENGTH(counts), options);
    gt_groups groups = gt_groups_find(pairs, keys, GT_LENGTH(keys), options);
    gt_table_rename(table, GT_SHEET_API_KERNEL_SUMMARY);
    for (size_t i = 0; i < GT_LENGTH(measures); i++)
        add_measure(table, &groups, &pairs->columns[measures[i].column], measures[i].letter);
    gt_groups_free(&groups);
    gt_table_move_column(table, gt_table_find(table, GT_COL_API_NAME), table->column_count - 1);
    gt_table_move_column(table, gt_table_find(table, GT_COL_KERNEL_NAME_TITLE), table->column_count - 1);
    return table;
}

static finder open_finder(const gt_chrome *trace, const gt_pftrace_api_options *options)
{
    finder f = {.trace = trace, .options = options};
    f.known = gt_alloc_zero(gt_interner_count(trace->strings), 1);
    f.times = gt_pftrace_find_call_times(trace);
    f.agents = gt_pftrace_find_agents(trace);
    f.correlations = gt_chrome_ints(trace, GT_CHROME_CORRELATION);
    f.are_calls = gt_chrome_ints(trace, GT_CHROME_IS_CALL);
    f.pids = gt_chrome_ints(trace, GT_CHROME_PID);
    f.tids = gt_chrome_ints(trace, GT_CHROME_TID);
    f.devices = gt_chrome_ints(trace, GT_CHROME_DEVICE);
    f.categories = gt_chrome_strings(trace, GT_CHROME_CATEGORY);
    f.names = gt_chrome_strings(trace, GT_CHROME_NAME);
    f.kernel_names = gt_chrome_strings(trace, GT_CHROME_KERNEL_NAME);
    f.next = gt_alloc(trace->count * sizeof *f.next);
    f.pairs = gt_table_new(GT_SHEET_PAIRS, trace->strings);
    gt_table_add_columns(f.pairs, columns, COLUMNS);
    return f;
}

static void close_finder(finder *f)
{
    void *const arrays[] = {f->known,   f->correlations, f->are_calls, f->pids,         f->tids,
                            f->devices, f->categories,   f->names,     f->kernel_names, f->next};
    for (size_t i = 0; i < GT_LENGTH(arrays); i++) gt_free(arrays[i]);
    gt_pftrace_call_times_free(&f->times);
    gt_pftrace_agents_free(&f->agents);
    gt_map_free(&f->last_call);
    gt_map_free(&f->first_kernel);
    gt_table_free(f->pairs);
    gt_python_match_free(&f->match);
}

gt_table *gt_pftrace_api_kernel_summary(const gt_chrome *trace, const gt_pftrace_api_options *options,
                                        gt_error *error)
{
    finder f = open_finder(trace, options);
    f.error = error;
    sort_events(&f);
    pair_calls(&f);
    gt_table *table = f.failed ? NULL : summarize(f.pairs);
    close_finder(&f);
    return table;
}
