/* The step of a report as parts: its sheet balance has the nanoseconds of the window by category of kernels,
 * communication, copies and cause of idle time; the sheet overview has the number of steps. Both may have
 * been edited, so whatever does not fit makes the division impossible: a waterfall adds up or does not exist.
 */
#include "findings/waterfall/waterfall.h"

#include "base/memory.h"
#include "schema/columns.h"

#include <math.h>
#include <string.h>

static const struct {
    const char *name; /* in the column kind of balance */
    gt_part_kind kind;
} kinds[] = {
    {"computation", GT_PART_CATEGORY}, {"exposed_communication", GT_PART_COMMUNICATION},
    {"exposed_copy", GT_PART_COPY},    {"idle", GT_PART_IDLE},
    {"remainder", GT_PART_IDLE},
};

static const gt_column *find_column(const gt_table *sheet, gt_col name)
{
    size_t place = gt_table_find(sheet, name);
    return place == SIZE_MAX ? NULL : &sheet->columns[place];
}

static gt_str text_at(const gt_table *sheet, const gt_column *column, size_t row)
{
    return gt_interner_get(sheet->strings, column->texts[row]);
}

/* A whole number up to 2^53, which workbooks keep although they have only floats. */
static bool whole_number(const gt_column *column, size_t row, int64_t *value)
{
    const double largest = 9007199254740992;
    double number = gt_column_number(column, row);
    if (!(number >= 0 && number <= largest) || number != floor(number)) return false;
    *value = (int64_t)number;
    return true;
}

/* The fact with this name; false if there is none. */
static bool find_fact(const gt_table *overview, const char *name, int64_t *value)
{
    const gt_column *names = find_column(overview, GT_COL_NAME),
                    *values = find_column(overview, GT_COL_VALUE);
    if (!names || !values || names->type != GT_TYPE_STRING) return false;
    for (size_t row = 0; row < overview->row_count; row++)
        if (gt_str_equals(text_at(overview, names, row), name)) return whole_number(values, row, value);
    return false;
}

static bool add_row(gt_step_parts *parts, gt_str kind, gt_str name, int64_t ns)
{
    gt_step_part part = {.op = GT_STR_EMPTY, .ns = ns};
    for (size_t i = 0; i < GT_LENGTH(kinds); i++) {
        if (!gt_str_equals(kind, kinds[i].name)) continue;
        part.kind = (uint8_t)kinds[i].kind;
        part.name = gt_interner_add(parts->strings, name.bytes, name.len);
        if (ns) GT_PUSH(parts->items, parts->count, parts->capacity, part);
        return true;
    }
    return false;
}

static bool add_rows(gt_step_parts *parts, const gt_table *balance, int64_t window_ns)
{
    const gt_column *names = find_column(balance, GT_COL_PART), *kind = find_column(balance, GT_COL_KIND),
                    *times = find_column(balance, GT_COL_NS);
    double sum = 0;
    int64_t ns;
    if (!names || !kind || !times || names->type != GT_TYPE_STRING || kind->type != GT_TYPE_STRING)
        return false;
    for (size_t row = 0; row < balance->row_count; row++) {
        if (!whole_number(times, row, &ns) ||
            !add_row(parts, text_at(balance, kind, row), text_at(balance, names, row), ns))
            return false;
        sum += (double)ns;
    }
    return sum == (double)window_ns;
}

gt_step_parts *gt_step_parts_of_balance(const gt_table *balance, const gt_table *overview)
{
    int64_t steps, all_steps, window_ns;
    if (!find_fact(overview, "window_steps", &steps) || !find_fact(overview, "steps", &all_steps) ||
        !find_fact(overview, "window_ns", &window_ns) || steps < 1)
        return NULL;
    gt_step_parts *parts = gt_alloc_zero(1, sizeof *parts);
    parts->strings = gt_interner_new();
    parts->steps = (size_t)steps;
    parts->has_steps = all_steps > 0;
    if (add_rows(parts, balance, window_ns)) {
        gt_step_parts_divide(parts, window_ns);
        return parts;
    }
    gt_step_parts_free(parts);
    return NULL;
}
