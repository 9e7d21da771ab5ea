/* Metrics in the text format of Prometheus, of which histograms of times are read:
 *
 *     vllm:time_to_first_token_seconds_bucket{engine="0",le="0.02",model_name="m"} 3.0
 *     vllm:time_to_first_token_seconds_sum{engine="0",model_name="m"} 0.61
 *
 * Buckets are cumulative. Those of several engines and models are added up. Quantiles are interpolated in
 * their bucket, as Prometheus does; in the last one, which has no end, they are unknown. All numbers count
 * from the start of the server. */
#include "input/server/server.h"
#include "json/number.h"

enum {
    BUCKETS_MAX = 1024,                    /* servers have about 20 */
    OLDER_INTER_TOKEN = GT_SERVER_METRICS, /* of older versions; not used if there is the newer one */
    HISTOGRAMS
};

typedef struct bucket {
    double upper_s, count;
} bucket;

typedef struct histogram {
    bucket *buckets;
    size_t count, capacity;
    double sum_s, total; /* 0: nothing was observed */
} histogram;

typedef struct metrics {
    histogram histograms[HISTOGRAMS];
    double requests, input_tokens, output_tokens;
    bool any; /* a line that is used */
} metrics;

/* The older time per output token is measured between answers; vLLM's newer one is per request. */
static const struct {
    const char *name;
    int histogram;
} families[] = {
    {"time_to_first_token_seconds", GT_SERVER_FIRST_TOKEN},
    {"request_time_per_output_token_seconds", GT_SERVER_PER_OUTPUT_TOKEN},
    {"inter_token_latency_seconds", GT_SERVER_INTER_TOKEN},
    {"time_per_output_token_seconds", OLDER_INTER_TOKEN},
    {"e2e_request_latency_seconds", GT_SERVER_END_TO_END},
    {"request_queue_time_seconds", GT_SERVER_QUEUE},
    {"queue_time_seconds", GT_SERVER_QUEUE},
};

static gt_str without_first(gt_str text, size_t len)
{
    return (gt_str){text.bytes + len, text.len - len};
}

/* One line, as parts of it. */
typedef struct sample {
    gt_str name, upper; /* upper: the label "le", empty if there is none */
    double value;
} sample;

/* The end of a label's value that begins after its quote. */
static size_t quoted_length(gt_str text)
{
    size_t len = 0;
    while (len < text.len && text.bytes[len] != '"') len += text.bytes[len] == '\\' ? 2 : 1;
    return len < text.len ? len : text.len;
}

/* Takes the labels up to the closing brace from the text. */
static bool take_labels(gt_str *text, sample *s)
{
    while (text->len && *text->bytes != '}') {
        const char *quote = memchr(text->bytes, '"', text->len);
        if (!quote) return false;
        gt_str label = {text->bytes, (size_t)(quote - text->bytes)};
        while (label.len && (*label.bytes == ',' || *label.bytes == ' ')) label = without_first(label, 1);
        *text = without_first(*text, (size_t)(quote - text->bytes) + 1);
        size_t len = quoted_length(*text);
        if (gt_str_equals(label, "le=")) s->upper = (gt_str){text->bytes, len};
        if (len == text->len) return false;
        *text = without_first(*text, len + 1);
    }
    if (!text->len) return false;
    *text = without_first(*text, 1);
    return true;
}

static bool parse_number(gt_str word, double *value)
{
    gt_json_number number = {0};
    bool is_infinite = gt_str_equals(word, "+Inf");
    if (!is_infinite && !gt_json_parse_number(word, &number)) return false;
    *value = is_infinite ? (double)INFINITY : number.real;
    return true;
}

/* False for lines without a value, such as comments. */
static bool parse_line(gt_str line, sample *s)
{
    size_t len = 0;
    *s = (sample){0};
    while (len < line.len && line.bytes[len] != '{' && line.bytes[len] != ' ') len++;
    if (!len || *line.bytes == '#') return false;
    s->name = (gt_str){line.bytes, len};
    line = without_first(line, len);
    if (line.len && *line.bytes == '{') {
        line = without_first(line, 1);
        if (!take_labels(&line, s)) return false;
    }
    while (line.len && *line.bytes == ' ') line = without_first(line, 1);
    for (len = 0; len < line.len && (unsigned char)line.bytes[len] > ' ';) len++;
    return parse_number((gt_str){line.bytes, len}, &s->value) && s->value >= 0 && isfinite(s->value);
}

static void add_bucket(histogram *h, const sample *s)
{
    double upper_s;
    if (!s->upper.len || !parse_number(s->upper, &upper_s) || isnan(upper_s)) return;
    for (size_t i = 0; i < h->count; i++)
        if (h->buckets[i].upper_s == upper_s) {
            h->buckets[i].count += s->value;
            return;
        }
    if (h->count < BUCKETS_MAX) GT_PUSH(h->buckets, h->count, h->capacity, ((bucket){upper_s, s->value}));
}

/* Whether the name is that of the family with this ending, "_sum" for example. */
static bool is_of(gt_str name, const char *family, const char *ending)
{
    size_t len = strlen(family);
    return gt_str_starts_with(name, family) && gt_str_equals(without_first(name, len), ending);
}

static bool add_to_histogram(histogram *h, const char *family, gt_str name, const sample *s)
{
    if (is_of(name, family, "_bucket"))
        add_bucket(h, s);
    else if (is_of(name, family, "_sum"))
        h->sum_s += s->value;
    else if (is_of(name, family, "_count"))
        h->total += s->value;
    else
        return false;
    return true;
}

static void add_sample(metrics *m, const sample *s)
{
    bool is_vllm = gt_str_starts_with(s->name, "vllm:"), is_sglang = gt_str_starts_with(s->name, "sglang:");
    if (!is_vllm && !is_sglang) return;
    gt_str name = without_first(s->name, strlen(is_vllm ? "vllm:" : "sglang:"));
    for (size_t i = 0; i < GT_LENGTH(families); i++)
        m->any |= add_to_histogram(&m->histograms[families[i].histogram], families[i].name, name, s);
    if (gt_str_equals(name, "request_success_total") || gt_str_equals(name, "num_requests_total"))
        m->requests += s->value;
    if (gt_str_equals(name, "prompt_tokens_total")) m->input_tokens += s->value;
    if (gt_str_equals(name, "generation_tokens_total")) m->output_tokens += s->value;
}

static int by_upper(const void *a, const void *b)
{
    double x = ((const bucket *)a)->upper_s, y = ((const bucket *)b)->upper_s;
    return (x > y) - (x < y);
}

static double quantile_ms(const histogram *h, double q)
{
    double rank = q * h->total, lower_s = 0, below = 0;
    for (size_t i = 0; i < h->count; i++) {
        const bucket *b = &h->buckets[i];
        if (b->count >= rank && b->count > below)
            return isinf(b->upper_s)
                       ? (double)NAN
                       : 1000 * (lower_s + (b->upper_s - lower_s) * (rank - below) / (b->count - below));
        lower_s = b->upper_s;
        below = b->count;
    }
    return NAN;
}

static gt_server_times times_of(const histogram *h)
{
    if (h->count) qsort(h->buckets, h->count, sizeof *h->buckets, by_upper);
    if (!(h->total > 0)) return gt_server_run_unknown().times[0];
    return (gt_server_times){h->total, 1000 * h->sum_s / h->total, quantile_ms(h, .5), quantile_ms(h, .9),
                             quantile_ms(h, .99)};
}

static bool summarize(metrics *m, const char *path, gt_server_run *run, gt_error *error)
{
    bool any = false;
    *run = gt_server_run_unknown();
    if (!(m->histograms[GT_SERVER_INTER_TOKEN].total > 0)) {
        histogram older = m->histograms[OLDER_INTER_TOKEN];
        m->histograms[OLDER_INTER_TOKEN] = m->histograms[GT_SERVER_INTER_TOKEN];
        m->histograms[GT_SERVER_INTER_TOKEN] = older;
    }
    for (int i = 0; i < GT_SERVER_METRICS; i++) {
        run->times[i] = times_of(&m->histograms[i]);
        any |= i != GT_SERVER_QUEUE && !isnan(run->times[i].mean_ms);
    }
    run->times[GT_SERVER_INTER_TOKEN].requests = NAN; /* it counts tokens */
    if (m->requests > 0) run->requests = m->requests;
    if (m->input_tokens > 0) run->input_tokens = m->input_tokens;
    if (m->output_tokens > 0) run->output_tokens = m->output_tokens;
    if (any) return true;
    return m->any ? gt_fail(error, "%s: no request was completed", path)
                  : gt_fail(error,
                            "%s: neither a benchmark result in JSON nor metrics of vLLM or SGLang (no "
                            "vllm:time_to_first_token_seconds or the like)",
                            path);
}

bool gt_server_metrics_read(gt_stream *stream, gt_server_run *run, gt_error *error)
{
    gt_buffer text = {0};
    metrics m = {0};
    bool read = gt_stream_read_all(stream, &text, error);
    if (read && gt_stream_damage(stream))
        read = gt_fail(error, "%s: %s", gt_stream_path(stream), gt_stream_damage(stream));
    for (gt_str rest = gt_buffer_str(&text); read && rest.len;) {
        const char *end = memchr(rest.bytes, '\n', rest.len);
        gt_str line = {rest.bytes, end ? (size_t)(end - rest.bytes) : rest.len};
        sample s;
        if (parse_line(line, &s)) add_sample(&m, &s);
        rest = without_first(rest, line.len + (end != NULL));
    }
    bool made = read && summarize(&m, gt_stream_path(stream), run, error);
    for (int i = 0; i < HISTOGRAMS; i++) gt_free(m.histograms[i].buckets);
    gt_buffer_free(&text);
    return made;
}

/* ---- either form ---- */

gt_server_run gt_server_run_unknown(void)
{
    static const gt_server_times unknown = {NAN, NAN, NAN, NAN, NAN};
    gt_server_run run = {.requests = NAN,
                         .input_tokens = NAN,
                         .output_tokens = NAN,
                         .duration_s = NAN,
                         .concurrency = NAN,
                         .accept_length = NAN};
    for (int i = 0; i < GT_SERVER_METRICS; i++) run.times[i] = unknown;
    return run;
}

bool gt_server_run_read(gt_stream *stream, gt_server_run *run, gt_error *error)
{
    const uint8_t *text;
    size_t len, at = 0;
    if (!gt_stream_peek(stream, &text, &len, error)) return false;
    while (at < len && text[at] <= ' ') at++;
    if (at == len) return gt_fail(error, "%s: empty file", gt_stream_path(stream));
    return text[at] == '{' ? gt_server_bench_read(stream, run, error)
                           : gt_server_metrics_read(stream, run, error);
}
