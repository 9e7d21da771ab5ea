/* Reads each trace twice: the first pass classifies processes as GPU or CPU by the categories of their
 * events, the second copies the events. */
#include "sweep/merge.h"
#include "os/paths.h"
#include "output/file.h"
#include "sweep/layout.h"
#include "transform/fuse_event.h"

enum { BATCH_BYTES = 256 * 1024, PROCESSES_A_RANK = 1000, CPU_PROCESS = 500, ID_SHIFT_BITS = 32 };

/* A process with an event of one of these categories is a GPU; otherwise, with one of those, a CPU; all
 * others are dropped. */
static const char *const GPU_MARKS[] = {"kernel", "gpu_memcpy", "gpu_memset", "gpu_user_annotation"};
static const char *const CPU_MARKS[] = {"cpu_op", "cuda_runtime", "user_annotation", "fwdbwd"};
static const char *const KEPT[] = {
    "kernel", "gpu_memcpy", "gpu_memset",      "cuda_runtime", "cuda_driver",      "gpu_user_annotation",
    "Kernel", "ac2g",       "user_annotation", "fwdbwd",       "cpu_instant_event"};

typedef enum process_kind { OTHER, CPU, GPU } process_kind;

typedef struct merger {
    const gt_merge_options *options;
    gt_text_file *file;
    gt_buffer batch; /* events that are not yet passed to the file */
    uint64_t written;

    /* of the rank being read */
    size_t rank;
    gt_interner *names;   /* process and thread ids as written */
    process_kind *kinds;  /* by the string id of the process */
    size_t kind_capacity; /* kinds from here on are OTHER */
    gt_map threads;       /* (process, thread) to the new thread */
    uint32_t thread_count[3];
    uint64_t added[3];
} merger;

/* The string id of a member; that of `by_default` if the event lacks it. */
static uint32_t id_of(merger *m, const gt_fuse_event *event, gt_fuse_member member, const char *by_default)
{
    gt_str text = gt_fuse_event_written(event, member);
    return text.len ? gt_interner_add(m->names, text.bytes, text.len)
                    : gt_interner_add_cstr(m->names, by_default);
}

static bool has_process(const gt_fuse_event *event)
{
    return event->at[GT_FUSE_PROCESS].end != 0;
}

/* ---- first pass: kinds of processes ---- */

static process_kind *kind_of(merger *m, uint32_t process)
{
    size_t old = m->kind_capacity;
    if (process >= old) {
        m->kinds = gt_grow(m->kinds, &m->kind_capacity, (size_t)process + 1, sizeof *m->kinds);
        for (size_t i = old; i < m->kind_capacity; i++) m->kinds[i] = OTHER;
    }
    return &m->kinds[process];
}

static void note_kind(merger *m, const gt_fuse_event *event)
{
    gt_str category = gt_fuse_event_value(event, GT_FUSE_CATEGORY);
    process_kind kind = gt_str_is_one_of(category, GPU_MARKS, GT_LENGTH(GPU_MARKS))   ? GPU
                        : gt_str_is_one_of(category, CPU_MARKS, GT_LENGTH(CPU_MARKS)) ? CPU
                                                                                      : OTHER;
    if (kind == OTHER || !has_process(event)) return;
    process_kind *known = kind_of(m, id_of(m, event, GT_FUSE_PROCESS, "0"));
    if (kind > *known) *known = kind;
}

/* ---- second pass: events ---- */

static void flush_events(merger *m)
{
    if (m->batch.len) gt_text_file_write(m->file, gt_buffer_str(&m->batch));
    m->batch.len = 0;
}

static uint32_t new_thread(merger *m, uint32_t process, uint32_t thread, process_kind kind)
{
    uint32_t *place = gt_map_put(&m->threads, process, thread);
    if (*place == GT_MAP_NONE) *place = m->thread_count[kind]++;
    return *place;
}

static void copy_event(merger *m, const gt_fuse_event *event)
{
    gt_str category = gt_fuse_event_value(event, GT_FUSE_CATEGORY);
    if (!gt_str_is_one_of(category, KEPT, GT_LENGTH(KEPT))) return;
    char prefix[32];
    snprintf(prefix, sizeof prefix, "[R%zu] ", m->rank);
    gt_fuse_label label = {.rank = m->rank, .name_prefix = prefix, .has_process = has_process(event)};
    if (label.has_process) {
        uint32_t process = id_of(m, event, GT_FUSE_PROCESS, "0");
        process_kind kind = *kind_of(m, process);
        if (kind == OTHER) return;
        label.process = (int64_t)m->rank * PROCESSES_A_RANK + (kind == CPU ? CPU_PROCESS : 0);
        label.thread = new_thread(m, process, id_of(m, event, GT_FUSE_THREAD, "0"), kind);
        m->added[kind]++;
    }
    if (!m->options->keep_ids && gt_str_equals(category, "ac2g"))
        label.id_shift = (gt_wide_int)m->rank << ID_SHIFT_BITS;
    if (m->written++) gt_buffer_add_cstr(&m->batch, ",\n");
    gt_fuse_event_relabel(event, &label, &m->batch);
    if (m->batch.len >= BATCH_BYTES) flush_events(m);
}

/* ---- one rank ---- */

typedef struct pass {
    merger *merger;
    void (*see)(merger *m, const gt_fuse_event *event);
} pass;

static bool handle_record(gt_fuse_walk *walk)
{
    pass *p = walk->context;
    gt_fuse_event event;
    bool is_event;
    if (!gt_fuse_event_read(&walk->json, &event, &is_event)) return false;
    if (is_event) p->see(p->merger, &event);
    gt_json_clear_mark(&walk->json);
    return true;
}

static bool walk_trace(merger *m, const char *path, void (*see)(merger *, const gt_fuse_event *),
                       gt_error *error)
{
    gt_fuse_walk walk;
    pass p = {m, see};
    return gt_fuse_walk_trace(&walk, path, handle_record, &p, error);
}

static void begin_rank(merger *m, size_t rank)
{
    gt_interner_free(m->names);
    gt_map_free(&m->threads);
    for (size_t i = 0; i < m->kind_capacity; i++) m->kinds[i] = OTHER;
    m->rank = rank;
    m->names = gt_interner_new();
    for (size_t i = 0; i < 3; i++) m->thread_count[i] = 0, m->added[i] = 0;
}

/* A trace that fails in the first pass has written nothing yet. One that fails in the second pass was
 * changed in between. */
static bool merge_rank(merger *m, size_t rank, const char *path, gt_error *error)
{
    gt_error reason;
    begin_rank(m, rank);
    if (!walk_trace(m, path, note_kind, &reason)) {
        gt_warn("rank %zu skipped: %s", rank, reason.text);
        return true;
    }
    if (!walk_trace(m, path, copy_event, error)) return false;
    if (!m->options->quiet)
        printf("rank %zu: %" PRIu64 " GPU events, %" PRIu64 " CPU events\n", rank, m->added[GPU],
               m->added[CPU]);
    return true;
}

/* ---- names of processes ---- */

static void add_metadata(merger *m, int64_t process, const char *name, const char *args)
{
    char *record = gt_format("%s{\"name\":\"%s\",\"ph\":\"M\",\"cat\":\"__metadata\",\"pid\":%" PRId64
                             ",\"tid\":0,\"ts\":0,\"args\":{%s}}",
                             m->written++ ? ",\n" : "", name, process, args);
    gt_buffer_add_cstr(&m->batch, record);
    gt_free(record);
}

static void name_processes(merger *m, size_t rank)
{
    char args[80];
    for (int is_cpu = 0; is_cpu < 2; is_cpu++) {
        int64_t process = (int64_t)rank * PROCESSES_A_RANK + (is_cpu ? CPU_PROCESS : 0);
        snprintf(args, sizeof args, "\"name\":\"Rank %zu - %s\"", rank,
                 is_cpu ? "CPU/CUDA Runtime" : "GPU Stream");
        add_metadata(m, process, "process_name", args);
        snprintf(args, sizeof args, "\"sort_index\":%zu", 2 * rank + (size_t)is_cpu);
        add_metadata(m, process, "process_sort_index", args);
    }
    flush_events(m);
}

/* ---- all ranks ---- */

static bool merge_all(merger *m, char *const *paths, size_t rank_count, gt_error *error)
{
    static const gt_str begin = {"{\"traceEvents\":[\n", 17}, end = {"\n]}\n", 4};
    gt_text_file_write(m->file, begin);
    for (size_t rank = 0; rank < rank_count; rank++)
        if (paths[rank] && !merge_rank(m, rank, paths[rank], error)) return false;
    for (size_t rank = 0; rank < rank_count; rank++) name_processes(m, rank);
    gt_text_file_write(m->file, end);
    return true;
}

bool gt_merge_ranks(gt_output *output, const char *path, const gt_merge_traces *traces,
                    const gt_merge_options *options, uint64_t *events, gt_error *error)
{
    merger m = {.options = options};
    gt_error closing;
    m.file = gt_text_file_open(output, path, options->threads, error);
    if (!m.file) return false;
    bool merged = merge_all(&m, traces->paths, traces->count, error);
    bool closed = gt_text_file_close(m.file, &closing);
    if (merged && !closed) *error = closing;
    *events = m.written;
    gt_buffer_free(&m.batch);
    gt_interner_free(m.names);
    gt_map_free(&m.threads);
    gt_free(m.kinds);
    return merged && closed;
}

/* ---- finding the traces ---- */

static const char USUAL_NAME[] = "trace_step19.json";
enum { USUAL_RANKS = 8 };

/* The trace with this name in the folder of a rank, or NULL. */
static char *named_trace(const char *folder, size_t rank, const char *name)
{
    char *path = gt_format("%s/rank%zu/%s", folder, rank, name);
    if (gt_path_is_file(path)) return path;
    gt_free(path);
    return NULL;
}

gt_merge_traces gt_merge_find_traces(const char *folder, const char *name, size_t rank_count, size_t most)
{
    gt_sweep_traces found = gt_sweep_traces_in(folder);
    if (!rank_count) {
        uint64_t last = found.count ? (uint64_t)found.items[found.count - 1].rank : USUAL_RANKS - 1;
        rank_count = last < most ? (size_t)last + 1 : most;
    }
    gt_merge_traces traces = {gt_alloc(rank_count * sizeof *traces.paths), rank_count};
    for (size_t rank = 0; rank < rank_count; rank++)
        traces.paths[rank] = named_trace(folder, rank, name ? name : USUAL_NAME);
    for (size_t i = 0; i < found.count && !name; i++) {
        size_t rank = (size_t)found.items[i].rank;
        if (rank < rank_count && !traces.paths[rank]) traces.paths[rank] = gt_strdup(found.items[i].path);
    }
    for (size_t rank = 0; rank < rank_count; rank++)
        if (!traces.paths[rank]) gt_warn("Skipping rank %zu - file not found", rank);
    gt_sweep_traces_free(&found);
    return traces;
}

void gt_merge_traces_free(gt_merge_traces *traces)
{
    for (size_t rank = 0; rank < traces->count; rank++) gt_free(traces->paths[rank]);
    gt_free(traces->paths);
    *traces = (gt_merge_traces){0};
}
