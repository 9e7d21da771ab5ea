/* api_kernel_summary: how long does it take from an API call to the end of the kernel that it launched?
 *
 * A call and its kernels have the same correlation id. For each pair:
 *
 *     A  duration of the call
 *     Q  time from the end of the call to the start of the kernel, at least 0
 *     K  duration of the kernel
 *     T  A + Q + K
 *
 *     call     |-- A --|
 *     kernel             . . Q . . |--- K ---|
 *
 * Pairs are grouped by process, thread, GPU, call and kernel. Of each measure: mean, median, minimum, maximum
 * and standard deviation (divided by n) in nanoseconds, computed exactly. Count is the number of calls,
 * QCount that of calls with a kernel. */
#include "analysis/pftrace/sheets.h"

#include "schema/columns.h"

/* ---- exact statistics ----
 *
 * Sums have 128 bits. The variance is (n * sum of squares - square of the sum) / n^2 of the distances from
 * the smallest value, which keeps the sums small. Its root is computed in integers too, to 64 bits, and
 * rounded to a double at the end. */

__extension__ typedef unsigned __int128 wide;
__extension__ typedef __int128 signed_wide;

/* The double nearest to a / b; b > 0. */
static double divide(signed_wide a, uint64_t b)
{
    wide size = a < 0 ? -(wide)a : (wide)a;
    int shift = 0; /* so that the quotient has at least 64 bits */
    while (size && size < (wide)1 << 120) {
        size <<= 1;
        shift++;
    }
    wide quotient = size / b;
    if (size % b) quotient |= 1; /* the remainder matters for rounding */
    double value = ldexp((double)quotient, -shift);
    return a < 0 ? -value : value;
}

/* The largest integer whose square is at most `value`. */
static uint64_t root(wide value)
{
    uint64_t low = 0, high = UINT64_MAX;
    while (low < high) {
        uint64_t middle = low + (high - low) / 2 + 1;
        if ((wide)middle * middle <= value)
            low = middle;
        else
            high = middle - 1;
    }
    return low;
}

/* sqrt(value) / n */
static double root_over(wide value, size_t n)
{
    int shift = 0;
    if (!value) return 0.0;
    while (value < (wide)1 << 125) {
        value <<= 2;
        shift++;
    }
    return ldexp(divide((signed_wide)root(value), n), -shift);
}

static double deviation(const int64_t *sorted, size_t count)
{
    uint64_t spread = (uint64_t)sorted[count - 1] - (uint64_t)sorted[0];
    wide sum = 0, squares = 0;
    if ((double)spread * (double)count > 0x1p63) { /* too large to be exact: centuries of nanoseconds */
        double mean = 0, m2 = 0;
        for (size_t i = 0; i < count; i++) mean += (double)sorted[i] / (double)count;
        for (size_t i = 0; i < count; i++) m2 += ((double)sorted[i] - mean) * ((double)sorted[i] - mean);
        return sqrt(m2 / (double)count);
    }
    for (size_t i = 0; i < count; i++) {
        uint64_t distance = (uint64_t)sorted[i] - (uint64_t)sorted[0];
        sum += distance;
        squares += (wide)distance * distance;
    }
    return root_over(squares * count - sum * sum, count);
}

gt_exact_statistics gt_exact_measure(int64_t *values, size_t count)
{
    gt_exact_statistics s = {0};
    if (!count) return s;
    qsort(values, count, sizeof *values, gt_by_i64);
    signed_wide sum = 0;
    for (size_t i = 0; i < count; i++) sum += values[i];
    s.mean = divide(sum, count);
    bool odd = count % 2;
    s.median =
        odd ? (double)values[count / 2] : divide((signed_wide)values[count / 2 - 1] + values[count / 2], 2);
    s.min = values[0];
    s.max = values[count - 1];
    if (count > 1) s.std = deviation(values, count);
    return s;
}

/* Calls that launch work. A call is also a launch if its name has "launch" and later "kernel", in any case.
 */
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

/* ---- kinds of events ---- */

/* Case-insensitive search; SIZE_MAX if the part is not found. */
static size_t find_nocase(gt_str text, const char *part, size_t from)
{
    size_t len = strlen(part);
    for (size_t at = from; at + len <= text.len; at++)
        if (strncasecmp(text.bytes + at, part, len) == 0) return at;
    return SIZE_MAX;
}

static bool is_launch_name(gt_str name)
{
    for (size_t i = 0; i < GT_LENGTH(launches); i++)
        if (gt_str_equals(name, launches[i])) return true;
    size_t launch = find_nocase(name, "launch", 0);
    return launch != SIZE_MAX && find_nocase(name, "kernel", launch + 6) != SIZE_MAX;
}

static bool is_kernel_name(gt_str name)
{
    return (name.len >= 3 && strncasecmp(name.bytes + name.len - 3, ".kd", 3) == 0) ||
           gt_str_contains_nocase(name, ".kd ");
}

static bool is_work_category(gt_str category)
{
    return gt_str_contains_nocase(category, "kernel") || gt_str_contains_nocase(category, "gpu_activity") ||
           gt_str_contains_nocase(category, "memory_copy");
}

/* Properties of a string, computed once per string. */
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

typedef struct pairing {
    const gt_chrome *trace;
    const gt_pftrace_api_options *options;
    uint8_t *properties; /* by string */
    gt_pftrace_call_times times;
    gt_pftrace_agents agents;
    int64_t *correlations, *are_calls, *pids, *tids, *devices;
    uint32_t *categories, *names, *kernel_names;
    gt_map last_call;    /* correlation id to the last call */
    gt_map first_kernel; /* correlation id to the first kernel ... */
    uint32_t *next;      /* ... and from each kernel to the next one; by event */
    gt_table *pairs;
    gt_python_match match; /* of options->exclude */
    gt_error *error;
    bool failed;
} pairing;

static bool is_excluded(pairing *f, gt_str name)
{
    if (!f->options->exclude || f->failed) return false;
    f->failed = !gt_python_regex_search(f->options->exclude, name, &f->match, f->error);
    return f->match.found;
}

static uint8_t properties_of(pairing *f, uint32_t id)
{
    uint8_t *known = &f->properties[id];
    if (*known) return *known;
    gt_str t = gt_interner_get(f->trace->strings, id);
    bool is_hip = gt_str_equals(t, "hip_api");
    *known =
        (uint8_t)(KNOWN | (is_kernel_name(t) ? KERNEL_NAME : 0) |
                  (gt_str_contains_nocase(t, "register") ? REGISTER_NAME : 0) |
                  (is_launch_name(t) ? LAUNCH_NAME : 0) | (is_work_category(t) ? WORK_CATEGORY : 0) |
                  (is_hip ? HIP_CATEGORY : 0) |
                  (gt_str_equals_nocase(t, "cuda_api") || gt_str_equals_nocase(t, "cupti") ? CUDA_CATEGORY
                                                                                           : 0) |
                  (is_excluded(f, t) ? EXCLUDED : 0));
    return *known;
}

static uint32_t kernel_name(const pairing *f, size_t i)
{
    uint32_t name = f->kernel_names[i] == GT_STR_NONE ? f->names[i] : f->kernel_names[i];
    return name == GT_STR_NONE ? GT_STR_EMPTY : name;
}

static bool is_kernel(pairing *f, size_t i)
{
    if (properties_of(f, f->names[i]) & KERNEL_NAME) return true;
    return properties_of(f, f->categories[i]) & WORK_CATEGORY && f->times.dur_ns[i] > 0 &&
           !(properties_of(f, f->names[i]) & REGISTER_NAME);
}

static bool is_hip_call(pairing *f, size_t i)
{
    return f->are_calls[i] == 1 && properties_of(f, f->categories[i]) & HIP_CATEGORY;
}

/* ---- calls and kernels by correlation id ---- */

static int64_t begin_or_0(const pairing *f, uint32_t i)
{
    return f->times.begin_ns[i] == GT_CHROME_NONE ? 0 : f->times.begin_ns[i];
}

/* Adds a kernel to the chain of its correlation id; if only one counts, keeps the one that starts first. */
static void add_kernel(pairing *f, uint32_t i)
{
    uint32_t *first = gt_map_put(&f->first_kernel, (uint64_t)f->correlations[i], 0);
    if (*first != GT_MAP_NONE && f->options->all_kernels)
        f->next[i] = *first;
    else if (*first != GT_MAP_NONE && begin_or_0(f, *first) <= begin_or_0(f, i))
        return;
    *first = i;
}

/* Finds the calls and kernels of each correlation id. */
static void index_events(pairing *f)
{
    for (uint32_t i = 0; i < f->trace->count; i++) {
        f->next[i] = GT_MAP_NONE;
        if (f->correlations[i] == GT_CHROME_NONE) continue;
        if (is_kernel(f, i)) {
            if (!(f->options->exclude && properties_of(f, kernel_name(f, i)) & EXCLUDED)) add_kernel(f, i);
        } else if (is_hip_call(f, i) || properties_of(f, f->categories[i]) & CUDA_CATEGORY) {
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

static size_t add_pair(const pairing *f, size_t call, int64_t device, uint32_t kernel)
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

static int64_t device_of(const pairing *f, size_t i)
{
    if (f->devices[i] != GT_CHROME_NONE) return f->devices[i];
    return f->agents.of_event[i] == GT_NO_AGENT ? 0 : (int64_t)f->agents.of_event[i];
}

/* Adds the pair of a call and its kernel. */
static void pair_with(const pairing *f, size_t call, size_t kernel)
{
    int64_t queue_ns, total_ns;
    if (f->times.dur_ns[kernel] == GT_CHROME_NONE) return;
    if (__builtin_sub_overflow(f->times.begin_ns[kernel], f->times.end_ns[call], &queue_ns) || queue_ns < 0)
        queue_ns = 0;
    if (__builtin_add_overflow(f->times.dur_ns[call], queue_ns, &total_ns) ||
        __builtin_add_overflow(total_ns, f->times.dur_ns[kernel], &total_ns))
        return; /* overflow: centuries of nanoseconds */
    size_t row = add_pair(f, call, device_of(f, kernel), kernel_name(f, kernel));
    gt_table_set_int(f->pairs, HAS_KERNEL, row, 1);
    gt_table_set_int(f->pairs, TOTAL, row, total_ns);
    gt_table_set_int(f->pairs, QUEUE, row, queue_ns);
    gt_table_set_int(f->pairs, WORK, row, f->times.dur_ns[kernel]);
}

static void pair_calls(pairing *f)
{
    for (uint32_t i = 0; i < f->trace->count; i++) {
        if (f->correlations[i] == GT_CHROME_NONE || f->times.dur_ns[i] == GT_CHROME_NONE ||
            gt_map_get(&f->last_call, (uint64_t)f->correlations[i], 0) != i)
            continue;
        bool is_launch = is_hip_call(f, i) && properties_of(f, f->names[i]) & LAUNCH_NAME;
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

/* Adds the statistics of one of T, A, Q and K; pairs without a kernel have no T. */
static void add_measure(gt_table *table, const gt_groups *groups, const gt_group_rows *by_group,
                        const gt_column *values, const char *letter)
{
    size_t to[GT_LENGTH(statistics)];
    for (size_t i = 0; i < GT_LENGTH(statistics); i++) {
        char name[32];
        snprintf(name, sizeof name, "%s%s_ns", letter, statistics[i]);
        to[i] =
            gt_table_add_zeroed(table, gt_col_named(name), i == 2 || i == 3 ? GT_TYPE_INT : GT_TYPE_FLOAT);
    }
    int64_t *in_group = gt_alloc(groups->row_count * sizeof *in_group);
    for (size_t g = 0; g < groups->count; g++) {
        size_t count = 0;
        for (size_t i = by_group->begins[g]; i < by_group->begins[g + 1]; i++)
            if (!gt_column_is_null(values, by_group->rows[i]))
                in_group[count++] = values->ints[by_group->rows[i]];
        gt_exact_statistics s = gt_exact_measure(in_group, count);
        table->columns[to[0]].floats[g] = s.mean;
        table->columns[to[1]].floats[g] = s.median;
        table->columns[to[2]].ints[g] = s.min;
        table->columns[to[3]].ints[g] = s.max;
        table->columns[to[4]].floats[g] = s.std;
    }
    gt_free(in_group);
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
    gt_group_rows by_group = gt_group_rows_find(&groups);
    gt_table_rename(table, GT_SHEET_API_KERNEL_SUMMARY);
    for (size_t i = 0; i < GT_LENGTH(measures); i++)
        add_measure(table, &groups, &by_group, &pairs->columns[measures[i].column], measures[i].letter);
    gt_group_rows_free(&by_group);
    gt_groups_free(&groups);
    gt_table_move_column(table, gt_table_find(table, GT_COL_API_NAME), table->column_count - 1);
    gt_table_move_column(table, gt_table_find(table, GT_COL_KERNEL_NAME_TITLE), table->column_count - 1);
    return table;
}

static pairing open_pairing(const gt_chrome *trace, const gt_pftrace_api_options *options)
{
    pairing f = {.trace = trace, .options = options};
    f.properties = gt_alloc_zero(gt_interner_count(trace->strings), 1);
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

static void close_pairing(pairing *f)
{
    void *const arrays[] = {f->properties, f->correlations, f->are_calls, f->pids,         f->tids,
                            f->devices,    f->categories,   f->names,     f->kernel_names, f->next};
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
    pairing f = open_pairing(trace, options);
    f.error = error;
    index_events(&f);
    pair_calls(&f);
    gt_table *table = f.failed ? NULL : summarize(f.pairs);
    close_pairing(&f);
    return table;
}
