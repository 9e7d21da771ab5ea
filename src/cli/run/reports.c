/* The reports at the end of a run: on what the profiler wrote, and on traces that the command wrote itself.
 * Each is made by the report command of its kind, with the common options of this call. */
#include "cli/run/run.h"
#include "base/log.h"
#include "cli/commands/commands.h"
#include "cli/common.h"
#include "json/values.h"
#include "os/paths.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { DEPTH_MAX = 6, ENTRIES_MAX = 100000 };

static const char *const kinds[] = {"rocprof", "nsys", "ncu", "pftrace", "pytorch", "jax", "summary"};

typedef struct reporter {
    const gt_call *call;
    const gt_plan *plan;
    gt_outcome *outcome;
    const char *wanted;
    bool is_shown;       /* the first report was printed; the others are only written */
    gt_arg_list written; /* files of reports */
    size_t entries;      /* directory entries visited so far */
} reporter;

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

static bool wants(const reporter *r, const char *kind)
{
    return strcmp(r->wanted, "auto") == 0 || is_listed(r->wanted, kind, strlen(kind));
}

/* The page beside a workbook; NULL if the command makes none. */
static const char *page_beside(const reporter *r, const gt_command *command, const char *workbook)
{
    if (!gt_syntax_option(command->syntax, "output_html")) return NULL;
    size_t stem = strlen(workbook) - strlen(GT_WORKBOOK_ENDING);
    return gt_arena_format(r->plan->arena, "%.*s.html", (int)stem, workbook);
}

static void add_written(reporter *r, const char *path)
{
    gt_arg_list_add(r->plan->arena, &r->outcome->files, path);
    gt_arg_list_add(r->plan->arena, &r->written, path);
}

/* Adds the step time of a trace, from the findings of its report as JSON. */
static void take_step_time(reporter *r, const char *findings)
{
    gt_error ignored;
    const gt_value *report = gt_settings_read(r->plan->arena, findings, &ignored);
    const gt_value *step = report ? gt_value_get(report, "step_ms") : &gt_value_missing;
    const char *per = report ? gt_settings_string(report, "per") : NULL;
    if (!per || strcmp(per, "step") != 0 || step->type != GT_VALUE_FLOAT) return;
    gt_outcome *o = r->outcome;
    o->step_ms = (o->step_ms * (double)o->step_count + step->number) / (double)(o->step_count + 1);
    o->step_count++;
}

/* Calls a report command with a trace, the names of its workbook, its page and its findings (NULL: none), and
 * the common options of this call. */
static void make_report(reporter *r, const char *command_name, const char *trace, const char *workbook,
                        const char *findings)
{
    const gt_command *command = gt_command_find(command_name);
    const gt_option_value *threads = gt_arguments_value(&r->call->arguments, "threads");
    const gt_option_value *memory = gt_arguments_value(&r->call->arguments, "max_memory");
    static char output[] = "--output_xlsx_path", html[] = "--output_html", quiet[] = "--quiet",
                no_progress[] = "--no_progress", strict[] = "--strict", cores[] = "--threads",
                max_memory[] = "--max_memory", json[] = "--output_json";
    const char *page = page_beside(r, command, workbook);
    char *words[14] = {(char *)trace, output, (char *)workbook};
    int count = 3;
    if (page) {
        words[count++] = html;
        words[count++] = (char *)page;
    }
    if (findings) {
        words[count++] = json;
        words[count++] = (char *)findings;
    }
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
    gt_error error;
    gt_exit status = GT_EXIT_FAILED;
    if (!gt_arguments_parse(&report.arguments, command->syntax, count, words, &error))
        fprintf(stderr, "gputally: %s\n", error.text);
    else
        status = command->run(&report);
    gt_arguments_free(&report.arguments);
    if (status == GT_EXIT_DONE) {
        r->is_shown = true;
        add_written(r, workbook);
        if (page) add_written(r, page);
        if (findings) take_step_time(r, findings);
    } else {
        gt_warn("%s: no report written", trace);
    }
}

static bool ends_with(const char *name, const char *ending)
{
    size_t len = strlen(name), end = strlen(ending);
    return len > end && strcmp(name + len - end, ending) == 0;
}

/* OUTPUT_DIR/NAME_<ending> */
static const char *workbook_of(const reporter *r, const char *ending)
{
    return gt_arena_format(r->plan->arena, "%s/%s_%s", r->plan->output_dir, r->plan->name, ending);
}

/* ---- traces of the profiler ---- */

static bool has_results(const reporter *r, const char *folder)
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
static void report_nvidia(reporter *r, const gt_profiler *profiler)
{
    const char *kind = gt_profiler_kind_name(profiler->kind);
    const char *ending = profiler->kind == GT_PROFILER_NSYS ? ".sqlite" : ".csv";
    gt_arg_list exports = {0};
    size_t len = strlen(profiler->output_dir);
    for (size_t i = 0; i < r->outcome->files.count; i++) {
        const char *path = r->outcome->files.items[i];
        if (strncmp(path, profiler->output_dir, len) == 0 && path[len] == '/' && ends_with(path, ending))
            gt_arg_list_add(r->plan->arena, &exports, path);
    }
    for (size_t i = 0; wants(r, kind) && i < exports.count; i++) {
        const char *name = gt_path_name(exports.items[i]);
        const char *ends = exports.count == 1 ? "perf_report.xlsx"
                                              : gt_arena_format(r->plan->arena, "%.*s_perf_report.xlsx",
                                                                (int)(strlen(name) - strlen(ending)), name);
        make_report(r, profiler->kind == GT_PROFILER_NSYS ? "report" : "ncu", exports.items[i],
                    workbook_of(r, ends), NULL);
    }
}

static void report_profiler(reporter *r, const gt_profiler *profiler)
{
    if (gt_nvidia_is(profiler)) {
        report_nvidia(r, profiler);
        return;
    }
    if (!has_results(r, profiler->output_dir)) return;
    if (profiler->kind == GT_PROFILER_RTL || profiler->kind == GT_PROFILER_RPD) {
        const char *name = profiler->kind == GT_PROFILER_RTL ? "trace.db" : "trace.rpd";
        const char *trace = gt_path_join(r->plan->arena, profiler->output_dir, name);
        if (wants(r, "rocprof") && access(trace, F_OK) == 0)
            make_report(r, "report", trace, workbook_of(r, "perf_report.xlsx"), NULL);
        return;
    }
    if (wants(r, "rocprof"))
        make_report(r, "report", profiler->output_dir, workbook_of(r, "perf_report.xlsx"), NULL);
}

static void report_pftrace(reporter *r)
{
    const char *name = r->plan->profiler->trace_name;
    const char *folder = gt_path_join(r->plan->arena, r->plan->output_dir, "rocprof_output");
    const char *trace =
        gt_path_join(r->plan->arena, folder, name ? gt_path_name(name) : "model_trace.pftrace");
    bool is_of_this_run = false;
    for (size_t i = 0; i < r->outcome->files.count; i++)
        is_of_this_run = is_of_this_run || strcmp(r->outcome->files.items[i], trace) == 0;
    if (!is_of_this_run) return;
    make_report(r, "pftrace-hip-activity", trace, workbook_of(r, "hip_activity.xlsx"), NULL);
    make_report(r, "pftrace-hip-api", trace, workbook_of(r, "hip_api.xlsx"), NULL);
    make_report(r, "pftrace-memory-copy", trace, workbook_of(r, "memory_copy.xlsx"), NULL);
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
        if (ends_with(path, own_traces[i].ending)) return true;
    return false;
}

static void report_own_trace(reporter *r, const char *path)
{
    for (size_t i = 0; i < GT_LENGTH(own_traces); i++) {
        if (!ends_with(path, own_traces[i].ending) || !wants(r, own_traces[i].kind)) continue;
        int stem = (int)(strlen(path) - strlen(own_traces[i].ending));
        const char *beside = gt_arena_format(r->plan->arena, "%.*s", stem, path);
        if (r->outcome->is_trial) /* the next one would replace what is beside the trace */
            beside = gt_path_join(r->plan->arena, r->plan->output_dir, gt_path_name(beside));
        const char *workbook = gt_arena_format(r->plan->arena, "%s_perf_report.xlsx", beside);
        const char *findings = gt_arena_format(r->plan->arena, "%s.findings.json", beside);
        if (r->outcome->is_trial)
            make_report(r, "report", path, workbook, findings);
        else
            make_report(r, own_traces[i].kind, path, workbook, NULL);
    }
}

/* Whether a file was changed after that time. The clock of files is a little behind. */
static bool is_newer(const struct stat *status, const struct timespec *begin)
{
    static const double behind_s = 0.02;
    double seconds = (double)(status->st_mtim.tv_sec - begin->tv_sec);
    return seconds + (double)(status->st_mtim.tv_nsec - begin->tv_nsec) * 1e-9 >= -behind_s;
}

/* Reports on files that are newer than the start of the run. */
static void find_own_traces(reporter *r, const char *folder, int depth)
{
    DIR *dir = opendir(folder);
    struct dirent *entry;
    while (dir && (entry = readdir(dir)) && r->entries++ < ENTRIES_MAX) {
        struct stat status;
        const char *path = gt_path_join(r->plan->arena, folder, entry->d_name);
        if (entry->d_name[0] == '.' || lstat(path, &status) != 0) continue;
        if (S_ISDIR(status.st_mode) && depth < DEPTH_MAX)
            find_own_traces(r, path, depth + 1);
        else if (!S_ISDIR(status.st_mode) && !S_ISLNK(status.st_mode) && is_own_trace(path) &&
                 !gt_path_may_open(path))
            continue;
        else if (S_ISREG(status.st_mode) && is_newer(&status, &r->outcome->begin))
            report_own_trace(r, path);
    }
    if (dir) closedir(dir);
}

static void write_summary(reporter *r)
{
    const char *path;
    gt_error error;
    if (!gt_run_summary_write(r->plan, r->outcome, &path, &error))
        gt_warn("%s", error.text);
    else if (path)
        add_written(r, path);
}

/* The folders of traces, then the reports. */
static void print_written(const reporter *r)
{
    if (r->is_shown) putchar('\n');
    for (size_t i = 0; i < r->plan->piece_count; i++) {
        const gt_profiler *profiler = r->plan->pieces[i].profiler;
        if (profiler && has_results(r, profiler->output_dir)) printf("traces in %s\n", profiler->output_dir);
    }
    for (size_t i = 0; i < r->written.count; i++) printf("wrote %s\n", r->written.items[i]);
    fflush(stdout);
}

void gt_run_reports_write(const gt_call *call, const gt_plan *plan, gt_outcome *outcome)
{
    const char *wanted = gt_arguments_string(&call->arguments, "report");
    reporter r = {.call = call, .plan = plan, .outcome = outcome, .wanted = wanted};
    if (strcmp(wanted, "none") == 0) return;
    if (outcome->trials) { /* each repeat has its own reports */
        if (wants(&r, "summary")) write_summary(&r);
        if (!gt_arguments_flag(&call->arguments, "quiet")) print_written(&r);
        return;
    }
    for (size_t i = 0; i < plan->piece_count; i++)
        if (plan->pieces[i].profiler) report_profiler(&r, plan->pieces[i].profiler);
    if (wants(&r, "pftrace")) report_pftrace(&r);
    if (wants(&r, "pytorch") || wants(&r, "jax")) find_own_traces(&r, plan->workdir, 0);
    if (wants(&r, "summary")) write_summary(&r);
    if (!gt_arguments_flag(&call->arguments, "quiet") && !outcome->is_trial) print_written(&r);
}
