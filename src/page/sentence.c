/* The verdict in one sentence: what limits the step? The first of these that is true:
 *
 *     no GPU work          "The trace has no GPU work."
 *     idle, 10 % or more   "The GPU is idle *60 %* of a *77.7 ms* step: it waits for the data loader."
 *     communication, ...   "Communication that nothing hides takes *35 %* of a *77.7 ms* step."
 *     copies, ...          "Copies that nothing hides take *12 %* of a *77.7 ms* step."
 *     busy                 "The GPU works *97 %* of a *31.0 ms* step; most of it is matrix products, at *62
 * %* of the roofline."
 *
 * Of idle time, communication and copies the largest counts. A trace that cannot be trusted gets a sentence
 * before this one that says so. */
#include "page/measures.h"

#include "base/memory.h"
#include "page/words.h"

#include <string.h>

static const double important = 0.1; /* share of the window from which something limits the step */
static const double most = 0.5;
static const double nearly_all = 0.8;

/* Why the GPU is idle, after a colon. */
static const struct {
    const char *cause, *reason;
} reasons[] = {
    {"launch", "the host does not launch work fast enough"},
    {"sync", "the host waits for the GPU and then has to catch up"},
    {"data", "it waits for the data loader"},
    {"cpu_op", "it waits for operators that run on the CPU"},
    {"python", "it waits for Python code"},
    {"untraced", "the host does something that the trace does not show"},
    {"alloc", "the host allocates and frees device memory"},
    {"module", "the host loads kernels for their first use"},
    {"copy", "calls that copy block the host"},
    {"profiler", "the profiler is at work"},
    {"device_gap", "there are short gaps between queued kernels"},
    {"dependency", "it waits for work of other streams"},
    {"device_wait", "launched work starts late"},
    {"collective", "it waits for other ranks"},
    {"unknown", "the trace does not show why"},
};

static const char *reason_of(const char *cause)
{
    for (size_t i = 0; i < GT_LENGTH(reasons); i++)
        if (strcmp(reasons[i].cause, cause) == 0) return reasons[i].reason;
    return cause;
}

/* Categories as the subject of a sentence. */
static const struct {
    const char *category, *words;
} works[] = {
    {"GEMM", "matrix products"},         {"attention", "attention"},
    {"convolution", "convolutions"},     {"normalisation", "normalisation"},
    {"elementwise", "elementwise work"}, {"reduction", "reductions"},
    {"optimizer", "the optimizer"},      {"other", "kernels of no known category"},
};

static const char *words_of(const char *category)
{
    for (size_t i = 0; i < GT_LENGTH(works); i++)
        if (strcmp(works[i].category, category) == 0) return works[i].words;
    return category;
}

/* The part of this kind with the most time; NULL: there is none. */
static const gt_page_part *largest(const gt_page_measures *m, gt_page_part_kind kind)
{
    for (size_t i = 0; i < m->part_count; i++)
        if (m->parts[i].kind == kind && m->parts[i].ns > 0) return &m->parts[i];
    return NULL;
}

/* "*60 %* of a *77.7 ms* step", "*60 %* of the trace (*1.08 s*)" */
static void add_share_of_step(const gt_page_measures *m, double ns, gt_buffer *out)
{
    gt_buffer_add_cstr(out, "*");
    gt_words_add_share(out, ns, (double)m->window_ns);
    gt_buffer_add_cstr(out, m->has_steps ? "* of a *" : "* of the trace (*");
    gt_words_add_time(out, (double)m->window_ns / m->window_steps);
    gt_buffer_add_cstr(out, m->has_steps ? "* step" : "*)");
}

static void add_idle(const gt_page_measures *m, gt_buffer *out)
{
    const gt_page_part *cause = largest(m, GT_PART_IDLE);
    double idle_ns = (double)m->kind_ns[GT_PART_IDLE];
    gt_buffer_add_cstr(out, "The GPU is idle ");
    add_share_of_step(m, idle_ns, out);
    if (cause) {
        bool is_most = (double)cause->ns >= most * idle_ns;
        gt_buffer_add_format(out, "%s: %s", is_most ? "" : ", for several reasons; the largest",
                             reason_of(cause->name));
    }
    gt_buffer_add_cstr(out, ".");
}

static void add_exposed(const gt_page_measures *m, gt_page_part_kind kind, gt_buffer *out)
{
    gt_buffer_add_cstr(out, kind == GT_PART_COMMUNICATION ? "Communication that nothing hides takes "
                                                          : "Copies that nothing hides take ");
    add_share_of_step(m, (double)m->kind_ns[kind], out);
    gt_buffer_add_cstr(out, ".");
}

static void add_busy(const gt_page_measures *m, gt_buffer *out)
{
    double busy_ns = (double)(m->window_ns - m->kind_ns[GT_PART_IDLE]);
    const gt_page_part *top = largest(m, GT_PART_COMPUTATION);
    const gt_page_roofline *r = &m->roofline;
    gt_buffer_add_cstr(out, "The GPU works ");
    add_share_of_step(m, busy_ns, out);
    if (top) {
        bool is_most = (double)top->ns >= most * busy_ns;
        gt_buffer_add_format(out, "; %s is %s", is_most ? "most of it" : "the largest part",
                             words_of(top->name));
    }
    if (top && r->has_rates && r->top_kernel_us > 0 && r->top_kernel_us >= nearly_all * r->top_all_us) {
        gt_buffer_add_cstr(out, ", at *");
        gt_words_add_share(out, r->top_ideal_us, r->top_kernel_us);
        gt_buffer_add_cstr(out, "* of the roofline");
    }
    gt_buffer_add_cstr(out, ".");
}

/* The text of a check, in which nothing is bold. */
static void add_distrust(const gt_page_measures *m, gt_buffer *out)
{
    gt_buffer_add_cstr(out, "*Do not trust this trace.* ");
    for (const char *at = m->distrust ? m->distrust : ""; *at; at++)
        if (*at != '*') gt_buffer_add(out, at, 1);
    if (m->distrust && *m->distrust) gt_buffer_add_cstr(out, " ");
}

void gt_page_add_sentence(const gt_page_measures *m, gt_buffer *out)
{
    if (m->is_distrusted) add_distrust(m, out);
    if (m->window_ns <= 0) {
        gt_buffer_add_cstr(out, "The trace has no GPU work.");
        return;
    }
    gt_page_part_kind limit = GT_PART_IDLE;
    for (gt_page_part_kind kind = GT_PART_COMMUNICATION; kind < GT_PART_IDLE; kind++)
        if (m->kind_ns[kind] > m->kind_ns[limit]) limit = kind;
    if ((double)m->kind_ns[limit] < important * (double)m->window_ns)
        add_busy(m, out);
    else if (limit == GT_PART_IDLE)
        add_idle(m, out);
    else
        add_exposed(m, limit, out);
}
