/* Agents in a Perfetto trace: marks that `gputally convert` writes, an annotation a column of rocprofv3's
 * agent_info.csv. rocprofv3's own traces have none. */
#ifndef GT_INPUT_ROCPROF_PERFETTO_AGENTS_H
#define GT_INPUT_ROCPROF_PERFETTO_AGENTS_H

#include "input/perfetto/record.h"
#include "trace/rocprof/rocprof.h"

typedef struct gt_agent_marks gt_agent_marks;

gt_agent_marks *gt_agent_marks_new(gt_perfetto *trace);
void gt_agent_marks_free(gt_agent_marks *marks);
/* Adds the agent of a mark to the run's. */
void gt_agent_marks_read(gt_agent_marks *marks, const gt_perfetto_event *mark, int64_t process,
                         gt_rocprof_writers *writers);

#endif
