/* Rotary position embedding: each pair of elements is rotated by an angle. This takes four multiplications
 * and two additions, that is, three operations per element. Elements are read and written once. */
#include "model/family.h"

/* ---- embedding alone ---- */

/* Elements of an unknown type count as 2 bytes. */
static void set_rotation(gt_reader *r, gt_int elements, const gt_value *type)
{
    gt_set_flops(r, GT_PRODUCT(r, 3, elements));
    gt_set_bytes(r, GT_PRODUCT(r, 2, elements, gt_type_bytes_or(type, 2)));
    gt_set_precision(r, gt_type_precision(type));
}

static void fused_rope(gt_reader *r, const void *variant)
{
    (void)variant;
    static const char *const names[] = {"seq_len", "batch", "heads", "head_dim"};
    gt_int elements = gt_read_size(r, 0);
    for (int i = 0; i < 4; i++) gt_add_int(r, names[i], gt_read_dim(r, 0, i));
    gt_add_int(r, "num_elements", elements);
    set_rotation(r, elements, gt_type_or(r, 0, &gt_value_none));
}

static void rope_of_two(gt_reader *r, const void *variant)
{
    (void)variant;
    const gt_value *x = gt_read_dims(r, 2), *y = gt_read_dims(r, 3);
    gt_int elements = GT_SUM(r, gt_shape_size(r, x), gt_shape_size(r, y));
    gt_add_tuple(r, "x_shape", x);
    gt_add_tuple(r, "y_shape", y);
    gt_add_int(r, "num_elements", elements);
    set_rotation(r, elements, gt_type_or(r, 0, &gt_value_none));
}

static bool is_blank(const gt_value *v)
{
    if (v->type != GT_VALUE_STRING) return v->type == GT_VALUE_MISSING;
    for (size_t i = 0; i < v->text.len; i++)
        if (!isspace((unsigned char)v->text.bytes[i])) return false;
    return true;
}

/* Queries and keys are whole rows; the first elements of each head are rotated. */
static void rotary_embedding(gt_reader *r, const void *variant)
{
    (void)variant;
    const gt_value *given = gt_concrete_or_missing(r, 3), *table = gt_dims_or_missing(r, 4);
    gt_int head = is_blank(given) ? gt_read_dim(r, 1, -1) : gt_read_int(r, given);
    gt_int rotated = gt_value_is_list(table) && table->count > 1 ? gt_shape_dim(r, table, 1) : head;
    gt_require(r, head > 0);
    gt_int query_heads = gt_floor_div(r, gt_read_dim(r, 1, 1), head),
           key_heads = gt_floor_div(r, gt_read_dim(r, 2, 1), head);
    gt_int elements = GT_PRODUCT(r, gt_read_dim(r, 1, 0), GT_SUM(r, query_heads, key_heads), rotated);
    gt_add_int(r, "num_elements", elements);
    set_rotation(r, elements, gt_read_type(r, 1));
}

/* ---- embedding, then storing the keys in the cache (latent attention) ---- */

/* T tokens; Q query heads and H key heads, each with L latent and P rotated elements. */
typedef struct latent {
    gt_int T, Q, H, L, P;
    const gt_value *in, *cache; /* types */
} latent;

static latent read_latent(gt_reader *r, bool has_key_heads)
{
    const gt_value *query = gt_read_dims(r, 0), *in = gt_read_type(r, 0);
    gt_require(r, query->count == 3 && in->type == GT_VALUE_STRING);
    return (latent){.T = gt_shape_dim(r, query, 0),
                    .Q = gt_shape_dim(r, query, 1),
                    .L = gt_shape_dim(r, query, 2),
                    .P = gt_read_dim(r, 1, 2),
                    .H = has_key_heads ? gt_read_dim(r, 2, 1) : 1,
                    .in = in,
                    .cache = gt_nonempty_type_or(r, 4, in)};
}

static void add_latent(gt_reader *r, const latent *l)
{
    gt_add_int(r, "T", l->T);
    gt_add_int(r, "QH", l->Q);
    gt_add_int(r, "KH", l->H);
    gt_add_int(r, "D_lora", l->L);
    gt_add_int(r, "D_pe", l->P);
    gt_add_value(r, "dtype_in", *l->in);
    gt_add_value(r, "dtype_kv", *l->cache);
    gt_set_precision(r, gt_type_precision(l->in));
    gt_set_flops(r, GT_PRODUCT(r, 3, l->T, l->P, GT_SUM(r, l->Q, l->H)));
}

/* Elements of an unknown type have the size of the input's. */
static void set_latent_bytes(gt_reader *r, const latent *l, const gt_value *out)
{
    int in_bytes = gt_type_bytes(l->in);
    if (!in_bytes) return;
    gt_int elements_per_head = GT_PRODUCT(r, l->T, GT_SUM(r, l->L, l->P));
    gt_set_bytes(
        r, GT_SUM(r, GT_PRODUCT(r, elements_per_head, l->Q, in_bytes + gt_type_bytes_or(out, in_bytes)),
                  GT_PRODUCT(r, elements_per_head, l->H, in_bytes + gt_type_bytes_or(l->cache, in_bytes))));
}

static void rope_cat_and_cache(gt_reader *r, const void *variant)
{
    (void)variant;
    latent l = read_latent(r, true);
    add_latent(r, &l);
    set_latent_bytes(r, &l, l.in);
}

static void rope_concat_and_cache(gt_reader *r, const void *variant)
{
    (void)variant;
    latent l = read_latent(r, false);
    const gt_value *out = gt_nonempty_type_or(r, 5, l.in);
    add_latent(r, &l);
    gt_add_value(r, "dtype_out", *out);
    set_latent_bytes(r, &l, out);
}

/* ---- the ops ---- */

#define ROPE(name, family, evaluate)                                                                         \
    {                                                                                                        \
        name, family, "RoPE_fwd", NULL, GT_BACKWARD_FAIL, "vector", evaluate, NULL, 0                        \
    }

static const gt_model rows[] = {
    ROPE("FusedRoPEFunc", GT_FAMILY_ROPE, fused_rope),
    ROPE("aiter::rope_cached_positions_2c_fwd_impl", GT_FAMILY_ROPE, rope_of_two),
    ROPE("sgl_kernel::rotary_embedding", GT_FAMILY_ROPE, rotary_embedding),
    ROPE("aiter::fused_qk_rope_cat_and_cache_mla", GT_FAMILY_FUSED_ROPE, rope_cat_and_cache),
    ROPE("aiter::fused_qk_rope_concat_and_cache_mla", GT_FAMILY_FUSED_ROPE, rope_concat_and_cache),
};

const gt_model_rows gt_rope_models = {rows, GT_LENGTH(rows)};
