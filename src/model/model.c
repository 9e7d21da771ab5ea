/* Asking a model about an op, and keeping the answer for the next op with the same arguments.
 *
 * What an answer depends on is a path of text ids (name, dims, types, ...); paths are followed through one
 * map from (node, next two ids) to nodes, and a node where a path ends has the answer. */
#include "model/model.h"

#include "base/map.h"
#include "compat/python_repr.h"
#include "model/family.h"
#include "model/triton.h"
#include "trace/events.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct remembered {
    uint32_t dims, types, strides, concrete;
} remembered;

struct gt_models {
    const gt_interner *strings;
    gt_values *values;
    gt_arena arena;
    const gt_model **by_name; /* by text; NULL where not asked for yet, &no_model where there is none */
    size_t name_count;
    gt_map paths;
    gt_model_result **results; /* by node */
    size_t node_count, node_capacity;
    uint32_t result_count;
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
    GT_PUSH(models->results, models->node_count, models->node_capacity, NULL); /* where all paths begin */
    return models;
}

void gt_models_free(gt_models *models)
{
    if (!models) return;
    gt_values_free(models->values);
    gt_arena_free(&models->arena);
    gt_map_free(&models->paths);
    gt_map_free(&models->sequences);
    gt_free(models->by_name);
    gt_free(models->results);
    gt_free(models->remembered);
    gt_free(models);
}

uint32_t gt_models_reserve(gt_models *models, uint32_t count)
{
    models->result_count += count;
    return models->result_count - count;
}

/* ---- the model of an op ---- */

static const gt_model **model_of_name(gt_models *models, uint32_t name)
{
    if (name >= models->name_count) {
        size_t count = gt_interner_count(models->strings);
        models->by_name = gt_realloc(models->by_name, count * sizeof *models->by_name);
        memset(models->by_name + models->name_count, 0,
               (count - models->name_count) * sizeof *models->by_name);
        models->name_count = count;
    }
    const gt_model **model = &models->by_name[name];
    if (!*model) {
        gt_str text = gt_interner_get(models->strings, name);
        const gt_model *known = gt_op_find(text);
        *model = known && known->evaluate              ? known
                 : !known && gt_triton_is_kernel(text) ? &gt_triton_model
                                                       : &no_model;
    }
    return model;
}

const gt_model *gt_model_find(gt_models *models, const gt_model_event *event)
{
    const gt_model *model = *model_of_name(models, event->name);
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

static uint32_t *place_of_sequence(gt_reader *r, const char *name)
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
    *place_of_sequence(r, name) = (uint32_t)models->remembered_count;
    GT_PUSH(models->remembered, models->remembered_count, models->remembered_capacity, arguments);
}

void gt_recall_arguments(gt_reader *r, const char *name)
{
    uint32_t found = r->event->sequence == GT_EVENT_NONE ? GT_MAP_NONE : *place_of_sequence(r, name);
    if (!gt_require(r, found != GT_MAP_NONE)) return;
    const remembered *arguments = &r->models->remembered[found];
    set_arguments(r, arguments->dims, arguments->types, arguments->strides, arguments->concrete);
}

/* maf and precision, as "matrix_bf16". */
static void name_spec(const gt_reader *r, char spec[GT_COMPUTE_SPEC_MAX])
{
    size_t maf_len = r->maf ? strlen(r->maf) : 0, precision_len = r->precision ? strlen(r->precision) : 0;
    spec[0] = 0;
    if (!maf_len || !precision_len || maf_len + precision_len + 2 > GT_COMPUTE_SPEC_MAX) return;
    memcpy(spec, r->maf, maf_len);
    spec[maf_len] = '_';
    memcpy(spec + maf_len + 1, r->precision, precision_len + 1);
}

static gt_model_result *keep_result(gt_models *models, const gt_reader *r)
{
    gt_model_result *result = gt_arena_alloc(&models->arena, sizeof *result);
    *result = (gt_model_result){.outcome = r->outcome, .id = models->result_count++};
    if (r->outcome != GT_MODEL_VALUE) return result;
    result->flops = r->flops;
    result->bytes = r->bytes;
    name_spec(r, result->compute_spec);
    size_t size = r->parameter_count * sizeof *r->parameters;
    result->parameters = memcpy(gt_arena_alloc(&models->arena, size), r->parameters, size);
    result->parameter_count = r->parameter_count;
    return result;
}

static gt_model_result *evaluate(gt_models *models, const gt_model *model, const gt_model_event *event,
                                 bool backward)
{
    gt_reader r = {.event = event,
                   .name = gt_interner_get(models->strings, event->name),
                   .extra = gt_values_get(models->values, event->extra),
                   .backward = backward,
                   .arena = &models->arena,
                   .models = models,
                   .maf = model->maf,
                   .bytes = (double)NAN};
    set_arguments(&r, event->dims, event->types, event->strides, event->concrete);
    if (backward && model->backward == GT_BACKWARD_SKIP)
        gt_read_skip(&r);
    else if (backward && model->backward == GT_BACKWARD_FAIL)
        gt_read_fail(&r);
    else
        model->evaluate(&r, model->variant);
    bool sound = isfinite(r.flops) && r.flops >= 0 && !isinf(r.bytes) && !(r.bytes < 0);
    gt_require(&r, sound);
    return keep_result(models, &r);
}

/* ---- the same arguments again ---- */

static uint32_t follow(gt_models *models, uint32_t node, uint32_t first, uint32_t second)
{
    uint32_t *next = gt_map_put(&models->paths, (uint64_t)node << 32 | first, second);
    if (*next == GT_MAP_NONE) {
        *next = (uint32_t)models->node_count;
        GT_PUSH(models->results, models->node_count, models->node_capacity, NULL);
    }
    return *next;
}

/* Each step's second id is below KERNEL unless it is a kernel's, so no two paths are taken for one. */
enum { KERNEL = UINT32_MAX };

static uint32_t node_of(gt_models *models, const gt_model *model, const gt_model_event *event, bool backward)
{
    uint32_t node = follow(models, 0, event->name, event->dims);
    node = follow(models, node, event->types, event->strides);
    node = follow(models, node, event->concrete, backward);
    if (event->extra != GT_STR_NONE || event->annotation != GT_STR_NONE)
        node = follow(models, node, event->extra, event->annotation);
    if (model->uses & GT_USES_KERNELS)
        for (size_t i = 0; i < event->kernel_count; i++)
            node = follow(models, node, event->kernels[i], (uint32_t)KERNEL);
    return node;
}

const gt_model_result *gt_model_evaluate(gt_models *models, const gt_model *model,
                                         const gt_model_event *event, bool backward)
{
    if (model->uses & GT_USES_SEQUENCE) return evaluate(models, model, event, backward);
    uint32_t node = node_of(models, model, event, backward);
    if (!models->results[node]) {
        gt_model_result *result = evaluate(models, model, event, backward);
        models->results[node] = result;
    }
    return models->results[node];
}

/* ---- printing ---- */

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
        gt_value_print_inside(buffer, &result->parameters[i].value);
    }
    gt_buffer_add_cstr(buffer, "}");
}
