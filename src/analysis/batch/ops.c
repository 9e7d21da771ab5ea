/* Sheets gemm, conv, attn, un_elemwise and bin_elemwise: the ops of a group by name and parameters, over all
 * ranks:
 *
 *     name, param: *                            keys, parameters in the order first seen
 *     GFLOPS_first to FLOPS/Byte_first          figures of the op's model
 *     TB/s, TFLOPS/s                            mean and standard deviation (divided by n - 1)
 *     Non-Data-Mov ...                          the same without kernels that only copy or transpose
 *     kernel_details__summarize_kernel_stats    op_groups.h, in the order of the kernels
 *     Input Dims_first to Concrete Inputs_first as lists
 *     Kernel Time (µs)_mean, _std, _sum         time in which at least one of the op's kernels ran
 *     name_count, UID_first                     how many ops, and the first one of the first rank
 *     kernel_time_sum_cum_pct                   running share of the sums, 0 to 1
 *
 * The largest sum of kernel times first.
 *
 * Parameters become columns `param: M`, `param: bias`, each with the type of its values. The parameters of a
 * rank are kept as strings that start with a letter for their type, so that ranks can be appended whatever
 * their columns contain; the types of the columns are decided when all ranks are there. */
#include "analysis/batch/batch.h"

#include "analysis/pytorch/op_rows.h"
#include "base/guard.h"
#include "compat/python_repr.h"
#include "table/stats.h"

/* ---- parameters as columns ---- */

enum { IS_INT = 'i', IS_FLOAT = 'f', IS_BOOL = 'b', IS_TEXT = 't' };

static char type_letter(const gt_value *value)
{
    switch (value->type) {
    case GT_VALUE_MISSING:
    case GT_VALUE_NONE:
        return 0;
    case GT_VALUE_INT:
        return IS_INT;
    case GT_VALUE_FLOAT:
        return isnan(value->number) ? 0 : IS_FLOAT;
    case GT_VALUE_BOOL:
        return IS_BOOL;
    default:
        return IS_TEXT;
    }
}

static uint32_t text_of(gt_interner *strings, const gt_value *value, gt_buffer *spare)
{
    char letter = type_letter(value);
    if (!letter) return GT_STR_NONE;
    spare->len = 0;
    gt_buffer_add(spare, &letter, 1);
    gt_python_add_value(spare, value);
    return gt_interner_add(strings, spare->bytes, spare->len);
}

static size_t column_of(gt_table *table, const char *parameter)
{
    char *name = gt_format(GT_BATCH_PARAMETER "%s", parameter);
    size_t column = gt_table_find(table, gt_col_named(name));
    if (column == SIZE_MAX) column = gt_table_add_column(table, gt_col_named(name), GT_TYPE_STRING);
    gt_free(name);
    return column;
}

/* The first row of each result. */
static uint32_t *find_firsts(const gt_model_result *const *results, size_t count)
{
    gt_map rows = {0};
    uint32_t *firsts = gt_alloc(count * sizeof *firsts);
    for (uint32_t row = 0; row < count; row++) {
        uint32_t *first = gt_map_put(&rows, results[row]->id, 0);
        if (*first == GT_MAP_NONE) *first = row;
        firsts[row] = *first;
    }
    gt_map_free(&rows);
    return firsts;
}

/* Adds one string column per parameter that any op has, in the order first seen; results[i] is that of row i.
 */
static void add_parameters(gt_table *table, const gt_model_result *const *results)
{
    gt_buffer spare = {0};
    size_t before = table->column_count;
    uint32_t *firsts = find_firsts(results, table->row_count);
    for (uint32_t row = 0; row < table->row_count; row++) {
        if (firsts[row] != row) {
            for (size_t c = before; c < table->column_count; c++)
                table->columns[c].texts[row] = table->columns[c].texts[firsts[row]];
            continue;
        }
        for (size_t i = 0; i < results[row]->parameter_count; i++) {
            const gt_parameter *parameter = &results[row]->parameters[i];
            size_t column = column_of(table, parameter->name);
            table->columns[column].texts[row] = text_of(table->strings, &parameter->value, &spare);
        }
    }
    gt_free(firsts);
    gt_buffer_free(&spare);
}

static bool is_parameter(const gt_column *column)
{
    return strncmp(column->name, GT_BATCH_PARAMETER, strlen(GT_BATCH_PARAMETER)) == 0;
}

static gt_type type_of(const gt_table *table, const gt_column *column, bool *widened)
{
    bool has[256] = {0};
    for (size_t row = 0; row < table->row_count; row++)
        has[(unsigned char)gt_interner_get(table->strings, column->texts[row]).bytes[0]] = true;
    if (has[IS_TEXT] || (has[IS_BOOL] && (has[IS_INT] || has[IS_FLOAT]))) return GT_TYPE_STRING;
    if (has[IS_BOOL]) return GT_TYPE_BOOL;
    if (has[IS_INT] && !has[IS_FLOAT] && !has[0]) return GT_TYPE_INT;
    *widened = has[IS_INT] && !has[IS_FLOAT];
    return has[IS_INT] || has[IS_FLOAT] ? GT_TYPE_FLOAT : GT_TYPE_STRING;
}

static gt_shown shown_by(char letter)
{
    switch (letter) {
    case IS_INT:
        return GT_SHOWN_INT;
    case IS_FLOAT:
        return GT_SHOWN_FLOAT;
    case IS_BOOL:
        return GT_SHOWN_BOOL;
    default:
        return GT_SHOWN_STRING;
    }
}

static void settle_cell(gt_table *table, size_t column, size_t row, gt_str text)
{
    const char *value = text.bytes + 1;
    switch (table->columns[column].type) {
    case GT_TYPE_INT:
        gt_table_set_int(table, column, row, strtoll(value, NULL, 10));
        return;
    case GT_TYPE_FLOAT:
        gt_table_set_float(table, column, row, strtod(value, NULL));
        return;
    case GT_TYPE_BOOL:
        gt_table_set_bool(table, column, row, value[0] == 'T');
        return;
    default:
        gt_table_set_shown(table, column, row, gt_interner_add(table->strings, value, text.len - 1),
                           shown_by(text.bytes[0]));
    }
}

static void settle_column(gt_table *table, size_t column)
{
    bool widened = false;
    gt_type type = type_of(table, &table->columns[column], &widened);
    size_t settled = gt_table_add_column(table, gt_col_named(table->columns[column].name), type);
    table->columns[settled].widened = widened;
    for (size_t row = 0; row < table->row_count; row++) {
        uint32_t text = table->columns[column].texts[row];
        if (text != GT_STR_NONE) settle_cell(table, settled, row, gt_interner_get(table->strings, text));
    }
    gt_table_drop_column(table, column);
    gt_table_move_column(table, table->column_count - 1, column);
}

/* Gives these columns their types: INT, FLOAT or BOOL if all values are of that type, otherwise STRING as
 * Python prints them. */
static void settle_parameters(gt_table *table)
{
    for (size_t c = 0; c < table->column_count; c++)
        if (is_parameter(&table->columns[c])) settle_column(table, c);
}

/* ---- groups and measures ---- */

static const struct {
    gt_batch_group group;
    const char *op;
} members[] = {
    {GT_BATCH_GEMM, "aten::mm"},
    {GT_BATCH_GEMM, "aten::_scaled_mm"},
    {GT_BATCH_GEMM, "aten::addmm"},
    {GT_BATCH_GEMM, "aten::bmm"},
    {GT_BATCH_GEMM, "aten::baddbmm"},
    {GT_BATCH_GEMM, "trtllm::cublas_scaled_mm"},
    {GT_BATCH_GEMM, "bitsandbytes::int8_linear_matmul"},
    {GT_BATCH_GEMM, "_Linear_yfwd_mm"},
    {GT_BATCH_GEMM, "_LayerNormLinear_yfwd_mm"},
    {GT_BATCH_GEMM, "tex_ts::te_gemm_ts"},
    {GT_BATCH_GEMM, "vllm::gemm_with_dynamic_quant"},
    {GT_BATCH_CONV, "aten::convolution"},
    {GT_BATCH_ATTENTION, "aten::_scaled_dot_product_cudnn_attention"},
    {GT_BATCH_ATTENTION, "aten::_scaled_dot_product_efficient_attention"},
    {GT_BATCH_ATTENTION, "aten::_scaled_dot_product_flash_attention"},
    {GT_BATCH_ATTENTION, "flash_attn::_flash_attn_forward"},
    {GT_BATCH_ATTENTION, "flash_attn::_flash_attn_varlen_forward"},
    {GT_BATCH_ATTENTION, "flash_attn_3::fwd"},
    {GT_BATCH_ATTENTION, "aiter::_flash_attn_forward"},
    {GT_BATCH_ATTENTION, "aiter::wrapper_fmha_v3_fwd"},
    {GT_BATCH_UNARY, "aten::copy"},
    {GT_BATCH_UNARY, "aten::copy_"},
    {GT_BATCH_UNARY, "aten::clamp_min"},
    {GT_BATCH_UNARY, "aten::clamp_min_"},
    {GT_BATCH_UNARY, "aten::clamp_max"},
    {GT_BATCH_UNARY, "aten::clamp_max_"},
    {GT_BATCH_UNARY, "aten::sigmoid"},
    {GT_BATCH_BINARY, "aten::div"},
    {GT_BATCH_BINARY, "aten::div_"},
    {GT_BATCH_BINARY, "aten::mul"},
    {GT_BATCH_BINARY, "aten::mul_"},
    {GT_BATCH_BINARY, "aten::add"},
    {GT_BATCH_BINARY, "aten::add_"},
    {GT_BATCH_BINARY, "aten::sigmoid_backward"},
    {GT_BATCH_BINARY, "aten::threshold_backward"},
};

static const gt_sheet group_sheets[GT_BATCH_GROUPS] = {
    [GT_BATCH_GEMM] = GT_SHEET_BATCH_GEMM,           [GT_BATCH_CONV] = GT_SHEET_BATCH_CONV,
    [GT_BATCH_ATTENTION] = GT_SHEET_BATCH_ATTENTION, [GT_BATCH_UNARY] = GT_SHEET_BATCH_UNARY,
    [GT_BATCH_BINARY] = GT_SHEET_BATCH_BINARY,
};

/* Kernels with one of these in their names move data and compute nothing. */
static const char *const copies[] = {"at::native::direct_copy_kernel_cuda", "transpose_"};

/* What is kept of an op, in addition to its parameters. */
static const gt_col kept_columns[] = {
    GT_COL_NAME,       GT_COL_UID,           GT_COL_INPUT_DIMS,
    GT_COL_INPUT_TYPE, GT_COL_INPUT_STRIDES, GT_COL_CONCRETE_INPUTS,
    GT_COL_GFLOPS,     GT_COL_DATA_MOVED_MB, GT_COL_FLOPS_PER_BYTE,
    GT_COL_TB_PER_S,   GT_COL_TFLOPS_PER_S,  GT_COL_KERNEL_TIME_US,
};

/* Arguments as in the trace, for tools that run the ops again. */
static const gt_col json_columns[GT_BATCH_ARGUMENTS] = {
    [GT_BATCH_DIMS] = GT_COL_DIMS_AS_JSON,
    [GT_BATCH_TYPES] = GT_COL_TYPES_AS_JSON,
    [GT_BATCH_STRIDES] = GT_COL_STRIDES_AS_JSON,
    [GT_BATCH_CONCRETE] = GT_COL_CONCRETE_INPUTS_AS_JSON,
};
static const size_t json_arguments[GT_BATCH_ARGUMENTS] = {
    [GT_BATCH_DIMS] = GT_PERF_DIMS,
    [GT_BATCH_TYPES] = GT_PERF_TYPES,
    [GT_BATCH_STRIDES] = GT_PERF_STRIDES,
    [GT_BATCH_CONCRETE] = GT_PERF_CONCRETE,
};

#define MEASURE_TWO(column) GT_AGGREGATE(column, MEAN), GT_AGGREGATE(column, STD)

static const gt_aggregate measures[] = {
    GT_MEASURE_FIRST(GFLOPS),
    GT_MEASURE_FIRST(DATA_MOVED_MB),
    GT_MEASURE_FIRST(FLOPS_PER_BYTE),
    MEASURE_TWO(TB_PER_S),
    MEASURE_TWO(TFLOPS_PER_S),
    MEASURE_TWO(NON_DATA_MOV_TFLOPS_PER_S),
    GT_AGGREGATE(NON_DATA_MOV_KERNEL_TIME_US, SUM),
    GT_AGGREGATE(INPUT_DIMS, FIRST),
    GT_AGGREGATE(INPUT_TYPE, FIRST),
    GT_AGGREGATE(INPUT_STRIDES, FIRST),
    GT_AGGREGATE(CONCRETE_INPUTS, FIRST),
    MEASURE_TWO(KERNEL_TIME_US),
    GT_AGGREGATE(KERNEL_TIME_US, SUM),
    {GT_NO_COL, GT_GROUP_SIZE, GT_COL_NAME_COUNT},
    GT_MEASURE_FIRST(UID),
    {GT_COL_DIMS_AS_JSON, GT_GROUP_FIRST, GT_COL_DIMS_AS_JSON},
    {GT_COL_TYPES_AS_JSON, GT_GROUP_FIRST, GT_COL_TYPES_AS_JSON},
    {GT_COL_STRIDES_AS_JSON, GT_GROUP_FIRST, GT_COL_STRIDES_AS_JSON},
    {GT_COL_CONCRETE_INPUTS_AS_JSON, GT_GROUP_FIRST, GT_COL_CONCRETE_INPUTS_AS_JSON},
};
enum { MEASURES_SHOWN = GT_LENGTH(measures) - GT_BATCH_ARGUMENTS };

/* The measure after the column of kernels. */
#define AFTER_KERNELS GT_COL_INPUT_DIMS_FIRST

static const gt_sort_key longest_first[] = {{GT_COL_KERNEL_TIME_US_SUM, true}, {GT_COL_UID_FIRST, false}};

/* ---- groups ---- */

gt_sheet gt_batch_group_sheet(gt_batch_group group)
{
    return group_sheets[group];
}

static gt_batch_group group_of(gt_str name)
{
    for (size_t i = 0; i < GT_LENGTH(members); i++)
        if (strlen(members[i].op) == name.len && memcmp(members[i].op, name.bytes, name.len) == 0)
            return members[i].group;
    return GT_BATCH_GROUPS;
}

bool gt_batch_is_gemm(gt_str name)
{
    return group_of(name) == GT_BATCH_GEMM;
}

bool gt_batch_is_elementwise(gt_str name)
{
    gt_batch_group group = group_of(name);
    return group == GT_BATCH_UNARY || group == GT_BATCH_BINARY;
}

/* ---- the ops of one rank ---- */

typedef struct finder {
    gt_perf *perf;
    uint8_t *copies; /* by kernel name: 0 not checked, 1 computes, 2 only moves data */
    gt_op_rows rows;
    double *non_copy_us; /* by row */
    size_t non_copy_capacity;
    gt_row_list spare;
} finder;

static bool is_copy(finder *f, uint32_t gpu_row)
{
    uint8_t *known = &f->copies[f->perf->trace->name[gpu_row]];
    if (!*known) {
        const char *name = gt_event_name(&f->perf->trace->events, gpu_row).bytes;
        *known = 1;
        for (size_t i = 0; i < GT_LENGTH(copies); i++)
            if (strstr(name, copies[i])) *known = 2;
    }
    return *known == 2;
}

/* Time of the kernels of the op measured last, without copies. */
static double non_copy_time(finder *f)
{
    gt_row_list *rest = &f->spare;
    rest->count = 0;
    for (size_t i = 0; i < f->perf->kernels.count; i++)
        if (!is_copy(f, f->perf->kernels.items[i]))
            GT_PUSH(rest->items, rest->count, rest->capacity, f->perf->kernels.items[i]);
    return gt_busy_time(&f->perf->trace->events, rest->items, rest->count, &f->perf->spare).us;
}

static void add_op(finder *f, uint32_t row)
{
    gt_perf *p = f->perf;
    gt_op_metrics metrics;
    const gt_model *model = gt_perf_model(p, row, p->trace->name[row]);
    if (!model || gt_perf_measure(p, model, row, p->trace->name[row], false, &metrics) != GT_MODEL_VALUE)
        return;
    size_t count = f->rows.count;
    GT_PUSH(f->non_copy_us, count, f->non_copy_capacity, non_copy_time(f));
    gt_op_rows_push(&f->rows,
                    (gt_op_row){row, p->trace->name[row], gt_event_uid(&p->trace->events, row), metrics});
    for (size_t i = 0; i < p->kernels.count; i++)
        gt_kernel_lists_push(&f->rows.kernels, gt_kernel_detail_of(&p->trace->events, p->kernels.items[i]));
    gt_kernel_lists_close(&f->rows.kernels);
}

static void add_non_copy_columns(gt_table *table, const finder *f)
{
    size_t time = gt_table_add_zeroed(table, GT_COL_NON_DATA_MOV_KERNEL_TIME_US, GT_TYPE_FLOAT);
    size_t rate = gt_table_add_zeroed(table, GT_COL_NON_DATA_MOV_TFLOPS_PER_S, GT_TYPE_FLOAT);
    for (size_t i = 0; i < f->rows.count; i++) {
        double us = f->non_copy_us[i];
        table->columns[time].floats[i] = us;
        table->columns[rate].floats[i] =
            gt_metrics_of(f->rows.items[i].metrics.result, us, NULL).tflops_per_s;
    }
}

static void add_json(gt_table *table, const finder *f)
{
    uint32_t *cells[GT_BATCH_ARGUMENTS], ids[GT_PERF_ARGUMENTS];
    for (size_t a = 0; a < GT_BATCH_ARGUMENTS; a++)
        cells[a] = gt_table_add_array(table, json_columns[a], GT_TYPE_STRING)->texts;
    for (size_t i = 0; i < f->rows.count; i++) {
        gt_perf_arguments(f->perf, &f->rows.items[i].row, 1, ids);
        for (size_t a = 0; a < GT_BATCH_ARGUMENTS; a++) cells[a][i] = ids[json_arguments[a]];
    }
}

static gt_table *make_rows(const finder *f)
{
    gt_table *table = gt_op_rows_table(&f->rows, f->perf, GT_PYTHON_LISTS);
    gt_table_select(table, kept_columns, GT_LENGTH(kept_columns));
    add_non_copy_columns(table, f);
    add_json(table, f);
    const gt_model_result **results = gt_alloc(f->rows.count * sizeof *results);
    for (size_t i = 0; i < f->rows.count; i++) results[i] = f->rows.items[i].metrics.result;
    add_parameters(table, results);
    gt_free(results);
    return table;
}

static gt_batch_ops find_ops(gt_perf *perf, const gt_row_list *rows)
{
    gt_batch_ops ops = {.found = rows->count};
    finder f = {.perf = perf, .copies = gt_alloc_zero(gt_interner_count(perf->trace->strings), 1)};
    for (size_t i = 0; i < rows->count; i++) add_op(&f, rows->items[i]);
    if (f.rows.count) {
        ops.rows = make_rows(&f);
        ops.kernels = f.rows.kernels;
        f.rows.kernels = (gt_kernel_lists){0}; /* they have a new owner */
    }
    gt_op_rows_free(&f.rows);
    gt_free_all(f.copies, f.non_copy_us, f.spare.items);
    return ops;
}

void gt_batch_ops_of_rank(gt_perf *perf, gt_batch_ops ops[GT_BATCH_GROUPS])
{
    const gt_linked_view *trace = perf->trace;
    gt_row_list rows[GT_BATCH_GROUPS + 1] = {0};
    uint32_t names = gt_interner_count(trace->strings);
    uint8_t *group_of_name = gt_alloc(names), unknown = UINT8_MAX;
    memset(group_of_name, unknown, names);
    for (uint32_t row = 0; row < trace->count; row++) {
        uint8_t *group = &group_of_name[trace->name[row]];
        if (*group == unknown) *group = (uint8_t)group_of(gt_event_name(&trace->events, row));
        if (*group == GT_BATCH_GROUPS) continue;
        uint32_t arguments[GT_PERF_ARGUMENTS];
        gt_perf_arguments(perf, &row, 1, arguments);
        if (arguments[GT_PERF_DIMS] == GT_STR_NONE) continue;
        GT_PUSH(rows[*group].items, rows[*group].count, rows[*group].capacity, row);
    }
    gt_free(group_of_name);
    for (size_t group = 0; group < GT_BATCH_GROUPS; group++) {
        ops[group] = find_ops(perf, &rows[group]);
        gt_free(rows[group].items);
    }
}

/* ---- all ranks ---- */

void gt_batch_ops_use_strings(gt_batch_ops *ops, gt_interner *strings)
{
    if (!ops->rows) return;
    gt_kernel_lists_use_strings(&ops->kernels, ops->rows->strings, strings);
    gt_table_use_strings(ops->rows, strings);
}

void gt_batch_ops_append(gt_batch_ops *ops, gt_batch_ops *more)
{
    gt_error error;
    size_t found = ops->found + more->found;
    if (!ops->rows) {
        gt_batch_ops_free(ops);
        *ops = *more;
        *more = (gt_batch_ops){0};
    } else if (more->rows) {
        if (!gt_table_append_outer(ops->rows, more->rows, &error))
            gt_raise_internal("%s", error.text); /* a column's type depends only on its name */
        gt_kernel_lists_append(&ops->kernels, &more->kernels);
    }
    gt_batch_ops_free(more);
    ops->found = found;
}

void gt_batch_ops_free(gt_batch_ops *ops)
{
    gt_table_free(ops->rows);
    gt_kernel_lists_free(&ops->kernels);
    *ops = (gt_batch_ops){0};
}

/* ---- the sheet ---- */

static gt_col *list_names(const gt_table *rows, size_t *count)
{
    gt_col *names = gt_alloc((rows->column_count + GT_LENGTH(measures) + 3) * sizeof *names);
    *count = 0;
    names[(*count)++] = GT_COL_NAME;
    for (size_t c = 0; c < rows->column_count; c++)
        if (strncmp(rows->columns[c].name, GT_BATCH_PARAMETER, strlen(GT_BATCH_PARAMETER)) == 0)
            names[(*count)++] = gt_col_named(rows->columns[c].name);
    return names;
}

static void add_shares(gt_table *sheet)
{
    size_t share = gt_table_add_zeroed(sheet, GT_COL_KERNEL_TIME_SUM_CUM_PCT, GT_TYPE_FLOAT);
    size_t sum = gt_table_find(sheet, GT_COL_KERNEL_TIME_US_SUM);
    double *cells = sheet->columns[share].floats, *sums = gt_alloc(sheet->row_count * sizeof *sums);
    for (size_t row = 0; row < sheet->row_count; row++)
        sums[row] = sheet->columns[sum].type == GT_TYPE_INT ? (double)sheet->columns[sum].ints[row]
                                                            : sheet->columns[sum].floats[row];
    double total = gt_sum_pairwise(sums, sheet->row_count);
    gt_cumulative_sum(cells, sums, sheet->row_count);
    for (size_t row = 0; row < sheet->row_count; row++) cells[row] /= total;
    gt_free(sums);
}

static void arrange(gt_table *sheet, const gt_table *rows)
{
    size_t count;
    gt_col *names = list_names(rows, &count);
    for (size_t i = 0; i < MEASURES_SHOWN; i++) {
        if (gt_col_equals(measures[i].name, AFTER_KERNELS))
            names[count++] = GT_COL_KERNEL_DETAILS_SUMMARIZE_KERNEL_STATS;
        names[count++] = measures[i].name;
    }
    gt_table_select(sheet, names, count);
    gt_free(names);
}

gt_table *gt_batch_ops_sheet(gt_batch_ops *ops, gt_batch_group group, gt_table **arguments)
{
    if (!ops->rows) return NULL;
    size_t key_count;
    settle_parameters(ops->rows);
    gt_col *keys = list_names(ops->rows, &key_count);
    gt_op_groups alike = gt_op_groups_find(ops->rows, keys, key_count);
    gt_table *sheet = gt_op_groups_measure(&alike, measures, GT_LENGTH(measures));
    gt_table_sort(sheet, longest_first, GT_LENGTH(longest_first));
    const gt_op_groups_observe watch = {.plain = true};
    gt_op_groups_describe(&alike, sheet, &(gt_kernel_source){.lists = &ops->kernels},
                          GT_COL_KERNEL_DETAILS_SUMMARIZE_KERNEL_STATS, GT_COL_TRUNC_KERNEL_DETAILS, &watch);
    gt_op_groups_free(&alike);
    gt_free(keys);
    if (arguments) {
        *arguments = gt_table_copy(sheet);
        gt_table_select(*arguments, json_columns, GT_LENGTH(json_columns));
    }
    arrange(sheet, ops->rows);
    add_shares(sheet);
    gt_table_rename(sheet, gt_batch_group_sheet(group));
    return sheet;
}
