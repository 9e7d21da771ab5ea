/* Removes hidden files that killed programs have left where a report is written again. */
#pragma once

#include "base/base.h"

/* The hidden files of the folder asked about last; {0} at first. */
typedef struct gt_leftovers {
    char *folder;
    char **names;
    size_t count, capacity;
    bool is_shared; /* the folder may be used by several machines */
} gt_leftovers;

/* A temporary path in the folder for a file with this name, that nobody can guess. The caller frees it. */
char *gt_leftovers_name(const char *folder, const char *name, size_t name_max);
/* Removes those of the file `name`, of which hidden names have the first `name_max` bytes. */
void gt_leftovers_remove(gt_leftovers *leftovers, const char *folder, const char *name, size_t name_max);
void gt_leftovers_free(gt_leftovers *leftovers);
