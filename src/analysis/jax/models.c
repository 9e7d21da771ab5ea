/* Models of JAX ops: from the library call to shapes, and from shapes to flops and bytes.
 *
 * Attention has the dimensions batch, tokens, heads, width and is taken as not causal. The filter shape of a
 * convolution is taken without its two channel dimensions, as TraceLens does. */
#include "analysis/jax/models.h"

#include "compat/python_repr.h"

static const struct {
    const char *call;
    gt_jax_model model;
    gt_jax_class class; /* the kernel must be of this class; GT_JAX_CLASSES: any */
} calls[] = {
    {"matmul", GT_JAX_MODEL_GEMM, GT_JAX_CLASS_GEMM},
    {"cublas", GT_JAX_MODEL_GEMM, GT_JAX_CLASS_GEMM},
    {"te_fused_attn_forward_ffi", GT_JAX_MODEL_ATTENTION, GT_JAX_CLASSES},
    {"te_fused_attn_backward_ffi", GT_JAX_MODEL_ATTENTION_BWD, GT_JAX_CLASSES},
    {"cudnn$convForward", GT_JAX_MODEL_CONV, GT_JAX_CLASS_CONV},
    {"cudnn$convBiasActivationForward", GT_JAX_MODEL_CONV, GT_JAX_CLASS_CONV},
    {"cudnn$convBackward", GT_JAX_MODEL_CONV_BWD, GT_JAX_CLASS_CONV},
};

static const struct {
    const char *type;
    int bytes;
    const char *simulated; /* the name in op_gemm */
    const char *torch;     /* the name in the attention sheets */
} types[] = {
    {"f32", 4, "fp32", "float"},
    {"f16", 2, "fp16", "c10::half"},
    {"bf16", 2, "bf16", "c10::bfloat16"},
    {"f8", 1, "fp8", "c10::float8_e4m3fnuz"},
    {"fp8", 1, "fp8", "fp8"},
};
enum { TYPE_UNKNOWN = GT_LENGTH(types) };

static const char *const conv_names[] = {"conv1d", "conv2d", "conv3d"};

/* ---- which model ---- */

gt_jax_model gt_jax_model_of(const gt_jax *trace, const gt_hlo_record *record, gt_jax_class class)
{
    if (!record || !record->operand_count || record->custom_call_target == GT_STR_NONE)
        return GT_JAX_MODEL_NONE;
    gt_str target = gt_interner_get(trace->strings, record->custom_call_target);
    for (size_t i = 0; i < GT_LENGTH(calls); i++)
        if (gt_str_contains(target, calls[i].call) &&
            (calls[i].class == GT_JAX_CLASSES || calls[i].class == class))
            return calls[i].model;
    return GT_JAX_MODEL_NONE;
}

static bool is_attention(gt_jax_model model)
{
    return model == GT_JAX_MODEL_ATTENTION || model == GT_JAX_MODEL_ATTENTION_BWD;
}

/* ---- arguments as the sheets show them ---- */

enum { ATTENTION_INPUTS = 3 };

/* Interns the buffer and empties it. */
static uint32_t take_string(const gt_jax *trace, gt_buffer *text)
{
    uint32_t id = gt_interner_add(trace->strings, text->bytes, text->len);
    text->len = 0;
    return id;
}

gt_jax_arguments gt_jax_arguments_of(const gt_jax *trace, const gt_hlo_record *record, gt_arena *arena)
{
    uint32_t none = gt_interner_add_cstr(trace->strings, "()");
    gt_jax_arguments arguments = {none, none, none};
    if (!record) return arguments;
    gt_jax_tensors tensors = gt_jax_operands_of(trace, record, arena);
    bool attention = is_attention(gt_jax_model_of(trace, record, GT_JAX_CLASSES));
    size_t count = attention && tensors.count > ATTENTION_INPUTS ? ATTENTION_INPUTS : tensors.count;
    gt_buffer text = {0};
    const char *end = count == 1 ? ",)" : ")";
    gt_buffer_add_cstr(&text, "(");
    for (size_t i = 0; i < count; i++) {
        if (i) gt_buffer_add_cstr(&text, ", ");
        gt_jax_add_dims(&text, &tensors.items[i]);
    }
    gt_buffer_add_cstr(&text, end);
    arguments.dims = take_string(trace, &text);
    gt_buffer_add_cstr(&text, "(");
    for (size_t i = 0; i < count; i++) {
        if (i) gt_buffer_add_cstr(&text, ", ");
        gt_python_add_repr(&text, tensors.items[i].type);
    }
    gt_buffer_add_cstr(&text, end);
    arguments.types = take_string(trace, &text);
    if (attention && tensors.count > ATTENTION_INPUTS) {
        gt_buffer_add_cstr(&text, "(");
        gt_jax_add_dims(&text, &tensors.items[ATTENTION_INPUTS]);
        gt_buffer_add_cstr(&text, ",)");
        arguments.concrete = take_string(trace, &text);
    }
    gt_buffer_free(&text);
    return arguments;
}

/* ---- exact arithmetic: sums of products in 128 bits ---- */

typedef __int128 wide;

typedef struct sum {
    wide value;
    bool overflowed;
} sum;

#define PRODUCT(s, ...)                                                                                      \
    product_of(s, (const wide[]){__VA_ARGS__}, sizeof((const wide[]){__VA_ARGS__}) / sizeof(wide))

static wide product_of(sum *s, const wide *factors, size_t count)
{
    wide product = 1;
    for (size_t i = 0; i < count; i++)
        if (!gt_multiply(product, factors[i], &product)) s->overflowed = true;
    return product;
}

static void add_product(sum *s, wide product)
{
    if (__builtin_add_overflow(s->value, product, &s->value)) s->overflowed = true;
}

static wide volume(sum *s, const int64_t *dims, size_t count)
{
    wide product = 1;
    for (size_t i = 0; i < count; i++)
        if (!gt_multiply(product, dims[i], &product)) s->overflowed = true;
    return product;
}

/* ---- results ---- */

typedef struct evaluation {
    const gt_jax *trace;
    const gt_hlo_record *record;
    gt_str kernel;
    gt_arena *arena;
    gt_parameter *parameters;
    gt_model_result *result;
    gt_error *error;
} evaluation;

static void add_parameter(evaluation *e, const char *name, gt_value value)
{
    e->parameters[e->result->parameter_count++] = (gt_parameter){name, value};
}

static gt_value pair(evaluation *e, const char *a, const char *b)
{
    return gt_value_tuple(e->arena, (gt_value[]){gt_value_cstr(a), gt_value_cstr(b)}, 2);
}

static gt_value tuple_of(evaluation *e, const int64_t *dims, size_t count)
{
    gt_value *items = gt_arena_alloc(e->arena, (count + 1) * sizeof *items);
    for (size_t i = 0; i < count; i++) items[i] = gt_value_int(dims[i]);
    return gt_value_tuple(e->arena, items, count);
}

static bool finish_result(evaluation *e, const sum *flops, const sum *bytes)
{
    if (flops->overflowed || bytes->overflowed) return gt_fail(e->error, "sizes overflow");
    e->result->outcome = GT_MODEL_VALUE;
    e->result->flops = (double)flops->value;
    e->result->bytes = (double)bytes->value;
    return true;
}

static size_t type_index(gt_str type)
{
    for (size_t i = 0; i < TYPE_UNKNOWN; i++)
        if (gt_str_equals(type, types[i].type)) return i;
    return TYPE_UNKNOWN;
}

/* ---- matrix products ---- */

static bool evaluate_gemm(evaluation *e)
{
    gt_jax_gemm g;
    gt_value transpose[2];
    if (!gt_jax_gemm_of(e->trace, e->record, &g, e->error)) return false;
    size_t type = type_index(g.type);
    if (type == TYPE_UNKNOWN) return gt_fail(e->error, "unknown data type");
    add_parameter(e, "B", gt_value_int(g.batch));
    add_parameter(e, "M", gt_value_int(g.m));
    add_parameter(e, "N", gt_value_int(g.n));
    add_parameter(e, "K", gt_value_int(g.k));
    add_parameter(e, "bias", gt_value_bool(g.beta));
    add_parameter(e, "dtype_A_B", pair(e, types[type].type, types[type].type));
    add_parameter(e, "simulation_dtype", gt_value_cstr(types[type].simulated));
    if (gt_gemm_transpose(e->kernel, transpose))
        add_parameter(e, "transpose", gt_value_tuple(e->arena, transpose, 2));
    sum flops = {0}, bytes = {0};
    int size = types[type].bytes;
    add_product(&flops, PRODUCT(&flops, 2, g.batch, g.m, g.n, g.k));
    if (g.beta) add_product(&flops, PRODUCT(&flops, g.batch, g.m, g.n));
    add_product(&bytes, PRODUCT(&bytes, size, g.batch, g.m, g.k));
    add_product(&bytes, PRODUCT(&bytes, size, g.batch, g.k, g.n));
    add_product(&bytes, PRODUCT(&bytes, size, g.batch, g.m, g.n));
    if (g.beta) add_product(&bytes, PRODUCT(&bytes, size, g.batch, g.n));
    return finish_result(e, &flops, &bytes);
}

/* ---- attention ---- */

typedef struct attention {
    wide b, n_q, h_q, n_kv, h_kv, d_qk, d_v;
    int size;
} attention;

static void count_attention(const attention *a, sum *flops, sum *bytes)
{
    wide width = a->d_qk + a->d_v;
    add_product(flops, PRODUCT(flops, a->b, a->h_q, 2, a->n_q, a->n_kv, width));
    add_product(bytes, PRODUCT(bytes, a->size, a->b, a->n_q, a->h_q, width));
    add_product(bytes, PRODUCT(bytes, a->size, a->b, a->n_kv, a->h_kv, width));
}

static void count_attention_bwd(const attention *a, sum *flops, sum *bytes)
{
    wide repeated = a->h_q / a->h_kv - 1, width = a->d_qk + a->d_v;
    add_product(flops, PRODUCT(flops, a->b, a->h_q, 2, a->n_q, a->n_kv, width + width + a->d_qk));
    add_product(flops, PRODUCT(flops, a->b, a->n_kv, repeated, a->d_qk + a->d_v));
    add_product(bytes, PRODUCT(bytes, a->size, 2, a->b, a->n_q, a->h_q, a->d_qk));
    add_product(bytes, PRODUCT(bytes, a->size, a->b, a->n_q, a->h_q, a->d_v));
    add_product(bytes, PRODUCT(bytes, a->size, 2, a->b, a->n_kv, a->h_kv, a->d_qk + a->d_v));
}

static bool evaluate_attention(evaluation *e, bool backward)
{
    gt_jax_tensors t = gt_jax_operands_of(e->trace, e->record, e->arena);
    for (size_t i = 0; i < ATTENTION_INPUTS; i++)
        if (i >= t.count || t.items[i].dim_count != 4)
            return gt_fail(e->error, "queries, keys and values are not three 4-dimensional tensors");
    const int64_t *q = t.items[0].dims, *k = t.items[1].dims, *v = t.items[2].dims;
    size_t type = type_index(t.items[0].type), type_k = type_index(t.items[1].type);
    if (type == TYPE_UNKNOWN || type_k == TYPE_UNKNOWN) return gt_fail(e->error, "unknown data type");
    if (!k[2]) return gt_fail(e->error, "no heads");
    attention a = {q[0], q[1], q[2], k[1], k[2], q[3], v[3], types[type].bytes};
    static const char *const names[] = {"B", "N_Q", "H_Q", "N_KV", "H_KV", "d_h_qk", "d_h_v"};
    const int64_t values[] = {q[0], q[1], q[2], k[1], k[2], q[3], v[3]};
    for (size_t i = 0; i < GT_LENGTH(names); i++) add_parameter(e, names[i], gt_value_int(values[i]));
    gt_value bias =
        t.count > ATTENTION_INPUTS ? tuple_of(e, t.items[3].dims, t.items[3].dim_count) : gt_value_none;
    add_parameter(e, "bias", gt_value_tuple(e->arena, &bias, t.count > ATTENTION_INPUTS));
    add_parameter(e, "dtype_A_B", pair(e, types[type].torch, types[type_k].torch));
    add_parameter(e, "causal", gt_value_bool(false));
    add_parameter(e, "flash_impl", gt_value_bool(true));
    add_parameter(e, "fused", gt_value_bool(true));
    add_parameter(e, "bytes_per_element", gt_value_int(types[type].bytes));
    sum flops = {0}, bytes = {0};
    (backward ? count_attention_bwd : count_attention)(&a, &flops, &bytes);
    return finish_result(e, &flops, &bytes);
}

/* ---- convolutions ---- */

typedef struct conv {
    wide ins, outs, filters, filter_inner; /* elements; filter_inner: without the filter's first dimension */
    const gt_jax_tensor *out;
    int size; /* bytes of an element */
    bool bias;
} conv;

static void count_conv_flops(const conv *c, sum *flops)
{
    add_product(flops, PRODUCT(flops, c->outs, 2, c->filter_inner));
    if (c->bias) add_product(flops, c->outs);
}

static void count_conv(const conv *c, sum *flops, sum *bytes)
{
    count_conv_flops(c, flops);
    add_product(bytes, PRODUCT(bytes, c->size, c->ins));
    add_product(bytes, PRODUCT(bytes, c->size, c->filters));
    add_product(bytes, PRODUCT(bytes, c->size, c->outs));
    if (c->bias) add_product(bytes, PRODUCT(bytes, c->size, c->out->dims[1]));
}

static void count_conv_bwd(const conv *c, sum *flops, sum *bytes)
{
    const gt_jax_tensor *out = c->out;
    count_conv_flops(c, flops);
    /* The output with its first two dimensions swapped, without the new first one. */
    wide swapped = PRODUCT(flops, out->dims[0], volume(flops, out->dims + 2, out->dim_count - 2));
    add_product(flops, PRODUCT(flops, c->filters, 2, swapped));
    add_product(bytes, PRODUCT(bytes, c->size, 2, c->outs));
    add_product(bytes, PRODUCT(bytes, c->size, 2, c->filters));
    add_product(bytes, PRODUCT(bytes, c->size, 2, c->ins));
    if (c->bias) add_product(bytes, c->outs);
    if (c->bias) add_product(bytes, out->dims[1]);
}

static bool evaluate_conv(evaluation *e, bool backward)
{
    gt_jax_tensors t = gt_jax_operands_of(e->trace, e->record, e->arena);
    gt_jax_tensor out;
    if (t.count < 2 ||
        !gt_jax_tensor_of(gt_interner_get(e->trace->strings, e->record->output), e->arena, &out))
        return gt_fail(e->error, "unknown shapes");
    const gt_jax_tensor *in = &t.items[0], *channels = backward ? &out : &t.items[1];
    size_t type = type_index(in->type);
    if (type == TYPE_UNKNOWN) return gt_fail(e->error, "unknown data type");
    if (in->dim_count < 3 || in->dim_count > 5 || channels->dim_count < 2 || out.dim_count < 2)
        return gt_fail(e->error, "not a convolution over 1 to 3 dimensions");
    const int64_t *filter = channels->dims + 2;
    size_t filter_dims = channels->dim_count - 2, inner = filter_dims ? 1 : 0;
    bool bias = t.count == 3;
    int size = types[type].bytes;
    add_parameter(e, "convNd", gt_value_cstr(conv_names[in->dim_count - 3]));
    add_parameter(e, "input_shape", tuple_of(e, in->dims, in->dim_count));
    add_parameter(e, "filter_shape", tuple_of(e, filter, filter_dims));
    add_parameter(e, "output_shape", tuple_of(e, out.dims, out.dim_count));
    add_parameter(e, "bias", gt_value_bool(bias));
    add_parameter(e, "bytes_per_element", gt_value_int(size));
    add_parameter(e, "transposed_conv", gt_value_bool(false));

    sum flops = {0}, bytes = {0};
    conv c = {.ins = volume(&flops, in->dims, in->dim_count),
              .outs = volume(&flops, out.dims, out.dim_count),
              .filters = volume(&flops, filter, filter_dims),
              .filter_inner = volume(&flops, filter + inner, filter_dims - inner),
              .out = &out,
              .size = size,
              .bias = bias};
    (backward ? count_conv_bwd : count_conv)(&c, &flops, &bytes);
    return finish_result(e, &flops, &bytes);
}

bool gt_jax_evaluate(const gt_jax *trace, gt_jax_model model, const gt_hlo_record *record, gt_str kernel,
                     gt_arena *arena, gt_model_result *result, gt_error *error)
{
    *result = (gt_model_result){.outcome = GT_MODEL_FAIL, .bytes = (double)NAN};
    gt_parameter *parameters = gt_arena_alloc(arena, GT_MODEL_MAX_PARAMETERS * sizeof *parameters);
    evaluation e = {trace, record, kernel, arena, parameters, result, error};
    result->parameters = parameters;
    switch (model) {
    case GT_JAX_MODEL_NONE:
        return gt_fail(error, "no model");
    case GT_JAX_MODEL_GEMM:
        return evaluate_gemm(&e);
    case GT_JAX_MODEL_ATTENTION:
        return evaluate_attention(&e, false);
    case GT_JAX_MODEL_ATTENTION_BWD:
        return evaluate_attention(&e, true);
    case GT_JAX_MODEL_CONV:
        return evaluate_conv(&e, false);
    case GT_JAX_MODEL_CONV_BWD:
        return evaluate_conv(&e, true);
    }
    return false;
}
