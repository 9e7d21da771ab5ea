/* serving_steps, one row per step:
 *
 *     step                                     number, by start on the host
 *     phase                                    prefill, mixed, decode, verify, draft, diffusion, step, idle
 *     kind                                     what says that there is a step: vllm_native, ..., waits
 *     mode                                     SGLang's and ATOM's name of what the step does
 *     source                                   annotation, or inferred
 *     context_requests, context_tokens         of prefill
 *     generation_requests, generation_tokens   of decode
 *     sk_sum                                   sum of the lengths of all sequences in the KV cache
 *     padded                                   the batch size that the replayed graph was captured for
 *     host_start_us, host_us                   the annotation, or what the host did from cut to cut
 *     gpu_start_us, gpu_span_us                from the first start to the last end of its ops
 *     gpu_busy_us                              at least one of its ops ran
 *     gap_before_us, outside_us, overlap_us, interval_us    see step_list.h; empty for the first step
 *     graph_launches, gpu_ops, graph_ops       numbers; graph_ops: replayed by graphs
 *     comm_us                                  at least one of its collectives ran
 *
 * serving_summary, one row per phase, and "all":
 *
 *     steps, time_ms, time_pct                 time: sum of intervals; of the first step its span
 *     interval_p50_us, _p90_us, _p99_us, span_p50_us, busy_p50_us, gap_p50_us
 *     gap_pct                                  sum of gaps / time
 *     idle_in_step_pct                         1 - busy / span
 *     context_tokens, generation_tokens        generation_tokens: without those of draft
 *     output_tokens, output_is                 of verify one per request: it is not recorded how many were
 *                                              accepted, so then output_is "at least", else "exact"
 *     context_tokens_per_s, output_tokens_per_s    over the time of all steps
 *     tokens_per_s_per_request                 decode and verify: steps per second of the phase's time
 *     padding_pct                              1 - generation tokens / padded, where both are known
 *
 * host_between_steps, one row per step before which the GPU had finished all steps:
 *
 *     step, phase, before                      before: the phase of the step before
 *     gap_us, outside_us                       of the step
 *     finish_us                                the host is still in the step before: it reads results
 *     between_us                               between the steps: the scheduler, detokenising
 *     prepare_us                               in the step, before its first launch
 *     launch_us                                from this launch until the GPU begins */
#include "analysis/serving/cells.h"
#include "analysis/serving/sheets.h"
#include "schema/columns.h"
#include "table/stats.h"

/* ---- serving_steps ---- */

static const gt_column_head step_columns[] = {
    {GT_COL_STEP, GT_TYPE_INT},
    {GT_COL_PHASE, GT_TYPE_STRING},
    {GT_COL_KIND, GT_TYPE_STRING},
    {GT_COL_MODE, GT_TYPE_STRING},
    {GT_COL_SOURCE, GT_TYPE_STRING},
    {GT_COL_CONTEXT_REQUESTS, GT_TYPE_INT},
    {GT_COL_CONTEXT_TOKENS, GT_TYPE_INT},
    {GT_COL_GENERATION_REQUESTS, GT_TYPE_INT},
    {GT_COL_GENERATION_TOKENS, GT_TYPE_INT},
    {GT_COL_SK_SUM, GT_TYPE_INT},
    {GT_COL_PADDED, GT_TYPE_INT},
    {GT_COL_HOST_START_US, GT_TYPE_FLOAT},
    {GT_COL_HOST_US, GT_TYPE_FLOAT},
    {GT_COL_GPU_START_US, GT_TYPE_FLOAT},
    {GT_COL_GPU_SPAN_US, GT_TYPE_FLOAT},
    {GT_COL_GPU_BUSY_US, GT_TYPE_FLOAT},
    {GT_COL_GAP_BEFORE_US, GT_TYPE_FLOAT},
    {GT_COL_OUTSIDE_US, GT_TYPE_FLOAT},
    {GT_COL_OVERLAP_US, GT_TYPE_FLOAT},
    {GT_COL_INTERVAL_US, GT_TYPE_FLOAT},
    {GT_COL_GRAPH_LAUNCHES, GT_TYPE_INT},
    {GT_COL_GPU_OPS, GT_TYPE_INT},
    {GT_COL_GRAPH_OPS, GT_TYPE_INT},
    {GT_COL_COMM_US, GT_TYPE_FLOAT},
};

/* NaN if there is no such value. */
static double ns_if(bool exists, int64_t ns)
{
    return exists ? (double)ns : (double)NAN;
}

static void add_numbers(gt_cells *c, const gt_listed_step *step)
{
    gt_cells_count(c, step->said.context_requests);
    gt_cells_count(c, step->said.context_tokens);
    gt_cells_count(c, step->said.generation_requests);
    gt_cells_count(c, step->said.generation_tokens);
    gt_cells_count(c, step->said.sk_sum);
    gt_cells_count(c, step->padded);
}

static void add_step(gt_table *table, const gt_step_list *list, size_t number)
{
    const gt_listed_step *step = &list->steps[number];
    gt_cells c = gt_cells_of_new_row(table);
    bool has_ops = step->op_count > 0, has_interval = step->has_interval;
    gt_cells_count(&c, (int64_t)number);
    gt_cells_text(&c, gt_serving_phase_name(step->phase));
    gt_cells_text(&c, gt_step_kind_name(step->said.kind));
    if (step->said.mode.len)
        gt_table_set_string(table, c.column, c.row,
                            gt_interner_add(table->strings, step->said.mode.bytes, step->said.mode.len));
    gt_cells_skip(&c, 1);
    gt_cells_text(&c, step->is_inferred ? "inferred" : "annotation");
    add_numbers(&c, step);
    gt_cells_us(&c, (double)(list->base_ns + step->host_start_ns));
    gt_cells_us(&c, (double)(step->host_end_ns - step->host_start_ns));
    gt_cells_us(&c, ns_if(has_ops, list->base_ns + step->gpu_start_ns));
    gt_cells_us(&c, ns_if(has_ops, step->gpu_end_ns - step->gpu_start_ns));
    gt_cells_us(&c, ns_if(has_ops, step->busy_ns));
    gt_cells_us(&c, ns_if(has_interval, step->gap_ns));
    gt_cells_us(&c, ns_if(has_interval, step->outside_ns));
    gt_cells_us(&c, ns_if(has_interval, step->overlap_ns));
    gt_cells_us(&c, ns_if(has_interval, step->interval_ns));
    gt_cells_count(&c, (int64_t)step->graph_launches);
    gt_cells_count(&c, (int64_t)step->op_count);
    gt_cells_count(&c, (int64_t)step->graph_ops);
    gt_cells_us(&c, (double)step->comm_ns);
}

gt_table *gt_serving_steps(const gt_step_list *list, const gt_event_view *trace)
{
    gt_table *table = gt_table_new(GT_SHEET_SERVING_STEPS, trace->strings);
    gt_table_add_columns(table, step_columns, GT_LENGTH(step_columns));
    for (size_t i = 0; i < list->count; i++) add_step(table, list, i);
    return table;
}

/* ---- serving_summary ---- */

static const gt_column_head summary_columns[] = {
    {GT_COL_PHASE, GT_TYPE_STRING},
    {GT_COL_STEPS, GT_TYPE_INT},
    {GT_COL_SERVING_TIME_MS, GT_TYPE_FLOAT},
    {GT_COL_SERVING_TIME_PCT, GT_TYPE_FLOAT},
    {GT_COL_INTERVAL_P50_US, GT_TYPE_FLOAT},
    {GT_COL_INTERVAL_P90_US, GT_TYPE_FLOAT},
    {GT_COL_INTERVAL_P99_US, GT_TYPE_FLOAT},
    {GT_COL_SPAN_P50_US, GT_TYPE_FLOAT},
    {GT_COL_BUSY_P50_US, GT_TYPE_FLOAT},
    {GT_COL_GAP_P50_US, GT_TYPE_FLOAT},
    {GT_COL_GAP_PCT, GT_TYPE_FLOAT},
    {GT_COL_IDLE_IN_STEP_PCT, GT_TYPE_FLOAT},
    {GT_COL_CONTEXT_TOKENS, GT_TYPE_INT},
    {GT_COL_GENERATION_TOKENS, GT_TYPE_INT},
    {GT_COL_OUTPUT_TOKENS, GT_TYPE_INT},
    {GT_COL_OUTPUT_IS, GT_TYPE_STRING},
    {GT_COL_CONTEXT_TOKENS_PER_S, GT_TYPE_FLOAT},
    {GT_COL_OUTPUT_TOKENS_PER_S, GT_TYPE_FLOAT},
    {GT_COL_TOKENS_PER_S_PER_REQUEST, GT_TYPE_FLOAT},
    {GT_COL_PADDING_PCT, GT_TYPE_FLOAT},
};

enum { ALL_PHASES = GT_SERVING_PHASES };

/* What a row sums up. */
typedef struct totals {
    double *intervals, *spans, *busy, *gaps; /* of its steps, ns */
    size_t steps, interval_count;
    double took_ns, gap_ns, span_ns, busy_ns;
    double context_tokens, generation_tokens, output_tokens;
    double real_rows, padded_rows; /* generation tokens, and padded, where both are known */
    bool verifies;
} totals;

static double known(int64_t number)
{
    return number > 0 ? (double)number : 0;
}

static void count_tokens(totals *t, const gt_listed_step *step)
{
    const gt_step_said *said = &step->said;
    bool verifies = step->phase == GT_SERVING_VERIFY;
    t->verifies |= verifies;
    t->context_tokens += known(said->context_tokens);
    if (step->phase != GT_SERVING_DRAFT) {
        t->generation_tokens += known(said->generation_tokens);
        t->output_tokens += known(verifies ? said->generation_requests : said->generation_tokens);
    }
    if (step->padded <= 0 || said->generation_tokens <= 0) return;
    t->real_rows += (double)said->generation_tokens;
    t->padded_rows += (double)step->padded;
}

static void add_to_totals(totals *t, const gt_listed_step *step)
{
    double span_ns = (double)(step->gpu_end_ns - step->gpu_start_ns);
    t->spans[t->steps] = span_ns;
    t->busy[t->steps++] = (double)step->busy_ns;
    if (step->has_interval) {
        t->intervals[t->interval_count] = (double)step->interval_ns;
        t->gaps[t->interval_count++] = (double)step->gap_ns;
    }
    t->took_ns += (double)gt_step_took_ns(step);
    t->gap_ns += (double)step->gap_ns;
    t->span_ns += span_ns;
    t->busy_ns += (double)step->busy_ns;
    count_tokens(t, step);
}

static void add_summary(gt_table *table, int phase, const totals *t, double window_ns)
{
    gt_cells c = gt_cells_of_new_row(table);
    bool generates = phase != ALL_PHASES && gt_phase_generates((gt_serving_phase)phase);
    gt_cells_text(&c, phase == ALL_PHASES ? "all" : gt_serving_phase_name((gt_serving_phase)phase));
    gt_cells_count(&c, (int64_t)t->steps);
    gt_cells_number(&c, t->took_ns / 1e6, 6);
    gt_cells_number(&c, 100 * gt_share_of(t->took_ns, window_ns), 4);
    gt_cells_us(&c, gt_quantile(t->intervals, t->interval_count, .5));
    gt_cells_us(&c, gt_quantile(t->intervals, t->interval_count, .9));
    gt_cells_us(&c, gt_quantile(t->intervals, t->interval_count, .99));
    gt_cells_us(&c, gt_quantile(t->spans, t->steps, .5));
    gt_cells_us(&c, gt_quantile(t->busy, t->steps, .5));
    gt_cells_us(&c, gt_quantile(t->gaps, t->interval_count, .5));
    gt_cells_number(&c, 100 * gt_share_of(t->gap_ns, t->took_ns), 4);
    gt_cells_number(&c, 100 * gt_share_of(t->span_ns - t->busy_ns, t->span_ns), 4);
    gt_cells_count(&c, (int64_t)t->context_tokens);
    gt_cells_count(&c, (int64_t)t->generation_tokens);
    gt_cells_count(&c, (int64_t)t->output_tokens);
    gt_cells_text(&c, t->verifies ? "at least" : "exact");
    gt_cells_number(&c, 1e9 * gt_share_of(t->context_tokens, window_ns), 3);
    gt_cells_number(&c, 1e9 * gt_share_of(t->output_tokens, window_ns), 3);
    gt_cells_number(&c, generates ? 1e9 * gt_share_of((double)t->steps, t->took_ns) : (double)NAN, 3);
    gt_cells_number(&c, 100 * (1 - gt_share_of(t->real_rows, t->padded_rows)), 3);
}

gt_table *gt_serving_summary(const gt_step_list *list, const gt_event_view *trace)
{
    gt_table *table = gt_table_new(GT_SHEET_SERVING_SUMMARY, trace->strings);
    gt_table_add_columns(table, summary_columns, GT_LENGTH(summary_columns));
    double window_ns = 0, *values = gt_alloc((4 * list->on_gpu_count + 1) * sizeof *values);
    for (size_t i = 0; i < list->on_gpu_count; i++)
        window_ns += (double)gt_step_took_ns(&list->steps[list->on_gpu[i]]);
    for (int phase = 0; phase <= ALL_PHASES; phase++) {
        size_t most = list->on_gpu_count;
        totals t = {.intervals = values,
                    .spans = values + most,
                    .busy = values + 2 * most,
                    .gaps = values + 3 * most};
        for (size_t i = 0; i < most; i++) {
            const gt_listed_step *step = &list->steps[list->on_gpu[i]];
            if (phase == ALL_PHASES || (int)step->phase == phase) add_to_totals(&t, step);
        }
        if (t.steps) add_summary(table, phase, &t, window_ns);
    }
    gt_free(values);
    return table;
}

bool gt_serving_phase_figures(const gt_table *summary, size_t row, gt_phase_figures *figures)
{
    enum { STEPS, TIME, MEDIAN, TOKENS, GAP, INSIDE, NUMBERS };
    static const gt_col columns[NUMBERS] = {
        [STEPS] = GT_COL_STEPS,
        [TIME] = GT_COL_SERVING_TIME_PCT,
        [MEDIAN] = GT_COL_INTERVAL_P50_US,
        [TOKENS] = GT_COL_OUTPUT_TOKENS_PER_S,
        [GAP] = GT_COL_GAP_PCT,
        [INSIDE] = GT_COL_IDLE_IN_STEP_PCT,
    };
    double n[NUMBERS];
    for (int i = 0; i < NUMBERS; i++) n[i] = gt_column_number(gt_table_column(summary, columns[i]), row);
    uint32_t name = gt_table_column_of(summary, GT_COL_PHASE, GT_TYPE_STRING)->texts[row];
    gt_str phase = gt_interner_get(summary->strings, name);
    bool verifies = gt_str_equals(phase, gt_serving_phase_name(GT_SERVING_VERIFY));
    *figures = (gt_phase_figures){phase,
                                  n[STEPS],
                                  n[TIME],
                                  n[MEDIAN] / 1e3,
                                  verifies || gt_str_equals(phase, gt_serving_phase_name(GT_SERVING_DECODE)),
                                  n[TOKENS],
                                  n[GAP],
                                  (100 - n[GAP]) * n[INSIDE] / 100};
    return !gt_str_equals(phase, "all") && !isnan(n[MEDIAN]);
}

/* ---- host_between_steps ---- */

static const gt_column_head between_columns[] = {
    {GT_COL_STEP, GT_TYPE_INT},         {GT_COL_PHASE, GT_TYPE_STRING},     {GT_COL_BEFORE, GT_TYPE_STRING},
    {GT_COL_GAP_US, GT_TYPE_FLOAT},     {GT_COL_OUTSIDE_US, GT_TYPE_FLOAT}, {GT_COL_FINISH_US, GT_TYPE_FLOAT},
    {GT_COL_BETWEEN_US, GT_TYPE_FLOAT}, {GT_COL_PREPARE_US, GT_TYPE_FLOAT}, {GT_COL_LAUNCH_US, GT_TYPE_FLOAT},
};

gt_host_parts gt_serving_host_parts(const gt_step_list *list, size_t i)
{
    const gt_listed_step *step = &list->steps[list->on_gpu[i]];
    gt_host_parts parts = {0};
    if (!i || step->gpu_start_ns <= step->before_ns) return parts;
    const gt_listed_op *first = &list->ops[list->of_steps[step->first_op]];
    const int64_t marks[] = {list->steps[list->on_gpu[i - 1]].host_end_ns, step->host_start_ns,
                             first->call == GT_NO_EVENT ? step->gpu_start_ns : first->call_ns,
                             step->gpu_start_ns};
    int64_t *lengths[] = {&parts.finish_ns, &parts.between_ns, &parts.prepare_ns, &parts.launch_ns};
    int64_t at_ns = step->before_ns;
    for (size_t k = 0; k < GT_LENGTH(marks); k++) {
        int64_t mark_ns = marks[k] < step->gpu_start_ns ? marks[k] : step->gpu_start_ns;
        if (mark_ns <= at_ns) continue;
        *lengths[k] = mark_ns - at_ns;
        at_ns = mark_ns;
    }
    return parts;
}

gt_table *gt_serving_host_between(const gt_step_list *list, const gt_event_view *trace)
{
    gt_table *table = gt_table_new(GT_SHEET_HOST_BETWEEN_STEPS, trace->strings);
    gt_table_add_columns(table, between_columns, GT_LENGTH(between_columns));
    for (size_t i = 1; i < list->on_gpu_count; i++) {
        const gt_listed_step *step = &list->steps[list->on_gpu[i]];
        if (step->gpu_start_ns <= step->before_ns) continue;
        gt_host_parts parts = gt_serving_host_parts(list, i);
        gt_cells c = gt_cells_of_new_row(table);
        gt_cells_count(&c, (int64_t)list->on_gpu[i]);
        gt_cells_text(&c, gt_serving_phase_name(step->phase));
        gt_cells_text(&c, gt_serving_phase_name(list->steps[list->on_gpu[i - 1]].phase));
        gt_cells_us(&c, (double)step->gap_ns);
        gt_cells_us(&c, (double)step->outside_ns);
        gt_cells_us(&c, (double)parts.finish_ns);
        gt_cells_us(&c, (double)parts.between_ns);
        gt_cells_us(&c, (double)parts.prepare_ns);
        gt_cells_us(&c, (double)parts.launch_ns);
    }
    return table;
}

/* ---- all sheets ---- */

bool gt_serving_has_sheets(const gt_step_list *list)
{
    return gt_step_list_serves(list) || list->graph_launches;
}

void gt_serving_add_sheets(const gt_step_list *list, const gt_event_view *trace, gt_table_list *tables)
{
    gt_table *(*const sheets[])(const gt_step_list *, const gt_event_view *) = {
        gt_serving_steps,       gt_serving_summary,        gt_serving_host_between,
        gt_serving_decode_cost, gt_serving_kernel_classes, gt_serving_graph_replays,
    };
    if (!gt_serving_has_sheets(list)) return;
    for (size_t i = 0; i < GT_LENGTH(sheets); i++) {
        gt_table *table = sheets[i](list, trace);
        if (table->row_count)
            gt_table_list_add(tables, table);
        else
            gt_table_free(table);
    }
}
