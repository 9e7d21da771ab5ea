/* Dashboards are filled here; output/xlsx writes them. */
#include "output/dashboard.h"

gt_dashboard *gt_dashboard_new(const gt_table *sheet)
{
    gt_dashboard *dashboard = gt_alloc_zero(1, sizeof *dashboard);
    dashboard->sheet = sheet;
    return dashboard;
}

void gt_dashboard_free(gt_dashboard *dashboard)
{
    if (!dashboard) return;
    for (size_t i = 0; i < dashboard->chart_count; i++) gt_free(dashboard->charts[i].series);
    gt_free_all(dashboard->charts, dashboard->cells, dashboard->widths);
    gt_arena_free(&dashboard->texts);
    gt_free(dashboard);
}

void gt_dashboard_add_width(gt_dashboard *dashboard, double characters)
{
    GT_PUSH(dashboard->widths, dashboard->width_count, dashboard->width_capacity, characters);
}

static gt_dash_cell *add_cell(gt_dashboard *dashboard, gt_dash_cell cell)
{
    cell.rows = cell.columns = 1;
    GT_PUSH(dashboard->cells, dashboard->cell_count, dashboard->cell_capacity, cell);
    return &dashboard->cells[dashboard->cell_count - 1];
}

gt_dash_cell *gt_dashboard_add_text(gt_dashboard *dashboard, size_t row, size_t column, gt_look look,
                                    const char *text)
{
    const char *copy = gt_arena_bytes(&dashboard->texts, text, strlen(text));
    return add_cell(dashboard, (gt_dash_cell){.row = row, .column = column, .look = look, .text = copy});
}

gt_dash_cell *gt_dashboard_add_number(gt_dashboard *dashboard, size_t row, size_t column, gt_look look,
                                      double number)
{
    return add_cell(dashboard, (gt_dash_cell){.row = row, .column = column, .look = look, .number = number});
}

gt_chart *gt_dashboard_add_chart(gt_dashboard *dashboard, const char *title)
{
    GT_PUSH(dashboard->charts, dashboard->chart_count, dashboard->chart_capacity,
            ((gt_chart){.title = title,
                        .axis = "",
                        .axis_format = "General",
                        .label_format = "General",
                        .description = "",
                        .gap_width = 50}));
    return &dashboard->charts[dashboard->chart_count - 1];
}

void gt_chart_add_series(gt_chart *chart, gt_chart_series series)
{
    GT_PUSH(chart->series, chart->series_count, chart->series_capacity, series);
}
