/* The table of tools. Their commands and scripts are written as in madengine's tools.json, so that contexts
 * that replace a part of one fit; which of them are done here without a script the plan decides (stages.c).
 */
#include "run/plan/tools.h"
#include "base/length.h"

#include <string.h>

#define WRAPPER   "bash ../scripts/common/tools/rocprof_wrapper.sh "
#define COUNTERS  "../scripts/common/tools/counters/"
#define TO_FOLDER " -d ./rocprof_output --"
#define RTL       "bash ../scripts/common/tools/rtl_trace_wrapper.sh "
#define LIBRARY   "python3 ../scripts/common/tools/get_library_trace.py"
#define PRE       "scripts/common/pre_scripts/"
#define POST      "scripts/common/post_scripts/"
#define ECHO      "scripts/common/test_echo.sh"

enum { ENV_MAX = 5, SCRIPTS_MAX = 2 };

typedef struct script {
    const char *path, *args; /* args NULL: none */
} script;

typedef struct tool_row {
    const char *name, *purpose, *cmd;
    const char *env[ENV_MAX][2];
    script pre[SCRIPTS_MAX], post[SCRIPTS_MAX];
} tool_row;

#define AFTER_ROCPROF .post = {{POST "trace.sh", "rocprof"}}
#define AROUND(what)  .pre = {{PRE "trace.sh", what}}, .post = {{POST "trace.sh", what}}
#define SAMPLER(NAME, name)                                                                                  \
    .cmd = "",                                                                                               \
    .env = {{NAME "_DEVICE", "all"},                                                                         \
            {NAME "_SAMPLING_RATE", "0.1"},                                                                  \
            {NAME "_MODE", name},                                                                            \
            {NAME "_DUAL_GCD", "false"},                                                                     \
            {NAME "_OUTPUT_FILE", "gpu_info_" name "_profiler_output.csv"}},                                 \
    .pre = {{PRE "gpu_info_pre.sh", NULL}, {PRE "gpu_info_" name "_start.sh", NULL}},                        \
    .post = {{POST "gpu_info_" name "_stop.sh", NULL},                                                       \
             {POST "gpu_info_post.sh", "gpu_info_" name "_profiler"}}

static const tool_row rows[] = {
    {"rpd", "rocmProfileData's tracer", "./rocmProfileData/rpd_tracer/runTracer.sh",
     .env = {{"LD_LIBRARY_PATH", "./rocmProfileData/rpd_tracer:/opt/rocm/lib"}}, AROUND("rpd")},
    {"rocprof", "runtime calls and kernels", WRAPPER "--runtime-trace --", AFTER_ROCPROF},
    {"rocprof_hip_only", "HIP calls", WRAPPER "--hip-trace --", AFTER_ROCPROF},
    {"rocprof_sys", "HIP and HSA calls, kernels, copies", WRAPPER "--sys-trace --", AFTER_ROCPROF},
    {"rocprofv3", "runtime calls and kernels, rocprofv3 only", "rocprofv3 --runtime-trace --", AFTER_ROCPROF},
    {"rocprofv3_compute", "HIP calls, kernels and 12 counters of arithmetic: 12 runs",
     WRAPPER "--hip-trace --kernel-trace -i " COUNTERS "compute_bound.txt --output-format pftrace" TO_FOLDER,
     AFTER_ROCPROF},
    {"rocprofv3_memory", "HIP calls, kernels, copies and 14 counters of memory: 14 runs",
     WRAPPER "--hip-trace --kernel-trace --memory-copy-trace --memory-allocation-trace -i " COUNTERS
             "memory_bound.txt --output-format pftrace" TO_FOLDER,
     AFTER_ROCPROF},
    {"rocprofv3_communication", "HIP, HSA and RCCL calls, kernels, copies, scratch memory",
     WRAPPER "--hip-trace --hsa-trace --kernel-trace --memory-copy-trace --rccl-trace --scratch-memory-trace "
             "--output-format pftrace" TO_FOLDER,
     .env = {{"RCCL_DEBUG", "INFO"}}, AFTER_ROCPROF},
    {"rocprofv3_full", "all of rocprofv3 and 15 counters: 15 runs, much overhead",
     WRAPPER
     "--hip-trace --hsa-trace --kernel-trace --memory-copy-trace --memory-allocation-trace --rccl-trace "
     "--scratch-memory-trace --marker-trace --runtime-trace -i " COUNTERS
     "full_profile.txt --output-format pftrace --stats" TO_FOLDER,
     .env = {{"RCCL_DEBUG", "INFO"}, {"HSA_ENABLE_SDMA", "0"}}, AFTER_ROCPROF},
    {"rocprofv3_lightweight", "HIP calls and kernels as JSON, least overhead",
     WRAPPER "--hip-trace --kernel-trace --output-format json" TO_FOLDER, AFTER_ROCPROF},
    {"rocprofv3_agent", "kernels and statistics as CSV",
     WRAPPER
     "--runtime-trace --stats --kernel-trace --output-format csv -d ./rocprof_output -o rocprofv3_output --",
     AFTER_ROCPROF},
    {"rocprofv3_agent_counter", "the same with 5 counters of instructions: 5 runs",
     WRAPPER "--runtime-trace --stats --kernel-trace --output-format csv -d ./rocprof_output -o "
             "rocprofv3_output -i " COUNTERS "instruction_mix.txt --",
     AFTER_ROCPROF},
    {"rocprofv3_perfetto", "HIP calls, kernels and copies for Perfetto",
     WRAPPER
     "--hip-trace --kernel-trace --memory-copy-trace --output-format pftrace --perfetto-trace-filename "
     "model_trace.pftrace" TO_FOLDER,
     AFTER_ROCPROF},
    {"rocprofv3_api_overhead", "HIP and HSA calls and markers with statistics",
     WRAPPER "--hip-trace --hsa-trace --marker-trace --runtime-trace --stats --output-format json" TO_FOLDER,
     AFTER_ROCPROF},
    {"rocprofv3_pc_sampling", "where kernels spend their time, sampled a thousand times a second",
     WRAPPER
     "--hip-trace --kernel-trace --pc-sampling-beta-enabled --pc-sampling-unit time --pc-sampling-method "
     "stochastic --pc-sampling-interval 1000 --output-format pftrace" TO_FOLDER,
     AFTER_ROCPROF},
    {"rocm_trace_lite", "rocm-trace-lite, mode lite", RTL, .env = {{"RTL_MODE", "lite"}},
     AROUND("rocm_trace_lite")},
    {"rocm_trace_lite_default", "rocm-trace-lite, mode default", RTL, .env = {{"RTL_MODE", "default"}},
     AROUND("rocm_trace_lite")},
    {"rocblas_trace", "calls of rocBLAS", LIBRARY, .env = {{"ROCBLAS_TRACE", "1"}}},
    {"hipblaslt_trace", "calls of hipBLASLt", LIBRARY, .env = {{"HIPBLASLT_TRACE", "1"}}},
    {"miopen_trace", "calls of MIOpen", LIBRARY, .env = {{"MIOPEN_TRACE", "1"}}},
    {"tensile_trace", "kernels of Tensile", LIBRARY, .env = {{"TENSILE_TRACE", "1"}}},
    {"rccl_trace", "RCCL's own messages, in the log", LIBRARY, .env = {{"RCCL_TRACE", "1"}}},
    {"gpu_info_power_profiler", "power of the GPUs over time", SAMPLER("POWER", "power")},
    {"gpu_info_vram_profiler", "used memory of the GPUs over time", SAMPLER("VRAM", "vram")},
    {"therock_check", "is this ROCm one of TheRock?", "",
     .pre = {{"scripts/common/tools/detect_therock.sh", NULL}}},
    {"test_tools_A", "for tests", "echo cmd_A && ", .pre = {{ECHO, "pre_script A"}},
     .post = {{ECHO, "post_script A"}}},
    {"test_tools_B", "for tests", "echo cmd_B && ", .pre = {{ECHO, "pre_script B"}},
     .post = {{ECHO, "post_script B"}}},
};

size_t gt_tool_count(void)
{
    return GT_LENGTH(rows);
}

const char *gt_tool_name(size_t index)
{
    return rows[index].name;
}

const char *gt_tool_purpose(size_t index)
{
    return rows[index].purpose;
}

static const gt_value *scripts_of(gt_arena *arena, const script *scripts)
{
    static const gt_value empty = {.type = GT_VALUE_LIST};
    const gt_value *list = &empty;
    for (size_t i = 0; i < SCRIPTS_MAX && scripts[i].path; i++) {
        const gt_value *entry = gt_settings_with(arena, &gt_value_missing, "path",
                                                 gt_settings_copy_string(arena, scripts[i].path));
        if (scripts[i].args)
            entry = gt_settings_with(arena, entry, "args", gt_settings_copy_string(arena, scripts[i].args));
        list = gt_settings_push(arena, list, *entry);
    }
    return list;
}

static gt_tool built_in(gt_arena *arena, const tool_row *row)
{
    static const gt_value empty = {.type = GT_VALUE_DICT};
    const gt_value *env = &empty;
    for (size_t i = 0; i < ENV_MAX && row->env[i][0]; i++)
        env = gt_settings_with(arena, env, row->env[i][0], gt_settings_copy_string(arena, row->env[i][1]));
    return (gt_tool){.name = row->name,
                     .cmd = row->cmd,
                     .env = env,
                     .pre = scripts_of(arena, row->pre),
                     .post = scripts_of(arena, row->post)};
}

/* An entry of a file: what it lacks is empty. */
static bool own_tool(const gt_value *entry, const char *name, gt_tool *tool, gt_error *error)
{
    const gt_value *cmd = gt_value_get(entry, "cmd"), *env = gt_value_get(entry, "env_vars");
    *tool = (gt_tool){.name = name,
                      .cmd = cmd->type == GT_VALUE_STRING ? cmd->text.bytes : "",
                      .env = env,
                      .pre = gt_value_get(entry, "pre_scripts"),
                      .post = gt_value_get(entry, "post_scripts")};
    bool sound = entry->type == GT_VALUE_DICT &&
                 (cmd->type == GT_VALUE_STRING || cmd->type == GT_VALUE_MISSING) &&
                 (env->type == GT_VALUE_DICT || env->type == GT_VALUE_MISSING) &&
                 (gt_value_is_list(tool->pre) || tool->pre->type == GT_VALUE_MISSING) &&
                 (gt_value_is_list(tool->post) || tool->post->type == GT_VALUE_MISSING);
    return sound ||
           gt_fail(
               error,
               "tool %.200s of the tools file: must be an object with cmd (a string), env_vars (an object), "
               "pre_scripts and post_scripts (arrays)",
               name);
}

bool gt_tool_find(gt_arena *arena, const gt_value *more, const char *name, gt_tool *tool, gt_error *error)
{
    const gt_value *own = gt_value_get(gt_value_get(more, "tools"), name);
    if (own->type != GT_VALUE_MISSING) {
        if (!own_tool(own, name, tool, error)) return false;
    } else {
        size_t i = 0;
        while (i < GT_LENGTH(rows) && strcmp(rows[i].name, name) != 0) i++;
        if (i == GT_LENGTH(rows))
            return gt_fail(
                error, "unknown tool '%.200s'; gputally run --list_tools names those that are there", name);
        *tool = built_in(arena, &rows[i]);
    }
    tool->is_rocprof = strncmp(name, "rocprof", 7) == 0;
    tool->is_rtl = strncmp(name, "rocm_trace_lite", 15) == 0;
    return true;
}
