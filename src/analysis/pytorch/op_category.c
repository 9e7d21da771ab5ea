/* Op categories: first the registry of op names, then rules on prefixes and parts of names. */
#include "analysis/pytorch/op_category.h"

#include "base/memory.h"

#include <stdbool.h>
#include <stdlib.h>

/* Prefixes of op names that are categories themselves. */
static const char *const prefixes[] = {"triton", "record_param_comms"};

/* Parts of the names of PyTorch's own kernels that are categories; the first match wins. */
static const char native_kernel[] = "void at::native";
static const char *const native_parts[] = {"elementwise", "reduce", "multi_tensor_apply"};

static const char other[] = "other";

/* ---- the rules ---- */

/* NULL if the name does not determine it. */
static const char *category_of_name(gt_str name)
{
    const gt_model *op = gt_op_find(name);
    if (op) return op->category;
    for (size_t i = 0; i < GT_LENGTH(prefixes); i++)
        if (gt_str_starts_with(name, prefixes[i])) return prefixes[i];
    return NULL;
}

static const char *category_of_kernel(gt_str kernel)
{
    if (!gt_str_starts_with(kernel, native_kernel)) return other;
    for (size_t i = 0; i < GT_LENGTH(native_parts); i++)
        if (gt_str_contains(kernel, native_parts[i])) return native_parts[i];
    return other;
}

const char *gt_op_category(gt_str name, gt_str first_kernel)
{
    const char *category = category_of_name(name);
    return category ? category : category_of_kernel(first_kernel);
}

/* ---- computed once per name ---- */

struct gt_op_categories {
    gt_interner *strings;
    const gt_extension *extension;
    size_t count; /* strings when this was created; categories of later ones are not cached */
    uint32_t *of_name, *of_kernel; /* by string id: its category; GT_STR_NONE: not computed yet */
};

enum { BY_KERNEL = GT_STR_EMPTY }; /* in of_name: the kernel decides */

gt_op_categories *gt_op_categories_new(gt_interner *strings, const gt_extension *extension)
{
    gt_op_categories *c = gt_alloc_zero(1, sizeof *c);
    c->strings = strings;
    c->extension = extension;
    c->count = gt_interner_count(strings);
    c->of_name = gt_alloc_zero(c->count, sizeof *c->of_name);
    c->of_kernel = gt_alloc_zero(c->count, sizeof *c->of_kernel);
    return c;
}

static uint32_t find_by_name(gt_op_categories *c, uint32_t name)
{
    const char *category = gt_extension_category(c->extension, name);
    if (!category) category = category_of_name(gt_interner_get(c->strings, name));
    return category ? gt_interner_add_cstr(c->strings, category) : BY_KERNEL;
}

static uint32_t find_by_kernel(gt_op_categories *c, uint32_t kernel)
{
    return gt_interner_add_cstr(c->strings, category_of_kernel(gt_interner_get(c->strings, kernel)));
}

static uint32_t ask(gt_op_categories *c, uint32_t *known, uint32_t (*find)(gt_op_categories *, uint32_t),
                    uint32_t text)
{
    if (text >= c->count) return find(c, text);
    if (known[text] == GT_STR_NONE) known[text] = find(c, text);
    return known[text];
}

uint32_t gt_op_categories_of(gt_op_categories *c, uint32_t name, uint32_t first_kernel)
{
    uint32_t category = ask(c, c->of_name, find_by_name, name);
    return category != BY_KERNEL ? category : ask(c, c->of_kernel, find_by_kernel, first_kernel);
}

void gt_op_categories_free(gt_op_categories *c)
{
    if (!c) return;
    gt_free(c->of_name);
    gt_free(c->of_kernel);
    gt_free(c);
}
