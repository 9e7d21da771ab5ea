/* Sheets of op families, such as GEMM, SDPA_fwd and CONV_bwd:
 *
 *     name, [overlapping_kernel_names_first], param: *, [num_kernels], [is_recompute]    keys
 *     GFLOPS_first to Compute Spec, [roofline], [simulated]            op_rows.h
 *     kernel_details__summarize_kernel_stats, trunc_kernel_details     op_groups.h
 *     [overlapping_kernels_details__summarize_kernel_stats, ...]       overlap.h
 *     Input Dims_first to Concrete Inputs_first                        as lists
 *     Kernel Time (µs)_*                  time in which at least one of the op's kernels ran
 *     name_count, UID_first               how many ops, and the first of them
 *
 * The largest sum of kernel times first. The gradients of most ops are measured with the models of the ops
 * themselves, over the kernels of their backward passes; they have sheets of their own, *_bwd. */
#include "analysis/pytorch/sheets.h"

#include "analysis/pytorch/op_rows.h"
#include "base/log.h"
#include "base/map.h"
#include "base/memory.h"
#include "compat/python_repr.h"
#include "schema/columns.h"
#include "schema/sheets.h"
#include "table/operations.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- columns of parameters ---- */

enum { INTEGERS = 1, FLOATS = 2, OTHERS = 4, GAPS = 8 };

typedef struct parameter_column {
    const char *name;
    unsigned holds; /* INTEGERS, FLOATS, OTHERS, GAPS bits */
    size_t values;  /* that are not gaps */
} parameter_column;

/* Parameters of ops as columns of a sheet: `param: M`, `param: bias`, one per parameter that any op of the
 * sheet has, in the order first seen. Cells are strings whose form depends on the whole column, as in pandas:
 * integers are printed as floats if a row lacks the parameter or has a float. So values are collected first,
 * and printed when all are known. Each string is marked with the type of its value (gt_shown). */
typedef struct op_params {
    gt_map places; /* from a result id to an index in results */
    const gt_model_result **results;
    uint32_t *names;
    size_t count, capacity, name_capacity;
    parameter_column *columns;
    size_t column_count, column_capacity;
    gt_table *table;
    uint32_t *row_of; /* by index in results: row of the table */
} op_params;

static op_params *op_params_new(gt_interner *strings)
{
    op_params *p = gt_alloc_zero(1, sizeof *p);
    p->table = gt_table_new(GT_SHEET_PARAMETERS, strings);
    return p;
}

static void op_params_free(op_params *p)
{
    if (!p) return;
    gt_map_free(&p->places);
    gt_free(p->results);
    gt_free(p->names);
    gt_free(p->columns);
    gt_table_free(p->table);
    gt_free(p->row_of);
    gt_free(p);
}

static parameter_column *column_of(op_params *p, const char *name)
{
    for (size_t i = 0; i < p->column_count; i++)
        if (strcmp(p->columns[i].name, name) == 0) return &p->columns[i];
    GT_PUSH(p->columns, p->column_count, p->column_capacity, (parameter_column){.name = name});
    return &p->columns[p->column_count - 1];
}

static unsigned kind_of(const gt_value *value)
{
    switch (value->type) {
    case GT_VALUE_MISSING:
    case GT_VALUE_NONE:
        return GAPS;
    case GT_VALUE_INT:
        return INTEGERS;
    case GT_VALUE_FLOAT:
        return isnan(value->number) ? GAPS : FLOATS;
    default:
        return OTHERS;
    }
}

/* Adds an op and the result of its model. Equal results are one. */
static void op_params_add(op_params *p, uint32_t name, const gt_model_result *result)
{
    uint32_t *place = gt_map_put(&p->places, result->id, 0);
    if (*place != GT_MAP_NONE) return;
    *place = (uint32_t)p->count;
    size_t count = p->count;
    GT_PUSH(p->results, p->count, p->capacity, result);
    GT_PUSH(p->names, count, p->name_capacity, name);
    for (size_t i = 0; i < result->parameter_count; i++) {
        parameter_column *column = column_of(p, result->parameters[i].name);
        unsigned kind = kind_of(&result->parameters[i].value);
        column->holds |= kind;
        column->values += kind != GAPS;
    }
}

static void set_cell(op_params *p, size_t index, size_t row, const parameter_column *column,
                     const gt_value *value, gt_buffer *spare)
{
    unsigned kind = kind_of(value);
    if (kind == GAPS) return;
    bool has_floats = column->holds & FLOATS, has_others = column->holds & OTHERS;
    bool as_float = kind == INTEGERS && !has_others && (has_floats || column->values < p->count);
    gt_value number = gt_value_float((double)value->integer);
    gt_python_set_cell(p->table, index, row, as_float ? &number : value, spare);
    if (as_float && !has_floats) p->table->columns[index].shown[row] = GT_SHOWN_INT;
}

static void add_column(op_params *p, const parameter_column *column, gt_buffer *spare)
{
    char *name = gt_format("param: %s", column->name);
    size_t index = gt_table_add_zeroed(p->table, gt_col_named(name), GT_TYPE_STRING);
    gt_free(name);
    for (size_t i = 0; i < p->count; i++)
        set_cell(p, index, i, column, gt_model_parameter(p->results[i], column->name), spare);
}

/* Makes results with the same cells one row. */
static void join_equal(op_params *p)
{
    gt_col *keys = gt_alloc(p->table->column_count * sizeof *keys);
    for (size_t i = 0; i < p->table->column_count; i++) keys[i] = gt_col_named(p->table->columns[i].name);
    gt_groups groups =
        gt_groups_find(p->table, keys, p->table->column_count, (gt_group_options){.keep_nulls = true});
    gt_table_take(p->table, groups.first_row, groups.count);
    p->row_of = groups.of_row;
    groups.of_row = NULL;
    gt_groups_free(&groups);
    gt_free(keys);
}

/* After all ops are added: a table with the column `name` and the parameters, one row per distinct op. */
static const gt_table *op_params_finish(op_params *p)
{
    gt_buffer spare = {0};
    gt_table_add_rows(p->table, p->count);
    size_t name = gt_table_add_zeroed(p->table, GT_COL_NAME, GT_TYPE_STRING);
    if (p->count) memcpy(p->table->columns[name].texts, p->names, p->count * sizeof *p->names);
    for (size_t i = 0; i < p->column_count; i++) add_column(p, &p->columns[i], &spare);
    gt_buffer_free(&spare);
    join_equal(p);
    return p->table;
}

static const gt_table *op_params_table(const op_params *p)
{
    return p->table;
}

/* The row of a result in that table. */
static uint32_t op_params_row(const op_params *p, const gt_model_result *result)
{
    return p->row_of[gt_map_get(&p->places, result->id, 0)];
}

/* ---- measures and names ---- */

/* Measures, in the order of the sheet; the columns of kernels are between the first two lists. */
static const gt_aggregate rates[] = {
    GT_MEASURE_FIRST(GFLOPS),
    GT_MEASURE_FIRST(DATA_MOVED_MB),
    GT_MEASURE_FIRST(FLOPS_PER_BYTE),
    GT_MEASURE_FIVE(TB_PER_S),
    GT_MEASURE_FIVE(TFLOPS_PER_S),
    GT_MEASURE_FIRST(PROCESS_NAME),
    GT_MEASURE_FIRST(PROCESS_LABEL),
    GT_MEASURE_FIRST(THREAD_NAME),
    {GT_COL_COMPUTE_SPEC, GT_GROUP_FIRST, GT_COL_COMPUTE_SPEC},
    GT_MEASURE_FIRST(ROOFLINE_TIME_US),
    GT_MEASURE_FIRST(ROOFLINE_BOUND),
    GT_MEASURE_FIVE(PCT_ROOFLINE),
    GT_MEASURE_FIRST(ORIGAMI_TIME_US),
    GT_MEASURE_FIRST(ORIGAMI_TFLOPS_PER_S),
    GT_MEASURE_FIVE(ORIGAMI_TB_PER_S),
    GT_MEASURE_FIVE(PCT_ORIGAMI),
};
static const gt_aggregate overlap[] = {GT_MEASURE_FIVE(OVERLAP_PCT)};
static const gt_aggregate times[] = {
    GT_MEASURE_FIRST(INPUT_DIMS),
    GT_MEASURE_FIRST(INPUT_TYPE),
    GT_MEASURE_FIRST(INPUT_STRIDES),
    GT_MEASURE_FIRST(CONCRETE_INPUTS),
    GT_MEASURE_FIVE(KERNEL_TIME_US),
    GT_AGGREGATE(KERNEL_TIME_US, SUM),
    {GT_NO_COL, GT_GROUP_SIZE, GT_COL_NAME_COUNT},
    GT_MEASURE_FIRST(UID),
};

static const gt_sort_key longest_first[] = {{GT_COL_KERNEL_TIME_US_SUM, true}, {GT_COL_UID_FIRST, false}};

/* Families whose ops and gradients share one sheet. */
static const gt_op_family single_families[] = {GT_FAMILY_GEMM, GT_FAMILY_UNARY_ELEMENTWISE,
                                               GT_FAMILY_BINARY_ELEMENTWISE, GT_FAMILY_NORMALIZATION};

/* Gradients with models of their own: they move from the forward sheet to the end of the backward sheet. */
static const char *const gradient_names[] = {"flash_attn::_flash_attn_varlen_backward",
                                             "aten::convolution_backward", "ConvBias_Backward",
                                             "ConvBiasReLU_Backward"};
/* Ops that are not in the backward sheet, because those are their gradients. */
static const char *const forward_names[] = {"aten::convolution", "aten::miopen_convolution",
                                            "aten::cudnn_convolution", "ConvBias_", "ConvBiasReLU_"};
/* An op without a backward pass. */
static const char FORWARD_ONLY[] = "vllm::unified_attention_with_output";

/* ---- the ops of a family ---- */

/* Ops without a result of their models. `incomplete` ops have shapes, but lack lists of arguments that their
 * models need; without[i] of these have no list i. */
typedef struct not_modelled {
    size_t count, without_shapes, incomplete;
    size_t without[GT_PERF_ARGUMENTS];
} not_modelled;

static void count_not_modelled(not_modelled *left, const gt_perf *p, uint32_t row, bool lacks_arguments)
{
    bool has_shapes = p->arguments[GT_PERF_DIMS][row] != GT_STR_NONE;
    left->count++;
    left->without_shapes += !has_shapes;
    if (!has_shapes || !lacks_arguments) return;
    left->incomplete++;
    for (size_t i = 0; i < GT_PERF_ARGUMENTS; i++) left->without[i] += p->arguments[i][row] == GT_STR_NONE;
}

typedef struct family_ops {
    gt_op_rows ops;
    op_params *params;
    gt_table
        *table; /* of the ops, with the columns `params` (a row of the parameters' table) and num_kernels */
    not_modelled not_modelled;
} family_ops;

static void add_op(family_ops *f, gt_perf *p, uint32_t row, bool backward)
{
    uint32_t name = p->trace->name[row];
    const gt_model *model = gt_perf_model(p, row, name);
    if (!model) return;
    gt_op_metrics metrics;
    gt_model_outcome outcome = gt_perf_measure(p, model, row, name, backward, &metrics);
    if (outcome == GT_MODEL_FAIL) count_not_modelled(&f->not_modelled, p, row, metrics.lacks_arguments);
    if (outcome != GT_MODEL_VALUE) return;
    gt_op_rows_push(&f->ops, (gt_op_row){row, name, p->trace->uid[row], metrics});
    for (size_t i = 0; i < p->kernels.count; i++)
        gt_kernel_lists_push(&f->ops.kernels, gt_perf_detail(p, p->kernels.items[i]));
    gt_kernel_lists_close(&f->ops.kernels);
    if (p->overlaps) gt_op_rows_set_overlap(&f->ops, gt_perf_overlap(p, row, NULL, 0));
    op_params_add(f->params, name, metrics.result);
}

static bool is_one_of(gt_str name, const char *const *names, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(name.bytes, names[i]) == 0) return true;
    return false;
}

static bool has_gradient(const gt_perf *p, uint32_t row)
{
    return gt_gradient_function(p->gradients, row) != GT_NO_EVENT &&
           strcmp(gt_event_name(&p->trace->events, row).bytes, FORWARD_ONLY) != 0;
}

static void add_columns(family_ops *f)
{
    size_t params = gt_table_add_zeroed(f->table, GT_COL_PARAMS, GT_TYPE_INT);
    size_t kernels = gt_table_add_zeroed(f->table, GT_COL_NUM_KERNELS, GT_TYPE_INT);
    for (size_t i = 0; i < f->ops.count; i++) {
        size_t begin = i ? f->ops.kernels.ends[i - 1] : 0;
        f->table->columns[params].ints[i] = op_params_row(f->params, f->ops.items[i].metrics.result);
        f->table->columns[kernels].ints[i] = (int64_t)(f->ops.kernels.ends[i] - begin);
    }
}

static family_ops find_ops(gt_perf *p, const gt_row_list *rows, bool backward)
{
    family_ops f = {.params = op_params_new(p->trace->strings)};
    for (size_t i = 0; i < rows->count; i++)
        if (!backward || has_gradient(p, rows->items[i])) add_op(&f, p, rows->items[i], backward);
    op_params_finish(f.params);
    f.table = gt_op_rows_table(&f.ops, p, GT_PYTHON_LISTS);
    add_columns(&f);
    return f;
}

static void family_ops_free(family_ops *f)
{
    gt_op_rows_free(&f->ops);
    op_params_free(f->params);
    gt_table_free(f->table);
}

/* ---- groups of ops as rows of a sheet ---- */

/* Adds name and parameters of the sheet's rows. */
static void add_params(gt_table *sheet, const gt_table *params)
{
    for (size_t c = 0; c < params->column_count; c++) {
        size_t index = gt_table_add_zeroed(sheet, gt_col_named(params->columns[c].name), GT_TYPE_STRING);
        const int64_t *row_of = gt_table_column(sheet, GT_COL_PARAMS)->ints;
        const gt_column *column = &params->columns[c];
        for (size_t row = 0; row < sheet->row_count; row++)
            gt_table_set_shown(sheet, index, row, column->texts[row_of[row]],
                               column->shown ? (gt_shown)column->shown[row_of[row]] : GT_SHOWN_STRING);
    }
}

typedef struct name_list {
    gt_col *items;
    size_t count, capacity;
} name_list;

static void add_name(name_list *names, gt_col name)
{
    GT_PUSH(names->items, names->count, names->capacity, name);
}

static void add_measures(name_list *names, const gt_aggregate *measures, size_t count)
{
    for (size_t i = 0; i < count; i++) add_name(names, measures[i].name);
}

/* Puts the columns in the order of the sheet and drops the others. */
static void arrange(gt_table *sheet, const gt_table *params, bool by_num_kernels)
{
    static const gt_col details[] = {
        GT_COL_KERNEL_DETAILS_SUMMARIZE_KERNEL_STATS, GT_COL_TRUNC_KERNEL_DETAILS,
        GT_COL_OVERLAPPING_KERNELS_DETAILS_SUMMARIZE_KERNEL_STATS, GT_COL_TRUNC_OVERLAPPING_KERNELS_DETAILS};
    name_list names = {0};
    add_name(&names, GT_COL_NAME);
    add_name(&names, GT_COL_OVERLAPPING_KERNEL_NAMES);
    for (size_t c = 1; c < params->column_count; c++) add_name(&names, gt_col_named(params->columns[c].name));
    if (by_num_kernels) add_name(&names, GT_COL_NUM_KERNELS);
    add_name(&names, GT_COL_IS_RECOMPUTE);
    add_measures(&names, rates, GT_LENGTH(rates));
    for (size_t i = 0; i < GT_LENGTH(details); i++) add_name(&names, details[i]);
    add_measures(&names, overlap, GT_LENGTH(overlap));
    add_measures(&names, times, GT_LENGTH(times));
    gt_table_select(sheet, names.items, names.count);
    gt_free(names.items);
    size_t overlapping = gt_table_find(sheet, GT_COL_OVERLAPPING_KERNEL_NAMES);
    if (overlapping != SIZE_MAX)
        gt_table_rename_column(sheet, overlapping, GT_COL_OVERLAPPING_KERNEL_NAMES_FIRST);
}

static gt_table *make_sheet(const family_ops *f, const gt_op_sheets_options *options, bool with_overlap)
{
    gt_col keys[] = {GT_COL_PARAMS, GT_COL_IS_RECOMPUTE, GT_NO_COL, GT_NO_COL};
    size_t key_count = 2, measure_count = 0;
    if (options->by_num_kernels) keys[key_count++] = GT_COL_NUM_KERNELS;
    if (with_overlap) keys[key_count++] = GT_COL_OVERLAPPING_KERNEL_NAMES;
    gt_aggregate measures[GT_LENGTH(rates) + GT_LENGTH(overlap) + GT_LENGTH(times)];
    for (size_t i = 0; i < GT_LENGTH(rates); i++) measures[measure_count++] = rates[i];
    for (size_t i = 0; with_overlap && i < GT_LENGTH(overlap); i++) measures[measure_count++] = overlap[i];
    for (size_t i = 0; i < GT_LENGTH(times); i++) measures[measure_count++] = times[i];

    gt_op_groups groups = gt_op_groups_find(f->table, keys, key_count);
    gt_table *sheet = gt_op_groups_measure(&groups, measures, measure_count);
    if (with_overlap)
        gt_op_groups_sort(sheet, &groups, GT_COL_OVERLAPPING_KERNEL_NAMES, GT_COL_KERNEL_TIME_US_SUM,
                          GT_COL_UID_FIRST);
    else
        gt_table_sort(sheet, longest_first, GT_LENGTH(longest_first));
    gt_op_groups_describe(&groups, sheet, &f->ops.kernels, GT_COL_KERNEL_DETAILS_SUMMARIZE_KERNEL_STATS,
                          GT_COL_TRUNC_KERNEL_DETAILS, NULL);
    if (with_overlap) {
        gt_op_groups_describe(&groups, sheet, &f->ops.overlapping,
                              GT_COL_OVERLAPPING_KERNELS_DETAILS_SUMMARIZE_KERNEL_STATS,
                              GT_COL_TRUNC_OVERLAPPING_KERNELS_DETAILS, NULL);
        gt_op_groups_round_overlap(sheet);
    }
    gt_op_groups_free(&groups);
    add_params(sheet, op_params_table(f->params));
    arrange(sheet, op_params_table(f->params), options->by_num_kernels);
    return sheet;
}

/* ---- forward and backward sheets ---- */

/* Keeps only the rows with these names, or (keep = false) only the others. */
static void keep_named(gt_table *sheet, const char *const *names, size_t count, bool keep)
{
    if (!sheet->row_count) return;
    const uint32_t *texts = gt_table_column(sheet, GT_COL_NAME)->texts;
    uint8_t *kept = gt_alloc(sheet->row_count);
    for (size_t row = 0; row < sheet->row_count; row++)
        kept[row] = is_one_of(gt_interner_get(sheet->strings, texts[row]), names, count) == keep;
    gt_table_keep(sheet, kept);
    gt_free(kept);
}

/* Appends the rows of `more` to those of the sheet. Frees one of the tables and returns the other. */
static gt_table *append_rows(gt_table *sheet, gt_table *more)
{
    gt_error error;
    gt_table *shown = more->row_count && !sheet->row_count ? more : sheet;
    gt_table *other = shown == sheet ? more : sheet;
    if (other->row_count) {
        if (!gt_table_append_outer(shown, other, &error)) gt_warn("%s", error.text);
    }
    gt_table_free(other);
    return shown;
}

static void add_sheet(gt_op_sheets *sheets, gt_table *sheet, const gt_op_sheets_options *options,
                      const char *family, const char *pass, bool with_overlap)
{
    if (options->limited) gt_table_head(sheet, options->rows);
    if (!sheet->row_count) {
        gt_table_free(sheet);
        return;
    }
    char *name = gt_format("%s%s%s", family, pass, with_overlap ? "_kl_overlap" : "");
    gt_table_rename(sheet, gt_sheet_named(name));
    gt_free(name);
    GT_PUSH(sheets->items, sheets->count, sheets->capacity, sheet);
}

static void add_forward_and_backward(gt_op_sheets *sheets, const family_ops *forward,
                                     const family_ops *backward, const gt_op_sheets_options *options,
                                     const char *family, bool with_overlap)
{
    gt_table *sheet = make_sheet(forward, options, with_overlap);
    gt_table *moved = gt_table_copy(sheet);
    keep_named(sheet, gradient_names, GT_LENGTH(gradient_names), false);
    keep_named(moved, gradient_names, GT_LENGTH(gradient_names), true);
    gt_table *gradients = append_rows(make_sheet(backward, options, with_overlap), moved);
    keep_named(gradients, forward_names, GT_LENGTH(forward_names), false);
    add_sheet(sheets, sheet, options, family, "_fwd", with_overlap);
    add_sheet(sheets, gradients, options, family, "_bwd", with_overlap);
}

static bool is_single(size_t family)
{
    for (size_t i = 0; i < GT_LENGTH(single_families); i++)
        if (single_families[i] == family) return true;
    return false;
}

static not_modelled add_family(gt_op_sheets *sheets, gt_perf *p, size_t family, const gt_row_list *rows,
                               const gt_op_sheets_options *options)
{
    bool single = is_single(family);
    const char *name = gt_extension_family_name(p->extension, family);
    family_ops forward = find_ops(p, rows, false);
    family_ops backward = single ? (family_ops){0} : find_ops(p, rows, true);
    for (int with_overlap = 0; with_overlap <= (p->overlaps != NULL); with_overlap++) {
        if (single)
            add_sheet(sheets, make_sheet(&forward, options, with_overlap), options, name, "", with_overlap);
        else
            add_forward_and_backward(sheets, &forward, &backward, options, name, with_overlap);
    }
    not_modelled left = forward.not_modelled;
    family_ops_free(&forward);
    if (!single) family_ops_free(&backward);
    return left;
}

/* ---- all families ---- */

static size_t family_of(const gt_perf *p, uint32_t row)
{
    const gt_model *own = gt_extension_model(p->extension, p->trace->name[row]);
    if (own) return own->family;
    const gt_model *model = gt_op_find(gt_event_name(&p->trace->events, row));
    return model && model->evaluate ? model->family : GT_FAMILY_NONE;
}

/* The events of each family, in file order. */
static gt_row_list *find_families(const gt_perf *p)
{
    const gt_linked_view *trace = p->trace;
    gt_row_list *families = gt_alloc_zero(gt_extension_family_count(p->extension), sizeof *families);
    uint32_t names = gt_interner_count(trace->strings), unknown = UINT32_MAX;
    uint32_t *family_of_name = gt_alloc(names * sizeof *family_of_name);
    memset(family_of_name, 0xFF, names * sizeof *family_of_name);
    for (uint32_t row = 0; row < trace->count; row++) {
        uint32_t *family = &family_of_name[trace->name[row]];
        if (*family == unknown) *family = (uint32_t)family_of(p, row);
        gt_row_list *rows = &families[*family];
        if (*family != GT_FAMILY_NONE) GT_PUSH(rows->items, rows->count, rows->capacity, row);
    }
    gt_free(family_of_name);
    return families;
}

/* Adds "; 12 because ", or nothing if there is only one reason. */
static void begin_reason(gt_buffer *text, size_t count, size_t all)
{
    if (!count || count == all) return;
    char *start = gt_format("%s%zu because ", text->len ? "; " : "", count);
    gt_buffer_add_cstr(text, start);
    gt_free(start);
}

static void add_missing_lists(gt_buffer *text, const not_modelled *left)
{
    static const char *const names[GT_PERF_ARGUMENTS] = {
        [GT_PERF_TYPES] = "Input type",
        [GT_PERF_STRIDES] = "Input Strides",
        [GT_PERF_CONCRETE] = "Concrete Inputs",
    };
    const char *between = "the trace does not have their ";
    for (size_t i = 0; i < GT_PERF_ARGUMENTS; i++) {
        if (!left->without[i] || !names[i]) continue;
        char *name = gt_format("%s%s (%zu)", between, names[i], left->without[i]);
        gt_buffer_add_cstr(text, name);
        gt_free(name);
        between = " and ";
    }
    gt_buffer_add_cstr(text, ", which newer versions of PyTorch record");
}

static void warn(const not_modelled *left, size_t ops)
{
    if (!left->count) return;
    size_t unsupported = left->count - left->without_shapes - left->incomplete;
    gt_buffer why = {0};
    begin_reason(&why, left->without_shapes, left->count);
    if (left->without_shapes)
        gt_buffer_add_cstr(&why, "the trace does not have the shapes of their inputs (record_shapes=True)");
    begin_reason(&why, left->incomplete, left->count);
    if (left->incomplete) add_missing_lists(&why, left);
    begin_reason(&why, unsupported, left->count);
    if (unsupported) gt_buffer_add_cstr(&why, "their models do not support their arguments");
    gt_hint("%zu of %zu ops are not in the sheets of their families: %s", left->count, ops,
            gt_buffer_str(&why).bytes);
    gt_buffer_free(&why);
}

gt_op_sheets gt_op_sheets_make(gt_perf *p, gt_op_sheets_options options)
{
    gt_op_sheets sheets = {0};
    gt_row_list *families = find_families(p);
    not_modelled all = {0};
    size_t ops = 0;
    for (size_t family = 0; family < gt_extension_family_count(p->extension); family++) {
        if (families[family].count) {
            not_modelled left = add_family(&sheets, p, family, &families[family], &options);
            all.count += left.count;
            all.without_shapes += left.without_shapes;
            all.incomplete += left.incomplete;
            for (size_t i = 0; i < GT_PERF_ARGUMENTS; i++) all.without[i] += left.without[i];
        }
        ops += families[family].count;
        gt_free(families[family].items);
    }
    gt_free(families);
    warn(&all, ops);
    return sheets;
}
