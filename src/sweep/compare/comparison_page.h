/* A page that sets the plots of two or more sweeps side by side, with the pictures in it. */
#ifndef GT_SWEEP_COMPARE_COMPARISON_PAGE_H
#define GT_SWEEP_COMPARE_COMPARISON_PAGE_H

#include "base/buffer.h"

typedef struct gt_compared_sweep {
    const char *path; /* as it was given */
    const char *label;
} gt_compared_sweep;

/* Adds the page. Its links are from `page_folder`; a plot that is missing is warned of and shown as a note.
 */
void gt_comparison_page(gt_buffer *page, const gt_compared_sweep *sweeps, size_t count,
                        const char *page_folder);

/* The way from one folder to a file or folder, "../b/c". NULL where there is no such file; the folder may
 * yet have to be made. The caller frees it. */
char *gt_relative_path(const char *from_folder, const char *to);

#endif
