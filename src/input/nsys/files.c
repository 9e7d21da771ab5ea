/* Files of Nsight Systems: reports, which only nsys can read, and the exports of a folder. */
#include "input/nsys/nsys.h"

#include "os/own.h"
#include "os/paths.h"
#include "os/shell_words.h"

static const char magic[] = "NVIDIA Tegra Profiler Report ";

/* ---- reports ---- */

bool gt_nsys_is_report(gt_str first_bytes)
{
    return gt_str_starts_with(first_bytes, magic);
}

/* "2025.1.3" of "... Report 2025@1@3@140-251335620677v0"; empty if there is no such number. */
static void add_version(gt_buffer *version, gt_str first_bytes)
{
    enum { PARTS = 3, DIGITS_MAX = 24 };
    int parts = 0;
    for (size_t i = strlen(magic); i < first_bytes.len && version->len < DIGITS_MAX; i++) {
        char c = first_bytes.bytes[i];
        bool is_digit = c >= '0' && c <= '9';
        if (!is_digit && (c != '@' || ++parts == PARTS)) return;
        gt_buffer_add(version, is_digit ? &c : ".", 1);
    }
}

static char *export_next_to(const char *path)
{
    const char *name = gt_path_name(path), *dot = strrchr(name, '.');
    size_t len = dot && dot > name ? (size_t)(dot - path) : strlen(path);
    char *sibling = gt_format("%.*s.sqlite", (int)len, path);
    if (gt_path_may_open(sibling) && gt_database_kind_of(sibling) == GT_DATABASE_NSYS) return sibling;
    gt_free(sibling);
    return NULL;
}

bool gt_nsys_fail_report(const char *path, gt_str first_bytes, gt_error *error)
{
    gt_buffer version = {0}, command = {0};
    char *export = gt_format("%s.sqlite", path), *sibling = export_next_to(path);
    add_version(&version, first_bytes);
    gt_shell_quote(&command, export);
    gt_buffer_add_cstr(&command, " ");
    gt_shell_quote(&command, path);
    gt_fail(
        error,
        "%s: this is an Nsight Systems report%s%s%s, which only nsys can read; export it with: nsys export "
        "--type sqlite -o %s%s%s%s",
        path, version.len ? " (written by nsys " : "", gt_buffer_str(&version).bytes, version.len ? ")" : "",
        gt_buffer_str(&command).bytes, sibling ? "; " : "", sibling ? gt_path_name(sibling) : "",
        sibling ? " next to it can be read as it is" : "");
    gt_buffer_free(&version);
    gt_buffer_free(&command);
    gt_free_all(export, sibling);
    return false;
}

/* ---- folders ---- */

enum { DEPTH_MAX = 4, FILES_MAX = 100000 };

static bool is_export(const char *path)
{
    return gt_path_may_open(path) && gt_database_kind_of(path) == GT_DATABASE_NSYS;
}

static void note_report(gt_nsys_files *files, const char *path)
{
    if (files->report && strcmp(files->report, path) <= 0) return;
    char *sibling = export_next_to(path);
    if (!sibling) {
        gt_free(files->report);
        files->report = gt_strdup(path);
    }
    gt_free(sibling);
}

static void search(gt_nsys_files *files, const char *folder, int depth, size_t *seen)
{
    DIR *dir = gt_opendir(folder);
    for (struct dirent *entry; dir && (entry = readdir(dir)) && *seen < FILES_MAX;) {
        if (entry->d_name[0] == '.') continue;
        char *path = gt_path_in(folder, entry->d_name);
        struct stat status;
        bool is_link = lstat(path, &status) == 0 && S_ISLNK(status.st_mode);
        (*seen)++;
        if (gt_has_ending(entry->d_name, ".sqlite") && is_export(path)) {
            GT_PUSH(files->paths, files->count, files->capacity, path);
            continue;
        }
        if (gt_has_ending(entry->d_name, ".nsys-rep") || gt_has_ending(entry->d_name, ".qdrep"))
            note_report(files, path);
        if (depth < DEPTH_MAX && !is_link && gt_path_is_folder(path)) search(files, path, depth + 1, seen);
        gt_free(path);
    }
    if (dir) closedir(dir);
}

void gt_nsys_files_find(gt_nsys_files *files, const char *folder)
{
    size_t seen = 0;
    *files = (gt_nsys_files){0};
    search(files, folder, 0, &seen);
    if (files->count) qsort(files->paths, files->count, sizeof *files->paths, gt_by_cstr);
}

void gt_nsys_files_free(gt_nsys_files *files)
{
    for (size_t i = 0; i < files->count; i++) gt_free(files->paths[i]);
    gt_free_all(files->paths, files->report);
    *files = (gt_nsys_files){0};
}

bool gt_nsys_is_folder(const char *folder)
{
    gt_nsys_files files;
    gt_nsys_files_find(&files, folder);
    bool is = files.count > 0;
    gt_nsys_files_free(&files);
    return is;
}

bool gt_nsys_fail_folder(const char *folder, gt_error *error)
{
    gt_nsys_files files;
    const uint8_t *text;
    size_t len;
    gt_error ignored;
    gt_nsys_files_find(&files, folder);
    gt_stream *stream = files.report && !files.count ? gt_stream_open(files.report, &ignored) : NULL;
    bool is_report = stream && gt_stream_peek(stream, &text, &len, &ignored) &&
                     gt_nsys_is_report((gt_str){(const char *)text, len});
    if (is_report) gt_nsys_fail_report(files.report, (gt_str){(const char *)text, len}, error);
    gt_stream_close(stream);
    gt_nsys_files_free(&files);
    return is_report;
}
