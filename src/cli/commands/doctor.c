/* `gputally doctor`: what a file or folder is, what is missing in it, and the command to type next. Files are
 * examined by src/doctor; which files of a folder belong together is found here, as `gputally report` finds
 * them. */
#include "cli/commands/commands.h"

#include "base/progress.h"
#include "doctor/doctor.h"
#include "input/nsys/nsys.h"
#include "input/rocprof/rocprof.h"
#include "os/own.h"
#include "os/paths.h"
#include "output/file.h"
#include "sweep/layout.h"

static const gt_option output_options[] = {
    {"output_json", GT_OPTION_STRING, "PATH", NULL,
     "write all of it as JSON to PATH (docs/doctor.md); - is standard output"},
};
static const gt_option_group output_group = {"Output", output_options, GT_LENGTH(output_options)};

const gt_syntax gt_doctor_syntax = {
    .groups = {&output_group, &gt_common_group},
    .main_options = {"output_json", "quiet"},
    .files = "FILE...",
    .files_max = SIZE_MAX,
    .folders = true,
    .output_option = "output_json",
    .keeps_indexes = true,
};

/* ---- folders ---- */

static void add_part(gt_diagnosis *folder, const char *path, const gt_read_options *read)
{
    gt_diagnosis *part = gt_doctor_examine(path, read);
    GT_PUSH(folder->parts, folder->part_count, folder->part_capacity, part);
}

/* What its files lack, each once, with how many of them lack it. */
static void gather_missing(gt_diagnosis *folder)
{
    for (size_t i = 0; i < folder->part_count; i++)
        for (size_t k = 0; k < folder->parts[i]->missing_count; k++) {
            const gt_missing_item *item = &folder->parts[i]->missing[k];
            size_t count = 0;
            if (gt_missing_exists(folder, item->id)) continue;
            for (size_t other = i; other < folder->part_count; other++)
                count += gt_missing_exists(folder->parts[other], item->id);
            gt_missing_add(folder, item->id,
                           folder->part_count == 1 ? gt_diagnosis_text(folder, "%s", item->text)
                                                   : gt_diagnosis_text(folder, "%s (%zu of %zu files)",
                                                                       item->text, count, folder->part_count),
                           item->effect, item->fix);
        }
}

/* A folder is as good as its files: one that can be used makes it usable, and what all of them lack, it
 * lacks. */
static void judge_parts(gt_diagnosis *folder)
{
    size_t usable = 0;
    for (size_t i = 0; i < folder->part_count; i++) {
        const gt_diagnosis *part = folder->parts[i];
        usable += part->usable;
        if (!folder->recording && part->recording)
            folder->recording = gt_diagnosis_text(folder, "%s", part->recording);
        if (part->verdict && (!folder->verdict || strcmp(part->verdict, "do not trust") == 0 ||
                              strcmp(folder->verdict, "good") == 0))
            folder->verdict = gt_diagnosis_text(folder, "%s", part->verdict);
    }
    folder->usable = usable > 0;
    gt_fact_add_count(folder, GT_FACT_CONTENTS, "files", (double)folder->part_count);
    gt_fact_add_count(folder, GT_FACT_CONTENTS, "usable_files", (double)usable);
    gather_missing(folder);
    if (!usable)
        folder->problem = gt_diagnosis_text(
            folder, "%s: %s",
            folder->part_count == 1 ? "its only trace cannot be used" : "none of its traces can be used",
            folder->parts[0]->problem ? folder->parts[0]->problem : folder->parts[0]->what);
    else if (usable < folder->part_count)
        gt_missing_add(folder, "files",
                       gt_diagnosis_text(folder, "%zu of %zu files cannot be used",
                                         folder->part_count - usable, folder->part_count),
                       "they are not in the report", NULL);
}

static bool is_sweep(gt_diagnosis *d)
{
    gt_sweep sweep;
    gt_error ignored;
    bool found = gt_sweep_open(&sweep, d->path, &ignored);
    if (found) {
        gt_diagnosis_is(d, "sweep", "sweep: runs of one program with several settings");
        gt_buffer axes = {0};
        for (size_t i = 0; i < sweep.axis_count; i++)
            gt_buffer_add_format(&axes, "%s%s (%zu)", i ? ", " : "", sweep.axes[i].name,
                                 sweep.axes[i].value_count);
        gt_fact_add_text(d, GT_FACT_MADE, "axes", gt_buffer_str(&axes).bytes);
        gt_buffer_free(&axes);
        gt_fact_add_count(d, GT_FACT_CONTENTS, "runs", (double)sweep.count);
        gt_fact_add_count(d, GT_FACT_CONTENTS, "failed_runs", (double)sweep.failed);
        if (sweep.failed)
            gt_missing_add(
                d, "runs",
                gt_diagnosis_text(d, "%zu of %zu runs did not end well", sweep.failed, sweep.count),
                "their settings are not compared", "gputally sweep run with --resume runs them again");
        d->usable = true;
        gt_supported_command_add(d, "sweep all", true, "reports of all settings and their comparison");
        gt_supported_command_add(d, "sweep decide", true, "which setting is the best");
        d->next = gt_diagnosis_command(d, "gputally sweep all", d->path, NULL);
    }
    gt_sweep_free(&sweep);
    return found;
}

static void hear(void *context, gt_message_kind kind, const char *text)
{
    (void)kind;
    gt_diagnosis_warn(context, text);
}

/* Says what `gputally report` warns of: traces that are not in the report. */
static void add_others(gt_diagnosis *d)
{
    gt_log_listener listener = {.hear = hear, .context = d};
    gt_log_listen(&listener);
    gt_folder_warn_of_others(d->path);
    gt_log_unlisten(&listener);
}

/* Of several JAX profiles, the report is about the last one by name. */
static void add_skipped(gt_diagnosis *d, const gt_profile_list *found)
{
    enum { SHOWN = 20 };
    if (!found->skipped_count) return;
    gt_buffer names = {0};
    for (size_t i = found->skipped_count; i-- > 0 && found->skipped_count - i <= SHOWN;)
        gt_buffer_add_format(&names, "%s%s", names.len ? ", " : "", found->skipped[i]);
    gt_missing_add(d, "profiles",
                   gt_diagnosis_text(d, "%zu other %s not read: %s%s", found->skipped_count,
                                     found->skipped_count == 1 ? "profile is" : "profiles are",
                                     gt_buffer_str(&names).bytes,
                                     found->skipped_count > SHOWN ? ", ..." : ""),
                   "the report covers the last profile by name",
                   gt_diagnosis_command(d, "gputally report", found->skipped[0], NULL));
    gt_fact_add_count(d, GT_FACT_CONTENTS, "other_profiles", (double)found->skipped_count);
    gt_buffer_free(&names);
}

/* JAX profiles or exports of Nsight Systems. */
static bool has_profiles(gt_diagnosis *d, const gt_read_options *read)
{
    gt_profile_list found = {0};
    gt_error ignored;
    bool any = gt_report_find_traces(&found, d->path, &ignored) && found.count;
    if (any) {
        bool nsys = gt_nsys_is_folder(d->path);
        gt_diagnosis_is(d, nsys ? "nsys-folder" : "jax-folder",
                        nsys ? "folder of Nsight Systems exports" : "folder of a JAX profile");
        for (size_t i = 0; i < found.count; i++) add_part(d, found.paths[i], read);
        judge_parts(d);
        add_skipped(d, &found);
        add_others(d);
        if (d->usable) {
            gt_supported_command_add(d, "report", true, "one report per file");
            d->next = gt_diagnosis_command(d, "gputally report", d->path, NULL);
        }
    }
    gt_profiles_free(&found);
    return any;
}

/* Says which of the ranks below `expected`, or below the last one, have no trace. */
static void add_missing_ranks(gt_diagnosis *d, const gt_trace_folder *found, size_t expected)
{
    enum { SHOWN = 8 };
    int64_t *ranks = gt_alloc(found->count * sizeof *ranks);
    memcpy(ranks, found->ranks, found->count * sizeof *ranks);
    qsort(ranks, found->count, sizeof *ranks, gt_by_i64);
    size_t distinct = 1, shown = 0, next = 0;
    for (size_t i = 1; i < found->count; i++) distinct += ranks[i] != ranks[i - 1];
    if ((size_t)ranks[found->count - 1] >= expected) expected = (size_t)ranks[found->count - 1] + 1;
    gt_buffer names = {0};
    for (size_t rank = 0; rank < expected && shown < SHOWN; rank++) {
        while (next < found->count && (size_t)ranks[next] < rank) next++;
        if (next < found->count && (size_t)ranks[next] == rank) continue;
        gt_buffer_add_format(&names, "%s%zu", shown++ ? ", " : "", rank);
    }
    gt_fact_add_count(d, GT_FACT_CONTENTS, "ranks", (double)distinct);
    if (shown)
        gt_missing_add(d, "ranks",
                       gt_diagnosis_text(d, "traces of %zu of %zu ranks: %s%s", expected - distinct, expected,
                                         gt_buffer_str(&names).bytes,
                                         expected - distinct > shown ? ", ..." : ""),
                       "collectives are compared among the others only",
                       "export_chrome_trace(f\"traces/rank{rank}_trace.json\") on every rank");
    gt_buffer_free(&names);
    gt_free(ranks);
}

/* `runs` says in words which runs the traces are of; NULL: one. */
static void add_ranks(gt_diagnosis *d, const gt_trace_folder *found, const char *runs)
{
    const gt_fact *world = d->part_count ? gt_fact_find(d->parts[0], "world_size") : NULL;
    bool are_known = found->count > 1;
    for (size_t i = 0; i < found->count; i++) are_known &= found->ranks[i] >= 0;
    if (!are_known) return;
    if (!found->are_ranks && !runs && found->why_not)
        gt_missing_add(d, "one_per_rank",
                       gt_diagnosis_text(d, "the traces are not one per rank: %s", found->why_not),
                       "there is no report on all ranks", "move the file that is too many to another folder");
    add_missing_ranks(d, found,
                      world && world->number > 0 && world->number < GT_RANKS_MAX ? (size_t)world->number : 0);
    /* Which ranks are missing is a matter of the folder, not of each trace. */
    for (size_t i = 0; i < d->part_count; i++) {
        gt_diagnosis *part = d->parts[i];
        for (size_t k = 0; k < part->missing_count; k++)
            if (strcmp(part->missing[k].id, "ranks") == 0) {
                memmove(&part->missing[k], &part->missing[k + 1],
                        (part->missing_count - k - 1) * sizeof *part->missing);
                part->missing_count--;
                break;
            }
    }
}

static bool has_pytorch(gt_diagnosis *d, const gt_read_options *read)
{
    gt_trace_folder found;
    size_t count;
    gt_log_listener listener = {.hear = hear, .context = d};
    gt_log_listen(&listener);
    gt_trace_folder_find(&found, d->path, true);
    gt_log_unlisten(&listener);
    gt_trace_folder *split = gt_trace_folder_split(&found, &count);
    char *runs = split ? gt_trace_runs_describe(split, count) : NULL;
    bool any = found.count || found.unreadable_count;
    if (any) {
        gt_diagnosis_is(d, found.are_ranks ? "rank-traces" : "pytorch-folder",
                        found.are_ranks ? "folder with one PyTorch trace per rank"
                                        : "folder of PyTorch traces");
        for (size_t i = 0; i < found.count; i++) add_part(d, found.paths[i], read);
        for (size_t i = 0; i < found.unreadable_count; i++) add_part(d, found.unreadable[i].path, read);
        add_ranks(d, &found, runs);
        judge_parts(d);
        gt_supported_command_add(
            d, "report", d->usable,
            !d->usable ? "no trace can be used"
            : runs     ? gt_diagnosis_text(d, "a report per trace, and on all ranks of each of %s", runs)
            : found.are_ranks ? "a report per trace, and on all ranks"
                              : "a report per trace");
        gt_supported_command_add(
            d, "collective", d->usable && found.are_ranks,
            !d->usable        ? "no trace can be used"
            : found.are_ranks ? "which ranks wait for which, and how fast collectives are"
            : runs ? gt_diagnosis_text(d, "these are %s; `gputally report` makes a report of each", runs)
            : found.why_not ? gt_diagnosis_text(d, "the traces are not one per rank: %s", found.why_not)
                            : "needs one trace per rank");
        gt_supported_command_add(d, "fuse", found.count > 1,
                                 found.are_ranks ? "all ranks in one trace for a viewer"
                                 : found.count > 1
                                     ? "several traces in one for a viewer; name the files in the order "
                                       "of their ranks"
                                     : "needs several traces");
        if (d->usable) d->next = gt_diagnosis_command(d, "gputally report", d->path, NULL);
    }
    gt_free(runs);
    gt_trace_runs_free(split, count);
    gt_trace_folder_free(&found);
    return any;
}

/* A report: the sheets as CSV files. */
static bool has_sheets(gt_diagnosis *d)
{
    gt_arena arena = {0};
    bool found = gt_path_is_file(gt_path_join(&arena, d->path, "gpu_timeline.csv"));
    gt_arena_free(&arena);
    if (!found) return false;
    gt_diagnosis_is(d, "perf-report", "performance report (folder of CSV files)");
    d->usable = true;
    d->next = gt_diagnosis_command(d, "gputally compare", d->path, "OTHER_REPORT");
    d->next_text = "compares it with another report; replace OTHER_REPORT";
    gt_supported_command_add(d, "compare", true,
                             "this and other reports side by side, with --fail_if as a gate");
    return true;
}

static void look_at_rest(gt_diagnosis *d)
{
    gt_error error;
    gt_folder_list names = gt_list_folder(d->path);
    if (gt_nsys_fail_folder(d->path, &error)) {
        gt_diagnosis_is(d, "nsys-reports", "folder of Nsight Systems reports");
        d->problem = gt_diagnosis_text(d, "%s", error.text);
    } else {
        gt_diagnosis_is(d, names.count ? "folder" : "empty-folder",
                        names.count ? "folder without traces" : "empty folder");
        d->problem = names.count
                         ? "no traces, profiles, sweeps or reports in it or in the folders below, which are "
                           "searched 4 levels deep"
                         : "nothing is in it";
    }
    gt_fact_add_count(d, GT_FACT_CONTENTS, "entries", (double)names.count);
    gt_folder_list_free(&names);
}

/* ---- what cannot be read ---- */

enum { DEPTH_MAX = 4, ENTRIES_MAX = 100000 };

typedef struct unreadable {
    size_t seen, files, folders;
    char *first;
    int problem; /* errno of the first */
} unreadable;

/* Counts what the user has no permission to read. Links to folders are not followed. */
static void find_unreadable(unreadable *u, const char *folder, int depth)
{
    DIR *dir = gt_opendir(folder);
    for (struct dirent *entry; dir && (entry = readdir(dir)) && u->seen < ENTRIES_MAX;) {
        if (entry->d_name[0] == '.') continue;
        char *path = gt_path_in(folder, entry->d_name);
        struct stat status;
        bool known = lstat(path, &status) == 0, is_folder = known && S_ISDIR(status.st_mode);
        bool can_read = known && faccessat(AT_FDCWD, path, is_folder ? R_OK | X_OK : R_OK, AT_EACCESS) == 0;
        u->seen++;
        if (!can_read && errno != ENOENT) { /* ENOENT: a link without its file */
            *(is_folder ? &u->folders : &u->files) += 1;
            if (!u->first || strcmp(path, u->first) < 0) {
                gt_free(u->first);
                u->first = gt_strdup(path);
                u->problem = errno;
            }
        } else if (is_folder && depth < DEPTH_MAX) {
            find_unreadable(u, path, depth + 1);
        }
        gt_free(path);
    }
    if (dir) closedir(dir);
}

static void add_unreadable(gt_diagnosis *d)
{
    unreadable u = {0};
    find_unreadable(&u, d->path, 0);
    if (u.first) {
        gt_buffer text = {0};
        if (u.files) gt_buffer_add_format(&text, "%zu %s", u.files, u.files == 1 ? "file" : "files");
        if (u.folders)
            gt_buffer_add_format(&text, "%s%zu %s", u.files ? " and " : "", u.folders,
                                 u.folders == 1 ? "folder" : "folders");
        gt_missing_add(d, "unreadable",
                       gt_diagnosis_text(d, "%s that cannot be read (%s): %s%s", gt_buffer_str(&text).bytes,
                                         strerror(u.problem), u.first,
                                         u.files + u.folders > 1 ? ", ..." : ""),
                       "nothing is known about what is in them",
                       gt_diagnosis_command(d, "chmod -R u+rX", d->path, NULL));
        if (!d->usable && strcmp(d->kind, "folder") == 0)
            d->problem = gt_diagnosis_text(
                d, "no traces, profiles, sweeps or reports in what can be read; %s cannot: %s",
                gt_buffer_str(&text).bytes, strerror(u.problem));
        gt_buffer_free(&text);
    }
    gt_free(u.first);
}

/* Whether the folder can be opened; otherwise says why not. */
static bool can_open(gt_diagnosis *d)
{
    DIR *dir = gt_opendir(d->path);
    if (!dir) {
        gt_diagnosis_is(d, "unreadable", "folder that cannot be read");
        d->problem = gt_diagnosis_text(d, "%s", strerror(errno));
        return false;
    }
    closedir(dir);
    return true;
}

static gt_diagnosis *examine_folder(const char *path, const gt_read_options *read)
{
    gt_log_record record = {0}; /* the parts have their messages */
    gt_log_record *before = gt_log_keep(&record);
    gt_diagnosis *d = gt_diagnosis_new(path);
    if (!can_open(d)) {
        gt_log_keep(before);
        gt_log_forget(&record);
        return d;
    }
    if (!is_sweep(d) && gt_rocprof_is_folder(path)) {
        gt_diagnosis_free(d);
        d = gt_doctor_examine(path, read);
        add_others(d);
    } else if (!d->usable && !has_profiles(d, read) && !has_pytorch(d, read) && !has_sheets(d)) {
        look_at_rest(d);
    }
    add_unreadable(d);
    gt_log_keep(before);
    gt_log_forget(&record);
    return d;
}

/* ---- the next command ---- */

/* Reports are written next to the trace; where that is not allowed, the command names another place. */
static void choose_output(gt_diagnosis *d)
{
    static const char report[] = "gputally report ";
    bool is_folder = gt_path_is_folder(d->path);
    if (!d->usable || !d->next || strncmp(d->next, report, strlen(report)) != 0 || strcmp(d->path, "-") == 0)
        return;
    char *folder = is_folder ? gt_strdup(d->path) : gt_path_folder(d->path);
    if (faccessat(AT_FDCWD, folder, W_OK, AT_EACCESS) != 0) {
        d->next = gt_diagnosis_command(d, "gputally report", d->path,
                                       is_folder ? "--output_csvs_dir report" : "-o report.xlsx");
        d->next_text = gt_diagnosis_text(d, "writes into the current folder, because %s cannot be written",
                                         is_folder ? "this folder" : "the folder of the trace");
    }
    gt_free(folder);
}

/* ---- the command ---- */

static bool write_json(const gt_call *call, gt_diagnosis *const *all, size_t count, gt_error *error)
{
    const char *path = gt_arguments_string(&call->arguments, "output_json");
    if (!path) return true;
    for (size_t i = 0; i < call->arguments.file_count; i++)
        if (!gt_check_not_input(path, call->arguments.files[i], error)) return false;
    gt_json_writer w = {0};
    gt_json_open(&w, '{');
    gt_json_put_cstr(&w, "schema", GT_DOCTOR_SCHEMA);
    gt_json_put_open(&w, "files", '[');
    for (size_t i = 0; i < count; i++) gt_diagnosis_json(all[i], &w);
    gt_json_close(&w, ']');
    gt_json_close(&w, '}');
    gt_buffer_add_cstr(&w.text, "\n");
    gt_output *output = gt_output_new();
    bool written =
        gt_output_write_file(output, path, gt_buffer_str(&w.text), error) && gt_output_commit(output, error);
    gt_output_free(output);
    gt_json_writer_free(&w);
    return written;
}

/* One line on stderr, also if names have line breaks. */
static void print_problem(const gt_diagnosis *d)
{
    gt_buffer line = {0}, shown = {0};
    gt_buffer_add_format(&line, "%s: %s: %s", d->path, d->what, d->problem ? d->problem : "not usable");
    gt_display_add(&shown, gt_buffer_str(&line), true);
    fprintf(stderr, "gputally: %s\n", gt_buffer_str(&shown).bytes);
    gt_buffer_free(&line);
    gt_buffer_free(&shown);
}

gt_exit gt_cmd_doctor(const gt_call *call)
{
    gt_error error;
    gt_read_options read;
    if (!gt_common_apply(call, &read, &error)) return gt_usage_error(call->program, "%s", error.text);
    bool quiet = gt_arguments_flag(&call->arguments, "quiet");
    size_t count = call->arguments.file_count;
    gt_diagnosis **all = gt_alloc(count * sizeof *all);
    gt_terminal terminal = gt_terminal_for(stdout);
    gt_exit status = GT_EXIT_DONE;
    for (size_t i = 0; i < count; i++) {
        const char *path = call->arguments.files[i];
        all[i] = gt_path_is_folder(path) ? examine_folder(path, &read) : gt_doctor_examine(path, &read);
        choose_output(all[i]);
        gt_progress_end();
        if (!all[i]->usable) status = GT_EXIT_FAILED;
        if (!quiet && i) putchar('\n');
        if (!quiet)
            gt_diagnosis_print(all[i], &terminal);
        else if (!all[i]->usable)
            print_problem(all[i]);
    }
    if (!write_json(call, all, count, &error)) {
        fprintf(stderr, "gputally: %s\n", error.text);
        status = GT_EXIT_FAILED;
    }
    for (size_t i = 0; i < count; i++) gt_diagnosis_free(all[i]);
    gt_free(all);
    return status;
}
