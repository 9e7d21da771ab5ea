/* Internal to analysis/serving: writing the cells of a row one after the other. */
#pragma once

#include "table/table.h"

typedef struct gt_cells {
    gt_table *table;
    size_t row, column; /* the next cell */
} gt_cells;

/* Adds a row of empty cells. */
static inline gt_cells gt_cells_of_new_row(gt_table *table)
{
    return (gt_cells){table, gt_table_add_row(table), 0};
}

static inline void gt_cells_skip(gt_cells *c, size_t count)
{
    c->column += count;
}

/* Negative: unknown. */
static inline void gt_cells_count(gt_cells *c, int64_t count)
{
    if (count >= 0) gt_table_set_int(c->table, c->column, c->row, count);
    c->column++;
}

/* "": unknown. */
static inline void gt_cells_text(gt_cells *c, const char *text)
{
    if (*text) gt_table_set_cstr(c->table, c->column, c->row, text);
    c->column++;
}

/* With so many decimals. NaN: unknown. */
static inline void gt_cells_number(gt_cells *c, double value, int decimals)
{
    double scale = pow(10, decimals), scaled = value * scale;
    bool is_exact = fabs(scaled) < 0x1p52;
    if (!isnan(value))
        gt_table_set_float(c->table, c->column, c->row, is_exact ? rint(scaled) / scale : value);
    c->column++;
}

/* Nanoseconds, as microseconds. */
static inline void gt_cells_us(gt_cells *c, double ns)
{
    if (!isnan(ns)) gt_table_set_float(c->table, c->column, c->row, rint(ns) / 1000);
    c->column++;
}

/* part / whole, or unknown if that is no number. */
static inline double gt_share_of(double part, double whole)
{
    return whole > 0 ? part / whole : (double)NAN;
}
