/* The tables that only the page has (src/page). They stand next to the sheets: events, call paths and steps,
 * small enough to be drawn. src/page/web reads them under these names.
 *
 * Times are integer nanoseconds since the first event of the trace (columns `start`, `launch`), durations are
 * `ns`. A column that refers to a row of another table is named after it and is null where there is none. */
#pragma once

#include "table/table.h"

/* One row per line of the timeline: streams of devices, then threads of the host. Of very many, the streams
 * with the fewest events share a line, and the threads with the fewest are left out.
 *     kind      "stream" or "thread"
 *     group     what it belongs to: "GPU 0", "python (12345)"
 *     label     "stream 7", "thread 12345 (main)"
 *     device    of streams: its number in the trace
 *     judged    whether findings and idle times are about this stream's device
 *     events    in the trace
 *     kept      of these, in page_gpu or page_host; fewer if the page would be too large
 *     shorter   events of at most this duration were left out (ns); null if all were kept */
#define GT_SHEET_PAGE_LANES GT_SHEET("page_lanes")
#define GT_COL_PAGE_KIND    GT_COL("kind")
#define GT_COL_PAGE_GROUP   GT_COL("group")
#define GT_COL_PAGE_LABEL   GT_COL("label")
#define GT_COL_PAGE_DEVICE  GT_COL("device")
#define GT_COL_PAGE_JUDGED  GT_COL("judged")
#define GT_COL_PAGE_EVENTS  GT_COL("events")
#define GT_COL_PAGE_KEPT    GT_COL("kept")
#define GT_COL_PAGE_SHORTER GT_COL("shorter")

/* Events of GPUs, by lane, then by start. Where there are too many for the page, this has those that begin
 * in a stretch of time (page_facts: exact_start, exact_end), and page_bins and page_bin_sums have all.
 *     lane, start, ns
 *     kernel        row of page_kernels
 *     call          row of page_calls
 *     launch        start of the call that launched it; launch_lane: the thread of that call
 *     begins        whether it is the first GPU work of the call of its op */
#define GT_SHEET_PAGE_GPU       GT_SHEET("page_gpu")
#define GT_COL_PAGE_LANE        GT_COL("lane")
#define GT_COL_PAGE_START       GT_COL("start")
#define GT_COL_PAGE_NS          GT_COL("ns")
#define GT_COL_PAGE_KERNEL      GT_COL("kernel")
#define GT_COL_PAGE_CALL        GT_COL("call")
#define GT_COL_PAGE_LAUNCH      GT_COL("launch")
#define GT_COL_PAGE_LAUNCH_LANE GT_COL("launch_lane")
#define GT_COL_PAGE_BEGINS      GT_COL("begins")

/* Kernels, copies and memsets by name, of the whole trace.
 *     name       as in the trace;  short: without template arguments and parameters
 *     category   one of gt_category_name, as in the sheet kernel_summary: the page has a colour for each
 *     count, ns, min_ns, max_ns
 *     histogram  LIST of INT: numbers of events by duration, adding up to count. The first one is that of the
 *                bucket of min_ns; bucket b holds durations from 2^(b/4) to 2^((b+1)/4) ns.
 *                Bucket 0 also holds 0 ns */
#define GT_SHEET_PAGE_KERNELS GT_SHEET("page_kernels")
#define GT_COL_PAGE_NAME      GT_COL("name")
#define GT_COL_PAGE_SHORT     GT_COL("short")
#define GT_COL_PAGE_CATEGORY  GT_COL("category")
#define GT_COL_PAGE_COUNT     GT_COL("count")
#define GT_COL_PAGE_MIN_NS    GT_COL("min_ns")
#define GT_COL_PAGE_MAX_NS    GT_COL("max_ns")
#define GT_COL_PAGE_HISTOGRAM GT_COL("histogram")

/* What launched GPU work: calls of ops that agree in all of this.
 *     node      row of page_nodes: the op's path
 *     op        name of the op; shapes: its input shapes. They are those that the sheet unified_perf_summary
 *               counts the launch for, which may be further up the path than the op that launched
 *     python    where in the program (findings: "train.py(12): step -> item()")
 *     runtime   the call that launched: "cudaLaunchKernel" */
#define GT_SHEET_PAGE_CALLS GT_SHEET("page_calls")
#define GT_COL_PAGE_NODE    GT_COL("node")
#define GT_COL_PAGE_OP      GT_COL("op")
#define GT_COL_PAGE_SHAPES  GT_COL("shapes")
#define GT_COL_PAGE_PYTHON  GT_COL("python")
#define GT_COL_PAGE_RUNTIME GT_COL("runtime")

/* The tree of call paths above kernels; a parent comes before its children.
 *     parent    row of this table; null: a root
 *     kind      "module" (nn.Module), "function" (Python), "annotation" or "op"
 *     name      of annotations that differ only in numbers, "step #" */
#define GT_SHEET_PAGE_NODES GT_SHEET("page_nodes")
#define GT_COL_PAGE_PARENT  GT_COL("parent")

/* GPU time of the whole trace by call and kernel: count, calls (of ops, each where its first GPU work is),
 * ns, category. The sums are those of all GPU events. Where there are absurdly many combinations, those with
 * the least time have no call. */
#define GT_SHEET_PAGE_SUMS GT_SHEET("page_sums")
#define GT_COL_PAGE_CALLS  GT_COL("calls")

/* Only where page_gpu does not have all events. The trace is divided into page_facts.bins equal bins.
 * page_bins: lane, bin, busy (ns in which the lane worked), category (the one with the largest share).
 * page_bin_sums: bin of page_facts.sum_bins, call, kernel, count, calls, ns; an event counts where it begins.
 */
#define GT_SHEET_PAGE_BINS     GT_SHEET("page_bins")
#define GT_SHEET_PAGE_BIN_SUMS GT_SHEET("page_bin_sums")
#define GT_COL_PAGE_BIN        GT_COL("bin")
#define GT_COL_PAGE_BUSY       GT_COL("busy")

/* Events of host threads, by lane, then by start, outer ones first: lane, start, ns, depth (0: outermost),
 * name, kind ("op", "call", "python", "annotation"). */
#define GT_SHEET_PAGE_HOST GT_SHEET("page_host")
#define GT_COL_PAGE_DEPTH  GT_COL("depth")

/* Stretches of time in which the judged device was idle, in order, in the window: start, ns, cause (of
 * gt_cause_name), site (where in the program; null: unknown). The shortest ones may be left out
 * (page_facts: idle_left_out, in ns). */
#define GT_SHEET_PAGE_IDLE GT_SHEET("page_idle")
#define GT_COL_PAGE_CAUSE  GT_COL("cause")
#define GT_COL_PAGE_SITE   GT_COL("site")

/* Steps on the GPU, in order: name, start, ns, phase ("prefill", "decode", "mixed" or null), in_window. Of a
 * server, its steps; without any steps one row, the window, without a name. The last one may have no end but
 * that of its last op: it is not in the window, and the part of its idle time is "outside".
 * page_step_parts: step (row of page_steps), part and kind (as in the sheet balance), ns. The parts of a step
 * add up to its time. page_facts: steps_left_out. */
#define GT_SHEET_PAGE_STEPS      GT_SHEET("page_steps")
#define GT_COL_PAGE_PHASE        GT_COL("phase")
#define GT_COL_PAGE_IN_WINDOW    GT_COL("in_window")
#define GT_SHEET_PAGE_STEP_PARTS GT_SHEET("page_step_parts")
#define GT_COL_PAGE_STEP         GT_COL("step")
#define GT_COL_PAGE_PART         GT_COL("part")

/* Copies and memsets of equal kind: direction ("HtoD", ...; "memset"), kind ("pageable", "pinned", ...),
 * bytes (of one; null: unknown), count, ns; window_count, window_ns: those in the window, where a copy that
 * reaches into it counts with its part of the time. The largest times first. Where there are too many sizes,
 * the rest is joined by direction and kind, with bytes null. */
#define GT_SHEET_PAGE_COPIES     GT_SHEET("page_copies")
#define GT_COL_PAGE_DIRECTION    GT_COL("direction")
#define GT_COL_PAGE_BYTES        GT_COL("bytes")
#define GT_COL_PAGE_WINDOW_COUNT GT_COL("window_count")
#define GT_COL_PAGE_WINDOW_NS    GT_COL("window_ns")

/* Memory of a device over time, from [memory] events: device, start, allocated, reserved (bytes). Thinned out
 * so that the largest and smallest values stay. */
#define GT_SHEET_PAGE_MEMORY  GT_SHEET("page_memory")
#define GT_COL_PAGE_ALLOCATED GT_COL("allocated")
#define GT_COL_PAGE_RESERVED  GT_COL("reserved")

/* What a finding is about: finding (its rank), and either call and kernel (rows; GPU work, with its count and
 * ns), or start and ns (a stretch of time that the host spends with it; at most 200 of a finding). */
#define GT_SHEET_PAGE_EVIDENCE GT_SHEET("page_evidence")
#define GT_COL_PAGE_FINDING    GT_COL("finding")

/* The GPU's rates, for the roofline: precision (as Compute Spec of the sheets: "matrix_bf16", ...; "memory"),
 * rate (TFLOP/s; of memory TB/s). */
#define GT_SHEET_PAGE_PEAKS   GT_SHEET("page_peaks")
#define GT_COL_PAGE_PRECISION GT_COL("precision")
#define GT_COL_PAGE_RATE      GT_COL("rate")

/* Numbers by name (name, value): end (ns: the length of the trace), window_start, window_end, bins, sum_bins,
 * exact_start, exact_end (null if page_gpu has all events), gpu_events, gpu_kept, host_events, host_kept. */
#define GT_SHEET_PAGE_FACTS GT_SHEET("page_facts")
#define GT_COL_PAGE_VALUE   GT_COL("value")

/* Several ranks: one row per rank and collective: rank, collective (its number), name, start, ns, wait (ns
 * until the last rank arrives: what its kernel takes longer than the shortest one of any rank). Thinned out;
 * page_facts.collectives says how many there are.
 * page_rank_steps, per step and null if unknown: rank, step_ns, busy_ns (any op but a collective runs),
 * idle_ns, exposed_ns and exposed_wait_ns (only collectives run: moving data, waiting), late_ns; over all
 * collectives: wait_ns, last (how often it came last), blame_ns (waiting of all ranks for it); page (the path
 * of its page from here). */
#define GT_SHEET_PAGE_RANK_WAITS    GT_SHEET("page_rank_waits")
#define GT_SHEET_PAGE_RANK_STEPS    GT_SHEET("page_rank_steps")
#define GT_COL_PAGE_RANK            GT_COL("rank")
#define GT_COL_PAGE_COLLECTIVE      GT_COL("collective")
#define GT_COL_PAGE_WAIT            GT_COL("wait")
#define GT_COL_PAGE_STEP_NS         GT_COL("step_ns")
#define GT_COL_PAGE_BUSY_NS         GT_COL("busy_ns")
#define GT_COL_PAGE_IDLE_NS         GT_COL("idle_ns")
#define GT_COL_PAGE_WAIT_NS         GT_COL("wait_ns")
#define GT_COL_PAGE_EXPOSED_NS      GT_COL("exposed_ns")
#define GT_COL_PAGE_EXPOSED_WAIT_NS GT_COL("exposed_wait_ns")
#define GT_COL_PAGE_LATE_NS         GT_COL("late_ns")
#define GT_COL_PAGE_LAST            GT_COL("last")
#define GT_COL_PAGE_BLAME_NS        GT_COL("blame_ns")
#define GT_COL_PAGE_PAGE            GT_COL("page")

/* Sweeps: one row per GEMM that varies: threads and channel if the sweep has them, rank, time_diff_us
 * (between its slowest and its fastest call), and "axis NAME" with the value of each other axis as a string.
 * Of too many rows, every second or third and so on. */
#define GT_SHEET_PAGE_VARIANCE   GT_SHEET("page_variance")
#define GT_COL_PAGE_THREADS      GT_COL("threads")
#define GT_COL_PAGE_CHANNEL      GT_COL("channel")
#define GT_COL_PAGE_TIME_DIFF_US GT_COL("time_diff_us")

/* The decision about a sweep (src/sweep/decide). A setting is a row of the sheet recommendation; an axis and
 * its values are numbers of the front's list of axes, because names may be anything, also those of columns.
 *
 * page_settings, one row per row of recommendation: "axis NAME" with the value of each axis as a string, and
 * the difference to the baseline with its interval and the p-value of this one comparison. */
#define GT_SHEET_PAGE_SETTINGS        GT_SHEET("page_settings")
#define GT_COL_PAGE_BASELINE_PCT      GT_COL("baseline_pct")
#define GT_COL_PAGE_BASELINE_LOW_PCT  GT_COL("baseline_low_pct")
#define GT_COL_PAGE_BASELINE_HIGH_PCT GT_COL("baseline_high_pct")
#define GT_COL_PAGE_BASELINE_P        GT_COL("baseline_p")

/* The sheet effect_means with intervals; axis_2 and value_2 are null in means of one axis. */
#define GT_SHEET_PAGE_EFFECT_MEANS GT_SHEET("page_effect_means")

/* The GEMMs that collectives cost the most time, the costliest first, and the rows of overlap_slowdown about
 * them: `gemm` is a row of page_gemms. */
#define GT_SHEET_PAGE_GEMMS   GT_SHEET("page_gemms")
#define GT_SHEET_PAGE_OVERLAP GT_SHEET("page_overlap")
#define GT_COL_PAGE_GEMM      GT_COL("gemm")

/* The sheet bandwidth_by_size; of too many rows those of the fastest settings. */
#define GT_SHEET_PAGE_BANDWIDTH GT_SHEET("page_bandwidth")

/* Mean GPU timelines per setting that `sweep timeline` found. */
#define GT_SHEET_PAGE_TIMELINES GT_SHEET("page_timelines")

/* The sheet sweep_changes without bandwidths: settings as rows of both sweeps (`setting` of this one,
 * `before` of the first one of the page). */
#define GT_SHEET_PAGE_CHANGES GT_SHEET("page_changes")
#define GT_COL_PAGE_BEFORE    GT_COL("before")
