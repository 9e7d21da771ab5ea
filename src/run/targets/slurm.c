/* SLURM: writes the job script, submits it with sbatch and waits for the job.
 *
 * The script starts `gputally run --target local` once per node, so that each node profiles its own part and
 * writes its own record; gt_slurm_run combines the records. Values from a context are quoted for the shell;
 * those of #SBATCH directives must not contain control characters, because a line break would end the
 * directive. */
#include "run/targets/targets.h"
#include "base/memory.h"
#include "base/log.h"
#include "os/child.h"
#include "os/paths.h"
#include "output/file.h"
#include "run/execute/execute.h"

#include <ctype.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- job script ---- */

/* Defaults under the settings of the context, as in madengine: for every job, then for one or several nodes.
 */
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

/* A directive ends at the end of its line, so its value must not contain a line break. */
static bool add_directive(writer *w, const char *name, const char *value)
{
    for (const char *c = value ? value : ""; *c; c++)
        if (iscntrl((unsigned char)*c))
            return gt_fail(w->error, "slurm: the value of %s contains a control character", name);
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

/* ---- commands of each node ---- */

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
    bool ok = gt_distributed_export(&w->launcher, w->settings, &task, w->error);
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
    return ok;
}

static const gt_value *merge_defaults(gt_arena *arena, const gt_value *below, const char *json)
{
    return gt_settings_merge(arena, below, gt_value_parse(arena, (gt_str){json, strlen(json)}));
}

bool gt_slurm_make(const gt_slurm_request *request, gt_slurm *slurm, gt_error *error)
{
    const gt_plan *plan = request->plan;
    *slurm = (gt_slurm){0};
    writer w = {.request = request, .plan = plan, .arena = plan->arena, .out = slurm, .error = error};
    w.nodes = gt_settings_int(gt_value_get(plan->context, "slurm"), "nodes", 1);
    if (w.nodes < 1 || w.nodes > 100000) return gt_fail(error, "slurm: nodes must be between 1 and 100000");
    w.settings = merge_defaults(w.arena, merge_defaults(w.arena, &gt_value_missing, defaults),
                                w.nodes > 1 ? many_nodes : one_node);
    w.settings = gt_settings_merge(w.arena, w.settings, plan->context);
    w.slurm = gt_value_get(w.settings, "slurm");
    w.gpus = gt_settings_int(w.slurm, "gpus_per_node", 8);
    if (w.gpus < 1 || w.gpus > 1024) return gt_fail(error, "slurm: gpus_per_node must be between 1 and 1024");
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
    gt_json_writer json = {0};
    gt_json_add_value(&json, context_for_nodes(plan));
    gt_buffer_add_cstr(&json.text, "\n");
    gt_output *output = gt_output_new();
    /* Not gt_buffer_str, which may move the bytes: `slurm` is not changed here. */
    const gt_str script = {slurm->text.bytes, slurm->text.len};
    bool ok = gt_output_write_file(output, slurm->script, script, error) &&
              gt_output_write_file(output, slurm->context_path, gt_buffer_str(&json.text), error) &&
              gt_output_commit(output, error);
    gt_output_free(output);
    gt_json_writer_free(&json);
    return ok &&
           (chmod(slurm->script, 0755) == 0 || gt_fail(error, "%s: cannot make executable", slurm->script));
}

/* ---- submitting and waiting ---- */

enum { STATE_TRIES = 3 };
static const double submit_timeout_s = 30;

/* Seconds between two checks of the queue. */
static double poll_s(void)
{
    const char *text = getenv("GPUTALLY_SLURM_POLL_SECONDS");
    double seconds = text ? strtod(text, NULL) : 0;
    return seconds > 0 ? seconds : 30;
}

static bool keep_line(void *context, gt_child_stream stream, gt_str line)
{
    gt_buffer *text = context;
    if (stream == GT_CHILD_STDOUT) {
        gt_buffer_add(text, line.bytes, line.len);
        gt_buffer_add_cstr(text, "\n");
    }
    return stream == GT_CHILD_STDERR;
}

/* Runs a SLURM program and puts its trimmed output into `text`. A signal that arrives meanwhile is in
 * `interrupted`. */
static bool run_slurm_program(const char *const *argv, gt_buffer *text, int *interrupted)
{
    gt_child_setup setup = {
        .argv = argv, .timeout_s = submit_timeout_s, .line = keep_line, .line_context = text};
    gt_child_result result;
    gt_error error;
    text->len = 0;
    bool ran = gt_child_run(&setup, &result, &error);
    if (!ran) fprintf(stderr, "gputally: %s\n", error.text);
    while (text->len && isspace((unsigned char)text->bytes[text->len - 1])) text->len--;
    gt_buffer_str(text);
    if (ran && result.interrupted) *interrupted = result.interrupted;
    return ran && result.exit_code == 0;
}

/* The number of the job: the last word that sbatch prints. */
static const char *submit(gt_arena *arena, const char *script, int *interrupted)
{
    gt_buffer text = {0};
    const char *job = NULL;
    if (run_slurm_program((const char *[]){"sbatch", script, NULL}, &text, interrupted) && text.len) {
        const char *blank = strrchr(text.bytes, ' ');
        job = blank ? blank + 1 : text.bytes;
        job = gt_arena_bytes(arena, job, strlen(job));
    }
    gt_buffer_free(&text);
    return job;
}

/* Sleeps in a child process, so that a signal ends it and is noticed. */
static void wait_between_checks(double seconds, int *interrupted)
{
    char text[32];
    snprintf(text, sizeof text, "%g", seconds);
    const char *argv[] = {"sleep", text, NULL};
    gt_child_setup setup = {.argv = argv, .silent = true};
    gt_child_result result;
    gt_error error;
    if (gt_child_run(&setup, &result, &error) && result.interrupted) *interrupted = result.interrupted;
}

static bool wait_for(const char *job, int *interrupted)
{
    gt_buffer text = {0};
    bool queued = true;
    while (queued && !*interrupted) {
        queued = run_slurm_program((const char *[]){"squeue", "-j", job, "-h", "-o", "%T", NULL}, &text,
                                   interrupted) &&
                 text.len;
        if (queued && !*interrupted) wait_between_checks(poll_s(), interrupted);
    }
    if (*interrupted) {
        int ignored = 0;
        gt_warn("interrupted; cancelled job %s", job);
        run_slurm_program((const char *[]){"scancel", job, NULL}, &text, &ignored);
    }
    gt_buffer_free(&text);
    return !*interrupted;
}

static bool completed(const char *job, int *interrupted)
{
    gt_buffer text = {0};
    for (int i = 0; i < STATE_TRIES && !text.len && !*interrupted; i++) {
        if (i) wait_between_checks(5, interrupted);
        run_slurm_program((const char *[]){"sacct", "-j", job, "-n", "-X", "-o", "State", NULL}, &text,
                          interrupted);
    }
    const char *state = text.len ? text.bytes + strspn(text.bytes, " ") : "UNKNOWN";
    bool done = strncmp(state, "COMPLETED", 9) == 0;
    if (!done) fprintf(stderr, "gputally: job %s ended with state %.60s\n", job, state);
    gt_buffer_free(&text);
    return done;
}

/* ---- records of the nodes ---- */

typedef struct summary {
    gt_json_writer json;
    gt_performances figures;
    bool all_succeeded;
} summary;

static void add_node(gt_arena *arena, summary *s, const char *folder, int64_t rank)
{
    gt_error error;
    const gt_value *record =
        gt_settings_read(arena, gt_path_join(arena, folder, "gputally_run.json"), &error);
    const char *status = record ? gt_settings_string(record, "status") : NULL;
    const char *metric = record ? gt_settings_string(record, "metric") : NULL;
    const gt_value *value = record ? gt_value_get(record, "performance") : &gt_value_missing;
    gt_json_open(&s->json, '{');
    gt_json_put_int(&s->json, "node", rank);
    gt_json_put_cstr(&s->json, "folder", folder);
    gt_json_put_cstr(&s->json, "status", status ? status : "MISSING");
    gt_json_put_value(&s->json, "exit_code", record ? gt_value_get(record, "exit_code") : &gt_value_none);
    gt_json_put_value(&s->json, "performance", value);
    gt_json_put_cstr(&s->json, "metric", metric);
    gt_json_close(&s->json, '}');
    s->all_succeeded = s->all_succeeded && status && strcmp(status, "SUCCESS") == 0;
    if (metric && (value->type == GT_VALUE_FLOAT || value->type == GT_VALUE_INT))
        gt_performances_add(&s->figures, arena, metric,
                            value->type == GT_VALUE_INT ? (double)value->integer : value->number);
}

static bool summarise(const gt_plan *plan, const gt_slurm *slurm, const char *job)
{
    gt_arena *arena = plan->arena;
    const char *folder = gt_path_join(arena, slurm->results_dir, job);
    summary s = {.all_succeeded = true};
    gt_json_open(&s.json, '{');
    gt_json_put_cstr(&s.json, "job", job);
    gt_json_put_cstr(&s.json, "name", plan->name);
    gt_json_key(&s.json, "nodes");
    gt_json_open(&s.json, '[');
    for (int64_t rank = 0; rank < slurm->nodes; rank++) {
        char name[32];
        snprintf(name, sizeof name, "node_%" PRId64, rank);
        add_node(arena, &s, gt_path_join(arena, folder, name), rank);
    }
    gt_json_close(&s.json, ']');
    gt_performances_write(&s.figures, &s.json, "metrics");
    gt_json_close(&s.json, '}');
    gt_buffer_add_cstr(&s.json.text, "\n");
    gt_error error;
    gt_output *output = gt_output_new();
    const char *path = gt_path_join(arena, folder, "results_summary.json");
    if (gt_output_write_file(output, path, gt_buffer_str(&s.json.text), &error) &&
        gt_output_commit(output, &error))
        gt_info("%s", path);
    else
        gt_warn("%s", error.text);
    gt_output_free(output);
    gt_json_writer_free(&s.json);
    return s.all_succeeded;
}

bool gt_slurm_run(const gt_plan *plan, const gt_slurm *slurm)
{
    static const char *const programs[] = {"sbatch", "squeue"};
    for (size_t i = 0; i < GT_LENGTH(programs); i++)
        if (!gt_path_search(plan->arena, programs[i], getenv("PATH"))) {
            fprintf(stderr, "gputally: %s not found in PATH; wrote %s, submit it from a cluster node\n",
                    programs[i], slurm->script);
            return false;
        }
    int interrupted = 0;
    const char *job = submit(plan->arena, slurm->script, &interrupted);
    if (!job) {
        fprintf(stderr, "gputally: %s could not be submitted\n", slurm->script);
        return false;
    }
    gt_info("job %s: %s", job, slurm->script);
    if (!wait_for(job, &interrupted)) return false;
    bool done = completed(job, &interrupted);
    bool all = summarise(plan, slurm, job);
    if (done && !all) fprintf(stderr, "gputally: not every node of job %s succeeded\n", job);
    return done && all;
}
