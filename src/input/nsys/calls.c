/* What the threads of the host called: the CUDA runtime and driver, and functions of the operating system. */
#include "input/nsys/reader.h"

#include "base/progress.h"

enum { START, END, CLASS, THREAD, NAME, CORRELATION };
static const char *const call_columns[] = {"start",     "end",    "eventClass",
                                           "globalTid", "nameId", "correlationId"};

/* Of eventClass. */
enum { CLASS_DRIVER = 1, CLASS_OSRT = 27, CLASS_BACKTRACE = 67 };

/* The name of a function of the CUDA runtime without the version at its end: `cudaGraphLaunch` for
 * `cudaGraphLaunch_v10000`. Functions of the driver keep theirs, which are part of their names:
 * `cuMemAlloc_v2`. */
static gt_str without_version(gt_str name)
{
    enum { DIGITS_MIN = 4 };
    size_t digits = 0;
    while (digits < name.len && name.bytes[name.len - 1 - digits] >= '0' &&
           name.bytes[name.len - 1 - digits] <= '9')
        digits++;
    size_t len = name.len - digits;
    bool has = gt_str_starts_with(name, "cuda") && digits >= DIGITS_MIN && len > 2 &&
               memcmp(name.bytes + len - 2, "_v", 2) == 0;
    return has ? (gt_str){name.bytes, len - 2} : name;
}

/* Functions are few, so that their names are made once. */
static uint32_t function_name(gt_nsys_reading *r, gt_map *names, int64_t id)
{
    uint32_t *known = gt_map_put(names, (uint64_t)id, 0);
    if (*known != GT_MAP_NONE) return *known;
    *known = gt_nsys_string(&r->strings, id);
    if (*known == GT_STR_NONE) return GT_STR_NONE;
    gt_str full = gt_interner_get(r->run->strings, *known), name = without_version(full);
    if (name.len == full.len) return *known;
    gt_buffer copy = {0}; /* adding a string may move the others; it may hold zero bytes */
    gt_buffer_add(&copy, name.bytes, name.len);
    *known = gt_interner_add(r->run->strings, copy.bytes, copy.len);
    gt_buffer_free(&copy);
    return *known;
}

typedef struct call_reader {
    gt_nsys_reading *r;
    gt_map names;
    bool is_second; /* attempt: all launches are known */
    bool displaced; /* a call that was written as a launch turned out not to be the first */
    uint32_t runtime, driver, again, osrt; /* kinds */
} call_reader;

static void write_call(call_reader *c, gt_nsys_rows *rows, gt_call_domain domain, uint32_t kind,
                       int64_t process, int64_t correlation)
{
    gt_nsys_reading *r = c->r;
    gt_store_cell cells[GT_CALL_COLUMNS];
    uint64_t present = 0;
    int64_t start = gt_nsys_int_or(rows, START, 0), end = gt_nsys_int_or(rows, END, 0), id;
    if (gt_nsys_is_null(rows, START)) end = 0; /* the report leaves out calls without times */
    if (rows->failed) return;
    gt_nsys_put(&present, cells, GT_CALL_DOMAIN, domain);
    gt_nsys_put(&present, cells, GT_CALL_KIND, kind);
    gt_nsys_put(&present, cells, GT_CALL_START, start);
    gt_nsys_put(&present, cells, GT_CALL_END, end);
    gt_nsys_put(&present, cells, GT_CALL_PROCESS, process);
    gt_nsys_put(&present, cells, GT_CALL_THREAD, gt_nsys_thread(gt_nsys_int_or(rows, THREAD, 0)));
    gt_nsys_put(&present, cells, GT_CALL_CORRELATION, correlation);
    uint32_t name = gt_nsys_int(rows, NAME, &id) ? function_name(r, &c->names, id) : GT_STR_NONE;
    if (name != GT_STR_NONE) gt_nsys_put(&present, cells, GT_CALL_NAME, name);
    r->unnamed += name == GT_STR_NONE && domain == GT_CALL_HIP;
    gt_store_writer_add(r->writers->calls, present, cells);
}

/* Whether a call is the one that launched the GPU events with its id. Calls are mostly in the order of time,
 * so that the first one met is the first. */
static bool is_launch(call_reader *c, gt_nsys_launch *launch, int64_t start, int64_t thread)
{
    if (c->is_second) {
        bool is = launch->start == start && !launch->is_written;
        launch->is_written |= is;
        return is;
    }
    if (launch->is_found && start >= launch->start) return false;
    c->displaced |= launch->is_found;
    *launch = (gt_nsys_launch){.start = start, .thread = (uint32_t)thread, .is_found = true};
    return true;
}

static void add_cuda_call(call_reader *c, gt_nsys_rows *rows)
{
    gt_nsys_reading *r = c->r;
    int64_t class = gt_nsys_int_or(rows, CLASS, 0), start, correlation = gt_nsys_int_or(rows, CORRELATION, 0);
    if (class == CLASS_BACKTRACE || rows->failed) return;
    int64_t global = gt_nsys_int_or(rows, THREAD, 0), process = gt_nsys_process_of(r, global);
    r->call_count++;
    gt_nsys_launch *launch = gt_nsys_find_launch(r, process, correlation);
    uint32_t kind = class == CLASS_DRIVER ? c->driver : c->runtime;
    if (launch && gt_nsys_int(rows, START, &start) && !is_launch(c, launch, start, gt_nsys_thread(global)))
        kind = c->again;
    if (r->writers->calls) write_call(c, rows, GT_CALL_HIP, kind, process, correlation);
}

static void add_system_call(call_reader *c, gt_nsys_rows *rows)
{
    if (gt_nsys_int_or(rows, CLASS, CLASS_OSRT) != CLASS_OSRT || rows->failed) return;
    int64_t process = gt_nsys_process_of(c->r, gt_nsys_int_or(rows, THREAD, 0));
    write_call(c, rows, GT_CALL_OSRT, c->osrt, process, 0);
}

static bool read_table(call_reader *c, const char *table, size_t column_count,
                       void (*add)(call_reader *c, gt_nsys_rows *rows))
{
    enum { PROGRESS_ROWS = 4096 };
    gt_nsys_rows rows;
    gt_nsys_begin(&rows, &c->r->tables, table, call_columns, column_count, c->r->error);
    for (size_t row = 1; !c->r->strings.failed && gt_nsys_next(&rows); row++) {
        add(c, &rows);
        if (row % PROGRESS_ROWS == 0) gt_progress_add(0, PROGRESS_ROWS);
    }
    return gt_nsys_end(&rows) && !c->r->strings.failed;
}

static bool read_cuda_calls(call_reader *c)
{
    return read_table(c, "CUPTI_ACTIVITY_KIND_RUNTIME", GT_LENGTH(call_columns), add_cuda_call) &&
           read_table(c, "CUPTI_ACTIVITY_KIND_DRIVER", GT_LENGTH(call_columns), add_cuda_call);
}

/* Reads the calls once more, now that the first one of each id is known. */
static bool read_again(call_reader *c)
{
    gt_nsys_reading *r = c->r;
    gt_store_piece_free(gt_store_writer_take(r->writers->calls));
    c->is_second = true;
    r->call_count = r->unnamed = 0;
    return read_cuda_calls(c);
}

bool gt_nsys_read_calls(gt_nsys_reading *r)
{
    gt_interner *strings = r->run->strings;
    call_reader c = {.r = r,
                     .runtime = gt_interner_add_cstr(strings, "CUDA_RUNTIME_API"),
                     .driver = gt_interner_add_cstr(strings, "CUDA_DRIVER_API"),
                     .again = gt_interner_add_cstr(strings, GT_CALL_SAME_LAUNCH),
                     .osrt = gt_interner_add_cstr(strings, "OSRT_API")};
    bool read = read_cuda_calls(&c);
    if (read && c.displaced && r->writers->calls) read = read_again(&c);
    if (read && r->writers->calls) read = read_table(&c, "OSRT_API", CORRELATION, add_system_call);
    gt_map_free(&c.names);
    return read;
}
