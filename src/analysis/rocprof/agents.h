/* The agents of a run, found by the numbers under which the records of a process refer to them. */
#pragma once

#include "trace/rocprof/rocprof.h"

/* One item per row of the run's agents. */
typedef struct gt_agent_list {
    size_t count;
    int64_t *processes;
    int64_t *nodes; /* Logical_Node_Id; GT_AGENT_ABSENT if unknown, like the next two */
    int64_t *gpu_ids, *locations;
    uint32_t *types; /* string ids */
    uint32_t *gpus;  /* A process may see only some of its host's GPUs, and Logical_Node_Id counts those it
                        sees.  GPUs of a host with the same node are different ones if this number differs; 0
                        if  the  files do not tell. */
    gt_map rows;     /* (process, number in its records) */
    gt_map firsts;   /* (host, node) to the first row with it */
} gt_agent_list;

gt_agent_list gt_agent_list_new(const gt_rocprof *run);
void gt_agent_list_free(gt_agent_list *agents);
/* The row of an agent, GT_MAP_NONE if the process does not list it. */
uint32_t gt_agent_list_find(const gt_agent_list *agents, int64_t process, int64_t number);

/* The host of a process (string id). */
uint32_t gt_rocprof_host_of(const gt_rocprof *run, int64_t process);
