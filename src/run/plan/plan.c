/* Computes the plan of a run from the context, and prints it as JSON. */
#include "run/plan/plan.h"
#include "os/clock.h"
#include "os/paths.h"
#include "run/plan/secrets.h"

extern char **environ;

/* ---- making the plan ---- */

/* ---- names and folders ---- */

/* The name of the run: "python3 train.py" gives train, "./app" gives app. */
static const char *name_of_command(gt_arena *arena, const gt_plan_request *request)
{
    static const char *const starters[] = {"python", "python3", "bash", "sh", "torchrun"};
    const char *word = request->command_count ? request->command[0] : "run";
    for (size_t i = 0; i < GT_LENGTH(starters); i++)
        if (gt_path_is_named(word, starters[i]) && request->command_count > 1 &&
            request->command[1][0] != '-') {
            word = request->command[1];
            break;
        }
    const char *name = gt_path_name(word), *dot = strrchr(name, '.');
    size_t len = dot && dot != name ? (size_t)(dot - name) : strlen(name);
    char *kept = gt_arena_bytes(arena, len ? name : "run", len ? len : 3);
    for (char *c = kept; *c; c++)
        if (!isalnum((unsigned char)*c) && !strchr("._-", *c)) *c = '_';
    return kept;
}

static void choose_run_dir(gt_plan *plan)
{
    time_t now = time(NULL);
    char stamp[GT_CLOCK_TEXT];
    gt_clock_format(stamp, sizeof stamp, "%Y-%m-%d_%H.%M.%S", now);
    const char *folder = gt_path_join(plan->arena, plan->output_dir, "rocprof_output");
    for (int n = 1; n == 1 || (access(plan->run_dir, F_OK) == 0 && n < 1000); n++) {
        plan->timestamp = n == 1 ? gt_arena_format(plan->arena, "%s", stamp)
                                 : gt_arena_format(plan->arena, "%s_%d", stamp, n);
        plan->run_dir = gt_path_join(plan->arena, folder, plan->timestamp);
    }
}

static bool is_variable_name(const char *name)
{
    if (!isalpha((unsigned char)*name) && *name != '_') return false;
    for (; *name; name++)
        if (!isalnum((unsigned char)*name) && *name != '_') return false;
    return true;
}

/* Adds the variables of a dict to those before it, as strings; null removes one. */
static bool add_variables(gt_plan *plan, const gt_value *dict, const char *whose, gt_error *error)
{
    for (uint32_t i = 0; dict->type == GT_VALUE_DICT && i < dict->count; i += 2) {
        const char *name = dict->items[i].text.bytes;
        const gt_value *value = &dict->items[i + 1];
        if (!is_variable_name(name))
            return gt_fail(error, "%s: '%.200s' is not a valid variable name", whose, name);
        if (value->type == GT_VALUE_DICT || gt_value_is_list(value))
            return gt_fail(error, "%s: the value of %.200s must be a string or number", whose, name);
        if (value->type != GT_VALUE_NONE)
            plan->env =
                gt_settings_with(plan->arena, plan->env, name,
                                 gt_settings_copy_string(plan->arena, gt_settings_print(plan->arena, value)));
    }
    return true;
}

/* ---- pieces of the command line ---- */

static bool expects_many_hosts(const gt_plan *plan)
{
    return plan->distributed.nodes > 1 ||
           gt_settings_int(gt_value_get(plan->context, "distributed"), "nnodes", 1) > 1;
}

/* The words with more options before the "--" that ends them. */
static gt_arg_list with_options(const gt_plan *plan, const gt_arg_list *words, const gt_arg_list *more)
{
    gt_arg_list joined = {0};
    size_t end = 0;
    while (end < words->count && strcmp(words->items[end], "--") != 0) end++;
    for (size_t i = 0; i < end; i++) gt_arg_list_add(plan->arena, &joined, words->items[i]);
    for (size_t i = 0; i < more->count; i++) gt_arg_list_add(plan->arena, &joined, more->items[i]);
    for (size_t i = end; i < words->count; i++) gt_arg_list_add(plan->arena, &joined, words->items[i]);
    return joined;
}

static bool add_profiler(gt_plan *plan, const gt_stack_piece *piece, const gt_arg_list *words,
                         gt_error *error)
{
    gt_profiler *profiler = gt_arena_alloc(plan->arena, sizeof *profiler);
    gt_profiler_place place = {.workdir = plan->workdir,
                               .named_base = plan->model ? plan->output_dir : plan->workdir,
                               .run_dir = plan->run_dir,
                               .timestamp = plan->timestamp,
                               .env = plan->env,
                               .many_hosts = expects_many_hosts(plan),
                               .tool = piece->tool ? piece->tool : "encapsulate_script",
                               .own_cmd = piece->own_cmd,
                               .in_container = plan->image,
                               .rocprofv3 = "rocprofv3", /* until the image is asked */
                               .on_this_machine = !plan->image && strcmp(plan->target, "local") == 0};
    static const gt_arg_list nothing;
    const gt_arg_list *more = plan->profiler == &plan->none ? &plan->profiler_args : &nothing;
    gt_arg_list joined = with_options(plan, words, more);
    bool ok = true;
    if (plan->looks_in_image && gt_profiler_is_called(words) &&
        !gt_docker_find_profilers(plan, &place, error))
        return false;
    if (more->count && (gt_stage_is_rtl(words) || gt_stage_is_rpd(words)))
        return gt_fail(error, "--profiler_args: unsupported for tool %.200s", place.tool);
    if (gt_nvidia_is_called(words))
        gt_nvidia_plan(plan, words, more, &place, profiler);
    else
        ok = gt_stage_is_rtl(words)   ? gt_stage_plan_rtl(plan, profiler)
             : gt_stage_is_rpd(words) ? gt_stage_plan_rpd(plan, words, profiler)
                                      : gt_profiler_plan(plan->arena, &joined, &place, profiler, &plan->notes,
                                                         &plan->warnings, error);
    if (!ok) return false;
    if (plan->profiler != &plan->none && (gt_nvidia_is(profiler) || gt_nvidia_is(plan->profiler)))
        return gt_fail(error, "%s and %s cannot run together: each needs the GPU's profiling interface",
                       gt_profiler_kind_name(plan->profiler->kind), gt_profiler_kind_name(profiler->kind));
    plan->pieces[plan->piece_count++] = (gt_plan_piece){.profiler = profiler};
    if (plan->profiler == &plan->none) plan->profiler = profiler;
    return true;
}

static bool add_piece(gt_plan *plan, const gt_stack_piece *piece, gt_error *error)
{
    gt_arg_list words = {0};
    bool plain = gt_shell_split(plan->arena, piece->cmd, &words);
    if (plain && words.count == 0) return true;
    if (plain && gt_stage_is_library_trace(&words)) {
        gt_stage_plan_library(plan);
        return true;
    }
    if (plain && (gt_profiler_is_called(&words) || gt_nvidia_is_called(&words) || gt_stage_is_rtl(&words) ||
                  gt_stage_is_rpd(&words)))
        return add_profiler(plan, piece, &words, error);
    plan->pieces[plan->piece_count++] = (gt_plan_piece){.text = piece->cmd};
    return true;
}

/* Runs the command after it on both devices at once. Its status is that of the last one that failed. */
static const char on_both_dies[] =
    "bash -c 'for d in 0 1; do HIP_VISIBLE_DEVICES=$d \"$@\" & p[$d]=$!; done; s=0; "
    "for d in 0 1; do wait ${p[$d]} || s=$?; done; exit $s' dual_gcd ";

void gt_plan_compose(gt_plan *plan)
{
    gt_buffer line = {0};
    const char *runner = plan->capture.attach ? NULL : plan->launch.runner;
    if (plan->capture.attach && plan->capture.start_s > 0)
        gt_buffer_add_format(&line, "sleep %.9g && ", plan->capture.start_s);
    for (size_t i = 0; i < plan->piece_count; i++) {
        const gt_profiler *profiler = plan->pieces[i].profiler;
        if (runner && profiler && gt_plan_launcher_is_outside(plan)) {
            gt_buffer_add_cstr(&line, runner);
            gt_buffer_add_cstr(&line, " ");
            runner = NULL;
        }
        if (!profiler) {
            gt_buffer_add_cstr(&line, plan->pieces[i].text);
        } else {
            gt_shell_quote(&line, profiler->path ? profiler->path : gt_profiler_kind_name(profiler->kind));
            gt_buffer_add_cstr(&line, profiler->options.count ? " " : "");
            gt_shell_join(&line, profiler->options.items, profiler->options.count);
            if (profiler->kind == GT_PROFILER_ROCPROFV3 && !plan->capture.attach)
                gt_buffer_add_cstr(&line, " --");
            gt_buffer_add_cstr(&line, profiler->before_app.count ? " " : "");
            gt_shell_join(&line, profiler->before_app.items, profiler->before_app.count);
        }
        gt_buffer_add_cstr(&line, " ");
    }
    if (plan->capture.attach) { /* nothing is started */
        while (line.len && line.bytes[line.len - 1] == ' ') line.len--;
        plan->shell_line = gt_arena_bytes(plan->arena, line.bytes, line.len);
        gt_buffer_free(&line);
        return;
    }
    if (plan->dual_gcd) gt_buffer_add_cstr(&line, on_both_dies);
    if (runner) {
        gt_buffer_add_cstr(&line, runner);
        gt_buffer_add_cstr(&line, " ");
    }
    gt_buffer_add_cstr(&line, plan->launch.command);
    plan->shell_line = gt_arena_bytes(plan->arena, line.bytes, line.len);
    gt_buffer_free(&line);
}

/* ---- actions ---- */

static gt_action *actions_of(gt_plan *plan, const gt_value *scripts, size_t *count)
{
    gt_action *actions = gt_arena_alloc(plan->arena, (scripts->count + 1) * sizeof *actions);
    for (uint32_t i = 0; i < scripts->count; i++) {
        const char *path = gt_settings_string(&scripts->items[i], "path"),
                   *args = gt_settings_string(&scripts->items[i], "args");
        actions[i] = (gt_action){gt_stage_action(path), path, args};
    }
    *count = scripts->count;
    return actions;
}

static void add_snapshot(gt_plan *plan)
{
    const char *mode = gt_settings_string(plan->context, "rocenv_mode");
    plan->pre[plan->pre_count++] =
        (gt_action){GT_ACTION_ENVIRONMENT, "scripts/common/pre_scripts/run_rocenv_tool.sh",
                    gt_arena_format(plan->arena, "%s_env %s %s", plan->name, mode ? mode : "lite",
                                    gt_settings_string(plan->context, "guest_os"))};
    gt_arg_list_add(
        plan->arena, &plan->outputs,
        gt_path_join(plan->arena, plan->output_dir, gt_arena_format(plan->arena, "%s_env.csv", plan->name)));
}

static bool wants_snapshot(const gt_plan_request *request)
{
    return request->snapshot && (request->always_snapshot ||
                                 (gt_settings_is_true(request->context, "gen_sys_env_details", true) &&
                                  gt_settings_is_true(request->context, "generate_sys_env_details", true)));
}

static void list_outputs(gt_plan *plan)
{
    gt_arg_list_add(plan->arena, &plan->outputs, plan->log_path);
    for (size_t i = 0; i < plan->piece_count; i++)
        if (plan->pieces[i].profiler && plan->pieces[i].profiler->output_dir)
            gt_arg_list_add(plan->arena, &plan->outputs, plan->pieces[i].profiler->output_dir);
    for (size_t i = 0; i < plan->sampler_count; i++)
        gt_arg_list_add(plan->arena, &plan->outputs, plan->samplers[i].file);
    if (plan->library_modes.count) gt_arg_list_add(plan->arena, &plan->outputs, plan->library_file);
    gt_arg_list_add(plan->arena, &plan->outputs, plan->record_path);
}

static void note_passes(gt_plan *plan)
{
    if (plan->profiler->passes > 1)
        gt_arg_list_add(plan->arena, &plan->notes,
                        gt_arena_format(plan->arena, "the command runs %zu times, once per list of counters",
                                        plan->profiler->passes));
    if (plan->profiler->kind == GT_PROFILER_ROCPROFV3 && !plan->profiler->path)
        gt_arg_list_add(plan->arena, &plan->notes,
                        plan->image ? "neither rocprofv3 nor rocprof is in the image"
                                    : "neither rocprofv3 nor rocprof is installed");
}

static bool read_profiler_args(gt_plan *plan, const char *text, gt_error *error)
{
    return !text || gt_shell_split(plan->arena, text, &plan->profiler_args) ||
           gt_fail(error, "--profiler_args: quote words that mean more to a shell: %.200s", text);
}

static bool make_pieces(gt_plan *plan, const gt_stack *stack, gt_error *error)
{
    plan->pieces = gt_arena_alloc(plan->arena, (stack->piece_count + 1) * sizeof *plan->pieces);
    for (size_t i = 0; i < stack->piece_count; i++)
        if (!add_piece(plan, &stack->pieces[i], error)) return false;
    if (plan->profiler_args.count && plan->profiler == &plan->none)
        return gt_fail(error, "--profiler_args: this run has no profiler; choose one with --profiler");
    return true;
}

static void name_places(gt_plan *plan, const gt_plan_request *request)
{
    gt_arena *arena = plan->arena;
    const char *current = gt_path_current(arena);
    const gt_plan_model *model = request->model;
    plan->name = request->name ? request->name : name_of_command(arena, request);
    plan->workdir = model ? model->folder : current;
    plan->output_dir = gt_path_absolute(arena, current, request->output_dir ? request->output_dir : ".");
    plan->log_path =
        model ? gt_path_join(arena, current, model->log_name)
              : gt_path_join(arena, plan->output_dir, gt_arena_format(arena, "%s.run.live.log", plan->name));
    plan->record_path = gt_path_join(arena, plan->output_dir, "gputally_run.json");
    choose_run_dir(plan);
    if (model) {
        plan->command_line = model->line;
        return;
    }
    gt_buffer line = {0};
    gt_shell_join(&line, request->command, request->command_count);
    plan->command_line = gt_buffer_move(&line, arena);
}

/* A name that no other run uses. Models have madengine's name, by which users find a container that was kept
 * alive. */
static const char *container_name(const gt_plan *plan)
{
    const char *rank = getenv("SLURM_PROCID");
    if (!rank) rank = getenv("RANK");
    char *name = plan->model ? gt_arena_format(plan->arena, "container_%s%s%s", plan->image,
                                               rank ? "_node" : "", rank ? rank : "")
                             : gt_arena_format(plan->arena, "gputally_%.80s_%ld", plan->name, (long)getpid());
    for (char *c = name; *c; c++)
        if (!isalnum((unsigned char)*c) && !strchr("_.-", *c)) *c = '_';
    return name;
}

/* Scripts of the user run in the container, too, so it must exist before and after the command. */
static bool needs_session(const gt_plan *plan)
{
    for (size_t i = 0; i < plan->pre_count + plan->post_count; i++) {
        const gt_action *action = i < plan->pre_count ? &plan->pre[i] : &plan->post[i - plan->pre_count];
        if (action->kind == GT_ACTION_SCRIPT) return true;
    }
    return plan->model || plan->keep_alive;
}

static bool has_counters(const gt_profiler *profiler)
{
    for (size_t i = 0; i < profiler->options.count; i++)
        if (strcmp(profiler->options.items[i], "-i") == 0 ||
            strcmp(profiler->options.items[i], "--input") == 0 ||
            strcmp(profiler->options.items[i], "--pmc") == 0)
            return true;
    return false;
}

/* Adds the options for a bounded capture to the profiler. */
static bool bound_capture(gt_plan *plan, gt_error *error)
{
    gt_profiler *profiler = plan->profiler;
    const char *name = gt_profiler_kind_name(profiler->kind);
    if (!gt_capture_is_bounded(&plan->capture)) return true;
    if (profiler->kind == GT_PROFILER_NONE)
        return gt_fail(error,
                       "a bounded capture needs a profiler: add --tools rocprofv3_lightweight, for example");
    if (plan->capture.attach && profiler->passes > 1)
        return gt_fail(error,
                       "--attach: counters that need %zu passes cannot be collected from a running process",
                       profiler->passes);
    if (plan->capture.attach && plan->image) return gt_fail(error, "--attach: not possible with a container");
    if (!gt_capture_add_options(plan->arena, &plan->capture, name, has_counters(profiler),
                                &plan->capture_options, &plan->notes, error))
        return false;
    for (size_t i = 0; i < plan->capture_options.count; i++)
        gt_arg_list_add(plan->arena, &profiler->options, plan->capture_options.items[i]);
    return true;
}

/* What does not depend on the command and its folder: tools, places, launcher, variables. */
static bool begin_plan(gt_arena *arena, const gt_plan_request *request, gt_plan *plan, gt_stack *stack,
                       gt_error *error)
{
    *plan = (gt_plan){.arena = arena,
                      .model = request->model,
                      .context = request->context,
                      .target = request->target,
                      .image = request->image,
                      .timeout_s = request->timeout_s,
                      .grace_s = request->grace_s,
                      .capture = request->capture,
                      .min_free = request->min_free,
                      .keep_alive = request->keep_alive,
                      .looks_in_image = request->image && request->look_in_image,
                      .none = {.kind = GT_PROFILER_NONE, .passes = 1},
                      .env = gt_settings_update(arena, &gt_value_missing, &gt_value_missing)};
    plan->profiler = &plan->none;
    plan->log_scan =
        gt_log_scan_make(arena, plan->context, plan->model ? plan->model->entry : &gt_value_missing);
    if (!gt_stack_build(arena, plan->context, request->more_tools, stack, error)) return false;
    if (stack->warning) gt_arg_list_add(arena, &plan->warnings, stack->warning);
    name_places(plan, request);
    if (plan->model && !add_variables(plan, plan->model->variables, "model", error)) return false;
    if (!gt_plan_launcher(plan, request, error) ||
        !add_variables(plan, gt_value_get(plan->context, "env_vars"), "env_vars", error) ||
        !add_variables(plan, stack->env, "tools", error) ||
        !add_variables(plan, gt_value_get(plan->context, "docker_env_vars"), "docker_env_vars", error))
        return false;
    gt_plan_interface(plan);
    return true;
}

bool gt_plan_check(gt_arena *arena, const gt_plan_request *request, gt_plan *plan, gt_error *error)
{
    static const char *const command = "bash";
    gt_plan_request any = *request;
    gt_stack stack;
    any.command = &command;
    any.command_count = 1;
    any.image = NULL;
    return begin_plan(arena, &any, plan, &stack, error);
}

bool gt_plan_make(gt_arena *arena, const gt_plan_request *request, gt_plan *plan, gt_error *error)
{
    gt_stack stack;
    if (!begin_plan(arena, request, plan, &stack, error)) return false;
    if (!read_profiler_args(plan, request->profiler_args, error) || !make_pieces(plan, &stack, error))
        return false;
    plan->pre = actions_of(plan, stack.pre, &plan->pre_count);
    plan->post = actions_of(plan, stack.post, &plan->post_count);
    if (wants_snapshot(request)) add_snapshot(plan);
    if (!gt_stage_plan_samplers(plan, error)) return false;
    if (plan->image) plan->container = container_name(plan);
    plan->in_session = plan->image && needs_session(plan);
    if (!bound_capture(plan, error)) return false;
    list_outputs(plan);
    note_passes(plan);
    gt_plan_note_launcher(plan);
    gt_plan_compose(plan);
    plan->secrets = gt_secrets_known(arena, plan->context, plan->env, (const char *const *)environ);
    return !plan->image || gt_docker_make(plan, plan->image, &plan->docker, error);
}

/* ---- the plan as JSON ---- */

/* The plan is printed and kept in the record, so values of secrets are masked in all of it. */
static const char *shown(const gt_plan *plan, const char *text)
{
    return gt_secrets_hide(plan->arena, plan->secrets, text);
}

static void write_actions(gt_json_writer *w, const char *key, const gt_plan *plan, const gt_action *actions,
                          size_t count)
{
    gt_json_put_open(w, key, '[');
    for (size_t i = 0; i < count; i++) {
        gt_json_open(w, '{');
        gt_json_put_cstr(w, "path", actions[i].path);
        gt_json_put_cstr(w, "args", shown(plan, actions[i].args));
        gt_json_put_bool(w, "native", actions[i].kind != GT_ACTION_SCRIPT);
        gt_json_close(w, '}');
    }
    gt_json_close(w, ']');
}

static void write_samplers(gt_json_writer *w, const gt_plan *plan)
{
    gt_json_put_open(w, "samplers", '[');
    for (size_t i = 0; i < plan->sampler_count; i++) {
        gt_json_open(w, '{');
        gt_json_put_cstr(w, "mode", plan->samplers[i].mode);
        gt_json_put_cstr(w, "devices", plan->samplers[i].devices);
        gt_json_put_real(w, "period_s", plan->samplers[i].period_s);
        gt_json_put_cstr(w, "file", plan->samplers[i].file);
        gt_json_close(w, '}');
    }
    gt_json_close(w, ']');
}

static void write_list(gt_json_writer *w, const char *key, const gt_arg_list *list)
{
    gt_json_put_cstrs(w, key, list->items, list->count);
}

static void write_words(gt_json_writer *w, const char *key, const gt_plan *plan, const gt_arg_list *words)
{
    gt_arg_list masked = gt_secrets_hide_words(plan->arena, plan->secrets, words);
    write_list(w, key, &masked);
}

static void write_profiler(gt_json_writer *w, const gt_plan *plan)
{
    const gt_profiler *profiler = plan->profiler;
    gt_json_put_open(w, "profiler", '{');
    gt_json_put_cstr(w, "kind", gt_profiler_kind_name(profiler->kind));
    gt_json_put_cstr(w, "path", profiler->path);
    write_words(w, "options", plan, &profiler->options);
    gt_json_put_int(w, "passes", (int64_t)profiler->passes);
    write_list(w, "counters", &profiler->counter_passes);
    gt_json_put_cstr(w, "output_dir", profiler->output_dir);
    write_list(w, "formats", &profiler->formats);
    gt_json_close(w, '}');
}

static void write_library(gt_json_writer *w, const gt_plan *plan)
{
    gt_json_key(w, "library_trace");
    if (!plan->library_modes.count) {
        gt_json_add_cstr(w, NULL);
        return;
    }
    gt_json_open(w, '{');
    write_list(w, "modes", &plan->library_modes);
    gt_json_put_cstr(w, "file", plan->library_file);
    gt_json_close(w, '}');
}

static void write_slurm(gt_json_writer *w, const gt_plan *plan)
{
    gt_json_key(w, "slurm");
    if (!plan->slurm) {
        gt_json_add_cstr(w, NULL);
        return;
    }
    gt_json_open(w, '{');
    gt_json_put_cstr(w, "script", plan->slurm->script);
    write_list(w, "directives", &plan->slurm->directives);
    gt_json_close(w, '}');
}

static void write_capture(gt_json_writer *w, const gt_plan *plan)
{
    const gt_capture_window *window = &plan->capture;
    gt_json_key(w, "capture");
    if (!gt_capture_is_bounded(window)) {
        gt_json_add_cstr(w, NULL);
        return;
    }
    gt_json_open(w, '{');
    if (window->seconds > 0) {
        gt_json_put_real(w, "start_s", window->start_s);
        gt_json_put_real(w, "seconds", window->seconds);
    }
    if (window->first_step) {
        gt_json_put_int(w, "first_step", window->first_step);
        gt_json_put_int(w, "last_step", window->last_step);
    }
    gt_json_put_bool(w, "by_region", window->by_region);
    if (window->attach) gt_json_put_int(w, "attach", window->attach);
    write_list(w, "options", &plan->capture_options);
    gt_json_close(w, '}');
}

void gt_plan_write(const gt_plan *plan, gt_json_writer *w)
{
    gt_json_put_value(w, "context", gt_secrets_masked(plan->arena, plan->secrets, plan->context));
    gt_json_put_cstr(w, "target", plan->target);
    gt_json_put_cstr(w, "name", plan->name);
    gt_json_put_cstr(w, "workdir", plan->workdir);
    gt_json_put_value(w, "env", gt_secrets_masked(plan->arena, plan->secrets, plan->env));
    write_actions(w, "pre", plan, plan->pre, plan->pre_count);
    gt_json_put_cstr(w, "argv_shell", shown(plan, plan->shell_line));
    write_actions(w, "post", plan, plan->post, plan->post_count);
    write_samplers(w, plan);
    write_profiler(w, plan);
    write_capture(w, plan);
    write_library(w, plan);
    gt_plan_write_launcher(plan, w);
    gt_json_key(w, "docker");
    if (plan->image) {
        gt_json_open(w, '{');
        write_words(w, "argv", plan, &plan->docker);
        gt_json_close(w, '}');
    } else {
        gt_json_add_cstr(w, NULL);
    }
    write_slurm(w, plan);
    write_list(w, "outputs", &plan->outputs);
    write_list(w, "notes", &plan->notes);
    write_list(w, "warnings", &plan->warnings);
}
