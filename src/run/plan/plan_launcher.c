/* The launcher in the plan: how many nodes and processes there are, who starts the command, where the
 * profiler stands, and the variables that the command gets. */
#include "run/plan/plan.h"

bool gt_plan_launcher_is_outside(const gt_plan *plan)
{
    return plan->launch.remote && (plan->distributed.kind == GT_LAUNCHER_SRUN ||
                                   plan->distributed.nodes > 1 || plan->profiler->passes == 1);
}

/* The number of nodes. Of a local run, it is given by who starts the run on each node, together with the
 * node's number and the address of the first one. */
static int64_t count_nodes(gt_plan *plan)
{
    const gt_value *context = plan->context, *distributed = gt_value_get(context, "distributed");
    int64_t wanted = gt_settings_int(distributed, "nnodes", 1);
    if (strcmp(plan->target, "slurm") == 0) {
        int64_t nodes = gt_settings_int(gt_value_get(context, "slurm"), "nodes", 1);
        if (gt_settings_has(distributed, "nnodes") && wanted != nodes)
            gt_arg_list_add(plan->arena, &plan->warnings,
                            gt_arena_format(plan->arena,
                                            "distributed.nnodes is %" PRId64 ", but slurm.nodes is %" PRId64
                                            "; the job has %" PRId64,
                                            wanted, nodes, nodes));
        return nodes;
    }
    if (strcmp(plan->target, "local") != 0) return wanted;
    const char *rank = getenv("NODE_RANK"), *address = getenv("MASTER_ADDR"), *nodes = getenv("NNODES");
    if (rank && *rank && address && *address) return nodes && atoll(nodes) > 0 ? atoll(nodes) : wanted;
    if (wanted > 1)
        gt_arg_list_add(plan->arena, &plan->notes,
                        "distributed.nnodes: NODE_RANK and MASTER_ADDR are not set, so this is one node");
    return 1;
}

/* Replaces ${NAME} and ${NAME:-default} by the variable of this process, if there is one, or the default. */
static const char *expand(gt_arena *arena, const char *text)
{
    gt_buffer out = {0};
    while (*text) {
        const char *close = strncmp(text, "${", 2) == 0 ? strchr(text, '}') : NULL, *value = NULL;
        if (close) {
            char *name = gt_arena_bytes(arena, text + 2, (size_t)(close - text - 2));
            char *otherwise = strstr(name, ":-");
            if (otherwise) *otherwise = 0;
            value = getenv(name);
            if (otherwise && (!value || !*value)) value = otherwise + 2;
        }
        if (value) {
            gt_buffer_add_cstr(&out, value);
            text = close + 1;
        } else {
            gt_buffer_add(&out, text++, 1);
        }
    }
    return gt_buffer_move(&out, arena);
}

static bool check_launcher(const gt_plan *plan, gt_error *error)
{
    const gt_distributed *d = &plan->distributed;
    bool needs_hosts =
        d->kind == GT_LAUNCHER_MPIRUN || d->kind == GT_LAUNCHER_SRUN || d->kind == GT_LAUNCHER_DEEPSPEED;
    if (d->given && needs_hosts && d->nodes > 1 && strcmp(plan->target, "k8s") == 0)
        return gt_fail(error,
                       "launcher %s on several nodes needs a host list, which Kubernetes does not provide",
                       d->name);
    if (d->given && plan->image && d->kind == GT_LAUNCHER_SRUN)
        return gt_fail(error, "launcher srun cannot start processes from inside a container");
    return true;
}

/* Open MPI refuses root and more processes than cores unless told, and wants ssh even if all processes are on
 * this machine. Other MPIs ignore these variables. */
static void allow_mpi(gt_plan *plan)
{
    static const char *const always[][2] = {{"OMPI_ALLOW_RUN_AS_ROOT", "1"},
                                            {"OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1"},
                                            {"OMPI_MCA_rmaps_base_oversubscribe", "1"},
                                            {"PRTE_MCA_rmaps_default_mapping_policy", ":oversubscribe"},
                                            {"OMPI_MCA_plm_rsh_agent", "sh"},
                                            {"PRTE_MCA_plm_ssh_agent", "sh"}};
    size_t count = GT_LENGTH(always) - (plan->distributed.nodes > 1 ? 2 : 0);
    for (size_t i = 0; i < count; i++)
        if (!getenv(always[i][0]))
            plan->env = gt_settings_with(plan->arena, plan->env, always[i][0],
                                         gt_settings_copy_string(plan->arena, always[i][1]));
}

bool gt_plan_launcher(gt_plan *plan, const gt_plan_request *request, gt_error *error)
{
    gt_arena *arena = plan->arena;
    if (!gt_distributed_check(plan->context, error)) return false;
    bool on_slurm = strcmp(plan->target, "slurm") == 0;
    int64_t gpus = on_slurm ? gt_settings_int(gt_value_get(plan->context, "slurm"), "gpus_per_node", 8)
                   : strcmp(plan->target, "local") == 0 ? gt_launcher_gpus_here(arena, plan->context)
                                                        : gt_context_gpus_or(plan->context, 1);
    plan->distributed = gt_distributed_of(plan->context, count_nodes(plan), gpus);
    if (!check_launcher(plan, error)) return false;
    /* the script of a model starts the launcher itself, with MAD_MULTI_NODE_RUNNER */
    plan->launch = plan->model
                       ? (gt_launch){.command = plan->model->line}
                       : gt_launch_plan(arena, &plan->distributed, request->command, request->command_count);
    if (plan->launch.note) gt_arg_list_add(arena, &plan->notes, plan->launch.note);
    bool is_distributed = gt_settings_has(plan->context, "distributed");
    if (!is_distributed && !plan->image && !plan->model && strcmp(plan->target, "local") == 0) return true;
    const gt_value *variables = gt_launcher_variables(arena, &plan->distributed, plan->context, error);
    for (uint32_t i = 0; variables && i < variables->count; i += 2) {
        const char *name = variables->items[i].text.bytes, *own = getenv(name);
        bool is_runner = strcmp(name, "MAD_MULTI_NODE_RUNNER") == 0, kept = is_runner && own && *own;
        if (!is_runner && !is_distributed) continue;
        plan->env = gt_settings_with(
            arena, plan->env, name,
            gt_settings_copy_string(arena, kept ? own : expand(arena, variables->items[i + 1].text.bytes)));
    }
    if (plan->distributed.given && plan->distributed.kind == GT_LAUNCHER_MPIRUN) allow_mpi(plan);
    return variables;
}

void gt_plan_interface(gt_plan *plan)
{
    static const char *const names[] = {"NCCL_SOCKET_IFNAME", "GLOO_SOCKET_IFNAME"};
    const char *given = gt_settings_string(gt_value_get(plan->context, "slurm"), "network_interface");
    for (size_t i = 0; given && *given && i < GT_LENGTH(names); i++) {
        const char *other = gt_settings_string(plan->env, names[i]);
        if (other && strcmp(other, given) != 0)
            gt_arg_list_add(plan->arena, &plan->notes,
                            gt_arena_format(plan->arena, "slurm.network_interface %s replaces %s=%s", given,
                                            names[i], other));
        plan->env =
            gt_settings_with(plan->arena, plan->env, names[i], gt_settings_copy_string(plan->arena, given));
    }
}

void gt_plan_note_launcher(gt_plan *plan)
{
    if (plan->launch.remote && plan->profiler->passes > 1 && gt_plan_launcher_is_outside(plan))
        gt_arg_list_add(plan->arena, &plan->warnings,
                        gt_arena_format(plan->arena,
                                        "%s starts one profiler per process, and each runs the command %zu "
                                        "times; a program that calls MPI_Init cannot be run twice this way",
                                        plan->distributed.name, plan->profiler->passes));
}

void gt_plan_write_launcher(const gt_plan *plan, gt_json_writer *w)
{
    const gt_distributed *d = &plan->distributed;
    gt_json_key(w, "launcher");
    if (!d->given) {
        gt_json_add_cstr(w, NULL);
        return;
    }
    gt_json_open(w, '{');
    gt_json_put_cstr(w, "name", d->name);
    gt_json_put_int(w, "nodes", d->nodes);
    gt_json_put_int(w, "processes_per_node", d->processes);
    gt_json_put_cstr(w, "runner", plan->launch.runner);
    gt_json_put_cstr(w, "profiler",
                     plan->profiler->kind == GT_PROFILER_NONE ? NULL
                     : gt_plan_launcher_is_outside(plan)      ? "one per process"
                                                              : "around the launcher");
    gt_json_close(w, '}');
}
