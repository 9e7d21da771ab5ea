/* A bounded capture: only a part of the run is recorded, by time, by steps or by regions that the program
 * marks; or a process that already runs is recorded for a while. Each profiler has options of its own for
 * this, or none. */
#pragma once

#include "os/shell_words.h"

/* At most one of time, steps and region; zeros: everything is recorded. */
typedef struct gt_capture_window {
    double start_s, seconds;       /* from the start of the program; seconds 0: not by time */
    int64_t first_step, last_step; /* from 1, both included; 0: not by steps */
    bool by_region;
    int64_t attach; /* the process to record, for `seconds`; 0: the command is started */
} gt_capture_window;

/* Reads the values of --capture_steps ("10-20" or "10"), --capture_time ("START:SECONDS") and --attach; NULL:
 * not given. */
bool gt_capture_parse(const char *steps, const char *time, bool by_region, const char *attach,
                      gt_capture_window *window, gt_error *error);
bool gt_capture_is_bounded(const gt_capture_window *window);

/* Adds the options with which a profiler (by the name of its program) records the window only.
 * `has_counters`: it collects hardware counters. Notes say what remains unbounded. False, with a sentence
 * that says what it can do instead, if it cannot. */
bool gt_capture_add_options(gt_arena *arena, const gt_capture_window *window, const char *profiler,
                            bool has_counters, gt_arg_list *options, gt_arg_list *notes, gt_error *error);

/* The first of these options that a profiler's --help does not list; NULL: it has them all. */
const char *gt_capture_missing(const gt_arg_list *options, const char *help);

/* Whether the process exists; adds warnings about what usually keeps a profiler from attaching to it. */
bool gt_capture_check_process(gt_arena *arena, int64_t pid, gt_arg_list *warnings, gt_error *error);
