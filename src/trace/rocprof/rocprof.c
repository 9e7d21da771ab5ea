/* A rocprofv3 run: column types, writers, durations, and merging one run into another. */
#include "trace/rocprof/rocprof.h"

const gt_store_column gt_dispatch_columns[GT_DISPATCH_COLUMNS] = {
    [GT_DISPATCH_KERNEL_ID] = {GT_STORE_INT, GT_NO_KERNEL_ID},
    [GT_DISPATCH_START] = {GT_STORE_INT, 0},
    [GT_DISPATCH_END] = {GT_STORE_INT, 0},
    [GT_DISPATCH_STREAM] = {GT_STORE_INT, 0},
    [GT_DISPATCH_ID] = {GT_STORE_INT, 0},
    [GT_DISPATCH_GRID_X] = {GT_STORE_INT, 1},
    [GT_DISPATCH_GRID_Y] = {GT_STORE_INT, 1},
    [GT_DISPATCH_GRID_Z] = {GT_STORE_INT, 1},
    [GT_DISPATCH_BLOCK_X] = {GT_STORE_INT, 1},
    [GT_DISPATCH_BLOCK_Y] = {GT_STORE_INT, 1},
    [GT_DISPATCH_BLOCK_Z] = {GT_STORE_INT, 1},
    [GT_DISPATCH_AGENT] = {GT_STORE_INT, 0},
    [GT_DISPATCH_THREAD] = {GT_STORE_INT, 0},
    [GT_DISPATCH_PROCESS] = {GT_STORE_INT, 0},
    [GT_DISPATCH_QUEUE] = {GT_STORE_INT, 0},
    [GT_DISPATCH_CORRELATION] = {GT_STORE_INT, 0},
    [GT_DISPATCH_LDS_BYTES] = {GT_STORE_INT, 0},
    [GT_DISPATCH_SCRATCH_BYTES] = {GT_STORE_INT, 0},
};

const gt_store_column gt_copy_columns[GT_COPY_COLUMNS] = {
    [GT_COPY_START] = {GT_STORE_INT, 0},        [GT_COPY_END] = {GT_STORE_INT, 0},
    [GT_COPY_PROCESS] = {GT_STORE_INT, 0},      [GT_COPY_DIRECTION] = {GT_STORE_INT, GT_COPY_UNKNOWN},
    [GT_COPY_BYTES] = {GT_STORE_INT, -1},       [GT_COPY_SOURCE] = {GT_STORE_INT, -1},
    [GT_COPY_DESTINATION] = {GT_STORE_INT, -1}, [GT_COPY_STREAM] = {GT_STORE_INT, 0},
    [GT_COPY_THREAD] = {GT_STORE_INT, 0},       [GT_COPY_CORRELATION] = {GT_STORE_INT, 0},
    [GT_COPY_KIND] = {GT_STORE_INT, -1},        [GT_COPY_FROM] = {GT_STORE_INT, -1},
    [GT_COPY_TO] = {GT_STORE_INT, -1},
};

const gt_store_column gt_call_columns[GT_CALL_COLUMNS] = {
    [GT_CALL_DOMAIN] = {GT_STORE_INT, GT_CALL_OTHER},
    [GT_CALL_KIND] = {GT_STORE_STRING, 0},
    [GT_CALL_NAME] = {GT_STORE_STRING, 0},
    [GT_CALL_START] = {GT_STORE_INT, 0},
    [GT_CALL_END] = {GT_STORE_INT, 0},
    [GT_CALL_PROCESS] = {GT_STORE_INT, 0},
    [GT_CALL_THREAD] = {GT_STORE_INT, 0},
    [GT_CALL_CORRELATION] = {GT_STORE_INT, 0},
    [GT_CALL_STREAM] = {GT_STORE_INT, -1},
};

const gt_store_column gt_counter_columns[GT_COUNTER_COLUMNS] = {
    [GT_COUNTER_PROCESS] = {GT_STORE_INT, 0},
    [GT_COUNTER_DISPATCH] = {GT_STORE_INT, 0},
    [GT_COUNTER_KERNEL_ID] = {GT_STORE_INT, GT_NO_KERNEL_ID},
    [GT_COUNTER_NAME] = {GT_STORE_STRING, 0},
    [GT_COUNTER_VALUE] = {GT_STORE_TIME, 0},
    [GT_COUNTER_AGENT] = {GT_STORE_INT, -1},
};

const gt_store_column gt_sample_columns[GT_SAMPLE_COLUMNS] = {
    [GT_SAMPLE_PROCESS] = {GT_STORE_INT, 0},        [GT_SAMPLE_DISPATCH] = {GT_STORE_INT, 0},
    [GT_SAMPLE_INSTRUCTION] = {GT_STORE_STRING, 0}, [GT_SAMPLE_COMMENT] = {GT_STORE_STRING, 0},
    [GT_SAMPLE_ISSUED] = {GT_STORE_INT, -1},        [GT_SAMPLE_REASON] = {GT_STORE_STRING, 0},
};

const gt_store_column gt_stats_columns[GT_STATS_COLUMNS] = {
    [GT_STATS_OF] = {GT_STORE_INT, GT_STATS_OTHER},
    [GT_STATS_NAME] = {GT_STORE_STRING, 0},
    [GT_STATS_COUNT] = {GT_STORE_INT, 0},
    [GT_STATS_TOTAL] = {GT_STORE_INT, 0},
    [GT_STATS_MIN] = {GT_STORE_INT, -1},
    [GT_STATS_MAX] = {GT_STORE_INT, -1},
    [GT_STATS_STD] = {GT_STORE_TIME, 0},
};

const char *const gt_agent_info_names[GT_AGENT_INFO_COLUMNS] = {
    "Node_Id",
    "Logical_Node_Id",
    "Agent_Type",
    "Cpu_Cores_Count",
    "Simd_Count",
    "Cpu_Core_Id_Base",
    "Simd_Id_Base",
    "Max_Waves_Per_Simd",
    "Lds_Size_In_Kb",
    "Gds_Size_In_Kb",
    "Num_Gws",
    "Wave_Front_Size",
    "Num_Xcc",
    "Cu_Count",
    "Array_Count",
    "Num_Shader_Banks",
    "Simd_Arrays_Per_Engine",
    "Cu_Per_Simd_Array",
    "Simd_Per_Cu",
    "Max_Slots_Scratch_Cu",
    "Gfx_Target_Version",
    "Vendor_Id",
    "Device_Id",
    "Location_Id",
    "Domain",
    "Drm_Render_Minor",
    "Num_Sdma_Engines",
    "Num_Sdma_Xgmi_Engines",
    "Num_Sdma_Queues_Per_Engine",
    "Num_Cp_Queues",
    "Max_Engine_Clk_Ccompute",
    "Max_Engine_Clk_Fcompute",
    "Sdma_Fw_Version",
    "Fw_Version",
    "Capability",
    "Cu_Per_Engine",
    "Max_Waves_Per_Cu",
    "Family_Id",
    "Workgroup_Max_Size",
    "Grid_Max_Size",
    "Local_Mem_Size",
    "Hive_Id",
    "Gpu_Id",
    "Workgroup_Max_Dim_X",
    "Workgroup_Max_Dim_Y",
    "Workgroup_Max_Dim_Z",
    "Grid_Max_Dim_X",
    "Grid_Max_Dim_Y",
    "Grid_Max_Dim_Z",
    "Name",
    "Vendor_Name",
    "Product_Name",
    "Model_Name",
};

#define I                                                                                                    \
    {                                                                                                        \
        GT_STORE_INT, GT_AGENT_ABSENT                                                                        \
    }
#define T                                                                                                    \
    {                                                                                                        \
        GT_STORE_STRING, 0                                                                                   \
    }
const gt_store_column gt_agent_columns[GT_AGENT_COLUMNS] = {
    [GT_AGENT_ID] = {GT_STORE_INT, 0},
    [GT_AGENT_PROCESS] = {GT_STORE_INT, 0},
    [GT_AGENT_INFO] = I,
    I,
    T,
    I,
    I,
    I,
    I,
    I,
    I,
    I,
    I,
    I,
    I,
    I,
    I,
    I,
    I,
    I,
    I,
    I,
    I,
    I,
    I,
    I,
    I,
    I,
    I,
    I,
    I,
    I,
    I,
    I,
    I,
    I,
    I,
    I,
    I,
    I,
    I,
    I,
    I,
    T,
    I,
    I,
    I,
    I,
    I,
    I,
    I,
    T,
    T,
    T,
    T,
};
#undef I
#undef T

size_t gt_dispatch_width(unsigned wanted)
{
    if (wanted & GT_WANT_DISPATCH_DETAILS) return GT_DISPATCH_COLUMNS;
    return wanted & GT_WANT_DISPATCH_PROCESSES ? GT_DISPATCH_PROCESS + 1 : GT_DISPATCH_BASIC_COLUMNS;
}

size_t gt_copy_width(unsigned wanted)
{
    return wanted & GT_WANT_COPY_DETAILS ? GT_COPY_COLUMNS : GT_COPY_BASIC_COLUMNS;
}

gt_rocprof *gt_rocprof_new_wanted(unsigned wanted)
{
    gt_rocprof *run = gt_alloc_zero(1, sizeof *run);
    gt_interner *strings = run->strings = gt_interner_new();
    run->wanted = wanted;
    run->dispatches = gt_store_new(gt_dispatch_columns, gt_dispatch_width(wanted), strings);
    run->copies = gt_store_new(gt_copy_columns, gt_copy_width(wanted), strings);
    if (wanted & GT_WANT_CALLS) run->calls = gt_store_new(gt_call_columns, GT_CALL_COLUMNS, strings);
    if (wanted & GT_WANT_COUNTERS)
        run->counters = gt_store_new(gt_counter_columns, GT_COUNTER_COLUMNS, strings);
    if (wanted & GT_WANT_AGENTS) run->agents = gt_store_new(gt_agent_columns, GT_AGENT_COLUMNS, strings);
    if (wanted & GT_WANT_SAMPLES) run->samples = gt_store_new(gt_sample_columns, GT_SAMPLE_COLUMNS, strings);
    run->hostname = gt_interner_add_cstr(strings, "unknown");
    run->processes = 1;
    return run;
}

gt_rocprof *gt_rocprof_new(void)
{
    return gt_rocprof_new_wanted(0);
}

int64_t gt_rocprof_add_process(gt_rocprof *run, gt_rocprof_process process)
{
    GT_PUSH(run->process, run->process_count, run->process_capacity, process);
    return (int64_t)run->process_count - 1;
}

/* ---- writing ---- */

gt_rocprof_writers gt_rocprof_write(gt_rocprof *run)
{
    gt_interner *strings = run->strings;
    unsigned wanted = run->wanted;
    gt_rocprof_writers w = {.run = run};
    w.dispatches = gt_store_writer_new(gt_dispatch_columns, gt_dispatch_width(wanted), strings);
    w.copies = gt_store_writer_new(gt_copy_columns, gt_copy_width(wanted), strings);
    if (run->calls) w.calls = gt_store_writer_new(gt_call_columns, GT_CALL_COLUMNS, strings);
    if (run->counters) w.counters = gt_store_writer_new(gt_counter_columns, GT_COUNTER_COLUMNS, strings);
    if (run->agents) w.agents = gt_store_writer_new(gt_agent_columns, GT_AGENT_COLUMNS, strings);
    if (run->samples) w.samples = gt_store_writer_new(gt_sample_columns, GT_SAMPLE_COLUMNS, strings);
    return w;
}

static uint64_t mask(size_t width)
{
    return (UINT64_C(1) << width) - 1;
}

void gt_rocprof_write_dispatch(gt_rocprof_writers *w, uint64_t present, const gt_store_cell *cells)
{
    gt_store_writer_add(w->dispatches, present & mask(gt_dispatch_width(w->run->wanted)), cells);
}

void gt_rocprof_write_copy(gt_rocprof_writers *w, uint64_t present, const gt_store_cell *cells)
{
    gt_store_writer_add(w->copies, present & mask(gt_copy_width(w->run->wanted)), cells);
}

/* A store that most runs do not have is created with its first row. */
static void write_rare(gt_rocprof_writers *w, gt_store **store, gt_store_writer **writer,
                       const gt_store_column *columns, size_t width, uint64_t present,
                       const gt_store_cell *cells)
{
    gt_interner *strings = w->run->strings;
    if (!*writer) *writer = gt_store_writer_new(columns, width, strings);
    if (!*store) *store = gt_store_new(columns, width, strings);
    gt_store_writer_add(*writer, present, cells);
}

void gt_rocprof_write_stats(gt_rocprof_writers *w, uint64_t present, const gt_store_cell *cells)
{
    write_rare(w, &w->run->stats, &w->stats, gt_stats_columns, GT_STATS_COLUMNS, present, cells);
}

void gt_rocprof_write_graph(gt_rocprof_writers *w, uint64_t present, const gt_store_cell *cells)
{
    write_rare(w, &w->run->graphs, &w->graphs, gt_graph_columns, GT_GRAPH_COLUMNS, present, cells);
}

void gt_rocprof_write_message(gt_rocprof_writers *w, uint64_t present, const gt_store_cell *cells)
{
    write_rare(w, &w->run->messages, &w->messages, gt_message_columns, GT_MESSAGE_COLUMNS, present, cells);
}

static void flush(gt_store_writer *writer, gt_store *store)
{
    if (writer) gt_store_append(store, gt_store_writer_take(writer));
}

void gt_rocprof_write_flush(gt_rocprof_writers *w)
{
    flush(w->dispatches, w->run->dispatches);
    flush(w->copies, w->run->copies);
    flush(w->calls, w->run->calls);
    flush(w->counters, w->run->counters);
    flush(w->agents, w->run->agents);
    flush(w->samples, w->run->samples);
    flush(w->stats, w->run->stats);
    flush(w->graphs, w->run->graphs);
    flush(w->messages, w->run->messages);
}

void gt_rocprof_write_end(gt_rocprof_writers *w)
{
    gt_store_writer **writers[] = {&w->dispatches, &w->copies, &w->calls,  &w->counters, &w->agents,
                                   &w->samples,    &w->stats,  &w->graphs, &w->messages};
    gt_rocprof_write_flush(w);
    for (size_t i = 0; i < GT_LENGTH(writers); i++) {
        gt_store_writer_free(*writers[i]);
        *writers[i] = NULL;
    }
}

/* ---- durations ---- */

/* The index of the first record whose duration, or the sum up to it, does not fit 63 bits; or `count`. */
static size_t find_overflow(const int64_t *starts, const int64_t *ends, size_t count)
{
    uint64_t total = 0;
    for (size_t i = 0; i < count; i++) {
        int64_t duration;
        if (__builtin_sub_overflow(ends[i], starts[i], &duration)) return i;
        uint64_t size = duration < 0 ? 0 - (uint64_t)duration : (uint64_t)duration;
        if (size > INT64_MAX - total) return i;
        total += size;
    }
    return count;
}

/* Ends minus starts, a range of records at a time. */
typedef struct subtraction {
    const gt_store *store;
    size_t start_column, end_column;
    int64_t *durations;
    uint64_t *totals; /* by range: the sum of the absolute durations, UINT64_MAX if it does not fit 63 bits */
} subtraction;

static void subtract_starts(void *context, size_t begin, size_t end)
{
    enum { BATCH = 1024 };
    const subtraction *job = context;
    uint64_t total = 0, too_large = 0, *result = &job->totals[begin / GT_ROCPROF_ROWS];
    int64_t starts[BATCH];
    for (size_t count; begin < end; begin += count) {
        int64_t *values = job->durations + begin;
        count = end - begin < BATCH ? end - begin : BATCH;
        gt_store_read_ints(job->store, job->start_column, begin, begin + count, starts);
        gt_store_read_ints(job->store, job->end_column, begin, begin + count, values);
        for (size_t i = 0; i < count; i++) {
            int64_t duration;
            too_large |= __builtin_sub_overflow(values[i], starts[i], &duration);
            uint64_t size = duration < 0 ? 0 - (uint64_t)duration : (uint64_t)duration;
            too_large |= size > INT64_MAX - total;
            total = too_large ? 0 : total + size;
            values[i] = duration;
        }
    }
    *result = too_large ? UINT64_MAX : total;
}

static bool fits(const uint64_t *totals, size_t ranges)
{
    uint64_t total = 0;
    for (size_t i = 0; i < ranges; i++) {
        if (totals[i] > INT64_MAX - total) return false;
        total += totals[i];
    }
    return true;
}

int64_t *gt_rocprof_durations(const gt_store *store, size_t start_column, size_t end_column, const char *what,
                              gt_error *error)
{
    size_t count = gt_store_count(store), ranges = gt_range_count(count, GT_ROCPROF_ROWS);
    int64_t *durations = gt_alloc(count * sizeof *durations);
    uint64_t *totals = gt_alloc(ranges * sizeof *totals);
    subtraction job = {store, start_column, end_column, durations, totals};
    gt_parallel_ranges(count, GT_ROCPROF_ROWS, subtract_starts, &job);
    if (!fits(totals, ranges)) {
        gt_free(durations);
        durations = NULL;
        int64_t *starts = gt_store_ints(store, start_column), *ends = gt_store_ints(store, end_column);
        size_t bad = find_overflow(starts, ends, count);
        gt_fail(error, "%s %zu: from %lld to %lld ns: total duration overflows 63 bits of nanoseconds", what,
                bad + 1, (long long)starts[bad], (long long)ends[bad]);
        gt_free_all(starts, ends);
    }
    gt_free(totals);
    return durations;
}

int64_t *gt_rocprof_dispatch_durations(const gt_rocprof *run, gt_error *error)
{
    return gt_rocprof_durations(run->dispatches, GT_DISPATCH_START, GT_DISPATCH_END, "kernel dispatch",
                                error);
}

void gt_rocprof_free(gt_rocprof *run)
{
    if (!run) return;
    gt_store_free(run->dispatches);
    gt_store_free(run->copies);
    gt_store_free(run->calls);
    gt_store_free(run->counters);
    gt_store_free(run->agents);
    gt_store_free(run->samples);
    gt_store_free(run->stats);
    gt_store_free(run->graphs);
    gt_store_free(run->messages);
    gt_kernel_names_free(run->kernel_names);
    gt_map_free(&run->full_to_short);
    gt_map_free(&run->short_names);
    gt_free(run->process);
    gt_interner_free(run->strings);
    gt_free(run);
}

/* ---- merging runs ---- */

/* Rows of the other run are written again, with the processes, kernels and string ids of this run. */

typedef struct merge {
    gt_rocprof_writers *writers;
    gt_rocprof *to, *from;
    int64_t first_process;
    uint32_t *texts; /* string ids there to string ids here; 0: not yet known */
    size_t text_count;
} merge;

static uint32_t text_of(merge *m, uint32_t id)
{
    if (id == GT_STR_NONE) return GT_STR_NONE;
    if (id >= m->text_count || !m->texts[id]) {
        gt_str text = gt_interner_get(m->from->strings, id);
        uint32_t here = gt_interner_add(m->to->strings, text.bytes, text.len);
        if (id >= m->text_count) return here;
        m->texts[id] = here;
    }
    return m->texts[id];
}

static int64_t kernel_of(merge *m, int64_t kernel_id)
{
    if (kernel_id == GT_NO_KERNEL_ID) return GT_NO_KERNEL_ID;
    uint32_t name = text_of(m, gt_rocprof_kernel_name(m->from, kernel_id));
    return gt_kernel_names_add(m->to, name, gt_rocprof_kernel_use(m->from, kernel_id));
}

/* How the values of a column must change. */
typedef enum change { AS_IT_IS, PROCESS, KERNEL } change;

static change change_of(const gt_store_column *columns, size_t column)
{
    if (columns == gt_dispatch_columns)
        return column == GT_DISPATCH_PROCESS ? PROCESS : column == GT_DISPATCH_KERNEL_ID ? KERNEL : AS_IT_IS;
    if (columns == gt_counter_columns)
        return column == GT_COUNTER_PROCESS ? PROCESS : column == GT_COUNTER_KERNEL_ID ? KERNEL : AS_IT_IS;
    bool process = (columns == gt_copy_columns && column == GT_COPY_PROCESS) ||
                   (columns == gt_call_columns && column == GT_CALL_PROCESS) ||
                   (columns == gt_agent_columns && column == GT_AGENT_PROCESS) ||
                   (columns == gt_sample_columns && column == GT_SAMPLE_PROCESS);
    return process ? PROCESS : AS_IT_IS;
}

/* A whole column of the other run, as cells of this run. */
static gt_store_cell *column_cells(merge *m, const gt_store *store, const gt_store_column *columns,
                                   size_t column)
{
    size_t count = gt_store_count(store);
    gt_store_cell *cells = gt_alloc(count * sizeof *cells);
    if (columns[column].type == GT_STORE_STRING) {
        uint32_t *texts = gt_store_string_ids(store, column);
        for (size_t i = 0; i < count; i++) cells[i].text = text_of(m, texts[i]);
        gt_free(texts);
    } else if (columns[column].type == GT_STORE_TIME) {
        double *times = gt_store_times(store, column);
        for (size_t i = 0; i < count; i++) cells[i].time = times[i];
        gt_free(times);
    } else {
        int64_t *ints = gt_store_ints(store, column);
        change how = change_of(columns, column);
        for (size_t i = 0; i < count; i++)
            cells[i].integer =
                how == PROCESS  ? ints[i] + m->first_process
                : how == KERNEL ? i && ints[i] == ints[i - 1] ? cells[i - 1].integer : kernel_of(m, ints[i])
                                : ints[i];
        gt_free(ints);
    }
    return cells;
}

/* The columns that `from` does not have are filled with the process, or stay absent. */
static void move_store(merge *m, gt_store *from, size_t width, gt_store_writer *writer,
                       const gt_store_column *columns, size_t to_width)
{
    if (!from || !writer) return;
    size_t count = gt_store_count(from);
    gt_store_cell *cells[GT_STORE_MAX_COLUMNS];
    for (size_t c = 0; c < width; c++) cells[c] = column_cells(m, from, columns, c);
    for (size_t i = 0; i < count; i++) {
        gt_store_cell row[GT_STORE_MAX_COLUMNS];
        uint64_t present = 0;
        for (size_t c = 0; c < to_width; c++) {
            bool process = c >= width && change_of(columns, c) == PROCESS;
            if (c < width) row[c] = cells[c][i];
            if (process) row[c].integer = m->first_process;
            if (c < width || process) present |= UINT64_C(1) << c;
        }
        gt_store_writer_add(writer, present, row);
    }
    for (size_t c = 0; c < width; c++) gt_free(cells[c]);
}

static size_t less(size_t a, size_t b)
{
    return a < b ? a : b;
}

static merge begin(gt_rocprof_writers *writers, gt_rocprof *other, int64_t first_process)
{
    merge m = {.writers = writers, .to = writers->run, .from = other, .first_process = first_process};
    m.text_count = gt_interner_count(other->strings);
    m.texts = gt_alloc_zero(m.text_count, sizeof *m.texts);
    return m;
}

void gt_rocprof_merge_counters(gt_rocprof_writers *writers, gt_rocprof *other, const int64_t *processes,
                               const int64_t *dispatches)
{
    merge m = begin(writers, other, 0);
    size_t count = gt_store_count(other->counters);
    gt_store_cell *cells[GT_COUNTER_COLUMNS];
    for (size_t c = 0; c < GT_COUNTER_COLUMNS; c++)
        cells[c] = column_cells(&m, other->counters, gt_counter_columns, c);
    for (size_t i = 0; i < count; i++) {
        gt_store_cell row[GT_COUNTER_COLUMNS];
        for (size_t c = 0; c < GT_COUNTER_COLUMNS; c++) row[c] = cells[c][i];
        row[GT_COUNTER_PROCESS].integer = processes[i];
        row[GT_COUNTER_DISPATCH].integer = dispatches[i];
        gt_store_writer_add(writers->counters, (UINT64_C(1) << GT_COUNTER_COLUMNS) - 1, row);
    }
    for (size_t c = 0; c < GT_COUNTER_COLUMNS; c++) gt_free(cells[c]);
    gt_free(m.texts);
}

void gt_rocprof_merge(gt_rocprof_writers *writers, gt_rocprof *other)
{
    gt_rocprof *run = writers->run;
    merge m = begin(writers, other, (int64_t)run->process_count);
    run->is_cut_off |= other->is_cut_off;
    for (size_t i = 0; i < other->process_count; i++) {
        gt_rocprof_process process = other->process[i];
        process.hostname = text_of(&m, process.hostname);
        process.command = text_of(&m, process.command);
        process.place = text_of(&m, process.place);
        process.label = text_of(&m, process.label);
        gt_rocprof_add_process(run, process);
    }
    if (!other->process_count)
        gt_rocprof_add_process(run, (gt_rocprof_process){.pid = other->pid,
                                                         .hostname = text_of(&m, other->hostname),
                                                         .init_ns = other->init_ns,
                                                         .fini_ns = other->fini_ns});
    size_t dispatch_width = gt_dispatch_width(run->wanted), copy_width = gt_copy_width(run->wanted);
    move_store(&m, other->dispatches, less(gt_dispatch_width(other->wanted), dispatch_width),
               writers->dispatches, gt_dispatch_columns, dispatch_width);
    move_store(&m, other->copies, less(gt_copy_width(other->wanted), copy_width), writers->copies,
               gt_copy_columns, copy_width);
    move_store(&m, other->calls, GT_CALL_COLUMNS, writers->calls, gt_call_columns, GT_CALL_COLUMNS);
    move_store(&m, other->counters, GT_COUNTER_COLUMNS, writers->counters, gt_counter_columns,
               GT_COUNTER_COLUMNS);
    move_store(&m, other->agents, GT_AGENT_COLUMNS, writers->agents, gt_agent_columns, GT_AGENT_COLUMNS);
    move_store(&m, other->samples, GT_SAMPLE_COLUMNS, writers->samples, gt_sample_columns, GT_SAMPLE_COLUMNS);
    for (size_t i = 0; i < other->full_to_short.capacity; i++) {
        const gt_map_entry *noted = &other->full_to_short.entries[i];
        if (noted->used) gt_kernel_names_note(run, text_of(&m, (uint32_t)noted->a), noted->b);
    }
    run->api_calls += other->api_calls;
    gt_free(m.texts);
}
