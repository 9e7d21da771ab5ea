/* Path patterns: matched part by part; a folder is read only if a part contains a wildcard. */
#include "cli/inputs/inputs.h"

#include "os/paths.h"

#include <fnmatch.h>

enum { DEPTH_MAX = 256 };

/* The folders that ** has descended into, so that a link to one of them is not followed forever. */
typedef struct folder {
    const struct folder *above;
    dev_t device;
    ino_t inode;
    unsigned depth;
} folder;

static bool has_wildcard(const char *name, size_t len)
{
    return memchr(name, '*', len) || memchr(name, '?', len) || memchr(name, '[', len);
}

static bool is_all(const char *pattern)
{
    return strncmp(pattern, "**", 2) == 0 && (pattern[2] == '/' || pattern[2] == 0);
}

static char *join(const char *folder_path, const char *name, size_t len)
{
    size_t folder_len = strlen(folder_path);
    bool slash = folder_len && folder_path[folder_len - 1] != '/';
    return gt_format("%s%s%.*s", folder_path, slash ? "/" : "", (int)len, name);
}

static void expand(gt_path_list *found, const char *path, const char *pattern);

/* Continues below a path, or records it at the end of the pattern. */
static void match_rest(gt_path_list *found, char *path, const char *rest)
{
    struct stat status;
    if (stat(path, &status) == 0) {
        if (!*rest) {
            GT_PUSH(found->items, found->count, found->capacity, path);
            return;
        }
        if (S_ISDIR(status.st_mode)) expand(found, path, rest);
    }
    gt_free(path);
}

static bool was_visited(const folder *above, const struct stat *status)
{
    for (; above; above = above->above)
        if (above->device == status->st_dev && above->inode == status->st_ino) return true;
    return false;
}

/* "**": here, and in every folder below. */
static void expand_all(gt_path_list *found, const char *path, const char *rest, const folder *above)
{
    struct stat status;
    const char *here = *path ? path : ".";
    if (stat(here, &status) != 0 || was_visited(above, &status)) return;
    folder now = {above, status.st_dev, status.st_ino, above ? above->depth + 1 : 0};
    if (*rest) expand(found, path, rest);
    DIR *names = now.depth < DEPTH_MAX ? gt_open_folder(here) : NULL;
    for (struct dirent *entry; names && (entry = readdir(names));) {
        if (entry->d_name[0] == '.') continue;
        char *below = join(path, entry->d_name, strlen(entry->d_name));
        struct stat kind;
        bool is_folder = stat(below, &kind) == 0 && S_ISDIR(kind.st_mode);
        if (is_folder) expand_all(found, below, rest, &now);
        if (!*rest && !is_folder && gt_path_may_open(below))
            GT_PUSH(found->items, found->count, found->capacity, below);
        else
            gt_free(below);
    }
    if (names) closedir(names);
}

static void expand_wildcard(gt_path_list *found, const char *path, const char *name, size_t len,
                            const char *rest)
{
    char *wanted = gt_format("%.*s", (int)len, name);
    DIR *names = gt_open_folder(*path ? path : ".");
    for (struct dirent *entry; names && (entry = readdir(names));) {
        if (entry->d_name[0] == '.' && wanted[0] != '.') continue;
        if (fnmatch(wanted, entry->d_name, FNM_NOESCAPE) != 0) continue;
        char *matched = join(path, entry->d_name, strlen(entry->d_name));
        if (gt_path_may_open(matched))
            match_rest(found, matched, rest);
        else
            gt_free(matched);
    }
    if (names) closedir(names);
    gt_free(wanted);
}

static void expand(gt_path_list *found, const char *path, const char *pattern)
{
    size_t len = strcspn(pattern, "/");
    const char *rest = pattern + len + strspn(pattern + len, "/");
    if (is_all(pattern)) {
        while (is_all(rest)) rest += 2 + strspn(rest + 2, "/"); /* already visited */
        expand_all(found, path, rest, NULL);
    } else if (has_wildcard(pattern, len))
        expand_wildcard(found, path, pattern, len, rest);
    else
        match_rest(found, join(path, pattern, len), rest);
}

/* Sorts, and removes duplicates. */
static void sort_unique(gt_path_list *found)
{
    if (found->count) qsort(found->items, found->count, sizeof *found->items, gt_by_cstr);
    size_t kept = 0;
    for (size_t i = 0; i < found->count; i++) {
        if (kept && strcmp(found->items[kept - 1], found->items[i]) == 0)
            gt_free(found->items[i]);
        else
            found->items[kept++] = found->items[i];
    }
    found->count = kept;
}

gt_path_list gt_path_pattern_find(const char *pattern)
{
    gt_path_list found = {0};
    size_t slashes = strspn(pattern, "/");
    if (pattern[slashes]) expand(&found, slashes ? "/" : "", pattern + slashes);
    sort_unique(&found);
    return found;
}

gt_path_list gt_path_pattern_find_below(const char *folder_path, const char *pattern)
{
    gt_path_list found = {0};
    expand(&found, folder_path, pattern);
    sort_unique(&found);
    return found;
}

void gt_path_list_free(gt_path_list *paths)
{
    for (size_t i = 0; i < paths->count; i++) gt_free(paths->items[i]);
    gt_free(paths->items);
    *paths = (gt_path_list){0};
}
