#include "analysis/rocprof/agents.h"

uint32_t gt_rocprof_host_of(const gt_rocprof *run, int64_t process)
{
    bool is_process = process >= 0 && (size_t)process < run->process_count;
    return is_process ? run->process[process].hostname : run->hostname;
}

static int64_t known(int64_t value)
{
    return value == GT_AGENT_ABSENT ? 0 : value;
}

static uint32_t number_of(gt_map *numbers, uint64_t a, uint64_t b)
{
    uint32_t *number = gt_map_put(numbers, a, b);
    if (*number == GT_MAP_NONE) *number = (uint32_t)numbers->count;
    return *number;
}

/* Numbers the GPUs by their ids. Those without ids are the first GPU of their host with the same node. */
static void number_gpus(gt_agent_list *agents, const gt_rocprof *run)
{
    int64_t *domains = gt_store_ints(run->agents, GT_AGENT_DOMAIN);
    gt_map places = {0}, numbers = {0}, first_of_node = {0};
    for (size_t i = 0; i < agents->count; i++) {
        int64_t gpu_id = known(agents->gpu_ids[i]), location = known(agents->locations[i]);
        bool is_gpu = gt_str_equals(gt_interner_get(run->strings, agents->types[i]), "GPU");
        if (!is_gpu || (!gpu_id && !location)) continue;
        uint32_t place = number_of(&places, (uint64_t)known(domains[i]), (uint64_t)location);
        agents->gpus[i] = number_of(&numbers, (uint64_t)gpu_id, place);
        uint32_t host = gt_rocprof_host_of(run, agents->processes[i]);
        uint32_t *first = gt_map_put(&first_of_node, host, (uint64_t)agents->nodes[i]);
        if (*first == GT_MAP_NONE) *first = agents->gpus[i];
    }
    for (size_t i = 0; first_of_node.count && i < agents->count; i++) {
        if (agents->gpus[i]) continue;
        uint32_t host = gt_rocprof_host_of(run, agents->processes[i]);
        uint32_t first = gt_map_get(&first_of_node, host, (uint64_t)agents->nodes[i]);
        if (first != GT_MAP_NONE) agents->gpus[i] = first;
    }
    gt_free(domains);
    gt_map_free(&places);
    gt_map_free(&numbers);
    gt_map_free(&first_of_node);
}

gt_agent_list gt_agent_list_new(const gt_rocprof *run)
{
    gt_agent_list agents = {.count = run->agents ? gt_store_count(run->agents) : 0};
    if (!agents.count) return agents;
    int64_t *ids = gt_store_ints(run->agents, GT_AGENT_ID);
    agents.processes = gt_store_ints(run->agents, GT_AGENT_PROCESS);
    agents.nodes = gt_store_ints(run->agents, GT_AGENT_LOGICAL_NODE_ID);
    agents.gpu_ids = gt_store_ints(run->agents, GT_AGENT_GPU_ID);
    agents.locations = gt_store_ints(run->agents, GT_AGENT_LOCATION_ID);
    agents.types = gt_store_string_ids(run->agents, GT_AGENT_TYPE);
    agents.gpus = gt_alloc_zero(agents.count, sizeof *agents.gpus);
    number_gpus(&agents, run);
    for (size_t i = 0; i < agents.count; i++) {
        *gt_map_put(&agents.rows, (uint64_t)agents.processes[i], (uint64_t)ids[i]) = (uint32_t)i;
        uint32_t host = gt_rocprof_host_of(run, agents.processes[i]);
        uint32_t *first = gt_map_put(&agents.firsts, host, (uint64_t)agents.nodes[i]);
        if (*first == GT_MAP_NONE) *first = (uint32_t)i;
    }
    gt_free(ids);
    return agents;
}

void gt_agent_list_free(gt_agent_list *agents)
{
    gt_free_all(agents->processes, agents->nodes, agents->gpu_ids, agents->locations, agents->types,
                agents->gpus);
    gt_map_free(&agents->rows);
    gt_map_free(&agents->firsts);
    *agents = (gt_agent_list){0};
}

uint32_t gt_agent_list_find(const gt_agent_list *agents, int64_t process, int64_t number)
{
    return agents->count ? gt_map_get(&agents->rows, (uint64_t)process, (uint64_t)number) : GT_MAP_NONE;
}
