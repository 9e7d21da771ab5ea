/* A check that the sheets of ops account for all kernels, which TraceLens prints after its report on
 * inference:
 *
 *     computation_time of gpu_timeline, and the sums of kernel times of the launchers (ops_summary) and of
 * the ops of unified_perf_summary, which must not be less for each of the two, whether it has each kernel as
 * often as the trace
 *
 * Communication does not count. Times are compared with a small tolerance, because they were divided by 1,000
 * on the way. */
#include "analysis/pytorch/sheets.h"

enum { TREE, LAUNCHERS, UNIFIED, COUNTS };

typedef struct checker {
    gt_perf *perf;
    gt_buffer *out;
    size_t *counts[COUNTS]; /* by name: how often a kernel is there */
    size_t names;
} checker;

/* ---- counts and times ---- */

static void count_kernels(checker *c, gt_unified_ops ops)
{
    const gt_linked_view *trace = c->perf->trace;
    const gt_launchers *l = c->perf->launchers;
    for (uint32_t row = 0; row < trace->count; row++)
        if (gt_kind_is_gpu(trace->kind[row]) && !gt_perf_communicates(c->perf, row))
            c->counts[TREE][trace->name[row]]++;
    for (size_t i = 0; i < l->count; i++)
        for (size_t k = 0; k < l->items[i].count; k++)
            c->counts[LAUNCHERS][trace->name[l->kernels[l->items[i].first + k]]]++;
    size_t listed = ops.table->row_count ? ops.gpu_ends[ops.table->row_count - 1] : 0;
    for (size_t i = 0; i < listed; i++) c->counts[UNIFIED][trace->name[ops.gpu_rows[i]]]++;
}

static double sum_of_launchers(const gt_launchers *launchers)
{
    double sum = 0;
    for (size_t i = 0; i < launchers->count; i++) sum += launchers->items[i].direct_us;
    return sum;
}

static double sum_of_ops(const gt_table *ops)
{
    const gt_column *times = gt_table_column(ops, GT_COL_KERNEL_TIME_US);
    double sum = 0;
    for (size_t row = 0; row < ops->row_count; row++)
        sum += times->type == GT_TYPE_INT ? (double)times->ints[row] : times->floats[row];
    return sum;
}

/* ---- text ---- */

static const char *verdict(double sum_us, double computation_us)
{
    static const double TOLERANCE = 1e-9; /* relative */
    return sum_us >= computation_us * (1 - TOLERANCE) ? "PASS" : "FAIL";
}

static size_t total(const checker *c, size_t kind)
{
    size_t sum = 0;
    for (size_t name = 0; name < c->names; name++) sum += c->counts[kind][name];
    return sum;
}

static int by_text(const void *left, const void *right, void *strings)
{
    return gt_str_compare(gt_interner_get(strings, *(const uint32_t *)left),
                          gt_interner_get(strings, *(const uint32_t *)right));
}

/* The first characters of a UTF-8 name. */
static void add_short_name(gt_buffer *out, gt_str name)
{
    enum { CHARACTERS_MAX = 80 };
    size_t at = 0;
    for (size_t characters = 0; at < name.len; at++)
        if ((name.bytes[at] & 0xC0) != 0x80 && characters++ == CHARACTERS_MAX) break;
    gt_buffer_add(out, name.bytes, at);
    if (at < name.len) gt_buffer_add_cstr(out, "...");
}

static void add_mismatches(checker *c, size_t kind, const char *what)
{
    gt_interner *strings = c->perf->trace->strings;
    gt_row_list wrong = {0};
    for (uint32_t name = 0; name < c->names; name++)
        if (c->counts[TREE][name] != c->counts[kind][name])
            GT_PUSH(wrong.items, wrong.count, wrong.capacity, name);
    if (!wrong.count) {
        gt_buffer_add_cstr(c->out, "  Per-kernel detail check:   PASS (all match)\n");
        return;
    }
    gt_buffer_add_format(c->out, "  Per-kernel mismatches (%zu):\n", wrong.count);
    qsort_r(wrong.items, wrong.count, sizeof *wrong.items, by_text, strings);
    for (size_t i = 0; i < wrong.count; i++) {
        size_t tree = c->counts[TREE][wrong.items[i]], listed = c->counts[kind][wrong.items[i]];
        gt_buffer_add_cstr(c->out, "    ");
        add_short_name(c->out, gt_interner_get(strings, wrong.items[i]));
        gt_buffer_add_format(c->out, "\n      tree=%zu  %s=%zu  diff=%lld\n", tree, what, listed,
                             (long long)tree - (long long)listed);
    }
    gt_free(wrong.items);
}

static void add_counts(checker *c, size_t kind, const char *what)
{
    size_t tree = total(c, TREE), listed = total(c, kind);
    gt_buffer_add_format(c->out,
                         "\n  --- %s ---\n"
                         "  Total GPU events in tree:  %zu\n"
                         "  Kernels accounted:         %zu\n"
                         "  Total count match:         %s\n",
                         what, tree, listed, tree == listed ? "PASS" : "FAIL");
    add_mismatches(c, kind, what);
}

void gt_kernel_check(gt_buffer *text, gt_perf *perf, gt_unified *unified, double computation_us)
{
    static const char rule[] = "============================================================\n";
    checker c = {.perf = perf, .out = text, .names = gt_interner_count(perf->trace->strings)};
    gt_unified_ops ops = gt_unified_ops_of(unified);
    for (size_t i = 0; i < COUNTS; i++) c.counts[i] = gt_alloc_zero(c.names, sizeof **c.counts);
    count_kernels(&c, ops);
    double launchers_us = sum_of_launchers(perf->launchers), unified_us = sum_of_ops(ops.table);
    gt_buffer_add_format(text, "\n%sPerf Report Sanity Check\n%s", rule, rule);
    gt_buffer_add_format(text,
                         "  computation_time (gpu_timeline):     %.2f µs\n"
                         "  Kernel time (kernel_launchers):       %.2f µs\n"
                         "  Kernel time (unified_perf):           %.2f µs\n"
                         "  kernel_launchers >= computation_time: %s\n"
                         "  unified_perf     >= computation_time: %s\n",
                         computation_us, launchers_us, unified_us, verdict(launchers_us, computation_us),
                         verdict(unified_us, computation_us));
    add_counts(&c, LAUNCHERS, "kernel_launchers");
    add_counts(&c, UNIFIED, "unified_perf");
    gt_buffer_add_format(text, "%s\n", rule);
    for (size_t i = 0; i < COUNTS; i++) gt_free(c.counts[i]);
}
