/* Labels are as rocprofv3's own traces have them: "Agent-" and the logical node id. */
#include "transform/convert_agents.h"

#include "base/memory.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

static uint32_t add(gt_convert_agents *agents, gt_convert_agent row, gt_str type)
{
    char label[32];
    snprintf(label, sizeof label, "Agent-%" PRId64, row.number);
    row.label = gt_interner_add_cstr(agents->strings, label);
    row.type = type.len ? gt_interner_add(agents->strings, type.bytes, type.len) : GT_STR_NONE;
    row.is_cpu = gt_str_equals(type, "CPU");
    *gt_map_put(&agents->of, (uint64_t)row.process, (uint64_t)row.id) = (uint32_t)agents->count;
    GT_PUSH(agents->rows, agents->count, agents->capacity, row);
    return (uint32_t)agents->count - 1;
}

void gt_convert_agents_add(gt_convert_agents *agents, const gt_rocprof *run, gt_interner *strings,
                           size_t process_count)
{
    agents->strings = strings;
    if (!run->agents) return;
    gt_store_cell cells[GT_STORE_MAX_COLUMNS];
    gt_store_scan *scan = gt_store_scan_new(run->agents);
    while (gt_store_scan_next(scan, cells)) {
        int64_t process = cells[GT_AGENT_PROCESS].integer, id = cells[GT_AGENT_ID].integer;
        int64_t logical = cells[GT_AGENT_LOGICAL_NODE_ID].integer, node = cells[GT_AGENT_NODE_ID].integer;
        if (process < 0 || (uint64_t)process >= process_count) process = 0;
        int64_t number = logical != GT_AGENT_ABSENT ? logical : node != GT_AGENT_ABSENT ? node : id;
        add(agents, (gt_convert_agent){.process = process, .id = id, .number = number},
            gt_interner_get(run->strings, (uint32_t)cells[GT_AGENT_TYPE].text));
    }
    gt_store_scan_free(scan);
}

uint32_t gt_convert_agents_find(gt_convert_agents *agents, int64_t process, int64_t id)
{
    uint32_t found = gt_map_get(&agents->of, (uint64_t)process, (uint64_t)id);
    if (found != GT_MAP_NONE) return found;
    return add(agents, (gt_convert_agent){.process = process, .id = id, .number = id}, (gt_str){"", 0});
}

void gt_convert_agent_notes(gt_timeline *timeline, const gt_rocprof *run, const gt_store_cell *cells)
{
    gt_interner *strings = gt_timeline_strings(timeline);
    for (size_t i = 0; i < GT_AGENT_INFO_COLUMNS; i++) {
        size_t column = GT_AGENT_INFO + i;
        uint32_t key = gt_interner_add_cstr(strings, gt_agent_info_names[i]);
        if (gt_agent_columns[column].type == GT_STORE_STRING) {
            if (cells[column].text != GT_STR_NONE)
                gt_timeline_note_string(timeline, key,
                                        gt_interner_get(run->strings, (uint32_t)cells[column].text));
        } else if (cells[column].integer != GT_AGENT_ABSENT) {
            gt_timeline_note_int(timeline, key, cells[column].integer);
        }
    }
}

void gt_convert_agents_free(gt_convert_agents *agents)
{
    gt_free(agents->rows);
    gt_map_free(&agents->of);
}
