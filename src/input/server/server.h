/* Reads what a server measured of its requests: times to the first token, per output token, ... as the client
 * sees them. Two forms are known by their contents:
 *
 *     bench.c      the JSON of `vllm bench serve --save-result`, and the JSON lines of SGLang's bench_serving
 *     metrics.c    the text of /metrics: histograms of vLLM and SGLang in the format of Prometheus */
#pragma once

#include "stream/stream.h"

typedef enum gt_server_metric {
    GT_SERVER_FIRST_TOKEN,      /* from sending a request to its first token */
    GT_SERVER_PER_OUTPUT_TOKEN, /* of a request: the time after the first token / the other tokens */
    GT_SERVER_INTER_TOKEN, /* between two answers of a stream, which have one token each without drafts */
    GT_SERVER_END_TO_END,  /* of a request */
    GT_SERVER_QUEUE,       /* of a request, until it is scheduled; only metrics have it */
    GT_SERVER_METRICS
} gt_server_metric;

/* NaN: unknown. */
typedef struct gt_server_times {
    double requests, mean_ms, p50_ms, p90_ms, p99_ms;
} gt_server_times;

typedef struct gt_server_run {
    gt_server_times times[GT_SERVER_METRICS];
    double requests, input_tokens, output_tokens; /* of all requests that were completed; NaN: unknown */
    double duration_s;
    double concurrency;   /* mean number of requests at a time; NaN: unknown */
    double accept_length; /* tokens per step and request with speculative decoding; NaN: unknown */
} gt_server_run;

/* False if the file is of neither form or no request was completed; the error names it. */
bool gt_server_run_read(gt_stream *stream, gt_server_run *run, gt_error *error);

/* Of several results in one file the last one counts, with a note. */
bool gt_server_bench_read(gt_stream *stream, gt_server_run *run, gt_error *error);
bool gt_server_metrics_read(gt_stream *stream, gt_server_run *run, gt_error *error);

/* A run of which nothing is known. */
gt_server_run gt_server_run_unknown(void);
