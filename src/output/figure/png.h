/* Pictures as PNG files. */
#ifndef GT_OUTPUT_FIGURE_PNG_H
#define GT_OUTPUT_FIGURE_PNG_H

#include "base/buffer.h"

#include <stdint.h>

/* Rows of pixels 0x00RRGGBB, `stride` bytes from each other. */
typedef struct gt_pixels {
    const unsigned char *rows;
    uint32_t width, height, stride;
} gt_pixels;

void gt_png_encode(gt_buffer *png, gt_pixels pixels);

#endif
