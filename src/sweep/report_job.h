/* `sweep report` while it runs, for report.c, report_end.c and report_image.c. */
#pragma once

#include "output/written.h"
#include "sweep/report.h"

#include <stdatomic.h>

typedef struct gt_report_task {
    size_t config;
    const gt_sweep_trace *trace;
    bool made;
    bool is_cut; /* the report is about the readable part of the trace */
    size_t failures;
    gt_interner *strings; /* of its rows in the setting */
    gt_written written;   /* the reports */
} gt_report_task;

/* One setting while its traces are read. */
typedef struct gt_report_setting {
    gt_sweep_traces traces;
    gt_table **rows;    /* of collectives, one table per trace */
    size_t first;       /* task of its first trace; the others follow */
    atomic_size_t left; /* traces not read yet */
    size_t devices;
    bool has_collective, failed; /* the collective report was written, or could not be */
    bool lacks_collectives;      /* there is nothing to report */
    gt_log_record messages;      /* of the collective report */
    gt_stamp stamp;              /* messages of each trace, then of the collective report */
    bool is_kept;                /* all files are there from the last time */
    bool is_done;                /* the collective report, or what is known of it, is there */
} gt_report_setting;

typedef struct gt_report_job {
    const gt_sweep *sweep;
    const gt_sweep_report_options *options;
    char *analysis;
    gt_sweep_totals *totals;
    gt_report_setting *settings;
    gt_report_task *tasks;
    size_t count, capacity;
    bool is_shared; /* traces may be worked on by other processes */
} gt_report_job;

/* The messages about a trace. */
static inline gt_buffer *gt_report_messages(const gt_report_job *j, const gt_report_task *t)
{
    gt_report_setting *s = &j->settings[t->config];
    return &s->stamp.messages[t->trace - s->traces.items];
}

/* What `work` leaves of a trace, for gt_file_work (input/files.h); the context is the job. */
bool gt_report_task_pack(void *context, size_t index, gt_image *image);
bool gt_report_task_unpack(void *context, size_t index, const gt_image *image);
void gt_report_task_drop(void *context, size_t index);
bool gt_report_task_is_usable(void *context, size_t index, const gt_image *image);
/* What the reports of a trace depend on, and where they are written; the caller frees it. */
char *gt_report_task_key(const gt_report_job *job);

/* One line for all settings that lack the same: a sweep has many of them. */
void gt_report_warn_without_collectives(const gt_report_job *job);
void gt_report_warn_missing_ranks(const gt_report_job *job);
