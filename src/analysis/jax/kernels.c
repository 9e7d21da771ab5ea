/* Which kernels ran, and of what class are they? The sheets kernel_launchers and df_xla_perf. */
#include "analysis/jax/kernels.h"

#include "analysis/jax/models.h"
#include "compat/python_repr.h"
#include "schema/columns.h"

/* ---- classes ----
 *
 * The first part that occurs in the name gives the class, so the order matters. */

static const char *const class_names[GT_JAX_CLASSES] = {
    [GT_JAX_CLASS_GEMM] = "GEMM",
    [GT_JAX_CLASS_FA_BWD] = "FA BWD",
    [GT_JAX_CLASS_FA_FWD] = "FA FWD",
    [GT_JAX_CLASS_FA_V3] = "FA V3",
    [GT_JAX_CLASS_CONV] = "Conv",
    [GT_JAX_CLASS_TE] = "TE",
    [GT_JAX_CLASS_COMMUNICATION] = "Communication rccl/nccl",
    [GT_JAX_CLASS_XLA] = "Uncategorized Events/XLA",
};

static const struct {
    const char *part;
    gt_jax_class class;
} class_parts[] = {
    {"Cijk", GT_JAX_CLASS_GEMM},
    {"gemm", GT_JAX_CLASS_GEMM},
    {"nvjet", GT_JAX_CLASS_GEMM},
    {"cublasLt", GT_JAX_CLASS_GEMM},
    {"FmhaBwd", GT_JAX_CLASS_FA_BWD},
    {"flash_bprop", GT_JAX_CLASS_FA_BWD},
    {"ck_fused_attn::dk_dv_reduce_thd", GT_JAX_CLASS_FA_BWD},
    {"fmha_bwd", GT_JAX_CLASS_FA_BWD},
    {"FmhaFwd", GT_JAX_CLASS_FA_FWD},
    {"flash_fprop", GT_JAX_CLASS_FA_FWD},
    {"fmha_fwd", GT_JAX_CLASS_FA_FWD},
    {"kernel_func", GT_JAX_CLASS_FA_V3},
    {"conv_", GT_JAX_CLASS_CONV},
    {"conv.", GT_JAX_CLASS_CONV},
    {"conv-", GT_JAX_CLASS_CONV},
    {"transformer_engine", GT_JAX_CLASS_TE},
    {"te_fused_attn", GT_JAX_CLASS_TE},
    {"rccl", GT_JAX_CLASS_COMMUNICATION},
    {"nccl", GT_JAX_CLASS_COMMUNICATION},
};

const char *gt_jax_class_name(gt_jax_class class)
{
    return class_names[class];
}

gt_jax_class gt_jax_class_of_name(gt_str name)
{
    for (size_t i = 0; i < GT_LENGTH(class_parts); i++)
        if (gt_str_contains(name, class_parts[i].part)) return class_parts[i].class;
    return GT_JAX_CLASS_XLA;
}

gt_jax_class gt_jax_class_combine(gt_jax_class kernel, gt_jax_class op)
{
    if (kernel == GT_JAX_CLASS_FA_BWD || kernel == GT_JAX_CLASS_FA_FWD || kernel == GT_JAX_CLASS_FA_V3)
        return kernel;
    return op == GT_JAX_CLASS_XLA ? kernel : op;
}

/* ---- kernels ---- */

uint8_t *gt_jax_classify_names(const gt_jax *trace, bool only_kernels, gt_jax_classifier *classify)
{
    enum { UNKNOWN = 0xff };
    size_t names = gt_interner_count(trace->strings);
    uint8_t *classes = gt_alloc(names);
    memset(classes, UNKNOWN, names);
    for (size_t i = 0; i < trace->count; i++)
        if ((!only_kernels || trace->kind[i] == GT_JAX_KERNEL) && classes[trace->name[i]] == UNKNOWN)
            classes[trace->name[i]] = classify(gt_jax_name(trace, i));
    return classes;
}

static uint8_t classify_kernel(gt_str name)
{
    return (uint8_t)gt_jax_class_of_name(name);
}

static uint8_t *classify_ops(const gt_jax *trace)
{
    uint8_t *classes = gt_alloc(trace->op_count);
    for (size_t i = 0; i < trace->op_count; i++)
        classes[i] = (uint8_t)gt_jax_class_of_name(gt_interner_get(trace->strings, trace->ops[i].hlo_op));
    return classes;
}

gt_jax_kernels gt_jax_kernels_find(const gt_jax *trace)
{
    gt_jax_kernels k = {.trace = trace};
    for (size_t i = 0; i < trace->count; i++) k.count += trace->kind[i] == GT_JAX_KERNEL;
    k.events = gt_alloc(k.count * sizeof *k.events);
    k.classes = gt_alloc(k.count);
    k.details = gt_alloc_zero(trace->record_count + 1, sizeof *k.details);
    uint8_t *of_name = gt_jax_classify_names(trace, true, classify_kernel), *of_op = classify_ops(trace);
    size_t at = 0;
    for (size_t i = 0; i < trace->count; i++) {
        if (trace->kind[i] != GT_JAX_KERNEL) continue;
        k.events[at] = i;
        gt_jax_class op = trace->op[i] == GT_JAX_NONE ? GT_JAX_CLASS_XLA : (gt_jax_class)of_op[trace->op[i]];
        k.classes[at++] = (uint8_t)gt_jax_class_combine((gt_jax_class)of_name[trace->name[i]], op);
    }
    gt_free_all(of_name, of_op);
    return k;
}

void gt_jax_kernels_free(gt_jax_kernels *k)
{
    gt_free_all(k->events, k->classes, k->details);
    gt_arena_free(&k->arena);
    *k = (gt_jax_kernels){0};
}

/* ---- strings of a record ---- */

/* Appends a string, or 'NA' if there is none. */
static void add_or_na(gt_buffer *out, const gt_jax *trace, const char *key, uint32_t id)
{
    gt_buffer_add_cstr(out, key);
    gt_python_add_repr(out, id == GT_STR_NONE ? (gt_str){"NA", 2} : gt_interner_get(trace->strings, id));
}

static void add_operands(gt_buffer *out, const gt_jax *trace, const gt_hlo_record *record)
{
    gt_buffer_add_cstr(out, ", 'operands': ");
    if (!record) {
        gt_buffer_add_cstr(out, "'NA'");
        return;
    }
    gt_buffer_add_cstr(out, "[");
    for (size_t i = 0; i < record->operand_count; i++) {
        if (i) gt_buffer_add_cstr(out, ", ");
        gt_python_add_repr(out, gt_interner_get(trace->strings, record->operands[i]));
    }
    gt_buffer_add_cstr(out, "]");
}

/* Makes the strings of a record; NULL: of kernels without a record. */
static void describe(gt_jax_kernels *k, const gt_hlo_record *record, gt_jax_details *details)
{
    const gt_jax *trace = k->trace;
    gt_buffer rest = {0};
    add_or_na(&rest, trace, ", 'custom_call_target': ", record ? record->custom_call_target : GT_STR_NONE);
    add_operands(&rest, trace, record);
    gt_buffer_add_cstr(&rest, ", 'outputs': 'NA'");
    add_or_na(&rest, trace, ", 'metadata': ", record ? record->metadata : GT_STR_NONE);
    gt_jax_arguments arguments = gt_jax_arguments_of(trace, record, &k->arena);
    *details = (gt_jax_details){true,
                                arguments.dims,
                                arguments.types,
                                arguments.concrete,
                                {gt_arena_bytes(&k->arena, rest.bytes, rest.len), rest.len}};
    gt_buffer_free(&rest);
}

const gt_jax_details *gt_jax_details_of(gt_jax_kernels *k, size_t kernel)
{
    const gt_hlo_record *record = gt_jax_record(k->trace, k->events[kernel]);
    gt_jax_details *details =
        &k->details[record ? (size_t)(record - k->trace->records) : k->trace->record_count];
    if (!details->is_known) describe(k, record, details);
    return details;
}

/* ---- kernel_launchers ----
 *
 * One row per kernel. Cells that depend only on the op are made once per record. */

enum {
    NAME,
    UID,
    CATEGORY,
    DIRECT_TIME,
    SUBTREE_TIME,
    COUNT,
    PID,
    TID,
    DIMS,
    TYPES,
    STRIDES,
    CONCRETE,
    DETAILS,
    LATENCY,
    KERNEL,
    COLUMNS
};

static const gt_column_head columns[COLUMNS] = {
    [NAME] = {GT_COL_NAME, GT_TYPE_STRING},
    [UID] = {GT_COL_UID, GT_TYPE_INT},
    [CATEGORY] = {GT_COL_OP_CATEGORY, GT_TYPE_STRING},
    [DIRECT_TIME] = {GT_COL_TOTAL_DIRECT_KERNEL_TIME, GT_TYPE_FLOAT},
    [SUBTREE_TIME] = {GT_COL_TOTAL_SUBTREE_KERNEL_TIME, GT_TYPE_FLOAT},
    [COUNT] = {GT_COL_DIRECT_KERNEL_COUNT, GT_TYPE_INT},
    [PID] = {GT_COL_PID, GT_TYPE_INT},
    [TID] = {GT_COL_TID, GT_TYPE_INT},
    [DIMS] = {GT_COL_INPUT_DIMS, GT_TYPE_STRING},
    [TYPES] = {GT_COL_INPUT_TYPE, GT_TYPE_STRING},
    [STRIDES] = {GT_COL_INPUT_STRIDES, GT_TYPE_STRING},
    [CONCRETE] = {GT_COL_CONCRETE_INPUTS, GT_TYPE_STRING},
    [DETAILS] = {GT_COL_KERNEL_DETAILS, GT_TYPE_STRING},
    [LATENCY] = {GT_COL_GPU_KERNEL_LAUNCH_LATENCY, GT_TYPE_FLOAT},
    [KERNEL] = {GT_COL_KERNEL, GT_TYPE_INT},
};

static bool has_keyword(const gt_jax *trace, size_t event, const char *const *keywords, size_t count)
{
    if (!count) return true;
    const gt_hlo_record *record = gt_jax_record(trace, event);
    gt_str metadata = record ? gt_interner_get(trace->strings, record->metadata) : (gt_str){"", 0};
    for (size_t i = 0; record && i < count; i++)
        if (gt_str_contains(metadata, keywords[i])) return true;
    return false;
}

static uint32_t details_cell(const gt_jax *trace, size_t event, const gt_jax_details *details,
                             gt_buffer *cell)
{
    cell->len = 0;
    gt_buffer_add_cstr(cell, "[{'name': ");
    gt_python_add_repr(cell, gt_jax_name(trace, event));
    gt_buffer_add_cstr(cell, ", 'dur': ");
    gt_buffer_add_double(cell, gt_jax_dur_us(trace, event));
    gt_buffer_add(cell, details->rest.bytes, details->rest.len);
    gt_buffer_add_cstr(cell, "}]");
    return gt_interner_add(trace->strings, cell->bytes, cell->len);
}

/* Strings that many rows share. */
typedef struct common_strings {
    uint32_t classes[GT_JAX_CLASSES], no_strides;
} common_strings;

static common_strings intern_common_strings(gt_interner *strings)
{
    common_strings common = {.no_strides = gt_interner_add_cstr(strings, "()")};
    for (size_t c = 0; c < GT_JAX_CLASSES; c++)
        common.classes[c] = gt_interner_add_cstr(strings, gt_jax_class_name((gt_jax_class)c));
    return common;
}

static void set_row(gt_table *table, size_t row, gt_jax_kernels *k, size_t kernel,
                    const common_strings *common, gt_buffer *cell)
{
    const gt_jax *trace = k->trace;
    size_t event = k->events[kernel];
    const gt_jax_details *details = gt_jax_details_of(k, kernel);
    gt_column *c = table->columns;
    double dur_us = gt_jax_dur_us(trace, event);
    c[NAME].texts[row] = trace->name[event];
    c[UID].ints[row] = (int64_t)gt_jax_uid(trace, event);
    c[CATEGORY].texts[row] = common->classes[k->classes[kernel]];
    c[DIRECT_TIME].floats[row] = c[SUBTREE_TIME].floats[row] = dur_us;
    c[COUNT].ints[row] = 1;
    c[PID].ints[row] = gt_jax_pid(trace, event);
    c[TID].ints[row] = gt_jax_line_of(trace, event)->tid;
    c[DIMS].texts[row] = details->dims;
    c[TYPES].texts[row] = details->types;
    c[STRIDES].texts[row] = common->no_strides;
    c[CONCRETE].texts[row] = details->concrete;
    c[DETAILS].texts[row] = details_cell(trace, event, details, cell);
    c[LATENCY].floats[row] = gt_jax_start_us(trace, event) - trace->launch_us[event];
    c[KERNEL].ints[row] = (int64_t)kernel;
}

gt_table *gt_jax_kernel_launchers(gt_jax_kernels *k, const char *const *keywords, size_t keyword_count)
{
    gt_table *table = gt_table_new(GT_SHEET_KERNEL_LAUNCHERS, k->trace->strings);
    gt_buffer cell = {0};
    gt_table_add_columns(table, columns, COLUMNS);
    uint32_t *wanted = gt_alloc(k->count * sizeof *wanted);
    size_t rows = 0;
    for (size_t kernel = 0; kernel < k->count; kernel++)
        if (has_keyword(k->trace, k->events[kernel], keywords, keyword_count))
            wanted[rows++] = (uint32_t)kernel;
    gt_table_add_rows(table, rows);
    common_strings common = intern_common_strings(k->trace->strings);
    for (size_t row = 0; row < rows; row++) set_row(table, row, k, wanted[row], &common, &cell);
    gt_free(wanted);
    gt_buffer_free(&cell);
    return table;
}

/* ---- df_xla_perf ---- */

gt_table *gt_jax_xla_perf(gt_jax_kernels *k, const gt_table *launchers)
{
    const int64_t *numbers = launchers->columns[KERNEL].ints;
    uint32_t *kept = gt_alloc(launchers->row_count * sizeof *kept);
    size_t count = 0;
    for (size_t row = 0; row < launchers->row_count; row++)
        if (k->classes[numbers[row]] == GT_JAX_CLASS_XLA) kept[count++] = (uint32_t)row;
    gt_table *table = gt_table_copy_rows(launchers, kept, count);
    gt_free(kept);
    gt_table_rename(table, GT_SHEET_DF_XLA_PERF);
    size_t bytes = gt_table_add_zeroed(table, GT_COL_TOTAL_INPUT_BYTES, GT_TYPE_INT), unknown = 0;
    for (size_t row = 0; row < table->row_count; row++) {
        size_t event = k->events[table->columns[KERNEL].ints[row]];
        const gt_hlo_record *record = gt_jax_record(k->trace, event);
        table->columns[bytes].ints[row] = record ? gt_jax_input_bytes(k->trace, record, &unknown) : 0;
    }
    if (unknown)
        gt_info("total_input_bytes excludes %zu operands of types without a known size (f64, s64, u8, ...)",
                unknown);
    return table;
}
