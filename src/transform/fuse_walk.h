/* Going through a rank's trace, event by event, for fusing. */
#ifndef GT_TRANSFORM_FUSE_WALK_H
#define GT_TRANSFORM_FUSE_WALK_H

#include "json/reader.h"

typedef struct gt_fuse_walk {
    gt_json json;
    /* Called at each event, the cursor on its first byte; moves behind it. False where the JSON failed, or
     * where nothing more is wanted (has_stopped). */
    bool (*record)(struct gt_fuse_walk *walk);
    void *context;
    uint64_t events;
    int64_t base_time_ns; /* of the document, where has_base_time */
    bool found, has_base_time, has_stopped;
    uint64_t shown; /* bytes of the file that the progress line knows of */
} gt_fuse_walk;

/* False and a sentence that names the file where it is damaged; what comes before the damage has been handed
 * out. Adds to a progress line that the caller has begun. */
bool gt_fuse_walk_trace(gt_fuse_walk *walk, const char *path, bool (*record)(gt_fuse_walk *), void *context,
                        gt_error *error);

/* Puts "rank N: " before the sentence. */
void gt_fuse_name_rank(gt_error *error, size_t rank);

#endif
