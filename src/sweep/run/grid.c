/* Parses axes from option values and enumerates the points of the grid. */
#include "sweep/run/run.h"

static const char WHOLE_NUMBERS[] = "0123456789";

/* ---- lists of values ---- */

static bool is_folder_name_part(const char *value)
{
    return *value && !strchr(value, '/') && strcmp(value, ".") != 0 && strcmp(value, "..") != 0;
}

static bool is_valid(const gt_sweep_axis *axis, const char *value, gt_error *error)
{
    bool numbers = strcmp(axis->name, "threads") == 0 || strcmp(axis->name, "channels") == 0;
    if (numbers && (!*value || value[strspn(value, WHOLE_NUMBERS)]))
        return gt_fail(error, "%s: '%.100s' is not an integer", axis->name, value);
    if (!is_folder_name_part(value))
        return gt_fail(error, "%s: '%.100s' cannot be part of a folder name", axis->name, value);
    for (size_t i = 0; i < axis->value_count; i++)
        if (strcmp(axis->values[i], value) == 0)
            return gt_fail(error, "%s: '%.100s' is given twice", axis->name, value);
    return true;
}

static bool set_values(gt_sweep_grid *grid, gt_sweep_axis *axis, const char *list, gt_error *error)
{
    size_t most = 1;
    for (const char *at = list; *at; at++) most += *at == ',';
    if (most > GT_AXIS_VALUES_MAX)
        return gt_fail(error, "%s: more than %d values", axis->name, GT_AXIS_VALUES_MAX);
    axis->values = gt_arena_alloc(&grid->arena, most * sizeof *axis->values);
    axis->value_count = 0;
    for (;; list++) {
        size_t len = strcspn(list, ",");
        const char *value = gt_arena_bytes(&grid->arena, list, len);
        if (!is_valid(axis, value, error)) return false;
        axis->values[axis->value_count++] = value;
        list += len;
        if (!*list) return true;
    }
}

/* ---- axes ---- */

static gt_sweep_axis *find_axis(gt_sweep_grid *grid, const char *name, size_t len)
{
    for (size_t i = 0; i < grid->axis_count; i++)
        if (strlen(grid->axes[i].name) == len && memcmp(grid->axes[i].name, name, len) == 0)
            return &grid->axes[i];
    return NULL;
}

/* Adds an axis outside threads and channels, after the other further axes. */
static gt_sweep_axis *insert_axis(gt_sweep_grid *grid, const char *name, size_t len)
{
    size_t at = gt_sweep_grid_further(grid);
    memmove(&grid->axes[at + 1], &grid->axes[at], (grid->axis_count - at) * sizeof *grid->axes);
    grid->axis_count++;
    char *folder = gt_format("%.*s_%%s", (int)len, name);
    grid->axes[at] = (gt_sweep_axis){.name = gt_arena_bytes(&grid->arena, name, len),
                                     .folder = gt_arena_bytes(&grid->arena, folder, strlen(folder))};
    gt_free(folder);
    return &grid->axes[at];
}

bool gt_sweep_grid_begin(gt_sweep_grid *grid, const char *threads, const char *channels, gt_error *error)
{
    static const gt_sweep_axis own[] = {
        {.name = "threads", .variable = "RCCL_THREADS_PER_BLOCK", .folder = "%sthread"},
        {.name = "channels", .variable = "NCCL_MAX_NCHANNELS", .folder = "nccl_%schannels"}};
    const char *const lists[] = {threads, channels};
    *grid = (gt_sweep_grid){0};
    for (size_t i = 0; i < GT_LENGTH(own); i++) {
        if (strcmp(lists[i], "none") == 0) continue;
        gt_sweep_axis *axis = &grid->axes[grid->axis_count++];
        *axis = own[i];
        if (!set_values(grid, axis, lists[i], error)) return false;
    }
    return true;
}

static bool is_own_axis(const gt_sweep_axis *axis)
{
    return strcmp(axis->name, "threads") == 0 || strcmp(axis->name, "channels") == 0;
}

size_t gt_sweep_grid_further(const gt_sweep_grid *grid)
{
    size_t count = 0;
    while (count < grid->axis_count && !is_own_axis(&grid->axes[count])) count++;
    return count;
}

size_t gt_sweep_grid_named_as(const gt_sweep_grid *grid, size_t k)
{
    return (k + gt_sweep_grid_further(grid)) % grid->axis_count;
}

void gt_sweep_grid_free(gt_sweep_grid *grid)
{
    gt_arena_free(&grid->arena);
    *grid = (gt_sweep_grid){0};
}

static bool is_name(const char *text, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if (!isalnum((unsigned char)text[i]) && text[i] != '_') return false;
    return len > 0;
}

/* Names of placeholders that cannot be names of an axis. */
static bool is_reserved(const char *name, size_t len)
{
    static const char *const reserved[] = {"output_dir", "profiler_dir", "config", "nproc", "repeat"};
    for (size_t i = 0; i < GT_LENGTH(reserved); i++)
        if (strlen(reserved[i]) == len && memcmp(reserved[i], name, len) == 0) return true;
    return false;
}

bool gt_sweep_grid_add_axis(gt_sweep_grid *grid, const char *text, gt_error *error)
{
    size_t len = strcspn(text, "=");
    if (!text[len] || !is_name(text, len)) return gt_fail(error, "'%.100s' is not NAME=value,value", text);
    if (is_reserved(text, len)) return gt_fail(error, "%.*s is a reserved name", (int)len, text);
    gt_sweep_axis *axis = find_axis(grid, text, len);
    if (axis && axis->is_given)
        return gt_fail(error, "%.*s is given twice", len < 100 ? (int)len : 100, text);
    if (!axis && grid->axis_count == GT_AXES_MAX) return gt_fail(error, "more than %d axes", GT_AXES_MAX);
    if (!axis) axis = insert_axis(grid, text, len);
    axis->is_given = true;
    return set_values(grid, axis, text + len + 1, error);
}

/* The axis of "NAME=...", and the text after the '='. */
static gt_sweep_axis *axis_of(gt_sweep_grid *grid, const char *text, const char **rest, gt_error *error)
{
    size_t len = strcspn(text, "=");
    gt_sweep_axis *axis = find_axis(grid, text, len);
    if (!text[len] || !text[len + 1])
        gt_fail(error, "'%.100s' is not NAME=value", text);
    else if (!axis)
        gt_fail(error, "no axis %.*s", len < 100 ? (int)len : 100, text);
    *rest = text + len + 1;
    return text[len] && text[len + 1] ? axis : NULL;
}

bool gt_sweep_grid_set_variable(gt_sweep_grid *grid, const char *text, gt_error *error)
{
    const char *variable;
    gt_sweep_axis *axis = axis_of(grid, text, &variable, error);
    if (!axis) return false;
    if (!is_name(variable, strlen(variable)))
        return gt_fail(error, "'%.100s' is not a valid variable name", variable);
    axis->variable = gt_arena_bytes(&grid->arena, variable, strlen(variable));
    return true;
}

bool gt_sweep_grid_set_folder(gt_sweep_grid *grid, const char *text, gt_error *error)
{
    const char *format;
    gt_sweep_axis *axis = axis_of(grid, text, &format, error);
    if (!axis) return false;
    const char *place = strstr(format, "%s");
    if (!place || strchr(format, '/') || strstr(place + 2, "%s"))
        return gt_fail(error, "'%.100s' must contain %%s exactly once and no '/'", format);
    axis->folder = gt_arena_bytes(&grid->arena, format, strlen(format));
    return true;
}

/* ---- points ---- */

size_t gt_sweep_grid_points(const gt_sweep_grid *grid)
{
    size_t points = 1;
    for (size_t i = 0; i < grid->axis_count; i++) {
        points *= grid->axes[i].value_count; /* at most GT_POINTS_MAX * GT_AXIS_VALUES_MAX */
        if (points > GT_POINTS_MAX) return 0;
    }
    return points;
}

const char *gt_sweep_grid_value(const gt_sweep_grid *grid, size_t point, size_t axis)
{
    for (size_t i = grid->axis_count - 1; i > axis; i--) point /= grid->axes[i].value_count;
    return grid->axes[axis].values[point % grid->axes[axis].value_count];
}

const char *gt_sweep_grid_named(const gt_sweep_grid *grid, size_t point, const char *name, size_t name_len)
{
    for (size_t i = 0; i < grid->axis_count; i++)
        if (strlen(grid->axes[i].name) == name_len && memcmp(grid->axes[i].name, name, name_len) == 0)
            return gt_sweep_grid_value(grid, point, i);
    return NULL;
}

char *gt_sweep_grid_folder(const gt_sweep_grid *grid, size_t point, const char *root)
{
    gt_buffer path = {0};
    gt_buffer_add_cstr(&path, root);
    for (size_t i = 0; i < grid->axis_count; i++) {
        const char *format = grid->axes[i].folder, *place = strstr(format, "%s");
        if (path.len && path.bytes[path.len - 1] != '/') gt_buffer_add_cstr(&path, "/");
        gt_buffer_add(&path, format, (size_t)(place - format));
        gt_buffer_add_cstr(&path, gt_sweep_grid_value(grid, point, i));
        gt_buffer_add_cstr(&path, place + 2);
    }
    return gt_buffer_take(&path);
}
