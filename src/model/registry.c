/* Looks up an op by name: one hash table of the rows of all families, filled at the first look-up.
 *
 * To add a family, declare its rows in family.h and list them in `families`. */
#include "model/family.h"

#include <pthread.h>

/* clang-format off */
static const gt_model ops_without_model[] = {
#include "model/op_names.inc"
};
/* clang-format on */

static const gt_model_rows rows_without_model = {ops_without_model, GT_LENGTH(ops_without_model)};

static const gt_model_rows *const families[] = {
    &gt_gemm_models,
    &gt_grouped_gemm_models,
    &gt_convolution_models,
    &gt_sdpa_models,
    &gt_inference_attention_models,
    &gt_elementwise_models,
    &gt_reduce_models,
    &gt_norm_models,
    &gt_moe_models,
    &gt_collective_models,
    &gt_rope_models,
    &gt_mhc_models,
    &gt_other_models,
    &rows_without_model,
};

static const char *const family_names[GT_FAMILY_COUNT] = {
    [GT_FAMILY_NONE] = "",
    [GT_FAMILY_GEMM] = "GEMM",
    [GT_FAMILY_SDPA] = "SDPA",
    [GT_FAMILY_CONV] = "CONV",
    [GT_FAMILY_INFERENCE_ATTENTION] = "InferenceAttention",
    [GT_FAMILY_BINARY_ELEMENTWISE] = "BinaryElementwise",
    [GT_FAMILY_GROUPED_GEMM] = "GroupedGEMM",
    [GT_FAMILY_MOE_COMM] = "MoE_comm",
    [GT_FAMILY_SSM] = "SSM",
    [GT_FAMILY_ROPE] = "RoPE",
    [GT_FAMILY_CROSS_ENTROPY] = "CrossEntropy",
    [GT_FAMILY_UNARY_ELEMENTWISE] = "UnaryElementwise",
    [GT_FAMILY_MOE_FUSED] = "MoE_fused",
    [GT_FAMILY_MOE_UNFUSED] = "MoE_unfused",
    [GT_FAMILY_MOE_AUX] = "MoE_aux",
    [GT_FAMILY_RMSNORM] = "RMSNorm",
    [GT_FAMILY_ELEMENTWISE] = "elementwise",
    [GT_FAMILY_GROUP_QUANT] = "GroupQuant",
    [GT_FAMILY_FUSED_ROPE] = "FusedRoPE",
    [GT_FAMILY_CUSTOM_COLLECTIVE] = "CustomCollective",
    [GT_FAMILY_MHC] = "mHC",
    [GT_FAMILY_NORMALIZATION] = "Normalization",
    [GT_FAMILY_REDUCE] = "Reduce",
};

const char *gt_op_family_name(gt_op_family family)
{
    return family_names[family];
}

enum { MAX_ROWS = 1000, SLOTS = 2048 }; /* SLOTS: a power of two, well above the number of rows */

static const gt_model *rows[MAX_ROWS];
static size_t row_count;
static uint16_t slots[SLOTS]; /* index + 1 into rows; 0: empty */
static pthread_once_t filled = PTHREAD_ONCE_INIT;

static void fill(void)
{
    for (size_t f = 0; f < GT_LENGTH(families); f++)
        for (size_t i = 0; i < families[f]->count && row_count < MAX_ROWS; i++) {
            const gt_model *row = &families[f]->rows[i];
            rows[row_count++] = row;
            size_t at = gt_hash_bytes(row->name, strlen(row->name)) % SLOTS;
            while (slots[at]) at = (at + 1) % SLOTS;
            slots[at] = (uint16_t)row_count;
        }
}

const gt_model *gt_op_find(gt_str name)
{
    pthread_once(&filled, fill);
    for (size_t at = gt_hash_bytes(name.bytes, name.len) % SLOTS; slots[at]; at = (at + 1) % SLOTS) {
        const gt_model *row = rows[slots[at] - 1];
        if (gt_str_equals(name, row->name)) return row;
    }
    return NULL;
}

const gt_model *const *gt_op_list(size_t *count)
{
    pthread_once(&filled, fill);
    *count = row_count;
    return rows;
}
