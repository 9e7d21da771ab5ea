/* Schedules made by hand, call by call, for tests of rules:
 *
 *     made *m = new_made();
 *     for (int step = 0; step < 4; step++) {
 *         begin_step(m);
 *         spend(m, GT_CAUSE_DATA, 3000, GT_NONE);     3 ms of host time
 *         launch_kernel(m, "gemm", 10, 1000);         a call of 10 us, a kernel of 1 ms
 *     }
 *     end_made(m);
 *
 * The maker plays a machine: a kernel starts 5 us after its call began or when the kernel before it ends, and
 * a synchronising call returns when the last kernel ends. So the times are those that such a machine would
 * have recorded. Times in calls are microseconds. */
#ifndef GT_TEST_MADE_SCHEDULE_H
#define GT_TEST_MADE_SCHEDULE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/memory.h"
#include "findings/schedule/build.h"
#include "findings/schedule/names.h"
#include "findings/rules.h"

enum { MADE_LATENCY_NS = 5000 };

typedef struct made {
    gt_schedule schedule;
    gt_idle idle;
    gt_gpu_rates gpu;
    size_t event_capacity, point_capacity, op_capacity, point_op_capacity, step_capacity;
    int64_t now_ns;       /* of the host */
    int64_t before_ns;    /* since the last point */
    uint32_t first_piece; /* since the last point */
    uint16_t flags;       /* of the points to come */
    uint32_t parent;      /* of the calls to come */
    double raw_ns;        /* 0: as the model */
    double error_ns;      /* of the replay */
    uint32_t steps;
} made;

__attribute__((unused)) static made *new_made(void)
{
    made *m = gt_alloc_zero(1, sizeof *m);
    m->schedule.strings = gt_interner_new();
    m->schedule.stream_count = 1;
    m->schedule.launch_ns = MADE_LATENCY_NS;
    m->schedule.has_stacks = true;
    m->gpu.name = "";
    m->parent = GT_NONE;
    return m;
}

__attribute__((unused)) static uint32_t add_event(made *m, uint8_t kind, const char *name, uint32_t parent)
{
    gt_schedule *s = &m->schedule;
    gt_host_event event = {.kind = kind,
                           .name = gt_interner_add_cstr(s->strings, name),
                           .parent = parent,
                           .row = UINT32_MAX - 1};
    GT_PUSH(s->events, s->event_count, m->event_capacity, event);
    return (uint32_t)s->event_count - 1;
}

__attribute__((unused)) static void begin_step(made *m)
{
    gt_schedule *s = &m->schedule;
    GT_PUSH(s->steps, s->step_count, m->step_capacity,
            ((gt_step_times){.start_ns = m->now_ns, .first_op = GT_NONE}));
    m->steps++;
}

__attribute__((unused)) static void spend(made *m, gt_cause label, int64_t us, uint32_t event)
{
    gt_schedule *s = &m->schedule;
    gt_piece piece = {m->now_ns, m->now_ns + us * 1000, event, (uint8_t)label};
    GT_PUSH(s->pieces, s->piece_count, s->piece_capacity, piece);
    m->now_ns += us * 1000;
    m->before_ns += us * 1000;
}

/* A call that costs the host this long. */
__attribute__((unused)) static gt_host_point *add_call(made *m, gt_api_kind kind, const char *name,
                                                       int64_t us)
{
    gt_schedule *s = &m->schedule;
    gt_host_point point = {.start_ns = m->now_ns,
                           .end_ns = m->now_ns + us * 1000,
                           .base_ns = m->now_ns,
                           .before_ns = m->before_ns,
                           .own_ns = us * 1000,
                           .keep_before = 1,
                           .keep_own = 1,
                           .event = add_event(m, GT_KIND_RUNTIME, name, m->parent),
                           .first_op = (uint32_t)s->point_op_count,
                           .awaited = GT_NONE,
                           .first_piece = m->first_piece,
                           .piece_count = (uint32_t)s->piece_count - m->first_piece,
                           .step = (int32_t)s->step_count - 1,
                           .kind = kind & 15u,
                           .flags = m->flags};
    s->events[point.event].call = kind & 15u;
    GT_PUSH(s->points, s->point_count, m->point_capacity, point);
    m->first_piece = (uint32_t)s->piece_count;
    m->before_ns = 0;
    m->now_ns += us * 1000;
    return &s->points[s->point_count - 1];
}

static inline gt_gpu_op *add_op(made *m, uint8_t kind, const char *name, int64_t us, int64_t bytes)
{
    gt_schedule *s = &m->schedule;
    gt_host_point *point = &s->points[s->point_count - 1];
    gt_gpu_op op = {.kind = kind,
                    .name = gt_interner_add_cstr(s->strings, name),
                    .bytes = bytes,
                    .point = (uint32_t)s->point_count - 1,
                    .host_op = GT_NONE,
                    .previous = s->op_count ? (uint32_t)s->op_count - 1 : GT_NONE,
                    .dependency = GT_NONE,
                    .step = point->step,
                    .row = UINT32_MAX - 1};
    int64_t last_ns = s->op_count ? s->ops[s->op_count - 1].end_ns : INT64_MIN;
    if (point->base_ns >= last_ns) {
        op.start_ns = point->base_ns + MADE_LATENCY_NS;
        op.begins = GT_START_HOST;
        op.offset_ns = MADE_LATENCY_NS;
    } else {
        int64_t ready_ns = point->base_ns + MADE_LATENCY_NS;
        op.start_ns = last_ns > ready_ns ? last_ns : ready_ns;
        op.begins = GT_START_QUEUE;
        op.offset_ns = op.start_ns - last_ns;
    }
    op.end_ns = op.start_ns + us * 1000;
    GT_PUSH(s->point_ops, s->point_op_count, m->point_op_capacity, (uint32_t)s->op_count);
    point->op_count++;
    if (s->step_count && s->steps[s->step_count - 1].first_op == GT_NONE)
        s->steps[s->step_count - 1].first_op = (uint32_t)s->op_count;
    GT_PUSH(s->ops, s->op_count, m->op_capacity, op);
    return &s->ops[s->op_count - 1];
}

__attribute__((unused)) static void launch_kernel(made *m, const char *name, int64_t call_us, int64_t us)
{
    add_call(m, GT_API_LAUNCH, "cudaLaunchKernel", call_us);
    add_op(m, GT_KIND_KERNEL, name, us, 0);
}

/* The last call also waits until the last op has ended. */
__attribute__((unused)) static void wait_in_call(made *m)
{
    gt_schedule *s = &m->schedule;
    gt_host_point *point = &s->points[s->point_count - 1];
    gt_gpu_op *last = &s->ops[s->op_count - 1];
    if (last->end_ns <= point->base_ns) return;
    point->awaited = (uint32_t)s->op_count - 1;
    point->wait_ns = last->end_ns - point->base_ns;
    point->end_ns = last->end_ns + point->own_ns;
    m->now_ns = point->end_ns;
}

__attribute__((unused)) static void synchronise(made *m, const char *site)
{
    add_call(m, GT_API_SYNC, "cudaStreamSynchronize", 10)->sync_site =
        gt_interner_add_cstr(m->schedule.strings, site);
    wait_in_call(m);
}

/* Sets the window: from the first op of the first step to that of the last. */
__attribute__((unused)) static void end_made(made *m)
{
    gt_schedule *s = &m->schedule;
    uint32_t first = s->steps[0].first_op, end = s->steps[s->step_count - 1].first_op;
    s->window = (gt_step_window){s->ops[first].start_ns, s->ops[end].start_ns, first, end, m->steps - 1};
}

/* All idle time of the window, per step in ns, has this cause. */
__attribute__((unused)) static void set_idle(made *m, gt_cause cause, int64_t us_per_step)
{
    int64_t ns = us_per_step * 1000 * (int64_t)m->schedule.window.steps;
    m->idle.cause_ns[cause] = ns;
    m->idle.total_ns += ns;
}

/* Looks at all names, as for a trace. */
static inline void know_names(gt_schedule *s)
{
    uint32_t count = gt_interner_count(s->strings);
    uint8_t *seen = gt_alloc_zero(count, 1);
    for (size_t i = 0; i < s->event_count; i++)
        seen[s->events[i].name] |= s->events[i].kind == GT_KIND_CPU_OP       ? GT_NAMES_OP
                                   : s->events[i].kind == GT_KIND_PYTHON     ? GT_NAMES_PYTHON
                                   : s->events[i].kind == GT_KIND_ANNOTATION ? GT_NAMES_NOTE
                                                                             : GT_NAMES_CALL;
    for (size_t i = 0; i < s->op_count; i++) seen[s->ops[i].name] |= GT_NAMES_GPU;
    gt_find_name_bits(s, seen, count);
    gt_free(seen);
}

__attribute__((unused)) static gt_finding_list *run_rules(made *m)
{
    gt_schedule *s = &m->schedule;
    know_names(s);
    gt_build_first_use(s);
    double model_ns = gt_replay_run(s, NULL, 0, (gt_replay_options){0}, NULL);
    gt_rule_input input = {.schedule = s,
                           .idle = &m->idle,
                           .gpu = &m->gpu,
                           .per = "step",
                           .step_ns =
                               (double)(s->window.end_ns - s->window.start_ns) / (double)s->window.steps,
                           .raw_ns = m->raw_ns > 0 ? m->raw_ns : model_ns,
                           .model_ns = model_ns,
                           .error_ns = m->error_ns};
    return gt_rules_run(&input);
}

__attribute__((unused)) static const gt_finding *find_finding(const gt_finding_list *list, const char *id)
{
    for (size_t i = 0; i < list->count; i++)
        if (strcmp(list->items[i].id, id) == 0) return &list->items[i];
    return NULL;
}

__attribute__((unused)) static void free_made(made *m)
{
    gt_schedule *s = &m->schedule;
    gt_sites_free(s);
    gt_interner_free(s->strings);
    gt_free(s->events);
    gt_free(s->points);
    gt_free(s->point_ops);
    gt_free(s->pieces);
    gt_free(s->ops);
    gt_free(s->steps);
    gt_free(s->trips);
    gt_free((void *)s->name_bits);
    gt_free(m);
}

#endif
