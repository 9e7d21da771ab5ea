/* A plan as JSON: what --dry-run prints and what the record of a run begins with. */
#include "run/plan/plan.h"

static void write_actions(gt_json_writer *w, const char *key, const gt_action *actions, size_t count)
{
    gt_json_key(w, key);
    gt_json_open(w, '[');
    for (size_t i = 0; i < count; i++) {
        gt_json_open(w, '{');
        gt_json_put_cstr(w, "path", actions[i].path);
        gt_json_put_cstr(w, "args", actions[i].args);
        gt_json_key(w, "native");
        gt_json_add_bool(w, actions[i].kind != GT_ACTION_SCRIPT);
        gt_json_close(w, '}');
    }
    gt_json_close(w, ']');
}

static void write_samplers(gt_json_writer *w, const gt_plan *plan)
{
    gt_json_key(w, "samplers");
    gt_json_open(w, '[');
    for (size_t i = 0; i < plan->sampler_count; i++) {
        gt_json_open(w, '{');
        gt_json_put_cstr(w, "mode", plan->samplers[i].mode);
        gt_json_put_cstr(w, "devices", plan->samplers[i].devices);
        gt_json_key(w, "period_s");
        gt_json_add_real(w, plan->samplers[i].period_s);
        gt_json_put_cstr(w, "file", plan->samplers[i].file);
        gt_json_close(w, '}');
    }
    gt_json_close(w, ']');
}

static void write_list(gt_json_writer *w, const char *key, const gt_arg_list *list)
{
    gt_json_put_cstrs(w, key, list->items, list->count);
}

static void write_profiler(gt_json_writer *w, const gt_profiler *profiler)
{
    gt_json_key(w, "profiler");
    gt_json_open(w, '{');
    gt_json_put_cstr(w, "kind", gt_profiler_kind_name(profiler->kind));
    gt_json_put_cstr(w, "path", profiler->path);
    write_list(w, "options", &profiler->options);
    gt_json_put_int(w, "passes", (int64_t)profiler->passes);
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

void gt_plan_write(const gt_plan *plan, gt_json_writer *w)
{
    gt_json_put_value(w, "context", plan->context);
    gt_json_put_cstr(w, "target", plan->target);
    gt_json_put_cstr(w, "name", plan->name);
    gt_json_put_cstr(w, "workdir", plan->workdir);
    gt_json_put_value(w, "env", plan->env);
    write_actions(w, "pre", plan->pre, plan->pre_count);
    gt_json_put_cstr(w, "argv_shell", plan->shell_line);
    write_actions(w, "post", plan->post, plan->post_count);
    write_samplers(w, plan);
    write_profiler(w, plan->profiler);
    write_library(w, plan);
    gt_json_key(w, "docker");
    if (plan->image) {
        gt_json_open(w, '{');
        write_list(w, "argv", &plan->docker);
        gt_json_close(w, '}');
    } else {
        gt_json_add_cstr(w, NULL);
    }
    write_slurm(w, plan);
    write_list(w, "outputs", &plan->outputs);
    write_list(w, "notes", &plan->notes);
    write_list(w, "warnings", &plan->warnings);
}
