/* The verdict in one sentence: what limits the step? The first of these that is true:
 *
 *     no GPU events        "The trace has no GPU events."
 *     a graph capture      "This is a graph capture: its kernels did not run."
 *     idle, 10 % or more   "The GPU is idle *60 %* of a *77.7 ms* step: it waits for the data loader."
 *     communication, ...   "Communication that nothing hides takes *35 %* of a *77.7 ms* step."
 *     copies, ...          "Copies that nothing hides take *12 %* of a *77.7 ms* step."
 *     busy                 "The GPU works *97 %* of a *31.0 ms* step; most of it is matrix products, at
 *                          *62 %* of the roofline."
 *
 * Of idle time, communication and copies the largest counts.
 *
 * This is where time goes. Findings are ordered by what a repair gains and how certain that is, so the first
 * one may be about something else: the GPU waits for the data loader a little longer than for an operator on
 * the CPU, but the repair of the latter gains more. Then the page says so in a second sentence. The one
 * exception from that order is launch_bound, which stands after what has to be repaired before it. */
#include "page/measures.h"

#include "page/words.h"

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

/* "*60 %* of a *77.7 ms* step", "*60 %* of the window (*1.08 s*)" */
static void add_share_of_step(const gt_page_measures *m, double ns, gt_buffer *out)
{
    gt_buffer_add_cstr(out, "*");
    gt_words_add_share(out, ns, (double)m->window_ns);
    gt_buffer_add_cstr(out, m->has_steps ? "* of a *" : "* of the window (*");
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

/* What limits the step; COMPUTATION: nothing else does. */
static gt_page_part_kind limit_of(const gt_page_measures *m)
{
    gt_page_part_kind limit = GT_PART_IDLE;
    for (gt_page_part_kind kind = GT_PART_COMMUNICATION; kind < GT_PART_IDLE; kind++)
        if (m->kind_ns[kind] > m->kind_ns[limit]) limit = kind;
    return (double)m->kind_ns[limit] < important * (double)m->window_ns ? GT_PART_COMPUTATION : limit;
}

void gt_page_add_sentence(const gt_page_measures *m, gt_buffer *out)
{
    if (m->window_ns <= 0 || m->is_graph_capture) {
        gt_buffer_add_cstr(out, m->is_graph_capture ? "This is a graph capture: its kernels did not run."
                                                    : "The trace has no GPU events.");
        return;
    }
    gt_page_part_kind limit = limit_of(m);
    if (limit == GT_PART_COMPUTATION)
        add_busy(m, out);
    else if (limit == GT_PART_IDLE)
        add_idle(m, out);
    else
        add_exposed(m, limit, out);
}

/* A text in which nothing is bold. */
static void add_plain(const char *text, gt_buffer *out)
{
    for (; *text; text++)
        if (*text != '*') gt_buffer_add(out, text, 1);
}

void gt_page_add_limit(const gt_page_measures *m, gt_buffer *out)
{
    gt_buffer sentence = {0};
    if (m->window_ns <= 0 || m->is_graph_capture || limit_of(m) == GT_PART_COMPUTATION) return;
    gt_page_add_sentence(m, &sentence);
    sentence.bytes[0] = (char)tolower((unsigned char)sentence.bytes[0]);
    sentence.len--; /* the full stop */
    add_plain(gt_buffer_str(&sentence).bytes, out);
    gt_buffer_free(&sentence);
}

/* ---- the first finding ---- */

/* What findings are about, if it is not computation: a kind of part, and of idle time its cause. */
static const struct {
    const char *id;
    gt_page_part_kind kind;
    const char *cause;
} subjects[] = {
    {"data_stall", GT_PART_IDLE, "data"},
    {"host_sync", GT_PART_IDLE, "sync"},
    {"cpu_roundtrip", GT_PART_IDLE, "cpu_op"},
    {"allocator_churn", GT_PART_IDLE, "alloc"},
    {"wait", GT_PART_IDLE, "wait"},
    {"data_stall", GT_PART_IDLE, "wait"},
    {"python_busy", GT_PART_IDLE, "python"},
    {"host_untraced", GT_PART_IDLE, "untraced"},
    {"first_use", GT_PART_IDLE, "module"},
    {"launch_bound", GT_PART_IDLE, "launch"},
    {"slow_optimizer", GT_PART_IDLE, "launch"},
    {"short_kernels", GT_PART_IDLE, "launch"},
    {"pageable_copy", GT_PART_IDLE, "copy"},
    {"pageable_copy", GT_PART_COPY, NULL},
    {"exposed_copy", GT_PART_COPY, NULL},
    {"exposed_comm", GT_PART_IDLE, "collective"},
    {"exposed_comm", GT_PART_COMMUNICATION, NULL},
};

/* Whether the first finding is about what the sentence says. */
static bool is_about_limit(const gt_page_measures *m)
{
    gt_page_part_kind limit = limit_of(m);
    const gt_page_part *cause = largest(m, GT_PART_IDLE);
    if (limit == GT_PART_COMPUTATION) return m->repair.is_gpu;
    if (strcmp(m->repair.id, "uneven_steps") == 0) return true; /* whatever these steps do or wait for */
    for (size_t i = 0; i < GT_LENGTH(subjects); i++) {
        if (strcmp(subjects[i].id, m->repair.id) != 0 || subjects[i].kind != limit) continue;
        if (limit != GT_PART_IDLE || (cause && strcmp(cause->name, subjects[i].cause) == 0)) return true;
    }
    return false;
}

void gt_page_add_repair(const gt_page_measures *m, gt_buffer *out)
{
    if (!m->repair.id || !m->repair.title || m->window_ns <= 0 || !m->part_count || is_about_limit(m)) return;
    gt_buffer_add_cstr(out, m->repair.precedes_more
                                ? " What to repair first, although it gains less, is something else, because "
                                  "no CUDA or HIP graph can contain it: "
                                : " What to repair first, by gain and certainty, is something else: ");
    add_plain(m->repair.title, out);
    if (m->repair.gain_pct > 0) {
        gt_buffer_add_cstr(out, " (about *");
        gt_words_add_share(out, m->repair.gain_pct, 100);
        gt_buffer_add_cstr(out, "*)");
    }
    gt_buffer_add_cstr(out, ".");
}
