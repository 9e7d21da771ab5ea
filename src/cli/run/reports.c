/* The reports at the end of a run: on what the profiler wrote, and on traces that the command wrote itself.
 * Each is made by the report command of its kind, with the common options of this call. */
#include "cli/run/reports.h"
#include "cli/commands/commands.h"
#include "os/own.h"
#include "os/paths.h"
#include "output/file.h"

enum { DEPTH_MAX = 6, ENTRIES_MAX = 100000, COPY_BYTES = 1 << 20 };

/* Those of profilers first. */
static const char *const kinds[] = {"rocprof", "nsys", "ncu", "pftrace", "pytorch", "jax", "summary"};

static bool is_listed(const char *list, const char *word, size_t len)
{
    for (; *list; list += *list == ',') {
        size_t part = strcspn(list, ",");
        if (part == len && memcmp(list, word, len) == 0) return true;
        list += part;
    }
    return false;
}

bool gt_run_reports_check(const char *wanted, gt_error *error)
{
    if (!wanted) return gt_fail(error, "--report: needs at least one report");
    if (strcmp(wanted, "auto") == 0 || strcmp(wanted, "none") == 0) return true;
    for (const char *at = wanted; *at; at += *at == ',') {
        size_t len = strcspn(at, ","), i = 0;
        while (i < GT_LENGTH(kinds) && !(strlen(kinds[i]) == len && memcmp(kinds[i], at, len) == 0)) i++;
        if (i == GT_LENGTH(kinds))
            return gt_fail(error,
                           "--report: invalid choice '%.*s' (choose from auto, none, rocprof, nsys, ncu, "
                           "pftrace, pytorch, jax, summary)",
                           len < 100 ? (int)len : 100, at);
        at += len;
    }
    return true;
}

bool gt_reporter_wants(const gt_reporter *r, const char *kind)
{
    return strcmp(r->wanted, "auto") == 0 || is_listed(r->wanted, kind, strlen(kind));
}

/* The page next to a workbook; NULL if the command makes none. */
static const char *page_beside(const gt_reporter *r, const gt_command *command, const char *workbook)
{
    if (!gt_syntax_option(command->syntax, "output_html")) return NULL;
    size_t stem = strlen(workbook) - strlen(GT_WORKBOOK_ENDING);
    return gt_arena_format(r->plan->arena, "%.*s.html", (int)stem, workbook);
}

void gt_reporter_add(gt_reporter *r, const char *path)
{
    gt_arg_list_add(r->plan->arena, &r->outcome->files, path);
    gt_arg_list_add(r->plan->arena, &r->written, path);
}

/* Where a report puts its findings for take_step_time. */
static const char *findings_file(const gt_reporter *r)
{
    return gt_arena_format(r->plan->arena, "%s/%s.findings.json", r->plan->output_dir, r->plan->name);
}

/* Adds the step time of a trace, from the findings of its report as JSON, which nobody needs afterwards. */
static void take_step_time(gt_reporter *r, const char *findings)
{
    gt_error ignored;
    const gt_value *report = gt_settings_read(r->plan->arena, findings, &ignored);
    unlink(findings);
    const gt_value *step = report ? gt_value_get(report, "step_ms") : &gt_value_missing;
    const char *per = report ? gt_settings_string(report, "per") : NULL;
    if (!per || strcmp(per, "step") != 0 || step->type != GT_VALUE_FLOAT) return;
    gt_outcome *o = r->outcome;
    o->step_ms = (o->step_ms * (double)o->step_count + step->number) / (double)(o->step_count + 1);
    o->step_count++;
}

/* Calls a report command with these words and the common options of this call. */
static bool call_report(gt_reporter *r, const gt_command *command, char **words, int count)
{
    const gt_option_value *threads = gt_arguments_value(&r->call->arguments, "threads");
    const gt_option_value *memory = gt_arguments_value(&r->call->arguments, "max_memory");
    static char quiet[] = "--quiet", no_progress[] = "--no_progress", strict[] = "--strict",
                cores[] = "--threads", max_memory[] = "--max_memory";
    if (r->is_shown || r->outcome->is_trial || gt_arguments_flag(&r->call->arguments, "quiet"))
        words[count++] = quiet;
    if (gt_arguments_flag(&r->call->arguments, "no_progress")) words[count++] = no_progress;
    if (gt_arguments_flag(&r->call->arguments, "strict")) words[count++] = strict;
    if (threads->given) {
        words[count++] = cores;
        words[count++] = (char *)threads->text;
    }
    if (memory->given) {
        words[count++] = max_memory;
        words[count++] = (char *)memory->text;
    }
    gt_call report = {.command = command, .program = r->call->program, .answers_only = true};
    if (!r->is_shown) report.first_finding = &r->finding;
    gt_error error;
    gt_exit status = GT_EXIT_FAILED;
    if (!gt_arguments_parse(&report.arguments, command->syntax, count, words, &error))
        fprintf(stderr, "gputally: %s\n", error.text);
    else
        status = command->run(&report);
    gt_arguments_free(&report.arguments);
    return status == GT_EXIT_DONE;
}

enum { WORDS_MAX = 14 };

/* The report of a trace, with the names of its workbook, its page and its findings (NULL: none). */
static void make_report(gt_reporter *r, const char *command_name, const char *trace, const char *workbook,
                        const char *findings)
{
    const gt_command *command = gt_command_find(command_name);
    static char output[] = "--output_xlsx_path", html[] = "--output_html", json[] = "--output_json";
    const char *page = page_beside(r, command, workbook);
    char *words[WORDS_MAX] = {(char *)trace, output, (char *)workbook};
    int count = 3;
    if (page) {
        words[count++] = html;
        words[count++] = (char *)page;
    }
    if (findings) {
        words[count++] = json;
        words[count++] = (char *)findings;
    }
    if (!call_report(r, command, words, count)) {
        gt_warn("%s: no report written", trace);
        return;
    }
    if (!r->is_shown) r->page = page;
    r->is_shown = true;
    gt_reporter_add(r, workbook);
    if (page) gt_reporter_add(r, page);
    if (findings) take_step_time(r, findings);
}

void gt_reporter_make(gt_reporter *r, const char *command_name, const char *trace, const char *workbook)
{
    make_report(r, command_name, trace, workbook, NULL);
}

/* OUTPUT_DIR/NAME_<ending> */
static const char *workbook_of(const gt_reporter *r, const char *ending)
{
    return gt_arena_format(r->plan->arena, "%s/%s_%s", r->plan->output_dir, r->plan->name, ending);
}

/* ---- traces of the profiler ---- */

static bool has_results(const gt_reporter *r, const char *folder)
{
    size_t len = strlen(folder);
    for (size_t i = 0; i < r->outcome->files.count; i++) {
        const char *path = r->outcome->files.items[i];
        if (strncmp(path, folder, len) == 0 && !strstr(path, "/counters/")) return true;
    }
    return false;
}

/* Reports on the exports of NVIDIA's profilers: NAME_perf_report.xlsx, or NAME_HOST_PID_perf_report.xlsx if
 * there are several, because each process or range was captured on its own. */
static void report_nvidia(gt_reporter *r, const gt_profiler *profiler)
{
    const char *kind = gt_profiler_kind_name(profiler->kind);
    const char *ending = profiler->kind == GT_PROFILER_NSYS ? ".sqlite" : ".csv";
    gt_arg_list exports = {0};
    size_t len = strlen(profiler->output_dir);
    for (size_t i = 0; i < r->outcome->files.count; i++) {
        const char *path = r->outcome->files.items[i];
        if (strncmp(path, profiler->output_dir, len) == 0 && path[len] == '/' && gt_has_ending(path, ending))
            gt_arg_list_add(r->plan->arena, &exports, path);
    }
    for (size_t i = 0; gt_reporter_wants(r, kind) && i < exports.count; i++) {
        const char *name = gt_path_name(exports.items[i]);
        const char *ends = exports.count == 1 ? "perf_report.xlsx"
                                              : gt_arena_format(r->plan->arena, "%.*s_perf_report.xlsx",
                                                                (int)(strlen(name) - strlen(ending)), name);
        make_report(r, profiler->kind == GT_PROFILER_NSYS ? "report" : "ncu", exports.items[i],
                    workbook_of(r, ends), NULL);
    }
}

static void report_profiler(gt_reporter *r, const gt_profiler *profiler)
{
    if (gt_nvidia_is(profiler)) {
        report_nvidia(r, profiler);
        return;
    }
    if (!has_results(r, profiler->output_dir)) return;
    if (profiler->kind == GT_PROFILER_RTL || profiler->kind == GT_PROFILER_RPD) {
        const char *name = profiler->kind == GT_PROFILER_RTL ? "trace.db" : "trace.rpd";
        const char *trace = gt_path_join(r->plan->arena, profiler->output_dir, name);
        if (gt_reporter_wants(r, "rocprof") && access(trace, F_OK) == 0)
            gt_reporter_make(r, "report", trace, workbook_of(r, "perf_report.xlsx"));
        return;
    }
    if (gt_reporter_wants(r, "rocprof"))
        gt_reporter_make(r, "report", profiler->output_dir, workbook_of(r, "perf_report.xlsx"));
}

static void report_pftrace(gt_reporter *r)
{
    const char *name = r->plan->profiler->trace_name;
    const char *folder = gt_path_join(r->plan->arena, r->plan->output_dir, "rocprof_output");
    const char *trace =
        gt_path_join(r->plan->arena, folder, name ? gt_path_name(name) : "model_trace.pftrace");
    bool is_of_this_run = false;
    for (size_t i = 0; i < r->outcome->files.count; i++)
        is_of_this_run = is_of_this_run || strcmp(r->outcome->files.items[i], trace) == 0;
    if (!is_of_this_run) return;
    gt_reporter_make(r, "pftrace-hip-activity", trace, workbook_of(r, "hip_activity.xlsx"));
    gt_reporter_make(r, "pftrace-hip-api", trace, workbook_of(r, "hip_api.xlsx"));
    gt_reporter_make(r, "pftrace-memory-copy", trace, workbook_of(r, "memory_copy.xlsx"));
}

/* ---- traces that the command wrote itself ---- */

static const struct {
    const char *kind, *ending;
} own_traces[] = {
    {"pytorch", ".pt.trace.json"},
    {"pytorch", ".pt.trace.json.gz"},
    {"jax", ".xplane.pb"},
};

static bool is_own_trace(const char *path)
{
    for (size_t i = 0; i < GT_LENGTH(own_traces); i++)
        if (gt_has_ending(path, own_traces[i].ending)) return true;
    return false;
}

/* Where the report of a trace goes, without its ending: next to the trace; of a repeat into its folder, with
 * the trace's path below the work folder, because the next one would replace what is next to the trace. Two
 * traces whose names differ only in the ending get different names. */
static const char *report_stem(gt_reporter *r, const char *path, int len)
{
    gt_arena *arena = r->plan->arena;
    const char *output = r->plan->output_dir, *work = r->plan->workdir;
    const char *stem = gt_arena_format(arena, "%.*s", len, path);
    size_t below = strlen(output), root = strlen(work);
    bool is_in_output = strncmp(path, output, below) == 0 && path[below] == '/';
    if (r->outcome->is_trial && !is_in_output && strncmp(path, work, root) == 0) {
        gt_error error;
        stem = gt_path_join(arena, output, stem + root + strspn(stem + root, "/"));
        char *folder = gt_path_folder(stem);
        if (!gt_path_make_folder(folder, &error)) gt_warn("%s", error.text);
        gt_free(folder);
    }
    if (!r->stems) r->stems = gt_interner_new();
    const char *name = stem;
    for (int n = 2; gt_interner_find(r->stems, name, strlen(name)) != GT_STR_NONE; n++)
        name = gt_arena_format(arena, "%s_%d", stem, n);
    gt_interner_add_cstr(r->stems, name);
    return name;
}

static void report_own_trace(gt_reporter *r, const char *path)
{
    for (size_t i = 0; i < GT_LENGTH(own_traces); i++) {
        if (!gt_has_ending(path, own_traces[i].ending) || !gt_reporter_wants(r, own_traces[i].kind)) continue;
        int stem = (int)(strlen(path) - strlen(own_traces[i].ending));
        const char *workbook =
            gt_arena_format(r->plan->arena, "%s_perf_report.xlsx", report_stem(r, path, stem));
        make_report(r, "report", path, workbook, r->outcome->is_trial ? findings_file(r) : NULL);
    }
}

/* Files of a report of all ranks. The report names them itself if it is printed. */
static void add_rank_files(gt_reporter *r, const char *folder)
{
    static const char *const endings[] = {".xlsx", ".html"};
    gt_folder_list names = gt_list_folder(folder);
    for (size_t i = 0; i < names.count; i++)
        for (size_t k = 0; k < GT_LENGTH(endings); k++)
            if (gt_has_ending(names.items[i], endings[k])) {
                const char *path = gt_path_join(r->plan->arena, folder, names.items[i]);
                gt_arg_list_add(r->plan->arena, &r->outcome->files, path);
                if (r->is_shown) gt_arg_list_add(r->plan->arena, &r->written, path);
            }
    gt_folder_list_free(&names);
}

/* One report of all ranks, from a folder that has only their traces. False if there is none. */
static bool report_ranks(gt_reporter *r, const char *folder)
{
    gt_error error;
    char *words[WORDS_MAX] = {(char *)folder};
    if (!gt_run_ranks_link(r->plan->arena, &r->own, folder, &error)) {
        if (error.text[0]) gt_warn("%s", error.text);
        return false;
    }
    if (!call_report(r, gt_command_find("report"), words, 1))
        gt_warn("%s: not all reports were written", folder);
    const char *page = gt_path_join(r->plan->arena, folder, GT_COLLECTIVE_PAGE);
    if (!r->is_shown && access(page, F_OK) == 0) r->page = page;
    add_rank_files(r, folder);
    r->is_shown = true;
    return true;
}

/* A repeat also needs the step time of each rank. Its links to the traces are removed: the next run may write
 * to the same files, and then the links would show what this report is not about. */
static void finish_ranks_of_trial(gt_reporter *r, const char *folder)
{
    static char json[] = "--output_json";
    const char *findings = findings_file(r);
    gt_folder_list names = gt_list_folder(folder);
    for (size_t i = 0; i < names.count; i++) {
        if (!gt_has_ending(names.items[i], "_trace.json") && !gt_has_ending(names.items[i], "_trace.json.gz"))
            continue;
        const char *trace = gt_path_join(r->plan->arena, folder, names.items[i]);
        char *words[WORDS_MAX] = {(char *)trace, json, (char *)findings};
        if (call_report(r, gt_command_find("report"), words, 3)) take_step_time(r, findings);
        unlink(trace);
    }
    gt_folder_list_free(&names);
}

void gt_reporter_own_traces(gt_reporter *r, const char *folder)
{
    if (!r->own.count) return;
    gt_run_traces_sort(&r->own);
    if (!report_ranks(r, folder))
        for (size_t i = 0; i < r->own.count; i++) report_own_trace(r, r->own.items[i].path);
    else if (r->outcome->is_trial)
        finish_ranks_of_trial(r, folder);
}

static bool copy_bytes(const char *from, const char *to)
{
    int in = gt_open(from, O_RDONLY | O_CLOEXEC),
        out = gt_open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    ssize_t count = in < 0 || out < 0 ? -1 : 1;
    char *block = gt_alloc(COPY_BYTES);
    while (count > 0 && (count = read(in, block, COPY_BYTES)) > 0)
        if (gt_write_fully(out, block, (size_t)count) != 0) count = -1;
    gt_free(block);
    if (in >= 0) close(in);
    if (out >= 0 && close(out) != 0) count = -1;
    return count == 0;
}

/* The path below the work folder is kept. A copy of an earlier run is replaced. */
static void copy_trace(gt_reporter *r, const char *path)
{
    gt_error error;
    size_t len = strlen(r->plan->workdir), own = strlen(r->copy_to);
    if (strncmp(path, r->copy_to, own) == 0 && path[own] == '/') return; /* a copy itself */
    const char *to = gt_path_join(r->plan->arena, r->copy_to, path + len + strspn(path + len, "/"));
    char *folder = gt_path_folder(to);
    bool ok = gt_path_make_folder(folder, &error);
    gt_free(folder);
    if (!ok) {
        gt_warn("%s", error.text);
        return;
    }
    unlink(to);
    if (link(path, to) == 0 || copy_bytes(path, to))
        gt_arg_list_add(r->plan->arena, &r->outcome->files, to);
    else
        gt_warn("%s: could not be copied to %s: %s", path, to, strerror(errno));
}

/* PyTorch traces are kept for a report of all of them. */
static void take_own_trace(gt_reporter *r, const char *path, int64_t node)
{
    if (!is_own_trace(path)) return;
    if (r->copy_to) {
        copy_trace(r, path);
        return;
    }
    if (gt_has_ending(path, ".xplane.pb"))
        report_own_trace(r, path);
    else if (gt_reporter_wants(r, "pytorch"))
        gt_run_traces_add(&r->own, r->plan->arena, path, node);
}

/* Whether a file was changed after that time. The clock of files is a little behind. */
static bool is_newer(const struct stat *status, const struct timespec *begin)
{
    static const double behind_s = 0.02;
    double seconds = (double)(status->st_mtim.tv_sec - begin->tv_sec);
    return seconds + (double)(status->st_mtim.tv_nsec - begin->tv_nsec) * 1e-9 >= -behind_s;
}

/* Files that are newer than the start of the run. */
void gt_reporter_find(gt_reporter *r, const char *folder, int64_t node, int depth)
{
    DIR *dir = gt_opendir(folder);
    struct dirent *entry;
    while (dir && (entry = readdir(dir)) && r->entries++ < ENTRIES_MAX) {
        struct stat status;
        const char *path = gt_path_join(r->plan->arena, folder, entry->d_name);
        if (entry->d_name[0] == '.' || lstat(path, &status) != 0) continue;
        if (S_ISDIR(status.st_mode) && depth < DEPTH_MAX)
            gt_reporter_find(r, path, node, depth + 1);
        else if (!S_ISDIR(status.st_mode) && !S_ISLNK(status.st_mode) && is_own_trace(path) &&
                 !gt_path_may_open(path))
            continue;
        else if (S_ISREG(status.st_mode) && is_newer(&status, &r->outcome->begin))
            take_own_trace(r, path, node);
    }
    if (dir) closedir(dir);
}

static void write_summary(gt_reporter *r)
{
    const char *path;
    gt_error error;
    if (!gt_run_summary_write(r->plan, r->outcome, &path, &error))
        gt_warn("%s", error.text);
    else if (path)
        gt_reporter_add(r, path);
}

/* The first finding, and the page to open. */
void gt_reporter_print_last(const gt_reporter *r)
{
    if (r->finding.len) {
        fputs("first finding: ", stdout);
        for (size_t i = 0; i < r->finding.len; i++)
            putchar(iscntrl((unsigned char)r->finding.bytes[i]) ? '?' : r->finding.bytes[i]);
        putchar('\n');
    }
    if (r->page) printf("open %s\n", r->page);
}

/* The folders of traces, then the reports. */
static void print_written(const gt_reporter *r)
{
    if (r->is_shown) putchar('\n');
    for (size_t i = 0; i < r->plan->piece_count; i++) {
        const gt_profiler *profiler = r->plan->pieces[i].profiler;
        if (profiler && has_results(r, profiler->output_dir)) printf("traces in %s\n", profiler->output_dir);
    }
    for (size_t i = 0; i < r->written.count; i++) printf("wrote %s\n", r->written.items[i]);
    gt_reporter_print_last(r);
    fflush(stdout);
}

/* A folder that does not exist yet: another run may have begun in the same second. */
static const char *new_ranks_folder(const gt_plan *plan)
{
    const char *base =
        gt_arena_format(plan->arena, "%s/ranks/%s_%s", plan->output_dir, plan->name, plan->timestamp);
    const char *folder = base;
    for (int i = 2; access(folder, F_OK) == 0 && i < 1000; i++)
        folder = gt_arena_format(plan->arena, "%s_%d", base, i);
    return folder;
}

void gt_reporter_free(gt_reporter *r)
{
    gt_run_traces_free(&r->own);
    gt_interner_free(r->stems);
    gt_buffer_free(&r->finding);
}

static void write_reports(const gt_call *call, const gt_plan *plan, gt_outcome *outcome)
{
    const char *wanted = gt_arguments_string(&call->arguments, "report");
    gt_reporter r = {.call = call, .plan = plan, .outcome = outcome, .wanted = wanted};
    if (gt_arguments_flag(&call->arguments, "copy_traces")) {
        r.copy_to = gt_path_join(plan->arena, plan->output_dir, "traces");
        gt_reporter_find(&r, plan->workdir, 0, 0);
        r.copy_to = NULL;
        r.entries = 0;
    }
    if (strcmp(wanted, "none") == 0) return;
    if (outcome->trials) { /* each repeat has its own reports */
        if (gt_reporter_wants(&r, "summary")) write_summary(&r);
        if (!gt_arguments_flag(&call->arguments, "quiet")) print_written(&r);
        return;
    }
    for (size_t i = 0; i < plan->piece_count; i++)
        if (plan->pieces[i].profiler) report_profiler(&r, plan->pieces[i].profiler);
    if (gt_reporter_wants(&r, "pftrace")) report_pftrace(&r);
    if (gt_reporter_wants(&r, "pytorch") || gt_reporter_wants(&r, "jax"))
        gt_reporter_find(&r, plan->workdir, 0, 0);
    gt_reporter_own_traces(&r, new_ranks_folder(plan));
    if (gt_reporter_wants(&r, "summary")) write_summary(&r);
    if (!gt_arguments_flag(&call->arguments, "quiet") && !outcome->is_trial) print_written(&r);
    gt_reporter_free(&r);
}

void gt_run_reports_write(const gt_call *call, const gt_plan *plan, gt_outcome *outcome)
{
    write_reports(call, plan, outcome);
    gt_reporter r = {.wanted = gt_arguments_string(&call->arguments, "report")};
    bool has_reports = false; /* of the profiler */
    for (size_t i = 0; !outcome->trials && i < GT_LENGTH(kinds) && strcmp(kinds[i], "pytorch") != 0; i++)
        has_reports = has_reports || gt_reporter_wants(&r, kinds[i]);
    gt_earlier_remove(plan, outcome, has_reports);
}
