/* `gputally run`: reads the options and the context, makes the plan, and prints it or executes it. */
#include "cli/run/run.h"
#include "base/memory_limit.h"
#include "cli/commands/commands.h"
#include "run/plan/secrets.h"

static const gt_option context_options[] = {
    {"additional_context_file", GT_OPTION_STRING, "FILE", NULL,
     "read the context (a JSON object) from FILE, or use a shipped config by name, such as "
     "rocprofv3_lightweight",
     .choices = "@contexts|"},
    {"additional_context", GT_OPTION_STRING, "TEXT", NULL,
     "add a context as JSON or Python literal; each key overrides the key of the file"},
    {"tools", GT_OPTION_EACH, "NAMES", NULL, "add tools (comma-separated) after those of the context",
     .choices = "@tools|"},
    {"tools_config", GT_OPTION_STRING, "FILE", NULL,
     "load your own tools from FILE, in the format of madengine's tools.json"},
    {"list_tools", GT_OPTION_FLAG, NULL, NULL, "list the available tools and configs, and exit"},
    {"write_configs", GT_OPTION_STRING, "DIR", NULL, "write the shipped configs into DIR, and exit"},
};
static const gt_option_group context_group = {"Context", context_options, GT_LENGTH(context_options)};

static const gt_option run_options[] = {
    {"profiler", GT_OPTION_STRING, "NAME", "auto",
     "run the command under this profiler in place of those of the context: nsys, ncu, rocprofv3, none; "
     "auto: "
     "those of the context",
     .choices = "auto|none|nsys|ncu|rocprofv3"},
    {"profiler_args", GT_OPTION_STRING, "ARGS", NULL,
     "pass more options to the profiler, as in --profiler_args=\"--duration=30\"; they replace those of the "
     "tool"},
    {"output_dir", GT_OPTION_STRING, "DIR", ".", "write traces, logs and reports into DIR"},
    {"report", GT_OPTION_STRING, "KINDS", "auto",
     "write these reports: auto, none, or a comma-separated list of rocprof, nsys, ncu, pftrace, "
     "pytorch, jax, summary",
     .choices = "auto|none|rocprof|nsys|ncu|pftrace|pytorch|jax|summary|"},
    {"name", GT_OPTION_STRING, "NAME", NULL,
     "set the name of the run, used in file names (default: name of the command)"},
    {"timeout", GT_OPTION_INT, "SECONDS", "-1",
     "stop the command after SECONDS; -1: 7200 seconds, 0: no limit"},
    {"grace", GT_OPTION_INT, "SECONDS", "60",
     "wait SECONDS for a command that is stopped or interrupted to write its files, then kill it"},
    {"capture_steps", GT_OPTION_STRING, "A-B", NULL,
     "record steps A to B only, where the profiler can count them"},
    {"capture_time", GT_OPTION_STRING, "START:SECONDS", NULL, "record SECONDS only, from START seconds on"},
    {"capture_region", GT_OPTION_FLAG, NULL, NULL,
     "record only between the start and stop calls of the program"},
    {"attach", GT_OPTION_STRING, "PID", NULL,
     "record a process that is already running, for the time of --capture_time; no command is started"},
    {"min_free", GT_OPTION_STRING, "SIZE", NULL,
     "do not start with less than SIZE (such as 20G) free on the disk"},
    {"warmup", GT_OPTION_INT, "N", "0",
     "run the command N times before, without profiler and without counting"},
    {"repeat", GT_OPTION_INT, "N", "1",
     "run the command N times with the profiler and N times without it, in turns, and compare"},
    {"no_baseline", GT_OPTION_FLAG, NULL, NULL, "do not run it without the profiler", .needs = "repeat"},
    {"dry_run", GT_OPTION_FLAG, NULL, NULL, "print the plan as JSON, and exit"},
    {"verbose", GT_OPTION_FLAG, NULL, NULL, "print the command line"},
    {"live_output", GT_OPTION_FLAG, NULL, NULL,
     "show the output of models, which otherwise is only logged; that of a command is always shown"},
    {"copy_traces", GT_OPTION_FLAG, NULL, NULL,
     "copy PyTorch and JAX traces that the command writes below the current folder to DIR/traces"},
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
     "else local",
     .choices = "auto|local|slurm|k8s"},
    {"generate_only", GT_OPTION_FLAG, NULL, NULL, "write the job file without submitting it"},
    {"keep_alive", GT_OPTION_FLAG, NULL, NULL,
     "keep the container, or the objects of a Kubernetes run with its results"},
};
static const gt_option_group cluster_group = {"Containers and clusters", cluster_options,
                                              GT_LENGTH(cluster_options)};

static const gt_option model_options[] = {
    {"tags", GT_OPTION_EACH, "TAGS", NULL,
     "build and run the models of models.json that these tags select (comma-separated; repeatable)"},
    {"manifest_file", GT_OPTION_STRING, "FILE", NULL,
     "run the models of this manifest, which gputally build wrote"},
    {"output", GT_OPTION_STRING, "FILE", "perf.csv", "add a row per model to this performance table"},
    {"registry", GT_OPTION_STRING, "HOST", NULL, "push the images to this registry", .needs = "tags"},
    {"clean_docker_cache", GT_OPTION_FLAG, NULL, NULL, "build images without docker's cache",
     .needs = "tags"},
    {"manifest_output", GT_OPTION_STRING, "FILE", "build_manifest.json",
     "write the manifest of built images to FILE", .needs = "tags"},
    {"keep_model_dir", GT_OPTION_FLAG, NULL, NULL, "keep the folder that a model ran in"},
    {"skip_model_run", GT_OPTION_FLAG, NULL, NULL, "do everything except running the model's script"},
    {"data_config", GT_OPTION_STRING, "FILE", "data.json", "read where the data of models comes from"},
    {"force_mirror_local", GT_OPTION_STRING, "DIR", NULL, "keep the data of models in DIR"},
    {"disable_skip_gpu_arch", GT_OPTION_FLAG, NULL, NULL, "run models also on GPUs that they exclude"},
    {"ignore_deprecated", GT_OPTION_FLAG, NULL, NULL, "run deprecated models, too", .needs = "tags"},
    {"cleanup_perf", GT_OPTION_FLAG, NULL, NULL, "remove perf_entry.* and perf_entry_super.* at the end"},
};
static const gt_option_group model_group = {"Models (instead of COMMAND)", model_options,
                                            GT_LENGTH(model_options)};

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
    .groups = {&context_group, &run_group, &cluster_group, &model_group, &gt_common_group},
    .main_options = {"additional_context_file", "tools", "output_dir", "report", "list_tools"},
    .files = "[--] COMMAND [ARG...]",
    .files_max = SIZE_MAX,
    .output_option = "output_dir",
    .short_options = short_options,
    .is_command = true,
};

gt_exit gt_run_context_error(const gt_error *error)
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

/* The option wins over the context; -1 is its default. */
static double timeout_of(const gt_value *context, int64_t option)
{
    double of_context = gt_context_timeout_s(context);
    return option >= 0 ? (double)option : of_context >= 0 ? of_context : 7200;
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
    int64_t timeout = gt_arguments_int(a, "timeout"), grace = gt_arguments_int(a, "grace");
    const char *tools_file = gt_arguments_string(a, "tools_config"), *name = gt_arguments_string(a, "name");
    if (timeout < -1)
        return gt_fail(error, "Timeout must be -1 (default), 0 (no timeout), or a positive integer");
    if (grace < 0) return gt_fail(error, "--grace: must be 0 (kill at once) or a number of seconds");
    if (!gt_run_reports_check(gt_arguments_string(a, "report"), error)) return false;
    if (!gt_run_repeats_check(call, error)) return false;
    gt_capture_window capture;
    if (!gt_capture_parse(gt_arguments_string(a, "capture_steps"), gt_arguments_string(a, "capture_time"),
                          gt_arguments_flag(a, "capture_region"), gt_arguments_string(a, "attach"), &capture,
                          error))
        return false;
    uint64_t min_free = 0;
    const char *free_text = gt_arguments_string(a, "min_free");
    if (free_text && !gt_memory_parse(free_text, &min_free))
        return gt_fail(error, "--min_free: must be a size such as 20G, got '%.100s'", free_text);
    if (capture.attach && !name) name = gt_arena_format(arena, "attach_%lld", (long long)capture.attach);
    if (name && (strchr(name, '/') || name[0] == '.'))
        return gt_fail(error, "--name: '%.200s' is not a valid file name", name);
    for (const char *c = name; c && *c; c++)
        if (iscntrl((unsigned char)*c))
            return gt_fail(error, "--name: contains a control character (byte %d)", (unsigned char)*c);
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
    const char *profiler = gt_arguments_string(a, "profiler");
    context = add_tools(arena, context, gt_arguments_value(a, "tools"));
    if (profiler && strcmp(profiler, "auto") != 0)
        context = gt_tools_choose_profiler(arena, context, strcmp(profiler, "none") == 0 ? NULL : profiler);
    *request = (gt_plan_request){.context = context,
                                 .more_tools = more,
                                 .command = a->files,
                                 .command_count = a->file_count,
                                 .image = image,
                                 .name = name,
                                 .target = target_of(context, gt_arguments_string(a, "target")),
                                 .output_dir = gt_arguments_string(a, "output_dir"),
                                 .profiler_args = gt_arguments_string(a, "profiler_args"),
                                 .timeout_s = timeout_of(context, timeout),
                                 .grace_s = grace ? (double)grace : -1,
                                 .capture = capture,
                                 .min_free = min_free,
                                 .keep_alive = gt_arguments_flag(a, "keep_alive"),
                                 .look_in_image = !gt_arguments_flag(a, "dry_run"),
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

gt_exit gt_run_print_plan(const gt_plan *plan)
{
    gt_json_writer w = {0};
    gt_json_open(&w, '{');
    gt_plan_write(plan, &w);
    gt_json_close(&w, '}');
    puts(gt_buffer_str(&w.text).bytes);
    gt_json_writer_free(&w);
    return GT_EXIT_DONE;
}

static bool write_record(const gt_plan *plan, const gt_outcome *outcome, const char *path)
{
    gt_error error;
    if (gt_record_write(plan, outcome, path, &error)) return true;
    fprintf(stderr, "gputally: %s\n", error.text);
    return false;
}

/* A run whose files are not complete has failed, even if the command has not. */
static bool is_on_disk(const gt_plan *plan, gt_outcome *outcome)
{
    if (outcome->exit_code < 0 || !gt_disk_was_full(plan->output_dir)) return true;
    const char *reason = gt_arena_format(
        plan->arena, "the disk of %s is full: files of this run are missing or incomplete", plan->output_dir);
    fprintf(stderr, "gputally: %s\n", reason);
    outcome->failed = true;
    if (!outcome->reason) outcome->reason = reason;
    return false;
}

/* Who waits for a job reads the records of its nodes, also why one could not start. */
static bool is_slurm_node(void)
{
    return getenv("MAD_IN_SLURM_JOB");
}

bool gt_run_finish(const gt_plan *plan, gt_outcome *outcome)
{
    bool is_complete = is_on_disk(plan, outcome);
    if (outcome->exit_code < 0 && outcome->failed && !is_slurm_node()) return is_complete;
    return write_record(plan, outcome, plan->record_path) && is_complete;
}

/* Runs the plan, then writes the reports and the record: also if the command failed, because what it recorded
 * until then is useful. */
static gt_exit execute_plan(const gt_call *call, const gt_plan_request *request, gt_plan *plan)
{
    const char *summary = gt_arguments_string(&call->arguments, "summary_output");
    gt_outcome outcome;
    if (gt_arguments_flag(&call->arguments, "verbose"))
        gt_info("bash -c %s", gt_secrets_hide(plan->arena, plan->secrets, plan->shell_line));
    bool is_repeated = gt_run_repeats_wanted(call);
    bool done =
        is_repeated ? gt_run_repeated(call, request, plan, &outcome) : gt_plan_execute(plan, &outcome);
    if (is_slurm_node()) /* if a node fails, SLURM kills the others, perhaps before their reports are written
                          */
        write_record(plan, &outcome, plan->record_path);
    if (outcome.exit_code >= 0) gt_run_reports_write(call, plan, &outcome);
    done = gt_run_finish(plan, &outcome) && done;
    if (summary) done = write_record(plan, &outcome, summary) && done;
    return done ? GT_EXIT_DONE : GT_EXIT_RUN;
}

static gt_exit run_with(const gt_call *call, gt_arena *arena)
{
    gt_error error;
    gt_plan_request request;
    gt_plan plan;
    if (!make_request(call, arena, &request, &error)) return gt_run_context_error(&error);
    if (refuse_target(call, request.target) != GT_EXIT_DONE) return GT_EXIT_USAGE;
    if (request.capture.attach && (call->arguments.file_count || gt_run_repeats_wanted(call) ||
                                   gt_run_wants_models(call) || strcmp(request.target, "local") != 0)) {
        gt_fail(&error,
                "--attach: records a process of this machine, so no command, models, repeats or cluster "
                "are possible");
        return gt_run_context_error(&error);
    }
    if (gt_run_wants_models(call)) return gt_run_models(call, arena, &request);
    if (!call->arguments.file_count && !request.capture.attach) {
        gt_fail(&error, call->by_old_name
                            ? "Either --manifest-file or --tags required"
                            : "a command is required: gputally run [options] -- COMMAND [ARG...]; or models: "
                              "--tags or --manifest_file");
        return gt_run_context_error(&error);
    }
    const char *image = request.image;
    bool on_kubernetes = strcmp(request.target, "k8s") == 0, on_slurm = strcmp(request.target, "slurm") == 0;
    if (on_kubernetes || on_slurm) request.image = NULL; /* it must fit the nodes, not this machine */
    if (!gt_plan_make(arena, &request, &plan, &error)) return gt_run_context_error(&error);
    if (on_kubernetes && !gt_arguments_flag(&call->arguments, "dry_run"))
        return gt_run_on_kubernetes(call, &plan, image);
    if (gt_arguments_flag(&call->arguments, "keep_alive") && !plan.image)
        return gt_usage_error(call->program, "--keep_alive: only for containers and Kubernetes");
    if (on_slurm) return gt_run_on_slurm(call, &plan);
    if (gt_arguments_flag(&call->arguments, "generate_only"))
        return gt_usage_error(call->program, "--generate_only: local run, no job file to write");
    return gt_arguments_flag(&call->arguments, "dry_run") ? gt_run_print_plan(&plan)
                                                          : execute_plan(call, &request, &plan);
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
    gt_arena arena = {0};
    gt_exit status = run_with(call, &arena);
    gt_arena_free(&arena);
    return status;
}
