/* Executes a plan: the actions before and after the command, and the command itself under its tools. */
#include "run/execute/execute.h"
#include "os/child.h"
#include "os/paths.h"
#include "output/file.h"
#include "run/plan/secrets.h"

#include <signal.h>

/* ---- actions before and after the command ---- */

static const double script_timeout_s = 600, data_timeout_s = 1200;

extern char **environ;

static bool is_replaced(const gt_value *env, const char *entry)
{
    size_t len = strcspn(entry, "=");
    for (uint32_t i = 0; i < env->count; i += 2)
        if (env->items[i].text.len == len && memcmp(env->items[i].text.bytes, entry, len) == 0) return true;
    return false;
}

const char *const *gt_plan_environment(const gt_plan *plan)
{
    size_t count = 0, own = 0;
    while (environ[own]) own++;
    const char **list = gt_arena_alloc(plan->arena, (own + plan->env->count / 2 + 1) * sizeof *list);
    for (size_t i = 0; i < own; i++)
        if (!is_replaced(plan->env, environ[i])) list[count++] = environ[i];
    for (uint32_t i = 0; i < plan->env->count; i += 2) {
        const gt_value *pair = &plan->env->items[i];
        list[count++] = gt_arena_format(plan->arena, "%s=%s", pair[0].text.bytes, pair[1].text.bytes);
    }
    list[count] = NULL;
    return list;
}

static bool is_silent(const gt_plan *plan)
{
    return plan->model && !plan->model->live_output;
}

/* Runs a shell line where the command runs: in the session's container, or here. `what` is for messages. An
 * interrupt is meant for the whole run, so it fails also if the line ends well in spite of it. */
static bool run_line(const gt_plan *plan, gt_outcome *outcome, const char *line, const char *what,
                     double timeout_s, gt_error *error)
{
    const char *here[] = {"bash", "-c", line, NULL};
    gt_child_setup setup = {.argv = plan->in_session ? gt_docker_exec(plan, line) : here,
                            .environment = gt_plan_environment(plan),
                            .directory = plan->workdir,
                            .log_path = plan->log_path,
                            .log_append = true,
                            .silent = is_silent(plan),
                            .timeout_s = timeout_s};
    gt_child_result result;
    bool ok = gt_child_run(&setup, &result, error);
    if (ok && result.interrupted) {
        outcome->interrupted = result.interrupted;
        ok = gt_fail(error, "interrupted by signal %d (%s) during %.200s", result.interrupted,
                     strsignal(result.interrupted), what);
    }
    if (ok && result.timed_out) ok = gt_fail(error, "%s: timed out after %g s", what, timeout_s);
    if (ok && result.exit_code) ok = gt_fail(error, "%s: exit status %d", what, result.exit_code);
    if (ok && result.log_failure) ok = gt_fail_writing(error, plan->log_path, result.log_failure);
    return ok;
}

/* Runs bash PATH ARGS, as written in the context. A script of a model is copied to the model's folder first,
 * as madengine does, because it may look for files next to itself. */
static bool run_script(const gt_plan *plan, gt_outcome *outcome, const gt_action *action, gt_error *error)
{
    gt_buffer line = {0};
    if (plan->model) {
        const char *path = gt_path_absolute(plan->arena, plan->model->project, action->path);
        gt_buffer_add_cstr(&line, "cp -RL -- ");
        gt_shell_quote(&line, gt_docker_path(plan, path));
        gt_buffer_add_cstr(&line, " . && bash ");
        gt_shell_quote(&line, gt_arena_format(plan->arena, "./%s", gt_path_name(path)));
    } else {
        gt_buffer_add_cstr(&line, "bash ");
        gt_shell_quote(&line, action->path);
    }
    gt_buffer_add_cstr(&line, " ");
    gt_buffer_add_cstr(&line, action->args);
    bool ok = run_line(plan, outcome, gt_buffer_str(&line).bytes, action->path, script_timeout_s, error);
    gt_buffer_free(&line);
    return ok;
}

/* TheRock's ROCm comes as a Python package, or as a folder with its own manifest. */
static bool check_therock(const gt_plan *plan)
{
    const char *rocm = getenv("ROCM_PATH");
    const char *roots[] = {rocm && *rocm ? rocm : "/opt/rocm", "/opt/rocm", "/usr/local"};
    const char *found = gt_path_search(plan->arena, "rocm-sdk", getenv("PATH"));
    for (size_t i = 0; !found && i < GT_LENGTH(roots); i++) {
        const char *manifest = gt_path_join(plan->arena, roots[i], "share/therock/therock_manifest.json");
        if (access(manifest, F_OK) == 0) found = manifest;
    }
    if (found)
        gt_info("TheRock ROCm found: %s", found);
    else
        gt_info("no TheRock ROCm found");
    return true;
}

static bool do_action(const gt_plan *plan, gt_outcome *outcome, const gt_action *action, gt_error *error)
{
    switch (action->kind) {
    case GT_ACTION_SCRIPT:
        return run_script(plan, outcome, action, error);
    case GT_ACTION_ECHO:
        puts(action->args);
        fflush(stdout);
        return true;
    case GT_ACTION_ENVIRONMENT:
        return gt_machine_write(outcome->machine, error);
    case GT_ACTION_THEROCK:
        return check_therock(plan);
    default:
        return true; /* separate stages, and collecting */
    }
}

/* ---- execution ---- */

static const double help_timeout_s = 60;
enum { SHOWN_MAX = 200 }; /* bytes of a line with an error that are shown */

typedef struct run {
    gt_plan *plan;
    gt_outcome *outcome;
    gt_library_trace *libraries; /* NULL: not traced */
    gt_sensors sensors;
    bool has_sensors;
    const char *error_text, *error_line; /* of the first error in the command's output */
    bool no_container;                   /* of the session: it did not start, or was removed */
    gt_sampler *samplers[GT_SAMPLERS_MAX];
    bool no_counters; /* the driver refused ncu the performance counters */
} run;

/* Keeps the first reason, which is the relevant one. */
static bool failed(run *r, const char *reason)
{
    r->outcome->failed = true;
    if (!r->outcome->reason) r->outcome->reason = gt_arena_bytes(r->plan->arena, reason, strlen(reason));
    fprintf(stderr, "gputally: %s\n", reason);
    return false;
}

/* ---- before the command ---- */

/* The --help output of a program. */
static gt_str help_of(const char *const *argv, gt_buffer *text)
{
    gt_child_ask((gt_child_setup){.argv = argv, .merge = true, .timeout_s = help_timeout_s}, text);
    return gt_buffer_str(text);
}

/* Some versions of rtl have no --mode. */
static void fit_rtl(gt_plan *plan, gt_profiler *profiler, const char *help)
{
    if (strstr(help, "--mode") || profiler->options.count < 3 ||
        strcmp(profiler->options.items[1], "--mode") != 0)
        return;
    gt_arg_list_add(plan->arena, &plan->warnings, "this rtl has no --mode; option dropped");
    for (size_t i = 3; i < profiler->options.count; i++)
        profiler->options.items[i - 2] = profiler->options.items[i];
    profiler->options.count -= 2;
}

/* Options for a bounded capture must not be left out: everything would be recorded. */
static bool check_capture(run *r, const gt_profiler *profiler, const char *help)
{
    if (profiler != r->plan->profiler || !strstr(help, "--")) return true;
    const char *missing = gt_capture_missing(&r->plan->capture_options, help);
    if (!missing) return true;
    return failed(r, gt_arena_format(r->plan->arena,
                                     r->plan->capture.attach
                                         ? "%s cannot attach to a process: it has no option %s; newer "
                                           "versions have (ROCm 7.1 and later)"
                                         : "%s cannot record a part of a run: it has no option %s",
                                     profiler->path, missing));
}

static bool fit_nvidia(run *r, gt_profiler *profiler)
{
    gt_plan *plan = r->plan;
    gt_buffer text = {0};
    bool ok = true;
    if (profiler->kind == GT_PROFILER_NSYS) {
        const char *help = help_of((const char *[]){profiler->path, "profile", "--help", NULL}, &text).bytes;
        ok = check_capture(r, profiler, help);
        gt_nvidia_fit_help(plan, profiler, help, &plan->profiler_args);
    }
    text.len = 0;
    profiler->version = gt_nvidia_version(
        plan->arena, help_of((const char *[]){profiler->path, "--version", NULL}, &text).bytes);
    gt_buffer_free(&text);
    return ok;
}

static bool fit_to_program(run *r, gt_profiler *profiler)
{
    gt_plan *plan = r->plan;
    gt_buffer text = {0};
    bool ok = true;
    if (profiler->kind == GT_PROFILER_ROCPROFV3 && (!profiler->own_cmd || plan->capture_options.count)) {
        const char *help = help_of((const char *[]){profiler->path, "--help", NULL}, &text).bytes;
        ok = check_capture(r, profiler, help);
        if (ok) gt_profiler_fit_help(plan->arena, profiler, help, &plan->profiler_args, &plan->notes);
        if (plan->capture.attach &&
            strstr(help, "--attach-sync-output")) /* or the files come after the end */
            gt_arg_list_add(plan->arena, &profiler->options, "--attach-sync-output");
    }
    if (gt_nvidia_is(profiler)) ok = fit_nvidia(r, profiler);
    if (profiler->kind == GT_PROFILER_RTL)
        fit_rtl(plan, profiler,
                help_of((const char *[]){profiler->path, "trace", "--help", NULL}, &text).bytes);
    gt_buffer_free(&text);
    return ok;
}

static bool missing_profiler(run *r, gt_profiler_kind kind)
{
    if (kind == GT_PROFILER_RTL)
        return failed(r, "rtl not found in PATH; install the Python package rocm-trace-lite");
    if (kind == GT_PROFILER_RPD)
        return failed(r, "rocmProfileData/rpd_tracer/runTracer.sh not found; build ROCm/rocmProfileData in "
                         "this folder first");
    if (kind == GT_PROFILER_NSYS || kind == GT_PROFILER_NCU)
        return failed(r, gt_nvidia_missing(r->plan->arena, kind));
    failed(r, "Error: Neither rocprofv3 nor rocprof found in PATH");
    fputs(gt_gpus_have_nvidia(r->plan->arena)
              ? "gputally: this machine has NVIDIA GPUs; use --profiler nsys (timeline) or --profiler ncu "
                "(counters) in place of the profilers of ROCm\n"
              : "gputally: Please ensure ROCm profiler tools are installed\n",
          stderr);
    return false;
}

/* Whether a script of the user runs in the container before the command: it may install a profiler. */
static bool has_own_pre_script(const gt_plan *plan)
{
    for (size_t i = 0; i < plan->pre_count; i++)
        if (plan->pre[i].kind == GT_ACTION_SCRIPT) return true;
    return false;
}

static bool check_profilers(run *r)
{
    if (r->plan->image) {
        if (!gt_docker_program(r->plan->arena))
            return failed(r, "neither docker nor podman found in PATH; --no_docker runs without a container");
        for (size_t i = 0; i < r->plan->piece_count && !has_own_pre_script(r->plan); i++) {
            const gt_profiler *profiler = r->plan->pieces[i].profiler;
            if (profiler && profiler->kind == GT_PROFILER_ROCPROFV3 && !profiler->path)
                return failed(
                    r, gt_arena_format(r->plan->arena,
                                       "the image %s has no profiler for this tool: rocprofv3, or else "
                                       "rocprof, in its PATH, $ROCM_PATH/bin or /opt/rocm/bin",
                                       r->plan->image));
        }
        return true;
    }
    for (size_t i = 0; i < r->plan->piece_count; i++) {
        gt_profiler *profiler = r->plan->pieces[i].profiler;
        if (profiler && !profiler->path) return missing_profiler(r, profiler->kind);
        if (profiler && !fit_to_program(r, profiler)) return false;
    }
    const char *launcher = r->plan->launch.program;
    if (launcher && !gt_path_search(r->plan->arena, launcher, getenv("PATH"))) {
        gt_error error;
        gt_fail(&error, "%.200s not found in PATH; it is the launcher of the context (distributed)",
                launcher);
        return failed(r, error.text);
    }
    gt_plan_compose(r->plan);
    return true;
}

static bool write_counters(const gt_profiler *profiler, gt_error *error)
{
    if (!profiler->counter_text) return true;
    gt_str text = {profiler->counter_text, strlen(profiler->counter_text)};
    gt_output *output = gt_output_new();
    bool ok =
        gt_output_write_file(output, profiler->counter_path, text, error) && gt_output_commit(output, error);
    gt_output_free(output);
    return ok;
}

static bool check_dies(run *r)
{
    if (!r->plan->dual_gcd) return true;
    gt_sensors sensors;
    size_t count = 0;
    if (gt_sensors_open(r->plan->arena, &sensors)) {
        count = sensors.count;
        sensors.close(&sensors);
    }
    return count == 2 ||
           failed(r, gt_arena_format(r->plan->arena,
                                     "%s needs a machine with exactly two GPU dies; this one has %zu",
                                     r->plan->dual_gcd, count));
}

static bool check_process(run *r)
{
    gt_arg_list warnings = {0};
    gt_error error;
    int64_t pid = r->plan->capture.attach;
    if (pid && !gt_capture_check_process(r->plan->arena, pid, &warnings, &error))
        return failed(r, error.text);
    for (size_t i = 0; i < warnings.count; i++) gt_warn("%s", warnings.items[i]);
    return true;
}

static bool prepare(run *r)
{
    gt_error error;
    if (!check_dies(r)) return false;
    if (!check_process(r)) return false;
    if (!gt_path_make_folder(r->plan->output_dir, &error) || !gt_disk_check(r->plan, &error) ||
        !gt_plan_claim_folders(r->plan, &error))
        return failed(r, error.text);
    for (size_t i = 0; i < r->plan->piece_count; i++) {
        const gt_profiler *profiler = r->plan->pieces[i].profiler;
        if (profiler && !write_counters(profiler, &error)) return failed(r, error.text);
    }
    if (unlink(r->plan->log_path) != 0 &&
        errno != ENOENT) { /* start a new log; scripts and the command append to it */
        gt_fail(&error, "cannot replace %s: %s", r->plan->log_path, strerror(errno));
        return failed(r, error.text);
    }
    return true;
}

static void print_messages(const gt_plan *plan)
{
    for (size_t i = 0; i < plan->warnings.count; i++) gt_warn("%s", plan->warnings.items[i]);
    for (size_t i = 0; i < plan->notes.count; i++) gt_info("%s", plan->notes.items[i]);
}

static bool do_actions(run *r, const gt_action *actions, size_t count, bool all)
{
    bool ok = true;
    gt_error error;
    for (size_t i = 0; i < count && (ok || all); i++)
        if (!do_action(r->plan, r->outcome, &actions[i], &error)) ok = failed(r, error.text);
    return ok;
}

/* ---- the command ---- */

static bool handle_line(void *context, gt_child_stream stream, gt_str line)
{
    run *r = context;
    const char *text = r->error_text ? NULL : gt_log_scan_find(&r->plan->log_scan, line);
    if (text) {
        r->error_text = text;
        r->error_line =
            gt_arena_bytes(r->plan->arena, line.bytes, line.len < SHOWN_MAX ? line.len : SHOWN_MAX);
    }
    if (!r->outcome->performance)
        gt_performance_find(r->plan->arena, line, &r->outcome->performance, &r->outcome->metric);
    if (gt_nvidia_is(r->plan->profiler) && gt_nvidia_forbids_counters(line)) r->no_counters = true;
    bool may_be_noise = stream == GT_CHILD_STDERR || r->libraries;
    if (may_be_noise && gt_profiler_is_noise(r->plan->profiler->kind, line)) return false;
    return !r->libraries || !gt_library_trace_see(r->libraries, line);
}

static void start_samplers(run *r)
{
    if (!r->plan->sampler_count) return;
    r->has_sensors = gt_sensors_open(r->plan->arena, &r->sensors);
    if (!r->has_sensors) gt_warn("no GPU whose power or memory can be sampled");
    for (size_t i = 0; r->has_sensors && i < r->plan->sampler_count; i++)
        r->samplers[i] = gt_sampler_start(&r->plan->samplers[i], &r->sensors);
}

static void stop_samplers(run *r)
{
    for (size_t i = 0; i < r->plan->sampler_count; i++) {
        const gt_sampler_plan *sampler = &r->plan->samplers[i];
        gt_sampler_result result = gt_sampler_stop(r->samplers[i], r->plan->arena);
        if (result.has_file) gt_arg_list_add(r->plan->arena, &r->outcome->files, sampler->file);
        if (result.failed)
            failed(r, gt_arena_format(r->plan->arena, "not all samples are in %s", sampler->file));
        gt_energy_measure(r->plan, sampler, &result, r->outcome);
    }
    if (r->has_sensors) r->sensors.close(&r->sensors);
}

static void write_libraries(run *r)
{
    gt_error error;
    const char *model = gt_settings_string(r->plan->env, "MAD_MODEL_NAME");
    if (!r->libraries) return;
    if (gt_library_trace_write(r->libraries, r->plan->library_file, model ? model : getenv("MAD_MODEL_NAME"),
                               &error))
        gt_arg_list_add(r->plan->arena, &r->outcome->files, r->plan->library_file);
    else
        failed(r, error.text);
    gt_library_trace_free(r->libraries);
}

bool gt_run_time_is_over(void)
{
    const char *from = getenv("GPUTALLY_TIME_OVER");
    return from && *from && (double)time(NULL) >= strtod(from, NULL);
}

static void run_command(run *r)
{
    gt_plan *plan = r->plan;
    const char *line[] = {"bash", "-c", plan->shell_line, NULL}, *const *argv = line;
    if (plan->in_session) {
        argv = gt_docker_exec(plan, plan->shell_line);
    } else if (plan->image) {
        gt_arg_list_add(plan->arena, &plan->docker, ""); /* space for the terminating NULL */
        plan->docker.items[--plan->docker.count] = NULL;
        argv = plan->docker.items;
    }
    gt_child_setup setup = {.argv = argv,
                            .environment = gt_plan_environment(plan),
                            .directory = plan->workdir,
                            .log_path = plan->log_path,
                            .log_append = true,
                            .silent = is_silent(plan),
                            .timeout_s = plan->timeout_s,
                            .grace_s = plan->grace_s,
                            .in_slurm = getenv("SLURM_JOB_ID"),
                            .waits_for = plan->profiler->kind != GT_PROFILER_NONE
                                             ? "the command to end and the profiler to write its trace"
                                             : "the command to end",
                            .undo = plan->image ? gt_docker_undo(plan) : NULL,
                            .merge = r->libraries,
                            .line = handle_line,
                            .line_context = r};
    gt_child_result result;
    gt_error error;
    if (!gt_child_run(&setup, &result, &error)) {
        r->outcome->exit_code = result.exit_code;
        failed(r, error.text);
        return;
    }
    if (plan->image && (result.timed_out || result.interrupted)) { /* nothing else ends what runs in it */
        if (plan->in_session) gt_container_give_files(plan);
        gt_docker_remove(plan);
        r->no_container = plan->in_session;
    }
    if (result.left && !result.timed_out && !result.interrupted)
        gt_warn(result.left == 1 ? "%d process that the command started is still running"
                                 : "%d processes that the command started are still running",
                result.left);
    r->outcome->exit_code = result.exit_code;
    r->outcome->command_s = result.seconds;
    r->outcome->timed_out = result.timed_out;
    r->outcome->interrupted = result.interrupted;
    if (r->no_counters)
        failed(r,
               "the driver lets only administrators read GPU performance counters (ERR_NVGPUCTRPERM): run as "
               "root, in a container with --cap-add=SYS_ADMIN, or load the module nvidia with "
               "NVreg_RestrictProfilingToAdminUsers=0");
    char reason[128] = "";
    if (result.timed_out)
        snprintf(reason, sizeof reason, "Program timed out. Requested timeout=%g", plan->timeout_s);
    else if (result.interrupted)
        snprintf(reason, sizeof reason, "interrupted by signal %d (%s)%s", result.interrupted,
                 strsignal(result.interrupted),
                 gt_run_time_is_over() ? " before the time limit of the job" : "");
    else if (result.exit_code)
        snprintf(reason, sizeof reason, "the command failed with exit status %d", result.exit_code);
    if (*reason) failed(r, reason);
    if (r->error_text)
        failed(r, gt_arena_format(plan->arena, "the log has an error (\"%s\"): %s", r->error_text,
                                  gt_secrets_hide(plan->arena, plan->secrets, r->error_line)));
    if (result.output_failure)
        failed(r, gt_arena_format(plan->arena, "cannot write the command's output to standard output: %s",
                                  strerror(result.output_failure)));
    if (result.log_failure)
        failed(r, gt_arena_format(plan->arena, "cannot write %s: %s", plan->log_path,
                                  strerror(result.log_failure)));
}

/* When a job of SLURM is ended, all its processes get SIGTERM at once, and SIGKILL only later: the time
 * between is for collecting what the command left, so SIGTERM must not end that. */
static void ignore_end_of_job(void)
{
    if (getenv("MAD_IN_SLURM_JOB")) signal(SIGTERM, SIG_IGN);
}

/* ---- containers and models ---- */

static bool start_session(run *r)
{
    gt_error error;
    if (!r->plan->in_session || gt_container_start(r->plan, &error)) return true;
    r->no_container = true;
    return failed(r, error.text);
}

static void end_session(run *r)
{
    const gt_plan *plan = r->plan;
    if (!plan->in_session || r->no_container) return;
    gt_container_give_files(plan);
    if (plan->keep_alive)
        gt_info("the container is still running: %s exec -it %s bash", gt_path_name(plan->docker.items[0]),
                plan->container);
    else
        gt_docker_remove(plan);
}

/* Prepares the data of a model. */
static bool set_up_model(run *r)
{
    const gt_value *lines = r->plan->model ? r->plan->model->setup : &gt_value_missing;
    gt_error error;
    for (uint32_t i = 0; i < lines->count; i++)
        if (!run_line(r->plan, r->outcome, lines->items[i].text.bytes, "data", data_timeout_s, &error))
            return failed(r, error.text);
    return true;
}

bool gt_plan_execute(gt_plan *plan, gt_outcome *outcome)
{
    *outcome = (gt_outcome){.exit_code = -1};
    run r = {.plan = plan, .outcome = outcome};
    clock_gettime(CLOCK_REALTIME, &outcome->begin);
    bool ready = check_profilers(&r);
    print_messages(plan);
    ready = ready && prepare(&r);
    if (!ready) { /* nothing was started */
        clock_gettime(CLOCK_REALTIME, &outcome->end);
        return false;
    }
    if (plan->library_modes.count) r.libraries = gt_library_trace_new(&plan->library_modes);
    outcome->machine = gt_machine_look(plan);
    bool prepared =
        start_session(&r) && set_up_model(&r) && do_actions(&r, plan->pre, plan->pre_count, false);
    if (prepared && plan->model && plan->model->skip) {
        outcome->exit_code = 0;
    } else if (prepared) {
        start_samplers(&r);
        run_command(&r);
        ignore_end_of_job();
        stop_samplers(&r);
    }
    gt_machine_finish(outcome->machine);
    write_libraries(&r);
    gt_publish(plan, outcome);
    if (!r.no_container) do_actions(&r, plan->post, plan->post_count, true);
    end_session(&r);
    gt_nvidia_export(plan);
    gt_collect(plan, outcome);
    gt_arg_list_add(plan->arena, &outcome->files, plan->log_path);
    clock_gettime(CLOCK_REALTIME, &outcome->end);
    return !outcome->failed;
}
