/* The names that `sweep run` gives to folders: which axis and value they stand for. */
#pragma once

#include "base/base.h"

#include <sys/types.h>

#define GT_SWEEP_ANALYSIS "tracelens_analysis" /* the folder of a sweep that all steps write to */
#define GT_SWEEP_RECORD   "sweep.json"

/* The length of "256" in "256thread", which may be any text; SIZE_MAX if the name does not end so. */
size_t gt_folder_threads(const char *name);
/* The digits between `begin` and `end`, and nothing else: "28" of "nccl_28channels"; NULL if there are none.
 */
const char *gt_folder_digits(const char *name, const char *begin, const char *end, size_t *len);
/* The length of NAME in "NAME_value"; 0 if the name is another one. A number is the part after the last '_';
 * other values begin after the first. */
size_t gt_folder_axis(const char *folder);
/* "nccl_xchannels" or "nccl_28channels_old": like a folder of channels, but not one, and not an axis. */
bool gt_folder_is_odd_channels(const char *name);
/* "repeat_2"; repeats count from 1. */
bool gt_folder_repeat(const char *folder, int64_t *repeat);
/* What a folder is called in names of reports and settings: "28ch" for "nccl_28channels". */
char *gt_folder_short_name(gt_arena *arena, const char *folder);
/* "nccl_28channels" of "28ch": the folder of the last axis, from the name in reports. The caller frees it. */
char *gt_folder_of_report(const char *report_name);
/* Whether the name is one that the folder of an axis or a repeat has. */
bool gt_folder_is_axis(const char *name);

/* Reads the digits at *text, as many as fit into the number, and advances past them. Returns false if there
 * are none. */
bool gt_take_number(const char **text, int64_t *number);

/* The folders that a walk is in: a link may lead back to one of them. */
typedef struct gt_folder_chain {
    dev_t device;
    ino_t number;
    const struct gt_folder_chain *above; /* NULL: the first one */
} gt_folder_chain;
/* False if the folder cannot be read or the walk is in it already. */
bool gt_folder_enter(gt_folder_chain *chain, const gt_folder_chain *above, const char *path);
