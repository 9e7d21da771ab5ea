/* The files that a profiler wrote: finding them, giving them other names, and merging those of several
 * processes. */
#include "run/execute/found_files.h"
#include "input/rocprof/rocprof.h"
#include "os/own.h"
#include "os/paths.h"
#include "output/file.h"

enum { DEPTH_MAX = 6, FILES_MAX = 100000 };

/* ---- finding files ---- */

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
    DIR *dir = gt_opendir(folder);
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
        } else if (!S_ISDIR(status.st_mode) && !S_ISLNK(status.st_mode)) {
            gt_path_may_open(path); /* names it in a warning */
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

bool gt_found_file_link(const char *from, const char *to, gt_error *error)
{
    if (gt_path_is_same_file(from, to)) return true;
    if (unlink(to) != 0 && errno != ENOENT) return gt_fail_writing(error, to, errno);
    return link(from, to) == 0 || symlink(from, to) == 0 || gt_fail_writing(error, to, errno);
}

/* ---- merging CSV files ---- */

typedef struct merge {
    gt_file out;
    char *header;
    size_t header_len;
} merge;

/* Where the rows of a file are while it is read. A quote ends a field only before a comma or a line end,
 * because rocprofv3 does not escape quotes. */
typedef struct row_scan {
    bool in_quotes,
        may_close;          /* may_close: the previous byte is a quote that ends the field if this one does */
    bool at_field;          /* a field begins */
    size_t fields, columns; /* of this row so far, and of the first line */
    long at, row;           /* offset, and that of this row */
} row_scan;

static void scan_byte(row_scan *s, char byte)
{
    bool ends_row = byte == '\n' || byte == '\r';
    if (s->in_quotes && s->may_close && (byte == ',' || ends_row)) s->in_quotes = false;
    s->may_close = byte == '"' && !s->at_field;
    if (s->at_field && byte == '"') s->in_quotes = true;
    s->at_field = false;
    s->at++;
    if (s->in_quotes) return;
    if (ends_row) {
        if (!s->columns) s->columns = s->fields;
        s->row = s->at;
    }
    if (byte == ',') s->fields++;
    if (ends_row) s->fields = 1;
    s->at_field = byte == ',' || ends_row;
}

/* The size without a last row that lacks fields, as in the file of a process that was killed. Such a row has
 * no line end; with all fields it counts as complete, as readers of the file have it. */
static long complete_size(FILE *in, long size)
{
    if (size < 1 || fseek(in, size - 1, SEEK_SET) != 0 || getc(in) == '\n') return size;
    row_scan s = {.at_field = true, .fields = 1};
    static char block[1 << 16];
    size_t got;
    rewind(in);
    while ((got = fread(block, 1, sizeof block, in)) > 0)
        for (size_t i = 0; i < got; i++) scan_byte(&s, block[i]);
    bool in_quotes = s.in_quotes && !s.may_close;
    return !s.columns || (s.fields == s.columns && !in_quotes && !s.at_field) ? size : s.row;
}

static long size_of(FILE *in)
{
    struct stat status;
    return fstat(fileno(in), &status) == 0 ? (long)status.st_size : 0;
}

static void add_rows(merge *m, const char *path)
{
    FILE *in = gt_fopen(path, "rbe");
    char *line = NULL;
    size_t room = 0;
    long size = in ? size_of(in) : 0, complete = in ? complete_size(in, size) : 0;
    if (in) rewind(in);
    if (complete < size)
        gt_warn_once("%s: truncated: its incomplete last row is left out of the files of all processes",
                     path);
    ssize_t len = in ? getline(&line, &room, in) : -1;
    bool same_columns =
        len > 0 &&
        (!m->header || ((size_t)len == m->header_len && memcmp(line, m->header, (size_t)len) == 0));
    if (len > 0 && !same_columns) gt_warn("%s: skipped; columns differ from the previous files", path);
    if (same_columns && !m->header) {
        m->header = gt_alloc((size_t)len);
        memcpy(m->header, line, (size_t)len);
        m->header_len = (size_t)len;
        gt_file_write(&m->out, line, (size_t)len);
    }
    static char block[1 << 16];
    size_t got;
    char last = '\n';
    for (long left = complete - len; same_columns && left > 0; left -= (long)got) {
        got = fread(block, 1, left < (long)sizeof block ? (size_t)left : sizeof block, in);
        if (!got) break;
        gt_file_write(&m->out, block, got);
        last = block[got - 1];
    }
    if (last != '\n') gt_file_put(&m->out, '\n');
    gt_free(line);
    if (in) fclose(in);
}

bool gt_found_files_merge(const char *const *paths, size_t count, const char *to, gt_error *error)
{
    gt_output *output = gt_output_new();
    merge m = {0};
    bool ok = gt_file_open(&m.out, output, to, error);
    for (size_t i = 0; ok && i < count; i++) add_rows(&m, paths[i]);
    ok = ok && gt_file_close(&m.out, error) && gt_output_commit(output, error);
    gt_output_free(output);
    gt_free(m.header);
    return ok;
}

/* ---- files that were made from others ---- */

void gt_made_files_add(gt_made_files *made, gt_arena *arena, const char *path)
{
    gt_arg_list_add(arena, &made->paths, path);
}

/* Adds the files of one folder to its list. */
static bool list_in_folder(const gt_made_files *made, const char *folder, gt_error *error)
{
    gt_own_files list;
    gt_own_files_read(&list, folder);
    size_t len = strlen(folder);
    for (size_t i = 0; i < made->paths.count; i++) {
        const char *path = made->paths.items[i];
        struct stat status;
        if (gt_path_folder_len(path) != len + 1 || memcmp(path, folder, len) != 0) continue;
        gt_own_files_set(&list, gt_path_name(path), stat(path, &status) == 0 ? (int64_t)status.st_size : -1);
    }
    gt_buffer text = {0};
    gt_own_files_print(&list, &text);
    gt_own_files_free(&list);
    gt_output *output = gt_output_new();
    char *path = gt_format("%s/%s", folder, GT_OWN_FILES_NAME);
    bool ok =
        gt_output_write_file(output, path, gt_buffer_str(&text), error) && gt_output_commit(output, error);
    gt_free(path);
    gt_output_free(output);
    gt_buffer_free(&text);
    return ok;
}

static int by_folder(const void *a, const void *b)
{
    const char *x = *(const char *const *)a, *y = *(const char *const *)b;
    size_t x_len = gt_path_folder_len(x), y_len = gt_path_folder_len(y);
    int order = memcmp(x, y, x_len < y_len ? x_len : y_len);
    return order ? order : x_len < y_len ? -1 : x_len > y_len;
}

bool gt_made_files_list(gt_made_files *made, gt_arena *arena, gt_error *error)
{
    bool ok = true;
    if (made->paths.count) qsort(made->paths.items, made->paths.count, sizeof *made->paths.items, by_folder);
    for (size_t first = 0, end; ok && first < made->paths.count; first = end) {
        const char **items = &made->paths.items[first];
        gt_made_files part = {{items, 1, 0}};
        while (first + part.paths.count < made->paths.count &&
               by_folder(&items[0], &items[part.paths.count]) == 0)
            part.paths.count++;
        end = first + part.paths.count;
        ok = list_in_folder(&part, gt_arena_bytes(arena, items[0], gt_path_folder_len(items[0]) - 1), error);
    }
    made->paths.count = 0;
    return ok;
}
