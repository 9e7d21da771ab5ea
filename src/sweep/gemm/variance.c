/* `sweep plot`: groups the time differences by each axis and by rank, and prints their statistics. */
#include "os/paths.h"
#include "schema/columns.h"
#include "sweep/gemm/gemm.h"
#include "table/stats.h"

enum { PAIRS_MAX = 1000000, WARNINGS_MAX = 10 }; /* combinations of the values of two axes */
static const double LONGEST_US = 1e15; /* thirty years: longer values are not times between two kernels */

/* ---- columns ---- */

typedef struct row_columns {
    size_t axes[GT_VARIANCE_AXES_MAX], count; /* with the rank */
    size_t time;
} row_columns;

static bool is_column(const gt_table *table, size_t column, gt_col name)
{
    return strcmp(table->columns[column].name, name.name) == 0;
}

static bool fail_missing(const gt_table *table, const char *path, gt_error *error)
{
    static const gt_col wanted[] = {GT_COL_THREADS, GT_COL_CHANNEL, GT_COL_RANK, GT_COL_TIME_DIFF_US};
    for (size_t i = 0; i < GT_LENGTH(wanted); i++)
        if (gt_table_find(table, wanted[i]) == SIZE_MAX)
            return gt_fail(error, "%s: no column %s", path, wanted[i].name);
    return gt_fail(error, "%s: no axis before the column rank", path);
}

/* The axes are the columns before the rank; a file of threads and channels may have them in any order. */
static bool find_columns(const gt_table *table, const char *path, row_columns *columns, gt_error *error)
{
    size_t rank = gt_table_find(table, GT_COL_RANK), threads = gt_table_find(table, GT_COL_THREADS),
           channel = gt_table_find(table, GT_COL_CHANNEL);
    *columns = (row_columns){.time = gt_table_find(table, GT_COL_TIME_DIFF_US)};
    if (rank == SIZE_MAX || columns->time == SIZE_MAX) return fail_missing(table, path, error);
    bool others = false;
    for (size_t c = 0; c < rank; c++) others |= c != threads && c != channel && c != columns->time;
    if (!others && threads != SIZE_MAX && channel != SIZE_MAX) {
        columns->axes[columns->count++] = threads;
        columns->axes[columns->count++] = channel;
    } else {
        for (size_t c = 0; c < rank; c++) {
            if (c == columns->time) continue;
            if (columns->count + 1 == GT_VARIANCE_AXES_MAX)
                return gt_fail(error, "%s: more than %d axes", path, GT_VARIANCE_AXES_MAX - 1);
            columns->axes[columns->count++] = c;
        }
    }
    if (!columns->count) return fail_missing(table, path, error);
    columns->axes[columns->count++] = rank;
    return true;
}

/* ---- cells ---- */

static bool text_number(const char *text, size_t len, double *number)
{
    char *end;
    *number = strtod(text, &end);
    while (*end == ' ') end++;
    return len && end == text + len && isfinite(*number);
}

static bool cell_number(const gt_table *table, size_t column, size_t row, double *number)
{
    const gt_column *c = &table->columns[column];
    if (gt_column_is_null(c, row)) return false;
    switch (c->type) {
    case GT_TYPE_INT:
        *number = (double)c->ints[row];
        return true;
    case GT_TYPE_FLOAT:
        *number = c->floats[row];
        return true;
    case GT_TYPE_STRING: {
        gt_str text = gt_interner_get(table->strings, c->texts[row]);
        return text_number(text.bytes, text.len, number);
    }
    default:
        return false;
    }
}

/* The id of a value's text; GT_STR_NONE if it is missing. */
static uint32_t cell_text(gt_table const *table, size_t column, size_t row, gt_interner *texts)
{
    const gt_column *c = &table->columns[column];
    char text[GT_NUMBER_MAX];
    if (gt_column_is_null(c, row)) return GT_STR_NONE;
    if (c->type == GT_TYPE_INT) return gt_interner_add(texts, text, gt_print_int(text, c->ints[row]));
    if (c->type == GT_TYPE_FLOAT) return gt_interner_add(texts, text, gt_print_double(text, c->floats[row]));
    if (c->type == GT_TYPE_BOOL) return gt_interner_add_cstr(texts, c->bools[row] ? "true" : "false");
    gt_str string = gt_interner_get(table->strings, c->texts[row]);
    return gt_interner_add(texts, string.bytes, string.len);
}

/* ---- rows ---- */

/* What is read of each row before the groups are known. */
typedef struct reader {
    const gt_table *table;
    row_columns columns;
    gt_interner *texts;
    uint32_t *keys; /* text ids: columns.count per row */
    size_t capacity;
    gt_variance_rows *rows;
} reader;

static bool is_whole_column(const gt_table *table, size_t column)
{
    return is_column(table, column, GT_COL_THREADS) || is_column(table, column, GT_COL_CHANNEL) ||
           is_column(table, column, GT_COL_RANK) || is_column(table, column, GT_COL_REPEAT);
}

static bool read_key(reader *r, size_t column, size_t row, uint32_t *key, gt_error *error)
{
    double number;
    char text[GT_NUMBER_MAX];
    if (!is_whole_column(r->table, column)) {
        *key = cell_text(r->table, column, row, r->texts);
        return *key != GT_STR_NONE || gt_fail(error, "%s is empty", r->table->columns[column].name);
    }
    if (!cell_number(r->table, column, row, &number) || number != floor(number) || !(fabs(number) <= 1e15))
        return gt_fail(error, "%s is not an integer", r->table->columns[column].name);
    *key = gt_interner_add(r->texts, text, gt_print_int(text, (int64_t)number));
    return true;
}

/* Adds the row if all its cells can be used. */
static bool read_row(reader *r, size_t row, gt_error *error)
{
    double time_us;
    size_t count = r->columns.count, used = r->rows->count;
    for (size_t a = 0; a < count; a++)
        if (!read_key(r, r->columns.axes[a], row, &r->keys[used * count + a], error)) return false;
    if (!cell_number(r->table, r->columns.time, row, &time_us) || !(fabs(time_us) <= LONGEST_US))
        return gt_fail(error, "%s is not a time", GT_COL_TIME_DIFF_US.name);
    r->rows->time_diff_us[r->rows->count++] = time_us;
    return true;
}

static void read_rows(reader *r, const char *path)
{
    size_t skipped = 0, most = r->table->row_count;
    r->keys = gt_alloc((most + 1) * r->columns.count * sizeof *r->keys);
    r->rows->time_diff_us = gt_alloc((most + 1) * sizeof *r->rows->time_diff_us);
    for (size_t i = 0; i < most; i++) {
        gt_error reason;
        if (!read_row(r, i, &reason) && skipped++ < WARNINGS_MAX)
            gt_warn("Skipping row due to error: %s, row %zu: %s", path, i + 1, reason.text);
    }
    if (skipped > WARNINGS_MAX) gt_warn("%s: %zu rows were skipped in total", path, skipped);
}

/* ---- groups ---- */

/* A value of an axis while its order is decided. */
typedef struct value {
    uint32_t id;
    const char *text;
    double number;
    size_t place; /* in the grid; SIZE_MAX: unknown */
} value;

GT_ORDER_BY(by_order, value, GT_UP(number) GT_UP(place) GT_UP_TEXT(text))

/* The place of each value, by its id, in the grid that sweep.json describes; SIZE_MAX: unknown. */
static size_t *places_in_grid(const reader *r, const gt_sweep *grid, const char *axis)
{
    size_t ids = gt_interner_count(r->texts), *places = gt_alloc(ids * sizeof *places);
    for (size_t i = 0; i < ids; i++) places[i] = SIZE_MAX;
    for (size_t i = 0; i < grid->axis_count; i++)
        for (size_t v = 0; strcmp(grid->axes[i].name, axis) == 0 && v < grid->axes[i].value_count; v++) {
            const char *text = grid->axes[i].values[v];
            uint32_t id = gt_interner_find(r->texts, text, strlen(text));
            if (id != GT_STR_NONE) places[id] = v;
        }
    return places;
}

/* The values of an axis in their order; *group_of has the place of each id. */
static value *list_values(const reader *r, size_t axis, const gt_sweep *grid, uint32_t *group_of,
                          size_t *count)
{
    size_t ids = gt_interner_count(r->texts), rows = r->rows->count, stride = r->columns.count;
    value *values = gt_alloc((ids + 1) * sizeof *values);
    size_t *places = places_in_grid(r, grid, r->rows->axes[axis].name);
    bool numeric = true;
    *count = 0;
    memset(group_of, 0xff, ids * sizeof *group_of);
    for (size_t row = 0; row < rows; row++) {
        uint32_t id = r->keys[row * stride + axis];
        if (group_of[id] != UINT32_MAX) continue;
        group_of[id] = 0;
        gt_str text = gt_interner_get(r->texts, id);
        value *v = &values[(*count)++];
        *v = (value){.id = id, .text = text.bytes};
        numeric = text_number(text.bytes, text.len, &v->number) && numeric;
        v->place = places[id];
    }
    for (size_t i = 0; i < *count && !numeric; i++) values[i].number = 0;
    gt_free(places);
    if (*count) qsort(values, *count, sizeof *values, by_order);
    for (size_t i = 1; i < *count; i++) /* 1 and 01 are different values, at different places */
        numeric = numeric && values[i - 1].number != values[i].number;
    for (size_t i = 0; i < *count; i++) group_of[values[i].id] = (uint32_t)i;
    r->rows->axes[axis].is_numeric = numeric;
    return values;
}

static void group_rows(const reader *r, size_t index, const gt_sweep *grid)
{
    gt_variance_rows *rows = r->rows;
    gt_variance_axis *axis = &rows->axes[index];
    uint32_t *group_of = gt_alloc(gt_interner_count(r->texts) * sizeof *group_of);
    value *values = list_values(r, index, grid, group_of, &axis->count);
    size_t *next = gt_alloc_zero(axis->count + 1, sizeof *next); /* where the values of each group go */
    axis->items = gt_alloc_zero(axis->count, sizeof *axis->items);
    axis->of_row = gt_alloc((rows->count + 1) * sizeof *axis->of_row);
    axis->values_us = gt_alloc((rows->count + 1) * sizeof *axis->values_us);
    for (size_t row = 0; row < rows->count; row++) {
        axis->of_row[row] = group_of[r->keys[row * r->columns.count + index]];
        axis->items[axis->of_row[row]].count++;
    }
    for (size_t i = 0; i < axis->count; i++) {
        gt_variance_group *group = &axis->items[i];
        group->text = gt_arena_bytes(&rows->arena, values[i].text, strlen(values[i].text));
        group->number = axis->is_numeric ? values[i].number : (double)i;
        group->values_us = axis->values_us + next[i];
        next[i + 1] = next[i] + group->count;
    }
    for (size_t row = 0; row < rows->count; row++)
        axis->values_us[next[axis->of_row[row]]++] = rows->time_diff_us[row];
    gt_free_all(next, values, group_of);
}

static void name_axes(const reader *r)
{
    gt_variance_rows *rows = r->rows;
    rows->axis_count = r->columns.count;
    for (size_t a = 0; a < rows->axis_count; a++) {
        const char *name = r->table->columns[r->columns.axes[a]].name;
        gt_variance_kind kind = a + 1 == rows->axis_count                                 ? GT_BY_RANKS
                                : is_column(r->table, r->columns.axes[a], GT_COL_THREADS) ? GT_BY_THREADS
                                : is_column(r->table, r->columns.axes[a], GT_COL_CHANNEL) ? GT_BY_CHANNELS
                                                                                          : GT_BY_OTHER;
        rows->axes[a].kind = kind;
        rows->axes[a].name =
            kind == GT_BY_CHANNELS ? "channels" : gt_arena_bytes(&rows->arena, name, strlen(name));
    }
    rows->is_classic =
        rows->axis_count == 3 && rows->axes[0].kind == GT_BY_THREADS && rows->axes[1].kind == GT_BY_CHANNELS;
}

static bool check_pairs(const gt_variance_rows *rows, const char *path, gt_error *error)
{
    for (size_t a = 0; a + 1 < rows->axis_count; a++)
        for (size_t b = a + 1; b + 1 < rows->axis_count; b++)
            if (rows->axes[a].count > PAIRS_MAX / rows->axes[b].count)
                return gt_fail(error, "%s: %zu values of %s and %zu of %s are too many to plot", path,
                               rows->axes[a].count, rows->axes[a].name, rows->axes[b].count,
                               rows->axes[b].name);
    return true;
}

bool gt_variance_rows_of(const gt_table *table, const char *path, gt_variance_rows *rows, gt_error *error)
{
    *rows = (gt_variance_rows){0};
    reader r = {.table = table, .rows = rows};
    if (!find_columns(table, path, &r.columns, error)) return false;
    r.texts = gt_interner_new();
    name_axes(&r);
    read_rows(&r, path);
    if (rows->count) {
        char *above = gt_path_sibling(path, "..");
        gt_sweep grid; /* for its order of values */
        gt_sweep_begin(&grid, above);
        for (size_t a = 0; a < rows->axis_count; a++) group_rows(&r, a, &grid);
        gt_sweep_free(&grid);
        gt_free(above);
    }
    gt_free(r.keys);
    gt_interner_free(r.texts);
    if (!rows->count) return gt_fail(error, "%s: no row has threads, channel, rank and time_diff_us", path);
    return check_pairs(rows, path, error);
}

void gt_variance_rows_free(gt_variance_rows *rows)
{
    for (size_t a = 0; a < rows->axis_count; a++) {
        gt_free_all(rows->axes[a].items, rows->axes[a].values_us, rows->axes[a].of_row);
    }
    gt_free(rows->time_diff_us);
    gt_arena_free(&rows->arena);
    *rows = (gt_variance_rows){0};
}

/* ---- printing ---- */

static double in_order_mean(const gt_variance_group *group)
{
    double sum = 0;
    for (size_t i = 0; i < group->count; i++) sum += group->values_us[i];
    return sum / (double)group->count;
}

static double greatest(const gt_variance_group *group)
{
    double most = group->values_us[0];
    for (size_t i = 1; i < group->count; i++) most = fmax(most, group->values_us[i]);
    return most;
}

void gt_variance_rows_print(FILE *file, const gt_variance_rows *rows)
{
    static const struct {
        const char *heading, *before, *after; /* before and after the value */
    } kinds[] = {[GT_BY_THREADS] = {"By Thread Count", "", " threads"},
                 [GT_BY_CHANNELS] = {"By Channel Count", "", "ch"},
                 [GT_BY_RANKS] = {"By Rank", "Rank ", ""},
                 [GT_BY_OTHER] = {"By", "", ""}};
    for (size_t a = 0; a < rows->axis_count; a++) {
        const gt_variance_axis *axis = &rows->axes[a];
        bool is_other = axis->kind == GT_BY_OTHER;
        fprintf(file, "%s%s%s%s:\n", a ? "\n" : "", kinds[axis->kind].heading, is_other ? " " : "",
                is_other ? axis->name : "");
        for (size_t i = 0; i < axis->count; i++) {
            const gt_variance_group *group = &axis->items[i];
            fprintf(file, "  %s%s%s: mean=%.2fus, median=%.2fus, max=%.2fus, n=%zu\n",
                    kinds[axis->kind].before, group->text, kinds[axis->kind].after, in_order_mean(group),
                    gt_median(group->values_us, group->count), greatest(group), group->count);
        }
    }
}
