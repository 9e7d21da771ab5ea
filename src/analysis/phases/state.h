/* Internals of the phases of inference, shared by the methods: phases.c has those that judge each op on its
 * own, auto.c and infer.c the one that judges steps. */
#pragma once

#include "analysis/phases/phases.h"

enum { GT_CLUE_DIMS, GT_CLUE_TYPES, GT_CLUE_STRIDES, GT_CLUE_CONCRETE, GT_CLUE_ARGUMENTS };

struct gt_phases {
    const gt_linked_view *trace;
    const gt_launchers *launchers; /* NULL: none */
    gt_phase_options options;
    gt_phase_names *names;
    uint8_t *of_launcher;
    /* Frequencies, computed when first needed: */
    uint32_t *counts;           /* by name: number of launchers */
    double rare_max, often_min; /* counts below the first are rare, counts above the second frequent */
    gt_phase between;
    /* Shapes and query lengths, loaded when first needed: */
    uint32_t *arguments[GT_CLUE_ARGUMENTS]; /* by row: JSON */
    gt_values *values;
    gt_models *models;
    /* Of the method auto: */
    gt_phase_step *steps; /* by start; the last one is for GPU events outside all steps */
    size_t step_count, step_capacity;
    uint32_t *step_of_gpu; /* by row of a GPU event: its step */
};

/* The op, or the kernel, whose phase is wanted. */
typedef struct gt_phase_subject {
    uint32_t row;            /* GT_NO_EVENT: a kernel without an op */
    uint32_t name;           /* GT_STR_EMPTY for a kernel without an op */
    const uint32_t *kernels; /* rows */
    size_t kernel_count;
} gt_phase_subject;

gt_phase_subject gt_phases_subject(const gt_phases *p, size_t launcher);
/* The names of the op and its kernels. */
gt_phase_text gt_phases_text(gt_phases *p, const gt_phase_subject *op);

void gt_phases_load_arguments(gt_phases *p);
/* Parameters of the op's model if it is of this family and category, by their names; NaN for those that it
 * does not have. False if it is not. */
bool gt_phases_parameters(gt_phases *p, const gt_phase_subject *op, gt_op_family family, const char *category,
                          const char *const *names, double *values, size_t count);

/* ---- auto.c ---- */

/* Finds the steps, the step of each GPU event, and the phase of each launcher. */
void gt_phases_find_steps(gt_phases *p);
/* Adds inferred steps for the launchers without an annotated one (infer.c), and finds the phases of all. */
void gt_phases_infer_steps(gt_phases *p);
/* The phase of a GPU event that has no launcher. */
gt_phase gt_phases_of_lone_event(gt_phases *p, uint32_t row);
