/* Agents (CPUs and GPUs) as rocprofv3 writes them in JSON: the array `agents` of its JSON files and the
 * column extdata of rocpd's agents are alike. */
#ifndef GT_INPUT_ROCPROF_AGENTS_H
#define GT_INPUT_ROCPROF_AGENTS_H

#include "input/json/record.h"
#include "trace/rocprof/rocprof.h"

/* One a column of gt_agent_columns, and one more behind them, which no store keeps. */
enum { GT_AGENT_TYPE_NUMBER = GT_AGENT_COLUMNS, GT_AGENT_FIELDS };
extern const gt_field gt_agent_fields[GT_AGENT_FIELDS];

/* Turns the number of the agent's type into its name. */
void gt_agent_complete(gt_record *record, gt_record_reader *reader);

#endif
