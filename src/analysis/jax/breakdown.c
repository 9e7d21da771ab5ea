/* gpu_events_averages, gpu_events_categorized_mean and xla_grouped: how was the time of the GPUs spent?
 *
 * The latter two sum up the events that the timeline counts as computation.
 *
 *     count            events
 *     time ms          sum of their durations, even if they ran at the same time
 *     time ms per gpu  time ms / number of GPUs
 *     percent          gpu_events_categorized_mean: of the computation_time of all GPUs, in which time counts
 *                      once even if several events ran, so the sum may be above 100;
 *                      xla_grouped: of the time of all uncategorized events
 *     percent of kernel time  gpu_events_categorized_mean only, on request: of the time ms of all classes
 *
 * The class comes from the kernel's name, or else from the name of its op. xla_grouped shortens names
 * (short_name). overlapped_comm = total_comm_time - exposed_comm_time. */
#include "analysis/jax/kernels.h"

#include "analysis/sheet_parts.h"
#include "schema/columns.h"

enum { LAST_GPU_PID = 100 };
static const char UNCATEGORIZED[] = "Uncategorized Events";

enum { NAME, COUNT, TIME, TIME_PER_GPU, PERCENT };

typedef struct total {
    uint32_t name; /* string id */
    int64_t count;
    double time_us;
} total;

typedef struct total_list {
    total *items;
    size_t count, capacity;
    uint32_t *index_of; /* by string id; UINT32_MAX: not in the list */
    size_t index_count;
} total_list;

/* ---- totals by name ---- */

/* The total of a name, added if it is new. */
static total *total_of(total_list *list, uint32_t name)
{
    while (list->index_count <= name) {
        size_t before = list->index_count, after = before ? before * 2 : 256;
        list->index_of = gt_realloc(list->index_of, after * sizeof *list->index_of);
        memset(list->index_of + before, 0xff, (after - before) * sizeof *list->index_of);
        list->index_count = after;
    }
    if (list->index_of[name] == UINT32_MAX) {
        list->index_of[name] = (uint32_t)list->count;
        GT_PUSH(list->items, list->count, list->capacity, ((total){.name = name}));
    }
    return &list->items[list->index_of[name]];
}

static void add_to_total(total_list *list, uint32_t name, int64_t count, double time_us)
{
    total *t = total_of(list, name);
    t->count += count;
    t->time_us += time_us;
}

static void free_totals(total_list *list)
{
    gt_free_all(list->items, list->index_of);
}

static int by_name(const void *left, const void *right, void *strings)
{
    return gt_str_compare(gt_interner_get(strings, ((const total *)left)->name),
                          gt_interner_get(strings, ((const total *)right)->name));
}

/* ---- tables ---- */

static gt_table *make_table(gt_sheet sheet, gt_col key, const total_list *list, double whole_us, double gpus,
                            gt_interner *strings)
{
    gt_table *table = gt_table_new(sheet, strings);
    gt_table_add_column(table, key, GT_TYPE_STRING);
    gt_table_add_column(table, GT_COL_COUNT, GT_TYPE_INT);
    gt_table_add_column(table, GT_COL_TIME_MS, GT_TYPE_FLOAT);
    gt_table_add_column(table, GT_COL_TIME_MS_PER_GPU, GT_TYPE_FLOAT);
    gt_table_add_column(table, GT_COL_PERCENT, GT_TYPE_FLOAT);
    for (size_t i = 0; i < list->count; i++) {
        const total *t = &list->items[i];
        size_t row = gt_table_add_row(table);
        gt_table_set_string(table, NAME, row, t->name);
        gt_table_set_int(table, COUNT, row, t->count);
        gt_table_set_float(table, TIME, row, t->time_us / 1e3);
        gt_table_set_float(table, TIME_PER_GPU, row, t->time_us / 1e3 / gpus);
        gt_table_set_float(table, PERCENT, row, whole_us > 0 ? t->time_us / whole_us * 100 : (double)NAN);
    }
    gt_table_sort(table, &(gt_sort_key){GT_COL_PERCENT, true}, 1);
    return table;
}

/* Shares that add up to 100. */
static void add_shares(gt_table *classes)
{
    const double *times_ms = classes->columns[TIME].floats;
    double whole_ms = 0;
    for (size_t row = 0; row < classes->row_count; row++) whole_ms += times_ms[row];
    size_t share = gt_table_add_column(classes, GT_COL_PERCENT_OF_KERNEL_TIME, GT_TYPE_FLOAT);
    for (size_t row = 0; row < classes->row_count; row++)
        gt_table_set_float(classes, share, row,
                           whole_ms > 0 ? classes->columns[TIME].floats[row] / whole_ms * 100 : (double)NAN);
}

/* The name without underscores at its end and without digits. */
static uint32_t short_name(gt_interner *strings, uint32_t name)
{
    gt_str kept = gt_interner_get(strings, name);
    while (kept.len && kept.bytes[kept.len - 1] == '_') kept.len--;
    return gt_name_without_digits(strings, kept);
}

static gt_table *group_names(const total_list *names, double whole_us, double gpus, gt_interner *strings)
{
    total_list grouped = {0};
    for (size_t i = 0; i < names->count; i++) {
        const total *t = &names->items[i];
        add_to_total(&grouped, short_name(strings, t->name), t->count, t->time_us);
    }
    if (grouped.count) qsort_r(grouped.items, grouped.count, sizeof *grouped.items, by_name, strings);
    gt_table *table =
        make_table(GT_SHEET_XLA_GROUPED, GT_COL_SHORT_NAME_GROUPED, &grouped, whole_us, gpus, strings);
    free_totals(&grouped);
    return table;
}

/* ---- events ---- */

static gt_jax_class class_of(const gt_jax *trace, size_t event)
{
    gt_jax_class class = gt_jax_class_of_name(gt_jax_name(trace, event));
    if (class != GT_JAX_CLASS_XLA) return class;
    return gt_jax_class_of_name(gt_interner_get(trace->strings, gt_jax_hlo_op(trace, event)));
}

/* What is known about events with the same name, op and line. Many events close to each other share them, so
 * a small direct-mapped cache finds most of them. */
typedef struct event_class {
    uint32_t name, op, line;
    bool is_computation, is_known;
    gt_jax_class class;
} event_class;

static void sum_up(const gt_jax *trace, total_list *classes, total_list *names)
{
    enum { CACHE_SIZE = 1024 };
    event_class *cache = gt_alloc_zero(CACHE_SIZE, sizeof *cache);
    uint32_t class_names[GT_JAX_CLASSES];
    for (size_t c = 0; c < GT_JAX_CLASSES; c++)
        class_names[c] = gt_interner_add_cstr(
            trace->strings, c == GT_JAX_CLASS_XLA ? UNCATEGORIZED : gt_jax_class_name((gt_jax_class)c));
    add_to_total(classes, class_names[GT_JAX_CLASS_XLA], 0, 0);
    for (size_t i = 0; i < trace->count; i++) {
        event_class *a = &cache[(trace->name[i] * 31 + trace->op[i]) % CACHE_SIZE];
        if (!a->is_known || a->name != trace->name[i] || a->op != trace->op[i] || a->line != trace->line[i])
            *a = (event_class){trace->name[i], trace->op[i],
                               trace->line[i], gt_jax_is_computation(trace, i),
                               true,           class_of(trace, i)};
        if (!a->is_computation) continue;
        double dur_us = gt_jax_dur_us(trace, i);
        add_to_total(classes, class_names[a->class], 1, dur_us);
        if (a->class == GT_JAX_CLASS_XLA) add_to_total(names, trace->name[i], 1, dur_us);
    }
    gt_free(cache);
}

/* Adds overlapped_comm before total_comm_time. */
static void add_overlap(gt_table *averages)
{
    double ms[3] = {0};
    static const char *const parts[] = {"total_comm_time", "exposed_comm_time", "total_time"};
    size_t before = averages->row_count;
    for (size_t row = 0; row < averages->row_count; row++) {
        gt_str type = gt_interner_get(averages->strings, averages->columns[0].texts[row]);
        for (size_t p = 0; p < 3; p++)
            if (strcmp(type.bytes, parts[p]) == 0) ms[p] = averages->columns[1].floats[row];
        if (strcmp(type.bytes, parts[0]) == 0) before = row;
    }
    if (!averages->row_count) return;
    double overlapped = ms[0] - ms[1];
    gt_gpu_timeline_add(averages, "overlapped_comm", overlapped * 1000.0,
                        ms[2] > 0 ? overlapped / ms[2] * 100 : (double)NAN);
    size_t count = averages->row_count;
    uint32_t *rows = gt_order_new(count);
    memmove(rows + before + 1, rows + before, (count - 1 - before) * sizeof *rows);
    rows[before] = (uint32_t)count - 1;
    gt_table_take(averages, rows, count);
    gt_free(rows);
}

static double computation_us(const gt_table *by_gpu)
{
    double sum = 0;
    for (size_t row = 0; row < by_gpu->row_count; row++) {
        bool is_computation = strcmp(gt_interner_get(by_gpu->strings, by_gpu->columns[0].texts[row]).bytes,
                                     "computation_time") == 0;
        if (is_computation && gt_table_column(by_gpu, GT_COL_GPU_PID)->ints[row] <= LAST_GPU_PID)
            sum += by_gpu->columns[1].floats[row] * 1e3;
    }
    return sum;
}

gt_jax_breakdown gt_jax_breakdown_make(const gt_jax *trace, bool shares)
{
    gt_jax_timeline timeline = gt_jax_timeline_make(trace, LAST_GPU_PID);
    total_list classes = {0}, names = {0};
    sum_up(trace, &classes, &names);
    size_t gpu_count = 0;
    for (size_t g = 0; g < trace->gpu_count; g++) gpu_count += trace->gpus[g].pid <= LAST_GPU_PID;
    double gpus = gpu_count ? (double)gpu_count : 1, uncategorized_us = classes.items[0].time_us;
    gt_jax_breakdown breakdown = {
        .averages = timeline.averages,
        .categorized = make_table(GT_SHEET_GPU_EVENTS_CATEGORIZED_MEAN, GT_COL_NAME, &classes,
                                  computation_us(timeline.by_gpu), gpus, trace->strings),
        .xla_grouped = group_names(&names, uncategorized_us, gpus, trace->strings),
    };
    if (shares) add_shares(breakdown.categorized);
    add_overlap(breakdown.averages);
    gt_table_free(timeline.by_gpu);
    free_totals(&classes);
    free_totals(&names);
    return breakdown;
}
