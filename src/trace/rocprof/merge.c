/* One run behind another: rows are written anew with the processes, kernels and texts of the run that takes
 * them. */
#include "base/memory.h"
#include "trace/rocprof/rocprof.h"

#include <stdlib.h>

typedef struct merge {
    gt_rocprof_writers *writers;
    gt_rocprof *to, *from;
    int64_t first_process;
    uint32_t *texts; /* ids there to ids here; 0 where not yet known */
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

/* What a column's values need on their way. */
typedef enum change { AS_IT_IS, PROCESS, KERNEL } change;

static change change_of(const gt_store_column *columns, size_t column)
{
    if (columns == gt_dispatch_columns)
        return column == GT_DISPATCH_PROCESS ? PROCESS : column == GT_DISPATCH_KERNEL_ID ? KERNEL : AS_IT_IS;
    if (columns == gt_counter_columns)
        return column == GT_COUNTER_PROCESS ? PROCESS : column == GT_COUNTER_KERNEL_ID ? KERNEL : AS_IT_IS;
    bool process = (columns == gt_copy_columns && column == GT_COPY_PROCESS) ||
                   (columns == gt_call_columns && column == GT_CALL_PROCESS) ||
                   (columns == gt_agent_columns && column == GT_AGENT_PROCESS);
    return process ? PROCESS : AS_IT_IS;
}

/* A whole column as cells of this run. */
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

void gt_rocprof_merge_counters(gt_rocprof_writers *writers, gt_rocprof *other)
{
    merge m = begin(writers, other, 0);
    move_store(&m, other->counters, GT_COUNTER_COLUMNS, writers->counters, gt_counter_columns,
               GT_COUNTER_COLUMNS);
    gt_free(m.texts);
}

void gt_rocprof_merge(gt_rocprof_writers *writers, gt_rocprof *other)
{
    gt_rocprof *run = writers->run;
    merge m = begin(writers, other, (int64_t)run->process_count);
    for (size_t i = 0; i < other->process_count; i++) {
        gt_rocprof_process process = other->process[i];
        process.hostname = text_of(&m, process.hostname);
        process.command = text_of(&m, process.command);
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
    run->api_calls += other->api_calls;
    gt_free(m.texts);
}
