/* What does each step of the GPU consist of?
 *
 * A step lasts from its first op on the main stream to that of the next step. Steps are those of the profiler
 * (ProfilerStep), or else what a server's annotations say (analysis/serving): an op belongs to the annotation
 * around its launch. The last step has no next one and ends with its last op. A trace without any steps has
 * one row: the window.
 *
 *     host   |ProfilerStep#1  |ProfilerStep#2  |
 *     GPU       |A|BBBBB| CC | |A|BBBBB| CC |
 *     steps     |     1        |     2      |
 *
 * Every nanosecond of a step counts once: for the op that it counts for in the sheet balance (exclusive.h),
 * for a cause of idle time, or, idle time that is not in the window, for "outside". */
#include "page/work_parts.h"

#include "analysis/serving/serving.h"
#include "findings/exclusive.h"
#include "schema/page.h"

enum { STEPS_MAX = 10000 };

typedef struct gpu_step {
    int64_t start_ns, end_ns;
    uint32_t name;     /* string id; GT_STR_NONE */
    const char *phase; /* NULL: none */
} gpu_step;

typedef struct gpu_steps {
    gpu_step *items; /* in order; each ends where the next begins */
    size_t count, capacity;
} gpu_steps;

static int64_t later(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static int64_t earlier(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* Adds a step that begins later than all before it; the one before it ends there. */
static void add_step(gpu_steps *steps, gpu_step step)
{
    if (steps->count) steps->items[steps->count - 1].end_ns = step.start_ns;
    GT_PUSH(steps->items, steps->count, steps->capacity, step);
}

/* ---- steps of the profiler ---- */

static gpu_steps profiler_steps(const gt_schedule *schedule)
{
    gpu_steps steps = {0};
    for (size_t i = 0; i < schedule->used_step_count; i++) {
        const gt_step_times *step = &schedule->steps[schedule->used_steps[i]];
        int64_t start_ns = schedule->ops[step->first_op].start_ns;
        const char *phase = NULL;
        if (schedule->listed) phase = gt_serving_phase_name(schedule->listed->steps[step->listed].phase);
        add_step(&steps, (gpu_step){start_ns, start_ns, step->name, phase});
    }
    if (!steps.count) return steps;
    if (steps.count == 1) { /* the window, which may begin before its first op */
        steps.items[0].start_ns = schedule->window.start_ns;
        steps.items[0].end_ns = schedule->window.end_ns;
        return steps;
    }
    int32_t last = (int32_t)schedule->used_steps[schedule->used_step_count - 1];
    gpu_step *end = &steps.items[steps.count - 1];
    for (size_t i = 0; i < schedule->op_count; i++)
        if (schedule->ops[i].step == last) end->end_ns = later(end->end_ns, schedule->ops[i].end_ns);
    return steps;
}

/* ---- steps of a server ---- */

typedef struct server_span {
    int64_t start_ns, end_ns;
    uint32_t name;
    bool has_begun; /* on the GPU */
} server_span;

typedef struct server_spans {
    server_span *items; /* by thread, then by start; those of a thread do not overlap */
    size_t count, capacity;
    uint32_t *first; /* by thread: its first span; one entry more than threads */
    uint32_t *of_op; /* by op: the span that launched it; GT_NONE */
} server_spans;

/* What an annotation's name says, remembered by name: servers annotate each step alike. */
static uint8_t kind_of_name(const gt_schedule *schedule, const gt_host_event *event, uint32_t *last_name,
                            uint8_t *last_kind)
{
    if (event->kind != GT_KIND_ANNOTATION) return GT_STEP_NONE;
    if (event->name != *last_name) {
        *last_name = event->name;
        *last_kind = (uint8_t)gt_step_name_kind(gt_interner_get(schedule->strings, event->name));
    }
    return *last_kind;
}

/* Only the annotations that say most count, and of those inside of each other the outermost. */
static server_spans find_spans(const gt_schedule *schedule)
{
    server_spans spans = {.first = gt_alloc((schedule->thread_count + 1) * sizeof *spans.first)};
    uint8_t most = GT_STEP_SHORT, kind = GT_STEP_NONE;
    uint32_t name = GT_STR_NONE;
    for (uint32_t t = 0; t < schedule->thread_count; t++) {
        spans.first[t] = (uint32_t)spans.count;
        const gt_host_thread *thread = &schedule->threads[t];
        if (!thread->launches) continue;
        for (uint32_t i = thread->first; i < thread->end; i++) {
            const gt_host_event *event = &schedule->events[i];
            uint8_t found = kind_of_name(schedule, event, &name, &kind);
            if (found < most) continue;
            if (found > most) { /* forget the others */
                spans.count = 0;
                memset(spans.first, 0, (t + 1) * sizeof *spans.first);
                most = found;
            }
            if (spans.count > spans.first[t] && event->start_ns < spans.items[spans.count - 1].end_ns)
                continue;
            server_span span = {event->start_ns, event->end_ns, event->name, false};
            GT_PUSH(spans.items, spans.count, spans.capacity, span);
        }
    }
    spans.first[schedule->thread_count] = (uint32_t)spans.count;
    return spans;
}

/* Sets of_op. Points are ordered by start, so each thread goes through its spans once. */
static void place_ops(const gt_schedule *schedule, server_spans *spans)
{
    uint32_t *next = gt_alloc((schedule->thread_count + 1) * sizeof *next);
    memcpy(next, spans->first, (schedule->thread_count + 1) * sizeof *next);
    spans->of_op = gt_alloc(schedule->op_count * sizeof *spans->of_op);
    memset(spans->of_op, 0xff, schedule->op_count * sizeof *spans->of_op);
    for (size_t i = 0; i < schedule->point_count; i++) {
        const gt_host_point *point = &schedule->points[i];
        uint32_t *span = &next[point->thread], end = spans->first[point->thread + 1];
        while (*span < end && spans->items[*span].end_ns <= point->start_ns) ++*span;
        if (*span == end || spans->items[*span].start_ns > point->start_ns) continue;
        for (uint32_t k = 0; k < point->op_count; k++)
            spans->of_op[schedule->point_ops[point->first_op + k]] = *span;
    }
    gt_free(next);
}

/* The stream with the most work of spans, as in schedule/steps.c. GT_NONE, for all streams, if some span has
 * work, but not on that one. */
static uint32_t main_stream(const gt_schedule *schedule, const server_spans *spans)
{
    int64_t *busy_ns = gt_alloc_zero(schedule->stream_count + 1, sizeof *busy_ns);
    uint8_t *state = gt_alloc_zero(spans->count, 1); /* by span: 1 has work, 2 has work there */
    uint32_t main = GT_NONE;
    for (size_t i = 0; i < schedule->op_count; i++) {
        const gt_gpu_op *op = &schedule->ops[i];
        if (spans->of_op[i] == GT_NONE) continue;
        if (!op->communicates) busy_ns[op->stream] += gt_op_ns(op);
        if (main == GT_NONE) main = op->stream;
    }
    for (uint32_t stream = 0; stream < schedule->stream_count; stream++)
        if (main != GT_NONE && busy_ns[stream] > busy_ns[main]) main = stream;
    for (size_t i = 0; i < schedule->op_count; i++)
        if (spans->of_op[i] != GT_NONE) state[spans->of_op[i]] |= schedule->ops[i].stream == main ? 2 : 1;
    for (size_t i = 0; i < spans->count; i++)
        if (state[i] == 1) main = GT_NONE;
    gt_free_all(state, busy_ns);
    return main;
}

static const char *phase_of(const gt_schedule *schedule, uint32_t name)
{
    static const char *const names[] = {[GT_STEP_OTHER] = NULL,
                                        [GT_STEP_PREFILL] = "prefill",
                                        [GT_STEP_DECODE] = "decode",
                                        [GT_STEP_MIXED] = "mixed"};
    return names[gt_step_phase_of(gt_interner_get(schedule->strings, name))];
}

static gpu_steps server_steps(const gt_schedule *schedule)
{
    gpu_steps steps = {0};
    server_spans spans = find_spans(schedule);
    if (spans.count) {
        place_ops(schedule, &spans);
        uint32_t main = main_stream(schedule, &spans), last = GT_NONE;
        for (size_t i = 0; i < schedule->op_count; i++) {
            const gt_gpu_op *op = &schedule->ops[i];
            uint32_t span = spans.of_op[i];
            if (span == GT_NONE || (main != GT_NONE && op->stream != main) || spans.items[span].has_begun)
                continue;
            spans.items[span].has_begun = true;
            if (steps.count && op->start_ns <= steps.items[steps.count - 1].start_ns) continue;
            uint32_t name = spans.items[span].name;
            add_step(&steps, (gpu_step){op->start_ns, op->start_ns, name, phase_of(schedule, name)});
            last = span;
        }
        for (size_t i = 0; i < schedule->op_count && steps.count; i++) {
            gpu_step *end = &steps.items[steps.count - 1];
            if (spans.of_op[i] == last) end->end_ns = later(end->end_ns, schedule->ops[i].end_ns);
        }
    }
    gt_free_all(spans.items, spans.first, spans.of_op);
    return steps;
}

static gpu_steps find_steps(const gt_schedule *schedule)
{
    const gt_step_window *window = &schedule->window;
    gpu_steps steps = profiler_steps(schedule);
    if (!steps.count) steps = server_steps(schedule);
    if (!steps.count && window->end_ns > window->start_ns)
        add_step(&steps, (gpu_step){window->start_ns, window->end_ns, GT_STR_NONE, NULL});
    return steps;
}

/* ---- their parts ---- */

enum {
    IDLE = GT_OP_CLASSES * GT_CATEGORIES, /* before it: categories of each class of ops */
    OUTSIDE = IDLE + GT_CAUSES,           /* idle, but not in the window */
    PARTS
};

typedef int64_t part_times[PARTS];

typedef struct part_sums {
    const gt_page_work *work;
    const gpu_steps *steps;
    part_times *times; /* by step */
    size_t step;       /* in which the last stretch ended */
} part_sums;

/* Adds a stretch to the steps that it touches. */
static void add_stretch(part_sums *sums, size_t part, int64_t start_ns, int64_t end_ns)
{
    const gpu_step *steps = sums->steps->items;
    if (steps[sums->step].start_ns > start_ns) sums->step = 0; /* the next class begins again */
    while (sums->step + 1 < sums->steps->count && steps[sums->step].end_ns <= start_ns) sums->step++;
    for (size_t i = sums->step; i < sums->steps->count && steps[i].start_ns < end_ns; i++) {
        int64_t ns = earlier(end_ns, steps[i].end_ns) - later(start_ns, steps[i].start_ns);
        if (ns > 0) sums->times[i][part] += ns;
        sums->step = i;
    }
}

static void add_busy(void *context, size_t op, int64_t start_ns, int64_t end_ns)
{
    part_sums *sums = context;
    const gt_page_work *w = sums->work;
    size_t class = gt_op_class_of(&w->schedule->ops[op]);
    add_stretch(sums, class * GT_CATEGORIES + w->op_category[op], start_ns, end_ns);
}

static part_times *find_parts(const gt_page_work *w, const gpu_steps *steps)
{
    part_sums sums = {w, steps, gt_alloc_zero(steps->count, sizeof(part_times)), 0};
    gt_ops_exclusive_visit(w->schedule, steps->items[0].start_ns, steps->items[steps->count - 1].end_ns,
                           add_busy, &sums);
    const gt_idle *idle = w->findings->idle;
    for (size_t i = 0; i < idle->piece_count; i++) {
        const gt_idle_piece *piece = &idle->pieces[i];
        add_stretch(&sums, (size_t)IDLE + piece->cause, piece->start_ns, piece->end_ns);
    }
    for (size_t i = 0; i < steps->count; i++) {
        int64_t left = steps->items[i].end_ns - steps->items[i].start_ns;
        for (size_t part = 0; part < OUTSIDE; part++) left -= sums.times[i][part];
        sums.times[i][OUTSIDE] = left;
    }
    return sums.times;
}

/* ---- the tables ---- */

static gt_table *steps_table(const gt_page_work *w, const gpu_steps *steps)
{
    enum { NAME, START, NS, PHASE, IN_WINDOW };
    static const gt_column_head heads[] = {
        [NAME] = {GT_COL_PAGE_NAME, GT_TYPE_STRING},
        [START] = {GT_COL_PAGE_START, GT_TYPE_INT},
        [NS] = {GT_COL_PAGE_NS, GT_TYPE_INT},
        [PHASE] = {GT_COL_PAGE_PHASE, GT_TYPE_STRING},
        [IN_WINDOW] = {GT_COL_PAGE_IN_WINDOW, GT_TYPE_BOOL},
    };
    const gt_step_window *window = &w->schedule->window;
    gt_table *table = gt_table_new(GT_SHEET_PAGE_STEPS, w->schedule->strings);
    gt_table_add_columns(table, heads, GT_LENGTH(heads));
    gt_table_add_rows(table, steps->count);
    for (size_t row = 0; row < steps->count; row++) {
        const gpu_step *step = &steps->items[row];
        table->columns[NAME].texts[row] = step->name;
        table->columns[START].ints[row] = gt_page_time(w, step->start_ns);
        table->columns[NS].ints[row] = step->end_ns - step->start_ns;
        if (step->phase) gt_table_set_cstr(table, PHASE, row, step->phase);
        table->columns[IN_WINDOW].bools[row] =
            step->start_ns >= window->start_ns && step->end_ns <= window->end_ns;
    }
    return table;
}

typedef struct part_name {
    uint32_t part, kind; /* string ids */
} part_name;

static void name_parts(gt_interner *strings, part_name names[PARTS])
{
    static const char *const kinds[] = {[GT_OPS_COMPUTE] = "computation",
                                        [GT_OPS_COMMUNICATION] = "exposed_communication",
                                        [GT_OPS_MEMORY] = "exposed_copy"};
    for (int i = 0; i < PARTS; i++) {
        const char *part = i >= OUTSIDE ? "outside"
                           : i >= IDLE  ? gt_cause_name((gt_cause)(i - IDLE))
                                        : gt_category_name((gt_category)(i % GT_CATEGORIES));
        const char *kind = i >= IDLE ? "idle" : kinds[i / GT_CATEGORIES];
        names[i] = (part_name){gt_interner_add_cstr(strings, part), gt_interner_add_cstr(strings, kind)};
    }
}

static gt_table *parts_table(const gt_page_work *w, const gpu_steps *steps)
{
    enum { STEP, PART, KIND, NS };
    static const gt_column_head heads[] = {
        [STEP] = {GT_COL_PAGE_STEP, GT_TYPE_INT},
        [PART] = {GT_COL_PAGE_PART, GT_TYPE_STRING},
        [KIND] = {GT_COL_PAGE_KIND, GT_TYPE_STRING},
        [NS] = {GT_COL_PAGE_NS, GT_TYPE_INT},
    };
    part_times *times = find_parts(w, steps);
    part_name names[PARTS];
    name_parts(w->schedule->strings, names);
    gt_table *table = gt_table_new(GT_SHEET_PAGE_STEP_PARTS, w->schedule->strings);
    gt_table_add_columns(table, heads, GT_LENGTH(heads));
    for (size_t i = 0; i < steps->count; i++)
        for (size_t part = 0; part < PARTS; part++) {
            if (!times[i][part]) continue;
            size_t row = gt_table_add_row(table);
            gt_table_set_int(table, STEP, row, (int64_t)i);
            gt_table_set_string(table, PART, row, names[part].part);
            gt_table_set_string(table, KIND, row, names[part].kind);
            gt_table_set_int(table, NS, row, times[i][part]);
        }
    gt_free(times);
    return table;
}

size_t gt_page_add_steps(const gt_page_work *w, gt_table_list *tables)
{
    gpu_steps steps = find_steps(w->schedule);
    size_t left_out = steps.count > STEPS_MAX ? steps.count - STEPS_MAX : 0;
    steps.count -= left_out;
    if (steps.count) {
        gt_table_list_add(tables, steps_table(w, &steps));
        gt_table_list_add(tables, parts_table(w, &steps));
    }
    gt_free(steps.items);
    return left_out;
}
