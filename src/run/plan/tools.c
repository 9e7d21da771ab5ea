/* The built-in tools, and the stack of tools that a context requests. */
#include "run/plan/plan.h"

/* ---- tools ---- */

typedef struct tool_entry {
    const char *name;
    const char *cmd;         /* a piece of a shell line; "": none */
    const gt_value *env;     /* dict of strings */
    const gt_value *pre;     /* list of {"path", "args"} */
    const gt_value *post;    /* the same */
    bool is_rocprof, is_rtl; /* tools of different families cannot run together */
} tool_entry;

#define WRAPPER   "bash ../scripts/common/tools/rocprof_wrapper.sh "
#define COUNTERS  "../scripts/common/tools/counters/"
#define TO_FOLDER " -d ./rocprof_output --"
#define RTL       "bash ../scripts/common/tools/rtl_trace_wrapper.sh "
#define LIBRARY   "python3 ../scripts/common/tools/get_library_trace.py"
#define PRE       "scripts/common/pre_scripts/"
#define POST      "scripts/common/post_scripts/"
#define ECHO      "scripts/common/test_echo.sh"

enum { ENV_MAX = 5, TOOL_SCRIPTS_MAX = 2 };

typedef struct script {
    const char *path, *args; /* args NULL: none */
} script;

typedef struct tool_row {
    const char *name, *purpose, *cmd;
    const char *env[ENV_MAX][2];
    script pre[TOOL_SCRIPTS_MAX], post[TOOL_SCRIPTS_MAX];
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
    {"rocprofv3_compute", "HIP calls, kernels and 12 compute counters: 12 runs",
     WRAPPER "--hip-trace --kernel-trace -i " COUNTERS "compute_bound.txt --output-format pftrace" TO_FOLDER,
     AFTER_ROCPROF},
    {"rocprofv3_memory", "HIP calls, kernels, copies and 14 memory counters: 14 runs",
     WRAPPER "--hip-trace --kernel-trace --memory-copy-trace --memory-allocation-trace -i " COUNTERS
             "memory_bound.txt --output-format pftrace" TO_FOLDER,
     AFTER_ROCPROF},
    {"rocprofv3_communication", "HIP, HSA and RCCL calls, kernels, copies, scratch memory",
     WRAPPER "--hip-trace --hsa-trace --kernel-trace --memory-copy-trace --rccl-trace --scratch-memory-trace "
             "--output-format pftrace" TO_FOLDER,
     .env = {{"RCCL_DEBUG", "INFO"}}, AFTER_ROCPROF},
    {"rocprofv3_full", "everything rocprofv3 records and 15 counters: 15 runs, high overhead",
     WRAPPER
     "--hip-trace --hsa-trace --kernel-trace --memory-copy-trace --memory-allocation-trace --rccl-trace "
     "--scratch-memory-trace --marker-trace --runtime-trace -i " COUNTERS
     "full_profile.txt --output-format pftrace --stats" TO_FOLDER,
     .env = {{"RCCL_DEBUG", "INFO"}, {"HSA_ENABLE_SDMA", "0"}}, AFTER_ROCPROF},
    {"rocprofv3_lightweight", "HIP calls and kernels as JSON, lowest overhead",
     WRAPPER "--hip-trace --kernel-trace --output-format json" TO_FOLDER, AFTER_ROCPROF},
    {"rocprofv3_agent", "kernels and statistics as CSV",
     WRAPPER
     "--runtime-trace --stats --kernel-trace --output-format csv -d ./rocprof_output -o rocprofv3_output --",
     AFTER_ROCPROF},
    {"rocprofv3_agent_counter", "the same with 5 instruction counters: 5 runs",
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
    {"rocprofv3_pc_sampling", "where kernels spend their time, 1000 samples per second",
     WRAPPER
     "--hip-trace --kernel-trace --pc-sampling-beta-enabled --pc-sampling-unit time --pc-sampling-method "
     "stochastic --pc-sampling-interval 1000 --output-format pftrace" TO_FOLDER,
     AFTER_ROCPROF},
    {"rocm_trace_lite", "rocm-trace-lite, mode lite", RTL, .env = {{"RTL_MODE", "lite"}},
     AROUND("rocm_trace_lite")},
    {"rocm_trace_lite_default", "rocm-trace-lite, mode default", RTL, .env = {{"RTL_MODE", "default"}},
     AROUND("rocm_trace_lite")},
    {"nsys", "NVIDIA Nsight Systems: kernels, copies, CUDA calls, NVTX ranges",
     "nsys profile --trace=cuda,nvtx,osrt,cublas,cudnn --cuda-graph-trace=node --sample=none "
     "--cpuctxsw=none"},
    {"ncu", "NVIDIA Nsight Compute: hardware counters per kernel, each kernel runs several times",
     "ncu --target-processes all --section LaunchStats --section Occupancy --section SpeedOfLight --section "
     "MemoryWorkloadAnalysis"},
    {"rocblas_trace", "rocBLAS calls", LIBRARY, .env = {{"ROCBLAS_TRACE", "1"}}},
    {"hipblaslt_trace", "hipBLASLt calls", LIBRARY, .env = {{"HIPBLASLT_TRACE", "1"}}},
    {"miopen_trace", "MIOpen calls", LIBRARY, .env = {{"MIOPEN_TRACE", "1"}}},
    {"tensile_trace", "Tensile kernels", LIBRARY, .env = {{"TENSILE_TRACE", "1"}}},
    {"rccl_trace", "RCCL's own messages in the log", LIBRARY, .env = {{"RCCL_TRACE", "1"}}},
    {"gpu_info_power_profiler", "GPU power over time", SAMPLER("POWER", "power")},
    {"gpu_info_vram_profiler", "GPU memory usage over time", SAMPLER("VRAM", "vram")},
    {"therock_check", "is this ROCm a TheRock build?", "",
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

/* Whether a built-in tool puts a profiler in front of the command. */
static bool is_profiler(const char *name)
{
    for (size_t i = 0; i < GT_LENGTH(rows); i++)
        if (strcmp(rows[i].name, name) == 0)
            return strncmp(name, "rocprof", 7) == 0 || strncmp(name, "rocm_trace_lite", 15) == 0 ||
                   strcmp(name, "rpd") == 0 || strcmp(name, "nsys") == 0 || strcmp(name, "ncu") == 0;
    return false;
}

const gt_value *gt_tools_choose_profiler(gt_arena *arena, const gt_value *context, const char *name)
{
    static const gt_value empty = {.type = GT_VALUE_LIST};
    const gt_value *tools = gt_value_get(context, "tools"), *kept = &empty;
    for (uint32_t i = 0; gt_value_is_list(tools) && i < tools->count; i++) {
        const char *tool = gt_settings_string(&tools->items[i], "name");
        if (!tool || !is_profiler(tool)) kept = gt_settings_push(arena, kept, tools->items[i]);
    }
    if (name)
        kept = gt_settings_push(
            arena, kept,
            *gt_settings_with(arena, &gt_value_missing, "name", gt_settings_copy_string(arena, name)));
    return gt_settings_with(arena, context, "tools", *kept);
}

static const gt_value *scripts_of(gt_arena *arena, const script *scripts)
{
    static const gt_value empty = {.type = GT_VALUE_LIST};
    const gt_value *list = &empty;
    for (size_t i = 0; i < TOOL_SCRIPTS_MAX && scripts[i].path; i++) {
        const gt_value *entry = gt_settings_with(arena, &gt_value_missing, "path",
                                                 gt_settings_copy_string(arena, scripts[i].path));
        if (scripts[i].args)
            entry = gt_settings_with(arena, entry, "args", gt_settings_copy_string(arena, scripts[i].args));
        list = gt_settings_push(arena, list, *entry);
    }
    return list;
}

static tool_entry built_in(gt_arena *arena, const tool_row *row)
{
    static const gt_value empty = {.type = GT_VALUE_DICT};
    const gt_value *env = &empty;
    for (size_t i = 0; i < ENV_MAX && row->env[i][0]; i++)
        env = gt_settings_with(arena, env, row->env[i][0], gt_settings_copy_string(arena, row->env[i][1]));
    return (tool_entry){.name = row->name,
                        .cmd = row->cmd,
                        .env = env,
                        .pre = scripts_of(arena, row->pre),
                        .post = scripts_of(arena, row->post)};
}

/* An entry of a tools file; missing members are empty. */
static bool own_tool(const gt_value *entry, const char *name, tool_entry *tool, gt_error *error)
{
    const gt_value *cmd = gt_value_get(entry, "cmd"), *env = gt_value_get(entry, "env_vars");
    *tool = (tool_entry){.name = name,
                         .cmd = cmd->type == GT_VALUE_STRING ? cmd->text.bytes : "",
                         .env = env,
                         .pre = gt_value_get(entry, "pre_scripts"),
                         .post = gt_value_get(entry, "post_scripts")};
    bool ok = entry->type == GT_VALUE_DICT &&
              (cmd->type == GT_VALUE_STRING || cmd->type == GT_VALUE_MISSING) &&
              (env->type == GT_VALUE_DICT || env->type == GT_VALUE_MISSING) &&
              (gt_value_is_list(tool->pre) || tool->pre->type == GT_VALUE_MISSING) &&
              (gt_value_is_list(tool->post) || tool->post->type == GT_VALUE_MISSING);
    return ok ||
           gt_fail(
               error,
               "tool %.200s of the tools file: must be an object with cmd (a string), env_vars (an object), "
               "pre_scripts and post_scripts (arrays)",
               name);
}

static bool find_tool(gt_arena *arena, const gt_value *more, const char *name, tool_entry *tool,
                      gt_error *error)
{
    const gt_value *own = gt_value_get(gt_value_get(more, "tools"), name);
    if (own->type != GT_VALUE_MISSING) {
        if (!own_tool(own, name, tool, error)) return false;
    } else {
        size_t i = 0;
        while (i < GT_LENGTH(rows) && strcmp(rows[i].name, name) != 0) i++;
        if (i == GT_LENGTH(rows))
            return gt_fail(error, "unknown tool '%.200s'; see gputally run --list_tools", name);
        *tool = built_in(arena, &rows[i]);
    }
    tool->is_rocprof = strncmp(name, "rocprof", 7) == 0;
    tool->is_rtl = strncmp(name, "rocm_trace_lite", 15) == 0;
    return true;
}

/* ---- stack of tools ---- */

enum { TOOLS_MAX = 64, SCRIPTS_MAX = 256 };

typedef struct builder {
    gt_arena *arena;
    gt_stack *stack;
    gt_buffer wrap;
    const char *rocprof, *rtl; /* the first tool of each family */
    gt_error *error;
} builder;

static const gt_value *joined(gt_arena *arena, const gt_value *first, const gt_value *second)
{
    for (uint32_t i = 0; gt_value_is_list(second) && i < second->count; i++)
        first = gt_settings_push(arena, first, second->items[i]);
    return first;
}

static gt_value trimmed(gt_arena *arena, const char *text)
{
    size_t len = strlen(text);
    while (len && isspace((unsigned char)text[len - 1])) len--;
    while (len && isspace((unsigned char)*text)) text++, len--;
    return (gt_value){.type = GT_VALUE_STRING, .text = {gt_arena_bytes(arena, text, len), len}};
}

/* Scripts as {"path", "args"}, both trimmed; args "" if there are none. */
static bool check_scripts(builder *b, const gt_value **scripts, const char *whose)
{
    static const gt_value empty = {.type = GT_VALUE_LIST};
    const gt_value *clean = &empty;
    if ((*scripts)->count > SCRIPTS_MAX)
        return gt_fail(b->error, "%s: more than %d scripts", whose, SCRIPTS_MAX);
    for (uint32_t i = 0; gt_value_is_list(*scripts) && i < (*scripts)->count; i++) {
        const gt_value *entry = &(*scripts)->items[i];
        const char *path = gt_settings_string(entry, "path"), *args = gt_settings_string(entry, "args");
        if (!path || (!args && gt_settings_has(entry, "args")))
            return gt_fail(b->error,
                           "%s: entry %u must be an object with path and, optionally, args, both strings",
                           whose, i + 1);
        const gt_value *kept = gt_settings_with(b->arena, &gt_value_missing, "path", trimmed(b->arena, path));
        kept = gt_settings_with(b->arena, kept, "args", trimmed(b->arena, args ? args : ""));
        clean = gt_settings_push(b->arena, clean, *kept);
    }
    *scripts = clean;
    return true;
}

static bool is_in_wrap(const gt_stack *stack, const char *cmd)
{
    for (size_t i = 0; i < stack->piece_count; i++)
        if (stack->pieces[i].tool && strcmp(stack->pieces[i].cmd, cmd) == 0) return true;
    return false;
}

/* wrap = cmd + " " + wrap */
static void wrap_with(builder *b, const tool_entry *tool, bool own_cmd)
{
    if (is_in_wrap(b->stack, tool->cmd)) return;
    gt_buffer around = {0};
    gt_buffer_add_cstr(&around, tool->cmd);
    gt_buffer_add_cstr(&around, " ");
    gt_buffer_add(&around, b->wrap.bytes, b->wrap.len);
    gt_buffer_free(&b->wrap);
    b->wrap = around;
    b->stack->pieces[b->stack->piece_count++] =
        (gt_stack_piece){.cmd = tool->cmd, .tool = tool->name, .own_cmd = own_cmd};
}

static bool check_families(builder *b, const tool_entry *tool)
{
    if (tool->is_rocprof) {
        if (b->rocprof && strcmp(b->rocprof, tool->name) != 0 && !b->stack->warning) {
            char text[512];
            snprintf(text, sizeof text,
                     "%.200s and %.200s both run a profiler; they may interfere with each other", b->rocprof,
                     tool->name);
            b->stack->warning = gt_settings_copy_string(b->arena, text).text.bytes;
        }
        b->rocprof = tool->name;
    }
    if (tool->is_rtl) b->rtl = tool->name;
    if (b->rocprof && b->rtl)
        return gt_fail(b->error, "tools %.200s and %.200s cannot run together: both trace the same calls",
                       b->rocprof, b->rtl);
    return true;
}

static bool add_tool(builder *b, const gt_value *entry, const gt_value *more_tools)
{
    const char *name = gt_settings_string(entry, "name"), *cmd = gt_settings_string(entry, "cmd");
    const gt_value *env = gt_value_get(entry, "env_vars");
    if (!name) return gt_fail(b->error, "tools: each entry must be an object with a name (a string)");
    if (!cmd && gt_settings_has(entry, "cmd"))
        return gt_fail(b->error, "tool %.200s: cmd must be a string", name);
    if (env->type != GT_VALUE_MISSING && env->type != GT_VALUE_DICT)
        return gt_fail(b->error, "tool %.200s: env_vars must be an object", name);
    tool_entry tool = {0};
    if (!find_tool(b->arena, more_tools, name, &tool, b->error) || !check_families(b, &tool)) return false;
    bool from_file = gt_settings_has(gt_value_get(more_tools, "tools"), name);
    if (cmd) tool.cmd = cmd;
    tool.env = gt_settings_update(b->arena, tool.env, env);
    if (!check_scripts(b, &tool.pre, name) || !check_scripts(b, &tool.post, name)) return false;

    b->stack->pre = joined(b->arena, tool.pre, b->stack->pre);
    b->stack->post = joined(b->arena, b->stack->post, tool.post);
    b->stack->env = gt_settings_update(b->arena, b->stack->env, tool.env);
    wrap_with(b, &tool, cmd || from_file);
    return true;
}

static void outermost_first(gt_stack *stack)
{
    for (size_t i = 0; i < stack->piece_count / 2; i++) {
        gt_stack_piece piece = stack->pieces[i];
        stack->pieces[i] = stack->pieces[stack->piece_count - 1 - i];
        stack->pieces[stack->piece_count - 1 - i] = piece;
    }
}

bool gt_stack_build(gt_arena *arena, const gt_value *context, const gt_value *more_tools, gt_stack *stack,
                    gt_error *error)
{
    builder b = {.arena = arena, .stack = stack, .error = error};
    const gt_value *tools = gt_value_get(context, "tools");
    const char *own = gt_settings_string(context, "encapsulate_script");
    if (tools->count > TOOLS_MAX) return gt_fail(error, "more than %d tools", TOOLS_MAX);
    *stack = (gt_stack){.pre = gt_value_get(context, "pre_scripts"),
                        .post = gt_value_get(context, "post_scripts"),
                        .env = gt_settings_update(arena, &gt_value_missing, &gt_value_missing)};
    stack->pieces = gt_arena_alloc(arena, (tools->count + 1) * sizeof *stack->pieces);
    bool ok =
        check_scripts(&b, &stack->pre, "pre_scripts") && check_scripts(&b, &stack->post, "post_scripts");
    gt_buffer_add_cstr(&b.wrap, own ? own : "");
    if (own && *own) stack->pieces[stack->piece_count++] = (gt_stack_piece){.cmd = own, .own_cmd = true};
    for (uint32_t i = 0; ok && i < tools->count; i++) ok = add_tool(&b, &tools->items[i], more_tools);
    outermost_first(stack);
    stack->wrap = gt_arena_bytes(arena, b.wrap.bytes, b.wrap.len);
    gt_buffer_free(&b.wrap);
    return ok;
}
