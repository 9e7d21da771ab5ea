/* The baseline and several tests side by side: each run gets columns of its own, and rows are joined by type,
 * by rank, or by collective and size. */
#include "sweep/compare/compare.h"
#include "schema/columns.h"

/* ---- joining ---- */

/* A table whose rows are found by a key: the string of its first column. */
typedef struct joined {
    gt_table *table;
    gt_map rows; /* of each key */
} joined;

static joined new_joined(gt_sheet sheet, gt_col key, gt_interner *strings)
{
    joined j = {.table = gt_table_new(sheet, strings)};
    gt_table_add_column(j.table, key, GT_TYPE_STRING);
    return j;
}

/* The row of a key, which is added at the end if it is new. */
static size_t row_of(joined *j, uint32_t key)
{
    uint32_t *row = gt_map_put(&j->rows, key, 0);
    if (*row == GT_MAP_NONE) {
        *row = (uint32_t)gt_table_add_row(j->table);
        gt_table_set_string(j->table, 0, *row, key);
    }
    return *row;
}

static size_t add_column(gt_table *table, const char *name, const char *label, gt_type type)
{
    char *whole = gt_format("%s_%s", name, label);
    size_t column = gt_table_add_column(table, gt_col_named(whole), type);
    gt_free(whole);
    return column;
}

static void copy_cell(gt_table *to, size_t column, size_t row, const gt_column *from, size_t from_row)
{
    if (gt_column_is_null(from, from_row)) return;
    switch (from->type) {
    case GT_TYPE_INT:
        gt_table_set_int(to, column, row, from->ints[from_row]);
        break;
    case GT_TYPE_FLOAT:
        gt_table_set_float(to, column, row, from->floats[from_row]);
        break;
    case GT_TYPE_STRING:
        gt_table_set_string(to, column, row, from->texts[from_row]);
        break;
    case GT_TYPE_BOOL:
        gt_table_set_bool(to, column, row, from->bools[from_row]);
        break;
    default:
        break;
    }
}

/* ---- timelines ---- */

/* The columns of a run's sheet, except the type, which joins; their names get the label. Returns the first of
 * them. */
static size_t add_sheet(joined *all, const gt_table *sheet, const char *label)
{
    size_t first = all->table->column_count, type = gt_table_find(sheet, GT_COL_TYPE);
    for (size_t c = 0; c < sheet->column_count; c++)
        if (c != type) add_column(all->table, sheet->columns[c].name, label, sheet->columns[c].type);
    for (size_t i = 0; i < sheet->row_count; i++) {
        if (sheet->columns[type].texts[i] == GT_STR_NONE) continue;
        size_t row = row_of(all, sheet->columns[type].texts[i]), next = first;
        for (size_t c = 0; c < sheet->column_count; c++)
            if (c != type) copy_cell(all->table, next++, row, &sheet->columns[c], i);
    }
    return first;
}

static void add_changes(gt_table *summary, const gt_side_by_side *runs, size_t count, const size_t *times)
{
    for (size_t i = 1; i < count; i++) {
        size_t column = add_column(summary, "percentage_change", runs[i].label, GT_TYPE_FLOAT);
        for (size_t row = 0; row < summary->row_count; row++) {
            double before = gt_column_number(&summary->columns[times[0]], row),
                   after = gt_column_number(&summary->columns[times[i]], row);
            gt_table_set_float(summary, column, row, (after - before) / before * 100); /* 0 / 0 is empty */
        }
    }
}

static void add_timelines(const gt_side_by_side *runs, size_t count, gt_interner *strings,
                          gt_table_list *tables)
{
    joined summary = new_joined(GT_SHEET_SUMMARY, GT_COL_TYPE, strings),
           times = new_joined(GT_SHEET_PER_RANK_TIME_MS, GT_COL_TYPE, strings);
    size_t *columns = gt_alloc(count * sizeof *columns);
    for (size_t i = 0; i < count; i++) {
        const gt_table *means = gt_table_list_find(runs[i].timeline, GT_SHEET_SUMMARY),
                       *ranks = gt_table_list_find(runs[i].timeline, GT_SHEET_PER_RANK_TIME_MS);
        columns[i] = add_sheet(&summary, means, runs[i].label); /* the first one is time ms */
        add_sheet(&times, ranks, runs[i].label);
    }
    add_changes(summary.table, runs, count, columns);
    gt_table_list_add(tables, summary.table);
    gt_table_list_add(tables, times.table);
    gt_map_free(&summary.rows);
    gt_map_free(&times.rows);
    gt_free(columns);
}

/* ---- collectives ---- */

/* "allreduce_1048576"; GT_STR_NONE if a part is missing. */
static uint32_t collective_key(const gt_table *sheet, size_t row)
{
    const gt_column *name = gt_table_column(sheet, GT_COL_COLLECTIVE_NAME),
                    *size = gt_table_column(sheet, GT_COL_IN_MSG_NELEMS);
    if (name->type != GT_TYPE_STRING || name->texts[row] == GT_STR_NONE || !gt_column_is_number(size) ||
        gt_column_is_null(size, row))
        return GT_STR_NONE;
    char *key = gt_format("%s_%.0f", gt_interner_get(sheet->strings, name->texts[row]).bytes,
                          gt_column_number(size, row));
    uint32_t id = gt_interner_add_cstr(sheet->strings, key);
    gt_free(key);
    return id;
}

/* The columns of a run's sheet; of several rows with one key (other data types), the first. */
static void add_collectives(joined *all, const gt_table *sheet, const char *label)
{
    size_t first = all->table->column_count;
    gt_map seen = {0};
    for (size_t c = 0; c < sheet->column_count; c++)
        add_column(all->table, sheet->columns[c].name, label, sheet->columns[c].type);
    for (size_t i = 0; i < sheet->row_count; i++) {
        uint32_t key = collective_key(sheet, i);
        uint32_t *known = key == GT_STR_NONE ? NULL : gt_map_put(&seen, key, 0);
        if (!known || *known != GT_MAP_NONE) continue;
        *known = 1;
        size_t row = row_of(all, key);
        for (size_t c = 0; c < sheet->column_count; c++)
            copy_cell(all->table, first + c, row, &sheet->columns[c], i);
    }
    gt_map_free(&seen);
}

void gt_all_runs_tables(const gt_side_by_side *runs, size_t count, gt_interner *strings,
                        gt_table_list *tables)
{
    add_timelines(runs, count, strings, tables);
    joined all = new_joined(GT_SHEET_NCCL_SUMMARY, GT_COL_INDEX, strings);
    for (size_t i = 0; i < count; i++) {
        gt_table *sheet = NULL;
        gt_error problem;
        if (!runs[i].collective) {
            gt_warn("%s has no collective report", runs[i].label);
            continue;
        }
        if (gt_read_report_table(runs[i].collective, GT_SHEET_NCCL_SUMMARY_IMPLICIT_SYNC, strings, &sheet,
                                 &problem) != GT_SHEET_READ)
            gt_warn("%s: skipped", problem.text);
        else if (gt_table_find(sheet, GT_COL_COLLECTIVE_NAME) == SIZE_MAX ||
                 gt_table_find(sheet, GT_COL_IN_MSG_NELEMS) == SIZE_MAX)
            gt_warn("%s: skipped, no Collective name or In msg nelems", runs[i].collective);
        else
            add_collectives(&all, sheet, runs[i].label);
        gt_table_free(sheet);
    }
    gt_map_free(&all.rows);
    if (all.table->row_count)
        gt_table_list_add(tables, all.table);
    else
        gt_table_free(all.table);
}
