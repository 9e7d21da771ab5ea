/* The reader of each rocprofv3 format; rocprof.h chooses among them.
 *
 *     json.c, json_symbols.c, json_extra.c, json_samples.c   *_results.json
 *     csv.c, csv_columns.c   *_kernel_trace.csv, *_hip_api_trace.csv, ...
 *     rocpd.c                *_results.db
 *     perfetto.c             *_results.pftrace
 *
 * Streams must be at their beginning. Truncated files are read as input/options.h describes. On failure the
 * result is NULL or false with an error that names the file. */
#pragma once

#include "input/json/record.h"
#include "input/options.h"
#include "trace/rocprof/rocprof.h"

/* ---- JSON: {"rocprofiler-sdk-tool": [{metadata, kernel_symbols, buffer_records, ...}]} ---- */

/* Reads the first process of the file ("-": standard input), or all of them with GT_WANT_ALL_PROCESSES. */
gt_rocprof *gt_rocprof_read_json(const char *path, const gt_read_options *options, gt_error *error);
gt_rocprof *gt_rocprof_read_stream(gt_stream *stream, const gt_read_options *options, gt_error *error);

/* ---- CSV: one file per kind of record ----
 *
 * Columns are found by name, in any order and ignoring case, so the files of all rocprofv3 versions, of
 * `rocpd convert` and of the older rocprof (results.csv) are understood. rocprofv3 does not escape quotes, so
 * a quote ends a field only if a comma or a line end follows. */

typedef enum gt_csv_kind {
    GT_CSV_UNKNOWN,
    GT_CSV_KERNELS,
    GT_CSV_COUNTERS,
    GT_CSV_CALLS,
    GT_CSV_COPIES,
    GT_CSV_AGENTS,
    GT_CSV_OLD_RESULTS, /* results.csv of the older rocprof: kernels, with one column per counter */
    GT_CSV_STATS,       /* statistics that rocprofv3 derives from the others */
    GT_CSV_SAMPLES,     /* of the program counter */
    GT_CSV_OTHER,       /* allocations, scratch memory: not read */
    GT_CSV_KINDS
} gt_csv_kind;

/* The kind of a file, by its first line. 64 bytes after the text must be readable, as after a stream's block.
 */
gt_csv_kind gt_rocprof_csv_kind(gt_str first_block);
/* For messages: "kernel trace". */
const char *gt_rocprof_csv_kind_name(gt_csv_kind kind);

/* The agents of one type in a list of agents. */
typedef struct gt_csv_agents {
    int64_t *nodes; /* Logical_Node_Id; ascending and without repetitions if is_sorted */
    size_t count, capacity;
    bool is_sorted;
} gt_csv_agents;

/* The files of one process; its list of agents is read before the others. */
typedef struct gt_csv_source {
    int64_t process;            /* index in the run */
    gt_map processes;           /* (pid, guid) to process, of all files of the source */
    bool is_named;              /* a row had the pid or guid of `process` */
    bool kernels_from_counters; /* also make dispatches of the counters' rows: for runs without a kernel trace
                                 */
    gt_csv_agents cpus, gpus;
} gt_csv_source;
void gt_csv_source_free(gt_csv_source *source);
/* Reads one file of a process into the run. Counters are read only if they are wanted or
 * kernels_from_counters is set. */
bool gt_rocprof_csv_read(gt_rocprof_writers *writers, gt_stream *stream, gt_csv_source *source,
                         const gt_read_options *options, gt_error *error);

/* ---- rocpd databases, the default output since ROCm 7: an SQLite file with a set of tables per process ----
 *
 * The file is not trusted: it is opened read-only, none of its views, triggers or extensions are used, and
 * only plain tables are read. Columns are found by name, so newer schemas are read as far as they have the
 * same columns. */

/* Adds all processes of a database to the run. A damaged or incomplete database is an error. */
bool gt_rocpd_read(gt_rocprof_writers *writers, const char *path, const gt_read_options *options,
                   gt_error *error);

/* ---- Perfetto: kernels, copies and API calls are slices with annotations ---- */

/* Adds all processes of a trace to the run. */
bool gt_rocprof_read_perfetto(gt_rocprof_writers *writers, gt_stream *stream, const gt_read_options *options,
                              gt_error *error);

/* ---- counter passes (passes.c) ---- */

/* Adds the counters of later passes to a run whose first pass is read. `run` must outlive it. */
typedef struct gt_rocprof_passes gt_rocprof_passes;
gt_rocprof_passes *gt_rocprof_passes_new(gt_rocprof *run);
void gt_rocprof_passes_free(gt_rocprof_passes *passes); /* accepts NULL */
/* Adds the counters of a pass; `number` is for messages. Warns if processes or dispatches cannot be matched
 * for certain. */
void gt_rocprof_passes_join(gt_rocprof_passes *passes, gt_rocprof_writers *writers, gt_rocprof *pass,
                            unsigned number);
/* Replaces the values of counters that several passes collected by their mean, and removes those that are not
 * a number. `ends` has the number of rows of the run's counters after each pass. */
void gt_rocprof_average_passes(gt_rocprof *run, const size_t *ends, size_t count);

/* ---- agents (CPUs and GPUs): the JSON in `agents` of JSON files and in the column extdata of rocpd ---- */

/* One field per column of gt_agent_columns, and the type's number, which is not stored. */
enum { GT_AGENT_TYPE_NUMBER = GT_AGENT_COLUMNS, GT_AGENT_FIELDS };
extern const gt_field gt_agent_fields[GT_AGENT_FIELDS];

/* Replaces the number of the agent's type by its name. */
void gt_agent_complete(gt_record *record, gt_record_reader *reader);

/* ---- dispatches: the fields of a JSON record, one per column of gt_dispatch_columns ---- */

extern const gt_field gt_dispatch_fields[GT_DISPATCH_COLUMNS];

/* ---- the kernel symbols of the JSON (json_symbols.c) ---- */

typedef struct gt_rocprof_symbols gt_rocprof_symbols;

/* For one process of the file; `run` and `options` must outlive it. */
gt_rocprof_symbols *gt_rocprof_symbols_new(gt_rocprof *run, const gt_read_options *options);
void gt_rocprof_symbols_free(gt_rocprof_symbols *symbols); /* accepts NULL */
/* Reads the value of "kernel_symbols" at the cursor; false if the JSON is damaged. */
bool gt_rocprof_symbols_read(gt_rocprof_symbols *symbols, gt_json *json);
/* Call it when all dispatches and counters of the process are in the run: names their kernels. False if the
 * stream that the symbols came from cannot be read. */
bool gt_rocprof_symbols_finish(gt_rocprof_symbols *symbols, const gt_stream *stream, gt_error *error);

/* ---- the parts of the JSON that only the extra sheets need: API calls, counters, agents ----
 *
 * Their records refer to tables of names that may come before or after them, so they are joined at the end.
 */

typedef struct gt_rocprof_extra gt_rocprof_extra;

/* For one process of the file; `run` and `options` must outlive it. */
gt_rocprof_extra *gt_rocprof_extra_new(gt_rocprof *run, const gt_read_options *options);
void gt_rocprof_extra_free(gt_rocprof_extra *extra);

/* Each function reads the value of one key at the cursor; false if the JSON is damaged. */
bool gt_rocprof_extra_calls(gt_rocprof_extra *extra, gt_json *json, gt_call_domain domain);
bool gt_rocprof_extra_names(gt_rocprof_extra *extra, gt_json *json);            /* "strings" */
bool gt_rocprof_extra_counter_names(gt_rocprof_extra *extra, gt_json *json);    /* "counters" */
bool gt_rocprof_extra_callback_records(gt_rocprof_extra *extra, gt_json *json); /* "callback_records" */
bool gt_rocprof_extra_agents(gt_rocprof_extra *extra, gt_json *json);           /* "agents" */

/* An array of buffer_records: samples of the program counter, or something else, which is skipped. */
bool gt_rocprof_extra_buffer(gt_rocprof_extra *extra, gt_json *json, gt_str key);

/* Call it at the end of the process: adds calls, counters, agents and samples to the run, and replaces the
 * operation numbers of copies by gt_copy_direction. If the process has counters but no kernel trace, its
 * dispatches are those of the counters, as in CSV files. */
void gt_rocprof_extra_finish(gt_rocprof_extra *extra);

/* ---- the samples of the JSON (json_samples.c), for json_extra.c ---- */

typedef struct gt_rocprof_samples gt_rocprof_samples;

/* For one process of the file; `run` and `options` must outlive it. */
gt_rocprof_samples *gt_rocprof_samples_new(gt_rocprof *run, const gt_read_options *options);
void gt_rocprof_samples_free(gt_rocprof_samples *samples); /* accepts NULL */
/* Whether a key of buffer_records or strings is about samples; if so, reads its value and sets *read to
 * whether the JSON is sound. */
bool gt_rocprof_samples_read(gt_rocprof_samples *samples, gt_json *json, gt_str key, bool *read);
/* Adds them to the run at the end of the process. */
void gt_rocprof_samples_finish(gt_rocprof_samples *samples);
