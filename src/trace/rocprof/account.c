/* The account of a rocprofv3 run or an Nsight Systems export: records whose times cannot be right are left
 * out. */
#include "trace/rocprof/rocprof.h"

/* Leaves out rows of a store with two columns of times, which is made again without them. */
static void leave_out(gt_account *account, gt_store **store, const gt_store_column *columns, size_t width,
                      size_t start_column, size_t end_column, const char *what, bool is_gpu)
{
    size_t count = *store ? gt_store_count(*store) : 0, left = 0;
    if (!count) return;
    int64_t *starts = gt_store_ints(*store, start_column), *ends = gt_store_ints(*store, end_column);
    for (size_t row = 0; row < count; row++) {
        gt_fault why = gt_account_judge(starts[row], ends[row]);
        if (!why) continue;
        gt_account_leave_out(account, why, what, row, is_gpu);
        left++;
    }
    if (left) {
        gt_store_cell cells[GT_STORE_MAX_COLUMNS];
        gt_interner *strings = gt_store_strings(*store);
        gt_store_writer *writer = gt_store_writer_new(columns, width, strings);
        gt_store_scan *scan = gt_store_scan_new(*store);
        for (size_t row = 0; gt_store_scan_next(scan, cells); row++)
            if (!gt_account_judge(starts[row], ends[row]))
                gt_store_writer_add(writer, (UINT64_C(1) << width) - 1, cells);
        gt_store_scan_free(scan);
        gt_store_free(*store);
        *store = gt_store_new(columns, width, strings);
        gt_store_append(*store, gt_store_writer_take(writer));
        gt_store_writer_free(writer);
    }
    account->records += count;
    account->used += count - left;
    if (is_gpu) account->gpu_used += count - left;
    gt_free(starts);
    gt_free(ends);
}

void gt_rocprof_leave_out(gt_rocprof *run)
{
    gt_account *account = &run->account;
    *account = (gt_account){0};
    leave_out(account, &run->dispatches, gt_dispatch_columns, gt_dispatch_width(run->wanted),
              GT_DISPATCH_START, GT_DISPATCH_END, "dispatch", true);
    leave_out(account, &run->copies, gt_copy_columns, gt_copy_width(run->wanted), GT_COPY_START, GT_COPY_END,
              "copy", true);
    leave_out(account, &run->graphs, gt_graph_columns, GT_GRAPH_COLUMNS, GT_GRAPH_START, GT_GRAPH_END,
              "graph launch", true);
    leave_out(account, &run->calls, gt_call_columns, GT_CALL_COLUMNS, GT_CALL_START, GT_CALL_END, "call",
              false);
    if (!run->calls) account->records += run->api_calls;
    gt_account_warn(account);
}
