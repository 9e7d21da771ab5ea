/* What kind of work is it? The many names that traces use are mapped to a few categories. The first that says
 * something decides:
 *
 *     what it is         copies and memsets, kernels of collectives
 *     who asked for it   anything that Optimizer.step launched
 *     the op             its category of analysis/pytorch/op_category.h: "GEMM", "SDPA_fwd", ...,
 *                        or its class of analysis/jax/kernels.h
 *     the kernel         the class that its name tells (analysis/kernel_classifier.h)
 *     the op             likewise
 *
 * Only copies and memsets are GT_CATEGORY_COPY, and only kernels of collectives GT_CATEGORY_COMMUNICATION:
 * their time counts after that of other kernels. So a kernel that copies is elementwise.
 *
 * A kernel that an op launches for something else than its main work counts as its op does: the reduction of
 * a split matrix product is part of the product. */
#include "analysis/categories.h"

#include "analysis/kernel_classifier.h"
#include "analysis/pytorch/op_category.h"
#include "schema/columns.h"
#include "trace/communication.h"

static const char *const category_names[GT_CATEGORIES] = {
    [GT_CATEGORY_GEMM] = "GEMM",
    [GT_CATEGORY_ATTENTION] = "attention",
    [GT_CATEGORY_CONVOLUTION] = "convolution",
    [GT_CATEGORY_NORMALISATION] = "normalisation",
    [GT_CATEGORY_ELEMENTWISE] = "elementwise",
    [GT_CATEGORY_REDUCTION] = "reduction",
    [GT_CATEGORY_OPTIMIZER] = "optimizer",
    [GT_CATEGORY_OTHER] = "other",
    [GT_CATEGORY_COMMUNICATION] = "communication",
    [GT_CATEGORY_COPY] = "copy",
};

const char *gt_category_name(gt_category category)
{
    return category_names[category];
}

gt_category gt_category_named(gt_str name)
{
    for (gt_category category = 0; category < GT_CATEGORIES; category++)
        if (gt_str_equals(name, category_names[category])) return category;
    return GT_CATEGORY_OTHER;
}

/* ---- categories of ops ---- */

/* Categories of model/model.h and analysis/pytorch/op_category.h. Those that say little about the kernels,
 * such as "triton", "other" and "MoE_aux", are not listed. */
static const struct {
    const char *name;
    gt_category category;
} op_categories[] = {
    {"GEMM", GT_CATEGORY_GEMM},
    {"GroupedGEMM_fwd", GT_CATEGORY_GEMM},
    {"GroupedGEMM_bwd", GT_CATEGORY_GEMM},
    {"MoE_fused", GT_CATEGORY_GEMM},
    {"MoE_unfused", GT_CATEGORY_GEMM},
    {"SDPA_fwd", GT_CATEGORY_ATTENTION},
    {"SDPA_bwd", GT_CATEGORY_ATTENTION},
    {"InferenceAttention", GT_CATEGORY_ATTENTION},
    {"CONV_fwd", GT_CATEGORY_CONVOLUTION},
    {"CONV_bwd", GT_CATEGORY_CONVOLUTION},
    {"NORM_fwd", GT_CATEGORY_NORMALISATION},
    {"NORM_bwd", GT_CATEGORY_NORMALISATION},
    {"RMSNorm", GT_CATEGORY_NORMALISATION},
    {"elementwise", GT_CATEGORY_ELEMENTWISE},
    {"GroupQuant", GT_CATEGORY_ELEMENTWISE},
    {"RoPE_fwd", GT_CATEGORY_ELEMENTWISE},
    {"RoPE_bwd", GT_CATEGORY_ELEMENTWISE},
    {"FusedRoPE", GT_CATEGORY_ELEMENTWISE},
    {"reduce", GT_CATEGORY_REDUCTION},
    {"CrossEntropy_fwd", GT_CATEGORY_REDUCTION},
    {"CrossEntropy_bwd", GT_CATEGORY_REDUCTION},
    {"multi_tensor_apply", GT_CATEGORY_OPTIMIZER},
    /* JAX: analysis/jax/kernels.c */
    {"FA BWD", GT_CATEGORY_ATTENTION},
    {"FA FWD", GT_CATEGORY_ATTENTION},
    {"FA V3", GT_CATEGORY_ATTENTION},
    {"Conv", GT_CATEGORY_CONVOLUTION},
};

/* GT_CATEGORIES if it is not listed. */
static gt_category look_up(gt_str op_category)
{
    for (size_t i = 0; i < GT_LENGTH(op_categories); i++)
        if (gt_str_equals(op_category, op_categories[i].name)) return op_categories[i].category;
    return GT_CATEGORIES;
}

gt_category gt_category_of_ops(gt_str op_category)
{
    gt_category found = look_up(op_category);
    return found == GT_CATEGORIES ? GT_CATEGORY_OTHER : found;
}

/* ---- names of kernels ---- */

/* Only kernels of collectives communicate and only copies are copies: see above. GT_CATEGORIES: the class
 * says too little. */
static const gt_category of_class[GT_KERNEL_CLASSES] = {
    [GT_CLASS_COPY] = GT_CATEGORY_ELEMENTWISE,
    [GT_CLASS_COMM] = GT_CATEGORY_OTHER,
    [GT_CLASS_MOE_ROUTE] = GT_CATEGORY_OTHER,
    [GT_CLASS_MOE_GEMM] = GT_CATEGORY_GEMM,
    [GT_CLASS_KV_CACHE] = GT_CATEGORY_ELEMENTWISE,
    [GT_CLASS_ATTENTION] = GT_CATEGORY_ATTENTION,
    [GT_CLASS_GEMM] = GT_CATEGORY_GEMM,
    [GT_CLASS_CONV] = GT_CATEGORY_CONVOLUTION,
    [GT_CLASS_NORM] = GT_CATEGORY_NORMALISATION,
    [GT_CLASS_QUANT] = GT_CATEGORY_ELEMENTWISE,
    [GT_CLASS_ROPE] = GT_CATEGORY_ELEMENTWISE,
    [GT_CLASS_ACTIVATION] = GT_CATEGORY_ELEMENTWISE,
    [GT_CLASS_SAMPLING] = GT_CATEGORY_OTHER,
    [GT_CLASS_SOFTMAX] = GT_CATEGORY_REDUCTION,
    [GT_CLASS_EMBEDDING] = GT_CATEGORY_OTHER,
    [GT_CLASS_ELEMENTWISE] = GT_CATEGORY_ELEMENTWISE,
    [GT_CLASS_REDUCE] = GT_CATEGORY_REDUCTION,
    [GT_CLASS_OPTIMIZER] = GT_CATEGORY_OPTIMIZER,
    [GT_CLASS_OTHER] = GT_CATEGORIES,
};

struct gt_categories {
    gt_interner *strings;
    gt_op_categories *of_ops;
    gt_kernel_classifier *of_names;
    gt_map known; /* name and op, said and who asked for it, to the category */
};

gt_categories *gt_categories_new(gt_interner *strings)
{
    gt_categories *c = gt_alloc_zero(1, sizeof *c);
    c->strings = strings;
    c->of_ops = gt_op_categories_new(strings, NULL);
    c->of_names = gt_kernel_classifier_new(strings);
    return c;
}

void gt_categories_free(gt_categories *c)
{
    if (!c) return;
    gt_op_categories_free(c->of_ops);
    gt_kernel_classifier_free(c->of_names);
    gt_map_free(&c->known);
    gt_free(c);
}

static gt_category by_names(gt_categories *c, const gt_gpu_work *work)
{
    uint32_t said = work->said;
    if (said == GT_STR_NONE && work->op != GT_STR_NONE)
        said = gt_op_categories_of(c->of_ops, work->op, work->name);
    gt_category found = look_up(gt_interner_get(c->strings, said));
    if (found == GT_CATEGORIES) found = of_class[gt_kernel_classifier_class(c->of_names, work->name)];
    if (found == GT_CATEGORIES) found = of_class[gt_kernel_classifier_class(c->of_names, work->op)];
    return found == GT_CATEGORIES ? GT_CATEGORY_OTHER : found;
}

gt_category gt_categories_find(gt_categories *c, const gt_gpu_work *work)
{
    if (work->copies) return GT_CATEGORY_COPY;
    if (work->communicates) return GT_CATEGORY_COMMUNICATION;
    if (work->in_optimizer) return GT_CATEGORY_OPTIMIZER;
    uint32_t *known = gt_map_put(&c->known, (uint64_t)work->op << 32 | work->name, work->said);
    if (*known == GT_MAP_NONE) *known = by_names(c, work);
    return (gt_category)*known;
}

/* ---- sheets ---- */

static void add_column(gt_table *kernels, gt_col name, const gt_table *known)
{
    gt_categories *categories = gt_categories_new(kernels->strings);
    gt_map rows = {0};
    for (uint32_t row = 0; row < known->row_count; row++)
        *gt_map_put(&rows, known->columns[0].texts[row], 0) = row;
    size_t category = gt_table_add_column(kernels, GT_COL_CATEGORY, GT_TYPE_STRING);
    const uint32_t *names = gt_table_column_of(kernels, name, GT_TYPE_STRING)->texts;
    for (size_t i = 0; i < kernels->row_count; i++) {
        uint32_t row = gt_map_get(&rows, names[i], 0);
        if (row != GT_MAP_NONE) {
            gt_table_set_string(kernels, category, i, known->columns[1].texts[row]);
            continue;
        }
        gt_str text = gt_interner_get(kernels->strings, names[i]);
        gt_gpu_work work = {.name = names[i], .communicates = gt_is_communication(text)};
        gt_table_set_cstr(kernels, category, i, gt_category_name(gt_categories_find(categories, &work)));
    }
    gt_map_free(&rows);
    gt_categories_free(categories);
}

void gt_categories_add_to(const gt_table_list *tables, const gt_table *known)
{
    for (size_t i = 0; known && i < tables->count; i++) {
        gt_table *sheet = tables->items[i];
        if (sheet == gt_table_list_find(tables, GT_SHEET_KERNEL_LAUNCHERS_SUMMARY))
            add_column(sheet, GT_COL_NAME, known);
        else if (sheet == gt_table_list_find(tables, GT_SHEET_KERNEL_SUMMARY) &&
                 gt_table_find(sheet, GT_COL_KERNEL_NAME) != SIZE_MAX)
            add_column(sheet, GT_COL_KERNEL_NAME, known);
    }
}
