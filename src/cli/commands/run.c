/* `gputally run`: reads the options and the context, makes the plan, prints it or executes it, and writes the
 * reports on the traces of the run. */
#include "cli/commands/commands.h"
#include "base/memory.h"
#include "base/log.h"
#include "cli/common.h"
#include "os/paths.h"
#include "output/file.h"
#include "run/execute/execute.h"
#include "run/plan/context.h"
#include "run/targets/targets.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- reports on the files of a run ---- */

enum { DEPTH_MAX = 6, ENTRIES_MAX = 100000 };

static const char *const kinds[] = {"rocprof", "pftrace", "pytorch", "jax", "summary"};

typedef struct reporter {
    const gt_call *call;
    const gt_plan *plan;
    gt_outcome *outcome;
    const char *wanted;
    size_t entries; /* directory entries visited so far */
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

/* Whether the value of --report is auto, none, or a comma-separated list of kinds of reports. */
static bool check_reports(const char *wanted, gt_error *error)
{
    if (!wanted) return gt_fail(error, "--report: needs at least one report");
    if (strcmp(wanted, "auto") == 0 || strcmp(wanted, "none") == 0) return true;
    for (const char *at = wanted; *at; at += *at == ',') {
        size_t len = strcspn(at, ","), i = 0;
        while (i < GT_LENGTH(kinds) && !(strlen(kinds[i]) == len && memcmp(kinds[i], at, len) == 0)) i++;
        if (i == GT_LENGTH(kinds))
            return gt_fail(error,
                           "--report: invalid choice '%.*s' (choose from auto, none, rocprof, pftrace, "
                           "pytorch, jax, summary)",
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

/* Calls a report command with a trace, the names of its workbook and page, and the common options of this
 * call. */
static void make_report(reporter *r, const char *command_name, const char *trace, const char *workbook)
{
    const gt_command *command = gt_command_find(command_name);
    const gt_option_value *threads = gt_arguments_value(&r->call->arguments, "threads");
    const gt_option_value *memory = gt_arguments_value(&r->call->arguments, "max_memory");
    static char output[] = "--output_xlsx_path", html[] = "--output_html", quiet[] = "--quiet",
                no_progress[] = "--no_progress", strict[] = "--strict", cores[] = "--threads",
                max_memory[] = "--max_memory";
    const char *page = page_beside(r, command, workbook);
    char *words[12] = {(char *)trace, output, (char *)workbook};
    int count = 3;
    if (page) {
        words[count++] = html;
        words[count++] = (char *)page;
    }
    if (gt_arguments_flag(&r->call->arguments, "quiet")) words[count++] = quiet;
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
    gt_call report = {.command = command, .program = r->call->program};
    gt_error error;
    gt_exit status = GT_EXIT_FAILED;
    if (!gt_arguments_parse(&report.arguments, command->syntax, count, words, &error))
        fprintf(stderr, "gputally: %s\n", error.text);
    else
        status = command->run(&report);
    gt_arguments_free(&report.arguments);
    if (status == GT_EXIT_DONE) {
        gt_arg_list_add(r->plan->arena, &r->outcome->files, workbook);
        if (page) gt_arg_list_add(r->plan->arena, &r->outcome->files, page);
    } else {
        gt_warn("%s: no report written", trace);
    }
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

static void report_profiler(reporter *r, const gt_profiler *profiler)
{
    if (!has_results(r, profiler->output_dir)) return;
    if (profiler->kind == GT_PROFILER_RTL || profiler->kind == GT_PROFILER_RPD) {
        const char *name = profiler->kind == GT_PROFILER_RTL ? "trace.db" : "trace.rpd";
        const char *trace = gt_path_join(r->plan->arena, profiler->output_dir, name);
        if (wants(r, "rocprof") && access(trace, F_OK) == 0)
            make_report(r, "rocprof", trace, workbook_of(r, "perf_report.xlsx"));
        return;
    }
    if (wants(r, "rocprof"))
        make_report(r, "rocprof", profiler->output_dir, workbook_of(r, "perf_report.xlsx"));
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
    make_report(r, "pftrace-hip-activity", trace, workbook_of(r, "hip_activity.xlsx"));
    make_report(r, "pftrace-hip-api", trace, workbook_of(r, "hip_api.xlsx"));
    make_report(r, "pftrace-memory-copy", trace, workbook_of(r, "memory_copy.xlsx"));
}

/* ---- traces that the command wrote itself ---- */

static const struct {
    const char *kind, *ending;
} own_traces[] = {
    {"pytorch", ".pt.trace.json"},
    {"pytorch", ".pt.trace.json.gz"},
    {"jax", ".xplane.pb"},
};

static bool ends_with(const char *name, const char *ending)
{
    size_t len = strlen(name), end = strlen(ending);
    return len > end && strcmp(name + len - end, ending) == 0;
}

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
        make_report(r, own_traces[i].kind, path,
                    gt_arena_format(r->plan->arena, "%.*s_perf_report.xlsx",
                                    (int)(strlen(path) - strlen(own_traces[i].ending)), path));
    }
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
        else if (S_ISREG(status.st_mode) && status.st_mtim.tv_sec >= r->outcome->begin.tv_sec)
            report_own_trace(r, path);
    }
    if (dir) closedir(dir);
}

static void write_summary(reporter *r)
{
    const char *path;
    gt_error error;
    if (!gt_run_summary_write(r->plan, &path, &error))
        gt_warn("%s", error.text);
    else if (path)
        gt_arg_list_add(r->plan->arena, &r->outcome->files, path);
}

/* Writes the reports and adds their files to those of the outcome. A report that fails gives a warning
 * and does not change the status of the run. */
static void make_reports(const gt_call *call, const gt_plan *plan, gt_outcome *outcome, const char *wanted)
{
    reporter r = {.call = call, .plan = plan, .outcome = outcome, .wanted = wanted};
    if (strcmp(wanted, "none") == 0) return;
    for (size_t i = 0; i < plan->piece_count; i++)
        if (plan->pieces[i].profiler) report_profiler(&r, plan->pieces[i].profiler);
    if (wants(&r, "pftrace")) report_pftrace(&r);
    if (wants(&r, "pytorch") || wants(&r, "jax")) find_own_traces(&r, plan->workdir, 0);
    if (wants(&r, "summary")) write_summary(&r);
}

/* ---- command line ---- */

static const gt_option context_options[] = {
    {"additional_context_file", GT_OPTION_STRING, "FILE", NULL,
     "read the context (a JSON object) from FILE, or use a shipped config by name, such as "
     "rocprofv3_lightweight"},
    {"additional_context", GT_OPTION_STRING, "TEXT", NULL,
     "add a context as JSON or Python literal; each key overrides the key of the file"},
    {"tools", GT_OPTION_EACH, "NAMES", NULL, "add tools (comma-separated) after those of the context"},
    {"tools_config", GT_OPTION_STRING, "FILE", NULL,
     "load your own tools from FILE, in the format of madengine's tools.json"},
    {"list_tools", GT_OPTION_FLAG, NULL, NULL, "list the available tools and configs, and exit"},
    {"write_configs", GT_OPTION_STRING, "DIR", NULL, "write the shipped configs into DIR, and exit"},
};
static const gt_option_group context_group = {"Context", context_options, GT_LENGTH(context_options)};

static const gt_option run_options[] = {
    {"output_dir", GT_OPTION_STRING, "DIR", ".", "write traces, logs and reports into DIR"},
    {"report", GT_OPTION_STRING, "KINDS", "auto",
     "write these reports: auto, none, or a comma-separated list of rocprof, pftrace, pytorch, jax, summary"},
    {"name", GT_OPTION_STRING, "NAME", NULL,
     "set the name of the run, used in file names (default: name of the command)"},
    {"timeout", GT_OPTION_INT, "SECONDS", "-1",
     "stop the command after SECONDS; -1: 7200 seconds, 0: no limit"},
    {"dry_run", GT_OPTION_FLAG, NULL, NULL, "print the plan as JSON, and exit"},
    {"verbose", GT_OPTION_FLAG, NULL, NULL, "print the command line"},
    {"live_output", GT_OPTION_FLAG, NULL, NULL, "show the command's output",
     .unused = "the command's output is always shown"},
    {"summary_output", GT_OPTION_STRING, "FILE", NULL, "also write the run record to FILE"},
    {"sys_env_details", GT_OPTION_FLAG, NULL, NULL,
     "write NAME_env.csv, a description of this machine, even if the context says not to",
     .needs = "!no_sys_env_details"},
    {"no_sys_env_details", GT_OPTION_FLAG, NULL, NULL, "do not write NAME_env.csv"},
};
static const gt_option_group run_group = {"Run", run_options, GT_LENGTH(run_options)};

static const gt_option cluster_options[] = {
    {"docker", GT_OPTION_MAYBE, "IMAGE", NULL,
     "run the command in a container of this image (default: MAD_CONTAINER_IMAGE of the context)"},
    {"no_docker", GT_OPTION_FLAG, NULL, NULL,
     "do not use a container, even if the context has MAD_CONTAINER_IMAGE"},
    {"target", GT_OPTION_STRING, "WHERE", "auto",
     "run locally or as a job: auto, local, slurm or k8s; auto: slurm or k8s if the context has such a key, "
     "else local"},
    {"generate_only", GT_OPTION_FLAG, NULL, NULL, "write the job file without submitting it"},
};
static const gt_option_group cluster_group = {"Containers and clusters", cluster_options,
                                              GT_LENGTH(cluster_options)};

/* Options of madengine that are not supported: a usage error, so that none is silently ignored. */
static const gt_option unsupported_options[] = {
    {"tags", GT_OPTION_EACH, "TAGS", NULL, "choose models of models.json"},
    {"manifest_file", GT_OPTION_STRING, "FILE", NULL, "read the built images and models from a manifest"},
    {"registry", GT_OPTION_STRING, "HOST", NULL, "set the image registry"},
    {"keep_alive", GT_OPTION_FLAG, NULL, NULL, "keep the container running"},
    {"keep_model_dir", GT_OPTION_FLAG, NULL, NULL, "keep the model's folder in the container"},
    {"skip_model_run", GT_OPTION_FLAG, NULL, NULL, "prepare the container, without running the model"},
    {"clean_docker_cache", GT_OPTION_FLAG, NULL, NULL, "rebuild images"},
    {"manifest_output", GT_OPTION_STRING, "FILE", NULL, "write the manifest to FILE"},
    {"output", GT_OPTION_STRING, "FILE", NULL, "write a table of models and their performance"},
    {"data_config", GT_OPTION_STRING, "FILE", NULL, "read where the models' data comes from"},
    {"force_mirror_local", GT_OPTION_STRING, "DIR", NULL, "use a copy of the models' data on this machine"},
    {"disable_skip_gpu_arch", GT_OPTION_FLAG, NULL, NULL, "run models also on GPUs that they exclude"},
    {"ignore_deprecated", GT_OPTION_FLAG, NULL, NULL, "skip deprecated models"},
    {"cleanup_perf", GT_OPTION_FLAG, NULL, NULL, "clean up the table of models"},
};
static const gt_option_group unsupported_group = {"Unsupported madengine options (usage error)",
                                                  unsupported_options, GT_LENGTH(unsupported_options)};

static const gt_short_option short_options[] = {
    {'f', "additional_context_file"},
    {'c', "additional_context"},
    {'s', "summary_output"},
    {'l', "live_output"},
    {'v', "verbose"},
    {'t', "tags"},
    {'m', "manifest_file"},
    {'r', "registry"},
    {0},
};

const gt_syntax gt_run_syntax = {
    .groups = {&context_group, &run_group, &cluster_group, &unsupported_group, &gt_common_group},
    .main_options = {"additional_context_file", "tools", "output_dir", "report", "list_tools"},
    .files = "[--] COMMAND [ARG...]",
    .files_max = SIZE_MAX,
    .output_option = "output_dir",
    .short_options = short_options,
    .is_command = true,
};

/* Prints the one or two lines of an error in the context or the arguments. */
static gt_exit context_error(const gt_error *error)
{
    fprintf(stderr, "gputally: %s\n", error->text);
    return GT_EXIT_CONTEXT;
}

static gt_exit list_tools(void)
{
    puts("Tools (\"name\" in \"tools\" of a context, or --tools):");
    for (size_t i = 0; i < gt_tool_count(); i++) printf("  %-26s %s\n", gt_tool_name(i), gt_tool_purpose(i));
    puts("\nConfigs (-f NAME):");
    for (size_t i = 0; i < gt_config_count; i++)
        printf("  %-26s %s\n", gt_configs[i].name, gt_configs[i].purpose);
    return GT_EXIT_DONE;
}

/* A usage error if an option of madengine is given that gputally knows but does not support; otherwise
 * GT_EXIT_DONE. */
static gt_exit refuse_unsupported(const gt_call *call)
{
    for (size_t i = 0; i < GT_LENGTH(unsupported_options); i++)
        if (gt_arguments_value(&call->arguments, unsupported_options[i].name)->given)
            return gt_usage_error(call->program, "--%s: unsupported madengine option; see docs/run.md",
                                  unsupported_options[i].name);
    return GT_EXIT_DONE;
}

/* Appends "A,B" as entries {"name": "A"}, {"name": "B"} to the tools of the context. */
static const gt_value *add_tools(gt_arena *arena, const gt_value *context, const gt_option_value *option)
{
    const gt_value *tools = gt_value_get(context, "tools");
    for (size_t i = 0; i < option->text_count; i++)
        for (const char *at = option->texts[i]; *at;) {
            size_t len = strcspn(at, ","), blanks = strspn(at, " ");
            const char *name =
                gt_arena_bytes(arena, at + (blanks < len ? blanks : len), blanks < len ? len - blanks : 0);
            if (*name)
                tools = gt_settings_push(arena, tools,
                                         *gt_settings_with(arena, &gt_value_missing, "name",
                                                           gt_settings_copy_string(arena, name)));
            at += len + (at[len] == ',');
        }
    return option->text_count ? gt_settings_with(arena, context, "tools", *tools) : context;
}

/* The target of the run, from the option or the context. */
static const char *target_of(const gt_value *context, const char *wanted)
{
    const char *deploy = gt_settings_string(context, "deploy");
    if (wanted && strcmp(wanted, "auto") != 0) return wanted;
    if (gt_settings_has(context, "k8s") || gt_settings_has(context, "kubernetes")) return "k8s";
    if (gt_settings_has(context, "slurm")) return "slurm";
    return deploy ? deploy : "local";
}

/* Collects what the plan depends on: options, context and tools file. Strings are in the arena or are those
 * of the arguments. */
static bool make_request(const gt_call *call, gt_arena *arena, gt_plan_request *request, gt_error *error)
{
    const gt_arguments *a = &call->arguments;
    int64_t timeout = gt_arguments_int(a, "timeout");
    const char *tools_file = gt_arguments_string(a, "tools_config"), *name = gt_arguments_string(a, "name");
    if (timeout < -1)
        return gt_fail(error, "Timeout must be -1 (default), 0 (no timeout), or a positive integer");
    if (!check_reports(gt_arguments_string(a, "report"), error)) return false;
    if (name && (strchr(name, '/') || name[0] == '.'))
        return gt_fail(error, "--name: '%.200s' is not a valid file name", name);
    const gt_value *context = gt_context_load(arena, gt_arguments_string(a, "additional_context_file"),
                                              gt_arguments_string(a, "additional_context"), error);
    const gt_value *more =
        tools_file && context ? gt_settings_read(arena, tools_file, error) : &gt_value_missing;
    if (!context || !more) return false;
    const gt_option_value *docker = gt_arguments_value(a, "docker");
    const char *image = docker->text ? docker->text : gt_settings_string(context, "MAD_CONTAINER_IMAGE");
    if (gt_arguments_flag(a, "no_docker")) image = NULL;
    if (docker->given && !image)
        return gt_fail(error,
                       "--docker: needs an image: --docker=IMAGE or MAD_CONTAINER_IMAGE in the context");
    context = add_tools(arena, context, gt_arguments_value(a, "tools"));
    *request = (gt_plan_request){.context = context,
                                 .more_tools = more,
                                 .command = a->files,
                                 .command_count = a->file_count,
                                 .image = image,
                                 .name = name,
                                 .target = target_of(context, gt_arguments_string(a, "target")),
                                 .output_dir = gt_arguments_string(a, "output_dir"),
                                 .timeout_s = timeout == -1 ? 7200 : (double)timeout,
                                 .snapshot = !gt_arguments_flag(a, "no_sys_env_details"),
                                 .always_snapshot = gt_arguments_flag(a, "sys_env_details")};
    return true;
}

/* A usage error if the target is unknown; otherwise GT_EXIT_DONE. The target may come from the context, so
 * the option parser cannot check it. */
static gt_exit refuse_target(const gt_call *call, const char *target)
{
    static const char *const targets[] = {"local", "slurm", "k8s"};
    for (size_t i = 0; i < GT_LENGTH(targets); i++)
        if (strcmp(target, targets[i]) == 0) return GT_EXIT_DONE;
    return gt_usage_error(call->program,
                          "argument --target: invalid choice: '%.100s' (choose from auto, local, slurm, k8s)",
                          target);
}

static gt_exit print_plan(const gt_plan *plan)
{
    gt_json_writer w = {0};
    gt_json_open(&w, '{');
    gt_plan_write(plan, &w);
    gt_json_close(&w, '}');
    puts(gt_buffer_str(&w.text).bytes);
    gt_json_writer_free(&w);
    return GT_EXIT_DONE;
}

static void write_record(const gt_plan *plan, const gt_outcome *outcome, const char *path)
{
    gt_error error;
    if (!gt_record_write(plan, outcome, path, &error)) gt_warn("%s", error.text);
}

/* Runs the plan, then writes the reports and the record: also if the command failed, because what it recorded
 * until then is useful. */
static gt_exit execute_plan(const gt_call *call, gt_plan *plan)
{
    const char *summary = gt_arguments_string(&call->arguments, "summary_output");
    gt_outcome outcome;
    if (gt_arguments_flag(&call->arguments, "verbose")) gt_info("bash -c %s", plan->shell_line);
    bool done = gt_plan_execute(plan, &outcome);
    if (outcome.exit_code >= 0)
        make_reports(call, plan, &outcome, gt_arguments_string(&call->arguments, "report"));
    if (outcome.exit_code >= 0 || !outcome.failed) write_record(plan, &outcome, plan->record_path);
    if (summary) write_record(plan, &outcome, summary);
    return done ? GT_EXIT_DONE : GT_EXIT_RUN;
}

/* The options of `gputally run` on each node. */
static void node_options(const gt_call *call, gt_plan *plan, gt_arg_list *words)
{
    static const char *const passed_on[] = {"timeout", "report", "threads", "max_memory"};
    const gt_arguments *a = &call->arguments;
    const char *tools_file = gt_arguments_string(a, "tools_config");
    gt_arg_list_add(plan->arena, words, "--name");
    gt_arg_list_add(plan->arena, words, plan->name);
    for (size_t i = 0; i < GT_LENGTH(passed_on); i++) {
        if (!gt_arguments_value(a, passed_on[i])->given) continue;
        gt_arg_list_add(
            plan->arena, words,
            gt_arena_format(plan->arena, "--%s=%s", passed_on[i], gt_arguments_value(a, passed_on[i])->text));
    }
    if (tools_file) {
        gt_arg_list_add(plan->arena, words, "--tools_config");
        gt_arg_list_add(plan->arena, words, gt_path_absolute(plan->arena, plan->workdir, tools_file));
    }
    static const char *const flags[] = {"no_sys_env_details", "sys_env_details", "strict"};
    for (size_t i = 0; i < GT_LENGTH(flags); i++)
        if (gt_arguments_flag(a, flags[i]))
            gt_arg_list_add(plan->arena, words, gt_arena_format(plan->arena, "--%s", flags[i]));
    gt_arg_list_add(plan->arena, words, "--no_progress");
}

/* The nodes start this program by its absolute path, which must exist on all of them. */
static gt_exit run_on_slurm(const gt_call *call, gt_plan *plan)
{
    gt_arg_list words = {0};
    gt_error error;
    gt_slurm slurm;
    gt_exit status = GT_EXIT_DONE;
    char self[4096];
    ssize_t len = readlink("/proc/self/exe", self, sizeof self - 1);
    self[len > 0 ? len : 0] = 0;
    node_options(call, plan, &words);
    gt_slurm_request request = {plan, len > 0 ? self : "gputally", words.items, words.count};
    if (!gt_slurm_make(&request, &slurm, &error)) {
        status = context_error(&error);
    } else if (gt_arguments_flag(&call->arguments, "dry_run")) {
        plan->slurm = &slurm;
        status = print_plan(plan);
    } else if (!gt_slurm_write(plan, &slurm, &error)) {
        fprintf(stderr, "gputally: %s\n", error.text);
        status = GT_EXIT_FAILED;
    } else if (gt_arguments_flag(&call->arguments, "generate_only")) {
        printf("%s\n", slurm.script);
    } else {
        status = gt_slurm_run(plan, &slurm) ? GT_EXIT_DONE : GT_EXIT_RUN;
    }
    gt_buffer_free(&slurm.text);
    return status;
}

/* The image is that of the pods, not of the plan: in a pod, the command runs without docker. */
static gt_exit write_kubernetes(const gt_call *call, gt_plan *plan, const char *image)
{
    gt_arg_list words = {0};
    gt_error error;
    gt_kubernetes objects;
    if (!gt_arguments_flag(&call->arguments, "generate_only"))
        return gt_usage_error(call->program,
                              "target k8s: only the kubectl file can be written; add --generate_only");
    node_options(call, plan, &words);
    gt_exit status = GT_EXIT_CONTEXT;
    if (!gt_kubernetes_make(plan, image, words.items, words.count, &objects, &error)) {
        context_error(&error);
    } else {
        gt_output *output = gt_output_new();
        bool written = gt_output_write_file(output, objects.path, gt_buffer_str(&objects.text), &error) &&
                       gt_output_commit(output, &error);
        gt_output_free(output);
        status = written ? GT_EXIT_DONE : GT_EXIT_FAILED;
        if (written)
            printf("%s\n", objects.path);
        else
            fprintf(stderr, "gputally: %s\n", error.text);
    }
    gt_buffer_free(&objects.text);
    return status;
}

static gt_exit run_with(const gt_call *call, gt_arena *arena)
{
    gt_error error;
    gt_plan_request request;
    gt_plan plan;
    if (!make_request(call, arena, &request, &error)) return context_error(&error);
    if (refuse_target(call, request.target) != GT_EXIT_DONE) return GT_EXIT_USAGE;
    if (!call->arguments.file_count) {
        gt_fail(&error, "a command is required: gputally run [options] -- COMMAND [ARG...]");
        return context_error(&error);
    }
    const char *image = request.image;
    bool on_kubernetes = strcmp(request.target, "k8s") == 0;
    if (on_kubernetes) request.image = NULL;
    if (!gt_plan_make(arena, &request, &plan, &error)) return context_error(&error);
    if (on_kubernetes && !gt_arguments_flag(&call->arguments, "dry_run"))
        return write_kubernetes(call, &plan, image);
    if (strcmp(request.target, "slurm") == 0) return run_on_slurm(call, &plan);
    if (gt_arguments_flag(&call->arguments, "generate_only"))
        return gt_usage_error(call->program, "--generate_only: local run, no job file to write");
    return gt_arguments_flag(&call->arguments, "dry_run") ? print_plan(&plan) : execute_plan(call, &plan);
}

gt_exit gt_cmd_run(const gt_call *call)
{
    gt_error error;
    gt_read_options read;
    const char *folder = gt_arguments_string(&call->arguments, "write_configs");
    if (!gt_common_apply(call, &read, &error)) return gt_usage_error(call->program, "%s", error.text);
    if (gt_arguments_flag(&call->arguments, "list_tools")) return list_tools();
    if (folder) {
        if (gt_configs_write(folder, &error)) return GT_EXIT_DONE;
        fprintf(stderr, "gputally: %s\n", error.text);
        return GT_EXIT_FAILED;
    }
    if (refuse_unsupported(call) != GT_EXIT_DONE) return GT_EXIT_USAGE;
    gt_arena arena = {0};
    gt_exit status = run_with(call, &arena);
    gt_arena_free(&arena);
    return status;
}
