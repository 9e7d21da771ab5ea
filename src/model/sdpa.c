/* Scaled dot-product attention on whole tensors of queries, keys and values.
 *
 * Forward: S = Q K^T and O = P V, 2 B H_Q N_Q N_KV flops per dimension of a head. Backward: the gradients of
 * V, P, Q and K, and S again if the implementation does not store it (flash). Softmax is not counted. A
 * causal mask halves the flops; it is supported only if there are as many keys as queries. Elements count as
 * two bytes. */
#include "model/family.h"

typedef enum layout {
    BATCH_LENGTH_HEAD, /* axes of q, k, v: batch, length, head, dim */
    BATCH_HEAD_LENGTH,
    PACKED,    /* length, head, dim: sequences of different lengths, concatenated */
    EVOFORMER, /* batch, sequences, length, head, dim; k and v have the shape of q */
} layout;

/* How dropout and causal are represented. */
typedef enum spelling {
    STRICT,    /* a number, True or False */
    LENIENT,   /* 0 if it is not a number; true only if it is "true", ignoring case */
    DEFAULTED, /* as STRICT; if absent or empty: 0.0 and True */
} spelling;

enum { NONE = -1 };

typedef struct variant {
    int query; /* index of the argument; key and value follow */
    layout layout;
    spelling spelling;
    int dropout, causal; /* indices of the arguments; NONE: no dropout; not causal */
    bool flash, strides, dtypes;
    bool backward;       /* the op is a backward op */
    bool sized_by_dtype; /* elements have the size of the first dtype instead of two bytes */
    /* PACKED: indices of the arguments with the ends of the sequences and with the longest lengths; those of
     * the queries, the keys follow. */
    int sequences, longest;
} variant;

typedef struct sdpa {
    gt_int B, N_Q, H_Q, N_KV, H_KV, d_qk, d_v;
    gt_value dropout, causal;
    gt_int sequences_q, sequences_kv; /* PACKED */
    double longest_q, longest_kv;
} sdpa;

/* ---- formulas ---- */

/* Query heads share key heads; summing their gradients takes one addition less than there are query heads. */
static gt_int additions_per_key(gt_reader *r, const sdpa *s)
{
    return GT_SUM(r, gt_floor_div(r, s->H_Q, s->H_KV), -1);
}

static gt_int forward_flops(gt_reader *r, const sdpa *s)
{
    return GT_PRODUCT(r, 2, s->B, s->H_Q, s->N_Q, s->N_KV, GT_SUM(r, s->d_qk, s->d_v));
}

static gt_int backward_flops(gt_reader *r, const sdpa *s, bool flash)
{
    gt_int d = GT_SUM(r, GT_PRODUCT(r, flash ? 3 : 2, s->d_qk), GT_PRODUCT(r, 2, s->d_v));
    gt_int added = GT_PRODUCT(r, s->B, s->N_KV, GT_SUM(r, s->d_qk, s->d_v), additions_per_key(r, s));
    return GT_SUM(r, GT_PRODUCT(r, 2, s->B, s->H_Q, s->N_Q, s->N_KV, d), added);
}

static bool is_causal(const sdpa *s)
{
    return !gt_value_is_empty(&s->causal);
}

static void set_flops(gt_reader *r, const sdpa *s, bool backward, bool flash)
{
    gt_int flops = backward ? backward_flops(r, s, flash) : forward_flops(r, s);
    gt_require(r, !is_causal(s) || s->N_Q == s->N_KV);
    if (is_causal(s))
        gt_set_flops_real(r, (double)flops / 2);
    else
        gt_set_flops(r, flops);
}

static void set_bytes(gt_reader *r, const sdpa *s, bool backward, int size)
{
    gt_int queries = GT_PRODUCT(r, s->N_Q, s->H_Q), keys = GT_PRODUCT(r, s->N_KV, s->H_KV);
    gt_int both = GT_SUM(r, s->d_qk, s->d_v);
    gt_int elements =
        backward ? GT_SUM(r, GT_PRODUCT(r, queries, GT_SUM(r, both, s->d_qk)), GT_PRODUCT(r, 2, keys, both))
                 : GT_SUM(r, GT_PRODUCT(r, queries, both), GT_PRODUCT(r, keys, both));
    gt_set_bytes(r, GT_PRODUCT(r, s->B, elements, size));
}

/* ---- packed sequences: computed with floats, in this order of operations ---- */

static double real_forward(const sdpa *s, double n_q, double n_kv)
{
    double heads = (double)s->B * (double)s->H_Q, d_qk = (double)s->d_qk, d_v = (double)s->d_v;
    return heads * (2 * n_q * n_kv * d_qk) + heads * (2 * n_q * d_v * n_kv);
}

static double real_backward(gt_reader *r, const sdpa *s, double n_q, double n_kv)
{
    double B = (double)s->B, d_qk = (double)s->d_qk, d_v = (double)s->d_v, heads = B * (double)s->H_Q;
    double additions = (double)additions_per_key(r, s);
    double q_part = heads * (2 * n_q * n_kv * d_qk), v_part = heads * (2 * n_kv * n_q * d_v);
    double total = q_part;
    total += v_part + B * n_kv * d_v * additions;
    total += v_part;
    total += q_part;
    return total + (q_part + B * n_kv * d_qk * additions);
}

static double real_flops(gt_reader *r, const sdpa *s, bool backward, double n_q, double n_kv)
{
    double flops = backward ? real_backward(r, s, n_q, n_kv) : real_forward(s, n_q, n_kv);
    gt_require(r, !is_causal(s) || n_q == n_kv);
    return is_causal(s) ? flops / 2 : flops;
}

/* One sequence has the maximum length; the others are assumed to share the rest evenly. */
static void set_packed_flops(gt_reader *r, const sdpa *s, bool backward)
{
    double flops = real_flops(r, s, backward, s->longest_q, s->longest_kv);
    if (s->sequences_q > 1) {
        double others_q = (double)s->sequences_q - 1, others_kv = (double)s->sequences_kv - 1;
        gt_require(r, others_kv != 0);
        double n_q = floor(((double)s->N_Q - s->longest_q) / others_q);
        double n_kv = floor(((double)s->N_KV - s->longest_kv) / others_kv);
        flops += others_q * real_flops(r, s, backward, n_q, n_kv);
    }
    gt_set_flops_real(r, flops);
}

/* ---- reading ---- */

/* The axes of each layout; NONE: there is no such axis. */
static const struct {
    int batch, length, head, dim;
} axes[] = {
    [BATCH_LENGTH_HEAD] = {0, 1, 2, 3},
    [BATCH_HEAD_LENGTH] = {0, 2, 1, 3},
    [PACKED] = {NONE, 0, 1, 2},
};

static gt_int batch_of(gt_reader *r, const variant *v, int argument)
{
    return v->layout == PACKED ? 1 : gt_read_dim(r, argument, axes[v->layout].batch);
}

static void read_shapes(gt_reader *r, const variant *v, sdpa *s)
{
    int q = v->query, k = q + 1, value = q + 2;
    int length = axes[v->layout].length, head = axes[v->layout].head, dim = axes[v->layout].dim;
    s->B = batch_of(r, v, q);
    s->N_Q = gt_read_dim(r, q, length);
    s->H_Q = gt_read_dim(r, q, head);
    s->d_qk = gt_read_dim(r, q, dim);
    s->N_KV = gt_read_dim(r, k, length);
    s->H_KV = gt_read_dim(r, k, head);
    s->d_v = gt_read_dim(r, value, dim);
    gt_require(r, s->B == batch_of(r, v, k) && s->B == batch_of(r, v, value));
    gt_require(r, s->d_qk == gt_read_dim(r, k, dim));
    gt_require(r, s->N_KV == gt_read_dim(r, value, length) && s->H_KV == gt_read_dim(r, value, head));
}

static void read_evoformer(gt_reader *r, sdpa *s)
{
    gt_require(r, gt_read_dims(r, 0)->count == 5);
    s->B = GT_PRODUCT(r, gt_read_dim(r, 0, 0), gt_read_dim(r, 0, 1));
    s->N_Q = s->N_KV = gt_read_dim(r, 0, 2);
    s->H_Q = s->H_KV = gt_read_dim(r, 0, 3);
    s->d_qk = s->d_v = gt_read_dim(r, 0, 4);
}

static gt_value read_dropout(gt_reader *r, const variant *v)
{
    if (v->dropout == NONE) return gt_value_float(0);
    if (v->spelling == LENIENT) return gt_value_float(gt_optional_float(gt_read_concrete(r, v->dropout)));
    const gt_value *text = gt_concrete_or_missing(r, v->dropout);
    if (v->spelling == DEFAULTED && gt_value_is_empty(text)) return gt_value_float(0);
    return gt_value_float(gt_read_float(r, text));
}

static gt_value read_causal(gt_reader *r, const variant *v)
{
    if (v->causal == NONE) return gt_value_bool(false);
    const gt_value *text = gt_concrete_or_missing(r, v->causal);
    if (v->spelling == DEFAULTED && gt_value_is_empty(text)) return gt_value_bool(true);
    if (v->spelling != LENIENT) return gt_read_literal(r, text);
    gt_require(r, text->type == GT_VALUE_STRING);
    return gt_value_bool(gt_is_true_string(text));
}

static void read_sequences(gt_reader *r, const variant *v, sdpa *s)
{
    s->sequences_q = GT_SUM(r, gt_read_dim(r, v->sequences, 0), -1);
    s->sequences_kv = GT_SUM(r, gt_read_dim(r, v->sequences + 1, 0), -1);
    s->longest_q = gt_read_float(r, gt_read_concrete(r, v->longest));
    s->longest_kv = gt_read_float(r, gt_read_concrete(r, v->longest + 1));
}

/* ---- parameters ---- */

static void add_shapes(gt_reader *r, const sdpa *s)
{
    gt_add_int(r, "B", s->B);
    gt_add_int(r, "N_Q", s->N_Q);
    gt_add_int(r, "H_Q", s->H_Q);
    gt_add_int(r, "N_KV", s->N_KV);
    gt_add_int(r, "H_KV", s->H_KV);
    gt_add_int(r, "d_h_qk", s->d_qk);
    gt_add_int(r, "d_h_v", s->d_v);
}

static void add_strides(gt_reader *r, const variant *v)
{
    static const char *const names[] = {"q_stride", "k_stride", "v_stride"};
    for (int i = 0; i < 3; i++) gt_add_value(r, names[i], gt_read_stride(r, v->query + i));
}

/* The first two types, regardless of the arguments they belong to; fewer if there are fewer. */
static void add_dtypes(gt_reader *r, const variant *v)
{
    static const gt_value none = {.type = GT_VALUE_NONE};
    bool evoformer = v->layout == EVOFORMER;
    const gt_value *types = r->types;
    uint32_t wanted = evoformer ? 1 : 2;
    gt_value dtypes = {.type = evoformer ? GT_VALUE_LIST : GT_VALUE_TUPLE, .count = 1, .items = &none};
    gt_require(r, evoformer || (gt_value_is_list(types) && types->count > 0));
    if (gt_value_is_list(types) && types->count > 0) {
        dtypes.items = types->items;
        dtypes.count = types->count < wanted ? types->count : wanted;
    }
    gt_set_precision(r, gt_type_precision(&dtypes.items[0]));
    gt_add_value(r, "dtype_A_B", dtypes);
}

static void add_sequences(gt_reader *r, const sdpa *s)
{
    gt_add_int(r, "num_seqs_q", s->sequences_q);
    gt_add_int(r, "num_seqs_kv", s->sequences_kv);
    gt_add_float(r, "max_seqlen_q", s->longest_q);
    gt_add_float(r, "max_seqlen_kv", s->longest_kv);
}

static void evaluate(gt_reader *r, const void *data)
{
    const variant *v = data;
    bool backward = v->backward || r->backward;
    sdpa s = {.dropout = read_dropout(r, v), .causal = read_causal(r, v)};
    if (v->layout == EVOFORMER)
        read_evoformer(r, &s);
    else
        read_shapes(r, v, &s);
    if (v->layout == PACKED) read_sequences(r, v, &s);
    if (v->layout == PACKED && !r->backward)
        set_packed_flops(r, &s, backward);
    else
        set_flops(r, &s, backward, v->flash);
    bool sized = v->sized_by_dtype && !r->backward;
    int size = sized ? gt_require_type_bytes(r, gt_read_type(r, 0)) : 2;
    if (r->exact) size = gt_type_bytes_or(gt_value_at(r->types, v->query), 2);
    set_bytes(r, &s, backward, size);
    add_shapes(r, &s);
    if (v->strides) add_strides(r, v);
    if (v->layout != EVOFORMER) gt_add_value(r, "dropout", s.dropout);
    gt_add_value(r, "causal", s.causal);
    gt_add_bool(r, "flash_impl", v->flash);
    if (v->dtypes) add_dtypes(r, v);
    if (v->layout == PACKED) add_sequences(r, &s);
}

/* ---- the ops ---- */

static const variant
    flash = {.layout = BATCH_LENGTH_HEAD,
             .dropout = 3,
             .causal = 5,
             .flash = true,
             .strides = true,
             .dtypes = true},
    flash_backward = {.query = 1,
                      .layout = BATCH_LENGTH_HEAD,
                      .spelling = DEFAULTED,
                      .dropout = 8,
                      .causal = 10,
                      .flash = true,
                      .strides = true,
                      .dtypes = true,
                      .backward = true,
                      .sized_by_dtype = true},
    packed = {.layout = PACKED,
              .dropout = 7,
              .causal = 9,
              .flash = true,
              .strides = true,
              .dtypes = true,
              .sequences = 3,
              .longest = 5},
    packed_backward = {.query = 1,
                       .layout = PACKED,
                       .dropout = 13,
                       .causal = 15,
                       .flash = true,
                       .strides = true,
                       .dtypes = true,
                       .backward = true,
                       .sequences = 9,
                       .longest = 11},
    aten_math = {.layout = BATCH_HEAD_LENGTH, .spelling = LENIENT, .dropout = 5, .causal = 6, .dtypes = true},
    aten_flash = {.layout = BATCH_HEAD_LENGTH,
                  .spelling = LENIENT,
                  .dropout = 3,
                  .causal = 4,
                  .flash = true,
                  .dtypes = true},
    aiter = {.spelling = LENIENT, .dropout = 3, .causal = 5, .flash = true},
    aiter_backward = {.spelling = LENIENT, .dropout = 10, .causal = 12, .flash = true, .backward = true},
    fmha_v3 = {.query = 1, .spelling = LENIENT, .dropout = 4, .causal = 6, .flash = true},
    fmha_v3_backward =
        {.query = 1, .spelling = LENIENT, .dropout = 7, .causal = 9, .flash = true, .backward = true},
    mha_backward =
        {.query = 1, .spelling = LENIENT, .dropout = 6, .causal = 8, .flash = true, .backward = true},
    flash_3 = {.spelling = LENIENT, .dropout = NONE, .causal = 24, .flash = true},
    evoformer = {.layout = EVOFORMER, .dropout = NONE, .causal = NONE, .dtypes = true};

#define SDPA(name, category, variant)                                                                        \
    {                                                                                                        \
        name, GT_FAMILY_SDPA, category, "SDPA_bwd", GT_BACKWARD_KNOWN, "matrix", evaluate, &variant, 0       \
    }
#define FORWARD(name, variant)  SDPA(name, "SDPA_fwd", variant)
#define BACKWARD(name, variant) SDPA(name, "SDPA_bwd", variant)

static const gt_model rows[] = {
    FORWARD("FlashAttnFunc", flash),
    FORWARD("flash_attn::_flash_attn_forward", flash),
    BACKWARD("flash_attn::_flash_attn_backward", flash_backward),
    FORWARD("flash_attn::_flash_attn_varlen_forward", packed),
    BACKWARD("flash_attn::_flash_attn_varlen_backward", packed_backward),
    FORWARD("aten::_scaled_dot_product_cudnn_attention", aten_math),
    FORWARD("aten::_scaled_dot_product_efficient_attention", aten_math),
    FORWARD("aten::_scaled_dot_product_flash_attention", aten_flash),
    FORWARD("aiter::_flash_attn_forward", aiter),
    FORWARD("aiter::mha_fwd", aiter),
    FORWARD("aiter::fmha_v3_fwd", aiter),
    BACKWARD("aiter::_flash_attn_backward", aiter_backward),
    FORWARD("aiter::wrapper_fmha_v3_fwd", fmha_v3),
    BACKWARD("aiter::wrapper_fmha_v3_bwd", fmha_v3_backward),
    BACKWARD("aiter::mha_bwd", mha_backward),
    FORWARD("flash_attn_3::fwd", flash_3),
    FORWARD("EvoformerAttention", evoformer),
};

const gt_model_rows gt_sdpa_models = {rows, GT_LENGTH(rows)};
