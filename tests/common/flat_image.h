/* Images as they are in a file, for tests of what is loaded from them. */
#ifndef GT_TEST_FLAT_IMAGE_H
#define GT_TEST_FLAT_IMAGE_H

#include "base/image.h"
#include "base/memory.h"

#include <string.h>

/* Every part in one piece, in a block of its own, so that reading past its end is noticed. */
static gt_image flatten(const gt_image *from)
{
    gt_image flat = {0};
    for (size_t i = 0; i < from->count; i++) {
        const gt_image_part *part = &from->parts[i];
        char *bytes = gt_alloc(part->len), *at = bytes;
        for (size_t p = 0; p < part->piece_count; p++) {
            memcpy(at, part->pieces[p].bytes, part->pieces[p].len);
            at += part->pieces[p].len;
        }
        if (!part->piece_count && part->len) memcpy(bytes, part->bytes, part->len);
        char name[GT_IMAGE_NAME_MAX];
        memcpy(name, part->name, sizeof name);
        char *slash = strchr(name, '/');
        *slash = 0;
        gt_image_give(&flat, name, slash + 1, bytes, part->len);
    }
    return flat;
}

#endif
