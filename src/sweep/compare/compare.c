/* `sweep compare`: finds the reports of the runs and puts the sheets of the comparisons together. */
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

/* "nccl_28channels" in "256thread": the run is a setting of a sweep of threads and channels. */
static bool is_classic_setting(const char *threads, const char *channels)
{
    size_t len;
    size_t before = gt_folder_threads(threads);
    return before != SIZE_MAX && before && gt_folder_digits(channels, "nccl_", "channels", &len);
}

static bool has_reports(const char *folder)
{
    char *analysis = gt_format("%s/" GT_SWEEP_ANALYSIS, folder);
    bool found = gt_path_is_folder(analysis);
    gt_free(analysis);
    return found;
}

/* The nearest folder above the run with reports, if the folders between are those of axes. NULL: there is
 * none. The caller frees it. */
static char *reports_above(const char *whole_path)
{
    char *above = gt_strdup(whole_path);
    bool is_axis = true;
    while (is_axis && *above) {
        char *name = cut_last_part(above);
        is_axis = gt_folder_is_axis(name);
        gt_free(name);
        if (is_axis && has_reports(above)) return above;
    }
    gt_free(above);
    return NULL;
}

/* The folder of the sweep that the run is a setting of; NULL: the run is not in a sweep. The caller frees it.
 */
static char *sweep_above(const char *whole_path)
{
    char *above = gt_strdup(whole_path), *last = cut_last_part(above), *upper = cut_last_part(above);
    bool is_classic = is_classic_setting(upper, last);
    char *found = is_classic || !has_reports(whole_path) ? reports_above(whole_path) : NULL;
    gt_free(last);
    gt_free(upper);
    if (found || !is_classic) {
        gt_free(above);
        return found;
    }
    return above; /* whose reports are missing */
}

/* A setting of a sweep, which may have any axes. */
static place place_in_sweep(const char *root, const char *whole_path)
{
    gt_sweep sweep;
    gt_sweep_begin(&sweep, root);
    gt_sweep_add(&sweep, root, whole_path + strlen(root) + 1);
    gt_sweep_finish(&sweep);
    const gt_sweep_config *config = &sweep.configs[0];
    bool is_top = strcmp(config->report_folder, ".") == 0;
    place p = {.folder = gt_format("%s/" GT_SWEEP_ANALYSIS "%s%s", root, is_top ? "" : "/",
                                   is_top ? "" : config->report_folder),
               .prefix = gt_format("perf_%s_rank", config->report_name),
               .collective = gt_format("collective_%s.xlsx", config->report_name),
               .label = gt_strdup(config->name)};
    if (gt_run_has_failed(config->status))
        gt_warn("%s: the run did not end well (%s)", config->name, gt_run_status_names[config->status]);
    gt_sweep_free(&sweep);
    return p;
}

static place place_of(const char *whole_path)
{
    char *root = sweep_above(whole_path);
    place p;
    if (root) {
        p = place_in_sweep(root, whole_path);
    } else {
        p.folder = gt_format("%s/" GT_SWEEP_ANALYSIS, whole_path);
        p.prefix = gt_strdup("perf_rank");
        p.collective = gt_strdup("collective_all_ranks.xlsx");
        p.label = gt_strdup(gt_path_name(whole_path));
    }
    gt_free(root);
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

/* ---- comparison with one test ---- */

enum { BASELINE, TEST, RUNS };

/* The names in the final workbook of sheets from the other two. */
static const struct {
    gt_sheet sheet, name;
} FINAL_SHEETS[] = {{GT_SHEET_COMPARISON_BY_RANK, GT_SHEET_FINAL_GPU_BY_RANK},
                    {GT_SHEET_SUMMARY_COMPARISON, GT_SHEET_FINAL_GPU_SUMMARY},
                    {GT_SHEET_NCCL_IMPLICIT_SYNC_CMP, GT_SHEET_FINAL_NCCL_IMPLICIT_SYNC},
                    {GT_SHEET_NCCL_LONG_CMP, GT_SHEET_FINAL_NCCL_LONG}};

static bool compare_collectives(gt_run_comparison *c, const run_reports *const *runs,
                                const gt_run_side *sides, gt_interner *strings, gt_error *error)
{
    gt_collective_side collectives[RUNS];
    for (size_t i = 0; i < RUNS; i++) {
        collectives[i] = (gt_collective_side){runs[i]->collective, sides[i].label};
        if (runs[i]->collective) continue;
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

static bool compare_pair(gt_run_comparison *c, const run_reports *const *runs, const gt_run_side *sides,
                         bool geometric, gt_interner *strings, gt_error *error)
{
    c->baseline_label = gt_strdup(sides[BASELINE].label);
    c->test_label = gt_strdup(sides[TEST].label);
    c->baseline_ranks = runs[BASELINE]->ranks.count;
    c->test_ranks = runs[TEST]->ranks.count;
    if (!gt_run_timelines(&sides[BASELINE], &sides[TEST], geometric, strings, &c->timelines, error) ||
        !compare_collectives(c, runs, sides, strings, error))
        return false;
    make_final(c, sides);
    return true;
}

/* ---- all tests ---- */

static bool is_used(const gt_run_side *sides, size_t count, const char *label)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(sides[i].label, label) == 0) return true;
    return false;
}

/* Labels name columns, so each must be another one: "baseline" and "test" if there are only these two, else
 * "256thread_28ch_2". */
static void make_labels_unique(gt_run_side *sides, run_reports *runs, size_t count)
{
    if (count == RUNS && strcmp(sides[BASELINE].label, sides[TEST].label) == 0) {
        sides[BASELINE].label = "baseline";
        sides[TEST].label = "test";
        return;
    }
    for (size_t i = 1; i < count; i++) {
        const char *label = sides[i].label;
        char *other = gt_strdup(label);
        for (size_t number = 2; is_used(sides, i, other); number++) {
            gt_free(other);
            other = gt_format("%s_%zu", label, number);
        }
        gt_free(runs[i].label);
        runs[i].label = other; /* keeps the label */
        sides[i].label = other;
    }
}

static bool compare_runs(gt_run_comparisons *all, const gt_run_comparison_options *options, run_reports *runs,
                         gt_run_side *sides, gt_interner *strings, gt_error *error)
{
    size_t count = options->test_count + 1;
    for (size_t i = 0; i < count; i++) {
        const char *folder = i ? options->tests[i - 1] : options->baseline;
        const char *label = !i                               ? options->baseline_label
                            : i <= options->test_label_count ? options->test_labels[i - 1]
                                                             : NULL;
        if (!find_reports(&runs[i], folder, error)) return false;
        gt_setting_reports_read(&runs[i].ranks, GT_SHEET_GPU_TIMELINE, strings);
        sides[i] = (gt_run_side){&runs[i].ranks, label ? label : runs[i].label};
    }
    make_labels_unique(sides, runs, count);
    for (size_t i = 1; i < count; i++) {
        const run_reports *const pair[RUNS] = {&runs[0], &runs[i]};
        const gt_run_side pair_sides[RUNS] = {sides[0], sides[i]};
        if (!compare_pair(&all->items[i - 1], pair, pair_sides, options->geometric, strings, error))
            return false;
    }
    const char **collectives = gt_alloc(count * sizeof *collectives);
    for (size_t i = 0; i < count; i++) collectives[i] = runs[i].collective;
    const gt_all_runs every = {sides, collectives, count, options->geometric};
    bool made = count == RUNS || gt_all_runs_tables(&every, strings, &all->together, error);
    gt_free(collectives);
    return made;
}

bool gt_run_comparisons_make(gt_run_comparisons *all, const gt_run_comparison_options *options,
                             gt_interner *strings, gt_error *error)
{
    size_t count = options->test_count + 1;
    run_reports *runs = gt_alloc_zero(count, sizeof *runs);
    gt_run_side *sides = gt_alloc_zero(count, sizeof *sides);
    *all = (gt_run_comparisons){.items = gt_alloc_zero(options->test_count, sizeof *all->items),
                                .count = options->test_count};
    bool made = compare_runs(all, options, runs, sides, strings, error);
    for (size_t i = 0; i < count; i++) free_reports(&runs[i]);
    gt_free(runs);
    gt_free(sides);
    return made;
}

void gt_run_comparisons_free(gt_run_comparisons *all)
{
    for (size_t i = 0; i < all->count; i++) {
        gt_run_comparison *comparison = &all->items[i];
        gt_table_list_free(&comparison->timelines);
        gt_table_list_free(&comparison->collectives);
        gt_table_list_free(&comparison->final);
        gt_free(comparison->baseline_label);
        gt_free(comparison->test_label);
    }
    gt_table_list_free(&all->together);
    gt_free(all->items);
    *all = (gt_run_comparisons){0};
}
