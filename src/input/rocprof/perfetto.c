/* The reader of rocprofv3's Perfetto traces, and of those that `gputally convert` writes.
 *
 * The category says what a slice is. Times come from its annotations, which are exact, or from the slice if
 * it has none. To read one more annotation: a value of rocprof_arg, a row of `fields`, and its use in the
 * add_ function of its kind. Annotations without a field are the counters of a dispatch if they are floats.
 */
#include "input/rocprof/readers.h"
#include "base/progress.h"
#include "input/perfetto/record.h"
#include "trace/pytorch/pytorch.h" /* gt_trace_facts */

/* ---- the fields of a slice ---- */

typedef enum rocprof_arg {
    CATEGORY,
    NAME,
    PID,
    BEGIN,
    END,
    DELTA,
    KIND,
    OPERATION,
    AGENT,
    AGENT_TYPE,
    SOURCE,
    DESTINATION,
    BYTES,
    CORRELATION,
    ANCESTOR,
    QUEUE,
    THREAD,
    KERNEL_ID,
    KERNEL_NAME,
    SCRATCH,
    OLD_SCRATCH,
    LDS,
    OLD_LDS,
    VGPRS,
    ACCUM_VGPRS,
    SGPRS,
    BLOCK,
    BLOCK_X,
    BLOCK_Y,
    BLOCK_Z,
    GRID,
    GRID_X,
    GRID_Y,
    GRID_Z,
    STREAM,
    DISPATCH,
    AGENT_ID,
    SOURCE_ID,
    DESTINATION_ID,
    POSITION,
    SESSION_PID,
    HOST,
    COMMAND,
    FIELDS
} rocprof_arg;

static const gt_field fields[FIELDS] = {
    [CATEGORY] = {"cat", GT_FIELD_STRING, true},
    [NAME] = {"name", GT_FIELD_STRING, false},
    [PID] = {"pid", GT_FIELD_INT, false},
    [BEGIN] = {"args/begin_ns", GT_FIELD_INT, false},
    [END] = {"args/end_ns", GT_FIELD_INT, false},
    [DELTA] = {"args/delta_ns", GT_FIELD_INT, false},
    [KIND] = {"args/kind", GT_FIELD_STRING, false},
    [OPERATION] = {"args/operation", GT_FIELD_INT, false},
    [AGENT] = {"args/agent", GT_FIELD_JSON, false},
    [AGENT_TYPE] = {"args/agent_type", GT_FIELD_STRING, false},
    [SOURCE] = {"args/src_agent", GT_FIELD_JSON, false},
    [DESTINATION] = {"args/dst_agent", GT_FIELD_JSON, false},
    [BYTES] = {"args/copy_bytes", GT_FIELD_INT, false},
    [CORRELATION] = {"args/corr_id", GT_FIELD_INT, false},
    [ANCESTOR] = {"args/ancestor_id", GT_FIELD_INT, false},
    [QUEUE] = {"args/queue", GT_FIELD_INT, false},
    [THREAD] = {"args/tid", GT_FIELD_INT, false},
    [KERNEL_ID] = {"args/kernel_id", GT_FIELD_INT, false},
    [KERNEL_NAME] = {"args/kernel_name", GT_FIELD_STRING, false},
    [SCRATCH] = {"args/Scratch_Size", GT_FIELD_INT, false},
    [OLD_SCRATCH] = {"args/private_segment_size", GT_FIELD_INT, false},
    [LDS] = {"args/LDS_Block_Size", GT_FIELD_INT, false},
    [OLD_LDS] = {"args/group_segment_size", GT_FIELD_INT, false},
    [VGPRS] = {"args/VGPR_Count", GT_FIELD_INT, false},
    [ACCUM_VGPRS] = {"args/Accum_VGPR_Count", GT_FIELD_INT, false},
    [SGPRS] = {"args/SGPR_Count", GT_FIELD_INT, false},
    [BLOCK] = {"args/workgroup_size", GT_FIELD_INT, false},
    [BLOCK_X] = {"args/workgroup_size_x", GT_FIELD_INT, false},
    [BLOCK_Y] = {"args/workgroup_size_y", GT_FIELD_INT, false},
    [BLOCK_Z] = {"args/workgroup_size_z", GT_FIELD_INT, false},
    [GRID] = {"args/grid_size", GT_FIELD_INT, false},
    [GRID_X] = {"args/grid_size_x", GT_FIELD_INT, false},
    [GRID_Y] = {"args/grid_size_y", GT_FIELD_INT, false},
    [GRID_Z] = {"args/grid_size_z", GT_FIELD_INT, false},
    [STREAM] = {"args/stream_ID", GT_FIELD_INT, false},
    [DISPATCH] = {"args/dispatch_id", GT_FIELD_INT, false},
    [AGENT_ID] = {"args/agent_id", GT_FIELD_INT, false},
    [SOURCE_ID] = {"args/src_agent_id", GT_FIELD_INT, false},
    [DESTINATION_ID] = {"args/dst_agent_id", GT_FIELD_INT, false},
    [POSITION] = {"args/record", GT_FIELD_INT, false},
    [SESSION_PID] = {"args/pid", GT_FIELD_INT, false},
    [HOST] = {"args/hostname", GT_FIELD_STRING, false},
    [COMMAND] = {"args/command", GT_FIELD_STRING, false},
};

/* ---- the order of records ----
 *
 * Records of a trace are in order of time. The run that a trace was converted from may have another order,
 * which sums of fractions and ties in sorted sheets depend on. `gputally convert` then numbers the records
 * (args/record). */

typedef struct row_order {
    double *positions;
    size_t count, capacity;
    bool is_incomplete;   /* a record has no position */
    bool is_out_of_order; /* the positions do not ascend */
} row_order;

/* The position of the next record of a writer; NULL if it is unknown. */
static void add_position(row_order *p, const int64_t *position)
{
    if (!position) p->is_incomplete = true;
    if (p->is_incomplete) return;
    if (p->count && (double)*position < p->positions[p->count - 1]) p->is_out_of_order = true;
    GT_PUSH(p->positions, p->count, p->capacity, (double)*position);
}

/* Sorts the writer's records by position if all of them have one. */
static void restore_order(const row_order *p, gt_store_writer *writer)
{
    if (writer && !p->is_incomplete && p->is_out_of_order) gt_store_writer_sort(writer, p->positions);
}

/* ---- agents: instants that `gputally convert` writes, with one annotation per column of agent_info.csv ----
 */

typedef struct agent_reader {
    gt_perfetto *trace;
    gt_field fields[GT_AGENT_COLUMNS];
    char *paths[GT_AGENT_COLUMNS];
    gt_perfetto_records *records;
    gt_record record;
} agent_reader;

static agent_reader *agent_reader_new(gt_perfetto *trace)
{
    agent_reader *m = gt_alloc_zero(1, sizeof *m);
    m->trace = trace;
    for (size_t c = GT_AGENT_INFO; c < GT_AGENT_COLUMNS; c++) {
        bool is_string = gt_agent_columns[c].type == GT_STORE_STRING;
        m->paths[c] = gt_format("args/%s", gt_agent_info_names[c - GT_AGENT_INFO]);
        m->fields[c] = (gt_field){m->paths[c], is_string ? GT_FIELD_STRING : GT_FIELD_INT, false};
    }
    m->fields[GT_AGENT_ID] = (gt_field){"args/agent_id", GT_FIELD_INT, false};
    m->fields[GT_AGENT_PROCESS] = (gt_field){NULL, GT_FIELD_INT, false};
    m->records = gt_perfetto_records_new(trace, m->fields, GT_AGENT_COLUMNS);
    return m;
}

static void agent_reader_free(agent_reader *m)
{
    if (!m) return;
    gt_perfetto_records_free(m->records);
    for (size_t c = 0; c < GT_AGENT_COLUMNS; c++) gt_free(m->paths[c]);
    gt_free(m);
}

static void add_agent(agent_reader *m, const gt_perfetto_event *mark, int64_t process,
                      gt_rocprof_writers *writers)
{
    if (!writers->agents) return;
    gt_perfetto_record_head(m->records, mark, &m->record);
    gt_perfetto_record_args(m->records, mark, &m->record, NULL, NULL);
    gt_store_cell *cells = m->record.cells;
    for (size_t c = 0; c < GT_AGENT_COLUMNS; c++) {
        if (gt_agent_columns[c].type != GT_STORE_STRING || !(m->record.present >> c & 1)) continue;
        gt_str text = gt_interner_get(gt_perfetto_strings(m->trace), (uint32_t)cells[c].text);
        cells[c].text = gt_interner_add(writers->run->strings, text.bytes, text.len);
    }
    cells[GT_AGENT_PROCESS].integer = process;
    gt_store_writer_add(writers->agents, m->record.present | UINT64_C(1) << GT_AGENT_PROCESS, cells);
}

/* ---- the reader ---- */
typedef enum slice_kind {
    SLICE_OTHER = 1,
    SLICE_DISPATCH,
    SLICE_COPY,
    SLICE_SESSION, /* the profiled time, in files of `gputally convert`; an instant if it is unknown */
    SLICE_AGENT,   /* an agent, in files of `gputally convert`: an instant */
    SLICE_CALL,    /* this and the following: one per domain */
} slice_kind;

typedef struct reading {
    gt_rocprof_writers *writers;
    gt_rocprof *run;
    gt_perfetto *trace;
    gt_perfetto_records *records;
    gt_record record;
    gt_interner *texts; /* strings of the file, which also has long kernel names */
    uint8_t *kinds;     /* slice_kind by string id of a category; 0: not looked up yet */
    struct {
        int64_t id;
        gt_kernel_use use;
        bool is_known;
    } * kernels;                    /* by string id of a name: its last kernel */
    size_t text_count;              /* the size of both arrays */
    int64_t last_pid, last_process; /* of the last lookup */
    bool has_process;
    gt_map processes;                                       /* by pid */
    gt_perfetto_event pending;                              /* a slice whose end is not read yet */
    uint8_t pending_kind;                                   /* 0: there is none */
    int64_t *dispatches;                                    /* so far, by process of the run */
    size_t dispatch_processes;                              /* the size of `dispatches` */
    int64_t dispatch_process, dispatch_id, dispatch_kernel; /* of the last one, for its counters */
    struct {
        uint32_t name;
        double value;
    } * counters; /* of the current slice */
    size_t counter_count, counter_capacity;
    struct {
        row_order dispatches, copies, calls, counters;
    } order;
    agent_reader *agents;
    bool full_names; /* as in gt_read_options */
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

/* ---- strings ---- */

static void grow_by_string(reading *r, uint32_t text)
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
    grow_by_string(r, category);
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

/* Adds a string of the file to the run's strings. */
static uint32_t copy_string(reading *r, uint32_t text)
{
    gt_str copied = gt_interner_get(r->texts, text);
    return text == GT_STR_NONE ? GT_STR_NONE : gt_interner_add(r->run->strings, copied.bytes, copied.len);
}

/* Adds the name of a kernel to the run's strings: the short one, or the one that CSV files have. */
static uint32_t name_of_kernel(reading *r, uint32_t text)
{
    static const char *const endings[] = {" [clone .kd]", ".kd"};
    gt_str name = gt_interner_get(r->texts, text);
    uint64_t full_name = gt_kernel_name_hash(name);
    if (!r->full_names) {
        name = gt_kernel_short_name(name);
        uint32_t id = gt_interner_add(r->run->strings, name.bytes, name.len);
        gt_kernel_names_note(r->run, id, full_name);
        return id;
    }
    for (size_t i = 0; i < GT_LENGTH(endings); i++) {
        size_t len = strlen(endings[i]);
        if (name.len <= len || memcmp(name.bytes + name.len - len, endings[i], len) != 0) continue;
        name.len -= len;
        break;
    }
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

/* Files of `gputally convert` describe all processes first, in the order of the run. */
static void add_processes(reading *r)
{
    for (uint32_t track = 0; track < gt_perfetto_track_count(r->trace); track++) {
        const gt_perfetto_track *described = gt_perfetto_track_of(r->trace, track);
        if (described->kind == GT_TRACK_PROCESS) process_of_pid(r, described->pid);
    }
}

static int32_t register_count(const reading *r, rocprof_arg f)
{
    int64_t value = int_of(r, f, -1);
    return value >= 0 && value <= INT32_MAX ? (int32_t)value : -1;
}

static int64_t kernel_of(reading *r)
{
    rocprof_arg from = has(r, KERNEL_NAME) ? KERNEL_NAME : NAME;
    if (!has(r, from)) return GT_NO_KERNEL_ID;
    uint32_t text = (uint32_t)r->record.cells[from].text;
    gt_kernel_use use = {register_count(r, VGPRS), register_count(r, ACCUM_VGPRS), register_count(r, SGPRS),
                         -1};
    grow_by_string(r, text);
    if (from == NAME && r->kernels[text].is_known && memcmp(&r->kernels[text].use, &use, sizeof use) == 0)
        return r->kernels[text].id;
    uint32_t name = from == NAME ? name_of_kernel(r, text) : copy_string(r, text);
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

static void note_position(const reading *r, row_order *to)
{
    add_position(to, has(r, POSITION) ? &r->record.cells[POSITION].integer : NULL);
}

/* A size per axis; if only the product is known, as the first axis. */
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
        copy_agent(r, &to, GT_COUNTER_AGENT, AGENT, AGENT_ID);
        to.cells[GT_COUNTER_NAME].text = copy_string(r, r->counters[i].name);
        to.cells[GT_COUNTER_VALUE].time = r->counters[i].value;
        to.present |= UINT64_C(1) << GT_COUNTER_NAME | UINT64_C(1) << GT_COUNTER_VALUE;
        gt_store_writer_add(r->writers->counters, to.present, to.cells);
        note_position(r, &r->order.counters);
    }
}

/* The number of the next dispatch of a process, from 1: rocprofv3 does not write dispatch ids into its
 * traces, and counts them per process elsewhere. */
static int64_t next_dispatch(reading *r, int64_t process)
{
    if ((size_t)process >= r->dispatch_processes) {
        size_t needed = ((size_t)process + 1) * 2;
        r->dispatches = gt_realloc(r->dispatches, needed * sizeof *r->dispatches);
        memset(r->dispatches + r->dispatch_processes, 0,
               (needed - r->dispatch_processes) * sizeof *r->dispatches);
        r->dispatch_processes = needed;
    }
    return ++r->dispatches[process];
}

static void add_dispatch(reading *r, int64_t begin_ns, int64_t end_ns)
{
    row to = {.present = 0};
    r->dispatch_process = process_of(r);
    r->dispatch_id = int_of(r, DISPATCH, next_dispatch(r, r->dispatch_process));
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
            r->record.cells[QUEUE].integer + 1); /* rocprofv3 counts queues from 0 here, elsewhere from 1 */
    copy_int(r, &to, GT_DISPATCH_CORRELATION, CORRELATION);
    copy_int(r, &to, GT_DISPATCH_LDS_BYTES, has(r, LDS) ? LDS : OLD_LDS);
    copy_int(r, &to, GT_DISPATCH_SCRATCH_BYTES, has(r, SCRATCH) ? SCRATCH : OLD_SCRATCH);
    gt_rocprof_write_dispatch(r->writers, to.present, to.cells);
    note_position(r, &r->order.dispatches);
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
    note_position(r, &r->order.copies);
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
        to.cells[texts[i].column].text = copy_string(r, (uint32_t)r->record.cells[texts[i].from].text);
        to.present |= UINT64_C(1) << texts[i].column;
    }
    gt_store_writer_add(r->writers->calls, to.present, to.cells);
    note_position(r, &r->order.calls);
}

static gt_rocprof_process *describe_process(reading *r)
{
    int64_t place = process_of(r); /* may move r->run->process */
    gt_rocprof_process *process = &r->run->process[place];
    process->pid = int_of(r, SESSION_PID, process->pid);
    if (has(r, HOST)) process->hostname = copy_string(r, (uint32_t)r->record.cells[HOST].text);
    if (has(r, COMMAND)) process->command = copy_string(r, (uint32_t)r->record.cells[COMMAND].text);
    return process;
}

static void add_session(reading *r, int64_t begin_ns, int64_t end_ns)
{
    gt_rocprof_process *process = describe_process(r);
    process->init_ns = begin_ns;
    process->fini_ns = end_ns;
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

static void collect_counter(void *context, const gt_note *note)
{
    reading *r = context;
    double value;
    if (note->type != GT_NOTE_DOUBLE || !gt_note_double(note, &value)) return;
    r->counters = gt_grow(r->counters, &r->counter_capacity, r->counter_count + 1, sizeof *r->counters);
    r->counters[r->counter_count].name = note->name;
    r->counters[r->counter_count++].value = value;
}

/* A slice without times in its annotations is kept only if its end event follows directly. */
static void end_pending(reading *r, const gt_perfetto_event *event)
{
    bool ends = event && event->type == GT_PERFETTO_END && event->track == r->pending.track;
    if (ends)
        add_record(r, r->pending_kind, r->pending.time_ns, event->time_ns);
    else
        r->timeless++;
    r->pending_kind = 0;
}

/* An agent, or a process whose profiled time is unknown. */
static void read_mark(reading *r, const gt_perfetto_event *event)
{
    uint8_t kind = kind_of(r, event->category);
    if (kind != SLICE_AGENT && kind != SLICE_SESSION) return;
    if (!r->kept++) add_processes(r);
    if (kind == SLICE_SESSION) {
        gt_perfetto_record_head(r->records, event, &r->record);
        gt_perfetto_record_args(r->records, event, &r->record, NULL, NULL);
        describe_process(r);
        return;
    }
    add_agent(r->agents, event, process_of_pid(r, gt_perfetto_pid(r->trace, event->track)), r->writers);
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
                            kind == SLICE_DISPATCH && r->writers->counters ? collect_counter : NULL, r);
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
        if (event.type == GT_PERFETTO_INSTANT) read_mark(r, &event);
    }
    if (r->pending_kind) end_pending(r, NULL);
    gt_trace_facts facts = {0};
    gt_read_options noting = *options;
    noting.facts = &facts;
    if (!gt_perfetto_accept(r->trace, r->kept, "kernels, copies and calls", &noting, error)) return false;
    r->run->is_cut_off |= facts.is_cut_off;
    if (!r->kept && !r->timeless)
        return gt_fail(error, "%s: no rocprofv3 kernels, copies or API calls in this Perfetto trace", path);
    if (r->timeless) gt_warn("%s: skipped %zu kernels, copies or calls without a time", path, r->timeless);
    return true;
}

static void restore_orders(reading *r)
{
    restore_order(&r->order.dispatches, r->writers->dispatches);
    restore_order(&r->order.copies, r->writers->copies);
    restore_order(&r->order.calls, r->writers->calls);
    restore_order(&r->order.counters, r->writers->counters);
}

static void free_orders(reading *r)
{
    gt_free_all(r->order.dispatches.positions, r->order.copies.positions, r->order.calls.positions,
                r->order.counters.positions);
}

bool gt_rocprof_read_perfetto(gt_rocprof_writers *writers, gt_stream *stream, const gt_read_options *options,
                              gt_error *error)
{
    reading *r = gt_alloc_zero(1, sizeof *r);
    r->writers = writers;
    r->run = writers->run;
    r->texts = gt_interner_new();
    r->full_names = options->full_names;
    r->trace = gt_perfetto_new(stream, r->texts);
    r->records = gt_perfetto_records_new(r->trace, fields, FIELDS);
    r->agents = agent_reader_new(r->trace);
    gt_rocprof_write_flush(writers); /* records of earlier files keep their order */
    if (!options->is_part) gt_progress_begin(gt_stream_path(stream), gt_stream_size(stream));
    bool read = read_all(r, gt_stream_path(stream), options, error);
    if (!options->is_part) gt_progress_end();
    restore_orders(r); /* also of a damaged file: what was read of it may be kept */
    free_orders(r);
    agent_reader_free(r->agents);
    gt_perfetto_records_free(r->records);
    gt_perfetto_free(r->trace);
    gt_interner_free(r->texts);
    gt_map_free(&r->processes);
    gt_free_all(r->kinds, r->kernels, r->counters, r->dispatches, r);
    return read;
}
