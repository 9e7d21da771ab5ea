/* Sheets of phases.
 *
 * ops_summary_prefill and ops_summary_decode: the launchers of one phase by name:
 *
 *     Kernel categories              the distinct categories (inference_category.c) of the kernels of the
 *                                    first launcher with that name, ascending
 *     total_direct_kernel_time_sum   sum of the launchers' own kernel times, microseconds
 *     Count                          launchers
 *     total_direct_kernel_time_ms    that sum / 1000
 *     Percentage (%)                 of the phase's sum
 *     Cumulative Percentage (%)      running total of Percentage over the rows as shown
 *
 * kernel_summary_prefill and kernel_summary_decode: the kernels of one phase by op category, op, name and
 * stream, with the columns of kernel_summary (analysis/pytorch/kernels.c), and
 *
 *     Percent of kernels time (%)    sum / durations of the phase's kernels * 100
 *
 * ops_summary_prefill and ops_summary_decode of the method auto have one column more:
 *
 *     evidence                       what the phases of the launchers were found by, the strongest first
 *
 * inference_phases: the steps of the method auto:
 *
 *     step                           number, by start; empty for GPU events outside all steps
 *     name                           of its annotation; empty: inferred
 *     start_us, duration_us          of its annotation, or from the first launch to the end of the last
 *     phase                          prefill, decode, mixed, or empty: unknown
 *     counted_as                     the phase that its ops count for
 *     method, evidence               "auto", and what the phase was found by
 *     batch_size                     requests
 *     prefill_tokens, decode_tokens  tokens
 *     gpu_events, gpu_time_us        launched in it: number, and sum of durations */
#include "analysis/phases/phases.h"

#include "analysis/sheet_parts.h"

/* ---- ops of a phase ---- */

static const gt_aggregate of_name[] = {
    GT_AGGREGATE(TOTAL_DIRECT_KERNEL_TIME, SUM),
    {GT_NO_COL, GT_GROUP_SIZE, GT_COL_COUNT_TITLE},
    {GT_COL_LAUNCHER, GT_GROUP_FIRST, GT_COL_LAUNCHER},
};

static const gt_col columns[] = {
    GT_COL_KERNEL_CATEGORIES,
    GT_COL_NAME,
    GT_COL_TOTAL_DIRECT_KERNEL_TIME_SUM,
    GT_COL_COUNT_TITLE,
    GT_COL_TOTAL_DIRECT_KERNEL_TIME_MS,
    GT_COL_PERCENTAGE_PCT,
    GT_COL_CUMULATIVE_PERCENTAGE_PCT,
    GT_COL_EVIDENCE, /* of the method auto only */
};

static void add_once(gt_row_list *list, uint32_t text)
{
    for (size_t i = list->count; i > 0; i--)
        if (list->items[i - 1] == text) return;
    GT_PUSH(list->items, list->count, list->capacity, text);
}

typedef struct categories {
    const gt_linked_view *trace;
    const gt_launchers *launchers;
    gt_inference_categories *names;
    uint32_t *known;   /* by kernel name: its category; GT_STR_NONE: not computed yet */
    gt_row_list found; /* string ids, of one launcher */
    gt_buffer joined;
} categories;

static uint32_t category_of(categories *c, uint32_t name)
{
    if (c->known[name] == GT_STR_NONE)
        c->known[name] = gt_interner_add_cstr(
            c->trace->strings, gt_inference_category(c->names, gt_interner_get(c->trace->strings, name)));
    return c->known[name];
}

/* "Attention-Forward, GEMM-CK" */
static uint32_t categories_of(categories *c, const gt_launcher *launcher)
{
    gt_interner *strings = c->trace->strings;
    c->found.count = c->joined.len = 0;
    for (size_t i = 0; i < launcher->count; i++)
        add_once(&c->found, category_of(c, c->trace->name[c->launchers->kernels[launcher->first + i]]));
    gt_sort_strings(c->found.items, c->found.count, strings);
    for (size_t i = 0; i < c->found.count; i++) {
        gt_str category = gt_interner_get(strings, c->found.items[i]);
        if (i) gt_buffer_add_cstr(&c->joined, ", ");
        gt_buffer_add(&c->joined, category.bytes, category.len);
    }
    return gt_interner_add(strings, c->joined.bytes, c->joined.len);
}

static void add_categories(gt_table *sheet, const gt_linked_view *trace, const gt_launchers *launchers)
{
    categories c = {
        .trace = trace,
        .launchers = launchers,
        .names = gt_inference_categories_new(),
        .known = gt_alloc_zero(gt_interner_count(trace->strings), sizeof *c.known),
    };
    size_t column = gt_table_add_column(sheet, GT_COL_KERNEL_CATEGORIES, GT_TYPE_STRING);
    const int64_t *first = gt_table_column(sheet, GT_COL_LAUNCHER)->ints;
    for (size_t row = 0; row < sheet->row_count; row++)
        gt_table_set_string(sheet, column, row, categories_of(&c, &launchers->items[first[row]]));
    gt_inference_categories_free(c.names);
    gt_free_all(c.known, c.found.items);
    gt_buffer_free(&c.joined);
}

static gt_table *launchers_of(const gt_linked_view *trace, const gt_launchers *launchers,
                              const gt_phases *phases, gt_phase phase)
{
    gt_table *table = gt_table_new(GT_SHEET_LAUNCHERS, trace->strings);
    uint8_t *keep = gt_alloc(launchers->count);
    gt_table_add_rows(table, launchers->count);
    size_t names = gt_table_add_zeroed(table, GT_COL_NAME, GT_TYPE_STRING);
    size_t numbers = gt_table_add_zeroed(table, GT_COL_LAUNCHER, GT_TYPE_INT);
    for (size_t i = 0; i < launchers->count; i++) {
        table->columns[names].texts[i] = trace->name[launchers->items[i].row];
        table->columns[numbers].ints[i] = (int64_t)i;
    }
    gt_table_add_direct_times(table, launchers);
    for (size_t i = 0; i < launchers->count; i++) keep[i] = gt_phases_of_launcher(phases, i) == phase;
    gt_table_keep(table, keep);
    gt_free(keep);
    return table;
}

/* ---- evidence of the method auto ---- */

static const char *const evidence_names[] = {
    [GT_EVIDENCE_NONE] = "",
    [GT_EVIDENCE_ANNOTATION] = "step annotations",
    [GT_EVIDENCE_GPU_ANNOTATION] = "step annotations of the GPU",
    [GT_EVIDENCE_QUERIES] = "query lengths",
    [GT_EVIDENCE_GEMMS] = "GEMM sizes",
    [GT_EVIDENCE_NAMES] = "names",
    [GT_EVIDENCE_GUESS] = "guess by --decode_threshold",
};

/* The kinds of evidence whose bits are set, the strongest first. */
static void print_evidence(gt_buffer *out, uint8_t bits)
{
    out->len = 0;
    for (size_t i = GT_EVIDENCE_ANNOTATION; i < GT_LENGTH(evidence_names); i++) {
        if (!(bits >> i & 1)) continue;
        if (out->len) gt_buffer_add_cstr(out, ", ");
        gt_buffer_add_cstr(out, evidence_names[i]);
    }
}

static void add_evidence(gt_table *sheet, const gt_linked_view *trace, const gt_launchers *launchers,
                         const gt_phases *phases, gt_phase phase)
{
    uint8_t *bits = gt_alloc_zero(gt_interner_count(trace->strings), 1); /* by name */
    size_t names = gt_interner_count(trace->strings);
    for (size_t i = 0; i < launchers->count; i++)
        if (gt_phases_of_launcher(phases, i) == phase)
            bits[trace->name[launchers->items[i].row]] |=
                (uint8_t)(1U << gt_phases_evidence_of_launcher(phases, i));
    size_t column = gt_table_add_column(sheet, GT_COL_EVIDENCE, GT_TYPE_STRING);
    const uint32_t *name_of = gt_table_column(sheet, GT_COL_NAME)->texts;
    gt_buffer text = {0};
    for (size_t row = 0; row < sheet->row_count; row++) {
        print_evidence(&text, name_of[row] < names ? bits[name_of[row]] : 0);
        gt_table_set_string(sheet, column, row,
                            gt_interner_add(trace->strings, text.bytes ? text.bytes : "", text.len));
    }
    gt_buffer_free(&text);
    gt_free(bits);
}

gt_table *gt_phase_ops_summary(const gt_linked_view *trace, const gt_launchers *launchers,
                               const gt_phases *phases, gt_phase phase, gt_sheet sheet)
{
    static const gt_sort_key longest_first[] = {{GT_COL_TOTAL_DIRECT_KERNEL_TIME_SUM, true}};
    gt_table *table = launchers_of(trace, launchers, phases, phase);
    gt_table *summary = gt_table_group(table, (gt_col[]){GT_COL_NAME}, 1, of_name, GT_LENGTH(of_name),
                                       (gt_group_options){.keep_nulls = true});
    gt_table_free(table);
    gt_table_rename(summary, sheet);
    gt_table_sort(summary, longest_first, GT_LENGTH(longest_first));
    add_categories(summary, trace, launchers);
    gt_table_add_percentages(summary, gt_table_add_ms(summary, GT_COL_TOTAL_DIRECT_KERNEL_TIME_SUM,
                                                      GT_COL_TOTAL_DIRECT_KERNEL_TIME_MS));
    gt_table_make_float(summary, gt_table_find(summary, GT_COL_PERCENTAGE_PCT));
    gt_table_make_float(summary, gt_table_find(summary, GT_COL_CUMULATIVE_PERCENTAGE_PCT));
    size_t steps;
    gt_phases_steps(phases, &steps);
    if (steps) add_evidence(summary, trace, launchers, phases, phase);
    gt_table_select(summary, columns, GT_LENGTH(columns));
    return summary;
}

/* ---- kernels of a phase ---- */

gt_table *gt_phase_kernel_summary(const gt_pytorch_kernels *kernels, const gt_launchers *launchers,
                                  const uint8_t *kernel_phases, gt_phase phase, gt_sheet sheet)
{
    gt_pytorch_kernels part = *kernels; /* the same columns and types as in kernel_summary */
    part.rows = gt_alloc(kernels->count * sizeof *part.rows);
    part.cpu_ops = gt_alloc(kernels->count * sizeof *part.cpu_ops);
    part.count = 0;
    for (size_t i = 0; i < kernels->count; i++) {
        if (kernel_phases[kernels->rows[i]] != phase) continue;
        part.rows[part.count] = kernels->rows[i];
        part.cpu_ops[part.count++] = kernels->cpu_ops[i];
    }
    gt_table *summary = gt_pytorch_kernel_shares(&part, launchers, sheet);
    gt_pytorch_kernels_free(&part);
    return summary;
}

/* ---- steps ---- */

static const gt_column_head step_columns[] = {
    {GT_COL_STEP, GT_TYPE_INT},
    {GT_COL_NAME, GT_TYPE_STRING},
    {GT_COL_STEP_START_US, GT_TYPE_FLOAT},
    {GT_COL_DURATION_US, GT_TYPE_FLOAT},
    {GT_COL_PHASE, GT_TYPE_STRING},
    {GT_COL_COUNTED_AS, GT_TYPE_STRING},
    {GT_COL_METHOD, GT_TYPE_STRING},
    {GT_COL_EVIDENCE, GT_TYPE_STRING},
    {GT_COL_STEP_BATCH_SIZE, GT_TYPE_INT},
    {GT_COL_PREFILL_TOKENS, GT_TYPE_INT},
    {GT_COL_DECODE_TOKENS, GT_TYPE_INT},
    {GT_COL_GPU_EVENTS, GT_TYPE_INT},
    {GT_COL_GPU_TIME_US, GT_TYPE_FLOAT},
};
enum {
    STEP,
    STEP_NAME,
    START,
    DURATION,
    PHASE,
    COUNTED_AS,
    METHOD,
    EVIDENCE,
    BATCH,
    PREFILL,
    DECODE,
    EVENTS,
    TIME
};

static const char *phase_name(gt_phase phase)
{
    return phase == GT_PHASE_PREFILL ? "prefill" : phase == GT_PHASE_DECODE ? "decode" : NULL;
}

static void set_text(gt_table *sheet, size_t column, size_t row, const char *text)
{
    if (text && *text) gt_table_set_cstr(sheet, column, row, text);
}

static void set_count(gt_table *sheet, size_t column, size_t row, int64_t count)
{
    if (count >= 0) gt_table_set_int(sheet, column, row, count);
}

static void set_evidence(gt_table *sheet, size_t row, const gt_phase_step *step, int64_t threshold)
{
    if (step->evidence != GT_EVIDENCE_GUESS) {
        set_text(sheet, EVIDENCE, row, evidence_names[step->evidence]);
        return;
    }
    char *text = gt_format("guess: M = %" PRId64 " is %s --decode_threshold %" PRId64, step->guess_rows,
                           step->guess_rows > threshold ? "above" : "at most", threshold);
    set_text(sheet, EVIDENCE, row, text);
    gt_free(text);
}

static void add_step(gt_table *sheet, const gt_phase_step *step, size_t number, bool is_outside,
                     int64_t threshold)
{
    size_t row = gt_table_add_row(sheet);
    if (!is_outside) {
        gt_table_set_int(sheet, STEP, row, (int64_t)number);
        gt_table_set_float(sheet, START, row, step->start_us);
        gt_table_set_float(sheet, DURATION, row, step->end_us - step->start_us);
        set_text(sheet, METHOD, row, gt_phase_method_name(GT_PHASES_AUTO));
    }
    if (step->name != GT_STR_NONE) gt_table_set_string(sheet, STEP_NAME, row, step->name);
    if (is_outside) set_text(sheet, STEP_NAME, row, "outside all steps");
    set_text(sheet, PHASE, row, step->is_mixed ? "mixed" : phase_name(step->phase));
    set_text(sheet, COUNTED_AS, row, phase_name(step->phase));
    set_evidence(sheet, row, step, threshold);
    set_count(sheet, BATCH, row, step->batch_size);
    set_count(sheet, PREFILL, row, step->prefill_tokens);
    set_count(sheet, DECODE, row, step->decode_tokens);
    gt_table_set_int(sheet, EVENTS, row, (int64_t)step->gpu_events);
    gt_table_set_float(sheet, TIME, row, step->gpu_us);
}

gt_table *gt_phase_steps_sheet(const gt_linked_view *trace, const gt_phases *phases)
{
    gt_table *sheet = gt_table_new(GT_SHEET_INFERENCE_PHASES, trace->strings);
    gt_table_add_columns(sheet, step_columns, GT_LENGTH(step_columns));
    size_t count;
    const gt_phase_step *steps = gt_phases_steps(phases, &count);
    for (size_t i = 0; i < count; i++)
        if (i + 1 < count || steps[i].gpu_events)
            add_step(sheet, &steps[i], i, i + 1 == count, gt_phases_decode_threshold(phases));
    return sheet;
}
