/* Op categories: first the registry of op names, then rules on prefixes and parts of names. */
#include "analysis/pytorch/op_category.h"

#include "trace/rows.h"

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

/* ---- many ops ---- */

/* Threads mark the texts whose categories are not known yet; then these are computed in the order of their
 * ids, because that interns strings. */
typedef struct asking {
    gt_op_categories *categories;
    const uint32_t *names, *first_kernels;
    uint32_t *found;
    uint8_t *wanted; /* by string id */
    uint8_t later;   /* 1: some text is not cached */
} asking;

/* A mark that is there is not written again, because that would take it from the caches of other threads. */
static void mark(uint8_t *flag)
{
    if (!__atomic_load_n(flag, __ATOMIC_RELAXED)) __atomic_store_n(flag, 1, __ATOMIC_RELAXED);
}

static void want(asking *a, const uint32_t *known, uint32_t text)
{
    if (text >= a->categories->count)
        mark(&a->later);
    else if (known[text] == GT_STR_NONE)
        mark(&a->wanted[text]);
}

static void want_names(void *context, size_t begin, size_t end)
{
    asking *a = context;
    for (size_t i = begin; i < end; i++) want(a, a->categories->of_name, a->names[i]);
}

static bool kernel_decides(const asking *a, size_t i)
{
    const gt_op_categories *c = a->categories;
    return a->names[i] < c->count && c->of_name[a->names[i]] == BY_KERNEL;
}

static void want_kernels(void *context, size_t begin, size_t end)
{
    asking *a = context;
    for (size_t i = begin; i < end; i++)
        if (kernel_decides(a, i)) want(a, a->categories->of_kernel, a->first_kernels[i]);
}

static void find_wanted(asking *a, uint32_t *known, uint32_t (*find)(gt_op_categories *, uint32_t))
{
    for (uint32_t text = 0; text < a->categories->count; text++)
        if (a->wanted[text]) known[text] = find(a->categories, text);
    memset(a->wanted, 0, a->categories->count);
}

static void fill_categories(void *context, size_t begin, size_t end)
{
    const asking *a = context;
    const gt_op_categories *c = a->categories;
    for (size_t i = begin; i < end; i++) {
        uint32_t name = a->names[i], kernel = a->first_kernels[i];
        if (!kernel_decides(a, i))
            a->found[i] = name < c->count ? c->of_name[name] : GT_STR_NONE;
        else
            a->found[i] = kernel < c->count ? c->of_kernel[kernel] : GT_STR_NONE;
    }
}

void gt_op_categories_of_all(gt_op_categories *c, const uint32_t *names, const uint32_t *first_kernels,
                             size_t count, uint32_t *found)
{
    asking a = {c, names, first_kernels, found, gt_alloc_zero(c->count, 1), 0};
    gt_parallel_ranges(count, GT_OPS_GRAIN, want_names, &a);
    find_wanted(&a, c->of_name, find_by_name);
    gt_parallel_ranges(count, GT_OPS_GRAIN, want_kernels, &a);
    find_wanted(&a, c->of_kernel, find_by_kernel);
    gt_parallel_ranges(count, GT_OPS_GRAIN, fill_categories, &a);
    for (size_t i = 0; a.later && i < count; i++)
        if (found[i] == GT_STR_NONE) found[i] = gt_op_categories_of(c, names[i], first_kernels[i]);
    gt_free(a.wanted);
}

void gt_op_categories_free(gt_op_categories *c)
{
    if (!c) return;
    gt_free_all(c->of_name, c->of_kernel, c);
}
