/* Grouped matrix multiplication: the M rows of X are distributed over G groups, each with its own weight.
 *
 * Flops: 2 M K N. Bytes: (M K + G K N) e_in + M N e_out, or the sum over the groups if each has its own K and
 * N. A trace contains either whole shapes (X: M x K, W: G x K x N) or a pair of shapes per group. */
#include "model/family.h"

typedef struct pair {
    int64_t rows, columns;
} pair;

typedef struct pairs {
    pair *items;
    size_t count, capacity;
} pairs;

/* ---- shapes ---- */

static bool all_positive(const gt_value *shape, uint32_t count)
{
    if (shape->count < count) return false;
    for (uint32_t i = 0; i < count; i++)
        if (shape->items[i].type != GT_VALUE_INT || shape->items[i].integer <= 0) return false;
    return true;
}

/* All pairs of positive integers in nested lists, in order. The parser limits the depth of the recursion. */
static void collect_pairs(pairs *found, const gt_value *lists)
{
    if (!gt_value_is_list(lists)) return;
    if (lists->count == 2 && all_positive(lists, 2)) {
        pair shape = {lists->items[0].integer, lists->items[1].integer};
        GT_PUSH(found->items, found->count, found->capacity, shape);
        return;
    }
    for (uint32_t i = 0; i < lists->count; i++) collect_pairs(found, &lists->items[i]);
}

/* The shapes of X and W of each group. False if their numbers or their K differ. */
static bool read_groups(gt_reader *r, pairs *x, pairs *w)
{
    collect_pairs(x, gt_dims_or_missing(r, 0));
    collect_pairs(w, gt_dims_or_missing(r, 1));
    bool match = x->count > 0 && x->count == w->count;
    for (size_t i = 0; match && i < x->count; i++) match = x->items[i].columns == w->items[i].rows;
    return match;
}

static void free_pairs(pairs *x, pairs *w)
{
    gt_free_all(x->items, w->items);
}

/* ---- sizes: the second type is used for the output ---- */

typedef struct sizes {
    int in, out; /* bytes per element; 0: unknown */
} sizes;

static sizes read_sizes(gt_reader *r)
{
    const gt_value *in = gt_value_at(r->types, 0), *out = gt_value_at(r->types, 1);
    bool has_out = out->type != GT_VALUE_MISSING && out->type != GT_VALUE_NONE;
    /* A missing list is allowed, a list without the first type is not. */
    gt_require(r, r->types->type == GT_VALUE_MISSING || in->type != GT_VALUE_MISSING);
    gt_set_precision(r, gt_type_precision(in));
    return (sizes){gt_type_bytes(in), gt_type_bytes(has_out ? out : in)};
}

static void add_size(gt_reader *r, const char *name, int size)
{
    gt_add_value(r, name, size ? gt_value_int(size) : gt_value_none);
}

static void add_parameters(gt_reader *r, gt_int M, gt_int K, gt_int N, gt_int G, sizes size)
{
    gt_add_int(r, "M", M);
    gt_add_int(r, "K", K);
    gt_add_int(r, "N", N);
    gt_add_int(r, "G", G);
    add_size(r, "bpe_in", size.in);
    add_size(r, "bpe_out", size.out);
}

/* ---- one K and one N for all groups ---- */

typedef struct grouped {
    gt_int M, K, N, G;
} grouped;

static bool read_whole(gt_reader *r, grouped *g)
{
    const gt_value *x = gt_dims_or_missing(r, 0), *w = gt_dims_or_missing(r, 1);
    if (!gt_value_is_list(x) || !gt_value_is_list(w) || w->count != 3) return false;
    if (!all_positive(x, 2) || !all_positive(w, 3)) return false;
    int64_t K = x->items[1].integer;
    if (w->items[1].integer != K && w->items[2].integer != K) return false;
    g->M = x->items[0].integer;
    g->K = K;
    g->N = w->items[w->items[1].integer == K ? 2 : 1].integer;
    g->G = w->items[0].integer;
    return true;
}

static bool read_uniform_groups(gt_reader *r, grouped *g)
{
    pairs x = {0}, w = {0};
    bool uniform = read_groups(r, &x, &w);
    for (size_t i = 0; uniform && i < x.count; i++) {
        uniform = x.items[i].columns == x.items[0].columns && w.items[i].columns == w.items[0].columns;
        g->M = GT_SUM(r, g->M, x.items[i].rows);
    }
    if (uniform) {
        g->K = x.items[0].columns;
        g->N = w.items[0].columns;
        g->G = (gt_int)x.count;
    }
    free_pairs(&x, &w);
    return uniform;
}

static void uniform_gemm(gt_reader *r, const void *variant)
{
    (void)variant;
    grouped g = {0};
    gt_require(r, read_whole(r, &g) || read_uniform_groups(r, &g));
    sizes size = read_sizes(r);
    gt_require(r, size.in && size.out);
    gt_set_flops(r, GT_PRODUCT(r, 2, g.M, g.K, g.N));
    gt_int inputs = GT_SUM(r, GT_PRODUCT(r, g.M, g.K), GT_PRODUCT(r, g.G, g.K, g.N));
    gt_set_bytes(r, GT_SUM(r, GT_PRODUCT(r, inputs, size.in), GT_PRODUCT(r, g.M, g.N, size.out)));
    add_parameters(r, g.M, g.K, g.N, g.G, size);
}

/* ---- a different K and N in each group ---- */

/* Whole shapes M x K and M x N are one group. */
static bool read_one_group(gt_reader *r, pairs *x, pairs *w)
{
    const gt_value *a = gt_dims_or_missing(r, 0), *b = gt_dims_or_missing(r, 1);
    if (!gt_value_is_list(a) || !gt_value_is_list(b) || a->count != 2 || b->count != 2) return false;
    if (!all_positive(a, 2) || !all_positive(b, 2)) return false;
    pair left = {a->items[0].integer, a->items[1].integer},
         right = {a->items[1].integer, b->items[1].integer};
    GT_PUSH(x->items, x->count, x->capacity, left);
    GT_PUSH(w->items, w->count, w->capacity, right);
    return true;
}

static gt_value pair_value(gt_reader *r, pair shape)
{
    gt_value items[2] = {gt_value_int(shape.rows), gt_value_int(shape.columns)};
    return gt_value_tuple(r->arena, items, 2);
}

static void add_groups(gt_reader *r, const pairs *x, const pairs *w)
{
    gt_value *groups = gt_alloc(x->count * sizeof *groups);
    for (size_t i = 0; i < x->count; i++) {
        gt_value both[2] = {pair_value(r, x->items[i]), pair_value(r, w->items[i])};
        groups[i] = gt_value_tuple(r->arena, both, 2);
    }
    gt_value list = gt_value_tuple(r->arena, groups, x->count);
    list.type = GT_VALUE_LIST;
    gt_add_value(r, "group_pairs", list);
    gt_free(groups);
}

static void sum_groups(gt_reader *r, const pairs *x, const pairs *w, sizes size)
{
    gt_int M = 0, flops = 0, bytes = 0;
    for (size_t i = 0; i < x->count; i++) {
        gt_int m = x->items[i].rows, k = x->items[i].columns, n = w->items[i].columns;
        gt_int inputs = GT_SUM(r, GT_PRODUCT(r, m, k), GT_PRODUCT(r, k, n));
        M = GT_SUM(r, M, m);
        flops = GT_SUM(r, flops, GT_PRODUCT(r, 2, m, k, n));
        bytes = GT_SUM(r, bytes, GT_PRODUCT(r, inputs, size.in), GT_PRODUCT(r, m, n, size.out));
    }
    gt_set_flops(r, flops);
    if (size.in && size.out) gt_set_bytes(r, bytes);
    add_parameters(r, M, x->items[0].columns, w->items[0].columns, (gt_int)x->count, size);
}

static void variable_gemm(gt_reader *r, const void *variant)
{
    (void)variant;
    pairs x = {0}, w = {0};
    bool known = read_one_group(r, &x, &w) || read_groups(r, &x, &w);
    sizes size = read_sizes(r);
    if (gt_require(r, known)) {
        sum_groups(r, &x, &w, size);
        add_groups(r, &x, &w);
    }
    free_pairs(&x, &w);
}

/* ---- the ops ---- */

#define GROUPED(name, evaluate)                                                                              \
    {                                                                                                        \
        name, GT_FAMILY_GROUPED_GEMM, "GroupedGEMM_fwd", "GroupedGEMM_bwd", GT_BACKWARD_SKIP, "matrix",      \
            evaluate, NULL, 0                                                                                \
    }

static const gt_model rows[] = {
    GROUPED("primus_turbo::grouped_gemm", uniform_gemm),
    GROUPED("primus_turbo::grouped_gemm_impl", uniform_gemm),
    GROUPED("primus_turbo_cpp_extension::grouped_gemm", uniform_gemm),
    GROUPED("primus_turbo_cpp_extension::ck_grouped_gemm", uniform_gemm),
    GROUPED("primus_turbo::grouped_gemm_variable_k", variable_gemm),
    GROUPED("primus_turbo::grouped_gemm_variable_k_impl", variable_gemm),
    GROUPED("primus_turbo_cpp_extension::grouped_gemm_variable_k", variable_gemm),
    GROUPED("primus_turbo_cpp_extension::ck_grouped_gemm_variable_k", variable_gemm),
};

const gt_model_rows gt_grouped_gemm_models = {rows, GT_LENGTH(rows)};
