/* Makes the folders into which the profilers of a plan write.
 *
 * The name of such a folder is the time at which the plan was made. Programs such as mpirun start several
 * `gputally run` at the same time in one folder; so a folder that exists already is of another run, and this
 * one gets another name: 2025-01-31_12.00.00, 2025-01-31_12.00.00_2 and so on. */
#include "run/plan/plan.h"
#include "os/paths.h"

enum { NAMES_MAX = 10000 };

/* The path with another folder, if it is that folder or below it. */
static const char *moved(gt_arena *arena, const char *path, const char *from, const char *to)
{
    size_t len = strlen(from);
    if (!path || strncmp(path, from, len) != 0 || (path[len] && path[len] != '/')) return path;
    return gt_arena_format(arena, "%s%s", to, path + len);
}

static void move_all(gt_arena *arena, gt_arg_list *list, const char *from, const char *to)
{
    for (size_t i = 0; i < list->count; i++) list->items[i] = moved(arena, list->items[i], from, to);
}

static void use_folder(gt_plan *plan, const char *from, const char *to)
{
    for (size_t i = 0; i < plan->piece_count; i++) {
        gt_profiler *profiler = plan->pieces[i].profiler;
        if (!profiler) continue;
        profiler->output_dir = moved(plan->arena, profiler->output_dir, from, to);
        profiler->counter_path = moved(plan->arena, profiler->counter_path, from, to);
        move_all(plan->arena, &profiler->options, from, to);
    }
    move_all(plan->arena, &plan->outputs, from, to);
    plan->run_dir = moved(plan->arena, plan->run_dir, from, to);
    plan->timestamp = gt_path_name(plan->run_dir);
}

static bool make_fresh(gt_plan *plan, const gt_profiler *profiler, bool *is_other, gt_error *error)
{
    const char *wanted = profiler->output_dir, *path = wanted;
    if (!gt_path_make_folder(profiler->named_dir, error)) return false;
    for (int n = 2; mkdir(path, 0777) != 0; n++) {
        if (errno != EEXIST || n == NAMES_MAX)
            return gt_fail(error, "cannot create folder %.900s: %s", path, strerror(errno));
        path = gt_arena_format(plan->arena, "%s_%d", wanted, n);
    }
    *is_other = *is_other || path != wanted;
    if (path != wanted) use_folder(plan, wanted, path);
    return true;
}

/* Whether an earlier profiler of the plan has the same folder. */
static bool is_shared(const gt_plan *plan, size_t piece)
{
    for (size_t i = 0; i < piece; i++) {
        const gt_profiler *earlier = plan->pieces[i].profiler;
        if (earlier && earlier->output_dir &&
            strcmp(earlier->output_dir, plan->pieces[piece].profiler->output_dir) == 0)
            return true;
    }
    return false;
}

bool gt_plan_claim_folders(gt_plan *plan, gt_error *error)
{
    bool is_other = false;
    for (size_t i = 0; i < plan->piece_count; i++) {
        const gt_profiler *profiler = plan->pieces[i].profiler;
        if (!profiler || !profiler->output_dir || is_shared(plan, i)) continue;
        bool ok = profiler->named_dir ? make_fresh(plan, profiler, &is_other, error)
                                      : gt_path_make_folder(profiler->output_dir, error);
        if (!ok) return false;
    }
    if (!is_other) return true;
    gt_plan_compose(plan);
    plan->docker = (gt_arg_list){0};
    return !plan->image || gt_docker_make(plan, plan->image, &plan->docker, error);
}
