/* The record of a run: performance numbers found in the log, the run record, and the summary workbook. */
#include "run/execute/execute.h"
#include "analysis/rocprof/sheets.h"
#include "compat/python_regex.h"
#include "input/sheets/sheets.h"
#include "os/clock.h"
#include "output/file.h"
#include "schema/columns.h"

#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- performance numbers in the log ---- */

static const char own_line[] = "(?a)performance:\\s+([+-]?(?:[0-9]+\\.?[0-9]*|\\.[0-9]+)(?:[eE][+-]?[0-9]+)?)"
                               "(?:,?\\s*/[a-zA-Z]+\\s*,?|,)?\\s+([^\\s,]+)";
static const char trainer_line[] = "(?a)train_samples_per_second['\"\\s:=]+([0-9][0-9.eE+-]*)";

static gt_python_regex own, trainer;
static bool compiled;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void compile(void)
{
    gt_error ignored;
    compiled = gt_python_regex_compile(&own, own_line, &ignored) &&
               gt_python_regex_compile(&trainer, trainer_line, &ignored);
}

enum { LINE_MAX_BYTES = 4096 };

static bool search(const gt_python_regex *regex, gt_str line, gt_python_match *match)
{
    gt_error ignored; /* a line that takes too many steps has no number */
    return gt_python_regex_search(regex, line, match, &ignored) && match->found;
}

bool gt_performance_find(gt_arena *arena, gt_str line, const char **number, const char **metric)
{
    const char *word =
        memmem(line.bytes, line.len, "per", 3); /* both forms contain it: most lines are rejected here */
    if (!word || line.len >= LINE_MAX_BYTES) return false;
    pthread_once(&once, compile);
    gt_python_match match = {0};
    bool is_own = compiled && search(&own, line, &match);
    bool found = is_own || (compiled && search(&trainer, line, &match));
    if (found) {
        const char *text = gt_arena_bytes(arena, match.groups[1].bytes, match.groups[1].len);
        found = isfinite(strtod(text, NULL)); /* 1.5e400 is no figure */
        if (found) *number = text;
    }
    if (found)
        *metric =
            is_own ? gt_arena_bytes(arena, match.groups[2].bytes, match.groups[2].len) : "samples_per_second";
    gt_python_match_free(&match);
    return found;
}

/* ---- performance numbers of several nodes ---- */

typedef enum combining { SUM, MEAN, MOST } combining;

static const struct {
    combining how;
    const char *words; /* separated by spaces */
} rules[] = {
    {SUM,
     "throughput samples_per_second tokens_per_second images_per_second requests_per_second qps bandwidth "
     "ops_per_second samples/sec tokens/sec"},
    {MEAN,
     "latency time duration milliseconds seconds ttft tpot response_time accuracy precision recall f1 loss"},
    {MOST, "memory bytes ram vram gb mb"},
};

static combining combining_of(const char *metric)
{
    for (size_t i = 0; i < GT_LENGTH(rules); i++)
        for (const char *at = rules[i].words; *at;) {
            char word[64];
            size_t len = strcspn(at, " ");
            memcpy(word, at, len);
            word[len] = 0;
            if (strcasestr(metric, word)) return rules[i].how;
            at += len + (at[len] == ' ');
        }
    return SUM;
}

void gt_performances_add(gt_performances *figures, gt_arena *arena, const char *metric, double value)
{
    size_t i = 0;
    while (i < figures->count && strcmp(figures->items[i].metric, metric) != 0) i++;
    if (i == GT_PERFORMANCES_MAX) return;
    if (i == figures->count) {
        figures->items[i].metric = gt_arena_bytes(arena, metric, strlen(metric));
        figures->items[i].sum = 0;
        figures->items[i].most = value;
        figures->items[i].count = 0;
        figures->count++;
    }
    figures->items[i].sum += value;
    figures->items[i].count++;
    if (value > figures->items[i].most) figures->items[i].most = value;
}

void gt_performances_write(const gt_performances *figures, gt_json_writer *w, const char *key)
{
    gt_json_put_open(w, key, '{');
    for (size_t i = 0; i < figures->count; i++) {
        combining how = combining_of(figures->items[i].metric);
        gt_json_put_real(w, figures->items[i].metric,
                         how == SUM    ? figures->items[i].sum
                         : how == MEAN ? figures->items[i].sum / (double)figures->items[i].count
                                       : figures->items[i].most);
    }
    gt_json_close(w, '}');
}

/* ---- run record ---- */

static const struct {
    const char *ending, *kind;
} kinds[] = {
    {".nsys-rep", "nsys report"},
    {".ncu-rep", "ncu report"},
    {".sqlite", "nsys export"},
    {"_results.db", "rocpd"},
    {"_results.json", "rocprofv3 json"},
    {".pftrace", "pftrace"},
    {".rpd", "rpd"},
    {".db", "database"},
    {".json.gz", "json"},
    {".json", "json"},
    {".csv", "csv"},
    {".log", "log"},
    {".xlsx", "report"},
    {".html", "page"},
    {".xplane.pb", "xplane"},
    {".txt", "text"},
};

static const char *file_kind(const char *path)
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
    gt_json_put_open(w, "files", '[');
    for (size_t i = 0; i < files->count; i++) {
        struct stat status;
        if (stat(files->items[i], &status) != 0) continue;
        gt_json_open(w, '{');
        gt_json_put_cstr(w, "path", files->items[i]);
        gt_json_put_int(w, "bytes", (int64_t)status.st_size);
        gt_json_put_cstr(w, "kind", file_kind(files->items[i]));
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
    gt_json_put_real(&w, "duration_s",
                     (double)(outcome->end.tv_sec - outcome->begin.tv_sec) +
                         (double)(outcome->end.tv_nsec - outcome->begin.tv_nsec) * 1e-9);
    gt_json_put_cstr(&w, "status", outcome->failed ? "FAILURE" : "SUCCESS");
    if (outcome->exit_code < 0)
        gt_json_put_cstr(&w, "exit_code", NULL);
    else
        gt_json_put_int(&w, "exit_code", outcome->exit_code);
    gt_json_put_bool(&w, "timed_out", outcome->timed_out);
    gt_json_put_cstr(&w, "reason", outcome->reason);
    put_performance(&w, outcome);
    gt_energy_write(outcome, &w);
    gt_trials_write(outcome->trials, &w);
    gt_json_put_int(&w, "passes", (int64_t)plan->profiler->passes);
    put_files(&w, &outcome->files);
    gt_machine_put(&w, outcome->machine);
    gt_json_close(&w, '}');
    gt_buffer_add_cstr(&w.text, "\n");
    gt_output *output = gt_output_new();
    bool ok =
        gt_output_write_file(output, path, gt_buffer_str(&w.text), error) && gt_output_commit(output, error);
    gt_output_free(output);
    gt_json_writer_free(&w);
    return ok;
}

/* ---- summary workbook ---- */

static bool is_written(const gt_outcome *outcome, const char *path)
{
    for (size_t i = 0; i < outcome->files.count; i++)
        if (strcmp(outcome->files.items[i], path) == 0) return true;
    return false;
}

static bool add_samples(gt_table_list *tables, gt_interner *strings, const gt_sampler_plan *sampler,
                        const gt_outcome *outcome, gt_error *error)
{
    if (!is_written(outcome, sampler->file)) return true; /* a file of an earlier run may be there */
    gt_table *samples = gt_csv_table_read(sampler->file, GT_SHEET_SAMPLES, strings, error);
    if (!samples) return false;
    bool is_power = strcmp(sampler->mode, "power") == 0;
    gt_table *summary =
        gt_gpu_samples_summary(samples, is_power ? GT_SHEET_POWER_SUMMARY : GT_SHEET_VRAM_SUMMARY, is_power);
    if (is_power) gt_energy_add_column(outcome, summary);
    gt_table_list_add(tables, summary);
    gt_table_free(samples);
    return true;
}

static bool add_calls(gt_table_list *tables, gt_interner *strings, const char *path, gt_error *error)
{
    static const gt_col columns[] = {GT_COL_LIBRARY, GT_COL_CONFIG, GT_COL_CALLS};
    static const gt_sort_key order[] = {{GT_COL_CALLS, true}};
    gt_table *calls = gt_csv_table_read(path, GT_SHEET_LIBRARY_CALLS, strings, error);
    if (!calls) return false;
    gt_table_select(calls, columns, 3);
    if (calls->row_count) gt_table_sort(calls, order, 1);
    gt_table_list_add(tables, calls);
    return true;
}

bool gt_run_summary_write(const gt_plan *plan, const gt_outcome *outcome, const char **path, gt_error *error)
{
    gt_interner *strings = gt_interner_new();
    gt_table_list tables = {0};
    bool ok = true;
    *path = NULL;
    for (size_t i = 0; ok && i < plan->sampler_count; i++)
        ok = add_samples(&tables, strings, &plan->samplers[i], outcome, error);
    if (ok && plan->library_modes.count && is_written(outcome, plan->library_file))
        ok = add_calls(&tables, strings, plan->library_file, error);
    if (ok && outcome->trials) gt_trials_add_tables(outcome->trials, &tables, strings);
    if (ok && tables.count) {
        *path = gt_arena_format(plan->arena, "%s/%s_run_summary.xlsx", plan->output_dir, plan->name);
        gt_output *output = gt_output_new();
        ok = gt_output_xlsx(output, *path, tables.items, tables.count, error) &&
             gt_output_commit(output, error);
        gt_output_free(output);
    }
    gt_table_list_free(&tables);
    gt_interner_free(strings);
    return ok;
}
