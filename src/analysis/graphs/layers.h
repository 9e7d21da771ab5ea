/* Layers of a model in a sequence of kernels: the smallest period with which it repeats, and what the GEMMs
 * of one layer are for.
 *
 *     stems    embed  norm gemm attn gemm norm gemm act gemm  norm gemm attn gemm norm gemm act gemm  argmax
 *              first  |------------ period 8 -------------|  |------------------ 2 layers --------|
 */
#pragma once

#include "base/base.h"

typedef struct gt_layers {
    size_t first;  /* kernel of the first layer */
    size_t period; /* kernels per layer */
    size_t count;  /* layers; the last one may lack a fifth of its kernels */
} gt_layers;

/* False if most of the sequence does not repeat. */
bool gt_layers_find(const uint32_t *stems, size_t count, gt_layers *layers);

/* What a kernel of a layer is for. */
typedef enum gt_layer_role {
    GT_ROLE_NONE, /* no GEMM, or unknown */
    GT_ROLE_QKV,
    GT_ROLE_OUTPUT, /* projection of the attention's output */
    GT_ROLE_MLP,
    GT_ROLE_EXPERTS,
    GT_ROLE_ROUTER, /* chooses the experts */
} gt_layer_role;

/* "qkv_proj", "o_proj", ...; "" for none. */
const char *gt_layer_role_name(gt_layer_role role);

/* The roles of the kernels of one layer, by their classes (gt_kernel_class) and whether they are helpers
 * (names.h). Layers follow each other, so the kernel after the last one is the first. */
void gt_layer_roles_find(const uint8_t *classes, const bool *is_helper, size_t count, gt_layer_role *roles);
