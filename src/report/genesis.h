/* The report of a physics simulation (Genesis) from a rocprofv3 capture: the sheets of the rocprofv3 report
 * with its own kernel categories, the timeline of the steady state, and the activity and copies of a pftrace.
 */
#pragma once

#include "analysis/rocprof/genesis.h"
#include "table/table_list.h"
#include "trace/events.h"
#include "trace/rocprof/rocprof.h"

typedef struct gt_genesis_options {
    bool kernel_details, short_kernel_study;
    bool steady_state; /* timeline of the steady state only; otherwise of the whole run */
    int64_t gap_ns, fallback_ns;
    bool named_agents_unknown; /* gt_pftrace_memory_copies: as_tracelens */
} gt_genesis_options;

/* The description of the capture in the summary; strings are printed as they are. */
typedef struct gt_genesis_capture {
    bool has_manifest;
    const char *title, *environments, *steps, *precision;
} gt_genesis_capture;

/* Adds the sheets that have rows; `pftrace` may be NULL. String ids are those of run->strings, or of
 * pftrace->strings. */
bool gt_genesis_tables(gt_rocprof *run, const gt_chrome *pftrace, const gt_genesis_options *options,
                       gt_table_list *tables, gt_steady_state *steady, gt_error *error);

/* genesis_summary.md */
void gt_genesis_summary(gt_buffer *out, const gt_genesis_capture *capture, const gt_table_list *tables,
                        const gt_steady_state *steady);
