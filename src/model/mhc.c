/* Hyper-connections: n streams of M tokens with C channels are mixed before and after a layer.
 *
 * Streams have the type of the arguments; the mixing weights, and products that are summed in `split_k`
 * parts, are floats of 4 bytes. h is the number of mixing weights that a product with a (h, K) matrix gives
 * for each token. */
#include "base/length.h"
#include "model/family.h"

typedef struct streams {
    gt_int M, n, C, h, K, parts;
    const gt_value *type;
} streams;

static const gt_value bf16 = {.type = GT_VALUE_STRING, .text = {"c10::BFloat16", 13}};

static gt_int stream_bytes(gt_reader *r, const streams *s, gt_int count)
{
    return GT_PRODUCT(r, count, s->M, s->n, s->C, gt_type_bytes(s->type));
}

static gt_int layer_bytes(gt_reader *r, const streams *s)
{
    return GT_PRODUCT(r, s->M, s->C, gt_type_bytes(s->type));
}

/* For each token and stream, one weight of its own and n of the others. */
static gt_int mix_bytes(gt_reader *r, const streams *s)
{
    return GT_PRODUCT(r, 4, s->M, s->n, GT_SUM(r, s->n, 1));
}

static gt_int mix_flops(gt_reader *r, const streams *s)
{
    return GT_PRODUCT(r, 2, s->M, s->n, s->C, GT_SUM(r, s->n, 1));
}

static gt_int product_flops(gt_reader *r, const streams *s)
{
    return GT_PRODUCT(r, 2, s->M, s->h, s->K);
}

static void add_streams(gt_reader *r, const streams *s)
{
    gt_add_int(r, "M", s->M);
    gt_add_int(r, "n", s->n);
    gt_add_int(r, "C", s->C);
}

static void add_type(gt_reader *r, const streams *s)
{
    gt_add_value(r, "dtype_in", *s->type);
    gt_set_precision(r, gt_type_precision(s->type));
}

static void set_bytes(gt_reader *r, const streams *s, gt_int bytes)
{
    if (gt_type_bytes(s->type)) gt_set_bytes(r, bytes);
}

static void post(gt_reader *r, const void *variant)
{
    (void)variant;
    streams s = {.M = gt_read_dim(r, 1, 0),
                 .C = gt_read_dim(r, 1, 1),
                 .n = gt_read_dim(r, 0, 1),
                 .type = gt_type_or_default(r, 1, &bf16)};
    add_streams(r, &s);
    gt_add_none(r, "hc3");
    add_type(r, &s);
    gt_set_flops(r, mix_flops(r, &s));
    set_bytes(r, &s, GT_SUM(r, layer_bytes(r, &s), stream_bytes(r, &s, 2), mix_bytes(r, &s)));
}

static void add_product(gt_reader *r, const streams *s)
{
    add_streams(r, s);
    gt_add_int(r, "hc3", s->h);
    gt_add_int(r, "K", s->K);
    gt_add_int(r, "split_k", s->parts);
    add_type(r, s);
}

/* Its weights and its result, in parts. */
static gt_int product_bytes(gt_reader *r, const streams *s)
{
    return GT_SUM(r, GT_PRODUCT(r, 4, s->h, s->K), GT_PRODUCT(r, 4, s->parts, s->M, GT_SUM(r, s->h, 1)));
}

/* The product and the sum of squares that the norm needs. */
static void pre_product(gt_reader *r, const void *variant)
{
    (void)variant;
    streams s = {.M = gt_read_dim(r, 2, 0),
                 .n = gt_read_dim(r, 2, 1),
                 .C = gt_read_dim(r, 2, 2),
                 .h = gt_read_dim(r, 3, 0),
                 .K = gt_read_dim(r, 3, 1),
                 .parts = gt_read_dim(r, 0, 0),
                 .type = gt_type_or_default(r, 2, &bf16)};
    add_product(r, &s);
    gt_set_flops(r, product_flops(r, &s));
    set_bytes(r, &s, GT_SUM(r, stream_bytes(r, &s, 1), product_bytes(r, &s)));
}

static void pre_mix_norm(gt_reader *r, const void *variant)
{
    (void)variant;
    streams s = {.M = gt_read_dim(r, 2, 0),
                 .C = gt_read_dim(r, 2, 1),
                 .n = gt_read_dim(r, 0, 1),
                 .h = gt_read_dim(r, 6, 0),
                 .parts = gt_read_dim(r, 3, 0),
                 .type = gt_type_or_default(r, 7, &bf16)};
    add_streams(r, &s);
    gt_add_int(r, "hc3", s.h);
    gt_add_int(r, "split_k", s.parts);
    add_type(r, &s);
    gt_set_flops(r, GT_PRODUCT(r, s.M, s.C, GT_SUM(r, GT_PRODUCT(r, 2, s.n), 5)));
    set_bytes(r, &s,
              GT_SUM(r, stream_bytes(r, &s, 1), GT_PRODUCT(r, 4, s.parts, s.M, s.h),
                     GT_PRODUCT(r, s.C, gt_type_bytes(s.type)), layer_bytes(r, &s), mix_bytes(r, &s)));
}

/* `post` of one layer and `pre_product` of the next: streams are read, written, and read again. */
static void post_pre_product(gt_reader *r, const void *variant)
{
    (void)variant;
    streams s = {.M = gt_read_dim(r, 3, 0),
                 .C = gt_read_dim(r, 3, 1),
                 .n = gt_read_dim(r, 2, 1),
                 .h = gt_read_dim(r, 7, 0),
                 .K = gt_read_dim(r, 7, 1),
                 .parts = gt_read_dim(r, 0, 0),
                 .type = gt_type_or_default(r, 3, &bf16)};
    add_product(r, &s);
    gt_set_flops(r, GT_SUM(r, mix_flops(r, &s), product_flops(r, &s)));
    set_bytes(r, &s,
              GT_SUM(r, layer_bytes(r, &s), stream_bytes(r, &s, 3), mix_bytes(r, &s), product_bytes(r, &s)));
}

/* ---- the ops ---- */

#define MHC(name, maf, evaluate)                                                                             \
    {                                                                                                        \
        name, GT_FAMILY_MHC, "mHC", NULL, GT_BACKWARD_FAIL, maf, evaluate, NULL, 0                           \
    }

static const gt_model rows[] = {
    MHC("aiter::mhc_post", "vector", post),
    MHC("aiter::mhc_pre_gemm_sqrsum", "matrix", pre_product),
    MHC("aiter::mhc_pre_big_fuse_rmsnorm", "vector", pre_mix_norm),
    MHC("aiter::mhc_fused_post_pre_gemm_sqrsum", "matrix", post_pre_product),
};

const gt_model_rows gt_mhc_models = {rows, GT_LENGTH(rows)};
