/* What the first sheet of a workbook shows to the right of its table: texts and figures, and
 * charts. Only workbooks have it; in all other documents the sheet is the table alone.
 *
 *     gt_dashboard *dashboard = gt_dashboard_new(overview);
 *     gt_dashboard_add_text(dashboard, 1, 5, GT_LOOK_HEADLINE, "The GPU is idle 60 % of a 77.7 ms step.");
 *     gt_chart *chart = gt_dashboard_add_chart(dashboard, "Idle time");
 *     gt_chart_add_series(chart, (gt_chart_series){.name = "ms", .values = {causes, 1, 0, 4}, ...});
 *
 * Rows and columns count from 0. Cells must be to the right of the table, and may overlap neither each other
 * nor what they are merged from. Charts refer to cells: of tables that are sheets of the same workbook, or of
 * the dashboard. The document repeats the cells' values in each chart, so that it can be drawn without them.
 */
#pragma once

#include "table/table.h"

/* How a cell looks. */
typedef enum gt_look {
    GT_LOOK_HEADER,   /* as the names of columns */
    GT_LOOK_HEADLINE, /* the sentence that is read first */
    GT_LOOK_GOOD,     /* judgements, in green, amber and red */
    GT_LOOK_CARE,
    GT_LOOK_BAD,
    GT_LOOK_REASON,  /* small, after a judgement */
    GT_LOOK_LABEL,   /* what the figure below is */
    GT_LOOK_FIGURE,  /* large */
    GT_LOOK_HEADING, /* of a part of the sheet */
    GT_LOOK_HEADING_RIGHT,
    GT_LOOK_TITLE, /* of one of several items */
    GT_LOOK_RANK,  /* before a title */
    GT_LOOK_GAIN,  /* after a title */
    GT_LOOK_TEXT,  /* wrapped in merged cells */
    GT_LOOK_NOTE,  /* small */
    GT_LOOK_NAME,
    GT_LOOK_NUMBER,
    GT_LOOKS
} gt_look;

typedef struct gt_dash_cell {
    size_t row, column, rows, columns; /* merged if there are several */
    gt_look look;
    const char *text; /* NULL: the number; neither: an empty cell with this look */
    double number;    /* NaN: none */
} gt_dash_cell;

/* Colours are 0xRRGGBB. A pattern of DrawingML ("wdUpDiag") draws lines of the colour on the ground. */
typedef struct gt_chart_fill {
    const char *pattern; /* NULL: only the colour */
    uint32_t color, ground;
} gt_chart_fill;

/* Cells of one column: `count` of them from a row on. */
typedef struct gt_chart_range {
    const gt_table *table; /* rows are those of the table, without its header; NULL: cells of the dashboard */
    size_t column, row, count;
} gt_chart_range;

/* What is written on bars. */
typedef enum gt_chart_label { GT_LABEL_NONE, GT_LABEL_VALUE, GT_LABEL_NAME_AND_VALUE } gt_chart_label;

typedef struct gt_chart_series {
    const char *name;
    gt_chart_range labels; /* names of the bars; count 0: they have none */
    gt_chart_range values;
    gt_chart_fill fill;
    const gt_chart_fill *bar_fills; /* one per bar; NULL: all have `fill` */
    gt_chart_label label;
} gt_chart_series;

/* Horizontal bars, the first at the top. */
typedef struct gt_chart {
    const char *title;
    const char *axis;                  /* what the values are, with their unit; "": the title says it */
    const char *axis_format;           /* numbers of the axis */
    const char *label_format;          /* numbers on bars */
    const char *description;           /* for those who cannot see it */
    size_t row, column, rows, columns; /* the cells that it covers */
    bool is_stacked;                   /* series in one bar; otherwise there is one series */
    size_t legend_rows;                /* cells' heights that it takes; 0: there is none */
    double label_share;                /* of the width, for names of bars */
    double max;                        /* of the axis; 0: whatever fits */
    unsigned gap_width;                /* between bars, in percent of their width */
    gt_chart_series *series;
    size_t series_count, series_capacity;
} gt_chart;

typedef struct gt_dashboard {
    const gt_table *sheet; /* the sheet that it belongs to; not owned, as all tables */
    gt_dash_cell *cells;
    size_t cell_count, cell_capacity;
    gt_chart *charts;
    size_t chart_count, chart_capacity;
    double *widths; /* of the first columns, in characters */
    size_t width_count, width_capacity;
    size_t print_columns; /* what is printed; 0: everything */
    gt_arena texts;
} gt_dashboard;

gt_dashboard *gt_dashboard_new(const gt_table *sheet);
void gt_dashboard_free(gt_dashboard *dashboard); /* NULL does nothing */

void gt_dashboard_add_width(gt_dashboard *dashboard, double characters);

/* Texts are copied. The cell is valid until the next one is added. */
gt_dash_cell *gt_dashboard_add_text(gt_dashboard *dashboard, size_t row, size_t column, gt_look look,
                                    const char *text);
gt_dash_cell *gt_dashboard_add_number(gt_dashboard *dashboard, size_t row, size_t column, gt_look look,
                                      double number);

/* Strings of charts and series are not copied: dashboard->texts can hold them. A chart is valid until the
 * next one is added. One without series is not written. */
gt_chart *gt_dashboard_add_chart(gt_dashboard *dashboard, const char *title);
void gt_chart_add_series(gt_chart *chart, gt_chart_series series);
