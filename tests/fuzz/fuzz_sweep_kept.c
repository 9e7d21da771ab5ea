/* Fuzzes what sweeps keep of a trace, as if its checksums were right: the first byte chooses between what
 * `sweep decide` measures and what is left of a report of `sweep report`. The rest are sections
 * (image_sections.h). What is loaded must be sound enough for the decision and for the collective report.
 * make_sweep_kept_corpus.py makes seeds of real files. */
#include "image_sections.h"
#include "report/collective.h"
#include "sound_table.h"
#include "sweep/decide/decide.h"
#include "sweep/report_job.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SETTINGS = 2, PATH_LEN = 200 };

static const char *const folders[] = {"",
                                      "/mode_0",
                                      "/mode_0/torch_profiler",
                                      "/mode_0/torch_profiler/rank0",
                                      "/mode_1",
                                      "/mode_1/torch_profiler",
                                      "/mode_1/torch_profiler/rank0"};
static char root[64], analysis[PATH_LEN], traces[SETTINGS][PATH_LEN];

static void say_nothing(bool warning, const char *text)
{
    (void)warning;
    (void)text;
}

static void remove_folders(void)
{
    char line[PATH_LEN + 16];
    snprintf(line, sizeof line, "rm -rf '%s'", root);
    if (system(line) != 0) perror(root);
}

/* A sweep of two settings whose traces are empty: all that is known about them is what is kept. */
int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc, (void)argv;
    gt_log_to(say_nothing);
    snprintf(root, sizeof root, "%s/gputally-fuzz-XXXXXX", access("/dev/shm", W_OK) ? "/tmp" : "/dev/shm");
    if (!mkdtemp(root)) abort();
    atexit(remove_folders);
    snprintf(analysis, sizeof analysis, "%s/tracelens_analysis", root);
    for (size_t i = 1; i < GT_LENGTH(folders); i++) {
        char path[PATH_LEN];
        snprintf(path, sizeof path, "%s%s", root, folders[i]);
        if (mkdir(path, 0755) != 0) abort();
    }
    for (int i = 0; i < SETTINGS; i++) {
        snprintf(traces[i], sizeof traces[i], "%s/mode_%d/torch_profiler/rank0/t.json", root, i);
        FILE *file = fopen(traces[i], "w");
        if (!file || fputs("{}", file) < 0 || fclose(file) != 0) abort();
    }
    return 0;
}

static void check_tables(gt_table_list *tables)
{
    for (size_t i = 0; i < tables->count; i++) check_table(tables->items[i]);
    gt_table_list_free(tables);
}

/* ---- sweep decide ---- */

static void decide(const gt_sweep_cache *cache)
{
    gt_error error = {""};
    gt_sweep sweep = {0};
    gt_sweep_measures measures = {0};
    gt_read_options read = {.threads = 1};
    if (!gt_sweep_open(&sweep, root, &error)) abort();
    if (gt_sweep_measure(&measures, &sweep, &read, cache, &error)) {
        gt_decision decision;
        gt_table_list tables = {0};
        gt_buffer text = {0};
        gt_decide(&decision, &measures);
        gt_decision_add_sheets(&decision, &tables);
        gt_decision_say(&decision, SIZE_MAX, &text);
        gt_decision_json(&decision, SIZE_MAX, &tables, &text);
        gt_buffer_free(&text);
        check_tables(&tables);
        gt_decision_free(&decision);
    }
    gt_sweep_measures_free(&measures);
    gt_sweep_free(&sweep);
}

static void load_measures(const gt_image *image)
{
    gt_buffer messages = {0};
    gt_trace_measures *found = gt_trace_measures_load(image, 0, &messages);
    if (found) {
        gt_sweep_cache *cache = gt_sweep_cache_open(analysis, GT_CACHE_KEEP);
        for (size_t i = 0; i < SETTINGS; i++) {
            gt_index *index = gt_sweep_cache_index(cache, traces[i]);
            gt_trace_measures_keep(found, index, 0, gt_buffer_str(&messages));
            gt_index_close(index);
        }
        gt_trace_measures_free(found);
        decide(cache);
        gt_sweep_cache_close(cache);
    }
    gt_buffer_free(&messages);
}

/* ---- sweep report ---- */

static void make_report(gt_table *rows)
{
    gt_error error = {""};
    gt_table_list tables = {0};
    gt_collective_options options = {.world_size = 1, .gpus_per_node = 1};
    gt_aggregations_add(&options.aggregations, "mean", &error);
    if (!rows->row_count)
        gt_table_free(rows);
    else if (!gt_collective_tables(rows, &options, &tables, NULL, &error) && !error.text[0])
        abort();
    check_tables(&tables);
}

static void load_report(const gt_image *image)
{
    gt_sweep_trace trace = {.path = traces[0]};
    gt_table *rows = NULL;
    gt_report_task task = {.trace = &trace};
    gt_report_setting setting = {
        .traces = {.items = &trace, .count = 1}, .rows = &rows, .stamp = gt_stamp_new("report", "", 1)};
    gt_sweep_report_options options = {0};
    gt_report_job job = {
        .options = &options, .analysis = analysis, .settings = &setting, .tasks = &task, .count = 1};
    gt_report_task_is_usable(&job, 0, image);
    if (gt_report_task_unpack(&job, 0, image)) {
        gt_image again = {0};
        gt_report_task_pack(&job, 0, &again);
        gt_image_free(&again);
        if (rows) make_report(rows);
        rows = NULL;
    }
    gt_report_task_drop(&job, 0);
    gt_stamp_free(&setting.stamp);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static void (*const loaders[])(const gt_image *image) = {load_measures, load_report};
    if (!size) return 0;
    gt_image image = image_of(data + 1, size - 1);
    loaders[data[0] % GT_LENGTH(loaders)](&image);
    gt_image_free(&image);
    return 0;
}
