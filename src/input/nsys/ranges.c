/* NVTX ranges: what the program says that it is doing. A range belongs to a domain, which libraries name
 * themselves: its name in the sheets is DOMAIN:NAME. Ranges of NCCL are also kept as calls of that library,
 * with the sizes of their messages where those were recorded. */
#include "input/nsys/reader.h"

#include "base/progress.h"

bool gt_nvtx_is_range(int64_t type)
{
    return type == GT_NVTX_PUSH_POP || type == GT_NVTX_START_END || type == GT_NVTX_PUSH_POP_TEXT ||
           type == GT_NVTX_START_END_TEXT;
}

enum { START, END, TYPE, TEXT, TEXT_ID, THREAD, END_THREAD, DOMAIN, DATA };
static const char *const range_columns[] = {"start",     "end",          "eventType", "text",      "textId",
                                            "globalTid", "endGlobalTid", "domainId",  "binaryData"};

/* The name of an event; "" if it has none. */
static uint32_t name_of(gt_nsys_reading *r, gt_nsys_rows *rows)
{
    int64_t id;
    uint32_t name = gt_nsys_int(rows, TEXT_ID, &id) ? gt_nsys_string(&r->strings, id) : GT_STR_NONE;
    return name != GT_STR_NONE ? name : gt_nsys_intern(&r->strings, gt_nsys_text(rows, TEXT));
}

/* ---- domains ---- */

static void add_domain(gt_nsys_reading *r, gt_nsys_rows *rows)
{
    int64_t domain;
    if (!gt_nsys_int(rows, DOMAIN, &domain)) return;
    struct gt_nsys_domain found = {gt_nsys_int_or(rows, START, 0), name_of(r, rows)};
    int64_t process = gt_nsys_process_of(r, gt_nsys_int_or(rows, THREAD, 0));
    uint32_t *number = gt_map_put(&r->domains, (uint64_t)process, (uint64_t)domain);
    if (*number == GT_MAP_NONE) {
        *number = (uint32_t)r->domain_count;
        GT_PUSH(r->domain_names, r->domain_count, r->domain_capacity, found);
    } else if (found.start < r->domain_names[*number].start) {
        r->domain_names[*number] = found;
    }
}

static bool read_domains(gt_nsys_reading *r)
{
    gt_nsys_rows rows;
    gt_nsys_begin_where(&rows, &r->tables, "NVTX_EVENTS", range_columns, DATA, range_columns[TYPE],
                        GT_NVTX_DOMAIN_CREATE, r->error);
    while (!r->strings.failed && gt_nsys_next(&rows)) add_domain(r, &rows);
    return gt_nsys_end(&rows) && !r->strings.failed;
}

static uint32_t domain_of(gt_nsys_reading *r, gt_nsys_rows *rows, int64_t process)
{
    int64_t domain;
    if (!r->domain_count || !gt_nsys_int(rows, DOMAIN, &domain)) return GT_STR_NONE;
    uint32_t number = gt_map_get(&r->domains, (uint64_t)process, (uint64_t)domain);
    if (number == GT_MAP_NONE || r->domain_names[number].name == GT_STR_EMPTY) return GT_STR_NONE;
    return r->domain_names[number].name;
}

/* ---- ranges ---- */

/* Full names of ranges that were met lately. */
enum { CACHED = 1 << 12 };

typedef struct full_name {
    uint32_t domain, name, full;
} full_name;

typedef struct range_reader {
    gt_nsys_reading *r;
    full_name *cache;
    uint32_t nested, started, across, nccl; /* kinds */
} range_reader;

/* DOMAIN:NAME */
static uint32_t full_name_of(range_reader *reader, uint32_t domain, uint32_t name)
{
    gt_nsys_reading *r = reader->r;
    if (domain == GT_STR_NONE) return name;
    full_name *cached = &reader->cache[(domain * 31 + name) % CACHED];
    if (cached->full != GT_STR_NONE && cached->domain == domain && cached->name == name) return cached->full;
    gt_str parts[] = {
        gt_interner_get(r->run->strings, domain), {":", 1}, gt_interner_get(r->run->strings, name)};
    r->name.len = 0;
    for (size_t i = 0; i < GT_LENGTH(parts); i++) gt_buffer_add(&r->name, parts[i].bytes, parts[i].len);
    *cached = (full_name){domain, name, gt_interner_add(r->run->strings, r->name.bytes, r->name.len)};
    return cached->full;
}

/* A call of NCCL, such as ncclAllReduce. PyTorch's own ranges "nccl:all_reduce" are around such calls. */
static bool is_nccl(const gt_nsys_reading *r, uint32_t domain, uint32_t name)
{
    gt_str text = gt_interner_get(r->run->strings, name);
    return gt_str_equals(gt_interner_get(r->run->strings, domain), "NCCL") ||
           (gt_str_starts_with(text, "nccl") && text.bytes[4] >= 'A' && text.bytes[4] <= 'Z');
}

static void add_message(range_reader *reader, gt_nsys_rows *rows, uint32_t name, int64_t start, int64_t end)
{
    enum { DATA_MAX = 64 << 10 };
    gt_nsys_reading *r = reader->r;
    gt_nsys_payload payload;
    if (gt_nsys_is_null(rows, DATA)) return;
    gt_str data = gt_nsys_blob(rows, DATA);
    bool is_text = sqlite3_column_type(rows->rows, DATA + 1) == SQLITE_TEXT;
    if (data.len > 2 * DATA_MAX || !gt_nsys_read_payload(r, data, is_text, &payload)) return;
    gt_store_cell cells[GT_MESSAGE_COLUMNS];
    uint64_t present = 0;
    gt_nsys_put(&present, cells, GT_MESSAGE_NAME, name);
    if (payload.communicator[0])
        gt_nsys_put(&present, cells, GT_MESSAGE_COMMUNICATOR,
                    gt_interner_add_cstr(r->run->strings, payload.communicator));
    gt_nsys_put(&present, cells, GT_MESSAGE_BYTES, payload.bytes);
    gt_nsys_put(&present, cells, GT_MESSAGE_START, start);
    gt_nsys_put(&present, cells, GT_MESSAGE_END, end);
    gt_rocprof_write_message(r->writers, present, cells);
}

/* The kind of a range says whether its calls can be told: those of another thread than it ends on cannot. */
static uint32_t kind_of(const range_reader *reader, int64_t type, bool ends_elsewhere)
{
    if (ends_elsewhere) return reader->across;
    return type == GT_NVTX_PUSH_POP || type == GT_NVTX_PUSH_POP_TEXT ? reader->nested : reader->started;
}

static void add_range(range_reader *reader, gt_nsys_rows *rows)
{
    gt_nsys_reading *r = reader->r;
    gt_store_cell cells[GT_CALL_COLUMNS];
    uint64_t present = 0;
    int64_t type = gt_nsys_int_or(rows, TYPE, 0), start, end, ends_on;
    if (!gt_nvtx_is_range(type) || rows->failed) return;
    if (!gt_nsys_int(rows, START, &start) || !gt_nsys_int(rows, END, &end)) {
        r->open_ranges += !rows->failed;
        return;
    }
    int64_t thread = gt_nsys_int_or(rows, THREAD, 0), process = gt_nsys_process_of(r, thread);
    bool ends_elsewhere = gt_nsys_int(rows, END_THREAD, &ends_on) && ends_on != thread;
    uint32_t domain = domain_of(r, rows, process), name = name_of(r, rows);
    gt_nsys_put(&present, cells, GT_CALL_DOMAIN, GT_CALL_MARKER);
    gt_nsys_put(&present, cells, GT_CALL_KIND, kind_of(reader, type, ends_elsewhere));
    gt_nsys_put(&present, cells, GT_CALL_NAME, full_name_of(reader, domain, name));
    gt_nsys_put(&present, cells, GT_CALL_START, start);
    gt_nsys_put(&present, cells, GT_CALL_END, end);
    gt_nsys_put(&present, cells, GT_CALL_PROCESS, process);
    gt_nsys_put(&present, cells, GT_CALL_THREAD, gt_nsys_thread(thread));
    r->range_count++;
    gt_store_writer_add(r->writers->calls, present, cells);
    if (!is_nccl(r, domain, name)) return;
    gt_nsys_put(&present, cells, GT_CALL_DOMAIN, GT_CALL_RCCL);
    gt_nsys_put(&present, cells, GT_CALL_KIND, reader->nccl);
    gt_nsys_put(&present, cells, GT_CALL_NAME, name);
    gt_store_writer_add(r->writers->calls, present, cells);
    add_message(reader, rows, name, start, end);
}

bool gt_nsys_read_ranges(gt_nsys_reading *r)
{
    enum { PROGRESS_ROWS = 4096 };
    if (!r->writers->calls) return true;
    if (!read_domains(r) || !gt_nsys_read_schemas(r)) return false;
    gt_interner *strings = r->run->strings;
    range_reader reader = {.r = r,
                           .cache = gt_alloc_zero(CACHED, sizeof *reader.cache),
                           .nested = gt_interner_add_cstr(strings, "NVTX_PUSH_POP"),
                           .started = gt_interner_add_cstr(strings, "NVTX_START_END"),
                           .across = gt_interner_add_cstr(strings, GT_CALL_ACROSS_THREADS),
                           .nccl = gt_interner_add_cstr(strings, "NCCL_API")};
    gt_nsys_rows rows;
    gt_nsys_begin(&rows, &r->tables, "NVTX_EVENTS", range_columns, GT_LENGTH(range_columns), r->error);
    for (size_t row = 1; !r->strings.failed && gt_nsys_next(&rows); row++) {
        add_range(&reader, &rows);
        if (row % PROGRESS_ROWS == 0) gt_progress_add(0, PROGRESS_ROWS);
    }
    gt_free(reader.cache);
    return gt_nsys_end(&rows) && !r->strings.failed;
}
