/* Stages that replace scripts of madengine. Like the scripts, they are configured by environment
 * variables. */
#include "run/plan/plan.h"
#include "os/paths.h"

static const struct {
    const char *script;
    gt_action_kind kind;
} actions[] = {
    {"scripts/common/test_echo.sh", GT_ACTION_ECHO},
    {"scripts/common/tools/detect_therock.sh", GT_ACTION_THEROCK},
    {"scripts/common/pre_scripts/run_rocenv_tool.sh", GT_ACTION_ENVIRONMENT},
    {"scripts/common/pre_scripts/gpu_info_pre.sh", GT_ACTION_SAMPLER},
    {"scripts/common/pre_scripts/gpu_info_power_start.sh", GT_ACTION_SAMPLER},
    {"scripts/common/pre_scripts/gpu_info_vram_start.sh", GT_ACTION_SAMPLER},
    {"scripts/common/post_scripts/gpu_info_power_stop.sh", GT_ACTION_SAMPLER},
    {"scripts/common/post_scripts/gpu_info_vram_stop.sh", GT_ACTION_SAMPLER},
    {"scripts/common/post_scripts/gpu_info_post.sh", GT_ACTION_SAMPLER},
    {"scripts/common/pre_scripts/trace.sh", GT_ACTION_PREPARE},
    {"scripts/common/post_scripts/trace.sh", GT_ACTION_COLLECT},
};

static bool ends_with(const char *path, const char *ending)
{
    size_t len = strlen(path), end = strlen(ending);
    return len >= end && strcmp(path + len - end, ending) == 0 && (len == end || path[len - end - 1] == '/');
}

gt_action_kind gt_stage_action(const char *path)
{
    for (size_t i = 0; i < GT_LENGTH(actions); i++)
        if (ends_with(path, actions[i].script)) return actions[i].kind;
    return GT_ACTION_SCRIPT;
}

bool gt_stage_is_library_trace(const gt_arg_list *words)
{
    return words->count == 2 && gt_path_is_named(words->items[0], "python3") &&
           gt_path_is_named(words->items[1], "get_library_trace.py");
}

bool gt_stage_is_rtl(const gt_arg_list *words)
{
    return words->count == 2 && gt_path_is_named(words->items[0], "bash") &&
           gt_path_is_named(words->items[1], "rtl_trace_wrapper.sh");
}

bool gt_stage_is_rpd(const gt_arg_list *words)
{
    return words->count == 1 && gt_path_is_named(words->items[0], "runTracer.sh");
}

/* A variable as the command will see it; NULL if it is unset or empty. */
static const char *variable(const gt_plan *plan, const char *name)
{
    const char *text = gt_settings_string(plan->env, name);
    if (!text) text = getenv(name);
    return text && *text ? text : NULL;
}

/* ---- library calls ---- */

static const struct {
    const char *variable, *mode;
    const char *env[3][2]; /* makes the library print its calls */
} libraries[] = {
    {"ROCBLAS_TRACE", "rocblas_trace", {{"ROCBLAS_LAYER", "6"}}},
    {"HIPBLASLT_TRACE", "hipblaslt_trace", {{"HIPBLASLT_LOG_MASK", "32"}}},
    {"TENSILE_TRACE", "tensile_trace", {{"TENSILE_DB", "0x8000"}}},
    {"MIOPEN_TRACE", "miopen_trace", {{"MIOPEN_ENABLE_LOGGING_CMD", "1"}}},
    {"RCCL_TRACE",
     "rccl_trace",
     {{"NCCL_DEBUG", "INFO"}, {"RCCL_KERNEL_COLL_TRACE_ENABLE", "1"}, {"NCCL_DEBUG_SUBSYS", "INIT,COLL"}}},
};

/* Whether a comma-separated list contains the word; spaces around words are ignored. */
static bool list_holds(const char *list, const char *word)
{
    for (; list && *list; list += *list == ',') {
        list += strspn(list, " \t");
        size_t len = strcspn(list, ","), trimmed = len;
        while (trimmed && isspace((unsigned char)list[trimmed - 1])) trimmed--;
        if (trimmed == strlen(word) && memcmp(list, word, trimmed) == 0) return true;
        list += len;
    }
    return false;
}

void gt_stage_plan_library(gt_plan *plan)
{
    for (size_t i = 0; i < GT_LENGTH(libraries); i++) {
        if (!variable(plan, libraries[i].variable) &&
            !list_holds(variable(plan, "TRACE_MODE"), libraries[i].mode))
            continue;
        gt_arg_list_add(plan->arena, &plan->library_modes, libraries[i].mode);
        for (size_t v = 0; v < GT_LENGTH(libraries[i].env) && libraries[i].env[v][0]; v++)
            if (!gt_settings_has(plan->env, libraries[i].env[v][0]))
                plan->env = gt_settings_with(plan->arena, plan->env, libraries[i].env[v][0],
                                             gt_settings_copy_string(plan->arena, libraries[i].env[v][1]));
    }
    const char *file = variable(plan, "OUTPUT_FILE");
    plan->library_file = gt_path_absolute(plan->arena, plan->output_dir, file ? file : "library_trace.csv");
}

/* ---- other profilers ---- */

bool gt_stage_plan_rtl(gt_plan *plan, gt_profiler *profiler)
{
    const char *folder = variable(plan, "RTL_WRAPPER_OUTPUT_DIR"),
               *file = variable(plan, "RTL_WRAPPER_TRACE_DB");
    const char *mode = variable(plan, "RTL_MODE");
    *profiler =
        (gt_profiler){.kind = GT_PROFILER_RTL,
                      .path = plan->image ? "rtl" : gt_path_search(plan->arena, "rtl", getenv("PATH")),
                      .passes = 1};
    profiler->output_dir =
        gt_path_absolute(plan->arena, plan->output_dir, folder ? folder : "rocm_trace_lite_output");
    file = file ? gt_path_absolute(plan->arena, plan->output_dir, file)
                : gt_path_join(plan->arena, profiler->output_dir, "trace.db");
    gt_arg_list *options = &profiler->options;
    gt_arg_list_add(plan->arena, options, "trace");
    if (mode) {
        gt_arg_list_add(plan->arena, options, "--mode");
        gt_arg_list_add(plan->arena, options, mode);
    }
    gt_arg_list_add(plan->arena, options, "-o");
    gt_arg_list_add(plan->arena, options, file);
    gt_arg_list_add(plan->arena, &profiler->formats, "rocpd");
    return true;
}

bool gt_stage_plan_rpd(gt_plan *plan, const gt_arg_list *words, gt_profiler *profiler)
{
    *profiler = (gt_profiler){.kind = GT_PROFILER_RPD, .passes = 1};
    profiler->path =
        gt_path_search(plan->arena, gt_path_absolute(plan->arena, plan->workdir, words->items[0]), "");
    profiler->output_dir = gt_path_join(plan->arena, plan->output_dir, "rpd_output");
    gt_arg_list_add(plan->arena, &profiler->formats, "rpd");
    return true;
}

/* ---- samplers ---- */

static const struct {
    const char *script, *prefix;
} samplers[] = {
    {"gpu_info_power_start.sh", "POWER"},
    {"gpu_info_vram_start.sh", "VRAM"},
};

static const char *sampler_setting(const gt_plan *plan, const char *prefix, const char *what)
{
    char name[64];
    snprintf(name, sizeof name, "%s_%s", prefix, what);
    return variable(plan, name);
}

static bool is_device_list(const char *text)
{
    if (strcmp(text, "all") == 0) return true;
    for (; *text; text++)
        if (!isdigit((unsigned char)*text) && *text != ',' && *text != ' ') return false;
    return true;
}

/* Only GPUs of AMD have two dies that are devices of their own. */
static void plan_dual(gt_plan *plan, const char *prefix)
{
    const char *vendor = gt_settings_string(plan->context, "gpu_vendor");
    const char *name = gt_arena_format(plan->arena, "%s_DUAL_GCD", prefix);
    if (vendor && strcmp(vendor, "AMD") != 0) {
        gt_arg_list_add(plan->arena, &plan->notes,
                        gt_arena_format(plan->arena, "%s: only for GPUs of AMD, ignored", name));
        return;
    }
    plan->dual_gcd = name;
    gt_arg_list_add(
        plan->arena, &plan->notes,
        gt_arena_format(plan->arena,
                        "%s: the command runs twice at the same time, with HIP_VISIBLE_DEVICES=0 and 1",
                        name));
}

static bool plan_sampler(gt_plan *plan, const char *prefix, gt_error *error)
{
    const char *devices = sampler_setting(plan, prefix, "DEVICE"),
               *rate = sampler_setting(plan, prefix, "SAMPLING_RATE");
    const char *file = sampler_setting(plan, prefix, "OUTPUT_FILE"),
               *own_mode = sampler_setting(plan, prefix, "MODE");
    const char *dual = sampler_setting(plan, prefix, "DUAL_GCD");
    if (!devices || !rate || !own_mode)
        return gt_fail(error, "%s_%s: this variable is required", prefix,
                       !own_mode  ? "MODE"
                       : !devices ? "DEVICE"
                                  : "SAMPLING_RATE");
    if (strcmp(own_mode, "power") != 0 && strcmp(own_mode, "vram") != 0)
        return gt_fail(error, "Invalid %s_MODE: %.200s. Must be 'power' or 'vram'", prefix, own_mode);
    char *end;
    double period_s = strtod(rate, &end);
    if (*end || !(period_s > 0) || period_s > 86400)
        return gt_fail(error, "Invalid %s_SAMPLING_RATE: %.200s (seconds, more than 0, at most 86400)",
                       prefix, rate);
    if (!is_device_list(devices))
        return gt_fail(error, "%s_DEVICE: must be 'all' or comma-separated numbers, got %.200s", prefix,
                       devices);
    if (dual && strcasecmp(dual, "true") == 0) plan_dual(plan, prefix);
    plan->samplers[plan->sampler_count++] =
        (gt_sampler_plan){own_mode, devices, period_s,
                          gt_path_absolute(plan->arena, plan->output_dir, file ? file : "prof.csv")};
    return true;
}

bool gt_stage_plan_samplers(gt_plan *plan, gt_error *error)
{
    for (size_t s = 0; s < GT_LENGTH(samplers); s++) {
        bool wanted = false;
        for (size_t i = 0; i < plan->pre_count; i++)
            wanted = wanted || (plan->pre[i].kind == GT_ACTION_SAMPLER &&
                                gt_path_is_named(plan->pre[i].path, samplers[s].script));
        if (wanted && !plan_sampler(plan, samplers[s].prefix, error)) return false;
    }
    return true;
}
