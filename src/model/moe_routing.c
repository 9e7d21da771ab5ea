/* What goes on around a mixture of experts: choosing the experts of each token, and sorting tokens by expert.
 *
 * How these work is not modelled: their tensors are read or written once, and the largest of them takes an
 * operation for each element. */
#include "base/length.h"
#include "model/family.h"

/* ---- any tensors ---- */

typedef struct routing {
    bool needs_dims;
} routing;

/* Not a scalar, nor a list of tensors. */
static bool is_shape(const gt_value *dims)
{
    if (!gt_value_is_list(dims) || !dims->count) return false;
    for (uint32_t i = 0; i < dims->count; i++)
        if (dims->items[i].type != GT_VALUE_INT && dims->items[i].type != GT_VALUE_BIG) return false;
    return true;
}

static void route(gt_reader *r, const void *variant)
{
    const routing *op = variant;
    uint32_t count = gt_value_is_list(r->dims) ? r->dims->count : 0, operand_count = 0;
    gt_value *operands = gt_arena_alloc(r->arena, count * sizeof *operands);
    gt_int largest = 0, bytes = 0;
    gt_require(r, !op->needs_dims || r->dims->type != GT_VALUE_MISSING);
    for (uint32_t i = 0; i < count; i++) {
        const gt_value *dims = &r->dims->items[i], *type = gt_type_or_default(r, (int)i, &gt_value_none);
        if (!is_shape(dims)) continue;
        gt_int size = gt_shape_size(r, dims);
        if (!operand_count || size > largest) {
            largest = size;
            gt_set_precision(r, gt_type_precision(type));
        }
        bytes = GT_SUM(r, bytes, GT_PRODUCT(r, size, gt_type_bytes(type)));
        operands[operand_count++] = gt_value_tuple(r->arena, (gt_value[]){gt_value_as_tuple(dims), *type}, 2);
    }
    gt_add_value(r, "operands", (gt_value){.type = GT_VALUE_LIST, .count = operand_count, .items = operands});
    gt_set_flops(r, largest);
    if (bytes > 0) gt_set_bytes(r, bytes);
}

/* ---- the k best of E experts for each of M tokens: indices and weights of 4 bytes are written ---- */

static void topk_softplus(gt_reader *r, const void *variant)
{
    (void)variant;
    static const gt_value bf16 = {.type = GT_VALUE_STRING, .text = {"c10::BFloat16", 13}};
    const gt_value *type = gt_type_or_default(r, 2, &bf16);
    gt_int M = gt_read_dim(r, 2, 0), E = gt_read_dim(r, 2, 1), k = gt_read_dim(r, 0, 1);
    gt_add_int(r, "M", M);
    gt_add_int(r, "n", 1);
    gt_add_int(r, "C", E);
    gt_add_int(r, "E", E);
    gt_add_int(r, "topk", k);
    gt_add_value(r, "dtype_in", *type);
    gt_set_precision(r, gt_type_precision(type));
    gt_set_flops(r, GT_PRODUCT(r, 6, M, E));
    int bytes = gt_type_bytes(type);
    if (bytes)
        gt_set_bytes(r, GT_SUM(r, GT_PRODUCT(r, M, E, bytes), GT_PRODUCT(r, 4, E), GT_PRODUCT(r, 8, M, k)));
}

/* ---- the ops ---- */

static const routing topk = {.needs_dims = true}, sorting = {.needs_dims = false};

#define ROUTING(name, backward, evaluate, variant)                                                           \
    {                                                                                                        \
        name, GT_FAMILY_MOE_AUX, "MoE_aux", NULL, backward, "vector", evaluate, variant, 0                   \
    }

static const gt_model rows[] = {
    ROUTING("aiter::biased_grouped_topk_hip", GT_BACKWARD_SKIP, route, &topk),
    ROUTING("aiter::moe_sorting_fwd", GT_BACKWARD_SKIP, route, &sorting),
    ROUTING("aiter::mxfp4_moe_sort_hip", GT_BACKWARD_SKIP, route, &sorting),
    ROUTING("aiter::topk_softplus", GT_BACKWARD_FAIL, topk_softplus, NULL),
};

const gt_model_rows gt_moe_routing_models = {rows, GT_LENGTH(rows)};
