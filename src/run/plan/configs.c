/* The shipped configs, one row each. */
#include "run/plan/configs.h"
#include "base/length.h"
#include "base/memory.h"
#include "output/file.h"
#include "os/paths.h"

#include <stdlib.h>
#include <string.h>

#define AMD_UBUNTU "{\n  \"gpu_vendor\": \"AMD\",\n  \"guest_os\": \"UBUNTU\",\n"
#define POWER                                                                                                \
    "    {\n      \"name\": \"gpu_info_power_profiler\",\n      \"env_vars\": {\"POWER_DEVICE\": \"all\", "  \
    "\"POWER_SAMPLING_RATE\": \"0.1\"}\n    }"
#define VRAM                                                                                                 \
    "    {\n      \"name\": \"gpu_info_vram_profiler\",\n      \"env_vars\": {\"VRAM_DEVICE\": \"all\", "    \
    "\"VRAM_SAMPLING_RATE\": \"0.1\"}\n    }"
#define ONE_TOOL(name) AMD_UBUNTU "  \"tools\": [{\"name\": \"" name "\", \"env_vars\": {}}]\n}\n"

/* Two configs for several GPUs differ in their numbers alone. */
#define ON_SLURM(tool_env, nodes, time, exclusive, distributed, env)                                         \
    "  \"slurm\": {\n    \"partition\": \"amd-rccl\",\n    \"nodes\": " nodes                                \
    ",\n    \"gpus_per_node\": 4,\n"                                                                         \
    "    \"time\": \"" time "\",\n    \"output_dir\": \"./slurm_results\",\n    \"exclusive\": " exclusive   \
    "\n  },\n"                                                                                               \
    "  \"distributed\": {" distributed "},\n  \"env_vars\": {" env "},\n  \"debug\": false,\n"               \
    "  \"tools\": [\n    {\"name\": \"rocprofv3_communication\", \"env_vars\": {" tool_env "}},\n" POWER     \
    ",\n" VRAM "\n  ]\n}\n"

static const char multi_node[] = AMD_UBUNTU
    "  \"_comment\": \"Communication of several nodes, with power and memory of every GPU\",\n"
    "  \"_use_case\": \"Distributed training on a SLURM cluster\",\n" ON_SLURM(
        "\"RCCL_DEBUG\": \"INFO\", \"NCCL_DEBUG\": \"INFO\"", "2", "04:00:00", "true",
        "\"launcher\": \"torchrun\", \"nnodes\": 2, \"nproc_per_node\": 4",
        "\"OMP_NUM_THREADS\": \"8\", \"NCCL_IB_DISABLE\": \"0\", \"NCCL_SOCKET_IFNAME\": \"eth0\"");

const gt_config gt_configs[] = {
    {"rocprofv3_compute_bound", "is the arithmetic the bottleneck? waves, VALU and SALU instructions, power",
     AMD_UBUNTU "  \"tools\": [\n    {\"name\": \"rocprofv3_compute\", \"env_vars\": {}},\n" POWER
                "\n  ]\n}\n"},
    {"rocprofv3_memory_bound", "is memory the bottleneck? caches, requests, copies, used memory",
     AMD_UBUNTU "  \"tools\": [\n    {\"name\": \"rocprofv3_memory\", \"env_vars\": {}},\n" VRAM
                "\n  ]\n}\n"},
    {"rocprofv3_lightweight", "HIP calls and kernels with the least overhead",
     ONE_TOOL("rocprofv3_lightweight")},
    {"rocprofv3_comprehensive", "all traces and counters, library calls, power, memory; much overhead",
     AMD_UBUNTU "  \"tools\": [\n    {\"name\": \"rocprofv3_full\", \"env_vars\": {\"RCCL_DEBUG\": \"INFO\", "
                "\"HSA_ENABLE_SDMA\": \"0\"}},\n    {\n      \"name\": \"gpu_info_power_profiler\",\n      "
                "\"env_vars\": "
                "{\"POWER_DEVICE\": \"all\", \"POWER_SAMPLING_RATE\": \"0.1\", \"POWER_DUAL_GCD\": "
                "\"false\"}\n    },\n" VRAM
                ",\n    {\"name\": \"miopen_trace\"},\n    {\"name\": \"rocblas_trace\"}\n  ]\n}\n"},
    {"rocprofv3_multi_gpu", "communication between the GPUs of one node, with power and memory",
     AMD_UBUNTU "  \"_comment\": \"Communication of several GPUs, with power and memory of each\",\n"
                "  \"_use_case\": \"Data or model parallel training on one node\",\n" ON_SLURM(
                    "\"RCCL_DEBUG\": \"INFO\"", "1", "02:00:00", "false",
                    "\"launcher\": \"torchrun\", \"nproc_per_node\": 4", "\"OMP_NUM_THREADS\": \"8\"")},
    {"rocprofv3_multi_node", "communication between nodes of a SLURM cluster", multi_node},
    {"rocprofv3_multinode", "the same under its other name", multi_node},
    {"rocm_trace_lite", "rocm-trace-lite, mode lite", ONE_TOOL("rocm_trace_lite")},
    {"rocm_trace_lite_default", "rocm-trace-lite, mode default", ONE_TOOL("rocm_trace_lite_default")},
};
const size_t gt_config_count = GT_LENGTH(gt_configs);

const char *gt_config_find(const char *path)
{
    const char *name = gt_path_name(path), *dot = strrchr(name, '.');
    size_t len = dot && strcmp(dot, ".json") == 0 ? (size_t)(dot - name) : strlen(name);
    for (size_t i = 0; i < gt_config_count; i++)
        if (strlen(gt_configs[i].name) == len && memcmp(gt_configs[i].name, name, len) == 0)
            return gt_configs[i].json;
    return NULL;
}

static bool write_config(gt_output *output, const char *folder, const gt_config *config, gt_error *error)
{
    char *path = gt_format("%s/%s.json", folder, config->name);
    bool sound = gt_output_whole_file(output, path, (gt_str){config->json, strlen(config->json)}, error);
    gt_free(path);
    return sound;
}

bool gt_configs_write(const char *folder, gt_error *error)
{
    gt_output *output = gt_output_new();
    bool sound = true;
    for (size_t i = 0; sound && i < gt_config_count; i++)
        sound = write_config(output, folder, &gt_configs[i], error);
    sound = sound && gt_output_commit(output, error);
    gt_output_free(output);
    return sound;
}
