/* The Markdown comparison: sizes, times per token and per layer, stages, longest kernels. */
#include "report/jax.h"

enum { NUMBER_MAX = 512 };

static void print(gt_buffer *out, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void print(gt_buffer *out, const char *format, ...)
{
    char line[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(line, sizeof line, format, args);
    va_end(args);
    gt_buffer_add_cstr(out, line);
}

/* 1,234.50 */
typedef struct number {
    char text[NUMBER_MAX];
} number;

static number grouped(double value)
{
    char plain[NUMBER_MAX - 128];
    number n;
    size_t used = 0;
    int len = snprintf(plain, sizeof plain, "%.2f", value);
    const char *point = strchr(plain, '.');
    size_t whole = point ? (size_t)(point - plain) : (size_t)len;
    for (size_t i = 0; i < (size_t)len; i++) {
        bool is_third = point && i < whole && i && plain[i - 1] != '-' && (whole - i) % 3 == 0;
        if (is_third) n.text[used++] = ',';
        n.text[used++] = plain[i];
    }
    n.text[used] = 0;
    return n;
}

static number whole_or_none(int64_t value)
{
    number n;
    if (value < 0)
        snprintf(n.text, sizeof n.text, "None");
    else
        snprintf(n.text, sizeof n.text, "%" PRId64, value);
    return n;
}

static double ratio(double a, double b)
{
    return b > 0 ? a / b : (double)INFINITY;
}

static void print_checks(gt_buffer *out, const gt_llama_pair *pair)
{
    const gt_llama_summary *sides[] = {pair->rocm, pair->cuda};
    static const char *const names[] = {"ROCm", "CUDA"};
    gt_buffer_add_cstr(out, "## Workload sanity checks\n\n");
    for (size_t i = 0; i < 2; i++)
        print(out, "- %s: d_model=%s, head_dim=%s, PostGSU=%s\n", names[i],
              whole_or_none(sides[i]->d_model).text, whole_or_none(sides[i]->head_dim).text,
              whole_or_none(sides[i]->post_gsu).text);
    static const char *const ranges[] = {"Token", "Layer"};
    const gt_llama_range values[] = {pair->tokens, pair->layers};
    for (size_t i = 0; i < 2; i++)
        print(out, "- %s range analyzed: ROCm %" PRId64 ":%" PRId64 ", CUDA %" PRId64 ":%" PRId64 "\n%s",
              ranges[i], values[i].first, values[i].last, values[i].first, values[i].last, i ? "\n" : "");
}

static void print_times(gt_buffer *out, const gt_llama_pair *pair)
{
    const gt_llama_summary *sides[] = {pair->rocm, pair->cuda};
    static const char *const names[] = {"ROCm", "CUDA"};
    gt_buffer_add_cstr(out, "## Critical-path timing (GPU main stream)\n\n");
    for (size_t i = 0; i < 2; i++)
        print(out, "- %s avg: **%s ms/token** (%s µs/layer)\n", names[i],
              grouped(sides[i]->token_us / 1000.0).text, grouped(sides[i]->layer_us).text);
    print(out, "- ROCm/CUDA per-layer ratio: **%.3f×** ( >1 means ROCm slower )\n\n",
          ratio(pair->rocm->layer_us, pair->cuda->layer_us));
}

static void print_stages(gt_buffer *out, const gt_llama_pair *pair)
{
    gt_buffer_add_cstr(out,
                       "## Per-layer time (µs) and share of layer critical path\n\n"
                       "| Stage | ROCm µs/layer | ROCm share | CUDA µs/layer | CUDA share | ROCm/CUDA |\n"
                       "|---|---:|---:|---:|---:|---:|\n");
    for (size_t i = 0; i < GT_LLAMA_STAGES; i++) {
        double rocm = pair->rocm->stage_us[i], cuda = pair->cuda->stage_us[i];
        double rocm_share = pair->rocm->layer_us > 0 ? rocm / pair->rocm->layer_us * 100 : 0;
        double cuda_share = pair->cuda->layer_us > 0 ? cuda / pair->cuda->layer_us * 100 : 0;
        print(out, "| %s | %s | %s%% | %s | %s%% | %.3f |\n", gt_llama_stage_names[i], grouped(rocm).text,
              grouped(rocm_share).text, grouped(cuda).text, grouped(cuda_share).text, ratio(rocm, cuda));
    }
}

static void print_totals(gt_buffer *out, const gt_llama_pair *pair, const gt_llama_total *totals,
                         size_t count, bool has_p90)
{
    for (size_t i = 0; i < count; i++) {
        gt_str name = gt_interner_get(pair->strings, totals[i].name);
        gt_buffer_add_cstr(out, "- `");
        gt_buffer_add(out, name.bytes, name.len);
        print(out, "` — count=%zu, total=%s ms, avg=%s µs", totals[i].count,
              grouped(totals[i].total_us / 1000.0).text, grouped(totals[i].average_us).text);
        if (has_p90) print(out, ", p90=%s µs", grouped(totals[i].p90_us).text);
        gt_buffer_add_cstr(out, "\n");
    }
}

static void print_notes(gt_buffer *out, const char *side, const gt_buffer *notes)
{
    for (const char *at = notes->bytes, *end; at && at < notes->bytes + notes->len; at = end + 1) {
        end = memchr(at, '\n', (size_t)(notes->bytes + notes->len - at));
        print(out, "- [%s] %.*s\n", side, (int)(end - at), at);
    }
}

void gt_llama_compare(gt_buffer *out, const gt_llama_pair *pair)
{
    const gt_llama_summary *rocm = pair->rocm, *cuda = pair->cuda;
    gt_buffer_add_cstr(out, "# Trace Comparison: ROCm vs CUDA (full + fixed attribution)\n\n");
    print_checks(out, pair);
    print_times(out, pair);
    print_stages(out, pair);
    gt_buffer_add_cstr(out, "\n## Top GPU kernels by total time (main stream)\n\n### ROCm (top 12)\n");
    print_totals(out, pair, rocm->kernels, rocm->kernel_count, true);
    gt_buffer_add_cstr(out, "\n### CUDA (top 12)\n");
    print_totals(out, pair, cuda->kernels, cuda->kernel_count, true);
    gt_buffer_add_cstr(
        out, "\n## Top XLA op-paths by total time (main stream)\n"
             "A path is what a kernel's event has as `args.name`, such as `.../attn/q/dot_general`.\n\n"
             "### ROCm (top 15)\n");
    print_totals(out, pair, rocm->paths, rocm->path_count, false);
    gt_buffer_add_cstr(out, "\n### CUDA (top 15)\n");
    print_totals(out, pair, cuda->paths, cuda->path_count, false);
    gt_buffer_add_cstr(
        out,
        "\n## Interpretation notes (how to read differences)\n"
        "- Time in `post_gsu` is the second pass of matrix products that were split along K; a library that "
        "does not split them has none.\n"
        "- Time in `swiglu_elementwise` on one side alone: there the gate is a kernel of its own, on the "
        "other side it is part of another one and its time is in that stage.\n"
        "- Ratios of the q, k, v and out products are the largest where few tokens are decoded at once: "
        "products with so few rows depend most on which kernel the library chose.\n");
    if (!rocm->notes.len && !cuda->notes.len) return;
    gt_buffer_add_cstr(out, "\n## Notes\n");
    print_notes(out, "ROCm", &rocm->notes);
    print_notes(out, "CUDA", &cuda->notes);
}
