/* Models, kernels, times and overlaps of single events, for the performance sheets. */
#include "analysis/pytorch/perf.h"

#include "trace/pytorch/gpu_ranges.h"

static const size_t argument_columns[GT_PERF_ARGUMENTS] = {
    [GT_PERF_DIMS] = GT_EVENT_INPUT_DIMS,
    [GT_PERF_TYPES] = GT_EVENT_INPUT_TYPES,
    [GT_PERF_STRIDES] = GT_EVENT_INPUT_STRIDES,
    [GT_PERF_CONCRETE] = GT_EVENT_CONCRETE_INPUTS,
};

/* Ops whose models need the step of the program in which they ran. TraceLens' report on training knows only
 * the first one. */
static const char *const annotated[] = {"vllm::unified_attention_with_output",
                                        "aiter::mha_varlen_fwd",
                                        "pseudo_mla_decode_fwd",
                                        "pseudo_mla_prefill_fwd",
                                        "vllm::gdn_attention_core",
                                        "aiter::fmha_v3_varlen_fwd",
                                        "sglang_profiler::tilelang_kernel_tilelang_sparse_fwd",
                                        "sglang_profiler::attention_paged_attention_ragged",
                                        "aiter::mha_batch_prefill",
                                        "aiter::pa_decode_gluon",
                                        "aiter::v4_attention_with_output",
                                        "pseudo_v4_paged_decode_swa",
                                        "pseudo_v4_paged_decode_csa",
                                        "pseudo_v4_paged_decode_hca"};

static void place_range(void *context, size_t begin, size_t end)
{
    gt_perf *p = context;
    for (size_t i = begin; i < end; i++)
        p->launcher_at[gt_row_set_rank(&p->launcher_rows, p->launchers->items[i].row)] = (uint32_t)i;
}

static void place_launchers(gt_perf *p)
{
    const gt_launchers *l = p->launchers;
    p->launcher_rows = gt_row_set_new(p->trace->count);
    for (size_t i = 0; i < l->count; i++) gt_row_set_add(&p->launcher_rows, l->items[i].row);
    p->launcher_at = gt_alloc(gt_row_set_finish(&p->launcher_rows) * sizeof *p->launcher_at);
    gt_parallel_ranges(l->count, GT_OPS_GRAIN, place_range, p);
}

static void place_gradients(gt_perf *p)
{
    const gt_gradients *g = p->gradients;
    p->gradient_begins = gt_alloc((g->count + 1) * sizeof *p->gradient_begins);
    p->gradient_begins[0] = 0;
    for (size_t i = 0; i < g->count; i++)
        p->gradient_begins[i + 1] =
            p->gradient_begins[i] +
            gt_calls_count_gpu_events(p->calls, g->backward_of[p->calls->row_of[g->numbers[i]]]);
}

gt_perf *gt_perf_new(const gt_linked_view *trace, const gt_launchers *launchers, const gt_overlaps *overlaps,
                     gt_perf_options options)
{
    gt_perf *p = gt_alloc_zero(1, sizeof *p);
    p->arch = options.gpu;
    p->asked_launcher = GT_NO_EVENT;
    p->simulator = gt_simulator_new(options.gpu, options.python, options.python_timeout_s);
    p->trace = trace;
    p->launchers = launchers;
    p->overlaps = overlaps;
    p->own_calls = *launchers->calls;
    p->own_calls.trace = trace; /* whose strings are those of the sheets */
    p->calls = &p->own_calls;
    p->gradients = gt_gradients_link(p->calls);
    p->models = gt_models_new(trace->strings);
    p->extension = options.extension;
    p->params_as_text = options.params_as_text;
    gt_models_reserve(p->models, gt_extension_number(p->extension, 0));
    p->annotations = gt_events_find_annotations(
        &trace->events, annotated, options.annotate_all ? GT_LENGTH(annotated) : 1, gt_step_has_lengths);
    place_launchers(p);
    place_gradients(p);
    p->communicates = gt_alloc_zero(gt_interner_count(trace->strings), 1);
    p->layouts = gt_alloc_zero(gt_interner_count(trace->strings), 1);
    if (overlaps) p->overlap_reader = gt_op_overlap_reader_new(trace, overlaps);
    return p;
}

/* Whether the trace may have ops whose models learn from earlier ones. */
static bool has_learning_models(const gt_linked_view *trace)
{
    size_t count;
    const gt_model *const *ops = gt_op_list(&count);
    for (size_t i = 0; i < count; i++)
        if (ops[i]->uses & GT_USES_SEQUENCE &&
            gt_interner_find(trace->strings, ops[i]->name, strlen(ops[i]->name)) != GT_STR_NONE)
            return true;
    return false;
}

bool gt_perf_can_copy(const gt_perf *p)
{
    return !p->simulator && !p->extension && !p->overlaps && !has_learning_models(p->trace);
}

gt_perf *gt_perf_copy(const gt_perf *perf, const gt_linked_view *trace)
{
    gt_perf *p = gt_alloc(sizeof *p);
    *p = (gt_perf){.trace = trace,
                   .launchers = perf->launchers,
                   .arch = perf->arch,
                   .asked_launcher = GT_NO_EVENT,
                   .calls = perf->calls,
                   .gradients = perf->gradients,
                   .gradient_begins = perf->gradient_begins,
                   .models = gt_models_new(trace->strings),
                   .annotations = perf->annotations,
                   .launcher_rows = perf->launcher_rows,
                   .launcher_at = perf->launcher_at,
                   .communicates = perf->communicates,
                   .layouts = perf->layouts,
                   .params_as_text = perf->params_as_text,
                   .borrows = true};
    return p;
}

static void free_shared(gt_perf *p)
{
    gt_gradients_free(p->gradients);
    gt_simulator_free(p->simulator);
    gt_free_all(p->gradient_begins, p->annotations);
    gt_row_set_free(&p->launcher_rows);
    gt_free_all(p->launcher_at, p->communicates, p->layouts);
    gt_op_overlap_reader_free(p->overlap_reader);
}

void gt_perf_free(gt_perf *p)
{
    if (!p) return;
    if (!p->borrows) free_shared(p);
    gt_models_free(p->models);
    gt_free_all(p->kernels.items, p->names.items, p->functions.items, p->spare_rows.items);
    gt_intervals_free(&p->spare);
    gt_free(p);
}

/* ---- arguments and models ---- */

void gt_perf_arguments(const gt_perf *p, const uint32_t *rows, size_t count, uint32_t *ids)
{
    enum { BLOCK = 256 };
    uint32_t values[BLOCK];
    for (size_t begin = 0; begin < count; begin += BLOCK) {
        size_t n = count - begin < BLOCK ? count - begin : BLOCK;
        for (size_t a = 0; a < GT_PERF_ARGUMENTS; a++) {
            gt_store_string_ids_at(p->trace->store, argument_columns[a], rows + begin, n, values);
            for (size_t i = 0; i < n; i++) ids[(begin + i) * GT_PERF_ARGUMENTS + a] = values[i];
        }
    }
}

/* Without its kernels. */
static gt_model_event model_event(const gt_perf *p, uint32_t row, uint32_t name)
{
    uint32_t ids[GT_PERF_ARGUMENTS];
    gt_perf_arguments(p, &row, 1, ids);
    return (gt_model_event){
        .name = name,
        .dims = ids[GT_PERF_DIMS],
        .types = ids[GT_PERF_TYPES],
        .strides = ids[GT_PERF_STRIDES],
        .concrete = ids[GT_PERF_CONCRETE],
        .extra = p->trace->extra ? p->trace->extra[row] : GT_STR_NONE,
        .annotation = p->annotations ? p->annotations[row] : GT_STR_NONE,
        .sequence = GT_EVENT_NONE,
    };
}

const gt_model *gt_perf_model_for_thread(gt_perf *p, gt_models **models, uint32_t row, uint32_t name)
{
    const gt_model *model = gt_extension_model(p->extension, name);
    if (model || gt_model_name_decides(p->models, name, &model)) return model;
    if (!*models) *models = gt_models_new_helper(p->models);
    gt_model_event event = model_event(p, row, name);
    return gt_model_find(*models, &event);
}

const gt_model *gt_perf_model(gt_perf *p, uint32_t row, uint32_t name)
{
    return gt_perf_model_for_thread(p, &p->models, row, name);
}

/* ---- kernels ---- */

size_t gt_perf_count_kernels(const gt_perf *p, uint32_t row, bool backward)
{
    if (!backward) return gt_calls_count_gpu_events(p->calls, row);
    if (p->trace->preorder[row] == GT_NO_EVENT) {
        uint32_t function = gt_gradient_function(p->gradients, row);
        return function == GT_NO_EVENT ? 0 : gt_calls_count_gpu_events(p->calls, function);
    }
    size_t begin, end;
    gt_gradients_below(p->gradients, row, &begin, &end);
    return p->gradient_begins[end] - p->gradient_begins[begin];
}

void gt_perf_find_kernels(const gt_perf *p, uint32_t row, bool backward, gt_row_list *functions,
                          gt_row_list *kernels)
{
    kernels->count = 0;
    if (backward) {
        functions->count = 0;
        gt_gradients_add_below(p->gradients, row, functions);
        for (size_t i = 0; i < functions->count; i++)
            gt_calls_add_gpu_events(p->calls, functions->items[i], kernels);
    } else {
        gt_calls_add_gpu_events(p->calls, row, kernels);
    }
    gt_order_rows(kernels->items, kernels->count, p->trace->start_us);
}

const gt_model_result *gt_perf_evaluate_in_order(gt_perf *p, const gt_model *model, uint32_t row,
                                                 uint32_t name, bool backward)
{
    gt_model_event event = model_event(p, row, name);
    gt_store_ints_at(p->trace->store, GT_EVENT_SEQUENCE, &row, 1, &event.sequence);
    return gt_model_evaluate(p->models, model, &event, backward);
}

/* NULL if the model is an extension's and has no result for the event. */
static const gt_model_result *evaluate(gt_perf *p, const gt_model *model, uint32_t row, uint32_t name,
                                       bool backward)
{
    if (model->uses & GT_USES_EXTENSION) return gt_extension_result(p->extension, row, backward);
    if (model->uses & GT_USES_SEQUENCE) return gt_perf_evaluate_in_order(p, model, row, name, backward);
    p->names.count = 0;
    for (size_t i = 0; i < p->kernels.count && model->uses & GT_USES_KERNELS; i++)
        GT_PUSH(p->names.items, p->names.count, p->names.capacity, p->trace->name[p->kernels.items[i]]);
    gt_model_event event = model_event(p, row, name);
    event.kernels = p->names.items;
    event.kernel_count = p->names.count;
    return gt_model_evaluate(p->models, model, &event, backward);
}

gt_model_outcome gt_perf_finish(gt_perf *p, const gt_model *model, const gt_model_result *result,
                                bool backward, gt_op_metrics *metrics)
{
    metrics->result = NULL;
    metrics->simulated_us = (double)NAN;
    metrics->lacks_arguments = result && result->lacks_arguments;
    if (!result) return GT_MODEL_FAIL;
    if (result->outcome != GT_MODEL_VALUE) return result->outcome;
    bool simulates = p->simulator && !(model->uses & GT_USES_EXTENSION);
    if (simulates && !gt_simulator_time(p->simulator, model, result, backward, &metrics->simulated_us))
        return GT_MODEL_FAIL;
    metrics->result = result;
    return GT_MODEL_VALUE;
}

gt_model_outcome gt_perf_measure(gt_perf *p, const gt_model *model, uint32_t row, uint32_t name,
                                 bool backward, gt_op_metrics *metrics)
{
    *metrics = (gt_op_metrics){0};
    gt_perf_find_kernels(p, row, backward, &p->functions, &p->kernels);
    gt_model_outcome outcome =
        gt_perf_finish(p, model, evaluate(p, model, row, name, backward), backward, metrics);
    if (outcome != GT_MODEL_VALUE) return outcome;
    gt_op_metrics_set_busy(metrics,
                           gt_busy_time(&p->trace->events, p->kernels.items, p->kernels.count, &p->spare));
    metrics->kernel_count = (uint32_t)p->kernels.count;
    return GT_MODEL_VALUE;
}

bool gt_perf_has_result(gt_perf *p, const gt_model *model, uint32_t row, bool backward)
{
    gt_op_metrics metrics;
    p->kernels.count = 0;
    if (model->uses & GT_USES_KERNELS) gt_perf_find_kernels(p, row, backward, &p->functions, &p->kernels);
    const gt_model_result *result = evaluate(p, model, row, p->trace->name[row], backward);
    return gt_perf_finish(p, model, result, backward, &metrics) == GT_MODEL_VALUE;
}

gt_metrics gt_perf_figures(const gt_perf *p, const gt_op_metrics *metrics)
{
    gt_metrics figures = gt_metrics_of(metrics->result, metrics->busy_us, p->arch);
    gt_metrics_add_simulation(&figures, metrics->result, metrics->busy_us, metrics->simulated_us);
    return figures;
}

static uint32_t launcher_of_row(const gt_perf *p, uint32_t row)
{
    uint32_t rank = gt_row_set_rank(&p->launcher_rows, row);
    return rank == GT_NO_RANK ? GT_NO_EVENT : p->launcher_at[rank];
}

uint32_t gt_perf_first_kernel(const gt_perf *p, uint32_t row)
{
    uint32_t launcher = launcher_of_row(p, row);
    if (launcher == GT_NO_EVENT) return GT_STR_EMPTY;
    return p->trace->name[p->launchers->kernels[p->launchers->items[launcher].first]];
}

/* Threads that check a new name at the same time store the same. */
bool gt_perf_communicates(const gt_perf *p, uint32_t gpu_row)
{
    uint8_t *cached = &p->communicates[p->trace->name[gpu_row]];
    uint8_t known = __atomic_load_n(cached, __ATOMIC_RELAXED);
    if (!known) {
        known = gt_event_communicates(&p->trace->events, gpu_row) ? 2 : 1;
        __atomic_store_n(cached, known, __ATOMIC_RELAXED);
    }
    return known == 2;
}

/* ---- overlap ---- */

static gt_op_overlap launcher_overlap(gt_perf *p, uint32_t launcher)
{
    const gt_launcher *l = &p->launchers->items[launcher];
    gt_row_list *rows = &p->spare_rows;
    rows->items = gt_grow(rows->items, &rows->capacity, l->count, sizeof *rows->items);
    memcpy(rows->items, p->launchers->kernels + l->first, l->count * sizeof *rows->items);
    qsort(rows->items, l->count, sizeof *rows->items, gt_by_row); /* the reader needs file order */
    return gt_op_overlap_read(p->overlap_reader, rows->items, l->count, l->direct_us);
}

/* The kernels of a graph launch follow each other and have the same launcher, so the last result is cached.
 */
static gt_op_overlap launcher_overlap_once(gt_perf *p, uint32_t launcher)
{
    if (p->asked_launcher != launcher) p->asked_overlap = launcher_overlap(p, launcher);
    p->asked_launcher = launcher;
    return p->asked_overlap;
}

gt_op_overlap gt_perf_overlap(gt_perf *p, uint32_t row, const uint32_t *rows, size_t count)
{
    gt_op_overlap overlap = {.overlap_pct = NAN};
    uint32_t launcher = launcher_of_row(p, row);
    if (launcher != GT_NO_EVENT) overlap = launcher_overlap_once(p, launcher);
    if (!isnan(overlap.overlap_pct) || !count) return overlap;
    if (p->asked_overlap.count)
        p->asked_launcher = GT_NO_EVENT; /* its kernels belong to the reader and are overwritten next */
    return gt_op_overlap_read(p->overlap_reader, rows, count,
                              gt_busy_time(&p->trace->events, rows, count, &p->spare).us);
}
