/* What a table holds is told by its columns: a thread and times, so its rows are events of the host; a
 * process and the id that events share with the call that launched them; other times, such as those of
 * samples; or no times, so that its rows describe the export. */
#include "input/nsys/events.h"

#include "input/nsys/reader.h"

enum {
    START,
    END,
    THREAD,
    PROCESS,
    CORRELATION,
    TYPE,
    TEXT,
    TEXT_ID,
    READ,
    TIMESTAMP = READ,
    START_TIME,
    COLUMNS
};
static const char *const columns[COLUMNS] = {"start",     "end",  "globalTid", "globalPid", "correlationId",
                                             "eventType", "text", "textId",    "timestamp", "startTime"};

static gt_nsys_rows_of kind_of(const gt_nsys_tables *tables, const char *table)
{
    bool has[COLUMNS];
    for (size_t c = 0; c < COLUMNS; c++) has[c] = gt_nsys_has_column(tables, table, columns[c]);
    if (has[START] && has[END] && has[THREAD]) return GT_NSYS_OF_HOST;
    if (has[START] && has[CORRELATION] && has[PROCESS]) return GT_NSYS_OF_LAUNCHES;
    return has[START] || has[TIMESTAMP] || has[START_TIME] ? GT_NSYS_OF_NOTHING : GT_NSYS_OF_EXPORT;
}

static void list_tables(gt_nsys_export *export)
{
    const gt_interner *names = export->tables.names;
    export->list = gt_alloc(gt_interner_count(names) * sizeof *export->list);
    for (uint32_t id = GT_STR_EMPTY + 1; id < gt_interner_count(names); id++) {
        const char *name = gt_interner_get(names, id).bytes;
        if (strncmp(name, "sqlite_", strlen("sqlite_")) == 0) continue; /* SQLite's own */
        export->list[export->count++] = (gt_nsys_table){name, kind_of(&export->tables, name)};
    }
}

/* ---- rows ---- */

typedef struct event_reader {
    gt_nsys_export *export;
    gt_nsys_strings strings;
    gt_store_writer *writer;
    size_t capacity; /* of the export's places */
} event_reader;

static void put_text(event_reader *r, gt_store_cell *cells, uint64_t *present, int column, const char *text)
{
    cells[column].text = gt_interner_add_cstr(r->strings.interner, text);
    *present |= UINT64_C(1) << column;
}

static void put_ns(gt_store_cell *cells, uint64_t *present, int column, double ns)
{
    cells[column].time = ns / 1e3;
    *present |= UINT64_C(1) << column;
}

static const char *category_of(const char *table)
{
    static const char *const on_gpu[] = {"CUPTI_ACTIVITY_KIND_KERNEL", "CUPTI_ACTIVITY_KIND_MEMCPY",
                                         "CUPTI_ACTIVITY_KIND_MEMSET", "CUPTI_ACTIVITY_KIND_GRAPH_TRACE"};
    if (strcmp(table, "NVTX_EVENTS") == 0) return "user_annotation";
    return gt_str_is_one_of((gt_str){table, strlen(table)}, on_gpu, GT_LENGTH(on_gpu)) ? "kernel" : "";
}

static void put_name(event_reader *r, gt_nsys_rows *rows, gt_store_cell *cells, uint64_t *present)
{
    int64_t id;
    uint32_t name = gt_nsys_int(rows, TEXT_ID, &id) ? gt_nsys_string(&r->strings, id) : GT_STR_NONE;
    cells[GT_PLAIN_NAME].text =
        name != GT_STR_NONE ? name : gt_nsys_intern(&r->strings, gt_nsys_text(rows, TEXT));
    *present |= UINT64_C(1) << GT_PLAIN_NAME;
}

/* Ranges that do not end and marks are no events. What names domains and threads has no time: it belongs to
 * all steps. Ids have the process, because several processes use the same ones. Records of calls that are
 * neither of the host nor work of the GPU, such as those of events, belong to their calls as flow events do.
 */
static void add_row(event_reader *r, gt_nsys_rows *rows, uint32_t number)
{
    const gt_nsys_table *table = &r->export->list[number];
    bool is_host = table->kind == GT_NSYS_OF_HOST;
    const char *category = category_of(table->name);
    int64_t start, end, global = gt_nsys_int_or(rows, is_host ? THREAD : PROCESS, 0),
                        id = gt_nsys_int_or(rows, CORRELATION, 0), type = gt_nsys_int_or(rows, TYPE, 0);
    bool is_nvtx = *category == 'u', is_range = gt_nvtx_is_range(type), is_flow = !is_host && !*category;
    bool ends = gt_nsys_int(rows, END, &end);
    gt_store_cell cells[GT_PLAIN_COLUMNS];
    uint64_t present = 0;
    char text[64];
    if (!gt_nsys_int(rows, START, &start) || (is_nvtx && (is_range ? !ends : type == GT_NVTX_MARK))) return;
    put_text(r, cells, &present, GT_PLAIN_CATEGORY, category);
    if (is_nvtx) put_name(r, rows, cells, &present);
    if (!is_nvtx || is_range) put_ns(cells, &present, GT_PLAIN_START, (double)start);
    uint64_t dur_ns =
        ends && end > start ? (uint64_t)end - (uint64_t)start : 0; /* may be more than an int64 */
    if (ends && !is_flow) put_ns(cells, &present, GT_PLAIN_DURATION, (double)dur_ns);
    snprintf(text, sizeof text, "%lld", (long long)global);
    if (is_host) put_text(r, cells, &present, GT_PLAIN_THREAD, text);
    if (is_flow) put_text(r, cells, &present, GT_PLAIN_PHASE, "f");
    snprintf(text, sizeof text, "%lld %lld", (long long)((uint64_t)global >> 24), (long long)id);
    if (id) put_text(r, cells, &present, is_flow ? GT_PLAIN_FLOW : GT_PLAIN_CORRELATION, text);
    gt_nsys_place place = {number, gt_nsys_row_id(rows)};
    GT_PUSH(r->export->places, r->export->place_count, r->capacity, place);
    gt_store_writer_add(r->writer, present, cells);
}

static bool read_rows(event_reader *r, gt_error *error)
{
    bool read = true;
    for (uint32_t t = 0; read && t < r->export->count; t++) {
        gt_nsys_rows rows;
        if (r->export->list[t].kind > GT_NSYS_OF_LAUNCHES) continue;
        gt_nsys_begin(&rows, &r->export->tables, r->export->list[t].name, columns, READ, error);
        while (!r->strings.failed && gt_nsys_next(&rows)) add_row(r, &rows, t);
        read = gt_nsys_end(&rows) && !r->strings.failed;
    }
    return read;
}

gt_plain_events *gt_nsys_events_read(gt_nsys_export *export, const char *path, gt_error *error)
{
    *export = (gt_nsys_export){0};
    if (!gt_nsys_tables_open_export(&export->tables, path, error)) return NULL;
    list_tables(export);
    gt_interner *strings = gt_interner_new();
    gt_store *store = gt_store_new(gt_plain_columns, GT_PLAIN_COLUMNS, strings);
    event_reader r = {.export = export,
                      .writer = gt_store_writer_new(gt_plain_columns, GT_PLAIN_COLUMNS, strings)};
    bool read = gt_nsys_strings_begin(&r.strings, &export->tables, strings, error) && read_rows(&r, error);
    gt_store_append(store, gt_store_writer_take(r.writer));
    gt_store_writer_free(r.writer);
    gt_nsys_strings_end(&r.strings);
    if (read) return gt_plain_events_new(store, strings);
    gt_store_free(store);
    gt_interner_free(strings);
    return NULL;
}

void gt_nsys_export_close(gt_nsys_export *export)
{
    gt_nsys_tables_close(&export->tables);
    gt_free_all(export->list, export->places);
    *export = (gt_nsys_export){0};
}
