/* The record of a run: the plan as it was carried out, and what came of it. */
#include "run/execute/record.h"
#include "base/length.h"
#include "output/file.h"
#include "os/clock.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const struct {
    const char *ending, *kind;
} kinds[] = {
    {"_results.db", "rocpd"}, {"_results.json", "rocprofv3 json"},
    {".pftrace", "pftrace"},  {".rpd", "rpd"},
    {".db", "database"},      {".json.gz", "json"},
    {".json", "json"},        {".csv", "csv"},
    {".log", "log"},          {".xlsx", "report"},
    {".xplane.pb", "xplane"}, {".txt", "text"},
};

const char *gt_record_kind(const char *path)
{
    size_t len = strlen(path);
    for (size_t i = 0; i < GT_LENGTH(kinds); i++) {
        size_t end = strlen(kinds[i].ending);
        if (len >= end && strcmp(path + len - end, kinds[i].ending) == 0) return kinds[i].kind;
    }
    return "file";
}

static void put_time(gt_json_writer *w, const char *key, struct timespec at)
{
    char text[GT_CLOCK_TEXT];
    gt_clock_print(text, at);
    gt_json_put_cstr(w, key, text);
}

static void put_files(gt_json_writer *w, const gt_arg_list *files)
{
    gt_json_key(w, "files");
    gt_json_open(w, '[');
    for (size_t i = 0; i < files->count; i++) {
        struct stat status;
        if (stat(files->items[i], &status) != 0) continue;
        gt_json_open(w, '{');
        gt_json_put_cstr(w, "path", files->items[i]);
        gt_json_put_int(w, "bytes", (int64_t)status.st_size);
        gt_json_put_cstr(w, "kind", gt_record_kind(files->items[i]));
        gt_json_close(w, '}');
    }
    gt_json_close(w, ']');
}

static void put_performance(gt_json_writer *w, const gt_outcome *outcome)
{
    gt_json_key(w, "performance");
    if (outcome->performance)
        gt_json_add_real(w, strtod(outcome->performance, NULL));
    else
        gt_json_add_cstr(w, NULL);
    gt_json_put_cstr(w, "metric", outcome->metric);
}

bool gt_record_write(const gt_plan *plan, const gt_outcome *outcome, const char *path, gt_error *error)
{
    gt_json_writer w = {0};
    gt_json_open(&w, '{');
    gt_plan_write(plan, &w);
    put_time(&w, "start_time", outcome->begin);
    put_time(&w, "end_time", outcome->end);
    gt_json_key(&w, "duration_s");
    gt_json_add_real(&w, (double)(outcome->end.tv_sec - outcome->begin.tv_sec) +
                             (double)(outcome->end.tv_nsec - outcome->begin.tv_nsec) * 1e-9);
    gt_json_put_cstr(&w, "status", outcome->failed ? "FAILURE" : "SUCCESS");
    if (outcome->exit_code < 0)
        gt_json_put_cstr(&w, "exit_code", NULL);
    else
        gt_json_put_int(&w, "exit_code", outcome->exit_code);
    gt_json_key(&w, "timed_out");
    gt_json_add_bool(&w, outcome->timed_out);
    gt_json_put_cstr(&w, "reason", outcome->reason);
    put_performance(&w, outcome);
    gt_json_put_int(&w, "passes", (int64_t)plan->profiler->passes);
    put_files(&w, &outcome->files);
    gt_json_close(&w, '}');
    gt_buffer_add_cstr(&w.text, "\n");
    gt_output *output = gt_output_new();
    bool sound =
        gt_output_whole_file(output, path, gt_buffer_str(&w.text), error) && gt_output_commit(output, error);
    gt_output_free(output);
    gt_json_writer_free(&w);
    return sound;
}
