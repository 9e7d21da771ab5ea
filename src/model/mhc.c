/* Hyper-connections: n streams of M tokens with C channels are mixed before and after a layer.
 *
 * The streams have the type of the arguments. The mixing weights are floats of 4 bytes; so are the results of
 * matrix multiplications, which are computed in `split_k` parts and then summed. h is the number of mixing
 * weights per token, the result of a multiplication with an h x K matrix. */
#include "model/family.h"

typedef struct streams {
    gt_int M, n, C, h, K, parts;
    const gt_value *type;
} streams;

static const gt_value bf16 = GT_STRING_VALUE("c10::BFloat16");

static gt_int stream_bytes(gt_reader *r, const streams *s, gt_int count)
{
    return GT_PRODUCT(r, count, s->M, s->n, s->C, gt_type_bytes(s->type));
}

static gt_int layer_bytes(gt_reader *r, const streams *s)
{
    return GT_PRODUCT(r, s->M, s->C, gt_type_bytes(s->type));
}

/* Per token and stream: its own weight, and one per stream. */
static gt_int mix_bytes(gt_reader *r, const streams *s)
{
    return GT_PRODUCT(r, 4, s->M, s->n, GT_SUM(r, s->n, 1));
}

static gt_int mix_flops(gt_reader *r, const streams *s)
{
    return GT_PRODUCT(r, 2, s->M, s->n, s->C, GT_SUM(r, s->n, 1));
}

static gt_int gemm_flops(gt_reader *r, const streams *s)
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
                 .type = gt_type_or(r, 1, &bf16)};
    add_streams(r, &s);
    gt_add_none(r, "hc3");
    add_type(r, &s);
    gt_set_flops(r, mix_flops(r, &s));
    set_bytes(r, &s, GT_SUM(r, layer_bytes(r, &s), stream_bytes(r, &s, 2), mix_bytes(r, &s)));
}

static void add_gemm(gt_reader *r, const streams *s)
{
    add_streams(r, s);
    gt_add_int(r, "hc3", s->h);
    gt_add_int(r, "K", s->K);
    gt_add_int(r, "split_k", s->parts);
    add_type(r, s);
}

/* The weights of the multiplication, and its result in parts. */
static gt_int gemm_bytes(gt_reader *r, const streams *s)
{
    return GT_SUM(r, GT_PRODUCT(r, 4, s->h, s->K), GT_PRODUCT(r, 4, s->parts, s->M, GT_SUM(r, s->h, 1)));
}

/* The multiplication, and the sum of squares for the norm. */
static void pre_gemm(gt_reader *r, const void *variant)
{
    (void)variant;
    streams s = {.M = gt_read_dim(r, 2, 0),
                 .n = gt_read_dim(r, 2, 1),
                 .C = gt_read_dim(r, 2, 2),
                 .h = gt_read_dim(r, 3, 0),
                 .K = gt_read_dim(r, 3, 1),
                 .parts = gt_read_dim(r, 0, 0),
                 .type = gt_type_or(r, 2, &bf16)};
    add_gemm(r, &s);
    gt_set_flops(r, gemm_flops(r, &s));
    set_bytes(r, &s, GT_SUM(r, stream_bytes(r, &s, 1), gemm_bytes(r, &s)));
}

static void pre_mix_norm(gt_reader *r, const void *variant)
{
    (void)variant;
    streams s = {.M = gt_read_dim(r, 2, 0),
                 .C = gt_read_dim(r, 2, 1),
                 .n = gt_read_dim(r, 0, 1),
                 .h = gt_read_dim(r, 6, 0),
                 .parts = gt_read_dim(r, 3, 0),
                 .type = gt_type_or(r, 7, &bf16)};
    add_streams(r, &s);
    gt_add_int(r, "hc3", s.h);
    gt_add_int(r, "split_k", s.parts);
    add_type(r, &s);
    gt_set_flops(r, GT_PRODUCT(r, s.M, s.C, GT_SUM(r, GT_PRODUCT(r, 2, s.n), 5)));
    set_bytes(r, &s,
              GT_SUM(r, stream_bytes(r, &s, 1), GT_PRODUCT(r, 4, s.parts, s.M, s.h),
                     GT_PRODUCT(r, s.C, gt_type_bytes(s.type)), layer_bytes(r, &s), mix_bytes(r, &s)));
}

/* `post` of one layer and `pre_gemm` of the next: the streams are read, written, and read again. */
static void post_pre_gemm(gt_reader *r, const void *variant)
{
    (void)variant;
    streams s = {.M = gt_read_dim(r, 3, 0),
                 .C = gt_read_dim(r, 3, 1),
                 .n = gt_read_dim(r, 2, 1),
                 .h = gt_read_dim(r, 7, 0),
                 .K = gt_read_dim(r, 7, 1),
                 .parts = gt_read_dim(r, 0, 0),
                 .type = gt_type_or(r, 3, &bf16)};
    add_gemm(r, &s);
    gt_set_flops(r, GT_SUM(r, mix_flops(r, &s), gemm_flops(r, &s)));
    set_bytes(r, &s,
              GT_SUM(r, layer_bytes(r, &s), stream_bytes(r, &s, 3), mix_bytes(r, &s), gemm_bytes(r, &s)));
}

/* ---- the ops ---- */

#define MHC(name, unit, evaluate)                                                                            \
    {                                                                                                        \
        name, GT_FAMILY_MHC, "mHC", NULL, GT_BACKWARD_FAIL, unit, evaluate, NULL, 0                          \
    }

static const gt_model rows[] = {
    MHC("aiter::mhc_post", "vector", post),
    MHC("aiter::mhc_pre_gemm_sqrsum", "matrix", pre_gemm),
    MHC("aiter::mhc_pre_big_fuse_rmsnorm", "vector", pre_mix_norm),
    MHC("aiter::mhc_fused_post_pre_gemm_sqrsum", "matrix", post_pre_gemm),
};

const gt_model_rows gt_mhc_models = {rows, GT_LENGTH(rows)};
