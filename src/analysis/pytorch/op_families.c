/* Sheets of op families, such as GEMM, SDPA_fwd and CONV_bwd:
 *
 *     name, [overlapping_kernel_names_first], param: * (op_params.h), [num_kernels], [is_recompute]    keys
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

#include "analysis/pytorch/op_params.h"
#include "analysis/pytorch/op_rows.h"
#include "table/side_by_side.h"

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
enum { SINGLE_IN_INFERENCE = 3 }; /* the first ones */

/* Gradients with models of their own: they move from the forward sheet to the end of the backward sheet. */
static const char *const gradient_names[] = {"flash_attn::_flash_attn_varlen_backward",
                                             "aten::convolution_backward", "ConvBias_Backward",
                                             "ConvBiasReLU_Backward"};
/* Those that sheets of inference omit; the others stay in their forward sheets. */
static const char *const training_names[] = {"aten::convolution_backward",
                                             "flash_attn::_flash_attn_varlen_backward"};
/* Ops that are not in the backward sheet, because those are their gradients. */
static const char *const forward_names[] = {"aten::convolution", "aten::miopen_convolution",
                                            "aten::cudnn_convolution", "ConvBias_", "ConvBiasReLU_"};
/* An op without a backward pass. */
static const char FORWARD_ONLY[] = "vllm::unified_attention_with_output";

/* ---- the ops of a family ---- */

/* Ops without a result of their models. `incomplete` ops have shapes, but lack lists of arguments that their
 * models need; without[i] of these have no list i. Ops of graphs without shapes are no fault of the trace. */
typedef struct not_modelled {
    size_t count, without_shapes, incomplete, of_graphs;
    size_t without[GT_PERF_ARGUMENTS];
} not_modelled;

typedef struct family_ops {
    gt_perf *perf;
    bool backward;
    gt_op_rows ops;
    gt_op_params *params;
    gt_table
        *table; /* of the ops, with the columns `params` (a row of the parameters' table) and num_kernels */
    not_modelled not_modelled;
} family_ops;

static void count_not_modelled(family_ops *f, uint32_t row, bool lacks_arguments)
{
    not_modelled *left = &f->not_modelled;
    uint32_t ids[GT_PERF_ARGUMENTS];
    gt_perf_arguments(f->perf, &row, 1, ids);
    bool has_shapes = ids[GT_PERF_DIMS] != GT_STR_NONE;
    if (!has_shapes && gt_event_graph_source(f->perf->trace, row) != GT_STR_NONE) {
        left->of_graphs++;
        return;
    }
    left->count++;
    left->without_shapes += !has_shapes;
    if (!has_shapes || !lacks_arguments) return;
    left->incomplete++;
    for (size_t i = 0; i < GT_PERF_ARGUMENTS; i++) left->without[i] += ids[i] == GT_STR_NONE;
}

static bool has_gradient(const gt_perf *p, uint32_t row)
{
    return gt_gradient_function(p->gradients, row) != GT_NO_EVENT &&
           strcmp(gt_event_name(&p->trace->events, row).bytes, FORWARD_ONLY) != 0;
}

/* Keeps the ops whose models have a result. */
static void keep_ops(family_ops *f, const gt_perf_item *items, const uint8_t *outcomes)
{
    size_t kept = 0;
    for (size_t i = 0; i < f->ops.count; i++) {
        const gt_op_row *op = &f->ops.items[i];
        if (items[i].model && outcomes[i] == GT_MODEL_FAIL)
            count_not_modelled(f, op->row, op->metrics.lacks_arguments);
        if (outcomes[i] != GT_MODEL_VALUE) continue;
        if (kept != i) f->ops.items[kept] = *op;
        gt_op_params_add(f->params, op->name, op->metrics.result);
        kept++;
    }
    f->ops.count = kept;
    for (size_t i = 0; f->perf->overlaps && i < kept; i++)
        gt_op_rows_set_overlap(&f->ops, gt_perf_overlap(f->perf, f->ops.items[i].row, NULL, 0));
}

typedef struct listing {
    gt_perf *perf;
    const gt_row_list *rows;
    bool backward;
    gt_perf_item *items;
} listing;

static void list_items(void *context, size_t begin, size_t end)
{
    const listing *l = context;
    gt_models *models = NULL;
    for (size_t i = begin; i < end; i++) {
        uint32_t row = l->rows->items[i], name = l->perf->trace->name[row];
        const gt_model *model = gt_perf_model_for_thread(l->perf, &models, row, name);
        l->items[i] = (gt_perf_item){model, row, name, l->backward};
    }
    gt_models_free(models);
}

static void measure_ops(family_ops *f, const gt_row_list *rows)
{
    listing l = {f->perf, rows, f->backward, gt_alloc(rows->count * sizeof *l.items)};
    uint8_t *outcomes = gt_alloc(rows->count);
    gt_parallel_ranges(rows->count, GT_OPS_GRAIN, list_items, &l);
    f->ops.items = gt_grow(f->ops.items, &f->ops.capacity, rows->count, sizeof *f->ops.items);
    f->ops.count = rows->count;
    gt_perf_measure_all(f->perf, l.items, rows->count, f->ops.items, outcomes);
    f->params = gt_op_params_new(f->perf);
    keep_ops(f, l.items, outcomes);
    gt_free_all(l.items, outcomes);
}

/* The ops of a list that have a gradient. */
static gt_row_list with_gradients(const gt_perf *p, const gt_row_list *rows)
{
    gt_row_list found = {0};
    for (size_t i = 0; p->gradients->count && i < rows->count; i++)
        if (has_gradient(p, rows->items[i]))
            GT_PUSH(found.items, found.count, found.capacity, rows->items[i]);
    return found;
}

static void fill_columns(void *context, size_t begin, size_t end)
{
    const family_ops *f = context;
    int64_t *params = gt_table_column(f->table, GT_COL_PARAMS)->ints;
    int64_t *kernels = gt_table_column(f->table, GT_COL_NUM_KERNELS)->ints;
    for (size_t i = begin; i < end; i++) {
        params[i] = gt_op_params_row(f->params, f->ops.items[i].metrics.result);
        kernels[i] = f->ops.items[i].metrics.kernel_count;
    }
}

static family_ops find_ops(gt_perf *p, const gt_row_list *rows, bool backward)
{
    family_ops f = {.perf = p, .backward = backward};
    gt_row_list differentiated = {0};
    if (backward) differentiated = with_gradients(p, rows);
    measure_ops(&f, backward ? &differentiated : rows);
    gt_free(differentiated.items);
    gt_op_params_finish(f.params);
    f.table = gt_op_rows_table(&f.ops, p, GT_PYTHON_LISTS);
    gt_table_add_zeroed(f.table, GT_COL_PARAMS, GT_TYPE_INT);
    gt_table_add_zeroed(f.table, GT_COL_NUM_KERNELS, GT_TYPE_INT);
    gt_parallel_ranges(f.ops.count, GT_ROWS_GRAIN, fill_columns, &f);
    return f;
}

/* The kernels of an op, for the statistics of its group. */
static size_t count_kernels(const void *context, size_t op)
{
    const family_ops *f = context;
    return f->ops.items[op].metrics.kernel_count;
}

static void add_kernels(const void *context, size_t op, gt_row_list *list)
{
    const family_ops *f = context;
    gt_row_list functions = {0};
    gt_perf_find_kernels(f->perf, f->ops.items[op].row, f->backward, &functions, list);
    gt_free(functions.items);
}

static void family_ops_free(family_ops *f)
{
    gt_op_rows_free(&f->ops);
    gt_op_params_free(f->params);
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
    const gt_kernel_source kernels = {
        .count = count_kernels, .add = add_kernels, .context = f, .trace = &f->perf->trace->events};
    gt_op_groups_describe(&groups, sheet, &kernels, GT_COL_KERNEL_DETAILS_SUMMARIZE_KERNEL_STATS,
                          GT_COL_TRUNC_KERNEL_DETAILS, NULL);
    if (with_overlap) {
        const gt_kernel_source overlapping = {.lists = &f->ops.overlapping};
        gt_op_groups_describe(&groups, sheet, &overlapping,
                              GT_COL_OVERLAPPING_KERNELS_DETAILS_SUMMARIZE_KERNEL_STATS,
                              GT_COL_TRUNC_OVERLAPPING_KERNELS_DETAILS, NULL);
        gt_op_groups_round_overlap(sheet);
    }
    gt_op_groups_free(&groups);
    add_params(sheet, gt_op_params_table(f->params));
    arrange(sheet, gt_op_params_table(f->params), options->by_num_kernels);
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
        kept[row] = gt_is_one_of(gt_interner_get(sheet->strings, texts[row]).bytes, names, count) == keep;
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

static void add_sheet(gt_table_list *sheets, gt_table *sheet, const gt_op_sheets_options *options,
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
    gt_table_list_add(sheets, sheet);
}

static void add_forward_and_backward(gt_table_list *sheets, const family_ops *forward,
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

static bool is_single(size_t family, const gt_op_sheets_options *options)
{
    size_t count = options->forward_only ? (size_t)SINGLE_IN_INFERENCE : GT_LENGTH(single_families);
    for (size_t i = 0; i < count; i++)
        if (single_families[i] == family) return true;
    return false;
}

static void add_forward(gt_table_list *sheets, const family_ops *forward, const gt_op_sheets_options *options,
                        const char *family, bool with_overlap)
{
    gt_table *sheet = make_sheet(forward, options, with_overlap);
    keep_named(sheet, training_names, GT_LENGTH(training_names), false);
    add_sheet(sheets, sheet, options, family, "_fwd", with_overlap);
}

static not_modelled add_family(gt_table_list *sheets, gt_perf *p, size_t family, const gt_row_list *rows,
                               const gt_op_sheets_options *options)
{
    bool single = is_single(family, options), has_backward = !single && !options->forward_only;
    const char *name = gt_extension_family_name(p->extension, family);
    family_ops forward = find_ops(p, rows, false);
    family_ops backward = has_backward ? find_ops(p, rows, true) : (family_ops){0};
    for (int with_overlap = 0; with_overlap <= (p->overlaps != NULL); with_overlap++) {
        if (single)
            add_sheet(sheets, make_sheet(&forward, options, with_overlap), options, name, "", with_overlap);
        else if (options->forward_only)
            add_forward(sheets, &forward, options, name, with_overlap);
        else
            add_forward_and_backward(sheets, &forward, &backward, options, name, with_overlap);
    }
    not_modelled left = forward.not_modelled;
    family_ops_free(&forward);
    if (has_backward) family_ops_free(&backward);
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

/* The events of each family, in file order. Threads count the events of ranges of rows, and then list them
 * where those of earlier ranges end. */
typedef struct finding {
    const gt_perf *perf;
    size_t family_count;
    uint32_t *family_of_name; /* by name: its family + 1; 0: not looked up */
    size_t *places;           /* by range and family: events, later the place of the next one */
    gt_row_list *families;
} finding;

/* Threads that look up a new name at the same time store the same. */
static size_t look_up_family(const finding *f, uint32_t row)
{
    uint32_t *cached = &f->family_of_name[f->perf->trace->name[row]];
    uint32_t family = __atomic_load_n(cached, __ATOMIC_RELAXED);
    if (!family) __atomic_store_n(cached, family = (uint32_t)family_of(f->perf, row) + 1, __ATOMIC_RELAXED);
    return family - 1;
}

static void count_families(void *context, size_t begin, size_t end)
{
    const finding *f = context;
    size_t *counts = f->places + begin / GT_ROWS_GRAIN * f->family_count;
    for (size_t row = begin; row < end; row++) counts[look_up_family(f, (uint32_t)row)]++;
}

static void list_families(void *context, size_t begin, size_t end)
{
    const finding *f = context;
    size_t *places = f->places + begin / GT_ROWS_GRAIN * f->family_count;
    for (size_t row = begin; row < end; row++) {
        size_t family = look_up_family(f, (uint32_t)row);
        if (family != GT_FAMILY_NONE) f->families[family].items[places[family]++] = (uint32_t)row;
    }
}

static gt_row_list *find_families(const gt_perf *p)
{
    const gt_linked_view *trace = p->trace;
    size_t ranges = gt_range_count(trace->count, GT_ROWS_GRAIN),
           count = gt_extension_family_count(p->extension);
    finding f = {.perf = p,
                 .family_count = count,
                 .family_of_name = gt_alloc_zero(gt_interner_count(trace->strings), sizeof *f.family_of_name),
                 .places = gt_alloc_zero(ranges * count, sizeof *f.places),
                 .families = gt_alloc_zero(count, sizeof *f.families)};
    gt_parallel_ranges(trace->count, GT_ROWS_GRAIN, count_families, &f);
    for (size_t family = 0; family < count; family++) {
        size_t sum = 0;
        for (size_t r = 0; r < ranges; r++) {
            size_t own = f.places[r * count + family];
            f.places[r * count + family] = sum;
            sum += own;
        }
        if (family == GT_FAMILY_NONE) continue;
        f.families[family] = (gt_row_list){gt_alloc(sum * sizeof(uint32_t)), sum, sum};
    }
    gt_parallel_ranges(trace->count, GT_ROWS_GRAIN, list_families, &f);
    gt_free_all(f.family_of_name, f.places);
    return f.families;
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

enum { FAMILIES_AT_ONCE = 2 }; /* next to other parts of the report, which take longer */

/* A family that has ops. */
typedef struct used_family {
    size_t family;
    gt_row_list rows;
    not_modelled left;
} used_family;

typedef struct families_job {
    gt_perf *perf;
    const gt_op_sheets_options *options;
    used_family *families;
    gt_side_parts parts; /* one per family */
} families_job;

static bool make_family(void *context, size_t part)
{
    families_job *job = context;
    used_family *f = &job->families[part];
    gt_linked_view trace = *job->perf->trace;
    trace.strings = job->parts.own[part];
    gt_perf *perf = job->parts.in_turn ? job->perf : gt_perf_copy(job->perf, &trace);
    f->left = add_family(&job->parts.sheets[part], perf, f->family, &f->rows, job->options);
    if (perf != job->perf) gt_perf_free(perf);
    gt_free(f->rows.items);
    return true;
}

static void add_not_modelled(not_modelled *all, const not_modelled *left)
{
    all->count += left->count;
    all->without_shapes += left->without_shapes;
    all->incomplete += left->incomplete;
    all->of_graphs += left->of_graphs;
    for (size_t i = 0; i < GT_PERF_ARGUMENTS; i++) all->without[i] += left->without[i];
}

void gt_op_sheets_make(gt_perf *p, gt_op_sheets_options options, gt_table_list *tables)
{
    size_t family_count = gt_extension_family_count(p->extension), count = 0, ops = 0;
    gt_row_list *rows = find_families(p);
    families_job job = {.perf = p, .options = &options};
    job.families = gt_alloc(family_count * sizeof *job.families);
    for (size_t family = 0; family < family_count; family++) {
        ops += rows[family].count;
        if (rows[family].count)
            job.families[count++] = (used_family){.family = family, .rows = rows[family]};
        else
            gt_free(rows[family].items);
    }
    gt_free(rows);
    job.parts = (gt_side_parts){.strings = p->trace->strings,
                                .count = count,
                                .at_once = FAMILIES_AT_ONCE,
                                .in_turn = !options.side_by_side};
    gt_side_parts_begin(&job.parts);
    gt_error error;
    gt_side_parts_make(&job.parts, make_family, &job, &error);
    not_modelled all = {0};
    for (size_t i = 0; i < count; i++) {
        gt_side_parts_take(&job.parts, i, tables);
        add_not_modelled(&all, &job.families[i].left);
    }
    gt_side_parts_end(&job.parts);
    gt_free(job.families);
    warn(&all, ops - all.of_graphs);
}
