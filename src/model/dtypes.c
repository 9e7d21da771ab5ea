/* Types: bytes per element and the GPU's precision, by the C++ names that the profiler writes.
 *
 * To add a type, add a row to `dtypes`, to _TYPES in src/extension/models.py and to the table in
 * docs/models.md. */
#include "model/family.h"

typedef struct dtype {
    const char *name; /* compared ignoring case */
    int bytes;        /* 0: unknown */
    const char *precision;
} dtype;

static const dtype dtypes[] = {
    {"c10::bfloat16", 2, "bf16"},
    {"float", 4, "fp32"},
    {"c10::half", 2, "fp16"},
    {"double", 8, "fp64"},
    {"long int", 8, NULL},
    {"int", 4, NULL},
    {"scalar", 4, NULL},
    {"c10::float8_e4m3fnuz", 1, "fp8"},
    {"c10::float8_e4m3fn", 1, "fp8"},
    {"c10::float8_e5m2", 1, NULL},
    {"c10::float8_e8m0fnu", 1, NULL},
    {"unsigned char", 1, "fp8"}, /* fp8 tensors in frameworks without such a type */
    {"signed char", 1, NULL},
    {"fp8", 1, "fp8"},
    {"c10::float4_e2m1fn_x2", 1, "fp4"}, /* two elements per byte; shapes count bytes */
    {"fp4", 1, "fp4"},
    {"mxfp4", 0, "fp4"},
};

/* The types of mixture-of-experts models, compared exactly. */
static const struct {
    const char *name;
    double bytes;
} moe_dtypes[] = {
    {"Float8_e4m3fn", 1},
    {"Float8_e4m3fnuz", 1},
    {"Float8_e5m2", 1},
    {"Float8_e5m2fnuz", 1},
    {"FP8", 1},
    {"FP4", 0.5},
    {"BFloat16", 2},
    {"Float16", 2},
    {"Half", 2},
    {"Float32", 4},
    {"Float", 4},
    {"c10::BFloat16", 2},
    {"c10::Float8_e4m3fn", 1},
    {"c10::Float8_e4m3fnuz", 1},
    {"c10::Float4_e2m1fn_x2", 0.5},
    {"c10::Half", 2},
    {"c10::Float", 4},
};

static const dtype *find(const gt_value *type)
{
    if (type->type != GT_VALUE_STRING) return NULL;
    for (size_t i = 0; i < GT_LENGTH(dtypes); i++)
        if (gt_str_equals_nocase(type->text, dtypes[i].name)) return &dtypes[i];
    return NULL;
}

int gt_type_bytes(const gt_value *type)
{
    const dtype *known = find(type);
    return known ? known->bytes : 0;
}

int gt_type_bytes_or(const gt_value *type, int fallback)
{
    int bytes = gt_type_bytes(type);
    return bytes ? bytes : fallback;
}

int gt_require_type_bytes(gt_reader *r, const gt_value *type)
{
    int bytes = gt_type_bytes(type);
    gt_require(r, bytes > 0);
    return bytes;
}

const char *gt_type_precision(const gt_value *type)
{
    const dtype *known = find(type);
    return known ? known->precision : NULL;
}

double gt_moe_type_bytes(const gt_value *type, double fallback)
{
    for (size_t i = 0; i < GT_LENGTH(moe_dtypes); i++)
        if (gt_value_equals_cstr(type, moe_dtypes[i].name)) return moe_dtypes[i].bytes;
    return fallback;
}
