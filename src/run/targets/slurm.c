/* SLURM: the job script.
 *
 * The script starts `gputally run --target local` once per node, so that each node profiles its own part and
 * writes its own record; slurm_job.c submits the script and combines the records. A launcher that starts the
 * processes of all nodes itself (mpirun, srun) runs once instead, on the first node.
 *
 * Values from a context are quoted: for the shell, or for sbatch's own reading of #SBATCH lines. Secrets are
 * not written into the script; the nodes read them from the context file, which only the user can read. */
#include "run/targets/targets.h"
#include "os/paths.h"
#include "output/file.h"
#include "run/plan/secrets.h"

/* ---- job script ---- */

/* Defaults under the settings of the context, as in madengine: for every job, then for one or several nodes.
 */
static const char defaults[] =
    "{\"slurm\": {\"partition\": \"amd-rccl\", \"nodes\": 1, \"gpus_per_node\": 8, \"time\": \"24:00:00\", "
    "\"output_dir\": \"./slurm_results\", \"exclusive\": true, \"modules\": []}, "
    "\"distributed\": {\"backend\": \"nccl\", \"port\": 29500}, "
    "\"env_vars\": {\"OMP_NUM_THREADS\": \"8\", \"MIOPEN_FIND_MODE\": \"1\", \"MIOPEN_USER_DB_PATH\": "
    "\"/tmp/.miopen\"}}";
/* Under those of an array: partition and time limit are those of the cluster, variables those of the sweep.
 */
static const char array_defaults[] =
    "{\"slurm\": {\"nodes\": 1, \"gpus_per_node\": 8, \"exclusive\": true, \"modules\": []}, "
    "\"distributed\": {\"backend\": \"nccl\", \"port\": 29500}}";
static const char one_node[] =
    "{\"slurm\": {\"time\": \"12:00:00\"}, \"env_vars\": {\"NCCL_DEBUG\": \"WARN\"}}";
static const char many_nodes[] =
    "{\"env_vars\": {\"NCCL_DEBUG\": \"WARN\", \"NCCL_DEBUG_SUBSYS\": \"INIT,NET\", \"NCCL_IB_DISABLE\": "
    "\"1\", "
    "\"TORCH_NCCL_HIGH_PRIORITY\": \"1\", \"GPU_MAX_HW_QUEUES\": \"2\", "
    "\"TORCH_NCCL_ASYNC_ERROR_HANDLING\": \"1\", \"NCCL_TIMEOUT\": \"600\", \"HSA_ENABLE_SDMA\": \"0\", "
    "\"HSA_FORCE_FINE_GRAIN_PCIE\": \"1\", \"RCCL_ENABLE_HIPGRAPH\": \"0\"}}";

typedef struct writer {
    const gt_slurm_request *request;
    const gt_plan *plan;
    gt_arena *arena;
    const gt_value *settings, *slurm;
    gt_slurm *out;
    int64_t nodes, gpus;
    const char *output_dir, *log_pattern;
    const char *job_name; /* the name of the run without characters that queries would have to quote */
    gt_distributed launcher;
    int64_t limit_s;   /* the time limit; 0: none */
    bool is_announced; /* SLURM sends a signal before it */
    gt_error *error;
} writer;

enum {
    EARLY_S = 60,       /* before the time limit, for the profiler to write and the node to collect */
    EARLY_FROM_S = 600, /* shorter limits are not announced */
};

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

/* sbatch splits the line at blanks, and knows both kinds of quotes; in both of them a backslash escapes. A
 * directive ends at the end of its line, so its value must not contain a line break. */
static bool add_directive(writer *w, const char *name, const char *value)
{
    static const char plain[] = "_@%+=:,./-[]";
    bool quoted = false;
    for (const char *c = value ? value : ""; *c; c++) {
        if (iscntrl((unsigned char)*c))
            return gt_fail(w->error, "slurm: the value of %s contains a control character", name);
        quoted = quoted || (!isalnum((unsigned char)*c) && !strchr(plain, *c));
    }
    const char *text =
        value ? gt_arena_format(w->arena, "--%s=%s", name, value) : gt_arena_format(w->arena, "--%s", name);
    gt_arg_list_add(w->arena, &w->out->directives, text);
    add(w, "#SBATCH --");
    add(w, name);
    if (value) add(w, quoted ? "=\"" : "=");
    for (const char *c = value ? value : ""; *c; c++) {
        if (*c == '"' || *c == '\\') add(w, "\\");
        gt_buffer_add(&w->out->text, c, 1);
    }
    add(w, quoted ? "\"\n" : "\n");
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

/* The value of a key as one argument: a list is joined with commas. */
static const char *printed(writer *w, const char *key, const gt_value *value)
{
    if (value->type == GT_VALUE_DICT) {
        gt_fail(w->error, "slurm: %s must be a string, a number or a list", key);
        return NULL;
    }
    if (!gt_value_is_list(value)) return gt_settings_print(w->arena, value);
    gt_buffer list = {0};
    for (uint32_t i = 0; i < value->count; i++) {
        gt_buffer_add_cstr(&list, i ? "," : "");
        gt_buffer_add_cstr(&list, gt_settings_print(w->arena, &value->items[i]));
    }
    const char *text = gt_arena_bytes(w->arena, list.len ? list.bytes : "", list.len);
    gt_buffer_free(&list);
    return text;
}

/* A directive with the name of the key, '-' for '_', if the context has the key. */
static bool add_optional(writer *w, const char *key)
{
    const gt_value *value = gt_value_get(w->slurm, key);
    if (gt_value_is_empty(value)) return true;
    const char *text = printed(w, key, value);
    if (!text) return false;
    char *name = gt_arena_bytes(w->arena, key, strlen(key));
    for (char *c = name; *c; c++)
        if (*c == '_') *c = '-';
    return add_directive(w, name, strcmp(key, "nodelist") == 0 ? without_blanks(w, text) : text);
}

static bool add_optionals(writer *w, const char *const *keys, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!add_optional(w, keys[i])) return false;
    return true;
}

/* sbatch replaces %j by the number of the job and %t by that of the task, which is 0 for the script; of an
 * array, %A by its number and %a by that of the task. */
static bool name_logs(writer *w)
{
    gt_buffer path = {0};
    for (const char *c = w->output_dir; *c; c++)
        gt_buffer_add_cstr(&path, *c == '%' ? "%%" : (char[]){*c, 0});
    w->log_pattern = gt_path_join(
        w->arena, gt_buffer_str(&path).bytes,
        w->request->array ? "%A_%a" : gt_arena_format(w->arena, "gputally-%s_%%j_%%t", w->job_name));
    w->out->log_path =
        gt_path_join(w->arena, w->output_dir, gt_arena_format(w->arena, "gputally-%s", w->job_name));
    gt_buffer_free(&path);
    return !strchr(w->output_dir, '\\') ||
           gt_fail(w->error, "slurm: output_dir must not contain a backslash, which sbatch treats specially");
}

/* The seconds of a time limit as sbatch reads it: minutes, minutes:seconds, hours:minutes:seconds, and after
 * "days-" hours, hours:minutes or all three; 0 for another text. */
static int64_t limit_s(const char *text)
{
    int days = 0, parts[3] = {0}, used = 0, count;
    bool has_days = sscanf(text, "%6d-%n", &days, &used) == 1 && used > 0;
    if (!has_days) days = used = 0;
    const char *rest = text + used;
    if (rest[strspn(rest, "0123456789:")]) return 0;
    count = sscanf(rest, "%8d:%8d:%8d", &parts[0], &parts[1], &parts[2]);
    if (count < 1) return 0;
    bool has_hours = has_days || count == 3;
    int64_t hours = has_hours ? parts[0] : 0, minutes = has_hours ? parts[1] : parts[0],
            seconds = has_hours ? parts[2] : parts[1];
    return ((days * INT64_C(24) + hours) * 60 + minutes) * 60 + seconds;
}

/* At its time limit a job gets SIGTERM twice within milliseconds, which is too much for a profiler that has
 * begun to write its trace, and then has only KillWait. So SLURM is asked for one signal before: for the
 * steps, or for the script if there is no step. */
static bool add_early_signal(writer *w)
{
    const gt_value *time = gt_value_get(w->slurm, "time");
    const char *text = gt_value_is_empty(time) ? NULL : printed(w, "time", time);
    w->limit_s = text ? limit_s(text) : 0;
    w->is_announced = w->limit_s >= EARLY_FROM_S;
    if (!w->is_announced) return true;
    bool script = w->request->array || gt_launcher_runs_once(&w->launcher);
    return add_directive(w, "signal", gt_arena_format(w->arena, "%sTERM@%d", script ? "B:" : "", EARLY_S));
}

static bool add_directives(writer *w)
{
    static const char *const places[] = {"nodelist", "exclude", "constraint"};
    static const char *const others[] = {"qos",           "account",   "reservation", "mem",
                                         "cpus_per_task", "mail_type", "mail_user"};
    int64_t tasks = gt_launcher_runs_once(&w->launcher) && w->launcher.kind != GT_LAUNCHER_SCRIPT
                        ? w->launcher.processes
                        : 1;
    add(w, "#!/bin/bash\n");
    return name_logs(w) &&
           add_directive(w, "job-name", gt_arena_format(w->arena, "gputally-%s", w->job_name)) &&
           add_directive(w, "output", gt_arena_format(w->arena, "%s.out", w->log_pattern)) &&
           (w->request->array ||
            add_directive(w, "error", gt_arena_format(w->arena, "%s.err", w->log_pattern))) &&
           add_optional(w, "partition") && add_directive(w, "nodes", number(w, w->nodes)) &&
           add_directive(w, "ntasks", number(w, w->nodes * tasks)) &&
           add_directive(w, "ntasks-per-node", number(w, tasks)) &&
           (!w->gpus || add_directive(w, "gpus-per-node", number(w, w->gpus))) && add_optional(w, "time") &&
           add_optionals(w, places, GT_LENGTH(places)) &&
           (!gt_settings_is_true(w->slurm, "exclusive", false) || add_directive(w, "exclusive", NULL)) &&
           add_optionals(w, others, GT_LENGTH(others)) && add_early_signal(w);
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
    if (!w->gpus) return;
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

/* The interface of the context wins over everything; otherwise variables win over what is detected. */
static void add_interface(writer *w)
{
    const char *given = gt_settings_string(w->slurm, "network_interface");
    if (given && *given) {
        add_export(w, "NCCL_SOCKET_IFNAME", given);
        add_export(w, "GLOO_SOCKET_IFNAME", given);
        return;
    }
    add(w, "GPUTALLY_INTERFACE=$(ls /sys/class/net 2>/dev/null | grep -q '^ib[0-9]' && echo ib0 || ip "
           "route show default "
           "2>/dev/null | sed -n 's/.* dev \\([^ ]*\\).*/\\1/p' | head -n 1)\n"
           "export NCCL_SOCKET_IFNAME=\"${NCCL_SOCKET_IFNAME:-${GPUTALLY_INTERFACE:-eth0}}\"\n"
           "export GLOO_SOCKET_IFNAME=\"${GLOO_SOCKET_IFNAME:-${GPUTALLY_INTERFACE:-eth0}}\"\n");
}

static void add_master(writer *w)
{
    add(w, "export MASTER_ADDR=$(scontrol show hostnames \"$SLURM_JOB_NODELIST\" | head -n 1)\n");
    add_export(w, "MASTER_PORT", number(w, w->launcher.port));
}

/* The variables of the context, except secrets. */
static void add_env_vars(writer *w)
{
    const gt_value *env = gt_value_get(w->settings, "env_vars");
    for (uint32_t i = 0; env->type == GT_VALUE_DICT && i < env->count; i += 2)
        if (!gt_value_equals_cstr(&env->items[i], "MIOPEN_USER_DB_PATH") &&
            !gt_secret_is_name(env->items[i].text.bytes) && env->items[i + 1].type != GT_VALUE_NONE)
            add_export(w, env->items[i].text.bytes, gt_settings_print(w->arena, &env->items[i + 1]));
}

/* A signal from then on means the time limit. SLURM sends an early one up to a minute earlier than asked for.
 */
static void add_time_over(writer *w)
{
    if (w->is_announced || (w->limit_s && w->request->array))
        add(w, gt_arena_format(w->arena, "export GPUTALLY_TIME_OVER=$(($(date +%%s) + %" PRId64 "))\n",
                               w->limit_s - (w->is_announced ? EARLY_S + 90 : 1)));
}

/* A task of an array has what the command would have here, and what it needs on several nodes. Tasks may
 * share a node: each has the GPUs that SLURM gives it. */
static void add_array_variables(writer *w)
{
    add_env_vars(w);
    add_time_over(w);
    if (w->nodes > 1 || gt_settings_has(w->plan->context, "distributed")) add_master(w);
    if (w->nodes > 1) add_interface(w);
}

static void add_variables(writer *w)
{
    const gt_value *distributed = gt_value_get(w->settings, "distributed");
    add_master(w);
    add(w, "export WORLD_SIZE=$SLURM_NTASKS LOCAL_RANK=$SLURM_LOCALID\n");
    add_export(w, "GPUS_PER_NODE", number(w, w->gpus));
    add_devices(w);
    add_env_vars(w);
    add_interface(w);
    add_export(w, "DISTRIBUTED_BACKEND", gt_settings_print(w->arena, gt_value_get(distributed, "backend")));
    add(w, "export MAD_DEPLOYMENT_TYPE=slurm MAD_SLURM_JOB_ID=$SLURM_JOB_ID MAD_IN_SLURM_JOB=1\n");
    add_time_over(w);
    add_export(w, "MAD_TOTAL_NODES", number(w, w->nodes));
    add_export(w, "MAD_LAUNCHER_TYPE", w->launcher.name);
    if (w->nodes > 1) add(w, "export TORCH_ELASTIC_RDZV_TIMEOUT=3600\n");
}

/* ---- commands of each node ---- */

/* Host list for deepspeed, in the folder of the node's results, which containers can see. */
static void add_hosts(writer *w, gt_buffer *task)
{
    if (w->launcher.kind != GT_LAUNCHER_DEEPSPEED || w->nodes == 1 || w->launcher.hostfile) return;
    gt_buffer_add_cstr(task, "export GPUTALLY_HOSTFILE=\"$GPUTALLY_NODE_DIR/deepspeed_hosts\"\n"
                             "mkdir -p \"$GPUTALLY_NODE_DIR\"\n"
                             "scontrol show hostnames \"$SLURM_JOB_NODELIST\" | sed \"s/\\$/ slots=");
    gt_buffer_add_cstr(task, number(w, w->launcher.processes));
    gt_buffer_add_cstr(task, "/\" >\"$GPUTALLY_HOSTFILE\"\n");
}

bool gt_slurm_node_lines(const gt_distributed *launcher, const gt_value *settings, gt_buffer *lines,
                         gt_error *error)
{
    gt_buffer_add_cstr(lines, "export NODE_RANK=$SLURM_PROCID RANK=$SLURM_PROCID\n");
    return gt_distributed_export(launcher, settings, lines, error);
}

/* The line of a task of an array. */
static void add_array_task(writer *w)
{
    gt_buffer hosts = {0};
    add(w, "GPUTALLY_NODE_DIR=");
    gt_shell_quote(&w->out->text, w->output_dir);
    add(w, "/hosts/$SLURM_JOB_ID\n");
    add_hosts(w, &hosts);
    add(w, gt_buffer_str(&hosts).bytes);
    add(w, w->request->array->line);
    add(w, "\n");
    gt_buffer_free(&hosts);
}

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
    gt_buffer_add_cstr(&task, "/node_$SLURM_PROCID\nGPUTALLY_NODE_DIR=");
    gt_shell_quote(&task, w->out->results_dir);
    gt_buffer_add_cstr(&task, "/$SLURM_JOB_ID/node_$SLURM_PROCID\n");
    add_hosts(w, &task);
    bool ok = gt_distributed_export(&w->launcher, w->settings, &task, w->error);
    gt_buffer_add_cstr(&task, "exec ");
    gt_shell_quote(&task, w->request->gputally);
    gt_buffer_add_cstr(&task, " run --target local --additional_context_file ");
    gt_shell_quote(&task, w->out->context_path);
    gt_buffer_add_cstr(&task, " --output_dir \"$GPUTALLY_NODE_DIR\" ");
    gt_shell_join(&task, w->request->run_options, w->request->run_option_count);
    if (!w->plan->manifest) {
        gt_buffer_add_cstr(&task, " -- ");
        gt_buffer_add_cstr(&task, w->plan->command_line);
    }

    /* A job that is started again after a node failed or was taken away must not leave old records. */
    add(w, "rm -f ");
    gt_shell_quote(&w->out->text, w->out->results_dir);
    add(w, "/\"$SLURM_JOB_ID\"/node_*/gputally_run.json\n");
    const char *cpus =
        gt_settings_has(w->slurm, "cpus_per_task") ? " --cpus-per-task=$SLURM_CPUS_PER_TASK" : "";
    if (gt_launcher_runs_once(&w->launcher))
        add(w, "exec bash -c ");
    else
        add(w, gt_arena_format(w->arena,
                               "srun --ntasks=%" PRId64 " --ntasks-per-node=1%s --kill-on-bad-exit=1 "
                               "--export=ALL bash -c ",
                               w->nodes, cpus));
    gt_shell_quote(&w->out->text, gt_buffer_str(&task).bytes);
    add(w, "\n");
    gt_buffer_free(&task);
    return ok;
}

static const gt_value *merge_defaults(gt_arena *arena, const gt_value *below, const char *json)
{
    return gt_settings_merge(arena, below, gt_value_parse(arena, (gt_str){json, strlen(json)}));
}

/* An integer setting within limits. */
static bool take_number(writer *w, const gt_value *slurm, const char *key, int64_t least, int64_t most,
                        int64_t *value)
{
    int64_t given = gt_settings_int(slurm, key, INT64_MIN);
    if (gt_value_is_empty(gt_value_get(slurm, key)) && given == INT64_MIN) return true;
    *value = given;
    return (given >= least && given <= most) ||
           gt_fail(w->error, "slurm: %s must be between %" PRId64 " and %" PRId64, key, least, most);
}

static void name_files(writer *w)
{
    const char *output_dir = gt_settings_string(w->slurm, "output_dir"), *name = w->plan->name;
    w->output_dir =
        gt_path_absolute(w->arena, w->plan->output_dir, output_dir ? output_dir : "slurm_results");
    if (w->request->array) w->output_dir = w->request->array->folder;
    char *job_name = gt_arena_bytes(w->arena, name, strlen(name));
    for (char *c = job_name; *c; c++)
        if (!isalnum((unsigned char)*c) && !strchr("._-+", *c)) *c = '_';
    w->job_name = job_name;
    w->out->script = gt_path_join(w->arena, w->output_dir, gt_arena_format(w->arena, "gputally_%s.sh", name));
    if (w->request->array) w->out->script = gt_path_join(w->arena, w->output_dir, "job.sh");
    w->out->context_path =
        gt_path_join(w->arena, w->output_dir, gt_arena_format(w->arena, "gputally_%s_context.json", name));
    w->out->results_dir = gt_path_join(w->arena, w->output_dir, name);
}

bool gt_slurm_make(const gt_slurm_request *request, gt_slurm *slurm, gt_error *error)
{
    const gt_plan *plan = request->plan;
    *slurm = (gt_slurm){0};
    writer w = {.request = request,
                .plan = plan,
                .arena = plan->arena,
                .out = slurm,
                .nodes = 1,
                .gpus = 8,
                .error = error};
    if (!take_number(&w, gt_value_get(plan->context, "slurm"), "nodes", 1, 100000, &w.nodes)) return false;
    w.settings = request->array
                     ? merge_defaults(w.arena, &gt_value_missing, array_defaults)
                     : merge_defaults(w.arena, merge_defaults(w.arena, &gt_value_missing, defaults),
                                      w.nodes > 1 ? many_nodes : one_node);
    w.settings = gt_settings_merge(w.arena, w.settings, plan->context);
    w.slurm = gt_value_get(w.settings, "slurm");
    if (!take_number(&w, w.slurm, "gpus_per_node", 0, 1024, &w.gpus)) return false;
    w.launcher = gt_distributed_of(w.settings, w.nodes, w.gpus);
    bool runs_once = gt_launcher_runs_once(&w.launcher);
    slurm->nodes = runs_once ? 1 : w.nodes;
    slurm->signal_script = runs_once && w.launcher.kind != GT_LAUNCHER_SRUN;
    name_files(&w);
    const char *workspace = gt_settings_string(w.slurm, "shared_workspace");
    if (!add_directives(&w)) return false;
    add(&w, "\ncd ");
    gt_shell_quote(&slurm->text, workspace ? workspace : plan->workdir);
    add(&w, " || exit 1\n");
    add_modules(&w);
    if (request->array) {
        add_array_variables(&w);
        add_array_task(&w);
        return true;
    }
    add_variables(&w);
    return add_task(&w);
}

/* Each node has its own MIOpen database, which the script sets. */
static const gt_value *context_for_nodes(const gt_plan *plan)
{
    const gt_value *env = gt_value_get(plan->context, "env_vars");
    if (!gt_settings_has(env, "MIOPEN_USER_DB_PATH")) return plan->context;
    env = gt_settings_with(plan->arena, env, "MIOPEN_USER_DB_PATH", gt_value_none);
    return gt_settings_with(plan->arena, plan->context, "env_vars", *env);
}

bool gt_slurm_write(const gt_plan *plan, const gt_slurm *slurm, gt_error *error)
{
    char *folder = gt_path_folder(slurm->script);
    bool made = gt_path_make_folder(folder, error);
    gt_free(folder);
    if (!made) return false;
    gt_json_writer json = {0};
    gt_json_add_value(&json, context_for_nodes(plan));
    gt_buffer_add_cstr(&json.text, "\n");
    gt_output *output = gt_output_new();
    gt_output_set_private(output); /* both may contain what others must not read */
    /* Not gt_buffer_str, which may move the bytes: `slurm` is not changed here. */
    const gt_str script = {slurm->text.bytes, slurm->text.len};
    bool ok = gt_output_write_file(output, slurm->script, script, error) &&
              gt_output_write_file(output, slurm->context_path, gt_buffer_str(&json.text), error) &&
              gt_output_commit(output, error);
    gt_output_free(output);
    gt_json_writer_free(&json);
    return ok &&
           (chmod(slurm->script, 0700) == 0 || gt_fail(error, "%s: cannot make executable", slurm->script));
}
