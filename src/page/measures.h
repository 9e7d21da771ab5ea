/* What the first screen of the page and the first sheet of a workbook say about a trace, as numbers.
 *
 * They come from the sheets of findings. Where there are none (--no_findings), they come from the tables of
 * schema/page.h alone, and what only findings know is absent. */
#pragma once

#include "page/page.h"

/* What a part of the window is, in the order of the bar. */
typedef enum gt_page_part_kind {
    GT_PART_COMPUTATION,
    GT_PART_COMMUNICATION, /* that nothing hides; likewise copies */
    GT_PART_COPY,
    GT_PART_IDLE,
    GT_PART_REMAINDER, /* neither busy nor idle: 0 unless the trace contradicts itself */
    GT_PART_KINDS
} gt_page_part_kind;
const char *gt_page_part_kind_name(gt_page_part_kind kind); /* as in the sheet balance */

/* A category of the page, or a cause of idle time. */
typedef struct gt_page_part {
    gt_page_part_kind kind;
    const char *name;
    int64_t ns;
} gt_page_part;

/* Why there are no such times: the first of these that is true. */
typedef enum gt_page_roofline_lack {
    GT_ROOFLINE_LACKS_DURATIONS, /* of kernels */
    GT_ROOFLINE_LACKS_SHAPES,    /* of the inputs of ops */
    GT_ROOFLINE_LACKS_MODELS,
    GT_ROOFLINE_LACKS_RATES, /* of the GPU */
} gt_page_roofline_lack;

/* Times of ops that have a performance model and rates to compare with. */
typedef struct gt_page_roofline {
    gt_page_roofline_lack lack; /* of those without times (kernel_us is 0) */
    bool has_rates;             /* those of the GPU are known */
    double ideal_us;            /* what they would take at the roofline */
    double kernel_us;           /* what their kernels took */
    double top_ideal_us;        /* the same of ops in the category with most computation */
    double top_kernel_us;
    double top_all_us; /* all work of that category, also without a model */
    double gpu_us;     /* all computation on the GPU; 0: unknown */
} gt_page_roofline;

/* The first finding that is no hint. */
typedef struct gt_page_repair {
    const char *id; /* NULL: there is none */
    const char *title;
    bool is_gpu;
    bool precedes_more; /* another one gains more with as much certainty, but can only come after it */
    double gain_pct;
} gt_page_repair;

typedef struct gt_page_measures {
    int64_t window_ns; /* 0: no GPU work */
    int64_t kind_ns[GT_PART_KINDS];
    gt_page_part *parts; /* by kind, then by time; they add up to the window */
    size_t part_count, part_capacity;
    double steps, window_steps; /* with GPU work; in the window: at least 1 */
    bool has_steps;
    const char *device; /* NULL: unknown */
    bool device_is_deduced;
    double device_count;
    double capture_ms;     /* NaN: unknown */
    bool is_graph_capture; /* its kernels did not run */
    gt_page_repair repair;
    gt_page_roofline roofline;
    double total_ms[GT_PART_KINDS]; /* COMMUNICATION, COPY: in the whole trace, hidden or not; NaN: unknown */
    double copies;                  /* in the whole trace, also those that kernels make; 0: unknown */
    double empty_steps;             /* marked, but without GPU work */
    double server_steps;            /* that a server marked, if nothing else did */
    /* Per step of the window. */
    size_t step_count;
    double *step_ns, *step_kind_ns[GT_PART_KINDS];
} gt_page_measures;

/* The strings are those of the tables. */
gt_page_measures gt_page_measures_find(const gt_page_source *source);
void gt_page_measures_free(gt_page_measures *measures);

/* sentence.c: one sentence. What should be bold is between `*`. */
void gt_page_add_sentence(const gt_page_measures *measures, gt_buffer *out);
/* If something but computation limits the step, the sentence as a clause without bold words: "the GPU is idle
 * 60 % ...". Nothing otherwise. */
void gt_page_add_limit(const gt_page_measures *measures, gt_buffer *out);
/* Another sentence, after a space, if the first finding is about something else than that sentence. */
void gt_page_add_repair(const gt_page_measures *measures, gt_buffer *out);
