/* Agents of a rocprofv3 run on their way into a trace: by what number and label each is known there. */
#ifndef GT_TRANSFORM_CONVERT_AGENTS_H
#define GT_TRANSFORM_CONVERT_AGENTS_H

#include "base/map.h"
#include "output/trace/timeline.h"
#include "trace/rocprof/rocprof.h"

typedef struct gt_convert_agent {
    int64_t process;      /* of the run */
    int64_t id;           /* as records name it */
    int64_t number;       /* of its label: the logical node id where it is known */
    uint32_t label, type; /* text ids of the timeline: "Agent-2", "GPU" */
    bool is_cpu;
} gt_convert_agent;

typedef struct gt_convert_agents {
    gt_interner *strings; /* the timeline's */
    gt_convert_agent *rows;
    size_t count, capacity;
    gt_map of; /* (process, id) */
} gt_convert_agents;

/* The agents that the run describes, if it does. */
void gt_convert_agents_add(gt_convert_agents *agents, const gt_rocprof *run, gt_interner *strings,
                           size_t process_count);
/* The row of an agent; one that nothing is known of gets a row, which may move the others. */
uint32_t gt_convert_agents_find(gt_convert_agents *agents, int64_t process, int64_t id);
/* Adds what is known of an agent, a row of gt_rocprof.agents, to the event in hand; keys are the columns of
 * rocprofv3's agent_info.csv. */
void gt_convert_agent_notes(gt_timeline *timeline, const gt_rocprof *run, const gt_store_cell *cells);
void gt_convert_agents_free(gt_convert_agents *agents);

#endif
