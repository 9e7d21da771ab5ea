/* What the program prints must not command the terminal: names of files and kernels may contain escape
 * characters. The command line has its two streams escape them, so that no place that prints has to. */
#pragma once

#include "base/image.h"

#include <stdio.h>

/* From now on stdout and stderr print control characters other than line breaks and tabs, bytes that are not
 * UTF-8 and characters that change the direction of text as \x1b or \u202e. For the start of main; the
 * library does not do this. Does nothing if the C library has no streams of this kind. */
void gt_print_escaped(void);

/* Prints bytes that may command the terminal: colours, erasing a line. */
void gt_print_raw(FILE *file, const char *bytes, size_t len);

/* The descriptor of a stream, also after gt_print_escaped. */
int gt_print_descriptor(FILE *file);

/* ---- printing later ---- */

/* What is printed for a stream while it is not its turn yet, because others print before it. */
typedef struct gt_kept_print {
    FILE *file; /* takes the prints of the thread that began it; has the descriptor of the stream */
    FILE *to;
    char *bytes;
    size_t len, capacity; /* capacity: of several prints together */
    size_t *raw;          /* begins and ends of what gt_print_raw printed */
    size_t raw_count, raw_capacity;
    struct gt_kept_print *outer; /* the one of this thread that is not finished yet */
} gt_kept_print;

/* `to` may be the file of another one of the same thread; the last one begun is finished first. The object
 * must stay where it is until then. */
void gt_print_keep(gt_kept_print *kept, FILE *to);
void gt_print_keep_end(gt_kept_print *kept); /* on the same thread: nothing more is printed */
/* Prints what was kept, on any thread, and frees it. Does nothing if nothing was begun. */
void gt_print_kept(gt_kept_print *kept);
void gt_print_drop(gt_kept_print *kept); /* frees it without printing */
/* Adds what was kept for the same stream to the end of another one, and frees it. {0} is an empty one. Small
 * blocks of many prints would each keep a page of memory from being given back. */
void gt_print_join(gt_kept_print *all, gt_kept_print *more);

/* What was kept and finished, as an image, to be printed by another process: the same bytes. The print must
 * stay where it is until the image is freed. A print that was never begun gives one that prints nothing. */
void gt_print_save(const gt_kept_print *kept, gt_image *image);
/* False if the image is damaged, or if something else than colours would pass unescaped. */
bool gt_print_load(gt_kept_print *kept, FILE *to, const gt_image *image);
