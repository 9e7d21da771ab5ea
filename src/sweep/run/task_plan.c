/* What a task runs: reads it from the list of tasks of its submission (sweep/tasks.h). */
#include "os/paths.h"
#include "run/plan/context.h"
#include "run/plan/secrets.h"
#include "sweep/run/cluster.h"

extern char **environ;

enum { LARGEST_LIST = 256 << 20 };

static bool add_strings(gt_arena *arena, const gt_value *list, gt_arg_list *out)
{
    if (!gt_value_is_list(list)) return false;
    for (size_t i = 0; i < list->count; i++) {
        const char *text = gt_value_copy(arena, &list->items[i]);
        if (!text || strlen(text) != list->items[i].text.len) return false;
        gt_arg_list_add(arena, out, text);
    }
    return true;
}

static void end_list(gt_arena *arena, gt_arg_list *list)
{
    gt_arg_list_add(arena, list, "");
    list->items[--list->count] = NULL;
}

static bool names_variable(const gt_arg_list *list, const char *entry)
{
    size_t len = strcspn(entry, "=");
    for (size_t i = 0; i < list->count; i++)
        if (strncmp(list->items[i], entry, len) == 0 && (!list->items[i][len] || list->items[i][len] == '='))
            return true;
    return false;
}

static void make_environment(gt_task_plan *plan)
{
    gt_run_point *point = &plan->point;
    for (char **entry = environ; *entry; entry++)
        if (!names_variable(&point->variables, *entry) && !names_variable(&plan->unset, *entry))
            gt_arg_list_add(&point->arena, &point->environment, *entry);
    for (size_t i = 0; i < point->variables.count; i++)
        gt_arg_list_add(&point->arena, &point->environment, point->variables.items[i]);
    end_list(&point->arena, &point->environment);
}

static bool read_point(gt_task_plan *plan, const gt_value *list, const gt_value *task)
{
    gt_run_point *point = &plan->point;
    point->place = gt_settings_string(task, "place");
    point->folder = gt_settings_string(task, "directory");
    point->rocprof_folder = gt_settings_string(task, "rocprof_directory");
    plan->timeout_s = gt_settings_int(list, "timeout_s", 0);
    return point->place && point->folder &&
           add_strings(&point->arena, gt_value_get(task, "argv"), &point->argv) && point->argv.count &&
           add_strings(&point->arena, gt_value_get(task, "env"), &point->variables) &&
           add_strings(&point->arena, gt_value_get(list, "unset"), &plan->unset);
}

/* A list of tasks; the values point into the arena. */
static const gt_value *read_list(gt_arena *arena, const char *path, gt_error *error)
{
    gt_buffer text = {0};
    const gt_value *list = NULL;
    if (gt_read_small_file(path, LARGEST_LIST, &text, error)) {
        gt_str kept = {gt_arena_bytes(arena, text.len ? text.bytes : "", text.len), text.len};
        list = gt_value_parse(arena, kept);
    }
    gt_buffer_free(&text);
    return list;
}

bool gt_task_plan_read(gt_task_plan *plan, const char *folder, size_t task, gt_error *error)
{
    *plan = (gt_task_plan){0};
    gt_arena *arena = &plan->point.arena;
    const char *path = gt_path_join(arena, folder, "tasks.json");
    const gt_value *list = read_list(arena, path, error);
    if (list && gt_settings_is_true(list, "has_secrets", false)) {
        path = gt_path_join(arena, folder, GT_SWEEP_SECRETS);
        list = read_list(arena, path, error);
    }
    if (!list) return false;
    const gt_value *tasks = gt_value_get(list, "tasks");
    if (!gt_value_is_list(tasks) || task >= tasks->count)
        return gt_fail(error, "%s: has no task %zu", path, task);
    if (!read_point(plan, list, &tasks->items[task]))
        return gt_fail(error, "%s: task %zu is damaged", path, task);
    end_list(arena, &plan->point.argv);
    make_environment(plan);
    return true;
}

void gt_task_plan_free(gt_task_plan *plan)
{
    gt_run_point_free(&plan->point);
}

bool gt_task_print(const char *folder, size_t task, gt_error *error)
{
    gt_task_plan plan;
    bool is_read = gt_task_plan_read(&plan, folder, task, error);
    gt_run_point *point = &plan.point;
    if (is_read)
        gt_run_point_print(
            point, &plan.unset,
            gt_secrets_known(&point->arena, &gt_value_missing, &gt_value_missing, point->environment.items));
    gt_task_plan_free(&plan);
    return is_read;
}
