/* The work folder of a process group: where the partial files of its traces are until the report is written.
 *
 * `--partials DIR` names it; then it stays. Otherwise it is .gputally-parts/COMMAND-KEY in the folder of the
 * traces, or if that cannot be written, in the user's cache folder, and is removed when the command has
 * succeeded, with those that interrupted starts of the command have left there, whatever their options. A
 * file in it is locked meanwhile, so that a second process group which does the same takes another folder,
 * COMMAND-KEY-2.
 * Where the file system has no locks, both use the same folder; then one of them may remove what the other
 * one needs, who does that work again. */
#pragma once

#include "base/base.h"

typedef struct gt_work_folder {
    char *path; /* NULL: there is none */
    char *top;  /* the folder around it, which is removed with it if it is empty; NULL: none, or the user has
                   named it */
    const char *command; /* borrowed */
    int lock;            /* a descriptor; -1: none */
} gt_work_folder;

typedef struct gt_work_folder_choice {
    const char *named;   /* by the user; NULL: not */
    const char *trace;   /* the first one */
    const char *command; /* its name */
    uint64_t key;        /* of what is done */
    bool create;         /* otherwise only a folder that an earlier run has left is used */
} gt_work_folder_choice;

/* False with a message if it cannot be created. */
bool gt_work_folder_open(gt_work_folder *folder, const gt_work_folder_choice *choice, gt_error *error);
/* Unlocks it; what is in it stays. */
void gt_work_folder_close(gt_work_folder *folder);
/* Removes it, unless the user has named it, and those that earlier starts of the command have left. */
void gt_work_folder_remove(gt_work_folder *folder);
/* Removes it if no partial is in it. */
void gt_work_folder_abandon(gt_work_folder *folder);

/* Writes a number into a file of the folder, and whether another process sees it there: it may take seconds
 * until another machine does. */
bool gt_work_folder_mark(const char *path, uint64_t number, gt_error *error);
bool gt_work_folder_is_marked(const char *path, uint64_t number);
void gt_work_folder_unmark(const char *path);

/* A message to process 0 from a process that has lost its connection: why it ends. The second function gets
 * it and removes it; false if there is none. The number is that of the mark. */
void gt_work_folder_leave_note(const char *path, uint64_t number, const char *text);
bool gt_work_folder_take_note(const char *path, uint64_t number, gt_error *text);

/* The partial file of a trace. The caller frees it. */
char *gt_work_folder_part(const char *path, const char *trace);
