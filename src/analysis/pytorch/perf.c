/* Models, kernels, times and overlaps of single events, for the performance sheets. */
#include "analysis/pytorch/perf.h"

#include "base/memory.h"
#include "trace/pytorch/pytorch.h"
#include "trace/rows.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const size_t argument_columns[GT_PERF_ARGUMENTS] = {
    [GT_PERF_DIMS] = GT_EVENT_INPUT_DIMS,
    [GT_PERF_TYPES] = GT_EVENT_INPUT_TYPES,
    [GT_PERF_STRIDES] = GT_EVENT_INPUT_STRIDES,
    [GT_PERF_CONCRETE] = GT_EVENT_CONCRETE_INPUTS,
};

/* Ops whose models need the step of the program in which they ran. */
static const char ANNOTATED[] = "vllm::unified_attention_with_output";

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
    p->calls = gt_calls_new(trace);
    p->gradients = gt_gradients_link(p->calls);
    p->models = gt_models_new(trace->strings);
    p->extension = options.extension;
    gt_models_reserve(p->models, gt_extension_number(p->extension, 0));
    p->annotations = gt_events_find_annotations(&trace->events, ANNOTATED);
    for (size_t i = 0; i < GT_PERF_ARGUMENTS; i++)
        p->arguments[i] = gt_store_string_ids(trace->store, argument_columns[i]);
    p->sequences = gt_store_ints(trace->store, GT_EVENT_SEQUENCE);
    p->streams = gt_store_string_ids(trace->store, GT_EVENT_STREAM);
    p->launcher_at = gt_alloc(trace->count * sizeof *p->launcher_at);
    memset(p->launcher_at, 0xFF, trace->count * sizeof *p->launcher_at);
    for (size_t i = 0; i < launchers->count; i++) p->launcher_at[launchers->items[i].row] = (uint32_t)i;
    p->communicates = gt_alloc_zero(gt_interner_count(trace->strings), 1);
    if (overlaps) p->overlap_reader = gt_op_overlap_reader_new(trace, overlaps);
    return p;
}

void gt_perf_free(gt_perf *p)
{
    if (!p) return;
    gt_calls_free(p->calls);
    gt_gradients_free(p->gradients);
    gt_models_free(p->models);
    gt_simulator_free(p->simulator);
    for (size_t i = 0; i < GT_PERF_ARGUMENTS; i++) gt_free(p->arguments[i]);
    gt_free(p->annotations);
    gt_free(p->sequences);
    gt_free(p->streams);
    gt_free(p->launcher_at);
    gt_free(p->communicates);
    gt_op_overlap_reader_free(p->overlap_reader);
    gt_free(p->kernels.items);
    gt_free(p->names.items);
    gt_free(p->functions.items);
    gt_free(p->spare_rows.items);
    gt_intervals_free(&p->spare);
    gt_free(p);
}

/* ---- models ---- */

static gt_model_event model_event(const gt_perf *p, uint32_t row, uint32_t name)
{
    return (gt_model_event){
        .name = name,
        .dims = p->arguments[GT_PERF_DIMS][row],
        .types = p->arguments[GT_PERF_TYPES][row],
        .strides = p->arguments[GT_PERF_STRIDES][row],
        .concrete = p->arguments[GT_PERF_CONCRETE][row],
        .extra = p->trace->extra ? p->trace->extra[row] : GT_STR_NONE,
        .annotation = p->annotations ? p->annotations[row] : GT_STR_NONE,
        .sequence = p->sequences[row],
        .kernels = p->names.items,
        .kernel_count = p->names.count,
    };
}

const gt_model *gt_perf_model(gt_perf *p, uint32_t row, uint32_t name)
{
    const gt_model *own = gt_extension_model(p->extension, name);
    if (own) return own;
    gt_model_event event = model_event(p, row, name);
    return gt_model_find(p->models, &event);
}

/* ---- kernels ---- */

/* Fills p->kernels with the GPU events of an event, or of its backward pass, by start. */
static void find_kernels(gt_perf *p, uint32_t row, bool backward)
{
    p->kernels.count = 0;
    if (backward) {
        p->functions.count = 0;
        gt_gradients_add_below(p->gradients, row, &p->functions);
        for (size_t i = 0; i < p->functions.count; i++)
            gt_calls_add_gpu_events(p->calls, p->functions.items[i], &p->kernels);
    } else {
        gt_calls_add_gpu_events(p->calls, row, &p->kernels);
    }
    gt_order_rows(p->kernels.items, p->kernels.count, p->trace->start_us);
}

/* NULL if the model is an extension's and has no result for the event. */
static const gt_model_result *evaluate(gt_perf *p, const gt_model *model, uint32_t row, uint32_t name,
                                       bool backward)
{
    if (model->uses & GT_USES_EXTENSION) return gt_extension_result(p->extension, row, backward);
    p->names.count = 0;
    for (size_t i = 0; i < p->kernels.count; i++)
        GT_PUSH(p->names.items, p->names.count, p->names.capacity, p->trace->name[p->kernels.items[i]]);
    gt_model_event event = model_event(p, row, name);
    return gt_model_evaluate(p->models, model, &event, backward);
}

gt_op_metrics gt_perf_measure_time(gt_perf *p, const gt_row_list *kernels)
{
    return (gt_op_metrics){.busy =
                               gt_busy_time(&p->trace->events, kernels->items, kernels->count, &p->spare)};
}

gt_model_outcome gt_perf_measure(gt_perf *p, const gt_model *model, uint32_t row, uint32_t name,
                                 bool backward, gt_op_metrics *metrics)
{
    double simulated_us = NAN;
    find_kernels(p, row, backward);
    const gt_model_result *result = evaluate(p, model, row, name, backward);
    *metrics = (gt_op_metrics){.lacks_arguments = result && result->lacks_arguments};
    if (!result) return GT_MODEL_FAIL;
    if (result->outcome != GT_MODEL_VALUE) return result->outcome;
    bool simulates = p->simulator && !(model->uses & GT_USES_EXTENSION);
    if (simulates && !gt_simulator_time(p->simulator, model, result, backward, &simulated_us))
        return GT_MODEL_FAIL;
    *metrics = gt_perf_measure_time(p, &p->kernels);
    metrics->result = result;
    metrics->figures = gt_metrics_of(result, metrics->busy.us, p->arch);
    gt_metrics_add_simulation(&metrics->figures, result, metrics->busy.us, simulated_us);
    return GT_MODEL_VALUE;
}

uint32_t gt_perf_first_kernel(const gt_perf *p, uint32_t row)
{
    uint32_t launcher = p->launcher_at[row];
    if (launcher == GT_NO_EVENT) return GT_STR_EMPTY;
    return p->trace->name[p->launchers->kernels[p->launchers->items[launcher].first]];
}

bool gt_perf_communicates(gt_perf *p, uint32_t gpu_row)
{
    uint8_t *known = &p->communicates[p->trace->name[gpu_row]];
    if (!*known) *known = gt_event_communicates(&p->trace->events, gpu_row) ? 2 : 1;
    return *known == 2;
}

gt_kernel_detail gt_perf_detail(const gt_perf *p, uint32_t gpu_row)
{
    return (gt_kernel_detail){.name = p->trace->name[gpu_row],
                              .stream = p->streams[gpu_row],
                              .dur_us = p->trace->dur_us[gpu_row],
                              .overlap_pct = NAN,
                              .integral = (p->trace->integral[gpu_row] & GT_INTEGRAL_DURATION) != 0};
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
    if (p->launcher_at[row] != GT_NO_EVENT) overlap = launcher_overlap_once(p, p->launcher_at[row]);
    if (!isnan(overlap.overlap_pct) || !count) return overlap;
    if (p->asked_overlap.count)
        p->asked_launcher = GT_NO_EVENT; /* its kernels belong to the reader and are overwritten next */
    return gt_op_overlap_read(p->overlap_reader, rows, count,
                              gt_busy_time(&p->trace->events, rows, count, &p->spare).us);
}
