/* Walks a tree a few levels deep, and makes links and merged files. */
#include "run/execute/collect_files.h"
#include "base/log.h"
#include "base/buffer.h"
#include "input/rocprof/files.h"
#include "output/file.h"
#include "os/paths.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { DEPTH_MAX = 6, FILES_MAX = 100000 };

/* ---- finding ---- */

static void add_file(gt_arena *arena, gt_found_files *files, gt_found_file file)
{
    if (files->count == files->capacity) {
        size_t capacity = files->capacity ? files->capacity * 2 : 64;
        gt_found_file *items = gt_arena_alloc(arena, capacity * sizeof *items);
        if (files->count) memcpy(items, files->items, files->count * sizeof *items);
        files->items = items;
        files->capacity = capacity;
    }
    file.name = gt_path_name(file.path);
    size_t prefix = gt_rocprof_prefix_length(file.name);
    file.kind = file.name + prefix + (file.name[prefix] == '_');
    /* "123" or "rocprofv3_output_123" */
    size_t digits = prefix;
    while (digits && isdigit((unsigned char)file.name[digits - 1])) digits--;
    if (digits < prefix && (digits == 0 || file.name[digits - 1] == '_'))
        file.pid = strtoll(file.name + digits, NULL, 10);
    files->items[files->count++] = file;
}

static void walk(gt_arena *arena, gt_found_files *files, const char *folder, gt_found_file above, int depth)
{
    DIR *dir = opendir(folder);
    struct dirent *entry;
    while (dir && (entry = readdir(dir)) && files->count < FILES_MAX) {
        struct stat status;
        const char *path = gt_path_join(arena, folder, entry->d_name);
        if (entry->d_name[0] == '.' || lstat(path, &status) != 0) continue;
        gt_found_file file = above;
        file.path = path;
        file.bytes = (int64_t)status.st_size;
        file.at_top = depth == 0;
        if (S_ISDIR(status.st_mode) && depth < DEPTH_MAX && strcmp(entry->d_name, "counters") != 0) {
            if (!file.pass && (file.pass = gt_rocprof_pass_of(path))) file.pass_folder = gt_path_name(path);
            walk(arena, files, path, file, depth + 1);
        } else if (S_ISREG(status.st_mode)) {
            add_file(arena, files, file);
        }
    }
    if (dir) closedir(dir);
}

static int by_pass(const void *a, const void *b)
{
    const gt_found_file *x = a, *y = b;
    if (x->pass != y->pass) return x->pass < y->pass ? -1 : 1;
    if (x->pid != y->pid) return x->pid < y->pid ? -1 : 1;
    return strcmp(x->path, y->path);
}

gt_found_files gt_found_files_list(gt_arena *arena, const char *folder)
{
    gt_found_files files = {0};
    walk(arena, &files, folder, (gt_found_file){0}, 0);
    if (files.count) qsort(files.items, files.count, sizeof *files.items, by_pass);
    return files;
}

/* ---- links ---- */

bool gt_link_file(const char *from, const char *to, gt_error *error)
{
    if (gt_path_is_same_file(from, to)) return true;
    if (unlink(to) != 0 && errno != ENOENT) return gt_fail_writing(error, to, errno);
    return link(from, to) == 0 || symlink(from, to) == 0 || gt_fail_writing(error, to, errno);
}

/* ---- merging ---- */

typedef struct merge {
    gt_file out;
    char *header;
    size_t header_len;
} merge;

static void add_rows(merge *m, const char *path)
{
    FILE *in = fopen(path, "rbe");
    char *line = NULL;
    size_t room = 0;
    ssize_t len = in ? getline(&line, &room, in) : -1;
    bool alike = len > 0 &&
                 (!m->header || ((size_t)len == m->header_len && memcmp(line, m->header, (size_t)len) == 0));
    if (len > 0 && !alike)
        gt_warn("%s: its columns are others than those of the files before: it is left out", path);
    if (alike && !m->header) {
        m->header = gt_alloc((size_t)len);
        memcpy(m->header, line, (size_t)len);
        m->header_len = (size_t)len;
        gt_file_write(&m->out, line, (size_t)len);
    }
    static char block[1 << 16];
    size_t got;
    char last = '\n';
    while (alike && (got = fread(block, 1, sizeof block, in)) > 0) {
        gt_file_write(&m->out, block, got);
        last = block[got - 1];
    }
    if (last != '\n') gt_file_put(&m->out, '\n');
    gt_free(line);
    if (in) fclose(in);
}

bool gt_csv_merge(const char *const *paths, size_t count, const char *to, gt_error *error)
{
    gt_output *output = gt_output_new();
    merge m = {0};
    bool sound = gt_file_open(&m.out, output, to, error);
    for (size_t i = 0; sound && i < count; i++) add_rows(&m, paths[i]);
    sound = sound && gt_file_close(&m.out, error) && gt_output_commit(output, error);
    gt_output_free(output);
    gt_free(m.header);
    return sound;
}
