/* Makes a table of the cells of a sheet, by the rules in cells.h: cells are sorted by column, then the type
 * of each column is derived from its cells, then the column is filled. */
#include "compat/cells.h"
#include "compat/number.h"

/* The largest allowed area of a sheet: this many cells, plus this many per cell in the file. */
enum { AREA_ALWAYS_ALLOWED = 1 << 20, AREA_PER_CELL = 64 };

/* The strings that pandas reads as missing, in addition to the empty string. */
static const char *const missing_tokens[] = {
    "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN",
    "<NA>", "N/A",      "NA",  "NULL",    "NaN",      "None", "n/a",  "nan",    "null",
};

gt_sheet_cell gt_sheet_cell_string(const char *bytes, size_t len)
{
    return (gt_sheet_cell){
        .kind = GT_CELL_STRING, .bytes = bytes, .len = len < UINT32_MAX ? (uint32_t)len : UINT32_MAX};
}

gt_sheet_cell gt_sheet_cell_number(double number)
{
    return (gt_sheet_cell){.kind = isnan(number) ? GT_CELL_MISSING : GT_CELL_NUMBER, .number = number};
}

gt_sheet_cell gt_sheet_cell_bool(bool truth)
{
    return (gt_sheet_cell){.kind = GT_CELL_BOOL, .truth = truth};
}

void gt_sheet_cells_add(gt_sheet_cells *cells, uint32_t row, uint32_t column, gt_sheet_cell cell)
{
    if (row >= cells->rows) cells->rows = row + 1;
    if (column >= cells->columns) cells->columns = column + 1;
    if (cell.kind == GT_CELL_MISSING) return;
    gt_placed_cell placed = {cell, row, column};
    GT_PUSH(cells->items, cells->count, cells->capacity, placed);
}

void gt_sheet_cells_free(gt_sheet_cells *cells)
{
    gt_free(cells->items);
    *cells = (gt_sheet_cells){0};
}

/* ---- the value of one cell ---- */

typedef enum value_kind { VALUE_MISSING, VALUE_INT, VALUE_FLOAT, VALUE_BOOL, VALUE_STRING } value_kind;

typedef struct value {
    value_kind kind;
    int64_t integer; /* of INT; 0 or 1 of BOOL */
    double real;     /* of INT and FLOAT */
} value;

static bool is_missing(gt_str text)
{
    if (!text.len) return true;
    for (size_t i = 0; i < GT_LENGTH(missing_tokens); i++)
        if (gt_str_equals(text, missing_tokens[i])) return true;
    return false;
}

static size_t count_digits(const char *at, const char *end)
{
    const char *start = at;
    while (at < end && *at >= '0' && *at <= '9') at++;
    return (size_t)(at - start);
}

/* Whether the text is digits with an optional sign, point and exponent; neither hexadecimal nor with spaces.
 */
static bool has_number_form(gt_str text, bool *is_whole)
{
    const char *at = text.bytes, *end = at + text.len;
    if (at < end && (*at == '-' || *at == '+')) at++;
    size_t before = count_digits(at, end), after = 0;
    at += before;
    *is_whole = at == end;
    if (at < end && *at == '.') {
        at++;
        after = count_digits(at, end);
        at += after;
    }
    if (!before && !after) return false;
    if (at < end && (*at == 'e' || *at == 'E')) {
        at++;
        if (at < end && (*at == '-' || *at == '+')) at++;
        size_t exponent = count_digits(at, end);
        if (!exponent) return false;
        at += exponent;
    }
    return at == end;
}

static bool whole_number(gt_str text, int64_t *out)
{
    bool negative = text.bytes[0] == '-';
    int64_t sum = 0; /* negated, because INT64_MIN has no positive counterpart */
    for (size_t i = negative || text.bytes[0] == '+'; i < text.len; i++)
        if (__builtin_mul_overflow(sum, 10, &sum) || __builtin_sub_overflow(sum, text.bytes[i] - '0', &sum))
            return false;
    if (!negative && sum == INT64_MIN) return false;
    *out = negative ? sum : -sum;
    return true;
}

static double real_number(gt_str text, gt_cell_parsing reading)
{
    return reading == GT_READ_PANDAS ? gt_pandas_number(text) : gt_read_double(text);
}

static gt_str trimmed(gt_str text)
{
    while (text.len && (*text.bytes == ' ' || *text.bytes == '\t')) text.bytes++, text.len--;
    while (text.len && (text.bytes[text.len - 1] == ' ' || text.bytes[text.len - 1] == '\t')) text.len--;
    return text;
}

static value value_of_string(gt_str text, gt_cell_parsing reading)
{
    bool is_whole;
    if (reading == GT_READ_STRINGS) return (value){.kind = text.len ? VALUE_STRING : VALUE_MISSING};
    if (is_missing(text)) return (value){.kind = VALUE_MISSING};
    gt_str field = trimmed(text);
    if (field.len && has_number_form(field, &is_whole)) {
        value found = {.kind = VALUE_FLOAT};
        if (is_whole && whole_number(field, &found.integer)) found.kind = VALUE_INT;
        bool is_exact = found.kind == VALUE_INT && reading == GT_READ_EXACT;
        found.real = is_exact ? (double)found.integer : real_number(field, reading);
        return found;
    }
    bool negative = field.len && *field.bytes == '-';
    if (negative || (field.len && *field.bytes == '+')) field.bytes++, field.len--;
    if (gt_str_equals_nocase(field, "inf") || gt_str_equals_nocase(field, "infinity"))
        return (value){.kind = VALUE_FLOAT, .real = negative ? -INFINITY : INFINITY};
    bool is_true = gt_str_equals_nocase(text, "true");
    if (is_true || gt_str_equals_nocase(text, "false"))
        return (value){.kind = VALUE_BOOL, .integer = is_true};
    return (value){.kind = VALUE_STRING};
}

static value value_of(const gt_sheet_cell *cell, gt_cell_parsing reading)
{
    switch (cell->kind) {
    case GT_CELL_STRING:
        return value_of_string((gt_str){cell->bytes, cell->len}, reading);
    case GT_CELL_BOOL:
        return (value){.kind = VALUE_BOOL, .integer = cell->truth};
    case GT_CELL_NUMBER: {
        bool is_whole = fabs(cell->number) < 0x1p63 && cell->number == trunc(cell->number);
        return (value){.kind = is_whole ? VALUE_INT : VALUE_FLOAT,
                       .integer = is_whole ? (int64_t)cell->number : 0,
                       .real = cell->number};
    }
    case GT_CELL_MISSING:
        break;
    }
    return (value){.kind = VALUE_MISSING};
}

/* ---- columns ---- */

static gt_type type_of(const gt_sheet_cell *cells, size_t count, gt_cell_parsing reading)
{
    bool met[VALUE_STRING + 1] = {false};
    if (reading == GT_READ_STRINGS) return GT_TYPE_STRING;
    for (size_t i = 0; i < count && !met[VALUE_STRING]; i++) met[value_of(&cells[i], reading).kind] = true;
    bool numbers = met[VALUE_INT] || met[VALUE_FLOAT];
    if (met[VALUE_STRING] || (met[VALUE_BOOL] && (numbers || met[VALUE_MISSING]))) return GT_TYPE_STRING;
    if (met[VALUE_BOOL]) return GT_TYPE_BOOL;
    return met[VALUE_INT] && !met[VALUE_FLOAT] && !met[VALUE_MISSING] ? GT_TYPE_INT : GT_TYPE_FLOAT;
}

/* A cell in a column of strings: as the file has it, or a number as Python prints it. */
static uint32_t string_of(gt_interner *strings, const gt_sheet_cell *cell, gt_cell_parsing reading)
{
    char printed[GT_NUMBER_MAX];
    value found = value_of(cell, reading);
    if (found.kind == VALUE_MISSING) return GT_STR_NONE;
    if (cell->kind == GT_CELL_STRING) return gt_interner_add(strings, cell->bytes, cell->len);
    if (cell->kind == GT_CELL_BOOL) return gt_interner_add_cstr(strings, cell->truth ? "True" : "False");
    size_t len =
        found.kind == VALUE_INT ? gt_print_int(printed, found.integer) : gt_print_double(printed, found.real);
    return gt_interner_add(strings, printed, len);
}

static void fill_column(gt_table *table, size_t column, const gt_sheet_cell *cells, gt_cell_parsing reading)
{
    for (size_t row = 0; row < table->row_count; row++) {
        value found = value_of(&cells[row], reading);
        switch (table->columns[column].type) {
        case GT_TYPE_INT:
            gt_table_set_int(table, column, row, found.integer);
            break;
        case GT_TYPE_BOOL:
            gt_table_set_bool(table, column, row, found.integer != 0);
            break;
        case GT_TYPE_FLOAT:
            gt_table_set_float(table, column, row, found.kind == VALUE_MISSING ? NAN : found.real);
            break;
        default:
            gt_table_set_string(table, column, row, string_of(table->strings, &cells[row], reading));
        }
    }
}

/* ---- the table ---- */

/* The names of the columns so far. */
typedef struct taken_names {
    gt_interner *strings;
    size_t *next; /* by string id: the number to try for the next column of this name; 0: the name is free */
    size_t count, capacity;
} taken_names;

static size_t *next_number(taken_names *taken, const char *name)
{
    uint32_t id = gt_interner_add_cstr(taken->strings, name);
    while (taken->count <= id) GT_PUSH(taken->next, taken->count, taken->capacity, 0);
    return &taken->next[id];
}

/* The name for a column: the wanted one if no column has it, else with the first free number. The numbers
 * that were taken once are not tried again, so that n columns with the same name take time in proportion to
 * n. The caller frees it. */
static char *free_name(taken_names *taken, const char *wanted)
{
    size_t number = *next_number(taken, wanted);
    char *name = gt_strdup(wanted);
    while (*next_number(taken, name)) {
        gt_free(name);
        name = gt_format("%s.%zu", wanted, number++);
    }
    *next_number(taken, name) = 1;
    if (number) *next_number(taken, wanted) = number;
    return name;
}

static void add_column(gt_table *table, const char *name, const gt_sheet_cell *cells, gt_cell_parsing reading)
{
    fill_column(table,
                gt_table_add_zeroed(table, gt_col_named(name), type_of(cells, table->row_count, reading)),
                cells, reading);
}

static char *header_name(const gt_sheet_cell *header, uint32_t column, gt_interner *strings)
{
    uint32_t id = header->kind == GT_CELL_STRING && header->len
                      ? gt_interner_add(strings, header->bytes, header->len)
                  : header->kind == GT_CELL_STRING ? GT_STR_NONE
                                                   : string_of(strings, header, GT_READ_EXACT);
    return id == GT_STR_NONE ? gt_format("Unnamed: %" PRIu32, column)
                             : gt_strdup(gt_interner_get(strings, id).bytes);
}

/* Sorts the cells by column; returns the end of each column in the sorted list. */
static size_t *sort_by_column(const gt_sheet_cells *cells, uint32_t *by_column)
{
    size_t *ends = gt_alloc_zero(cells->columns, sizeof *ends);
    size_t total = 0;
    for (size_t i = 0; i < cells->count; i++) ends[cells->items[i].column]++;
    for (uint32_t c = 0; c < cells->columns; c++) {
        size_t here = ends[c];
        ends[c] = total;
        total += here;
    }
    for (size_t i = 0; i < cells->count; i++) by_column[ends[cells->items[i].column]++] = (uint32_t)i;
    return ends;
}

bool gt_sheet_cells_check_density(const gt_sheet_cells *cells, gt_error *error)
{
    uint64_t area = (uint64_t)cells->rows * cells->columns;
    if (cells->count >= GT_NO_ROW || cells->rows >= GT_NO_ROW)
        return gt_fail(error, "too many cells in the sheet: %zu", cells->count);
    return area <= AREA_ALWAYS_ALLOWED + (uint64_t)AREA_PER_CELL * cells->count ||
           gt_fail(error, "sheet is too sparse: %zu cells in %" PRIu32 " rows and %" PRIu32 " columns",
                   cells->count, cells->rows, cells->columns);
}

gt_table *gt_sheet_cells_table(const gt_sheet_cells *cells, gt_sheet name, gt_interner *strings,
                               gt_error *error)
{
    if (!gt_sheet_cells_check_density(cells, error)) return NULL;
    gt_table *table = gt_table_new(name, strings);
    if (cells->rows) gt_table_add_rows(table, cells->rows - 1);
    uint32_t *by_column = gt_alloc(cells->count * sizeof *by_column);
    size_t *ends = sort_by_column(cells, by_column);
    gt_sheet_cell *column = gt_alloc(cells->rows * sizeof *column);
    taken_names taken = {.strings = gt_interner_new()};
    for (uint32_t c = 0; c < cells->columns; c++) {
        memset(column, 0, cells->rows * sizeof *column);
        for (size_t i = c ? ends[c - 1] : 0; i < ends[c]; i++)
            column[cells->items[by_column[i]].row] = cells->items[by_column[i]].cell;
        char *wanted = header_name(&column[0], c, strings), *column_name = free_name(&taken, wanted);
        add_column(table, column_name, column + 1, cells->reading);
        gt_free_all(column_name, wanted);
    }
    gt_interner_free(taken.strings);
    gt_free_all(taken.next, column, ends, by_column);
    return table;
}
