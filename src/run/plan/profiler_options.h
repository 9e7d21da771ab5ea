/* The options of rocprofv3: how many words each takes. */
#ifndef GT_RUN_PLAN_PROFILER_OPTIONS_H
#define GT_RUN_PLAN_PROFILER_OPTIONS_H

#include "os/shell_words.h"

typedef enum gt_profiler_option_values {
    GT_TAKES_TRUTH, /* nothing, or one of yes, no, on, off, ... */
    GT_TAKES_ONE,
    GT_TAKES_MANY,
    GT_TAKES_UNKNOWN, /* the option is not in the table: nothing is known of its values */
} gt_profiler_option_values;

/* One option as it was written, with its values. */
typedef struct gt_profiler_option {
    const char *written; /* "-d", "--hip-trace"; without "=value" */
    const char *name;    /* the long name without dashes; that of the table, else as written */
    gt_profiler_option_values takes;
    const char **values;
    size_t value_count;
    bool dropped;
} gt_profiler_option;

typedef struct gt_profiler_options {
    gt_profiler_option *items; /* in the arena */
    size_t count;
} gt_profiler_options;

/* Reads words that are options of rocprofv3. A word that belongs to none is an option of its own, of kind
 * UNKNOWN. */
gt_profiler_options gt_profiler_options_parse(gt_arena *arena, const char *const *words, size_t count);

/* The option of that long name, the last one; NULL where there is none. */
gt_profiler_option *gt_profiler_option_find(const gt_profiler_options *options, const char *name);
/* Whether it is there and not switched off. */
bool gt_profiler_option_is_on(const gt_profiler_options *options, const char *name);

#endif
