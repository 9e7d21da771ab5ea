/* The batch script, from three layers of settings: what holds always, what holds for one or for several
 * nodes, and the context's own. */
#include "run/targets/slurm.h"
#include "base/length.h"
#include "output/file.h"
#include "run/targets/distributed.h"
#include "os/paths.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const char defaults[] =
    "{\"slurm\": {\"partition\": \"amd-rccl\", \"nodes\": 1, \"gpus_per_node\": 8, \"time\": \"24:00:00\", "
    "\"output_dir\": \"./slurm_results\", \"exclusive\": true, \"modules\": []}, "
    "\"distributed\": {\"backend\": \"nccl\", \"port\": 29500}, "
    "\"env_vars\": {\"OMP_NUM_THREADS\": \"8\", \"MIOPEN_FIND_MODE\": \"1\", \"MIOPEN_USER_DB_PATH\": "
    "\"/tmp/.miopen\"}}";
static const char one_node[] =
    "{\"slurm\": {\"time\": \"12:00:00\"}, \"env_vars\": {\"NCCL_DEBUG\": \"WARN\"}}";
static const char many_nodes[] =
    "{\"env_vars\": {\"NCCL_DEBUG\": \"WARN\", \"NCCL_DEBUG_SUBSYS\": \"INIT,NET\", \"NCCL_IB_DISABLE\": "
    "\"1\", "
    "\"NCCL_SOCKET_IFNAME\": \"eth0\", \"TORCH_NCCL_HIGH_PRIORITY\": \"1\", \"GPU_MAX_HW_QUEUES\": \"2\", "
    "\"TORCH_NCCL_ASYNC_ERROR_HANDLING\": \"1\", \"NCCL_TIMEOUT\": \"600\", \"HSA_ENABLE_SDMA\": \"0\", "
    "\"HSA_FORCE_FINE_GRAIN_PCIE\": \"1\", \"RCCL_ENABLE_HIPGRAPH\": \"0\"}}";

typedef struct writer {
    const gt_slurm_request *request;
    const gt_plan *plan;
    gt_arena *arena;
    const gt_value *settings, *slurm;
    gt_slurm *out;
    int64_t nodes, gpus;
    const char *output_dir;
    gt_distributed launcher;
    gt_error *error;
} writer;

static void add(writer *w, const char *text)
{
    gt_buffer_add_cstr(&w->out->text, text);
}

static void add_export(writer *w, const char *name, const char *value)
{
    add(w, "export ");
    add(w, name);
    add(w, "=");
    gt_shell_quote(&w->out->text, value);
    add(w, "\n");
}

static const char *number(writer *w, int64_t value)
{
    return gt_arena_format(w->arena, "%" PRId64, value);
}

/* ---- directives ---- */

/* A directive ends with its line, so its value must not hold one. */
static bool add_directive(writer *w, const char *name, const char *value)
{
    for (const char *c = value ? value : ""; *c; c++)
        if (iscntrl((unsigned char)*c))
            return gt_fail(w->error, "slurm: the value of %s holds a control character", name);
    const char *text =
        value ? gt_arena_format(w->arena, "--%s=%s", name, value) : gt_arena_format(w->arena, "--%s", name);
    gt_arg_list_add(w->arena, &w->out->directives, text);
    add(w, "#SBATCH ");
    add(w, text);
    add(w, "\n");
    return true;
}

static const char *without_blanks(writer *w, const char *text)
{
    char *kept = gt_arena_bytes(w->arena, text, strlen(text)), *to = kept;
    for (const char *from = text; *from; from++)
        if (!isspace((unsigned char)*from)) *to++ = *from;
    *to = 0;
    return kept;
}

static bool add_optional(writer *w, const char *key)
{
    const gt_value *value = gt_value_get(w->slurm, key);
    if (gt_value_is_empty(value)) return true;
    const char *text = gt_settings_print(w->arena, value);
    return add_directive(w, key, strcmp(key, "nodelist") == 0 ? without_blanks(w, text) : text);
}

static bool add_directives(writer *w)
{
    const char *log = gt_path_join(w->arena, w->output_dir,
                                   gt_arena_format(w->arena, "gputally-%s_%%j_%%t", w->plan->name));
    add(w, "#!/bin/bash\n");
    return add_directive(w, "job-name", gt_arena_format(w->arena, "gputally-%s", w->plan->name)) &&
           add_directive(w, "output", gt_arena_format(w->arena, "%s.out", log)) &&
           add_directive(w, "error", gt_arena_format(w->arena, "%s.err", log)) &&
           add_optional(w, "partition") && add_directive(w, "nodes", number(w, w->nodes)) &&
           add_directive(w, "ntasks", number(w, w->nodes)) && add_directive(w, "ntasks-per-node", "1") &&
           add_directive(w, "gpus-per-node", number(w, w->gpus)) && add_optional(w, "time") &&
           add_optional(w, "nodelist") && add_optional(w, "exclude") && add_optional(w, "constraint") &&
           (!gt_settings_is_true(w->slurm, "exclusive", false) || add_directive(w, "exclusive", NULL)) &&
           add_optional(w, "qos") && add_optional(w, "account");
}

/* ---- variables ---- */

static void add_modules(writer *w)
{
    const gt_value *modules = gt_value_get(w->slurm, "modules");
    for (uint32_t i = 0; gt_value_is_list(modules) && i < modules->count; i++) {
        add(w, "module load ");
        gt_shell_quote(&w->out->text, gt_settings_print(w->arena, &modules->items[i]));
        add(w, "\n");
    }
}

static void add_devices(writer *w)
{
    gt_buffer list = {0};
    for (int64_t i = 0; i < w->gpus; i++) {
        gt_buffer_add_cstr(&list, i ? "," : "");
        gt_buffer_add_cstr(&list, number(w, i));
    }
    const char *devices = gt_buffer_str(&list).bytes;
    bool one_only = strncmp(w->launcher.name, "vllm", 4) == 0 || strncmp(w->launcher.name, "sglang", 6) == 0;
    bool is_amd = gt_value_equals_cstr(gt_value_get(w->settings, "gpu_vendor"), "AMD");
    if (!one_only || is_amd) add_export(w, "HIP_VISIBLE_DEVICES", devices);
    if (!one_only) add_export(w, "ROCR_VISIBLE_DEVICES", devices);
    if (!one_only || !is_amd) add_export(w, "CUDA_VISIBLE_DEVICES", devices);
    gt_buffer_free(&list);
}

static void add_interface(writer *w)
{
    const char *given = gt_settings_string(w->slurm, "network_interface");
    if (given) {
        add(w, "GPUTALLY_INTERFACE=");
        gt_shell_quote(&w->out->text, given);
        add(w, "\n");
    } else {
        add(w, "GPUTALLY_INTERFACE=$(ls /sys/class/net 2>/dev/null | grep -q '^ib[0-9]' && echo ib0 || ip "
               "route show default "
               "2>/dev/null | sed -n 's/.* dev \\([^ ]*\\).*/\\1/p' | head -n 1)\n");
    }
    add(w, "export NCCL_SOCKET_IFNAME=\"${NCCL_SOCKET_IFNAME:-${GPUTALLY_INTERFACE:-eth0}}\"\n"
           "export GLOO_SOCKET_IFNAME=\"${GLOO_SOCKET_IFNAME:-${GPUTALLY_INTERFACE:-eth0}}\"\n");
}

static bool add_variables(writer *w)
{
    const gt_value *env = gt_value_get(w->settings, "env_vars"),
                   *distributed = gt_value_get(w->settings, "distributed");
    add(w, "export MASTER_ADDR=$(scontrol show hostnames \"$SLURM_JOB_NODELIST\" | head -n 1)\n");
    add_export(w, "MASTER_PORT", number(w, w->launcher.port));
    add(w, "export WORLD_SIZE=$SLURM_NTASKS LOCAL_RANK=$SLURM_LOCALID\n");
    add_export(w, "GPUS_PER_NODE", number(w, w->gpus));
    add_devices(w);
    for (uint32_t i = 0; env->type == GT_VALUE_DICT && i < env->count; i += 2)
        if (!gt_value_equals_cstr(&env->items[i], "MIOPEN_USER_DB_PATH") &&
            env->items[i + 1].type != GT_VALUE_NONE)
            add_export(w, env->items[i].text.bytes, gt_settings_print(w->arena, &env->items[i + 1]));
    add_interface(w);
    add_export(w, "DISTRIBUTED_BACKEND", gt_settings_print(w->arena, gt_value_get(distributed, "backend")));
    add(w, "export MAD_DEPLOYMENT_TYPE=slurm MAD_SLURM_JOB_ID=$SLURM_JOB_ID MAD_IN_SLURM_JOB=1\n");
    add_export(w, "MAD_TOTAL_NODES", number(w, w->nodes));
    add_export(w, "MAD_LAUNCHER_TYPE", w->launcher.name);
    if (w->nodes > 1) add(w, "export TORCH_ELASTIC_RDZV_TIMEOUT=3600\n");
    return true;
}

/* ---- what each node does ---- */

static bool add_task(writer *w)
{
    gt_buffer task = {0};
    const gt_value *env = gt_value_get(w->settings, "env_vars");
    const char *database = gt_settings_string(env, "MIOPEN_USER_DB_PATH");
    gt_buffer_add_cstr(&task,
                       "export NODE_RANK=$SLURM_PROCID RANK=$SLURM_PROCID MAD_NODE_RANK=$SLURM_PROCID\n"
                       "if [ \"$SLURM_PROCID\" = 0 ]; then export MAD_COLLECT_METRICS=true; else export "
                       "MAD_COLLECT_METRICS=false; fi\n");
    gt_buffer_add_cstr(&task, "export MIOPEN_USER_DB_PATH=");
    gt_shell_quote(&task, database ? database : "/tmp/.miopen");
    gt_buffer_add_cstr(&task, "/node_$SLURM_PROCID\n");
    bool sound = gt_distributed_export(&w->launcher, w->settings, &task, w->error);
    gt_buffer_add_cstr(&task, "exec ");
    gt_shell_quote(&task, w->request->gputally);
    gt_buffer_add_cstr(&task, " run --target local --additional_context_file ");
    gt_shell_quote(&task, w->out->context_path);
    gt_buffer_add_cstr(&task, " --output_dir ");
    gt_shell_quote(&task, w->out->results_dir);
    gt_buffer_add_cstr(&task, "/\"$SLURM_JOB_ID/node_$SLURM_PROCID\" ");
    gt_shell_join(&task, w->request->run_options, w->request->run_option_count);
    gt_buffer_add_cstr(&task, " -- ");
    gt_buffer_add_cstr(&task, w->plan->command_line);

    char start[96];
    snprintf(start, sizeof start, "srun --ntasks=%" PRId64 " --ntasks-per-node=1 bash -c ", w->nodes);
    add(w, start);
    gt_shell_quote(&w->out->text, gt_buffer_str(&task).bytes);
    add(w, "\n");
    gt_buffer_free(&task);
    return sound;
}

static const gt_value *layer(gt_arena *arena, const gt_value *below, const char *json)
{
    return gt_settings_merge(arena, below, gt_value_parse(arena, (gt_str){json, strlen(json)}));
}

bool gt_slurm_make(const gt_slurm_request *request, gt_slurm *slurm, gt_error *error)
{
    const gt_plan *plan = request->plan;
    *slurm = (gt_slurm){0};
    writer w = {.request = request, .plan = plan, .arena = plan->arena, .out = slurm, .error = error};
    w.nodes = gt_settings_int(gt_value_get(plan->context, "slurm"), "nodes", 1);
    if (w.nodes < 1 || w.nodes > 100000) return gt_fail(error, "slurm: nodes must be from 1 to 100000");
    w.settings =
        layer(w.arena, layer(w.arena, &gt_value_missing, defaults), w.nodes > 1 ? many_nodes : one_node);
    w.settings = gt_settings_merge(w.arena, w.settings, plan->context);
    w.slurm = gt_value_get(w.settings, "slurm");
    w.gpus = gt_settings_int(w.slurm, "gpus_per_node", 8);
    if (w.gpus < 1 || w.gpus > 1024) return gt_fail(error, "slurm: gpus_per_node must be from 1 to 1024");
    w.launcher = gt_distributed_of(w.settings, w.nodes, w.gpus);
    const char *output_dir = gt_settings_string(w.slurm, "output_dir"),
               *workspace = gt_settings_string(w.slurm, "shared_workspace");
    w.output_dir = gt_path_absolute(w.arena, plan->output_dir, output_dir ? output_dir : "slurm_results");
    slurm->nodes = w.nodes;
    slurm->script =
        gt_path_join(w.arena, w.output_dir, gt_arena_format(w.arena, "gputally_%s.sh", plan->name));
    slurm->context_path =
        gt_path_join(w.arena, w.output_dir, gt_arena_format(w.arena, "gputally_%s_context.json", plan->name));
    slurm->results_dir = gt_path_join(w.arena, w.output_dir, plan->name);
    if (!add_directives(&w)) return false;
    add(&w, "\ncd ");
    gt_shell_quote(&slurm->text, workspace ? workspace : plan->workdir);
    add(&w, " || exit 1\n");
    add_modules(&w);
    return add_variables(&w) && add_task(&w);
}

/* MIOpen's database is one of each node, which the script sees to. */
static const gt_value *context_for_nodes(const gt_plan *plan)
{
    const gt_value *env = gt_value_get(plan->context, "env_vars");
    if (!gt_settings_has(env, "MIOPEN_USER_DB_PATH")) return plan->context;
    env = gt_settings_with(plan->arena, env, "MIOPEN_USER_DB_PATH", gt_value_none);
    return gt_settings_with(plan->arena, plan->context, "env_vars", *env);
}

bool gt_slurm_write(const gt_plan *plan, const gt_slurm *slurm, gt_error *error)
{
    gt_json_writer json = {0};
    gt_json_add_value(&json, context_for_nodes(plan));
    gt_buffer_add_cstr(&json.text, "\n");
    gt_output *output = gt_output_new();
    gt_buffer script = slurm->text;
    bool sound = gt_output_whole_file(output, slurm->script, gt_buffer_str(&script), error) &&
                 gt_output_whole_file(output, slurm->context_path, gt_buffer_str(&json.text), error) &&
                 gt_output_commit(output, error);
    gt_output_free(output);
    gt_json_writer_free(&json);
    return sound && (chmod(slurm->script, 0755) == 0 ||
                     gt_fail(error, "%s: cannot be made executable", slurm->script));
}
