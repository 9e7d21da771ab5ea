/* Chooses the reader per file, and joins several files into one run. */
#include "input/rocprof/rocprof.h"
#include "base/log.h"
#include "base/memory.h"
#include "input/rocprof/readers.h"

#include <stdlib.h>
#include <string.h>

bool gt_rocprof_reads(gt_trace_format format)
{
    return format == GT_FORMAT_ROCPROF_JSON || format == GT_FORMAT_ROCPROF_CSV ||
           format == GT_FORMAT_SQLITE || format == GT_FORMAT_PERFETTO;
}

/* ---- the profiled time ---- */

/* Extends [*first, *last] to the starts and ends in the store. */
static void extend(const gt_store *store, size_t start_column, size_t end_column, int64_t *first,
                   int64_t *last)
{
    size_t count = gt_store_count(store);
    int64_t *starts = gt_store_ints(store, start_column), *ends = gt_store_ints(store, end_column);
    for (size_t i = 0; i < count; i++) {
        *first = starts[i] < *first ? starts[i] : *first;
        *last = ends[i] > *last ? ends[i] : *last;
    }
    gt_free(starts);
    gt_free(ends);
}

/* From the start of the first process to the end of the last one; if not all processes have these times, from
 * the first start to the last end on the GPU. */
static void set_profiled_time(gt_rocprof *run)
{
    bool known = run->process_count > 0;
    int64_t first = INT64_MAX, last = INT64_MIN;
    for (size_t i = 0; i < run->process_count; i++) {
        const gt_rocprof_process *process = &run->process[i];
        known = known && process->fini_ns > process->init_ns;
        first = process->init_ns < first ? process->init_ns : first;
        last = process->fini_ns > last ? process->fini_ns : last;
    }
    if (!known) {
        first = INT64_MAX;
        last = INT64_MIN;
        extend(run->dispatches, GT_DISPATCH_START, GT_DISPATCH_END, &first, &last);
        extend(run->copies, GT_COPY_START, GT_COPY_END, &first, &last);
    }
    run->init_ns = first <= last ? first : 0;
    run->fini_ns = first <= last ? last : 0;
}

static gt_rocprof *finish(gt_rocprof_writers *writers, bool read)
{
    gt_rocprof *run = writers->run;
    gt_rocprof_write_end(writers);
    if (!read) {
        gt_rocprof_free(run);
        return NULL;
    }
    run->processes = run->process_count;
    if (run->process_count) {
        run->pid = run->process[0].pid;
        if (run->process[0].hostname) run->hostname = run->process[0].hostname;
    }
    set_profiled_time(run);
    return run;
}

/* ---- one file ---- */

static gt_rocprof *read_csv(gt_stream *stream, const gt_read_options *options, gt_error *error)
{
    const uint8_t *text;
    size_t len;
    if (!gt_stream_peek(stream, &text, &len, error)) return NULL;
    gt_csv_kind kind = gt_rocprof_csv_kind((gt_str){(const char *)text, len});
    if (kind == GT_CSV_OTHER) {
        gt_fail(error, "%s: %s, which no sheet uses; give the folder with the traces", gt_stream_path(stream),
                gt_rocprof_csv_kind_name(kind));
        return NULL;
    }
    gt_rocprof_writers writers = gt_rocprof_write(gt_rocprof_new_wanted(options->wanted));
    gt_csv_source source = {.process = gt_rocprof_add_process(writers.run, (gt_rocprof_process){0}),
                            .kernels_from_counters = true};
    return finish(&writers, gt_rocprof_csv_read(&writers, stream, &source, options, error));
}

static gt_rocprof *read_database(const char *path, const gt_read_options *options, gt_error *error)
{
    gt_rocprof_writers writers = gt_rocprof_write(gt_rocprof_new_wanted(options->wanted));
    return finish(&writers, gt_rocpd_read(&writers, path, error));
}

static gt_rocprof *read_perfetto(gt_stream *stream, const gt_read_options *options, gt_error *error)
{
    gt_rocprof_writers writers = gt_rocprof_write(gt_rocprof_new_wanted(options->wanted));
    return finish(&writers, gt_rocprof_read_perfetto(&writers, stream, options, error));
}

gt_rocprof *gt_rocprof_read(gt_stream *stream, const char *path, const gt_read_options *options,
                            gt_error *error)
{
    gt_trace_format format;
    if (!gt_detect(stream, &format, error)) return NULL;
    if (format == GT_FORMAT_SQLITE && gt_stream_seekable(stream)) return read_database(path, options, error);
    if (format == GT_FORMAT_SQLITE) {
        gt_fail(error, "%s: a database must be an uncompressed file", gt_stream_path(stream));
        return NULL;
    }
    if (format == GT_FORMAT_ROCPROF_CSV) return read_csv(stream, options, error);
    if (format == GT_FORMAT_PERFETTO) return read_perfetto(stream, options, error);
    return gt_rocprof_read_stream(stream, options, error);
}

/* ---- a folder ---- */

static bool has_kind(const gt_rocprof_file_group *group, gt_csv_kind kind)
{
    gt_error ignored;
    for (size_t i = 0; i < group->count; i++) {
        gt_stream *stream = gt_stream_open(group->files[i].path, &ignored);
        const uint8_t *text;
        size_t len;
        bool is = stream && gt_stream_peek(stream, &text, &len, &ignored) &&
                  gt_rocprof_csv_kind((gt_str){(const char *)text, len}) == kind;
        gt_stream_close(stream);
        if (is) return true;
    }
    return false;
}

static bool read_csv_group(gt_rocprof_writers *writers, const gt_rocprof_file_group *group,
                           const gt_read_options *options, gt_error *error)
{
    gt_rocprof *run = writers->run;
    gt_rocprof_process process = {.pid = group->pid};
    if (group->host) process.hostname = gt_interner_add_cstr(run->strings, group->host);
    gt_csv_source source = {.process = gt_rocprof_add_process(run, process),
                            .kernels_from_counters = !has_kind(group, GT_CSV_KERNELS)};
    for (size_t i = 0; i < group->count; i++) {
        gt_stream *stream = gt_stream_open(group->files[i].path, error);
        bool read = stream && gt_rocprof_csv_read(writers, stream, &source, options, error);
        gt_stream_close(stream);
        if (!read) return false;
    }
    return true;
}

static bool read_json_file(gt_rocprof_writers *writers, const char *path, const gt_read_options *options,
                           gt_error *error)
{
    gt_rocprof *run = gt_rocprof_read_json(path, options, error);
    if (run) gt_rocprof_merge(writers, run);
    gt_rocprof_free(run);
    return run != NULL;
}

static bool read_perfetto_file(gt_rocprof_writers *writers, const char *path, const gt_read_options *options,
                               gt_error *error)
{
    gt_stream *stream = gt_stream_open(path, error);
    bool read = stream && gt_rocprof_read_perfetto(writers, stream, options, error);
    gt_stream_close(stream);
    return read;
}

static bool read_group(gt_rocprof_writers *writers, const gt_rocprof_file_group *group,
                       const gt_read_options *options, gt_error *error)
{
    if (group->files[0].format == GT_FORMAT_ROCPROF_CSV)
        return read_csv_group(writers, group, options, error);
    for (size_t i = 0; i < group->count; i++) {
        const char *path = group->files[i].path;
        gt_trace_format format = group->files[i].format;
        bool read = format == GT_FORMAT_SQLITE     ? gt_rocpd_read(writers, path, error)
                    : format == GT_FORMAT_PERFETTO ? read_perfetto_file(writers, path, options, error)
                                                   : read_json_file(writers, path, options, error);
        if (!read) return false;
    }
    return true;
}

/* A later pass ran the same program again: only its counters are used. */
static bool read_later_pass(gt_rocprof_writers *writers, const gt_rocprof_file_group *group,
                            const gt_read_options *options, gt_error *error)
{
    if (!writers->counters) return true;
    gt_read_options counters_only = *options;
    counters_only.wanted = GT_WANT_COUNTERS;
    gt_rocprof_writers pass = gt_rocprof_write(gt_rocprof_new_wanted(counters_only.wanted));
    bool read = read_group(&pass, group, &counters_only, error);
    gt_rocprof_write_end(&pass);
    if (read) gt_rocprof_merge_counters(writers, pass.run);
    gt_rocprof_free(pass.run);
    return read;
}

static bool read_files(gt_rocprof_writers *writers, const gt_rocprof_files *files,
                       const gt_read_options *options, gt_error *error)
{
    for (size_t i = 0; i < files->count; i++) {
        const gt_rocprof_file_group *group = &files->groups[i];
        bool later = group->pass > files->groups[0].pass && files->groups[0].pass > 0;
        if (!(later ? read_later_pass : read_group)(writers, group, options, error)) return false;
    }
    return true;
}

gt_rocprof *gt_rocprof_read_folder(const char *folder, const gt_read_options *options, gt_error *error)
{
    gt_rocprof_files files;
    gt_rocprof *run = NULL;
    if (!gt_rocprof_files_find(&files, folder, error)) {
        gt_rocprof_files_free(&files);
        return NULL;
    }
    if (files.skipped)
        gt_info("%s: skipped %zu files with the same run in another format", folder, files.skipped);
    if (files.count == 1 && files.groups[0].count == 1 &&
        files.groups[0].files[0].format == GT_FORMAT_ROCPROF_JSON) {
        run = gt_rocprof_read_json(files.groups[0].files[0].path, options, error);
    } else {
        gt_rocprof_writers writers = gt_rocprof_write(gt_rocprof_new_wanted(options->wanted));
        run = finish(&writers, read_files(&writers, &files, options, error));
    }
    gt_rocprof_files_free(&files);
    return run;
}

bool gt_rocprof_is_folder(const char *folder)
{
    gt_rocprof_files files;
    gt_error ignored;
    bool found = gt_rocprof_files_find(&files, folder, &ignored);
    gt_rocprof_files_free(&files);
    return found;
}
