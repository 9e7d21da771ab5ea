/* How commands find their input files: by pattern, by rank, by folder, and in the capture of a simulation. */
#pragma once

#include "cli/command.h"
#include "compat/python_regex.h"
#include "input/options.h"

/* ---- path patterns with *, ?, [] and ** (any number of folders), like Python's glob ---- */

typedef struct gt_path_list {
    char **items; /* owned, like each of them */
    size_t count, capacity;
} gt_path_list;

/* All matching paths, sorted by bytes, without duplicates. Names that start with '.' match only patterns
 * that do. */
gt_path_list gt_path_pattern_find(const char *pattern);
/* The same below a folder, whose own name is used literally. */
gt_path_list gt_path_pattern_find_below(const char *folder, const char *pattern);
void gt_path_list_free(gt_path_list *paths);

/* ---- ranks in paths: --rank_regex, a Python regular expression ---- */

#define GT_RANK_REGEX "rank[\\[\\-_/]?(?P<rank>\\d+)" /* the default */

typedef struct gt_rank_regex {
    gt_python_regex python;
    size_t group;       /* with the number: the group named "rank", else the first one */
    const char *option; /* for messages; with `text` it must outlive the expression */
    const char *text;
} gt_rank_regex;

bool gt_rank_regex_compile(gt_rank_regex *regex, const char *python, const char *option, gt_error *error);
void gt_rank_regex_free(gt_rank_regex *regex);

/* The rank in the text; -1 if there is none. False if the expression takes too many steps on this text. */
bool gt_rank_regex_find(const gt_rank_regex *regex, const char *text, int64_t *rank, gt_error *error);

/* ---- the trace of each rank: in a folder, by a pattern with the rank number, or by a glob ---- */

enum { GT_RANKS_MAX = 1000000 };
static inline bool gt_is_rank(int64_t number)
{
    return number >= 0 && number < GT_RANKS_MAX;
}

/* Exactly one of the first three is given. */
typedef struct gt_rank_search {
    const char *folder;  /* contains rank0_trace.json, rank1_trace.json, ... */
    const char *pattern; /* with '*' in place of the rank number */
    const char *glob;    /* any files; rank_regex finds the rank in their paths */
    const char *rank_regex;
    size_t world_size; /* 0: up to the last rank with a file */
    bool allow_missing;
} gt_rank_search;

typedef struct gt_rank_files {
    char **paths; /* by rank; NULL: the rank has no file */
    size_t count;
    char *common_folder; /* the deepest folder that contains all of them: the default place of a report */
} gt_rank_files;

/* A rank without a file is an error unless ranks may be missing. Warns about two files of one rank; the
 * first one by name is used. */
bool gt_rank_files_find(gt_rank_files *files, const gt_rank_search *search, gt_error *error);
void gt_rank_files_free(gt_rank_files *files);

/* The deepest folder that contains all of these paths, as an absolute path; the caller frees it. */
char *gt_common_folder(char *const *paths, size_t count);

/* Warns about the ranks below `world_size` and those below the last one with a file that have none;
 * `world_size` is 0 if it is unknown. `where` begins the message. */
void gt_rank_files_warn_missing(const gt_rank_files *files, const char *where, size_t world_size);

/* The options that name the traces, as rows of an option table. Commands differ in what they do without
 * --world_size or if a trace is missing. */
#define GT_RANK_OPTIONS(world_size_help, allow_missing_help)                                                 \
    {"trace_dir", GT_OPTION_STRING, "DIR", NULL, "read DIR/rank0_trace.json, DIR/rank1_trace.json, ..."},    \
        {"trace_pattern", GT_OPTION_STRING, "PATH", NULL,                                                    \
         "read the traces at PATH, with one '*' in place of the rank number"},                               \
        {"trace_glob", GT_OPTION_STRING, "PATTERN", NULL,                                                    \
         "read the traces that match PATTERN ('**' matches folders); --rank_regex extracts the rank"},       \
        {"world_size", GT_OPTION_INT, "N", NULL, world_size_help},                                           \
        {"rank_regex",                                                                                       \
         GT_OPTION_STRING,                                                                                   \
         "REGEX",                                                                                            \
         GT_RANK_REGEX,                                                                                      \
         "find the rank in the file name, or else in the path (Python syntax)",                              \
         .needs = "trace_glob"},                                                                             \
    {                                                                                                        \
        "allow_missing_ranks", GT_OPTION_FLAG, NULL, NULL, allow_missing_help                                \
    }

/* Prints a usage error and returns GT_EXIT_USAGE if traces are named in two ways or, if `none_given` is
 * the message for that case, in none. FILE arguments are one of the ways. */
gt_exit gt_rank_options_check(const gt_call *call, const char *none_given);
gt_rank_search gt_rank_options_read(const gt_arguments *arguments);

/* ---- ranks that the traces themselves name, in distributedInfo (own_ranks.c) ---- */

/* Of one trace; {-1, -1} if it names none before its events, or is not a PyTorch trace in a regular file. */
gt_distributed_info gt_own_rank_find(const char *path);
/* Of several ones; a path may be NULL. The caller frees the list. */
gt_distributed_info *gt_own_ranks_find(const char *const *paths, size_t count);
/* Whether all are ranks, below GT_RANKS_MAX, and no two are the same. */
bool gt_ranks_are_unique(const int64_t *ranks, size_t count);
/* Whether they may be ranks of one run: unique, below the number of ranks that ran, on which all agree. */
bool gt_own_ranks_fit(const gt_distributed_info *own, size_t count);
/* What every command does that finds ranks in file names, unless the user says how: `ranks` has those of the
 * names (-1: none), and gets those of the traces if these fit. Warns if both are plausible but differ. False
 * if the ranks stay. */
bool gt_own_ranks_take(const char *const *paths, const gt_distributed_info *own, int64_t *ranks,
                       size_t count);
/* Warns about traces that name another rank than the one by their file name, which is used. */
void gt_own_ranks_warn(const char *const *paths, const gt_distributed_info *own, const int64_t *ranks,
                       size_t count);

/* All of this for `ranks` of the names (-1: none): those of the traces count if they fit and not `by_names`,
 * and for traces whose names have none. A rank that is not below GT_RANKS_MAX becomes -1. */
void gt_own_ranks_settle(const char *const *paths, int64_t *ranks, size_t count, bool by_names);

/* Warns that a trace is skipped because another file in its folder, `taken`, has the same name but for the
 * ending. A trace next to its compressed copy is usual. Two traces with one name are a mistake, and only the
 * user knows which one counts: the message says whether the contents differ. */
void gt_trace_warn_second(const char *path, const char *taken);
/* The same about a trace of the same rank with another name, if its contents are the same; otherwise false.
 */
bool gt_trace_warn_copy(const char *path, const char *taken);

/* ---- the PyTorch traces of a folder ---- */

/* A file that is a trace by its name but not by its content. */
typedef struct gt_unreadable_trace {
    char *path;
    char *problem; /* "run/rank3_trace.json: empty file" */
    bool is_json;  /* it may belong to something else, such as rank3_config.json */
    int64_t rank;  /* by its name; -1: none */
} gt_unreadable_trace;

typedef struct gt_trace_folder {
    char **paths; /* by rank, or else in byte order */
    size_t count, capacity;
    gt_distributed_info *own; /* what the traces say, in the order in which they were found */
    size_t own_capacity;
    int64_t *ranks; /* of the paths, if are_ranks */
    bool are_ranks; /* several traces, each of another rank */
    char *why_not;  /* in words: what does not fit; NULL if are_ranks or with less than two traces */
    char *steps;    /* of one run of several: "steps 5-7"; NULL: the only one */
    gt_unreadable_trace *unreadable; /* in the order of the search */
    size_t unreadable_count, unreadable_capacity;
} gt_trace_folder;

/* Finds the traces in the folder; if it has none and `also_below`, those in the folders in it. Copies of a
 * trace are left out, with a warning. */
void gt_trace_folder_find(gt_trace_folder *found, const char *folder, bool also_below);
void gt_trace_folder_free(gt_trace_folder *found);
/* Of a folder whose traces are not one per rank because there are several cycles of the profiler's schedule:
 * the runs that they are, in the order of their steps, each as a folder of its own (cycles.c). NULL if they
 * cannot be told apart; then why_not may say more than before. */
gt_trace_folder *gt_trace_folder_split(gt_trace_folder *found, size_t *count);
void gt_trace_runs_free(gt_trace_folder *runs, size_t count);
/* "2 runs, told apart by their steps: steps 5-7 (4 ranks), steps 12-14 (4 ranks)"; the caller frees it. */
char *gt_trace_runs_describe(const gt_trace_folder *runs, size_t count);
/* Whether the traces say that they are ranks. */
bool gt_trace_folder_has_ranks(const gt_trace_folder *found);
/* Whether the traces are one per rank if those that cannot be read count, too, by their names. */
bool gt_trace_folder_is_of_ranks(const gt_trace_folder *found);
/* Warns if other ranks ran than that of the only trace. */
void gt_trace_folder_warn_alone(const gt_trace_folder *found, const char *folder);
/* The traces by rank, if are_ranks; ranks without a trace have no path. */
gt_rank_files gt_trace_folder_ranks(const gt_trace_folder *found, const char *folder);

/* ---- all traces that `gputally report` finds at some paths (all_traces.c) ---- */

typedef struct gt_all_traces {
    struct gt_found_trace {
        char *path;
        int64_t rank;  /* by its contents, its name, or its path below the folder; -1: unknown */
        char *problem; /* why it is no trace although its name is that of one; NULL: it may be one */
        bool is_named; /* by the user, not found in a folder */
    } * items;
    size_t count, capacity;
} gt_all_traces;

/* In the order of the paths; those of a folder by rank, or else by path. A file is taken as it is. False if a
 * folder has no traces. */
bool gt_all_traces_find(gt_all_traces *traces, const char *const *paths, size_t count, gt_error *error);
void gt_all_traces_free(gt_all_traces *traces);

/* ---- the traces of batch reports: all below a folder, grouped by folder and ordered by rank ---- */

typedef struct gt_batch_search {
    const char *base;         /* used literally, not as a pattern */
    const char *extension;    /* "json" or "gz" */
    const char *rank_pattern; /* a regular expression for the text before the rank's digits in a file name */
    const char *const *filters; /* strings that a path must contain, all of them */
    size_t filter_count;
} gt_batch_search;

/* One folder: its traces by rank, those of one rank by name. */
typedef struct gt_batch_folder {
    char *path;     /* absolute */
    char *relative; /* relative to the base; "" for the base itself */
    char **files;   /* paths */
    int64_t *ranks;
    size_t count;
} gt_batch_folder;

typedef struct gt_batch_files {
    gt_batch_folder *folders; /* in byte order of their paths */
    size_t count, capacity;
    size_t without_rank; /* files without a rank in their names, which are skipped */
} gt_batch_files;

/* Returns false if the rank pattern is not a valid regular expression. */
bool gt_batch_files_find(gt_batch_files *files, const gt_batch_search *search, gt_error *error);
void gt_batch_files_free(gt_batch_files *files);

/* ---- the capture of a simulation: a folder with rocprofv3 files, a manifest and the log of the program ----
 */

typedef struct gt_capture {
    char *folder;                       /* as given */
    char *kernels_csv, *json, *pftrace; /* paths; NULL: none */
    char *hip_csv, *hsa_csv;            /* next to kernels_csv */
    bool has_manifest;
    char *title, *environments, *steps, *precision; /* of the manifest, as Python prints them */
    double wall_time_s;                             /* from run.log; negative: unknown */
} gt_capture;

/* Looks for files in FOLDER/kernel_trace, if it is a folder, then in FOLDER; the first one by name is
 * used. Returns false if the folder or its manifest cannot be read. */
bool gt_capture_find(gt_capture *capture, const char *folder, gt_error *error);
void gt_capture_free(gt_capture *capture);

/* Warns about PyTorch traces directly in a folder whose report is about files of another profiler. */
void gt_folder_warn_of_others(const char *path);
/* The first of these traces, which the caller frees, or NULL; *count says how many there are, and *covered
 * what is reported on instead: "rocprofv3 files". */
char *gt_folder_find_others(const char *path, const char **covered, size_t *count);
