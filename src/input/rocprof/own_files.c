/* The list of files in a folder that `gputally run` made from the profiler's own: links, merged and converted
 * files. They repeat what the originals say, so a reader that finds both must skip them.
 *
 * The list is a file next to them, ".gputally_files", with one line "SIZE NAME" per file. A listed file that
 * has another size was written by somebody else since then. */
#include "input/rocprof/rocprof.h"
#include "os/paths.h"

enum { LIST_MAX_BYTES = 1 << 26 };

void gt_own_files_set(gt_own_files *list, const char *name, int64_t bytes)
{
    if (strchr(name, '\n')) return; /* cannot be a line */
    if (!list->names) list->names = gt_interner_new();
    uint32_t id = gt_interner_add_cstr(list->names, name);
    if (id >= list->capacity) {
        size_t capacity = ((size_t)id + 1) * 2;
        list->bytes = gt_realloc(list->bytes, capacity * sizeof *list->bytes);
        for (size_t i = list->capacity; i < capacity; i++) list->bytes[i] = -1;
        list->capacity = capacity;
    }
    list->bytes[id] = bytes;
}

bool gt_own_files_has(const gt_own_files *list, const char *name, int64_t bytes)
{
    if (!list->names) return false;
    uint32_t id = gt_interner_find(list->names, name, strlen(name));
    return id != GT_STR_NONE && id < list->capacity && list->bytes[id] == bytes;
}

bool gt_own_files_read(gt_own_files *list, const char *folder)
{
    *list = (gt_own_files){0};
    char *path = gt_format("%s/%s", folder, GT_OWN_FILES_NAME);
    gt_buffer text = {0};
    gt_error ignored;
    bool found = gt_path_is_file(path) && gt_path_may_open(path) &&
                 gt_read_small_file(path, LIST_MAX_BYTES, &text, &ignored);
    gt_str all = gt_buffer_str(&text);
    for (char *line = (char *)all.bytes, *next; found && line && *line; line = next) {
        next = strchr(line, '\n');
        if (next) *next++ = 0;
        char *name;
        long long bytes = strtoll(line, &name, 10);
        if (name != line && *name == ' ' && name[1]) gt_own_files_set(list, name + 1, bytes);
    }
    gt_buffer_free(&text);
    gt_free(path);
    return found;
}

void gt_own_files_print(const gt_own_files *list, gt_buffer *text)
{
    for (uint32_t id = 0; list->names && id < gt_interner_count(list->names) && id < list->capacity; id++)
        if (list->bytes[id] >= 0)
            gt_buffer_add_format(text, "%" PRId64 " %s\n", list->bytes[id],
                                 gt_interner_get(list->names, id).bytes);
}

void gt_own_files_free(gt_own_files *list)
{
    if (list->names) gt_interner_free(list->names);
    gt_free(list->bytes);
    *list = (gt_own_files){0};
}
