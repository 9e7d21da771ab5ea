/* What clients or the server measured of requests, next to the same times of the trace's steps.
 *
 * serving_requests, one row per latency that the file has:
 *
 *     file
 *     latency                      time_to_first_token, time_per_output_token, inter_token_latency,
 * end_to_end, queue requests, input_tokens, output_tokens mean_ms, p50_ms, p90_ms, p99_ms trace_mean_ms,
 * trace_p50_ms, trace_p90_ms, trace_p99_ms    see below unexplained_ms, unexplained_pct mean_ms -
 * trace_mean_ms; / mean_ms
 *
 * serving_request_parts, one row per part of the first token's time and of that of a further token:
 *
 *     file, latency, part, ms, pct (of mean_ms), text
 *
 * Their sum is mean_ms: the last part, not_in_trace, is what the trace does not explain, and may be negative.
 *
 * A request gets a token at the end of each step that generates for it. So the time between two tokens is
 * that between the ends of two such steps, or, for a request's second token, from the end of the step of its
 * prompt. It consists of all that the GPU did and waited for in between:
 *
 *     |decode|gap|decode|gap|prefill of others|gap|decode|
 *            |<---1---->|<-----------2------------------>|
 *
 * The mean is taken over tokens: a step with 8 requests counts eight times. A mixed step is decode as long as
 * the median decode step, and prefill for the rest. */
#include "analysis/serving/cells.h"
#include "analysis/serving/sheets.h"
#include "os/paths.h"
#include "schema/columns.h"
#include "table/stats.h"

typedef enum part {
    QUEUE,
    RUNNING_STEP,
    GPU,
    IDLE_IN_STEP,
    HOST_BETWEEN,
    PREFILL,
    DRAFT,
    OUTSIDE,
    PARTS
} part;

static const struct {
    const char *name, *text;
} parts[] = {
    [QUEUE] = {"queue", "the server's own time in its queue"},
    [RUNNING_STEP] = {"running_step",
                      "estimate: what is left of a step when a request arrives at any moment"},
    [GPU] = {"gpu", "kernels of the steps that make the token"},
    [IDLE_IN_STEP] = {"idle_in_step", "the GPU waits within these steps"},
    [HOST_BETWEEN] = {"host_between_steps", "the GPU waits before these steps: see host_between_steps"},
    [PREFILL] = {"prefill", "prompts of other requests: their steps, and what they add to mixed steps"},
    [DRAFT] = {"draft", "steps of the drafting model"},
    [OUTSIDE] = {"outside", "GPU work of no step, and other steps"},
};

/* Tokens that waited for the same time. */
typedef struct sample {
    double ns, tokens;
} sample;

/* Means per token or request. NaN if the trace has none. */
typedef struct explained {
    double ns[PARTS];
    double total_ns;
    double p50_ns, p90_ns, p99_ns;
} explained;

/* ---- between tokens ---- */

typedef struct passed {
    double ns[PARTS];
} passed;

/* Requests whose prompts have ended since the last step that generated. */
typedef struct group {
    double requests;
    passed since;
} group;

typedef struct walk {
    passed now, last; /* sums over all steps up to now, and up to the last step that generated */
    bool has_last;
    double median_decode_ns;
    group *groups;
    size_t group_count, group_capacity;
    sample *samples;
    size_t sample_count, sample_capacity;
    double sums[PARTS], tokens;
} walk;

static double at_least_one(int64_t requests)
{
    return requests > 0 ? (double)requests : 1;
}

static bool generates(const gt_listed_step *step)
{
    return gt_phase_generates(step->phase) || step->phase == GT_SERVING_MIXED;
}

/* The parts of a step's own time; their sum is that time. */
static passed parts_of(const gt_listed_step *step)
{
    passed p = {0};
    double took_ns = (double)gt_step_took_ns(step);
    double idle_ns = (double)(step->gpu_end_ns - step->gpu_start_ns - step->busy_ns);
    p.ns[HOST_BETWEEN] = (double)step->gap_ns;
    p.ns[OUTSIDE] = (double)step->outside_ns;
    double rest_ns = took_ns - p.ns[HOST_BETWEEN] - p.ns[OUTSIDE];
    p.ns[IDLE_IN_STEP] = idle_ns < rest_ns ? idle_ns : rest_ns;
    p.ns[GPU] = rest_ns - p.ns[IDLE_IN_STEP];
    return p;
}

/* Adds a step's time as parts of the time between tokens. */
static void pass(walk *w, const gt_listed_step *step)
{
    double took_ns = (double)gt_step_took_ns(step), own = 1;
    if (!generates(step)) {
        part where = step->phase == GT_SERVING_PREFILL ? PREFILL
                     : step->phase == GT_SERVING_DRAFT ? DRAFT
                                                       : OUTSIDE;
        w->now.ns[where] += took_ns;
        return;
    }
    if (step->phase == GT_SERVING_MIXED && took_ns > w->median_decode_ns) own = w->median_decode_ns / took_ns;
    passed p = parts_of(step);
    for (int i = 0; i < PARTS; i++) w->now.ns[i] += own * p.ns[i];
    w->now.ns[PREFILL] += (1 - own) * took_ns;
}

static void add_tokens(walk *w, double tokens, const passed *since)
{
    sample s = {.tokens = tokens};
    if (tokens <= 0) return;
    for (int i = 0; i < PARTS; i++) {
        double ns = w->now.ns[i] - since->ns[i];
        w->sums[i] += tokens * ns;
        s.ns += ns;
    }
    w->tokens += tokens;
    GT_PUSH(w->samples, w->sample_count, w->sample_capacity, s);
}

/* The requests whose prompts ended last are among those of the step; the others were there before. */
static void generate(walk *w, double requests)
{
    while (w->group_count) {
        const group *newest = &w->groups[--w->group_count];
        double tokens = newest->requests < requests ? newest->requests : requests;
        add_tokens(w, tokens, &newest->since);
        requests -= tokens;
    }
    if (w->has_last) add_tokens(w, requests, &w->last);
    w->last = w->now;
    w->has_last = true;
}

static double median_decode_ns(const gt_step_list *list)
{
    double *values = gt_alloc((list->on_gpu_count + 1) * sizeof *values);
    size_t count = 0;
    for (size_t i = 0; i < list->on_gpu_count; i++) {
        const gt_listed_step *step = &list->steps[list->on_gpu[i]];
        if (step->has_interval && gt_phase_generates(step->phase))
            values[count++] = (double)step->interval_ns;
    }
    double median = count ? gt_median(values, count) : (double)INFINITY;
    gt_free(values);
    return median;
}

static int by_time(const void *a, const void *b)
{
    double x = ((const sample *)a)->ns, y = ((const sample *)b)->ns;
    return (x > y) - (x < y);
}

/* The shortest time that this share of the tokens did not exceed. */
static double quantile_ns(const walk *w, double q)
{
    double tokens = 0;
    for (size_t i = 0; i < w->sample_count; i++)
        if ((tokens += w->samples[i].tokens) >= q * w->tokens) return w->samples[i].ns;
    return NAN;
}

static explained unknown_times(void)
{
    return (explained){.total_ns = NAN, .p50_ns = NAN, .p90_ns = NAN, .p99_ns = NAN};
}

static explained explain_tokens(const gt_step_list *list)
{
    walk w = {.median_decode_ns = median_decode_ns(list)};
    explained e = unknown_times();
    for (size_t i = 0; i < list->on_gpu_count; i++) {
        const gt_listed_step *step = &list->steps[list->on_gpu[i]];
        pass(&w, step);
        if (generates(step)) {
            generate(&w, at_least_one(step->said.generation_requests));
        } else if (step->phase == GT_SERVING_PREFILL) {
            group ended = {at_least_one(step->said.context_requests), w.now};
            GT_PUSH(w.groups, w.group_count, w.group_capacity, ended);
        }
    }
    if (w.sample_count) {
        qsort(w.samples, w.sample_count, sizeof *w.samples, by_time);
        e = (explained){
            .p50_ns = quantile_ns(&w, .5), .p90_ns = quantile_ns(&w, .9), .p99_ns = quantile_ns(&w, .99)};
        for (int i = 0; i < PARTS; i++) e.total_ns += e.ns[i] = w.sums[i] / w.tokens;
    }
    gt_free_all(w.groups, w.samples);
    return e;
}

/* With speculative decoding a step makes several tokens per request: so many, at least the one that the model
 * itself made. */
static void divide(explained *e, double tokens)
{
    if (!(tokens >= 1)) tokens = NAN;
    double *const times[] = {&e->total_ns, &e->p50_ns, &e->p90_ns, &e->p99_ns};
    for (int i = 0; i < PARTS; i++) e->ns[i] /= tokens;
    for (size_t i = 0; i < GT_LENGTH(times); i++) *times[i] /= tokens;
}

/* ---- the first token ---- */

/* Of a request that comes at any moment: the mean of what is left of the step that runs then. */
static double rest_of_step_ns(const gt_step_list *list)
{
    double sum = 0, squares = 0;
    for (size_t i = 0; i < list->on_gpu_count; i++) {
        double took_ns = (double)gt_step_took_ns(&list->steps[list->on_gpu[i]]);
        sum += took_ns;
        squares += took_ns * took_ns;
    }
    return sum > 0 ? squares / sum / 2 : 0;
}

static explained explain_first_token(const gt_step_list *list, double queue_ms)
{
    explained e = unknown_times();
    double requests = 0, sums[PARTS] = {0};
    for (size_t i = 0; i < list->on_gpu_count; i++) {
        const gt_listed_step *step = &list->steps[list->on_gpu[i]];
        if (step->phase != GT_SERVING_PREFILL && step->phase != GT_SERVING_MIXED) continue;
        passed p = parts_of(step);
        double prompts = at_least_one(step->said.context_requests);
        for (int k = 0; k < PARTS; k++) sums[k] += prompts * p.ns[k];
        requests += prompts;
    }
    if (!(requests > 0)) return e;
    for (int k = 0; k < PARTS; k++) e.ns[k] = sums[k] / requests;
    if (isnan(queue_ms))
        e.ns[RUNNING_STEP] = rest_of_step_ns(list);
    else
        e.ns[QUEUE] = 1e6 * queue_ms;
    e.total_ns = 0;
    for (int k = 0; k < PARTS; k++) e.total_ns += e.ns[k];
    return e;
}

/* ---- the sheets ---- */

static const char *const latencies[] = {
    [GT_SERVER_FIRST_TOKEN] = "time_to_first_token",
    [GT_SERVER_PER_OUTPUT_TOKEN] = "time_per_output_token",
    [GT_SERVER_INTER_TOKEN] = "inter_token_latency",
    [GT_SERVER_END_TO_END] = "end_to_end",
    [GT_SERVER_QUEUE] = "queue",
};

typedef struct comparison {
    const char *file;
    const gt_server_run *run;
    explained trace[GT_SERVER_METRICS];
    double requests_per_step; /* of the trace; NaN: unknown */
} comparison;

static int64_t count_of(double number)
{
    return number >= 0 && number < 0x1p62 ? (int64_t)number : -1;
}

static void add_latency(gt_table *table, const comparison *c, int metric)
{
    const gt_server_times *times = &c->run->times[metric];
    const explained *trace = &c->trace[metric];
    gt_cells row = gt_cells_of_new_row(table);
    double trace_ms = trace->total_ns / 1e6;
    gt_cells_text(&row, c->file);
    gt_cells_text(&row, latencies[metric]);
    gt_cells_count(&row, count_of(times->requests));
    gt_cells_count(&row, count_of(c->run->input_tokens));
    gt_cells_count(&row, count_of(c->run->output_tokens));
    const double cells_ms[] = {times->mean_ms,
                               times->p50_ms,
                               times->p90_ms,
                               times->p99_ms,
                               trace_ms,
                               trace->p50_ns / 1e6,
                               trace->p90_ns / 1e6,
                               trace->p99_ns / 1e6,
                               times->mean_ms - trace_ms};
    for (size_t i = 0; i < GT_LENGTH(cells_ms); i++) gt_cells_number(&row, cells_ms[i], 6);
    gt_cells_number(&row, 100 * gt_share_of(times->mean_ms - trace_ms, times->mean_ms), 4);
}

static gt_table *requests_table(const comparison *c, gt_interner *strings)
{
    static const gt_column_head columns[] = {
        {GT_COL_FILE, GT_TYPE_STRING},           {GT_COL_LATENCY, GT_TYPE_STRING},
        {GT_COL_REQUESTS, GT_TYPE_INT},          {GT_COL_INPUT_TOKENS, GT_TYPE_INT},
        {GT_COL_OUTPUT_TOKENS, GT_TYPE_INT},     {GT_COL_MEAN_MS, GT_TYPE_FLOAT},
        {GT_COL_P50_MS, GT_TYPE_FLOAT},          {GT_COL_P90_MS, GT_TYPE_FLOAT},
        {GT_COL_P99_MS, GT_TYPE_FLOAT},          {GT_COL_TRACE_MEAN_MS, GT_TYPE_FLOAT},
        {GT_COL_TRACE_P50_MS, GT_TYPE_FLOAT},    {GT_COL_TRACE_P90_MS, GT_TYPE_FLOAT},
        {GT_COL_TRACE_P99_MS, GT_TYPE_FLOAT},    {GT_COL_UNEXPLAINED_MS, GT_TYPE_FLOAT},
        {GT_COL_UNEXPLAINED_PCT, GT_TYPE_FLOAT},
    };
    gt_table *table = gt_table_new(GT_SHEET_SERVING_REQUESTS, strings);
    gt_table_add_columns(table, columns, GT_LENGTH(columns));
    for (int i = 0; i < GT_SERVER_METRICS; i++)
        if (!isnan(c->run->times[i].mean_ms)) add_latency(table, c, i);
    return table;
}

static void add_part(gt_table *table, const comparison *c, int metric, const char *name, double ms,
                     const char *text)
{
    gt_cells row = gt_cells_of_new_row(table);
    gt_cells_text(&row, c->file);
    gt_cells_text(&row, latencies[metric]);
    gt_cells_text(&row, name);
    gt_cells_number(&row, ms, 6);
    gt_cells_number(&row, 100 * gt_share_of(ms, c->run->times[metric].mean_ms), 4);
    gt_cells_text(&row, text);
}

/* Why the trace may differ from what clients saw. */
static void describe_rest(const comparison *c, int metric, double ms, char *text, size_t size)
{
    static const double similar = 1.25;
    double had = c->run->concurrency, has = c->requests_per_step;
    int len =
        snprintf(text, size, "%s",
                 ms < 0 ? "the trace is slower than the server was: the profiler's own time, or another load"
                 : metric == GT_SERVER_FIRST_TOKEN
                     ? "waiting for earlier requests, further chunks of the prompt, front end and network"
                     : "front end, detokenising, network, or another load than in the trace");
    if (had > similar * has || has > similar * had)
        snprintf(text + len, size - (size_t)len,
                 "; the server had %.1f requests at a time, the trace's steps generate for %.1f", had, has);
}

static void add_parts(gt_table *table, const comparison *c, int metric)
{
    const explained *trace = &c->trace[metric];
    double rest_ms = c->run->times[metric].mean_ms - trace->total_ns / 1e6;
    char text[240];
    if (isnan(rest_ms)) return;
    for (int i = 0; i < PARTS; i++)
        if (trace->ns[i] > 0) add_part(table, c, metric, parts[i].name, trace->ns[i] / 1e6, parts[i].text);
    describe_rest(c, metric, rest_ms, text, sizeof text);
    add_part(table, c, metric, "not_in_trace", rest_ms, text);
}

static gt_table *parts_table(const comparison *c, gt_interner *strings)
{
    static const gt_column_head columns[] = {
        {GT_COL_FILE, GT_TYPE_STRING}, {GT_COL_LATENCY, GT_TYPE_STRING}, {GT_COL_PART, GT_TYPE_STRING},
        {GT_COL_MS, GT_TYPE_FLOAT},    {GT_COL_PCT, GT_TYPE_FLOAT},      {GT_COL_TEXT, GT_TYPE_STRING},
    };
    gt_table *table = gt_table_new(GT_SHEET_SERVING_REQUEST_PARTS, strings);
    gt_table_add_columns(table, columns, GT_LENGTH(columns));
    bool per_token = !isnan(c->run->times[GT_SERVER_PER_OUTPUT_TOKEN].mean_ms -
                            c->trace[GT_SERVER_PER_OUTPUT_TOKEN].total_ns);
    add_parts(table, c, GT_SERVER_FIRST_TOKEN);
    add_parts(table, c, per_token ? GT_SERVER_PER_OUTPUT_TOKEN : GT_SERVER_INTER_TOKEN);
    return table;
}

static double requests_per_step(const gt_step_list *list)
{
    double steps = 0, requests = 0;
    for (size_t i = 0; i < list->on_gpu_count; i++) {
        const gt_listed_step *step = &list->steps[list->on_gpu[i]];
        if (!generates(step) || step->said.generation_requests <= 0) continue;
        steps++;
        requests += (double)step->said.generation_requests;
    }
    return gt_share_of(requests, steps);
}

void gt_serving_add_requests(const gt_step_list *list, const gt_event_view *trace, const gt_server_run *run,
                             const char *file, gt_table_list *tables)
{
    comparison c = {.file = gt_path_name(file), .run = run, .requests_per_step = requests_per_step(list)};
    bool drafts = list->of_phase[GT_SERVING_VERIFY] > 0;
    for (int i = 0; i < GT_SERVER_METRICS; i++) c.trace[i] = unknown_times();
    if (gt_step_list_serves(list) && !list->is_capture) {
        c.trace[GT_SERVER_FIRST_TOKEN] = explain_first_token(list, run->times[GT_SERVER_QUEUE].mean_ms);
        c.trace[GT_SERVER_INTER_TOKEN] = explain_tokens(list);
        c.trace[GT_SERVER_PER_OUTPUT_TOKEN] = c.trace[GT_SERVER_INTER_TOKEN];
        if (drafts) divide(&c.trace[GT_SERVER_PER_OUTPUT_TOKEN], run->accept_length);
    }
    gt_table *const made[] = {requests_table(&c, trace->strings), parts_table(&c, trace->strings)};
    for (size_t i = 0; i < GT_LENGTH(made); i++)
        if (made[i]->row_count)
            gt_table_list_add(tables, made[i]);
        else
            gt_table_free(made[i]);
}
