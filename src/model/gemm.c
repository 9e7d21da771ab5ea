/* Matrix multiplication of A (M x K) and W (K x N), in B batches: flops = B (2 M N K, plus M N with a bias);
 * bytes = each input, the output and the bias once.
 *
 * The ops differ in the positions of M, N and K in their arguments and in the sizes of the elements; each has
 * a function that fills a `gemm`. The work of fused ops, transposition and scaling is not counted. */
#include "model/family.h"

/* ---- transposition, from kernel names: Cijk_Ailk_Bljk_... (Tensile, AMD), nvjet_..._TNT (NVIDIA) ---- */

/* The letter `first` and three lower-case letters. */
static bool is_index_group(const char *at, char first)
{
    return at[0] == first && at[1] >= 'a' && at[1] <= 'z' && at[2] >= 'a' && at[2] <= 'z' && at[3] >= 'a' &&
           at[3] <= 'z';
}

/* Cijk_Ailk_Bljk with any letters for the axes. A newline before the last byte rules it out. */
static bool is_tensile(gt_str name)
{
    for (size_t i = 0; i + 14 <= name.len; i++) {
        const char *at = name.bytes + i;
        if (is_index_group(at, 'C') && at[4] == '_' && is_index_group(at + 5, 'A') && at[9] == '_' &&
            is_index_group(at + 10, 'B'))
            return !memchr(name.bytes, '\n', name.len - 1);
    }
    return false;
}

/* False if the name contains `no`, true if it contains `yes`, otherwise None. */
static gt_value which_of(gt_str name, const char *no, const char *yes)
{
    return gt_str_contains(name, no)    ? gt_value_bool(false)
           : gt_str_contains(name, yes) ? gt_value_bool(true)
                                        : gt_value_none;
}

bool gt_gemm_transpose(gt_str name, gt_value transpose[2])
{
    if (is_tensile(name)) {
        transpose[0] = which_of(name, "_Ailk_", "_Alik_");
        transpose[1] = which_of(name, "_Bljk_", "_Bjlk_");
        return true;
    }
    if (name.len < 5 || memcmp(name.bytes, "nvjet", 5) != 0) return false;
    const char *last = memrchr(name.bytes, '_', name.len);
    const char *letters = last ? last + 1 : name.bytes;
    if (name.bytes + name.len - letters < 2) return false;
    transpose[0] = gt_value_bool(letters[0] == 'T');
    transpose[1] = gt_value_bool(letters[1] == 'T');
    return true;
}

typedef struct gemm {
    gt_int B, M, N, K;
    bool bias;
    gt_int bias_elements; /* of all batches; 0: N per batch */
    gt_value strides[2];
    gt_value dtypes[4];
    size_t dtype_count;
    double a_bytes, w_bytes, bias_bytes, out_bytes; /* per element; 0: unknown */
    const gt_value *scale_dtypes[2];                /* of the inputs' scales */
    const char *precision;                          /* NULL: that of the first dtype; "": unknown */
} gemm;

/* Which parameters are shown, and their order. */
typedef enum order {
    B_LAST,             /* M, N, K, bias, stride_A, stride_B, dtype_A_B, B */
    B_LAST_NO_STRIDES,  /* M, N, K, bias, dtype_A_B, B */
    B_FIRST,            /* B, M, N, K, bias, stride_A, stride_B, dtype_A_B */
    B_FIRST_NO_STRIDES, /* B, M, N, K, bias, dtype_A_B */
} order;

typedef struct variant {
    void (*read)(gt_reader *r, gemm *g);
    order order;
    gt_int (*bytes)(gt_reader *r, const gemm *g); /* NULL: set_usual_bytes */
    void (*extras)(gt_reader *r, const gemm *g);  /* adds more parameters, before B if it is last; or NULL */
} variant;

static const gt_value bfloat16 = GT_STRING_VALUE("c10::bfloat16");
static const gt_value float32 = GT_STRING_VALUE("float32");
static const gt_value no_type = GT_STRING_VALUE("");

/* ---- formulas ---- */

static gt_int flops_of(gt_reader *r, const gemm *g)
{
    return GT_PRODUCT(r, g->B,
                      GT_SUM(r, GT_PRODUCT(r, 2, g->M, g->N, g->K), g->bias ? GT_PRODUCT(r, g->M, g->N) : 0));
}

/* Elements of A, W, output and bias. */
static void count_elements(gt_reader *r, const gemm *g, gt_int elements[4])
{
    elements[0] = GT_PRODUCT(r, g->M, g->K);
    elements[1] = GT_PRODUCT(r, g->K, g->N);
    elements[2] = GT_PRODUCT(r, g->M, g->N);
    elements[3] = g->bias && !g->bias_elements ? g->N : 0;
}

static void set_usual_bytes(gt_reader *r, const gemm *g)
{
    const double sizes[4] = {g->a_bytes, g->w_bytes, g->out_bytes, g->bias_bytes};
    gt_int elements[4], sum = 0;
    double real_sum = 0;
    bool whole = true;
    count_elements(r, g, elements);
    for (int i = 0; i < 4; i++) {
        if (sizes[i] == 0) return;
        whole &= sizes[i] >= 1;
        sum = GT_SUM(r, sum, GT_PRODUCT(r, elements[i], (gt_int)sizes[i]));
        real_sum += (double)elements[i] * sizes[i];
    }
    if (whole)
        gt_set_bytes(
            r, GT_SUM(r, GT_PRODUCT(r, g->B, sum), GT_PRODUCT(r, g->bias_elements, (gt_int)g->bias_bytes)));
    else
        gt_set_bytes_real(r, (double)g->B * real_sum); /* half bytes */
}

/* From the first kernel whose name contains the information. */
static void add_transpose(gt_reader *r)
{
    gt_value transpose[2];
    for (size_t i = 0; i < r->event->kernel_count; i++)
        if (gt_gemm_transpose(gt_read_kernel(r, i), transpose)) {
            gt_add_values(r, "transpose", transpose, 2);
            return;
        }
}

/* ---- reading ---- */

static void set_dtypes(gemm *g, const gt_value *a, const gt_value *w)
{
    g->dtypes[0] = *a;
    g->dtypes[1] = *w;
    g->dtype_count = 2;
}

static void add_dtype(gemm *g, const gt_value *type)
{
    g->dtypes[g->dtype_count++] = *type;
}

static void set_sizes(gemm *g, double a, double w, double bias, double out)
{
    g->a_bytes = a;
    g->w_bytes = w;
    g->bias_bytes = bias;
    g->out_bytes = out;
}

/* Strides and types of the inputs `first` and `first` + 1. All elements have the size of the first type. */
static void read_one_type(gt_reader *r, gemm *g, int first)
{
    gt_read_stride_pair(r, first, first + 1, g->strides);
    set_dtypes(g, gt_read_type(r, first), gt_read_type(r, first + 1));
    int size = gt_type_bytes(&g->dtypes[0]);
    set_sizes(g, size, size, size, size);
}

/* The inputs are `first` (M x K) and `first` + 1 (K x N). */
static void read_plain(gt_reader *r, gemm *g, int first)
{
    g->M = gt_read_dim(r, first, 0);
    g->N = gt_read_dim(r, first + 1, 1);
    g->K = gt_read_dim(r, first, 1);
    read_one_type(r, g, first);
}

/* The inputs are matrices with the same K. Not for all ops, because some weights are N x K or packed. */
static void require_same_k(gt_reader *r, int first)
{
    if (!r->exact) return;
    gt_require_fit(r, gt_read_dims(r, first)->count == 2 && gt_read_dims(r, first + 1)->count == 2 &&
                          gt_read_dim(r, first, 1) == gt_read_dim(r, first + 1, 0));
}

static void read_mm(gt_reader *r, gemm *g)
{
    read_plain(r, g, 0);
    require_same_k(r, 0);
}

/* The bias is any tensor that can be broadcast to the output, which has `rank` axes. */
static void read_bias(gt_reader *r, gemm *g, int i, int rank)
{
    const gt_int output[3] = {g->B, g->M, g->N};
    g->bias = !r->exact || gt_has_dims(r, i);
    if (!r->exact || !g->bias) return;
    g->bias_elements = gt_read_size(r, i);
    gt_require_fit(r, gt_can_broadcast(r, i, output + 3 - rank, rank));
}

static void read_addmm(gt_reader *r, gemm *g)
{
    read_plain(r, g, 1);
    require_same_k(r, 1);
    read_bias(r, g, 0, 2);
}

/* D[2], D[3] are scales, D[4] is the bias; or D[2] if there is nothing else and it has N elements. */
static bool scaled_mm_has_bias(gt_reader *r, const gemm *g)
{
    if (!r->exact) return r->dims->count == 3;
    const gt_value *third = gt_dims_or_missing(r, 2);
    bool alone = r->dims->count == 3 && gt_value_is_list(third) && third->count == 1;
    return gt_has_dims(r, 4) || (alone && gt_shape_dim(r, third, 0) == g->N);
}

/* 8-bit inputs have a 16-bit output. */
static void read_scaled_mm(gt_reader *r, gemm *g)
{
    read_plain(r, g, 0);
    if (gt_str_equals(r->name, "aten::_scaled_mm")) require_same_k(r, 0);
    g->bias = scaled_mm_has_bias(r, g);
    gt_require_type_bytes(r, &g->dtypes[1]);
    int a = gt_require_type_bytes(r, &g->dtypes[0]);
    int out = a == 1 ? 2 : a == 2 || a == 4 ? a : 0;
    int bias = r->exact ? gt_type_bytes_or(gt_value_at(r->types, gt_has_dims(r, 4) ? 4 : 2), out) : a;
    set_sizes(g, a, a, bias, out);
}

static void read_te_pseudo_mm(gt_reader *r, gemm *g)
{
    read_plain(r, g, 0);
    const gt_value *a = &g->dtypes[0], *w = &g->dtypes[1];
    gt_require(r, a->type == GT_VALUE_STRING && w->type == GT_VALUE_STRING &&
                      gt_str_compare(a->text, w->text) == 0);
    g->out_bytes = 2;
}

static void read_batched(gt_reader *r, gemm *g, int first)
{
    gt_require(r, gt_read_dims(r, first)->count == 3 && gt_read_dims(r, first + 1)->count == 3);
    g->B = gt_read_dim(r, first, 0);
    g->M = gt_read_dim(r, first, 1);
    g->K = gt_read_dim(r, first, 2);
    g->N = gt_read_dim(r, first + 1, 2);
    if (r->exact)
        gt_require_fit(r, g->B == gt_read_dim(r, first + 1, 0) && g->K == gt_read_dim(r, first + 1, 1));
    read_one_type(r, g, first);
}

static void read_bmm(gt_reader *r, gemm *g)
{
    read_batched(r, g, 0);
}

static void read_baddbmm(gt_reader *r, gemm *g)
{
    read_batched(r, g, 1);
    read_bias(r, g, 0, 3);
}

/* The first two arguments that are matrices; the weight is N x K. */
static void read_dynamic_quant(gt_reader *r, gemm *g)
{
    const gt_value *found[2] = {gt_read_dims(r, 0), gt_dims_or_missing(r, 1)};
    int count = 0;
    for (uint32_t i = 0; i < r->dims->count && count < 2; i++) {
        const gt_value *shape = &r->dims->items[i];
        if (gt_value_is_list(shape) && shape->count == 2) found[count++] = shape;
    }
    gt_require(r, found[0]->count == 2 && gt_value_is_list(found[1]) && found[1]->count == 2);
    g->M = gt_shape_dim(r, found[0], 0);
    g->K = gt_shape_dim(r, found[0], 1);
    g->N = gt_shape_dim(r, found[1], 0);
    read_one_type(r, g, 0);
}

/* Transformer Engine: A is argument 0 and argument 4 says whether it is transposed; W is 5 and 9; the output
 * is 10, the bias 14, and its type T[18]. */
static void read_te_gemm(gt_reader *r, gemm *g)
{
    bool transposed_a = gt_value_equals_cstr(gt_read_concrete(r, 4), "1");
    bool transposed_w = gt_value_equals_cstr(gt_read_concrete(r, 9), "1");
    gt_read_dims(r, 10);
    g->M = gt_read_dim(r, 0, transposed_a ? 0 : 1);
    g->K = gt_read_dim(r, 0, transposed_a ? 1 : 0);
    g->N = gt_read_dim(r, 5, transposed_w ? 1 : 0);
    g->bias = r->exact ? gt_has_dims(r, 14) : !gt_value_equals_cstr(gt_read_concrete(r, 14), "");
    gt_read_stride_pair(r, 0, 5, g->strides);
    set_dtypes(g, gt_read_type(r, 0), gt_read_type(r, 5));
    add_dtype(g, gt_read_type(r, 10));
    add_dtype(g, gt_read_type(r, 18));
    set_sizes(g, gt_type_bytes(&g->dtypes[0]), gt_type_bytes(&g->dtypes[1]), gt_type_bytes(&g->dtypes[3]),
              gt_type_bytes(&g->dtypes[2]));
}

/* Arguments: A, its scale, W, its scale; 5 to 7 say whether A, W and the output are transposed. */
static void read_hipblaslt(gt_reader *r, gemm *g)
{
    const gt_value *a = gt_read_dims(r, 0), *w = gt_read_dims(r, 2);
    bool transposed_a = gt_parse_bool(gt_concrete_or_missing(r, 5));
    bool transposed_w = gt_parse_bool(gt_concrete_or_missing(r, 6));
    if (gt_parse_bool(gt_concrete_or_missing(r, 7))) {
        const gt_value *other = a;
        bool other_transposed = transposed_a;
        a = w;
        w = other;
        transposed_a = !transposed_w;
        transposed_w = !other_transposed;
    }
    g->M = gt_shape_dim(r, a, transposed_a ? 1 : 0);
    g->K = gt_shape_dim(r, a, transposed_a ? 0 : 1);
    g->N = gt_shape_dim(r, w, transposed_w ? 0 : 1);
    gt_stride_pair_or_none(r, 0, 2, g->strides);
    set_dtypes(g, gt_read_type(r, 0), gt_read_type(r, 2));
    g->scale_dtypes[0] = gt_value_at(r->types, 1);
    g->scale_dtypes[1] = gt_value_at(r->types, 3);
    int size = gt_require_type_bytes(r, &g->dtypes[0]);
    set_sizes(g, size, gt_require_type_bytes(r, &g->dtypes[1]), size, size == 1 ? 2 : size);
}

static void read_hipblaslt_fp4(gt_reader *r, gemm *g)
{
    read_hipblaslt(r, g);
    g->K = GT_PRODUCT(r, 2, g->K);
}

static void read_a4w4(gt_reader *r, gemm *g)
{
    g->M = gt_read_dim(r, 0, 0);
    g->N = gt_read_dim(r, 1, 0);
    g->K = GT_PRODUCT(r, 2, gt_read_dim(r, 0, 1));
    gt_stride_pair_or_none(r, 0, 1, g->strides);
    set_dtypes(g, gt_read_type(r, 0), gt_read_type(r, 1));
    g->scale_dtypes[0] = gt_value_at(r->types, 2);
    g->scale_dtypes[1] = gt_value_at(r->types, 3);
    int size = gt_require_type_bytes(r, &g->dtypes[0]);
    set_sizes(g, size, gt_require_type_bytes(r, &g->dtypes[1]), size, 2);
}

/* Two elements per byte, one scale per 32 elements, a 16-bit output. */
static gt_int fp4_bytes(gt_reader *r, const gemm *g)
{
    gt_int packed = gt_floor_div(r, g->K, 2), scales = gt_ceil_div(r, g->K, 32);
    return GT_SUM(
        r, GT_PRODUCT(r, g->M, packed, (gt_int)g->a_bytes), GT_PRODUCT(r, g->N, packed, (gt_int)g->w_bytes),
        GT_PRODUCT(r, g->M, scales, gt_type_bytes_or(g->scale_dtypes[0], 1)),
        GT_PRODUCT(r, g->N, scales, gt_type_bytes_or(g->scale_dtypes[1], 1)), GT_PRODUCT(r, 2, g->M, g->N));
}

static void add_scale_dtypes(gt_reader *r, const gemm *g)
{
    gt_add_value(r, "dtype_scaleA", *g->scale_dtypes[0]);
    gt_add_value(r, "dtype_scaleB", *g->scale_dtypes[1]);
}

/* The types of both inputs and of the output. */
static void read_dtypes(gt_reader *r, gemm *g, const gt_value *out)
{
    set_dtypes(g, gt_read_type(r, 0), gt_read_type(r, 1));
    add_dtype(g, out);
}

/* A is M x K, W is N x K. */
static void read_a_w(gt_reader *r, gemm *g)
{
    g->M = gt_read_dim(r, 0, 0);
    g->N = gt_read_dim(r, 1, 0);
    g->K = gt_read_dim(r, 0, 1);
}

static void read_a8w8(gt_reader *r, gemm *g)
{
    read_a_w(r, g);
    set_dtypes(g, gt_type_or(r, 0, &no_type), gt_type_or(r, 1, &no_type));
    add_dtype(g, &bfloat16);
    set_sizes(g, gt_type_bytes(&g->dtypes[0]), gt_type_bytes(&g->dtypes[1]), 2, 2);
}

/* How many elements share a scale: the size divided by the number of scales; None if that is unknown. */
static gt_value block_size(gt_reader *r, gt_int size, const gt_value *scales, int axis)
{
    if (gt_value_is_empty(scales)) return gt_value_none;
    gt_int count = gt_shape_dim(r, scales, axis);
    return count ? gt_value_int((int64_t)gt_ceil_div(r, size, count)) : gt_value_none;
}

static void add_block_scales(gt_reader *r, const gemm *g)
{
    if (r->dims->count > 3) {
        gt_add_string(r, "quant_scheme", "a8w8_blockscale");
        gt_add_string(r, "quant_granularity", "per_block");
        gt_add_value(r, "block_k", block_size(r, g->K, gt_dims_or_missing(r, 2), -1));
        gt_add_value(r, "block_n", block_size(r, g->N, gt_dims_or_missing(r, 3), 0));
        gt_add_value(r, "scale_dtype", *gt_type_or(r, 2, &float32));
    }
    gt_value shape[2] = {gt_value_int((int64_t)g->M), gt_value_int((int64_t)g->N)};
    gt_add_values(r, "output_shape", shape, 2);
    gt_add_value(r, "output_dtype", bfloat16);
}

static void read_unquantized(gt_reader *r, gemm *g)
{
    read_a_w(r, g);
    g->bias = gt_has_dims(r, 2);
    read_dtypes(r, g, gt_type_or(r, 2, &no_type));
    int out = gt_type_bytes(&g->dtypes[g->bias ? 2 : 1]);
    set_sizes(g, gt_type_bytes(&g->dtypes[0]), gt_type_bytes(&g->dtypes[1]), out, out);
}

static void read_a16wfp4(gt_reader *r, gemm *g)
{
    g->B = gt_read_dim(r, 0, 0);
    g->M = gt_read_dim(r, 0, 1);
    g->N = gt_read_dim(r, 1, 1);
    g->K = gt_read_dim(r, 0, 2);
    read_dtypes(r, g, &bfloat16);
    set_sizes(g, gt_type_bytes(&g->dtypes[0]), 0.5, 2, 2);
    g->precision = "fp4";
}

/* The batch is the first axis of W and the first or second axis of A. */
static void read_batched_a8w8(gt_reader *r, gemm *g)
{
    g->B = gt_read_dim(r, 1, 0);
    g->M = gt_read_dim(r, 0, 0) == g->B ? gt_read_dim(r, 0, 1) : gt_read_dim(r, 0, 0);
    g->N = gt_read_dim(r, 1, 1);
    g->K = gt_read_dim(r, 0, 2);
    read_dtypes(r, g, &bfloat16);
    set_sizes(g, gt_type_bytes(&g->dtypes[0]), gt_type_bytes(&g->dtypes[1]), 2, 2);
    g->precision = gt_type_precision(&g->dtypes[1]);
    if (!g->precision) g->precision = "";
}

static void read_16bit(gt_reader *r, gemm *g, const gt_value *out)
{
    read_a_w(r, g);
    read_dtypes(r, g, out);
    int size = gt_type_bytes(out);
    set_sizes(g, gt_type_bytes(&g->dtypes[0]), gt_type_bytes(&g->dtypes[1]), size, size);
}

static void read_a16w16_atomic(gt_reader *r, gemm *g)
{
    read_16bit(r, g, gt_type_or(r, 3, &bfloat16));
}

static void read_a16w16(gt_reader *r, gemm *g)
{
    read_16bit(r, g, gt_read_type(r, 0));
    g->bias = gt_has_dims(r, 2);
}

static void read_a16w16_asm(gt_reader *r, gemm *g)
{
    const gt_value *out = gt_value_at(r->types, 2);
    read_16bit(r, g, gt_type_bytes(out) ? out : gt_read_type(r, 0));
}

static void read_afp4wfp4(gt_reader *r, gemm *g)
{
    read_a_w(r, g);
    g->K = GT_PRODUCT(r, 2, g->K);
    read_dtypes(r, g, &bfloat16);
    set_sizes(g, 0.5, 0.5, 2, 2);
    g->precision = "fp4";
}

/* ---- evaluating ---- */

static void add_parameters(gt_reader *r, const gemm *g, const variant *v)
{
    bool first = v->order == B_FIRST || v->order == B_FIRST_NO_STRIDES;
    if (first) gt_add_int(r, "B", g->B);
    gt_add_int(r, "M", g->M);
    gt_add_int(r, "N", g->N);
    gt_add_int(r, "K", g->K);
    gt_add_bool(r, "bias", g->bias);
    if (v->order == B_LAST || v->order == B_FIRST) {
        gt_add_value(r, "stride_A", g->strides[0]);
        gt_add_value(r, "stride_B", g->strides[1]);
    }
    gt_add_values(r, "dtype_A_B", g->dtypes, g->dtype_count);
    if (v->extras) v->extras(r, g);
    if (!first) gt_add_int(r, "B", g->B);
    add_transpose(r);
}

static void evaluate(gt_reader *r, const void *data)
{
    const variant *v = data;
    gemm g = {.B = 1};
    v->read(r, &g);
    gt_set_flops(r, flops_of(r, &g));
    if (v->bytes)
        gt_set_bytes(r, v->bytes(r, &g));
    else
        set_usual_bytes(r, &g);
    gt_set_precision(r, g.precision ? g.precision : gt_type_precision(&g.dtypes[0]));
    add_parameters(r, &g, v);
}

static const variant mm = {read_mm, B_LAST, NULL, NULL}, addmm = {read_addmm, B_LAST, NULL, NULL},
                     scaled_mm = {read_scaled_mm, B_LAST, NULL, NULL}, bmm = {read_bmm, B_FIRST, NULL, NULL},
                     baddbmm = {read_baddbmm, B_FIRST, NULL, NULL},
                     dynamic_quant = {read_dynamic_quant, B_LAST, NULL, NULL},
                     te_gemm = {read_te_gemm, B_LAST, NULL, NULL},
                     te_pseudo_mm = {read_te_pseudo_mm, B_LAST, NULL, NULL},
                     hipblaslt_fp8 = {read_hipblaslt, B_LAST, NULL, add_scale_dtypes},
                     hipblaslt_fp4 = {read_hipblaslt_fp4, B_LAST, fp4_bytes, add_scale_dtypes},
                     a4w4 = {read_a4w4, B_LAST, fp4_bytes, add_scale_dtypes},
                     a8w8 = {read_a8w8, B_FIRST_NO_STRIDES, NULL, add_block_scales},
                     unquantized = {read_unquantized, B_LAST_NO_STRIDES, NULL, NULL},
                     a16wfp4 = {read_a16wfp4, B_FIRST_NO_STRIDES, NULL, NULL},
                     batched_a8w8 = {read_batched_a8w8, B_FIRST_NO_STRIDES, NULL, NULL},
                     a16w16_atomic = {read_a16w16_atomic, B_FIRST_NO_STRIDES, NULL, NULL},
                     a16w16 = {read_a16w16, B_FIRST_NO_STRIDES, NULL, NULL},
                     a16w16_asm = {read_a16w16_asm, B_FIRST_NO_STRIDES, NULL, NULL},
                     afp4wfp4 = {read_afp4wfp4, B_FIRST_NO_STRIDES, NULL, NULL};

/* ---- the ops ---- */

#define GEMM(name, variant)                                                                                  \
    {                                                                                                        \
        name, GT_FAMILY_GEMM, "GEMM", NULL, GT_BACKWARD_FAIL, "matrix", evaluate, &variant, GT_USES_KERNELS  \
    }

static const gt_model rows[] = {
    GEMM("aten::mm", mm),
    GEMM("aten::addmm", addmm),
    GEMM("aten::_scaled_mm", scaled_mm),
    GEMM("trtllm::cublas_scaled_mm", scaled_mm),
    GEMM("bitsandbytes::int8_linear_matmul", scaled_mm),
    GEMM("aten::bmm", bmm),
    GEMM("aten::baddbmm", baddbmm),
    GEMM("vllm::gemm_with_dynamic_quant", dynamic_quant),
    GEMM("tex_ts::te_gemm_ts", te_gemm),
    GEMM("_Linear_yfwd_mm", te_pseudo_mm),
    GEMM("_LinearBackward_xgrad_mm", te_pseudo_mm),
    GEMM("_LinearBackward_wgrad_mm", te_pseudo_mm),
    GEMM("_LayerNormLinear_yfwd_mm", te_pseudo_mm),
    GEMM("_LayerNormLinearBackward_xgrad_mm", te_pseudo_mm),
    GEMM("_LayerNormLinearBackward_wgrad_mm", te_pseudo_mm),
    GEMM("primus_turbo_cpp_extension::hipblaslt_gemm_fp8", hipblaslt_fp8),
    GEMM("primus_turbo::hipblaslt_gemm_fp8", hipblaslt_fp8),
    GEMM("primus_turbo_cpp_extension::hipblaslt_gemm_fp4", hipblaslt_fp4),
    GEMM("primus_turbo::hipblaslt_gemm_fp4", hipblaslt_fp4),
    GEMM("aiter::gemm_a4w4", a4w4),
    GEMM("aiter::_gemm_a4w4_asm", a4w4),
    GEMM("sglang_profiler::fp8_utils_gemm_a8w8_blockscale", a8w8),
    GEMM("sglang_profiler::gemm_a8w8_blockscale_gemm_a8w8_blockscale", a8w8),
    GEMM("vllm::rocm_aiter_triton_gemm_a8w8_blockscale", a8w8),
    GEMM("aiter::gemm_a8w8_blockscale_ck", a8w8),
    GEMM("aiter::gemm_a8w8_blockscale_cktile", a8w8),
    GEMM("aiter::gemm_a8w8_blockscale_bpreshuffle_ck", a8w8),
    GEMM("aiter::gemm_a8w8_blockscale_bpreshuffle_cktile", a8w8),
    GEMM("aiter::flatmm_a8w8_blockscale_asm", a8w8),
    GEMM("aiter::gfx950_a8w8_blockscale_asm", a8w8),
    GEMM("aiter::gemm_a8w8_ck", a8w8),
    GEMM("aiter::gemm_a8w8_bpreshuffle_ck", a8w8),
    GEMM("aiter::gemm_a8w8_bpreshuffle", a8w8),
    GEMM("vllm::_rocm_aiter_preshuffled_per_token_w8a8_gemm", a8w8),
    GEMM("aiter::_gemm_a8w8_blockscale_bpreshuffle_asm", a8w8),
    GEMM("vllm::rocm_unquantized_gemm", unquantized),
    GEMM("aiter::batched_gemm_a16wfp4_", a16wfp4),
    GEMM("sglang_profiler::batched_gemm_a8w8_a_per_token_group_prequant_w_per_batched_tensor_quant_batched_"
         "gemm_a8w8_a_per_token_group_prequant_w_per_batched_tensor_quant",
         batched_a8w8),
    GEMM("aiter::gemm_a16w16_atomic_", a16w16_atomic),
    GEMM("sglang_profiler::gemm_kernels_flydsl_hgemm", a16w16_atomic),
    GEMM("aiter::gemm_a16w16", a16w16),
    GEMM("aiter::_gemm_a16w16_asm", a16w16_asm),
    GEMM("aiter::gemm_afp4wfp4_", afp4wfp4),
};

const gt_model_rows gt_gemm_models = {rows, GT_LENGTH(rows)};
