/* For targets that load what is kept in files, as if the checksums of these files were right. The input is a
 * list of sections: the length of the name in one byte, the name, the length of the data in four bytes, the
 * data. tests/fuzz/container.py writes it. */
#ifndef GT_FUZZ_IMAGE_SECTIONS_H
#define GT_FUZZ_IMAGE_SECTIONS_H

#include "base/image.h"
#include "base/memory.h"

#include <string.h>

/* Copies each section into a block of its own, so that reading past its end is noticed. */
static gt_image image_of(const uint8_t *data, size_t size)
{
    gt_image image = {0};
    size_t at = 0;
    while (at < size) {
        char name[256];
        uint32_t len;
        size_t name_len = data[at++];
        if (name_len > size - at) break;
        memcpy(name, data + at, name_len);
        name[name_len] = 0;
        at += name_len;
        char *slash = strchr(name, '/');
        if (size - at < sizeof len || !slash) break;
        memcpy(&len, data + at, sizeof len);
        at += sizeof len;
        if (len > size - at) len = (uint32_t)(size - at);
        *slash = 0;
        void *copy = gt_alloc(len);
        memcpy(copy, data + at, len);
        gt_image_give(&image, name, slash + 1, copy, len);
        at += len;
    }
    return image;
}

#endif
