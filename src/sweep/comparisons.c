/* `sweep report`: comparisons of the reports of a rank across the values of an axis. */
#include "sweep/report.h"
#include "base/many.h"
#include "index/checksum.h"
#include "os/paths.h"
#include "output/output.h"
#include "report/compare/compare.h"

/* One rank of the runs that differ in one axis only. */
typedef struct comparison_task {
    size_t axis, first, end; /* the runs in the job's order */
    int64_t rank;
    bool made, failed;
} comparison_task;

typedef struct comparison_job {
    const gt_sweep *sweep;
    const char *analysis;
    gt_sweep_cache *cache;
    gt_compare_options options;
    const gt_sweep_config **order; /* for each axis all runs, so that those to be compared are side by side */
    comparison_task *tasks;
    size_t count, capacity;
    gt_comparison_counts done;
} comparison_job;

/* The axes across which runs are compared: threads in a classic sweep, like the scripts do, else every axis
 * with several values. */
static bool is_compared(const gt_sweep *sweep, size_t axis)
{
    return sweep->is_classic ? axis == 0 : sweep->axes[axis].value_count > 1;
}

/* What the report of a run is called in its comparison across an axis: the folder of threads in a classic
 * sweep, else the value. */
static const char *tag_of(const comparison_job *j, size_t axis, const gt_sweep_config *config)
{
    return j->sweep->is_classic ? config->report_folder : config->values[axis].value;
}

/* The reports of a comparison_task, not opened yet. */
static size_t find_reports(const comparison_job *j, const comparison_task *t, gt_compare_report *reports)
{
    size_t count = 0;
    for (size_t i = t->first; i < t->end; i++) {
        const gt_sweep_config *config = j->order[i];
        char *path = gt_sweep_rank_report(j->analysis, config, t->rank);
        if (gt_path_is_file(path))
            reports[count++] = (gt_compare_report){.tag = tag_of(j, t->axis, config), .path = path};
        else
            gt_free(path);
    }
    return count;
}

/* "28ch" in a classic sweep; else the values of the other axes: "mode_fast_256thread". */
static char *others_of(const comparison_job *j, const comparison_task *t)
{
    const gt_sweep_config *config = j->order[t->first];
    if (j->sweep->is_classic) return gt_strdup(config->report_name);
    gt_buffer text = {0};
    for (size_t i = 0; i < j->sweep->axis_count; i++)
        if (i != t->axis && config->values[i].value)
            gt_buffer_add_format(&text, "%s%s_%s", text.len ? "_" : "", config->values[i].axis,
                                 config->values[i].value);
    if (config->repeat > 1)
        gt_buffer_add_format(&text, "%srepeat_%lld", text.len ? "_" : "", (long long)config->repeat);
    char *others = gt_strdup(text.len ? gt_buffer_str(&text).bytes : "all");
    gt_buffer_free(&text);
    return others;
}

/* Names of files have at most 255 bytes. A longer one is cut and gets a number that is made from all of it,
 * so that it is always the same and differs from others that begin alike. */
static char *name_of(const comparison_job *j, const comparison_task *t)
{
    static const char ending[] = ".xlsx";
    char *others = others_of(j, t);
    char *name =
        gt_format("compare_%s_rank%" PRId64 "_across_%s", others, t->rank, j->sweep->axes[t->axis].name);
    gt_free(others);
    size_t len = strlen(name), most = NAME_MAX - strlen(ending);
    char number[18];
    uint64_t sum = gt_checksum(name, len);
    if (len > most) {
        len = most - (size_t)snprintf(number, sizeof number, "-%016" PRIx64, sum);
        while (len && ((unsigned char)name[len] & 0xC0) == 0x80) len--; /* not inside a character */
        name[len] = 0;
    } else {
        number[0] = 0;
    }
    char *path = gt_format("%s/comparisons/%s%s%s", j->analysis, name, number, ending);
    gt_free(name);
    return path;
}

static bool make(const comparison_job *j, const char *path, gt_compare_report *reports, size_t count,
                 gt_error *error)
{
    gt_interner *strings = gt_interner_new();
    gt_table_list tables = {0};
    bool open = true;
    for (size_t i = 0; i < count && open; i++)
        open = (reports[i].sheets = gt_perf_sheets_open(reports[i].path, error));
    bool made = open && gt_compare_tables(reports, count, &j->options, strings, &tables, error) &&
                gt_output_workbook(&tables, path, error);
    gt_table_list_free(&tables);
    gt_interner_free(strings);
    return made;
}

static bool compare(const comparison_job *j, const comparison_task *t, gt_compare_report *reports,
                    size_t count, gt_error *error)
{
    char *path = name_of(j, t);
    gt_stamp stamp = gt_stamp_new("comparison", gt_path_name(path), 1); /* all are in one folder */
    for (size_t i = 0; i < j->options.group_count; i++) gt_stamp_add_text(&stamp, j->options.groups[i]);
    for (size_t i = 0; i < count; i++) {
        gt_stamp_add_text(&stamp, reports[i].tag);
        gt_stamp_add_file(&stamp, reports[i].path);
    }
    bool made = gt_stamp_find(&stamp, j->cache);
    if (made) {
        gt_captured_repeat(gt_buffer_str(&stamp.messages[0]));
    } else {
        gt_captured_messages captured = {0};
        gt_capture_begin(&captured);
        made = make(j, path, reports, count, error);
        gt_capture_end(&captured);
        stamp.messages[0] = captured.texts;
        if (made) {
            gt_stamp_add_output(&stamp, path);
            gt_stamp_keep(&stamp, j->cache);
        }
    }
    gt_stamp_free(&stamp);
    gt_free(path);
    return made;
}

static bool do_comparison(void *context, size_t index)
{
    comparison_job *j = context;
    comparison_task *t = &j->tasks[index];
    gt_error error = {""};
    gt_compare_report *reports = gt_alloc_zero(t->end - t->first, sizeof *reports);
    size_t count = find_reports(j, t, reports);
    char *others = others_of(j, t);
    bool made = count > 1 && compare(j, t, reports, count, &error);
    if (count == 1)
        gt_info("Skip comparison of %s rank %" PRId64 " - only in 1 %s config", others, t->rank,
                j->sweep->is_classic ? "thread" : j->sweep->axes[t->axis].name);
    else if (count > 1 && !made)
        gt_warn("comparison of %s rank %" PRId64 ": %s", others, t->rank, error.text);
    gt_free(others);
    for (size_t i = 0; i < count; i++) {
        gt_perf_sheets_close(reports[i].sheets);
        gt_free((char *)(uintptr_t)reports[i].path);
    }
    gt_free(reports);
    t->made = made;
    t->failed = count > 1 && !made;
    return true;
}

static void count_comparison(void *context, size_t index)
{
    comparison_job *j = context;
    j->done.made += j->tasks[index].made;
    j->done.failed += j->tasks[index].failed;
}

typedef struct comparison_order {
    size_t axis, axis_count;
} comparison_order;

/* -1, 0 or 1: whether runs differ in more than the axis. */
static int compare_others(const gt_sweep_config *x, const gt_sweep_config *y, const comparison_order *order)
{
    for (size_t i = 0; i < order->axis_count; i++)
        if (i != order->axis && x->values[i].place != y->values[i].place)
            return x->values[i].place < y->values[i].place ? -1 : 1;
    return (x->repeat > y->repeat) - (x->repeat < y->repeat);
}

/* Runs that differ only in the axis keep the order of the sweep. */
static int by_others(const void *a, const void *b, void *order)
{
    const gt_sweep_config *x = *(const gt_sweep_config *const *)a, *y = *(const gt_sweep_config *const *)b;
    int others = compare_others(x, y, order);
    return others ? others : (x > y) - (x < y);
}

static void add_comparisons_across(comparison_job *j, size_t axis, const gt_sweep_ranks *ranks)
{
    const comparison_order by = {axis, j->sweep->axis_count};
    size_t count = j->sweep->count, begin = axis * count;
    const gt_sweep_config **runs = j->order + begin;
    for (size_t i = 0; i < count; i++) runs[i] = &j->sweep->configs[i];
    qsort_r(runs, count, sizeof(*runs), by_others, (void *)(uintptr_t)&by);
    for (size_t first = 0, end; first < count; first = end) {
        for (end = first + 1; end < count && compare_others(runs[first], runs[end], &by) == 0;) end++;
        for (size_t r = 0; r < ranks->count; r++) {
            comparison_task t = {
                .axis = axis, .first = begin + first, .end = begin + end, .rank = ranks->items[r]};
            GT_PUSH(j->tasks, j->count, j->capacity, t);
        }
    }
}

static void add_comparisons(comparison_job *j, const gt_sweep_ranks *ranks)
{
    for (size_t axis = 0; axis < j->sweep->axis_count && j->sweep->count; axis++)
        if (is_compared(j->sweep, axis)) add_comparisons_across(j, axis, ranks);
}

gt_comparison_counts gt_sweep_compare_across_axes(const gt_sweep *sweep, const char *analysis,
                                                  const gt_sweep_ranks *ranks, bool rocprof,
                                                  gt_sweep_cache *cache)
{
    const char *const groups[] = {"gpu_timeline", rocprof ? "kernel_summary" : "ops_summary"};
    comparison_job j = {.sweep = sweep,
                        .analysis = analysis,
                        .cache = cache,
                        .options = {.groups = groups, .group_count = GT_LENGTH(groups)}};
    j.order = gt_alloc_zero(sweep->axis_count * sweep->count, sizeof(*j.order));
    add_comparisons(&j, ranks);
    gt_many_run(
        &(gt_many){.count = j.count, .work = do_comparison, .finish = count_comparison, .context = &j});
    gt_free_all(j.tasks, j.order);
    gt_stamps_remove_unused(cache, "comparison");
    return j.done;
}
