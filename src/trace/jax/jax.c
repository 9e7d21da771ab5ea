/* The events of a JAX profile: their order, their kinds, and questions about one of them. */
#include "trace/jax/jax.h"

gt_jax *gt_jax_new(void)
{
    gt_jax *trace = gt_alloc_zero(1, sizeof *trace);
    trace->strings = gt_interner_new();
    return trace;
}

void gt_jax_free(gt_jax *trace)
{
    if (!trace) return;
    gt_interner_free(trace->strings);
    gt_arena_free(&trace->arena);
    gt_free_all(trace->gpus, trace->lines, trace->ops, trace->records, trace->start_ps, trace->dur_ps,
                trace->correlation, trace->launch_us, trace->name, trace->line, trace->op, trace->flags,
                trace->products, trace->group, trace->scope, trace->kind, trace->host);
    gt_free(trace);
}

uint64_t gt_jax_uid(const gt_jax *trace, size_t event)
{
    const gt_jax_gpu *gpu = &trace->gpus[gt_jax_line_of(trace, event)->gpu];
    return gpu->first_uid + (event - gpu->begin);
}

double gt_jax_start_us(const gt_jax *trace, size_t event)
{
    return (double)trace->start_ps[event] / 1e6;
}

double gt_jax_dur_us(const gt_jax *trace, size_t event)
{
    return (double)trace->dur_ps[event] / 1e6;
}

gt_str gt_jax_name(const gt_jax *trace, size_t event)
{
    return gt_interner_get(trace->strings, trace->name[event]);
}

const gt_jax_line *gt_jax_line_of(const gt_jax *trace, size_t event)
{
    return &trace->lines[trace->line[event]];
}

uint32_t gt_jax_pid(const gt_jax *trace, size_t event)
{
    return trace->gpus[gt_jax_line_of(trace, event)->gpu].pid;
}

uint32_t gt_jax_hlo_op(const gt_jax *trace, size_t event)
{
    return trace->op[event] == GT_JAX_NONE ? GT_STR_NONE : trace->ops[trace->op[event]].hlo_op;
}

const gt_hlo_record *gt_jax_record(const gt_jax *trace, size_t event)
{
    if (trace->op[event] == GT_JAX_NONE || isnan(trace->launch_us[event])) return NULL;
    uint32_t record = trace->ops[trace->op[event]].record;
    return record == GT_JAX_NONE ? NULL : &trace->records[record];
}

/* ---- kinds ---- */

bool gt_str_starts_with_nocase(gt_str text, const char *lower_case)
{
    size_t len = strlen(lower_case);
    if (text.len < len) return false;
    for (size_t i = 0; i < len; i++) {
        char c = text.bytes[i];
        if ((c >= 'A' && c <= 'Z' ? c | 0x20 : c) != lower_case[i]) return false;
    }
    return true;
}

/* The kind of an event with this name on a thread with that name. */
static gt_jax_kind kind_of(gt_str thread_name, gt_str event_name)
{
    if (!gt_str_starts_with(thread_name, "Stream") || gt_str_contains(thread_name, "py_xla"))
        return GT_JAX_OTHER;
    if (gt_str_starts_with_nocase(event_name, "copy") || gt_str_starts_with_nocase(event_name, "memcpy"))
        return GT_JAX_MEMCPY;
    return gt_str_starts_with_nocase(event_name, "memset") ? GT_JAX_MEMSET : GT_JAX_KERNEL;
}

/* Looks at each name and each thread once, not at each event. */
void gt_jax_find_kinds(gt_jax *trace)
{
    enum { UNKNOWN = 0xff };
    const gt_str stream = {"Stream", 6};
    size_t names = gt_interner_count(trace->strings);
    uint8_t *of_name = gt_alloc(names), *is_stream = gt_alloc(trace->line_count);
    memset(of_name, UNKNOWN, names);
    for (size_t i = 0; i < trace->line_count; i++) {
        gt_str thread = gt_interner_get(trace->strings, trace->lines[i].thread_name);
        is_stream[i] = kind_of(thread, (gt_str){"", 0}) != GT_JAX_OTHER;
    }
    trace->kind = gt_alloc(trace->count);
    for (size_t i = 0; i < trace->count; i++) {
        uint8_t *kind = &of_name[trace->name[i]];
        if (*kind == UNKNOWN) *kind = (uint8_t)kind_of(stream, gt_jax_name(trace, i));
        trace->kind[i] = is_stream[trace->line[i]] ? *kind : GT_JAX_OTHER;
    }
    gt_free_all(of_name, is_stream);
}

/* ---- columns ---- */

enum { COLUMNS_MAX = 10 };

typedef struct column {
    void **items;
    size_t size; /* of an item */
} column;

static size_t columns_of(gt_jax *trace, column columns[COLUMNS_MAX])
{
    const column all[COLUMNS_MAX] = {
        {(void **)&trace->start_ps, 8},  {(void **)&trace->dur_ps, 8}, {(void **)&trace->correlation, 8},
        {(void **)&trace->launch_us, 8}, {(void **)&trace->name, 4},   {(void **)&trace->line, 4},
        {(void **)&trace->op, 4},        {(void **)&trace->flags, 1},  {(void **)&trace->group, 8},
        {(void **)&trace->scope, 8},
    };
    memcpy(columns, all, sizeof all);
    return trace->group ? COLUMNS_MAX : COLUMNS_MAX - 2;
}

static void grow(gt_jax *trace)
{
    column columns[COLUMNS_MAX];
    size_t count = columns_of(trace, columns), capacity = 0;
    for (size_t i = 0; i < count; i++) {
        capacity = trace->capacity;
        *columns[i].items = gt_grow(*columns[i].items, &capacity, trace->count + 1, columns[i].size);
    }
    trace->capacity = capacity;
}

static void add_groupings(gt_jax *trace)
{
    trace->group = gt_alloc(trace->capacity * sizeof *trace->group);
    trace->scope = gt_alloc(trace->capacity * sizeof *trace->scope);
    memset(trace->group, 0, trace->count * sizeof *trace->group);
    memset(trace->scope, 0, trace->count * sizeof *trace->scope);
}

void gt_jax_add_event(gt_jax *trace, const gt_jax_event *event)
{
    if (trace->count == trace->capacity) grow(trace);
    if (!trace->group && event->flags & (GT_JAX_HAS_GROUP | GT_JAX_HAS_SCOPE)) add_groupings(trace);
    size_t i = trace->count++;
    trace->start_ps[i] = event->start_ps;
    trace->dur_ps[i] = event->dur_ps;
    trace->correlation[i] = event->correlation;
    trace->launch_us[i] = event->launch_us;
    trace->name[i] = event->name;
    trace->line[i] = event->line;
    trace->op[i] = event->op;
    trace->flags[i] = event->flags;
    if (!trace->group) return;
    trace->group[i] = event->group;
    trace->scope[i] = event->scope;
}

/* ---- order ---- */

static int by_place(const gt_jax *trace, size_t a, size_t b)
{
    const gt_jax_line *line_a = gt_jax_line_of(trace, a), *line_b = gt_jax_line_of(trace, b);
    if (line_a != line_b) {
        if (line_a->is_counter != line_b->is_counter) return line_a->is_counter ? -1 : 1;
        if (!line_a->is_counter && line_a->tid != line_b->tid) return line_a->tid < line_b->tid ? -1 : 1;
    }
    if (trace->start_ps[a] != trace->start_ps[b]) return trace->start_ps[a] < trace->start_ps[b] ? -1 : 1;
    if (trace->dur_ps[a] != trace->dur_ps[b]) return trace->dur_ps[a] > trace->dur_ps[b] ? -1 : 1;
    return (a > b) - (a < b);
}

static int by_place_of(const void *left, const void *right, void *trace)
{
    return by_place(trace, *(const size_t *)left, *(const size_t *)right);
}

/* Profiles mostly have their events in order; then nothing is moved. */
static bool is_sorted(const gt_jax *trace, const gt_jax_gpu *gpu)
{
    for (size_t i = gpu->begin + 1; i < gpu->end; i++)
        if (by_place(trace, i - 1, i) > 0) return false;
    return true;
}

static void sort_gpu(gt_jax *trace, const gt_jax_gpu *gpu)
{
    size_t count = gpu->end - gpu->begin, *order = gt_alloc(count * sizeof *order);
    for (size_t i = 0; i < count; i++) order[i] = gpu->begin + i;
    qsort_r(order, count, sizeof *order, by_place_of, trace);
    column columns[COLUMNS_MAX];
    size_t column_count = columns_of(trace, columns);
    char *moved = gt_alloc(count * sizeof(uint64_t));
    for (size_t c = 0; c < column_count; c++) {
        size_t size = columns[c].size;
        char *items = *columns[c].items;
        for (size_t i = 0; i < count; i++) memcpy(moved + i * size, items + order[i] * size, size);
        memcpy(items + gpu->begin * size, moved, count * size);
    }
    gt_free_all(moved, order);
}

void gt_jax_sort_events(gt_jax *trace)
{
    for (size_t g = 0; g < trace->gpu_count; g++)
        if (!is_sorted(trace, &trace->gpus[g])) sort_gpu(trace, &trace->gpus[g]);
}

/* ---- collectives of a compiled program ---- */

void gt_xla_free(gt_xla *program)
{
    gt_free(program->items);
    gt_map_free(&program->by_name);
    gt_arena_free(&program->arena);
    *program = (gt_xla){0};
}

void gt_xla_add(gt_xla *program, const gt_xla_collective *collective)
{
    uint32_t *place = gt_map_put(&program->by_name, collective->name, 0);
    if (*place == GT_MAP_NONE) *place = (uint32_t)program->count;
    GT_PUSH(program->items, program->count, program->capacity, *collective);
}

const gt_xla_collective *gt_xla_find(const gt_xla *program, uint32_t name)
{
    uint32_t place = gt_map_get(&program->by_name, name, 0);
    return place == GT_MAP_NONE ? NULL : &program->items[place];
}

/* ---- one stream ---- */

void gt_gpu_stream_free(gt_gpu_stream *stream)
{
    gt_free(stream->items);
    *stream = (gt_gpu_stream){0};
}

size_t gt_gpu_stream_from(const gt_gpu_stream *stream, double start_us)
{
    size_t begin;
    GT_BISECT(begin, 0, stream->count, stream->items[begin].start_us < start_us);
    return begin;
}
