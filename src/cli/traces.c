/* One report a trace: all output names are settled before the first trace is read. */
#include "cli/traces.h"
#include "base/memory.h"
#include "base/progress.h"
#include "cli/common.h"
#include "cli/journal.h"
#include "os/paths.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

const char *gt_trace_title(const char *trace_path)
{
    return strcmp(trace_path, "-") == 0 ? "standard input" : trace_path;
}

static bool choose_destinations(const gt_call *call, const char *const *paths, size_t count,
                                gt_destinations *destinations, gt_error *error)
{
    for (size_t i = 0; i < count; i++) {
        if (!gt_destinations_choose(&destinations[i], call, paths[i], count, error)) return false;
        for (size_t j = 0; j < i; j++) {
            const char *place = gt_destinations_clash(&destinations[i], &destinations[j]);
            if (place)
                return gt_fail(error, "the reports of %.300s and %.300s would both be written to %.300s",
                               paths[j], paths[i], place);
        }
    }
    return true;
}

static bool is_missing(const char *path)
{
    struct stat status;
    return strcmp(path, "-") != 0 && stat(path, &status) != 0 && (errno == ENOENT || errno == ENOTDIR);
}

bool gt_trace_is_shown(const gt_trace_call *trace)
{
    return !gt_journal_is_kept() && !gt_arguments_flag(&trace->call->arguments, "quiet");
}

void gt_trace_show_files(const gt_output *output)
{
    putchar('\n');
    for (size_t i = 0; i < gt_output_file_count(output); i++)
        printf("wrote %s\n", gt_output_file_path(output, i));
}

static bool open_and_make(gt_trace_call *trace, gt_report_maker *make, gt_error *error)
{
    if (trace->call->command->syntax->folders && gt_path_is_folder(trace->path)) return make(trace, error);
    trace->stream = gt_stream_open(trace->path, error);
    if (!trace->stream) return false;
    /* Readers begin a line of their own; this one is for the wait before, where a pipe is slow to deliver. */
    gt_progress_begin(gt_stream_path(trace->stream), gt_stream_size(trace->stream));
    bool made = make(trace, error);
    gt_progress_end();
    gt_stream_close(trace->stream);
    return made;
}

static bool make_one(gt_trace_call *trace, gt_report_maker *make)
{
    gt_error error = {""};
    const char *what = "";
    if (is_missing(trace->path)) {
        gt_fail(&error, "Input file not found: %s", trace->path);
    } else {
        const char *failure = gt_old_program_of(trace->call->command)->failure;
        if (open_and_make(trace, make, &error)) return true;
        what = failure ? failure : "Error generating report: ";
    }
    if (!gt_journal_error("%s%s", what, error.text)) fprintf(stderr, "gputally: %s\n", error.text);
    return false;
}

static gt_exit make_all(const gt_call *call, const char *const *paths, size_t count,
                        const gt_read_options *read, const gt_destinations *destinations,
                        gt_report_maker *make)
{
    bool quiet = gt_arguments_flag(&call->arguments, "quiet");
    gt_exit status = GT_EXIT_DONE;
    if (call->by_old_name) gt_journal_start(gt_old_program_of(call->command)->form, quiet);
    for (size_t i = 0; i < count; i++) {
        gt_trace_call trace = {
            .call = call, .path = paths[i], .read = read, .destinations = &destinations[i]};
        if (!make_one(&trace, make)) status = GT_EXIT_FAILED;
        if (i + 1 < count && !quiet) putchar('\n');
    }
    return status;
}

gt_exit gt_each_trace(const gt_call *call, const char *const *paths, size_t count, gt_report_maker *make)
{
    gt_error error;
    gt_read_options read;
    gt_destinations *destinations = gt_alloc_zero(count, sizeof *destinations);
    bool sound =
        gt_common_apply(call, &read, &error) && choose_destinations(call, paths, count, destinations, &error);
    gt_exit status = sound ? make_all(call, paths, count, &read, destinations, make)
                           : gt_usage_error(call->program, "%s", error.text);
    for (size_t i = 0; i < count; i++) gt_destinations_free(&destinations[i]);
    gt_free(destinations);
    return status;
}
