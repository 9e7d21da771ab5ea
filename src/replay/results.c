/* The sheet replay: the time of each op's kernels in the trace and alone. An op that is slower in the trace
 * than alone was held up there: by other kernels on the GPU, by copies, or by clocks. */
#include "replay/replay.h"

#include "compat/python_repr.h"
#include "schema/columns.h"

enum { NAME, DIMS, TYPES, COUNT, UID, TRACE, REPLAY, RATIO, LOST, KERNELS, NOTE };

static gt_table *new_sheet(gt_interner *strings)
{
    static const gt_column_head heads[] = {
        [NAME] = {GT_COL_NAME, GT_TYPE_STRING},        [DIMS] = {GT_COL_INPUT_DIMS, GT_TYPE_STRING},
        [TYPES] = {GT_COL_INPUT_TYPE, GT_TYPE_STRING}, [COUNT] = {GT_COL_OPERATION_COUNT, GT_TYPE_INT},
        [UID] = {GT_COL_EX_UID, GT_TYPE_INT},          [TRACE] = {GT_COL_TRACE_US, GT_TYPE_FLOAT},
        [REPLAY] = {GT_COL_REPLAY_US, GT_TYPE_FLOAT},  [RATIO] = {GT_COL_TRACE_PER_REPLAY, GT_TYPE_FLOAT},
        [LOST] = {GT_COL_LOST_MS, GT_TYPE_FLOAT},      [KERNELS] = {GT_COL_REPLAYED_KERNELS, GT_TYPE_STRING},
        [NOTE] = {GT_COL_NOTE, GT_TYPE_STRING},
    };
    gt_table *sheet = gt_table_new(GT_SHEET_REPLAY, strings);
    gt_table_add_columns(sheet, heads, GT_LENGTH(heads));
    return sheet;
}

static double number_of(const gt_value *value)
{
    return value->type == GT_VALUE_INT     ? (double)value->integer
           : value->type == GT_VALUE_FLOAT ? value->number
                                           : NAN;
}

static bool are_equal(const gt_value *a, const gt_value *b)
{
    bool equal = gt_value_is_list(a) && gt_value_is_list(b) && a->count == b->count;
    for (uint32_t i = 0; equal && i < a->count; i++) {
        const gt_value *x = &a->items[i], *y = &b->items[i];
        equal =
            x->type == GT_VALUE_STRING && y->type == GT_VALUE_STRING && gt_str_compare(x->text, y->text) == 0;
    }
    return equal;
}

/* Times of other kernels cannot be compared. */
static void set_times(gt_table *sheet, size_t row, const gt_value *entry, const gt_value *replay,
                      bool comparable)
{
    double before = number_of(gt_value_get(entry, "kernel_time_us"));
    double now = number_of(gt_value_get(replay, "kernel_us")),
           count = number_of(gt_value_get(entry, "count"));
    if (isnan(now)) now = number_of(gt_value_get(replay, "event_us"));
    gt_table_set_float(sheet, TRACE, row, before);
    gt_table_set_float(sheet, REPLAY, row, now);
    if (!comparable || !(now > 0)) return;
    gt_table_set_float(sheet, RATIO, row, before / now);
    gt_table_set_float(sheet, LOST, row, (before - now) * count / 1000);
}

static void add_row(gt_table *sheet, const gt_value *entry, gt_buffer *spare)
{
    const gt_value *replay = gt_value_get(entry, "replay"), *error = gt_value_get(replay, "error");
    const gt_value *kernels = gt_value_get(replay, "kernels"), *before = gt_value_get(entry, "kernels");
    size_t row = gt_table_add_row(sheet);
    gt_python_set_cell(sheet, NAME, row, gt_value_get(entry, "op_name"), spare);
    gt_python_set_cell(sheet, DIMS, row, gt_value_get(entry, "Input Dims"), spare);
    gt_python_set_cell(sheet, TYPES, row, gt_value_get(entry, "Input type"), spare);
    if (gt_value_get(entry, "count")->type == GT_VALUE_INT)
        gt_table_set_int(sheet, COUNT, row, gt_value_get(entry, "count")->integer);
    if (gt_value_get(entry, "uid")->type == GT_VALUE_INT)
        gt_table_set_int(sheet, UID, row, gt_value_get(entry, "uid")->integer);
    bool known = gt_value_is_list(kernels) && gt_value_is_list(before), same = are_equal(kernels, before);
    if (known) gt_table_set_cstr(sheet, KERNELS, row, same ? "same" : "other");
    set_times(sheet, row, entry, replay, same || !known);
    if (error->type == GT_VALUE_STRING)
        gt_python_set_cell(sheet, NOTE, row, error, spare);
    else if (isnan(number_of(gt_value_get(replay, "kernel_us"))))
        gt_table_set_cstr(sheet, NOTE, row,
                          isnan(number_of(gt_value_get(replay, "event_us")))
                              ? "no time"
                              : "time between events: its kernels are not known");
}

gt_table *gt_replay_results(gt_str text, gt_interner *strings, gt_error *error)
{
    static const gt_sort_key order[] = {{GT_COL_LOST_MS, true}};
    gt_arena arena = {0};
    gt_buffer spare = {0};
    const gt_value *entries = gt_value_parse(&arena, text);
    bool valid = gt_value_is_list(entries);
    for (uint32_t i = 0; valid && i < entries->count; i++)
        valid = gt_value_get(&entries->items[i], "op_name")->type == GT_VALUE_STRING &&
                gt_value_get(&entries->items[i], "replay")->type == GT_VALUE_DICT;
    gt_table *sheet = valid ? new_sheet(strings) : NULL;
    for (uint32_t i = 0; valid && i < entries->count; i++) add_row(sheet, &entries->items[i], &spare);
    if (valid) gt_table_sort(sheet, order, GT_LENGTH(order));
    gt_buffer_free(&spare);
    gt_arena_free(&arena);
    if (!valid) gt_fail(error, "not the results of replay.py, which are in replay_results.json");
    return sheet;
}
