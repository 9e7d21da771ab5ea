/* Attention in inference servers, where one op processes many requests. The numbers of their queries and keys
 * are in the name of the enclosing step (annotation.c).
 *
 * Each pair of a query and a key that it attends to costs 2 flops per dimension of a head, twice: Q K^T and P
 * V. Pairs in generation: all (sqsk). Pairs in a context: half of those with its own chunk (sqsk - sqsq / 2).
 */
#include "model/family.h"

typedef struct attention {
    gt_int N_Q, H_Q, N_KV, H_KV, H_V, H_K, d_qk, d_v;
    gt_step_lengths lengths;
    gt_value dtype_q, dtype_kv; /* dtype_kv MISSING: not a parameter of this op */
    /* Maximum number of keys per generated token; <= 0: no limit; MISSING: not a parameter of this op. */
    gt_value window;
} attention;

static const gt_value bfloat16 = GT_STRING_VALUE("c10::bfloat16");

/* ---- formulas ---- */

/* Limits the keys (or pairs) of the generation to the window of each token. */
static gt_int limit_to_window(gt_reader *r, const attention *a, gt_int keys)
{
    gt_int generated = a->lengths.generation.sq;
    if (a->window.type != GT_VALUE_INT || a->window.integer <= 0 || generated == 0) return keys;
    gt_int limit = GT_PRODUCT(r, generated, a->window.integer);
    return keys < limit ? keys : limit;
}

static gt_int flops_of(gt_reader *r, const attention *a)
{
    const gt_length_sums *c = &a->lengths.context, *g = &a->lengths.generation;
    gt_int pairs = GT_SUM(r, GT_PRODUCT(r, 2, c->sqsk), GT_PRODUCT(r, -1, c->sqsq),
                          GT_PRODUCT(r, 2, limit_to_window(r, a, g->sqsk)));
    return GT_PRODUCT(r, a->H_Q, GT_SUM(r, a->d_qk, a->d_v), pairs);
}

/* Queries, outputs, new keys and new values have the type of the queries; older ones that of the cache. */
static gt_int bytes_of(gt_reader *r, const attention *a, int size, int cache_size)
{
    const gt_length_sums *c = &a->lengths.context, *g = &a->lengths.generation;
    gt_int d = GT_SUM(r, a->d_qk, a->d_v);
    gt_int current = GT_PRODUCT(r, GT_SUM(r, c->sq, g->sq), GT_SUM(r, a->H_Q, a->H_KV), d, size);
    gt_int older =
        GT_SUM(r, c->sk, GT_PRODUCT(r, -1, c->sq), limit_to_window(r, a, g->sk), GT_PRODUCT(r, -1, g->sq));
    return GT_SUM(r, current, GT_PRODUCT(r, older, a->H_KV, d, cache_size));
}

/* ---- parameters ---- */

static void add_flags(gt_reader *r)
{
    gt_add_float(r, "dropout", 0);
    gt_add_bool(r, "causal", false);
    gt_add_bool(r, "flash_impl", true);
}

static void add_lengths(gt_reader *r, const gt_step_lengths *lengths)
{
    gt_add_int(r, "c_sq", lengths->context.sq);
    gt_add_int(r, "c_sk", lengths->context.sk);
    gt_add_int(r, "c_sqsq", lengths->context.sqsq);
    gt_add_int(r, "c_sqsk", lengths->context.sqsk);
    gt_add_int(r, "g_sq", lengths->generation.sq);
    gt_add_int(r, "g_sk", lengths->generation.sk);
    gt_add_int(r, "g_sqsq", lengths->generation.sqsq);
    gt_add_int(r, "g_sqsk", lengths->generation.sqsk);
}

static void add_parameters(gt_reader *r, const attention *a)
{
    gt_add_int(r, "B", 1);
    gt_add_int(r, "N_Q", a->N_Q);
    gt_add_int(r, "H_Q", a->H_Q);
    gt_add_int(r, "H_V", a->H_V);
    gt_add_int(r, "H_K", a->H_K);
    gt_add_int(r, "N_KV", a->N_KV);
    gt_add_int(r, "H_KV", a->H_KV);
    gt_add_int(r, "d_h_qk", a->d_qk);
    gt_add_int(r, "d_h_v", a->d_v);
    add_flags(r);
}

/* ---- reading ---- */

/* FAIL if the name of the step has no lengths. */
static void read_lengths(gt_reader *r, attention *a)
{
    gt_require(r, gt_step_lengths_parse(gt_read_annotation(r), &a->lengths));
}

static void read_query(gt_reader *r, attention *a, int argument)
{
    a->N_Q = gt_read_dim(r, argument, 0);
    a->H_Q = gt_read_dim(r, argument, 1);
    a->d_qk = gt_read_dim(r, argument, 2);
    a->dtype_q = *gt_read_type(r, argument);
}

static void set_key_heads(attention *a, gt_int heads)
{
    a->H_KV = a->H_V = a->H_K = heads;
}

/* T[i]; if it is absent, the type of the queries. */
static gt_value cache_type(gt_reader *r, const attention *a, int i)
{
    return *gt_type_or(r, i, &a->dtype_q);
}

/* q: N x H x d; k: ... x N x H x d. */
static void read_plain(gt_reader *r, attention *a)
{
    read_lengths(r, a);
    gt_require(r, gt_read_dims(r, 0)->count == 3);
    read_query(r, a, 0);
    a->N_KV = gt_read_dim(r, 1, -3);
    set_key_heads(a, gt_read_dim(r, 1, -2));
    a->d_v = gt_read_dim(r, 1, -1);
    a->dtype_kv = cache_type(r, a, 1);
}

static void read_with_values(gt_reader *r, attention *a)
{
    read_plain(r, a);
    if (gt_dims_or_missing(r, 2)->type != GT_VALUE_MISSING && gt_read_dims(r, 2)->count > 0)
        a->d_v = gt_read_dim(r, 2, -1);
}

static void read_tilelang(gt_reader *r, attention *a)
{
    read_plain(r, a);
    a->d_v = 512;
}

/* The cache is paged: pages x page size x H x d. */
static void read_ragged(gt_reader *r, attention *a)
{
    read_lengths(r, a);
    gt_require(r, gt_read_dims(r, 2)->count == 3);
    read_query(r, a, 2);
    set_key_heads(a, gt_read_dim(r, 3, -2));
    a->d_v = gt_read_dim(r, 4, -1);
    a->N_KV = GT_SUM(r, a->lengths.context.sk, a->lengths.generation.sk);
}

static void read_gluon(gt_reader *r, attention *a)
{
    gt_int window = 0;
    read_lengths(r, a);
    a->lengths.context = (gt_length_sums){0};
    read_query(r, a, 0);
    set_key_heads(a, gt_read_dim(r, 2, 1));
    a->d_v = a->d_qk;
    a->N_KV = a->lengths.generation.sk;
    a->dtype_kv = cache_type(r, a, 2);
    if (!gt_parse_int(gt_concrete_or_missing(r, 19), &window)) window = 0;
    gt_require(r, window >= INT64_MIN && window <= INT64_MAX);
    a->window = gt_value_int((int64_t)window);
}

/* ---- DeepSeek V4: each token attends to a window of the last keys and to compressed older keys ---- */

typedef enum compression { WINDOW_ONLY, TOP_OF_EVERY_FOURTH, EVERY_128TH } compression;

typedef struct v4_model {
    const char *name;
    int topk, window, heads, dim;
} v4_model;

static const v4_model v4_models[] = {
    {"DeepSeek-V4-Pro", 1024, 128, 128, 512},
    {"DeepSeek-V4-Flash", 512, 128, 64, 512}, /* also for unknown names */
};

static const v4_model *v4_of_name(const gt_value *name)
{
    if (name->type == GT_VALUE_STRING && name->text.len)
        for (size_t i = 0; i < 2; i++)
            if (strcasestr(name->text.bytes, v4_models[i].name)) return &v4_models[i];
    return &v4_models[1];
}

/* An extra argument; `fallback` if it is absent or 0. */
static gt_int extra_or(gt_reader *r, const char *key, gt_int fallback)
{
    const gt_value *extra = gt_extra_or_missing(r, key);
    return gt_value_is_empty(extra) ? fallback : gt_read_int(r, extra);
}

static gt_int v4_window(gt_reader *r, const gt_length_sums *g, compression how, gt_int window, gt_int topk)
{
    if (how == WINDOW_ONLY) return window;
    if (g->sq <= 0) return how == EVERY_128TH ? 0 : GT_SUM(r, window, topk);
    double keys = ceil((double)g->sk / (double)g->sq / (how == EVERY_128TH ? 128 : 4));
    gt_require(r, keys < 0x1p63);
    gt_int kept = keys < 0x1p63 ? (gt_int)keys : 0;
    if (how == TOP_OF_EVERY_FOURTH && kept > topk) kept = topk;
    return GT_SUM(r, window, kept);
}

static void read_v4(gt_reader *r, attention *a, compression how)
{
    const v4_model *model = v4_of_name(gt_extra_or_missing(r, "v4_model_name"));
    read_lengths(r, a);
    a->lengths.context = (gt_length_sums){0};
    const gt_length_sums *g = &a->lengths.generation;
    gt_int heads = gt_floor_div(r, model->heads, extra_or(r, "v4_tp", 1));
    a->H_Q = extra_or(r, "v4_H_Q", heads > 1 ? heads : 1);
    a->d_qk = a->d_v = extra_or(r, "v4_d_h", model->dim);
    gt_int rows = gt_has_dims(r, 0) ? gt_read_dim(r, 0, 0) : 0;
    a->N_Q = rows ? rows : g->sq;
    set_key_heads(a, 1);
    a->N_KV = g->sk;
    a->dtype_q = a->dtype_kv = bfloat16;
    gt_int window = extra_or(r, "v4_window", model->window), topk = extra_or(r, "v4_index_topk", model->topk);
    gt_int span = v4_window(r, g, how, window, topk);
    gt_require(r, span >= 0 && span <= INT64_MAX && a->H_Q >= 0 && a->d_qk >= 0);
    a->window = gt_value_int((int64_t)span);
}

static void read_v4_swa(gt_reader *r, attention *a)
{
    read_v4(r, a, WINDOW_ONLY);
}

static void read_v4_csa(gt_reader *r, attention *a)
{
    read_v4(r, a, TOP_OF_EVERY_FOURTH);
}

static void read_v4_hca(gt_reader *r, attention *a)
{
    read_v4(r, a, EVERY_128TH);
}

/* ---- evaluating ---- */

typedef struct variant {
    void (*read)(gt_reader *r, attention *a);
} variant;

static void evaluate(gt_reader *r, const void *data)
{
    attention a = {0};
    ((const variant *)data)->read(r, &a);
    if (a.lengths.context.sq == 0 && a.lengths.generation.sq == 0) gt_read_skip(r);
    int size = gt_type_bytes_or(&a.dtype_q, 2);
    gt_set_flops(r, flops_of(r, &a));
    gt_set_bytes(r, bytes_of(r, &a, size, gt_type_bytes_or(&a.dtype_kv, size)));
    gt_set_precision(r, gt_type_precision(&a.dtype_q));
    add_parameters(r, &a);
    add_lengths(r, &a.lengths);
    gt_add_value(r, "dtype_Q", a.dtype_q);
    if (a.dtype_kv.type != GT_VALUE_MISSING) gt_add_value(r, "dtype_KV", a.dtype_kv);
    if (a.window.type != GT_VALUE_MISSING) gt_add_value(r, "sliding_window", a.window);
}

/* Each query has a list of the keys that it attends to; the sum of the lengths is the number of pairs. */
static void sparse_prefill(gt_reader *r, const void *data)
{
    (void)data;
    attention a = {0};
    read_query(r, &a, 0);
    set_key_heads(&a, 1);
    a.d_v = a.d_qk;
    a.N_KV = GT_SUM(r, gt_read_dim(r, 2, 0), gt_read_dim(r, 5, 0));
    a.dtype_kv = cache_type(r, &a, 1);
    int size = gt_type_bytes_or(&a.dtype_q, 2);
    gt_set_flops(r, GT_PRODUCT(r, 4, a.N_KV, a.H_Q, a.d_qk));
    gt_set_bytes(r, GT_SUM(r, GT_PRODUCT(r, 2, a.N_Q, a.H_Q, a.d_qk, size),
                           GT_PRODUCT(r, a.N_KV, a.d_v, gt_type_bytes_or(&a.dtype_kv, size))));
    gt_set_precision(r, gt_type_precision(gt_value_is_empty(&a.dtype_q) ? &bfloat16 : &a.dtype_q));
    add_parameters(r, &a);
    gt_add_int(r, "prefill_pairs", a.N_KV);
    gt_add_value(r, "dtype_Q", a.dtype_q);
    gt_add_value(r, "dtype_KV", a.dtype_kv);
}

/* Gated delta networks have a state of d_v x d_k instead of a cache: 7 flops per element of the state, token
 * and value head. */
static void delta_network(gt_reader *r, const void *data)
{
    (void)data;
    attention a = {0};
    if (!gt_step_lengths_parse(gt_read_annotation(r), &a.lengths)) gt_read_skip(r);
    gt_int c = a.lengths.context.sq, g = a.lengths.generation.sq;
    a.N_Q = GT_SUM(r, c, g);
    a.H_V = gt_read_dim(r, 1, 1);
    a.d_v = gt_read_dim(r, 3, 2);
    a.H_K = gt_floor_div(r, a.H_V, 2);
    gt_int keys = GT_SUM(r, gt_read_dim(r, 0, 1), GT_PRODUCT(r, -1, a.H_V, a.d_v));
    a.d_qk = gt_floor_div(r, gt_floor_div(r, keys, 2), a.H_K);
    a.dtype_q = *gt_read_type(r, 0);
    if (a.N_Q == 0) gt_read_skip(r);
    gt_set_flops(r, GT_PRODUCT(r, 7, a.N_Q, a.H_V, a.d_v, a.d_qk));
    gt_set_bytes(r, GT_PRODUCT(r, 2, a.N_Q, a.H_V, GT_SUM(r, a.d_qk, a.d_v, a.d_v, 2)));
    gt_set_precision(r, gt_type_precision(&a.dtype_q));
    gt_add_int(r, "B", 1);
    gt_add_int(r, "N_Q", a.N_Q);
    gt_add_int(r, "H_Q", a.H_K);
    gt_add_int(r, "N_KV", 0);
    gt_add_int(r, "H_KV", a.H_K);
    gt_add_int(r, "H_V", a.H_V);
    gt_add_int(r, "H_K", a.H_K);
    gt_add_int(r, "d_h_qk", a.d_qk);
    gt_add_int(r, "d_h_v", a.d_v);
    add_lengths(r, &(gt_step_lengths){{c, c, 0, 0}, {g, g, 0, 0}});
    gt_add_value(r, "dtype_Q", a.dtype_q);
}

/* Keys and values are read and written to the cache. */
static void store_cache(gt_reader *r, const void *data)
{
    (void)data;
    const gt_value *type = gt_read_type(r, 0);
    gt_int elements = gt_read_size(r, 0);
    gt_set_flops(r, 0);
    gt_set_bytes(r, GT_PRODUCT(r, 4, elements, gt_type_bytes_or(type, 2)));
    gt_set_precision(r, gt_type_precision(type));
    gt_add_tuple(r, "op_shape", gt_read_dims(r, 0));
    gt_add_int(r, "nelems", elements);
    gt_add_value(r, "dtype", *type);
}

/* ---- the ops ---- */

static const variant plain = {read_plain}, with_values = {read_with_values}, tilelang = {read_tilelang},
                     ragged = {read_ragged}, gluon = {read_gluon}, v4_swa = {read_v4_swa},
                     v4_csa = {read_v4_csa}, v4_hca = {read_v4_hca};

#define ROW(name, unit, evaluate, variant)                                                                   \
    {                                                                                                        \
        name, GT_FAMILY_INFERENCE_ATTENTION, "InferenceAttention", NULL, GT_BACKWARD_SKIP, unit, evaluate,   \
            variant, 0                                                                                       \
    }
#define ATTENTION(name, variant) ROW(name, "matrix", evaluate, &variant)

static const gt_model rows[] = {
    ATTENTION("vllm::unified_attention_with_output", plain),
    ATTENTION("aiter::mha_varlen_fwd", plain),
    ATTENTION("pseudo_mla_decode_fwd", plain),
    ATTENTION("aiter::fmha_v3_varlen_fwd", with_values),
    ATTENTION("aiter::mha_batch_prefill", with_values),
    ATTENTION("pseudo_mla_prefill_fwd", with_values),
    ATTENTION("sglang_profiler::tilelang_kernel_tilelang_sparse_fwd", tilelang),
    ATTENTION("sglang_profiler::attention_paged_attention_ragged", ragged),
    ATTENTION("aiter::pa_decode_gluon", gluon),
    ATTENTION("pseudo_v4_paged_decode_swa", v4_swa),
    ATTENTION("pseudo_v4_paged_decode_csa", v4_csa),
    ATTENTION("pseudo_v4_paged_decode_hca", v4_hca),
    ROW("aiter::pa_sparse_prefill_opus_fwd", "matrix", sparse_prefill, NULL),
    ROW("vllm::gdn_attention_core", "matrix", delta_network, NULL),
    ROW("aiter::linear_attention_with_output_base", "matrix", delta_network, NULL),
    ROW("sglang::store_cache", "vector", store_cache, NULL),
};

const gt_model_rows gt_inference_attention_models = {rows, GT_LENGTH(rows)};
