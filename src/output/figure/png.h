/* Pictures as PNG files. */
#pragma once

#include "base/base.h"

/* Rows of pixels 0x00RRGGBB, `stride` bytes from each other. */
typedef struct gt_pixels {
    const unsigned char *rows;
    uint32_t width, height, stride;
} gt_pixels;

void gt_png_encode(gt_buffer *png, gt_pixels pixels);
