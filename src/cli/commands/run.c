/* `gputally run`: reads the options and the context, makes the plan, and prints it or carries it out. */
#include "cli/commands/run.h"
#include "base/length.h"
#include "base/log.h"
#include "cli/common.h"
#include "cli/commands/run_reports.h"
#include "output/file.h"
#include "run/plan/configs.h"
#include "run/plan/context.h"
#include "run/execute/execute.h"
#include "run/targets/kubernetes.h"
#include "os/paths.h"
#include "run/targets/slurm.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const gt_option context_options[] = {
    {"additional_context_file", GT_OPTION_STRING, "FILE", NULL,
     "settings of the run, a JSON object; or the name of a shipped config, such as rocprofv3_lightweight"},
    {"additional_context", GT_OPTION_STRING, "TEXT", NULL,
     "settings as JSON or as a Python literal; each key replaces that of the file"},
    {"tools", GT_OPTION_EACH, "NAMES", NULL,
     "more tools, with commas between them, behind those of the context"},
    {"tools_config", GT_OPTION_STRING, "FILE", NULL,
     "tools of your own, in the layout of madengine's tools.json"},
    {"list_tools", GT_OPTION_FLAG, NULL, NULL,
     "print the tools and configs that there are, and do nothing else"},
    {"write_configs", GT_OPTION_STRING, "DIR", NULL,
     "write the shipped configs into this folder, and do nothing else"},
};

static const gt_option run_options[] = {
    {"output_dir", GT_OPTION_STRING, "DIR", ".", "where traces, logs and reports go"},
    {"name", GT_OPTION_STRING, "NAME", NULL, "the run's name, in file names (default: the command's)"},
    {"timeout", GT_OPTION_INT, "SECONDS", "-1",
     "how long the command may run; -1: 7200 seconds, 0: no limit"},
    {"target", GT_OPTION_STRING, "WHERE", "auto",
     "auto, local, slurm or k8s; auto: slurm or k8s where the context has such a key, else local"},
    {"report", GT_OPTION_STRING, "KINDS", "auto",
     "reports to make: auto, none, or some of rocprof, pftrace, pytorch, jax, summary with commas between "
     "them"},
    {"docker", GT_OPTION_MAYBE, "IMAGE", NULL,
     "run the command inside of a container of this image (default: MAD_CONTAINER_IMAGE of the context)"},
    {"no_docker", GT_OPTION_FLAG, NULL, NULL,
     "run it on this machine although the context has MAD_CONTAINER_IMAGE"},
    {"generate_only", GT_OPTION_FLAG, NULL, NULL,
     "of a SLURM or Kubernetes job: write its file and do not submit it"},
    {"dry_run", GT_OPTION_FLAG, NULL, NULL, "print what would be done, as JSON, and start nothing"},
    {"sys_env_details", GT_OPTION_FLAG, NULL, NULL,
     "write NAME_env.csv, a description of this machine; so by default"},
    {"no_sys_env_details", GT_OPTION_FLAG, NULL, NULL, "do not write NAME_env.csv"},
    {"summary_output", GT_OPTION_STRING, "FILE", NULL, "write the record of the run here, too"},
    {"live_output", GT_OPTION_FLAG, NULL, NULL, "show the command's output; so by default"},
    {"verbose", GT_OPTION_FLAG, NULL, NULL, "print the line that is run"},
};

/* What madengine has and this version has not: refused by name, never passed over. */
static const gt_option missing_options[] = {
    {"tags", GT_OPTION_EACH, "TAGS", NULL, "models of models.json"},
    {"manifest_file", GT_OPTION_STRING, "FILE", NULL, "images and models that were built"},
    {"registry", GT_OPTION_STRING, "HOST", NULL, "where images are"},
    {"keep_alive", GT_OPTION_FLAG, NULL, NULL, "leave the container running"},
    {"keep_model_dir", GT_OPTION_FLAG, NULL, NULL, "leave the model's folder in the container"},
    {"skip_model_run", GT_OPTION_FLAG, NULL, NULL, "prepare the container only"},
    {"clean_docker_cache", GT_OPTION_FLAG, NULL, NULL, "build images anew"},
    {"manifest_output", GT_OPTION_STRING, "FILE", NULL, "where the manifest goes"},
    {"output", GT_OPTION_STRING, "FILE", NULL, "table of models and their performance"},
    {"data_config", GT_OPTION_STRING, "FILE", NULL, "where models' data comes from"},
    {"force_mirror_local", GT_OPTION_STRING, "DIR", NULL, "a copy of models' data on this machine"},
    {"disable_skip_gpu_arch", GT_OPTION_FLAG, NULL, NULL, "run models also on GPUs that they exclude"},
    {"ignore_deprecated", GT_OPTION_FLAG, NULL, NULL, "pass over models that are deprecated"},
    {"cleanup_perf", GT_OPTION_FLAG, NULL, NULL, "tidy the table of models"},
};

static const gt_option_group context_group = {"Context", context_options, GT_LENGTH(context_options)};
static const gt_option_group run_group = {"Run", run_options, GT_LENGTH(run_options)};
static const gt_option_group missing_group = {"Of madengine, not in this version: refused", missing_options,
                                              GT_LENGTH(missing_options)};

static const gt_short_option letters[] = {
    {'f', "additional_context_file"},
    {'c', "additional_context"},
    {'s', "summary_output"},
    {'l', "live_output"},
    {'v', "verbose"},
    {'t', "tags"},
    {'m', "manifest_file"},
    {'r', "registry"},
    {'o', "output"},
    {0},
};

const gt_syntax gt_run_syntax = {
    .groups = {&context_group, &run_group, &missing_group, &gt_common_group},
    .files = "[--] COMMAND [ARG...]",
    .files_max = SIZE_MAX,
    .letters = letters,
    .is_command = true,
};

/* One or two lines of what is wrong with the context or the arguments. */
static gt_exit wrong(const gt_error *error)
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

static gt_exit refuse_missing(const gt_call *call)
{
    for (size_t i = 0; i < GT_LENGTH(missing_options); i++)
        if (gt_arguments_value(&call->arguments, missing_options[i].name)->given)
            return gt_usage_error(
                call->program,
                "--%s is not in gputally %s: it runs commands on this machine; see docs/run.md",
                missing_options[i].name, GT_VERSION);
    return GT_EXIT_DONE;
}

/* "A,B" as entries {"name": "A"}, {"name": "B"} behind the context's own. */
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

/* Where the context says the run belongs. */
static const char *target_of(const gt_value *context, const char *wanted)
{
    const char *deploy = gt_settings_string(context, "deploy");
    if (wanted && strcmp(wanted, "auto") != 0) return wanted;
    if (gt_settings_has(context, "k8s") || gt_settings_has(context, "kubernetes")) return "k8s";
    if (gt_settings_has(context, "slurm")) return "slurm";
    return deploy ? deploy : "local";
}

static bool make_request(const gt_call *call, gt_arena *arena, gt_plan_request *request, gt_error *error)
{
    const gt_arguments *a = &call->arguments;
    int64_t timeout = gt_arguments_int(a, "timeout");
    const char *tools_file = gt_arguments_string(a, "tools_config"), *name = gt_arguments_string(a, "name");
    if (timeout < -1)
        return gt_fail(error, "Timeout must be -1 (default), 0 (no timeout), or a positive integer");
    if (!gt_run_reports_check(gt_arguments_string(a, "report"), error)) return false;
    if (name && (strchr(name, '/') || name[0] == '.'))
        return gt_fail(error, "--name: '%.200s' is no name of a file", name);
    const gt_value *context = gt_context_load(arena, gt_arguments_string(a, "additional_context_file"),
                                              gt_arguments_string(a, "additional_context"), error);
    const gt_value *more =
        tools_file && context ? gt_settings_read(arena, tools_file, error) : &gt_value_missing;
    if (!context || !more) return false;
    const gt_option_value *docker = gt_arguments_value(a, "docker");
    const char *image = docker->text ? docker->text : gt_settings_string(context, "MAD_CONTAINER_IMAGE");
    if (gt_arguments_flag(a, "no_docker")) image = NULL;
    if (docker->given && !image)
        return gt_fail(
            error,
            "--docker: an image is required, here (--docker=IMAGE) or as MAD_CONTAINER_IMAGE of the context");
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
                                 .snapshot = !gt_arguments_flag(a, "no_sys_env_details")};
    return true;
}

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

static gt_exit carry_out(const gt_call *call, gt_plan *plan)
{
    const char *summary = gt_arguments_string(&call->arguments, "summary_output");
    gt_outcome outcome;
    if (gt_arguments_flag(&call->arguments, "verbose")) gt_info("bash -c %s", plan->shell_line);
    bool done = gt_plan_execute(plan, &outcome);
    if (outcome.exit_code >= 0)
        gt_run_reports_make(call, plan, &outcome, gt_arguments_string(&call->arguments, "report"));
    if (outcome.exit_code >= 0 || !outcome.failed) write_record(plan, &outcome, plan->record_path);
    if (summary) write_record(plan, &outcome, summary);
    return done ? GT_EXIT_DONE : GT_EXIT_RUN;
}

/* What each node is told beside context and command. */
static void node_options(const gt_call *call, gt_plan *plan, gt_arg_list *words)
{
    static const char *const passed_on[] = {"timeout", "report", "threads"};
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
    if (gt_arguments_flag(a, "no_sys_env_details"))
        gt_arg_list_add(plan->arena, words, "--no_sys_env_details");
    gt_arg_list_add(plan->arena, words, "--no_progress");
}

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
        status = wrong(&error);
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

/* The image belongs to the pods, not to the plan: there the command runs without docker. */
static gt_exit write_kubernetes(const gt_call *call, gt_plan *plan, const char *image)
{
    gt_arg_list words = {0};
    gt_error error;
    gt_kubernetes objects;
    if (!gt_arguments_flag(&call->arguments, "generate_only"))
        return gt_usage_error(call->program,
                              "target k8s: gputally %s writes the file for kubectl only; add --generate_only",
                              GT_VERSION);
    node_options(call, plan, &words);
    gt_exit status = GT_EXIT_CONTEXT;
    if (!gt_kubernetes_make(plan, image, words.items, words.count, &objects, &error)) {
        wrong(&error);
    } else {
        gt_output *output = gt_output_new();
        bool written = gt_output_whole_file(output, objects.path, gt_buffer_str(&objects.text), &error) &&
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
    if (!make_request(call, arena, &request, &error)) return wrong(&error);
    if (refuse_target(call, request.target) != GT_EXIT_DONE) return GT_EXIT_USAGE;
    if (!call->arguments.file_count) {
        gt_fail(&error, "a command is required: gputally run [options] -- COMMAND [ARG...]");
        return wrong(&error);
    }
    const char *image = request.image;
    bool on_kubernetes = strcmp(request.target, "k8s") == 0;
    if (on_kubernetes) request.image = NULL;
    if (!gt_plan_make(arena, &request, &plan, &error)) return wrong(&error);
    if (on_kubernetes && !gt_arguments_flag(&call->arguments, "dry_run"))
        return write_kubernetes(call, &plan, image);
    if (strcmp(request.target, "slurm") == 0) return run_on_slurm(call, &plan);
    if (gt_arguments_flag(&call->arguments, "generate_only"))
        return gt_usage_error(call->program,
                              "--generate_only: the run is local, there is no script to write");
    return gt_arguments_flag(&call->arguments, "dry_run") ? print_plan(&plan) : carry_out(call, &plan);
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
    if (refuse_missing(call) != GT_EXIT_DONE) return GT_EXIT_USAGE;
    gt_arena arena = {0};
    gt_exit status = run_with(call, &arena);
    gt_arena_free(&arena);
    return status;
}
