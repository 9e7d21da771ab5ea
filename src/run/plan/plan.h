/* What a profiling run will do, worked out before anything is started: the line that is run, its environment,
 * what runs before, beside and after it, and which files come of it. */
#ifndef GT_RUN_PLAN_PLAN_H
#define GT_RUN_PLAN_PLAN_H

#include "json/writer.h"
#include "run/plan/profiler.h"
#include "run/plan/stack.h"
#include "run/sensors/sampler.h"

/* What is done for a script that a tool names. All but SCRIPT are done here, without the file. */
typedef enum gt_action_kind {
    GT_ACTION_SCRIPT,      /* bash PATH ARGS in the work folder */
    GT_ACTION_ECHO,        /* prints ARGS */
    GT_ACTION_SAMPLER,     /* nothing: the samplers are stages of their own */
    GT_ACTION_ENVIRONMENT, /* writes what this machine is to a file */
    GT_ACTION_THEROCK,     /* says whether this ROCm is one of TheRock */
    GT_ACTION_PREPARE,     /* what installs a profiler elsewhere; here it must be there */
    GT_ACTION_COLLECT,     /* puts what the profiler wrote where users look for it */
} gt_action_kind;

typedef struct gt_action {
    gt_action_kind kind;
    const char *path, *args;
} gt_action;

enum { GT_SAMPLERS_MAX = 2 };

/* What a run on a SLURM cluster needs; run/targets/slurm.h makes it. */
typedef struct gt_slurm {
    const char *script;       /* path of the batch script */
    const char *context_path; /* the context, as each node gets it */
    const char *results_dir;  /* <output_dir>/<name>; then the job's number and node_<rank> */
    gt_arg_list directives;   /* "--nodes=2", in their order */
    gt_buffer text;           /* the script; the caller frees it */
    int64_t nodes;
} gt_slurm;

/* One piece of the line that is run, outermost first. */
typedef struct gt_plan_piece {
    gt_profiler *profiler; /* NULL: the text */
    const char *text;
} gt_plan_piece;

typedef struct gt_plan {
    gt_arena *arena;
    const gt_value *context;
    const char *target, *name, *workdir, *output_dir;
    const char *timestamp, *run_dir; /* of this run, under output_dir/rocprof_output */
    const char *log_path, *record_path;
    double timeout_s;    /* 0: none */
    const gt_value *env; /* what the command gets beside this program's variables, in order */
    gt_action *pre, *post;
    size_t pre_count, post_count;
    gt_plan_piece *pieces;
    size_t piece_count;
    const char *command_line; /* the user's command, quoted */
    const char *shell_line;   /* all of it, as bash -c gets it */
    gt_profiler none;
    gt_profiler *profiler; /* the outermost one; `none` where there is none */
    gt_sampler_plan samplers[GT_SAMPLERS_MAX];
    size_t sampler_count;
    gt_arg_list library_modes; /* empty: no trace of library calls */
    const char *library_file;
    const char *image;     /* of the container; NULL: on this machine itself */
    gt_arg_list docker;    /* the call of docker, once the line is known */
    const gt_slurm *slurm; /* NULL: the run is local */
    gt_arg_list outputs, notes, warnings;
} gt_plan;

typedef struct gt_plan_request {
    const gt_value *context;
    const gt_value *more_tools; /* of --tools-config; MISSING: none */
    const char *const *command;
    size_t command_count;
    const char *image; /* NULL: no container */
    const char *name;  /* NULL: after the command */
    const char *target;
    const char *output_dir; /* as typed */
    double timeout_s;
    bool snapshot; /* of the machine, beside the log */
} gt_plan_request;

/* False where the context asks for what makes no sense. All memory is in the arena. */
bool gt_plan_make(gt_arena *arena, const gt_plan_request *request, gt_plan *plan, gt_error *error);

/* Works out shell_line, also again after a profiler's options changed. */
void gt_plan_compose(gt_plan *plan);

/* Adds the members of the plan's object, for --dry-run and the record of a run. */
void gt_plan_write(const gt_plan *plan, gt_json_writer *w);

#endif
