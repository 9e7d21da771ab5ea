/* Submits a batch script, waits until the queue no longer has it, asks how it ended, and puts together what
 * its nodes recorded. */
#include "run/targets/slurm.h"
#include "base/length.h"
#include "base/log.h"
#include "output/file.h"
#include "os/child.h"
#include "os/paths.h"
#include "run/execute/performance.h"

#include <ctype.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { STATE_TRIES = 3 };
static const double submit_timeout_s = 30;

/* Seconds between looks at the queue. */
static double poll_s(void)
{
    const char *text = getenv("GPUTALLY_SLURM_POLL_SECONDS");
    double seconds = text ? strtod(text, NULL) : 0;
    return seconds > 0 ? seconds : 30;
}

static bool keep_line(void *context, gt_child_stream stream, gt_str line)
{
    gt_buffer *text = context;
    if (stream == GT_CHILD_STDOUT) {
        gt_buffer_add(text, line.bytes, line.len);
        gt_buffer_add_cstr(text, "\n");
    }
    return stream == GT_CHILD_STDERR;
}

/* Runs a program of SLURM; its output, trimmed, is in `text`. The signal that came meanwhile is in
 * `interrupted`. */
static bool ask(const char *const *argv, gt_buffer *text, int *interrupted)
{
    gt_child_setup setup = {
        .argv = argv, .timeout_s = submit_timeout_s, .line = keep_line, .line_context = text};
    gt_child_result result;
    gt_error error;
    text->len = 0;
    bool ran = gt_child_run(&setup, &result, &error);
    if (!ran) fprintf(stderr, "gputally: %s\n", error.text);
    while (text->len && isspace((unsigned char)text->bytes[text->len - 1])) text->len--;
    gt_buffer_str(text);
    if (ran && result.interrupted) *interrupted = result.interrupted;
    return ran && result.exit_code == 0;
}

/* The job's number: the last word that sbatch prints. */
static const char *submit(gt_arena *arena, const char *script, int *interrupted)
{
    gt_buffer text = {0};
    const char *job = NULL;
    if (ask((const char *[]){"sbatch", script, NULL}, &text, interrupted) && text.len) {
        const char *blank = strrchr(text.bytes, ' ');
        job = blank ? blank + 1 : text.bytes;
        job = gt_arena_bytes(arena, job, strlen(job));
    }
    gt_buffer_free(&text);
    return job;
}

/* Sleeping is a child too, so that a signal ends it and is seen. */
static void wait_a_while(double seconds, int *interrupted)
{
    char text[32];
    snprintf(text, sizeof text, "%g", seconds);
    const char *argv[] = {"sleep", text, NULL};
    gt_child_setup setup = {.argv = argv, .silent = true};
    gt_child_result result;
    gt_error error;
    if (gt_child_run(&setup, &result, &error) && result.interrupted) *interrupted = result.interrupted;
}

static bool wait_for(const char *job, int *interrupted)
{
    gt_buffer text = {0};
    bool queued = true;
    while (queued && !*interrupted) {
        queued = ask((const char *[]){"squeue", "-j", job, "-h", "-o", "%T", NULL}, &text, interrupted) &&
                 text.len;
        if (queued && !*interrupted) wait_a_while(poll_s(), interrupted);
    }
    if (*interrupted) {
        int ignored = 0;
        gt_warn("interrupted: job %s is cancelled", job);
        ask((const char *[]){"scancel", job, NULL}, &text, &ignored);
    }
    gt_buffer_free(&text);
    return !*interrupted;
}

static bool completed(const char *job, int *interrupted)
{
    gt_buffer text = {0};
    for (int i = 0; i < STATE_TRIES && !text.len && !*interrupted; i++) {
        if (i) wait_a_while(5, interrupted);
        ask((const char *[]){"sacct", "-j", job, "-n", "-X", "-o", "State", NULL}, &text, interrupted);
    }
    const char *state = text.len ? text.bytes + strspn(text.bytes, " ") : "UNKNOWN";
    bool done = strncmp(state, "COMPLETED", 9) == 0;
    if (!done) fprintf(stderr, "gputally: job %s ended with state %.60s\n", job, state);
    gt_buffer_free(&text);
    return done;
}

/* ---- what the nodes recorded ---- */

typedef struct summary {
    gt_json_writer json;
    gt_performances figures;
    bool all_succeeded;
} summary;

static void add_node(gt_arena *arena, summary *s, const char *folder, int64_t rank)
{
    gt_error error;
    const gt_value *record =
        gt_settings_read(arena, gt_path_join(arena, folder, "gputally_run.json"), &error);
    const char *status = record ? gt_settings_string(record, "status") : NULL;
    const char *metric = record ? gt_settings_string(record, "metric") : NULL;
    const gt_value *value = record ? gt_value_get(record, "performance") : &gt_value_missing;
    gt_json_open(&s->json, '{');
    gt_json_put_int(&s->json, "node", rank);
    gt_json_put_cstr(&s->json, "folder", folder);
    gt_json_put_cstr(&s->json, "status", status ? status : "MISSING");
    gt_json_put_value(&s->json, "exit_code", record ? gt_value_get(record, "exit_code") : &gt_value_none);
    gt_json_put_value(&s->json, "performance", value);
    gt_json_put_cstr(&s->json, "metric", metric);
    gt_json_close(&s->json, '}');
    s->all_succeeded = s->all_succeeded && status && strcmp(status, "SUCCESS") == 0;
    if (metric && (value->type == GT_VALUE_FLOAT || value->type == GT_VALUE_INT))
        gt_performances_add(&s->figures, arena, metric,
                            value->type == GT_VALUE_INT ? (double)value->integer : value->number);
}

static bool summarise(const gt_plan *plan, const gt_slurm *slurm, const char *job)
{
    gt_arena *arena = plan->arena;
    const char *folder = gt_path_join(arena, slurm->results_dir, job);
    summary s = {.all_succeeded = true};
    gt_json_open(&s.json, '{');
    gt_json_put_cstr(&s.json, "job", job);
    gt_json_put_cstr(&s.json, "name", plan->name);
    gt_json_key(&s.json, "nodes");
    gt_json_open(&s.json, '[');
    for (int64_t rank = 0; rank < slurm->nodes; rank++) {
        char name[32];
        snprintf(name, sizeof name, "node_%" PRId64, rank);
        add_node(arena, &s, gt_path_join(arena, folder, name), rank);
    }
    gt_json_close(&s.json, ']');
    gt_performances_write(&s.figures, &s.json, "metrics");
    gt_json_close(&s.json, '}');
    gt_buffer_add_cstr(&s.json.text, "\n");
    gt_error error;
    gt_output *output = gt_output_new();
    const char *path = gt_path_join(arena, folder, "results_summary.json");
    if (gt_output_whole_file(output, path, gt_buffer_str(&s.json.text), &error) &&
        gt_output_commit(output, &error))
        gt_info("%s", path);
    else
        gt_warn("%s", error.text);
    gt_output_free(output);
    gt_json_writer_free(&s.json);
    return s.all_succeeded;
}

bool gt_slurm_run(const gt_plan *plan, const gt_slurm *slurm)
{
    static const char *const programs[] = {"sbatch", "squeue"};
    for (size_t i = 0; i < GT_LENGTH(programs); i++)
        if (!gt_path_search(plan->arena, programs[i], getenv("PATH"))) {
            fprintf(stderr,
                    "gputally: %s is not on PATH: %s was written, submit it on a machine of the cluster\n",
                    programs[i], slurm->script);
            return false;
        }
    int interrupted = 0;
    const char *job = submit(plan->arena, slurm->script, &interrupted);
    if (!job) {
        fprintf(stderr, "gputally: %s could not be submitted\n", slurm->script);
        return false;
    }
    gt_info("job %s: %s", job, slurm->script);
    if (!wait_for(job, &interrupted)) return false;
    bool done = completed(job, &interrupted);
    bool all = summarise(plan, slurm, job);
    if (done && !all) fprintf(stderr, "gputally: not every node of job %s succeeded\n", job);
    return done && all;
}
