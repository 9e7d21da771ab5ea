/* Where plots are drawn, and what they take from sheets. */
#include "sweep/compare/plot_canvas.h"
#include "schema/columns.h"

/* The path of a file in the folder, which is now one of those that are drawn. The caller frees it. */
char *gt_canvas_path(const gt_canvas *to, const char *name)
{
    return gt_format("%s/%s", to->folder, gt_name_set_add(to->drawn, name, SIZE_MAX));
}

bool gt_canvas_draw(const gt_canvas *to, const char *name, const gt_run_chart *chart, gt_run_chart_form *form)
{
    char *path = gt_canvas_path(to, name);
    bool drawn = form(chart, path, to->output, to->error);
    gt_free(path);
    return drawn;
}

bool gt_canvas_draw_change(const gt_canvas *to, const char *name, const gt_change_chart *chart,
                           gt_change_chart_form *form)
{
    char *path = gt_canvas_path(to, name);
    bool drawn = form(chart, path, to->output, to->error);
    gt_free(path);
    return drawn;
}

/* ---- columns ---- */

bool gt_plot_is_number(const gt_table *table, size_t column)
{
    return column < table->column_count && gt_column_is_number(&table->columns[column]);
}

bool gt_plot_is_string(const gt_table *table, size_t column)
{
    return column < table->column_count && table->columns[column].type == GT_TYPE_STRING;
}

/* The numbers of a column; the caller frees them. */
double *gt_plot_numbers(const gt_table *table, size_t column)
{
    double *values = gt_alloc((table->row_count + 1) * sizeof *values);
    for (size_t row = 0; row < table->row_count; row++)
        values[row] = gt_column_number(&table->columns[column], row);
    return values;
}

const char *gt_plot_string(const gt_table *table, size_t column, size_t row)
{
    uint32_t id = table->columns[column].texts[row];
    return id == GT_STR_NONE ? "" : gt_interner_get(table->strings, id).bytes;
}

/* The strings of a column; the caller frees the array. */
const char **gt_plot_strings(const gt_table *table, size_t column)
{
    const char **texts = gt_alloc((table->row_count + 1) * sizeof *texts);
    for (size_t row = 0; row < table->row_count; row++) texts[row] = gt_plot_string(table, column, row);
    return texts;
}

/* Each of the numbers once, ascending; the caller frees them. */
int64_t *gt_distinct_ranks(const int64_t *numbers, size_t count, size_t *distinct_count)
{
    int64_t *all = gt_alloc((count + 1) * sizeof *all);
    *distinct_count = 0;
    for (size_t i = 0; i < count; i++) all[i] = numbers[i];
    if (count) qsort(all, count, sizeof *all, gt_by_i64);
    for (size_t i = 0; i < count; i++)
        if (!i || all[i] != all[i - 1]) all[(*distinct_count)++] = all[i];
    return all;
}

/* ---- collectives ---- */

const gt_collective_chart gt_collective_charts[] = {
    {GT_COL_COMM_LATENCY_MEAN, "NCCL Communication Latency", "Communication Latency (us)"},
    {GT_COL_ALGO_BW_GB_PER_S_MEAN, "NCCL Algorithm Bandwidth", "Algorithm Bandwidth (GB/s)"},
    {GT_COL_BUS_BW_GB_PER_S_MEAN, "NCCL Bus Bandwidth", "Bus Bandwidth (GB/s)"},
    {GT_COL_TOTAL_COMM_LATENCY_MS, "NCCL Total Communication Latency", "Total Communication Latency (ms)"},
};
const size_t gt_collective_chart_count = GT_LENGTH(gt_collective_charts);

void gt_collective_names_free(gt_collective_names *names)
{
    for (size_t i = 0; i < names->count; i++) gt_free(names->items[i]);
    gt_free(names->items);
}

bool gt_canvas_draw_collectives(const gt_canvas *to, size_t index, const gt_collective_names *names,
                                const gt_chart_run *runs, size_t run_count)
{
    char *title = gt_format("%s Comparison", gt_collective_charts[index].name);
    char *name = gt_format("%s_comparison.png", gt_collective_charts[index].name);
    for (char *c = name; *c; c++)
        if (*c == ' ') *c = '_';
    bool drawn = gt_canvas_draw(to, name,
                                &(gt_run_chart){.title = title,
                                                .x_label = "Collective Operation (Message Size)",
                                                .y_label = gt_collective_charts[index].y_label,
                                                .categories = (const char *const *)names->items,
                                                .category_count = names->count,
                                                .runs = runs,
                                                .run_count = run_count,
                                                .width_inches = 14,
                                                .height_inches = 6},
                                gt_chart_bars);
    gt_free_all(title, name);
    return drawn;
}
