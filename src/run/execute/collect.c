/* Collects the files that the profiler wrote into the output folder. */
#include "run/execute/execute.h"
#include "os/own.h"
#include "run/execute/found_files.h"
#include "input/rocprof/rocprof.h"
#include "input/sheets/sheets.h"
#include "os/paths.h"
#include "output/file.h"
#include "schema/columns.h"

/* ---- instruction histogram ---- */

static const struct {
    const char *name, *patterns[3];
} classes[GT_HISTOGRAM_CLASSES] = {
    {"VALU", {"sq_insts_valu", "sq_active_inst_valu"}},
    {"SALU", {"sq_insts_salu"}},
    {"VMEM", {"sq_insts_vmem"}},
    {"SMEM", {"sq_insts_smem"}},
    {"WAITCNT", {"sq_wait_inst"}},
    {"BRANCH", {"sq_insts_branch"}},
};

/* The class of a counter, or NULL. Names are compared in lower case, without spaces, with '-' as '_'. */
static const char *class_of(const char *counter)
{
    char name[256];
    size_t len = 0;
    for (; *counter && len < sizeof name - 1; counter++)
        if (!isspace((unsigned char)*counter))
            name[len++] = *counter == '-' ? '_' : (char)tolower((unsigned char)*counter);
    name[len] = 0;
    for (size_t c = 0; c < GT_LENGTH(classes); c++)
        for (size_t p = 0; p < GT_LENGTH(classes[c].patterns) && classes[c].patterns[p]; p++)
            if (strstr(name, classes[c].patterns[p])) return classes[c].name;
    return NULL;
}

/* Like Python: int(text), else int(float(text)), else 0. */
static __int128 value_of(const char *text)
{
    char *end;
    errno = 0;
    long long whole = strtoll(text, &end, 10);
    while (isspace((unsigned char)*end)) end++;
    if (end != text && !*end && errno == 0) return whole;
    double real = strtod(text, &end);
    while (isspace((unsigned char)*end)) end++;
    return end == text || *end || !isfinite(real) || fabs(real) > 1e37 ? 0 : (__int128)real;
}

static void add_value(gt_histogram *histogram, const char *name, const char *text)
{
    size_t i = 0;
    while (i < histogram->count && strcmp(histogram->names[i], name) != 0) i++;
    if (i == histogram->count) {
        histogram->names[i] = name;
        histogram->sums[i] = 0;
        histogram->count++;
    }
    __int128 sum;
    if (!__builtin_add_overflow(histogram->sums[i], value_of(text), &sum)) histogram->sums[i] = sum;
}

static const char *cell(const gt_table *table, size_t column, size_t row)
{
    const gt_column *c = &table->columns[column];
    return c->type == GT_TYPE_STRING ? gt_interner_get(table->strings, c->texts[row]).bytes : "";
}

static void add_long(gt_histogram *histogram, const gt_table *table, size_t name, size_t value)
{
    for (size_t row = 0; row < table->row_count; row++) {
        const char *class = class_of(cell(table, name, row));
        if (class) add_value(histogram, class, cell(table, value, row));
    }
}

void gt_histogram_add(gt_histogram *histogram, const gt_table *table)
{
    size_t name = gt_table_find(table, GT_COL_COUNTER_NAME),
           value = gt_table_find(table, GT_COL_COUNTER_VALUE);
    if (name != SIZE_MAX && value != SIZE_MAX) {
        add_long(histogram, table, name, value);
        return;
    }
    for (size_t row = 0; row < table->row_count; row++)
        for (size_t c = 0; c < table->column_count; c++) {
            const char *class = class_of(table->columns[c].name);
            if (class) add_value(histogram, class, cell(table, c, row));
        }
}

static void add_integer(gt_buffer *text, __int128 value)
{
    char digits[48];
    size_t at = sizeof digits;
    bool negative = value < 0;
    unsigned __int128 rest = negative ? -(unsigned __int128)value : (unsigned __int128)value;
    do digits[--at] = (char)('0' + (int)(rest % 10));
    while (rest /= 10);
    if (negative) digits[--at] = '-';
    gt_buffer_add(text, digits + at, sizeof digits - at);
}

void gt_histogram_print(const gt_histogram *histogram, gt_buffer *text)
{
    gt_buffer_add_cstr(text, "{\n");
    for (size_t i = 0; i < histogram->count; i++) {
        gt_buffer_add_cstr(text, i ? ",\n\"" : "\"");
        gt_buffer_add_cstr(text, histogram->names[i]);
        gt_buffer_add_cstr(text, "\": ");
        add_integer(text, histogram->sums[i]);
    }
    gt_buffer_add_cstr(text, "\n}");
}

static void add_counter_file(gt_histogram *histogram, const char *path)
{
    gt_error error;
    if (access(path, F_OK) != 0) return;
    gt_interner *strings = gt_interner_new();
    gt_table *table = gt_csv_table_read_as(path, GT_SHEET_COUNTERS, GT_READ_STRINGS, strings, &error);
    if (table)
        gt_histogram_add(histogram, table);
    else
        gt_warn("%s", error.text);
    if (table) gt_table_free(table);
    gt_interner_free(strings);
}

static void write_histogram(const char *folder, gt_arg_list *written, gt_arena *arena)
{
    gt_histogram histogram = {0};
    const char *path = gt_path_join(arena, folder, "instruction_histogram.json");
    add_counter_file(&histogram, gt_path_join(arena, folder, "rocprofv3_output_counter_collection.csv"));
    add_counter_file(&histogram, gt_path_join(arena, folder, "rocprofv3_output_domain_stats.csv"));
    if (!histogram.count) {
        unlink(path); /* of an earlier run */
        return;
    }
    gt_buffer text = {0};
    gt_error error;
    gt_histogram_print(&histogram, &text);
    gt_output *output = gt_output_new();
    if (gt_output_write_file(output, path, gt_buffer_str(&text), &error) && gt_output_commit(output, &error))
        gt_arg_list_add(arena, written, path);
    else
        gt_warn("%s", error.text);
    gt_output_free(output);
    gt_buffer_free(&text);
}

/* ---- collecting files ---- */

typedef struct collector {
    const gt_plan *plan;
    gt_outcome *outcome;
    const gt_profiler *profiler;
    const char *tree; /* the profiler's output */
    const char *root; /* <output-dir>/rocprof_output */
    gt_found_files files;
    gt_made_files made; /* by this program */
} collector;

static const char *const top_tables[] = {"kernel_trace.csv", "hip_api_trace.csv", "memory_copy_trace.csv"};
static const char *const canonical_tables[] = {"agent_info.csv",    "domain_stats.csv",
                                               "kernel_stats.csv",  "kernel_trace.csv",
                                               "hip_api_trace.csv", "counter_collection.csv"};
static const char *const results[] = {"results.db", "results.json", "results.pftrace"};

static void warn(const gt_error *error)
{
    gt_warn("%s", error->text);
}

static void add_output(collector *c, const char *path)
{
    gt_arg_list_add(c->plan->arena, &c->outcome->files, path);
}

static void add_made(collector *c, const char *path)
{
    gt_made_files_add(&c->made, c->plan->arena, path);
    add_output(c, path);
}

/* Whether a file in rocprof_output may be replaced: gputally made it, or it does not exist. A link is to a
 * file of an earlier run. */
static bool is_own(const collector *c, const char *path)
{
    struct stat status;
    if (lstat(path, &status) != 0 || S_ISLNK(status.st_mode) || status.st_nlink > 1) return true;
    gt_own_files list;
    gt_own_files_read(&list, c->root);
    bool own = gt_own_files_has(&list, gt_path_name(path), (int64_t)status.st_size);
    gt_own_files_free(&list);
    return own;
}

/* The same, with a warning if not. */
static bool may_replace(const collector *c, const char *path)
{
    if (is_own(c, path)) return true;
    gt_warn("%s is kept: it is not of gputally, or was changed; that of this run is in %s", path, c->tree);
    return false;
}

static void link_to(collector *c, const char *from, const char *to)
{
    gt_error error;
    if (gt_found_file_link(from, to, &error))
        add_made(c, to);
    else
        warn(&error);
}

/* ---- legacy results in the work folder ---- */

static bool is_new(const collector *c, const char *path)
{
    struct stat status;
    return lstat(path, &status) == 0 && S_ISREG(status.st_mode) &&
           status.st_mtim.tv_sec >= c->outcome->begin.tv_sec;
}

static void move_legacy(collector *c)
{
    DIR *dir = gt_opendir(c->plan->workdir);
    struct dirent *entry;
    while (dir && (entry = readdir(dir))) {
        const char *from = gt_path_join(c->plan->arena, c->plan->workdir, entry->d_name);
        if (strncmp(entry->d_name, "results.", 8) != 0 || !is_new(c, from)) continue;
        const char *to = gt_path_join(c->plan->arena, c->tree, entry->d_name);
        if (rename(from, to) != 0) gt_warn("cannot move %s to %s: %s", from, to, strerror(errno));
    }
    if (dir) closedir(dir);
}

/* ---- results ---- */

static bool is_result(const gt_found_file *file)
{
    for (size_t i = 0; i < GT_LENGTH(results); i++)
        if (strcmp(file->kind, results[i]) == 0) return true;
    return false;
}

static bool is_taken(const char *path, const char *by)
{
    struct stat there, ours;
    return stat(path, &there) == 0 && stat(by, &ours) == 0 &&
           (there.st_ino != ours.st_ino || there.st_dev != ours.st_dev);
}

static void link_results(collector *c)
{
    for (size_t i = 0; i < c->files.count; i++) {
        const gt_found_file *file = &c->files.items[i];
        if (!is_result(file) || file->at_top) continue;
        const char *to = gt_path_join(c->plan->arena, c->tree, file->name);
        if (is_taken(to, file->path)) {
            to = gt_arena_format(c->plan->arena, "%s/%s_%s", c->tree,
                                 file->pass_folder ? file->pass_folder : "other", file->name);
        }
        link_to(c, file->path, to);
    }
}

static void link_largest(collector *c, const char *kind, const char *name)
{
    const gt_found_file *largest = NULL;
    for (size_t i = 0; i < c->files.count; i++)
        if (strcmp(c->files.items[i].kind, kind) == 0 &&
            (!largest || c->files.items[i].bytes > largest->bytes))
            largest = &c->files.items[i];
    const char *to = gt_path_join(c->plan->arena, c->root, gt_path_name(name));
    struct stat status;
    if (largest && may_replace(c, to))
        link_to(c, largest->path, to);
    else if (!largest && lstat(to, &status) == 0 && (status.st_nlink > 1 || S_ISLNK(status.st_mode)))
        unlink(to); /* links to an earlier run */
}

/* ---- tables ---- */

/* Files of one kind that belong together. Counters: all passes. Agents: one file. All others: the first
 * pass only, because later passes record the same program again. */
static size_t files_of(const collector *c, const char *kind, const char **paths)
{
    bool all_passes = strcmp(kind, "counter_collection.csv") == 0, one = strcmp(kind, "agent_info.csv") == 0;
    size_t count = 0;
    unsigned pass = 0;
    for (size_t i = 0; i < c->files.count; i++) {
        const gt_found_file *file = &c->files.items[i];
        if (strcmp(file->kind, kind) != 0 || strcmp(file->name, kind) == 0) continue; /* a merged file */
        if (count && ((file->pass != pass && !all_passes) || one)) break;
        pass = file->pass;
        paths[count++] = file->path;
    }
    return count;
}

static bool merge_kind(collector *c, const char *kind, const char *to)
{
    const char **paths = gt_arena_alloc(c->plan->arena, (c->files.count + 1) * sizeof *paths);
    size_t count = files_of(c, kind, paths);
    gt_error error;
    if (count == 1) {
        link_to(c, paths[0], to);
    } else if (count) {
        unlink(to); /* not through a link of an earlier run */
        if (gt_found_files_merge(paths, count, to, &error))
            add_made(c, to);
        else
            warn(&error);
    }
    return count > 0;
}

static void merge_tables(collector *c)
{
    for (size_t i = 0; i < GT_LENGTH(top_tables); i++)
        merge_kind(c, top_tables[i], gt_path_join(c->plan->arena, c->tree, top_tables[i]));
    for (size_t i = 0; i < GT_LENGTH(canonical_tables); i++) {
        const char *to =
            gt_arena_format(c->plan->arena, "%s/rocprofv3_output_%s", c->root, canonical_tables[i]);
        if (!may_replace(c, to)) continue;
        if (!merge_kind(c, canonical_tables[i], to)) unlink(to); /* a file of an earlier run would mislead */
    }
}

/* ---- other formats ---- */

static bool records_kernels(const gt_profiler *profiler)
{
    static const char *const options[] = {"--kernel-trace", "--runtime-trace", "--sys-trace", "-r", "-s"};
    for (size_t i = 0; i < profiler->options.count; i++)
        for (size_t o = 0; o < GT_LENGTH(options); o++)
            if (strcmp(profiler->options.items[i], options[o]) == 0) return true;
    return false;
}

static bool has_kind(const collector *c, const char *kind)
{
    for (size_t i = 0; i < c->files.count; i++)
        if (strcmp(c->files.items[i].kind, kind) == 0) return true;
    return false;
}

static bool records_counters(const gt_profiler *profiler)
{
    for (size_t i = 0; i < profiler->options.count; i++)
        if (strncmp(profiler->options.items[i], "--pmc", 5) == 0) return true;
    return profiler->counter_passes.count > 0;
}

/* Whether a CSV file has more than its heading. */
static bool has_rows(const char *path)
{
    FILE *file = gt_fopen(path, "r");
    int byte = file ? getc(file) : EOF;
    while (byte != EOF && byte != '\n') byte = getc(file);
    if (byte != EOF) byte = getc(file);
    if (file) fclose(file);
    return byte != EOF;
}

/* A counter that the GPU does not have, or may not read, gives a file without values, or none. Perfetto
 * traces are not asked: they have counters only as tracks. */
static void check_counters(const collector *c, size_t converted)
{
    bool found = converted > 0;
    if (!records_counters(c->profiler)) return;
    for (size_t i = 0; !found && i < c->files.count; i++)
        found =
            strcmp(c->files.items[i].kind, "counter_collection.csv") == 0 && has_rows(c->files.items[i].path);
    bool is_unknown = has_kind(c, "results.pftrace") && !has_kind(c, "results.db") &&
                      !has_kind(c, "results.json") && !has_kind(c, "counter_collection.csv");
    if (!found && !is_unknown) gt_warn("no counter values in %s", c->tree);
}

/* Makes tables from databases, JSON or Perfetto traces. Warns if there are no kernels or counters. */
static void convert(collector *c)
{
    bool has_csv = has_kind(c, "kernel_trace.csv"), has_other = false;
    for (size_t i = 0; i < GT_LENGTH(results); i++) has_other = has_other || has_kind(c, results[i]);
    size_t kernels = 0, counters = 0;
    gt_error error;
    if (!has_csv && has_other) {
        gt_arg_list written = {0};
        if (!gt_convert_csv(c->tree, c->tree, &kernels, records_counters(c->profiler) ? &counters : NULL,
                            &written, c->plan->arena, &error)) {
            warn(&error);
            return;
        }
        for (size_t i = 0; i < written.count; i++) add_made(c, written.items[i]);
        has_csv = kernels > 0;
    }
    if (!has_csv && records_kernels(c->profiler)) gt_warn("no GPU kernel records in %s", c->tree);
    if (c->profiler->kind == GT_PROFILER_ROCPROFV3) check_counters(c, counters);
}

/* FOLDER/latest: a relative link, so that the folder can be moved, unless the run is elsewhere. */
static void link_latest(collector *c, const char *folder)
{
    size_t len = strlen(folder);
    bool is_below = strncmp(c->tree, folder, len) == 0 && c->tree[len] == '/';
    const char *link = gt_path_join(c->plan->arena, folder, "latest");
    struct stat status;
    if (lstat(link, &status) == 0 && !S_ISLNK(status.st_mode)) {
        gt_warn("%s is not a link and is not changed: this run is in %s", link, c->tree);
        return;
    }
    unlink(link);
    if (symlink(is_below ? c->tree + len + 1 : c->tree, link) != 0)
        gt_warn("cannot create link %s: %s", link, strerror(errno));
    gt_made_files_add(&c->made, c->plan->arena, link); /* readers use the link if the folder has a list */
}

/* Removes files in rocprof_output that were made for an earlier run and that this one does not have. */
static void remove_stale(collector *c)
{
    gt_own_files list;
    struct stat status;
    gt_own_files_read(&list, c->root);
    for (uint32_t id = GT_STR_EMPTY + 1; list.names && id < gt_interner_count(list.names); id++) {
        const char *name = gt_interner_get(list.names, id).bytes;
        const char *path = gt_path_join(c->plan->arena, c->root, name);
        bool is_new = strchr(name, '/') != NULL;
        for (size_t i = 0; !is_new && i < c->outcome->files.count; i++)
            is_new = strcmp(c->outcome->files.items[i], path) == 0;
        if (is_new || lstat(path, &status) != 0 || S_ISDIR(status.st_mode)) continue;
        if (S_ISLNK(status.st_mode) || gt_own_files_has(&list, name, (int64_t)status.st_size)) unlink(path);
    }
    gt_own_files_free(&list);
}

static void list_all(collector *c)
{
    for (size_t i = 0; i < c->files.count; i++) add_output(c, c->files.items[i].path);
}

static void collect_rocprof(collector *c)
{
    gt_error error;
    if (c->profiler->kind == GT_PROFILER_ROCPROF) move_legacy(c);
    if (!gt_path_make_folder(c->root, &error)) {
        warn(&error);
        return;
    }
    c->files = gt_found_files_list(c->plan->arena, c->tree);
    list_all(c);
    convert(c);
    merge_tables(c);
    link_results(c);
    link_largest(c, "results.pftrace",
                 c->profiler->trace_name ? c->profiler->trace_name : "model_trace.pftrace");
    link_largest(c, "results.json", "trace.json");
    write_histogram(c->root, &c->outcome->files, c->plan->arena);
    remove_stale(c);
    link_latest(c, c->root);
    if (c->profiler->named_dir && strcmp(c->profiler->named_dir, c->root) != 0)
        link_latest(c, c->profiler->named_dir);
    if (!gt_made_files_list(&c->made, c->plan->arena, &error)) warn(&error);
}

/* rpd writes trace.rpd into the work folder. */
static void collect_rpd(collector *c)
{
    const char *from = gt_path_join(c->plan->arena, c->plan->workdir, "trace.rpd");
    const char *to = gt_path_join(c->plan->arena, c->tree, "trace.rpd");
    if (is_new(c, from) && rename(from, to) != 0)
        gt_warn("cannot move %s to %s: %s", from, to, strerror(errno));
    if (access(to, F_OK) != 0) gt_warn("the tracer wrote no trace.rpd");
}

void gt_collect(const gt_plan *plan, gt_outcome *outcome)
{
    for (size_t i = 0; i < plan->piece_count; i++) {
        const gt_profiler *profiler = plan->pieces[i].profiler;
        if (!profiler) continue;
        collector c = {.plan = plan, .outcome = outcome, .profiler = profiler, .tree = profiler->output_dir};
        c.root = gt_path_join(plan->arena, plan->output_dir, "rocprof_output");
        if (profiler->kind == GT_PROFILER_ROCPROFV3 || profiler->kind == GT_PROFILER_ROCPROF) {
            collect_rocprof(&c);
            continue;
        }
        if (profiler->kind == GT_PROFILER_RPD) collect_rpd(&c);
        c.files = gt_found_files_list(plan->arena, c.tree);
        list_all(&c);
    }
}
