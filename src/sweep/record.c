/* Reads sweep.json into a tree and finds its points by their folders. */
#include "sweep/record.h"
#include "os/paths.h"
#include "sweep/folder_names.h"
#include "sweep/tasks.h"

enum { LARGEST_RECORD = 256 << 20 };

/* Whether a path stays below the folder in which it begins. */
static bool stays_below(const char *path)
{
    for (const char *part = path; *part;) {
        size_t len = strcspn(part, "/");
        if (len == 2 && part[0] == '.' && part[1] == '.') return false;
        part += len;
        while (*part == '/') part++;
    }
    return *path;
}

/* The point's folder without that of the sweep, which may have been moved since. */
static const char *place_of(gt_arena *arena, const char *sweep, const gt_value *point)
{
    const char *folder = gt_value_copy(arena, gt_value_get(point, "directory"));
    size_t len = strlen(sweep);
    if (!folder || strncmp(folder, sweep, len) != 0) return NULL;
    folder += len;
    if (len && sweep[len - 1] != '/' && *folder != '/') return NULL;
    while (*folder == '/') folder++;
    return stays_below(folder) ? folder : NULL;
}

static int by_place(const void *a, const void *b)
{
    const gt_recorded_point *x = a, *y = b;
    int order = strcmp(x->place, y->place);
    return order ? order : (x->json > y->json) - (x->json < y->json); /* items of one list */
}

static void find_points(gt_sweep_record *record)
{
    const gt_value *points = gt_value_get(record->json, "points");
    const char *sweep = gt_value_copy(&record->arena, gt_value_get(record->json, "sweep"));
    size_t most = gt_value_is_list(points) ? points->count : 0;
    record->points = gt_arena_alloc(&record->arena, (most + 1) * sizeof *record->points);
    record->sorted = gt_arena_alloc(&record->arena, (most + 1) * sizeof *record->sorted);
    for (size_t i = 0; i < most; i++) {
        const char *place = place_of(&record->arena, sweep ? sweep : "", &points->items[i]);
        if (place) record->points[record->count++] = (gt_recorded_point){place, &points->items[i]};
    }
    if (!record->count) return;
    memcpy(record->sorted, record->points, record->count * sizeof *record->sorted);
    qsort(record->sorted, record->count, sizeof *record->sorted, by_place);
    for (size_t i = 0; i < record->count; i++) {
        const gt_recorded_point *point = &record->sorted[i];
        bool is_last = i + 1 == record->count || strcmp(point->place, point[1].place) != 0;
        if (is_last) record->sorted[record->sorted_count++] = *point;
    }
}

/* Adds what tasks of SLURM have recorded since. */
static void add_tasks(gt_sweep_record *record, const char *root)
{
    const gt_value *points = gt_value_get(record->json, "points");
    if (!record->count) return;
    const char **places = gt_arena_alloc(&record->arena, points->count * sizeof *places);
    for (size_t i = 0; i < points->count; i++) places[i] = NULL;
    for (size_t i = 0; i < record->count; i++)
        places[record->points[i].json - points->items] = record->points[i].place;
    record->json = gt_tasks_merge(&record->arena, root, record->json, places);
    record->count = record->sorted_count = 0;
    find_points(record);
}

gt_sweep_record *gt_sweep_record_read(const char *root)
{
    char *path = gt_format("%s/" GT_SWEEP_RECORD, root);
    gt_sweep_record *record = NULL;
    gt_buffer text = {0};
    gt_error error;
    if (gt_path_is_file(path) && gt_path_may_open(path)) {
        record = gt_alloc_zero(1, sizeof *record);
        bool is_read = gt_read_small_file(path, LARGEST_RECORD, &text, &error);
        if (!is_read) gt_warn("%s: not used", error.text);
        const char *kept = gt_arena_bytes(&record->arena, text.bytes, text.len); /* values point into it */
        record->json = is_read ? gt_value_parse(&record->arena, (gt_str){kept, text.len}) : &gt_value_missing;
        if (is_read && record->json->type != GT_VALUE_DICT) gt_warn("%s is damaged and not used", path);
        if (record->json->type == GT_VALUE_DICT) {
            find_points(record);
            add_tasks(record, root);
        } else {
            gt_sweep_record_free(record);
            record = NULL;
        }
    }
    gt_buffer_free(&text);
    gt_free(path);
    return record;
}

void gt_sweep_record_free(gt_sweep_record *record)
{
    if (record) gt_arena_free(&record->arena);
    gt_free(record);
}

const gt_value *gt_sweep_record_point(const gt_sweep_record *record, const char *place)
{
    const gt_recorded_point wanted = {place, NULL};
    size_t low = 0, high = record ? record->sorted_count : 0;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = strcmp(record->sorted[middle].place, wanted.place);
        if (!order) return record->sorted[middle].json;
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return &gt_value_missing;
}
