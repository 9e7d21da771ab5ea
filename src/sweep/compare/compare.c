/* `sweep compare`: the chain of steps from the reports of the runs to the sheets of all workbooks. */
#include "sweep/compare/compare.h"

enum { PAIR = 2 };

/* ---- labels ---- */

static bool is_used(const gt_run_summary *runs, size_t count, const char *label)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(runs[i].label, label) == 0) return true;
    return false;
}

static bool has_equal_labels(const gt_run_summary *runs, size_t count)
{
    for (size_t i = 1; i < count; i++)
        if (is_used(runs, i, runs[i].label)) return true;
    return false;
}

static const char *given_label(const gt_run_comparison_options *options, size_t run)
{
    if (run == 0) return options->baseline_label;
    return run <= options->test_label_count ? options->test_labels[run - 1] : NULL;
}

static void set_labels(gt_run_summary *runs, size_t count, const gt_run_comparison_options *options,
                       bool folder_names)
{
    for (size_t i = 0; i < count; i++) {
        const char *given = given_label(options, i);
        runs[i].label = given ? given : folder_names ? runs[i].reports.folder_name : runs[i].reports.label;
    }
}

/* Labels name columns, so each must be another one: "baseline" and "test" if there are only these two, else
 * "256thread_28ch_2". */
static void make_labels_unique(gt_run_summary *runs, size_t count)
{
    if (count == PAIR && has_equal_labels(runs, count)) {
        runs[0].label = "baseline";
        runs[1].label = "test";
        return;
    }
    for (size_t i = 1; i < count; i++) {
        const char *label = runs[i].label;
        char *other = gt_strdup(label);
        for (size_t number = 2; is_used(runs, i, other); number++) {
            gt_free(other);
            other = gt_format("%s_%zu", label, number);
        }
        gt_free(runs[i].reports.label);
        runs[i].reports.label = other; /* keeps the label */
        runs[i].label = other;
    }
}

/* ---- comparison with one test ---- */

static void give_pair_labels(gt_run_comparison *c, const gt_run_summary *baseline, const gt_run_summary *test)
{
    c->baseline_label = gt_strdup(baseline->label);
    c->test_label = gt_strdup(test->label);
    c->baseline_ranks = baseline->reports.ranks.count;
    c->test_ranks = test->reports.ranks.count;
}

static bool compare_collectives(gt_run_comparison *c, const gt_run_summary *baseline,
                                const gt_run_summary *test, gt_interner *strings, gt_error *error)
{
    const gt_run_summary *runs[PAIR] = {baseline, test};
    gt_table_list sheets[PAIR] = {{0}};
    gt_run_labels labels = {baseline->label, test->label};
    bool made = true;
    for (size_t i = 0; i < PAIR; i++) {
        if (runs[i]->reports.collective) continue;
        gt_warn("%s has no collective report; collectives are not compared", runs[i]->label);
        return true;
    }
    for (size_t i = 0; i < PAIR && made; i++)
        made = gt_read_report_tables(runs[i]->reports.collective, strings, &sheets[i], error);
    if (made) gt_combine_runs(&sheets[0], &sheets[1], labels, &c->collectives);
    made = made && gt_compare_collectives(&c->collectives, labels, &c->collective_comparison, error);
    for (size_t i = 0; i < PAIR; i++) gt_table_list_free(&sheets[i]);
    return made;
}

static bool compare_pair(gt_run_comparison *c, const gt_run_summary *baseline, const gt_run_summary *test,
                         const gt_run_comparison_options *options, gt_interner *strings, gt_error *error)
{
    gt_run_labels labels = {baseline->label, test->label};
    give_pair_labels(c, baseline, test);
    if (!options->no_timelines) {
        gt_combine_runs(&baseline->timeline, &test->timeline, labels, &c->timelines);
        if (!gt_compare_timelines(&c->timelines, labels, &c->timeline_comparison, error)) return false;
    }
    if (!options->no_collectives && !compare_collectives(c, baseline, test, strings, error)) return false;
    if (options->no_timelines || options->no_collectives) return true;
    const gt_final_parts parts = {&c->timelines, &c->timeline_comparison, &c->collectives,
                                  &c->collective_comparison};
    return gt_final_report_make(&c->final, &parts, labels, error);
}

/* ---- all tests ---- */

/* Removes reports that an earlier call wrote. */
static void drop_old_reports(gt_run_reports *reports, const gt_fresh_reports *fresh)
{
    if (fresh->has_no_collective && reports->collective) {
        gt_warn("%s is not used: the traces have no collectives", reports->collective);
        gt_free(reports->collective);
        reports->collective = NULL;
    }
    size_t kept = 0, at = 0; /* both are sorted by rank */
    for (size_t i = 0; i < reports->ranks.count && fresh->has_ranks; i++) {
        gt_setting_report *report = &reports->ranks.items[i];
        while (at < fresh->rank_count && fresh->ranks[at] < report->rank) at++;
        if (at < fresh->rank_count && fresh->ranks[at] == report->rank) {
            reports->ranks.items[kept++] = *report;
            continue;
        }
        gt_warn("%s is not used: it is older than this call", report->path);
        gt_free_all(report->path, report->file);
    }
    if (fresh->has_ranks) reports->ranks.count = kept;
}

static bool read_runs(gt_run_comparisons *all, const gt_run_comparison_options *options, gt_interner *strings,
                      gt_error *error)
{
    bool has_timelines = !options->no_timelines || options->no_pairs || all->run_count > PAIR;
    const gt_reports_search search = {.own_first = options->own_first, .without_ranks = !has_timelines};
    for (size_t i = 0; i < all->run_count; i++) {
        const char *folder = i ? options->tests[i - 1] : options->baseline;
        gt_run_summary *run = &all->runs[i];
        if (!gt_run_reports_find(&run->reports, folder, search, error)) return false;
        if (options->fresh) drop_old_reports(&run->reports, &options->fresh[i]);
        gt_setting_reports_read(&run->reports.ranks, GT_SHEET_GPU_TIMELINE, strings);
    }
    set_labels(all->runs, all->run_count, options, options->own_first);
    if (options->own_first && has_equal_labels(all->runs, all->run_count))
        set_labels(all->runs, all->run_count, options, false);
    make_labels_unique(all->runs, all->run_count);
    for (size_t i = 0; i < all->run_count && has_timelines; i++)
        if (!gt_run_timeline(&all->runs[i].reports.ranks, options->geometric, all->runs[i].label,
                             &all->runs[i].timeline, error))
            return false;
    return true;
}

static void put_side_by_side(gt_run_comparisons *all, gt_interner *strings)
{
    gt_side_by_side *sides = gt_alloc(all->run_count * sizeof *sides);
    for (size_t i = 0; i < all->run_count; i++)
        sides[i] =
            (gt_side_by_side){all->runs[i].label, &all->runs[i].timeline, all->runs[i].reports.collective};
    gt_all_runs_tables(sides, all->run_count, strings, &all->together);
    gt_free(sides);
}

bool gt_run_comparisons_make(gt_run_comparisons *all, const gt_run_comparison_options *options,
                             gt_interner *strings, gt_error *error)
{
    size_t pairs = options->no_pairs ? 0 : options->test_count;
    *all = (gt_run_comparisons){.run_count = options->test_count + 1, .count = pairs};
    all->runs = gt_alloc_zero(all->run_count, sizeof *all->runs);
    all->items = gt_alloc_zero(pairs + 1, sizeof *all->items);
    if (!read_runs(all, options, strings, error)) return false;
    for (size_t i = 0; i < pairs; i++)
        if (!compare_pair(&all->items[i], &all->runs[0], &all->runs[i + 1], options, strings, error))
            return false;
    if (options->no_pairs || all->run_count > PAIR) put_side_by_side(all, strings);
    return true;
}

void gt_run_comparisons_free(gt_run_comparisons *all)
{
    for (size_t i = 0; i < all->count; i++) {
        gt_run_comparison *comparison = &all->items[i];
        gt_table_list_free(&comparison->timelines);
        gt_table_list_free(&comparison->timeline_comparison);
        gt_table_list_free(&comparison->collectives);
        gt_table_list_free(&comparison->collective_comparison);
        gt_final_report_free(&comparison->final);
        gt_free_all(comparison->baseline_label, comparison->test_label);
    }
    for (size_t i = 0; i < all->run_count; i++) {
        gt_run_reports_free(&all->runs[i].reports);
        gt_table_list_free(&all->runs[i].timeline);
    }
    gt_table_list_free(&all->together);
    gt_free_all(all->items, all->runs);
    *all = (gt_run_comparisons){0};
}
