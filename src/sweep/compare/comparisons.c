/* One task a pair of channels and rank; threads take one after another. The first setting of threads that has
 * the report, in byte order of the names, is the baseline. */
#include "sweep/compare/comparisons.h"
#include "base/length.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/threads.h"
#include "report/compare.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

typedef struct task {
    const char *channels;
    int64_t rank;
} task;

typedef struct job {
    const gt_sweep *sweep;
    const char *analysis;
    gt_compare_options options;
    task *tasks;
    size_t count, capacity;
    gt_sweep_comparisons done;
    pthread_mutex_t lock;
} job;

char *gt_sweep_report_path(const char *analysis, const gt_sweep_config *config, int64_t rank)
{
    return gt_format("%s/%s/individual_reports/perf_%sch_rank%" PRId64 ".xlsx", analysis, config->threads,
                     config->channels, rank);
}

/* The reports of a task; they are not open yet. */
static size_t find_reports(const job *j, const task *t, gt_compare_report *reports)
{
    size_t count = 0;
    for (size_t i = 0; i < j->sweep->count; i++) {
        const gt_sweep_config *config = &j->sweep->configs[i];
        if (strcmp(config->channels, t->channels) != 0) continue;
        char *path = gt_sweep_report_path(j->analysis, config, t->rank);
        if (gt_sweep_has_file(path))
            reports[count++] = (gt_compare_report){.tag = config->threads, .path = path};
        else
            gt_free(path);
    }
    return count;
}

static bool compare(const job *j, const task *t, gt_compare_report *reports, size_t count, gt_error *error)
{
    gt_interner *strings = gt_interner_new();
    gt_table_list tables = {0};
    char *path = gt_format("%s/comparisons/compare_%sch_rank%" PRId64 "_across_threads.xlsx", j->analysis,
                           t->channels, t->rank);
    bool open = true;
    for (size_t i = 0; i < count && open; i++)
        open = (reports[i].sheets = gt_perf_sheets_open(reports[i].path, error));
    bool made = open && gt_compare_tables(reports, count, &j->options, strings, &tables, error) &&
                gt_table_list_write(&tables, path, error);
    gt_free(path);
    gt_table_list_free(&tables);
    gt_interner_free(strings);
    return made;
}

static void do_task(void *context, size_t index)
{
    job *j = context;
    const task *t = &j->tasks[index];
    gt_error error = {""};
    gt_compare_report *reports = gt_alloc_zero(j->sweep->count, sizeof *reports);
    size_t count = find_reports(j, t, reports);
    bool made = count > 1 && compare(j, t, reports, count, &error);
    if (count == 1)
        gt_info("Skip comparison of %sch rank %" PRId64 " - only in 1 thread config", t->channels, t->rank);
    else if (count > 1 && !made)
        gt_warn("comparison of %sch rank %" PRId64 ": %s", t->channels, t->rank, error.text);
    for (size_t i = 0; i < count; i++) {
        gt_perf_sheets_close(reports[i].sheets);
        gt_free((char *)(uintptr_t)reports[i].path);
    }
    gt_free(reports);
    pthread_mutex_lock(&j->lock);
    j->done.made += made;
    j->done.failed += count > 1 && !made;
    pthread_mutex_unlock(&j->lock);
}

/* Channels in the order in which the sweep has them first. */
static void add_tasks(job *j, const gt_sweep_ranks *ranks)
{
    for (size_t i = 0; i < j->sweep->count; i++) {
        const char *channels = j->sweep->configs[i].channels;
        bool met = false;
        for (size_t k = 0; k < i && !met; k++) met = strcmp(j->sweep->configs[k].channels, channels) == 0;
        for (size_t r = 0; r < ranks->count && !met; r++) {
            task t = {channels, ranks->items[r]};
            GT_PUSH(j->tasks, j->count, j->capacity, t);
        }
    }
}

gt_sweep_comparisons gt_sweep_compare(const gt_sweep *sweep, const char *analysis,
                                      const gt_sweep_ranks *ranks, bool rocprof, unsigned threads)
{
    const char *const groups[] = {"gpu_timeline", rocprof ? "kernel_summary" : "ops_summary"};
    job j = {.sweep = sweep,
             .analysis = analysis,
             .options = {.groups = groups, .group_count = GT_LENGTH(groups)}};
    add_tasks(&j, ranks);
    pthread_mutex_init(&j.lock, NULL);
    gt_threads_each(j.count, threads, do_task, &j);
    pthread_mutex_destroy(&j.lock);
    gt_free(j.tasks);
    return j.done;
}
