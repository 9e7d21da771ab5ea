/* Chooses the reader per file, and joins several files into one run. */
#include "input/rocprof/rocprof.h"
#include "input/indexed_run.h"
#include "input/nsys/nsys.h"
#include "input/rocprof/readers.h"
#include "os/paths.h"

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
        if (gt_account_judge(starts[i], ends[i])) continue;
        *first = starts[i] < *first ? starts[i] : *first;
        *last = ends[i] > *last ? ends[i] : *last;
    }
    gt_free_all(starts, ends);
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
    bool read = gt_rocprof_csv_read(&writers, stream, &source, options, error);
    gt_csv_source_free(&source);
    return finish(&writers, read);
}

static gt_rocprof *read_database(const char *path, const gt_read_options *options, gt_error *error)
{
    gt_rocprof_writers writers = gt_rocprof_write(gt_rocprof_new_wanted(options->wanted));
    gt_rocprof *run = finish(&writers, gt_rocpd_read(&writers, path, options, error));
    if (!run && gt_database_kind_of(path) == GT_DATABASE_NSYS)
        gt_fail(error, "%s: an export of Nsight Systems; use gputally nsys or gputally report", path);
    return run;
}

static gt_rocprof *read_perfetto(gt_stream *stream, const gt_read_options *options, gt_error *error)
{
    gt_rocprof_writers writers = gt_rocprof_write(gt_rocprof_new_wanted(options->wanted));
    return finish(&writers, gt_rocprof_read_perfetto(&writers, stream, options, error));
}

static gt_rocprof *read_format(gt_stream *stream, const char *path, const gt_read_options *options,
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

/* A counter value that is not a number is none. */
static gt_rocprof *without_nan(gt_rocprof *run)
{
    size_t end = run && run->counters ? gt_store_count(run->counters) : 0;
    if (end) gt_rocprof_average_passes(run, &end, 1);
    return run;
}

/* ---- the index of a file ---- */

enum { INDEX_KEY_MAX = 64 };

static void make_index_key(const gt_read_options *options, char key[INDEX_KEY_MAX])
{
    snprintf(key, INDEX_KEY_MAX, "rocprofv3 run %x%s%s", options->wanted,
             options->long_names ? " long names" : "", options->full_names ? " full names" : "");
}

static gt_rocprof *read_file(gt_stream *stream, const char *path, const gt_read_options *options,
                             gt_error *error)
{
    return without_nan(read_format(stream, path, options, error));
}

gt_rocprof *gt_rocprof_read(gt_stream *stream, const char *path, const gt_read_options *options,
                            gt_error *error)
{
    char key[INDEX_KEY_MAX];
    make_index_key(options, key);
    return gt_indexed_run_read(stream, path, options, GT_INDEX_ROCPROF, key, read_file, error);
}

/* ---- damaged files of a folder ----
 *
 * One process of many that was killed must not cost the report of the others: what a reader got of its file
 * stays in the run, in the same order for any number of threads, and a warning says what is missing. */

typedef struct damage {
    bool allowed;    /* not with `strict`, and not if there is only one process and pass */
    gt_error first;  /* the error if nothing else can be reported */
    char **warnings; /* given when it is known that something can be */
    size_t count, capacity;
} damage;

/* Rows in the run, so that a file that gave some can be told from one that gave none. */
static size_t rows_of(gt_rocprof_writers *writers)
{
    const gt_rocprof *run = writers->run;
    gt_rocprof_write_flush(writers);
    return gt_store_count(run->dispatches) + gt_store_count(run->copies) +
           (run->calls ? gt_store_count(run->calls) : 0) +
           (run->counters ? gt_store_count(run->counters) : 0);
}

/* Notes a file that cannot be read, or not to its end; false if that is not allowed. `before`: the rows
 * before it was read. */
static bool skip(damage *d, gt_rocprof_writers *writers, const gt_rocprof_file_group *group, size_t before,
                 const gt_error *error)
{
    if (!d->allowed) return false;
    if (!d->count) d->first = *error;
    char *process = group->pid ? gt_format(" of process %lld", (long long)group->pid) : gt_strdup("");
    char *host = group->host ? gt_format(" on %s", group->host) : gt_strdup("");
    const char *text = rows_of(writers) > before
                           ? "%s; the records%s%s after that are missing"
                           : "%s; the file is not read, and its records%s%s are missing";
    GT_PUSH(d->warnings, d->count, d->capacity, gt_format(text, error->text, process, host));
    gt_free_all(process, host);
    return true;
}

static void free_damage(damage *d)
{
    for (size_t i = 0; i < d->count; i++) gt_free(d->warnings[i]);
    gt_free(d->warnings);
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
                           const gt_read_options *options, damage *d, gt_error *error)
{
    gt_rocprof *run = writers->run;
    gt_rocprof_process process = {.pid = group->pid};
    if (group->host) process.hostname = gt_interner_add_cstr(run->strings, group->host);
    gt_csv_source source = {.process = gt_rocprof_add_process(run, process),
                            .kernels_from_counters = !has_kind(group, GT_CSV_KERNELS)};
    bool read = true;
    for (size_t i = 0; read && i < group->count; i++) {
        size_t before = rows_of(writers);
        gt_stream *stream = gt_stream_open(group->files[i].path, error);
        read = (stream && gt_rocprof_csv_read(writers, stream, &source, options, error)) ||
               skip(d, writers, group, before, error);
        gt_stream_close(stream);
    }
    gt_csv_source_free(&source);
    return read;
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

static bool read_group_files(gt_rocprof_writers *writers, const gt_rocprof_file_group *group,
                             const gt_read_options *options, damage *d, gt_error *error)
{
    if (group->files[0].format == GT_FORMAT_ROCPROF_CSV)
        return read_csv_group(writers, group, options, d, error);
    for (size_t i = 0; i < group->count; i++) {
        size_t before = rows_of(writers);
        const char *path = group->files[i].path;
        gt_trace_format format = group->files[i].format;
        bool read = format == GT_FORMAT_SQLITE     ? gt_rocpd_read(writers, path, options, error)
                    : format == GT_FORMAT_PERFETTO ? read_perfetto_file(writers, path, options, error)
                                                   : read_json_file(writers, path, options, error);
        if (!read && !skip(d, writers, group, before, error)) return false;
    }
    return true;
}

/* Also notes where the files of the processes are, and the host if the format does not say it. */
static bool read_group(gt_rocprof_writers *writers, const gt_rocprof_file_group *group,
                       const gt_read_options *options, damage *d, gt_error *error)
{
    gt_rocprof *run = writers->run;
    size_t first = run->process_count;
    if (!read_group_files(writers, group, options, d, error)) return false;
    for (size_t i = first; i < run->process_count; i++) {
        if (!run->process[i].hostname && group->host)
            run->process[i].hostname = gt_interner_add_cstr(run->strings, group->host);
        run->process[i].place = gt_interner_add_cstr(run->strings, group->place);
        run->process[i].label =
            group->pid ? GT_STR_NONE : gt_interner_add_cstr(run->strings, gt_path_name(group->prefix));
    }
    return true;
}

/* ---- counter passes ---- */

/* The groups of one pass. */
typedef struct pass {
    const gt_rocprof_file_group *groups;
    size_t count;
} pass;

static bool read_pass(gt_rocprof_writers *writers, const pass *p, const gt_read_options *options, damage *d,
                      gt_error *error)
{
    for (size_t i = 0; i < p->count; i++)
        if (!read_group(writers, &p->groups[i], options, d, error)) return false;
    return true;
}

/* A later pass ran the same program again: only its counters are used. Its processes have other ids, so they
 * are read together and then matched with those of the run. */
static bool read_later_pass(gt_rocprof_passes *passes, gt_rocprof_writers *writers, const pass *p,
                            const gt_read_options *options, damage *d, gt_error *error)
{
    gt_read_options counters_only = *options;
    counters_only.wanted = GT_WANT_COUNTERS | GT_WANT_AGENTS | GT_WANT_ALL_PROCESSES;
    gt_rocprof_writers later = gt_rocprof_write(gt_rocprof_new_wanted(counters_only.wanted));
    bool read = read_pass(&later, p, &counters_only, d, error);
    gt_rocprof_write_end(&later);
    if (read) gt_rocprof_passes_join(passes, writers, later.run, p->groups[0].pass);
    writers->run->is_cut_off |= later.run->is_cut_off;
    gt_rocprof_free(later.run);
    return read;
}

/* Whether what was read so far can be the run to which later passes add their counters: not if there are only
 * statistics or a list of agents outside the folders of the passes. */
static bool has_run(const gt_rocprof *run)
{
    return gt_store_count(run->dispatches) || (run->counters && gt_store_count(run->counters));
}

/* The groups from `first` on that belong to its pass. */
static pass pass_at(const gt_rocprof_files *files, size_t first)
{
    pass p = {.groups = &files->groups[first]};
    while (first + p.count < files->count && p.groups[p.count].pass == p.groups[0].pass) p.count++;
    return p;
}

static bool read_later_passes(gt_rocprof_writers *writers, const gt_rocprof_files *files, size_t first,
                              const gt_read_options *options, damage *d, gt_error *error)
{
    gt_rocprof *run = writers->run;
    gt_rocprof_passes *passes = gt_rocprof_passes_new(run);
    size_t *ends = NULL, count = 0, capacity = 0; /* rows of counters after each pass */
    GT_PUSH(ends, count, capacity, gt_store_count(run->counters));
    bool read = true;
    while (read && first < files->count) {
        pass p = pass_at(files, first);
        first += p.count;
        read = read_later_pass(passes, writers, &p, options, d, error);
        gt_rocprof_write_flush(writers);
        GT_PUSH(ends, count, capacity, gt_store_count(run->counters));
    }
    if (read) gt_rocprof_average_passes(run, ends, count);
    gt_rocprof_passes_free(passes);
    gt_free(ends);
    return read;
}

static bool read_all_files(gt_rocprof_writers *writers, const gt_rocprof_files *files,
                           const gt_read_options *options, damage *d, gt_error *error)
{
    size_t at = 0;
    while (at < files->count && !has_run(writers->run)) {
        pass p = pass_at(files, at);
        at += p.count;
        if (!read_pass(writers, &p, options, d, error)) return false;
        gt_rocprof_write_flush(writers);
    }
    return at == files->count || !writers->counters ||
           read_later_passes(writers, files, at, options, d, error);
}

/* Without a kernel of the files that can be read, the damage is the error. */
static bool read_files(gt_rocprof_writers *writers, const gt_rocprof_files *files,
                       const gt_read_options *options, gt_error *error)
{
    damage d = {.allowed = !options->strict && files->count > 1};
    bool read = read_all_files(writers, files, options, &d, error);
    if (read && d.count && !has_run(writers->run)) {
        *error = d.first;
        read = false;
    }
    for (size_t i = 0; read && i < d.count; i++) gt_warn("%s", d.warnings[i]);
    if (d.count || files->unrecognised_count) writers->run->is_cut_off = true;
    free_damage(&d);
    return read;
}

/* Warns about files that have a name of rocprofv3 but are damaged; false with an error if that is not
 * allowed.
 */
static bool report_unrecognised(const gt_rocprof_files *files, const gt_read_options *options,
                                gt_error *error)
{
    for (size_t i = 0; i < files->unrecognised_count; i++) {
        if (options->strict) return gt_fail(error, "%s", files->unrecognised[i]);
        gt_warn("%s; the file is not read", files->unrecognised[i]);
    }
    return true;
}

gt_rocprof *gt_rocprof_read_folder(const char *folder, const gt_read_options *options, gt_error *error)
{
    gt_rocprof_files files;
    gt_rocprof *run = NULL;
    gt_read_options all = *options;
    all.wanted = (options->wanted & ~(unsigned)GT_WANT_CSV) | GT_WANT_ALL_PROCESSES;
    gt_trace_format preferred = options->wanted & GT_WANT_CSV ? GT_FORMAT_ROCPROF_CSV : GT_FORMAT_UNKNOWN;
    if (!gt_rocprof_files_find_as(&files, folder, preferred, error)) {
        gt_rocprof_files_free(&files);
        return NULL;
    }
    if (!report_unrecognised(&files, options, error)) {
        gt_rocprof_files_free(&files);
        return NULL;
    }
    if (files.is_newest) gt_info("%s: reading the newest run in this folder, %s/latest", folder, folder);
    if (files.count == 1 && files.groups[0].count == 1 &&
        files.groups[0].files[0].format == GT_FORMAT_ROCPROF_JSON) {
        run = gt_rocprof_read_json(files.groups[0].files[0].path, &all, error);
        if (run && files.unrecognised_count) run->is_cut_off = true;
    } else {
        bool has_passes = files.groups[files.count - 1].pass != files.groups[0].pass;
        if (has_passes && all.wanted & GT_WANT_COUNTERS) /* what tells processes apart */
            all.wanted |= GT_WANT_AGENTS | GT_WANT_DISPATCH_PROCESSES;
        gt_rocprof_writers writers = gt_rocprof_write(gt_rocprof_new_wanted(all.wanted));
        run = finish(&writers, read_files(&writers, &files, &all, error));
    }
    gt_rocprof_files_free(&files);
    return without_nan(run);
}

bool gt_rocprof_is_folder(const char *folder)
{
    gt_rocprof_files files;
    gt_error ignored;
    bool found = gt_rocprof_files_find(&files, folder, &ignored);
    gt_rocprof_files_free(&files);
    return found;
}
