/* The events of a JAX profile: their order, their kinds, and short ways to ask about one. */
#include "trace/jax.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

gt_jax *gt_jax_new(void)
{
    gt_jax *trace = gt_alloc_zero(1, sizeof *trace);
    trace->strings = gt_strings_new();
    return trace;
}

void gt_jax_free(gt_jax *trace)
{
    if (!trace) return;
    gt_strings_free(trace->strings);
    gt_arena_free(&trace->arena);
    void *owned[] = {trace->gpus, trace->lines, trace->ops, trace->records,   trace->start_ps, trace->dur_ps,
                     trace->name, trace->line,  trace->op,  trace->launch_us, trace->uid,      trace->kind};
    for (size_t i = 0; i < sizeof owned / sizeof *owned; i++) free(owned[i]);
    free(trace);
}

double gt_jax_start_us(const gt_jax *trace, size_t event)
{
    return (double)trace->start_ps[event] / 1e6;
}

double gt_jax_dur_us(const gt_jax *trace, size_t event)
{
    return (double)trace->dur_ps[event] / 1e6;
}

gt_text gt_jax_name(const gt_jax *trace, size_t event)
{
    return gt_strings_get(trace->strings, trace->name[event]);
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
    return trace->op[event] == GT_JAX_NONE ? GT_TEXT_NONE : trace->ops[trace->op[event]].hlo_op;
}

const gt_hlo_record *gt_jax_record(const gt_jax *trace, size_t event)
{
    if (trace->op[event] == GT_JAX_NONE || isnan(trace->launch_us[event])) return NULL;
    uint32_t record = trace->ops[trace->op[event]].record;
    return record == GT_JAX_NONE ? NULL : &trace->records[record];
}

/* ---- kinds ---- */

static bool begins(gt_text text, const char *with)
{
    size_t len = strlen(with);
    return text.len >= len && memcmp(text.bytes, with, len) == 0;
}

bool gt_begins_in_any_case(gt_text text, const char *lower_case)
{
    size_t len = strlen(lower_case);
    if (text.len < len) return false;
    for (size_t i = 0; i < len; i++) {
        char c = text.bytes[i];
        if ((c >= 'A' && c <= 'Z' ? c | 0x20 : c) != lower_case[i]) return false;
    }
    return true;
}

gt_jax_kind gt_jax_kind_of(gt_text thread_name, gt_text event_name)
{
    if (!begins(thread_name, "Stream") || memmem(thread_name.bytes, thread_name.len, "py_xla", 6))
        return GT_JAX_OTHER;
    if (gt_begins_in_any_case(event_name, "copy") || gt_begins_in_any_case(event_name, "memcpy"))
        return GT_JAX_MEMCPY;
    return gt_begins_in_any_case(event_name, "memset") ? GT_JAX_MEMSET : GT_JAX_KERNEL;
}

/* ---- order ---- */

typedef struct sort_key {
    uint32_t pid;
    bool has_thread;
    uint32_t tid;
    const gt_jax_raw_event *event; /* its address is its place in the file */
} sort_key;

static int by_place(const void *left, const void *right)
{
    const sort_key *a = left, *b = right;
    if (a->pid != b->pid) return a->pid < b->pid ? -1 : 1;
    if (a->has_thread != b->has_thread) return a->has_thread ? 1 : -1;
    if (a->tid != b->tid) return a->tid < b->tid ? -1 : 1;
    if (a->event->start_ps != b->event->start_ps) return a->event->start_ps < b->event->start_ps ? -1 : 1;
    if (a->event->dur_ps != b->event->dur_ps) return a->event->dur_ps > b->event->dur_ps ? -1 : 1;
    return (a->event > b->event) - (a->event < b->event);
}

static sort_key key_of(const gt_jax *trace, const gt_jax_raw_event *event)
{
    const gt_jax_line *line = &trace->lines[event->line];
    return (sort_key){trace->gpus[line->gpu].pid, !line->is_counter, line->is_counter ? 0 : line->tid, event};
}

/* Events mostly come in order, line by line; then nothing is moved. */
static bool are_sorted(const gt_jax *trace, const gt_jax_raw_event *events, size_t count)
{
    for (size_t i = 1; i < count; i++) {
        sort_key a = key_of(trace, &events[i - 1]), b = key_of(trace, &events[i]);
        if (by_place(&a, &b) > 0) return false;
    }
    return true;
}

void gt_jax_sort_events(const gt_jax *trace, gt_jax_raw_event *events, size_t count)
{
    if (are_sorted(trace, events, count)) return;
    sort_key *keys = gt_alloc(count * sizeof *keys);
    for (size_t i = 0; i < count; i++) keys[i] = key_of(trace, &events[i]);
    qsort(keys, count, sizeof *keys, by_place);
    gt_jax_raw_event *sorted = gt_alloc(count * sizeof *sorted);
    for (size_t i = 0; i < count; i++) sorted[i] = *keys[i].event;
    memcpy(events, sorted, count * sizeof *sorted);
    free(sorted);
    free(keys);
}
