/* `sweep compare`: finds the reports of two runs and puts the sheets of the comparison together. */
#include "sweep/compare/compare.h"
#include "base/log.h"
#include "base/memory.h"
#include "os/paths.h"
#include "schema/sheets.h"
#include "sweep/layout.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* ---- reports of a run ---- */

typedef struct run_reports {
    gt_setting_reports ranks; /* by rank */
    char *collective;         /* path; NULL: none */
    char *label;              /* "256thread_28ch", or the folder name */
} run_reports;

/* Where the reports of a run are, and the prefix of their names. */
typedef struct place {
    char *folder;     /* with individual_reports and collective_reports */
    char *prefix;     /* of the rank reports: "perf_28ch_rank" */
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

/* Cuts off and returns the last part of a path that has no trailing '/'. */
static char *cut_last_part(char *path)
{
    char *slash = strrchr(path, '/');
    char *part = gt_strdup(slash ? slash + 1 : path);
    if (slash) *slash = 0;
    return part;
}

/* "nccl_28channels" in "256thread": the run is a setting of a sweep. */
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
    gt_folder_list names = gt_list_folder(folder);
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
    gt_folder_list_free(&names);
    gt_free(folder);
}

static bool find_reports(run_reports *reports, const char *run, gt_error *error)
{
    char whole[PATH_MAX];
    *reports = (run_reports){0};
    if (!realpath(run, whole)) return gt_fail(error, "directory not found: %s", run);
    place p = place_of(whole);
    add_ranks(&reports->ranks, &p);
    reports->label = gt_strdup(p.label);
    reports->collective = gt_format("%s/collective_reports/%s", p.folder, p.collective);
    if (!gt_path_is_file(reports->collective)) {
        gt_free(reports->collective);
        reports->collective = NULL;
    }
    bool found = reports->ranks.count > 0;
    if (!found)
        gt_fail(error, "%s: no rank reports: no %s/individual_reports/%s<R>.xlsx", run, p.folder, p.prefix);
    free_place(&p);
    return found;
}

static void free_reports(run_reports *reports)
{
    gt_setting_reports_free(&reports->ranks);
    gt_free(reports->collective);
    gt_free(reports->label);
    *reports = (run_reports){0};
}

/* ---- comparison ---- */

enum { BASELINE, TEST, RUNS };

/* The names in the final workbook of sheets from the other two. */
static const struct {
    gt_sheet sheet, name;
} FINAL_SHEETS[] = {{GT_SHEET_COMPARISON_BY_RANK, GT_SHEET_FINAL_GPU_BY_RANK},
                    {GT_SHEET_SUMMARY_COMPARISON, GT_SHEET_FINAL_GPU_SUMMARY},
                    {GT_SHEET_NCCL_IMPLICIT_SYNC_CMP, GT_SHEET_FINAL_NCCL_IMPLICIT_SYNC},
                    {GT_SHEET_NCCL_LONG_CMP, GT_SHEET_FINAL_NCCL_LONG}};

static bool compare_collectives(gt_run_comparison *c, const run_reports *runs, const gt_run_side *sides,
                                gt_interner *strings, gt_error *error)
{
    gt_collective_side collectives[RUNS];
    for (size_t i = 0; i < RUNS; i++) {
        collectives[i] = (gt_collective_side){runs[i].collective, sides[i].label};
        if (runs[i].collective) continue;
        gt_warn("%s has no collective report; collectives are not compared", sides[i].label);
        return true;
    }
    return gt_run_collectives(&collectives[BASELINE], &collectives[TEST], strings, &c->collectives, error);
}

static void make_final(gt_run_comparison *c, const gt_run_side *sides)
{
    const gt_table *summary = gt_table_list_find(&c->timelines, GT_SHEET_SUMMARY_COMPARISON);
    gt_table_list_add(&c->final, gt_run_dashboard(summary, &sides[BASELINE], &sides[TEST]));
    for (size_t i = 0; i < GT_LENGTH(FINAL_SHEETS); i++) {
        const gt_table *found = gt_table_list_find(&c->timelines, FINAL_SHEETS[i].sheet);
        if (!found) found = gt_table_list_find(&c->collectives, FINAL_SHEETS[i].sheet);
        if (!found) continue;
        gt_table *copy = gt_table_copy(found);
        gt_table_rename(copy, FINAL_SHEETS[i].name);
        gt_table_list_add(&c->final, copy);
    }
}

static bool compare_runs(gt_run_comparison *c, const gt_run_comparison_options *options, run_reports *runs,
                         gt_interner *strings, gt_error *error)
{
    const char *const folders[RUNS] = {options->baseline, options->test}, *const labels[RUNS] = {
                                                                              options->baseline_label,
                                                                              options->test_label};
    gt_run_side sides[RUNS];
    for (size_t i = 0; i < RUNS; i++) {
        if (!find_reports(&runs[i], folders[i], error)) return false;
        gt_setting_reports_read(&runs[i].ranks, GT_SHEET_GPU_TIMELINE, strings);
        sides[i] = (gt_run_side){&runs[i].ranks, labels[i] ? labels[i] : runs[i].label};
    }
    if (strcmp(sides[BASELINE].label, sides[TEST].label) == 0) {
        sides[BASELINE].label = "baseline";
        sides[TEST].label = "test";
    }
    c->baseline_label = gt_strdup(sides[BASELINE].label);
    c->test_label = gt_strdup(sides[TEST].label);
    c->baseline_ranks = runs[BASELINE].ranks.count;
    c->test_ranks = runs[TEST].ranks.count;
    if (!gt_run_timelines(&sides[BASELINE], &sides[TEST], options->geometric, strings, &c->timelines,
                          error) ||
        !compare_collectives(c, runs, sides, strings, error))
        return false;
    make_final(c, sides);
    return true;
}

bool gt_run_comparison_make(gt_run_comparison *comparison, const gt_run_comparison_options *options,
                            gt_interner *strings, gt_error *error)
{
    run_reports runs[RUNS] = {{.label = NULL}};
    *comparison = (gt_run_comparison){0};
    bool made = compare_runs(comparison, options, runs, strings, error);
    for (size_t i = 0; i < RUNS; i++) free_reports(&runs[i]);
    return made;
}

void gt_run_comparison_free(gt_run_comparison *comparison)
{
    gt_table_list_free(&comparison->timelines);
    gt_table_list_free(&comparison->collectives);
    gt_table_list_free(&comparison->final);
    gt_free(comparison->baseline_label);
    gt_free(comparison->test_label);
    *comparison = (gt_run_comparison){0};
}
