/* Finds the settings of a sweep: those that sweep.json names, then those whose folders have the names that
 * `sweep run` gives them. A walk goes only into folders with such names, so a folder with other things is not
 * searched. */
#include "sweep/layout.h"
#include "os/paths.h"
#include "sweep/record.h"

enum { AXES_MAX = 32, VISITED_MAX = 100000, NAMES_SHOWN = 8 };

/* ---- adding settings ---- */

static const char *intern(gt_sweep *sweep, const char *bytes, size_t len)
{
    return gt_interner_get(sweep->strings, gt_interner_add(sweep->strings, bytes, len)).bytes;
}

static size_t find_axis(const gt_sweep *sweep, const char *interned)
{
    for (size_t i = 0; i < sweep->axis_count; i++)
        if (sweep->axes[i].name == interned) return i;
    return SIZE_MAX;
}

/* The index of an axis, which is added if it is new; SIZE_MAX if there are too many. */
static size_t axis_of(gt_sweep *sweep, const char *interned)
{
    size_t found = find_axis(sweep, interned);
    if (found != SIZE_MAX || sweep->axis_count == AXES_MAX) return found;
    sweep->axes[sweep->axis_count] = (gt_sweep_dimension){.name = interned};
    return sweep->axis_count++;
}

/* Sets the value of an axis; settings have room for AXES_MAX of them until the sweep is finished. */
static void set_value(gt_sweep *sweep, gt_sweep_config *config, const char *axis, size_t axis_len,
                      const char *value, size_t value_len)
{
    size_t index = axis_of(sweep, intern(sweep, axis, axis_len));
    if (index != SIZE_MAX) config->values[index].value = intern(sweep, value, value_len);
}

/* The length of NAME in "NAME_value"; an axis of sweep.json or of other settings counts first. */
static size_t axis_name_len(const gt_sweep *sweep, const char *folder)
{
    size_t longest = 0;
    for (size_t i = 0; i < sweep->axis_count; i++) {
        size_t len = strlen(sweep->axes[i].name);
        bool fits = strncmp(folder, sweep->axes[i].name, len) == 0 && folder[len] == '_' && folder[len + 1];
        if (fits && len > longest) longest = len;
    }
    return longest ? longest : gt_folder_axis(folder);
}

/* The axis that the folder is for. */
static void take_folder(gt_sweep *sweep, gt_sweep_config *config, const char *folder)
{
    size_t len, threads = gt_folder_threads(folder);
    const char *channels = gt_folder_digits(folder, "nccl_", "channels", &len);
    if (threads != SIZE_MAX) {
        set_value(sweep, config, "threads", 7, folder, threads);
    } else if (channels) {
        set_value(sweep, config, "channels", 8, channels, len);
    } else if ((len = axis_name_len(sweep, folder))) {
        set_value(sweep, config, folder, len, folder + len + 1, strlen(folder + len + 1));
    }
}

/* Goes through the folders of the place: names of the setting and of its reports, and, without a record, its
 * axes. */
static void take_place(gt_sweep *sweep, gt_sweep_config *config, bool take_axes)
{
    gt_buffer name = {0};
    for (const char *at = config->place; *at;) {
        size_t len = strcspn(at, "/");
        char *folder = gt_arena_bytes(&sweep->arena, at, len);
        at += len;
        while (*at == '/') at++;
        int64_t repeat;
        bool repeats = gt_folder_repeat(folder, &repeat), is_last = !*at;
        if (repeats && take_axes) config->repeat = repeat;
        const char *called = gt_folder_short_name(&sweep->arena, folder);
        if (is_last) config->report_name = called;
        if (repeats) continue;
        if (take_axes) take_folder(sweep, config, folder);
        if (name.len) gt_buffer_add_cstr(&name, "_");
        gt_buffer_add_cstr(&name, called);
    }
    const char *slash = strrchr(config->place, '/');
    config->report_folder =
        slash ? gt_arena_bytes(&sweep->arena, config->place, (size_t)(slash - config->place)) : ".";
    config->setting = gt_arena_bytes(&sweep->arena, name.bytes ? name.bytes : "", name.len);
    gt_buffer_free(&name);
}

/* What sweep.json says about the run. */
static bool take_point(gt_sweep *sweep, gt_sweep_config *config, const gt_value *point)
{
    const gt_value *values = gt_value_get(point, "values"), *repeat = gt_value_get(point, "repeat"),
                   *code = gt_value_get(point, "exit_code");
    if (values->type != GT_VALUE_DICT) return false;
    for (size_t i = 0; i + 1 < values->count; i += 2) {
        gt_arena *arena = &sweep->arena;
        const char *axis = gt_value_copy(arena, &values->items[i]),
                   *value = gt_value_copy(arena, &values->items[i + 1]);
        if (axis && value) set_value(sweep, config, axis, strlen(axis), value, strlen(value));
    }
    if (repeat->type == GT_VALUE_INT && repeat->integer > 0) config->repeat = repeat->integer;
    if (code->type == GT_VALUE_INT && code->integer >= 0 && code->integer <= INT16_MAX)
        config->exit_code = (int)code->integer;
    const char *command = gt_value_copy(&sweep->arena, gt_value_get(point, "command"));
    if (command) config->command = intern(sweep, command, strlen(command));
    config->status = gt_run_status_named(gt_value_copy(&sweep->arena, gt_value_get(point, "status")));
    return true;
}

size_t gt_sweep_add(gt_sweep *sweep, const char *root, const char *place)
{
    uint32_t *known = gt_map_put(&sweep->places, (uintptr_t)intern(sweep, place, strlen(place)), 0);
    if (*known != GT_MAP_NONE) return *known;
    *known = (uint32_t)sweep->added;
    gt_sweep_config config = {.repeat = 1, .status = GT_RUN_UNKNOWN, .added = sweep->added++};
    config.values = gt_arena_alloc(&sweep->arena, AXES_MAX * sizeof *config.values);
    for (size_t i = 0; i < AXES_MAX; i++) config.values[i] = (gt_sweep_value){.place = SIZE_MAX};
    config.folder = gt_arena_format(&sweep->arena, "%s/%s", root, place);
    config.place = gt_arena_bytes(&sweep->arena, place, strlen(place));
    const gt_value *point = gt_sweep_record_point(sweep->record, place);
    take_place(sweep, &config, !take_point(sweep, &config, point));
    config.name = config.repeat == 1 ? config.setting
                                     : gt_arena_format(&sweep->arena, "%s_repeat_%lld", config.setting,
                                                       (long long)config.repeat);
    GT_PUSH(sweep->configs, sweep->count, sweep->capacity, config);
    return config.added;
}

/* ---- axes of sweep.json ---- */

/* The values of an axis in the order of the grid, before those that settings have in addition. */
static void take_recorded_axis(gt_sweep *sweep, const gt_value *axis)
{
    const char *name = gt_value_copy(&sweep->arena, gt_value_get(axis, "name"));
    const gt_value *values = gt_value_get(axis, "values");
    size_t index = name ? axis_of(sweep, intern(sweep, name, strlen(name))) : SIZE_MAX;
    if (index == SIZE_MAX || !gt_value_is_list(values)) return;
    gt_sweep_dimension *dimension = &sweep->axes[index];
    dimension->values =
        gt_arena_alloc(&sweep->arena, ((size_t)values->count + 1) * sizeof *dimension->values);
    dimension->value_count = 0;
    for (size_t i = 0; i < values->count; i++) {
        const char *value = gt_value_copy(&sweep->arena, &values->items[i]);
        if (value) dimension->values[dimension->value_count++] = intern(sweep, value, strlen(value));
    }
}

void gt_sweep_begin(gt_sweep *sweep, const char *root)
{
    *sweep = (gt_sweep){.strings = gt_interner_new(), .record = gt_sweep_record_read(root)};
    sweep->axes = gt_arena_alloc(&sweep->arena, AXES_MAX * sizeof *sweep->axes);
    const gt_value *axes = sweep->record ? gt_value_get(sweep->record->json, "axes") : &gt_value_missing;
    for (size_t i = 0; gt_value_is_list(axes) && i < axes->count; i++)
        take_recorded_axis(sweep, &axes->items[i]);
}

/* ---- values of axes ---- */

static bool is_number(const char *text)
{
    char *end;
    double number = strtod(text, &end);
    return !text[strspn(text, "0123456789+-.eE")] && end > text && !*end && isfinite(number);
}

/* Whether a table shows a number as it is written, so that it stays the same value: 8 and 0.5 do, but 008,
 * 1.00, 1e3 and integers beyond 2^53 do not. An integer may also be shown with ".0", next to fractions. */
static bool is_shown_as_written(const char *text, bool *is_whole)
{
    char shown[GT_NUMBER_MAX];
    double number = strtod(text, NULL);
    size_t len = gt_print_double(shown, number), text_len = strlen(text);
    *is_whole = fabs(number) <= 0x1p53 && len == text_len + 2 && memcmp(shown, text, text_len) == 0 &&
                memcmp(shown + text_len, ".0", 2) == 0 && strcmp(text, "-0") != 0;
    return *is_whole || (len == text_len && memcmp(shown, text, len) == 0 && !strpbrk(text, "eE"));
}

static int by_number(const void *a, const void *b)
{
    const char *x = *(const char *const *)a, *y = *(const char *const *)b;
    double left = strtod(x, NULL), right = strtod(y, NULL);
    return left < right ? -1 : left > right ? 1 : strcmp(x, y);
}

/* Lists the values that settings have: first those of the grid that occur, then the others. */
static void list_values(gt_sweep *sweep, size_t axis)
{
    gt_sweep_dimension *dimension = &sweep->axes[axis];
    size_t listed = dimension->value_count;
    const char **all = gt_arena_alloc(&sweep->arena, (listed + sweep->count + 1) * sizeof *all);
    gt_map known = {0}; /* value, by its address, to whether settings have it */
    for (size_t i = 0; i < sweep->count; i++)
        if (sweep->configs[i].values[axis].value)
            *gt_map_put(&known, (uintptr_t)sweep->configs[i].values[axis].value, 0) = 1;
    size_t count = 0;
    for (size_t i = 0; i < listed + sweep->count; i++) {
        const char *value = i < listed ? dimension->values[i] : sweep->configs[i - listed].values[axis].value;
        if (!value || gt_map_get(&known, (uintptr_t)value, 0) != 1) continue;
        all[count++] = value;
        *gt_map_put(&known, (uintptr_t)value, 0) = 0;
    }
    gt_map_free(&known);
    dimension->values = all;
    dimension->value_count = count;
    bool are_numbers = count > 0;
    for (size_t i = 0; i < count; i++) are_numbers = are_numbers && is_number(all[i]);
    if (are_numbers) qsort(all, count, sizeof *all, by_number);
    dimension->is_numeric = dimension->is_whole = are_numbers;
    for (size_t i = 0; i < count && dimension->is_numeric; i++) {
        bool is_whole;
        dimension->is_numeric =
            is_shown_as_written(all[i], &is_whole) && (!i || strtod(all[i - 1], NULL) < strtod(all[i], NULL));
        dimension->is_whole = is_whole && dimension->is_numeric && dimension->is_whole;
    }
}

static void place_values(gt_sweep *sweep, size_t axis)
{
    const gt_sweep_dimension *dimension = &sweep->axes[axis];
    gt_map places = {0};
    for (size_t i = 0; i < dimension->value_count; i++)
        *gt_map_put(&places, (uintptr_t)dimension->values[i], 0) = (uint32_t)i;
    for (size_t i = 0; i < sweep->count; i++) {
        gt_sweep_value *value = &sweep->configs[i].values[axis];
        value->axis = dimension->name;
        value->place = value->value ? gt_map_get(&places, (uintptr_t)value->value, 0) : SIZE_MAX;
    }
    gt_map_free(&places);
}

/* Removes axes of sweep.json that no setting has. */
static void drop_unused_axes(gt_sweep *sweep)
{
    size_t kept = 0;
    for (size_t axis = 0; axis < sweep->axis_count; axis++) {
        if (!sweep->axes[axis].value_count) continue;
        for (size_t i = 0; i < sweep->count; i++)
            sweep->configs[i].values[kept] = sweep->configs[i].values[axis];
        sweep->axes[kept++] = sweep->axes[axis];
    }
    sweep->axis_count = kept;
}

/* Names that columns of the sweep's tables have. */
static const char *column_of(gt_sweep *sweep, const char *axis)
{
    static const char *const used[] = {"rank",
                                       "repeat",
                                       "status",
                                       "channel",
                                       "full_config",
                                       "threads_num",
                                       "thread_config",
                                       "num_ranks",
                                       "channels_num",
                                       "channel_config",
                                       "type",
                                       "percent",
                                       "kernel_name",
                                       "time_diff_us",
                                       "dtype",
                                       "operation_id",
                                       "operation_name",
                                       "source_file",
                                       "source",
                                       "count",
                                       "Count",
                                       "setting",
                                       "metric",
                                       "kernel_time_min_us",
                                       "kernel_time_max_us",
                                       "longest_kernel_name",
                                       "Kernel_Name"};
    for (size_t i = 0; i < GT_LENGTH(used); i++)
        if (strcmp(used[i], axis) == 0) return gt_arena_format(&sweep->arena, "axis_%s", axis);
    return axis;
}

/* ---- order ---- */

static int by_values(const void *a, const void *b, void *axis_count)
{
    const gt_sweep_config *x = a, *y = b;
    for (size_t i = 0; i < *(const size_t *)axis_count; i++)
        if (x->values[i].place != y->values[i].place) return x->values[i].place < y->values[i].place ? -1 : 1;
    if (x->repeat != y->repeat) return x->repeat < y->repeat ? -1 : 1;
    return strcmp(x->place, y->place);
}

/* The order of the scripts: folders of threads by their names, channels by number. */
static int by_classic_order(const void *a, const void *b)
{
    const gt_sweep_config *x = a, *y = b;
    int order = strcmp(x->report_folder, y->report_folder);
    if (order) return order;
    double left = strtod(x->values[1].value, NULL), right = strtod(y->values[1].value, NULL);
    return left < right ? -1 : left > right ? 1 : strcmp(x->values[1].value, y->values[1].value);
}

/* Whether all runs are in folders <T>thread/nccl_<C>channels. */
static bool is_classic(const gt_sweep *sweep)
{
    bool classic = sweep->axis_count == 2 && strcmp(sweep->axes[0].name, "threads") == 0 &&
                   strcmp(sweep->axes[1].name, "channels") == 0 && sweep->repeats == 1;
    for (size_t i = 0; i < sweep->count && classic; i++) {
        const gt_sweep_config *config = &sweep->configs[i];
        const char *slash = strchr(config->place, '/');
        size_t len;
        classic = config->values[0].value && config->values[1].value && slash &&
                  gt_folder_threads(config->report_folder) != SIZE_MAX &&
                  gt_folder_digits(slash + 1, "nccl_", "channels", &len);
    }
    return classic;
}

static void count_runs(gt_sweep *sweep)
{
    sweep->repeats = 1;
    sweep->failed = 0;
    for (size_t i = 0; i < sweep->count; i++) {
        if (sweep->configs[i].repeat > sweep->repeats) sweep->repeats = sweep->configs[i].repeat;
        sweep->failed += gt_run_has_failed(sweep->configs[i].status);
    }
}

void gt_sweep_finish(gt_sweep *sweep)
{
    for (size_t axis = 0; axis < sweep->axis_count; axis++) {
        list_values(sweep, axis);
        place_values(sweep, axis);
    }
    drop_unused_axes(sweep);
    for (size_t axis = 0; axis < sweep->axis_count; axis++)
        sweep->axes[axis].column = column_of(sweep, sweep->axes[axis].name);
    count_runs(sweep);
    sweep->is_classic = is_classic(sweep);
    if (sweep->count && sweep->is_classic)
        qsort(sweep->configs, sweep->count, sizeof *sweep->configs, by_classic_order);
    else if (sweep->count)
        qsort_r(sweep->configs, sweep->count, sizeof *sweep->configs, by_values, &sweep->axis_count);
}

/* ---- finding folders ---- */

static bool is_below(const char *folder, const char *name)
{
    char *path = gt_format("%s/%s", folder, name);
    bool found = gt_path_is_folder(path) || gt_path_is_file(path);
    gt_free(path);
    return found;
}

/* Whether a program was run here. The folder of channels is the innermost one, also if nothing is in it. */
static bool is_run(const char *folder, const char *name)
{
    size_t len;
    return gt_folder_digits(name, "nccl_", "channels", &len) || is_below(folder, "torch_profiler") ||
           is_below(folder, "rocprof_traces") || is_below(folder, "run_output.log");
}

/* What a walk has found. */
typedef struct walk {
    gt_sweep *sweep;
    const char *root;
    bool any_threads;
    size_t visited; /* folders; links may lead back */
} walk;

/* Below a run, only repeats of it are searched, and next to folders of threads no other axes. */
static bool is_wanted(const char *name, bool below_run, bool beside_threads)
{
    int64_t repeat;
    if (gt_folder_repeat(name, &repeat)) return true;
    if (below_run) return false;
    return beside_threads ? gt_folder_threads(name) != SIZE_MAX : gt_folder_is_axis(name);
}

static void search(walk *w, const char *place, bool below_run, const gt_folder_chain *above)
{
    if (w->visited++ > VISITED_MAX) return;
    char *folder = *place ? gt_format("%s/%s", w->root, place) : gt_strdup(w->root);
    gt_folder_chain here;
    gt_folder_list names = {0};
    if (gt_folder_enter(&here, above, folder)) names = gt_list_folder(folder);
    bool beside_threads = false;
    for (size_t i = 0; i < names.count; i++)
        if (gt_folder_threads(names.items[i]) != SIZE_MAX && is_below(folder, names.items[i]))
            beside_threads = true;
    w->any_threads |= beside_threads;
    for (size_t i = 0; i < names.count; i++) {
        const char *name = names.items[i];
        char *path = gt_format("%s/%s", folder, name);
        char *inner = *place ? gt_format("%s/%s", place, name) : gt_strdup(name);
        if (is_wanted(name, below_run, beside_threads) && gt_path_is_folder(path)) {
            bool known = gt_sweep_record_point(w->sweep->record, inner)->type != GT_VALUE_MISSING;
            bool is_here = known || is_run(path, name);
            if (is_here && !known) gt_sweep_add(w->sweep, w->root, inner);
            search(w, inner, is_here, &here);
        } else if (gt_folder_is_odd_channels(name) && is_run(path, name)) {
            gt_warn("Skip %s - not nccl_<number>channels", path);
        }
        gt_free_all(path, inner);
    }
    gt_folder_list_free(&names);
    gt_free(folder);
}

/* A run that has not begun has no folder. One that ended well had one: returns whether one has none. */
static bool add_recorded(gt_sweep *sweep, const char *root)
{
    gt_buffer gone = {0};
    size_t gone_count = 0;
    for (size_t i = 0; sweep->record && i < sweep->record->count; i++) {
        const gt_recorded_point *point = &sweep->record->points[i];
        if (gt_sweep_record_point(sweep->record, point->place) != point->json)
            continue; /* named again later */
        if (is_below(root, point->place)) {
            gt_sweep_add(sweep, root, point->place);
        } else if (gt_value_equals_cstr(gt_value_get(point->json, "status"),
                                        gt_run_status_names[GT_RUN_SUCCESS])) {
            if (gone_count++ < NAMES_SHOWN) gt_buffer_add_format(&gone, ", %.200s", point->place);
        }
    }
    if (gone_count)
        gt_warn("%zu of %zu runs in sweep.json ended well, but their folders are gone: %s%s", gone_count,
                sweep->record->count, gt_buffer_str(&gone).bytes + 2,
                gone_count > NAMES_SHOWN ? ", ..." : "");
    gt_buffer_free(&gone);
    return gone_count > 0;
}

/* The nearest folder above this one that has a sweep.json; NULL: none. */
static const char *sweep_above(gt_arena *arena, const char *folder)
{
    char whole[PATH_MAX];
    if (!realpath(folder, whole)) return NULL;
    for (char *slash; (slash = strrchr(whole, '/')) && slash > whole;) {
        *slash = 0;
        if (is_below(whole, GT_SWEEP_RECORD)) return gt_arena_bytes(arena, whole, strlen(whole));
    }
    return NULL;
}

/* Says what is missing in a folder without runs. */
static bool fail_without_runs(gt_sweep *sweep, const char *root, bool any_gone, bool any_threads,
                              gt_error *error)
{
    if (sweep->record)
        return gt_fail(error, "no run of the sweep %s %s", root, any_gone ? "is left" : "has begun");
    const char *above = sweep_above(&sweep->arena, root);
    if (above) return gt_fail(error, "%s has no runs of its own; it is part of the sweep %s", root, above);
    if (any_threads)
        return gt_fail(error, "no nccl_*channels directories below the *thread directories in %s", root);
    return gt_fail(error,
                   "no runs of a sweep in %s: no sweep.json, no *thread directories, and no folders "
                   "NAME_value with torch_profiler, rocprof_traces or run_output.log",
                   root);
}

bool gt_sweep_open(gt_sweep *sweep, const char *root, gt_error *error)
{
    gt_sweep_begin(sweep, root);
    bool any_gone = add_recorded(sweep, root);
    walk w = {.sweep = sweep, .root = root};
    search(&w, "", false, NULL);
    gt_sweep_finish(sweep);
    return sweep->count || fail_without_runs(sweep, root, any_gone, w.any_threads, error);
}

void gt_sweep_free(gt_sweep *sweep)
{
    gt_free(sweep->configs);
    gt_map_free(&sweep->places);
    gt_sweep_record_free(sweep->record);
    if (sweep->strings) gt_interner_free(sweep->strings);
    gt_arena_free(&sweep->arena);
    *sweep = (gt_sweep){0};
}

/* ---- access ---- */

size_t gt_sweep_axis_named(const gt_sweep *sweep, const char *name)
{
    for (size_t i = 0; i < sweep->axis_count; i++)
        if (strcmp(sweep->axes[i].name, name) == 0) return i;
    return SIZE_MAX;
}

static char *report_path(const char *analysis, const gt_sweep_config *config, const char *name)
{
    return strcmp(config->report_folder, ".") == 0
               ? gt_format("%s/%s", analysis, name)
               : gt_format("%s/%s/%s", analysis, config->report_folder, name);
}

char *gt_sweep_rank_report(const char *analysis, const gt_sweep_config *config, int64_t rank)
{
    const char *between = *config->report_name ? "_" : "";
    char *name =
        gt_format("individual_reports/perf_%s%srank%lld.xlsx", config->report_name, between, (long long)rank);
    char *path = report_path(analysis, config, name);
    gt_free(name);
    return path;
}

char *gt_sweep_collective_report(const char *analysis, const gt_sweep_config *config)
{
    char *name = gt_format("collective_reports/collective_%s.xlsx",
                           *config->report_name ? config->report_name : "all_ranks");
    char *path = report_path(analysis, config, name);
    gt_free(name);
    return path;
}
