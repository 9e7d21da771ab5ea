/* short_kernels: do gaps between short kernels cost as much as the kernels themselves?
 *
 * For traces that do not show what the host did, or in which it was not late: then launch_bound says nothing,
 * although a sequence of short kernels is slow on any GPU. Looks at kernels below 10 us that follow another
 * one on their stream after a gap in which the GPU is idle. Gaps above 50 us are no gaps inside of a
 * sequence. The edit cuts the gaps to the smallest that this GPU usually makes.
 *
 * Traces of PyTorch have the host, and launch_bound or device_gap explain these gaps there. */
#include "findings/rules/gpu_rules.h"

#include "table/stats.h"

static const int64_t short_ns = 10000, longest_gap_ns = 50000;
static const size_t fewest_kernels = 50;
static const double least_share = 0.5; /* of the kernels' time that the gaps must take */
static const double least_gap_ns = 1000, most_gap_ns = 2000; /* what remains of a gap */

static bool is_short(const gt_gpu_op *op)
{
    return op->kind == GT_KIND_KERNEL && !op->communicates && gt_op_ns(op) < short_ns;
}

/* Whether the gap lies inside of a sequence of short kernels, and the host is not known to be its cause. */
static bool is_inside(const gt_schedule *schedule, const gt_gap *gap)
{
    if (gap->op == GT_NONE || gap->end_ns - gap->start_ns > longest_gap_ns) return false;
    if (gap->cause != GT_CAUSE_DEVICE_GAP && gap->cause != GT_CAUSE_UNKNOWN) return false;
    const gt_gpu_op *op = &schedule->ops[gap->op];
    return is_short(op) && op->previous != GT_NONE && is_short(&schedule->ops[op->previous]);
}

/* What remains of a gap: the 10th percentile of the GPU's own gaps, within limits. */
static double usual_gap(const gt_idle *idle)
{
    double *gaps = gt_alloc(idle->gap_count * sizeof *gaps), usual_ns = most_gap_ns;
    size_t count = 0;
    for (size_t i = 0; i < idle->gap_count; i++)
        if (idle->gaps[i].cause == GT_CAUSE_DEVICE_GAP)
            gaps[count++] = (double)(idle->gaps[i].end_ns - idle->gaps[i].start_ns);
    if (count) usual_ns = gt_select(gaps, count, count / 10);
    gt_free(gaps);
    return usual_ns < least_gap_ns ? least_gap_ns : usual_ns < most_gap_ns ? usual_ns : most_gap_ns;
}

/* The short kernels in the window that come after a gap. */
typedef struct short_search {
    gt_tally names; /* by kernel: the gaps before it */
    size_t count;
    double kernel_ns, gap_ns;
} short_search;

static short_search find_kernels(const gt_rule_input *input, double usual_ns, gt_edit *edit)
{
    const gt_schedule *schedule = input->schedule;
    short_search search = {0};
    for (size_t i = 0; i < input->idle->gap_count; i++) {
        const gt_gap *gap = &input->idle->gaps[i];
        if (!is_inside(schedule, gap)) continue;
        const gt_gpu_op *op = &schedule->ops[gap->op];
        double gap_ns = (double)(gap->end_ns - gap->start_ns);
        search.count++;
        search.kernel_ns += (double)gt_op_ns(op);
        search.gap_ns += gap_ns;
        gt_tally_add(&search.names, op->name, gap_ns);
        if (gap_ns > usual_ns) gt_edit_op_cut_gap(edit, gap->op, usual_ns);
    }
    return search;
}

bool gt_rule_short_kernels(const gt_rule_input *input, gt_finding *finding)
{
    const gt_schedule *schedule = input->schedule;
    if (schedule->origin == GT_BY_PYTORCH) return false;
    double usual_ns = usual_gap(input->idle), steps = (double)schedule->window.steps;
    short_search search = find_kernels(input, usual_ns, &finding->edit);
    bool found = search.count >= fewest_kernels && search.gap_ns >= least_share * search.kernel_ns;
    if (found) {
        double count = (double)search.count;
        finding->id = "short_kernels";
        finding->is_gpu = true;
        finding->confidence = GT_CONFIDENCE_MEDIUM;
        finding->title =
            gt_rule_text("Gaps between %s short kernels take %.2f ms per %s, the kernels %.2f ms",
                         gt_rule_number(count / steps).text, gt_rule_ms(input, search.gap_ns), input->per,
                         gt_rule_ms(input, search.kernel_ns));
        gt_rule_evidence(finding, "a kernel takes %.1f us and the gap before it %.1f us on average",
                         search.kernel_ns / count / 1e3, search.gap_ns / count / 1e3);
        gt_rule_evidence(finding, "in a graph about %.1f us of a gap remain", usual_ns / 1e3);
        gt_tally_sort(&search.names);
        for (size_t i = 0; i < search.names.item_count && i < 2; i++) {
            uint32_t name = gt_short_kernel_name(schedule, search.names.items[i].text, 60);
            gt_rule_evidence(finding, "%s: gaps of %.2f ms before %zu of them",
                             gt_interner_get(schedule->strings, name).bytes,
                             gt_rule_ms(input, search.names.items[i].sum), search.names.items[i].count);
        }
        finding->advice =
            gt_rule_text("Capture the sequence as a CUDA or HIP graph%s, fuse the kernels, or give them more "
                         "work at a time.",
                         schedule->origin == GT_BY_JAX ? " (XLA's command buffers)" : "");
    }
    gt_tally_free(&search.names);
    return found;
}
