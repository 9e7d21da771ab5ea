/* Slices to records. The category says what a slice is; times are those of the annotations, which are exact,
 * and where a writer has none, those of the slice. Other annotations than the known ones, if they are
 * fractions, are the dispatch's counters. */
#include "input/rocprof/perfetto.h"
#include "base/length.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/progress.h"
#include "input/perfetto/record.h"
#include "input/rocprof/perfetto_agents.h"
#include "input/rocprof/perfetto_fields.h"
#include "input/rocprof/row_order.h"
#include "trace/events.h"

#include <stdlib.h>
#include <string.h>

/* What a slice is. */
typedef enum slice_kind {
    SLICE_OTHER = 1,
    SLICE_DISPATCH,
    SLICE_COPY,
    SLICE_SESSION, /* the time that was profiled, in files of `gputally convert`, ... */
    SLICE_AGENT,   /* ... as this one, which is a mark */
    SLICE_CALL,    /* and behind it: one a domain */
} slice_kind;

typedef struct reading {
    gt_rocprof_writers *writers;
    gt_rocprof *run;
    gt_perfetto *trace;
    gt_perfetto_records *records;
    gt_record record;
    gt_interner *texts; /* of the file: long kernel names stay here */
    uint8_t *kinds;     /* by text id of a category; 0 where not asked for */
    struct {
        int64_t id;
        gt_kernel_use use;
        bool is_known;
    } * kernels;                    /* by text id of a name: the kernel it stood for last */
    size_t text_count;              /* of both arrays */
    int64_t last_pid, last_process; /* asked for last */
    bool has_process;
    gt_map processes;                                       /* by pid */
    gt_perfetto_event pending;                              /* a slice whose end is still to come ... */
    uint8_t pending_kind;                                   /* ... 0 where there is none */
    int64_t dispatches;                                     /* so far */
    int64_t dispatch_process, dispatch_id, dispatch_kernel; /* the last one's, for its counters */
    struct {
        uint32_t name;
        double value;
    } * counters; /* of the slice in hand */
    size_t counter_count, counter_capacity;
    struct {
        gt_row_order dispatches, copies, calls, counters;
    } places;
    gt_agent_marks *agents;
    size_t kept, timeless;
} reading;

static bool has(const reading *r, rocprof_arg f)
{
    return r->record.present >> f & 1;
}

static int64_t int_of(const reading *r, rocprof_arg f, int64_t otherwise)
{
    return has(r, f) ? r->record.cells[f].integer : otherwise;
}

static gt_str text_of(const reading *r, rocprof_arg f)
{
    return gt_interner_get(r->texts, has(r, f) ? (uint32_t)r->record.cells[f].text : GT_STR_NONE);
}

/* ---- texts ---- */

static void grow_texts(reading *r, uint32_t text)
{
    if (text < r->text_count) return;
    size_t count = (size_t)text + 1 + r->text_count;
    r->kinds = gt_realloc(r->kinds, count);
    r->kernels = gt_realloc(r->kernels, count * sizeof *r->kernels);
    memset(r->kernels + r->text_count, 0, (count - r->text_count) * sizeof *r->kernels);
    memset(r->kinds + r->text_count, 0, count - r->text_count);
    r->text_count = count;
}

static uint8_t kind_of(reading *r, uint32_t category)
{
    static const struct {
        const char *category;
        slice_kind kind;
    } known[] = {{"kernel_dispatch", SLICE_DISPATCH},
                 {"memory_copy", SLICE_COPY},
                 {"session", SLICE_SESSION},
                 {"agent", SLICE_AGENT}};
    grow_texts(r, category);
    uint8_t *kind = &r->kinds[category];
    if (*kind) return *kind;
    gt_str text = gt_interner_get(r->texts, category);
    *kind = SLICE_OTHER;
    for (size_t i = 0; i < GT_LENGTH(known); i++)
        if (gt_str_equals(text, known[i].category)) *kind = (uint8_t)known[i].kind;
    for (int d = 0; d < GT_CALL_OTHER; d++) {
        const char *name = gt_call_domain_name((gt_call_domain)d);
        if (gt_str_equals(text, name)) *kind = (uint8_t)(SLICE_CALL + d);
    }
    return *kind;
}

/* The run's id of a text of the file. */
static uint32_t move_text(reading *r, uint32_t text)
{
    gt_str moving = gt_interner_get(r->texts, text);
    return text == GT_STR_NONE ? GT_STR_NONE : gt_interner_add(r->run->strings, moving.bytes, moving.len);
}

/* The run's id of a kernel's short name. */
static uint32_t short_name(reading *r, uint32_t text)
{
    gt_str name = gt_kernel_short_name(gt_interner_get(r->texts, text));
    return gt_interner_add(r->run->strings, name.bytes, name.len);
}

/* ---- records ---- */

static int64_t process_of_pid(reading *r, int64_t pid)
{
    if (r->has_process && r->last_pid == pid) return r->last_process;
    uint32_t *found = gt_map_put(&r->processes, (uint64_t)pid, 0);
    if (*found == GT_MAP_NONE)
        *found = (uint32_t)gt_rocprof_add_process(r->run, (gt_rocprof_process){.pid = pid});
    r->has_process = true;
    r->last_pid = pid;
    return r->last_process = *found;
}

static int64_t process_of(reading *r)
{
    return process_of_pid(r, int_of(r, PID, 0));
}

/* Files of `gputally convert` describe all processes first, in the run's order. */
static void add_processes(reading *r)
{
    for (uint32_t track = 0; track < gt_perfetto_track_count(r->trace); track++) {
        const gt_perfetto_track *described = gt_perfetto_track_of(r->trace, track);
        if (described->kind == GT_TRACK_PROCESS) process_of_pid(r, described->pid);
    }
}

static int32_t use_of(const reading *r, rocprof_arg f)
{
    int64_t value = int_of(r, f, -1);
    return value >= 0 && value <= INT32_MAX ? (int32_t)value : -1;
}

static int64_t kernel_of(reading *r)
{
    rocprof_arg from = has(r, KERNEL_NAME) ? KERNEL_NAME : NAME;
    if (!has(r, from)) return GT_NO_KERNEL_ID;
    uint32_t text = (uint32_t)r->record.cells[from].text;
    gt_kernel_use use = {use_of(r, VGPRS), use_of(r, ACCUM_VGPRS), use_of(r, SGPRS), -1};
    grow_texts(r, text);
    if (from == NAME && r->kernels[text].is_known && memcmp(&r->kernels[text].use, &use, sizeof use) == 0)
        return r->kernels[text].id;
    uint32_t name = from == NAME ? short_name(r, text) : move_text(r, text);
    int64_t id = gt_kernel_names_add(r->run, name, use);
    if (from == NAME) {
        r->kernels[text].id = id;
        r->kernels[text].use = use;
        r->kernels[text].is_known = true;
    }
    return id;
}

typedef struct row {
    gt_store_cell cells[GT_STORE_MAX_COLUMNS];
    uint64_t present;
} row;

static void set(row *to, size_t column, int64_t value)
{
    to->cells[column].integer = value;
    to->present |= UINT64_C(1) << column;
}

static void copy_int(const reading *r, row *to, size_t column, rocprof_arg from)
{
    if (has(r, from)) set(to, column, r->record.cells[from].integer);
}

static void copy_agent(const reading *r, row *to, size_t column, rocprof_arg label, rocprof_arg id)
{
    if (has(r, id))
        copy_int(r, to, column, id);
    else if (has(r, label))
        set(to, column, gt_chrome_agent_number(text_of(r, label), false));
}

static void add_place(const reading *r, gt_row_order *to)
{
    gt_row_order_add(to, has(r, PLACE) ? &r->record.cells[PLACE].integer : NULL);
}

/* A size by its axes, or where only their product is known, as one row. */
static void copy_size(const reading *r, row *to, size_t first_column, rocprof_arg product,
                      rocprof_arg first_axis)
{
    copy_int(r, to, first_column, product);
    for (size_t axis = 0; axis < 3; axis++)
        copy_int(r, to, first_column + axis, (rocprof_arg)(first_axis + axis));
}

static void add_counters(reading *r)
{
    for (size_t i = 0; i < r->counter_count && r->writers->counters; i++) {
        row to = {.present = 0};
        set(&to, GT_COUNTER_PROCESS, r->dispatch_process);
        set(&to, GT_COUNTER_DISPATCH, r->dispatch_id);
        set(&to, GT_COUNTER_KERNEL_ID, r->dispatch_kernel);
        to.cells[GT_COUNTER_NAME].text = move_text(r, r->counters[i].name);
        to.cells[GT_COUNTER_VALUE].time = r->counters[i].value;
        to.present |= UINT64_C(1) << GT_COUNTER_NAME | UINT64_C(1) << GT_COUNTER_VALUE;
        gt_store_writer_add(r->writers->counters, to.present, to.cells);
        add_place(r, &r->places.counters);
    }
}

static void add_dispatch(reading *r, int64_t begin_ns, int64_t end_ns)
{
    row to = {.present = 0};
    r->dispatches++;
    r->dispatch_process = process_of(r);
    r->dispatch_id = int_of(r, DISPATCH, r->dispatches);
    r->dispatch_kernel = kernel_of(r);
    set(&to, GT_DISPATCH_KERNEL_ID, r->dispatch_kernel);
    set(&to, GT_DISPATCH_START, begin_ns);
    set(&to, GT_DISPATCH_END, end_ns);
    set(&to, GT_DISPATCH_ID, r->dispatch_id);
    set(&to, GT_DISPATCH_PROCESS, r->dispatch_process);
    copy_int(r, &to, GT_DISPATCH_STREAM, STREAM);
    copy_size(r, &to, GT_DISPATCH_GRID_X, GRID, GRID_X);
    copy_size(r, &to, GT_DISPATCH_BLOCK_X, BLOCK, BLOCK_X);
    copy_agent(r, &to, GT_DISPATCH_AGENT, AGENT, AGENT_ID);
    copy_int(r, &to, GT_DISPATCH_THREAD, THREAD);
    if (has(r, QUEUE) && r->record.cells[QUEUE].integer < INT64_MAX)
        set(&to, GT_DISPATCH_QUEUE,
            r->record.cells[QUEUE].integer + 1); /* here rocprofv3 counts them from 0 */
    copy_int(r, &to, GT_DISPATCH_CORRELATION, CORRELATION);
    copy_int(r, &to, GT_DISPATCH_LDS_BYTES, has(r, LDS) ? LDS : OLD_LDS);
    copy_int(r, &to, GT_DISPATCH_SCRATCH_BYTES, has(r, SCRATCH) ? SCRATCH : OLD_SCRATCH);
    gt_rocprof_write_dispatch(r->writers, to.present, to.cells);
    add_place(r, &r->places.dispatches);
    add_counters(r);
}

static void add_copy(reading *r, int64_t begin_ns, int64_t end_ns)
{
    row to = {.present = 0};
    set(&to, GT_COPY_START, begin_ns);
    set(&to, GT_COPY_END, end_ns);
    set(&to, GT_COPY_PROCESS, process_of(r));
    set(&to, GT_COPY_DIRECTION, gt_copy_direction_of(text_of(r, NAME)));
    copy_int(r, &to, GT_COPY_BYTES, BYTES);
    copy_agent(r, &to, GT_COPY_SOURCE, SOURCE, SOURCE_ID);
    copy_agent(r, &to, GT_COPY_DESTINATION, DESTINATION, DESTINATION_ID);
    copy_int(r, &to, GT_COPY_STREAM, STREAM);
    copy_int(r, &to, GT_COPY_THREAD, THREAD);
    copy_int(r, &to, GT_COPY_CORRELATION, CORRELATION);
    gt_rocprof_write_copy(r->writers, to.present, to.cells);
    add_place(r, &r->places.copies);
}

static void add_call(reading *r, gt_call_domain domain, int64_t begin_ns, int64_t end_ns)
{
    row to = {.present = 0};
    set(&to, GT_CALL_DOMAIN, domain);
    set(&to, GT_CALL_START, begin_ns);
    set(&to, GT_CALL_END, end_ns);
    set(&to, GT_CALL_PROCESS, process_of(r));
    copy_int(r, &to, GT_CALL_THREAD, THREAD);
    copy_int(r, &to, GT_CALL_CORRELATION, CORRELATION);
    copy_int(r, &to, GT_CALL_STREAM, STREAM);
    static const struct {
        rocprof_arg from;
        size_t column;
    } texts[] = {{NAME, GT_CALL_NAME}, {KIND, GT_CALL_KIND}};
    for (size_t i = 0; i < GT_LENGTH(texts); i++) {
        if (!has(r, texts[i].from)) continue;
        to.cells[texts[i].column].text = move_text(r, (uint32_t)r->record.cells[texts[i].from].text);
        to.present |= UINT64_C(1) << texts[i].column;
    }
    gt_store_writer_add(r->writers->calls, to.present, to.cells);
    add_place(r, &r->places.calls);
}

static void add_session(reading *r, int64_t begin_ns, int64_t end_ns)
{
    int64_t place = process_of(r);
    gt_rocprof_process *process = &r->run->process[place];
    process->pid = int_of(r, SESSION_PID, process->pid);
    process->init_ns = begin_ns;
    process->fini_ns = end_ns;
    if (has(r, HOST)) process->hostname = move_text(r, (uint32_t)r->record.cells[HOST].text);
    if (has(r, COMMAND)) process->command = move_text(r, (uint32_t)r->record.cells[COMMAND].text);
}

static void add_record(reading *r, uint8_t kind, int64_t begin_ns, int64_t end_ns)
{
    r->kept++;
    if (kind == SLICE_DISPATCH)
        add_dispatch(r, begin_ns, end_ns);
    else if (kind == SLICE_COPY)
        add_copy(r, begin_ns, end_ns);
    else if (kind == SLICE_SESSION)
        add_session(r, begin_ns, end_ns);
    else
        add_call(r, (gt_call_domain)(kind - SLICE_CALL), begin_ns, end_ns);
}

/* ---- slices ---- */

static void note_counter(void *context, const gt_note *note)
{
    reading *r = context;
    double value;
    if (note->type != GT_NOTE_DOUBLE || !gt_note_double(note, &value)) return;
    r->counters = gt_grow(r->counters, &r->counter_capacity, r->counter_count + 1, sizeof *r->counters);
    r->counters[r->counter_count].name = note->name;
    r->counters[r->counter_count++].value = value;
}

/* A slice whose times stand only in its two events counts where the end follows at once. */
static void end_pending(reading *r, const gt_perfetto_event *event)
{
    bool ends = event && event->type == GT_PERFETTO_END && event->track == r->pending.track;
    if (ends)
        add_record(r, r->pending_kind, r->pending.time_ns, event->time_ns);
    else
        r->timeless++;
    r->pending_kind = 0;
}

static void read_agent(reading *r, const gt_perfetto_event *event)
{
    if (kind_of(r, event->category) != SLICE_AGENT) return;
    if (!r->kept++) add_processes(r);
    gt_agent_marks_read(r->agents, event, process_of_pid(r, gt_perfetto_pid(r->trace, event->track)),
                        r->writers);
}

static void read_slice(reading *r, const gt_perfetto_event *event)
{
    uint8_t kind = kind_of(r, event->category);
    if (kind == SLICE_OTHER || kind == SLICE_AGENT) return;
    if (kind == SLICE_SESSION && !r->kept) add_processes(r);
    if (kind == SLICE_CALL + GT_CALL_HIP || kind == SLICE_CALL + GT_CALL_HSA) r->run->api_calls++;
    if (kind >= SLICE_CALL && !r->writers->calls) {
        r->kept++;
        return;
    }
    r->counter_count = 0;
    gt_perfetto_record_head(r->records, event, &r->record);
    gt_perfetto_record_args(r->records, event, &r->record,
                            kind == SLICE_DISPATCH && r->writers->counters ? note_counter : NULL, r);
    int64_t begin_ns = int_of(r, BEGIN, event->time_ns), end_ns;
    if (has(r, END))
        add_record(r, kind, begin_ns, r->record.cells[END].integer);
    else if (has(r, DELTA) && !__builtin_add_overflow(begin_ns, r->record.cells[DELTA].integer, &end_ns))
        add_record(r, kind, begin_ns, end_ns);
    else if (event->type == GT_PERFETTO_COMPLETE && !__builtin_add_overflow(begin_ns, event->dur_ns, &end_ns))
        add_record(r, kind, begin_ns, end_ns);
    else {
        r->pending = *event;
        r->pending.time_ns = begin_ns;
        r->pending_kind = kind;
    }
}

static bool read_all(reading *r, const char *path, const gt_read_options *options, gt_error *error)
{
    gt_perfetto_event event;
    while (gt_perfetto_next(r->trace, &event)) {
        if (r->pending_kind) end_pending(r, &event);
        if (event.type == GT_PERFETTO_BEGIN || event.type == GT_PERFETTO_COMPLETE) read_slice(r, &event);
        if (event.type == GT_PERFETTO_INSTANT) read_agent(r, &event);
    }
    if (r->pending_kind) end_pending(r, NULL);
    if (!gt_perfetto_accept(r->trace, r->kept, "kernels, copies and calls", options, error)) return false;
    if (!r->kept && !r->timeless)
        return gt_fail(error, "%s: this Perfetto trace holds no kernels, copies or API calls of rocprofv3",
                       path);
    if (r->timeless)
        gt_warn("%s: %zu kernels, copies or calls without a time are left out", path, r->timeless);
    return true;
}

static void restore_order(reading *r)
{
    gt_row_order_restore(&r->places.dispatches, r->writers->dispatches);
    gt_row_order_restore(&r->places.copies, r->writers->copies);
    gt_row_order_restore(&r->places.calls, r->writers->calls);
    gt_row_order_restore(&r->places.counters, r->writers->counters);
}

static void free_places(reading *r)
{
    gt_row_order_free(&r->places.dispatches);
    gt_row_order_free(&r->places.copies);
    gt_row_order_free(&r->places.calls);
    gt_row_order_free(&r->places.counters);
}

bool gt_rocprof_read_perfetto(gt_rocprof_writers *writers, gt_stream *stream, const gt_read_options *options,
                              gt_error *error)
{
    reading *r = gt_alloc_zero(1, sizeof *r);
    r->writers = writers;
    r->run = writers->run;
    r->texts = gt_interner_new();
    r->trace = gt_perfetto_new(stream, r->texts);
    r->records = gt_perfetto_records_new(r->trace, fields, FIELDS);
    r->agents = gt_agent_marks_new(r->trace);
    gt_rocprof_write_flush(writers); /* of files read before: their order stays */
    if (!options->is_part) gt_progress_begin(gt_stream_path(stream), gt_stream_size(stream));
    bool read = read_all(r, gt_stream_path(stream), options, error);
    if (!options->is_part) gt_progress_end();
    if (read) restore_order(r);
    free_places(r);
    gt_agent_marks_free(r->agents);
    gt_perfetto_records_free(r->records);
    gt_perfetto_free(r->trace);
    gt_interner_free(r->texts);
    gt_map_free(&r->processes);
    gt_free(r->kinds);
    gt_free(r->kernels);
    gt_free(r->counters);
    gt_free(r);
    return read;
}
