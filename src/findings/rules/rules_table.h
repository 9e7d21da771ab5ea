/* The functions of all rules, in the order of the engine's table (engine.c).
 *
 * A rule sees what the rules before it found (gt_rule_input.found). launch_bound comes last because its gain
 * is what remains after all specific causes. */
#pragma once

#include "findings/rules.h"

/* ---- the host ---- */
gt_rule_function gt_rule_data_stall;
gt_rule_function gt_rule_wait; /* wait or data_stall */
gt_rule_function gt_rule_host_sync;
gt_rule_function gt_rule_cpu_op; /* cpu_roundtrip or cpu_op */
gt_rule_function gt_rule_allocator_churn;
gt_rule_function gt_rule_python_busy;
gt_rule_function gt_rule_host_untraced;
gt_rule_function gt_rule_uneven_steps;
gt_rule_function gt_rule_first_use;

/* ---- steps of a server (serving.c) ---- */
gt_rule_function gt_rule_decode_gap;
gt_rule_function gt_rule_decode_idle_in_step;
gt_rule_function gt_rule_prefill_stall;
gt_rule_function gt_rule_graph_padding;
gt_rule_function gt_rule_decode_bound;

/* ---- copies ---- */
gt_rule_function gt_rule_pageable_copy;
gt_rule_function gt_rule_exposed_copy;

/* ---- the GPU ---- */
gt_rule_function gt_rule_recompute;
gt_rule_function gt_rule_unfused_attention;
gt_rule_function gt_rule_unfused_pointwise; /* of several places */
gt_rule_function gt_rule_odd_shapes;
gt_rule_function gt_rule_fp32_gemm;
gt_rule_function gt_rule_small_grid;
gt_rule_function gt_rule_unified_memory;
gt_rule_function gt_rule_layout_copies;
gt_rule_function gt_rule_dtype_casts;

/* ---- of both, or after all others ---- */
gt_rule_function gt_rule_slow_optimizer;
gt_rule_function gt_rule_exposed_comm;
gt_rule_function gt_rule_low_efficiency;
gt_rule_function gt_rule_short_kernels;
gt_rule_function gt_rule_launch_bound;
