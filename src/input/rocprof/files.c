/* The files of a folder that make a run: found by the endings of their names, identified by their bytes, and
 * grouped by the prefixes of their names. */
#include "input/rocprof/rocprof.h"
#include "base/guard.h"
#include "input/nsys/nsys.h"
#include "os/paths.h"

enum { MAX_DEPTH = 4, MAX_FILES = 1000000 };

static const char *const compressed_endings[] = {".gz", ".zst"};
static const char *const endings[] = {".csv", ".json", ".db", ".pftrace"};
/* Of statistics of rocprof: results.hip_stats.csv next to results.csv. */
static const char *const old_stats[] = {".stats", ".hip_stats", ".hsa_stats", ".copy_stats"};

/* What follows the prefix in a name. */
static const char *const kinds[] = {
    "results",
    "kernel_trace",
    "kernel_stats",
    "counter_collection",
    "hip_api_trace",
    "hip_api_stats",
    "hsa_api_trace",
    "hsa_api_stats",
    "marker_api_trace",
    "marker_api_stats",
    "rccl_api_trace",
    "rccl_api_stats",
    "rocdecode_api_trace",
    "rocdecode_api_stats",
    "rocjpeg_api_trace",
    "rocjpeg_api_stats",
    "memory_copy_trace",
    "memory_copy_stats",
    "memory_allocation_trace",
    "memory_allocation_stats",
    "scratch_memory_trace",
    "scratch_memory_stats",
    "agent_info",
    "domain_stats",
    "pc_sampling_host_trap",
    "pc_sampling_stochastic",
    "hip_trace",
    "hsa_trace",
};

/* The formats of a group, the most detailed first. */
static const gt_trace_format formats[] = {GT_FORMAT_SQLITE, GT_FORMAT_ROCPROF_JSON, GT_FORMAT_ROCPROF_CSV,
                                          GT_FORMAT_PERFETTO};

/* The length of the name without its endings; 0 if it has none of these endings. */
static size_t stem_length(const char *name)
{
    size_t len = strlen(name);
    for (size_t i = 0; i < GT_LENGTH(compressed_endings); i++)
        if (gt_str_ends_with((gt_str){name, len}, compressed_endings[i]))
            len -= strlen(compressed_endings[i]);
    size_t stem = 0;
    for (size_t i = 0; i < GT_LENGTH(endings) && !stem; i++)
        if (gt_str_ends_with((gt_str){name, len}, endings[i])) stem = len - strlen(endings[i]);
    for (size_t i = 0; i < GT_LENGTH(old_stats); i++)
        if (gt_str_ends_with((gt_str){name, stem}, old_stats[i])) return stem - strlen(old_stats[i]);
    return stem;
}

/* Whether the name has one of the kinds after `*prefix` bytes and "_", or is one. */
static bool has_kind(const char *name, size_t *prefix)
{
    size_t len = stem_length(name);
    for (size_t i = 0; i < GT_LENGTH(kinds); i++) {
        if (!gt_str_ends_with((gt_str){name, len}, kinds[i])) continue;
        size_t rest = len - strlen(kinds[i]);
        if (rest && name[rest - 1] != '_') continue;
        *prefix = rest ? rest - 1 : 0;
        return true;
    }
    return false;
}

size_t gt_rocprof_prefix_length(const char *name)
{
    size_t prefix;
    return has_kind(name, &prefix) ? prefix : stem_length(name);
}

/* ---- search ---- */

static bool is_rocprof(gt_trace_format format)
{
    for (size_t i = 0; i < GT_LENGTH(formats); i++)
        if (formats[i] == format) return true;
    return false;
}

/* GT_FORMATS with an error if the file cannot be read. */
static gt_trace_format format_of(const char *path, gt_error *error)
{
    gt_trace_format format;
    gt_stream *stream = gt_detect_file(path, &format, error);
    if (!stream) format = GT_FORMATS;
    gt_stream_close(stream);
    /* Any program may write a database, gputally among them. */
    if (format == GT_FORMAT_SQLITE && gt_database_kind_of(path) != GT_DATABASE_ROCPD)
        format = GT_FORMAT_UNKNOWN;
    return format;
}

/* Notes a file that is not read although its name is one of rocprofv3's. Traces of other programs may have
 * such names too. */
static void note_unrecognised(gt_rocprof_files *files, const char *name, const char *path,
                              gt_trace_format format, const char *why)
{
    size_t prefix;
    bool is_damaged = format == GT_FORMATS || format == GT_FORMAT_UNKNOWN || format == GT_FORMAT_EMPTY ||
                      format == GT_FORMAT_OTHER_JSON;
    if (!is_damaged || !has_kind(name, &prefix)) return;
    char *problem = format == GT_FORMATS        ? gt_strdup(why)
                    : format == GT_FORMAT_EMPTY ? gt_format("%s: empty file", path)
                                                : gt_format("%s: damaged, or not of rocprofv3", path);
    GT_PUSH(files->unrecognised, files->unrecognised_count, files->unrecognised_capacity, problem);
}

unsigned gt_rocprof_pass_of(const char *folder)
{
    const char *name = gt_path_name(folder);
    if (strncmp(name, "pmc_", 4) != 0 && strncmp(name, "pass_", 5) != 0) return 0;
    const char *digits = strchr(name, '_') + 1;
    return isdigit((unsigned char)*digits) ? (unsigned)strtoul(digits, NULL, 10) : 0;
}

/* A path without its first part that names a counter pass: "out/host" for "out/pass_2/host". */
static char *without_pass(const char *folder)
{
    gt_buffer path = {0};
    bool dropped = false;
    for (const char *part = folder; *part;) {
        size_t len = strcspn(part, "/");
        char *name = gt_format("%.*s", (int)len, part);
        bool is_pass = !dropped && gt_rocprof_pass_of(name);
        gt_free(name);
        len += part[len] == '/';
        if (!is_pass) gt_buffer_add(&path, part, len);
        dropped = dropped || is_pass;
        part += len;
    }
    while (path.len > 1 && path.bytes[path.len - 1] == '/') path.len--;
    gt_buffer_add(&path, "", 1);
    return path.bytes;
}

static gt_rocprof_file_group *group_of(gt_rocprof_files *files, const char *folder, const char *name,
                                       unsigned pass)
{
    int len = (int)gt_rocprof_prefix_length(name);
    char *prefix = gt_format("%s/%.*s", folder, len, name);
    for (size_t i = files->count; i-- > 0;) /* names are sorted: it is among the last ones */
        if (strcmp(files->groups[i].prefix, prefix) == 0) {
            gt_free(prefix);
            return &files->groups[i];
        } else if (files->count - i > 64) {
            break;
        }
    gt_rocprof_file_group group = {.prefix = prefix, .pass = pass, .place = without_pass(folder)};
    char *end;
    long long pid = strtoll(name, &end, 10);
    if (len && isdigit((unsigned char)name[0]) && end == name + len && pid > 0) {
        group.pid = pid;
        if (!gt_rocprof_pass_of(folder)) group.host = gt_strdup(gt_path_name(folder));
    }
    GT_PUSH(files->groups, files->count, files->capacity, group);
    return &files->groups[files->count - 1];
}

/* What a file is. */
typedef struct look {
    bool is_done;
    gt_trace_format format; /* GT_FORMATS: it cannot be read */
    char *why;              /* owned; then: why; otherwise NULL */
} look;

static look look_at(const char *path)
{
    gt_error error;
    gt_trace_format format = format_of(path, &error);
    return (look){true, format, format == GT_FORMATS ? gt_strdup(error.text) : NULL};
}

static void add_file(gt_rocprof_files *files, const char *folder, const char *name, unsigned pass, look *seen)
{
    char *path = gt_format("%s/%s", folder, name);
    if (!seen->is_done) *seen = look_at(path);
    if (!is_rocprof(seen->format)) {
        note_unrecognised(files, name, path, seen->format, seen->why);
        gt_free(path);
        return;
    }
    gt_rocprof_file_group *group = group_of(files, folder, name, pass);
    gt_rocprof_file file = {path, seen->format};
    GT_PUSH(group->files, group->count, group->capacity, file);
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
    return strverscmp((*a)->d_name, (*b)->d_name);
}

typedef struct search {
    gt_rocprof_files *files;
    gt_map seen;   /* device and inode of each file */
    bool skip_own; /* those that `gputally run` made from others */
} search;

static void search_folder(search *s, const char *folder, unsigned pass, unsigned depth);

typedef struct listing {
    const char *folder;
    struct dirent **entries; /* allocated by libc, like each entry */
    int count;
    look *looks; /* by entry */
    gt_own_files own;
    bool has_sheets; /* of a report */
} listing;

static void free_listing(void *context)
{
    listing *l = context;
    for (int i = 0; i < l->count; i++) {
        gt_free(l->entries[i]);
        if (l->looks) gt_free(l->looks[i].why);
    }
    gt_free_all(l->entries, l->looks);
    gt_own_files_free(&l->own);
}

/* Looks at a file on any thread. Only regular files: others may block. One that cannot be read is looked at
 * again when its turn comes: several at once may be more than the process may open. */
static void look_ahead(void *context, size_t index)
{
    const listing *l = context;
    const char *name = l->entries[index]->d_name;
    if (name[0] == '.' || !stem_length(name)) return;
    char *path = gt_format("%s/%s", l->folder, name);
    struct stat status;
    if (stat(path, &status) == 0 && S_ISREG(status.st_mode)) {
        look seen = look_at(path);
        gt_free(seen.why);
        if (seen.format != GT_FORMATS) l->looks[index] = (look){.is_done = true, .format = seen.format};
    }
    gt_free(path);
}

/* Whether agent_info.csv is a sheet of a report, which has the name and the columns of rocprofv3's file.
 * Reports have a timeline, unless only some sheets were written; rocprofv3 writes agents with what they did.
 */
static bool has_sheets(const listing *l)
{
    static const char *const records[] = {"_trace.csv", "_stats.csv", "counter_collection.csv",
                                          "pc_sampling_"};
    bool has_records = false;
    for (int i = 0; i < l->count; i++) {
        const char *name = l->entries[i]->d_name;
        if (strcmp(name, "gpu_timeline.csv") == 0) return true;
        for (size_t k = 0; k < GT_LENGTH(records); k++) has_records |= strstr(name, records[k]) != NULL;
    }
    return !has_records;
}

static void search_entry(search *s, const listing *l, size_t index, unsigned pass, unsigned depth,
                         bool want_folders)
{
    const char *folder = l->folder, *name = l->entries[index]->d_name;
    char *path = gt_format("%s/%s", folder, name);
    struct stat status;
    bool known = name[0] != '.' && stat(path, &status) == 0;
    if (known && want_folders && S_ISDIR(status.st_mode) && depth < MAX_DEPTH)
        search_folder(s, path, pass ? pass : gt_rocprof_pass_of(path), depth + 1);
    bool wanted = known && !want_folders && !S_ISDIR(status.st_mode) && stem_length(name);
    wanted = wanted && !(l->has_sheets && strcmp(name, "agent_info.csv") == 0);
    wanted = wanted && !(s->skip_own && gt_own_files_has(&l->own, name, (int64_t)status.st_size));
    if (wanted && gt_path_may_open(path) && s->files->count < MAX_FILES) {
        uint32_t *place = gt_map_put(&s->seen, (uint64_t)status.st_dev, (uint64_t)status.st_ino);
        if (*place == GT_MAP_NONE) add_file(s->files, folder, name, pass, &l->looks[index]);
        *place = 0;
    }
    gt_free(path);
}

/* Sub-folders first: if a file has two names, the deeper one has the host and the pass. */
static void search_folder(search *s, const char *folder, unsigned pass, unsigned depth)
{
    listing l = {.folder = folder};
    l.count = scandir(folder, &l.entries, NULL, by_name);
    if (l.count < 0 && errno == ENOMEM) gt_raise("out of memory");
    gt_guard_add(free_listing, &l);
    size_t count = l.count > 0 ? (size_t)l.count : 0;
    l.looks = gt_alloc_zero(count, sizeof *l.looks);
    gt_own_files_read(&l.own, folder);
    l.has_sheets = has_sheets(&l);
    for (size_t i = 0; i < count; i++) search_entry(s, &l, i, pass, depth, true);
    gt_parallel_each(count, look_ahead, &l);
    for (size_t i = 0; i < count; i++) search_entry(s, &l, i, pass, depth, false);
    gt_guard_remove(&l);
    free_listing(&l);
}

/* ---- one format per group ---- */

static bool has_format(const gt_rocprof_file_group *group, gt_trace_format format)
{
    for (size_t i = 0; i < group->count; i++)
        if (group->files[i].format == format) return true;
    return false;
}

/* Of the preferred format if there are such files. */
static void keep_best_format(gt_rocprof_file_group *group, gt_trace_format preferred)
{
    gt_trace_format best = GT_FORMAT_UNKNOWN;
    for (size_t f = GT_LENGTH(formats); f-- > 0;)
        if (has_format(group, formats[f])) best = formats[f];
    if (has_format(group, preferred)) best = preferred;
    size_t kept = 0;
    for (size_t i = 0; i < group->count; i++) {
        if (group->files[i].format == best) {
            group->files[kept++] = group->files[i];
        } else {
            gt_free(group->files[i].path);
        }
    }
    group->count = kept;
}

static void free_group(gt_rocprof_file_group *group)
{
    for (size_t i = 0; i < group->count; i++) gt_free(group->files[i].path);
    gt_free_all(group->files, group->prefix, group->host, group->place);
}

/* Drops groups without a prefix if other groups have a process id: they were merged from those. */
static void drop_merged(gt_rocprof_files *files)
{
    bool any_process = false;
    for (size_t g = 0; g < files->count; g++) any_process = any_process || files->groups[g].pid;
    size_t kept = 0;
    for (size_t g = 0; g < files->count; g++) {
        gt_rocprof_file_group *group = &files->groups[g];
        if (any_process && group->prefix[strlen(group->prefix) - 1] == '/')
            free_group(group);
        else
            files->groups[kept++] = *group;
    }
    files->count = kept;
}

static int by_pass(const void *a, const void *b)
{
    const gt_rocprof_file_group *x = a, *y = b;
    if (x->pass != y->pass) return x->pass < y->pass ? -1 : 1;
    return strverscmp(x->prefix, y->prefix);
}

/* The folder to search: of one into which `gputally run` put several runs, that of the newest. The caller
 * frees it. */
static char *folder_of_run(const char *folder, bool *is_newest)
{
    char *trimmed = gt_path_trim(folder), *newest = gt_format("%s/latest", trimmed);
    char *list = gt_format("%s/%s", trimmed, GT_OWN_FILES_NAME);
    struct stat status;
    *is_newest = gt_path_is_file(list) && lstat(newest, &status) == 0 && S_ISLNK(status.st_mode) &&
                 gt_path_is_folder(newest);
    gt_free_all(list, *is_newest ? trimmed : newest);
    return *is_newest ? newest : trimmed;
}

static void search_all(gt_rocprof_files *files, const char *folder, bool skip_own)
{
    search s = {.files = files, .skip_own = skip_own};
    search_folder(&s, folder, gt_rocprof_pass_of(folder), 0);
    gt_map_free(&s.seen);
}

bool gt_rocprof_files_find(gt_rocprof_files *files, const char *folder, gt_error *error)
{
    return gt_rocprof_files_find_as(files, folder, GT_FORMAT_UNKNOWN, error);
}

bool gt_rocprof_files_find_as(gt_rocprof_files *files, const char *folder, gt_trace_format preferred,
                              gt_error *error)
{
    *files = (gt_rocprof_files){0};
    bool is_newest;
    char *searched = folder_of_run(folder, &is_newest);
    search_all(files, searched, true);
    if (!files->count) { /* the originals were deleted */
        gt_rocprof_files_free(files);
        search_all(files, searched, false);
    }
    files->is_newest = is_newest;
    gt_free(searched);
    drop_merged(files);
    for (size_t i = 0; i < files->count; i++) keep_best_format(&files->groups[i], preferred);
    if (files->count) qsort(files->groups, files->count, sizeof *files->groups, by_pass);
    return files->count || gt_fail(error, "%s: no rocprofv3 files in this folder", folder);
}

void gt_rocprof_files_free(gt_rocprof_files *files)
{
    for (size_t g = 0; g < files->count; g++) free_group(&files->groups[g]);
    for (size_t i = 0; i < files->unrecognised_count; i++) gt_free(files->unrecognised[i]);
    gt_free_all(files->unrecognised, files->groups);
    *files = (gt_rocprof_files){0};
}

/* ---- files that gputally run made ----
 *
 * The list of files in a folder that `gputally run` made from the profiler's own: links, merged and converted
 * files. They repeat what the originals say, so a reader that finds both must skip them.
 *
 * The list is a file next to them, ".gputally_files", with one line "SIZE NAME" per file. A listed file that
 * has another size was written by somebody else since then. */

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
