/* Evaluates the model of an op, caches the result for later ops with the same arguments, and computes metrics
 * from it.
 *
 * The cache is a trie. The key of a result is a sequence of string ids (name, dims, types, ...); one map
 * leads from (node, next two ids) to the next node, and the last node of a key has the result. */
#include "model/model.h"

#include "base/team.h"
#include "compat/python_repr.h"
#include "model/family.h"
#include "trace/events.h"

typedef struct remembered {
    uint32_t dims, types, strides, concrete;
} remembered;

struct gt_models {
    const gt_interner *strings;
    gt_values *values;
    gt_arena arena;
    const gt_model **by_name; /* by string id; NULL: not looked up yet; &no_model: none */
    size_t name_count;        /* strings when this was created; models of later ones are not cached */
    gt_models **helpers;      /* that evaluate for this one; they share by_name */
    size_t helper_count, helper_capacity;
    bool is_helper;
    gt_map trie;
    gt_model_result **results; /* by node */
    size_t node_count, node_capacity;
    uint32_t result_count;
    bool exact;
    gt_map sequences; /* (name, Sequence number) to remembered arguments */
    remembered *remembered;
    size_t remembered_count, remembered_capacity;
};

static const gt_model no_model;

gt_models *gt_models_new(const gt_interner *strings)
{
    gt_models *models = gt_alloc_zero(1, sizeof *models);
    models->strings = strings;
    models->values = gt_values_new(strings);
    models->name_count = gt_interner_count(strings);
    models->by_name = gt_alloc_zero(models->name_count, sizeof *models->by_name);
    GT_PUSH(models->results, models->node_count, models->node_capacity, NULL); /* the root of the trie */
    return models;
}

void gt_models_free(gt_models *models)
{
    if (!models) return;
    gt_values_free(models->values);
    gt_arena_free(&models->arena);
    gt_map_free(&models->trie);
    gt_map_free(&models->sequences);
    if (!models->is_helper) gt_free(models->by_name);
    for (size_t i = 0; i < models->helper_count; i++) gt_models_free(models->helpers[i]);
    gt_free_all(models->helpers, models->results, models->remembered, models);
}

void gt_models_be_exact(gt_models *models)
{
    models->exact = true;
}

uint32_t gt_models_reserve(gt_models *models, uint32_t count)
{
    models->result_count += count;
    return models->result_count - count;
}

uint32_t gt_models_result_count(const gt_models *models)
{
    return models->result_count;
}

/* ---- the model of an op ---- */

static const gt_model *look_up(gt_str name)
{
    const gt_model *known = gt_op_find(name);
    if (known) return known->evaluate ? known : &no_model;
    return gt_triton_is_kernel(name) ? &gt_triton_model : &no_model;
}

/* Threads that ask for a new name at the same time store the same. */
static const gt_model *model_of_name(const gt_models *models, uint32_t name)
{
    gt_str text = gt_interner_get(models->strings, name);
    if (name >= models->name_count) return look_up(text);
    const gt_model **cached = &models->by_name[name], *model = __atomic_load_n(cached, __ATOMIC_RELAXED);
    if (!model) __atomic_store_n(cached, model = look_up(text), __ATOMIC_RELAXED);
    return model;
}

bool gt_model_name_decides(const gt_models *models, uint32_t name, const gt_model **model)
{
    *model = model_of_name(models, name);
    if (*model == &no_model) *model = NULL;
    return *model != &gt_triton_model;
}

const gt_model *gt_model_find(gt_models *models, const gt_model_event *event)
{
    const gt_model *model = model_of_name(models, event->name);
    if (model == &no_model) return NULL;
    if (model == &gt_triton_model) {
        bool usable = gt_triton_is_usable(gt_values_get(models->values, event->dims),
                                          gt_values_get(models->values, event->types),
                                          gt_values_get(models->values, event->concrete));
        return usable ? model : NULL;
    }
    return model;
}

/* ---- evaluating ---- */

gt_str gt_read_kernel(gt_reader *r, size_t i)
{
    return gt_interner_get(r->models->strings, r->event->kernels[i]);
}

gt_str gt_read_annotation(gt_reader *r)
{
    return gt_interner_get(r->models->strings, r->event->annotation);
}

static void set_arguments(gt_reader *r, uint32_t dims, uint32_t types, uint32_t strides, uint32_t concrete)
{
    gt_values *values = r->models->values;
    r->dims = gt_values_get(values, dims);
    r->types = gt_values_get(values, types);
    r->strides = gt_values_get(values, strides);
    r->concrete = gt_values_get(values, concrete);
}

/* Where the arguments of ops with this Sequence number and model are: an index into `remembered`. */
static uint32_t *sequence_slot(gt_reader *r, const char *name)
{
    return gt_map_put(&r->models->sequences, (uintptr_t)gt_op_find((gt_str){name, strlen(name)}),
                      (uint64_t)r->event->sequence);
}

void gt_remember_arguments(gt_reader *r, const char *name)
{
    gt_models *models = r->models;
    const gt_model_event *event = r->event;
    if (event->sequence == GT_EVENT_NONE) return;
    remembered arguments = {event->dims, event->types, event->strides, event->concrete};
    *sequence_slot(r, name) = (uint32_t)models->remembered_count;
    GT_PUSH(models->remembered, models->remembered_count, models->remembered_capacity, arguments);
}

void gt_recall_arguments(gt_reader *r, const char *name)
{
    uint32_t found = r->event->sequence == GT_EVENT_NONE ? GT_MAP_NONE : *sequence_slot(r, name);
    if (!gt_require(r, found != GT_MAP_NONE)) return;
    const remembered *arguments = &r->models->remembered[found];
    set_arguments(r, arguments->dims, arguments->types, arguments->strides, arguments->concrete);
}

/* Unit and precision: "matrix_bf16"; "" if one of them is unknown. */
static void write_compute_spec(const gt_reader *r, char spec[GT_COMPUTE_SPEC_MAX])
{
    size_t unit_len = r->unit ? strlen(r->unit) : 0, precision_len = r->precision ? strlen(r->precision) : 0;
    spec[0] = 0;
    if (!unit_len || !precision_len || unit_len + precision_len + 2 > GT_COMPUTE_SPEC_MAX) return;
    memcpy(spec, r->unit, unit_len);
    spec[unit_len] = '_';
    memcpy(spec + unit_len + 1, r->precision, precision_len + 1);
}

/* A result with an id, to be filled. */
static gt_model_result *new_result(gt_models *models)
{
    gt_model_result *result = gt_arena_alloc(&models->arena, sizeof *result);
    result->id = models->result_count++;
    return result;
}

static void fill_result(gt_models *models, const gt_reader *r, gt_model_result *result)
{
    *result = (gt_model_result){.outcome = r->outcome,
                                .lacks_arguments = r->lacks_arguments,
                                .misfits = r->misfits,
                                .id = result->id};
    if (r->outcome != GT_MODEL_VALUE) return;
    result->flops = r->flops;
    result->bytes = r->bytes;
    write_compute_spec(r, result->compute_spec);
    size_t size = r->parameter_count * sizeof *r->parameters;
    result->parameters = memcpy(gt_arena_alloc(&models->arena, size), r->parameters, size);
    result->parameter_count = r->parameter_count;
}

static gt_model_result *evaluate(gt_models *models, const gt_model *model, const gt_model_event *event,
                                 bool backward, gt_model_result *result)
{
    gt_reader r = {.event = event,
                   .name = gt_interner_get(models->strings, event->name),
                   .extra = gt_values_get(models->values, event->extra),
                   .backward = backward,
                   .exact = models->exact,
                   .arena = &models->arena,
                   .models = models,
                   .unit = model->unit,
                   .bytes = (double)NAN};
    set_arguments(&r, event->dims, event->types, event->strides, event->concrete);
    if (backward && model->backward == GT_BACKWARD_SKIP)
        gt_read_skip(&r);
    else if (backward && model->backward == GT_BACKWARD_FAIL)
        gt_read_fail(&r);
    else
        model->evaluate(&r, model->variant);
    gt_require(&r, isfinite(r.flops) && r.flops >= 0 && !isinf(r.bytes) && !(r.bytes < 0));
    fill_result(models, &r, result);
    return result;
}

/* ---- the cache ---- */

static uint32_t child_node(gt_models *models, uint32_t node, uint32_t first, uint32_t second)
{
    uint32_t *next = gt_map_put(&models->trie, (uint64_t)node << 32 | first, second);
    if (*next == GT_MAP_NONE) {
        *next = (uint32_t)models->node_count;
        GT_PUSH(models->results, models->node_count, models->node_capacity, NULL);
    }
    return *next;
}

/* The second id of a step is KERNEL only for kernels, so that keys of different lengths never coincide. */
enum { KERNEL = UINT32_MAX };

static uint32_t node_of(gt_models *models, const gt_model *model, const gt_model_event *event, bool backward)
{
    uint32_t node = child_node(models, 0, event->name, event->dims);
    node = child_node(models, node, event->types, event->strides);
    node = child_node(models, node, event->concrete, backward);
    if (event->extra != GT_STR_NONE || event->annotation != GT_STR_NONE)
        node = child_node(models, node, event->extra, event->annotation);
    if (model->uses & GT_USES_KERNELS)
        for (size_t i = 0; i < event->kernel_count; i++)
            node = child_node(models, node, event->kernels[i], (uint32_t)KERNEL);
    return node;
}

const gt_model_result *gt_model_evaluate(gt_models *models, const gt_model *model,
                                         const gt_model_event *event, bool backward)
{
    if (model->uses & GT_USES_SEQUENCE) return evaluate(models, model, event, backward, new_result(models));
    uint32_t node = node_of(models, model, event, backward);
    if (!models->results[node])
        models->results[node] = evaluate(models, model, event, backward, new_result(models));
    return models->results[node];
}

/* ---- many events ---- */

enum {
    MOST_HELPERS = 64,
    LEAST_GRAIN = GT_GRAIN(64), /* evaluations that one helper does, at least */
};

gt_models *gt_models_new_helper(gt_models *models)
{
    gt_models *helper = gt_alloc_zero(1, sizeof *helper);
    helper->strings = models->strings;
    helper->values = gt_values_new(models->strings);
    helper->by_name = models->by_name;
    helper->name_count = models->name_count;
    helper->exact = models->exact;
    helper->is_helper = true;
    return helper;
}

typedef struct evaluation {
    gt_model_result *result; /* to be filled */
    const gt_model_call *call;
} evaluation;

typedef struct evaluating {
    gt_models *models;
    evaluation *items;
    gt_models **helpers; /* by range */
    size_t grain;
} evaluating;

static void evaluate_range(void *context, size_t begin, size_t end)
{
    evaluating *e = context;
    gt_models *helper = gt_models_new_helper(e->models);
    for (size_t i = begin; i < end; i++) {
        const gt_model_call *call = e->items[i].call;
        evaluate(helper, call->model, &call->event, call->backward, e->items[i].result);
    }
    gt_values_forget(helper->values);
    e->helpers[begin / e->grain] = helper;
}

void gt_model_evaluate_many(gt_models *models, gt_model_call *calls, size_t count)
{
    evaluating e = {.models = models, .items = gt_alloc(count * sizeof *e.items)};
    size_t new_count = 0;
    for (size_t i = 0; i < count; i++) {
        uint32_t node = node_of(models, calls[i].model, &calls[i].event, calls[i].backward);
        if (!models->results[node]) {
            models->results[node] = new_result(models);
            e.items[new_count++] = (evaluation){models->results[node], &calls[i]};
        }
        calls[i].result = models->results[node];
    }
    e.grain = new_count / MOST_HELPERS + 1;
    if (e.grain < LEAST_GRAIN) e.grain = LEAST_GRAIN;
    size_t ranges = gt_range_count(new_count, e.grain);
    if (!ranges) {
        gt_free(e.items);
        return;
    }
    models->helpers = gt_grow(models->helpers, &models->helper_capacity, models->helper_count + ranges,
                              sizeof *models->helpers);
    e.helpers = models->helpers + models->helper_count;
    gt_parallel_ranges(new_count, e.grain, evaluate_range, &e);
    models->helper_count += ranges;
    gt_free(e.items);
}

/* ---- parameters ---- */

const gt_value *gt_model_parameter(const gt_model_result *result, const char *name)
{
    for (size_t i = 0; i < result->parameter_count; i++)
        if (strcmp(result->parameters[i].name, name) == 0) return &result->parameters[i].value;
    return &gt_value_missing;
}

void gt_model_print_parameters(gt_buffer *buffer, const gt_model_result *result)
{
    if (!result->parameter_count) return;
    for (size_t i = 0; i < result->parameter_count; i++) {
        const char *name = result->parameters[i].name;
        gt_buffer_add_cstr(buffer, i ? ", " : "{");
        gt_python_add_repr(buffer, (gt_str){name, strlen(name)});
        gt_buffer_add_cstr(buffer, ": ");
        gt_python_add_value_repr(buffer, &result->parameters[i].value);
    }
    gt_buffer_add_cstr(buffer, "}");
}

/* ---- metrics ----
 *
 * The order of the operations matters: users compare the last digits. */

gt_min_time gt_min_time_of(const gt_model_result *result, const gt_gpu_arch *arch)
{
    double gflops = result->flops / 1e9;
    return (gt_min_time){gflops * 1e9 / (gt_gpu_arch_peak(arch, result->compute_spec) * 1e12) * 1e6,
                         result->bytes / (arch->mem_bw_gbps * 1e9) * 1e6};
}

static void add_roofline(gt_metrics *m, const gt_model_result *result, double kernel_us,
                         const gt_gpu_arch *arch)
{
    gt_min_time min = gt_min_time_of(result, arch);
    if (isnan(min.compute_us) || isnan(min.memory_us) || !(m->gflops > 0)) return;
    bool by_compute = min.compute_us >= min.memory_us;
    m->bound = by_compute ? GT_BOUND_COMPUTE : GT_BOUND_MEMORY;
    m->roofline_us = by_compute ? min.compute_us : min.memory_us;
    if (kernel_us > 0) m->pct_roofline = m->roofline_us / kernel_us * 100;
}

gt_metrics gt_metrics_of(const gt_model_result *result, double kernel_us, const gt_gpu_arch *arch)
{
    const double none = (double)NAN;
    double bytes = result->bytes; /* NaN propagates to what is computed from it */
    bool ran = kernel_us > 0;
    gt_metrics m = {.gflops = result->flops / 1e9, .roofline_us = none, .pct_roofline = none};
    gt_metrics_add_simulation(&m, result, kernel_us, none);
    m.tflops_per_s = ran ? m.gflops / 1e3 / (kernel_us / 1e6) : none;
    m.data_moved_mb = bytes / 1048576;
    m.flops_per_byte = bytes > 0 ? m.gflops * 1e9 / bytes : none;
    m.tb_per_s = ran ? bytes / 1e12 / (kernel_us / 1e6) : none;
    if (arch) add_roofline(&m, result, kernel_us, arch);
    return m;
}

void gt_metrics_add_simulation(gt_metrics *m, const gt_model_result *result, double kernel_us,
                               double simulated_us)
{
    m->simulated_us = simulated_us > 0 ? simulated_us : (double)NAN;
    m->simulated_tflops_per_s = m->gflops / 1e3 / (m->simulated_us / 1e6);
    m->simulated_tb_per_s = result->bytes / 1e12 / (m->simulated_us / 1e6);
    m->pct_simulated = kernel_us > 0 ? m->simulated_us / kernel_us * 100 : (double)NAN;
}

const char *gt_bound_name(gt_bound bound)
{
    static const char *const names[] = {
        [GT_BOUND_UNKNOWN] = NULL, [GT_BOUND_COMPUTE] = "COMPUTE_BOUND", [GT_BOUND_MEMORY] = "MEMORY_BOUND"};
    return names[bound];
}
