/* Families of one or two ops: state-space models, cross entropy, and the transfer of tokens to the GPUs of
 * their experts. */
#include "model/family.h"

/* T[0]; None if the event has no types. FAIL if the list of types is empty. */
static const gt_value *read_first_type(gt_reader *r)
{
    gt_require(r, !gt_value_is_list(r->types) || r->types->count > 0);
    return gt_type_or(r, 0, &gt_value_none);
}

/* ---- state-space models ---- */

/* Each channel has its own filter. */
static void causal_conv1d(gt_reader *r, const void *variant)
{
    (void)variant;
    gt_int B = gt_read_dim(r, 0, 0), C = gt_read_dim(r, 0, 1), L = gt_read_dim(r, 0, 2),
           K = gt_read_dim(r, 1, 1);
    bool has_bias = gt_has_dims(r, 2);
    const gt_value *type = read_first_type(r);
    gt_int elements = GT_PRODUCT(r, B, C, L);
    gt_add_int(r, "batch", B);
    gt_add_int(r, "channels", C);
    gt_add_int(r, "seq_len", L);
    gt_add_int(r, "kernel_size", K);
    gt_add_bool(r, "has_bias", has_bias);
    gt_set_precision(r, gt_type_precision(type));
    gt_set_flops(r, GT_PRODUCT(r, 2, elements, K));
    gt_set_bytes(r,
                 GT_PRODUCT(r, GT_SUM(r, GT_PRODUCT(r, 2, elements), GT_PRODUCT(r, C, K), has_bias ? C : 0),
                            gt_type_bytes_or(type, 2)));
}

/* C[i]; `fallback` if it is absent or empty. */
static gt_int concrete_or(gt_reader *r, int i, gt_int fallback)
{
    const gt_value *given = gt_concrete_or_missing(r, i);
    gt_int value = gt_value_is_empty(given) ? fallback : gt_read_int(r, given);
    return gt_require(r, value >= 0) ? value : 0;
}

static int parameter_bytes(gt_reader *r, int i, int fallback)
{
    return gt_type_bytes_or(gt_type_or(r, i, &gt_value_none), fallback);
}

/* Convolution and scan of T tokens in chunks of C: H heads of P channels, G groups that share N states. */
static void mamba(gt_reader *r, const void *variant)
{
    (void)variant;
    gt_int B = gt_read_dim(r, 0, 0), T = gt_read_dim(r, 0, 1), combined = gt_read_dim(r, 0, 2);
    gt_int conv_channels = gt_read_dim(r, 1, 0), conv_width = gt_read_dim(r, 1, 1), H = gt_read_dim(r, 3, 0);
    gt_int C = concrete_or(r, 6, 128), P = concrete_or(r, 15, 64), G = concrete_or(r, 16, 1);
    gt_int inner = GT_PRODUCT(r, H, P);
    /* The projection has values and gates (inner each), B and C (N per group) and one step per head. */
    gt_int rest = GT_SUM(r, combined, GT_PRODUCT(r, -2, inner), -H), shared = GT_PRODUCT(r, 2, G);
    if (!gt_require(r, rest > 0 && shared > 0) || !gt_require(r, rest % shared == 0)) return;
    gt_int N = rest / shared;
    gt_add_int(r, "B", B);
    gt_add_int(r, "T", T);
    gt_add_int(r, "H", H);
    gt_add_int(r, "P", P);
    gt_add_int(r, "G", G);
    gt_add_int(r, "N", N);
    gt_add_int(r, "C", C);
    gt_add_int(r, "d_inner", inner);
    gt_add_int(r, "d_conv", conv_width);
    gt_add_int(r, "conv_channels", conv_channels);
    gt_add_int(r, "combined_dim", combined);
    const gt_value *type = read_first_type(r);
    int e = gt_type_bytes_or(type, 2);
    gt_set_precision(r, gt_type_precision(type));
    gt_set_flops(r, GT_PRODUCT(r, 2, B, T,
                               GT_SUM(r, GT_PRODUCT(r, conv_channels, conv_width), GT_PRODUCT(r, G, C, N),
                                      GT_PRODUCT(r, H, C, P), GT_PRODUCT(r, 2, H, N, P))));
    gt_int elements = GT_SUM(r, GT_PRODUCT(r, B, T, combined), GT_PRODUCT(r, conv_channels, conv_width),
                             conv_channels, GT_PRODUCT(r, B, T, inner));
    int head_bytes = parameter_bytes(r, 3, 4) + parameter_bytes(r, 4, 4) + parameter_bytes(r, 5, e);
    gt_set_bytes(r, GT_SUM(r, GT_PRODUCT(r, elements, e), GT_PRODUCT(r, H, head_bytes)));
}

/* ---- cross entropy: reads the logits once, and moves 12 bytes per row: a target of 8, a loss of 4 ---- */

static void cross_entropy(gt_reader *r, const void *variant)
{
    (void)variant;
    const gt_value *logits = gt_read_dims(r, 0), *type = gt_type_or(r, 0, &gt_value_none);
    gt_int batch = gt_shape_dim(r, logits, 0), vocabulary = gt_shape_dim(r, logits, -1);
    gt_add_int(r, "batch", batch);
    gt_add_int(r, "vocab_size", vocabulary);
    gt_add_value(r, "logits_shape", *logits);
    gt_set_precision(r, gt_type_precision(type));
    gt_set_flops(r, GT_PRODUCT(r, 5, batch, vocabulary));
    gt_set_bytes(r, GT_SUM(r, GT_PRODUCT(r, gt_shape_size(r, logits), gt_type_bytes_or(type, 2)),
                           GT_PRODUCT(r, 12, batch)));
}

/* ---- transfer of tokens to their experts and back: no computation ---- */

static void send_tokens(gt_reader *r, const void *variant)
{
    (void)variant;
    static const gt_value nothing = {.type = GT_VALUE_LIST};
    const gt_value *tokens = gt_value_is_empty(r->dims) ? &nothing : gt_read_dims(r, 0);
    int bytes = gt_type_bytes(gt_type_or(r, 0, &gt_value_none));
    gt_int count = tokens->count >= 1 ? gt_shape_dim(r, tokens, 0) : 0,
           hidden = tokens->count >= 2 ? gt_shape_dim(r, tokens, 1) : 0;
    gt_add_value(r, "num_tokens", *gt_value_at(tokens, 0));
    gt_add_value(r, "hidden_dim", *gt_value_at(tokens, 1));
    if (bytes)
        gt_add_int(r, "bpe", bytes);
    else
        gt_add_none(r, "bpe");
    gt_set_flops(r, 0);
    if (tokens->count >= 2 && bytes) gt_set_bytes(r, GT_PRODUCT(r, count, hidden, bytes));
}

/* ---- the ops ---- */

static const gt_model rows[] = {
    {"DaoAILab::_causal_conv1d_fwd_cpp", GT_FAMILY_SSM, "SSM_fwd", NULL, GT_BACKWARD_FAIL, "matrix",
     causal_conv1d, NULL, 0},
    {"MambaSplitConv1dScanCombinedFn", GT_FAMILY_SSM, "SSM_fwd", "SSM_bwd", GT_BACKWARD_KNOWN, "matrix",
     mamba, NULL, 0},
    {"CrossEntropyFunction", GT_FAMILY_CROSS_ENTROPY, "CrossEntropy_fwd", NULL, GT_BACKWARD_FAIL, "vector",
     cross_entropy, NULL, 0},
    {"MoEDispatch", GT_FAMILY_MOE_COMM, "MoE_comm_fwd", "MoE_comm_bwd", GT_BACKWARD_KNOWN, NULL, send_tokens,
     NULL, 0},
    {"MoECombine", GT_FAMILY_MOE_COMM, "MoE_comm_fwd", "MoE_comm_bwd", GT_BACKWARD_KNOWN, NULL, send_tokens,
     NULL, 0},
};

const gt_model_rows gt_other_models = {rows, GT_LENGTH(rows)};
