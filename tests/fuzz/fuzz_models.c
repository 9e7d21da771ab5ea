/* Fuzzes the models. Lines of the input: the op's name (or its number in the registry), dims, types, strides,
 * concrete inputs, extra arguments, annotation, a kernel's name. The result must be valid or absent. */
#include "base/interner.h"
#include "model/family.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static uint32_t next_line(gt_interner *strings, const uint8_t **data, size_t *size)
{
    const uint8_t *end = memchr(*data, '\n', *size);
    size_t len = end ? (size_t)(end - *data) : *size;
    uint32_t id = len ? gt_interner_add(strings, *data, len) : (uint32_t)GT_STR_NONE;
    size_t used = end ? len + 1 : len;
    *data += used;
    *size -= used;
    return id;
}

static void check(const gt_model_result *result)
{
    if (result->outcome != GT_MODEL_VALUE) return;
    if (!isfinite(result->flops) || result->flops < 0 || isinf(result->bytes) || result->bytes < 0) abort();
    gt_buffer text = {0};
    gt_model_print_parameters(&text, result);
    gt_buffer_free(&text);
    gt_error error;
    gt_metrics metrics = gt_metrics_of(result, 1, gt_gpu_arch_find("MI300X", &error));
    if (metrics.bound != GT_BOUND_UNKNOWN && !(metrics.roofline_us >= 0)) abort();
}

/* Both passes, as reports read arguments or, if `exact`, as the ops define them. */
static void evaluate(const gt_model_event *event, const gt_model *model, gt_interner *strings, bool exact)
{
    gt_models *models = gt_models_new(strings);
    if (exact) gt_models_be_exact(models);
    const gt_model *found = gt_model_find(models, event);
    if (found) model = found;
    for (int backward = 0; backward < 2 && model->evaluate; backward++)
        check(gt_model_evaluate(models, model, event, backward));
    gt_models_free(models);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (!size) return 0;
    size_t count;
    const gt_model *const *rows = gt_op_list(&count);
    gt_interner *strings = gt_interner_new();
    gt_model_event event = {.sequence = 1};
    const gt_model *model = rows[data[0] % count];
    event.name = next_line(strings, &data, &size);
    event.dims = next_line(strings, &data, &size);
    event.types = next_line(strings, &data, &size);
    event.strides = next_line(strings, &data, &size);
    event.concrete = next_line(strings, &data, &size);
    event.extra = next_line(strings, &data, &size);
    event.annotation = next_line(strings, &data, &size);
    uint32_t kernel = next_line(strings, &data, &size);
    event.kernels = &kernel;
    event.kernel_count = 1;
    evaluate(&event, model, strings, false);
    evaluate(&event, model, strings, true);
    gt_interner_free(strings);
    return 0;
}
