/* Which kernels of different ranks are one collective, do the ranks agree on what it is, and the parts that
 * all sheets with one row per collective have. */
#include "analysis/collective/internal.h"

#include "compat/python_repr.h"
#include "schema/columns.h"

gt_collective_matches gt_collective_match(const gt_table *events)
{
    static const gt_col key[] = {GT_COL_COLLECTIVE_ID};
    gt_collective_matches matches = {.events = events};
    if (!events->row_count) {
        matches.begins = gt_alloc_zero(1, sizeof *matches.begins);
        return matches;
    }
    gt_groups groups = gt_groups_find(events, key, 1, (gt_group_options){0});
    gt_group_rows by_collective = gt_group_rows_find(&groups);
    matches.count = groups.count;
    matches.begins = by_collective.begins;
    matches.rows = by_collective.rows;
    gt_groups_free(&groups);
    const int64_t *ranks = gt_table_column(events, GT_COL_RANK)->ints;
    for (size_t row = 0; row < events->row_count; row++)
        if (ranks[row] >= matches.ranks) matches.ranks = ranks[row] + 1;
    return matches;
}

void gt_collective_matches_free(gt_collective_matches *matches)
{
    gt_free_all(matches->begins, matches->rows);
    *matches = (gt_collective_matches){0};
}

gt_collective_type gt_collective_match_type(const gt_collective_matches *matches, size_t collective)
{
    uint32_t row = matches->rows[matches->begins[collective]];
    uint32_t name = gt_table_column(matches->events, GT_COL_COLLECTIVE_NAME)->texts[row];
    return gt_collective_type_of(gt_interner_get(matches->events->strings, name).bytes);
}

/* ---- do the ranks agree? ---- */

static bool equal_cells(const gt_column *column, uint32_t a, uint32_t b)
{
    if (column->type == GT_TYPE_STRING) return column->texts[a] == column->texts[b];
    double x = gt_column_number(column, a), y = gt_column_number(column, b);
    return x == y || (isnan(x) && isnan(y));
}

/* As numpy prints it in an array: 10 (10. in a float array) or 'text'. */
static void print_value(gt_buffer *out, const gt_table *table, const gt_column *column, uint32_t row)
{
    char digits[GT_NUMBER_MAX];
    if (column->type == GT_TYPE_STRING) {
        if (column->texts[row] == GT_STR_NONE)
            gt_buffer_add_cstr(out, "None");
        else
            gt_python_add_repr(out, gt_interner_get(table->strings, column->texts[row]));
    } else if (column->type == GT_TYPE_INT) {
        gt_buffer_add(out, digits, gt_print_int(digits, column->ints[row]));
    } else {
        size_t len = gt_print_double(digits, column->floats[row]);
        if (len > 2 && memcmp(digits + len - 2, ".0", 2) == 0) len--;
        gt_buffer_add(out, digits, len);
    }
}

/* The different values of the ranks: [10 11]. */
static void print_distinct(gt_buffer *out, const gt_collective_matches *matches, size_t collective,
                           const gt_column *column)
{
    enum { SHOWN_MAX = 16 };
    uint32_t seen[SHOWN_MAX];
    size_t count = 0;
    gt_buffer_add_cstr(out, "[");
    for (size_t i = matches->begins[collective]; i < matches->begins[collective + 1] && count < SHOWN_MAX;
         i++) {
        size_t j = 0;
        while (j < count && !equal_cells(column, seen[j], matches->rows[i])) j++;
        if (j < count) continue;
        if (count) gt_buffer_add_cstr(out, " ");
        print_value(out, matches->events, column, matches->rows[i]);
        seen[count++] = matches->rows[i];
    }
    gt_buffer_add_cstr(out, count == SHOWN_MAX ? " ...]" : "]");
}

static bool fail_mismatch(const gt_collective_matches *matches, size_t collective, const gt_column *column,
                          bool show_values, gt_error *error)
{
    uint32_t first = matches->rows[matches->begins[collective]];
    uint32_t id = gt_table_column(matches->events, GT_COL_COLLECTIVE_ID)->texts[first];
    gt_buffer values = {0};
    if (show_values) {
        gt_buffer_add_cstr(&values, ": ");
        print_distinct(&values, matches, collective, column);
    }
    gt_fail(error, "Metadata mismatch in '%s' for collective %.200s%.600s", column->name,
            gt_interner_get(matches->events->strings, id).bytes, gt_buffer_str(&values).bytes);
    gt_buffer_free(&values);
    return false;
}

uint8_t *gt_collective_compare(const gt_collective_matches *matches, const gt_col *columns,
                               size_t column_count)
{
    uint8_t *differing = gt_alloc_zero(matches->count + 1, sizeof *differing);
    for (size_t c = 0; c < column_count; c++) {
        const gt_column *column = gt_table_column(matches->events, columns[c]);
        for (size_t i = 0; i < matches->count; i++) {
            size_t begin = matches->begins[i], end = matches->begins[i + 1], k = begin;
            if (differing[i]) continue;
            while (k < end && equal_cells(column, matches->rows[begin], matches->rows[k])) k++;
            if (k < end) differing[i] = (uint8_t)(c + 1);
        }
    }
    return differing;
}

bool gt_collective_check(const gt_collective_matches *matches, size_t collective, gt_col differing,
                         bool show_values, gt_mismatch mismatch, size_t *disagreeing, bool *keep,
                         gt_error *error)
{
    bool agree = !differing.name;
    *disagreeing += !agree;
    *keep = agree || mismatch == GT_MISMATCH_KEEP;
    if (agree || mismatch != GT_MISMATCH_FAIL) return true;
    return fail_mismatch(matches, collective, gt_table_column(matches->events, differing), show_values,
                         error);
}

/* ---- rows and columns of sheets ---- */

gt_table *gt_collective_first_ranks(const gt_collective_matches *matches, const uint32_t *collectives,
                                    size_t count, gt_sheet sheet, const gt_col *columns, size_t column_count)
{
    uint32_t *firsts = gt_alloc(count * sizeof *firsts);
    for (size_t i = 0; i < count; i++) firsts[i] = matches->rows[matches->begins[collectives[i]]];
    gt_table *table = gt_table_copy_columns(matches->events, columns, column_count, firsts, count);
    gt_table_rename(table, sheet);
    gt_free(firsts);
    return table;
}

void gt_collective_set_number(gt_table *table, size_t column, size_t row, double value)
{
    if (table->columns[column].type == GT_TYPE_INT)
        gt_table_set_int(table, column, row, (int64_t)value);
    else
        gt_table_set_float(table, column, row, value);
}

void gt_rank_columns_begin(gt_rank_columns *columns, const gt_collective_matches *matches)
{
    for (size_t part = 0; part < 2; part++) {
        columns->firsts[part] = gt_alloc((size_t)matches->ranks * sizeof *columns->firsts[part]);
        for (int64_t rank = 0; rank < matches->ranks; rank++) columns->firsts[part][rank] = SIZE_MAX;
    }
}

static void add_part(gt_table *table, const gt_column_head *part, size_t count, int64_t rank)
{
    for (size_t i = 0; i < count; i++) {
        char *name = gt_format("rank_%lld_%s", (long long)rank, part[i].name.name);
        gt_table_add_lent(table, gt_col_named(name), part[i].type);
        gt_free(name);
    }
}

void gt_rank_columns_add(gt_rank_columns *columns, gt_table *table, const gt_collective_matches *matches,
                         size_t collective)
{
    const int64_t *ranks = gt_table_column(matches->events, GT_COL_RANK)->ints;
    for (size_t part = 0; part < 2; part++)
        for (size_t i = matches->begins[collective]; i < matches->begins[collective + 1]; i++) {
            int64_t rank = ranks[matches->rows[i]];
            if (columns->firsts[part][rank] != SIZE_MAX) continue;
            columns->firsts[part][rank] = table->column_count;
            add_part(table, columns->parts[part], columns->part_counts[part], rank);
        }
}

void gt_rank_columns_end(gt_rank_columns *columns)
{
    for (size_t part = 0; part < 2; part++) gt_free(columns->firsts[part]);
}
