/* `sweep run --more N`: more runs of some settings.
 *
 * What an earlier call has not finished comes first: its runs that never ended are run, and no others. So the
 * same command line can be repeated after an interruption until all runs are there. A run that failed does
 * not count: its number is used again. */
#include "sweep/run/run.h"

#include "os/paths.h"
#include "sweep/record.h"

static void pick(gt_run_plan *plan, size_t point, size_t repeat)
{
    gt_picked_run run = {point, repeat};
    GT_PUSH(plan->picked, plan->picked_count, plan->picked_capacity, run);
    if (repeat > plan->repeats) plan->repeats = repeat;
}

static char *place_of(const gt_run_plan *plan, size_t point, size_t repeat)
{
    char *above = repeat > 1 ? gt_format("repeat_%zu", repeat) : gt_strdup("");
    char *place = gt_sweep_grid_folder(&plan->grid, point, above);
    gt_free(above);
    return place;
}

static bool has_status(const gt_value *run, gt_run_status status)
{
    return gt_value_equals_cstr(gt_value_get(run, "status"), gt_run_status_names[status]);
}

/* Runs of another command say nothing about those of this one. */
static bool check_command(const gt_run_plan *plan, const gt_sweep_record *record, gt_error *error)
{
    const gt_value *commands = gt_value_get(record->json, "commands");
    if (!gt_value_is_list(commands) || !commands->count) return true;
    char *line = gt_run_plan_line(plan);
    gt_arena arena = {0};
    const gt_value *newest = &commands->items[commands->count - 1];
    bool ok = gt_value_equals_cstr(newest, line) ||
              gt_fail(error, "--more adds runs of the command of the sweep, which is: %.600s",
                      gt_value_copy(&arena, newest));
    gt_arena_free(&arena);
    gt_free(line);
    return ok;
}

bool gt_run_plan_pick_unfinished(gt_run_plan *plan, gt_error *error)
{
    gt_sweep_record *record = gt_sweep_record_read(plan->root);
    bool ok = record ? check_command(plan, record, error)
                     : gt_fail(error, "%s: has no sweep.json: --more adds runs to a sweep of `sweep run`",
                               plan->root);
    const gt_value *recorded = ok ? gt_value_get(record->json, "repeats") : &gt_value_missing;
    plan->repeats =
        recorded->type == GT_VALUE_INT && recorded->integer > 1 && recorded->integer <= GT_REPEATS_MAX
            ? (size_t)recorded->integer
            : 1;
    for (size_t repeat = 1, repeats = plan->repeats; ok && repeat <= repeats; repeat++)
        for (size_t point = 0; point < gt_sweep_grid_points(&plan->grid); point++) {
            char *place = place_of(plan, point, repeat);
            const gt_value *run = gt_sweep_record_point(record, place);
            if (has_status(run, GT_RUN_PENDING) || has_status(run, GT_RUN_INTERRUPTED))
                pick(plan, point, repeat);
            gt_free(place);
        }
    gt_sweep_record_free(record);
    return ok;
}

/* The point whose folder without that of the repeat is this one; SIZE_MAX: none. */
static size_t point_at(const gt_run_plan *plan, const char *wanted)
{
    size_t count = gt_sweep_grid_points(&plan->grid), point = 0;
    for (; point < count; point++) {
        char *place = place_of(plan, point, 1);
        bool found = strcmp(place, wanted) == 0;
        gt_free(place);
        if (found) return point;
    }
    return SIZE_MAX;
}

bool gt_run_plan_pick(gt_run_plan *plan, const char *const *places, size_t count, size_t more,
                      gt_error *error)
{
    gt_sweep_record *record = gt_sweep_record_read(plan->root);
    bool ok = true;
    for (size_t i = 0; ok && i < count; i++) {
        size_t point = point_at(plan, places[i]), left = more;
        if (point == SIZE_MAX)
            ok = gt_fail(
                error, "--more: %.200s is not in the grid of this call; repeat the command line of the sweep",
                places[i]);
        for (size_t repeat = 1; ok && left; repeat++) {
            if (repeat > GT_REPEATS_MAX) {
                ok = gt_fail(error, "--more: %.200s would have more than %d runs", places[i], GT_REPEATS_MAX);
                break;
            }
            char *place = place_of(plan, point, repeat), *folder = gt_format("%s/%s", plan->root, place);
            const gt_value *run = gt_sweep_record_point(record, place);
            bool is_taken =
                run->type == GT_VALUE_MISSING ? gt_path_is_folder(folder) : has_status(run, GT_RUN_SUCCESS);
            if (!is_taken) {
                pick(plan, point, repeat);
                left--;
            }
            gt_free_all(folder, place);
        }
    }
    gt_sweep_record_free(record);
    return ok;
}
