/* The ops of a trace that are worth a replay, as the list of IRs and the sheet of those without:
 *
 *     name, Input Dims, Input type     as in the trace
 *     operation_count, ex_UID          calls with these arguments, and the first one
 *     total_direct_kernel_time_sum     time of their own kernels, microseconds
 *     note                             why there is no IR
 *
 * Ops that launched kernels themselves are taken, in the order of the sheet ops_unique_args. What is called
 * again, though, is the op with all ops that it calls, so the IR has the time and the kernels of its subtree.
 */
#include "replay/replay.h"

#include "analysis/pytorch/launchers.h"
#include "compat/python_regex.h"
#include "json/string.h"
#include "schema/columns.h"

enum { ARGUMENTS = 4 };

static const struct {
    size_t event_column;
    gt_col name;
} arguments[ARGUMENTS] = {
    {GT_EVENT_INPUT_DIMS, GT_COL_INPUT_DIMS},
    {GT_EVENT_INPUT_TYPES, GT_COL_INPUT_TYPE},
    {GT_EVENT_INPUT_STRIDES, GT_COL_INPUT_STRIDES},
    {GT_EVENT_CONCRETE_INPUTS, GT_COL_CONCRETE_INPUTS},
};

/* ---- groups of equal ops ---- */

static int by_start(const void *a, const void *b, void *context)
{
    const gt_linked_view *trace = context;
    double x = trace->start_us[*(const uint32_t *)a], y = trace->start_us[*(const uint32_t *)b];
    return (x > y) - (x < y);
}

typedef struct kernel_names {
    const gt_linked_view *trace;
    const gt_calls *calls;
    gt_row_list rows;
    gt_buffer text, scratch;
} kernel_names;

/* The names of the kernels of an op and of those that it calls, as JSON. */
static uint32_t kernels_of(kernel_names *k, uint32_t op)
{
    k->text.len = k->rows.count = 0;
    gt_calls_add_gpu_events(k->calls, op, &k->rows);
    qsort_r(k->rows.items, k->rows.count, sizeof *k->rows.items, by_start, (void *)k->trace);
    for (size_t i = 0; i < k->rows.count; i++) {
        gt_buffer_add_cstr(&k->text, i ? ", " : "[");
        gt_json_string_add(&k->text, gt_event_name(&k->trace->events, k->rows.items[i]), &k->scratch);
    }
    gt_buffer_add_cstr(&k->text, "]");
    return gt_interner_add(k->trace->strings, k->text.bytes, k->text.len);
}

static gt_table *list_ops(const gt_linked_view *trace, const gt_launchers *launchers)
{
    enum { KERNELS = ARGUMENTS + 1, DIRECT, SUBTREE, UID };
    gt_table *ops = gt_table_new(GT_SHEET_REPLAY_SKIPPED, trace->strings);
    gt_table_add_column(ops, GT_COL_NAME, GT_TYPE_STRING);
    for (size_t a = 0; a < ARGUMENTS; a++) gt_table_add_column(ops, arguments[a].name, GT_TYPE_STRING);
    gt_table_add_column(ops, GT_COL_KERNEL_NAMES, GT_TYPE_STRING);
    gt_table_add_column(ops, GT_COL_TOTAL_DIRECT_KERNEL_TIME, GT_TYPE_FLOAT);
    gt_table_add_column(ops, GT_COL_TOTAL_SUBTREE_KERNEL_TIME, GT_TYPE_FLOAT);
    gt_table_add_column(ops, GT_COL_UID, GT_TYPE_INT);
    kernel_names names = {.trace = trace, .calls = launchers->calls};
    for (size_t i = 0; i < launchers->count; i++) {
        const gt_launcher *l = &launchers->items[i];
        if (trace->kind[l->row] != GT_KIND_CPU_OP) continue;
        size_t row = gt_table_add_row(ops);
        gt_table_set_string(ops, 0, row, trace->name[l->row]);
        for (size_t a = 0; a < ARGUMENTS; a++)
            gt_store_string_ids_at(trace->store, arguments[a].event_column, &l->row, 1,
                                   &ops->columns[a + 1].texts[row]);
        gt_table_set_string(ops, KERNELS, row, kernels_of(&names, l->row));
        gt_table_set_float(ops, DIRECT, row, l->direct_us);
        gt_table_set_float(ops, SUBTREE, row, l->subtree_us);
        gt_table_set_int(ops, UID, row, gt_event_uid(&trace->events, l->row));
    }
    gt_free(names.rows.items);
    gt_buffer_free(&names.text);
    gt_buffer_free(&names.scratch);
    return ops;
}

static gt_table *group_ops(const gt_linked_view *trace)
{
    static const gt_col keys[] = {GT_COL_NAME, GT_COL_INPUT_DIMS, GT_COL_INPUT_TYPE, GT_COL_INPUT_STRIDES,
                                  GT_COL_CONCRETE_INPUTS};
    static const gt_aggregate measures[] = {
        {GT_NO_COL, GT_GROUP_SIZE, GT_COL_OPERATION_COUNT},
        GT_AGGREGATE(TOTAL_DIRECT_KERNEL_TIME, SUM),
        GT_AGGREGATE(TOTAL_SUBTREE_KERNEL_TIME, MEDIAN),
        {GT_COL_UID, GT_GROUP_FIRST, GT_COL_EX_UID},
        {GT_COL_KERNEL_NAMES, GT_GROUP_FIRST, GT_COL_KERNEL_NAMES},
    };
    static const gt_sort_key order[] = {{GT_COL_TOTAL_DIRECT_KERNEL_TIME_SUM, true}, {GT_COL_EX_UID, false}};
    gt_launchers launchers = gt_launchers_find(trace);
    gt_table *ops = list_ops(trace, &launchers);
    gt_table *groups = gt_table_group(ops, keys, GT_LENGTH(keys), measures, GT_LENGTH(measures),
                                      (gt_group_options){.keep_nulls = true});
    gt_table_sort(groups, order, GT_LENGTH(order));
    gt_table_add_column(groups, GT_COL_NOTE, GT_TYPE_STRING);
    gt_table_rename(groups, GT_SHEET_REPLAY_SKIPPED);
    gt_table_free(ops);
    gt_launchers_free(&launchers);
    return groups;
}

/* ---- selection ---- */

typedef struct filter {
    gt_python_regex regex;
    gt_python_match match;
    bool is_set;
} filter;

static bool filter_open(filter *f, const char *regex, const char *option, gt_error *error)
{
    *f = (filter){.is_set = regex != NULL};
    if (!regex || gt_python_regex_compile(&f->regex, regex, error)) return true;
    f->is_set = false;
    gt_error_prefix(error, option);
    return false;
}

static void filter_close(filter *f)
{
    if (f->is_set) gt_python_regex_free(&f->regex);
    gt_python_match_free(&f->match);
}

static bool filter_has(filter *f, gt_str name, bool *found, gt_error *error)
{
    *found = true;
    if (!f->is_set) return true;
    bool done = gt_python_regex_search(&f->regex, name, &f->match, error);
    *found = f->match.found;
    return done;
}

static gt_str text_at(const gt_table *groups, gt_col column, size_t row)
{
    return gt_interner_get(groups->strings, gt_table_column(groups, column)->texts[row]);
}

static bool is_selected(filter *op, filter *kernel, const gt_table *groups, size_t row, bool *found,
                        gt_error *error)
{
    gt_arena arena = {0};
    const gt_value *names = gt_value_parse(&arena, text_at(groups, GT_COL_KERNEL_NAMES, row));
    bool done = filter_has(op, text_at(groups, GT_COL_NAME, row), found, error);
    if (done && *found && kernel->is_set) {
        *found = false;
        for (uint32_t i = 0; done && !*found && i < names->count; i++)
            done = filter_has(kernel, names->items[i].text, found, error);
    }
    gt_arena_free(&arena);
    return done;
}

/* ---- the documents ---- */

static bool add_entry(gt_json_writer *w, const gt_table *groups, size_t row, const gt_schemas *schemas,
                      const char *list_type, gt_error *error)
{
    gt_arena arena = {0};
    gt_str kernels = text_at(groups, GT_COL_KERNEL_NAMES, row), *texts[ARGUMENTS];
    const gt_value *first = gt_value_at(gt_value_parse(&arena, kernels), 0);
    gt_replay_op op = {.name = text_at(groups, GT_COL_NAME, row).bytes,
                       .kernel = first->type == GT_VALUE_STRING ? first->text : (gt_str){"", 0}};
    texts[0] = &op.dims, texts[1] = &op.types, texts[2] = &op.strides, texts[3] = &op.concrete;
    for (size_t a = 0; a < ARGUMENTS; a++) *texts[a] = text_at(groups, arguments[a].name, row);
    gt_json_writer entry = {.depth = w->depth};
    gt_json_open(&entry, '{');
    bool added = gt_replay_add_ir(&entry, schemas, &op, list_type, error);
    if (added) {
        gt_json_put_int(&entry, "count", gt_table_column(groups, GT_COL_OPERATION_COUNT)->ints[row]);
        gt_json_put_int(&entry, "uid", gt_table_column(groups, GT_COL_EX_UID)->ints[row]);
        gt_json_put_real(&entry, "kernel_time_us",
                         gt_table_column(groups, GT_COL_TOTAL_SUBTREE_KERNEL_TIME_MEDIAN)->floats[row]);
        gt_json_key(&entry, "kernels");
        gt_json_add_raw(&entry, kernels);
        gt_json_key(&entry, "Input Dims");
        gt_json_add_value(&entry, gt_value_parse(&arena, op.dims));
        gt_json_key(&entry, "Input type");
        gt_json_add_value(&entry, gt_value_parse(&arena, op.types));
        gt_json_close(&entry, '}');
        gt_json_add_raw(w, gt_buffer_str(&entry.text));
    }
    gt_json_writer_free(&entry);
    gt_arena_free(&arena);
    return added;
}

/* Leaves the rows of ops without an IR in `groups`, with a note. */
static bool add_all(gt_replay_list *list, gt_table *groups, const gt_schemas *schemas,
                    const gt_replay_selection *selection, filter *op, filter *kernel, gt_error *error)
{
    gt_json_writer w = {0};
    gt_error why;
    bool done = true, found;
    const double *sums = gt_table_column(groups, GT_COL_TOTAL_DIRECT_KERNEL_TIME_SUM)->floats;
    uint32_t *rows = gt_alloc(groups->row_count * sizeof *rows + 1);
    size_t skipped = 0;
    gt_json_open(&w, '[');
    for (uint32_t row = 0; done && row < groups->row_count; row++) {
        list->all_us += sums[row];
        done = is_selected(op, kernel, groups, row, &found, error);
        if (!done || !found || (selection->most && list->count + skipped >= selection->most)) continue;
        list->selected_us += sums[row];
        if (add_entry(&w, groups, row, schemas, selection->list_type, &why)) {
            list->count++;
            list->ir_us += sums[row];
        } else {
            rows[skipped++] = row;
            gt_table_set_cstr(groups, gt_table_find(groups, GT_COL_NOTE), row, why.text);
        }
    }
    gt_json_close(&w, ']');
    gt_json_end_document(&w);
    list->ir = w.text;
    w.text = (gt_buffer){0};
    gt_json_writer_free(&w);
    gt_table_take(groups, rows, skipped);
    gt_free(rows);
    return done;
}

bool gt_replay_list_make(gt_replay_list *list, const gt_linked_view *trace, const gt_schemas *schemas,
                         const gt_replay_selection *selection, gt_error *error)
{
    static const gt_col shown[] = {GT_COL_NAME,       GT_COL_INPUT_DIMS,
                                   GT_COL_INPUT_TYPE, GT_COL_OPERATION_COUNT,
                                   GT_COL_EX_UID,     GT_COL_TOTAL_DIRECT_KERNEL_TIME_SUM,
                                   GT_COL_NOTE};
    filter op, kernel = {0};
    *list = (gt_replay_list){0};
    bool done = filter_open(&op, selection->op_regex, "argument --op_regex", error) &&
                filter_open(&kernel, selection->kernel_regex, "argument --kernel_regex", error);
    if (done) {
        list->skipped = group_ops(trace);
        done = add_all(list, list->skipped, schemas, selection, &op, &kernel, error);
        gt_table_select(list->skipped, shown, GT_LENGTH(shown));
    }
    filter_close(&op);
    filter_close(&kernel);
    if (!done) gt_replay_list_free(list);
    return done;
}

void gt_replay_list_free(gt_replay_list *list)
{
    gt_buffer_free(&list->ir);
    gt_table_free(list->skipped);
    *list = (gt_replay_list){0};
}
