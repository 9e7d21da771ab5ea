/* The report of any trace: one table maps each format to its reader and its report.
 *
 * This is what `gputally report`, `pytorch`, `rocprof`, `nsys` and `jax` and the public interface have in
 * common:
 *
 *     gt_report_options options = gt_report_options_default();
 *     gt_report report;
 *     bool made = gt_report_detect(stream, &kind, &error) &&
 *                 gt_report_read(&report, kind, stream, path, &options, &error) &&
 *                 gt_report_make_tables(&report, &error);
 *     ... report.tables ...
 *     gt_report_free(&report);
 */
#pragma once

#include "input/detect.h"
#include "input/server/server.h"
#include "input/xla/profiles.h"
#include "report/captures.h"
#include "report/jax.h"
#include "report/kept.h"
#include "report/pytorch/pytorch.h"
#include "report/rocprof.h"

typedef enum gt_trace_kind { GT_TRACE_ROCPROF, GT_TRACE_PYTORCH, GT_TRACE_JAX, GT_TRACE_NSYS } gt_trace_kind;

/* ---- options (options.c) ---- */

enum { GT_REPORT_OPTIONS_MAX = 96 };

/* The options of all kinds of reports. Strings are not owned. What changes a sheet or a message must also be
 * in gt_report_options_describe. */
typedef struct gt_report_options {
    gt_read_options read; /* threads and strict; the rest depends on the report */
    uint64_t max_memory;  /* bytes; 0: the limits of the system */
    bool csv_safe;        /* see gt_output_set_csv_safe; for the public interface */
    bool findings;        /* the sheets of findings/findings.h */
    bool page;            /* also what only the page shows (gt_report_add_page) */
    bool memory;          /* keep the memory events of a PyTorch trace, as the page does */
    bool all_findings;    /* in the terminal, which otherwise shows the first ones */
    bool detect_gpu;      /* roofline columns for the GPU that the trace names, unless one is given */
    gt_rocprof_options rocprof;
    bool all_processes;               /* of a rocprofv3 JSON file */
    gt_kernel_name_kind kernel_names; /* short ones become demangled with rocprof.full_names */
    gt_pytorch_options pytorch;
    const char *gpu_arch_platform, *gpu_arch_json_path; /* at most one of them */
    gt_peak_set gpu_peaks;                              /* of gpu_arch_platform */
    const char *comparison_json_path;                   /* a second PyTorch trace */
    /* Folders of capture traces of the two (report/captures.h); NULL: none. */
    const char *capture_folder, *comparison_capture_folder;
    bool find_captures;         /* use the folder next to the trace, unless one is given */
    bool write_capture_details; /* into folders that have no execution_details.json */
    bool serve_all_launches;    /* see gt_capture_source */
    void (*journal)(
        const char *line); /* gets what TraceLens prints about captures; NULL: a summary is printed */
    bool check_kernels;    /* fill gt_report.kernel_check */
    const char *extension_file;
    const char *serving_file; /* what clients or the server measured of requests (input/server); NULL: none */
    /* Kernels that count as communication, in addition to those of TraceLens. */
    bool all_comm_kernels;     /* those of the wider table (trace/communication.h) */
    const char **comm_regexes; /* of the user; gt_report_options_free frees the list */
    size_t comm_regex_count, comm_regex_capacity;
    gt_jax_options jax;
    size_t keyword_capacity;            /* of jax.keywords, which gt_report_options_free frees */
    bool is_set[GT_REPORT_OPTIONS_MAX]; /* by gt_report_options_set, in the order of the table of options */
} gt_report_options;

/* Those of `gputally pytorch`, `rocprof`, `nsys` and `jax`: the reference's defaults, with our extra sheets.
 */
gt_report_options gt_report_options_default(void);
/* Those of `gputally report` and of the public interface: what shows most of a trace, also where the
 * reference's defaults differ. */
gt_report_options gt_report_options_best(void);
/* Those of `gputally pytorch-inference`: as the first, with the sheets of TraceLens' report on inference. */
gt_report_options gt_report_options_inference(void);
void gt_report_options_free(gt_report_options *options);

/* Whether reports have an option of this name: that of the command line, without the dashes. Options that
 * only say where a report is written, and those accepted without effect, are not among them. */
bool gt_report_option_exists(const char *name);
/* False for a number below the least that makes sense; the old names take it as their programs do. */
bool gt_report_option_check(const char *name, const char *value, gt_error *error);
/* Sets an option from a string, which must outlive the options: a number; "true" or "false" for flags; a
 * string, where "" means none. Of an option that takes a list, each call adds one item. False if there is no
 * such option or the value is invalid. */
bool gt_report_options_set(gt_report_options *options, const char *name, const char *value, gt_error *error);
/* Warns about options that were set and have no effect on any of these kinds of traces, a set of
 * 1 << gt_trace_kind. `dashes` is put before their names: "--" for the command line. */
void gt_report_options_warn(const gt_report_options *options, unsigned kinds, const char *dashes);
/* Adds a text that is the same for two options if and only if they give the same report of every trace. False
 * if the report also depends on other files or programs, so that there is no such text. */
bool gt_report_options_describe(const gt_report_options *options, gt_trace_kind kind, gt_buffer *text);
/* False if options exclude each other. */
bool gt_report_options_check(const gt_report_options *options, gt_error *error);

/* ---- reports ---- */

/* A report being made. The tables refer to strings of the trace. */
typedef struct gt_report {
    gt_trace_kind kind;
    const char *title; /* the trace's name in messages; not owned */
    union {
        gt_rocprof *rocprof; /* also of an Nsight Systems export */
        gt_pytorch_linked *pytorch;
        gt_jax *jax;
        void *any;
    } trace;
    gt_table_list tables;
    gt_table_list page; /* the tables of schema/page.h, if the page is wanted */
    gt_report_options options;
    gt_buffer messages;             /* warnings and hints about the trace, each NUL-terminated */
    gt_log_listener listener;       /* hears them */
    gt_comm_kernels *communication; /* the trace refers to it; NULL: as in TraceLens */
    gt_table *kernel_categories;    /* of gt_kernel_categories; NULL: no schedule */
    gt_kept kept;                   /* the same report from the index; then `trace` is NULL */
    gt_index_policy index;          /* that of the options, with the index that kept has opened */
    /* PyTorch reports only */
    gt_pytorch_read *read;     /* the events, until gt_report_make_tables makes trace.pytorch of them */
    gt_interner *page_strings; /* of the tables of `page`; NULL: they have those of the trace */
    /* ... and options.pytorch refers to these */
    gt_extension_source extension;
    gt_arena arena;
    gt_gpu_arch gpu_arch;
    gt_captures *captures, *comparison_captures; /* NULL: none */
    bool found_captures;                         /* the folder is not one that the user named */
    gt_server_run requests;                      /* of options.serving_file */
    gt_buffer kernel_check;                      /* the text of gt_kernel_check; empty unless wanted */
    struct gt_rank_collectives *collectives;     /* of this rank; get the facts for findings of all ranks; not
                                                    owned; NULL: not wanted */
} gt_report;

/* The kind of report that a trace has, from its contents. Leaves the stream at its beginning. */
bool gt_report_detect(gt_stream *stream, gt_trace_kind *kind, gt_error *error);

/* The traces at a path: the path itself, or of a folder with JAX profiles or Nsight Systems exports each of
 * them. A folder of rocprofv3 files is one trace. False if a folder has none of these. */
bool gt_report_find_traces(gt_profile_list *traces, const char *path, gt_error *error);

/* Reads the trace. `stream` is NULL for a folder of rocprofv3 files. The report must not be moved afterwards,
 * path and the strings of the options must outlive it, and it is freed even if this fails. The error names
 * the trace. */
bool gt_report_read(gt_report *report, gt_trace_kind kind, gt_stream *stream, const char *path,
                    const gt_report_options *options, gt_error *error);
/* The events of a PyTorch report that was read from a trace. */
const gt_event_view *gt_report_events(const gt_report *report);
/* Of a PyTorch report that was read: adds what findings about all ranks need to report->collectives, as
 * gt_report_make_tables does, without making sheets. */
void gt_report_make_facts(gt_report *report);
/* Makes the sheets of a report that was read. */
bool gt_report_make_tables(gt_report *report, gt_error *error);
void gt_report_free(gt_report *report);

/* The trace's name in messages: its path, or "standard input" for "-". */
const char *gt_trace_title(const char *trace_path);

/* Adds the page (page/page.h). `command` is the command line that it shows; NULL: none. */
void gt_report_add_page(const gt_report *report, const char *command, gt_buffer *html);

/* The timeline of the report in one line, without a line end: "total 12.345 ms, computation 31.2 %, ...". */
void gt_report_print_line(FILE *out, const gt_report *report);
/* A summary of the report for the terminal. */
void gt_report_print_summary(FILE *out, const gt_report *report, int width, bool utf8);
/* Only what comes first: the line about the trace, the verdict and the findings. A rocprofv3 run also has the
 * line that counts its records. */
void gt_report_print_answers(FILE *out, const gt_report *report, int width, bool utf8);

/* ---- warnings in the footer of a page (page.c) ---- */

/* What pages write instead of a path: they do not say where files were. */
typedef struct gt_message_rename {
    const char *from;
    size_t len; /* of `from`; nothing is renamed that has less than two characters */
    const char *to;
} gt_message_rename;

typedef struct gt_messages {
    char **items;
    size_t count, capacity;
} gt_messages;

/* Each of the texts, which are NUL-terminated, once and in the order of the texts: which comes first may
 * depend on threads. */
gt_messages gt_messages_of(const gt_buffer *texts, const gt_message_rename *renames, size_t rename_count);
void gt_messages_free(gt_messages *messages);

/* A text with its paths renamed; the caller frees it. */
char *gt_message_rename_all(const char *text, const gt_message_rename *renames, size_t count);
