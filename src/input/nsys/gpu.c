/* What ran on the GPUs: kernels, copies, memory that was set, and launches of whole graphs. */
#include "input/nsys/reader.h"

#include "base/progress.h"

enum { PROGRESS_ROWS = 4096 };

static void show_progress(size_t row)
{
    if (row % PROGRESS_ROWS == 0) gt_progress_add(0, PROGRESS_ROWS);
}

/* ---- what all these tables have ---- */

enum { START, END, DEVICE, STREAM, CORRELATION, PROCESS, FIRST_OTHER };
#define COMMON "start", "end", "deviceId", "streamId", "correlationId", "globalPid"

typedef struct gpu_event {
    int64_t start, end, device, process, correlation, agent;
} gpu_event;

/* The GPU that a process calls `device`; the number itself where the export does not say. */
static int64_t gpu_of(const gt_nsys_reading *r, int64_t process, int64_t device)
{
    if (!r->gpu_count) return device;
    int64_t pid = gt_nsys_pid(r->processes[process].key);
    uint32_t number = gt_map_get(&r->gpu_numbers, (uint64_t)pid, (uint64_t)device);
    return number == GT_MAP_NONE ? device : r->gpus[number];
}

/* False for a row that ends the reading. The report leaves out events without times. */
static bool read_event(gt_nsys_reading *r, gt_nsys_rows *rows, gpu_event *event)
{
    event->start = gt_nsys_int_or(rows, START, 0);
    event->end = gt_nsys_is_null(rows, START) ? 0 : gt_nsys_int_or(rows, END, 0);
    if (rows->failed) return false;
    event->device = gt_nsys_int_or(rows, DEVICE, 0);
    event->correlation = gt_nsys_int_or(rows, CORRELATION, 0);
    event->process = gt_nsys_process_of(r, gt_nsys_int_or(rows, PROCESS, 0));
    event->agent = gpu_of(r, event->process, event->device);
    if (!gt_account_judge(event->start, event->end)) {
        r->first_ns = event->start < r->first_ns ? event->start : r->first_ns;
        r->last_ns = event->end > r->last_ns ? event->end : r->last_ns;
    }
    return !rows->failed;
}

/* Sets a cell from a column, unless that is NULL. */
static void set(uint64_t *present, gt_store_cell *cells, int slot, gt_nsys_rows *rows, int column)
{
    int64_t value;
    if (gt_nsys_int(rows, column, &value)) gt_nsys_put(present, cells, slot, value);
}

/* ---- kernels ---- */

enum { SHORT = FIRST_OTHER, DEMANGLED, MANGLED, SHARED_STATIC, SHARED_DYNAMIC, FIRST_SHAPE };

/* Columns from FIRST_SHAPE on. */
static const int shape_slots[] = {GT_DISPATCH_ID,      GT_DISPATCH_GRID_X,       GT_DISPATCH_GRID_Y,
                                  GT_DISPATCH_GRID_Z,  GT_DISPATCH_BLOCK_X,      GT_DISPATCH_BLOCK_Y,
                                  GT_DISPATCH_BLOCK_Z, GT_DISPATCH_SCRATCH_BYTES};

static const char *const kernel_columns[] = {COMMON,
                                             "shortName",
                                             "demangledName",
                                             "mangledName",
                                             "staticSharedMemory",
                                             "dynamicSharedMemory",
                                             "gridId",
                                             "gridX",
                                             "gridY",
                                             "gridZ",
                                             "blockX",
                                             "blockY",
                                             "blockZ",
                                             "localMemoryPerThread"};

/* The id of the wanted kind of name; if there is none, that of the demangled name, or else of the short one.
 */
static bool name_id_of(const gt_nsys_reading *r, gt_nsys_rows *rows, int64_t *id)
{
    static const int columns[] = {[GT_KERNEL_NAMES_SHORT] = SHORT,
                                  [GT_KERNEL_NAMES_DEMANGLED] = DEMANGLED,
                                  [GT_KERNEL_NAMES_MANGLED] = MANGLED};
    return gt_nsys_int(rows, columns[r->options->kernel_names], id) || gt_nsys_int(rows, DEMANGLED, id) ||
           gt_nsys_int(rows, SHORT, id);
}

/* Kernels are numbered by the ids of their names; one whose id is no string is called after the id. */
static int64_t kernel_of(gt_nsys_reading *r, gt_nsys_rows *rows)
{
    int64_t id, full;
    if (!name_id_of(r, rows, &id)) return GT_NO_KERNEL_ID;
    uint32_t *known = gt_map_put(&r->kernels, (uint64_t)id, 0);
    if (*known == GT_MAP_NONE) {
        *known = gt_nsys_string(&r->strings, id);
        if (*known != GT_STR_NONE) gt_kernel_names_set(r->run, id, *known);
    }
    if (r->options->kernel_names == GT_KERNEL_NAMES_SHORT && gt_nsys_int(rows, DEMANGLED, &full)) {
        uint32_t text = *known;
        uint32_t *noted = gt_map_put(&r->kernel_full, (uint64_t)id, (uint64_t)full);
        if (*noted == GT_MAP_NONE && text != GT_STR_NONE) gt_kernel_names_note(r->run, text, (uint64_t)full);
        *noted = 0;
    }
    return id;
}

static void add_kernel(gt_nsys_reading *r, gt_nsys_rows *rows)
{
    gt_store_cell cells[GT_DISPATCH_COLUMNS];
    uint64_t present = 0;
    gpu_event event;
    if (!read_event(r, rows, &event)) return;
    gt_nsys_put(&present, cells, GT_DISPATCH_START, event.start);
    gt_nsys_put(&present, cells, GT_DISPATCH_END, event.end);
    gt_nsys_put(&present, cells, GT_DISPATCH_AGENT, event.agent);
    gt_nsys_put(&present, cells, GT_DISPATCH_PROCESS, event.process);
    gt_nsys_put(&present, cells, GT_DISPATCH_CORRELATION, event.correlation);
    gt_nsys_put(&present, cells, GT_DISPATCH_THREAD, gt_nsys_add_launch(r, event.process, event.correlation));
    gt_nsys_put(&present, cells, GT_DISPATCH_KERNEL_ID, kernel_of(r, rows));
    set(&present, cells, GT_DISPATCH_STREAM, rows, STREAM);
    for (size_t i = 0; i < GT_LENGTH(shape_slots); i++)
        set(&present, cells, shape_slots[i], rows, FIRST_SHAPE + (int)i);
    int64_t shared;
    if (!__builtin_add_overflow(gt_nsys_int_or(rows, SHARED_STATIC, 0),
                                gt_nsys_int_or(rows, SHARED_DYNAMIC, 0), &shared))
        gt_nsys_put(&present, cells, GT_DISPATCH_LDS_BYTES, shared);
    r->processes[event.process].has_kernels = true;
    r->kernel_count++;
    gt_rocprof_write_dispatch(r->writers, present, cells);
}

/* ---- copies and memory that was set ---- */

enum { BYTES = FIRST_OTHER, COPY_KIND, SOURCE, DESTINATION, FROM, TO };

static const char *const copy_columns[] = {COMMON,        "bytes",   "copyKind", "srcDeviceId",
                                           "dstDeviceId", "srcKind", "dstKind"};

static const gt_copy_direction directions[] = {
    [0] = GT_COPY_NOT_KNOWN,
    [1] = GT_COPY_HOST_TO_DEVICE,
    [2] = GT_COPY_DEVICE_TO_HOST,
    [3] = GT_COPY_HOST_TO_ARRAY,
    [4] = GT_COPY_ARRAY_TO_HOST,
    [5] = GT_COPY_ARRAY_TO_ARRAY,
    [6] = GT_COPY_ARRAY_TO_DEVICE,
    [7] = GT_COPY_DEVICE_TO_ARRAY,
    [8] = GT_COPY_DEVICE_TO_DEVICE,
    [9] = GT_COPY_HOST_TO_HOST,
    [10] = GT_COPY_PEER_TO_PEER,
    [11] = GT_COPY_UNIFIED_HOST_TO_DEVICE,
    [12] = GT_COPY_UNIFIED_DEVICE_TO_HOST,
    [13] = GT_COPY_UNIFIED_DEVICE_TO_DEVICE,
};

static void write_copy(gt_nsys_reading *r, gt_nsys_rows *rows, const gpu_event *event, int64_t kind,
                       gt_copy_direction direction)
{
    gt_store_cell cells[GT_COPY_COLUMNS];
    uint64_t present = 0;
    int64_t other;
    gt_nsys_put(&present, cells, GT_COPY_START, event->start);
    gt_nsys_put(&present, cells, GT_COPY_END, event->end);
    gt_nsys_put(&present, cells, GT_COPY_PROCESS, event->process);
    gt_nsys_put(&present, cells, GT_COPY_DIRECTION, direction);
    gt_nsys_put(&present, cells, GT_COPY_CORRELATION, event->correlation);
    gt_nsys_put(&present, cells, GT_COPY_THREAD, gt_nsys_add_launch(r, event->process, event->correlation));
    if (direction == GT_COPY_OTHER_KIND) gt_nsys_put(&present, cells, GT_COPY_KIND, kind);
    if (gt_copy_is_from_gpu(direction)) gt_nsys_put(&present, cells, GT_COPY_SOURCE, event->agent);
    if (gt_copy_is_to_gpu(direction)) gt_nsys_put(&present, cells, GT_COPY_DESTINATION, event->agent);
    /* Only copies between GPUs have these two. */
    if (direction != GT_COPY_SET && gt_copy_is_from_gpu(direction) && gt_nsys_int(rows, SOURCE, &other))
        gt_nsys_put(&present, cells, GT_COPY_SOURCE, gpu_of(r, event->process, other));
    if (direction != GT_COPY_SET && gt_copy_is_to_gpu(direction) && gt_nsys_int(rows, DESTINATION, &other))
        gt_nsys_put(&present, cells, GT_COPY_DESTINATION, gpu_of(r, event->process, other));
    if (direction != GT_COPY_SET) set(&present, cells, GT_COPY_FROM, rows, FROM);
    if (direction != GT_COPY_SET) set(&present, cells, GT_COPY_TO, rows, TO);
    set(&present, cells, GT_COPY_BYTES, rows, BYTES);
    set(&present, cells, GT_COPY_STREAM, rows, STREAM);
    r->copy_count++;
    gt_rocprof_write_copy(r->writers, present, cells);
}

static void add_copy(gt_nsys_reading *r, gt_nsys_rows *rows)
{
    gpu_event event;
    int64_t kind = 0;
    if (!read_event(r, rows, &event)) return;
    gt_nsys_int(rows, COPY_KIND, &kind);
    bool is_known = kind >= 0 && kind < (int64_t)GT_LENGTH(directions);
    write_copy(r, rows, &event, kind, is_known ? directions[kind] : GT_COPY_OTHER_KIND);
}

static void add_set(gt_nsys_reading *r, gt_nsys_rows *rows)
{
    gpu_event event;
    if (read_event(r, rows, &event)) write_copy(r, rows, &event, 0, GT_COPY_SET);
}

/* ---- graphs ---- */

enum { GRAPH_ID = FIRST_OTHER };
static const char *const graph_columns[] = {COMMON, "graphId"};

static void add_graph(gt_nsys_reading *r, gt_nsys_rows *rows)
{
    gt_store_cell cells[GT_GRAPH_COLUMNS];
    uint64_t present = 0;
    gpu_event event;
    if (!read_event(r, rows, &event)) return;
    gt_nsys_put(&present, cells, GT_GRAPH_START, event.start);
    gt_nsys_put(&present, cells, GT_GRAPH_END, event.end);
    gt_nsys_put(&present, cells, GT_GRAPH_PROCESS, event.process);
    gt_nsys_put(&present, cells, GT_GRAPH_AGENT, event.agent);
    gt_nsys_put(&present, cells, GT_GRAPH_CORRELATION, event.correlation);
    set(&present, cells, GT_GRAPH_STREAM, rows, STREAM);
    set(&present, cells, GT_GRAPH_ID, rows, GRAPH_ID);
    r->graph_count++;
    gt_rocprof_write_graph(r->writers, present, cells);
}

/* ---- tables ---- */

static const struct {
    const char *table;
    const char *const *columns;
    size_t column_count;
    void (*add)(gt_nsys_reading *r, gt_nsys_rows *rows);
} gpu_tables[] = {
    {"CUPTI_ACTIVITY_KIND_KERNEL", kernel_columns, GT_LENGTH(kernel_columns), add_kernel},
    {"CUPTI_ACTIVITY_KIND_MEMCPY", copy_columns, GT_LENGTH(copy_columns), add_copy},
    {"CUPTI_ACTIVITY_KIND_MEMSET", copy_columns, BYTES + 1, add_set},
    {"CUPTI_ACTIVITY_KIND_GRAPH_TRACE", graph_columns, GT_LENGTH(graph_columns), add_graph},
};

bool gt_nsys_read_gpu(gt_nsys_reading *r)
{
    bool read = true;
    for (size_t i = 0; read && i < GT_LENGTH(gpu_tables); i++) {
        gt_nsys_rows rows;
        gt_nsys_begin(&rows, &r->tables, gpu_tables[i].table, gpu_tables[i].columns,
                      gpu_tables[i].column_count, r->error);
        for (size_t row = 1; !r->strings.failed && gt_nsys_next(&rows); row++) {
            gpu_tables[i].add(r, &rows);
            show_progress(row);
        }
        read = gt_nsys_end(&rows) && !r->strings.failed;
    }
    return read;
}
