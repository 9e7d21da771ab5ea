/* The plots of all runs side by side: what each chart shows (charts.c draws it). Columns are those of
 * all_runs.c, whose names end in labels. */
#include "sweep/compare/run_plots.h"
#include "output/figure/figure.h"
#include "schema/columns.h"
#include "sweep/compare/plot_canvas.h"

typedef struct all_runs {
    const char *const *labels; /* the first one is the baseline */
    size_t count;
} all_runs;

static size_t labelled_column(const gt_table *table, const char *name, const char *label)
{
    char *full = gt_format("%s_%s", name, label);
    size_t column = gt_table_find(table, gt_col_named(full));
    gt_free(full);
    return gt_plot_is_number(table, column) ? column : SIZE_MAX;
}

/* The numbers of each run in a column with its label; NaN where there is none. The caller frees them. */
static gt_chart_run *runs_of(const gt_table *table, const char *name, const all_runs *runs)
{
    gt_chart_run *shown = gt_alloc((runs->count + 1) * sizeof *shown);
    for (size_t i = 0; i < runs->count; i++) {
        size_t column = labelled_column(table, name, runs->labels[i]);
        double *values = gt_alloc((table->row_count + 1) * sizeof *values);
        for (size_t row = 0; row < table->row_count; row++)
            values[row] = column == SIZE_MAX ? NAN : gt_column_number(&table->columns[column], row);
        shown[i] = (gt_chart_run){runs->labels[i], values, gt_series_colour(i)};
    }
    return shown;
}

static void free_runs(gt_chart_run *shown, size_t count)
{
    for (size_t i = 0; i < count; i++) gt_free((double *)(uintptr_t)shown[i].values);
    gt_free(shown);
}

static bool draw_all_changes(const gt_canvas *to, const gt_table *summary, const all_runs *runs,
                             const char *const *types)
{
    gt_chart_run *changes = runs_of(summary, "percentage_change", runs);
    gt_change_panel *panels = gt_alloc((runs->count + 1) * sizeof *panels);
    for (size_t i = 1; i < runs->count; i++)
        panels[i - 1] = (gt_change_panel){runs->labels[i], changes[i].values};
    char *title = gt_format("GPU Time Percentage Change vs %.60s", runs->labels[0]);
    bool drawn =
        gt_canvas_draw_change(to, "improvement_chart.png",
                              &(gt_change_chart){.title = title,
                                                 .x_label = "Change (%), negative: less time",
                                                 .y_label = "Type",
                                                 .categories = types,
                                                 .category_count = summary->row_count,
                                                 .panels = panels,
                                                 .panel_count = runs->count - 1,
                                                 .less_is_good = true,
                                                 .width_inches = fmax(10, 7.0 * (double)(runs->count - 1)),
                                                 .height_inches = 6},
                              gt_chart_changes);
    gt_free_all(title, panels);
    free_runs(changes, runs->count);
    return drawn;
}

static bool draw_all_summary(const gt_canvas *to, const gt_table *summary, const all_runs *runs)
{
    const char **types = gt_plot_strings(summary, 0);
    bool drawn = draw_all_changes(to, summary, runs, types);
    gt_chart_run *times = runs_of(summary, GT_COL_TIME_MS.name, runs);
    drawn = drawn && gt_canvas_draw(to, "abs_time_comparison.png",
                                    &(gt_run_chart){.title = "GPU Time Summary",
                                                    .x_label = "Type",
                                                    .y_label = "Time (ms)",
                                                    .categories = types,
                                                    .category_count = summary->row_count,
                                                    .runs = times,
                                                    .run_count = runs->count,
                                                    .width_inches = 10,
                                                    .height_inches = 6},
                                    gt_chart_bars);
    free_runs(times, runs->count);
    gt_free(types);
    return drawn;
}

/* The rank in "<rank>_<label>"; -1: the column is of another run. */
static int64_t rank_in(const char *name, const char *label)
{
    char *rest;
    if (!isdigit((unsigned char)*name)) return -1;
    long long rank = strtoll(name, &rest, 10);
    return *rest == '_' && strcmp(rest + 1, label) == 0 ? rank : -1;
}

typedef struct rank_columns {
    int64_t *ranks; /* of any run, ascending */
    char **names;
    size_t count;
    size_t *columns; /* per run, and per rank: the column; SIZE_MAX: none */
} rank_columns;

static rank_columns find_rank_columns(const gt_table *times, const all_runs *runs)
{
    rank_columns found = {0};
    int64_t *all = gt_alloc((times->column_count * runs->count + 1) * sizeof *all);
    size_t count = 0;
    for (size_t c = 1; c < times->column_count; c++)
        for (size_t i = 0; i < runs->count; i++) {
            int64_t rank = rank_in(times->columns[c].name, runs->labels[i]);
            if (rank >= 0) all[count++] = rank;
        }
    found.ranks = gt_distinct_ranks(all, count, &found.count);
    gt_free(all);
    found.names = gt_alloc((found.count + 1) * sizeof *found.names);
    found.columns = gt_alloc((found.count * runs->count + 1) * sizeof *found.columns);
    for (size_t r = 0; r < found.count; r++) found.names[r] = gt_format("%lld", (long long)found.ranks[r]);
    gt_column_index index = gt_column_index_new(times);
    for (size_t i = 0; i < runs->count; i++)
        for (size_t r = 0; r < found.count; r++) {
            char *name = gt_format("%s_%s", found.names[r], runs->labels[i]);
            size_t column = gt_column_index_find(&index, gt_col_named(name));
            found.columns[i * found.count + r] = gt_plot_is_number(times, column) ? column : SIZE_MAX;
            gt_free(name);
        }
    gt_column_index_free(&index);
    return found;
}

static void free_rank_columns(rank_columns *found)
{
    for (size_t r = 0; r < found->count; r++) gt_free(found->names[r]);
    gt_free_all(found->names, found->ranks, found->columns);
}

/* "<type>_by_rank.png" with a type that can be part of a file name. */
static char *rank_file_name(const char *type)
{
    char *name = gt_format("%.80s_by_rank.png", type);
    for (char *c = name; *c; c++)
        if (!isalnum((unsigned char)*c) && !strchr("._-", *c)) *c = '_';
    if (name[0] == '.') name[0] = '_';
    return name;
}

static bool draw_all_type(const gt_canvas *to, const gt_table *times, const all_runs *runs,
                          const rank_columns *ranks, size_t row)
{
    gt_chart_run *shown = gt_alloc((runs->count + 1) * sizeof *shown);
    for (size_t i = 0; i < runs->count; i++) {
        double *values = gt_alloc((ranks->count + 1) * sizeof *values);
        for (size_t r = 0; r < ranks->count; r++) {
            size_t column = ranks->columns[i * ranks->count + r];
            values[r] = column == SIZE_MAX ? NAN : gt_column_number(&times->columns[column], row);
        }
        shown[i] = (gt_chart_run){runs->labels[i], values, gt_series_colour(i)};
    }
    char *title = gt_format("%.80s - Time per Rank", gt_plot_string(times, 0, row)),
         *name = rank_file_name(gt_plot_string(times, 0, row));
    bool drawn = gt_canvas_draw(to, name,
                                &(gt_run_chart){.title = title,
                                                .x_label = "Rank",
                                                .y_label = "Time (ms)",
                                                .categories = (const char *const *)ranks->names,
                                                .category_count = ranks->count,
                                                .runs = shown,
                                                .run_count = runs->count,
                                                .width_inches = 12,
                                                .height_inches = 6},
                                gt_chart_lines);
    gt_free_all(title, name);
    free_runs(shown, runs->count);
    return drawn;
}

static bool draw_all_ranks(const gt_canvas *to, const gt_table *times, const all_runs *runs)
{
    rank_columns ranks = find_rank_columns(times, runs);
    bool drawn = true;
    for (size_t row = 0; row < times->row_count && drawn; row++)
        drawn = draw_all_type(to, times, runs, &ranks, row);
    free_rank_columns(&ranks);
    return drawn;
}

static bool draw_all_collectives(const gt_canvas *to, const gt_table *table, const all_runs *runs)
{
    gt_collective_names names = {gt_alloc((table->row_count + 1) * sizeof *names.items), table->row_count};
    for (size_t row = 0; row < table->row_count; row++)
        names.items[row] = gt_strdup(gt_plot_string(table, 0, row));
    bool drawn = true;
    for (size_t i = 0; i < gt_collective_chart_count && drawn; i++) {
        gt_chart_run *shown = runs_of(table, gt_collective_charts[i].measure.name, runs);
        drawn = gt_canvas_draw_collectives(to, i, &names, shown, runs->count);
        free_runs(shown, runs->count);
    }
    gt_collective_names_free(&names);
    return drawn;
}

bool gt_all_plots_draw(const gt_table_list *together, const char *const *labels, size_t count,
                       const char *folder, gt_output *output, gt_name_set *drawn, gt_error *error)
{
    const gt_canvas to = {folder, output, drawn, error};
    const all_runs runs = {labels, count};
    const gt_table *summary = gt_table_list_find_any(together, GT_SHEET_SUMMARY),
                   *times = gt_table_list_find_any(together, GT_SHEET_PER_RANK_TIME_MS),
                   *collectives = gt_table_list_find_any(together, GT_SHEET_NCCL_SUMMARY);
    return (!summary || draw_all_summary(&to, summary, &runs)) &&
           (!times || draw_all_ranks(&to, times, &runs)) &&
           (!collectives || draw_all_collectives(&to, collectives, &runs));
}
