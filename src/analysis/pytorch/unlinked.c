/* GPU events without a launch: how much of the GPU time do the sheets of ops not count?
 *
 * A profiler that starts in the middle of a program records kernels whose launches it did not see, and loses
 * launches when its buffers are full. A report that says nothing about them looks complete. */
#include "analysis/pytorch/sheets.h"

#include <stdio.h>

gt_unlinked gt_pytorch_find_unlinked(const gt_linked_view *trace)
{
    gt_unlinked found = {0};
    for (size_t row = 0; row < trace->count; row++) {
        if (!gt_kind_is_gpu(trace->kind[row])) continue;
        found.all_us += trace->dur_us[row];
        if (trace->parent[row] != GT_NO_EVENT) continue;
        found.time_us += trace->dur_us[row];
        *(trace->kind[row] == GT_KIND_KERNEL ? &found.kernels : &found.others) += 1;
    }
    return found;
}

void gt_unlinked_add(gt_unlinked *sum, gt_unlinked more)
{
    sum->kernels += more.kernels;
    sum->others += more.others;
    sum->time_us += more.time_us;
    sum->all_us += more.all_us;
}

bool gt_unlinked_any(gt_unlinked unlinked)
{
    return unlinked.kernels || unlinked.others;
}

void gt_unlinked_describe(gt_unlinked unlinked, char text[GT_UNLINKED_TEXT_MAX])
{
    double share = unlinked.all_us > 0 ? unlinked.time_us / unlinked.all_us * 100.0 : 0.0;
    char kernels[48] = "", others[64] = "";
    if (unlinked.kernels || !unlinked.others)
        snprintf(kernels, sizeof kernels, "%zu kernel%s", unlinked.kernels, unlinked.kernels == 1 ? "" : "s");
    if (unlinked.others)
        snprintf(others, sizeof others, "%s%zu cop%s or memset%s", unlinked.kernels ? " and " : "",
                 unlinked.others, unlinked.others == 1 ? "y" : "ies", unlinked.others == 1 ? "" : "s");
    snprintf(text, GT_UNLINKED_TEXT_MAX,
             "GPU time not attributed to an op: %.3f of %.3f ms (%.1f%%), %s%s without a launch in the trace",
             unlinked.time_us / 1e3, unlinked.all_us / 1e3, share, kernels, others);
}
