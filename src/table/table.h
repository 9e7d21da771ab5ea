/* The one table type. Every sheet of every report is a gt_table: named, typed columns in the order users
 * know.
 *
 * A table owns its columns and their names. Text cells are ids of an intern table that the table borrows and
 * that must outlive it; tables made together usually share one. It knows nothing of traces or of documents.
 */
#ifndef GT_TABLE_TABLE_H
#define GT_TABLE_TABLE_H

#include "base/error.h"
#include "base/interner.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef enum gt_type {
    GT_TYPE_INT,    /* int64 */
    GT_TYPE_FLOAT,  /* double; NaN counts as null */
    GT_TYPE_STRING, /* interned text; GT_STR_NONE counts as null */
    GT_TYPE_BOOL,
    GT_TYPE_LIST, /* each cell is a run of rows of `items` */
} gt_type;

typedef struct gt_column {
    char *name;
    gt_type type;
    size_t capacity;
    union {
        int64_t *ints;
        double *floats;
        uint32_t *texts;
        uint8_t *bools;
        size_t *list_ends; /* cell i is items[list_ends[i-1] .. list_ends[i]) */
    };
    uint8_t *nulls; /* of INT, BOOL and LIST: one byte a row, 1 where null; NULL while no cell is null.
                     * It may be there and hold no 1: ask gt_column_has_nulls */
    struct gt_column *items; /* of a LIST column: the cells' elements, any type */
    bool items_as_tuple;     /* of a LIST column: printed (1, 2) and not [1, 2] */
    bool hidden;             /* a workbook holds the column but does not show it */
    char *over, *under; /* headings of a workbook in the name's place (gt_table_set_headings); NULL: none */
    size_t list_cells;  /* of a LIST column being filled: cells begun so far; later ones are null */
} gt_column;

/* The name of a column or a sheet. A string is not accepted in its place: names that the program knows are
 * declared once in src/schema (GT_COL_COUNT, GT_SHEET_GPU_TIMELINE), so that a misspelt one does not compile.
 * A handle is as valid as the string in it; tables copy the names they are given. */
#if defined(__has_attribute)
#if __has_attribute(designated_init)
#define GT_DESIGNATED_INIT __attribute__((designated_init)) /* gcc: {"name"} is an error */
#endif
#endif
#ifndef GT_DESIGNATED_INIT
#define GT_DESIGNATED_INIT /* clang: -Wmissing-braces has the same effect */
#endif
typedef struct GT_DESIGNATED_INIT gt_col {
    const char *name;
} gt_col;
typedef struct GT_DESIGNATED_INIT gt_sheet {
    const char *name;
} gt_sheet;

/* Declare a name; only src/schema and tests use these. */
#define GT_COL(text)   ((gt_col){.name = "" text})
#define GT_SHEET(text) ((gt_sheet){.name = "" text})
#define GT_NO_COL      ((gt_col){.name = NULL})
#define GT_NO_SHEET    ((gt_sheet){.name = NULL})

/* Names that are known only at run time: those of a user's file, of a rank, of a counter. The handle borrows
 * the string. */
static inline gt_col gt_col_named(const char *name)
{
    return (gt_col){.name = name};
}

static inline bool gt_col_equals(gt_col a, gt_col b)
{
    return strcmp(a.name, b.name) == 0;
}

static inline gt_sheet gt_sheet_named(const char *name)
{
    return (gt_sheet){.name = name};
}

/* One column of a sheet's declaration. */
typedef struct gt_column_head {
    gt_col name;
    gt_type type;
} gt_column_head;

typedef struct gt_table {
    char *name; /* the sheet's name */
    gt_interner *strings;
    gt_column *columns;
    size_t column_count, column_capacity;
    size_t row_count; /* every column has this many rows once a row is whole */
} gt_table;

gt_table *gt_table_new(gt_sheet sheet, gt_interner *strings);
void gt_table_free(gt_table *table);
void gt_table_rename(gt_table *table, gt_sheet sheet);
bool gt_table_is(const gt_table *table, gt_sheet sheet);

/* Adds a column; in a table that has rows its cells are null. Returns its index. */
size_t gt_table_add_column(gt_table *table, gt_col name, gt_type type);
void gt_table_add_columns(gt_table *table, const gt_column_head *heads, size_t count);
/* The same, for callers that fill the column's array themselves: its cells are as gt_table_add_rows leaves
 * them. */
size_t gt_table_add_zeroed(gt_table *table, gt_col name, gt_type type);
gt_column *gt_table_add_array(gt_table *table, gt_col name,
                              gt_type type); /* the same: the column, until the next is added */

/* Room for one more row, all null. Returns its index. */
size_t gt_table_add_row(gt_table *table);
/* Many rows at once, for callers that fill the columns' arrays themselves: INT cells are 0 and BOOL
 * cells false, not null; the others are null. Returns the index of the first. */
size_t gt_table_add_rows(gt_table *table, size_t count);
void gt_table_reserve(gt_table *table, size_t rows);

void gt_table_set_int(gt_table *table, size_t column, size_t row, int64_t value);
void gt_table_set_float(gt_table *table, size_t column, size_t row, double value);
void gt_table_set_string(gt_table *table, size_t column, size_t row, uint32_t id);
void gt_table_set_cstr(gt_table *table, size_t column, size_t row, const char *text);
void gt_table_set_bool(gt_table *table, size_t column, size_t row, bool value);
void gt_table_set_null(gt_table *table, size_t column, size_t row);

bool gt_column_is_null(const gt_column *column, size_t row);
bool gt_column_has_nulls(const gt_column *column, size_t row_count);
/* A cell of an INT or FLOAT column; NaN where it is null, and of other columns. */
double gt_column_number(const gt_column *column, size_t row);
bool gt_column_is(const gt_column *column, gt_col name); /* whether that is its name */
/* The column's index, or SIZE_MAX where there is none of that name. */
size_t gt_table_find(const gt_table *table, gt_col name);
/* The same, for a column that must be there: a missing one is an internal error. */
gt_column *gt_table_column(const gt_table *table, gt_col name);

/* LIST cells. A new LIST column holds INT elements; gt_list_of says otherwise and gives the column of the
 * elements: gt_list_of(gt_list_of(&table->columns[c], GT_TYPE_LIST), GT_TYPE_INT) makes a column of lists of
 * lists of INT. Cells are filled in row order (rows may be left out: they are null): begin a cell, then push
 * its elements. A cell that is not null is items[begin .. end) of gt_list_begin_of and gt_list_end_of. */
gt_column *gt_list_of(gt_column *list, gt_type element);
void gt_list_begin(gt_column *list, size_t row); /* the cell is now an empty list */
void gt_list_push_int(gt_column *list, int64_t value);
void gt_list_push_float(gt_column *list, double value);
void gt_list_push_string(gt_column *list, uint32_t id);
void gt_list_push_bool(gt_column *list, bool value);
void gt_list_push_null(gt_column *list);
gt_column *
gt_list_push_list(gt_column *list); /* pushes an empty list; push its elements to what is returned */
size_t gt_list_begin_of(const gt_column *list, size_t row);
size_t gt_list_end_of(const gt_column *list, size_t row);

/* Columns. */
void gt_table_drop_column(gt_table *table, size_t column);
void gt_table_rename_column(gt_table *table, size_t column, gt_col name);
/* A workbook shows `over` above equal neighbours together and `under` below it, and the names of columns
 * without an `over` in a third line; of these, `under` stands for the whole line of such. Either may be NULL.
 */
void gt_table_set_headings(gt_table *table, size_t column, const char *over, const char *under);
void gt_table_move_column(gt_table *table, size_t from, size_t to); /* `to` is its index afterwards */
/* Keeps the named columns in the order given and drops the others; a name that the table lacks is passed
 * over. */
void gt_table_select(gt_table *table, const gt_col *names, size_t count);
/* Makes an INT or BOOL column FLOAT, null becoming NaN. */
void gt_table_make_float(gt_table *table, size_t column);
/* What pandas does to integers beside a missing value: every INT column with a null becomes FLOAT. */
void gt_table_widen_ints(gt_table *table);

/* Rows. A row list may name a row any number of times; GT_NO_ROW in it gives a row of nulls. */
#define GT_NO_ROW UINT32_MAX
gt_table *gt_table_copy(const gt_table *table);
gt_table *gt_table_copy_rows(const gt_table *table, const uint32_t *rows, size_t count);
void gt_table_take(gt_table *table, const uint32_t *rows, size_t count); /* the table becomes those rows */
void gt_table_keep(gt_table *table, const uint8_t *keep); /* the rows where keep[row] is not 0 */
void gt_table_head(gt_table *table, int64_t count); /* the first rows; negative: all but the last |count| */
/* Adds the rows of another table with the same columns in any order; an INT beside a FLOAT column becomes
 * FLOAT. The tables need not share an intern table. */
bool gt_table_append(gt_table *table, const gt_table *more, gt_error *error);
/* The same of tables that the program made with the same columns: a difference is an internal error. */
void gt_table_append_same(gt_table *table, const gt_table *more);
/* The same of tables whose columns differ: what one of them lacks is null in its rows, and what only `more`
 * has comes behind the others. Not for LISTs. */
bool gt_table_append_outer(gt_table *table, const gt_table *more, gt_error *error);
/* Moves all text to another intern table, which the table borrows from now on. */
void gt_table_use_strings(gt_table *table, gt_interner *strings);

#endif
