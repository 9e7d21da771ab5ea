/* What all commands that write reports on traces share: the common options, the output paths, and the
 * messages if a trace fails. */
#pragma once

#include "cli/common.h"
#include "cli/trace_result.h"
#include "report/report.h"

/* One trace to report on. */
typedef struct gt_trace_call {
    const gt_call *call;
    const char *path;       /* as given; "-" is standard input */
    bool is_one_of_several; /* so its summary needs its name */
    int64_t rank;           /* -1: none */
    gt_stream *stream;      /* NULL if the path is a folder, which only commands that accept folders get */
    const gt_read_options *read;
    const gt_destinations *destinations;
    FILE *out;               /* for the summary */
    bool wants_collectives;  /* of a PyTorch trace */
    gt_trace_result *result; /* receives what is left of the trace */
} gt_trace_call;

/* Makes the report of one trace, writes it and prints a summary. */
typedef bool gt_report_maker(const gt_trace_call *trace, gt_error *error);

/* A trace of a command. */
typedef struct gt_trace_item {
    const char *path;
    int64_t rank;                     /* of a folder with one trace per rank; -1: none */
    char *label;                      /* names its folder of CSV files; NULL: the trace does */
    gt_rank_collectives *collectives; /* of a trace with a rank, once it has been read; see collective.h */
    gt_kept_print *lines; /* where its line goes, which the caller prints after the answers about all ranks;
                 NULL: it is printed */
} gt_trace_item;

/* Makes one report per trace, several at the same time; what they print comes in the order of the traces. A
 * trace that fails does not stop the others. Traces with a rank get one line instead of a summary. */
gt_exit gt_each_item(const gt_call *call, gt_trace_item *items, size_t count, gt_report_maker *make);
/* The same for traces without ranks. */
gt_exit gt_each_trace(const gt_call *call, const char *const *trace_paths, size_t count,
                      gt_report_maker *make);

/* The options of reports that the command line gives, which must be valid. */
gt_report_options gt_trace_report_options(const gt_call *call);

/* What a command prints or checks between the steps of a report; each may be NULL. */
typedef struct gt_report_hooks {
    void (*read_failed)(const gt_error *error);
    void (*was_read)(const gt_report *report);
    void (*was_made)(const gt_trace_call *trace, const gt_report *report); /* the sheets, not yet written */
    gt_write_more *write_more; /* its context is the gt_trace_call */
} gt_report_hooks;

/* Makes a report of this kind with the options of the command line, which must be valid, writes it and prints
 * the summary. */
bool gt_trace_make_report(const gt_trace_call *trace, gt_trace_kind kind, const gt_report_hooks *hooks,
                          gt_error *error);

/* Writes the JSON and Markdown files, if requested (report/answers.h). */
bool gt_answers_write(const gt_destinations *to, const char *title, const gt_table_list *tables,
                      gt_output *output, gt_error *error);

/* For commands that write other reports: whether to print a summary, and its last lines. */
bool gt_trace_is_shown(const gt_trace_call *trace);
void gt_trace_show_files(FILE *out, const gt_output *output);
