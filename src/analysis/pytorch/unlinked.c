/* GPU events that are in no sheet of ops: how much of the GPU time do these sheets not count?
 *
 * A profiler that starts in the middle of a program records kernels whose launches it did not see, and loses
 * launches when its buffers are full. Communication is left out on purpose, as in TraceLens. A report that
 * says nothing about them looks complete. */
#include "analysis/pytorch/sheets.h"

#include "trace/pytorch/event_rows.h"

static void count_event(gt_gpu_share *share, const gt_linked_view *trace, size_t row)
{
    *(trace->kind[row] == GT_KIND_KERNEL ? &share->kernels : &share->others) += 1;
    share->time_us += trace->dur_us[row];
}

gt_left_out gt_pytorch_find_left_out(const gt_linked_view *trace)
{
    gt_left_out found = {0};
    uint8_t *known =
        gt_alloc_zero(gt_interner_count(trace->strings), 1); /* by name: 1 other, 2 communication */
    size_t count;
    uint32_t *rows = gt_list_gpu_rows(trace->kind, trace->count, &count);
    for (size_t i = 0; i < count; i++) {
        uint32_t row = rows[i];
        found.all_us += trace->dur_us[row];
        uint8_t *type = &known[trace->name[row]];
        if (!*type) *type = gt_event_communicates(&trace->events, row) ? 2 : 1;
        if (trace->parent[row] == GT_NO_EVENT)
            count_event(&found.unlinked, trace, row);
        else if (*type == 2)
            count_event(&found.communication, trace, row);
        else if (trace->gpu_only)
            count_event(&found.outside, trace, row);
    }
    gt_free_all(known, rows);
    return found;
}

static void add_share(gt_gpu_share *sum, gt_gpu_share more)
{
    sum->kernels += more.kernels;
    sum->others += more.others;
    sum->time_us += more.time_us;
}

void gt_left_out_add(gt_left_out *sum, gt_left_out more)
{
    add_share(&sum->unlinked, more.unlinked);
    add_share(&sum->communication, more.communication);
    add_share(&sum->outside, more.outside);
    sum->all_us += more.all_us;
}

bool gt_left_out_any(const gt_left_out *left_out)
{
    return gt_gpu_share_any(left_out->unlinked) || gt_gpu_share_any(left_out->communication) ||
           gt_gpu_share_any(left_out->outside);
}

/* ---- text ---- */

enum { COUNTS_MAX = 96 };

/* "463 kernels and 1 copy or memset"; `what` stands before "kernels". */
static void describe_counts(gt_gpu_share share, const char *what, char text[COUNTS_MAX])
{
    size_t length = 0;
    if (share.kernels || !share.others)
        length = (size_t)snprintf(text, COUNTS_MAX, "%zu %s%s", share.kernels, what,
                                  gt_noun(share.kernels, "kernel", "kernels"));
    if (share.others)
        snprintf(text + length, COUNTS_MAX - length, "%s%zu %s", share.kernels ? " and " : "", share.others,
                 gt_noun(share.others, "copy or memset", "copies or memsets"));
}

static double percent(double part_us, double all_us)
{
    return all_us > 0 ? part_us / all_us * 100.0 : 0.0;
}

void gt_unlinked_describe(const gt_left_out *left_out, char text[GT_LEFT_OUT_TEXT_MAX])
{
    char counts[COUNTS_MAX];
    double time_us = left_out->unlinked.time_us;
    describe_counts(left_out->unlinked, "", counts);
    snprintf(text, GT_LEFT_OUT_TEXT_MAX, "GPU time not linked to a launch: %.3f of %.3f ms (%.1f%%), %s",
             time_us / 1e3, left_out->all_us / 1e3, percent(time_us, left_out->all_us), counts);
}

void gt_left_out_describe(const gt_left_out *left_out, char text[GT_LEFT_OUT_TEXT_MAX])
{
    const struct {
        gt_gpu_share share;
        const char *before, *after;
    } parts[] = {
        {left_out->unlinked, "", " not linked to a launch"},
        {left_out->communication, "communication ", ""},
        {left_out->outside, "", " launched outside any op"},
    };
    double time_us = left_out->unlinked.time_us + left_out->communication.time_us + left_out->outside.time_us;
    size_t length =
        (size_t)snprintf(text, GT_LEFT_OUT_TEXT_MAX, "GPU time in no op sheet: %.3f of %.3f ms (%.1f%%)",
                         time_us / 1e3, left_out->all_us / 1e3, percent(time_us, left_out->all_us));
    const char *separator = ": ";
    for (size_t i = 0; i < GT_LENGTH(parts) && length < GT_LEFT_OUT_TEXT_MAX; i++) {
        if (!gt_gpu_share_any(parts[i].share)) continue;
        char counts[COUNTS_MAX];
        describe_counts(parts[i].share, parts[i].before, counts);
        length += (size_t)snprintf(text + length, GT_LEFT_OUT_TEXT_MAX - length, "%s%.3f ms in %s%s",
                                   separator, parts[i].share.time_us / 1e3, counts, parts[i].after);
        separator = ", ";
    }
}
