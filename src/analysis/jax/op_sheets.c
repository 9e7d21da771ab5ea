/* Sheets op_gemm, op_fa_bwd, ...: how much did the kernels of a class have to do, and how fast did they do
 * it?
 *
 * First one row per kernel with its rates, then kernels with the same name and parameters are grouped. If an
 * op has several kernels, each of them counts as having done the whole op. */
#include "analysis/jax/kernels.h"

#include "analysis/jax/models.h"
#include "compat/python_repr.h"
#include "schema/columns.h"

static const gt_sheet sheet_names[GT_JAX_CLASSES] = {
    [GT_JAX_CLASS_GEMM] = GT_SHEET_OP_GEMM,     [GT_JAX_CLASS_FA_BWD] = GT_SHEET_OP_FA_BWD,
    [GT_JAX_CLASS_FA_FWD] = GT_SHEET_OP_FA_FWD, [GT_JAX_CLASS_FA_V3] = GT_SHEET_OP_FA_V3,
    [GT_JAX_CLASS_CONV] = GT_SHEET_OP_CONV,     [GT_JAX_CLASS_TE] = GT_SHEET_OP_TE,
};

enum {
    NAME,
    GFLOPS,
    MOVED,
    INTENSITY,
    BANDWIDTH,
    RATE,
    PROCESS,
    LABEL,
    THREAD,
    DIMS,
    TYPES,
    TIME,
    UID,
    COLUMNS
};

static const gt_column_head columns[COLUMNS] = {
    [NAME] = {GT_COL_NAME, GT_TYPE_STRING},
    [GFLOPS] = {GT_COL_GFLOPS, GT_TYPE_FLOAT},
    [MOVED] = {GT_COL_DATA_MOVED_MB, GT_TYPE_FLOAT},
    [INTENSITY] = {GT_COL_FLOPS_PER_BYTE, GT_TYPE_FLOAT},
    [BANDWIDTH] = {GT_COL_TB_PER_S, GT_TYPE_FLOAT},
    [RATE] = {GT_COL_TFLOPS_PER_S, GT_TYPE_FLOAT},
    [PROCESS] = {GT_COL_PROCESS_NAME, GT_TYPE_STRING},
    [LABEL] = {GT_COL_PROCESS_LABEL, GT_TYPE_STRING},
    [THREAD] = {GT_COL_THREAD_NAME, GT_TYPE_STRING},
    [DIMS] = {GT_COL_INPUT_DIMS, GT_TYPE_STRING},
    [TYPES] = {GT_COL_INPUT_TYPE, GT_TYPE_STRING},
    [TIME] = {GT_COL_KERNEL_TIME_US, GT_TYPE_FLOAT},
    [UID] = {GT_COL_UID, GT_TYPE_INT},
};

static const gt_aggregate measures[] = {
    GT_MEASURE_FIRST(GFLOPS),
    GT_MEASURE_FIRST(DATA_MOVED_MB),
    GT_MEASURE_FIRST(FLOPS_PER_BYTE),
    GT_MEASURE_FIVE(TB_PER_S),
    GT_MEASURE_FIVE(TFLOPS_PER_S),
    GT_MEASURE_FIRST(PROCESS_NAME),
    GT_MEASURE_FIRST(PROCESS_LABEL),
    GT_MEASURE_FIRST(THREAD_NAME),
    GT_MEASURE_FIRST(INPUT_DIMS),
    GT_MEASURE_FIRST(INPUT_TYPE),
    GT_MEASURE_FIVE(KERNEL_TIME_US),
    GT_AGGREGATE(KERNEL_TIME_US, SUM),
    {GT_NO_COL, GT_GROUP_SIZE, GT_COL_NAME_COUNT},
    GT_MEASURE_FIRST(UID),
};
static const gt_sort_key longest_first[] = {{GT_COL_KERNEL_TIME_US_SUM, true}, {GT_COL_UID_FIRST, false}};

/* ---- kernels whose model supports their op ---- */

typedef struct modelled {
    size_t kernel;
    gt_model_result result;
} modelled;

typedef struct modelled_list {
    modelled *items;
    size_t count, capacity;
    size_t failed; /* kernels whose model does not support their op */
    gt_error why;  /* the reason for the first of them */
    size_t first_failed;
} modelled_list;

/* Results are computed once per record and kernel name. */
typedef struct known_result {
    bool is_valid;
    gt_model_result result;
} known_result;

typedef struct result_list {
    known_result *items;
    size_t count, capacity;
    gt_map index; /* (record, name) to item */
} result_list;

static const known_result *evaluate(const gt_jax_kernels *k, size_t kernel, gt_jax_model model,
                                    result_list *known, modelled_list *list, gt_arena *arena)
{
    const gt_jax *trace = k->trace;
    size_t event = k->events[kernel];
    const gt_hlo_record *record = gt_jax_record(trace, event);
    uint32_t *item = gt_map_put(&known->index, (uint64_t)(record - trace->records), trace->name[event]);
    if (*item != GT_MAP_NONE) return &known->items[*item];
    gt_error error = {""};
    known_result result;
    result.is_valid =
        gt_jax_evaluate(trace, model, record, gt_jax_name(trace, event), arena, &result.result, &error);
    if (!result.is_valid && !list->failed) {
        list->why = error;
        list->first_failed = kernel;
    }
    *item = (uint32_t)known->count;
    GT_PUSH(known->items, known->count, known->capacity, result);
    return &known->items[*item];
}

static modelled_list find_modelled(gt_jax_kernels *k, gt_jax_class class, gt_arena *arena)
{
    modelled_list list = {0};
    result_list known = {0};
    for (size_t i = 0; i < k->count; i++) {
        if (k->classes[i] != class) continue;
        gt_jax_model model = gt_jax_model_of(k->trace, gt_jax_record(k->trace, k->events[i]), class);
        if (model == GT_JAX_MODEL_NONE) continue;
        const known_result *result = evaluate(k, i, model, &known, &list, arena);
        if (result->is_valid)
            GT_PUSH(list.items, list.count, list.capacity, ((modelled){i, result->result}));
        else
            list.failed++;
    }
    gt_free(known.items);
    gt_map_free(&known.index);
    return list;
}

static void warn_about_failures(const gt_jax_kernels *k, gt_jax_class class, const modelled_list *list)
{
    if (!list->failed) return;
    gt_str op = gt_interner_get(k->trace->strings, gt_jax_hlo_op(k->trace, k->events[list->first_failed]));
    gt_warn("%s: %zu kernels of class %s omitted because the model does not support their ops (%.100s: %s)",
            sheet_names[class].name, list->failed, gt_jax_class_name(class), op.bytes, list->why.text);
}

/* ---- parameters ---- */

typedef struct param_list {
    const char *names[GT_MODEL_MAX_PARAMETERS];
    size_t count;
} param_list;

static size_t param_index(const param_list *params, const char *name)
{
    size_t i = 0;
    while (i < params->count && strcmp(params->names[i], name) != 0) i++;
    return i;
}

/* All parameters that have a value for at least one kernel, in the order of their first appearance. */
static param_list list_params(const modelled_list *list)
{
    param_list params = {.count = 0};
    for (size_t i = 0; i < list->count; i++) {
        const gt_model_result *result = &list->items[i].result;
        for (size_t p = 0; p < result->parameter_count; p++) {
            bool is_new = param_index(&params, result->parameters[p].name) == params.count;
            if (is_new && result->parameters[p].value.type != GT_VALUE_NONE &&
                params.count < GT_MODEL_MAX_PARAMETERS)
                params.names[params.count++] = result->parameters[p].name;
        }
    }
    return params;
}

static void set_params(gt_table *table, size_t row, const param_list *params, const gt_model_result *result,
                       gt_buffer *text)
{
    uint32_t missing = gt_interner_add_cstr(table->strings, "nan");
    for (size_t p = 0; p < params->count; p++)
        gt_table_set_shown(table, COLUMNS + p, row, missing, GT_SHOWN_NULL);
    for (size_t p = 0; p < result->parameter_count; p++) {
        size_t index = param_index(params, result->parameters[p].name);
        if (index == params->count) continue;
        gt_python_set_cell(table, COLUMNS + index, row, &result->parameters[p].value, text);
    }
}

/* ---- the sheet ---- */

static void set_row(gt_table *table, size_t row, gt_jax_kernels *k, const modelled *m)
{
    const gt_jax *trace = k->trace;
    size_t event = k->events[m->kernel];
    const gt_jax_details *details = gt_jax_details_of(k, m->kernel);
    double dur_us = gt_jax_dur_us(trace, event);
    gt_metrics metrics = gt_metrics_of(&m->result, dur_us, NULL);
    gt_table_set_string(table, NAME, row, trace->name[event]);
    gt_table_set_float(table, GFLOPS, row, metrics.gflops);
    gt_table_set_float(table, MOVED, row, metrics.data_moved_mb);
    gt_table_set_float(table, INTENSITY, row, metrics.flops_per_byte);
    gt_table_set_float(table, BANDWIDTH, row, metrics.tb_per_s);
    gt_table_set_float(table, RATE, row, metrics.tflops_per_s);
    gt_table_set_cstr(table, PROCESS, row, "Unknown");
    gt_table_set_cstr(table, LABEL, row, "Unknown");
    gt_table_set_string(table, THREAD, row, gt_jax_line_of(trace, event)->thread_name);
    gt_table_set_string(table, DIMS, row, details->dims);
    gt_table_set_string(table, TYPES, row, details->types);
    gt_table_set_float(table, TIME, row, dur_us);
    gt_table_set_int(table, UID, row, (int64_t)gt_jax_uid(trace, event));
}

/* One row per kernel, before grouping. */
static gt_table *make_rows(gt_jax_kernels *k, const modelled_list *list, const param_list *params)
{
    gt_table *table = gt_table_new(GT_SHEET_UNNAMED, k->trace->strings);
    gt_table_add_columns(table, columns, COLUMNS);
    for (size_t p = 0; p < params->count; p++) {
        char name[64];
        snprintf(name, sizeof name, "param: %s", params->names[p]);
        gt_table_add_column(table, gt_col_named(name), GT_TYPE_STRING);
    }
    gt_buffer text = {0};
    for (size_t i = 0; i < list->count; i++) {
        size_t row = gt_table_add_row(table);
        set_row(table, row, k, &list->items[i]);
        set_params(table, row, params, &list->items[i].result, &text);
    }
    gt_buffer_free(&text);
    return table;
}

/* Groups the rows by name and parameters. */
static gt_table *make_sheet(const gt_table *rows, size_t param_count)
{
    gt_col keys[1 + GT_MODEL_MAX_PARAMETERS] = {GT_COL_NAME};
    for (size_t p = 0; p < param_count; p++) keys[1 + p] = gt_col_named(rows->columns[COLUMNS + p].name);
    const gt_group_options as_seen = {.keep_nulls = true};
    gt_table *sheet = gt_table_group(rows, keys, 1 + param_count, measures, GT_LENGTH(measures), as_seen);
    gt_groups groups = gt_groups_find(rows, keys, 1 + param_count, as_seen);
    size_t details =
        gt_jax_add_kernel_stats(sheet, GT_COL_KERNEL_DETAILS_SUMMARIZE_KERNEL_STATS, &groups,
                                rows->columns[NAME].texts, rows->columns[TIME].floats, NULL, NULL);
    gt_table_move_column(sheet, details, gt_table_find(sheet, GT_COL_THREAD_NAME_FIRST) + 1);
    gt_groups_free(&groups);
    gt_table_sort(sheet, longest_first, GT_LENGTH(longest_first));
    return sheet;
}

gt_table *gt_jax_op_sheet(gt_jax_kernels *k, gt_jax_class class)
{
    if (!sheet_names[class].name) return NULL;
    gt_arena arena = {0};
    gt_table *sheet = NULL;
    modelled_list list = find_modelled(k, class, &arena);
    warn_about_failures(k, class, &list);
    if (list.count) {
        param_list params = list_params(&list);
        gt_table *rows = make_rows(k, &list, &params);
        sheet = make_sheet(rows, params.count);
        gt_table_rename(sheet, sheet_names[class]);
        gt_table_free(rows);
    }
    gt_free(list.items);
    gt_arena_free(&arena);
    return sheet;
}
