/* The table type. Every sheet of every report is a gt_table: typed columns with names.
 *
 * A table owns its columns and their names. String cells are ids of an interner that the table borrows and
 * that must outlive it; tables made together usually share one. Tables know nothing about traces or files.
 * table/operations.h has sort, group, join and pivot. */
#pragma once

#include "base/base.h"

typedef enum gt_type {
    GT_TYPE_INT,    /* int64 */
    GT_TYPE_FLOAT,  /* double; NaN is null */
    GT_TYPE_STRING, /* interned string; GT_STR_NONE is null */
    GT_TYPE_BOOL,
    GT_TYPE_LIST, /* each cell is a range of rows of `items` */
} gt_type;

/* What a string shows. Some sheets print the values of a column in a form that depends on all of them (an
 * integer as 64.0 because another row has no value), or mix numbers and strings. Their cells are the printed
 * strings, which CSV files have; this tells databases and workbooks what was printed. */
typedef enum gt_shown {
    GT_SHOWN_STRING,
    GT_SHOWN_INT,
    GT_SHOWN_FLOAT,
    GT_SHOWN_BOOL,
    GT_SHOWN_NULL
} gt_shown;

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
    uint8_t *nulls; /* INT, BOOL and LIST: one byte per row, 1 if null; NULL as long as no cell is null.
                     * The array may exist without any 1: use gt_column_has_nulls */
    uint8_t *shown; /* STRING: one gt_shown per row; NULL if all cells are strings */
    struct gt_column *items; /* LIST: the elements of all cells, any type */
    bool items_as_tuple;     /* LIST: printed as (1, 2) instead of [1, 2] */
    bool widened;            /* FLOAT: the values are integers, see gt_table_widen_ints */
    bool hidden;             /* a workbook has the column but hides it */
    bool is_lent;            /* its cells are in the arena of the table, see gt_table_add_lent */
    char *over, *under;      /* workbook headings instead of the name (gt_table_set_headings); may be NULL */
    size_t list_cells;       /* LIST being filled: number of cells begun so far; later cells are null */
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

/* Rows that are made when they are needed. A sheet as long as the trace need not be in memory: a writer that
 * needs every row once has them made some at a time, in a small table with the same columns. */
struct gt_table;
typedef struct gt_row_source {
    /* Fills the cells of rows [begin, end) of the sheet: row `begin` becomes row `at` of `into`. Several
     * threads may call it. */
    void (*read)(const void *context, size_t begin, size_t end, struct gt_table *into, size_t at);
    void (*free)(void *context);
    void *context; /* of both */
} gt_row_source;

typedef struct gt_table {
    char *name; /* the sheet's name */
    gt_interner *strings;
    gt_column *columns;
    size_t column_count, column_capacity;
    size_t row_count; /* of every column */
    gt_arena lent;    /* cells of its columns that are lent */
    bool is_foreign;  /* not made by the program: may have other columns and types than its name suggests */
    gt_row_source *source; /* of a late table: its columns have no cells */
} gt_table;

gt_table *gt_table_new(gt_sheet sheet, gt_interner *strings);
void gt_table_free(gt_table *table);
void gt_table_rename(gt_table *table, gt_sheet sheet);
bool gt_table_is(const gt_table *table, gt_sheet sheet);

/* Makes a table late: it has `rows` rows, which the source gives, and no cells. Its columns must not have
 * nulls and are of any type but LIST. Only gt_table_make_rows, gt_table_free and the functions after
 * this one are for late tables; what has only rows and columns to count and to name works, too. */
void gt_table_set_source(gt_table *table, size_t rows, gt_row_source source);
/* A table that has room for `rows` rows of a late one; and these rows in it, at most so many. */
gt_table *gt_table_new_part(const gt_table *table, size_t rows);
void gt_table_read_part(const gt_table *table, size_t begin, size_t end, gt_table *part);
/* Gives a late table its cells, and every other table nothing. */
void gt_table_make_rows(gt_table *table);

/* Adds a column; in a table that has rows its cells are null. Returns its index. */
size_t gt_table_add_column(gt_table *table, gt_col name, gt_type type);
void gt_table_add_columns(gt_table *table, const gt_column_head *heads, size_t count);
/* The same, for callers that fill the column's array themselves: cells are as after gt_table_add_rows. */
size_t gt_table_add_zeroed(gt_table *table, gt_col name, gt_type type);
/* The same, but returns the column; the pointer is valid until the next column is added. */
gt_column *gt_table_add_array(gt_table *table, gt_col name, gt_type type);
/* The same for callers that write every cell: what the cells hold until then is not defined. Not for lists.
 */
gt_column *gt_table_add_unset(gt_table *table, gt_col name, gt_type type);

/* The same as gt_table_add_column for one of thousands of short columns: the cells of all are in few blocks.
 */
size_t gt_table_add_lent(gt_table *table, gt_col name, gt_type type);

/* Adds a row of nulls. Returns its index. */
size_t gt_table_add_row(gt_table *table);
/* Adds many rows, for callers that fill the columns' arrays themselves: INT cells are 0 and BOOL cells false,
 * not null; other cells are null. Returns the index of the first new row. */
size_t gt_table_add_rows(gt_table *table, size_t count);
void gt_table_reserve(gt_table *table, size_t rows);
/* The same for columns without cells: those of all are in few blocks. */
void gt_table_reserve_together(gt_table *table, size_t rows);

void gt_table_set_int(gt_table *table, size_t column, size_t row, int64_t value);
void gt_table_set_float(gt_table *table, size_t column, size_t row, double value);
void gt_table_set_string(gt_table *table, size_t column, size_t row, uint32_t id);
void gt_table_set_cstr(gt_table *table, size_t column, size_t row, const char *text);
/* A string that shows a value of another type, such as "64.0" for the integer 64. */
void gt_table_set_shown(gt_table *table, size_t column, size_t row, uint32_t id, gt_shown shown);
/* Makes all cells of a column plain strings. */
void gt_table_show_strings(gt_table *table, size_t column);
void gt_table_set_bool(gt_table *table, size_t column, size_t row, bool value);
void gt_table_set_null(gt_table *table, size_t column, size_t row);

bool gt_column_is_null(const gt_column *column, size_t row);
bool gt_column_is_number(const gt_column *column); /* INT or FLOAT */
bool gt_column_has_nulls(const gt_column *column, size_t row_count);
/* The number in a cell of an INT or FLOAT column; NaN if it is null or the column has another type. */
double gt_column_number(const gt_column *column, size_t row);
bool gt_column_is(const gt_column *column, gt_col name); /* whether the column has this name */
/* The index of the first column with this name, or SIZE_MAX. */
size_t gt_table_find(const gt_table *table, gt_col name);
/* A column that the program itself added: if it is missing, that is an internal error. */
gt_column *gt_table_column(const gt_table *table, gt_col name);
/* The same, but looks at the column with this index first. For a loop over many columns that are probably in
 * the order of their names. */
gt_column *gt_table_column_near(const gt_table *table, gt_col name, size_t index);

/* The columns of a table by name, so that finding one takes the same time in a table with any number of
 * columns. Does not follow later changes of the table. */
typedef struct gt_column_index {
    gt_interner *names;
    size_t *columns; /* by string id of the name: its first column; SIZE_MAX: none */
} gt_column_index;
gt_column_index gt_column_index_new(const gt_table *table);
size_t gt_column_index_find(const gt_column_index *index, gt_col name); /* SIZE_MAX: none */
void gt_column_index_free(gt_column_index *index);

/* The value of a cell, for writers whose cells have types: that of the column, or what its string shows.
 * LISTs are returned without elements. */
typedef struct gt_cell {
    bool is_null;
    gt_type type;
    int64_t integer; /* INT, BOOL */
    double number;   /* FLOAT, and INT as a float */
    gt_str text;     /* STRING */
} gt_cell;
gt_cell gt_table_cell(const gt_table *table, size_t column, size_t row);
/* The type of all values of a column. False if they have several types (only possible in a STRING column). */
bool gt_column_value_type(const gt_column *column, size_t row_count, gt_type *type);

/* The same, for callers that use its array: another type is an internal error, too. */
gt_column *gt_table_column_of(const gt_table *table, gt_col name, gt_type type);

/* LIST cells. A new LIST column has INT elements; gt_list_of sets another type and returns the column of the
 * elements: gt_list_of(gt_list_of(&table->columns[c], GT_TYPE_LIST), GT_TYPE_INT) makes a column of lists of
 * lists of INT. Cells are filled in row order (skipped rows are null): begin a cell, then push its elements.
 * The elements of a cell that is not null are items[gt_list_begin_of .. gt_list_end_of). */
gt_column *gt_list_of(gt_column *list, gt_type element);
void gt_list_begin(gt_column *list, size_t row); /* the cell becomes an empty list */
void gt_list_push_int(gt_column *list, int64_t value);
void gt_list_push_float(gt_column *list, double value);
void gt_list_push_string(gt_column *list, uint32_t id);
void gt_list_push_bool(gt_column *list, bool value);
void gt_list_push_null(gt_column *list);
/* Pushes an empty list and returns the column to push its elements to. */
gt_column *gt_list_push_list(gt_column *list);
size_t gt_list_begin_of(const gt_column *list, size_t row);
size_t gt_list_end_of(const gt_column *list, size_t row);

/* Columns. */
void gt_table_drop_column(gt_table *table, size_t column);
void gt_table_rename_column(gt_table *table, size_t column, gt_col name);
/* Two heading lines in a workbook instead of the name: `over` is merged across neighbours that have the same,
 * `under` is below it. Names of columns without `over` are in a third line, where `under` heads all of them.
 * Either may be NULL. */
void gt_table_set_headings(gt_table *table, size_t column, const char *over, const char *under);
void gt_table_move_column(gt_table *table, size_t from, size_t to); /* `to` is the new index */
/* Keeps the named columns, in this order, and drops the others. Names that the table lacks are ignored. */
void gt_table_select(gt_table *table, const gt_col *names, size_t count);
/* Keeps the columns with these indices, each given once, in this order, and drops the others. */
void gt_table_arrange(gt_table *table, const size_t *columns, size_t count);
/* Converts an INT or BOOL column to FLOAT; null becomes NaN. */
void gt_table_make_float(gt_table *table, size_t column);
/* Converts every INT column that has a null to FLOAT, as pandas does. The columns are marked as `widened`:
 * their values are still integers. */
void gt_table_widen_ints(gt_table *table);

/* Rows. A row list may contain a row several times; GT_NO_ROW gives a row of nulls. */
#define GT_NO_ROW UINT32_MAX
gt_table *gt_table_copy(const gt_table *table);
/* With NULL instead of a list: the first `count` rows. */
gt_table *gt_table_copy_rows(const gt_table *table, const uint32_t *rows, size_t count);
/* The same for the named columns, in this order. Names that the table lacks are ignored. */
gt_table *gt_table_copy_columns(const gt_table *table, const gt_col *names, size_t name_count,
                                const uint32_t *rows, size_t count);
void gt_table_take(gt_table *table, const uint32_t *rows, size_t count); /* replaces the rows by these */
void gt_table_keep(gt_table *table, const uint8_t *keep); /* keeps the rows with keep[row] != 0 */
void gt_table_head(gt_table *table,
                   int64_t count); /* keeps the first rows; negative: all but the last |count| */
/* Adds the rows of another table with the same columns in any order. Where one column is INT and the other
 * FLOAT, the result is FLOAT. The tables need not share an interner. */
bool gt_table_append(gt_table *table, const gt_table *more, gt_error *error);
/* The same for tables that must have the same columns: if they do not, that is an internal error. */
void gt_table_append_same(gt_table *table, const gt_table *more);
/* The same for tables whose columns differ: a column that one table lacks is null in its rows, and columns
 * that only `more` has come last. Not for LISTs. */
bool gt_table_append_outer(gt_table *table, const gt_table *more, gt_error *error);
/* Moves all strings to another interner, which the table borrows from now on. */
void gt_table_use_strings(gt_table *table, gt_interner *strings);
