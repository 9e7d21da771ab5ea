/* Late tables: rows that are made when they are needed (gt_row_source of table.h), and tables in parts. */
#include "table/column.h"
#include "base/team.h"

void gt_table_set_source(gt_table *table, size_t rows, gt_row_source source)
{
    gt_table_drop_source(table);
    for (size_t c = 0; c < table->column_count; c++) {
        gt_column *column = &table->columns[c], bare;
        gt_column_init(&bare, column->name, column->type);
        gt_column_free(column);
        *column = bare;
    }
    table->source = gt_alloc(sizeof *table->source);
    *table->source = source;
    table->row_count = rows;
}

void gt_table_drop_source(gt_table *table)
{
    gt_row_source *source = table->source;
    if (!source) return;
    table->source = NULL;
    table->row_count = 0;
    source->free(source->context);
    gt_free(source);
}

gt_table *gt_table_new_part(const gt_table *table, size_t rows)
{
    gt_table *part = gt_table_new(gt_sheet_named(table->name), table->strings);
    for (size_t c = 0; c < table->column_count; c++)
        gt_table_add_column(part, gt_col_named(table->columns[c].name), table->columns[c].type);
    gt_table_add_rows(part, rows);
    return part;
}

void gt_table_read_part(const gt_table *table, size_t begin, size_t end, gt_table *part)
{
    part->row_count = end - begin;
    table->source->read(table->source->context, begin, end, part, 0);
}

static void make_range(void *context, size_t begin, size_t end)
{
    gt_table *table = context;
    table->source->read(table->source->context, begin, end, table, begin);
}

/* Rows below which a range is not worth a thread. */
#define MAKE_GRAIN GT_GRAIN((size_t)16384)

void gt_table_make_rows(gt_table *table)
{
    if (!table->source) return;
    for (size_t c = 0; c < table->column_count; c++) gt_column_reserve(&table->columns[c], table->row_count);
    gt_parallel_ranges(table->row_count, MAKE_GRAIN, make_range, table);
    size_t rows = table->row_count;
    gt_table_drop_source(table);
    table->row_count = rows;
}
