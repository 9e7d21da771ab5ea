/* All sheets of a report on a rocprofv3 run or an Nsight Systems export:
 *
 *     gpu_timeline, gpu_timeline_by_device              timeline.c
 *     agent_info, process_summary                       run.c
 *     counters_by_kernel                                run.c
 *     pc_sampling_hotspots                              pc_samples.c
 *     kernel_summary, kernel_summary_by_category        kernels.c
 *     kernel_details                                    kernels.c
 *     short_kernels_summary                             kernels.c
 *     short_kernel_histogram                            analysis/sheet_parts.c
 *     hip_api_summary, hsa_api_summary, ...             calls.c
 *     memory_copy_summary                               calls.c
 *     cuda_graph_summary                                calls.c
 *     nccl_messages                                     messages.c
 *
 * and the summary of power and memory samples that `gputally run` writes (gpu_samples.c). The report of
 * simulations has its own sheets in genesis.h.
 *
 * A function returns its sheet as a table that the caller frees. String ids in a table are those of the run's
 * strings, so tables must be freed before the run. Columns are documented in the .c files and in docs/. */
#pragma once

#include "table/table.h"
#include "trace/rocprof/rocprof.h"

/* ---- the run as a whole ---- */

/* How much of the time was the GPU busy, and with what? Rows: total_time, kernel, memory, busy_time, idle; no
 * rows if the run has no kernels. `gpu_window`: the time is that of GPU work, not that of the capture. */
gt_table *gt_rocprof_gpu_timeline(const gt_rocprof *run, bool gpu_window);
/* The same for each GPU. NULL if the run has no kernels or only one GPU. */
gt_table *gt_rocprof_gpu_timeline_by_device(const gt_rocprof *run, bool gpu_window);

/* Warns if the clocks of a run's hosts differ. */
void gt_rocprof_warn_of_clocks(const gt_rocprof *run);

/* The CPUs and GPUs of each host. NULL if the run has no agents. */
gt_table *gt_rocprof_agent_info(gt_rocprof *run);

/* How is the kernel time spread over the processes? One row per process; NULL if there is only one.
 * `durations` are those of gt_rocprof_dispatch_durations. */
gt_table *gt_rocprof_process_summary(gt_rocprof *run, const int64_t *durations);

/* What did the hardware count while each kernel ran? NULL if the run has no counters. */
gt_table *gt_rocprof_counters_by_kernel(gt_rocprof *run);

/* At which instructions do the waves spend their time, and what do they wait for there? NULL if the run has
 * no samples of the program counter. */
gt_table *gt_rocprof_hotspots(gt_rocprof *run);

/* ---- kernels ---- */

/* The table from which the kernel sheets are made: one row per dispatch in trace order, with its name and
 * duration. A duration may be 0, or negative in damaged records. Sums of durations stay exact integers and
 * become microseconds or milliseconds in the last step.
 *
 * NULL and an error if the sum of the durations does not fit an int64. */
enum { GT_KERNEL_NAME, GT_KERNEL_DUR_NS, GT_KERNEL_COLUMNS }; /* "name", STRING; "dur_ns", INT */
gt_table *gt_rocprof_kernel_times(gt_rocprof *run, gt_error *error);

/* What kind of work does a kernel do, judged by its name alone? "GEMM", "Elementwise", ... or "Other". For
 * runs that record no ops. */
const char *gt_kernel_category(gt_str name);

/* The kernel times grouped by name, ascending by name: with categories, the input of both summaries. */
gt_table *gt_kernels_by_name(const gt_table *kernels);
/* Adds the last column, Category, to that table or to one from gt_rocprof_stats_by_name. If the names are
 * full ones, categories are those of the short names, so that arguments of templates do not decide. */
void gt_kernels_add_categories(gt_table *by_name, bool full_names);
/* The same with the categories of analysis/categories.h; communication is what gt_comm_family knows. */
void gt_kernels_add_own_categories(gt_table *by_name, const gt_comm_kernels *comm);
/* Changes the category of kernels that gt_comm_family knows to COMM. */
void gt_kernels_mark_communication(gt_table *by_name, const gt_comm_kernels *comm);
/* How much time the kernels of these families took that are (or are not) in the category COMM. The columns of
 * the table are those of gt_kernels_by_name. */
gt_comm_uses gt_kernels_communication(const gt_table *by_name, const gt_comm_kernels *comm, bool counted);

/* Which kernels, and which categories of kernels, took the time? The largest total first, equal totals in
 * order of the name. A sheet without rows has its columns in another order in TraceLens. */
gt_table *gt_kernel_summary(const gt_table *by_name, bool as_tracelens);
gt_table *gt_kernel_summary_by_category(const gt_table *by_name);

/* Which dispatches took longest, and how were they launched? One row per dispatch, the longest first, equal
 * durations in trace order; at most `rows_max` rows. This is the only sheet as large as the trace, so it is
 * made in place: `kernels`, the kernel times of the run, becomes the sheet. Without dispatches it has no
 * columns.
 *
 * First what needs only to read the run and the kernel times, while other sheets are made of them; then, when
 * the kernel times are no longer used, the sheet itself. With `late`, it is a late table
 * (gt_table_set_source), and with it or `last_use` it takes the columns of the run's dispatches. */
typedef struct gt_details gt_details;
gt_details *gt_rocprof_find_details(const gt_rocprof *run, const gt_table *kernels, bool late);
void gt_details_free(gt_details *details); /* NULL is ignored */
/* Frees the details. */
void gt_rocprof_kernel_details(gt_details *details, gt_rocprof *run, gt_table *kernels, size_t rows_max,
                               bool last_use);

/* The durations that are below the threshold, in µs and in trace order; the caller frees them. */
double *gt_short_kernel_times(const gt_table *kernels, int64_t threshold_us, size_t *count);
/* Which kernels are so short that launching them may cost more than running them? By name, the largest sum
 * first, equal sums in order of the name. `all_ns` is the time of all kernels, short or not. */
gt_table *gt_short_kernels_summary(const gt_table *kernels, int64_t threshold_us, int64_t all_ns);

/* ---- API calls and copies ---- */

/* Which API calls took the CPU's time? The calls of one domain by function. `merge_ranges`: by gt_range_name.
 * NULL if the run has none; NULL with *failed set and an error if the durations cannot be added up in an
 * int64. */
gt_table *gt_rocprof_call_summary(gt_rocprof *run, gt_call_domain domain, bool merge_ranges, bool *failed,
                                  gt_error *error);
/* How much was copied in which direction, and how fast? NULL as above. */
gt_table *gt_rocprof_copy_summary(gt_rocprof *run, bool *failed, gt_error *error);

/* Of an Nsight Systems export: how long did launches of whole graphs take? NULL as above. */
gt_table *gt_rocprof_graph_summary(gt_rocprof *run, bool *failed, gt_error *error);
/* How much did NCCL send, in messages of which size? NULL as above. */
gt_table *gt_rocprof_nccl_messages(gt_rocprof *run, bool *failed, gt_error *error);

/* Statistics that rocprofv3 computed itself (`--stats`), for runs that have no records of that kind. By name,
 * ascending: name, Count, total_ns, mean_ns, median_ns (always missing), std_ns, min_ns, max_ns. `kind` is a
 * value of GT_STATS_OF: a gt_call_domain, GT_STATS_COPIES or GT_STATS_KERNELS. NULL if the run has none of
 * that kind. */
gt_table *gt_rocprof_stats_by_name(const gt_rocprof *run, int64_t kind);

/* ---- samples of power and memory ---- */

/* How much power did each GPU draw, how full was its memory? From a table "time, <what> GPU0, <what> GPU1,
 * ...", one row per GPU:
 *
 *     gpu                   "GPU0"
 *     samples               number of cells with a number
 *     min, mean, max, p95   of these, in the unit of the samples
 *     energy_J              integral of the power: trapezoids between samples with a number; only if is_power
 */
gt_table *gt_gpu_samples_summary(const gt_table *samples, gt_sheet name, bool is_power);
