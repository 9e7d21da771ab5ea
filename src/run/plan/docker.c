/* The docker command: options by vendor, GPUs as devices, variables one by one. None of them passes
 * through a shell. */
#include "run/plan/plan.h"
#include "os/child.h"
#include "os/paths.h"
#include "run/plan/secrets.h"

static const char *const common_options[] = {"--network",
                                             "host",
                                             "-u",
                                             "root",
                                             "--cap-add=SYS_PTRACE",
                                             "--cap-add",
                                             "SYS_ADMIN",
                                             "--device",
                                             "/dev/fuse",
                                             "--security-opt",
                                             "seccomp=unconfined",
                                             "--security-opt",
                                             "apparmor=unconfined",
                                             "--ipc=host"};
static const char *const amd_options[] = {"--group-add", "video"};
static const char *const nvidia_options[] = {"--cap-add", "SYS_NICE"};

/* Variables of this process that distributed programs need. */
static const char *const forwarded[] = {
    "MASTER_ADDR",
    "MASTER_PORT",
    "WORLD_SIZE",
    "RANK",
    "NODE_RANK",
    "NNODES",
    "NPROC_PER_NODE",
    "MAD_MULTI_NODE_RUNNER",
    "MAD_COLLECT_METRICS",
    "MAD_SLURM_JOB_ID",
    "GPUTALLY_HOSTFILE",
    "NCCL_SOCKET_IFNAME",
    "GLOO_SOCKET_IFNAME",
    "NCCL_DEBUG",
    "NCCL_IB_DISABLE",
    "NCCL_NET_GDR_LEVEL",
    "PRIMUS_CONFIG_PATH",
    "PRIMUS_CLI_EXTRA",
    "TORCH_ELASTIC_RDZV_TIMEOUT",
    "HIP_VISIBLE_DEVICES",
    "ROCR_VISIBLE_DEVICES",
    "CUDA_VISIBLE_DEVICES",
    "MIOPEN_USER_DB_PATH",
};

typedef struct builder {
    const gt_plan *plan;
    gt_arg_list *words;
    gt_error *error;
} builder;

static void add(builder *b, const char *word)
{
    gt_arg_list_add(b->plan->arena, b->words, word);
}

static void add_joined(builder *b, const char *format, const char *first, const char *second)
{
    char *word = gt_format(format, first, second);
    add(b, word);
    gt_free(word);
}

/* A secret is named only: docker takes its value from its own environment, which other users cannot see. */
static void add_variable(builder *b, const char *name, const char *value)
{
    add(b, "--env");
    if (gt_secret_is_name(name))
        add(b, name);
    else
        add_joined(b, "%s=%s", name, value);
}

static void add_number(builder *b, const char *name, size_t value)
{
    char text[32];
    snprintf(text, sizeof text, "%zu", value);
    add_variable(b, name, text);
}

/* ---- GPUs ---- */

static bool wrong_list(const char *list, gt_error *error)
{
    return gt_fail(error,
                   "docker_gpus: must be 'all' or comma-separated numbers and ranges (0,2-4), got '%.200s'",
                   list);
}

/* Marks the GPUs that the list names. */
static bool mark_gpus(const char *list, size_t there, bool *named, gt_error *error)
{
    for (const char *at = list; *at; at += *at == ',') {
        char *end;
        at += strspn(at, " ");
        if (!isdigit((unsigned char)*at)) return wrong_list(list, error);
        unsigned long first = strtoul(at, &end, 10), last = first;
        if (*end == '-' && isdigit((unsigned char)end[1])) last = strtoul(end + 1, &end, 10);
        end += strspn(end, " ");
        if ((*end && *end != ',') || last < first) return wrong_list(list, error);
        if (last >= there)
            return gt_fail(error, "docker_gpus: no GPU %lu; this machine has %zu", last, there);
        for (unsigned long i = first; i <= last; i++) named[i] = true;
        at = end;
    }
    return true;
}

static bool choose_gpus(const char *docker_gpus, int64_t wanted, size_t there, size_t *chosen, size_t *count,
                        gt_error *error)
{
    bool all = !docker_gpus || strcmp(docker_gpus, "all") == 0;
    bool *named = gt_alloc_zero(there + 1, sizeof *named);
    bool ok = all || mark_gpus(docker_gpus, there, named, error);
    size_t available = 0;
    *count = 0;
    for (size_t i = 0; i < there; i++) {
        if (!all && !named[i]) continue;
        available++;
        if (wanted < 0 || (int64_t)*count < wanted) chosen[(*count)++] = i;
    }
    gt_free(named);
    if (ok && wanted > (int64_t)available)
        return gt_fail(error,
                       "Too many gpus requested(%" PRId64 "). System has %zu gpus. Context has %zu gpus.",
                       wanted, there, available);
    return ok;
}

static void add_amd_gpus(builder *b, const gt_gpu_list *gpus, const size_t *chosen, size_t count)
{
    add(b, "--device=/dev/kfd");
    for (size_t i = 0; i < count; i++) {
        char node[64];
        snprintf(node, sizeof node, "--device=/dev/dri/renderD%d", gpus->items[chosen[i]].render_node);
        add(b, node);
    }
}

static void add_nvidia_gpus(builder *b, const size_t *chosen, size_t count)
{
    gt_buffer list = {0};
    for (size_t i = 0; i < count; i++) {
        char number[32];
        snprintf(number, sizeof number, "%s%zu", i ? "," : "", chosen[i]);
        gt_buffer_add_cstr(&list, number);
    }
    add(b, "--gpus");
    add_joined(b, "\"device=%s\"%s", gt_buffer_str(&list).bytes,
               ""); /* docker reads the value as one field of a CSV row */
    gt_buffer_free(&list);
}

static size_t count_nvidia(void)
{
    size_t count = 0;
    char path[64];
    while (count < 256 && (snprintf(path, sizeof path, "/dev/nvidia%zu", count), access(path, F_OK) == 0))
        count++;
    return count;
}

static bool add_gpus(builder *b, bool is_amd)
{
    gt_gpu_list all = gt_gpus_find(b->plan->arena), gpus = {.items = all.items};
    for (size_t i = 0; i < all.count; i++)
        if (all.items[i].is_amd) gpus.items[gpus.count++] = all.items[i];
    size_t there = is_amd ? gpus.count : count_nvidia(), count;
    size_t *chosen = gt_arena_alloc(b->plan->arena, (there + 1) * sizeof *chosen);
    int64_t wanted = gt_context_gpus_or(b->plan->context, -1);
    if (b->plan->model && !there) wanted = -1; /* a model may run on the CPU; the caller warns */
    if (!choose_gpus(gt_settings_string(b->plan->context, "docker_gpus"), wanted, there, chosen, &count,
                     b->error))
        return false;
    if (count && is_amd) add_amd_gpus(b, &gpus, chosen, count);
    if (count && !is_amd) add_nvidia_gpus(b, chosen, count);
    add_number(b, "MAD_SYSTEM_NGPUS", there);
    add_number(b, "MAD_RUNTIME_NGPUS", count);
    return true;
}

/* ---- other options ---- */

static void add_mounts(builder *b)
{
    const gt_value *mounts = gt_value_get(b->plan->context, "docker_mounts");
    const gt_plan_model *model = b->plan->model;
    const char *folder = model ? model->project : b->plan->workdir;
    add(b, "-v");
    add_joined(b, "%s:%s", folder, folder);
    if (model) {
        add(b, "-v");
        add_joined(b, "%s:%s/", folder, GT_WORKSPACE);
    }
    for (uint32_t i = 0; model && i < model->mounts->count; i++) {
        add(b, "-v");
        add(b, model->mounts->items[i].text.bytes);
    }
    if (strcmp(folder, b->plan->output_dir) != 0) {
        add(b, "-v");
        add_joined(b, "%s:%s", b->plan->output_dir, b->plan->output_dir);
    }
    for (uint32_t i = 0; mounts->type == GT_VALUE_DICT && i < mounts->count; i += 2) {
        add(b, "-v");
        add_joined(b, "%s:%s", gt_settings_print(b->plan->arena, &mounts->items[i + 1]),
                   mounts->items[i].text.bytes);
    }
}

static void add_cpus(builder *b)
{
    const char *cpus = gt_settings_string(b->plan->context, "docker_cpus");
    if (!cpus) return;
    char *clean = gt_strdup(cpus), *to = clean;
    for (const char *from = cpus; *from; from++)
        if (!isspace((unsigned char)*from)) *to++ = *from;
    *to = 0;
    add_joined(b, "--cpuset-cpus=%s%s", clean, "");
    gt_free(clean);
}

static void add_variables(builder *b, const char *vendor)
{
    const gt_value *env = b->plan->env;
    const char *build = getenv("BUILD_NUMBER");
    add_variable(b, "MAD_MODEL_NAME", b->plan->model ? b->plan->model->name : b->plan->name);
    add_variable(b, "JENKINS_BUILD_NUMBER", build && *build ? build : "0");
    add_variable(b, "MAD_GPU_VENDOR", vendor);
    add_variable(b, "MAD_GUEST_OS", gt_settings_string(b->plan->context, "guest_os"));
    for (size_t i = 0; i < GT_LENGTH(forwarded); i++)
        if (getenv(forwarded[i]) && !gt_settings_has(env, forwarded[i]))
            add_variable(b, forwarded[i], getenv(forwarded[i]));
    for (uint32_t i = 0; i < env->count; i += 2)
        add_variable(b, env->items[i].text.bytes, env->items[i + 1].text.bytes);
}

const char *gt_docker_program(gt_arena *arena)
{
    const char *own = getenv("GPUTALLY_DOCKER"), *names[] = {"docker", "podman"};
    if (own && *own) return gt_path_search(arena, own, getenv("PATH")) ? own : NULL;
    for (size_t i = 0; i < GT_LENGTH(names); i++)
        if (gt_path_search(arena, names[i], getenv("PATH"))) return names[i];
    return NULL;
}

const char *gt_docker_path(const gt_plan *plan, const char *path)
{
    const char *project = plan->image && plan->model ? plan->model->project : NULL;
    size_t len = project ? strlen(project) : 0;
    if (!project || strncmp(path, project, len) != 0 || (path[len] && path[len] != '/')) return path;
    return gt_arena_format(plan->arena, GT_WORKSPACE "%s", path + len);
}

static void add_start(builder *b)
{
    const char *program = gt_docker_program(b->plan->arena);
    add(b, program ? program : "docker");
    add(b, "run");
    if (b->plan->in_session) {
        add(b, "-t");
        add(b, "-d");
        add(b, "--stop-signal"); /* cat ignores SIGTERM as process 1 */
        add(b, "SIGKILL");
        add(b, "--label");
        add(b, gt_arena_format(b->plan->arena, "gputally.pid=%ld", (long)getpid()));
    } else {
        add(b, "--rm");
    }
    add(b, "--name");
    add(b, b->plan->container);
}

bool gt_docker_make(const gt_plan *plan, const char *image, gt_arg_list *words, gt_error *error)
{
    builder b = {.plan = plan, .words = words, .error = error};
    const char *vendor = gt_settings_string(plan->context, "gpu_vendor");
    bool is_amd = strcmp(vendor, "AMD") == 0;
    if (image[0] == '-') return gt_fail(error, "'%.200s' is not a valid image name", image);
    add_start(&b);
    for (size_t i = 0; i < GT_LENGTH(common_options); i++) add(&b, common_options[i]);
    for (size_t i = 0; i < 2; i++) add(&b, is_amd ? amd_options[i] : nvidia_options[i]);
    if (!add_gpus(&b, is_amd)) return false;
    add_cpus(&b);
    add_variables(&b, vendor);
    add_mounts(&b);
    for (size_t i = 0; plan->model && i < plan->model->options.count; i++)
        add(&b, plan->model->options.items[i]);
    add(&b, "--workdir");
    add(&b, plan->model ? GT_WORKSPACE : plan->workdir);
    add(&b, image);
    if (plan->in_session) {
        add(&b, "cat");
    } else {
        add(&b, "bash");
        add(&b, "-c");
        add(&b, plan->shell_line);
    }
    return true;
}

/* ---- the profilers of an image ---- */

/* Prints, marked, how rocprofv3 and rocprof are started, the version of ROCm, and whether rocprofv3 knows
 * databases. */
static const char find_profilers[] =
    "for p in rocprof rocprofv3; do f=; if command -v $p >/dev/null; then f=$p; else "
    "for d in \"${ROCM_PATH:-/opt/rocm}\" /opt/rocm; do if [ -x \"$d/bin/$p\" ]; then "
    "f=$d/bin/$p; break; fi; done; fi; [ -z \"$f\" ] || echo \"gputally: $p $f\"; done; "
    "[ -z \"$f\" ] || case $(\"$f\" --help 2>&1) in *rocpd*) echo \"gputally: rocpd yes\" ;; esac; "
    "for d in /opt/rocm \"${ROCM_PATH:-/opt/rocm}\"; do if read -r v <\"$d/.info/version\"; then "
    "echo \"gputally: rocm $v\"; break; fi; done 2>/dev/null; echo \"gputally: end\"";

typedef struct image_search {
    gt_arena *arena;
    const char *rocprofv3, *rocprof, *rocm, *rocpd;
    bool is_whole;
} image_search;

static bool take_marked(void *context, gt_child_stream stream, gt_str line)
{
    image_search *s = context;
    static const struct {
        const char *mark;
        size_t place;
    } kinds[] = {{"gputally: rocprofv3 ", offsetof(image_search, rocprofv3)},
                 {"gputally: rocprof ", offsetof(image_search, rocprof)},
                 {"gputally: rocm ", offsetof(image_search, rocm)},
                 {"gputally: rocpd ", offsetof(image_search, rocpd)}};
    if (stream == GT_CHILD_STDERR) return true; /* docker pulls the image */
    s->is_whole |= gt_str_equals(line, "gputally: end");
    for (size_t i = 0; i < GT_LENGTH(kinds); i++) {
        size_t len = strlen(kinds[i].mark);
        if (gt_str_starts_with(line, kinds[i].mark))
            *(const char **)((char *)s + kinds[i].place) =
                gt_arena_bytes(s->arena, line.bytes + len, line.len - len);
    }
    return false;
}

bool gt_docker_find_profilers(const gt_plan *plan, gt_profiler_place *place, gt_error *error)
{
    gt_plan look = *plan; /* the same container, with another command */
    gt_arg_list words = {0};
    image_search found = {.arena = plan->arena};
    look.in_session = false;
    look.output_dir = look.workdir; /* may not exist yet */
    look.shell_line = find_profilers;
    look.container = gt_arena_format(plan->arena, "gputally_look_%ld", (long)getpid());
    if (!gt_docker_program(plan->arena)) return true; /* found out later */
    if (!gt_docker_make(&look, plan->image, &words, error)) return false;
    look.docker = words;
    gt_arg_list_add(plan->arena, &words, ""); /* space for the terminating NULL */
    words.items[--words.count] = NULL;
    gt_child_setup setup = {
        .argv = words.items, .undo = gt_docker_undo(&look), .line = take_marked, .line_context = &found};
    gt_child_result result;
    gt_error ignored;
    bool ran = gt_child_run(&setup, &result, &ignored);
    if (ran && result.interrupted)
        return gt_fail(error, "interrupted while %s was searched for profilers", plan->image);
    if (!ran || !found.is_whole) return true; /* the command cannot run either, which says why */
    place->rocprofv3 = found.rocprofv3;
    place->rocprof = found.rocprof;
    place->rocm = found.rocm;
    place->rocpd = found.rocpd;
    return true;
}

const char *const *gt_docker_exec(const gt_plan *plan, const char *line)
{
    gt_arg_list words = {0};
    builder b = {.plan = plan, .words = &words};
    add(&b, plan->docker.items[0]);
    add(&b, "exec");
    add(&b, "--workdir");
    add(&b, gt_docker_path(plan, plan->workdir));
    add(&b, plan->container);
    add(&b, "bash");
    add(&b, "-c");
    add(&b, line);
    add(&b, ""); /* space for the terminating NULL */
    words.items[--words.count] = NULL;
    return words.items;
}

const char *const *gt_docker_undo(const gt_plan *plan)
{
    const char *words[] = {plan->docker.items[0], "rm", "-f", plan->container, NULL};
    const char **kept = gt_arena_alloc(plan->arena, sizeof words);
    memcpy(kept, words, sizeof words);
    return kept;
}

void gt_docker_remove(const gt_plan *plan)
{
    gt_child_setup setup = {.argv = gt_docker_undo(plan), .silent = true, .timeout_s = 60};
    gt_child_result result;
    gt_error ignored;
    gt_child_run(&setup, &result, &ignored);
}
