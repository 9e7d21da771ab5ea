/* The plots of compared runs: what each chart shows (charts.c draws it), from the sheets of the final report.
 * Columns are found by their place next to columns with known names, because their own names contain labels,
 * which may be anything. */
#include "sweep/compare/run_plots.h"
#include "schema/columns.h"
#include "sweep/compare/plot_canvas.h"

static const uint32_t BASELINE_COLOUR = 0x3498db, TEST_COLOUR = 0xe67e22;

/* ---- dashboard of two runs ---- */

static bool draw_dashboard(const gt_canvas *to, const gt_table *dashboard)
{
    enum { METRIC, BASELINE, TEST, IMPROVEMENT };
    const char **metrics = gt_plot_strings(dashboard, METRIC);
    double *before = gt_plot_numbers(dashboard, BASELINE), *after = gt_plot_numbers(dashboard, TEST),
           *changes = gt_plot_numbers(dashboard, IMPROVEMENT);
    const gt_change_panel panel = {"GPU Metrics Percentage Change (Test vs Baseline)", changes};
    const gt_chart_run runs[] = {{dashboard->columns[BASELINE].name, before, BASELINE_COLOUR},
                                 {dashboard->columns[TEST].name, after, TEST_COLOUR}};
    bool drawn =
        gt_canvas_draw_change(to, "improvement_chart.png",
                              &(gt_change_chart){.x_label = "Change (%), positive: the test is better",
                                                 .y_label = "Metric",
                                                 .categories = metrics,
                                                 .category_count = dashboard->row_count,
                                                 .panels = &panel,
                                                 .panel_count = 1,
                                                 .width_inches = 10,
                                                 .height_inches = 6},
                              gt_chart_changes) &&
        gt_canvas_draw(to, "abs_time_comparison.png",
                       &(gt_run_chart){.title = "GPU Metrics Absolute Time Comparison",
                                       .x_label = "Metric Type",
                                       .y_label = "Time (ms)",
                                       .categories = metrics,
                                       .category_count = dashboard->row_count,
                                       .runs = runs,
                                       .run_count = GT_LENGTH(runs),
                                       .width_inches = 10,
                                       .height_inches = 6},
                       gt_chart_bars);
    gt_free_all(metrics, before, after, changes);
    return drawn;
}

/* ---- ranks of two runs ---- */

enum { BEFORE, AFTER, CHANGE, MEASURES };

/* Numbers by type and rank. */
typedef struct rank_grid {
    const char **types;
    char **ranks;
    size_t type_count, rank_count;
    double *values[MEASURES]; /* row by row, one row per type; NaN: none */
    const char *labels[CHANGE];
} rank_grid;

static void fill_grid(rank_grid *grid, const gt_table *table, const size_t *columns, size_t rank, size_t type)
{
    gt_map types = {0}, ranks = {0};
    for (size_t i = 0; i < grid->type_count; i++)
        *gt_map_put(&types, gt_interner_add_cstr(table->strings, grid->types[i]), 0) = (uint32_t)i;
    size_t rank_count;
    int64_t *numbers = gt_distinct_ranks(table->columns[rank].ints, table->row_count, &rank_count);
    for (size_t i = 0; i < rank_count; i++) *gt_map_put(&ranks, (uint64_t)numbers[i], 0) = (uint32_t)i;
    for (size_t row = 0; row < table->row_count; row++) {
        uint32_t line = gt_map_get(&types, table->columns[type].texts[row], 0),
                 place = gt_map_get(&ranks, (uint64_t)table->columns[rank].ints[row], 0);
        if (line == GT_MAP_NONE || place == GT_MAP_NONE) continue;
        for (size_t m = 0; m < MEASURES; m++)
            grid->values[m][line * grid->rank_count + place] =
                gt_column_number(&table->columns[columns[m]], row);
    }
    gt_free(numbers);
    gt_map_free(&types);
    gt_map_free(&ranks);
}

/* GPU_ByRank_Cmp: rank, type, the times of both runs, ..., percent_change. False if it is not like that, or
 * empty. */
static bool make_grid(rank_grid *grid, const gt_table *table)
{
    size_t rank = gt_table_find(table, GT_COL_RANK), type = gt_table_find(table, GT_COL_TYPE),
           change = gt_table_find(table, GT_COL_PERCENT_CHANGE);
    size_t columns[MEASURES] = {type + 1, type + 2, change};
    *grid = (rank_grid){0};
    if (!table->row_count || !gt_plot_is_string(table, type) || !gt_plot_is_number(table, columns[BEFORE]) ||
        !gt_plot_is_number(table, columns[AFTER]) || !gt_plot_is_number(table, change) ||
        rank >= table->column_count || table->columns[rank].type != GT_TYPE_INT)
        return false;
    gt_groups groups = gt_groups_find(table, (gt_col[]){GT_COL_TYPE}, 1, (gt_group_options){.sorted = true});
    grid->type_count = groups.count;
    grid->types = gt_alloc((groups.count + 1) * sizeof *grid->types);
    for (size_t i = 0; i < groups.count; i++)
        grid->types[i] = gt_plot_string(table, type, groups.first_row[i]);
    gt_groups_free(&groups);
    int64_t *ranks = gt_distinct_ranks(table->columns[rank].ints, table->row_count, &grid->rank_count);
    grid->ranks = gt_alloc((grid->rank_count + 1) * sizeof *grid->ranks);
    for (size_t i = 0; i < grid->rank_count; i++) grid->ranks[i] = gt_format("%lld", (long long)ranks[i]);
    gt_free(ranks);
    size_t cells = grid->type_count * grid->rank_count;
    for (size_t m = 0; m < MEASURES; m++) {
        grid->values[m] = gt_alloc((cells + 1) * sizeof *grid->values[m]);
        for (size_t i = 0; i < cells; i++) grid->values[m][i] = NAN;
    }
    fill_grid(grid, table, columns, rank, type);
    return true;
}

static void free_grid(rank_grid *grid)
{
    for (size_t i = 0; i < grid->rank_count; i++) gt_free(grid->ranks[i]);
    gt_free_all(grid->ranks, grid->types);
    for (size_t m = 0; m < MEASURES; m++) gt_free(grid->values[m]);
}

static size_t find_type(const rank_grid *grid, const char *type)
{
    for (size_t i = 0; i < grid->type_count; i++)
        if (strcmp(grid->types[i], type) == 0) return i;
    return SIZE_MAX;
}

static bool draw_type(const gt_canvas *to, const rank_grid *grid, const char *type)
{
    size_t line = find_type(grid, type);
    if (line == SIZE_MAX) return true;
    const gt_chart_run runs[] = {
        {grid->labels[BEFORE], grid->values[BEFORE] + line * grid->rank_count, BASELINE_COLOUR},
        {grid->labels[AFTER], grid->values[AFTER] + line * grid->rank_count, TEST_COLOUR}};
    char *title = gt_format("%s Comparison across all ranks", type),
         *name = gt_format("%s_by_rank.png", type);
    bool drawn = gt_canvas_draw(to, name,
                                &(gt_run_chart){.title = title,
                                                .x_label = "Rank",
                                                .y_label = "Time (ms)",
                                                .categories = (const char *const *)grid->ranks,
                                                .category_count = grid->rank_count,
                                                .runs = runs,
                                                .run_count = GT_LENGTH(runs),
                                                .width_inches = 12,
                                                .height_inches = 6},
                                gt_chart_lines);
    gt_free_all(title, name);
    return drawn;
}

static bool draw_rank_changes(const gt_canvas *to, const rank_grid *grid)
{
    static const char *const types[] = {"busy_time",           "computation_time", "exposed_comm_time",
                                        "exposed_memcpy_time", "idle_time",        "total_comm_time",
                                        "total_memcpy_time",   "total_time"};
    gt_change_panel panels[GT_LENGTH(types)];
    size_t count = 0;
    for (size_t i = 0; i < GT_LENGTH(types); i++) {
        size_t line = find_type(grid, types[i]);
        if (line != SIZE_MAX)
            panels[count++] = (gt_change_panel){types[i], grid->values[CHANGE] + line * grid->rank_count};
    }
    if (!count) return true;
    return gt_canvas_draw_change(to, "gpu_time_change_percentage_summary_by_rank.png",
                                 &(gt_change_chart){.x_label = "Rank",
                                                    .y_label = "Percent Change (%)",
                                                    .categories = (const char *const *)grid->ranks,
                                                    .category_count = grid->rank_count,
                                                    .panels = panels,
                                                    .panel_count = count,
                                                    .width_inches = 12,
                                                    .height_inches = 6},
                                 gt_chart_change_panels);
}

static bool draw_ranks(const gt_canvas *to, const gt_table *by_rank, const gt_table *dashboard)
{
    static const char *const types[] = {"total_time", "computation_time", "total_comm_time", "idle_time"};
    rank_grid grid;
    if (!make_grid(&grid, by_rank)) {
        gt_warn("sheet %s: no rank that both runs have; no plots by rank", by_rank->name);
        return true;
    }
    for (size_t i = BEFORE; i <= AFTER; i++) grid.labels[i] = dashboard->columns[i + 1].name;
    char *path = gt_canvas_path(to, "gpu_time_heatmap.png");
    bool drawn = gt_chart_map(
        &(gt_change_map){.title = "GPU Metric Percentage Change by Rank (positive: the test is better)",
                         .x_label = "Rank",
                         .y_label = "Metric Type",
                         .rows = grid.types,
                         .columns = (const char *const *)grid.ranks,
                         .row_count = grid.type_count,
                         .column_count = grid.rank_count,
                         .changes = grid.values[CHANGE]},
        path, to->output, to->error);
    gt_free(path);
    for (size_t i = 0; i < GT_LENGTH(types) && drawn; i++) drawn = draw_type(to, &grid, types[i]);
    drawn = drawn && draw_rank_changes(to, &grid);
    free_grid(&grid);
    return drawn;
}

/* ---- collectives ---- */

/* "allreduce 1048576", with the data type if there are several. */
static gt_collective_names name_collectives(const gt_table *table)
{
    size_t name = gt_table_find(table, GT_COL_COLLECTIVE_NAME), dtype = gt_table_find(table, GT_COL_DTYPE),
           elements = gt_table_find(table, GT_COL_IN_MSG_NELEMS);
    gt_collective_names names = {gt_alloc((table->row_count + 1) * sizeof *names.items), table->row_count};
    bool has_types = false;
    for (size_t row = 1; row < table->row_count && gt_plot_is_string(table, dtype); row++)
        has_types |= table->columns[dtype].texts[row] != table->columns[dtype].texts[0];
    for (size_t row = 0; row < table->row_count; row++) {
        double size =
            gt_plot_is_number(table, elements) ? gt_column_number(&table->columns[elements], row) : NAN;
        char *type = has_types ? gt_format(" %s", gt_plot_string(table, dtype, row)) : gt_strdup("");
        char *digits = isfinite(size) ? gt_format(" %.0f", size) : gt_strdup("");
        names.items[row] = gt_format("%s%s%s", gt_plot_string(table, name, row), type, digits);
        gt_free_all(type, digits);
    }
    return names;
}

/* The column "diff_<measure>", which is after those of both runs. */
static size_t find_difference(const gt_table *table, gt_col measure)
{
    char *name = gt_format("diff_%s", measure.name);
    size_t column = gt_table_find(table, gt_col_named(name));
    gt_free(name);
    bool is_usable = column != SIZE_MAX && column >= 2 && gt_plot_is_number(table, column - 2) &&
                     gt_plot_is_number(table, column - 1);
    return is_usable ? column : SIZE_MAX;
}

static bool draw_collective_changes(const gt_canvas *to, const gt_table *table,
                                    const gt_collective_names *names)
{
    static const char *const titles[] = {"Comm Latency", "Algo BW", "Bus BW"};
    gt_change_panel panels[GT_LENGTH(titles)];
    size_t count = 0;
    for (size_t i = 0; i < GT_LENGTH(titles); i++) {
        char *name = gt_format("percent_change_%s", gt_collective_charts[i].measure.name);
        size_t column = gt_table_find(table, gt_col_named(name));
        gt_free(name);
        if (gt_plot_is_number(table, column))
            panels[count++] = (gt_change_panel){titles[i], gt_plot_numbers(table, column)};
    }
    bool drawn =
        !count || gt_canvas_draw_change(
                      to, "NCCL_Performance_Percentage_Change_comparison.png",
                      &(gt_change_chart){.title = "NCCL Performance Percentage Change By Message Size",
                                         .x_label = "Change (%), positive: better",
                                         .y_label = "",
                                         .categories = (const char *const *)names->items,
                                         .category_count = names->count,
                                         .panels = panels,
                                         .panel_count = count,
                                         .width_inches = 16,
                                         .height_inches = 6},
                      gt_chart_changes);
    for (size_t i = 0; i < count; i++) gt_free((double *)(uintptr_t)panels[i].changes);
    return drawn;
}

static bool draw_collectives(const gt_canvas *to, const gt_table *table, const gt_table *dashboard)
{
    if (!table->row_count || !gt_plot_is_string(table, gt_table_find(table, GT_COL_COLLECTIVE_NAME))) {
        gt_warn("sheet %s: no collective that both runs have; no plots of collectives", table->name);
        return true;
    }
    gt_collective_names names = name_collectives(table);
    bool drawn = true;
    for (size_t i = 0; i < gt_collective_chart_count && drawn; i++) {
        size_t column = find_difference(table, gt_collective_charts[i].measure);
        if (column == SIZE_MAX) continue;
        double *before = gt_plot_numbers(table, column - 2), *after = gt_plot_numbers(table, column - 1);
        const gt_chart_run runs[] = {{dashboard->columns[1].name, before, BASELINE_COLOUR},
                                     {dashboard->columns[2].name, after, TEST_COLOUR}};
        drawn = gt_canvas_draw_collectives(to, i, &names, runs, GT_LENGTH(runs));
        gt_free_all(before, after);
    }
    drawn = drawn && draw_collective_changes(to, table, &names);
    gt_collective_names_free(&names);
    return drawn;
}

/* ---- plots of two runs ---- */

bool gt_final_plots_draw(const gt_table_list *final, const char *folder, gt_output *output,
                         gt_name_set *drawn, gt_error *error)
{
    const gt_canvas to = {folder, output, drawn, error};
    const gt_table *dashboard = gt_table_list_find_any(final, GT_SHEET_SUMMARY_DASHBOARD),
                   *by_rank = gt_table_list_find_any(final, GT_SHEET_FINAL_GPU_BY_RANK),
                   *collectives = gt_table_list_find_any(final, GT_SHEET_FINAL_NCCL_IMPLICIT_SYNC);
    if (!dashboard) return gt_fail(error, "no sheet %s", GT_SHEET_SUMMARY_DASHBOARD.name);
    if (!gt_plot_is_string(dashboard, 0) || !gt_plot_is_number(dashboard, 1) ||
        !gt_plot_is_number(dashboard, 2) || !gt_plot_is_number(dashboard, 3))
        return gt_fail(error, "sheet %s: the first columns are not Metric and three numbers",
                       dashboard->name);
    return draw_dashboard(&to, dashboard) && (!by_rank || draw_ranks(&to, by_rank, dashboard)) &&
           (!collectives || draw_collectives(&to, collectives, dashboard));
}
