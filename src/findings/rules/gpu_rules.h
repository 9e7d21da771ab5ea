/* Internal to rules/: what the rules about GPU time share. */
#pragma once

#include "findings/rules/rules_table.h"

/* New durations that a rule collects, by GPU op; negative: unchanged. The caller frees the array. */
double *gt_new_times(const gt_schedule *schedule);
/* Makes them the finding's edit. Returns the recorded time of the changed ops in the window. */
double gt_new_times_apply(const double *times, const gt_schedule *schedule, gt_finding *finding);

/* Time of an op's matrix work at the share of the peak rates that good kernels reach, in ns: `rate` is flops
 * per ns, `element` the bytes of an element. */
double gt_gemm_ns(const gt_op_shape *shape, const gt_gpu_rates *gpu, double rate, double element);
double gt_convolution_ns(const gt_op_shape *shape, const gt_gpu_rates *gpu, double rate, double element);

/* The time of a kernel at peak rates; 0: unknown. The kernels of an op share its matrix work; of ops that only
 * move data, those with one kernel are known, and Triton's, which get their outputs as arguments, too. */
double gt_kernel_peak_ns(const gt_gpu_facts *facts, const gt_schedule *schedule, const gt_gpu_rates *gpu,
                         size_t op, gt_arena *arena);

double gt_window_ns(const gt_schedule *schedule);
/* Whether a GPU op is a kernel of a known cpu_op. */
bool gt_op_is_sourced_kernel(const gt_rule_input *input, size_t op);
/* The host event that launched a GPU op with a source. */
uint32_t gt_op_event(const gt_rule_input *input, size_t op);

double gt_tally_total(const gt_tally *tally);
/* Sorts the tally and adds its largest entries as evidence: "TEXT: 1.23 ms". */
void gt_rule_evidence_sums(const gt_rule_input *input, gt_finding *finding, gt_tally *tally, size_t count);
/* The text with the largest sum, which the caller owns; NULL if there is none. Sorts the tally. */
char *gt_tally_first(const gt_rule_input *input, gt_tally *tally);

/* Labels for tallies, made once per shape. {0} is empty. */
typedef struct gt_shape_labels {
    uint32_t *ids; /* by index of the shape; GT_STR_NONE: not made yet */
    size_t capacity;
} gt_shape_labels;
typedef void gt_shape_writer(const gt_shapes *shapes, const gt_schedule *schedule, uint32_t shape,
                             gt_buffer *out);
uint32_t gt_shape_label(gt_shape_labels *labels, const gt_rule_input *input, uint32_t shape,
                        gt_shape_writer *write);
void gt_shape_labels_free(gt_shape_labels *labels);
gt_shape_writer gt_write_gemm; /* "aten::mm [1024, 501, 64]" */

/* The name of a kernel without what does not tell kernels apart, cut to `max` bytes; interned. */
uint32_t gt_short_kernel_name(const gt_schedule *schedule, uint32_t name, size_t max);

/* small_grid.c: blocks of a grid "[8, 1, 1]"; 0: unknown. */
double gt_grid_blocks(gt_str grid);

/* ---- copies ---- */

/* What a GPU op changes if all it does is to copy; UNKNOWN if it does more. Copies inside of unfused
 * attention or of a chain are no copies here: a fused kernel does not need them. */
gt_copy_change gt_copy_change_of(const gt_rule_input *input, size_t op);
/* "SITE [32, 1024]", made once per pair of site and shape; or the kernel's name. Interned. */
uint32_t gt_copy_label(const gt_rule_input *input, size_t op, struct gt_map *labels);
