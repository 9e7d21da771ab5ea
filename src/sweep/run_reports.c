/* Finds the reports of a run; see run_reports.h. */
#include "sweep/run_reports.h"
#include "base/memory.h"
#include "sweep/run/layout.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* Where the reports of a run are, and what their names begin with. */
typedef struct place {
    char *folder;     /* of individual_reports and collective_reports */
    char *prefix;     /* of reports of ranks: "perf_28ch_rank" */
    char *collective; /* name of the collective report */
    char *label;
} place;

static void free_place(place *p)
{
    gt_free(p->folder);
    gt_free(p->prefix);
    gt_free(p->collective);
    gt_free(p->label);
}

/* The last part of a path without '/' at its end, which is cut off of it. */
static char *cut_last_part(char *path)
{
    char *slash = strrchr(path, '/');
    char *part = gt_strdup(slash ? slash + 1 : path);
    if (slash) *slash = 0;
    return part;
}

/* "nccl_28channels" in "256thread": the reports are those of the sweep. */
static bool is_setting(const char *threads, const char *channels, int64_t *number)
{
    size_t len = strlen(threads);
    if (len <= 6 || strcmp(threads + len - 6, "thread") != 0 || strncmp(channels, "nccl_", 5) != 0)
        return false;
    channels += 5;
    return gt_take_number(&channels, number) && strcmp(channels, "channels") == 0;
}

static place place_of(const char *whole_path)
{
    place p = {0};
    int64_t number;
    char *above = gt_strdup(whole_path), *last = cut_last_part(above), *threads = cut_last_part(above);
    if (is_setting(threads, last, &number)) {
        p.folder = gt_format("%s/" GT_SWEEP_ANALYSIS "/%s", above, threads);
        p.prefix = gt_format("perf_%lldch_rank", (long long)number);
        p.collective = gt_format("collective_%lldch.xlsx", (long long)number);
        p.label = gt_format("%s_%lldch", threads, (long long)number);
    } else {
        p.folder = gt_format("%s/" GT_SWEEP_ANALYSIS, whole_path);
        p.prefix = gt_strdup("perf_rank");
        p.collective = gt_strdup("collective_all_ranks.xlsx");
        p.label = gt_strdup(last);
    }
    gt_free(above);
    gt_free(last);
    gt_free(threads);
    return p;
}

static int by_rank(const void *a, const void *b)
{
    const gt_setting_report *x = a, *y = b;
    return (x->rank > y->rank) - (x->rank < y->rank);
}

static void add_ranks(gt_setting_reports *ranks, const place *p)
{
    char *folder = gt_format("%s/individual_reports", p->folder);
    gt_names_found names = gt_list_folder(folder);
    for (size_t i = 0; i < names.count; i++) {
        const char *at = names.items[i];
        gt_setting_report report = {0};
        if (strncmp(at, p->prefix, strlen(p->prefix)) != 0) continue;
        at += strlen(p->prefix);
        if (!gt_take_number(&at, &report.rank) || strcmp(at, ".xlsx") != 0) continue;
        report.path = gt_format("%s/%s", folder, names.items[i]);
        report.file = gt_strdup(names.items[i]);
        GT_PUSH(ranks->items, ranks->count, ranks->capacity, report);
    }
    if (ranks->count) qsort(ranks->items, ranks->count, sizeof *ranks->items, by_rank);
    gt_names_found_free(&names);
    gt_free(folder);
}

bool gt_run_reports_find(gt_run_reports *reports, const char *run, gt_error *error)
{
    char whole[PATH_MAX];
    *reports = (gt_run_reports){0};
    if (!realpath(run, whole)) return gt_fail(error, "directory not found: %s", run);
    place p = place_of(whole);
    add_ranks(&reports->ranks, &p);
    reports->label = gt_strdup(p.label);
    reports->collective = gt_format("%s/collective_reports/%s", p.folder, p.collective);
    if (!gt_sweep_has_file(reports->collective)) {
        gt_free(reports->collective);
        reports->collective = NULL;
    }
    bool found = reports->ranks.count > 0;
    if (!found)
        gt_fail(error, "%s: no reports of ranks: there is no %s/individual_reports/%s<R>.xlsx", run, p.folder,
                p.prefix);
    free_place(&p);
    return found;
}

void gt_run_reports_free(gt_run_reports *reports)
{
    gt_setting_reports_free(&reports->ranks);
    gt_free(reports->collective);
    gt_free(reports->label);
    *reports = (gt_run_reports){0};
}
