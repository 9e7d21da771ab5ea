/* Writes a rocprofv3 run as a rocpd database, like rocprofv3 itself since ROCm 7: one set of tables per
 * process.
 *
 * Ids of agents, threads, queues, streams and kernels are those of the run. Strings, events and counters
 * are numbered in order. The stack_id of an event is the internal correlation id; the external one is
 * unknown. Calls without duration are regions like all others. */
#include "transform/convert.h"

#include "json/string.h"
#include "base/progress.h"
#include "input/rocprof/readers.h"
#include "output/trace/rocpd.h"

enum { NODE_ID = 1 };

/* What has been written of a process. */
typedef struct set {
    gt_rocpd_set tables;
    int64_t pid;
    gt_map known;           /* (table, id of the run) of rows that others refer to */
    gt_map strings;         /* string id of the run to id */
    gt_map counter_ids;     /* the same for counters */
    gt_map dispatch_events; /* dispatch id to event id */
    int64_t events, gpus, cpus;
} set;

typedef struct conversion {
    gt_rocprof *run;
    gt_rocpd_rows rows;
    set *sets;
    size_t set_count;
    gt_buffer json;
} conversion;

/* ---- rows ---- */

static const gt_rocpd_value none = {.kind = GT_ROCPD_NONE};

static gt_rocpd_value number(int64_t integer)
{
    return (gt_rocpd_value){.kind = GT_ROCPD_INT, .integer = integer};
}

static gt_rocpd_value number_if(bool known, int64_t integer)
{
    return known ? number(integer) : none;
}

static gt_rocpd_value text(gt_str of)
{
    return (gt_rocpd_value){.kind = GT_ROCPD_STRING, .text = of};
}

/* One row: a value for each column that the table names. */
#define insert(c, s, t, ...)                                                                                 \
    gt_rocpd_insert(&(c)->rows, &(s)->tables, t, (const gt_rocpd_value[]){__VA_ARGS__},                      \
                    GT_LENGTH(((const gt_rocpd_value[]){__VA_ARGS__})))

static bool is_new(set *s, gt_rocpd_table t, int64_t id)
{
    uint32_t *known = gt_map_put(&s->known, t, (uint64_t)id);
    if (*known != GT_MAP_NONE) return false;
    *known = 0;
    return true;
}

static gt_str text_of(const conversion *c, uint32_t id)
{
    return gt_interner_get(c->run->strings, id);
}

static int64_t string_id(conversion *c, set *s, uint32_t id)
{
    uint32_t *given = gt_map_put(&s->strings, id, 0);
    if (*given == GT_MAP_NONE) {
        *given = (uint32_t)s->strings.count;
        insert(c, s, GT_ROCPD_STRINGS, number(*given), text(text_of(c, id)));
    }
    return *given;
}

static int64_t word_id(conversion *c, set *s, const char *word)
{
    return string_id(c, s, gt_interner_add_cstr(c->run->strings, word));
}

static int64_t add_event(conversion *c, set *s, int64_t category, int64_t correlation)
{
    insert(c, s, GT_ROCPD_EVENTS, number(++s->events), number(category), number(correlation), number(0),
           number(0));
    return s->events;
}

static set *set_of(conversion *c, int64_t process)
{
    return &c->sets[process >= 0 && (uint64_t)process < c->set_count ? process : 0];
}

/* ---- rows that others refer to ---- */

static gt_rocpd_value thread_id(conversion *c, set *s, int64_t tid)
{
    if (is_new(s, GT_ROCPD_THREADS, tid))
        insert(c, s, GT_ROCPD_THREADS, number(tid), number(NODE_ID), number(s->pid), number(tid));
    return number(tid);
}

static gt_rocpd_value place_id(conversion *c, set *s, gt_rocpd_table t, const char *what, int64_t id)
{
    if (is_new(s, t, id)) {
        char name[48];
        snprintf(name, sizeof name, "%s %" PRId64, what, id);
        insert(c, s, t, number(id), number(NODE_ID), number(s->pid), text((gt_str){name, strlen(name)}));
    }
    return number(id);
}

/* The displayed name: without the suffix of names that are not C++. */
static gt_str displayed(gt_str name)
{
    bool ends = name.len > 3 && memcmp(name.bytes + name.len - 3, ".kd", 3) == 0;
    return (gt_str){name.bytes, name.len - (ends ? 3 : 0)};
}

static void add_kernel(conversion *c, set *s, int64_t id)
{
    gt_str name = text_of(c, gt_rocprof_kernel_name(c->run, id));
    gt_kernel_use use = gt_rocprof_kernel_use(c->run, id);
    c->json.len = 0;
    gt_buffer_add_cstr(&c->json, "{\"kernel_id\":");
    gt_buffer_add_int(&c->json, id);
    gt_buffer_add_cstr(&c->json, ",\"truncated_kernel_name\":");
    gt_json_string_add(&c->json, name, &c->rows.scratch);
    gt_buffer_add_cstr(&c->json, "}");
    insert(c, s, GT_ROCPD_KERNELS, number(id), number(NODE_ID), number(s->pid), number(0), text(name),
           text(displayed(name)), number_if(use.lds_bytes >= 0, use.lds_bytes),
           number_if(use.sgprs >= 0, use.sgprs), number_if(use.vgprs >= 0, use.vgprs),
           number_if(use.accum_vgprs >= 0, use.accum_vgprs), text(gt_buffer_str(&c->json)));
}

static gt_rocpd_value kernel_id(conversion *c, set *s, int64_t id)
{
    if (id == GT_NO_KERNEL_ID) return none;
    if (is_new(s, GT_ROCPD_KERNELS, id)) add_kernel(c, s, id);
    return number(id);
}

/* ---- agents ---- */

/* Adds "key". Nested keys ("grid_max_dim/x") of one object must be adjacent. */
static void add_agent_key(gt_buffer *json, const char *path, gt_str *object)
{
    const char *slash = strchr(path, '/');
    gt_str outer = {path, slash ? (size_t)(slash - path) : 0};
    bool same = outer.len && outer.len == object->len && memcmp(outer.bytes, object->bytes, outer.len) == 0;
    if (object->len && !same) gt_buffer_add_cstr(json, "}");
    if (json->bytes[json->len - 1] != '{') gt_buffer_add_cstr(json, ",");
    if (outer.len && !same) {
        gt_buffer_add_cstr(json, "\"");
        gt_buffer_add(json, outer.bytes, outer.len);
        gt_buffer_add_cstr(json, "\":{");
    }
    gt_buffer_add_cstr(json, "\"");
    gt_buffer_add_cstr(json, slash ? slash + 1 : path);
    gt_buffer_add_cstr(json, "\":");
    *object = outer;
}

/* The properties of an agent, as rocprofv3 writes them. */
static gt_str agent_json(conversion *c, const gt_store_cell *cells)
{
    gt_str object = {"", 0};
    c->json.len = 0;
    gt_buffer_add_cstr(&c->json, "{");
    for (size_t i = GT_AGENT_ID; i < GT_AGENT_COLUMNS; i++) {
        const gt_field *field = &gt_agent_fields[i];
        bool is_text = gt_agent_columns[i].type == GT_STORE_STRING;
        bool known = is_text ? cells[i].text != GT_STR_NONE : cells[i].integer != GT_AGENT_ABSENT;
        if (!field->path || !known) continue;
        add_agent_key(&c->json, field->path, &object);
        gt_str value_text = is_text ? text_of(c, (uint32_t)cells[i].text) : (gt_str){"", 0};
        if (!is_text)
            gt_buffer_add_int(&c->json, cells[i].integer);
        else if (field->kind == GT_FIELD_JSON)
            gt_buffer_add(&c->json, value_text.bytes, value_text.len);
        else
            gt_json_string_add(&c->json, value_text, &c->rows.scratch);
    }
    gt_buffer_add_cstr(&c->json, object.len ? "}}" : "}");
    return gt_buffer_str(&c->json);
}

static gt_rocpd_value agent_text(const conversion *c, const gt_store_cell *cells, size_t column)
{
    uint32_t id = (uint32_t)cells[column].text;
    return id ? text(text_of(c, id)) : none;
}

static gt_rocpd_value agent_number(const gt_store_cell *cells, size_t column)
{
    return number_if(cells[column].integer != GT_AGENT_ABSENT, cells[column].integer);
}

static void add_agents(conversion *c)
{
    gt_store_cell cells[GT_STORE_MAX_COLUMNS];
    gt_store_scan *scan = gt_store_scan_new(c->run->agents);
    while (gt_store_scan_next(scan, cells)) {
        set *s = set_of(c, cells[GT_AGENT_PROCESS].integer);
        int64_t id = cells[GT_AGENT_ID].integer;
        gt_str type = text_of(c, (uint32_t)cells[GT_AGENT_TYPE].text);
        bool is_cpu = gt_str_equals(type, "CPU");
        if (!is_new(s, GT_ROCPD_AGENTS, id)) continue;
        insert(c, s, GT_ROCPD_AGENTS, number(id), number(NODE_ID), number(s->pid),
               agent_text(c, cells, GT_AGENT_TYPE), agent_number(cells, GT_AGENT_NODE_ID),
               agent_number(cells, GT_AGENT_LOGICAL_NODE_ID), number(is_cpu ? s->cpus++ : s->gpus++),
               agent_text(c, cells, GT_AGENT_NAME), agent_text(c, cells, GT_AGENT_MODEL_NAME),
               agent_text(c, cells, GT_AGENT_VENDOR_NAME), agent_text(c, cells, GT_AGENT_PRODUCT_NAME),
               text(agent_json(c, cells)));
    }
    gt_store_scan_free(scan);
}

/* ---- events ---- */

static void add_dispatches(conversion *c)
{
    gt_store_cell d[GT_DISPATCH_COLUMNS];
    gt_store_scan *scan = gt_store_scan_new(c->run->dispatches);
    while (gt_store_scan_next(scan, d) && !c->rows.failed) {
        set *s = set_of(c, d[GT_DISPATCH_PROCESS].integer);
        int64_t event = add_event(c, s, word_id(c, s, "KERNEL_DISPATCH"), d[GT_DISPATCH_CORRELATION].integer);
        insert(c, s, GT_ROCPD_DISPATCHES, number(NODE_ID), number(s->pid),
               thread_id(c, s, d[GT_DISPATCH_THREAD].integer), number(d[GT_DISPATCH_AGENT].integer),
               kernel_id(c, s, d[GT_DISPATCH_KERNEL_ID].integer), number(d[GT_DISPATCH_ID].integer),
               place_id(c, s, GT_ROCPD_QUEUES, "Queue", d[GT_DISPATCH_QUEUE].integer),
               place_id(c, s, GT_ROCPD_STREAMS, "Stream", d[GT_DISPATCH_STREAM].integer),
               number(d[GT_DISPATCH_START].integer), number(d[GT_DISPATCH_END].integer),
               number(d[GT_DISPATCH_SCRATCH_BYTES].integer), number(d[GT_DISPATCH_LDS_BYTES].integer),
               number(d[GT_DISPATCH_BLOCK_X].integer), number(d[GT_DISPATCH_BLOCK_Y].integer),
               number(d[GT_DISPATCH_BLOCK_Z].integer), number(d[GT_DISPATCH_GRID_X].integer),
               number(d[GT_DISPATCH_GRID_Y].integer), number(d[GT_DISPATCH_GRID_Z].integer),
               number(word_id(c, s, "")), number(event));
        if (gt_store_count(c->run->counters))
            *gt_map_put(&s->dispatch_events, (uint64_t)d[GT_DISPATCH_ID].integer, 0) = (uint32_t)event;
        gt_progress_add(0, 1);
    }
    gt_store_scan_free(scan);
}

static void add_copies(conversion *c)
{
    gt_store_cell d[GT_COPY_COLUMNS];
    gt_store_scan *scan = gt_store_scan_new(c->run->copies);
    while (gt_store_scan_next(scan, d) && !c->rows.failed) {
        set *s = set_of(c, d[GT_COPY_PROCESS].integer);
        int64_t event = add_event(c, s, word_id(c, s, "MEMORY_COPY"), d[GT_COPY_CORRELATION].integer);
        int64_t source = d[GT_COPY_SOURCE].integer, destination = d[GT_COPY_DESTINATION].integer;
        insert(c, s, GT_ROCPD_COPIES, number(NODE_ID), number(s->pid),
               thread_id(c, s, d[GT_COPY_THREAD].integer), number(d[GT_COPY_START].integer),
               number(d[GT_COPY_END].integer),
               number(word_id(c, s, gt_copy_direction_name((gt_copy_direction)d[GT_COPY_DIRECTION].integer))),
               number_if(destination >= 0, destination), number_if(source >= 0, source),
               number_if(d[GT_COPY_BYTES].integer >= 0, d[GT_COPY_BYTES].integer),
               place_id(c, s, GT_ROCPD_STREAMS, "Stream", d[GT_COPY_STREAM].integer),
               number(word_id(c, s, "")), number(event));
        gt_progress_add(0, 1);
    }
    gt_store_scan_free(scan);
}

static void add_calls(conversion *c)
{
    gt_store_cell d[GT_CALL_COLUMNS];
    gt_store_scan *scan = gt_store_scan_new(c->run->calls);
    while (gt_store_scan_next(scan, d) && !c->rows.failed) {
        set *s = set_of(c, d[GT_CALL_PROCESS].integer);
        uint32_t kind = (uint32_t)d[GT_CALL_KIND].text;
        int64_t category =
            kind ? string_id(c, s, kind)
                 : word_id(c, s, gt_call_domain_name((gt_call_domain)d[GT_CALL_DOMAIN].integer));
        uint32_t name = (uint32_t)d[GT_CALL_NAME].text;
        gt_rocpd_value name_id = name ? number(string_id(c, s, name)) : none;
        int64_t event = add_event(c, s, category, d[GT_CALL_CORRELATION].integer);
        insert(c, s, GT_ROCPD_REGIONS, number(NODE_ID), number(s->pid),
               thread_id(c, s, d[GT_CALL_THREAD].integer), number(d[GT_CALL_START].integer),
               number(d[GT_CALL_END].integer), name_id, number(event));
        gt_progress_add(0, 1);
    }
    gt_store_scan_free(scan);
}

static int64_t counter_id(conversion *c, set *s, uint32_t name)
{
    uint32_t *id = gt_map_put(&s->counter_ids, name, 0);
    if (*id == GT_MAP_NONE) {
        *id = (uint32_t)s->counter_ids.count;
        gt_rocpd_value called = text(text_of(c, name));
        insert(c, s, GT_ROCPD_COUNTERS, number(*id), number(NODE_ID), number(s->pid), none,
               text((gt_str){"GPU", 3}), called, called, text((gt_str){"ABS", 3}));
    }
    return *id;
}

static size_t add_counters(conversion *c)
{
    size_t dropped = 0;
    gt_store_cell d[GT_COUNTER_COLUMNS];
    gt_store_scan *scan = gt_store_scan_new(c->run->counters);
    while (gt_store_scan_next(scan, d) && !c->rows.failed) {
        int64_t process = d[GT_COUNTER_PROCESS].integer;
        set *s = set_of(c, process);
        uint32_t event = gt_map_get(&s->dispatch_events, (uint64_t)d[GT_COUNTER_DISPATCH].integer, 0);
        bool has_process = process >= 0 && (uint64_t)process < c->set_count; /* not in a later pass only */
        if (event == GT_MAP_NONE || !has_process) {
            dropped++;
            continue;
        }
        gt_rocpd_value measured = {.kind = GT_ROCPD_REAL, .real = d[GT_COUNTER_VALUE].time};
        insert(c, s, GT_ROCPD_VALUES, number(event),
               number(counter_id(c, s, (uint32_t)d[GT_COUNTER_NAME].text)), measured);
    }
    gt_store_scan_free(scan);
    return dropped;
}

/* ---- database ---- */

/* 32 digits computed from what identifies a process, so that the same run gives the same bytes. */
static void make_guid(char guid[GT_ROCPD_GUID + 1], const conversion *c, const gt_rocprof_process *process,
                      size_t index)
{
    gt_str host = text_of(c, process->hostname);
    const int64_t facts[] = {process->pid, process->init_ns, process->fini_ns, (int64_t)index};
    uint64_t high = gt_hash_bytes(facts, sizeof facts), low = gt_hash_bytes(host.bytes, host.len) ^ high << 1;
    snprintf(guid, GT_ROCPD_GUID + 1, "%08x-%04x-8%03x-%04x-%012" PRIx64, (unsigned)(high >> 32),
             (unsigned)(high >> 16 & 0xFFFF), (unsigned)(high & 0xFFF),
             (unsigned)(low >> 48 & 0x3FFF) | 0x8000, low & UINT64_C(0xFFFFFFFFFFFF));
}

static bool begin_set(conversion *c, size_t index, const gt_rocprof_process *process)
{
    set *s = &c->sets[index];
    s->pid = process->pid;
    gt_str host = text_of(c, process->hostname), command = text_of(c, process->command);
    insert(c, s, GT_ROCPD_NODES, number(NODE_ID), number(0), text((gt_str){"", 0}), text(host));
    insert(c, s, GT_ROCPD_PROCESSES, number(s->pid), number(NODE_ID), number(0), number(s->pid),
           number(process->init_ns), number(process->fini_ns), number(process->init_ns),
           number(process->fini_ns), command.len ? text(command) : none);
    return !c->rows.failed;
}

static bool for_all_sets(conversion *c, bool (*create)(gt_database *database, const char *const *guids,
                                                       size_t count, gt_error *error))
{
    const char **guids = gt_alloc(c->set_count * sizeof *guids);
    for (size_t i = 0; i < c->set_count; i++) guids[i] = c->sets[i].tables.guid;
    bool made = create(&c->rows.database, guids, c->set_count, c->rows.error);
    gt_free(guids);
    return made;
}

static bool begin_sets(conversion *c)
{
    gt_rocprof_process only = {.pid = c->run->pid,
                               .hostname = c->run->hostname,
                               .init_ns = c->run->init_ns,
                               .fini_ns = c->run->fini_ns};
    const gt_rocprof_process *processes = c->run->process_count ? c->run->process : &only;
    c->set_count = c->run->process_count ? c->run->process_count : 1;
    c->sets = gt_alloc_zero(c->set_count, sizeof *c->sets);
    if (c->set_count > GT_ROCPD_SETS)
        return gt_fail(c->rows.error, "a database can hold %d processes; this run has %zu", GT_ROCPD_SETS,
                       c->set_count);
    for (size_t i = 0; i < c->set_count; i++) make_guid(c->sets[i].tables.guid, c, &processes[i], i);
    if (!for_all_sets(c, gt_rocpd_create_sets)) return false;
    for (size_t i = 0; i < c->set_count; i++)
        if (!begin_set(c, i, &processes[i])) return false;
    return true;
}

static bool add_all(conversion *c, gt_rocpd_totals *totals)
{
    if (!begin_sets(c)) return false;
    add_agents(c);
    add_dispatches(c);
    add_copies(c);
    add_calls(c);
    totals->dropped = add_counters(c);
    totals->dispatches = gt_store_count(c->run->dispatches);
    totals->copies = gt_store_count(c->run->copies);
    totals->calls = gt_store_count(c->run->calls);
    totals->values = gt_store_count(c->run->counters) - totals->dropped;
    return !c->rows.failed && for_all_sets(c, gt_rocpd_create_views);
}

static void free_set(set *s)
{
    gt_rocpd_set_free(&s->tables);
    gt_map_free(&s->known);
    gt_map_free(&s->strings);
    gt_map_free(&s->counter_ids);
    gt_map_free(&s->dispatch_events);
}

bool gt_convert_rocpd(gt_rocprof *run, gt_output *output, const char *path, gt_rocpd_totals *totals,
                      gt_error *error)
{
    conversion c = {.run = run, .rows.error = error};
    if (!gt_database_begin(&c.rows.database, output, path, error)) return false;
    gt_progress_begin("writing", 0);
    bool ok = add_all(&c, totals);
    gt_progress_end();
    for (size_t i = 0; i < c.set_count; i++) free_set(&c.sets[i]);
    gt_free(c.sets);
    gt_buffer_free(&c.json);
    gt_buffer_free(&c.rows.scratch);
    return gt_database_end(&c.rows.database, ok, error);
}
