/* gemms and gemms_detailed: which matrix products does the training step contain, and how fast did they run?
 *
 * Sizes come from the record of the library call, as in op_gemm; the rates are those of each kernel.
 *
 *     GFLOPS           Batch * (2 M N K, + M N with a bias) / 1e9
 *     Data Moved (MB)  Batch * bytes of the type * (M K + K N + M N, + N with a bias) / 2**20
 *     TFLOPS/s, TB/s   divided by the kernel's time; FLOPS/Byte: their quotient
 *     param: Op B      the batch; param: B is always 1 */
#include "analysis/jax/kernels.h"

#include "analysis/jax/models.h"
#include "compat/python_repr.h"
#include "schema/columns.h"

enum { FIRST_GPU_PID = 1 };

/* ---- gemms ---- */

gt_table *gt_jax_gemms(const gt_jax *trace)
{
    enum { NAME, BATCH, M, N, K, BETA, TYPE };
    static const gt_col sizes[] = {GT_COL_BATCH, GT_COL_M, GT_COL_N, GT_COL_K, GT_COL_BETA};
    gt_table *table = gt_table_new(GT_SHEET_GEMMS, trace->strings);
    gt_table_add_column(table, GT_COL_NAME, GT_TYPE_STRING);
    for (size_t i = 0; i < GT_LENGTH(sizes); i++) gt_table_add_column(table, sizes[i], GT_TYPE_INT);
    gt_table_add_column(table, GT_COL_TYPE_TITLE, GT_TYPE_STRING);
    gt_error error;
    gt_buffer name = {0};
    size_t unknown = 0;
    for (size_t i = 0; i < trace->product_count; i++) {
        gt_jax_gemm gemm;
        if (!gt_jax_gemm_of(trace, &trace->products[i].record, &gemm, &error)) {
            if (!unknown++)
                gt_warn("gemms: %s omitted: %s", gt_interner_get(trace->strings, trace->products[i].op).bytes,
                        error.text);
            continue;
        }
        gt_str op = gt_interner_get(trace->strings, trace->products[i].op);
        name.len = 0;
        gt_buffer_add_cstr(&name, "%");
        gt_buffer_add(&name, op.bytes, op.len);
        size_t row = gt_table_add_row(table);
        gt_table_set_string(table, NAME, row, gt_interner_add(trace->strings, name.bytes, name.len));
        gt_table_set_int(table, BATCH, row, gemm.batch);
        gt_table_set_int(table, M, row, gemm.m);
        gt_table_set_int(table, N, row, gemm.n);
        gt_table_set_int(table, K, row, gemm.k);
        gt_table_set_int(table, BETA, row, gemm.beta);
        gt_table_set_string(table, TYPE, row,
                            gt_interner_add(trace->strings, gemm.type.bytes, gemm.type.len));
    }
    if (unknown > 1) gt_warn("gemms: %zu more products omitted", unknown - 1);
    gt_buffer_free(&name);
    return table;
}

/* ---- gemms_detailed ---- */

enum {
    GFLOPS,
    TIME,
    RATE,
    MOVED,
    INTENSITY,
    BANDWIDTH,
    PARAM_M,
    PARAM_N,
    PARAM_K,
    BIAS,
    STRIDE_A,
    STRIDE_B,
    DTYPE,
    BATCH,
    SIMULATED,
    ONE,
    TRANSPOSE,
    COLUMNS
};

static const gt_column_head columns[COLUMNS] = {
    [GFLOPS] = {GT_COL_GFLOPS, GT_TYPE_FLOAT},
    [TIME] = {GT_COL_KERNEL_TIME_US, GT_TYPE_FLOAT},
    [RATE] = {GT_COL_TFLOPS_PER_S, GT_TYPE_FLOAT},
    [MOVED] = {GT_COL_DATA_MOVED_MB, GT_TYPE_FLOAT},
    [INTENSITY] = {GT_COL_FLOPS_PER_BYTE, GT_TYPE_FLOAT},
    [BANDWIDTH] = {GT_COL_TB_PER_S, GT_TYPE_FLOAT},
    [PARAM_M] = {GT_COL_PARAM_M, GT_TYPE_INT},
    [PARAM_N] = {GT_COL_PARAM_N, GT_TYPE_INT},
    [PARAM_K] = {GT_COL_PARAM_K, GT_TYPE_INT},
    [BIAS] = {GT_COL_PARAM_BIAS, GT_TYPE_BOOL},
    [STRIDE_A] = {GT_COL_PARAM_STRIDE_A, GT_TYPE_STRING},
    [STRIDE_B] = {GT_COL_PARAM_STRIDE_B, GT_TYPE_STRING},
    [DTYPE] = {GT_COL_PARAM_DTYPE_A_B, GT_TYPE_STRING},
    [BATCH] = {GT_COL_PARAM_OP_B, GT_TYPE_INT},
    [SIMULATED] = {GT_COL_PARAM_SIMULATION_DTYPE, GT_TYPE_STRING},
    [ONE] = {GT_COL_PARAM_B, GT_TYPE_INT},
    [TRANSPOSE] = {GT_COL_PARAM_TRANSPOSE, GT_TYPE_STRING},
};

typedef struct gemm_sheet {
    const gt_jax *trace;
    gt_table *table;
    gt_arena arena; /* the result of the model for one kernel */
    gt_buffer text;
    uint32_t *product_of; /* by string id of an op's name: its product; UINT32_MAX: none */
    bool has_transpose;
} gemm_sheet;

static void set_param(gemm_sheet *s, size_t column, size_t row, const gt_model_result *result,
                      const char *name)
{
    for (size_t i = 0; i < result->parameter_count; i++) {
        if (strcmp(result->parameters[i].name, name) != 0) continue;
        s->text.len = 0;
        gt_python_add_value(&s->text, &result->parameters[i].value);
        gt_table_set_string(s->table, column, row,
                            gt_interner_add(s->trace->strings, s->text.bytes, s->text.len));
    }
}

static void add_row(gemm_sheet *s, size_t event, const gt_jax_product *product)
{
    const gt_jax *trace = s->trace;
    gt_error error;
    gt_model_result result;
    gt_jax_gemm gemm;
    if (!gt_jax_gemm_of(trace, &product->record, &gemm, &error) ||
        !gt_jax_evaluate(trace, GT_JAX_MODEL_GEMM, &product->record, gt_jax_name(trace, event), &s->arena,
                         &result, &error))
        return; /* gt_jax_gemms has warned about it */
    double dur_us = gt_jax_dur_us(trace, event);
    gt_metrics metrics = gt_metrics_of(&result, dur_us, NULL);
    gt_value transpose[2];
    size_t row = gt_table_add_row(s->table);
    gt_table_set_float(s->table, GFLOPS, row, metrics.gflops);
    gt_table_set_float(s->table, TIME, row, dur_us);
    gt_table_set_float(s->table, RATE, row, metrics.tflops_per_s);
    gt_table_set_float(s->table, MOVED, row, metrics.data_moved_mb);
    gt_table_set_float(s->table, INTENSITY, row, metrics.flops_per_byte);
    gt_table_set_float(s->table, BANDWIDTH, row, metrics.tb_per_s);
    gt_table_set_int(s->table, PARAM_M, row, gemm.m);
    gt_table_set_int(s->table, PARAM_N, row, gemm.n);
    gt_table_set_int(s->table, PARAM_K, row, gemm.k);
    gt_table_set_bool(s->table, BIAS, row, gemm.beta);
    set_param(s, DTYPE, row, &result, "dtype_A_B");
    gt_table_set_int(s->table, BATCH, row, gemm.batch);
    set_param(s, SIMULATED, row, &result, "simulation_dtype");
    gt_table_set_int(s->table, ONE, row, 1);
    set_param(s, TRANSPOSE, row, &result, "transpose");
    s->has_transpose |= gt_gemm_transpose(gt_jax_name(trace, event), transpose);
    gt_arena_free(&s->arena);
}

static void index_products(gemm_sheet *s)
{
    size_t string_count = gt_interner_count(s->trace->strings);
    s->product_of = gt_alloc(string_count * sizeof *s->product_of);
    for (size_t i = 0; i < string_count; i++) s->product_of[i] = UINT32_MAX;
    for (size_t i = 0; i < s->trace->product_count; i++)
        s->product_of[s->trace->products[i].op] = (uint32_t)i;
}

gt_table *gt_jax_gemms_detailed(const gt_jax *trace)
{
    gemm_sheet s = {.trace = trace, .table = gt_table_new(GT_SHEET_GEMMS_DETAILED, trace->strings)};
    gt_table_add_columns(s.table, columns, COLUMNS);
    index_products(&s);
    for (size_t g = 0; g < trace->gpu_count && trace->product_count; g++) {
        if (trace->gpus[g].pid != FIRST_GPU_PID) continue;
        for (size_t i = trace->gpus[g].begin; i < trace->gpus[g].end; i++) {
            uint32_t product = s.product_of[gt_jax_hlo_op(trace, i)];
            if (product == UINT32_MAX || !gt_jax_is_stream(trace, i)) continue;
            if (gt_jax_class_of_name(gt_jax_name(trace, i)) == GT_JAX_CLASS_GEMM)
                add_row(&s, i, &trace->products[product]);
        }
    }
    if (!s.table->row_count)
        gt_table_select(s.table, NULL, 0);
    else if (!s.has_transpose)
        gt_table_drop_column(s.table, TRANSPOSE);
    gt_free(s.product_of);
    gt_buffer_free(&s.text);
    gt_arena_free(&s.arena);
    return s.table;
}
