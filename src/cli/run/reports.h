/* Shared by the files that make the reports of a run: on this machine (reports.c), or of all nodes of a job
 * (node_reports.c). */
#pragma once

#include "cli/run/ranks.h"
#include "cli/run/run.h"

typedef struct gt_reporter {
    const gt_call *call;
    const gt_plan *plan;
    gt_outcome *outcome;
    const char *wanted;
    bool is_shown;       /* the first report was printed; the others are only written */
    gt_arg_list written; /* files of reports */
    size_t entries;      /* directory entries visited so far */
    const char *copy_to; /* where traces are copied that are found; NULL: they are reported on */
    gt_run_traces own;   /* PyTorch traces that the command wrote */
    gt_interner *stems;  /* names of their reports without the ending; NULL: none yet */
    gt_buffer finding;   /* the first one of the report that is printed */
    const char *page;    /* to open first; NULL: none */
} gt_reporter;

/* Whether --report asks for a kind. */
bool gt_reporter_wants(const gt_reporter *r, const char *kind);
/* Adds a file that was written, to be listed at the end. */
void gt_reporter_add(gt_reporter *r, const char *path);
/* Makes the report of a trace or folder with a report command. A failure is a warning. */
void gt_reporter_make(gt_reporter *r, const char *command_name, const char *trace, const char *workbook);
/* Finds traces below a folder that the command wrote, newer than the start of the run: reports on JAX
 * profiles, keeps PyTorch traces. */
void gt_reporter_find(gt_reporter *r, const char *folder, int64_t node, int depth);
/* One report of all ranks, whose traces are linked into `folder`; or else one per trace. */
void gt_reporter_own_traces(gt_reporter *r, const char *folder);
/* Prints the first finding, and the page to open. */
void gt_reporter_print_last(const gt_reporter *r);
void gt_reporter_free(gt_reporter *r);
