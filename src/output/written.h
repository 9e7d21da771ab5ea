/* Which files a piece of work has written, kept with its result: the result is used again only if they are
 * still there as they were written.
 *
 *     gt_written_add(&written, output);      after its commit
 *     gt_written_save(&written, &image);     ... and another time, perhaps in another process:
 *     if (gt_written_are_there(&image)) ...  no need to do the work again
 */
#pragma once

#include "base/image.h"
#include "output/output.h"

typedef struct gt_written {
    char **paths; /* owned */
    size_t count, capacity;
} gt_written; /* {0} is the empty list */

/* Adds the files of an output that was committed. */
void gt_written_add(gt_written *written, const gt_output *output);
void gt_written_add_path(gt_written *written, const char *path); /* the same for one file */
void gt_written_free(gt_written *written);

/* Adds the paths, sizes and times of all files; the list need not outlive the image. */
void gt_written_save(const gt_written *written, gt_image *image);
/* Whether all files of an image have the same sizes and times. False also if the image is damaged or does not
 * say which files there are. */
bool gt_written_are_there(const gt_image *image);
