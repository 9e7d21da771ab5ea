/* Launchers of distributed programs (torchrun, deepspeed, vllm, ...): one row per launcher, and the
 * environment variables that a job script exports for it. */
#include "run/targets/targets.h"
#include "base/memory.h"
#include "os/shell_words.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

typedef enum launcher_kind { TORCHRUN, DEEPSPEED, SERVER, SERVER_SPLIT, PRIMUS, OTHER } launcher_kind;

static const struct {
    const char *name;
    launcher_kind kind;
    const char *prefix; /* of its variables */
} launchers[] = {
    {"torchrun", TORCHRUN, NULL},
    {"torchtitan", TORCHRUN, NULL},
    {"megatron", TORCHRUN, NULL},
    {"megatron-lm", TORCHRUN, NULL},
    {"deepspeed", DEEPSPEED, NULL},
    {"vllm", SERVER, "VLLM"},
    {"sglang", SERVER, "SGLANG"},
    {"primus", PRIMUS, NULL},
    {"sglang-disagg", SERVER_SPLIT, "SGLANG"},
};

static void line(gt_buffer *lines, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void line(gt_buffer *lines, const char *format, ...)
{
    char text[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    gt_buffer_add_cstr(lines, text);
    gt_buffer_add_cstr(lines, "\n");
}

gt_distributed gt_distributed_of(const gt_value *settings, int64_t nodes, int64_t gpus)
{
    const gt_value *distributed = gt_value_get(settings, "distributed");
    const char *name = gt_settings_string(distributed, "launcher");
    return (gt_distributed){
        name ? name : "torchrun", nodes, gt_settings_int(distributed, "nproc_per_node", gpus),
        gt_settings_int(distributed, "port", gt_settings_int(distributed, "master_port", 29500))};
}

static void export_torchrun(const gt_distributed *l, gt_buffer *lines)
{
    if (l->nodes == 1)
        line(lines, "export MAD_MULTI_NODE_RUNNER=\"torchrun --standalone --nproc_per_node=%" PRId64 "\"",
             l->processes);
    else
        line(lines,
             "export MAD_MULTI_NODE_RUNNER=\"torchrun --nnodes=%" PRId64 " --nproc_per_node=%" PRId64
             " --node_rank=${NODE_RANK} --master_addr=${MASTER_ADDR} --master_port=%" PRId64 "\"",
             l->nodes, l->processes, l->port);
}

static void export_deepspeed(const gt_distributed *l, gt_buffer *lines)
{
    if (l->nodes == 1) {
        line(lines, "export MAD_MULTI_NODE_RUNNER=\"deepspeed --num_gpus=%" PRId64 "\"", l->processes);
        return;
    }
    line(lines, "GPUTALLY_HOSTFILE=\"${TMPDIR:-/tmp}/gputally_hosts_${SLURM_JOB_ID}_${NODE_RANK}\"");
    line(lines,
         "scontrol show hostnames \"$SLURM_JOB_NODELIST\" | sed \"s/\\$/ slots=%" PRId64
         "/\" >\"$GPUTALLY_HOSTFILE\"",
         l->processes);
    line(lines,
         "export MAD_MULTI_NODE_RUNNER=\"deepspeed --hostfile=${GPUTALLY_HOSTFILE} "
         "--master_addr=${MASTER_ADDR} "
         "--master_port=%" PRId64 "\"",
         l->port);
}

static void export_primus(const gt_value *settings, gt_buffer *lines)
{
    static const char *const keys[][2] = {
        {"config", "PRIMUS_CONFIG_PATH"}, {"cli_extra", "PRIMUS_CLI_EXTRA"}, {"backend", "BACKEND"}};
    const gt_value *primus = gt_value_get(gt_value_get(settings, "distributed"), "primus");
    for (size_t i = 0; i < GT_LENGTH(keys); i++) {
        const char *text = gt_settings_string(primus, keys[i][0]);
        if (!text) continue;
        gt_buffer_add_cstr(lines, "export ");
        gt_buffer_add_cstr(lines, keys[i][1]);
        gt_buffer_add_cstr(lines, "=");
        gt_shell_quote(lines, text);
        gt_buffer_add_cstr(lines, "\n");
    }
}

static bool export_split(const gt_distributed *l, gt_buffer *lines, gt_error *error)
{
    if (l->nodes < 3)
        return gt_fail(error, "launcher sglang-disagg needs at least 3 nodes, got %" PRId64, l->nodes);
    int64_t prefill = (l->nodes - 1) * 2 / 5;
    if (prefill < 1) prefill = 1;
    line(lines, "export SGLANG_DISAGG_PREFILL_NODES=%" PRId64, prefill);
    line(lines, "export SGLANG_DISAGG_DECODE_NODES=%" PRId64, l->nodes - 1 - prefill);
    return true;
}

bool gt_distributed_export(const gt_distributed *l, const gt_value *settings, gt_buffer *lines,
                           gt_error *error)
{
    size_t i = 0;
    while (i < GT_LENGTH(launchers) && strcmp(launchers[i].name, l->name) != 0) i++;
    launcher_kind kind = i < GT_LENGTH(launchers) ? launchers[i].kind : OTHER;
    line(lines, "export NNODES=%" PRId64 " NPROC_PER_NODE=%" PRId64, l->nodes, l->processes);
    switch (kind) {
    case TORCHRUN:
        export_torchrun(l, lines);
        break;
    case DEEPSPEED:
        export_deepspeed(l, lines);
        break;
    case SERVER_SPLIT:
        if (!export_split(l, lines, error)) return false; /* fall through */
    case SERVER:
        line(lines, "export %s_TENSOR_PARALLEL_SIZE=%" PRId64 " %s_PIPELINE_PARALLEL_SIZE=1",
             launchers[i].prefix, l->processes, launchers[i].prefix);
        break;
    case PRIMUS:
        export_primus(settings, lines);
        break;
    case OTHER:
        break;
    }
    return true;
}
