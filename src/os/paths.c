/* Paths as strings, and the few questions to the file system that go with them. */
#include "os/paths.h"
#include "base/guard.h"
#include "os/own.h"
#include <fcntl.h>

const char *gt_path_join(gt_arena *arena, const char *folder, const char *name)
{
    if (name[0] == '/') return gt_arena_bytes(arena, name, strlen(name));
    size_t len = strlen(folder);
    return gt_arena_format(arena, "%s%s%s", folder, len && folder[len - 1] == '/' ? "" : "/", name);
}

const char *gt_path_absolute(gt_arena *arena, const char *folder, const char *path)
{
    const char *at = gt_path_join(arena, folder, path);
    char *out = gt_arena_alloc(arena, strlen(at) + 2);
    size_t len = 0;
    while (*at) {
        at += strspn(at, "/");
        size_t part = strcspn(at, "/");
        if (part == 2 && at[0] == '.' && at[1] == '.') {
            while (len && out[--len] != '/') {
            }
        } else if (part && !(part == 1 && at[0] == '.')) {
            out[len++] = '/';
            memcpy(out + len, at, part);
            len += part;
        }
        at += part;
    }
    if (!len) out[len++] = '/';
    out[len] = 0;
    return out;
}

const char *gt_path_current(gt_arena *arena)
{
    char *path = getcwd(NULL, 0);
    const char *kept = gt_arena_bytes(arena, path ? path : "/", path ? strlen(path) : 1);
    gt_free(path);
    return kept;
}

const char *gt_path_program(gt_arena *arena)
{
    char path[PATH_MAX];
    ssize_t len = readlink("/proc/self/exe", path, sizeof path);
    return len > 0 && (size_t)len < sizeof path ? gt_arena_bytes(arena, path, (size_t)len) : NULL;
}

char *gt_path_in(const char *folder, const char *name)
{
    size_t len = strlen(folder);
    return gt_format("%s%s%s", folder, len && folder[len - 1] == '/' ? "" : "/", name);
}

char *gt_path_trim(const char *path)
{
    size_t len = strlen(path);
    while (len > 1 && path[len - 1] == '/') len--;
    return gt_format("%.*s", (int)len, path);
}

char *gt_path_last_name(const char *path)
{
    char *trimmed = gt_path_trim(path);
    char *name = gt_strdup(strcmp(trimmed, "/") == 0 ? trimmed : gt_path_name(trimmed));
    gt_free(trimmed);
    return name;
}

const char *gt_path_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

size_t gt_path_folder_len(const char *path)
{
    return (size_t)(gt_path_name(path) - path);
}

char *gt_path_folder(const char *path)
{
    size_t len = gt_path_folder_len(path);
    if (!len) return gt_strdup(".");
    return gt_format("%.*s", len > 1 ? (int)len - 1 : 1, path);
}

char *gt_path_sibling(const char *path, const char *name)
{
    return gt_format("%.*s%s", (int)gt_path_folder_len(path), path, name);
}

char *gt_path_replace_extension(const char *path, const char *extension)
{
    const char *name = gt_path_name(path), *point = strrchr(name, '.');
    size_t len = point && point > name ? (size_t)(point - path) : strlen(path);
    return gt_format("%.*s%s", (int)len, path, extension);
}

bool gt_path_is_named(const char *path, const char *name)
{
    size_t len = strlen(path), name_len = strlen(name);
    while (len && path[len - 1] == '/') len--;
    return len >= name_len && memcmp(path + len - name_len, name, name_len) == 0 &&
           (len == name_len || path[len - name_len - 1] == '/');
}

static bool is_program(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && S_ISREG(status.st_mode) && access(path, X_OK) == 0;
}

const char *gt_path_search(gt_arena *arena, const char *program, const char *folders)
{
    if (strchr(program, '/'))
        return is_program(program) ? gt_arena_bytes(arena, program, strlen(program)) : NULL;
    while (folders && *folders) {
        size_t len = strcspn(folders, ":");
        const char *folder = len ? gt_arena_bytes(arena, folders, len) : ".";
        const char *path = gt_path_join(arena, folder, program);
        if (is_program(path)) return path;
        folders += len + (folders[len] == ':');
    }
    return NULL;
}

void gt_path_share(const char *path)
{
    struct stat above, made;
    char *folder = gt_path_folder(path);
    int descriptor = -1;
    if (stat(folder, &above) == 0 && gt_own_is_shared(&above))
        descriptor = gt_open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    gt_free(folder);
    if (descriptor < 0) return;
    bool is_shared = fstat(descriptor, &made) == 0 && made.st_gid == above.st_gid &&
                     made.st_uid == geteuid() && (made.st_mode & (S_IRGRP | S_IWGRP)) == S_IRGRP &&
                     (S_ISREG(made.st_mode) || S_ISDIR(made.st_mode));
    if (is_shared) (void)!fchmod(descriptor, (made.st_mode & 07777) | S_IWGRP); /* as good as it can be */
    close(descriptor);
}

bool gt_path_make_folder(const char *path, gt_error *error)
{
    bool ok = gt_own_is_path(path) || gt_fail(error, "%s: goes through a link of another user", path);
    char *part = gt_strdup(path);
    for (char *at = part + 1; ok; at++) {
        if (*at && *at != '/') continue;
        char was = *at;
        *at = 0;
        struct stat status;
        if (mkdir(part, 0777) == 0)
            gt_path_share(part);
        else if (!(errno == EEXIST && stat(part, &status) == 0 && S_ISDIR(status.st_mode)))
            ok = gt_fail(error, "cannot create folder %s: %s", part, strerror(errno));
        *at = was;
        if (!was) break;
    }
    gt_free(part);
    return ok;
}

const char *gt_path_temporary_folder(void)
{
    const char *chosen = getenv("TMPDIR");
    if (chosen && *chosen) return chosen;
    return access("/var/tmp", W_OK | X_OK) == 0 ? "/var/tmp" : "/tmp";
}

bool gt_path_is_folder(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

bool gt_path_is_file(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && !S_ISDIR(status.st_mode);
}

bool gt_path_is_regular(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && S_ISREG(status.st_mode);
}

static bool is_special(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && !S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode);
}

bool gt_path_may_open(const char *path)
{
    struct stat status;
    if (!is_special(path) || stat(path, &status) != 0) return true; /* opening a missing one tells why */
    gt_warn_once("%s: skipped, because it is a %s and not a file", path,
                 S_ISFIFO(status.st_mode)   ? "FIFO"
                 : S_ISSOCK(status.st_mode) ? "socket"
                                            : "device");
    return false;
}

uint64_t gt_path_bytes(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 ? (uint64_t)status.st_size : 0;
}

bool gt_path_is_same_file(const char *a, const char *b)
{
    struct stat first, second;
    return a && b && stat(a, &first) == 0 && stat(b, &second) == 0 && first.st_dev == second.st_dev &&
           first.st_ino == second.st_ino;
}

/* Read block by block, so that a file that never ends is noticed. */
bool gt_read_small_file(const char *path, size_t most, gt_buffer *text, gt_error *error)
{
    FILE *file = gt_fopen(path, "rbe");
    if (!file) return gt_fail(error, "%s: %s", path, strerror(errno));
    gt_guard_add(gt_close_file, file);
    size_t before = text->len, got;
    errno = 0;
    while (text->len - before <= most && (got = fread(gt_buffer_reserve(text, 4096), 1, 4096, file)) > 0)
        text->len += got;
    bool ok = !ferror(file);
    if (!ok)
        gt_fail(error, "%s: %s", path, strerror(errno));
    else if (text->len - before > most)
        ok = gt_fail(error, "%s: larger than %zu bytes", path, most);
    gt_guard_remove(file);
    fclose(file);
    return ok;
}

DIR *gt_open_folder(const char *folder)
{
    DIR *dir = gt_opendir(folder);
    if (!dir && errno != ENOENT && errno != ENOTDIR)
        gt_warn_once("%s: this folder is left out, because it cannot be read: %s", folder, strerror(errno));
    return dir;
}

/* Most entries are known to be files or folders from the folder itself. Names without an ending are not those
 * of traces and reports, and not worth a warning. */
static bool may_list(const char *folder, const struct dirent *entry)
{
    if (entry->d_name[0] == '.') return false;
    if (entry->d_type == DT_REG || entry->d_type == DT_DIR) return true;
    char *path = gt_path_in(folder, entry->d_name);
    bool may = strchr(entry->d_name, '.') ? gt_path_may_open(path) : !is_special(path);
    gt_free(path);
    return may;
}

gt_folder_list gt_list_folder(const char *folder)
{
    gt_folder_list names = {0};
    DIR *dir = gt_opendir(folder);
    for (struct dirent *entry; dir && (entry = readdir(dir));)
        if (may_list(folder, entry))
            GT_PUSH(names.items, names.count, names.capacity, gt_strdup(entry->d_name));
    if (dir) closedir(dir);
    if (names.count) qsort(names.items, names.count, sizeof *names.items, gt_by_cstr);
    return names;
}

void gt_folder_list_free(gt_folder_list *names)
{
    for (size_t i = 0; i < names->count; i++) gt_free(names->items[i]);
    gt_free(names->items);
    *names = (gt_folder_list){0};
}
