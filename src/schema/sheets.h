/* The names of all sheets, each spelled once: GT_SHEET_GPU_TIMELINE is the handle of "gpu_timeline".
 *
 * Intermediate tables have names too, because error messages show them. */
#pragma once

#include "table/table.h"

/* ---- Several reports ---- */

#define GT_SHEET_COPIES                     GT_SHEET("copies")
#define GT_SHEET_COUNTERS                   GT_SHEET("counters")
#define GT_SHEET_GPU_TIMELINE               GT_SHEET("gpu_timeline")
#define GT_SHEET_GPU_TIMELINE_BY_DEVICE     GT_SHEET("gpu_timeline_by_device")
#define GT_SHEET_KERNELS                    GT_SHEET("kernels")
#define GT_SHEET_KERNEL_LAUNCHERS           GT_SHEET("kernel_launchers")
#define GT_SHEET_KERNEL_SUMMARY             GT_SHEET("kernel_summary")
#define GT_SHEET_NCCL_ALL2ALLV              GT_SHEET("nccl_all2allv")
#define GT_SHEET_NCCL_LONG                  GT_SHEET("nccl_long")
#define GT_SHEET_NCCL_SUMMARY_IMPLICIT_SYNC GT_SHEET("nccl_summary_implicit_sync")
#define GT_SHEET_NCCL_SUMMARY_LONG          GT_SHEET("nccl_summary_long")
#define GT_SHEET_SHEET1                     GT_SHEET("Sheet1") /* of a workbook that would have no sheet */
#define GT_SHEET_SHORT_KERNELS_SUMMARY      GT_SHEET("short_kernels_summary")
#define GT_SHEET_SHORT_KERNEL_HISTOGRAM     GT_SHEET("short_kernel_histogram")
#define GT_SHEET_UNNAMED                    GT_SHEET("")

/* ---- PyTorch reports: ops, kernels, call trees ---- */

#define GT_SHEET_INFERENCE_PHASES                GT_SHEET("inference_phases")
#define GT_SHEET_KERNEL_SUMMARY_DECODE           GT_SHEET("kernel_summary_decode")
#define GT_SHEET_KERNEL_SUMMARY_PREFILL          GT_SHEET("kernel_summary_prefill")
#define GT_SHEET_MEMORY_COPIES                   GT_SHEET("memory_copies")
#define GT_SHEET_OPS                             GT_SHEET("ops")
#define GT_SHEET_OPS_ALL                         GT_SHEET("ops_all")
#define GT_SHEET_OPS_SUMMARY                     GT_SHEET("ops_summary")
#define GT_SHEET_OPS_SUMMARY_BY_CATEGORY         GT_SHEET("ops_summary_by_category")
#define GT_SHEET_OPS_SUMMARY_DECODE              GT_SHEET("ops_summary_decode")
#define GT_SHEET_OPS_SUMMARY_PREFILL             GT_SHEET("ops_summary_prefill")
#define GT_SHEET_OPS_UNIQUE_ARGS                 GT_SHEET("ops_unique_args")
#define GT_SHEET_OPS_UNIQUE_ARGS_KL_OVERLAP      GT_SHEET("ops_unique_args_kl_overlap")
#define GT_SHEET_PARAMETERS                      GT_SHEET("parameters")
#define GT_SHEET_SHORT_KERNELS                   GT_SHEET("short kernels")
#define GT_SHEET_SHORT_KERNELS_ALL_DETAILS       GT_SHEET("short_kernels_all_details")
#define GT_SHEET_SHORT_KERNELS_HISTOGRAM         GT_SHEET("short_kernels_histogram")
#define GT_SHEET_UNIFIED_PERF_SUMMARY            GT_SHEET("unified_perf_summary")
#define GT_SHEET_UNIFIED_PERF_SUMMARY_KL_OVERLAP GT_SHEET("unified_perf_summary_kl_overlap")

/* ---- Findings ---- */

#define GT_SHEET_BALANCE        GT_SHEET("balance")
#define GT_SHEET_FINDINGS       GT_SHEET("findings")
#define GT_SHEET_IDLE_CALLS     GT_SHEET("idle_calls")
#define GT_SHEET_IDLE_CAUSES    GT_SHEET("idle_causes")
#define GT_SHEET_IDLE_GAPS      GT_SHEET("idle_gaps")
#define GT_SHEET_OVERVIEW       GT_SHEET("overview")
#define GT_SHEET_SCENARIO       GT_SHEET("scenario")
#define GT_SHEET_SCENARIO_NOTES GT_SHEET("scenario_notes")
#define GT_SHEET_TRUST          GT_SHEET("trust")
#define GT_SHEET_WHAT_IF        GT_SHEET("what_if")

/* ---- Findings of many ranks ---- */

#define GT_SHEET_CLOCK_OFFSETS        GT_SHEET("clock_offsets")
#define GT_SHEET_COMMUNICATION_MATRIX GT_SHEET("communication_matrix")
#define GT_SHEET_CRITICAL_PATH        GT_SHEET("critical_path")
#define GT_SHEET_CRITICAL_PATH_STEPS  GT_SHEET("critical_path_steps")
#define GT_SHEET_RANK_CAUSES          GT_SHEET("rank_causes")
#define GT_SHEET_RANK_STEPS           GT_SHEET("rank_steps")
#define GT_SHEET_RANK_STEP_TIMES      GT_SHEET("rank_step_times")
#define GT_SHEET_SLACK                GT_SHEET("slack")

/* ---- Batch report ---- */

#define GT_SHEET_BATCH_ATTENTION                 GT_SHEET("attn")
#define GT_SHEET_BATCH_BINARY                    GT_SHEET("bin_elemwise")
#define GT_SHEET_BATCH_CONV                      GT_SHEET("conv")
#define GT_SHEET_BATCH_GEMM                      GT_SHEET("gemm")
#define GT_SHEET_BATCH_UNARY                     GT_SHEET("un_elemwise")
#define GT_SHEET_CUDA_EVENTS_SUMMARY             GT_SHEET("cuda_events_summary")
#define GT_SHEET_GPU_TIMELINES                   GT_SHEET("gpu_timelines")
#define GT_SHEET_GROUPED_BREAKDOWN               GT_SHEET("grouped_breakdown")
#define GT_SHEET_LINKED_AND_SHORT_KERNELS        GT_SHEET("linked_and_short_kernels")
#define GT_SHEET_LONG                            GT_SHEET("long")
#define GT_SHEET_NCCL_IMPLICIT_SYNC_CAT          GT_SHEET("nccl_implicit_sync_cat")
#define GT_SHEET_NCCL_IMPLICIT_SYNC_CAT_DETAILED GT_SHEET("nccl_implicit_sync_cat_detailed")
#define GT_SHEET_SHORT_CPU_OP_COUNTS             GT_SHEET("short_cpu_op_counts")
#define GT_SHEET_SUMMARY_NCCL_IMPLICIT_SYNC_CAT  GT_SHEET("summary_nccl_implicit_sync_cat")
#define GT_SHEET_UNLINKED_SHORT_KERNELS_SUMMARY  GT_SHEET("unlinked_short_kernels_summary")

/* ---- Inference phases ---- */

#define GT_SHEET_LAUNCHERS GT_SHEET("launchers")

/* ---- Replayed graphs ---- */

#define GT_SHEET_GRAPH_KERNELS GT_SHEET("graph_kernels")
#define GT_SHEET_LAYERS        GT_SHEET("layers")

/* ---- Serving ---- */

#define GT_SHEET_DECODE_BOUND          GT_SHEET("decode_bound")
#define GT_SHEET_DECODE_COST           GT_SHEET("decode_cost")
#define GT_SHEET_GRAPH_REPLAYS         GT_SHEET("graph_replays")
#define GT_SHEET_HOST_BETWEEN_STEPS    GT_SHEET("host_between_steps")
#define GT_SHEET_KERNEL_CLASSES        GT_SHEET("kernel_classes")
#define GT_SHEET_KV_ROOFLINE           GT_SHEET("kv_roofline")
#define GT_SHEET_SERVING_RANK_STEPS    GT_SHEET("serving_rank_steps")
#define GT_SHEET_SERVING_REQUESTS      GT_SHEET("serving_requests")
#define GT_SHEET_SERVING_REQUEST_PARTS GT_SHEET("serving_request_parts")
#define GT_SHEET_SERVING_STEPS         GT_SHEET("serving_steps")
#define GT_SHEET_SERVING_SUMMARY       GT_SHEET("serving_summary")

/* ---- Collectives of many ranks ---- */

#define GT_SHEET_COLL_ANALYSIS         GT_SHEET("coll_analysis")
#define GT_SHEET_NCCL_ALL2ALLV_HEATMAP GT_SHEET("nccl_all2allv_heatmap")
#define GT_SHEET_NCCL_IMPLICIT_SYNC    GT_SHEET("nccl_implicit_sync")
#define GT_SHEET_NCCL_SUMMARY_ALL2ALLV GT_SHEET("nccl_summary_all2allv")
#define GT_SHEET_STRAGGLER_SUMMARY     GT_SHEET("straggler_summary")

/* ---- Idle time, queues and overlap (HTA) ---- */

#define GT_SHEET_COMM_COMP_OVERLAP    GT_SHEET("comm_comp_overlap")
#define GT_SHEET_IDLE_INTERVAL_STATS  GT_SHEET("idle_interval_stats")
#define GT_SHEET_IDLE_TIME_BREAKDOWN  GT_SHEET("idle_time_breakdown")
#define GT_SHEET_LAUNCH_STATS_SUMMARY GT_SHEET("launch_stats_summary")
#define GT_SHEET_QUEUE_LENGTH_SUMMARY GT_SHEET("queue_length_summary")
#define GT_SHEET_TEMPORAL_BREAKDOWN   GT_SHEET("temporal_breakdown")

/* ---- Comparison of two call trees ---- */

#define GT_SHEET_CPU_OP_MAP                     GT_SHEET("cpu_op_map")
#define GT_SHEET_CPU_OP_MAP_TRACE1              GT_SHEET("cpu_op_map_trace1")
#define GT_SHEET_CPU_OP_MAP_TRACE2              GT_SHEET("cpu_op_map_trace2")
#define GT_SHEET_DIFFERENCES                    GT_SHEET("differences")
#define GT_SHEET_DIFF_STATS                     GT_SHEET("diff_stats")
#define GT_SHEET_DIFF_STATS_UNIQUE_ARGS_SUMMARY GT_SHEET("diff_stats_unique_args_summary")
#define GT_SHEET_PARTS                          GT_SHEET("parts")

/* ---- Comparison of reports and its gate ---- */

#define GT_SHEET_BINARY_ELEMENTWISE GT_SHEET("BinaryElementwise")
#define GT_SHEET_BIN_ELTWISE        GT_SHEET("bin_eltwise")
#define GT_SHEET_CONV_BWD           GT_SHEET("CONV_bwd")
#define GT_SHEET_CONV_FWD           GT_SHEET("CONV_fwd")
#define GT_SHEET_FAIL_IF            GT_SHEET("fail_if")
#define GT_SHEET_GEMM               GT_SHEET("GEMM")
#define GT_SHEET_PHASE_CHANGES      GT_SHEET("phase_changes")
#define GT_SHEET_SDPA_BWD           GT_SHEET("SDPA_bwd")
#define GT_SHEET_SDPA_FWD           GT_SHEET("SDPA_fwd")
#define GT_SHEET_STEP_TIMES         GT_SHEET("step_times")
#define GT_SHEET_UNARY_ELEMENTWISE  GT_SHEET("UnaryElementwise")
#define GT_SHEET_UN_ELTWISE         GT_SHEET("un_eltwise")
#define GT_SHEET_WATERFALL          GT_SHEET("waterfall")
#define GT_SHEET_WATERFALL_PARTS    GT_SHEET("waterfall_parts")

/* ---- rocprofv3 reports, and those of Nsight Systems exports ---- */

#define GT_SHEET_AGENT_INFO                 GT_SHEET("agent_info")
#define GT_SHEET_CALLS                      GT_SHEET("calls")
#define GT_SHEET_COUNTERS_BY_KERNEL         GT_SHEET("counters_by_kernel")
#define GT_SHEET_CUDA_API_SUMMARY           GT_SHEET("cuda_api_summary")
#define GT_SHEET_CUDA_GRAPH_SUMMARY         GT_SHEET("cuda_graph_summary")
#define GT_SHEET_GENESIS_HIP_SUMMARY        GT_SHEET("pftrace_hip_activity_hip_summar")
#define GT_SHEET_HIP_API_SUMMARY            GT_SHEET("hip_api_summary")
#define GT_SHEET_HSA_API_SUMMARY            GT_SHEET("hsa_api_summary")
#define GT_SHEET_KERNEL_DETAILS             GT_SHEET("kernel_details")
#define GT_SHEET_KERNEL_SUMMARY_BY_CATEGORY GT_SHEET("kernel_summary_by_category")
#define GT_SHEET_MEMORY_COPY_SUMMARY        GT_SHEET("memory_copy_summary")
#define GT_SHEET_NCCL_API_SUMMARY           GT_SHEET("nccl_api_summary")
#define GT_SHEET_NCCL_MESSAGES              GT_SHEET("nccl_messages")
#define GT_SHEET_NVTX_SUMMARY               GT_SHEET("nvtx_summary")
#define GT_SHEET_OSRT_SUMMARY               GT_SHEET("osrt_summary")
#define GT_SHEET_PC_SAMPLING_HOTSPOTS       GT_SHEET("pc_sampling_hotspots")
#define GT_SHEET_PROCESS_SUMMARY            GT_SHEET("process_summary")
#define GT_SHEET_STATS                      GT_SHEET("stats")

/* ---- Perfetto (pftrace) reports ---- */

#define GT_SHEET_API_KERNEL_SUMMARY        GT_SHEET("api_kernel_summary")
#define GT_SHEET_CATEGORY_SUMMARY          GT_SHEET("category_summary")
#define GT_SHEET_EVENTS                    GT_SHEET("events")
#define GT_SHEET_HIP_SUMMARY               GT_SHEET("hip_summary")
#define GT_SHEET_MEMORY_COPY_BY_COPY_BYTES GT_SHEET("memory_copy_by_copy_bytes")
#define GT_SHEET_PAIRS                     GT_SHEET("pairs")
#define GT_SHEET_XLA_TOP                   GT_SHEET("xla_top")

/* ---- JAX reports ---- */

#define GT_SHEET_COLLECTIVE_BANDWIDTHS                GT_SHEET("collective_bandwidths")
#define GT_SHEET_COLLECTIVE_EVENTS                    GT_SHEET("collective_events")
#define GT_SHEET_COLLECTIVE_GROUPS                    GT_SHEET("collective_groups")
#define GT_SHEET_COLLECTIVE_TYPES                     GT_SHEET("collective_types")
#define GT_SHEET_DF_XLA_PERF                          GT_SHEET("df_xla_perf")
#define GT_SHEET_GEMMS                                GT_SHEET("gemms")
#define GT_SHEET_GEMMS_DETAILED                       GT_SHEET("gemms_detailed")
#define GT_SHEET_GPU_EVENTS_AVERAGES                  GT_SHEET("gpu_events_averages")
#define GT_SHEET_GPU_EVENTS_CATEGORIZED_MEAN          GT_SHEET("gpu_events_categorized_mean")
#define GT_SHEET_KERNEL_LAUNCHERS_SUMMARY             GT_SHEET("kernel_launchers_summary")
#define GT_SHEET_KERNEL_LAUNCHERS_SUMMARY_BY_CATEGORY GT_SHEET("kernel_launchers_summary_by_category")
#define GT_SHEET_KERNEL_LAUNCHERS_UNIQUE_ARGS         GT_SHEET("kernel_launchers_unique_args")
#define GT_SHEET_OP_CONV                              GT_SHEET("op_conv")
#define GT_SHEET_OP_FA_BWD                            GT_SHEET("op_fa_bwd")
#define GT_SHEET_OP_FA_FWD                            GT_SHEET("op_fa_fwd")
#define GT_SHEET_OP_FA_V3                             GT_SHEET("op_fa_v3")
#define GT_SHEET_OP_GEMM                              GT_SHEET("op_gemm")
#define GT_SHEET_OP_TE                                GT_SHEET("op_te")
#define GT_SHEET_XLA_GROUPED                          GT_SHEET("xla_grouped")
#define GT_SHEET_XLA_SUMMARY                          GT_SHEET("xla_summary")

/* ---- gputally run, and the CSV files of rocprofv3 ---- */

#define GT_SHEET_HIP_API_TRACE     GT_SHEET("hip_api_trace")
#define GT_SHEET_KERNEL_TRACE      GT_SHEET("kernel_trace")
#define GT_SHEET_LIBRARY_CALLS     GT_SHEET("library_calls")
#define GT_SHEET_MEMORY_COPY_TRACE GT_SHEET("memory_copy_trace")
#define GT_SHEET_NODES             GT_SHEET("nodes")
#define GT_SHEET_POWER_SUMMARY     GT_SHEET("power_summary")
#define GT_SHEET_REPEATS           GT_SHEET("repeats")
#define GT_SHEET_REPEAT_RUNS       GT_SHEET("repeat_runs")
#define GT_SHEET_SAMPLES           GT_SHEET("samples")
#define GT_SHEET_VRAM_SUMMARY      GT_SHEET("vram_summary")

/* ---- Nsight Compute reports ---- */

#define GT_SHEET_NCU_DETAILS  GT_SHEET("ncu_details")
#define GT_SHEET_NCU_KERNELS  GT_SHEET("ncu_kernels")
#define GT_SHEET_NCU_LAUNCHES GT_SHEET("ncu_launches")

/* ---- gputally sweep ---- */

#define GT_SHEET_ALL_DATA                 GT_SHEET("All_Data")
#define GT_SHEET_ALL_RANKS_COMBINED       GT_SHEET("All_Ranks_Combined")
#define GT_SHEET_COMPARISON_BY_RANK       GT_SHEET("Comparison_By_Rank")
#define GT_SHEET_FINAL_GPU_ALL_RANKS_RAW  GT_SHEET("GPU_AllRanks_Raw")
#define GT_SHEET_FINAL_GPU_BY_RANK        GT_SHEET("GPU_ByRank_Cmp")
#define GT_SHEET_FINAL_GPU_PERCENT_RAW    GT_SHEET("GPU_Pct_Raw")
#define GT_SHEET_FINAL_GPU_SUMMARY        GT_SHEET("GPU_Summary_Cmp")
#define GT_SHEET_FINAL_GPU_SUMMARY_RAW    GT_SHEET("GPU_Summary_Raw")
#define GT_SHEET_FINAL_GPU_TIME_RAW       GT_SHEET("GPU_Time_Raw")
#define GT_SHEET_FINAL_NCCL_IMPLICIT_SYNC GT_SHEET("NCCL_ImplicitSyncCmp")
#define GT_SHEET_FINAL_NCCL_LONG_RAW      GT_SHEET("NCCL_Long_Raw")
#define GT_SHEET_FINAL_NCCL_SYNC_RAW      GT_SHEET("NCCL_ImplSync_Raw")
#define GT_SHEET_NCCL_DATA                GT_SHEET("NCCL_Data")
#define GT_SHEET_NCCL_IMPLICIT_SYNC_CMP   GT_SHEET("nccl_implicit_sync_cmp")
#define GT_SHEET_NCCL_LONG_CMP            GT_SHEET("nccl_long_cmp")
#define GT_SHEET_PER_RANK_PERCENT         GT_SHEET("Per_Rank_Percent")
#define GT_SHEET_NCCL_SUMMARY             GT_SHEET("NCCL_Summary")
#define GT_SHEET_PER_RANK_TIME_MS         GT_SHEET("Per_Rank_Time_ms")
#define GT_SHEET_PIVOT_PERCENT            GT_SHEET("Pivot_Percent")
#define GT_SHEET_PIVOT_TIME_MS            GT_SHEET("Pivot_Time_ms")
#define GT_SHEET_ROWS                     GT_SHEET("rows")
#define GT_SHEET_SUMMARY                  GT_SHEET("Summary")
#define GT_SHEET_SUMMARY_BY_CONFIG        GT_SHEET("Summary_By_Config")
#define GT_SHEET_SUMMARY_COMPARISON       GT_SHEET("Summary_Comparison")
#define GT_SHEET_SUMMARY_DASHBOARD        GT_SHEET("Summary_Dashboard")
#define GT_SHEET_TOP_GEMMS                GT_SHEET("top_gemms")
#define GT_SHEET_VARIANCE                 GT_SHEET("variance")

/* ---- gputally sweep decide ---- */

#define GT_SHEET_BANDWIDTH_BY_SIZE GT_SHEET("bandwidth_by_size")
#define GT_SHEET_EFFECT_MEANS      GT_SHEET("effect_means")
#define GT_SHEET_EFFECTS           GT_SHEET("effects")
#define GT_SHEET_OUTLIER_RUNS      GT_SHEET("outlier_runs")
#define GT_SHEET_OVERLAP_SLOWDOWN  GT_SHEET("overlap_slowdown")
#define GT_SHEET_RECOMMENDATION    GT_SHEET("recommendation")

/* ---- gputally sweep compare OLD NEW ---- */

#define GT_SHEET_SWEEP_CHANGES  GT_SHEET("sweep_changes")
#define GT_SHEET_SWEEP_MACHINES GT_SHEET("sweep_machines")
#define GT_SHEET_SWEEP_SETTINGS GT_SHEET("sweep_settings")

/* ---- gputally replay-ir ---- */

#define GT_SHEET_REPLAY         GT_SHEET("replay")
#define GT_SHEET_REPLAY_SKIPPED GT_SHEET("replay_skipped")

/* ---- gputally query ---- */

#define GT_SHEET_RESULT GT_SHEET("result") /* of a statement */
#define GT_SHEET_TABLES GT_SHEET("tables") /* that a statement may name */
