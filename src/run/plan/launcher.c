/* The table of launchers, and the options and variables that tell them how many processes to start and where.
 *
 * On several nodes, gputally starts the launcher once per node (torchrun, deepspeed, accelerate), and each
 * one starts the processes of its own node; or once, on the first node (mpirun, srun), which then starts
 * those of all nodes. */
#include "run/plan/launcher.h"
#include "compat/nearest.h"
#include "run/plan/context.h"
#include "run/sensors/sensors.h"

#include <unistd.h>

static const struct {
    const char *name;
    gt_launcher_kind kind;
    const char *prefix; /* of its variables */
} launchers[] = {
    {"torchrun", GT_LAUNCHER_TORCHRUN, NULL},   {"torchtitan", GT_LAUNCHER_TORCHRUN, NULL},
    {"megatron", GT_LAUNCHER_TORCHRUN, NULL},   {"megatron-lm", GT_LAUNCHER_TORCHRUN, NULL},
    {"deepspeed", GT_LAUNCHER_DEEPSPEED, NULL}, {"accelerate", GT_LAUNCHER_ACCELERATE, NULL},
    {"mpirun", GT_LAUNCHER_MPIRUN, NULL},       {"mpiexec", GT_LAUNCHER_MPIRUN, NULL},
    {"srun", GT_LAUNCHER_SRUN, NULL},           {"vllm", GT_LAUNCHER_SERVER, "VLLM"},
    {"sglang", GT_LAUNCHER_SERVER, "SGLANG"},   {"sglang-disagg", GT_LAUNCHER_SERVER_SPLIT, "SGLANG"},
    {"primus", GT_LAUNCHER_PRIMUS, NULL},       {"slurm_multi", GT_LAUNCHER_SCRIPT, NULL},
    {"none", GT_LAUNCHER_NONE, NULL},
};

enum { PROCESSES_MAX = 100000 };

/* The row of a name; '-' and '_' are equivalent. GT_LENGTH(launchers): unknown. */
static size_t row_of(const char *name)
{
    size_t i = 0;
    while (i < GT_LENGTH(launchers) &&
           (strlen(name) != strlen(launchers[i].name) || gt_edit_distance(name, launchers[i].name) != 0))
        i++;
    return i;
}

static bool unknown_launcher(const char *name, gt_error *error)
{
    const char *names[GT_LENGTH(launchers)];
    for (size_t i = 0; i < GT_LENGTH(launchers); i++) names[i] = launchers[i].name;
    const char *nearest = gt_nearest(name, names, GT_LENGTH(names));
    if (nearest)
        return gt_fail(error, "distributed: unknown launcher '%.100s', did you mean '%s'?", name, nearest);
    return gt_fail(error,
                   "distributed: unknown launcher '%.100s' (choose from torchrun, torchtitan, megatron-lm, "
                   "deepspeed, accelerate, mpirun, srun, vllm, sglang, sglang-disagg, primus, slurm_multi, "
                   "none)",
                   name);
}

/* "gpu" and "auto", as torchrun knows them, stand for the number of GPUs. */
static bool is_all_gpus(const gt_value *value)
{
    return value->type == GT_VALUE_MISSING || value->type == GT_VALUE_NONE ||
           gt_value_equals_cstr(value, "gpu") || gt_value_equals_cstr(value, "auto");
}

static bool check_number(const gt_value *distributed, const char *key, int64_t most, gt_error *error)
{
    const gt_value *value = gt_value_get(distributed, key);
    int64_t number = gt_settings_int(distributed, key, 0);
    if (is_all_gpus(value) && strcmp(key, "nproc_per_node") == 0) return true;
    return value->type == GT_VALUE_MISSING || value->type == GT_VALUE_NONE ||
           (number >= 1 && number <= most) ||
           gt_fail(error, "distributed: %s must be between 1 and %" PRId64, key, most);
}

bool gt_distributed_check(const gt_value *context, gt_error *error)
{
    const gt_value *distributed = gt_value_get(context, "distributed");
    const gt_value *launcher = gt_value_get(distributed, "launcher");
    const char *name = gt_settings_string(distributed, "launcher");
    if (!name && launcher->type != GT_VALUE_MISSING && launcher->type != GT_VALUE_NONE)
        return gt_fail(error, "distributed: launcher must be a string");
    if (name && row_of(name) == GT_LENGTH(launchers)) return unknown_launcher(name, error);
    return check_number(distributed, "nproc_per_node", PROCESSES_MAX, error) &&
           check_number(distributed, "nnodes", PROCESSES_MAX, error) &&
           check_number(distributed, "port", 65535, error) &&
           check_number(distributed, "master_port", 65535, error);
}

gt_distributed gt_distributed_of(const gt_value *settings, int64_t nodes, int64_t gpus)
{
    const gt_value *distributed = gt_value_get(settings, "distributed");
    const char *name = gt_settings_string(distributed, "launcher");
    size_t row = row_of(name ? name : "torchrun");
    if (row == GT_LENGTH(launchers)) row = row_of("none"); /* the check has refused it */
    return (gt_distributed){
        .name = launchers[row].name,
        .kind = launchers[row].kind,
        .given = name,
        .nodes = nodes,
        .processes = gt_settings_int(distributed, "nproc_per_node", gpus > 0 ? gpus : 1),
        .port = gt_settings_int(distributed, "port", gt_settings_int(distributed, "master_port", 29500)),
        .rendezvous = gt_settings_string(distributed, "rdzv_backend"),
        .hostfile = gt_settings_string(distributed, "hostfile")};
}

static int64_t listed_gpus(void)
{
    static const char *const names[] = {"ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES",
                                        "CUDA_VISIBLE_DEVICES"};
    for (size_t i = 0; i < GT_LENGTH(names); i++) {
        const char *list = getenv(names[i]);
        int64_t count = 1;
        if (!list || !*list) continue;
        for (; *list; list++) count += *list == ',';
        return count;
    }
    return 0;
}

int64_t gt_launcher_gpus_here(gt_arena *arena, const gt_value *context)
{
    int64_t wanted = gt_context_gpus_or(context, -1), listed = listed_gpus();
    if (wanted >= 1 || listed) return wanted >= 1 ? wanted : listed;
    gt_gpu_list all = gt_gpus_find(arena);
    int64_t amd = 0, nvidia = 0;
    char path[64];
    for (size_t i = 0; i < all.count; i++) amd += all.items[i].is_amd;
    while (!amd && nvidia < 256 &&
           (snprintf(path, sizeof path, "/dev/nvidia%" PRId64, nvidia), access(path, F_OK) == 0))
        nvidia++;
    return amd + nvidia > 0 ? amd + nvidia : 1;
}

bool gt_launcher_runs_once(const gt_distributed *distributed)
{
    return distributed->given &&
           (distributed->kind == GT_LAUNCHER_MPIRUN || distributed->kind == GT_LAUNCHER_SRUN ||
            distributed->kind == GT_LAUNCHER_SCRIPT);
}

/* ---- options ---- */

static const char *torchrun(gt_arena *arena, const gt_distributed *d)
{
    if (d->nodes == 1)
        return gt_arena_format(arena, "torchrun --standalone --nproc_per_node=%" PRId64, d->processes);
    const char *places = gt_arena_format(
        arena, "torchrun --nnodes=%" PRId64 " --nproc_per_node=%" PRId64 " --node_rank=${NODE_RANK}",
        d->nodes, d->processes);
    if (!d->rendezvous || strcmp(d->rendezvous, "static") == 0)
        return gt_arena_format(arena, "%s --master_addr=${MASTER_ADDR} --master_port=%" PRId64, places,
                               d->port);
    gt_buffer backend = {0};
    gt_shell_quote(&backend, d->rendezvous);
    const char *line = gt_arena_format(arena,
                                       "%s --rdzv_backend=%s --rdzv_endpoint=${MASTER_ADDR}:%" PRId64
                                       " --rdzv_id=${MAD_SLURM_JOB_ID:-gputally}",
                                       places, gt_buffer_str(&backend).bytes, d->port);
    gt_buffer_free(&backend);
    return line;
}

/* The list of hosts must name as many slots per host as there are processes. --no_ssh: each node starts its
 * own part, instead of the first node starting all of them over ssh. */
static const char *deepspeed(gt_arena *arena, const gt_distributed *d)
{
    if (d->nodes == 1) return gt_arena_format(arena, "deepspeed --num_gpus=%" PRId64, d->processes);
    gt_buffer hosts = {0};
    if (d->hostfile)
        gt_shell_quote(&hosts, d->hostfile);
    else
        gt_buffer_add_cstr(&hosts, "${GPUTALLY_HOSTFILE}");
    const char *line = gt_arena_format(
        arena,
        "deepspeed --hostfile=%s --no_ssh --node_rank=${NODE_RANK} --master_addr=${MASTER_ADDR} "
        "--master_port=%" PRId64,
        gt_buffer_str(&hosts).bytes, d->port);
    gt_buffer_free(&hosts);
    return line;
}

static const char *accelerate(gt_arena *arena, const gt_distributed *d)
{
    const char *gpus = d->nodes * d->processes > 1 ? " --multi_gpu" : "";
    const char *places =
        gt_arena_format(arena, "accelerate launch --num_machines=%" PRId64 " --num_processes=%" PRId64 "%s",
                        d->nodes, d->nodes * d->processes, gpus);
    if (d->nodes == 1) return places;
    return gt_arena_format(
        arena, "%s --machine_rank=${NODE_RANK} --main_process_ip=${MASTER_ADDR} --main_process_port=%" PRId64,
        places, d->port);
}

/* In a SLURM job, mpirun takes the nodes and the processes per node from the allocation. */
static const char *mpirun(gt_arena *arena, const gt_distributed *d)
{
    gt_buffer hosts = {0};
    if (d->hostfile) {
        gt_buffer_add_cstr(&hosts, " --hostfile ");
        gt_shell_quote(&hosts, d->hostfile);
    }
    const char *line = gt_arena_format(arena, "%s -np %" PRId64 "%s", d->name, d->nodes * d->processes,
                                       gt_buffer_str(&hosts).bytes);
    gt_buffer_free(&hosts);
    return line;
}

const char *gt_launcher_runner(gt_arena *arena, const gt_distributed *d)
{
    switch (d->kind) {
    case GT_LAUNCHER_TORCHRUN:
        return torchrun(arena, d);
    case GT_LAUNCHER_DEEPSPEED:
        return deepspeed(arena, d);
    case GT_LAUNCHER_ACCELERATE:
        return accelerate(arena, d);
    case GT_LAUNCHER_MPIRUN:
        return mpirun(arena, d);
    case GT_LAUNCHER_SRUN:
        return gt_arena_format(arena,
                               "srun --nodes=%" PRId64 " --ntasks=%" PRId64 " --ntasks-per-node=%" PRId64
                               " --kill-on-bad-exit=1",
                               d->nodes, d->nodes * d->processes, d->processes);
    default:
        return "";
    }
}

const char *const *gt_launcher_programs(gt_launcher_kind kind)
{
    static const char *const of_torch[] = {"torchrun", "torch.distributed.run", "torch.distributed.launch",
                                           NULL};
    static const char *const of_deepspeed[] = {"deepspeed", "deepspeed.launcher.runner", NULL};
    static const char *const of_accelerate[] = {"accelerate", "accelerate.commands.launch", NULL};
    static const char *const of_mpi[] = {"mpirun", "mpiexec", "orterun", "prterun", "mpiexec.hydra", NULL};
    static const char *const of_slurm[] = {"srun", NULL};
    static const char *const none[] = {NULL};
    switch (kind) {
    case GT_LAUNCHER_TORCHRUN:
        return of_torch;
    case GT_LAUNCHER_DEEPSPEED:
        return of_deepspeed;
    case GT_LAUNCHER_ACCELERATE:
        return of_accelerate;
    case GT_LAUNCHER_MPIRUN:
        return of_mpi;
    case GT_LAUNCHER_SRUN:
        return of_slurm;
    default:
        return none;
    }
}

/* ---- variables ---- */

typedef struct variable_list {
    gt_arena *arena;
    const gt_value *dict;
} variable_list;

static void set(variable_list *list, const char *prefix, const char *name, const char *value)
{
    const char *key = gt_arena_format(list->arena, "%s%s", prefix ? prefix : "", name);
    list->dict = gt_settings_with(list->arena, list->dict, key, gt_settings_copy_string(list->arena, value));
}

static void set_number(variable_list *list, const char *prefix, const char *name, int64_t value)
{
    set(list, prefix, name, gt_arena_format(list->arena, "%" PRId64, value));
}

static void set_primus(variable_list *list, const gt_value *settings)
{
    static const char *const keys[][2] = {
        {"config", "PRIMUS_CONFIG_PATH"}, {"cli_extra", "PRIMUS_CLI_EXTRA"}, {"backend", "BACKEND"}};
    const gt_value *primus = gt_value_get(gt_value_get(settings, "distributed"), "primus");
    for (size_t i = 0; i < GT_LENGTH(keys); i++) {
        const char *text = gt_settings_string(primus, keys[i][0]);
        if (text) set(list, NULL, keys[i][1], text);
    }
}

/* One node is the proxy; two fifths of the others, at least one, do prefill. */
static bool set_split(variable_list *list, const gt_distributed *d, gt_error *error)
{
    if (d->nodes < 3)
        return gt_fail(error, "launcher sglang-disagg needs at least 3 nodes, got %" PRId64, d->nodes);
    int64_t prefill = (d->nodes - 1) * 2 / 5;
    if (prefill < 1) prefill = 1;
    set_number(list, NULL, "SGLANG_DISAGG_PREFILL_NODES", prefill);
    set_number(list, NULL, "SGLANG_DISAGG_DECODE_NODES", d->nodes - 1 - prefill);
    return true;
}

const gt_value *gt_launcher_variables(gt_arena *arena, const gt_distributed *d, const gt_value *settings,
                                      gt_error *error)
{
    variable_list list = {arena, gt_settings_update(arena, &gt_value_missing, &gt_value_missing)};
    const char *runner = gt_launcher_runner(arena, d), *prefix = launchers[row_of(d->name)].prefix;
    set_number(&list, NULL, "NNODES", d->nodes);
    set_number(&list, NULL, "NPROC_PER_NODE", d->processes);
    if (d->kind == GT_LAUNCHER_SERVER_SPLIT && !set_split(&list, d, error)) return NULL;
    if (prefix) {
        set_number(&list, prefix, "_TENSOR_PARALLEL_SIZE", d->processes);
        set_number(&list, prefix, "_PIPELINE_PARALLEL_SIZE", 1);
    }
    if (d->kind == GT_LAUNCHER_PRIMUS) set_primus(&list, settings);
    if (*runner) set(&list, NULL, "MAD_MULTI_NODE_RUNNER", runner);
    return list.dict;
}
