/* The steps of a run, one after another. What must be there is looked for before anything is started; from
 * then on every later step is taken whatever became of those before, so that nothing recorded is lost. */
#include "run/execute/execute.h"
#include "base/log.h"
#include "output/file.h"
#include "run/execute/actions.h"
#include "os/child.h"
#include "run/execute/collect.h"
#include "run/plan/docker.h"
#include "run/execute/library_trace.h"
#include "os/paths.h"
#include "run/execute/performance.h"
#include "run/sensors/sampler.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const double help_timeout_s = 60;

typedef struct run {
    gt_plan *plan;
    gt_outcome *outcome;
    gt_library_trace *libraries; /* NULL: not traced */
    gt_sensors sensors;
    bool has_sensors;
    gt_sampler *samplers[GT_SAMPLERS_MAX];
} run;

/* Keeps the first reason, which is the one that matters. */
static bool failed(run *r, const char *reason)
{
    r->outcome->failed = true;
    if (!r->outcome->reason) r->outcome->reason = gt_arena_bytes(r->plan->arena, reason, strlen(reason));
    fprintf(stderr, "gputally: %s\n", reason);
    return false;
}

/* ---- before ---- */

static bool collect_text(void *context, gt_child_stream stream, gt_str line)
{
    (void)stream;
    gt_buffer_add(context, line.bytes, line.len);
    gt_buffer_add_cstr(context, "\n");
    return false;
}

/* What a program prints when asked for help. */
static gt_str help_of(const char *const *argv, gt_buffer *text)
{
    gt_child_setup setup = {.argv = argv,
                            .silent = true,
                            .merge = true,
                            .timeout_s = help_timeout_s,
                            .line = collect_text,
                            .line_context = text};
    gt_child_result result;
    gt_error ignored;
    gt_child_run(&setup, &result, &ignored);
    return gt_buffer_str(text);
}

/* rtl of some versions has no --mode. */
static void fit_rtl(gt_plan *plan, gt_profiler *profiler, const char *help)
{
    if (strstr(help, "--mode") || profiler->options.count < 3 ||
        strcmp(profiler->options.items[1], "--mode") != 0)
        return;
    gt_arg_list_add(plan->arena, &plan->warnings, "this rtl has no --mode: it is left out");
    for (size_t i = 3; i < profiler->options.count; i++)
        profiler->options.items[i - 2] = profiler->options.items[i];
    profiler->options.count -= 2;
}

static void fit_to_program(gt_plan *plan, gt_profiler *profiler)
{
    gt_buffer text = {0};
    if (profiler->kind == GT_PROFILER_ROCPROFV3 && !profiler->own_cmd)
        gt_profiler_fit_help(plan->arena, profiler,
                             help_of((const char *[]){profiler->path, "--help", NULL}, &text).bytes,
                             &plan->notes);
    if (profiler->kind == GT_PROFILER_RTL)
        fit_rtl(plan, profiler,
                help_of((const char *[]){profiler->path, "trace", "--help", NULL}, &text).bytes);
    gt_buffer_free(&text);
}

static bool missing_profiler(run *r, gt_profiler_kind kind)
{
    if (kind == GT_PROFILER_RTL)
        return failed(r, "rtl, the program of rocm-trace-lite, is not on PATH: install the Python package "
                         "rocm-trace-lite first");
    if (kind == GT_PROFILER_RPD)
        return failed(r, "rocmProfileData/rpd_tracer/runTracer.sh is not here: build ROCm/rocmProfileData in "
                         "this folder first");
    failed(r, "Error: Neither rocprofv3 nor rocprof found in PATH");
    fputs("gputally: Please ensure ROCm profiler tools are installed\n", stderr);
    return false;
}

static bool check_profilers(run *r)
{
    if (r->plan->image) /* what the image holds, docker will say */
        return gt_path_search(r->plan->arena, "docker", getenv("PATH")) || failed(r, "docker is not on PATH");
    for (size_t i = 0; i < r->plan->piece_count; i++) {
        gt_profiler *profiler = r->plan->pieces[i].profiler;
        if (profiler && !profiler->path) return missing_profiler(r, profiler->kind);
        if (profiler) fit_to_program(r->plan, profiler);
    }
    gt_plan_compose(r->plan);
    return true;
}

static bool write_counters(const gt_profiler *profiler, gt_error *error)
{
    if (!profiler->counter_file) return true;
    gt_buffer text = {0};
    gt_counter_file_add(profiler->counter_file, &text);
    gt_output *output = gt_output_new();
    bool sound = gt_output_whole_file(output, profiler->counter_path, gt_buffer_str(&text), error) &&
                 gt_output_commit(output, error);
    gt_output_free(output);
    gt_buffer_free(&text);
    return sound;
}

static bool prepare(run *r)
{
    gt_error error;
    if (!gt_path_make_folder(r->plan->output_dir, &error)) return failed(r, error.text);
    for (size_t i = 0; i < r->plan->piece_count; i++) {
        const gt_profiler *profiler = r->plan->pieces[i].profiler;
        if (profiler && profiler->output_dir && !gt_path_make_folder(profiler->output_dir, &error))
            return failed(r, error.text);
        if (profiler && !write_counters(profiler, &error)) return failed(r, error.text);
    }
    if (unlink(r->plan->log_path) != 0 &&
        errno != ENOENT) { /* a new log; scripts and the command add to it */
        gt_fail(&error, "cannot replace %s: %s", r->plan->log_path, strerror(errno));
        return failed(r, error.text);
    }
    return true;
}

static void say_all(const gt_plan *plan)
{
    for (size_t i = 0; i < plan->warnings.count; i++) gt_warn("%s", plan->warnings.items[i]);
    for (size_t i = 0; i < plan->notes.count; i++) gt_info("%s", plan->notes.items[i]);
}

static bool do_actions(run *r, const gt_action *actions, size_t count, bool all)
{
    bool sound = true;
    gt_error error;
    for (size_t i = 0; i < count && (sound || all); i++)
        if (!gt_action_do(r->plan, &actions[i], &error)) sound = failed(r, error.text);
    return sound;
}

/* ---- the command ---- */

static bool see_line(void *context, gt_child_stream stream, gt_str line)
{
    run *r = context;
    if (!r->outcome->performance)
        gt_performance_find(r->plan->arena, line, &r->outcome->performance, &r->outcome->metric);
    bool may_be_noise = stream == GT_CHILD_STDERR || r->libraries;
    if (may_be_noise && gt_profiler_is_noise(r->plan->profiler->kind, line)) return false;
    return !r->libraries || !gt_library_trace_see(r->libraries, line);
}

static void start_samplers(run *r)
{
    if (!r->plan->sampler_count) return;
    r->has_sensors = gt_sensors_open(r->plan->arena, &r->sensors);
    if (!r->has_sensors) gt_warn("no GPU was found whose power or memory can be sampled");
    for (size_t i = 0; r->has_sensors && i < r->plan->sampler_count; i++)
        r->samplers[i] = gt_sampler_start(&r->plan->samplers[i], &r->sensors);
}

static void stop_samplers(run *r)
{
    for (size_t i = 0; i < r->plan->sampler_count; i++)
        if (gt_sampler_stop(r->samplers[i]))
            gt_arg_list_add(r->plan->arena, &r->outcome->files, r->plan->samplers[i].file);
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
        gt_warn("%s", error.text);
    gt_library_trace_free(r->libraries);
}

static void run_command(run *r)
{
    gt_plan *plan = r->plan;
    const char *line[] = {"bash", "-c", plan->shell_line, NULL}, *const *argv = line;
    if (plan->image) {
        gt_arg_list_add(plan->arena, &plan->docker, ""); /* room for the end */
        plan->docker.items[--plan->docker.count] = NULL;
        argv = plan->docker.items;
    }
    gt_child_setup setup = {.argv = argv,
                            .environment = gt_plan_environment(plan),
                            .directory = plan->workdir,
                            .log_path = plan->log_path,
                            .log_append = true,
                            .timeout_s = plan->timeout_s,
                            .merge = r->libraries,
                            .line = see_line,
                            .line_context = r};
    gt_child_result result;
    gt_error error;
    if (!gt_child_run(&setup, &result, &error)) {
        r->outcome->exit_code = result.exit_code;
        failed(r, error.text);
        return;
    }
    if (plan->image && (result.timed_out || result.interrupted)) gt_docker_remove(plan);
    r->outcome->exit_code = result.exit_code;
    r->outcome->timed_out = result.timed_out;
    r->outcome->interrupted = result.interrupted;
    char reason[128] = "";
    if (result.timed_out)
        snprintf(reason, sizeof reason, "Program timed out. Requested timeout=%g", plan->timeout_s);
    else if (result.interrupted)
        snprintf(reason, sizeof reason, "interrupted by signal %d (%s)", result.interrupted,
                 strsignal(result.interrupted));
    else if (result.exit_code)
        snprintf(reason, sizeof reason, "the command failed with exit status %d", result.exit_code);
    if (*reason) failed(r, reason);
}

bool gt_plan_execute(gt_plan *plan, gt_outcome *outcome)
{
    *outcome = (gt_outcome){.exit_code = -1};
    run r = {.plan = plan, .outcome = outcome};
    clock_gettime(CLOCK_REALTIME, &outcome->begin);
    bool ready = check_profilers(&r);
    say_all(plan);
    ready = ready && prepare(&r);
    if (!ready) { /* nothing was started */
        clock_gettime(CLOCK_REALTIME, &outcome->end);
        return false;
    }
    if (plan->library_modes.count) r.libraries = gt_library_trace_new(&plan->library_modes);
    bool prepared = do_actions(&r, plan->pre, plan->pre_count, false);
    if (prepared) {
        start_samplers(&r);
        run_command(&r);
        stop_samplers(&r);
    }
    write_libraries(&r);
    do_actions(&r, plan->post, plan->post_count, true);
    gt_collect(plan, outcome);
    gt_arg_list_add(plan->arena, &outcome->files, plan->log_path);
    clock_gettime(CLOCK_REALTIME, &outcome->end);
    return !outcome->failed;
}
