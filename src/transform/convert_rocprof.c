/* What a rocprofv3 run looks like in a trace viewer.
 *
 * Names of arguments are those of rocprofv3's own Perfetto traces. More than those have, so that a report
 * from the trace is that from the run: dispatch_id, the sizes by axis where they are not one row, kernel_name
 * where the short name of the event's name is another, an agent's id where its label has another number, each
 * record's place where the run has them in another order than that of time, a slice for the time that was
 * profiled and a mark for each agent. */
#include "transform/convert.h"
#include "transform/convert_agents.h"
#include "transform/convert_keys.h"

#include "base/map.h"
#include "base/memory.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct conversion {
    gt_rocprof *run;
    gt_timeline *timeline;
    gt_interner *strings; /* the timeline's */
    uint32_t keys[KEYS];
    uint32_t *moved; /* from text ids of the run to those of the timeline; GT_STR_NONE: not moved yet */
    size_t moved_count;
    uint32_t *processes; /* the timeline's, by process of the run */
    size_t process_count;
    gt_convert_agents agents;
    gt_map threads;  /* (process, tid) to track */
    gt_map queues;   /* (agent, stream) to track */
    gt_map counters; /* (process, dispatch) to the first of its values */
    uint32_t *next_counter, *counter_names;
    double *counter_values;
} conversion;

static uint32_t word(conversion *c, const char *text)
{
    return gt_interner_add_cstr(c->strings, text);
}

static uint32_t move_text(conversion *c, uint32_t text)
{
    if (text >= c->moved_count) {
        size_t count = c->moved_count;
        c->moved = gt_grow(c->moved, &c->moved_count, (size_t)text + 1, sizeof *c->moved);
        memset(c->moved + count, 0, (c->moved_count - count) * sizeof *c->moved);
    }
    if (!c->moved[text] && text) {
        gt_str moving = gt_interner_get(c->run->strings, text);
        c->moved[text] = gt_interner_add(c->strings, moving.bytes, moving.len);
    }
    return c->moved[text];
}

/* ---- processes, agents, tracks ---- */

static uint32_t add_process(conversion *c, gt_map *pids, const gt_rocprof_process *process)
{
    gt_str host = gt_interner_get(c->run->strings, process->hostname);
    gt_str command = gt_interner_get(c->run->strings, process->command);
    char *name = gt_format("%.*s%s%.*s", (int)command.len, command.bytes,
                           command.len && host.len ? " on " : "", (int)host.len, host.bytes);
    /* Viewers take processes of one number for one process; those of several machines may share it. */
    uint64_t pid = (uint64_t)process->pid;
    while (gt_map_get(pids, pid, 0) != GT_MAP_NONE) pid += UINT64_C(1) << 22;
    *gt_map_put(pids, pid, 0) = 0;
    uint32_t added = gt_timeline_process(c->timeline, (int64_t)pid, (gt_str){name, strlen(name)});
    gt_free(name);
    return added;
}

static gt_rocprof_process only_process(const gt_rocprof *run)
{
    return (gt_rocprof_process){
        .pid = run->pid, .hostname = run->hostname, .init_ns = run->init_ns, .fini_ns = run->fini_ns};
}

static void add_processes(conversion *c)
{
    gt_map pids = {0};
    gt_rocprof_process only = only_process(c->run);
    const gt_rocprof_process *processes = c->run->process_count ? c->run->process : &only;
    c->process_count = c->run->process_count ? c->run->process_count : 1;
    c->processes = gt_alloc(c->process_count * sizeof *c->processes);
    for (size_t i = 0; i < c->process_count; i++) c->processes[i] = add_process(c, &pids, &processes[i]);
    gt_map_free(&pids);
}

static int64_t process_of(const conversion *c, int64_t process)
{
    return process >= 0 && (uint64_t)process < c->process_count ? process : 0;
}

static uint32_t agent_of(conversion *c, int64_t process, int64_t id)
{
    return gt_convert_agents_find(&c->agents, process, id);
}

static uint32_t thread_track(conversion *c, int64_t process, int64_t tid)
{
    uint32_t *found = gt_map_put(&c->threads, (uint64_t)process, (uint64_t)tid);
    if (*found == GT_MAP_NONE) {
        char name[48];
        snprintf(name, sizeof name, "THREAD (%" PRId64 ")", tid);
        gt_track_ask ask = {GT_FORM_THREAD, tid, {name, strlen(name)}};
        *found = gt_timeline_track(c->timeline, c->processes[process], ask);
    }
    return *found;
}

static uint32_t queue_track(conversion *c, uint32_t agent, int64_t stream)
{
    uint32_t *found = gt_map_put(&c->queues, agent, (uint64_t)stream);
    if (*found == GT_MAP_NONE) {
        char name[80];
        const gt_convert_agent *on = &c->agents.rows[agent];
        gt_str label = gt_interner_get(c->strings, on->label);
        snprintf(name, sizeof name, "STREAM [\" %" PRId64 " \"] %.*s", stream, (int)label.len, label.bytes);
        gt_track_ask ask = {GT_FORM_QUEUE, GT_NO_TID, {name, strlen(name)}};
        *found = gt_timeline_track(c->timeline, c->processes[on->process], ask);
    }
    return *found;
}

/* ---- notes ---- */

static void note(conversion *c, rocprof_key k, int64_t value)
{
    gt_timeline_note_int(c->timeline, c->keys[k], value);
}

static void note_word(conversion *c, rocprof_key k, uint32_t text)
{
    if (text) gt_timeline_note_literal(c->timeline, c->keys[k], text);
}

static void note_agent(conversion *c, uint32_t agent, rocprof_key label, rocprof_key id)
{
    const gt_convert_agent *row = &c->agents.rows[agent];
    note_word(c, label, row->label);
    if (row->id != row->number) note(c, id, row->id);
}

static void note_times(conversion *c, int64_t start, int64_t end)
{
    note(c, KEY_BEGIN, start);
    note(c, KEY_END, end);
    note(c, KEY_DELTA, (int64_t)((uint64_t)end - (uint64_t)start));
}

/* One number for a call and what it set off; numbers of different processes differ. */
static void join(conversion *c, int64_t process, int64_t correlation, bool arrives)
{
    if (!correlation || !c->run->calls) return;
    gt_timeline_flow(c->timeline, (uint64_t)correlation ^ ((uint64_t)process + 1) << 44, arrives);
}

/* ---- places ---- */

/* Whether the timeline, which is in order of time, keeps the order of a store. */
static bool keeps_order(const gt_store *store, size_t start_column, size_t end_column)
{
    size_t count = gt_store_count(store);
    int64_t *starts = gt_store_ints(store, start_column), *ends = gt_store_ints(store, end_column);
    bool keeps = true;
    for (size_t i = 0; i < count && keeps; i++) {
        keeps = starts[i] >= 0 && ends[i] >= starts[i];
        if (i) keeps &= starts[i] > starts[i - 1] || (starts[i] == starts[i - 1] && ends[i] <= ends[i - 1]);
    }
    gt_free(starts);
    gt_free(ends);
    return keeps;
}

typedef struct place_notes {
    int64_t next;
    bool are_told;
} place_notes;

static place_notes places_of(const gt_store *store, size_t start_column, size_t end_column)
{
    return (place_notes){.are_told = !keeps_order(store, start_column, end_column)};
}

static void note_place(conversion *c, place_notes *of)
{
    if (of->are_told) note(c, KEY_PLACE, of->next++);
}

/* ---- calls ---- */

static void add_calls(conversion *c)
{
    if (!c->run->calls) return;
    uint32_t categories[GT_CALL_DOMAINS];
    for (int d = 0; d < GT_CALL_DOMAINS; d++) categories[d] = word(c, gt_call_domain_name((gt_call_domain)d));
    gt_store_cell cells[GT_CALL_COLUMNS];
    place_notes places = places_of(c->run->calls, GT_CALL_START, GT_CALL_END);
    gt_store_scan *scan = gt_store_scan_new(c->run->calls);
    while (gt_store_scan_next(scan, cells)) {
        int64_t process = process_of(c, cells[GT_CALL_PROCESS].integer);
        int64_t start = cells[GT_CALL_START].integer, end = cells[GT_CALL_END].integer;
        int64_t tid = cells[GT_CALL_THREAD].integer, correlation = cells[GT_CALL_CORRELATION].integer;
        int64_t domain = cells[GT_CALL_DOMAIN].integer;
        uint32_t category = categories[domain >= 0 && domain < GT_CALL_DOMAINS ? domain : GT_CALL_OTHER];
        gt_timeline_begin(c->timeline, GT_TIMELINE_SLICE, thread_track(c, process, tid), start, end, category,
                          move_text(c, (uint32_t)cells[GT_CALL_NAME].text));
        join(c, process, correlation, false);
        note_times(c, start, end);
        note(c, KEY_THREAD, tid);
        note_word(c, KEY_KIND, move_text(c, (uint32_t)cells[GT_CALL_KIND].text));
        note(c, KEY_CORRELATION, correlation);
        if (cells[GT_CALL_STREAM].integer >= 0) note(c, KEY_STREAM, cells[GT_CALL_STREAM].integer);
        note_place(c, &places);
        gt_timeline_end(c->timeline);
    }
    gt_store_scan_free(scan);
}

/* ---- copies ---- */

static void note_copy_details(conversion *c, int64_t process, const gt_store_cell *cells)
{
    int64_t source = cells[GT_COPY_SOURCE].integer, destination = cells[GT_COPY_DESTINATION].integer;
    if (source >= 0) note_agent(c, agent_of(c, process, source), KEY_SOURCE, KEY_SOURCE_ID);
    if (destination >= 0)
        note_agent(c, agent_of(c, process, destination), KEY_DESTINATION, KEY_DESTINATION_ID);
    if (cells[GT_COPY_BYTES].integer >= 0) note(c, KEY_BYTES, cells[GT_COPY_BYTES].integer);
    note(c, KEY_CORRELATION, cells[GT_COPY_CORRELATION].integer);
    note(c, KEY_THREAD, cells[GT_COPY_THREAD].integer);
    note(c, KEY_STREAM, cells[GT_COPY_STREAM].integer);
}

/* The GPU among the two ends of a copy: the destination where both are GPUs, or nothing is known of them. */
static uint32_t gpu_of_copy(conversion *c, int64_t process, const gt_store_cell *cells)
{
    int64_t source = cells[GT_COPY_SOURCE].integer, destination = cells[GT_COPY_DESTINATION].integer;
    bool to_host = cells[GT_COPY_DIRECTION].integer == GT_COPY_DEVICE_TO_HOST;
    if (destination >= 0 && c->agents.rows[agent_of(c, process, destination)].is_cpu) to_host = true;
    int64_t chosen = to_host && source >= 0 ? source : destination;
    return agent_of(c, process, chosen < 0 ? 0 : chosen);
}

static void add_copies(conversion *c)
{
    bool detailed = c->run->wanted & GT_WANT_COPY_DETAILS;
    uint32_t category = word(c, "memory_copy"), kind = word(c, "MEMORY_COPY"), names[GT_COPY_DIRECTIONS];
    for (int d = 0; d < GT_COPY_DIRECTIONS; d++)
        names[d] = word(c, gt_copy_direction_name((gt_copy_direction)d));
    gt_store_cell cells[GT_COPY_COLUMNS];
    for (size_t i = 0; i < GT_COPY_COLUMNS; i++) cells[i].integer = gt_copy_columns[i].absent;
    place_notes places = places_of(c->run->copies, GT_COPY_START, GT_COPY_END);
    gt_store_scan *scan = gt_store_scan_new(c->run->copies);
    while (gt_store_scan_next(scan, cells)) {
        int64_t process = process_of(c, cells[GT_COPY_PROCESS].integer);
        int64_t start = cells[GT_COPY_START].integer, end = cells[GT_COPY_END].integer;
        int64_t direction = cells[GT_COPY_DIRECTION].integer;
        uint32_t track = queue_track(c, gpu_of_copy(c, process, cells), cells[GT_COPY_STREAM].integer);
        if (direction < 0 || direction >= GT_COPY_DIRECTIONS) direction = GT_COPY_UNKNOWN;
        gt_timeline_begin(c->timeline, GT_TIMELINE_SLICE, track, start, end, category, names[direction]);
        join(c, process, cells[GT_COPY_CORRELATION].integer, true);
        note_times(c, start, end);
        note_word(c, KEY_KIND, kind);
        if (detailed) note_copy_details(c, process, cells);
        note_place(c, &places);
        gt_timeline_end(c->timeline);
    }
    gt_store_scan_free(scan);
}

/* ---- counters ---- */

static void gather_counters(conversion *c)
{
    if (!c->run->counters) return;
    size_t count = gt_store_count(c->run->counters);
    int64_t *processes = gt_store_ints(c->run->counters, GT_COUNTER_PROCESS);
    int64_t *dispatches = gt_store_ints(c->run->counters, GT_COUNTER_DISPATCH);
    c->counter_names = gt_store_string_ids(c->run->counters, GT_COUNTER_NAME);
    c->counter_values = gt_store_times(c->run->counters, GT_COUNTER_VALUE);
    c->next_counter = gt_alloc(count * sizeof *c->next_counter);
    for (size_t i = count; i-- > 0;) { /* from the last, so that each list is in the file's order */
        uint32_t *first = gt_map_put(&c->counters, (uint64_t)processes[i], (uint64_t)dispatches[i]);
        c->next_counter[i] = *first;
        *first = (uint32_t)i;
    }
    gt_free(processes);
    gt_free(dispatches);
}

static void note_counters(conversion *c, int64_t process, int64_t dispatch)
{
    if (!c->run->counters) return;
    uint32_t at = gt_map_get(&c->counters, (uint64_t)process, (uint64_t)dispatch);
    for (; at != GT_MAP_NONE; at = c->next_counter[at])
        gt_timeline_note_double(c->timeline, move_text(c, c->counter_names[at]), c->counter_values[at]);
}

/* ---- dispatches ---- */

static int64_t product(const gt_store_cell *sizes)
{
    return (int64_t)((uint64_t)sizes[0].integer * (uint64_t)sizes[1].integer * (uint64_t)sizes[2].integer);
}

/* Where the size is not that of one row, its axes too. */
static void note_axes(conversion *c, rocprof_key first, const gt_store_cell *sizes)
{
    if (sizes[1].integer == 1 && sizes[2].integer == 1) return;
    for (int axis = 0; axis < 3; axis++) note(c, (rocprof_key)((int)first + axis), sizes[axis].integer);
}

static void note_dispatch_details(conversion *c, const gt_store_cell *cells)
{
    int64_t queue = cells[GT_DISPATCH_QUEUE].integer;
    gt_kernel_use use = gt_rocprof_kernel_use(c->run, cells[GT_DISPATCH_KERNEL_ID].integer);
    note(c, KEY_CORRELATION, cells[GT_DISPATCH_CORRELATION].integer);
    note(c, KEY_QUEUE, queue > 0 ? queue - 1 : 0); /* as rocprofv3 counts them here */
    note(c, KEY_SCRATCH, cells[GT_DISPATCH_SCRATCH_BYTES].integer);
    note(c, KEY_LDS, cells[GT_DISPATCH_LDS_BYTES].integer);
    if (use.vgprs >= 0) note(c, KEY_VGPRS, use.vgprs);
    if (use.accum_vgprs >= 0) note(c, KEY_ACCUM_VGPRS, use.accum_vgprs);
    if (use.sgprs >= 0) note(c, KEY_SGPRS, use.sgprs);
}

static void note_dispatch(conversion *c, const gt_store_cell *cells, uint32_t agent, gt_str name)
{
    int64_t kernel_id = cells[GT_DISPATCH_KERNEL_ID].integer;
    note_times(c, cells[GT_DISPATCH_START].integer, cells[GT_DISPATCH_END].integer);
    note_word(c, KEY_KIND, word(c, "KERNEL_DISPATCH"));
    note_agent(c, agent, KEY_AGENT, KEY_AGENT_ID);
    note_word(c, KEY_AGENT_TYPE, c->agents.rows[agent].type);
    if (c->run->wanted & GT_WANT_DISPATCH_DETAILS) note_dispatch_details(c, cells);
    note(c, KEY_THREAD, cells[GT_DISPATCH_THREAD].integer);
    if (kernel_id != GT_NO_KERNEL_ID) note(c, KEY_KERNEL_ID, kernel_id);
    note(c, KEY_BLOCK, product(cells + GT_DISPATCH_BLOCK_X));
    note(c, KEY_GRID, product(cells + GT_DISPATCH_GRID_X));
    note(c, KEY_STREAM, cells[GT_DISPATCH_STREAM].integer);
    note(c, KEY_DISPATCH, cells[GT_DISPATCH_ID].integer);
    note_axes(c, KEY_BLOCK_X, cells + GT_DISPATCH_BLOCK_X);
    note_axes(c, KEY_GRID_X, cells + GT_DISPATCH_GRID_X);
    if (gt_kernel_short_name(name).len != name.len)
        gt_timeline_note_string(c->timeline, c->keys[KEY_KERNEL_NAME], name);
}

static void add_dispatches(conversion *c)
{
    uint32_t category = word(c, "kernel_dispatch");
    gt_store_cell cells[GT_DISPATCH_COLUMNS];
    for (size_t i = 0; i < GT_DISPATCH_COLUMNS; i++) cells[i].integer = gt_dispatch_columns[i].absent;
    place_notes places = places_of(c->run->dispatches, GT_DISPATCH_START, GT_DISPATCH_END);
    gt_store_scan *scan = gt_store_scan_new(c->run->dispatches);
    while (gt_store_scan_next(scan, cells)) {
        int64_t process = process_of(c, cells[GT_DISPATCH_PROCESS].integer);
        uint32_t agent = agent_of(c, process, cells[GT_DISPATCH_AGENT].integer);
        uint32_t track = queue_track(c, agent, cells[GT_DISPATCH_STREAM].integer);
        uint32_t name = move_text(c, gt_rocprof_kernel_name(c->run, cells[GT_DISPATCH_KERNEL_ID].integer));
        gt_timeline_begin(c->timeline, GT_TIMELINE_SLICE, track, cells[GT_DISPATCH_START].integer,
                          cells[GT_DISPATCH_END].integer, category, name);
        join(c, process, cells[GT_DISPATCH_CORRELATION].integer, true);
        note_dispatch(c, cells, agent, gt_interner_get(c->strings, name));
        note_place(c, &places);
        note_counters(c, process, cells[GT_DISPATCH_ID].integer);
        gt_timeline_end(c->timeline);
    }
    gt_store_scan_free(scan);
}

/* ---- the whole ---- */

/* The time that was profiled: more than its first and last event. */
static void add_session(conversion *c, size_t process, const gt_rocprof_process *about)
{
    if (!about->init_ns && !about->fini_ns) return;
    gt_track_ask ask = {GT_FORM_QUEUE, GT_NO_TID, {"PROFILED RUN", 12}};
    uint32_t track = gt_timeline_track(c->timeline, c->processes[process], ask);
    gt_timeline_begin(c->timeline, GT_TIMELINE_SLICE, track, about->init_ns, about->fini_ns,
                      word(c, "session"), word(c, "profiled run"));
    note_times(c, about->init_ns, about->fini_ns);
    note(c, KEY_PID, about->pid);
    note_word(c, KEY_HOST, move_text(c, about->hostname));
    note_word(c, KEY_COMMAND, move_text(c, about->command));
    gt_timeline_end(c->timeline);
}

static void add_sessions(conversion *c)
{
    gt_rocprof_process only = only_process(c->run);
    const gt_rocprof_process *processes = c->run->process_count ? c->run->process : &only;
    for (size_t i = 0; i < c->process_count; i++) add_session(c, i, &processes[i]);
}

/* When the run began, as far as is known. */
static int64_t first_time(const conversion *c)
{
    int64_t *starts = gt_store_ints(c->run->dispatches, GT_DISPATCH_START), first = c->run->init_ns;
    for (size_t i = 0; i < gt_store_count(c->run->dispatches); i++)
        if (!first || starts[i] < first) first = starts[i];
    gt_free(starts);
    return first;
}

/* A mark for each agent, with all that is known of it. */
static void add_agents(conversion *c)
{
    if (!c->run->agents) return;
    int64_t time_ns = first_time(c);
    uint32_t category = word(c, "agent"), *tracks = gt_alloc_zero(c->process_count, sizeof *tracks);
    gt_store_cell cells[GT_STORE_MAX_COLUMNS];
    gt_store_scan *scan = gt_store_scan_new(c->run->agents);
    while (gt_store_scan_next(scan, cells)) {
        int64_t process = process_of(c, cells[GT_AGENT_PROCESS].integer);
        if (!tracks[process])
            tracks[process] = 1 + gt_timeline_track(c->timeline, c->processes[process],
                                                    (gt_track_ask){GT_FORM_QUEUE, GT_NO_TID, {"AGENTS", 6}});
        uint32_t agent = agent_of(c, process, cells[GT_AGENT_ID].integer);
        gt_timeline_begin(c->timeline, GT_TIMELINE_MARK, tracks[process] - 1, time_ns, time_ns, category,
                          c->agents.rows[agent].label);
        note(c, KEY_AGENT_ID, c->agents.rows[agent].id);
        gt_convert_agent_notes(c->timeline, c->run, cells);
        gt_timeline_end(c->timeline);
    }
    gt_store_scan_free(scan);
    gt_free(tracks);
}

void gt_convert_rocprof(gt_rocprof *run, gt_timeline *timeline)
{
    conversion c = {.run = run, .timeline = timeline, .strings = gt_timeline_strings(timeline)};
    for (int k = 0; k < KEYS; k++) c.keys[k] = word(&c, key_names[k]);
    add_processes(&c);
    gt_convert_agents_add(&c.agents, run, c.strings, c.process_count);
    add_sessions(&c);
    add_agents(&c);
    add_calls(&c);
    gather_counters(&c);
    add_copies(&c);
    add_dispatches(&c);
    gt_free(c.moved);
    gt_free(c.processes);
    gt_convert_agents_free(&c.agents);
    gt_free(c.next_counter);
    gt_free(c.counter_names);
    gt_free(c.counter_values);
    gt_map_free(&c.threads);
    gt_map_free(&c.queues);
    gt_map_free(&c.counters);
}
