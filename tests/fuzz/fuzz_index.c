/* Fuzzes what is loaded from an index or a partial, as if its checksums were right: the first byte chooses
 * between the events of a PyTorch trace, a rocprofv3 run, the sheets of a report and a trace that is
 * compared. The rest are sections (image_sections.h). What is loaded must be sound enough for all analyses
 * and writers. make_index_corpus.py makes seeds of real indexes and partials. */
#include "base/memory.h"
#include "image_sections.h"
#include "input/chrome/kineto.h"
#include "quiet.h"
#include "report/compare/compare.h"
#include "report/pytorch/pytorch.h"
#include "report/rocprof.h"
#include "sound_table.h"
#include "table/image.h"

#include <stdlib.h>
#include <string.h>

static void check_tables(gt_table_list *tables)
{
    for (size_t i = 0; i < tables->count; i++) check_table(tables->items[i]);
    gt_table_list_free(tables);
}

static void load_pytorch(const gt_image *image)
{
    gt_error error = {{0}};
    gt_pytorch_stores stores;
    gt_run_info run;
    gt_table_list tables = {0};
    gt_pytorch_options options = gt_pytorch_options_default();
    options.kernel_summary = options.short_kernel_study = options.overlap_info = options.extra = true;
    options.extra_sheets = options.include_unlinked_kernels = options.phases = options.call_stack = true;
    options.extra_options = gt_hta_options_default();
    size_t ignored;
    bool with_frames = gt_image_get(image, "frames", "heads", 1, &ignored) != NULL,
         with_memory = gt_image_get(image, "memory", "heads", 1, &ignored) != NULL;
    if (!gt_kineto_load(image, with_frames, with_memory, &stores, &run)) return;
    gt_memory_events memory = gt_memory_events_unpack(stores.memory, stores.strings);
    gt_memory_events_free(&memory);
    gt_pytorch_read *read = gt_pytorch_new(&stores, true);
    gt_pytorch_linked *trace = gt_pytorch_link(gt_pytorch_build_tree(read));
    if (!gt_pytorch_tables(trace, &options, &tables, &error) && !error.text[0]) abort();
    check_tables(&tables);
    gt_pytorch_linked_free(trace);
}

static void load_rocprof(const gt_image *image)
{
    gt_error error = {{0}};
    gt_table_list tables = {0};
    gt_rocprof *run = gt_rocprof_load(image);
    if (!run) return;
    gt_rocprof_options options = gt_rocprof_options_default();
    options.kernel_details = options.short_kernel_study = options.extra_sheets = true;
    if (!gt_rocprof_tables(run, &options, &tables, &error) && !error.text[0]) abort();
    check_tables(&tables);
    gt_rocprof_free(run);
}

static void add_table(void *list, gt_table *table)
{
    gt_table_list_add(list, table);
}

static void load_tables(const gt_image *image)
{
    gt_table_list tables = {0};
    gt_interner *strings = gt_strings_load(image);
    if (!strings) return;
    gt_tables_load(image, strings, add_table, &tables);
    check_tables(&tables);
    gt_interner_free(strings);
}

/* The trace is compared with itself. */
static void load_compared(const gt_image *image)
{
    gt_compare_report reports[] = {{.tag = "a", .path = "a.json", .is_trace = true},
                                   {.tag = "b", .path = "b.json", .is_trace = true}};
    gt_error error = {{0}};
    gt_table_list tables = {0};
    gt_interner *strings = gt_interner_new();
    bool loaded = gt_compare_load(&reports[0], image);
    if (loaded != gt_compare_load(&reports[1], image)) abort();
    if (loaded && !gt_compare_tables(reports, 2, &(gt_compare_options){0}, strings, &tables, &error) &&
        !error.text[0])
        abort();
    check_tables(&tables);
    for (size_t i = 0; loaded && i < GT_LENGTH(reports); i++) gt_compare_close(&reports[i]);
    gt_interner_free(strings);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static void (*const loaders[])(const gt_image *image) = {load_pytorch, load_rocprof, load_tables,
                                                             load_compared};
    if (!size) return 0;
    gt_image image = image_of(data + 1, size - 1);
    loaders[data[0] % GT_LENGTH(loaders)](&image);
    gt_image_free(&image);
    return 0;
}
