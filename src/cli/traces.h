/* What every command that turns traces into reports does around the report itself: the common options, the
 * names of the outputs, and what is said where a trace fails. */
#ifndef GT_CLI_TRACES_H
#define GT_CLI_TRACES_H

#include "cli/command.h"
#include "cli/destinations.h"
#include "input/options.h"
#include "stream/stream.h"

/* One trace on its way to a report. */
typedef struct gt_trace_call {
    const gt_call *call;
    const char *path;  /* as given; "-" is standard input */
    gt_stream *stream; /* NULL where the path is a folder, which only commands that take folders see */
    const gt_read_options *read;
    const gt_destinations *destinations;
} gt_trace_call;

/* Makes the report of one trace and says on standard output what it holds and where it is. */
typedef bool gt_report_maker(const gt_trace_call *trace, gt_error *error);

/* Writes the tables of a trace's report. NULL where that fails; else the caller prints its summary, if
 * gt_trace_is_shown, and frees the output, whose files gt_trace_show_files names. */
bool gt_trace_is_shown(const gt_trace_call *trace);
void gt_trace_show_files(const gt_output *output);

/* Makes one report a trace. A trace that fails does not keep the others from theirs. */
gt_exit gt_each_trace(const gt_call *call, const char *const *trace_paths, size_t count,
                      gt_report_maker *make);

/* As messages name a trace: its path, or "standard input". */
const char *gt_trace_title(const char *trace_path);

#endif
