/* The reader of rocpd databases. Small tables (strings, threads, processes, kernel symbols) become maps by
 * id; then each large table is read once, from front to back, and its rows are added to the run. Ids are
 * unique only within a process, which has a guid: the key of every map is (guid, id).
 *
 * To read one more column: add it to the table's COLUMNS and use it in the table's add_ function, where
 * columns are numbered in this order, from 0. */
#include "input/rocprof/readers.h"
#include "base/progress.h"
#include "input/rocprof/rocpd_tables.h"

typedef struct reading {
    gt_rocprof_writers *writers;
    gt_rocprof *run;
    gt_rocpd rocpd;
    gt_map strings;    /* (guid, id) to string id */
    gt_map threads;    /* to an index in thread_ids */
    gt_map nodes;      /* to the string id of the hostname */
    gt_map processes;  /* to a process of the run */
    gt_map kernels;    /* to an index in symbols */
    gt_map dispatches; /* (guid, event id) to an index in counted; only if counters are wanted */
    gt_map counters;   /* (guid, id) to the counter's name */
    int64_t *thread_ids;
    size_t thread_count, thread_capacity;
    struct symbol {
        int64_t kernel_id;   /* of the run */
        uint32_t short_name; /* GT_STR_NONE: not noted, or noted already (gt_kernel_names_note) */
        uint64_t full_name;
    } * symbols;
    size_t symbol_count, symbol_capacity;
    bool full_names;
    struct counted {
        int64_t process, dispatch_id, kernel_id, agent;
    } * counted;
    size_t counted_count, counted_capacity;
    size_t first_process; /* of this database */
    char *last_guid;      /* of the previous row, and its string id */
    uint32_t last_guid_id;
    gt_interner *guids;
    gt_record_reader *symbol_reader, *agent_reader; /* for the JSON in extdata */
    gt_buffer repaired, json;
    gt_error *error;
    uint64_t api_calls;
    bool has_values;       /* the set has values of counters */
    uint8_t *symbols_used; /* by symbol: a part of a table mentions it; NULL: the whole table is read */
    bool unusual;          /* of a part: something came that changes what other parts see */
} reading;

/* ---- cells ---- */

static uint32_t intern(reading *r, gt_str text)
{
    text = gt_utf8_repair(text, &r->repaired);
    return gt_interner_add(r->run->strings, text.bytes, text.len);
}

static uint32_t guid_of(reading *r, sqlite3_stmt *rows, int column)
{
    gt_str guid = gt_sqlite_string(rows, column);
    if (r->last_guid && strcmp(r->last_guid, guid.bytes) == 0) return r->last_guid_id;
    gt_free(r->last_guid);
    r->last_guid = gt_strdup(guid.bytes);
    size_t len = strlen(r->last_guid);
    if (!r->symbols_used) return r->last_guid_id = gt_interner_add(r->guids, r->last_guid, len);
    r->last_guid_id = gt_interner_find(r->guids, r->last_guid, len);
    r->unusual |= r->last_guid_id == GT_STR_NONE;
    return r->last_guid_id;
}

static bool is_null(sqlite3_stmt *rows, int column)
{
    return sqlite3_column_type(rows, column) == SQLITE_NULL;
}

static uint32_t find(const gt_map *map, uint32_t guid, sqlite3_stmt *rows, int column)
{
    if (is_null(rows, column) || !map->count) return GT_MAP_NONE;
    return gt_map_get(map, guid, (uint64_t)sqlite3_column_int64(rows, column));
}

/* Sets a cell from a column, unless that is NULL. */
static void set(uint64_t *present, gt_store_cell *cells, int slot, sqlite3_stmt *rows, int column)
{
    if (is_null(rows, column)) return;
    cells[slot].integer = sqlite3_column_int64(rows, column);
    *present |= UINT64_C(1) << slot;
}

static void put(uint64_t *present, gt_store_cell *cells, int slot, int64_t value)
{
    cells[slot].integer = value;
    *present |= UINT64_C(1) << slot;
}

/* Threads are referred to by the id of their row, which nearly always is the thread's own id. */
static void set_thread(const reading *r, uint64_t *present, gt_store_cell *cells, int slot, uint32_t guid,
                       sqlite3_stmt *rows, int column)
{
    uint32_t thread = find(&r->threads, guid, rows, column);
    if (thread != GT_MAP_NONE)
        put(present, cells, slot, r->thread_ids[thread]);
    else
        set(present, cells, slot, rows, column);
}

/* ---- tables ---- */

typedef struct table {
    gt_rocpd_query query;
    void (*add)(reading *r, uint32_t guid, sqlite3_stmt *rows);
} table;

/* Column 0 of every table is the guid. */
static bool add_rows(reading *r, const table *t, sqlite3_stmt *rows)
{
    bool failed = false;
    size_t count = 0;
    gt_sqlite_order order = {0};
    int row_id = (int)t->query.column_count;
    while (!r->unusual &&
           gt_sqlite_next_in_order(&r->rocpd.database, rows, row_id, &order, &failed, r->error)) {
        t->add(r, guid_of(r, rows, 0), rows);
        if (++count % 4096 == 0) gt_progress_add(0, 4096);
    }
    gt_sqlite_end(rows);
    return !failed;
}

static bool read_table(reading *r, size_t set_number, const table *t)
{
    bool missing = false;
    sqlite3_stmt *rows = gt_rocpd_rows(&r->rocpd, set_number, &t->query, &missing, r->error);
    return rows ? add_rows(r, t, rows) : missing;
}

/* ---- large tables on several threads ----
 *
 * The row ids are cut into parts. Each thread reads parts with a connection and writers of its own, and the
 * parts are joined in order. Maps are fixed meanwhile: where a row would add something to them (a process or
 * kernel that no other table lists), the rest of the table is read on one thread. */

/* Fuzz targets are built with a smaller number. */
#ifndef GT_ROCPD_PART_ROWS
#define GT_ROCPD_PART_ROWS GT_GRAIN(32768)
#endif
enum { PARTS_MAX = 4096 };

enum { DISPATCHES, COPIES, CALLS, PART_STORES };

typedef struct part {
    bool complete;
    uint64_t api_calls;
    gt_store_piece *pieces[PART_STORES];
} part;

typedef struct parts {
    const reading *whole;
    const table *table;
    size_t set_number;
    gt_rowids ids;
    uint64_t rows; /* row ids per part */
    part *items;
    size_t count, next; /* next: the first that nobody reads yet; atomic */
    uint8_t *symbols_used;
} parts;

static gt_rowids rowids_of(const parts *p, size_t from, size_t to)
{
    gt_rowids ids = {(int64_t)((uint64_t)p->ids.first + from * p->rows), p->ids.last};
    if (to < p->count) ids.last = (int64_t)((uint64_t)p->ids.first + to * p->rows - 1);
    return ids;
}

static void read_part(reading *r, parts *p, size_t index)
{
    part *into = &p->items[index];
    gt_store_writer *writers[PART_STORES] = {r->writers->dispatches, r->writers->copies, r->writers->calls};
    sqlite3_stmt *rows = gt_rocpd_rows_of(&r->rocpd, p->set_number, &p->table->query,
                                          rowids_of(p, index, index + 1), r->error);
    r->unusual = false;
    r->api_calls = 0;
    into->complete = rows && add_rows(r, p->table, rows) && !r->unusual;
    into->api_calls = r->api_calls;
    for (size_t i = 0; i < PART_STORES; i++)
        if (writers[i]) into->pieces[i] = gt_store_writer_take(writers[i]);
}

/* Reads parts as long as there are some; `index` is that of a worker. */
static void read_parts(void *context, size_t index)
{
    (void)index;
    parts *p = context;
    size_t next = __atomic_fetch_add(&p->next, 1, __ATOMIC_RELAXED);
    if (next >= p->count) return;
    gt_error error;
    reading r = *p->whole;
    gt_rocprof_writers writers = gt_rocprof_write(r.run);
    r.writers = &writers;
    r.error = &error;
    r.last_guid = NULL;
    r.symbols_used = p->symbols_used;
    if (gt_rocpd_open_again(&r.rocpd, &p->whole->rocpd, &error)) {
        for (; next < p->count; next = __atomic_fetch_add(&p->next, 1, __ATOMIC_RELAXED))
            read_part(&r, p, next);
        gt_rocpd_close(&r.rocpd);
    }
    gt_free(r.last_guid);
    gt_store_writer *own[] = {writers.dispatches, writers.copies, writers.calls,
                              writers.counters,   writers.agents, writers.samples};
    for (size_t i = 0; i < GT_LENGTH(own); i++) gt_store_writer_free(own[i]);
}

/* Adds the parts up to the first that is not complete; returns how many. */
static size_t join_parts(reading *r, parts *p)
{
    gt_store *stores[PART_STORES] = {r->run->dispatches, r->run->copies, r->run->calls};
    size_t joined = 0;
    gt_rocprof_write_flush(r->writers); /* the rows before */
    for (; joined < p->count && p->items[joined].complete; joined++) {
        part *from = &p->items[joined];
        r->api_calls += from->api_calls;
        for (size_t i = 0; i < PART_STORES; i++) {
            if (from->pieces[i]) gt_store_append(stores[i], from->pieces[i]);
            from->pieces[i] = NULL;
        }
    }
    for (size_t i = joined; i < p->count; i++)
        for (size_t s = 0; s < PART_STORES; s++) gt_store_piece_free(p->items[i].pieces[s]);
    return joined;
}

/* The short names of the kernels that the parts mention. */
static void note_used(reading *r, const uint8_t *used)
{
    for (size_t i = 0; i < r->symbol_count; i++) {
        struct symbol *symbol = &r->symbols[i];
        if (!used[i] || !symbol->short_name) continue;
        gt_kernel_names_note(r->run, symbol->short_name, symbol->full_name);
        symbol->short_name = GT_STR_NONE;
    }
}

static bool read_large_table(reading *r, size_t set_number, const table *t)
{
    parts p = {.whole = r, .table = t, .set_number = set_number};
    if (gt_team_threads() < 2 || !gt_rocpd_rowids(&r->rocpd, set_number, &t->query, &p.ids))
        return read_table(r, set_number, t);
    uint64_t span = (uint64_t)p.ids.last - (uint64_t)p.ids.first;
    p.rows = span / PARTS_MAX + 1 > GT_ROCPD_PART_ROWS ? span / PARTS_MAX + 1 : GT_ROCPD_PART_ROWS;
    p.count = (size_t)(span / p.rows) + 1;
    if (p.count < 2) return read_table(r, set_number, t);
    size_t workers = gt_team_threads() < p.count ? gt_team_threads() : p.count;
    p.items = gt_alloc_zero(p.count, sizeof *p.items);
    p.symbols_used = gt_alloc_zero(r->symbol_count + 1, 1);
    gt_parallel_each(workers, read_parts, &p);
    size_t joined = join_parts(r, &p);
    note_used(r, p.symbols_used);
    gt_free_all(p.items, p.symbols_used);
    if (joined == p.count) return true;
    sqlite3_stmt *rows =
        gt_rocpd_rows_of(&r->rocpd, set_number, &t->query, rowids_of(&p, joined, p.count), r->error);
    return rows && add_rows(r, t, rows);
}

#define COLUMNS(...)                                                                                         \
    (const char *const[]){__VA_ARGS__}, sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *)

/* ---- small tables ---- */

static void add_string(reading *r, uint32_t guid, sqlite3_stmt *rows)
{
    *gt_map_put(&r->strings, guid, (uint64_t)sqlite3_column_int64(rows, 1)) =
        intern(r, gt_sqlite_string(rows, 2));
}

static void add_thread(reading *r, uint32_t guid, sqlite3_stmt *rows)
{
    *gt_map_put(&r->threads, guid, (uint64_t)sqlite3_column_int64(rows, 1)) = (uint32_t)r->thread_count;
    GT_PUSH(r->thread_ids, r->thread_count, r->thread_capacity, sqlite3_column_int64(rows, 2));
}

static void add_node(reading *r, uint32_t guid, sqlite3_stmt *rows)
{
    *gt_map_put(&r->nodes, guid, (uint64_t)sqlite3_column_int64(rows, 1)) =
        intern(r, gt_sqlite_string(rows, 2));
}

static void add_process(reading *r, uint32_t guid, sqlite3_stmt *rows)
{
    uint32_t host = find(&r->nodes, guid, rows, 2);
    gt_rocprof_process process = {
        .pid = sqlite3_column_int64(rows, 3),
        .init_ns = sqlite3_column_int64(rows, 4),
        .fini_ns = sqlite3_column_int64(rows, 5),
        .command = is_null(rows, 6) ? GT_STR_NONE : intern(r, gt_sqlite_string(rows, 6)),
        .hostname = host == GT_MAP_NONE ? GT_STR_NONE : host,
    };
    *gt_map_put(&r->processes, guid, (uint64_t)sqlite3_column_int64(rows, 1)) =
        (uint32_t)gt_rocprof_add_process(r->run, process);
}

static void add_counter_name(reading *r, uint32_t guid, sqlite3_stmt *rows)
{
    *gt_map_put(&r->counters, guid, (uint64_t)sqlite3_column_int64(rows, 1)) =
        intern(r, gt_sqlite_string(rows, 2));
}

/* A copy of JSON text with the padding that the JSON reader needs. */
static gt_str padded(reading *r, gt_str text)
{
    r->json.len = 0;
    gt_buffer_add(&r->json, text.bytes, text.len);
    memset(gt_buffer_reserve(&r->json, GT_STREAM_PAD), 0, GT_STREAM_PAD);
    return (gt_str){r->json.bytes, text.len};
}

/* Reads one JSON object; false if the text is not an object. */
static bool read_json(reading *r, gt_record_reader *reader, gt_str text, gt_record *record)
{
    gt_json json;
    gt_json_begin_str(&json, padded(r, text));
    return text.len && gt_record_read(reader, &json, record) && !record->not_object;
}

static const gt_field symbol_fields[] = {{"truncated_kernel_name", GT_FIELD_STRING, false}};

static uint32_t symbol_name(reading *r, sqlite3_stmt *rows)
{
    gt_record record;
    if (r->full_names && gt_sqlite_string(rows, 2).len) return intern(r, gt_sqlite_string(rows, 2));
    if (read_json(r, r->symbol_reader, gt_sqlite_string(rows, 4), &record) && record.present & 1 &&
        record.cells[0].text > GT_STR_EMPTY)
        return (uint32_t)record.cells[0].text;
    gt_str display = gt_utf8_repair(gt_sqlite_string(rows, 2), &r->repaired);
    if (display.len) return gt_kernel_name_of_displayed(r->run->strings, display);
    return intern(r, gt_sqlite_string(rows, 3));
}

static int32_t register_count(sqlite3_stmt *rows, int column)
{
    int64_t value = sqlite3_column_int64(rows, column);
    return is_null(rows, column) || value < 0 || value > INT32_MAX ? -1 : (int32_t)value;
}

static void add_kernel(reading *r, uint32_t guid, sqlite3_stmt *rows, int column, struct symbol symbol)
{
    *gt_map_put(&r->kernels, guid, (uint64_t)sqlite3_column_int64(rows, column)) = (uint32_t)r->symbol_count;
    GT_PUSH(r->symbols, r->symbol_count, r->symbol_capacity, symbol);
}

static void add_symbol(reading *r, uint32_t guid, sqlite3_stmt *rows)
{
    gt_kernel_use use = {register_count(rows, 5), register_count(rows, 6), register_count(rows, 7),
                         register_count(rows, 8)};
    uint32_t name = symbol_name(r, rows);
    gt_str full = gt_sqlite_string(rows, 2);
    struct symbol symbol = {gt_kernel_names_add(r->run, name, use), GT_STR_NONE, 0};
    if (full.len && !r->full_names) {
        symbol.short_name = name;
        symbol.full_name = gt_kernel_name_hash(full);
    }
    add_kernel(r, guid, rows, 1, symbol);
}

static void add_agent(reading *r, uint32_t guid, sqlite3_stmt *rows)
{
    gt_record record = {0};
    if (read_json(r, r->agent_reader, gt_sqlite_string(rows, 6), &record))
        gt_agent_complete(&record, r->agent_reader);
    else
        record.present = 0;
    static const struct {
        int slot, column;
    } texts[] = {{GT_AGENT_TYPE, 5},
                 {GT_AGENT_NAME, 7},
                 {GT_AGENT_VENDOR_NAME, 8},
                 {GT_AGENT_PRODUCT_NAME, 9},
                 {GT_AGENT_MODEL_NAME, 10}};
    for (size_t i = 0; i < GT_LENGTH(texts); i++)
        if (!(record.present >> texts[i].slot & 1) && !is_null(rows, texts[i].column)) {
            record.cells[texts[i].slot].text = intern(r, gt_sqlite_string(rows, texts[i].column));
            record.present |= UINT64_C(1) << texts[i].slot;
        }
    set(&record.present, record.cells, GT_AGENT_ID, rows, 1);
    set(&record.present, record.cells, GT_AGENT_NODE_ID, rows, 3);
    set(&record.present, record.cells, GT_AGENT_LOGICAL_NODE_ID, rows, 4);
    uint32_t process = find(&r->processes, guid, rows, 2);
    put(&record.present, record.cells, GT_AGENT_PROCESS,
        (int64_t)(process == GT_MAP_NONE ? r->first_process : process));
    gt_store_writer_add(r->writers->agents, record.present, record.cells);
}

static const table small_tables[] = {
    {{"rocpd_string", COLUMNS("guid", "id", "string"), NULL, NULL}, add_string},
    {{"rocpd_info_node", COLUMNS("guid", "id", "hostname"), NULL, NULL}, add_node},
    {{"rocpd_info_process", COLUMNS("guid", "id", "nid", "pid", "init", "fini", "command"), NULL, NULL},
     add_process},
    {{"rocpd_info_thread", COLUMNS("guid", "id", "tid"), NULL, NULL}, add_thread},
    {{"rocpd_info_kernel_symbol",
      COLUMNS("guid", "id", "display_name", "kernel_name", "extdata", "arch_vgpr_count", "accum_vgpr_count",
              "sgpr_count", "group_segment_size"),
      NULL, NULL},
     add_symbol},
};

static const table agent_table = {{"rocpd_info_agent",
                                   COLUMNS("guid", "id", "pid", "absolute_index", "logical_index", "type",
                                           "extdata", "name", "vendor_name", "product_name", "model_name"),
                                   NULL, NULL},
                                  add_agent};

/* ---- large tables ---- */

static int64_t process_of(reading *r, uint32_t guid, sqlite3_stmt *rows, int column)
{
    uint32_t process = find(&r->processes, guid, rows, column);
    if (process != GT_MAP_NONE) return process;
    if (r->symbols_used) {
        r->unusual = true;
        return 0;
    }
    gt_rocprof_process unknown = {.pid = sqlite3_column_int64(rows, column)};
    int64_t added = gt_rocprof_add_process(r->run, unknown);
    *gt_map_put(&r->processes, guid, (uint64_t)sqlite3_column_int64(rows, column)) = (uint32_t)added;
    return added;
}

static int64_t kernel_of(reading *r, uint32_t guid, sqlite3_stmt *rows, int column)
{
    if (is_null(rows, column)) return GT_NO_KERNEL_ID;
    uint32_t place = find(&r->kernels, guid, rows, column);
    if (r->symbols_used) {
        r->unusual |= place == GT_MAP_NONE;
        if (r->unusual) return GT_NO_KERNEL_ID;
        if (!__atomic_load_n(&r->symbols_used[place], __ATOMIC_RELAXED))
            __atomic_store_n(&r->symbols_used[place], 1, __ATOMIC_RELAXED);
        return r->symbols[place].kernel_id;
    }
    if (place != GT_MAP_NONE) {
        struct symbol *symbol = &r->symbols[place];
        if (symbol->short_name) gt_kernel_names_note(r->run, symbol->short_name, symbol->full_name);
        symbol->short_name = GT_STR_NONE;
        return symbol->kernel_id;
    }
    char name[32 + GT_NUMBER_MAX] = "unknown_kernel_";
    size_t len = strlen(name);
    len += gt_print_int(name + len, sqlite3_column_int64(rows, column));
    uint32_t text = gt_interner_add(r->run->strings, name, len);
    struct symbol unknown = {gt_kernel_names_add(r->run, text, GT_KERNEL_USE_UNKNOWN), GT_STR_NONE, 0};
    add_kernel(r, guid, rows, column, unknown);
    return unknown.kernel_id;
}

/* The columns of dispatches, from column 1 on, that are stored as they are. */
static const int dispatch_slots[] = {
    GT_DISPATCH_AGENT,   GT_DISPATCH_ID,      GT_DISPATCH_QUEUE,         GT_DISPATCH_STREAM,
    GT_DISPATCH_START,   GT_DISPATCH_END,     GT_DISPATCH_SCRATCH_BYTES, GT_DISPATCH_LDS_BYTES,
    GT_DISPATCH_BLOCK_X, GT_DISPATCH_BLOCK_Y, GT_DISPATCH_BLOCK_Z,       GT_DISPATCH_GRID_X,
    GT_DISPATCH_GRID_Y,  GT_DISPATCH_GRID_Z,
};
enum { DISPATCH_PID = 15, DISPATCH_TID, DISPATCH_KERNEL, DISPATCH_EVENT, DISPATCH_STACK };

static void add_dispatch(reading *r, uint32_t guid, sqlite3_stmt *rows)
{
    gt_store_cell cells[GT_DISPATCH_COLUMNS];
    uint64_t present = 0;
    for (int i = 0; i < DISPATCH_PID - 1; i++) set(&present, cells, dispatch_slots[i], rows, i + 1);
    put(&present, cells, GT_DISPATCH_PROCESS, process_of(r, guid, rows, DISPATCH_PID));
    put(&present, cells, GT_DISPATCH_KERNEL_ID, kernel_of(r, guid, rows, DISPATCH_KERNEL));
    set_thread(r, &present, cells, GT_DISPATCH_THREAD, guid, rows, DISPATCH_TID);
    set(&present, cells, GT_DISPATCH_CORRELATION, rows, DISPATCH_STACK);
    gt_rocprof_write_dispatch(r->writers, present, cells);
    if (!r->has_values || is_null(rows, DISPATCH_EVENT)) return;
    *gt_map_put(&r->dispatches, guid, (uint64_t)sqlite3_column_int64(rows, DISPATCH_EVENT)) =
        (uint32_t)r->counted_count;
    struct counted counted = {cells[GT_DISPATCH_PROCESS].integer,
                              present >> GT_DISPATCH_ID & 1 ? cells[GT_DISPATCH_ID].integer : 0,
                              cells[GT_DISPATCH_KERNEL_ID].integer,
                              present >> GT_DISPATCH_AGENT & 1 ? cells[GT_DISPATCH_AGENT].integer : -1};
    GT_PUSH(r->counted, r->counted_count, r->counted_capacity, counted);
}

#define DISPATCH_COLUMNS                                                                                     \
    "guid", "agent_id", "dispatch_id", "queue_id", "stream_id", "start", "end", "private_segment_size",      \
        "group_segment_size", "workgroup_size_x", "workgroup_size_y", "workgroup_size_z", "grid_size_x",     \
        "grid_size_y", "grid_size_z", "pid", "tid", "kernel_id", "event_id"

static const table dispatch_table = {{"rocpd_kernel_dispatch", COLUMNS(DISPATCH_COLUMNS), NULL, NULL},
                                     add_dispatch};
static const table detailed_dispatch_table = {
    {"rocpd_kernel_dispatch", COLUMNS(DISPATCH_COLUMNS, "join.stack_id"), "rocpd_event", "event_id"},
    add_dispatch};

static const int copy_slots[] = {GT_COPY_START,       GT_COPY_END,    GT_COPY_BYTES,      GT_COPY_SOURCE,
                                 GT_COPY_DESTINATION, GT_COPY_STREAM, GT_COPY_CORRELATION};
enum { COPY_PID = 8, COPY_TID, COPY_NAME };

static void add_copy(reading *r, uint32_t guid, sqlite3_stmt *rows)
{
    gt_store_cell cells[GT_COPY_COLUMNS];
    uint64_t present = 0;
    for (int i = 0; i < COPY_PID - 1; i++) set(&present, cells, copy_slots[i], rows, i + 1);
    put(&present, cells, GT_COPY_PROCESS, process_of(r, guid, rows, COPY_PID));
    set_thread(r, &present, cells, GT_COPY_THREAD, guid, rows, COPY_TID);
    uint32_t name = find(&r->strings, guid, rows, COPY_NAME);
    if (name != GT_MAP_NONE)
        put(&present, cells, GT_COPY_DIRECTION, gt_copy_direction_of(gt_interner_get(r->run->strings, name)));
    gt_rocprof_write_copy(r->writers, present, cells);
}

static const table copy_table = {{"rocpd_memory_copy",
                                  COLUMNS("guid", "start", "end", "size", "src_agent_id", "dst_agent_id",
                                          "stream_id", "join.stack_id", "pid", "tid", "name_id"),
                                  "rocpd_event", "event_id"},
                                 add_copy};

enum { CALL_START = 1, CALL_END, CALL_STACK, CALL_PID, CALL_TID, CALL_NAME, CALL_CATEGORY };

static void add_call(reading *r, uint32_t guid, sqlite3_stmt *rows)
{
    gt_store_cell cells[GT_CALL_COLUMNS];
    uint64_t present = 0;
    uint32_t kind = find(&r->strings, guid, rows, CALL_CATEGORY),
             name = find(&r->strings, guid, rows, CALL_NAME);
    gt_str kind_text = kind == GT_MAP_NONE ? (gt_str){"", 0} : gt_interner_get(r->run->strings, kind);
    gt_call_domain domain = gt_call_domain_of(kind_text);
    r->api_calls += domain == GT_CALL_HIP || domain == GT_CALL_HSA;
    if (!r->writers->calls) return;
    put(&present, cells, GT_CALL_DOMAIN, domain);
    if (kind != GT_MAP_NONE) put(&present, cells, GT_CALL_KIND, kind);
    if (name != GT_MAP_NONE) put(&present, cells, GT_CALL_NAME, name);
    set(&present, cells, GT_CALL_START, rows, CALL_START);
    set(&present, cells, GT_CALL_END, rows, CALL_END);
    set(&present, cells, GT_CALL_CORRELATION, rows, CALL_STACK);
    put(&present, cells, GT_CALL_PROCESS, process_of(r, guid, rows, CALL_PID));
    set_thread(r, &present, cells, GT_CALL_THREAD, guid, rows, CALL_TID);
    gt_store_writer_add(r->writers->calls, present, cells);
}

static const table call_table = {
    {"rocpd_region",
     COLUMNS("guid", "start", "end", "join.stack_id", "pid", "tid", "name_id", "join.category_id"),
     "rocpd_event", "event_id"},
    add_call};

/* The value of a counter in one dispatch: the sum of its values per hardware instance. */
typedef struct sum {
    uint32_t dispatch, name;
    double value;
} sum;

typedef struct sums {
    sum *items;
    size_t count, capacity;
    gt_map places; /* (dispatch, name) */
} sums;

static void write_counters(reading *r, const sums *all)
{
    for (size_t i = 0; i < all->count; i++) {
        const struct counted *of = &r->counted[all->items[i].dispatch];
        gt_store_cell cells[GT_COUNTER_COLUMNS];
        cells[GT_COUNTER_PROCESS].integer = of->process;
        cells[GT_COUNTER_DISPATCH].integer = of->dispatch_id;
        cells[GT_COUNTER_KERNEL_ID].integer = of->kernel_id;
        cells[GT_COUNTER_NAME].text = all->items[i].name;
        cells[GT_COUNTER_VALUE].time = all->items[i].value;
        cells[GT_COUNTER_AGENT].integer = of->agent;
        gt_store_writer_add(r->writers->counters, (UINT64_C(1) << GT_COUNTER_COLUMNS) - 1, cells);
    }
}

static void add_value(reading *r, sums *all, uint32_t guid, sqlite3_stmt *rows)
{
    uint32_t dispatch = find(&r->dispatches, guid, rows, 1), name = find(&r->counters, guid, rows, 2);
    if (dispatch == GT_MAP_NONE || name == GT_MAP_NONE) return;
    uint32_t *place = gt_map_put(&all->places, dispatch, name);
    if (*place == GT_MAP_NONE) {
        sum first = {dispatch, name, 0};
        *place = (uint32_t)all->count;
        GT_PUSH(all->items, all->count, all->capacity, first);
    }
    /* SQLite stores what is not a number as NULL. */
    all->items[*place].value += is_null(rows, 3) ? (double)NAN : sqlite3_column_double(rows, 3);
}

static const table counter_name_table = {{"rocpd_info_pmc", COLUMNS("guid", "id", "name"), NULL, NULL},
                                         add_counter_name};
static const gt_rocpd_query value_query = {"rocpd_pmc_event", COLUMNS("guid", "event_id", "pmc_id", "value"),
                                           NULL, NULL};

static bool read_counters(reading *r, size_t set_number)
{
    bool missing = false, failed = false;
    if (!read_table(r, set_number, &counter_name_table)) return false;
    sqlite3_stmt *rows = gt_rocpd_rows(&r->rocpd, set_number, &value_query, &missing, r->error);
    if (!rows) return missing;
    sums all = {0};
    gt_sqlite_order order = {0};
    int row_id = (int)value_query.column_count;
    while (gt_sqlite_next_in_order(&r->rocpd.database, rows, row_id, &order, &failed, r->error))
        add_value(r, &all, guid_of(r, rows, 0), rows);
    gt_sqlite_end(rows);
    write_counters(r, &all);
    gt_map_free(&all.places);
    gt_free(all.items);
    return !failed;
}

static bool read_set(reading *r, size_t set_number)
{
    for (size_t i = 0; i < GT_LENGTH(small_tables); i++)
        if (!read_table(r, set_number, &small_tables[i])) return false;
    if (r->writers->agents && !read_table(r, set_number, &agent_table)) return false;
    const table *dispatches =
        r->run->wanted & GT_WANT_DISPATCH_DETAILS ? &detailed_dispatch_table : &dispatch_table;
    r->has_values = r->writers->counters && !gt_rocpd_is_empty(&r->rocpd, set_number, value_query.table);
    bool read =
        r->has_values ? read_table(r, set_number, dispatches) : read_large_table(r, set_number, dispatches);
    return read && read_large_table(r, set_number, &copy_table) &&
           read_large_table(r, set_number, &call_table) &&
           (!r->writers->counters || read_counters(r, set_number));
}

static void free_reading(reading *r)
{
    gt_map *maps[] = {&r->strings, &r->threads,    &r->nodes,   &r->processes,
                      &r->kernels, &r->dispatches, &r->counters};
    for (size_t i = 0; i < GT_LENGTH(maps); i++) gt_map_free(maps[i]);
    gt_free_all(r->thread_ids, r->counted, r->symbols, r->last_guid);
    gt_record_reader_free(r->symbol_reader);
    gt_record_reader_free(r->agent_reader);
    gt_interner_free(r->guids);
    gt_buffer_free(&r->repaired);
    gt_buffer_free(&r->json);
    gt_rocpd_close(&r->rocpd);
}

bool gt_rocpd_read(gt_rocprof_writers *writers, const char *path, const gt_read_options *options,
                   gt_error *error)
{
    reading r = {.writers = writers, .run = writers->run, .full_names = options->full_names, .error = error};
    r.first_process = r.run->process_count;
    if (!gt_rocpd_open(&r.rocpd, path, error)) return false;
    r.guids = gt_interner_new();
    r.symbol_reader = gt_record_reader_new(symbol_fields, 1, r.run->strings);
    r.agent_reader = gt_record_reader_new(gt_agent_fields, GT_AGENT_FIELDS, r.run->strings);
    gt_progress_begin(path, 0);
    bool read = true;
    for (size_t i = 0; read && i < r.rocpd.suffix_count; i++) read = read_set(&r, i);
    gt_progress_end();
    r.run->api_calls += r.api_calls;
    free_reading(&r);
    return read;
}
