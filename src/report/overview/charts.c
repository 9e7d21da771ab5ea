/* The charts of the first sheet: where the time of the window goes, why the GPU is idle, which kernels take
 * the most time; of several ranks, what the step of each is made of, and for whom they wait. */
#include "report/overview/overview.h"

#include "page/words.h"
#include "report/answers.h"
#include "schema/columns.h"

/* ---- colours ---- */

/* Those that the page has in its light theme (page/web/colors.js), so that GEMM and idle time look the same
 * everywhere. Idle time is hatched: a grey and a direction per cause, and the largest cause has the accent.
 */
static const uint32_t category_colors[GT_CATEGORIES] = {
    [GT_CATEGORY_GEMM] = 0x0072b2,          [GT_CATEGORY_ATTENTION] = 0x56b4e9,
    [GT_CATEGORY_CONVOLUTION] = 0x004d80,   [GT_CATEGORY_NORMALISATION] = 0x009e73,
    [GT_CATEGORY_ELEMENTWISE] = 0x7fc8a9,   [GT_CATEGORY_REDUCTION] = 0xb884c4,
    [GT_CATEGORY_OPTIMIZER] = 0xe69f00,     [GT_CATEGORY_OTHER] = 0x8a8f98,
    [GT_CATEGORY_COMMUNICATION] = 0xd55e00, [GT_CATEGORY_COPY] = 0xe3d200,
};

/* Halfway to white. */
static uint32_t lighter(uint32_t color)
{
    return (color >> 1 & 0x7f7f7f) + 0x808080;
}

/* Lighter each time. */
static gt_chart_fill overview_category_fill(gt_category category, size_t repetition)
{
    uint32_t color = category_colors[category];
    for (size_t i = 0; i < repetition && i < 2; i++) color = lighter(color);
    return (gt_chart_fill){.color = color};
}

enum { LIGHT_GREY, DARK_GREY, ACCENT };
static const struct {
    uint32_t ground, line;
} hatches[] = {
    [LIGHT_GREY] = {0xeceef0, 0xa9aeb6}, [DARK_GREY] = {0xd3d7dc, 0x8f959e}, [ACCENT] = {0xf9d9d3, 0xbf3b2b}};

static const struct {
    const char *cause;
    int grey;
    const char *pattern;
} cause_looks[] = {
    {"launch", LIGHT_GREY, "ltUpDiag"},      {"sync", LIGHT_GREY, "ltDnDiag"},
    {"data", DARK_GREY, "ltUpDiag"},         {"cpu_op", DARK_GREY, "ltDnDiag"},
    {"python", LIGHT_GREY, "ltVert"},        {"untraced", LIGHT_GREY, "ltHorz"},
    {"alloc", DARK_GREY, "ltVert"},          {"module", DARK_GREY, "ltHorz"},
    {"copy", LIGHT_GREY, "openDmnd"},        {"profiler", DARK_GREY, "openDmnd"},
    {"device_gap", LIGHT_GREY, "lgGrid"},    {"dependency", DARK_GREY, "lgGrid"},
    {"device_wait", LIGHT_GREY, "dashVert"}, {"collective", DARK_GREY, "dashVert"},
};

static gt_chart_fill overview_cause_fill(gt_str cause, bool is_largest)
{
    for (size_t i = 0; i < GT_LENGTH(cause_looks); i++) {
        if (!gt_str_equals(cause, cause_looks[i].cause)) continue;
        int shade = is_largest ? ACCENT : cause_looks[i].grey;
        return (gt_chart_fill){cause_looks[i].pattern, hatches[shade].line, hatches[shade].ground};
    }
    return (gt_chart_fill){.color = hatches[is_largest ? ACCENT : LIGHT_GREY].ground};
}

enum { PARTS_SHOWN = 24, CAUSES_SHOWN = 10, RANKS_SHOWN = 64 };
enum { CHARACTER_PIXELS = 6, BAR_PIXELS = 650, TITLE_ROWS = 2, AXIS_ROWS = 2 };
enum { REST_ROW = GT_TOP_KERNELS + 2 };      /* below the cells of kernels */
static const double smallest_part_pct = 0.4; /* 3 pixels */
static const double smallest_rest_pct = 0.01;

/* Decimals that the largest value needs. */
static const char *format_for(double largest)
{
    return largest >= 1000   ? "#,##0"
           : largest >= 100  ? "0.0"
           : largest >= 1    ? "0.00"
           : largest >= 0.01 ? "0.000"
                             : "0.00000";
}

static double number_at(const gt_table *table, gt_col column, size_t row)
{
    double value = gt_column_number(gt_table_column(table, column), row);
    return isfinite(value) ? value : 0;
}

static char *keep(gt_dashboard *dashboard, gt_buffer *text)
{
    char *kept = gt_arena_bytes(&dashboard->texts, gt_buffer_str(text).bytes, text->len);
    gt_buffer_free(text);
    return kept;
}

/* ---- where the time goes ---- */

static gt_chart_fill fill_of_part(bool *has_cause, gt_str part, gt_str kind)
{
    if (!gt_str_equals(kind, "idle")) return overview_category_fill(gt_category_named(part), 0);
    bool is_first = !*has_cause;
    *has_cause = true;
    return overview_cause_fill(part, is_first);
}

/* A label only where it fits. */
static gt_chart_label label_of_part(const char *name, double pct)
{
    double room = pct / 100 * BAR_PIXELS, needed = CHARACTER_PIXELS * (double)(strlen(name) + 5);
    if (room >= needed) return GT_LABEL_NAME_AND_VALUE;
    return room >= CHARACTER_PIXELS * 5 ? GT_LABEL_VALUE : GT_LABEL_NONE;
}

/* Returns whether the part is large enough to be seen. */
static bool add_part(gt_dashboard *dashboard, gt_chart *chart, const gt_table *balance, size_t row,
                     bool *has_cause)
{
    gt_str part = gt_answers_cell(balance, GT_COL_PART, row),
           kind = gt_answers_cell(balance, GT_COL_KIND, row);
    double pct = number_at(balance, GT_COL_PCT, row);
    char *name = gt_overview_line(&dashboard->texts, part, 40);
    gt_chart_fill fill = fill_of_part(has_cause, part, kind);
    if (gt_str_equals(kind, "idle")) name = gt_arena_format(&dashboard->texts, "idle: %s", name);
    if (pct < smallest_part_pct || chart->series_count == PARTS_SHOWN) return false;
    gt_chart_add_series(chart,
                        (gt_chart_series){.name = name,
                                          .values = {balance, gt_table_find(balance, GT_COL_PCT), row, 1},
                                          .fill = fill,
                                          .label = label_of_part(name, pct)});
    return true;
}

/* What is too small to be seen, so that the bar is complete: its sum is a cell of its own. */
static void add_rest(gt_dashboard *dashboard, gt_chart *chart, double pct)
{
    if (pct < smallest_rest_pct || !isfinite(pct) || !chart->series_count) return;
    gt_dashboard_add_text(dashboard, REST_ROW, GT_OVERVIEW_HELPERS, GT_LOOK_NAME, "small parts, %");
    gt_dashboard_add_number(dashboard, REST_ROW, GT_OVERVIEW_HELPERS + 1, GT_LOOK_NUMBER, pct);
    gt_chart_add_series(chart, (gt_chart_series){.name = "small parts",
                                                 .values = {NULL, GT_OVERVIEW_HELPERS + 1, REST_ROW, 1},
                                                 .fill = overview_cause_fill((gt_str){"", 0}, false)});
}

/* "GEMM 19.1 %, idle: data 57.9 %" */
static char *describe_parts(gt_dashboard *dashboard, const gt_chart *chart)
{
    gt_buffer text = {0};
    for (size_t i = 0; i < chart->series_count; i++) {
        const gt_chart_range *values = &chart->series[i].values;
        if (!values->table) continue;
        gt_buffer_add_format(&text, "%s%s %.1f %%", i ? ", " : "", chart->series[i].name,
                             gt_column_number(&values->table->columns[values->column], values->row));
    }
    return keep(dashboard, &text);
}

/* "Where the time goes: 155 ms, 2 steps" */
static char *title_of_parts(gt_dashboard *dashboard, const gt_answers *answers)
{
    gt_buffer text = {0};
    double steps = gt_answers_number(answers, "window_steps");
    gt_buffer_add_cstr(&text, "Where the time goes: % of ");
    gt_words_add_time(&text, fmax(gt_answers_number(answers, "window_ns"), 0));
    if (strcmp(gt_answers_text(answers, "per"), "step") == 0)
        gt_buffer_add_format(&text, ", %.0f %s", steps, steps == 1 ? "step" : "steps");
    else
        gt_buffer_add_cstr(&text, ", the window");
    return keep(dashboard, &text);
}

size_t gt_overview_add_parts(gt_dashboard *dashboard, const gt_table_list *tables, size_t row)
{
    enum { ROWS = 8, LEGEND_ROWS = 2 };
    const gt_answers answers = {.tables = tables};
    const gt_table *balance = gt_answers_sheet(&answers, GT_SHEET_BALANCE);
    if (!balance) return 0;
    gt_chart *chart = gt_dashboard_add_chart(dashboard, title_of_parts(dashboard, &answers));
    bool has_cause = false;
    double rest_pct = 0;
    for (size_t i = 0; i < balance->row_count; i++)
        if (!add_part(dashboard, chart, balance, i, &has_cause))
            rest_pct += fmax(number_at(balance, GT_COL_PCT, i), 0);
    add_rest(dashboard, chart, rest_pct);
    chart->description = describe_parts(dashboard, chart);
    chart->axis_format = chart->label_format = "0\"%\"";
    chart->row = row;
    chart->column = GT_OVERVIEW_SUMMARY;
    chart->rows = ROWS;
    chart->columns = GT_OVERVIEW_SUMMARY_WIDE;
    chart->is_stacked = true;
    chart->legend_rows = LEGEND_ROWS;
    chart->max = 100;
    chart->gap_width = 10;
    return chart->series_count ? ROWS : 0;
}

/* ---- causes of idle time ---- */

static char *describe_rows(gt_dashboard *dashboard, const gt_table *table, gt_col names, gt_col values,
                           size_t count, const char *unit)
{
    gt_buffer text = {0};
    for (size_t i = 0; i < count; i++)
        gt_buffer_add_format(&text, "%s%s %.3g %s", i ? ", " : "", gt_answers_cell(table, names, i).bytes,
                             number_at(table, values, i), unit);
    return keep(dashboard, &text);
}

size_t gt_overview_add_causes(gt_dashboard *dashboard, const gt_table_list *tables, size_t row)
{
    const gt_answers answers = {.tables = tables};
    const gt_table *causes = gt_answers_sheet(&answers, GT_SHEET_IDLE_CAUSES);
    size_t count = 0; /* the sheet begins with the largest */
    while (causes && count < causes->row_count && count < CAUSES_SHOWN &&
           number_at(causes, GT_COL_MS, count) > 0)
        count++;
    if (!count) return 0;
    gt_chart_fill *fills = gt_arena_alloc(&dashboard->texts, count * sizeof *fills);
    for (size_t i = 0; i < count; i++)
        fills[i] = overview_cause_fill(gt_answers_cell(causes, GT_COL_CAUSE, i), i == 0);
    gt_chart *chart = gt_dashboard_add_chart(dashboard, "Why the GPU is idle");
    chart->axis = gt_arena_format(&dashboard->texts, "ms %s", gt_answers_per(&answers));
    chart->description = describe_rows(dashboard, causes, GT_COL_CAUSE, GT_COL_MS, count, "ms");
    chart->label_format = format_for(number_at(causes, GT_COL_MS, 0));
    chart->row = row;
    chart->column = GT_OVERVIEW_FACTS;
    chart->rows = TITLE_ROWS + AXIS_ROWS + count + 1;
    chart->columns = GT_OVERVIEW_FACTS_WIDE;
    chart->label_share = 0.2;
    gt_chart_add_series(chart, (gt_chart_series){
                                   .name = "idle time",
                                   .labels = {causes, gt_table_find(causes, GT_COL_CAUSE), 0, count},
                                   .values = {causes, gt_table_find(causes, GT_COL_MS), 0, count},
                                   .fill = fills[0],
                                   .bar_fills = fills,
                                   .label = GT_LABEL_VALUE,
                               });
    return chart->rows;
}

/* ---- kernels ---- */

/* The cells that the chart refers to: short names, times, categories. */
static void add_kernel_cells(gt_dashboard *dashboard, const gt_top_kernel *top, size_t count)
{
    enum { NAME = GT_OVERVIEW_HELPERS, TIME, CATEGORY };
    gt_dashboard_add_text(dashboard, 0, NAME, GT_LOOK_HEADER, "top kernel");
    gt_dashboard_add_text(dashboard, 0, TIME, GT_LOOK_HEADER, "kernel_ms");
    gt_dashboard_add_text(dashboard, 0, CATEGORY, GT_LOOK_HEADER, "category");
    for (size_t i = 0; i < count; i++) {
        gt_dashboard_add_text(dashboard, i + 1, NAME, GT_LOOK_NAME, top[i].label);
        gt_dashboard_add_number(dashboard, i + 1, TIME, GT_LOOK_NUMBER, top[i].ms);
        gt_dashboard_add_text(dashboard, i + 1, CATEGORY, GT_LOOK_NAME, gt_category_name(top[i].category));
    }
}

static char *describe_kernels(gt_dashboard *dashboard, const gt_top_kernel *top, size_t count)
{
    gt_buffer text = {0};
    for (size_t i = 0; i < count; i++)
        gt_buffer_add_format(&text, "%s%s %.3g ms", i ? ", " : "", top[i].label, top[i].ms);
    return keep(dashboard, &text);
}

size_t gt_overview_add_kernels(gt_dashboard *dashboard, const gt_table_list *tables, size_t row)
{
    gt_top_kernel top[GT_TOP_KERNELS];
    size_t count = gt_overview_top_kernels(tables, &dashboard->texts, top);
    if (!count) return 0;
    add_kernel_cells(dashboard, top, count);
    gt_chart_fill *fills = gt_arena_alloc(&dashboard->texts, count * sizeof *fills);
    for (size_t i = 0; i < count; i++) fills[i] = overview_category_fill(top[i].category, 0);
    gt_chart *chart = gt_dashboard_add_chart(dashboard, "Top kernels");
    chart->axis = "ms in the whole trace";
    chart->description = describe_kernels(dashboard, top, count);
    chart->label_format = format_for(top[0].ms);
    chart->row = row;
    chart->column = GT_OVERVIEW_SUMMARY;
    chart->rows = TITLE_ROWS + AXIS_ROWS + count + 1;
    chart->columns = GT_OVERVIEW_SUMMARY_WIDE;
    chart->label_share = 0.38;
    gt_chart_add_series(chart, (gt_chart_series){
                                   .name = "kernel time",
                                   .labels = {NULL, GT_OVERVIEW_HELPERS, 1, count},
                                   .values = {NULL, GT_OVERVIEW_HELPERS + 1, 1, count},
                                   .fill = fills[0],
                                   .bar_fills = fills,
                                   .label = GT_LABEL_VALUE,
                               });
    return chart->rows;
}

/* ---- ranks ---- */

static size_t ranks_shown(const gt_table *ranks)
{
    return ranks->row_count < RANKS_SHOWN ? ranks->row_count : RANKS_SHOWN;
}

/* A column of rank_causes as one part of each rank's bar, if it can be seen in any of them. */
static void add_rank_part(gt_chart *chart, const gt_table *ranks, gt_col column, const char *name,
                          gt_chart_fill fill)
{
    size_t values = gt_table_find(ranks, column), count = ranks_shown(ranks);
    bool any = false;
    for (size_t i = 0; values != SIZE_MAX && i < count; i++)
        any |= 100 * number_at(ranks, column, i) > smallest_part_pct * number_at(ranks, GT_COL_STEP_MS, i);
    if (!any) return;
    gt_chart_add_series(chart,
                        (gt_chart_series){.name = name,
                                          .labels = {ranks, gt_table_find(ranks, GT_COL_RANK), 0, count},
                                          .values = {ranks, values, 0, count},
                                          .fill = fill});
}

static double sum_of(const gt_table *table, size_t column)
{
    double sum = 0;
    for (size_t row = 0; row < table->row_count; row++) {
        double value = gt_column_number(&table->columns[column], row);
        if (isfinite(value)) sum += value;
    }
    return sum;
}

/* "idle_data_ms" gives "data"; an empty string if the column is no cause of idle time. */
static gt_str cause_of_column(const char *name)
{
    static const char before[] = "idle_", after[] = "_ms";
    size_t len = strlen(name), around = strlen(before) + strlen(after);
    if (len <= around || strncmp(name, before, strlen(before)) != 0 ||
        strcmp(name + len - strlen(after), after) != 0)
        return (gt_str){"", 0};
    return (gt_str){name + strlen(before), len - around};
}

static void add_rank_causes(gt_dashboard *dashboard, gt_chart *chart, const gt_table *ranks)
{
    size_t largest = SIZE_MAX;
    for (size_t c = 0; c < ranks->column_count; c++)
        if (cause_of_column(ranks->columns[c].name).len &&
            (largest == SIZE_MAX || sum_of(ranks, c) > sum_of(ranks, largest)))
            largest = c;
    for (size_t c = 0; c < ranks->column_count; c++) {
        gt_str cause = cause_of_column(ranks->columns[c].name);
        if (!cause.len) continue;
        add_rank_part(chart, ranks, gt_col_named(ranks->columns[c].name),
                      gt_arena_format(&dashboard->texts, "idle: %.*s", (int)cause.len, cause.bytes),
                      overview_cause_fill(cause, c == largest));
    }
}

size_t gt_overview_add_ranks(gt_dashboard *dashboard, const gt_table_list *tables, size_t row)
{
    enum { LEGEND_ROWS = 2 };
    const gt_answers answers = {.tables = tables};
    const gt_table *ranks = gt_answers_sheet(&answers, GT_SHEET_RANK_CAUSES);
    if (!ranks) return 0;
    size_t count = ranks_shown(ranks);
    gt_chart *chart = gt_dashboard_add_chart(
        dashboard,
        count < ranks->row_count
            ? gt_arena_format(&dashboard->texts, "What the step of each rank is made of (%zu of %zu)", count,
                              ranks->row_count)
            : "What the step of each rank is made of");
    add_rank_part(chart, ranks, GT_COL_COMPUTE_MS, "computation",
                  overview_category_fill(GT_CATEGORY_GEMM, 0));
    add_rank_part(chart, ranks, GT_COL_EXPOSED_COMM_MS, "communication",
                  overview_category_fill(GT_CATEGORY_COMMUNICATION, 0));
    add_rank_part(chart, ranks, GT_COL_EXPOSED_WAIT_MS, "waiting for ranks",
                  overview_category_fill(GT_CATEGORY_COMMUNICATION, 1));
    add_rank_causes(dashboard, chart, ranks);
    chart->axis = gt_arena_format(&dashboard->texts, "rank, ms %s", gt_answers_per(&answers));
    chart->description = gt_answers_text(&answers, "all_ranks");
    chart->row = row;
    chart->column = GT_OVERVIEW_SUMMARY;
    chart->rows = TITLE_ROWS + AXIS_ROWS + LEGEND_ROWS + count;
    chart->columns = GT_OVERVIEW_SUMMARY_WIDE;
    chart->is_stacked = true;
    chart->legend_rows = LEGEND_ROWS;
    chart->label_share = 0.05;
    chart->gap_width = 30;
    return chart->series_count ? chart->rows : 0;
}

size_t gt_overview_add_blame(gt_dashboard *dashboard, const gt_table_list *tables, size_t row)
{
    const gt_answers answers = {.tables = tables};
    const gt_table *ranks = gt_answers_sheet(&answers, GT_SHEET_RANK_CAUSES);
    if (!ranks) return 0;
    size_t count = ranks_shown(ranks), blame = gt_table_find(ranks, GT_COL_BLAME_PCT);
    if (blame == SIZE_MAX || !(sum_of(ranks, blame) > 0)) return 0;
    gt_chart *chart = gt_dashboard_add_chart(dashboard, "Which ranks the others wait for");
    chart->axis = "rank, % of all waiting";
    chart->axis_format = chart->label_format = "0\"%\"";
    chart->row = row;
    chart->column = GT_OVERVIEW_FACTS;
    chart->rows = TITLE_ROWS + AXIS_ROWS + count + 1;
    chart->columns = GT_OVERVIEW_FACTS_WIDE;
    chart->description = gt_answers_text(&answers, "all_ranks");
    chart->label_share = 0.08;
    gt_chart_add_series(chart,
                        (gt_chart_series){.name = "share of waiting",
                                          .labels = {ranks, gt_table_find(ranks, GT_COL_RANK), 0, count},
                                          .values = {ranks, blame, 0, count},
                                          .fill = overview_category_fill(GT_CATEGORY_COMMUNICATION, 0),
                                          .label = GT_LABEL_VALUE});
    return chart->rows;
}
