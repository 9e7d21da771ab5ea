/* One field an agent's column, named as in agent_info.csv. */
#include "input/rocprof/perfetto_agents.h"

#include "base/memory.h"
#include "base/buffer.h"

#include <stdlib.h>

struct gt_agent_marks {
    gt_perfetto *trace;
    gt_field fields[GT_AGENT_COLUMNS];
    char *paths[GT_AGENT_COLUMNS];
    gt_perfetto_records *records;
    gt_record record;
};

gt_agent_marks *gt_agent_marks_new(gt_perfetto *trace)
{
    gt_agent_marks *m = gt_alloc_zero(1, sizeof *m);
    m->trace = trace;
    for (size_t c = GT_AGENT_INFO; c < GT_AGENT_COLUMNS; c++) {
        bool is_text = gt_agent_columns[c].type == GT_STORE_STRING;
        m->paths[c] = gt_format("args/%s", gt_agent_info_names[c - GT_AGENT_INFO]);
        m->fields[c] = (gt_field){m->paths[c], is_text ? GT_FIELD_STRING : GT_FIELD_INT, false};
    }
    m->fields[GT_AGENT_ID] = (gt_field){"args/agent_id", GT_FIELD_INT, false};
    m->fields[GT_AGENT_PROCESS] = (gt_field){NULL, GT_FIELD_INT, false};
    m->records = gt_perfetto_records_new(trace, m->fields, GT_AGENT_COLUMNS);
    return m;
}

void gt_agent_marks_free(gt_agent_marks *m)
{
    if (!m) return;
    gt_perfetto_records_free(m->records);
    for (size_t c = 0; c < GT_AGENT_COLUMNS; c++) gt_free(m->paths[c]);
    gt_free(m);
}

void gt_agent_marks_read(gt_agent_marks *m, const gt_perfetto_event *mark, int64_t process,
                         gt_rocprof_writers *writers)
{
    if (!writers->agents) return;
    gt_perfetto_record_head(m->records, mark, &m->record);
    gt_perfetto_record_args(m->records, mark, &m->record, NULL, NULL);
    gt_store_cell *cells = m->record.cells;
    for (size_t c = 0; c < GT_AGENT_COLUMNS; c++) {
        if (gt_agent_columns[c].type != GT_STORE_STRING || !(m->record.present >> c & 1)) continue;
        gt_str text = gt_interner_get(gt_perfetto_strings(m->trace), (uint32_t)cells[c].text);
        cells[c].text = gt_interner_add(writers->run->strings, text.bytes, text.len);
    }
    cells[GT_AGENT_PROCESS].integer = process;
    gt_store_writer_add(writers->agents, m->record.present | UINT64_C(1) << GT_AGENT_PROCESS, cells);
}
