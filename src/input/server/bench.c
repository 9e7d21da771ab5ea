/* Results of benchmark clients: one JSON object per run. vLLM writes one (with --append-result one per line),
 * SGLang appends one line per run. Numbers are members of the object; lists per request, texts and settings
 * are skipped. */
#include "input/server/server.h"
#include "json/reader.h"

#define AT(field) offsetof(gt_server_run, field)
#define TIMES(metric, name)                                                                                  \
    {"mean_" name "_ms", AT(times[metric].mean_ms)}, {"median_" name "_ms", AT(times[metric].p50_ms)},       \
        {"p90_" name "_ms", AT(times[metric].p90_ms)},                                                       \
    {                                                                                                        \
        "p99_" name "_ms", AT(times[metric].p99_ms)                                                          \
    }

static const struct {
    const char *name;
    size_t at;
} members[] = {
    TIMES(GT_SERVER_FIRST_TOKEN, "ttft"),
    TIMES(GT_SERVER_PER_OUTPUT_TOKEN, "tpot"),
    TIMES(GT_SERVER_INTER_TOKEN, "itl"),
    TIMES(GT_SERVER_END_TO_END, "e2el"),        /* vLLM */
    TIMES(GT_SERVER_END_TO_END, "e2e_latency"), /* SGLang */
    {"completed", AT(requests)},
    {"total_input_tokens", AT(input_tokens)},
    {"total_output_tokens", AT(output_tokens)},
    {"duration", AT(duration_s)},
    {"concurrency", AT(concurrency)},                     /* SGLang */
    {"accept_length", AT(accept_length)},                 /* SGLang */
    {"spec_decode_acceptance_length", AT(accept_length)}, /* vLLM */
};

static double *find_member(gt_server_run *run, gt_str key)
{
    for (size_t i = 0; i < GT_LENGTH(members); i++)
        if (gt_str_equals(key, members[i].name)) return (double *)(void *)((char *)run + members[i].at);
    return NULL;
}

static bool read_member(gt_json *json, gt_str key, gt_server_run *run)
{
    gt_json_number number;
    double *member = find_member(run, key); /* the key is valid only until the value is read */
    if (!member || gt_json_peek(json) != GT_JSON_NUMBER) return gt_json_skip(json);
    if (!gt_json_read_number(json, &number)) return false;
    if (isfinite(number.real) && number.real >= 0) *member = number.real;
    return true;
}

static bool read_run(gt_json *json, gt_server_run *run)
{
    gt_str key;
    *run = gt_server_run_unknown();
    if (!gt_json_enter_object(json)) return false;
    while (gt_json_next_key(json, &key))
        if (!read_member(json, key, run)) return false;
    return !json->failed;
}

/* Whether another object follows, after white space. */
static bool has_more(gt_json *json)
{
    do {
        while (json->at < json->end && (*json->at == ' ' || (*json->at >= '\t' && *json->at <= '\r')))
            json->at++;
        if (json->at < json->end) return true;
    } while (gt_json_more(json));
    return false;
}

/* Little's law, where the client does not say it itself. */
static double concurrency_of(const gt_server_run *run)
{
    const gt_server_times *times = run->times;
    double latency_ms = times[GT_SERVER_END_TO_END].mean_ms;
    if (!isnan(run->concurrency)) return run->concurrency;
    if (isnan(latency_ms))
        latency_ms = times[GT_SERVER_FIRST_TOKEN].mean_ms +
                     times[GT_SERVER_PER_OUTPUT_TOKEN].mean_ms * (run->output_tokens / run->requests - 1);
    return run->duration_s > 0 ? run->requests * latency_ms / 1000 / run->duration_s : (double)NAN;
}

static bool check_run(gt_server_run *run, const char *path, gt_error *error)
{
    bool any = false;
    for (int i = 0; i < GT_SERVER_METRICS; i++) any |= !isnan(run->times[i].mean_ms);
    if (!any)
        return gt_fail(error,
                       "%s: not a result of `vllm bench serve` or SGLang's bench_serving (no mean_ttft_ms, "
                       "mean_tpot_ms or mean_itl_ms)",
                       path);
    if (run->requests <= 0) return gt_fail(error, "%s: no request was completed", path);
    for (int i = 0; i < GT_SERVER_METRICS; i++) run->times[i].requests = run->requests;
    run->times[GT_SERVER_INTER_TOKEN].requests = NAN; /* it counts tokens */
    run->concurrency = concurrency_of(run);
    return true;
}

bool gt_server_bench_read(gt_stream *stream, gt_server_run *run, gt_error *error)
{
    const char *path = gt_stream_path(stream);
    gt_json json;
    size_t count = 0;
    gt_json_begin(&json, stream, 0);
    while (has_more(&json) && read_run(&json, run)) count++;
    if (json.failed) return gt_fail(error, "%s: %s", path, json.error.text);
    if (gt_stream_damage(stream)) return gt_fail(error, "%s: %s", path, gt_stream_damage(stream));
    if (count > 1) gt_info("%s has %zu results; the last one counts", path, count);
    return check_run(run, path, error);
}
