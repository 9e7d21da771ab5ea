/* Writes the old names into a folder, and removes them.
 *
 * What is in the way decides first, for all names, so that a refusal changes nothing. Ours are: links to a
 * program whose name begins with "gputally", wherever it is or was, or to the one that a wrapper of ours in
 * the same folder starts, and files with the mark of `gputally links`. What is as it should be is left alone,
 * so that a second call changes nothing. What is replaced is moved to the folder of originals, under the same
 * path, from where removing moves it back. */
#include "cli/links/links.h"
#include "os/own.h"
#include "os/paths.h"
#include "output/file.h"

#include <fcntl.h>

enum {
    MARK_WITHIN = 512,   /* bytes of a file that contain the mark */
    NAMED_MAX = 5,       /* files that an error names */
    EQUAL_MAX = 1 << 20, /* bytes of files that are compared */
};

typedef enum obstacle { NOTHING, SAME, OURS, FOREIGN, FOLDER } obstacle;

typedef struct old_file {
    gt_old_name name;
    char *path, *original; /* original: where a file in the way is kept */
    gt_buffer text;        /* what a file should contain; empty for links */
    obstacle found;
    bool has_original, is_moved; /* is_moved: by this call */
} old_file;

typedef struct old_files {
    old_file *items;
    size_t count;
} old_files;

static bool is_script(const old_file *file)
{
    return file->name.kind == GT_OLD_PYTHON || file->name.kind == GT_OLD_SHELL;
}

/* ---- what is there ---- */

/* Whether the text of a Python wrapper says that it starts the program. */
static bool starts_program(gt_str wrapper, const char *program)
{
    gt_buffer literal = {0};
    gt_python_bytes(&literal, program);
    gt_str wanted = gt_buffer_str(&literal);
    bool found = wrapper.len && memmem(wrapper.bytes, wrapper.len, wanted.bytes, wanted.len);
    gt_buffer_free(&literal);
    return found;
}

/* `wrapper`: the text of a wrapper of ours in the same folder, or nothing. */
static obstacle find_link(const char *path, const char *program, gt_str wrapper)
{
    char target[4096];
    ssize_t len = readlink(path, target, sizeof target - 1);
    if (len < 0) return FOREIGN; /* not a link */
    target[len] = 0;
    if (program && strcmp(target, program) == 0) return SAME;
    bool ours = strncmp(gt_path_name(target), "gputally", strlen("gputally")) == 0;
    return ours || starts_program(wrapper, target) ? OURS : FOREIGN;
}

static obstacle find_text(const char *path, gt_str text)
{
    gt_buffer there = {0};
    gt_error ignored;
    obstacle found = FOREIGN;
    if (gt_read_small_file(path, 1 << 16, &there, &ignored)) {
        gt_str bytes = gt_buffer_str(&there);
        size_t begin = bytes.len < MARK_WITHIN ? bytes.len : MARK_WITHIN;
        if (text.len && bytes.len == text.len && memcmp(bytes.bytes, text.bytes, text.len) == 0)
            found = SAME;
        else if (memmem(bytes.bytes, begin, GT_LINKS_MARK, strlen(GT_LINKS_MARK)))
            found = OURS;
    }
    gt_buffer_free(&there);
    return found;
}

/* `program` NULL: for removing, which does not ask what a file of ours should contain. */
static obstacle look(old_file *file, const char *program, gt_str wrapper)
{
    struct stat status;
    if (lstat(file->path, &status) != 0) return NOTHING;
    if (S_ISDIR(status.st_mode)) return FOLDER;
    if (file->name.kind == GT_OLD_LINK) return find_link(file->path, program, wrapper);
    if (!S_ISREG(status.st_mode)) return FOREIGN;
    obstacle found = find_text(file->path, gt_buffer_str(&file->text));
    bool can_run = (status.st_mode & S_IXUSR) || !is_script(file);
    return found == SAME && !can_run ? OURS : found;
}

/* Reads a Python wrapper of ours, if there is one. */
static void read_wrapper(const old_files *files, gt_buffer *text)
{
    gt_error ignored;
    for (size_t i = 0; i < files->count && !text->len; i++) {
        const old_file *file = &files->items[i];
        if (file->name.kind == GT_OLD_PYTHON && (file->found == OURS || file->found == SAME) &&
            !gt_read_small_file(file->path, 1 << 16, text, &ignored))
            text->len = 0;
    }
}

static old_files list_files(const char *folder, const char *program)
{
    gt_buffer wrapper = {0};
    old_files files = {.count = gt_old_name_count()};
    files.items = gt_alloc_zero(files.count, sizeof *files.items);
    for (size_t i = 0; i < files.count; i++) {
        old_file *file = &files.items[i];
        file->name = gt_old_name_at(i);
        file->path = gt_format("%s/%s", folder, file->name.path);
        file->original = gt_format("%s/" GT_LINKS_ORIGINALS "/%s", folder, file->name.path);
        struct stat status;
        file->has_original = lstat(file->original, &status) == 0;
        if (program) gt_old_name_text(&file->text, &file->name, program);
        if (file->name.kind != GT_OLD_LINK) file->found = look(file, program, (gt_str){0});
    }
    read_wrapper(&files, &wrapper);
    for (size_t i = 0; i < files.count; i++)
        if (files.items[i].name.kind == GT_OLD_LINK)
            files.items[i].found = look(&files.items[i], program, gt_buffer_str(&wrapper));
    gt_buffer_free(&wrapper);
    return files;
}

static void free_files(old_files *files)
{
    for (size_t i = 0; i < files->count; i++) {
        gt_free_all(files->items[i].path, files->items[i].original);
        gt_buffer_free(&files->items[i].text);
    }
    gt_free(files->items);
}

/* ---- writing ---- */

/* Names what is in the way: the first few, and how many more there are. */
static bool may_write(const old_files *files, const char *folder, bool force, gt_error *error)
{
    gt_buffer list = {0};
    const char *only = NULL;
    size_t count = 0, folders = 0;
    for (size_t i = 0; i < files->count; i++) {
        const old_file *file = &files->items[i];
        if (file->found != FOLDER && (file->found != FOREIGN || force)) continue;
        folders += file->found == FOLDER;
        only = file->path;
        if (count++ < NAMED_MAX)
            gt_buffer_add_format(&list, "%s%s%s", list.len ? ", " : "", file->name.path,
                                 file->found == FOLDER ? " (a folder)" : "");
    }
    if (count > NAMED_MAX) gt_buffer_add_format(&list, " and %zu more", count - NAMED_MAX);
    if (count == 1 && folders)
        gt_fail(error, "%s: a folder is in the way", only);
    else if (count == 1)
        gt_fail(error, "%s: not written by gputally links; --force sets it aside, and --remove puts it back",
                only);
    else if (count)
        gt_fail(error, "%s: %zu old names are in the way, not written by gputally links: %s%s", folder, count,
                gt_buffer_str(&list).bytes,
                !folders           ? "; --force sets them aside, and --remove puts them back"
                : folders == count ? ""
                                   : "; --force sets files aside, but no folders");
    gt_buffer_free(&list);
    return !count;
}

/* Whether both are files with the same bytes. */
static bool is_equal(const char *path, const char *other)
{
    gt_buffer a = {0}, b = {0};
    gt_error ignored;
    struct stat status;
    if (lstat(path, &status) != 0 || !S_ISREG(status.st_mode)) return false;
    bool equal = gt_read_small_file(path, EQUAL_MAX, &a, &ignored) &&
                 gt_read_small_file(other, EQUAL_MAX, &b, &ignored) && a.len == b.len &&
                 (!a.len || memcmp(gt_buffer_str(&a).bytes, gt_buffer_str(&b).bytes, a.len) == 0);
    gt_buffer_free(&a);
    gt_buffer_free(&b);
    return equal;
}

static bool move_file(const char *from, const char *to, gt_error *error)
{
    char *folder = gt_path_folder(to);
    bool moved =
        gt_path_make_folder(folder, error) &&
        (rename(from, to) == 0 || gt_fail(error, "cannot move %s to %s: %s", from, to, strerror(errno)));
    gt_free(folder);
    return moved;
}

/* Moves what is in the way to the originals. One that is already there is not lost, unless it is the same. */
static bool keep_originals(const old_files *files, gt_error *error)
{
    for (size_t i = 0; i < files->count; i++) {
        old_file *file = &files->items[i];
        if (file->found != FOREIGN) continue;
        if (file->has_original && !is_equal(file->path, file->original))
            return gt_fail(error, "%s: another original is already kept as %s; remove one of them",
                           file->path, file->original);
        if (!move_file(file->path, file->original, error)) return false;
        file->is_moved = true;
    }
    return true;
}

/* Removes the folders of a path below `folder` that are empty, the innermost first. */
static void remove_empty_folders(const char *folder, const char *path)
{
    char *rest = gt_strdup(path), *end;
    while ((end = strrchr(rest, '/'))) {
        *end = 0;
        char *empty = gt_format("%s/%s", folder, rest);
        bool removed = rmdir(empty) == 0;
        gt_free(empty);
        if (!removed) break;
    }
    gt_free(rest);
}

static void move_back(const char *folder, const old_files *files)
{
    gt_error ignored;
    for (size_t i = 0; i < files->count; i++) {
        const old_file *file = &files->items[i];
        if (!file->is_moved) continue;
        move_file(file->original, file->path, &ignored);
        remove_empty_folders(folder, file->original + strlen(folder) + 1);
    }
}

static bool write_text(gt_output *output, old_file *file, gt_error *error)
{
    size_t number = gt_output_plan_file(output, file->path, error);
    if (number == SIZE_MAX) return false;
    if (is_script(file)) gt_output_make_executable(output, number);
    const char *temporary = gt_output_create_file(output, number, error);
    if (!temporary) return false;
    int out = gt_own_reopen(temporary, O_WRONLY);
    gt_str text = gt_buffer_str(&file->text);
    int failure = out < 0 ? errno : gt_write_fully(out, text.bytes, text.len);
    if (out >= 0 && close(out) != 0 && !failure) failure = errno;
    return !failure || gt_fail_writing(error, file->path, failure);
}

/* All appear at once, or none: somebody may be using a name. */
static bool write_names(const old_files *files, const char *program, gt_error *error)
{
    gt_output *output = gt_output_new();
    bool written = true;
    for (size_t i = 0; i < files->count && written; i++) {
        old_file *file = &files->items[i];
        if (file->found == SAME) continue;
        written = file->name.kind == GT_OLD_LINK ? gt_output_add_link(output, file->path, program, error)
                                                 : write_text(output, file, error);
    }
    written = written && gt_output_commit(output, error);
    gt_output_free(output);
    return written;
}

bool gt_links_write(const char *folder, const char *program, bool force, gt_links_result *result,
                    gt_error *error)
{
    *result = (gt_links_result){0};
    old_files files = list_files(folder, program);
    bool written = may_write(&files, folder, force, error) && gt_path_make_folder(folder, error) &&
                   keep_originals(&files, error) && write_names(&files, program, error);
    for (size_t i = 0; i < files.count && written; i++) {
        const old_file *file = &files.items[i];
        if (file->found == SAME)
            result->unchanged++;
        else
            result->changed++;
        result->originals += file->is_moved;
    }
    if (!written) move_back(folder, &files);
    free_files(&files);
    return written;
}

/* ---- removing ---- */

/* Removes what Python has kept of a module, folder/__pycache__/NAME.*.pyc, and then the folder. */
static void remove_compiled(const char *module)
{
    char *folder = gt_path_folder(module), *cache = gt_format("%s/__pycache__", folder);
    const char *file = gt_path_name(module);
    size_t stem = strlen(file) - strlen("py"); /* with the dot */
    gt_folder_list names = gt_list_folder(cache);
    for (size_t i = 0; i < names.count; i++) {
        const char *name = names.items[i];
        size_t len = strlen(name);
        if (strncmp(name, file, stem) != 0 || len < 4 || strcmp(name + len - 4, ".pyc") != 0) continue;
        char *path = gt_format("%s/%s", cache, name);
        unlink(path);
        gt_free(path);
    }
    gt_folder_list_free(&names);
    rmdir(cache);
    gt_free_all(cache, folder);
}

/* Moves the original of a file back, or else removes what is ours. */
static bool remove_file(const old_file *file, gt_links_result *result, gt_error *error)
{
    bool is_ours = file->found == OURS;
    if (!is_ours && file->found != NOTHING) {
        result->unchanged++;
        if (file->has_original && is_equal(file->path, file->original)) unlink(file->original);
    } else if (file->has_original) {
        if (!move_file(file->original, file->path, error)) return false;
        result->originals++;
    } else if (is_ours && unlink(file->path) != 0) {
        return gt_fail(error, "cannot remove %s: %s", file->path, strerror(errno));
    }
    result->changed += is_ours;
    if (is_ours && (file->name.kind == GT_OLD_PYTHON || file->name.kind == GT_OLD_PACKAGE))
        remove_compiled(file->path);
    return true;
}

bool gt_links_remove(const char *folder, gt_links_result *result, gt_error *error)
{
    *result = (gt_links_result){0};
    if (!gt_path_is_folder(folder)) return gt_fail(error, "%s: no such folder", folder);
    old_files files = list_files(folder, NULL);
    bool removed = true;
    for (size_t i = 0; i < files.count && removed; i++) removed = remove_file(&files.items[i], result, error);
    for (size_t i = 0; i < files.count && removed; i++)
        for (size_t k = 0; k < 2; k++)
            remove_empty_folders(folder,
                                 (k ? files.items[i].path : files.items[i].original) + strlen(folder) + 1);
    /* Who stands in the folder, and who has removed nothing from it, keeps it. */
    if (removed && result->changed && !gt_path_is_same_file(folder, "."))
        result->folder_removed = rmdir(folder) == 0;
    free_files(&files);
    return removed;
}
