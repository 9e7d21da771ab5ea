/* The plan of a run: everything that `gputally run` will do, computed from the context before anything
 * starts, so that --dry_run can print it. All memory of a plan is in its arena.
 *
 * A context names tools (tools.c). Each tool puts a command in front of the user's command and may name
 * scripts to run before and after it. Commands that call a profiler become a gt_profiler (profiler.c,
 * profiler_options.c; its output: profiler_output.c; counters: counter_files.c); scripts that
 * gputally replaces become stages (stages.c). docker.c makes the docker command. plan.c puts it all together,
 * folders.c makes the folders before it is executed.
 */
#pragma once

#include "json/writer.h"
#include "run/plan/capture.h"
#include "run/plan/context.h"
#include "run/plan/launcher.h"
#include "run/sensors/sensors.h"

/* ---- tools (tools.c) ---- */

size_t gt_tool_count(void); /* built-in tools */
const char *gt_tool_name(size_t index);
const char *gt_tool_purpose(size_t index);

/* The context whose only profiler is `name`, which must be a tool, or without a profiler if it is NULL. Other
 * tools stay, and so do tools that gputally does not know. */
const gt_value *gt_tools_choose_profiler(gt_arena *arena, const gt_value *context, const char *name);

/* What one tool, or the context itself, puts in front of the command. */
typedef struct gt_stack_piece {
    const char *cmd;
    const char *tool; /* NULL: the context's encapsulate_script */
    bool own_cmd;     /* written by the user, in the context or in a tools file */
} gt_stack_piece;

/* The tools of a context, combined. */
typedef struct gt_stack {
    const char *wrap;       /* all pieces as one string, like madengine */
    gt_stack_piece *pieces; /* outermost first; that of the context itself is the last */
    size_t piece_count;
    const gt_value *pre, *post; /* lists of {"path", "args"} in the order of execution */
    const gt_value *env;        /* variables of the tools, in order */
    const char *warning;        /* two tools interfere with each other; NULL: none */
} gt_stack;

/* Looks the tools up in `more_tools` first, the value of a file in the format of madengine's tools.json
 * ({"tools": {name: {...}}}; MISSING: none), then in the built-in table. Returns false if a tool is unknown,
 * an entry has the wrong shape, or tools exclude each other. */
bool gt_stack_build(gt_arena *arena, const gt_value *context, const gt_value *more_tools, gt_stack *stack,
                    gt_error *error);

/* ---- hardware counters (profiler_options.c) ---- */

typedef struct gt_counter_file {
    const char *name;     /* "compute_bound.txt" */
    const char *counters; /* counter names, separated by spaces */
} gt_counter_file;

/* The built-in list with the file name of the path, or NULL. */
const gt_counter_file *gt_counter_file_find(const char *path);
/* Appends the contents of the file: one "pmc:" line per counter, so that the program runs once per counter.
 */
void gt_counter_file_add(const gt_counter_file *file, gt_buffer *text);

/* The number of passes that rocprofv3 makes of a text file: one per line with "pmc:". Lines in comments
 * count, too; *in_comments is their number, and rocprofv3 1.0 runs them without counters. */
size_t gt_counter_passes(gt_str text, size_t *in_comments);

/* Appends, separated by ", ", the counters of a text file that no GPU has to `unavailable`, and those that
 * only gfx90a and older GPUs have to `only_old`; as of rocprofiler-sdk 1.0. */
void gt_counters_unknown(gt_str text, gt_buffer *unavailable, gt_buffer *only_old);

/* ---- options of rocprofv3 (profiler_options.c) ---- */

typedef enum gt_profiler_option_values {
    GT_TAKES_TRUTH, /* no value, or one of yes, no, on, off, ... */
    GT_TAKES_ONE,
    GT_TAKES_MANY,
    GT_TAKES_UNKNOWN, /* the option is not in the table */
} gt_profiler_option_values;

/* One option as written, with its values. */
typedef struct gt_profiler_option {
    const char *written; /* "-d", "--hip-trace"; without "=value" */
    const char *name;    /* long name without dashes, from the table; as written if it is not in the table */
    gt_profiler_option_values takes;
    const char **values;
    size_t value_count;
    bool dropped;
} gt_profiler_option;

typedef struct gt_profiler_options {
    gt_profiler_option *items; /* in the arena */
    size_t count;
} gt_profiler_options;

/* Parses options of rocprofv3. An argument that belongs to no option becomes one of kind GT_TAKES_UNKNOWN. */
gt_profiler_options gt_profiler_options_parse(gt_arena *arena, const char *const *words, size_t count);

/* Adds an option with one value. Pointers to other options are no longer valid. */
gt_profiler_option *gt_profiler_option_add(gt_arena *arena, gt_profiler_options *options, const char *written,
                                           const char *value);
/* The last option with this long name, or NULL. */
gt_profiler_option *gt_profiler_option_find(const gt_profiler_options *options, const char *name);
/* Whether the option is given and not switched off. */
bool gt_profiler_option_is_on(const gt_profiler_options *options, const char *name);

/* ---- profiler (profiler.c) ---- */

typedef enum gt_profiler_kind {
    GT_PROFILER_NONE,
    GT_PROFILER_ROCPROFV3,
    GT_PROFILER_ROCPROF, /* legacy */
    GT_PROFILER_RTL,
    GT_PROFILER_RPD,
    GT_PROFILER_NSYS, /* NVIDIA Nsight Systems */
    GT_PROFILER_NCU,  /* NVIDIA Nsight Compute */
} gt_profiler_kind;

const char *gt_profiler_kind_name(gt_profiler_kind kind);

typedef struct gt_profiler {
    gt_profiler_kind kind;
    const char *path;       /* the program; NULL: not installed */
    const char *version;    /* of the program; NULL: unknown */
    gt_arg_list options;    /* without the "--" before the command */
    gt_arg_list before_app; /* words of the context's cmd after its "--" */
    size_t passes;          /* how often the command runs */
    const char *output_dir; /* of this run alone; below named_dir */
    const char *named_dir;  /* what -d means to the user; NULL: this profiler has no such folder */
    const char
        *file_name; /* of -o as the user wrote it, if the processes get names of their own; else NULL */
    gt_arg_list formats;
    const char *trace_name;     /* value of --perfetto-trace-filename; NULL: not given */
    gt_arg_list counter_passes; /* one string per pass: the counters, separated by blanks */
    const char *counter_text;   /* to be written to counter_path; NULL: nothing */
    const char *counter_path;
    bool own_cmd; /* the user wrote the options */
} gt_profiler;

/* Where counters come from, and where messages about them go (counter_files.c). */
typedef struct gt_counter_setup {
    gt_arena *arena;
    const char *tool, *workdir;
    const char *rocprofv3; /* its path, if the GPUs of this machine can be asked; else NULL */
    gt_arg_list *notes, *warnings;
} gt_counter_setup;

/* Plans the passes of a file of -i, whose path becomes absolute. If there is no such file, but a list that
 * comes with gputally has its name, that is used: its path is where it will be written. False if the file
 * cannot be read or the GPU has none of its counters. */
bool gt_counters_plan_file(const gt_counter_setup *setup, gt_profiler *profiler, const char **path,
                           gt_error *error);
/* The same for the names of --pmc. */
bool gt_counters_plan_names(const gt_counter_setup *setup, gt_profiler *profiler, const char *const *names,
                            size_t count, gt_error *error);

/* Where the profiler runs. */
typedef struct gt_profiler_place {
    const char *workdir;    /* base of relative paths */
    const char *named_base; /* base of -d: a model's own folder does not stay */
    const char *run_dir;    /* <output-dir>/rocprof_output/<timestamp> */
    const char *timestamp;  /* the name of run_dir */
    const gt_value *env;    /* variables of the command in addition to gputally's own */
    bool many_hosts;        /* process ids may be equal */
    const char *tool;       /* name of the tool */
    bool own_cmd;
    bool in_container;               /* the program is part of an image, not of this machine: */
    const char *rocprofv3, *rocprof; /* their paths in the image; NULL: it has none */
    const char *rocm;                /* version of ROCm in the image; NULL: unknown */
    bool rocpd;                      /* rocprofv3 of the image can write databases */
    bool on_this_machine;            /* whose GPUs the command will use, so they can be asked */
} gt_profiler_place;

/* Makes the profiler from the arguments of a cmd: "bash .../rocprof_wrapper.sh [options] [--] [words]" or
 * "rocprofv3
 * ...". Appends changes to the notes and problems to the warnings. Returns false if the words are invalid. */
bool gt_profiler_plan(gt_arena *arena, const gt_arg_list *words, const gt_profiler_place *place,
                      gt_profiler *profiler, gt_arg_list *notes, gt_arg_list *warnings, gt_error *error);

/* Replaces -d and -o by folders and names of this run and of each process (profiler_output.c). False if a
 * file of -i has other ones. */
bool gt_profiler_plan_output(gt_arena *arena, gt_profiler_options *options, const gt_profiler_place *place,
                             gt_profiler *profiler, gt_arg_list *notes, gt_error *error);

/* Whether the words call the wrapper or rocprofv3 itself. */
bool gt_profiler_is_called(const gt_arg_list *words);

/* Drops options of a preset that are not in the --help text of this rocprofv3, except those of
 * --profiler_args (`users`), and notes each. If it can write databases, it also writes one. */
void gt_profiler_fit_help(gt_arena *arena, gt_profiler *profiler, const char *help, const gt_arg_list *users,
                          gt_arg_list *notes);

/* Whether a line of output carries no information and is dropped, as the wrapper scripts do. */
bool gt_profiler_is_noise(gt_profiler_kind kind, gt_str line);

/* ---- plan (plan.c) ---- */

/* What is done for a script that a tool names. All except SCRIPT are done by gputally itself, without the
 * file. */
typedef enum gt_action_kind {
    GT_ACTION_SCRIPT,      /* run bash PATH ARGS in the work folder */
    GT_ACTION_ECHO,        /* print ARGS */
    GT_ACTION_SAMPLER,     /* nothing: samplers are separate stages */
    GT_ACTION_ENVIRONMENT, /* write a description of this machine to a file */
    GT_ACTION_THEROCK,     /* print whether this ROCm is a TheRock build */
    GT_ACTION_PREPARE,     /* nothing: the script would install a profiler, which must be installed already */
    GT_ACTION_COLLECT,     /* copy the profiler's output to the output folder */
} gt_action_kind;

typedef struct gt_action {
    gt_action_kind kind;
    const char *path, *args;
} gt_action;

enum { GT_SAMPLERS_MAX = 2 };

/* Texts in the output of the command that mean that it failed (log_scan.c). */
typedef struct gt_log_scan {
    bool is_on;
    gt_arg_list errors, benign; /* a line with a benign text is not an error */
} gt_log_scan;

/* From the log_error_* keys of the context, or else of the model's entry in models.json (MISSING: a plain
 * command). On for models unless they say otherwise; for a plain command if the context has patterns or
 * switches it on. */
gt_log_scan gt_log_scan_make(gt_arena *arena, const gt_value *context, const gt_value *model);
/* The error text in a line, or NULL. */
const char *gt_log_scan_find(const gt_log_scan *scan, gt_str line);

/* A run on a SLURM cluster; made by gt_slurm_make (run/targets/targets.h). */
typedef struct gt_slurm {
    const char *script;       /* path of the batch script */
    const char *context_path; /* the context file for each node */
    const char *results_dir;  /* <output_dir>/<name>; job number and node_<rank> are appended */
    gt_arg_list directives;   /* "--nodes=2", in order */
    gt_buffer text;           /* the script; the caller frees it */
    const char *log_path;     /* of the job's output; "_<job>_0.out" and "_<job>_0.err" are appended */
    int64_t nodes;            /* that write a record */
    const char *summary_copy; /* --summary_output; NULL: none */
    bool signal_script;       /* to end the command, signal the script instead of the steps of the job */
} gt_slurm;

/* One piece of the command line, outermost first. */
typedef struct gt_plan_piece {
    gt_profiler *profiler; /* NULL: the piece is `text` */
    const char *text;
} gt_plan_piece;

/* A model of models.json (run/models) that runs in place of a command. */
typedef struct gt_plan_model {
    const char *name;          /* as in models.json */
    const gt_value *entry;     /* the whole entry there */
    const char *line;          /* the shell line that starts its script */
    const char *folder;        /* where it runs; inside a container, below GT_WORKSPACE */
    const char *project;       /* the folder of models.json; mounted as GT_WORKSPACE */
    const char *log_name;      /* of the file, in the current folder unless it is a path */
    const gt_value *variables; /* weaker than those of the context */
    const gt_value *mounts;    /* list of "host:container[:ro]" */
    const gt_value *setup;     /* list of shell lines that run before the pre-scripts */
    gt_arg_list options;       /* of docker run */
    bool live_output;          /* the output is shown, not only logged */
    bool skip;                 /* everything except the script itself is done */
} gt_plan_model;

#define GT_WORKSPACE "/myworkspace"

typedef struct gt_plan {
    gt_arena *arena;
    const gt_plan_model *model; /* NULL: a command */
    const char *manifest;       /* of a job that runs models: each node runs those of this file; NULL: none */
    size_t manifest_models;     /* how many models it has; several have folders of their own */
    const gt_value *context;
    const char *target, *name, *workdir, *output_dir;
    const char *timestamp, *run_dir; /* of this run, under output_dir/rocprof_output */
    const char *log_path, *record_path;
    double timeout_s;        /* 0: none */
    double grace_s;          /* time to end before it is killed; negative: none */
    const gt_value *env;     /* variables of the command in addition to gputally's own, in order */
    const gt_value *secrets; /* what is masked in everything that is shown (gt_secrets_known) */
    gt_action *pre, *post;
    size_t pre_count, post_count;
    gt_plan_piece *pieces;
    size_t piece_count;
    const char *command_line; /* the user's command, quoted */
    gt_distributed distributed;
    gt_launch launch;       /* how the command is started */
    const char *shell_line; /* the complete line, as passed to bash -c */
    gt_profiler none;
    gt_profiler *profiler; /* the outermost profiler, or &none */
    gt_log_scan log_scan;
    gt_capture_window capture;
    gt_arg_list capture_options; /* of the profiler, for the capture */
    uint64_t min_free;           /* bytes that must be free where the output goes */
    const char *dual_gcd; /* variable that asks for the command on both dies of a GPU at once; NULL: none */
    gt_sampler_plan samplers[GT_SAMPLERS_MAX];
    size_t sampler_count;
    gt_arg_list library_modes; /* empty: library calls are not traced */
    const char *library_file;
    const char *image;     /* container image; NULL: no container */
    gt_arg_list docker;    /* the docker command, once shell_line is known */
    const char *container; /* its name; NULL: no container */
    bool keep_alive;       /* the container stays */
    bool looks_in_image;   /* it can be asked for its profilers: the plan will be executed here */
    bool in_session;       /* docker starts a container that waits, and scripts and command run in it one by
                              one; otherwise docker runs the command itself */
    const gt_slurm *slurm; /* NULL: local run */
    gt_arg_list profiler_args; /* of --profiler_args, for the outermost profiler */
    gt_arg_list outputs, notes, warnings;
} gt_plan;

typedef struct gt_plan_request {
    const gt_value *context;
    const gt_value *more_tools; /* of --tools_config; MISSING: none */
    const char *const *command;
    size_t command_count;
    const char *image; /* NULL: no container */
    const char *name;  /* NULL: name of the command */
    const char *target;
    const char *output_dir;    /* as typed */
    const char *profiler_args; /* more options of the profiler, as in a shell; NULL: none */
    double timeout_s;
    double grace_s;
    gt_capture_window capture;
    uint64_t min_free;
    const gt_plan_model *model; /* in place of the command; NULL: the command */
    bool keep_alive;            /* the container stays */
    bool look_in_image;         /* ask the image for its profilers, in a container of their own */
    bool snapshot;              /* write a description of the machine, unless the context says not to */
    bool always_snapshot;       /* even then */
} gt_plan_request;

/* Returns false if the context is invalid. */
bool gt_plan_make(gt_arena *arena, const gt_plan_request *request, gt_plan *plan, gt_error *error);

/* Whether the context is valid, as far as that does not depend on a command and its folder: tools, launcher,
 * variables. For models, whose images are built before each has a plan. Sets only a part of the plan. */
bool gt_plan_check(gt_arena *arena, const gt_plan_request *request, gt_plan *plan, gt_error *error);

/* Makes the folders of the profilers' output. They are of this run alone: if another run made one of the same
 * name since the plan was made, the plan gets another name. */
bool gt_plan_claim_folders(gt_plan *plan, gt_error *error);

/* Computes shell_line; again after the options of a profiler changed. */
void gt_plan_compose(gt_plan *plan);

/* Writes the members of the plan's JSON object, for --dry_run and the run record. */
void gt_plan_write(const gt_plan *plan, gt_json_writer *w);

/* ---- launcher (plan_launcher.c) ---- */

/* Decides who starts the command, and sets the variables of the launcher. These come before env_vars, so that
 * the context can change them. Returns false if the launcher is unknown or cannot work here. */
bool gt_plan_launcher(gt_plan *plan, const gt_plan_request *request, gt_error *error);
/* Sets slurm.network_interface as the interface of NCCL and Gloo, wherever the command runs. */
void gt_plan_interface(gt_plan *plan);

/* Whether the launcher comes before the profiler, so that each process has a profiler of its own. mpirun and
 * srun need it: their daemons start the processes, also on other nodes, without our environment. A profiler
 * that runs the command several times cannot do so inside mpirun, because a process can join an MPI program
 * only once; on one node it works around mpirun. */
bool gt_plan_launcher_is_outside(const gt_plan *plan);
/* Warns if this combination of launcher and profiler may fail; once the profiler is known. */
void gt_plan_note_launcher(gt_plan *plan);
void gt_plan_write_launcher(const gt_plan *plan, gt_json_writer *w);

/* ---- NVIDIA's profilers (nvidia.c) ---- */

bool gt_nvidia_is_called(const gt_arg_list *words); /* "nsys profile ..." or "ncu ..." */
bool gt_nvidia_is(const gt_profiler *profiler);

/* Makes the profiler from the arguments of a cmd; `more` are options that replace those of the cmd. */
void gt_nvidia_plan(gt_plan *plan, const gt_arg_list *words, const gt_arg_list *more,
                    const gt_profiler_place *place, gt_profiler *profiler);

/* The installed program, NULL if there is none, and the sentence that says where it was searched. */
const char *gt_nvidia_search(gt_arena *arena, gt_profiler_kind kind);
const char *gt_nvidia_missing(gt_arena *arena, gt_profiler_kind kind);

/* Drops options, and values of --trace, of a preset that the text of `nsys profile --help` does not list,
 * except those of --profiler_args (`users`). */
void gt_nvidia_fit_help(gt_plan *plan, gt_profiler *profiler, const char *help, const gt_arg_list *users);

/* The number in the text of --version; NULL: none. */
const char *gt_nvidia_version(gt_arena *arena, const char *text);

/* ---- Docker (docker.c) ---- */

/* The program that runs containers: GPUTALLY_DOCKER, else docker, else podman in PATH. NULL: there is none.
 */
const char *gt_docker_program(gt_arena *arena);

/* The arguments of "docker run ... IMAGE bash -c LINE", for the plan's line and variables, or, in a session,
 * of "docker run -d ... IMAGE cat". The container mounts the work folder and the output folder at their own
 * paths. Returns false if the context requests GPUs that this machine does not have. */
bool gt_docker_make(const gt_plan *plan, const char *image, gt_arg_list *words, gt_error *error);

/* Asks the image which of rocprofv3 and rocprof it has, in its PATH, $ROCM_PATH/bin or /opt/rocm/bin, in a
 * container like that of the plan. If none can be started the place stays as it is. False if interrupted, or
 * if the context requests GPUs that this machine does not have. */
bool gt_docker_find_profilers(const gt_plan *plan, gt_profiler_place *place, gt_error *error);

/* "docker exec ... CONTAINER bash -c LINE" in a session, ending with NULL. */
const char *const *gt_docker_exec(const gt_plan *plan, const char *line);
/* A path of this machine as the command sees it: below GT_WORKSPACE in a model's container. */
const char *gt_docker_path(const gt_plan *plan, const char *path);

/* The command that removes the container, should the docker command leave it behind. Ends with NULL. */
const char *const *gt_docker_undo(const gt_plan *plan);
void gt_docker_remove(const gt_plan *plan);

/* ---- stages: scripts of madengine that gputally replaces (stages.c) ---- */

bool gt_stage_is_library_trace(const gt_arg_list *words); /* python3 .../get_library_trace.py */
bool gt_stage_is_rtl(const gt_arg_list *words);           /* bash .../rtl_trace_wrapper.sh */
bool gt_stage_is_rpd(const gt_arg_list *words);           /* .../runTracer.sh */

gt_action_kind gt_stage_action(const char *path); /* what is done instead of the script */

void gt_stage_plan_library(gt_plan *plan);
bool gt_stage_plan_rtl(gt_plan *plan, gt_profiler *profiler);
bool gt_stage_plan_rpd(gt_plan *plan, const gt_arg_list *words, gt_profiler *profiler);
/* Plans one sampler per start script among the pre-scripts. Returns false if its variables are invalid. */
bool gt_stage_plan_samplers(gt_plan *plan, gt_error *error);
