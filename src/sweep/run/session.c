/* What the runs of a sweep run on: the machine, its GPUs with their clocks, drivers, and versions of
 * libraries and packages, as `gputally run` finds them. */
#include "os/paths.h"
#include "run/execute/execute.h"
#include "sweep/run/run.h"

gt_run_session gt_run_session_of(const gt_run_point *point, bool rocprof)
{
    gt_run_session session = {0};
    gt_buffer line = {0};
    gt_shell_join(&line, point->argv.items, point->argv.count);
    /* On the heap, because the machine keeps its address. */
    session.plan = gt_alloc_zero(1, sizeof *session.plan);
    gt_arena *arena = gt_alloc_zero(1, sizeof *arena);
    session.plan->arena = arena;
    session.plan->workdir = gt_path_current(arena);
    session.plan->env = &gt_value_missing;
    session.plan->command_line = gt_arena_bytes(arena, gt_buffer_str(&line).bytes, line.len);
    session.plan->profiler = &session.plan->none;
    if (rocprof)
        session.plan->none = (gt_profiler){.kind = GT_PROFILER_ROCPROFV3,
                                           .path = gt_path_search(arena, "rocprofv3", getenv("PATH"))};
    session.machine = gt_machine_look(session.plan);
    gt_buffer_free(&line);
    return session;
}

gt_run_session gt_run_session_begin(const gt_run_plan *plan)
{
    gt_run_point first = gt_run_point_make(plan, 0);
    gt_run_session session = gt_run_session_of(&first, plan->rocprof);
    gt_run_point_free(&first);
    return session;
}

void gt_run_session_end(gt_run_session *session)
{
    if (session->machine) gt_machine_finish(session->machine);
}

void gt_run_session_free(gt_run_session *session)
{
    if (session->plan) {
        gt_arena_free(session->plan->arena);
        gt_free(session->plan->arena);
    }
    gt_free(session->plan);
    *session = (gt_run_session){0};
}
