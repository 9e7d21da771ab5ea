/* Reads the files of submissions, and merges them into sweep.json's points. An attempt has the key `task`,
 * "STAMP/<task>.<restart>", in sweep.json, so that it is added only once. */
#include "sweep/tasks.h"
#include "os/paths.h"
#include "run/plan/context.h"

enum {
    LARGEST_LIST = 256 << 20,
    LARGEST_RESULT = 1 << 20,
    TASKS_MAX = 1000000,
};

/* ---- files ---- */

static const gt_value *read_json(gt_arena *arena, const char *path, size_t most)
{
    gt_buffer text = {0};
    gt_error error;
    const gt_value *json = &gt_value_missing;
    if (gt_path_is_file(path) && gt_path_may_open(path) && gt_read_small_file(path, most, &text, &error))
        json = gt_value_parse(
            arena, (gt_str){gt_arena_bytes(arena, text.len ? text.bytes : "", text.len), text.len});
    gt_buffer_free(&text);
    return json->type == GT_VALUE_DICT ? json : &gt_value_missing;
}

/* A file of results/: one of an attempt, or the word of SLURM. */
typedef struct task_file {
    size_t task, restart; /* SIZE_MAX: of SLURM */
    const char *name;
} task_file;

GT_ORDER_BY(by_task, task_file, GT_UP(task) GT_UP(restart))

static bool read_name(const char *name, size_t tasks, task_file *file)
{
    unsigned long long task, restart = 0;
    int used = 0;
    bool of_slurm = sscanf(name, "%10llu.slurm.json%n", &task, &used) == 1 && used && !name[used];
    used = 0;
    if (!of_slurm &&
        (sscanf(name, "%10llu.%10llu.json%n", &task, &restart, &used) != 2 || !used || name[used]))
        return false;
    *file = (task_file){.task = (size_t)task, .restart = of_slurm ? SIZE_MAX : (size_t)restart, .name = name};
    return file->task < tasks;
}

/* ---- one attempt ---- */

static gt_value copied(gt_arena *arena, const char *text)
{
    return gt_settings_copy_string(arena, text);
}

static void copy_keys(gt_arena *arena, const gt_value **to, const gt_value *from, const char *const *keys,
                      size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const gt_value *value = gt_value_get(from, keys[i]);
        if (value->type != GT_VALUE_MISSING) *to = gt_settings_with(arena, *to, keys[i], *value);
    }
}

static bool has_status(const gt_value *json)
{
    return gt_value_get(json, "status")->type == GT_VALUE_STRING;
}

static gt_run_status status_of(gt_arena *arena, const gt_value *json)
{
    const char *name = gt_value_copy(arena, gt_value_get(json, "status"));
    gt_run_status status = name ? gt_run_status_named(name) : GT_RUN_UNKNOWN;
    return status == GT_RUN_UNKNOWN || status == GT_RUN_SKIPPED ? GT_RUN_INTERRUPTED : status;
}

/* An attempt as sweep.json has it. `end` is where status, exit code and end come from: the attempt itself, or
 * SLURM; MISSING: SLURM started the task again, so this attempt was killed. */
static gt_value make_attempt(gt_arena *arena, const gt_submission *s, const task_file *file,
                             const gt_value *begin, const gt_value *end)
{
    static const char *const of_end[] = {"status",     "exit_code",    "end",         "state",
                                         "duration_s", "output_files", "output_bytes"};
    static const char *const of_begin[] = {"start", "job", "node"};
    const gt_value *attempt = &gt_value_missing;
    attempt =
        gt_settings_with(arena, attempt, "status", gt_value_cstr(gt_run_status_names[GT_RUN_INTERRUPTED]));
    attempt = gt_settings_with(arena, attempt, "exit_code", gt_value_none);
    attempt = gt_settings_with(arena, attempt, "start", gt_value_none);
    copy_keys(arena, &attempt, begin, of_begin, 1);
    attempt = gt_settings_with(arena, attempt, "end", gt_value_none);
    copy_keys(arena, &attempt, end, of_end, GT_LENGTH(of_end));
    copy_keys(arena, &attempt, begin, of_begin + 1, GT_LENGTH(of_begin) - 1);
    attempt = gt_settings_with(
        arena, attempt, "task",
        copied(arena, gt_arena_format(arena, "%s/%zu.%zu", s->stamp, file->task, file->restart)));
    return *attempt;
}

static void add_attempt(gt_arena *arena, const gt_submission *s, gt_task *task, const task_file *file,
                        const gt_value *begin, const gt_value *end)
{
    task->attempts = gt_settings_push(arena, task->attempts, make_attempt(arena, s, file, begin, end));
}

/* Reads the files of one task, which follow each other in the sorted list. */
static void read_task(gt_arena *arena, gt_submission *s, const task_file *files, size_t count)
{
    gt_task *task = &s->tasks[files[0].task];
    const gt_value *of_slurm = &gt_value_missing;
    size_t attempts = count;
    if (files[count - 1].restart == SIZE_MAX) {
        attempts--;
        of_slurm = read_json(arena, gt_arena_format(arena, "%s/results/%s", s->folder, files[count - 1].name),
                             LARGEST_RESULT);
    }
    for (size_t i = 0; i < attempts; i++) {
        const gt_value *json = read_json(
            arena, gt_arena_format(arena, "%s/results/%s", s->folder, files[i].name), LARGEST_RESULT);
        bool is_last = i + 1 == attempts, ended = has_status(json);
        const gt_value *end = ended ? json : is_last ? of_slurm : &gt_value_missing;
        task->is_begun = true;
        task->restart = files[i].restart;
        task->job = gt_value_copy(arena, gt_value_get(json, "job"));
        if (is_last && !has_status(end)) return; /* it runs */
        add_attempt(arena, s, task, &files[i], json, end);
        task->is_ended = is_last;
        task->status = has_status(end) ? status_of(arena, end) : GT_RUN_INTERRUPTED;
        task->duration_s = gt_settings_int(end, "duration_s", 0);
    }
    if (attempts || !has_status(of_slurm)) return;
    task->is_ended = true; /* it was cancelled before it started, or its script failed */
    task->status = status_of(arena, of_slurm);
    task_file first = {.task = files[0].task};
    if (task->status != GT_RUN_PENDING) add_attempt(arena, s, task, &first, &gt_value_missing, of_slurm);
}

/* ---- submissions ---- */

static bool read_tasks(gt_arena *arena, gt_submission *s)
{
    const gt_value *tasks = gt_value_get(s->json, "tasks");
    if (!gt_value_is_list(tasks) || !tasks->count || tasks->count > TASKS_MAX) return false;
    s->count = tasks->count;
    s->tasks = gt_arena_alloc(arena, s->count * sizeof *s->tasks);
    for (size_t i = 0; i < s->count; i++) {
        const char *place = gt_value_copy(arena, gt_value_get(&tasks->items[i], "place"));
        s->tasks[i] =
            (gt_task){.place = place ? place : "", .json = &tasks->items[i], .attempts = &gt_value_missing};
    }
    return true;
}

static void read_results(gt_arena *arena, gt_submission *s)
{
    char *folder = gt_format("%s/results", s->folder);
    gt_folder_list names = gt_list_folder(folder);
    task_file *files = gt_alloc((names.count + 1) * sizeof *files);
    size_t count = 0;
    for (size_t i = 0; i < names.count; i++) count += read_name(names.items[i], s->count, &files[count]);
    qsort(files, count, sizeof *files, by_task);
    for (size_t i = 0, next; i < count; i = next) {
        for (next = i + 1; next < count && files[next].task == files[i].task;) next++;
        read_task(arena, s, &files[i], next - i);
    }
    gt_free(files);
    gt_folder_list_free(&names);
    gt_free(folder);
}

gt_submission *gt_submission_read(gt_arena *arena, const char *root, const char *stamp)
{
    gt_submission *s = gt_arena_alloc(arena, sizeof *s);
    *s = (gt_submission){.stamp = gt_arena_bytes(arena, stamp, strlen(stamp)),
                         .folder = gt_arena_format(arena, "%s/" GT_SWEEP_SLURM "/%s", root, stamp)};
    const char *path = gt_arena_format(arena, "%s/tasks.json", s->folder);
    if (!gt_path_is_file(path)) return NULL; /* killed before it was written: nothing was submitted */
    s->json = read_json(arena, path, LARGEST_LIST);
    s->name = gt_value_copy(arena, gt_value_get(s->json, "name"));
    int64_t size = gt_settings_int(s->json, "array_size", 0);
    s->array_size = size > 0 ? (size_t)size : 1;
    if (!s->name || !read_tasks(arena, s)) {
        gt_warn("%s is damaged and not used", path);
        return NULL;
    }
    s->jobs = gt_value_get(
        read_json(arena, gt_arena_format(arena, "%s/jobs.json", s->folder), LARGEST_RESULT), "jobs");
    read_results(arena, s);
    return s;
}

size_t gt_submissions_read(gt_arena *arena, const char *root, gt_submission **submissions)
{
    char *folder = gt_format("%s/" GT_SWEEP_SLURM, root);
    gt_folder_list names = gt_list_folder(folder); /* sorted */
    size_t count = 0;
    *submissions = gt_arena_alloc(arena, (names.count + 1) * sizeof **submissions);
    for (size_t i = 0; i < names.count; i++) {
        const gt_submission *s = gt_submission_read(arena, root, names.items[i]);
        if (s) (*submissions)[count++] = *s;
    }
    gt_folder_list_free(&names);
    gt_free(folder);
    return count;
}

/* ---- merging ---- */

/* The place of the attempt with this task in the list; its count: there is none. */
static size_t find_attempt(const gt_value *attempts, const gt_value *task)
{
    for (size_t i = 0; i < attempts->count; i++) {
        const gt_value *other = gt_value_get(&attempts->items[i], "task");
        if (other->type == GT_VALUE_STRING && other->text.len == task->text.len &&
            memcmp(other->text.bytes, task->text.bytes, task->text.len) == 0)
            return i;
    }
    return attempts->count;
}

/* The point with the outcome of its last attempt. */
static const gt_value *with_outcome(gt_arena *arena, const gt_value *point, const gt_value *attempt)
{
    static const char *const keys[] = {"status", "exit_code", "start", "end"}, *const outputs[] = {
                                                                                   "output_files",
                                                                                   "output_bytes"};
    copy_keys(arena, &point, attempt, keys, GT_LENGTH(keys));
    copy_keys(arena, &point, attempt, outputs, GT_LENGTH(outputs));
    return point;
}

static bool is_of_slurm(const gt_value *attempt)
{
    return gt_value_get(attempt, "state")->type == GT_VALUE_STRING;
}

/* Adds an attempt. One that SLURM ended is replaced if the task has written its own result since: on a
 * network file system it may have appeared late. */
static const gt_value *with_attempt(gt_arena *arena, const gt_value *point, const gt_value *attempt)
{
    const gt_value *found = gt_value_get(point, "attempts"),
                   *attempts = gt_value_is_list(found) ? found : &gt_value_missing;
    size_t at = find_attempt(attempts, gt_value_get(attempt, "task"));
    if (at == attempts->count) {
        attempts = gt_settings_push(arena, attempts, *attempt);
        point = with_outcome(arena, point, attempt);
    } else if (is_of_slurm(&attempts->items[at]) && !is_of_slurm(attempt)) {
        gt_value *items = gt_arena_alloc(arena, attempts->count * sizeof *items);
        memcpy(items, attempts->items, attempts->count * sizeof *items);
        items[at] = *attempt;
        gt_value *list = gt_arena_alloc(arena, sizeof *list);
        *list = *attempts;
        list->items = items;
        bool is_last = at + 1 == attempts->count,
             is_begun =
                 gt_value_equals_cstr(gt_value_get(point, "status"), gt_run_status_names[GT_RUN_PENDING]);
        attempts = list;
        if (is_last && !is_begun) point = with_outcome(arena, point, attempt);
    } else {
        return point;
    }
    return gt_settings_with(arena, point, "attempts", *attempts);
}

typedef struct point_place {
    const char *place;
    size_t item;
} point_place;

static int by_place(const void *a, const void *b)
{
    const point_place *x = a, *y = b;
    int order = strcmp(x->place, y->place);
    return order ? order : (x->item > y->item) - (x->item < y->item);
}

/* The last point with this place; SIZE_MAX: none. */
static size_t find_point(const point_place *places, size_t count, const char *place)
{
    size_t low;
    GT_BISECT(low, 0, count, strcmp(places[low].place, place) <= 0);
    return low && strcmp(places[low - 1].place, place) == 0 ? places[low - 1].item : SIZE_MAX;
}

/* The list of points with what the tasks say. */
static gt_value merge_points(gt_arena *arena, const gt_value *points, const char *const *folders,
                             const gt_submission *submissions, size_t count)
{
    gt_value *items = gt_arena_alloc(arena, (points->count + 1) * sizeof *items), list = *points;
    point_place *places = gt_arena_alloc(arena, (points->count + 1) * sizeof *places);
    size_t known = 0;
    memcpy(items, points->items, points->count * sizeof *items);
    for (size_t i = 0; i < points->count; i++)
        if (folders[i]) places[known++] = (point_place){folders[i], i};
    qsort(places, known, sizeof *places, by_place);
    for (size_t i = 0; i < count; i++)
        for (size_t t = 0; t < submissions[i].count; t++) {
            const gt_task *task = &submissions[i].tasks[t];
            size_t item = find_point(places, known, task->place);
            for (size_t k = 0; item != SIZE_MAX && k < task->attempts->count; k++)
                items[item] = *with_attempt(arena, &items[item], &task->attempts->items[k]);
        }
    list.items = items;
    return list;
}

/* The sessions with the machines of the tasks, one per node and submission. */
static const gt_value *merge_sessions(gt_arena *arena, const gt_value *sessions,
                                      const gt_submission *submission)
{
    char *folder = gt_format("%s/nodes", submission->folder);
    gt_folder_list names = gt_list_folder(folder);
    for (size_t i = 0; i < names.count; i++) {
        const gt_value *node = read_json(
            arena, gt_arena_format(arena, "%s/nodes/%s", submission->folder, names.items[i]), LARGEST_RESULT);
        const gt_value *task = gt_value_get(node, "task");
        if (task->type == GT_VALUE_STRING && find_attempt(sessions, task) == sessions->count)
            sessions = gt_settings_push(arena, sessions, *node);
    }
    gt_folder_list_free(&names);
    gt_free(folder);
    return sessions;
}

const gt_value *gt_tasks_merge(gt_arena *arena, const char *root, const gt_value *record,
                               const char *const *places)
{
    gt_submission *submissions;
    size_t count = gt_submissions_read(arena, root, &submissions);
    if (!count) return record;
    record =
        gt_settings_with(arena, record, "points",
                         merge_points(arena, gt_value_get(record, "points"), places, submissions, count));
    const gt_value *before = gt_value_get(record, "sessions"),
                   *sessions = gt_value_is_list(before) ? before : &gt_value_missing;
    for (size_t i = 0; i < count; i++) sessions = merge_sessions(arena, sessions, &submissions[i]);
    return sessions->count ? gt_settings_with(arena, record, "sessions", *sessions) : record;
}
