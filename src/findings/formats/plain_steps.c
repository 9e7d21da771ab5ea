/* The steps of a server in a trace that is not of PyTorch: ranges of NVTX or ROCTX and annotations of JAX
 * whose names say what a step does, "step[DECODE bs=8]". The list of steps (analysis/serving) reads rows of a
 * PyTorch trace, so such rows are made: first the ops, by their numbers in the schedule, then its host
 * events. */
#include "findings/formats/plain.h"

#include "findings/schedule/build.h"

bool gt_plain_serves(const gt_plain_trace *trace)
{
    uint32_t names = gt_interner_count(trace->strings);
    uint8_t *seen = gt_alloc_zero(names, 1);
    bool serves = false;
    for (size_t i = 0; i < trace->call_count && !serves; i++) {
        const gt_plain_call *call = &trace->calls[i];
        if (!call->is_range || seen[call->name]) continue;
        gt_str name = gt_interner_get(trace->strings, call->name);
        serves = gt_range_is_step(&name);
        seen[call->name] = 1;
    }
    gt_free(seen);
    return serves;
}

/* ---- rows ---- */

typedef struct row_writer {
    const gt_schedule *schedule;
    gt_interner *strings;
    gt_store_writer *writer;
    int64_t base_ns; /* the time of the rows that is 0 in the schedule */
} row_writer;

typedef struct plain_row {
    uint8_t kind;
    uint32_t name;                    /* string id of the schedule */
    uint32_t process, thread;         /* string ids of the rows */
    uint32_t grid;                    /* likewise; GT_STR_NONE */
    int64_t start_ns, end_ns, launch; /* launch: -1: none */
} plain_row;

static uint32_t move_string(row_writer *w, uint32_t text)
{
    return gt_interner_add_from(w->strings, w->schedule->strings, text);
}

/* The name of an event; of a step without its domain. */
static uint32_t move_name(row_writer *w, const plain_row *row)
{
    gt_str name = gt_interner_get(w->schedule->strings, row->name);
    if (row->kind != GT_KIND_ANNOTATION || !gt_range_is_step(&name)) return move_string(w, row->name);
    return gt_interner_add(w->strings, name.bytes, name.len);
}

static void add_row(row_writer *w, const plain_row *row)
{
    static const uint8_t columns[] = {GT_EVENT_KIND,        GT_EVENT_NAME,  GT_EVENT_PROCESS,
                                      GT_EVENT_THREAD,      GT_EVENT_START, GT_EVENT_DURATION,
                                      GT_EVENT_CORRELATION, GT_EVENT_GRID};
    gt_store_cell cells[GT_EVENT_COLUMNS] = {
        [GT_EVENT_KIND] = {.integer = row->kind},
        [GT_EVENT_NAME] = {.text = move_name(w, row)},
        [GT_EVENT_PROCESS] = {.text = row->process},
        [GT_EVENT_THREAD] = {.text = row->thread},
        [GT_EVENT_START] = {.time = (double)(w->base_ns + row->start_ns) / 1e3},
        [GT_EVENT_DURATION] = {.time = (double)(row->end_ns - row->start_ns) / 1e3},
        [GT_EVENT_CORRELATION] = {.integer = row->launch},
        [GT_EVENT_GRID] = {.text = row->grid}};
    uint64_t present = 0;
    for (size_t i = 0; i < GT_LENGTH(columns); i++) present |= UINT64_C(1) << columns[i];
    if (row->launch < 0) present &= ~(UINT64_C(1) << GT_EVENT_CORRELATION);
    if (row->grid == GT_STR_NONE) present &= ~(UINT64_C(1) << GT_EVENT_GRID);
    gt_store_writer_add(w->writer, present, cells);
}

/* Ops and the calls that launched them have the number of the call's event. */
static int64_t launch_of(const gt_schedule *s, const gt_gpu_op *op)
{
    return op->point == GT_NONE ? -1 : (int64_t)s->points[op->point].event + 1;
}

static void add_ops(row_writer *w, const gt_plain_trace *trace)
{
    const gt_schedule *s = w->schedule;
    uint32_t process = gt_interner_add_cstr(w->strings, "GPU");
    for (size_t i = 0; i < s->op_count; i++) {
        const gt_gpu_op *op = &s->ops[i];
        char thread[16], grid[24];
        snprintf(thread, sizeof thread, "%" PRIu32, op->stream);
        snprintf(grid, sizeof grid, "[%" PRIu32 ",1,1]", trace->ops[i].blocks);
        add_row(w, &(plain_row){.kind = op->kind,
                                .name = op->name,
                                .process = process,
                                .thread = gt_interner_add_cstr(w->strings, thread),
                                .grid = trace->ops[i].blocks ? gt_interner_add_cstr(w->strings, grid)
                                                             : (uint32_t)GT_STR_NONE,
                                .start_ns = op->start_ns,
                                .end_ns = op->end_ns,
                                .launch = launch_of(s, op)});
    }
}

static void add_events(row_writer *w)
{
    const gt_schedule *s = w->schedule;
    for (uint32_t t = 0; t < s->thread_count; t++) {
        uint32_t process = move_string(w, s->threads[t].process),
                 thread = move_string(w, s->threads[t].thread);
        for (size_t i = s->threads[t].first; i < s->threads[t].end; i++) {
            const gt_host_event *event = &s->events[i];
            add_row(w, &(plain_row){.kind = event->kind,
                                    .name = event->name,
                                    .process = process,
                                    .thread = thread,
                                    .grid = GT_STR_NONE,
                                    .start_ns = event->start_ns,
                                    .end_ns = event->end_ns,
                                    .launch = event->kind == GT_KIND_RUNTIME ? (int64_t)i + 1 : -1});
        }
    }
}

void gt_plain_find_steps(gt_schedule *schedule, const gt_plain_trace *trace, int64_t base_ns)
{
    const int64_t most = INT64_C(1) << 51; /* doubles of microseconds hold these nanoseconds exactly */
    gt_pytorch_stores stores = gt_pytorch_stores_new(false, false);
    row_writer w = {schedule, stores.strings,
                    gt_store_writer_new(gt_event_columns, GT_EVENT_COLUMNS, stores.strings),
                    base_ns >= 0 && base_ns < most ? base_ns : 0};
    add_ops(&w, trace);
    add_events(&w);
    gt_store_append(stores.events, gt_store_writer_take(w.writer));
    gt_store_writer_free(w.writer);
    schedule->listed_rows = gt_pytorch_new(&stores, false);
    schedule->own_listed = gt_step_list_find(gt_pytorch_read_view(schedule->listed_rows));
    schedule->listed_ns = schedule->own_listed->base_ns - w.base_ns;
    if (gt_step_list_serves(schedule->own_listed)) schedule->listed = schedule->own_listed;
}
