/* Which threads launch work on the GPU, but do not drive the steps?
 *
 * A thread that writes a checkpoint, or fetches input ahead of time, has its own streams: the step does not
 * wait for it, so its calls are no points of the host. Its ops stay on their streams as they were recorded.
 *
 * The threads that drive are those with a step of the profiler, those of autograd, and those that launch on a
 * stream of one of these. Where none of them has steps or autograd, it is the thread that launches most, and
 * those that launch a quarter as much or more. Threads of a process without a driving thread are not judged.
 */
#include "findings/schedule/host_parts.h"

#include "findings/schedule/names.h"

enum { NOT_FEW = 4 }; /* a thread with this part of the most launches is none in the background */

static bool has_steps_or_autograd(const gt_schedule *schedule, const gt_host_thread *thread)
{
    for (uint32_t i = thread->first; i < thread->end; i++)
        if (schedule->events[i].kind != GT_KIND_PYTHON &&
            gt_name_has(schedule, schedule->events[i].name, GT_NAME_STEP | GT_NAME_BACKWARD))
            return true;
    return false;
}

static bool has_call(const gt_schedule *schedule, const gt_host_thread *thread, const char *word)
{
    for (uint32_t i = thread->first; i < thread->end; i++) {
        const gt_host_event *event = &schedule->events[i];
        bool is_call = event->kind == GT_KIND_RUNTIME || event->kind == GT_KIND_DRIVER;
        if (is_call && gt_str_contains(gt_interner_get(schedule->strings, event->name), word)) return true;
    }
    return false;
}

/* Whether the step may wait for what a thread launches. With one stream of its own, it waits for nothing
 * else. */
static bool may_be_awaited(const gt_schedule *schedule, uint32_t thread, const bool *drives,
                           const bool *streams)
{
    size_t own = 0;
    for (size_t i = 0; i < schedule->stream_count; i++) own += streams[i];
    if (own > 1 && !has_call(schedule, &schedule->threads[thread], "EventRecord")) return false;
    for (size_t t = 0; t < schedule->thread_count; t++)
        if (drives[t] && has_call(schedule, &schedule->threads[t], "StreamWaitEvent")) return true;
    return false;
}

static double kernel_ns(const gt_gpu_op *op)
{
    return op->kind == GT_KIND_KERNEL ? (double)gt_op_ns(op) : 0;
}

static double work_ns(const gt_host_builder *b, uint32_t thread)
{
    const gt_thread_source *source = &b->sources[thread];
    double ns = 0;
    for (size_t i = 0; i < source->call_count; i++) {
        uint32_t slot = source->calls[i].slot;
        if (slot == GT_NO_SLOT) continue;
        for (uint32_t k = b->launches.first_op[slot]; k < b->launches.first_op[slot + 1]; k++)
            ns += kernel_ns(&b->schedule->ops[b->schedule->point_ops[k]]);
    }
    return ns;
}

static double all_work_ns(const gt_schedule *schedule)
{
    double ns = 0;
    for (size_t i = 0; i < schedule->op_count; i++) ns += kernel_ns(&schedule->ops[i]);
    return ns;
}

static size_t count_launches(const gt_thread_source *source)
{
    size_t count = 0;
    for (size_t i = 0; i < source->call_count; i++) count += source->calls[i].slot != GT_NO_SLOT;
    return count;
}

/* Looks at the streams of a thread's ops: marks them, or says whether any is marked. */
static bool look_at_streams(const gt_host_builder *b, uint32_t thread, bool *streams, bool marks)
{
    const gt_schedule *schedule = b->schedule;
    const gt_thread_source *source = &b->sources[thread];
    for (size_t i = 0; i < source->call_count; i++) {
        uint32_t slot = source->calls[i].slot;
        if (slot == GT_NO_SLOT) continue;
        for (uint32_t k = b->launches.first_op[slot]; k < b->launches.first_op[slot + 1]; k++) {
            uint32_t stream = schedule->ops[schedule->point_ops[k]].stream;
            if (!marks && streams[stream]) return true;
            streams[stream] |= marks;
        }
    }
    return false;
}

/* Without steps and autograd: those that launch most. */
static void drive_by_launches(size_t count, const size_t *launches, bool *drives)
{
    size_t most = 0;
    for (size_t t = 0; t < count; t++)
        if (launches[t] > most) most = launches[t];
    for (size_t t = 0; t < count; t++) drives[t] = launches[t] && launches[t] * NOT_FEW >= most;
}

/* By string id: whether a process has a driving thread. The caller frees it. */
static bool *find_processes(const gt_schedule *schedule, const bool *drives)
{
    bool *found = gt_alloc_zero(gt_interner_count(schedule->strings), sizeof *found);
    for (size_t t = 0; t < schedule->thread_count; t++) found[schedule->threads[t].process] |= drives[t];
    return found;
}

/* Whether a thread launches on other devices only: what it waits for is there, too. */
static bool launches_elsewhere(const gt_schedule *schedule, uint32_t thread, size_t launches)
{
    return schedule->device_count > 1 && !launches &&
           has_call(schedule, &schedule->threads[thread], "Launch");
}

bool *gt_find_background(const gt_host_builder *b)
{
    const gt_schedule *schedule = b->schedule;
    size_t count = schedule->thread_count, launching = 0;
    size_t *launches = gt_alloc(count * sizeof *launches);
    bool *background = gt_alloc_zero(count, sizeof *background),
         *drives = gt_alloc_zero(count, sizeof *drives), any = false;
    for (size_t t = 0; t < count; t++) {
        launches[t] = count_launches(&b->sources[t]);
        launching += launches[t] > 0;
    }
    if (launching > 1) {
        for (size_t t = 0; t < count; t++)
            any |= drives[t] = has_steps_or_autograd(schedule, &schedule->threads[t]);
        if (!any) drive_by_launches(count, launches, drives);
        bool *processes = find_processes(schedule, drives);
        bool *streams = gt_alloc_zero(schedule->stream_count, sizeof *streams);
        for (uint32_t t = 0; t < count; t++)
            if (drives[t]) look_at_streams(b, t, streams, true);
        for (uint32_t t = 0; t < count; t++)
            background[t] = launches[t] && !drives[t] && processes[schedule->threads[t].process] &&
                            !look_at_streams(b, t, streams, false) &&
                            work_ns(b, t) * NOT_FEW < all_work_ns(schedule) &&
                            !may_be_awaited(schedule, t, drives, streams);
        gt_free_all(streams, processes);
    }
    for (uint32_t t = 0; launching && t < count; t++)
        background[t] |= launches_elsewhere(schedule, t, launches[t]);
    gt_free_all(drives, launches);
    return background;
}
