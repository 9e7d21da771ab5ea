/* The profiler that runs around a command, and the options it gets: those of the context, made to fit the
 * program that is on this machine. */
#ifndef GT_RUN_PLAN_PROFILER_H
#define GT_RUN_PLAN_PROFILER_H

#include "run/plan/counters.h"
#include "run/plan/settings.h"
#include "os/shell_words.h"

typedef enum gt_profiler_kind {
    GT_PROFILER_NONE,
    GT_PROFILER_ROCPROFV3,
    GT_PROFILER_ROCPROF, /* the legacy one */
    GT_PROFILER_RTL,
    GT_PROFILER_RPD,
} gt_profiler_kind;

const char *gt_profiler_kind_name(gt_profiler_kind kind);

typedef struct gt_profiler {
    gt_profiler_kind kind;
    const char *path;       /* the program; NULL where it is not on this machine */
    gt_arg_list options;    /* without the "--" before the command */
    gt_arg_list before_app; /* words of the context's cmd that stood behind its "--" */
    size_t passes;          /* how often the command runs */
    const char *output_dir;
    gt_arg_list formats;
    const char *trace_name;              /* what --perfetto-trace-filename asked for; NULL: nothing */
    const gt_counter_file *counter_file; /* to be written to counter_path; NULL: none */
    const char *counter_path;
    bool own_cmd; /* the user wrote the options */
} gt_profiler;

/* Where and for whom it runs. */
typedef struct gt_profiler_place {
    const char *workdir; /* what relative paths are relative to */
    const char *run_dir; /* <output-dir>/rocprof_output/<timestamp> */
    bool many_processes; /* several processes would write the same file */
    const char *tool;    /* the tool's name */
    bool own_cmd;
    bool in_container; /* the program is that of an image, not of this machine */
} gt_profiler_place;

/* Makes the profiler of a cmd's words: "bash .../rocprof_wrapper.sh [options] [--] [words]" or "rocprofv3
 * ...". What was changed is added to the notes, what is wrong to the warnings. False where the words make no
 * sense. */
bool gt_profiler_plan(gt_arena *arena, const gt_arg_list *words, const gt_profiler_place *place,
                      gt_profiler *profiler, gt_arg_list *notes, gt_arg_list *warnings, gt_error *error);

/* Whether words are a call of the wrapper or of rocprofv3 itself. */
bool gt_profiler_is_called(const gt_arg_list *words);

/* Drops what this rocprofv3's --help does not name from a preset's options; each drop is noted. */
void gt_profiler_fit_help(gt_arena *arena, gt_profiler *profiler, const char *help, gt_arg_list *notes);

/* The first program of that name on PATH, in $ROCM_PATH/bin or in /opt/rocm/bin; NULL where there is none. */
const char *gt_profiler_search(gt_arena *arena, const char *program);

/* Lines that say nothing and that wrappers take away. */
bool gt_profiler_is_noise(gt_profiler_kind kind, gt_str line);

#endif
