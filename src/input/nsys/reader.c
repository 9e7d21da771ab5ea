/* Reads an export: opens it, reads its parts, and puts processes and threads in their places. */
#include "input/nsys/reader.h"

#include "base/progress.h"
#include "input/indexed_run.h"

/* ---- processes and launches ---- */

int64_t gt_nsys_pid(uint64_t key)
{
    return (int64_t)(key & 0xFFFFFF);
}

int64_t gt_nsys_thread(int64_t global_tid)
{
    return global_tid & 0xFFFFFF;
}

int64_t gt_nsys_process_of(gt_nsys_reading *r, int64_t global)
{
    uint64_t key = (uint64_t)global >> 24;
    uint32_t *number = gt_map_put(&r->process_numbers, key, 0);
    if (*number == GT_MAP_NONE) {
        *number = (uint32_t)r->process_count;
        GT_PUSH(r->processes, r->process_count, r->process_capacity, ((gt_nsys_process){.key = key}));
    }
    return *number;
}

int64_t gt_nsys_add_launch(gt_nsys_reading *r, int64_t process, int64_t correlation)
{
    if (!correlation) return 0;
    uint32_t *number = gt_map_put(&r->launch_numbers, (uint64_t)process, (uint64_t)correlation);
    if (*number == GT_MAP_NONE) {
        *number = (uint32_t)r->launch_count;
        GT_PUSH(r->launches, r->launch_count, r->launch_capacity, ((gt_nsys_launch){0}));
    }
    return GT_NSYS_THREAD_OF_LAUNCH + *number;
}

gt_nsys_launch *gt_nsys_find_launch(gt_nsys_reading *r, int64_t process, int64_t correlation)
{
    if (!correlation || !r->launch_count) return NULL;
    uint32_t number = gt_map_get(&r->launch_numbers, (uint64_t)process, (uint64_t)correlation);
    return number == GT_MAP_NONE ? NULL : &r->launches[number];
}

/* ---- putting it together ---- */

static int by_place(const void *a, const void *b)
{
    const gt_nsys_process *p = *(gt_nsys_process *const *)a, *q = *(gt_nsys_process *const *)b;
    if (p->has_kernels != q->has_kernels) return p->has_kernels ? -1 : 1;
    return p->key < q->key ? -1 : p->key > q->key;
}

/* Adds the processes to the run: those with kernels first, each in the order of their ids. Returns the new
 * number of each. */
static int64_t *order_processes(gt_nsys_reading *r)
{
    gt_nsys_process **sorted = gt_alloc((r->process_count + 1) * sizeof *sorted);
    int64_t *numbers = gt_alloc((r->process_count + 1) * sizeof *numbers);
    for (size_t i = 0; i < r->process_count; i++) sorted[i] = &r->processes[i];
    if (r->process_count) qsort(sorted, r->process_count, sizeof *sorted, by_place);
    for (size_t i = 0; i < r->process_count; i++) {
        gt_rocprof_process process = {.pid = gt_nsys_pid(sorted[i]->key), .hostname = r->run->hostname};
        numbers[sorted[i] - r->processes] = gt_rocprof_add_process(r->run, process);
        *gt_map_put(&r->process_numbers, sorted[i]->key, 0) = (uint32_t)i;
    }
    gt_free(sorted);
    return numbers;
}

static void append(gt_store *store, gt_store_writer *writer, int process_column, int thread_column,
                   const int64_t *numbers, size_t process_count, const int64_t *threads, size_t launch_count)
{
    if (!writer) return;
    gt_store_piece *piece = gt_store_writer_take(writer);
    if (process_column >= 0) gt_store_piece_replace(piece, (size_t)process_column, 0, numbers, process_count);
    if (thread_column >= 0)
        gt_store_piece_replace(piece, (size_t)thread_column, GT_NSYS_THREAD_OF_LAUNCH, threads, launch_count);
    gt_store_append(store, piece);
}

/* Replaces what was not known while the rows were written. */
static void place_rows(gt_nsys_reading *r)
{
    gt_rocprof_writers *w = r->writers;
    int64_t *numbers = order_processes(r), *threads = gt_alloc((r->launch_count + 1) * sizeof *threads);
    for (size_t i = 0; i < r->launch_count; i++) threads[i] = r->launches[i].thread;
    size_t count = r->process_count, launches = r->launch_count;
    bool has_process = gt_dispatch_width(r->run->wanted) > GT_DISPATCH_PROCESS;
    bool has_details = gt_copy_width(r->run->wanted) > GT_COPY_PROCESS;
    append(r->run->dispatches, w->dispatches, has_process ? GT_DISPATCH_PROCESS : -1, GT_DISPATCH_THREAD,
           numbers, count, threads, launches);
    append(r->run->copies, w->copies, has_details ? GT_COPY_PROCESS : -1, has_details ? GT_COPY_THREAD : -1,
           numbers, count, threads, launches);
    append(r->run->calls, w->calls, GT_CALL_PROCESS, -1, numbers, count, NULL, 0);
    append(r->run->graphs, w->graphs, GT_GRAPH_PROCESS, -1, numbers, count, NULL, 0);
    gt_free_all(numbers, threads);
}

/* The length of the capture, if the GPU's times are within it; else from the first to the last time on the
 * GPU. */
static void set_profiled_time(const gt_nsys_reading *r)
{
    bool has_events = r->first_ns <= r->last_ns;
    bool is_within = !has_events || (r->first_ns >= 0 && r->last_ns <= r->duration);
    r->run->init_ns = r->duration > 0 && is_within ? 0 : has_events ? r->first_ns : 0;
    r->run->fini_ns = r->duration > 0 && is_within ? r->duration : has_events ? r->last_ns : 0;
}

/* Says what a reader of the report could miss. */
static void warn_of_gaps(const gt_nsys_reading *r)
{
    const char *path = r->tables.sqlite.path;
    size_t recorded = r->kernel_count + r->copy_count + r->graph_count + r->call_count + r->range_count;
    if (r->graph_count)
        gt_warn("%s: %zu graph %s kernels; profile with --cuda-graph-trace=node to see them", path,
                r->graph_count, r->graph_count == 1 ? "launch hides its" : "launches hide their");
    else if (!recorded)
        gt_warn("%s: nothing was recorded: no kernels, copies, CUDA calls or NVTX ranges; profile with nsys "
                "profile --trace=cuda,nvtx",
                path);
    else if (!r->kernel_count)
        gt_warn("%s: no kernels: the table CUPTI_ACTIVITY_KIND_KERNEL is %s%s", path,
                gt_nsys_has_table(&r->tables, "CUPTI_ACTIVITY_KIND_KERNEL") ? "empty" : "missing",
                r->copy_count ? "" : ", and so are those of copies, memory that was set, and graphs");
    if (r->open_ranges)
        gt_warn("%s: NVTX ranges that never end: %zu; they are not counted", path, r->open_ranges);
    if (r->unnamed)
        gt_warn("%s: CUDA calls whose names the table StringIds does not have: %zu; what they did is unknown",
                path, r->unnamed);
}

static bool read_parts(gt_nsys_reading *r)
{
    bool read =
        gt_nsys_read_info(r) && gt_nsys_read_gpu(r) && gt_nsys_read_calls(r) && gt_nsys_read_ranges(r);
    if (!read) return false;
    place_rows(r);
    if (!gt_nsys_name_processes(r)) return false;
    set_profiled_time(r);
    r->run->api_calls = r->call_count;
    r->run->processes = r->run->process_count;
    if (r->run->process_count) r->run->pid = r->run->process[0].pid;
    warn_of_gaps(r);
    return true;
}

static void free_reading(gt_nsys_reading *r)
{
    gt_map *maps[] = {&r->process_numbers, &r->gpu_numbers, &r->launch_numbers, &r->kernels,
                      &r->kernel_full,     &r->domains,     &r->schema_numbers};
    for (size_t i = 0; i < GT_LENGTH(maps); i++) gt_map_free(maps[i]);
    gt_free_all(r->processes, r->gpus, r->launches, r->domain_names, r->schemas);
    gt_buffer_free(&r->name);
    gt_nsys_strings_end(&r->strings);
    gt_nsys_tables_close(&r->tables);
}

/* ---- files ---- */

static bool check_kind(const gt_nsys_tables *tables, const char *path, gt_error *error)
{
    switch (gt_nsys_tables_kind(tables)) {
    case GT_DATABASE_NSYS:
        return !tables->not_plain ||
               gt_fail(error, "%s: %s is a view or virtual table, not a table as nsys writes it", path,
                       tables->not_plain);
    case GT_DATABASE_NVPROF:
        return gt_fail_nvprof(path, error);
    default:
        return gt_fail(error, "%s: no tables of Nsight Systems in this database", path);
    }
}

bool gt_nsys_tables_open_export(gt_nsys_tables *tables, const char *path, gt_error *error)
{
    if (!gt_sqlite_is_complete(path, error)) return false;
    if (gt_sqlite_has_sibling(path, "-wal"))
        return gt_fail(error, "%s: incomplete database (a -wal file exists next to it); export it again",
                       path);
    if (!gt_nsys_tables_open(tables, path, error)) return false;
    if (check_kind(tables, path, error)) return true;
    gt_nsys_tables_close(tables);
    return false;
}

bool gt_fail_nvprof(const char *path, gt_error *error)
{
    return gt_fail(error,
                   "%s: database of nvprof or the NVIDIA Visual Profiler, unsupported; profile with nsys and "
                   "export with: nsys export --type sqlite",
                   path);
}

static gt_rocprof *read_export(gt_stream *stream, const char *path, const gt_read_options *options,
                               gt_error *error)
{
    (void)stream; /* SQLite reads the file itself */
    gt_nsys_reading r = {.options = options, .error = error, .first_ns = INT64_MAX, .last_ns = INT64_MIN};
    if (!gt_nsys_tables_open_export(&r.tables, path, error)) return NULL;
    gt_rocprof_writers writers = gt_rocprof_write(gt_rocprof_new_wanted(options->wanted));
    r.writers = &writers;
    r.run = writers.run;
    r.run->recorder = GT_RECORDER_NSYS;
    gt_progress_begin(path, 0);
    bool read = gt_nsys_strings_begin(&r.strings, &r.tables, r.run->strings, error) && read_parts(&r);
    gt_progress_end();
    free_reading(&r);
    gt_rocprof_write_end(&writers);
    if (read) return writers.run;
    gt_rocprof_free(writers.run);
    return NULL;
}

/* ---- the index of a file ---- */

enum { INDEX_KEY_MAX = 64 };

gt_rocprof *gt_nsys_read(gt_stream *stream, const char *path, const gt_read_options *options, gt_error *error)
{
    char key[INDEX_KEY_MAX];
    snprintf(key, sizeof key, "nsys export %x names %d", options->wanted, (int)options->kernel_names);
    return gt_indexed_run_read(stream, path, options, GT_INDEX_NSYS, key, read_export, error);
}
