/* Options that mean the same in every command, and the documents that a command writes. */
#pragma once

#include "analysis/hta/hta.h"
#include "cli/command.h"
#include "input/options.h"
#include "output/output.h"

/* ---- options ---- */

/* Endings of files that completion offers. */
#define GT_PYTORCH_ENDINGS "json,json.gz,json.zst,pftrace,pftrace.gz,pftrace.zst,gtindex"
#define GT_ROCPROF_ENDINGS                                                                                   \
    "json,json.gz,json.zst,csv,csv.gz,csv.zst,db,pftrace,pftrace.gz,pftrace.zst,gtindex"
#define GT_JAX_ENDINGS   "pb,pb.gz,pb.zst,gtindex"
#define GT_TRACE_ENDINGS GT_ROCPROF_ENDINGS ",sqlite,pb,pb.gz,pb.zst"

/* Values of options whose names other layers have; tests/cli/test_options.c compares them. */
#define GT_PHASE_METHOD_CHOICES                                                                              \
    "hybrid|kernel_names|framework_apis|attention_patterns|operation_frequency|gemm_params|union|auto"
#define GT_PLOT_FORMAT_CHOICES "png|pdf|svg"
#define GT_PEAK_SET_CHOICES    "peak|achievable|tracelens"

/* Marks of options that name a workbook or a database. A database may have any name but that of another kind
 * of document. */
#define GT_WORKBOOK_ENDING  ".xlsx"
#define GT_DATABASE_ENDINGS "!.xlsx,.csv,.json,.gz,.pdf"

/* The options that name the documents, as rows of an option table; `default_workbook` is the text for help.
 */
#define GT_CSV_SAFE_OPTIONS(condition)                                                                       \
    {"csv_safe",                                                                                             \
     GT_OPTION_FLAG,                                                                                         \
     NULL,                                                                                                   \
     NULL,                                                                                                   \
     "mark text in CSV files that a spreadsheet would take for a formula with a ' before it (default of "    \
     "report, compare, query and other new commands)",                                                       \
     .needs = condition},                                                                                    \
    {                                                                                                        \
        "no_csv_safe", GT_OPTION_FLAG, NULL, NULL, "do not mark such text in CSV files", .needs = condition  \
    }
#define GT_CSV_OPTIONS                                                                                       \
    {"output_csvs_dir", GT_OPTION_STRING, "DIR", NULL,                                                       \
     "write one CSV file per sheet into DIR; a single sheet to standard output if DIR is -"},                \
        {"csv_sheets",                                                                                       \
         GT_OPTION_STRINGS,                                                                                  \
         "SHEET...",                                                                                         \
         NULL,                                                                                               \
         "write only these sheets as CSV (default: all)",                                                    \
         .needs = "output_csvs_dir"},                                                                        \
        GT_CSV_SAFE_OPTIONS("output_csvs_dir")
#define GT_JSON_SHEETS_OPTION                                                                                \
    {                                                                                                        \
        "json_sheets", GT_OPTION_STRINGS, "SHEET...", NULL,                                                  \
            "write only these sheets into the JSON, or none (default: all)", .needs = "output_json",         \
                                                                             .choices = "none|"              \
    }
#define GT_RANKS_ANSWERS_OPTIONS                                                                             \
    {"output_json", GT_OPTION_STRING, "PATH", NULL,                                                          \
     "write findings and all sheets as JSON to PATH (docs/json.md); - is standard output"},                  \
        GT_JSON_SHEETS_OPTION,                                                                               \
    {                                                                                                        \
        "output_md", GT_OPTION_STRING, "PATH", NULL,                                                         \
            "write findings and ranks as Markdown to PATH; - is standard output"                             \
    }
#define GT_OUTPUT_OPTIONS(default_workbook)                                                                  \
    {"output_xlsx_path",                                                                                     \
     GT_OPTION_STRING,                                                                                       \
     "PATH",                                                                                                 \
     NULL,                                                                                                   \
     "write an Excel workbook to PATH (default without any output option: " default_workbook ")",            \
     .ending = GT_WORKBOOK_ENDING},                                                                          \
        GT_CSV_OPTIONS,                                                                                      \
    {                                                                                                        \
        "output_db", GT_OPTION_STRING, "PATH", NULL,                                                         \
            "write an SQLite database with one table per sheet to PATH", .ending = GT_DATABASE_ENDINGS       \
    }

extern const gt_option_group gt_output_group; /* --output_xlsx_path, --output_csvs_dir, --output_db */
extern const gt_option_group gt_common_group; /* threads, strictness, messages */
/* The same options for commands that read damaged files never or completely, that read only sheets, and that
 * read no file: those without an effect are accepted and not shown. */
extern const gt_option_group gt_whole_files_group, gt_sheets_group, gt_messages_group;
extern const gt_option_group gt_extra_sheets_group; /* the sheets that TraceLens does not have */
extern const gt_option_group gt_short_kernel_group; /* the study of short kernels */
extern const gt_option_group gt_page_group; /* --output_html, for commands without a page by default */

/* --partials, for commands whose work can be shared out among several processes (procs/procs.h): having this
 * option is what makes a command one of them. */
extern const gt_option_group gt_partials_group;

/* --index, for commands that read traces which have an index (docs/index.md). */
extern const gt_option_group gt_index_group;

/* Applies --index, --quiet, --no_progress, --threads and --strict. False if one has an invalid value. */
bool gt_common_apply(const gt_call *call, gt_read_options *options, gt_error *error);

/* Applies --max_memory, or the limits of the system; before the first thread starts. */
bool gt_memory_option_apply(const gt_arguments *arguments, gt_error *error);
/* As many of the threads as the limit has room for. */
unsigned gt_memory_option_threads(unsigned threads);
/* Runs the command of a call with a team of so many threads. */
gt_exit gt_call_run(const gt_call *call, unsigned threads);

/* Which kernels are communication: --comm_kernels, --comm_kernel_regex. */
extern const gt_option_group gt_communication_group;
/* Prints a usage error and returns GT_EXIT_USAGE if one of them is invalid. */
gt_exit gt_communication_check(const gt_call *call);
/* The kernels that they select; NULL: those of TraceLens. The caller frees it. */
gt_comm_kernels *gt_communication_wanted(const gt_arguments *arguments);
/* The same as text, which differs if they do: for keys of what is kept. The caller frees it. */
char *gt_communication_text(const gt_arguments *arguments);

/* The sheets of --extra and their options. */
extern const gt_option_group gt_extra_group;
/* Whether these sheets are requested; sets their options. */
bool gt_extra_wanted(const gt_arguments *arguments, gt_hta_options *options);

/* Prints a usage error and returns GT_EXIT_USAGE if a GPU is named in two ways or, except under an old name,
 * is unknown. */
gt_exit gt_gpu_options_check(const gt_call *call);

/* ---- destinations: the requested documents and their names ---- */

/* Writes files in addition to the documents. */
typedef bool gt_write_more(const void *context, const gt_table_list *tables, gt_output *output,
                           gt_error *error);

typedef struct gt_destinations {
    char *xlsx_path, *csvs_dir, *db_path;            /* owned; NULL: not requested */
    char *json_path, *md_path;                       /* of report/answers.h; likewise */
    char *html_path;                                 /* the page; likewise */
    const gt_option_value *csv_sheets, *json_sheets; /* names of the only ones; NULL: all */
    bool sheets_optional;  /* it is one of several reports: not each needs to have all that are named */
    const char *text_path; /* a separate text document; not owned */
    gt_str text;
    gt_write_more *write_more; /* NULL: nothing */
    const void *more_context;
    bool warn_of_earlier; /* about sheets of an earlier report in csvs_dir */
    bool with_charts;     /* the workbook's sheet overview, if it has one (report/overview/overview.h) */
} gt_destinations;

/* The default name of the workbook: "908_results.json" gives "908_perf_report.xlsx", "t.json" and
 * "t.json.gz" give "t_perf_report.xlsx", standard input ("-") gives "stdin_perf_report.xlsx" in the
 * current folder. The caller frees it. */
char *gt_default_xlsx_path(const char *trace_path);
/* That path without "_perf_report.xlsx". */
char *gt_trace_stem(const char *trace_path);
/* The same with another ending, which replaces only the last extension: "t_results.pftrace" and
 * "_report.md" give "t_results_report.md". */
char *gt_default_path(const char *trace_path, const char *ending);

/* What names the files about all ranks of a folder: "collective"; if there are several folders,
 * "a_collective". The caller frees it. */
char *gt_all_ranks_label(const char *folder, bool several);

/* The file of --output_json, --output_md or --output_html for a trace: the path itself, or if that is a
 * folder or there are several traces, a file in it, named `label` or after the trace. NULL: not requested.
 * The caller frees it. */
char *gt_answers_path(const gt_call *call, const char *option, const char *trace_path, const char *label,
                      size_t traces, const char *ending);
/* Chooses the documents by the output options. Of several traces (`traces` > 1), each gets its own workbook
 * next to it, its own folder of CSV files, or its own JSON, Markdown or HTML file in a folder; these are
 * named `label`, or after the trace if that is NULL. One workbook or database for all of them is an error. */
bool gt_destinations_choose(gt_destinations *destinations, const gt_call *call, const char *trace_path,
                            const char *label, size_t traces, gt_error *error);
/* The documents that the options name, as far as the command has these. */
gt_destinations gt_destinations_named(const gt_arguments *arguments);
/* Whether JSON, Markdown or the page is among them. */
bool gt_destinations_have_answers(const gt_destinations *destinations);
void gt_destinations_free(gt_destinations *destinations);

/* The path that both would write to, or NULL. */
const char *gt_destinations_clash(const gt_destinations *a, const gt_destinations *b);

/* Sets csv_sheets and json_sheets, of commands that have the options (chosen_sheets.c). */
void gt_destinations_choose_sheets(gt_destinations *destinations, const gt_arguments *arguments);
/* The sheets of a report that the value of --csv_sheets or --json_sheets names, in the order of the report;
 * warns of names that it does not have, unless they are optional. Borrows the sheets; the caller frees the
 * items. */
gt_table_list gt_sheets_chosen(const gt_option_value *names, bool are_optional, const gt_table_list *tables);

/* Fails if the output would replace the trace that it is made from. output_path may be NULL. */
bool gt_check_not_input(const char *output_path, const char *trace_path, gt_error *error);

/* Writes all documents, or none. The returned output has the names of the files; the caller frees it. NULL
 * on failure. */
gt_output *gt_destinations_write(const gt_destinations *destinations, const char *trace_path,
                                 const gt_table_list *tables, gt_error *error);
