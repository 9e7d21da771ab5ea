/* The traces of batch reports: one walk of the tree below the base, then a sort by folder and rank. */
#include "cli/inputs/inputs.h"

#include "os/paths.h"

/* ---- paths ---- */

/* Like Python's os.path.abspath: links are not resolved. */
static char *absolute(const char *path)
{
    gt_arena arena = {0};
    char *whole = gt_strdup(gt_path_absolute(&arena, gt_path_current(&arena), path));
    gt_arena_free(&arena);
    return whole;
}

static char *relative_to(const char *path, const char *base)
{
    size_t len = strlen(base);
    if (strncmp(path, base, len) != 0) return gt_strdup("");
    path += len;
    return gt_strdup(path + strspn(path, "/"));
}

/* ---- choosing files ---- */

static bool is_wanted(const char *path, const gt_batch_search *search)
{
    for (size_t i = 0; i < search->filter_count; i++)
        if (!strstr(path, search->filters[i])) return false;
    return gt_path_is_file(path);
}

/* A trace before it is assigned to its folder. */
typedef struct found_file {
    char *folder, *path;
    int64_t rank;
} found_file;

typedef struct found_files {
    found_file *items;
    size_t count, capacity;
} found_files;

static int by_folder_rank_and_path(const void *left, const void *right)
{
    const found_file *a = left, *b = right;
    int order = strcmp(a->folder, b->folder);
    if (!order) order = (a->rank > b->rank) - (a->rank < b->rank);
    return order ? order : strcmp(a->path, b->path);
}

static void free_found(found_files *found)
{
    for (size_t i = 0; i < found->count; i++) {
        gt_free_all(found->items[i].folder, found->items[i].path);
    }
    gt_free(found->items);
}

static bool find_files(const gt_batch_search *search, const gt_rank_regex *regex, found_files *out,
                       size_t *without_rank, gt_error *error)
{
    found_files found = {0};
    bool valid = true;
    char *pattern = gt_format("**/*.%s", search->extension);
    gt_path_list paths = gt_path_pattern_find_below(search->base, pattern);
    for (size_t i = 0; i < paths.count && valid; i++) {
        int64_t rank;
        if (!is_wanted(paths.items[i], search)) continue;
        valid = gt_rank_regex_find(regex, gt_path_name(paths.items[i]), &rank, error);
        *without_rank += rank < 0;
        if (rank < 0) continue;
        char *folder = gt_path_folder(paths.items[i]);
        found_file file = {absolute(folder), gt_strdup(paths.items[i]), rank};
        GT_PUSH(found.items, found.count, found.capacity, file);
        gt_free(folder);
    }
    gt_path_list_free(&paths);
    gt_free(pattern);
    if (found.count) qsort(found.items, found.count, sizeof *found.items, by_folder_rank_and_path);
    if (!valid) free_found(&found);
    *out = found;
    return valid;
}

/* ---- folders ---- */

/* The next `count` files, which are in one folder; takes ownership of their strings. */
static gt_batch_folder make_folder(found_file *files, size_t count, const char *base)
{
    gt_batch_folder folder = {
        .path = files[0].folder, .relative = relative_to(files[0].folder, base), .count = count};
    folder.files = gt_alloc(count * sizeof *folder.files);
    folder.ranks = gt_alloc(count * sizeof *folder.ranks);
    for (size_t i = 0; i < count; i++) {
        folder.files[i] = files[i].path;
        folder.ranks[i] = files[i].rank;
        if (i) gt_free(files[i].folder);
    }
    return folder;
}

bool gt_batch_files_find(gt_batch_files *files, const gt_batch_search *search, gt_error *error)
{
    *files = (gt_batch_files){0};
    gt_rank_regex regex;
    char *expression = gt_format("%s(?P<rank>[0-9]+)", search->rank_pattern);
    found_files found;
    bool valid = gt_rank_regex_compile(&regex, expression, "rank_pattern", error);
    if (valid) {
        valid = find_files(search, &regex, &found, &files->without_rank, error);
        gt_rank_regex_free(&regex);
    }
    gt_free(expression);
    if (!valid) return false;
    char *base = absolute(search->base);
    for (size_t first = 0, next; first < found.count; first = next) {
        for (next = first + 1; next < found.count; next++)
            if (strcmp(found.items[next].folder, found.items[first].folder) != 0) break;
        GT_PUSH(files->folders, files->count, files->capacity,
                make_folder(&found.items[first], next - first, base));
    }
    gt_free_all(base, found.items);
    return true;
}

void gt_batch_files_free(gt_batch_files *files)
{
    for (size_t i = 0; i < files->count; i++) {
        gt_batch_folder *folder = &files->folders[i];
        for (size_t f = 0; f < folder->count; f++) gt_free(folder->files[f]);
        gt_free_all(folder->files, folder->ranks, folder->path, folder->relative);
    }
    gt_free(files->folders);
    *files = (gt_batch_files){0};
}
