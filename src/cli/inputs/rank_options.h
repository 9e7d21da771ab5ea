/* The options that tell commands where the traces of all ranks are. */
#ifndef GT_CLI_INPUTS_RANK_OPTIONS_H
#define GT_CLI_INPUTS_RANK_OPTIONS_H

#include "cli/command.h"
#include "cli/inputs/rank_files.h"

/* Rows of an option table. Commands differ in what they do without --world_size or if a trace is missing. */
#define GT_RANK_OPTIONS(world_size_help, allow_missing_help)                                                 \
    {"trace_dir", GT_OPTION_STRING, "DIR", NULL, "read DIR/rank0_trace.json, DIR/rank1_trace.json, ..."},    \
        {"trace_pattern", GT_OPTION_STRING, "PATH", NULL,                                                    \
         "read the traces at PATH, with one '*' in place of the rank number"},                               \
        {"trace_glob", GT_OPTION_STRING, "PATTERN", NULL,                                                    \
         "read the traces that match PATTERN ('**' matches folders); --rank_regex extracts the rank"},       \
        {"world_size", GT_OPTION_INT, "N", NULL, world_size_help},                                           \
        {"rank_regex", GT_OPTION_STRING, "REGEX", "rank[\\[\\-_/]?(?P<rank>\\d+)",                           \
         "find the rank in the file name, or else in the path (Python syntax)"},                             \
    {                                                                                                        \
        "allow_missing_ranks", GT_OPTION_FLAG, NULL, NULL, allow_missing_help                                \
    }

/* Prints a usage error and returns GT_EXIT_USAGE if traces are named in two ways or, if `none_given` is
 * the message for that case, in none. FILE arguments are one of the ways. */
gt_exit gt_rank_options_check(const gt_call *call, const char *none_given);
gt_rank_search gt_rank_options_read(const gt_arguments *arguments);

#endif
